"""Domains from names, types and bounds alone: no cell decides anything, and what is lacking is told at once."""

from __future__ import annotations

import decimal
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hedgerow.data import automatic_domain, read_table
from hedgerow.data.automatic import BINS, MOST_VALUES
from hedgerow.domain import OpenDomain
from hedgerow.errors import ConfigError, DomainError, UnreadableTableError

LABELS = {"values": {"learn": MOST_VALUES}}
LEARNT = {"bins": {"learn": BINS}}
TABLE = pa.table(
    {
        "job": ["nurse", None],
        "kind": pa.array(["a", "b"]).dictionary_encode(),
        "well": [True, None],
        "age": pa.array([30, 40], pa.int16()),
        "cost": [1.5, 2.5],
        "price": [decimal.Decimal("1.50"), None],
        "born": [date(1990, 1, 1), None],
        "seen": [datetime(2020, 1, 1, 12), None],
        "at": [time(12, 30), None],
        "stay": [timedelta(hours=3), None],
        "nested": [[1], [2]],
    }
)
BOUNDS = {
    "age": ("0", "120"),
    "cost": ("0", "1e6"),
    "price": ("0", "99.99"),
    "born": ("1900-01-01", "2020-12-31"),
    "seen": ("2020-01-01", "2020-12-31"),
    "stay": ("PT0H", "P30D"),
}
EXPECTED: dict[str, Any] = {
    "job": LABELS,
    "kind": LABELS,
    "well": {"values": [False, True], "missing": True},
    "age": {"min": 0, "max": 120, "missing": True, "whole": True, **LEARNT, "points": [0, 120]},
    "cost": {"min": 0.0, "max": 1e6, "missing": True, **LEARNT},
    "price": {"min": 0.0, "max": 99.99, "missing": True, **LEARNT},
    "born": {"min": "1900-01-01", "max": "2020-12-31", "missing": True, **LEARNT},
    "seen": {"min": "2020-01-01T00:00", "max": "2020-12-31T23:59", "missing": True, "step": "1min", **LEARNT},
    "at": {"min": "00:00", "max": "23:59", "missing": True, "step": "1min", **LEARNT},
    "stay": {"min": "PT0H", "max": "P30D", "missing": True, "step": "1min", **LEARNT},
}


def test_each_type_has_its_entry_and_can_be_read() -> None:
    content = automatic_domain(TABLE, bounds=BOUNDS, trust_types=True)
    assert content == {"trusted_types": True, "attributes": EXPECTED, "ignore": ["nested"]}
    wanted = OpenDomain(content)
    assert list(wanted.values) == ["job", "kind"]
    assert read_table(TABLE, wanted.fine).total() == 2


TYPES = {
    "well": "bool",
    "age": "int",
    "cost": "number",
    "price": "number",
    "born": "date",
    "seen": "datetime",
    "at": "time",
    "stay": "duration",
}


def test_types_that_are_said_make_the_same_and_nothing_is_trusted() -> None:
    content = automatic_domain(TABLE.drop(["nested"]), bounds=BOUNDS, types=TYPES)
    assert content == {"attributes": EXPECTED}
    assert not OpenDomain(content).fine.trusted_types
    vouched = automatic_domain(TABLE, bounds=BOUNDS, types={"age": "int"}, trust_types=True)
    assert OpenDomain(vouched).outline.trusted_types
    assert OpenDomain(vouched).with_bins({name: [] for name in OpenDomain(vouched).bins}).trusted_types


@pytest.mark.parametrize(
    ("kind", "bounds", "entry"),
    [
        ("number:0.5", ("0", "9"), {"min": 0.0, "max": 9.0, "missing": True, "step": 0.5}),
        (
            "date:%d.%m.%Y",
            ("2020-01-01", "2020-01-31"),
            {"min": "2020-01-01", "max": "2020-01-31", "missing": True, "format": "%d.%m.%Y"},
        ),
        (
            "datetime:1h:%d.%m.%Y %H:%M",
            ("2020-01-01", "2020-01-02"),
            {
                "min": "2020-01-01T00:00",
                "max": "2020-01-02T23:00",
                "missing": True,
                "step": "1h",
                "format": "%d.%m.%Y %H:%M",
            },
        ),
        ("time:1h", ("08:00", "17:00"), {"min": "08:00", "max": "17:00", "missing": True, "step": "1h"}),
        ("duration:1d", ("P0D", "P9D"), {"min": "P0D", "max": "P9D", "missing": True, "step": "1d"}),
        ("text", None, LABELS),
        ("bool", None, {"values": [False, True], "missing": True}),
    ],
)
def test_a_type_may_have_a_step_and_a_form(kind: str, bounds: tuple[str, str] | None, entry: dict[str, Any]) -> None:
    found = automatic_domain(pa.table({"x": ["1"]}), types={"x": kind}, bounds={} if bounds is None else {"x": bounds})
    assert found == {"attributes": {"x": entry}}


@pytest.mark.parametrize(
    ("types", "bounds", "message"),
    [
        ({"x": "integer"}, {}, "the type 'integer' of 'x' is unknown"),
        ({"x": "int:5"}, {}, "int has no step"),
        ({"x": "text:%d"}, {}, "text has no form"),
        ({"x": "date:1d"}, {}, "date has no step"),
        ({"x": "number:%d"}, {}, "number has no form"),
        ({"x": "text"}, {"x": ("0", "1")}, "which is text"),
        ({"x": "int"}, {}, "bounds are not known in public: x"),
        ({"x": "int"}, {"x": ("0", "1.5")}, "no bounds of whole numbers"),
        ({"y": "int"}, {}, "no column 'y'"),
    ],
)
def test_wrong_types_are_refused(types: dict[str, str], bounds: dict[str, tuple[str, str]], message: str) -> None:
    with pytest.raises((ConfigError, DomainError), match=message):
        automatic_domain(pa.table({"x": [1]}), types=types, bounds=bounds)


def test_views_and_frames_declare_nothing(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("age\n3\n")
    with duckdb.connect(str(tmp_path / "people.db")) as base:
        base.execute(f"create view ages as select * from read_csv('{tmp_path / 'ages.csv'}')")
    place = f"duckdb:{tmp_path / 'people.db'}#ages"
    assert automatic_domain(place) == {"attributes": {"age": LABELS}}
    trusted = automatic_domain(place, trust_types=True, bounds={"age": ("0", "9")})
    assert trusted == {"trusted_types": True, "attributes": {"age": {"min": 0, "max": 9, "missing": True}}}


def test_no_cell_decides_anything(tmp_path: Path) -> None:
    """Tables of the same types, other rows and other numbers of rows."""
    expected = automatic_domain(TABLE, bounds=BOUNDS)
    for other in (TABLE.slice(1), pa.concat_tables([TABLE] * 50), TABLE.slice(0, 0)):
        pyarrow.parquet.write_table(other.drop(["nested", "stay"]), tmp_path / "people.parquet")
        bounds = {name: ends for name, ends in BOUNDS.items() if name != "stay"}
        found = automatic_domain(str(tmp_path / "people.parquet"), bounds=bounds)
        wanted = {name: entry for name, entry in expected["attributes"].items() if name not in ("stay", "nested")}
        assert found["attributes"] == wanted


def test_databases_declare_types_and_frames_may_be_trusted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"job": ["a"], "age": [3], "well": [True]})
    bounds = {"age": ("0", "50")}
    expected = {"job": LABELS, "age": {"min": 0, "max": 50, "missing": True}, "well": EXPECTED["well"]}
    assert automatic_domain(frame, bounds=bounds)["attributes"] == {**expected, "well": LABELS}
    trusted = automatic_domain(frame, bounds=bounds, trust_types=True)
    assert trusted == {"trusted_types": True, "attributes": expected}
    objects = frame.astype(object)
    objects["note"] = None
    assert automatic_domain(objects, trust_types=True)["attributes"] == dict.fromkeys(objects, LABELS)
    with duckdb.connect(str(tmp_path / "people.db")) as base:
        base.execute("create table people (job varchar, age integer, well boolean)")
        base.execute("create table filled as select 'a' as job, 3::integer as age, true as well")
    for name in ("people", "filled"):
        place = f"duckdb:{tmp_path / 'people.db'}#{name}"
        assert automatic_domain(place, bounds=bounds) == {"attributes": expected}
    with pytest.raises(UnreadableTableError, match="cannot read it"):
        automatic_domain(f"duckdb:{tmp_path / 'people.db'}#nobody", bounds=bounds)


def test_columns_of_texts_are_labels_unless_bounds_say_more(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("age,cost,born,job\n3,1.5,2020-01-01,a\n")
    assert automatic_domain(str(file))["attributes"] == dict.fromkeys(("age", "cost", "born", "job"), LABELS)
    bounds = {"age": ("0", "9"), "cost": ("0.0", "9"), "born": ("2020-01-01", "2020-01-31")}
    assert automatic_domain(str(file), bounds=bounds)["attributes"] == {
        "age": {"min": 0, "max": 9, "missing": True},
        "cost": {"min": 0.0, "max": 9.0, "missing": True, **LEARNT},
        "born": {"min": "2020-01-01", "max": "2020-01-31", "missing": True},
        "job": LABELS,
    }


def test_what_is_lacking_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        automatic_domain(TABLE, bounds={"age": ("0", "120")}, trust_types=True)
    assert "cost, price, born, seen, stay" in caught.value.message
    for words in ("--bounds cost=LOW..HIGH", "--bounds born=YYYY-MM-DD..YYYY-MM-DD", "--bounds stay=PT0H..P30D"):
        assert words in (caught.value.remedy or "")
    blank = pa.table({"two words": [1]})
    with pytest.raises(ConfigError, match=r"'two words'=LOW\.\.HIGH"):
        automatic_domain(blank, types={"two words": "int"})


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"agee": ("0", "1")}, "no column 'agee'"),
        ({"well": ("0", "1")}, "true or false"),
        ({"age": ("young", "old")}, "no bounds of whole numbers"),
        ({"cost": ("1", "many")}, "no bounds of numbers"),
        ({"born": ("1900-01-01", "1900-02-31")}, "no step of its scale"),
        ({"nested": ("0", "1")}, "which has none"),
    ],
)
def test_wrong_bounds_are_refused(bounds: dict[str, tuple[str, str]], message: str) -> None:
    with pytest.raises((ConfigError, DomainError), match=message):
        automatic_domain(TABLE, bounds={**BOUNDS, **bounds}, trust_types=True)


def test_columns_are_chosen_and_those_about_rows_left_out() -> None:
    found = automatic_domain(TABLE, bounds={"age": ("0", "9")}, columns=["age", "job"])
    assert list(found["attributes"]) == ["age", "job"]
    found = automatic_domain(TABLE, bounds={k: v for k, v in BOUNDS.items() if k != "age"}, apart=["age"])
    assert "age" not in found["attributes"]
    with pytest.raises(ConfigError, match="no column 'no'"):
        automatic_domain(TABLE, columns=["no"])


def test_bounds_of_numbers_around_nothing_have_a_point_there() -> None:
    found = automatic_domain(pa.table({"x": np.arange(3)}), bounds={"x": ("-500", "500")})
    assert found["attributes"]["x"]["points"] == [0, 500]
    found = automatic_domain(pa.table({"x": np.arange(3)}), bounds={"x": ("5", "500")})
    assert found["attributes"]["x"]["points"] == [500]
