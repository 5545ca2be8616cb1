"""Exact replays of MWEM over configurations drawn at random: trees, classes of values, limits, weights, real tables.

Deterministic: the configurations are drawn with fixed seeds. Thousands more were drawn while this was written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.data import Table
from hedgerow.data.counting import marginals as counting
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import CandidatesTooLargeError, ConfigError
from hedgerow.models import ValueClasses, choice
from hedgerow.privacy import NoiseSource, PureDP, Regime, SeededNoise
from hedgerow.privacy.mechanisms import selection
from hedgerow.queries import Conjunction, Neighbours, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import losses_stay_below_the_charge
from tests.privacy.tables import DenseCounts

SHAPES = ((2, 2, 2), (2, 3), (5, 2), (8,), (3, 2), (2, 2))
WEIGHTS = (1.0, 39.0, 0.37, 1e-3, 1000.1)
ROUNDS = ("annealed", "adaptive", "auto", 1, 2)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """No domain is small, attributes of three values are wide, and few cliques are worth packing."""
    monkeypatch.setattr(choice, "SMALL_CELLS", 0)
    monkeypatch.setattr(choice, "LARGEST_DENSE", 0)
    monkeypatch.setattr(choice, "LARGE_ATTRIBUTE", 2)
    monkeypatch.setattr(counting, "CHEAP_CELLS", 4)
    monkeypatch.setattr(counting, "_CLIQUES_PER_PACKED", 0)


def conditions(domain: Domain, rng: np.random.Generator) -> Workload:
    """Any sets of codes, none and all among them."""
    queries = [
        Conjunction.where(domain, {each.name: np.flatnonzero(rng.random(each.size) < 0.5).tolist() for each in chosen})
        for chosen in ([each for each in domain if rng.random() < 0.6] or [domain.attributes[0]] for _ in range(4))
    ]
    return Workload.conjunctions(domain, queries)


def family(domain: Domain, rng: np.random.Generator) -> Workload:
    order = int(rng.integers(1, min(3, len(domain)) + 1))
    kinds = [
        lambda: Workload.marginals(domain, order),
        lambda: Workload.marginals(domain, order, whole=False),
        lambda: Workload.ranges(domain, domain.names[:1], 5, seed=int(rng.integers(99))),
        lambda: conditions(domain, rng),
        lambda: Workload.parities(domain, order),
    ]
    binary = set(domain.shape) == {2}
    return kinds[int(rng.integers(len(kinds) - (not binary)))]().weighted(float(rng.choice(WEIGHTS)))


def configuration(rng: np.random.Generator) -> MWEM:
    options: dict[str, Any] = {"refit": None} if rng.random() < 0.3 else {}
    return MWEM(
        rounds=ROUNDS[int(rng.integers(len(ROUNDS)))],  # type: ignore[arg-type]
        largest_tree=int(rng.choice([4, 9, 16, 1000])),
        repeats=bool(rng.integers(2)),
        offsets=bool(rng.integers(2)),
        selection_share=(None, 0.3, 0.9)[int(rng.integers(3))],
        error_share=float(rng.choice([0.0, 0.4])),
        law="permute-and-flip" if rng.random() < 0.2 else "exponential",
        initial="one-way" if rng.random() < 0.2 else "uniform",
        **options,
    )


def as_rows(source: DenseCounts, weighted: bool) -> Table:
    """The records of a histogram: each cell a row that counts, or each record a row."""
    counts = source.histogram.reshape(-1).astype(np.int64)
    cells = np.unravel_index(np.arange(counts.size), source.domain.shape)
    rows = np.repeat(np.arange(counts.size), counts)
    return (
        Table(source.domain, list(cells), counts) if weighted else Table(source.domain, [cell[rows] for cell in cells])
    )


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("seed", range(16))
def test_no_run_loses_more_than_it_charges(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain(IntegerRange("abc"[i], 0, size - 1) for i, size in enumerate(SHAPES[seed % len(SHAPES)]))
    relation, weighted = Neighbours.OF_RECORDS[seed % 2], bool(rng.integers(2))
    monkeypatch.setattr(selection, "MANY", int(rng.choice([0, 2**14])))
    while True:
        workload, config = family(domain, rng) + family(domain, rng), configuration(rng)
        try:
            config.check(workload, Regime.PURE)
        except (CandidatesTooLargeError, ConfigError):
            continue
        break
    budget = PureDP(float(rng.choice([1e-6, 0.3, 30.0])), relation)

    def run(source: DenseCounts, noise: NoiseSource) -> Release:
        return config.run(as_rows(source, weighted), workload, budget, noise=noise)

    counts = rng.choice([0, 0, 2, 6, 64], domain.size)
    counts[0] = 2
    losses_stay_below_the_charge(run, DenseCounts(domain, counts), relation, seeds=1)


def test_a_first_box_that_just_fits_is_measured() -> None:
    """Before anything is told apart a hypothesis over classes has two of the first attribute all the same."""
    domain = Domain((IntegerRange("a", 0, 3), IntegerRange("b", 0, 4)))
    workload = Workload.ranges(domain, ["a", "b"], 3, seed=61)
    config = MWEM(rounds=2, largest_tree=9)
    release = config.run(DenseCounts(domain, np.arange(20)), workload, PureDP(2.0), noise=SeededNoise(0))
    assert isinstance(release.model, ValueClasses)
    assert release.spent == pytest.approx(2.0)


def test_the_configurations_hold_classes_of_values_too() -> None:
    domain = Domain((IntegerRange("a", 0, 11),))
    workload = Workload.ranges(domain, ["a"], 5, seed=1)
    table = as_rows(DenseCounts(domain, np.arange(12)), weighted=True)
    assert isinstance(MWEM(rounds=2).run(table, workload, PureDP(1.0)).model, ValueClasses)
