"""Dates, times and decimals on their scales, beside Python's own datetime and decimal."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow import MWEM, PureDP, SeededNoise, Workload
from hedgerow.audit.measurement_checks import size_of
from hedgerow.data import read_table
from hedgerow.domain import (
    Attribute,
    Binned,
    Calendar,
    Categorical,
    Decimals,
    Domain,
    Fault,
    IntegerRange,
    Moments,
    Scale,
    calendar_level,
    condition,
    domain_from_mapping,
    domain_to_mapping,
    encoder,
    parse_condition,
)
from hedgerow.domain.levels import CALENDAR, Unit
from hedgerow.domain.scales import UNITS
from hedgerow.errors import DomainError, OutOfRangeError, QueryError, UnknownValueError
from hedgerow.release import Records

DAYS = st.dates(date(1900, 1, 1), date(2200, 12, 31))
TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 12, 31))
EPOCH = date(1970, 1, 1)
FORMS = ("%d.%m.%Y", "%-m/%-d/%Y", "%Y%m%d", "%d of %m, %Y")
TIME_FORMS = ("%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S+02:00", "%-I:%M %p on %m/%-d/%Y")

MAPPING: dict[str, Any] = {
    "admitted": {"min": "2023-01-01", "max": "2024-12-31", "missing": "9999-12-31"},
    "seen": {"min": "2024-01-01T00:00", "max": "2024-01-31T23:45", "step": "15min", "zone": "Europe/Berlin"},
    "left": {"min": "2024-01-01T00:00", "max": "2024-01-02T00:00", "format": "%d.%m.%Y %H:%M", "other": True},
    "born": {"min": "1950-01-01", "max": "1999-12-31", "format": "%d.%m.%Y", "bins": "year", "missing": True},
    "temp": {"min": 35, "max": 43, "step": 0.1, "missing": "99.9"},
    "weight": {"edges": [0, 2.5, 100.5, 100.5], "step": 0.5, "round": True},
    "cost": {"min": 0, "max": 99999, "bins": {"log": 20}, "points": [0, 99999], "whole": True},
    "month": {"min": "2023-01", "max": "2024-12", "other": "later"},
    "week": {"min": "2020-W53", "max": "2021-W20", "missing": True},
    "dose": {"min": 0, "max": 500, "step": 5},
    "stamp": {"min": "2024-01-01T00:00", "max": "2024-01-31T23:59", "unit": "ms", "missing": "-9"},
    "short": {"min": "1969-01-01", "max": "2068-12-31", "format": "%-d-%b-%y", "bins": "year"},
}


def domain() -> Domain:
    return domain_from_mapping(MAPPING)


def code(attribute: Attribute, cell: object) -> int:
    column = cell if isinstance(cell, pa.Array) else pa.array([cell])
    return int(encoder(attribute).codes(column)[0])


@given(day=DAYS)
def test_days_are_those_of_python(day: date) -> None:
    number = (day - EPOCH).days
    assert Calendar().position(day) == Calendar().position(day.isoformat()) == number
    assert Calendar().position(datetime(day.year, day.month, day.day, 12)) == number + Fraction(1, 2)
    assert Calendar().text(number) == day.isoformat()
    assert Calendar().values(np.array([number])).tolist() == [day]
    for form in FORMS:
        scale = Calendar(form=form)
        assert scale.cell(number) == day.strftime(form)
        assert scale.position(day.strftime(form)) == scale.literal(day.isoformat()) == number


@given(day=DAYS)
def test_units_hold_their_days(day: date) -> None:
    number = (day - EPOCH).days
    year, week, _ = day.isocalendar()
    texts = {
        "day": day.isoformat(),
        "week": f"{year:04d}-W{week:02d}",
        "month": day.strftime("%Y-%m"),
        "quarter": f"{day.year}-Q{(day.month + 2) // 3}",
        "year": str(day.year),
    }
    for unit in UNITS:
        scale = Calendar(unit)
        place = scale.of_day(number)
        assert scale.text(place) == texts[unit]
        assert scale.position(texts[unit]) == place
        assert scale.first_day(place) <= number < scale.first_day(place + 1)


@given(moment=TIMES, seconds=st.sampled_from([1, 30, 60, 900, 3600, 86_400]))
def test_times_are_those_of_python(moment: datetime, seconds: int) -> None:
    exact = Fraction((moment - datetime(1970, 1, 1)) // timedelta(microseconds=1), 1_000_000 * seconds)
    scale = Moments(seconds)
    assert (
        scale.position(moment) == scale.position(moment.isoformat()) == scale.position(moment.isoformat(" ")) == exact
    )
    assert scale.rounded(exact) == (exact if exact.denominator == 1 else None)
    number = Moments(seconds, down=True).rounded(exact)
    assert number is not None
    start = datetime(1970, 1, 1) + timedelta(seconds=number * seconds)
    assert start <= moment < start + timedelta(seconds=seconds)
    assert scale.values(np.array([number])).tolist() == [start]
    assert scale.position(scale.text(number)) == number
    for form in TIME_FORMS:
        if "%S" in form or seconds % 60 == 0:
            formed = Moments(seconds, form)
            assert formed.position(formed.cell(number)) == formed.literal(scale.text(number)) == number


@given(moment=st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)), hours=st.integers(-12, 14))
def test_offsets_are_brought_to_the_zone(moment: datetime, hours: int) -> None:
    moment = moment.replace(microsecond=0)
    zone = ZoneInfo("Europe/Berlin")
    local = moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    elsewhere = (moment + timedelta(hours=hours)).isoformat() + f"{'-' if hours < 0 else '+'}{abs(hours):02d}:00"
    scale = Moments(1, zone="Europe/Berlin")
    assert scale.position(elsewhere) == scale.position(moment.replace(tzinfo=UTC)) == Moments(1).position(local)
    assert Moments(1).position(elsewhere) is None


def test_at_the_turn_of_the_clock() -> None:
    scale = Moments(3600, zone="Europe/Berlin")
    autumn = [scale.position(f"2024-10-27T0{hour}:00Z") for hour in (0, 1)]
    assert autumn[0] == autumn[1] == scale.position("2024-10-27T02:00")  # the clock shows two o'clock twice
    spring = [scale.position(f"2024-03-31T0{hour}:00Z") for hour in (0, 1)]
    assert (spring[1] or 0) - (spring[0] or 0) == 2  # and never on this day
    assert scale.position("2024-03-31T02:00") == (spring[0] or 0) + 1


@given(number=st.integers(-(10**12), 10**12), step=st.sampled_from(["0.1", "0.25", "0.001", "5", "1", "0.3", "2.50"]))
def test_decimals_are_those_of_python(number: int, step: str) -> None:
    scale = Decimals(Decimal(step))
    value = number * Decimal(step)
    text = scale.text(number)
    assert Decimal(text) == value
    assert len(text.partition(".")[2]) == scale.digits == len(f"{Decimal(step).normalize():f}".partition(".")[2])
    for cell in (value, text, float(value), f"{value}00" if "." in str(value) else str(value)):
        assert scale.number(cell) == number
    (written,) = scale.values(np.array([number])).tolist()
    assert written == float(value)  # the nearest float, as it is read from the text
    assert scale.number(written) == number


@given(
    text=st.from_regex(r"\A[+-]?[0-9]{1,5}\.?[0-9]{0,4}([eE][+-]?[0-9]{1,2})?\Z"), step=st.sampled_from(["0.1", "0.25"])
)
def test_positions_of_decimals_are_exact(text: str, step: str) -> None:
    place = Decimals(Decimal(step)).position(text)
    assert place is None or place == Fraction(text) / Fraction(step)
    assert place is not None or abs(Decimal(text).adjusted()) > 40
    nearest = Decimals(Decimal(step), nearest=True)
    assert place is None or nearest.rounded(place) == round(Fraction(text) / Fraction(step))


TIMES = {"min": "2020-01-15T08:00", "max": "2022-03-31T23:45", "step": "15min"}


@pytest.mark.parametrize(
    ("bins", "first", "levels"),
    [
        ("hour", "2020-01-15T09:00", ["x.day", "x.month", "x.quarter", "x.year"]),
        ("day", "2020-01-16T00:00", ["x.month", "x.quarter", "x.year"]),
        ("week", "2020-01-20T00:00", []),
        ("month", "2020-02-01T00:00", ["x.quarter", "x.year"]),
        ("year", "2021-01-01T00:00", []),
    ],
)
def test_times_have_bins_of_the_calendar(bins: str, first: str, levels: list[str]) -> None:
    domain = domain_from_mapping({"x": {**TIMES, "bins": bins}})
    assert [each.name for each in domain.derived if each.name.split(".")[1].isalpha()] == levels
    attribute = domain["x"]
    assert isinstance(attribute, Binned)
    assert attribute.whole_bounds(0)[0] == domain_from_mapping({"x": TIMES})["x"].minimum  # type: ignore[union-attr]
    assert attribute.scale is not None
    assert attribute.scale.text(attribute.whole_bounds(1)[0]) == first
    assert domain_from_mapping(domain_to_mapping(domain)) == domain


def test_bins_of_units_that_are_no_longer_than_steps_are_refused() -> None:
    with pytest.raises(DomainError, match="'bins' is not a whole number"):
        domain_from_mapping({"x": {**TIMES, "bins": "part"}})
    with pytest.raises(DomainError, match="'bins' is not a whole number"):
        domain_from_mapping(
            {"x": {**TIMES, "min": "2020-01-15T00:00", "max": "2022-03-31T00:00", "step": "1d", "bins": "day"}}
        )
    with pytest.raises(DomainError, match="bins by the hour"):
        domain_from_mapping({"x": {**TIMES, "min": "0002-01-01T00:00", "bins": "hour"}})
    with pytest.raises(DomainError, match="'bins' is not a whole number"):
        domain_from_mapping({"x": {"min": 0, "max": 10, "bins": "month"}})


@pytest.mark.parametrize("text", ["1e999999999", "1e-99", "9" * 80, "inf", "nan", "0x10", "1_000", "٣", " 1", "1 ", ""])
def test_odd_numbers_are_no_decimals(text: str) -> None:
    assert Decimals(Decimal("0.1")).position(text) is None


@given(text=st.text(st.sampled_from("0123456789-.:TZ+W Q/"), max_size=20))
def test_no_text_breaks_a_scale(text: str) -> None:
    scales: list[Scale] = [Calendar(unit) for unit in UNITS]
    scales += [Calendar(form=form) for form in FORMS]
    scales += [Moments(60, form, "Europe/Berlin") for form in (None, *TIME_FORMS)]
    for scale in [*scales, Decimals(Decimal("0.1"))]:
        place = scale.position(text)
        if place is not None and place.denominator == 1 and scale.quoted:
            assert scale.position(scale.cell(int(place))) == place


def test_what_is_written_is_read_back() -> None:
    found = domain()
    assert domain_from_mapping(json.loads(json.dumps(domain_to_mapping(found)))) == found
    assert domain_to_mapping(found)["attributes"]["temp"] == MAPPING["temp"]
    assert domain_to_mapping(found)["attributes"]["seen"] == MAPPING["seen"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas", "polars"])
def test_records_have_the_codes_that_they_were_made_of(tmp_path: Path, kind: str) -> None:
    found = domain()
    rng = np.random.default_rng(3)
    sizes = [each.ordinary + (each.missing is not None) for each in found]  # other values are nulls in Parquet
    codes = np.stack([rng.integers(0, size, 300) for size in sizes], axis=1)
    records = Records(codes, found, seed=1)
    if kind in {"csv", "parquet"}:
        records.write(tmp_path / f"r.{kind}")
    source: Any = {
        "csv": tmp_path / "r.csv",
        "parquet": tmp_path / "r.parquet",
        "arrow": records.to_arrow(),
        "pandas": records.to_pandas(),
        "polars": records.to_polars(),
    }[kind]
    assert np.array_equal(np.stack(read_table(source, found).columns, axis=1), codes)


def test_how_records_are_written(tmp_path: Path) -> None:
    found = domain()
    Records(
        [[0, 1, 2, 0, 20, 2, 21, 3, 1, 2, 3, 0], [731, 0, 1441, 50, 81, 2, 0, 24, 21, 0, 44_640, 99]], found, seed=1
    ).write(tmp_path / "r.csv")
    first, second = (tmp_path / "r.csv").read_text().splitlines()[1:]
    cells = first.split(",")
    assert cells[:3] == ["2023-01-01", "2024-01-01T00:15", "01.01.2024 00:02"]
    assert datetime.strptime(cells[3], "%d.%m.%Y").year == 1950
    assert cells[4:11] == ["37.0", "100.5", "99999", "2023-04", "2021-W01", "10", "1704067380000"]
    assert datetime.strptime(cells[11], "%d-%b-%y").year == 1969
    assert not cells[11].startswith("0")
    assert second.split(",")[0] == "9999-12-31"
    assert second.split(",")[2:5] == ["other", "", "99.9"]
    assert second.split(",")[6:11] == ["0", "later", "", "0", "-9"]
    assert second.endswith("-68")
    types = Records([[0] * len(found)], found).to_arrow().schema.types
    day, time, text = pa.date32(), pa.timestamp("us"), pa.string()
    assert types == [
        day,
        time,
        time,
        day,
        pa.float64(),
        pa.float64(),
        pa.int64(),
        text,
        text,
        pa.int64(),
        pa.int64(),
        day,
    ]


def test_native_cells_have_the_codes_of_their_texts() -> None:
    found = domain()
    day, moment = date(2024, 2, 29), datetime(2024, 1, 3, 7, 45)
    admitted = found["admitted"]
    cells: list[Any] = [
        day,
        datetime(2024, 2, 29),
        pa.array([day], pa.date64()),
        pa.array(pd.to_datetime(["2024-02-29"]).astype("datetime64[ns]")),
        "2024-02-29",
        "2024-02-29 00:00:00",
        pa.array(["2024-02-29"]).dictionary_encode(),
    ]
    assert {code(admitted, cell) for cell in cells} == {424}
    assert code(admitted, date(9999, 12, 31)) == code(admitted, "9999-12-31") == code(admitted, None) == 731
    seen = found["seen"]
    berlin = pa.array([moment.replace(tzinfo=ZoneInfo("Europe/Berlin"))], pa.timestamp("us", "America/New_York"))
    ticks = pa.array([moment], pa.timestamp("ns"))
    assert len({code(seen, cell) for cell in (moment, moment.isoformat(), berlin, ticks, "2024-01-03T06:45Z")}) == 1
    temp = found["temp"]
    decimal = pa.array([Decimal("36.6")], pa.decimal128(10, 3))
    short = pa.array([36.6], pa.float32())
    assert {code(temp, cell) for cell in (36.6, "36.60", decimal, short, "3.66e1")} == {16}
    assert {code(temp, cell) for cell in (99.9, "99.9", None, float("nan"), "")} == {81}
    assert code(temp, 37) == 20


@pytest.mark.parametrize(
    ("name", "cell", "fault"),
    [
        ("admitted", "2023-02-31", Fault.NOT_A_NUMBER),
        ("admitted", "01.02.2023", Fault.NOT_A_NUMBER),
        ("admitted", "20230201", Fault.NOT_A_NUMBER),
        ("admitted", 19_500, Fault.NOT_A_NUMBER),
        ("admitted", "2025-01-01", Fault.OUT_OF_RANGE),
        ("admitted", datetime(2024, 1, 1, 8), Fault.NOT_WHOLE),
        ("born", "1960-01-01", Fault.NOT_A_NUMBER),
        ("seen", "2024-01-01T08:10", Fault.NOT_WHOLE),
        ("seen", "2024-01-01", Fault.NOT_A_NUMBER),
        ("temp", "36.65", Fault.NOT_WHOLE),
        ("temp", 36.300000000000004, Fault.NOT_WHOLE),
        ("temp", "hot", Fault.NOT_A_NUMBER),
        ("temp", "50", Fault.OUT_OF_RANGE),
        ("weight", 1e300, Fault.NOT_A_NUMBER),
        ("week", "2021-W53", Fault.NOT_A_NUMBER),
    ],
)
def test_cells_that_fit_no_code(name: str, cell: object, fault: Fault) -> None:
    assert code(domain()[name], cell) == fault


def test_rounding_looks_at_one_cell() -> None:
    weight = domain()["weight"]
    assert [code(weight, cell) for cell in ("2.24", "2.26", "100.7", "100.2", "2.25")] == [0, 1, 2, 1, 0]
    entry = {"min": "2024-01-01T00:00", "max": "2024-01-01T23:45", "step": "15min", "round": True}
    times = domain_from_mapping({"t": entry, "x": 2})["t"]
    assert [code(times, f"2024-01-01T00:{minute}") for minute in ("14:59.9", "15", "29")] == [0, 1, 1]


def test_errors_name_rows_and_no_values() -> None:
    found = domain()
    table = pa.table({"admitted": ["2023-02-01", "2023-02-31", "03.02.2023"]})
    with pytest.raises(
        UnknownValueError, match=r"2 rows .first: 2, 3.: a cell that is no date written as 2020-"
    ) as caught:
        read_table(table, found.project(["admitted"]))
    assert "31" not in str(caught.value).replace("2020-01-31", "")
    with pytest.raises(OutOfRangeError, match="a date outside the declared range 2023-01-01 to 2024-12-31"):
        read_table(pa.table({"admitted": ["2022-02-01"]}), found.project(["admitted"]))
    with pytest.raises(OutOfRangeError, match=r"a number between two steps.*\n.*'round: true'"):
        read_table(pa.table({"temp": [36.65]}), found.project(["temp"]))
    with pytest.raises(OutOfRangeError, match=r"a date between two steps.*\n.*cut the time of day off"):
        read_table(pa.table({"admitted": [datetime(2023, 2, 1, 8)]}), found.project(["admitted"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("admitted >= '2024-12-01'", range(700, 731)),
        ("admitted between '2023-01-02' and '2023-01-03'", range(1, 3)),
        ("admitted.month = '2023-02'", [1]),
        ("admitted.month < '2023-03'", [0, 1]),
        ("admitted.year = 2024", [1]),
        ("admitted is null", [731]),
        ("seen < '2024-01-01 01:00'", range(4)),
        ("seen < '2024-01-02'", range(96)),
        ("born < '01.01.1952'", [0, 1]),
        ("born < '1952-01-01'", [0, 1]),
        ("temp > 42.85", [79, 80]),
        ("temp in (35, 35.10)", [0, 1]),
        ("cost = 0 or cost = 99999", [0, 21]),
        ("weight < 2.5", [0]),
        ("week = '2021-W01'", [1]),
    ],
)
def test_conditions(text: str, expected: range | list[int]) -> None:
    truth: Any = parse_condition(text, domain())
    found = truth.parts[0].truth | truth.parts[1].truth if " or " in text else truth.truth
    assert list(found.yes) == list(expected)


def test_the_texts_of_conditions_are_read_back() -> None:
    found = domain()
    rng = np.random.default_rng(5)
    for attribute in found:
        for _ in range(20):
            low, high = sorted(rng.integers(0, attribute.size, 2).tolist())
            text = condition(attribute, range(low, high + 1))
            truth: Any = parse_condition(text, found)
            parts = [truth] if hasattr(truth, "truth") else truth.parts
            while any(not hasattr(part, "truth") for part in parts):
                parts = [leaf for part in parts for leaf in ([part] if hasattr(part, "truth") else part.parts)]
            joined = set.union if " or " in text else set.intersection
            assert joined(*(set(part.truth.yes) for part in parts)) == set(range(low, high + 1)), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("admitted >= '2023-02-31'", "holds dates, and '2023-02-31' is none"),
        ("admitted = '2030-01-01'", "has no value"),
        ("born < '1960-06-01'", "cuts the bin .*\n.*born < '1960-01-01'"),
        ("temp = 36.65", "has no value 36.65\n.*numbers from 35.0 to 43.0"),
    ],
)
def test_conditions_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        parse_condition(text, domain())


def test_levels_of_dates_and_times() -> None:
    found = domain()
    names = [each.name for each in found.derived if each.sources[0] in {"admitted", "seen"}]
    assert names == ["admitted.month", "admitted.quarter", "admitted.year", "seen.hour", "seen.day"]
    admitted = found["admitted"]
    for unit in CALENDAR[3:]:
        level = calendar_level(admitted, unit)
        texts = [level.attribute.label(place) for place in level.codes.tolist()]
        days = [date(2023, 1, 1) + timedelta(days=number) for number in range(731)]
        slow = {
            "week": [f"{d.isocalendar()[0]}-W{d.isocalendar()[1]:02d}" for d in days],
            "month": [f"{d:%Y-%m}" for d in days],
            "quarter": [f"{d.year}-Q{(d.month + 2) // 3}" for d in days],
            "year": [f"{d.year}" for d in days],
        }[unit]
        assert texts == [*slow, "9999-12-31"]
    hours = calendar_level(found["seen"], "hour")
    assert hours.codes.tolist() == [number // 4 for number in range(found["seen"].size)]
    assert hours.attribute.labels[:2] == ("2024-01-01T00:00", "2024-01-01T01:00")


@pytest.mark.parametrize(
    ("name", "unit"), [("admitted", "hour"), ("temp", "month"), ("born", "month"), ("left", "year")]
)
def test_levels_that_are_refused(name: str, unit: Unit) -> None:
    with pytest.raises(
        DomainError, match=r"has no steps shorter|lies in two units|all values of 'left' are in one year"
    ):
        calendar_level(domain()[name], unit)


def test_declared_levels_of_scales_are_written_and_read() -> None:
    entry = {
        "day": {"min": "2023-01-01", "max": "2024-12-31", "levels": ["month", "year"]},
        "week": {"min": "2023-01-01", "max": "2024-12-31", "levels": ["week"]},
        "part": {
            "min": "2024-01-01",
            "max": "2024-12-31",
            "levels": [{"half": {"first": ["2024-01-01..2024-06-30"], "second": ["2024-07-01..2024-12-31"]}}],
        },
        "edge": {"min": 35, "max": 43, "step": 0.1, "levels": [{"fever": {"edges": [35, 38.5, 43]}}]},
    }
    found = domain_from_mapping({"attributes": entry})
    assert domain_to_mapping(found)["attributes"] == entry
    assert domain_from_mapping(domain_to_mapping(found)) == found
    assert found["edge.fever"].labels == ("[35.0, 38.5)", "[38.5, 43.0]")
    assert found["part.half"].labels == ("first", "second")


def test_measured_levels_of_dates() -> None:
    rng = np.random.default_rng(0)
    found = domain_from_mapping({"admitted": {"min": "2023-01-01", "max": "2023-12-31"}, "sex": ["F", "M"]})
    days = [date(2023, 1, 1) + timedelta(days=number) for number in rng.integers(0, 365, 2000).tolist()]
    table = pa.table({"admitted": days, "sex": rng.choice(["F", "M"], 2000)})
    workload = Workload.parse("marginals:admitted.month*sex", found)
    release = MWEM(rounds=1).run(read_table(table, found), workload, PureDP(5.0), noise=SeededNoise(1))
    (counts,) = release.model.marginals([("admitted.month",)])
    truth = np.bincount([day.month - 1 for day in days], minlength=12)
    assert np.abs(counts - truth).max() < 60
    assert release.sample(10, seed=1).to_arrow().schema.field("admitted").type == pa.date32()


def test_whole_bins_share_values_evenly() -> None:
    for low, high, bins in [(0, 100, 7), (-3, 9, 13), (0, 10, 4), (1, 9, 2)]:
        attribute = Binned.equal_width("x", low, high, bins, whole=True)
        widths = [most - least + 1 for least, most in map(attribute.whole_bounds, range(attribute.ordinary))]
        assert attribute.ordinary == bins
        assert sum(widths) == high - low + 1
        assert max(widths) - min(widths) <= 1
    with pytest.raises(DomainError, match="4 bins of 3 whole values"):
        Binned.equal_width("x", 0, 2, 4, whole=True)


@given(
    low=st.integers(0, 50),
    span=st.integers(3, 10_000),
    bins=st.integers(2, 40),
    points=st.lists(st.integers(0, 3), max_size=3),
)
def test_points_come_back_exactly(low: int, span: int, bins: int, points: list[int]) -> None:
    high = low + span
    wanted = sorted({low if each == 0 else high if each == 1 else low + span // each for each in points})
    entry = {"min": low, "max": high, "bins": {"log": bins}, "points": wanted, "whole": True}
    attribute = domain_from_mapping({"cost": entry, "x": 2})["cost"]
    assert isinstance(attribute, Binned)
    bounds = [attribute.whole_bounds(place) for place in range(attribute.ordinary)]
    assert (bounds[0][0], bounds[-1][1]) == (low, high)
    assert all(after[0] == before[1] + 1 for before, after in pairwise(bounds))
    assert {(point, point) for point in wanted} <= set(bounds)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"min": "2023-01-01", "max": "2023-02-30"}, "'2023-02-30' is no step of its scale"),
        ({"min": "2023-01-01", "max": 5}, "its bounds are not alike"),
        ({"min": "2023-01-01", "max": "2023-01"}, "its bounds are not alike"),
        ({"min": "2023-02-01", "max": "2023-01-01"}, "is above max"),
        ({"min": 0, "max": 9, "step": 0}, "a step of 0"),
        ({"min": 0, "max": 9, "step": "1min"}, "a step of '1min'"),
        ({"min": 0.05, "max": 9, "step": 0.1}, "0.05 is no step of its scale"),
        ({"min": 0, "max": 9, "zone": "UTC"}, "'zone' has no meaning here"),
        ({"min": "2023-01-01", "max": "2023-01-09", "step": "1d"}, "'step' has no meaning here"),
        ({"min": "1923-01-01", "max": "2023-01-09", "format": "%d.%m.%y"}, "two digits tell years from 1969 to 2068"),
        ({"min": "2023-01-01", "max": "2023-01-09", "format": "%d.%-Y.%m"}, "does not say a whole date"),
        ({"min": "2023-01-01T00:00", "max": "2023-01-09T00:00", "unit": "h"}, "no unit of times since 1970"),
        ({"min": "2023-01-01T00:00", "max": "2023-01-09T00:00", "unit": "s", "zone": "UTC"}, "a format or a zone"),
        ({"min": "2023-01-01", "max": "2023-01-09", "format": "%d.%m"}, "does not say a whole date"),
        ({"min": "2023-01-01T00:00", "max": "2023-01-09T00:00", "format": "%d.%m.%Y"}, "does not say a whole time"),
        ({"min": "2023-01-01T00:00", "max": "2023-01-09T00:00", "zone": "Mars/Base"}, "no time zone that is known"),
        ({"min": "2023-01-01T00:00", "max": "2023-01-09T00:00", "step": "7min"}, "a step of '7min'"),
        ({"min": "2023-01-01T00:00", "max": "2023-01-09T00:07", "step": "15min"}, "is no step of its scale"),
        ({"min": -5, "max": 9, "bins": {"log": 3}, "whole": True}, "bins by logarithms from -5"),
        ({"min": 0, "max": 9.5, "bins": {"log": 3}}, "bins by logarithms from 0"),
        ({"min": 0, "max": 9, "bins": 3, "points": [0]}, "'points' of numbers with fractions"),
        ({"min": 0, "max": 9, "bins": 3, "points": [11], "whole": True}, "the point 11"),
        ({"min": 0, "max": 9, "bins": "month"}, "'bins' is not a whole number"),
        ({"values": ["a", "b"], "step": 1}, "'step' has no meaning for listed values"),
        (
            {"min": "2023-01-01", "max": "2023-02-01", "missing": "2023-01-05"},
            "the text of a declared value and a date",
        ),
    ],
)
def test_entries_that_are_refused(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        domain_from_mapping({"attributes": {"a": entry}})


def test_booleans_come_back_as_they_were(tmp_path: Path) -> None:
    for spelling in (("yes", "no"), ("t", "f"), (0, 1), ("TRUE", "FALSE")):
        found = Domain([Categorical("smokes", spelling), IntegerRange("x", 0, 1)])
        Records([[0, 0], [1, 0]], found).write(tmp_path / "r.csv")
        rows = (tmp_path / "r.csv").read_text().split()[1:]
        assert rows == [f"{value},0" for value in spelling]


def test_the_auditor_counts_the_same_codes() -> None:
    found = domain_from_mapping(MAPPING | {"quarter": {"min": "2019-Q3", "max": "2021-Q2"}})
    entries = domain_to_mapping(found)["attributes"]
    assert [size_of(entries[each.name]) for each in found] == [each.size for each in found]


def test_bins_of_the_calendar_have_the_levels_of_longer_units() -> None:
    dates = {"min": "2020-01-15", "max": "2022-12-31"}
    for bins, names in (("month", ["x.quarter", "x.year"]), ("quarter", []), ("week", ["x.5"])):
        domain = domain_from_mapping({"x": {**dates, "bins": bins}})
        found = [each.name for each in domain.derived]
        assert found[: len(names)] == names or bins == "week"
        assert not any(name.endswith((".month", ".day")) for name in found)
    domain = domain_from_mapping({"x": {**dates, "bins": "month", "missing": True}})
    declared = domain_from_mapping({"x": {**dates, "bins": "month", "levels": ["quarter", "year"]}})
    assert domain_from_mapping(domain_to_mapping(declared)) == declared
    assert [each.name for each in declared.derived] == ["x.quarter", "x.year"]
    level = domain.function("x.quarter")
    assert level is not None
    days = [date.fromisoformat(domain["x"].label(code)[1:11]) for code in range(domain["x"].size - 1)]
    expected = [f"{day.year}-Q{(day.month + 2) // 3}" for day in days]
    assert [level.attribute.label(code) for code in level.codes.tolist()] == [*expected, "?"]
    with pytest.raises(DomainError, match="lies in two units"):
        domain_from_mapping({"x": {**dates, "bins": "week", "levels": ["month"]}})
    with pytest.raises(DomainError, match="are months themselves"):
        domain_from_mapping({"x": {**dates, "bins": "month", "levels": ["month"]}})


@pytest.mark.parametrize(
    "entry",
    [
        {"min": "0001-01-01", "max": "0001-02-09", "format": "%d.%m.%Y"},
        {"min": "0990-01-01T00:00", "max": "0990-01-09T00:00", "step": "1h", "format": "%d.%m.%Y %H:%M"},
    ],
)
def test_years_have_four_digits(tmp_path: Path, entry: dict[str, Any]) -> None:
    domain = domain_from_mapping({"a": entry})
    codes = np.arange(domain.shape[0])[:, None]
    Records(codes, domain).write(tmp_path / "r.csv")
    assert np.array_equal(read_table(tmp_path / "r.csv", domain).columns[0], codes[:, 0])
