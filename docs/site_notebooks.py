"""Run the notebooks of the documentation, and make pages of them: ``python docs/site_notebooks.py`` runs all again.

A notebook is run in this process, cell after cell, and its outputs are kept in it as Jupyter keeps them; so reading,
running and testing them needs no server. The site shows what was kept.
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from html import escape
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parent / "notebooks"
Cell = dict[str, Any]
Output = dict[str, Any]


def notebooks() -> list[Path]:
    """The notebooks, in the order of their names."""
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    """A notebook as JSON values."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(notebook: Mapping[str, Any]) -> list[Cell]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs_of(notebook: Mapping[str, Any], folder: Path = NOTEBOOKS) -> Iterator[list[Output]]:
    """Run the cells one after the other, in a folder; what each of them shows.

    An exception ends the run; a notebook that shows one catches and prints it.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        with chdir(folder):
            yield list(_shown("".join(cell["source"]), names, number))


def _shown(source: str, names: dict[str, Any], number: int) -> Iterator[Output]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    if printed.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
    if value is not None:
        yield {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _data(value)}


def _data(value: Any) -> dict[str, list[str]]:
    """The forms in which a value shows itself."""
    forms = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
    rich = {kind: found() for kind, name in forms.items() if (found := getattr(value, name, None)) is not None}
    text = repr(value) if "image/svg+xml" not in rich else f"<{type(value).__name__}>"
    return {kind: _lines(content) for kind, content in {**rich, "text/plain": text}.items()}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def run(path: Path) -> None:
    """Run a notebook, and keep what it shows."""
    notebook = read(path)
    for number, (cell, shown) in enumerate(zip(code_cells(notebook), outputs_of(notebook), strict=True), 1):
        cell |= {"execution_count": number, "outputs": shown}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page(notebook: Mapping[str, Any]) -> str:
    """A notebook as a page of the site."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: Cell) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", [])})
        best = next(kind for kind in ("image/svg+xml", "text/html", "text/plain") if kind in data)
        text = "".join(data[best])
        shown = f'<pre style="white-space:pre-wrap">{escape(text)}</pre>' if best == "text/plain" else text
        lines = "\n".join(line for line in shown.splitlines() if line.strip())  # an empty one would end the HTML
        yield f'<div class="output" style="overflow-x:auto">{lines}</div>'


if __name__ == "__main__":
    for each in notebooks():
        run(each)
        print(each.name)  # noqa: T201 - a command says what it did
