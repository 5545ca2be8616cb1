"""Best responses with a bound at any time, by mixed-integer programming (HiGHS, through scipy)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from hedgerow.algorithms.dual_query.oracles.problem import BestResponseProblem, Oracle, Response, respond
from hedgerow.algorithms.dual_query.oracles.reduced import Reduced
from hedgerow.algorithms.dual_query.oracles.tabu import TabuSearch
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ConfigError
from hedgerow.system import Seed, generator

TOLERANCE = 1e-6
"""What the solver's bound may be wrong by, as a part of the sum of absolute weights: its feasibility tolerance."""


@final
@dataclass(frozen=True)
class MixedInteger:
    """Branch and bound on the linear relaxation, beside another oracle; returns the better record and the bound.

    The bound is widened by the solver's tolerance and, where the weights are whole, rounded down to what a record can
    be worth. Where they are not, a record counts as proved when it is within twice the tolerance of the bound.

    Attributes:
        seconds: Time for the solver, in addition to the other oracle's.
        start: The oracle whose record is to be beaten.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> cells = [Conjunction.where(domain, {"a": [1], "b": [0]}), Conjunction.where(domain, {"b": [0]})]
        >>> MixedInteger().best(BestResponseProblem(domain, cells, [2.0, -1.0]), seed=0)
        Response(codes=array([1, 0]), value=1.0, bound=1.0, proved=True)
    """

    seconds: float = 1.0
    start: Oracle = field(default_factory=TabuSearch)

    def __post_init__(self) -> None:
        """Check the number."""
        if not self.seconds >= 0.0:
            raise ConfigError("the time of a solver is a number of seconds, at least 0", remedy="try seconds=1")

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """The better record of the two, and a bound."""
        rng = generator(seed)
        incumbent = self.start.best(problem, rng)
        reduced = problem.reduced
        weights = reduced.clauses.weight
        if weights.size == 0:
            return respond(problem, incumbent, None, 0, rng=rng)
        scale = int(np.abs(weights).max())
        result = _solve(reduced, scale, self.seconds)
        tolerance = TOLERANCE * float(np.abs(weights).sum())
        bound = int(weights.clip(min=0).sum())
        if result.mip_dual_bound is not None and math.isfinite(result.mip_dual_bound):
            bound = min(bound, math.floor(-result.mip_dual_bound * scale + tolerance))
        spots = None if result.x is None else _spots(reduced, result.x)
        margin = 0 if tolerance < 0.5 else math.ceil(2 * tolerance)
        return respond(problem, incumbent, spots, bound, rng=rng, margin=margin)


def _spots(reduced: Reduced, solution: Floats) -> Ints:
    parts = itertools.pairwise(reduced.clauses.offset.tolist())
    return np.array([first + int(solution[first:end].argmax()) for first, end in parts], dtype=np.int64)


def _solve(reduced: Reduced, scale: int, seconds: float) -> Any:
    """One variable per spot, of which each attribute has exactly one at 1, and one per clause; weights by ``scale``."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    c = reduced.clauses
    n_spots, n_clauses = int(c.offset[-1]), c.weight.size
    links = list(_links(reduced))
    entries = [(row, column, value) for row, (terms, _) in enumerate(links) for column, value in terms]
    rows, columns, values = (np.array(each) for each in zip(*entries, strict=True))
    links_matrix = coo_array((values, (rows, columns)), shape=(len(links), n_spots + n_clauses)).tocsr()
    choices = coo_array(
        (np.ones(n_spots), (c.attribute, np.arange(n_spots))), shape=(reduced.sizes.size, n_spots + n_clauses)
    )
    return milp(
        np.concatenate([np.zeros(n_spots), -c.weight / scale]),
        integrality=np.concatenate([np.ones(n_spots), np.zeros(n_clauses)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(choices.tocsr(), 1.0, 1.0),
            LinearConstraint(links_matrix, -np.inf, np.array([limit for _, limit in links])),
        ],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )


def _links(reduced: Reduced) -> Iterator[tuple[list[tuple[int, float]], float]]:
    """Rows "sum of terms at most a limit" between spots and clauses.

    A clause that is wanted is at most each of its literals. Different cells of one marginal exclude each other, so
    those that share a spot are together at most that spot, which makes the relaxation tighter. A clause that is not
    wanted is at least the sum of its literals less all but one.
    """
    c = reduced.clauses
    n_spots = int(c.offset[-1])
    spots = [
        c.literal_spots[first:end].tolist()
        for first, end in zip(c.literal_start[:-1], c.literal_start[1:], strict=True)
    ]
    shared: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for j, weight in enumerate(c.weight.tolist()):
        literals = c.literal[c.start[j] : c.start[j + 1]].tolist()
        if weight < 0:
            terms = [(spot, 1.0) for literal in literals for spot in spots[literal]]
            yield [*terms, (n_spots + j, -1.0)], len(literals) - 1.0
        elif all(len(spots[literal]) == 1 for literal in literals):
            scope = tuple(c.literal_attribute[literals].tolist())
            for literal in literals:
                shared.setdefault((scope, spots[literal][0]), []).append(j)
        else:
            for literal in literals:
                yield [(n_spots + j, 1.0), *((spot, -1.0) for spot in spots[literal])], 0.0
    for (_, spot), members in shared.items():
        yield [*((n_spots + j, 1.0) for j in members), (spot, -1.0)], 0.0
