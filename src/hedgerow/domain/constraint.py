"""Constraints: combinations of values that no record has (structural zeros).

A constraint is held over *classes* of codes that it does not tell apart: "children under 15 are not married" has two
classes of ages and two of marital states, however many ages there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Bools, Places
from hedgerow.domain.derived import Clique
from hedgerow.errors import DomainError

MOST_CLASSES = 1 << 22
"""Cells over classes that one constraint may span."""


@final
class Constraint:
    """Values of some attributes that go together; other combinations are in no record.

    Attributes:
        text: The rule as it was written.
        scope: Attributes that it is about, in the order of their domain.
        classes: For each attribute the class of each code. No two classes can be joined.
        allowed: Whether records may have values of these classes, shape of the numbers of classes.

    Example:
        >>> ages, states = [0, 0, 1, 1, 1], [0, 1, 1]
        >>> rule = Constraint("child and married", ("age", "marital"), [ages, states], [[True, False], [True, True]])
        >>> rule.allowed.shape, bool(rule.holds([1, 1])), bool(rule.holds([1, 0]))
        ((2, 2), False, True)
    """

    def __init__(self, text: str, scope: Iterable[str], classes: Sequence[ArrayLike], allowed: ArrayLike) -> None:
        """Join the classes that the constraint does not tell apart.

        Args:
            text: The rule as it was written.
            scope: Attributes that it is about, in the order of their domain.
            classes: For each attribute the class of each code.
            allowed: Whether records may have values of these classes, shape of the numbers of classes.

        Raises:
            DomainError: The table does not fit the classes, is too large, or leaves nothing.
        """
        self.text = text
        self.scope: Clique = tuple(scope)
        found = np.array(allowed, dtype=np.bool_)
        counts = tuple(int(np.max(each)) + 1 for each in classes)
        if len(classes) != len(self.scope) or found.shape != counts:
            raise DomainError(
                f"the constraint {text!r} has a table of shape {found.shape} for classes of {counts}",
                remedy="give one class for each code, and one axis for each attribute",
            )
        check_cells(text, counts)
        if not found.any():
            raise DomainError(f"the constraint {text!r} leaves no record", remedy="check its condition")
        kept: list[Places] = []
        for axis, each in enumerate(classes):
            rows = np.moveaxis(found, axis, 0).reshape(found.shape[axis], -1)
            _, first, merged = np.unique(np.packbits(rows, axis=1), axis=0, return_index=True, return_inverse=True)
            codes = merged.reshape(-1)[np.asarray(each)].astype(np.int32)
            codes.setflags(write=False)
            kept.append(codes)
            found = np.take(found, first, axis=axis)
        self.classes = tuple(kept)
        self.allowed: Bools = found
        self.allowed.setflags(write=False)

    def holds(self, codes: Sequence[ArrayLike]) -> Bools:
        """Whether records keep it.

        Args:
            codes: For each attribute of the scope the codes of the records.
        """
        return np.asarray(
            self.allowed[tuple(of_code[np.asarray(each)] for of_code, each in zip(self.classes, codes, strict=True))]
        )

    @property
    def says(self) -> bool:
        """Whether it rules anything out."""
        return not self.allowed.all()

    def __eq__(self, other: object) -> bool:
        """Whether both were written alike and rule out the same."""
        return isinstance(other, Constraint) and self._key == other._key

    def __hash__(self) -> int:
        """A hash that is computed once."""
        return self._hash

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return self.text, self.scope, *(each.tobytes() for each in self.classes), self.allowed.tobytes()

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        """The text."""
        return f"Constraint({self.text!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild it in other processes."""
        return Constraint, (self.text, self.scope, self.classes, self.allowed)


def check_cells(text: str, counts: Iterable[int]) -> None:
    """Refuse a constraint over too many combinations of classes, before they are listed.

    Raises:
        DomainError: There are more than ``MOST_CLASSES``.

    Example:
        >>> check_cells("a = b", (10, 10))
    """
    cells = math.prod(counts)
    if cells > MOST_CLASSES:
        raise DomainError(
            f"the constraint {text!r} spans {cells:,} combinations of values",
            remedy=f"at most {MOST_CLASSES:,} are supported; state it over a level, or split it",
        )
