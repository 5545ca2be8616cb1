"""A random table with derived columns, in a domain with rules; and rows that break them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.domain import Categorical, Constraint, Derived, Domain
from tests.data.sources import DOMAIN, table_of

STAGE = Derived(
    Categorical("stage", ("young", "old")), ("age",), [0] * 12 + [1] * (DOMAIN["age"].size - 12), column=True
)
"""The missing and the other value of the age are old."""
HANDED = Derived(
    Categorical("handed", ("yes, left", "yes, right", "no"), other="?"),
    ("answer", "left handed"),
    [[0, 1], [2, 2]],
    column=True,
)
NO_CHILD = Constraint(
    "age < 25 and answer = 'no'",
    ("age", "answer"),
    [[0] * 7 + [1] * (DOMAIN["age"].size - 7), [0, 1]],
    [[True, False], [True, True]],
)
LEFT = Constraint("sex = 'F' and income < 10 and left handed", ("sex", "income", "left handed"),
                  [[0, 1, 1], [0, 1, 1, 1], [0, 1]], [[[False, True], [True, True]], [[True, True]] * 2])  # fmt: skip
RULED = Domain(DOMAIN, [STAGE, HANDED], [NO_CHILD, LEFT])
"""`DOMAIN` with two derived columns, default levels and two constraints."""


def follows(row: dict[str, Any]) -> dict[str, Any]:
    """The derived columns of a row."""
    handed = "no" if row["answer"] == "no" else "yes, left" if row["left handed"] else "yes, right"
    return {"stage": "young" if row["age"] < 30 else "old", "handed": handed}


def broken_by(row: dict[str, Any]) -> list[str]:
    """The rules that a row breaks, in the order in which they are told."""
    told = {
        "age determines stage": row["stage"] != follows(row)["stage"],
        "answer and left handed determine handed": row["handed"] != follows(row)["handed"],
        NO_CHILD.text: row["age"] < 25 and row["answer"] == "no",
        LEFT.text: row["sex"] == "F" and row["income"] is not None and row["income"] < 10 and row["left handed"],
    }
    return [text for text, broken in told.items() if broken]


def ruled_table(n_rows: int, seed: int, *, good: bool = False) -> pa.Table:
    """Rows of which many break a rule; or, if they are to be good, none."""
    rng = np.random.default_rng(seed)
    rows = [row | follows(row) for row in table_of(n_rows, seed).to_pylist()]
    for row in rows:
        if rng.random() < 0.1:
            row["stage"] = "old" if row["stage"] == "young" else "young"
        if rng.random() < 0.1:
            row["handed"] = str(rng.choice(["yes, left", "no", "?"]))
    kept = [row for row in rows if not (good and broken_by(row))]
    schema = table_of(1, 0).schema.append(pa.field("stage", pa.string())).append(pa.field("handed", pa.string()))
    return pa.Table.from_pylist(kept, schema)


def left(table: pa.Table) -> pa.Table:
    """The rows that break no rule."""
    return pa.Table.from_pylist([row for row in table.to_pylist() if not broken_by(row)], table.schema)


def all_broken(n_rows: int, seed: int) -> pa.Table:
    """A table that breaks a rule in every row."""
    rows = [row | {"handed": "?"} for row in ruled_table(n_rows, seed).to_pylist()]
    return pa.Table.from_pylist(rows, ruled_table(1, 0).schema)
