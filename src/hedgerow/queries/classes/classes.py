"""Classes of codes of one attribute that some sets do not tell apart.

The cost of everything here follows how often the sets cut the codes of an attribute, not how many codes it has: the
codes are held as *pieces*, runs between neighbouring cuts, and pieces that lie in the same sets are one class.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import CodeSet
from hedgerow.queries.core.summed_area import Corner, joined_corners, summed_area
from hedgerow.system import generator

_COMPARED = 1 << 22
"""Largest number of pairs of a run and a piece that are compared at once."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The codes of one attribute in classes, numbered by their first codes.

    Attributes:
        size: Number of codes.
        low: First code of each piece, ascending from 0.
        label: The class of each piece.

    Example:
        >>> classes = Classes.whole(2**32).split([CodeSet((10, 2**31))])
        >>> classes.low.tolist(), classes.label.tolist(), classes.sizes.tolist()
        ([0, 10, 2147483648], [0, 1, 0], [2147483658, 2147483638])
    """

    size: int
    low: Ints
    label: Ints

    @classmethod
    def whole(cls, size: int) -> Classes:
        """All codes in one class."""
        return cls(size, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    @classmethod
    def apart(cls, size: int) -> Classes:
        """A class for each code."""
        return cls(size, np.arange(size), np.arange(size))

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @cached_property
    def lengths(self) -> Ints:
        """Number of codes of each piece."""
        return np.diff(self.low, append=self.size)

    @cached_property
    def sizes(self) -> Ints:
        """Number of codes of each class."""
        counts = np.zeros(int(self.label.max()) + 1, dtype=np.int64)
        np.add.at(counts, self.label, self.lengths)
        return counts

    def split(self, sets: Iterable[CodeSet] = (), labels: Sequence[NDArray[Any]] = ()) -> Classes:
        """The classes refined: codes of one class then lie in the same sets.

        Args:
            sets: Sets of codes of the attribute.
            labels: Arrays of one number per code, each of shape ``(size,)``; codes of different numbers are told apart.

        Example:
            >>> Classes.whole(6).split([CodeSet((0, 3))], [np.array([1, 2, 1, 1, 1, 2])]).label.tolist()
            [0, 1, 0, 2, 3]
        """
        different = list(dict.fromkeys(sets))
        cuts = {cut for each in different for cut in each.cuts}
        changes = [np.flatnonzero(np.diff(label)) + 1 for label in labels]
        low = np.unique(np.concatenate([self.low, np.array(sorted(cuts), dtype=np.int64), *changes]))
        low = low[low < self.size]
        columns = [self.holding(low)[:, None], *(np.asarray(label)[low][:, None] for label in labels)]
        columns.append(_signatures(low, self.size, different))
        label = np.zeros(len(low), dtype=np.int64)
        for column in np.concatenate([column.astype(np.int64) for column in columns], axis=1).T:
            _, column_label = np.unique(column, return_inverse=True)
            _, label = np.unique(label * (int(column_label.max()) + 1) + column_label, return_inverse=True)
        return Classes(self.size, low, _in_order(label))

    def holding(self, codes: NDArray[np.integer[Any]]) -> Ints:
        """The class of each code, of the shape of the codes.

        Example:
            >>> Classes.whole(9).split([CodeSet((2, 5))]).holding(np.array([1, 2, 8]))
            array([0, 1, 0])
        """
        if self.size <= codes.size:
            return np.asarray(self.labels()[codes])
        return np.asarray(self.label[np.searchsorted(self.low, codes.astype(np.int64), side="right") - 1])

    def shares(self, sets: Sequence[CodeSet]) -> Floats:
        """Share of each class that lies in each set: exactly 0 or 1 where none or all of it does.

        Returns:
            Fractions, shape ``(len(sets), count)``.

        Example:
            >>> Classes.whole(9).split([CodeSet((2, 5))]).shares([CodeSet((0, 5))])
            array([[0.33333333, 1.        ]])
        """
        fractions: Floats = np.zeros((len(sets), self.count), dtype=np.float64)
        owner = np.repeat(np.arange(len(sets)), [len(code_set.cuts) // 2 for code_set in sets])
        ends = np.array([cut for code_set in sets for cut in code_set.cuts], dtype=np.int64).reshape(-1, 2)
        rows = max(1, _COMPARED // len(self.low))
        order = np.argsort(self.label, kind="stable")
        starts = np.searchsorted(self.label[order], np.arange(self.count))
        for first in range(0, len(ends), rows):
            low, stop = ends[first : first + rows].T[:, :, None]
            inside = np.minimum(stop, self.low + self.lengths) - np.maximum(low, self.low)
            np.maximum(inside, 0, out=inside)
            by_class = np.add.reduceat(inside[:, order], starts, axis=1)
            owners, firsts = np.unique(owner[first : first + rows], return_index=True)
            fractions[owners] += np.add.reduceat(by_class, firsts, axis=0)
        return fractions / self.sizes

    def classes_of(self, sets: Sequence[CodeSet]) -> list[CodeSet]:
        """The classes that lie in each set, of sets that are classes put together.

        Example:
            >>> Classes.whole(9).split([CodeSet((2, 5))]).classes_of([CodeSet((0, 2, 5, 9))])
            [CodeSet(0)]
        """
        cuts = np.array([cut for code_set in sets for cut in code_set.cuts], dtype=np.int64)
        pieces = iter(np.searchsorted(self.low, cuts).reshape(-1, 2).tolist())
        return [self._of_pieces([next(pieces) for _ in code_set.runs]) for code_set in sets]

    def _of_pieces(self, runs: Sequence[Sequence[int]]) -> CodeSet:
        """The classes of runs of pieces; quickly where they are consecutive numbers."""
        if len(runs) == 1 and bisect_right(self._breaks, runs[0][0]) == bisect_left(self._breaks, runs[0][1]):
            first = int(self.label[runs[0][0]])
            return CodeSet((first, first + runs[0][1] - runs[0][0]))
        inside = np.zeros(self.count, dtype=np.bool_)
        for start, stop in runs:
            inside[self.label[start:stop]] = True
        return CodeSet.where(inside)

    @cached_property
    def _breaks(self) -> list[int]:
        """Pieces whose class does not follow that of the piece before."""
        return (np.flatnonzero(np.diff(self.label) != 1) + 1).tolist()

    def corners(self, ends: Ints) -> list[Corner]:
        """Places among the sums below each cut, with weights: their weighted sum is the sum over runs of codes.

        Args:
            ends: First code of each run and the code after it, shape ``(runs, 2)``.
        """
        listed: list[Corner] = []
        for sign, places in ((-1.0, ends[:, 0]), (1.0, ends[:, 1])):
            piece = np.minimum(np.searchsorted(self.low, places, side="right") - 1, len(self.low) - 1)
            share = (places - self.low[piece]) / self.lengths[piece]
            listed += [(piece, sign * (1.0 - share)), (piece + 1, sign * share)]
        return listed

    def codes_of(self, classes: CodeSet) -> CodeSet:
        """The codes of some classes together.

        Example:
            >>> Classes.whole(9).split([CodeSet((2, 5))]).codes_of(CodeSet((0, 1)))
            CodeSet(0..1, 5..8)
        """
        changes = np.flatnonzero(np.diff(classes.holds(self.label), prepend=False, append=False))
        return CodeSet(tuple(np.append(self.low, self.size)[changes].tolist()))

    def first_codes(self) -> Ints:
        """The first code of each class, shape ``(count,)``."""
        return self.low[np.unique(self.label, return_index=True)[1]]

    def labels(self) -> Ints:
        """The class of every code, shape ``(size,)``: for attributes of few codes."""
        return np.repeat(self.label, self.lengths)

    def codes_at(self, classes: Ints, places: Ints) -> Ints:
        """Codes by their class and their place in it, counted from 0.

        Example:
            >>> classes = Classes.whole(9).split([CodeSet((2, 5))])
            >>> classes.codes_at(np.array([0, 0, 1]), np.array([1, 2, 0]))
            array([1, 5, 2])
        """
        order = np.argsort(self.label, kind="stable")
        before = np.cumsum(self.sizes) - self.sizes  # the codes of all classes, one class after the other
        ends = np.cumsum(self.lengths[order])
        at = before[classes] + places
        piece = np.searchsorted(ends, at, side="right")
        return np.asarray(self.low[order][piece] + at - (ends - self.lengths[order])[piece])


def box_sums(table: Floats, classes: Sequence[Classes], sets: Sequence[Sequence[CodeSet]]) -> Floats:
    """Sums over boxes of a table whose cells are spread evenly over the values of their classes.

    Between two neighbouring cuts of each attribute the sums over everything below a corner are linear in its place, so
    they are interpolated between those at the cuts.

    Args:
        table: One axis per attribute, with one cell per class.
        classes: The classes of each attribute.
        sets: One run of codes per box, for each attribute.

    Returns:
        One sum per box.

    Example:
        >>> classes = Classes.whole(8).split([CodeSet((0, 4))])
        >>> box_sums(np.array([4.0, 8.0]), [classes], [[CodeSet((1, 6)), CodeSet((0, 8))]])
        array([ 7., 12.])
    """
    for axis, value_class in enumerate(classes):
        density = value_class.lengths / value_class.sizes[value_class.label]
        along = density.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
        table = table.take(value_class.label, axis=axis) * along
    area = summed_area(table)
    ends = [np.array([codes.cuts for codes in runs], dtype=np.int64).reshape(-1, 2) for runs in sets]
    corners = joined_corners([one.corners(cuts) for one, cuts in zip(classes, ends, strict=True)], area.shape)
    return np.asarray(sum(area.reshape(-1)[places] * weight for places, weight in corners))


def _signatures(low: Ints, size: int, sets: Sequence[CodeSet]) -> Ints:
    """Two numbers per piece that say in which sets it lies, shape ``(pieces, 2)``.

    Every set has a random key of 126 bits; a piece has the exclusive or of the keys of the sets that it lies in. This
    is one pass over the cuts where a list of sets for every piece would take their product. That two pieces of
    different sets agree has a chance of 2**-126.
    """
    keys = _keys(len(sets))
    marks = np.zeros((len(low) + 1, 2), dtype=np.int64)
    owner = np.repeat(np.arange(len(sets)), [len(code_set.cuts) for code_set in sets])
    cuts = np.array([cut for code_set in sets for cut in code_set.cuts], dtype=np.int64)
    np.bitwise_xor.at(marks, np.searchsorted(np.append(low, size), cuts), keys[owner])
    return np.bitwise_xor.accumulate(marks[:-1], axis=0)


@lru_cache(maxsize=4)
def _keys(count: int) -> Ints:
    return np.asarray(generator(2**32).integers(2**63, size=(count, 2)), dtype=np.int64)


def _in_order(label: Ints) -> Ints:
    """The same classes, numbered by their first pieces."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
