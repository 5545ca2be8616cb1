"""Events of a ledger as an auditor reads them: exact numbers, and nothing taken for granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from hedgerow.audit.exact import exact

_TEXTS = ("label", "mechanism", "target", "unit", "neighbours")
_NUMBERS = ("sensitivity", "scale", "charge")
_FIELDS = {*_TEXTS, *_NUMBERS, "values"}
_THRESHOLD = "threshold_scale"


@final
@dataclass(frozen=True)
class Entry:
    """An event of a ledger.

    Attributes:
        number: Its place, from 1 on.
        label: What it was for.
        mechanism: Name of the mechanism.
        target: What was asked, in words.
        sensitivity: How far one record moves what the noise was added to.
        scale: Scale of the noise.
        charge: What it cost, in the unit.
        unit: ``"epsilon"`` or ``"rho"``.
        neighbours: The neighbouring relation.
        values: How many values, draws or fires.
        threshold_scale: Scale of a sparse vector's threshold noise; None in files that do not say it.

    Example:
        >>> event = {"label": "measure", "mechanism": "discrete Laplace", "target": "sex", "sensitivity": 1.0,
        ...     "scale": 2.0, "charge": 0.5, "unit": "epsilon", "neighbours": "replace", "values": 2}
        >>> entry = Entry.of(1, event)
        >>> entry.charge, entry.name
        (Fraction(1, 2), "event 1, measure of 'sex'")
    """

    number: int
    label: str
    mechanism: str
    target: str
    sensitivity: Fraction
    scale: Fraction
    charge: Fraction
    unit: str
    neighbours: str
    values: int
    threshold_scale: Fraction | None

    @classmethod
    def of(cls, number: int, mapping: Mapping[str, Any]) -> Entry:
        """Read the event of a JSON text.

        Raises:
            TypeError: A field is of another kind.
            ValueError: A field is missing or unknown, or out of its range.
        """
        if not isinstance(mapping, Mapping) or set(mapping) - {_THRESHOLD} != _FIELDS:
            raise ValueError(f"event {number} does not have the fields of an event")
        for name in _TEXTS:
            if not isinstance(mapping[name], str):
                raise TypeError(f"the {name} of event {number} is no text")
        amounts = {name: exact(mapping[name]) for name in (*_NUMBERS, _THRESHOLD) if name in mapping}
        for name, amount in amounts.items():
            if amount < 0:
                raise ValueError(f"the {name} of event {number} is negative")
        values = mapping["values"]
        if isinstance(values, bool) or not isinstance(values, int) or values < 1:
            raise ValueError(f"event {number} is about {values!r} values")
        return cls(
            number=number,
            label=mapping["label"],
            mechanism=mapping["mechanism"],
            target=mapping["target"],
            sensitivity=amounts["sensitivity"],
            scale=amounts["scale"],
            charge=amounts["charge"],
            unit=mapping["unit"],
            neighbours=mapping["neighbours"],
            values=values,
            threshold_scale=amounts.get(_THRESHOLD),
        )

    @property
    def name(self) -> str:
        """The event, for a message."""
        return f"event {self.number}, {self.label} of {self.target!r}"

    @property
    def about_earlier(self) -> bool:
        """Whether it was charged for an earlier release, or for noise that was lost: nothing of it is in the file."""
        return self.label == "lost" or self.label.startswith("earlier")
