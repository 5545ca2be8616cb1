"""Leases: which of the processes at one PostgreSQL database works for a data set, and until when.

A lease is a row: its owner, the owner's address, a time by the database's clock, and a *token*, a number that is one
more whenever the lease changes hands or has run out. Every commit of a session takes part in the lease: it names owner
and token, and keeps the row as it is until the commit is over. So a process that was stopped, and wakes after its
lease ran out, commits nothing, whatever it believes. The lease of a process that is gone is free at once: each process
holds a lock of the database's, which ends with its connection.

The processes of a store that told an address are *servers*. They divide the data sets evenly by their number: one that
comes later is given some, as soon as nobody waits for their answers.
"""

import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, text

from hedgerow.errors import ElsewhereError, OutdatedError, StoreBusyError, StoreError

PERIOD = 10
"""Seconds that a lease lasts unless it is renewed."""
_LOOKS = 4
"""Renewals in this time."""
_SERVER = "server "
"""The lease of a server on its own presence begins with this; no name has blanks."""

_ALIVE = """EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = :locks
AND objid = l.owner::oid AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
_NOW = "clock_timestamp()"
_LATER = f"{_NOW} + make_interval(secs => :period)"
_TAKE = text(
    f"""INSERT INTO leases AS l (unit, owner, address, token, expires)
VALUES (:unit, :owner, :address, 1, {_LATER}) ON CONFLICT (unit) DO UPDATE
SET owner = excluded.owner, address = excluded.address, expires = excluded.expires,
token = l.token + (l.owner <> excluded.owner OR l.expires <= {_NOW})::int
WHERE l.owner = excluded.owner OR l.expires <= {_NOW} OR NOT {_ALIVE} RETURNING token"""
)
_RENEW = text(f"UPDATE leases SET expires = {_LATER} WHERE owner = :owner AND expires > {_NOW} RETURNING unit, token")
_GIVE_UP = text(f"UPDATE leases SET expires = {_NOW} WHERE unit = :unit AND owner = :owner AND token = :token")
_SWEEP = text(
    f"""DELETE FROM leases WHERE unit IN
(SELECT unit FROM leases WHERE unit LIKE '{_SERVER}%' AND expires <= {_NOW} FOR UPDATE SKIP LOCKED)"""
)
_LIVE = text(f"SELECT unit, owner, address FROM leases AS l WHERE expires > {_NOW} AND {_ALIVE}")
FENCE = text(
    f"""EXISTS (SELECT FROM leases WHERE unit = :lease AND owner = :lease_owner AND token = :lease_token
AND expires > {_NOW} FOR SHARE)"""
)
"""The condition of a commit under a lease, which nobody takes before the commit is over."""


class Leasing(Protocol):
    """The operations that leases need from a database."""

    locks: int

    def writing(self) -> Any:
        """A transaction."""

    def present(self, number: int) -> Connection:
        """A connection that holds a lock for as long as it lives."""

    def busy(self) -> StoreBusyError:
        """The error for a lease that is not free in time."""


@dataclass(frozen=True)
class _Lease:
    """A lease that this process holds, as far as it knows.

    Attributes:
        token: Its fencing token.
        until: Time of this process' clock at which it has run out unless it was renewed.
    """

    token: int
    until: float


class Leases:
    """The leases of one process; for all of its threads.

    Args:
        database: The database.
    """

    def __init__(self, database: Leasing) -> None:
        """Hold nothing yet."""
        self._database = database
        self._period = PERIOD
        self._owner = secrets.randbelow(2**31 - 1) + 1
        self._address = ""
        self._lost: Callable[[str], object] = lambda _: None
        self._held: dict[str, _Lease] = {}
        self._users: Counter[str] = Counter()
        self._inside: set[int] = set()
        self._fences: dict[int, Mapping[str, Any]] = {}
        self._leaving: set[str] = set()
        self._others: dict[str, str] = {}
        self._servers: dict[str, int] = {}
        self._door = threading.Condition()
        self._looking = threading.Lock()
        self._presence: Connection | None = None
        self._ended = threading.Event()
        self._renewing: threading.Thread | None = None

    def divide(self, address: str, lost: Callable[[str], object]) -> None:
        """Become a server: leases are kept and renewed, and requests for what others hold are told where to go.

        Args:
            address: Address at which the other servers reach this one.
            lost: Called with each unit that this process has no more.

        Raises:
            StoreError: The database fails.
        """
        self._address, self._lost = address, lost
        self.look()
        self._renewing = threading.Thread(target=self._renew, name="leases", daemon=True)
        self._renewing.start()

    @contextmanager
    def held(self, number: int, unit: str, wait: float) -> Iterator[None]:
        """Be alone with a data set, under the lease of its unit.

        Args:
            number: Number of the data set.
            unit: Data sets that one server works for together.
            wait: Seconds to wait for other threads, and for processes that are no servers.

        Raises:
            ElsewhereError: Another server has the lease, or is to take it.
            StoreBusyError: Another thread or process holds it for longer than the waiting time.
        """
        end = time.monotonic() + wait
        self._enter(number, end)
        try:
            lease = self._use(unit, end)
            try:
                self._fences[number] = {"lease": unit, "lease_owner": self._owner, "lease_token": lease.token}
                yield
            except OutdatedError:  # the lease may have been lost: ask the database before the next commit
                self._doubt(unit)
                raise
            finally:
                self._fences.pop(number, None)
                self._leave(unit)
        finally:
            with self._door:
                self._inside.discard(number)
                self._door.notify_all()

    def fence(self, number: int) -> Mapping[str, Any] | None:
        """Values of `FENCE` for a commit about a data set; None if nobody is alone with it here."""
        return self._fences.get(number)

    def claim(self, unit: str) -> None:
        """Take the lease of a unit, whoever else has fewer; nothing if this process is no server.

        Raises:
            ElsewhereError: Another server has it.
            StoreBusyError: Another process has it.
        """
        if self._address and self._take(unit) is None:
            self.look()
            raise self._elsewhere(unit) or self._database.busy()

    def elsewhere(self, unit: str) -> ElsewhereError | None:
        """The error that says where a unit is, if another server had it at the last look."""
        with self._door:
            address = None if unit in self._held else self._others.get(unit)
        return None if not address else ElsewhereError(address)

    def lives(self, address: str) -> bool:
        """Whether a server was there at the last look: its presence is a lease too."""
        with self._door:
            return address in self._servers

    def look(self) -> None:
        """Renew what is held, and look who holds what.

        Raises:
            StoreError: The database fails.
        """
        with self._looking:
            before, period = time.monotonic(), self._period
            self._be_present()
            with self._door:
                held = dict(self._held)
            known = {"owner": self._owner, "period": period, "locks": self._database.locks, "address": self._address}
            with self._database.writing() as connection:
                renewed = {row.unit: row.token for row in connection.execute(_RENEW, known)}
                if self._address:
                    connection.execute(_SWEEP)
                    connection.execute(_TAKE, {**known, "unit": f"{_SERVER}{self._owner}"})
                live = connection.execute(_LIVE, known).all()
            lost, surplus = self._noted(held, renewed, live, before + period)
        for unit in surplus:
            self._give_up(unit)
        for unit in lost:
            self._lost(unit)

    def close(self) -> None:
        """Give up everything."""
        self._ended.set()
        if self._renewing is not None:
            self._renewing.join()
        with self._looking:
            with self._door:
                units = [*self._held, f"{_SERVER}{self._owner}"] if self._address else list(self._held)
                self._held.clear()
            if self._presence is not None:
                self._presence.invalidate()  # its lock ends with it, and with that all of its leases
                self._presence.close()
                self._presence = None
            if units:
                self._others.clear()

    # Inside

    def _renew(self) -> None:
        while not self._ended.wait(self._period / _LOOKS):
            with suppress(StoreError):  # the next look may find the database again; until then nothing is committed
                self.look()

    def _be_present(self) -> None:
        """Hold the lock that shows the others that this process lives."""
        if self._presence is not None:
            with suppress(Exception):
                self._presence.exec_driver_sql("SELECT 1")
                return
            self._presence.invalidate()
            self._presence.close()
            self._presence = None
        self._presence = self._database.present(self._owner)

    def _enter(self, number: int, end: float) -> None:
        """Wait for the other threads of this process."""
        with self._door:
            if not self._door.wait_for(lambda: number not in self._inside, max(0.0, end - time.monotonic())):
                raise self._database.busy()
            self._inside.add(number)

    def _use(self, unit: str, end: float) -> _Lease:
        """A lease, which is not given up before `_leave`."""
        pause = 0.001
        while True:
            with self._door:
                lease = self._held.get(unit)
                if lease is not None and lease.until > time.monotonic() and unit not in self._leaving:
                    self._users[unit] += 1
                    return lease
            if (away := self._elsewhere(unit)) is not None:
                raise away
            if self._take(unit) is None:
                if self._address:
                    self.look()
                if (away := self._elsewhere(unit)) is not None:
                    raise away
                if time.monotonic() >= end:
                    raise self._database.busy()
                time.sleep(pause)
                pause = min(2.0 * pause, 0.02)

    def _leave(self, unit: str) -> None:
        with self._door:
            self._users[unit] -= 1
            last = not self._users[unit] and (not self._address or unit in self._leaving)
        if last:
            self._give_up(unit)

    def _take(self, unit: str) -> _Lease | None:
        """Take or renew a lease, if it is free or ours."""
        if self._presence is None:
            with self._looking:
                self._be_present()
        until = time.monotonic() + self._period
        asked = {"unit": unit, "owner": self._owner, "address": self._address, "period": self._period}
        with self._database.writing() as connection:
            token = connection.execute(_TAKE, {**asked, "locks": self._database.locks}).scalar()
        with self._door:
            if token is None:
                self._held.pop(unit, None)
                return None
            self._held[unit] = lease = _Lease(token, until)
            self._leaving.discard(unit)
            self._others.pop(unit, None)
            return lease

    def _elsewhere(self, unit: str) -> ElsewhereError | None:
        """Who has a unit, or is to take it as it holds less than this process; None if that is this one."""
        if not self._address:
            return None
        with self._door:
            if unit in self._held and unit not in self._leaving:
                return None
            if address := self._others.get(unit):
                return ElsewhereError(address)
            least = min(self._servers, key=lambda each: self._servers[each], default="")
            mine = len(self._held.keys() - self._leaving)
            return ElsewhereError(least) if least and self._servers[least] < mine else None

    def _noted(
        self, held: Mapping[str, _Lease], renewed: Mapping[str, int], live: Sequence[Any], until: float
    ) -> tuple[list[str], list[str]]:
        """Note what a look found; the units that were lost, and those to give up now.

        What was taken meanwhile is as it was taken.
        """
        with self._door:
            same = {unit: lease for unit, lease in held.items() if self._held.get(unit) is lease}
            lost = [unit for unit, lease in same.items() if renewed.get(unit) != lease.token]
            for unit in lost:
                del self._held[unit]
            for unit in same.keys() & self._held.keys():
                self._held[unit] = _Lease(same[unit].token, until)
            others = [row for row in live if row.owner != self._owner and row.address]
            self._others = {row.unit: row.address for row in others if not row.unit.startswith(_SERVER)}
            self._servers = {row.address: 0 for row in others if row.unit.startswith(_SERVER)}
            for address in self._others.values():
                self._servers[address] = self._servers.get(address, 0) + 1
            if not self._address:
                return lost, []
            fair = math.ceil((len(self._others) + len(self._held)) / (1 + len(self._servers)))
            staying = sorted(self._held.keys() - self._leaving, key=lambda unit: -self._users[unit])
            self._leaving |= set(staying[fair:])
            return lost, [unit for unit in self._leaving if not self._users[unit]]

    def _give_up(self, unit: str) -> None:
        with self._door:
            if self._users[unit]:
                return
            lease = self._held.pop(unit, None)
            self._leaving.discard(unit)
        if lease is not None:
            with suppress(StoreError), self._database.writing() as connection:  # else it runs out
                connection.execute(_GIVE_UP, {"unit": unit, "owner": self._owner, "token": lease.token})
            self._lost(unit)

    def _doubt(self, unit: str) -> None:
        with self._door:
            self._held.pop(unit, None)
