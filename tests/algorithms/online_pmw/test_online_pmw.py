"""Online private multiplicative weights: the invariants of theory.md section 4, and what a session promises."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hedgerow
from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import Variant, best_rules, theorem_rules, two_sided_rules
from hedgerow.algorithms.online_pmw import answer as online_answer
from hedgerow.algorithms.online_pmw.start import earlier_events
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import GRID, ZCDP, ApproxDP, Budget, Curator, PureDP, Regime, SeededNoise, cost_of, pure_rho
from hedgerow.queries import Conjunction, Explicit, Marginal, Neighbours, Parity
from tests.algorithms.online_pmw.cases import (
    BUDGETS,
    DOMAIN,
    REPLACE,
    ask_all_kinds,
    cells,
    random_queries,
    skewed,
    start,
    with_rules,
)
from tests.privacy.replay import ExplodingNoise, RecordingNoise, ScriptedNoise
from tests.privacy.tables import DenseCounts

QUERIES = list(cells())


def few_updates(monkeypatch: pytest.MonkeyPatch, variant: Variant, alpha: float = 1.5) -> None:
    """Variant 4a with a distinguishing error so large that it allows three updates."""
    if variant == "4a":
        monkeypatch.setattr(
            OnlinePMW,
            "rules",
            with_rules(lambda stream, budget, amount: two_sided_rules(stream, budget, amount, alpha)),
        )


# ---- invariants ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_there_are_never_more_fires_than_updates(
    variant: Variant, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that always say yes: the ledger holds what was planned, and nothing is refused."""
    few_updates(monkeypatch, variant)
    source = skewed(10_000)
    session = start(variant, budget, source, answers=[True] * 100)
    answers = [session.ask(query) for query in QUERIES]
    fired = [answer for answer in answers if answer.source == "data"]
    assert len(fired) == session.rules.updates in (3, 4)
    assert [answer.updates_left for answer in fired] == list(range(session.rules.updates - 1, -1, -1))
    assert all(answer.source == "hypothesis only" for answer in answers[len(fired) :])
    assert not session.is_open


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_the_end_is_told_with_the_last_correction(
    variant: Variant, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_updates(monkeypatch, variant)
    session = start(variant, budget, skewed(10_000), answers=[True] * 100)
    for query in QUERIES[: session.rules.updates]:
        assert (session.is_open, session.summary()["closed"]) == (True, "")
        session.ask(query)
    told, looks = session.summary(), session.looks(QUERIES[-1])
    assert (session.is_open, told["closed"], told["updates_left"]) == (False, "the corrections are used up", 0)
    assert (looks, session.looks(QUERIES[-1])) == (True, True)  # being told changes nothing
    assert session.ask(QUERIES[-1]).covers == f"nothing: {told['closed']}"


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_all_corrections_together_cost_their_price(
    variant: Variant, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_updates(monkeypatch, variant)
    session = start(variant, budget, skewed(10_000), answers=[True] * 100)
    before = session.spent
    for query in QUERIES[: session.rules.updates]:
        session.ask(query)
    assert session.updates_made == session.rules.updates > 1
    assert session.updates_made * session.price == pytest.approx(session.spent - before, rel=1e-12)


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_after_the_last_update_the_table_is_never_touched(
    variant: Variant, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_updates(monkeypatch, variant)

    def rest(*, exchange: bool) -> tuple[list[object], int, tuple[object, ...]]:
        source = skewed(10_000)
        session = start(variant, budget, source, answers=[True] * 100)
        for query in QUERIES[:4]:
            session.ask(query)
        session.ask(QUERIES[4])
        assert session.updates_left == 0
        if exchange:
            source.histogram = source.histogram[::-1, ::-1, ::-1].copy()
        reads = source.reads
        later = [session.ask(query) for query in [*QUERIES, *random_queries(20, 1)]]
        return [repr(answer) for answer in later], source.reads - reads, session.release().events

    same, reads, events = rest(exchange=False)
    assert reads == 0
    assert rest(exchange=True) == (same, 0, events)


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_the_secret_is_drawn_once_per_epoch_and_each_answer_has_its_own_noise(
    variant: Variant, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_updates(monkeypatch, variant)
    pattern = [False, False, True, True, False, True, False, False, False]
    noise = RecordingNoise(SeededNoise(0))
    sided = [answer for no in pattern for answer in ([False, no] if variant == "4a" else [no])]
    noise.inner = ScriptedNoise(sided, SeededNoise(0))
    session = start(variant, budget, skewed(10_000), noise=noise)
    sources = [session.ask(query).source for query in QUERIES[: 6 if session.rules.updates == 3 else 9]]
    drawn = [output.draw for output in noise.transcript]
    fires = sources.count("data")
    assert fires == 3
    assert drawn.count("laplace") + drawn.count("gaussian") == fires
    if variant == "4c":
        assert drawn.count("secret") == 1
    else:
        assert drawn.count("secret") == fires + (session.rules.updates > fires)
    for before, after in itertools.pairwise(noise.transcript):
        if after.draw in ("laplace", "gaussian"):
            assert (before.draw, before.value) == ("exceeds", True)
        if before.draw in ("laplace", "gaussian"):
            assert after.draw == ("exceeds" if variant == "4c" else "secret")


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_the_ledger_holds_epochs_and_answers_and_nothing_else(
    variant: Variant, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch is charged when it starts, whatever comes of it; together c epochs and c answers."""
    few_updates(monkeypatch, variant)
    session = start(variant, budget, skewed(10_000), answers=[True] * 100)
    rules, regime = session.rules, budget.regime
    assert session.spent == 0.0
    epoch = rules.watch.charge(regime)
    first = session.ask(QUERIES[0])
    assert first.charged == first.spent == pytest.approx(epoch + rules.answer_charge)
    for query in QUERIES:
        session.ask(query)
    planned = rules.draws * epoch + rules.updates * rules.answer_charge
    assert session.spent == pytest.approx(planned)
    assert session.spent <= budget.limit
    watch, moved = rules.watch, rules.watch.sensitivity + GRID
    rho = max(3 / (2 * watch.threshold_scale) ** 2, watch.fires / watch.test_scale**2) * moved**2
    assert epoch == pytest.approx(watch.epsilon if regime is Regime.PURE else rho)


def test_epochs_start_lazily() -> None:
    """No query, or none that needs the data: no epoch. After a fire the next epoch waits for the next query."""
    session = start("4b", BUDGETS[2][1], skewed(10_000), answers=[True, False])
    session.ask("a in (0, 1)")
    assert session.spent == 0.0
    session.ask("a = 0")
    after_one = session.spent
    session.ask("a = 0")
    assert session.spent == after_one
    session.ask("b = 0")
    assert session.spent == pytest.approx(after_one + session.rules.watch.charge(Regime.ZCDP))


def test_an_epoch_starts_only_if_its_answer_would_be_paid_for_too() -> None:
    budget = PureDP(1.0, REPLACE)
    source = skewed(10_000)
    curator = Curator(source, budget, noise=ScriptedNoise([True] * 9, SeededNoise(0)))
    session = OnlinePMW(variant="pay-as-you-go", updates=2, threshold=0.1).start_with(curator)
    session.ask("a = 0")
    curator.measure(Marginal(DOMAIN, ("a",)), 0.9 * session.rules.answer_charge)  # somebody else spends a little
    reads = source.reads
    answer = session.ask("b = 0")
    assert (answer.source, answer.charged, source.reads) == ("hypothesis only", 0.0, reads)
    assert session.summary()["closed"] == "the budget is spent"


@pytest.mark.parametrize(("variant", "alpha"), [("4a", 0.2), ("4b", 0.0), ("4c", 0.0), ("pay-as-you-go", 0.0)])
def test_every_update_lowers_the_potential(variant: Variant, alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By 15 alpha^2 / 32 (4a), or 2 a^2 (the others), as long as noises stay within their bounds."""
    budget: Budget = ApproxDP(1.0, 1e-6, REPLACE) if variant == "4b" else PureDP(1.0, REPLACE)
    if alpha:
        few_updates(monkeypatch, variant, alpha)
    source = skewed(200_000_000)
    session = OnlinePMW(variant=variant, queries=100, step="theorem").start(source, budget, noise=SeededNoise(3))
    truth = source.histogram / source.total()
    potentials = [_divergence(truth, session)]
    for query in [*QUERIES, *random_queries(60, 5)]:
        answer = session.ask(query)
        potentials.append(_divergence(truth, session))
        drop = potentials[-2] - potentials[-1]
        if answer.source == "data":
            assert session.rules.step != "refit"
            step = float(session.rules.step)
            assert drop >= (15 * (2 * step) ** 2 / 32 if variant == "4a" else 2 * (step / 4) ** 2)
        else:
            assert drop == pytest.approx(0.0, abs=1e-9)
    assert len([drop for drop in np.diff(potentials) if drop < -1e-9]) >= 2
    assert session.is_open


def _divergence(truth: np.ndarray, session: OnlineSession) -> float:
    model = session.model.marginals([DOMAIN.names])[0] / session.model.total
    inside = truth > 0
    return float(np.sum(truth[inside] * np.log(truth[inside] / model[inside])))


def test_twice_alpha_s_alone_would_not_bound_the_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Erratum: with T = 2 alpha_s the updates run out on queries that 2 max(alpha, alpha_s) leaves alone."""
    source = skewed(2_000_000_000)

    def left(*, unfixed: bool) -> int:
        def rules(stream, budget, amount):  # type: ignore[no-untyped-def]
            found = two_sided_rules(stream, budget, amount, 0.3)
            return replace(found, threshold=2e-4 * stream.unit) if unfixed else found

        monkeypatch.setattr(OnlinePMW, "rules", with_rules(rules))
        session = OnlinePMW(variant="4a", queries=1000).start(source, PureDP(1.0, REPLACE), noise=SeededNoise(0))
        for query in random_queries(200, 0):
            session.ask(query)
        return session.updates_left

    assert left(unfixed=False) > 80
    assert left(unfixed=True) == 0


# ---- what does not need the data -------------------------------------------------------------------------------------


def test_questions_about_nothing_or_everything_are_answered_without_data() -> None:
    source = skewed(1_000)
    session = start("4c", BUDGETS[3][1], source, noise=ExplodingNoise())
    reads = source.reads
    everything = ["a in (0, 1)", Conjunction(DOMAIN, (), ()), Explicit.of(DOMAIN, ["b"], [1, 1])]
    nothing = ["a = 0 and a = 1", Explicit.of(DOMAIN, ["b", "c"], np.zeros(4))]
    assert {(answer.value, answer.low, answer.high) for answer in map(session.ask, everything)} == {(1000, 1000, 1000)}
    assert {(answer.value, answer.low, answer.high) for answer in map(session.ask, nothing)} == {(0, 0, 0)}
    half = session.ask(Explicit.of(DOMAIN, ["b"], [0.5, 0.5]))
    assert (half.value, half.source, half.charged) == (500.0, "public", 0.0)
    assert (source.reads, session.spent) == (reads, 0.0)


def test_a_private_number_of_records_has_an_interval() -> None:
    session = OnlinePMW(updates=2, threshold=0.1).start(skewed(1_000), PureDP(1.0), noise=SeededNoise(0))
    answer = session.ask("a in (0, 1)")
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low < answer.value < answer.high
    assert session.ask("a = 0 and a = 1").high == 0.0
    assert session.spent == pytest.approx(0.02)


@pytest.mark.parametrize("fires", [True, False])
def test_the_same_question_in_other_words_is_free_and_has_the_same_answer(fires: bool) -> None:
    source = skewed(10_000)
    session = start("4c", BUDGETS[3][1], source, answers=[fires])
    first = session.ask("a = 0 and b = 1")
    reads, spent = source.reads, session.spent
    again = [
        "b = 1 and not a = 1",
        "a = 0 and b = 1 and c in (0, 1)",
        Explicit.of(DOMAIN, ["b", "a"], [[0, 1], [0, 0]]),
        Explicit.of(DOMAIN, ["a", "b", "c"], np.repeat([0, 1, 0, 0], 2)),
    ]
    for query in again:
        answer = session.ask(query)
        assert (answer.value, answer.low, answer.high) == (first.value, first.low, first.high)
        assert (answer.source, answer.charged) == ("cache", 0.0)
    assert (source.reads, session.spent) == (reads, spent)
    wider = session.ask("a = 0 and b = 1", confidence=0.999)
    assert first.low is not None
    assert wider.low is not None
    assert wider.low < first.low


def test_known_answers_stay_known_when_nothing_is_left() -> None:
    session = start("4b", BUDGETS[2][1], skewed(10_000), answers=[False, True, True, True, True])
    first = [session.ask(query) for query in QUERIES[:6]]
    assert first[-1].source == "hypothesis only"
    again = [session.ask(query) for query in QUERIES[:6]]
    assert [answer.source for answer in again] == ["cache"] * 5 + ["hypothesis only"]
    assert [(answer.value, answer.low) for answer in again] == [(answer.value, answer.low) for answer in first]


def test_after_the_planned_number_of_queries_the_hypothesis_answers_alone() -> None:
    source = skewed(10_000)
    session = start("4c", BUDGETS[3][1], source, answers=[False] * 9, queries=3)
    sources = [session.ask(query).source for query in [*QUERIES[:2], QUERIES[0], *QUERIES[2:5]]]
    assert sources == ["hypothesis", "hypothesis", "cache", "hypothesis", "hypothesis only", "hypothesis only"]
    answer = session.ask(QUERIES[7])
    assert (answer.low, answer.high, answer.has_interval) == (None, None, False)
    assert "planned number" in answer.covers


def test_pay_as_you_go_has_no_last_query() -> None:
    session = start("pay-as-you-go", BUDGETS[5][1], skewed(10_000), answers=[False] * 50, queries=3)
    assert all(session.ask(query).source == "hypothesis" for query in random_queries(50, 2))


def test_its_threshold_grows_with_the_logarithm_of_the_number_of_queries() -> None:
    rules = best_rules(_stream(1e7), PureDP(1.0), 1.0, "pay-as-you-go")
    growth = [rules.threshold_at(10 * j) - rules.threshold_at(j) for j in (1, 10, 1000)]
    assert growth == pytest.approx([2 * rules.watch.test_scale * math.log(10)] * 3, abs=1.5)


def _stream(records: float):  # type: ignore[no-untyped-def]
    from hedgerow.algorithms import Stream

    return Stream(records=records, log_cells=math.log(8), queries=100)


# ---- asking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 200])
def test_many_at_once_are_answered_as_one_by_one(count: int) -> None:
    queries = [*QUERIES[:5], *random_queries(count, 3), *QUERIES, *QUERIES[:3]]
    one, many = (start("4b", BUDGETS[2][1], skewed(10_000), noise=SeededNoise(4)) for _ in range(2))
    singly, together = [one.ask(query) for query in queries], many.ask_all(queries)
    assert [answer.source for answer in singly] == [answer.source for answer in together]
    assert [answer.value for answer in together] == pytest.approx([answer.value for answer in singly], abs=1e-6)
    assert one.summary() == many.summary()


def test_few_texts_are_remembered_and_forgotten_ones_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_answer, "_MOST_PARSED", 2)
    session = start("4c", PureDP(1.0, REPLACE), skewed(10_000))
    texts = [query.text for query in QUERIES]
    first = [session.ask(text).value for text in texts]
    assert [session.ask(text).value for text in texts] == first
    assert len(session._questions._parsed) <= 2


def test_a_bad_query_among_many_is_refused_before_any_is_answered() -> None:
    session = start("4b", BUDGETS[2][1], skewed(10_000))
    with pytest.raises(QueryError):
        session.ask_all(["a = 0", "d = 0"])
    assert session.summary()["answers"] == {}


@pytest.mark.parametrize(
    ("query", "word"),
    [
        (Marginal(DOMAIN, ("a",)), "one linear query"),
        ("d = 0", "d"),
        (Parity(DOMAIN, ("a",)), r"bounds=\(-1.0, 1.0\)"),
        (Explicit.of(DOMAIN, ["a"], [0, 3]), r"bounds=\(0.0, 3.0\)"),
    ],
)
def test_queries_that_do_not_fit_are_refused_before_anything_is_read(query: object, word: str) -> None:
    source = skewed(1_000)
    session = start("4b", BUDGETS[2][1], source)
    reads = source.reads
    with pytest.raises(hedgerow.errors.HedgerowError, match=word):
        session.ask(query)  # type: ignore[arg-type]
    assert (source.reads, session.spent) == (reads, 0.0)
    with pytest.raises(ConfigError, match="confidence"):
        session.ask("a = 0", confidence=1.0)
    for texts in (["a = 0"], []):
        with pytest.raises(ConfigError, match="confidence"):
            session.ask_all(texts, confidence=1.0)


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_parities_are_asked_where_the_bounds_allow_them(relation: Neighbours) -> None:
    """Width 2: where records are replaced one moves a parity by 2, and the scales know it."""
    source = DenseCounts(DOMAIN, [700, 0, 0, 300, 0, 0, 0, 1000])
    config = OnlinePMW(updates=4, threshold=0.05, bounds=(-1, 1))
    session = config.start(source, PureDP(20.0, relation), noise=SeededNoise(1))
    narrow = OnlinePMW(updates=4, threshold=0.05).start(source, PureDP(20.0, relation), noise=SeededNoise(1))
    factor = 1.0 if relation is Neighbours.ADD_REMOVE else 2.0
    assert session.rules.watch.test_scale == pytest.approx(factor * narrow.rules.watch.test_scale)
    assert session.rules.threshold == pytest.approx(2 * narrow.rules.threshold, rel=0.01)
    answer = session.ask(Parity(DOMAIN, ("b", "c")))
    assert answer.source == "data"
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low <= 2000 <= answer.high
    assert session.model.marginals([("b", "c")])[0][0, 1] < 200
    mixed = session.ask(Explicit.of(DOMAIN, ["a", "b"], [[0.5, -1], [1, 0]]))
    assert mixed.low is not None
    assert mixed.high is not None
    assert mixed.low <= 0.5 * 700 - 300 + 0.0 <= mixed.high


def test_intervals_stay_within_what_is_possible() -> None:
    session = start("4c", PureDP(0.05, REPLACE), skewed(1_000), answers=[False, True] * 20)
    for query in QUERIES:
        answer = session.ask(query)
        if answer.low is not None and answer.high is not None:
            assert 0 <= answer.low <= answer.value <= answer.high <= 1000


# ---- warm starts -----------------------------------------------------------------------------------------------------


def earlier(source: DenseCounts, budget: Budget, seed: int = 0) -> hedgerow.Release:
    workload = hedgerow.Workload.marginals(source.domain, 2)
    return hedgerow.MWEM(rounds=2).run(source, workload, budget, noise=SeededNoise(seed))


def test_a_warm_start_knows_what_the_release_knows_and_pays_for_it() -> None:
    source = skewed(100_000)
    release = earlier(source, PureDP(1.0, REPLACE))
    cold = OnlinePMW(updates=3, threshold=0.05).start(source, PureDP(2.0, REPLACE), noise=SeededNoise(1))
    warm = OnlinePMW(updates=3, threshold=0.05).start(source, PureDP(2.0, REPLACE), noise=SeededNoise(1), warm=release)
    assert warm.spent == pytest.approx(release.spent)
    truth = 100_000 - 7 * (25_000 // 7)
    assert abs(warm.ask("a = 0 and b = 0 and c = 0").value - truth) < 0.25 * truth
    assert cold.model.marginals([("a",)])[0][0] == 50_000
    mixed = release.model.marginals([DOMAIN.names])[0] * 0.9 + 0.1 * 100_000 / 8
    config = OnlinePMW(updates=3, threshold=0.05, uniform_share=0.1)
    fresh = config.start(source, PureDP(2.0, REPLACE), noise=SeededNoise(1), warm=release)
    assert fresh.model.marginals([DOMAIN.names])[0] == pytest.approx(mixed)


@pytest.mark.parametrize("regime", ["pure", "zcdp"])
def test_what_the_release_spent_is_converted(regime: str) -> None:
    source = skewed(10_000)
    release = earlier(source, PureDP(0.5, REPLACE) if regime == "pure" else ZCDP(0.1, REPLACE))
    session = OnlinePMW(updates=3, threshold=0.05).start(source, ZCDP(0.3, REPLACE), warm=release, noise=SeededNoise(1))
    of_each = [cost_of(event.of_mechanism, "rho") for event in release.events if event.charge > 0.0]
    expected = math.fsum(of_each) if regime == "pure" else release.spent
    assert session.spent == pytest.approx(expected, rel=1e-12)
    assert regime != "pure" or session.spent < pure_rho(release.spent)  # of the sum, which is what has no better bound
    assert session.rules.spending(Regime.ZCDP) <= 0.3 - session.spent
    assert session.release().events[0].purpose == "earlier: select"


def test_releases_that_do_not_fit_are_refused() -> None:
    source = skewed(10_000)
    config = OnlinePMW(updates=3, threshold=0.05)
    with pytest.raises(ConfigError, match="pure budget"):
        config.start(source, PureDP(1.0, REPLACE), warm=earlier(source, ZCDP(0.1, REPLACE)))
    with pytest.raises(ConfigError, match="add-remove"):
        config.start(source, PureDP(1.0, REPLACE), warm=earlier(source, PureDP(0.1)))
    with pytest.raises(hedgerow.errors.BudgetExceededError):
        config.start(source, PureDP(1.0, REPLACE), warm=earlier(source, PureDP(1.5, REPLACE)))
    other = DenseCounts(hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in "xyz"), [5] * 8)
    with pytest.raises(ConfigError, match="domain"):
        config.start(source, PureDP(1.0, REPLACE), warm=earlier(other, PureDP(0.1, REPLACE)))
    release = earlier(source, PureDP(0.1, REPLACE))
    with pytest.raises(ConfigError, match="does not hold"):
        config.start_with(Curator(source, PureDP(1.0, REPLACE)), warm=release)


def test_the_charge_of_another_earlier_release_does_not_do() -> None:
    """What a cheap release spent must not let an expensive one in."""
    source, budget = skewed(10_000), PureDP(1.0, REPLACE)
    cheap, expensive = (earlier(source, PureDP(epsilon, REPLACE)) for epsilon in (0.01, 0.9))
    config = OnlinePMW(updates=3, threshold=0.05)
    events = earlier_events(cheap, budget, source.domain)
    assert config.start_with(Curator(source, budget, noise=SeededNoise(0), events=events), warm=cheap).spent > 0.0
    with pytest.raises(ConfigError, match="does not hold"):
        config.start_with(Curator(source, budget, noise=SeededNoise(0), events=events), warm=expensive)
    curator = Curator(source, budget, noise=SeededNoise(0))
    curator.measure(hedgerow.Workload.marginals(DOMAIN, 1).candidate(0), 0.01, label="earlier release")
    with pytest.raises(ConfigError, match="does not hold"):
        config.start_with(curator, warm=expensive)


def test_a_release_out_of_the_same_budget_is_not_charged_twice() -> None:
    source = skewed(10_000)
    curator = Curator(source, PureDP(1.0, REPLACE), noise=SeededNoise(0))
    first = OnlinePMW(updates=2, threshold=0.2).start_with(curator)
    first.ask("a = 0")
    spent = curator.ledger.spent
    second = OnlinePMW(updates=2, threshold=0.2).start_with(curator, warm=first.release())
    assert second.spent == spent


@pytest.mark.slow
def test_insecure_noise_of_an_earlier_release_is_not_forgotten() -> None:
    source = skewed(10_000)
    release = earlier(source, PureDP(0.1, REPLACE))
    session = OnlinePMW(updates=3, threshold=0.05).start(source, PureDP(1.0, REPLACE), warm=release)
    assert not session.summary()["private"]
    assert session.release().provenance.stamp == "NOT PRIVATE: seeded"
    cold = OnlinePMW(updates=3, threshold=0.05).start(skewed(10_000), PureDP(1.0, REPLACE))
    assert cold.summary()["private"]


# ---- releases of sessions --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_hypothesis_can_be_released_at_any_time(tmp_path: Path) -> None:
    session = start("4b", ApproxDP(5.0, 1e-6), skewed(50_000), noise=SeededNoise(1))
    assert session.release().workload.spec == "marginals:1"
    ask_all_kinds(session, list(QUERIES))
    release = session.release()
    assert release.spent == session.spent
    assert release.provenance.parameters["variant"] == "4b"
    assert len(release.measurements) == session.rules.updates - session.updates_left > 0
    release.save(tmp_path / "now.release")
    loaded = hedgerow.Release.load(tmp_path / "now.release")
    text = release.measurements[0].target.text
    assert loaded.answer(text) == release.answer(text)
    session.model.update(QUERIES[0], 3.0)  # a copy
    assert session.model.marginals([DOMAIN.names])[0] == pytest.approx(release.model.marginals([DOMAIN.names])[0])


def test_a_session_says_what_it_is_and_nothing_private() -> None:
    session = start("4c", BUDGETS[3][1], skewed(10_000), answers=[True])
    session.ask("a = 0")
    summary = session.summary()
    assert summary["variant"] == "4c"
    assert not summary["theorem"]
    assert summary["answers"] == {"data": 1}
    assert "4c" in repr(session)
    with pytest.raises(TypeError):
        pickle.dumps(session)


def test_refused_beginnings_touch_nothing() -> None:
    source = skewed(10_000)
    with pytest.raises(ConfigError, match="expected a table, got a str"):
        OnlinePMW().start("people.csv", PureDP(1.0))
    with pytest.raises(ConfigError, match="Gaussian"):
        OnlinePMW(variant="4b").start(source, PureDP(1.0), noise=ExplodingNoise())
    with pytest.raises(ConfigError, match="no error below"):
        OnlinePMW(alpha=0.01).start(source, PureDP(1.0, REPLACE), noise=ExplodingNoise())
    assert source.reads == 0


def test_a_table_without_records_is_no_special_case() -> None:
    empty = OnlinePMW().start(DenseCounts(DOMAIN, [0] * 8), PureDP(1.0), noise=SeededNoise(0))
    assert empty.ask("a = 0").source in ("hypothesis", "data")


def test_queries_with_small_values_get_small_noise() -> None:
    half, whole = (
        OnlinePMW(updates=3, threshold=0.1, bounds=(0, high)).start(skewed(1_000), PureDP(1.0), noise=SeededNoise(0))
        for high in (0.5, 1.0)
    )
    assert half.rules.watch.test_scale == pytest.approx(0.5 * whole.rules.watch.test_scale)
    asked = half.ask(Explicit.of(DOMAIN, ["a"], [0.5, 0.25]))
    assert asked.low is not None


def test_theorem_rules_are_none_where_answers_alone_cost_too_much() -> None:
    assert theorem_rules(_stream(100.0), PureDP(1.0), 1.0, "4c", 1000) is None
    with pytest.raises(ConfigError, match="single answer"):
        best_rules(_stream(1.0), PureDP(0.001), 0.001, "4c")
