"""All strategies by name: ours, with automatic and with hand-set rounds, and the competitors.

Everybody has the budget of the cell under "add-remove". Ours account (epsilon, delta) as zCDP, with rho from the
house's conversion; a competitor takes Gaussian noise with the same rho, or Laplace noise with the whole epsilon,
whichever its name says. All pay for the number of records: 2 % of the budget, or as one of the parts of a residual
basis. Ours also pay 3 % for an estimate of their own error, as their defaults do. Noise of competitors is not discrete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.regret.estimates import Known, Noise, on_simplex
from benchmarks.regret.grid import LARGEST, Cell
from benchmarks.regret.partitions import adaptive_grid, dawa_like
from benchmarks.regret.residuals import per_candidate, residual_basis
from benchmarks.regret.trees import hb
from hedgerow import MWEM, PureDP, SeededNoise, Workload
from hedgerow.algorithms.registry import parse
from hedgerow.algorithms.shared import Algorithm
from hedgerow.arrays import Floats
from hedgerow.comparison.exact import ProductTables
from hedgerow.queries import cliques_of_order

AUTO = "auto"
"""The strategy whose regret is measured: MWEM with its defaults."""

Strategy = Callable[[Cell, int], float]
"""Error of one run on a cell with a seed."""

_BY_HAND = (0.5, 1.0, 2.0, 4.0)
"""Rounds per attribute that are tried, besides all candidates."""
_SINGLES = (8, 32, 128)
"""Rounds that are tried where candidates are single queries."""


def strategies(cell: Cell, *, quick: bool = False) -> Mapping[str, Strategy]:
    """What can be run on a cell, by name.

    Args:
        cell: The cell.
        quick: Whether to leave out what is slow and seldom best.
    """
    return {AUTO: _ours(MWEM()), **_rounds(cell, quick=quick), **_mechanisms(cell, quick=quick), **_competitors(cell)}


# Ours


def _ours(algorithm: Algorithm, other: Callable[[Cell], Workload] | None = None) -> Strategy:
    """A mechanism of ours, asked for the workload of the cell or for another one."""

    def error(cell: Cell, seed: int) -> float:
        workload = cell.workload if other is None else other(cell)
        draws = getattr(algorithm, "seed", 0) is None
        seeded = replace(algorithm, seed=seed) if draws else algorithm  # type: ignore[type-var]
        release = seeded.run(cell.table, workload, cell.budget, noise=SeededNoise(seed))
        return cell.error(cell.workload.answers(release.model), release.total)

    return error


def _rounds(cell: Cell, *, quick: bool) -> dict[str, Strategy]:
    """MWEM with rounds set by hand, and asked for something else than what is wanted."""
    workload = cell.workload
    most, attributes = workload.n_candidates, len({name for scope in workload.scopes for name in scope})
    whole = all(family.whole for family in workload.families)
    wanted = [round(each * attributes) for each in _BY_HAND] if whole else list(_SINGLES)
    wanted = wanted[1::2] if quick else wanted
    numbers = sorted({min(most, max(1, each)) for each in wanted} | ({most} if whole else set()))
    named = [*map(str, numbers), *(["annealed"] if whole and most > 1 else []), *([] if quick else ["adaptive"])]
    found = {f"mwem:rounds={each}": _ours(parse(f"mwem:rounds={each}")) for each in named}
    if not whole:
        found["mwem for whole tables"] = _ours(MWEM(), _whole_tables)
    for order in (1, 2):
        widest = max(map(len, workload.scopes))
        if order < widest if whole else 1 < order < len(cell.table.domain):
            found[f"mwem for marginals:{order}"] = _ours(MWEM(), partial(_marginals, order))
    return found


def _whole_tables(cell: Cell) -> Workload:
    """The tables that the queries are answered from."""
    return Workload.marginals(cell.table.domain, cliques=cell.workload.scopes)


def _marginals(order: int, cell: Cell) -> Workload:
    """All marginals of an order that are not too large."""
    return Workload.marginals(cell.table.domain, cliques=cliques_of_order(cell.table.domain, order, LARGEST))


def _mechanisms(cell: Cell, *, quick: bool) -> dict[str, Strategy]:
    """Our other mechanisms."""
    names = ["laplace"] if cell.pure else ["gaussian"]
    if all(cell.table.domain[name].size == 2 for scope in cell.workload.scopes for name in scope):
        names.append("fourier")
        names += [] if quick else ["dual-query"]
    names += [] if quick else ["pmw"]
    return {f"our {name}": _ours(parse(name)) for name in names}


# Competitors


def _noises(cell: Cell, seed: int) -> dict[str, Noise]:
    """The noise that a cell's budget buys, by kind."""
    rng = np.random.default_rng([seed, 0x5EED])
    budget = cell.budget
    found = {"Laplace": Noise("laplace", budget.epsilon, rng)}
    return found if isinstance(budget, PureDP) else {**found, "Gaussian": Noise("gaussian", budget.limit, rng)}


def _competitors(cell: Cell) -> dict[str, Strategy]:
    kinds = list(_noises(cell, 0))
    found = {f"per query, {kind}": _per_query(kind, projected=True) for kind in kinds}
    if any(family.ordered for family in cell.workload.families):
        found |= {f"per query, {kind}, unprojected": _per_query(kind, projected=False) for kind in kinds}
    found |= {f"independent columns, {kind}": _independent(kind) for kind in kinds}
    if "Gaussian" in kinds:
        found["residual basis"] = _residual
    shape = cell.table.domain.shape_of(cell.workload.scopes[0])
    if cell.pure and len(shape) == 1:
        found |= {"Hb": _histogram(hb), "Hb, projected": _histogram(_projected_hb), "DAWA-like": _histogram(dawa_like)}
    if cell.pure and len(shape) == 2:
        found["adaptive grid"] = _histogram(adaptive_grid)
    return found


def _per_query(kind: str, *, projected: bool) -> Strategy:
    def error(cell: Cell, seed: int) -> float:
        noise = _noises(cell, seed)[kind]
        return _error(cell, *per_candidate(cell.table, cell.workload, noise, projected=projected))

    return error


def _residual(cell: Cell, seed: int) -> float:
    return _error(cell, *residual_basis(cell.table, cell.workload, _noises(cell, seed)["Gaussian"]))


def _error(cell: Cell, known: Known, total: float) -> float:
    return cell.error(cell.workload.answers(known), total)


def _independent(kind: str) -> Strategy:
    """One noisy table of each attribute, as if they had nothing to do with each other."""

    def error(cell: Cell, seed: int) -> float:
        domain = cell.table.domain
        total, noise = _noises(cell, seed)[kind].number(cell.table.total())
        each = noise.share(1.0 / len(domain))
        tables = cell.table.marginals([(name,) for name in domain.names])
        shares = [on_simplex(each.added(table), total) / total for table in tables]
        return cell.error(cell.workload.answers(ProductTables(domain, shares)), 1.0)

    return error


def _projected_hb(exact: Floats, noise: Noise) -> tuple[Floats, float]:
    return hb(exact, noise, projected=True)


def _histogram(estimate: Callable[[Floats, Noise], tuple[Floats, float]]) -> Strategy:
    """A strategy for the one table that answers everything."""

    def error(cell: Cell, seed: int) -> float:
        (scope,) = cell.workload.scopes
        (exact,) = cell.table.marginals([scope])
        found, total = estimate(exact, _noises(cell, seed)["Laplace"])
        return _error(cell, Known(cell.table.domain, {scope: found}, {}), total)

    return error
