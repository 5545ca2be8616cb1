"""How the tables of the store came to be what they are, revision by revision, in Alembic's words."""
