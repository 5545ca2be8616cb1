"""Best responses with a proof, by a core-guided MaxSAT solver (RC2 of python-sat)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

from hedgerow.algorithms.dual_query.oracles.problem import BestResponseProblem, Oracle, Response, respond
from hedgerow.algorithms.dual_query.oracles.reduced import Reduced
from hedgerow.algorithms.dual_query.oracles.tabu import TabuSearch
from hedgerow.arrays import Ints
from hedgerow.errors import ConfigError, MissingExtraError
from hedgerow.system import Seed, generator

CONFLICTS = 200
"""Conflicts of the solver between two looks at the clock; so no thread has to interrupt it."""
MOST_PAIRS = 1000
"""With more soft clauses, the solver does not look for those that exclude each other: that takes quadratic time."""


@final
@dataclass(frozen=True)
class MaxSat:
    """Starts from another oracle's record, then looks for a better one or for the proof that there is none.

    When the time is up the answer is the other oracle's record, with the bound reached so far: a time-out costs
    accuracy, never privacy, and raises nothing. Proofs are within reach of a few hundred conjunctions; whether one is
    found in time depends on the machine, so only answers that are proved are sure to be the same again.

    Attributes:
        seconds: Time for the solver, in addition to the other oracle's; looked at every 200 conflicts.
        start: The oracle whose record is to be beaten.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> cells = [Conjunction.where(domain, {"a": [1], "b": [0]}), Conjunction.where(domain, {"b": [0]})]
        >>> MaxSat().best(BestResponseProblem(domain, cells, [2.0, -1.0]), seed=0)
        Response(codes=array([1, 0]), value=1.0, bound=1.0, proved=True)
    """

    seconds: float = 1.0
    start: Oracle = field(default_factory=TabuSearch)

    def __post_init__(self) -> None:
        """Check the number."""
        if not self.seconds >= 0.0:
            raise ConfigError("the time of a solver is a number of seconds, at least 0", remedy="try seconds=1")

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """The best record, proved if time allows.

        Raises:
            MissingExtraError: python-sat is not installed.
        """
        solver = _solver()
        rng = generator(seed)
        incumbent = self.start.best(problem, rng)
        reduced = problem.reduced
        goal = reduced.whole_value(reduced.encode(incumbent.codes))
        formula = _Formula(reduced)
        most = int(reduced.clauses.weight.clip(min=0).sum())
        with solver(formula.wcnf(), formula.phases(reduced.encode(incumbent.codes)), most - goal) as search:
            model = search.run(time.monotonic() + self.seconds)
            bound = goal if search.settled else most - int(search.cost)
        spots = None if model is None else formula.decode(model)
        return respond(problem, incumbent, spots, bound, rng=rng)


class _Formula:
    """A reduced problem as weighted clauses.

    Attributes:
        hard: Clauses that any record satisfies, and those that define variables.
        soft: Clauses with their weights.
    """

    hard: list[list[int]]
    soft: list[tuple[list[int], int]]

    def __init__(self, reduced: Reduced) -> None:
        self._clauses = reduced.clauses
        self._variables = 0
        self.hard, self.soft = [], []
        self._spot = [0] * int(reduced.clauses.offset[-1])
        for first, size in zip(reduced.clauses.offset.tolist(), reduced.sizes.tolist(), strict=False):
            self._choice(first, size)
        literals = [self._literal(number) for number in range(reduced.clauses.literal_attribute.size)]
        start, entries = reduced.clauses.start.tolist(), reduced.clauses.literal.tolist()
        for j, weight in enumerate(reduced.clauses.weight.tolist()):
            self._add([literals[e] for e in entries[start[j] : start[j + 1]]], weight)

    def wcnf(self) -> Any:
        """The formula as the solver takes it."""
        from pysat.formula import WCNF

        formula = WCNF()
        formula.extend(self.hard)
        for clause, weight in self.soft:
            formula.append(clause, weight=weight)
        formula.nv = max(formula.nv, self._variables)
        return formula

    def phases(self, spots: Ints) -> list[int]:
        """What the solver should try first: the variables of a record."""
        chosen = set(spots.tolist())
        return [
            (1 if (spot in chosen) == (variable > 0) else -1) * abs(variable)
            for spot, variable in enumerate(self._spot)
            if variable
        ]

    def decode(self, model: list[int]) -> Ints:
        """The spots of a model."""
        true = set(model)
        free = self._clauses.offset[:-1].copy()
        for spot, variable in enumerate(self._spot):
            if variable in true:
                free[self._clauses.attribute[spot]] = spot
        return free

    def _new(self) -> int:
        self._variables += 1
        return self._variables

    def _choice(self, first: int, size: int) -> None:
        """Exactly one spot of an attribute; a single variable serves two spots, none serves one."""
        if size == 2:
            self._spot[first + 1] = self._new()
            self._spot[first] = -self._spot[first + 1]
        elif size > 2:
            self._spot[first : first + size] = [self._new() for _ in range(size)]
            self.hard.append(self._spot[first : first + size])
            self.hard += self._at_most_one(self._spot[first : first + size])

    def _at_most_one(self, variables: list[int]) -> Iterator[list[int]]:
        """Chain: ``reached[i]`` once one of the first i variables is true, and then no later one."""
        reached = variables[0]
        for variable in variables[1:]:
            yield [-reached, -variable]
            following = self._new()
            yield [-reached, following]
            yield [-variable, following]
            reached = following

    def _literal(self, number: int) -> int:
        """A variable (or its negation) that is true where a literal of the problem holds."""
        c = self._clauses
        spots: list[int] = c.literal_spots[c.literal_start[number] : c.literal_start[number + 1]].tolist()
        if len(spots) == 1:
            return self._spot[spots[0]]
        a = int(c.literal_attribute[number])
        others = sorted(set(range(int(c.offset[a]), int(c.offset[a + 1]))) - set(spots))
        if len(others) == 1:
            return -self._spot[others[0]]
        variable = self._new()
        self.hard.append([-variable, *(self._spot[spot] for spot in spots)])
        self.hard += [[variable, -self._spot[spot]] for spot in spots]
        return variable

    def _add(self, literals: list[int], weight: int) -> None:
        """A conjunction that is wanted becomes a variable; one that is not, a clause that some literal be false."""
        if weight < 0:
            self.soft.append(([-literal for literal in literals], -weight))
        elif len(literals) == 1:
            self.soft.append((literals, weight))
        else:
            variable = self._new()
            self.hard += [[-variable, literal] for literal in literals]
            self.soft.append(([variable], weight))


class _OutOfTimeError(Exception):
    """Leaves the solver's loop; caught where the loop is entered."""


def _solver() -> Any:
    """The solver with a clock and a goal, a class that is made when python-sat is first needed.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        from pysat.examples.rc2 import RC2Stratified
    except ImportError as error:
        raise MissingExtraError("python-sat is not installed", remedy="pip install 'hedgerow[solvers]'") from error

    class Search(RC2Stratified):  # type: ignore[misc]
        """RC2 that looks at the clock between runs of a few conflicts, and stops once the goal is proved."""

        settled = False
        _deadline = 0.0

        def __init__(self, formula: Any, phases: list[int], goal_cost: int) -> None:
            super().__init__(formula, solver="g3", adapt=len(formula.soft) <= MOST_PAIRS)
            self._goal = goal_cost
            self.oracle.set_phases(phases)

        def run(self, deadline: float) -> list[int] | None:
            """A model of least cost, or None if the goal is least or the time is up."""
            self._deadline = deadline
            try:
                return self.compute()  # type: ignore[no-any-return]
            except _OutOfTimeError:
                return None

        def _call_oracle(self, assumptions: list[int] = [], expect_interrupt: bool = False) -> Any:  # noqa: B006
            self.oracle.conf_budget(CONFLICTS)
            while True:
                self.settled = self.cost >= self._goal
                if self.settled or time.monotonic() > self._deadline:
                    raise _OutOfTimeError
                answer = self.oracle.solve_limited(assumptions=assumptions)
                if answer is not None:
                    return answer
                self.oracle.conf_budget(CONFLICTS)

    return Search
