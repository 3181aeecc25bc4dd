"""Reads a run directory as one object: its configuration, data, best model and figures, each on first use."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from tacit.base.errors import TacitError
from tacit.base.files import read_lines
from tacit.base.table import Table, from_rows
from tacit.federated.evaluation import Scorer, scorer
from tacit.models import LanguageModel, language_model
from tacit.models.base import Params
from tacit.runs.config import Config
from tacit.runs.data import prepare
from tacit.runs.directory import METRICS, read_best, read_config, read_words, trust
from tacit.runs.evaluate import evaluate_run
from tacit.runs.summary_file import read_summary
from tacit.scoring.scores import Scores
from tacit.text.packed import Packed
from tacit.text.pieces import Spelling
from tacit.text.prepare import Prepared
from tacit.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Run:
    """Reads a run directory that `train` made, finished or not.

    The configuration is read and checked at once; vocabulary, model and parameters when they are first used.

    Example:
        run = tacit.Run("runs/mine")
        run.config.client.lr      # a setting
        run.metrics["loss"]       # a column, one value per round
        run.evaluate()["top1"]    # recall on held-out people
        run.plot()                # a figure
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._config = read_config(self._path)

    @property
    def path(self) -> Path:
        """The run directory.

        Example:
            run.path / "report.html"
        """
        return self._path

    @property
    def config(self) -> Config:
        """The configuration as resolved, with every key.

        Example:
            run.config.training.rounds
        """
        return self._config

    @cached_property
    def encoder(self) -> Vocabulary | Spelling:
        """What turns text into the model's ids: the vocabulary, or the spelling of a piece model.

        Example:
            run.encoder.encode(["see", "you"])
        """
        return read_words(self.config, self.path)

    @property
    def spelling(self) -> Spelling | None:
        """The spelling of a piece model; None for a model over words.

        Example:
            run.spelling is None
        """
        return self.encoder if isinstance(self.encoder, Spelling) else None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the model; of a piece model the pieces.

        Example:
            len(run.vocabulary)
        """
        return self.encoder.pieces.vocabulary if isinstance(self.encoder, Spelling) else self.encoder

    @cached_property
    def model(self) -> LanguageModel:
        """The network as pure functions (`init`, `apply`, …).

        Example:
            run.model.apply(run.params, tokens)
        """
        return language_model(self.config.model, len(self.vocabulary))

    @cached_property
    def params(self) -> Params:
        """The parameters of the best round, a dict of JAX arrays.

        Example:
            run.params["embedding"].shape
        """
        params = read_best(self.path, jax.eval_shape(self.model.init, jax.random.key(0)))
        return jax.tree.map(jnp.asarray, params)

    @property
    def metrics(self) -> Table:
        """The metrics of each round: a table with a row per round, None where a value is missing.

        Example:
            run.metrics                       # displays as a table
            run.metrics["valid_perplexity"]   # a list
            pandas.DataFrame(run.metrics)
        """
        return from_rows(read_lines(self.path / METRICS), "round")

    @property
    def finished(self) -> bool:
        """Whether all rounds are done and the test part is scored.

        Example:
            run.finished
        """
        return (self.path / "summary.json").is_file()

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the best round on validation, test and seen people, as in summary.json.

        Example:
            run.summary["test"]["perplexity"]
        """
        file = self.path / "summary.json"
        if not self.finished:
            raise TacitError(
                f"{self.path}: the run has not ended (no summary.json); resume it with `tacit.train` or `tacit train … "
                "--resume`"
            )
        return read_summary(file)

    def prepare(self, data: Path | None = None, words: Vocabulary | None = None) -> Prepared:
        """Reads the text of the run again, split as it was for training.

        `data` is the directory of known corpora (default: $TACIT_DATA or ~/.cache/tacit). With `words` the text is
        encoded in these words, even if the run has a piece model.

        Example:
            len(run.prepare().clients)   # people trained on
        """
        if words is None:
            return prepare(self.config, self.encoder, data)
        text = replace(self.config.text, pieces=0, inventory="")
        return prepare(replace(self.config, text=text), words, data)

    def trust(self) -> Run:
        """Lets Tacit read the files that the run names outside itself, and returns the run.

        Needed for a run that was made elsewhere.

        Example:
            tacit.Run("runs/theirs").trust().evaluate()
        """
        trust(self.path)
        self._config = read_config(self.path)
        return self

    def score(self, text: Packed) -> Scores:
        """Scores every sentence of a text that `run.encoder` encoded.

        Example:
            run.score(run.prepare().valid).nll.sum()
        """
        return self._scorer(self.params, text)

    @cached_property
    def _scorer(self) -> Scorer:
        return scorer(self.model, self.spelling)

    def evaluate(self, corpus: str | Path | None = None, data: str | Path | None = None) -> dict[str, Any]:
        """Scores the best model on the run's held-out part, or on all of another corpus.

        Returns what `tacit evaluate --json` prints: perplexity, top1, top3, …, with `ci95` (half-widths of 95 %
        intervals over people) and `by_person`.

        Example:
            run.evaluate()["perplexity"]
            run.evaluate("messages.jsonl")["top3"]
        """
        named = None if corpus is None else str(corpus)
        return evaluate_run(self, named, None if data is None else Path(data))

    def plot(self) -> Figure:
        """Plots validation perplexity and recall over rounds as a matplotlib figure.

        Example:
            run.plot().savefig("run.png")
        """
        from tacit.runs.plots import learning_curves  # here, because matplotlib is slow to import

        return learning_curves(self.metrics, self.config.name)

    def report(self) -> Path:
        """Writes report.html, a page with plots and figures that opens without network, and returns its path.

        Example:
            run.report()
        """
        from tacit.runs.report import write_report

        return write_report(self)

    def __repr__(self) -> str:
        rounds = len(self.metrics["round"])
        state = "finished" if self.finished else "not finished"
        total = self.config.training.rounds
        return f"Run({str(self.path)!r}): {self.config.name}, {rounds} of {total} rounds, {state}"


def load(path: Path) -> Run:
    """Reads a run with its best model; refuses a damaged one at once."""
    run = Run(path)
    run.params  # noqa: B018  (reading it checks the vocabulary and the checkpoint)
    return run
