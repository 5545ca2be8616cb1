"""The hypothesis of a session: quick answers between corrections, and the same bits whether or not it was saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast, final

from hedgerow.algorithms.online_answer import Basis
from hedgerow.algorithms.steps import clipped, step_size
from hedgerow.models.answering import Answering
from hedgerow.models.histogram import Histogram
from hedgerow.models.refit import Proximal, refit
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Floats, LinearQuery

_REFIT = Proximal().quick()


@final
class Hypothesis:
    """A histogram that is asked often and corrected seldom; it changes only through this object.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> from hedgerow.queries.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> Hypothesis(Histogram(domain, total=12)).value(Conjunction.where(domain, {"b": [0, 1]}))
        8.0
    """

    def __init__(self, model: Histogram) -> None:
        """Start from a state.

        Args:
            model: Exactly as its potentials give it; nobody else may change it.
        """
        self._model = model
        self._answering = Answering(model)

    @property
    def model(self) -> Histogram:
        """The histogram as it is, not a copy."""
        return self._model

    def anew(self) -> Histogram:
        """A copy made from the potentials: its last bits do not depend on what was asked."""
        return Histogram.from_potentials(self._model.domain, self._model.total, self._model.potentials())

    def value(self, query: LinearQuery) -> float:
        """Its answer, in counts."""
        return self._answering.value(query)

    def values(self, queries: Sequence[LinearQuery]) -> Floats:
        """Its answers, in counts, shape ``(len(queries),)``."""
        return self._answering.values(queries)

    def correct(self, measurements: Sequence[Measurement], before: float, basis: Basis) -> None:
        """Bring it in line with the newest noisy answer.

        Args:
            measurements: All noisy answers so far.
            before: What it answered to the newest of these queries, in counts.
            basis: Says how.
        """
        newest, (low, high) = measurements[-1], basis.config.bounds
        query = cast("LinearQuery", newest.target)  # a session measures no others
        residual = float(clipped(newest.values, query, basis.total)[0]) - before
        match basis.rules.step:
            case "refit":
                refit(self._model, measurements, _REFIT)
                self.settle()
            case "residual":
                self._model.update(query, step_size(residual / basis.total, query.bounds, "sharp"))
            case step:
                self._model.update(query, math.copysign(step, residual) / (high - low))
        self._answering.replace(self._model)

    def settle(self) -> None:
        """Make it anew from its potentials, as restoring a session does: both go on from the same bits."""
        self._model = self.anew()
        self._answering.replace(self._model)
