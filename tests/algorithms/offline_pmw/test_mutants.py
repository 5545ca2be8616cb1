"""Bugs planted in offline PMW, and the checks on whole runs that must notice them (theory.md section 9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import hedgerow.algorithms.offline_pmw.offline_pmw as pmw_module
import hedgerow.algorithms.offline_pmw.parameters as parameters_module
import hedgerow.algorithms.offline_pmw.promise as promise_module
from hedgerow import OfflinePMW
from hedgerow.algorithms import RoundCharge
from hedgerow.privacy import ZCDP, Budget, Curator, MeasuredQuery, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Measurement, Neighbours, NoiseKind, Workload
from hedgerow.release import Release
from tests.algorithms.offline_pmw.runs import replayed
from tests.algorithms.shared.whole_runs import exactly, losses_stay_below_the_charge
from tests.privacy.mutants import (
    Mutant,
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
CELLS = Workload.parse("marginals:2", DOMAIN)
PARITIES = Workload.parities(DOMAIN, 2)
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
QUIET = OfflinePMW(alpha=0.25, step="sharp", error_share=0.0)
GENEROUS = PureDP(20.0, REPLACE)


@dataclass(frozen=True)
class Case:
    """What a check runs offline PMW on."""

    config: OfflinePMW = QUIET
    workload: Workload = CELLS
    budget: Budget = GENEROUS
    histogram: tuple[int, ...] = (4, 2, 0, 1)
    seeds: int = 10

    def run(self, source: DenseCounts, noise: NoiseSource) -> Release:
        return self.config.run(source, self.workload, self.budget, noise=noise)


def every_draw_is_charged(case: Case) -> None:
    """As many charged events as draws, also when a run stops early: the last round is paid for too."""
    source, stopped = DenseCounts(DOMAIN, case.histogram), 0
    for seed in range(case.seeds):
        transcript = record(case.run, source, seed)
        release = case.run(source, ReplayNoise(transcript))
        assert len(transcript) == sum(event.charge > 0 for event in release.events)
        stopped += bool(release.provenance.parameters["stopped"])
    assert stopped > 0


def rounds_cost_their_closed_form(case: Case) -> None:
    """2 eps0 a round, or M(eps0) + eps0 tanh(eps0 / 2), M the least rho of a bounded range."""
    release = case.run(DenseCounts(DOMAIN, case.histogram), SeededNoise(0))
    epsilon, rounds = release.provenance.parameters["chosen"]["epsilon0"], len(release.measurements)
    each = 2 * epsilon
    if isinstance(case.budget, ZCDP):
        y = epsilon / 2
        each = y / np.tanh(y) - 1 + np.log(np.sinh(y) / y) + epsilon * np.tanh(epsilon / 2)
    assert abs(release.spent - rounds * each) <= 1e-9 * release.spent


def runs_equal_the_reference(case: Case) -> None:
    """The lecture's algorithm in plain Python, over the same transcripts."""
    for seed in range(case.seeds):
        replayed(case.config, case.workload, case.budget, list(case.histogram), seed)


def nothing_is_read_after_the_last_round(case: Case) -> None:
    """The count of reads at the last round is that at the end."""
    source, reads = DenseCounts(DOMAIN, case.histogram), []
    case.config.run(
        source, case.workload, case.budget, noise=SeededNoise(0), progress=lambda report: reads.append(source.reads)
    )
    assert source.reads == reads[-1]


# ---- the bugs --------------------------------------------------------------------------------------------------------


def answers_with_the_noise_of_one_round(patch: pytest.MonkeyPatch) -> None:
    """y_t with Lap(1 / eps n) as the source prints it, at the charge of Lap(1 / eps0 n)."""
    measure = Curator.measure

    def loud(self: Any, target: Any, charge: float, **rest: Any) -> Measurement:
        event = self._event("measure", MeasuredQuery.of(target), self.noise_for(target, charge))
        self._Curator__ledger.charge(event)
        with unpaid(self):
            return measure(self, target, self.budget.limit, **rest)

    patch.setattr(Curator, "measure", loud)


def stop_by_the_exact_answer(patch: pytest.MonkeyPatch) -> None:
    """Compare the exact answer with the hypothesis, not y_t."""
    look = pmw_module._Run._look

    def looking(self: Any) -> Any:
        answers = self.workload.answers(self.model)
        query, residual = look(self)
        (index,) = (i for i in range(self.workload.n_candidates) if self.workload.candidate(i) == query)
        near = abs(exactly(self)[index] - answers[index]) <= 2 * self.setting.alpha * self.model.total
        return query, 0.0 if near else np.copysign(9.0, residual)

    patch.setattr(pmw_module._Run, "_look", looking)


def sign_of_the_exact_residual(patch: pytest.MonkeyPatch) -> None:
    """Step in the right direction whatever the noise says."""
    look = pmw_module._Run._look

    def looking(self: Any) -> Any:
        answers = self.workload.answers(self.model)
        query, residual = look(self)
        (index,) = (i for i in range(self.workload.n_candidates) if self.workload.candidate(i) == query)
        return query, np.copysign(residual, exactly(self)[index] - answers[index])

    patch.setattr(pmw_module._Run, "_look", looking)


def last_round_free(patch: pytest.MonkeyPatch) -> None:
    """Take the charges of the round that stopped back."""
    rounds = pmw_module._Run.rounds

    def refunding(self: Any) -> int:
        updates = rounds(self)
        if updates < self.setting.rounds:
            del self.curator._Curator__ledger._events[-2:]
        return updates

    patch.setattr(pmw_module._Run, "rounds", refunding)


def update_after_the_stop(patch: pytest.MonkeyPatch) -> None:
    """Use the answer of the last round too."""
    look, rounds = pmw_module._Run._look, pmw_module._Run.rounds

    def looking(self: Any) -> Any:
        self.last = look(self)
        return self.last

    def updating(self: Any) -> int:
        updates = rounds(self)
        if updates < self.setting.rounds:
            query, residual = self.last
            self.model.update(query, np.copysign(self.eta, residual))
        return updates

    patch.setattr(pmw_module._Run, "_look", looking)
    patch.setattr(pmw_module._Run, "rounds", updating)


def look_after_the_stop(patch: pytest.MonkeyPatch) -> None:
    """Read the table once more at the end."""
    rounds = pmw_module._Run.rounds

    def looking(self: Any) -> int:
        updates = rounds(self)
        self.curator._exact_answers(Workload(self.workload.families))
        return updates

    patch.setattr(pmw_module._Run, "rounds", looking)


def seeing(patch: pytest.MonkeyPatch, see: Callable[[float], float]) -> None:
    """Residuals seen through a function."""
    look = pmw_module._Run._look

    def looking(self: Any) -> Any:
        query, residual = look(self)
        return query, see(residual)

    patch.setattr(pmw_module._Run, "_look", looking)


def go_on_after_the_stop(patch: pytest.MonkeyPatch) -> None:
    """Never stop before L rounds."""
    seeing(patch, lambda residual: float(np.copysign(9.0, residual)))


def stop_within_alpha(patch: pytest.MonkeyPatch) -> None:
    """Stop within alpha, not 2 alpha."""
    seeing(patch, lambda residual: 2.0 * residual)


def step_of_the_unscaled_query(patch: pytest.MonkeyPatch) -> None:
    """Forget that a step on a query with values in [-1, 1] is half as long."""
    patch.setattr(pmw_module, "_width", lambda query: 1.0)


def twice_the_epsilon(patch: pytest.MonkeyPatch) -> None:
    """Both mechanisms of a round with the whole charge of it, one of them unpaid."""
    measure = Curator.measure

    def free(self: Any, *args: Any, **rest: Any) -> Measurement:
        with unpaid(self):
            return measure(self, *args, **rest)

    patch.setattr(Curator, "measure", free)


def bounded_range_charge_for_answers(patch: pytest.MonkeyPatch) -> None:
    """eps0^2 / 8 for the Laplace answer too, so that eps0 may be larger."""
    charge = parameters_module.round_charge

    def halved(*args: Any) -> RoundCharge:
        found = charge(*args)
        return RoundCharge(found.selection, found.selection)

    for module in (parameters_module, promise_module):
        patch.setattr(module, "round_charge", halved)


def gaussian_answers(patch: pytest.MonkeyPatch) -> None:
    """The curator's default noise in zCDP budgets, whose tail the theorem does not speak of."""
    measure = Curator.measure

    def other(self: Any, target: Any, charge: float, *, kind: NoiseKind | None = None, **rest: Any) -> Measurement:
        return measure(self, target, charge, **rest)

    patch.setattr(Curator, "measure", other)


def halves_of_the_round(patch: pytest.MonkeyPatch) -> None:
    """Split what a round costs evenly between selection and answer."""
    charge = promise_module.round_charge
    patch.setattr(
        promise_module,
        "round_charge",
        lambda regime, epsilon: RoundCharge.split(sum(vars(charge(regime, epsilon)).values()), 0.5),
    )


def losing(case: Case) -> Callable[[], None]:
    return lambda: losses_stay_below_the_charge(
        case.run, DenseCounts(DOMAIN, case.histogram), case.budget.neighbours, case.seeds
    )


def equal(case: Case) -> Callable[[], None]:
    return lambda: runs_equal_the_reference(case)


def charged(case: Case) -> Callable[[], None]:
    return lambda: every_draw_is_charged(case)


REPLACING = Case()
ADDING = Case(budget=PureDP(20.0))
TIGHT = Case(replace(QUIET, alpha=0.3), Workload.conjunctions(DOMAIN, ["a = 0"]), PureDP(2.0, REPLACE))
CONCENTRATED = Case(budget=ZCDP(8.0, REPLACE))
MUTANTS = (
    Mutant("noise of one round for every answer", answers_with_the_noise_of_one_round, losing(REPLACING)),
    Mutant("stop by the exact answer", stop_by_the_exact_answer, losing(replace(REPLACING, histogram=(6, 1, 0, 1)))),
    Mutant("sign of the exact residual", sign_of_the_exact_residual, losing(replace(TIGHT, histogram=(3, 1, 2, 2)))),
    Mutant("last round free", last_round_free, charged(REPLACING)),
    Mutant("update after the stop", update_after_the_stop, equal(REPLACING)),
    Mutant("look after the stop", look_after_the_stop, lambda: nothing_is_read_after_the_last_round(REPLACING)),
    Mutant("never stop", go_on_after_the_stop, equal(REPLACING)),
    Mutant("stop within alpha", stop_within_alpha, equal(REPLACING)),
    Mutant("step of the unscaled query", step_of_the_unscaled_query, equal(replace(REPLACING, workload=PARITIES))),
    Mutant("answers that nobody pays", twice_the_epsilon, charged(REPLACING)),
    Mutant("bounded range charged for answers", bounded_range_charge_for_answers,
           lambda: rounds_cost_their_closed_form(CONCENTRATED)),
    Mutant("halves of the round", halves_of_the_round, equal(CONCENTRATED)),
    Mutant("Gaussian answers", gaussian_answers, equal(CONCENTRATED)),
    Mutant("exponential mechanism without the 1/2", exponent_without_the_half, equal(REPLACING)),
    Mutant("Laplace scale T / epsilon", laplace_scale_off_by_two, equal(REPLACING)),
    Mutant("Delta 1 for parities under replace", delta_1_for_parities_under_replace,
           losing(replace(REPLACING, workload=PARITIES))),
    Mutant("hypothesis with the exact mass under add-remove", exact_total_under_add_remove, losing(ADDING)),
)  # fmt: skip


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
