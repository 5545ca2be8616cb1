"""Who may ask how much of a data set, how much of the store that may take, and requests that may be repeated."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, RowMapping, Select, select

from hedgerow.errors import ConflictError, QuotaError
from hedgerow.service.store.database import Database
from hedgerow.service.store.entries import Grant
from hedgerow.service.store.part import Part, Reached, audited, now
from hedgerow.service.store.schema import DATA_SETS, GRANTS, PEOPLE, REQUESTS

if TYPE_CHECKING:
    from hedgerow.service.store.anchor import Anchor

QUOTA = 2**28
"""Bytes that the questions of a person about a data set may add to the store, unless something else is said."""

USED = ("asked", "spent", "stored")
"""What is counted of a person's questions."""


class Grants(Part):
    """Limits of people, what is used of them, and requests that may be repeated."""

    def __init__(self, database: Database, reached: Reached, *, anchor: Anchor | None, quota: int) -> None:
        """Open no connection yet."""
        super().__init__(database, reached, anchor=anchor, quota=quota)
        grants = database.insert(GRANTS)
        more = {name: GRANTS.c[name] + grants.excluded[name] for name in USED}
        self._more = grants.on_conflict_do_update(index_elements=[GRANTS.c.data_set, GRANTS.c.person], set_=more)

    def room(self, grant: Grant) -> int:
        """How many bytes the questions of a person may still add; below 0 where a limit was lowered."""
        return (self.quota if grant.storage is None else grant.storage) - grant.stored

    def grant(self, data_set: int, person: int) -> Grant:
        """Limits of a person at a data set, and what is used of them."""
        with self._database.reading() as connection:
            row = connection.execute(_wanted(data_set, person)).mappings().first()
        return Grant(person, None, None, 0, 0.0) if row is None else grant_of(row)

    def grants(self, data_set: int) -> list[Grant]:
        """Those of everybody who has limits there or has asked."""
        wanted = select(GRANTS).where(GRANTS.c.data_set == data_set).order_by(GRANTS.c.person)
        with self._database.reading() as connection:
            return [grant_of(row) for row in connection.execute(wanted).mappings()]

    def set_grant(
        self,
        data_set: int,
        person: int,
        queries: int | None,
        budget: float | None,
        storage: int | None = None,
        *,
        by: int | None,
    ) -> Grant:
        """Set the limits of a person; what is used of them stays.

        Args:
            data_set: Number of the data set.
            person: Number of the person.
            queries: How many questions may be asked; None for any number.
            budget: What they may cost in all; None for all there is.
            storage: How many bytes they may add to the store; None for as many as it grants everybody.
            by: Number of the person who does it; None for the server itself.

        Raises:
            NotThereError: There is no such person or data set.
        """
        limits = {"queries": queries, "budget": budget, "storage": storage}
        row = {"data_set": data_set, "person": person, "asked": 0, "spent": 0.0, "stored": 0, **limits}
        statement = self._database.insert(GRANTS).on_conflict_do_update(
            index_elements=[GRANTS.c.data_set, GRANTS.c.person], set_=limits
        )
        with self._writing() as writing:
            written = writing.connection.execute(statement.returning(GRANTS), row).mappings().one()
            name = writing.connection.scalar(select(DATA_SETS.c.name).where(DATA_SETS.c.id == data_set))
            whom = writing.connection.scalar(select(PEOPLE.c.name).where(PEOPLE.c.id == person))
            audited(writing, by, "grant", str(name), {"person": whom, **limits})
        return grant_of(written)

    def request(self, *, data_set: int, person: int, key: str, digest: bytes) -> int:
        """The number of a request that may be repeated: the same for every repetition.

        Args:
            data_set: Number of the data set that is asked.
            person: Number of who asks.
            key: The person's own word for the request.
            digest: Digest of what is asked.

        Raises:
            ConflictError: The key stands for another request.
            QuotaError: There is no room left for what the person asks.
        """
        wanted = select(REQUESTS.c.id, REQUESTS.c.digest).where(
            REQUESTS.c.person == person, REQUESTS.c.data_set == data_set, REQUESTS.c.key == key
        )
        with self._database.reading() as connection:
            found = connection.execute(wanted).first()
        if found is None:
            row = {"person": person, "data_set": data_set, "key": key, "digest": digest, "at": now()}
            new = self._database.insert(REQUESTS).on_conflict_do_nothing().returning(REQUESTS.c.id)
            with self._database.writing() as connection:
                if connection.scalar(new, row) is not None:
                    self._keep(connection, data_set, person, len(key) + len(digest))
                found = connection.execute(wanted).one()
        if bytes(found.digest) != digest:
            raise ConflictError(
                "this idempotency key was used for other questions", remedy="take a new key for new questions"
            )
        return int(found.id)

    def _keep(self, connection: Connection, data_set: int, person: int, size: int) -> None:
        """Count bytes that something of a person's adds, if there is room for them."""
        connection.execute(
            self._more, {"data_set": data_set, "person": person, "asked": 0, "spent": 0.0, "stored": size}
        )
        grant = grant_of(connection.execute(_wanted(data_set, person)).mappings().one())
        if self.room(grant) < 0:
            raise QuotaError(stored=grant.stored - size, room=self.room(grant) + size, needed=size)


def grant_of(row: RowMapping) -> Grant:
    """Limits from a row of `GRANTS`."""
    return Grant(**{each.name: row[each.name] for each in dataclasses.fields(Grant)})


def _wanted(data_set: int, person: int) -> Select[Any]:
    return select(GRANTS).where(GRANTS.c.data_set == data_set, GRANTS.c.person == person)
