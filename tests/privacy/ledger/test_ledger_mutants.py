"""Ledgers that would be believed: each constant of the checks on events, and of the relation after a filter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import BudgetError
from hedgerow.privacy import ErrorFigure, Event, FrequentLabels, Ledger, MeasuredQuery, PureDP
from hedgerow.privacy.ledger import paid
from hedgerow.privacy.mechanisms import events as mechanisms
from hedgerow.queries import ExplicitMatrix, Marginal, Measurement, Neighbours, NoiseKind, Sensitivity
from hedgerow.queries.families import explicit
from tests.privacy.mutants import Mutant, killed
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(1)
MARGINAL = Marginal(DOMAIN, ("a",))


def is_refused(make: Any) -> bool:
    try:
        make()
    except BudgetError:
        return True
    return False


def event(charge: float, sensitivity: float = 2.0) -> Event:
    return Event(
        "measure",
        "discrete Laplace",
        MeasuredQuery("marginal", ("a",)),
        sensitivity,
        8.0,
        charge,
        "epsilon",
        "replace",
        2,
    )


def no_charge_is_below_the_cost() -> None:
    """The exact cost is 1/4: a charge of just that was not rounded up, and 1/4 less a little is too little."""
    assert all(is_refused(lambda charge=charge: event(charge)) for charge in (0.25, 0.25 * (1 - 2.0**-45)))
    assert not is_refused(lambda: event(0.25 * (1 + 2.0**-50)))


def noisy_answers_are_paid_at_their_sensitivity() -> None:
    measured = Measurement(MARGINAL, np.array([1.0, 2.0]), NoiseKind.LAPLACE, 8.0)

    def check(sensitivity: float) -> None:
        paid.check_answers_paid([event(1.0, sensitivity)], [measured], Neighbours.REPLACE)

    assert is_refused(lambda: check(1.0))
    assert is_refused(lambda: check(2.0 * (1 - 1e-9)))
    assert not is_refused(lambda: check(2.0))


def a_mechanism_answers_its_own_questions() -> None:
    """Counts that nobody listed are told above a threshold alone, and one figure is one value."""
    assert is_refused(lambda: replace(event(1.0), question=FrequentLabels("a"), values=1))
    assert is_refused(lambda: replace(event(1.0), question=ErrorFigure("mean", 3)))
    assert not is_refused(lambda: replace(event(1.0), question=ErrorFigure("mean", 3), values=1))


def words_of_format_2_tell_the_numbers_of_their_event() -> None:
    """As an attacker did: 19 draws are told, and one is charged."""
    numbers = {"sensitivity": 1.0, "scale": 40.0, "charge": 0.051, "values": 1, "threshold_scale": 0.0}
    words = {
        "label": "draw",
        "mechanism": "exponential mechanism, one draw",
        "unit": "epsilon",
        "neighbours": "replace",
    }
    told = "{} of 36 queries and their complements"
    assert is_refused(lambda: Event.from_dict({**numbers, **words, "target": told.format(19)}))
    assert not is_refused(lambda: Event.from_dict({**numbers, **words, "target": told.format(1)}))


def a_ledger_holds_no_more_than_its_budget() -> None:
    assert is_refused(lambda: paid.check_limit(Ledger(1.0 + 1e-9, "epsilon"), PureDP(1.0)))
    assert not is_refused(lambda: paid.check_limit(Ledger(1.0, "epsilon"), PureDP(1.0)))


def a_record_that_enters_is_covered() -> None:
    """Values 2 and 3: a record that is another one moves the answer by 1, one that passes now and did not by 3."""
    family = ExplicitMatrix(DOMAIN, ["a"], [[2.0, 3.0]])
    before, after = (family.answers(DenseCounts(DOMAIN, cells))[0] for cells in ([1, 0], [1, 1]))
    assert after - before <= family.sensitivities(Neighbours.REPLACE_FILTERED)[0]


class AnyText(str):
    """A text that is equal to every other."""

    def __new__(cls, _: object = "") -> AnyText:
        return super().__new__(cls, "any")

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


def as_if_nobody_could_enter(low: float, high: float, neighbours: Neighbours) -> Sensitivity:
    return Sensitivity(high - low, high - low)


MUTANTS = (
    Mutant(
        "charges 2^-40 below the cost are accepted",
        lambda patch: patch.setattr(mechanisms, "_SHORT", 1.0 - 2.0**-40),
        no_charge_is_below_the_cost,
    ),
    Mutant(
        "noisy answers at half their sensitivity are accepted",
        lambda patch: patch.setattr(paid, "TOLERANCE", 0.5),
        noisy_answers_are_paid_at_their_sensitivity,
    ),
    Mutant(
        "any mechanism answers any question",
        lambda patch: patch.setattr(Event, "_check_question", lambda self: None),
        a_mechanism_answers_its_own_questions,
    ),
    Mutant(
        "words of format 2 are taken for the question, whatever numbers they tell",
        lambda patch: patch.setattr(Event, "target", property(AnyText)),
        words_of_format_2_tell_the_numbers_of_their_event,
    ),
    Mutant(
        "a ledger may hold a little more than its budget",
        lambda patch: patch.setattr(paid, "TOLERANCE", 2.0**-20),
        a_ledger_holds_no_more_than_its_budget,
    ),
    Mutant(
        "after a filter a record is only replaced",
        lambda patch: patch.setattr(explicit, "of_query", as_if_nobody_could_enter),
        a_record_that_enters_is_covered,
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
