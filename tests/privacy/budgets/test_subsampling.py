"""Secret samples: the amplified guarantee against the enumeration of all samples, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logsumexp
from scipy.stats import chi2

import hedgerow.privacy.budgets.subsampling as subsampling_module
import hedgerow.privacy.mechanisms.selection as selection_module
from hedgerow import MWEM, DualQuery
from hedgerow.arrays import Floats, Ints
from hedgerow.data import RecordSource, Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetError, ConfigError
from hedgerow.models import Empirical
from hedgerow.privacy import (
    ZCDP,
    ApproxDP,
    Curator,
    Event,
    PureDP,
    QueryDraws,
    SeededNoise,
    SparseVector,
    Subsampled,
    amplified,
    budget_from_dict,
    epsilon_of,
)
from hedgerow.privacy.budgets.subsampling import secret_positions
from hedgerow.quantities import at_most
from hedgerow.queries import Marginal, Workload
from hedgerow.release import Release
from tests.privacy.mutants import Mutant, killed
from tests.privacy.randomness.laws import exponential_log_law
from tests.privacy.replay import ExplodingNoise, RecordingNoise
from tests.privacy.tables import DenseCounts

REPLACE = "replace"
BIT = Domain((IntegerRange("a", 0, 1),))
CELLS = Workload.marginals(BIT, 1, whole=False)
BUDGETS = [PureDP(1.0, REPLACE), ApproxDP(1.0, 1e-6, REPLACE)]  # type: ignore[arg-type]


# ---- the guarantee ---------------------------------------------------------------------------------------------------


@given(st.floats(1e-6, 60.0), st.integers(1, 50), st.integers(1, 50))
def test_the_amplified_epsilon(epsilon: float, one: int, other: int) -> None:
    sampled, population = sorted((one, other))
    share = sampled / population
    found = amplified(epsilon, share)
    expected = float(np.logaddexp(math.log1p(-share) if share < 1 else -np.inf, math.log(share) + epsilon))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert share * epsilon * (1 - 1e-12) <= found <= epsilon * (1 + 1e-12)


def test_the_guarantee_of_every_inner_budget() -> None:
    pure, approximate = (Subsampled(inner, 30, 100) for inner in BUDGETS)
    assert pure.approximate() == (amplified(1.0, 0.3), 0.0)
    assert approximate.approximate() == (amplified(1.0, 0.3), pytest.approx(0.3e-6))
    rho = Subsampled(ZCDP(0.05, REPLACE), 30, 100, delta=1e-5)  # type: ignore[arg-type]
    assert rho.approximate() == (amplified(epsilon_of(0.05, 1e-5), 0.3), pytest.approx(0.3e-5))
    for budget in (pure, approximate, rho):
        epsilon, delta = budget.approximate()
        assert (
            f"epsilon = {at_most(epsilon)} and delta = {at_most(delta, 3)}, amplified by a secret sample of 30 of 100"
            in (budget.statement())
        )
        assert budget_from_dict(budget.to_dict()) == budget
        assert (budget.limit, budget.unit, budget.regime) == (
            budget.inner.limit, budget.inner.unit, budget.inner.regime
        )  # fmt: skip


def test_it_never_helps_a_pure_budget() -> None:
    """The inner epsilon is n / m times that of the same noise on all records."""
    for epsilon in (0.01, 1.0, 5.0):
        for sampled in (1, 10, 99):
            assert Subsampled(PureDP(epsilon * 100 / sampled, REPLACE), sampled, 100).approximate()[0] >= epsilon  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inner", "sampled", "population", "delta"),
    [(PureDP(1.0), 1, 2, None), (PureDP(1.0, REPLACE), 0, 2, None), (PureDP(1.0, REPLACE), 3, 2, None),  # type: ignore[arg-type]
     (PureDP(1.0, REPLACE), 1.0, 2, None), (ZCDP(1.0, REPLACE), 1, 2, None), (ZCDP(1.0, REPLACE), 1, 2, 2.0),  # type: ignore[arg-type]
     (Subsampled(PureDP(1.0, REPLACE), 5, 10), 1, 5, None)],  # type: ignore[arg-type]
)  # fmt: skip
def test_impossible_budgets_are_refused(inner: object, sampled: int, population: int, delta: float | None) -> None:
    with pytest.raises(ConfigError):
        Subsampled(inner, sampled, population, delta)  # type: ignore[arg-type]


def test_damaged_budgets_are_refused() -> None:
    whole = Subsampled(PureDP(1.0, REPLACE), 5, 10).to_dict()  # type: ignore[arg-type]
    for part, value in (("inner", 3), ("inner", {"kind": "odd"}), ("sampled", None), ("extra", 1)):
        with pytest.raises(ConfigError):
            budget_from_dict({**whole, part: value})


# ---- the sample ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("population", "sampled"), [(5, 2), (5, 4), (4, 1), (3, 3)])
def test_every_sample_is_equally_likely(population: int, sampled: int) -> None:
    # A chi-square test at 1e-6.
    draws, noise = 4000, SeededNoise(3)
    sets = {each: 0 for each in combinations(range(population), sampled)}
    for _ in range(draws):
        sets[tuple(secret_positions(population, sampled, noise.random_bytes).tolist())] += 1
    expected = draws / len(sets)
    statistic = sum((count - expected) ** 2 / expected for count in sets.values())
    assert len(sets) == 1 or statistic < chi2.isf(1e-6, len(sets) - 1)


def test_rows_with_counts_are_taken_record_by_record() -> None:
    rng = np.random.default_rng(0)
    codes, counts = np.array([0, 1, 2]), np.array([4, 0, 3])
    table = Table(Domain((IntegerRange("a", 0, 2),)), [codes], counts)
    records = np.repeat(codes, counts)
    assert isinstance(table, RecordSource)
    plain = Table(table.domain, [records])
    for size in range(8):
        positions = np.sort(rng.choice(7, size, replace=False))
        expected = np.bincount(records[positions], minlength=3).tolist()
        for source in (table, plain):
            part = source.part(positions)
            assert part.marginals([("a",)])[0].tolist() == expected
            assert part.total() == size


# ---- the curator -----------------------------------------------------------------------------------------------------


def table_of(bits: Sequence[int]) -> Table:
    return Table(BIT, [np.array(bits, dtype=np.uint8)])


def test_a_curator_draws_one_sample_and_keeps_it() -> None:
    budget = Subsampled(PureDP(1.0, REPLACE), 10, 400)  # type: ignore[arg-type]
    curator = Curator(table_of([0, 1] * 200), budget, noise=SeededNoise(0))
    assert curator.total(0.0) == 10.0
    again = Curator(table_of([0, 1] * 200), budget, noise=SeededNoise(0))
    answers = np.zeros(2)
    assert curator.draw(CELLS, answers, 1e3, 5).tolist() == again.draw(CELLS, answers, 1e3, 5).tolist()


def test_what_cannot_be_sampled_is_refused() -> None:
    budget = Subsampled(PureDP(1.0, REPLACE), 10, 400)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="DenseCounts cannot be sampled"):
        Curator(DenseCounts(BIT, [200, 200]), budget)
    with pytest.raises(ConfigError, match="another number"):
        Curator(table_of([0, 1] * 100), budget)
    event = Event(
        "draw", "exponential mechanism, independent draws", QueryDraws(12), 1.0, 90.0, 0.1, "epsilon", REPLACE
    )
    with pytest.raises(BudgetError, match="another sample"):
        Curator(table_of([0, 1] * 200), budget, events=[event])
    with pytest.raises(ConfigError, match="DualQuery"):
        MWEM(rounds=1).run(table_of([0, 1] * 200), CELLS, budget)


def test_answers_of_a_sample_are_refused() -> None:
    curator = Curator(table_of([0, 1] * 200), Subsampled(PureDP(1.0, REPLACE), 10, 400))  # type: ignore[arg-type]
    for ask in (
        lambda: curator.measure(Marginal(BIT, ("a",)), 0.1),
        lambda: curator.workload_error(CELLS, np.zeros(2), 0.1),
        lambda: curator.select(CELLS, np.zeros(2), 0.1),
        lambda: curator.select_database(CELLS, np.zeros((1, 2)), 0.1),
        lambda: curator.watch(SparseVector(threshold_scale=9.0, test_scale=9.0, sensitivity=1.0)),
    ):
        with pytest.raises(ConfigError, match="DualQuery alone"):
            ask()
    assert curator.ledger.spent == 0.0


# ---- enumeration -----------------------------------------------------------------------------------------------------


class LawNoise(SeededNoise):
    """Writes down the log-law of the draws."""

    law: Floats

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        one = exponential_log_law(scores, scale)
        self.law = one if size == 1 else np.add.outer(one, one).reshape(-1)
        return super().draw(scores, scale, size)


def law_over_samples(
    bits: Sequence[int], sampled: int, scale: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Floats, float]:
    """Log-law of the output over the sample and the draws, and what the curator charged on the sample."""
    laws, n = [], len(bits)
    budget = Subsampled(PureDP(100.0, REPLACE), sampled, n)  # type: ignore[arg-type]
    for subset in combinations(range(n), sampled):
        with monkeypatch.context() as patched:
            patched.setattr(subsampling_module, "secret_positions", lambda *_, found=subset: np.array(found))
            noise = LawNoise(0)
            curator = Curator(table_of(bits), budget, noise=noise)
            curator.draw(CELLS, np.array([0.3 * sampled, 0.7 * sampled]), scale, size)
        laws.append(noise.law)
    return np.asarray(logsumexp(laws, axis=0) - math.log(len(laws))), curator.ledger.spent


def cases() -> Iterator[tuple[int, int, float, int]]:
    for n, sampled in ((2, 1), (4, 2), (5, 4), (6, 3), (8, 4)):
        for size in (1, 2):
            yield from ((n, sampled, scale, size) for scale in (0.25, 2.0))


def enumerated_loss_is_at_most_the_amplified_charge() -> float:
    """All tables of one bit, all neighbours, all samples; returns the largest loss per (m / n) epsilon."""
    largest = 0.0
    with pytest.MonkeyPatch.context() as monkeypatch:
        for n, sampled, scale, size in cases():
            laws = [
                law_over_samples([1] * ones + [0] * (n - ones), sampled, scale, size, monkeypatch)
                for ones in range(n + 1)
            ]
            for (one, spent), (other, _) in pairwise(laws):
                loss = float(np.abs(one - other).max())
                assert loss <= amplified(spent, sampled / n) + 1e-9
                largest = max(largest, loss / (spent * sampled / n))
    return largest


@pytest.mark.slow
def test_all_samples_enumerated() -> None:
    assert (
        enumerated_loss_is_at_most_the_amplified_charge() > 1.1
    )  # more than m / n times epsilon: the logarithm counts


def sensitivity_of_the_whole_table(patched: pytest.MonkeyPatch) -> None:
    """1 / n in place of 1 / m: the draws are charged as if the scale were that of n records."""
    charge = selection_module.IndependentDraws.charge
    patched.setattr(
        selection_module.IndependentDraws,
        "charge",
        lambda self, regime: charge(replace(self, scale=2 * self.scale), regime),
    )


MUTANTS = [
    Mutant(
        "subsampling: 1/n in place of 1/m",
        sensitivity_of_the_whole_table,
        enumerated_loss_is_at_most_the_amplified_charge,  # type: ignore[arg-type]
    )
]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_bugs_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


# ---- DualQuery -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [*BUDGETS, ZCDP(0.05, REPLACE)], ids=str)  # type: ignore[arg-type]
def test_dual_query_on_a_sample(inner: PureDP, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
    table = Table(domain, [(rng.random(4000) < p).astype(np.uint8) for p in (0.1, 0.3, 0.8)])
    workload = Workload.marginals(domain, 2)
    budget = Subsampled(inner, 1000, 4000, delta=1e-6)
    release = DualQuery(seed=0).run(table, workload, budget, noise=SeededNoise(0))
    assert isinstance(release.model, Empirical)
    assert (release.total, release.error) == (4000.0, None)
    chosen = release.provenance.parameters["chosen"]
    draws = [event for event in release.events if event.label == "draw"]
    assert draws[0].scale == pytest.approx(1000 / chosen["step"])  # of 1,000 records, not of 4,000
    assert release.spent == pytest.approx(budget.limit, rel=1e-3)
    plan = DualQuery().plan(workload, budget, total=4000)
    assert all(plan.facts[name] == value for name, value in chosen.items())
    assert "1,000 of 4,000 records" in dict(plan.lines(4000))["sample"]
    release.save(tmp_path / "r.release")
    loaded = Release.load(tmp_path / "r.release")
    assert loaded.budget == budget
    assert "amplified by a secret sample" in loaded.guarantee()


def test_any_source_of_noise_chooses_the_sample() -> None:
    """Not the seeded one alone: a recorded run sees the sample that its inner source drew."""
    budget = Subsampled(PureDP(1.0, "replace"), sampled=3, population=8)
    table = table_of([0, 1] * 4)
    drawn: list[int] = []

    class Watching(RecordingNoise):
        def random_bytes(self, size: int) -> bytes:
            drawn.append(size)
            return super().random_bytes(size)

    Curator(table, budget, noise=Watching(SeededNoise(0)))
    assert drawn
    with pytest.raises(RuntimeError, match="drawn"):
        Curator(table, budget, noise=ExplodingNoise())
