"""How cells find their codes, against a plain reference that looks at one cell at a time."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import (
    Attribute,
    Binned,
    Calendar,
    Categorical,
    Fault,
    IntegerRange,
    Moments,
    UnsupportedTypeError,
    domain_from_mapping,
    encoder,
    smallest_unsigned,
)

CITY = Categorical("city", ("Bath", "York", "07"), missing="?", other="elsewhere")


def codes(attribute: Attribute, values: Any, kind: pa.DataType | None = None) -> list[int]:
    return encoder(attribute).codes(pa.array(values, type=kind)).tolist()


def test_listed_missing_and_other_values() -> None:
    cells = ["York", "Bath", "?", "", None, "elsewhere", "Zennor", "07", "7", " York", "york"]
    assert codes(CITY, cells) == [1, 0, 3, 3, 3, 4, 4, 2, 4, 4, 4]


def test_without_declared_values() -> None:
    plain = Categorical("city", ("Bath", "York"))
    assert codes(plain, ["York", "", None, "?", "x"]) == [1, Fault.MISSING, Fault.MISSING, Fault.UNKNOWN, Fault.UNKNOWN]


def test_the_empty_text_may_be_listed() -> None:
    assert codes(Categorical("a", ("", "x"), missing="?"), ["", "x", None, "?"]) == [0, 1, 2, 2]


@pytest.mark.parametrize("values", [(1, 2), ("1", "2"), (1.0, 2.0)])
@pytest.mark.parametrize(
    "cells",
    [[2, 1], [2.0, 1.0], ["2", "1"], [decimal.Decimal("2.00"), decimal.Decimal("1.00")]],
)
def test_whole_numbers_match_however_they_are_stored(values: Any, cells: list[Any]) -> None:
    assert codes(Categorical("a", values), cells) == [1, 0]


def test_other_spellings_match_numbers_and_not_texts() -> None:
    assert codes(Categorical("a", (1, 2.5)), ["1.0", "01", "2.50", "+1", "1 ", "1_0"]) == [0, 0, 1, 0, -2, -2]
    assert codes(Categorical("a", ("1", "2.5")), ["1.0", "01", "2.50"]) == [0, -2, -2]
    assert codes(Categorical("a", ("1", "1.0")), ["1.0", "1", "1.00"]) == [1, 0, 0]


def test_booleans() -> None:
    for values in ((False, True), ("false", "true"), ("False", "True"), ("FALSE", "TRUE")):
        assert codes(Categorical("a", values), [True, False]) == [1, 0]
        assert codes(Categorical("a", values), ["true", "False", "TRUE", "1"]) == [1, 0, 1, -2]
    assert codes(Categorical("a", ("true", "True")), ["True", "true"]) == [1, 0]


def test_dates_match_by_text() -> None:
    assert codes(Categorical("a", ("2020-01-31", "2020-02-01")), [datetime.date(2020, 2, 1)]) == [1]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    ids=str,
)
def test_every_kind_of_text(kind: pa.DataType) -> None:
    cells = pa.array(["York", None, "Bath"]).cast(kind)
    assert encoder(CITY).codes(cells).tolist() == [1, 3, 0]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()], ids=str)
def test_every_kind_of_number(kind: pa.DataType) -> None:
    for attribute in (Categorical("a", (5, 6)), IntegerRange("a", 5, 6), Binned("a", (5, 6, 7))):
        assert codes(attribute, [6, 5, None], kind) == [1, 0, Fault.MISSING]


def test_numbers_beyond_the_type_of_the_column() -> None:
    far = IntegerRange("a", 300, 310)
    assert codes(far, [44, 255], pa.uint8()) == [Fault.OUT_OF_RANGE] * 2
    assert codes(far, [2**64 - 1, 300], pa.uint64()) == [Fault.OUT_OF_RANGE, 0]


def test_a_narrow_float_is_the_decimal_that_it_shows() -> None:
    assert codes(Categorical("a", (0.1, 0.2)), [0.2, 0.1], pa.float32()) == [1, 0]
    assert codes(Binned("a", (0, 0.1, 0.2)), [0.1], pa.float32()) == [1]


def test_integer_ranges() -> None:
    ages = IntegerRange("age", 17, 90, missing="-1")
    cells = ["17", "90", "+18", "18.0", "1.8e1", "-1", "-1.0", "", "91", "18.5", "x"]
    assert codes(ages, cells) == [0, 73, 1, 1, 1, 74, 74, 74, -3, -4, -5]
    assert codes(ages, [17.0, math.nan, None, 18.5, math.inf, -1.0]) == [0, 74, 74, -4, -3, 74]


def test_other_takes_texts_and_far_numbers_but_no_fractions() -> None:
    for attribute in (IntegerRange("a", 0, 9, other="o"), Binned("a", (0, 5, 10), whole=True, other="o")):
        last = attribute.size - 1
        assert codes(attribute, ["o", "text", "99", "-5", "2.5", ""]) == [last, last, last, last, -4, -1]


def test_bins_hold_their_lower_edge_and_the_last_its_upper_edge_too() -> None:
    pay = Binned("pay", (0, 10, 20))
    cells = ["0", "9.99", "10", "20", "20.01", "-0.01", "-0"]
    assert codes(pay, cells) == [0, 0, 1, 1, -3, -3, 0]
    assert codes(pay, [float(cell) for cell in cells]) == codes(pay, cells)


@pytest.mark.parametrize("column", [pa.nulls(2), pa.array([None, None], pa.string()), pa.array(["", ""])])
def test_columns_without_values(column: Any) -> None:
    assert encoder(CITY).codes(column).tolist() == [3, 3]


def test_types_that_cannot_be_read() -> None:
    for column in (pa.array([[1]]), pa.array([b"a"])):
        with pytest.raises(UnsupportedTypeError):
            encoder(CITY).codes(column)


@pytest.mark.parametrize(("size", "bits"), [(2, 8), (256, 8), (257, 16), (65536, 16), (65537, 32), (2**32 + 1, 64)])
def test_the_smallest_type(size: int, bits: int) -> None:
    assert np.iinfo(smallest_unsigned(size)).bits == bits


def reference_code(edges: list[float], cell: float) -> int:
    for code in range(len(edges) - 1):
        last = code == len(edges) - 2
        if edges[code] <= cell and (cell < edges[code + 1] or (last and cell == edges[code + 1])):
            return code
    return Fault.OUT_OF_RANGE


@given(
    st.lists(st.integers(-40, 40), min_size=3, max_size=8, unique=True).map(sorted),
    st.lists(st.integers(-200, 200).map(lambda number: number / 4), max_size=30),
)
def test_bins_agree_with_the_definition(edges: list[float], cells: list[float]) -> None:
    expected = [reference_code(edges, cell) for cell in cells]
    assert codes(Binned("a", edges), cells, pa.float64()) == expected
    assert codes(Binned("a", edges), [repr(cell) for cell in cells], pa.string()) == expected


@given(st.lists(st.text(max_size=3), min_size=2, max_size=6, unique=True), st.data())
def test_listed_texts_find_their_place(values: list[str], data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.sampled_from([*values, None]), max_size=20))
    expected = [len(values) if cell is None else values.index(cell) for cell in cells]
    attribute = Categorical("a", values, missing="\0 missing")
    spelled = {value.lower() for value in values} & {"true", "false"}
    assert spelled or codes(attribute, cells, pa.string()) == expected


def test_batches_with_the_same_dictionary_and_with_others() -> None:
    column = encoder(Categorical("x", ("a", "b", "c")))
    for words in (["a", "b"], ["a", "b"], ["b", "a"], ["b", "a", None], ["b", "a", "c"], ["b", "a", "?"]):
        cells = [*words, *reversed(words), None, words[0]]
        batch = pa.DictionaryArray.from_arrays(
            pa.array([None if cell is None else words.index(cell) for cell in cells], pa.int32()),
            pa.array(words, pa.string()),
        )
        found = column.codes(batch)
        assert found.tolist() == [column.codes(pa.array([cell], pa.string()))[0] for cell in cells]
        found[:] = 7  # what is handed over is the caller's


@given(st.lists(st.one_of(st.none(), st.integers(-3, 12)), min_size=1), st.sampled_from(["int8", "int64", "float64"]))
def test_whole_numbers_agree_one_by_one(cells: list[int | None], kind: str) -> None:
    column = (
        pa.array(cells).cast(pa.type_for_alias(kind)) if any(c is not None for c in cells) else pa.nulls(len(cells))
    )
    wanted = [Fault.MISSING if cell is None else cell if 0 <= cell <= 9 else Fault.OUT_OF_RANGE for cell in cells]
    assert encoder(IntegerRange("x", 0, 9)).codes(column).tolist() == wanted


FORMS = ["%d.%m.%Y", "%Y%m%d", "%d %b %Y", "%B %d, %Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M:%S"]


@given(st.sampled_from(FORMS), st.sampled_from([1, 60, 900]), st.booleans(), st.integers(0, 2**32 - 1))
def test_many_dates_and_times_are_read_as_one_by_one(form: str, seconds: int, down: bool, seed: int) -> None:
    """Those that are written as their form writes them, and others: padded otherwise, cut, of other days or years."""
    draw = np.random.default_rng(seed)
    timed = "%H" in form or "%I" in form
    scale: Any = Moments(seconds, form, down=down) if timed else Calendar(form=form)
    starts = [
        datetime.datetime(1, 1, 1) + datetime.timedelta(seconds=int(each))
        for each in draw.integers(0, 86_400 * 730_000, 120)
    ]
    texts = [moment.strftime(form) for moment in starts]
    for place in draw.integers(0, len(texts), 40).tolist():
        text = texts[place]
        cut = int(draw.integers(0, len(text) + 1))
        changed = [text[:cut], f" {text}", f"{text} ", text.replace("0", "", 1), text.lower(), text.upper(), f"{text}x"]
        texts[place] = changed[int(draw.integers(0, len(changed)))]
    texts += ["31.02.2020", "00.01.2020", "01.01.0000", "", "?", scale.cell(scale.number("9999-12-31"))]
    texts += [scale.cell(scale.number("2020-01-01") + place) for place in range(0, 300, 7)]
    ends = (scale.number("2020-01-01"), scale.number("2021-12-31"))
    for attribute in (
        IntegerRange("t", *ends, scale=scale, missing="?", other="other"),
        IntegerRange("t", *ends, scale=scale, missing=scale.cell(scale.number("9999-12-31"))),
    ):
        together = encoder(attribute).codes(pa.array(texts)).tolist()
        alone = [int(encoder(attribute).codes(pa.array([text]))[0]) for text in texts]
        assert together == alone


@pytest.mark.parametrize(
    ("entry", "cells"),
    [
        ({"min": "2020-01-01", "max": "2021-12-31", "missing": "9999-12-31"}, pa.timestamp("s")),
        ({"min": "2020-01-01", "max": "2021-12-31", "other": "x"}, pa.date32()),
        ({"min": "2020-01-01T00:00", "max": "2021-12-31T00:00", "step": "15min"}, pa.timestamp("us")),
        ({"min": "2020-01-01T00:00", "max": "2021-12-31T00:00", "step": "1s", "other": "x"}, pa.timestamp("ns")),
        ({"min": "2020-01-01T00:00", "max": "2021-12-31T00:00", "step": "1h", "round": True}, pa.date32()),
        ({"min": "2020-01-01T00:00", "max": "2021-12-31T00:00", "unit": "ms", "missing": "-9"}, pa.int64()),
        ({"min": "2020-01-01T00:00", "max": "2021-12-31T00:00", "unit": "s", "round": True}, pa.string()),
    ],
    ids=str,
)
def test_many_cells_have_the_codes_that_each_has_alone(entry: dict[str, Any], cells: pa.DataType) -> None:
    rng = np.random.default_rng(5)
    days = rng.integers(18_200, 19_100, 3000)
    seconds = days * 86_400 + rng.choice([0, 900, 3600, 1], 3000)
    if pa.types.is_date32(cells):
        column: Any = pa.array(days.astype("int32"), pa.int32()).cast(cells)
    elif pa.types.is_timestamp(cells):
        column = pa.array(seconds, pa.timestamp("s")).cast(cells)
    else:
        ticks = np.append(seconds[1:] * (1000 if entry["unit"] == "ms" else 1), -9)
        column = pa.array(ticks).cast(cells)
    column = pa.concat_arrays([column, pa.array([None, None], cells)])
    coder = encoder(domain_from_mapping({"x": entry, "y": 2})["x"])
    alone = [int(coder.codes(column.slice(place, 1))[0]) for place in range(len(column))]
    assert coder.codes(column).tolist() == alone
