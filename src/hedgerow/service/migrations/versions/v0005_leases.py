"""Several servers divide the data sets of a store among them: each holds leases."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table, which is empty."""
    op.create_table(
        "leases",
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("unit", name="pk_leases"),
    )
