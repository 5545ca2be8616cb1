"""Pairs of columns: what is known, how closely they go together, and what a survey would have to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow import MWEM, PureDP, SeededNoise, Table, Workload
from hedgerow.arrays import Floats
from hedgerow.domain import Binned, Domain, IntegerRange, impossible, width_level
from hedgerow.models import Histogram
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind
from hedgerow.release import Knowledge, Release, associations, pair_knowledge, survey_size
from hedgerow.release.pairs import _deviations, correlation, dependence
from tests.release.made import make_release

TABLES = st.lists(st.integers(0, 40), min_size=12, max_size=12).map(lambda cells: np.reshape(cells, (3, 4)) + 0.5)
X, Y = np.array([0.0, 1.0, 5.0]), np.array([-1.0, 0.0, 2.0, 2.5])


@given(TABLES)
def test_measures_are_those_of_the_records(table: Floats) -> None:
    x, y = np.repeat(X, 4), np.tile(Y, 3)
    weights = table.reshape(-1)
    moments = np.cov(np.stack([x, y]), aweights=weights, ddof=0)
    reference = moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1])
    assert correlation(table, X, Y)[0] == pytest.approx(reference, abs=1e-12)
    total = weights.sum()
    apart = [
        abs(table[i, j] / total - table[i].sum() / total * table[:, j].sum() / total)
        for i in range(3)
        for j in range(4)
    ]
    assert dependence(table)[0] == pytest.approx(sum(apart) / 2.0, abs=1e-12)


@given(TABLES, st.sampled_from([dependence, lambda table: correlation(table, X, Y)]))
def test_gradients_are_slopes(table: Floats, measure: Callable[[Floats], tuple[float, Floats]]) -> None:
    gradient = measure(table)[1]
    product = np.multiply.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if measure is dependence and np.abs(table - product).min() < 1e-3:
        return  # a corner
    for place in np.ndindex(table.shape):
        step = np.zeros_like(table)
        step[place] = 1e-5
        slope = (measure(table + step)[0] - measure(table - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


def test_a_constant_column_has_no_correlation_and_no_dependence() -> None:
    assert np.isnan(correlation(np.array([[3.0, 2.0]]), np.array([1.0]), np.array([0.0, 1.0]))[0])
    assert dependence(np.array([[3.0, 0.0, 2.0]]))[0] == pytest.approx(0.0)


def looked_at(domain: Domain, *targets: Marginal | Conjunction) -> Release:
    measurements = tuple(Measurement(each, np.ones(each.size), NoiseKind.LAPLACE, 2.0) for each in targets)
    made = make_release(PureDP(1.0), 0)
    return replace(made, workload=Workload.marginals(domain, 1), measurements=measurements)


def test_knowledge_follows_from_measurements_and_rules() -> None:
    ages = IntegerRange("e", 0, 99)
    base = Domain((*(IntegerRange(name, 0, 2) for name in "abcd"), ages, IntegerRange("f", 0, 1)))
    domain = Domain(base.attributes, (width_level(ages, 10),), (impossible(base, "d = 0 and f = 1"),))
    level = domain.derived[0].name
    single = Conjunction.where(domain, {"c": [0], "d": [1]})
    release = looked_at(domain, Marginal(domain, ("a", "b")), Marginal(domain, ("a", level)), single)
    known = {"".join(pair): kind for pair, kind in pair_knowledge(release).items()}
    assert len(known) == 15
    assert {pair for pair, kind in known.items() if kind is Knowledge.MEASURED} == {"ab"}
    assert {pair for pair, kind in known.items() if kind is Knowledge.PART} == {"ae", "cd"}
    assert {pair for pair, kind in known.items() if kind is Knowledge.IMPLIED} == {"be", "cf", "df"}


def test_the_strongest_association_comes_first_and_is_covered() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 4000)
    codes = [x, np.clip(x + rng.integers(-1, 2, 4000), 0, 4), rng.integers(0, 5, 4000)]
    domain = Domain(IntegerRange(name, 0, 4) for name in "abc")
    related, hits = float(np.corrcoef(codes[0], codes[1])[0, 1]), 0
    counts = np.zeros((5, 5))
    np.add.at(counts, (codes[0], codes[1]), 1.0)
    apart = dependence(counts)[0]
    for seed in range(20):
        workload = Workload.marginals(domain, 2)
        release = MWEM(rounds=3).run(Table(domain, codes), workload, PureDP(1.0), noise=SeededNoise(seed))
        first = associations(release)[0]
        assert first.pair == ("a", "b")
        for found, truth in ((first.correlation, related), (first.dependence, apart)):
            assert found is not None
            assert found.low is not None
            assert found.high is not None
            assert found.high - found.low < 0.2
            hits += found.low <= truth <= found.high
    assert hits >= 35


def test_a_correlation_with_a_column_in_bins_has_no_interval() -> None:
    domain = Domain((IntegerRange("a", 0, 1), Binned("b", (0, 10, 1000)), Binned("c", (0, 1, 2), whole=True)))
    codes = [np.arange(900) % 2] * 2 + [np.arange(900) % 3 // 2]
    release = MWEM(rounds=3).run(Table(domain, codes), Workload.marginals(domain, 2), PureDP(9.0), noise=SeededNoise(0))
    found = {each.pair: each.correlation for each in associations(release)}
    assert {pair: each and each.low is None for pair, each in found.items()} == {
        ("a", "b"): True,
        ("a", "c"): True,
        ("b", "c"): True,
    }


@pytest.mark.parametrize("size", [2, 16, 128])
@pytest.mark.parametrize("kind", NoiseKind)
def test_columns_that_are_independent_are_not_told_to_go_together(size: int, kind: NoiseKind) -> None:
    domain = Domain(IntegerRange(name, 0, size - 1) for name in "ab")
    rng, made = np.random.default_rng(size), make_release(PureDP(1.0), 0)
    model = Histogram(domain, 40.0 * size**2)
    for _ in range(5):
        noise = rng.laplace(0.0, 14.0, size**2) if kind is NoiseKind.LAPLACE else rng.normal(0.0, 20.0, size**2)
        scale = 14.0 if kind is NoiseKind.LAPLACE else 20.0
        measured = Measurement(Marginal(domain, ("a", "b")), 40.0 + noise, kind, scale)
        workload = Workload.marginals(domain, 2)
        release = replace(made, model=model, workload=workload, measurements=(measured,), total=model.total)
        found = associations(release, 0.99)[0].dependence
        assert (found.low, found.value) == (0.0, pytest.approx(0.0, abs=1e-9))


def test_public_data_connect_their_columns() -> None:
    domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
    release = looked_at(domain, Marginal(domain, ("a",)))
    parameters = {"prior": {"kind": "Prior", "columns": ["a", "b", "other"], "records": 9.0}}
    started = replace(release, provenance=replace(release.provenance, parameters=parameters))
    found = {"".join(pair): kind for pair, kind in pair_knowledge(started).items()}
    assert found == {"ab": Knowledge.IMPLIED, "ac": Knowledge.UNKNOWN, "bc": Knowledge.UNKNOWN}


def test_samples_of_people_err_as_expected() -> None:
    rng = np.random.default_rng(0)
    people = rng.choice(6, size=1000, p=[0.5, 0.2, 0.2, 0.09, 0.009, 0.001])
    shares = np.bincount(people, minlength=6) / 1000
    for asked in (20, 300, 900):
        errors = [
            np.abs(np.bincount(rng.choice(people, asked, replace=False), minlength=6) / asked - shares).sum()
            for _ in range(4000)
        ]
        assert next(_deviations([shares], asked, 1000.0)) == pytest.approx(np.mean(errors), rel=0.08)


def test_a_more_exact_release_is_worth_more_people() -> None:
    domain = Domain(IntegerRange(name, 0, 4) for name in "ab")
    codes = [np.arange(5000) % 5, np.arange(5000) % 25 // 20 * 4]
    workload, found = Workload.marginals(domain, 2), list[tuple[float, float]]()
    for epsilon in (0.05, 0.5, 50.0):
        release = MWEM(rounds=1).run(Table(domain, codes), workload, PureDP(epsilon), noise=SeededNoise(0))
        size = survey_size(release)
        assert size is not None
        found.append(size)
    assert all(low <= high for low, high in found)
    assert 1.0 <= found[0][0] < found[1][0] < found[2][0] < 5100.0
    single = Workload.parse("ranges:a", domain)
    assert survey_size(MWEM(rounds=1).run(Table(domain, codes), single, PureDP(1.0), noise=SeededNoise(0))) is None
