"""Levels, derived attributes and constraints in domain files: what is read, what is written, what is refused."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from hedgerow import write_domain
from hedgerow.domain import (
    Binned,
    Categorical,
    Derived,
    Domain,
    IntegerRange,
    domain_from_mapping,
    domain_to_mapping,
    feasible_records,
    read_domain,
    width_level,
)
from hedgerow.errors import DomainError

EXAMPLES = Path(__file__).parents[2] / "examples"
ATTRIBUTES = """
attributes:
  sex: [F, M]
  age: {min: 0, max: 99, missing: "?", levels: [5, {stage: {child: [0..14], adult: ["15-99"]}}]}
  town: {values: [a, b, c, d], other: true, levels: {region: {north: [a, b], south: [c, d]}}}
  code: {values: [A01, A02, B01, C11], levels: {prefix: [2, 1]}}
  day: {values: [2020-01-31, 2020-02-01, 2020-04-01, 2021-01-01], levels: [month, quarter, year]}
  income: {edges: [-10, 0, 1, 100, 1000], whole: true, missing: N, levels: {part: {edges: [-10, 1, 1000]}}}
  hours: {min: 0, max: 99, levels: none}
  n: {min: 0, max: 99}
"""
REST = """
derived:
  density: {from: town, table: {a: 1.5, b: 1.5, c: 2872.7, d: 3, other: 0}}
  size: {from: [town, sex], table: tables/size.csv, column: false}
  young: {cases: {"yes": "age < 10 and sex = 'F'", "no": "not (age < 10 and sex = 'F') or age is null"}}
  weight: {from: age.stage, table: [[child, 2], [adult, 3]], values: [1, 2, 3], missing: "?"}
constraints:
  - impossible: "age < 15 and income > 0"
  - {if: "age.stage = 'child'", then: "income is null", says: "children have no income"}
  - {determines: [code, town], table: {A01: a, A02: a, B01: b, C11: other}}
  - {impossible: "n.10 < 20 and young = 'yes'"}
"""


def read(folder: Path, text: str) -> Domain:
    (folder / "d.yaml").write_text(text, encoding="utf-8")
    return read_domain(folder / "d.yaml")


def full(folder: Path) -> Domain:
    rows = "".join(f"{sex},{town},{'007' if sex == 'F' else 'x'}\n" for sex in "FM" for town in [*"abcd", "other"])
    (folder / "tables").mkdir()
    (folder / "tables" / "size.csv").write_text(f"sex,town,size\n{rows}", encoding="utf-8")
    return read(folder, ATTRIBUTES + REST)


def test_all_sections(tmp_path: Path) -> None:
    domain = full(tmp_path)
    names = [each.name for each in domain.declared]
    assert names[:5] == ["age.5", "age.stage", "town.region", "code.2", "code.1"]
    assert names[5:] == ["day.month", "day.quarter", "day.year", "income.part", "density", "size", "young", "weight"]
    assert [each.name for each in domain.derived[len(names) :]] == ["n.10"]  # hours have none
    assert domain["density"].labels == ("1.5", "2872.7", "3", "0")
    assert domain["size"].labels == ("007", "x")
    size, young = domain.function("size"), domain.function("young")
    assert size is not None
    assert young is not None
    assert (size.sources, size.column, young.sources, young.column) == (("sex", "town"), False, ("sex", "age"), True)
    assert size.codes.tolist() == [[0] * 5, [1] * 5]
    assert young.codes[0, 9:11].tolist() == [0, 1]
    weight = domain.function("weight")
    assert weight is not None
    assert weight.sources == ("age",)
    assert [weight.attribute.label(code) for code in weight.codes[[0, 14, 15, 100]].tolist()] == ["2", "2", "3", "?"]
    texts = [each.text for each in domain.constraints]
    assert texts[:3] == ["impossible: age < 15 and income > 0", "children have no income", "code determines town"]
    assert feasible_records(domain) is not None


def test_what_is_written_holds_its_tables(tmp_path: Path) -> None:
    domain = full(tmp_path)
    written = domain_to_mapping(domain)
    assert domain_from_mapping(json.loads(json.dumps(written))) == domain
    attributes = written["attributes"]
    assert attributes["age"]["levels"] == [5, {"stage": {"child": ["0..14"], "adult": ["15..99"]}}]
    assert attributes["day"]["levels"] == ["month", "quarter", "year"]
    assert attributes["hours"]["levels"] == "none"
    assert "levels" not in attributes["n"]
    assert written["constraints"][0] == {"impossible": "age < 15 and income > 0"}
    assert written["constraints"][3] == {  # default levels are named nowhere, as they are in no file
        "impossible": "sex = 'F' and age between 0 and 9 and n between 0 and 19",
        "says": "impossible: n.10 < 20 and young = 'yes'",
    }
    for name in ("e.yaml", "e.json"):
        write_domain(domain, tmp_path / name)
        assert read_domain(tmp_path / name) == domain


def test_functions_that_entries_of_attributes_cannot_hold_stay_in_order() -> None:
    age, sex = IntegerRange("age", 0, 9), IntegerRange("sex", 0, 1)
    odd = Derived(Categorical("odd", ("no", "yes")), ("age",), np.arange(10) % 2)
    cases = [
        [width_level(age, 2), odd, width_level(age, 5)],
        [width_level(age, 5), width_level(age, 2)],
        [width_level(age, 5, "of age"), width_level(age, 5)],
        [Derived(IntegerRange("age.3", 0, 3), ("age",), np.arange(10) // 3)],
        [Derived(Categorical("sex.x", ("f", "m")), ("sex",), [0, 1]), width_level(age, 5)],
    ]
    for declared in cases:
        domain = Domain((age, sex), declared)
        assert domain_from_mapping(domain_to_mapping(domain)) == domain


def test_a_named_level_stays_named(tmp_path: Path) -> None:
    entry = {"impossible": "\"age.5\" < 20 and sex = 'M' and density > 2"}
    domain = read(tmp_path, f"{ATTRIBUTES}derived: {{density: {{from: sex, table: {{F: 1, M: 3}}}}}}")
    written = domain_to_mapping(domain) | {"constraints": [entry]}
    assert domain_to_mapping(domain_from_mapping(written))["constraints"] == [entry]


def test_levels_from_files(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code,letter,part\nA1,A,x\nA2,A,x\nB1,B,y\n", encoding="utf-8")
    (tmp_path / "parents.csv").write_text("code,parent\nA1,A\nA2,A\nB1,B\nA,x\nB,y\n", encoding="utf-8")
    for name, levels in (("codes", ["code.letter", "code.part"]), ("parents", ["code.parent", "code.parent2"])):
        domain = read(tmp_path, f"{{attributes: {{code: {{values: [A1, A2, B1], levels: {{table: {name}.csv}}}}}}}}")
        assert [each.name for each in domain.declared] == levels
        assert domain.declared[1].attribute.labels == ("x", "y")
        assert domain_from_mapping(domain_to_mapping(domain)) == domain


def test_domains_without_any_of_this_are_written_as_before() -> None:
    domain = Domain((IntegerRange("age", 0, 99), Binned("x", (0, 1, 2)), Categorical("c", ("a", "b"), missing="?")))
    assert domain_to_mapping(domain) == {
        "attributes": {
            "age": {"min": 0, "max": 99},
            "x": {"edges": [0, 1, 2]},
            "c": {"values": ["a", "b"], "missing": "?"},
        }
    }


BASE = "attributes: {age: {min: 0, max: 99}, area: {values: [a, b], missing: true}, region: [s, n]}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "attributes: {age: {min: 0, max: 9, levels: [2, 3]}}",
            "'2' and '3' are apart in it and together in the finer",
        ),
        ("attributes: {age: {min: 0, max: 9, levels: []}}", "'levels' is empty"),
        ("attributes: {age: {min: 0, max: 9, levels: [weeks]}}", "'weeks' describes no level"),
        ("attributes: {age: {min: 0, max: 9, levels: {stage: 5}}}", "'stage' has neither groups nor edges"),
        ("attributes: {age: {min: 0, max: 9, levels: {stage: {a: [[0]]}}}}", "lists no plain values"),
        ("attributes: {age: {min: 0, max: 9, levels: {stage: {edges: [x]}}}}", "is not a number"),
        ("attributes: {age: {min: 0, max: 9, levels: {table: none.csv}}}", "'none.csv' cannot be read (No such file"),
        ("attributes: {c: {values: [a, b, c], levels: {table: circle.csv}}}", "in a circle: x < y < x"),
        ("attributes: {c: {values: [a, b, c], levels: {table: gap.csv}}}", "the value 'c' of 'c' has no parent"),
        ("attributes: {c: {values: [a, b, c], levels: {table: twice.csv}}}", "'a' has two parents, 'x' and 'y'"),
        (
            "attributes: {c: {values: [a, b, c], levels: {table: short.csv}}}",
            "line 3 of 'short.csv' has another number",
        ),
        ("attributes: {c: {values: [a, b, c], levels: {table: empty.csv}}}", "'empty.csv' has no rows"),
        (f"{BASE}derived: [1]", "'derived' does not map names"),
        (f"{BASE}derived: {{d: {{from: area}}}}", "'d' has neither 'table' nor 'cases'"),
        (f"{BASE}derived: {{d: {{table: {{a: 1}}, cases: {{}}}}}}", "'d' has both 'table' and 'cases'"),
        (f"{BASE}derived: {{d: {{table: {{a: 1}}}}}}", "'d' does not say what it is made from"),
        (f"{BASE}derived: {{d: {{from: are, table: {{a: 1}}}}}}", "made from 'are', which is no attribute"),
        (f"{BASE}derived: {{d: {{from: area, table: {{a: 1, b: 2}}}}}}", "no value for area = '?'"),
        (f"{BASE}derived: {{d: {{from: area, table: {{a: 1, c: 2}}}}}}", "'area' has no value 'c'"),
        (f"{BASE}derived: {{d: {{from: area, table: [[a, 1], [a, 2]]}}}}", "gives two values for a"),
        (f"{BASE}derived: {{d: {{from: [area, region], table: {{a: 1}}}}}}", "'table' is none that gives 'd'"),
        (f"{BASE}derived: {{d: {{from: area, table: gap.csv}}}}", "'gap.csv' has no column 'area'"),
        (f"{BASE}derived: {{d: {{from: area, table: {{a: 1, b: 2, '?': 1}}, column: 3}}}}", "neither true nor false"),
        (
            f"{BASE}derived: {{d: {{from: area, table: {{a: 1, b: 2, '?': 3}}, values: [1, 2]}}}}",
            "'d' has no value '3'",
        ),
        (f"{BASE}derived: {{d: {{cases: {{x: age < 5, y: age > 5}}}}}}", "a record with age = '5' fits none"),
        (f"{BASE}derived: {{d: {{cases: [age < 5]}}}}", "'cases' does not map values to conditions"),
        (f"{BASE}derived: {{d: {{from: area, cases: {{x: age < 5, y: age >= 5}}}}}}", "about more than area"),
        (f"{BASE}derived: {{age: {{cases: {{x: age < 5, y: age >= 5}}}}}}", "'age' is declared twice"),
        (f"{BASE}constraints: {{impossible: x}}", "'constraints' is not a list"),
        (f"{BASE}constraints: [{{impossible: area = 'a', if: x}}]", "has none of the known forms"),
        (f"{BASE}constraints: [age < 5]", "has none of the known forms"),
        (f"{BASE}constraints: [{{impossible: 5}}]", "is no text"),
        (f"{BASE}constraints: [{{impossible: wage < 5}}]", "there is no attribute 'wage'"),
        (f"{BASE}constraints: [{{if: age < 5, then: wage < 5}}]", "there is no attribute 'wage'"),
        (f"{BASE}constraints: [{{determines: area, table: {{}}}}]", "'determines' holds 'area'"),
        (f"{BASE}constraints: [{{determines: [area, d], table: {{}}}}]", "names no attribute 'd'"),
        (f"{BASE}constraints: [{{determines: [area, region], table: {{a: s, b: n}}}}]", "no value for area = '?'"),
        (f"{BASE}constraints: [{{determines: [area, region], table: {{a: x}}}}]", "'region' has no value 'x'"),
        (f"{BASE}constraints: [{{impossible: age >= 0}}]", "'impossible: age >= 0' leaves no record"),
        (
            f"{BASE}constraints: [{{impossible: age < 5}}, {{impossible: region = 's'}}, {{impossible: age >= 5}}]",
            "no record can exist: 'impossible: age < 5' and 'impossible: age >= 5' contradict each other",
        ),
        (f"{BASE}levels: {{}}", "'levels' is given beside 'attributes'"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "circle.csv").write_text("c,parent\na,x\nb,x\nc,x\nx,y\ny,x\n", encoding="utf-8")
    (tmp_path / "gap.csv").write_text("c,parent\na,x\nb,x\n", encoding="utf-8")
    (tmp_path / "twice.csv").write_text("c,parent\na,x\nb,x\nc,x\na,y\n", encoding="utf-8")
    (tmp_path / "short.csv").write_text("c,parent\na,x\nb\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("c,parent\n", encoding="utf-8")
    with pytest.raises(DomainError) as caught:
        read(tmp_path, text)
    assert words in caught.value.message
    assert str(tmp_path / "d.yaml") in caught.value.message
    assert caught.value.remedy


def test_only_domain_files_name_files() -> None:
    for content in (
        {"attributes": {"c": {"values": ["a", "b"], "levels": {"table": "/etc/passwd"}}}},
        {"attributes": {"c": ["a", "b"]}, "derived": {"d": {"from": "c", "table": "/etc/passwd"}}},
        {"attributes": {"c": ["a", "b"], "d": 2}, "constraints": [{"determines": ["c", "d"], "table": "/etc/passwd"}]},
    ):
        with pytest.raises(DomainError, match="names a file"):
            domain_from_mapping(content)


def test_the_american_community_survey() -> None:
    domain = read_domain(EXAMPLES / "acs" / "acs.domain.yaml")
    assert (len(domain), len(domain.constraints)) == (22, 20)
    assert [each.name for each in domain.declared if each.column] == ["DENSITY", "INDP_CAT"]
    assert domain["INDP"].size == 271
    feasible = feasible_records(domain)
    assert feasible is not None
    assert 0.03 < feasible / domain.size < 0.04
    assert domain_from_mapping(domain_to_mapping(domain)) == domain


def test_the_file_of_the_survey_is_made_from_its_dictionary(tmp_path: Path) -> None:
    runpy.run_path(str(EXAMPLES / "acs" / "make_domain.py"))["main"](tmp_path)
    for name in ("acs.domain.yaml", "industries.csv"):
        assert (tmp_path / name).read_bytes() == (EXAMPLES / "acs" / name).read_bytes()
