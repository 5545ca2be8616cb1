"""Privacy budgets: how much may be spent, in which currency, and between which tables.

Three regimes keep the books. Under ``PURE`` charges are epsilons and add up to the epsilon of pure differential
privacy. Under ``ZCDP`` charges are rhos and add up to the rho of zero-concentrated differential privacy. Under ``GDP``
they are ``mu^2 / 2`` and add up to that of Gaussian differential privacy. An (epsilon, delta) budget is turned into a
rho or a mu by the tight conversion of ``conversion.py`` or ``gaussian.py`` and run there, or run under its epsilon
alone, which promises more. All three sums remain valid when each charge is chosen after looking at earlier outputs
(theory.md sections 0 and 12).
"""

import math
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.composition import Composition
from hedgerow.privacy.budgets.conversion import epsilon_of, in_words, rho_of
from hedgerow.privacy.budgets.gaussian import epsilon_of_mu, half_square, mu_of, mu_of_half_square
from hedgerow.privacy.budgets.regime import Regime
from hedgerow.quantities import at_most
from hedgerow.queries import Neighbours, Relation, Weight

_OF_RECORDS = {
    Relation.ADD_REMOVE: "one person's record is added or left out",
    Relation.REPLACE: "one person's record is replaced by any other (the number of records is public)",
    Relation.REPLACE_FILTERED: "one person's record in the whole table is replaced by any other, before the filter "
    "chooses rows (the number of records in the whole table is public, how many pass the filter is not)",
}
_OF_PERSONS = {
    Relation.ADD_REMOVE: "all records of one person are added or left out",
    Relation.REPLACE: "all records of one person are replaced by any others (the number of persons is public)",
    Relation.REPLACE_FILTERED: "all records of one person in the whole table are replaced by any others, before the "
    "filter chooses rows (the number of persons in the whole table is public, how many records pass the filter is not)",
}


def _change(neighbours: Neighbours) -> str:
    """The change of a table that a guarantee is about, as a clause."""
    persons = neighbours.persons
    if persons is None:
        return _OF_RECORDS[neighbours.relation]
    weighted = "" if persons.weight is None else _weighted(persons.weight)
    if persons.column is None:
        return f"{_OF_RECORDS[neighbours.relation]}, where a record{weighted}"
    counted = "" if persons.at_most is None else f", of whose records at most {persons.at_most:,} count"
    each = weighted and f", and each{weighted}"
    return (
        f"{_OF_PERSONS[neighbours.relation]}, where a person is a value of the column {persons.column!r}{counted}{each}"
    )


def _weighted(weight: Weight) -> str:
    """The weight of a record, in words."""
    rounded = ", rounded to 1/1,024" * weight.fractional
    return (
        f" counts as often as its weight says (the column {weight.column!r}{rounded}), at most {weight.largest:,} times"
    )


def _relation(value: Neighbours | str) -> Neighbours:
    try:
        return Neighbours.of(value)
    except (TypeError, ValueError):
        known = ", ".join(repr(each.value) for each in Relation)
        raise ConfigError(f"there is no neighbouring relation {value!r}", remedy=f"give one of {known}") from None


class _OfTables:
    """A budget between neighbouring tables, given by positive numbers; `Subsampled` is built on one of these."""

    kind: ClassVar[str]
    numbers: ClassVar[tuple[str, ...]]
    """Names of the fields that are positive numbers."""
    regime: Regime
    """Regime of the charges."""
    neighbours: Neighbours

    @property
    def for_thresholds(self) -> float:
        """The part of a delta that counts above thresholds may spend."""
        return 0.0

    @property
    def fixed(self) -> Composition | None:
        """The only steps that the budget pays for, where they were fixed beforehand."""
        return None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: A number is not positive and finite, or the relation is unknown.
        """
        for name in self.numbers:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
                message = f"{name} must be a positive finite number, not {value!r}"
                raise ConfigError(message, remedy="give a number above 0")
        object.__setattr__(self, "neighbours", _relation(self.neighbours))

    @property
    def unit(self) -> str:
        """Unit of the charges: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``."""
        return self.regime.unit

    @property
    def limit(self) -> float:
        """Limit for the sum of the charges."""
        return float(getattr(self, self.numbers[0]))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `budget_from_dict` reads it."""
        numbers = {name: getattr(self, name) for name in self.numbers}
        return {"kind": self.kind, **numbers, "neighbours": self.neighbours.value}


@dataclass(frozen=True)
class PureDP(_OfTables):
    """Pure epsilon-differential privacy.

    Attributes:
        epsilon: Largest absolute log-ratio of the probabilities of any output on neighbouring tables.
        neighbours: Neighbouring relation: which tables the guarantee makes indistinguishable.

    Example:
        >>> PureDP(1.0).limit, PureDP(1.0).unit
        (1.0, 'epsilon')
    """

    kind, numbers = "pure", ("epsilon",)
    regime = Regime.PURE
    epsilon: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        return (
            f"When {_change(self.neighbours)}, the probability of any outcome of this release changes by a factor "
            f"of at most {in_words(self.epsilon)} (pure differential privacy with epsilon = {at_most(self.epsilon)})."
        )

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta): delta is 0."""
        return float(self.epsilon), 0.0


@dataclass(frozen=True)
class ZCDP(_OfTables):
    """Zero-concentrated differential privacy (Bun and Steinke 2016).

    Attributes:
        rho: The Renyi divergence of order alpha between the outputs on neighbouring tables is at most
            ``alpha * rho`` for every alpha above 1.
        neighbours: Neighbouring relation: which tables the guarantee makes indistinguishable.

    Example:
        >>> ZCDP(0.1, "replace").regime
        <Regime.ZCDP: 'zcdp'>
    """

    kind, numbers = "zcdp", ("rho",)
    regime = Regime.ZCDP
    rho: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        rho = at_most(self.rho)
        return (
            f"When {_change(self.neighbours)}, the Renyi divergence of every order alpha > 1 between the outcomes of "
            f"this release is at most {rho} alpha (zero-concentrated differential privacy with rho = {rho})."
        )

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta), by the tight conversion.

        Raises:
            ConfigError: No delta is given, or it is not between 0 and 1.
        """
        if delta is None:
            raise ConfigError("a rho means another epsilon at each delta", remedy="give the delta")
        return epsilon_of(float(self.rho), delta), delta


@dataclass(frozen=True)
class GDP(_OfTables):
    """Gaussian differential privacy (Dong, Roth and Su 2022).

    It says more than zCDP with ``rho = mu^2 / 2``, and serves what adds Gaussian noise best: that costs the same in
    both, and the epsilon at a delta is smaller. A selection costs 1.57 times as much as under zCDP.

    Attributes:
        mu: Telling the outputs on neighbouring tables apart is no easier than telling a standard normal number from one
            whose mean is mu.
        neighbours: Neighbouring relation: which tables the guarantee makes indistinguishable.

    Example:
        >>> GDP(1.0).unit, f"{GDP(1.0).limit:.6f}", f"{GDP(1.0).approximate(1e-6)[0]:.6f}"
        ('mu^2/2', '0.500000', '4.886554')
    """

    kind, numbers = "gdp", ("mu",)
    regime = Regime.GDP
    mu: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: mu is not positive and finite, or too small to be squared, or the relation is unknown.
        """
        super().__post_init__()
        if not (self.limit > 0.0 and math.isfinite(float(self.mu) * float(self.mu))):
            raise ConfigError(f"the square of mu = {self.mu!r} is not a number", remedy="give a mu of a usual size")

    @property
    def limit(self) -> float:
        """Limit for the sum of the charges: ``mu^2 / 2``, rounded down."""
        return half_square(float(self.mu))

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        mu = at_most(self.mu)
        return (
            f"When {_change(self.neighbours)}, telling the outcomes of this release apart is no easier than telling "
            f"a standard normal number from one whose mean is {mu} (Gaussian differential privacy with mu = {mu})."
        )

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta), exact but for rounding up.

        Raises:
            ConfigError: No delta is given, or it is not between 0 and 1.
        """
        if delta is None:
            raise ConfigError("a mu means another epsilon at each delta", remedy="give the delta")
        return epsilon_of_mu(float(self.mu), delta), delta


@dataclass(frozen=True)
class ApproxDP(_OfTables):
    """(epsilon, delta)-differential privacy, run as zCDP, as Gaussian or as pure differential privacy.

    Attributes:
        epsilon: Bound on the log-ratio of probabilities, ...
        delta: ... which may fail with this probability. It should be far below 1 / (number of records).
        neighbours: Neighbouring relation: which tables the guarantee makes indistinguishable.
        regime: Regime that the charges are counted in. The promise is the same, or kept with delta = 0 under pure
            accounting, which serves few measurements best. GDP needs 5 to 8 % less Gaussian noise than zCDP, and 16 to
            19 % more noise for selections.
        thresholds: Part of delta that is kept for counts above thresholds, by which values of a column are learnt; the
            rest is for the conversion (theory.md section 16).
        composition: The steps of a run, where they are fixed beforehand: they may cost more rho than zCDP allows, and
            no others may be made (theory.md section 20). `run` and `plan` fill it in.

    Example:
        >>> [f"{ApproxDP(1.0, 1e-6, regime=regime).limit:.6f}" for regime in Regime]
        ['1.000000', '0.024356', '0.028014']
    """

    kind, numbers = "approximate", ("epsilon", "delta")
    epsilon: float
    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    regime: Regime = field(default=Regime.ZCDP, repr=False)  # what is promised is in the others
    thresholds: float = field(default=0.0, repr=False)
    composition: Composition | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: epsilon is not positive and finite, delta is not between 0 and 1, the relation or the regime is
                unknown, or the composition costs more than is promised.
        """
        super().__post_init__()
        if self.regime not in set(Regime):
            message = f"an (epsilon, delta) budget is not run as {self.regime!r}"
            raise ConfigError(message, remedy="give 'zcdp', 'gdp' or 'pure'")
        object.__setattr__(self, "regime", Regime(self.regime))
        if self.delta >= 1:
            raise ConfigError(
                f"delta must be below 1, not {self.delta!r}", remedy="give a delta far below 1 / (number of records)"
            )
        most = self.delta if self.regime is Regime.PURE else math.nextafter(self.delta, 0.0)
        if isinstance(self.thresholds, bool) or not 0.0 <= self.thresholds <= most:
            raise ConfigError(
                f"{self.thresholds!r} of a delta of {self.delta!r} cannot be kept for thresholds",
                remedy="give a part of delta: half of it, say",
            )
        if self.regime is Regime.GDP and not self.limit > 0.0:
            raise ConfigError("epsilon and delta are too small to be counted", remedy="give larger ones, or 'zcdp'")
        if self.composition is not None:
            self._check_composition()

    def _check_composition(self) -> None:
        composition = Composition.of(self.composition or {})
        object.__setattr__(self, "composition", composition)
        if self.regime is not Regime.ZCDP or self.thresholds:
            remedy = "leave the composition out, or the regime and thresholds"
            raise ConfigError("a fixed composition is counted in rho, and keeps no delta for thresholds", remedy=remedy)
        if composition.delta(float(self.epsilon)) > self.delta:
            message = f"the fixed composition is not ({self.epsilon:g}, {self.delta:g})-private"
            raise ConfigError(message, remedy="leave it out: `run` and `plan` fill it in")

    @cached_property
    def limit(self) -> float:
        """The rho or ``mu^2 / 2`` that the tight conversion turns into (epsilon, delta), rounded down; or epsilon.

        Where a composition is fixed, its rho.
        """
        if self.composition is not None:
            return self.composition.limit
        match self.regime:
            case Regime.PURE:
                return float(self.epsilon)
            case Regime.ZCDP:
                return rho_of(float(self.epsilon), self._converted)
            case Regime.GDP:
                return half_square(mu_of(float(self.epsilon), self._converted))

    @property
    def for_thresholds(self) -> float:
        """The part of delta that counts above thresholds may spend."""
        return float(self.thresholds)

    @property
    def fixed(self) -> Composition | None:
        """The composition."""
        return self.composition

    @property
    def _converted(self) -> float:
        """The delta of the conversion: what thresholds leave, rounded down."""
        return math.nextafter(self.delta - self.thresholds, 0.0) if self.thresholds else self.delta

    def statement(self, *, accounted: bool = True) -> str:
        """The guarantee in one plain sentence.

        Args:
            accounted: Whether to say how it is accounted, too.
        """
        delta = at_most(self.delta, 3)
        apart = f", and {at_most(self.thresholds, 3)} of delta kept for thresholds" if self.thresholds else ""
        how = {
            Regime.PURE: f"pure differential privacy with epsilon = {at_most(self.limit)}",
            Regime.ZCDP: f"{'steps fixed beforehand, ' * bool(self.fixed)}zCDP with rho = {at_most(self.limit)}",
            Regime.GDP: f"Gaussian differential privacy with mu = {at_most(mu_of_half_square(self.limit))}",
        }[self.regime]
        return (
            f"When {_change(self.neighbours)}, the probability of any outcome of this release changes by a factor "
            f"of at most {in_words(self.epsilon)}, apart from a probability of at most {delta} "
            f"(differential privacy with epsilon = {at_most(self.epsilon)} and delta = {delta}"
            f"{f', accounted as {how}{apart}' if accounted else ''})."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `budget_from_dict` reads it."""
        accounted = {} if self.regime is Regime.ZCDP else {"regime": self.regime.value}
        kept = {"thresholds": self.thresholds} if self.thresholds else {}
        steps = {"composition": self.composition.to_dict()} if self.composition is not None else {}
        return super().to_dict() | accounted | kept | steps

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta)."""
        return float(self.epsilon), self.delta


Limit = PureDP | ZCDP | GDP | ApproxDP
"""A budget for a whole table; what the releases of one table may add up to."""
