"""A noisy answer: the only thing that the private side gives to the public side."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import final

from hedgerow.arrays import Floats
from hedgerow.queries.core.query import Measurable


class NoiseKind(StrEnum):
    """Shape of the noise of a measurement."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@final
@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy values of a query or of a marginal, with the public scale of their noise.

    Attributes:
        target: What was measured.
        values: Noisy answers in counts, shape ``(target.size,)``; not clipped, may be negative.
        noise: Shape of the noise.
        scale: In counts: b of Laplace noise, sigma of Gaussian noise.

    Example:
        >>> import numpy as np
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Marginal
        >>> target = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> Measurement(target, np.array([51.0, -2.0]), NoiseKind.GAUSSIAN, scale=3.0).std
        3.0
    """

    target: Measurable
    values: Floats = field(repr=False)
    noise: NoiseKind
    scale: float

    @property
    def std(self) -> float:
        """Standard deviation of the noise of one value, in counts."""
        return self.scale * 2.0**0.5 if self.noise is NoiseKind.LAPLACE else self.scale
