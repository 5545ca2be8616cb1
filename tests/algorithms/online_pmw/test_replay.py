"""The exact privacy loss of whole sessions, the secret thresholds integrated out (theory.md section 9)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import Known, Variant, two_sided_rules
from hedgerow.privacy import ApproxDP, Budget, Curator, NoiseSource, PureDP, SeededNoise, SparseVector, Watch
from hedgerow.queries import Explicit, LinearQuery, Neighbours
from tests.algorithms.online_pmw.cases import DOMAIN, REPLACE, ask_all_kinds, cells, random_queries, with_rules
from tests.privacy.mutants import Mutant, Patch, killed
from tests.privacy.replay import Output, Run, ScriptedNoise, privacy_loss, record, record_answers, worst_loss
from tests.privacy.tables import DenseCounts, neighbours_of

TABLES = ([3, 0, 0, 1, 0, 0, 2, 0], [0, 0, 0, 0, 0, 0, 0, 6])
ADD_REMOVE = Neighbours.ADD_REMOVE
STREAM: list[LinearQuery] = [*list(cells())[:7], *random_queries(2, 8)]


def session_run(variant: Variant, budget: Budget, queries: list[LinearQuery]) -> Run:
    """An adaptive analyst; 4a gets two updates by a rule of its own."""

    def run(source: DenseCounts, noise: NoiseSource) -> object:
        config = OnlinePMW(variant=variant) if variant == "4a" else OnlinePMW(variant, updates=2, threshold=0.2)
        return ask_all_kinds(config.start(source, budget, noise=noise), queries)

    return run


@pytest.fixture(autouse=True)
def _two_updates_for_4a(monkeypatch: pytest.MonkeyPatch) -> None:
    original = OnlinePMW.rules

    def rules(self: OnlinePMW, stream, budget, amount):  # type: ignore[no-untyped-def]
        if self.variant != "4a":
            return original(self, stream, budget, amount)
        return with_rules(lambda *given: two_sided_rules(*given, alpha=2.0))(self, stream, budget, amount)

    monkeypatch.setattr(OnlinePMW, "rules", rules)


def transcripts(run: Run, source: DenseCounts) -> Iterator[tuple[Output, ...]]:
    """As they come, and with tests answered in every way that matters."""
    for seed in range(2):
        yield record(run, source, seed)
    for first, second in ((0, 1), (1, 4), (3, 4)):
        answers = [place in (first, second) for place in range(40)]
        yield record_answers(run, source, answers, seed=first)
    yield record_answers(run, source, [False] * 40)


def largest_loss(run: Run, relation: Neighbours) -> float:
    worst = 0.0
    for histogram in TABLES:
        source = DenseCounts(DOMAIN, histogram)
        neighbours = list(itertools.islice(neighbours_of(source, relation), 0, None, 5))
        for transcript in transcripts(run, source):
            worst = max(worst, worst_loss(run, source, neighbours, transcript))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("variant", ["4a", "4c", "pay-as-you-go"])
def test_the_loss_of_a_session_is_at_most_epsilon(variant: Variant, relation: Neighbours) -> None:
    epsilon = 2.0
    worst = largest_loss(session_run(variant, PureDP(epsilon, relation), STREAM), relation)
    assert 0.05 * epsilon < worst <= epsilon + 1e-9


def test_the_loss_of_quiet_queries_under_zcdp_is_at_most_the_epsilon_of_their_epoch() -> None:
    """Answers with Gaussian noise have no such bound; without them the transcript is one AboveThreshold epoch."""
    budget = ApproxDP(0.9, 1e-6, REPLACE)
    run = session_run("4b", budget, STREAM)
    source = DenseCounts(DOMAIN, TABLES[0])
    epsilon = OnlinePMW("4b", updates=2, threshold=0.2).start(source, budget).rules.watch.epsilon
    quiet = record_answers(run, source, [False] * 40)
    assert 0.05 * epsilon < worst_loss(run, source, neighbours_of(source, REPLACE), quiet) <= epsilon + 1e-9


# ---- mutants ---------------------------------------------------------------------------------------------------------

BEFORE, AFTER = DenseCounts(DOMAIN, [4, 0, 0, 0, 0, 0, 0, 4]), DenseCounts(DOMAIN, [5, 0, 0, 0, 0, 0, 0, 3])


def worst_stream(variant: Variant, updates: int, answers: list[bool]) -> float:
    """A hand-built worst case: quiet queries whose errors fall from one table to the other, fires whose errors rise.

    All errors lie at the threshold, and the hypothesis is hardly moved by what it learns. Queries with nearly equal
    values stand for the same question, which a session would not test twice.
    """

    def query(number: int, *, fires: bool) -> Explicit:
        row = [0.0] * 8
        row[0 if fires else 7] = 1.0
        row[1] = number * 2.0**-20
        return Explicit.of(DOMAIN, DOMAIN.names, row)

    stream = [query(number, fires=yes) for number, yes in enumerate(answers)]

    def run(source: DenseCounts, noise: NoiseSource) -> object:
        config = OnlinePMW(variant, updates=updates, threshold=0.375, queries=10**6, step="residual")
        session = config.start(source, PureDP(4.0, REPLACE), noise=noise)
        session._basis = replace(session._basis, rules=replace(session.rules, step=1e-9))
        return [session.ask(each) for each in stream]

    recorded = [record_answers(run, BEFORE, answers, seed) for seed in range(5)]
    return max(abs(privacy_loss(run, BEFORE, AFTER, transcript)) for transcript in recorded)


def no_stream_loses_more_than_epsilon() -> None:
    """4c, and epochs that are redrawn, on streams with many quiet queries before and between the fires."""
    for variant, updates in (("4c", 3), ("pay-as-you-go", 3), ("4c", 1)):
        for quiet in (0, 3, 30):
            pattern = ([False] * quiet + [True]) * updates
            assert worst_stream(variant, updates, pattern) <= 4.0 + 1e-9, (variant, quiet)


@pytest.mark.slow
def test_hand_built_streams_lose_much_and_never_more_than_epsilon() -> None:
    no_stream_loses_more_than_epsilon()
    assert worst_stream("4c", 1, [False] * 100 + [True]) > 0.95 * 4.0
    assert worst_stream("4c", 3, ([False] * 40 + [True]) * 3) > 0.5 * 4.0


def one_threshold_for_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold rule of 4c at the scales of 4a and 4b: after a fire the next epoch goes on with the old noise."""
    original = Curator.watch
    kept: list[int] = []

    def watch(self: Curator, mechanism: SparseVector, *, label: str = "watch") -> Watch:
        noise = self._Curator__noise._PaidNoise__source  # type: ignore[attr-defined]
        if kept:
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(type(noise), "secret", lambda self, scale: kept[0])
                return original(self, mechanism, label=label)
        started = original(self, mechanism, label=label)
        kept.append(started.state().noise)
        return started

    monkeypatch.setattr(Curator, "watch", watch)


def noise_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests and threshold with Lap(1 / epsilon) of an epoch."""

    def wrong(regime, amount, sensitivity=1.0, fires=1, threshold_share=None):  # type: ignore[no-untyped-def]
        return SparseVector(sensitivity / amount, sensitivity / amount, sensitivity, fires)

    monkeypatch.setattr(SparseVector, "for_charge", staticmethod(wrong))
    monkeypatch.setattr(SparseVector, "charge", lambda self, regime: 1e-3)


def nothing_is_seen_after_the_last_fire() -> None:
    """Whatever is tested after c fires changes with the table, beyond what was charged."""
    source = DenseCounts(DOMAIN, TABLES[0])
    for variant in ("4c", "pay-as-you-go"):
        noise = ScriptedNoise([True] * 2 + [False] * 100, SeededNoise(0))
        session = OnlinePMW(variant, updates=2, threshold=0.2).start(source, PureDP(1.0, REPLACE), noise=noise)
        answers = [session.ask(query) for query in list(cells())[:2]]
        assert [answer.source for answer in answers] == ["data"] * 2
        reads = source.reads
        session.ask(random_queries(1, 11)[0])
        assert source.reads == reads


def epochs_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query is tested after c fires: a new sparse vector is started as often as one is needed, and not charged."""
    monkeypatch.setattr(SparseVector, "charge", lambda self, regime: 1e-15)
    monkeypatch.setattr(OnlineSession, "_end", lambda self: "")  # never closed


def each_answer_draws_its_own_noise() -> None:
    source = DenseCounts(DOMAIN, TABLES[0])
    run = session_run("pay-as-you-go", PureDP(2.0, REPLACE), STREAM)
    transcript = record_answers(run, source, [True, True])
    answers = [output for output in transcript if output.draw == "laplace"]
    assert len(answers) == 2
    scale = OnlinePMW("pay-as-you-go", updates=2, threshold=0.2).start(source, PureDP(2.0, REPLACE)).rules.answer_charge
    assert all(output.scale == pytest.approx(1.0 / scale) for output in answers)


def noise_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer's noise is used for all: a stand-in for any noise that is not fresh."""
    kept: list[object] = []
    original = Curator.measure

    def measure(self, target, charge, **options):  # type: ignore[no-untyped-def]
        if not kept:
            kept.append(original(self, target, charge, **options))
        return kept[0]

    monkeypatch.setattr(Curator, "measure", measure)


def epochs_are_charged_when_they_start() -> None:
    """A quiet epoch is charged as much as one that fires."""
    source = DenseCounts(DOMAIN, TABLES[0])
    noise = ScriptedNoise([False], SeededNoise(0))
    session = OnlinePMW("pay-as-you-go", updates=2, threshold=0.2).start(source, PureDP(2.0, REPLACE), noise=noise)
    answer = session.ask("a = 0")
    assert answer.charged == pytest.approx(session.rules.watch.epsilon)
    assert session.release().spent == pytest.approx(session.rules.watch.epsilon)


def epochs_charged_at_their_fire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseVector, "charge", lambda self, regime: 1e-12)


def redrawn_for_every_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh threshold noise for every query, under one charge."""
    original = OnlineSession._test

    def test(self: OnlineSession, query: LinearQuery, value: float) -> Known:
        self._watch = None
        return original(self, query, value)

    monkeypatch.setattr(OnlineSession, "_test", test)
    monkeypatch.setattr(OnlineSession, "_end", lambda self: "")  # never closed
    monkeypatch.setattr(SparseVector, "charge", lambda self, regime: 1e-15)


def one_secret_for_each_epoch() -> None:
    source = DenseCounts(DOMAIN, TABLES[0])
    for variant, secrets in (("4c", 1), ("pay-as-you-go", 2)):
        run = session_run(variant, PureDP(2.0, REPLACE), STREAM)
        transcript = record_answers(run, source, [False, False, True, False, True] + [False] * 40)
        assert [output.draw for output in transcript].count("secret") == secrets


MUTANTS: tuple[tuple[str, Patch, Callable[[], None]], ...] = (
    ("4c threshold with 4a scales", one_threshold_for_all_epochs, one_secret_for_each_epoch),
    ("Lap(1 / epsilon) for tests and thresholds", noise_of_the_source, no_stream_loses_more_than_epsilon),
    ("a query is tested after c fires", epochs_without_end, nothing_is_seen_after_the_last_fire),
    ("noise that was used before", noise_used_twice, each_answer_draws_its_own_noise),
    ("an epoch that is not charged when it starts", epochs_charged_at_their_fire, epochs_are_charged_when_they_start),
    ("a new threshold noise for every query", redrawn_for_every_query, one_secret_for_each_epoch),
)


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mutant", [Mutant(*each) for each in MUTANTS], ids=str)
def test_mutants_are_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
