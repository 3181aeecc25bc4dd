"""The section of docs/benchmarks.md on what was tried for the speed of local training, from its results file."""

from __future__ import annotations

from typing import Any

from pages import read, table

# what a candidate of the experiment is made of; the rest of a name is a setting of XLA or of the unrolling
ORDER = [
    "base",
    "late",
    "late lean",
    "join lean",
    "late lean, manual scan",
    "late lean, manual unrolled",
    "fold lean, manual scan",
    "late lean, early",
    "late lean, online",
    "base, graphs of loops",
    "late lean, manual, graphs",
    "late lean, manual scan, cublas",
    "fold lean, cublaslt",
]


def candidate_rows(speed: dict[str, Any]) -> list[list[str]]:
    """Milliseconds of every candidate, and their ratio to the base's of the same workload."""
    ms = {(r["workload"], r["candidate"]): r["ms"] for r in speed["rows"]}
    if {candidate for _, candidate in ms} != set(ORDER):
        raise ValueError("speed.json has other candidates than the page")
    lines = [["candidate", *(f"{w}, ms" for w in speed["targets"])]]
    for candidate in ORDER:
        cells = [
            f"{ms[w, candidate]:.4f} ({ms[w, candidate] / ms[w, 'base']:.2f})" if (w, candidate) in ms else ""
            for w in speed["targets"]
        ]
        lines.append([candidate, *cells])
    return [*lines, ["target", *(f"{target:.3f}" for target in speed["targets"].values())]]


def profile_rows(speed: dict[str, Any]) -> list[list[str]]:
    lines = [
        ["workload", "candidate", "steps in a row", "µs a step", "kernels a step", "largest kernels, µs"]
    ]
    for p in speed["profiles"]:
        largest = ", ".join(
            f"{k['us']:.0f}" + (f" (in {k['launches']:.0f} launches)" if k["launches"] > 1 else "")
            for k in p["largest"]
        )
        whole, count = f"{p['span_us']:,.0f}", f"{p['kernels']:.0f}"
        lines.append([p["workload"], p["candidate"], str(p["sequential_steps"]), whole, count, largest])
    return lines


def section(rows: list[dict[str, Any]]) -> str:
    """Returns the section; `rows` are the benchmark's on the same device, for their shapes."""
    speed = read("speed.json")
    shape = {r["workload"]: r for r in rows if r["precision"] == "bfloat16"}
    gboard, ragged = shape["gboard"], shape["ragged"]
    profiles = {(p["workload"], p["candidate"]): p for p in speed["profiles"]}
    base = profiles["gboard", "base"]
    fast = profiles["ragged", "late lean, manual unrolled"]
    ms = {(r["workload"], r["candidate"]): r["ms"] for r in speed["rows"]}

    tb_per_s = speed["copy_rate"]["tb_per_s"]
    weights_mb = 4 * gboard["clients"] * gboard["vocabulary"] * gboard["size"] / 1e6
    pass_us = 2 * weights_mb / tb_per_s
    target_us = 1000 * gboard["clients"] * speed["targets"]["gboard"]
    large = [k["us"] for k in base["largest"]]

    client_steps = 1000 * ragged["round_s"] / ragged["ms_per_client_step"]
    longest, in_a_row = ragged["steps"], fast["sequential_steps"]
    allowed_us = 1000 * speed["targets"]["ragged"] * client_steps / longest
    now_us = 1000 * ms["ragged", fast["candidate"]] * client_steps / in_a_row
    cpu = speed["cpu"]
    ratios = [r["by_hand"] for r in cpu["rows"]]  # the demo's shapes first
    shares = ", ".join(
        f"{counted_mb(shape[w]) / ms[w, 'base'] / 1e3 / tb_per_s:.0%} for `{w}`" for w in speed["targets"]
    )
    late = ms["paper", "base"] - ms["paper", "late"]
    return f"""### What was tried for speed
Candidates for local training with plain SGD ({speed["machine"]}, {speed["date"]}, JAX {speed["jax"]}):
{speed["method"]}. Figures are milliseconds per client-step, with
multiples of the base's in brackets. The base is Tacit before these changes.

{table(candidate_rows(speed))}

- **manual scan**: the derivative of the GRU's recurrence is written by hand. Two kernels a time step remain in each
  direction. Everything else is computed for all time steps at once. "Unrolled" unrolls 16 time steps instead of 8.
- **lean**: the product writes the scores in bfloat16, and the bias is added where they are read.
- **late**: the dense gradient of the embedding is applied in one pass, then the gradients of the words that occur are
  added to their rows. **join** adds these rows to the dense gradient first. **fold** puts the learning rate into
  the gradient, so that the update may be one call with its product.
- **early** rounds the recurrent weights once, before the scan. **online** computes the log-sum-exp in one pass. Neither
  changes the time by more than 1%.
- **graphs** records loops as CUDA graphs; **cublas** and **cublaslt** take the products from these libraries. All three
  are slower.
- Two kernels in Pallas, one for the recurrence and one for scores, loss and update together, agree with the plain
  program when interpreted on a CPU. They have not been run on a GPU.

Every candidate differs from the float32 program as much as the base does.

Tacit has manual scan (unrolled by 8) and lean. It does not have late, which works for plain SGD only and needs to know
which weights are an embedding. So the table has no row for Tacit's combination: the figures come from an experiment
that replaced the same functions. `tacit bench` has not been run on a GPU since.

A CPU keeps the differentiated scan. The manual scan takes {ratios[0]:.2f} times its CPU time at the demo's shapes, and
up to {max(ratios):.2f} times with a small vocabulary ({cpu["machine"]}, {cpu["date"]}, float32).

The experiment meets the target of `paper` and misses those of `gboard` and `ragged`. Late alone saves {late:.3f} ms of
`paper`, so Tacit without it may be just above that target. The profiles of a round:

{table(profile_rows(speed))}

- At the copy rate, the bytes that the benchmark counts would take only part of the base's time:
  {shares}.
- `gboard` reads and writes large arrays too often. The embeddings of its {gboard["clients"]} clients are
  {weights_mb:.0f} MB. A single pass that reads and writes them takes {pass_us:.0f} µs at {tb_per_s:.2f} TB/s.
  The target allows {target_us:,.0f} µs a step. Each of the base's six largest kernels takes {large[-1]:.0f} to
  {large[0]:.0f} µs, about as long as one such pass, and together they take {sum(large):.0f} of
  {base["span_us"]:,.0f} µs. Fewer passes need one kernel for scores, loss and update.
- `ragged` makes too many steps one after another. Its largest client makes {longest}, and its lanes make
  {in_a_row}. Even with {longest}, the target allows {allowed_us:.0f} µs a step. A step of the best candidate takes
  {now_us:.0f} µs, in {fast["kernels"]:.0f} kernels. Fewer kernels need the whole recurrence in one.
"""


def counted_mb(row: dict[str, Any]) -> float:
    """Megabytes that a client-step moves as the benchmark counts them: `copy_share` is their share of the copy rate."""
    return (
        1e6
        * read("speed.json")["copy_rate"]["tb_per_s"]
        * row["copy_share"]
        * row["ms_per_client_step"]
        / 1e3
    )


def copy_rate() -> str:
    """Returns the sentences that say against which rate the copy shares of the device are stated."""
    speed = read("speed.json")
    rate = speed["copy_rate"]
    return f"""Copy shares are of {rate["tb_per_s"]:.2f} TB/s, measured on {speed["date"]} (`{rate["program"]}`;
copies as separate programs reach {rate["separate_tb_per_s"]:.2f} TB/s). Earlier versions of this page
had larger shares: they took 1.6 and 2.6 TB/s for the copy rate, because a single copy had been measured together with
its launch. Matrix shares are still of a single product."""
