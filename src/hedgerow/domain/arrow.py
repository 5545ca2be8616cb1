"""Arrow's arrays of numpy's, and back, by their memory.

Arrow's own conversions first import pandas where it is installed, a seventh of the time of a small run. Columns of any
type are brought to the few that are read: texts, whole numbers and doubles, times and durations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Bools
from hedgerow.domain.attribute import value_text
from hedgerow.domain.clocks import Durations
from hedgerow.domain.scales import EPOCH


def arrow_numbers(values: NDArray[np.number], missing: Bools | None = None) -> pa.Array[Any]:
    """Numbers as Arrow has them.

    Args:
        values: Numbers, of any width.
        missing: Flags of the places without one.

    Example:
        >>> arrow_numbers(np.array([7, 8, 9]), np.array([False, True, False])).to_pylist()
        [7, None, 9]
    """
    valid = None if missing is None else _bits(~missing)
    memory = pa.py_buffer(np.ascontiguousarray(values).data)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, memory])


def arrow_flags(values: Bools) -> pa.Array[Any]:
    """Truth values as Arrow has them, a bit each.

    Example:
        >>> arrow_flags(np.array([True, False])).to_pylist()
        [True, False]
    """
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def arrow_texts(values: Iterable[str]) -> pa.Array[Any]:
    """Texts as Arrow has them.

    Example:
        >>> arrow_texts(["F", "männlich"]).to_pylist()
        ['F', 'männlich']
    """
    encoded = [text.encode() for text in values]
    ends = np.fromiter(accumulate(chain([0], map(len, encoded))), np.int32, len(encoded) + 1)
    memory = [None, pa.py_buffer(ends.data), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), memory)


def arrow_text(text: str) -> Any:
    """One text as Arrow's functions take it.

    Example:
        >>> arrow_text("F").as_py()
        'F'
    """
    return arrow_texts([text])[0]


def numpy_of(values: pa.Array[Any]) -> Any:
    """Numbers of Arrow, none of them missing, as numpy has them; they cannot be written to.

    Example:
        >>> numpy_of(pa.array([7, 8, 9])[1:]).tolist()
        [8, 9]
    """
    return np.from_dlpack(values)


def numpy_flags(values: Any) -> Bools:
    """Truth values of Arrow as numpy has them, missing ones as false.

    A missing value and a false one is false; `fill_null` would make a scalar, for which Arrow loads pandas.

    Example:
        >>> numpy_flags(pa.array([True, None, False])).tolist()
        [True, False, False]
    """
    known = pc.and_kleene(values, pc.is_valid(values))
    flags: Bools = numpy_of(known.cast(pa.uint8())).astype(np.bool_)
    return flags


def of_each_kind(cells: pa.Array[Any], read: Callable[[pa.Array[Any]], NDArray[Any]]) -> NDArray[Any]:
    """Read cells of several types, each type by itself.

    Args:
        cells: A dense union.
        read: Gives one row for each cell of one type, of the same shape and type for all of them.

    Example:
        >>> kinds, places = pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32())
        >>> cells = pa.UnionArray.from_dense(kinds, places, [pa.array(["a", "bc"]), pa.array([7])])
        >>> of_each_kind(cells, lambda part: np.array([len(str(cell)) for cell in part.to_pylist()])).tolist()
        [1, 1, 2]
    """
    union: Any = cells
    kinds, places = numpy_of(union.type_codes), numpy_of(union.offsets)
    parts = [read(union.field(kind)) for kind in range(union.type.num_fields)]
    values = np.empty((len(cells), *parts[0].shape[1:]), dtype=parts[0].dtype)
    for kind, part in enumerate(parts):
        values[kinds == kind] = part[places[kinds == kind]]
    return values


def _bits(values: Bools) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little").data)


FAR = 2**62
"""Beyond all bounds."""
_DAY = 86_400_000_000
"""Microseconds."""
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}
"""Microseconds of each unit of Arrow that is not shorter."""
DAYS = (date.min.toordinal() - EPOCH, date.max.toordinal() + 1 - EPOCH)
"""The first day that Python has, counted from 1970-01-01, and the day after the last one."""
EXACT = 2**53
"""Up to this doubles tell whole numbers apart; a larger one that is not listed is read as the nearest double."""


class UnsupportedTypeError(TypeError):
    """A column has an Arrow type that holds neither texts nor numbers."""


def texts_of_times(times: Any, form: str) -> Any:
    """Texts of an Arrow column of times in a form, numbers without zeros before them too.

    Args:
        times: Timestamps.
        form: The form.

    Example:
        >>> from datetime import datetime
        >>> texts_of_times(pa.array([datetime(2021, 5, 10, 0, 3)]), "%-m/%-d/%Y %-H:%M").to_pylist()
        ['5/10/2021 0:03']
        >>> texts_of_times(pa.array([90_000], pa.timestamp("s")), "%Y-%m-%dT%H:%M").to_pylist()
        ['1970-01-02T01:00']
    """
    usual = re.fullmatch(r"%Y-%m-%d(?:([ T])%H:%M(:%S)?)?", form)
    if usual is not None and pa.types.is_timestamp(times.type) and (times.type.unit, times.type.tz) == ("s", None):
        length = 10 if usual[1] is None else 19 if usual[2] else 16
        texts: Any = pc.utf8_slice_codeunits(times.cast(pa.string()), 0, length)  # as below, ten times as fast
        return pc.utf8_replace_slice(texts, 10, 11, "T") if usual[1] == "T" else texts
    pieces: list[Any] = []
    for place, piece in enumerate(re.split(r"%-(.)", form)):
        if place % 2:
            short: Any = pc.utf8_ltrim(pc.strftime(times, format=f"%{piece}"), characters="0")
            pieces.append(pc.if_else(pc.equal(short, arrow_text("")), arrow_text("0"), short))
        elif piece:
            pieces.append(pc.strftime(times, format=piece))
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, arrow_text(""))


def plain(values: pa.Array[Any]) -> pa.Array[Any]:
    """Values as texts, integers, doubles, or a dictionary of some: of any width, unit and digits the same.

    Raises:
        UnsupportedTypeError: They are nested or binary.

    Example:
        >>> from decimal import Decimal
        >>> plain(pa.array([Decimal("0.70")])).to_pylist(), plain(pa.array([0.1], pa.float32())).to_pylist()
        ([0.7], [0.1])
        >>> [plain(pa.array([90_000], pa.timestamp("s")).cast(pa.timestamp(unit)))[0].as_py() for unit in ("s", "ns")]
        ['1970-01-02 01:00:00', '1970-01-02 01:00:00']
    """
    kind = values.type
    narrow = pa.types.is_floating(kind) and kind != pa.float64()
    if narrow or pa.types.is_decimal(kind):  # as the decimal number that is written, and not as its nearest binary one
        return _written(values).cast(pa.float64())
    for keep in (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_dictionary):
        if keep(kind):
            return values
    if pa.types.is_boolean(kind):
        spelled: pa.Array[Any] = pc.if_else(values, "True", "False")
        return spelled
    text = pa.types.is_large_string(kind) or kind == pa.string_view()
    if text or pa.types.is_date(kind) or pa.types.is_null(kind):
        return values.cast(pa.string())
    return _texts_of_times(values)


def _written(numbers: pa.Array[Any]) -> pa.Array[Any]:
    """Texts of narrow floats and of decimals; Arrow writes out the whole binary fraction of the narrowest."""
    if not pa.types.is_float16(numbers.type):
        return numbers.cast(pa.string())
    return pa.array([None if cell is None else str(np.float16(cell)) for cell in numbers.to_pylist()], pa.string())


def _texts_of_times(values: pa.Array[Any]) -> pa.Array[Any]:
    """Times and durations as texts.

    Raises:
        UnsupportedTypeError: They are something else.
    """
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        shorter: Any = pc.replace_substring_regex(values.cast(pa.string()), r"(\.[0-9]*?)0+(Z|[+-][0-9]+|$)", r"\1\2")
        shortest: pa.Array[Any] = pc.replace_substring_regex(shorter, r"\.(Z|[+-][0-9]+|$)", r"\1")
        return shortest
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return plain_durations(values).cast(pa.string())
    raise UnsupportedTypeError(str(kind))


def distinct_texts(column: pa.Array[Any]) -> list[str]:
    """The different texts of the cells of a column that are not empty, as those of listed values are compared.

    Raises:
        UnsupportedTypeError: The column holds neither texts nor numbers.

    Example:
        >>> distinct_texts(pa.array([2.0, 0.5, None, 2.0])), distinct_texts(pa.array(["a", "", "a"]))
        (['2', '0.5'], ['a'])
        >>> distinct_texts(pa.array([2**60])) == distinct_texts(pa.array([2.0**60, None]))
        True
    """
    if pa.types.is_union(column.type):
        cells: Any = column
        return [text for kind in range(cells.type.num_fields) for text in distinct_texts(cells.field(kind))]
    values = plain(column)
    encoded: Any = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    cells = plain(encoded.dictionary)
    texts: list[Any] = cells.filter(pc.invert(cells.is_null(nan_is_null=True))).to_pylist()
    large = (isinstance(cell, int) and abs(cell) >= EXACT for cell in texts)
    return [text for cell, far in zip(texts, large, strict=True) if (text := value_text(float(cell) if far else cell))]


def plain_durations(values: pa.Array[Any]) -> pa.Array[Any]:
    """Durations as texts, in whole seconds; other values as they are.

    Example:
        >>> plain_durations(pa.array([5400], pa.duration("s"))).to_pylist(), plain_durations(pa.array([1])).to_pylist()
        (['PT1H30M'], [1])
    """
    if not (pa.types.is_duration(values.type) or pa.types.is_interval(values.type)):
        return values
    known = durations_of_intervals(values) if pa.types.is_interval(values.type) else in_microseconds(values)
    distinct: Any = known.dictionary_encode()
    seconds = distinct.dictionary.cast(pa.int64()).to_pylist()
    texts = [Durations(1).text(second // 1_000_000) for second in seconds]
    plain: pa.Array[Any] = pa.DictionaryArray.from_arrays(distinct.indices, pa.array(texts, pa.string()))
    return plain


def durations_of_intervals(values: pa.Array[Any]) -> pa.Array[Any]:
    """Intervals of databases as durations; those with months, which have no length, are beyond all bounds."""
    stored: Any = values.buffers()[1]
    parts = np.frombuffer(stored, dtype=np.dtype([("months", "<i4"), ("days", "<i4"), ("rest", "<i8")]))
    parts = parts[values.offset : values.offset + len(values)]
    days = np.clip(parts["days"].astype(np.int64), -FAR // _DAY, FAR // _DAY)
    micro = days * _DAY + parts["rest"] // 1000
    micro[parts["months"] != 0] = FAR // _DAY * _DAY
    empty = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micro.astype("timedelta64[us]"), pa.duration("us"), mask=empty)


def in_microseconds(values: pa.Array[Any]) -> pa.Array[Any]:
    """Durations in microseconds; those that are too long for them are beyond all bounds, in whole days."""
    unit: Any = values.type
    scale = _MICROSECONDS.get(unit.unit)
    if scale is None:
        return values.cast(pa.duration("us"), safe=False)
    ticks = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    most = FAR // _DAY * (_DAY // scale)
    empty = values.is_null().to_numpy(zero_copy_only=False)
    micro = np.clip(ticks, -most, most) * scale
    return pa.array(micro.astype("timedelta64[us]"), pa.duration("us"), mask=empty)


def beyond_python(values: pa.Array[Any]) -> Bools:
    """Mask of the dates that no calendar of Python has, and of the times that no clock shows: 24:00 is one."""
    kind: Any = values.type
    ticks: Any = values
    if pa.types.is_time(kind):
        ticks, first, after = values.cast(pa.int64()), 0, _DAY
    elif pa.types.is_date32(kind):
        ticks, (first, after) = values.cast(pa.int32()), DAYS
    elif pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        per_day = _DAY // _MICROSECONDS["ms" if pa.types.is_date64(kind) else kind.unit]
        margin = int(pa.types.is_timestamp(kind) and kind.tz is not None)  # the day in the zone may be another one
        ticks = values.cast(pa.int64())
        first, after = (DAYS[0] + margin) * per_day, (DAYS[1] - margin) * per_day
    else:
        return np.zeros(len(values), dtype=np.bool_)
    numbers = ticks.fill_null(0).to_numpy(zero_copy_only=False)
    beyond: Bools = (numbers < first) | (numbers >= after)
    return beyond
