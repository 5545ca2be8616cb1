"""The first revision."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KINDS: dict[sa.types.TypeEngine[Any], str] = {
    NUMBER: "id data_set person request",
    sa.BigInteger(): "number queries asked version events findings",
    sa.Integer(): "position",
    sa.Boolean(): "measured",
    sa.Double(): "budget spent charge",
    sa.Text(): "name action subject key note",
    sa.String(length=16): "role purpose status",
    sa.DateTime(timezone=True): "created closed at expires revoked",
    sa.LargeBinary(): "value vector digest salt",
    sa.JSON(): "registration details body state data_sets",
}
"""The type of each column by its name, whichever table it is in."""
OTHERS: dict[tuple[str, str], sa.types.TypeEngine[Any]] = {
    ("models", "body"): sa.LargeBinary(),
    ("tokens", "id"): sa.Text(),
}
"""Columns of another type."""
REFERRED = {"data_set": "data_sets", "person": "people", "request": "requests"}
"""Tables whose rows columns of these names refer to."""


def upgrade() -> None:
    """Make all tables."""
    _make("data_sets", "id name registration created closed?", unique=["name"])
    _make("people", "id name role created", unique=["name"])
    _make("secrets", "name value", key=["name"])
    _make("audit", "id at person? action subject details")
    _make("events", "data_set number body at person?", key=["data_set", "number"])
    _make("findings", "data_set number measured body vector", key=["data_set", "number"])
    _make("grants", "data_set person queries? budget? asked spent", key=["data_set", "person"])
    _make("holds", "data_set charge purpose person? at", key=["data_set"])
    _make("models", "data_set body", key=["data_set"])
    _make("openings", "data_set body", key=["data_set"])
    _make("requests", "id person data_set key digest at", unique=["person", "data_set", "key"])
    _make("sessions", "data_set version status events findings state?", key=["data_set"])
    _make("tokens", "id person data_sets? created expires? revoked? note salt digest")
    _make("answers", "id data_set person request? position at body", unique=["request", "position"])
    op.create_index("ix_answers_data_set_id", "answers", ["data_set", "id"], unique=False)
    op.create_index("ix_answers_data_set_person_id", "answers", ["data_set", "person", "id"], unique=False)


def _make(table: str, columns: str, key: Sequence[str] = ("id",), unique: Sequence[str] = ()) -> None:
    """Make a table of columns that are named in their order, those with a question mark nullable."""
    kinds = {name: kind for kind, listed in KINDS.items() for name in listed.split()}
    names = [each.rstrip("?") for each in columns.split()]
    op.create_table(
        table,
        *(
            sa.Column(name, OTHERS.get((table, name), kinds[name]), nullable=f"{name}?" in columns.split())
            for name in names
        ),
        *(
            sa.ForeignKeyConstraint([name], [f"{REFERRED[name]}.id"], name=f"fk_{table}_{name}")
            for name in names
            if name in REFERRED
        ),
        sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"),
        *([sa.UniqueConstraint(*unique, name=f"uq_{table}_{unique[0]}")] if unique else []),
    )
