"""Controlled rounding: whole numbers of records near a hypothesis that keep all known totals.

Known tables that hang together like a tree (`running_order`) are taken one after the other. The records so far, which
are whole, get what the next table adds: by the hypothesis in proportion, then so that both sums hold (iterative
proportional fitting), then rounded along circles, which keeps both. Such a rounding always exists: the sums form a
transport problem, whose corners are whole (Hoffman and Kruskal 1956), and each cell is rounded without bias. Tables
that overlap in a circle are rounded by a bounded whole-number programme over the cells of all their names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, KnownTable, Overlap, codes_at, places_in, running_order, telling
from hedgerow.errors import ConfigError
from hedgerow.models.core import sampling_kernels as compiled
from hedgerow.models.core.records import Codes

if TYPE_CHECKING:
    from hedgerow.models.core.model import Model

_MOST_CELLS = 1 << 25
"""Cells of the names of known tables together that records are rounded over, at most."""
_MOST_WHOLE = 1 << 14
"""The same for tables that overlap in a circle."""
_SECONDS = 60.0
"""Time of the whole-number programme, at most."""
_SWEEPS = 2_000
_NEAR = 1e-7
"""Distance from a whole number that is rounding."""


def controlled_rows(model: Model, domain: Domain, draw: np.random.Generator) -> dict[str, Ints]:
    """Codes of the names of all known tables, one row for each record, in random order.

    Args:
        model: A hypothesis that has the known totals.
        domain: The domain that holds them.
        draw: Randomness of the rounding.

    Returns:
        For each name the codes, shape ``(records,)``; empty where only the number of records is known.

    Raises:
        ConfigError: No whole records have these totals, or the search for them takes too long or too much memory.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange, with_known
        >>> from hedgerow.models import Histogram, rake
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> known = [{"columns": ["a"], "counts": [2, 1]}, {"columns": ["b"], "counts": [1, 2]}]
        >>> model = Histogram(with_known(domain, known), 3.0)
        >>> _ = rake(model, telling(model.domain))
        >>> rows = controlled_rows(model, model.domain, np.random.default_rng(0))
        >>> np.bincount(rows["a"]), np.bincount(rows["b"])
        (array([2, 1]), array([1, 2]))
    """
    tables = [table for table in telling(domain) if table.names]
    if not tables:
        return {}
    order = running_order(domain)
    found = None if order is None else _in_turn(model, order, draw)
    names, places, counts = _overlapping(model, domain, tables, draw) if found is None else found
    rows = np.repeat(places, counts)
    draw.shuffle(rows)
    codes = np.unravel_index(rows, domain.shape_of(names))
    return {name: np.asarray(code, dtype=np.int64) for name, code in zip(names, codes, strict=True)}


def controlled_records(model: Model, domain: Domain, draw: np.random.Generator) -> Codes:
    """As many records as known totals count, which have all of them.

    They are drawn as usual. Records of cells that got too many are taken out again, and rows of those that got too few
    are completed: few, since both are rounded from the same hypothesis, so that all else stays as near to it.

    Args:
        model: A hypothesis that has the known totals.
        domain: The domain that holds them.
        draw: Randomness.

    Returns:
        Codes, shape ``(records, len(domain))``.

    Raises:
        ConfigError: See `controlled_rows`.
    """
    drawn = model.sample(domain.known[0].total, draw)
    rows = controlled_rows(model, domain, draw)
    if not rows:
        return drawn
    names = tuple(rows)
    columns = dict(zip(domain.names, drawn.T, strict=True))
    shape = domain.shape_of(names)
    places = np.ravel_multi_index(tuple(codes_at(domain, name, columns).astype(np.int64) for name in names), shape)
    wanted = np.ravel_multi_index(tuple(rows.values()), shape)
    kept, lacking = _matched(places, wanted)
    if not len(lacking):
        return drawn
    given = {name: codes[lacking] for name, codes in rows.items()}
    drawn[np.setdiff1d(np.arange(len(drawn)), kept, assume_unique=True)] = model.sample(1, draw, given=given)
    return drawn


def _matched(places: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """The places that are wanted, each as often as it is, and the wanted ones that are not there; as positions."""
    cells = int(max(places.max(), wanted.max())) + 1
    both = np.minimum(np.bincount(places, minlength=cells), np.bincount(wanted, minlength=cells))

    def first(of: Ints) -> Ints:
        """Positions of the first of each cell, as many as both have."""
        order = np.argsort(of, kind="stable")
        ends = np.cumsum(np.bincount(of, minlength=cells))
        rank = np.arange(len(of)) - np.concatenate([[0], ends[:-1]])[of[order]]
        return np.asarray(order[rank < both[of[order]]])

    return first(places), np.setdiff1d(np.arange(len(wanted)), first(wanted), assume_unique=True)


def _in_turn(model: Model, order: Sequence[KnownTable], draw: np.random.Generator) -> tuple[Clique, Ints, Ints] | None:
    """Names, cells and numbers of records, one table after the other; None where rules leave no such way."""
    domain, first = model.domain, order[0]
    names, places = first.names, np.flatnonzero(first.counts)
    counts = first.counts[places]
    for table in order[1:]:
        added = tuple(name for name in table.names if not domain.determines(names, name))
        wider = domain.clique((*names, *added))
        if domain.cells(wider) > _MOST_CELLS:
            raise ConfigError(
                f"known tables over {', '.join(wider)} have too many cells together for records to be rounded",
                remedy="leave one out, or give it over levels",
            )
        back = places_in(domain, wider, names).reshape(-1)
        row_of = np.full(domain.cells(names), -1, dtype=np.int64)
        row_of[places] = np.arange(len(places))
        weights = model.marginals([wider])[0].reshape(-1)
        column = places_in(domain, wider, table.names).reshape(-1)
        inside = np.flatnonzero((weights > 0.0) & (back >= 0) & (column >= 0))
        inside = inside[row_of[back[inside]] >= 0]
        inside = inside[table.counts[column[inside]] > 0]
        sums = (row_of[back[inside]], counts), (column[inside], table.counts)
        found = _rounded(weights[inside], sums, draw)
        if found is None:
            return None
        names, places, counts = wider, inside[found > 0], found[found > 0]
    return names, places, counts


def _rounded(weights: Floats, sums: Sequence[tuple[Ints, Ints]], draw: np.random.Generator) -> Ints | None:
    """Whole numbers near some weights, with two kinds of sums; None where there are none.

    Args:
        weights: Positive, shape ``(cells,)``.
        sums: For either kind the sum that each cell is in, and what the sums are.
        draw: Randomness.
    """
    fitted = _fitted(weights, sums)
    whole = np.floor(fitted + _NEAR)
    shares = np.maximum(fitted - whole, 0.0)
    loose = np.flatnonzero(shares > _NEAR)
    (rows, wanted), (columns, others) = sums
    both = np.stack([rows[loose], len(wanted) + columns[loose]], axis=1)
    order = np.argsort(both.reshape(-1), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(both.reshape(-1), minlength=len(wanted) + len(others)))])
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    rounded, state = shares[loose], draw.integers(2**63, size=1).astype(np.uint64)
    cells = both[:, 0].copy(), both[:, 1].copy(), starts.astype(np.int64), order // 2, places
    compiled.round_along_cycles(rounded, cells, _NEAR, state)
    whole[loose] += rounded
    met = (np.array_equal(np.bincount(at, weights=whole, minlength=len(told)), told) for at, told in sums)
    return np.asarray(whole, dtype=np.int64) if all(met) else None


def _overlapping(
    model: Model, domain: Domain, tables: Sequence[KnownTable], draw: np.random.Generator
) -> tuple[Clique, Ints, Ints]:
    """Names, cells and numbers of records by a whole-number programme.

    Raises:
        ConfigError: There are none, or it takes too long or too much memory.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    cells = Overlap.of(domain, tables, most=_MOST_WHOLE)
    if cells is None:
        raise ConfigError(
            "known tables overlap in a circle, and have too many cells together for records to be rounded",
            remedy="leave one out, or give it over levels",
        )
    weights = model.marginals([cells.names])[0].reshape(-1)[cells.places]
    whole, count = np.floor(weights + _NEAR), len(cells.places)
    sums = cells.sums(tables)
    left = np.concatenate([table.counts for table in tables]) - sums @ whole
    shares = np.clip(weights - whole, _NEAR, 1.0)
    costs = -np.log(shares) - draw.gumbel(size=count)  # the likeliest cells first, with chance
    for most in (1.0, np.inf):  # up or down; else as far as is needed
        least = 0.0 if most == 1.0 else -whole
        found = milp(
            costs - costs.min() + 1.0,
            integrality=np.ones(count, dtype=np.int64),
            bounds=Bounds(least, most),
            constraints=LinearConstraint(sums, left, left),
            options={"time_limit": _SECONDS},
        )
        if found.x is not None:
            return cells.names, cells.places, np.rint(whole + found.x).astype(np.int64)
    why = "takes too long" if found.status == 1 else "has no outcome"
    raise ConfigError(
        f"the search for whole records that have all known totals {why}",
        remedy="the hypothesis has these totals, and its records do not: leave a table out, or draw another number",
    )


def _fitted(weights: Floats, sums: Sequence[tuple[Ints, Ints]]) -> Floats:
    """Weights multiplied until all sums hold."""
    found = weights.copy()
    off = math.inf
    for _ in range(_SWEEPS):
        if off <= 0.5 * _NEAR:
            return found
        off = 0.0
        for at, wanted in sums:
            now = np.bincount(at, weights=found, minlength=len(wanted))
            off = max(off, float(np.abs(now - wanted).max()))
            found *= np.divide(wanted, now, out=np.zeros(len(wanted)), where=now > 0.0)[at]
    return found
