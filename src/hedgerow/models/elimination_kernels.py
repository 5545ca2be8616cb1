"""Compiled products of tables; nothing else lives here.

Products of medium size are called hundreds of times in a row. A threaded library waits for its second thread in each of
them, which on a busy machine takes ten times as long as the product; these never wait for anyone.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_INNER = 64
_COLUMNS = 256


@njit(nogil=True, cache=True, fastmath={"contract"})
def _four(left: Floats, right: Floats, out: Floats, i: int, first: int, last: int, start: int, stop: int) -> None:
    """Four rows of a product, for a tile of columns and of what is summed over."""
    a, b, c, d = out[i, start:stop], out[i + 1, start:stop], out[i + 2, start:stop], out[i + 3, start:stop]
    k = first
    while k + 4 <= last:
        p, q, r, s = right[k, start:stop], right[k + 1, start:stop], right[k + 2, start:stop], right[k + 3, start:stop]
        a0, a1, a2, a3 = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
        b0, b1, b2, b3 = left[i + 1, k], left[i + 1, k + 1], left[i + 1, k + 2], left[i + 1, k + 3]
        c0, c1, c2, c3 = left[i + 2, k], left[i + 2, k + 1], left[i + 2, k + 2], left[i + 2, k + 3]
        d0, d1, d2, d3 = left[i + 3, k], left[i + 3, k + 1], left[i + 3, k + 2], left[i + 3, k + 3]
        for j in range(stop - start):
            a[j] += a0 * p[j] + a1 * q[j] + a2 * r[j] + a3 * s[j]
            b[j] += b0 * p[j] + b1 * q[j] + b2 * r[j] + b3 * s[j]
            c[j] += c0 * p[j] + c1 * q[j] + c2 * r[j] + c3 * s[j]
            d[j] += d0 * p[j] + d1 * q[j] + d2 * r[j] + d3 * s[j]
        k += 4
    while k < last:
        p = right[k, start:stop]
        a0, b0, c0, d0 = left[i, k], left[i + 1, k], left[i + 2, k], left[i + 3, k]
        for j in range(stop - start):
            a[j] += a0 * p[j]
            b[j] += b0 * p[j]
            c[j] += c0 * p[j]
            d[j] += d0 * p[j]
        k += 1


@njit(nogil=True, cache=True, fastmath={"contract"})
def _one(left: Floats, right: Floats, out: Floats, i: int, first: int, last: int, start: int, stop: int) -> None:
    a = out[i, start:stop]
    k = first
    while k + 4 <= last:
        p, q, r, s = right[k, start:stop], right[k + 1, start:stop], right[k + 2, start:stop], right[k + 3, start:stop]
        a0, a1, a2, a3 = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
        for j in range(stop - start):
            a[j] += a0 * p[j] + a1 * q[j] + a2 * r[j] + a3 * s[j]
        k += 4
    while k < last:
        p, a0 = right[k, start:stop], left[i, k]
        for j in range(stop - start):
            a[j] += a0 * p[j]
        k += 1


@njit(nogil=True, cache=True)
def products(left: Floats, right: Floats) -> Floats:
    """A stack of matrix products.

    Args:
        left: Shape ``(stack, rows, inner)``.
        right: Shape ``(stack, inner, columns)``; columns are what passes run along, so let there be many.

    Returns:
        Shape ``(stack, rows, columns)``.
    """
    rows, inner, columns = left.shape[1], left.shape[2], right.shape[2]
    out = np.zeros((left.shape[0], rows, columns))
    for s in range(left.shape[0]):
        for first in range(0, inner, _INNER):
            last = min(first + _INNER, inner)
            for start in range(0, columns, _COLUMNS):
                stop = min(start + _COLUMNS, columns)
                i = 0
                while i + 4 <= rows:
                    _four(left[s], right[s], out[s], i, first, last, start, stop)
                    i += 4
                while i < rows:
                    _one(left[s], right[s], out[s], i, first, last, start, stop)
                    i += 1
    return out
