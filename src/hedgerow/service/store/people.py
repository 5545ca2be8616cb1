"""People, tokens and secrets of a store."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import RowMapping, insert, select, update

from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.store.entries import Person, Role, Token
from hedgerow.service.store.part import Part, audited, now
from hedgerow.service.store.schema import PEOPLE, SECRETS, TOKENS

_SIGNED_IN = select(TOKENS, PEOPLE.c.name, PEOPLE.c.role, PEOPLE.c.created.label("person_created")).join(PEOPLE)


class People(Part):
    """Who may sign in, and with what."""

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
        """Add somebody.

        Args:
            name: Unique.
            role: What the person may do.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is somebody of this name.
        """
        row: dict[str, Any] = {"name": name, "role": role, "created": now()}
        statement = self._database.insert(PEOPLE).on_conflict_do_nothing().returning(PEOPLE.c.id)
        with self._writing() as writing:
            number = writing.connection.scalar(statement, row)
            if number is None:
                raise ConflictError(f"there is a person named {name!r} already", remedy="take another name")
            audited(writing, by, "add person", name, {"role": role})
        return Person(number, **row)

    def people(self) -> list[Person]:
        """All of them, by name."""
        with self._database.reading() as connection:
            return [Person(*row) for row in connection.execute(select(PEOPLE).order_by(PEOPLE.c.name))]

    def person(self, name: str) -> Person:
        """Somebody by name.

        Raises:
            NotThereError: There is nobody of this name.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(PEOPLE).where(PEOPLE.c.name == name)).first()
        if row is None:
            raise NotThereError("there is no such person", remedy="see the list of people")
        return Person(*row)

    def add_token(self, token: Token, salt: bytes, digest: bytes, *, by: int | None) -> None:
        """Keep a token; of its secret, only what a slow hash makes of it.

        Args:
            token: Its public part.
            salt: Of the hash.
            digest: What the hash gave.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is a token of this id.
            NotThereError: There is no such person.
        """
        row = {name: getattr(token, name) for name in ("id", "person", "created", "expires", "revoked", "note")}
        scope = None if token.data_sets is None else list(token.data_sets)
        row |= {"data_sets": scope, "salt": salt, "digest": digest}
        with self._writing() as writing:
            writing.connection.execute(insert(TOKENS), row)
            person = writing.connection.scalar(select(PEOPLE.c.name).where(PEOPLE.c.id == token.person))
            expires = None if token.expires is None else token.expires.isoformat(timespec="seconds")
            told = {"person": person, "datasets": scope, "expires": expires}
            audited(writing, by, "add token", token.id, told)

    def tokens(self) -> list[Token]:
        """All of them, oldest first, also those that are no good any more."""
        with self._database.reading() as connection:
            rows = connection.execute(select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id))
            return [_token(row) for row in rows.mappings()]

    def token(self, id: str) -> tuple[Token, bytes, bytes, Person] | None:
        """A token, its salt, its digest and whose it is; None if there is no such token."""
        with self._database.reading() as connection:
            row = connection.execute(_SIGNED_IN.where(TOKENS.c.id == id)).mappings().first()
        if row is None:
            return None
        person = Person(row["person"], row["name"], row["role"], row["person_created"])
        return _token(row), bytes(row["salt"]), bytes(row["digest"]), person

    def revoke(self, id: str, *, by: int | None) -> None:
        """Make a token no good for ever; one that is no good already stays so.

        Raises:
            NotThereError: There is no such token.
        """
        good = update(TOKENS).where(TOKENS.c.id == id, TOKENS.c.revoked.is_(None)).values(revoked=now())
        with self._writing() as writing:
            if writing.connection.execute(good).rowcount:
                audited(writing, by, "revoke token", id)
            elif writing.connection.scalar(select(TOKENS.c.id).where(TOKENS.c.id == id)) is None:
                raise NotThereError("there is no such token", remedy="see the list of tokens")


def _token(row: RowMapping) -> Token:
    scope = row["data_sets"]
    return Token(
        id=row["id"],
        person=row["person"],
        data_sets=None if scope is None else tuple(scope),
        created=row["created"],
        expires=row["expires"],
        revoked=row["revoked"],
        note=row["note"],
    )
