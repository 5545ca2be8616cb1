"""The fast Walsh-Hadamard transform: all parities of a binary table at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hedgerow.queries.query import Floats

_RADIX = 5
"""Axes that one matrix product transforms: more work than a butterfly, but far fewer passes over memory."""


@lru_cache(maxsize=16)
def hadamard(order: int) -> Floats:
    """The matrix ``(-1) ** popcount(row & column)``, shape ``(2**order, 2**order)``.

    Example:
        >>> hadamard(1)
        array([[ 1.,  1.],
               [ 1., -1.]])
    """
    matrix = np.ones((1, 1))
    for _ in range(order):
        matrix = np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), matrix)
    matrix.flags.writeable = False
    return matrix


def walsh_hadamard(table: Floats) -> Floats:
    """The transform of a table of binary attributes.

    Args:
        table: Any shape with ``2**k`` cells; its row-major cells are the codes of k binary attributes.

    Returns:
        A new array of shape ``(2**k,)``. Entry s is the sum over cells x of ``(-1) ** popcount(s & x) * table[x]``:
        the parity of the attributes whose bits are set in s, the first attribute being the highest bit.

    Example:
        >>> walsh_hadamard(np.array([[5.0, 1.0], [2.0, 0.0]]))
        array([8., 6., 4., 2.])
    """
    values = np.array(table, dtype=np.float64).reshape(-1)
    bits = values.size.bit_length() - 1
    done = 0
    while done < bits:
        step = min(_RADIX, bits - done)
        right = 2**done
        view = values.reshape(-1, 2**step, right)
        values = view[..., 0] @ hadamard(step) if right == 1 else np.matmul(hadamard(step), view)
        done += step
    return values.reshape(-1)
