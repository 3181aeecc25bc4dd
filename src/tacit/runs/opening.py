"""Draws the opening of a report: a sentence, a picture, what left the phones, and how to try the model.

It is for readers who do not know perplexity. The picture has a hundred squares, one for each of a hundred words that
held-out people typed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from tacit.base.printable import html_text

STYLE = """
.opening { border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.5rem; margin: 1.5rem 0 }
.opening p:first-child { font-size: 1.35rem; line-height: 1.35; margin-top: .3rem }
.hundred { display: grid; grid-template-columns: repeat(20, 1fr); gap: 3px; max-width: 30rem; margin: 1rem 0 .6rem }
.hundred i { aspect-ratio: 1; border-radius: 3px; background: var(--soft); border: 1px solid var(--line) }
.hundred i.p0 { background: var(--c0); border-color: var(--c0) }
.hundred i.p1 { background: color-mix(in srgb, var(--c0) 40%, transparent); border-color: var(--c0) }
.opening small i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 1em;
  border: 1px solid var(--line) }
.opening small i:first-child { margin-left: 0 } .opening small i.p0 { background: var(--c0) }
.opening small i.p1 { background: color-mix(in srgb, var(--c0) 40%, transparent) }
"""


def hundred(shares: Mapping[str, float]) -> dict[str, int]:
    """Rounds shares, which add up to one, to whole numbers that add up to a hundred.

    Those with the largest remainders are rounded up.

    >>> hundred({"first": 0.3333, "second": 0.1384, "neither": 0.5283})
    {'first': 33, 'second': 14, 'neither': 53}
    """
    whole = {name: int(100 * share) for name, share in shares.items()}
    rest = sorted(shares, key=lambda name: whole[name] - 100 * shares[name])
    for name in rest[: 100 - sum(whole.values())]:
        whole[name] += 1
    return whole


def squares(counts: Mapping[str, int]) -> str:
    """Draws a hundred squares, coloured by part, with a legend."""
    kinds = [(name, count, f"p{i}") for i, (name, count) in enumerate(counts.items())]
    label = ", ".join(f"{count} {name}" for name, count, _ in kinds)
    cells = "".join(f'<i class="{kind}"></i>' * count for _, count, kind in kinds)
    legend = "".join(f'<i class="{kind}"></i>{count} {html_text(name)}' for name, count, kind in kinds)
    return f'<div class="hundred" role="img" aria-label="{html_text(label)}">{cells}</div><small>{legend}</small>'


def opening(
    test: Mapping[str, Any],
    sent: Mapping[str, int] | None,
    privacy: str,
    private: bool,
    folder: str,
    keys_saved: float | None = None,
) -> str:
    """Returns the opening as HTML.

    `test` holds the recall on held-out text, `sent` the bytes of a client and round (None: trained on pooled text),
    `privacy` the ε in words, `private` whether there is one, and `folder` the name of the run directory. `keys_saved`
    is the share of keys that an ideal typist saves, if it was measured.
    """
    counts = hundred(
        {
            "the first suggestion": test["top1"],
            "the second or third": test["top3"] - test["top1"],
            "neither": 1 - test["top3"],
        }
    )
    first, other, _ = counts.values()
    who = "people outside the training" if test.get("people", 1) > 1 else "the authors of the test text"
    keys = ""
    if keys_saved is not None:
        left_keys = 100 - round(100 * keys_saved)
        keys = (
            f" A typist who takes each word as soon as it is offered presses {left_keys} keys instead of 100."
        )
    if sent is None:
        left = "This model was trained on pooled text: everything that was typed left the phones."
    else:
        left = (
            f"A phone that takes part sends {sent['up'] / 1e6:.2f} MB a round: changes to the model's numbers, "
            "and no text."
        )
    warning = "" if private or sent is None else " Without noise, such changes can give away typed words."
    return (
        f"<section class=opening><p>Of 100 words that {who} typed, the keyboard offers {first + other} before their "
        f"first letter: {first} as its first suggestion.{keys}</p>{squares(counts)}"
        f"<p><b>What left the phones.</b> {left} Privacy: {html_text(privacy.removeprefix('ε: '))}.{warning}</p>"
        f"<p><b>Try it.</b> <code>tacit serve {html_text(shlex.quote(folder))}</code>, "
        "in the folder that this run's folder is in, opens a page to type on.</p></section>"
    )
