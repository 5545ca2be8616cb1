"""Questions that the events of a ledger answer, as an auditor reads them: a kind with its fields, in two formats.

In events of format 3 a question stands with its fields. In those of format 2 it is a text, and every number of the text
stands in the event once more: the two must agree.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

NOISES = ("discrete Laplace", "discrete Gaussian")
SPARSE_VECTOR = "sparse vector"
RENYI = "renyi"
"""Bound on the rho of a sparse vector that follows from its tests."""
EXACT = "exact"
"""Least bound on the rho of log-probabilities that move within an interval."""
HALVES = "halves"
"""Bound on the rho of Laplace noise on a table in which a record leaves a cell for another."""
PARITIES = "parities"
"""Bound on the rho of Laplace noise on parities of which each moves by 2 at most, and the kind of their question."""
THRESHOLDED = ("discrete Laplace above a threshold", "discrete Gaussian above a threshold")
"""Mechanisms that tell labels which many records have."""
RUN_SELECTION = "selection among runs"
"""Mechanism that releases the first of several runs that passes."""
_CHOICES = ("exponential mechanism", "permute-and-flip", "exponential mechanism, one draw")
_NUMBER = r"\d{1,3}(?:,\d{3})*"


class _Kind(NamedTuple):
    """A kind in words, its fields, the mechanisms that answer it, and whether an event releases several values."""

    words: str
    fields: Mapping[str, type]
    mechanisms: tuple[str, ...] = NOISES
    many: bool = False


_KINDS: Mapping[str, _Kind] = {
    "records": _Kind("number of records", {}, ("public", *NOISES)),
    "query": _Kind("", {"form": str, "scope": list, "words": str}, many=True),
    PARITIES: _Kind("parities", {"scopes": list, "ratios": list}, many=True),
    "error": _Kind("{figure} error of {candidates:,} candidates", {"figure": str, "candidates": int}),
    "candidate": _Kind("worst of {candidates:,} candidates", {"candidates": int}, _CHOICES),
    "database": _Kind("best of {databases:,} databases", {"databases": int}, _CHOICES),
    "quantiles": _Kind("quantiles of {attribute}", {"attribute": str}, ("exponential mechanism",), many=True),
    "labels": _Kind("labels of {attribute}", {"attribute": str}, THRESHOLDED),
    "draws": _Kind(
        "draws of {queries:,} queries",
        {"queries": int},
        ("exponential mechanism, one draw", "exponential mechanism, independent draws"),
        True,
    ),
    "tests": _Kind("tests against a threshold", {}, (SPARSE_VECTOR,), many=True),
    "run": _Kind("first of {configurations:,} configurations", {"configurations": int}, (RUN_SELECTION,)),
    "interrupted": _Kind("an interrupted {purpose}", {"purpose": str}),
}
_TEXTS = {"figure": ("mean", "largest"), "purpose": ("opening", "question")}


class Question(NamedTuple):
    """A question of an event.

    Attributes:
        kind: Its kind.
        fields: The fields of that kind; empty for a query of format 2, which is told by a text alone.
        text: It in words, for messages; in events of format 2 the words of the file.
    """

    kind: str
    fields: Mapping[str, Any]
    text: str


def question_of(event: Mapping[str, Any]) -> Question:
    """The question of an event.

    Args:
        event: The event's values from JSON; its numbers have been read.

    Raises:
        ValueError: It has none of those known, its mechanism does not answer it, or its numbers are said twice and
            differ.

    Example:
        >>> question_of({"question": {"kind": "draws", "queries": 36}, "values": 3,
        ...     "mechanism": "exponential mechanism, independent draws"}).text
        'draws of 36 queries'
        >>> question_of({"target": "19 of 36 queries and their complements", "values": 1,
        ...     "mechanism": "exponential mechanism, one draw"})
        Traceback (most recent call last):
            ...
        ValueError: it tells '19 of 36 queries and their complements', and is about 1 value
    """
    question = _of_text(event) if "target" in event else _of_fields(event["question"])
    kind, mechanism, values = _KINDS[question.kind], event["mechanism"], event["values"]
    if mechanism not in kind.mechanisms:
        raise ValueError(f"{mechanism!r} does not answer {question.text!r}")
    if question.kind == PARITIES and values != len(question.fields["scopes"]):
        raise ValueError(f"it tells {question.text}, and is about {values:,} values")
    if values > 1 and not kind.many:
        raise ValueError(f"{question.text!r} is one value, not {values}")
    return question


def _of_fields(mapping: Any) -> Question:
    if not isinstance(mapping, Mapping) or mapping.get("kind") not in _KINDS:
        raise ValueError(f"a ledger has no question {mapping!r}")
    fields = {name: value for name, value in mapping.items() if name != "kind"}
    wanted = _KINDS[mapping["kind"]].fields
    for name, value in fields.items():
        named = _is_listed(name, value) if isinstance(value, list) else True
        if type(value) is not wanted.get(name) or not named:
            raise ValueError(f"a question of the kind {mapping['kind']!r} has no {name} {value!r}")
        if value not in _TEXTS.get(name, (value,)) or (isinstance(value, int) and value < 1):
            raise ValueError(f"the {name} of a question cannot be {value!r}")
    if set(fields) != set(wanted):
        raise ValueError(f"a question of the kind {mapping['kind']!r} has the fields {sorted(fields)}")
    if mapping["kind"] == PARITIES:
        parities = len(fields["scopes"])
        if len(fields["ratios"]) not in (0, parities):
            raise ValueError(f"an event tells {parities:,} parities in {len(fields['ratios']):,} units")
        return Question(PARITIES, fields, f"{parities:,} parities")
    if mapping["kind"] != "query":
        return Question(mapping["kind"], fields, _KINDS[mapping["kind"]].words.format(**fields))
    names = (", " if fields["form"] == "parity" else " * ").join(fields["scope"])
    texts = {
        "marginal": names,
        "parity": f"parity({names})",
        "blocks": f"blocks of {names}",
        "positions": f"positions in the bins of {names}",
        "moments": f"moments of {names}",
        "products": f"products of {names}",
        "lost": f"what the cap takes away of {names}, up to {fields['words']}",
        "weights": f"the sum of {names} to the power {fields['words']}",
    }
    return Question("query", fields, texts.get(fields["form"], fields["words"]))


def _is_listed(name: str, value: list[Any]) -> bool:
    """Whether a list holds what it should: names; sets of them, or units from 1 on, of parities."""
    if name == "scopes":
        return all(isinstance(scope, list) and scope and _is_listed("scope", scope) for scope in value)
    if name == "ratios":
        return all(isinstance(unit, float) and 1.0 <= unit < math.inf for unit in value)
    return all(isinstance(attribute, str) for attribute in value)


_FORMAT_2 = {
    "records": "number of records",
    "error": rf"(?P<figure>mean|largest) error of (?P<candidates>{_NUMBER}) candidates?",
    "candidate": rf"worst of (?P<candidates>{_NUMBER}) candidates",
    "database": rf"best of (?P<databases>{_NUMBER}) databases",
    "quantiles": rf"quantiles of (?P<attribute>.*) in (?:all records|(?P<values>{_NUMBER}) disjoint parts)",
    "labels": "labels of (?P<attribute>.*)",
    "draws": rf"(?P<values>{_NUMBER}) of (?P<queries>{_NUMBER}) queries and their complements",
    "tests": r"whether answers pass a threshold with noise of scale (?P<scale>\S+), up to (?P<values>\d+) times?",
    "interrupted": "the most that an interrupted (?P<purpose>opening|question) can have cost",
}
"""Texts of format 2 by kind. Groups are named as the fields; one more tells the number of values, by default 1."""


def _of_text(event: Mapping[str, Any]) -> Question:
    text, mechanism, values = event["target"], event["mechanism"], event["values"]
    if not isinstance(text, str):
        raise ValueError(f"an event asks {text!r}")
    for kind, pattern in _FORMAT_2.items():
        matched = re.fullmatch(pattern, text, re.DOTALL)
        if matched is None or mechanism not in _KINDS[kind].mechanisms:
            continue
        groups = matched.groupdict()
        scale = groups.pop("scale", None)
        if _whole(groups.pop("values", None) or "1") != values:
            raise ValueError(f"it tells {text!r}, and is about {values:,} value{'' if values == 1 else 's'}")
        if kind == "tests" and scale != f"{event['threshold_scale']:.6g}":
            raise ValueError(f"it tells {text!r}, and the scale of its threshold's noise is {event['threshold_scale']}")
        types = _KINDS[kind].fields
        fields = {name: _whole(part) if types[name] is int else part for name, part in groups.items()}
        return Question(kind, fields, text)
    return Question("query", {}, text)


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
