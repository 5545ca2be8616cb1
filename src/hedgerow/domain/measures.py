"""Measures: durations between two columns of exact dates, while a table is read, and their ends when it is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.domain.attribute import Attribute, Binned, IntegerRange, attribute_error
from hedgerow.domain.clocks import SECONDS, Durations
from hedgerow.domain.domain import Domain
from hedgerow.domain.encoding import BinEncoder, Fault, IntegerEncoder
from hedgerow.domain.scales import EPOCH, Calendar, Moments, Scale
from hedgerow.domain.spans import Span

UNKNOWN = "?"
"""Text of the end of a duration that begins at an unknown date, where no text is declared."""


@dataclass(frozen=True)
class Measure:
    """The exact dates of a span: each column in steps of its scale, whatever bins the attribute has.

    Attributes:
        length: The duration.
        start: Every date or time that it can begin at.
        end: Every date or time that it can end at, on the same scale.

    Example:
        >>> from hedgerow.domain.spans import Span
        >>> stay = IntegerRange("stay", 0, 9, scale=Durations(86_400, unit="d"))
        >>> admitted = Binned("admitted", (0, 31, 59), scale=Calendar())
        >>> measure = measure_of(Span("stay", "admitted", "discharged"), admitted, stay)
        >>> measure.end.labels[-1], measure.codes(np.array([0, 40]), np.array([2, 49])).tolist()
        ('1970-03-10', [2, 9])
        >>> measure.ends(np.array([40]), np.array([9])).tolist()
        [49]
    """

    length: IntegerRange | Binned
    start: IntegerRange
    end: IntegerRange

    @property
    def _steps(self) -> int:
        """Steps of dates in a step of durations."""
        return _seconds(self.length.scale) // _seconds(self.start.scale)

    def codes(self, starts: Ints, ends: Ints, otherwise: NDArray[Any] | None = None) -> Ints:
        """Codes of durations, or a ``Fault`` for each that fits none; an unknown end makes an unknown duration.

        Args:
            starts: Codes of ``start``, shape ``(n,)``; or a ``Fault``.
            ends: Codes of ``end``.
            otherwise: Codes of durations where dates are unknown; by default that of the missing or the other one.
        """
        starts, ends = starts.astype(np.int64), ends.astype(np.int64)
        apart = ends + self.end.minimum - starts - self.start.minimum
        steps, rest = np.divmod(apart, self._steps)
        unknown = (starts >= self.start.ordinary) | (ends >= self.end.ordinary)
        ordinary = _encoder(self.length).ordinary(steps)
        scale = self.length.scale
        if not (isinstance(scale, Durations) and scale.down):
            ordinary[rest != 0] = Fault.NOT_WHOLE
        if self.length.other_code is not None:
            ordinary[ordinary == Fault.OUT_OF_RANGE] = self.length.other_code
        codes = (self.length.missing_code, self.length.other_code, Fault.MISSING)
        ordinary[unknown] = next(code for code in codes if code is not None)
        if self.length.other_code is not None:
            ordinary[ends == self.end.other_code] = self.length.other_code
        if otherwise is not None:
            ordinary[unknown] = otherwise[unknown]
        ordinary[(starts < 0) | (ends < 0)] = 0  # these are faults of their own
        return ordinary

    def seconds(self, starts: Ints, ends: Ints) -> Ints:
        """Seconds between dates, for messages.

        Args:
            starts: Codes of ``start``.
            ends: Codes of ``end``.
        """
        return (ends.astype(np.int64) + self.end.minimum - starts - self.start.minimum) * _seconds(self.start.scale)

    def ends(self, starts: Ints, lengths: Ints) -> Ints:
        """Codes of the ends of durations.

        Args:
            starts: Numbers on the scale of dates.
            lengths: Numbers on the scale of durations.
        """
        return starts + lengths * self._steps - self.end.minimum


def _encoder(attribute: IntegerRange | Binned) -> IntegerEncoder | BinEncoder:
    return IntegerEncoder(attribute) if isinstance(attribute, IntegerRange) else BinEncoder(attribute)


def measure_of(span: Span, start: Attribute, length: Attribute) -> Measure:
    """The measure of a span.

    Args:
        span: The span.
        start: The attribute that it begins at.
        length: Its duration.

    Raises:
        DomainError: The one is none of days or times, the other none of durations, or its steps are shorter.
    """
    dated = isinstance(start, IntegerRange | Binned) and isinstance(start.scale, Calendar | Moments)
    if not isinstance(start, IntegerRange | Binned) or not dated or _seconds(start.scale) == 0:
        raise attribute_error(
            span.length,
            f"{span.start!r} holds neither days nor times",
            "name a column with dates or times as bounds, as in 'min: 2020-01-01', under 'from'",
        )
    if not isinstance(length, IntegerRange | Binned) or not isinstance(length.scale, Durations):
        raise attribute_error(
            span.length, "it lies between two columns and is no duration", "declare it so, as in 'unit: d'"
        )
    if _seconds(length.scale) % _seconds(start.scale):
        raise attribute_error(
            span.length, f"its steps are no whole number of those of {span.start!r}", "give longer steps"
        )
    (low, high), (least, most) = _ends(start), _ends(length)
    steps = _seconds(length.scale) // _seconds(start.scale)
    missing = start.missing or length.missing or (UNKNOWN if start.other or length.other else None)
    other = None if length.other == missing else length.other
    exact = IntegerRange(span.start, low, high, scale=start.scale, missing=start.missing, other=start.other)
    first, last = low + min(least * steps, 0), high + most * steps
    day = SECONDS["d"]
    days = (number * _seconds(start.scale) // day + EPOCH for number in (first, last))
    if not all(date.min.toordinal() <= day <= date.max.toordinal() for day in days):
        raise attribute_error(
            span.length, f"{span.end!r} may lie before the year 1 or after 9999", "give narrower bounds"
        )
    return Measure(length, exact, IntegerRange(span.end, first, last, scale=start.scale, missing=missing, other=other))


def written(domain: Domain) -> tuple[Attribute, ...]:
    """The columns of a table of records: those of the domain, and the ends of spans in place of their durations.

    Example:
        >>> from hedgerow.domain.spans import Span
        >>> days = IntegerRange("day", 0, 9, scale=Calendar())
        >>> stay = IntegerRange("stay", 0, 9, scale=Durations(86_400))
        >>> [each.name for each in written(Domain([days, stay], spans=[Span("stay", "day", "left")]))]
        ['day', 'left']
    """
    spans = {span.length: span for span in domain.spans}
    columns: dict[str, Attribute] = {}
    for column in domain.columns:
        span = spans.get(column.name)
        if span is None or span.column:
            columns[column.name] = column
        if span is not None:
            columns[span.end] = measure_of(span, domain[span.start], column).end
    return tuple(columns[name] for name in domain.layout.sorted(columns))


def _seconds(scale: Scale | None) -> int:
    """Seconds of a step; 0 where it is none of days, times or durations."""
    if isinstance(scale, Moments | Durations):
        return scale.seconds
    return SECONDS["d"] if isinstance(scale, Calendar) and scale.unit == "day" else 0


def _ends(attribute: IntegerRange | Binned) -> tuple[int, int]:
    """The smallest and the largest number."""
    if isinstance(attribute, IntegerRange):
        return attribute.minimum, attribute.maximum
    return attribute.whole_bounds(0)[0], attribute.whole_bounds(attribute.ordinary - 1)[1]
