"""Data sets of a store, and who may ask how much of them."""

from __future__ import annotations

import dataclasses

from sqlalchemy import RowMapping, Select, insert, select, update

from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.entries import DataSet, Grant, Registration
from hedgerow.service.schema import DATA_SETS, GRANTS, PEOPLE, REQUESTS, SESSIONS
from hedgerow.service.store_part import Part, audited, now

_DATA_SETS = select(DATA_SETS, SESSIONS.c.status, SESSIONS.c.version).join(SESSIONS)


class DataSets(Part):
    """What is registered, limits of people, and requests that may be repeated."""

    def register(self, new: Registration, *, by: int | None) -> DataSet:
        """Add a data set whose session has not begun.

        Args:
            new: What its custodian said.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is one of this name.
        """
        at = now()
        row = {"name": new.name, "registration": dataclasses.asdict(new), "created": at}
        statement = self._database.insert(DATA_SETS).on_conflict_do_nothing().returning(DATA_SETS.c.id)
        with self._database.writing() as connection:
            number = connection.scalar(statement, row)
            if number is None:
                raise ConflictError(f"there is a data set named {new.name!r} already", remedy="take another name")
            session = {"data_set": number, "version": 0, "status": "opening", "events": 0, "findings": 0}
            connection.execute(insert(SESSIONS), session)
            audited(connection, by, "register", new.name, {"budget": dict(new.budget)})
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
        version = update(SESSIONS).where(SESSIONS.c.data_set == id)
        with self._database.writing() as connection:
            # In the order in which others lock: the session first.
            connection.execute(select(SESSIONS.c.version).where(SESSIONS.c.data_set == id).with_for_update())
            name = connection.scalar(closing.returning(DATA_SETS.c.name))
            if name is not None:
                connection.execute(version.values(status="closed", version=SESSIONS.c.version + 1))
                audited(connection, by, "close", name)
        return self._found(_DATA_SETS.where(DATA_SETS.c.id == id))

    def grant(self, data_set: int, person: int) -> Grant:
        """Limits of a person at a data set, and what is used of them."""
        wanted = select(GRANTS).where(GRANTS.c.data_set == data_set, GRANTS.c.person == person)
        with self._database.reading() as connection:
            row = connection.execute(wanted).mappings().first()
        return Grant(person, None, None, 0, 0.0) if row is None else _grant(row)

    def grants(self, data_set: int) -> list[Grant]:
        """Those of everybody who has limits there or has asked."""
        wanted = select(GRANTS).where(GRANTS.c.data_set == data_set).order_by(GRANTS.c.person)
        with self._database.reading() as connection:
            return [_grant(row) for row in connection.execute(wanted).mappings()]

    def set_grant(
        self, data_set: int, person: int, queries: int | None, budget: float | None, *, by: int | None
    ) -> Grant:
        """Set the limits of a person; what is used of them stays.

        Args:
            data_set: Number of the data set.
            person: Number of the person.
            queries: How many questions may be asked; None for any number.
            budget: What they may cost in all; None for all there is.
            by: Number of the person who does it; None for the server itself.

        Raises:
            NotThereError: There is no such person or data set.
        """
        limits = {"queries": queries, "budget": budget}
        row = {"data_set": data_set, "person": person, "asked": 0, "spent": 0.0, **limits}
        statement = self._database.insert(GRANTS).on_conflict_do_update(
            index_elements=[GRANTS.c.data_set, GRANTS.c.person], set_=limits
        )
        with self._database.writing() as connection:
            written = connection.execute(statement.returning(GRANTS), row).mappings().one()
            name = connection.scalar(select(DATA_SETS.c.name).where(DATA_SETS.c.id == data_set))
            whom = connection.scalar(select(PEOPLE.c.name).where(PEOPLE.c.id == person))
            audited(connection, by, "grant", str(name), {"person": whom, **limits})
        return _grant(written)

    def request(self, *, data_set: int, person: int, key: str, digest: bytes) -> int:
        """The number of a request that may be repeated: the same for every repetition.

        Args:
            data_set: Number of the data set that is asked.
            person: Number of who asks.
            key: The person's own word for the request.
            digest: Of what is asked.

        Raises:
            ConflictError: The key stands for another request.
        """
        wanted = select(REQUESTS.c.id, REQUESTS.c.digest).where(
            REQUESTS.c.person == person, REQUESTS.c.data_set == data_set, REQUESTS.c.key == key
        )
        with self._database.reading() as connection:
            found = connection.execute(wanted).first()
        if found is None:
            row = {"person": person, "data_set": data_set, "key": key, "digest": digest, "at": now()}
            with self._database.writing() as connection:
                connection.execute(self._database.insert(REQUESTS).on_conflict_do_nothing(), row)
                found = connection.execute(wanted).one()
        if bytes(found.digest) != digest:
            raise ConflictError(
                "this idempotency key was used for other questions", remedy="take a new key for new questions"
            )
        return int(found.id)

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


def _grant(row: RowMapping) -> Grant:
    return Grant(row["person"], row["queries"], row["budget"], row["asked"], row["spent"])
