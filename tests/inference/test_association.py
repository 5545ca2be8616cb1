"""Tests of independence: their level with noise, their power, and what was not measured has none."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow import MWEM, Categorical, Domain, IntegerRange, PureDP, Release, SeededNoise, Workload, read_table
from hedgerow.errors import ConfigError, QueryError
from hedgerow.queries import Persons, Weight

DOMAIN = Domain(
    [
        Categorical("sex", ("F", "M"), missing="?"),
        Categorical("job", ("a", "b", "c")),
        Categorical("rich", ("no", "yes")),
        IntegerRange("hours", 0, 9),
    ]
)


def made(
    seed: int = 0,
    *,
    n: int = 1500,
    odds: float = 0.0,
    more: float = 0.0,
    epsilon: float = 0.5,
    workload: str = "marginals:2",
) -> Release:
    """Columns that are independent, but for log odds of sex and rich, and more hours of men."""
    rng = np.random.default_rng(seed)
    man = rng.integers(0, 2, n)
    rows = {
        "sex": np.array(["F", "M"])[man],
        "job": np.array(list("abc"))[rng.integers(0, 3, n)],
        "rich": np.array(["no", "yes"])[(rng.random(n) < 1.0 / (1.0 + np.exp(-odds * man))).astype(int)],
        "hours": np.minimum(rng.integers(0, 8, n) + (rng.random(n) < more * man), 9),
    }
    table = read_table(pa.table(rows), DOMAIN)
    read = Workload.parse(workload, DOMAIN)
    return MWEM().run(table, read, PureDP(epsilon), noise=SeededNoise(seed))


@pytest.mark.slow
def test_the_level_holds_where_noise_is_as_large_as_the_sampling_error() -> None:
    """Of 60 tests at 5 % about three reject, 9 with probability .003; without regard to noise 30 would."""
    rejected = [hedgerow.test(made(seed), "job", "rich", seed=seed).p_value <= 0.05 for seed in range(60)]
    assert sum(rejected) < 9


LEVELS = Domain([IntegerRange("age", 0, 89), Categorical("rich", ("no", "yes")), Categorical("sex", ("F", "M"))])


def leveled(seed: int, odds: float, *, workload: str = "marginals:age*rich; marginals:sex") -> Release:
    """Groups of nine years; from 45 years on other odds of being rich."""
    rng = np.random.default_rng(seed)
    age = np.minimum(rng.gamma(2.0, 12.0, 3000), 89).astype(int)
    rich = (rng.random(3000) < 1.0 / (1.0 + np.exp(-odds * (age >= 45)))).astype(int)
    table = pa.table({"age": age, "rich": np.array(["no", "yes"])[rich], "sex": np.array(["F", "M"])[rich * 0]})
    read = Workload.parse(workload, LEVELS)
    return MWEM().run(read_table(table, LEVELS), read, PureDP(1.0), noise=SeededNoise(seed))


def test_levels_are_tested_by_tables_of_attributes_and_of_levels() -> None:
    """The level holds though cells of a level add up noise; a dependence is found, and from a table of levels too."""
    (level,) = (each.name for each in LEVELS.derived if each.sources == ("age",))
    rejected = [hedgerow.test(leveled(seed, 0.0), level, "rich", seed=seed).p_value <= 0.05 for seed in range(40)]
    assert sum(rejected) < 7
    for workload in ("marginals:age*rich", f"marginals:{level}*rich; marginals:age"):
        found = hedgerow.test(leveled(0, 1.5, workload=workload), "rich", level, seed=0)
        assert (found.kind, found.pair) == ("chi-square", ("rich", level))
        assert found.p_value < 0.01
    with pytest.raises(QueryError, match="is a level of 'age'"):
        hedgerow.test(leveled(0, 0.0), level, "age")


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("workload", ["marginals:age*hours", "marginals:age.10*hours; marginals:age"])
def test_means_differ_between_levels(workload: str) -> None:
    """From 40 years on two hours more; the groups are a level, and its table alone may have been measured."""
    domain = Domain([IntegerRange("age", 0, 99), IntegerRange("hours", 0, 9)])
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, 6000)
    table = read_table(pa.table({"age": age, "hours": rng.integers(0, 8, 6000) + 2 * (age >= 40)}), domain)
    release = MWEM().run(table, Workload.parse(workload, domain), PureDP(20.0), noise=SeededNoise(0))
    found = hedgerow.test(release, "age.10", "hours", seed=0)
    assert (found.kind, found.pair, len(found.effects)) == ("means", ("age.10", "hours"), 9)
    assert found.p_value < 0.01
    assert found.effects[-1].name == "age.10: [90, 99]"
    assert sum(each.low <= 2.0 * (place >= 4) <= each.high for place, each in enumerate(found.effects)) >= 7
    few = hedgerow.test(release, "age.10", "hours", seed=0, replicates=3)
    assert np.isnan(few.p_value)
    assert "more than 10 replicates" in few.notes[-1]


def test_odds_ratios_are_found_and_hold_the_truth() -> None:
    held, found = 0, None
    for seed in range(20):
        found = hedgerow.test(made(seed, odds=0.8, epsilon=2.0), "sex", "rich", seed=seed)
        (effect,) = found.effects
        held += effect.low <= 0.8 <= effect.high
        assert found.p_value < 0.05
    assert held >= 16
    assert found is not None
    assert "chi-square" in repr(found)
    assert "log odds ratio of sex and rich" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["effects"][0]["name"] == "log odds ratio of sex and rich"


def test_small_cells_give_no_odds_ratio() -> None:
    (effect,) = hedgerow.test(made(n=300, epsilon=0.1), "sex", "rich", seed=0).effects
    assert np.isnan([effect.value, effect.low, effect.high]).all()
    assert "too small" in effect.name


@pytest.mark.slow
def test_means_of_groups_differ_by_what_they_do() -> None:
    held = 0
    for seed in range(10):
        found = hedgerow.test(made(seed, n=4000, more=0.6, epsilon=4.0), "hours", "sex", seed=seed, replicates=20)
        (effect,) = found.effects
        held += effect.low <= 0.6 <= effect.high
        assert (found.kind, found.pair, effect.name) == ("means", ("sex", "hours"), "sex: M")
        assert (found.p_value < 0.05) == (effect.low > 0.0)  # an F test of one difference is the t test
    assert held >= 8
    of_three = hedgerow.test(made(more=0.6, epsilon=4.0), "job", "hours", seed=0, replicates=20)
    assert [each.name for each in of_three.effects] == ["job: b", "job: c"]
    assert 0.0 < of_three.p_value <= 1.0


def test_what_was_not_measured_is_not_tested() -> None:
    release = made(workload="marginals:sex*rich,job,hours")
    found = hedgerow.test(release, "job", "rich", seed=0)
    assert np.isnan([found.statistic, found.p_value]).all()
    assert "'marginals:job*rich' in the workload would measure it (6 cells)" in found.notes[0]
    assert "no test" in found.title
    means = hedgerow.test(release, "job", "hours", seed=0, replicates=3)
    assert np.isnan([means.p_value, *(each.low for each in means.effects)]).all()
    assert "needs job x hours" in means.notes[0]


def test_what_cannot_be_tested_is_refused() -> None:
    release = made()
    with pytest.raises(QueryError, match="and itself"):
        hedgerow.test(release, "sex", "sex")
    with pytest.raises(ConfigError, match="both without numbers"):
        hedgerow.test(release, "sex", "rich", kind="means")
    with pytest.raises(ConfigError, match="confidence"):
        hedgerow.test(release, "sex", "rich", confidence=1.0)
    weighted = hedgerow.Table(DOMAIN, [np.arange(100) % 2] * 4, persons=Persons(None, 1, Weight("w", 4)))
    weights = MWEM().run(weighted, Workload.marginals(DOMAIN, 2), PureDP(3.0), noise=SeededNoise(0))
    with pytest.raises(ConfigError, match="no simple random sample"):
        hedgerow.test(weights, "sex", "rich")


def test_a_table_with_nothing_above_its_noise_is_not_tested() -> None:
    """A table of two records whose noise leaves no positive margin has no hypothesis of independence to draw from."""
    empty = [hedgerow.test(made(n=2, seed=seed), "sex", "rich", seed=0) for seed in range(12)]
    untested = [found for found in empty if np.isnan(found.p_value)]
    assert untested
    assert all("stand out of its noise" in found.notes[0] for found in untested)


def test_an_unknown_kind_of_test_is_refused() -> None:
    with pytest.raises(ConfigError, match="a kind of test 'mean'"):
        hedgerow.test(made(), "sex", "rich", kind="mean")  # type: ignore[arg-type]


def test_groups_that_nobody_is_in_have_no_means() -> None:
    """A label that no record has holds noise alone, which has no mean to compare; before, such tests rejected often."""
    domain = Domain([IntegerRange("age", 0, 9), Categorical("group", ("a", "b"))])
    rng = np.random.default_rng(0)
    table = read_table(pa.table({"age": rng.integers(0, 10, 3000), "group": ["a"] * 3000}), domain)
    for seed in range(4):
        made = MWEM().run(table, Workload.marginals(domain, 2), PureDP(1.0), noise=SeededNoise(seed))
        found = hedgerow.test(made, "group", "age", replicates=10, seed=seed)
        assert np.isnan(found.p_value)
        assert "No test" in found.notes[-1]
        assert all(np.isnan(effect.low) for effect in found.effects)
