"""Events of format 2, whose questions are texts: the one place that reads them.

An event is read only if its question, written again, is the same text: so every number that the text states is the one
that the event holds.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from hedgerow.errors import BudgetError
from hedgerow.privacy.ledger.questions import (
    BestDatabase,
    ErrorFigure,
    Figure,
    FrequentLabels,
    InterruptedDraw,
    MeasuredQuery,
    Purpose,
    QuantileCuts,
    QueryDraws,
    Question,
    RecordCount,
    ThresholdTests,
    WorstCandidate,
)

_EARLIER = "earlier: "
_FIELDS = {"label", "mechanism", "target", "sensitivity", "scale", "charge", "unit", "neighbours", "values"} | {
    "threshold_scale"
}
_NUMBER = r"(\d{1,3}(?:,\d{3})*)"
_FORMS: tuple[tuple[str, Callable[[re.Match[str]], Question]], ...] = (
    ("number of records", lambda _: RecordCount()),
    (rf"(mean|largest) error of {_NUMBER} candidates?", lambda m: ErrorFigure(cast("Figure", m[1]), _whole(m[2]))),
    (rf"worst of {_NUMBER} candidates", lambda m: WorstCandidate(_whole(m[1]))),
    (rf"best of {_NUMBER} databases", lambda m: BestDatabase(_whole(m[1]))),
    (rf"quantiles of (.*) in (?:all records|{_NUMBER} disjoint parts)", lambda m: QuantileCuts(m[1])),
    ("labels of (.*)", lambda m: FrequentLabels(m[1])),
    (rf"{_NUMBER} of {_NUMBER} queries and their complements", lambda m: QueryDraws(_whole(m[2]))),
    ("whether answers pass a threshold with noise of scale .*, up to .*", lambda _: ThresholdTests()),
    (
        "the most that an interrupted (opening|question) can have cost",
        lambda m: InterruptedDraw(cast("Purpose", m[1])),
    ),
)


def fields_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the event of today that an event of format 2 is.

    Args:
        mapping: Its values from JSON.

    Raises:
        BudgetError: It has other fields.

    Example:
        >>> old = {"label": "draw", "mechanism": "exponential mechanism, independent draws", "sensitivity": 1.0,
        ...        "target": "3 of 36 queries and their complements", "scale": 40.0, "charge": 0.16,
        ...        "unit": "epsilon", "neighbours": "replace", "values": 3, "threshold_scale": 0.0}
        >>> fields_of(old)["question"]
        QueryDraws(queries=36)
    """
    if set(mapping) == _FIELDS - {"threshold_scale"}:
        raise BudgetError("an event of a version of hedgerow before 0.2, which are read no more")
    if set(mapping) != _FIELDS:
        raise BudgetError(f"a ledger event does not have the fields {sorted(mapping)}")
    fields = dict(mapping)
    text, label = fields.pop("target"), fields["label"]
    if not isinstance(text, str) or not isinstance(label, str):
        raise BudgetError("the target and the label of a ledger event are texts")
    earlier = label.startswith(_EARLIER)
    question = _question(text, str(fields["mechanism"]))
    fields |= {"question": question, "earlier": earlier, "label": label.removeprefix(_EARLIER) if earlier else label}
    return fields


def _question(text: str, mechanism: str) -> Question:
    """The question that a text asks of such a mechanism; any other text names a query that noise was added to."""
    for form, make in _FORMS:
        if matched := re.fullmatch(form, text, re.DOTALL):
            question = make(matched)
            if mechanism in question.mechanisms:
                return question
    return MeasuredQuery("", (), text)


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
