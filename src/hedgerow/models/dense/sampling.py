"""Records from the weights of all cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.models.core import Codes, SamplingMethod, block_rows, check_number, code_type, positions, shuffle
from hedgerow.models.dense.cells import kernels
from hedgerow.models.dense.layout import Layout
from hedgerow.system import Seed, generator

_SUMMED = 1024
"""Weights that are summed at once: the cell of a record is looked for in one block."""


def sample_cells(
    weights: Floats, layout: Layout, n: int, seed: Seed = None, method: SamplingMethod = SamplingMethod.SYSTEMATIC
) -> Iterator[Codes]:
    """Draw records from weights, block by block.

    Systematic: each cell gets its expected number of records rounded up or down; in each block it is less than two off.

    Args:
        weights: Non-negative, one per cell in the order of the layout, in any unit; not to be changed meanwhile.
        layout: The order of the cells.
        n: Number of records.
        seed: None for fresh randomness.
        method: Systematic or independent.

    Returns:
        Blocks of codes, in random order inside each, columns in the order of the domain.

    Raises:
        ConfigError: n is negative.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> layout = Layout(Domain((IntegerRange("a", 0, 1),)))
        >>> [sorted(block[:, 0].tolist()) for block in sample_cells(np.array([3.0, 1.0]), layout, 4, seed=1)]
        [[0, 0, 0, 1]]
    """
    check_number(n)
    return _cell_blocks(weights, layout, n, method, generator(seed))


def _cell_blocks(
    weights: Floats, layout: Layout, n: int, method: SamplingMethod, draw: np.random.Generator
) -> Iterator[Codes]:
    blocks = np.add.reduceat(weights, np.arange(0, weights.size, _SUMMED))
    starts = np.concatenate([np.zeros(1), np.cumsum(blocks)])
    for block in positions(n, block_rows(layout.domain, weights.size), method, draw):
        found = np.empty(block.size, dtype=np.int64)
        kernels().cells_at(weights, starts, _SUMMED, block * starts[-1], found)
        shuffle(found, draw)
        yield decode(found, layout)


def decode(found: Ints, layout: Layout) -> Codes:
    """Codes of flat cells in the order of a layout, which are lost.

    Returns:
        Shape ``(len(found), attributes)``, columns in domain order, each in one piece.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> layout = Layout(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))))
        >>> decode(np.array([5, 1]), layout).tolist()
        [[1, 2], [0, 1]]
    """
    from hedgerow.models.core import sampling_kernels

    columns: Codes = np.empty((len(layout.shape), len(found)), dtype=code_type(layout.domain))
    sampling_kernels.unravel(found, np.array(layout.order), np.array(layout.shape), columns)
    return columns.T
