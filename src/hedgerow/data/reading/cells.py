"""Cells that are Python objects, in Arrow's types: each kind by itself, so that no cell decides how others are read.

Arrow chooses a type for a column by looking at all of its cells. One fraction makes fractions of whole numbers, one
long decimal number gives others more digits, and one text among numbers is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

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
    parts = [
        pa.array([None if cell is None else _READ[kind](cell) for cell in objects[places == place]], _TYPES[kind])
        for place, kind in enumerate(distinct)
    ]
    if len(parts) == 1:
        return parts[0]
    within: Any = np.zeros(len(objects), dtype=np.int32)
    for place in range(len(parts)):
        within[places == place] = np.arange(np.count_nonzero(places == place))
    return pa.UnionArray.from_dense(pa.array(places, pa.int8()), pa.array(within, pa.int32()), parts)


def _kind(cell: Any) -> str:
    """The kind of a cell that is not empty."""
    for kind, types in _KINDS.items():
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


_KINDS: dict[str, Any] = {
    "text": str,
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (float, np.floating),
    "decimal": Decimal,
    "datetime": datetime,  # which is a date too
    "date": date,
    "time": time,
    "length": timedelta,
    "bytes": bytes,
}
_READ: dict[str, Callable[[Any], Any]] = {
    "text": str,
    "bool": bool,
    "int": int,
    "float": _double,
    "decimal": _decimal,
    "datetime": _moment,
    "moment": _moment,
    "date": lambda cell: cell,
    "time": lambda cell: cell,
    "length": _length,
    "bytes": lambda cell: cell,
}
_TYPES: dict[str, pa.DataType] = {
    "text": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "decimal": pa.string(),
    "datetime": pa.timestamp("us"),
    "moment": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "length": pa.duration("us"),
    "bytes": pa.binary(),
}
