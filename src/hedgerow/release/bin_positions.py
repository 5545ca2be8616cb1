"""Where in the bins of a column its records lie, from counts of bins and from what was measured of positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Binned, ends_of
from hedgerow.domain.tilts import positions_of, tilts_of_positions
from hedgerow.queries import Measurement

_GUESSED = 0.1
"""How far the mean position of a bin is from what the bins beside it say, in widths of the bin."""


@dataclass(frozen=True, eq=False)
class BinPositions:
    """Mean positions of the records of each bin of a column.

    Attributes:
        column: The column.
        counts: Records of each of its codes in the hypothesis.
        sums: Noisy sums of the positions in each bin, if they were measured.
        whole: Noisy moments of the whole column, if they were.

    Example:
        >>> found = BinPositions(Binned("x", (0, 1, 2, 3)), np.array([1.0, 2.0, 3.0]), None, None)
        >>> found.means.round(3).tolist(), found.tilts.round(2).tolist()
        ([0.083, 0.042, 0.028], [0.5, 0.25, 0.17])
    """

    column: Binned
    counts: Floats
    sums: Measurement | None
    whole: Measurement | None

    @cached_property
    def tilts(self) -> Floats:
        """Tilts of the densities inside the bins, by the mean positions of their records."""
        return tilts_of_positions(self.column, self.means)

    @cached_property
    def means(self) -> Floats:
        """The mean position of the records of each bin, from -1/2 to 1/2.

        It is the one that the hypothesis' counts of the bins beside say, which errs by `_GUESSED` of the width of a
        bin. Where positions were measured it is averaged with the noisy mean, by inverse variances. Where moments
        of the column were measured too, bins are moved so that the mean of all comes near to the measured one.
        """
        means = positions_of(self.column, self.counts)
        if self.sums is None:
            return means
        averaged = (means + self._precision * self.sums.values / self._held) / (1.0 + self._precision)
        return np.clip(self._moved(np.clip(averaged, -0.5, 0.5)), -0.5, 0.5)

    def errors(self, rng: np.random.Generator) -> Floats:
        """Errors that the means might have, drawn from their law given what was measured.

        Args:
            rng: What they are drawn with.
        """
        if self.sums is None:
            return rng.normal(0.0, _GUESSED, self.column.ordinary)
        drawn = rng.normal(0.0, np.sqrt(self._variances))
        return self._moved(drawn, noise=float(rng.normal()))

    @cached_property
    def _held(self) -> Floats:
        """Records of each bin."""
        return np.maximum(self.counts[: self.column.ordinary], 1e-9)

    @cached_property
    def _precision(self) -> Floats:
        """How much more precise the measured mean position of each bin is than a guess."""
        std = 0.0 if self.sums is None else self.sums.std
        return np.square(_GUESSED * self._held / max(std, 1e-9))

    @property
    def _variances(self) -> Floats:
        return np.asarray(np.square(_GUESSED) / (1.0 + self._precision))

    def _moved(self, means: Floats, *, noise: float | None = None) -> Floats:
        """Mean positions in bins after what the measured sum over the whole column says of them, by least squares.

        With noise, in its standard deviations, the means are errors of a truth of nothing, and so is that sum.
        """
        if self.whole is None:
            return means
        (low, high), held, variances = ends_of(self.column), self._held, self._variances
        span, reach = float(high[-1] - low[0]), (high - low) * held  # what a mean position of 1 adds to the sum
        measured = span * float(self.whole.values[0]) + (low[0] + high[-1]) / 2.0 * held.sum()
        residual = measured - float(((low + high) / 2.0) @ held + reach @ means)
        if noise is not None:
            residual = span * self.whole.std * noise - float(reach @ means)
        gain = variances * reach / (float(variances @ reach**2) + (span * self.whole.std) ** 2)
        return np.asarray(means + gain * residual)
