"""Revisions of the store's tables, as Alembic runs them."""
