"""Nothing but ``privacy/`` reads exact answers: shown on the code, and on planted violations."""

from __future__ import annotations

import pytest

from tests.privacy.import_rule import import_graph, modules, reachable, violations


def test_the_code_keeps_the_rule() -> None:
    texts = modules()
    assert {"hedgerow", "hedgerow.privacy.curator", "hedgerow.data.source", "hedgerow.models"} <= set(texts)
    assert [found for module, code in texts.items() for found in violations(module, code)] == []


@pytest.mark.parametrize("package", ["hedgerow.models", "hedgerow.queries", "hedgerow.domain", "hedgerow.domain_file"])
def test_these_never_reach_the_data_even_through_others(package: str) -> None:
    reached = reachable(package, import_graph(modules()))
    assert not {name for name in reached if name.startswith(("hedgerow.data", "hedgerow.privacy"))}


def test_a_planted_path_through_others_is_found() -> None:
    texts = modules() | {"hedgerow.models.detour": "def f():\n    from hedgerow.privacy.curator import Curator\n"}
    assert "hedgerow.data.source" in reachable("hedgerow.models", import_graph(texts))


TABLE = "from hedgerow.data.table import Table"
PLANTED = {
    "an import": ("hedgerow.algorithms.spy", TABLE),
    "an import of the package": ("hedgerow.release.spy", "import hedgerow.data"),
    "an import from the root": ("hedgerow.report.spy", "from hedgerow import data"),
    "a relative import": ("hedgerow.models.spy", "from ..data import source"),
    "an import by text": ("hedgerow.models.spy", "import importlib\nimportlib.import_module('hedgerow.data.table')"),
    "a late import": ("hedgerow.algorithms.spy", "def f():\n    from hedgerow.data.table import read_table"),
    "exact answers by function": ("hedgerow.cli.spy", "from hedgerow.privacy.lattice import exact_units"),
    "exact errors in an algorithm": ("hedgerow.algorithms.spy", "from hedgerow.privacy.evaluation import exact_errors"),
    "exact answers in a report": ("hedgerow.report.spy", "from hedgerow.privacy.evaluation import exact_answers"),
    "counts of a data set": (
        "hedgerow.experiments.spy",
        "def f(data, w):\n    t = data.table('x')\n    return w.answers(t)",
    ),
    "the curator's source": ("hedgerow.algorithms.spy", "def f(curator):\n    return curator._Curator__source"),
    "the same by text": ("hedgerow.algorithms.spy", "def f(curator):\n    return getattr(curator, '_Curator__exact')"),
    "counts of a source": ("hedgerow.algorithms.spy", "def run(source, w):\n    return source.marginals([('a',)])"),
    "the number of records": ("hedgerow.algorithms.spy", "def run(source, w):\n    return source.total()"),
    "answers on a source": ("hedgerow.algorithms.spy", "def run(source, w):\n    return w.answers(source)"),
    "answers on an annotated table": (
        "hedgerow.cli.spy",
        f"{TABLE}\ndef f(data: Table, w):\n    return w.answers(tables=data)",
    ),
    "a table in the server": ("hedgerow.service.spy", TABLE),
    "the server's own name for a table": (
        "hedgerow.service.spy",
        "from hedgerow.service.tables import PrivateTable\ndef f(data: PrivateTable):\n    return data.total()",
    ),
    "a table that the server just read": (
        "hedgerow.service.spy",
        "def f(new, w):\n    t = read_private(new)\n    return w.answers(t)",
    ),
    "answers on a table just read": ("hedgerow.cli.spy", "def f(w):\n    t = read_table('x')\n    return w.answers(t)"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_found(name: str) -> None:
    assert violations(*PLANTED[name]), name


HARMLESS = {
    "handing on": ("hedgerow.algorithms.kind", "def run(source, b):\n    return Curator(source, b), source.domain"),
    "running": ("hedgerow.cli.kind", f"{TABLE}\ndef f(data: Table, m):\n    return m.run(data)"),
    "reading": ("hedgerow.cli.kind", "from hedgerow.data.table import read_table"),
    "the type of the evaluation": ("hedgerow.report.kind", "from hedgerow.privacy.evaluation import ExactErrors"),
    "a table of another library": ("hedgerow.cli.kind", "def f(console, table: Table):\n    console.print(table)"),
    "evaluating": ("hedgerow.cli.kind", "from hedgerow.privacy.evaluation import exact_errors"),
    "opening tables for the server": ("hedgerow.service.tables", TABLE),
    "a model's own tables": ("hedgerow.models.kind", "def f(model, w):\n    return w.answers(model)"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_allowed_passes(name: str) -> None:
    assert violations(*HARMLESS[name]) == []
