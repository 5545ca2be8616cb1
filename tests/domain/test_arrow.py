"""Arrays by their memory against Arrow's own conversions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from hedgerow.domain.arrow import arrow_flags, arrow_numbers, arrow_texts, numpy_of

KINDS = st.sampled_from(["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"])
FEW = st.integers(0, 40)


@given(KINDS, FEW, st.data())
def test_numbers(kind: str, n: int, data: st.DataObject) -> None:
    values = data.draw(arrays.arrays(kind, n, elements=arrays.from_dtype(np.dtype(kind), allow_nan=False)))
    missing = data.draw(st.none() | arrays.arrays(np.bool_, n))
    assert arrow_numbers(values, missing).equals(pa.array(values, mask=missing))
    assert arrow_numbers(values[::2]).equals(pa.array(values[::2]))
    found = numpy_of(pa.array(values)[n // 3 :])
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values[n // 3 :])


@given(FEW.flatmap(lambda n: arrays.arrays(np.bool_, n)))
def test_flags(values: np.ndarray) -> None:
    assert arrow_flags(values).equals(pa.array(values))


@given(st.lists(st.text()))
def test_texts(values: list[str]) -> None:
    assert arrow_texts(values).equals(pa.array(values, pa.string()))
