"""The register of a table: the sum over all its releases, and the limit that refuses one more.

A ledger keeps the books of one release and knows of no other. A register is a ledger one level up: a small file
beside the table, in which every release and session of it is charged, with the whole of its budget, *before* anything
of the table is touched. The sum of the charges is exact and never passes the limit, also when several processes add to
it at the same time or one of them is killed. Each charge is fixed by public numbers before its release is made, though
perhaps after looking at earlier ones; so the sum is a valid filter, as in a ledger (theory.md section 0). Nothing is
ever given back: neither what a release left of its budget, nor the charge of a run that failed.

A register counts one kind of neighbours, between whole tables, so releases of parts of a table belong into it too. It
holds nothing that was read off the data: names, times, budgets, charges, names of attributes and digests of files.
"""

import hashlib
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from hedgerow.errors import ConfigError, RegisterError, RegisterExceededError
from hedgerow.privacy.budgets import Budget, Limit
from hedgerow.privacy.register.entries import Contents, Entry, charge_of, checked_limit, completion, fixed_of, now
from hedgerow.privacy.register.file import RegisterFile
from hedgerow.quantities import at_most


class Register:
    """The register of a table, in a file.

    Args:
        path: The file. It is made, for its owner alone (mode 0600), if there is none and a limit is given.
        limit: Budget that all releases together stay within, and the neighbouring relation: ``PureDP`` for pure
            releases alone, whose epsilons add up; ``ApproxDP`` or ``ZCDP`` for releases of all kinds, whose rhos add
            up; ``GDP`` for pure releases and those in GDP, whose squares of mu add up. Given for a register that is
            there, it must be its own; it can never be changed.
        table: Name of the table; by default the name of the file.
        wait: Seconds to wait for other processes that are at the file.

    Raises:
        RegisterError: There is no such file and no limit, or the register has another one, or it cannot be made or
            read.
        DamagedRegisterError: The file is not a register, or was changed.
        ConfigError: The limit is not a budget for the whole table.

    Example:
        >>> import tempfile
        >>> import hedgerow
        >>> folder = tempfile.TemporaryDirectory()
        >>> domain = hedgerow.Domain([hedgerow.Categorical("sex", ("F", "M"))])
        >>> table, workload = hedgerow.Table(domain, [[0, 1] * 50]), hedgerow.Workload.marginals(domain, 1)
        >>> register = Register(f"{folder.name}/people.register", limit=hedgerow.PureDP(3.0))
        >>> for name in ("first", "second"):
        ...     release = hedgerow.MWEM().run(table, workload, hedgerow.PureDP(1.0), register=register, name=name)
        >>> register.spent, register.remaining, [entry.name for entry in register.entries]
        (2.0, 1.0, ['first', 'second'])
        >>> hedgerow.MWEM().run(table, workload, hedgerow.PureDP(1.5), register=register)
        Traceback (most recent call last):
            ...
        hedgerow.errors.RegisterExceededError: ...people.register: the register does not cover this: 1.5 epsilon
        requested, 2 of 3 spent by what is in it, 1 left...
        >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], limit: Budget | None = None, *, table: str = "", wait: float = 10.0
    ) -> None:
        """Make the file if need be, and check it."""
        self._file = RegisterFile(Path(path).resolve(), wait)
        wanted = None if limit is None else checked_limit(limit)
        if wanted is not None and not self._file.exists():
            self._file.create(fixed_of(table or self.path.stem, wanted, secrets.token_hex(16)))
        contents = self._file.read()
        self._table, self._limit, self._mark = contents.table, contents.limit, contents.mark
        self._check_same(wanted, table)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def table(self) -> str:
        """Name of the table."""
        return self._table

    @property
    def limit(self) -> Limit:
        """Budget that all entries together stay within."""
        return self._limit

    @property
    def unit(self) -> str:
        """Unit of the charges: ``"epsilon"`` or ``"rho"``."""
        return self._limit.unit

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges so far, oldest first."""
        return self.contents().entries

    @property
    def spent(self) -> float:
        """Sum of the charges: exact, rounded once."""
        return self.contents().spent

    @property
    def remaining(self) -> float:
        """The rest of the limit."""
        return self.contents().remaining

    @property
    def head(self) -> str:
        """The last link of its hash chain: noted elsewhere, it is evidence of all entries so far."""
        return self.contents().head

    def contents(self) -> Contents:
        """All that is in it now, read at one time and checked.

        Raises:
            RegisterError: It cannot be read; see its kinds.
        """
        return self._file.read()

    def check(self, budget: Budget) -> float:
        """Refuse now what `charge` would refuse; nothing is charged.

        Args:
            budget: The budget of a release.

        Returns:
            The charge, in the unit of the register.

        Raises:
            RegisterExceededError: The rest of the limit does not cover it.
            ConfigError: The budget is of another neighbouring relation, or has no charge in the register's unit.
        """
        charge = charge_of(budget, self._limit)
        self._refuse(self.contents(), charge, budget)
        return charge

    def charge(self, budget: Budget, *, kind: str = "release", name: str = "", attributes: Iterable[str] = ()) -> Entry:
        """Charge the whole budget of a release that is about to be made; ``run`` and ``start`` do this by themselves.

        To be called by hand for what was released before there was a register, or without Hedgerow.

        Args:
            budget: The release's budget. What the release leaves unspent is not given back.
            kind: ``"release"``, ``"session"`` or ``"data set"``.
            name: Name of the release; by default that of the table.
            attributes: Names of the attributes that are read.

        Returns:
            The entry. It is on the disk.

        Raises:
            RegisterExceededError: The rest of the limit does not cover it; nothing was charged.
            ConfigError: The budget is of another neighbouring relation, or has no charge in the register's unit; or the
                kind or the name is none.
            RegisterBusyError: Other processes are at it for longer than one waits.
            RegisterError: The register cannot be read or written; see its kinds.

        Example:
            >>> import tempfile
            >>> from hedgerow import PureDP
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     register = Register(f"{folder}/people.register", limit=PureDP(3.0))
            ...     print(register.charge(PureDP(0.5), name="of 2019"))
            1: release of 2019, 0.5 epsilon
        """
        amount = charge_of(budget, self._limit)
        with self._file.adding() as (contents, new):
            self._refuse(contents, amount, budget)
            entry = Entry(
                number=len(contents.entries) + 1,
                at=now(),
                kind=kind,
                name=name or self._table,
                charge=amount,
                unit=self.unit,
                budget=budget,
                attributes=tuple(attributes),
            )
            new.append(entry.to_dict())
        return entry

    def add_digest(self, number: int, file: str | os.PathLike[str]) -> str:
        """Add the digest of the file that a charged run has written; this costs nothing.

        Args:
            number: The entry's number.
            file: A release or another file.

        Returns:
            Its SHA-256, 64 hexadecimal digits.

        Raises:
            ConfigError: There is no entry of this number.
            RegisterBusyError: Other processes are at it for longer than one waits.
            RegisterError: The register cannot be read or written; see its kinds.
        """
        with open(file, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        with self._file.adding() as (contents, new):
            if number not in {entry.number for entry in contents.entries}:
                raise ConfigError(f"the register has no entry {number!r} that was charged")
            new.append(completion(number, digest))
        return digest

    def note(self, entry: Entry) -> dict[str, object]:
        """Notes for a session on the register that it was charged in: values that JSON can hold.

        Args:
            entry: The session's entry.
        """
        return {"register": {"table": self._table, "mark": self._mark, "entry": entry.number}}

    def knows(self, notes: Mapping[str, object]) -> bool:
        """Whether a session was charged in this register.

        Args:
            notes: Notes of the session, from `note`.
        """
        kept = notes.get("register")
        return isinstance(kept, Mapping) and kept.get("mark") == self._mark

    # Inside

    def _refuse(self, contents: Contents, amount: float, budget: Budget) -> None:
        where = str(self.path)
        if not contents.covers(amount):
            raise RegisterExceededError(
                place=where, requested=amount, spent=contents.spent, limit=contents.amount, unit=self.unit
            )
        if not contents.covers_thresholds(kept := budget.for_thresholds):
            most, unit = self._limit.for_thresholds, "delta of thresholds"
            raise RegisterExceededError(place=where, requested=kept, spent=contents.thresholds, limit=most, unit=unit)

    def _check_same(self, limit: Limit | None, table: str) -> None:
        if limit not in (None, self._limit):
            raise RegisterError(
                f"the register was made with another limit, {shown_limit(self._limit)}",
                place=str(self.path),
                remedy="leave the limit out; it can never be changed",
            )
        if table not in ("", self._table):
            raise RegisterError(
                f"the register is of another table, {self._table!r}",
                place=str(self.path),
                remedy="name the register of this table",
            )

    def __repr__(self) -> str:
        """Name of the table, and the limit."""
        return f"<Register of {self._table}, limit {shown_limit(self._limit)}>"


_SHOWN = ("epsilon", "delta", "thresholds", "rho", "mu")


def shown_limit(limit: Limit) -> str:
    """A limit in a few words.

    Example:
        >>> from hedgerow import ApproxDP
        >>> shown_limit(ApproxDP(3.0, 1e-9))
        'epsilon 3, delta 1e-09 (add-remove)'
        >>> shown_limit(ApproxDP(3.0, 1e-9, thresholds=4e-10))
        'epsilon 3, delta 1e-09, thresholds 4e-10 (add-remove)'
    """
    plain = {name: value for name, value in limit.to_dict().items() if name in _SHOWN}
    return f"{', '.join(f'{name} {at_most(value)}' for name, value in plain.items())} ({limit.neighbours.value})"
