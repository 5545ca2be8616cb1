"""A family of parities, answered by fast Walsh-Hadamard transforms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import final

import numpy as np

from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.family import Family, Ints, distinct_cliques
from hedgerow.queries.marginal import MAX_QUERIES
from hedgerow.queries.names import clique_list
from hedgerow.queries.query import Floats, Measurable, Parity
from hedgerow.queries.walsh import hadamard, walsh_hadamard

_MATRIX_BITS = 6
"""Tables of at most so many attributes are transformed by one call for all tables of the size."""

_SUBSET_BITS = 10
"""A set of at most so many attributes also answers the parities of its subsets."""


def parity_scopes(domain: Domain, order: int) -> tuple[Clique, ...]:
    """All sets of 1 to ``order`` attributes, the small ones first.

    Raises:
        QueryError: The order is not between 1 and the number of attributes, or there are too many sets.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> parity_scopes(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
        (('a',), ('b',), ('a', 'b'))
    """
    if not 1 <= order <= len(domain):
        raise QueryError(
            f"there are no parities of {order} attributes: the domain has {len(domain)}",
            remedy=f"give a number from 1 to {len(domain)}",
        )
    count = sum(math.comb(len(domain), k) for k in range(1, order + 1))
    if count > MAX_QUERIES:
        raise QueryError(f"there are {count:,} parities of up to {order} attributes", remedy="ask for fewer attributes")
    return tuple(chain.from_iterable(combinations(domain.names, k) for k in range(1, order + 1)))


@final
@dataclass(frozen=True)
class Parities(Family):
    """Parities of sets of binary attributes, each of them one candidate.

    If all their attributes together have few cells, one transform of that wide table answers them all; else
    every parity is read off the transform of the marginal of a largest set that holds its own.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> family = Parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a",), ("a", "c")])
        >>> family.n_queries, family.bounds, family.candidate(1).text
        (2, (-1.0, 1.0), 'parity(a, c)')
    """

    domain: Domain = field(repr=False)
    parity_of: tuple[Clique, ...]

    def __init__(self, domain: Domain, cliques: Iterable[Iterable[str]]) -> None:
        """Check the sets.

        Args:
            domain: The domain.
            cliques: Sets of attributes with two codes, each set once.

        Raises:
            QueryError: An attribute is not binary, a set is empty or there twice, or there is none.
            DomainError: A name is not an attribute.
        """
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "parity_of", distinct_cliques(domain, cliques))
        for name in self._union:
            Parity(domain, (name,))

    @property
    def n_queries(self) -> int:
        """Number of parities."""
        return len(self.parity_of)

    @property
    def n_candidates(self) -> int:
        """Number of parities."""
        return len(self.parity_of)

    @property
    def bounds(self) -> tuple[float, float]:
        """A record adds -1 or 1."""
        return -1.0, 1.0

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """The sets of attributes."""
        return self.parity_of

    @cached_property
    def spec(self) -> str:
        """``parities:2``, or the sets by name."""
        order = max(map(len, self.parity_of))
        everything = sum(math.comb(len(self.domain), k) for k in range(1, order + 1)) == len(self.parity_of)
        if everything and self.parity_of == parity_scopes(self.domain, order):
            return f"parities:{order}"
        return f"parities:{clique_list(self.parity_of)}"

    def candidate(self, index: int) -> Measurable:
        """One parity."""
        self._check_index(index)
        return Parity(self.domain, self.parity_of[index])

    @cached_property
    def _union(self) -> Clique:
        return self.domain.clique(chain.from_iterable(self.parity_of))

    @cached_property
    def _largest(self) -> tuple[Clique, ...]:
        """Sets that are in no other one of at most ``_SUBSET_BITS`` attributes, in order of size."""
        covered: set[Clique] = set()
        largest = []
        for clique in sorted(self.parity_of, key=len, reverse=True):
            if clique not in covered:
                largest.append(clique)
                if len(clique) <= _SUBSET_BITS:
                    covered.update(chain.from_iterable(combinations(clique, k) for k in range(1, len(clique))))
        return tuple(largest)

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """One wide table if it is cheap and saves many small ones; else the largest sets."""
        wide = len(self._largest) > len(self._union) and 2 ** len(self._union) <= cheap_cells
        return (self._union,) if wide else self._largest

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """Transform the tables, and read every parity off the one that holds it."""
        flat = np.concatenate(_transforms(cliques, tables))
        return flat[self._wide_positions if cliques == (self._union,) else self._positions]

    @cached_property
    def _wide_positions(self) -> Ints:
        bit = {name: 1 << i for i, name in enumerate(reversed(self._union))}
        return np.array([sum(bit[name] for name in clique) for clique in self.parity_of], dtype=np.int64)

    @cached_property
    def _positions(self) -> Ints:
        """Where each parity stands in the transforms of the largest sets, one after the other."""
        place: dict[Clique, int] = {}
        wanted = set(self.parity_of)
        start = 0
        for clique in self._largest:
            place[clique] = start + 2 ** len(clique) - 1
            if len(clique) <= _SUBSET_BITS:
                for mask in range(1, 2 ** len(clique) - 1):
                    part = tuple(name for i, name in enumerate(clique) if mask >> (len(clique) - 1 - i) & 1)
                    if part in wanted:
                        place.setdefault(part, start + mask)
            start += 2 ** len(clique)
        return np.array([place[clique] for clique in self.parity_of], dtype=np.int64)


def _transforms(cliques: Sequence[Clique], tables: Sequence[Floats]) -> list[Floats]:
    """Walsh-Hadamard transforms, flat; neighbours of equal small size by one matrix product."""
    done: list[Floats] = []
    position = 0
    while position < len(cliques):
        bits = len(cliques[position])
        if bits > _MATRIX_BITS:
            done.append(walsh_hadamard(tables[position]))
            position += 1
            continue
        end = position
        while end < len(cliques) and len(cliques[end]) == bits:
            end += 1
        stacked = np.stack([table.reshape(-1) for table in tables[position:end]])
        done.append(np.matmul(stacked[:, None, :], hadamard(bits)).reshape(-1))
        position = end
    return done
