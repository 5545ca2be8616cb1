"""Draws from one softmax, exactly as charged: many independent ones, or one among very many candidates.

The exponential mechanism's law has irrational weights. Here each weight is a floating-point number, computed from its
score alone (and the largest score, a common factor), and the draws follow the law of these numbers *exactly*, by
integer arithmetic on random bits. What separates this law from the exponential mechanism's is therefore only the error
of the weights, which is bounded once and charged for:

- ``(score - largest) / scale`` is rounded at most twice, relatively by 2^-53 each, and is cut at -700: an absolute
  error below ``700 * 2^-51 < 2^-41``. Cutting brings no two weights further apart.
- ``exp`` errs by far less than 2^-49, relatively.

So every log-weight is within 2^-40 of the ideal one, and every log-probability within 2^-39; the ratio between two
tables is off by at most 2^-38 (`SLACK`).

**How a draw is made.** Group the weights by their binary exponent e: each is between 2^(e-1) and 2^e. Draw a group
with probability proportional to (members) * 2^e, in integers of any length; a member of it uniformly; accept it with
probability weight / 2^e, at least one half, by comparing 53 random bits with its mantissa. Accepted members follow the
weights exactly. The time of a draw depends on the weights (see the sharp edges), its outcome on nothing else.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints

RandomBytes = Callable[[int], bytes]

SLACK = 2.0**-38
"""Privacy loss that the rounding of weights may add to one draw, in nats."""

_LOWEST = -700.0
_MANTISSA = 53
_RANGE = 1100
"""Exponents of floating-point numbers lie between -1073 and 1024."""
_FEW = 4
"""So many draws are made without sorting."""
_PIECE = 1 << 15


def pieces(length: int) -> Iterator[slice]:
    """Slices that cover a long array one after the other; what is computed for one stays in the processor's cache.

    Example:
        >>> list(pieces(40_000))
        [slice(0, 32768, None), slice(32768, 65536, None)]
    """
    return (slice(start, start + _PIECE) for start in range(0, length, _PIECE))


def softmax_draws(scores: Floats, scale: float, size: int, random_bytes: RandomBytes) -> Ints:
    """Independent indices, each with probability proportional to ``exp(score / scale)`` up to `SLACK`.

    Args:
        scores: Shape ``(k,)``, finite.
        scale: Positive.
        size: Number of draws.
        random_bytes: Source of random bytes, given their number.

    Returns:
        Indices below k, shape ``(size,)``.

    Example:
        >>> import os
        >>> softmax_draws(np.array([0.0, 5000.0]), 1.0, 3, os.urandom).tolist()
        [1, 1, 1]
    """
    weights, largest = np.empty(len(scores)), scores.max()
    for piece in pieces(len(scores)):
        logs = scores[piece] - largest
        logs /= scale
        np.maximum(logs, _LOWEST, out=logs)
        np.exp(logs, out=weights[piece])
    return _weighted_draws(weights, size, random_bytes)


def _weighted_draws(weights: Floats, size: int, random_bytes: RandomBytes) -> Ints:
    """Indices with probability exactly proportional to positive weights."""
    exponents, counts = _exponents(weights)
    starts, groups = np.cumsum(counts) - counts, np.flatnonzero(counts)
    order = np.argsort(exponents, kind="stable") if size > _FEW else None  # by radix
    least = int(groups[0])
    masses = [count << group - least for count, group in zip(counts[groups].tolist(), groups.tolist(), strict=True)]
    ends = list(accumulate(masses))
    draws = np.empty(0, dtype=np.int64)
    while len(draws) < size:
        wanted = size - len(draws)
        which = groups[[bisect_right(ends, draw) for draw in _below(ends[-1], wanted, random_bytes)]]
        ranks = uniform_below(counts[which], random_bytes)
        members = _scanned(exponents, which, ranks) if order is None else order[starts[which] + ranks]
        thresholds = (np.frexp(weights[members])[0] * 2.0**_MANTISSA).astype(np.int64)
        accepted = _bits(wanted, _MANTISSA, random_bytes) < thresholds
        draws = np.concatenate([draws, members[accepted]])
    return draws


def _exponents(weights: Floats) -> tuple[NDArray[np.int16], NDArray[np.intp]]:
    """Binary exponents from 0 on, and how many weights have each."""
    exponents, counts = np.empty(len(weights), dtype=np.int16), np.zeros(2 * _RANGE, dtype=np.intp)
    for piece in pieces(len(weights)):
        shifted = np.frexp(weights[piece])[1] + _RANGE
        counts += np.bincount(shifted, minlength=len(counts))
        exponents[piece] = shifted
    return exponents, counts


def _scanned(exponents: NDArray[np.int16], groups: Ints, ranks: Ints) -> Ints:
    """The members of groups that stand at some ranks in them, in order of index, without sorting all members."""
    places = [np.flatnonzero(exponents == group)[rank] for group, rank in zip(groups, ranks, strict=True)]
    return np.array(places, dtype=np.int64)


def _below(limit: int, size: int, random_bytes: RandomBytes) -> list[int]:
    """Uniform integers below a limit of any length."""
    bits = limit.bit_length()
    width = (bits + 7) // 8
    drawn: list[int] = []
    while len(drawn) < size:
        raw = random_bytes(width * (size - len(drawn)))
        values = (int.from_bytes(raw[at : at + width], "little") for at in range(0, len(raw), width))
        drawn += [value for each in values if (value := each >> (8 * width - bits)) < limit]
    return drawn


def uniform_below(limits: NDArray[np.intp], random_bytes: RandomBytes) -> Ints:
    """One uniform integer below each limit (at most 2^31), by rejection on 62 bits.

    Args:
        limits: Positive, shape ``(k,)``.
        random_bytes: Source of random bytes, given their number.

    Example:
        >>> import os
        >>> uniform_below(np.array([1, 1]), os.urandom).tolist()
        [0, 0]
    """
    drawn = np.full(len(limits), -1, dtype=np.int64)
    while (open_ := np.flatnonzero(drawn < 0)).size:
        bits, limit = _bits(open_.size, 62, random_bytes), limits[open_].astype(np.int64)
        fair = bits < (2**62 // limit) * limit
        drawn[open_[fair]] = bits[fair] % limit[fair]
    return drawn


def _bits(size: int, bits: int, random_bytes: RandomBytes) -> Ints:
    """Uniform integers of so many bits, at most 63."""
    raw = np.frombuffer(random_bytes(8 * size), dtype=np.uint64)
    return (raw >> np.uint64(64 - bits)).astype(np.int64)
