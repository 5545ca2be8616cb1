"""The register of a table on the command line: its options, what is charged there and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, final

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import BUDGET
from hedgerow.cli.outputs import check_folder_of
from hedgerow.errors import ConfigError, RegisterError

if TYPE_CHECKING:
    from hedgerow.privacy import Budget, Entry, Limit, Register
    from hedgerow.queries import Neighbours

RegisterFile = Annotated[
    Path | None,
    typer.Option(
        "--register",
        metavar="FILE",
        help="Register of the table, where all its releases add up: it is charged the whole budget before the table is "
        "read, and refuses what would pass its limit. Made by the first call, which names the limit.",
        rich_help_panel=BUDGET,
    ),
]
LimitEpsilon = Annotated[
    float | None,
    typer.Option(
        "--limit",
        metavar="EPSILON",
        help="What all releases in the register may add up to: an epsilon, for pure releases alone, or with "
        "--limit-delta, for all kinds.",
        rich_help_panel=BUDGET,
    ),
]
LimitDelta = Annotated[
    float | None, typer.Option("--limit-delta", metavar="DELTA", help="The delta of --limit.", rich_help_panel=BUDGET)
]
LimitRho = Annotated[
    float | None,
    typer.Option("--limit-rho", metavar="RHO", help="zCDP, instead of --limit.", rich_help_panel=BUDGET),
]


def limit_of(epsilon: float | None, delta: float | None, rho: float | None, neighbours: Neighbours) -> Limit | None:
    """The limit of a register that the options describe; None if they describe none.

    Raises:
        typer.BadParameter: They describe two, or a delta alone.
        ConfigError: An amount is out of its range.

    Example:
        >>> from hedgerow.queries.core.sensitivity import Neighbours
        >>> limit_of(3.0, 1e-9, None, Neighbours.REPLACE).epsilon
        3.0
    """
    from hedgerow.privacy import ZCDP, ApproxDP, PureDP

    if rho is not None:
        if epsilon is not None or delta is not None:
            raise typer.BadParameter("give either --limit-rho, or --limit with or without --limit-delta")
        return ZCDP(rho, neighbours)
    if epsilon is None:
        if delta is not None:
            raise typer.BadParameter("--limit-delta goes with --limit")
        return None
    return PureDP(epsilon, neighbours) if delta is None else ApproxDP(epsilon, delta, neighbours)


def open_register(path: Path | None, limit: Limit | None) -> Register | None:
    """The register that the options name; None if they name none.

    Args:
        path: What ``--register`` names.
        limit: What `limit_of` gave.

    Raises:
        typer.BadParameter: There is a limit without a register.
        ConfigError: The register does not exist and cannot be made.
        RegisterError: It cannot be made or read, or has another limit.
    """
    from hedgerow.privacy import Register

    if path is None:
        if limit is not None:
            raise typer.BadParameter("--limit is that of a register: name it with --register FILE")
        return None
    if not path.exists():
        check_folder_of("--register", path)
        if limit is None:
            raise ConfigError(
                f"--register: there is no register {path} yet", remedy="name its limit to make it: --limit EPSILON"
            )
    return Register(path, limit)


@final
@dataclass
class Registered:
    """One run that goes into a register; without a register it does nothing.

    Attributes:
        output: Where to tell.
        register: Register of the table; None if there is none.
        budget: What the run is charged; None where nothing is to be charged any more.
        kind: ``"release"`` or ``"session"``.
        name: What the register calls it.
        attributes: Names of the attributes that are read.
        entry: What was charged, as soon as it is.
    """

    output: Output
    register: Register | None
    budget: Budget | None
    kind: str
    name: str
    attributes: Sequence[str]
    entry: Entry | None = field(default=None, init=False)

    @classmethod
    def checked(
        cls,
        output: Output,
        register: Register | None,
        budget: Budget | None,
        *,
        kind: str,
        name: str,
        attributes: Sequence[str],
    ) -> Self:
        """Refuse now what the register would refuse before the table is read."""
        if register is not None and budget is not None:
            register.check(budget)
        return cls(output, register, budget, kind, name, attributes)

    def charge(self) -> None:
        """Charge the whole budget: the table may be read then."""
        if self.register is not None and self.budget is not None:
            self.entry = self.register.charge(self.budget, kind=self.kind, name=self.name, attributes=self.attributes)

    def notes(self) -> dict[str, Any]:
        """What a session is to remember of it."""
        return {} if self.register is None or self.entry is None else self.register.note(self.entry)

    def add_digest(self, file: Path) -> None:
        """Add the digest of what was written."""
        if self.register is not None and self.entry is not None:
            self.register.add_digest(self.entry.number, file)

    @contextmanager
    def staying(self) -> Iterator[None]:
        """If the body fails or is interrupted, say that what was charged stays so."""
        try:
            yield
        except BaseException:
            if self.register is not None and self.entry is not None:
                self.output.facts |= {"register": {"file": str(self.register.path), **_charged(self.entry)}}
                self.output.warn(
                    f"the register was charged {self.entry.charge:.6g} {self.entry.unit} (entry {self.entry.number}) "
                    "before it stopped, and stays so"
                )
            raise

    def tell(self, width: int = 8) -> dict[str, Any]:
        """Say what is left in the register; the same for programs, empty without a register.

        Args:
            width: Width of the word before it.
        """
        if self.register is None:
            return {}
        contents = self.register.contents()
        where = str(self.register.path) if self.entry is None else f"entry {self.entry.number} of {self.register.path}"
        spent = f"{contents.spent:.6g} of {contents.amount:.6g} {contents.unit} spent"
        self.output.say(f"{'register':{width}} {spent}, {contents.remaining:.6g} left ({where})")
        amounts = {"spent": contents.spent, "limit": contents.amount, "remaining": contents.remaining}
        charged = {} if self.entry is None else _charged(self.entry)
        return {"register": {"file": str(self.register.path), "unit": contents.unit, **charged, **amounts}}


def _charged(entry: Entry) -> dict[str, Any]:
    return {"entry": entry.number, "charged": entry.charge, "unit": entry.unit}


def check_session(register: Register | None, notes: dict[str, Any], session: Path) -> None:
    """Refuse to go on with a session under a register that did not charge it.

    Args:
        register: What ``--register`` names, if anything.
        notes: What the session remembers.
        session: Its file.

    Raises:
        RegisterError: The session was charged in another register, or in none.
    """
    if register is not None and not register.knows(notes):
        raise RegisterError(
            f"the session {session} was not charged here when it began",
            place=str(register.path),
            remedy="leave --register out, or begin a new session with it",
        )
