"""Bounds and measured errors side by side: drawings, and figures for claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from experiments.experiment import Cell, Value
from experiments.results import Average, Results
from experiments.theory.study import ERROR, GAP, UPDATES
from hedgerow.report import Panel, Point

MOST_FAILURE = "probability with which it may be passed"
PASSED = "share of the runs that passed it"
WHATS = (ERROR, UPDATES, GAP)


def bound_on(what: str) -> str:
    """The quantity that bounds another.

    Example:
        >>> bound_on("gap")
        'bound on gap'
    """
    return f"bound on {what}"


@dataclass(frozen=True)
class Sheet:
    """One panel.

    Attributes:
        topic: Its studies.
        title: Above it.
        what: Along the vertical axis.
    """

    topic: str
    title: str
    what: str = ERROR

    def panel(self, found: Results) -> Panel:
        """Measured averages with their bands, and the bounds."""
        own = found.where(topic=self.topic)
        runs, names = own.texts("run"), self._bounds(own)
        return Panel(
            self.title,
            self.what,
            {run: own.curve("at", self.what, run=run) for run in runs},
            bounds={name: _line(own, bound_on(self.what), name) for name in names},
            along=" / ".join(own.texts("parameter")),
        )

    def _bounds(self, own: Results) -> list[str]:
        here = [each for each in own.averages if each.quantity == bound_on(self.what)]
        return list(dict.fromkeys(str(each.where["bound"]) for each in here))


def _line(own: Results, quantity: str, name: str) -> list[Point]:
    """Where several runs have the same bound their averages agree, but for where the bound depends on the run."""
    points = {point.at: point for point in own.curve("at", quantity, bound=name)}
    return [points[place] for place in sorted(points)]


@dataclass(frozen=True)
class Held:
    """A bound at one place, with what was measured there.

    Attributes:
        where: The study, and the place in it.
        name: Name of the bound.
        what: Is bounded.
        bound: Average over the runs.
        measured: Average over the runs.
        runs: Number of runs.
        passed: Number of runs that passed the bound.
        failure: Probability with which a run may.
    """

    where: Cell
    name: str
    what: str
    bound: float
    measured: float
    runs: int
    passed: float
    failure: float

    @property
    def says_something(self) -> bool:
        """An error is below 1, and a theorem whose probability is 0 says nothing."""
        return self.failure < 1.0 and (self.what != ERROR or self.bound < 1.0)

    @property
    def ratio(self) -> float:
        """Bound over measured; infinite where nothing was measured."""
        return self.bound / self.measured if self.measured > 0.0 else float("inf")


def held(found: Results, topics: Sequence[str] | None = None) -> list[Held]:
    """All bounds at all places.

    Args:
        found: The averages.
        topics: Topics of the studies; all unless given.
    """
    own = found.texts("topic") if topics is None else topics
    return [each for topic in own for each in _held(found.where(topic=topic))]


def _held(own: Results) -> Iterator[Held]:
    index = {_key(each): each for each in own.averages}
    for each in own.averages:
        for what in WHATS:
            if each.quantity == bound_on(what):
                place = {name: value for name, value in each.where.items() if name != "bound"}
                name = str(each.where["bound"])
                measured = index[(*sorted(place.items()), what)]
                passed, failure = (index[_key(each, quantity)].mean for quantity in (PASSED, MOST_FAILURE))
                yield Held(place, name, what, each.mean, measured.mean, each.runs, round(passed * each.runs), failure)


def _key(each: Average, quantity: str = "") -> tuple[tuple[str, Value] | str, ...]:
    return (*sorted(each.where.items()), quantity or each.quantity)


def ratios(bounds: Iterable[Held]) -> dict[str, tuple[float, float]]:
    """Ratios of the bounds to the measured average, from the least to the most, where they say something."""
    telling = [each for each in bounds if each.says_something]
    return {
        name: (min(values), max(values))
        for name in dict.fromkeys(each.name for each in telling)
        if (values := [each.ratio for each in telling if each.name == name])
    }
