"""Synthetic records that equal a real one, beside fresh real records that do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.evaluation.columns import Column
from hedgerow.system import numbered

_HALVES = 5
"""Number that tells this draw from the others of a seed."""


@dataclass(frozen=True)
class Matches:
    """Shares of records that equal a real one in all columns.

    Attributes:
        real: Synthetic records that equal a real one.
        half: Synthetic records that equal one of a random half of the real ones.
        fresh: Records of the other half that do: how often people who were not looked at have a twin.
    """

    real: float
    half: float
    fresh: float


def matches(columns: Sequence[Column], seed: int = 0) -> list[Matches]:
    """Exact matches of each synthetic table.

    Args:
        columns: The columns of all tables.
        seed: Seed that chooses the half.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.evaluation.columns import joined
        >>> column = joined("a", [pa.chunked_array([["x", "y"]]), pa.chunked_array([["x", "z"]])])
        >>> [each.real for each in matches([column])]
        [0.5]
    """
    real, *others = _keys(columns)
    order = numbered(seed, _HALVES).permutation(len(real))
    half, rest = np.split(real[order], [len(real) // 2])
    fresh = _share(rest, half)
    return [Matches(_share(other, real), _share(other, half), fresh) for other in others]


def _share(records: Ints, among: Ints) -> float:
    return float(np.isin(records, among).mean())


def _keys(columns: Sequence[Column]) -> list[Ints]:
    """One number for each record, the same for equal records of all tables."""
    ends = np.cumsum([len(places) for places in columns[0].places])[:-1]
    keys = np.zeros(ends[-1] + len(columns[0].places[-1]), dtype=np.int64)
    span = 1
    for column in columns:
        size = column.missing + 1
        if span * size > 2**62:
            _, numbers = np.unique(keys, return_inverse=True)
            keys = numbers.reshape(-1).astype(np.int64)
            span = int(keys.max()) + 1
        keys = keys * size + np.concatenate(column.places)
        span *= size
    return np.split(keys, ends)
