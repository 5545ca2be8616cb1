"""Plans of all algorithms, in a form that can be printed without knowing the algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from hedgerow.quantities import human_bytes

MEMORY = "memory"
"""The word of the line that says how much there is; no other line depends on the machine."""


class Outlined(Protocol):
    """A plan: what a run would need, spend and promise, from public quantities alone."""

    @property
    def fits(self) -> bool:
        """Whether the run fits into memory."""
        ...

    def lines(self, total: float) -> list[tuple[str, str]]:
        """What a person reads: pairs of a word and a sentence.

        Args:
            total: The public guess of the number of records that the plan was made for.
        """
        ...

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        ...


@final
@dataclass(frozen=True)
class Outline:
    """A plan as text and figures.

    Attributes:
        text: Pairs of a word ("rounds", "noise", "bound", ...) and a sentence; the word is empty where a sentence goes
            on from the one before.
        facts: The same as plain values, for programs.
        required_bytes: Memory that the run would need.
        available_bytes: Memory that may be used.

    Example:
        >>> plan = Outline((("rounds", "12, each 0.1 epsilon"),), {"rounds": 12}, 1_000, 2_000)
        >>> plan.fits, plan.lines(total=500.0)
        (True, [('rounds', '12, each 0.1 epsilon')])
    """

    text: tuple[tuple[str, str], ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    required_bytes: int = 0
    available_bytes: int = 0

    @property
    def fits(self) -> bool:
        """Whether the run fits into memory."""
        return self.required_bytes <= self.available_bytes

    def lines(self, total: float) -> list[tuple[str, str]]:
        """The text; it was written for the total of the plan."""
        return list(self.text)

    def to_dict(self) -> dict[str, Any]:
        """The facts, and what memory is needed."""
        needs = {"required_bytes": self.required_bytes, "available_bytes": self.available_bytes, "fits": self.fits}
        return {**self.facts, **needs}


def memory_line(required_bytes: int, available_bytes: int, what: str) -> tuple[str, str]:
    """What a plan says about memory.

    Args:
        required_bytes: Memory that the run would need.
        available_bytes: Memory that may be used.
        what: What needs it, in words.

    Example:
        >>> memory_line(2**21, 2**30, "131,072 cells")
        ('memory', '2.0 MiB for 131,072 cells; fits into 1,024 MiB')
    """
    fits = "fits" if required_bytes <= available_bytes else "DOES NOT FIT"
    return MEMORY, f"{human_bytes(required_bytes)} for {what}; {fits} into {available_bytes / 2**20:,.0f} MiB"


def charges_line(limit: float, unit: str, shares: Mapping[str, float]) -> tuple[str, str]:
    """What a plan says about how the budget is divided.

    Args:
        limit: The budget.
        unit: ``"epsilon"`` or ``"rho"``.
        shares: Amounts by what they are for.

    Example:
        >>> charges_line(1.0, "epsilon", {"number of records": 0.02, "rounds": 0.98})
        ('charges', '1 epsilon: number of records 0.02, rounds 0.98')
    """
    return "charges", f"{limit:.6g} {unit}: " + ", ".join(f"{what} {amount:.4g}" for what, amount in shares.items())


def says_nothing(bound: float, largest: float) -> str:
    """What a plan adds to a bound that no error can pass in any case.

    Args:
        bound: On an error.
        largest: What an error can be at most.

    Example:
        >>> says_nothing(1200.0, 1000.0), says_nothing(12.0, 1000.0)
        ('; that says nothing', '')
    """
    return "; that says nothing" if bound >= largest else ""
