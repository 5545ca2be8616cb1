"""The oracles: exhaustive search, tabu search (fast, no proof) and mixed-integer programming (a bound at any time)."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.algorithms.dual_query.oracles.problem import BestResponseProblem, Oracle, Reduced, Response, kernels
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ConfigError
from hedgerow.system import Seed, generator

TOLERANCE = 1e-6
"""Relative error of HiGHS's bound, as a part of the sum of absolute weights: its feasibility tolerance."""


@dataclass(frozen=True)
class BruteForce:
    """Exhaustive search: value every combination of codes that the conjunctions tell apart, take the first of the best.

    Combinations are in the order of the domain, the last attribute fastest; codes that no conjunction tells apart
    count as one, and the response draws among them.

    Attributes:
        cells: Largest number of combinations to look at.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> both = Conjunction.where(domain, {"a": [1], "b": [0]})
        >>> BruteForce().best(BestResponseProblem(domain, [both], [2.0]), seed=0)
        Response(codes=array([1, 0]), value=2.0, bound=2.0, proved=True)
    """

    cells: int = 1 << 20

    def __post_init__(self) -> None:
        """Refuse a limit below 1."""
        if self.cells < 1:
            raise ConfigError("cells must be 1 or more", remedy="leave cells at its default")

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """Find the best record.

        Raises:
            ConfigError: There are more combinations than ``cells``.
        """
        reduced = problem.reduced
        combinations = math.prod(reduced.sizes.tolist())
        if combinations > self.cells:
            raise ConfigError(
                f"the conjunctions tell {combinations:,} records apart; at most {self.cells:,} are looked at",
                remedy="use TabuSearch, or MixedInteger where a proof is wanted",
            )
        values = _values(reduced)
        classes = np.array(np.unravel_index(int(values.argmax()), values.shape), dtype=np.int64)
        spots = reduced.clauses.offset[:-1].copy()
        spots[reduced.sizes > 1] += classes
        codes = reduced.decode(spots, generator(seed))
        value = problem.value(codes)
        return Response(codes, value, reduced.bound(int(values.max()), value), proved=True)


@dataclass(frozen=True)
class TabuSearch:
    """Tabu search over single changes of attributes, from several greedy starts.

    A start fixes the attributes in random order, each at the code with the best expected value while the others are
    uniform, so it is worth at least the mean over all records. The search then always takes the best change that is not
    forbidden; the code that an attribute leaves is forbidden for a while, unless it would lead to a new best.

    Attributes:
        restarts: Number of starts.
        patience: Changes without a new best after which a start is given up.
        tenure: Least number of changes for which a code stays forbidden; it is drawn from ``tenure`` to ``2 tenure``.
            Small problems use less: a quarter of the changes that are possible.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> both = Conjunction.where(domain, {"a": [1], "b": [0]})
        >>> response = TabuSearch().best(BestResponseProblem(domain, [both], [2.0]), seed=0)
        >>> response.codes, response.value
        (array([1, 0]), 2.0)
    """

    restarts: int = 8
    patience: int = 500
    tenure: int = 8

    def __post_init__(self) -> None:
        """Refuse numbers below 1."""
        if min(self.restarts, self.patience, self.tenure) < 1:
            raise ConfigError("restarts, patience and tenure must be at least 1", remedy="leave them at their defaults")

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """Find a good record: the best one that was met."""
        rng = generator(seed)
        reduced = problem.reduced
        state = rng.integers(2**64, size=1, dtype=np.uint64)
        spots = np.empty(reduced.sizes.size, dtype=np.int64)
        kernels().search(reduced.clauses, self.restarts, self.patience, self._tenure(reduced), state, spots)
        codes = reduced.decode(spots, rng)
        return Response(codes, problem.value(codes))

    def improved(self, problem: BestResponseProblem, records: ArrayLike, seed: Seed = None) -> Response:
        """Search from given records: the best record that was met, worth at least as much as each of them.

        Args:
            problem: The problem.
            records: At least one, shape ``(n, d)``; they take the place of greedy starts.
            seed: Breaks ties and picks codes that the conjunctions do not tell apart.

        Example:
            >>> from hedgerow import Domain, IntegerRange
            >>> from hedgerow.queries.core.query import Conjunction
            >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
            >>> both = Conjunction.where(domain, {"a": [1], "b": [0]})
            >>> TabuSearch().improved(BestResponseProblem(domain, [both], [2.0]), [[0, 2]], seed=0).codes
            array([1, 0])
        """
        rng = generator(seed)
        reduced, responses = problem.reduced, []
        state = rng.integers(2**64, size=1, dtype=np.uint64)
        for record in np.asarray(records, dtype=np.int64):
            spots = np.empty(reduced.sizes.size, dtype=np.int64)
            start = reduced.encode(record)
            kernels().climb(reduced.clauses, self.patience, self._tenure(reduced), state, start, spots)
            codes = reduced.decode(spots, rng)
            responses.append(Response(codes, problem.value(codes)))
        return max(responses, key=lambda response: response.value)

    def _tenure(self, reduced: Reduced) -> int:
        return max(1, min(self.tenure, int(reduced.sizes.sum() - reduced.sizes.size) // 4))


@dataclass(frozen=True)
class MixedInteger:
    """Branch and bound on the linear relaxation (HiGHS, through scipy), beside another oracle; never a worse record.

    The bound is widened by the solver's tolerance and, where the weights are whole, rounded down to what a record can
    be worth. Where they are not, a record counts as proved when it is within twice the tolerance of the bound.

    Attributes:
        seconds: Time for the solver, in addition to the other oracle's.
        start: Oracle that finds the record to beat.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> cells = [Conjunction.where(domain, {"a": [1], "b": [0]}), Conjunction.where(domain, {"b": [0]})]
        >>> MixedInteger().best(BestResponseProblem(domain, cells, [2.0, -1.0]), seed=0)
        Response(codes=array([1, 0]), value=1.0, bound=1.0, proved=True)
    """

    seconds: float = 1.0
    start: Oracle = field(default_factory=TabuSearch)

    def __post_init__(self) -> None:
        """Refuse a negative time."""
        if not self.seconds >= 0.0:
            raise ConfigError(f"seconds must be 0 or more, not {self.seconds!r}", remedy="try seconds=1")

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """Find the better record of the two, and a bound.

        When the time is up, the answer is the other oracle's record, with the bound reached so far.
        """
        rng = generator(seed)
        best = self.start.best(problem, rng)
        reduced = problem.reduced
        spots, bound, margin = _solved(reduced, self.seconds)
        if spots is not None:
            codes = reduced.decode(spots, rng)
            best = max(best, Response(codes, problem.value(codes)), key=lambda response: response.value)
        proved = bound - reduced.whole_value(reduced.encode(best.codes)) <= margin
        return Response(best.codes, best.value, reduced.bound(bound, best.value), proved)


def _values(reduced: Reduced) -> Floats:
    """Whole values of all combinations; attributes with one class have no axis. Sums of whole weights are exact."""
    axes = np.flatnonzero(reduced.sizes > 1)
    shape = tuple(reduced.sizes[axes].tolist())
    values = np.zeros(shape)
    for scope, table in _scopes(reduced).items():
        inside = np.isin(axes, scope)
        values += table.reshape(np.where(inside, shape, 1))
    return values


def _scopes(reduced: Reduced) -> dict[tuple[int, ...], Floats]:
    """Sums of clauses over the same attributes, as tables over their classes."""
    c = reduced.clauses
    tables: dict[tuple[int, ...], Floats] = {}
    for j, weight in enumerate(c.weight):
        literals = c.literal[c.start[j] : c.start[j + 1]]
        scope = tuple(c.literal_attribute[literals].tolist())
        table = tables.setdefault(scope, np.zeros(reduced.sizes[list(scope)]))
        spots = [c.literal_spots[c.literal_start[k] : c.literal_start[k + 1]] for k in literals]
        table[np.ix_(*(part - c.offset[a] for part, a in zip(spots, scope, strict=True)))] += weight
    return tables


def _solved(reduced: Reduced, seconds: float) -> tuple[Ints | None, int, int]:
    """Solve for a record, a bound on all records, and the gap between the two that still proves; in whole weights."""
    weights = reduced.clauses.weight
    if weights.size == 0:
        return None, 0, 0
    scale, tolerance = int(np.abs(weights).max()), TOLERANCE * float(np.abs(weights).sum())
    result = _solve(reduced, scale, seconds)
    bound = int(weights.clip(min=0).sum())
    if result.mip_dual_bound is not None and math.isfinite(result.mip_dual_bound):
        bound = min(bound, math.floor(-result.mip_dual_bound * scale + tolerance))
    parts = itertools.pairwise(reduced.clauses.offset.tolist())
    solution = result.x
    spots = None if solution is None else np.array([first + int(solution[first:end].argmax()) for first, end in parts])
    return spots, bound, 0 if tolerance < 0.5 else math.ceil(2 * tolerance)


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
