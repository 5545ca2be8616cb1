"""A page where a visitor moves epsilon: ``make docs`` puts it into the site.

``python examples/teaching/make_page.py FILE`` writes it alone. It shows releases of the Adult census data, which are
public, for ten values of epsilon and five seeds, of the whole file and of 2,000 of its records. What it needs of each
(noisy tables, answers, intervals) is put into it as JSON, the truth beside it, so it opens from a folder and asks no
other machine for anything.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import hedgerow
from hedgerow.privacy import membership_guess
from hedgerow.privacy.budgets.gaussian import mu_of
from hedgerow.system.randomness import generator

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
MARK = "/* data */"

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SEEDS = 5
SMALL = 2000
DELTA = 1e-9
WORKLOAD = "marginals:age.5*sex,age.5*income,education*income,education*sex,race*income,sex*income"
DOMAIN = hedgerow.read_domain(HERE / "domain.yaml")
SCHOOLS = DOMAIN.attributes[1].values
AGES = [f"{age}" for age in range(15, 100, 5)]
OLD = ", ".join(f"'[{age}, {age + 5})'" for age in range(75, 95, 5)) + ", '[95, 99]'"
QUESTIONS = {
    "Women who earn more than 50,000": "sex = 'Female' and income = '>50K'",
    "Doctorates who earn at most 50,000": "education = 'Doctorate' and income = '<=50K'",
    "Black people who earn more than 50,000": "race = 'Black' and income = '>50K'",
    "People of 75 and older": f"age.5 in ({OLD})",
    "People who never went to school": "education = 'Preschool'",
}


def census(records: int | None) -> pa.Table:
    """The file, or so many of its records, drawn with a fixed seed."""
    found = pyarrow.csv.read_csv(ROOT / "examples" / "data" / "adult.csv")
    if records is None:
        return found
    return found.take(np.sort(generator(0).choice(found.num_rows, records, replace=False)))


def whole(values: Any) -> list[int]:
    """Counts, rounded."""
    return [round(float(value)) for value in np.asarray(values).ravel()]


def of_release(release: hedgerow.Release) -> dict[str, Any]:
    """The parts of a release that the page draws."""
    answers = [release.answer(question) for question in QUESTIONS.values()]
    return {
        "age": whole(release.marginal(["age.5"])["count"]),
        "education": whole(release.marginal(["education", "income"])["count"]),
        "answers": [[round(each.value), round(each.low), round(each.high)] for each in answers],
    }


def of_truth(file: pa.Table) -> dict[str, Any]:
    """The same of the file itself; nothing of it is private."""
    age, sex, race, education, income = (
        file[name].to_numpy() for name in ("age", "sex", "race", "education", "income")
    )
    rich = income == ">50K"
    answers = (
        (sex == "Female") & rich,
        (education == "Doctorate") & ~rich,
        (race == "Black") & rich,
        age >= 75,
        education == "Preschool",
    )
    return {
        "total": file.num_rows,
        "age": whole(np.bincount((age - 15) // 5, minlength=17)),
        "education": whole([np.sum((education == each) & wealth) for each in SCHOOLS for wealth in (~rich, rich)]),
        "answers": [int(np.sum(each)) for each in answers],
    }


def content(epsilons: Sequence[float] = EPSILONS, seeds: int = SEEDS) -> dict[str, Any]:
    """Everything that the page shows.

    Args:
        epsilons: Budgets, each with the delta of the page.
        seeds: Number of releases for each.
    """
    workload = hedgerow.Workload.parse(WORKLOAD, DOMAIN)
    files = []
    for records in (None, SMALL):
        file = census(records)
        table = hedgerow.read_table(file, DOMAIN, extra_columns="ignore")
        runs = [
            [
                of_release(
                    hedgerow.MWEM().run(
                        table, workload, hedgerow.ApproxDP(epsilon, DELTA), noise=hedgerow.SeededNoise(seed)
                    )
                )
                for seed in range(seeds)
            ]
            for epsilon in epsilons
        ]
        files.append({"truth": of_truth(file), "runs": runs})
    return {
        "epsilons": list(epsilons),
        "guess": [round(membership_guess(hedgerow.ApproxDP(each, DELTA)), 3) for each in epsilons],
        "noise": [round(1 / mu_of(each, DELTA), 2) for each in epsilons],
        "ages": AGES,
        "education": list(SCHOOLS),
        "questions": list(QUESTIONS),
        "files": files,
    }


def page(shown: dict[str, Any]) -> str:
    """The template with its data."""
    text = (HERE / "page.html").read_text(encoding="utf-8")
    return text.replace(MARK, json.dumps(shown, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(content()), encoding="utf-8")
