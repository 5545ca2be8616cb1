"""Averages over the repetitions of an experiment: the table that is pinned, and what drawings and claims read."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.experiment import REPETITION, Cell, Measured, Value
from hedgerow.comparison import interval, text_of
from hedgerow.errors import ConfigError

if TYPE_CHECKING:
    from hedgerow.report import Point

FEWEST_RUNS = 3
"""Intervals for the average of two runs are wider than anything they could be compared with."""
_ENDS = ("mean", "low", "high")


@dataclass(frozen=True)
class Average:
    """One quantity in one cell, averaged over the repetitions.

    Attributes:
        where: The cell without the repetition, and the place in it; texts and numbers.
        quantity: Name of the quantity.
        runs: Number of runs.
        mean: The average.
        low: Lower end of a 95% interval for the average of runs without end; the mean where there are too few runs.
        high: Upper end.
    """

    where: Cell
    quantity: str
    runs: int
    mean: float
    low: float
    high: float


class Results:
    """Averages of an experiment, or some of them.

    Args:
        averages: In the order of the table.

    Example:
        >>> runs = [({"epsilon": 0.1, "repetition": i}, Measured("error", 0.1 * i)) for i in (1, 2, 3)]
        >>> found = Results.of(runs)
        >>> found.values("epsilon"), round(found.mean("error", epsilon=0.1), 3)
        ([0.1], 0.2)
    """

    def __init__(self, averages: Iterable[Average]) -> None:
        """Keep them."""
        self.averages = tuple(averages)

    @classmethod
    def of(cls, runs: Iterable[tuple[Cell, Measured]]) -> Results:
        """Average what was measured."""
        groups: dict[tuple[tuple[tuple[str, Value], ...], str], list[float]] = {}
        for cell, each in runs:
            where = tuple((k, v) for k, v in {**cell, **each.within}.items() if k != REPETITION)
            groups.setdefault((where, each.quantity), []).append(each.value)
        return cls(
            Average(dict(where), quantity, len(values), *_ends(values)) for (where, quantity), values in groups.items()
        )

    def where(self, **conditions: Value) -> Results:
        """The averages whose columns have these values."""
        chosen = conditions.items()
        return Results(each for each in self.averages if all(each.where.get(k) == v for k, v in chosen))

    def values(self, column: str) -> list[Value]:
        """Distinct values of a column, in the order of the table."""
        return list(dict.fromkeys(each.where[column] for each in self.averages if column in each.where))

    def texts(self, column: str) -> list[str]:
        """Distinct values of a column of texts."""
        return [str(value) for value in self.values(column)]

    def numbers(self, column: str) -> list[float]:
        """Distinct values of a column of numbers, from the smallest to the largest."""
        return sorted(float(value) for value in self.values(column))

    def has(self, quantity: str, **conditions: Value) -> bool:
        """Whether there is such an average."""
        return any(each.quantity == quantity for each in self.where(**conditions).averages)

    def one(self, quantity: str, **conditions: Value) -> Average:
        """The only average of a quantity under these conditions.

        Raises:
            KeyError: There is none, or more than one.
        """
        found = [each for each in self.where(**conditions).averages if each.quantity == quantity]
        if len(found) != 1:
            message = f"{len(found)} averages of {quantity} where {conditions}"
            raise KeyError(message)
        return found[0]

    def mean(self, quantity: str, **conditions: Value) -> float:
        """The only average of a quantity under these conditions, as a number.

        Raises:
            KeyError: There is none, or more than one.
        """
        return self.one(quantity, **conditions).mean

    def curve(self, along: str, quantity: str, **conditions: Value) -> list[Point]:
        """Averages of a quantity against a column of numbers, for a drawing; empty where there are none."""
        from hedgerow.report import Point

        found = [each for each in self.where(**conditions).averages if each.quantity == quantity]
        points = [Point(float(each.where[along]), each.mean, each.low, each.high) for each in found]
        return sorted(points, key=lambda point: point.at)

    def text(self) -> str:
        """As a CSV table; numbers with six digits."""
        columns = list(dict.fromkeys(name for each in self.averages for name in each.where))
        rows = (
            {
                **each.where,
                "quantity": each.quantity,
                "runs": each.runs,
                **{name: f"{number:.6g}" for name, number in zip(_ENDS, (each.mean, each.low, each.high), strict=True)},
            }
            for each in self.averages
        )
        return text_of(rows, [*columns, "quantity", "runs", *_ENDS])


def read_results(path: Path) -> Results:
    """Read a table that was written before.

    Raises:
        ConfigError: The file holds something else.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    try:
        return Results(map(_average, rows))
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{path} holds no results of an experiment", remedy="name another file") from error


def _average(row: Mapping[str, str]) -> Average:
    fixed = {"quantity", "runs", *_ENDS}
    where = {name: typed(text) for name, text in row.items() if name not in fixed and text}
    return Average(where, row["quantity"], int(row["runs"]), *(float(row[name]) for name in _ENDS))


def typed(text: str) -> Value:
    """A whole number, a number or a text, as the text reads.

    Example:
        >>> typed("3"), typed("0.5"), typed("mwem")
        (3, 0.5, 'mwem')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _ends(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) >= FEWEST_RUNS and min(values) >= 0.0 and all(map(math.isfinite, values)):
        return interval(values)
    mean = math.fsum(values) / len(values)
    return mean, mean, mean
