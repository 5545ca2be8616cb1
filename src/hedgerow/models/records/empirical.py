"""A hypothesis that is spread over a few records: what DualQuery and SmallDB put out, for domains of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models.core.checks import check_clique, check_step, checked_table, checked_total
from hedgerow.models.core.memory import Room
from hedgerow.models.core.model import Codes, SamplingMethod
from hedgerow.models.core.records import block_rows, check_number, collected, positions, shuffle
from hedgerow.models.records.lookup import cells_of, holding, table_cells, values_at
from hedgerow.queries import Conjunction, LinearQuery
from hedgerow.system import Seed, generator

CHEAP_CELLS = 1 << 20
"""A table of so many cells is still made quickly."""

_LOOKED_UP = 1 << 22

Asked = TypeVar("Asked", Clique, Conjunction)


@final
class Empirical:
    """The uniform distribution over a multiset of records, scaled to a total; updates weigh the records.

    No update gives mass to a cell without a record. Answers take time with the number of records, never with the
    number of cells of the domain.

    Attributes:
        codes: The records in the smallest unsigned type, shape ``(n, len(domain))``; not to be changed.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> model = Empirical(domain, total=12, codes=[[0, 2], [1, 1]])
        >>> model.update(Conjunction.where(domain, {"a": [0]}), step=float(np.log(3)))
        >>> [answer.round(12).tolist() for answer in model.marginals([("a",), ("b",)])]
        [[9.0, 3.0], [0.0, 3.0, 9.0]]
    """

    def __init__(self, domain: Domain, total: float, codes: ArrayLike, log_weights: ArrayLike | None = None) -> None:
        """Start from records.

        Args:
            domain: The domain.
            total: Mass in counts, positive.
            codes: At least one record, shape ``(n, len(domain))``, columns in the order of the domain. Copied.
            log_weights: Logarithms of the weights of the records in any unit, shape ``(n,)``; None means uniform.

        Raises:
            ConfigError: The total is not positive, a code does not exist, or a log-weight is not finite.
        """
        self._domain = domain
        self._total = checked_total(total)
        self.codes = _checked_codes(domain, codes)
        self._logs = None if log_weights is None else _checked_logs(log_weights, len(self.codes))
        self._masses: Floats | None = None

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        return self._domain

    @property
    def total(self) -> float:
        """Mass of the hypothesis, in counts."""
        return self._total

    @property
    def cheap_cells(self) -> int:
        """Tables of so many cells cost little more than the records."""
        return CHEAP_CELLS

    @property
    def log_weights(self) -> Floats | None:
        """Logarithms of the weights in some unit, shape ``(n,)``; None where no update made them differ."""
        return None if self._logs is None else self._logs.copy()

    def masses(self) -> Floats:
        """Mass of each record, in counts, shape ``(n,)``."""
        if self._masses is None:
            logs = np.zeros(len(self.codes)) if self._logs is None else self._logs
            weights = np.exp(logs - logs.max())
            self._masses = self._total / weights.sum() * weights
        return self._masses

    # State

    def reset(self) -> None:
        """Undo all updates: all records weigh the same."""
        self._logs = self._masses = None

    def copy(self) -> Empirical:
        """An independent model in the same state."""
        return Empirical(self._domain, self._total, self.codes, self._logs)

    # Updates

    def update(self, query: LinearQuery, step: float) -> None:
        """Multiply the weight of every record x by ``exp(step * q(x))`` and scale back to the total.

        Args:
            query: The query.
            step: Signed and finite.

        Raises:
            ConfigError: The step is not finite.
        """
        check_step(step)
        self._move(step * values_at(query, self.codes))

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        """Multiply by the exponential of a table over a clique and scale back to the total.

        Args:
            clique: Attributes in domain order.
            log_factors: Finite, shape ``domain.shape_of(clique)``.

        Raises:
            QueryError: The clique is not in domain order, or the table does not have its shape.
            ConfigError: A log-factor is not finite.
        """
        table = checked_table(self._domain, clique, log_factors)
        self._move(table.reshape(-1)[cells_of(self.domain, self.codes, [clique])[0]])

    def _move(self, log_factors: Floats) -> None:
        self._logs = log_factors if self._logs is None else self._logs + log_factors
        self._masses = None

    # Answers

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Tables of the cliques, in counts.

        Args:
            cliques: Attributes in domain order each.

        Returns:
            One table per clique, of shape ``domain.shape_of(clique)``.

        Raises:
            QueryError: A clique is not in domain order.
            MarginalTooLargeError: The tables do not fit into memory.
        """
        for clique in cliques:
            check_clique(self._domain, clique)
        self._check_memory(cliques)
        return [table for part in self._parts(cliques) for table in self._tables(part)]

    def _tables(self, cliques: Sequence[Clique]) -> Iterator[Floats]:
        """All tables from one count: they stand one after the other."""
        sizes = np.array([table_cells(self.domain, clique) for clique in cliques], dtype=np.int64)
        ends = np.cumsum(sizes)
        cells = cells_of(self.domain, self.codes, cliques) + (ends - sizes)[:, None]
        counts = self._count(cells.reshape(-1), int(ends[-1]))
        for clique, end, size in zip(cliques, ends.tolist(), sizes.tolist(), strict=True):
            yield counts[end - size : end].reshape(self.domain.shape_of(clique))

    def _count(self, cells: Ints, size: int) -> Floats:
        n = len(self.codes)
        if self._logs is None:  # whole numbers are added up without rounding
            return np.asarray(np.bincount(cells, minlength=size) * (self._total / n), dtype=np.float64)
        masses = np.tile(self.masses(), len(cells) // n)
        return np.asarray(np.bincount(cells, weights=masses, minlength=size), dtype=np.float64)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the records that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        masses = self.masses()
        parts = [holding(self.domain, self.codes, part) @ masses for part in self._parts(queries)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _parts(self, asked: Sequence[Asked]) -> Iterator[Sequence[Asked]]:
        """Runs of what is asked that are looked up together: bounds the memory."""
        length = max(1, _LOOKED_UP // len(self.codes))
        return (asked[first : first + length] for first in range(0, len(asked), length))

    def sample(self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC) -> Codes:
        """Exactly n records in random order: all blocks of ``sample_blocks``.

        Args:
            n: Number of records.
            seed: None for fresh randomness.
            method: "systematic" (every record its expected number of times, rounded up or down) or "independent".

        Returns:
            Codes in the smallest unsigned type, shape ``(n, len(domain))``.

        Raises:
            ConfigError: n is negative, or the records do not fit into memory.
        """
        return collected(self.sample_blocks(n, seed, method), self.domain, n)

    def sample_blocks(
        self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC
    ) -> Iterator[Codes]:
        """Exactly n records in blocks of bounded size."""
        check_number(n)
        return self._blocks(np.cumsum(self.masses()), n, SamplingMethod(method), generator(seed))

    def _blocks(self, ends: Floats, n: int, method: SamplingMethod, draw: np.random.Generator) -> Iterator[Codes]:
        for block in positions(n, block_rows(self.domain, len(ends)), method, draw):
            found = np.minimum(np.searchsorted(ends, block * ends[-1], side="right"), len(ends) - 1)
            shuffle(found, draw)
            yield self.codes[found]

    # Inside

    def _check_memory(self, cliques: Sequence[Clique]) -> None:
        sizes = [table_cells(self.domain, clique) for clique in cliques]
        if sizes:
            largest = max(range(len(sizes)), key=sizes.__getitem__)
            Room().check(cliques[largest], sizes[largest], 16 * sum(sizes))


def _checked_codes(domain: Domain, codes: ArrayLike) -> Codes:
    given = np.asarray(codes)
    if given.ndim != 2 or given.shape[1] != len(domain) or not len(given) or given.dtype.kind not in "iu":
        raise ConfigError(
            f"records are whole numbers of shape (n, {len(domain)}), at least one; not {given.dtype} of {given.shape}"
        )
    if given.min() < 0 or (given.max(axis=0) >= np.array(domain.shape)).any():
        raise ConfigError("a record holds a code that its attribute does not have", remedy="check the domain")
    checked: Codes = given.astype(np.min_scalar_type(max(domain.shape) - 1))
    checked.flags.writeable = False
    return checked


def _checked_logs(log_weights: ArrayLike, n: int) -> Floats:
    given = np.array(log_weights, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all():
        raise ConfigError(f"{n} records need {n} finite log-weights, not an array of shape {given.shape}")
    return given
