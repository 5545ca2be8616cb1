"""The tables of the store, the same in SQLite and PostgreSQL.

What changes with every answer stands apart from what does not: a row is written whole. Floats are kept in JSON, where
their shortest decimal form gives the same bits back (SQLite's real columns forget the sign of a zero).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from hedgerow.errors import ConfigError

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)
"""All tables; constraints have names, so that later revisions can speak of them."""

VERSION_TABLE = "hedgerow_revision"
"""Where Alembic notes the revision of the tables."""


def to_json(value: Any) -> str:
    r"""JSON on one line, of ASCII characters; floats come back from it to the bit.

    Raises:
        ValueError: A number is infinite or not a number.

    Example:
        >>> to_json({"value": -0.0, "name": "é"})
        '{"value":-0.0,"name":"\\u00e9"}'
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


@final
class Moment(TypeDecorator[datetime]):
    """A time in UTC, to the microsecond, also where the database knows no zones.

    Example:
        >>> from sqlalchemy.dialects import sqlite
        >>> Moment().process_result_value(datetime(2030, 1, 1), sqlite.dialect())
        datetime.datetime(2030, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; without its zone for SQLite."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From whatever zone the connection speaks of."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


@final
class Words(TypeDecorator[str]):
    r"""Text that both databases can hold: they differ in what they make of a zero character.

    Example:
        >>> from sqlalchemy.dialects import sqlite
        >>> Words().process_bind_param("a\0b", sqlite.dialect())
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: a text holds a character that the store cannot hold
          Remedy: leave out zero characters and halves of surrogate pairs
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Check it.

        Raises:
            ConfigError: It holds a zero character or half of a surrogate pair.
        """
        if value is not None and ("\0" in value or not _is_utf8(value)):
            raise ConfigError(
                "a text holds a character that the store cannot hold",
                remedy="leave out zero characters and halves of surrogate pairs",
            )
        return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_LINK = String(64)

_NUMBER = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows itself only in INTEGER columns


def _number() -> Column[int]:
    return Column("id", _NUMBER, primary_key=True)


def _of(table: str, name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[int]:
    """A column with the number of a row of another table."""
    return Column(
        name, _NUMBER, ForeignKey(f"{table}.id"), primary_key=primary_key, nullable=nullable, autoincrement=False
    )


PEOPLE = Table(
    "people",
    METADATA,
    _number(),
    Column("name", Words, nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("created", Moment, nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Words, primary_key=True),
    _of("people", "person"),
    Column("data_sets", JSON(none_as_null=True)),
    Column("created", Moment, nullable=False),
    Column("expires", Moment),
    Column("revoked", Moment),
    Column("note", Words, nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
)

DATA_SETS = Table(
    "data_sets",
    METADATA,
    _number(),
    Column("name", Words, nullable=False, unique=True),
    Column("registration", JSON, nullable=False),
    Column("created", Moment, nullable=False),
    Column("closed", Moment),
)

SESSIONS = Table(
    "sessions",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("findings", BigInteger, nullable=False),
    Column("state", JSON(none_as_null=True)),
    Column("fixed", JSON, nullable=False),
    Column("head", _LINK, nullable=False),
)
"""How far each data set has come. Its state is SECRET: it holds the noise of the running threshold.

``fixed`` is what its ledger's chain begins with (limit and unit), and ``head`` the chain's last link: see `chain.py`.
"""

OPENINGS = Table(
    "openings",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    Column("body", JSON, nullable=False),
)

MODELS = Table(
    "models",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

HOLDS = Table(
    "holds",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    Column("charge", Double, nullable=False),
    Column("purpose", String(16), nullable=False),
    _of("people", "person", nullable=True),
    Column("at", Moment, nullable=False),
)

EVENTS = Table(
    "events",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("body", JSON, nullable=False),
    Column("at", Moment, nullable=False),
    _of("people", "person", nullable=True),
    Column("link", _LINK, nullable=False),
)

FINDINGS = Table(
    "findings",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("measured", Boolean, nullable=False),
    Column("body", JSON, nullable=False),
    Column("vector", LargeBinary, nullable=False),
)

REQUESTS = Table(
    "requests",
    METADATA,
    _number(),
    _of("people", "person"),
    _of("data_sets", "data_set"),
    Column("key", Words, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("person", "data_set", "key"),
)

ANSWERS = Table(
    "answers",
    METADATA,
    _number(),
    _of("data_sets", "data_set"),
    _of("people", "person"),
    _of("requests", "request", nullable=True),
    Column("position", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    Column("body", JSON, nullable=False),
    UniqueConstraint("request", "position"),
    Index(None, "data_set", "id"),
    Index(None, "data_set", "person", "id"),
)

GRANTS = Table(
    "grants",
    METADATA,
    _of("data_sets", "data_set", primary_key=True),
    _of("people", "person", primary_key=True),
    Column("queries", BigInteger),
    Column("budget", Double),
    Column("asked", BigInteger, nullable=False),
    Column("spent", Double, nullable=False),
    Column("storage", BigInteger),
    Column("stored", BigInteger, nullable=False),
)
"""Limits of people, and what is used of them; ``storage`` and ``stored`` are bytes."""

AUDIT = Table(
    "audit",
    METADATA,
    _number(),
    Column("at", Moment, nullable=False),
    _of("people", "person", nullable=True),
    Column("action", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("details", JSON, nullable=False),
    Column("link", _LINK, nullable=False),
)

CHAINS = Table(
    "chains",
    METADATA,
    Column("name", Words, primary_key=True),
    Column("last", BigInteger, nullable=False),
    Column("head", _LINK, nullable=False),
)
"""Chains over rows of the whole store: the number of the last row, and its link. Who writes locks the row."""

SECRETS = Table(
    "secrets",
    METADATA,
    Column("name", Words, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
