"""Many marginals of one dense table by shared partial sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain import Clique

Number = TypeVar("Number", np.float64, np.int64)


def shared_marginals(table: NDArray[Number], axes: Sequence[str], cliques: Sequence[Clique]) -> list[NDArray[Number]]:
    """Marginals of a table; each is summed from the smallest partial sum at hand.

    Args:
        table: The cells, one axis per name.
        axes: Names of the axes.
        cliques: Names to keep, each clique in the order of ``axes``.

    Returns:
        One new array per clique.

    Example:
        >>> shared_marginals(np.arange(6).reshape(2, 3), ("a", "b"), [("a",), ("b",)])
        [array([ 3, 12]), array([3, 5, 7])]
    """
    result = []
    for clique in cliques:
        drop = tuple(i for i, name in enumerate(axes) if name not in clique)
        result.append(np.asarray(table.sum(axis=drop)) if drop else table.copy())
    return result
