"""A table of counts over every cell of a small domain, with no cleverness: a double for sources and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.queries import Conjunction


@dataclass(frozen=True, eq=False)
class DenseTables:
    """Counts of every cell; fits the protocols ``Tables`` and ``CountSource``."""

    domain: Domain
    cells: Floats
    cheap_cells: int = 2**16
    filtered: bool = False

    @classmethod
    def of_records(cls, domain: Domain, records: Iterable[Sequence[int]]) -> DenseTables:
        """From records, one code per attribute."""
        cells = np.zeros(domain.shape)
        for record in records:
            cells[tuple(record)] += 1
        return cls(domain, cells)

    @classmethod
    def random(cls, domain: Domain, n: int, seed: int) -> DenseTables:
        """``n`` records, unevenly spread over the domain."""
        generator = np.random.default_rng(seed)
        weights = generator.dirichlet(np.full(domain.size, 0.3))
        return cls(domain, generator.multinomial(n, weights).astype(np.float64).reshape(domain.shape))

    def total(self) -> int:
        """Number of records."""
        return round(float(self.cells.sum()))

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One sum for each."""
        return [self._marginal(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """One sum for each."""
        return np.array([float((query.values() * self._marginal(query.scope)).sum()) for query in queries])

    def sample_blocks(self, n: int, seed: np.random.Generator, *_: object) -> Iterator[Ints]:
        """Records of the positive cells, each drawn by itself; in one block."""
        law = np.maximum(self.cells, 0.0).reshape(-1)
        yield np.stack(np.unravel_index(seed.choice(law.size, n, p=law / law.sum()), self.cells.shape), axis=1)

    def _marginal(self, clique: Clique) -> Floats:
        if not set(clique) <= set(self.domain.names):
            found = np.zeros(self.domain.shape_of(clique))
            for record in np.ndindex(self.cells.shape):
                found[codes_of(record, clique, self.domain)] += self.cells[record]
            return found
        dropped = tuple(axis for axis, name in enumerate(self.domain.names) if name not in clique)
        return np.asarray(self.cells.sum(axis=dropped), dtype=np.float64)


def codes_of(record: Sequence[int], names: Sequence[str], domain: Domain) -> tuple[int, ...]:
    """The codes of a record, of attributes and of derived ones."""
    known = dict(zip(domain.names, record, strict=True))
    functions = {each.name: each for each in domain.derived}
    return tuple(
        known[name]
        if name in known
        else int(functions[name].codes[tuple(known[source] for source in functions[name].sources)])
        for name in names
    )
