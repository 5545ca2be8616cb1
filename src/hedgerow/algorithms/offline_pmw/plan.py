"""What a run of offline PMW would need, spend and promise, as text and figures."""

from __future__ import annotations

import math
from dataclasses import asdict

from hedgerow.algorithms.offline_pmw.parameters import Setting
from hedgerow.algorithms.shared import Charges, Outline, charges_line, memory_line, says_nothing
from hedgerow.models import Footprint, usable_bytes
from hedgerow.privacy import Budget


def make_plan(setting: Setting, charges: Charges, budget: Budget, held: Footprint) -> Outline:
    """The plan of a run.

    Args:
        setting: What is fixed before the first round.
        charges: How the budget is divided.
        budget: What may be spent.
        held: What the hypothesis takes.
    """
    available = usable_bytes()
    facts = {
        "algorithm": "OfflinePMW",
        **setting.to_dict(),
        "records_given": setting.total,
        "round_charge": asdict(setting.charge),
        "total_charge": charges.total,
        "error_charge": charges.error,
        "unit": budget.unit,
        "limit": budget.limit,
        "cells": held.cells,
    }
    text = (memory_line(held.required_bytes, available, held.words), *_told(setting, charges, budget))
    return Outline(text, facts, held.required_bytes, available)


def _told(setting: Setting, charges: Charges, budget: Budget) -> tuple[tuple[str, str], ...]:
    """Rounds, noise and promise in sentences."""
    each, alpha, unit = setting.charge, setting.alpha, budget.unit
    rounds = setting.rounds * (each.selection + each.measurement)
    near = f"{2 * alpha:.3g} of the records"
    shares = {"number of records": charges.total, "rounds at most": rounds, "error estimate": charges.error}
    return (
        ("rounds", f"at most {setting.rounds:,}, each {each.selection:.3g} + {each.measurement:.3g} {unit}"),
        charges_line(budget.limit, unit, shares),
        ("alpha", f"{alpha:.4g}; a run stops when hypothesis and noisy answer differ by {near} or less"),
        ("records", f"{math.ceil(setting.required):,} needed for the promise, {setting.total:,.0f} given"),
        ("bound", _bound(setting)),
    )


def _bound(setting: Setting) -> str:
    if not setting.promised:
        return "none: there are too few records for the theorem; the release estimates its own error"
    alpha = setting.alpha
    return (
        f"every answer, as a fraction of the records, within {4 * alpha:.3g} of its query's width (if all rounds are "
        f"used: {alpha:.3g}), except with probability {setting.failure:g}{says_nothing(4 * alpha, 1.0)}"
    )
