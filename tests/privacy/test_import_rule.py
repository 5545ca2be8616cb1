"""Nothing but ``privacy/`` reads exact answers: shown on the code, and on planted violations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.privacy.import_rule import (
    EVALUATION,
    EXACT,
    PRIVATE_TABLE,
    TABLE_MAKERS,
    TABLE_TYPES,
    _given_away_at_the_root,
    faces,
    guarded,
    import_graph,
    imports,
    modules,
    parsed,
    reachable,
    violations,
)
from tests.privacy.private_names import ALLOWED, found


def test_the_code_keeps_the_rule() -> None:
    texts = modules()
    assert {"hedgerow", "hedgerow.privacy.curator", "hedgerow.data.source", "hedgerow.models"} <= set(texts)
    assert [found for module, code in texts.items() for found in violations(module, code)] == []


def test_every_exception_is_used() -> None:
    used = {(module, what) for module, code in modules().items() for what in found(module, parsed(code), guarded())}
    assert set(ALLOWED) <= used


def test_the_rule_knows_things_by_the_names_that_they_have() -> None:
    whole = [parsed(code) for code in modules().values()]
    defined = {getattr(node, "name", "") for tree in whole for node in ast.walk(tree)}
    assert EXACT | EVALUATION | TABLE_MAKERS | TABLE_TYPES - {"PrivateTable"} <= defined
    assert PRIVATE_TABLE.rpartition(".")[0] in modules()


def test_the_gates_are_guarded() -> None:
    assert {"Curator", "LedgerView", "Watch"} <= guarded()


@pytest.mark.parametrize(
    "package", ["hedgerow.models", "hedgerow.queries", "hedgerow.domain.domain", "hedgerow.domain.file"]
)
def test_these_never_reach_the_data_even_through_others(package: str) -> None:
    reached = reachable(package, import_graph(modules()))
    assert not {name for name in reached if name.startswith(("hedgerow.data", "hedgerow.privacy"))}


def test_no_module_is_made_from_the_face_of_a_room_that_it_is_in() -> None:
    """A function may dispatch on the face when it is called; a module that needs the face to be read is in a circle."""
    for module, code in modules().items():
        rooms = {".".join(module.split(".")[:depth]) for depth in range(1, module.count(".") + 1)}
        for node in _read_with_the_module(parsed(code)):
            if isinstance(node, ast.ImportFrom) and node.module in rooms:
                below = {f"{node.module}.{alias.name}" for alias in node.names}
                assert below <= modules().keys(), f"{module} imports from {node.module}, whose layers it is part of"


def _read_with_the_module(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _read_with_the_module(child)


def test_faces_give_away_names_of_their_own_room_alone() -> None:
    assert len(faces()) > 20
    for room, code in faces().items():
        given = [node for node in ast.walk(parsed(code)) if isinstance(node, ast.ImportFrom)]
        assert given
        assert {node.level for node in given} == {1}, f"{room} gives away names of others, past the contracts"
    assert {name for name in _given_away_at_the_root() if "able" in name} == {
        f"hedgerow.{name}" for name in ("Table", "ScannedTable", "read_table", "scan_table")
    }


def test_no_face_hides_a_room() -> None:
    """A name of a face that is a room's below it would stand in the room's place once somebody asked for it."""
    known = faces()
    for room, code in known.items():
        names = {
            alias.name for node in ast.walk(parsed(code)) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        assert not [name for name in names if f"{room}.{name}" in known]


def test_the_face_for_extensions_names_protocols_of_sources_alone() -> None:
    tree = ast.parse(modules()["hedgerow.extending"])
    found = {name for name in imports("hedgerow.extending", tree) if name.startswith("hedgerow.data")}
    assert found == {f"hedgerow.data.{kind}Source" for kind in ("Count", "Person", "Prepared", "Record")}


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
    "a table's type from the root": ("hedgerow.models.spy", "from hedgerow import Table"),
    "an exact answer from the face": ("hedgerow.models.spy", "from hedgerow import privacy\nf = privacy.exact_total"),
    "the same from the root": ("hedgerow.algorithms.spy", "import hedgerow\nf = hedgerow.privacy.exact_total"),
    "a late import": ("hedgerow.algorithms.spy", "def f():\n    from hedgerow.data.table import read_table"),
    "exact answers by function": ("hedgerow.cli.spy", "from hedgerow.privacy.exact.lattice import exact_units"),
    "exact errors in an algorithm": ("hedgerow.algorithms.spy", "from hedgerow.privacy.evaluation import exact_errors"),
    "exact answers in a report": ("hedgerow.report.spy", "from hedgerow.privacy.evaluation import exact_answers"),
    "counts of a data set": (
        "experiments.spy",
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
        "from hedgerow.service.sessions.tables import PrivateTable\n"
        "def f(data: PrivateTable):\n    return data.total()",
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


def spy(*lines: str) -> str:
    """A function that is handed a curator."""
    return "\n".join(["def f(curator, workload):", *(f"    {line}" for line in lines)])


BYPASSES = {
    "an attribute put together": spy("return getattr(curator, '_Cur' + 'ator__source')"),
    "an attribute in a variable": spy("name = workload.text", "return getattr(curator, name)"),
    "an attribute in a formatted string": spy("return getattr(curator, f'_{workload}')"),
    "getattr by another name": spy("peek = getattr", "return peek(curator, 'x')"),
    "a listed private name": spy("return [getattr(curator, name) for name in ('_units', '_exact')]"),
    "vars": spy("return vars(curator)"),
    "vars, handed on": spy("return list(map(vars, [curator]))"),
    "the dictionary of the object": spy("return curator.__dict__"),
    "the method behind every look": spy("return object.__getattribute__(curator, 'x')"),
    "the same on the object": spy("return curator.__getattribute__('x')"),
    "another object written to": spy("object.__setattr__(curator, 'x', 0)"),
    "a budget written to": spy("setattr(curator, '_limit', 9.0)"),
    "a private method": spy("return curator._exact_answers(workload)"),
    "a private method of a part": "class C:\n    def f(self):\n        return self.curator._exact_answers(0)",
    "a private method by its class": spy("return type(curator)._exact_answers(curator, workload)"),
    "a private method that is kept for later": spy("return curator._charged"),
    "self that is no method's": "def f(self):\n    return self._exact_answers(0)",
    "self of a lambda": "f = lambda self: self._exact_answers(0)",
    "self of a static method": "class C:\n    @staticmethod\n    def f(self):\n        return self._exact_answers(0)",
    "a name that was own before": "class C:\n    def f(self, c):\n        self = c\n        return self._exact",
    "a pattern": spy("match curator:", "    case Known(_exact=x):", "        return x"),
    "a mangled name in a format": spy("return '{0._Curator__source}'.format(curator)"),
    "a mangled name": spy("return curator.ledger._LedgerView__ledger"),
    "a class of the same name": "class Curator:\n    def f(self):\n        return self.__source",
    "a subclass": "from hedgerow.privacy import watch\nclass Mine(watch.Watch):\n    pass",
    "importlib": "import importlib\nx = importlib.import_module('x')",
    "a part of importlib": "from importlib import import_module",
    "__import__": "x = __import__('x')",
    "builtins": "import builtins",
    "sys.modules": "import sys\nx = sys.modules['x']",
    "sys.modules, imported": "from sys import modules",
    "a frame": spy("try:", "    curator.total(0)", "except Exception as e:", "    return e.__traceback__.tb_frame"),
    "variables of a frame": spy("return curator.f_locals"),
    "inspect": "import inspect",
    "gc": "def f():\n    import gc\n    return gc.get_objects()",
    "ctypes": "from ctypes import pythonapi",
    "pickle": "import pickle",
    "a closure": spy("return curator.watch.__closure__"),
    "a cell of a closure": spy("return curator.cell_contents"),
    "globals of a function": spy("return curator.total.__globals__"),
    "attrgetter": "import operator\nf = operator.attrgetter('x')",
    "attrgetter, imported": "from operator import attrgetter",
    "methodcaller": "from operator import methodcaller",
    "eval": spy("return eval('curator')"),
    "a private function": "from hedgerow.privacy.curator import _secret_sample",
    "a private function, relatively": "from ..privacy.curator import _places",
    "a private function of a module": "from hedgerow.privacy import curator\nx = curator._places",
    "everything": "from hedgerow.privacy.exact.lattice import *",
    "an exact answer of a module": "from hedgerow.privacy.exact import lattice\nf = lattice.exact_units",
    "an exact answer by way of a face": "from hedgerow.privacy import exact\nf = exact.lattice.exact_units",
    "an exact answer by its whole path": "import hedgerow.privacy\nf = hedgerow.privacy.exact.lattice.exact_units",
    "an exact answer from the root": "import hedgerow\nf = hedgerow.privacy.exact.lattice.exact_units",
    "an exact answer of a renamed face": "import hedgerow.privacy as p\nf = p.exact.lattice.exact_units",
    "an exact answer of a renamed module": "import hedgerow.privacy.exact.lattice as l\nf = l.exact_units",
    "a method put in": "from hedgerow.privacy.curator import Curator\nCurator.peek = lambda c: c",
    "a function put in": "from hedgerow.privacy import curator\ncurator.exact_units = print",
}


@pytest.mark.parametrize("name", BYPASSES)
@pytest.mark.parametrize("module", ["hedgerow.algorithms.spy", "hedgerow.cli.spy"])
def test_a_planted_bypass_is_found(module: str, name: str) -> None:
    assert violations(module, BYPASSES[name]), name


OWN = {
    "an attribute of its own": "class C:\n    def f(self):\n        return self._x",
    "an attribute of another one of its class": "class C:\n    def f(self, other: C):\n        return other._x",
    "a twin": "class C:\n    def f(self):\n        twin = object.__new__(C)\n        twin._x = self._x",
    "what a class method makes": "class C:\n    @classmethod\n    def f(cls):\n        cls()._x = 1",
    "a function within a method": "class C:\n    def f(self):\n        return lambda x: self._x + x",
    "a frozen object's fields": "class C:\n    def __post_init__(self):\n        object.__setattr__(self, '_x', 1)",
    "its own fields by name": "class C:\n    def f(self, name):\n        return getattr(self, name)",
    "listed public names": "def f(x):\n    return [getattr(x, name) for name in ('a', 'b')]",
    "a public name with a default": "def f(x):\n    return getattr(x, 'text', None)",
    "the name of a class": "def f(x):\n    return type(x).__name__",
    "whether a library is there": "from importlib.util import find_spec",
    "a method of its parent": "class C:\n    async def __call__(self):\n        await super().__call__()",
    "a named tuple": "def f(parts):\n    return parts._replace(netloc='x')",
    "operators": "from operator import and_, lt",
    "its own module's function": "def _g():\n    return 1\ndef f():\n    return _g()",
}


@pytest.mark.parametrize("name", OWN)
def test_own_names_pass(name: str) -> None:
    assert violations("hedgerow.algorithms.kind", OWN[name]) == []


HARMLESS = {
    "handing on": ("hedgerow.algorithms.kind", "def run(source, b):\n    return Curator(source, b), source.domain"),
    "running": ("hedgerow.cli.kind", f"{TABLE}\ndef f(data: Table, m):\n    return m.run(data)"),
    "reading": ("hedgerow.cli.kind", "from hedgerow.data.table import read_table"),
    "the type of the evaluation": ("hedgerow.report.kind", "from hedgerow.privacy.evaluation import ExactErrors"),
    "a table of another library": ("hedgerow.cli.kind", "def f(console, table: Table):\n    console.print(table)"),
    "evaluating": ("hedgerow.cli.kind", "from hedgerow.privacy.evaluation import exact_errors"),
    "opening tables for the server": ("hedgerow.service.sessions.tables", TABLE),
    "a table of the store": ("hedgerow.service.kind", "import sqlalchemy as sa\nt = sa.table('x')\nf = t.c.x"),
    "a model's own tables": ("hedgerow.models.kind", "def f(model, w):\n    return w.answers(model)"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_allowed_passes(name: str) -> None:
    assert violations(*HARMLESS[name]) == []
