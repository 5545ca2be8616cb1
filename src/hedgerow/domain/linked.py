"""Two tables with a key: parents, and children of which each has one parent (households and persons, say).

A child is described beside its parent: the *joined* domain has the parents' attributes, then the number of children,
then the children's own attributes. What is known of both tables is known there: the rules of either, and rules between
them, which the children's domain states by declaring a parents' column again, in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import possible_cells
from hedgerow.errors import DomainError


@dataclass(frozen=True)
class Linked:
    """The public description of a table of parents and a table of children.

    Attributes:
        joined: Domain of a child beside its parent.
        key: Column of both tables that says who belongs to whom; no release holds its values.
        number: Attribute that says how many children a parent has.

    Example:
        >>> homes, people = Domain([IntegerRange("rooms", 1, 9)]), Domain([IntegerRange("age", 0, 99)])
        >>> linked = Linked.of(homes, people, key="home", at_most=8, number="size")
        >>> linked.joined.names, linked.counted.names, linked.parents == homes, linked.children == people
        (('rooms', 'size', 'age'), ('rooms', 'size'), True, True)
        >>> linked.at_most
        8
    """

    joined: Domain
    key: str
    number: str

    @classmethod
    def of(cls, parents: Domain, children: Domain, *, key: str, at_most: int, number: str = "children") -> Linked:
        """Put the domains of the two tables together.

        Args:
            parents: Domain of the table of parents.
            children: Domain of the table of children; attributes that the parents have too are theirs.
            key: Column that links the tables.
            at_most: Most children of one parent that are counted, at least 1.
            number: Name for the number of children.

        Raises:
            DomainError: The bound is below 1, a name is taken, the children have no column of their own or one that
                follows from their parents', a column of both tables is not declared alike, or some parents can have no
                child by the rules between the tables.
        """
        if isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 1:
            raise DomainError(f"at most {at_most!r} children of one parent", remedy="give a number from 1 on")
        if parents.known or children.known:
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
        joined = counted.merge(children)
        if len(joined) == len(counted):
            raise DomainError("the children have no column of their own", remedy="declare what is known of a child")
        for derived_column in children.derived_columns:
            if derived_column not in counted.declared and {*derived_column.sources} & {*counted.names}:
                message = f"the children's column {derived_column.name!r} is a function of their parents' columns"
                raise DomainError(message, remedy="leave it out: it follows from the two tables")
        linked = cls(joined, key, number)
        linked.check_children()
        return linked

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
        rules = [constraint for constraint in self.joined.constraints if constraint not in known]
        return Domain(self.joined.attributes, (), rules, self.joined.names)

    @property
    def at_most(self) -> int:
        """Most children of one parent that are counted."""
        return self.joined[self.number].size - 1

    @property
    def _names(self) -> tuple[Clique, Clique]:
        place = self.joined.index(self.number)
        return self.joined.names[:place], self.joined.names[place + 1 :]
