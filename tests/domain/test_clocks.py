"""Times of day and durations on their scales, beside Python's and pandas' own."""

from __future__ import annotations

import json
from datetime import datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow.audit.measurement_checks import size_of
from hedgerow.data import read_table
from hedgerow.domain import (
    Attribute,
    Binned,
    Domain,
    Durations,
    Fault,
    IntegerRange,
    Scale,
    TimesOfDay,
    calendar_level,
    domain_from_mapping,
    domain_to_mapping,
    encoder,
    parse_condition,
)
from hedgerow.domain.clocks import SECONDS
from hedgerow.errors import DomainError, OutOfRangeError, UnknownValueError
from hedgerow.release import Records

FORMS = ("%H:%M:%S", "%d days %H:%M:%S", "%M:%S", "%S s", "in %d d %H h %M m %S s", "%d/%H:%M:%S")
STEPS = (1, 30, 60, 900, 3600, 86_400)
PANDAS = "%d days %H:%M:%S"

MAPPING: dict[str, Any] = {
    "due": {"min": "06:00", "max": "21:45", "step": "15min", "missing": "00:00"},
    "bus": {"min": "00:00", "max": "23:59", "format": "%H.%M", "bins": 24, "other": True},
    "tick": {"min": "12:00:00", "max": "12:10:00", "step": "1s", "missing": True},
    "wait": {"min": "PT0H", "max": "PT30H", "step": "30min", "missing": True},
    "ride": {"min": "PT0S", "max": "PT48H", "format": "%H:%M:%S", "bins": 20},
    "lag": {"min": "-P1D", "max": "P2D", "step": "1h", "format": PANDAS},
    "stay": {"min": 0, "max": 90, "unit": "d"},
    "lasted": {"min": 0, "max": 2, "unit": "h", "step": "15min", "missing": "-1"},
    "slot": {"min": "08:00", "max": "17:59", "step": "1min", "round": True},
}


def domain() -> Domain:
    return domain_from_mapping(MAPPING)


def code(attribute: Attribute, cell: object) -> int:
    column = cell if isinstance(cell, pa.Array) else pa.array([cell])
    return int(encoder(attribute).codes(column)[0])


@given(moment=st.times(), step=st.sampled_from(STEPS))
def test_times_of_day_are_those_of_python(moment: time, step: int) -> None:
    scale = TimesOfDay(step)
    midnight = datetime(2020, 1, 1)
    exact = Fraction((datetime.combine(midnight, moment) - midnight) // timedelta(microseconds=1), 1_000_000 * step)
    assert scale.position(moment) == scale.position(moment.isoformat()) == exact
    number = TimesOfDay(step, down=True).rounded(exact)
    assert number is not None
    assert scale.rounded(exact) == (number if exact == number else None)
    shown = (midnight + timedelta(seconds=number * step)).time()
    assert scale.number(scale.text(number)) == scale.number(shown) == number
    assert pa.array(scale.values(np.array([number])), pa.time64("us")).to_pylist() == [shown]
    formed = TimesOfDay(step, "%H-%M-%S")
    assert formed.cell(number) == shown.strftime("%H-%M-%S")
    assert formed.number(formed.cell(number)) == formed.literal(scale.text(number)) == number


@given(seconds=st.integers(-(10**8), 10**8), step=st.sampled_from(STEPS))
def test_durations_are_those_of_python(seconds: int, step: int) -> None:
    scale, length = Durations(step), timedelta(seconds=seconds)
    assert scale.position(length) == Fraction(seconds, step)
    number = Durations(step, down=True).rounded(Fraction(seconds, step))
    assert number == seconds // step
    assert scale.number(scale.text(number)) == number
    assert pd.Timedelta(scale.text(number)) == pd.Timedelta(seconds=number * step)
    assert scale.values(np.array([number])).tolist() == [timedelta(seconds=number * step)]
    for form in FORMS:
        formed = Durations(1, form)
        assert formed.number(formed.cell(seconds)) == seconds
        assert formed.literal(Durations(1).text(seconds)) == seconds
    assert Durations(1, PANDAS).cell(seconds) == str(pd.Timedelta(seconds=seconds))
    hours, rest = divmod(abs(seconds), 3600)
    assert Durations(1, "%H:%M:%S").cell(seconds) == (
        f"{'-' if seconds < 0 else ''}{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    )


@given(number=st.integers(-(10**6), 10**6), unit=st.sampled_from(list(SECONDS)), step=st.sampled_from(STEPS))
def test_numbers_of_a_unit(number: int, unit: Any, step: int) -> None:
    scale = Durations(step, unit=unit)
    value = number * step / SECONDS[unit]
    assert scale.values(np.array([number])).tolist() == pytest.approx([value])
    if step % SECONDS[unit] == 0:
        for cell in (int(value), float(value), str(int(value)), scale.cell(number)):
            assert scale.number(cell) == number
        assert scale.arrow_type == "int64"
    assert scale.number(timedelta(seconds=number * step)) == number


@given(text=st.text(st.sampled_from("0123456789-.:+PTHMSDW days"), max_size=20))
def test_no_text_breaks_a_scale(text: str) -> None:
    scales: list[Scale] = [TimesOfDay(), TimesOfDay(60, "%H.%M"), Durations(), *(Durations(1, form) for form in FORMS)]
    for scale in [*scales, Durations(60, unit="h")]:
        place = scale.position(text)
        if place is not None and place.denominator == 1:
            assert scale.position(scale.cell(int(place))) == place


def test_what_is_written_is_read_back() -> None:
    found = domain()
    written = domain_to_mapping(found)
    assert domain_from_mapping(json.loads(json.dumps(written))) == found
    assert written["attributes"]["due"] == MAPPING["due"]
    assert written["attributes"]["stay"] == {"min": "PT0S", "max": "P90D", "step": "1d", "unit": "d"}
    assert [size_of(written["attributes"][each.name]) for each in found] == [each.size for each in found]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas", "polars"])
def test_records_have_the_codes_that_they_were_made_of(tmp_path: Path, kind: str) -> None:
    found = domain()
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, each.ordinary + (each.missing is not None), 300) for each in found], axis=1)
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
    Records([[1, 0, 7, 53, 0, 2, 12, 6, 3], [64, 24, 601, 61, 0, 24, 0, 9, 0]], found, seed=1).write(tmp_path / "r.csv")
    first, second = (line.split(",") for line in (tmp_path / "r.csv").read_text().splitlines()[1:])
    assert first[0] == "06:15"
    assert first[1].startswith("00.")
    assert first[2:4] == ["12:00:07", "P1DT2H30M"]
    assert first[4][:3] in {"00:", "01:", "02:"}
    assert first[5:] == ["-1 days +02:00:00", "12", "1.5", "08:03"]
    assert second[:4] == ["00:00", "other", "", ""]
    assert second[5:8] == ["0 days 00:00:00", "0", "-1"]
    types = Records([[0] * len(found)], found).to_arrow().schema.types
    clock, length = pa.time64("us"), pa.duration("us")
    assert types == [clock, clock, clock, length, length, length, pa.int64(), pa.float64(), clock]


def test_native_cells_have_the_codes_of_their_texts() -> None:
    found = domain()
    shown = time(8, 15)
    times = [shown, pa.array([shown], pa.time32("s")), pa.array([shown], pa.time64("ns")), "08:15", "08:15:00.000"]
    assert {code(found["due"], cell) for cell in times} == {9}
    length = timedelta(days=1, hours=2, minutes=30)
    lengths = [
        length,
        pa.array([length], pa.duration("ns")),
        pa.array([length], pa.duration("s")),
        pa.array([pd.Timedelta(length)]),
        pa.array([pa.MonthDayNano([0, 1, 9000 * 10**9])]),
        pa.array([pa.MonthDayNano([0, 0, 0]), pa.MonthDayNano([0, 0, 26 * 3600 * 10**9 + 1800 * 10**9])])[1:],
        "PT26H30M",
        "P1DT2H30M",
        "+P1DT150M",
        "PT95400S",
    ]
    assert {code(found["wait"], cell) for cell in lengths} == {53}
    assert code(found["wait"], pa.array([pa.MonthDayNano([1, 0, 0])])) == Fault.OUT_OF_RANGE  # of no fixed length
    assert code(found["wait"], pa.array([None], pa.duration("us"))) == code(found["wait"], "") == 61
    assert {code(found["stay"], cell) for cell in (12, 12.0, "12", timedelta(days=12))} == {12}
    assert {code(found["lag"], cell) for cell in ("-1 days +02:00:00", "-0 days 22:00:00", timedelta(hours=-22))} == {2}


@pytest.mark.parametrize(
    ("name", "cell", "fault"),
    [
        ("due", "25:00", Fault.NOT_A_NUMBER),
        ("due", "24:00", Fault.NOT_A_NUMBER),
        ("due", "8:15", Fault.NOT_A_NUMBER),
        ("due", "08:15 ", Fault.NOT_A_NUMBER),
        ("due", "08:60", Fault.NOT_A_NUMBER),
        ("due", 8, Fault.NOT_A_NUMBER),
        ("due", "08:10", Fault.NOT_WHOLE),
        ("due", "05:45", Fault.OUT_OF_RANGE),
        ("bus", "08:15", 24),
        ("wait", "-PT30M", Fault.OUT_OF_RANGE),
        ("wait", timedelta(minutes=-30), Fault.OUT_OF_RANGE),
        ("wait", "PT10M", Fault.NOT_WHOLE),
        ("wait", "P1M", Fault.NOT_A_NUMBER),
        ("wait", "P", Fault.NOT_A_NUMBER),
        ("wait", "PT", Fault.NOT_A_NUMBER),
        ("wait", "P1DT", Fault.NOT_A_NUMBER),
        ("wait", "01:30:00", Fault.NOT_A_NUMBER),
        ("ride", "PT1H", Fault.NOT_A_NUMBER),
        ("ride", "01:61:00", Fault.NOT_A_NUMBER),
        ("ride", "-01:00:00", Fault.OUT_OF_RANGE),
        ("lag", "1 days 24:00:00", Fault.NOT_A_NUMBER),
        ("lag", "1 days +02:00:00", Fault.NOT_A_NUMBER),
        ("stay", "1.5", Fault.NOT_WHOLE),
        ("stay", -1, Fault.OUT_OF_RANGE),
    ],
)
def test_cells_that_fit_no_code(name: str, cell: object, fault: int) -> None:
    assert code(domain()[name], cell) == fault


@pytest.mark.parametrize("name", ["wait", "ride", "lag", "stay"])
def test_durations_too_long_for_microseconds_do_not_wrap(name: str) -> None:
    cells = [
        pa.array([18_446_744_073_710], pa.duration("s")),  # 448 ms beyond 2^64 microseconds
        pa.array([-(2**62)], pa.duration("ms")),
        pa.array([pa.MonthDayNano([0, 213_503_983, 0])]),  # nearly 2^64 microseconds
        pa.array([pa.MonthDayNano([0, -(2**31), 0])]),
    ]
    assert {code(domain()[name], cell) for cell in cells} == {Fault.OUT_OF_RANGE}


@pytest.mark.parametrize(
    "cells", [pa.array([86_400], pa.time32("s")), pa.array([-5], pa.time64("us")), pa.array([2**62], pa.time64("ns"))]
)
def test_times_that_no_clock_shows(cells: pa.Array[Any]) -> None:
    assert code(domain()["due"], cells) == Fault.OUT_OF_RANGE
    assert code(domain()["bus"], cells) == domain()["bus"].other_code


@pytest.mark.parametrize(("unit", "step"), [("h", "1min"), ("h", "20min"), ("d", "1s"), ("d", "8h"), ("min", "1s")])
@pytest.mark.parametrize("rounds", [False, True])
def test_fractions_of_a_unit_without_a_last_digit_are_read_back(
    tmp_path: Path, unit: str, step: str, *, rounds: bool
) -> None:
    found = domain_from_mapping({"x": {"min": 0, "max": 9, "unit": unit, "step": step, "round": rounds}})
    codes = np.random.default_rng(2).integers(0, found.shape[0], (500, 1))
    records = Records(codes, found)
    records.write(tmp_path / "r.csv")
    for source in (records.to_arrow(), tmp_path / "r.csv"):
        assert np.array_equal(read_table(source, found).columns[0], codes[:, 0])
    if not rounds:
        assert code(found["x"], "0.33333") == Fault.NOT_WHOLE


def test_errors_name_rows_and_no_values() -> None:
    found = domain()
    with pytest.raises(
        UnknownValueError, match=r"2 rows .first: 2, 3.: a cell that is no time of day written as 12:45"
    ):
        read_table(pa.table({"due": ["08:15", "25:00", "7.15"]}), found.project(["due"]))
    with pytest.raises(OutOfRangeError, match="a duration outside the declared range PT0S to P1DT6H"):
        read_table(pa.table({"wait": ["-PT1H"]}), found.project(["wait"]))
    with pytest.raises(OutOfRangeError, match=r"a time between two steps.*\n.*'round: true'"):
        read_table(pa.table({"due": ["08:10"]}), found.project(["due"]))
    with pytest.raises(UnknownValueError, match="no duration as a number of d"):
        read_table(pa.table({"stay": ["long"]}), found.project(["stay"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("due < '07:00'", range(4)),
        ("due.part = '06:00'", [0]),
        ("due.hour in ('06:00', '07:00')", [0, 1]),
        ("bus < '01.00'", [0]),
        ("bus < '01:00'", [0]),
        ("wait >= 'PT29H30M'", [59, 60]),
        ("wait.day = 'P1D'", [1]),
        ("ride < 'PT0H'", []),
        ("stay <= 'P2D'", range(3)),
        ("lasted = '1.5'", [6]),
    ],
)
def test_conditions(text: str, expected: range | list[int]) -> None:
    truth: Any = parse_condition(text, domain())
    assert list(truth.truth.yes) == list(expected)


def test_levels() -> None:
    found = domain()
    levels = {name: [each.name for each in found.derived if each.sources == (name,)] for name in found.names}
    assert levels["due"] == ["due.hour", "due.part"]
    assert levels["wait"] == ["wait.hour", "wait.day"]
    assert levels["lag"] == ["lag.day"]
    assert levels["stay"] == ["stay.10"]
    assert found["due.part"].labels == ("06:00", "12:00", "18:00", "00:00")  # the last is the text of the missing value
    assert found["lag.day"].labels == ("-P1D", "PT0S", "P1D", "P2D")
    for numbers, unit in ((range(24, 88), "hour"), (range(24, 88), "part")):
        level = calendar_level(found["due"], unit)  # type: ignore[arg-type]
        wide = {"hour": 4, "part": 24}[unit]
        assert level.codes.tolist()[:64] == [n // wide - 24 // wide for n in numbers]
    for name, unit in (("stay", "hour"), ("due", "day"), ("wait", "month"), ("wait", "part")):
        with pytest.raises(DomainError):
            calendar_level(found[name], unit)  # type: ignore[arg-type]
    assert isinstance(found["bus"], Binned)
    assert isinstance(found["due"], IntegerRange)


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"min": "08:00", "max": "PT3H"}, "its bounds are not alike"),
        ({"min": "25:00", "max": "26:00"}, "is no step of its scale"),
        ({"min": "08:00", "max": "09:00", "format": "%H"}, "whole time"),
        ({"min": "08:00", "max": "09:00", "format": "%d %H:%M"}, "whole time"),
        ({"min": "08:00", "max": "09:00", "zone": "Europe/Berlin"}, "'zone' has no meaning"),
        ({"min": "PT0H", "max": "PT9H", "format": "%H:%S"}, "whole duration"),
        ({"min": "PT0H", "max": "PT9H", "format": "hours"}, "whole duration"),
        ({"min": "PT0H", "max": "PT9H", "format": "%H:%M", "step": "30s"}, "no room"),
        ({"min": "PT0H", "max": "PT9H", "format": "%H:%M", "unit": "h"}, "a form or a unit"),
        ({"min": 0, "max": 9, "unit": "weeks"}, "no unit of durations|a step of"),
        ({"min": "2020-01-01", "max": "2020-02-01", "unit": "d"}, "no step of its scale"),
        ({"min": "PT10M", "max": "PT9H", "step": "1h"}, "no step of its scale"),
    ],
)
def test_entries_that_are_refused(entry: dict[str, Any], error: str) -> None:
    with pytest.raises(DomainError, match=error):
        domain_from_mapping({"x": entry})


def test_a_bound_that_native_durations_cannot_hold_is_refused() -> None:
    longest = 2**63 // 10**6
    scale = Durations(1)
    assert scale.literal(f"PT{longest - 1}S") is None, "more than twelve digits are no duration"
    days, seconds = divmod(longest - 1, 86_400)
    assert scale.literal(f"P{days}DT{seconds}S") == longest - 1
    assert scale.literal(f"P{days}DT{seconds + 1}S") is None
    assert scale.literal(f"-P{days}DT{seconds + 1}S") is None
    assert scale.values(np.array([longest - 1]))[0] > np.timedelta64(0)
