"""Common ground of samplers: blocks of records, and positions on a cumulative sum.

Records come in blocks, so that as many can be drawn as a file holds. One seed always gives the same blocks: all records
at once are these blocks put together.
"""

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, Words
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.models.core.memory import has_room, usable_bytes

Codes = NDArray[np.unsignedinteger]
"""Records as codes, shape ``(n, len(domain))``, columns in the order of the domain."""


class SamplingMethod(StrEnum):
    """Ways to draw records from a hypothesis.

    ``SYSTEMATIC``: every cell gets its expected number of records, rounded up or down by one random offset, so that
    sampling adds little error. ``INDEPENDENT``: every record is drawn on its own.
    """

    SYSTEMATIC = "systematic"
    INDEPENDENT = "independent"


_BLOCK_CODES = 1 << 21
"""Codes of a block, so that it stays in the fast memory of a core."""
_MOST_ROWS = 1 << 17
_CELLS_PER_ROW = 16
"""Cells of the model for each record of a block, at most: all cells are passed over for each block."""
_LARGEST_ROWS = 1 << 22
_MOST = 1 << 40
"""Records in all; with as many in a block as there may be, products stay below 2^63."""
_GOLDEN = (5.0**0.5 - 1.0) / 2.0


def block_rows(domain: Domain, cells: int) -> int:
    """Number of records that are drawn together.

    Args:
        domain: The domain.
        cells: Number of cells that are passed over for each block.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> block_rows(Domain((IntegerRange("a", 0, 1),)), cells=100)
        131072
    """
    return max(1, min(_MOST_ROWS, _BLOCK_CODES // len(domain)), min(_LARGEST_ROWS, cells // _CELLS_PER_ROW))


def collected(blocks: Iterable[Codes], domain: Domain, n: int) -> Codes:
    """Blocks of records as one array.

    Args:
        blocks: Blocks of ``n`` records in all.
        domain: The domain.
        n: Number of records.

    Returns:
        Codes in the smallest unsigned type, shape ``(n, len(domain))``; each column lies in one piece.

    Raises:
        ConfigError: The records do not fit into memory.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> collected([np.array([[1]], dtype=np.uint8), np.array([[0]], dtype=np.uint8)], domain, 2).tolist()
        [[1], [0]]
    """
    kind = code_type(domain)
    required = n * len(domain) * kind.itemsize
    if not has_room(required):
        raise ConfigError(
            f"{n:,} records of {len(domain)} attributes take {required / 2**30:,.1f} GiB, and "
            f"{usable_bytes() / 2**30:,.1f} GiB may be used",
            remedy="draw them in batches (Release.sample_batches), write them to a file as they are drawn "
            "(Release.write_records), or draw fewer",
        )
    codes: Codes = np.empty((n, len(domain)), dtype=kind, order="F")
    start = 0
    for block in blocks:
        codes[start : start + len(block)] = block
        start += len(block)
    return codes


def batches(blocks: Iterable[Codes], rows: int) -> Iterator[Codes]:
    """The same records in batches of a chosen size; the last may be smaller.

    Args:
        blocks: Blocks of any size.
        rows: Number of records in a batch, at least 1.

    Example:
        >>> [batch.ravel().tolist() for batch in batches([np.array([[1]]), np.array([[2], [3], [4], [5]])], 2)]
        [[1, 2], [3, 4], [5]]
    """
    waiting: list[Codes] = []
    count = 0
    for block in blocks:
        start = 0
        while start < len(block):
            piece = block[start : start + rows - count]
            waiting.append(piece)
            start, count = start + len(piece), count + len(piece)
            if count == rows:
                yield _joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(pieces: list[Codes]) -> Codes:
    return pieces[0] if len(pieces) == 1 else np.concatenate([piece.T for piece in pieces], axis=1).T


def code_type(domain: Domain) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes of every attribute.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> code_type(Domain((IntegerRange("a", 0, 300),)))
        dtype('uint16')
    """
    return np.dtype(np.min_scalar_type(max(domain.shape) - 1))


def check_number(n: int) -> None:
    """Refuse a number of records that is negative, or too large to count in.

    Raises:
        ConfigError: The number is out of range.

    Example:
        >>> check_number(0)
    """
    if not 0 <= n <= _MOST:
        raise ConfigError(f"{n:,} records cannot be drawn", remedy=f"ask for at least 0, and for {_MOST:,} at most")


def positions(n: int, rows: int, method: SamplingMethod, draw: np.random.Generator) -> Iterator[Floats]:
    """Positions in [0, 1), at which records are read off a cumulative sum, in blocks.

    Systematic: n equally spaced positions with one random offset. A block takes them at equal distances, around a
    circle, so that it is nearly a systematic sample of its own, and so are the first few blocks together; the position
    of any one record is uniform.
    Independent: uniform positions.

    Args:
        n: Number of positions.
        rows: The largest number in one block.
        method: Systematic or independent.
        draw: Source of randomness.

    Yields:
        Increasing positions, shape ``(at most rows,)``.

    Example:
        >>> from hedgerow.system import generator
        >>> for block in positions(4, 2, SamplingMethod.SYSTEMATIC, generator(0)):
        ...     print(block.round(3).tolist())
        [0.137, 0.637]
        [0.387, 0.887]
    """
    blocks = -(-n // rows)
    offset = draw.random() * n
    step = round(_GOLDEN * blocks)
    while math.gcd(step, blocks) > 1:
        step += 1
    for number in range(blocks):
        first = number * step % blocks
        size = (n - first + blocks - 1) // blocks
        if method is SamplingMethod.SYSTEMATIC:
            points = (first + blocks * np.arange(size) + offset) / n
            passed = int(np.searchsorted(points, 1.0))
            moved = np.concatenate([points[passed:] - 1.0, points[:passed]])
            yield np.asarray(np.minimum(moved, np.nextafter(1.0, 0.0)), dtype=np.float64)
        else:  # Ordered uniform numbers are normalised sums of exponentials.
            gaps = np.cumsum(draw.standard_exponential(size + 1))
            yield np.asarray(gaps[:size] / gaps[size])


def shuffle(found: Ints, draw: np.random.Generator) -> None:
    """Put whole numbers into random order, in place; three times as fast as numpy.

    Example:
        >>> numbers = np.arange(5)
        >>> from hedgerow.system import generator
        >>> shuffle(numbers, generator(1))
        >>> sorted(numbers.tolist())
        [0, 1, 2, 3, 4]
    """
    from hedgerow.models.core import sampling_kernels

    sampling_kernels.shuffle(found, new_state(draw))


def new_state(draw: np.random.Generator) -> Words:
    """The state of a generator for compiled passes, drawn from a generator.

    Example:
        >>> from hedgerow.system import generator
        >>> new_state(generator(1)).shape
        (1,)
    """
    return draw.integers(2**64, size=1, dtype=np.uint64)
