"""A hypothesis that is spread over a few records: what DualQuery and SmallDB put out, for domains of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, Domain, codes_at
from hedgerow.errors import ConfigError, ImpossibleRowError
from hedgerow.models.core import (
    Codes,
    Columns,
    Complete,
    Model,
    Room,
    SamplingMethod,
    block_rows,
    code_type,
    new_state,
    positions,
    shuffle,
    unmet,
)
from hedgerow.queries import Conjunction, LinearQuery, Parity

_LOOKED_UP = 1 << 22
"""Numbers that are looked up together."""
_LISTED_CODES = 1 << 12
"""Most codes of an attribute that is looked up in lists of what each query allows."""

Target = TypeVar("Target", Clique, Conjunction)


class Empirical(Model):
    """The uniform distribution over a multiset of records, scaled to a total; updates weigh the records.

    No update gives mass to a cell without a record, and no record breaks a constraint. Answers take time with the
    number of records, never with the number of cells of the domain.

    Attributes:
        codes: The records in the smallest unsigned type, shape ``(n, len(domain))``; not to be changed.

    Example:
        >>> from hedgerow.domain import IntegerRange
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
            ConfigError: The total is not positive, a code does not exist, a record breaks a constraint, or a log-weight
                is not finite.
        """
        super().__init__(domain, total)
        self.codes = _checked_codes(domain, codes)
        self._logs = None if log_weights is None else _checked_logs(log_weights, len(self.codes))
        self._masses: Floats | None = None

    cheap_cells = 1 << 20
    """A table of this size costs little more than the records."""

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

    def _update(self, query: LinearQuery, step: float) -> None:
        self._move(step * values_at(query, self.codes))

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        self._move(table.reshape(-1)[cells_of(self.domain, self.codes, [clique])[0]])

    def _move(self, log_factors: Floats) -> None:
        self._logs = log_factors if self._logs is None else self._logs + log_factors
        self._masses = None

    # Answers

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        sizes = list(map(self.domain.cells, cliques))
        if sizes:
            largest = max(range(len(sizes)), key=sizes.__getitem__)
            Room().check(cliques[largest], sizes[largest], 16 * sum(sizes))
        return [table for part in self._parts(cliques) for table in self._tables(part)]

    def _tables(self, cliques: Sequence[Clique]) -> Iterator[Floats]:
        """All tables from one count: they stand one after the other."""
        sizes = np.array([*map(self.domain.cells, cliques)], dtype=np.int64)
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

    def _parts(self, asked: Sequence[Target]) -> Iterator[Sequence[Target]]:
        """Runs of what is asked that are looked up together: bounds the memory."""
        length = max(1, _LOOKED_UP // len(self.codes))
        return (asked[first : first + length] for first in range(0, len(asked), length))

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        """Systematic: every record its expected number of times, rounded up or down."""
        ends = np.cumsum(self.masses())
        for block in positions(n, block_rows(self.domain, len(ends)), method, draw):
            rows = np.minimum(np.searchsorted(ends, block * ends[-1], side="right"), len(ends) - 1)
            shuffle(rows, draw)
            yield self.codes[rows]

    def meeting(self, condition: LinearQuery) -> Empirical:
        """Its records that meet the condition."""
        kept = values_at(condition, self.codes) > 0.0
        if not kept.any():
            raise unmet(condition)
        return Empirical(self._domain, self._total, self.codes[kept], None if self._logs is None else self._logs[kept])

    def completing(self, names: Clique) -> Complete:
        """Each row is completed by a record that agrees with it, in proportion to its mass."""
        from hedgerow.models.core import drawn, runs_of

        held = dict(zip(self._domain.names, self.codes.T.astype(np.int64), strict=True))
        known = np.stack([codes_at(self._domain, name, held) for name in names])
        masses = self.masses()

        def complete(columns: Columns, rows: int, draw: np.random.Generator, method: SamplingMethod) -> Columns:
            both = np.concatenate([known, np.stack([columns[name] for name in names])], axis=1)
            _, group = np.unique(both, axis=1, return_inverse=True)
            order, begins = runs_of(group.reshape(-1)[: len(self.codes)], int(group.max()) + 1)
            asked = group.reshape(-1)[-rows:]
            alone = begins[asked] == begins[asked + 1]
            if alone.any():
                raise ImpossibleRowError(int(alone.argmax()) + 1)
            found = order[drawn(masses[order], begins, asked, new_state(draw), method)]
            return {name: codes[found] for name, codes in held.items()}

        return complete


def _checked_codes(domain: Domain, codes: ArrayLike) -> Codes:
    given = np.asarray(codes)
    if given.ndim != 2 or given.shape[1] != len(domain) or not len(given) or given.dtype.kind not in "iu":
        raise ConfigError(
            f"records are whole numbers of shape (n, {len(domain)}), at least one; not {given.dtype} of {given.shape}"
        )
    if given.min() < 0 or (given.max(axis=0) >= np.array(domain.shape)).any():
        raise ConfigError("a record holds a code that its attribute does not have", remedy="check the domain")
    for rule in domain.constraints:
        if not rule.holds([given[:, axis] for axis in domain.axes(rule.scope)]).all():
            raise ConfigError(f"a record breaks the constraint {rule.text!r}", remedy="give records that can exist")
    checked: Codes = given.astype(code_type(domain))
    checked.flags.writeable = False
    return checked


def _checked_logs(log_weights: ArrayLike, n: int) -> Floats:
    given = np.array(log_weights, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all():
        raise ConfigError(f"{n} records need {n} finite log-weights, not an array of shape {given.shape}")
    return given


def _over_variables(domain: Domain, codes: Codes, scopes: Iterable[Clique]) -> tuple[Domain, Codes]:
    """Records with the derived attributes that some scopes are about as attributes of their own, after the others."""
    asked = set[str]().union(*scopes).difference(domain.names)
    if not asked:
        return domain, codes
    functions = [function for name in domain.clique(asked) if (function := domain.function(name)) is not None]
    derived = [function.codes[tuple(codes.T[list(domain.axes(function.sources))])] for function in functions]
    columns = np.concatenate([codes.T, np.stack(derived).astype(np.min_scalar_type(max(map(np.max, derived))))])
    return Domain([*domain, *(function.attribute for function in functions)]), columns.T


def cells_of(domain: Domain, codes: Codes, cliques: Sequence[Clique]) -> Ints:
    """The cell of every record in the marginal of every clique.

    Args:
        domain: The domain.
        codes: Records, shape ``(n, len(domain))``.
        cliques: Attributes in domain order each, derived or not.

    Returns:
        Row-major positions in the tables, shape ``(len(cliques), n)``.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> cells_of(domain, np.array([[1, 2], [0, 1]], dtype=np.uint8), [("a", "b"), ("a",)])
        array([[5, 1],
               [1, 0]])
    """
    domain, codes = _over_variables(domain, codes, cliques)
    cells = np.zeros((len(cliques), len(codes)), dtype=np.int64)
    sizes, columns = np.array(domain.shape, dtype=np.int64), codes.T
    for rows, axes in _by_depth(domain, cliques):
        cells[rows] = cells[rows] * sizes[axes, None] + columns[axes]
    return cells


def holding(domain: Domain, codes: Codes, queries: Sequence[Conjunction]) -> Bools:
    """Whether each conjunction holds at each record, shape ``(len(queries), n)``.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> records = np.array([[1, 2], [0, 1]], dtype=np.uint8)
        >>> holding(domain, records, [Conjunction.where(domain, {"b": [1, 2], "a": [0]})])
        array([[False,  True]])
    """
    domain, codes = _over_variables(domain, codes, [query.scope for query in queries])
    holds = np.ones((len(queries), len(codes)), dtype=np.bool_)
    columns = codes.T
    for depth, (every_row, every_axis) in enumerate(_by_depth(domain, [query.scope for query in queries])):
        every_size = np.array(domain.shape, dtype=np.int64)[every_axis]
        listed = every_size <= _LISTED_CODES
        for row, axis in zip(every_row[~listed].tolist(), every_axis[~listed].tolist(), strict=True):
            holds[row] &= queries[row].codes[depth].holds(columns[axis])
        rows, axes, sizes = every_row[listed], every_axis[listed], every_size[listed]
        starts = np.cumsum(sizes) - sizes
        allowed = np.zeros(int(sizes.sum()), dtype=np.bool_)
        for start, row in zip(starts.tolist(), rows.tolist(), strict=True):
            allowed[start + np.asarray(queries[row].codes[depth], dtype=np.int64)] = True
        holds[rows] &= allowed[starts[:, None] + columns[axes]]
    return holds


def values_at(query: LinearQuery, codes: Codes) -> Floats:
    """The query at each record, shape ``(n,)``.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> values_at(Parity(domain, ("a", "b")), np.array([[0, 1], [1, 1]], dtype=np.uint8))
        array([-1.,  1.])
    """
    if isinstance(query, Conjunction):
        return np.asarray(holding(query.domain, codes, [query])[0], dtype=np.float64)
    if isinstance(query, Parity):
        odd = codes[:, query.domain.axes(query.scope)].sum(axis=1, dtype=np.int64) % 2
        return np.asarray(1.0 - 2.0 * odd, dtype=np.float64)
    return np.asarray(query.values().reshape(-1)[cells_of(query.domain, codes, [query.scope])[0]], dtype=np.float64)


def _by_depth(domain: Domain, scopes: Sequence[Clique]) -> list[tuple[Ints, Ints]]:
    """Scopes that have a first, second, ... attribute, and the axis of this attribute."""
    position = {name: axis for axis, name in enumerate(domain.names)}
    axes = [[position[name] for name in scope] for scope in scopes]
    lengths = np.array([len(axis) for axis in axes], dtype=np.int64)
    depths = []
    for depth in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > depth)
        depths.append((rows, np.array([axes[row][depth] for row in rows.tolist()], dtype=np.int64)))
    return depths
