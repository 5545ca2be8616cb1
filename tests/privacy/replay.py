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

**Sparse vectors.** What leaves is whether tests passed; the noise of a threshold stays secret and is not in a
transcript. In a replay `ReplayNoise.secret` returns a *tag* instead of noise: its own number times 2^42. The margin
that comes back says by its multiple of 2^42 which secrets were subtracted from it, and by the rest what the margin
was without them. So each test finds its own watch, however watches are interleaved, saved and resumed; and a test
whose threshold was *not* disturbed is seen as such. The probability of all tests of one watch is an integral over its
noise (`watch_law`); those of several watches, and of everything else in the transcript, are multiplied. What a run
returns must be the same when it is recorded and when it is replayed on the same table: a secret that leaked into it
would be another number in the replay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.privacy import NoiseSource, SeededNoise
from tests.privacy.mechanisms.watch_law import TestedWatch, exceeds_log_law
from tests.privacy.randomness.laws import (
    exponential_log_law,
    gaussian_log_pmf,
    laplace_log_pmf,
    permute_and_flip_log_law,
)
from tests.privacy.tables import DenseCounts

TAG = 2**42
"""Distance between the tags of secrets, in lattice units: margins are below half of it (2^31 counts)."""

Run = Callable[[Any, NoiseSource], object]
"""Takes a count source and a noise source; returns anything."""


@dataclass(frozen=True)
class Output:
    """One thing that left a noise source: which draw, at which scale, and what came out (None: a secret)."""

    draw: str
    scale: float
    value: Ints | int | None


@dataclass
class RecordingNoise:
    """Draws from another source (seeded by default) and writes down every output."""

    inner: NoiseSource = field(default_factory=lambda: SeededNoise(0))
    transcript: list[Output] = field(default_factory=list)

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Ints, scale: float) -> Ints:
        return self._vector("laplace", scale, self.inner.laplace(values, scale))

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        return self._vector("gaussian", sigma, self.inner.gaussian(values, sigma))

    def choose(self, scores: Floats, scale: float) -> int:
        return self._index("choose", scale, self.inner.choose(scores, scale))

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        return self._index("permute_and_flip", scale, self.inner.permute_and_flip(scores, scale))

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        return self._vector("draw", scale, self.inner.draw(scores, scale, size))

    def random_bytes(self, size: int) -> bytes:
        return self.inner.random_bytes(size)

    def secret(self, scale: float) -> int:
        self.transcript.append(Output("secret", scale, None))
        return self.inner.secret(scale)

    def exceeds(self, margin: int, scale: float) -> bool:
        return bool(self._index("exceeds", scale, self.inner.exceeds(margin, scale)))

    def _vector(self, draw: str, scale: float, value: Ints) -> Ints:
        self.transcript.append(Output(draw, scale, value.copy()))
        return value

    def _index(self, draw: str, scale: float, value: int) -> int:
        self.transcript.append(Output(draw, scale, value))
        return value


class ReplayNoise:
    """Returns recorded outputs and adds up their log-probability under the exact values it is handed.

    Attributes:
        log_probability: Sum so far, natural logarithm.
        watches: Tests of each secret so far.
    """

    def __init__(self, transcript: Sequence[Output]) -> None:
        self._transcript = tuple(transcript)
        self._parts: list[float] = []
        self._given = 0
        self.watches: list[TestedWatch] = []

    @property
    def secure(self) -> bool:
        return False

    @property
    def log_probability(self) -> float:
        return math.fsum([*self._parts, *(watch.log_likelihood() for watch in self.watches)])

    @property
    def finished(self) -> bool:
        """Whether every recorded output was asked for."""
        return self._given == len(self._transcript)

    def laplace(self, values: Ints, scale: float) -> Ints:
        return self._vector("laplace", values, scale, laplace_log_pmf)

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        return self._vector("gaussian", values, sigma, gaussian_log_pmf)

    def choose(self, scores: Floats, scale: float) -> int:
        return self._index("choose", scores, scale, exponential_log_law)

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        return self._index("permute_and_flip", scores, scale, permute_and_flip_log_law)

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        value = np.asarray(self._next("draw", scale))
        assert value.shape == (size,)
        self._parts.append(float(exponential_log_law(scores, scale)[value].sum()))
        return value.copy()

    def random_bytes(self, size: int) -> bytes:
        raise AssertionError("which records a secret sample holds is to be averaged over, not to be replayed")

    def secret(self, scale: float) -> int:
        """The tag of a new watch: its number, from 1 on, times 2^42."""
        self._next("secret", scale)
        self.watches.append(TestedWatch(scale))
        return len(self.watches) * TAG

    def exceeds(self, margin: int, scale: float) -> bool:
        answer = bool(self._next("exceeds", scale))
        self._tested(margin, scale, answer)
        return answer

    def _tested(self, margin: int, scale: float, answer: bool) -> None:
        """Count the answer of a test for the watch whose secret is in the margin."""
        number = (TAG // 2 - margin) // TAG
        assert 0 <= number <= len(self.watches), f"the margin {margin} belongs to no threshold"
        if number:
            self.watches[number - 1].add(margin + number * TAG, scale, answer)
        else:
            self._parts.append(float(exceeds_log_law(margin, scale, answer)))

    def _next(self, draw: str, scale: float) -> Ints | int | None:
        assert not self.finished, f"the replayed run asks for {draw} after the recorded one had ended"
        output = self._transcript[self._given]
        assert (output.draw, output.scale) == (draw, scale), (
            f"recorded {output.draw} at {output.scale}, not {draw} at {scale}"
        )
        self._given += 1
        return output.value

    def _vector(self, draw: str, values: Ints, scale: float, log_pmf: Callable[[Ints, float], Floats]) -> Ints:
        value = np.asarray(self._next(draw, scale))
        assert value.shape == values.shape
        self._parts.append(float(log_pmf(value - values, scale).sum()))
        return value.copy()

    def _index(self, draw: str, scores: Floats, scale: float, log_law: Callable[[Floats, float], Floats]) -> int:
        value = int(np.asarray(self._next(draw, scale)))
        self._parts.append(float(log_law(scores, scale)[value]))
        return value


@dataclass
class ScriptedNoise:
    """Answers tests as a script says, draws no secrets, and everything else from another source.

    Attributes:
        answers: Of the tests to come, first one first.
        inner: Where the rest comes from.
    """

    answers: list[bool]
    inner: NoiseSource

    @property
    def secure(self) -> bool:
        return False

    def secret(self, scale: float) -> int:
        return 0

    def exceeds(self, margin: int, scale: float) -> bool:
        return self.answers.pop(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class ExplodingNoise:
    """Fails on every draw: for tests of what happens before and after."""

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Ints, scale: float) -> Ints:
        raise RuntimeError("drawn")

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        raise RuntimeError("drawn")

    def choose(self, scores: Floats, scale: float) -> int:
        raise RuntimeError("drawn")

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        raise RuntimeError("drawn")

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        raise RuntimeError("drawn")

    def random_bytes(self, size: int) -> bytes:
        raise RuntimeError("drawn")

    def secret(self, scale: float) -> int:
        raise RuntimeError("drawn")

    def exceeds(self, margin: int, scale: float) -> bool:
        raise RuntimeError("drawn")


def record(run: Run, source: DenseCounts, seed: int = 0) -> tuple[Output, ...]:
    """Everything that the noise source gave out in one run."""
    noise = RecordingNoise(SeededNoise(seed))
    run(source, noise)
    return tuple(noise.transcript)


def record_answers(run: Run, source: DenseCounts, answers: Iterable[bool], seed: int = 0) -> tuple[Output, ...]:
    """A transcript in which the tests of sparse vectors were answered so, however unlikely that is."""
    noise = RecordingNoise(ScriptedNoise(list(answers), SeededNoise(seed)))
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


def worst_loss(run: Run, source: DenseCounts, neighbours: Iterable[DenseCounts], transcript: Sequence[Output]) -> float:
    """The largest absolute `privacy_loss` over some neighbours; the run on the table itself is replayed once."""
    here = log_likelihood(run, source, transcript)
    return max((abs(here - log_likelihood(run, neighbour, transcript)) for neighbour in neighbours), default=0.0)
