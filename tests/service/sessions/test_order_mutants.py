"""Servers with the order of commits broken in one way each; a test of workers notices every one of them."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hedgerow.algorithms import Transcript
from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import StoreError
from hedgerow.service import Anchor, GivenAnswer, SessionRepository
from hedgerow.service.sessions import group
from tests.privacy.mutants import Check, Mutant, Patch, killed
from tests.service.sessions import test_worker
from tests.service.stack import at_worker
from tests.service.store import test_anchor

GROUP = group._Group


def by(test: Callable[..., None], *arguments: Any) -> Check:
    """A test of workers as a check, in a folder of its own; whatever it raises says that it noticed something."""

    def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Path(folder), *arguments)
            except AssertionError:
                raise
            except (Exception, pytest.fail.Exception) as error:
                raise AssertionError(str(error)) from error

    return check


def with_people(test: Callable[[Any], None], folder: Path) -> None:
    """For tests that take the fixture of a worker where every test fires."""
    with at_worker(folder, noise=test_worker.scripted(*test_worker.FIRES)) as people:
        test(people)


def instead(target: Any, name: str, made: Callable[[Any], Any]) -> Patch:
    """Put something in place of a method; it is given the method."""
    return lambda monkeypatch: monkeypatch.setattr(target, name, made(getattr(target, name)))


# ---- what is done wrongly --------------------------------------------------------------------------------------------


def skipped(_: Any) -> Any:
    """Nothing is held; an epoch is committed, as if it were an outcome."""

    def hold(self: SessionRepository, charge: float, person: int, step: Step | None) -> None:
        if step is not None:
            self._version = self.store.settle(self.data_set, self._version, step, []).version
            self._transcript.follow(step)

    return hold


def after_the_look(original: Any) -> Any:
    """Held when the outcome is known already, just before it is committed."""

    def hold(self: Any, charge: float, person: int, step: Step | None) -> None:
        self.later = partial(original, self, charge, person, step)
        self._transcript.follow(step or Step())

    return hold


def late_holds(original: Any) -> Any:
    def keep(self: Any, session: Any, answers: Any) -> Any:
        if getattr(self, "later", None) is not None:
            self.later()
            self.later = None
        return original(self, session, answers)

    return keep


def half_as_much(original: Any) -> Any:
    return lambda self, charge, person, step: original(self, charge / 2, person, step)


def without_the_epoch(original: Any) -> Any:
    """The hold is committed, but what was opened for it only together with the outcome."""
    return lambda self, charge, person, step: original(self, charge, person, None)


def refunded(_: Any) -> Any:
    """Who died has not spent anything, one hopes."""

    def forfeit(self: SessionRepository, hold: Any) -> None:
        self._version = self.store.settle(self.data_set, self._version, None, []).version

    return forfeit


def no_fire_lost(_: Any) -> Any:
    return lambda self: self._state


def only_if_it_fired(original: Any) -> Any:
    """A hold that waits for the outcome, and is committed where there is something to pay."""

    def keep(self: Any, session: Any, answers: Sequence[GivenAnswer]) -> Any:
        if getattr(self, "later", None) is not None and any(each.source == "data" for each in answers):
            self.later()
        self.later = None
        return original(self, session, answers)

    return keep


def although_it_failed(original: Any) -> Any:
    """The answers leave, whether or not they could be committed."""

    def keep(self: SessionRepository, session: Any, answers: Sequence[GivenAnswer]) -> Sequence[GivenAnswer]:
        try:
            kept: Sequence[GivenAnswer] = original(self, session, answers)
        except StoreError:
            return answers
        return kept

    return keep


def in_the_background(original: Any) -> Any:
    """The answers leave while they are being committed."""

    def keep(self: SessionRepository, session: Any, answers: Sequence[GivenAnswer]) -> Sequence[GivenAnswer]:
        def commit() -> None:
            with suppress(Exception):  # the test that noticed has closed the store meanwhile
                original(self, session, answers)

        threading.Thread(target=commit).start()
        return answers

    return keep


def without(label: str) -> Callable[[Any], Any]:
    """Some events of the outcome are not committed."""

    def made(original: Any) -> Any:
        def settle(self: SessionRepository, step: Step, session: Any, answers: Any) -> Any:
            kept = tuple(event for event in step.events if event.label != label)
            return original(self, replace(step, events=kept), session, answers)

        return settle

    return made


def to_the_end(original: Any) -> Any:
    """The group goes on after a fire, under the same hold."""

    def answer(self: Any, request: Any, at: int) -> bool:
        original(self, request, at)
        return True

    return answer


def nothing_known(_: Any) -> Any:
    return lambda repository, waiting: None


def every_line(_: Any) -> Any:
    return lambda waiting: [(each, at) for each in waiting for at in each.open]


def anyone_pays(_: Any) -> Any:
    return lambda self, person: True


def never_forgets(_: Any) -> Any:
    """What could not be committed stays in memory, as if it were."""
    return lambda self: None


def much_later(original: Any) -> Any:
    """The anchor is written while the answers leave."""

    def cover(self: Anchor, ledgers: Any, audit: Any) -> None:
        def late() -> None:
            with suppress(Exception):  # the test that noticed has removed its folder meanwhile
                original(self, ledgers, audit)

        threading.Timer(0.2, late).start()

    return cover


def if_it_can(original: Any) -> Any:
    def cover(self: Anchor, ledgers: Any, audit: Any) -> None:
        with suppress(StoreError):
            original(self, ledgers, audit)

    return cover


def both(*patches: Patch) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        for each in patches:
            each(monkeypatch)

    return patch


AT_THE_LOOK = test_worker.test_when_the_data_are_looked_at_the_most_it_can_cost_is_in_the_store
LEFT_BEHIND = test_worker.test_what_a_crash_leaves_does_not_depend_on_the_test
FAILED = partial(with_people, test_worker.test_when_the_commit_fails_nothing_leaves_and_the_hold_is_lost)
DEFERRED = instead(SessionRepository, "hold", after_the_look)

MUTANTS = [
    Mutant("nothing is held", instead(SessionRepository, "hold", skipped), by(AT_THE_LOOK, False)),
    Mutant(
        "held after the look", both(DEFERRED, instead(SessionRepository, "keep", late_holds)), by(AT_THE_LOOK, True)
    ),
    Mutant(
        "held only if it fired", both(DEFERRED, instead(SessionRepository, "keep", only_if_it_fired)), by(LEFT_BEHIND)
    ),
    Mutant("half of it is held", instead(SessionRepository, "hold", half_as_much), by(AT_THE_LOOK, True)),
    Mutant(
        "the epoch is committed later", instead(SessionRepository, "hold", without_the_epoch), by(AT_THE_LOOK, False)
    ),
    Mutant("the hold of the dead is given back", instead(SessionRepository, "_forfeit", refunded), by(FAILED)),
    Mutant("a lost test is no fire", instead(Transcript, "state_after_a_fire", no_fire_lost), by(FAILED)),
    Mutant(
        "answers leave although the commit failed", instead(SessionRepository, "keep", although_it_failed), by(FAILED)
    ),
    Mutant(
        "answers leave before the commit",
        instead(SessionRepository, "keep", in_the_background),
        by(test_worker.test_answers_leave_only_after_their_commit),
    ),
    Mutant(
        "the group goes on after a fire",
        instead(GROUP, "_answer", to_the_end),
        by(test_worker.test_a_group_ends_at_the_first_fire),
    ),
    Mutant(
        "what fired is not charged",
        instead(SessionRepository, "_settle", without("answer")),
        by(test_worker.test_budget_that_is_used_up_is_never_passed),
    ),
    Mutant(
        "the number of records is not charged",
        instead(SessionRepository, "_settle", without("total")),
        by(test_worker.test_the_total_is_held_before_it_is_drawn),
    ),
    Mutant(
        "what others answered meanwhile is not looked up",
        instead(group, "_look_up", nothing_known),
        by(test_worker.test_a_request_sent_to_two_processes_is_answered_once),
    ),
    Mutant(
        "a request that was sent twice is answered twice",
        instead(group, "_lines", every_line),
        by(test_worker.test_a_request_sent_again_while_it_waits_is_answered_once, False),
    ),
    Mutant(
        "anyone pays",
        instead(GROUP, "_pays", anyone_pays),
        by(test_worker.test_a_share_of_the_budget_is_never_passed),
    ),
    Mutant(
        "answers leave before the anchor covers them",
        instead(Anchor, "cover", much_later),
        by(test_anchor.test_answers_leave_only_after_the_anchor_covers_them),
    ),
    Mutant(
        "the data are looked at before the anchor covers the hold",
        instead(Anchor, "cover", much_later),
        by(test_anchor.test_the_hold_is_covered_before_the_data_are_looked_at),
    ),
    Mutant(
        "an anchor that cannot be written keeps nobody",
        instead(Anchor, "cover", if_it_can),
        by(test_anchor.test_without_an_anchor_that_can_be_written_nothing_leaves),
    ),
    Mutant("what failed stays in memory", instead(SessionRepository, "forget", never_forgets), by(FAILED)),
]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_broken_order_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
