"""What a tab computes by itself, against Python: ε, clipping, and a person's sentences as ids."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from in_process import world

from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.private import Private, client_parts
from tacit.network.person import Device, person_text
from tacit.page.server import locale_json
from tacit.privacy.bounds import clipped
from tacit.privacy.config import PrivacyConfig
from tacit.text import locale
from tacit.text.corpus import from_messages
from tacit.text.encode import everybody
from tacit.text.vocabulary import Vocabulary

ROUNDS = [([1.0], 1e-5), ([0.3] * 7, 1e-6), ([5.0] * 200, 1e-6), ([40.0] * 3, 1e-9), ([1.0, 2.0, 4.0], 1e-5)]
NO_LIMIT = [([1.0, 0.0], 1e-6), ([1.0], 0.0)]
RNG = np.random.default_rng(3)
UPDATES = [
    ([RNG.normal(size=9) * scale, RNG.normal(size=(4,)) * scale], clip, weight)
    for scale, clip, weight in ((1.0, 0.5, 1.0), (1e-3, 0.5, 1.0), (10.0, 2.0, 0.25), (0.0, 1.0, 1.0))
]
KINDS = ("m", "v", "m", "count")
LIMITS = {"moments_clip": 0.05, "second_clip": 0.002, "moments_steps": 30}
CHANGES = [  # moments before and after, limits, weight, and a number of the update
    (
        [np.float32(RNG.normal(size=n) * 1e-2) for n in (6, 4, 3, 1)],
        [np.float32(RNG.normal(size=n) * scale) for n in (6, 4, 3)] + [np.float32([steps])],
        LIMITS,
        weight,
        update,
    )
    for scale, steps, weight, update in ((1e-2, 12, 1.0, 0.1), (1e-6, 99, 0.25, 0.1), (1.0, 7, 1.0, np.nan))
]
MESSAGES = [
    "See you at 10:30, don’t be late!!", "", "   ", "ÉTÉ à la plage 😀", "a b c d e f g h i j",
    "well-known rock'n'roll :)", "see https://example.org/x", "see you", "late again...", "you you you",
    "l'eau d'ici", "L'ÉTÉ qu'on a vu", "ILIK İYİ IŞIK", "วันนี้อากาศดีมาก", "late again...",
]  # fmt: skip


@pytest.fixture(scope="module")
def device() -> Device:
    return Device(from_messages("p", {"me": MESSAGES}))


def words_of(device: Device) -> Vocabulary:
    """The words of the text as English reads it, and some that other languages read in it."""
    more = ("ılık", "ışık", "iyi", "l'", "d'", "qu'", "eau", "ici", "วันนี้", "อากาศ", "ดี", "มาก")
    return Vocabulary(tuple(dict.fromkeys((*world([device])[1].words, *more))))


def arrays(some: Sequence[Any]) -> list[list[float]]:
    return [np.ravel(leaf).tolist() for leaf in some]


def texts() -> list[dict[str, Any]]:
    """Settings of [text]."""
    made = [
        *(("lower", 4, 0.1, "en"), ("keep", 0, 0.25, "en"), ("lower", 0, 0.05, "en"), ("keep", 3, 0.0, "en")),
        *(("lower", 2, 0.95, "en"), ("lower", 0, 0.1, "fr"), ("lower", 0, 0.1, "tr"), ("keep", 0, 0.1, "th")),
    ]
    return [
        {"case": case, "max_words": most, "held_out_text": share, "locale": code}
        for case, most, share, code in made
    ]


@pytest.fixture(scope="module")
def told(device: Device) -> Any:
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed; `make browser` installs it where it may")
    words = words_of(device)
    updates = [([np.ravel(leaf).tolist() for leaf in leaves], *rest) for leaves, *rest in UPDATES]
    given = {
        "words": "\n".join(words.words),
        "rounds": [*ROUNDS, *NO_LIMIT],
        "updates": [*updates, ([[1.0, None]], 1.0, 1.0)],
        "changes": [
            (KINDS, arrays(before), arrays(after), limits, weight, bool(np.isfinite(update)))
            for before, after, limits, weight, update in CHANGES
        ],
        "texts": [(MESSAGES, settings) for settings in texts()],
        "locales": {code: locale_json(locale.find(code)) for code in ("en", "fr", "tr", "th")},
    }
    script = Path(__file__).with_name("tab_numbers.mjs")
    done = subprocess.run(
        [node, str(script)], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_epsilon_is_that_of_the_accountant(told: Any) -> None:
    dp = pytest.importorskip("dp_accounting")
    for (noises, delta), found in zip(ROUNDS, told["epsilons"], strict=False):
        mu = sum(1 / z**2 for z in noises) ** 0.5
        wanted = dp.pld.PLDAccountant()
        wanted.compose(dp.GaussianDpEvent(1 / mu))
        assert found == pytest.approx(wanted.get_epsilon(delta), rel=1e-3)
    assert told["epsilons"][len(ROUNDS) :] == [None, None]  # no limit: JSON has no infinity


def test_clipping_is_pythons(told: Any) -> None:
    for (leaves, clip, weight), (found, norm, finite) in zip(UPDATES, told["clipped"], strict=False):
        tree = [jnp.asarray(leaf, jnp.float32) for leaf in leaves]
        wanted, _ = clipped(tree, jnp.float32(clip))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, weight * np.asarray(b).ravel(), rtol=1e-6, atol=1e-12)
        length = np.sqrt(sum(np.square(leaf).sum() for leaf in found))
        assert (
            finite
            and length <= clip
            and norm == pytest.approx(float(np.sqrt(sum(np.square(leaf).sum() for leaf in leaves))), rel=1e-6)
        )
    found, norm, finite = told["clipped"][-1]
    assert found == [[0, 0]] and not finite  # an update that is not finite becomes zeros


def test_changes_of_moments_are_pythons(told: Any) -> None:
    rule = aggregation(AggregationConfig())
    for (before, after, limits, weight, update), found in zip(CHANGES, told["changes"], strict=True):
        config = PrivacyConfig(mechanism="clipped", clip=1.0, weight="bounded", max_weight=1, **limits)
        tree = {"w": jnp.full(3, update, jnp.float32)}
        moments = ([jnp.asarray(x) for x in before], [jnp.asarray(x) for x in after])
        wanted = client_parts(
            rule, Private(config, 4.0, KINDS), tree, jnp.float32(1), tree, jnp.float32(weight), 1, moments
        )
        for name in ("moments", "seconds", "counts"):
            want = [np.ravel(leaf) for leaf in getattr(wanted, name)]
            for a, b in zip(found[name], want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)
    assert found["seconds"] == [[0] * 4] and found["counts"] == [[0]]  # the update of the last is not finite


def test_sentences_are_the_ids_of_a_python_client(told: Any, device: Device) -> None:
    config, words = world([device])[0], words_of(device)
    for settings, (training, held_out) in zip(texts(), told["texts"], strict=True):
        asked = dataclasses.replace(config, text=dataclasses.replace(config.text, **settings))
        numbered = everybody(device.messages, settings["case"] == "lower", locale=settings["locale"])
        found = person_text(numbered, asked, words)
        for part, got in ((found.training, training), (found.held_out, held_out)):
            ends = part.offsets.tolist()
            assert [part.tokens[a:b].tolist() for a, b in itertools.pairwise(ends)] == got, settings
