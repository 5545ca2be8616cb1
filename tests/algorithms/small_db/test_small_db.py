"""SmallDB: the law against a dense reference, sensitivity by brute force, exact privacy loss, refusals, the bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hedgerow import SmallDB
from hedgerow.algorithms import BETA, answers_of
from hedgerow.algorithms.small_db.enumeration import databases, error_of_size, n_databases, size_for
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetExceededError, ConfigError, QueryError
from hedgerow.models import Empirical
from hedgerow.privacy import (
    ZCDP,
    Budget,
    Curator,
    PureDP,
    SeededNoise,
    curator as curator_module,
    database_sensitivity,
    public_databases,
)
from hedgerow.privacy.exact.lattice import exact_answers
from hedgerow.privacy.exact.scores import database_scores
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import losses
from tests.privacy.mutants import (
    LawNoise,
    Mutant,
    delta_1_for_parities_under_replace,
    exponent_without_the_half,
    killed,
)
from tests.privacy.randomness.laws import exponential_log_law
from tests.privacy.replay import ExplodingNoise
from tests.privacy.tables import DenseCounts, binary, histograms, neighbours_of
from tests.reference.dense_tables import DenseTables

RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
ADD_REMOVE, REPLACE = RELATIONS
PAIR, TRIPLE = binary(2), binary(3)
ROWS = np.array([[0.1, -0.7, 1 / 3, 0.25], [2.0, 0.3, -1.5, 0.0]])
WORKLOADS = {
    "cells": Workload.marginals(PAIR, 2),
    "parities": Workload.parities(PAIR, 2),
    "explicit": Workload.explicit(PAIR, ("a", "b"), ROWS),
    "mixed": Workload.marginals(PAIR, 1).weighted(0.25) + Workload.parities(PAIR, 2),
}


# The databases


def test_all_multisets_are_enumerated_once() -> None:
    for cells, size in product(range(1, 6), range(1, 5)):
        found = databases(cells, size)
        assert found.shape == (n_databases(cells, size), size)
        every = {tuple(sorted(each)) for each in product(range(cells), repeat=size)}
        assert {tuple(row) for row in found.tolist()} == every


@pytest.mark.parametrize("name", WORKLOADS)
def test_answers_of_databases_are_those_of_their_records(name: str) -> None:
    workload, cells = WORKLOADS[name].by_query(), databases(4, 3)
    for row, answers in zip(cells, answers_of(workload, cells), strict=True):
        counts = DenseCounts(PAIR, np.bincount(row, minlength=4))
        assert answers == pytest.approx(workload.answers(counts), abs=1e-12)


def test_sizes_follow_hoeffdings_inequality() -> None:
    cells, parities = WORKLOADS["cells"], WORKLOADS["parities"]
    assert size_for(cells, 0.1) == math.floor(math.log(8) / 0.02) + 1 == 104
    assert size_for(parities, 0.1) == math.floor(4 * math.log(6) / 0.02) + 1
    assert error_of_size(cells, 104) < 0.1 < error_of_size(cells, 103)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_some_database_is_as_good_as_promised(name: str, size: int) -> None:
    workload = WORKLOADS[name].by_query()
    answers = answers_of(workload, databases(4, size)) / size
    for histogram in histograms(4, 7):
        fractions = workload.answers(DenseCounts(PAIR, histogram)) / 7
        assert np.abs(answers - fractions).max(axis=1).min() <= error_of_size(workload, size)


# The scores


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_no_score_moves_by_more_than_the_sensitivity(name: str, relation: Neighbours) -> None:
    workload = WORKLOADS[name].by_query()
    # Multiples of n / k; and, for tightness, an answer far from all tables.
    answers = np.concatenate([answers_of(workload, databases(4, 2)) * (7 / 3), np.full((1, workload.n_queries), -50.0)])
    public, bound = public_databases(workload, answers), database_sensitivity(workload, relation)
    largest = 0.0

    def scores(counts: DenseCounts) -> np.ndarray:
        return database_scores(exact_answers(workload, counts), public)

    for records in range(5):
        for histogram in histograms(4, records):
            source = DenseCounts(PAIR, histogram)
            here = scores(source)
            for neighbour in neighbours_of(source, relation):
                largest = max(largest, float(np.abs(here - scores(neighbour)).max()))
    assert largest <= bound
    assert largest >= 0.99 * bound


def test_scores_are_exact() -> None:
    workload = WORKLOADS["explicit"]
    answers = np.random.default_rng(0).normal(size=(50, 2)) * 1e3
    public = public_databases(workload, answers)
    exact = exact_answers(workload, DenseCounts(PAIR, [2**29, 12_345, 7, 2**20 + 1]))
    for row, score in zip(public.tolist(), database_scores(exact, public).tolist(), strict=True):
        worst = max(abs(Fraction(float(e)) - Fraction(a)) for e, a in zip(exact, row, strict=True))
        assert Fraction(score) == -Fraction((worst * 1024).__floor__(), 1024)


def dense_log_law(workload: Workload, source: DenseCounts, size: int, total: float, scale: float) -> np.ndarray:
    """Pr proportional to exp(-max error / scale), from loops over databases and queries."""
    scores = []
    for row in databases(4, size):
        database = DenseCounts(PAIR, np.bincount(row, minlength=4) * (total / size))
        errors = workload.answers(source) - workload.answers(database)
        scores.append(-max(abs(float(error)) for error in errors))
    return exponential_log_law(scores, scale)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "deltas"), [("cells", (1, 1)), ("parities", (1, 2)), ("mixed", (1, 2))])
def test_the_law_is_the_exponential_mechanism_over_all_databases(
    name: str, deltas: tuple[int, int], relation: Neighbours
) -> None:
    noise, source = LawNoise(), DenseCounts(PAIR, [5, 0, 2, 1])
    config = SmallDB(size=3, error_share=0.0)
    release = config.run(source, WORKLOADS[name], PureDP(2.0, relation), noise=noise)
    epsilon = 2.0 * (0.98 if relation is ADD_REMOVE else 1.0)
    expected = dense_log_law(WORKLOADS[name], source, 3, release.total, 2 * deltas[relation is REPLACE] / epsilon)
    assert len(noise.laws) == 1
    assert noise.laws[0] == pytest.approx(expected, abs=0.01)  # scores are rounded to 2^-10


# Privacy

VARIANTS = {
    "cells": (SmallDB(size=2), WORKLOADS["cells"]),
    "alpha": (SmallDB(alpha=0.6, error_share=0.0), WORKLOADS["cells"]),
    "chosen size": (SmallDB(max_candidates=300), WORKLOADS["cells"]),
    "parities": (SmallDB(size=3), WORKLOADS["parities"]),
    "mixed": (SmallDB(size=2, total_share=0.3), WORKLOADS["mixed"]),
    "explicit": (SmallDB(size=3), WORKLOADS["explicit"]),
}


def no_transcript_loses_more(name: str, relation: Neighbours, seeds: range) -> None:
    config, workload = VARIANTS[name]
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), seeds))
        assert 0.0 < worst <= epsilon + 1e-9


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon(name: str, relation: Neighbours) -> None:
    no_transcript_loses_more(name, relation, range(4))


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon_at_length(name: str, relation: Neighbours) -> None:
    no_transcript_loses_more(name, relation, range(60))


def law(histogram: Any, workload: Workload, answers: np.ndarray, budget: Budget) -> np.ndarray:
    noise = LawNoise()
    Curator(DenseCounts(PAIR, histogram), budget, noise=noise).select_database(workload, answers, budget.limit)
    return noise.laws[0]


def choices_lose_at_most_the_charge(relation: Neighbours) -> None:
    """All log-ratios of the law of the choice, between databases that a record helps and harms."""
    workload = WORKLOADS["parities"]
    answers = np.array([[40.0, 40.0, 0.0]] + [[-40.0, -40.0, 0.0]] * 30)
    worst = 0.0
    for histogram in ([0, 0, 0, 0], [3, 0, 0, 0], [1, 1, 1, 1]):
        here = law(histogram, workload, answers, PureDP(1.0, relation))
        for near in neighbours_of(DenseCounts(PAIR, histogram), relation):
            there = law(near.histogram, workload, answers, PureDP(1.0, relation))
            worst = max(worst, float(np.abs(here - there).max()))
    assert 0.9 < worst <= 1.0 + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
def test_choices_lose_at_most_the_charge_and_come_near_it(relation: Neighbours) -> None:
    choices_lose_at_most_the_charge(relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_renyi_divergence_is_at_most_alpha_rho(relation: Neighbours) -> None:
    workload, rho = WORKLOADS["parities"], 0.3
    answers = answers_of(workload, databases(4, 3)) * 4.0
    for histogram in ([0, 0, 0, 12], [3, 0, 0, 0], [1, 1, 1, 1]):
        here = law(histogram, workload, answers, ZCDP(rho, relation))
        for near in neighbours_of(DenseCounts(PAIR, histogram), relation):
            there = law(near.histogram, workload, answers, ZCDP(rho, relation))
            for alpha in (1.01, 1.5, 2.0, 4.0, 16.0):
                divergence = math.log(float(np.exp(alpha * here + (1 - alpha) * there).sum())) / (alpha - 1)
                assert divergence <= alpha * rho + 1e-9


def unscaled_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """The sensitivity of a fraction, 1 / n, in place of that of a count."""
    patch.setattr(curator_module, "database_sensitivity", lambda workload, neighbours: 0.25)


def under(relation: Neighbours) -> Callable[[], None]:
    return lambda: choices_lose_at_most_the_charge(relation)


MUTANTS = (
    Mutant("exponential mechanism without the 1/2", exponent_without_the_half, under(REPLACE)),
    Mutant("Delta 1 for parities under replace", delta_1_for_parities_under_replace, under(REPLACE)),
    Mutant("sensitivity of a fraction", unscaled_sensitivity, under(ADD_REMOVE)),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


# Ledger


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", [PureDP, ZCDP])
def test_the_ledger_holds_the_closed_forms(budget: Any, relation: Neighbours) -> None:
    release = SmallDB(size=2).run(
        DenseCounts(PAIR, [4] * 4), WORKLOADS["parities"], budget(0.7, relation), noise=SeededNoise(0)
    )
    left = 0.7 * (1.0 - 0.03 - (0.02 if relation is ADD_REMOVE else 0.0))
    (choice,) = (event for event in release.events if event.label == "select database")
    delta = 1.0 if relation is ADD_REMOVE else 2.0
    assert choice.charge == pytest.approx(left, rel=1e-12)
    assert choice.sensitivity == delta
    y = delta / choice.scale
    price = 2.0 * y if budget is PureDP else y / math.tanh(y) - 1.0 + math.log(math.sinh(y) / y)
    assert price == pytest.approx(left, rel=1e-9)
    assert choice.target == "best of 10 databases"
    assert release.spent == pytest.approx(0.7, rel=1e-12)
    assert release.spent <= 0.7


def test_a_refusal_comes_before_anything_is_read_and_a_failure_keeps_the_charge() -> None:
    workload, source = WORKLOADS["parities"], DenseCounts(PAIR, [1, 2, 3, 4])
    curator = Curator(source, PureDP(0.25), noise=ExplodingNoise())
    with pytest.raises(BudgetExceededError):
        curator.select_database(workload, np.zeros((2, 3)), 0.5)
    assert (source.reads, curator.ledger.spent) == (0, 0.0)
    with pytest.raises(RuntimeError, match="drawn"):
        curator.select_database(workload, np.zeros((2, 3)), 0.2)
    assert curator.ledger.spent == pytest.approx(0.2)


SENSELESS = {
    "flat": np.zeros(3),
    "none": np.zeros((0, 3)),
    "too many": np.zeros((2, 4)),
    "nan": np.full((1, 3), np.nan),
    "infinite": np.full((1, 3), -np.inf),
    "huge": np.full((1, 3), 2.0**32),
}


@pytest.mark.parametrize("answers", SENSELESS.values(), ids=SENSELESS)
def test_senseless_answers_are_refused(answers: np.ndarray) -> None:
    curator = Curator(DenseCounts(PAIR, [1, 2, 3, 4]), PureDP(1.0), noise=ExplodingNoise())
    with pytest.raises(QueryError):
        curator.select_database(WORKLOADS["parities"], answers, 0.5)
    assert curator.ledger.spent == 0.0


def test_whole_marginals_are_refused_by_the_curator() -> None:
    curator = Curator(DenseCounts(PAIR, [1, 2, 3, 4]), PureDP(1.0), noise=ExplodingNoise())
    with pytest.raises(QueryError, match="by_query"):
        curator.select_database(WORKLOADS["cells"], np.zeros((1, 4)), 0.5)


# Refusals


def test_too_many_databases_are_refused_with_their_number() -> None:
    with pytest.raises(
        ConfigError, match=r"there are 1,140 databases of 17 records over 4 cells.*max_candidates = 1,000"
    ):
        SmallDB(alpha=0.25, max_candidates=1_000).check(WORKLOADS["cells"], PureDP(1.0).regime)
    with pytest.raises(
        ConfigError, match=r"databases of up to 16 records can be enumerated, for which alpha must pass 0\.255"
    ):
        SmallDB(alpha=0.25, max_candidates=1_000).check(WORKLOADS["cells"], PureDP(1.0).regime)
    SmallDB(alpha=0.256, max_candidates=1_000).check(WORKLOADS["cells"], PureDP(1.0).regime)


def test_large_domains_are_refused_before_anything_is_read() -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(12))
    workload = Workload.marginals(wide, 1)
    with pytest.raises(ConfigError, match=r"about 10\^23 databases of 2 records.*\n.*tiny domains"):
        SmallDB(size=2).check(workload, PureDP(1.0).regime)
    source = DenseCounts(PAIR, [1, 1, 1, 1])
    with pytest.raises(ConfigError, match="max_candidates"):
        SmallDB(size=200).run(source, WORKLOADS["cells"], PureDP(1.0), noise=ExplodingNoise())
    assert source.reads == 0


@pytest.mark.parametrize("alpha", [1e-4, 0.5])
def test_astronomic_numbers_are_refused_at_once(alpha: float) -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(60))
    with pytest.raises(ConfigError, match=r"databases of [0-9,]+ records over about 10\^60 cells"):
        SmallDB(alpha=alpha).check(Workload.marginals(wide, 1), PureDP(1.0).regime)
    with pytest.raises(ConfigError, match=r"more than 10\^30 databases"):
        SmallDB(size=10**7).check(Workload.marginals(binary(8), 1), PureDP(1.0).regime)


def test_a_line_of_two_cells_is_enumerated_as_far_as_memory_goes() -> None:
    workload = Workload.conjunctions(binary(1), ["a = 0"])
    chosen = SmallDB().plan(workload, PureDP(1.0, REPLACE), 10**9).facts
    assert chosen["databases"] == chosen["size"] + 1 == math.isqrt(2**25) + 1
    with pytest.raises(ConfigError, match="databases of up to 5,792 records can be enumerated"):
        SmallDB(size=6_000).check(workload, PureDP(1.0).regime)


def test_a_matrix_that_fits_no_memory_is_refused() -> None:
    line = Domain((IntegerRange("a", 0, 1999),))
    with pytest.raises(ConfigError, match="answers each are too many"):
        SmallDB(size=2, max_candidates=10**7).check(Workload.prefixes(line, "a"), PureDP(1.0).regime)


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": 0.1, "size": 3}, {"alpha": 0.0}, {"alpha": 1.0}, {"size": 0}, {"size": 2.5}, {"max_candidates": 0},
     {"beta": 0.0}, {"total_share": 0.0}, {"error_share": 0.99}],
    ids=str,
)  # fmt: skip
def test_senseless_configurations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Remedy"):
        SmallDB(**wrong)


# Accuracy

ACCURATE: dict[str, tuple[SmallDB, Workload, int]] = {
    "cells": (SmallDB(alpha=0.2, error_share=0.0), WORKLOADS["cells"], 1000),
    "parities": (SmallDB(size=12, error_share=0.0), WORKLOADS["parities"], 200),
    "chosen size": (SmallDB(max_candidates=2000, error_share=0.0), Workload.marginals(TRIPLE, 2), 300),
}
BUDGETS: tuple[Budget, ...] = (PureDP(1.0, REPLACE), ZCDP(0.5, REPLACE), PureDP(1.0, ADD_REMOVE))


def failures(name: str, budget: Budget, runs: int) -> tuple[int, float]:
    """In how many runs the error passes the bound, and the largest ratio of the loss of choosing to its part of it."""
    config, workload, n = ACCURATE[name]
    facts, count, largest = config.plan(workload, budget, total=n).facts, 0, 0.0
    queries = workload.by_query()
    for seed in range(runs):
        data = DenseTables.random(workload.domain, n, seed)
        release = config.run(data, workload, budget, noise=SeededNoise(seed))
        error = float(np.abs(workload.answers(release.model) - workload.answers(data)).max())
        count += error > facts["bound"]
        k = release.provenance.parameters["size"]
        every = answers_of(queries, databases(workload.domain.size, k)) * (release.total / k)
        best = float(np.abs(every - queries.answers(data)).max(axis=1).min())
        largest = max(largest, (error - best) / facts["bound_parts"]["choice"])
    return count, largest


@pytest.mark.parametrize("name", ACCURATE)
def test_the_theorem_holds(name: str) -> None:
    count, largest = failures(name, BUDGETS[0], 10)
    assert count <= int(binom.isf(1e-6, 10, BETA))
    assert largest > 0.0  # the choice is private, and costs something


@pytest.mark.audit
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "add-remove"])
@pytest.mark.parametrize("name", ACCURATE)
def test_the_theorem_holds_at_length(name: str, budget: Budget) -> None:
    count, largest = failures(name, budget, 200)
    assert count <= int(binom.isf(1e-6, 200, BETA))
    assert largest <= 1.0


def test_the_bound_is_the_theorems() -> None:
    workload, n, epsilon = WORKLOADS["cells"], 5000, 0.5
    facts = SmallDB(alpha=0.2, error_share=0.0).plan(workload, PureDP(epsilon, REPLACE), n).facts
    k = math.floor(math.log(8) / (2 * 0.04)) + 1
    theorem = 0.2 + 2.0 * (k * math.log(4) + math.log(1 / BETA)) / (epsilon * n)
    assert facts["size"] == k
    assert facts["alpha"] <= 0.2
    assert facts["bound"] / n == pytest.approx(theorem - 0.2 + facts["alpha"])
    assert facts["bound"] / n <= theorem


def test_the_chosen_size_has_the_smallest_bound() -> None:
    workload, budget = WORKLOADS["cells"], PureDP(1.0, REPLACE)
    for n in (10, 300, 10_000):
        chosen = SmallDB(max_candidates=5_000).plan(workload, budget, n).facts
        for size in range(1, 30):
            other = SmallDB(size=size, max_candidates=5_000).plan(workload, budget, n).facts
            assert chosen["bound"] <= other["bound"] + 1e-9
    assert SmallDB(max_candidates=5_000).plan(workload, budget, 10_000).facts["databases"] <= 5_000


# What comes out


def test_a_large_budget_finds_the_best_database() -> None:
    source = DenseCounts(PAIR, [20, 10, 0, 10])
    release = SmallDB(size=4).run(source, WORKLOADS["cells"], PureDP(1e4), noise=SeededNoise(0))
    assert isinstance(release.model, Empirical)
    assert release.model.codes.tolist() == [[0, 0], [0, 0], [0, 1], [1, 1]]
    assert WORKLOADS["cells"].answers(release.model) == pytest.approx([20, 10, 0, 10], abs=0.1)
    assert release.provenance.parameters["size"] == 4


def test_the_release_can_be_saved_and_sampled(tmp_path: Any) -> None:
    release = SmallDB(size=4).run(
        DenseCounts(PAIR, [20, 10, 0, 10]), WORKLOADS["cells"], PureDP(1.0), noise=SeededNoise(0)
    )
    release.save(tmp_path / "r.hedgerow")
    loaded = Release.load(tmp_path / "r.hedgerow")
    assert len(loaded.sample(8, seed=0)) == 8
    assert np.array_equal(loaded.workload.answers(loaded.model), release.workload.answers(release.model))


def test_progress_is_told_once() -> None:
    told: list[Any] = []
    source = DenseCounts(PAIR, [2, 2, 2, 2])
    SmallDB(size=2).run(source, WORKLOADS["cells"], PureDP(1.0), noise=SeededNoise(0), progress=told.append)
    assert [(report.round, report.rounds, report.chosen) for report in told] == [
        (1, 1, "one of 10 databases of 2 records")
    ]


def test_a_table_over_another_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match="another domain"):
        SmallDB(size=2).run(DenseCounts(TRIPLE, [1] * 8), WORKLOADS["cells"], PureDP(1.0), noise=ExplodingNoise())
