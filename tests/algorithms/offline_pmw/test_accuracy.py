"""The accuracy theorem of offline PMW on seeded runs: it fails at most as often as it says (theory.md section 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from hedgerow import OfflinePMW
from hedgerow.algorithms import BETA, step_length
from hedgerow.models import Histogram
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import LinearQuery, Neighbours, Workload
from hedgerow.release import Release
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(4)
CELLS = Workload.parse("marginals:2", DOMAIN)
PARITIES = Workload.parities(DOMAIN, 3)
REPLACE = Neighbours.REPLACE
CASES: dict[str, tuple[OfflinePMW, Workload, Budget]] = {
    "pure": (OfflinePMW(alpha=0.1, step="sharp"), CELLS, PureDP(1.0, REPLACE)),
    "pure, add-remove": (OfflinePMW(alpha=0.1, step="sharp"), CELLS, PureDP(1.0)),
    "zcdp": (OfflinePMW(alpha=0.05), CELLS, ZCDP(0.1, REPLACE)),
    "parities": (OfflinePMW(alpha=0.05, step="sharp"), PARITIES, ZCDP(0.1)),
    "advanced": (OfflinePMW(alpha=0.1, calibration="advanced"), PARITIES, ApproxDP(1.0, 1e-6)),
}


@dataclass
class Tally:
    """How many runs failed, and how."""

    runs: int = 0
    wrong: int = 0
    stray: int = 0
    updates: int = 0


def skewed(records: int, seed: int) -> DenseCounts:
    generator = np.random.default_rng(seed)
    return DenseCounts(DOMAIN, generator.multinomial(records, generator.dirichlet(np.full(16, 0.15))))


def tally(name: str, runs: int, records: float = 1.0) -> Tally:
    """Runs on random tables of the required number of records, or of another multiple of it."""
    config, workload, budget = CASES[name]
    needed = config.plan(workload, budget, 1000).facts["records_required"]
    found = Tally(runs)
    for seed in range(runs):
        n = math.ceil(needed * records * (1.01 if budget.neighbours is REPLACE else 1.05))
        source = skewed(n, seed)
        release = config.run(source, workload, budget, noise=SeededNoise(seed))
        parameters = release.provenance.parameters
        exact, answers = (release.workload.answers(each) for each in (source, release.model))
        widths = release.workload.sensitivities(REPLACE)
        if records == 1.0:
            assert parameters["chosen"]["promised"]
        promise = 4.0 if parameters["stopped"] else 1.0
        worst = np.abs(exact / n - answers / release.total) / widths
        found.wrong += worst.max() > promise * config.alpha
        found.stray += strays(release, source, n)
        found.updates += parameters["updates"]
    return found


def strays(release: Release, source: DenseCounts, n: int) -> bool:
    """Whether some update of the run was in the wrong direction, or for an error of at most alpha."""
    parameters, total = release.provenance.parameters, release.total
    alpha = parameters["chosen"]["alpha"]
    model = Histogram(DOMAIN, total)
    for measured in release.measurements[: parameters["updates"]]:
        query = measured.target
        assert isinstance(query, LinearQuery)
        width = query.bounds[1] - query.bounds[0]
        answer = query.on(model)[0] / total
        residual = measured.values[0] / total - answer
        error = query.of_table(source.marginals([query.scope])[0])[0] / n - answer
        if error * np.sign(residual) <= alpha * width:
            return True
        model.update(query, math.copysign(step_length(alpha, parameters["step"]), residual) / width)
    return False


def allowed(runs: int) -> int:
    """As many failures as a failure rate of beta passes with probability 1e-6 only."""
    return int(binom.isf(1e-6, runs, BETA))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("name", CASES)
def test_the_theorem_holds(name: str) -> None:
    found = tally(name, 20)
    assert max(found.wrong, found.stray) <= allowed(20)
    assert found.updates >= 20


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_the_theorem_holds_at_length(name: str) -> None:
    found = tally(name, 200)
    assert max(found.wrong, found.stray) <= allowed(200)
    assert found.updates >= 200


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("name", CASES)
def test_with_far_fewer_records_it_fails_often(name: str) -> None:
    # So the counts above can fail: a thirtieth of the records is not enough.
    found = tally(name, 20, records=1 / 30)
    assert found.wrong > allowed(20)
