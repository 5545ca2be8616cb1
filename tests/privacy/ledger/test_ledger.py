from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hedgerow.errors import BudgetError, BudgetExceededError
from hedgerow.privacy import (
    Event,
    GaussianNoise,
    LaplaceNoise,
    Ledger,
    LedgerView,
    MeasuredQuery,
    RecordCount,
    WorstCandidate,
)


def event(charge: float = 0.25, **changes: Any) -> Event:
    made = Event(
        "measure", "discrete Laplace", MeasuredQuery("marginal", ("sex",)), 1.0, 8.0, 0.25, "epsilon", "add-remove", 2
    )
    scale = 2.0 / charge if charge is not True and 0.0 < charge < math.inf else 4.0
    return replace(made, **{"charge": charge, "scale": scale, **changes})


def test_sums_are_exact_and_a_charge_that_passes_the_limit_by_an_ulp_is_refused() -> None:
    ledger = Ledger(1.0, "epsilon")
    for _ in range(10):
        ledger.charge(event(0.1 * (1 - 2.0**-50)))
    assert ledger.spent <= 1.0
    full = Ledger(1.0, "epsilon", [event(0.5), event(0.5)])
    assert (full.spent, full.remaining) == (1.0, 0.0)
    with pytest.raises(BudgetExceededError):
        full.charge(event(2.0**-58))
    with pytest.raises(BudgetExceededError):
        Ledger(1.0, "epsilon").charge(event(math.nextafter(1.0, 2.0)))


def test_a_refusal_names_the_amounts_and_changes_nothing() -> None:
    ledger = Ledger(1.0, "epsilon", [event(0.75)])
    with pytest.raises(BudgetExceededError, match=r"0\.5 epsilon requested, 0\.75 of 1 spent, 0\.25 left") as caught:
        ledger.charge(event(0.5))
    error = caught.value
    assert (error.requested, error.spent, error.limit, error.unit) == (0.5, 0.75, 1.0, "epsilon")
    assert ledger.events == (event(0.75),)


def test_several_events_are_recorded_all_or_none() -> None:
    ledger = Ledger(1.0, "epsilon")
    with pytest.raises(BudgetExceededError) as caught:
        ledger.charge(event(0.75), event(0.75))
    assert caught.value.requested == 1.5
    assert ledger.events == ()
    ledger.charge(event(0.5), event(0.25))
    assert ledger.spent == 0.75


@given(st.lists(st.floats(1e-9, 1.0), max_size=30), st.floats(0.1, 5.0))
def test_whatever_is_asked_the_sum_never_passes_the_limit(charges: list[float], limit: float) -> None:
    ledger = Ledger(limit, "epsilon")
    for charge in charges:
        before = ledger.spent
        try:
            ledger.charge(event(charge))
        except BudgetExceededError:
            assert math.fsum([before, charge]) > limit * (1 - 1e-15)
    assert ledger.spent <= limit
    assert ledger.remaining == pytest.approx(limit - ledger.spent, abs=1e-12)


def test_threads_cannot_overspend() -> None:
    ledger = Ledger(1.0, "epsilon")
    refused: list[BudgetExceededError] = []

    def spend() -> None:
        for _ in range(50):
            try:
                ledger.charge(event(1 / 64))
            except BudgetExceededError as error:
                refused.append(error)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ledger.spent, len(ledger.events), len(refused)) == (1.0, 64, 200 - 64)


def test_an_interrupted_charge_is_not_free() -> None:
    """Whatever of a charge is left behind, the sum holds at least the events."""

    class Interrupting(list[Event]):
        def extend(self, events: Iterable[Event]) -> None:
            super().extend(events)
            raise KeyboardInterrupt

    ledger = Ledger(1.0, "epsilon")
    ledger._events = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        ledger.charge(event(0.75))
    assert ledger.spent >= sum(each.charge for each in ledger.events) == 0.75
    with pytest.raises(BudgetExceededError):
        ledger.charge(event(0.5))


def test_what_is_covered_can_be_charged_and_nothing_more() -> None:
    ledger = Ledger(1.0, "epsilon")
    ledger.charge(event(0.7))
    view, rest = ledger.view(), ledger.remaining
    for charges, fits in (
        ((0.1, 0.1), True),
        ((rest,), True),
        ((math.nextafter(rest, 1.0),), False),
        ((0.2, 0.2), False),
    ):
        assert ledger.covers(*charges) == view.covers(*charges) == fits
    ledger.charge(event(rest))
    assert not ledger.covers(2.0**-200)


def test_units_do_not_mix() -> None:
    with pytest.raises(BudgetError, match="counts epsilon"):
        Ledger(1.0, "epsilon").charge(event(unit="rho"))


@pytest.mark.parametrize(
    "changes",
    [
        {"charge": -0.1},
        {"charge": math.nan},
        {"charge": math.inf},
        {"charge": True},
        {"scale": -1.0},
        {"sensitivity": "1"},
        {"unit": "delta"},
        {"charge": 0.0},
        {"values": 0},
        {"neighbours": "none"},
        {"mechanism": "interrupted"},
        {"mechanism": "discrete Gaussian"},
        {"mechanism": "public"},
        {"scale": 3.9},
        {"sensitivity": 2.1},
    ],
)
def test_senseless_events_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        event(**changes)


def test_only_public_numbers_are_free() -> None:
    ledger = Ledger(1.0, "epsilon")
    public = {"mechanism": "public", "scale": 0.0, "sensitivity": 0.0, "neighbours": "replace"}
    ledger.charge(event(0.0, **public, question=RecordCount(), values=1))
    assert ledger.spent == 0.0
    for other in ({"values": 1}, {"question": RecordCount(), "values": 2}):
        with pytest.raises(BudgetError, match=r"does not answer 'sex'|is not about 2 values"):
            event(0.0, **public, **other)
    for relation in ("add-remove", "replace-then-filter"):
        with pytest.raises(BudgetError, match="not public"):
            event(0.0, **{**public, "neighbours": relation}, question=RecordCount(), values=1)


def test_events_know_the_noise_that_they_are_about() -> None:
    laplace = Event("total", "discrete Laplace", RecordCount(), 1.0, 8.0, 0.26, "epsilon", "add-remove")
    gaussian = Event("total", "discrete Gaussian", RecordCount(), 1.0, 8.0, 0.25, "rho", "add-remove")
    chosen = Event("total", "exponential mechanism", WorstCandidate(3), 1.0, 8.0, 0.26, "epsilon", "add-remove")
    public = Event("total", "public", RecordCount(), 0.0, 0.0, 0.0, "epsilon", "replace")
    assert laplace.noise == LaplaceNoise(8.0)
    assert gaussian.noise == GaussianNoise(8.0)
    assert [chosen.noise, public.noise] == [None, None]


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf])
def test_senseless_limits_are_refused(limit: float) -> None:
    with pytest.raises(BudgetError, match="limit"):
        Ledger(limit, "rho")


def test_ledgers_and_events_survive_json() -> None:
    ledger = Ledger(1.0, "epsilon", [event(0.1), event(0.2, label="select")])
    again = Ledger.from_dict(json.loads(json.dumps(ledger.to_dict())))
    assert (again.events, again.limit, again.unit) == (ledger.events, 1.0, "epsilon")
    assert Ledger.from_dict(ledger.view().to_dict()).events == ledger.events


def test_a_ledger_whose_charges_were_scaled_down_is_refused() -> None:
    mapping = Ledger(1.0, "epsilon", [event(0.25), event(0.5)]).to_dict()
    for each in mapping["events"]:
        each["charge"] *= 1e-9
    with pytest.raises(BudgetError, match="costs"):
        Ledger.from_dict(mapping)


@pytest.mark.parametrize("change", ["left out", "moved", "retold", "limit", "head"])
def test_a_ledger_whose_events_were_changed_is_refused(change: str) -> None:
    mapping = Ledger(
        1.0, "epsilon", [event(0.25), event(0.125, question=MeasuredQuery("marginal", ("age",))), event(0.5)]
    ).to_dict()
    assert Ledger.from_dict(mapping).head == mapping["head"]
    if change == "left out":
        del mapping["events"][1]
    elif change == "moved":
        mapping["events"].reverse()
    elif change == "retold":
        mapping["events"][1]["question"]["scope"] = ["height"]
    elif change == "limit":
        mapping["limit"] = 2.0
    else:
        del mapping["head"]
    with pytest.raises(BudgetError, match=r"head"):
        Ledger.from_dict(mapping)


def test_the_head_follows_the_events() -> None:
    ledger = Ledger(1.0, "epsilon")
    heads = [ledger.head]
    for charge in (0.25, 0.125):
        ledger.charge(event(charge))
        heads.append(ledger.view().head)
    assert len(set(heads)) == 3
    assert Ledger(1.0, "epsilon", ledger.events).head == heads[-1]
    assert Ledger(1.0, "epsilon", ledger.events[:1]).head == heads[1]


@pytest.mark.parametrize(
    "mapping", [{}, {"limit": 1.0, "unit": "rho"}, {"limit": 1.0, "unit": "epsilon", "events": [{"label": "x"}]}]
)
def test_foreign_mappings_are_refused(mapping: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        Ledger.from_dict(mapping)


def test_a_ledger_that_was_overspent_on_disk_is_refused() -> None:
    mapping = Ledger(1.0, "epsilon", [event(0.75)]).to_dict()
    mapping["events"] *= 2
    with pytest.raises(BudgetExceededError):
        Ledger.from_dict(mapping)


def test_events_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        event().charge = 0.0  # type: ignore[misc]


def test_the_view_shows_everything_and_changes_nothing() -> None:
    ledger = Ledger(1.0, "epsilon", [event(0.25)])
    view = ledger.view()
    ledger.charge(event(0.5))
    assert (view.limit, view.unit, view.spent, view.remaining) == (1.0, "epsilon", 0.75, 0.25)
    assert view.events == ledger.events
    assert str(view) == str(ledger)
    assert not hasattr(view, "charge")
    assert isinstance(view, LedgerView)
    with pytest.raises(AttributeError):
        view.spent = 0.0  # type: ignore[misc]


def test_ledgers_print_one_line_per_event() -> None:
    lines = str(
        Ledger(1.0, "epsilon", [event(0.25), event(0.5, question=MeasuredQuery("marginal", ("age",)))])
    ).splitlines()
    assert lines[0] == "0.75 of 1 epsilon spent in 2 events"
    assert lines[2] == "  measure: age by discrete Laplace, scale 4, 0.5 epsilon"
