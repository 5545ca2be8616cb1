"""Labels above a threshold: their exact law between all neighbours, against the charge and the delta in the ledger."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import hedgerow.data.reading.batches as reading_module
import hedgerow.privacy.curator as curator_module
from hedgerow import MWEM, OnlinePMW
from hedgerow.algorithms import budget_with_thresholds, learn_domain, threshold_of, with_learnt
from hedgerow.arrays import Ints
from hedgerow.data import Labels, ReadOptions, Table, read_labels
from hedgerow.domain import Categorical, Domain, OpenDomain
from hedgerow.errors import BudgetError, BudgetExceededError, ConfigError, QueryError
from hedgerow.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Curator,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    PureDP,
    Regime,
    Register,
    SeededNoise,
    ThresholdedCounts,
    budget_from_dict,
    membership_guess,
)
from hedgerow.privacy.mechanisms.thresholds import tail_of
from hedgerow.quantities import at_most
from hedgerow.queries import Neighbours, Persons, Weight, Workload
from tests.privacy.mutants import Mutant, killed

DOMAIN = Domain([Categorical("job", (), missing="?", other="other")])
WANTED = OpenDomain({"job": {"values": {"learn": 50}}})
mpmath.mp.dps = 40


@dataclass
class Given:
    """Labels with their counts, as a table would have them."""

    held: dict[str, int]
    persons: Persons | None = None
    filtered: bool = False

    def counts(self, name: str) -> tuple[list[str], Ints]:
        assert name == "job"
        labels = sorted(label for label, count in self.held.items() if count)
        return labels, np.array([self.held[label] for label in labels], dtype=np.int64)


@dataclass
class Scripted(SeededNoise):
    """Notes what noise is added to, and adds what it was told to."""

    script: Any = 0
    handed: list[tuple[str, Ints, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(0)

    def laplace(self, values: Ints, scale: float) -> Ints:
        self.handed.append(("laplace", values.copy(), scale))
        return values + self.script

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        self.handed.append(("gaussian", values.copy(), sigma))
        return values + self.script


def told(
    held: dict[str, int], budget: ApproxDP, charge: float, delta: float, script: Any = 0, most: int = 50
) -> tuple[list[str], Event, Scripted]:
    noise = Scripted(script)
    persons = budget.neighbours.persons
    curator = Curator(Table(DOMAIN, [np.zeros(1, dtype=np.int64)], persons=persons), budget, noise=noise)
    found = curator.labels("job", Given(held, persons), charge, delta=delta, at_most=most)
    return found, curator.ledger.events[-1], noise


def budget_of(relation: str, most: int, regime: Regime, delta: float = 0.5) -> ApproxDP:
    persons = None if most == 1 else Persons("id", most)
    return ApproxDP(3.0, delta, Neighbours.of(relation).between(persons), regime, thresholds=delta * 0.9)


@cache
def pmf(kind: str, scale: float, value: int) -> Any:
    """The probability of noise of a value, to forty digits."""
    if kind == "laplace":
        base = mpmath.exp(-1 / mpmath.mpf(scale))
        return (1 - base) / (1 + base) * base ** abs(value)
    return mpmath.exp(-(mpmath.mpf(value) ** 2) / (2 * mpmath.mpf(scale) ** 2)) / whole(scale)


@cache
def whole(scale: float) -> Any:
    rest = mpmath.fsum(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(scale) ** 2)) for k in range(1, _far(scale)))
    return 1 + 2 * rest


def _far(scale: float) -> int:
    """So far that what is left is below the forty digits."""
    return math.ceil(15 * scale) + 15


@cache
def tail(kind: str, scale: float, least: int) -> Any:
    """Pr(Z >= least), exact to forty digits."""
    if least <= 0:
        return 1 - tail(kind, scale, 1 - least)
    if kind == "laplace":
        base = mpmath.exp(-1 / mpmath.mpf(scale))
        return base**least / (1 + base)
    return mpmath.fsum(pmf(kind, scale, k) for k in range(least, least + _far(scale)))


KINDS = {"laplace": LaplaceNoise, "gaussian": GaussianNoise}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.7, 40.0])
@pytest.mark.parametrize("sigmas", [0, 1, 4, 8])
def test_tails_are_exact_and_rounded_up(kind: str, scale: float, sigmas: int) -> None:
    least = math.ceil(sigmas * scale)
    exact = tail(kind, scale, least)
    assert exact <= tail_of(KINDS[kind](scale), least) <= exact * (1 + 1e-8)


def test_wide_tails_are_bounded_by_the_continuous_law() -> None:
    exact = tail("gaussian", 1500.0, 6000)
    assert exact <= tail_of(GaussianNoise(1500.0), 6000) <= exact * 1.01


def every_split(most: int) -> Iterator[tuple[int, ...]]:
    """All ways in which at most so many records lie on labels that nobody else has."""
    for labels in range(1, most + 1):
        yield from (each for each in combinations_with_replacement(range(1, most + 1), labels) if sum(each) <= most)


def delta_is_that_of_the_worst_split() -> None:
    """The largest sum of probabilities over all splits, found one by one; and no less than any split's own."""
    for kind, scale, most, above in product(KINDS, (0.4, 1.5, 6.0), (1, 2, 3, 4), (0, 1, 3, 9)):
        threshold = most + above
        found = ThresholdedCounts(KINDS[kind](scale), threshold).delta(most)
        sums = [mpmath.fsum(tail(kind, scale, threshold - k) for k in split) for split in every_split(most)]
        assert min(1, max(sums)) <= found * (1 + 1e-15)
        assert found <= min(1, max(sums)) * (1 + 1e-8)


def test_delta_is_that_of_the_worst_split() -> None:
    delta_is_that_of_the_worst_split()
    assert ThresholdedCounts(LaplaceNoise(1.0), 2).delta(3) == 1.0, "a threshold below the records of a person"


def splits(most: int, labels: str) -> Iterator[Counter[str]]:
    for number in range(most + 1):
        yield from map(Counter, combinations_with_replacement(labels, number))


def pairs(relation: str, most: int) -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Tables of others, with the records of one person, or of two in turn: labels that others have, and have not."""
    mine = [each for each in splits(most, "abc") if each]
    for others in (Counter(), Counter("a"), Counter("aabbb")):
        if relation == "add-remove":
            yield from ((others + each, others) for each in mine)
        else:
            same = [(one, two) for one in mine for two in mine if most > 1 or one != two]
            yield from ((others + one, others + two) for one, two in same)


def every_table_is_hidden() -> None:
    """What only one table tells has at most the event's delta; on the rest the noise costs at most its charge."""
    for relation, most, regime in product(("add-remove", "replace"), (1, 2), Regime):
        budget = budget_of(relation, most, regime)
        for one, two in pairs(relation, most):
            (_, event, noise), (_, beside, other) = (told(dict(each), budget, 0.3, 0.05) for each in (one, two))
            assert event == beside
            (kind, mine, scale), (_, theirs, also) = noise.handed[0], other.handed[0]
            assert scale == also == event.scale
            counts, against = _named(one, mine), _named(two, theirs)
            for have, lack in ((counts, against), (against, counts)):
                alone = [count for label, count in have.items() if label not in lack]
                shown = [tail(kind, scale, int(event.threshold_scale) - count) for count in alone]
                assert 1 - mpmath.fprod(1 - each for each in shown) <= min(event.delta, 0.05)
            moved = [counts[label] - against[label] for label in counts if label in against]
            if kind == "laplace":
                loss = sum(map(abs, moved)) / scale
                assert loss <= event.charge
            else:
                assert sum(each**2 for each in moved) / (2 * scale**2) <= event.charge
        assert event.delta <= 0.05


def test_every_table_is_hidden() -> None:
    every_table_is_hidden()


def test_the_whole_law_keeps_epsilon_and_delta() -> None:
    """Hockey-stick divergence of everything that comes out, noisy counts too, over all of it, under pure accounting."""
    budget = budget_of("add-remove", 2, Regime.PURE)
    for one, two in pairs("add-remove", 2):
        (_, event, noise), (_, _, other) = (told(dict(each), budget, 1.2, 0.05) for each in (one, two))
        threshold, scale = int(event.threshold_scale), event.scale
        reach = range(threshold, threshold + math.ceil(25 * scale))
        laws = []
        for handed in (_named(one, noise.handed[0][1]), _named(two, other.handed[0][1])):
            laws.append([_law(handed.get(label), scale, threshold, reach) for label in sorted({*one, *two})])
        lost = math.exp(event.charge)
        for first, second in (laws, laws[::-1]):
            assert np.maximum(_product(first) - lost * _product(second), 0.0).sum() <= event.delta * (1 + 1e-9)


def _named(table: Counter[str], handed: Ints) -> dict[str, int]:
    """Counts as they were handed in, by label."""
    return dict(zip(sorted(table), handed.tolist(), strict=True))


def _law(count: int | None, scale: float, threshold: int, reach: range) -> np.ndarray:
    """Not told, and told with each noisy count."""
    if count is None:
        return np.array([1.0, *np.zeros(len(reach))])
    mass = [float(pmf("laplace", scale, value - count)) for value in reach]
    return np.array([float(1 - tail("laplace", scale, threshold - count)), *mass])


def _product(laws: list[np.ndarray]) -> np.ndarray:
    found = np.ones(1)
    for law in laws:
        found = np.outer(found, law).ravel()
    return found


def labels_are_told_from_their_threshold_on() -> None:
    held = {"a": 10, "b": 10}
    budget = budget_of("add-remove", 1, Regime.ZCDP)
    _, event, _ = told(held, budget, 0.3, 0.05)
    least = int(event.threshold_scale) - 10
    assert told(held, budget, 0.3, 0.05, script=np.array([least, least - 1]))[0] == ["a"]


def labels_come_in_order() -> None:
    """Whatever the order of the records, and of their noisy counts; of too many those with the largest ones."""
    held, budget = {"c": 5, "a": 5, "b": 5}, budget_of("add-remove", 1, Regime.ZCDP)
    assert told(held, budget, 0.3, 0.05, script=np.array([90, 100, 95]))[0] == ["a", "b", "c"]
    assert told(held, budget, 0.3, 0.05, script=np.array([90, 100, 95]), most=2)[0] == ["b", "c"]
    assert told(held, budget, 0.3, 0.05, script=90, most=2)[0] == ["a", "b"]
    rows = pa.table({"job": ["c", "b", "c", "a"]})
    assert read_labels(rows, WANTED).counts("job")[0] == ["a", "b", "c"]


def labels_without_records_are_not_there() -> None:
    """Neither those of records that count nothing, nor those of records that are left out."""
    rows = pa.table({"job": ["a", "b", "b", "c"], "w": [1, 0, 0, 3], "id": [1, 2, 2, 2]})
    weighted = read_labels(rows, WANTED, ReadOptions(weight="w", largest_weight=2, extra_columns="ignore")).counts(
        "job"
    )
    assert (weighted[0], weighted[1].tolist()) == (["a", "c"], [1, 2])
    bounded = read_labels(rows, WANTED, ReadOptions(person="id", at_most=1, extra_columns="ignore")).counts("job")
    assert (len(bounded[0]), bounded[1].tolist()) == (2, [1, 1])


def refused(curator: Curator) -> bool:
    """Whether a look at labels would pass the delta for thresholds; then nothing is charged."""
    known = curator.ledger.events
    try:
        curator.labels("job", Given({"a": 10}), 1e-4, delta=1e-7, at_most=5)
    except BudgetExceededError as error:
        return error.unit == "delta of thresholds" and curator.ledger.events == known
    return False


def the_delta_is_paid_for() -> None:
    table = Table(DOMAIN, [np.zeros(1, dtype=np.int64)])
    for budget in (ApproxDP(1.0, 1e-6), ApproxDP(1.0, 1e-6, thresholds=1e-9), PureDP(1.0), ZCDP(1.0), GDP(1.0)):
        assert refused(Curator(table, budget, noise=Scripted()))
    curator = Curator(table, ApproxDP(1.0, 1e-6, thresholds=2e-7), noise=Scripted())
    assert [refused(curator) for _ in range(3)] == [False, False, True]


CHECKS = [
    labels_are_told_from_their_threshold_on,
    labels_come_in_order,
    labels_without_records_are_not_there,
    the_delta_is_paid_for,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_labels(check: Any) -> None:
    check()


def _delta(of: Any) -> Any:
    return lambda patched: patched.setattr(ThresholdedCounts, "delta", of)


def _counted_without_filter(self: Labels, name: str) -> tuple[list[str], Ints]:
    attribute = self._table.domain[name]
    counts = self._table.marginals([(name,)])[0][: attribute.ordinary].astype(np.int64)
    return list(attribute.labels[: attribute.ordinary]), counts


def _one_lower(patched: pytest.MonkeyPatch) -> None:
    known = curator_module.ThresholdedCounts.for_charge

    def lower(*args: Any, **options: Any) -> ThresholdedCounts:
        found = known(*args, **options)
        return ThresholdedCounts(found.noise, found.threshold - 1)

    patched.setattr(ThresholdedCounts, "for_charge", lower)


MUTANTS = [
    Mutant(
        "a threshold for one label with all records of a person",
        _delta(lambda self, records: tail_of(self.noise, max(0, self.threshold - records))),
        delta_is_that_of_the_worst_split,
    ),
    Mutant(
        "a threshold for labels with one record each",
        _delta(lambda self, records: min(1.0, records * tail_of(self.noise, self.threshold - 1))),
        delta_is_that_of_the_worst_split,
    ),
    Mutant(
        "a threshold for persons with one record",
        _delta(lambda self, records: tail_of(self.noise, self.threshold - 1)),
        every_table_is_hidden,
    ),
    Mutant(
        "a tail that begins beyond the threshold",
        _delta(
            lambda self, records: max(
                tail_of(self.noise, self.threshold - records + 1), records * tail_of(self.noise, self.threshold)
            )
        ),
        every_table_is_hidden,
    ),
    Mutant("a threshold one below the one that delta allows", _one_lower, every_table_is_hidden),
    Mutant(
        "thresholds that spend no delta",
        lambda patched: patched.setattr(Event, "delta", 0.0),
        the_delta_is_paid_for,
    ),
    Mutant(
        "noise on the counts of labels that no record has",
        lambda patched: patched.setattr(Labels, "counts", _counted_without_filter),
        labels_without_records_are_not_there,
    ),
    Mutant(
        "labels in another order than their own",
        lambda patched: patched.setattr(reading_module, "sorted", lambda each: sorted(each)[::-1], raising=False),
        labels_come_in_order,
    ),
    Mutant(
        "labels in the order of their counts",
        lambda patched: patched.setattr(curator_module, "sorted", list, raising=False),
        labels_come_in_order,
    ),
]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_threshold_mutants_die(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


@pytest.mark.parametrize("regime", Regime)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_the_threshold_is_the_lowest(regime: Regime, relation: str, delta: float) -> None:
    of = Neighbours.of(relation).between(Persons("id", 3))
    found = ThresholdedCounts.for_charge(regime, 0.01, delta=delta, l1=3.0, l2=3.0, records=of.records)
    assert found.delta(3) <= delta
    assert found.charge(regime) <= 0.01
    assert ThresholdedCounts(found.noise, found.threshold - 1).delta(3) > delta * (1 - 2.0**-19)


def test_a_tail_that_no_float_holds_is_not_nothing() -> None:
    for noise in (GaussianNoise(0.5), LaplaceNoise(0.01)):
        assert ThresholdedCounts(noise, 60).delta(1) > 0.0
    for delta in (0.0, 5e-324, 1e-300):
        with pytest.raises(ConfigError, match="delta of a threshold"):
            ThresholdedCounts.for_charge(Regime.ZCDP, 2.0, delta=delta, l1=3.0, l2=3.0, records=3)
    _, event, _ = told({"a": 3}, budget_of("add-remove", 1, Regime.ZCDP), 0.3, 0.05)
    far = Event.from_dict(event.to_dict() | {"threshold_scale": 1e6})
    with pytest.raises(BudgetExceededError):
        Ledger(1.0, "rho", [far])


def test_many_labels_are_named_in_one_pass() -> None:
    """As many steps as there are labels, and not their square."""
    rows = pa.table({"job": [f"job {i:05d}" for i in range(30_000)]})
    labels, counts = read_labels(rows, WANTED).counts("job")
    assert (len(labels), labels[-1], int(counts.sum())) == (30_000, "job 29999", 30_000)


@pytest.mark.parametrize("threshold", [0, -1, 1.0, True])
def test_a_threshold_is_a_count(threshold: Any) -> None:
    with pytest.raises(ConfigError, match="threshold of counts"):
        ThresholdedCounts(LaplaceNoise(1.0), threshold)


def test_an_event_says_its_threshold_and_cannot_be_made_cheaper() -> None:
    _, event, _ = told({"a": 3}, budget_of("add-remove", 1, Regime.ZCDP), 0.3, 0.05)
    assert Event.from_dict(event.to_dict()) == event
    assert event.delta == ThresholdedCounts(GaussianNoise(event.scale), int(event.threshold_scale)).delta(1)
    for changed in ({"threshold_scale": 0.0}, {"threshold_scale": 2.5}, {"charge": event.charge / 2}):
        with pytest.raises(BudgetError):
            Event.from_dict(event.to_dict() | changed)
    lower = Event.from_dict(event.to_dict() | {"threshold_scale": 1.0})
    assert lower.delta > 0.4
    with pytest.raises(BudgetExceededError):
        Ledger(1.0, "rho", [lower], thresholds=0.05)


def test_the_rest_of_delta_is_for_the_conversion() -> None:
    for regime in (Regime.ZCDP, Regime.GDP):
        kept, plain = ApproxDP(1.0, 1e-6, regime=regime, thresholds=4e-7), ApproxDP(1.0, 6e-7, regime=regime)
        assert kept.limit == pytest.approx(plain.limit, rel=1e-9)
        assert kept.limit <= plain.limit
    assert ApproxDP(1.0, 1e-6, regime=Regime.PURE, thresholds=1e-6).limit == 1.0
    assert budget_from_dict(kept.to_dict()) == kept
    assert "4e-07 of delta kept for thresholds" in kept.statement()
    assert membership_guess(kept) == pytest.approx(membership_guess(plain) + 2e-7, abs=1e-10)
    for thresholds in (1e-6, 2e-6, -1.0, math.nan, True):
        with pytest.raises(ConfigError, match="kept for thresholds"):
            ApproxDP(1.0, 1e-6, thresholds=thresholds)


def test_a_register_adds_deltas_up(tmp_path: Any) -> None:
    budget = ApproxDP(0.5, 1e-9, thresholds=5e-10)
    plain = Register(tmp_path / "plain.register", limit=ApproxDP(3.0, 1e-6))
    with pytest.raises(ConfigError, match="delta of their own"):
        plain.charge(budget)
    kept = Register(tmp_path / "kept.register", limit=ApproxDP(3.0, 1e-6, thresholds=1.2e-9))
    for _ in range(2):
        kept.charge(budget)
    with pytest.raises(BudgetExceededError, match=r"5e-10 delta of thresholds requested, 1e-09 of 1\.2e-09 spent"):
        kept.charge(budget)
    kept.charge(ApproxDP(0.5, 1e-9))
    assert Register(tmp_path / "kept.register").spent == kept.spent
    assert kept.contents().approximate()[1] == 1e-6


def test_labels_of_another_table_are_refused() -> None:
    budget = ApproxDP(1.0, 1e-6, thresholds=5e-7)
    curator = Curator(Table(DOMAIN, [np.zeros(1, dtype=np.int64)]), budget, noise=Scripted())
    with pytest.raises(ConfigError, match="other persons"):
        curator.labels("job", Given({"a": 1}, Persons("id", 2)), 1e-4, delta=1e-7, at_most=5)
    replaced = ApproxDP(1.0, 1e-6, "replace", thresholds=5e-7)
    curator = Curator(Table(DOMAIN, [np.zeros(1, dtype=np.int64)]), replaced, noise=Scripted())
    with pytest.raises(ConfigError, match="with a filter"):
        curator.labels("job", Given({"a": 1}, filtered=True), 1e-4, delta=1e-7, at_most=5)
    numbers = Domain([*OpenDomain({"age": {"min": 0, "max": 9, "bins": {"learn": 2}}}).fine])
    curator = Curator(Table(numbers, [np.zeros(1, dtype=np.int64)]), budget, noise=Scripted())
    with pytest.raises(QueryError, match="no labels"):
        curator.labels("age", Given({"a": 1}), 1e-4, delta=1e-7, at_most=5)


def test_values_are_learnt_beside_bins() -> None:
    wanted = OpenDomain(
        {
            "job": {"values": {"learn": 3}, "case": "fold", "synonyms": {"RN": "nurse"}},
            "age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}},
        }
    )
    jobs = ["Nurse"] * 2000 + ["RN"] * 1000 + ["clerk"] * 3000 + [f"rare {i}" for i in range(400)] + [""] * 50
    rows = pa.table({"job": jobs, "age": [i % 80 for i in range(len(jobs))]})
    budget = budget_with_thresholds(ApproxDP(2.0, 1e-9), wanted)
    noise = threshold_of(budget, wanted, "job")
    assert noise.threshold < 1000
    from hedgerow.data import read_table

    curator = Curator(read_table(rows, wanted.fine), budget, noise=SeededNoise(1))
    domain = learn_domain(curator, wanted, read_labels(rows, wanted))
    assert domain["job"].labels == ("clerk", "nurse", "?", "other")
    assert isinstance(domain["job"], Categorical)
    assert domain["job"].learnt
    assert domain["age"].ordinary == 4
    event = next(each for each in curator.ledger.events if each.delta)
    assert (event.scale, event.threshold_scale) == (noise.scale, noise.threshold)
    counts = read_table(rows, domain).marginals([("job",)])[0]
    assert counts.tolist() == [3000, 3000, 50, 400]


def test_a_session_that_starts_from_learnt_values_keeps_their_delta() -> None:
    wanted = OpenDomain({"job": {"values": {"learn": 3}}})
    rows = pa.table({"job": ["nurse"] * 2000 + ["clerk"] * 3000})
    budget = ApproxDP(2.0, 1e-6, thresholds=4e-7)
    from hedgerow.data import read_table

    curator = Curator(read_table(rows, wanted.fine), budget, noise=SeededNoise(1))
    domain = learn_domain(curator, wanted, read_labels(rows, wanted))
    table = read_table(rows, domain)
    again = Curator(table, budget, noise=SeededNoise(2), events=curator.ledger.events)
    release = MWEM(rounds=1).run_with(again, Workload.marginals(domain, 1))
    spent = sum(event.delta for event in release.events)
    assert 0.0 < spent <= 4e-7
    online = OnlinePMW(updates=2, threshold=0.1)
    for short in (ApproxDP(4.0, 1e-6), ApproxDP(4.0, 1e-6, thresholds=spent / 2.0), ZCDP(1.0)):
        with pytest.raises(ConfigError, match="learnt values by thresholds") as refused:
            online.start(table, short, warm=release, noise=SeededNoise(3))
    (kept,) = re.findall(r"thresholds=(\S+)\)", refused.value.remedy)
    assert with_learnt(ApproxDP(4.0, 1e-6), release).for_thresholds == float(kept) == spent
    assert [with_learnt(each, release) for each in (ZCDP(1.0), ApproxDP(4.0, 1e-9))] == [ZCDP(1.0), ApproxDP(4.0, 1e-9)]
    session = online.start(table, with_learnt(ApproxDP(4.0, 1e-6), release), warm=release, noise=SeededNoise(3))
    assert f"{at_most(float(kept), 3)} of delta kept for thresholds" in session.budget.statement()


def test_what_is_missing_is_told() -> None:
    curator = Curator(Table(WANTED.fine, [np.zeros(1, dtype=np.int64)]), ApproxDP(1.0, 1e-9), noise=Scripted())
    with pytest.raises(ConfigError, match="no labels"):
        learn_domain(curator, WANTED)
    with pytest.raises(ConfigError, match="no delta for thresholds"):
        learn_domain(curator, WANTED, Given({"a": 1}))
    with pytest.raises(ConfigError, match="--delta"):
        budget_with_thresholds(PureDP(1.0), WANTED)
    assert curator.ledger.events == ()
    light, weighed = ApproxDP(1.0, 1e-9, thresholds=5e-10), Persons(None, 1, Weight("w", 7))
    heavy = ApproxDP(1.0, 1e-9, Neighbours.ADD_REMOVE.between(weighed), thresholds=5e-10)
    assert threshold_of(heavy, WANTED, "job").scale == pytest.approx(7 * threshold_of(light, WANTED, "job").scale)
    with pytest.raises(ConfigError, match="were not read"):
        read_labels(pa.table({"job": ["a"]}), WANTED).counts("age")
    with pytest.raises(ConfigError, match="codes"):
        read_labels(pa.table({"job": ["a"]}), WANTED, ReadOptions(coded=True))
