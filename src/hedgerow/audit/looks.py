"""Checks that what a file shows of the data was paid for: measurements, error estimates, the number of records."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hedgerow.audit.entries import Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, Severity, gathered
from hedgerow.audit.relations import REPLACE

MECHANISMS = {"laplace": "discrete Laplace", "gaussian": "discrete Gaussian"}
TOTAL = "number of records"
Backed = dict[int, Mapping[str, Any]]
"""Stored measurements, by the number of the event that paid for each."""


def check_measurements(
    measured: Sequence[Mapping[str, Any]], entries: Sequence[Entry], domain: Mapping[str, Any]
) -> tuple[Backed, Finding]:
    """Whether each noisy answer was paid for by an event of its own, with the same noise.

    Hedgerow stores measurements as they were drawn; what it derives from them is in the model alone. The text of a
    marginal, a parity or a query of one's own is compared too; that of a condition is not written anew.

    Args:
        measured: The measurements as the file holds them.
        entries: The ledger's events.
        domain: The attributes as the file holds them.

    Returns:
        Which event paid for what, and the finding.
    """
    free: dict[tuple[Any, ...], deque[Entry]] = defaultdict(deque)
    for entry in entries:
        if entry.mechanism in MECHANISMS.values() and entry.charge and not entry.about_earlier:
            free[entry.mechanism, entry.scale, entry.values, entry.target].append(entry)
            if entry.label not in ("total", "error"):
                free[entry.mechanism, entry.scale, entry.values, None].append(entry)
    backed: Backed = {}
    wrong = []
    for each in sorted(measured, key=lambda each: each["target"]["kind"] == "conjunction"):
        text, key = _text_of(each["target"]), _key_of(each, domain)
        while free[key] and free[key][0].number in backed:
            free[key].popleft()
        if not free[key]:
            wrong.append(f"{text}: no event of the ledger pays for {each['noise']} noise of scale {each['scale']:.6g}")
        else:
            backed[free[key][0].number] = each
    text = f"each of {len(measured):,} is paid for by an event with the same noise"
    return backed, gathered("measurements", wrong, [], text if measured else "none are in the file")


def _key_of(measured: Mapping[str, Any], domain: Mapping[str, Any]) -> tuple[Any, ...]:
    target = measured["target"]
    size = math.prod(_size_of(domain[name]) for name in target["scope"]) if target["kind"] == "marginal" else 1
    text = None if target["kind"] == "conjunction" else _text_of(target)
    return MECHANISMS[measured["noise"]], exact(measured["scale"]), size, text


def _text_of(target: Mapping[str, Any]) -> str:
    match target["kind"]:
        case "marginal":
            return " * ".join(target["scope"])
        case "parity":
            return f"parity({', '.join(target['scope'])})"
        case "explicit":
            return str(target["name"])
        case "conjunction":
            return f"a condition on {', '.join(target['scope']) or 'nothing'}"
    raise ValueError(f"nothing that is measured is called {target['kind']!r}")


def _size_of(attribute: Mapping[str, Any]) -> int:
    """Number of codes of an attribute: its values, and one each for the missing and the other value."""
    extra = sum(attribute.get(name) is not None for name in ("missing", "other"))
    if "values" in attribute:
        return len(attribute["values"]) + extra
    if "edges" in attribute:
        return len(attribute["edges"]) - 1 + extra
    return int(attribute["max"]) - int(attribute["min"]) + 1 + extra


def check_error(error: Mapping[str, Any] | None, entries: Sequence[Entry]) -> Finding | None:
    """Whether both figures of the error estimate were paid for, with the noise that they are told to have."""
    if error is None:
        return None
    wrong = []
    for name, word in (("mean", "mean"), ("maximum", "largest")):
        noise = error[f"{name}_noise"]
        wanted = MECHANISMS[noise["kind"]], exact(noise["scale"]), exact(noise["sensitivity"])
        paid = [
            entry
            for entry in entries
            if entry.target.startswith(f"{word} error of ")
            and (entry.mechanism, entry.scale, entry.sensitivity) == wanted
            and not entry.about_earlier
        ]
        if not paid:
            wrong.append(f"the {word} error: no event pays for {noise['kind']} noise of scale {noise['scale']:.6g}")
    return gathered("error estimate", wrong, [], "both figures are paid for by events with the same noise")


def check_total(entries: Sequence[Entry], relation: str, *, released: bool, version: int) -> Finding:
    """Whether the number of records was paid for, unless it is public.

    Args:
        entries: The ledger's events.
        relation: The neighbouring relation.
        released: Whether the file holds a number of records; a ledger alone does not.
        version: The file's format version.
    """
    if relation == REPLACE and version == 1:
        text = "it is exact: format 1 does not say whether a filter chose the records, whose number is private then"
        return Finding(TOTAL, Severity.UNKNOWN, text)
    if relation == REPLACE:
        return Finding(TOTAL, Severity.HOLDS, 'public under "replace"')
    paid = [entry for entry in _additive(entries) if entry.target == TOTAL and not entry.about_earlier]
    if paid:
        noise = f"{paid[-1].mechanism} noise of scale {float(paid[-1].scale):.6g}"
        return Finding(TOTAL, Severity.HOLDS, f"paid for, with {noise}")
    if released:
        return Finding(TOTAL, Severity.FAILS, f"the file tells it, and no event pays for it under {relation!r}")
    return Finding(TOTAL, Severity.NOTE, "no event asks for it")


def _additive(entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if entry.mechanism in MECHANISMS.values())
