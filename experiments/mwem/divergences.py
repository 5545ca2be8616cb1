"""Curves of relative entropy, what they say about each other, and the panels that show them with their floors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from experiments.mwem.contingency import DIVERGENCE, FLOOR, FLOORS, FOURIER, ORDER
from experiments.mwem.oracle import oracle, oracle_curve
from experiments.results import Results
from hedgerow.report import Panel, Point

UNIFORM = "uniform"


def epsilons(found: Results) -> list[float]:
    """The budgets of the grid, from the smallest to the largest."""
    return found.where(mechanism=FOURIER).numbers("epsilon")


def divergences(found: Results, mechanism: str) -> list[float]:
    """Relative entropies at all epsilons, with the best T where it is chosen by hand.

    Args:
        found: Averages for one table and one set of parities.
        mechanism: Name of the curve.
    """
    return [oracle(found, DIVERGENCE, mechanism=mechanism, epsilon=epsilon).mean for epsilon in epsilons(found)]


def curve(found: Results, mechanism: str) -> list[Point]:
    """The same with intervals, for a drawing."""
    return oracle_curve(found, "epsilon", DIVERGENCE, mechanism=mechanism)


def ratios(found: Results, larger: str, smaller: str) -> list[float]:
    """Ratios of the relative entropy of one mechanism to that of another, at all epsilons."""
    pairs = zip(divergences(found, larger), divergences(found, smaller), strict=True)
    return [first / second for first, second in pairs]


def floors(found: Results) -> dict[int, float]:
    """The least relative entropy of a model of all k-way marginals, by k; that of the uniform distribution by 0."""
    known = [each for each in found.where(mechanism=FLOORS).averages if each.quantity == FLOOR]
    return {int(each.where[ORDER]): each.mean for each in known}


def crossing(first: Sequence[Point], second: Sequence[Point]) -> float | None:
    """From where on the second curve stays below the first, between points on a double logarithmic scale.

    Args:
        first: Means at the same places as those of the second.
        second: The other curve.

    Returns:
        Infinite where the second ends above; None where it is below from the first point on.

    Example:
        >>> def curve(*means): return [Point(at, mean, mean, mean) for at, mean in zip((1, 100), means)]
        >>> flat, falling = curve(2, 2), curve(4, 1)
        >>> round(crossing(flat, falling), 9), crossing(falling, flat), crossing(flat, flat)
        (10.0, inf, inf)
    """
    above = [math.log(b.mean / a.mean) for a, b in zip(first, second, strict=True)]
    last = max((place for place, each in enumerate(above) if each >= 0.0), default=None)
    if last is None:
        return None
    if last == len(above) - 1:
        return math.inf
    share = above[last] / (above[last] - above[last + 1])
    before, after = math.log(first[last].at), math.log(first[last + 1].at)
    return math.exp(before + share * (after - before))


def listed(numbers: Sequence[float]) -> str:
    """Numbers with three digits.

    Example:
        >>> listed([1.0, 0.12345])
        '1, 0.123'
    """
    return ", ".join(f"{number:.3g}" for number in numbers)


def panel(found: Results, title: str, curves: Mapping[str, Sequence[Point]], *, among: Results | None = None) -> Panel:
    """Curves between the uniform distribution and the floors.

    Args:
        found: Averages for one table.
        title: Above the axes.
        curves: By the names of the mechanisms; empty ones are left out.
        among: Where the floors are, if not there.
    """
    uniform, *others = floors(found if among is None else among).values()
    lines = {f"floor of k = {k}": value for k, value in enumerate(others, start=1)}
    ends = (epsilons(found)[0], epsilons(found)[-1])
    bound = [Point(at, uniform, uniform, uniform) for at in ends]
    shown = {name: points for name, points in curves.items() if points}
    return Panel(title, DIVERGENCE, shown, lines=lines, bounds={UNIFORM: bound})
