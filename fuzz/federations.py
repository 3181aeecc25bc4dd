"""The directory of a federation, an invitation and a journal, as the commands leave them after two runs."""

from __future__ import annotations

import json

from fuzz.material import Material

_RUNS = {
    "20260131-211500-0a1b": {"state": "failed", "why": "the disk is full"},
    "20260131-221500-2c3d": {"state": "done", "answer": None},
}
_PROGRESS = {
    "task": "train",
    "goal": 2,
    "asked": 2,
    "accepted": 1,
    "ends": 1769890600.0,
    "round": 1,
    "rounds": 2,
    "time": 1769890000.0,
    "connected": 2,
    "refused": {"schema": 1},
    "bytes_down": 3000,
    "bytes_up": 3000,
}
_JOURNAL = (
    {"time": "2026-01-31T22:15:01+00:00", "task": "train", "round": 0, "ended": "answered"},
    {"time": "2026-01-31T22:15:09+00:00", "task": "count", "round": None, "ended": "refused: version"},
)


def make(m: Material) -> None:
    """Makes them; nothing listens at the federation's address."""
    from tacit.network import federation

    federation.init(m.federation, port=9)
    federation.invite(m.federation, "ana", m.invitation)
    federation.invite_browser(m.federation, "bo")
    journal = m.invitation.with_name(f"{m.invitation.name}.journal.jsonl")
    journal.write_text(_lines(*_JOURNAL), "utf-8")
    for name, ended in _RUNS.items():
        order = m.federation / "runs" / name
        order.mkdir()
        said = {"work": "train", "federation": str(m.federation), "out": str(m.run), "resume": False}
        said |= {"config": {"name": "fedavg", "training": {"rounds": 2}}}
        for file, record in {"order": said, "ended": ended, "progress": _PROGRESS}.items():
            (order / f"{file}.json").write_text(_lines(record), "utf-8")
    events = ({"time": 1.0, "run": name, "event": "begun", "round": 1} for name in _RUNS)
    (m.federation / "logs" / "rounds.jsonl").write_text(_lines(*events), "utf-8")
    (m.federation / "server.pid").write_text("999999999\n", "ascii")


def _lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)
