"""The domain file of Adult's 14 attributes gives the codes that the recipe describes, to the byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from hedgerow.data import read_table
from hedgerow.domain import read_domain

DATA = Path(__file__).parents[2] / "examples" / "data"
RECIPE = json.loads((DATA / "adult_mbi.recipe.json").read_text())
DOMAIN = DATA / "adult14.domain.yaml"


def test_the_domain_is_the_recipes() -> None:
    domain = read_domain(DOMAIN)
    names = ["income" if name == "income>50K" else name for name in RECIPE["domain"]]
    assert list(domain.names) == names
    assert list(domain.shape) == list(RECIPE["domain"].values())


def test_the_codes_are_the_recipes_file_byte_for_byte() -> None:
    table = read_table(DATA / "adult.csv", DOMAIN, extra_columns="ignore")
    rows = np.column_stack(table.columns).tolist()
    lines = [",".join(RECIPE["domain"]), *(",".join(map(str, row)) for row in rows)]
    content = ("\n".join(lines) + "\n").encode()
    assert len(rows) == RECIPE["rows"]
    assert hashlib.sha256(content).hexdigest() == RECIPE["source_csv_sha256"]
