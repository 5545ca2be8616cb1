"""The first revision."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "data_sets",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("registration", sa.JSON(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("closed", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_data_sets"),
        sa.UniqueConstraint("name", name="uq_data_sets_name"),
    )
    op.create_table(
        "people",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("name", name="uq_people_name"),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_secrets"),
    )
    op.create_table(
        "audit",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("person", NUMBER, nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_audit_person"),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_table(
        "events",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("person", NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_events_data_set"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_events_person"),
        sa.PrimaryKeyConstraint("data_set", "number", name="pk_events"),
    )
    op.create_table(
        "findings",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("measured", sa.Boolean(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_findings_data_set"),
        sa.PrimaryKeyConstraint("data_set", "number", name="pk_findings"),
    )
    op.create_table(
        "grants",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("person", NUMBER, nullable=False),
        sa.Column("queries", sa.BigInteger(), nullable=True),
        sa.Column("budget", sa.Double(), nullable=True),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_grants_data_set"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_grants_person"),
        sa.PrimaryKeyConstraint("data_set", "person", name="pk_grants"),
    )
    op.create_table(
        "holds",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("charge", sa.Double(), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("person", NUMBER, nullable=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_holds_data_set"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_holds_person"),
        sa.PrimaryKeyConstraint("data_set", name="pk_holds"),
    )
    op.create_table(
        "models",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_models_data_set"),
        sa.PrimaryKeyConstraint("data_set", name="pk_models"),
    )
    op.create_table(
        "openings",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_openings_data_set"),
        sa.PrimaryKeyConstraint("data_set", name="pk_openings"),
    )
    op.create_table(
        "requests",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("person", NUMBER, nullable=False),
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_requests_data_set"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_requests_person"),
        sa.PrimaryKeyConstraint("id", name="pk_requests"),
        sa.UniqueConstraint("person", "data_set", "key", name="uq_requests_person"),
    )
    op.create_table(
        "sessions",
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("findings", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_sessions_data_set"),
        sa.PrimaryKeyConstraint("data_set", name="pk_sessions"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("person", NUMBER, nullable=False),
        sa.Column("data_sets", sa.JSON(), nullable=True),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("expires", MOMENT, nullable=True),
        sa.Column("revoked", MOMENT, nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_tokens_person"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
    )
    op.create_table(
        "answers",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("data_set", NUMBER, nullable=False),
        sa.Column("person", NUMBER, nullable=False),
        sa.Column("request", NUMBER, nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_answers_data_set"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_answers_person"),
        sa.ForeignKeyConstraint(["request"], ["requests.id"], name="fk_answers_request"),
        sa.PrimaryKeyConstraint("id", name="pk_answers"),
        sa.UniqueConstraint("request", "position", name="uq_answers_request"),
    )
    op.create_index("ix_answers_data_set_id", "answers", ["data_set", "id"], unique=False)
    op.create_index("ix_answers_data_set_person_id", "answers", ["data_set", "person", "id"], unique=False)
