"""A budget and its spending, as they are told to people: the sums agree, and nobody learns what is not theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hedgerow.service import spending_of, summary_of
from hedgerow.service.sessions import summaries
from tests.privacy.mutants import Mutant, killed
from tests.service.sessions.test_order_mutants import by, instead
from tests.service.stack import AtWorker, at_worker
from tests.service.store.bookkeeping import check_account


@contextmanager
def asked(folder: Path, seen: list[Any] | None = None) -> Iterator[AtWorker]:
    """Ada, the custodian, and Bob have asked; what both are told while the data are looked at is seen."""
    people: list[AtWorker] = []

    def reached(step: str) -> None:
        if people and step == "held" and seen is not None:
            here = people[0]
            check_account(here.store, here.data_set.id)
            told = (summary_of(here.store, here.data_set, each)["account"] for each in (here.ada, here.bob))
            seen.append([here.hold(), *(each["held"] for each in told)])

    with at_worker(folder, reached=reached) as started:
        people.append(started)
        started.ask("a = 1", "b = 1 and c = 0", by=started.ada)
        started.ask("b > 1", "c = 4", by=started.bob)
        yield started


def test_while_the_data_are_looked_at_custodians_alone_are_told_what_is_held(tmp_path: Path) -> None:
    seen: list[Any] = []
    with asked(tmp_path, seen) as people:
        check_account(people.store, people.data_set.id)
    assert len(seen) >= 3
    assert all(held == custodian > 0.0 and analyst is None for held, custodian, analyst in seen)


def test_an_analyst_is_told_of_others_without_a_name(tmp_path: Path) -> None:
    with asked(tmp_path) as people:
        for person, names in ((people.ada, {"ada", "bob"}), (people.bob, {"bob"})):
            entries = spending_of(people.store, people.data_set, person)["entries"]
            assert {each["person"] for each in entries if each["whose"] != "nobody"} - {None} == names
            assert {each["whose"] for each in entries} == {"mine", "others", "nobody"}


def told_to_everyone(account: Any) -> Any:
    return lambda shares, spent, limit, tells_held: account(shares, spent, limit, tells_held=True)


def with_names(_: Any) -> Any:
    return lambda payer, person, names: ("nobody", "") if payer is None else ("others", names[payer])


MUTANTS = (
    Mutant(
        "analysts are told what is held while the data are looked at",
        instead(summaries, "_account", told_to_everyone),
        by(test_while_the_data_are_looked_at_custodians_alone_are_told_what_is_held),
    ),
    Mutant(
        "analysts are told who else paid",
        instead(summaries, "_whose", with_names),
        by(test_an_analyst_is_told_of_others_without_a_name),
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_what_is_told_to_the_wrong_people_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
