"""The documentation: every public name has a docstring and a place in the reference, and the pages say what is so."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import hedgerow
import hedgerow.extending

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("module", [hedgerow, hedgerow.extending], ids=lambda module: module.__name__)
def test_public_names_are_documented_and_shown(hooks: ModuleType, module: ModuleType) -> None:
    assert list(hooks.undocumented(module)) == []
    assert hooks.not_shown(module) == []


def test_a_name_without_a_docstring_or_a_page_is_found(hooks: ModuleType) -> None:
    class Bare:
        def told(self) -> None:
            """Told."""

        def silent(self) -> None: ...

    Bare.__module__ = "hedgerow.made"
    made = ModuleType("hedgerow.made")
    made.__dict__.update(Bare=Bare, __all__=["Bare"])
    assert list(hooks.undocumented(made)) == ["hedgerow.made.Bare", "hedgerow.made.Bare.silent"]
    assert hooks.not_shown(made) == ["Bare"]


def test_the_architecture_fits_on_a_page_and_has_every_room() -> None:
    assert len(PAGE.splitlines()) <= 150
    rooms = {path.parent.name for path in (ROOT / "src" / "hedgerow").glob("*/__init__.py")}
    assert [room for room in sorted(rooms) if f"`{room}/`" not in PAGE] == []


def test_the_layers_on_the_page_are_those_that_are_enforced() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    (flow,) = (each["layers"] for each in contracts if each["name"] == "One-way flow")
    (block,) = re.findall(r"^    cli > .*\n(?:        .*\n)*", PAGE, flags=re.MULTILINE)
    stated = [" | ".join(sorted(layer.split(" | "))) for layer in " ".join(block.split()).split(" > ")]
    names = [layer.replace("hedgerow.", "").replace(" | version", "") for layer in flow]
    enforced = [" | ".join(sorted(layer.split(" | "))) for layer in names]
    assert stated == enforced


def test_every_page_is_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r"[\w/-]+\.md", nav))
