"""Independent noise and Fourier coefficients over domains too large for a histogram: trees in place of cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow import FourierMeasurement, IndependentNoise
from hedgerow.algorithms import Algorithm
from hedgerow.algorithms.independent import noisy_answers as noisy_cells
from hedgerow.algorithms.independent.fourier import noisy_answers as noisy_coefficients
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ModelTooLargeError
from hedgerow.models import Histogram, Markov, Overlay, Sweeps, ValueClasses
from hedgerow.privacy import ZCDP, Curator, PureDP, SeededNoise
from hedgerow.queries import Neighbours, Workload
from tests.algorithms.shared.whole_runs import ModelCounts, losses, without_histograms
from tests.privacy.tables import binary
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 3), IntegerRange("d", 0, 1)))
CHAIN = Workload.marginals(DOMAIN, cliques=["ab", "bc", "cd"])
CONDITIONS = Workload.conjunctions(DOMAIN, ["a = 1 and b = 0", "c < 2 and d = 1", "a in (0, 2)"])
BINARY = binary(4)
BITS = Workload.marginals(BINARY, cliques=["ab", "bc", "cd"])
BITS_OF_THREE = Workload.marginals(binary(3), cliques=["ab", "bc"])
WIDE = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
MANY_BITS = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(40))


def uniform(domain: Domain, records: int = 1024) -> ModelCounts:
    return ModelCounts(Markov(domain, records))


@pytest.mark.many(quick=2)
@pytest.mark.parametrize(
    ("config", "workload", "far"),
    [
        (IndependentNoise(fit=Sweeps(30)), CHAIN, 1e-6),
        (IndependentNoise(fit=Sweeps(30), by="query"), CHAIN, 1e-6),
        (IndependentNoise(fit=Sweeps(30)), CONDITIONS, 1e-6),
        (FourierMeasurement(fit=Sweeps(30)), BITS, 1e-6),
        # proximal fits visit measurements in another order, which shows in the third digit
        (IndependentNoise(), CHAIN, 40.0),
        (FourierMeasurement(), BITS, 40.0),
    ],
    ids=["marginals", "cells", "conditions", "coefficients", "proximal", "proximal coefficients"],
)
def test_a_run_over_trees_gives_what_a_run_over_all_cells_gives(
    config: Algorithm, workload: Workload, far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = DenseTables.random(workload.domain, 2000, seed=1)
    dense = config.run(data, workload, ZCDP(0.5), noise=SeededNoise(3))
    without_histograms(monkeypatch)
    sparse = config.run(data, workload, ZCDP(0.5), noise=SeededNoise(3))
    assert (type(dense.model), type(sparse.model)) == (Histogram, Markov)
    assert np.abs(workload.answers(dense.model) - workload.answers(sparse.model)).max() <= far
    assert [each.values.tolist() for each in dense.measurements] == [
        each.values.tolist() for each in sparse.measurements
    ]


@pytest.mark.parametrize(
    ("config", "noisy", "workload"),
    [
        (IndependentNoise(fit=None), noisy_cells, Workload.marginals(MANY_BITS, 2)),
        (FourierMeasurement(fit=None), noisy_coefficients, Workload.marginals(MANY_BITS, 2)),
    ],
    ids=["cells", "coefficients"],
)
def test_raw_answers_need_no_hypothesis(config: Any, noisy: Any, workload: Workload) -> None:
    release = config.run(uniform(workload.domain), workload, ZCDP(1e6), noise=SeededNoise(0))
    assert release.model.cells == 0
    assert np.abs(noisy(release) - 1024 / 4).max() < 20.0
    assert config.plan(workload, ZCDP(1.0), total=1024).fits


def test_all_single_attributes_of_a_large_domain_are_fitted() -> None:
    workload = Workload.marginals(WIDE, 1)
    release = IndependentNoise().run(uniform(WIDE, 10_000), workload, PureDP(10.0), noise=SeededNoise(0))
    assert np.abs(workload.answers(release.model) - 1000).max() < 60.0
    plan = IndependentNoise().plan(workload, PureDP(10.0), total=10_000)
    assert plan.fits
    assert "junction trees of up to 300 cells; the domain has about 10^30" in dict(plan.lines(10_000.0))["memory"]


def test_parities_alone_are_fitted_where_all_cells_are_held() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(13))
    workload = Workload.parities(domain, cliques=[("x0", "x1"), ("x1", "x2"), ("x5",)])
    release = IndependentNoise().run(uniform(domain), workload, PureDP(10.0), noise=SeededNoise(0))
    assert isinstance(release.model, Histogram)


def test_ranges_of_very_many_values_are_fitted_in_classes() -> None:
    domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
    workload = Workload.conjunctions(domain, ["ip < 2147483648 and hour < 12", "ip >= 1073741824", "hour = 3"])
    release = IndependentNoise().run(uniform(domain, 2**20), workload, PureDP(10.0), noise=SeededNoise(0))
    assert isinstance(release.model, ValueClasses)
    assert np.abs(workload.answers(release.model) - [2**18, 3 * 2**18, 2**20 / 24]).max() < 20.0
    assert IndependentNoise().plan(workload, PureDP(10.0), total=2**20).fits


def test_what_fits_neither_form_is_refused_before_anything_is_spent() -> None:
    workload = Workload.marginals(WIDE, 2, whole=False)
    curator = Curator(uniform(WIDE), PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(ModelTooLargeError, match=r"fewer that overlap.*take MWEM"):
        IndependentNoise().run_with(curator, workload)
    assert curator.ledger.events == ()
    assert not IndependentNoise().plan(workload, PureDP(1.0), total=1024).fits


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    ("config", "workload", "share"),
    [
        (IndependentNoise(), Workload.marginals(MANY_BITS, 2), 0.3),
        (FourierMeasurement(), Workload.marginals(MANY_BITS, 2), 0.95),  # half of it is the number of records
        (IndependentNoise(), Workload.parities(MANY_BITS, 2), 0.2),
        (IndependentNoise(), Workload.marginals(WIDE, 2), 0.3),
    ],
    ids=["pairs", "coefficients", "parities", "pairs of ten codes"],
)
def test_tables_answer_what_no_tree_holds(config: Any, workload: Workload, share: float) -> None:
    data = uniform(workload.domain, 10_000)
    release = config.run(data, workload, ZCDP(0.5), noise=SeededNoise(1))
    assert isinstance(release.model, Overlay)
    raw = config.__class__(fit=None).run(data, workload, ZCDP(0.5), noise=SeededNoise(1))
    assert release.events[0].label == raw.events[0].label == "total"
    assert len(release.measurements) == len(raw.measurements)
    exact = workload.answers(data.model)
    noisy = noisy_coefficients(raw) if isinstance(config, FourierMeasurement) else noisy_cells(raw)
    assert np.abs(workload.answers(release.model) - exact).mean() < share * np.abs(noisy - exact).mean()
    plan = config.plan(workload, ZCDP(0.5), total=10_000)
    assert plan.fits
    assert "consistent tables of" in dict(plan.lines(10_000.0))["memory"]


def test_a_fit_by_sweeps_is_refused_where_tables_would_be_needed() -> None:
    workload = Workload.marginals(MANY_BITS, 2)
    with pytest.raises(ModelTooLargeError):
        IndependentNoise(fit=Sweeps(3)).check(workload, PureDP(1.0).regime)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("algorithm", [IndependentNoise(), FourierMeasurement()], ids=["independent", "fourier"])
def test_no_transcript_over_trees_loses_more_than_epsilon(
    algorithm: Algorithm, relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_histograms(monkeypatch)
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(algorithm, BITS_OF_THREE, PureDP(epsilon, relation), range(1)))
        assert 0.1 * epsilon < worst <= epsilon + 1e-9
