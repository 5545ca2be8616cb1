"""A worker: what is charged before the data are looked at, what is committed before answers leave, who may how much."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow import OnlinePMW
from hedgerow.algorithms import LOST
from hedgerow.errors import (
    ConflictError,
    DataError,
    NotAllowedError,
    OutdatedError,
    StoreBusyError,
    StoreError,
    TableError,
)
from hedgerow.privacy import ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.service import Hold
from tests.privacy.replay import ExplodingNoise, ScriptedNoise
from tests.service.stack import (
    CONFIG,
    REPLACE,
    AtWorker,
    Drawing,
    Lens,
    at_worker,
    charges,
    condition,
    plain,
    skewed,
    transcript,
    whole,
    without_times,
)
from tests.service.store.cases import everything

PAY = OnlinePMW(variant="pay-as-you-go", updates=6, threshold=0.02, step="residual")
FIRES = [True] * 50
CLOSE = [False] * 50


def scripted(*answers: bool) -> ScriptedNoise:
    return ScriptedNoise(list(answers), SeededNoise(1))


@pytest.fixture(name="people")
def one_worker(tmp_path: Path) -> Iterator[AtWorker]:
    with at_worker(tmp_path, noise=scripted(*FIRES)) as people:
        yield people


# ---- the order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fires", [True, False])
def test_when_the_data_are_looked_at_the_most_it_can_cost_is_in_the_store(tmp_path: Path, fires: bool) -> None:
    seen: list[tuple[float | None, list[str], int]] = []
    lens = Lens(skewed(), lambda: seen.append((people.hold(), people.labels(), len(people.answers()))))
    with at_worker(tmp_path, source=lens, config=PAY, noise=scripted(fires)) as people:
        people.ask("a = 0")
        charge = people.worker.look_at(lambda session: session.rules.answer_charge)
        looks = [each for each in seen if each[0] is not None]
        # one look for the test, and one for the answer if it fires; the epoch is charged before both
        assert looks == [(charge, ["watch"], 0)] * (2 if fires else 1)
        assert people.hold() is None
        assert people.labels() == ["watch", "answer"][: 1 + fires]


def test_the_total_is_held_before_it_is_drawn(tmp_path: Path) -> None:
    seen: list[float | None] = []
    noise = Drawing(SeededNoise(0), lambda: seen.append(people.hold()))
    with at_worker(tmp_path, budget=PureDP(1.0), noise=noise) as people:
        people.worker.look_at(lambda _: None)
        (total,) = people.events()
        assert seen == [total.event.charge]
        assert (people.store.data_set("people").status, people.hold()) == ("open", None)
        assert total.person is None


def test_what_a_crash_leaves_does_not_depend_on_the_test(tmp_path: Path) -> None:
    """At the named steps up to the commit the store holds the same rows whether the test fires or not."""
    found: list[list[Any]] = []
    for fires in (True, False):
        rows: list[Any] = []
        (tmp_path / str(fires)).mkdir()

        def reached(step: str, rows: list[Any] = rows) -> None:
            if step in ("held", "looked"):
                rows.append((step, without_times(everything(people.store))))

        with at_worker(tmp_path / str(fires), noise=scripted(fires), config=PAY, reached=reached) as people:
            people.worker.look_at(lambda _: None)
            rows.clear()
            people.ask("a = 0")
        found.append(rows)
    assert [step for step, _ in found[0]] == ["held", "looked"]
    assert found[0] == found[1]


def test_steps_are_passed_in_their_order(tmp_path: Path) -> None:
    passed: list[str] = []
    with at_worker(
        tmp_path, noise=scripted(True), config=PAY, reached=passed.append, store_reached=passed.append
    ) as one:
        one.worker.look_at(lambda _: None)
        passed.clear()
        one.ask("a = 0")
    looked = ["step written", "hold written", "held", "looked", "step written", "answers written", "committed"]
    assert passed == looked


def test_answers_leave_only_after_their_commit(tmp_path: Path) -> None:
    at_commit = threading.Event()
    go_on = threading.Event()

    def reached(step: str) -> None:
        if step == "answers written" and gate:
            at_commit.set()
            go_on.wait(10)

    gate: list[bool] = []
    with at_worker(tmp_path, noise=scripted(True), store_reached=reached) as people:
        people.worker.look_at(lambda _: None)
        gate.append(True)
        got: list[Any] = []
        asking = threading.Thread(target=lambda: got.extend(people.ask("a = 0")))
        asking.start()
        try:
            assert at_commit.wait(10)
            assert got == []
            assert people.answers() == []
        finally:
            gate.clear()
            go_on.set()
            asking.join(10)
        assert got == people.answers()


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_a_group_ends_at_the_first_fire(tmp_path: Path) -> None:
    with at_worker(tmp_path, noise=scripted(False, False, True, False, True, False)) as people:
        people.worker.look_at(lambda _: None)
        people.steps.clear()
        found = people.ask(*(f"a = 0 and b = {b}" for b in range(4)), "c = 1", "c = 2")
        assert [each.source for each in found] == [
            "hypothesis",
            "hypothesis",
            "data",
            "hypothesis",
            "data",
            "hypothesis",
        ]
        # three groups, each with a hold of its own: two that end at a fire, and the rest
        assert people.steps == ["held", "looked", "committed"] * 3


def test_many_who_ask_at_once_are_one_group(tmp_path: Path) -> None:
    with at_worker(tmp_path, noise=scripted(*CLOSE)) as people:
        people.worker.look_at(lambda _: None)
        people.steps.clear()
        found = people.together(*([f"b = {b} and c = {c}"] for b in range(4) for c in range(5)))
        assert people.steps == ["held", "looked", "committed"]
        assert [one[0].source for one in found if isinstance(one, list)] == ["hypothesis"] * 20
        assert people.labels() == ["watch"]
        assert people.store.grant(people.data_set.id, people.bob.id).spent == 0.0


def test_a_long_request_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    with at_worker(tmp_path, noise=scripted(*[False] * 100)) as people:
        long = [f"a = {a} and b = {b} and c = {c}" for a in range(2) for b in range(4) for c in range(5)]
        found = people.together(long, ["a = 1"])
        assert [len(one) for one in found if isinstance(one, list)] == [40, 1]
        places = [each.where for each in people.answers()]
        assert places.index(plain(people.answers()[-1])["where"]) > places.index("a = 1")


def test_a_question_asked_twice_in_one_group_is_looked_at_once(tmp_path: Path) -> None:
    with at_worker(tmp_path, noise=scripted(False)) as people:
        found = people.together(["a = 0"], ["a = 0"])
        first, second = (one[0] for one in found if isinstance(one, list))
        assert (first.source, second.source) == ("hypothesis", "cache")
        assert first.value == second.value


def test_cached_and_public_questions_hold_nothing(people: AtWorker) -> None:
    people.ask("a = 0")
    people.steps.clear()
    found = people.ask("a = 0", "a in (0, 1)", "not a = 1")
    assert [each.source for each in found] == ["cache", "public", "cache"]
    assert [each.charged for each in found] == [0.0] * 3
    assert people.steps == ["committed"]


def test_answers_come_in_the_order_of_the_questions(people: AtWorker) -> None:
    texts = [f"b = {b} and c = {c}" for b in range(4) for c in range(5)]
    found = people.ask(*texts)
    assert [each.position for each in found] == list(range(20))
    assert [each.where for each in found] == texts
    assert [each.id for each in found] == sorted(each.id for each in found)


def test_no_questions_no_answers(people: AtWorker) -> None:
    assert people.ask() == []
    assert people.labels() == []


# ---- what is charged, and to whom ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "budget"), [(PAY, ApproxDP(1.0, 1e-6)), (CONFIG, PureDP(2.0))])
def test_corrections_have_one_price_and_the_ledger_has_the_charges(
    tmp_path: Path, config: OnlinePMW, budget: Budget
) -> None:
    with at_worker(tmp_path, config=config, budget=budget, noise=SeededNoise(3)) as people:
        found = [people.ask(f"b = {b} and c = {c}")[0] for b in range(4) for c in range(5)]
        price = people.worker.look_at(lambda session: session.price)
        rest = [each for each in people.events() if each.event.label != "total"]
        sources = [each.source for each in found]
        assert [each.charged for each in found] == [price if source == "data" else 0.0 for source in sources]
        assert people.labels().count("answer") == sources.count("data") > 1
        # once all corrections are made, what people paid is what was charged
        assert updates_left(people) == 0
        assert float(sum(Fraction(each.event.charge) for each in rest)) == pytest.approx(sources.count("data") * price)
        assert {each.person for each in rest} == {"bob"}
        assert charges(people.store, people.data_set.id) <= Fraction(budget.limit)
        grant = people.store.grant(people.data_set.id, people.bob.id)
        assert (grant.asked, grant.spent) == (20, pytest.approx(sources.count("data") * price))
        assert [each.spent for each in found] == sorted(each.spent for each in found)


def updates_left(people: AtWorker) -> int:
    return people.worker.look_at(lambda session: session.updates_left)


def test_budget_that_is_used_up_is_never_passed(tmp_path: Path) -> None:
    budget = PureDP(0.5, REPLACE)
    config = OnlinePMW(variant="pay-as-you-go", updates=2, threshold=0.02)
    with at_worker(tmp_path, config=config, budget=budget, noise=scripted(*FIRES)) as people:
        found = [people.ask(f"b = {b} and c = {c}")[0] for b in range(2) for c in range(5)]
        assert [each.source for each in found] == ["data"] * 2 + ["hypothesis only"] * 8
        assert "used up" in found[-1].covers or "spent" in found[-1].covers
        assert charges(people.store, people.data_set.id) <= Fraction(0.5)
        assert people.labels() == ["watch", "answer"] * 2


# ---- limits of people ------------------------------------------------------------------------------------------------


def test_the_number_of_questions_is_limited(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, 3, None, by=people.ada.id)
    people.ask("a = 0", "a = 0")
    with pytest.raises(NotAllowedError, match=r"all 3 questions .*; 1 of this request came before that"):
        people.ask("b = 1", "b = 2", key="k")
    assert [each.where for each in people.answers()] == ["a = 0", "a = 0", "b = 1"]
    with pytest.raises(NotAllowedError, match="; 1 of this"):  # what was answered before does not count again
        people.ask("b = 1", "b = 2", key="k")
    with pytest.raises(NotAllowedError, match=r"of this data set\n"):
        people.ask("b = 2")
    assert people.store.grant(people.data_set.id, people.bob.id).asked == 3
    assert len(people.ask("b = 2", by=people.ada)) == 1
    people.store.set_grant(people.data_set.id, people.bob.id, 4, None, by=people.ada.id)
    assert [each.where for each in people.ask("b = 1", "b = 2", key="k")] == ["b = 1", "b = 2"]


def test_who_may_ask_nothing_more_opens_no_epoch(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, 0, None, by=people.ada.id)
    people.worker.look_at(lambda _: None)
    people.steps.clear()
    with pytest.raises(NotAllowedError):
        people.ask("a = 0")
    assert people.labels() == []
    assert people.steps == ["committed"]
    bobs, adas = people.together(["a = 0"], (people.ada, ["a = 0"]))
    assert isinstance(bobs, NotAllowedError)
    assert isinstance(adas, list)
    assert [each.person for each in people.events()] == ["ada", "ada"]
    spent = {each.person: each.spent for each in people.store.grants(people.data_set.id)}
    assert spent[people.bob.id] == 0.0
    assert spent[people.ada.id] == people.worker.look_at(lambda session: session.price)


def test_a_limit_that_is_reached_in_the_middle_of_a_group(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, 1, None, by=people.ada.id)
    people.ask("a in (0, 1)", by=people.ada)
    bobs, adas = people.together(["a in (0, 1)", "a = 0"], (people.ada, ["b = 0"]))
    assert isinstance(bobs, NotAllowedError)
    assert [each.source for each in adas] == ["data"]  # type: ignore[union-attr]
    assert {each.person for each in people.events()} == {"ada"}


@pytest.mark.slow
def test_a_share_of_the_budget_is_never_passed(tmp_path: Path) -> None:
    with at_worker(tmp_path, config=PAY, noise=scripted(*FIRES)) as people:
        price = people.worker.look_at(lambda session: session.price)
        people.store.set_grant(people.data_set.id, people.bob.id, None, 2.5 * price, by=people.ada.id)
        found = people.ask("a = 0", "b = 0", "c = 0", "a = 0", "a in (0, 1)")
        assert [one.source for one in found] == ["data", "data", "hypothesis only", "cache", "public"]
        assert found[2].low is None
        assert found[2].covers == "nothing: your share of the budget is used up"
        assert people.ask("c = 0", by=people.ada)[0].source == "data"
        assert people.ask("c = 0")[0].source == "cache"
        assert people.store.grant(people.data_set.id, people.bob.id).spent == 2 * price


def test_who_has_no_budget_holds_nothing(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, None, 0.0, by=people.ada.id)
    people.worker.look_at(lambda _: None)
    people.steps.clear()
    assert people.ask("a = 0")[0].source == "hypothesis only"
    assert people.steps == ["committed"]
    assert people.labels() == []


def test_who_cannot_pay_a_correction_is_not_tested_either(tmp_path: Path) -> None:
    """Also while an epoch runs that others opened: one might fire."""
    with at_worker(tmp_path, noise=scripted(False, False)) as people:
        price = people.worker.look_at(lambda session: session.price)
        people.store.set_grant(people.data_set.id, people.bob.id, None, 0.99 * price, by=people.ada.id)
        found = people.together((people.ada, ["b = 0"]), ["a = 0"], (people.ada, ["c = 0"]))
        assert [one[0].source for one in found if isinstance(one, list)] == [
            "hypothesis",
            "hypothesis only",
            "hypothesis",
        ]
        people.store.set_grant(people.data_set.id, people.bob.id, None, price, by=people.ada.id)
        assert people.ask("c = 0")[0].source == "cache"


# ---- repeated requests -----------------------------------------------------------------------------------------------


def test_a_repeated_request_is_answered_once(people: AtWorker) -> None:
    first = people.ask("a = 0", "b = 1", key="k")
    assert people.ask("a = 0", "b = 1", key="k") == first
    assert len(people.answers()) == 2
    assert people.store.grant(people.data_set.id, people.bob.id).asked == 2
    with pytest.raises(ConflictError):
        people.ask("a = 1", key="k")


@pytest.mark.parametrize("fires", [True, False])
def test_a_request_sent_again_while_it_waits_is_answered_once(tmp_path: Path, fires: bool) -> None:
    with at_worker(tmp_path, noise=scripted(*[fires] * 50)) as people:
        texts = ["a = 0", "b = 1", "c = 2", "a = 0 and c = 1"]
        number = people.number_of(people.bob, "k", texts)
        ask = people.ask
        people.ask = lambda *texts, by=None: people.worker.ask(  # type: ignore[method-assign,misc]
            [condition(text) for text in texts], person=people.bob.id, request=number
        )
        found = people.together(texts, texts, texts)
        people.ask = ask  # type: ignore[method-assign]
        assert found[0] == found[1] == found[2]
        assert found[0] == people.answers()
        assert LOST not in people.labels()


def test_a_request_sent_to_two_processes_is_answered_once(tmp_path: Path) -> None:
    """The second one waits while the first answers a part; what it then finds in the store it does not ask again."""
    texts = [f"b = {b} and c = {c}" for b in range(4) for c in range(5)]
    with (
        at_worker(tmp_path, noise=scripted(*FIRES)) as one,
        at_worker(tmp_path, join=one, noise=scripted(*FIRES)) as other,
    ):
        found: list[Any] = [None, None]

        def run(place: int) -> None:
            try:
                found[place] = (one, other)[place].ask(*texts, key="k")
            except Exception as error:  # noqa: BLE001 - compared below
                found[place] = error

        threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert found[0] == found[1] == one.answers()
        assert LOST not in one.labels()


# ---- what fails ------------------------------------------------------------------------------------------------------


class FailingStore:
    """A store that fails at some of its methods."""

    def __init__(self, store: Any, **failures: list[Exception | None]) -> None:
        self._store = store
        self._failures = failures

    def __getattr__(self, name: str) -> Any:
        failures = self._failures.get(name)
        if failures:
            failure = failures.pop(0)
            if failure is not None:
                raise failure
        return getattr(self._store, name)


def test_when_the_commit_fails_nothing_leaves_and_the_hold_is_lost(people: AtWorker) -> None:
    people.ask("a = 0")
    charge = people.worker.look_at(lambda session: session.rules.answer_charge)
    left = people.worker.look_at(lambda session: session.updates_left)
    people.repository.store = FailingStore(people.store, settle=[StoreError("full")] * 4)  # type: ignore[assignment]
    with pytest.raises(StoreError, match="full"):
        people.ask("b = 1")
    assert (people.hold(), len(people.answers())) == (charge, 1)
    assert people.labels() == ["watch", "answer"]
    found = people.ask("b = 1")  # the next one looks again, and pays again
    assert [each.source for each in found] == ["data"]
    assert people.labels() == ["watch", "answer", LOST, "answer"]
    lost = people.events()[2].event
    assert lost.charge == charge
    assert lost.mechanism == "discrete Laplace"
    assert lost.charge * (1 - 1e-12) <= lost.sensitivity / lost.scale <= lost.charge  # what that costs is covered
    assert people.hold() is None
    assert found[0].updates_left == left - 2  # what was lost may have been a fire


def test_a_lost_correction_costs_a_share_as_much_as_any_other(people: AtWorker) -> None:
    people.ask("a = 0")
    price = people.worker.look_at(lambda session: session.price)
    assert people.store.grant(people.data_set.id, people.bob.id).spent == price
    people.repository.store = FailingStore(people.store, settle=[StoreError("full")] * 4)  # type: ignore[assignment]
    with pytest.raises(StoreError, match="full"):
        people.ask("b = 1")
    people.worker.look_at(lambda _: None)
    assert people.labels() == ["watch", "answer", LOST]
    assert people.store.grant(people.data_set.id, people.bob.id).spent == 2 * price


def test_a_store_that_is_busy_for_a_moment_costs_nothing(people: AtWorker) -> None:
    busy = StoreBusyError("busy")
    people.repository.store = FailingStore(people.store, settle=[None, busy, busy])  # type: ignore[assignment]
    people.ask("a = 0")
    people.ask("b = 1")
    assert people.labels() == ["watch", "answer", "answer"]
    assert len(people.answers()) == 2


def test_when_the_hold_fails_nothing_is_looked_at(tmp_path: Path) -> None:
    looks: list[int] = []
    lens = Lens(skewed(), lambda: looks.append(1))
    with at_worker(tmp_path, source=lens, noise=scripted(True)) as people:
        people.worker.look_at(lambda _: None)
        looks.clear()
        people.repository.store = FailingStore(people.store, hold=[StoreError("full")])  # type: ignore[assignment]
        with pytest.raises(StoreError):
            people.ask("a = 0")
        assert (looks, people.labels(), people.hold(), people.answers()) == ([], [], None, [])
        assert people.ask("a = 0")[0].source == "data"
        assert people.labels() == ["watch", "answer"]


def test_a_failure_does_not_make_the_table_be_read_again(people: AtWorker) -> None:
    people.ask("a = 0")
    people.repository.store = FailingStore(people.store, progress=[StoreError("gone")])  # type: ignore[assignment]
    with pytest.raises(StoreError):
        people.ask("b = 0")
    people.ask("b = 0")
    assert people.reads == 1


def test_what_a_look_raises_reaches_all_who_wait_and_is_paid_for(tmp_path: Path) -> None:
    def exploding() -> None:
        if people.hold() is not None:
            raise RuntimeError("broken")

    with at_worker(tmp_path, source=Lens(skewed(), exploding), noise=scripted(*FIRES)) as people:
        found = people.together(["a = 0"], ["b = 0"])
        assert [type(each) for each in found] == [RuntimeError] * 2
        people.source.looked = lambda: None
        assert people.ask("b = 0")[0].source == "data"
        assert people.labels() == ["watch", LOST, "answer"]


def test_after_it_was_closed_a_desk_takes_no_questions(tmp_path: Path) -> None:
    with at_worker(tmp_path) as people:
        people.worker.close()
        with pytest.raises(StoreBusyError):
            people.ask("a = 0")
        with pytest.raises(StoreBusyError):
            people.worker.look_at(lambda _: None)


def test_closing_a_desk_answers_what_waits(tmp_path: Path) -> None:
    with at_worker(tmp_path, noise=scripted(*CLOSE)) as people:
        held, free, found = threading.Event(), threading.Event(), []

        def busy(_: object) -> None:
            held.set()
            free.wait(10)

        threads = [threading.Thread(target=lambda: people.worker.look_at(busy))]
        threads[0].start()
        held.wait(10)
        threads.append(threading.Thread(target=lambda: found.extend(people.ask("a = 0"))))
        threads[1].start()
        while people.worker._inbox.qsize() < 1:
            pass
        threads.append(threading.Thread(target=people.worker.close))
        threads[2].start()
        free.set()
        for thread in threads:
            thread.join(10)
        assert [each.source for each in found] == ["hypothesis"]


# ---- beginning and ending --------------------------------------------------------------------------------------------


def test_a_beginning_that_is_interrupted_is_paid_for(tmp_path: Path) -> None:
    budget = PureDP(1.0)
    with at_worker(tmp_path, budget=budget, noise=ExplodingNoise()) as people:  # type: ignore[arg-type]
        with pytest.raises(RuntimeError):
            people.worker.look_at(lambda _: None)
        assert people.hold() is None
        assert people.labels() == [LOST]
        assert people.store.data_set("people").status == "failed"
        people.repository._noise = scripted(*FIRES)
        people.worker.manage(lambda repository: repository.retry(people.ada.id))
        people.ask("a = 0")
        assert people.labels() == [LOST, "total", "watch", "answer"]
        assert people.store.data_set("people").status == "open"
        assert charges(people.store, people.data_set.id) <= Fraction(1.0)


def test_a_closed_data_set_is_not_looked_at(tmp_path: Path) -> None:
    looks: list[int] = []
    lens = Lens(skewed(), lambda: looks.append(1))
    with at_worker(tmp_path, source=lens, noise=scripted(True)) as people:
        first = people.ask("a = 0")[0]
        people.store.close_data_set(people.data_set.id, by=people.ada.id)
        looks.clear()
        found = people.ask("a = 0", "b = 1", "a in (0, 1)")
        assert [each.source for each in found] == ["cache", "hypothesis only", "public"]
        assert found[0].value == first.value
        assert (
            found[1].covers
            == "nothing: the data set was closed, by its custodian or with an older store that was accepted"
        )
        assert (looks, people.reads) == ([], 1)
        assert people.labels() == ["watch", "answer"]


def test_a_data_set_closed_before_it_began_stays_so(tmp_path: Path) -> None:
    with at_worker(tmp_path) as people:
        people.store.close_data_set(people.data_set.id, by=people.ada.id)
        with pytest.raises(ConflictError, match="before it was opened"):
            people.ask("a = 0")
        assert people.reads == 0


def test_closing_while_a_question_is_under_way_costs_its_hold(tmp_path: Path) -> None:
    """The look that was begun is paid for; what came out is not given any more."""

    def close(step: str) -> None:
        if step == "held":
            people.store.close_data_set(people.data_set.id, by=people.ada.id)

    with at_worker(tmp_path, noise=scripted(*FIRES), reached=close) as people:
        found = people.ask("a = 0")
        assert [each.source for each in found] == ["hypothesis only"]
        assert people.labels() == ["watch", LOST]
        assert people.hold() is None


@pytest.mark.parametrize("error", [DataError("row 3 is wrong"), OSError("gone")])
def test_a_table_that_cannot_be_read_fails_each_question_and_nothing_is_charged(
    tmp_path: Path, error: Exception
) -> None:
    broken = [True]

    def read() -> Any:
        if broken:
            raise error
        return people.source

    with at_worker(tmp_path, read=read, noise=scripted(*FIRES)) as people:
        for _ in range(2):
            with pytest.raises(TableError if isinstance(error, OSError) else DataError) as caught:
                people.ask("a = 0")
            assert "gone" not in str(caught.value)
        assert (people.labels(), people.hold(), people.answers()) == ([], None, [])
        broken.clear()
        assert people.ask("a = 0")[0].source == "data"


# ---- two workers for one store ---------------------------------------------------------------------------------------


def test_two_desks_go_on_from_each_other(tmp_path: Path) -> None:
    noise = SeededNoise(5)
    texts = [f"b = {b} and c = {c}" for b in range(4) for c in range(5)]
    with at_worker(tmp_path, noise=noise, config=PAY) as one, at_worker(tmp_path, join=one, noise=noise) as other:
        found = [(one, other)[place % 2].ask(text)[0] for place, text in enumerate(texts)]
        assert one.ask(*texts) != []
        assert whole(one.store, one.data_set.id, one.source) == whole(other.store, one.data_set.id, one.source)
    (tmp_path / "alone").mkdir()
    with at_worker(tmp_path / "alone", noise=SeededNoise(5), config=PAY) as single:
        assert [plain(single.ask(text)[0]) for text in texts] == [plain(each) for each in found]


def test_two_desks_at_once_lose_nothing(tmp_path: Path) -> None:
    texts = [f"a = {a} and b = {b} and c = {c}" for a in range(2) for b in range(4) for c in range(5)]
    with at_worker(tmp_path, config=PAY) as one, at_worker(tmp_path, join=one, noise=SeededNoise(2)) as other:
        found: list[Any] = []

        def run(worker: AtWorker, part: int) -> None:
            for text in texts[part::2]:
                found.extend(worker.ask(text))

        threads = [threading.Thread(target=run, args=(worker, part)) for part in range(2) for worker in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(found) == 80
        assert set(map(repr, one.answers())) <= set(map(repr, found))
        assert {each.id for each in one.answers()} == {each.id for each in found}  # some were given again
        values = {each.where: each.value for each in found}
        assert all(each.value == values[each.where] for each in found)  # whoever asks again gets the same
        assert one.labels().count("answer") == [each.source for each in found].count("data")
        assert LOST not in one.labels()
        assert charges(one.store, one.data_set.id) <= Fraction(8.0)


def test_what_another_desk_holds_is_not_forfeited_while_it_lives(tmp_path: Path) -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def reached(step: str) -> None:
        if step == "looked" and one.answers():
            waiting.set()
            go_on.wait(10)

    with (
        at_worker(tmp_path, noise=scripted(*FIRES), reached=reached) as one,
        at_worker(tmp_path, join=one, noise=scripted(*FIRES), wait=0.05) as other,
    ):
        one.ask("a in (0, 1)")
        asking = threading.Thread(target=lambda: one.ask("a = 0"))
        asking.start()
        assert waiting.wait(10)
        with pytest.raises(StoreBusyError):
            other.ask("b = 0")
        go_on.set()
        asking.join(10)
        assert other.ask("a = 0")[0].source == "cache"
        assert LOST not in one.labels()


def test_who_is_outdated_begins_anew(people: AtWorker) -> None:
    """Somebody goes on between the hold and the commit, against all locks: the answer is thrown away and paid for."""
    people.ask("a = 0")
    outdated = OutdatedError("outdated")
    people.repository.store = FailingStore(people.store, settle=[outdated])  # type: ignore[assignment]
    found = people.ask("b = 1")
    assert [each.source for each in found] == ["data"]
    assert people.labels() == ["watch", "answer", LOST, "answer"]
    assert len(people.answers()) == 2


def test_somebody_elses_hold_is_forfeited_when_its_process_is_gone(people: AtWorker) -> None:
    people.ask("a = 0")
    version = people.store.data_set("people").version
    people.store.hold(people.data_set.id, version, Hold(0.001, "question", people.ada.id), None)
    people.ask("a = 0", by=people.ada)
    lost = people.events()[-1]
    assert (lost.event.label, lost.event.charge, lost.person) == (LOST, 0.001, "ada")
    told = people.store.progress(people.data_set.id).step
    assert told is not None
    assert told.state is not None
    assert Fraction(told.state["summary"]["spent"]) == float(charges(people.store, people.data_set.id))


def test_what_was_lost_is_told_at_once(people: AtWorker) -> None:
    """Also when nothing is asked afterwards: the sum of the summary is that of the ledger."""
    people.ask("a = 0")
    version = people.store.data_set("people").version
    people.store.hold(people.data_set.id, version, Hold(0.001, "question", people.ada.id), None)
    people.worker.look_at(lambda _: None)
    told = people.store.progress(people.data_set.id).step
    assert told is not None
    assert told.state is not None
    assert told.state["summary"]["spent"] == float(charges(people.store, people.data_set.id))
    assert transcript(people.store, people.data_set.id).events[-1].label == LOST


def test_config_of_tests_is_what_is_registered(people: AtWorker) -> None:
    assert people.worker.look_at(lambda session: session.config.parameters()) == CONFIG.parameters()
