"""The ledger: every touch of the private table as a frozen event, and the filter that refuses.

Charges of one regime add up (theory.md section 0), also when each is chosen after looking at earlier outputs, so the
rule is: record a charge only if the sum with it stays within the limit; record it *before* noise is drawn; never take
it back.

**No tolerance.** Sums are exact (fractions, rounded once when they are shown) and a charge is refused if the sum with
it exceeds the limit by however little. Parts of a budget still fit: mechanisms made by ``for_charge(amount)`` charge at
least 2^-46 of the amount less than it, which outweighs the roundings of the divisions that computed the amounts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, final

from hedgerow.errors import BudgetError, BudgetExceededError
from hedgerow.privacy.budgets import Budget, Regime
from hedgerow.privacy.mechanisms import (
    THRESHOLDED,
    AdditiveNoise,
    Mechanism,
    ThresholdedCounts,
    check_charge,
    mechanism_of,
    upgraded,
)
from hedgerow.queries import Neighbours
from hedgerow.system import head_of, start_of

PUBLIC = "public"
"""Name of the mechanism that gives a number which is public between neighbours."""
_UNITS = [regime.unit for regime in Regime]
RECORDS = "number of records"
"""The only such number, as the target in the ledger."""


@final
@dataclass(frozen=True)
class Event:
    """One touch of the private table.

    Attributes:
        label: Purpose: ``"total"``, ``"select"``, ``"measure"``, ``"error"`` or the caller's word.
        mechanism: Name of the mechanism; ``"public"`` for a number that is public under the neighbouring relation.
        target: The question, in words.
        sensitivity: Largest change between neighbouring tables of the answer that noise was added to: L1 for Laplace
            noise, L2 for Gaussian noise, of one score for a selection. In counts (selections: units of score).
        scale: Scale of the noise, in the same units; for selections the score that changes probabilities by a factor of
            e.
        charge: Its cost, in ``unit``.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        neighbours: The neighbouring relation that the sensitivity refers to.
        values: Number of values that were released: cells, draws, or fires of a sparse vector.
        threshold_scale: Scale of a sparse vector's threshold noise, in counts; or the threshold of counts that are told
            above one. 0 for all other mechanisms.

    Example:
        >>> event = Event("measure", "discrete Laplace", "sex", 1.0, 4.0, 0.5, "epsilon", "add-remove", 2)
        >>> Event.from_dict(event.to_dict()) == event
        True
        >>> Event("measure", "discrete Laplace", "sex", 1.0, 2.0, 0.5e-9, "epsilon", "add-remove", 2)
        Traceback (most recent call last):
            ...
        hedgerow.errors.BudgetError: a discrete Laplace of sensitivity 1 and scale 2 costs 0.5 epsilon, not 5e-10
    """

    label: str
    mechanism: str
    target: str
    sensitivity: float
    scale: float
    charge: float
    unit: str
    neighbours: str
    values: int = 1
    threshold_scale: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers, and that the charge is at least what such a mechanism costs.

        Raises:
            BudgetError: A number is not finite or below 0, the unit or the relation is unknown, or the charge is less
                than what follows from mechanism, sensitivity, scale and number of values.
        """
        for name in ("sensitivity", "scale", "charge", "threshold_scale"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0.0 <= number < math.inf:
                raise BudgetError(f"the {name} of a ledger event must be a finite number from 0 on, not {number!r}")
        if isinstance(self.values, bool) or not isinstance(self.values, int) or self.values < 1:
            raise BudgetError(f"a ledger event is about at least one value, not {self.values!r}")
        if self.unit not in _UNITS:
            raise BudgetError(f"a ledger counts {', '.join(_UNITS[:-1])} or {_UNITS[-1]}, not {self.unit!r}")
        try:
            relation = Neighbours.of(self.neighbours)
        except (TypeError, ValueError):
            raise BudgetError(f"there is no neighbouring relation {self.neighbours!r}") from None
        if self.mechanism == PUBLIC:
            self._check_public(relation)
        else:
            check_charge(self.of_mechanism, self.charge, self.unit)

    def _check_public(self, relation: Neighbours) -> None:
        if not relation.public_total:
            raise BudgetError(f"under {self.neighbours!r} the number of records is not public")
        if self.charge or self.sensitivity or self.scale or self.threshold_scale:
            raise BudgetError("a public number has no noise, and costs nothing")
        if self.target != RECORDS or self.values != 1:
            raise BudgetError(f"the {RECORDS} is public, and nothing else is")

    @property
    def of_mechanism(self) -> Mechanism:
        """The mechanism, made from the numbers of the event.

        Raises:
            BudgetError: There is none of that name that has these numbers.
        """
        return mechanism_of(
            self.mechanism,
            sensitivity=float(self.sensitivity),
            scale=float(self.scale),
            values=self.values,
            threshold_scale=float(self.threshold_scale),
        )

    @property
    def delta(self) -> float:
        """The probability that it gives a table away, beside its charge: of counts above a threshold; else 0."""
        if self.mechanism not in THRESHOLDED:
            return 0.0
        mechanism = self.of_mechanism
        records = Neighbours.of(self.neighbours).records
        return mechanism.delta(records) if isinstance(mechanism, ThresholdedCounts) else 0.0

    @property
    def noise(self) -> AdditiveNoise | None:
        """The noise that was added to each value; None where none was, as in selections and in public numbers.

        Example:
            >>> event = Event("total", "discrete Laplace", "number of records", 1.0, 4.0, 0.26, "epsilon", "add-remove")
            >>> event.noise.kind.value, round(event.noise.std, 2)
            ('laplace', 5.64)
        """
        mechanism = None if self.mechanism == PUBLIC else self.of_mechanism
        return mechanism if isinstance(mechanism, AdditiveNoise) else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {  # `asdict` copies each value, which takes most of the time of saving a long ledger
            "label": self.label,
            "mechanism": self.mechanism,
            "target": self.target,
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            "charge": self.charge,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "values": self.values,
            "threshold_scale": self.threshold_scale,
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Event:
        """Read what `to_dict` wrote.

        Raises:
            BudgetError: A field is missing, unknown or out of its range.
        """
        if set(mapping) != {field.name for field in fields(cls)}:
            raise BudgetError(f"a ledger event does not have the fields {sorted(mapping)}")
        return cls(**mapping)

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.label}: {self.target} by {self.mechanism}, scale {self.scale:.6g}, {self.charge:.6g} {self.unit}"


@final
class Ledger:
    """Events and the limit that their charges may add up to.

    Args:
        limit: The amount that may be spent.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        events: Events so far; they must fit.
        thresholds: The amount that the deltas of counts above thresholds may add up to.

    Example:
        >>> ledger = Ledger(1.0, "epsilon")
        >>> ledger.charge(Event("measure", "discrete Laplace", "sex", 1.0, 4.0, 0.5, "epsilon", "add-remove", 2))
        >>> ledger.spent, ledger.remaining
        (0.5, 0.5)
    """

    def __init__(self, limit: float, unit: str, events: Sequence[Event] = (), *, thresholds: float = 0.0) -> None:
        """Start with the events given."""
        if not 0.0 < limit < math.inf:
            raise BudgetError(f"the limit of a ledger must be positive and finite, not {limit!r}")
        if isinstance(thresholds, bool) or not 0.0 <= thresholds < 1.0:
            raise BudgetError(f"the delta of thresholds lies between 0 and 1, not {thresholds!r}")
        self._limit = float(limit)
        self._thresholds = float(thresholds)
        self._unit = unit
        self._events: list[Event] = []
        self._linked = (0, start_of("ledger", self._limits))
        self._sum = self._deltas = Fraction(0)
        self._lock = threading.Lock()
        self.charge(*events)

    @classmethod
    def of(cls, budget: Budget, events: Sequence[Event] = ()) -> Ledger:
        """The ledger of a budget.

        Args:
            budget: The budget.
            events: Events so far; they must fit.

        Raises:
            BudgetExceededError: They do not.

        Example:
            >>> from hedgerow import ZCDP
            >>> Ledger.of(ZCDP(0.5)).limit
            0.5
        """
        return cls(budget.limit, budget.unit, events, thresholds=budget.for_thresholds)

    def charge(self, *events: Event) -> None:
        """Record events, or refuse them all and change nothing.

        Raises:
            BudgetExceededError: The charges would pass the limit.
            BudgetError: An event is in another unit.
        """
        for event in events:
            if event.unit != self._unit:
                raise BudgetError(f"this ledger counts {self._unit}; the event is in {event.unit}")
        requested = [event.charge for event in events]
        with self._lock:
            if not self.covers(*requested):
                raise BudgetExceededError(
                    requested=math.fsum(requested), spent=self.spent, limit=self._limit, unit=self._unit
                )
            deltas = _sum(event.delta for event in events if event.mechanism in THRESHOLDED)
            if self._deltas + deltas > Fraction(self._thresholds):
                spent, limit = float(self._deltas), self._thresholds
                raise BudgetExceededError(requested=float(deltas), spent=spent, limit=limit, unit="delta of thresholds")
            self._sum += _sum(requested)  # first: an interrupt in between must not make it free
            self._deltas += deltas
            self._events.extend(events)

    def covers(self, *charges: float) -> bool:
        """Whether so much more may be charged.

        Example:
            >>> Ledger(1.0, "rho").covers(0.5, 0.5), Ledger(1.0, "rho").covers(0.5, 0.5000001)
            (True, False)
        """
        return self._sum + _sum(charges) <= Fraction(self._limit)

    @property
    def limit(self) -> float:
        """The amount that may be spent in all."""
        return self._limit

    @property
    def unit(self) -> str:
        """``"epsilon"``, ``"rho"`` or ``"mu^2/2"``."""
        return self._unit

    @property
    def thresholds(self) -> float:
        """The amount that the deltas of counts above thresholds may add up to."""
        return self._thresholds

    @property
    def _limits(self) -> dict[str, Any]:
        """The amounts that may be spent; the delta of thresholds where there is one."""
        beside = {"thresholds": self._thresholds} if self._thresholds else {}
        return {"limit": self._limit, "unit": self._unit, **beside}

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, oldest first."""
        return tuple(self._events)

    @property
    def head(self) -> str:
        """The head of the hash chain of all events, in their order (see ``chain.py``)."""
        events, (known, head) = self.events, self._linked
        self._linked = (len(events), head_of(head, (event.to_dict() for event in events[known:])))
        return self._linked[1]

    @property
    def spent(self) -> float:
        """Sum of the charges."""
        return float(self._sum)

    @property
    def remaining(self) -> float:
        """The rest: ``limit - spent``, never negative."""
        return float(Fraction(self._limit) - self._sum)

    def view(self) -> LedgerView:
        """A live view that cannot charge."""
        return LedgerView(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        events = [event.to_dict() for event in self._events]
        return {**self._limits, "events": events, "head": self.head}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any], *, version: int = 2) -> Ledger:
        """Read what `to_dict` wrote.

        Args:
            mapping: The mapping.
            version: Format version; events of version 1 are brought up to date, and have no head.

        Raises:
            BudgetError: A field is missing or out of its range, a charge is less than what its mechanism costs, the
                events do not fit into the limit, or the head is not that of these events.
        """
        try:
            listed = mapping["events"] if version > 1 else map(upgraded, mapping["events"])
            events = [Event.from_dict(event) for event in listed]
            found = cls(mapping["limit"], mapping["unit"], events, thresholds=mapping.get("thresholds", 0.0))
            if version > 1 and mapping["head"] != found.head:
                raise BudgetError("events of this ledger were changed, left out or moved: its head does not match")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BudgetError(f"this is not a ledger: {error}") from error
        return found

    def __str__(self) -> str:
        """A line for the sum and one for each event."""
        head = f"{self.spent:.6g} of {self._limit:.6g} {self._unit} spent in {len(self._events)} events"
        return "\n".join([head, *(f"  {event}" for event in self._events)])


@final
class LedgerView:
    """A ledger to look at: it shows everything, and cannot charge.

    Example:
        >>> LedgerView(Ledger(1.0, "rho")).remaining
        1.0
    """

    __slots__ = ("__ledger",)

    def __init__(self, ledger: Ledger) -> None:
        """Look at a ledger."""
        self.__ledger = ledger

    @property
    def limit(self) -> float:
        """The amount that may be spent in all."""
        return self.__ledger.limit

    @property
    def unit(self) -> str:
        """``"epsilon"``, ``"rho"`` or ``"mu^2/2"``."""
        return self.__ledger.unit

    @property
    def thresholds(self) -> float:
        """The amount that the deltas of counts above thresholds may add up to."""
        return self.__ledger.thresholds

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, oldest first."""
        return self.__ledger.events

    @property
    def head(self) -> str:
        """The head of the hash chain of all events."""
        return self.__ledger.head

    @property
    def spent(self) -> float:
        """Sum of the charges."""
        return self.__ledger.spent

    @property
    def remaining(self) -> float:
        """The rest: ``limit - spent``."""
        return self.__ledger.remaining

    def covers(self, *charges: float) -> bool:
        """Whether so much more may be charged."""
        return self.__ledger.covers(*charges)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `Ledger.from_dict` reads it."""
        return self.__ledger.to_dict()

    def __str__(self) -> str:
        """A line for the sum and one for each event."""
        return str(self.__ledger)


_BITS = 1074
"""Every finite float is a whole multiple of 2 to the power of minus so many."""


def _sum(amounts: Iterable[float]) -> Fraction:
    """The exact sum: of whole numbers of the smallest unit, as adding up fractions takes ten times as long."""
    ratios = (amount.as_integer_ratio() for amount in amounts)
    return Fraction(sum(top << (_BITS + 1 - bottom.bit_length()) for top, bottom in ratios), 1 << _BITS)
