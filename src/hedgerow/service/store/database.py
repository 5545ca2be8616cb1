"""A database of either kind: its transactions, and one process at a time at a data set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sqlalchemy import Connection, Engine, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from hedgerow.service.store.failures import told

Insert = postgresql.Insert | sqlite.Insert
"""An INSERT that may say what happens if the row is there."""


class Database(ABC):
    """What the store needs of a database.

    Args:
        place: As messages may show it: without user, password and options.
        reads: Gives connections whose transactions see one state of the database.
        writes: Gives connections for transactions that write.
        wait: Seconds to wait for others' transactions.

    Attributes:
        place: As messages may show it.
        wait: Seconds to wait for others' transactions.
    """

    def __init__(self, place: str, reads: Engine, writes: Engine, wait: float) -> None:
        """Open no connection yet."""
        self.place = place
        self.wait = wait
        self._reads = reads
        self._writes = writes

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database.

        Raises:
            StoreError: See `told`.
        """
        with told(self.place), self._reads.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on the disk when this ends, or leaves nothing behind.

        If the connection breaks while it is committed, `StoreError` is raised although it may be there.

        Raises:
            StoreError: See `told`.
        """
        with told(self.place), self._turn(), self._writes.begin() as connection:
            yield connection

    def insert(self, table: Table) -> Insert:
        """An INSERT in the words of this database."""
        return postgresql.insert(table) if self._writes.dialect.name == "postgresql" else sqlite.insert(table)

    @abstractmethod
    def alone(self, number: int, *, wait: float) -> AbstractContextManager[None]:
        """Keep other threads and processes away from a data set; ends with the process, however it ends.

        Raises:
            StoreBusyError: Another one is at it for longer than ``wait`` seconds.
        """

    @abstractmethod
    def preparing(self) -> AbstractContextManager[Connection]:
        """A writing transaction that no other process is in with this method: for the tables themselves."""

    def ping(self) -> None:
        """See whether it answers."""
        with self.reading() as connection:
            connection.execute(select(1))

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._writes.dispose()

    def _turn(self) -> AbstractContextManager[object]:
        """Whatever must be waited for before a transaction that writes."""
        return nullcontext()
