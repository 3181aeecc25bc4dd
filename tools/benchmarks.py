"""Make docs/benchmarks.md from benchmarks/results/*.json.

tacit bench --json > bench.json                        # on the machine to be measured
python benchmarks/torch_loop.py > torch.jsonl          # in an environment with torch==2.13.0
python tools/benchmarks.py add-cpu bench.json torch.jsonl
python tools/benchmarks.py                             # the page
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

from readme_demo import machine

RESULTS = Path("benchmarks/results")


def table(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def bench_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    header = ["workload", "clients", "rows × time", "V", "D", "precision", "executor", "ms per client-step"]
    found = [[*header, "words per second", "useful", "of matrix rate", "of copy rate"]]
    for r in rows:
        shape = f"{r.get('rows', r['batch'])} × {r['time']}"
        found.append(
            [r["workload"], str(r["clients"]), shape, f"{r['vocabulary']:,}", str(r["size"]), r["precision"],
             r["executor"], f"{r['ms_per_client_step']:.4g}", f"{r['tokens_per_s']:,.0f}", f"{r['useful_share']:.0%}",
             f"{r['matrix_share']:.0%}", f"{r['copy_share']:.0%}"]
        )  # fmt: skip
    return found


def page() -> str:
    cpu, gpu = (json.loads((RESULTS / name).read_text()) for name in ("cpu.json", "h200.json"))
    torch = {r["workload"]: r for r in cpu["torch"]}
    compared = [["workload", "PyTorch loop, ms", "Tacit, ms", "ratio"]]
    for r in cpu["rows"]:
        if r["workload"] in torch:
            other = torch[r["workload"]]["ms_per_client_step"]
            ours = r["ms_per_client_step"]
            compared.append([r["workload"], f"{other:.3g}", f"{ours:.3g}", f"{other / ours:.1f} ×"])
    federation = [
        ["batch", "rows × time", "lanes", "useful", "a round", "sentences per second", "3,000 rounds"]
    ]
    for r in gpu["federation"]["rows"]:
        federation.append(
            [f"{r['batch']} sentences", f"{r['rows']} × {r['time']}", str(r["lanes"]), f"{r['useful_share']:.0%}",
             f"{r['round_s']:.2f} s", f"{r['sentences_per_s']:,.0f}", f"{3000 * r['round_s'] / 60:.0f} minutes"]
        )  # fmt: skip
    return f"""# Benchmarks

Made by `tools/benchmarks.py` from `benchmarks/results/`; nothing here is typed by hand. A client-step is one local
SGD step of one client; `tacit bench --help` and `src/tacit/bench.py` say what the workloads are. Shares are of
the device's own measured rates; a copy share above 100 % means that the work stays in the cache.

## {gpu["machine"]}, {gpu["date"]}
{gpu["command"]}

{table(bench_rows(gpu["rows"]))}

Gboard's federation, the real model and a round's real size ({gpu["federation"]["command"]}); training only,
the next cohort is put together by the host meanwhile:

{table(federation)}

## {cpu["machine"]}, {cpu["date"]}
`tacit bench --json`

{table(bench_rows(cpu["rows"]))}

The same shapes in PyTorch, one client after another (`benchmarks/torch_loop.py`, torch 2.13.0, the better of one
thread and all), in the same minutes:

{table(compared)}
"""


def main() -> None:
    if sys.argv[1:2] == ["add-cpu"]:
        rows, loops = (Path(name).read_text() for name in sys.argv[2:4])
        found = {"machine": machine(), "date": str(datetime.date.today()), "rows": json.loads(rows)}
        found["torch"] = [json.loads(line) for line in loops.splitlines()]
        (RESULTS / "cpu.json").write_text(json.dumps(found, indent=1) + "\n")
    Path("docs/benchmarks.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
