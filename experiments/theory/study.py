"""A study: runs along one parameter, each read off beside the bounds that theory sets on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.datasets import DataSets
from experiments.experiment import Size

ERROR = "largest error (share of the records)"
UPDATES = "updates of the hypothesis"
ALPHA = "alpha (share of the records)"
GAP = "gap of the game (payoff)"

_RUNS: Mapping[Size, int] = {Size.TINY: 1, Size.QUICK: 3}


@dataclass(frozen=True)
class Ceiling:
    """A bound.

    Attributes:
        name: The theorem.
        value: In the unit of what it bounds.
        failure: Probability with which it may be passed; 0 where nothing is random, 1 where it says nothing.
    """

    name: str
    value: float
    failure: float = 0.0


@dataclass(frozen=True)
class Reading:
    """The result of one run, and its bounds.

    Attributes:
        what: `ERROR`, `UPDATES` or `GAP`.
        value: Exact; not private.
        ceilings: All that bound it.
    """

    what: str
    value: float
    ceilings: tuple[Ceiling, ...]


@dataclass(frozen=True)
class Study:
    """Runs along one parameter.

    Attributes:
        topic: Name of the bounded quantity; studies of one topic are drawn together.
        run: The run, as the legend has it.
        parameter: Name of the parameter that varies, with its unit.
        places: Its values, the cheapest first.
        read: A value of the parameter and a seed, to readings; the same every time.
        repetitions: Number of seeds of the full grid.
    """

    topic: str
    run: str
    parameter: str
    places: tuple[float, ...]
    read: Callable[[float, int, DataSets], Sequence[Reading]] = field(repr=False)
    repetitions: int = 10

    @property
    def key(self) -> tuple[str, str]:
        """The name that tells it apart from other studies."""
        return self.topic, self.run

    def grid(self, size: Size) -> list[tuple[float, int]]:
        """Values and repetitions, the repetition outermost.

        Example:
            >>> Study("none", "nothing", "T", (1, 2), lambda place, seed, data: []).grid(Size.TINY)
            [(1, 1)]
        """
        places = self.places[:1] if size is Size.TINY else self.places
        runs = min(self.repetitions, _RUNS.get(size, self.repetitions))
        return [(place, run) for run in range(1, runs + 1) for place in places]
