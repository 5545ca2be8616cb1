"""The settings of MWEM and their checks; `MWEM` explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from hedgerow.algorithms.shared import Charges, Output
from hedgerow.algorithms.shared.checks import check_choice, check_count, check_fraction, check_shares, is_count
from hedgerow.errors import ConfigError
from hedgerow.models import LARGEST_TREE, Proximal, Refit, Step
from hedgerow.privacy import Law
from hedgerow.queries import Neighbours, NoiseKind

NamedRounds = Literal["auto", "bound", "adaptive", "annealed"]
Rounds = int | NamedRounds
Initial = Literal["uniform", "histogram", "one-way"]

_REFIT = Proximal()


@dataclass(frozen=True)
class MWEMSettings:
    """Fields and checks of `MWEM`, which explains them."""

    rounds: Rounds = "auto"
    selection_share: float | None = None
    step: Step = "source"
    output: Output = "last"
    refit: Refit | None = _REFIT
    quick_fits: bool = True
    initial: Initial = "uniform"
    initial_share: float = 0.1
    uniform_share: float = 0.05
    clip: bool = True
    repeats: bool = False
    law: Law = "exponential"
    noise: NoiseKind | None = None
    offsets: bool = True
    total_share: float = 0.02
    error_share: float = 0.03
    largest_tree: int = LARGEST_TREE

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, or a name is unknown.
        """
        if self.rounds not in get_args(NamedRounds) and not is_count(self.rounds):
            raise ConfigError(
                f"MWEM needs at least one round, not {self.rounds!r}",
                remedy="give a number from 1, 'auto', 'annealed', 'bound' or 'adaptive'",
            )
        check_count("largest_tree", self.largest_tree, "give a number of cells, as 4,000,000")
        for name, kind in (("step", Step), ("output", Output), ("initial", Initial), ("law", Law)):
            check_choice(name, getattr(self, name), kind)
        for name in ("selection_share", "initial_share", "uniform_share"):
            if getattr(self, name) is not None:
                check_fraction(name, getattr(self, name))
        check_shares(self.total_share, self.error_share, self.spent_initially)

    @property
    def refit_between(self) -> Refit | None:
        """The fit between rounds."""
        return self.refit.quick() if isinstance(self.refit, Proximal) and self.quick_fits else self.refit

    @property
    def spent_initially(self) -> float:
        """``initial_share`` where something is measured before the first round, else 0."""
        return 0.0 if self.initial == "uniform" else self.initial_share

    def selecting(self, *, annealed: bool = False) -> float:
        """``selection_share``, or what it is by default.

        Args:
            annealed: Whether rounds are annealed: these are many, and most see what is worth measuring.
        """
        return (0.1 if annealed else 0.5) if self.selection_share is None else self.selection_share

    def charges(self, amount: float, neighbours: Neighbours) -> Charges:
        """How an amount of the budget is divided.

        Args:
            amount: epsilon or rho.
            neighbours: Relation of the budget.
        """
        return Charges.split(
            amount, neighbours, total=self.total_share, initial=self.spent_initially, error=self.error_share
        )

    @property
    def needs_histogram(self) -> bool:
        """Whether every cell is held, however large the domain: averages of hypotheses are no products."""
        return self.output == "average" or self.initial == "histogram"

    @property
    def copies(self) -> int:
        """Arrays over all cells that a run with a histogram holds at once: that, and its base, an average or tables."""
        return 2 + (self.output == "average") + 2 * (self.initial == "histogram")
