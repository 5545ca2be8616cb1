"""The number of records that is averaged with the sums of noisy tables, and the interval around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hedgerow
from hedgerow import MWEM, ZCDP, Domain, IntegerRange, PureDP, Release, SeededNoise, Table, Workload, impossible
from hedgerow.audit import Severity, audit_files
from hedgerow.privacy import Budget, GaussianNoise, LaplaceNoise
from hedgerow.queries import Conjunction, Neighbours

FREE = Domain((IntegerRange("a", 0, 9), IntegerRange("b", 0, 9)))
DOMAIN = Domain(FREE.attributes, (), [impossible(FREE, "a > 4 and b > 4")])
EVERYBODY = Conjunction(DOMAIN, (), ())


def release(n: int, budget: Budget, seed: int, outside: int = 0) -> Release:
    codes = np.random.default_rng(seed).integers(0, 5, (2, n + outside))
    codes[:, n:] = 9
    table = Table(DOMAIN, codes, violations="drop" if outside else "refuse")
    return MWEM().run(table, Workload.marginals(DOMAIN, 2), budget, noise=SeededNoise(seed))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1), PureDP(1.0, Neighbours.REPLACE)])
def test_the_interval_holds_that_of_the_noisy_number_alone(budget: Budget) -> None:
    """So it misses no more often, however the tables were chosen that it was averaged with."""
    moved = 0
    for seed in range(10):
        found = release(300, budget, seed, outside=20)
        [event] = [each for each in found.events if each.label == "total"]
        noise = (GaussianNoise if "Gaussian" in event.mechanism else LaplaceNoise)(event.scale)
        assert found.counted is not None
        moved += found.counted != found.total
        for confidence in (0.5, 0.95):
            told, reach = found.answer(EVERYBODY, confidence), noise.quantile(confidence)
            assert told.low is not None
            assert told.high is not None
            assert told.low <= max(0.0, np.ceil(found.counted - reach))
            assert told.high >= np.floor(found.counted + reach)
    assert moved == 10


@pytest.mark.slow
def test_the_interval_misses_as_rarely_as_it_says() -> None:
    """One that misses as often as it may fails once in 10^5; one that misses every other time passes once in 10^8."""
    misses = 0
    for seed in range(120):
        told = release(40, PureDP(1.0), seed).answer(EVERYBODY, 0.9)
        assert told.low is not None
        assert told.high is not None
        misses += not told.low <= 40 <= told.high
    assert misses <= 28


@pytest.mark.parametrize("seed", range(3))
def test_that_nobody_is_left_is_within_the_interval(seed: int) -> None:
    told = release(0, PureDP(2000.0), seed, outside=7).answer(EVERYBODY)
    assert told.low == 0.0


def test_it_is_kept_in_files_and_audited(tmp_path: Path) -> None:
    made = release(300, ZCDP(0.1), 3, outside=20)
    made.save(tmp_path / "r.release")
    read = hedgerow.Release.load(tmp_path / "r.release")
    assert (read.counted, read.total) == (made.counted, made.total)
    assert read.answer(EVERYBODY) == made.answer(EVERYBODY)
    [audit] = audit_files([tmp_path / "r.release"]).files
    assert [each.check for each in audit.findings if each.severity is Severity.FAILS] == ["noise"]  # it is seeded
