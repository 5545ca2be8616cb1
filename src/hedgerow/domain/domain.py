"""Domains: the finite, public set of records that could exist.

A domain is public knowledge and is never read off private data. Reading and writing domain files is in
``file.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from hedgerow.domain.attribute import Attribute
from hedgerow.errors import DomainError

Clique = tuple[str, ...]
"""Names of attributes, in the order of their domain, without repetition."""


@final
@dataclass(frozen=True)
class Domain:
    """An ordered set of attributes; a record is one code per attribute.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 0, 99)))
        >>> domain.shape, domain.size
        ((2, 100), 200)
    """

    attributes: tuple[Attribute, ...]

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        """Check that there are attributes and that their names differ.

        Raises:
            DomainError: There is no attribute, or a name is there twice.
        """
        object.__setattr__(self, "attributes", tuple(attributes))
        names = self.names
        if not names:
            raise DomainError("a domain needs at least one attribute", remedy="list the columns of the table")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise DomainError(f"attribute {repeated[0]!r} is declared twice", remedy="declare each column once")

    def __hash__(self) -> int:
        """A hash that is computed once: queries over a thousand attributes are looked up by the thousand."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.attributes)

    def __reduce__(self) -> tuple[type[Domain], tuple[tuple[Attribute, ...]]]:
        """Rebuild it in other processes, where hashes differ."""
        return Domain, (self.attributes,)

    @cached_property
    def names(self) -> Clique:
        """Attribute names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def size(self) -> int:
        """Number of cells, exact however large."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        """Number of attributes."""
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        """Attributes, in order."""
        return iter(self.attributes)

    def __contains__(self, name: object) -> bool:
        """Whether an attribute of that name exists."""
        return name in self._positions

    def __getitem__(self, name: str) -> Attribute:
        """The attribute of that name.

        Raises:
            DomainError: There is none.
        """
        return self.attributes[self.index(name)]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Position of an attribute.

        Raises:
            DomainError: There is none of that name.
        """
        try:
            return self._positions[name]
        except KeyError:
            raise DomainError(
                f"there is no attribute {name!r}", remedy=f"the attributes are: {', '.join(self.names)}"
            ) from None

    def axes(self, clique: Sequence[str]) -> tuple[int, ...]:
        """Positions of the attributes of a clique."""
        positions = self._positions
        try:
            return tuple([positions[name] for name in clique])
        except KeyError as unknown:
            self.index(unknown.args[0])
            raise

    def clique(self, names: Iterable[str]) -> Clique:
        """The names in the order of the domain, each once.

        Raises:
            DomainError: A name is not an attribute.
        """
        return tuple(self.names[i] for i in sorted({self.index(name) for name in names}))

    def shape_of(self, clique: Sequence[str]) -> tuple[int, ...]:
        """Number of codes of each attribute of a clique."""
        shape = self.shape
        return tuple([shape[i] for i in self.axes(clique)])

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some attributes, in the order in which they are named.

        Example:
            >>> from hedgerow import IntegerRange
        >>> d = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
            >>> d.project(["b"]).shape
            (3,)
        """
        return Domain(self[name] for name in names)

    def merge(self, other: Domain) -> Domain:
        """This domain, followed by the attributes that only the other has.

        Raises:
            DomainError: An attribute differs between the two.
        """
        for attribute in other:
            if attribute.name in self and self[attribute.name] != attribute:
                raise DomainError(
                    f"attribute {attribute.name!r} differs between the two domains", remedy="declare it alike in both"
                )
        return Domain((*self.attributes, *(attribute for attribute in other if attribute.name not in self)))
