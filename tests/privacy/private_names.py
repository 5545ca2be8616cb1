"""Who reaches for a name that another module keeps for itself, read off the syntax tree.

A name that begins with an underscore belongs to the module that writes it. The rule, for every module of the package:

1. Such an attribute is read or written on an *own* object alone: the first parameter of a method, a class of this
   module, what one of these makes (``cls(...)``, ``object.__new__(cls)``), or a parameter annotated with one.
2. Attributes are named in the code: no ``getattr``, ``setattr``, ``hasattr`` or ``delattr`` of a name that is computed
   or private, no ``vars``, ``__dict__``, ``attrgetter`` or ``methodcaller``, no double-underscore name beyond a list of
   harmless ones. Own objects are excepted.
3. No private name is imported, nothing is imported by star, and no module or class of the package is changed from
   outside.
4. Modules that see through all this (``importlib``, ``lazy_loader`` beyond the faces of packages, ``inspect``, ``gc``,
   ``ctypes``, ``pickle``, ...) and names that do (``eval``, ``exec``, ``globals``, ``sys.modules``, frames
   and closures) are not used.
5. No class elsewhere is a subclass of one whose names ``privacy/`` mangles, nor has its name.

`ALLOWED` lists the exceptions, with the reason of each.

**What it is for.** It finds accidents: a shortcut taken in a hurry, a refactoring that leaves a door open. It does not
stop somebody who wants to get past it: in Python nothing does, and who writes code here can change the rule as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

ALLOWED = {
    ("hedgerow.algorithms.registry", "imports importlib.import_module"): "algorithms are imported when they are named",
    ("hedgerow.system.plug_ins", "imports importlib.metadata.EntryPoint"): "plug-ins are named by their packages",
    ("hedgerow.system.plug_ins", "imports importlib.metadata.entry_points"): "the same",
    (
        "hedgerow.algorithms.registry",
        "asks getattr(import_module(f'hedgerow.algorithms.{self.module}'), configuration)",
    ): "the same; modules and classes are a fixed table",
    (
        "hedgerow.algorithms.shared.algorithm",
        "asks getattr(config, field.name)",
    ): "fields of a configuration, which is public",
    ("hedgerow.cli.console", "uses frame.f_back"): "whether an interrupt fell into what compiled code calls",
    ("hedgerow.cli", "imports gc"): "says how often cycles are searched for; it shows no object",
    ("hedgerow.cli.declaring", "imports inspect"): "the docstring of a command, for its help, and its parameters",
    ("hedgerow.cli.declaring", "reads cast('Any', called).__signature__"): "sets what typer makes options of",
    (
        "hedgerow.system.docstrings",
        "imports inspect",
    ): "docstrings of requests, responses and options, for their readers",
    ("hedgerow.system.docstrings", "reads kind.__mro__"): "the same, of the classes that one extends",
    ("hedgerow.system.docstrings", "reads each.__dict__"): "the same",
    (
        "hedgerow.system.compiling",
        "imports types.FunctionType",
    ): "kernels that Python runs, with the functions that they call in place of compiled ones",
    ("hedgerow.system.compiling", "reads function.__globals__"): "the same",
    ("hedgerow.system.compiling", "reads function.__code__"): "the same",
    ("hedgerow.domain.entries.scales", "asks getattr(scale, name)"): "options of a scale; names are a fixed table",
    (
        "hedgerow.data.reading.readers",
        "asks hasattr(source, '__arrow_c_stream__')",
    ): "the protocol by which Arrow tables are known",
    ("hedgerow.data.scanning.spark", "imports pickle"): "partial counts travel between executors",
    ("hedgerow.engines.spark_tasks", "imports pickle"): "tasks of public numbers travel to executors",
    (
        "experiments.registry",
        "imports importlib.import_module",
    ): "experiments are imported when they are named",
    (
        "experiments.registry",
        "asks getattr(import_module(f'experiments.{module}'), kind)",
    ): "the same; modules and classes are a fixed table",
    (
        "hedgerow.release.spark_records",
        "asks getattr(session, '_sc', None)",
    ): "tells a Connect session from another one",
    (
        "hedgerow.engines.spark_session",
        "asks getattr(session, '_sc', None)",
    ): "tells a Connect session from another one",
    (
        "hedgerow.service.http.app",
        "imports importlib.import_module",
    ): "other libraries, which threads must not import at once",
}
"""By module and by what is found there: why it may stay."""

HARMLESS = {
    *("__init__", "__new__", "__name__", "__qualname__", "__module__", "__doc__", "__version__", "__annotations__"),
    *("__cause__", "__context__", "__traceback__", "__getitem__", "__and__", "__or__"),
}
"""Double-underscore names that lead nowhere."""
ON_OWN = {"__setattr__", "__getattribute__", "__delattr__"}
"""Methods of `object` that are called with an own object, in frozen classes."""
NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}
"""Public, in spite of their underscore."""
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}
SEEING = {"vars", "eval", "exec", "compile", "globals", "locals", "breakpoint", "__import__", "__builtins__"}
SEEING_ATTRIBUTES = {
    *("attrgetter", "methodcaller", "import_module", "cell_contents"),
    *("tb_frame", "f_locals", "f_globals", "f_back", "gi_frame", "cr_frame", "ag_frame"),
}
SEEING_MODULES = {
    *(
        "importlib",
        "lazy_loader",
        "inspect",
        "gc",
        "ctypes",
        "cffi",
        "builtins",
        "pickle",
        "marshal",
        "copyreg",
        "dill",
        "cloudpickle",
    ),
    *("runpy", "pkgutil", "code", "pdb", "bdb", "trace", "dis", "imp", "zipimport"),
    *("sys.modules", "sys._getframe", "operator.attrgetter", "operator.methodcaller", "unittest.mock"),
    *("types.FunctionType", "types.CodeType", "types.CellType", "types.MethodType"),
}
SEEING_ENDS = SEEING_ATTRIBUTES | {name.rpartition(".")[2] for name in SEEING_MODULES}
FACE = """import lazy_loader
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)"""
"""All code of a package that gives away the names of its stub, loaded when they are first used."""
BLIND = {"importlib.util.find_spec", "importlib.resources", "importlib.metadata", "importlib.metadata.version"}
"""Parts of those modules that hand out no code."""


@cache
def nodes(tree: ast.AST) -> tuple[Any, ...]:
    """All nodes of a tree that nobody changes."""
    return tuple(ast.walk(tree))


def private(name: str) -> bool:
    """Whether a name is kept by a module: it begins with an underscore, and not as Python's own do."""
    return name.startswith("_") and not dunder(name)


def dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def mangled_classes(texts: dict[str, str]) -> frozenset[str]:
    """Classes of ``privacy/`` with attributes whose names Python mangles."""
    found = set()
    for module, code in texts.items():
        if module.startswith("hedgerow.privacy."):
            for each in ast.walk(ast.parse(code)):
                if isinstance(each, ast.ClassDef) and any(map(_mangled, ast.walk(each))):
                    found.add(each.name)
    return frozenset(found)


def _mangled(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr.startswith("__") and not dunder(node.attr)


def reached(module: str, tree: ast.Module, guarded: frozenset[str]) -> list[str]:
    """What a module reaches for that is not its own, without what `ALLOWED` allows.

    Args:
        module: Its dotted name.
        tree: Its code.
        guarded: Names of the classes that `mangled_classes` found.
    """
    return [f"{module} {what}" for what in found(module, tree, guarded) if (module, what) not in ALLOWED]


@cache
def found(module: str, tree: ast.Module, guarded: frozenset[str]) -> list[str]:
    """The same, with what is allowed."""
    reader = _Reader(module, tree, frozenset() if module.startswith("hedgerow.privacy.") else guarded)
    reader.visit(tree)
    return reader.found


class _Reader(ast.NodeVisitor):
    """Walks over a module and keeps track of which names are its own.

    Attributes:
        found: What it reaches for.
    """

    def __init__(self, module: str, tree: ast.Module, guarded: frozenset[str]) -> None:
        self.found: list[str] = []
        self._module = module
        self._guarded = guarded
        self._classes = {each.name for each in nodes(tree) if isinstance(each, ast.ClassDef)} - guarded
        self._own: list[set[str]] = [set()]
        self._listed: list[set[str]] = [set()]
        self._within_class = False
        self._is_face = "\n".join(map(ast.unparse, tree.body[1:])) == FACE
        self._ours = {
            (alias.asname or alias.name).split(".")[0]
            for each in nodes(tree)
            if isinstance(each, ast.ImportFrom | ast.Import)
            for alias in each.names
            if (getattr(each, "module", None) or alias.name).startswith("hedgerow") or getattr(each, "level", 0)
        }

    def _say(self, what: str) -> None:
        self.found.append(what)

    # Which names are own

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if {node.name, *(getattr(base, "id", getattr(base, "attr", "")) for base in node.bases)} & self._guarded:
            self._say(f"poses as {node.name}")
        self._inside(node, own=set(), within_class=True)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        given = [*node.args.posonlyargs, *node.args.args]
        static = any(getattr(each, "id", "") == "staticmethod" for each in node.decorator_list)
        own = {given[0].arg} if self._within_class and given and not static else set()
        every = [*given, *node.args.kwonlyargs]
        own |= {each.arg for each in every if self._names_own_class(each.annotation)}
        shadowed = {each.arg for each in every} - own
        self._inside(node, own=(self._own[-1] - shadowed) | own, within_class=False)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        shadowed = {each.arg for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
        self._inside(node, own=self._own[-1] - shadowed, within_class=False)

    def _inside(self, node: ast.AST, own: set[str], *, within_class: bool) -> None:
        before, self._within_class = self._within_class, within_class
        self._own.append(own)
        self._listed.append(set(self._listed[-1]))
        self.generic_visit(node)
        self._own.pop()
        self._listed.pop()
        self._within_class = before

    def _names_own_class(self, annotation: ast.expr | None) -> bool:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        named = {getattr(leaf, "id", "") for leaf in ast.walk(annotation)} if annotation is not None else set()
        return bool(named & self._classes) or ("Self" in named and bool(self._own[-1] or self._within_class))

    def _is_own(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._own[-1] or node.id in self._classes
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "type"):
            return all(map(self._is_own, node.args))
        if ast.unparse(node.func) == "object.__new__":
            return all(map(self._is_own, node.args))
        return isinstance(node.func, ast.Name) and self._is_own(node.func)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bound(target, node.value)
            self._changed(target)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._changed(node.target)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._changed(target)
        self.generic_visit(node)

    def _bound(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            (self._own[-1].add if self._is_own(value) else self._own[-1].discard)(target.id)
            self._listed[-1].discard(target.id)

    def _changed(self, target: ast.expr) -> None:
        root = target
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(target, ast.Attribute) and getattr(root, "id", None) in self._ours:
            self._say(f"changes {ast.unparse(target)}")

    # Names that are listed in the code

    def visit_For(self, node: ast.For) -> None:
        self._looped(node.target, node.iter)
        self.generic_visit(node)

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._listed.append(set(self._listed[-1]))
        for each in node.generators:
            self._looped(each.target, each.iter)
        self.generic_visit(node)
        self._listed.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _looped(self, target: ast.expr, values: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._own[-1].discard(target.id)
            listed = isinstance(values, ast.Tuple | ast.List | ast.Set) and all(map(self._is_public, values.elts))
            (self._listed[-1].add if listed else self._listed[-1].discard)(target.id)

    def _is_public(self, name: ast.expr) -> bool:
        if isinstance(name, ast.Name):
            return name.id in self._listed[-1]
        return isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("_")

    # What is reached for

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if dunder(name):
            if name not in HARMLESS and not self._is_own(node.value):
                self._say(f"reads {ast.unparse(node)}")
        elif private(name) and name not in NAMED_TUPLES and not self._is_own(node.value):
            self._say(f"reads {ast.unparse(node)}")
        elif name in SEEING_ENDS:
            text = ast.unparse(node)
            if name in SEEING_ATTRIBUTES or text in SEEING_MODULES:
                self._say(f"uses {text}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", "")
        if name in BY_NAME and len(node.args) > 1:
            if not (self._is_own(node.args[0]) or self._is_public(node.args[1])):
                self._say(f"asks {ast.unparse(node)}")
        elif name in SEEING:
            self._say(f"uses {ast.unparse(node)}")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ON_OWN:
            if getattr(node.func.value, "id", "") != "object" or not (node.args and self._is_own(node.args[0])):
                self._say(f"asks {ast.unparse(node)}")
        else:
            self.visit(node.func)
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self.visit(value)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in BY_NAME | SEEING:
            self._say(f"uses {node.id}")

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        if any(name.startswith("_") for name in node.kwd_attrs) and not self._is_own(node.cls):
            self._say(f"reads {ast.unparse(node)}")
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            base = node.module or ""
            ours = bool(node.level) or base.split(".")[0] == "hedgerow"
            if ours and (private(alias.name) or alias.name == "*"):
                self._say(f"imports {alias.name} of {base or 'its package'}")
            if not node.level:
                self._imported(f"{base}.{alias.name}")

    def _imported(self, name: str) -> None:
        if name == "lazy_loader" and self._is_face:
            return
        if any(name == each or name.startswith(f"{each}.") for each in SEEING_MODULES - BLIND) and name not in BLIND:
            whole = name.split(".", maxsplit=1)[0]
            shown = name if whole in ("importlib", "sys", "operator", "types", "unittest") else whole
            self._say(f"imports {shown}")


def texts_with(names: set[str], tree: ast.Module) -> Iterator[str]:
    """Strings in the code that hold one of some names."""
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (name for name in names if name in node.value)
