"""A generated register of live births, to try criteria on: ``python examples/births.py births.csv``.

Nobody is in it. Its columns and their dependences are those of a register of births: age of the mother, births before,
weeks of gestation, weight in hundreds of grams, twins, births by surgery, and the month.
"""

import sys

import numpy as np
import pyarrow as pa
from pyarrow import csv


def births(number: int = 165_000, seed: int = 7) -> pa.Table:
    """A register of so many births."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - a table that nobody is in
    twin = rng.random(number) < 0.04
    age = np.clip(rng.normal(30.5, 5.6, number).round(), 15, 50)
    earlier = np.minimum(rng.poisson((age - 15) / 11), 10)
    weeks = 39.2 - 2.8 * twin - rng.gamma(1.2, 0.8, number) + rng.normal(0, 0.9, number)
    weeks = np.clip(weeks.round(), 24, 43)
    weight = np.clip((33 + 1.6 * (weeks - 39) - 4 * twin + rng.normal(0, 4, number)).round(), 5, 55)
    surgery = rng.random(number) < 0.1 + 0.35 * twin + 0.01 * (age - 25).clip(0)
    said = np.array(["no", "yes"])
    return pa.table(
        {
            "sex": np.array(["F", "M"])[rng.integers(0, 2, number)],
            "twin": said[twin.astype(int)],
            "age": age.astype(int),
            "earlier": earlier.astype(int),
            "weeks": weeks.astype(int),
            "weight": weight.astype(int),
            "surgery": said[surgery.astype(int)],
            "month": rng.integers(1, 13, number),
        }
    )


if __name__ == "__main__":
    csv.write_csv(births(), sys.argv[1])
