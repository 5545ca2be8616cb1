"""The mutation score: every bug that was ever planted on purpose, and what notices it.

``make mutants`` runs each (the tests that take a `Mutant`, and no other) and writes ``docs/mutants.md``. A mutant that
nobody notices is named there as a survivor, and the command fails.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.privacy.mutants import NOTICED, PASSED, Mutant

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "mutants.md"
SURVIVED = "**nothing**"
HEAD = """\
# Planted bugs

Each line is a bug that is planted on purpose, and the check that notices it: the check passes on the code as it is and
fails as soon as the bug is in. Most are privacy bugs; a few make results wrong and say so. `make mutants` plants all of
them again and writes this page; a test compares it with the list of bugs.

**{killed} of {tried} planted bugs are noticed.**
"""


@dataclass(frozen=True, order=True)
class Line:
    """One mutant.

    Attributes:
        file: Where it is declared, from the root.
        name: Its name.
        by: What notices it.
    """

    file: str
    name: str
    by: str = ""


def declared() -> Iterator[Line]:
    """Every mutant of every list ``MUTANTS`` of the tests."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if re.search(r"^MUTANTS\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            module = path.relative_to(ROOT).with_suffix("")
            for mutant in import_module(".".join(module.parts)).MUTANTS:
                yield Line(str(module) + ".py", mutant.name if isinstance(mutant, Mutant) else mutant[0])


def page(lines: list[Line]) -> str:
    """The page about what was run."""
    killed = sum(line.by != SURVIVED for line in lines)
    text = [HEAD.format(killed=killed, tried=len(lines))]
    for file in sorted({line.file for line in lines}):
        text.append(f"\n## `{file}`\n\n| planted bug | noticed by |\n|---|---|\n")
        text += [f"| {line.name} | {line.by} |\n" for line in lines if line.file == file]
    return "".join(text)


def listed(text: str) -> Iterator[Line]:
    """The lines of a page."""
    file = ""
    for row in text.splitlines():
        if row.startswith("## "):
            file = row.strip("#` ")
        elif row.startswith("| ") and row != "| planted bug | noticed by |":
            name, by = row.strip("| ").rsplit(" | ", 1)
            yield Line(file, name, by)


@dataclass(eq=False)  # plugins are told apart by identity
class Score:
    """A pytest plugin that runs the tests of mutants, and nothing else.

    Attributes:
        by: What noticed each mutant, by its name and the module that declares its list.
    """

    by: dict[tuple[str, str], str] = field(default_factory=dict)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if _mutant(item) is not None]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        PASSED.clear()  # the bug before this one may have left something behind
        before = len(NOTICED)
        mutant = _mutant(item)
        assert mutant is not None
        try:
            return (yield)
        finally:
            found = NOTICED[before:]
            home = _home(item.module, mutant)
            self.by[home, mutant.name] = f"`{found[-1][1]}`" if found else SURVIVED


def _mutant(item: Any) -> Mutant | None:
    given = getattr(item, "callspec", None)
    found = [value for value in given.params.values() if isinstance(value, Mutant)] if given else []
    return found[0] if found else None


def _home(module: Any, mutant: Mutant) -> str:
    """The file of the list that a test takes its mutants from: its own, or the one that it imports them from."""
    mine = Path(module.__file__)
    if re.search(r"^MUTANTS\b", mine.read_text(encoding="utf-8"), re.MULTILINE):
        return str(mine.relative_to(ROOT))
    names = [line.file for line in declared() if line.name == mutant.name]
    imported = [name for name in names if _imports(mine, name)]
    return (imported or names)[0]


def _imports(test: Path, file: str) -> bool:
    dotted = file.removesuffix(".py").replace("/", ".")
    return f"from {dotted} import" in test.read_text(encoding="utf-8")


def main() -> int:
    """Run all and write the page; 1 if a mutant survives or was not run."""
    score = Score()
    files = [str(path) for path in sorted((ROOT / "tests").rglob("test_*.py")) if "Mutant" in path.read_text("utf-8")]
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", *files], plugins=[score])
    lines = [Line(each.file, each.name, score.by.get((each.file, each.name), SURVIVED)) for each in declared()]
    PAGE.write_text(page(lines), encoding="utf-8")
    return int(any(line.by == SURVIVED for line in lines))


if __name__ == "__main__":
    sys.exit(main())
