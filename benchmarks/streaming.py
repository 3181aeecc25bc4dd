"""Measures time and memory to read, split and pack a large corpus, and to set up a million clients.

A corpus of synthetic messages (eight words on average, 60,000 word types by Zipf's law, unsorted) is written to a
temporary directory. Every measurement runs in a separate process, so that peak memory is measured separately. The words
are meaningless, because time does not depend on them.

    python benchmarks/streaming.py --messages 10000000 --people 1000000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.local import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.text.packed import Packed
from tacit.text.prepare import PartitionConfig, Prepared, TextConfig, prepare
from tacit.text.typists import TypistsConfig

WORDS, TYPES, AT_ONCE = 8, 60_000, 100_000
MB = 1e6


def write(path: Path, messages: int, people: int) -> None:
    """Writes user-keyed JSON lines, one for each message."""
    draw = np.random.default_rng(0)
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
    words = np.array(
        ["".join(draw.choice(syllables, 1 + i % 3)) + ("", "", "'s", "s")[i % 4] for i in range(TYPES)]
    )
    words[:6] = [",", ".", "the", "to", "you", "!"]
    likely = np.cumsum(1 / np.arange(1, TYPES + 1))
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, messages, AT_ONCE):
            count = min(AT_ONCE, messages - first)
            length = 1 + draw.poisson(WORDS - 1, count)
            text = words[np.searchsorted(likely, draw.random(length.sum()) * likely[-1])].tolist()
            ends = np.cumsum(length).tolist()
            who = draw.integers(0, people, count).tolist()
            when = (
                (np.datetime64("2026-01-01T00:00:00") + draw.integers(0, 180 * 86400, count))
                .astype(str)
                .tolist()
            )
            begin = 0
            for user, moment, end in zip(who, when, ends, strict=True):
                message = " ".join(text[begin:end])
                file.write(f'{{"user": "u{user:07d}", "time": "{moment}", "text": "{message}"}}\n')
                begin = end


def memory(process: int) -> tuple[float, float]:
    """Returns the memory of a process and its children in MB: all of it, and without file pages."""
    try:
        facts = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        sizes = [int(facts[name].split()[0]) * 1024 / MB for name in ("VmRSS", "RssAnon")]
        for task in Path(f"/proc/{process}/task").iterdir():
            for helper in (task / "children").read_text().split():
                sizes = [a + b for a, b in zip(sizes, memory(int(helper)), strict=True)]
        return sizes[0], sizes[1]
    except (OSError, KeyError):  # the process has just ended
        return 0.0, 0.0


def size_mb(*texts: Packed | None) -> float:
    return sum(a.nbytes for t in texts if t is not None for a in (t.tokens, t.offsets, t.owners)) / MB


def algorithm() -> Algorithm:
    """Returns the sampling of a round in the gboard preset."""
    client = ClientConfig(lr=0.5, max_examples=400)
    return Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(clients=100))


def cohorts(clients: Any) -> dict[str, float]:
    """Assembles the cohort of the first round and of another."""
    began = time.perf_counter()
    shape = text_grid(clients, algorithm().client)
    text_cohort(clients, algorithm(), 0, 0, shape)
    first = time.perf_counter() - began
    began = time.perf_counter()
    text_cohort(clients, algorithm(), 0, 1, shape)
    return {"first_cohort_s": first, "next_cohort_s": time.perf_counter() - began}


def prepared(text: TextConfig, people: TypistsConfig) -> tuple[Prepared, dict[str, float]]:
    """Prepares a corpus and measures time and memory."""
    idle, began = memory(os.getpid())[0], time.perf_counter()
    ready = prepare(text, PartitionConfig(), people, seed=0)
    seconds = time.perf_counter() - began
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in used)  # includes the start of the program
    return ready, {"seconds": seconds, "cpu_s": cpu, "idle_mb": idle, "clients": len(ready.clients)}


def corpus(path: Path) -> dict[str, Any]:
    """Measures reading from the file to packed arrays."""
    ready, facts = prepared(TextConfig(corpus=str(path), vocabulary=10_000), TypistsConfig())
    assert isinstance(ready.clients, Packed)
    texts = [ready.clients, ready.valid, ready.test, *([ready.seen] if ready.seen else [])]
    return {
        "file_mb": path.stat().st_size / MB,
        **facts,
        "packed_mb": size_mb(*texts),
        "tokens": sum(len(t.tokens) for t in texts),
        **cohorts(ready.clients),
    }


def typists(users: int) -> dict[str, Any]:
    """Measures a population that is generated on demand."""
    ready, facts = prepared(TextConfig(vocabulary=10_000), TypistsConfig(users=users))
    return {**facts, **cohorts(ready.clients)}


def apart(*arguments: object) -> dict[str, Any]:
    """Runs this program with other arguments in a separate process, and tracks its memory."""
    process = subprocess.Popen([sys.executable, "-P", __file__, *map(str, arguments)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    peak = private = 0.0
    while process.poll() is None:
        now = memory(process.pid)
        peak, private = max(peak, now[0]), max(private, now[1])
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(process.returncode)
    return {**json.loads(process.stdout.read()), "peak_mb": peak, "peak_private_mb": private}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure reading and packing; prints JSON.")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--typists", type=int, default=1_000_000)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only-typists", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.corpus:
        print(json.dumps(corpus(given.corpus)))
    elif given.only_typists:
        print(json.dumps(typists(given.typists)))
    else:
        with tempfile.TemporaryDirectory() as here:
            path = Path(here) / "messages.jsonl"
            write(path, given.messages, given.people)
            read_ = apart("--corpus", path)
        results = {
            "command": f"python benchmarks/streaming.py --messages {given.messages} --people {given.people}",
            "corpus": {
                "messages": given.messages,
                "people": given.people,
                "messages_per_s": given.messages / read_["seconds"],
                **read_,
            },
            "typists": {"users": given.typists, **apart("--only-typists", "--typists", given.typists)},
        }
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
