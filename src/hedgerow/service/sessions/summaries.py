"""Summaries, ledgers, answers and spending of data sets, from the store alone: plain public values."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Literal

from hedgerow.algorithms.online_pmw import LOST, WATCH, Mark, OnlinePMW
from hedgerow.client import ServerAnswer
from hedgerow.domain import in_condition
from hedgerow.privacy import Budget, Ledger, budget_from_dict
from hedgerow.service.sessions.first import most_of_opening
from hedgerow.service.sessions.group import CLOSED
from hedgerow.service.store import Charge, DataSet, GivenAnswer, Person, Progress, Shares, Store

_TOLD_HOW_MANY = "NOT PRIVATE: how many rows pass the filter was published exactly"
DUST = 2.0**-40
"""Part of a limit below which a difference of sums is their rounding."""
_EVENTS = Mark(findings=2**62)
"""A mark that selects all events and the state."""


def summary_of(store: Store, data_set: DataSet, person: Person, shares: Shares | None = None) -> dict[str, Any]:
    """A data set in short, and the limits of a person.

    Args:
        store: Store of the data set.
        data_set: The data set.
        person: Person whose limits are included.
        shares: Result of `Store.shares`, if that was read already.
    """
    shares = shares or store.shares(data_set.id, person.id)
    progress, grant = shares.progress, shares.grant
    state = {} if progress.step is None or progress.step.state is None else progress.step.state
    told, budget = dict(state.get("summary", {})), budget_from_dict(data_set.registration.budget)
    too_much = data_set.registration.promised_too_much
    closed = CLOSED if progress.status == "closed" else told.get("closed", "")
    spent = told["spent"] if "spent" in told else ledger_of(store, data_set)["spent"]
    return {
        "name": data_set.name,
        "title": data_set.registration.title,
        "status": "used up" if closed and progress.status == "open" else progress.status,
        "spent": spent,
        "limit": budget.limit,
        "unit": budget.unit,
        "account": _account(shares, spent, budget.limit, tells_held=person.role == "custodian"),
        "updates": told.get("updates", 0),
        "updates_left": told.get("updates_left", 0),
        "price": told.get("price"),
        "threshold": None if too_much else told.get("threshold"),  # a share of the total
        "total": None if too_much else told.get("total"),
        "asked": shares.asked,
        "tested": told.get("tested", 0),
        "learnt": shares.learnt,
        "closed": closed,
        "retry_price": _retry_price(data_set, budget, spent) if progress.status == "failed" else None,
        "private": told.get("private", True) and not too_much,
        "statement": _statement(data_set),
        "mine": {**asdict(grant), "storage": store.quota if grant.storage is None else grant.storage},
    }


def _retry_price(data_set: DataSet, budget: Budget, spent: float) -> float:
    """The most that one more opening costs, of what is left."""
    told, left = data_set.registration, max(0.0, budget.limit - spent)
    config, first = OnlinePMW.from_dict(told.config), told.source.get("first_release", 0.0)
    return 0.0 if left == 0.0 else most_of_opening(config, budget, first, left)


def _account(shares: Shares, spent: float, limit: float, *, tells_held: bool) -> dict[str, float | None]:
    """The limit in parts that add up to it: what nobody asked for, what people paid, what is held, and what is left.

    What is held shows when a look at the data begins and ends. Custodians alone are told: for others it counts as left.
    """
    hold = shares.progress.hold
    held = None if not tells_held else 0.0 if hold is None else hold.charge
    mine = shares.grant.spent

    def rest(whole: float, *parts: float) -> float:
        found = math.fsum([whole, *(-part for part in parts)])
        return 0.0 if abs(found) < DUST * limit else found

    return {
        "opening": shares.opening,
        "mine": mine,
        "others": rest(shares.paid, mine),
        "tests": rest(spent, shares.opening, shares.paid),
        "held": held,
        "left": rest(limit, spent, held or 0.0),
    }


def ledger_of(store: Store, data_set: DataSet) -> dict[str, Any]:
    """The exact spending of a data set's budget, and the head of the hash chain of its events.

    Raises:
        DamagedStoreError: Events were changed after they were written.
    """
    progress = store.progress(data_set.id, _EVENTS)
    ledger, held = _ledger(data_set, progress), 0.0 if progress.hold is None else progress.hold.charge
    return {
        "limit": ledger.limit,
        "spent": ledger.spent,
        "remaining": max(0.0, ledger.remaining - held),
        "unit": ledger.unit,
        "statement": _statement(data_set),
        "held": held,
        "head": progress.head,
    }


def ledger_file_of(store: Store, data_set: DataSet) -> dict[str, Any]:
    """The whole ledger of a data set, which can be checked from this alone.

    Raises:
        DamagedStoreError: Events were changed after they were written.
    """
    progress, registration = store.progress(data_set.id, _EVENTS), data_set.registration
    return {
        "name": data_set.name,
        "budget": dict(registration.budget),
        "statement": _statement(data_set),
        **progress.fixed,
        "events": [event.to_dict() for event in _ledger(data_set, progress).events],
        "head": progress.head,
    }


def _statement(data_set: DataSet) -> str:
    if data_set.registration.promised_too_much:
        return f"{_TOLD_HOW_MANY}. Otherwise: {budget_from_dict(data_set.registration.budget).statement()}"
    return budget_from_dict(data_set.registration.budget).statement()


def _ledger(data_set: DataSet, progress: Progress) -> Ledger:
    budget = budget_from_dict(data_set.registration.budget)
    return Ledger.of(budget, () if progress.step is None else progress.step.events)


def answer_fields(name: str, given: GivenAnswer) -> dict[str, Any]:
    """The fields of an answer of a data set.

    Args:
        name: Name of the data set.
        given: The answer as the store has it.
    """
    asked = given.statement or f"SELECT COUNT(*) FROM {in_condition(name)} WHERE {given.where}"
    confidence = None if given.low is None else given.confidence  # of no interval there is none
    return asdict(given) | {"sql": asked, "confidence": confidence}


def answer_of(name: str, given: GivenAnswer) -> ServerAnswer:
    """An answer of a data set, as people get it; see `answer_fields`."""
    return ServerAnswer.of(answer_fields(name, given))


Kind = Literal["opening", "tests", "corrections", "lost"]
"""Purpose of a charge: the start, tests, answers of the data, and questions that a crash interrupted."""
_DAY = 86_400
WIDTHS = (1, 60, 3_600, _DAY, 7 * _DAY, 28 * _DAY, 364 * _DAY)
"""Lengths of intervals of time, in seconds."""
MOST_INTERVALS = 200
"""Most intervals that a list of spending is cut into, unless they are as long as the longest of `WIDTHS`."""

_Entry = tuple[int, Kind, str, str]
"""Start of an interval, in seconds; kind; whose; and name of the person who paid, or nothing."""


def spending_of(store: Store, data_set: DataSet, person: Person) -> dict[str, Any]:
    """The spending of a data set over time, in amounts that add up to what is spent.

    People pay the price of a correction, which is its answer and a part of the test that found the need for it. The
    test was charged before, when it began, to nobody: what a correction takes over from it stands with the tests,
    below 0. So do the sums of people agree with their limits, and all sums with the ledger.

    Args:
        store: Store of the data set.
        data_set: The data set.
        person: Person who looks. A custodian sees everyone by name, an analyst all others as one without a name.

    Returns:
        The fields of a summary that it adds up to, ``width``, the length of intervals in seconds, and ``entries``.
    """
    shares = store.shares(data_set.id, person.id, charges=True)
    summary = summary_of(store, data_set, person, shares)
    price = summary["price"] or 0.0
    width = _width([each.at for each in shares.charges])
    names = {each.id: each.name for each in store.people()}
    sums: defaultdict[_Entry, list[float]] = defaultdict(list)
    for each in shares.charges:
        start = math.floor(each.at.timestamp() / width) * width
        for kind, payer, amount in _parts(each, price):
            sums[start, kind, *_whose(payer, person, names)].append(amount)
    amounts = {entry: math.fsum(parts) for entry, parts in sorted(sums.items())}
    return {
        **{name: summary[name] for name in ("limit", "unit", "spent", "account")},
        "width": width,
        "entries": [
            {
                "at": datetime.fromtimestamp(start, UTC),
                "kind": kind,
                "whose": whose,
                "person": name or None,
                "amount": amount,
            }
            for (start, kind, whose, name), amount in amounts.items()
            if abs(amount) >= DUST * summary["limit"]
        ],
    }


def _parts(event: Charge, price: float) -> Iterator[tuple[Kind, int | None, float]]:
    """The parts of an event's charge, and who pays each."""
    if event.person is None:
        yield "opening", None, event.charge
    elif event.label == WATCH:
        yield "tests", None, event.charge
    else:
        yield "lost" if event.label == LOST else "corrections", event.person, price
        yield "tests", None, event.charge - price


def _whose(payer: int | None, person: Person, names: dict[int, str]) -> tuple[str, str]:
    if payer is None:
        return "nobody", ""
    if payer == person.id:
        return "mine", person.name
    return "others", names[payer] if person.role == "custodian" else ""


def _width(times: Sequence[datetime]) -> int:
    """The shortest of the intervals that so many are enough of."""
    if not times:
        return WIDTHS[0]
    lasted = (max(times) - min(times)).total_seconds()
    return next((width for width in WIDTHS if lasted < width * (MOST_INTERVALS - 1)), WIDTHS[-1])
