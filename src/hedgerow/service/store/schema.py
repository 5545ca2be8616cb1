"""The tables of the store, the same in SQLite and PostgreSQL.

What changes with every answer stands apart from what does not: a row is written whole. Floats are kept in JSON, where
their shortest decimal form gives the same bits back (SQLite's real columns forget the sign of a zero).
"""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from hedgerow.errors import ConfigError

METADATA = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)
"""All tables; constraints have names, so that later revisions can refer to them."""

Role = Literal["custodian", "analyst", "removed"]

VERSION_TABLE = "hedgerow_revision"
"""Table in which Alembic notes the revision of the tables."""


def to_json(value: Any) -> str:
    r"""JSON on one line, of ASCII characters; floats come back from it to the bit.

    Raises:
        ValueError: A number is infinite or not a number.

    Example:
        >>> to_json({"value": -0.0, "name": "é"})
        '{"value":-0.0,"name":"\\u00e9"}'
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def question_digest(where: str, statement: str, confidence: float) -> bytes:
    """Digest that tells questions of a person apart, of 32 bytes.

    Args:
        where: The condition in canonical form.
        statement: The SQL statement that leads to it; empty if it is asked by itself.
        confidence: Confidence of the interval.

    Example:
        >>> question_digest("a = 1", "", 0.95) == question_digest("a = 1", "", 0.9)
        False
    """
    return hashlib.sha256(to_json([where, statement, confidence]).encode()).digest()


class Moment(sa.TypeDecorator[datetime]):
    """A time in UTC, to the microsecond, also if the database knows no zones.

    Example:
        >>> from sqlalchemy.dialects import sqlite
        >>> Moment().process_result_value(datetime(2030, 1, 1), sqlite.dialect())
        datetime.datetime(2030, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Turn a time to UTC; without its zone for SQLite."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Turn a time in the connection's zone to UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Words(sa.TypeDecorator[str]):
    r"""Text that both databases can hold: they treat zero characters differently.

    Example:
        >>> from sqlalchemy.dialects import sqlite
        >>> Words().process_bind_param("a\0b", sqlite.dialect())
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: a text holds a character that the store cannot hold
          Remedy: leave out zero characters and halves of surrogate pairs
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Check it.

        Raises:
            ConfigError: It holds a zero character or half of a surrogate pair.
        """
        if value is not None and not is_storable(value):
            raise ConfigError(
                "a text holds a character that the store cannot hold",
                remedy="leave out zero characters and halves of surrogate pairs",
            )
        return value


def is_storable(text: str) -> bool:
    r"""Whether both databases can hold a text: it has no zero character and no half of a surrogate pair.

    Example:
        >>> is_storable("é"), is_storable("a\0b"), is_storable("\ud800")
        (True, False, False)
    """
    return "\0" not in text and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text))


_LINK = sa.String(64)

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite numbers rows itself only in INTEGER columns


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(name, METADATA, *columns)


def _number() -> sa.Column[int]:
    return sa.Column("id", _NUMBER, primary_key=True)


def _of(table: str, name: str, *, primary_key: bool = False, nullable: bool = False) -> sa.Column[int]:
    """A column with the number of a row of another table."""
    return sa.Column(
        name, _NUMBER, sa.ForeignKey(f"{table}.id"), primary_key=primary_key, nullable=nullable, autoincrement=False
    )


class Names(sa.TypeDecorator[tuple[str, ...]]):
    """Names in JSON; a null for all of them."""

    impl = sa.JSON(none_as_null=True)
    cache_ok = True

    def process_result_value(self, value: list[str] | None, dialect: sa.Dialect) -> tuple[str, ...] | None:
        """Read a list as a tuple."""
        return None if value is None else tuple(value)


class Record(MappedAsDataclass, DeclarativeBase):
    """A table whose rows are records."""

    metadata = METADATA
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Words,
        datetime: Moment,
        float: sa.Double,
        int: sa.BigInteger,
    }


class Person(Record):
    """A person who may have tokens.

    Attributes:
        id: Number in the store.
        name: Unique.
        role: A custodian may do everything; an analyst asks; one who was removed has no tokens, and gets none.
        created: Time of creation, in UTC.
        identity: Issuer and subject of the account at a provider that they sign in with; None if there is none.
    """

    __tablename__ = "people"

    id: Mapped[int] = mapped_column(_NUMBER, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[Role] = mapped_column(sa.String(16))
    created: Mapped[datetime]
    identity: Mapped[str | None] = mapped_column(default=None, unique=True, index=True)


PEOPLE = METADATA.tables["people"]


class Token(Record):
    """A token that a person signs in with, without its secret.

    Attributes:
        id: The public part.
        person: Number of the person.
        data_sets: Names of the data sets that it opens; None for all.
        created: Time of creation, in UTC.
        expires: End of its life; None if it does not expire.
        revoked: Time of revocation; None if it was not revoked.
        note: Purpose, in words.

    Example:
        >>> token = Token("0123456789abcdef", 1, ("adult",), datetime(2030, 1, 1))
        >>> token.reaches("adult"), token.reaches("patients")
        (True, False)
        >>> token.lies_within(("adult", "patients")), token.lies_within(("patients",)), token.lies_within(None)
        (True, False, True)
    """

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(primary_key=True)
    person: Mapped[int] = mapped_column(_NUMBER, sa.ForeignKey("people.id"))
    data_sets: Mapped[tuple[str, ...] | None] = mapped_column(Names)
    created: Mapped[datetime]
    expires: Mapped[datetime | None] = mapped_column(default=None)
    revoked: Mapped[datetime | None] = mapped_column(default=None)
    note: Mapped[str] = mapped_column(default="")
    salt = mapped_column(sa.LargeBinary, nullable=False)  # of the digest; both are of no record
    digest = mapped_column(sa.LargeBinary, nullable=False)

    def reaches(self, data_set: str) -> bool:
        """Whether it opens a data set."""
        return self.data_sets is None or data_set in self.data_sets

    def lies_within(self, scope: tuple[str, ...] | None) -> bool:
        """Whether it opens nothing outside a scope; None is the scope of everything."""
        return scope is None or (bool(self.data_sets) and set(self.data_sets or ()) <= set(scope))


TOKENS = METADATA.tables["tokens"]

DATA_SETS = _table(
    "data_sets",
    _number(),
    sa.Column("name", Words, nullable=False, unique=True),
    sa.Column("registration", sa.JSON, nullable=False),
    sa.Column("created", Moment, nullable=False),
    sa.Column("closed", Moment),
)

SESSIONS = _table(
    "sessions",
    _of("data_sets", "data_set", primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("events", sa.BigInteger, nullable=False),
    sa.Column("findings", sa.BigInteger, nullable=False),
    sa.Column("state", sa.JSON(none_as_null=True)),
    sa.Column("fixed", sa.JSON, nullable=False),
    sa.Column("head", _LINK, nullable=False),
)
"""Progress of each data set. Its state is SECRET: it holds the noise of the running threshold.

``fixed`` is the start of its ledger's chain (limit and unit), ``head`` the chain's last link: see `system/chain.py`.
"""

OPENINGS = _table(
    "openings",
    _of("data_sets", "data_set", primary_key=True),
    sa.Column("body", sa.JSON, nullable=False),
)

MODELS = _table(
    "models",
    _of("data_sets", "data_set", primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

HOLDS = _table(
    "holds",
    _of("data_sets", "data_set", primary_key=True),
    sa.Column("charge", sa.Double, nullable=False),
    sa.Column("purpose", sa.String(16), nullable=False),
    _of("people", "person", nullable=True),
    sa.Column("at", Moment, nullable=False),
)

EVENTS = _table(
    "events",
    _of("data_sets", "data_set", primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("at", Moment, nullable=False),
    _of("people", "person", nullable=True),
    sa.Column("link", _LINK, nullable=False),
)

FINDINGS = _table(
    "findings",
    _of("data_sets", "data_set", primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("measured", sa.Boolean, nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)

REQUESTS = _table(
    "requests",
    _number(),
    _of("people", "person"),
    _of("data_sets", "data_set"),
    sa.Column("key", Words, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("at", Moment, nullable=False),
    sa.UniqueConstraint("person", "data_set", "key"),
)

ANSWERS = _table(
    "answers",
    _number(),
    _of("data_sets", "data_set"),
    _of("people", "person"),
    _of("requests", "request", nullable=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("at", Moment, nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("question", sa.LargeBinary),
    sa.UniqueConstraint("request", "position"),
    sa.Index(None, "data_set", "id"),
    sa.Index(None, "data_set", "person", "id"),
    sa.Index(None, "data_set", "person", "question"),
)
"""Answers as they were given. ``question`` tells those apart that may be given again; none if it may not be."""


class Grant(Record):
    """Limits of one person on one data set, and how much of them is used.

    Attributes:
        person: Number of the person.
        queries: Number of questions that may be asked; None for no limit.
        budget: Total that they may cost, in the unit of the data set's budget; None for all of it.
        asked: Questions so far.
        spent: Cost of their corrections so far: the price of one, `OnlineSession.price`, for each; and lost holds.
        storage: Bytes that the questions may add to the store; None for the store's default.
        stored: Bytes that they have added.
    """

    __tablename__ = "grants"

    data_set = mapped_column(_NUMBER, sa.ForeignKey("data_sets.id"), primary_key=True, autoincrement=False)
    person: Mapped[int] = mapped_column(_NUMBER, sa.ForeignKey("people.id"), primary_key=True, autoincrement=False)
    queries: Mapped[int | None]
    budget: Mapped[float | None]
    asked: Mapped[int]
    spent: Mapped[float]
    storage: Mapped[int | None] = mapped_column(default=None)
    stored: Mapped[int] = mapped_column(default=0)


GRANTS = METADATA.tables["grants"]

PINS = _table(
    "pins",
    _of("data_sets", "data_set", primary_key=True),
    _of("people", "person", primary_key=True),
    sa.Column("statements", Names, nullable=False),
)
"""Statements that people see on their dashboards of data sets; none of them is asked for that."""

AUDIT = _table(
    "audit",
    _number(),
    sa.Column("at", Moment, nullable=False),
    _of("people", "person", nullable=True),
    sa.Column("action", Words, nullable=False),
    sa.Column("subject", Words, nullable=False),
    sa.Column("details", sa.JSON, nullable=False),
    sa.Column("link", _LINK, nullable=False),
)

CHAINS = _table(
    "chains",
    sa.Column("name", Words, primary_key=True),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("head", _LINK, nullable=False),
)
"""Chains over rows of the whole store: the number of the last row, and its link. Who writes locks the row."""

LAST_AUDITED = "SELECT last FROM chains WHERE name = 'audit'"
"""Number of the last entry of the audit log, in any SQL."""

LEASES = _table(
    "leases",
    sa.Column("unit", Words, primary_key=True),
    sa.Column("owner", sa.BigInteger, nullable=False),
    sa.Column("address", Words, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("expires", Moment, nullable=False),
)
"""Which process works for which data sets, and until when: see `leases.py`. Of one database, not of what is kept."""

SECRETS = _table(
    "secrets",
    sa.Column("name", Words, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
