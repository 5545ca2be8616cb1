"""The noisy error of a workload: an honest figure for the report, paid for like any other look at the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import BudgetError
from hedgerow.privacy.mechanisms import AdditiveNoise, GaussianNoise, LaplaceNoise
from hedgerow.queries import NoiseKind


@dataclass(frozen=True)
class WorkloadError:
    """Noisy mean and maximum over the candidates of (L1 error / L1 sensitivity), of one fixed set of answers.

    The unit is *what one record can change*: for a single counting query its absolute error (halved for a parity
    under "replace"), for a marginal the sum of the absolute errors of its cells (halved under "replace").

    Attributes:
        mean: Noisy mean; may be negative.
        maximum: Noisy maximum; may be negative.
        mean_noise: Noise of the mean.
        maximum_noise: Noise of the maximum.
        n_candidates: Number of candidates that the mean and the maximum are over.
        unit: Counts in one unit if that is the same for all candidates, else None.

    Example:
        >>> error = WorkloadError(40.0, 90.0, LaplaceNoise(2.0), LaplaceNoise(2.0), n_candidates=28, unit=2.0)
        >>> error.mean_interval(0.95), error.maximum_bound(0.95)
        ((34.0, 46.0), 95.0)
    """

    mean: float
    maximum: float
    mean_noise: LaplaceNoise | GaussianNoise
    maximum_noise: LaplaceNoise | GaussianNoise
    n_candidates: int
    unit: float | None

    def mean_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Bounds on the mean error that hold with the confidence; noise below 0 never makes the upper one 0."""
        reach = self.mean_noise.quantile(confidence)
        return max(0.0, self.mean - reach), max(0.0, self.mean) + reach

    def maximum_bound(self, confidence: float = 0.95) -> float:
        """A number that the largest error does not pass, with the confidence; noise below 0 never makes it 0."""
        return max(0.0, self.maximum) + self.maximum_noise.quantile(max(1e-9, 2.0 * confidence - 1.0))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mean": self.mean,
            "maximum": self.maximum,
            "mean_noise": _noise_to_dict(self.mean_noise),
            "maximum_noise": _noise_to_dict(self.maximum_noise),
            "n_candidates": self.n_candidates,
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> WorkloadError:
        """Read what `to_dict` wrote.

        Raises:
            BudgetError: A field is missing or unknown.
        """
        try:
            fields = dict(mapping)
            for name in ("mean_noise", "maximum_noise"):
                fields[name] = _noise_from_dict(fields[name])
            return cls(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise BudgetError(f"this is not a workload error: {error}") from error


@dataclass(frozen=True)
class NoisyError:
    """Noisy L1 error of one candidate, divided by its L1 sensitivity.

    Attributes:
        value: In units of what one record can change, as for `WorkloadError`; may be negative.
        noise: Its noise.
        unit: Counts in one unit.

    Example:
        >>> error = NoisyError(40.0, LaplaceNoise(2.0), 1.0)
        >>> NoisyError.from_dict(error.to_dict()) == error
        True
    """

    value: float
    noise: LaplaceNoise | GaussianNoise
    unit: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, "noise": _noise_to_dict(self.noise), "unit": self.unit}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> NoisyError:
        """Read what `to_dict` wrote.

        Raises:
            BudgetError: A field is missing or unknown.
        """
        try:
            fields = dict(mapping)
            return cls(**{**fields, "noise": _noise_from_dict(fields["noise"])})
        except (KeyError, TypeError, ValueError) as error:
            raise BudgetError(f"this is not a noisy error: {error}") from error


def _noise_to_dict(noise: AdditiveNoise) -> dict[str, Any]:
    return {"kind": noise.kind.value, "scale": noise.scale, "sensitivity": noise.sensitivity, "step": noise.step}


def _noise_from_dict(mapping: Mapping[str, Any]) -> LaplaceNoise | GaussianNoise:
    if NoiseKind(mapping["kind"]) is NoiseKind.LAPLACE:
        return LaplaceNoise(mapping["scale"], mapping["sensitivity"], mapping["step"])
    return GaussianNoise(mapping["scale"], mapping["sensitivity"], mapping["step"])
