"""People may be known by a provider of identities, with which they sign in."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column, which is empty for everyone there is."""
    op.add_column("people", sa.Column("identity", sa.Text(), nullable=True))
    op.create_index("ix_people_identity", "people", ["identity"], unique=True)
