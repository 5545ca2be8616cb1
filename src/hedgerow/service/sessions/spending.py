"""Spending of a budget over time, by person and by kind, from the store alone."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from hedgerow.algorithms.online_pmw import LOST, WATCH
from hedgerow.service.sessions.summaries import DUST, summary_of
from hedgerow.service.store import Charge, DataSet, Person, Store

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
