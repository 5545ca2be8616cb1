"""What every hypothesis can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.queries import Conjunction, LinearQuery
from hedgerow.system import Seed

Codes = NDArray[np.unsignedinteger]
"""Records as codes, shape ``(n, len(domain))``, columns in the order of the domain."""


class SamplingMethod(StrEnum):
    """How records are drawn from a hypothesis.

    ``SYSTEMATIC``: every cell gets its expected number of records, rounded up or down by one random offset, so that
    sampling adds little error. ``INDEPENDENT``: every record is drawn on its own.
    """

    SYSTEMATIC = "systematic"
    INDEPENDENT = "independent"


@final
@dataclass(frozen=True, eq=False)
class Potentials:
    """The portable state of a hypothesis: log-weights as sums over small scopes.

    The weight of cell x is ``base(x) * exp(sum of tables at x + sum of steps of the conjunctions that hold at x)``.

    Attributes:
        tables: For each clique its table of log-factors, shape ``domain.shape_of(clique)``.
        steps: For each conjunction the log-factor of the cells where it holds.
        base: Positive weights of all cells, shape ``domain.shape``, in any unit; None means uniform.

    Example:
        >>> Potentials().base is None
        True
    """

    tables: Mapping[Clique, Floats] = field(default_factory=dict)
    steps: Mapping[Conjunction, float] = field(default_factory=dict)
    base: Floats | None = None


class Model(Protocol):
    """A hypothesis: a distribution over the domain, scaled to a public total.

    It is a ``Tables``: ``domain``, ``cheap_cells``, ``marginals`` and ``conjunctions`` give answers in counts.
    """

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        ...

    @property
    def total(self) -> float:
        """Mass of the hypothesis, in counts."""
        ...

    @property
    def cheap_cells(self) -> int:
        """Largest table, in cells, that the model gives at little cost."""
        ...

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One table per clique, of shape ``domain.shape_of(clique)``, in counts."""
        ...

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        ...

    def update(self, query: LinearQuery, step: float) -> None:
        """Multiply every cell x by ``exp(step * q(x))`` and scale back to the total (theory.md section 1)."""
        ...

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        """Multiply by the exponential of a table over a clique, shape ``domain.shape_of(clique)``, and scale back."""
        ...

    def reset(self) -> None:
        """Undo all updates."""
        ...

    def copy(self) -> Self:
        """An independent model in the same state."""
        ...

    def sample(self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC) -> Codes:
        """Exactly n records, shape ``(n, len(domain))``, in random order: all blocks of ``sample_blocks``."""
        ...

    def sample_blocks(
        self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC
    ) -> Iterator[Codes]:
        """Exactly n records in blocks of bounded size, in random order inside each, for as many as a file holds."""
        ...


@runtime_checkable
class HasPotentials(Protocol):
    """A model whose state is a sum of small tables."""

    def potentials(self) -> Potentials:
        """The state, for saving."""
        ...


@runtime_checkable
class SweepsConjunctions(Protocol):
    """A model that runs whole sweeps of steps over many conjunctions at once, much faster than one by one."""

    def sweep(
        self, queries: Sequence[Conjunction], targets: Floats, rates: Floats, sweeps: int, *, implicit: bool
    ) -> Floats:
        """Take ``sweeps`` rounds of steps, each recomputing the answer of its query first.

        Args:
            queries: The queries, in the order of the steps.
            targets: What the answers should move to, as fractions of the total.
            rates: Explicit: ``step = rate * (target - answer)``. Implicit: the same with the answer after the step.
            sweeps: How often to go through all queries.
            implicit: Which of the two.

        Returns:
            The sum of the steps of each query.
        """
        ...
