"""Entries of domain files for bins: how many, of equal width, by logarithms or by the calendar, and points."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.domain.attribute import MOST_BINS, Binned, attribute_error, closed
from hedgerow.domain.entries.options import MOST_LEARNT
from hedgerow.domain.entries.scales import bound_entry, number_on
from hedgerow.domain.levels import CALENDAR, unit_starts
from hedgerow.domain.scales import Scale

_REMEDY = (
    f"give a number of bins, or {{log: 20}}, or one of {', '.join(CALENDAR)} for dates or times with shorter steps"
)


def edges_of(name: str, edges: Sequence[object], scale: Scale | None) -> list[float]:
    """Bin edges as numbers, on a scale as numbers of steps.

    An edge at the last step twice in a row makes a bin of that step alone.

    Raises:
        DomainError: One is not a number, or not a step of the scale.

    Example:
        >>> from hedgerow.domain import Calendar
        >>> edges_of("admitted", ["1970-01-01", "1970-02-01", "1970-02-01"], Calendar())
        [0, 31, 31.5]
    """
    numbers = [number_on(name, scale, edge) for edge in edges]
    return numbers if scale is None or not numbers else closed(numbers[:-1], numbers[-1])


def edges_entry(attribute: Binned) -> list[Any]:
    """Edges as a domain file has them; ``edges_of`` reads them back.

    Example:
        >>> from hedgerow.domain import Calendar
        >>> edges_entry(Binned("admitted", (0, 31, 31.5), scale=Calendar()))
        ['1970-01-01', '1970-02-01', '1970-02-01']
    """
    if attribute.scale is not None:
        return [bound_entry(math.floor(edge), attribute.scale) for edge in attribute.edges]
    return [int(edge) if edge.is_integer() else edge for edge in attribute.edges]


def edges_of_bins(
    name: str, options: Mapping[str, Any], low: float, high: float, scale: Scale | None, *, whole: bool
) -> tuple[float, ...] | list[float]:
    """Edges of the bins that an entry with ``bins`` describes, and of its ``points``.

    Args:
        name: Name of the attribute.
        options: The entry.
        low: Smallest number, on a scale in steps.
        high: Largest number.
        scale: The scale, if there is one.
        whole: Whether the numbers are whole.

    Raises:
        DomainError: The bins are not understood or too many, or a point is no whole number of the range.

    Example:
        >>> entry = {"bins": {"log": 3}, "points": [0, 999]}
        >>> edges_of_bins("cost", entry, 0, 999, None, whole=True)
        [0, 1, 10, 100, 999, 999.5]
    """
    points = points_of(name, options.get("points", []), low, high, scale, whole=whole)
    starts = _starts(name, options["bins"], (low, high), scale, points, whole=whole)
    if not whole:
        return [*starts, high]
    cut = {math.floor(start) for start in starts} | {*points, *(point + 1 for point in points)}
    last = math.floor(high)
    return closed(sorted(start for start in cut if start <= last), last)


def learnt_bins(name: str, bins: object) -> int | None:
    """The number of bins that are to be learnt from the data; None where ``bins`` says something else.

    Raises:
        DomainError: It is no whole number from 2 to `MOST_LEARNT`.

    Example:
        >>> learnt_bins("age", {"learn": 20}), learnt_bins("age", 20)
        (20, None)
    """
    if not (isinstance(bins, Mapping) and "learn" in bins):
        return None
    number = bins["learn"]
    if len(bins) > 1:
        raise attribute_error(name, "'bins' has more options than 'learn'", "write 'bins: {learn: 20}'")
    if isinstance(number, bool) or not isinstance(number, int) or not 2 <= number <= MOST_LEARNT:
        raise attribute_error(name, f"{number!r} bins to be learnt", f"give a whole number from 2 to {MOST_LEARNT:,}")
    return number


def _starts(
    name: str, bins: object, ends: tuple[float, float], scale: Scale | None, points: Sequence[int], *, whole: bool
) -> list[float]:
    """The smallest number of each bin, points aside."""
    low, high = ends
    if isinstance(bins, Mapping) and set(bins) == {"log"}:
        first, last = low, high
        while first in points:
            first += 1
        while last in points:
            last -= 1
        return [low, *_log_edges(name, _count(name, bins["log"]), first, last, whole=whole)]
    if learnt_bins(name, bins) is not None:
        remedy = "'hedgerow synth' learns them; in Python open_domain reads the file, and learn_domain spends on it"
        raise attribute_error(name, "its bins are to be learnt from the data", remedy)
    unit = next((each for each in CALENDAR if each == bins), None)
    starts = None if unit is None or scale is None else unit_starts(scale, unit, int(low), int(high))
    if starts is not None:
        return [low, *starts]
    equal = Binned.equal_width(name, low, high, _count(name, bins), whole=whole, scale=scale)
    return list(equal.edges[:-1])


def _log_edges(name: str, count: int, low: float, high: float, *, whole: bool) -> list[float]:
    """The smallest numbers of bins whose ends have equal ratios, those from 0 on with 1 added.

    The first bin of fractions begins where all of them do, and is left out.
    """
    if low < 0 or (low == 0 and not whole) or not low < high:
        raise attribute_error(
            name,
            f"bins by logarithms from {low:.12g} to {high:.12g}",
            "begin above 0, or for whole numbers with 0; or give 'edges'",
        )
    shift = 1 if low == 0 else 0
    ratio = (high + shift) / (low + shift)
    edges = [(low + shift) * ratio ** (i / count) - shift for i in range(count)]
    return [float(edge) for edge in sorted({round(edge) for edge in edges} | {low})] if whole else edges[1:]


def points_of(
    name: str, points: object, low: float, high: float, scale: Scale | None, *, whole: bool
) -> tuple[int, ...]:
    """Declared values that have bins of their own.

    Args:
        name: Name of the attribute.
        points: Its points, as the file has them.
        low: Smallest number, on a scale in steps.
        high: Largest number.
        scale: The scale, if there is one.
        whole: Whether the numbers are whole.

    Raises:
        DomainError: They are no list, or one is no whole number of the range.
    """
    if not isinstance(points, list | tuple):
        raise attribute_error(name, "'points' is not a list", "write 'points: [0, 99999]'")
    if points and not whole:
        raise attribute_error(name, "'points' of numbers with fractions", "declare 'whole: true' or a 'step'")
    numbers = [number_on(name, scale, point) for point in points]
    for point, number in zip(points, numbers, strict=True):
        if number != int(number) or not low <= number <= high:
            raise attribute_error(name, f"the point {point!r} is no whole number of its range", "correct it")
    return tuple(map(int, numbers))


def _count(name: str, bins: object) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int):
        raise attribute_error(name, "'bins' is not a whole number", _REMEDY)
    if not 1 <= bins <= MOST_BINS:
        raise attribute_error(name, f"{bins:,} bins", f"give from 1 to {MOST_BINS:,}")
    return bins
