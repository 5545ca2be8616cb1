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
from fractions import Fraction
from typing import Any

from hedgerow.errors import BudgetError, BudgetExceededError, ConfigError
from hedgerow.privacy.budgets import Budget, Composition
from hedgerow.privacy.ledger.events import Event
from hedgerow.privacy.ledger.steps import Steps
from hedgerow.privacy.mechanisms import RUN_SELECTION, THRESHOLDED
from hedgerow.system import head_of, start_of


class Ledger:
    """Events and the limit that their charges may add up to.

    Args:
        limit: The amount that may be spent.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        events: Events so far; they must fit.
        thresholds: The amount that the deltas of counts above thresholds may add up to.
        composition: The only steps that may be charged, where they were fixed beforehand.

    Example:
        >>> from hedgerow.privacy import MeasuredQuery
        >>> ledger = Ledger(1.0, "epsilon")
        >>> asked = MeasuredQuery("marginal", ("sex",))
        >>> ledger.charge(Event("measure", "discrete Laplace", asked, 1.0, 4.0, 0.5, "epsilon", "add-remove", 2))
        >>> ledger.spent, ledger.remaining
        (0.5, 0.5)
    """

    def __init__(
        self,
        limit: float,
        unit: str,
        events: Sequence[Event] = (),
        *,
        thresholds: float = 0.0,
        composition: Composition | None = None,
    ) -> None:
        """Start with the events given."""
        if not 0.0 < limit < math.inf:
            raise BudgetError(f"the limit of a ledger must be positive and finite, not {limit!r}")
        if isinstance(thresholds, bool) or not 0.0 <= thresholds < 1.0:
            raise BudgetError(f"the delta of thresholds lies between 0 and 1, not {thresholds!r}")
        self._limit = float(limit)
        self._thresholds = float(thresholds)
        self._composition = composition
        if composition is not None and (unit, self._limit) != ("rho", composition.limit):
            raise BudgetError(f"a fixed composition spends {composition.limit!r} rho, not {limit!r} {unit}")
        self._steps = Steps()
        self._unit = unit
        self._events: list[Event] = []
        self._linked = (0, start_of("ledger", self._limits))
        self._sum = self._deltas = self._aside = Fraction(0)
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
        return cls(budget.limit, budget.unit, events, thresholds=budget.for_thresholds, composition=budget.fixed)

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
            self._check_runs(events)
            steps = self._steps if self._composition is None else self._steps.with_events(events, self._composition)
            self._steps = steps
            self._sum += _sum(requested)  # first: an interrupt in between must not make it free
            self._deltas += deltas
            self._events.extend(events)

    def _check_runs(self, events: Sequence[Event]) -> None:
        """Refuse a selection among runs that leaves a run more than it was charged for."""
        left = Fraction(self._limit) - self._sum
        for event in events:
            left -= Fraction(event.charge)
            if event.mechanism == RUN_SELECTION and left > Fraction(event.sensitivity):
                raise BudgetError(
                    f"the selection is charged for runs of {event.sensitivity:.6g} {self._unit}, and leaves them "
                    f"{float(left):.6g}"
                )

    def covers(self, *charges: float) -> bool:
        """Whether so much more may be charged.

        Example:
            >>> Ledger(1.0, "rho").covers(0.5, 0.5), Ledger(1.0, "rho").covers(0.5, 0.5000001)
            (True, False)
        """
        return self._sum + _sum(charges) <= Fraction(self._limit) - self._aside

    def set_aside(self, amount: float) -> None:
        """Keep an amount for later: until 0 is set aside, so much less may be charged.

        Args:
            amount: The amount, in place of what was set aside before.

        Raises:
            BudgetExceededError: So much is not left.

        Example:
            >>> ledger = Ledger(1.0, "rho")
            >>> ledger.set_aside(0.25)
            >>> ledger.remaining, ledger.covers(0.75), ledger.covers(0.8)
            (0.75, True, False)
        """
        if not self._sum + Fraction(amount) <= Fraction(self._limit):
            raise BudgetExceededError(requested=amount, spent=self.spent, limit=self._limit, unit=self._unit)
        self._aside = Fraction(amount)

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
    def composition(self) -> Composition | None:
        """The only steps that may be charged, where they were fixed beforehand."""
        return self._composition

    @property
    def _limits(self) -> dict[str, Any]:
        """The amounts that may be spent; the delta of thresholds and the fixed steps where there are some."""
        beside = {"thresholds": self._thresholds} if self._thresholds else {}
        steps = {} if self._composition is None else {"composition": self._composition.to_dict()}
        return {"limit": self._limit, "unit": self._unit, **beside, **steps}

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
        """The rest: ``limit - spent``, without what is set aside; never negative."""
        return float(Fraction(self._limit) - self._sum - self._aside)

    def view(self) -> LedgerView:
        """A live view that cannot charge."""
        return LedgerView(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        streamed = self.streamed()
        return {**streamed, "events": list(streamed["events"])}

    def streamed(self) -> dict[str, Any]:
        """The same with its events one at a time, for files of very many: `write_container` takes them so."""
        return {**self._limits, "events": (event.to_dict() for event in self.events), "head": self.head}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Ledger:
        """Read what `to_dict` wrote.

        Raises:
            BudgetError: A field is missing or out of its range, a charge is less than what its mechanism costs, the
                events do not fit into the limit, or the head is not that of these events.
        """
        try:
            events = [Event.from_dict(event) for event in mapping["events"]]
            fixed = Composition.of(mapping["composition"]) if "composition" in mapping else None
            kept = mapping.get("thresholds", 0.0)
            ledger = cls(mapping["limit"], mapping["unit"], events, thresholds=kept, composition=fixed)
            if mapping["head"] != ledger.head:
                raise BudgetError("events of this ledger were changed, left out or moved: its head does not match")
        except (AttributeError, ConfigError, KeyError, TypeError, ValueError) as error:
            raise BudgetError(f"this is not a ledger: {error}") from error
        return ledger

    def __str__(self) -> str:
        """A line for the sum and one for each event."""
        head = f"{self.spent:.6g} of {self._limit:.6g} {self._unit} spent in {len(self._events)} events"
        return "\n".join([head, *(f"  {event}" for event in self._events)])


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
    def composition(self) -> Composition | None:
        """The only steps that may be charged, where they were fixed beforehand."""
        return self.__ledger.composition

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
