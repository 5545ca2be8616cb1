"""Privacy bugs planted in the sparse vector and in many draws, and the checks that must notice them.

Not here: complements that are drawn with the sign of their query. Scores then come in equal pairs instead of opposite
ones; each still moves by at most its sensitivity, so nothing more is lost. It makes DualQuery wrong, not leaky, and is
killed as such, by a check of the law (`complements_have_the_opposite_score`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

import hedgerow.privacy.watch as watch_module
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import BudgetError, QueryError, WatchClosedError
from hedgerow.privacy import (
    GRID,
    Curator,
    EqualWidths,
    IndependentDraws,
    NoiseSource,
    PureDP,
    Regime,
    SeededNoise,
    SparseVector,
    Watch,
    WatchState,
)
from hedgerow.queries import Blocks, Conjunction, Explicit, LinearQuery, Marginal, Neighbours, Workload, of_query
from tests.privacy.mechanisms.sparse_vector_law import Law, first_fire
from tests.privacy.mutants import Mutant, delta_1_for_parities_under_replace, drawing, unpaid
from tests.privacy.replay import ExplodingNoise, Output, ReplayNoise, ScriptedNoise, log_likelihood, record_answers
from tests.privacy.tables import DenseCounts, binary, neighbours_of

ONE = binary(1)
BLOCKS = Blocks(ONE, ("a",), np.array([0, 1]))
ZEROS, ONES = (Conjunction.where(ONE, {"a": [code]}) for code in (0, 1))
REPLACE, ADD_REMOVE = Neighbours.REPLACE, Neighbours.ADD_REMOVE
QUIET = 30

Course = Callable[[DenseCounts, NoiseSource], Curator]


# ---- what must hold --------------------------------------------------------------------------------------------------


def course_loses_at_most_its_charge(
    course: Course, answers: Sequence[bool], relation: Neighbours = REPLACE, histogram: Sequence[int] = (5, 5)
) -> None:
    """The loss of the transcript with these answers, over all neighbours, against what the ledger holds."""
    source = DenseCounts(ONE, histogram)
    transcript = record_answers(course, source, answers)
    here, spent = ReplayNoise(transcript), course(source, ReplayNoise(transcript)).ledger.spent
    course(source, here)
    for neighbour in neighbours_of(source, relation):
        assert abs(here.log_probability - log_likelihood(course, neighbour, transcript)) <= spent + 1e-9


def watch_loses_at_most_its_charge(fires: int, loud: bool = True) -> None:
    """Values far above the threshold told not to pass; then, if loud, values far below it told to pass."""

    def course(source: DenseCounts, noise: NoiseSource) -> Curator:
        made = Curator(source, PureDP(9.0, REPLACE), noise=noise)
        watch = made.watch(SparseVector.for_charge(Regime.PURE, 0.5, fires=fires, threshold_share=0.5))
        for _ in range(QUIET):
            watch.test(ONES, -300.0, 0.0, "above")
        for _ in range(fires * loud):
            watch.test(ZEROS, 3000.0, 0.0, "above")
        return made

    course_loses_at_most_its_charge(course, [False] * QUIET + [True] * (fires * loud))


def query_loses_at_most_its_charge(
    query: LinearQuery, sensitivity: float, relation: Neighbours, histogram: Sequence[int]
) -> None:
    """Quiet tests of a query and a loud one, unless the watch refuses the query as too sensitive for it."""

    def course(source: DenseCounts, noise: NoiseSource) -> Curator:
        made = Curator(source, PureDP(9.0, relation), noise=noise)
        watch = made.watch(SparseVector(2.0 * sensitivity, 8.0 * sensitivity, sensitivity))
        for _ in range(QUIET):
            watch.test(query, -300.0 * sensitivity, 0.0, "above")
        watch.test(query, 0.0, 3000.0 * sensitivity, "below")
        return made

    with suppress(QueryError):
        course_loses_at_most_its_charge(course, [False] * QUIET + [True], relation, histogram)


def group_loses_at_most_its_charge(relation: Neighbours) -> None:
    """Quiet looks at all counts of a group, each far off, then a loud one."""

    def course(source: DenseCounts, noise: NoiseSource) -> Curator:
        made = Curator(source, PureDP(9.0, relation), noise=noise)
        watch = made.watch(SparseVector(4.0, 8.0))
        for _ in range(QUIET):
            watch.test(BLOCKS, [-300.0, 310.0], 0.0)
        watch.test(Marginal(ONE, ("a",)), [5.0, 5.0], 3000.0)
        return made

    course_loses_at_most_its_charge(course, [False] * QUIET + [True], relation)


def counts_of_a_group_lose_at_most_their_charge() -> None:
    """Where the noises of both counts have the signs that tell most, among others."""

    def course(source: DenseCounts, noise: NoiseSource) -> Curator:
        made = Curator(source, PureDP(9.0, REPLACE), noise=noise)
        made.measure(BLOCKS, 0.5)
        return made

    source = DenseCounts(ONE, [5, 5])
    for seed in range(8):
        transcript = record_answers(course, source, [], seed)
        spent = course(source, ReplayNoise(transcript)).ledger.spent
        here = log_likelihood(course, source, transcript)
        for neighbour in neighbours_of(source, REPLACE):
            assert abs(here - log_likelihood(course, neighbour, transcript)) <= spent + 1e-9


def no_more_fires_than_were_paid_for() -> None:
    """Yes to everything: as many yes as fires, then the watch is closed."""
    for fires in (1, 3):
        made = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=ScriptedNoise([True] * 9, SeededNoise(0)))
        watch, told = made.watch(SparseVector(2.0, 4.0 * fires, fires=fires)), 0
        with suppress(WatchClosedError):
            for _ in range(9):
                told += watch.test(ONES, 5.0, 3.0)
        assert told == fires


def one_threshold_serves_one_watch() -> None:
    """A state is not resumed beside the watch that it came from, nor twice."""
    noise = ScriptedNoise([True] * 9, SeededNoise(0))
    mechanism, source, told = SparseVector(2.0, 4.0), DenseCounts(ONE, [5, 5]), 0
    made = Curator(source, PureDP(9.0), noise=noise)
    state = made.watch(mechanism).state()
    for curator in (made, Curator(source, PureDP(9.0), noise=noise, events=made.ledger.events)):
        with suppress(BudgetError):
            for _ in range(3):
                told += curator.resume_watch(state).test(ONES, 5.0, 3.0)
    assert told == 1


class Meeting(SeededNoise):
    """Every test passes, after waiting whether another one comes."""

    def __init__(self) -> None:
        super().__init__(0)
        self.barrier = threading.Barrier(2)

    def exceeds(self, margin: int, scale: float) -> bool:
        with suppress(threading.BrokenBarrierError):
            self.barrier.wait(timeout=1.0)
        return True


def two_threads_share_one_fire() -> None:
    watch = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=Meeting()).watch(SparseVector(2.0, 4.0))
    told: list[bool] = []

    def ask() -> None:
        with suppress(WatchClosedError):
            told.append(watch.test(ONES, 0.0, 0.0))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True]


def watches_are_paid_before_they_are_drawn() -> None:
    """Noise that explodes leaves the charge in the ledger; a refusal comes before it."""
    for limit in (0.999, 9.0):
        made = Curator(DenseCounts(ONE, [5, 5]), PureDP(limit), noise=ExplodingNoise())
        exploded = False
        try:
            made.watch(SparseVector(2.0, 4.0))
        except RuntimeError:
            exploded = True
        except BudgetError:
            pass
        assert (made.ledger.spent > 0.0) == exploded == (limit == 9.0)


CELLS = Workload.marginals(ONE, 1, whole=False)
WIDE = Workload.explicit(ONE, ("a",), [[5.0, 6.0], [-1.0, 1.0]]).by_query()


def draws_lose_at_most_their_charge(workload: Workload, relation: Neighbours) -> None:
    """Every index three times in a row, over all neighbours, against what the ledger holds."""

    def course(source: DenseCounts, noise: NoiseSource) -> Curator:
        made = Curator(source, PureDP(99.0, relation), noise=noise)
        made.draw(workload, np.array([-2000.0, 0.0]), 16.0, 3)
        made.draw(workload, np.array([30.0, 30.0]), 16.0, 3)
        return made

    source = DenseCounts(ONE, [60, 0])
    asked = [output.scale for output in _recorded(course, source)]
    for index in range(2 * workload.n_queries):
        transcript = [Output("draw", scale, np.full(3, index)) for scale in asked]
        spent = course(source, ReplayNoise(transcript)).ledger.spent
        here = log_likelihood(course, source, transcript)
        for neighbour in neighbours_of(source, relation):
            assert abs(here - log_likelihood(course, neighbour, transcript)) <= spent + 1e-9


def _recorded(course: Course, source: DenseCounts) -> tuple[Output, ...]:
    return record_answers(course, source, [])


def complements_have_the_opposite_score() -> None:
    """Not privacy: the query that is answered too low is drawn, and for the other one its complement."""
    made = Curator(DenseCounts(ONE, [0, 60]), PureDP(200.0), noise=SeededNoise(0))
    assert set(made.draw(CELLS, np.array([60.0, 0.0]), 1.0, 50).tolist()) == {1, 2}


def restored_events_are_of_the_same_relation() -> None:
    """What was paid under add-remove covers less than the same under replace."""
    source = DenseCounts(ONE, [5, 5])
    made = Curator(source, PureDP(1.0), noise=SeededNoise(0))
    made.measure(ONES, 0.5)
    refused = False
    with suppress(BudgetError):
        refused = True
        Curator(source, PureDP(1.0, REPLACE), noise=SeededNoise(0), events=made.ledger.events)
        refused = False
    assert refused


def renyi_charge_covers_exact_laws() -> None:
    """Rho by the tests covers the loss of a long stream, of a threshold with little noise, and of many fires.

    Of many tests at once only how many of each kind fired is looked at: less than is told, so that more is lost.
    """
    orders, steps = np.array([1.001, 1.5, 3.0, 8.0, 20.0, 50.0]), 4
    up_and_down = [(-40, steps * (-1) ** place) for place in range(100)]
    for law, asks in ((Law(35.0, 40.0, 1), up_and_down), (Law(6.0, 60.0, 1), [(-40, steps)] * 200)):
        assert (first_fire(law, asks, orders) / orders).max() <= charge_on_the_line(law, steps)
    law = Law(20.0, 80.0, 40)
    here, there = (fires_of_two_kinds(law, 32, move) for move in (0, steps))
    moments = logsumexp(orders[:, None] * here + (1 - orders[:, None]) * there, axis=1)
    assert (moments / (orders - 1) / orders).max() <= charge_on_the_line(law, steps)


def charge_on_the_line(law: Law, steps: int) -> float:
    """What the library charges for values that move by so many steps, but for the step that it adds."""
    scales = law.threshold_scale * GRID, law.test_scale * GRID
    mechanism = SparseVector(*scales, steps * GRID, law.fires, "renyi")
    return mechanism.charge(Regime.ZCDP) * (steps / (steps + 1)) ** 2


def fires_of_two_kinds(law: Law, tests: int, move: int) -> Floats:
    """ln Pr of how many of so many tests with rising values fired, and of so many with falling ones."""
    noise = np.arange(-400, 401)
    threshold = -np.abs(noise) / law.threshold_scale
    threshold -= logsumexp(threshold)
    kinds = [
        binom.logpmf(np.arange(tests + 1)[:, None], tests, np.exp(law.log(True, side - noise)))
        for side in (move, -move)
    ]
    joint = logsumexp(kinds[0][:, None] + kinds[1][None] + threshold, axis=2)
    counts = np.add.outer(np.arange(tests + 1), np.arange(tests + 1))
    return np.append(joint[counts <= law.fires], logsumexp(joint[counts > law.fires]))  # there it had ended


# ---- the bugs --------------------------------------------------------------------------------------------------------


def equal_noise_on_tests_and_threshold(patch: pytest.MonkeyPatch) -> None:
    """Lap(1 / epsilon) on both, as in the lecture: three epsilon are lost."""
    patch.setattr(SparseVector, "epsilon", property(lambda self: self.sensitivity / self.test_scale))
    scales = lambda cls, regime, amount, sensitivity=1.0, fires=1, threshold_share=None: cls(  # noqa: E731
        sensitivity / amount, sensitivity / amount, sensitivity, fires
    )
    patch.setattr(SparseVector, "for_charge", classmethod(scales))


def tests_not_scaled_with_fires(patch: pytest.MonkeyPatch) -> None:
    """Several fires at the price of one: one threshold at the scales of one epoch."""
    tests = property(lambda self: self.sensitivity / self.threshold_scale + 2 * self.sensitivity / self.test_scale)
    patch.setattr(SparseVector, "epsilon", tests)
    scales = lambda cls, regime, amount, sensitivity=1.0, fires=1, threshold_share=None: cls(  # noqa: E731
        2 * sensitivity / amount, 4 * sensitivity / amount, sensitivity, fires
    )
    patch.setattr(SparseVector, "for_charge", classmethod(scales))


def half_the_shift_of_a_yes(patch: pytest.MonkeyPatch) -> None:
    """Delta / test_scale for a yes: right where all values move the same way, and there alone."""
    both = property(
        lambda self: self.sensitivity / self.threshold_scale + self.fires * self.sensitivity / self.test_scale
    )
    patch.setattr(SparseVector, "epsilon", both)


def renyi_times(factor: Callable[[SparseVector], tuple[float, float]]) -> Callable[[pytest.MonkeyPatch], None]:
    """A rho by the tests with other factors on the threshold's part and the tests'."""

    def charge(self: SparseVector, regime: Regime) -> float:
        of_threshold, of_tests = factor(self)
        moved = self.sensitivity + GRID
        return moved**2 * max(of_threshold / self.threshold_scale**2, of_tests / self.test_scale**2)

    return lambda patch: patch.setattr(SparseVector, "charge", charge)


def threshold_noise_not_added(patch: pytest.MonkeyPatch) -> None:
    """Drawn, charged, and left out."""
    watch = Curator._watch

    def silent(self: Any, state: WatchState, event: Any) -> Watch:
        return watch(self, WatchState(state.mechanism, 0, state.fires_left), event)

    patch.setattr(Curator, "_watch", silent)


def threshold_not_charged(patch: pytest.MonkeyPatch) -> None:
    """Only what fires is paid for, not the threshold."""
    patch.setattr(SparseVector, "epsilon", property(lambda self: 2 * self.fires * self.sensitivity / self.test_scale))


def unpaid_tests(curator: Any, event: Any) -> Callable[[int], bool]:
    """The noise of tests, drawn without a look into the ledger."""
    source = curator._Curator__noise._PaidNoise__source
    return lambda margin: source.exceeds(margin, event.scale / GRID)


def watch_not_charged(patch: pytest.MonkeyPatch) -> None:
    """Start it and forget to pay."""

    def watch(self: Any, mechanism: SparseVector, *, label: str = "watch") -> Watch:
        event = self._watch_event(mechanism, label)
        with unpaid(self):
            self._Curator__noise.pay(event)
            secret = self._Curator__noise.threshold(event)
        made = self._watch(WatchState(mechanism, secret, mechanism.fires), event)
        made._Watch__exceeds = unpaid_tests(self, event)
        return made

    patch.setattr(Curator, "watch", watch)


def watch_charged_with_its_first_fire(patch: pytest.MonkeyPatch) -> None:
    """A watch that never fires is free: but every no tells something."""
    test, started = Watch.test, Curator.watch
    owed: dict[int, tuple[Any, Any]] = {}

    def watch(self: Any, mechanism: SparseVector, *, label: str = "watch") -> Watch:
        with unpaid(self) as books:
            made = started(self, mechanism, label=label)
        owed[id(made)] = self._Curator__ledger, books.events[-1]
        made._Watch__exceeds = unpaid_tests(self, books.events[-1])
        return made

    def testing(self: Any, *args: Any, **rest: Any) -> bool:
        if (fired := test(self, *args, **rest)) and id(self) in owed:
            ledger, event = owed.pop(id(self))
            ledger.charge(event)
        return fired

    patch.setattr(Curator, "watch", watch)
    patch.setattr(Watch, "test", testing)


def watch_charged_after_its_secret(patch: pytest.MonkeyPatch) -> None:
    """Draw first, pay later."""

    def watch(self: Any, mechanism: SparseVector, *, label: str = "watch") -> Watch:
        event = self._watch_event(mechanism, label)
        with unpaid(self):
            self._Curator__noise.pay(event)
            secret = self._Curator__noise.threshold(event)
        self._Curator__ledger.charge(event)
        return self._watch(WatchState(mechanism, secret, mechanism.fires), event)

    patch.setattr(Curator, "watch", watch)


def fires_not_counted(patch: pytest.MonkeyPatch) -> None:
    """It never closes."""
    test = Watch.test

    def forgetting(self: Any, *args: Any, **rest: Any) -> bool:
        fired = test(self, *args, **rest)
        self._Watch__fires_left = self.mechanism.fires
        return fired

    patch.setattr(Watch, "test", forgetting)


def fires_not_locked(patch: pytest.MonkeyPatch) -> None:
    """Look whether a fire is left, wait for the noise, then count."""
    patch.setattr(watch_module, "threading", SimpleNamespace(Lock=nullcontext))


def states_resumed_freely(patch: pytest.MonkeyPatch) -> None:
    """As many watches as one likes with one threshold noise."""
    resume = Curator.resume_watch

    def freely(self: Any, state: WatchState, *, label: str = "watch") -> Watch:
        self._Curator__watching = False
        return resume(self, state, label=label)

    patch.setattr(Curator, "resume_watch", freely)


def sensitivity_to_the_nearest_step(patch: pytest.MonkeyPatch) -> None:
    """1.4 steps taken as 1: rounded down, answers can move by 2."""

    def check(self: Any, query: LinearQuery) -> None:
        needed = max(1.0, np.round(query.sensitivity(self._Watch__neighbours).l1 / GRID)) * GRID
        if needed > self.mechanism.sensitivity:
            raise QueryError("too sensitive")

    patch.setattr(Watch, "_check_sensitivity", check)


def answers_to_the_nearest_even_step(patch: pytest.MonkeyPatch) -> None:
    """Half a step becomes 0, one and a half become 2: moved by 1, counted as 2."""
    patch.setattr(watch_module, "_grid_units", lambda units, step: np.rint(units * step / GRID).astype(np.int64))


def unchecked_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """Any query against any watch."""
    patch.setattr(Watch, "_check_sensitivity", lambda self, query: None)


def errors_of_a_group_added_up(patch: pytest.MonkeyPatch) -> None:
    """The sum moves by 2 where the largest moves by 1."""
    patch.setattr(watch_module, "_worst", lambda errors, side: int(abs(errors).sum()))


def groups_measured_as_one_query(patch: pytest.MonkeyPatch) -> None:
    """Noise and charge of a single count, on every count of the group."""
    patch.setattr(Blocks, "sensitivity", lambda self, neighbours: of_query(*self.bounds, neighbours))


def draws_charged_once(patch: pytest.MonkeyPatch) -> None:
    """Many draws at the price of one."""
    patch.setattr(IndependentDraws, "charge", lambda self, regime: self.epsilon)


def draws_at_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    """Without the 2 of the exponential mechanism: charged at one scale, drawn at another."""
    _draw_otherwise(patch, lambda scores, scale: (scores, scale / 2.0))


def complements_with_the_sign_of_their_query(patch: pytest.MonkeyPatch) -> None:
    """Both score the same."""
    _draw_otherwise(patch, lambda scores, scale: (np.resize(scores[: len(scores) // 2], len(scores)), scale))


def _draw_otherwise(patch: pytest.MonkeyPatch, change: Callable[[Floats, float], tuple[Floats, float]]) -> None:
    """Let the curator hand other scores, or another scale, to its noise source."""
    draw = Curator.draw

    def otherwise(self: Any, *args: Any, **rest: Any) -> Ints:
        source = self._Curator__noise._PaidNoise__source
        with drawing(self, draw=lambda scores, scale, size: source.draw(*change(scores, scale), size)):
            return draw(self, *args, **rest)

    patch.setattr(Curator, "draw", otherwise)


def draws_of_width_1_have_sensitivity_1(patch: pytest.MonkeyPatch) -> None:
    """The sensitivity of replacing a record, used where one is added: values of 5 and 6 move an answer by 6."""
    of = EqualWidths.of

    def narrow(workload: Workload, neighbours: Neighbours) -> EqualWidths:
        made = of(workload, neighbours)
        return EqualWidths(made.multipliers, np.ones(workload.n_queries))

    patch.setattr(EqualWidths, "of", narrow)


def events_of_any_relation(patch: pytest.MonkeyPatch) -> None:
    """Restore whatever fits into the limit."""
    opened = Curator.__init__

    def opening(self: Any, source: Any, budget: Any, *, noise: Any = None, events: Sequence[Any] = ()) -> None:
        opened(self, source, budget, noise=noise)
        self._Curator__ledger.charge(*events)

    patch.setattr(Curator, "__init__", opening)


ODD = Explicit.of(ONE, ["a"], [0.0, 1.4 * GRID])
HALVES = Explicit.of(ONE, ["a"], [0.5 * GRID, 1.5 * GRID])
LARGE = Explicit.of(ONE, ["a"], [0.0, 3.0])
MUTANTS = (
    Mutant(
        "Lap(1/epsilon) on tests and threshold",
        equal_noise_on_tests_and_threshold,
        lambda: watch_loses_at_most_its_charge(1),
    ),
    Mutant(
        "one threshold at the scales of one epoch",
        tests_not_scaled_with_fires,
        lambda: watch_loses_at_most_its_charge(3),
    ),
    Mutant("half the shift of a yes", half_the_shift_of_a_yes, lambda: watch_loses_at_most_its_charge(1)),
    Mutant("fires are free in rho", renyi_times(lambda self: (0.75, 1.0)), renyi_charge_covers_exact_laws),
    Mutant(
        "half of the tests' part of rho",
        renyi_times(lambda self: (0.375, self.fires / 2)),
        renyi_charge_covers_exact_laws,
    ),
    Mutant("the threshold is free in rho", renyi_times(lambda self: (0.0, self.fires)), renyi_charge_covers_exact_laws),
    Mutant(
        "no noise on the threshold", threshold_noise_not_added, lambda: watch_loses_at_most_its_charge(1, loud=False)
    ),
    Mutant("the threshold is free", threshold_not_charged, lambda: watch_loses_at_most_its_charge(3)),
    Mutant("a watch is free", watch_not_charged, lambda: watch_loses_at_most_its_charge(1)),
    Mutant(
        "a watch is free until it fires",
        watch_charged_with_its_first_fire,
        lambda: watch_loses_at_most_its_charge(1, loud=False),
    ),
    Mutant(
        "a watch is charged after its secret", watch_charged_after_its_secret, watches_are_paid_before_they_are_drawn
    ),
    Mutant("fires not counted", fires_not_counted, no_more_fires_than_were_paid_for),
    Mutant("fires not locked", fires_not_locked, two_threads_share_one_fire),
    Mutant("states resumed freely", states_resumed_freely, one_threshold_serves_one_watch),
    Mutant(
        "sensitivity rounded to the nearest step",
        sensitivity_to_the_nearest_step,
        lambda: query_loses_at_most_its_charge(ODD, GRID, ADD_REMOVE, (0, 2)),
    ),
    Mutant(
        "answers rounded to the nearest even step",
        answers_to_the_nearest_even_step,
        lambda: query_loses_at_most_its_charge(HALVES, GRID, REPLACE, (1, 0)),
    ),
    Mutant(
        "sensitivity not checked",
        unchecked_sensitivity,
        lambda: query_loses_at_most_its_charge(LARGE, 1.0, ADD_REMOVE, (5, 5)),
    ),
    Mutant(
        "Delta 1 for values in [-1, 1] under replace, tested",
        delta_1_for_parities_under_replace,
        lambda: query_loses_at_most_its_charge(Explicit.of(ONE, ["a"], [-1.0, 1.0]), 1.0, REPLACE, (5, 5)),
    ),
    Mutant("errors of a group added up", errors_of_a_group_added_up, lambda: group_loses_at_most_its_charge(REPLACE)),
    Mutant(
        "groups measured as one query",
        groups_measured_as_one_query,
        counts_of_a_group_lose_at_most_their_charge,
    ),
    Mutant("draws charged once", draws_charged_once, lambda: draws_lose_at_most_their_charge(CELLS, REPLACE)),
    Mutant("draws at half the scale", draws_at_half_the_scale, lambda: draws_lose_at_most_their_charge(CELLS, REPLACE)),
    Mutant(
        "draws of wide values as of narrow ones",
        draws_of_width_1_have_sensitivity_1,
        lambda: draws_lose_at_most_their_charge(WIDE, ADD_REMOVE),
    ),
    Mutant(
        "complements with the sign of their query (not privacy)",
        complements_with_the_sign_of_their_query,
        complements_have_the_opposite_score,
    ),
    Mutant("restored events of any relation", events_of_any_relation, restored_events_are_of_the_same_relation),
)
