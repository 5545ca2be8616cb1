"""The draft of a domain file: read back it fits the data, and it says what to look at."""

from __future__ import annotations

import json
import math
import re
import tempfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

from hedgerow import MWEM, PureDP, SeededNoise, Workload, synthesize
from hedgerow.data import COUNT_NAMES, Table, draft_domain, read_table
from hedgerow.data.column_summary import Summary
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange, read_domain
from hedgerow.errors import ColumnError, DataError, DomainError, UnreadableTableError
from hedgerow.release import Records, Release
from tests.privacy.mutants import Mutant, killed

DATA = Path(__file__).parents[2] / "examples" / "data"


def drafted(folder: Path, source: Any, **options: Any) -> Domain:
    (folder / "d.yaml").write_text(draft_domain(source, **options))
    return read_domain(folder / "d.yaml", accept_draft=True)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.csv")), ids=lambda path: path.stem)
def test_a_draft_fits_the_data_it_comes_from(path: Path, tmp_path: Path) -> None:
    text = draft_domain(path)
    assert text.startswith(f"# Draft of a domain file for {path.name}.")
    assert "private\n# until someone decides that they are public" in text
    (tmp_path / "d.yaml").write_text(text)
    domain = read_domain(tmp_path / "d.yaml", accept_draft=True)
    read_table(path, domain)
    if path.stem == "adult":
        _check_adult(domain)
    assert ("column of counts" in text.replace("\n  # ", " ")) == any(
        name.lower() in COUNT_NAMES for name in domain.names
    )


def _check_adult(domain: Domain) -> None:
    assert domain["age"] == IntegerRange("age", 10, 90)
    assert domain["education-num"] == IntegerRange("education-num", 1, 16)
    assert domain["workclass"].missing == "?"
    assert isinstance(domain["fnlwgt"], Binned)
    assert domain["fnlwgt"].whole
    assert (domain["fnlwgt"].edges[0], domain["fnlwgt"].edges[-1]) == (0, 1_500_000)


def test_columns(tmp_path: Path) -> None:
    frame = pa.table(
        {
            "id": [f"k{i}" for i in range(60)],
            "constant": ["x"] * 60,
            "empty": pa.nulls(60),
            "nested": [[1]] * 60,
            "flag": [True, False, None] * 20,
            "rare": ["a"] * 59 + ["b"],
            "many": ["NA", "?", "", "u", "v", "u"] * 10,
            "share": [i / 60 for i in range(60)],
            "n": [0, 1] * 30,
        }
    )
    text = draft_domain(frame, name="t")
    for line in (
        '  # "constant": has a single value; leave it out, or list all values that could occur.',
        '  # "empty": has no values; left out.',
        '  # "nested": holds neither texts nor numbers; left out.',
    ):
        assert line in text.splitlines()
    assert (
        "\"id\": 60 distinct texts, perhaps an identifier; leave it out, or list values and 'other: true', or have "
        "those learnt that many rows hold: {'values': {'learn': 500}}."
    ) in text.replace("\n  # ", " ")
    assert 'fewer than 10 rows each: "b"' in text.replace("\n  # ", " ")
    assert 'The texts "?", "NA" are read as missing.' in text.replace("\n  # ", " ")
    domain = drafted(tmp_path, frame)
    assert domain.names == ("flag", "rare", "many", "share", "n")
    assert domain["flag"] == Categorical("flag", (False, True), missing="?")
    assert domain["many"] == Categorical("many", ("u", "v"), missing="?")
    assert domain.layout["many"].missing == ("?", "NA")
    assert isinstance(domain["share"], Binned)
    assert domain["share"].edges == tuple(float(f"{0.05 * i:.12g}") for i in range(21))
    assert domain.ignored == ("id", "constant", "empty", "nested")
    assert read_table(frame, domain).total() == 60


def test_what_is_no_attribute_is_left_out_with_the_reason(tmp_path: Path) -> None:
    frame = pa.table(
        {
            "": range(60),
            "__index_level_0__": range(60),
            "amount": range(100, 60100, 1000),
            "case_id": range(1000, 1240, 4),
        }
    )
    text = draft_domain(frame, name="t")
    assert '  # "": looks like the row index of pandas; left out.' in text.splitlines()
    assert '"__index_level_0__": looks like the row index' in text
    assert "if this is an identifier, leave it out" in text.replace("\n  # ", " ")
    assert '"case_id": whole numbers that are all different' in text
    found = drafted(tmp_path, frame)
    assert (found.names, found.ignored) == (("amount",), ("", "__index_level_0__", "case_id"))


def test_options(tmp_path: Path) -> None:
    frame = pa.table({"a": ["x", "y", "z"], "b": [1, 2, 3]})
    assert drafted(tmp_path, frame, columns=["b"]).names == ("b",)
    assert "3 distinct texts" in draft_domain(frame, max_values=2)


def test_columns_with_very_many_values() -> None:
    text = draft_domain(pa.table({"id": [f"k{i}" for i in range(10_001)], "x": np.arange(10_001.0)}))
    assert "more than 10,000 distinct texts" in text
    assert '"x": {"edges": [0, 500,' in text
    assert '10000], "whole": true, "type": "double"}' in text


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="no such column"):
        draft_domain(pa.table({"a": [1]}), columns=["b"])
    with pytest.raises(ColumnError, match="more than once"):
        draft_domain(pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]))
    with pytest.raises(UnreadableTableError, match="no rows"):
        draft_domain(pa.table({"a": pa.array([], pa.int64())}))
    with pytest.raises(UnreadableTableError, match="No such file"):
        draft_domain(tmp_path / "nowhere.csv")


cells = st.one_of(
    st.none(),
    st.sampled_from(["?", "NA", "", "x", "y z", 'q"', "1", "2", "-3", "007", "1e3", " 5", "nan", "inf", "true"]),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(-1e9, 1e9).map(repr),
)


@given(st.lists(cells, min_size=1, max_size=30), st.sampled_from(["text", "float", "int"]))
def test_any_column_that_is_drafted_can_be_read(column: list[str | None], kind: str) -> None:
    values: Any = pa.array(column, pa.string())
    if kind != "text":
        numbers = [len(cell or "") * (0.5 if kind == "float" else 1) for cell in column]
        values = pa.array(numbers, pa.float64() if kind == "float" else pa.int64())
    frame = pa.table({"a": values, "b": ["u"] * (len(column) - 1) + ["v"], "c": range(len(column))})
    text = draft_domain(frame)
    if '\n  "a": {' in text:
        with tempfile.TemporaryDirectory() as folder:
            read_table(frame, drafted(Path(folder), frame), columns=["a"])


@st.composite
def numbers_of_a_kind(draw: st.DrawFn) -> list[float]:
    """Numbers that are multiples of a step, some of them heaped on a few values, of both signs or skewed."""
    step = draw(st.sampled_from([1, 5, 10, 25, 100, 0.5, 0.25, 0.01]))
    lowest = draw(st.sampled_from([0, -150, -(10**4)]))
    multiples = st.integers(lowest, draw(st.sampled_from([3, 20, 150, 10**4])))
    numbers = draw(st.lists(multiples, min_size=2, max_size=40, unique=True))
    if draw(st.booleans()):
        numbers = [int(math.copysign(number * number, number)) for number in numbers]
    heap = [numbers[0]] * draw(st.sampled_from([0, 3, 30]))
    return [round(number * step, 2) for number in (numbers + heap) * draw(st.sampled_from([1, 12]))]


@given(numbers_of_a_kind(), st.booleans())
@example([10.0 * number for number in range(10, 40)] * 2 + [150.0] * 60, True)
def test_a_draft_of_heaped_coarse_or_skewed_numbers_reads_its_table(numbers: list[float], as_texts: bool) -> None:
    cells: Any = [repr(number).removesuffix(".0") if as_texts else number for number in numbers]
    frame = pa.table({"a": cells, "b": ["u", "v"] * (len(cells) // 2) + ["w"] * (len(cells) % 2)})
    with tempfile.TemporaryDirectory() as folder:
        domain = drafted(Path(folder), frame)
        assert read_table(frame, domain).total() == len(cells)


def test_a_column_that_its_own_draft_refuses_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the draft forgets that cells are empty."""
    table = pa.table({"x": [*range(100), None], "y": ["a", "b", "b"] * 33 + ["a", "b"]})
    assert '"x": {"min": 0' in draft_domain(table)
    monkeypatch.setattr(Summary, "missing_texts", [])
    text = draft_domain(table)
    assert '  - "x"' in text
    assert "the draft of it was tried and refused: an empty cell" in text.replace("\n  # ", " ")
    assert '"y": {"values": ["a", "b"]}' in text


DAYS = [date(2020, 1, 15) + timedelta(days=13 * number) for number in range(80)]
MOMENTS = [datetime(2024, 1, 5) + timedelta(minutes=15 * number) for number in range(500)]


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        (DAYS, {"min": "2020-01-01", "max": "2022-12-31", "bins": "month"}),
        (DAYS[:5], {"min": "2020-01-01", "max": "2020-03-31"}),
        (pd.Series(pd.to_datetime(DAYS)), {"min": "2020-01-01", "max": "2022-12-31", "bins": "month"}),
        ([*map(str, DAYS), ""], {"min": "2020-01-01", "max": "2022-12-31", "bins": "month", "missing": "?"}),
        (
            [f"{day:%d.%m.%Y}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%d.%m.%Y", "bins": "month"},
        ),
        (
            [f"{day:%m/%d/%Y}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%m/%d/%Y", "bins": "month"},
        ),
        (
            [f"{moment:%Y-%m-%d %H:%M}" for moment in MOMENTS],
            {
                "min": "2024-01-01T00:00",
                "max": "2024-01-31T23:45",
                "step": "15min",
                "bins": "day",
                "format": "%Y-%m-%d %H:%M",
            },
        ),
        (
            [f"{moment.isoformat()}+01:00" for moment in MOMENTS],
            {
                "min": "2024-01-01T00:00",
                "max": "2024-01-31T23:45",
                "step": "15min",
                "bins": "day",
                "format": "%Y-%m-%dT%H:%M:%S+01:00",
            },
        ),
        (
            [f"{moment.isoformat()}{offset}" for moment, offset in zip(MOMENTS, ["Z", "+01:00"] * 99, strict=False)],
            {"min": "2024-01-01T00:00", "max": "2024-01-31T23:45", "step": "15min", "bins": "day", "zone": "UTC"},
        ),
        (
            [f"{day:%d-%b-%y}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%d-%b-%y", "bins": "month"},
        ),
        (
            [f"{day.month}/{day.day}/{day.year}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%-m/%-d/%Y", "bins": "month"},
        ),
        (
            [f"{hour % 12 or 12}:05 {'AM' if hour < 12 else 'PM'}" for hour in range(24)],
            {"min": "00:00", "max": "23:59", "step": "1min", "format": "%-I:%M %p", "bins": 24},
        ),
        (
            [f"{day:%Y%m%d}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%Y%m%d", "bins": "month"},
        ),
        (
            [f"{day:%d%m%Y}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%d%m%Y", "bins": "month"},
        ),
        (
            [f"{day:%d %b %Y}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%d %b %Y", "bins": "month"},
        ),
        (
            [f"{day:%B %d, %Y}" for day in DAYS],
            {"min": "2020-01-01", "max": "2022-12-31", "format": "%B %d, %Y", "bins": "month"},
        ),
        (
            [f"{moment + timedelta(days=15):%m/%d/%Y %I:%M:%S %p}" for moment in MOMENTS],
            {
                "min": "2024-01-01T00:00",
                "max": "2024-01-31T23:45",
                "step": "15min",
                "bins": "day",
                "format": "%m/%d/%Y %I:%M:%S %p",
            },
        ),
        (["36.6", "35.2", "41.9", "37"], {"min": 35, "max": 42, "step": 0.1}),
        ([f"{hour:02d}:15" for hour in range(24)], {"min": "00:00", "max": "23:45", "step": "15min"}),
        (
            [f"{hour:02d}:15:00" for hour in range(24)],
            {"min": "00:00", "max": "23:45", "step": "15min", "format": "%H:%M:%S"},
        ),
        (
            [f"{hour:02d}:30:00" for hour in range(26)],
            {"min": "PT0S", "max": "P1DT2H", "step": "15min", "format": "%H:%M:%S"},
        ),
        ([f"PT{hour}H" for hour in range(6)], {"min": "PT0S", "max": "PT5H", "step": "1h"}),
        ([timedelta(hours=n) for n in (-3, 5)], {"min": "-PT3H", "max": "PT5H", "step": "1h"}),
        (
            [str(pd.Timedelta(hours=n)) for n in range(72)],
            {"min": "PT0S", "max": "P3D", "step": "1h", "format": "%d days %H:%M:%S"},
        ),
        ([time(8, 0), time(22, 30)], {"min": "00:00", "max": "23:45", "step": "15min"}),
        ([0.25, 99.5, 1210.75], {"min": 0, "max": 1211, "step": 0.01, "bins": 20}),
    ],
)
def test_dates_times_and_decimals(cells: Any, entry: dict[str, Any], tmp_path: Path) -> None:
    table = pd.DataFrame({"x": cells}) if isinstance(cells, pd.Series) else pa.table({"x": cells})
    text = draft_domain(table, name="t")
    (written,) = [line for line in text.splitlines() if line.startswith('  "x": ')]
    found = json.loads(written.removeprefix('  "x": '))
    kind = found.pop("type", None)
    assert (kind == "string") == isinstance(cells[0], str)  # a column of texts stays one
    assert (kind or "").startswith("timestamp") == isinstance(cells, pd.Series)
    assert found == entry
    read_table(table, drafted(tmp_path, table))


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        (["01067", "99084", "00501"], {"values": ["00501", "01067", "99084"]}),  # codes, whose zeros count
        (["12345678", "20230101", "99999999"] * 50, None),  # eight digits that are not all dates
        (["02020101", "02020102"] * 50, {"values": ["02020101", "02020102"]}),  # nor of this age
        ([f"{100 * number}" for number in range(11, 800)], {"min": 1100, "max": 79900, "step": 100, "bins": 20}),
        (["250", "500", "1000"] * 9, {"min": 250, "max": 1000, "step": 250}),
        (
            ["0", "3.258096", "4.61512"] * 20,
            {"min": 0, "max": 5, "step": 1e-6, "bins": 2, "points": [0, 3.258096, 4.61512], "digits": 0},
        ),
        ([" ", "X", "Y", "X "], {"values": ["X", "Y"], "trim": True, "missing": "?", "null": ""}),
        ([f"{2**53 + 2 * number}" for number in range(50)], None),
        ([f"{number:05d}" for number in range(3000)], None),  # codes that are too many to list
        (
            [f"{1_600_000_000_000 + 777_000 * number}" for number in range(50)],
            {"min": "2020-09-01T00:00", "max": "2020-09-30T23:59:59", "step": "1s", "bins": "day", "unit": "ms"},
        ),
        (
            [f"{(1_600_000_000 + 777 * number) * 10**9 + 5}" for number in range(50)],
            {
                "min": "2020-09-01T00:00",
                "max": "2020-09-30T23:59:59",
                "step": "1s",
                "bins": "day",
                "unit": "ns",
                "round": True,
            },
        ),
        (
            [f"{100 * hour + minute}" for hour in range(24) for minute in (0, 15, 45)],
            {"min": "00:00", "max": "23:59", "step": "1min", "bins": 24, "format": "%H%M", "type": "int64"},
        ),
        ([f"{100 * number + 7}" for number in range(80)], {"edges": list(range(0, 8001, 500)), "whole": True}),
        ([f"{number}" for number in range(1, 32)], {"min": 1, "max": 31}),
        ([f"{number}" for number in range(2, 32)], {"min": 0, "max": 40}),
    ],
)
def test_codes_rounded_numbers_and_few_ones(cells: list[str], entry: dict[str, Any] | None, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,y", *(f"{cell},{row % 2}" for row, cell in enumerate(cells))]) + "\n")
    text = draft_domain(path)
    found = [json.loads(line.removeprefix('  "x": ')) for line in text.splitlines() if line.startswith('  "x": ')]
    if entry is not None:
        assert found == [entry]
    elif found:
        assert "format" not in found[0]
    else:
        assert '"x": {' not in text
    if found:
        assert read_table(path, drafted(tmp_path, path)).total() == len(cells)


def _draws_the_line(kept: list[Any], beyond: list[Any], words: str) -> None:
    """A draft says something of some cells, and not of others that lie just beyond a line of its rules."""
    for cells, says in ((kept, True), (beyond, False)):
        rows = range(len(cells))
        draft = draft_domain(pa.table({"x": cells, "y": [row % 2 for row in rows]}))
        entry = next((line for line in draft.splitlines() if line.startswith('  "x": ')), "none")
        assert (words in entry) is says


def _half_below(middle: int) -> list[int]:
    """Whole numbers from 1 to 10,000, half of them evenly up to a number and half of them evenly above it."""
    parts = np.arange(1, 51)
    return [*(middle * parts // 50).tolist(), *(middle + (10_000 - middle) * parts // 50).tolist()] * 4


def _days(*days: str) -> list[str]:
    return [*days, "19990101"] * 40


LINES: list[tuple[str, tuple[Any, ...], tuple[list[Any], list[Any], str]]] = [
    ("proposals._COARSE", (4, 6), ([5 * n for n in range(60)] * 10, [4 * n for n in range(60)] * 10, '"step"')),
    (
        "proposals._FEW_CODES",
        (11, 13),
        ([n / 4 for n in range(12)] * 20, [n / 4 for n in range(13)] * 20, '"bins": 2,'),
    ),
    ("proposals._SKEWED", (0.05, 0.2), (_half_below(900), _half_below(1150), "70, 100, 150")),
    (
        "proposals._EXACT",
        (2**53 - 1, 2**53 + 2),
        ([*range(2**53 - 595, 2**53 + 1, 7)], [*range(2**53 - 593, 2**53 + 3, 7)], "{"),
    ),
    ("proposals._FAR_APART", (1.8, 1.2), ([20, 40, 60] * 40 + [99] * 40, [20, 40, 70] * 40 + [99] * 40, "99")),
    (
        "kinds._PLAUSIBLE",
        (range(-43_828, 47_482), range(-43_830, 47_482)),
        (_days("18500101", "20991231"), _days("18491231"), "%Y%m%d"),
    ),
    (
        "kinds._PLAUSIBLE",
        (range(-43_829, 47_481), range(-43_829, 47_483)),
        (_days("20991231"), _days("21000101"), "%Y%m%d"),
    ),
]
"""Numbers that rules of a draft are drawn at: wrong ones, cells on both sides of the right one, and what is said."""

MUTANTS = [
    Mutant(
        f"{name.rpartition('.')[2].strip('_').lower()} of a draft is {wrong}",
        lambda patch, name=name, wrong=wrong: patch.setattr(f"hedgerow.data.{name}", wrong),  # type: ignore[misc]
        lambda cells=cells: _draws_the_line(*cells),  # type: ignore[misc]
    )
    for name, wrongs, cells in LINES
    for wrong in wrongs
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


@pytest.mark.parametrize("low", [5 * 10**13, 5 * 10**15, 2**53 - 700])
def test_large_numbers_that_lie_close_together_have_bins(low: int, tmp_path: Path) -> None:
    table = pa.table({"x": [low + 7 * n for n in range(100)], "y": ["a", "b"] * 50})
    edges = drafted(tmp_path, table)["x"].edges
    assert len(edges) > 10
    assert low - 100 < edges[0] <= low
    assert low + 693 <= edges[-1] < low + 800


def test_money_with_both_signs_gets_bins_that_widen_on_both_sides(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    money = np.round(np.sinh(draw.normal(0.0, 3.0, 5_000)) * 100.0, 2)
    table = pa.table({"x": money, "y": ["a", "b"] * 2_500})
    domain = drafted(tmp_path, table)
    column = domain["x"]
    assert isinstance(column, Binned)
    edges = np.array(column.edges) * 0.01  # in cents
    assert 0.0 in edges
    inside = np.histogram(money, edges)[0]
    assert inside.sum() == 5_000
    assert inside.max() < 0.15 * 5_000  # of twenty equal bins one holds nearly all
    assert read_table(table, domain).total() == 5_000


def test_what_a_column_of_numbers_and_other_texts_lacks_is_told() -> None:
    cells = [*map(str, range(1000, 2000)), *["x"] * 50, *["y"] * 40, *["NA"] * 30, *["-"] * 20]
    text = draft_domain(pa.table({"x": cells, "y": ["a", "b"] * (len(cells) // 2)})).replace("\n  # ", " ")
    assert '"x": 91.7 % of the texts are numbers; the others begin with "-", "NA", "x", "y".' in text
    assert "list these under 'missing'" in text
    assert "perhaps an identifier" not in text


@pytest.mark.parametrize("odd", ["13.03.2023", "soon"])
def test_two_forms_of_dates_are_told_with_the_share_of_each(odd: str) -> None:
    days = [str(date(2023, 1, 1) + timedelta(days=n)) for n in range(199)]
    draft = draft_domain(pa.table({"d": [*days, odd], "y": ["a", "b"] * 100})).replace("\n  # ", " ")
    assert '99.5 % of the distinct texts are dates or times written as "2023-01-01"' in draft
    assert f'and others as "{odd}". Write all in one form' in draft


def test_several_spellings_of_a_missing_number_are_one(tmp_path: Path) -> None:
    cells = [*map(str, range(1000, 2000)), *["."] * 50, *["n/a"] * 40, *["NA"] * 30, *["-"] * 20, *["inf"] * 2]
    table = pa.table({"x": cells, "y": ["a", "b"] * (len(cells) // 2)})
    domain = drafted(tmp_path, table)
    assert domain.layout["x"].missing == ("NA", "-", ".", "n/a", "inf")
    read = read_table(table, domain)
    assert int((read.columns[0] == domain["x"].missing_code).sum()) == 142


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("${:,}.50", {"pattern": "$#,##0.00"}),
        ("{:,}", {"pattern": "#,##0"}),
        ("{} cm", {"pattern": "0 cm"}),
        ("{}.5%", {"pattern": "0.0%"}),
        ("€ {}", {"pattern": "€ 0"}),
        ("{} EUR", {"pattern": "0 EUR"}),
        ("1.{},5", {"pattern": "#,##0.0", "decimal": ","}),
    ],
)
def test_numbers_among_other_signs_have_a_pattern(form: str, options: dict[str, str], tmp_path: Path) -> None:
    numbers = range(100, 990) if "1." in form else range(1000, 9000, 7)
    cells = [form.format(number) for number in numbers]
    table = pa.table({"x": cells, "y": [*["a", "b"] * (len(cells) // 2), *["a"] * (len(cells) % 2)]})
    domain = drafted(tmp_path, table)
    written = domain.layout["x"]
    assert {name: getattr(written, name) for name in ("pattern", "decimal") if getattr(written, name)} == options
    read = read_table(table, domain)
    assert read.total() == len(cells)
    drawn = Records(np.column_stack(read.columns), domain, seed=0)
    drawn.write(tmp_path / "out.csv")
    assert read_table(tmp_path / "out.csv", domain).columns[0].tolist() == read.columns[0].tolist()


def test_numbers_among_brackets_alone_and_codes_have_none() -> None:
    cells = [f"({number:,}.00)" for number in range(1000, 9000, 7)]
    text = draft_domain(pa.table({"x": cells, "y": ["a", "b", "c"] * 381})).replace("\n  # ", " ")
    assert f'100 % of the distinct texts are a number among other signs, as "{cells[0]}"' in text
    codes = draft_domain(pa.table({"x": [f"A{number}" for number in range(1143)], "y": ["a", "b", "c"] * 381}))
    assert "perhaps an identifier" in codes


def test_a_file_that_begins_with_a_record_is_noticed(tmp_path: Path) -> None:
    rows = [f"{20 + row % 50},{'FM'[row % 2]},{row % 9}" for row in range(300)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    question = "the first line is a record like the others"
    assert question in draft_domain(tmp_path / "t.csv")
    domain = drafted(tmp_path, tmp_path / "t.csv")
    assert domain.names == ("c1", "c2", "c3")
    assert read_table(tmp_path / "t.csv", domain).total() == 300
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,n", *rows]) + "\n")
    assert question not in draft_domain(tmp_path / "t.csv").replace("\n  # ", " ")


def test_dates_that_are_whole_numbers_come_back_as_such(tmp_path: Path) -> None:
    numbers = [int(f"{day:%d%m%Y}") for day in DAYS] + [None]
    table = pa.table({"x": pa.array(numbers, pa.int32()), "y": ["a", "b", "b"] * 27})
    domain = drafted(tmp_path, table)
    read = read_table(table, domain, columns=["x"])
    made = Records(np.stack(read.columns, axis=1), domain.of_columns(["x"]))
    pq.write_table(made.to_arrow(), tmp_path / "made.parquet")
    again = pq.read_table(tmp_path / "made.parquet")
    assert again.schema.field("x").type == pa.int32()
    assert read_table(again, domain, columns=["x"]).columns[0].tolist() == read.columns[0].tolist()
    with pytest.raises(DataError, match="1 row"):
        read_table(pa.table({"x": [31_022_020]}), domain, columns=["x"])


def test_days_and_months_that_could_be_exchanged_are_told() -> None:
    cells = ["01/02/2020", "03/04/2020", "05/06/2020"]
    assert "are day and month where it says?" in draft_domain(pa.table({"x": cells}))
    assert "are day and month where it says?" not in draft_domain(pa.table({"x": [*cells, "31/12/2020"]}))
    mixed = pa.table({"x": [*(f"{day:%d.%m.%Y}" for day in DAYS), "2020-01-01"]})
    assert '"x": 98.8 % of the distinct texts are dates' in draft_domain(mixed)


@pytest.mark.parametrize(
    ("digits", "scale", "entry"),
    [
        (2, 100.0, {"step": 0.01}),
        (0, 3000.0, {"whole": True}),
        (1, 5.0, {"step": 0.1}),
        (6, 0.01, {"step": 1e-6}),
        (7, 0.01, {}),
    ],
)
def test_skewed_numbers_get_edges_in_round_steps_where_their_bulk_lies(
    digits: int, scale: float, entry: dict[str, Any], tmp_path: Path
) -> None:
    draw = np.random.default_rng(digits)
    numbers = scale * np.exp(draw.normal(0.0, 1.3, 5_000)) + 10.0 ** -min(digits, 6)
    table = pa.table({"x": [f"{number:.{digits}f}" for number in numbers], "y": ["a", "b"] * 2_500})
    text = draft_domain(table, columns=["x"], name="t")
    (line,) = [line for line in text.splitlines() if line.startswith('  "x": ')]
    found = json.loads(line.removeprefix('  "x": '))
    edges = found.pop("edges")
    assert found == entry | {"type": "string"}
    low, high = np.quantile(numbers, [0.01, 0.99])
    inner = [edge for edge in edges if low < edge < high]
    assert len(inner) > 6
    assert all(
        Decimal(f"{edge:e}").as_tuple().digits[:2] in {(1, 0), (1, 5), (2, 0), (3, 0), (5, 0), (7, 0)} for edge in inner
    )
    assert all(1.3 < after / before <= 2.01 for before, after in pairwise(inner) if before >= 2 * entry.get("step", 0))
    assert len([edge for edge in edges if edge <= low]) <= 3
    domain = drafted(tmp_path, table, columns=["x"])
    assert read_table(table, domain, columns=["x"]).total() == 5_000


def test_the_draft_of_a_place_is_that_of_its_table(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"n": pa.array([1, 2, 3, 4], pa.int16()), "w": [timedelta(hours=n) for n in range(4)]})
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    text = draft_domain(f"duckdb://{tmp_path}/t.db#t")
    assert '"n": {"min": 1, "max": 4, "type": "int16"}' in text
    assert '"w": {"min": "PT0S", "max": "PT3H", "step": "1h"}' in text


def entry_of(text: str, column: str) -> dict[str, Any]:
    (line,) = [line for line in text.splitlines() if line.startswith(f'  "{column}": ')]
    return dict(json.loads(line.removeprefix(f'  "{column}": ')))


def test_one_text_among_many_numbers_is_a_missing_number(tmp_path: Path) -> None:
    incomes = [str(300 * n) for n in range(1, 400)]
    table = pa.table({"income": incomes + ["N"] * 101, "code": ["1", "2", "3", "N", "4"] * 100, "z": ["a", "b"] * 250})
    text = draft_domain(table)
    found = entry_of(text, "income")
    assert (found["missing"], found["null"]) == ("N", "N")
    assert 'The text "N" is read as a missing number.' in " ".join(text.replace("#", " ").split())
    assert entry_of(text, "code")["values"] == ["1", "2", "3", "4", "N"]  # a list of codes stays one
    domain = drafted(tmp_path, table)
    read = read_table(table, domain)
    assert (read.columns[0] == domain["income"].missing_code).sum() == 101


@pytest.mark.parametrize("other", ["M", "", "?"])
def test_several_texts_among_numbers_make_no_column_of_numbers(other: str) -> None:
    table = pa.table({"x": [str(3 * n) for n in range(498)] + ["N", other]})
    assert '"x": ' in draft_domain(table).split("ignore:")[1]


def test_few_numbers_below_nought_do_not_hide_that_a_column_is_skewed(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    numbers = np.concatenate([np.exp(draw.normal(10.0, 1.0, 4_000)).astype(int), np.zeros(900, int), [-3_200] * 100])
    table = pa.table({"x": [str(number) for number in numbers]})
    edges = entry_of(draft_domain(table), "x")["edges"]
    assert edges[:3] == [-5000, 0, 1]
    low, high = np.quantile(numbers[numbers > 0], [0.01, 0.99])
    assert all(after / before <= 2.01 for before, after in pairwise(edges) if low < before < high / 2)
    assert len(edges) < 40
    assert read_table(table, drafted(tmp_path, table)).total() == 5_000


def entries_of(table: Any) -> dict[str, Any]:
    lines = [line for line in draft_domain(table, name="t").splitlines() if line.startswith('  "')]
    return {name: json.loads(entry) for name, entry in (line.strip()[1:].split('": ', 1) for line in lines)}


def test_numbers_in_place_of_an_answer_are_missing_or_codes() -> None:
    answers = np.arange(600) % 50 + 18
    found = entries_of(
        pa.table(
            {
                "negative": np.where(np.arange(600) % 10 == 0, -9, answers),
                "nines": np.where(np.arange(600) % 10 == 0, 999, answers),
                "agree": np.where(np.arange(600) % 10 == 0, 98, np.arange(600) % 5 + 1),
                "age": np.arange(600) % 100,
                "change": np.arange(600) % 50 - 9,
            }
        )
    )
    assert found["negative"] == {"min": 10, "max": 70, "missing": "-9", "null": "-9"}
    assert found["nines"] == {"min": 10, "max": 70, "missing": "999", "null": "999"}
    assert found["agree"] == {"values": [1, 2, 3, 4, 5, 98]}
    assert found["age"] == {"min": 0, "max": 100}
    assert found["change"]["min"] == -10


def test_labels_that_look_like_numbers_with_units_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{('5mg', '10mg', '20 mg')[row % 3]},{row % 2}\n" for row in range(300)))
    assert entries_of(path)["x"] == {"values": ["5mg", "10mg", "20 mg"]}


def test_a_declared_order_of_labels_is_kept() -> None:
    levels = ["low", "medium", "high"]
    cells = pd.Categorical(["high", "low", "medium"] * 30, categories=levels, ordered=True)
    assert entries_of(pd.DataFrame({"x": cells}))["x"]["values"] == levels
    unordered = pd.Categorical(["high", "low", "medium"] * 30, categories=levels)
    assert entries_of(pd.DataFrame({"x": unordered}))["x"]["values"] == sorted(levels)


def test_categories_that_are_no_texts_keep_their_type() -> None:
    cells = {"n": [1, 2, 3], "flag": [False, True, False], "day": [*pd.date_range("2020-01-01", periods=3)]}
    drafted_as = entries_of(pd.DataFrame({name: pd.Categorical(some * 90) for name, some in cells.items()}))
    assert drafted_as["n"] == {"min": 1, "max": 3}
    assert drafted_as["flag"] == {"values": [False, True]}
    assert "dictionary" not in str(drafted_as["day"])


def test_intervals_periods_and_cells_of_several_types_of_a_data_frame_are_labels(tmp_path: Path) -> None:
    ages = pd.Series([3.0, 12.0, 40.0, np.nan] * 50)
    months = pd.period_range("2020-01", periods=4, freq="M")
    frame = pd.DataFrame(
        {
            "cut": pd.cut(ages, [0, 10, 20, 50]),
            "between": pd.cut(ages.fillna(3.0), [0, 10, 20, 50]).astype("interval[float64]"),
            "month": pd.Series([*months] * 50, dtype="period[M]"),
            "mixed": pd.Series(["x", 1, 2.5, "y"] * 50, dtype=object),
        }
    )
    domain = drafted(tmp_path, frame)
    labels = ["(0, 10]", "(10, 20]", "(20, 50]"]
    assert domain["cut"] == Categorical("cut", tuple(labels), missing="?")
    assert domain["between"].labels == tuple(each.replace("0,", "0.0,").replace("0]", "0.0]") for each in labels)
    assert (domain["month"].labels[0], domain["month"].labels[-1]) == ("2020-01", "2020-04")
    assert domain["mixed"].labels == ("1", "2.5", "x", "y")
    codes = read_table(frame, domain).columns
    assert [codes[domain.index(name)][:4].tolist() for name in ("cut", "mixed")] == [[0, 1, 2, 3], [2, 0, 1, 3]]


def test_a_table_without_a_usable_column_is_told_so() -> None:
    with pytest.raises(DomainError, match="at least one attribute") as caught:
        synthesize(pd.DataFrame({"a": [1], "b": ["x"]}), accept_draft=True)
    assert "comments" in caught.value.remedy


def test_columns_that_follow_from_others_are_named() -> None:
    rows = np.arange(600)
    begins = np.datetime64("2021-01-01") + rows % 300
    table = pa.table(
        {
            "town": [f"t{row % 12:02d}" for row in rows],
            "region": [f"r{row % 12 // 4}" for row in rows],
            "admitted": begins,
            "left": begins + (rows * 7) % 60,
            "born": np.datetime64("2021-01-01") + (rows * 37) % 300,
        }
    )
    text = " ".join(draft_domain(table, name="t").partition("# Seen, and")[2].replace("#", " ").split())
    assert "{determines: [town, region], table: FILE}" in text
    assert "{from: admitted, to: left, min: 0, max: 92, unit: d}" in text
    assert text.count("determines") == text.count("from:") == 1
    assert "# Seen" not in draft_domain(table.select(["town", "born"]), name="t")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_values_at_once_are_seen_as_they_are_one_by_one(seed: int) -> None:
    """A batch of many distinct values is looked at as a whole, batches of few ones value by value."""
    rng = np.random.default_rng(seed)
    n = 12_000  # more than are tracked one by one
    seconds = rng.integers(0, 10**8, n)
    columns = {
        "whole": rng.integers(-(10**9), 10**9, n),
        "texts": pa.array([f"{number:.{number % 4}f}" for number in rng.integers(0, 10**7, n)]),
        "fractions": pa.array([f"{number / 1000:.3f}" for number in rng.normal(0, 10**7, n)]),
        "hundreds": 100 * rng.integers(10**3, 10**8, n),
        "times": pa.array(seconds, pa.timestamp("s")),
        "spelled": pa.array(seconds, pa.timestamp("s")).cast(pa.string()),
        "odd": pa.array([f"{number}" if number % 50 else "n/k" for number in rng.integers(0, 10**8, n)]),
        "words": pa.array([f"w{number}" for number in rng.integers(0, 10**8, n)]),
        "padded": pa.array([f"{number:08d}" for number in rng.integers(0, 10**7, n)]),
    }
    table = pa.table(columns)
    slices = [table.slice(first, 500) for first in range(0, n, 500)]
    assert draft_domain(table, name="t") == draft_domain(pa.concat_tables(slices), name="t")


def release(table: Table) -> Release:
    """A release of two columns with hardly any noise."""
    return MWEM(rounds=1).run(table, Workload.marginals(table.domain, 1), PureDP(1e3), noise=SeededNoise(3))


QUOTED = ('"x"', '"y"')


@pytest.mark.parametrize(
    ("lines", "quoting"),
    [
        (['"a","b"', *(f'"{"xy"[n % 2]}",{n % 40}' for n in range(90))], "non_numeric"),
        (['"a","b"', *(f'"{"xy"[n % 2]}","{n % 40}.5"' for n in range(90))], "always"),
        (["a,b", *(f'"{"xy"[n % 2]}, {n % 3}",{n % 40}' for n in range(90))], None),
        (['"a","b"', *(f"{QUOTED[n % 2] if n % 9 else 'NA'},1{n % 9}" for n in range(90))], "non_numeric"),
        (["a,b", *(f"{QUOTED[n % 2] if n % 2 else 'x'},{n % 40}" for n in range(90))], None),
    ],
)
def test_quotes_come_back_as_they_were(lines: list[str], quoting: str | None, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    domain = drafted(tmp_path, str(tmp_path / "t.csv"))
    assert domain.layout.file.entry.get("quoting") == quoting
    table = read_table(tmp_path / "t.csv", domain)
    made = release(table)
    made.write_records(tmp_path / "o.csv", 50)
    head, *records = (tmp_path / "o.csv").read_text().splitlines()
    assert head == lines[0]
    signs = {
        None: r'(?:"[xy], \d"|[xy]),\d+',
        "non_numeric": r'(?:"[xy]"|NA|"NA"),\d+',
        "always": r'"[xy]","\d+\.\d"',
    }
    assert all(re.fullmatch(signs[quoting], record) for record in records), records[:3]


@pytest.mark.parametrize(
    ("numbers", "digits"),
    [
        (["0.5", "1.0", "2.25", "0.125"], 1),
        (["0.5", "1", "2.25", "3"], 0),
        (["0.50", "1.00", "2.25", "3.75"], None),
        (["0.50", "1.0", "2.25", "3.75"], None),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_digits_that_are_written_as_needed(numbers: list[str], digits: int | None, many: bool, tmp_path: Path) -> None:
    rows = [number for number in numbers for _ in range(30)]
    if many:  # more than are looked at one by one
        whole = [f"{n}{number[1:]}" for n in range(3, 3_000) for number in numbers]
        rows += whole
    (tmp_path / "t.csv").write_text("x,k\n" + "".join(f"{number},{'ab'[n % 2]}\n" for n, number in enumerate(rows)))
    domain = drafted(tmp_path, str(tmp_path / "t.csv"))
    assert domain.layout["x"].digits == digits
    table = read_table(tmp_path / "t.csv", domain)
    made = release(table)
    made.write_records(tmp_path / "o.csv", 200)
    drawn = [line.partition(",")[0] for line in (tmp_path / "o.csv").read_text().splitlines()[1:]]
    if digits is None:
        assert {len(text.partition(".")[2]) for text in drawn} == {2}
    else:
        assert all(text == f"{float(text):.{digits}f}" or not text.endswith(("0", ".")) for text in drawn)
        assert many or {text for text in drawn if float(text) in {1.0, 3.0}} <= {"1.0", "1", "3"}


def test_a_file_that_was_cut_is_refused_and_a_line_of_sums_is_not(tmp_path: Path) -> None:
    lines = "a,b\n" + "".join(f"{n % 40},{'xy'[n % 2]}\n" for n in range(90))
    (tmp_path / "cut.csv").write_text(lines + "3")
    with pytest.raises(UnreadableTableError, match="another number of fields") as caught:
        draft_domain(str(tmp_path / "cut.csv"))
    assert list(caught.value.rows) == [91]
    (tmp_path / "sum.csv").write_text(lines + "780\n")
    assert 'format: {"footer": 1}' in draft_domain(str(tmp_path / "sum.csv"))


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        ([*map(str, range(90)), "90+"], {"min": 0, "max": 90, "other": "90+"}),
        ([*map(str, range(10, 60)), "*"], {"min": 10, "max": 60, "missing": "*", "null": "*"}),
        (["18-24", "25-34", "65+", "<18"], {"values": ["<18", "18-24", "25-34", "65+"]}),
        (["A", "A;B", "B;C", "B"], {"values": ["A", "A;B", "B", "B;C"]}),
        (
            [*(f"{n}.{n:02d}" for n in range(90)), *(f"{n}.50-" for n in range(5, 30))],
            {"min": -30, "max": 90, "step": 0.01, "bins": 20, "pattern": "0.00;0.00-"},
        ),
        (
            [f"2024-03-{day:02d} 15:10:{day}.{day}" for day in range(10, 30)],
            {"min": "2024-03-01T00:00", "max": "2024-03-31T23:59:59", "step": "1s", "bins": "day", "round": True},
        ),
        (
            [f"2024-03-{day:02d}T15:10:{day}.000Z" for day in range(10, 30)],
            {"min": "2024-03-01T00:00", "max": "2024-03-31T23:59:59", "step": "1s", "bins": "day"}
            | {"format": "%Y-%m-%dT%H:%M:%S.000Z"},
        ),
        (
            [*(f"{n}.{n % 10}" for n in range(15)), "#DIV/0!", "#N/A"],
            {"min": 0, "max": 15, "step": 0.1, "missing": ["#N/A", "#DIV/0!"], "null": "#N/A"},
        ),
        (
            [f"{48 + n / 1e5:.5f}" for n in range(1000)],
            {"min": 48, "max": 49, "step": 1e-5, "bins": 20},
        ),
    ],
)  # fmt: skip
def test_forms_of_offices_and_programs(cells: list[str], entry: dict[str, Any], tmp_path: Path) -> None:
    rows = cells * (1 + 60 // len(cells))
    (tmp_path / "t.csv").write_text("x,k\n" + "".join(f"{cell},{'ab'[n % 2]}\n" for n, cell in enumerate(rows)))
    text = draft_domain(str(tmp_path / "t.csv"))
    assert [json.loads(line.partition(": ")[2]) for line in text.splitlines() if line.startswith('  "x": ')] == [entry]
    table = read_table(tmp_path / "t.csv", drafted(tmp_path, str(tmp_path / "t.csv")))
    release(table).write_records(tmp_path / "o.csv", 300)
    made = [line.rpartition(",")[0] for line in (tmp_path / "o.csv").read_text().splitlines()[1:]]
    assert {re.sub(r"\d+", "0", cell) for cell in made} <= {
        re.sub(r"\d+", "0", cell.partition(".")[0] if "round" in entry else cell).replace(" ", "T") for cell in cells
    }


def test_lines_behind_an_empty_one_are_no_records(tmp_path: Path) -> None:
    lines = "a,b\n" + "".join(f"{n % 40},{'xy'[n % 2]}\n" for n in range(90))
    (tmp_path / "t.csv").write_text(lines + "\nSource: an office, 2024\n* provisional\n")
    assert 'format: {"footer": 2}' in draft_domain(str(tmp_path / "t.csv"))
    (tmp_path / "t.csv").write_text(lines + "\n1,x\n2,y\n")
    assert "format" not in draft_domain(str(tmp_path / "t.csv")).partition("attributes:")[0]


def test_columns_of_one_name_may_be_numbered(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,a\n" + "".join(f"{n % 40},{'xy'[n % 2]}\n" for n in range(90)))
    with pytest.raises(ColumnError, match="more than once") as caught:
        draft_domain(str(tmp_path / "t.csv"))
    assert "--format '{header: false, skip: 1}'" in str(caught.value.remedy)
    text = draft_domain(str(tmp_path / "t.csv"), file_format={"header": False, "skip": 1})
    assert '"c1": {"min": 0, "max": 40}' in text


@pytest.mark.parametrize(
    ("numbers", "codes", "missing"),
    [
        (np.arange(0, 90_000, 100), [-1], "-1"),
        (np.arange(1_000, 90_000, 100), [-1, -2, -8], ["-1", "-2", "-8"]),
        (np.arange(0, 40), [-1, -2, -3], None),  # as of temperatures
        (np.arange(-4_000, 90_000, 100), [-1], None),
    ],
)
def test_small_negative_codes_beside_large_numbers_stand_for_no_answer(
    numbers: Any, codes: list[int], missing: list[str] | None
) -> None:
    cells = np.concatenate([np.repeat(numbers, 3), np.repeat(codes, 40)])
    entry = entries_of(pa.table({"income": cells}))["income"]
    assert entry.get("missing") == missing
