"""MWEM with public data as a prior: whole runs, their privacy and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM, Prior
from hedgerow.algorithms import AnchoredLearner, MWEMRun, entry
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Markov, Sweeps
from hedgerow.privacy import ApproxDP, Curator, PureDP, SeededNoise
from hedgerow.queries import Neighbours, PublicData, Workload
from hedgerow.release import Release
from tests.algorithms.shared.priors import prior_of
from tests.algorithms.shared.whole_runs import exactly, losses, losses_stay_below_the_charge, without_histograms
from tests.privacy.mutants import Mutant, killed
from tests.privacy.tables import DenseCounts, binary

DOMAIN = Domain(IntegerRange(f"x{place}", 0, 3) for place in range(6))
PAIRS = Workload.marginals(DOMAIN, 2)
SMALL = binary(2)
PUBLIC = Prior.of(Histogram(SMALL, 400.0, base=np.array([[6.0, 1.0], [1.0, 2.0]])))
CELLS = Workload.marginals(SMALL, 2, whole=False)
WHOLE = Workload.marginals(SMALL, 1) + Workload.marginals(SMALL, 2)
RUNS = {
    "cells": (MWEM(rounds=2, prior=PUBLIC), CELLS),
    "tables": (MWEM(rounds=2, prior=PUBLIC), WHOLE),
    "adaptive": (MWEM(rounds="adaptive", prior=PUBLIC), WHOLE),
    "annealed": (MWEM(rounds="annealed", prior=PUBLIC), WHOLE),
}


def sample(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    columns = [rng.choice(4, n, p=[0.5, 0.25, 0.15, 0.1])]
    for _ in range(5):
        columns.append(np.where(rng.random(n) < 0.7, columns[-1], rng.integers(4, size=n)))
    return Table(DOMAIN, columns)


def error(release: Release, table: Table) -> float:
    scopes = list(PAIRS.scopes)
    pairs = zip(release.model.marginals(scopes), table.marginals(scopes), strict=True)
    return float(np.mean([np.abs(a.reshape(-1) / release.total - b.reshape(-1) / 5_000.0).sum() / 2 for a, b in pairs]))


def mean_error(prior: Prior | None, epsilon: float) -> float:
    found = []
    for seed in range(4):
        table = sample(5_000, 100 + seed)
        run = MWEM(prior=prior).run(table, PAIRS, ApproxDP(epsilon, 1e-9), noise=SeededNoise(seed))
        found.append(error(run, table))
    return float(np.mean(found))


def test_a_good_prior_saves_more_than_a_quarter_of_the_error() -> None:
    assert mean_error(prior_of(sample(5_000, 0)), 0.1) < 0.75 * mean_error(None, 0.1)


def test_noise_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    noise = prior_of(Table(DOMAIN, [rng.integers(4, size=5_000) for _ in range(6)]))
    assert mean_error(noise, 0.1) <= 1.02 * mean_error(None, 0.1)


@pytest.mark.slow
def test_a_wrong_prior_costs_little() -> None:
    # Mirrored codes: as certain as the good prior. Seeded; without the comparison of the two it costs a multiple.
    mirrored = prior_of(Table(DOMAIN, [3 - column.astype(np.int64) for column in sample(5_000, 0).columns]))
    assert mean_error(mirrored, 1.0) < 1.05 * mean_error(None, 1.0)


def test_the_ledger_is_that_of_a_run_without() -> None:
    table, budget = sample(5_000, 1), ApproxDP(1.0, 1e-9)
    runs = [
        MWEM(rounds=7, prior=prior).run(table, PAIRS, budget, noise=SeededNoise(0))
        for prior in (None, prior_of(sample(5_000, 0)))
    ]
    first, second = ([(each.label, each.charge, each.scale) for each in run.events] for run in runs)
    assert first == second


def test_the_release_says_so_and_can_be_read_again(tmp_path: Any) -> None:
    prior = prior_of(sample(5_000, 0))
    made = MWEM(prior=prior).run(sample(5_000, 1), PAIRS, PureDP(1.0), noise=SeededNoise(0))
    made.save(tmp_path / "r.release")
    again = Release.load(tmp_path / "r.release")
    expected = {"kind": "Prior", "columns": list(DOMAIN.names), "records": 5_000.0}
    assert again.provenance.parameters["prior"] == expected
    scopes = list(PAIRS.scopes)
    for one, other in zip(made.model.marginals(scopes), again.model.marginals(scopes), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_what_starts_from_a_release_that_is_not_private_is_stamped(tmp_path: Any) -> None:
    seeded = MWEM().run(sample(500, 0), PAIRS, PureDP(1.0), noise=SeededNoise(0))
    seeded.save(tmp_path / "s.release")
    for source in (seeded, Release.load(tmp_path / "s.release")):
        made = MWEM(prior=Prior.of(source)).run(sample(500, 1), PAIRS, PureDP(1.0))
        assert made.provenance.stamp.startswith("NOT PRIVATE")
        assert made.provenance.noise != seeded.provenance.noise
    public = MWEM(prior=prior_of(sample(500, 2))).run(sample(500, 1), PAIRS, PureDP(1.0))
    assert public.provenance.secure


def test_trees_stay_within_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    # Levels, and as much budget as it takes to measure many tables beside those of the prior.
    without_histograms(monkeypatch)
    domain = Domain(IntegerRange(f"x{place}", 0, 31) for place in range(6))
    rng = np.random.default_rng(0)
    columns = [rng.integers(32, size=20_000)]
    for _ in range(5):
        columns.append(np.where(rng.random(20_000) < 0.7, columns[-1], rng.integers(32, size=20_000)))
    workload = Workload.marginals(domain, 2)
    config = MWEM(rounds="annealed", prior=prior_of(Table(domain, columns)), largest_tree=200_000)
    made = config.run(Table(domain, columns), workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(0))
    assert isinstance(made.model, Markov)
    assert any(len(scope) == 2 for scope in made.model.start)
    assert made.model.cells <= 200_000


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
@pytest.mark.parametrize("name", RUNS)
def test_no_transcript_loses_more_than_epsilon(name: str, relation: Neighbours) -> None:
    config, workload = RUNS[name]
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), range(2)))
        assert worst <= epsilon + 1e-9


@pytest.mark.slow
def test_the_same_transcript_gives_the_same_release_on_every_neighbour() -> None:
    _stays()()


def _stays() -> Callable[[], None]:
    config, workload = RUNS["tables"]
    source, relation = DenseCounts(SMALL, (3, 1, 1, 2)), Neighbours.ADD_REMOVE

    def run(table: Any, noise: Any) -> Release:
        return replace(config, error_share=0.0).run(table, workload, PureDP(2.0, relation), noise=noise)

    return lambda: losses_stay_below_the_charge(run, source, relation, 8)


def trusted_by_the_true_error(patch: pytest.MonkeyPatch) -> None:
    """Decide by exact errors which of the two hypotheses is released."""
    finish = MWEMRun.finish

    def deciding(self: Any) -> Release:
        if isinstance(self.learner, AnchoredLearner):
            both = (self.learner._public.model, self.learner._flat.model)
            public, flat = (float(np.abs(self.workload.answers(each) - exactly(self)).sum()) for each in both)
            self.learner._wide.value = flat - public
        return finish(self)

    patch.setattr(MWEMRun, "finish", deciding)


def worth_by_the_true_error(patch: pytest.MonkeyPatch) -> None:
    """Fit as far as the exact errors of the public tables ask for."""
    fit = MWEMRun.finish

    def weighing(self: Any) -> Release:
        if isinstance(self.learner, AnchoredLearner):
            wrong = float(np.abs(self.workload.answers(self.learner._public.model) - exactly(self)).sum())
            for worth in self.learner._worth.values():
                worth._excess, worth._chance = 1e-3 * worth._spread * wrong / self.total, 0.0
        return fit(self)

    patch.setattr(MWEMRun, "finish", weighing)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("planted", [trusted_by_the_true_error, worth_by_the_true_error])
def test_a_mutant_is_killed(planted: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    killed(Mutant(planted.__name__, planted, _stays()), monkeypatch)


def test_the_private_table_is_no_prior() -> None:
    table, noise = sample(100, 0), SeededNoise(0)
    with pytest.raises(ConfigError, match="the prior is the private table"):
        MWEM(prior=prior_of(table)).run(table, PAIRS, PureDP(1.0), noise=noise)
    assert MWEM(prior=prior_of(sample(100, 0))).run(table, PAIRS, PureDP(1.0), noise=noise).total > 0.0


def test_nothing_is_spent_before_the_prior_is_read() -> None:
    class Broken:
        domain, cheap_cells = DOMAIN, 1

        def conjunctions(self, queries: Any) -> Any:
            raise MemoryError

        def marginals(self, scopes: Any) -> Any:
            raise MemoryError

    table = sample(100, 0)
    curator = Curator(table, PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(MemoryError):
        MWEM(prior=Prior(PublicData(Broken(), 100.0), 100.0)).run_with(curator, PAIRS)
    assert curator.ledger.spent == 0.0


def test_a_release_with_a_prior_cannot_be_rebuilt_and_says_why() -> None:
    with pytest.raises(ConfigError, match="a release does not tell: prior"):
        entry("mwem").restore(MWEM(prior=PUBLIC).parameters())


def test_what_cannot_have_a_prior_is_refused() -> None:
    for settings in ({"refit": None}, {"refit": Sweeps(3)}, {"initial": "histogram"}, {"output": "average"}):
        with pytest.raises(ConfigError, match="anchored in proximal fits"):
            MWEM(prior=PUBLIC, **settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no prior"):
        MWEM(prior="public.csv")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no column"):
        MWEM(prior=PUBLIC).run(sample(100, 0), PAIRS, PureDP(1.0), noise=SeededNoise(0))
    large = Domain((IntegerRange("a", 0, 1), IntegerRange("ip", 0, 2**32 - 1)))
    with pytest.raises(ConfigError, match="classes of very many"):
        MWEM(prior=PUBLIC).check(Workload.conjunctions(large, ["ip < 1000 and a = 1"]), PureDP(1.0).regime)
