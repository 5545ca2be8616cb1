"""Deliberate privacy bugs, and the check that each must fail.

A mutant is a patch and a check. The check passes on the code as it is, and raises AssertionError once the patch is
in: so the suite would notice that bug. `killed` runs both halves. Checks are plain functions over the public
behaviour of the code, so that one check serves several mutants, and they take what is *charged* from the ledger: a
mutant that draws less noise than it charges is caught whatever it claims.

For mutants of another room: make a list of `Mutant`, parametrise a test over it, and call `killed(mutant,
monkeypatch)`.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow.privacy.budgets.charging as charging_module
import hedgerow.privacy.budgets.regime as regime_module
import hedgerow.privacy.curator as curator_module
import hedgerow.privacy.randomness.source as source_module
import hedgerow.privacy.watch as watch_module
import hedgerow.queries.core.family as family_module
import hedgerow.queries.core.query as query_module
import hedgerow.queries.families.marginal as marginal_module
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import BudgetExceededError, ConfigError
from hedgerow.privacy import (
    ZCDP,
    Curator,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    MeasuredQuery,
    NoiseSource,
    OpenDPNoise,
    PaidNoise,
    PermuteAndFlip,
    PureDP,
    RecordCount,
    Regime,
    SeededNoise,
    Selection,
    charge_of,
)
from hedgerow.queries import (
    Marginal,
    Measurement,
    Neighbours,
    Persons,
    Relation,
    Sensitivity,
    Weight,
    Workload,
    of_marginal,
    of_query,
)
from tests.privacy.randomness.laws import exponential_log_law, laplace_log_pmf
from tests.privacy.replay import ExplodingNoise, ReplayNoise, log_likelihood, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of

Patch = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """A bug to plant, and the check that must notice it."""

    name: str
    patch: Patch
    check: Check

    def __str__(self) -> str:
        return self.name


def killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that the check passes without the bug and fails with it.

    Mutants share checks, so one that has passed is not made again without a bug.
    """
    if mutant.check not in PASSED:
        mutant.check()
        PASSED.add(mutant.check)
    with monkeypatch.context() as patched:
        mutant.patch(patched)
        try:
            mutant.check()
        except AssertionError as error:
            NOTICED.append((mutant.name, _place(error)))
            return
    pytest.fail(f"the mutant survives: {mutant.name}")


PASSED: set[Check] = set()
"""Checks that have passed without a bug."""
NOTICED: list[tuple[str, str]] = []
"""Names of the mutants that were killed so far, and what noticed each: for ``tests.mutation_score``."""


def _place(error: BaseException) -> str:
    """The outermost function with a name of its own, in the course of a check that failed."""
    frames = [
        *traceback.extract_tb(error.__traceback__),
        *traceback.extract_tb(getattr(error.__cause__, "__traceback__", None)),
    ]
    return next((frame.name for frame in frames if frame.name not in ("killed", "check", "<lambda>")), "its check")


# ---- what the checks run on ------------------------------------------------------------------------------------------

DOMAIN = binary(2)
PARITIES = Workload.parities(DOMAIN, 2)
MARGINALS = Workload.marginals(DOMAIN, 1)
TABLES = ([0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1], [2, 1, 0, 1])


class LawNoise(SeededNoise):
    """Seeded noise that also writes down the law of every choice, and how often it was asked for one."""

    def __init__(self) -> None:
        super().__init__(0)
        self.laws: list[Floats] = []

    def choose(self, scores: Floats, scale: float) -> int:
        self.laws.append(exponential_log_law(scores, scale))
        return super().choose(scores, scale)


def pairs(relation: Neighbours) -> Iterator[tuple[DenseCounts, DenseCounts]]:
    for histogram in TABLES:
        source = DenseCounts(DOMAIN, histogram, relation.persons)
        yield from ((source, neighbour) for neighbour in neighbours_of(source, relation))


def selection_loses_at_most_its_charge(workload: Workload, relation: Neighbours) -> None:
    """All log-ratios of the law of selection, over all neighbours, against the epsilon in the ledger."""

    @cache
    def law(counts: bytes, answers: bytes) -> tuple[Floats, float]:
        noise = LawNoise()
        source = DenseCounts(DOMAIN, np.frombuffer(counts), relation.persons)
        curator = Curator(source, PureDP(1.0, relation), noise=noise)
        curator.select(workload, np.frombuffer(answers), 0.5)
        return noise.laws[0], curator.ledger.spent

    for signs in ([1.0], [-1.0], [1.0, -1.0, -1.0, 1.0]):
        answers = 40.0 * np.resize(signs, workload.n_queries)
        for pair in pairs(relation):
            (one, _), (other, spent) = (law(source.histogram.tobytes(), answers.tobytes()) for source in pair)
            assert np.abs(one - other).max() <= spent + 1e-9


def measurement_loses_at_most_its_charge(workload: Workload, relation: Neighbours) -> None:
    """Exact privacy loss of transcripts, over all neighbours, against the epsilon in the ledger."""

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        curator = Curator(source, PureDP(1.0, relation), noise=noise)
        curator.measure(workload.candidate(0), 0.5)
        return curator.ledger.spent

    for seed, (source, neighbour) in enumerate(pairs(relation)):
        for one, other in ((source, neighbour), (neighbour, source)):
            transcript = record(run, one, seed)
            loss = log_likelihood(run, one, transcript) - log_likelihood(run, other, transcript)
            assert abs(loss) <= run(one, SeededNoise(0)) + 1e-9


def totals_of_neighbours_are_hidden(relation: Neighbours = Neighbours.ADD_REMOVE) -> None:
    """Replayed where totals are private, that of a neighbour is the recorded one, and at most epsilon was lost."""

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        return Curator(source, PureDP(1.0, relation), noise=noise).total(0.5)

    for source, neighbour in pairs(relation):
        transcript = record(run, source)
        replayed = [ReplayNoise(transcript), ReplayNoise(transcript)]
        totals = [run(table, noise) for table, noise in zip((source, neighbour), replayed, strict=True)]
        assert totals[0] == totals[1]
        assert abs(replayed[0].log_probability - replayed[1].log_probability) <= 0.5 + 1e-9


def laplace_divergence_is_at_most_its_rho() -> None:
    """Renyi divergence of discrete Laplace noise at unit shift, near order 1 and above, against the charge in zCDP."""
    noise = LaplaceNoise.for_charge(Regime.ZCDP, 0.2)
    support = np.arange(-2000, 2001)
    first, second = laplace_log_pmf(support, noise.scale), laplace_log_pmf(support - 1, noise.scale)
    for order in (1.001, 1.5, 2.0, 8.0):
        divergence = float(logsumexp(order * first - (order - 1) * second)) / (order - 1)
        assert divergence <= order * noise.charge(Regime.ZCDP) + 1e-9


def gaussian_divergence_is_at_most_its_rho(relation: Neighbours = Neighbours.REPLACE) -> None:
    """Squared distance of neighbouring marginals over two variances, against the rho in the ledger."""
    source = DenseCounts(DOMAIN, TABLES[-1], relation.persons)
    curator = Curator(source, ZCDP(1.0, relation), noise=SeededNoise(0))
    scale = curator.measure(MARGINALS.candidate(0), 0.1).scale
    distance = max(
        float(((x.marginals([("a",)])[0] - y.marginals([("a",)])[0]) ** 2).sum()) for x, y in pairs(relation)
    )
    assert distance / (2 * scale**2) <= curator.ledger.spent + 1e-12


def permute_and_flip_is_refused_in_zcdp() -> None:
    """It has no bounded range, so epsilon^2 / 8 is not its rho."""
    curator = Curator(DenseCounts(DOMAIN, TABLES[-1]), ZCDP(1.0), noise=SeededNoise(0))
    refused = False
    with suppress(ConfigError):
        refused = True
        curator.select(PARITIES, np.zeros(3), 0.1, law="permute-and-flip")
        refused = False
    assert refused


def no_record_causes_a_refusal(workload: Workload) -> None:
    """Selections go through, and lose at most their charge, on both sides of 2^31 over the largest value."""
    laws, answers = [], np.zeros(workload.n_queries)
    for records in (2147, 2148):
        noise = LawNoise()
        curator = Curator(DenseCounts(DOMAIN, [records, 0, 0, 0]), PureDP(1.0), noise=noise)
        curator.select(workload, answers, 0.5)
        laws.append(noise.laws[0])
    assert np.abs(laws[0] - laws[1]).max() <= curator.ledger.spent + 1e-9


def refusals_come_before_noise() -> None:
    """With a spent budget nothing is read or drawn, whatever is asked."""
    source = DenseCounts(DOMAIN, TABLES[-1])
    curator = Curator(source, PureDP(0.25), noise=ExplodingNoise())
    refused = 0
    for call in _calls(curator, 0.5):
        try:
            call()
        except BudgetExceededError:
            refused += 1
        except RuntimeError:
            pass
    assert refused == 4
    assert source.reads == 0


def answers_measured_together_are_paid_and_noisy_each() -> None:
    """Two answers of one table: two charges, and two noises."""
    for source in (OpenDPNoise(), SeededNoise(0)):
        curator = Curator(DenseCounts(DOMAIN, TABLES[-1]), PureDP(1.0), noise=source)
        target = Marginal(DOMAIN, DOMAIN.names)
        one, other = curator.measure_all([(target, 0.001), (target, 0.001)])
        assert curator.ledger.spent > 0.00199
        assert one.values.tolist() != other.values.tolist()


def threads_draw_noise_of_their_own() -> None:
    """Noise of many values, which is divided among threads, repeats nowhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_module, "usable_cores", lambda: 2)
        patch.setattr(source_module, "_VALUES_PER_THREAD", 500)
        noisy = OpenDPNoise().gaussian(np.zeros(1000, dtype=np.int64), 5.0)
    assert noisy[:500].tolist() != noisy[500:].tolist()


def failures_keep_the_charge() -> None:
    """Noise that explodes leaves the charge in the ledger."""
    for index in range(4):
        curator = Curator(DenseCounts(DOMAIN, TABLES[-1]), PureDP(1.0), noise=ExplodingNoise())
        with suppress(RuntimeError):
            _calls(curator, 0.5)[index]()
        assert curator.ledger.spent > 0.499


def _calls(curator: Curator, charge: float) -> list[Callable[[], object]]:
    return [
        lambda: curator.total(charge),
        lambda: curator.measure(PARITIES.candidate(0), charge),
        lambda: curator.select(PARITIES, np.zeros(3), charge),
        lambda: curator.workload_error(PARITIES, np.zeros(3), charge),
    ]


def masking_takes_one_draw_from_the_renormalised_law() -> None:
    """Of five candidates the likeliest is masked: one draw, from the law of the others alone."""
    workload = PARITIES + Workload.prefixes(DOMAIN, "a")
    source, answers = DenseCounts(DOMAIN, TABLES[-1]), np.array([60.0, 0.0, 0.0, 0.0, 0.0])
    mask = np.array([False, True, True, True, True])
    full, masked = LawNoise(), LawNoise()
    Curator(source, PureDP(1.0), noise=full).select(workload, answers, 0.5)
    chosen = Curator(source, PureDP(1.0), noise=masked).select(workload, answers, 0.5, eligible=mask)
    assert mask[chosen]
    assert len(masked.laws) == 1
    rest = full.laws[0][mask]
    assert masked.laws[0].shape == rest.shape
    assert np.allclose(masked.laws[0], rest - logsumexp(rest), atol=1e-12)


def ledgers_never_pass_their_limit() -> None:
    """Seven equal parts fit, an eighth is refused, and the sum is exact."""
    curator = Curator(DenseCounts(DOMAIN, TABLES[-1]), PureDP(0.7), noise=SeededNoise(0))
    refused = 0
    for _ in range(8):
        try:
            curator.measure(PARITIES.candidate(0), 0.1)
        except BudgetExceededError:
            refused += 1
    assert refused == 1
    assert math.fsum(event.charge for event in curator.ledger.events) <= 0.7


# ---- the bugs --------------------------------------------------------------------------------------------------------


def exponent_without_the_half(patch: pytest.MonkeyPatch) -> None:
    """Pr proportional to exp(epsilon score / Delta)."""
    patch.setattr(Selection, "epsilon", property(lambda self: self.sensitivity / self.scale))
    patch.setattr(
        ExponentialMechanism,
        "for_charge",
        classmethod(lambda cls, regime, amount, sensitivity=1.0: cls(sensitivity / amount, sensitivity)),
    )


def laplace_scale_off_by_two(patch: pytest.MonkeyPatch) -> None:
    """Scale T / epsilon instead of 2T / epsilon: half the noise that the charge pays for."""
    patch.setattr(LaplaceNoise, "epsilon", property(lambda self: self.l1 / self.scale / 2.0))
    patch.setattr(
        LaplaceNoise,
        "for_charge",
        classmethod(lambda cls, regime, amount, l1=1.0, step=1.0, bound=None: cls(l1 / amount / 2.0, l1, step)),
    )


def _magnitude_under_replace(low: float, high: float, neighbours: Neighbours) -> Sensitivity:
    bound = max(abs(low), abs(high))
    return Sensitivity(bound, bound)


def delta_1_for_parities_under_replace(patch: pytest.MonkeyPatch) -> None:
    """The sensitivity of add-remove, used under replace."""
    patch.setattr(query_module, "of_query", _magnitude_under_replace)
    patch.setattr(family_module, "of_query", _magnitude_under_replace)
    patch.setattr(watch_module, "of_query", _magnitude_under_replace)


def delta_1_for_marginals_under_replace(patch: pytest.MonkeyPatch) -> None:
    """A replaced record moves two cells, not one."""
    patch.setattr(query_module, "of_marginal", lambda neighbours: Sensitivity(1.0, 1.0))
    patch.setattr(marginal_module, "of_marginal", lambda neighbours: Sensitivity(1.0, 1.0))


def exact_total_under_add_remove(patch: pytest.MonkeyPatch) -> None:
    """The number of records as it is, which is private there."""

    def total(self: Any, charge: float) -> float:
        return float(max(1, self._Curator__source.total()))

    patch.setattr(Curator, "total", total)


def bounded_range_rho_for_laplace(patch: pytest.MonkeyPatch) -> None:
    """The epsilon^2 / 8 of the exponential mechanism, charged to Laplace noise."""
    patch.setattr(regime_module, "pure_rho", charging_module.bounded_range_rho)


def continuous_rho_for_discrete_laplace(patch: pytest.MonkeyPatch) -> None:
    """The epsilon + exp(-epsilon) - 1 of continuous noise."""
    patch.setattr(regime_module, "pure_rho", lambda epsilon: epsilon + math.expm1(-epsilon))


def rho_without_the_two(patch: pytest.MonkeyPatch) -> None:
    """Sigma = l2 / (2 sqrt(rho)), charged as rho."""
    patch.setattr(GaussianNoise, "charge", lambda self, regime: self.l2**2 / (4.0 * self.sigma**2))
    patch.setattr(
        GaussianNoise,
        "for_charge",
        classmethod(lambda cls, regime, amount, l2=1.0, step=1.0: cls(l2 / math.sqrt(4.0 * amount), l2, step)),
    )


def permute_and_flip_charged_as_exponential(patch: pytest.MonkeyPatch) -> None:
    """Permute-and-flip in zCDP at epsilon^2 / 8."""
    patch.setattr(
        PermuteAndFlip, "charge", lambda self, regime: ExponentialMechanism(self.scale, self.sensitivity).charge(regime)
    )
    patch.setattr(
        PermuteAndFlip,
        "for_charge",
        classmethod(
            lambda cls, regime, amount, sensitivity=1.0: cls(sensitivity / math.sqrt(2.0 * amount), sensitivity)
        ),
    )


@contextmanager
def unpaid(curator: Any) -> Iterator[Ledger]:
    """Books that nobody looks at, in place of the curator's: noise is drawn, and its ledger does not know."""
    noise, ledger = curator._Curator__noise, curator._Curator__ledger
    books = Ledger(1e9, ledger.unit)
    noise._PaidNoise__ledger = curator._Curator__ledger = books
    try:
        yield books
    finally:
        noise._PaidNoise__ledger = curator._Curator__ledger = ledger


@contextmanager
def drawing(curator: Any, **samplers: Callable[..., Any]) -> Iterator[Any]:
    """Some samplers of the curator's source exchanged; the source itself is given, to draw with."""
    noise = curator._Curator__noise
    source = noise._PaidNoise__source
    noise._PaidNoise__source = SimpleNamespace(**{name: getattr(source, name) for name in _SAMPLERS} | samplers)
    try:
        yield source
    finally:
        noise._PaidNoise__source = source


_SAMPLERS = ("laplace", "gaussian", "choose", "permute_and_flip", "draw", "random_bytes", "secret", "exceeds")


def charge_after_noise(patch: pytest.MonkeyPatch) -> None:
    """Measure first, pay later."""

    def measure(self: Any, target: Any, charge: float, **_: object) -> Measurement:
        noise = self.noise_for(target, charge)
        event = self._event("measure", MeasuredQuery.of(target), noise, target.size)
        with unpaid(self):
            self._Curator__noise.pay(event)
            values = self._perturb(curator_module.exact_units([target], self._Curator__source)[0], event, noise.step)
        self._Curator__ledger.charge(event)
        return Measurement(target, values, noise.kind, noise.scale)

    patch.setattr(Curator, "measure", measure)


def refund_on_failure(patch: pytest.MonkeyPatch) -> None:
    """Take the charge back when the noise could not be drawn."""
    added: Callable[..., list[Ints]] = PaidNoise.added_to_all

    def refunding(self: Any, values: Any, events: Any, steps: Any) -> list[Ints]:
        try:
            return added(self, values, events, steps)
        except RuntimeError:
            ledger = self._PaidNoise__ledger
            ledger._sum -= Fraction(ledger._events.pop().charge)
            raise

    patch.setattr(PaidNoise, "added_to_all", refunding)


def one_noise_for_many_answers(patch: pytest.MonkeyPatch) -> None:
    """Draw once for all answers of one scale that are measured together."""
    added: Callable[..., list[Ints]] = PaidNoise.added_to_all

    def sharing(self: Any, values: Any, events: Any, steps: Any) -> list[Ints]:
        found = added(self, values, events, steps)
        same = [event.scale == events[0].scale for event in events]
        first = found[0] - values[0]
        return [units + first if alike else each for units, each, alike in zip(values, found, same, strict=True)]

    patch.setattr(PaidNoise, "added_to_all", sharing)


def one_noise_for_all_threads(patch: pytest.MonkeyPatch) -> None:
    """Let each thread add what the first one drew."""

    def repeated(part: Callable[[int, int], Ints], length: int, threads: int) -> list[Ints]:
        return [part(0, length // threads)] * threads

    patch.setattr(source_module, "in_slices", repeated)


def first_of_many_answers_charged(patch: pytest.MonkeyPatch) -> None:
    """Let the first of several events pay for all."""
    charge = Ledger.charge
    patch.setattr(Ledger, "charge", lambda self, *events: charge(self, *events[:1]))


def unchecked_ledger(patch: pytest.MonkeyPatch) -> None:
    """Record without comparing with the limit."""
    patch.setattr(Ledger, "charge", _record)


def _record(ledger: Any, *events: Any) -> None:
    ledger._events.extend(events)
    ledger._sum += sum(Fraction(event.charge) for event in events)


def tolerant_ledger(patch: pytest.MonkeyPatch) -> None:
    """Let every charge through that starts below the limit."""

    def charge(self: Any, *events: Any) -> None:
        if self.spent >= self._limit:
            raise BudgetExceededError(requested=0.0, spent=self.spent, limit=self._limit, unit=self._unit)
        _record(self, *events)

    patch.setattr(Ledger, "charge", charge)


def masking_by_retry(patch: pytest.MonkeyPatch) -> None:
    """Draw among all until an eligible candidate comes up: the time tells how likely the others were."""
    select = Curator.select

    def retrying(self: Any, workload: Any, answers: Any, charge: float, *, eligible: Any = None, **rest: Any) -> int:
        with unpaid(self) as books:
            for _ in range(100):
                chosen = select(self, workload, answers, charge, **rest)
                if eligible is None or eligible[chosen]:
                    break
        self._Curator__ledger.charge(books.events[-1])
        return chosen

    patch.setattr(Curator, "select", retrying)


def masking_by_score_0(patch: pytest.MonkeyPatch) -> None:
    """Set masked scores to 0 instead of leaving them out: another law, and it can choose them."""
    places = curator_module.eligible_places
    errors = curator_module.grid_errors
    masks: list[np.ndarray] = []

    def all_places(workload: Workload, eligible: Any) -> np.ndarray:
        masks.append(places(workload, eligible))
        return places(workload, None)

    def zeroed(workload: Workload, exact: Floats, answers: Floats, places: np.ndarray) -> Floats:
        kept = np.zeros(workload.n_candidates)
        kept[masks[-1]] = 1.0
        return errors(workload, exact, answers, places) * kept[places]

    patch.setattr(curator_module, "eligible_places", all_places)
    patch.setattr(curator_module, "grid_errors", zeroed)


def refuse_by_the_exact_total(patch: pytest.MonkeyPatch) -> None:
    """Refuse where records times the largest value pass 2^31: an error that one record can cause."""
    answers = curator_module.exact_answers

    def refusing(workload: Workload, tables: Any, grain: float) -> Floats:
        largest = max(abs(bound) for family in workload.families for bound in family.bounds)
        assert tables.total() * largest <= 2**31
        return answers(workload, tables, grain)

    patch.setattr(curator_module, "exact_answers", refusing)


def queries_of_one_record(patch: pytest.MonkeyPatch) -> None:
    """m forgotten for queries."""
    for module in (query_module, family_module):
        patch.setattr(module, "of_query", lambda low, high, neighbours: of_query(low, high, neighbours.single))


def marginals_of_one_record(patch: pytest.MonkeyPatch) -> None:
    """m forgotten for marginals."""
    patch.setattr(query_module, "of_marginal", lambda neighbours: of_marginal(neighbours.single))


def marginals_of_scattered_records(patch: pytest.MonkeyPatch) -> None:
    """As if the m records of a person were in m cells."""

    def scattered(neighbours: Neighbours) -> Sensitivity:
        one = of_marginal(neighbours.single)
        return Sensitivity(neighbours.records * one.l1, neighbours.records**0.5 * one.l2)

    patch.setattr(query_module, "of_marginal", scattered)


def scores_of_one_record(patch: pytest.MonkeyPatch) -> None:
    """m forgotten where a workload says how far its scores move."""
    sensitivities = Workload.sensitivities
    patch.setattr(Workload, "sensitivities", lambda self, neighbours: sensitivities(self, neighbours.single))


def total_of_one_record(patch: pytest.MonkeyPatch) -> None:
    """m forgotten for the number of records."""

    def total(self: Any, charge: float) -> float:
        event = self._event("total", RecordCount(), noise := self._noise(1.0, 1.0, charge))
        self._Curator__noise.pay(event)
        return float(self._perturb(np.array([self._Curator__source.total()]), event, noise.step)[0])

    patch.setattr(Curator, "total", total)


def records_as_many_as_persons(patch: pytest.MonkeyPatch) -> None:
    """The number of records called public where that of persons is."""
    public = property(lambda self: self.relation is Relation.REPLACE)
    patch.setattr(Neighbours, "public_total", public)


def weights_are_always_1(patch: pytest.MonkeyPatch) -> None:
    """As if all persons with one record counted equally often, so that their number said how many records there are."""

    def step(self: Neighbours) -> Relation:
        several = self.persons is not None and self.persons.at_most != 1
        return Relation.REPLACE_FILTERED if several and self.relation is Relation.REPLACE else self.relation

    patch.setattr(Neighbours, "step", property(step))


def a_person_is_a_record(patch: pytest.MonkeyPatch) -> None:
    """Relations between whole tables that do not say who changes."""
    patch.setattr(Neighbours, "unfiltered", property(lambda self: self.single))


def releases_of_records_and_persons_do_not_add_up() -> None:
    """A limit about persons takes a release about persons, whatever its m, and none about records, nor vice versa."""

    def charged(budget: PureDP, limit: PureDP) -> float | None:
        try:
            return charge_of(budget, limit)
        except ConfigError:
            return None

    limits = PureDP(3.0, "add-remove of persons (id)"), PureDP(3.0)
    assert [charged(PureDP(1.0, THREE), limit) for limit in limits] == [1.0, None]
    assert [charged(PureDP(1.0), limit) for limit in limits] == [None, 1.0]


REPLACE = Neighbours.REPLACE
THREE = Neighbours.ADD_REMOVE.between(Persons("id", 3))
WEIGHED = Neighbours.REPLACE.between(Persons(None, 1, Weight("w", 2)))
TWO_REPLACED = Neighbours.REPLACE.between(Persons("id", 2))
LARGE = Workload.explicit(DOMAIN, ("a",), [[1e6, 0.0], [0.0, 1e6]])
MUTANTS = (
    Mutant("refuse by the exact total", refuse_by_the_exact_total, lambda: no_record_causes_a_refusal(LARGE)),
    Mutant(
        "exponential mechanism without the 1/2",
        exponent_without_the_half,
        lambda: selection_loses_at_most_its_charge(PARITIES, REPLACE),
    ),
    Mutant(
        "Laplace scale T / epsilon",
        laplace_scale_off_by_two,
        lambda: measurement_loses_at_most_its_charge(PARITIES, REPLACE),
    ),
    Mutant(
        "Delta 1 for values in [-1, 1] under replace, selected",
        delta_1_for_parities_under_replace,
        lambda: selection_loses_at_most_its_charge(PARITIES, REPLACE),
    ),
    Mutant(
        "Delta 1 for values in [-1, 1] under replace, measured",
        delta_1_for_parities_under_replace,
        lambda: measurement_loses_at_most_its_charge(PARITIES, REPLACE),
    ),
    Mutant(
        "Delta 1 for marginals under replace, selected",
        delta_1_for_marginals_under_replace,
        lambda: selection_loses_at_most_its_charge(MARGINALS, REPLACE),
    ),
    Mutant(
        "Delta 1 for marginals under replace, measured",
        delta_1_for_marginals_under_replace,
        lambda: measurement_loses_at_most_its_charge(MARGINALS, REPLACE),
    ),
    Mutant(
        "Delta 1 for marginals under replace, with Gaussian noise",
        delta_1_for_marginals_under_replace,
        gaussian_divergence_is_at_most_its_rho,
    ),
    Mutant("exact n under add-remove", exact_total_under_add_remove, totals_of_neighbours_are_hidden),
    Mutant(
        "epsilon^2 / 8 charged to Laplace noise", bounded_range_rho_for_laplace, laplace_divergence_is_at_most_its_rho
    ),
    Mutant(
        "continuous rho charged to discrete Laplace noise",
        continuous_rho_for_discrete_laplace,
        laplace_divergence_is_at_most_its_rho,
    ),
    Mutant("rho without the 2", rho_without_the_two, gaussian_divergence_is_at_most_its_rho),
    Mutant(
        "permute-and-flip charged as exponential",
        permute_and_flip_charged_as_exponential,
        permute_and_flip_is_refused_in_zcdp,
    ),
    Mutant("charge after noise: a refusal comes too late", charge_after_noise, refusals_come_before_noise),
    Mutant("charge after noise: a failure is free", charge_after_noise, failures_keep_the_charge),
    Mutant("refund on failure", refund_on_failure, failures_keep_the_charge),
    Mutant(
        "answers measured together share their noise",
        one_noise_for_many_answers,
        answers_measured_together_are_paid_and_noisy_each,
    ),
    Mutant("threads share their noise", one_noise_for_all_threads, threads_draw_noise_of_their_own),
    Mutant(
        "the first of several answers pays for all",
        first_of_many_answers_charged,
        answers_measured_together_are_paid_and_noisy_each,
    ),
    Mutant("a ledger that does not refuse", unchecked_ledger, refusals_come_before_noise),
    Mutant("a ledger that lets the last charge pass the limit", tolerant_ledger, refusals_come_before_noise),
    Mutant("mask by retry", masking_by_retry, masking_takes_one_draw_from_the_renormalised_law),
    Mutant("mask by score 0", masking_by_score_0, masking_takes_one_draw_from_the_renormalised_law),
    Mutant("a ledger that never refuses an eighth part", unchecked_ledger, ledgers_never_pass_their_limit),
    Mutant(
        "m forgotten for queries", queries_of_one_record, lambda: measurement_loses_at_most_its_charge(PARITIES, THREE)
    ),
    Mutant(
        "m forgotten for marginals",
        marginals_of_one_record,
        lambda: measurement_loses_at_most_its_charge(MARGINALS, TWO_REPLACED),
    ),
    Mutant(
        "L2 of marginals as if records were scattered",
        marginals_of_scattered_records,
        lambda: gaussian_divergence_is_at_most_its_rho(THREE),
    ),
    Mutant(
        "m forgotten for scores", scores_of_one_record, lambda: selection_loses_at_most_its_charge(MARGINALS, THREE)
    ),
    Mutant(
        "m forgotten for the number of records", total_of_one_record, lambda: totals_of_neighbours_are_hidden(THREE)
    ),
    Mutant(
        "exact n where persons are replaced",
        records_as_many_as_persons,
        lambda: totals_of_neighbours_are_hidden(TWO_REPLACED),
    ),
    Mutant(
        "exact n where records with weights are replaced",
        weights_are_always_1,
        lambda: totals_of_neighbours_are_hidden(WEIGHED),
    ),
    Mutant("records and persons added up", a_person_is_a_record, releases_of_records_and_persons_do_not_add_up),
)
