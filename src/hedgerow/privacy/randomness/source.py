"""Sources of randomness: the secure source, and the seeded one for tests and experiments.

A source receives exact values and returns noisy ones, so that a recorded or replaying source can stand in its place.
All values are integers (lattice units of the mechanism), all scores exact binary fractions: nothing is rounded in
here.
"""

import math
import os
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Protocol

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.privacy.randomness.draws import softmax_draws
from hedgerow.system import Seed, generator, in_slices, usable_cores

_LARGEST = 2.0**62
_VALUES_AT_ONCE = 1 << 15
"""Values that are given to a sampler in one list."""

_VALUES_PER_THREAD = 1 << 13
"""Values whose noise is worth a thread of its own: some 60 milliseconds of work."""

SECURE_SOURCE = "hedgerow.privacy.noise.OpenDPNoise"
"""Name of the only source whose releases are private: `OpenDPNoise`, as files have held it since their first format."""
_SEEDED_SOURCE = "hedgerow.privacy.noise.SeededNoise"


class NoiseSource(Protocol):
    """Draws the noise of every mechanism.

    A source does not say whether a release is private: only `OpenDPNoise` makes it so.

    Example:
        >>> source: NoiseSource = SeededNoise(0)
        >>> source.laplace(np.zeros(3, int), 2.0).shape
        (3,)
    """

    def laplace(self, values: Ints, scale: float) -> Ints:
        """Each value plus independent discrete Laplace noise, Pr(k) proportional to ``exp(-|k| / scale)``.

        Args:
            values: Whole numbers, shape ``(k,)``.
            scale: Scale in lattice units, above 0.
        """
        ...

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        """Each value plus independent discrete Gaussian noise, Pr(k) proportional to ``exp(-k^2 / (2 sigma^2))``."""
        ...

    def choose(self, scores: Floats, scale: float) -> int:
        """An index, with probability proportional to ``exp(score / scale)``."""
        ...

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        """An index by permute-and-flip: the first, in random order, whose coin shows heads.

        The coin of a candidate has probability ``exp((score - largest score) / scale)``.
        """
        ...

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        """``size`` independent indices, each as by `choose`, up to what ``draws.SLACK`` covers."""
        ...

    def random_bytes(self, size: int) -> bytes:
        """So many uniform bytes, for choices outside any mechanism: which records a secret sample holds."""
        ...

    def secret(self, scale: float) -> int:
        """One discrete Laplace number that stays secret: the noise of a threshold."""
        ...

    def exceeds(self, margin: int, scale: float) -> bool:
        """Whether ``margin`` plus fresh discrete Laplace noise is at least 0."""
        ...


def name_of_source(source: NoiseSource) -> str:
    """Name of a source for provenance: a fixed one for the two of this module, else the full name of its class.

    Files hold these names, so they do not follow the classes when those move.

    Example:
        >>> name_of_source(OpenDPNoise()) == SECURE_SOURCE
        True
    """
    kind = type(source)
    known = {OpenDPNoise: SECURE_SOURCE, SeededNoise: _SEEDED_SOURCE}
    return known.get(kind, f"{kind.__module__}.{kind.__qualname__}")


def is_secure(source: NoiseSource) -> bool:
    """Whether noise from a source protects: only that of `OpenDPNoise` does, whatever a source says of itself.

    Example:
        >>> is_secure(OpenDPNoise()), is_secure(SeededNoise(0))
        (True, False)
    """
    return type(source) is OpenDPNoise


@cache
def _opendp() -> Any:
    """The library, imported on first use: the modules that noise is made of, for its prelude loads data frames too."""
    import opendp.domains
    import opendp.measurements
    import opendp.measures
    import opendp.metrics
    import opendp.mod

    opendp.mod.enable_features("contrib")
    return opendp


def _laplace(scale: float) -> Any:
    """OpenDP's sampler of one scale."""
    dp = _opendp()
    domain, metric = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.l1_distance(T="i64")
    return dp.measurements.make_laplace(domain, metric, scale=scale)


def _gaussian(sigma: float) -> Any:
    dp = _opendp()
    domain, metric = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.l2_distance(T="f64")
    return dp.measurements.make_gaussian(domain, metric, scale=sigma)


@lru_cache(maxsize=64)
def _kept(make: Callable[[float], Any], scale: float) -> Any:
    """A sampler that is used again: a sparse vector uses one thousands of times, and making it takes longest."""
    return make(scale)


def _added(make: Callable[[float], Any], values: Ints, scale: float) -> Ints:
    """Values plus noise, which is independent for each: many are divided among the cores.

    Threads have samplers of their own, since OpenDP does not promise that one may be shared.
    """
    threads = min(usable_cores(), len(values) // _VALUES_PER_THREAD)
    if threads <= 1:
        return _drawn(_kept(make, scale), values)
    return np.concatenate(in_slices(lambda start, stop: _drawn(make(scale), values[start:stop]), len(values), threads))


def _drawn(sampler: Any, values: Ints) -> Ints:
    """Values plus noise from one sampler, some at a time: lists of numbers take 400 bytes for each."""
    pieces = range(0, max(1, len(values)), _VALUES_AT_ONCE)
    drawn = [np.asarray(sampler(values[i : i + _VALUES_AT_ONCE].tolist()), dtype=np.int64) for i in pieces]
    return drawn[0] if len(drawn) == 1 else np.concatenate(drawn)


class OpenDPNoise:
    """The secure source: OpenDP's exact samplers on integers and rationals, fed by the operating system's generator.

    Discrete Laplace and Gaussian noise follow Canonne, Kamath and Steinke (2020) in exact rational arithmetic; results
    beyond 64-bit integers saturate, which is a function of the noisy value and so costs nothing. The exponential
    mechanism's law is drawn by rejection with exact Bernoulli(exp(-x)) coins: its running time depends on the scores.

    Example:
        >>> int(OpenDPNoise().laplace(np.array([5]), scale=1e-3)[0])
        5
    """

    __slots__ = ()  # no sampler of an instance can be exchanged

    def laplace(self, values: Ints, scale: float) -> Ints:
        """See `NoiseSource.laplace`; about 6 microseconds a value and core."""
        return _added(_laplace, values, scale)

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        """See `NoiseSource.gaussian`; about 8 microseconds a value and core."""
        return _added(_gaussian, values, sigma)

    def choose(self, scores: Floats, scale: float) -> int:
        """See `NoiseSource.choose`; 2 milliseconds for 5,000 scores."""
        return self._noisy_max(scores, scale, _opendp().measures.zero_concentrated_divergence())

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        """See `NoiseSource.permute_and_flip`."""
        return self._noisy_max(scores, scale, _opendp().measures.max_divergence())

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        """See `NoiseSource.draw`: integer arithmetic on bits of the operating system, for OpenDP draws one by one."""
        return softmax_draws(scores, scale, size, self.random_bytes)

    def random_bytes(self, size: int) -> bytes:
        """See `NoiseSource.random_bytes`: from the operating system."""
        return os.urandom(size)

    def secret(self, scale: float) -> int:
        """See `NoiseSource.secret`."""
        return int(self.laplace(np.zeros(1, dtype=np.int64), scale)[0])

    def exceeds(self, margin: int, scale: float) -> bool:
        """See `NoiseSource.exceeds`."""
        return bool(self.laplace(np.array([margin], dtype=np.int64), scale)[0] >= 0)

    def _noisy_max(self, scores: Floats, scale: float, measure: object) -> int:
        # OpenDP's law is the exponential mechanism's under zero-concentrated divergence, permute-and-flip under max.
        dp = _opendp()
        domain = dp.domains.vector_domain(dp.domains.atom_domain(T="f64", nan=False))
        metric = dp.metrics.linf_distance(T="f64")
        return int(dp.measurements.make_noisy_max(domain, metric, measure, scale=scale)(scores.tolist()))


class SeededNoise:
    """Repeatable noise of the same laws, for tests and experiments. It protects nothing and says so.

    Args:
        seed: A number, a numpy generator, or None for a fresh one.

    Example:
        >>> one, two = SeededNoise(7), SeededNoise(7)
        >>> bool((one.laplace(np.zeros(3, int), 2.0) == two.laplace(np.zeros(3, int), 2.0)).all())
        True
    """

    def __init__(self, seed: Seed = None) -> None:
        """Make the generator."""
        self._generator = generator(seed)

    def laplace(self, values: Ints, scale: float) -> Ints:
        """See `NoiseSource.laplace`: the difference of two geometric numbers."""
        success = -math.expm1(-1.0 / scale)
        noise, second = self._generator.geometric(success, size=(2, len(values)))
        noise -= second
        return _saturated_sum(values, noise)

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        """See `NoiseSource.gaussian`: rejection from Laplace noise (Canonne, Kamath, Steinke 2020, algorithm 3)."""
        width = math.floor(sigma) + 1.0
        noise = np.zeros(len(values), dtype=np.int64)
        open_ = np.arange(len(values))
        while len(open_):
            proposal = self.laplace(np.zeros(len(open_), dtype=np.int64), width)
            accept = np.exp(-0.5 * ((np.abs(proposal) - sigma * sigma / width) / sigma) ** 2)
            accepted = self._generator.random(len(open_)) < accept
            noise[open_[accepted]] = proposal[accepted]
            open_ = open_[~accepted]
        return _saturated_sum(values, noise)

    def choose(self, scores: Floats, scale: float) -> int:
        """See `NoiseSource.choose`: the largest score with Gumbel noise."""
        return int(np.argmax(scores / scale + self._generator.gumbel(size=len(scores))))

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        """See `NoiseSource.permute_and_flip`."""
        order = self._generator.permutation(len(scores))
        heads = self._generator.random(len(scores)) < np.exp((scores - scores.max()) / scale)
        return int(order[np.argmax(heads[order])])

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        """See `NoiseSource.draw`: the same arithmetic, on the generator's bits."""
        return softmax_draws(scores, scale, size, self.random_bytes)

    def random_bytes(self, size: int) -> bytes:
        """See `NoiseSource.random_bytes`: the generator's."""
        return self._generator.bytes(size)

    def secret(self, scale: float) -> int:
        """See `NoiseSource.secret`."""
        return int(self.laplace(np.zeros(1, dtype=np.int64), scale)[0])

    def exceeds(self, margin: int, scale: float) -> bool:
        """See `NoiseSource.exceeds`."""
        return bool(self.laplace(np.array([margin], dtype=np.int64), scale)[0] >= 0)


def _saturated_sum(values: Ints, noise: Ints) -> Ints:
    """The sum, clipped to what 64-bit integers hold; some at a time."""
    found = np.empty_like(values)
    for start in range(0, len(values), _VALUES_AT_ONCE):
        some, drawn = values[start : start + _VALUES_AT_ONCE], noise[start : start + _VALUES_AT_ONCE]
        rough = some.astype(np.float64) + drawn.astype(np.float64)
        with np.errstate(over="ignore"):
            clipped = np.clip(rough, -_LARGEST, _LARGEST).astype(np.int64)
            found[start : start + _VALUES_AT_ONCE] = np.where(np.abs(rough) < _LARGEST, some + drawn, clipped)
    return found
