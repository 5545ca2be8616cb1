"""Cells that are Python objects, in Arrow's types: each kind by itself, so that no cell decides how others are read.

Arrow chooses a type for a column by looking at all of its cells. One fraction makes fractions of whole numbers, one
long decimal number gives others more digits, and one text among numbers is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

_MOST_DIGITS = 40
"""Numbers with more of them are written as powers of ten."""


def cells_of(cells: Any) -> pa.Array[Any]:
    """The cells of a part of a column.

    Args:
        cells: A pandas series of any objects.

    Returns:
        Texts, where there is nothing else; else the cells of one kind in its type, or a dense union of several.

    Raises:
        TypeError: A cell is of an unknown kind.

    Example:
        >>> import pandas as pd
        >>> cells_of(pd.Series(["a", None])).type, cells_of(pd.Series([1, None], dtype=object)).type
        (DataType(string), DataType(int64))
        >>> cells_of(pd.Series(["a", 1, 2.5, None, True])).to_pylist()
        ['a', 1, 2.5, None, True]
    """
    objects = cells.to_numpy(dtype=object, na_value=None)
    if not len(objects) or all(cell is None or isinstance(cell, str) for cell in objects):
        return pa.array(objects, pa.string())
    kinds = [None if cell is None else _kind(cell) for cell in objects]
    distinct = list(dict.fromkeys(kind for kind in kinds if kind is not None))
    places = np.array([distinct.index(kind) if kind is not None else 0 for kind in kinds], dtype=np.int8)
    parts = []
    for place, (_, read, arrow) in enumerate(_KINDS[kind] for kind in distinct):
        parts.append(pa.array([None if cell is None else read(cell) for cell in objects[places == place]], arrow))
    if len(parts) == 1:
        return parts[0]
    within: Any = np.zeros(len(objects), dtype=np.int32)
    for place in range(len(parts)):
        within[places == place] = np.arange(np.count_nonzero(places == place))
    return pa.UnionArray.from_dense(pa.array(places, pa.int8()), pa.array(within, pa.int32()), parts)


def _kind(cell: Any) -> str:
    """The kind of a cell that is not empty."""
    for kind, (types, *_) in _KINDS.items():
        if isinstance(cell, types):
            zoned = kind == "datetime" and cell.tzinfo is not None
            return "moment" if zoned else "float" if kind == "int" and abs(int(cell)) >= 2**63 else kind
    raise TypeError(type(cell).__name__)


def _decimal(cell: Decimal) -> str | None:
    """The text of a decimal number, of however many digits."""
    if cell.is_nan():
        return None
    short = cell.normalize()
    return f"{short:f}" if abs(short.adjusted()) < _MOST_DIGITS else str(short)


def _double(cell: Any) -> float:
    """A narrow number as the decimal number that it is written as."""
    try:
        return float(str(cell))
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")


def _moment(cell: Any) -> datetime:
    """In microseconds."""
    moment: datetime = cell.floor("us").to_pydatetime() if hasattr(cell, "floor") else cell
    return moment


def _length(cell: Any) -> timedelta:
    length: timedelta = cell.floor("us").to_pytimedelta() if hasattr(cell, "floor") else cell
    return length


class _Kind(NamedTuple):
    """Types of cells of a kind, how one is read, and the type that Arrow has for them."""

    types: Any
    read: Callable[[Any], Any]
    arrow: pa.DataType


_KINDS: dict[str, _Kind] = {
    "text": _Kind(str, str, pa.string()),
    "bool": _Kind((bool, np.bool_), bool, pa.bool_()),
    "int": _Kind((int, np.integer), int, pa.int64()),
    "float": _Kind((float, np.floating), _double, pa.float64()),
    "decimal": _Kind(Decimal, _decimal, pa.string()),
    "datetime": _Kind(datetime, _moment, pa.timestamp("us")),  # which is a date too
    "moment": _Kind((), _moment, pa.timestamp("us", "UTC")),  # one with a zone
    "date": _Kind(date, lambda cell: cell, pa.date32()),
    "time": _Kind(time, lambda cell: cell, pa.time64("us")),
    "length": _Kind(timedelta, _length, pa.duration("us")),
    "bytes": _Kind(bytes, lambda cell: cell, pa.binary()),
}
