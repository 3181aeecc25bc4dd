"""A sequential PyTorch loop, one client and one step after another, as in most federated simulators.

This is the baseline for `tacit bench` on the same shapes (tied GRU, SGD, the mean of the models). It is not part of the
package and needs `pip install torch==2.13.0 numpy`.

    python benchmarks/torch_loop.py [small gboard paper]
"""

from __future__ import annotations

import copy
import json
import statistics
import sys
import time

import torch
from torch import nn

WORKLOADS = {  # clients, batch, time, vocabulary, size, steps: as `tacit bench` runs them on a CPU
    "small": (20, 5, 12, 2000, 64, 20),
    "gboard": (10, 5, 16, 10_000, 96, 20),
    "paper": (10, 10, 32, 28_913, 300, 3),
}


class Model(nn.Module):
    """Tied GRU language model."""

    def __init__(self, vocabulary: int, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.gru = nn.GRU(size, size, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(self.gru(self.embedding(tokens))[0], self.embedding.weight, self.bias)


def one_round(model: Model, words: torch.Tensor, vocabulary: int) -> None:
    """Trains every client from the same start and averages the models."""
    start = copy.deepcopy(model.state_dict())
    total = {k: torch.zeros_like(v) for k, v in start.items()}
    for client in words:
        model.load_state_dict(start)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in client:
            optimiser.zero_grad(set_to_none=True)
            logits = model(batch[:, :-1])
            nn.functional.cross_entropy(logits.reshape(-1, vocabulary), batch[:, 1:].reshape(-1)).backward()
            optimiser.step()
        for k, v in model.state_dict().items():
            total[k] += v / len(words)
    model.load_state_dict(total)


def main() -> None:
    for name in sys.argv[1:] or WORKLOADS:
        clients, batch, steps_in_time, vocabulary, size, steps = WORKLOADS[name]
        best = None
        for threads in sorted({1, torch.get_num_threads()}):  # each at its best setting
            torch.set_num_threads(threads)
            torch.manual_seed(0)
            model = Model(vocabulary, size)
            words = torch.randint(3, vocabulary, (clients, steps, batch, steps_in_time + 1))
            one_round(model, words, vocabulary)
            times = []
            for _ in range(3):
                began = time.perf_counter()
                one_round(model, words, vocabulary)
                times.append(time.perf_counter() - began)
            ms = 1000 * statistics.median(times) / (clients * steps)
            best = min(best or (ms, threads), (ms, threads))
        print(json.dumps({"workload": name, "ms_per_client_step": best[0], "threads": best[1]}), flush=True)


if __name__ == "__main__":
    main()
