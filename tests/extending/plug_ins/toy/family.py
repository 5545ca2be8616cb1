"""The recipe of a query family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hedgerow import Domain, errors
from hedgerow.extending import Clique, Conjunction, Family, Floats, Measurable


class AtLeast(Family):
    """Numbers of records at or above each value of an attribute: ``at_least:age``."""

    kind = "at_least"
    forms: ClassVar[Mapping[str, str]] = {"at_least": "'at_least:age'"}
    step = 1.0
    """Each answer is a whole number of records, so nothing rounds."""
    spread = 4.0
    """The queries overlap: MWEM chooses fewer rounds."""
    conjunctive = True
    """Every query is a conjunction."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain = domain
        (self.clique,) = (domain.clique((name,)),)

    @classmethod
    def from_text(cls, text: str, domain: Domain) -> AtLeast:
        name = text.removeprefix("at_least:").strip()
        if name not in domain.names:
            raise errors.QueryError(f"{name!r} is no attribute", remedy=f"name one of {', '.join(domain.names)}")
        return cls(domain, name)

    @property
    def spec(self) -> str:
        return f"at_least:{self.clique[0]}"

    @property
    def n_queries(self) -> int:
        return self.domain[self.clique[0]].size

    n_candidates = n_queries

    @property
    def scopes(self) -> tuple[Clique, ...]:
        return (self.clique,)

    def candidate(self, index: int) -> Measurable:
        self.check_index(index)
        return Conjunction.where(self.domain, {self.clique[0]: range(index, self.n_queries)})

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        return self.scopes

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        return np.cumsum(tables[0][::-1])[::-1]
