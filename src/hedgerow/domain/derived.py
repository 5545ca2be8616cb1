"""Derived attributes: public functions of the attributes of a record.

A *level* is a coarser form of one attribute (an age group of the age, the chapter of a diagnosis). A *derived column*
is a column of the data that others determine (the density of an area). Both have values of their own, and the codes of
the attributes that they are made from say which (theory.md section 11).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Places
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange
from hedgerow.errors import DomainError

Clique = tuple[str, ...]
"""Names of attributes, in the order of their domain, without repetition."""

DEFAULT_ABOVE = 16
"""Ordered attributes of more values have levels by default."""
BRANCHING = 16
"""Most values that one value of a default level stands for, counted in those of the next finer level."""
LARGEST_WITH_LEVELS = 1 << 20
"""Attributes of more values have no default levels."""


class Derived:
    """A public function of one attribute or several.

    Attributes:
        attribute: Its name and its values.
        sources: The attributes that it is made from, in the order of their domain.
        codes: Its code for each combination of codes of the sources, shape of the sources; not to be changed.
        column: Whether the data have a column of this name. It is checked while reading and written with records.

    Example:
        >>> age = IntegerRange("age", 0, 3)
        >>> group = Derived(Categorical("age.group", ("child", "adult")), ("age",), [0, 0, 1, 1])
        >>> group.name, group.sources, group.codes.tolist()
        ('age.group', ('age',), [0, 0, 1, 1])
    """

    def __init__(self, attribute: Attribute, sources: Iterable[str], codes: ArrayLike, *, column: bool = False) -> None:
        """Check the codes.

        Args:
            attribute: The name and the values of the function.
            sources: Attributes that it is made from, in the order of their domain.
            codes: ``0 <= code < attribute.size`` for each combination of codes of the sources, shape of the sources.
            column: Whether the data have a column of this name.

        Raises:
            DomainError: There is no source, or a code is none of the attribute's.
        """
        self.attribute = attribute
        self.sources: Clique = tuple(sources)
        self.column = column
        table = np.array(codes, dtype=np.int64)
        if not self.sources or table.ndim != len(self.sources):
            raise DomainError(
                f"derived attribute {attribute.name!r} is made from {len(self.sources)} attributes, its table has "
                f"{table.ndim} axes",
                remedy="give one axis for each source",
            )
        if table.size == 0 or table.min() < 0 or table.max() >= attribute.size:
            raise DomainError(
                f"derived attribute {attribute.name!r} has codes outside 0 to {attribute.size - 1}",
                remedy="give a value for every combination of its sources",
            )
        self.codes: Places = table.astype(np.int32)
        self.codes.setflags(write=False)

    @property
    def name(self) -> str:
        """Name of the derived attribute."""
        return self.attribute.name

    def at(self, codes: Sequence[ArrayLike]) -> Places:
        """The codes of records.

        Args:
            codes: For each source the codes of the records.

        Example:
            >>> total = Derived(IntegerRange("sum", 0, 3), ("a", "b"), [[0, 1, 2], [1, 2, 3]])
            >>> total.at([[0, 1, 1], [2, 0, 2]])
            array([2, 1, 3], dtype=int32)
        """
        places = np.asarray(codes[0])
        for code, size in zip(codes[1:], self.codes.shape[1:], strict=True):
            places = places.astype(np.int64) * size + np.asarray(code)
        return self.codes.reshape(-1).take(places)

    def ordered(self, names: Sequence[str]) -> Derived:
        """The same function where attributes are in another order.

        Args:
            names: Attributes, the sources among them.

        Example:
            >>> total = Derived(IntegerRange("sum", 0, 3), ("a", "b"), [[0, 1, 2], [1, 2, 3]])
            >>> total.ordered(["b", "c", "a"]).codes.tolist()
            [[0, 1], [1, 2], [2, 3]]
        """
        order = sorted(range(len(self.sources)), key=lambda axis: names.index(self.sources[axis]))
        if order == list(range(len(order))):
            return self
        sources = tuple(self.sources[axis] for axis in order)
        return Derived(self.attribute, sources, self.codes.transpose(order), column=self.column)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same function of the same attributes."""
        return (
            isinstance(other, Derived)
            and (self.attribute, self.sources, self.column) == (other.attribute, other.sources, other.column)
            and np.array_equal(self.codes, other.codes)
        )

    def __hash__(self) -> int:
        """A hash that is computed once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.attribute, self.sources, self.column, self.codes.tobytes()))

    def __repr__(self) -> str:
        """The name and what it is made from."""
        return f"Derived({self.name!r}, from {', '.join(self.sources)})"

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild it in other processes."""
        return partial(Derived, column=self.column), (self.attribute, self.sources, self.codes)


def width_level(attribute: Attribute, width: int, name: str | None = None) -> Derived:
    """A level of an ordered attribute whose values stand for runs of equal width; the last may be shorter.

    Whole numbers are cut at multiples of the width, bins are joined from the first on. The missing and the other value
    stay as they are.

    Args:
        attribute: A range of whole numbers, or bins.
        width: Values of the attribute for each value of the level, at least 2.
        name: Name of the level; ``<attribute>.<width>`` by default.

    Raises:
        DomainError: The attribute has no order, or the level would have a single value.

    Example:
        >>> width_level(IntegerRange("age", 17, 45), 10).attribute.labels
        ('[17, 20)', '[20, 30)', '[30, 40)', '[40, 45]')
    """
    named = name or f"{attribute.name}.{width}"
    if width < 2:
        raise DomainError(f"level {named!r} has width {width}", remedy="give a whole number of at least 2")
    declared = {"missing": attribute.missing, "other": attribute.other}
    if isinstance(attribute, IntegerRange):
        shift = attribute.minimum % width
        starts = [0, *range(width - shift, attribute.ordinary, width)]
        edges = [*(attribute.minimum + start for start in starts), attribute.maximum]
        if len(starts) > 1 and edges[-2] == edges[-1]:  # a last bin of one number needs an edge above it
            edges[-1] += 1
        level: Attribute = Binned(named, edges, whole=True, scale=attribute.scale, learnt=False, **declared)
    elif isinstance(attribute, Binned):
        starts = list(range(0, attribute.ordinary, width))
        edges_of_bins = [*(attribute.edges[start] for start in starts), attribute.edges[-1]]
        level = Binned(named, edges_of_bins, whole=attribute.whole, scale=attribute.scale, learnt=False, **declared)
    else:
        raise DomainError(
            f"attribute {attribute.name!r} has no order that a level of width {width} could follow",
            remedy="list the values of each group of the level",
        )
    ordinary = np.searchsorted(starts, np.arange(attribute.ordinary), side="right") - 1
    extra = np.arange(len(starts), level.size)
    return Derived(level, (attribute.name,), np.concatenate([ordinary, extra]))


def default_levels(attribute: Attribute) -> tuple[Derived, ...]:
    """The levels that an attribute has unless others are declared, finest first: equal splits of ordered values.

    None for listed values, for at most ``DEFAULT_ABOVE`` values and for more than ``LARGEST_WITH_LEVELS``.

    Example:
        >>> [level.name for level in default_levels(IntegerRange("income", 0, 4095))]
        ['income.16', 'income.256']
        >>> [level.name for level in default_levels(IntegerRange("age", 0, 99))]
        ['age.10']
    """
    if isinstance(attribute, Categorical) or not DEFAULT_ABOVE < attribute.ordinary <= LARGEST_WITH_LEVELS:
        return ()
    steps = math.ceil(math.log(attribute.ordinary) / math.log(BRANCHING) - 1e-9)
    branching = math.ceil(attribute.ordinary ** (1.0 / steps) - 1e-9)
    return tuple(width_level(attribute, branching**step) for step in range(1, steps))


def coarser(fine: Sequence[int] | Places, coarse: Sequence[int] | Places) -> Places | None:
    """The coarse code of each fine code, where the fine ones determine it; None where they do not.

    Args:
        fine: A code for each value of an attribute.
        coarse: Another for each.

    Returns:
        Shape ``(largest fine code + 1,)``; -1 for fine codes that no value has.

    Example:
        >>> coarser([0, 0, 1, 2], [0, 0, 1, 1])
        array([0, 1, 1], dtype=int32)
        >>> coarser([0, 0, 1, 1], [0, 1, 1, 1]) is None
        True
    """
    known, wanted = np.asarray(fine), np.asarray(coarse)
    parents = np.full(int(known.max()) + 1, -1, dtype=np.int32)
    parents[known] = wanted
    return parents if np.array_equal(parents[known], wanted) else None


def refined(classes: Sequence[Sequence[int] | Places]) -> Places:
    """The classes of codes that are together in each of several divisions into classes.

    Args:
        classes: For each division a class for each code, not negative.

    Returns:
        Numbered from 0 without gaps, in the order of the first division, then of the second, and so on.

    Example:
        >>> refined([[0, 0, 1, 1, 1], [0, 2, 2, 2, 0]])
        array([0, 1, 3, 3, 2], dtype=int32)
    """
    refinement = np.zeros(len(classes[0]), dtype=np.int64)
    for value_class in classes:
        places = np.asarray(value_class, dtype=np.int64)
        pairs = refinement * (int(places.max()) + 1) + places
        if int(pairs.max()) <= 4 * len(pairs) + 64:
            refinement = (np.cumsum(np.bincount(pairs) > 0) - 1)[pairs]  # what a sort would give
        else:
            _, refinement = np.unique(pairs, return_inverse=True)
    return refinement.astype(np.int32)


def is_nested(one: Derived, other: Derived) -> bool:
    """Whether one of two functions of the same attribute determines the other.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> age = IntegerRange("age", 0, 99)
        >>> is_nested(width_level(age, 5), width_level(age, 20)), is_nested(width_level(age, 5), width_level(age, 7))
        (True, False)
    """
    return coarser(one.codes, other.codes) is not None or coarser(other.codes, one.codes) is not None


def hidden(base: str, sources: Clique, codes: Places, taken: set[str]) -> Derived:
    """A function for models alone, of a name that is not taken, which is noted as taken then.

    Args:
        base: Begin of the name.
        sources: Attributes.
        codes: A code for each combination of theirs; all occur.
        taken: Names of other variables.

    Example:
        >>> hidden("age", ("age",), np.array([0, 1, 1]), {"age/classes"}).name
        'age/classes/'
    """
    name = f"{base}/classes"
    while name in taken:
        name += "/"
    taken.add(name)
    return Derived(IntegerRange(name, 0, int(codes.max())), sources, codes)
