"""docs/tutorial.ipynb runs from its first cell to its last, and the outputs stored in it are small and without errors.

`jupyter execute --inplace docs/tutorial.ipynb` (from nbclient) renews the outputs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import tacit

TUTORIAL = Path("docs/tutorial.ipynb")


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def pictures(cells: list[dict[str, Any]]) -> int:
    return sum("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])


def test_the_stored_outputs_are_whole_and_small() -> None:
    assert TUTORIAL.stat().st_size < 300_000
    cells = code_cells(json.loads(TUTORIAL.read_text("utf-8")))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert kinds == {"execute_result", "display_data"}  # no errors, no warnings
    assert pictures(cells) == 2
    assert not any(str(Path.home()) in "".join(cell["source"]) for cell in cells)


def test_the_tutorial_runs(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(Path(tacit.__file__).parents[1]))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(compiled))
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES", raising=False)
    notebook = nbformat.read(TUTORIAL, 4)
    for cell in notebook.cells:
        cell.pop("outputs", None)
        if cell.cell_type == "code":
            cell.outputs = []
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises with the cell that failed
    assert pictures(code_cells(notebook)) == 2
    runs = [tacit.Run(tmp_path / "runs/tutorial" / name) for name in ("fedavg", "clipped")]
    assert all(run.finished for run in runs) and runs[1].config.aggregation.rule == "clipped"
    for run in runs:  # it learned something
        perplexity = run.metrics["valid_perplexity"]
        assert perplexity[-1] < 0.7 * perplexity[0]
    assert "JAX_NUM_CPU_DEVICES" not in os.environ
