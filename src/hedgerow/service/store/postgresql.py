"""A store in PostgreSQL: for servers of several processes."""

import math
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import BigInteger, Connection, String, cast, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError

from hedgerow.errors import StoreError, raise_alone
from hedgerow.service.store.database import Database, translating
from hedgerow.service.store.leases import PERIOD, Leases
from hedgerow.service.store.schema import LAST_AUDITED, METADATA, to_json

_OLDEST = 14
"""The oldest major version that its makers still mend."""

_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A vanished machine is noticed within about a minute, by us and by the server that keeps its locks."""


class PostgreSQLDatabase(Database):
    """A database of a PostgreSQL server, for any number of processes.

    Connections must be the server's own: advisory locks do not survive a pooler that hands out single transactions.

    Args:
        address: ``postgresql://user:password@host:port/database``, with libpq's options after a question mark.
        wait: Seconds to wait for others' transactions, and for a connection.

    Raises:
        StoreError: The address is malformed.

    Example:
        >>> print(PostgreSQLDatabase("postgresql://me:secret@host/answers?sslpassword=secret", 5.0).place)
        postgresql://host/answers
    """

    is_here = False
    leases: Leases
    locks = 0x68676572
    """Our first key of advisory locks; the second is the number of a process, and 0 for the tables themselves."""

    def __init__(self, address: str, wait: float) -> None:
        """Open no connection yet."""
        try:
            url = make_url(address).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError):
            remedy = "write it as postgresql://user@host:port/database; put a password into ~/.pgpass"
            raise_alone(StoreError("the address of the store is malformed", remedy=remedy))
        host = url.host or url.query.get("host", "")
        place = f"postgresql://{host if isinstance(host, str) else ','.join(host)}/{url.database or ''}"
        options: dict[str, Any] = {
            "connect_args": {
                name: value
                for name, value in {"connect_timeout": max(2, math.ceil(wait)), **_KEEPALIVE}.items()
                if name not in url.query
            },
            "pool_pre_ping": True,
            "pool_timeout": wait,
            "json_serializer": to_json,
            "hide_parameters": True,
        }
        writes = create_engine(url, pool_size=5, max_overflow=10, isolation_level="READ COMMITTED", **options)
        self._locks = create_engine(url, pool_size=1, isolation_level="AUTOCOMMIT", **options)
        self.leases = Leases(self)
        for engine in (writes, self._locks):
            event.listen(engine, "connect", _prepared(wait))
        super().__init__(place, writes.execution_options(isolation_level="REPEATABLE READ"), writes, wait)

    @contextmanager
    def alone(self, number: int, unit: str, *, wait: float) -> Iterator[None]:
        """Hold the lease of the unit; what is written under one that was lost is refused."""
        with self.leases.held(number, unit, wait):
            yield

    def present(self, number: int) -> Connection:
        """Take an advisory lock on a connection that does nothing else."""
        with translating(self.place):
            connection = self._locks.connect()
            connection.execute(select(func.pg_advisory_lock(self.locks, number)))
        return connection

    def stamp(self) -> Hashable:
        """The transactions that are over and those that are not, as the server has it."""
        with self.reading() as connection:
            return str(connection.scalar(select(cast(func.txid_current_snapshot(), String))))

    def audit_stamp(self) -> Hashable:
        """Number of the log's last entry."""
        with self.reading() as connection:
            return int(connection.exec_driver_sql(LAST_AUDITED).scalar_one())

    def size(self) -> int:
        """Bytes of the database, all that lies in it."""
        with self.reading() as connection:
            return int(connection.scalar(select(func.pg_database_size(func.current_database()))) or 0)

    def unhurried(self, connection: Connection) -> None:
        """Let it stand still."""
        connection.execute(select(func.set_config("idle_in_transaction_session_timeout", "0", True)))

    def number_on(self, connection: Connection) -> None:
        """Set the sequences of the columns that are numbered."""
        for table in METADATA.sorted_tables:
            if "id" in table.c and isinstance(table.c["id"].type, BigInteger):
                sequence = func.pg_get_serial_sequence(table.name, "id")
                largest = func.coalesce(func.max(table.c["id"]), 0) + 1
                connection.execute(select(func.setval(sequence, largest, False)))

    @contextmanager
    def preparing(self) -> Iterator[Connection]:
        """Lock until the transaction ends."""
        with self.writing() as connection:
            connection.execute(select(func.pg_advisory_xact_lock(self.locks, 0)))
            yield connection

    def close(self) -> None:
        """Give up all leases, and close the connections that no one uses."""
        self.leases.close()
        super().close()
        self._locks.dispose()


def _prepared(wait: float) -> Any:
    """Settings of every new connection: how long to wait, and that a commit must reach the disk.

    A process that stands still within a transaction keeps its locks no longer than its leases.
    """
    settings = {"lock_timeout": f"{max(1, round(1000 * wait))}ms", "idle_in_transaction_session_timeout": f"{PERIOD}s"}
    settings |= {f"tcp_{name}": str(value) for name, value in _KEEPALIVE.items()}
    told_all = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())

    def prepare(connection: Any, _record: object) -> None:
        if connection.info.server_version < 10_000 * _OLDEST:
            raise StoreError(
                f"the store needs PostgreSQL {_OLDEST} or newer, and this server is of version "
                f"{connection.info.server_version // 10_000}",
                remedy="carry the database to a newer server: pg_dump and pg_restore",
            )
        connection.execute(f"SELECT {told_all}")
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        connection.commit()

    return prepare
