"""Whether sensitivities are at least what their targets need, as far as a file tells what these are.

What was measured tells it exactly. The number of records and the error of a workload have one sensitivity each, and the
scores of a selection are scaled to about the weight of their family. Others are taken as stated, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from hedgerow.audit.entries import Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, gathered
from hedgerow.audit.looks import MECHANISMS, TOTAL, Backed
from hedgerow.audit.relations import squared_of_marginal, squared_of_values

_GRID = Fraction(1, 2**10)
"""Errors are rounded to this before noise is added, which adds as much to their sensitivity."""

_TEN_BITS = 1 - Fraction(1, 2**9)
"""What a count is worth in a score is rounded down to 10 bits."""


def check_sensitivities(
    entries: Sequence[Entry], backed: Backed, *, families: Sequence[Mapping[str, Any]], bounds: Sequence[float] | None
) -> Finding:
    """Whether sensitivities are at least what their targets need, as far as the file tells what these are.

    Args:
        entries: The ledger's events.
        backed: Which event paid for which measurement.
        families: The workload's families; none if there is no workload.
        bounds: Bounds of the queries that a session takes; None if there is no session.
    """
    wrong, told = [], 0
    for entry in entries:
        least = _of_measured(entry, backed[entry.number]) if entry.number in backed else None
        if least is None:
            least = _of_target(entry, families, bounds)
        if least is None:
            continue
        told += 1
        if entry.sensitivity**2 < least:
            stated, needed = f"{float(entry.sensitivity):.6g}", f"{math.sqrt(least):.6g}"
            wrong.append(f"{entry.name}: a sensitivity of {stated} is stated, at least {needed} is needed")
    noisy = sum(entry.mechanism != "public" for entry in entries)
    rest = "; what the rest need is not in the file" if noisy > told else ""
    return gathered("sensitivities", wrong, [], f"at least what their targets need, in {told:,} of {noisy:,}{rest}")


def _of_measured(entry: Entry, measured: Mapping[str, Any]) -> Fraction | None:
    target, relation = measured["target"], entry.neighbours
    match target["kind"]:
        case "marginal":
            return squared_of_marginal(relation, gaussian=measured["noise"] == "gaussian")
        case "parity":
            return squared_of_values(relation, Fraction(-1), Fraction(1))
        case "explicit":
            low, high = map(exact, target["limits"])
            return squared_of_values(relation, low, high)
    return Fraction(1)


def _of_target(entry: Entry, families: Sequence[Mapping[str, Any]], bounds: Sequence[float] | None) -> Fraction | None:
    """The square of the least sensitivity that the words of an event tell; None where they tell none."""
    if entry.mechanism in MECHANISMS.values():
        return _of_noise(entry.target)
    if entry.mechanism == "sparse vector":
        return None if bounds is None else squared_of_values(entry.neighbours, *map(exact, bounds))
    return _of_choice(entry.target, families)


def _of_noise(target: str) -> Fraction | None:
    if target.startswith(("mean error of ", "largest error of ")):
        return (1 + _GRID) ** 2
    return Fraction(1) if target == TOTAL else None


def _of_choice(target: str, families: Sequence[Mapping[str, Any]]) -> Fraction | None:
    if target.endswith(" queries and their complements"):
        return (_TEN_BITS / 2) ** 2  # scores are scaled to a width of 1; some value is at least half of it from 0
    if target.startswith("worst of ") and families:
        return (min(exact(family["weight"]) for family in families) * _TEN_BITS) ** 2
    if target.startswith("best of ") and families and all(family["kind"] != "explicit" for family in families):
        return Fraction(1)
    return None
