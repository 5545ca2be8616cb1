"""Chains of grids: variances against dense least squares, the chain that is chosen, and the run that measures it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.linalg import null_space

from hedgerow import MWEM
from hedgerow.algorithms import grid_steps, grids_tell, has_levels, level_steps, table_steps, tree_levels
from hedgerow.algorithms.mwem.settings import in_grids
from hedgerow.algorithms.mwem.strategy_choice import schedule_of
from hedgerow.algorithms.strategies import Step, grids
from hedgerow.algorithms.strategies.grids import Grids
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange, places_in, width_level
from hedgerow.privacy import ZCDP, Budget, Curator, PureDP, Regime, SeededNoise, noise_of
from hedgerow.queries import Marginal, Neighbours, Workload
from tests.privacy.mutants import Mutant, killed
from tests.reference.least_squares import estimated_variances, rows_of


def domain_of(*sizes: int, widths: tuple[int, ...] = ()) -> Domain:
    attributes = [IntegerRange(name, 0, size - 1) for name, size in zip("abc", sizes, strict=False)]
    return Domain(
        attributes, [width_level(each, width) for each in attributes for width in widths if each.size > width]
    )


LINE = domain_of(24, widths=(2, 8))
PLANE = domain_of(8, 6, widths=(2,))
BOX = domain_of(4, 2, 4, widths=(2,))
UNEVEN = domain_of(19, 7, widths=(3,))
TASKS = {
    "prefixes": Workload.prefixes(LINE, "a"),
    "ranges": Workload.ranges(LINE, ["a"]),
    "two families": Workload.prefixes(LINE, "a").weighted(3.0) + Workload.ranges(LINE, ["a"], 40, seed=1),
    "plane": Workload.ranges(PLANE, ["a", "b"], 60, seed=2),
    "box": Workload.ranges(BOX, ["a", "b", "c"], 60, seed=3),
    "uneven": Workload.ranges(UNEVEN, ["a", "b"], 60, seed=4),
}
LARGE = {
    "long line": Workload.prefixes(domain_of(4096), "a"),
    "large plane": Workload.ranges(domain_of(64, 64), ["a", "b"], 60, seed=5),
}
"""Too large for least squares, and large enough for several grids."""
EVEN = [name for name in TASKS if name != "uneven"]
CHAINS = {1: [(0,), (1,), (2,)], 2: [(0, 0), (1, 0), (1, 1)], 3: [(0, 0, 0), (1, 0, 1)]}


def chosen(workload: Workload, budget: Budget, total: float = 1e9) -> grids._Choice:
    levels = [tree_levels(workload.domain, name) for name in workload.scopes[0]]
    return grids._choice(workload, levels, budget, 1.0, total)


def asked_by(workload: Workload) -> Floats:
    """The values of all boxes on the cells."""
    return np.concatenate([rows_of(workload.candidate(each), workload.domain) for each in range(workload.n_candidates)])


def reference(workload: Workload, chain: list[tuple[int, ...]], precisions: Floats) -> Floats:
    """Variances of all boxes by least squares over all cells, the number of records being known."""
    domain = workload.domain
    levels = [tree_levels(domain, name) for name in workload.scopes[0]]
    known = np.zeros((domain.size, domain.size))
    for grid, precision in zip(chain, precisions, strict=True):
        target = Marginal(domain, tuple(each[at] for each, at in zip(levels, grid, strict=True)))
        rows = rows_of(target, domain)
        known += precision * rows.T @ rows
    asked = asked_by(workload)
    free = null_space(np.ones((1, domain.size)))
    inverse = free @ np.linalg.inv(free.T @ known @ free) @ free.T
    return np.asarray(np.einsum("ij,jk,ik->i", asked, inverse, asked))


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_variances_are_those_of_least_squares(name: str, scale: float) -> None:
    """Exactly where blocks are even; nearly where the last ones are shorter."""
    workload = TASKS[name]
    chain = CHAINS[len(workload.scopes[0])]
    precisions = np.array([1.0, scale, 0.3])[: len(chain)]
    some = np.linspace(0, workload.n_candidates - 1, min(256, workload.n_candidates)).astype(int)
    expected = reference(workload, chain, precisions)[some]
    found = chosen(workload, PureDP(1.0)).estimate(chain, np.inf).variances(precisions)
    if name in EVEN:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    else:
        assert np.average(found) == pytest.approx(np.average(expected), rel=0.1)


def test_what_is_known_counts_like_another_measurement() -> None:
    choice, chain, precisions = chosen(TASKS["plane"], PureDP(1.0), total=10.0), CHAINS[2], np.array([1.0, 0.5, 2.0])
    known = (np.array([48.0, 24.0, 12.0]) / (4.0 * 10.0)) ** 2
    np.testing.assert_allclose(choice.estimate(chain, 4.0).known, known)
    blank = choice.estimate(chain, np.inf).variances(precisions + known)
    np.testing.assert_allclose(choice.estimate(chain, 4.0).variances(precisions), blank, rtol=1e-12)


@pytest.mark.parametrize("name", TASKS)
def test_slopes_are_differences(name: str) -> None:
    chain = CHAINS[len(TASKS[name].scopes[0])]
    estimate = chosen(TASKS[name], PureDP(1.0)).estimate(chain, np.inf)
    given = np.array([1.0, 0.4, 3.0])[: len(chain)]
    weights = np.random.default_rng(0).random(len(estimate.covered))
    _, slopes = estimate.variances_and_slopes(given)
    for at, slope in enumerate(slopes(weights)):
        moved = 1e-5 * np.eye(len(given))[at]
        fall = weights @ (estimate.variances(given - moved) - estimate.variances(given + moved)) / 2e-5
        assert slope == pytest.approx(fall, rel=1e-5)


def is_noise(workload: Workload, budget: Budget, charge: float, total: float, part: float = 0.5) -> bool:
    """Whether the noise of the coarsest table is as large as half of the records, by the noise that is drawn for it."""
    names = [tree_levels(workload.domain, name)[-1] for name in workload.scopes[0]]
    table = Marginal(workload.domain, tuple(names))
    return bool(np.sqrt(table.size) * noise_of(table, budget, charge, None).std > part * total)


@pytest.mark.parametrize("name", ["plane", "box", "large plane"])
@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1, 1.0])
def test_one_attribute_is_measured_where_tables_of_more_would_be_noise(name: str, epsilon: float) -> None:
    workload, budget = (TASKS | LARGE)[name], PureDP(epsilon)
    steps = grid_steps(workload, budget, epsilon, 2_000.0)
    scopes = [step.target.scope for step in steps if isinstance(step.target, Marginal)]
    assert (scopes == [{"plane": ("b.2",), "box": ("a.2",), "large plane": ("a.8",)}[name]]) == (
        is_noise(workload, budget, epsilon, 2_000.0)
    )
    assert sum(step.charge for step in steps) == pytest.approx(epsilon)


@pytest.mark.parametrize("name", [*TASKS, *LARGE])
@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1])
def test_grids_tell_nothing_where_the_coarsest_table_of_each_attribute_would_be_noise(
    name: str, epsilon: float
) -> None:
    workload, budget = (TASKS | LARGE)[name], PureDP(epsilon)
    each = [Workload.ranges(workload.domain, [axis], 5, seed=0) for axis in workload.scopes[0]]
    lost = all(is_noise(one, budget, epsilon, 500.0, 0.75) for one in each)
    assert grids_tell(workload, budget, epsilon, 500.0) == (not lost)
    assert grids_tell(workload, budget, epsilon, 1e9)
    whole = Workload.marginals(workload.domain, cliques=[workload.scopes[0]])
    assert grids_tell(whole, budget, epsilon, 1.0)


@pytest.mark.parametrize("name", ["plane", "box"])
def test_variances_from_one_attribute_are_those_of_its_own_parts(name: str) -> None:
    """By least squares for the line that boxes lie on, times the square of what they cover of the rest."""
    workload, choice = TASKS[name], chosen(TASKS[name], PureDP(1.0))
    grid, domain = choice.one_attribute, workload.domain
    levels = [tree_levels(domain, each) for each in workload.scopes[0]]
    (scope,) = [each[at] for each, at in zip(levels, grid, strict=True) if at < len(each)]
    rows = rows_of(Marginal(domain, (scope,)), domain)
    parts = asked_by(workload) @ rows.T / rows.sum(axis=1)
    expected = (parts**2).sum(axis=1) - parts.sum(axis=1) ** 2 / len(rows)
    np.testing.assert_allclose(choice.estimate([grid], np.inf).variances(np.ones(1)), expected, atol=1e-10)


def test_few_records_on_a_plane_err_less_by_one_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed seeds; noise is four times all records, and yet fitted."""
    monkeypatch.setattr(grids, "_NOTHING", np.inf)
    rng = np.random.default_rng(5)
    table = Table(domain_of(80, 80), [rng.binomial(79, 0.05, 300), rng.binomial(79, 0.3, 300)])
    workload = Workload.ranges(table.domain, ["a", "b"], 200, seed=9)
    budget, exact = PureDP(0.0125, Neighbours.REPLACE), workload.answers(table)

    def error() -> float:
        made = [MWEM().run(table, workload, budget, noise=SeededNoise(seed)) for seed in range(6)]
        return float(np.mean([np.square(workload.answers(each.model) - exact) for each in made]))

    ours = error()
    monkeypatch.setattr(grids, "_LOST", np.inf)
    assert ours < 0.7 * error()


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("name", [*TASKS, *LARGE])
@pytest.mark.parametrize("budget", [PureDP(0.3), ZCDP(0.05, Neighbours.REPLACE)], ids=["pure", "zcdp"])
@pytest.mark.parametrize("total", [10.0, 1e3, 1e7])
def test_steps_are_a_chain_that_costs_the_charge(name: str, budget: Budget, total: float) -> None:
    workload = (TASKS | LARGE)[name]
    steps = grid_steps(workload, budget, 0.25, total)
    targets = [step.target for step in steps if isinstance(step.target, Marginal)]
    assert len(targets) == len(steps)
    lost = len(workload.scopes[0]) > 1 and is_noise(workload, budget, 0.25, total)
    assert name in TASKS or lost or len(targets) > 1
    assert (targets[-1].scope == workload.scopes[0]) == (not lost)
    for coarse, fine in pairwise(targets):
        assert coarse.size < fine.size
        places_in(workload.domain, fine.scope, coarse.scope)  # raises where it is not determined
    spent = sum(step.charge for step in steps)
    assert 0.25 * (1.0 - 1e-9) < spent <= 0.25
    assert min(step.charge for step in steps) > 0.0


def by_least_squares(workload: Workload, steps: list[Step], budget: Budget) -> float:
    asked = np.concatenate(
        [rows_of(workload.candidate(each), workload.domain) for each in range(workload.n_candidates)]
    )
    return float(np.sqrt(estimated_variances(steps, asked, workload.domain, budget)).mean())


@pytest.mark.parametrize("name", ["prefixes", "ranges", "plane"])
@pytest.mark.parametrize("regime", [PureDP, ZCDP], ids=["pure", "zcdp"])
def test_no_chain_with_simple_shares_is_better(name: str, regime: type[PureDP] | type[ZCDP]) -> None:
    """Where counts are large beside the noise; by exact variances of all chains, with shares of tenths."""
    workload, budget = TASKS[name], regime(1.0, Neighbours.REPLACE)
    found = by_least_squares(workload, grid_steps(workload, budget, 1.0, 1e9), budget)
    levels = [tree_levels(workload.domain, each) for each in workload.scopes[0]]
    choice = chosen(workload, budget)
    finest = (0,) * len(levels)
    rivals = [[finest], *([finest, grid] for grid in choice.grids if grid != finest)]
    for chain in rivals:
        for part in (0.1, 0.3, 0.5, 0.7) if len(chain) > 1 else (0.0,):
            steps = [
                Step(Marginal(workload.domain, grids._names(levels, grid)), share)
                for grid, share in zip(chain, (1.0 - part, part), strict=False)
            ]
            assert found <= 1.02 * by_least_squares(workload, steps, budget)


def test_coarse_tables_get_more_where_counts_are_noise() -> None:
    workload, budget = Workload.prefixes(domain_of(4096), "a"), PureDP(0.1)
    finest = [grid_steps(workload, budget, 0.1, total)[-1].charge for total in (1e3, 1e5, 1e7)]
    assert finest == sorted(finest)
    assert 0.014 < finest[0] < 0.6 * finest[-1]  # never far below half of its share


@pytest.mark.parametrize(
    ("total", "before"), [(40.0, ["a", "b", "a.2 * b.2"]), (60.0, ["a", "b"]), (90.0, ["a", "b"]), (100.0, [])]
)
def test_a_table_gets_coarser_ones_where_noise_hides_its_cells(total: float, before: list[str]) -> None:
    """48 cells and noise of standard deviation about 1 for the whole charge."""
    workload, charge = Workload.marginals(PLANE, 2), 1.32
    steps = grid_steps(workload, PureDP(2.0), charge, total)
    assert [step.target.text for step in steps if step.target] == [*before, "a * b"]
    assert 0.999 * charge < sum(step.charge for step in steps) <= charge


@pytest.mark.parametrize(("total", "share"), [(40.0, 0.2), (60.0, 0.1), (100.0, 0.0)])
def test_single_attributes_come_before_a_table_without_levels(total: float, share: float) -> None:
    target, charge = Marginal(PLANE, ("a", "b")), 1.32
    steps = table_steps(target, PureDP(2.0), charge, total)
    assert [step.target.text for step in steps if step.target] == (["a", "b"] if share else []) + ["a * b"]
    assert [step.charge for step in steps[:-1]] == pytest.approx([share * charge / 2.0] * (len(steps) - 1))
    assert 0.999 * charge < sum(step.charge for step in steps) <= charge


def test_a_line_is_measured_alone_however_much_noise() -> None:
    assert [step.charge for step in table_steps(Marginal(LINE, ("a",)), PureDP(0.1), 0.1, 10.0)] == pytest.approx([0.1])


AREAS = Domain(
    [IntegerRange("area", 0, 1999), IntegerRange("sex", 0, 1), IntegerRange("race", 0, 5)],
    [width_level(IntegerRange("area", 0, 1999), width) for width in (20, 200)],
)
TABLES = [AREAS.clique((*level, "sex", "race")) for level in ((), ("area.200",), ("area.20",), ("area",))]


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1), PureDP(1.0, Neighbours.REPLACE)], ids=str)
def test_levels_share_the_charge_and_the_finest_leaves_half_to_what_it_adds(budget: Budget) -> None:
    steps = level_steps(Workload.marginals(AREAS, cliques=TABLES[::-1]), budget, budget.limit, 10_000.0)
    charges = {step.target.scope: step.charge for step in steps if isinstance(step.target, Marginal)}
    assert math.fsum(charges.values()) == pytest.approx(budget.limit)
    assert math.fsum(charges.values()) <= budget.limit
    assert list(charges)[-1] == TABLES[-1]
    quarter = budget.limit / 4.0
    assert charges[TABLES[0]] == pytest.approx(quarter)
    assert charges[TABLES[-1]] == pytest.approx(charges["area",]) == pytest.approx(quarter / 2.0)
    alone = {scope for scope in charges if len(scope) == 1}
    few = budget.regime is Regime.PURE  # 12 noisy cells tell their sum better than a table of a twentieth of the charge
    assert alone == ({("area",)} if few else {("area",), ("area.20",), ("area.200",)})


def test_levels_are_measured_only_where_the_finest_cells_hold_few_records() -> None:
    budget = PureDP(1.0)
    workload = Workload.marginals(AREAS, cliques=TABLES)
    assert level_steps(workload, budget, 1.0, 1e5)
    assert not level_steps(workload, budget, 1.0, 1e6)
    for other in (
        Workload.marginals(AREAS, cliques=TABLES[-1:]),
        Workload.marginals(AREAS, cliques=[("area", "sex"), ("area", "race")]),
        workload + Workload.prefixes(AREAS, "area"),
        workload + Workload.parse("cells:2", AREAS),
    ):
        assert not level_steps(other, budget, 1.0, 10.0)


def test_weights_of_levels_are_their_shares() -> None:
    workload = Workload.parse("marginals:sex*race @ 3; marginals:area.20*sex*race; marginals:area*sex*race @ 2", AREAS)
    steps = level_steps(workload, PureDP(1.0), 0.6, 10_000.0)
    assert [round(step.charge, 6) for step in steps] == [0.3, 0.1, 0.1, 0.1]


PARTS = [
    [("area", "race"), ("area.20", "sex", "race"), ("sex", "race")],
    [("area", "sex"), ("area.200", "race")],
    [("area", "sex", "race"), ("area.200",), ("race",)],
    [*TABLES, ("race",)],
]


@pytest.mark.parametrize("cliques", PARTS, ids=str)
def test_tables_over_levels_that_are_not_whole_share_the_charge_too(cliques: list[tuple[str, ...]]) -> None:
    scopes = [AREAS.clique(names) for names in cliques]
    steps = level_steps(Workload.marginals(AREAS, cliques=scopes), PureDP(1.0), 1.0, 3_000.0)
    charges = dict[tuple[str, ...], float]()
    for step in steps:
        assert isinstance(step.target, Marginal)
        charges[step.target.scope] = step.charge
    finest = max(scopes, key=AREAS.cells)
    for scope in scopes:
        assert charges[scope] >= (1.0 - 1e-9) * (0.5 if scope == finest else 1.0) / len(scopes)
    assert set(charges) - set(scopes) <= {("area",)}
    assert 1.0 - 1e-9 <= math.fsum(charges.values()) <= 1.0


def test_a_run_measures_the_levels_and_keeps_to_the_coarse_ones() -> None:
    rng = np.random.default_rng(2)
    area = rng.integers(0, 2000, 20_000)
    race = np.minimum(5, rng.geometric(0.3 + area / 4000.0) - 1)
    sex = rng.integers(0, 2, 20_000)
    table = Table(AREAS, np.array([area, sex, race]))
    cells = np.ravel_multi_index((area, sex, race), AREAS.shape)
    workload = Workload.marginals(AREAS, cliques=TABLES)
    release = MWEM().run(table, workload, PureDP(1.0), noise=SeededNoise(1))
    assert [each.target.scope for each in release.measurements] == [*TABLES[:3], ("area",), TABLES[3]]
    assert release.provenance.parameters["decided"]["taken"] == "levels"
    for scope in TABLES[:3]:
        places = places_in(AREAS, AREAS.names, scope).reshape(-1)[cells]
        exact = np.bincount(places, minlength=math.prod(AREAS.shape_of(scope)))
        noise = next(each.std for each in release.measurements if each.target.scope == scope)
        assert np.abs(release.model.marginals([scope])[0].reshape(-1) - exact).mean() < noise


@pytest.mark.parametrize("sizes", [(2,) * 10, (40, 30)])
def test_tables_of_noise_err_less_beside_single_attributes(sizes: tuple[int, ...]) -> None:
    """Fixed seeds; of the table alone the error is more than a tenth larger, far beyond chance."""
    rng = np.random.default_rng(6)
    places = [np.minimum(rng.geometric(1.2 / size, 4_000) - 1, size - 1) for size in sizes]
    table = Table(Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes)), places)
    workload = Workload.marginals(table.domain, len(sizes))
    exact = workload.answers(table) / 4_000.0

    def error(config: MWEM) -> float:
        releases = [config.run(table, workload, PureDP(0.2), noise=SeededNoise(seed)) for seed in range(4)]
        told = [workload.answers(each.model) / each.total for each in releases]
        return float(np.mean([np.abs(each - exact).sum() / 2.0 for each in told]))

    assert error(MWEM()) < 0.9 * error(MWEM(rounds=1))


def test_which_tables_have_levels() -> None:
    mixed = Domain([*PLANE.attributes, IntegerRange("c", 0, 2)], PLANE.derived)
    yes = [PLANE, mixed]
    assert all(has_levels(Workload.marginals(domain, cliques=[domain.names])) for domain in yes)
    assert not has_levels(Workload.marginals(LINE, 1))
    assert not has_levels(Workload.marginals(mixed, 2))
    assert not has_levels(TASKS["plane"])
    assert not has_levels(Workload.marginals(PLANE, 2, whole=False))
    assert not has_levels(Workload.marginals(PLANE, 2) + TASKS["plane"])


def test_single_grid_is_noise_of_cells() -> None:
    """Three of four cells with unit noise, the sum of all four being known: 3 - 3^2 / 4."""
    one = Grids(np.array([[3.0]]), np.array([[2.25]]), np.array([4.0]), np.zeros(1))
    assert one.variances(np.ones(1)).tolist() == [0.75]


def towns(seed: int) -> Table:
    """Records around three places of a plane."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(8.0, 56.0, (3, 2))[rng.integers(3, size=20_000)] + rng.normal(0.0, 4.0, (20_000, 2))
    return Table(domain_of(64, 64), list(np.clip(places, 0, 63).astype(np.int64).T))


def mean_error(config: MWEM, table: Table, seed: int) -> float:
    workload = Workload.ranges(table.domain, ["a", "b"], 400, seed=9)
    release = config.run(table, workload, PureDP(1.0), noise=SeededNoise(seed))
    exact, told = workload.answers(table), workload.answers(release.model)
    return float(np.abs(exact / 20_000.0 - told / release.total).mean())


def test_planes_are_better_told_by_grids_than_by_rounds() -> None:
    """Fixed seeds; half the error of annealed rounds and of one whole table is far beyond chance."""
    table = towns(5)
    ours = np.mean([mean_error(MWEM(), table, seed) for seed in range(4)])
    assert ours < 0.8 * np.mean([mean_error(MWEM(rounds="annealed"), table, seed) for seed in range(4)])


def test_charges_of_a_run_are_those_of_the_plan_whatever_the_records() -> None:
    workload, budget = Workload.ranges(domain_of(64, 64), ["a", "b"], 400, seed=9), PureDP(1.0, Neighbours.REPLACE)
    told = []
    for seed in (1, 2):
        curator = Curator(towns(seed), budget, noise=SeededNoise(seed))
        MWEM().run_with(curator, workload)
        told.append(
            [
                (each.target.partition(" in ")[0], each.charge)
                for each in curator.ledger.events
                if each.label == "measure"
            ]
        )
        assert curator.ledger.spent == pytest.approx(1.0, rel=1e-9)
        assert curator.ledger.spent <= 1.0
    assert told[0] == told[1]
    plan = MWEM().plan(workload, budget, total=20_000)
    assert plan.rounds == len(plan.noise) == len(told[0])
    assert not plan.adaptive
    assert [text for text, _ in plan.noise] == ["a.8 * b.8", "a * b"]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_predicted_errors_are_realised(epsilon: float) -> None:
    """Within a half: a guess of counts stands in for what is not known."""
    table, budget = towns(5), PureDP(epsilon)
    workload = Workload.ranges(table.domain, ["a", "b"], 400, seed=9)
    predicted, exact, found = MWEM().expected_error(workload, budget, 20_000.0), workload.answers(table), []
    for seed in range(4):
        release = MWEM().run(table, workload, budget, noise=SeededNoise(seed))
        found.append(np.abs(exact / 20_000.0 - workload.answers(release.model) / release.total).mean())
    assert predicted is not None
    assert 0.5 * predicted < np.mean(found) < 1.5 * predicted


def test_attributes_of_very_many_values_are_measured_in_tables() -> None:
    workload = Workload.prefixes(domain_of(70_000), "a")
    assert in_grids(MWEM(), workload)
    assert all(isinstance(step, Marginal) for step, _ in schedule_of(MWEM(), workload, PureDP(1.0), 0.95, 1e5).steps)


def instead(name: str, value: Any, where: Any = grids) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(where, name, value)


def all_of_the_charge_for_each(patch: pytest.MonkeyPatch) -> None:
    """Every grid of a chain is measured as if it were the only one."""
    of_boxes = grids._of_boxes
    patch.setattr(grids, "_of_boxes", lambda *given: dict.fromkeys(of_boxes(*given), 1.0))


def shares_of_other_grids(patch: pytest.MonkeyPatch) -> None:
    """The share of the coarsest grid is passed on to the finest."""
    right = grids._Choice.divided

    def divided(self: Any, shares: Any) -> Any:
        found = right(self, shares)
        return dict(zip(found, reversed(list(found.values())), strict=True))

    patch.setattr(grids._Choice, "divided", divided)


def what_is_left_out_is_lost(patch: pytest.MonkeyPatch) -> None:
    """Shares are not made to sum to 1 again."""
    right = grids._Choice.divided

    def divided(self: Any, shares: Any) -> Any:
        return {grid: 0.9 * share for grid, share in right(self, shares).items()}

    patch.setattr(grids._Choice, "divided", divided)


def more_records_than_there_are(patch: pytest.MonkeyPatch) -> None:
    """As many records count as known whatever the number is."""
    right = grids._choice
    patch.setattr(grids, "_choice", lambda *given: right(*given[:-1], 1e9))


def one_child(patch: pytest.MonkeyPatch) -> None:
    """A node's count says of each child's what it would of an only one's."""
    right = Grids._variances

    def variances(self: Any, precisions: Any) -> Any:
        return right(Grids(self.covered, self.above, np.ones_like(self.children), self.known), precisions)

    patch.setattr(Grids, "_variances", variances)


def total_unknown(patch: pytest.MonkeyPatch) -> None:
    """What a box says is not corrected by the tables above."""
    right = Grids._variances

    def variances(self: Any, precisions: Any) -> Any:
        return right(Grids(self.covered, 0.0 * self.above, self.children, self.known), precisions)

    patch.setattr(Grids, "_variances", variances)


LARGE_COSTS = partial(test_steps_are_a_chain_that_costs_the_charge, "large plane", PureDP(0.3), 1e3)
PREFIXES = partial(test_variances_are_those_of_least_squares, "prefixes", 1.0)
MUTANTS = (
    Mutant("the whole charge for each grid", all_of_the_charge_for_each, LARGE_COSTS),
    Mutant("shares of grids rounded up", instead("_BELOW", 1.0 + 2.0**-40), LARGE_COSTS),
    Mutant("shares of grids that sum to less than 1", what_is_left_out_is_lost, LARGE_COSTS),
    Mutant("shares passed on to other grids", shares_of_other_grids,
           test_coarse_tables_get_more_where_counts_are_noise),
    Mutant("grids for another number of records", more_records_than_there_are,
           test_coarse_tables_get_more_where_counts_are_noise),
    Mutant("a coarse table however little noise there is", instead("_noise", lambda *given: 1e3),
           partial(test_a_table_gets_coarser_ones_where_noise_hides_its_cells, 100.0, [])),
    Mutant("tables of noise", instead("_LOST", 5.0),
           partial(test_one_attribute_is_measured_where_tables_of_more_would_be_noise, "large plane", 0.01)),
    Mutant("grids that are fitted to noise", instead("_NOTHING", 1e3),
           partial(test_grids_tell_nothing_where_the_coarsest_table_of_each_attribute_would_be_noise, "plane", 1e-3)),
    Mutant("variances of grids as if nodes had one child", one_child, PREFIXES),
    Mutant("variances of grids without the tables above", total_unknown, PREFIXES),
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
