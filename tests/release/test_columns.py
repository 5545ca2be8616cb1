"""Summaries of columns: covered intervals, and numbers that synthetic records have."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from hedgerow import MWEM, ApproxDP, PureDP, SeededNoise, Table, Workload
from hedgerow.domain import Binned, Domain, IntegerRange, domain_from_mapping
from hedgerow.errors import ConfigError
from hedgerow.queries import Boxes, Explicit
from hedgerow.release import Estimate, Release, column_summaries
from hedgerow.release.columns import MOST_VALUES, QUARTILES

DOMAIN = Domain((IntegerRange("age", 0, 199, missing="?"), Binned("pay", (0, 1, 10, 100, 1000), whole=True)))
CODES = [np.minimum(np.random.default_rng(0).geometric(0.02, 2000), 200), np.arange(2000) % 4]
"""About fifty of the ages are missing."""


def released(domain: Domain, codes: list[np.ndarray], seed: int, epsilon: float = 1.0) -> Release:
    workload = Workload.parse("marginals:1", domain)
    mechanism = MWEM(rounds=len(domain))
    return mechanism.run(Table(domain, codes), workload, ApproxDP(epsilon, 1e-9), noise=SeededNoise(seed))


@lru_cache
def releases() -> list[Release]:
    return [released(DOMAIN, CODES, seed) for seed in range(100)]


def covers(found: Estimate, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high
    return found.low <= truth <= found.high


@pytest.mark.slow
def test_means_and_quartiles_are_covered() -> None:
    held = np.sort(CODES[0][CODES[0] < 200])
    truths = [held.mean(), *(held[int(np.ceil(share * len(held))) - 1] for share in QUARTILES)]
    hits = np.zeros(4)
    widths = list[float]()
    for release in releases():
        age = column_summaries(release, ["age"], 0.9)[0]
        assert age.mean is not None
        found = [age.mean, *age.quartiles]
        hits += [covers(each, float(truth)) for each, truth in zip(found, truths, strict=True)]
        widths += [each.halved or 0.0 for each in found[1:]]
    assert (hits >= 0.85 * len(releases())).all()
    assert np.mean(widths) < 10.0  # and yet they say something


@pytest.mark.slow
def test_most_values_that_are_there_are_told_from_noise() -> None:
    for release in releases()[:5]:
        age, pay = column_summaries(release)
        assert pay.told == 4
        assert pay.certain == pytest.approx(1.0)
        assert not pay.noisy
        assert age.told is not None
        assert age.told < 200
        assert covers(pay.share, 0.25)


def test_numbers_in_bins_count_at_the_mean_of_synthetic_records() -> None:
    pay = column_summaries(releases()[0], ["pay"])[0]
    drawn = releases()[0].sample(200_000, seed=1).to_arrow()["pay"].to_numpy()
    assert pay.mean is not None
    assert pay.mean.value == pytest.approx(drawn.mean(), rel=0.02)
    assert [(each.low, each.high) for each in pay.quartiles] == [(0.0, 9.0), (1.0, 99.0), (10.0, 1000.0)]


def test_a_column_that_was_not_measured_has_no_intervals() -> None:
    workload = Workload.parse("marginals:pay", DOMAIN)
    release = MWEM(rounds=1).run(Table(DOMAIN, CODES), workload, PureDP(1.0), noise=SeededNoise(0))
    age, pay = column_summaries(release)
    assert (age.measured, age.noisy, pay.measured, pay.noisy) == (False, True, True, False)
    assert age.mean is not None
    assert age.mean.low is None
    assert all(each.low is None for each in age.quartiles)


def test_dates_are_told_as_dates_and_many_values_not_one_by_one() -> None:
    entries = {"day": {"min": "2020-01-01", "max": "2023-12-31"}, "kind": ["a", "b"]}
    domain = domain_from_mapping(entries)
    release = released(domain, [np.full(4000, 59), np.arange(4000) % 2], 0, 20.0)
    day, kind = column_summaries(release)
    assert domain["day"].size > MOST_VALUES
    assert (day.told, day.certain, day.noisy) == (None, None, False)
    assert day.text(day.quartiles[1].value) == "2020-02-29"
    assert (kind.mean, kind.quartiles, kind.told) == (None, (), 2)


def test_a_column_without_a_number_is_told_all_the_same() -> None:
    domain = Domain((IntegerRange("x", 0, 1, missing="?"),))
    release = released(domain, [np.full(3000, 2)], 0, 20.0)
    found = column_summaries(release)[0]
    assert domain["x"].label(found.common) == "?"
    assert found.share.value > 0.99


@pytest.mark.slow
def test_the_share_of_a_value_that_noise_chose_is_covered() -> None:
    domain, hits = Domain((IntegerRange("x", 0, 199),)), 0
    for seed in range(20):
        found = column_summaries(released(domain, [np.arange(1000) % 200], seed, 0.2), confidence=0.9)[0]
        hits += covers(found.share, 5.0 / 1000.0)
    assert hits >= 17


def test_a_weighted_sum_is_not_compared_with_every_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, seen = Domain((IntegerRange("x", 0, 99),)), list[int]()
    table, workload = Table(domain, [np.arange(600) % 100]), Workload.parse("prefixes:x", domain)
    made = MWEM(rounds=1).run(table, workload, PureDP(1.0), noise=SeededNoise(0))
    candidate = Boxes.candidate

    def counted(self: Boxes, index: int) -> object:
        seen.append(index)
        return candidate(self, index)

    monkeypatch.setattr(Boxes, "candidate", counted)
    for weights, compared in ((np.arange(100.0), False), (np.ones(100), True)):
        seen.clear()
        made.answer(Explicit.of(domain, ("x",), weights))
        assert bool(seen) is compared


@pytest.mark.slow
def test_no_value_is_told_to_be_there_that_is_not() -> None:
    domain = Domain((IntegerRange("x", 0, 999),))
    for seed in range(3):
        assert column_summaries(released(domain, [np.zeros(1000, dtype=int)], seed))[0].told == 1


@pytest.mark.parametrize("value", [7, 10**15])
def test_the_mean_of_a_single_number_is_that_number(value: int) -> None:
    domain = Domain((IntegerRange("x", value, value, missing="?"),))
    for seed in range(20):  # some noisy counts move the mean by a rounding error
        mean = column_summaries(released(domain, [np.arange(100) % 2], seed, 5.0))[0].mean
        assert mean is not None
        assert (mean.value, mean.low, mean.high) == (value, value, value)


def test_a_confidence_of_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        column_summaries(releases()[0], confidence=1.0)
