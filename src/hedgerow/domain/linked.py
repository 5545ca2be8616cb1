"""Two tables with a key: parents, and children of which each has one parent (households and persons, say).

A child is described beside its parent: the *joined* domain has the parents' attributes, then the number of children,
then the children's own attributes. What is known of both tables is known there: the rules of either, and rules between
them, which the children's domain states by declaring a parents' column again, in the same way.

Where children have an *order*, a child is described beside the child before it too: the columns of that child stand
before its own, as attributes whose names begin with ``previous.``, and so does the *gap*, how many steps of the order
lie between the two. The first child of a parent has the value ``none`` in all of them. Columns of the *second order*
are known of the child before that one too; their names begin with ``previous.previous.``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, closed
from hedgerow.domain.constraint import Constraint
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import possible_cells
from hedgerow.errors import DomainError

GAP = "gap"
"""Name of the steps between a child and the one before it."""
_PREVIOUS = "previous."
_NONE = "none", "no child before"
"""Text of what the first child has; the second one where a column has the first among its values."""
_EXACT_GAPS = 16
"""Gaps below have a bin each; above, four bins span twice the gap."""


@dataclass(frozen=True)
class Linked:
    """The public description of a table of parents and a table of children.

    Attributes:
        joined: Domain of a child beside its parent.
        key: Column of both tables that says who belongs to whom; no release holds its values.
        number: Attribute that says how many children a parent has.
        order: Column of the children by which those of one parent are ordered; None where they are not.
        tentative: Whether it is not settled which columns are of the second order; all of them stand in ``joined``.

    Example:
        >>> homes, people = Domain([IntegerRange("rooms", 1, 9)]), Domain([IntegerRange("age", 0, 99)])
        >>> linked = Linked.of(homes, people, key="home", at_most=8, number="size")
        >>> linked.joined.names, linked.counted.names, linked.parents == homes, linked.children == people
        (('rooms', 'size', 'age'), ('rooms', 'size'), True, True)
        >>> linked.at_most
        8
        >>> visits = Domain([IntegerRange("day", 1, 9), IntegerRange("ward", 1, 4)])
        >>> Linked.of(homes, visits, key="home", at_most=8, order="day").joined.names
        ('rooms', 'children', 'previous.ward', 'gap', 'day', 'ward')
    """

    joined: Domain
    key: str
    number: str
    order: str | None = None
    tentative: bool = False

    @classmethod
    def of(
        cls,
        parents: Domain,
        children: Domain,
        *,
        key: str,
        at_most: int,
        number: str = "children",
        order: str | None = None,
        second_order: Collection[str] | None = (),
    ) -> Linked:
        """Put the domains of the two tables together.

        Args:
            parents: Domain of the table of parents.
            children: Domain of the table of children; attributes that the parents have too are theirs.
            key: Column that links the tables.
            at_most: Most children of one parent that are counted, at least 1.
            number: Name for the number of children.
            order: Column of the children, of numbers, dates or listed values, by which those of one parent are
                ordered; the values as they are listed.
            second_order: Columns of the children, other than the order, that may depend on the two children before:
                the model is then a chain of the second order in them. With None those whose tables the budget
                carries; `settled` says which.

        Raises:
            DomainError: The bound is below 1, a name is taken, the children have no column of their own or one that
                follows from their parents', a column of both tables is not declared alike, some parents can have no
                child by the rules between the tables, the order is no column of the children or can be missing, or a
                column of the second order is none of theirs.
        """
        if isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 1:
            raise DomainError(f"at most {at_most!r} children of one parent", remedy="give a number from 1 on")
        if any(each.known or each.population for each in (parents, children)):
            message = "known totals are of the records of one table, and two are linked"
            raise DomainError(message, remedy="leave the known totals out")
        if key in parents or key in children:
            raise DomainError(f"the key {key!r} is declared as a column that is released", remedy="leave it out")
        if number in parents or number in children or number == key:
            raise DomainError(
                f"there is a column {number!r} already", remedy="give the number of children another name"
            )
        attributes = (*parents.attributes, IntegerRange(number, 0, at_most))
        counted = replace(parents, attributes=attributes, unleveled=(*parents.unleveled, number))
        if order is None and second_order:
            raise DomainError("columns of the second order need an order of the children", remedy="name their order")
        before = () if order is None else tuple(_before(parents, children, order, second_order))
        joined = _joined(counted, before, children)
        if len(joined) == len(counted) + len(before):
            raise DomainError("the children have no column of their own", remedy="declare what is known of a child")
        for derived_column in children.derived_columns:
            if derived_column not in counted.declared and {*derived_column.sources} & {*counted.names}:
                message = f"the children's column {derived_column.name!r} is a function of their parents' columns"
                raise DomainError(message, remedy="leave it out: it follows from the two tables")
        linked = cls(joined, key, number, order, tentative=order is not None and second_order is None)
        linked.check_children()
        return linked

    def settled(self, second_order: Collection[str]) -> Linked:
        """The same, where of the columns that are of the second order only tentatively these are, and no others.

        Args:
            second_order: Their names.

        Raises:
            DomainError: A column is none of the children's, or orders them.
        """
        if self.order is None or not self.tentative:
            return self
        before = tuple(_before(self.parents, self.children, self.order, second_order))
        own = self.joined.of_columns((*self._names[0], self.number, *self._names[1]))
        return replace(self, joined=_joined(self.counted, before, own), tentative=False)

    def check_children(self) -> None:
        """Refuse rules between the tables by which some parents can have no child: they may be drawn with some.

        Raises:
            DomainError: There are such rules.
        """
        rules = self.between.constraints
        names = self.joined.clique(name for rule in rules for name in rule.scope if name in self.counted)
        if names:
            alone, joined = possible_cells(self.counted, names), possible_cells(self.joined, names)
            if alone is None or joined is None or (alone & ~joined).any():
                raise DomainError(
                    f"by the rules between the tables some parents can have no child: {'; '.join(map(str, names))}",
                    remedy="leave such rules out, or leave some children possible",
                )

    @cached_property
    def parents(self) -> Domain:
        """Domain of the columns of the parents' table."""
        return self.joined.of_columns(self._names[0])

    @cached_property
    def counted(self) -> Domain:
        """Domain of the parents with the number of their children."""
        return self.joined.of_columns((*self._names[0], self.number))

    @cached_property
    def children(self) -> Domain:
        """Domain of the columns of the children's table."""
        return self.joined.of_columns(self._names[1])

    @cached_property
    def between(self) -> Domain:
        """The joined attributes with the rules that are about both tables, and nothing else."""
        known = (*self.parents.constraints, *self.children.constraints)
        before = {*self.before}
        rules = [each for each in self.joined.constraints if each not in known and before.isdisjoint(each.scope)]
        return Domain(self.joined.attributes, (), rules, self.joined.names)

    @property
    def at_most(self) -> int:
        """Most children of one parent that are counted."""
        return self.joined[self.number].size - 1

    @property
    def before(self) -> Clique:
        """Attributes of the child before, the gap last; none where children have no order."""
        place = self.joined.index(self.number) + 1
        return self.joined.names[place : self.joined.index(GAP) + 1] if self.order is not None else ()

    @property
    def history(self) -> tuple[tuple[str, str], ...]:
        """Each attribute of the children before, the gap left out, with the one of the child before that it repeats."""
        return tuple((name, name.removeprefix(_PREVIOUS)) for name in self.before[:-1])

    @property
    def runs_of_three(self) -> tuple[Clique, ...]:
        """Each column of the second order, in the child before the last, in the last one, and itself."""
        columns = dict(self.history)
        return tuple((name, column, columns[column]) for name, column in self.history if column in columns)

    def gaps(self, steps: Ints) -> Ints:
        """The codes of gaps.

        Args:
            steps: Steps of the order between a child and the one before it, shape ``(n,)``; below 0 for first children.
        """
        gap = self.joined[GAP]
        known = np.maximum(steps, 0)
        codes = np.searchsorted(gap.edges[:-1], known, side="right") - 1 if isinstance(gap, Binned) else known
        return np.where(steps < 0, gap.size - 1, codes)

    @property
    def _names(self) -> tuple[Clique, Clique]:
        place = self.joined.index(self.number)
        return self.joined.names[:place], self.joined.names[place + 1 + len(self.before) :]


def _joined(counted: Domain, before: Sequence[Attribute], children: Domain) -> Domain:
    """The domain of a child beside its parent and the children before."""
    beside = counted.merge(Domain(before, (), _first_of_all(before))) if before else counted
    return beside.merge(children)


def _before(parents: Domain, children: Domain, order: str, second_order: Collection[str] | None) -> Iterator[Attribute]:
    """The attributes of the children before, each with a last code for none, and the gap.

    Raises:
        DomainError: The order is no column of the children that is never missing, a name is taken, or a column of the
            second order is none of the children's others.
    """
    own = [attribute for attribute in children if attribute.name not in parents]
    of_order = next((attribute for attribute in own if attribute.name == order), None)
    if of_order is None or not 1 < of_order.size == of_order.ordinary:
        message = f"children have no column {order!r} that is never missing, which orders them"
        raise DomainError(message, remedy="order them by a column with 'min' and 'max', or with listed values alone")
    for name in (*parents.names, *children.names):
        if name == GAP or name.startswith(_PREVIOUS):
            message = f"the column {name!r} has the name of what is said of the child before"
            raise DomainError(message, remedy="rename the column, in a view where the table is in a database")
    others = [attribute for attribute in own if attribute is not of_order]
    twice = [attribute for attribute in others if second_order is None or attribute.name in second_order]
    if strange := {*(second_order or ())} - {attribute.name for attribute in twice}:
        message = f"children have no column {min(strange)!r} beside their order, and it is to be of the second order"
        raise DomainError(message, remedy="name columns of the children, and not the order")
    for steps, known in ((2, twice), (1, others)):
        yield from (_with_none(attribute, f"{_PREVIOUS * steps}{attribute.name}") for attribute in known)
    most = of_order.size - 1
    starts = [0, *range(1, min(most, _EXACT_GAPS) + 1)]
    while (width := starts[-1] // 4) and starts[-1] + width <= most:
        starts.append(starts[-1] + width)
    yield (
        IntegerRange(GAP, 0, most, missing=_NONE[0])
        if most < 4 * _EXACT_GAPS
        else Binned(GAP, closed(starts, most), whole=True, missing=_NONE[0])
    )


def _with_none(attribute: Attribute, name: str) -> Attribute:
    """An attribute of another name with one more code, the last: that of the first child, which has none before it."""
    text = _NONE[_NONE[0] in attribute.labels]
    missing, other = attribute.missing, attribute.other
    if other is not None:
        return Categorical(name, [*attribute.labels, text])
    missing, other = (text, None) if missing is None else (missing, text)
    if isinstance(attribute, Categorical):
        return Categorical(name, attribute.values, spelling=attribute.spelling, missing=missing, other=other)
    return replace(attribute, name=name, missing=missing, other=other)


def _first_of_all(before: Sequence[Attribute]) -> Iterator[Constraint]:
    """The rules that a child is the first by all of these attributes or by none, and so of the second ones likewise."""
    *others, gap = before
    twice = [attribute for attribute in others if attribute.name.startswith(_PREVIOUS * 2)]
    for attribute in others[len(twice) :]:
        yield _none_together(attribute, gap)
    for attribute in twice[:1]:
        yield _none_together(attribute, gap, also=True)
    for attribute in twice[1:]:
        yield _none_together(twice[0], attribute)


def _none_together(attribute: Attribute, with_: Attribute, *, also: bool = False) -> Constraint:
    """The rule that one attribute is none where another is; and only there, unless it may be so elsewhere too."""
    classes = [(np.arange(each.size) == each.size - 1).astype(np.int32) for each in (attribute, with_)]
    one, other = (each.label(each.size - 1) for each in (attribute, with_))
    text = f"{attribute.name} is {one} where {with_.name} is {other}{'' if also else ', and only there'}"
    return Constraint(text, (attribute.name, with_.name), classes, np.array([[True, False], [also, True]]))
