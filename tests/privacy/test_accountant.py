"""The accountant: it finds what is planted, agrees with the curator and with replays, and kills `loss_mutants`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from hedgerow.privacy import (
    ZCDP,
    Budget,
    Curator,
    Event,
    MeasuredQuery,
    NoiseSource,
    PureDP,
    RecordCount,
    SeededNoise,
    SparseVector,
    WorstCandidate,
)
from hedgerow.queries import Conjunction, Explicit, Neighbours
from tests.privacy.accountant import Call, Part, Witness, check_run, listening, moved_within, settle
from tests.privacy.mechanisms.loss_mutants import (
    DOMAIN,
    MARGINALS,
    MIXED,
    MUTANTS,
    ODD,
    TABLES,
    UNEQUAL,
    draws_of_unequal_queries,
    error_estimates,
    restored_books_cover_what_was_drawn,
    selections_with_unequal_offsets,
)
from tests.privacy.mutants import Mutant, killed
from tests.privacy.replay import log_likelihood, record
from tests.privacy.tables import DenseCounts, neighbours_of

ONES = Conjunction.where(DOMAIN, {"a": [1]})


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


# ---- unequal candidates ----------------------------------------------------------------------------------------------


@pytest.mark.many(quick=4)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("workload", [MIXED, UNEQUAL, ODD, MARGINALS], ids=["mixed", "unequal", "odd", "marginals"])
def test_selections_with_unequal_offsets_move_by_no_more_than_was_paid(relation: Neighbours, workload: Any) -> None:
    selections_with_unequal_offsets(relation, workload)


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_draws_and_errors_move_by_no_more_than_was_paid(relation: Neighbours) -> None:
    draws_of_unequal_queries(relation)
    error_estimates(relation)
    restored_books_cover_what_was_drawn()


def unequal_course(made: Curator) -> None:
    """Selections with unequal offsets, draws, an error and answers, over candidates of mixed sensitivities."""
    generator = np.random.default_rng(9)
    for _ in range(3):
        answers = generator.normal(scale=20.0, size=MIXED.n_queries)
        chosen = made.select(MIXED, answers, 0.4, offsets=generator.uniform(-4.0, 4.0, MIXED.n_candidates))
        made.measure(MIXED.candidate(chosen), 0.2)
    made.draw(UNEQUAL, np.array([9.0, -3.0, 0.5]), 48.0, 3)
    made.workload_error(MIXED, np.zeros(MIXED.n_queries), 0.3)
    made.measure(Explicit.of(DOMAIN, ["a"], [0.3, -1.7]), 0.2)


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("histogram", TABLES, ids=str)
def test_replays_of_unequal_candidates_lose_at_most_their_charges(relation: Neighbours, histogram: list[int]) -> None:
    source, opened = DenseCounts(DOMAIN, histogram), list[Curator]()

    def run(counts: DenseCounts, noise: NoiseSource) -> None:
        opened.append(Curator(counts, PureDP(9.0, relation), noise=noise))
        unequal_course(opened[-1])

    for seed in range(4):
        transcript = record(run, source, seed)
        here = log_likelihood(run, source, transcript)
        for neighbour in neighbours_of(source, relation):
            loss = here - log_likelihood(run, neighbour, transcript)
            assert abs(loss) <= opened[-1].ledger.spent + 1e-9


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("budget", [PureDP, ZCDP])
def test_courses_of_unequal_candidates_are_paid(relation: Neighbours, budget: Callable[..., Budget]) -> None:
    for seed, histogram in enumerate(TABLES):
        check_run(
            lambda counts, noise: unequal_course(Curator(counts, budget(9.0, relation), noise=noise)),
            DenseCounts(DOMAIN, histogram),
            relation,
            seed,
        )


# ---- the accountant itself -------------------------------------------------------------------------------------------


def books() -> tuple[list[Call], tuple[Event, ...]]:
    """Of a course with all kinds of draws."""
    with listening(Witness(SeededNoise(2))) as witness:
        made = Curator(DenseCounts(DOMAIN, TABLES[1]), PureDP(9.0), noise=witness)
        made.total(0.1)
        made.measure(ONES, 0.2)
        made.select(MIXED, np.zeros(MIXED.n_queries), 0.3)
        made.select(MIXED, np.zeros(MIXED.n_queries), 0.3, law="permute-and-flip")
        made.draw(UNEQUAL, np.zeros(3), 48.0, 2)
        watch = made.watch(SparseVector(2.0, 8.0, fires=2))
        for threshold in (-900.0, 900.0, -900.0):
            watch.test(ONES, 0.0, threshold)
        made.workload_error(MIXED, np.zeros(MIXED.n_queries), 0.3)
    return witness.calls, made.ledger.events


def test_a_course_that_is_paid_settles() -> None:
    calls, events = books()
    assert [call.sampler for call in calls] == [
        *("laplace", "laplace", "choose", "permute_and_flip", "draw", "secret", *["exceeds"] * 3, "laplace", "laplace"),
    ]
    payers = settle(calls, events, 9.0)
    assert [len(parts) for parts in payers] == [1] * 11
    moved_within(calls, calls, payers)


def unpaid(calls: list[Call], at: int, **change: Any) -> list[Call]:
    return [*calls[:at], replace(calls[at], **change), *calls[at + 1 :]]


FREE = Event("total", "public", RecordCount(), 0.0, 0.0, 0.0, "epsilon", "replace")


def forged(event: Event, **change: Any) -> Event:
    """An event that no check has seen."""
    made = object.__new__(Event)
    for field in fields(Event):
        object.__setattr__(made, field.name, change.get(field.name, getattr(event, field.name)))
    return made


SPOILT: dict[str, Callable[[list[Call], tuple[Event, ...]], tuple[list[Call], tuple[Event, ...]]]] = {
    "an event is missing": lambda calls, events: (calls, events[:2] + events[3:]),
    "an event is of another mechanism": lambda calls, events: (
        calls,
        (events[0], forged(events[1], mechanism="discrete Gaussian"), *events[2:]),
    ),
    "a draw is repeated": lambda calls, events: ([*calls[:2], *calls[1:]], events),
    "a choice is repeated": lambda calls, events: ([*calls[:3], *calls[2:]], events),
    "a draw at half the scale of a measurement": lambda calls, events: (
        unpaid(calls, 1, scale=calls[1].scale / 2),
        events,
    ),
    "a draw at half the scale of a choice": lambda calls, events: (unpaid(calls, 2, scale=calls[2].scale / 2), events),
    "an error at half its scale": lambda calls, events: (unpaid(calls, 9, scale=calls[9].scale / 2), events),
    "one value more": lambda calls, events: (unpaid(calls, 4, given=np.zeros(3, dtype=int)), events),
    "a draw before its charge": lambda calls, events: (unpaid(calls, 3, charged=3), events),
    "a threshold with less noise": lambda calls, events: (unpaid(calls, 5, scale=calls[5].scale / 2), events),
    "a second threshold": lambda calls, events: ([*calls[:6], *calls[5:]], events),
    "a test with less noise": lambda calls, events: (unpaid(calls, 6, scale=calls[6].scale / 2), events),
    "a third fire": lambda calls, events: ([*calls[:9], calls[6], calls[6], *calls[9:]], events),
    "a test before its threshold": lambda calls, events: ([*calls[:5], calls[6], *calls[5:]], events),
    "a charge an ulp below its cost": lambda calls, events: (
        calls,
        (forged(events[0], charge=events[0].sensitivity / events[0].scale * (1 - 2.0**-53)), *events[1:]),
    ),
    "an event that was drawn elsewhere": lambda calls, events: (
        calls,
        (events[0], replace(events[1], earlier=True), *events[2:]),
    ),
    "a private number called public": lambda calls, events: (
        calls,
        (*events, forged(FREE, neighbours="add-remove")),
    ),
    "a number that a filter makes private": lambda calls, events: (
        calls,
        (*events, forged(FREE, neighbours="replace-then-filter")),
    ),
    "another number called public": lambda calls, events: (
        calls,
        (*events, forged(FREE, question=MeasuredQuery("explicit", (), "the answer"))),
    ),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_what_is_unpaid_is_found(spoilt: str) -> None:
    calls, events = SPOILT[spoilt](*books())
    with pytest.raises(AssertionError):
        settle(calls, events, 9.0)


def test_a_limit_that_is_passed_is_found() -> None:
    calls, events = books()
    with pytest.raises(AssertionError, match="limit"):
        settle(calls, events, sum(event.charge for event in events) * (1 - 2.0**-40))


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4, 6, 7, 8, 9])
def test_what_moves_too_far_is_found(at: int) -> None:
    """By twice its sensitivity, which no draw was charged for; the fifth draws a secret and is handed nothing."""
    calls, events = books()
    payers = settle(calls, events, 9.0)
    handed = np.asarray(calls[at].handed)
    unit = 2 * round(payers[at][0].event.sensitivity * 2**10 * (1 if handed.dtype == int and at > 4 else 2.0**-10))
    moved = handed + np.eye(1, handed.size, dtype=handed.dtype).reshape(handed.shape) * unit
    with pytest.raises(AssertionError):
        moved_within(calls, unpaid(calls, at, handed=moved), payers)


def test_another_course_is_found() -> None:
    calls, events = books()
    payers = settle(calls, events, 9.0)
    with pytest.raises(AssertionError, match="more draws"):
        moved_within(calls, calls[:-1], payers)
    with pytest.raises(AssertionError):
        moved_within(calls, unpaid(calls, 2, scale=1.0), payers)
    script = Witness(script=calls)
    with pytest.raises(AssertionError, match="not as the other run"):
        script.laplace(np.zeros(1, dtype=int), 1.0)


def test_a_common_shift_of_scores_costs_nothing_but_for_permute_and_flip() -> None:
    event = Event(
        "select", "exponential mechanism", WorstCandidate(3), 1.0, 4.0, 0.5 * (1 + 2.0**-50), "epsilon", "add-remove"
    )
    flip = replace(event, mechanism="permute-and-flip")
    here, there = (Call("choose", 4.0, np.array([shift, 5.0 + shift]), 0, 1) for shift in (0.0, 1.0))
    moved_within([here], [there], [[Part(forged(event, charge=1e-9), slice(0, 1))]])
    moved_within([here], [there], [[Part(flip, slice(0, 1))]])
    flipped = [replace(call, sampler="permute_and_flip") for call in (here, there)]
    with pytest.raises(AssertionError):
        moved_within(flipped[:1], flipped[1:], [[Part(forged(flip, charge=1e-9), slice(0, 1))]])
