"""The notebooks of the documentation run, and show what is kept in them."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
RUNNING = runpy.run_path(str(ROOT / "docs" / "site_notebooks.py"))
NOTEBOOKS: list[Path] = RUNNING["notebooks"]()


def forms(outputs: list[dict[str, Any]]) -> list[list[str]]:
    return [sorted(each.get("data", {"printed": ""})) for each in outputs]


def texts(outputs: list[dict[str, Any]]) -> str:
    """What is shown but drawings, without figures and the width of their columns, which differ on another machine."""
    parts = (
        part for each in outputs for kind, part in each.get("data", {"": each.get("text")}).items() if "svg" not in kind
    )
    return " ".join(re.sub(r"[\d.,e+-]+", "0", "".join("".join(part) for part in parts)).split())


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {
        "from-a-csv-to-records",
        "judging-a-release",
        "from-a-question-to-an-interval",
        "writing-a-mechanism",
        "asking-a-server",
    }


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_holds(path: Path) -> None:
    notebook = RUNNING["read"](path)
    cells = RUNNING["code_cells"](notebook)
    for cell, found in zip(cells, RUNNING["outputs_of"](notebook), strict=True):
        json.dumps(found)
        assert forms(found) == forms(cell["outputs"])
        assert texts(found) == texts(cell["outputs"])
    assert sum(len(cell["outputs"]) for cell in cells) >= 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_for_jupyter_too(path: Path) -> None:
    notebook = RUNNING["read"](path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | (
            {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        )
    assert path.stat().st_size < 200_000


def test_the_page_of_a_notebook_escapes_what_is_text_and_shows_drawings() -> None:
    cell = {"cell_type": "code", "source": ["x"], "outputs": []}
    shown = [
        {"output_type": "stream", "name": "stdout", "text": ["a < b\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["<D>"], "image/svg+xml": ["<svg/>"]}},
    ]
    page = RUNNING["page"]({"cells": [{"cell_type": "markdown", "source": ["# T"]}, {**cell, "outputs": shown}]})
    assert page.startswith("# T\n\n```python\nx\n```")
    assert ">a &lt; b\n</pre>" in page
    assert "<svg/>" in page
    assert "<D>" not in page


def test_an_error_in_a_cell_ends_the_run() -> None:
    cells = [{"cell_type": "code", "source": [source]} for source in ("x = 1", "x + nowhere")]
    running = RUNNING["outputs_of"]({"cells": cells}, ROOT)
    assert next(running) == []
    with pytest.raises(NameError, match="nowhere"):
        next(running)
