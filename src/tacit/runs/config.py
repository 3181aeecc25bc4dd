"""Defines the configuration of a run, as one frozen value.

A configuration is a TOML file with one table for each part of a run. Each room declares its own table (`TextConfig` in
text/, `ModelConfig` in models/, …); an aggregation rule and a server optimiser declare their own settings. This module
puts the tables together, reads presets and files, and checks keys against each other.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from tacit.base.consent import Named, named
from tacit.base.errors import TacitError, nearest
from tacit.base.settings import build, number
from tacit.federated import (
    aggregation,
    arrivals,
    attacks,
    availability,
    client_optimisers,
    compression,
    plugins,
    private_setup,
    server,
)
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.arrivals import BufferConfig
from tacit.federated.attacks import AttackConfig
from tacit.federated.availability import AvailabilityConfig
from tacit.federated.central import CentralConfig
from tacit.federated.client_config import ClientConfig
from tacit.federated.compression import CompressionConfig
from tacit.federated.executors import Executor
from tacit.federated.sampling import SamplingConfig, check_scheme
from tacit.federated.server import ServerConfig
from tacit.models import ModelConfig, architecture, check
from tacit.privacy.config import PrivacyConfig
from tacit.runs import conditions
from tacit.runs.conditions import ConditionsConfig
from tacit.runs.format import in_run, without_format
from tacit.text import sources
from tacit.text.catalogue import user_path
from tacit.text.locale import find
from tacit.text.locale_segments import segmenter
from tacit.text.prepare import CLIENTS, PartitionConfig, TextConfig
from tacit.text.typists import TypistsConfig


@dataclass(frozen=True)
class TrainingConfig:
    """How a run trains and evaluates: the table [training] of a configuration."""

    mode: Literal["federated", "central"] = "federated"
    rounds: int = number(50, 1)
    # the measure that chooses the best round
    best: Literal["perplexity", "top1", "top3", "sll", "sll_without_oov"] = "perplexity"
    evaluate_every: int = number(1, 1)
    evaluate_sentences: int = number(2000, 1)  # of the validation part, at each evaluation
    checkpoint_every: int = number(1, 1)
    executor: Executor = "auto"
    lanes_mb: int = number(0, 0)  # vmap: memory for the lanes; 0: a third of the device's, or 2 GB


@dataclass(frozen=True)
class Config:
    """Configures a whole run."""

    name: str = "run"
    seed: int = number(0, 0, 2**31 - 1)
    text: TextConfig = field(default_factory=TextConfig)
    typists: TypistsConfig = field(default_factory=TypistsConfig)
    partition: PartitionConfig = field(default_factory=PartitionConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    client: ClientConfig = field(default_factory=ClientConfig)
    aggregation: AggregationConfig = field(default_factory=AggregationConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    buffer: BufferConfig = field(default_factory=BufferConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    compression: CompressionConfig = field(default_factory=CompressionConfig)
    central: CentralConfig = field(default_factory=CentralConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    attack: AttackConfig = field(default_factory=AttackConfig)
    availability: AvailabilityConfig = field(default_factory=AvailabilityConfig)
    conditions: ConditionsConfig = field(default_factory=ConditionsConfig)


def presets() -> list[str]:
    """Returns the names of the built-in configurations."""
    files = resources.files("tacit").joinpath("presets").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def preset_summary(name: str) -> str:
    """Returns the first line of a preset, which describes it."""
    text = resources.files("tacit").joinpath("presets", f"{name}.toml").read_text("utf-8")
    return text.splitlines()[0].lstrip("# ")


def read_tables(source: str) -> dict[str, Any]:
    """Reads the tables of a preset (by name) or of a TOML file (by path)."""
    path = Path(source)
    try:
        if source in presets():
            text = resources.files("tacit").joinpath("presets", f"{source}.toml").read_text("utf-8")
        elif path.suffix == ".toml" or path.is_file():
            text = sources.read(path).decode("utf-8")
        else:
            raise TacitError(f"no preset '{source}'{nearest(source, presets())}; or give a .toml file")
        tables = without_format(tomllib.loads(text), path, required=in_run(path))
        return as_named(tables, path, text.encode()) if in_run(path) else tables
    except FileNotFoundError:
        known = ", ".join(presets())
        raise TacitError(f"no configuration file at {path}; give a .toml file or a preset: {known}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TacitError(f"cannot read the configuration {path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise TacitError(f"{source} is not valid TOML: {error}") from None


OUTSIDE = ("corpus", "words", "inventory")  # keys of [text] that name files outside a run
NO_FILE = ("", "typists", CLIENTS)  # values of these keys that name none


def as_named(tables: dict[str, Any], file: Path, content: bytes) -> dict[str, Any]:
    """Returns the tables of a run's config.toml with its paths marked: see tacit.base.consent."""
    text = tables.get("text")
    if not isinstance(text, Mapping):
        return tables
    paths = {k: v for k, v in text.items() if k in OUTSIDE and isinstance(v, str) and v not in NO_FILE}
    marked = {key: named(path, file.parent, content) for key, path in paths.items()}
    return {**tables, "text": {**text, **marked}}


def set_key(tables: dict[str, Any], assignment: str) -> None:
    """Applies one `--set a.b=c`; the value is TOML, or else a bare string."""
    key, equals, raw = assignment.partition("=")
    if not equals or not key.strip():
        raise TacitError(f"--set {assignment!r} must look like table.key=value, for example client.lr=0.5")
    try:
        given = tomllib.loads(f"value = {raw}")
        value = given["value"] if len(given) == 1 else raw.strip()  # one assignment, not several lines
    except (ValueError, RecursionError):
        value = raw.strip()
    *parents, last = key.strip().split(".")
    for parent in parents:
        tables = tables.setdefault(parent, {})
        if not isinstance(tables, dict):
            raise TacitError(f"--set {assignment!r}: '{parent}' is a key, not a table")
    tables[last] = value


_CHOICES = (
    ("aggregation", "rule"),
    ("client", "optimiser"),
    ("server", "optimiser"),
)  # keys that name a part with settings


def resolve(source: str, assignments: Iterable[str] = ()) -> Config:
    """Returns the whole configuration of a preset or file, with `--set` assignments and defaults applied.

    If an assignment names another rule or optimiser, the preset's settings of the replaced one are dropped.

    >>> resolve("fedavg", ["client.lr=0.5", "training.rounds=3"]).client.lr
    0.5
    """
    return resolve_tables(read_tables(source), assignments)


def resolve_tables(tables: dict[str, Any], assignments: Iterable[str] = ()) -> Config:
    """Returns the whole configuration of these tables, with assignments and defaults applied; changes `tables`."""
    assignments = list(assignments)
    chosen = [_choice(tables, *choice) for choice in _CHOICES]
    for assignment in assignments:
        set_key(tables, assignment)
    for choice, before in zip(_CHOICES, chosen, strict=True):
        if _choice(tables, *choice) != before:
            _drop_settings(tables[choice[0]], choice[0], assignments)
    config = _built(tables)
    aggregation.chosen_rule(config.aggregation, config.sampling.scheme)  # refuses unknown rules and settings
    check_scheme(config.sampling, config.client, config.aggregation)
    client_optimisers.client_optimiser(config.client)
    server.server_optimiser(config.server)
    return dataclasses.replace(
        config,
        aggregation=aggregation.settled(config.aggregation),
        client=client_optimisers.settled(config.client),
        server=server.settled(config.server),
    )


def _choice(tables: Mapping[str, Any], table: str, key: str) -> Any:
    """Returns the rule or optimiser that tables name."""
    usual, given = getattr(getattr(Config(), table), key), tables.get(table, {})
    return given.get(key, usual) if isinstance(given, Mapping) else usual


def _drop_settings(table: dict[str, Any], name: str, assignments: Iterable[str]) -> None:
    """Removes the settings of a rule (or optimiser) that assignments replace; settings from assignments stay."""
    typed = plugins.typed_keys(getattr(Config(), name))
    given = {tuple(assignment.partition("=")[0].strip().split(".")[:2]) for assignment in assignments}
    for key in [k for k in table if k not in typed and (name, k) not in given]:
        del table[key]


def algorithm(config: Config) -> Algorithm:
    """Returns what defines the rounds of a configuration."""
    return Algorithm(
        config.client,
        config.aggregation,
        config.server,
        config.sampling,
        config.privacy,
        config.availability,
        config.compression,
    )


def from_anywhere(config: Config) -> Config:
    """Returns the configuration with absolute paths, so that a run can be read in any current directory."""
    corpus, inventory, words = map(_absolute, (config.text.corpus, config.text.inventory, config.text.words))
    text = dataclasses.replace(config.text, corpus=corpus, inventory=inventory, words=words)
    privacy = dataclasses.replace(config.privacy, plan=_absolute(config.privacy.plan))
    return dataclasses.replace(config, text=text, privacy=privacy)


def _absolute(given: str) -> str:
    """Returns the full path of a file or directory; a name, and a pipe, which has no lasting path, are unchanged."""
    if isinstance(given, Named):  # of a run: its paths are absolute already
        return given
    path = user_path(given)
    is_path = given not in NO_FILE and (path.is_file() or path.is_dir())
    return str(path.resolve()) if is_path else given


def from_tables(tables: Mapping[str, Any]) -> Config:
    """Returns a configuration from nested tables, checked key by key and then as a whole.

    Custom rules and optimisers are not looked up and their settings are not checked, because a finished run does not
    need them.
    """
    config = _built(tables)
    for kind, table in (
        (aggregation.KIND, config.aggregation),
        (client_optimisers.KIND, config.client),
        (server.KIND, config.server),
    ):
        plugins.check_built_in(kind, table)
    return config


def _built(tables: Mapping[str, Any]) -> Config:
    """Returns a configuration from nested tables without checking the settings of rules and optimisers."""
    named = tables.get("model")
    if isinstance(named, Mapping) and "architecture" in named:  # a published model's name fills in its sizes
        rest = {k: v for k, v in named.items() if k != "architecture"}
        tables = {**tables, "model": {**dataclasses.asdict(architecture(str(named["architecture"]))), **rest}}
    text = tables.get("text")
    if isinstance(text, Mapping) and text.get("protocol") == "fedatt":  # whole sentences, every word
        tables = {**tables, "text": {"vocabulary": 0, "max_words": 0, **text}}
    config: Config = build(Config, tables)
    check(config.model)
    attacks.check(config.attack)
    availability.check(
        config.availability, config.sampling, config.privacy.separation, config.privacy.private
    )
    conditions.check(config.conditions)
    _check_locale(config)
    _refuse_what_does_nothing(config)
    private_setup.check(config.privacy, config.aggregation, config.client, config.sampling)
    federated = config.training.mode == "federated"
    compression.check(config.compression, config.aggregation, config.privacy, federated)
    arrivals.check(config.buffer, config.aggregation, config.sampling, config.privacy, federated)
    if config.buffer.size and config.availability.model != "always":
        raise TacitError(
            f"availability.model = '{config.availability.model}' does not go with buffer.size = {config.buffer.size}: "
            "it is a model of rounds; remove one"
        )
    if config.buffer.size and config.compression.form != "none":
        raise TacitError(
            f"compression.form = '{config.compression.form}' does not go with buffer.size = {config.buffer.size} yet: "
            "answers of different age are weighed before they are added; remove one"
        )
    if config.privacy.private and config.training.mode == "central":
        raise TacitError(
            f"privacy.mechanism = '{config.privacy.mechanism}' is for clients, and training.mode = 'central' has none; "
            "remove one"
        )
    return config


def _check_locale(config: Config) -> None:
    """Refuses an unknown locale, and one whose segmenter is not installed."""
    try:
        locale = find(config.text.locale)
    except TacitError as error:
        raise TacitError(f"text.locale: {error}") from None
    if locale.segmenter:
        segmenter(locale.segmenter)


def _refuse_what_does_nothing(config: Config) -> None:
    """Refuses a key that was set and would have no effect."""
    if config.text.pieces and not config.text.inventory:
        raise TacitError(
            f"text.pieces = {config.text.pieces} needs text.inventory: a counts.tsv of `tacit count`, or a .model"
        )
    dealt, usual = config.partition, Config()
    by_people = dealt.kind == "user" or (dealt.kind == "auto" and config.text.corpus == "typists")
    idle = {
        "attack.kind": (
            config.attack.kind != "none" and config.training.mode == "central",
            "training.mode = 'federated'",
        ),
        "availability.model": (
            config.availability.model != "always" and config.training.mode == "central",
            "training.mode = 'federated'",
        ),
        "text.inventory": (config.text.inventory != "" and not config.text.pieces, "text.pieces above 0"),
        "partition.clients": (
            dealt.clients != usual.partition.clients and by_people,
            "partition.kind = 'iid' or another",
        ),
        "partition.by": (
            dealt.by != usual.partition.by and dealt.kind not in ("shards", "dirichlet"),
            "partition.kind = 'shards' or 'dirichlet'",
        ),
        "partition.shards": (
            dealt.shards != usual.partition.shards and dealt.kind != "shards",
            "partition.kind = 'shards'",
        ),
        "partition.alpha": (
            dealt.alpha != usual.partition.alpha and dealt.kind != "dirichlet",
            "partition.kind = 'dirichlet'",
        ),
        "partition.sigma": (
            dealt.sigma != usual.partition.sigma and dealt.kind != "quantity",
            "partition.kind = 'quantity'",
        ),
    }
    for key, (useless, needs) in idle.items():
        if useless:
            raise TacitError(f"{key} would do nothing here: it needs {needs}; remove it or set that")
