"""Measures secure sums: what a client and the server take, with 30 % of the clients dropping at each of the stages.

    python benchmarks/secure_sums.py [--clients 100] [--words 1400000] [--share 0.3] [--dropout 0.3]

Every round goes through all messages as bytes, in one process, and its sum is compared with numpy's, word by word. The
seconds of a client are those of all its stages together; `most` is the slowest client's. The server's are those of
taking all messages and answering them, the opening of the sum included. Seconds are of the clock, and in brackets of
the processor, over all threads: on a busy machine only these compare.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.privacy.secure.client import STAGES, Client
from tacit.privacy.secure.graph import Rates
from tacit.privacy.secure.messages import Terms
from tacit.privacy.secure.server import Server
from tacit.privacy.secure.simulated import run_round


class Timed:
    """A party, and the seconds that its functions take."""

    def __init__(self, party: Any) -> None:
        self.party, self.seconds, self.processor, self.bytes = party, 0.0, 0.0, 0

    def __getattr__(self, name: str) -> Any:
        def timed(*arguments: Any) -> Any:
            start, processor = time.perf_counter(), time.process_time()
            result = getattr(self.party, name)(*arguments)
            self.seconds += time.perf_counter() - start
            self.processor += time.process_time() - processor
            self.bytes += len(result) if isinstance(result, bytes) else 0
            return result

        return timed


class Vectors(Sequence[np.ndarray]):
    """Random vectors, drawn anew whenever one is asked for: a cohort's do not fit every memory."""

    def __init__(self, clients: int, words: int) -> None:
        self.clients, self.words = clients, words

    def __len__(self) -> int:
        return self.clients

    def __getitem__(self, i: Any) -> Any:
        return np.random.default_rng(i).integers(0, 2**64, self.words, np.uint64)


def measured(clients: int, words: int, rates: Rates, drop: dict[str, list[int]]) -> list[str]:
    """Returns a row of the table: one round."""
    terms = Terms(os.urandom(16), clients, words, least=clients // 2)
    server = Timed(Server(terms, rates))
    parties = [Timed(Client(terms, i)) for i in range(clients)]
    vectors = Vectors(clients, words)
    sparsity = []
    end_stage = server.end_stage
    server.end_stage = lambda: (end_stage(), sparsity.append(server.party.sparsity))[
        0
    ]  # forgotten in the end
    opened = run_round(server, parties, vectors, drop)  # type: ignore[arg-type]
    plain = np.zeros(words, np.uint64)
    for i in opened.survivors:
        plain += vectors[i]
    lasting = [parties[i] for i in opened.survivors]
    slowest = max(parties, key=lambda party: party.seconds)
    return [
        next(iter(drop), "nobody"),
        f"{len(opened.survivors)}",
        f"{sparsity[0].degree}, {sparsity[0].threshold}",
        "yes" if np.array_equal(plain, opened.total) else "NO",
        f"{np.mean([p.seconds for p in lasting]):.2f} ({np.mean([p.processor for p in lasting]):.2f})",
        f"{slowest.seconds:.2f} ({slowest.processor:.2f})",
        f"{server.seconds:.1f} ({server.processor:.1f})",
        f"{max(party.bytes for party in parties) / 1e6 - 8 * words / 1e6:.3f}",
    ]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--words", type=int, default=1_400_000)
    parser.add_argument("--share", type=float, default=0.3, help="of the clients that drop at a stage")
    parser.add_argument(
        "--dropout", type=float, default=0.3, help="share of drop-outs that the graph must bear"
    )
    asked = parser.parse_args()
    rates = Rates(dropout=asked.dropout)
    gone = list(range(round(asked.share * asked.clients)))
    head = [
        "drops at",
        "summed",
        "degree, threshold",
        "exact",
        "client s",
        "most",
        "server s",
        "MB beside the vector",
    ]
    print(f"{asked.clients} clients, {asked.words} numbers, {os.cpu_count()} cores\n")
    print("|", " | ".join(head), "|\n" + "|---" * len(head) + "|")
    for stage in ("", *STAGES):
        row = measured(asked.clients, asked.words, rates, {stage: gone} if stage else {})
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
