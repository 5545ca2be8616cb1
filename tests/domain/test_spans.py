"""Durations between two columns, beside Python's own dates: measured while reading, summed while writing."""

from __future__ import annotations

import csv
import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow import MWEM, Curator, PureDP, SeededNoise, Workload
from hedgerow.data import read_table
from hedgerow.domain import Domain, OpenDomain, Span, domain_from_mapping, domain_to_mapping
from hedgerow.errors import (
    BrokenRuleError,
    ColumnError,
    DomainError,
    MissingValueError,
    OutOfRangeError,
    UnknownValueError,
)
from hedgerow.release import Records

DAYS = {"min": "2023-01-01", "max": "2024-12-31", "format": "%d.%m.%Y"}
STAY = {"from": "admitted", "to": "discharged", "min": 0, "max": 90, "unit": "d"}


def stays(start: dict[str, Any] | None = None, length: dict[str, Any] | None = None) -> Domain:
    entries = {"sex": ["F", "M"], "admitted": DAYS | (start or {}), "stay": STAY | (length or {})}
    return domain_from_mapping({"attributes": entries})


def rows(*cells: tuple[Any, Any], **more: list[Any]) -> pa.Table:
    starts, ends = zip(*cells, strict=True)
    return pa.table({"sex": ["F"] * len(cells), "admitted": list(starts), "discharged": list(ends), **more})


@given(
    visits=st.lists(
        st.tuples(st.integers(0, 730), st.integers(0, 90), st.sampled_from(["", "start", "end"])), min_size=1
    ),
    bins=st.sampled_from([None, 3, 90]),
    unit=st.sampled_from([None, "month", "week"]),
)
def test_durations_are_those_of_python(visits: list[tuple[int, int, str]], bins: int | None, unit: str | None) -> None:
    domain = stays(
        {"missing": True} | ({"bins": unit} if unit else {}), {"missing": True} | ({"bins": bins} if bins else {})
    )
    cells, expected = [], []
    stay = domain["stay"]
    for day, length, gap in visits:
        start = date(2023, 1, 1) + timedelta(days=day)
        end = start + timedelta(days=length)
        cells.append(
            ("" if gap == "start" else f"{start:%d.%m.%Y}", "" if gap == "end" else f"{end:%d.%m.%Y}"),
        )
        place = length if bins is None else next(i for i in reversed(range(bins)) if stay.edges[i] <= length)  # type: ignore[attr-defined]
        expected.append(stay.missing_code if gap else place)
    assert read_table(rows(*cells), domain).columns[2].tolist() == expected


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "polars"])
def test_what_is_written_is_the_sum_and_is_read_back(tmp_path: Path, column: bool, form: str) -> None:
    domain = stays({"bins": "month"}, {"bins": 7, "missing": True, "column": column})
    draw = np.random.default_rng(3)
    codes = np.stack([draw.integers(0, each.size, 300) for each in domain], axis=1)
    records = Records(codes, domain, seed=1, tilts={"stay": np.full(7, 0.9), "admitted": np.full(24, -0.5)})
    if form in {"csv", "parquet"}:
        records.write(tmp_path / f"r.{form}")
    source: Any = {
        "csv": tmp_path / "r.csv",
        "parquet": tmp_path / "r.parquet",
        "pandas": records.to_pandas(),
        "polars": records.to_polars(),
    }[form]
    assert np.array_equal(np.stack(read_table(source, domain).columns, axis=1), codes)
    if form != "csv":
        return
    with (tmp_path / "r.csv").open() as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["sex", "admitted", *(["stay"] if column else []), "discharged"]
    for row, code in zip(found, codes[:, 2], strict=True):
        assert (row["discharged"] == "") == (code == 7)
        if code < 7:
            start, end = (datetime.strptime(row[name], "%d.%m.%Y") for name in ("admitted", "discharged"))
            assert timedelta(0) <= end - start <= timedelta(days=90)
            assert not column or end - start == timedelta(days=int(row["stay"]))


def test_times_and_steps() -> None:
    times = {"min": "2024-01-01T00:00", "max": "2024-01-31T23:45", "step": "15min"}
    wait = {"from": "came", "to": "seen", "min": "PT0M", "max": "PT12H", "step": "30min"}
    domain = domain_from_mapping({"came": times, "wait": wait})
    came = datetime(2024, 1, 3, 7, 45)
    table = pa.table({"came": [came] * 3, "seen": [came + timedelta(minutes=m) for m in (0, 30, 720)]})
    assert read_table(table, domain).columns[1].tolist() == [0, 1, 24]
    assert Records([[1, 3]], domain).to_arrow().to_pylist() == [
        {"came": datetime(2024, 1, 1, 0, 15), "seen": datetime(2024, 1, 1, 1, 45)}
    ]
    odd = pa.table({"came": [came], "seen": [came + timedelta(minutes=15)]})
    with pytest.raises(OutOfRangeError, match=r"column 'wait', 1 row .first: 1.: a duration between two"):
        read_table(odd, domain)
    rounded = domain_from_mapping({"came": times, "wait": wait | {"round": True}})
    assert read_table(odd, rounded).columns[1].tolist() == [0]


@pytest.mark.parametrize(
    ("cells", "error", "words"),
    [
        (
            ("02.01.2023", "01.01.2023"),
            OutOfRangeError,
            "'stay', 1 row .first: 2.: a duration outside",
        ),
        (
            ("02.01.2023", "02.09.2023"),
            OutOfRangeError,
            "'stay', 1 row .first: 2.: a duration outside",
        ),
        (("02.01.2023", "31.02.2023"), UnknownValueError, "'discharged', 1 row .first: 2.: a cell that is no date"),
        (("31.02.2023", "02.03.2023"), UnknownValueError, "'admitted', 1 row .first: 2.: a cell that is no date"),
        (("02.01.2023", "2023-01-04"), UnknownValueError, "'discharged', 1 row .first: 2.: a cell that is no date"),
        (("02.01.2023", "02.01.2033"), OutOfRangeError, "'discharged', 1 row .first: 2.: a date outside"),
        (("02.01.2023", ""), MissingValueError, "'discharged', 1 row"),
    ],
)
def test_bad_rows_are_told_once_and_without_values(cells: tuple[str, str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        read_table(rows(("01.01.2023", "02.01.2023"), cells), stays())
    assert "see also" not in str(caught.value)
    for text in cells:
        assert not text or text not in str(caught.value)


def test_a_column_of_the_duration_is_checked() -> None:
    domain = stays({"missing": True}, {"column": True, "missing": True})
    good = [("01.01.2023", "03.01.2023"), ("", "03.01.2023"), ("", ""), ("01.01.2023", "")]
    assert read_table(rows(*good, stay=[2, 5, None, 1]), domain).columns[2].tolist() == [2, 5, 91, 1]
    bad = rows(*good, ("05.01.2023", "06.01.2023"), stay=[2, 5, None, 1, 2])
    with pytest.raises(BrokenRuleError, match=r"1 row .first: 5.: .*rule: admitted . stay = discharged"):
        read_table(bad, domain)
    assert read_table(bad, domain, violations="drop").total() == 4
    with pytest.raises(ColumnError, match="no such column"):
        read_table(rows(*good), domain)


def test_unknown_dates_and_other_values() -> None:
    other = stays({"other": True}, {"other": True})
    cells = [("01.01.2023", "01.01.2024"), ("01.01.1900", "01.01.2023"), ("01.01.2023", "02.01.2023")]
    assert read_table(rows(*cells), other).columns[2].tolist() == [91, 91, 1]
    found = Records([[0, 0, 91], [0, 731, 1], [0, 0, 1]], other).to_arrow()["discharged"].to_pylist()
    assert found == [None, None, date(2023, 1, 2)]


@pytest.mark.parametrize("column", [False, True])
def test_unknown_and_other_durations_stay_apart_in_text(tmp_path: Path, *, column: bool) -> None:
    domain = stays({"missing": "NA"}, {"missing": "?", "other": "far", "column": column})
    length = domain["stay"]
    codes = np.array([[0, 5, length.missing_code], [1, 6, length.other_code], [0, 7, 3], [1, 731, length.other_code]])
    Records(codes, domain, seed=1).write(tmp_path / "r.csv")
    assert np.array_equal(np.stack(read_table(tmp_path / "r.csv", domain).columns, axis=1), codes)


def test_what_is_written_to_a_file_is_read_back() -> None:
    domain = stays({"bins": "month"}, {"column": True})
    again = domain_from_mapping(json.loads(json.dumps(domain_to_mapping(domain))))
    assert again == domain
    assert again.spans == domain.spans == (Span("stay", "admitted", "discharged", column=True),)
    assert domain.of_columns(["discharged", "admitted"]).spans == domain.spans
    assert domain.project(["sex", "stay"]).spans == ()
    assert domain.merge(stays({"bins": "month"}, {"column": True})).spans == domain.spans
    with pytest.raises(DomainError, match="not 'admitted', which it begins at"):
        domain.of_columns(["sex", "stay"])


@pytest.mark.parametrize(
    ("start", "length", "words"),
    [
        ({}, {"unit": None, "min": 0, "max": 90}, "is no duration"),
        ({}, {"step": "1h"}, "no whole number of those of 'admitted'"),
        ({}, {"from": "sex"}, "'sex' holds neither days nor times"),
        ({}, {"from": "discharged"}, "begins at 'discharged', which is no attribute"),
        ({}, {"from": "stay"}, "begins at 'stay', which is no attribute"),
        ({}, {"to": None}, "is not understood"),
        ({}, {"to": "sex"}, "'sex' is the end of 'stay' and declared elsewhere"),
        ({}, {"column": "yes"}, "is not understood"),
        ({"max": "9999-12-01"}, {}, "before the year 1 or after 9999"),
        ({"min": "0001-01-05"}, {"min": -9}, "before the year 1 or after 9999"),
    ],
)
def test_entries_that_are_refused(start: dict[str, Any], length: dict[str, Any], words: str) -> None:
    entry = {option: value for option, value in (STAY | length).items() if value is not None}
    with pytest.raises(DomainError, match=words):
        domain_from_mapping({"attributes": {"sex": ["F", "M"], "admitted": DAYS | start, "stay": entry}})


def test_bins_of_durations_may_be_learnt_and_a_release_keeps_the_rule(tmp_path: Path) -> None:
    entries = {"sex": ["F", "M"], "admitted": DAYS, "stay": STAY | {"bins": {"learn": 4}}}
    wanted = OpenDomain({"attributes": entries})
    assert wanted.fine.spans == wanted.outline.spans
    domain = wanted.with_bins({"stay": [2, 10, 30]})
    draw = np.random.default_rng(1)
    starts = [date(2023, 1, 1) + timedelta(days=int(n)) for n in draw.integers(0, 700, 400)]
    ends = [
        start + timedelta(days=int(n)) for start, n in zip(starts, draw.geometric(0.1, 400).clip(0, 90), strict=True)
    ]
    table = read_table(rows(*zip(starts, ends, strict=True)), domain)
    release = MWEM().run_with(Curator(table, PureDP(5.0), noise=SeededNoise(0)), Workload.marginals(domain, 1))
    release.save(tmp_path / "a.release")
    records = type(release).load(tmp_path / "a.release").sample(200, seed=1).to_arrow()
    assert records.schema.names == ["sex", "admitted", "discharged"]
    for row in records.to_pylist():
        assert timedelta(0) <= row["discharged"] - row["admitted"] <= timedelta(days=90)
