"""Budgets for a secret sample of the records: amplification by subsampling (theory.md section 6).

Draw m of n records without replacement, keep secret which, and run a mechanism that is (epsilon, delta)-differentially
private between samples that differ in one record. The whole is (epsilon', delta')-differentially private between tables
that do, with

    epsilon' = ln(1 + (m / n)(e^epsilon - 1)),    delta' = (m / n) delta

(Balle, Barthe and Gaboardi 2018): the changed record is drawn with probability m / n; where it is not, the two laws
agree. n must be public, so this is for "replace" only, and a zCDP budget is turned into (epsilon, delta) first.

It is an ablation, for comparisons: on the sample one record counts n / m times as much, and epsilon' is never smaller
than what the same noise costs on the whole table in pure differential privacy, for ln(1 + c (e^x - 1)) >= c x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.data import CountSource, RecordSource
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.composition import Composition
from hedgerow.privacy.budgets.conversion import in_words
from hedgerow.privacy.budgets.limits import Limit
from hedgerow.privacy.budgets.regime import Regime
from hedgerow.privacy.randomness import RandomBytes, uniform_below
from hedgerow.quantities import at_most
from hedgerow.queries import Neighbours

_ABOVE = 1.0 + 2.0**-48


@dataclass(frozen=True)
class Subsampled:
    """A budget that is spent on a secret sample of m of n records, drawn once without replacement.

    Attributes:
        inner: The budget for the sample; its neighbours must be "replace".
        sampled: The size m of the sample.
        population: The public number n of records; the curator checks it.
        delta: The delta at which an inner budget in zCDP or GDP is turned into (epsilon, delta).

    Example:
        >>> from hedgerow import ApproxDP
        >>> budget = Subsampled(ApproxDP(1.0, 1e-6, "replace"), sampled=100, population=1000)
        >>> [float(f"{amount:.6g}") for amount in budget.approximate()]
        [0.158565, 1e-07]
    """

    kind: ClassVar[str] = "subsampled"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE
    inner: Limit
    sampled: int
    population: int
    delta: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: The inner budget is for "add-remove" or has no delta, or there are not 1 to n records to draw.
        """
        if self.inner.neighbours != Neighbours.REPLACE:
            raise ConfigError(
                f"a sample of m of n records needs a public n, which {self.inner.neighbours.value!r} does not have",
                remedy="give the inner budget neighbours='replace'",
            )
        if not all(isinstance(number, int) for number in (self.sampled, self.population)) or not (
            1 <= self.sampled <= self.population
        ):
            raise ConfigError(
                f"{self.sampled!r} of {self.population!r} records cannot be drawn",
                remedy="give 1 <= sampled <= population",
            )
        if isinstance(self.inner, Subsampled):
            raise ConfigError("a sample of a sample is not supported", remedy="give one sample of the smaller size")
        if self.inner.fixed is not None:
            raise ConfigError("a sample has no fixed composition", remedy="leave the composition out")
        self.approximate()

    @property
    def regime(self) -> Regime:
        """Regime of the charges, that of the inner budget."""
        return self.inner.regime

    @property
    def unit(self) -> str:
        """Unit of the charges, as of the inner budget."""
        return self.inner.unit

    @property
    def for_thresholds(self) -> float:
        """The part of the inner delta that counts above thresholds may spend."""
        return self.inner.for_thresholds

    @property
    def fixed(self) -> Composition | None:
        """None: what is amplified is the promise of a budget whose steps may be any."""
        return None

    @property
    def limit(self) -> float:
        """Limit for the sum of the charges on the sample."""
        return self.inner.limit

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee for the whole table: epsilon' and delta'.

        Args:
            delta: The delta of the inner budget, in place of the one that was given.
        """
        epsilon, inner_delta = self.inner.approximate(self.delta if delta is None else delta)
        share = Fraction(self.sampled, self.population)
        return amplified(epsilon, float(share)), float(share * Fraction(inner_delta))

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        epsilon, failure = self.approximate()
        delta = at_most(failure, 3)
        apart = f", apart from a probability of at most {delta}" if failure else ""
        return (
            "When one person's record is replaced by any other (the number of records is public), the probability of "
            f"any outcome of this release changes by a factor of at most {in_words(epsilon)}{apart} (differential "
            f"privacy with epsilon = {at_most(epsilon)} and delta = {delta}, amplified by a secret sample of "
            f"{self.sampled:,} of {self.population:,} records)."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `budget_from_dict` reads it."""
        return {
            "kind": self.kind,
            "inner": self.inner.to_dict(),
            "sampled": self.sampled,
            "population": self.population,
            "delta": self.delta,
        }


def amplified(epsilon: float, share: float) -> float:
    """``ln(1 + share (e^epsilon - 1))``, rounded up.

    Example:
        >>> round(amplified(1.0, 0.5), 6), amplified(1.0, 1.0)
        (0.620115, 1.0)
    """
    if share == 1.0:
        return epsilon
    if epsilon < 30.0:
        return math.log1p(share * math.expm1(epsilon)) * _ABOVE
    return (epsilon + math.log(share + (1.0 - share) * math.exp(-epsilon))) * _ABOVE


def secret_sample(source: CountSource, budget: Subsampled, random_bytes: RandomBytes) -> CountSource:
    """The one sample that a budget is spent on. Private: for the curator alone.

    Args:
        source: The private records.
        budget: The budget; it says how many records there are, and how many are drawn.
        random_bytes: Source of random bytes, given their number.

    Raises:
        ConfigError: The source cannot be sampled, or holds another number of records.
    """
    if not isinstance(source, RecordSource):
        raise ConfigError(f"a {type(source).__name__} cannot be sampled", remedy="read it with hedgerow.read_table")
    if source.total() != budget.population:
        raise ConfigError(
            f"the budget is for a sample of {budget.population:,} records; the table has another number of them",
            remedy="give the number of records, which is public under 'replace', as the population",
        )
    return source.part(secret_positions(budget.population, budget.sampled, random_bytes))


def secret_positions(population: int, sampled: int, random_bytes: RandomBytes) -> Ints:
    """A uniform set of m of the numbers below n, in increasing order.

    Uniform numbers are drawn until m of them differ: every set of m is equally likely. The larger half is drawn as
    what is left out.

    Args:
        population: The number n of records, at most 2^31.
        sampled: The size m of the set.
        random_bytes: Source of random bytes, given their number.

    Example:
        >>> import os
        >>> secret_positions(3, 3, os.urandom).tolist(), len(set(secret_positions(10, 4, os.urandom).tolist()))
        ([0, 1, 2], 4)
    """
    if 2 * sampled > population:
        rest = secret_positions(population, population - sampled, random_bytes)
        return np.delete(np.arange(population, dtype=np.int64), rest)
    positions: dict[int, None] = {}
    while len(positions) < sampled:
        drawn = uniform_below(np.full(sampled, population), random_bytes)
        for position in drawn.tolist():
            positions.setdefault(position)
            if len(positions) == sampled:
                break
    return np.array(sorted(positions), dtype=np.int64)
