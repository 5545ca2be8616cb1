"""The auditor's delta of fixed steps: beside that of the library, which is computed otherwise, and in files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM, ApproxDP, Domain, IntegerRange, SeededNoise, Table, Workload
from hedgerow.audit.composition import check_steps, delta_of, faults
from hedgerow.audit.ledger_checks import check_limit, entries_of
from hedgerow.privacy import Composition

PLANS = [
    Composition(0.028, 0.028),
    Composition(0.015, 0.0085, 10, 0.08),
    Composition(0.015, 0.0085, 5, 0.08, 20, 0.03),
    Composition(0.01, 0.0, 5, 0.2, 20, 0.03),
    Composition(1.5, 1.0, 10, 1.0),
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_two_evaluations_agree(plan: Composition, epsilon: float) -> None:
    ours, theirs = delta_of(plan.to_dict(), epsilon), plan.delta(epsilon)
    assert 0.97 * theirs <= ours <= theirs * (1.0 + 1e-9)


def made() -> dict[str, Any]:
    """The content of a release with fixed steps."""
    domain = Domain(IntegerRange(name, 0, 3) for name in "abcd")
    table = Table(domain, [np.arange(400, dtype=np.uint8) // k % 4 for k in (1, 3, 5, 7)])
    release = MWEM(rounds=5).run(table, Workload.marginals(domain, 2), ApproxDP(1.0, 1e-9), noise=SeededNoise(0))
    ledger = {"limit": release.budget.limit, "unit": "rho", "events": [event.to_dict() for event in release.events]}
    budget = json.loads(json.dumps(release.budget.to_dict()))
    return {"budget": budget, "ledger": {**ledger, "composition": budget["composition"]}}


def test_a_release_and_what_forgers_change() -> None:
    content = made()
    budget, ledger = content["budget"], content["ledger"]
    fixed, entries = budget["composition"], entries_of(ledger, "add-remove")[0]

    def steps(other: dict[str, Any]) -> str:
        finding = check_steps(entries, {**ledger, "composition": other}, {**budget, "composition": other})
        assert finding is not None
        return finding.severity.value

    def limit(other: dict[str, Any], **numbers: float) -> str:
        return check_limit({**budget, **numbers, "composition": other}, ledger).severity.value

    assert (steps(fixed), limit(fixed)) == ("holds", "holds")
    assert check_steps(entries, {"limit": 1.0}, None) is None
    for name, number in (("selections", 4), ("gaussian", 0.9 * fixed["gaussian"]), ("selection_epsilon", 0.01)):
        assert steps({**fixed, name: number}) == "fails"
    assert check_steps(entries, ledger, {**budget, "composition": {**fixed, "selections": 6}}).severity.value == "fails"  # type: ignore[union-attr]
    assert limit({**fixed, "selections": 6}) == "fails"
    assert limit(fixed, delta=0.9e-9) == "fails"
    assert limit({**fixed, "limit": 0.9 * fixed["limit"]}) == "fails"


@pytest.mark.parametrize(
    "change", [{"selections": 1.5}, {"selections": 200}, {"gaussian": -1.0}, {"pure": 2}, {"more": 1}]
)
def test_numbers_that_are_none(change: dict[str, Any]) -> None:
    assert faults(PLANS[1].to_dict()) == ""
    assert faults({**PLANS[1].to_dict(), **change})
