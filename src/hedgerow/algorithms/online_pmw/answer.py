"""Questions and answers of a session, and why the intervals hold.

**Intervals.** The risk that one may miss the truth is divided before anything is seen. What fired has fresh noise. What
did not is within the threshold and bounds on two noises: that of its test, which is fresh, and those of *all*
thresholds that the session can have, as epochs with large ones live longer (theory.md section 13.2).

A statement leads to questions, which are asked one by one.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from hedgerow.algorithms.online_pmw.rules import Rules, rules_from_dict
from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.arrays import Floats
from hedgerow.domain import Domain, domain_to_mapping
from hedgerow.errors import QueryError
from hedgerow.privacy import GRID, AdditiveNoise, Budget, additive_noise, budget_from_dict, step_of
from hedgerow.privacy.mechanisms import GaussianNoise, LaplaceNoise
from hedgerow.queries import (
    Blocks,
    Groups,
    LinearQuery,
    Marginal,
    Measurable,
    Measurement,
    NoiseKind,
    canonical,
    parse_predicate,
    query_key,
)
from hedgerow.release import (
    TOTAL_SHARE,
    Answer,
    Estimate,
    Evidence,
    Total,
    check_confidence,
    estimates,
    intersect,
    left_uncounted,
)

_NOISES = {NoiseKind.LAPLACE: LaplaceNoise, NoiseKind.GAUSSIAN: GaussianNoise}
_MOST_PARSED = 1 << 16
"""Texts of conditions that are remembered."""
_OF_A_NUMBER = 4
"""Cells of eight bytes that a number takes which is kept by itself."""

Interval = tuple[float | Floats, float | Floats | None, float | Floats | None, str]
"""A value or values, the lower and upper ends of their intervals, if they have some, and what these cover."""

Source = Literal["hypothesis", "data", "cache", "public", "hypothesis only"]


@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """An answer of a session, in counts.

    Attributes:
        value: The answer.
        low: Lower end of the interval for the true answer; None where nothing gives one.
        high: Upper end, likewise.
        covers: The meaning of the interval and its source, in words.
        source: ``"hypothesis"`` (tested against the data, and found close), ``"data"`` (a fresh noisy answer),
            ``"cache"`` (asked before), ``"public"`` (known without data) or ``"hypothesis only"`` (nothing of the data
            was looked at: the session has nothing left to spend).
        charged: Charge to the ledger for this query.
        spent: Sum of the charges in the ledger after it.
        updates_left: Number of corrections of the hypothesis that are left.

    Example:
        >>> OnlineAnswer(12.0, 8.0, 15.0, "the true count", "data", 0.1, 0.1, 9).has_interval
        True
    """

    value: float
    low: float | None
    high: float | None
    covers: str
    source: Source
    charged: float
    spent: float
    updates_left: int

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None


@dataclass(frozen=True, slots=True, eq=False)
class OnlineGroups:
    """The counts of a group, answered together by a session.

    Attributes:
        values: The counts, in the order of the group, shape ``(size,)``.
        low: Lower ends of the intervals for the true counts, likewise; None where nothing gives them.
        high: Upper ends, likewise.
        covers: The meaning of the intervals, whether all of them hold at once, and their source, in words.
        source: The source of all counts together, as in `OnlineAnswer`.
        charged: Charge to the ledger for all of them together.
        spent: Sum of the charges in the ledger after it.
        updates_left: Number of corrections of the hypothesis that are left.

    Example:
        >>> OnlineGroups(np.array([3.0]), np.array([1.0]), np.array([5.0]), "counts", "data", 0.1, 0.1, 9).has_interval
        True
    """

    values: Floats
    low: Floats | None
    high: Floats | None
    covers: str
    source: Source
    charged: float
    spent: float
    updates_left: int

    @property
    def has_interval(self) -> bool:
        """Whether there are intervals."""
        return self.low is not None


@dataclass(frozen=True)
class Known:
    """A finding: what the session knows about a query or a group of counts.

    Attributes:
        query: The query in canonical form, or the group.
        value: The hypothesis' answer, or the noisy one of a query that fired; in counts. Those of a group in order.
        threshold: Threshold of its test, in counts; None for a query that fired.
    """

    query: Measurable
    value: float | tuple[float, ...]
    threshold: float | None

    @property
    def values(self) -> Floats:
        """The values as an array, shape ``(query.size,)``."""
        return np.atleast_1d(np.asarray(self.value, dtype=np.float64))

    def as_measurement(self) -> Measurement:
        """The finding in the format of measurements: its scale is the threshold of the test, 0 without a test."""
        return Measurement(self.query, self.values, NoiseKind.LAPLACE, self.threshold or 0.0)

    @classmethod
    def of_measurement(cls, measured: Measurement) -> Self:
        """Read what `as_measurement` wrote."""
        values = tuple(measured.values.tolist())
        value = values[0] if isinstance(measured.target, LinearQuery) else values
        return cls(measured.target, value, measured.scale or None)


def held_with(query: Measurable) -> int:
    """Cells of memory that a query takes for as long as its answer is known: its own, and those of many numbers.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.queries import Conjunction, Marginal
        >>> domain = Domain((IntegerRange("a", 0, 9),))
        >>> held_with(Conjunction.where(domain, {"a": [1]})), held_with(Marginal(domain, ("a",)))
        (0, 40)
    """
    return query.held + (0 if isinstance(query, LinearQuery) else _OF_A_NUMBER * query.size)


@dataclass(frozen=True)
class Basis:
    """The basis of a session, fixed at its start.

    Attributes:
        config: The configuration.
        budget: The budget of the session.
        rules: The numbers of the session.
        total: Number of records, noisy under "add-remove".
        total_noise: Noise of that number; None where it is public.
        secure: Whether all noise so far came from the secure source.
    """

    config: OnlineSettings
    budget: Budget
    rules: Rules
    total: float
    total_noise: AdditiveNoise | None
    secure: bool

    def to_dict(self, domain: Domain) -> dict[str, Any]:
        """The basis, and the domain of the table, as values that JSON can hold."""
        noise = self.total_noise
        return {
            "config": self.config.parameters(),
            "rules": self.rules.to_dict(),
            "budget": self.budget.to_dict(),
            "domain": domain_to_mapping(domain),
            "total": self.total,
            "total_noise": None if noise is None else {"kind": noise.kind.value, "scale": noise.scale},
            "secure": self.secure,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: It was something else.
        """
        noise = content["total_noise"]
        return cls(
            config=OnlineSettings.from_dict(content["config"]),
            budget=budget_from_dict(content["budget"]),
            rules=rules_from_dict(content["rules"]),
            total=float(content["total"]),
            total_noise=None if noise is None else _NOISES[NoiseKind(noise["kind"])](float(noise["scale"])),
            secure=bool(content["secure"]),
        )

    def known_total(self) -> Total:
        """The number of records as evidence."""
        noise = self.total_noise
        if noise is None:
            return Total(self.total, public=True)
        evidence = Evidence(self.total, lambda risk: noise.quantile(1.0 - risk), "the noisy number of records")
        return Total(self.total, public=False, evidence=evidence, whole=self.budget.neighbours.grain == 1.0)

    def answer(self, known: Known, confidence: float) -> Interval:
        """Answer a query, or a group of counts, from what was found out about it."""
        total, source = self.known_total(), "a noisy test that found the hypothesis close"
        if known.threshold is None:
            source = "a fresh noisy answer"
        if isinstance(known.query, LinearQuery):
            value = float(known.values[0])
            piece = Evidence(value, self.radius(known), source)
            found = intersect(known.query, value, [piece], total, confidence)
            return _interval(replace(found, covers=found.covers + left_uncounted(self.budget.neighbours)))
        risk = check_confidence(confidence)
        kept = risk if total.public else (1.0 - TOTAL_SHARE) * risk
        radius, most = self.radius(known)(kept), math.floor(total.value + total.slack(TOTAL_SHARE * risk))
        possible = np.clip(known.values, 0.0, most)  # as within_possible has it: none is narrower for being impossible
        ends = np.minimum(known.values, possible) - radius, np.maximum(known.values, possible) + radius
        ends = (np.ceil(ends[0]), np.floor(ends[1])) if total.whole else ends
        low = np.clip(ends[0], 0.0, most)
        high = np.clip(ends[1], low, most)
        together = "each of the true counts" if known.threshold is None else "all of the true counts at once"
        covers = f"{together} on the private table, with {100 * confidence:.6g}% confidence, from {source}"
        covers += left_uncounted(self.budget.neighbours)
        return np.clip(known.values, low, high), low, high, covers

    def radius(self, known: Known) -> Callable[[float], float]:
        """Largest distance of the truth from the value, as a function of the risk; see the head of this module."""
        query, rules, threshold = known.query, self.rules, known.threshold
        if threshold is None:
            sensitivity = query.sensitivity(self.budget.neighbours)
            noise = additive_noise(
                self.budget.regime,
                rules.answer_charge,
                l1=sensitivity.l1,
                l2=sensitivity.l2,
                step=step_of(query),
                kind=rules.answer_kind,
            )
            return lambda risk: noise.quantile(1.0 - risk / 2.0)
        watch = rules.watch
        share = watch.threshold_scale / (watch.threshold_scale + watch.test_scale)

        def radius(risk: float) -> float:
            """A bound that one side of the noise passes with probability p is that of both sides with 2 p."""
            secret = watch.threshold_quantile(1.0 - share * risk / rules.draws)
            return threshold + secret + watch.test_quantile(1.0 - (1.0 - share) * risk) + GRID

        return radius

    def public_answer(self, query: LinearQuery, confidence: float) -> Interval:
        """Answer a query that depends on no record, or on the number of records alone.

        Args:
            query: The query in canonical form.
            confidence: Confidence of the interval, where the number of records is private.
        """
        total = self.known_total()
        factor = 0.0 if query.scope else float(query.of_table(np.array(1.0))[0])
        value = factor * total.value
        if factor == 0.0 or total.evidence is None:
            return value, value, value, "the true answer: it is public"
        piece = Evidence(value, lambda risk: abs(factor) * total.slack(risk), total.evidence.source)
        return _interval(intersect(query, value, [piece], total, confidence))


def _interval(answer: Answer) -> Interval:
    return answer.value, answer.low, answer.high, answer.covers


class Questions:
    """Reads questions, so that the same question is known again; texts that were read before are not parsed again.

    Args:
        domain: Domain of the questions.
        bounds: Smallest and largest value that their queries may have.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> questions = Questions(Domain((IntegerRange("a", 0, 9),)), (0.0, 1.0))
        >>> one, other = questions.read("a > 7"), questions.read("not a < 8")
        >>> one[0] == other[0], one[1].text
        (True, 'a between 8 and 9')
    """

    def __init__(self, domain: Domain, bounds: tuple[float, float]) -> None:
        """Remember no text yet."""
        self._domain = domain
        self._bounds = bounds
        self._parsed: dict[str, tuple[Hashable, LinearQuery]] = {}

    def read(self, query: str | LinearQuery) -> tuple[Hashable, LinearQuery]:
        """Find the key of a query, equal for all ways to write it, and its canonical form.

        Args:
            query: A condition in SQL, or a linear query.

        Raises:
            QueryError: The text is not understood, it is no linear query over the domain, or its values leave the
                bounds.
        """
        if not isinstance(query, str):
            self._check(query)
            reduced = canonical(query)
            return query_key(reduced), reduced
        parsed = self._parsed.get(query)
        if parsed is None:
            parsed = self.read(parse_predicate(query, self._domain))
            if len(self._parsed) >= _MOST_PARSED:  # no one should fill the memory by asking
                self._parsed.clear()
            self._parsed[query] = parsed
        return parsed

    def allow(self, group: Measurable) -> bool:
        """Whether the counts of a group stay within the bounds."""
        low, high = self._bounds
        return low <= group.bounds[0] and group.bounds[1] <= high

    def _check(self, query: LinearQuery) -> None:
        if not isinstance(query, LinearQuery) or (query.domain is not self._domain and query.domain != self._domain):
            named = getattr(query, "text", f"a {type(query).__name__}")
            raise QueryError(
                f"{named} is not one linear query over the domain of the session",
                remedy="ask for a condition; ask_groups answers all cells of a marginal together",
            )
        low, high = self._bounds
        least, largest = query.bounds
        if least < low or largest > high:
            raise QueryError(
                f"the values of {query.text!r} lie in {query.bounds}, beyond the bounds {low:g} and {high:g} of this "
                "session",
                remedy=f"scale the query, or start the session with OnlinePMW(bounds={query.bounds})",
            )


@dataclass(frozen=True)
class Asking:
    """A session, or what stands before it, as one who answers counting questions.

    Attributes:
        ask: Answers a query with a confidence.
        ask_groups: Answers the counts of a group.
        guesses: Gives the hypothesis' own answer of a query, which costs nothing.
    """

    ask: Callable[[LinearQuery, float], OnlineAnswer]
    ask_groups: Callable[[Marginal | Blocks, float], OnlineGroups]
    guesses: Callable[[LinearQuery], float]

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        answer = self.ask(query, confidence)
        return Estimate(answer.value, answer.low, answer.high), answer.source

    def guess(self, query: LinearQuery) -> float:
        """The hypothesis' own answer."""
        return self.guesses(query)

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        answer = self.ask_groups(groups.target, confidence)
        return estimates(answer.values, answer.low, answer.high)[: groups.size], answer.source
