"""Linked tables: parents, and children of which each has one parent (households and persons, say).

A child is described beside its parent: the *joined* domain has the parents' attributes, then the number of children,
then the children's own attributes. What is known of both tables is known there: the rules of either, and rules between
them, which the children's domain states by declaring a parents' column again, in the same way. Children may be parents
in their turn (of jobs, say), and parents have several tables of children: a *tree* of tables with one root. Each table
is described beside all above it, and ends with the numbers of its own children.

Where children have an *order*, a child is described beside the child before it too: the columns of that child stand
before its own, as attributes whose names begin with ``previous.``, and so does the *gap*, how many steps of the order
lie between the two. The first child of a parent has the value ``none`` in all of them; its columns stand in the root's
table too, as attributes whose names begin with ``first.``. Columns of the *second order* are known of the child before
that one too; their names begin with ``previous.previous.``. Tables below do not have these attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, closed
from hedgerow.domain.conditions import did_you_mean
from hedgerow.domain.constraint import Constraint
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import possible_cells
from hedgerow.errors import DomainError

GAP = "gap"
"""Name of the steps between a child and the one before it."""
_PREVIOUS = "previous."
_FIRST = "first."
_KEY_REMEDY = "delete its entry in the domain file, or list it there under 'ignore'"
_NONE = "none", "no child before"
"""Text of what the first child has; the second one where a column has the first among its values."""
_EXACT_GAPS = 16
"""Gaps below have a bin each; above, four bins span twice the gap."""


@dataclass(frozen=True)
class Children:
    """A table of children in a tree of tables, and how it hangs there.

    Attributes:
        domain: Domain of the table; attributes that the tables above have too are theirs.
        key: Column that links the table to that of the parents, where it names each record.
        at_most: Most children of one parent that are counted, at least 1.
        number: Name for the number of children.
        order: See ``Linked.of``.
        second_order: See ``Linked.of``.
        above: Place of the parents' table: 0 for the root, 1 for the first table of children, and so on.
        in_all: Most records of the table that are counted of one record of the root, where these are to be fewer than
            the bounds of this table and those above it multiply to; not with an order.

    Example:
        >>> jobs = Children(Domain([IntegerRange("hours", 1, 60)]), key="person", at_most=3, number="jobs", above=1)
        >>> jobs.beside(Domain([IntegerRange("age", 0, 99), IntegerRange("jobs", 0, 3)]), {}).joined.names
        ('age', 'jobs', 'hours')
    """

    domain: Domain
    key: str
    at_most: int
    number: str = "children"
    order: str | None = None
    second_order: Collection[str] | None = ()
    above: int = 0
    in_all: int | None = None

    def beside(self, parents: Domain, numbers: Mapping[str, int]) -> Linked:
        """The table beside that of the parents.

        Args:
            parents: What is known of a parent, the numbers of children among it.
            numbers: Attributes that say how many children of its own a child has, and the most of them.

        Raises:
            DomainError: See ``Linked.of``.
        """
        own = self.domain
        before = () if self.order is None else tuple(_before(parents, own, self.order, self.second_order))
        if {*own.names} <= {*parents.names}:
            raise DomainError("the children have no column of their own", remedy="declare what is known of a child")
        for derived_column in own.derived_columns:
            if derived_column not in parents.declared and {*derived_column.sources} & {*parents.names}:
                message = f"the children's column {derived_column.name!r} is a function of their parents' columns"
                raise DomainError(message, remedy="leave it out: it follows from the tables")
        joined = _joined(parents, before, _numbered(own, numbers))
        tentative = self.order is not None and self.second_order is None
        hung = (*numbers,), self.above, self.in_all
        linked = Linked(joined, self.key, self.number, len(parents), self.order, tentative, *hung)
        linked.check_children()
        return linked


@dataclass(frozen=True)
class Linked:
    """The public description of a table of parents and a table of children, and of those that follow in a tree.

    Attributes:
        joined: Domain of a child beside its parent.
        key: Column of both tables that says who belongs to whom; no release holds its values.
        number: Attribute that says how many children a parent has.
        n_known: How many attributes of ``joined`` are the parents'; they come first.
        order: Column of the children by which those of one parent are ordered; None where they are not.
        tentative: Whether it is not settled which columns are of the second order; all of them stand in ``joined``.
        numbers: Attributes that say how many children of its own a child has; they come last.
        above: Place of the parents' table: 0 for the root.
        in_all: Most records of the children's table that are counted of one record of the root; None for as many as
            the bounds allow.
        more: The tables after the first table of children, each beside its parents'.

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
        >>> jobs = Children(Domain([IntegerRange("hours", 1, 60)]), key="person", at_most=3, number="jobs", above=1)
        >>> tree = Linked.of(homes, people, key="home", at_most=8, number="size", more=[jobs])
        >>> [link.joined.names for link in tree.links], tree.bounds
        ([('rooms', 'size', 'age', 'jobs'), ('rooms', 'size', 'age', 'jobs', 'hours')], (1, 8, 24))
    """

    joined: Domain
    key: str
    number: str
    n_known: int
    order: str | None = None
    tentative: bool = False
    numbers: Clique = ()
    above: int = 0
    in_all: int | None = None
    more: tuple[Linked, ...] = ()

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
        more: Sequence[Children] = (),
    ) -> Linked:
        """Put the domains of two tables together, or of a tree of them.

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
            more: Further tables of children, each after that of its parents.

        Raises:
            DomainError: A bound is below 1, a name is taken, children have no column of their own or one that follows
                from their parents', a column of two tables is not declared alike, some parents can have no child by
                the rules between tables, an order is no column of the children or can be missing, a column of the
                second order is none of theirs, or a table hangs at no table before it.
        """
        tables = (Children(children, key, at_most, number, order, second_order), *more)
        _check_tree(parents, tables)
        numbers = [
            {each.number: each.at_most for each in tables if each.above == place} for place in range(len(tables) + 1)
        ]
        links = [tables[0].beside(_numbered(parents, numbers[0]), numbers[1])]
        known = [links[0].counted, links[0].known]
        for each, own in zip(more, numbers[2:], strict=True):
            links.append(each.beside(known[each.above], own))
            known.append(links[-1].known)
            if {*links[-1].counted.constraints} - {*known[each.above].constraints}:
                message = f"a rule of the table with the key {each.key!r} is about the tables above it alone"
                raise DomainError(message, remedy="state it in the domain of the last of these tables")
        return replace(links[0], more=tuple(links[1:]))

    @cached_property
    def opened(self) -> Domain:
        """Domain of the root's table that is released: with the columns of the first child, where children are ordered.

        They are those of the first table of the root's children with an order. All of them are none where there is no
        child. So what is known of first children has the noise of one record (theory.md section 15.3).
        """
        begun = self.begun
        if begun is None:
            return self.counted
        names = begun.firsts
        firsts = [_with_none(begun.joined[name], first) for name, first in names.items()]
        attributes, before = (*self.counted.attributes, *firsts), {*begun.before}
        rules = [_none_without(each, self.counted[begun.number]) for each in firsts]
        rules += [
            rule.renamed(names)
            for rule in begun.joined.constraints
            if before.isdisjoint(rule.scope) and not names.keys().isdisjoint(rule.scope)
        ]
        constraints = [rule.ordered([attribute.name for attribute in attributes]) for rule in rules]
        return replace(self.counted, attributes=attributes, constraints=(*self.counted.constraints, *constraints))

    @property
    def begun(self) -> Linked | None:
        """The table whose first children the root's table tells of; None where none has an order."""
        return next((link for link in self.links if link.above == 0 and link.order is not None), None)

    @property
    def firsts(self) -> dict[str, str]:
        """Names of the columns of the first child in the root's table, by the children's."""
        own = self.joined.names[self.n_known + len(self.before) :]
        return {name: f"{_FIRST}{name}" for name in own}

    @property
    def links(self) -> tuple[Linked, ...]:
        """All tables of children, in their order: each after that of its parents."""
        return (replace(self, more=()), *self.more)

    @property
    def bounds(self) -> tuple[int, ...]:
        """The most records of each table that one record of the root has with all below it, the root's own first."""
        found = [1]
        for link in self.links:
            most = found[link.above] * link.at_most
            found.append(most if link.in_all is None else min(most, link.in_all))
        return tuple(found)

    def named(self, place: int) -> str | None:
        """The column that names the records of a table for its children; None where it has none.

        Args:
            place: Place of the table, 0 for the root.
        """
        return next((link.key for link in self.links if link.above == place), None)

    def settled(self, second_order: Collection[str]) -> Linked:
        """The same, where of the columns that are of the second order only tentatively these are, and no others.

        Args:
            second_order: Their names.

        Raises:
            DomainError: A column is none of the children's, or orders them.
        """
        if self.order is None or not self.tentative:
            return self
        before = tuple(_before(self.counted, self.children, self.order, second_order))
        return replace(self, joined=_joined(self.counted, before, self.known), tentative=False)

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
        """Domain of the columns of the parents' table; below the root with those of the tables above it."""
        numbers = {link.number for link in self.links if link.above == self.above}
        return self.joined.of_columns(name for name in self.joined.names[: self.n_known] if name not in numbers)

    @cached_property
    def counted(self) -> Domain:
        """Domain of what is known of a parent, the number of children among it."""
        return self.joined.of_columns(self.joined.names[: self.n_known])

    @cached_property
    def known(self) -> Domain:
        """Domain of what is known of a child for children of its own: all but the child before."""
        return self.joined.of_columns(name for name in self.joined.names if name not in self.before)

    @cached_property
    def children(self) -> Domain:
        """Domain of the columns of the children's table."""
        names = self.joined.names[self.n_known + len(self.before) :]
        return self.joined.of_columns(name for name in names if name not in self.numbers)

    @cached_property
    def between(self) -> Domain:
        """The joined attributes with the rules that are about both tables, and nothing else."""
        known = (*self.counted.constraints, *self.children.constraints)
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
        return self.joined.names[self.n_known : self.joined.index(GAP) + 1] if self.order is not None else ()

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


def _check_tree(root: Domain, tables: Sequence[Children]) -> None:
    """Check how tables hang together, before any is described beside another.

    Raises:
        DomainError: See ``Linked.of``.
    """
    domains, keys = (root, *(each.domain for each in tables)), dict[int, str]()
    taken = {name for domain in domains for name in domain.names}
    if any(domain.known or domain.population for domain in domains):
        message = "known totals are of the records of one table, and several are linked"
        raise DomainError(message, remedy="leave the known totals out")
    for place, each in enumerate(tables, 1):
        for most, of in ((each.at_most, "parent"), (1 if each.in_all is None else each.in_all, "record of the root")):
            if isinstance(most, bool) or not isinstance(most, int) or most < 1:
                raise DomainError(f"at most {most!r} children of one {of}", remedy="give a number from 1 on")
        if each.in_all is not None and each.order is not None:
            message = "a limit in all would take children out of the middle of their order"
            raise DomainError(message, remedy="leave out the limit, or the order")
        if not 0 <= each.above < place:
            message = f"the parents of table {place} are in table {each.above}, which does not come before it"
            raise DomainError(message, remedy="put tables after that of their parents; the root is table 0")
        if each.key in taken:
            raise DomainError(f"the key {each.key!r} is declared as a column that is released", remedy=_KEY_REMEDY)
        if keys.setdefault(each.above, each.key) != each.key:
            message = f"children name the records of table {each.above} by {keys[each.above]!r} and by {each.key!r}"
            raise DomainError(message, remedy="link them by one column")
    if len({*keys.values()}) < len(keys):
        raise DomainError("two tables are named by the same key", remedy="name the records of each by another column")
    for each in tables:
        if each.number in taken or each.number in keys.values():
            message = f"there is a column {each.number!r} already"
            raise DomainError(message, remedy="give the number of children another name")
        taken.add(each.number)
        if each.order is None and each.second_order:
            raise DomainError("columns of the second order need an order of the children", remedy="name their order")


def _numbered(domain: Domain, numbers: Mapping[str, int]) -> Domain:
    """A domain with the numbers of children behind its attributes."""
    attributes = (*domain.attributes, *(IntegerRange(name, 0, most) for name, most in numbers.items()))
    return replace(domain, attributes=attributes, unleveled=(*domain.unleveled, *numbers)) if numbers else domain


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
        remedy = "order them by a column with 'min' and 'max', or with listed values alone"
        names = [attribute.name for attribute in own]
        raise DomainError(message, remedy=remedy if order in children else did_you_mean(order, names))
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


def _none_without(attribute: Attribute, number: Attribute) -> Constraint:
    """The rule that a column of the first child is none where there is no child, and only there."""
    classes = [np.arange(attribute.size) == attribute.size - 1, np.arange(number.size) == 0]
    text = f"{attribute.name} is {attribute.label(attribute.size - 1)} where {number.name} is 0, and only there"
    places = [each.astype(np.int32) for each in classes]
    return Constraint(text, (attribute.name, number.name), places, np.eye(2, dtype=np.bool_))


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
