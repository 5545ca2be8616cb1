"""Lengths of the fits of marginals that were held back more than their noise alone asks for.

A fit of length t pulls a marginal from what the rest of the hypothesis says of it towards noisy answers y, in implicit
steps ``p' = p exp(dt (y - p')) / Z`` whose lengths add up to t. Short fits keep noise out, long ones keep bias out, and
which matters more depends on the marginal. Stein's unbiased estimate of the error of p in units of the noise sigma,

    sum((y - p)**2) / sigma**2 + 2 * trace(dp / dy),    up to a constant,

is a function of noisy answers and public numbers (Stein, "Estimation of the Mean of a Multivariate Normal
Distribution", Annals of Statistics 9, 1981). A step multiplies derivatives by ``1 / (1 + dt p')`` and adds
``dt p' / (1 + dt p')``, but for the normalisation, which lowers the trace by less than 1.

The estimate of another fit is better by chance alone: the standard deviation of the difference is twice the distance
of the two fits, in units of sigma. Only what is better by more than that counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.models.core import Model
from hedgerow.models.core.steps import can_be
from hedgerow.models.dense import Histogram
from hedgerow.models.trees import Markov
from hedgerow.queries import Marginal, Measurement

STRETCHES: tuple[float, ...] = tuple(10.0 ** (k / 5.0) for k in range(1, 9))
"""Lengths that are tried, in units of the usual one."""
_DEVIATIONS = 1.0
"""By how many standard deviations of their difference an estimate must be better than that of the usual length."""


def stretches(
    model: Model, measurements: Sequence[Measurement], lengths: Callable[[Sequence[Measurement], float], Floats]
) -> list[float]:
    """Factors of the lengths of the measurements of a fit, each at least 1.

    Args:
        model: The hypothesis after a fit that began anew.
        measurements: The measurements that it was fitted to.
        lengths: The lengths of the steps that a fit takes for measurements of one marginal, times a factor.

    Returns:
        A factor for each measurement; 1 for single queries and for answers without noise.
    """
    found = [1.0] * len(measurements)
    if not isinstance(model, Histogram | Markov):
        return found
    fitted = (model.updates() if isinstance(model, Markov) else model.potentials()).tables
    alike: dict[Clique, list[int]] = {}
    for i, measured in enumerate(measurements):
        if isinstance(measured.target, Marginal) and measured.std > 0.0 and measured.target.scope in fitted:
            alike.setdefault(measured.target.scope, []).append(i)
    for (scope, members), table in zip(alike.items(), model.marginals(list(alike)), strict=True):
        together = [measurements[i] for i in members]
        cells = can_be(together[0].target)
        some = slice(None) if cells is None else cells
        weights = np.array([1.0 / measured.std for measured in together])
        values = weights @ np.stack([measured.values for measured in together]) / weights.sum()
        y, p = values[some] / model.total, table.reshape(-1)[some] / model.total
        sigma = math.sqrt(len(members)) / float(weights.sum()) / model.total
        if p.min() > 0.0:
            logs = np.log(p) - fitted[scope].reshape(-1)[some]
            best = _best(np.exp(logs - logs.max()), y, sigma, partial(lengths, together))
            for i in members:
                found[i] = best
    return found


def _best(mu: Floats, y: Floats, sigma: float, lengths: Callable[[float], Floats]) -> float:
    """The factor of the length that lowers the estimated error most; 1 where none does, or where a cell is lost.

    Longer ones are tried until one does worse.
    """
    usual = StretchedFit.of(mu, y, lengths(1.0))
    best, most = 1.0, 0.0
    for stretch in STRETCHES:
        other = StretchedFit.of(mu, y, lengths(stretch))
        if usual is None or other is None:
            return 1.0
        chance = 2.0 * float(np.linalg.norm(other.p - usual.p)) / sigma
        gain = usual.error(y, sigma) - other.error(y, sigma) - _DEVIATIONS * chance
        if gain <= most:
            break
        best, most = stretch, gain
    return best


@final
@dataclass(frozen=True, eq=False)
class StretchedFit:
    """A marginal after some implicit steps from a start towards noisy answers, alone.

    Attributes:
        p: Probabilities.
        trace: Sum of the derivatives of the probabilities by their answers, up to less than 1.
    """

    p: Floats
    trace: float

    @classmethod
    def of(cls, mu: Floats, y: Floats, lengths: Floats) -> StretchedFit | None:
        """The fit; None where a cell is too small.

        Args:
            mu: The start, in any unit, shape ``(cells,)``.
            y: Noisy answers as fractions, shape ``(cells,)``.
            lengths: Length of each step.
        """
        from hedgerow.models.tree_fit.sweep_kernels import implicit_marginal

        p, slope = mu / mu.sum(), np.zeros(mu.size)
        room, nothing = np.empty((6, p.size)), np.zeros(p.size)
        for dt in lengths.tolist():
            before = p.copy()
            if not implicit_marginal(p, y, dt, nothing, room):
                return None
            slope = (slope * p / before + dt * p) / (1.0 + dt * p)
        return cls(p, float(slope.sum()))

    def error(self, y: Floats, sigma: float) -> float:
        """Stein's estimate of the sum of squared errors in units of the noise, up to a constant."""
        return float(np.sum((y - self.p) ** 2)) / sigma**2 + 2.0 * self.trace
