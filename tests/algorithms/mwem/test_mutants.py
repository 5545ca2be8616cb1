"""Privacy bugs planted in MWEM, and the checks on whole runs that must notice them (theory.md section 9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import hedgerow.algorithms.mwem.run as run_module
from hedgerow import MWEM
from hedgerow.algorithms import MWEMRun, RoundCharge
from hedgerow.models import Sweeps
from hedgerow.privacy import Budget, Curator, NoiseSource, PureDP, RecordCount
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import exactly, losses_stay_below_the_charge
from tests.privacy.mutants import (
    Mutant,
    delta_1_for_marginals_under_replace,
    delta_1_for_parities_under_replace,
    exact_total_under_add_remove,
    exponent_without_the_half,
    killed,
    laplace_scale_off_by_two,
    unpaid,
)
from tests.privacy.replay import ReplayNoise, record
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(2)
CELLS = Workload.marginals(DOMAIN, 2, whole=False)
PARITIES = Workload.parities(DOMAIN, 2)
MARGINALS = Workload.marginals(DOMAIN, 1)
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
ONE_ROUND = MWEM(rounds=1, refit=Sweeps(3), error_share=0.0)
TWO_ROUNDS = replace(ONE_ROUND, rounds=2)


@dataclass(frozen=True)
class Case:
    """What a check runs MWEM on."""

    config: MWEM = TWO_ROUNDS
    workload: Workload = CELLS
    relation: Neighbours = ADD_REMOVE
    histogram: tuple[int, ...] = (4, 2, 0, 1)
    seeds: int = 10

    def run(self, source: DenseCounts, noise: NoiseSource) -> Release:
        return self.config.run(source, self.workload, PureDP(2.0, self.relation), noise=noise)


def every_draw_is_charged(case: Case) -> None:
    """As many draws as charged events, and the whole budget in the ledger (closed form of theory.md section 2)."""
    source = DenseCounts(DOMAIN, case.histogram)
    for seed in range(case.seeds):
        transcript = record(case.run, source, seed)
        events = case.run(source, ReplayNoise(transcript)).events
        assert len(transcript) == sum(event.charge > 0 for event in events)
        assert sum(event.charge for event in events) == pytest.approx(2.0, abs=1e-9)


def best_iterate_by_true_error(patch: pytest.MonkeyPatch) -> None:
    """Return the hypothesis with the smallest exact error of all rounds."""
    look, finish = MWEMRun._look, MWEMRun.finish
    seen: dict[int, list[tuple[float, int, Any]]] = {}

    def watching(self: Any, chosen: int, charge: RoundCharge) -> bool:
        progressed = look(self, chosen, charge)
        error = np.abs(self.workload.answers(self.model) - exactly(self)).max()
        seen.setdefault(id(self), []).append((float(error), self.n_measured, self.model.copy()))
        return progressed

    def choosing(self: Any) -> Release:
        return replace(finish(self), model=min(seen.pop(id(self)))[2])

    patch.setattr(MWEMRun, "_look", watching)
    patch.setattr(MWEMRun, "finish", choosing)


def total_not_charged(patch: pytest.MonkeyPatch) -> None:
    """Draw the noisy number of records and forget to pay."""

    def total(self: Any, charge: float) -> float:
        noise = self._noise(1.0, 1.0, charge)
        event = self._event("total", RecordCount(), noise)
        with unpaid(self):
            self._Curator__noise.pay(event)
            return max(1.0, float(self._perturb(np.array([self._Curator__source.total()]), event, 1.0)[0]))

    patch.setattr(Curator, "total", total)


def retry_until_unmeasured(patch: pytest.MonkeyPatch) -> None:
    """Draw among all candidates until an unmeasured one comes up, paying for the last draw only."""
    select = Curator.select

    def retrying(self: Any, *args: Any, eligible: Any, **rest: Any) -> int:
        with unpaid(self) as books:
            while not eligible[chosen := select(self, *args, **rest)]:
                pass
        self._Curator__ledger.charge(books.events[-1])
        return chosen

    patch.setattr(Curator, "select", retrying)


def doubling_by_true_residual(patch: pytest.MonkeyPatch) -> None:
    """Decide whether a round made progress by the exact error."""
    look = MWEMRun._look

    def deciding(self: Any, chosen: int, charge: RoundCharge) -> float:
        error = np.abs(self.workload.answers(self.model) - exactly(self))[self.workload.starts[chosen]]
        look(self, chosen, charge)
        return 2.0 if error > 1.0 else 0.0

    patch.setattr(MWEMRun, "_look", deciding)


def mask_by_true_error(patch: pytest.MonkeyPatch) -> None:
    """Leave candidates out that are exactly answered well."""
    eligible = MWEMRun._eligible

    def masking(self: Any, charge: RoundCharge) -> Any:
        wrong = np.abs(self.workload.answers(self.model) - exactly(self)) > 1.0
        mask = eligible(self, charge) & wrong
        return mask if mask.any() else eligible(self, charge)

    patch.setattr(MWEMRun, "_eligible", masking)


def clip_by_the_true_number(patch: pytest.MonkeyPatch) -> None:
    """Clip noisy answers at the exact number of records, which is private under add-remove."""
    start, clipped = MWEMRun.start, run_module.clipped
    exact: list[int] = []

    def remembering(self: Any) -> None:
        exact.append(self.curator._Curator__source.total())
        start(self)

    patch.setattr(MWEMRun, "start", remembering)
    patch.setattr(run_module, "clipped", lambda values, target, total: clipped(values, target, exact[-1]))


def by_the_true_number(name: str, patch: pytest.MonkeyPatch) -> None:
    """Decide by the exact number of records whether wide tables are noise, or tables of higher orders join."""
    start, decide = MWEMRun.start, getattr(run_module, name)
    exact: list[int] = []

    def remembering(self: Any) -> None:
        exact.append(self.curator._Curator__source.total())
        start(self)

    def deciding(config: MWEM, workload: Workload, budget: Budget, amount: float, total: float) -> Workload:
        found: Workload = decide(config, workload, budget, amount, float(exact[-1]))
        return found

    patch.setattr(MWEMRun, "start", remembering)
    patch.setattr(run_module, name, deciding)


def both_halves_are_the_whole(patch: pytest.MonkeyPatch) -> None:
    """Selection and measurement each with the charge of the round, the first one not in the ledger."""
    select = Curator.select

    def free(self: Any, *args: Any, **rest: Any) -> int:
        with unpaid(self):
            return select(self, *args, **rest)

    patch.setattr(Curator, "select", free)
    patch.setattr(RoundCharge, "split", classmethod(lambda cls, amount, share: cls(amount, amount)))


def losing(case: Case) -> Callable[[], None]:
    return lambda: losses_stay_below_the_charge(
        case.run, DenseCounts(case.workload.domain, case.histogram), case.relation, case.seeds
    )


def charging(case: Case) -> Callable[[], None]:
    return lambda: every_draw_is_charged(case)


ADAPTIVE = replace(TWO_ROUNDS, rounds="adaptive")
FOUR_ROUNDS = replace(TWO_ROUNDS, rounds=4, repeats=True)
STEP = replace(TWO_ROUNDS, refit=None)
ANNEALED = MWEM(rounds="annealed", refit=Sweeps(3), error_share=0.0)
TRIPLE = Workload.marginals(binary(3), 3)
EDGE = (55, 0, 0, 0, 0, 0, 0, 0)
"""With a record less the one wide table is mostly noise in a round."""
HIGHER = MWEM(higher_orders=True, error_share=0.0)
PAIRS = Workload.marginals(binary(3), 2)
JOINING = (115, 0, 0, 0, 0, 0, 0, 0)
"""With a record less the table of three columns does not join."""
MUTANTS = (
    Mutant("exponential mechanism without the 1/2", exponent_without_the_half,
           losing(Case(replace(ONE_ROUND, selection_share=0.9), MARGINALS, histogram=(6, 2, 2, 1), seeds=12))),
    Mutant("Laplace scale T / epsilon", laplace_scale_off_by_two,
           losing(Case(ONE_ROUND, Workload.conjunctions(DOMAIN, ["a = 0"])))),
    Mutant("Delta 1 for parities under replace", delta_1_for_parities_under_replace,
           losing(Case(workload=PARITIES, relation=REPLACE))),
    Mutant("Delta 1 for marginals under replace", delta_1_for_marginals_under_replace,
           losing(Case(workload=MARGINALS, relation=REPLACE))),
    Mutant("hypothesis with the exact mass under add-remove", exact_total_under_add_remove, losing(Case())),
    Mutant("best iterate by true error", best_iterate_by_true_error,
           losing(Case(FOUR_ROUNDS, relation=REPLACE, histogram=(1, 1, 0, 1), seeds=20))),
    Mutant("doubling by the true residual", doubling_by_true_residual, losing(Case(ADAPTIVE))),
    Mutant("mask by true error", mask_by_true_error, losing(Case(relation=REPLACE))),
    Mutant("clip by the true number of records", clip_by_the_true_number, losing(Case(STEP, histogram=(1, 0, 0, 1)))),
    Mutant("wide tables by the true number of records", partial(by_the_true_number, "annealed_candidates"),
           losing(Case(ANNEALED, TRIPLE, histogram=EDGE, seeds=2))),
    Mutant("higher orders by the true number of records", partial(by_the_true_number, "with_higher_orders"),
           losing(Case(HIGHER, PAIRS, histogram=JOINING, seeds=2))),
    Mutant("total not charged", total_not_charged, charging(Case())),
    Mutant("total not charged, as a loss", total_not_charged, losing(Case(replace(TWO_ROUNDS, total_share=0.7)))),
    Mutant("retries that nobody pays", retry_until_unmeasured, charging(Case(seeds=20))),
    Mutant("selection that nobody pays", both_halves_are_the_whole, charging(Case())),
)  # fmt: skip


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
