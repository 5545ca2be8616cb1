"""The average of hypotheses, which is what the theorems speak of."""

from __future__ import annotations

from typing import Literal, final

import numpy as np

from hedgerow.models import Histogram


@final
class Averager:
    """Adds hypotheses up, cell by cell; holds one table of the size of the domain.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> model = Histogram(Domain((IntegerRange("a", 0, 1),)), 6.0)
        >>> averager = Averager(model)
        >>> averager.add(model)
        >>> averager.result().marginals([("a",)])[0]
        array([3., 3.])
    """

    def __init__(self, model: Histogram) -> None:
        """Start with nothing, for hypotheses over the domain and of the mass of the one given."""
        self._domain = model.domain
        self._total = model.total
        self._sum = np.zeros(model.domain.shape)

    def add(self, model: Histogram) -> None:
        """Add a hypothesis as it is now."""
        model.add_to(self._sum)

    def result(self) -> Histogram:
        """The average of what was added, in counts."""
        return Histogram(self._domain, self._total, base=self._sum)


Output = Literal["last", "average"]
"""Which hypothesis to return: A_T, or the average of A_0 ... A_(T-1)."""
