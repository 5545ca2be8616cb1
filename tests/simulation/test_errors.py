"""Simulated errors: those of runs done by hand, for every mechanism, and intervals that hold the truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import (
    MWEM,
    Domain,
    DualQuery,
    IndependentNoise,
    IntegerRange,
    OfflinePMW,
    Proximal,
    PureDP,
    Release,
    SeededNoise,
    Sweeps,
    Table,
    Workload,
    read_table,
    simulate_errors,
)
from hedgerow.algorithms import ENTRIES, Algorithm, entry, learn_domain, made_by
from hedgerow.domain import OpenDomain
from hedgerow.errors import ConfigError
from hedgerow.privacy import ZCDP, ApproxDP, Budget, Curator, Regime
from hedgerow.queries import Conjunction, LinearQuery, NoiseKind, Persons, Weight
from hedgerow.simulation import DrawnRecords, drawn as drawn_module, errors as module
from tests.reference.simulated_runs import cells_of, missed, simulated

DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 3, 2, 4), strict=True))
WORKLOAD = Workload.marginals(DOMAIN, 2)
CONDITIONS: list[dict[str, list[int]]] = [{"a": [1]}, {"b": [0, 2], "d": [1, 2]}, {"a": [0], "b": [1], "d": [3]}]


def table(n: int = 600, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    columns = [first, np.minimum(first + rng.integers(0, 2, n), 2), rng.integers(0, 2, n), rng.integers(0, 4, n)]
    return Table(DOMAIN, columns)


def made(config: Algorithm | None = None, budget: Budget | None = None, seed: int = 0) -> Release:
    return (config or MWEM()).run(table(), WORKLOAD, budget or PureDP(1.0), noise=SeededNoise(seed))


def test_runs_have_what_learning_the_domain_left() -> None:
    wanted = OpenDomain({"age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}})
    rows, budget = {"age": [i % 80 for i in range(2000)]}, PureDP(2.0)
    before = Curator(read_table(pa.table(rows), wanted.fine), budget, noise=SeededNoise(0))
    learnt = learn_domain(before, wanted, share=0.75)
    after = Curator(read_table(pa.table(rows), learnt), budget, noise=SeededNoise(1), events=before.ledger.events)
    release = MWEM(rounds=1).run_with(after, Workload.marginals(learnt, 1))
    assert release.spent > 1.9
    found = simulate_errors(release, 20, seed=0)
    whole = simulate_errors(replace(release, events=release.events[len(before.ledger.events) :]), 20, seed=0)
    assert found.errors.mean() > 3.0 * whole.errors.mean(), "a quarter was left"


@pytest.mark.slow
def test_runs_know_that_persons_have_several_records() -> None:
    """One fixed measurement: its noise is five times as wide, and so are its errors."""
    one = Table(DOMAIN, table().columns)
    five = Table(DOMAIN, table().columns, persons=Persons("id", 5))
    config, workload = IndependentNoise(), Workload.marginals(DOMAIN, 1)
    spreads = []
    for each in (one, five):
        release = config.run(each, workload, ZCDP(0.5), noise=SeededNoise(3))
        queries = [Conjunction.where(DOMAIN, condition) for condition in CONDITIONS[:1]]
        spreads.append(float(np.abs(simulate_errors(release, 60, seed=0).missed(queries)).mean()))
    assert 3.0 * spreads[0] < spreads[1] < 8.0 * spreads[0]


@pytest.mark.slow
def test_runs_know_that_records_have_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records are drawn for a population, and count so often that they are as many; noise is as wide as for it."""
    monkeypatch.setattr(drawn_module, "WEIGHTED_RECORDS", 500)
    weights = np.random.default_rng(0).integers(0, 40, 600)
    weighted = Table(DOMAIN, table().columns, weights, persons=Persons(None, 1, Weight("w", 40)))
    release = IndependentNoise().run(weighted, WORKLOAD, ZCDP(0.5), noise=SeededNoise(3))
    drawn = DrawnRecords.of(release.model, round(release.total), 0, release.budget.neighbours.persons)
    assert 400 < len(drawn.records.codes) <= 500
    assert drawn.total() == len(drawn.records.codes) * drawn.times == pytest.approx(release.total, rel=0.01)
    twin = Table(DOMAIN, list(drawn.records.codes.T), np.full(len(drawn.records.codes), drawn.times))
    for scope in (("a",), ("b", "d")):
        assert drawn.marginals([scope])[0].tolist() == twin.marginals([scope])[0].tolist()
    queries = [Conjunction.where(DOMAIN, condition) for condition in CONDITIONS]
    assert drawn.conjunctions(queries).tolist() == twin.conjunctions(queries).tolist()
    some = np.array([1, drawn.times, drawn.total() - 1])
    assert drawn.part(some).marginals([("d",)])[0].tolist() == twin.part(some).marginals([("d",)])[0].tolist()
    found = np.abs(simulate_errors(release, 40, seed=0).missed(queries[:1])).mean()
    assert 0.2 < found / release.measurements[0].scale < 5.0


def test_errors_are_those_of_runs_done_by_hand() -> None:
    release, config = made(MWEM(rounds=3)), MWEM(rounds=3)
    found = simulate_errors(release, 3, seed=5)
    runs = simulated(release, config, 3, 5)
    queries = [Conjunction.where(DOMAIN, condition) for condition in CONDITIONS]
    expected = [[missed(release, run, condition) for condition in CONDITIONS] for run in runs]
    assert np.allclose(found.missed(queries), expected, rtol=0.0, atol=1e-8)
    cells = [cell for scope in WORKLOAD.scopes for cell in cells_of(WORKLOAD, scope)]
    squares = np.mean([[missed(release, run, cell) ** 2 for cell in cells] for run in runs], axis=0)
    measured = [set(each.target.scope) for each in release.measurements]
    seen = np.array([any({*scope} <= each for each in measured) for scope in WORKLOAD.scopes])
    assert 0 < seen.sum() < len(seen)
    factors = np.repeat(np.where(seen, 1.0, module.VARIES * found.factor), WORKLOAD.lengths)
    assert np.allclose(found.deviations, factors * np.sqrt(squares), rtol=1e-9)


def test_the_seed_decides_everything() -> None:
    release, query = made(), Conjunction.where(DOMAIN, {"d": [1, 3]})
    one, same, other = (simulate_errors(release, 3, seed=seed).missed([query]) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()


def test_records_that_are_not_kept_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    release, query = made(), Conjunction.where(DOMAIN, {"d": [1, 3]})
    kept = simulate_errors(release, 3, seed=1).missed([query])
    monkeypatch.setattr(module, "_KEPT_BYTES", 0)
    assert simulate_errors(release, 3, seed=1).missed([query]).tolist() == kept.tolist()


def test_a_release_from_a_file_is_simulated_alike(tmp_path: pytest.TempPathFactory) -> None:
    release, path = made(), f"{tmp_path}/a.release"
    release.save(path)
    one, other = (simulate_errors(each, 2, seed=1) for each in (release, Release.load(path)))
    assert np.allclose(one.deviations, other.deviations, rtol=1e-6, atol=1e-6)


SETTINGS: list[tuple[Algorithm, Budget]] = [
    (MWEM(rounds=2, refit=None, output="average"), PureDP(1.0)),
    (MWEM(refit=Sweeps(3), noise=NoiseKind.LAPLACE), ZCDP(0.1)),
    (MWEM(refit=Proximal(polish=2), rounds="annealed"), ApproxDP(1.0, 1e-6)),
    (IndependentNoise(by="query"), PureDP(1.0, "replace")),
    (IndependentNoise(NoiseKind.GAUSSIAN), ApproxDP(1.0, 1e-6)),
    (OfflinePMW(rounds=16), PureDP(1.0)),
    (DualQuery(rounds=4, samples=20, seed=1), PureDP(2.0)),
]


@pytest.mark.parametrize(("config", "budget"), SETTINGS, ids=lambda each: type(each).__name__)
def test_every_mechanism_runs_again(config: Algorithm, budget: Budget) -> None:
    release = made(config, budget)
    provenance = release.provenance
    assert made_by(provenance.algorithm, json.loads(json.dumps(dict(provenance.parameters)))) == config
    found = simulate_errors(release, 2, seed=0).answer("a = 1 and d > 1")
    assert 0.0 <= found.low <= found.value <= found.high <= 2.0 * max(release.total, found.value)  # the total is noisy
    assert found.error > 0.0


@pytest.mark.parametrize("name", [each.name for each in ENTRIES])
def test_every_named_mechanism_is_restored(name: str) -> None:
    options = {"rounds": 7} if "rounds" in entry(name).options else {}
    config = entry(name).make(options)
    assert (
        made_by(type(config).__name__, json.loads(json.dumps(config.parameters()))).parameters() == config.parameters()
    )


def test_what_cannot_be_restored_is_refused() -> None:
    release = made()
    with pytest.raises(ConfigError, match="2 on"):
        simulate_errors(release, 1)
    online = replace(release, provenance=replace(release.provenance, algorithm="OnlinePMW"))
    with pytest.raises(ConfigError, match="no mechanism that makes a release in one run"):
        simulate_errors(online, 2)
    odd = {**release.provenance.parameters, "refit": {"kind": "Mine", "length": 3}}
    changed = replace(release, provenance=replace(release.provenance, parameters=odd))
    with pytest.raises(ConfigError, match="does not tell"):
        simulate_errors(changed, 2)
    assert simulate_errors(changed, 2, algorithm=MWEM(), seed=0).runs == 2


@pytest.mark.parametrize("text", ["where: a = 1 and b > 0; where: c = 1 and d < 2", "marginals:2", "parities:a*c"])
def test_queries_that_were_measured_one_by_one_are_not_widened(text: str) -> None:
    config = IndependentNoise(by="query")
    release = config.run(table(), Workload.parse(text, DOMAIN), PureDP(1.0), noise=SeededNoise(0))
    found = simulate_errors(release, 3, seed=0)
    queries = [query for query in (each.target for each in release.measurements) if isinstance(query, LinearQuery)]
    assert np.allclose(found.deviations, np.sqrt(np.mean(np.square(found.missed(queries)), axis=0)))


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    simulate_errors(made(), 2, seed=0, progress=lambda done, runs, _: told.append((done, runs)))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_the_whole_table_is_asked_about() -> None:
    found = simulate_errors(made(), 4, seed=0).answer("")
    assert found.low <= 600 <= found.high


def test_wider_confidence_is_wider_and_more_runs_are_narrower_in_the_quantile() -> None:
    few = simulate_errors(made(), 3, seed=0)
    narrow, wide = few.answer("d > 1", 0.5), few.answer("d > 1", 0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert few.widths(0.95) == pytest.approx(3.1824463 * few.deviations)  # Student's law with 3 degrees of freedom


def test_drawn_records_are_counted_like_a_table() -> None:
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, 50) for size in DOMAIN.shape])
    drawn, exact = DrawnRecords(DOMAIN, codes), Table(DOMAIN, list(codes.T))
    assert drawn.total() == exact.total()
    for scope in (("a",), ("b", "d")):
        assert drawn.marginals([scope])[0].tolist() == exact.marginals([scope])[0].tolist()
    queries = [Conjunction.where(DOMAIN, condition) for condition in CONDITIONS]
    assert drawn.conjunctions(queries).tolist() == exact.conjunctions(queries).tolist()
    some = np.array([1, 4, 30])
    assert drawn.part(some).marginals([("d",)])[0].tolist() == exact.part(some).marginals([("d",)])[0].tolist()


def covered(seeds: range, judge: Callable[[float], bool]) -> float:
    """Share of intervals that hold the truth, where everything is measured and records are as the hypothesis says."""
    exact = table()
    queries = [Conjunction.where(DOMAIN, cell) for scope in WORKLOAD.scopes for cell in cells_of(WORKLOAD, scope)]
    truth = [float(query.on(exact)[0]) for query in queries]
    held = []
    for seed in seeds:
        release = made(MWEM(), ZCDP(0.05), seed)
        found = simulate_errors(release, 10, seed=seed).answers(queries)
        held += [each.low <= true <= each.high for each, true in zip(found, truth, strict=True) if judge(true)]
    return float(np.mean(held))


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    """Six releases, whose 39 answers each are far from independent: the share varies by some 0.02 around 0.95."""
    assert 0.88 <= covered(range(6), lambda true: true >= 10.0) <= 0.999


def test_regimes_of_all_budgets_are_known() -> None:
    assert {budget.regime for _, budget in SETTINGS} >= {Regime.PURE, Regime.ZCDP}
