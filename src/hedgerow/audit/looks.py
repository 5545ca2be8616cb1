"""Checks that what a file shows of the data was paid for, at the sensitivities that it needs.

Measurements, error estimates and the number of records must each have an event with the same noise. A measurement
tells its sensitivity exactly. The number of records and the error of a workload have one sensitivity each, and the
scores of a selection are scaled so that one record moves them by about the weight of their family, or their width. A
person with m records moves all of these m times as far. Other sensitivities are taken as stated, and counted.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from hedgerow.audit.costs import THRESHOLDED, Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, Severity, gathered
from hedgerow.audit.relations import (
    is_public,
    records_of_person,
    squared_of_marginal,
    squared_of_persons,
    squared_of_values,
    squared_of_width,
)
from hedgerow.audit.sizes import size_of

_GRID = Fraction(1, 2**10)
"""Errors are rounded to this before noise is added, which adds as much to their sensitivity."""

_TEN_BITS = 1 - Fraction(1, 2**9)
"""The worth of a count in a score is rounded down to 10 bits."""

_OF_COUNTS = ("marginals", "cells", "prefixes", "ranges", "where")
"""Families of a workload, as its text begins, whose queries count those that meet a condition."""

_CHOICES = ("worst of ", "best of ", "quantiles of ")
_DRAWS = " queries and their complements"
"""Targets of selections, as their texts begin or end."""

MECHANISMS = {"laplace": "discrete Laplace", "gaussian": "discrete Gaussian"}
TOTAL = "number of records"
Backed = dict[int, Mapping[str, Any]]
"""Stored measurements, by the number of the event that paid for each."""


def check_measurements(
    measured: Sequence[Mapping[str, Any]], entries: Sequence[Entry], domain: Mapping[str, Any]
) -> tuple[Backed, Finding]:
    """Whether each noisy answer was paid for by an event of its own, with the same noise.

    Hedgerow stores measurements as they were drawn; what it derives from them is in the model alone. The text of a
    marginal, a parity or a query of one's own is compared too; that of a condition, or of the part of a marginal where
    one holds, is not written again. A marginal over levels or a part of one tells its number of cells, which the charge
    does not depend on.

    Args:
        measured: The measurements as the file holds them.
        entries: The ledger's events.
        domain: The attributes as the file holds them.

    Returns:
        The measurement that each event paid for, and the finding.
    """
    free: dict[tuple[Any, ...], deque[Entry]] = defaultdict(deque)
    for entry in entries:
        if entry.mechanism in MECHANISMS.values() and entry.charge and not entry.about_earlier:
            free[entry.mechanism, entry.scale, entry.values, entry.target].append(entry)
            if entry.label not in ("total", "error"):
                free[entry.mechanism, entry.scale, entry.values, None].append(entry)
    backed: Backed = {}
    wrong = []
    for each in sorted(measured, key=lambda each: _is_conditional(each["target"])):
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
    text = None if _is_conditional(target) else _text_of(target)
    return MECHANISMS[measured["noise"]], exact(measured["scale"]), _values_of(target, domain), text


def _is_conditional(target: Mapping[str, Any]) -> bool:
    """Whether its text holds a condition."""
    return target["kind"] == "conjunction" or "within" in target


def _values_of(target: Mapping[str, Any], domain: Mapping[str, Any]) -> int:
    """Number of values of a measurement."""
    if target["kind"] not in ("marginal", "blocks"):
        return 1
    return int(target["cells"]) if "cells" in target else math.prod(size_of(domain[name]) for name in target["scope"])


def _text_of(target: Mapping[str, Any]) -> str:
    match target["kind"]:
        case "marginal":
            return " * ".join(target["scope"])
        case "blocks":
            return f"{target.get('about') or ' * '.join(target['scope'])} in {target['cells']} blocks"
        case "parity":
            return f"parity({', '.join(target['scope'])})"
        case "explicit":
            return str(target["name"])
        case "conjunction":
            return f"a condition on {', '.join(target['scope']) or 'nothing'}"
    raise ValueError(f"unknown kind of measurement {target['kind']!r}")


def check_learnt(domain: Mapping[str, Any], entries: Sequence[Entry]) -> Finding | None:
    """Whether bins and values that are marked as learnt have an event that paid for them; None where there are none.

    A domain that was learnt in one release may serve another, whose ledger then says nothing of it.

    Args:
        domain: The attributes as the file holds them.
        entries: The ledger's events.
    """
    learnt = [str(name) for name, entry in domain.items() if isinstance(entry, Mapping) and entry.get("learnt")]
    paying = [entry for entry in entries if entry.label.endswith("learn") and entry.charge]
    paid = {entry.target for entry in paying}
    wrong = [
        f"{entry.name}: labels that nobody listed are told by {entry.mechanism}, which tells every one of them"
        for entry in paying
        if entry.target.startswith("labels of ") and entry.mechanism not in THRESHOLDED
    ]
    strange = [
        f"{name}: no event of this ledger pays for what was learnt of it; audit the release that learnt it as well"
        for name in learnt
        if not any(told in (name, f"labels of {name}") or told.startswith(f"quantiles of {name} in ") for told in paid)
    ]
    listed = [name for name in learnt if name in paid and f"labels of {name}" not in paid]
    rest = f"; that the values of {', '.join(listed)} are some of a public list is not in the file" if listed else ""
    return gathered("learnt domain", wrong, strange, f"paid for, in {len(learnt):,} columns{rest}") if learnt else None


def check_types(domain: Mapping[str, Any]) -> Finding | None:
    """The types of columns of a domain that was learnt, of which no file shows where they come from.

    Args:
        domain: The domain as the file holds it.
    """
    if domain.get("trusted_types") is True:
        return Finding("types", Severity.NOTE, "those of its columns were trusted to be public")
    entries = domain.get("attributes", domain)
    if not any(isinstance(entry, Mapping) and entry.get("learnt") for entry in entries.values()):
        return None
    told = "that types and bounds were declared, and not read off the data, is not in the file"
    return Finding("types", Severity.NOTE, told)


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
    if is_public(relation) and version == 1:
        text = "it is exact: format 1 does not say whether a filter chose the records, whose number is private then"
        return Finding(TOTAL, Severity.UNKNOWN, text)
    if is_public(relation):
        return Finding(TOTAL, Severity.HOLDS, 'public under "replace"')
    paid = [entry for entry in _additive(entries) if entry.target == TOTAL and not entry.about_earlier]
    if paid:
        noise = f"{paid[-1].mechanism} noise of scale {float(paid[-1].scale):.6g}"
        return Finding(TOTAL, Severity.HOLDS, f"paid for, with {noise}")
    if released:
        return Finding(TOTAL, Severity.FAILS, f"the file states it, and no event pays for it under {relation!r}")
    return Finding(TOTAL, Severity.NOTE, "no event asks for it")


def _additive(entries: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in entries if entry.mechanism in MECHANISMS.values())


def check_sensitivities(
    entries: Sequence[Entry], backed: Backed, *, families: Sequence[Mapping[str, Any]], bounds: Sequence[float] | None
) -> Finding:
    """Whether sensitivities are at least what their targets need, as far as the file tells what these are.

    Args:
        entries: The ledger's events.
        backed: Stored measurements, by the number of the event that paid for each.
        families: The workload's families; none if there is no workload.
        bounds: Bounds of the queries that a session takes; None if there is no session.
    """
    wrong, strange, told = list[str](), list[str](), 0
    for entry in entries:
        if _is_strange(entry):
            strange.append(f"{entry.name}: no selection of ours is told as {entry.target!r}")
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
    return gathered(
        "sensitivities", wrong, strange, f"at least what their targets need, in {told:,} of {noisy:,}{rest}"
    )


def _is_strange(entry: Entry) -> bool:
    """Whether the words of a selection are none that the library writes, so that nothing bounds its sensitivity."""
    selects = entry.mechanism.startswith(("exponential mechanism", "permute-and-flip"))
    return selects and not (entry.target.startswith(_CHOICES) or entry.target.endswith(_DRAWS))


def _of_measured(entry: Entry, measured: Mapping[str, Any]) -> Fraction | None:
    target, relation = measured["target"], entry.neighbours
    match target["kind"]:
        case "marginal" | "blocks":
            return squared_of_marginal(relation, gaussian=measured["noise"] == "gaussian")
        case "parity":
            return squared_of_values(relation, Fraction(-1), Fraction(1))
        case "explicit":
            low, high = map(exact, target["limits"])
            return squared_of_values(relation, low, high)
    return squared_of_persons(relation)


def _of_target(entry: Entry, families: Sequence[Mapping[str, Any]], bounds: Sequence[float] | None) -> Fraction | None:
    """The square of the least sensitivity that the words of an event tell; None where they tell none."""
    if entry.mechanism in MECHANISMS.values():
        return _of_noise(entry)
    if entry.mechanism in THRESHOLDED:
        return squared_of_marginal(entry.neighbours, gaussian="Gaussian" in entry.mechanism)
    if entry.mechanism == "sparse vector":
        return None if bounds is None else squared_of_values(entry.neighbours, *map(exact, bounds))
    return _of_choice(entry, families)


def _of_noise(entry: Entry) -> Fraction | None:
    if entry.target.startswith(("mean error of ", "largest error of ")):
        return (records_of_person(entry.neighbours) + _GRID) ** 2  # errors are in units of what one record can change
    return squared_of_persons(entry.neighbours) if entry.target == TOTAL else None


def _of_choice(entry: Entry, families: Sequence[Mapping[str, Any]]) -> Fraction | None:
    target, persons = entry.target, squared_of_persons(entry.neighbours)
    if target.endswith(_DRAWS):
        return _TEN_BITS**2 * squared_of_width(entry.neighbours, counts=any(map(_is_of_counts, families)))
    if target.startswith("worst of ") and families:
        return (min(exact(family["weight"]) for family in families) * _TEN_BITS) ** 2 * persons
    if target.startswith("quantiles of "):
        return squared_of_marginal(entry.neighbours, gaussian=False)  # times a number of bins, at least 1
    if target.startswith("best of ") and families and all(family["kind"] != "explicit" for family in families):
        return persons
    return None


def _is_of_counts(family: Mapping[str, Any]) -> bool:
    """Whether the values of its queries are known to be 0 and 1."""
    return family["kind"] == "text" and str(family["text"]).partition(":")[0] in _OF_COUNTS
