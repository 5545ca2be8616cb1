"""A domain from public facts alone: names and types of a table's columns, and bounds that are given.

Types are those that a Parquet file, a data frame or a database declares. A CSV file declares none: its columns are
labels unless bounds say that they are numbers or dates. What is not public is learnt under the budget: the values of
labels, and the bins of what has many values. No cell decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa

from hedgerow.data.reading import open_place, open_table
from hedgerow.data.scanning.chunks import spark_frame
from hedgerow.domain import attribute_of
from hedgerow.errors import ConfigError, DomainError, UnreadableTableError

Bounds = tuple[str, str]

MOST_VALUES = 500
"""Values of a column of labels that are learnt, at most."""
BINS = 32
"""Bins that are learnt of a column with many values, beside 0 and the largest number, which many records may hold."""
_FEW = 100
"""Up to so many values each has a code of its own."""
_STEP = "1min"
"""Step of times and durations."""


def automatic_domain(
    source: Any,
    *,
    bounds: Mapping[str, Bounds] | None = None,
    columns: Iterable[str] | None = None,
    apart: Iterable[str] = (),
) -> dict[str, Any]:
    """The content of a domain file that follows from names and types of columns, and from bounds.

    Args:
        source: The table: a place or a data frame; of its rows nothing is used.
        bounds: The smallest and the largest value of columns of numbers, dates, times or durations, as texts.
        columns: Names of the columns that are wanted; None for all.
        apart: Names of columns that say something of rows, and are none of the records'.

    Returns:
        The content that `OpenDomain` reads. Columns that hold neither texts nor numbers are ignored.

    Raises:
        ConfigError: Columns of numbers or dates have no bounds, or bounds are given for a column that has none.
        DomainError: Bounds do not fit the type of their column.
        UnreadableTableError: The table is not there, or holds no rows.

    Example:
        >>> table = pa.table({"job": ["nurse"], "age": [30], "well": [True]})
        >>> automatic_domain(table, bounds={"age": ("0", "120")})["attributes"]["age"]
        {'min': 0, 'max': 120, 'missing': True, 'whole': True, 'bins': {'learn': 32}, 'points': [0, 120]}
    """
    given = dict(bounds or {})
    kinds, typed = _kinds(source)
    chosen = [name for name in kinds if name not in set(apart)] if columns is None else list(columns)
    if unknown := [name for name in (*chosen, *given) if name not in kinds or (name in given and name not in chosen)]:
        raise ConfigError(
            f"the table has no column {unknown[0]!r} that is read", remedy=f"its columns are: {', '.join(kinds)}"
        )
    entries: dict[str, Any] = {}
    ignored: list[str] = []
    lacking: list[str] = []
    for name in chosen:
        make = _maker(kinds[name]) if typed else _of_text
        if make is None:
            ignored.append(name)
        elif make in _BOUNDED and name not in given:
            lacking.append(name)
        else:
            entries[name] = make(name, given.pop(name, None))
    if lacking:
        wanted = " ".join(f"--bounds {_quoted(name)}={_EXAMPLES[_maker(kinds[name])]}" for name in lacking)
        raise ConfigError(
            f"columns whose bounds are not known in public: {', '.join(lacking)}",
            remedy=f"give them, from a code book or common knowledge and not from the table: {wanted}",
        )
    if given:
        raise ConfigError(f"bounds of {next(iter(given))!r}, which has none", remedy="leave them out")
    return {"attributes": entries} | ({"ignore": ignored} if ignored else {})


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _kinds(source: Any) -> tuple[dict[str, pa.DataType], bool]:
    """Name and type of each column, and whether types are declared."""
    frame = spark_frame(source)
    if frame is not None:
        from pyspark.sql.pandas.types import to_arrow_schema

        schema: Any = to_arrow_schema(frame.schema)
        return dict(zip(schema.names, schema.types, strict=True)), True
    reader = open_place(source) if isinstance(source, str) else open_table(source)
    names = [name for name in reader.names if name]
    batches: Any = reader.batches(names, ())
    with closing(batches):
        first = next(iter(batches), None)
    if first is None:
        raise UnreadableTableError("the table holds no rows", file=reader.file, remedy="check how it was made")
    if reader.texts:
        return dict.fromkeys(names, pa.string()), False
    return dict(zip(first.schema.names, first.schema.types, strict=True)), True


Maker = Callable[[str, "Bounds | None"], dict[str, Any]]


def _maker(kind: pa.DataType) -> Maker | None:
    """The function that makes the entry of a column of a type; None for types that cannot be read."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    for fits, make in _MAKERS:
        if fits(inner):
            return make
    return None


def _of_labels(name: str, bounds: Bounds | None) -> dict[str, Any]:
    return _of_text(name, bounds) if bounds else {"values": {"learn": MOST_VALUES}}


def _of_flags(name: str, bounds: Bounds | None) -> dict[str, Any]:
    if bounds:
        raise ConfigError(f"bounds of {name!r}, which is true or false", remedy="leave them out")
    return {"values": [False, True], "missing": True}


def _of_text(name: str, bounds: Bounds | None) -> dict[str, Any]:
    """A column of which nothing is known but bounds: whole numbers, numbers, or what has dates and times as bounds."""
    if bounds is None:
        return {"values": {"learn": MOST_VALUES}}
    for number, make in ((int, _of_whole), (float, _of_numbers)):
        try:
            _ = [number(bound) for bound in bounds]
        except ValueError:
            continue
        return make(name, bounds)
    return _of_dates(name, bounds)


def _of_whole(name: str, bounds: Bounds | None) -> dict[str, Any]:
    low, high = _numbers(name, bounds, int)
    entry: dict[str, Any] = {"min": low, "max": high, "missing": True}
    if high - low < _FEW:
        return entry
    return entry | {"whole": True, "bins": {"learn": BINS}, "points": sorted({0, high} if low <= 0 <= high else {high})}


def _of_numbers(name: str, bounds: Bounds | None) -> dict[str, Any]:
    low, high = _numbers(name, bounds, float)
    return {"min": low, "max": high, "missing": True, "bins": {"learn": BINS}}


def _of_dates(name: str, bounds: Bounds | None) -> dict[str, Any]:
    low, high = bounds or ("", "")
    stepped = {"step": _STEP} if any(mark in low for mark in "T:P") else {}
    return _on_a_scale(name, {"min": low, "max": high, "missing": True, **stepped})


def _of_lengths(name: str, bounds: Bounds | None) -> dict[str, Any]:
    return _of_dates(name, bounds)


def _of_times(name: str, bounds: Bounds | None) -> dict[str, Any]:
    low, high = bounds or ("", "")
    ends = {"min": low if "T" in low else f"{low}T00:00", "max": high if "T" in high else f"{high}T23:59"}
    return _on_a_scale(name, {**ends, "missing": True, "step": _STEP})


def _of_clocks(name: str, bounds: Bounds | None) -> dict[str, Any]:
    low, high = bounds or ("00:00", "23:59")
    return _on_a_scale(name, {"min": low, "max": high, "missing": True, "step": _STEP})


def _on_a_scale(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """With bins to be learnt, if there are many steps."""
    return entry if attribute_of(name, entry).size <= _FEW else entry | {"bins": {"learn": BINS}}


def _numbers(name: str, bounds: Bounds | None, number: Callable[[str], Any]) -> tuple[Any, Any]:
    try:
        low, high = (number(bound) for bound in bounds or ())
    except ValueError:
        raise DomainError(
            f"attribute {name!r}: {'..'.join(bounds or ())} are no bounds of {'whole ' * (number is int)}numbers",
            remedy=f"write --bounds {_quoted(name)}=0..100",
        ) from None
    return low, high


_BOUNDED = (_of_whole, _of_numbers, _of_dates, _of_times, _of_lengths)
_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], Maker], ...] = (
    (pa.types.is_boolean, _of_flags),
    (pa.types.is_integer, _of_whole),
    (pa.types.is_floating, _of_numbers),
    (pa.types.is_decimal, _of_numbers),
    (pa.types.is_date, _of_dates),
    (pa.types.is_timestamp, _of_times),
    (pa.types.is_duration, _of_lengths),
    (pa.types.is_time, _of_clocks),
    (pa.types.is_string, _of_labels),
    (pa.types.is_large_string, _of_labels),
    (pa.types.is_string_view, _of_labels),
)
_EXAMPLES: dict[Any, str] = {
    _of_whole: "LOW..HIGH",
    _of_numbers: "LOW..HIGH",
    _of_dates: "YYYY-MM-DD..YYYY-MM-DD",
    _of_times: "YYYY-MM-DD..YYYY-MM-DD",
    _of_lengths: "PT0H..P30D",
}
