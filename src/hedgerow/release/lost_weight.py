"""What was measured of weights: the share that their cap takes away, and how unequal they are (theory.md 15.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.queries import LostWeight, Measurement
from hedgerow.release.answer import Answer, Total, check_confidence
from hedgerow.release.noise_sums import Noises

_OF_COUNT = 0.2
"""Share of the risk that goes to the number of those who are counted, which is known far better."""


@dataclass(frozen=True)
class LostShare:
    """The share of the population that a cap takes away.

    Attributes:
        value: The share, from 0 to 1.
        low: Lower end of its interval; None where nothing tells how many are counted.
        high: Upper end, likewise.
        confidence: Probability, over the noise of the run, that the interval holds the share.
        possible: The largest possible weight: larger ones are taken for this.
    """

    value: float
    low: float | None
    high: float | None
    confidence: float
    possible: int

    @classmethod
    def of(
        cls, measured: Measurement, counted: Callable[[float], Answer], *, known: bool, confidence: float = 0.95
    ) -> Self:
        """The share that a measured sum tells.

        The population is a known total where there is one, else what is counted and what is lost together.

        Args:
            measured: The noisy sum of what is lost.
            counted: The number of those who are counted, at a confidence; or the known total.
            known: Whether there is one.
            confidence: See above.

        Raises:
            ConfigError: The confidence is not between 0 and 1.

        Example:
            >>> from hedgerow.queries import NoiseKind, Weight
            >>> lost = Measurement(LostWeight(Weight("w", 9), 20), np.array([50.0]), NoiseKind.GAUSSIAN, 10.0)
            >>> found = LostShare.of(lost, lambda _: Answer(950.0, 940.0, 960.0, ""), known=False)
            >>> found.text
            '5.0% of the population (2.9% to 7.0%, 95% confidence; weights above 20 taken for that)'
        """
        risk = check_confidence(confidence)
        of_lost = risk if known else (1.0 - _OF_COUNT) * risk
        lost, rest = float(measured.values[0]), counted(1.0 - _OF_COUNT * risk)
        radius = Noises.of(measured.noise, measured.scale, np.ones(1)).bound(of_lost)

        def share(lost: float, rest: float | None) -> float | None:
            lost = max(0.0, lost)
            return None if rest is None else min(1.0, lost / max(1.0, rest if known else lost + rest))

        ends = share(lost - radius, rest.high), share(max(0.0, lost) + radius, rest.low)
        possible = measured.target.possible if isinstance(measured.target, LostWeight) else 0
        return cls(share(lost, rest.value) or 0.0, *ends, confidence, possible)

    @property
    def text(self) -> str:
        """The share with its interval, in words."""
        between = "no interval"
        if self.low is not None and self.high is not None:
            between = f"{self.low:.1%} to {self.high:.1%}, {100 * self.confidence:.6g}% confidence"
        return f"{self.value:.1%} of the population ({between}; weights above {self.possible:,} taken for that)"

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        ends = {"share": self.value, "low": self.low, "high": self.high}
        return {**ends, "confidence": self.confidence, "largest_possible": self.possible}


@dataclass(frozen=True)
class WeightEffect:
    """The design effect of unequal weights: by what the variance of a mean grows that has nothing to do with them.

    It is ``n sum(w^2) / sum(w)^2`` of the n records with a weight (L. Kish, "Survey Sampling", 1965, section 11.7),
    1 where all weights are equal. Clusters and strata have effects of their own, see ``hedgerow.simulation``.

    Attributes:
        value: The effect.
        low: Lower end of its interval; None where nothing tells what the weights add up to.
        high: Upper end, likewise.
        confidence: Probability, over the noise of the run, that the interval holds that of the weights that count.
    """

    value: float
    low: float | None
    high: float | None
    confidence: float

    @classmethod
    def of(cls, records: Measurement, squares: Measurement, total: Total, *, confidence: float = 0.95) -> Self:
        """The effect that measured sums tell.

        Args:
            records: The noisy number of records with a weight.
            squares: The noisy sum of their squares.
            total: What is known of the sum of the weights that count.
            confidence: See above.

        Raises:
            ConfigError: The confidence is not between 0 and 1.

        Example:
            >>> from hedgerow.queries import NoiseKind, Weight, WeightPower
            >>> number, squares = (WeightPower(Weight("w", 9), power) for power in (0, 2))
            >>> measured = (Measurement(each, np.array([x]), NoiseKind.GAUSSIAN, 2.0)
            ...             for each, x in ((number, 100.0), (squares, 3600.0)))
            >>> WeightEffect.of(*measured, Total(500.0, public=True)).text
            '1.44 (1.36 to 1.52, 95% confidence)'
        """
        third = check_confidence(confidence) / 3.0
        slack, ends = total.slack(third), list[tuple[float, float]]()
        for each in (records, squares):
            reach = Noises.of(each.noise, each.scale, np.ones(1)).bound(third)
            value = max(1.0, float(each.values[0]))
            ends.append((max(1.0, value - reach), value + reach))
        value = max(1.0, float(records.values[0]) * float(squares.values[0]) / max(1.0, total.value) ** 2)
        if not np.isfinite(slack):
            return cls(value, None, None, confidence)
        (least, most), (low, high) = ends
        least, most = least * low / (total.value + slack) ** 2, most * high / max(1.0, total.value - slack) ** 2
        return cls(value, max(1.0, least), max(1.0, most), confidence)

    @property
    def text(self) -> str:
        """The effect with its interval, in words."""
        between = "no interval"
        if self.low is not None and self.high is not None:
            between = f"{self.low:.3g} to {self.high:.3g}, {100 * self.confidence:.6g}% confidence"
        return f"{self.value:.3g} ({between})"

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"effect": self.value, "low": self.low, "high": self.high, "confidence": self.confidence}
