"""Arrow's arrays of numpy's, and back, by their memory.

Arrow's own conversions first import pandas where it is installed, a seventh of the time of a small run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Bools


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
