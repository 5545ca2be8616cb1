"""Questions and answers of a session, and why the intervals hold.

**Intervals.** Let r be the risk that an interval may miss the truth q(B); it is divided before anything is seen.

- *The query fired.* Its answer has fresh noise, independent of everything that made the query fire, so
  ``|answer - q(B)|`` passes the noise's quantile with probability r / 2 at most.
- *It did not fire.* Then ``|q(B) - q(A)| + nu < T + tau`` for the noise nu of this test and tau of the epoch's
  threshold, hence ``|q(B) - q(A)| < T + t_1 + t_2`` unless ``tau > t_1`` or ``nu < -t_2``. The noise of the test is
  fresh: t_2 is its quantile. The threshold noise is not: epochs in which it is large live longer, so a query chosen at
  random, or by an analyst who waits for a long epoch, meets large ones more often than their law says. So t_1 bounds
  the threshold noises of *all* epochs that the session can have, at the same time. The risk r / 2 is divided over t_1
  and t_2 in proportion to their scales, which makes the sum smallest.

Both cases together miss with probability r at most, although which of them occurs depends on noise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from hedgerow.algorithms.online_pmw.rules import Rules, noise_quantile
from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.domain import Domain
from hedgerow.errors import QueryError
from hedgerow.privacy import GRID, AdditiveNoise, Budget, step_of
from hedgerow.queries import LinearQuery, canonical, parse_predicate, query_key
from hedgerow.release import Answer, Evidence, Total, intersect

_MOST_PARSED = 1 << 16
"""Texts of conditions that are remembered."""

Source = Literal["hypothesis", "data", "cache", "public", "hypothesis only"]


@final
@dataclass(frozen=True, slots=True)
class OnlineAnswer:
    """An answer of a session, in counts.

    Attributes:
        value: The answer.
        low: Lower end of the interval for the true answer; None where nothing gives one.
        high: Upper end, likewise.
        covers: What the interval covers and where it comes from, in words.
        source: ``"hypothesis"`` (tested against the data, and found close), ``"data"`` (a fresh noisy answer),
            ``"cache"`` (asked before), ``"public"`` (known without data) or ``"hypothesis only"`` (nothing of the data
            was looked at: the session has nothing left to spend).
        charged: What the ledger was charged because of this query.
        spent: What the ledger holds after it.
        updates_left: How many corrections are left.

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


@final
@dataclass(frozen=True)
class Known:
    """What the session found out about a query.

    Attributes:
        query: In canonical form.
        value: The hypothesis' answer, or the noisy one of a query that fired; in counts.
        threshold: Of its test, in counts; None for a query that fired.
    """

    query: LinearQuery
    value: float
    threshold: float | None


@final
@dataclass(frozen=True)
class Basis:
    """What a session rests on, fixed at its start.

    Attributes:
        config: The configuration.
        budget: What may be spent.
        rules: Its numbers.
        total: Number of records, noisy under "add-remove".
        total_noise: Its noise; None where the number is public.
        secure: Whether all noise so far came from the secure source.
    """

    config: OnlineSettings
    budget: Budget
    rules: Rules
    total: float
    total_noise: AdditiveNoise | None
    secure: bool

    def known_total(self) -> Total:
        """The number of records as evidence."""
        noise = self.total_noise
        if noise is None:
            return Total(self.total, public=True)
        evidence = Evidence(self.total, lambda risk: noise.quantile(1.0 - risk), "the noisy number of records")
        return Total(self.total, public=False, evidence=evidence)

    def answer(self, known: Known, confidence: float) -> Answer:
        """What was found out about a query, with its interval."""
        because = "a fresh noisy answer" if known.threshold is None else "a noisy test that found the hypothesis close"
        piece = Evidence(known.value, self.radius(known), because)
        return intersect(known.query, known.value, [piece], self.known_total(), confidence)

    def radius(self, known: Known) -> Callable[[float], float]:
        """How far the truth may be from the value, as a function of the risk; see the head of this module."""
        query, rules, threshold = known.query, self.rules, known.threshold
        if threshold is None:
            sensitivity, step = query.sensitivity(self.budget.neighbours).l1, step_of(query)
            return lambda risk: noise_quantile(rules, self.budget.regime, sensitivity, step, 1.0 - risk / 2.0)
        watch = rules.watch
        share = watch.threshold_scale / (watch.threshold_scale + watch.test_scale)

        def radius(risk: float) -> float:
            """A bound that one side of the noise passes with probability p is that of both sides with 2 p."""
            secret = watch.threshold_quantile(1.0 - share * risk / rules.draws)
            return threshold + secret + watch.test_quantile(1.0 - (1.0 - share) * risk) + GRID

        return radius

    def public_answer(self, query: LinearQuery, confidence: float) -> Answer:
        """A query that does not depend on any record, or on their number alone.

        Args:
            query: In canonical form.
            confidence: Of the interval, where the number of records is private.
        """
        total = self.known_total()
        factor = 0.0 if query.scope else float(query.of_table(np.array(1.0))[0])
        value = factor * total.value
        if factor == 0.0 or total.evidence is None:
            return Answer(value, value, value, "the true answer: it is public")
        piece = Evidence(value, lambda risk: abs(factor) * total.slack(risk), total.evidence.source)
        return intersect(query, value, [piece], total, confidence)


@final
class Questions:
    """Reads questions; texts that were read before are not parsed again.

    Args:
        domain: What they are about.
        bounds: Between which the values of their queries lie.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
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
        """The key of a query, equal for all ways to write it, and its canonical form.

        Args:
            query: A condition in SQL, or a linear query.

        Raises:
            QueryError: The text is not understood, it is no linear query over the domain, or its values leave the
                bounds.
        """
        if isinstance(query, str):
            return self._of_text(query)
        self._check(query)
        reduced = canonical(query)
        return query_key(reduced), reduced

    def _of_text(self, text: str) -> tuple[Hashable, LinearQuery]:
        found = self._parsed.get(text)
        if found is None:
            found = self.read(parse_predicate(text, self._domain))
            if len(self._parsed) >= _MOST_PARSED:  # nobody should fill the memory by asking
                self._parsed.clear()
            self._parsed[text] = found
        return found

    def _check(self, query: LinearQuery) -> None:
        if not isinstance(query, LinearQuery) or (query.domain is not self._domain and query.domain != self._domain):
            named = getattr(query, "text", f"a {type(query).__name__}")
            raise QueryError(
                f"{named} is not one linear query over the domain of the session",
                remedy="ask for a condition; for all cells of a marginal ask for each of them",
            )
        low, high = self._bounds
        least, largest = query.bounds
        if least < low or largest > high:
            raise QueryError(
                f"the values of {query.text!r} lie in {query.bounds}, beyond the bounds {low:g} and {high:g} of this "
                "session",
                remedy=f"scale the query, or start the session with OnlinePMW(bounds={query.bounds})",
            )
