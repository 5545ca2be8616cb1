"""Bugs planted in automatic rounds: the decision, its steps, the length of the last fit, the tree below the tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hedgerow.algorithms.mwem.run as run_module
from hedgerow import MWEM
from hedgerow.algorithms import MWEMRun
from hedgerow.algorithms.mwem.strategy_choice import Schedule
from hedgerow.domain import Domain, IntegerRange, width_level
from hedgerow.models.fit.stopping import Reached
from hedgerow.models.overlays import estimate
from hedgerow.privacy import NoiseSource, PureDP
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import exactly, losses_stay_below_the_charge, without_histograms
from tests.privacy.mutants import Mutant, killed, unpaid
from tests.privacy.replay import ReplayNoise, record
from tests.privacy.tables import DenseCounts, binary

_AXES = [IntegerRange(name, 0, 3) for name in "ab"]
GRID = Workload.marginals(Domain(_AXES, [width_level(axis, 2) for axis in _AXES]), cliques=[("a", "b")])
PAIRS = Workload.marginals(binary(3), 2)
WIDE = Workload.marginals(binary(4), 2)
CONFIG = MWEM(error_share=0.0)


class Automatic:
    """Runs whose rounds are chosen, on a table of few records."""

    def __init__(self, workload: Workload, histogram: tuple[int, ...], *, seeds: int = 1, **settings: Any) -> None:
        self.workload, self.config, self.seeds = workload, replace(CONFIG, **settings), seeds
        self.source = DenseCounts(workload.domain, [*histogram, *[0] * (workload.domain.size - len(histogram))])

    def run(self, source: DenseCounts, noise: NoiseSource) -> Release:
        return self.config.run(source, self.workload, PureDP(2.0), noise=noise)

    def loses_no_more_than_it_is_charged(self) -> None:
        losses_stay_below_the_charge(self.run, self.source, Neighbours.ADD_REMOVE, self.seeds)

    def pays_for_every_draw(self) -> None:
        """All draws are steps of the schedule or the number of records, and each is in the ledger."""
        transcript = record(self.run, self.source, 1)
        release = self.run(self.source, ReplayNoise(transcript))
        assert len(transcript) == sum(event.charge > 0 for event in release.events)
        assert len(release.measurements) == sum(event.label == "measure" for event in release.events)
        assert math.fsum(event.charge for event in release.events) == pytest.approx(2.0, abs=1e-9)

    def over_a_tree(self) -> None:
        """The same where no tree holds what is measured."""
        with pytest.MonkeyPatch.context() as patch:
            without_histograms(patch)
            self.loses_no_more_than_it_is_charged()


def remembered(patch: pytest.MonkeyPatch) -> list[MWEMRun]:
    """Runs that have begun: what planted bugs reach the exact answers by."""
    start, found = MWEMRun.start, []

    def remembering(self: MWEMRun) -> None:
        found.append(self)
        start(self)

    patch.setattr(MWEMRun, "start", remembering)
    return found


def changed_schedule(patch: pytest.MonkeyPatch, change: Callable[[Any, Schedule], Schedule]) -> None:
    """Another schedule than the one that was decided upon, given the run."""
    runs, schedule_of = remembered(patch), run_module.schedule_of
    patch.setattr(run_module, "schedule_of", lambda *given, **more: change(runs[-1], schedule_of(*given, **more)))


def decision_by_the_exact_number(patch: pytest.MonkeyPatch) -> None:
    """The number of records that was not paid for, in place of the noisy one."""
    runs, schedule_of = remembered(patch), run_module.schedule_of

    def deciding(config: Any, workload: Any, budget: Any, amount: float, *_: Any, **more: Any) -> Schedule:
        curator: Any = runs[-1].curator
        return schedule_of(config, workload, budget, amount, float(curator._Curator__source.total()), **more)

    patch.setattr(run_module, "schedule_of", deciding)


def decision_by_the_true_error(patch: pytest.MonkeyPatch) -> None:
    """Fixed measurements only where the hypothesis is truly far off."""

    def change(run: Any, schedule: Schedule) -> Schedule:
        far = np.abs(run.workload.answers(run.model) - exactly(run)).max() > 1.25
        return schedule if far else Schedule(schedule.decision, [], 2)

    changed_schedule(patch, change)


def order_by_the_exact_answers(patch: pytest.MonkeyPatch) -> None:
    """The table that is truly farthest from the hypothesis is measured first."""

    def change(run: Any, schedule: Schedule) -> Schedule:
        source: Any = run.curator._Curator__source

        def off(step: tuple[Any, float]) -> float:
            target = step[0]
            return float(np.abs(target.of_table(source.marginals([target.scope])[0]) - target.on(run.model)).sum())

        return replace(schedule, steps=sorted(schedule.steps, key=off))

    changed_schedule(patch, change)


def charges_by_the_exact_answers(patch: pytest.MonkeyPatch) -> None:
    """Shares of the charge go to where the records truly are."""

    def change(run: Any, schedule: Schedule) -> Schedule:
        source: Any = run.curator._Curator__source
        weights = [source.marginals([target.scope])[0].max() for target, _ in schedule.steps]
        charge = math.fsum(each for _, each in schedule.steps) / sum(weights) * (1.0 - 1e-12)
        return replace(
            schedule, steps=[(step[0], weight * charge) for step, weight in zip(schedule.steps, weights, strict=True)]
        )

    changed_schedule(patch, change)


def first_step_unpaid(patch: pytest.MonkeyPatch) -> None:
    """The first step of a schedule is measured and not written down."""
    run_steps = MWEMRun._run_steps

    def running(self: Any, steps: Any) -> None:
        with unpaid(self.curator):
            run_steps(self, steps[:1])
        run_steps(self, steps[1:])

    patch.setattr(MWEMRun, "_run_steps", running)


def length_by_the_true_error(patch: pytest.MonkeyPatch) -> None:
    """The last fit goes on while its true error falls."""
    runs = remembered(patch)

    def score(self: Any, _: Any) -> float:
        run: Any = runs[-1]
        return float(np.abs(run.workload.answers(self.model) - exactly(run)).sum())

    patch.setattr(Reached, "score", score)


def uniform_by_the_true_error(patch: pytest.MonkeyPatch) -> None:
    """The hypothesis stays uniform where it is truly near."""
    remembered(patch)

    def stays(self: Any) -> bool:
        return bool(np.abs(self.workload.answers(self.model) - exactly(self)).max() <= 1.25)

    patch.setattr(MWEMRun, "_stays_uniform", stays)


def tree_by_the_exact_tables(patch: pytest.MonkeyPatch) -> None:
    """The tree below the tables holds the pair whose records are truly the most even."""
    runs = remembered(patch)

    def chosen(parts: Any, *_: Any) -> list[tuple[str, ...]]:
        curator: Any = runs[-1].curator
        pairs = [scope for scope in parts.sets if len(scope) == 2]
        return [pairs[int(np.argmin([table.std() for table in curator._Curator__source.marginals(pairs)]))]]

    patch.setattr(estimate, "chosen_scopes", chosen)


FEW = (1, 0, 0, 1)
UNEVEN = (9, 0, 0, 9)
"""So many records that the hypothesis does not stay uniform."""
MUTANTS = (
    Mutant("decision by the exact number of records", decision_by_the_exact_number,
           Automatic(GRID, (9,)).loses_no_more_than_it_is_charged),
    Mutant("decision by the true error", decision_by_the_true_error,
           Automatic(PAIRS, FEW).loses_no_more_than_it_is_charged),
    Mutant("order of the steps by the exact answers", order_by_the_exact_answers,
           Automatic(PAIRS, (4, 2, 0, 1)).loses_no_more_than_it_is_charged),
    Mutant("shares of grids by the exact answers", charges_by_the_exact_answers,
           Automatic(GRID, FEW).loses_no_more_than_it_is_charged),
    Mutant("a step of grids that nobody pays", first_step_unpaid, Automatic(GRID, FEW).pays_for_every_draw),
    Mutant("a step of a fixed strategy that nobody pays", first_step_unpaid,
           Automatic(PAIRS, FEW).pays_for_every_draw),
    Mutant("length of the last fit by the true error", length_by_the_true_error,
           Automatic(PAIRS, (4, 2, 0, 1), seeds=2).loses_no_more_than_it_is_charged),
    Mutant("a hypothesis that stays uniform by the true error", uniform_by_the_true_error,
           Automatic(PAIRS, FEW).loses_no_more_than_it_is_charged),
    Mutant("tree below the tables by the exact ones", tree_by_the_exact_tables,
           Automatic(WIDE, UNEVEN, largest_tree=8).over_a_tree),
)  # fmt: skip


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
