"""Files as other software judges them: the real one, the synthetic ones, and two that are made for comparison."""

from __future__ import annotations

import pandas as pd

MOST_LABELS = 20
"""Columns of numbers with more values are taken as numbers, all others as labels."""


MISSING = ("", "N")
"""Texts of a missing value: NIST's excerpts write N, and synthetic files nothing."""


def is_number(of: pd.Series) -> bool:
    """Whether a column of the real table is taken as numbers."""
    return bool(pd.to_numeric(of, errors="coerce").nunique() > MOST_LABELS)


def labels_of(of: pd.Series) -> pd.Series:
    """A column as labels, in which 1, 1.0 and 01 are one."""
    numbers = pd.to_numeric(of, errors="coerce")
    texts = of.where(~of.isin(MISSING), "")
    return texts.where(numbers.isna(), numbers.map("{:g}".format))


def read(real_file: str, files: tuple[str, ...]) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """The real table, and by name the tables to be judged: numbers as numbers, labels as labels.

    Two of these protect nobody: a random tenth of the real records, and each column drawn by itself.
    """
    texts = {file: pd.read_csv(file, dtype=str, keep_default_na=False) for file in (real_file, *files)}
    numbers = [name for name, of in texts[real_file].items() if is_number(of)]
    tables = {
        file: pd.DataFrame(
            {
                name: pd.to_numeric(table[name], errors="coerce") if name in numbers else labels_of(table[name])
                for name in texts[real_file]
            }
        )
        for file, table in texts.items()
    }
    real = tables.pop(real_file)
    alone = {name: of.sample(frac=1.0, random_state=seed).to_numpy() for seed, (name, of) in enumerate(real.items())}
    tables |= {
        "a tenth of the records": real.sample(frac=0.1, random_state=0),
        "each column by itself": pd.DataFrame(alone),
    }
    return real, tables
