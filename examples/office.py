"""Generated persons of an office's areas, its published totals, and a domain file: ``python examples/office.py``.

Nobody is among them. An area's code begins with its state (two digits) and its county (two more). Groups of race are
uneven between counties and areas, as they are in a census.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

STATES, COUNTIES, AREAS = 4, 5, 20
"""Numbers of states, of counties of each, and of areas of each of these."""


def persons(number: int = 60_000, seed: int = 17) -> pa.Table:
    """So many persons: area, sex, age group and race."""
    rng = np.random.default_rng(seed)  # noqa: TID251 - persons that nobody is among
    counties, areas = STATES * COUNTIES, STATES * COUNTIES * AREAS
    weights = np.exp(rng.normal(0.0, 0.8, areas) + np.repeat(rng.normal(0.0, 0.6, counties), AREAS))
    area = rng.choice(areas, number, p=weights / weights.sum())
    shares = np.array([0.6, 0.14, 0.2, 0.06])
    race = rng.dirichlet(8.0 * shares, counties)[area // AREAS] * rng.dirichlet(30.0 * shares, areas)[area]
    ends = race.cumsum(1)
    drawn = (ends > rng.random(number)[:, None] * ends[:, -1:]).argmax(1)
    return pa.table(
        {
            "area": np.array(codes())[area],
            "sex": np.array(["F", "M"])[rng.integers(0, 2, number)],
            "age": np.array(["child", "young", "adult", "old"])[rng.choice(4, number, p=[0.2, 0.25, 0.35, 0.2])],
            "race": np.array(["a", "b", "c", "d"])[drawn],
        }
    )


def codes() -> list[str]:
    """Codes of all areas."""
    return [f"{s:02d}{c:02d}{a:02d}" for s in range(STATES) for c in range(COUNTIES) for a in range(AREAS)]


DOMAIN = """\
attributes:
  area: {{values: [{areas}], levels: {{prefix: [4, 2]}}}}
  sex: [F, M]
  age: [child, young, adult, old]
  race: [a, b, c, d]
"""


if __name__ == "__main__":
    made = persons()
    csv.write_csv(made, "persons.csv")
    county = pa.array([code[:4] for code in made["area"].to_pylist()])
    totals = pa.table({"area.4": county}).group_by("area.4").aggregate([([], "count_all")]).sort_by("area.4")
    csv.write_csv(totals.rename_columns(["area.4", "count"]), "counties.csv")
    areas = ", ".join(f"'{code}'" for code in codes())
    Path("office.yaml").write_text(DOMAIN.format(areas=areas), encoding="utf-8")
