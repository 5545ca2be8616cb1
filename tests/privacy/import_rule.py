"""The import rule, read off the source code: only ``privacy/`` reads exact answers.

1. ``hedgerow.data`` is imported by ``privacy/``, by itself, by the command line, the one call (``synthesis``), the
   experiments and one module of the server (which read tables and hand them on) and by the package's public faces; by
   nobody else, nor does anybody else name it in a string.
2. Functions that return exact answers are imported inside ``privacy/`` only; those of the evaluation also by the
   command line, the comparison and the experiments, whose results are labelled "not private".
3. Nobody reaches for what another module keeps for itself (`private_names`, for every module), nor spells a mangled
   name of ``privacy/`` in a string.
4. Who is handed a private table may ask for its domain and whether it is filtered, have it counted, and pass it on,
   whole, to a curator, to the evaluation, to an algorithm's ``run``, or to a session that starts or is restored:
   nothing else.

It guards against accidents, not against malice: see `private_names`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.privacy.private_names import mangled_classes, nodes, reached, texts_with

ROOT = Path(__file__).parents[2] / "src"

MAY_READ_TABLES = (
    "hedgerow.privacy",
    "hedgerow.data",
    "hedgerow.cli",
    "hedgerow.runs",
    "hedgerow.synthesis",
    "experiments",
    "hedgerow.service.sessions.tables",
    "hedgerow.extending",  # gives away the protocols of sources, and nothing else of data/
)
MAY_EVALUATE = ("hedgerow.cli", "hedgerow.comparison", "hedgerow.evaluation", "experiments")
EXACT = {"exact_units", "grid_errors"}
EVALUATION = {
    "broken_rules",
    "exact_answers",
    "exact_errors",
    "exact_marginals",
    "exact_records",
    "exact_total",
    "relative_entropy",
}
TABLE_TYPES = {"Table", "ScannedTable", "CountSource", "PrivateTable"}
PRIVATE_TABLE = "hedgerow.service.sessions.tables.PrivateTable"
TABLE_MAKERS = {
    "read_table",
    "read_with",
    "scan_table",
    "scan_with",
    "read_data",
    "table",
    "read_private",
    "no_records",
    "read_linked",
}
TABLE_NAMES = {"source"}
MAY_ASK = {"domain", "filtered", "over", "prepare", "count"}
"""What a table is made of, whether a filter chose its rows, the same of fewer columns, and its passes over the records,
which return nothing."""
MAY_TAKE = {"run", "start", "restore"}
"""Methods of algorithms and sessions."""


@cache
def parsed(code: str) -> ast.Module:
    """The syntax tree of a module, which nobody changes."""
    return ast.parse(code)


@cache
def modules() -> dict[str, str]:
    """Source text of every module, by its dotted name."""
    found = {}
    for root in (ROOT / "hedgerow", ROOT.parent / "experiments"):
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


def faces() -> dict[str, str]:
    """The names that each package gives away, as import statements (``__init__.pyi``), by the package's name."""
    stubs = sorted((ROOT / "hedgerow").rglob("__init__.pyi"))
    return {".".join(stub.parent.relative_to(ROOT).parts): stub.read_text() for stub in stubs}


def within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def imports(module: str, tree: ast.AST, *, package: bool = False) -> Iterator[str]:
    """Dotted names of everything imported, names of members included, relative ones resolved."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: len(module.split(".")) - node.level + package] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def violations(module: str, code: str) -> list[str]:
    """What the rule finds in one module."""
    tree = parsed(code)
    found = reached(module, tree, guarded())
    if within(module, ("hedgerow.privacy", "hedgerow.data")):
        return found
    return [*found, *_imports(module, tree), *_names(module, tree), *_uses(module, tree)]


@cache
def guarded() -> frozenset[str]:
    """Classes of ``privacy/`` that hide attributes by mangled names: the curator, watches, views of ledgers."""
    return mangled_classes(modules())


def _imports(module: str, tree: ast.AST) -> Iterator[str]:
    kept = EXACT if _may_evaluate(module) else EXACT | EVALUATION
    for name in imports(module, tree):
        member = name.rsplit(".", 1)[-1]
        if _of_data(name) and not within(module, MAY_READ_TABLES) and module != "hedgerow":
            yield f"{module} imports {name}"
        if member in kept:
            yield f"{module} imports {name}"


def _may_evaluate(module: str) -> bool:
    return within(module, MAY_EVALUATE) or module == "hedgerow"


def _names(module: str, tree: ast.AST) -> Iterator[str]:
    kept = EXACT if _may_evaluate(module) else EXACT | EVALUATION
    yield from (f"{module} spells {name}" for name in texts_with({f"_{name}__" for name in guarded()}, tree))
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in kept and _of_privacy(node.value, tree):
            yield f"{module} uses {ast.unparse(node)}"
        text = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", getattr(node, "id", ""))
        if isinstance(text, str) and within(text, ("hedgerow.data",)) and not within(module, MAY_READ_TABLES):
            yield f"{module} names {text}"


def _of_privacy(value: ast.expr, tree: ast.AST) -> bool:
    """Whether an expression is a package or module of ``privacy/``: by its path, or by the name of an import."""
    names = {"privacy"}
    for node in nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = getattr(node, "module", None)
            for alias in node.names:
                whole = f"{base}.{alias.name}" if base else alias.name
                names |= {alias.asname or alias.name} if "privacy" in whole.split(".") else set()
    path = ast.unparse(value)
    return path in names or not names.isdisjoint(path.split("."))


def _tables(tree: ast.AST) -> set[str]:
    """Names that hold a private table: by annotation, by maker or by convention."""
    names = set(TABLE_NAMES)
    types = {name.rsplit(".", 1)[-1] for name in imports("", tree) if _of_data(name) or name == PRIVATE_TABLE}
    types &= TABLE_TYPES
    for node in nodes(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            mentioned = {leaf.id for leaf in ast.walk(node.annotation) if isinstance(leaf, ast.Name)}
            target = node.arg if isinstance(node, ast.arg) else getattr(node.target, "id", "")
            names |= {target} if mentioned & types else set()
        made = node.value if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if made is not None and _called(made) in TABLE_MAKERS and not _of_sqlalchemy(made, tree):
            pair = _called(made) == "read_linked"
            found = [leaf for target in node.targets for leaf in (ast.walk(target) if pair else (target,))]
            names |= {leaf.id for leaf in found if isinstance(leaf, ast.Name)}
    return names


def _of_sqlalchemy(call: ast.Call, tree: ast.AST) -> bool:
    """Whether a function is called by the name of that library: its tables are those of the server's store."""
    names = {
        alias.asname or alias.name
        for node in nodes(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "sqlalchemy"
    }
    return isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", None) in names


def _of_data(name: str) -> bool:
    return within(name, ("hedgerow.data",)) or name in _given_away_at_the_root()


@cache
def _given_away_at_the_root() -> set[str]:
    """Names of ``data/`` that the package's face gives away."""
    tree = ast.parse(faces()["hedgerow"])
    found = [node for node in nodes(tree) if isinstance(node, ast.ImportFrom)]
    data = [node for node in found if node.module is not None and within(node.module, ("data",))]
    return {f"hedgerow.{alias.asname or alias.name}" for node in data for alias in node.names}


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _uses(module: str, tree: ast.AST) -> Iterator[str]:
    names = _tables(tree)
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in names and node.attr not in MAY_ASK:
            yield f"{module} asks {ast.unparse(node)}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in MAY_TAKE:
            passed = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(getattr(value, "id", None) in names for value in passed):
                yield f"{module} hands a table to {ast.unparse(node.func)}"


def reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Every module that a package imports, directly or through others."""
    todo, seen = [name for name in graph if within(name, (start,))], set[str]()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen


def import_graph(texts: dict[str, str]) -> dict[str, set[str]]:
    """Which module imports which, lazily or not; type-checking blocks included, and the faces of packages."""
    graph, given = {}, faces()
    for module, code in texts.items():
        wanted = set(imports(module, parsed(code)))
        wanted |= set(imports(module, parsed(given.get(module, "")), package=True))
        graph[module] = (wanted | {want.rsplit(".", 1)[0] for want in wanted}) & texts.keys()
    return graph
