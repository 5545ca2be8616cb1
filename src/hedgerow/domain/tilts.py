"""Densities inside bins that follow the bins beside them, and positions of records inside bins.

Inside a bin the density of values is a straight line whose mean is the density of the bin, so no count changes. Its
slope is the one between the middles of the bins on both sides, held to twice the smaller of the two slopes to its
neighbours and to 0 where these differ in sign, so that the lines go up and down where the bins do (the monotonized
central limiter of van Leer, 1977), and held to what keeps the density positive. A bin at an end, or beside a bin of one
number (a declared point), follows its one neighbour; a bin without neighbours is flat.

A tilt is a slope without a unit: at a part ``u`` of the bin the density is ``1 + tilt (2 u - 1)``, whose mean is
``1/2 + tilt / 6``. Where the mean was measured, and lies beyond what a line that is positive can have, the tilt is
below -1 or above 1, and the density exponential: of all densities with this mean it is nearest to an even one.

Where in its bin a record lies is told by cells inside bins, fine enough for that.

The *position* of a number in its bin goes from -1/2 at the smallest number of the bin to 1/2 at the largest. Sums of
positions over the records of each bin are measured beside the counts of the bins (theory.md section 14.1), and tell
sums and means without a guess of what is inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain.attribute import Attribute, Binned, Ordered, closed, ends_of
from hedgerow.domain.domain import Domain

_RATES = np.linspace(0.0, 200.0, 1 << 12)[1:]
"""Rates of exponential densities; the mean of the steepest one is a 200th of the bin from its end."""
_MEANS = -1.0 / np.expm1(-_RATES) - 1.0 / _RATES - 0.5
"""How far their means are from the middle of the bin."""


def tilts_of(attribute: Binned, counts: Floats) -> Floats:
    """The tilts of all bins.

    Args:
        attribute: The bins.
        counts: Public counts or shares of its codes, shape ``(attribute.size,)``; negative ones count as 0.

    Returns:
        Tilts from -1 to 1, shape ``(attribute.ordinary,)``.

    Example:
        >>> tilts_of(Binned("x", (0, 1, 2, 3)), np.array([1.0, 2.0, 3.0])).tolist()
        [0.5, 0.25, 0.16666666666666666]
    """
    low, high = ends_of(attribute)
    high = high + attribute.whole
    widths, masses = high - low, np.maximum(counts[: attribute.ordinary], 0.0)
    densities, middles = masses / widths, (low + high) / 2.0
    slopes = np.full(attribute.ordinary + 1, np.nan)  # between neighbours; none across the ends and points
    slopes[1:-1] = np.diff(densities) / np.diff(middles)
    alone = (widths == 1.0) & attribute.whole
    slopes[:-1][alone] = slopes[1:][alone] = np.nan
    left = np.where(np.isnan(slopes[:-1]), slopes[1:], slopes[:-1])
    right = np.where(np.isnan(slopes[1:]), slopes[:-1], slopes[1:])
    least = np.minimum(2.0 * np.minimum(np.abs(left), np.abs(right)), np.abs(left + right) / 2.0)
    limited = np.where(np.sign(left) == np.sign(right), np.sign(left) * least, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilts = limited * widths / (2.0 * densities)
    return np.asarray(np.clip(np.nan_to_num(tilts, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0))


def positions_of(attribute: Binned, counts: Floats) -> Floats:
    """The mean positions of numbers that are drawn with the tilts of the bins, from -1/2 to 1/2.

    Args:
        attribute: See `tilts_of`.
        counts: See `tilts_of`.

    Example:
        >>> positions_of(Binned("x", (0, 1, 2, 3)), np.array([1.0, 2.0, 3.0])).round(3).tolist()
        [0.083, 0.042, 0.028]
    """
    tilts = tilts_of(attribute, counts) / 6.0
    if not attribute.whole:
        return tilts
    low, high = ends_of(attribute)
    return np.asarray(tilts * (high - low + 2.0) / (high - low + 1.0) * (high > low))


def tilts_of_positions(attribute: Binned, positions: Floats) -> Floats:
    """The tilts with which drawn numbers have given mean positions in their bins.

    Whole numbers are drawn as parts of a bin that are rounded down, so that their mean moves less than that of parts.

    Args:
        attribute: The bins.
        positions: Mean positions from -1/2 to 1/2, shape ``(attribute.ordinary,)``.

    Example:
        >>> tilts_of_positions(Binned("x", (0, 1, 2)), np.array([-0.1, 0.25])).tolist()
        [-0.6000000000000001, 1.5]
    """
    low, high = ends_of(attribute)
    tilts = 6.0 * positions
    if attribute.whole:
        widths = high - low
        tilts *= (widths + 1.0) / (widths + 2.0)  # rounded parts of a line
        for code in np.flatnonzero(np.abs(tilts) > 1.0):
            wanted, count = abs(positions[code]), widths[code] + 1.0
            means = (
                count / -np.expm1(-_RATES) + 1.0 / np.expm1(-_RATES / count) - widths[code] / 2.0
            )  # of rounded parts
            rate = np.interp(wanted, means / widths[code], _RATES)
            tilts[code] = 6.0 * np.sign(positions[code]) * np.interp(rate, _RATES, _MEANS)
    return np.clip(tilts, -6.0 * _MEANS[-1], 6.0 * _MEANS[-1])


def leaning(parts: Floats, tilts: Floats) -> Floats:
    """Parts of bins at which the distribution of a tilt reaches uniform draws: its inverse.

    Args:
        parts: Draws from 0 to 1.
        tilts: A tilt for each.

    Example:
        >>> leaning(np.array([0.0, 0.25, 0.25]), np.array([1.0, 1.0, 0.0])).tolist()
        [0.0, 0.5, 0.25]
    """
    drawn, steep = _on_lines(parts, np.clip(tilts, -1.0, 1.0)), np.abs(tilts) > 1.0
    if steep.any():
        rates = _rates(tilts[steep])
        drawn[steep] = np.log1p(parts[steep] * np.expm1(rates)) / rates
    return np.asarray(np.clip(drawn, 0.0, np.nextafter(1.0, 0.0)))


def _rates(tilts: Floats) -> Floats:
    """Rates r of densities proportional to exp(r u) with the means 1/2 + tilt / 6, by a table of them."""
    return np.asarray(np.sign(tilts) * np.interp(np.abs(tilts) / 6.0, _MEANS, _RATES))


def _on_lines(parts: Floats, tilts: Floats) -> Floats:
    up = 1.0 - tilts
    below = up + np.sqrt(up * up + 4.0 * tilts * parts)
    return np.asarray(2.0 * parts / np.where(below > 0.0, below, 1.0))


CELLS = 1 << 15
"""Most cells of all bins of a column together, unless there are more bins ..."""
_COLUMNS = 64
"""... and of all columns together so many times as many."""


@dataclass(frozen=True, eq=False)
class BinCells:
    """The cells of a column in bins.

    Attributes:
        column: The column with a bin for each cell.
        bins: The bin of each cell, shape ``(column.ordinary,)``.
        positions: The position in its bin of the middle of each cell, likewise.
        half: Half of the width of the widest cell of each bin, in numbers of the column: 0 where every number has a
            cell; shape ``(number of bins,)``.
    """

    column: Ordered
    bins: Ints
    positions: Floats
    half: Floats

    @classmethod
    def of(cls, column: Binned, cells: int = CELLS) -> BinCells:
        """Cut every bin into cells of about equal widths, of one number each where there are few numbers.

        Args:
            column: The column.
            cells: Most cells of all bins together, unless there are more bins.

        Example:
            >>> cells = BinCells.of(Binned("hours", [0, 2, 6], whole=True))
            >>> cells.column.edges, cells.bins.tolist()
            ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5), [0, 0, 1, 1, 1, 1, 1])
            >>> cells.positions.tolist()
            [-0.5, 0.5, -0.5, -0.25, 0.0, 0.25, 0.5]
        """
        low, high = ends_of(column)
        most = max(1, cells // column.ordinary)
        edges, bins, positions, half = list[float](), list[int](), list[float](), list[float]()
        for code, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            width = last - first
            if column.whole:
                count = min(most, round(width) + 1)
                starts = first + np.floor(np.arange(count) * (width + 1.0) / count)
                ends = np.append(starts[1:] - 1.0, last)
            else:
                starts = first + np.arange(most) * (width / most)
                starts = starts[np.append(True, np.diff(starts) > 0.0) & (starts < last)]
                ends = np.append(starts[1:], last)
            middle = (starts + ends) / 2.0 - (first + last) / 2.0
            edges += starts.tolist()
            bins += [code] * len(starts)
            positions += (middle / width if width > 0.0 else np.zeros(len(starts))).tolist()
            half.append(float((ends - starts).max()) / 2.0)
        closing = closed([round(edge) for edge in edges], round(high[-1])) if column.whole else [*edges, high[-1]]
        finer = Binned(
            column.name, closing, whole=column.whole, scale=column.scale, missing=column.missing, other=column.other
        )
        return cls(finer, np.array(bins), np.array(positions), np.array(half))

    @classmethod
    def of_numbers(cls, column: Ordered, cells: BinCells | None = None) -> BinCells:
        """All numbers of a column as one bin.

        Args:
            column: The column.
            cells: The cells of its bins; None where its numbers are told one by one. `half` stays that of its bins.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> BinCells.of_numbers(IntegerRange("age", 0, 4)).positions.tolist()
            [-0.5, -0.25, 0.0, 0.25, 0.5]
            >>> hours = Binned("hours", [0, 2, 6], whole=True)
            >>> BinCells.of_numbers(hours, BinCells.of(hours)).positions.round(2).tolist()
            [-0.5, -0.33, -0.17, 0.0, 0.17, 0.33, 0.5]
        """
        low, high = ends_of(column)
        middle, width = (low[0] + high[-1]) / 2.0, high[-1] - low[0]
        numbers, finer, half = low, column, np.zeros(len(low))
        if cells is not None:
            numbers = ((low + high) / 2.0)[cells.bins] + cells.positions * (high - low)[cells.bins]
            finer, half = cells.column, cells.half
        positions = np.clip((numbers - middle) / (width or 1.0), -0.5, 0.5)
        return cls(finer, np.zeros(len(numbers), dtype=np.int64), positions, half)


@lru_cache(maxsize=4)
def bin_cells(domain: Domain) -> Mapping[str, BinCells]:
    """The cells of the columns that have bins of several numbers, by name.

    Columns that are measured from or to another one are left out.

    Args:
        domain: The domain.

    Example:
        >>> list(bin_cells(Domain([Binned("hours", [0, 2, 6], whole=True), Binned("code", [0, 1, 1.5], whole=True)])))
        ['hours']
    """
    apart = {name for span in domain.spans for name in (span.length, span.start, span.end)}
    columns = [each for each in domain if isinstance(each, Binned) and each.name not in apart]
    wide = [column for column in columns if bool(np.less(*ends_of(column)).any())]
    return {column.name: BinCells.of(column, CELLS * _COLUMNS // max(_COLUMNS, len(wide))) for column in wide}


@lru_cache(maxsize=4)
def with_bin_cells(domain: Domain, beside: frozenset[str] = frozenset()) -> Domain | None:
    """The columns of a domain that have bins of several numbers, with a bin for each cell; None if none is left.

    Columns that are measured from or to another one are left out.

    Args:
        domain: The domain.
        beside: Other columns that stay as they are, and levels of columns without bins, which are kept with these.

    Example:
        >>> wide = Binned("hours", [0, 2, 6], whole=True)
        >>> with_bin_cells(Domain([wide])).shape
        (7,)
    """
    cells, ends = bin_cells(domain), {span.end for span in domain.spans}
    levels = [each for each in domain.derived if each.name in beside and len(each.sources) == 1 and not each.column]
    levels = [each for each in levels if each.sources[0] not in cells]
    beside = beside.union(*(each.sources for each in levels))
    finer: list[Attribute] = []
    for column in domain:
        if column.name in cells:
            finer.append(cells[column.name].column)
        elif column.name in beside:
            finer.append(column)
    if not finer:
        return None
    kept = {column.name for column in finer} | {level.name for level in levels}
    rest = {*domain.all_names, *domain.ignored, *ends} - kept
    return Domain(
        finer,
        levels,
        unleveled=[column.name for column in finer],
        ignored=sorted(rest),
        draft=domain.draft,
        trusted_types=domain.trusted_types,
        layout=domain.layout,
    )
