"""The charge of a run: the register of its table, and what is said of the budget when a run does not end well."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.outputs import check_folder_of
from hedgerow.errors import ConfigError, RegisterError
from hedgerow.quantities import at_least, at_most, spent_of

if TYPE_CHECKING:
    from hedgerow.privacy import Budget, Curator, Entry, Limit, Register


def open_register(path: Path | None, limit: Limit | None) -> Register | None:
    """The register that the options name; None if they name none.

    Args:
        path: Path that ``--register`` names.
        limit: Limit that the options describe.

    Raises:
        typer.BadParameter: There is a limit without a register.
        ConfigError: The register does not exist and cannot be made.
        RegisterError: It cannot be made or read, or has another limit.
    """
    from hedgerow.privacy import Register

    if path is None:
        if limit is not None:
            raise typer.BadParameter("--limit is the limit of a register: name it with --register FILE")
        return None
    if not path.exists():
        check_folder_of("--register", path)
        if limit is None:
            raise ConfigError(
                f"--register: there is no register {path} yet", remedy="name its limit to make it: --limit EPSILON"
            )
    return Register(path, limit)


@dataclass
class Registered:
    """One run that goes into a register; without a register it does nothing.

    Attributes:
        output: Prints what is left.
        register: Register of the table; None if there is none.
        budget: Budget to charge; None where nothing is to be charged any more.
        kind: ``"release"`` or ``"session"``.
        name: Name of the run in the register.
        attributes: Names of the attributes that are read.
        entry: The entry in the register, as soon as it is charged.

    Raises:
        RegisterExceededError: The register does not cover the budget.
        ConfigError: The budget does not go into the register.
    """

    output: Output
    register: Register | None
    budget: Budget | None
    kind: str
    name: str
    attributes: Sequence[str]
    entry: Entry | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse now what the register would refuse before the table is read."""
        if self.register is not None and self.budget is not None:
            self.register.check(self.budget)

    def charge(self) -> None:
        """Charge the whole budget: the table may be read then."""
        if self.register is not None and self.budget is not None:
            self.entry = self.register.charge(self.budget, kind=self.kind, name=self.name, attributes=self.attributes)

    def notes(self) -> dict[str, Any]:
        """The notes of a session about its charge."""
        return {} if self.register is None or self.entry is None else self.register.note(self.entry)

    def add_digest(self, file: Path) -> None:
        """Add the digest of what was written."""
        if self.register is not None and self.entry is not None:
            self.register.add_digest(self.entry.number, file)

    def staying(self) -> AbstractContextManager[None]:
        """If the body fails or is interrupted, say that what was charged stays so."""
        return self.output.warning_if_it_stops(self._stays)

    def _stays(self) -> tuple[dict[str, Any], str] | None:
        if self.register is None or self.entry is None:
            return None
        return (
            {"register": {"file": str(self.register.path), **_charged(self.entry)}},
            f"the register was charged {at_most(self.entry.charge)} {self.entry.unit} (entry {self.entry.number}) "
            "before it stopped, and stays so",
        )

    def tell(self, width: int = 8) -> dict[str, Any]:
        """Say what is left in the register; the same for programs, empty without a register.

        Args:
            width: Width of the word before it.
        """
        if self.register is None:
            return {}
        contents = self.register.contents()
        where = str(self.register.path) if self.entry is None else f"entry {self.entry.number} of {self.register.path}"
        spent = f"{spent_of(contents.spent, contents.amount, contents.unit)} spent"
        self.output.say(f"{'register':{width}} {spent}, {at_least(contents.remaining)} left ({where})")
        amounts = {"spent": contents.spent, "limit": contents.amount, "remaining": contents.remaining}
        charged = {} if self.entry is None else _charged(self.entry)
        return {"register": {"file": str(self.register.path), "unit": contents.unit, **charged, **amounts}}


def _charged(entry: Entry) -> dict[str, Any]:
    return {"entry": entry.number, "charged": entry.charge, "unit": entry.unit}


def check_session(register: Register | None, notes: dict[str, Any], session: Path) -> None:
    """Refuse to continue a session under a register that did not charge it.

    Args:
        register: Register that ``--register`` names, if any.
        notes: Notes in the session file.
        session: The session file.

    Raises:
        RegisterError: The session was charged in another register, or in none.
    """
    if register is not None and not register.knows(notes):
        raise RegisterError(
            f"the session {session} was not charged here when it began",
            place=str(register.path),
            remedy="leave --register out, or begin a new session with it",
        )


def accounted(output: Output, curator: Curator) -> AbstractContextManager[None]:
    """If the body fails or is interrupted, say what was spent, and let the failure pass."""

    def told() -> tuple[dict[str, Any], str]:
        ledger = curator.ledger
        facts = {"spent": ledger.spent, "limit": ledger.limit, "unit": ledger.unit}
        return facts, spent_sentence(ledger.spent, ledger.limit, ledger.unit)

    return output.warning_if_it_stops(told)


def spent_sentence(spent: float, limit: float, unit: str) -> str:
    """Say what was spent and that it stays spent.

    Example:
        >>> spent_sentence(0.0, 1.0, "epsilon")
        'nothing of the privacy budget was spent'
        >>> spent_sentence(0.25, 1.0, "epsilon")
        'spent before it stopped: 0.25 of 1 epsilon. It stays spent: noisy answers were drawn from the table.'
    """
    if spent == 0.0:
        return "nothing of the privacy budget was spent"
    return (
        f"spent before it stopped: {spent_of(spent, limit, unit)}. It stays spent: noisy answers were drawn from "
        "the table."
    )
