"""Writes docs/benchmarks.md from benchmarks/results/*.json.

tacit bench --json > bench.json                        # on the machine to be measured
python benchmarks/torch_loop.py > torch.jsonl          # in an environment with torch==2.13.0
python tools/benchmarks.py add-cpu bench.json torch.jsonl
python benchmarks/streaming.py --messages 10000000 --people 1000000 > streaming.json
python tools/benchmarks.py add-streaming streaming.json "what else the machine was doing"
python tools/benchmarks.py                             # writes the page
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import speed
from pages import RESULTS, machine, read, store, table, today


def bench_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    header = ["workload", "clients", "rows × time", "V", "D", "precision", "executor", "ms per client-step"]
    lines = [[*header, "words per second", "useful", "of matrix rate", "of copy rate", "memory, MB"]]
    for r in rows:
        shape = f"{r.get('rows', r['batch'])} × {r['time']}"
        lines.append(
            [r["workload"], str(r["clients"]), shape, f"{r['vocabulary']:,}", str(r["size"]), r["precision"],
             r["executor"], f"{r['ms_per_client_step']:.4g}", f"{r['tokens_per_s']:,.0f}", f"{r['useful_share']:.0%}",
             f"{r['matrix_share']:.0%}", f"{r['copy_share']:.0%}", f"{r['peak_memory_mb']:,.0f}"]
        )  # fmt: skip
    return lines


def reading_rows(results: dict[str, Any]) -> list[list[str]]:
    def row(population: str, r: dict[str, Any]) -> list[str]:
        rate, packed = (f"{r[key]:,.0f}" if key in r else "" for key in ("messages_per_s", "packed_mb"))
        seconds = [f"{r['seconds']:.0f} s", f"{r['cpu_s']:.0f} s"]
        memory = [f"{r['peak_mb']:,.0f}", f"{r['peak_private_mb']:,.0f}"]
        return [population, *seconds, rate, packed, *memory, f"{1000 * r['next_cohort_s']:,.0f} ms"]

    header = ["population", "time until ready", "CPU time", "messages per second", "packed arrays, MB"]
    corpus, typists = results["corpus"], results["typists"]
    return [
        [*header, "peak memory, MB", "without file pages, MB", "time for a cohort of 100"],
        row(f"a file of {corpus['messages']:,} messages by {corpus['people']:,} people", corpus),
        row(f"{typists['users']:,} built-in typists", typists),
    ]


def optimiser_rows(measured: list[dict]) -> list[list[str]]:
    rows = [["workload", "optimiser", "ms per client-step", "times SGD's"]]
    for r in measured:
        plain = next(p for p in measured if p["workload"] == r["workload"] and p["optimiser"] == "sgd")
        times = sum(r["ms_per_client_step"]) / sum(plain["ms_per_client_step"])
        rows.append(
            [
                r["workload"],
                r["optimiser"],
                ", ".join(f"{ms:.4f}" for ms in r["ms_per_client_step"]),
                f"{times:.2f}",
            ]
        )
    return rows


def quality_rows(corpus: str, mode: str = "") -> list[list[str]]:
    """The trials on a corpus, best on validation first; with a mode, only those that are trained so."""
    trials = [json.loads(line) for line in (RESULTS / "quality.jsonl").read_text().splitlines()]
    trials = [
        r
        for r in trials
        if r["corpus"] == corpus and mode in ("", "central" if "mode=central" in r["trial"] else "federated")
    ]
    trials.sort(key=lambda r: r["valid"])
    rows = [["trial", "validation", "test", "seconds"]]
    rows += [
        [f"`{r['trial']}`", f"{r['valid']:.1f}", f"{r['test']:.1f}", f"{r['seconds']:.0f}"] for r in trials
    ]
    return rows


def skewed_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Trials on typists who differ much, best on validation first, beside the one trained on pooled text."""
    central = next(r["test"] for r in rows if r["trial"] == "demo-central")
    lines = [["trial", "validation", "test", "test against central", "seconds"]]
    for r in sorted(rows, key=lambda r: r["valid"]):
        perplexities = [f"{r['valid']:.1f}", f"{r['test']:.1f}", f"{r['test'] / central - 1:+.0%}"]
        lines.append([f"`{r['trial']}`", *perplexities, f"{r['seconds']:.0f}"])
    return lines


def variate_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Validation perplexity with and without control variates."""
    lines = [["on the clients", "`client.lr`", "10 rounds", "20 rounds", "30 rounds"]]
    return lines + [[r["client"], f"{r['lr']:g}", *(f"{v:.1f}" for v in r["valid"])] for r in rows]


def page() -> str:
    files = ("cpu.json", "h200.json", "streaming.json", "useful.json", "noniid.json")
    cpu, gpu, streaming, useful, skewed = map(read, files)
    whole, stopped, variates = (skewed[key] for key in ("whole", "stopped", "control_variates"))

    def last(name: str) -> float:
        return min(r["valid"][-1] for r in variates["rows"] if name in r["client"])

    torch = {r["workload"]: r for r in cpu["torch"]}
    compared = [["workload", "PyTorch loop, ms", "Tacit, ms", "ratio"]]
    for r in cpu["rows"]:
        if r["workload"] in torch:
            other = torch[r["workload"]]["ms_per_client_step"]
            ours = r["ms_per_client_step"]
            compared.append([r["workload"], f"{other:.3g}", f"{ours:.3g}", f"{other / ours:.1f} ×"])
    federation = [
        ["batch", "rows × time", "lanes", "useful", "one round", "sentences per second", "3,000 rounds"]
    ]
    for r in gpu["federation"]["rows"]:
        federation.append(
            [f"{r['batch']} sentences", f"{r['rows']} × {r['time']}", str(r["lanes"]), f"{r['useful_share']:.0%}",
             f"{r['round_s']:.2f} s", f"{r['sentences_per_s']:,.0f}", f"{3000 * r['round_s'] / 60:.0f} minutes"]
        )  # fmt: skip
    checked = [["model", "rule", "difference"]]
    for r in gpu["accelerator"]["rows"]:
        checked.append([r["model"], r["rule"], f"{r['largest_relative_difference']:.1e}"])
    row = gpu["fedatt_row"]
    first, again = row["first_round_s"], row["round_s"]
    ours, theirs = (
        [f"{useful[c][kind]:.0%}" for c in ("ptb", "wikitext-2")] for kind in ("words", "sentences")
    )
    return f"""# Benchmarks

`tools/benchmarks.py` writes this page from `benchmarks/results/`; no figure is typed by hand.

- A client-step is one local SGD step of one client.
- `tacit bench --help` and `src/tacit/experiments/bench.py` describe the workloads.
- "Useful" is the share of the cells of a batch that are not padding.
- V is the size of the vocabulary, D that of the embedding.
- "Of matrix rate" and "of copy rate" are shares of the rates of matrix products and of copies, measured on the same
  device. A copy share above 100 % means that the data stays in the cache.

## {gpu["machine"]}, {gpu["date"]}
{gpu["command"]}

{table(bench_rows(gpu["rows"]))}

{speed.copy_rate()}

{speed.section(gpu["rows"])}
### Gboard's federation
Gboard's own model and size of a round (`{gpu["federation"]["command"]}`). The time is that of training alone. The
host prepares the next cohort meanwhile.

{table(federation)}

### FedAtt on WikiText-2
The setting of papers 1 and 2: 100 clients, C 0.1, E 5, B 10, 300 units, bfloat16
(`{row["settings"]}`).
The first round took {first:.1f} s with compilation and a later one {again:.2f} s, so 50 rounds of training take
{first + 49 * again:.0f} s. The whole command, which scored all of the validation text ten times, took
{row["whole_s"]:.0f} s.

### Adam on the clients
A client-step with plain SGD, and with Adam whose second moment travels as means of rows and columns. Each was measured
twice, in turns, on {gpu["optimisers"]["date"]} (`{gpu["optimisers"]["command"]}`):

{table(optimiser_rows(gpu["optimisers"]["rows"]))}

### Numerical agreement
The `vmap` executor in float32 is compared with plain loops with float64 weights
(`{gpu["accelerator"]["command"]}`). The table has the largest relative difference of a layer's pseudo-gradient.

{table(checked)}

## Perplexity in 50 rounds
The protocol of papers 1 and 2 (`benchmarks/quality.py`): 100 clients, ten a round, tied GRU of 300 units, bfloat16
products, one seed. The tables list every trial, best on validation first, with its changes to the preset.

- Adam on the clients, whose second moment travels (`client.carry=v`), is best. The preset `adam-papers` is one
  configuration for both corpora, near the best of each. Clipping keeps it from diverging at these rates. It sends the
  second moment as means of rows and columns, without a loss that these trials could show.
- `fedadam-papers` is the best trial with plain SGD on the clients.
- `text.max_words=95` splits longer sentences (1 in 1,100).
- Two trials differ only in `client.batching`: batches with similar numbers of words (the default), and the papers'
  batches of ten sentences. The default fills {ours[0]} of the cells of a round on PTB and {ours[1]} on WikiText-2, the
  papers' batches {theirs[0]} and {theirs[1]} (`benchmarks/useful.py`).
- Seconds are those of a whole trial, with two to eight processes sharing the device.

PTB:

{table(quality_rows("ptb", "federated"))}

WikiText-2:

{table(quality_rows("wikitext-2", "federated"))}

The built-in typists with the demo's model and clients, in 60 rounds of 20 clients. `demo` is the preset as it was
before, FedAdagrad with a test perplexity of 31.2. The second trial is the present preset:

{table(quality_rows("typists"))}

Typists who differ twice as much as by default ({skewed["machine"]}, {skewed["date"]}, one seed;
`{skewed["skews"]}`).
Text and model are smaller, so that the machine could train them several times
(`{skewed["smaller"]}`):

{table(skewed_rows(skewed["rows"]))}

- Here one person may write 40 times the median, and weights by sentences let few people decide a round. If all clients
  weigh the same, the federated model equals the central one on validation people and is better on test people.
- At the demo's own size only one trial was completed, `{whole["trial"]}`: validation
  {whole["valid"]:.1f}, test {whole["test"]:.1f}. The preset itself was stopped after {stopped["rounds"]} rounds,
  with a validation perplexity of {stopped["valid"]["3"]:,.0f} after 3 and {stopped["valid"]["6"]:,.0f} after 6.
  The central model was not measured there.

Control variates on the same kind of people, in a script that is not part of Tacit: validation perplexity on 600
sentences, one seed, a linear schedule, gradients clipped to 1
(`{variates["settings"]}`):

{table(variate_rows(variates["rows"]))}

SCAFFOLD helps SGD here: {last("SCAFFOLD"):.1f} against {last("FedAvg"):.1f} at the best rates. But every client
must keep a state as long as the model between rounds, and messages are twice as long. Adam with a carried second
moment is better ({last("Adam"):.1f}) and needs no such state. Mime and MimeLite are worse than SGD at the rates that
were tried. So Tacit has none of the three. SCAFFOLD with Adam on the clients was not tried.

PTB, the same model trained on pooled text. A round is one pass over it:

{table(quality_rows("ptb", "central"))}

WikiText-2:

{table(quality_rows("wikitext-2", "central"))}

## {cpu["machine"]}, {cpu["date"]}
`tacit bench --json`

{table(bench_rows(cpu["rows"]))}

The same shapes in PyTorch, one client after another, measured within minutes of the table above
(`benchmarks/torch_loop.py`, torch 2.13.0, the better of one thread and all threads):

{table(compared)}

## Reading and packing: {streaming["machine"]}, {streaming["date"]}
`{streaming["command"]}`

In the first row, a file of messages by user, with people and times in random order, is read into the arrays that
training uses ([how](text.md#large-corpora)). In the second row, the text of the built-in typists is generated when a
cohort needs it. Memory is that of all processes together, including JAX
({streaming["corpus"]["idle_mb"]:,.0f} MB before reading). It includes pages of temporary files, which the system can
reclaim. {streaming["note"]}

{table(reading_rows(streaming))}
"""


def main() -> None:
    if sys.argv[1:2] == ["add-cpu"]:
        rows, loops = (Path(name).read_text() for name in sys.argv[2:4])
        results = {"machine": machine(), "date": today(), "rows": json.loads(rows)}
        results["torch"] = [json.loads(line) for line in loops.splitlines()]
        store("cpu.json", results)
    elif sys.argv[1:2] == ["add-streaming"]:
        results = {"machine": machine(), "date": today()}
        results |= {"note": " ".join(sys.argv[3:4]), **json.loads(Path(sys.argv[2]).read_text())}
        store("streaming.json", results)
    Path("docs/benchmarks.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
