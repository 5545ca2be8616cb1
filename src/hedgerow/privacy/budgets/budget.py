"""Privacy budgets: how much may be spent, in which currency, and between which tables.

Two regimes keep the books. Under ``PURE`` charges are epsilons and add up to the epsilon of pure differential
privacy. Under ``ZCDP`` charges are rhos and add up to the rho of zero-concentrated differential privacy; an
(epsilon, delta) budget is turned into a rho by the tight conversion of ``conversion.py`` and run there.
Both sums remain valid when each charge is chosen after looking at earlier outputs (theory.md section 0).
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, final

from hedgerow.data import CountSource
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.conversion import epsilon_of, in_words, rho_of
from hedgerow.privacy.budgets.subsampling import Subsampled
from hedgerow.queries import Neighbours


class Regime(StrEnum):
    """Currency of the charges: how they are measured, and add up."""

    PURE = "pure"
    ZCDP = "zcdp"

    @property
    def unit(self) -> str:
        """Unit of a charge: ``"epsilon"`` or ``"rho"``.

        Example:
            >>> Regime.ZCDP.unit
            'rho'
        """
        return "epsilon" if self is Regime.PURE else "rho"


_RELATION = {
    Neighbours.ADD_REMOVE: "one person's record is added or left out",
    Neighbours.REPLACE: "one person's record is replaced by any other (the number of records is public)",
    Neighbours.REPLACE_FILTERED: "one person's record in the whole table is replaced by any other, before the filter "
    "chooses rows (the number of records in the whole table is public, how many pass the filter is not)",
}


def _relation(value: Neighbours | str) -> Neighbours:
    try:
        return Neighbours(value)
    except ValueError:
        known = ", ".join(repr(each.value) for each in Neighbours)
        raise ConfigError(f"there is no neighbouring relation {value!r}", remedy=f"give one of {known}") from None


class _OfTables:
    """A budget between neighbouring tables, given by positive numbers; `Subsampled` is built on one of these."""

    kind: ClassVar[str]
    regime: ClassVar[Regime]
    """Regime of the charges: (epsilon, delta) is run as zCDP."""
    neighbours: Neighbours

    def _check(self, **numbers: float) -> None:
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
                message = f"{name} must be a positive finite number, not {value!r}"
                raise ConfigError(message, remedy="give a number above 0")
        object.__setattr__(self, "neighbours", _relation(self.neighbours))

    @property
    def unit(self) -> str:
        """Unit of the charges: ``"epsilon"`` or ``"rho"``."""
        return self.regime.unit

    def _told(self, **numbers: float) -> dict[str, Any]:
        return {"kind": self.kind, **numbers, "neighbours": self.neighbours.value}


@final
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

    kind = "pure"
    regime = Regime.PURE
    epsilon: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: epsilon is not positive and finite, or the relation is unknown.
        """
        self._check(epsilon=self.epsilon)

    @property
    def limit(self) -> float:
        """Limit for the sum of the charges."""
        return float(self.epsilon)

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        return (
            f"When {_RELATION[self.neighbours]}, the probability of any outcome of this release changes by a factor "
            f"of at most {in_words(self.epsilon)} (pure differential privacy with epsilon = {self.epsilon:.6g})."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `budget_from_dict` reads it."""
        return self._told(epsilon=self.epsilon)

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta): delta is 0."""
        return float(self.epsilon), 0.0


@final
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

    kind = "zcdp"
    regime = Regime.ZCDP
    rho: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: rho is not positive and finite, or the relation is unknown.
        """
        self._check(rho=self.rho)

    @property
    def limit(self) -> float:
        """Limit for the sum of the charges."""
        return float(self.rho)

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        return (
            f"When {_RELATION[self.neighbours]}, the Renyi divergence of every order alpha > 1 between the outcomes of "
            f"this release is at most {self.rho:.6g} alpha (zero-concentrated differential privacy with "
            f"rho = {self.rho:.6g})."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `budget_from_dict` reads it."""
        return self._told(rho=self.rho)

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta), by the tight conversion.

        Raises:
            ConfigError: No delta is given, or it is not between 0 and 1.
        """
        if delta is None:
            raise ConfigError("a rho means another epsilon at each delta", remedy="give the delta")
        return epsilon_of(float(self.rho), delta), delta


@final
@dataclass(frozen=True)
class ApproxDP(_OfTables):
    """(epsilon, delta)-differential privacy, run as zCDP.

    Attributes:
        epsilon: Bound on the log-ratio of probabilities, ...
        delta: ... which may fail with this probability. It should be far below 1 / (number of records).
        neighbours: Neighbouring relation: which tables the guarantee makes indistinguishable.

    Example:
        >>> f"{ApproxDP(1.0, 1e-6).limit:.6f}"
        '0.024356'
    """

    kind = "approximate"
    regime = Regime.ZCDP
    epsilon: float
    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: epsilon is not positive and finite, delta is not between 0 and 1, or the relation is unknown.
        """
        self._check(epsilon=self.epsilon, delta=self.delta)
        if self.delta >= 1:
            raise ConfigError(
                f"delta must be below 1, not {self.delta!r}", remedy="give a delta far below 1 / (number of records)"
            )

    @cached_property
    def limit(self) -> float:
        """The rho that the tight conversion turns into (epsilon, delta), rounded down."""
        return rho_of(float(self.epsilon), self.delta)

    def statement(self) -> str:
        """The guarantee in one plain sentence."""
        return (
            f"When {_RELATION[self.neighbours]}, the probability of any outcome of this release changes by a factor "
            f"of at most {in_words(self.epsilon)}, apart from a probability of at most {self.delta:.3g} "
            f"(differential privacy with epsilon = {self.epsilon:.6g} and delta = {self.delta:.3g}, "
            f"accounted as zCDP with rho = {self.limit:.6g})."
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `budget_from_dict` reads it."""
        return self._told(epsilon=self.epsilon, delta=self.delta)

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """The guarantee as (epsilon, delta)."""
        return float(self.epsilon), self.delta


Limit = PureDP | ZCDP | ApproxDP
"""A budget for a whole table; what the releases of one table may add up to."""
Budget = Limit | Subsampled
_KINDS: dict[str, type[Budget]] = {each.kind: each for each in (PureDP, ZCDP, ApproxDP, Subsampled)}


def budget_of_filtered(budget: Budget) -> Budget:
    """The same budget where a filter chose the rows that are counted, between tables before the filter.

    Args:
        budget: The budget as its owner gave it; under "replace" the number of rows that pass becomes private.

    Raises:
        ConfigError: The budget is for a sample, which needs a public number of records.

    Example:
        >>> budget_of_filtered(PureDP(1.0, "replace")).neighbours.value
        'replace-then-filter'
        >>> budget_of_filtered(PureDP(1.0)) == PureDP(1.0)
        True
    """
    if isinstance(budget, Subsampled):
        raise ConfigError(
            "a sample needs a public number of records, and how many pass a filter is private",
            remedy="sample the whole table, or leave the sample out",
        )
    return replace(budget, neighbours=budget.neighbours.filtered)


def budget_for(budget: Budget, source: CountSource) -> Budget:
    """The budget as it holds on a source: between tables before the filter, where one chose the rows.

    Args:
        budget: The budget as its owner gave it.
        source: The private records; only whether they were filtered is looked at.

    Raises:
        ConfigError: See `budget_of_filtered`.
    """
    return budget_of_filtered(budget) if source.filtered else budget


WEAK_EPSILON = 20.0
"""Beyond it probabilities may change by a factor of half a billion."""
_DELTA_OF_RHO = 1e-6
"""The delta at which a rho is turned into an epsilon, to see whether it is large."""


def weaknesses(budget: Budget, total: float) -> tuple[str, ...]:
    """Reasons why a budget promises next to nothing, in sentences; none for a usual budget.

    Args:
        budget: The budget that is spent.
        total: Number of records that is known in public: a guess, or a noisy value.

    Example:
        >>> weaknesses(ApproxDP(1.0, 1e-9), 1000.0)
        ()
        >>> [reason.partition(":")[0] for reason in weaknesses(ApproxDP(30.0, 0.01), 1000.0)]
        ['epsilon = 30 is above 20', 'delta = 0.01 is not below 1 / (number of records), about 0.001']
    """
    told = budget.approximate(_DELTA_OF_RHO if isinstance(budget, ZCDP) else None)
    epsilon, delta = told[0], 0.0 if isinstance(budget, ZCDP) else told[1]
    found = []
    if epsilon > WEAK_EPSILON:
        at = f" (at delta = {_DELTA_OF_RHO:g})" if isinstance(budget, ZCDP) else ""
        found.append(
            f"epsilon = {epsilon:.4g}{at} is above {WEAK_EPSILON:g}: one person's record may change probabilities by a "
            f"factor of e^{epsilon:.4g}. Give a smaller epsilon: 1, or a few."
        )
    if delta * total >= 1.0:
        found.append(
            f"delta = {delta:.3g} is not below 1 / (number of records), about {1.0 / max(total, 1.0):.1g}: such a "
            "guarantee allows some people's records to be published as they are. Give a far smaller delta."
        )
    return tuple(found)


def budget_from_dict(mapping: Mapping[str, Any]) -> Budget:
    """Read what ``to_dict`` wrote.

    Raises:
        ConfigError: The kind is unknown, a field is missing or a number is out of its range.

    Example:
        >>> budget_from_dict(ApproxDP(1.0, 1e-9).to_dict()) == ApproxDP(1.0, 1e-9)
        True
    """
    fields = dict(mapping)
    kind = fields.pop("kind", None)
    if kind == "subsampled" and isinstance(fields.get("inner"), Mapping):
        fields["inner"] = budget_from_dict(fields["inner"])
    if kind not in _KINDS:
        raise ConfigError(f"there is no budget of kind {kind!r}", remedy=f"the kinds are: {', '.join(_KINDS)}")
    try:
        return _KINDS[kind](**fields)
    except (AttributeError, TypeError):
        raise ConfigError(f"a budget of kind {kind!r} does not have the fields {sorted(fields)}") from None
