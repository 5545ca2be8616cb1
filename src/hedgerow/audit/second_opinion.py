"""A second opinion on compositions, where the library dp-accounting is installed: its Renyi accountant.

Gaussian events are told to it as Gaussian, with their own noise; every other one as a zCDP event of the cost that
`costs` finds, for it has no mechanism with that law. So the composition and the conversion are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec

from hedgerow.audit.conversion import epsilon_of_rho
from hedgerow.audit.costs import UnknownCostError, cost
from hedgerow.audit.entries import Entry
from hedgerow.audit.findings import Finding, Severity

_ORDERS = tuple(1.0 + 10.0 ** (step / 100.0) for step in range(-300, 601))
"""From 1.001 to a million, 2.3% apart: what is lost between two of them is far below the tolerance."""

_TOLERANCE = 1.001


def second_opinion(entries: Sequence[Entry], delta: Fraction) -> Finding | None:
    """What dp-accounting says of a ledger in rho, beside what its charges add up to.

    Args:
        entries: The ledger's events.
        delta: The delta at which both are compared.

    Returns:
        The finding; None where the library is not installed, or an event is beyond it.
    """
    if find_spec("dp_accounting") is None or any(entry.unit != "rho" for entry in entries):
        return None
    try:
        theirs = _their_epsilon(entries, float(delta))
    except (UnknownCostError, ValueError):
        return None
    ours = float(epsilon_of_rho(sum((entry.charge for entry in entries), Fraction(0)), delta))
    text = f"it makes epsilon = {theirs:.6g} of the events at delta = {float(delta):.3g}; their charges {ours:.6g}"
    agrees = theirs <= ours * _TOLERANCE + 1e-9
    return Finding("dp-accounting", Severity.HOLDS if agrees else Severity.FAILS, text)


def _their_epsilon(entries: Sequence[Entry], delta: float) -> float:
    from dp_accounting import GaussianDpEvent, ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=_ORDERS)
    for entry in entries:
        needed = cost(entry)
        if entry.mechanism == "discrete Gaussian":
            accountant.compose(GaussianDpEvent(float(entry.scale / entry.sensitivity)))
        elif needed.high:
            accountant.compose(ZCDpEvent(float(needed.high), 0.0))
    return float(accountant.get_epsilon(delta))
