"""The published JSON schemas say what the code reads and writes."""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from typer.testing import CliRunner

import hedgerow
from hedgerow.domain import Domain, OpenDomain, domain_from_mapping, domain_schema, domain_to_mapping, parsed
from hedgerow.errors import DomainError
from hedgerow.privacy import Event, Question
from tests.cli.command_line import app
from tests.domain.strategies import rich_domains

ROOT = Path(__file__).resolve().parent.parent
RELEASE = json.loads((ROOT / "src/hedgerow/release/release.schema.json").read_text(encoding="utf-8"))
DOMAINS = jsonschema_rs.validator_for(domain_schema())
RELEASES = jsonschema_rs.validator_for(RELEASE)
EXAMPLES = [*ROOT.glob("examples/**/*domain*.json"), *ROOT.glob("examples/**/*domain*.yaml")]
SAVED = [*ROOT.glob("tests/release/version2/*.release")]

GOOD: list[dict[str, Any]] = [
    {"age": 3, "sex": ["F", "M"]},
    {"attributes": {"min": {"min": 0, "max": 9, "levels": [2, {"part": {"low": ["0..3"], "high": ["4..9"]}}]}}},
    {"cost": {"min": 0, "max": 99, "whole": True, "bins": {"log": 4}, "points": [0, 99], "type": "int16"}},
    {"cost": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}, "job": {"values": {"learn": 9}}},
    {"job": {"values": {"learn": 2, "of": ["aa", "ab", "b"], "prefix": [1]}}},
    {"day": {"min": "2024-01-01", "max": "2024-12-31", "bins": "month", "levels": "quarter", "format": "%d.%m.%Y"}},
    {
        "day": {"min": "2024-01-01", "max": "2024-12-31"},
        "stay": {"from": "day", "to": "left", "min": 0, "max": 9, "unit": "d"},
    },
    {
        "at": {
            "min": "2024-01-01T00:00",
            "max": "2024-01-31T23:45",
            "step": "15min",
            "zone": "Europe/Berlin",
            "round": True,
        }
    },
    {"t": {"min": 35.0, "max": 43.0, "step": 0.1, "missing": "none"}, "w": {"edges": [0, 1, 2.5], "levels": "none"}},
    {"sex": {"values": ["F", "M"], "trim": True, "case": "fold", "unicode": "NFC", "synonyms": {"female": "F"}}},
    {
        "attributes": {"age": {"min": 0, "max": 9}, "area": ["a", "b"]},
        "derived": {
            "dense": {"from": "area", "table": {"a": 1, "b": 2}},
            "group": {"cases": {"young": "age < 5", "old": "age >= 5"}, "column": False},
        },
        "constraints": [
            {"impossible": "age < 5 and area = 'b'", "says": "no child in b"},
            {"if": "age > 8", "then": "area = 'a'"},
            {"determines": ["age", "area"], "table": [[number, "a"] for number in range(10)]},
        ],
        "ignore": ["id"],
        "order": ["area", "age"],
        "draft": True,
    },
]
BAD: list[dict[str, Any]] = [
    {"attributes": {"age": {"min": 0}}},
    {"attributes": {"age": {"min": 0, "max": 9, "values": [1, 2]}}},
    {"attributes": {"age": {"min": 0, "max": 9, "points": [3]}}},
    {"attributes": {"age": {"minimum": 0, "max": 9}}},
    {"attributes": {"age": {"min": 0, "max": 9}}, "rules": []},
    {"attributes": {"age": 1}},
    {"attributes": {"age": {"min": 0, "max": 9, "bins": {"sqrt": 3}}}},
    {"attributes": {"age": {"min": 0, "max": 9}}, "constraints": [{"never": "age < 3"}]},
    {"attributes": {"age": {"min": 0, "max": 9}}, "constraints": ["age < 3"]},
    {"attributes": {"age": {"min": 0, "max": 9}}, "derived": {"old": {"from": "age"}}},
    {"attributes": {"sex": {"values": ["F", "M"], "case": "upper"}}},
    {"attributes": {"sex": {"values": "F"}}},
    {"attributes": {"age": {"min": 0, "max": 9}}, "draft": "yes"},
]


def test_a_domain_entry_has_the_options_that_are_read() -> None:
    with pytest.raises(DomainError) as refused:
        domain_from_mapping({"age": {"minimum": 0, "max": 9}})
    known = refused.value.remedy.partition("options: ")[2]
    assert known.split(", ") == list(domain_schema()["definitions"]["options"]["properties"])


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_shipped_domain_files_fit(file: Path) -> None:
    DOMAINS.validate(parsed(file))


@pytest.mark.parametrize("content", GOOD, ids=",".join)
def test_what_is_read_fits(content: dict[str, Any]) -> None:
    OpenDomain(content) if "learn" in str(content) else domain_from_mapping(content)
    DOMAINS.validate(content)


@pytest.mark.parametrize("content", BAD, ids=str)
def test_what_does_not_fit_is_not_read(content: dict[str, Any]) -> None:
    assert not DOMAINS.is_valid(content)
    with pytest.raises(DomainError):
        domain_from_mapping(content)


@given(rich_domains())
def test_what_is_written_fits(domain: Domain) -> None:
    DOMAINS.validate(json.loads(json.dumps(domain_to_mapping(domain))))


def content_of(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zipfile.ZipFile(file).read("release.json"))
    DOMAINS.validate(content["content"]["domain"])
    return content


@pytest.mark.parametrize("file", SAVED, ids=lambda file: file.name)
def test_saved_releases_fit(file: Path) -> None:
    RELEASES.validate(content_of(file))


BITS = hedgerow.Domain([hedgerow.IntegerRange(name, 0, 1) for name in "abc"])
DRAW = np.random.default_rng(0)
ROWS = pa.table({name: DRAW.integers(0, 2, 2_000) for name in "abc"})
LINE = domain_from_mapping({"x": {"min": 0, "max": 99}})
POINTS = pa.table({"x": DRAW.integers(0, 30, 2_000)})
APPROXIMATE = hedgerow.ApproxDP(1.0, 1e-9)


@pytest.mark.parametrize(
    ("run", "domain", "rows", "workload", "budget"),
    [
        (hedgerow.MWEM(), BITS, ROWS, "marginals:2", hedgerow.ZCDP(0.1)),
        (hedgerow.MWEM(), LINE, POINTS, "ranges:x", hedgerow.GDP(0.5, "replace")),
        (hedgerow.MWEM(rounds=2), BITS, ROWS, "where: a = 1 and b = 0, c = 1", hedgerow.PureDP(1.0)),
        (hedgerow.FourierMeasurement(), BITS, ROWS, "marginals:2", APPROXIMATE),
        (hedgerow.IndependentNoise("laplace"), BITS, ROWS, "marginals:1", hedgerow.PureDP(1.0)),
        (hedgerow.DualQuery(), BITS, ROWS, "marginals:1", hedgerow.ApproxDP(5.0, 1e-6)),
        (hedgerow.SmallDB(), BITS, ROWS, "marginals:1", hedgerow.PureDP(1.0)),
        (hedgerow.OfflinePMW(), BITS, ROWS, "marginals:1", APPROXIMATE),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "run") else "",
)
def test_releases_of_every_mechanism_fit(
    run: Any, domain: Domain, rows: pa.Table, workload: str, budget: Any, tmp_path: Path
) -> None:
    table = hedgerow.read_table(rows, domain)
    made = run.run(table, hedgerow.Workload.parse(workload, domain), budget)
    made.save(tmp_path / "made.release")
    RELEASES.validate(content_of(tmp_path / "made.release"))


def test_an_event_has_the_fields_that_are_written() -> None:
    now, of_format_2 = (set(each["properties"]) for each in RELEASE["definitions"]["event"]["oneOf"])
    assert now == {each.name for each in fields(Event)} - {"format"}
    assert of_format_2 == now - {"question", "earlier", "bound"} | {"target"}


def test_a_question_has_the_fields_that_are_written() -> None:
    told = {each["properties"]["kind"]["const"]: each for each in RELEASE["definitions"]["question"]["oneOf"]}
    kinds = {each.kind: each for each in Question.__subclasses__()}
    assert told.keys() == kinds.keys()
    for kind, each in kinds.items():
        assert set(told[kind]["properties"]) - {"kind"} == {field.name for field in fields(each)}


@pytest.mark.parametrize("lost", ["guarantee", "ledger", "budget", "provenance", "total"])
def test_a_release_without_a_part_does_not_fit(lost: str) -> None:
    content = content_of(SAVED[0])
    del content["content"][lost]
    assert not RELEASES.is_valid(content)


def test_the_command_prints_the_schema() -> None:
    for more in ((), ("--quiet",), ("--json",)):
        done = CliRunner().invoke(app, ["domain", "--schema", *more])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout) == domain_schema()
    assert CliRunner().invoke(app, ["domain", "--schema", "people.csv"]).exit_code == 2
    assert CliRunner().invoke(app, ["domain", "--schema", "--public"]).exit_code == 2
