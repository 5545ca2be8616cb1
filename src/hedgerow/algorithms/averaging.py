"""The average of hypotheses, which is what the theorems speak of."""

from __future__ import annotations

from typing import final

from hedgerow.models.histogram import Histogram


@final
class Averager:
    """Adds hypotheses up, cell by cell; holds one table of the size of the domain.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> model = Histogram(Domain((IntegerRange("a", 0, 1),)), 6.0)
        >>> averager = Averager(model)
        >>> averager.add(model)
        >>> averager.result().marginals([("a",)])[0]
        array([3., 3.])
    """

    def __init__(self, model: Histogram) -> None:
        """Start with nothing, for hypotheses over the domain and of the mass of the one given."""
        self._sum = model.empty()
        self._like = model

    def add(self, model: Histogram) -> None:
        """Add a hypothesis as it is now."""
        model.accumulate(self._sum, 1.0)

    def result(self) -> Histogram:
        """The average of what was added, in counts; the sum is handed over to it."""
        return self._like.with_base(self._sum)
