"""Alembic's environment: it runs the missing revisions on the given connection, in its transaction."""

from alembic import context

from hedgerow.service.store.schema import METADATA, VERSION_TABLE


def run() -> None:
    """Run them."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        version_table=VERSION_TABLE,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # as Alembic names it; anything else that imports this runs nothing
    run()
