"""Memory: reading takes the packed arrays and little more, a round nothing of the population."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_streaming import rows_of

from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.text.lazy import LazyText
from tacit.text.packed import ClientText, Packed
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import SPECIALS, Vocabulary

READS = """
    import sys, tracemalloc
    from pathlib import Path
    from tacit.text import corpus, encode, flat, lines, spill
    from tacit.text.prepare import PartitionConfig, TextConfig, prepare
    from tacit.text.typists import TypistsConfig

    corpus.cores = encode.cores = lambda: 1  # what helpers hold would not be counted
    spill._IN_MEMORY, encode._TOGETHER, flat.AT_ONCE = 1 << 18, 1 << 12, 1 << 14
    corpus.blocks = lambda path, watch: lines.blocks(path, watch, 1 << 18)
    tracemalloc.start()
    ready = prepare(TextConfig(corpus=sys.argv[1], vocabulary=0), PartitionConfig(), TypistsConfig(), 0)
    texts = (ready.clients, ready.valid, ready.test, ready.seen)
    peak = tracemalloc.get_traced_memory()[1]
    print(peak, sum(a.nbytes for t in texts for a in (t.tokens, t.offsets, t.owners)))
"""
KEEPS = """
    import json, sys, tracemalloc

    tracemalloc.start()
    kept = [json.loads(line) for line in open(sys.argv[1])]
    print(tracemalloc.get_traced_memory()[1], 0)
"""


def peak(script: str, path: Path) -> tuple[int, int]:
    """The most that Python and numpy had allocated, and the bytes of the packed arrays."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(path)], stdout=subprocess.PIPE, check=True
    )
    a, b = done.stdout.split()
    return int(a), int(b)


def test_memory_grows_by_the_packed_arrays_and_little_more(tmp_path: Path) -> None:
    few, many = 15_000, 75_000
    some = rows_of(500, few)
    files = {n: tmp_path / f"{n}.jsonl" for n in (few, many)}
    for n, path in files.items():
        path.write_text("\n".join(some * (n // few)))
    (low, low_packed), (high, high_packed) = (peak(READS, files[n]) for n in (few, many))
    a_message, a_packed_one = (high - low) / (many - few), (high_packed - low_packed) / (many - few)
    assert 30 < a_packed_one < 60
    assert a_message < 2.5 * a_packed_one, a_message  # bytes
    # the same measure tells a program apart that keeps the messages
    (low, _), (high, _) = (peak(KEEPS, files[n]) for n in (few, many))
    assert (high - low) / (many - few) > 450


def packed_people(people: int) -> Packed:
    offsets = np.arange(people * 6 + 1) * 9
    tokens = np.full(offsets[-1], 5, np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = 0, 1
    return Packed(tokens, offsets, np.arange(people + 1) * 6, tuple(map(str, range(people))))


def lazy_people(people: int) -> LazyText:
    everybody = Typists(TypistsConfig(users=people, messages=3, quantity_skew=0.0))
    who, sizes = np.arange(people), everybody.sizes()
    return LazyText(everybody, who, sizes, sizes - 1, Vocabulary((*SPECIALS, "the", "you")), True, 10)


@pytest.mark.parametrize(
    ("make", "few", "many"), [(packed_people, 1000, 100_000), (lazy_people, 1000, 100_000)]
)
def test_a_round_s_memory_does_not_know_the_population(make: Any, few: int, many: int) -> None:
    algorithm = Algorithm(ClientConfig(), AggregationConfig(), ServerConfig(), SamplingConfig(clients=40))

    def a_round(clients: ClientText) -> int:
        shape = text_grid(clients, algorithm.client)
        assert shape is not None
        text_cohort(clients, algorithm, 0, 0, shape)  # what is kept from round to round is there
        tracemalloc.start()
        cohort = text_cohort(clients, algorithm, 0, 1, shape)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(cohort.ids) == 40
        return found

    low, high = a_round(make(few)), a_round(make(many))
    assert high < low + many * 8 / 2  # not even half an array of the population
