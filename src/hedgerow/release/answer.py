"""Answers with intervals, and the derivation of the intervals.

**What an interval covers.** The true answer on the private table, with at least the stated confidence over the
noise of the run. It says nothing about the population that the table was drawn from.

**From measurements.** Let a measured marginal hold all attributes of the query. The query is then a known weighted
sum of the marginal's cells, and the same sum of the noisy cells misses the truth by the same sum of independent
noises, whose law is public. The model plays no part. Tables that were chosen before any of them was measured are
averaged for the query with weights that no noise decides, and are one piece of evidence (`unbiased`).

**From the error of the workload.** The run may have paid for a noisy maximum of the workload's error. Without its
noise, at a chosen risk, no candidate's error is larger than what is left, which bounds a query that is a candidate, or
is answered by one (theory.md section 13.2).

**From all measurements together.** Where no measurement tells the query, those that share attributes with it still
bound it: the least and the largest answer of all tables of counts that agree with them (`feasible`).

**Several pieces of evidence.** The narrowest interval, picked afterwards, would not have its nominal coverage. Instead
the risk is dealt out in the order in which the evidence was obtained: 1/20 to the noisy number of records
(where it is private), of the rest 9/10 to the first piece that bears on the query, and the remainder halved from each
piece to the next. All hold together with the confidence (theory.md section 13.2), and their intersection is the
interval. It is cut to what the number of records allows and, for counts, to whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.cards import card
from hedgerow.errors import ConfigError
from hedgerow.quantities import count_text
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Neighbours, Parity
from hedgerow.release.evidence import Evidence
from hedgerow.release.feasible import Together
from hedgerow.release.noise_sums import Noises

if TYPE_CHECKING:
    from hedgerow.privacy import AdditiveNoise

NOTHING = "nothing: no measurement and no evaluated workload covers this query"
"""The text of ``Answer.covers`` where there is no interval."""

TOTAL_SHARE = 0.05
FIRST_SHARE = 0.9
_LEAST_SHARE = 1e-12
"""Confidences keep fifteen digits: the smallest risk that their quantiles can still tell from none."""


@dataclass(frozen=True)
class Answer:
    """An answer from a release.

    Attributes:
        value: The model's answer in counts, moved towards the best measured estimate by as much as they disagree beyond
            its noise (`Evidence.corrected`), and never outside the interval.
        low: Lower end of the interval for the true answer, or None where nothing was measured that gives one.
        high: Upper end, likewise.
        covers: Coverage and source of the interval, in words.

    Example:
        >>> print(Answer(1012.25, 998.0, 1025.0, "the true count, with 95% confidence"))
        1,012.2   (998 to 1,025)
        covers the true count, with 95% confidence
    """

    value: float
    low: float | None
    high: float | None
    covers: str

    def __str__(self) -> str:
        """The answer with its interval, and what that covers on a line below."""
        return f"{count_text(self.value)}   ({self._between()})\ncovers {self.covers}"

    def _repr_html_(self) -> str:
        """The answer with its interval, for notebooks."""
        return card(count_text(self.value), [("interval", self._between()), ("covers", self.covers)])

    def _between(self) -> str:
        has_ends = self.low is not None and self.high is not None
        return f"{count_text(self.low or 0.0)} to {count_text(self.high or 0.0)}" if has_ends else "no interval"

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None


@dataclass(frozen=True)
class Total:
    """Knowledge about the number of records.

    Attributes:
        value: The mass of the model, in counts.
        public: Whether the number of records is public, and is ``value``.
        evidence: If it is private, the noisy number and its noise; None if it was never measured.
        whole: Whether counts are whole numbers, which they are not where weights are fractions.

    Example:
        >>> Total(100.0, public=True).slack(0.05), Total(100.0, public=False).slack(0.05)
        (0.0, inf)
    """

    value: float
    public: bool
    evidence: Evidence | None = None
    whole: bool = True

    @classmethod
    def measured(
        cls, value: float, bought: Sequence[AdditiveNoise], counted: float | None, *, whole: bool = True
    ) -> Total:
        """A private number of records; all of its noises bound it, as the curator may have been asked several times.

        The noisy number is never below 1, though there may be no record. An average with sums of tables is as near to
        the truth as that number is, and as it is to that number: whatever tables it was averaged with.

        Args:
            value: The mass of the model.
            bought: Noises of the numbers of records that were bought, in order.
            counted: The noisy number, where ``value`` averages it with the sums of noisy tables; else None.
            whole: Whether counts are whole numbers.
        """

        def radius(risk: float) -> float:
            beside = 0.0 if counted is None else abs(value - counted)
            return beside + max(1.0, *(Noises.of(each.kind, each.scale, np.ones(1)).bound(risk) for each in bought))

        evidence = Evidence(value, radius, "the noisy number of records") if bought else None
        return cls(value, public=False, evidence=evidence, whole=whole)

    def slack(self, risk: float) -> float:
        """A bound on how far ``value`` is from the truth; infinite where nothing is known."""
        if self.public:
            return 0.0
        return math.inf if self.evidence is None else max(1.0, self.evidence.radius(risk))


def check_confidence(confidence: float) -> float:
    """The probability that an interval may miss.

    Raises:
        ConfigError: The confidence is not between 0 and 1.

    Example:
        >>> round(check_confidence(0.95), 6)
        0.05
    """
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"a confidence lies between 0 and 1, not {confidence!r}", remedy="for example 0.95")
    return 1.0 - confidence


def each_of(confidence: float, number: int) -> float:
    """The confidence of each of several intervals that all hold together with a confidence, whatever they rest on.

    The risk is divided (Bonferroni). Noise of cells of one table is independent: with this known, intervals at 95 %
    would be less than 1 % narrower.

    Args:
        confidence: Of all of them together.
        number: How many there are.

    Raises:
        ConfigError: The confidence is not between 0 and 1.

    Example:
        >>> each_of(0.95, 10)
        0.995
    """
    return 1.0 - check_confidence(confidence) / max(1, number)


def left_uncounted(neighbours: Neighbours) -> str:
    """Words for the end of ``covers`` where records, or parts of their weights, are counted by no number.

    Args:
        neighbours: The relation, which names the persons and weights of the table.

    Example:
        >>> from hedgerow.queries import persons_of
        >>> left_uncounted(Neighbours.ADD_REMOVE.between(persons_of("patient", 5)))
        '; counted are persons (patient), at most 5 records, and nothing beyond that'
        >>> left_uncounted(Neighbours.ADD_REMOVE.between(persons_of(None, None, "PWGTP", 200)))
        '; of the weights (PWGTP) capped at 200'
    """
    persons = neighbours.persons
    if persons is None or persons.at_most is None:
        return ""
    counted = "" if persons.column is None else f"; counted are {replace(persons, weight=None).text}"
    capped = "" if persons.weight is None else f"; {persons.weight.capped}"
    return f"{counted and f'{counted}, and nothing beyond that'}{capped}"


def shares(risk: float) -> Iterator[float]:
    """The risk of the first piece of evidence, of the second, and so on; they add up to at most ``risk``.

    They end where a share is too small to tell from none: an interval rests on forty pieces of evidence or fewer.

    Example:
        >>> [round(share, 6) for share, _ in zip(shares(0.1), range(3))]
        [0.09, 0.005, 0.0025]
    """
    yield FIRST_SHARE * risk
    rest = 0.5 * (1.0 - FIRST_SHARE) * risk
    while rest >= _LEAST_SHARE:
        yield rest
        rest *= 0.5


def intersect(
    query: LinearQuery, value: float, pieces: Sequence[Evidence | Together], total: Total, confidence: float
) -> Answer:
    """The interval that all pieces of evidence agree on.

    Args:
        query: The query.
        value: The model's answer, which is corrected by the measured number of least variance.
        pieces: Evidence in the order in which it was obtained; not empty.
        total: Knowledge about the number of records.
        confidence: Probability that the interval covers the true answer.

    Returns:
        The answer; its ``covers`` names the piece that is narrowest.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> query = Conjunction.where(Domain((IntegerRange("a", 0, 1),)), {"a": [1]})
        >>> piece = Evidence(40.0, lambda risk: 5.4, "a measurement")
        >>> found = intersect(query, 50.0, [piece], Total(100.0, public=True), 0.95)
        >>> found.value, found.low, found.high
        (45.0, 35.0, 45.0)
    """
    risk = check_confidence(confidence)
    low, high, source = agreed(pieces, risk if total.public else (1.0 - TOTAL_SHARE) * risk)
    low, high = within_possible(query, low, high, total.value + total.slack(TOTAL_SHARE * risk))
    if total.whole and _is_whole(query):
        low, high = _to_whole_numbers(low, high)
    told = [piece for piece in pieces if isinstance(piece, Evidence) and piece.noises is not None]
    if told:
        value = min(told, key=lambda piece: piece.variance).corrected(value)
    covers = f"the true answer on the private table, with {100 * confidence:.6g}% confidence, from {source}"
    return Answer(min(max(value, low), high), low, high, covers)


def agreed(pieces: Sequence[Evidence | Together], risk: float) -> tuple[float, float, str]:
    """The ends of the interval that all pieces of evidence agree on, not in order where none is left, and its source.

    Args:
        pieces: Evidence in the order in which it was obtained; not empty.
        risk: Probability that the interval may miss.

    Example:
        >>> agreed([Evidence(40.0, lambda risk: 5.0, "one"), Evidence(44.0, lambda risk: 2.0, "another")], 0.05)
        (42.0, 45.0, 'another, and 1 more')
    """
    ends = [piece.ends(share) for piece, share in zip(pieces, shares(risk), strict=False)]
    pieces = pieces[: len(ends)]
    widths = [high - low for low, high in ends]
    low, high = max(low for low, _ in ends), min(high for _, high in ends)
    best = pieces[widths.index(min(widths))].source
    return low, high, f"{best}{f', and {len(pieces) - 1} more' if len(pieces) > 1 else ''}"


def within_possible(query: LinearQuery, low: float, high: float, most: float) -> tuple[float, float]:
    """Move an interval's centre to what a number of records allows, and cut the ends to that too.

    So an estimate that is impossible makes no interval narrower: noise that leaves fewer than no records says nothing
    of how few there are. Nothing possible is cut off, so the interval covers at least as often.

    Args:
        query: The query.
        low: Lower end, in counts.
        high: Upper end.
        most: Largest number of records.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> query = Conjunction.where(Domain((IntegerRange("a", 0, 1),)), {"a": [1]})
        >>> within_possible(query, -3.2, 7.9, 100.0), within_possible(query, -9.5, 1.5, 100.0)
        ((0.0, 7.9), (0.0, 5.5))
    """
    least = query.bounds[0] * most if query.bounds[0] < 0.0 else 0.0
    largest = query.bounds[1] * most if query.bounds[1] > 0.0 else 0.0
    centre, half = min(max((low + high) / 2.0, least), largest), abs(high - low) / 2.0
    return max(min(low, high, centre - half), least), min(max(low, high, centre + half), largest)


def _is_whole(query: LinearQuery) -> bool:
    if isinstance(query, Explicit):
        return bool((query.vector == query.vector.round()).all())
    return isinstance(query, Conjunction | Parity)


def _to_whole_numbers(low: float, high: float) -> tuple[float, float]:
    inner = float(math.ceil(low - 1e-9)), float(math.floor(high + 1e-9))
    return inner if inner[0] <= inner[1] else (low, high)


def answer_total(query: LinearQuery, value: float, total: Total, confidence: float) -> Answer:
    """The answer of a query of no attribute, which is about the number of records alone.

    Args:
        query: The query.
        value: The model's answer, in counts.
        total: What is known of the number of records.
        confidence: Probability that the interval covers the true answer.
    """
    if total.public:
        return Answer(value, value, value, "the true answer: the number of records is public")
    if total.evidence is None:
        return Answer(value, None, None, NOTHING)
    factor = abs(float(query.of_table(np.array(1.0))[0]))
    piece = Evidence(value, lambda risk: factor * total.slack(risk), total.evidence.source)
    return intersect(query, value, [piece], total, confidence)
