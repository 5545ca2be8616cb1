"""Transcript replay: the exact log-likelihood of what an algorithm saw, under any table.

An algorithm sees the private table through the noise source alone: the curator hands it exact values and releases
what comes back. So record the outputs of one run on D, run the algorithm again on D and on a neighbour D' with a
source that returns the recorded outputs whatever values it is handed, and add up the log-probability of each output
under the values handed in. Everything between two outputs is a function of earlier outputs, so both runs ask the same
questions in the same order with the same scales; the replay checks that, which catches any other dependence on the
data. The difference of the two log-likelihoods is the exact privacy loss of the transcript: at most epsilon in
absolute value under a pure budget.

    transcript = record(run, source, seed=0)
    loss = log_likelihood(run, source, transcript) - log_likelihood(run, neighbour, transcript)

where ``run(source, noise)`` makes a curator with that noise and lets the algorithm loose on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.privacy.noise import Floats, Integers, NoiseSource, SeededNoise
from tests.privacy.laws import (
    exponential_log_law,
    gaussian_log_pmf,
    laplace_log_pmf,
    permute_and_flip_log_law,
)
from tests.privacy.tables import DenseCounts

Run = Callable[[Any, NoiseSource], object]
"""Takes a count source and a noise source; returns anything."""


@dataclass(frozen=True)
class Output:
    """One thing that left a noise source: which draw, at which scale, and what came out."""

    draw: str
    scale: float
    value: Integers | int


@dataclass
class RecordingNoise:
    """Draws from another source (seeded by default) and writes down every output."""

    inner: NoiseSource = field(default_factory=lambda: SeededNoise(0))
    transcript: list[Output] = field(default_factory=list)

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Integers, scale: float) -> Integers:
        return self._vector("laplace", scale, self.inner.laplace(values, scale))

    def gaussian(self, values: Integers, sigma: float) -> Integers:
        return self._vector("gaussian", sigma, self.inner.gaussian(values, sigma))

    def choose(self, scores: Floats, scale: float) -> int:
        return self._index("choose", scale, self.inner.choose(scores, scale))

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        return self._index("permute_and_flip", scale, self.inner.permute_and_flip(scores, scale))

    def _vector(self, draw: str, scale: float, value: Integers) -> Integers:
        self.transcript.append(Output(draw, scale, value.copy()))
        return value

    def _index(self, draw: str, scale: float, value: int) -> int:
        self.transcript.append(Output(draw, scale, value))
        return value


class ReplayNoise:
    """Returns recorded outputs and adds up their log-probability under the exact values it is handed.

    Attributes:
        log_probability: Sum so far, natural logarithm.
        parts: The summands, one per output.
    """

    def __init__(self, transcript: Sequence[Output]) -> None:
        self._transcript = tuple(transcript)
        self.parts: list[float] = []

    @property
    def secure(self) -> bool:
        return False

    @property
    def log_probability(self) -> float:
        return float(np.sum(self.parts))

    @property
    def finished(self) -> bool:
        """Whether every recorded output was asked for."""
        return len(self.parts) == len(self._transcript)

    def laplace(self, values: Integers, scale: float) -> Integers:
        return self._vector("laplace", values, scale, laplace_log_pmf)

    def gaussian(self, values: Integers, sigma: float) -> Integers:
        return self._vector("gaussian", values, sigma, gaussian_log_pmf)

    def choose(self, scores: Floats, scale: float) -> int:
        return self._index("choose", scores, scale, exponential_log_law)

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        return self._index("permute_and_flip", scores, scale, permute_and_flip_log_law)

    def _next(self, draw: str, scale: float) -> Output:
        assert not self.finished, f"the replayed run asks for {draw} after the recorded one had ended"
        output = self._transcript[len(self.parts)]
        assert (output.draw, output.scale) == (draw, scale), (
            f"recorded {output.draw} at {output.scale}, not {draw} at {scale}"
        )
        return output

    def _vector(
        self, draw: str, values: Integers, scale: float, log_pmf: Callable[[Integers, float], Floats]
    ) -> Integers:
        value = np.asarray(self._next(draw, scale).value)
        assert value.shape == values.shape
        self.parts.append(float(log_pmf(value - values, scale).sum()))
        return value.copy()

    def _index(self, draw: str, scores: Floats, scale: float, log_law: Callable[[Floats, float], Floats]) -> int:
        value = self._next(draw, scale).value
        self.parts.append(float(log_law(scores, scale)[value]))
        return int(value)


class ExplodingNoise:
    """Fails on every draw: for tests of what happens before and after."""

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Integers, scale: float) -> Integers:
        raise RuntimeError("drawn")

    def gaussian(self, values: Integers, sigma: float) -> Integers:
        raise RuntimeError("drawn")

    def choose(self, scores: Floats, scale: float) -> int:
        raise RuntimeError("drawn")

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        raise RuntimeError("drawn")


def record(run: Run, source: DenseCounts, seed: int = 0) -> tuple[Output, ...]:
    """Everything that the noise source gave out in one run."""
    noise = RecordingNoise(SeededNoise(seed))
    run(source, noise)
    return tuple(noise.transcript)


def log_likelihood(run: Run, source: DenseCounts, transcript: Sequence[Output]) -> float:
    """Exact ln Pr(transcript) if the table were ``source``."""
    noise = ReplayNoise(transcript)
    run(source, noise)
    assert noise.finished, "the replayed run ended before the recorded one"
    return noise.log_probability


def privacy_loss(run: Run, source: DenseCounts, neighbour: DenseCounts, transcript: Sequence[Output]) -> float:
    """ln Pr(transcript | source) - ln Pr(transcript | neighbour), exact."""
    return log_likelihood(run, source, transcript) - log_likelihood(run, neighbour, transcript)
