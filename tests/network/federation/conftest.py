"""The long suite of a federation: real processes and signals, by `make test-federation` only.

What each test has tried and what happened (`told`) is kept in benchmarks/results and fills a section of
docs/reliability.md. A test that is run again replaces its own line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from served import Served, Told

HERE = Path(__file__).parent
NAMES = ("ana", "ben", "cem")
ALL = os.environ.get("TACIT_FEDERATION") == "all"
_ended: dict[str, dict[str, Any]] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ALL:
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="minutes long: `make test-federation`"))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Three clients and a server, of this test alone; afterwards nothing of them runs."""
    pytest.importorskip("flwr")
    one = Served(tmp_path, NAMES)
    try:
        one.serve()
        one.join(*NAMES)
        one.until_joined(len(NAMES))
        yield one
    finally:
        one.end()


@pytest.fixture
def told(record_property: Callable[[str, Any], None]) -> Told:
    """Keeps what a test has tried and what happened."""

    def keep(tried: str, happened: str) -> None:
        record_property("tried", tried)
        record_property("happened", happened)

    return keep


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    if ALL and HERE in item.path.parents and (report.when == "call" or report.outcome != "passed"):
        known = dict(item.user_properties)
        _ended[item.nodeid] = {
            "tried": str(known.get("tried", item.name.removeprefix("test_").replace("_", " "))),
            "happened": str(known.get("happened", "")),
            "outcome": report.outcome,
            "seconds": round(report.duration, 1),
            **({"malformed": known["malformed"]} if "malformed" in known else {}),
        }
    return report


def pytest_sessionfinish() -> None:
    """Keeps what happened."""
    if not _ended:
        return
    sys.path.insert(0, "tools")
    import measured_federation as measured
    from pages import RESULTS, machine, read, store, today

    kept = read(measured.TESTS)["tests"] if (RESULTS / measured.TESTS).is_file() else {}
    there = {name: one for name, one in kept.items() if Path(name.partition("::")[0]).is_file()}
    figures = {
        "command": "make test-federation",
        "machine": machine(),
        "date": today(),
        "flower": f"flwr {version('flwr')}",
        "tests": dict(sorted({**there, **_ended}.items())),
    }
    store(measured.TESTS, figures)
    measured.write()
