"""Lets a client work only when its conditions hold, and at most once a period for each kind of work.

Both are checked before a task. A client that does not take part trains nothing and refuses with the reason `conditions`
or `period`, which is all that the server learns. Its own journal says which condition it was.

The period is computed from the journal, so it holds across restarts (`journal`). If the clock was set back behind the
last task, a line in the journal says so, and the period counts from that line.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tacit.base.errors import TacitError, shown
from tacit.network import journal
from tacit.network.client import checked_facts
from tacit.network.conditions import OPEN, Conditions, unmet
from tacit.network.person import understood
from tacit.network.work import Parcel, Refusal, work_of
from tacit.privacy.secure.client import STAGES

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Manners(NamedTuple):
    """Holds when a client takes part; by default always."""

    conditions: Conditions = OPEN
    period: float = 0.0  # seconds


ALWAYS = Manners()


def seconds(period: str) -> float:
    """Returns a period in seconds.

    >>> seconds("24h"), seconds("90s")
    (86400.0, 90.0)
    """
    given = re.fullmatch(r"([0-9]{1,6})([smhd])", period)
    if not given:
        raise TacitError(f"--period {shown(period)} is no length of time; write it as 90s, 30m, 24h or 7d")
    return float(given[1]) * _UNITS[given[2]]


def mannered(
    answer: Callable[[Parcel], Parcel],
    manners: Manners,
    file: Path,
    clock: Callable[[], float] = time.time,
) -> Callable[[Parcel], Parcel]:
    """Returns the function that answers a task if the client's manners allow, and else raises `Refusal`.

    `file` is the client's journal.
    """
    latest = journal.last_answers(file) if manners.period else {}

    def polite(task: Parcel) -> Parcel:
        facts = checked_facts(task.facts)
        try:
            state = manners.conditions.state()
        except TacitError as error:  # a file that is being written, or that was damaged
            raise Refusal("conditions", str(error)) from None
        why = unmet(state, manners.conditions.required, understood(facts["config"]).conditions)
        if why:
            raise Refusal("conditions", "; ".join(why))
        work = work_of(facts)
        if manners.period and facts["kind"] not in STAGES[1:]:
            rest(work)
        done = answer(task)
        latest[work] = clock()
        return done

    def rest(kind: str) -> None:
        now = clock()
        if latest.get(kind, now) > now + 1:  # a journal's times are whole seconds
            journal.write(file, now, {"task": kind, "ended": journal.CLOCK})
            latest[kind] = now
        left = latest.get(kind, -manners.period) + manners.period - now
        if left > 0:
            raise Refusal(
                "period", f"this client has done such work, and rests for {left / 3600:.1f} hours more"
            )

    return polite
