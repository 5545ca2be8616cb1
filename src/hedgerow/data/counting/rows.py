"""Records in memory, piece by piece and over several cores.

Codes of derived attributes are looked up piece by piece where they are counted, and none are kept. So levels cost no
memory beside the records, and a level is counted over its own cells, however many those of its attribute are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.domain import Clique, Codes, Derived, Domain, smallest_unsigned
from hedgerow.system import in_slices, usable_cores

Column: TypeAlias = "Codes | DerivedCodes"
"""Codes of a variable of records."""


class DerivedCodes:
    """The codes of a derived attribute, as a column that can be cut.

    Attributes:
        dtype: Type of the codes.

    Example:
        >>> from hedgerow import IntegerRange
        >>> half = Derived(IntegerRange("half", 0, 1), ("age",), [0, 0, 1, 1])
        >>> DerivedCodes(half, [np.array([3, 0, 2], dtype=np.uint8)])[1:]
        array([0, 1], dtype=uint8)
    """

    def __init__(self, derived: Derived, sources: Sequence[Column]) -> None:
        """Look nothing up yet.

        Args:
            derived: The function.
            sources: The codes of the attributes that it is made from.
        """
        self._derived = derived
        self._sources = sources
        self.dtype = np.dtype(smallest_unsigned(derived.attribute.size))

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._sources[0])

    def __getitem__(self, rows: slice | Ints) -> Codes:
        """The codes of some rows."""
        return self._derived.at([source[rows] for source in self._sources]).astype(self.dtype)


def over_variables(
    domain: Domain, columns: Sequence[Column], cliques: Iterable[Clique]
) -> tuple[Domain, Sequence[Column]]:
    """Records with the derived attributes that are asked for as attributes of their own, after all others.

    Args:
        domain: The domain of the records.
        columns: Codes of its attributes.
        cliques: The cliques that are to be counted.

    Returns:
        A domain and its columns; those given where no derived attribute is asked for.

    Example:
        >>> from hedgerow import IntegerRange
        >>> column = np.array([3, 17, 18], dtype=np.uint8)
        >>> plain, columns = over_variables(Domain([IntegerRange("age", 0, 99)]), [column], [("age.10",)])
        >>> plain.names, columns[1][:]
        (('age', 'age.10'), array([0, 1, 1], dtype=uint8))
    """
    asked = set[str]().union(*cliques).difference(domain.names)
    if not asked:
        return domain, columns
    functions = [each for name in domain.clique(asked) if (each := domain.function(name)) is not None]
    derived = [DerivedCodes(f, [columns[axis] for axis in domain.axes(f.sources)]) for f in functions]
    return Domain([*domain, *(function.attribute for function in functions)]), [*columns, *derived]


PASS_CELLS = 1 << 22
"""Cells that are counted in one pass over the records; bounds the memory."""

_CHUNK_ROWS = (1 << 16) - 64
"""Records that go through all blocks together: 1 MB of codes if there are 15 attributes, and counters of two bytes."""

_WIDE_ROWS = 1 << 20
"""Records up to which no codes of one byte are counted: what is compiled for two bytes does for all."""

_TILE_ROWS = 1 << 13
_ROWS_PER_THREAD = 1 << 16


@dataclass(frozen=True)
class Records:
    """Rows of codes, some of which may count more than once.

    Attributes:
        columns: One array of codes per attribute.
        weights: Number of records of each row; empty for one each.

    Example:
        >>> records = Records.of([np.array([0, 1, 1], dtype=np.uint8)], None)
        >>> [codes.tolist() for codes, _ in records.pieces(0, 3, [0])]
        [[[0, 1, 1]]]
    """

    columns: Sequence[Column]
    weights: Ints

    @classmethod
    def of(cls, columns: Sequence[Column], weights: Ints | None) -> Records:
        """With None for no weights."""
        return cls(columns, np.empty(0, dtype=np.int64) if weights is None else weights)

    @property
    def n_rows(self) -> int:
        """Number of rows, whatever their weights."""
        return len(self.columns[0])

    def pieces(
        self, start: int, stop: int, axes: Sequence[int], dtype: type[np.signedinteger[Any]] | None = None
    ) -> Iterator[tuple[NDArray[Any], Ints]]:
        """Codes of some attributes as one matrix (attributes, rows), with the weights, piece by piece.

        Args:
            start: The first row.
            stop: The row behind the last one.
            axes: The attributes.
            dtype: Type of the matrix, whose pieces are small then; None for that of the codes.
        """
        least = np.uint8 if self.n_rows > _WIDE_ROWS else np.uint16
        kind = np.result_type(least, *[self.columns[axis].dtype for axis in axes]) if dtype is None else dtype
        rows = _CHUNK_ROWS if dtype is None else _TILE_ROWS
        for low in range(start, stop, rows):
            high = min(stop, low + rows)
            codes = np.empty((len(axes), high - low), dtype=kind)
            for row, axis in enumerate(axes):
                codes[row] = self.columns[axis][low:high]
            yield codes, self.weights[low:high]


def starts_of(lengths: Sequence[int]) -> Ints:
    """Start of each run, and the end of the last one.

    Example:
        >>> starts_of([2, 3])
        array([0, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def over_rows(count: Callable[[int, int], NDArray[Any]], n_rows: int, n_cells: int) -> NDArray[Any]:
    """Cut the rows among the cores and add up; a table of more cells than one pass has is counted once only.

    Args:
        count: Counts from a row on until another one, without holding the interpreter's lock.
        n_rows: Number of rows.
        n_cells: Number of cells of a result.

    Example:
        >>> over_rows(lambda start, stop: np.array([stop - start]), 10, 1)
        array([10])
    """
    threads = 1 if n_cells > PASS_CELLS else min(usable_cores(), n_rows // _ROWS_PER_THREAD)
    first, *others = in_slices(count, n_rows, threads)
    for other in others:
        first += other
    return first
