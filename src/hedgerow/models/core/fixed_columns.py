"""Values that records are drawn given: codes of some variables, row by row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Ints
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError

Columns = dict[str, Ints]
"""Codes of some variables, one for each record."""
_MOST_ROWS = 1 << 16
_BLOCK_CODES = 1 << 21


def checked_columns(domain: Domain, given: Mapping[str, ArrayLike]) -> Columns:
    """Codes of some variables, row by row.

    Raises:
        DomainError: There is no such variable.
        ConfigError: There is no column, the lengths differ, or a code is out of its range.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> checked_columns(Domain((IntegerRange("a", 0, 1),)), {"a": [1, 0]})
        {'a': array([1, 0])}
    """
    columns = {name: np.asarray(given[name]) for name in domain.clique(given)}
    if len({codes.shape for codes in columns.values()}) != 1 or any(codes.ndim != 1 for codes in columns.values()):
        raise ConfigError("given values are columns of one length", remedy="give at least one column of codes")
    for name, codes in columns.items():
        if codes.dtype.kind not in "iu" or (len(codes) and not 0 <= codes.min() <= codes.max() < domain[name].size):
            raise ConfigError(f"a given code of {name!r} is out of its range, 0 to {domain[name].size - 1}")
    return {name: codes.astype(np.int64) for name, codes in columns.items()}


def completed_rows(domain: Domain) -> int:
    """Number of rows that are completed together.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> completed_rows(Domain((IntegerRange("a", 0, 1),)))
        65536
    """
    return max(1, min(_MOST_ROWS, _BLOCK_CODES // len(domain)))
