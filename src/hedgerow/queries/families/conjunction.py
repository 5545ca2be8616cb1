"""A family of conjunctions: conditions that each name sets of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core import Conjunction, Family, Measurable, Tables


@final
@dataclass(frozen=True)
class Conjunctions(Family):
    """Conditions over any attributes, each of them one candidate.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("age", 17, 90), IntegerRange("hours", 1, 99)))
        >>> family = Conjunctions(domain, [Conjunction.where(domain, {"age": range(14), "hours": [39]})])
        >>> family.spec
        'where: age between 17 and 30 and hours = 40'
    """

    kind = "where"
    forms: ClassVar = {"where": "\"where: sex = 'Male' and age < 30\""}

    domain: Domain = field(repr=False)
    queries: tuple[Conjunction, ...]

    def __init__(self, domain: Domain, queries: Iterable[Conjunction]) -> None:
        """Check that there are queries and that they speak of the domain.

        Raises:
            QueryError: There is none, or one is over another domain.
        """
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "queries", tuple(queries))
        if not self.queries:
            raise QueryError("a family of conjunctions needs at least one", remedy="as in \"where: sex = 'Male'\"")
        for query in self.queries:
            if query.domain is not domain and query.domain != domain:
                raise QueryError(f"the condition {query.text!r} is over another domain")

    @property
    def n_queries(self) -> int:
        """Number of conditions."""
        return len(self.queries)

    @property
    def n_candidates(self) -> int:
        """Number of conditions."""
        return len(self.queries)

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """Sets of attributes that the conditions name."""
        return tuple(dict.fromkeys(query.scope for query in self.queries))

    @cached_property
    def scope_of(self) -> Ints:
        """The attributes that each condition names."""
        place = {scope: index for index, scope in enumerate(self.scopes)}
        return np.array([place[query.scope] for query in self.queries], dtype=np.int64)

    @property
    def step(self) -> float:
        """1: a record meets a condition or not."""
        return 1.0

    @property
    def spec(self) -> str:
        """The conditions, joined by commas."""
        return f"where: {', '.join(query.text for query in self.queries)}"

    def candidate(self, index: int) -> Measurable:
        """One condition."""
        self._check_index(index)
        return self.queries[index]

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """None: conditions are counted without tables."""
        return ()

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """Not to be had from tables."""
        raise QueryError("conjunctions are not answered from marginal tables", remedy="call answers")

    def answers(self, tables: Tables) -> Floats:
        """All of them in one call."""
        return tables.conjunctions(self.queries)
