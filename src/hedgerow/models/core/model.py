"""The base class of all forms of a hypothesis."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol, Self, runtime_checkable

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models.core.records import Codes, SamplingMethod, check_number, collected
from hedgerow.models.core.terms import Potentials, Terms, check_clique, check_step, checked_table
from hedgerow.queries import Conjunction, LinearQuery
from hedgerow.system import Seed, generator


class Model(ABC):
    """A hypothesis: a distribution over the domain, scaled to a public total.

    It is a ``Tables``: ``domain``, ``cheap_cells``, ``marginals`` and ``conjunctions`` give answers in counts. The
    methods here check what they are given; subclasses do the work in the methods that begin with an underscore.
    """

    def __init__(self, domain: Domain, total: float) -> None:
        """Check the total.

        Args:
            domain: The domain of the records.
            total: Mass in counts, positive.

        Raises:
            ConfigError: The total is not positive.
        """
        if not (math.isfinite(total) and total > 0):
            raise ConfigError(f"the total of a hypothesis is {total}", remedy="give a positive number of records")
        self._domain = domain
        self._total = float(total)

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        return self._domain

    @property
    def total(self) -> float:
        """Mass of the hypothesis, in counts."""
        return self._total

    @property
    @abstractmethod
    def cheap_cells(self) -> int:
        """Largest table, in cells, that the model gives at little cost."""

    # Answers

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Tables of the cliques, in counts; new arrays.

        Args:
            cliques: Attributes in domain order each.

        Returns:
            One table per clique, of shape ``domain.shape_of(clique)``.

        Raises:
            QueryError: A clique is not in domain order.
            MarginalTooLargeError: A table, or a product on the way to it, does not fit into memory.
        """
        for clique in cliques:
            check_clique(self._domain, clique)
        return self._marginals(cliques)

    @abstractmethod
    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Tables of cliques that were checked."""

    @abstractmethod
    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""

    # Updates

    def update(self, query: LinearQuery, step: float) -> None:
        """Multiply every cell x by ``exp(step * q(x))`` and scale back to the total (theory.md section 1).

        Args:
            query: The query.
            step: Signed and finite.

        Raises:
            ConfigError: The step is not finite.
            ModelTooLargeError: The model would not fit into memory; nothing was changed.
        """
        check_step(step)
        self._update(query, step)

    @abstractmethod
    def _update(self, query: LinearQuery, step: float) -> None:
        """Take a step that was checked."""

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        """Multiply by the exponential of a table over a clique and scale back to the total.

        Args:
            clique: Attributes in domain order.
            log_factors: Finite, shape ``domain.shape_of(clique)``.

        Raises:
            QueryError: The clique is not in domain order, or the table does not have its shape.
            ConfigError: A log-factor is not finite.
            ModelTooLargeError: The model would not fit into memory; nothing was changed.
        """
        self._reweigh(clique, checked_table(self._domain, clique, log_factors))

    @abstractmethod
    def _reweigh(self, clique: Clique, table: Floats) -> None:
        """Multiply by a table that was checked; it is not a copy."""

    # State

    @abstractmethod
    def reset(self) -> None:
        """Undo all updates."""

    @abstractmethod
    def copy(self) -> Self:
        """An independent model in the same state."""

    # Records

    def sample(self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC) -> Codes:
        """Exactly n records in random order: all blocks of ``sample_blocks``.

        Args:
            n: Number of records.
            seed: None for fresh randomness.
            method: "systematic" or "independent" (see ``SamplingMethod``).

        Returns:
            Codes in the smallest unsigned type, shape ``(n, len(domain))``.

        Raises:
            ConfigError: n is negative, or the records do not fit into memory.
        """
        return collected(self.sample_blocks(n, seed, method), self._domain, n)

    def sample_blocks(
        self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC
    ) -> Iterator[Codes]:
        """Exactly n records in blocks of bounded size, in random order inside each, for as many as a file holds.

        The model must stay as it is until the last block is drawn.
        """
        check_number(n)
        return self._blocks(n, generator(seed), SamplingMethod(method))

    @abstractmethod
    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        """Draw blocks of a number of records that was checked."""


@runtime_checkable
class HasPotentials(Protocol):
    """A model whose state is a sum of small tables."""

    def potentials(self) -> Potentials:
        """The state, for saving."""
        ...


class Factored(Model):
    """A product of exponentials of small tables and steps, which are added up per scope."""

    def __init__(self, domain: Domain, total: float) -> None:
        """Start without updates; the arguments are those of ``Model``."""
        super().__init__(domain, total)
        self._terms = Terms()

    def potentials(self) -> Potentials:
        """The state, for saving; copies."""
        return self._terms.potentials(None)

    def _update(self, query: LinearQuery, step: float) -> None:
        if isinstance(query, Conjunction):
            self._step(query, step)
        else:
            self.reweigh(query.scope, step * query.values())

    @abstractmethod
    def _step(self, query: Conjunction, step: float) -> None:
        """Take the step of a conjunction."""

    def _restore(self, potentials: Potentials) -> None:
        """Make all updates of a state that was saved."""
        if potentials.base is not None:
            raise ConfigError(f"{type(self).__name__} starts uniform", remedy="take a Histogram for a base")
        for clique, table in potentials.tables.items():
            self.reweigh(clique, table)
        for query, step in potentials.steps.items():
            self.update(query, step)


@runtime_checkable
class SweepsConjunctions(Protocol):
    """A model that runs whole sweeps of steps over many conjunctions at once, much faster than one by one."""

    def sweep(
        self, queries: Sequence[Conjunction], targets: Floats, rates: Floats, sweeps: int, *, implicit: bool
    ) -> Floats:
        """Take ``sweeps`` rounds of steps, each recomputing the answer of its query first.

        Args:
            queries: The queries, in the order of the steps.
            targets: Answers to move to, as fractions of the total, shape ``(len(queries),)``.
            rates: Explicit: ``step = rate * (target - answer)``. Implicit: the same with the answer after the step.
            sweeps: Number of times to go through all queries.
            implicit: Whether the steps are implicit.

        Returns:
            The sum of the steps of each query.
        """
        ...
