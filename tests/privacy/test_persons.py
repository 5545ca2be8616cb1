"""Every mechanism between tables that differ in one person: exact losses by replay, over all neighbours.

Tables of up to 4 records over 4 cells, persons with up to 2 or 3 records, all three relations and all regimes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hedgerow.audit import relations
from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Budget,
    Curator,
    Event,
    MeasuredQuery,
    NoiseSource,
    PureDP,
    Regime,
    SeededNoise,
    SparseVector,
    Subsampled,
    budget_for,
    budget_from_dict,
)
from hedgerow.queries import Neighbours, Persons, Relation, Weight, Workload
from tests.privacy.mutants import (
    DOMAIN,
    MARGINALS,
    PARITIES,
    TABLES,
    gaussian_divergence_is_at_most_its_rho,
    measurement_loses_at_most_its_charge,
    pairs,
    selection_loses_at_most_its_charge,
    totals_of_neighbours_are_hidden,
)
from tests.privacy.replay import log_likelihood, record, record_answers, worst_loss
from tests.privacy.tables import DenseCounts, neighbours_of

WEIGHT = Weight("w", 3)
RELATIONS = [
    *(Neighbours(relation, Persons("id", m)) for relation, m in zip(Relation, (3, 2, 2), strict=True)),
    *(Neighbours(relation, Persons(None, 1, WEIGHT)) for relation in Relation),
    Neighbours(Relation.ADD_REMOVE, Persons("id", 2, Weight("w", 2))),
    Neighbours(Relation.REPLACE, Persons("id", 1, Weight("w", 2))),
]
by_relation = pytest.mark.parametrize("relation", RELATIONS, ids=str)
FIVE = Persons("id", 5)
SINGLE = PARITIES.by_query()
NEAR = np.zeros(PARITIES.n_queries)

Run = Callable[[Any, NoiseSource], Curator]


def largest_loss(run: Run, relation: Neighbours) -> tuple[float, float]:
    """The largest exact loss over all neighbours and a few transcripts, and what the ledger says."""
    largest, charged = 0.0, 0.0
    for seed, (one, other) in enumerate(pairs(relation)):
        transcript = record(run, one, seed)
        loss = log_likelihood(run, one, transcript) - log_likelihood(run, other, transcript)
        largest, charged = max(largest, abs(loss)), run(one, SeededNoise(0)).ledger.spent
    return largest, charged


@pytest.mark.many(quick=3)
@by_relation
@pytest.mark.parametrize("workload", [PARITIES, MARGINALS], ids=["parities", "marginals"])
def test_measurements_and_selections(relation: Neighbours, workload: Workload) -> None:
    measurement_loses_at_most_its_charge(workload, relation)
    selection_loses_at_most_its_charge(workload, relation)


@by_relation
def test_gaussian_noise(relation: Neighbours) -> None:
    gaussian_divergence_is_at_most_its_rho(relation)


@by_relation
def test_totals(relation: Neighbours) -> None:
    totals_of_neighbours_are_hidden(relation)


def test_the_number_of_records_is_public_where_persons_with_one_are_replaced() -> None:
    relation = Neighbours.REPLACE.between(Persons("id", 1))
    curator = Curator(DenseCounts(DOMAIN, [2, 1, 0, 1], relation.persons), PureDP(1.0, relation))
    assert curator.total(0.5) == 4.0
    assert curator.ledger.spent == 0.0
    assert Curator(
        DenseCounts(DOMAIN, [2, 1, 0, 1], FIVE), PureDP(1.0, "replace"), noise=SeededNoise(0)
    ).neighbours.value == ("replace of persons (id), at most 5 records")


@pytest.mark.many(quick=6)
@by_relation
@pytest.mark.parametrize("mechanism", ["select database", "draw", "error", "total"])
def test_other_looks(relation: Neighbours, mechanism: str) -> None:
    databases = 3.0 * np.array([[1, 1, 1], [-1, 1, -1], [1, -1, 0]], dtype=float)

    def run(source: Any, noise: NoiseSource) -> Curator:
        curator = Curator(source, PureDP(2.0, relation), noise=noise)
        match mechanism:
            case "select database":
                curator.select_database(SINGLE, databases, 0.5)
            case "draw":
                curator.draw(SINGLE, NEAR, 12.0, 3)
            case "error":
                curator.workload_error(PARITIES, NEAR, 0.5)
            case "total":
                curator.total(0.5)
        return curator

    loss, charged = largest_loss(run, relation)
    assert loss <= charged + 1e-9
    assert loss > 0.3 * charged


@pytest.mark.many(quick=2)
@by_relation
def test_sparse_vectors(relation: Neighbours) -> None:
    """Values that move as far as the sensitivity allows: at most epsilon is lost, and something of it."""
    target = SINGLE.candidate(0)
    moved = target.sensitivity(relation).l1
    mechanism = SparseVector.for_charge(Regime.PURE, 0.5, moved)

    def run(source: Any, noise: NoiseSource) -> Curator:
        curator = Curator(source, PureDP(1.0, relation), noise=noise)
        watch = curator.watch(mechanism)
        for threshold in (1.0, 2.0):
            if not watch.test(target, 0.0, threshold, "above"):
                continue
            break
        return curator

    largest = 0.0
    for answers in ([True], [False, True], [False, False]):
        for histogram in TABLES:
            source = DenseCounts(DOMAIN, histogram, relation.persons)
            transcript = record_answers(run, source, answers)
            largest = max(largest, worst_loss(run, source, neighbours_of(source, relation), transcript))
    assert 0.1 < largest <= 0.5 + 1e-9


def test_a_sparse_vector_for_records_is_none_for_persons() -> None:
    relation = Neighbours.ADD_REMOVE.between(Persons("id", 2))
    source = DenseCounts(DOMAIN, [2, 1, 0, 1], relation.persons)
    watch = Curator(source, PureDP(1.0, relation), noise=SeededNoise(0)).watch(
        SparseVector.for_charge(Regime.PURE, 0.5, 1.0)
    )
    with pytest.raises(Exception, match="by up to 2 counts"):
        watch.test(SINGLE.candidate(0), 0.0, 1.0, "above")


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1), GDP(0.3), ApproxDP(1.0, 1e-6)], ids=lambda each: each.kind)
def test_noise_is_m_times_as_wide_in_every_regime(budget: Budget) -> None:
    one = Curator(DenseCounts(DOMAIN, [2, 1, 0, 1]), budget, noise=SeededNoise(0))
    five = Curator(DenseCounts(DOMAIN, [2, 1, 0, 1], FIVE), budget, noise=SeededNoise(0))
    charge = 0.1 * budget.limit
    for target in (MARGINALS.candidate(0), SINGLE.candidate(0)):
        narrow, wide = (each.noise_for(target, charge).scale for each in (one, five))
        # under GDP what the lattice adds is less for wide noise
        assert wide == pytest.approx(5.0 * narrow, rel=2e-3 if five.regime is Regime.GDP else 1e-12)
        assert wide <= 5.0 * narrow * (1.0 + 1e-12)


@pytest.mark.parametrize("m", [2, 5, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_it_is_never_worse_than_a_smaller_epsilon_at_the_same_guarantee(m: int, epsilon: float) -> None:
    """Against group privacy: (epsilon / m, delta') is (epsilon, delta) for m records, with the best delta'."""
    delta, share = 1e-9, epsilon / m
    group = delta * math.expm1(share) / math.expm1(epsilon)
    source = DenseCounts(DOMAIN, [2, 1, 0, 1])
    bounded = DenseCounts(DOMAIN, [2, 1, 0, 1], Persons("id", m))
    for regime, gain in ((Regime.ZCDP, 1.0), (Regime.GDP, 1.0), (Regime.PURE, 1.0)):
        native = Curator(bounded, ApproxDP(epsilon, delta, regime=regime))
        divided = Curator(source, ApproxDP(share, group, regime=regime))
        scales = [each.noise_for(MARGINALS.candidate(0), each.budget.limit).scale for each in (native, divided)]
        assert scales[0] <= scales[1] * gain * (1.0 + 1e-9)
        if regime is not Regime.PURE and epsilon == 4.0:
            assert scales[0] < 0.99 * scales[1]


def test_budgets_about_other_persons_or_unbounded_tables_are_refused() -> None:
    source, bounded = DenseCounts(DOMAIN, [2, 1, 0, 1]), DenseCounts(DOMAIN, [2, 1, 0, 1], FIVE)
    about = PureDP(1.0, Neighbours.ADD_REMOVE.between(FIVE))
    assert budget_for(PureDP(1.0), bounded) == budget_for(about, bounded) == about
    assert budget_for(PureDP(1.0, "add-remove of persons (id)"), bounded) == about
    with pytest.raises(ConfigError, match="nothing bounds the records of a person"):
        Curator(source, about)
    with pytest.raises(ConfigError, match="nothing bounds the records of a person"):
        Curator(source, PureDP(1.0, "add-remove of persons (id)"))
    for other in (Persons("household", 5), Persons("id", 4), Persons("household")):
        with pytest.raises(ConfigError, match="the budget is about"):
            Curator(bounded, PureDP(1.0, Neighbours.ADD_REMOVE.between(other)))


def test_a_secret_sample_of_records_is_refused() -> None:
    sample = Subsampled(PureDP(1.0, "replace"), sampled=2, population=4)
    with pytest.raises(ConfigError, match="says nothing about persons"):
        Curator(DenseCounts(DOMAIN, [2, 1, 0, 1], FIVE), sample)
    with pytest.raises(ConfigError, match="needs a public n"):
        Subsampled(PureDP(1.0, Neighbours.REPLACE.between(FIVE)), sampled=2, population=4)


def test_events_of_records_are_none_of_persons() -> None:
    event = Event(
        "measure", "discrete Laplace", MeasuredQuery("marginal", ("a",)), 1.0, 4.0, 0.5, "epsilon", "add-remove", 2
    )
    with pytest.raises(BudgetError, match="an event was not charged between tables"):
        Curator(DenseCounts(DOMAIN, [2, 1, 0, 1], FIVE), PureDP(1.0), events=[event])


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("column", ["id", "a), at most 3 records", "of persons (x)", "é\n", "(), at most 1 record"])
@pytest.mark.parametrize("m", [None, 1, 2, 2**20])
def test_relations_are_read_as_they_are_written(relation: Relation, column: str, m: int | None) -> None:
    read_as_written(Neighbours(relation, Persons(column, m)))


@pytest.mark.many(quick=15)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("column", [None, "id", "a), at most 3 records, each of weight (b", "x) up to 5", "records of"])
@pytest.mark.parametrize("weight", ["w", " of weight ", ", each of weight", "é\n", "records of weight w up to 3"])
def test_weighted_relations_are_read_as_they_are_written(relation: Relation, column: str | None, weight: str) -> None:
    for m, largest in ((1, 1), (1, 2**20)) if column is None else ((1, 1), (7, 3), (2, 2**19)):
        read_as_written(Neighbours(relation, Persons(column, m, Weight(weight, largest))))


def read_as_written(wanted: Neighbours) -> None:
    assert Neighbours.of(wanted.value) == wanted
    budget = PureDP(1.0, wanted)
    assert budget_from_dict(budget.to_dict()) == budget
    if wanted.persons is not None and wanted.persons.at_most is not None:  # the auditor reads the text by itself
        assert relations.of_whole_tables(wanted.value) == wanted.unfiltered.value
        assert relations.squared_of_persons(wanted.value) == wanted.records**2
        assert relations.is_public(wanted.value) == wanted.public_total
        assert PureDP(1.0, wanted).statement().startswith(f"When {relations.in_words(wanted.value)}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "remove",
        "add-remove of persons",
        "add-remove of persons ()",
        "add-remove of persons (id), at most 0 records",
        "add-remove of persons (id), at most 05 records",
        "add-remove of persons (id), at most 1 records",
        "add-remove of persons (id), at most 2 record",
        "add-remove of persons (id), at most 1048577 records",
        "add-remove of persons (id) ",
        "add-remove of records",
        "add-remove of records of weight () up to 3",
        "add-remove of records of weight (w) up to 03",
        "add-remove of records of weight (w) up to 1048577",
        "add-remove of records of weight (a(b)) up to 3",
        "add-remove, each of weight (w) up to 3",
        "add-remove of persons (id), each of weight (w) up to 3",
        "add-remove of persons (id), at most 2 records of records of weight (w) up to 3",
        "add-remove of persons (id), at most 2000 records, each of weight (w) up to 2000",
    ],
)
def test_other_texts_are_no_relations(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)relation|cannot|nothing bounds|names no column"):
        Neighbours.of(text)
    with pytest.raises(ConfigError, match="there is no neighbouring relation"):
        PureDP(1.0, text)
    with pytest.raises(BudgetError, match="there is no neighbouring relation"):
        Event("measure", "discrete Laplace", MeasuredQuery("marginal", ("a",)), 1.0, 4.0, 0.5, "epsilon", text, 2)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3", 2**20 + 1])
def test_other_largest_weights_are_refused(bad: Any) -> None:
    with pytest.raises(ConfigError, match="a record cannot count up to"):
        Weight("w", bad)


def test_weights_and_persons_are_bounded_together() -> None:
    assert Persons("id", 2**10, Weight("w", 2**10)).records == 2**20
    with pytest.raises(ConfigError, match="nothing bounds how often a person counts, or not by 1,048,576"):
        Persons("id", 2**10, Weight("w", 2**10 + 1))
    with pytest.raises(ConfigError, match="nothing bounds"):
        Persons("id", None, Weight("w", 2))
    for column, at_most, weight in ((None, 1, None), (None, 2, WEIGHT), (None, None, WEIGHT), ("", 1, WEIGHT)):
        with pytest.raises(ConfigError, match="names no column"):
            Persons(column, at_most, weight)


def test_weighted_releases_add_up_with_those_of_the_same_whole_table() -> None:
    for relation in Neighbours.OF_RECORDS:
        single, of_persons = relation.between(Persons(None, 1, WEIGHT)), relation.between(Persons("id", 2, WEIGHT))
        assert single.unfiltered == relation.unfiltered
        assert of_persons.unfiltered == relation.between(Persons("id", 7)).unfiltered
        assert not single.public_total
        assert not of_persons.public_total


def test_a_weighted_table_has_a_weighted_budget() -> None:
    about = PureDP(1.0, Neighbours.ADD_REMOVE.between(Persons(None, 1, WEIGHT)))
    source = DenseCounts(DOMAIN, [2, 1, 0, 1], about.neighbours.persons)
    assert budget_for(PureDP(1.0), source) == budget_for(about, source) == about
    with pytest.raises(ConfigError, match="nothing bounds the records of a person or their weights"):
        Curator(DenseCounts(DOMAIN, [2, 1, 0, 1]), about)
    for other in (Persons(None, 1, Weight("w", 4)), Persons(None, 1, Weight("v", 3)), FIVE):
        with pytest.raises(ConfigError, match="the budget is about"):
            Curator(source, PureDP(1.0, Neighbours.ADD_REMOVE.between(other)))
    with pytest.raises(ConfigError, match="says nothing about persons"):
        Curator(source, Subsampled(PureDP(1.0, "replace"), sampled=2, population=4))


def test_the_sentence_says_weight() -> None:
    said = PureDP(1.0, Neighbours.ADD_REMOVE.between(Persons(None, 1, WEIGHT))).statement()
    assert said.startswith(
        "When one person's record is added or left out, where a record counts as often as its weight says (the column "
        "'w'), at most 3 times, the probability of any outcome"
    )
    said = PureDP(1.0, Neighbours.REPLACE.between(Persons("id", 2, WEIGHT))).statement()
    assert "of whose records at most 2 count, and each counts as often as its weight says (the column 'w')" in said


def test_the_sentence_says_person() -> None:
    said = PureDP(1.0, Neighbours.ADD_REMOVE.between(FIVE)).statement()
    assert said.startswith(
        "When all records of one person are added or left out, where a person is a value of the column 'id', of whose "
        "records at most 5 count, the probability of any outcome"
    )
