"""Events of a ledger: what was asked of the private table, by which mechanism, and what it cost.

An event is checked whenever it is made or read: its mechanism must be one that answers its question, and its charge at
least what follows from the numbers of the mechanism. (Events of format 2 held the question as a text; `format_2` reads
them.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.errors import BudgetError
from hedgerow.privacy.budgets import Regime
from hedgerow.privacy.ledger.format_2 import fields_of
from hedgerow.privacy.ledger.questions import PUBLIC, MeasuredParities, MeasuredQuery, Question
from hedgerow.privacy.mechanisms import (
    BOUNDS,
    HALVES,
    PARITIES,
    THRESHOLDED,
    AdditiveNoise,
    Bound,
    Mechanism,
    ThresholdedCounts,
    check_charge,
    mechanism_of,
)
from hedgerow.queries import Neighbours, Relation

FORMAT = 3
"""Format of events that hold a question with fields."""
_UNITS = [regime.unit for regime in Regime]
_TABLES = ("marginal", "blocks")
"""Forms of questions about whole tables: one record is in one cell."""
_NUMBERS = ("sensitivity", "scale", "charge", "threshold_scale")


@dataclass(frozen=True, slots=True)
class Event:
    """One touch of the private table.

    Attributes:
        label: Purpose: ``"total"``, ``"select"``, ``"measure"``, ``"error"`` or the caller's word.
        mechanism: Name of the mechanism; ``"public"`` for a number that is public under the neighbouring relation.
        question: The question that it answers.
        sensitivity: Largest change between neighbouring tables of the answer that noise was added to: L1 for Laplace
            noise, L2 for Gaussian noise, of one score for a selection. In counts (selections: units of score). For a
            selection among runs, the epsilon of each run.
        scale: Scale of the noise, in the same units; for selections the score that changes probabilities by a factor of
            e; for a selection among runs, the mean number of them where none passes.
        charge: Its cost, in ``unit``.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        neighbours: The neighbouring relation that the sensitivity refers to.
        values: Number of values that were released: cells, draws, cuts, or fires of a sparse vector.
        threshold_scale: Scale of a sparse vector's threshold noise, in counts; or the threshold of counts that are told
            above one. 0 for all other mechanisms.
        earlier: Whether it was charged for an earlier release, which a session starts from: of its answers nothing
            stands beside this ledger.
        bound: Bound that the charge in rho follows from: ``"renyi"`` of sparse vectors (theory.md section 4.1),
            ``"exact"`` of selections and ``"halves"`` of Laplace noise in tables under "replace" (section 0),
            ``"parities"`` of Laplace noise on several of these (section 13); None for those by which all were charged
            before.
        format: Format in which the event is written; those of an older file or store stay as they are, for the hash
            chain that they stand in.

    Example:
        >>> from hedgerow.privacy import MeasuredQuery
        >>> asked = MeasuredQuery("marginal", ("sex",))
        >>> event = Event("measure", "discrete Laplace", asked, 1.0, 4.0, 0.5, "epsilon", "add-remove", 2)
        >>> Event.from_dict(event.to_dict()) == event
        True
        >>> Event("measure", "discrete Laplace", asked, 1.0, 2.0, 0.5e-9, "epsilon", "add-remove", 2)
        Traceback (most recent call last):
            ...
        hedgerow.errors.BudgetError: a discrete Laplace of sensitivity 1 and scale 2 costs 0.5 epsilon, not 5e-10
    """

    label: str
    mechanism: str
    question: Question
    sensitivity: float
    scale: float
    charge: float
    unit: str
    neighbours: str
    values: int = 1
    threshold_scale: float = 0.0
    earlier: bool = False
    bound: Bound | None = None
    format: int = field(default=FORMAT, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers, that the mechanism can answer the question, and that the charge is at least its cost.

        Raises:
            BudgetError: A number is not finite or below 0, the unit or the relation is unknown, the mechanism is not
                one that answers the question, or the charge is less than what follows from mechanism, sensitivity,
                scale and number of values.
        """
        for name in _NUMBERS:
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0.0 <= number < math.inf:
                raise BudgetError(f"the {name} of a ledger event must be a finite number from 0 on, not {number!r}")
        if isinstance(self.values, bool) or not isinstance(self.values, int) or self.values < 1:
            raise BudgetError(f"a ledger event is about at least one value, not {self.values!r}")
        if not isinstance(self.label, str) or not isinstance(self.earlier, bool):
            raise BudgetError("the label of a ledger event is a text, and whether it is an earlier one true or false")
        if self.unit not in _UNITS:
            raise BudgetError(f"a ledger counts {', '.join(_UNITS[:-1])} or {_UNITS[-1]}, not {self.unit!r}")
        try:
            relation = Neighbours.of(self.neighbours)
        except (TypeError, ValueError):
            raise BudgetError(f"there is no neighbouring relation {self.neighbours!r}") from None
        self._check_question()
        if self.mechanism == PUBLIC:
            self._check_public(relation)
        else:
            check_charge(self.of_mechanism, self.charge, self.unit)

    def _check_question(self) -> None:
        question = self.question
        if self.bound is not None and not self._has_bound(self.bound):
            raise BudgetError(f"{self.mechanism!r} has no bound {self.bound!r} in {self.unit}")
        if self.mechanism not in question.mechanisms:
            raise BudgetError(f"{self.mechanism!r} does not answer {self.target!r}")
        if not question.takes(self.values):
            raise BudgetError(f"{self.target!r} is not about {self.values} values")

    def _has_bound(self, bound: Bound) -> bool:
        """Whether there is such a bound on its rho: that of halves where one record leaves a cell for another."""
        question, relation = self.question, Neighbours.of(self.neighbours)
        known = any(bound == name and self.mechanism in mechanisms for name, mechanisms in BOUNDS.items())
        if not known or self.unit != Regime.ZCDP.unit:
            return False
        if bound == PARITIES:
            return isinstance(question, MeasuredParities) and relation.records == 1
        moved = relation.step is not Relation.ADD_REMOVE and relation.records == 1
        return bound != HALVES or (moved and isinstance(question, MeasuredQuery) and question.form in _TABLES)

    def _check_public(self, relation: Neighbours) -> None:
        if not relation.public_total:
            raise BudgetError(f"under {self.neighbours!r} the number of records is not public")
        if self.charge or self.sensitivity or self.scale or self.threshold_scale:
            raise BudgetError("a public number has no noise, and costs nothing")

    @property
    def target(self) -> str:
        """The question in words."""
        return self.question.text(self.values, self.threshold_scale)

    @property
    def purpose(self) -> str:
        """The label, and that it is an earlier one, in words."""
        return f"earlier: {self.label}" if self.earlier else self.label

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
            bound=self.bound,
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
            >>> from hedgerow.privacy import RecordCount
            >>> event = Event("total", "discrete Laplace", RecordCount(), 1.0, 4.0, 0.26, "epsilon", "add-remove")
            >>> event.noise.kind.value, round(event.noise.std, 2)
            ('laplace', 5.64)
        """
        mechanism = None if self.mechanism == PUBLIC else self.of_mechanism
        return mechanism if isinstance(mechanism, AdditiveNoise) else None

    @property
    def scales(self) -> list[tuple[float, Ints | slice]]:
        """The scales of its noise, each with the places of the values that have it."""
        ratios = np.array(self.question.ratios)
        if not ratios.size:
            return [(self.scale, slice(None))]
        return [(self.scale * unit, np.flatnonzero(ratios == unit)) for unit in np.unique(ratios).tolist()]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, in the format of the event."""
        asked = {"question": self.question.to_dict()} if self.format == FORMAT else {"target": self.target}
        return {  # `asdict` copies each value, which takes most of the time of saving a long ledger
            "label": self.label if self.format == FORMAT else self.purpose,
            "mechanism": self.mechanism,
            **asked,
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            "charge": self.charge,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "values": self.values,
            "threshold_scale": self.threshold_scale,
            **({"earlier": self.earlier} if self.format == FORMAT else {}),
            **({} if self.bound is None else {"bound": self.bound}),
        }

    def described(self) -> dict[str, Any]:
        """For JSON that people and their programs read: all fields, and the question in words as ``target`` too."""
        asked = {"target": self.target, "question": self.question.to_dict(), "earlier": self.earlier}
        return {**self.to_dict(), **asked, "label": self.purpose}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Event:
        """Read what `to_dict` wrote, in any format.

        Raises:
            BudgetError: A field is missing, unknown or out of its range.
        """
        if "target" in mapping:
            event = cls(**fields_of(mapping), format=2)
            if event.target != mapping["target"]:
                raise BudgetError(f"an event tells {mapping['target']!r}, and its numbers are others")
            return event
        if set(mapping) - {"bound"} != _FIELDS or mapping.get("bound", "") is None:
            raise BudgetError(f"a ledger event does not have the fields {sorted(mapping)}")
        return cls(**{**mapping, "question": Question.from_dict(mapping["question"])})

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.purpose}: {self.target} by {self.mechanism}, scale {self.scale:.6g}, {self.charge:.6g} {self.unit}"
        )


_FIELDS = {field.name for field in fields(Event)} - {"format", "bound"}
