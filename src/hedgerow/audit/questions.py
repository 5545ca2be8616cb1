"""Questions that the events of a ledger answer, as an auditor reads them: a kind with its fields, in two formats.

In events of format 3 a question stands with its fields. In those of format 2 it is a text, and every number of the text
stands in the event once more: the two must agree.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

NOISES = ("discrete Laplace", "discrete Gaussian")
SPARSE_VECTOR = "sparse vector"
THRESHOLDED = ("discrete Laplace above a threshold", "discrete Gaussian above a threshold")
"""Mechanisms that tell labels which many records have."""
_CHOICES = ("exponential mechanism", "permute-and-flip", "exponential mechanism, one draw")
_NUMBER = r"(\d{1,3}(?:,\d{3})*)"


class _Kind(NamedTuple):
    """A kind in words, its fields, the mechanisms that answer it, and whether an event releases several values."""

    words: str
    fields: Mapping[str, type]
    mechanisms: tuple[str, ...] = NOISES
    many: bool = False


_KINDS: Mapping[str, _Kind] = {
    "records": _Kind("number of records", {}, ("public", *NOISES)),
    "query": _Kind("", {"form": str, "scope": list, "words": str}, many=True),
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
    question = _of_words(event) if "target" in event else _of_fields(event["question"])
    kind, mechanism, values = _KINDS[question.kind], event["mechanism"], event["values"]
    if mechanism not in kind.mechanisms:
        raise ValueError(f"{mechanism!r} does not answer {question.text!r}")
    if values > 1 and not kind.many:
        raise ValueError(f"{question.text!r} is one value, not {values}")
    return question


def _of_fields(mapping: Any) -> Question:
    if not isinstance(mapping, Mapping) or mapping.get("kind") not in _KINDS:
        raise ValueError(f"a ledger has no question {mapping!r}")
    fields = {name: value for name, value in mapping.items() if name != "kind"}
    wanted = _KINDS[mapping["kind"]].fields
    for name, value in fields.items():
        parts = value if isinstance(value, list) else [value]
        if type(value) is not wanted.get(name) or (
            name == "scope" and not all(isinstance(part, str) for part in parts)
        ):
            raise ValueError(f"a question of the kind {mapping['kind']!r} has no {name} {value!r}")
        if value not in _TEXTS.get(name, (value,)) or (isinstance(value, int) and value < 1):
            raise ValueError(f"the {name} of a question cannot be {value!r}")
    if set(fields) != set(wanted):
        raise ValueError(f"a question of the kind {mapping['kind']!r} has the fields {sorted(fields)}")
    return Question(mapping["kind"], fields, _text(mapping["kind"], fields))


def _text(kind: str, fields: Mapping[str, Any]) -> str:
    """A question in words."""
    if kind != "query":
        return _KINDS[kind].words.format(**fields)
    names = (", " if fields["form"] == "parity" else " * ").join(fields["scope"])
    texts = {
        "marginal": names,
        "parity": f"parity({names})",
        "blocks": f"blocks of {names}",
        "positions": f"positions in the bins of {names}",
    }
    return str(texts.get(fields["form"], fields["words"]))


# Format 2


def _parts(match: re.Match[str]) -> int:
    return _whole(match[2]) if match[2] else 1


_FORMS: tuple[tuple[str, str, Callable[[re.Match[str]], Mapping[str, Any]], Callable[[re.Match[str]], int]], ...] = (
    ("number of records", "records", lambda _: {}, lambda _: 1),
    (
        rf"(mean|largest) error of {_NUMBER} candidates?",
        "error",
        lambda m: {"figure": m[1], "candidates": _whole(m[2])},
        lambda _: 1,
    ),
    (rf"worst of {_NUMBER} candidates", "candidate", lambda m: {"candidates": _whole(m[1])}, lambda _: 1),
    (rf"best of {_NUMBER} databases", "database", lambda m: {"databases": _whole(m[1])}, lambda _: 1),
    (
        rf"quantiles of (.*) in (?:all records|{_NUMBER} disjoint parts)",
        "quantiles",
        lambda m: {"attribute": m[1]},
        _parts,
    ),
    ("labels of (.*)", "labels", lambda m: {"attribute": m[1]}, lambda _: 1),
    (
        rf"{_NUMBER} of {_NUMBER} queries and their complements",
        "draws",
        lambda m: {"queries": _whole(m[2])},
        lambda m: _whole(m[1]),
    ),
    (
        r"whether answers pass a threshold with noise of scale (\S+), up to (\d+) times?",
        "tests",
        lambda _: {},
        lambda m: int(m[2]),
    ),
    (
        "the most that an interrupted (opening|question) can have cost",
        "interrupted",
        lambda m: {"purpose": m[1]},
        lambda _: 1,
    ),
)
"""Texts of format 2: their pattern, the kind, its fields, and the number of values that they tell."""


def _of_words(event: Mapping[str, Any]) -> Question:
    text, mechanism, values = event["target"], event["mechanism"], event["values"]
    if not isinstance(text, str):
        raise ValueError(f"an event asks {text!r}")
    for pattern, kind, fields, told in _FORMS:
        matched = re.fullmatch(pattern, text, re.DOTALL)
        if matched is None or mechanism not in _KINDS[kind].mechanisms:
            continue
        if told(matched) != values:
            raise ValueError(f"it tells {text!r}, and is about {values:,} value{'' if values == 1 else 's'}")
        if kind == "tests" and matched[1] != f"{event['threshold_scale']:.6g}":
            raise ValueError(f"it tells {text!r}, and the scale of its threshold's noise is {event['threshold_scale']}")
        return Question(kind, fields(matched), text)
    return Question("query", {}, text)


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
