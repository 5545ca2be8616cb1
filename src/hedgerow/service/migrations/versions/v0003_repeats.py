"""Answers are found by their question, so that one that is asked again is answered without a write."""

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_AT_A_TIME = 1000


def upgrade() -> None:
    """Add the column and its index, and fill it in for what was answered."""
    op.add_column("answers", sa.Column("question", sa.LargeBinary(), nullable=True))
    op.create_index("ix_answers_data_set_person_question", "answers", ["data_set", "person", "question"])
    answers = sa.table(
        "answers", sa.column("id"), sa.column("body", sa.JSON()), sa.column("question", sa.LargeBinary())
    )
    connection = op.get_bind()
    wanted = sa.select(answers.c.id, answers.c.body).order_by(answers.c.id).limit(_AT_A_TIME)
    known = sa.update(answers).where(answers.c.id == sa.bindparam("of")).values(question=sa.bindparam("known"))
    last = 0
    while rows := connection.execute(wanted.where(answers.c.id > last)).all():
        last = rows[-1].id
        found = [{"of": number, "known": _digest(body)} for number, body in rows if body["source"] != "hypothesis only"]
        if found:
            connection.execute(known, found)


def _digest(body: dict[str, object]) -> bytes:
    told = [body["where"], body.get("statement", ""), body["confidence"]]
    return hashlib.sha256(json.dumps(told, allow_nan=False, separators=(",", ":")).encode()).digest()
