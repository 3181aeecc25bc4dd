"""Fits the costs of the noisy channel of taps (`tacit.keyboard.parameters.Taps`).

    python benchmarks/corrections_fit.py MODEL LISTS > benchmarks/results/corrections-fit.json

MODEL is the model.tacit of `tacit distill`; LISTS is the folder that `corrections_lists.py` describes;
`corrections_items.py` says what the items are. The margin of an item is the score of what should be written less the
best other score. The fit minimises the weighted mean of log(1 + exp(−margin / 2)) by the limited-memory BFGS method, on
the logarithms of the costs and always from the same start, which is rounded from an earlier fit. Nothing is drawn but
the items, by the seed, so the same command gives the same costs. It prints the costs, and the share of wrong items of
each kind among those of the fit and those kept from it.

The cost of a space inside a word is fitted alone, after the others, by the same loss: its items need the scores of two
words, and so all other costs. `--gap` fits it alone beside the costs in use, in a minute.

Candidates are found once, with generous costs. The costs of all candidates are then computed together by the recurrence
of `tacit.keyboard.taps`, in another form: JAX takes their gradients.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from corrections_items import Item, Parted, items, parted
from scipy.optimize import minimize, minimize_scalar

from tacit.keyboard import spelling, suggestions, taps
from tacit.keyboard.layout import APOSTROPHE, QWERTY
from tacit.keyboard.parameters import DEFAULT

jax.config.update("jax_enable_x64", True)

LANGUAGE = DEFAULT.taps.language  # fixed: it is the unit of the costs
SOFT = 2.0  # margins are divided by this
NEAR = 5  # candidates of an item
FAR = 200.0  # a cost that nothing has
WEIGHTS = {"noisy": 3.0, "misspelt": 1.5, "listed": 10.0, "unlisted": 2.2, "known": 3.0, "joined": 0.1}
PARTED = {"split": 1.0, "apart": 100.0}  # one space in a hundred is taken for a slip
MOST = 20.0  # a space inside a word costs less than this
START = {
    "sigma_x": 0.5,
    "sigma_y": 0.65,
    "steady": 0.6,
    "usual": 0.7,
    "omission": 5.0,
    "single": 2.5,
    "apostrophe": 3.0,
    "insertion": 7.5,
    "double": 4.5,
    "edge": 3.0,
    "transposition": 5.0,
    "move": 7.0,
    "slip": 7.0,
    "vowel": 9.0,
    "wrong": 11.0,
    "space": 7.0,
    "unknown": 8.5,
    "letter": 0.5,
    "listed": 5.5,
    "spelt": 0.45,
    "stays": 4.0,
}


class Batch(NamedTuple):
    """All candidates of all items, padded to M taps and N letters."""

    taps: np.ndarray  # [items, M, 2]
    count: np.ndarray  # [items] taps
    owner: np.ndarray  # [pairs] item
    letters: np.ndarray  # [pairs, N] keys, −1 behind the end
    lengths: np.ndarray  # [pairs]
    log_p: np.ndarray  # [pairs]
    is_pair: np.ndarray  # [pairs] two words
    is_ahead: np.ndarray  # [pairs] must be ahead of a literal that is a word
    is_right: np.ndarray  # [pairs]
    prior: np.ndarray  # [items] log p of the literal's letters
    known: np.ndarray  # [items] the literal is a word of the model
    listed: np.ndarray  # [items] or one of the dictionary
    stays: np.ndarray  # [items] the literal is right, as a word that the model does not know


def batch(every: list[Item], counts: spelling.Letters) -> Batch:
    """Returns the items as arrays."""
    m = max(len(one.points) for one in every)
    n = max(len(w) for one in every for w in one.words)
    points = np.zeros((len(every), m, 2))
    for row, one in zip(points, every, strict=True):
        row[: len(one.points)] = one.points
    flat = [(i, k, word) for i, one in enumerate(every) for k, word in enumerate(one.words)]
    letters = np.full((len(flat), n), -1)
    for row, (_, _, word) in zip(letters, flat, strict=True):
        if " " not in word:
            row[: len(word)] = [QWERTY.letters.index(c) for c in word]
    known = np.array([one.literal in one.words for one in every])
    listed = np.array([one.listed for one in every])
    close = np.array([word.replace(APOSTROPHE, "") == every[i].literal for i, _, word in flat])
    same = np.array([word == every[i].literal for i, _, word in flat])
    owner = np.array([i for i, _, _ in flat])
    return Batch(
        taps=points,
        count=np.array([len(one.points) for one in every]),
        owner=owner,
        letters=letters,
        lengths=(letters >= 0).sum(axis=1),
        log_p=np.array([every[i].log_p[k] for i, k, _ in flat]),
        is_pair=np.array([" " in word for _, _, word in flat]),
        is_ahead=(known | listed)[owner] & ~close & ~same,
        is_right=np.array([k == every[i].right for i, k, _ in flat]),
        prior=np.array([spelling.log_p(counts, one.literal) for one in every]),
        known=known,
        listed=listed,
        stays=np.array([one.right < 0 for one in every]),
    )


def costs(b: Batch, c: dict[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Returns the cost of each pair above its item's Σ low, and of each literal (taps that hit no key)."""
    m, n = b.taps.shape[1], b.letters.shape[1]
    live = jnp.arange(m) < b.count[:, None]  # [items, M]
    away = b.taps[:, :, None] - QWERTY.centres
    hand = 0.5 * ((away[..., 0] / c["sigma_x"]) ** 2 + (away[..., 1] / c["sigma_y"]) ** 2)  # [items, M, keys]
    shown = (2 * jnp.minimum(hand.min(axis=2), taps.WILD) * live).sum(axis=1)
    hand /= ((c["steady"] + shown) / (c["steady"] + c["usual"] * b.count))[:, None, None]
    least, near = hand.min(axis=2), hand.argmin(axis=2)
    between = QWERTY.centres[:, None] - QWERTY.centres
    beside = jnp.asarray(np.hypot(between[..., 0], between[..., 1]) <= taps.REACH)[near]  # [items, M, keys]
    hand = jnp.where(beside, jnp.minimum(hand, least[..., None] + c["slip"]), hand)
    again = jnp.pad(near[:, 1:] == near[:, :-1], ((0, 0), (1, 0)))
    alone = jnp.where(again, jnp.minimum(c["insertion"], c["double"]), c["insertion"])
    low = jnp.minimum(least, alone)
    mind = jnp.minimum(hand, least[..., None] + c["wrong"])
    is_vowel = np.isin(np.arange(len(QWERTY.letters)), [QWERTY.letters.index(v) for v in taps.VOWELS])
    vowel = jnp.where(is_vowel, hand, jnp.inf).min(axis=2, keepdims=True) + c["vowel"]
    mind = jnp.where(is_vowel, jnp.minimum(mind, vowel), mind)
    at = b.owner[:, None, None], jnp.arange(m), b.letters[:, :, None]
    hand, mind = hand[at] - low[b.owner][:, None], mind[at] - low[b.owner][:, None]  # [pairs, N, M]
    extra = (alone - low)[b.owner]
    spent = jnp.pad(jnp.cumsum(extra, axis=1), ((0, 0), (1, 0)))  # [pairs, M + 1]
    rows, total = jnp.arange(len(b.owner)), b.count[b.owner]
    first, last = jnp.arange(n) == 0, jnp.pad(b.letters[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    lacking = jnp.where(b.letters == QWERTY.letters.index(APOSTROPHE), c["apostrophe"], c["omission"])
    lacking = jnp.where(b.letters == last, jnp.minimum(lacking, c["single"]), lacking) + c["edge"] * first
    pays = jnp.where(first[:, None], hand, mind)
    swapped = hand[:, 1:, :-1] + hand[:, :-1, 1:] + c["transposition"]  # [pairs, N − 1, M − 1] of i − 1 and i
    swapped = jnp.pad(swapped, ((0, 0), (1, 0), (2, 0)), constant_values=FAR)  # [pairs, N, M + 1]
    one, two, three = hand[:, :-2], hand[:, 1:-1], hand[:, 2:]
    late = two[:, :, :-2] + three[:, :, 1:-1] + one[:, :, 2:]
    early = three[:, :, :-2] + one[:, :, 1:-1] + two[:, :, 2:]
    moved = jnp.minimum(late, early) + c["move"]
    moved = jnp.pad(moved, ((0, 0), (2, 0), (3, 0)), constant_values=FAR)  # [pairs, N, M + 1]
    begun = spent + c["edge"] * (jnp.arange(m + 1) > 0)

    def step(state: tuple[jax.Array, ...], at: tuple[jax.Array, ...]) -> tuple[tuple[jax.Array, ...], None]:
        earlier, before, above, result = state
        i, pays, swapped, moved, lacking = at
        whole = jnp.pad(above[:, :-1] + pays, ((0, 0), (1, 0)), constant_values=FAR)
        whole = jnp.minimum(whole, jnp.pad(before[:, :-2], ((0, 0), (2, 0))) + swapped)
        whole = jnp.minimum(whole, jnp.pad(earlier[:, :-3], ((0, 0), (3, 0))) + moved)
        new = jnp.minimum(whole, above + lacking[:, None])
        new = jax.lax.cummin(new - spent, axis=1) + spent
        cost = jnp.minimum(whole[rows, total], new[rows, total] + c["edge"])
        return (before, above, new, jnp.where(b.lengths == i + 1, cost, result)), None

    by_letter = [jnp.moveaxis(x, 1, 0) for x in (pays, swapped, moved, lacking)]
    none = jnp.full(begun.shape, FAR)
    state = (none, none, begun, jnp.full(len(b.owner), FAR))
    (_, _, _, result), _ = jax.lax.scan(step, state, (jnp.arange(n), *by_letter))
    over = (jnp.maximum(least - c["insertion"], 0) * live).sum(axis=1)
    return jnp.where(b.is_pair, c["space"], result), over


def margins(b: Batch, c: dict[str, jax.Array]) -> jax.Array:
    """Returns for each item the score of what should be written less the best other."""
    cost, over = costs(b, c)
    score = -cost + LANGUAGE * b.log_p - jnp.minimum(c["stays"], cost) * b.is_ahead
    new = jnp.where(b.listed, c["spelt"] * b.prior - c["listed"], c["letter"] * b.prior - c["unknown"]) - over
    literal = jnp.where(b.known, -FAR, new)
    best = jnp.full((2, len(b.count)), -FAR)
    right = best[0].at[b.owner].max(jnp.where(b.is_right, score, -FAR))
    other = best[1].at[b.owner].max(jnp.where(b.is_right, -FAR, score))
    return jnp.where(b.stays, literal, right) - jnp.where(b.stays, other, jnp.maximum(other, literal))


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("model", type=Path)
    given.add_argument("lists", type=Path)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--steps", type=int, default=40, help="of the minimiser; 0 measures the costs in use")
    given.add_argument("--gap", action="store_true", help="fit only the cost of a space inside a word")
    chosen = given.parse_args()
    asked = suggestions.open(chosen.model)
    found: dict[str, Any] = {"costs": {}, "wrong": {"fitted on": {}, "kept from the fit": {}}}
    if not chosen.gap:
        every = items(asked, chosen.lists, chosen.seed)
        found = fitted(every, asked.lexicon.letters, chosen.steps)
    costs = DEFAULT._replace(taps=DEFAULT.taps._replace(**found["costs"]))
    parts = parted(replace(asked, parameters=costs), chosen.seed)
    found["costs"]["gap"] = fitted_gap(parts, costs.taps.stays)
    for name, develop in (("fitted on", False), ("kept from the fit", True)):
        of_part = [one for one in parts if one.develop == develop]
        found["wrong"][name] |= wrong_parts(of_part, found["costs"]["gap"], costs.taps.stays)
    print(json.dumps(found, indent=1))


def ahead(one: Parted, gap: float, stays: float) -> float:
    """Returns by how much the joined word is ahead of the two parts."""
    cost = gap + one.cost
    return one.lead - gap - (min(cost, stays) if one.words else 0.0)


def fitted_gap(every: list[Parted], stays: float) -> float:
    """Returns the fitted cost of a space inside a word."""
    seen = [one for one in every if not one.develop]

    def loss(gap: float) -> float:
        total = 0.0
        for kind, weight in PARTED.items():
            sign = 1.0 if kind == "split" else -1.0
            of_kind = [one for one in seen if one.kind == kind]
            margins = np.array([sign * ahead(one, gap, stays) for one in of_kind if one.right or sign < 0])
            total += weight * np.logaddexp(0.0, -margins / SOFT).sum() / len(of_kind)
        return total

    return round(float(minimize_scalar(loss, bounds=(0.0, MOST), method="bounded").x), 2)


def wrong_parts(every: list[Parted], gap: float, stays: float) -> dict[str, float]:
    """Returns the share of words that stay apart or become another, and of pairs that are joined."""
    shares = {}
    for kind in PARTED:
        of_kind = [one for one in every if one.kind == kind]
        joined = [ahead(one, gap, stays) > 0 and (one.right or kind == "apart") for one in of_kind]
        share = float(np.mean(joined))
        shares[kind] = round(share if kind == "apart" else 1 - share, 4)
    return shares


def nearest(every: list[Item], letters: spelling.Letters) -> list[Item]:
    """Returns the items with what should be written and the candidates that are near it by the costs of the start."""
    b = batch(every, letters)
    score = np.asarray(LANGUAGE * b.log_p - jax.jit(costs)(b, START)[0]) + FAR * b.is_right
    kept, parts = [], np.split(score, np.flatnonzero(np.diff(b.owner)) + 1)
    for one, own in zip(every, parts, strict=True):
        best = sorted(np.argsort(-own)[:NEAR].tolist())
        words, right = [one.words[k] for k in best], best.index(one.right) if one.right >= 0 else -1
        is_literal = one.literal in one.words and one.literal not in words
        if is_literal:
            best.append(one.words.index(one.literal))
            words.append(one.literal)
        kept.append(one._replace(words=words, log_p=one.log_p[best], right=right))
    return kept


def fitted(every: list[Item], letters: spelling.Letters, steps: int) -> dict[str, Any]:
    """Returns the fitted costs and the shares of wrong items."""
    every = nearest(
        [one for one in every if one.words], letters
    )  # with no other word near, none can be wrong
    names = list(START)
    parts = {
        name: [one for one in every if one.develop == develop]
        for name, develop in (("fitted on", False), ("kept from the fit", True))
    }
    batches = {name: batch(part, letters) for name, part in parts.items()}
    kinds = {name: np.array([one.kind for one in part]) for name, part in parts.items()}
    of_fit = kinds["fitted on"]
    weight = sum(w * (of_fit == kind) / max((of_fit == kind).sum(), 1) for kind, w in WEIGHTS.items())

    def loss(at: jax.Array, b: Batch) -> jax.Array:
        ahead = margins(b, dict(zip(names, jnp.exp(at), strict=True)))
        return (weight * jnp.logaddexp(0.0, -ahead / SOFT)).sum()

    best = {name: float(getattr(DEFAULT.taps, name)) for name in names}
    if steps:
        both = jax.jit(jax.value_and_grad(loss))

        def ask(at: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = both(at, batches["fitted on"])
            return float(value), np.asarray(slope, np.float64)

        def say(at: np.ndarray) -> None:
            print(np.exp(at).round(2).tolist(), file=sys.stderr, flush=True)

        start = np.log([START[name] for name in names])
        found = minimize(ask, start, method="L-BFGS-B", jac=True, options={"maxiter": steps}, callback=say)
        best = {name: round(v, 2) for name, v in zip(names, np.exp(found.x).tolist(), strict=True)}
    shares = {}
    for name, b in batches.items():
        wrong = np.asarray(jax.jit(margins)(b, best)) <= 0
        shares[name] = {kind: round(float(wrong[kinds[name] == kind].mean()), 4) for kind in WEIGHTS}
    return {"costs": best, "wrong": shares}


if __name__ == "__main__":
    main()
