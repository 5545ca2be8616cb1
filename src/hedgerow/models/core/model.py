"""The base class of all forms of a hypothesis."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError, ImpossibleRowError
from hedgerow.models.core.conditions import Columns, check_condition, checked_columns, completed_rows
from hedgerow.models.core.records import Codes, SamplingMethod, check_number, code_type, collected
from hedgerow.models.core.terms import Potentials, Terms, check_clique, check_step, checked_table
from hedgerow.queries import Conjunction, LinearQuery
from hedgerow.system import Seed, generator

Given = LinearQuery | Mapping[str, ArrayLike]
"""A condition, or codes of some variables row by row."""
Complete = Callable[[Columns, int, np.random.Generator, SamplingMethod], Columns]
"""Adds codes of all attributes to those that some number of rows give."""
Kind = Literal["explicit", "implicit", "joint"]
"""Kinds of steps: the functions of ``steps.py`` that take them."""
EXPLICIT, IMPLICIT, JOINT = 0, 1, 2
KINDS: Mapping[Kind, int] = {"explicit": EXPLICIT, "implicit": IMPLICIT, "joint": JOINT}
"""The same as numbers, for what is compiled."""


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

    def rescale(self, total: float) -> None:
        """Set the mass; the distribution stays.

        Args:
            total: Mass in counts, positive.
        """
        self._total = float(total)

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

    def take_the_place_of(self, other: Model) -> None:
        """Hand the state over to another model of the same form and domain; this one is not to be used afterwards."""
        other.__dict__.update(self.__dict__)

    # Records

    def sample(
        self,
        n: int,
        seed: Seed = None,
        method: SamplingMethod | str = SamplingMethod.SYSTEMATIC,
        given: Given | None = None,
    ) -> Codes:
        """Exactly n records in random order: all blocks of ``sample_blocks``.

        Args:
            n: Number of records; with given values, for each row of these.
            seed: None for fresh randomness.
            method: "systematic" or "independent" (see ``SamplingMethod``).
            given: A condition that all records meet: they are drawn from the exact conditional of the hypothesis. Or
                codes of some variables, shape ``(rows,)`` each: each row is completed by the exact conditional given
                it, in the order of the rows. None for records of the hypothesis as it is.

        Returns:
            Codes in the smallest unsigned type, shape ``(n, len(domain))``; with given values ``(n * rows, ...)``.

        Raises:
            ConfigError: n is negative, or the records do not fit into memory.
            QueryError: No record meets the condition.
            ImpossibleRowError: No record has the values of a row; the first such row.
        """
        known = None if given is None or isinstance(given, LinearQuery) else checked_columns(self._domain, given)
        count = n if known is None else n * len(next(iter(known.values())))
        return collected(self.sample_blocks(n, seed, method, given), self._domain, count)

    def sample_blocks(
        self,
        n: int,
        seed: Seed = None,
        method: SamplingMethod | str = SamplingMethod.SYSTEMATIC,
        given: Given | None = None,
    ) -> Iterator[Codes]:
        """The same in blocks of bounded size, in random order inside each, for as many as a file holds.

        The model must stay as it is until the last block is drawn. With given values the records of all blocks are in
        the order of the rows.
        """
        check_number(n)
        draw, chosen = generator(seed), SamplingMethod(method)
        if given is None:
            return self._blocks(n, draw, chosen)
        if isinstance(given, LinearQuery):
            check_condition(self._domain, given)
            return self.meeting(given).sample_blocks(n, draw, chosen)
        known = checked_columns(self._domain, given)
        check_number(n * len(next(iter(known.values()))))
        return self._completed(n, known, draw, chosen)

    def _completed(
        self, n: int, known: Mapping[str, Ints], draw: np.random.Generator, method: SamplingMethod
    ) -> Iterator[Codes]:
        complete = self.completing(self._domain.clique(known))
        total, rows = n * len(next(iter(known.values()))), completed_rows(self._domain)
        for first in range(0, total, rows):
            chosen = np.arange(first, min(first + rows, total)) // n
            try:
                columns = complete({name: codes[chosen] for name, codes in known.items()}, len(chosen), draw, method)
            except ImpossibleRowError as error:
                raise ImpossibleRowError(int(chosen[error.row - 1]) + 1) from None
            kind = code_type(self._domain)
            yield np.stack([columns[name].astype(kind, copy=False) for name in self._domain.names]).T

    def meeting(self, condition: LinearQuery) -> Model:
        """The hypothesis given a condition: a model of the same total, of records that meet it.

        Args:
            condition: A query over the domain whose values are 0 and 1.

        Raises:
            QueryError: No record meets it.
            ConfigError: This form of a hypothesis cannot.
        """
        raise ConfigError(f"{type(self).__name__} draws no records under a condition")

    def completing(self, names: Clique) -> Complete:
        """The function that completes rows of codes of some variables; the model must stay as it is.

        Args:
            names: Variables in domain order.

        Raises:
            ConfigError: This form of a hypothesis cannot.
        """
        raise ConfigError(f"{type(self).__name__} completes no rows")

    @abstractmethod
    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        """Draw blocks of a number of records that was checked."""


@runtime_checkable
class HasPotentials(Protocol):
    """A model whose state is a sum of small tables."""

    def potentials(self) -> Potentials:
        """The state, for saving."""


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
    def meeting(self, condition: LinearQuery) -> Factored:
        """The hypothesis given a condition; see `Model.meeting`."""

    @abstractmethod
    def _step(self, query: Conjunction, step: float) -> None:
        """Take the step of a conjunction."""

    def restore(self, potentials: Potentials) -> None:
        """Make all updates of a state that was saved, of a model without updates that has room for them.

        Args:
            potentials: The state; without a base, which a model is made with.

        Raises:
            ConfigError: The potentials have a base, or a factor is not finite.
            QueryError: A table does not fit its scope.
        """
        if potentials.base is not None:
            raise ConfigError(f"{type(self).__name__} starts uniform", remedy="take a Histogram for a base")
        tables = {clique: checked_table(self._domain, clique, table) for clique, table in potentials.tables.items()}
        for step in potentials.steps.values():
            check_step(step)
        self._make(Potentials(tables, potentials.steps))

    @abstractmethod
    def _make(self, factors: Potentials) -> None:
        """Make updates that were checked."""


@runtime_checkable
class SweepsConjunctions(Protocol):
    """A model that runs whole sweeps of steps over many conjunctions at once, much faster than one by one."""

    def sweep(self, queries: Sequence[Conjunction], targets: Floats, rates: Floats, sweeps: int, kind: Kind) -> Floats:
        """Take ``sweeps`` rounds of steps, each recomputing the answer of its query first.

        Args:
            queries: The queries, in the order of the steps.
            targets: Answers to move to, as fractions of the total, shape ``(len(queries),)``.
            rates: Explicit: ``step = rate * (target - answer)``. Implicit: the same with the answer after the step.
            sweeps: Number of times to go through all queries.
            kind: Kind of the steps. Joint ones are implicit, each with the answer after the last one as its target.

        Returns:
            The sum of the steps of each query.
        """
