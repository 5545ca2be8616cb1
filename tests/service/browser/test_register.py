"""The form of a domain and its text, either of which changes the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from hedgerow.domain import domain_from_mapping, parsed_text
from tests.service.serving import Server

TEXT = """\
attributes:
  sex: [F, M]
  age: {min: 0, max: 99, levels: [10]}
  job: {values: [clerk, "night shift"], missing: true}
  hours: {edges: [0, 20, 40, 80], whole: true, other: true}
  admitted: {min: "2020-01-01", max: "2024-12-31"}
  pay: {min: 0, max: 999, bins: 10}
constraints:
  - {impossible: "age < 15 and job = 'clerk'"}
"""


def text_of(page: Page) -> Locator:
    return page.get_by_label("What records could hold")


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=name, exact=True)


def test_a_domain_is_entered_in_a_form_and_registered(
    server: Server, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    table = tmp_path / "guided.csv"
    rows = "".join(f"{'FM'[i % 2]},{i % 90},{'ab'[i % 3 // 2]}\n" for i in range(900))
    table.write_text(f'sex,age,"the job"\n{rows}', encoding="utf-8")
    page = open_page(server.token, "#/register")
    page.get_by_label("Name", exact=True).fill("guided")
    page.get_by_label("File", exact=True).set_input_files(table)
    expect(page.locator(".domain .card .name")).to_have_text(["sex", "age", "the job"])
    expect(text_of(page)).to_have_value("")  # the names are taken from the file, and nothing else
    page.get_by_label("sex holds").select_option("listed")
    column(page, "sex").get_by_label("Values", exact=True).fill("F\nM")
    page.get_by_label("age holds").select_option("whole")
    column(page, "age").get_by_label("First").fill("0")
    column(page, "age").get_by_label("Last").fill("99")
    column(page, "age").get_by_label("Coarser levels").fill("10")
    page.get_by_label("the job holds").select_option("listed")
    column(page, "the job").get_by_label("Values", exact=True).fill("a\nb")
    column(page, "the job").get_by_label("Cells may be empty").check()
    page.get_by_text("Rules that no record breaks").click()
    page.get_by_role("button", name="Add: impossible").click()
    page.get_by_label("Impossible is").fill("age > 95 and sex = 'M'")
    expected = {
        "attributes": {
            "sex": ["F", "M"],
            "age": {"min": 0, "max": 99, "levels": [10]},
            "the job": {"values": ["a", "b"], "missing": True},
        },
        "constraints": [{"impossible": "age > 95 and sex = 'M'"}],
    }
    assert parsed_text(text_of(page).input_value()) == expected
    expect(page.locator(".domain .hint[aria-live]")).to_contain_text("600 cells, 588 of them")
    page.get_by_role("combobox", name="As").select_option("json")
    assert json.loads(text_of(page).input_value()) == expected
    page.get_by_label("epsilon", exact=True).fill("4")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", name="guided")).to_be_visible()
    told = server.call("GET", "datasets/guided")
    assert [each["name"] for each in told["attributes"]] == ["sex", "age", "the job"]
    assert told["constraints"] == ["impossible: age > 95 and sex = 'M'"]


def test_a_text_fills_the_form_and_a_change_of_the_form_keeps_the_rest_of_it(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.token, "#/register")
    text_of(page).fill(TEXT)
    expect(page.locator(".domain .card .name")).to_have_count(7)  # six columns and a rule
    kinds = page.locator(".domain .card select").evaluate_all("all => all.map((each) => each.value)")
    assert kinds == ["listed", "whole", "listed", "bins", "days", "hand"]
    assert column(page, "job").get_by_label("Values", exact=True).input_value() == "clerk\nnight shift"
    assert page.get_by_label("Impossible is").input_value() == "age < 15 and job = 'clerk'"
    column(page, "age").get_by_label("Last").fill("109")
    column(page, "sex").get_by_label("Cells may be empty").check()
    page.get_by_role("button", name="Remove the column admitted").click()
    found = parsed_text(text_of(page).input_value())
    expected: dict[str, Any] = parsed_text(TEXT)
    expected["attributes"]["age"]["max"] = 109
    expected["attributes"]["sex"] = {"values": ["F", "M"], "missing": True}
    del expected["attributes"]["admitted"]
    assert found == expected
    assert domain_from_mapping(found).names == ("sex", "age", "job", "hours", "pay")
    text_of(page).fill("sex: [F, M")
    assert page.get_by_label("sex holds").evaluate("each => each.closest('[inert]') !== null")  # until the text is read
    expect(page.locator(".domain .hint[aria-live]")).to_contain_text("is not YAML")
    text_of(page).fill('{"sex": ["F", "M"], "n": {"min": 1, "max": 3}}')
    expect(page.locator(".domain .hint[aria-live]")).to_contain_text("6 cells")


@pytest.mark.parametrize(
    "spec",
    [
        ["a", "b"],
        [1, 2.5, True, "yes", "on", "a, b", "x: y", "# no", "", " "],
        {"values": ["a"], "missing": True, "other": "rest"},
        {"min": -3, "max": 5, "levels": [2]},
        {"min": 0, "max": 9, "missing": "?"},
        {"edges": [0, 0.5, 1e-7, 1e21], "whole": False},
        {"min": "2020-01-01", "max": "2020-12-31"},
        {"min": "2020-01", "max": "2020-12"},
        {"min": 0, "max": 99, "levels": [5, {"stage": {"child": ["0..14"], "adult": ["15..99"]}}]},
        {"values": ["m", "f"], "synonyms": {"m": "male"}, "case": "fold"},
        {"edges": [0, 1, 2], "levels": "none"},
        2,
    ],
    ids=json.dumps,
)
def test_entries_come_out_of_the_form_and_of_yaml_as_they_went_in(open_page: Callable[..., Page], spec: Any) -> None:
    ours = """async (spec) => {
        const { asYaml, columnOf, specOf } = await import("./columns.js");
        const out = specOf(columnOf("a b", spec));
        const beside = { constraints: [{ impossible: "c = 1" }], order: ["c"] };
        return [out, asYaml({ "a b": out, c: [1] }), asYaml({ attributes: { yes: out }, ...beside })];
    }"""
    out, flat, nested = open_page().evaluate(ours, spec)
    kept = {name: value for name, value in spec.items() if value is not False} if isinstance(spec, dict) else spec
    assert out == (spec if "synonyms" in json.dumps(spec) or "none" in json.dumps(spec) else kept)
    assert parsed_text(flat) == {"a b": out, "c": [1]}
    assert parsed_text(nested) == {"attributes": {"yes": out}, "constraints": [{"impossible": "c = 1"}], "order": ["c"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,c\n1,2,3\n", ["a", "b", "c"]),
        ('"a, x";"say ""b""";c\r\n1;2;3', ["a, x", 'say "b"', "c"]),
        ("\ufeffa\tb\n", ["a", "b"]),
        ('"two\nlines",b\n', ["two\nlines", "b"]),
        ("alone", ["alone"]),
        ("", []),
    ],
)
def test_the_first_row_of_a_file_has_the_names(open_page: Callable[..., Page], text: str, names: list[str]) -> None:
    found = open_page().evaluate("async (text) => (await import('./columns.js')).namesIn(text)", text)
    assert found == names
