"""Make a table as a hospital's export has it; every number in it is drawn from formulas, and no person is behind it.

Run it as ``python examples/hospital/make_table.py visits.csv``. There are 20,000 rows and 22 columns: identifiers,
dates, times, a time of day and durations, money, decimals, 300 diagnosis codes, labels in three spellings, and missing
values.
"""

import csv
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np

from hedgerow.system.randomness import generator

SEED = 18
ROWS = 20_000
WARDS = ("cardiology", "surgery", "medicine", "obstetrics", "paediatrics", "geriatrics", "neurology", "oncology")
REGIONS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "centre")
SPELLINGS = {"female": ("female", "Female", " female"), "male": ("male", "MALE", "male ")}
CODES = tuple(f"{letter}{number:02d}" for letter in "ABCDEFGHIJ" for number in range(0, 90, 3))


def rows(n: int = ROWS, seed: int = SEED) -> Iterator[dict[str, object]]:
    """The rows of the table, as texts and numbers.

    Args:
        n: Number of rows.
        seed: Seed of all that is drawn.

    Yields:
        One row by column name.
    """
    draw, clock = generator(seed), generator(seed + 1)
    frequent = 1.0 / np.arange(1, len(CODES) + 1) ** 0.7
    frequent = draw.permutation(frequent / frequent.sum())
    for number in range(n):
        age = int(np.clip(draw.gamma(6.0, 9.0) - 5.0, 0, 99))
        sex = "female" if draw.random() < 0.53 else "male"
        marital = "single" if age < 18 else str(draw.choice(["single", "married", "widowed"], p=_marital(age)))
        ward = _ward(draw, age, sex)
        emergency = bool(draw.random() < 0.3 + 0.002 * age)
        stay = min(int(draw.gamma(1.6, 2.0 + 0.03 * age + 2.0 * (ward == "geriatrics"))), 90)
        cost = float(np.exp(draw.normal(6.9 + 0.12 * min(stay, 12) + 0.3 * emergency, 0.9)))
        copay = 0.0 if age < 18 or draw.random() < 0.3 else 10.0 * min(stay + 1, 28)
        fever = emergency and draw.random() < 0.4
        crp = float(np.exp(draw.normal(1.5 + 1.6 * fever, 1.1)))
        weight = draw.normal(3.5 + 4.1 * min(age, 17), 3.0 + 0.6 * min(age, 17))
        changed = datetime(2023, 1, 1) + timedelta(minutes=15 * int(draw.integers(0, 731 * 96)))
        admitted = date(2023, 1, 1) + timedelta(days=int(clock.integers(0, 731)))
        arrived = int(clock.normal(11.0 - 1.0 * emergency, 3.0 + 3.0 * emergency) * 4.0) % 96
        waited = min(int(np.exp(clock.normal(4.6 - 1.0 * emergency, 1.0))), 2879)
        insured = datetime(1995, 1, 1) + timedelta(days=int(10_000 * draw.beta(2.0, 1.5)))
        yield {
            "visit_id": f"V{number:06d}",
            "patient_id": f"P{int(draw.integers(0, 14_000)):05d}",
            "changed": f"{changed:%Y-%m-%d %H:%M}",
            "admitted": admitted.isoformat(),
            "discharged": (admitted + timedelta(days=stay)).isoformat(),
            "arrived_at": f"{arrived // 4:02d}:{arrived % 4 * 15:02d}",
            "waited": f"{waited // 60:02d}:{waited % 60:02d}:00",
            "insured_since": f"{insured:%d.%m.%Y}",
            "age": age,
            "sex": SPELLINGS[sex][int(draw.choice(3, p=[0.8, 0.15, 0.05]))],
            "marital": marital if draw.random() < 0.95 else "NA",
            "region": str(draw.choice(REGIONS)),
            "ward": ward,
            "diagnosis": str(draw.choice(CODES, p=frequent)),
            "emergency": "true" if emergency else "false",
            "stay_days": stay,
            "cost": f"{min(cost, 199_999.0):.2f}",
            "copay": f"{copay:.2f}",
            "temperature": f"{np.clip(draw.normal(36.8 + 1.4 * fever, 0.4), 35.0, 42.0):.1f}",
            "weight_kg": f"{max(weight, 2.0):.1f}" if draw.random() < 0.9 else "",
            "crp": f"{min(crp, 400.0):.2f}" if draw.random() < 0.7 else "",
            "visits_before": min(int(draw.geometric(0.4)) - 1, 20),
        }


def _marital(age: int) -> tuple[float, float, float]:
    widowed = 0.01 if age < 60 else 0.25
    married = min(0.02 * (age - 17), 0.6)
    return 1.0 - married - widowed, married, widowed


def _ward(draw: np.random.Generator, age: int, sex: str) -> str:
    if age < 16:
        return "paediatrics"
    possible = [
        ward
        for ward in WARDS
        if ward != "paediatrics" and (ward != "obstetrics" or (sex == "female" and age < 50))
        if ward != "geriatrics" or age >= 70
    ]
    return str(draw.choice(possible))


def write(path: Path, n: int = ROWS, seed: int = SEED) -> None:
    """Write the table as CSV.

    Args:
        path: The file.
        n: Number of rows.
        seed: Seed of all that is drawn.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        found = list(rows(n, seed))
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "visits.csv"))
