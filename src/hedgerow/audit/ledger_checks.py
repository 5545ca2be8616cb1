"""Checks of a ledger: its events, what they cost, their sum, the limit, and the chain that ties them together.

Where the library dp-accounting is installed, it gives a second opinion on the composition.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from hedgerow.audit import composition
from hedgerow.audit.costs import Entry, cost, delta_of
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, Severity, gathered
from hedgerow.audit.gaussian import epsilon_of, epsilon_of_rho
from hedgerow.audit.questions import RUN_SELECTION
from hedgerow.audit.relations import is_public
from hedgerow.audit.sentences import relation_of, unit_of

_ORDERS = tuple(1.0 + 10.0 ** (step / 100.0) for step in range(-300, 601))
"""From 1.001 to a million, 2.3% apart: what is lost between two of them is far below the tolerance."""

_TOLERANCE = 1.001
_NUMBERS = {"pure": ("epsilon",), "zcdp": ("rho",), "gdp": ("mu",), "approximate": ("epsilon", "delta")}
"""The numbers of each kind of budget."""
_MORE = {
    "subsampled": {"inner", "sampled", "population", "delta"},
    "approximate": {"neighbours", "regime", "thresholds", "composition"},
}
"""Its other fields, where they are not the relation alone."""
_SHAPES = (AttributeError, KeyError, TypeError, ValueError)


def entries_of(ledger: Mapping[str, Any], relation: str | None) -> tuple[list[Entry], Finding]:
    """The events of a ledger, and whether all of them are readable, in one unit and under one relation.

    Args:
        ledger: The ledger as the file holds it.
        relation: The relation that the budget names; None if there is no budget.

    Example:
        >>> print(entries_of({"unit": "rho", "events": [{}]}, "replace")[1].details)
        ('event 1 does not have the fields of an event',)
    """
    entries: list[Entry] = []
    wrong: list[str] = []
    for number, mapping in enumerate(ledger["events"], start=1):
        try:
            entry = Entry.of(number, mapping)
        except (TypeError, ValueError, OverflowError) as error:
            wrong.append(str(error))
            continue
        entries.append(entry)
        if entry.unit != ledger["unit"]:
            wrong.append(f"{entry.name}: is counted in {entry.unit}, the ledger in {ledger['unit']}")
        if entry.neighbours != (relation or entries[0].neighbours):
            wrong.append(f"{entry.name}: holds between tables that are neighbours by {entry.neighbours!r}")
    count = len(ledger["events"])
    text = f"{count:,} event{'' if count == 1 else 's'}, in one unit and under one neighbouring relation"
    return entries, gathered("ledger", wrong, [], text)


def check_charges(entries: Sequence[Entry]) -> Finding:
    """Whether every charge covers what its mechanism costs.

    Example:
        >>> event = {"label": "measure", "mechanism": "discrete Laplace", "target": "sex", "sensitivity": 1.0,
        ...     "scale": 2.0, "charge": 0.4, "unit": "epsilon", "neighbours": "replace", "values": 2,
        ...     "threshold_scale": 0.0}
        >>> check_charges([Entry.of(1, event)]).details
        ("event 1, measure of 'sex': is charged 0.4 epsilon and costs 0.5",)
    """
    wrong = []
    for entry in entries:
        try:
            needed = cost(entry)
        except ValueError as error:
            wrong.append(f"{entry.name}: {error}")
        else:
            if entry.charge < needed.high:
                charged, least = f"{float(entry.charge):.9g}", f"{float(needed.high):.9g}"
                wrong.append(f"{entry.name}: is charged {charged} {entry.unit} and costs {least}")
    return gathered("charges", wrong, [], "each covers what its mechanism costs at its sensitivity and scale")


def check_sum(entries: Sequence[Entry], ledger: Mapping[str, Any]) -> Finding:
    """Whether the charges add up to no more than the limit."""
    limit, spent = exact(ledger["limit"]), sum((entry.charge for entry in entries), Fraction(0))
    text = f"{float(spent):.6g} of {float(limit):.6g} {ledger['unit']} spent"
    stated = ledger.get("spent")
    if spent > limit:
        return Finding("sum", Severity.FAILS, f"{text}: the charges pass the limit by {float(spent - limit):.3g}")
    if stated is not None and not math.isclose(exact(stated), spent, rel_tol=1e-12):
        return Finding("sum", Severity.FAILS, f"{text}, and the file says that {stated!r} are")
    return Finding("sum", Severity.HOLDS, text)


def check_limit(budget: Mapping[str, Any] | None, ledger: Mapping[str, Any]) -> Finding:
    """Whether the limit of the ledger is what the budget promises; unknown where the file holds no budget.

    Example:
        >>> budget = {"kind": "approximate", "epsilon": 1.0, "delta": 1e-6, "neighbours": "replace"}
        >>> [check_limit(budget, {"limit": rho, "unit": "rho"}).severity.value for rho in (0.024355, 0.024357)]
        ['holds', 'fails']
    """
    if budget is None:
        return Finding("limit", Severity.UNKNOWN, "the file does not hold the budget that the limit stands for")
    inner = budget["inner"] if budget["kind"] == "subsampled" else budget
    limit, unit = exact(ledger["limit"]), unit_of(inner)
    if ledger["unit"] != unit:
        return Finding("limit", Severity.FAILS, f"a {inner['kind']} budget is not counted in {ledger['unit']}")
    if inner["kind"] != "approximate" or unit == "epsilon":
        promised = exact(inner["mu"]) ** 2 / 2 if inner["kind"] == "gdp" else exact(inner[unit])
        text = f"the ledger may hold {float(limit):.6g} {unit}, and {float(promised):.6g} is promised"
        return Finding("limit", Severity.HOLDS if limit <= promised else Severity.FAILS, text)
    if "composition" in inner:
        return _check_fixed(inner, limit)
    kept = exact(inner.get("thresholds", 0))
    delta, promised = exact(inner["delta"]) - kept, exact(inner["epsilon"])
    epsilon = epsilon_of(limit, unit, delta)
    text = f"{unit} = {float(limit):.6g} is epsilon = {float(epsilon):.6g} at delta = {float(delta):.3g}; "
    text += f"{float(promised):.6g} is promised"
    return Finding("limit", Severity.HOLDS if epsilon <= promised else Severity.FAILS, text)


def _check_fixed(budget: Mapping[str, Any], limit: Fraction) -> Finding:
    """Whether the steps that were fixed beforehand have the delta that is promised, and the limit is theirs."""
    fixed = budget["composition"]
    delta = composition.delta_of(fixed, float(exact(budget["epsilon"])))
    text = f"the steps that were fixed beforehand have delta = {delta:.4g} at epsilon = {budget['epsilon']:g}; "
    text += f"{float(exact(budget['delta'])):.3g} is promised"
    holds = exact(delta) <= exact(budget["delta"]) and limit == exact(fixed["limit"])
    return Finding("limit", Severity.HOLDS if holds else Severity.FAILS, text)


def check_thresholds(
    entries: Sequence[Entry], ledger: Mapping[str, Any], budget: Mapping[str, Any] | None
) -> Finding | None:
    """Whether thresholds of counts spend no more delta than the budget keeps for them; None where nobody asks.

    Args:
        entries: The ledger's events.
        ledger: The ledger as the file holds it.
        budget: The budget; None if the file has none.
    """
    wrong, deltas = [], Fraction(0)
    for entry in entries:
        try:
            deltas += delta_of(entry)
        except ValueError as error:
            wrong.append(f"{entry.name}: {error}")
    inner = {} if budget is None else budget.get("inner", budget)
    allowed, most = exact(inner.get("thresholds", 0)), exact(ledger.get("thresholds", 0))
    if not (deltas or wrong or allowed or most):
        return None
    if budget is not None and most > allowed:
        wrong.append(f"the ledger may hold {float(most):.3g}, and the budget keeps {float(allowed):.3g}")
    if deltas > most:
        wrong.append(f"they spend {float(deltas):.3g}, and the ledger may hold {float(most):.3g}")
    text = f"{float(deltas):.3g} of the {float(most):.3g} of delta that is kept for them"
    return gathered("thresholds", wrong, [], text)


def check_runs(entries: Sequence[Entry], ledger: Mapping[str, Any]) -> Finding | None:
    """Whether a selection among runs left a run no more than it was charged for; None where none was made.

    Args:
        entries: The ledger's events, in their order.
        ledger: The ledger as the file holds it.
    """
    wrong, told, left = [], list[str](), exact(ledger["limit"])
    for entry in entries:
        left -= entry.charge
        if entry.mechanism != RUN_SELECTION:
            continue
        told.append(f"the first run that passed, of {float(entry.scale):g} in the mean at most")
        if left > entry.sensitivity:
            more = f"{float(entry.sensitivity):.6g}, and leaves them {float(left):.6g}"
            wrong.append(f"{entry.name}: is charged for runs of {more}")
    return gathered("runs", wrong, [], "; ".join(told)) if told else None


def check_public(entries: Sequence[Entry]) -> Finding | None:
    """Whether nothing is called public that is not: the number of records, under "replace", and nothing else."""
    public = [entry for entry in entries if entry.mechanism == "public"]
    if not public:
        return None
    wrong = [
        f"{entry.name}: is not public under {entry.neighbours!r}" for entry in public if not is_public(entry.neighbours)
    ]
    return gathered("public numbers", wrong, [], 'only the number of records, which "replace" makes public')


def head_of(ledger: Mapping[str, Any]) -> str:
    """The head of a ledger's hash chain.

    The chain starts with the limit and the unit; each link is the SHA-256 of the link before it, a line feed, and the
    event as JSON with sorted names and without spaces.

    Example:
        >>> head_of({"limit": 1.0, "unit": "rho", "events": []})[:16]
        '0dca3d6c594b6797'
    """
    head, kept = "hedgerow ledger", ledger.get("thresholds")
    limits = {"limit": ledger["limit"], "unit": ledger["unit"]} | ({"thresholds": kept} if kept else {})
    limits |= {name: ledger[name] for name in ("composition",) if name in ledger}
    for link in (limits, *ledger["events"]):
        text = json.dumps(link, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        head = hashlib.sha256(head.encode() + b"\n" + text.encode()).hexdigest()
    return head


def check_head(ledger: Mapping[str, Any]) -> Finding:
    """Whether the chain over all events ends in the head that the file holds."""
    head, stated = head_of(ledger), ledger.get("head")
    if stated != head:
        return Finding("hash chain", Severity.FAILS, f"the events lead to {head}, and the file holds {stated}")
    return Finding("hash chain", Severity.HOLDS, f"the events lead to the head {head}")


def budget_faults(budget: Mapping[str, Any]) -> str:  # noqa: PLR0911
    """Describe a fault in the shape of a budget; empty if there is none.

    Example:
        >>> budget_faults({"kind": "pure", "epsilon": "much", "neighbours": "replace"})
        "'much' is not a number"
    """
    try:
        relation_of(budget)
        inner = budget["inner"] if budget["kind"] == "subsampled" else budget
        names = _NUMBERS[inner["kind"]]
        for each in (budget, inner):
            known = {"kind", *_NUMBERS.get(each["kind"], ()), *_MORE.get(each["kind"], {"neighbours"})}
            if unknown := sorted(set(each) - known):
                return f"a budget of the kind {each['kind']!r} has no {unknown[0]!r}"
        if any(exact(inner[name]) <= 0 for name in names) or ("delta" in names and exact(inner["delta"]) >= 1):
            return "a number of the budget is out of its range"
        kept, delta = exact(inner.get("thresholds", 0)), exact(inner.get("delta", 0))
        if not 0 <= kept <= delta:
            return "more of its delta is kept for thresholds than there is"
        if "composition" in inner and (fault := composition.faults(inner["composition"])):
            return fault
        if "composition" in inner and (kept or unit_of(inner) != "rho" or inner is not budget):
            return "steps that were fixed beforehand are counted in rho, for a whole table, without thresholds"
        if kept and kept == delta and unit_of(inner) != "epsilon":
            return (
                f"all of its delta is kept for thresholds, and an epsilon follows from its {unit_of(inner)} at a delta"
            )
    except _SHAPES as error:
        return str(error) if isinstance(error, TypeError | ValueError) else f"it has no {error}"
    return ""


def second_opinion(entries: Sequence[Entry], delta: Fraction) -> Finding | None:
    """The result of dp-accounting for a ledger in rho, beside the sum of its charges; None where it is not installed.

    Gaussian events are told to its Renyi accountant as Gaussian, with their own noise; every other one as a zCDP event
    of the cost that `costs` finds, for it has no mechanism with that law. So the composition and the conversion are its
    own.

    Args:
        entries: The ledger's events.
        delta: The delta at which the two are compared.

    Returns:
        The finding; None where the library is not installed, or an event is beyond it.
    """
    if find_spec("dp_accounting") is None or any(entry.unit != "rho" for entry in entries):
        return None
    from dp_accounting import GaussianDpEvent, ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=_ORDERS)
    try:
        for entry in entries:
            needed = cost(entry)
            if entry.mechanism == "discrete Gaussian":
                accountant.compose(GaussianDpEvent(float(entry.scale / entry.sensitivity)))
            elif needed.high:
                accountant.compose(ZCDpEvent(float(needed.high), 0.0))
        theirs = float(accountant.get_epsilon(float(delta)))
    except ValueError:
        return None
    ours = float(epsilon_of_rho(sum((entry.charge for entry in entries), Fraction(0)), delta))
    text = f"it makes epsilon = {theirs:.6g} of the events at delta = {float(delta):.3g}; their charges {ours:.6g}"
    agrees = theirs <= ours * _TOLERANCE + 1e-9
    return Finding("dp-accounting", Severity.HOLDS if agrees else Severity.FAILS, text)
