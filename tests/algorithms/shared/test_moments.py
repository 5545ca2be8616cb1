"""Moments as queries over counts: what they say, their noise, and what a hypothesis makes of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.algorithms.shared.learning as learning_module
import hedgerow.algorithms.shared.moments as moments_module
import hedgerow.models.fit.stopping as stopping_module
import hedgerow.simulation.errors as errors_module
from hedgerow import MWEM, ApproxDP, PureDP, SeededNoise, Table, Workload, synthesize
from hedgerow.algorithms import PositionTargets
from hedgerow.arrays import Floats
from hedgerow.domain import (
    Binned,
    Categorical,
    Domain,
    IntegerRange,
    domain_from_mapping,
    places_in,
    possible_cells,
)
from hedgerow.models import Histogram, Markov, Model, Overlay, Proximal, refit
from hedgerow.privacy import Curator
from hedgerow.queries import Conjunction, Marginal, Measurement, Moment, NoiseKind, answered
from tests.privacy.mutants import Mutant, killed

GAUSSIAN = NoiseKind.GAUSSIAN
LEVELS = Domain([IntegerRange("age", 0, 20)])
GROUP = Categorical("group", ("a", "b", "c"))
PAY = Binned("pay", tuple(range(0, 1001, 50)), whole=True)
DOMAIN = Domain([GROUP, IntegerRange("age", 0, 20), PAY])
WIDE = Domain([Binned("pay", (0, 10, 50, 1000), whole=True)])
SCOPES = [("group", "age"), ("group", "pay")]


def targets(text: str = "moments: age by group, pay by group") -> PositionTargets:
    return PositionTargets.of(DOMAIN, PureDP(1.0), text)


def table_of(seed: int, n: int = 500) -> tuple[Table, Table]:
    """Records in the cells of positions, and the same in the bins."""
    rng = np.random.default_rng(seed)
    counted = targets().counted
    assert counted is not None
    numbers = {
        "group": rng.integers(0, 3, n),
        "age": rng.integers(0, 21, n),
        "pay": 50 * rng.integers(0, 20, n) + rng.integers(0, 10, n),
    }
    fine = Table(counted, [numbers[name] for name in counted.names])
    return fine, Table(DOMAIN, [numbers["group"], numbers["age"], numbers["pay"] // 50])


def measured(fine: Table, std: float, rng: np.random.Generator) -> list[Measurement]:
    """All positions and moments with noise that the test knows."""
    counted = fine.domain
    found = []
    for target in targets():
        exact = target.sums(fine.marginals([target.scope])[0]) / 2.0**20
        found.append(Measurement(target, exact + rng.normal(0.0, std, exact.size), NoiseKind.GAUSSIAN, std))
    assert counted == targets().counted
    return found


def check_exact() -> None:
    """Without noise a query says what the counts say, wherever in their bins numbers lie."""
    fine, table = table_of(0)
    told = moments_module.moments_told(DOMAIN, measured(fine, 0.0, np.random.default_rng(0)), SCOPES)
    exact = answered([each.target for each in told], table)
    for each, value in zip(told, exact, strict=True):
        assert abs(float(value[0] - each.values[0])) <= 1e-3 * table.total(), each.target.text


def check_noise() -> None:
    """Values spread as their standard deviations say."""
    rng, found = np.random.default_rng(2), []
    target = PositionTargets.of(WIDE, PureDP(1.0))
    for _ in range(400):
        noisy = [Measurement(e, rng.normal(0.0, 4.0, e.size), GAUSSIAN, 4.0) for e in (*target.inside, *target.columns)]
        (first,) = moments_module.moments_told(WIDE, noisy, [("pay",)])
        found.append(float(first.values[0]))
    assert abs(float(np.std(found)) / first.std - 1.0) < 0.12


def errors(*, told: bool) -> Floats:
    """Errors of the mean of a column whose upper bins are empty, in deviations of its numbers."""
    rng = np.random.default_rng(5)
    column = Binned("pay", tuple(range(0, 200_001, 5_000)), whole=True)
    domain = Domain([Categorical("group", ("a", "b")), column])
    pay = np.minimum(np.exp(rng.normal(10.0, 0.5, 3000)), 199_999).astype(int)
    table = Table(domain, [rng.integers(0, 2, 3000), pay // 5_000])
    middles = (pay // 5_000) * 5_000 + 2_499.5
    budget, workload = ApproxDP(0.5, 1e-9), Workload.marginals(domain, 2)
    scale, found = 200_000.0, []
    weights = (np.arange(40) * 5_000 + 2_499.5 - 99_999.5) / scale
    for seed in range(6):
        value = float(weights[pay // 5_000].sum()) + float(np.random.default_rng(seed).normal(0.0, 5.0))
        moment = Measurement(Moment.about("pay", domain, ("pay",), weights), np.array([value]), GAUSSIAN, 5.0)
        curator = Curator(table, budget, noise=SeededNoise(seed), moments=[moment] if told else [])
        counts = MWEM().run_with(curator, workload).model.marginals([("pay",)])[0]
        found.append((float(counts @ (np.arange(40) * 5_000 + 2_499.5)) / counts.sum() - middles.mean()) / pay.std())
    return np.array(found)


def check_unbiased() -> None:
    """The mean of a hypothesis is less drawn to bins that are empty: by .08 deviations of the numbers for .24."""
    assert abs(float(errors(told=True).mean())) < 0.15


def test_queries_say_what_the_counts_say() -> None:
    check_exact()


def test_the_noise_of_positions_is_in_them() -> None:
    check_noise()


def test_moments_by_group_are_summed_where_no_table_holds_the_groups() -> None:
    fine, table = table_of(3)
    noisy = measured(fine, 1.0, np.random.default_rng(0))
    apart, summed = (moments_module.moments_told(DOMAIN, noisy, scopes) for scopes in (SCOPES, [("age",), ("pay",)]))
    assert {each.target.scope for each in apart} == {("group", "age"), ("group", "pay"), ("pay",)}
    assert {each.target.scope for each in summed} == {("age",), ("pay",)}
    age = [each for each in apart if "age" in each.target.scope][:3]
    first = next(each for each in summed if each.target.scope == ("age",))
    assert sum(float(each.values[0]) for each in age) == pytest.approx(float(first.values[0]))
    assert first.std == pytest.approx(3**0.5 * age[0].std)
    assert table.total() == 500


def check_wide() -> None:
    """Squares are not told of wide bins: one of nearly the whole column, with all records low in it, was emptied."""
    for edges, told in (((0, 10, 50, 1000), 1), (tuple(range(0, 961, 80)), 1), (tuple(range(0, 1001, 50)), 2)):
        domain = Domain([Binned("pay", edges, whole=True)])
        target = PositionTargets.of(domain, PureDP(1.0))
        noisy = [Measurement(each, np.zeros(each.size), GAUSSIAN, 1.0) for each in (*target.inside, *target.columns)]
        assert len(moments_module.moments_told(domain, noisy, [("pay",)])) == told


def check_few() -> None:
    """Columns of few numbers are told by their tables as they are."""
    for top, told in ((6, 0), (7, 2)):
        domain = Domain([IntegerRange("a", 0, top)])
        table = Measurement(Marginal(domain, ("a",)), np.ones(top + 1), GAUSSIAN, 1.0)
        assert len(of_tables(Histogram(domain, 100.0), table, table)) == told


def check_groups() -> None:
    """Up to 2**20 cells of all groups together are fitted group by group, and summed up beyond."""
    for groups, told in ((200, 400), (250, 2)):
        labels = tuple(str(each) for each in range(groups))
        domain = Domain([Categorical("group", labels), IntegerRange("age", 0, 19)])
        target = PositionTargets.of(domain, PureDP(1.0), "moments: age by group")
        noisy = [Measurement(each, np.zeros(each.size), GAUSSIAN, 1.0) for each in target]
        assert len(moments_module.moments_told(domain, noisy, [("group", "age")])) == told


@pytest.mark.parametrize("check", [check_wide, check_few, check_groups])
def test_limits_are_kept(check: Callable[[], None]) -> None:
    check()


def check_shares() -> None:
    """Moments that tables tell pull as much less than measured ones as their inverse variances are smaller."""
    domain = Domain([IntegerRange("age", 0, 20), IntegerRange("hours", 0, 9)])
    target = PositionTargets.of(domain, PureDP(1.0), "moments: hours by age")
    table = Measurement(Marginal(domain, ("age", "hours")), np.ones(210), GAUSSIAN, 1.0)
    for std in (0.1, 1e3):
        noisy = [Measurement(each, np.zeros(each.size), GAUSSIAN, std) for each in target]
        told = moments_module.moments_told(domain, noisy, [("age", "hours")])
        beside = moments_module.beside_tables(Histogram(domain, 210.0), [table, table], told)[len(told) :]
        alone = of_tables(Histogram(domain, 210.0), table, table)
        assert [each.target.scope for each in beside] == 2 * [("age",)] + 2 * [("hours",)]
        assert [each.std for each in beside[:2]] == [each.std for each in alone[:2]]
        for power, (each, usual) in enumerate(zip(beside[2:], alone[2:], strict=True), 1):
            of_all = sum(one.std**2 for one in told if one.target.power == power) ** 0.5  # type: ignore[union-attr]
            assert each.std == pytest.approx(usual.std * max(1.0, usual.std / of_all))


def test_tables_pull_less_than_moments_that_were_measured() -> None:
    check_shares()


def check_stop() -> None:
    """Where a fit stops depends on the errors of tables alone."""
    domain = Domain([IntegerRange("a", 0, 9)])
    weights = np.arange(10.0) / 9.0 - 0.5
    table = Measurement(Marginal(domain, ("a",)), 20.0 + 20.0 * weights, GAUSSIAN, 8.0)
    moment = Measurement(Moment.about("a", domain, ("a",), weights), np.array([1e5]), GAUSSIAN, 8.0)
    found = []
    for told in ([table], [table, moment]):
        model = Histogram(domain, 200.0)
        found.append(
            stopping_module.stopped(
                model, told, lambda fit, noisy, since, to: refit(fit, noisy[:1], Proximal(c=0.6 * to))
            )
        )
    assert found[0] == found[1]


def test_moments_do_not_say_where_a_fit_stops() -> None:
    check_stop()


def check_long() -> None:
    """Where it pays to fit tables for longer, moments stay behind: the hypothesis ends where tables alone lead it."""
    domain = Domain([IntegerRange("a", 0, 99)])
    counts = np.zeros(100)
    counts[[3, 8, 15]] = 4000.0, 1000.0, 3000.0
    weights, noise = np.arange(100.0) / 99.0 - 0.5, np.random.default_rng(2).normal(0.0, 20.0, 100)
    table = Measurement(Marginal(domain, ("a",)), counts + noise, GAUSSIAN, 20.0)
    moment = Measurement(
        Moment.about("a", domain, ("a",), weights), np.array([weights @ counts + 400.0]), GAUSSIAN, 10.0
    )
    found = []
    for told in ([table], [table, moment]):
        model = Histogram(domain, 8000.0)
        refit(model, told, Proximal(adapted=True))
        found.append(float(np.vdot(weights, model.marginals([("a",)])[0]) - weights @ counts))
    assert abs(found[0]) < 100.0
    assert abs(found[1]) < 150.0


def check_overlay() -> None:
    """Consistent tables over a tree follow moments too, through the tree."""
    domain = Domain([IntegerRange(name, 0, 19) for name in "abc"])
    falling = np.exp(-np.arange(20) / 2.0)
    shares = {name: falling / falling.sum() if name == "a" else np.full(20, 0.05) for name in domain.names}
    weights, found = np.arange(20.0) / 19.0 - 0.5, []
    exact = 20_000.0 * float(weights @ shares["a"])
    for values in ([], [exact]):
        learner, rng = learning_module.Learner(Markov(domain, 20_000.0)), np.random.default_rng(3)
        for one, other in combinations(domain.names, 2):
            noisy = 20_000.0 * np.outer(shares[one], shares[other]).reshape(-1) + rng.normal(0.0, 60.0, 400)
            learner.measurements.append(Measurement(Marginal(domain, (one, other)), noisy, GAUSSIAN, 60.0))
        query = Moment.about("a", domain, ("a",), weights)
        told = [Measurement(query, np.array([value]), GAUSSIAN, 5.0) for value in values]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(learning_module, "over_tables", lambda *_: True)
            model = learning_module.concluded(learner, Proximal(), moments=told, largest_tree=100)
        assert isinstance(model, Overlay)
        found.append(abs(float(weights @ model.marginals([("a",)])[0]) - exact))
    assert found[1] < 0.75 * found[0]


def test_tables_over_a_tree_follow_moments() -> None:
    check_overlay()


def check_held_back() -> None:
    """A moment that noise does not explain has no longer steps than others."""
    domain = Domain([IntegerRange("a", 0, 9)])
    weights = np.arange(10.0) / 9.0 - 0.5
    moment = Measurement(Moment.about("a", domain, ("a",), weights), np.array([90.0]), GAUSSIAN, 8.0)
    assert stopping_module.held_back(Histogram(domain, 200.0), [moment], np.ones(1)).tolist() == [1.0]


@pytest.mark.parametrize("check", [check_long, check_held_back])
def test_moments_have_the_usual_length_at_most(check: Callable[[], None]) -> None:
    check()


def test_bins_without_positions_tell_no_moments() -> None:
    fine, _ = table_of(4)
    noisy = [each for each in measured(fine, 1.0, np.random.default_rng(0)) if each.target.form == "moments"]  # type: ignore[attr-defined]
    assert {each.target.scope for each in moments_module.moments_told(DOMAIN, noisy, SCOPES)} == {("group", "age")}


def test_hypotheses_are_not_drawn_to_empty_bins() -> None:
    check_unbiased()


def of_tables(model: Model, *tables: Measurement) -> list[Measurement]:
    return moments_module.beside_tables(model, tables, [])


def twin(noisy: list[Measurement], weights: Floats, total: float) -> tuple[float, float]:
    """The estimate of least variance of a sum over ages, and its variance, by dense generalised least squares."""
    rows, values, variances = [], [], []
    for each in noisy:
        scope, domain = each.target.scope, each.target.domain
        possible = possible_cells(domain, scope)
        cells = each.values.reshape(possible.shape) * possible  # type: ignore[union-attr]
        name = next(name for name in scope if domain.base((name,)) == ("age",))
        over = tuple(axis for axis, other in enumerate(scope) if other != name)
        rows.append(np.eye(cells.shape[scope.index(name)])[places_in(domain, ("age",), (name,))].T)
        values.append(cells.sum(axis=over))
        variances.append(each.std**2 * possible.sum(axis=over))  # type: ignore[union-attr]
    design, answers, spread = np.vstack(rows), np.concatenate(values), np.concatenate(variances)
    start = np.full(len(weights), total / len(weights))
    free = np.linalg.svd(np.ones((1, len(weights))))[2][1:].T  # all that keeps the sum
    reach = design @ free
    covariance = np.linalg.inv(reach.T @ (reach / spread[:, None]))
    found = start + free @ covariance @ reach.T @ ((answers - design @ start) / spread)
    return float(weights @ found), float(weights @ free @ covariance @ free.T @ weights)


def check_levels() -> None:
    """Tables over a column and its levels are put together by least squares; cells that cannot be have no noise."""
    columns = {
        "group": {"values": ["a", "b", "c"]},
        "age": {"min": 0, "max": 99, "levels": [5, 20]},
        "x": {"values": [1, 2]},
    }
    rng = np.random.default_rng(4)
    for rules in ([], [{"impossible": "group = 'a' and age > 62"}]):
        domain = domain_from_mapping({"attributes": columns, "constraints": rules})
        targets = [("group", "age"), ("age",), ("x", "age.5"), ("group", "age.20")]
        noisy = [
            Measurement(target, rng.normal(20.0, 9.0, target.size), GAUSSIAN, std)
            for target, std in zip([Marginal(domain, each) for each in targets], (3.0, 9.0, 5.0, 2.0), strict=True)
        ]
        first, second = of_tables(Histogram(domain, 400.0), *noisy)
        for each in (first, second):
            value, variance = twin(noisy, each.target.values(), 400.0)  # type: ignore[union-attr]
            assert float(each.values[0]) == pytest.approx(value, rel=1e-6)
            assert each.std**2 == pytest.approx(variance, rel=1e-6)


def test_moments_that_tables_and_levels_tell_are_those_of_least_squares() -> None:
    check_levels()


def test_moments_that_tables_tell_spread_as_they_say() -> None:
    rng, found = np.random.default_rng(0), []
    counts = np.outer([100.0, 50.0, 20.0], np.linspace(5.0, 0.0, 21))
    for _ in range(400):
        both = Measurement(
            Marginal(DOMAIN, ("group", "age")), (counts + rng.normal(0.0, 3.0, counts.shape)).reshape(-1), GAUSSIAN, 3.0
        )
        alone = Measurement(Marginal(DOMAIN, ("age",)), counts.sum(axis=0) + rng.normal(0.0, 5.0, 21), GAUSSIAN, 5.0)
        told = of_tables(Histogram(DOMAIN, float(counts.sum())), both, alone)
        found.append([(float(each.values[0]), each.std) for each in told])
    middles = (np.arange(21) - 10.0) / 20.0
    for power, weights in enumerate((middles, 2.0 * middles**2 - 0.5)):
        values, stds = np.array(found)[:, power].T
        assert abs(values.mean() - counts.sum(axis=0) @ weights) < 4.0 * stds[0] / 20.0
        assert abs(values.std() / stds[0] - 1.0) < 0.15


def test_moments_of_tables_are_told_however_little_noise_there_is() -> None:
    """Variances do not drown in rounding, and beside moments without noise tables tell nothing."""
    table, moments = Marginal(DOMAIN, ("age",)), {}
    for std in (1.0, 1e-7):
        noisy = Measurement(table, np.full(21, 1e5), GAUSSIAN, std)
        moments[std] = of_tables(Histogram(DOMAIN, 2.1e6), noisy)
    for usual, small in zip(*moments.values(), strict=True):
        assert small.std == pytest.approx(1e-7 * usual.std, rel=1e-6)
    known = [replace(each, scale=0.0) for each in moments[1.0]]
    noisy = Measurement(table, np.full(21, 1e5), GAUSSIAN, 1.0)
    assert moments_module.beside_tables(Histogram(DOMAIN, 2.1e6), [noisy], known) == known


def check_nested() -> None:
    """Tables of which each is the sums of the next finer one are fitted as they are, and so is one alone."""
    for scopes, told in (((("age",), ("age.5",)), 0), ((("age",),), 0), ((("group", "age"), ("age.5",)), 2)):
        domain = Domain((GROUP, *LEVELS.attributes))
        tables = [Marginal(domain, scope) for scope in scopes]
        noisy = [Measurement(each, np.ones(each.size), GAUSSIAN, 1.0) for each in tables]
        assert len(of_tables(Histogram(domain, 21.0), *noisy)) == told


def test_tables_that_are_sums_of_each_other_tell_no_moments() -> None:
    check_nested()


def test_nothing_is_added_where_others_than_whole_tables_were_measured() -> None:
    model = Histogram(DOMAIN, 100.0)
    table = Measurement(Marginal(DOMAIN, ("age",)), np.ones(21), GAUSSIAN, 1.0)
    fives = Marginal(LEVELS, ("age.5",))
    level = Measurement(fives, np.ones(fives.size), GAUSSIAN, 1.0)
    count = Measurement(Conjunction.where(DOMAIN, {"age": [3]}), np.ones(1), GAUSSIAN, 1.0)
    assert len(of_tables(model, table, table)) == 2
    assert of_tables(model, table, count) == []
    assert of_tables(Histogram(LEVELS, 100.0), level) == []
    assert of_tables(model) == []


def test_a_release_knows_what_its_hypothesis_was_fitted_to() -> None:
    """And replicates are fitted to the same with other noise."""
    frame = pa.table({"pay": pa.array(np.arange(400) % 90), "group": [str(i % 2) for i in range(400)]})
    domain = {"pay": {"min": 0, "max": 99, "whole": True, "bins": 20}, "group": ["0", "1"]}
    release = synthesize(frame, 2.0, 1e-9, domain, seed=0).release
    moments = moments_module.moments_of(release)
    assert [each.target.scope for each in moments] == [("pay",), ("pay",)]
    drawn = errors_module.DrawnRecords.of(release.model, 400, np.random.default_rng(0), None)
    exact = answered([each.target for each in moments], drawn.records)
    again = [errors_module.redrawn(moments, exact, np.random.default_rng(seed)) for seed in range(200)]
    for place, each in enumerate(moments):
        values = np.array([float(run[place].values[0]) for run in again])
        assert abs(values.mean() - float(exact[place][0])) < 4.0 * each.std / 200**0.5
        assert abs(values.std() / each.std - 1.0) < 0.2


# ---- planted bugs ----------------------------------------------------------------------------------------------------


def _without_moments(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(learning_module, "beside_tables", lambda model, tables, told: [])


def _counted_in(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(stopping_module, "Moment", type("Nothing", (), {}))


def _changed(name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patched: patched.setattr(moments_module, name, value)


def _columns_alone(patched: pytest.MonkeyPatch) -> None:
    learn = moments_module._Sums.learn
    patched.setattr(
        moments_module._Sums, "learn", lambda sums, table, name: learn(sums, table, name) if "." not in name else None
    )


def _tables_alone(patched: pytest.MonkeyPatch) -> None:
    make = learning_module.overlaid

    def alone(domain: Domain, total: float, measurements: list[Measurement], *others: Any) -> Overlay:
        return make(domain, total, [each for each in measurements if not isinstance(each.target, Moment)], *others)

    patched.setattr(learning_module, "overlaid", alone)


def _gone_on(patched: pytest.MonkeyPatch) -> None:
    go_on = sys.modules[refit.__module__]._go_on  # type: ignore[attr-defined]

    def on(rule: Proximal, model: Model, measurements: list[Measurement], so_far: float, length: float) -> None:
        go_on(rule, model, measurements, min(so_far, 0.999), length)

    patched.setattr("hedgerow.models.fit.refit._go_on", on)


def _bins_are_points(domain: Domain, name: str) -> tuple[Floats, Floats]:
    middles, widths = IN_SPANS(domain, name)
    return middles, 0.0 * widths


def _lower_ends(domain: Domain, name: str) -> tuple[Floats, Floats]:
    middles, widths = IN_SPANS(domain, name)
    return middles - widths / 2.0, widths


def _of_moments_alone(*args: Any) -> Any:
    """With the noise of moments, but not of positions."""
    domain, measured, inside, held = args
    quiet = inside and replace(inside, scale=1e-9 * inside.scale)
    return OF_MOMENTS(domain, measured, quiet, held)


IN_SPANS, OF_MOMENTS = moments_module._in_spans, moments_module._of_moments
MUTANTS = (
    Mutant(
        "moments are taken to be of points in the middles of bins", _changed("_in_spans", _bins_are_points), check_exact
    ),
    Mutant("numbers of bins are taken from their lower ends", _changed("_in_spans", _lower_ends), check_exact),
    Mutant("the noise of positions in bins is forgotten", _changed("_of_moments", _of_moments_alone), check_noise),
    Mutant("a hypothesis is not fitted to moments", _without_moments, check_unbiased),
    Mutant("squares are told of bins of a tenth of the column", _changed("_NARROW", 0.1), check_wide),
    Mutant("squares are told of bins of a thirtieth of the column alone", _changed("_NARROW", 0.03), check_wide),
    Mutant("means of columns of seven numbers are fitted", _changed("_FEWEST", 7), check_few),
    Mutant("means of columns of eight numbers are not fitted", _changed("_FEWEST", 9), check_few),
    Mutant("moments by group are fitted beyond 2^20 cells", _changed("_LARGEST", 1 << 21), check_groups),
    Mutant("moments by group are summed up below 2^20 cells", _changed("_LARGEST", 1 << 19), check_groups),
    Mutant("moments count in where a fit stops", _counted_in, check_stop),
    Mutant("tables over levels tell nothing of the numbers below", _columns_alone, check_levels),
    Mutant("cells that no record can be in have noise", _changed("possible_cells", lambda *_: None), check_levels),
    Mutant("a table that is alone tells moments", _changed("_TABLES", 1), check_nested),
    Mutant("tables that are sums of each other tell moments", _changed("nested", lambda _: False), check_nested),
    Mutant(
        "tables pull as much as measured moments with less noise", _changed("_variances", lambda _: {}), check_shares
    ),
    Mutant("tables over a tree are made without moments", _tables_alone, check_overlay),
    Mutant("moments go on where a fit goes on", _gone_on, check_long),
    Mutant("moments have longer steps where noise does not explain them", _counted_in, check_held_back),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutants_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
