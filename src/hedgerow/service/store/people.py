"""People of a store: their tokens, what they may ask, and requests that may be repeated."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from hedgerow.errors import ConflictError, NotAllowedError, NotThereError, QuotaError
from hedgerow.service.store.repository import Repository, Writing, audited, now, record_of
from hedgerow.service.store.schema import (
    DATA_SETS,
    GRANTS,
    PEOPLE,
    PINS,
    REQUESTS,
    SECRETS,
    TOKENS,
    Grant,
    Person,
    Role,
    Token,
)

QUOTA = 2**28
"""Bytes that the questions of a person about a data set may add to the store, unless something else is said."""

_SIGNED_IN = select(TOKENS, PEOPLE.c.name, PEOPLE.c.role, PEOPLE.c.created.label("person_created")).join(PEOPLE)


class People(Repository):
    """People, their tokens, their limits, and requests that may be repeated."""

    def secret(self, name: str) -> bytes:
        """A random secret of this store, of 32 bytes: made once, and the same for every process."""
        wanted = select(SECRETS.c.value).where(SECRETS.c.name == name)
        with self._database.reading() as connection:
            found = connection.scalar(wanted)
        if found is not None:
            return bytes(found)
        row = {"name": name, "value": secrets.token_bytes(32)}
        with self._database.writing() as connection:
            connection.execute(self._database.insert(SECRETS).on_conflict_do_nothing(), row)
            return bytes(connection.execute(wanted).scalar_one())

    def add_person(self, name: str, role: Role, *, by: int | None) -> Person:
        """Add a person.

        Args:
            name: Unique.
            role: Role of the person.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is a person of this name.
        """
        row: dict[str, Any] = {"name": name, "role": role, "created": now()}
        statement = self._database.insert(PEOPLE).on_conflict_do_nothing().returning(PEOPLE.c.id)
        with self._writing() as writing:
            number = writing.connection.scalar(statement, row)
            if number is None:
                remedy = "choose another name; one who was removed comes back by a new role"
                raise ConflictError(f"there is a person named {name!r} already", remedy=remedy)
            audited(writing, by, "add person", name, {"role": role})
        return Person(number, **row)

    def people(self) -> list[Person]:
        """All people, by name."""
        with self._database.reading() as connection:
            return [Person(*row) for row in connection.execute(select(PEOPLE).order_by(PEOPLE.c.name))]

    def person(self, name: str) -> Person:
        """A person by name.

        Raises:
            NotThereError: There is no one of this name.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(PEOPLE).where(PEOPLE.c.name == name)).first()
        if row is None:
            raise NotThereError("there is no such person", remedy="see the list of people")
        return Person(*row)

    def vouched(self, identity: str, name: str, role: Role) -> Person:
        """The person whom a provider of identities vouches for, with the role that it tells.

        They are added when they come first. A name alone makes nobody somebody who is here already: names change at
        providers, and may be chosen there.

        Args:
            identity: Issuer and subject of the account; see `identity_of`.
            name: Name that the provider tells.
            role: Role that the provider tells.

        Raises:
            NotAllowedError: The person was removed here.
            ConflictError: The name is that of somebody who does not sign in with this account.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(PEOPLE).where(PEOPLE.c.identity == identity)).first()
        if row is None:
            return self._come_first(identity, name, role)
        person = Person(*row)
        if person.role == "removed":
            raise NotAllowedError(f"{person.name} was removed from this server", remedy="ask a custodian for a role")
        return person if person.role == role else self.set_role(person.name, role, by=None)

    def _come_first(self, identity: str, name: str, role: Role) -> Person:
        row: dict[str, Any] = {"name": name, "role": role, "created": now(), "identity": identity}
        statement = self._database.insert(PEOPLE).on_conflict_do_nothing().returning(PEOPLE.c.id)
        with self._writing() as writing:
            number = writing.connection.scalar(statement, row)
            if number is None:
                raise ConflictError(
                    f"there is a person named {name!r} already, who does not sign in with this account",
                    remedy=f"if it is the same person, run at the server: hedgerow server people {name} "
                    f"--identity '{identity}'",
                )
            audited(writing, None, "add person", name, {"role": role, "identity": identity})
        return Person(number, **row)

    def set_identity(self, name: str, identity: str, *, by: int | None) -> Person:
        """Let a person sign in with an account at a provider of identities, and with no other.

        Raises:
            NotThereError: There is no such person.
            ConflictError: The account is somebody else's.
        """
        owner = select(PEOPLE.c.name).where(PEOPLE.c.identity == identity)
        changed = update(PEOPLE).where(PEOPLE.c.name == name).values(identity=identity).returning(PEOPLE)
        with self._writing() as writing:
            before = writing.connection.scalar(owner)
            if before not in (None, name):
                raise ConflictError(f"{before} signs in with this account", remedy="see hedgerow server people")
            row = writing.connection.execute(changed).first()
            if row is None:
                raise NotThereError("there is no such person", remedy="see the list of people")
            audited(writing, by, "set identity", name, {"identity": identity})
        return Person(*row)

    def add_token(self, token: Token, salt: bytes, digest: bytes, *, by: int | None) -> None:
        """Keep a token; of its secret, only the result of a slow hash.

        Args:
            token: Its public part.
            salt: Salt of the hash.
            digest: Result of the hash.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is a token of this id.
            NotThereError: There is no such person, or they were removed.
        """
        row = asdict(token) | {"salt": salt, "digest": digest}
        with self._writing() as writing:
            owner = select(PEOPLE.c.name, PEOPLE.c.role).where(PEOPLE.c.id == token.person).with_for_update()
            person = writing.connection.execute(owner).first()
            if person is None or person.role == "removed":
                raise NotThereError("there is no such person", remedy="see the list of people")
            writing.connection.execute(insert(TOKENS), row)
            expires = None if token.expires is None else token.expires.isoformat(timespec="seconds")
            told = {"person": person.name, "datasets": token.data_sets, "expires": expires}
            audited(writing, by, "add token", token.id, told)

    def tokens(self) -> list[Token]:
        """All tokens, oldest first, including expired and revoked ones."""
        with self._database.reading() as connection:
            rows = connection.execute(select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id))
            return [record_of(Token, row) for row in rows.mappings()]

    def token(self, id: str) -> tuple[Token, bytes, bytes, Person] | None:
        """A token, its salt, its digest and its owner; None if there is no such token.

        All that changes tokens is in the audit log.
        """
        return self._unaudited.read(("token", id), lambda: self._token(id))

    def token_at_hand(self, id: str) -> tuple[Token, bytes, bytes, Person] | None:
        """The same if it was read since the audit log grew last; None if it was not, and nothing is waited for."""
        found: tuple[Token, bytes, bytes, Person] | None = self._unaudited.at_hand(("token", id))
        return found

    def _token(self, id: str) -> tuple[Token, bytes, bytes, Person] | None:
        with self._database.reading() as connection:
            row = connection.execute(_SIGNED_IN.where(TOKENS.c.id == id)).mappings().first()
        if row is None:
            return None
        person = Person(row["person"], row["name"], row["role"], row["person_created"])
        return record_of(Token, row), bytes(row["salt"]), bytes(row["digest"]), person

    def revoke(self, id: str, *, by: int | None) -> None:
        """Revoke a token permanently; idempotent.

        Raises:
            NotThereError: There is no such token.
        """
        good = update(TOKENS).where(TOKENS.c.id == id, TOKENS.c.revoked.is_(None)).values(revoked=now())
        with self._writing() as writing:
            if writing.connection.execute(good).rowcount:
                audited(writing, by, "revoke token", id)
            elif writing.connection.scalar(select(TOKENS.c.id).where(TOKENS.c.id == id)) is None:
                raise NotThereError("there is no such token", remedy="see the list of tokens")

    def revoke_all(self, name: str, *, by: int | None) -> int:
        """Revoke all tokens of a person permanently, in one step; their number.

        Raises:
            NotThereError: There is no such person.
        """
        person = self.person(name)
        with self._writing() as writing:
            return _revoke(writing, person.id, by)

    def set_role(self, name: str, role: Role, *, by: int | None) -> Person:
        """Change what a person may do, with the tokens that there are too; of one who is removed, they are revoked.

        What a removed person asked, and what it cost, stays.

        Raises:
            NotThereError: There is no such person.
        """
        changed = update(PEOPLE).where(PEOPLE.c.name == name).values(role=role).returning(PEOPLE)
        with self._writing() as writing:
            row = writing.connection.execute(changed).first()
            if row is None:
                raise NotThereError("there is no such person", remedy="see the list of people")
            if role == "removed":
                _revoke(writing, row.id, by)
                writing.connection.execute(delete(PINS).where(PINS.c.person == row.id))
            audited(writing, by, "set role", name, {"role": role})
        return Person(*row)

    def room(self, grant: Grant) -> int:
        """Bytes that the questions of a person may still add; below 0 if a limit was lowered."""
        return (self.quota if grant.storage is None else grant.storage) - grant.stored

    def grant(self, data_set: int, person: int) -> Grant:
        """Limits of a person on a data set, and how much of them is used."""
        with self._database.reading() as connection:
            row = connection.execute(_wanted(data_set, person)).mappings().first()
        return Grant(person, None, None, 0, 0.0) if row is None else record_of(Grant, row)

    def grants(self, data_set: int) -> list[Grant]:
        """The limits of everyone who has limits on a data set or has asked it."""
        wanted = select(GRANTS).where(GRANTS.c.data_set == data_set).order_by(GRANTS.c.person)
        with self._database.reading() as connection:
            return [record_of(Grant, row) for row in connection.execute(wanted).mappings()]

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
        """Set the limits of a person; what has been used of them stays.

        Args:
            data_set: Number of the data set.
            person: Number of the person.
            queries: Number of questions that may be asked; None for no limit.
            budget: Total that they may cost; None for all of the budget.
            storage: Bytes that they may add to the store; None for the store's default.
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
        return record_of(Grant, written)

    def pins(self, data_set: int, person: int) -> tuple[str, ...]:
        """The statements that a person has pinned to the dashboard of a data set, in their order."""
        wanted = select(PINS.c.statements).where(PINS.c.data_set == data_set, PINS.c.person == person)
        with self._database.reading() as connection:
            return connection.scalar(wanted) or ()

    def pin(self, data_set: int, person: int, statements: Sequence[str]) -> None:
        """Pin statements to a person's dashboard of a data set, in place of those that were there."""
        row = {"data_set": data_set, "person": person, "statements": list(statements)}
        new = self._database.insert(PINS).on_conflict_do_update(
            index_elements=[PINS.c.data_set, PINS.c.person], set_={"statements": list(statements)}
        )
        with self._database.writing() as connection:
            connection.execute(new, row)

    def request(self, *, data_set: int, person: int, key: str, digest: bytes) -> int:
        """The number of a request that may be repeated: the same for every repetition.

        Args:
            data_set: Number of the data set.
            person: Number of the person who asks.
            key: Key that the person chose for the request.
            digest: Digest of what is asked.

        Raises:
            ConflictError: The key stands for another request.
            QuotaError: The person's share of the store is full.
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
                "this idempotency key was used for other questions", remedy="use a new key for new questions"
            )
        return int(found.id)

    def _keep(self, connection: Connection, data_set: int, person: int, size: int) -> None:
        """Count bytes that something of a person's adds, if there is room for them."""
        connection.execute(
            self._more, {"data_set": data_set, "person": person, "asked": 0, "spent": 0.0, "stored": size}
        )
        grant = record_of(Grant, connection.execute(_wanted(data_set, person)).mappings().one())
        if self.room(grant) < 0:
            raise QuotaError(stored=grant.stored - size, room=self.room(grant) + size, needed=size)


def identity_of(issuer: str, subject: str) -> str:
    """The account at a provider of identities as one text: its issuer holds no blank.

    Example:
        >>> identity_of("https://id.example.org", "248289761001")
        'https://id.example.org 248289761001'
    """
    return f"{issuer} {subject}"


def _revoke(writing: Writing, person: int, by: int | None) -> int:
    """Revoke all tokens of a person within a transaction; their number."""
    good = update(TOKENS).where(TOKENS.c.person == person, TOKENS.c.revoked.is_(None)).values(revoked=now())
    revoked = writing.connection.scalars(good.returning(TOKENS.c.id)).all()
    for id in sorted(revoked):
        audited(writing, by, "revoke token", id)
    return len(revoked)


def _wanted(data_set: int, person: int) -> Select[Any]:
    return select(GRANTS).where(GRANTS.c.data_set == data_set, GRANTS.c.person == person)
