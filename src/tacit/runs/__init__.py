"""The run directory: everything about one run, in files that can be read without Tacit.

    config.toml        the configuration as resolved, with every key, and the format number of the directory
    vocabulary.txt     the words, one per line; of a piece model the pieces, with pieces.model (which splits words into
                       them) and words.txt (the vocabulary that a word model would have)
    metrics.jsonl      one line per round; the same bytes however often the run was interrupted
    ledger.jsonl       of a private run: one line per release (tacit.privacy.ledger), on disk before the checkpoint
    timings.jsonl      seconds per round; a separate file, because times never repeat
    checkpoints/       last.safetensors (model, optimiser, round) and best.safetensors (model)
    summary.json       the best round on validation, and its figures on the test part and on seen people
    report.html        all of it on one page

Nothing is written before the settings, the corpus and the directory have been checked. A checkpoint is written
atomically, after the lines of metrics up to it. Resuming truncates metrics.jsonl to the last checkpoint. Every random
draw is keyed by seed and round, so a resumed run ends with the same bytes as one that was never interrupted.
"""

from tacit.runs.callbacks import Callback
from tacit.runs.data import prepare
from tacit.runs.directory import BEST, digest, read_config, trust
from tacit.runs.run import Run, load
from tacit.runs.training import make_trainer, sample, train

__all__ = [
    "BEST",
    "Callback",
    "Run",
    "digest",
    "load",
    "make_trainer",
    "prepare",
    "read_config",
    "sample",
    "train",
    "trust",
]
