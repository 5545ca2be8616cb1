"""Constraints: combinations of values that no record has (structural zeros).

A constraint is held over *classes* of codes that it does not tell apart: "children under 15 are not married" has two
classes of ages and two of marital states, however many ages there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Bools, Ints, Places
from hedgerow.domain.derived import Clique
from hedgerow.errors import DomainError

MOST_CLASSES = 1 << 22
"""Cells over classes that one constraint may span."""


class Constraint:
    """Values of some attributes that go together; other combinations are in no record.

    Attributes:
        text: The rule, as it was written.
        scope: Attributes that matter to it, in the order of their domain.
        classes: For each attribute the class of each code. No two classes can be joined; they are numbered in the order
            of their first codes.
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
            text: The rule, as it was written.
            scope: Attributes that it is about, in the order of their domain.
            classes: For each attribute the class of each code.
            allowed: Whether records may have values of these classes, shape of the numbers of classes.

        Raises:
            DomainError: The table does not fit the classes, is too large, or leaves nothing.
        """
        self.text = text
        self.scope: Clique = tuple(scope)
        table = np.array(allowed, dtype=np.bool_)
        counts = tuple(int(np.max(value_class)) + 1 for value_class in classes)
        if len(classes) != len(self.scope) or table.shape != counts:
            raise DomainError(
                f"the constraint {text!r} has a table of shape {table.shape} for classes of {counts}",
                remedy="give one class for each code, and one axis for each attribute",
            )
        check_cells(text, counts)
        kept: dict[str, Places] = {}
        for axis, (name, value_class) in enumerate(zip(self.scope, classes, strict=True)):
            rows = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
            _, merged = np.unique(np.packbits(rows, axis=1), axis=0, return_inverse=True)
            _, first, inverse = np.unique(
                merged.reshape(-1)[np.asarray(value_class)], return_index=True, return_inverse=True
            )
            order = np.argsort(first)  # classes are numbered by their first codes
            codes = np.argsort(order)[inverse.reshape(-1)].astype(np.int32)
            codes.setflags(write=False)
            table = np.take(table, np.asarray(value_class)[first[order]], axis=axis)
            if len(first) > 1:
                kept[name] = codes
        if not table.any():
            raise DomainError(f"the constraint {text!r} leaves no record", remedy="check its condition")
        self.scope = tuple(kept)
        self.classes = tuple(kept.values())
        self.allowed: Bools = table.reshape([size for size in table.shape if size > 1])
        self.allowed.setflags(write=False)

    def holds(self, codes: Sequence[ArrayLike]) -> Bools:
        """Whether records keep it.

        Args:
            codes: For each attribute of the scope the codes of the records.
        """
        places = np.zeros((), dtype=np.int32)
        for of_code, code, count in zip(self.classes, codes, self.allowed.shape, strict=True):
            places = np.multiply(places, count) + of_code.take(np.asarray(code))
        return np.asarray(self.allowed.reshape(-1).take(places))

    def ordered(self, names: Sequence[str]) -> Constraint:
        """The same constraint where attributes are in another order.

        Args:
            names: Attributes, those of the scope among them.

        Example:
            >>> rule = Constraint("a = 0 or b = 0", ("a", "b"), [[0, 1], [0, 1]], [[True, True], [True, False]])
            >>> rule.ordered(["b", "a"]).scope
            ('b', 'a')
        """
        order = sorted(range(len(self.scope)), key=lambda axis: names.index(self.scope[axis]))
        if order == list(range(len(order))):
            return self
        scope, classes = zip(*((self.scope[axis], self.classes[axis]) for axis in order), strict=True)
        return Constraint(self.text, scope, classes, self.allowed.transpose(order))

    def among(self, kept: Mapping[str, Ints]) -> Constraint:
        """The constraint where attributes have only some of their codes, one at least of each class.

        Args:
            kept: For some attributes the codes that are kept, in their new order.

        Example:
            >>> rule = Constraint("a < 2 or b = 0", ("a", "b"), [[0, 0, 1], [0, 1]], [[True, True], [True, False]])
            >>> [classes.tolist() for classes in rule.among({"a": np.array([0, 2])}).classes]
            [[0, 1], [0, 1]]
        """
        pairs = zip(self.scope, self.classes, strict=True)
        classes = [of_code.take(kept[name]) if name in kept else of_code for name, of_code in pairs]
        return Constraint(self.text, self.scope, classes, self.allowed)

    def renamed(self, names: Mapping[str, str]) -> Constraint:
        """The constraint about other attributes, which have one more code, the last, that goes with everything.

        Args:
            names: The other attributes, by those that they stand for.

        Example:
            >>> rule = Constraint("a = 0 or b = 0", ("a", "b"), [[0, 1], [0, 1]], [[True, True], [True, False]])
            >>> other = rule.renamed({"b": "c"})
            >>> other.scope, [bool(other.holds(codes)) for codes in ([1, 1], [1, 2])]
            (('a', 'c'), [False, True])
        """
        wider = [(0, int(name in names)) for name in self.scope]
        allowed = np.pad(self.allowed, wider, constant_values=True)
        classes = [
            np.append(of_code, [size] * (name in names)).astype(np.int32)
            for name, of_code, size in zip(self.scope, self.classes, self.allowed.shape, strict=True)
        ]
        return Constraint(self.text, [names.get(name, name) for name in self.scope], classes, allowed)

    @property
    def says(self) -> bool:
        """Whether it rules anything out."""
        return not self.allowed.all()

    def __eq__(self, other: object) -> bool:
        """Whether both were written alike and rule out the same."""
        return (
            isinstance(other, Constraint)
            and (self.text, self.scope) == (other.text, other.scope)
            and all(map(np.array_equal, self.classes, other.classes))
            and np.array_equal(self.allowed, other.allowed)
        )

    def __hash__(self) -> int:
        """A hash that is computed once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.text, self.scope, *(v.tobytes() for v in self.classes), self.allowed.tobytes()))

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
