"""The shape of every experiment: a grid of cells, values measured in a cell, claims of the paper, and drawings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from experiments.datasets import DataSets
    from experiments.results import Results
    from hedgerow.report import Panel

Value = str | int | float
Cell = Mapping[str, Value]
"""One piece of an experiment, measured in one go: a value for each of its ``grid``, ``repetition`` among them."""

REPETITION = "repetition"
"""The column over which averages are taken."""

SECONDS = "seconds"
"""Quantity of the time that a cell took, the last of its measured values."""

_LEFT_OUT = 5.1e-6
"""Part of an average by which the pinned one may differ because it is written with six digits."""


class Size(Enum):
    """Size of the grid: as in the paper, a few minutes, or just enough to test the script."""

    FULL = "full"
    QUICK = "quick"
    TINY = "tiny"


@dataclass(frozen=True)
class Measured:
    """A value that was measured in a cell.

    Attributes:
        quantity: Name of the quantity, with its unit where it has one: ``"largest error"``, ``"bytes"``.
        value: The number.
        within: Place in the cell, by the names of ``Experiment.within``: a round, for instance.

    Example:
        >>> Measured("largest error", 0.25, {"round": 3}).within["round"]
        3
    """

    quantity: str
    value: float
    within: Cell = field(default_factory=dict)


@dataclass(frozen=True)
class Tolerance:
    """The distance that an average may have from the pinned one when the experiment is run again.

    Runs are seeded, so that they agree to the last digits on the same processor; on another one a rounding error can
    change what is selected, and then all that follows. A tolerance is about as wide as the noise of the averages.

    Attributes:
        relative: Part of the pinned average.
        absolute: Added to that, in the unit of the quantity.

    Example:
        >>> Tolerance(0.1).allows(1.05, pinned=1.0), Tolerance(0.1).allows(1.2, pinned=1.0)
        (True, False)
    """

    relative: float = 0.0
    absolute: float = 0.0

    def allows(self, mean: float, *, pinned: float) -> bool:
        """Whether an average is near enough, what the table leaves out of the pinned one aside."""
        return mean == pinned or abs(mean - pinned) <= self.absolute + (self.relative + _LEFT_OUT) * abs(pinned)


@dataclass(frozen=True)
class Claim:
    """A statement, and whether the figures bear it out.

    Attributes:
        text: The statement; the paper's, or the theory's.
        holds: Whether the figures bear it out.
        figures: The figures that say so, in a few words.

    Example:
        >>> Claim("noise shrinks", holds=True, figures="0.2 to 0.1").text
        'noise shrinks'
    """

    text: str
    holds: bool
    figures: str


@dataclass(frozen=True)
class Drawing:
    """One SVG file.

    Attributes:
        panels: From left to right, two to a row.
        along: Label of the horizontal axes.
        caption: One sentence under the drawing.
        stamp: Text above the panels, which says whether the figures are protected by anything.
    """

    panels: Sequence[Panel]
    along: str
    caption: str
    stamp: str = "NOT PRIVATE: exact errors, on public data"


class Experiment(Protocol):
    """An experiment; each stands in a module of its own, beside its pinned table, its drawings and its notes.

    Attributes:
        name: As the command line knows it; its files have that name too.
        title: A few words.
        source: The paper and the figure, or the section of the theory.
        grid: Names of what tells cells apart, ``repetition`` last.
        within: Names of what tells values of one quantity in a cell apart.
        tolerances: By quantity; quantities that are left out are told but not compared, as times are.
        alone: Whether cells are measured one at a time, because times are.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    grid: ClassVar[tuple[str, ...]]
    within: ClassVar[tuple[str, ...]] = ()
    tolerances: ClassVar[Mapping[str, Tolerance]]
    alone: ClassVar[bool] = False

    def cells(self, size: Size) -> Sequence[Cell]:
        """The cells, in the order in which they are measured: all of one repetition before the next."""
        ...

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Measure one cell; the same values every time, but for times."""
        ...

    def claims(self, found: Results) -> list[Claim]:
        """The claims that the measured cells say something about."""
        ...

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Drawings by the ending of their file names; the only one has the empty ending."""
        ...


def seed_of(name: str, cell: Cell) -> int:
    """A seed for a cell, the same whatever else is in the grid.

    Args:
        name: Name of the experiment, or of whatever is to be the same in several of its cells.
        cell: Values that the seed depends on.

    Example:
        >>> seed_of("a", {"epsilon": 0.1, "repetition": 1}) == seed_of("a", {"epsilon": 0.1, "repetition": 2})
        False
    """
    text = "/".join([name, *(f"{key}={value}" for key, value in sorted(cell.items()))])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
