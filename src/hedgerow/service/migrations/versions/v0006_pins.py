"""People pin statements: what they see on their dashboard of a data set."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table, which is empty."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "pins",
        sa.Column("data_set", number, autoincrement=False, nullable=False),
        sa.Column("person", number, autoincrement=False, nullable=False),
        sa.Column("statements", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("data_set", "person", name="pk_pins"),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="fk_pins_data_set"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_pins_person"),
    )
