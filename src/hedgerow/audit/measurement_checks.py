"""Checks that what a file shows of the data was paid for, at the sensitivities that it needs.

Measurements, error estimates, the number of records, and what was learnt of the domain must each have an event with the
same noise. A measurement tells its sensitivity exactly. The number of records and the error of a workload have one
sensitivity each, and the scores of a selection are scaled so that one record moves them by about the weight of their
family, or their width. A person with m records moves all of these m times as far. Other sensitivities are taken as
stated, and counted.

Numbers of codes of attributes come from the domain that the file holds.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hedgerow.audit.costs import Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, Severity, gathered
from hedgerow.audit.questions import PARITIES
from hedgerow.audit.relations import (
    is_public,
    records_of_person,
    squared_of_lost,
    squared_of_marginal,
    squared_of_parities,
    squared_of_persons,
    squared_of_power,
    squared_of_values,
    squared_of_width,
)

_GRID = Fraction(1, 2**10)
"""Errors are rounded to this before noise is added, which adds as much to their sensitivity."""

_TEN_BITS = 1 - Fraction(1, 2**9)
"""The worth of a count in a score is rounded down to 10 bits."""

_OF_COUNTS = ("marginals", "cells", "prefixes", "ranges", "where")
"""Families of a workload, as its text begins, whose queries count those that meet a condition."""

MECHANISMS = {"laplace": "discrete Laplace", "gaussian": "discrete Gaussian"}
TOTAL = "number of records"
LEARN = "learn"
"""Label of the events that the domain was learnt by."""
CRITERION = "criterion"
"""Label of the events that verdicts on criteria were told by."""
Backed = dict[int, Mapping[str, Any]]
"""Stored measurements, by the number of the event that paid for each."""


def check_measurements(
    measured: Sequence[Mapping[str, Any]], entries: Sequence[Entry], domain: Mapping[str, Any]
) -> tuple[Backed, Finding]:
    """Whether each noisy answer was paid for by an event of its own, with the same noise.

    Hedgerow stores measurements as they were drawn; what it derives from them is in the model alone. Their kind, their
    attributes and the name of a query are compared too; a condition is not written again. (An event of format 2 tells
    its question in words, which hold no condition either.) A marginal over levels or a part of one tells its number of
    cells, which the charge does not depend on.

    Args:
        measured: The measurements as the file holds them.
        entries: The ledger's events.
        domain: The attributes as the file holds them.

    Returns:
        The measurement that each event paid for, and the finding.
    """
    free: dict[tuple[Any, ...], deque[tuple[Entry, int]]] = defaultdict(deque)
    asked = [entry for entry in entries if entry.asks("query", PARITIES) and entry.label != LEARN]
    for entry in asked:
        for place, key in _keys_of_entry(entry):
            free[key].append((entry, place))
    backed: Backed = {}
    used = set[tuple[int, int]]()
    wrong = []
    for measurement in sorted(measured, key=lambda entry: _is_conditional(entry["target"])):
        for key in _keys_of(measurement, domain):
            while free[key] and (free[key][0][0].number, free[key][0][1]) in used:
                free[key].popleft()
            if free[key]:
                entry, place = free[key][0]
                used.add((entry.number, place))
                if entry.question.kind != PARITIES:  # which tells all that its sensitivity follows from
                    backed[entry.number] = measurement
                break
        else:
            noise = f"{measurement['noise']} noise of scale {measurement['scale']:.6g}"
            wrong.append(f"{_text_of(measurement['target'])}: no event of the ledger pays for {noise}")
    text = (
        f"each of {len(measured):,} is paid for by an event with the same noise" if measured else "none are in the file"
    )
    unused = sum(entry.values if entry.question.kind == PARITIES else 1 for entry in asked) - len(used)
    text += f"; the ledger pays for {unused:,} more, which the file does not hold" if unused else ""
    return backed, gathered("measurements", wrong, [], text)


def _keys_of_entry(entry: Entry) -> Iterable[tuple[int, tuple[Any, ...]]]:
    """The keys of measurements that an event can have paid for, each with the place of the one it would be."""
    noise, fields = (entry.mechanism, entry.scale, entry.values), entry.question.fields
    if entry.question.kind == PARITIES:
        units = fields["ratios"] or [1.0] * entry.values
        for place, (scope, unit) in enumerate(zip(fields["scopes"], units, strict=True)):
            yield place, (entry.mechanism, exact(float(entry.scale) * unit), 1, "parity", tuple(scope), "")
    elif fields:
        yield 0, (*noise, fields["form"], tuple(fields["scope"]), _name(fields["form"], fields["words"]))
    else:
        yield 0, (*noise, entry.question.text)
        yield 0, (*noise, None)


def _keys_of(measured: Mapping[str, Any], domain: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    target = measured["target"]
    noise = MECHANISMS[measured["noise"]], exact(measured["scale"]), _values_of(target, domain)
    words = target.get("name") or target.get("about") or str(target.get("possible", target.get("power", "")))
    yield *noise, target["kind"], tuple(target["scope"]), _name(target["kind"], words)
    yield *noise, None if _is_conditional(target) else _text_of(target)


def _name(form: str, words: str) -> str:
    """The words of a question as far as a measurement holds them too: a name, and not a condition."""
    return words if form in ("explicit", "blocks", "lost", "weights") else ""


def _is_conditional(target: Mapping[str, Any]) -> bool:
    """Whether its text holds a condition."""
    return target["kind"] == "conjunction" or "within" in target


def _values_of(target: Mapping[str, Any], domain: Mapping[str, Any]) -> int:
    """Number of values of a measurement."""
    if target["kind"] not in ("marginal", "blocks", "positions", "moments", "products"):
        return 1
    return int(target["cells"]) if "cells" in target else math.prod(size_of(domain[name]) for name in target["scope"])


def _text_of(target: Mapping[str, Any]) -> str:
    match target["kind"]:
        case "marginal":
            return " * ".join(target["scope"])
        case "blocks":
            return f"{target.get('about') or ' * '.join(target['scope'])} in {target['cells']} blocks"
        case "positions" | "moments" | "products" as kind:
            return f"{'positions in the bins' if kind == 'positions' else kind} of {' * '.join(target['scope'])}"
        case "parity":
            return f"parity({', '.join(target['scope'])})"
        case "explicit" | "lost" | "weights" as kind:
            lost = f"what the cap takes away of {target['scope'][0]}, up to {target.get('possible')}"
            power = f"the sum of {target['scope'][0]} to the power {target.get('power')}"
            return {"lost": lost, "weights": power}.get(kind) or str(target["name"])
        case "conjunction":
            return f"a condition on {', '.join(target['scope']) or 'nothing'}"
    raise ValueError(f"unknown kind of measurement {target['kind']!r}")


def check_learnt(domain: Mapping[str, Any], entries: Sequence[Entry]) -> Finding | None:
    """Whether bins and values that are marked as learnt have events that paid for them; None where there are none.

    A domain that was learnt in one release may serve another, whose ledger then says nothing of it. Where it does say
    something, each learnt edge has a cut of its own; the edges on both sides of a bin of one step may be public points.

    Args:
        domain: The domain as the file holds it.
        entries: The ledger's events.
    """
    attributes = domain.get("attributes", domain).items()
    learnt = {str(name): entry for name, entry in attributes if isinstance(entry, Mapping) and entry.get("learnt")}
    if not learnt:
        return None
    wrong, strange, listed = list[str](), list[str](), list[str]()
    for name, attribute in learnt.items():
        paying = [entry for entry in entries if _learns(entry, name) and entry.charge]
        cuts = sum(entry.values for entry in paying if entry.question.kind == "quantiles")
        needed = inner_edges(attribute) if "edges" in attribute else 0
        if not paying:
            text = "no event of this ledger pays for what was learnt of it; audit the release that learnt it as well"
            strange.append(f"{name}: {text}")
        elif needed > cuts:
            wrong.append(f"{name}: {needed:,} edges are learnt, and {cuts:,} cuts are paid for")
        elif "values" in attribute and all(entry.question.kind == "query" for entry in paying):
            listed.append(name)
    rest = f"; that the values of {', '.join(listed)} are some of a public list is not in the file" if listed else ""
    return gathered("learnt domain", wrong, strange, f"paid for, in {len(learnt):,} columns{rest}")


def _learns(entry: Entry, name: str) -> bool:
    """Whether an event is about cuts, labels, or listed values of a column."""
    question = entry.question
    if question.kind in ("quantiles", "labels"):
        return bool(question.fields["attribute"] == name)
    if question.kind != "query" or entry.label != LEARN:
        return False
    target = question.fields or {"form": "marginal", "scope": [question.text]}
    return (target["form"], target["scope"]) == ("marginal", [name])


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
    text = "that types and bounds were declared, and not read off the data, is not in the file"
    return Finding("types", Severity.NOTE, text)


def check_error(error: Mapping[str, Any] | None, entries: Sequence[Entry]) -> Finding | None:
    """Whether both figures of the error estimate were paid for, with the noise that the file names.

    Args:
        error: The estimate as the file holds it; None if there is none.
        entries: The ledger's events.
    """
    if error is None:
        return None
    wrong = []
    for name, figure in (("mean", "mean"), ("maximum", "largest")):
        noise, over = error[f"{name}_noise"], error["n_candidates"]
        wanted = MECHANISMS[noise["kind"]], exact(noise["scale"]), exact(noise["sensitivity"])
        asked = {"figure": figure, "candidates": over}
        wrong += _coarse(f"the {figure} error", noise)
        if not any(
            entry.question.fields == asked and (entry.mechanism, entry.scale, entry.sensitivity) == wanted
            for entry in _errors(entries, criteria=False)
        ):
            named = f"{noise['kind']} noise of scale {noise['scale']:.6g}"
            wrong.append(f"the {figure} error of {over} candidates: no event pays for {named}")
    return gathered("error estimate", wrong, [], "both figures are paid for by events with the same noise")


def _errors(entries: Sequence[Entry], *, criteria: bool) -> list[Entry]:
    """The events that pay for errors, of criteria or of the workload."""
    return [entry for entry in entries if entry.asks("error") and (entry.label == CRITERION) == criteria]


def _coarse(name: str, noise: Mapping[str, Any]) -> list[str]:
    """What is wrong with the lattice of the noise of an error."""
    if exact(noise["step"]) != _GRID:
        return [f"{name}: it is rounded to {noise['step']!r}, and its sensitivity is for 2^-10"]
    return []


def check_criteria(criteria: Sequence[Mapping[str, Any]], entries: Sequence[Entry]) -> Finding | None:
    """Whether each verdict was paid for by an event of its own, with the noise that the file names; None without any.

    Args:
        criteria: The criteria as the file holds them.
        entries: The ledger's events.
    """
    tested = _errors(entries, criteria=True)
    if not criteria and not tested:
        return None
    free = Counter(
        (entry.mechanism, entry.scale, entry.sensitivity)
        for entry in tested
        if entry.question.fields == {"figure": "mean", "candidates": 1}
    )
    wrong = []
    tries = max((int(entry.scale) for entry in entries if entry.asks("run")), default=1)
    for each in criteria:
        noise = each["error"]["noise"]
        if each.get("tries", 1) < tries:
            wrong.append(f"{each['kind']} {each['about']}: does not allow for the {tries} runs that it was chosen from")
        name = f"{each['kind']} {each['about']}"
        paid = MECHANISMS[noise["kind"]], exact(noise["scale"]), exact(noise["sensitivity"])
        wrong += _coarse(name, noise)
        if free[paid] < 1:
            wrong.append(f"{name}: no event pays for {noise['kind']} noise of scale {noise['scale']:.6g}")
        free[paid] -= 1
    if len(tested) != len(criteria):
        wrong.append(f"{len(tested)} criteria were tested, and the file holds {len(criteria)}: the others are not told")
    return gathered(
        "criteria", wrong, [], f"each verdict ({len(criteria)}) is paid for by an event with the same noise"
    )


def check_total(entries: Sequence[Entry], relation: str, *, released: bool, known: Sequence[Any] = ()) -> Finding:
    """Whether the number of records was paid for, unless it is public.

    Args:
        entries: The ledger's events.
        relation: The neighbouring relation.
        released: Whether the file holds a number of records; a ledger alone does not.
        known: Known totals of the domain as the file holds them.
    """
    if known:
        text = "taken for public, as known totals tell it: that they do not come from this table is not in the file"
        return Finding(TOTAL, Severity.NOTE, text)
    if is_public(relation):
        return Finding(TOTAL, Severity.HOLDS, 'public under "replace"')
    paid = [entry for entry in entries if entry.asks("records") and entry.mechanism != "public"]
    if paid:
        noise = f"{paid[-1].mechanism} noise of scale {float(paid[-1].scale):.6g}"
        return Finding(TOTAL, Severity.HOLDS, f"paid for, with {noise}")
    if released:
        return Finding(TOTAL, Severity.FAILS, f"the file states it, and no event pays for it under {relation!r}")
    return Finding(TOTAL, Severity.NOTE, "no event asks for it")


def check_sensitivities(entries: Sequence[Entry], backed: Backed, content: Mapping[str, Any]) -> Finding:
    """Whether sensitivities are at least what their targets need, as far as the file tells what these are.

    Args:
        entries: The ledger's events.
        backed: Stored measurements, by the number of the event that paid for each.
        content: The values of the file: its workload has families, and the settings of a session bounds of queries.
    """
    families = content.get("workload", {}).get("families", ())
    settings = content.get("config") or content.get("provenance", {}).get("parameters", {})
    bounds = settings.get("bounds")
    wrong, n_checked = list[str](), 0
    for entry in entries:
        least = _of_measured(entry, backed[entry.number]) if entry.number in backed else None
        if least is None:
            least = _of_target(entry, families, bounds)
        if least is None:
            continue
        n_checked += 1
        if entry.sensitivity**2 < least:
            stated, needed = f"{float(entry.sensitivity):.6g}", f"{math.sqrt(least):.6g}"
            wrong.append(f"{entry.name}: a sensitivity of {stated} is stated, at least {needed} is needed")
    noisy = sum(entry.mechanism != "public" for entry in entries)
    rest = "; what the rest need is not in the file" if noisy > n_checked else ""
    return gathered(
        "sensitivities", wrong, [], f"at least what their targets need, in {n_checked:,} of {noisy:,}{rest}"
    )


def _of_measured(entry: Entry, measured: Mapping[str, Any]) -> Fraction | None:
    target, relation = measured["target"], entry.neighbours
    match target["kind"]:
        case "marginal" | "blocks":
            return squared_of_marginal(relation, gaussian=measured["noise"] == "gaussian")
        case "parity":
            return squared_of_values(relation, Fraction(-1), Fraction(1))
        case "positions" | "moments" | "products" as kind:
            of_both = Fraction(1, 2) if measured["noise"] == "gaussian" else Fraction(5, 8)
            most = {"positions": Fraction(1, 2), "products": Fraction(1, 4)}.get(kind, of_both)
            return squared_of_values(relation, -most, most)
        case "explicit":
            low, high = map(exact, target["limits"])
            return squared_of_values(relation, low, high)
        case "lost" | "weights" as kind:
            least = squared_of_lost if kind == "lost" else squared_of_power
            return least(relation, target["scope"][0], target["cap"], target["possible" if kind == "lost" else "power"])
    return squared_of_persons(relation)


def _of_target(entry: Entry, families: Sequence[Mapping[str, Any]], bounds: Sequence[float] | None) -> Fraction | None:
    """The square of the least sensitivity that the question of an event needs; None where nothing tells it."""
    relation, kind = entry.neighbours, entry.question.kind
    needed: Fraction | None = None
    if kind in ("records", "interrupted") and entry.mechanism != "public":
        needed = squared_of_persons(relation)
    elif kind == "error":  # in units of what one record can change
        needed = (records_of_person(relation) + _GRID) ** 2
    elif kind in ("labels", "quantiles"):  # quantiles: times a number of bins, at least 1
        needed = squared_of_marginal(relation, gaussian="Gaussian" in entry.mechanism)
    elif kind == PARITIES:
        fields = entry.question.fields
        gaussian = "Gaussian" in entry.mechanism
        needed = squared_of_parities(relation, fields["scopes"], fields["ratios"], gaussian=gaussian)
    elif kind == "tests" and bounds is not None:
        needed = squared_of_values(relation, *map(exact, bounds))
    elif kind == "draws":
        needed = _TEN_BITS**2 * squared_of_width(relation, counts=any(map(_is_of_counts, families)))
    elif kind == "candidate" and families:
        needed = (min(exact(family["weight"]) for family in families) * _TEN_BITS) ** 2 * squared_of_persons(relation)
    elif kind == "database" and families and all(family["kind"] != "explicit" for family in families):
        needed = squared_of_persons(relation)
    return needed


def _is_of_counts(family: Mapping[str, Any]) -> bool:
    """Whether the values of its queries are known to be 0 and 1."""
    return family["kind"] == "text" and str(family["text"]).partition(":")[0] in _OF_COUNTS


_STEP = re.compile(r"(\d+)(s|min|h|d)")
_CLOCK = re.compile(r"()(\d\d):(\d\d)(?::|$)(\d\d)?")
_LENGTH = re.compile(r"(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


def size_of(attribute: Mapping[str, Any]) -> int:
    """Number of codes of an attribute: its values, and one each for the missing and the other value.

    Args:
        attribute: Its entry in the domain of a file.

    Raises:
        ValueError: The entry has another shape than that of a domain.

    Example:
        >>> size_of({"edges": [0, 10, 20], "missing": "?"}), size_of({"min": "2020-01", "max": "2020-12"})
        (3, 12)
        >>> size_of({"min": "2020-02-01T00:00", "max": "2020-02-29T23:45", "step": "15min"})
        2784
        >>> size_of({"min": 35, "max": 43, "step": 0.1})
        81
        >>> size_of({"min": "00:00", "max": "23:45", "step": "15min"})
        96
        >>> size_of({"min": "-P1D", "max": "PT36H", "step": "12h"})
        6
    """
    extra = sum(attribute.get(name) is not None for name in ("missing", "other"))
    if "values" in attribute:
        return len(attribute["values"]) + extra
    if "edges" in attribute:
        return len(attribute["edges"]) - 1 + extra
    low, high = (_place(attribute[end], attribute.get("step")) for end in ("min", "max"))
    if (high - low).denominator != 1:
        raise ValueError(f"{attribute['max']!r} is no whole number of steps from {attribute['min']!r}")
    return int(high - low) + 1 + extra


def inner_edges(attribute: Mapping[str, Any]) -> int:
    """Number of edges between bins, those at a bin of a single step left out: such a bin may be a declared point.

    Args:
        attribute: Its entry in the domain of a file, with edges.

    Example:
        >>> inner_edges({"edges": [0, 1, 20, 40, 99], "whole": True}), inner_edges({"edges": [0, 1, 20, 40, 99]})
        (2, 3)
    """
    edges, step = attribute["edges"], attribute.get("step")
    stepped = attribute.get("whole") or step is not None or any(isinstance(edge, str) for edge in edges)
    places = [_place(edge, step) for edge in edges]
    single = [bool(stepped) and high - low <= 1 for low, high in pairwise(places)]
    return sum(not (before or after) for before, after in pairwise(single))


def _place(bound: object, step: object) -> Fraction:
    """Place of a bound on its scale, from any origin."""
    if not isinstance(bound, str):
        return Fraction(str(bound)) / Fraction(str(1 if step is None else step))
    if matched := _CLOCK.fullmatch(bound) or _LENGTH.fullmatch(bound):
        minus, *amounts = matched.groups()
        seconds = sum(
            int(amount or 0) * size for amount, size in zip(reversed(amounts), (1, 60, 3600, 86_400), strict=False)
        )
        return _steps(-seconds if minus else seconds, step)
    if "W" in bound:
        return Fraction((date.fromisoformat(f"{bound}-1") - date.min) // timedelta(weeks=1))
    if "Q" in bound:
        return Fraction(4 * int(bound[:4]) + int(bound[6:]))
    if len(bound) == len("2020-01"):
        return Fraction(12 * int(bound[:4]) + int(bound[5:]))
    return _steps((datetime.fromisoformat(bound) - datetime.min) // timedelta(seconds=1), step)


def _steps(seconds: int, step: object) -> Fraction:
    match = _STEP.fullmatch("1d" if step is None else str(step))
    if match is None:
        raise ValueError(f"a step of {step!r}")
    return Fraction(seconds, int(match[1]) * _SECONDS[match[2]])
