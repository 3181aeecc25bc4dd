"""Exports the network of a run as an 8-bit file and measures the loss (`tacit export`)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.files import check_file, make_folder
from tacit.base.progress import Progress, no_progress
from tacit.lm.dense import likeliest
from tacit.lm.network import run_model
from tacit.lm.network8 import forward, reader, writer
from tacit.lm.network8.model import network8_model
from tacit.models import count_parameters
from tacit.runs import spending
from tacit.scoring.scores import summary
from tacit.text import typed as measures_text
from tacit.text.packed import pack
from tacit.text.vocabulary import BOS, SPECIALS

_MESSAGES = 50  # of each person
_TIMED = 300  # words


def export_network(
    path: Path, out: Path, people: int = 20, data: Path | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Writes the file, and measures both networks on `people` held-out people (0: on none)."""
    run = runs.load(path)
    if run.spelling is not None:
        raise TacitError(
            f"{path} is over word-pieces, which an 8-bit file does not hold; export a run over words, or use "
            "`tacit distill`"
        )
    target = check_file(out, reader.MAGIC, "an 8-bit network")
    config = run.config
    typed = None
    if people:  # before anything is written: the corpus may be gone
        typed = measures_text.read(
            config.text, config.typists, config.seed, people, _MESSAGES, data, progress
        )
    make_folder(target)
    writer.write(
        target,
        run.vocabulary,
        config.model,
        run.params,
        name=config.name,
        source=f"{config.training.mode} training, {config.training.rounds} rounds",
        case=config.text.case,
        max_words=config.text.max_words,
        locale=config.text.locale,
    )
    stored = reader.open(out)
    summary_figures: dict[str, Any] = {
        "file": str(out),
        "bytes": stored.size,
        "parameters": count_parameters(run.params),
        "latency_ms": latency(stored),
        **spending.of_model(path),
    }
    if typed is not None:
        summary_figures["models"] = {}
        for name, model in (("network", run_model(run)), ("8 bits", network8_model(stored))):
            encode = model.bulk.encoder.encode
            text = pack([[encode(m) for m in person] for person in typed.messages], typed.names)
            summary_figures["models"][name] = summary(model.score(text), text)
    return summary_figures


def latency(stored: reader.Network8, words: int = _TIMED) -> dict[str, float]:
    """Returns percentiles of the milliseconds that one more word and its three suggestions take."""
    ids = np.random.default_rng(0).integers(len(SPECIALS), len(stored.words), words + 1)
    state = forward.step(stored, None, np.array([BOS]))
    times = []
    for i in ids:
        began = time.perf_counter()
        state = forward.step(stored, state, np.array([i]))
        likeliest(forward.log_probs(stored, state)[0, len(SPECIALS) :], 3)
        times.append(1e3 * (time.perf_counter() - began))
    return {f"p{q}": float(np.percentile(times[1:], q)) for q in (50, 95, 99)}  # the first call maps the file
