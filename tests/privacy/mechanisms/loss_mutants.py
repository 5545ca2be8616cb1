"""Bugs that move scores, scales or sensitivities a little, where candidates are unequal: the accountant finds them.

Each check runs a method of the curator on small tables and on all their neighbours (`accountant.check_run`): what was
handed to every sampler may move by no more than its event paid for. Candidates have unequal weights, sensitivities
and offsets, so that a bug which a common unit would hide is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import hedgerow.privacy.exact.scores as scores_module
import hedgerow.privacy.watch as watch_module
from hedgerow.errors import BudgetError, QueryError
from hedgerow.privacy import (
    GRID,
    ZCDP,
    Budget,
    Curator,
    EqualUnits,
    EqualWidths,
    NoiseSource,
    PureDP,
    SeededNoise,
    SparseVector,
)
from hedgerow.queries import Explicit, Neighbours, Parity, Workload
from tests.privacy.accountant import Witness, check_run, listening, moved_within, settle
from tests.privacy.mechanisms.sparse_vector_mutants import events_of_any_relation
from tests.privacy.mutants import Mutant, drawing
from tests.privacy.tables import DenseCounts, binary, neighbours_of

DOMAIN = binary(2)
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
TABLES = ([0, 0, 0, 1], [2, 1, 0, 3], [1, 1, 1, 1], [5, 0, 0, 2])
MIXED = Workload(
    (
        *Workload.marginals(DOMAIN, 1).families,
        *Workload.parities(DOMAIN, 2).families,
        *Workload.explicit(DOMAIN, ("a", "b"), [[0.1, -0.7, 1 / 3, 0.25], [3.0, 0.0, 1.5, -2.0]]).families,
        *Workload.prefixes(DOMAIN, "b").families,
    ),
    (1.0, 0.37, 2.0, 1 / 3),
)
UNEQUAL = Workload.explicit(
    DOMAIN, ("a", "b"), [[5.0, 6.0, 5.5, 5.0], [-1.0, 1.0, 0.0, 0.5], [0.0, 0.25, 0.0, 0.0]]
).by_query()
ODD = Workload.explicit(DOMAIN, ("a", "b"), [[1.4 * GRID] * 4, [0.0, 1.4 * GRID, 1.4 * GRID, 0.0]]).by_query()
"""One record more moves both by 1.4 steps of the grid: rounded down, by 2 steps at times."""
ODD_WIDTHS = Workload.explicit(
    DOMAIN, ("a", "b"), [[0.0, 1.4 * GRID, 0.0, 0.7 * GRID], [1.4 * GRID, 0.0, 0.0, 0.0]]
).by_query()
LABELLED = Parity(DOMAIN, ("a", "b"))


def budgets(relation: Neighbours) -> Iterator[Budget]:
    yield PureDP(9.0, relation)
    yield ZCDP(9.0, relation)


def every_table(run: Any, relation: Neighbours, tables: Sequence[Sequence[int]] = TABLES) -> None:
    for budget in budgets(relation):
        for seed, histogram in enumerate(tables):
            check_run(
                lambda source, noise, budget=budget: run(Curator(source, budget, noise=noise)),
                DenseCounts(DOMAIN, histogram),
                relation,
                seed,
            )


def selections_with_unequal_offsets(relation: Neighbours, workload: Workload = MIXED) -> None:
    """With hypotheses that answer too low, too high and both, and offsets between -3 and 3."""

    def run(made: Curator) -> None:
        generator = np.random.default_rng(3)
        for signs in ([40.0], [-40.0], [40.0, -40.0, -40.0], [0.3, 1.7]):
            answers = np.resize(signs, workload.n_queries) + generator.normal(size=workload.n_queries)
            offsets = generator.uniform(-3.0, 3.0, workload.n_candidates)
            made.select(workload, answers, 0.3, offsets=offsets)
            made.select(workload, answers, 0.3, offsets=offsets, eligible=offsets < np.median(offsets) + 1e-9)
            if made.budget.unit == "epsilon":
                made.select(workload, answers, 0.3, offsets=offsets, law="permute-and-flip")

    every_table(run, relation)


def draws_of_unequal_queries(relation: Neighbours, workload: Workload = UNEQUAL) -> None:
    def run(made: Curator) -> None:
        made.draw(workload, np.linspace(-40.0, 40.0, workload.n_queries), 64.0, 2)
        made.draw(workload, np.full(workload.n_queries, 2.5), 64.0, 1)

    every_table(run, relation)


def error_estimates(relation: Neighbours) -> None:
    def run(made: Curator) -> None:
        made.workload_error(MIXED, np.full(MIXED.n_queries, 30.0), 0.5)
        made.workload_error(MARGINALS, np.full(MARGINALS.n_queries, -30.0), 0.5)

    every_table(run, relation)


def tests_of_odd_steps() -> None:
    """Answers that move by 1.4 steps, hence by 2 at times: a watch for 1 step refuses them, one for 2 takes them."""
    query = Explicit.of(DOMAIN, ["a"], [1.4 * GRID, 1.4 * GRID])

    def run(made: Curator) -> None:
        for steps in (1.0, 2.0):
            watch = made.watch(SparseVector(8.0 * GRID, 400.0 * GRID, steps * GRID, fires=9))
            with suppress(QueryError):
                for _ in range(3):
                    watch.test(query, 0.0, 0.5)

    every_table(run, ADD_REMOVE, ([2, 0, 0, 0], [0, 3, 0, 1]))


def restored_books_cover_what_was_drawn() -> None:
    """What was paid between tables of one relation is not counted between those of another."""
    source, witness = DenseCounts(DOMAIN, TABLES[1]), Witness(SeededNoise(0))

    def run(counts: DenseCounts, noise: NoiseSource) -> bool:
        first = Curator(counts, PureDP(1.0), noise=noise)
        first.measure(LABELLED, 0.5)
        try:
            Curator(counts, PureDP(1.0, REPLACE), noise=noise, events=first.ledger.events).measure(LABELLED, 0.4)
        except BudgetError:
            return False
        return True

    with listening(witness):
        went_on = run(source, witness)
    ledger = witness.ledgers[-1]
    payers = settle(witness.calls, ledger.events, ledger.limit)
    for neighbour in neighbours_of(source, REPLACE) if went_on else ():
        with listening(Witness(script=witness.calls)) as there:
            run(neighbour, there)
        moved_within(witness.calls, there.calls, payers)


MARGINALS = Workload.marginals(DOMAIN, 1)


# ---- the bugs --------------------------------------------------------------------------------------------------------


def offsets_by_the_parity_of_n(patch: pytest.MonkeyPatch) -> None:
    """Half a count for one candidate, where the number of records is odd."""
    _offsets_by_parity(patch, lambda workload: np.eye(1, workload.n_candidates)[0] * 0.5)


def all_offsets_by_the_parity_of_n(patch: pytest.MonkeyPatch) -> None:
    """Half a count for all of them: with equal units no law would change."""
    _offsets_by_parity(patch, lambda workload: np.full(workload.n_candidates, 0.5))


def _offsets_by_parity(patch: pytest.MonkeyPatch, extra: Any) -> None:
    select = Curator.select

    def shifted(self: Any, workload: Workload, answers: Any, charge: float, *, offsets: Any = None, **rest: Any) -> int:
        is_odd = self._Curator__source.total() % 2
        given = np.zeros(workload.n_candidates) if offsets is None else offsets
        return select(self, workload, answers, charge, offsets=given + is_odd * extra(workload), **rest)

    patch.setattr(Curator, "select", shifted)


def error_at_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    """The estimate of the error drawn at half of what the ledger says, behind everything that checks it."""
    error = Curator.workload_error

    def halved(self: Any, *arguments: Any, **rest: Any) -> Any:
        source = self._Curator__noise._PaidNoise__source
        with drawing(
            self,
            laplace=lambda values, scale: source.laplace(values, scale / 2.0),
            gaussian=lambda values, sigma: source.gaussian(values, sigma / 2.0),
        ):
            return error(self, *arguments, **rest)

    patch.setattr(Curator, "workload_error", halved)


def draws_with_the_smallest_sensitivity(patch: pytest.MonkeyPatch) -> None:
    of = EqualWidths.of

    def smallest(workload: Workload, neighbours: Neighbours) -> EqualWidths:
        made = of(workload, neighbours)
        return EqualWidths(made.multipliers, np.full_like(made.sensitivities, made.sensitivities.min()))

    patch.setattr(EqualWidths, "of", smallest)


def selections_with_the_smallest_sensitivity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EqualUnits, "largest", lambda self, candidates: float(self.sensitivities[candidates].min()))


def selections_with_the_first_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """As if all were common."""
    patch.setattr(EqualUnits, "largest", lambda self, candidates: float(self.sensitivities[0]))


def sensitivities_to_the_nearest_step(patch: pytest.MonkeyPatch) -> None:
    """1.4 steps of the grid taken as 1."""
    nearest = lambda l1: np.asarray(np.maximum(np.rint(np.asarray(l1) / GRID), 1.0) * GRID)  # noqa: E731
    for module in (scores_module, watch_module):
        patch.setattr(module, "grid_sensitivity", nearest)


def multipliers_to_the_nearest(patch: pytest.MonkeyPatch) -> None:
    """Products of 53 bits rounded again: harmless for one score, but its sensitivity is another number."""
    of = EqualUnits.of

    def rounded(workload: Workload, neighbours: Neighbours, *, weighted: bool = True) -> EqualUnits:
        made = of(workload, neighbours, weighted=weighted)
        return EqualUnits(made.multipliers * (1.0 + 2.0**-9), made.sensitivities)

    patch.setattr(EqualUnits, "of", rounded)


MUTANTS = (
    Mutant("an offset by the parity of n", offsets_by_the_parity_of_n,
           lambda: selections_with_unequal_offsets(ADD_REMOVE)),
    Mutant("all offsets by the parity of n", all_offsets_by_the_parity_of_n,
           lambda: selections_with_unequal_offsets(ADD_REMOVE)),
    Mutant("the error estimate at half the scale", error_at_half_the_scale, lambda: error_estimates(ADD_REMOVE)),
    Mutant("the error estimate at half the scale, under replace", error_at_half_the_scale,
           lambda: error_estimates(REPLACE)),
    Mutant("draws charged the smallest sensitivity", draws_with_the_smallest_sensitivity,
           lambda: draws_of_unequal_queries(ADD_REMOVE)),
    Mutant("selections charged the smallest sensitivity", selections_with_the_smallest_sensitivity,
           lambda: selections_with_unequal_offsets(ADD_REMOVE)),
    Mutant("selections charged the first sensitivity", selections_with_the_first_sensitivity,
           lambda: selections_with_unequal_offsets(REPLACE)),
    Mutant("sensitivities of selections rounded to nearest", sensitivities_to_the_nearest_step,
           lambda: selections_with_unequal_offsets(ADD_REMOVE, ODD)),
    Mutant("sensitivities of draws rounded to nearest", sensitivities_to_the_nearest_step,
           lambda: draws_of_unequal_queries(REPLACE, ODD_WIDTHS)),
    Mutant("sensitivities of tests rounded to nearest", sensitivities_to_the_nearest_step, tests_of_odd_steps),
    Mutant("multipliers beyond their sensitivity", multipliers_to_the_nearest,
           lambda: selections_with_unequal_offsets(ADD_REMOVE)),
    Mutant("events of another relation, as a loss", events_of_any_relation, restored_books_cover_what_was_drawn),
)  # fmt: skip
