"""The documentation: every public name has a docstring and a place in the reference, and the pages say what is so."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import markdown
import pytest
import typer.main
import yaml

import hedgerow
import hedgerow.extending
from hedgerow.domain import arrow_schema, domain_schema
from tests.cli.command_line import app

ROOT = Path(__file__).resolve().parent.parent
MADE = runpy.run_path(str(ROOT / "docs" / "site_reference.py"))
GUIDE = ("record-types", "levels", "rules")
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


def test_a_table_that_a_blank_line_splits_is_found(hooks: ModuleType) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert hooks.broken_tables(f"{table}\n{table}") == []
    assert hooks.broken_tables(f"{table}\n| 3 | 4 |\n") == ["| 3 | 4 |"]
    assert hooks.broken_tables(f"```\n| x |\n```\n{table}") == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_no_table_of_a_page_is_broken(hooks: ModuleType, page: Path) -> None:
    assert hooks.broken_tables(page.read_text(encoding="utf-8")) == []


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


def test_the_domain_file_of_the_first_release_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "first-release.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml title=.*?\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    domain = hedgerow.read_domain(tmp_path / "mine.yaml")
    assert hedgerow.feasible_records(domain) == 74 * (9 * 15 - 14) * 2 * 99 * 2
    assert {"age.5", "age.stage"} <= {each.name for each in domain.derived}


def test_the_domain_files_of_the_guide_are_ones(tmp_path: Path) -> None:
    pages = {name: (ROOT / "docs" / "guide" / f"{name}.md").read_text(encoding="utf-8") for name in GUIDE}
    written, file = (re.findall(r"```yaml\n(attributes:.*?)```", pages[name], flags=re.DOTALL)[0] for name in GUIDE[:2])
    (rules,) = re.findall(r"```yaml\n(constraints:.*?)```", pages["rules"], flags=re.DOTALL)
    file += rules
    (tmp_path / "written.yaml").write_text(written, encoding="utf-8")
    columns = arrow_schema(hedgerow.read_domain(tmp_path / "written.yaml"))
    assert columns.names == ["seen", "age", "word", "paid", "cost", "rate"]
    for line, values in (
        ("diagnosis", "[A001, A002, B010]"), ("area", "[a, b, c]"), ("day", "[2024-01-31, 2024-02-01, 2025-02-01]")
    ):  # fmt: skip
        assert f"  {line}: {{values: [...]" in file
        file = file.replace(f"  {line}: {{values: [...]", f"  {line}: {{values: {values}")
    (tmp_path / "areas.csv").write_text("area,district,region\na,x,n\nb,x,n\nc,y,s\n")
    (tmp_path / "density.csv").write_text("area,density\na,1\nb,2\nc,2\n")
    (tmp_path / "sectors.csv").write_text("industry,sector\n1,p\n2,p\n3,q\n")
    more = "attributes:\n  industry: [1, 2, 3]\n  sector: [p, q]\n"
    more += "  marital: {values: [married, widowed, divorced, single], missing: N}\n"
    (tmp_path / "people.yaml").write_text(file.replace("attributes:\n", more), encoding="utf-8")
    domain = hedgerow.read_domain(tmp_path / "people.yaml")
    assert hedgerow.feasible_records(domain) == (15 * 1 + 85 * 4) * 3 * 3 * 3 * 5 * 3
    named = {each.name for each in domain.derived}
    assert named >= {"age.stage", "diagnosis.1", "area.region", "day.quarter", "income.part", "density", "group"}


def test_every_command_and_option_is_on_its_page() -> None:
    text = MADE["command_line"]()
    sections = dict(re.findall(r"^## (hedgerow.*)\n((?:(?!## ).*\n)*)", text, flags=re.MULTILINE))
    commands = dict(commands_below(typer.main.get_command(app), "hedgerow"))
    assert list(sections) == list(commands)
    for name, command in commands.items():
        terms = re.findall(r"^`(.*)`\n:   \S", sections[name], flags=re.MULTILINE)
        shown = {word for term in terms for word in term.replace(",", "").split() if word.startswith("-")}
        named = [word for each in command.params for word in (*each.opts, *each.secondary_opts)]
        assert shown == {word for word in named if word.startswith("-")}
        assert len(terms) == len(command.params)


def test_variables_defaults_and_bounds_stand_after_the_text_of_an_option() -> None:
    text = MADE["command_line"]()
    port = "*env var: HEDGEROW\\_PORT; default: 8000; from 0 to 65535*"
    assert f"`--port N`\n:   Port to listen on; 0 takes a free one. {port}" in text
    assert not re.search(r"\[(env var|default|required|\S*x[<>]=)", text)


def commands_below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, each in getattr(command, "commands", {}).items():
        yield from commands_below(each, f"{name} {word}")


def test_a_text_of_the_help_is_shown_as_it_is() -> None:
    html = markdown.markdown(MADE["plain"]("a *b* <i> x_1 [c] | 'd e' of --f-g; a rule's text, or `h`"))
    assert html == (
        "<p>a *b* &lt;i&gt; x_1 [c] | <code>d e</code> of <code>--f-g</code>; a rule's text, or <code>h</code></p>"
    )


@pytest.mark.parametrize("key", MADE["FILE_EXAMPLES"])
def test_the_example_of_a_key_of_a_file_has_it_and_is_read(key: str, tmp_path: Path) -> None:
    text = MADE["FILE_EXAMPLES"][key]
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert key in yaml.safe_load(text)
    assert hedgerow.read_domain(tmp_path / "mine.yaml", accept_draft=True).names


@pytest.mark.parametrize("key", MADE["KEY_EXAMPLES"])
def test_the_example_of_a_key_of_an_attribute_has_it_and_is_read(key: str, tmp_path: Path) -> None:
    text = MADE["KEY_EXAMPLES"][key]
    ((name, options),) = yaml.safe_load(text).items()
    assert re.search(rf"\b{key}: ", text)
    earlier = "admitted: {min: 2024-01-01, max: 2024-12-31}\n" if "from" in options else ""
    (tmp_path / "mine.yaml").write_text(f"{earlier}{text}\n", encoding="utf-8")
    assert name in hedgerow.read_domain(tmp_path / "mine.yaml").names


def test_every_key_of_a_domain_file_has_an_example() -> None:
    schema = domain_schema()
    assert set(MADE["FILE_EXAMPLES"]) == set(schema["then"]["properties"])
    assert set(MADE["KEY_EXAMPLES"]) == set(schema["definitions"]["options"]["properties"])
    terms = set(re.findall(r"^`(\w+)` \(.*\)\n:   \S", MADE["domain_file"](), flags=re.MULTILINE))
    described = {key for part in schema["definitions"].values() for key in part.get("properties", ())}
    rules = {key for each in schema["definitions"]["constraint"]["oneOf"] for key in each["properties"]}
    assert terms == set(schema["then"]["properties"]) | described | rules


def test_every_operation_and_body_of_the_server_is_on_its_page() -> None:
    described = MADE["openapi"]()
    text = MADE["http"](described)
    anchors = set(re.findall(r"^### .*\{ #([\w-]+) \}$", text, flags=re.MULTILINE))
    operations = {each["operationId"] for item in described["paths"].values() for each in item.values()}
    assert anchors == operations | {f"body-{name.lower()}" for name in described["components"]["schemas"]}
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= anchors


def test_every_page_is_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages |= {f"notebooks/{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    pages |= {place for place, _ in MADE["pages"]() if place.endswith(".md")}
    assert pages == set(re.findall(r"[\w/-]+\.md", nav))


def test_what_moved_is_where_its_old_address_leads() -> None:
    moved = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["extra"]["moved"]
    for old, new in moved.items():
        page, _, anchor = new.partition("#")
        assert not (ROOT / "docs" / f"{old.partition('#')[0]}.md").exists()
        content = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", content, flags=re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w-]", "", each.lower().replace(" ", "-")) for each in headings}, new


def test_the_readme_fits_on_a_screen_and_its_pictures_are_there_and_small() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 75
    pictures = re.findall(r'<img src="([^"]+)"', page)
    assert len(pictures) == 1
    for picture in pictures:
        content = (ROOT / picture).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 150_000


GLOSSARY = re.findall(
    r"^\| ([^|]+) \| [^|]+ \| `([\w.]+)` \| ([^|]+) \|$",
    (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_the_glossary_is_sorted_and_says_each_term_once_in_one_sentence() -> None:
    terms = [term.casefold() for term, _, _ in GLOSSARY]
    assert len(terms) >= 60
    assert terms == sorted(set(terms))
    assert all(re.fullmatch(r"[^.]+\.", meaning) for _, _, meaning in GLOSSARY)


@pytest.mark.parametrize(("term", "name"), [(term, name) for term, name, _ in GLOSSARY])
def test_what_the_glossary_names_is_there(term: str, name: str) -> None:
    assert name.startswith("hedgerow."), term
    assert pkgutil.resolve_name(name) is not None


def test_every_row_of_the_glossary_is_read() -> None:
    rows = [line for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines() if "`" in line]
    assert len(rows) == len(GLOSSARY)
