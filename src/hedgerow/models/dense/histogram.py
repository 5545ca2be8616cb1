"""A hypothesis that holds every cell of the domain, for domains that fit into memory.

The weights are kept in linear space and scaled lazily: only their sum is tracked, and a counting query touches only
the cells where it holds. The log-factors of all updates are kept per scope. Before the weights could leave the range
of floating point they are rebuilt from these, so that nothing is lost over any history: a cell whose weight vanished
comes back exactly when later updates revive it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, spread_over
from hedgerow.errors import ConfigError
from hedgerow.models.core import (
    Codes,
    Complete,
    Factored,
    Kind,
    Potentials,
    SamplingMethod,
    Terms,
    check_fits,
    restricted,
)
from hedgerow.models.core.terms import Key
from hedgerow.models.dense.cells import LOG_RANGE, Weights, rule_out
from hedgerow.models.dense.layout import RowLayout
from hedgerow.models.trees import JunctionTree
from hedgerow.queries import Conjunction, LinearQuery

_CELLS_OF_TABLE = 2**9
"""Cells of the domain for a cell of a table that steps are added to: one pass takes less than the steps one by one."""


class Histogram(Factored):
    """Weights of all cells, scaled to a total; those that constraints rule out stay 0.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> model = Histogram(domain, total=12)
        >>> model.update(Conjunction.where(domain, {"a": [0]}), step=math.log(3))
        >>> [answer.round(12).tolist() for answer in model.marginals([("a",), ("b",)])]
        [[9.0, 3.0], [4.0, 4.0, 4.0]]
    """

    def __init__(self, domain: Domain, total: float, base: Floats | None = None) -> None:
        """Start from the uniform hypothesis or from a given one.

        Args:
            domain: The domain.
            total: Mass in counts, positive.
            base: Weights of all cells in any unit, shape ``domain.shape``; None means uniform. Copied. They should be
                positive: no update revives a cell whose weight in the base is 0. What constraints rule out is 0
                whatever the base says.

        Raises:
            ModelTooLargeError: The weights do not fit into memory; nothing was allocated.
            ConfigError: The total is not positive, the base is not a finite, non-negative table of the domain, or
                constraints rule out every cell.
        """
        check_fits(domain, copies=1 if base is None else 2)
        super().__init__(domain, total)
        layout = RowLayout(domain)
        self._base = None if base is None else _checked(np.asarray(base), layout)
        self._held: dict[Key, bool] = {}
        self._pending: tuple[Clique, Floats] | None = None
        self._cells = Weights(layout)
        self._rebuild()
        if not self._cells.mass > 0.0:
            raise ConfigError("the constraints of the domain leave no record", remedy="check them")

    @classmethod
    def from_potentials(cls, domain: Domain, total: float, potentials: Potentials) -> Histogram:
        """The model that ``potentials()`` was taken from.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> domain = Domain((IntegerRange("a", 0, 1),))
            >>> steps = {Conjunction.where(domain, {"a": [0]}): math.log(3)}
            >>> Histogram.from_potentials(domain, 4, Potentials(steps=steps)).marginals([("a",)])[0].round(12).tolist()
            [3.0, 1.0]
        """
        model = cls(domain, total, potentials.base)
        model.restore(Potentials(potentials.tables, potentials.steps))
        return model

    def anew(self) -> Histogram:
        """The model that `from_potentials` makes of this one's; what the domain alone decides is not made again.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> Histogram(Domain((IntegerRange("a", 0, 1),)), 4).anew().marginals([("a",)])[0].tolist()
            [2.0, 2.0]
        """
        check_fits(self.domain, copies=1)
        twin = object.__new__(Histogram)
        twin.__dict__.update(self.__dict__)
        twin._terms, twin._held, twin._cells = Terms(), {}, Weights(self._cells.layout)
        twin._cells.possible = self._cells.possible
        twin._make(self._terms.potentials(None))
        return twin

    @property
    def cheap_cells(self) -> int:
        """Every table is cheap."""
        return self.domain.size

    @property
    def possible(self) -> int:
        """Number of cells that neither constraints nor the base rule out."""
        return self._cells.possible if self._base is None else int(np.count_nonzero(self._base))

    # State

    def reset(self) -> None:
        """Undo all updates."""
        self._terms = Terms()
        self._rebuild()

    def copy(self) -> Histogram:
        """An independent model in the same state."""
        check_fits(self.domain, copies=1)
        twin = object.__new__(Histogram)
        twin.__dict__.update(self.__dict__)
        twin._terms = self._terms.copy()
        twin._held = dict(self._held)
        twin._cells = self._cells.copy()
        return twin

    def potentials(self) -> Potentials:
        """The state, for saving: tables and steps are copies, the base is a view."""
        base = None if self._base is None else self._cells.layout.in_domain_order(self._base)
        return self._terms.potentials(base)

    # Updates

    def _step(self, query: Conjunction, step: float) -> None:
        self._flush()
        if not self._may_hold(query):
            return
        self._terms.add_step(query, step)
        self._cells.moved += abs(step)
        if self._cells.moved > LOG_RANGE:
            self._rebuild()
        else:
            self._cells.slice_scale(query, step)

    def _make(self, factors: Potentials) -> None:
        self._terms.add(factors)
        self._rebuild()

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        """The pass over the cells is put off and made together with the next question about a marginal."""
        table = table.copy()  # what is put off must not change
        if self._pending is not None and self._pending[0] != clique:
            self._flush()
        self._terms.add_table(clique, table)
        self._pending = (clique, table if self._pending is None else self._pending[1] + table)

    def reweigh_all(self, factors: Potentials, added: Floats | None = None) -> None:
        """Multiply by many tables and steps at once, in one pass, and scale back to the total.

        Args:
            factors: Log-factors over scopes that a small table together can hold; their base is not used.
            added: Their sum over all their attributes together, where the caller has it.
        """
        clique = self.domain.clique(name for scope in factors.scopes for name in scope)
        self._flush()
        self._terms.add(factors)
        if added is not None:
            self._pending = (clique, added.reshape(self.domain.shape_of(clique)))
            return
        clique = self.domain.reduced(clique)
        table = np.zeros(self.domain.shape_of(clique))
        for scope, part in factors.tables.items():
            table += spread_over(self.domain, part, scope, clique)
        for query, step in factors.steps.items():
            table += spread_over(self.domain, step * query.values(), query.scope, clique)
        self._pending = (clique, table)

    # As a tree of one clique, which a fit starts from and ends in

    @property
    def tree(self) -> JunctionTree:
        """One clique of all attributes."""
        return self._cells.layout.tree

    @property
    def uniform(self) -> bool:
        """Whether all cells are as likely."""
        return self._base is None and not self._terms.scopes and self.possible == self.domain.size

    def impossible(self, i: int) -> int:
        """Number of cells that constraints or the base rule out."""
        return self.domain.size - self.possible

    def sums(self, i: int, names: Clique) -> Floats:
        """The marginal of some variables, in any unit; not to be changed."""
        self._flush()
        if names == self.domain.names:
            return self._cells.layout.in_domain_order(self._cells.weights)
        return self._cells.marginal(names)

    def settle(self, tables: Sequence[Floats], separators: Mapping[tuple[int, int], Floats]) -> None:
        """Become a distribution that was fitted; ``credit`` says by which factors.

        Args:
            tables: The table of all cells, in any unit.
            separators: None of them.
        """
        self._pending = None
        self._cells.take(tables[0], self.possible)

    def credit(self, factors: Potentials) -> None:
        """Record updates that the cells hold already."""
        self._terms.add(factors)
        if self._cells.moved > LOG_RANGE:
            self._rebuild()

    def sweep(self, queries: Sequence[Conjunction], targets: Floats, rates: Floats, sweeps: int, kind: Kind) -> Floats:
        """Take rounds of steps over many conjunctions; the arguments are those of ``SweepsConjunctions.sweep``."""
        self._flush()
        possible = np.array([self._may_hold(query) for query in queries], dtype=np.bool_)
        if not possible.all():
            taken = np.zeros(len(queries))
            asked = [query for query, may_hold in zip(queries, possible, strict=True) if may_hold]
            taken[possible] = self.sweep(asked, targets[possible], rates[possible], sweeps, kind) if asked else 0.0
            return taken
        taken, targets = np.zeros(len(queries)), targets.copy()
        at, last = 0, sweeps * len(queries)
        while at < last:
            at, steps = self._cells.sweep(queries, targets, rates, kind, at=at, last=last)
            for query, step in zip(queries, steps, strict=True):
                self._terms.add_step(query, float(step))
            taken += steps
            if self._cells.moved > LOG_RANGE:
                self._rebuild()
        return taken

    # Answers

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        if list(cliques) == [self.domain.names]:
            self._flush()
            cells = self._cells.layout.in_domain_order(self._cells.weights)
            return [np.multiply(cells, self._scale, out=np.empty(self.domain.shape))]
        if len(cliques) == 1:
            (clique,) = cliques
            flushed = self._flush(clique)
            tables = [self._cells.marginal(clique) if flushed is None else flushed]
        else:
            self._flush()
            tables = self._cells.marginals(cliques)
        return [np.multiply(table, self._scale, out=table) for table in tables]

    def add_to(self, table: Floats) -> None:
        """Add all cells, in counts, to an array; makes no other array of that size.

        Args:
            table: Changed in place, shape ``domain.shape``.
        """
        self._flush()
        layout = self._cells.layout
        for index, block in zip(np.ndindex(*layout.block_shape), self._cells.weights, strict=True):
            part = table.transpose(layout.order)[index]
            part += block.reshape(part.shape) * self._scale

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        self._flush()
        return self._cells.slice_sums(queries) * self._scale

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        self._flush()
        return self._cells.records(n, draw, method)

    def meeting(self, condition: LinearQuery) -> Histogram:
        """The same factors, on fewer records."""
        return Histogram.from_potentials(restricted(self.domain, condition), self.total, self.potentials())

    def completing(self, names: Clique) -> Complete:
        """All cells are one conditional."""
        from hedgerow.models.core import Completion, Conditional

        check_fits(self.domain, copies=4)
        (cells,) = self._marginals([self.domain.names])
        whole = Conditional(self.domain, self.domain.names, (), None, cells.reshape(-1))
        return Completion(self.domain, [whole], names).complete

    def weights(self) -> tuple[Floats, float]:
        """The weights of all cells as they lie in memory, and their sum; a view that the next update changes."""
        self._flush()
        return self._cells.weights, self._cells.mass

    # Inside

    @property
    def _scale(self) -> float:
        return self.total / self._cells.mass

    def _may_hold(self, query: Conjunction) -> bool:
        """Whether constraints allow a record where a condition holds; a step on any other would do nothing."""
        layout = self._cells.layout
        if not layout.zeros:
            return True
        key = (query.scope, query.codes)
        may = self._held.get(key)
        if may is None:
            (mass,) = self._cells.slice_sums([query])
            may = self._held[key] = mass > 0.0 or layout.may_hold(layout.slice_of(query))
        return may

    def _flush(self, wanted: Clique = ()) -> Floats | None:
        """Make the pending pass; returns the unscaled table of ``wanted`` if the pass yielded it."""
        if self._pending is None:
            return None
        clique, table = self._pending
        self._pending = None
        top = float(table.max())
        self._cells.moved += top - float(table.min())
        if self._cells.moved > LOG_RANGE:
            self._rebuild()
            return None
        return self._cells.multiply(clique, np.exp(table - top), wanted)

    def _rebuild(self) -> None:
        self._pending = None
        self._cells.rebuild(self._base, *self._terms.in_tables(self.domain, self.domain.size // _CELLS_OF_TABLE))


def _checked(base: Floats, layout: RowLayout) -> Floats:
    """The base in the order of the layout, 0 where constraints rule out records."""
    if base.shape != layout.domain.shape:
        raise ConfigError(f"the base has shape {base.shape}, the domain {layout.domain.shape}")
    ordered = np.array(base.transpose(layout.order), dtype=np.float64, order="C").reshape(layout.rows_shape)
    for b, block in enumerate(ordered):
        rule_out(layout, block, b, 0.0)
    if not (ordered.min() >= 0.0 and 0.0 < ordered.max() < math.inf):
        raise ConfigError("the weights of a base must be finite, not negative, and not all 0", remedy="check the base")
    return ordered
