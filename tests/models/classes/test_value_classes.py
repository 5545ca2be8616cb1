"""Classes of values: the contract, the same answers as the histogram, and attributes of 2**32 values."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Constraint, Derived, Domain, IntegerRange, width_level
from hedgerow.errors import ConfigError, MarginalTooLargeError, ModelTooLargeError
from hedgerow.models import (
    Histogram,
    Markov,
    Model,
    Potentials,
    Proximal,
    Refit,
    Sweeps,
    ValueClasses,
    refit,
    wants_classes,
)
from hedgerow.models.classes import answers as module
from hedgerow.queries import Conjunction, Explicit, Marginal, Measurable, Measurement, NoiseKind, Parity, Workload
from tests.examples import examples
from tests.models.contract import LeveledContract, Makes, ModelContract
from tests.models.strategies import (
    conjunctions,
    domain_of,
    domains,
    leveled_cliques,
    leveled_domains,
    leveled_queries,
    queries,
)
from tests.reference.dense_model import DenseModel

HUGE = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("port", 0, 2**16 - 1), IntegerRange("hour", 0, 23)))


class OfClasses(Makes):
    def make(self, domain: Domain, total: float) -> ValueClasses:
        return ValueClasses(domain, total)

    def reload(self, model: Model) -> Model:
        assert isinstance(model, ValueClasses)
        return ValueClasses.from_potentials(model.domain, model.total, model.potentials())


class TestContract(OfClasses, ModelContract): ...


class TestLevels(OfClasses, LeveledContract): ...


class TestLevelsOneByOne(TestLevels):
    """Conditions are summed as on too many classes."""

    @pytest.fixture(autouse=True)
    def _small_grids(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_GRID_CELLS", 1)


def gap(found: Floats, expected: Floats) -> float:
    return float(np.abs(found - expected).max(initial=0.0))


def boxes(domain: Domain, names: tuple[str, ...], count: int, seed: int) -> list[Conjunction]:
    """Random boxes; each side is a uniform pair of codes."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        ends = {name: np.sort(rng.integers(0, domain[name].size, 2)).tolist() for name in names}
        found.append(Conjunction.where(domain, {name: range(low, high + 1) for name, (low, high) in ends.items()}))
    return found


def noisy(targets: list[Measurable], total: float, scale: float, seed: int) -> list[Measurement]:
    """Measurements of a uniform distribution with much noise, so that they disagree."""
    rng = np.random.default_rng(seed)
    uniform = [target.of_table(np.full(target.domain.shape_of(target.scope), 1.0)) for target in targets]
    cells = [math.prod(target.domain.shape_of(target.scope)) for target in targets]
    return [
        Measurement(target, total * sums / size + rng.normal(0.0, scale, target.size), NoiseKind.GAUSSIAN, scale)
        for target, sums, size in zip(targets, uniform, cells, strict=True)
    ]


# The same as the histogram


@given(st.data(), domains)
def test_potentials_give_the_same_histogram(data: st.DataObject, domain: Domain) -> None:
    model = ValueClasses(domain, 9.0)
    for query in data.draw(st.lists(queries(domain), max_size=5)):
        model.update(query, data.draw(st.floats(-2, 2)))
    dense = Histogram.from_potentials(domain, 9.0, model.potentials())
    tree = Markov.from_potentials(domain, 9.0, model.potentials())
    names = domain.names[:3]
    assert gap(model.marginals([names])[0], dense.marginals([names])[0]) < 1e-10
    assert gap(model.marginals([names])[0], tree.marginals([names])[0]) < 1e-10


@given(st.data(), domains)
def test_bulk_covers_change_nothing(data: st.DataObject, domain: Domain) -> None:
    asked = data.draw(st.lists(queries(domain), max_size=5))
    steps = [data.draw(st.floats(-2, 2)) for _ in asked]
    one_by_one, at_once = ValueClasses(domain, 9.0), ValueClasses(domain, 9.0, asked)
    cells = at_once.cells
    for query, step in zip(asked, steps, strict=True):
        one_by_one.update(query, step)
        at_once.update(query, step)
    names = domain.names[:3]
    assert gap(one_by_one.marginals([names])[0], at_once.marginals([names])[0]) < 1e-10
    assert at_once.cells == cells


RULES: list[Refit] = [Proximal(), Sweeps(sweeps=7), Sweeps(sweeps=3, step="sharp", clip=False)]


@settings(max_examples=examples(25))
@given(st.data(), st.lists(st.integers(2, 7), min_size=1, max_size=4).map(lambda sizes: domain_of(*sizes)))
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_refits_equal_those_of_the_histogram(rule: Refit, data: st.DataObject, domain: Domain) -> None:
    """Order matters to a fit, so all measurements are of one attribute or of the same two."""
    names = domain.names[: data.draw(st.integers(1, 2))]
    kinds: dict[str, Callable[[], Measurable]] = {
        "condition": lambda: data.draw(conjunctions(domain.project(names)).map(lambda q: as_in(domain, q))),
        "marginal": lambda: Marginal(domain, names),
        "explicit": lambda: Explicit.of(domain, names, rng.integers(-1, 3, domain.shape_of(names))),
    }
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    chosen = data.draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=5))
    measured = noisy([kinds[kind]() for kind in chosen], 100.0, 5.0, seed=len(chosen))
    model, dense = ValueClasses(domain, 100.0), Histogram(domain, 100.0)
    refit(model, measured, rule)
    refit(dense, measured, rule)
    clique = domain.names[:3]
    assert gap(model.marginals([clique])[0], dense.marginals([clique])[0]) < 1e-6
    again = ValueClasses.from_potentials(domain, 100.0, model.potentials())
    assert gap(model.marginals([clique])[0], again.marginals([clique])[0]) < 1e-9


def as_in(domain: Domain, query: Conjunction) -> Conjunction:
    return Conjunction(domain, query.scope, query.codes)


def test_a_refit_of_parities_and_marginals_over_several_attributes_equals_that_of_the_tree() -> None:
    domain = domain_of(2, 3, 2, 40)
    targets: list[Measurable] = [
        Parity(domain, ("x0", "x2")),
        Marginal(domain, ("x0", "x1")),
        Conjunction.where(domain, {"x1": [0, 2], "x3": range(10, 30)}),
        Conjunction.where(domain, {}),
        Conjunction.where(domain, {"x2": []}),
    ]
    measured = noisy(targets, 50.0, 2.0, seed=4)
    model, tree = ValueClasses(domain, 50.0), Markov(domain, 50.0)
    refit(model, measured, Sweeps(sweeps=5))
    refit(tree, measured, Sweeps(sweeps=5))
    assert gap(model.marginals([domain.names])[0], tree.marginals([domain.names])[0]) < 1e-9
    assert model.classes["x3"].sizes.tolist() == [20, 20]


@settings(max_examples=examples(25))
@given(st.data(), leveled_domains())
def test_refits_over_levels_equal_those_of_the_histogram(data: st.DataObject, domain: Domain) -> None:
    targets: list[Measurable] = data.draw(st.lists(leveled_queries(domain), max_size=3))
    scopes = data.draw(st.lists(leveled_cliques(domain).filter(bool), min_size=1, max_size=3))
    measured = noisy([*targets, *(Marginal(domain, scope) for scope in scopes)], 30.0, 3.0, seed=len(targets))
    model, dense = ValueClasses(domain, 30.0), Histogram(domain, 30.0)
    for each in (model, dense):
        refit(each, measured, Sweeps(sweeps=3))
    clique = data.draw(leveled_cliques(domain))
    assert gap(model.marginals([clique])[0], dense.marginals([clique])[0]) < 1e-8
    again = ValueClasses.from_potentials(domain, 30.0, model.potentials())
    assert gap(model.marginals([clique])[0], again.marginals([clique])[0]) < 1e-9


def test_a_table_over_a_level_makes_classes_of_its_values_alone() -> None:
    ip = IntegerRange("ip", 0, 2**16 - 1)
    rule = Constraint("odd low", ("ip",), [1 * (np.arange(2**16) < 2**8)], [True, False])
    domain = Domain((ip, IntegerRange("port", 0, 2**10 - 1)), [width_level(ip, 2**12), width_level(ip, 2**14)], [rule])
    model = ValueClasses(domain, 10.0)
    model.reweigh(("port", "ip.4096"), np.ones((2**10, 16)) * (np.arange(2**10)[:, None] % 2))
    assert model.classes["ip"].sizes.tolist() == [2**8, 2**12 - 2**8, *[2**12] * 15]
    assert model.classes["port"].count == 2
    assert model.potentials().scopes == [("port", "ip.4096")]


def test_a_level_that_tells_nothing_beside_a_function_of_two_others() -> None:
    columns = [IntegerRange(name, 0, 5) for name in "abc"]
    level = Derived(IntegerRange("c.all", 0, 1), ("c",), [0] * 6)
    larger = Derived(IntegerRange("larger", 0, 1), ("a", "b"), np.add.outer(np.arange(6), np.arange(6)) > 5)
    domain = Domain(columns, [level, larger])
    known = [Measurement(Marginal(domain, ("c.all",)), np.array([100.0, 0.0]), NoiseKind.GAUSSIAN, 1.0)]
    models = ValueClasses(domain, 100.0), Histogram(domain, 100.0)
    for model in models:
        refit(model, known, Proximal())
    scopes = [("c.all", "larger"), ("a", "c.all", "larger"), ("c.all",)]
    for scope in map(domain.clique, scopes):
        np.testing.assert_allclose(*(model.marginals([scope])[0] for model in models), atol=1e-10)


def test_refits_follow_classes_that_are_refined() -> None:
    domain = domain_of(12)
    targets: list[Measurable] = [*boxes(domain, ("x0",), 4, seed=6)]
    measured = noisy(targets, 100.0, 5.0, seed=7)
    model, dense = ValueClasses(domain, 100.0), Histogram(domain, 100.0)
    for count in range(1, 5):
        for each in (model, dense):
            refit(each, measured[:count], Proximal().quick())
        assert gap(model.marginals([("x0",)])[0], dense.marginals([("x0",)])[0]) < 1e-6


def test_proximal_refits_start_from_the_sizes_of_the_classes() -> None:
    domain = domain_of(10)
    model = ValueClasses(domain, 100.0)
    model.update(Conjunction.where(domain, {"x0": [3]}), 2.0)
    empty = Measurement(Conjunction.where(domain, {}), np.array([90.0]), NoiseKind.GAUSSIAN, 1.0)
    refit(model, [empty], Proximal())
    assert gap(model.marginals([("x0",)])[0], np.full(10, 10.0)) < 1e-12


@given(st.data(), st.lists(st.integers(2, 5), min_size=1, max_size=4).map(lambda sizes: domain_of(*sizes)))
def test_conditions_on_too_many_classes_are_summed_one_by_one(data: st.DataObject, domain: Domain) -> None:
    model, reference = ValueClasses(domain, 50.0), DenseModel(domain, 50.0)
    for query in data.draw(st.lists(conjunctions(domain), max_size=4)):
        model.update(query, 0.8)
        reference.update(query, 0.8)
    asked = data.draw(st.lists(conjunctions(domain), max_size=4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_GRID_CELLS", 1)
        found = model.conjunctions(asked)
    assert gap(found, np.array([reference.answer(query) for query in asked])) < 1e-9


# What it costs


def test_ranges_on_four_billion_values_are_a_few_classes() -> None:
    ranges = boxes(HUGE, ("ip",), 50, seed=0)
    model = ValueClasses(HUGE, 1000.0, ranges)
    assert model.cells <= 101
    for query in ranges:
        model.update(query, 0.1)
    assert model.cells <= 101
    # the same on 2**20 values: every range scaled down by 4096, whose ends fall on multiples of it
    small = Domain((IntegerRange("ip", 0, 2**20 - 1),))
    scaled = [Conjunction.where(small, {"ip": range(*[cut >> 12 for cut in q.codes[0].cuts])}) for q in ranges]
    up = [Conjunction.where(HUGE, {"ip": range(*[cut << 12 for cut in q.codes[0].cuts])}) for q in scaled]
    dense, huge = Histogram(small, 1000.0), ValueClasses(HUGE, 1000.0)
    for one, other in zip(scaled, up, strict=True):
        dense.update(one, 0.1)
        huge.update(other, 0.1)
    assert gap(huge.conjunctions(up), dense.conjunctions(scaled)) < 1e-9


def test_boxes_on_two_attributes_are_a_grid() -> None:
    asked = boxes(HUGE, ("ip", "port"), 12, seed=1)
    model = ValueClasses(HUGE, 1000.0, asked)
    assert model.cells <= 25**2
    for query in asked:
        model.update(query, 0.3)
    probabilities = model.conjunctions(asked) / 1000.0
    assert (probabilities > 0.0).all()
    assert (probabilities < 1.0).all()


def test_memory_follows_the_classes() -> None:
    asked, measured = boxes(HUGE, ("ip",), 200, seed=2), boxes(HUGE, ("ip",), 40, seed=3)
    ValueClasses(HUGE, 10.0, measured[:2]).conjunctions(asked)  # imports and caches
    tracemalloc.start()
    model = ValueClasses(HUGE, 10.0, measured)
    for query in measured:
        model.update(query, 0.2)
    model.conjunctions(asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


def test_values_that_no_update_tells_apart_stay_one_class() -> None:
    domain = domain_of(1000, 5)
    even = Conjunction.where(domain, {"x0": range(0, 1000, 2), "x1": [1, 2]})
    model = ValueClasses(domain, 10.0, [even])
    assert model.cells == 4
    model.reweigh(("x0", "x1"), np.arange(1000)[:, None] // 500 + np.zeros(5))
    assert model.classes["x0"].count == 4


def test_what_does_not_fit_is_refused() -> None:
    model = ValueClasses(HUGE, 10.0)
    with pytest.raises(MarginalTooLargeError):
        model.marginals([("ip", "port")])
    far = Domain((IntegerRange("a", 0, 2**50), IntegerRange("b", 0, 2**20)))
    whole = Measurement.__new__(Measurement)  # its values alone would not fit
    object.__setattr__(whole, "target", Marginal(far, ("a",)))
    with pytest.raises(ModelTooLargeError):
        ValueClasses(far, 10.0).over_classes([whole])
    grid = boxes(Domain(IntegerRange(f"x{i}", 0, 2**32) for i in range(8)), tuple(f"x{i}" for i in range(8)), 100, 5)
    many = ValueClasses(grid[0].domain, 10.0)
    with pytest.raises(ModelTooLargeError):
        many.cover(grid)
    many.update(grid[0], 1.0)  # nothing was changed


def test_a_base_is_refused() -> None:
    with pytest.raises(ConfigError, match="uniform"):
        ValueClasses.from_potentials(domain_of(2), 1.0, Potentials(base=np.ones(2)))


# Records


def test_records_of_huge_attributes_have_the_shares_of_the_model() -> None:
    """Systematic: every class has its expected number of records up to one, spread evenly over its values."""
    model = ValueClasses(HUGE, 1.0)
    rare = Conjunction.where(HUGE, {"ip": range(1000, 2000)})
    model.update(rare, math.log(2**22))
    codes = model.sample(4000, seed=5)
    ip = codes[:, 0].astype(np.int64)
    share = float(model.conjunctions([rare])[0])
    inside = ip[(ip >= 1000) & (ip < 2000)]
    assert abs(len(inside) - 4000 * share) <= 1.0
    halves = [np.count_nonzero(inside < 1500), np.count_nonzero(inside >= 1500)]
    assert abs(halves[0] - halves[1]) <= 2
    outside = np.sort(np.concatenate([ip[ip < 1000], ip[ip >= 2000]]))
    assert abs(np.count_nonzero(outside < 2**31) - len(outside) / 2) <= 2
    assert np.unique(codes[:, 1]).size > 3000
    hours = np.bincount(codes[:, 2].astype(np.int64), minlength=24)
    assert abs(hours - 4000 / 24).max() <= 2


def test_attributes_are_drawn_independently_inside_classes() -> None:
    """The correlation of 20,000 independent pairs passes 0.04 with probability below 2e-8 (a normal's 5.6 sigma)."""
    codes = ValueClasses(HUGE, 1.0).sample(20_000, seed=8).astype(np.float64)
    assert abs(np.corrcoef(codes.T) - np.eye(3)).max() < 0.04


@pytest.mark.parametrize("method", ["systematic", "independent"])
def test_samples_follow_the_marginals(method: str) -> None:
    """Each of 60 counts lies within 6 standard deviations of a multinomial, beyond with probability 1.2e-7."""
    domain = domain_of(30, 30)
    model = ValueClasses(domain, 1.0)
    for query in boxes(domain, ("x0", "x1"), 3, seed=9):
        model.update(query, 1.0)
    codes = model.sample(50_000, seed=10, method=method)
    for axis, name in enumerate(domain.names):
        share = model.marginals([(name,)])[0]
        counts = np.bincount(codes[:, axis], minlength=30)
        assert (np.abs(counts - 50_000 * share) < 6 * np.sqrt(50_000 * share)).all()
    pair = np.histogram2d(codes[:, 0], codes[:, 1], bins=[range(0, 31, 6)] * 2)[0]
    expected = 50_000 * model.marginals([domain.names])[0].reshape(5, 6, 5, 6).sum(axis=(1, 3))
    assert (np.abs(pair - expected) < 6 * np.sqrt(expected)).all()


# When to take it


def test_it_is_wanted_for_conditions_on_huge_attributes_alone() -> None:
    assert wants_classes(Workload.conjunctions(HUGE, ["ip < 5", "hour = 3"]))
    assert wants_classes(Workload.ranges(HUGE, ["ip"], 10) + Workload.marginals(HUGE, cliques=[("hour",)]))
    wide = Domain((IntegerRange("a", 0, 99_999),))
    assert wants_classes(Workload.conjunctions(wide, ["a < 5"]))
    assert not wants_classes(Workload.conjunctions(wide, ["a < 5"]) + Workload.marginals(wide, 1))
    assert not wants_classes(Workload.conjunctions(HUGE, ["hour = 3"]))
