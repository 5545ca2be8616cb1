"""The command line and the one call may open private tables, and do nothing with them but hand them on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hedgerow.cli
import hedgerow.runs
import hedgerow.synthesis

FILES = sorted(Path(str(hedgerow.cli.__file__)).parent.rglob("*.py"))
FILES += [Path(str(each.__file__)) for each in (hedgerow.runs, hedgerow.synthesis)]
OPENERS = {
    "TABLE_ENDINGS",  # names of endings, which open nothing
    "IN_DOUBT",  # words of drafts, likewise
    "STAY_OUT",
    "read_with",
    "scan_with",
    "read_table",
    "ReadOptions",
    "open_table",
    "open_place",
    "is_place",
    "files_of",
    "draft_domain",
    "read_public",
    "read_linked",
    "read_labels",
    "automatic_domain",
}
READS = {"marginals", "conjunctions", "codes", "answers", "weights", "batches"}
PUBLIC_READS = {
    ("synth.py", "answers"),  # of the model, for the evaluation that is labelled "not private"
    ("released.py", "answers"),  # of runs that are simulated on tables drawn from a release
    ("learning.py", "marginals"),  # the columns that something is learnt of, as a workload
    ("runs.py", "marginals"),  # the usual workload
    ("statements.py", "conjunctions"),  # the questions of a call as a workload
    ("statements.py", "marginals"),  # likewise, those of statements
    ("warming.py", "answers"),  # of the model of a release of made-up records
    ("warming.py", "marginals"),  # likewise
}


def imported(tree: ast.AST) -> Iterator[str]:
    """What is imported from ``hedgerow.data`` at run time; types are imported for the checker only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hedgerow.data"):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.Import):
            assert not any(name.name.startswith("hedgerow.data") for name in node.names)


def without_type_imports(tree: ast.Module) -> ast.Module:
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    ]
    return tree


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_tables_are_opened_and_nothing_else(file: Path) -> None:
    tree = without_type_imports(ast.parse(file.read_text(encoding="utf-8")))
    assert set(imported(tree)) <= OPENERS
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in READS:
            assert (file.name, node.attr) in PUBLIC_READS, f"{file.name}:{node.lineno} reads .{node.attr}"


def test_only_the_plan_of_a_given_table_looks_at_its_number_of_records() -> None:
    places = [
        file.name
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "total"
    ]
    assert places == ["preparing.py"]  # and it says: keep this plan to yourself
