"""Hash chains over ledgers and the audit log, and what a person's questions take of the store."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

from hedgerow.privacy.budgets.budget import budget_from_dict
from hedgerow.system.chain import link, start_of

revision = "0002"
down_revision = "0001"

LINK = sa.String(length=64)


def upgrade() -> None:
    """Add the columns, and link what is there."""
    op.create_table(
        "chains",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("head", LINK, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_chains"),
    )
    op.add_column("sessions", sa.Column("fixed", sa.JSON(), nullable=True))
    op.add_column("sessions", sa.Column("head", LINK, nullable=True))
    op.add_column("events", sa.Column("link", LINK, nullable=True))
    op.add_column("audit", sa.Column("link", LINK, nullable=True))
    op.add_column("grants", sa.Column("storage", sa.BigInteger(), nullable=True))
    op.add_column("grants", sa.Column("stored", sa.BigInteger(), nullable=True))
    _link_ledgers(op.get_bind())
    _link_audit(op.get_bind())
    op.execute("UPDATE grants SET stored = 0")
    _require("sessions", fixed=sa.JSON(), head=LINK)
    _require("events", link=LINK)
    _require("audit", link=LINK)
    _require("grants", stored=sa.BigInteger())


def _require(table: str, **columns: Any) -> None:
    with op.batch_alter_table(table) as batch:
        for name, kind in columns.items():
            batch.alter_column(name, existing_type=kind, nullable=False)


def _link_ledgers(connection: sa.Connection) -> None:
    """Events are linked as they are; those of versions before 0.2 said less, and stop their data set."""
    data_sets = sa.table("data_sets", sa.column("id"), sa.column("registration", sa.JSON()))
    sessions = sa.table("sessions", sa.column("data_set"), sa.column("fixed", sa.JSON()), sa.column("head"))
    plain: list[Any] = [sa.column(name) for name in ("data_set", "number", "link")]
    events = sa.table("events", *plain, sa.column("body", sa.JSON()))
    for number, registration in connection.execute(sa.select(data_sets.c.id, data_sets.c.registration)).all():
        budget = budget_from_dict(registration["budget"])
        fixed = {"limit": budget.limit, "unit": budget.unit}
        head = start_of("ledger", fixed)
        wanted = sa.select(events.c.number, events.c.body).where(events.c.data_set == number)
        for place, body in connection.execute(wanted.order_by(events.c.number)).all():
            head = link(head, body)
            row = sa.update(events).where(events.c.data_set == number, events.c.number == place)
            connection.execute(row.values(link=head))
        of_it = sa.update(sessions).where(sessions.c.data_set == number)
        connection.execute(of_it.values(fixed=fixed, head=head))


def _link_audit(connection: sa.Connection) -> None:
    people = sa.table("people", sa.column("id"), sa.column("name"))
    moment = sa.DateTime(timezone=True)
    plain: list[Any] = [sa.column(name) for name in ("id", "person", "action", "subject", "link")]
    audit = sa.table("audit", *plain, sa.column("at", moment), sa.column("details", sa.JSON()))
    columns = (audit.c.id, audit.c.at, people.c.name, audit.c.action, audit.c.subject, audit.c.details)
    joined = sa.select(*columns).select_from(audit.outerjoin(people, people.c.id == audit.c.person))
    head, last = start_of("audit", {}), 0
    for last, at, person, action, subject, details in connection.execute(joined.order_by(audit.c.id)).all():
        entry = {"person": person, "action": action, "subject": subject, "details": details}
        head = link(head, {"at": _told(at), **entry})
        connection.execute(sa.update(audit).where(audit.c.id == last).values(link=head))
    chains = sa.table("chains", sa.column("name"), sa.column("last"), sa.column("head"))
    connection.execute(sa.insert(chains).values(name="audit", last=last, head=head))


def _told(at: datetime) -> str:
    """A time in UTC as the log's chain has it; SQLite keeps it without its zone."""
    moment = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")
