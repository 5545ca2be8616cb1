"""A session as steps: put together from them to the same bits, after every question, whoever took them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow import OnlineSession
from hedgerow.algorithms import START, Finding, Mark, Transcript, Variant, finding_about, step_since
from hedgerow.algorithms.online_pmw import Step, journal as online_journal
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import SessionError
from hedgerow.models import Markov
from hedgerow.privacy import ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import (
    Conjunction,
    Explicit,
    LinearQuery,
    Measurement,
    NoiseKind,
    Parity,
    canonical,
    parse_predicate,
)
from hedgerow.release import measurements_from_list, measurements_to_list
from tests.algorithms.online_pmw.cases import BUDGETS, DOMAIN, REPLACE, cells, config_of, random_queries, skewed
from tests.examples import examples
from tests.privacy.mutants import Mutant, killed
from tests.privacy.tables import DenseCounts, binary

STREAM: list[LinearQuery] = [
    *list(cells())[:10],
    *random_queries(4, 1),
    Conjunction(DOMAIN, (), ()),
    *list(cells())[:3],
]
WIDE = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
TREE_STREAM: list[LinearQuery] = [
    Conjunction.where(WIDE, {f"x{i % 5}": [i % 10], f"x{i % 7 + 3}": range(i % 6 + 1)}) for i in range(12)
]


def wide_table(rows: int = 20_000) -> Table:
    generator = np.random.default_rng(0)
    return Table(WIDE, [np.minimum(generator.geometric(0.5, rows) - 1, 9).astype(np.uint8) for _ in WIDE])


def begun(variant: Variant, budget: Budget, source: Any, noise: SeededNoise) -> OnlineSession:
    return config_of(variant, updates=5).start(source, budget, noise=noise)


def whole(session: OnlineSession) -> Step:
    """Everything about a session as one step."""
    return step_since(session, START, first=True)


def together(steps: Sequence[Step], domain: Domain = DOMAIN) -> Transcript:
    transcript = Transcript(domain)
    for step in steps:
        transcript.add(through_json(step))
    return transcript


def through_json(step: Step) -> Step:
    """As a database gives it back: floats as their shortest decimal form."""
    plain = {name: json.loads(json.dumps(getattr(step, name))) for name in ("opening", "state")}
    found = tuple(
        Finding(json.loads(json.dumps(each.entry)), each.measured, json.loads(json.dumps(each.value)), each.vector)
        for each in step.findings
    )
    events = tuple(type(each).from_dict(json.loads(json.dumps(each.to_dict()))) for each in step.events)
    return replace(step, **plain, findings=found, events=events)


def unasked(domain: Domain) -> str:
    """A question of no stream."""
    return f"not ({domain.names[0]} = 0 and {domain.names[1]} = 0)"


def check_put_together_after_every_question(
    start: Callable[[SeededNoise], OnlineSession], source: Any, stream: Sequence[LinearQuery], seed: int
) -> None:
    """One session in one piece; one that is written down step by step; one that is put together anew each time."""
    shared = SeededNoise(seed)
    in_one_piece, kept, carried = start(SeededNoise(seed)), start(SeededNoise(seed)), start(shared)
    steps = [step_since(kept, START, first=True)]
    follower, others = Transcript(source.domain), [step_since(carried, START, first=True)]
    follower.add(steps[0])
    for query in stream:
        expected = repr(in_one_piece.ask(query))
        assert repr(kept.ask(query)) == expected
        steps.append(step_since(kept, together(steps, source.domain).mark))
        transcript = together(others, source.domain)
        carried = transcript.session(source, noise=shared)
        assert repr(carried.ask(query)) == expected
        step = step_since(carried, transcript.mark)
        others.append(step)
        transcript.follow(step)
        # what followed its own step is where others are who added it
        assert transcript.mark == together(others, source.domain).mark
        assert transcript.session(source).summary() == together(others, source.domain).session(source).summary()
    assert others == steps
    final = [together(each, source.domain).session(source) for each in (steps, others)]
    assert final[0].summary() == final[1].summary() == in_one_piece.summary()
    new = unasked(source.domain)
    assert final[0].looks(new) == final[1].looks(new) == in_one_piece.looks(new)
    assert whole(final[0]) == whole(final[1]) == whole(kept) == whole(in_one_piece)


@pytest.mark.slow
@settings(max_examples=examples(15), deadline=None)
@given(case=st.sampled_from(BUDGETS), seed=st.integers(0, 1000))
def test_steps_put_together_are_the_session(case: tuple[Variant, Budget], seed: int) -> None:
    variant, budget = case
    source = skewed(20_000)
    check_put_together_after_every_question(lambda noise: begun(variant, budget, source, noise), source, STREAM, seed)


@pytest.mark.parametrize("budget", [PureDP(3.0), ApproxDP(3.0, 1e-6)])
def test_private_totals_and_parities_are_in_the_steps(budget: Budget) -> None:
    source, config = skewed(20_000), config_of("pay-as-you-go", updates=5, bounds=(-1, 1))
    stream = [Parity(DOMAIN, ("a", "b")), *STREAM[:6], *random_queries(3, 2)]
    check_put_together_after_every_question(lambda noise: config.start(source, budget, noise=noise), source, stream, 4)


@pytest.mark.parametrize("step", ["residual", "refit"])
def test_trees_are_put_together_to_the_same_bits(step: str) -> None:
    source, config = wide_table(), config_of("4c", updates=8, step=step)
    check_put_together_after_every_question(
        lambda noise: config.start(source, PureDP(5.0, REPLACE), noise=noise), source, TREE_STREAM, 1
    )
    session = config.start(source, PureDP(5.0, REPLACE), noise=SeededNoise(1))
    sources = [session.ask(query).source for query in TREE_STREAM]
    assert isinstance(session.model, Markov)
    assert {"data", "hypothesis"} <= set(sources)


def test_a_session_that_is_closed_stays_closed() -> None:
    check_bits_until_it_is_closed()


def test_several_questions_may_be_one_step() -> None:
    source = skewed(20_000)
    for size in (1, 3, 7, len(STREAM)):
        kept, transcript = begun("4b", BUDGETS[2][1], source, SeededNoise(6)), Transcript(DOMAIN)
        transcript.add(whole(kept))
        for first in range(0, len(STREAM), size):
            for query in STREAM[first : first + size]:
                kept.ask(query)
            transcript.add(step_since(kept, transcript.mark))
        single = begun("4b", BUDGETS[2][1], source, SeededNoise(6))
        for query in STREAM:
            single.ask(query)
        assert whole(transcript.session(source)) == whole(single)


def test_what_costs_nothing_adds_nothing_but_counters() -> None:
    session = begun("4c", BUDGETS[3][1], skewed(20_000), SeededNoise(0))
    session.ask("a = 0")
    mark = Mark(len(session._curator.ledger.events), 1, session.updates_made)
    session.ask("a = 0")
    session.ask("a in (0, 1)")
    session.peek("b = 0")
    step = step_since(session, mark)
    assert (step.opening, step.events, step.findings, step.model) == (None, (), (), None)
    assert step.state is not None
    assert step.state["sources"]["cache"] == 1


def test_an_epoch_is_a_step_of_its_own() -> None:
    """What is opened for a question is in a step before the question is asked, with its secret and its charge."""
    source, noise = skewed(20_000), SeededNoise(3)
    session = config_of("4b", updates=5).start(source, BUDGETS[2][1], noise=noise)
    transcript = Transcript(DOMAIN)
    transcript.add(whole(session))
    assert session.epoch_charge > 0.0
    assert session.prepare()
    step = step_since(session, transcript.mark)
    assert [event.label for event in step.events] == ["watch"]
    assert step.state is not None
    assert step.state["watch"]["fires_left"] == 1
    transcript.follow(step)
    resumed = transcript.session(source, noise=noise)
    assert (resumed.epoch_charge, resumed.spent) == (0.0, session.spent)
    straight = config_of("4b", updates=5).start(source, BUDGETS[2][1], noise=SeededNoise(3))
    for query in STREAM[:5]:
        assert resumed.ask(query).value == straight.ask(query).value
    assert whole(resumed).events == whole(straight).events


@pytest.mark.parametrize("variant", ["4b", "4c", "pay-as-you-go"])
def test_a_lost_test_counts_as_a_fire(variant: Variant) -> None:
    session, transcript = (
        begun(variant, ApproxDP(1.0, 1e-6, REPLACE), skewed(20_000), SeededNoise(0)),
        Transcript(DOMAIN),
    )
    session.prepare()
    transcript.add(whole(session))
    left = session.updates_left
    transcript.follow(Step(state=transcript.state_after_a_fire()))
    assert transcript.session(skewed(20_000)).updates_left == left - 1
    for _ in range(7):
        transcript.follow(Step(state=transcript.state_after_a_fire()))
    assert transcript.session(skewed(20_000)).updates_left == (0 if variant == "4c" else left - 1)


def test_without_a_running_epoch_nothing_is_lost() -> None:
    session, transcript = begun("4b", BUDGETS[2][1], skewed(20_000), SeededNoise(0)), Transcript(DOMAIN)
    transcript.add(whole(session))
    assert transcript.state_after_a_fire() == whole(session).state


def test_the_session_made_last_is_the_one_that_is_followed() -> None:
    """An older session goes on with lists of its own: what it finds is not taken for the newer one's."""
    source, transcript = skewed(20_000), Transcript(DOMAIN)
    transcript.add(whole(begun("4c", BUDGETS[3][1], source, SeededNoise(0))))
    older = transcript.session(source, noise=SeededNoise(1))
    newer = transcript.session(source, noise=SeededNoise(2))
    older.ask("a = 0")
    newer.ask("b = 0")
    transcript.follow(step_since(newer, transcript.mark))
    again = transcript.session(source)
    assert again.peek("b = 0").source == "cache"
    assert again.peek("a = 0").source == "hypothesis only"


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_there_is_no_session_before_its_first_step() -> None:
    with pytest.raises(SessionError, match="no session yet"):
        Transcript(DOMAIN).session(skewed(100))


def test_steps_of_another_domain_are_refused() -> None:
    step = whole(begun("4c", BUDGETS[3][1], skewed(20_000), SeededNoise(0)))
    with pytest.raises(SessionError, match="another domain"):
        Transcript(binary(2)).add(step)
    transcript = together([step])
    with pytest.raises(SessionError, match="another domain"):
        transcript.session(DenseCounts(binary(2), [1, 2, 3, 4]))


def asked_some() -> Step:
    session = begun("4b", BUDGETS[2][1], skewed(20_000), SeededNoise(0))
    for query in STREAM:
        session.ask(query)
    return whole(session)


SPOILED: dict[str, Callable[[Step], Step]] = {
    "a model cut short": lambda step: replace(step, model=(step.model or b"")[:-3]),
    "a model that is none": lambda step: replace(step, model=b"model\n"),
    "no model": lambda step: replace(step, model=b""),
    "no state": lambda step: replace(step, state={}),
    "counters that are words": lambda step: replace(step, state={**(step.state or {}), "tests": "many"}),
    "an opening without rules": lambda step: replace(
        step, opening={name: value for name, value in (step.opening or {}).items() if name != "rules"}
    ),
    "a query that is none": lambda step: replace(step, findings=(Finding({}, True, 1.0), *step.findings)),
    "a vector cut short": lambda step: replace(
        step, findings=tuple(replace(each, vector=each.vector[:-2]) if each.vector else each for each in step.findings)
    ),
    "a watch with more fires than it has": lambda step: replace(
        step, state={**(step.state or {}), "watch": {**(step.state or {})["watch"], "fires_left": 2}}
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_steps_that_do_not_fit_together_are_refused(name: str) -> None:
    step = asked_some()
    together([step]).session(skewed(20_000))
    with pytest.raises(SessionError):
        together([SPOILED[name](step)]).session(skewed(20_000))


# ---- mutants ---------------------------------------------------------------------------------------------------------


def check_bits() -> None:
    for variant, budget in BUDGETS[2:6]:
        source = skewed(20_000)
        check_put_together_after_every_question(
            partial(begun, variant, budget, source),
            source,
            STREAM,
            5,
        )


def check_bits_until_it_is_closed() -> None:
    source, config = skewed(20_000), config_of("4c", updates=2)
    check_put_together_after_every_question(
        lambda noise: config.start(source, PureDP(9.0, REPLACE), noise=noise), source, STREAM, 5
    )


def _stepping(change: Callable[[Step, dict[str, Any]], Step]) -> Callable[[pytest.MonkeyPatch], None]:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        original = online_journal.step_of

        def changed(*args: Any, **options: Any) -> Step:
            return change(original(*args, **options), options)

        monkeypatch.setattr(online_journal, "step_of", changed)

    return patch


def _without_watch(step: Step, _: dict[str, Any]) -> Step:
    return replace(step, state={**(step.state or {}), "watch": None})


def _fresh_fires(step: Step, _: dict[str, Any]) -> Step:
    watch = (step.state or {})["watch"]
    return replace(step, state={**(step.state or {}), "watch": watch and {**watch, "fires_left": watch["fires"]}})


def _rounded(step: Step, _: dict[str, Any]) -> Step:
    return replace(step, findings=tuple(replace(each, value=round(each.value)) for each in step.findings))


def _without_last(name: str) -> Callable[[Step, dict[str, Any]], Step]:
    return lambda step, options: step if options["first"] else replace(step, **{name: getattr(step, name)[:-1]})


def _state(**changed: Any) -> Callable[[Step, dict[str, Any]], Step]:
    return lambda step, options: replace(step, state={**(step.state or {}), **changed})


MUTANTS = [
    Mutant("forgets the running epoch", _stepping(_without_watch), check_bits),
    Mutant("gives the epoch its fires back", _stepping(_fresh_fires), check_bits),
    Mutant("forgets an event", _stepping(_without_last("events")), check_bits),
    Mutant("forgets a finding", _stepping(_without_last("findings")), check_bits),
    Mutant("rounds what was found", _stepping(_rounded), check_bits),
    Mutant("forgets how many tests there were", _stepping(_state(tests=0)), check_bits),
    Mutant("forgets how many epochs there were", _stepping(_state(epochs=0)), check_bits),
    Mutant("forgets that it is closed", _stepping(_state(closed="")), check_bits_until_it_is_closed),
    Mutant("keeps the first model", _stepping(lambda s, o: s if o["first"] else replace(s, model=None)), check_bits),
]


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutants_are_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(_failing(mutant), monkeypatch)


def _failing(mutant: Mutant) -> Mutant:
    """Errors while steps are put together are as good as wrong bits."""

    def check() -> None:
        try:
            mutant.check()
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(str(error)) from error

    return replace(mutant, check=check)


# ---- what findings take ----------------------------------------------------------------------------------------------


def test_findings_of_earlier_versions_are_read() -> None:
    """They hold the values of conditions as floating-point numbers; today these are bits, and all else as before."""
    domain = Domain((IntegerRange("a", 0, 4), IntegerRange("b", 0, 2)))
    condition = canonical(parse_predicate("a = 1 or b = 2", domain))
    weights = Explicit.of(domain, ["a"], [0.0, 0.25, 1.0, 0.5, 0.0])
    assert isinstance(condition, Explicit)
    queries = [condition, weights, parse_predicate("a > 2", domain)]
    found = [finding_about(query) for query in queries]
    assert [each.entry["target"].get("bits") for each in found] == [True, None, None]
    before = replace(
        found[0],
        entry={**found[0].entry, "target": {k: v for k, v in found[0].entry["target"].items() if k != "bits"}},
        vector=zlib.compress(condition.vector.tobytes()),
    )
    for listed in (found, [before, *found[1:]], [found[1], before, found[0], found[2]]):
        learnt = Transcript(domain)
        learnt._learn(listed)
        tables = {known.query.scope: known.query.values() for known in learnt._known.values()}
        assert np.array_equal(tables["a", "b"], condition.values())
        assert sorted(known.query.text for known in learnt._known.values()) == sorted(each.text for each in queries)
        assert any(np.array_equal(known.query.values(), weights.values()) for known in learnt._known.values())


def test_conditions_take_bits_in_session_files_too() -> None:
    domain = Domain((IntegerRange("a", 0, 99), IntegerRange("b", 0, 99)))
    condition = canonical(parse_predicate("a = 1 or b = 2", domain))
    weights = Explicit.of(domain, ["a"], np.arange(100) / 128)
    listed = [Measurement(query, np.array([1.5]), NoiseKind.LAPLACE, 2.0) for query in (condition, weights, condition)]
    entries, arrays = measurements_to_list(listed)
    assert arrays["measured_bits"].nbytes == 2 * 1250
    assert arrays["measured_vectors"].size == 100
    again = measurements_from_list(entries, arrays, domain)
    for one, other in zip(listed, again, strict=True):
        assert isinstance(other.target, LinearQuery)
        assert isinstance(one.target, LinearQuery)
        assert np.array_equal(one.target.values(), other.target.values())
    for name in ("measured_bits", "measured_vectors"):
        for changed in (arrays[name][:-1], np.append(arrays[name], arrays[name][:1])):
            with pytest.raises(ValueError, match="values than belong there"):
                measurements_from_list(entries, {**arrays, name: changed}, domain)
