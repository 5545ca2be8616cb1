"""Slices of a layout that are kept, one after the other in a few arrays, as compiled passes take them.

A session steps along the same conditions again and again, and making a slice takes longer than passing over it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.models.core.terms import Key
from hedgerow.queries import Conjunction

if TYPE_CHECKING:
    from hedgerow.models.dense.kernels import Packed

KEPT = 2**22
"""Numbers that are kept; where there are more, all are forgotten before the next slice is made."""


@dataclass(frozen=True, eq=False)
class Slice:
    """Cells of a conjunction: ``outer[i] + stride * k`` for ``k < count``, or ``outer[i] + gather[k]``."""

    outer: Ints
    stride: int
    count: int
    gather: Ints


class _Row:
    """Numbers to which more are added; what was added never changes, so that a view of it stays true."""

    def __init__(self, *first: int) -> None:
        self._room = np.array(first or (0,), dtype=np.int64)
        self.size = len(first)

    def add(self, numbers: Ints) -> None:
        end = self.size + len(numbers)
        if end > self._room.size:
            room = np.empty(max(end, 2 * self._room.size), dtype=np.int64)
            room[: self.size] = self._room[: self.size]
            self._room = room
        self._room[self.size : end] = numbers
        self.size = end

    @property
    def held(self) -> Ints:
        return self._room[: self.size]


class Places:
    """The slices of conjunctions that were asked for; threads may share it.

    Example:
        >>> kept, made = Places(), Slice(np.array([4, 8]), 1, 2, np.zeros(0, dtype=np.int64))
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> query = Conjunction.where(Domain((IntegerRange("a", 0, 1),)), {"a": [1]})
        >>> packed, numbers = kept.packed([query, query], lambda query: made)
        >>> packed[:4], numbers
        ((array([4, 8]), array([0, 2]), array([1]), array([2])), array([0, 0]))
    """

    def __init__(self, kept: int = KEPT) -> None:
        """Start without any.

        Args:
            kept: See ``KEPT``.
        """
        self._kept = kept
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._outer, self._outer_start = _Row(), _Row(0)
        self._stride, self._count = _Row(), _Row()
        self._gather, self._gather_start = _Row(), _Row(0)

    def packed(self, queries: Sequence[Conjunction], slice_of: Callable[[Conjunction], Slice]) -> tuple[Packed, Ints]:
        """Slices as compiled passes take them.

        Args:
            queries: Conjunctions.
            slice_of: Makes the slice of one that is not kept.

        Returns:
            All slices that are kept, and the number of each conjunction's, shape ``(len(queries),)``.
        """
        keys = [(query.scope, query.codes) for query in queries]
        with self._lock:
            if self._outer.size + self._gather.size > self._kept and not self._numbers.keys() >= set(keys):
                self._forget()
            numbers = [
                self._numbers[key] if key in self._numbers else self._add(key, slice_of(query))
                for key, query in zip(keys, queries, strict=True)
            ]
            outer, stride, count, gather = self._outer.held, self._stride.held, self._count.held, self._gather.held
            packed = outer, self._outer_start.held, stride, count, gather, self._gather_start.held
        return packed, np.array(numbers, dtype=np.int64)

    def _add(self, key: Key, place: Slice) -> int:
        self._outer.add(place.outer)
        self._gather.add(place.gather)
        for row, number in (
            (self._outer_start, self._outer.size),
            (self._stride, place.stride),
            (self._count, place.count),
            (self._gather_start, self._gather.size),
        ):
            row.add(np.array([number]))
        self._numbers[key] = len(self._numbers)
        return self._numbers[key]
