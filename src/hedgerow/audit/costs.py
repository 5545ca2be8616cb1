"""Events of a ledger as an auditor reads them, and what they cost by formulas of the auditor's own.

Numbers are exact, and nothing is taken for granted. The proofs of the costs are in docs/theory.md section 0.

With sensitivity s, scale b and n values, draws or fires:

| mechanism | loss x | pure epsilon | zCDP rho | GDP mu^2 / 2 |
|---|---|---|---|---|
| discrete Laplace | s / b | x | x tanh(x / 2) | g(x) |
| discrete Gaussian | | none | s^2 / (2 b^2) | s^2 / b^2 / (1 + sqrt(1 - 1 / (3 b^2))), below b = 0.58 2 s^2 / b^2 |
| the same, bound "halves" | s / b | | x tanh(x / 4) | |
| the same, bound "parities" | s / b | | x tanh(1 / b) | |
| exponential mechanism | 2 s / b | x | x^2 / 8 | g(x / 2) |
| the same, bound "exact" | 2 s / b | | r(x) | |
| permute-and-flip | 2 s / b | x | x tanh(x / 2) | g(x) |
| exponential mechanism, one draw or independent draws | 2 s / b + 2^-38 | n x | n x^2 / 8, or n r(x) | n g(x / 2) |
| discrete Laplace or Gaussian above a threshold | | as the noise alone | | |
| sparse vector, threshold noise of scale t | s / t + 2 n s / b | x | x tanh(x / 2) | g(x) |
| the same, bound "renyi" | | | max(3 s'^2 / (4 t^2), n s'^2 / b^2) | |
| selection among runs, of epsilon s each, n = b of them in the mean | | ln((1 + b e^s) / (b + e^s)) | none | none |
| public | | 0 | 0 | 0 |

s' is s in whole steps of 2^-10 counts, rounded up, and one step more (docs/theory.md section 4.1).

r(x) is ``u - 1 - ln u``, u = x / (e^x - 1): the largest relative entropy of two laws whose log-ratio lies in an
interval of length x. Bound "halves" is for whole tables, where one record that is replaced moves two cells by one;
"parities" for several of these, of which one record moves each by 2 at most.

Counts above a threshold T cost a delta beside that: ``max(Pr(Z >= T - m), m Pr(Z >= T - 1))``, where one person has m
records at most.

g(x) is 2 z^2 with Phi(z) = 1 / (1 + e^-x), in `gaussian`; the proofs for GDP are in docs/theory.md section 12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.audit.exact import Bounds, entropy_of_range, exact, price_of_runs, tanh_of_half
from hedgerow.audit.gaussian import cost_of_noise, cost_of_pure
from hedgerow.audit.questions import (
    EXACT,
    HALVES,
    PARITIES,
    RENYI,
    SPARSE_VECTOR,
    THRESHOLDED,
    Question,
    question_of,
)
from hedgerow.audit.relations import check_relation, moves_two, records_of_person

_TEXTS = ("label", "mechanism", "unit", "neighbours")
_NUMBERS = ("sensitivity", "scale", "charge", "threshold_scale")
_FIELDS = {*_TEXTS, *_NUMBERS, "values"}
_EARLIER = "earlier: "
"""Before the labels of events of format 2 that an earlier release was charged for."""
UNITS = ("epsilon", "rho", "mu^2/2")
"""Units that ledgers count in."""
_SUMMED = 1024
"""Largest sigma whose tail is summed up."""
_SIGMAS = 40
_SMALLEST = Fraction(1, 10**300)
"""Tails below it are no floats any more."""
_SLACK = Fraction(1) + Fraction(1, 2**30)
"""More than the rounding of these sums."""
_ROUNDING_OF_WEIGHTS = Fraction(1, 2**38)
_BOUNDS = {
    RENYI: (SPARSE_VECTOR,),
    EXACT: (
        "exponential mechanism",
        "exponential mechanism, one draw",
        "exponential mechanism, independent draws",
    ),
    HALVES: ("discrete Laplace",),
    PARITIES: ("discrete Laplace",),
}
_TABLES = ("marginal", "blocks")
_STEPS = 1024
"""Steps of a count, between which a sparse vector's values and thresholds are compared."""


@dataclass(frozen=True)
class Entry:
    """An event of a ledger.

    Attributes:
        number: Its place, from 1 on.
        label: Purpose of the event.
        mechanism: Name of the mechanism.
        question: The question that it answers.
        sensitivity: Largest change by one record of the number that the noise was added to.
        scale: Scale of the noise.
        charge: Its charge, in the unit.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        neighbours: The neighbouring relation.
        values: Number of values, draws or fires.
        threshold_scale: Scale of a sparse vector's threshold noise, or the threshold of counts.
        earlier: Whether it was charged for an earlier release, whose answers are not in the file.
        bound: ``"renyi"`` for a sparse vector that was charged by its tests, ``"exact"``, ``"halves"`` and
            ``"parities"`` as in the table; else empty.

    Example:
        >>> event = {"label": "measure", "mechanism": "discrete Laplace", "target": "sex", "sensitivity": 1.0,
        ...     "scale": 2.0, "charge": 0.5, "unit": "epsilon", "neighbours": "replace", "values": 2,
        ...     "threshold_scale": 0.0}
        >>> entry = Entry.of(1, event)
        >>> entry.charge, entry.name
        (Fraction(1, 2), "event 1, measure of 'sex'")
    """

    number: int
    label: str
    mechanism: str
    question: Question
    sensitivity: Fraction
    scale: Fraction
    charge: Fraction
    unit: str
    neighbours: str
    values: int
    threshold_scale: Fraction
    earlier: bool
    bound: str = ""

    @classmethod
    def of(cls, number: int, mapping: Mapping[str, Any]) -> Entry:
        """Read the event of a JSON text.

        Raises:
            TypeError: A field is of another kind.
            ValueError: A field is missing or unknown, or out of its range.
        """
        asked = {"target"} if isinstance(mapping, Mapping) and "target" in mapping else {"question", "earlier"}
        optional = set[str]() if "target" in asked else {"bound"}
        if not isinstance(mapping, Mapping) or set(mapping) - optional != _FIELDS | asked:
            raise ValueError(f"event {number} does not have the fields of an event")
        for name in _TEXTS:
            if not isinstance(mapping[name], str):
                raise TypeError(f"the {name} of event {number} is not a text")
        amounts = {name: exact(mapping[name]) for name in _NUMBERS}
        for name, amount in amounts.items():
            if amount < 0:
                raise ValueError(f"the {name} of event {number} is negative")
        values = mapping["values"]
        if isinstance(values, bool) or not isinstance(values, int) or values < 1:
            raise ValueError(f"event {number} is about {values!r} values")
        bound = mapping.get("bound", "")
        if "bound" in mapping and (mapping["unit"] != "rho" or mapping["mechanism"] not in _BOUNDS.get(bound, ())):
            raise ValueError(f"event {number} has no bound {bound!r}")
        label, earlier = mapping["label"], mapping.get("earlier", False)
        if not isinstance(earlier, bool):
            raise TypeError(f"event {number} does not say whether it is an earlier one")
        if "target" in mapping:
            label, earlier = label.removeprefix(_EARLIER), label.startswith(_EARLIER)
        try:
            question = question_of(mapping)
        except ValueError as error:
            raise ValueError(f"event {number}: {error}") from error
        if bound == HALVES and not (question.fields.get("form") in _TABLES and moves_two(mapping["neighbours"])):
            raise ValueError(f"event {number} is not about a table in which two cells move by one")
        if bound == PARITIES and not (question.kind == PARITIES and records_of_person(mapping["neighbours"]) == 1):
            raise ValueError(f"event {number} is not about parities of which each moves by 2 at most")
        return cls(
            number=number,
            label=label,
            mechanism=mapping["mechanism"],
            question=question,
            sensitivity=amounts["sensitivity"],
            scale=amounts["scale"],
            charge=amounts["charge"],
            unit=mapping["unit"],
            neighbours=check_relation(mapping["neighbours"]),
            values=values,
            threshold_scale=amounts["threshold_scale"],
            earlier=earlier,
            bound=bound,
        )

    @property
    def name(self) -> str:
        """The event, for a message."""
        return f"event {self.number}, {'earlier ' * self.earlier}{self.label} of {self.question.text!r}"

    def asks(self, *kinds: str) -> bool:
        """Whether it asks one of these kinds of questions, for this file and not for an earlier release."""
        return self.question.kind in kinds and not self.earlier


def cost(entry: Entry) -> Bounds:  # noqa: PLR0911, PLR0912
    """Bounds on what an event costs, in its unit.

    Raises:
        ValueError: The mechanism has no cost in this unit, or its noise is no noise.

    Example:
        >>> event = {"label": "select", "mechanism": "exponential mechanism", "target": "worst of 3 candidates",
        ...     "sensitivity": 1.0, "scale": 1.0, "charge": 0.5, "unit": "rho", "neighbours": "replace", "values": 1,
        ...     "threshold_scale": 0.0}
        >>> cost(Entry.of(1, event))
        Bounds(low=Fraction(1, 2), high=Fraction(1, 2))
    """
    if entry.unit not in UNITS:
        raise ValueError(f"nothing is counted in {entry.unit!r}")
    if entry.threshold_scale and entry.mechanism not in (SPARSE_VECTOR, *THRESHOLDED):
        raise ValueError(f"{entry.mechanism} has no threshold")
    match entry.mechanism:
        case "public":
            if entry.sensitivity or entry.scale or entry.charge:
                raise ValueError("what is public has no noise and no charge")
            return Bounds.of(Fraction(0))
        case "discrete Laplace" if entry.bound == HALVES:
            half = _of_any_pure(_ratio(entry.sensitivity, entry.scale) / 2, entry.unit)
            return Bounds.of(Fraction(2)).times(half)
        case "discrete Laplace" if entry.bound == PARITIES:
            most = min(Fraction(2), entry.sensitivity)
            each = _of_any_pure(_ratio(most, entry.scale), entry.unit)
            return Bounds.of(entry.sensitivity / most).times(each)
        case "discrete Laplace" | "discrete Laplace above a threshold":
            return _of_any_pure(_ratio(entry.sensitivity, entry.scale), entry.unit)
        case "discrete Gaussian" | "discrete Gaussian above a threshold":
            ratio = _ratio(entry.sensitivity, entry.scale)
            if entry.unit == "rho":
                return Bounds.of(ratio**2 / 2)
            if entry.unit == "mu^2/2":
                return cost_of_noise(entry.sensitivity, entry.scale)
            raise ValueError(f"{entry.mechanism} has no cost in {entry.unit}")
        case "exponential mechanism":
            return _of_bounded_range(2 * _ratio(entry.sensitivity, entry.scale), entry.unit, entry.bound)
        case "permute-and-flip":
            return _of_any_pure(2 * _ratio(entry.sensitivity, entry.scale), entry.unit)
        case "exponential mechanism, one draw" | "exponential mechanism, independent draws":
            loss = 2 * _ratio(entry.sensitivity, entry.scale) + _ROUNDING_OF_WEIGHTS
            return Bounds.of(Fraction(entry.values)).times(_of_bounded_range(loss, entry.unit, entry.bound))
        case "selection among runs" if entry.unit == "epsilon":
            return price_of_runs(entry.sensitivity, entry.scale)
        case "sparse vector" if entry.bound == RENYI:
            moved = Fraction(math.ceil(entry.sensitivity * _STEPS) + 1, _STEPS)
            of_threshold, of_test = _ratio(moved, entry.threshold_scale), _ratio(moved, entry.scale)
            return Bounds.of(max(Fraction(3, 4) * of_threshold**2, entry.values * of_test**2))
        case "sparse vector":
            threshold = _ratio(entry.sensitivity, entry.threshold_scale)
            return _of_any_pure(threshold + 2 * entry.values * _ratio(entry.sensitivity, entry.scale), entry.unit)
    raise ValueError(f"there is no mechanism {entry.mechanism!r}")


def delta_of(entry: Entry) -> Fraction:
    """The probability, rounded up, that an event tells a label which only one of two neighbouring tables has.

    Raises:
        ValueError: Its noise or its threshold is none.

    Example:
        >>> event = {"label": "learn", "mechanism": "discrete Gaussian above a threshold", "target": "labels of job",
        ...     "sensitivity": 1.0, "scale": 10.0, "charge": 0.005, "unit": "rho", "neighbours": "add-remove",
        ...     "values": 1, "threshold_scale": 63.0}
        >>> round(float(delta_of(Entry.of(1, event))) * 1e10, 3)
        3.812
    """
    if entry.mechanism not in THRESHOLDED:
        return Fraction(0)
    threshold, most = entry.threshold_scale, records_of_person(entry.neighbours)
    if threshold.denominator != 1 or threshold < 1 or not entry.scale > 0:
        raise ValueError("a threshold of counts is a whole number from 1 on")
    if threshold < most:
        return Fraction(1)
    tail = _laplace_tail if entry.mechanism == THRESHOLDED[0] else _gaussian_tail
    together, alone = (tail(float(entry.scale), int(threshold) - count) for count in (most, 1))
    return min(Fraction(1), max(together, most * alone, _SMALLEST))


def _laplace_tail(scale: float, least: int) -> Fraction:
    """Pr(Z >= k) = p^k / (1 + p), where p = exp(-1 / scale)."""
    return Fraction(math.exp(-least / scale) / (1.0 + math.exp(-1.0 / scale))) * _SLACK


def _gaussian_tail(scale: float, least: int) -> Fraction:
    """A sum of its terms, by that of all; for wide noise, that of the continuous law one step before."""
    if scale > _SUMMED:
        return Fraction(math.erfc((least - 1) / scale / math.sqrt(2.0)) / 2.0) * _SLACK
    wide = math.ceil(_SIGMAS * scale) + 1
    above = math.fsum(math.exp(-k * k / (2.0 * scale * scale)) for k in range(least, least + wide))
    whole = math.fsum(math.exp(-k * k / (2.0 * scale * scale)) for k in range(-wide, wide + 1))
    return Fraction(above) / Fraction(whole) * _SLACK


def _ratio(sensitivity: Fraction, scale: Fraction) -> Fraction:
    if not (sensitivity > 0 and scale > 0):
        raise ValueError("the sensitivity or the scale of the noise is 0")
    return sensitivity / scale


def _of_any_pure(loss: Fraction, unit: str) -> Bounds:
    """Cost of any mechanism whose log-probabilities move by at most so much: that of randomised response."""
    if unit == "mu^2/2":
        return cost_of_pure(loss)
    return Bounds.of(loss) if unit == "epsilon" else Bounds.of(loss).times(tanh_of_half(loss))


def _of_bounded_range(loss: Fraction, unit: str, bound: str) -> Bounds:
    """Cost of a mechanism whose log-weights move within an interval of so much."""
    if unit == "mu^2/2":
        return cost_of_pure(loss / 2)
    if bound == EXACT:
        return entropy_of_range(loss)
    return Bounds.of(loss if unit == "epsilon" else loss * loss / 8)
