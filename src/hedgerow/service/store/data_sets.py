"""Data sets of a store."""

from __future__ import annotations

import dataclasses

from sqlalchemy import RowMapping, Select, insert, select, update

from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.store.entries import DataSet, Point, Registration
from hedgerow.service.store.part import Part, audited, now
from hedgerow.service.store.schema import DATA_SETS, SESSIONS
from hedgerow.service.store.steps import LEDGER, fixed_of
from hedgerow.system import start_of

_DATA_SETS = select(DATA_SETS, SESSIONS.c.status, SESSIONS.c.version).join(SESSIONS)


class DataSets(Part):
    """What is registered."""

    def register(self, new: Registration, *, by: int | None) -> DataSet:
        """Add a data set whose session has not begun.

        Args:
            new: What its custodian said.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is one of this name.
            ConfigError: The budget is none.
        """
        at, fixed = now(), fixed_of(new.budget)
        head = start_of(LEDGER, fixed)
        row = {"name": new.name, "registration": dataclasses.asdict(new), "created": at}
        statement = self._database.insert(DATA_SETS).on_conflict_do_nothing().returning(DATA_SETS.c.id)
        with self._writing() as writing:
            number = writing.connection.scalar(statement, row)
            if number is None:
                raise ConflictError(f"there is a data set named {new.name!r} already", remedy="take another name")
            session = {"data_set": number, "version": 0, "status": "opening", "events": 0, "findings": 0}
            writing.connection.execute(insert(SESSIONS), {**session, "fixed": fixed, "head": head})
            writing.ledgers[number] = Point(0, head)
            audited(writing, by, "register", new.name, {"budget": dict(new.budget)})
            self._reached("registration written")
        return DataSet(number, new, "opening", 0, at, None)

    def data_sets(self) -> list[DataSet]:
        """All of them, by name."""
        with self._database.reading() as connection:
            return [_data_set(row) for row in connection.execute(_DATA_SETS.order_by(DATA_SETS.c.name)).mappings()]

    def data_set(self, name: str) -> DataSet:
        """One by name.

        Raises:
            NotThereError: There is none of this name.
        """
        return self._found(_DATA_SETS.where(DATA_SETS.c.name == name))

    def close_data_set(self, id: int, *, by: int | None) -> DataSet:
        """Look at its data never again; whoever is at it now is outdated. Closing it twice changes nothing.

        Raises:
            NotThereError: There is none of this number.
        """
        closing = update(DATA_SETS).where(DATA_SETS.c.id == id, DATA_SETS.c.closed.is_(None)).values(closed=now())
        session = select(SESSIONS.c.version, SESSIONS.c.events, SESSIONS.c.head).where(SESSIONS.c.data_set == id)
        with self._writing() as writing:
            # In the order in which others lock: the session first.
            row = writing.connection.execute(session.with_for_update()).first()
            name = writing.connection.scalar(closing.returning(DATA_SETS.c.name))
            if row is not None and name is not None:
                closed = update(SESSIONS).where(SESSIONS.c.data_set == id)
                writing.connection.execute(closed.values(status="closed", version=row.version + 1))
                writing.ledgers[id] = Point(row.events, row.head, row.version + 1)
                audited(writing, by, "close", name)
        return self._found(_DATA_SETS.where(DATA_SETS.c.id == id))

    def _found(self, wanted: Select[tuple[object, ...]]) -> DataSet:
        with self._database.reading() as connection:
            row = connection.execute(wanted).mappings().first()
        if row is None:
            raise NotThereError("there is no such data set", remedy="see the list of data sets")
        return _data_set(row)


def _data_set(row: RowMapping) -> DataSet:
    return DataSet(
        id=row["id"],
        registration=Registration(**row["registration"]),
        status=row["status"],
        version=row["version"],
        created=row["created"],
        closed=row["closed"],
    )
