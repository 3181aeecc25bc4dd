"""The run directory: everything one run is, in files that can be read without Tacit.

    config.toml        the configuration as resolved, every key
    vocabulary.txt     the words, one a line; of a piece model the pieces, which pieces.model makes words into, and
                       words.txt the words that a word model in its place would know
    metrics.jsonl      one line for each round; the same bytes however often the run was interrupted
    timings.jsonl      how long each round took (never the same twice, so kept apart)
    checkpoints/       last.safetensors (model, optimiser, round) and best.safetensors (model)
    summary.json       the best round on validation, and its figures on the test and on seen typists
    report.html        all of it to look at

Nothing is made before the settings, the corpus and the directory are known to be good. A checkpoint is
written whole or not at all, after the lines it belongs to; `--resume` cuts metrics.jsonl
back to the last checkpoint and goes on. Every draw is addressed by seed and round, so a run that was
killed at any moment ends with the same bytes as one that was not.
"""

from tacit.runs.directory import BEST, Run, digest, load, read_config
from tacit.runs.training import Watcher, make_trainer, sample, train

__all__ = ["BEST", "Run", "Watcher", "digest", "load", "make_trainer", "read_config", "sample", "train"]
