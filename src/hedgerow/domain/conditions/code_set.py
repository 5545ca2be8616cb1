"""Sets of codes, held as runs: their cost grows with the number of gaps, not with the number of codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import lt
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hedgerow.arrays import Bools


@dataclass(frozen=True, slots=True, repr=False)
class CodeSet(Sequence[int]):
    """A sorted set of codes; equal sets are equal, however they were made.

    Attributes:
        cuts: Strictly increasing ends of the runs: codes ``cuts[0] <= c < cuts[1]`` lie in the set,
            ``cuts[2] <= c < cuts[3]`` too, and so on.

    Example:
        >>> CodeSet.of([7, 3, 4]), CodeSet.of(range(2**31, 2**32)).cuts
        (CodeSet(3..4, 7), (2147483648, 4294967296))
    """

    cuts: tuple[int, ...]
    _hash: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Check the order."""
        if len(self.cuts) % 2 or not all(map(lt, self.cuts, self.cuts[1:])):
            raise ValueError(f"the cuts {self.cuts} of a set of codes are not pairs in increasing order")
        object.__setattr__(self, "_hash", hash(self.cuts))

    def __hash__(self) -> int:
        """Taken once: models look conditions up by their codes again and again."""
        return self._hash

    @classmethod
    def of(cls, codes: Iterable[int]) -> CodeSet:
        """The set of some codes, in any order; nothing is listed where a range is given.

        Example:
            >>> CodeSet.of(range(3)) == CodeSet.of([2, 1, 0, 1])
            True
        """
        if isinstance(codes, CodeSet):
            return codes
        if isinstance(codes, range) and codes.step == 1:
            return cls((codes.start, codes.stop) if codes else ())
        listed = sorted({int(code) for code in codes})
        if not listed:
            return cls(())
        gaps = ((low + 1, high) for low, high in pairwise(listed) if high > low + 1)
        return cls((listed[0], *chain.from_iterable(gaps), listed[-1] + 1))

    @classmethod
    def where(cls, mask: ArrayLike) -> CodeSet:
        """The codes where an array of booleans is true.

        Example:
            >>> CodeSet.where([False, True, True, False, True])
            CodeSet(1..2, 4)
        """
        changes = np.diff(np.asarray(mask, dtype=np.int8), prepend=0, append=0)
        return cls(tuple(np.flatnonzero(changes).tolist()))

    @property
    def runs(self) -> tuple[range, ...]:
        """Consecutive codes together.

        Example:
            >>> CodeSet.of([7, 3, 4]).runs
            (range(3, 5), range(7, 8))
        """
        return tuple(map(range, self.cuts[::2], self.cuts[1::2]))

    def __len__(self) -> int:
        """Number of codes."""
        return self.cuts[1] - self.cuts[0] if len(self.cuts) == 2 else sum(self.cuts[1::2]) - sum(self.cuts[::2])

    def __iter__(self) -> Iterator[int]:
        """All codes, in order."""
        return iter(range(*self.cuts)) if len(self.cuts) == 2 else chain.from_iterable(self.runs)

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> CodeSet: ...

    def __getitem__(self, place: int | slice) -> int | CodeSet:
        """The code at a place, or the set of those at several."""
        if isinstance(place, slice):
            return CodeSet.of(self[i] for i in range(*place.indices(len(self))))
        left = place if place >= 0 else place + len(self)
        for run in self.runs:
            if 0 <= left < len(run):
                return run[left]
            left -= len(run)
        raise IndexError(f"there is no code at place {place}")

    def __contains__(self, code: object) -> bool:
        """Whether a code lies in the set."""
        return any(code in run for run in self.runs)

    def __and__(self, other: CodeSet) -> CodeSet:
        """Codes of both."""
        return _held([self, other], 2)

    def __or__(self, other: CodeSet) -> CodeSet:
        """Codes of either."""
        return _held([self, other], 1)

    def without(self, other: CodeSet) -> CodeSet:
        """Codes that the other does not hold.

        Example:
            >>> CodeSet.of(range(10)).without(CodeSet.of([0, 4, 5]))
            CodeSet(1..3, 6..9)
        """
        return _held([self], 1, besides=[other])

    def holds(self, codes: NDArray[np.integer[Any]]) -> Bools:
        """Whether each of many codes lies in the set, in the shape of the codes.

        Example:
            >>> CodeSet.of(range(2**31, 2**32)).holds(np.array([5, 2**31 + 5]))
            array([False,  True])
        """
        if len(self.cuts) == 2:
            return np.asarray((codes >= self.cuts[0]) & (codes < self.cuts[1]), dtype=np.bool_)
        ends = np.array(self.cuts, dtype=np.int64)
        return np.asarray(np.searchsorted(ends, codes.astype(np.int64), side="right") % 2 == 1)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All codes, in order, as an array; of int64 unless another type is asked for."""
        kind = np.int64 if dtype is None else dtype
        parts = [np.arange(run.start, run.stop, dtype=kind) for run in self.runs]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)

    def __repr__(self) -> str:
        """The runs."""
        shown = (str(run.start) if len(run) == 1 else f"{run.start}..{run.stop - 1}" for run in self.runs)
        return f"CodeSet({', '.join(shown)})"

    def to_json(self) -> list[int] | dict[str, list[int]]:
        """The codes as a list or, where that is shorter, the cuts.

        Example:
            >>> CodeSet.of([1, 5]).to_json(), CodeSet.of(range(100)).to_json()
            ([1, 5], {'cuts': [0, 100]})
        """
        return list(self) if len(self) <= len(self.cuts) else {"cuts": list(self.cuts)}

    @classmethod
    def from_json(cls, value: Sequence[int] | Mapping[str, Sequence[int]]) -> CodeSet:
        """Read what ``to_json`` gave.

        Raises:
            KeyError, TypeError, ValueError: The value has another form, or is not in order.

        Example:
            >>> CodeSet.from_json({"cuts": [0, 100]})
            CodeSet(0..99)
        """
        if isinstance(value, Mapping):
            return cls(tuple(map(int, value["cuts"])))
        codes = [int(code) for code in value]
        code_set = cls.of(codes)
        if list(code_set) != codes:
            raise ValueError(f"the codes {codes} are not sorted and each once")
        return code_set


def _held(sets: Sequence[CodeSet], least: int, besides: Sequence[CodeSet] = ()) -> CodeSet:
    """Codes that lie in at least ``least`` of the sets, less the number of sets of ``besides`` that they lie in."""
    change: Counter[int] = Counter()
    for signs, group in (((1, -1), sets), ((-1, 1), besides)):
        for each in group:
            for place, cut in enumerate(each.cuts):
                change[cut] += signs[place % 2]
    cuts, depth = [], 0
    for cut in sorted(change):
        before, depth = depth, depth + change[cut]
        if (before < least) != (depth < least):
            cuts.append(cut)
    return CodeSet(tuple(cuts))
