"""The tables of the numbers bench, and what is asked of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import csv

from hedgerow.domain import in_condition

ADULT = Path(__file__).resolve().parents[2] / "examples" / "data" / "adult.csv"
RECORDS = 20_000


@dataclass(frozen=True)
class Question:
    """A question whose answer is one number or a table of numbers.

    Attributes:
        kind: What it asks for.
        text: A condition or statement in SQL.
        truth: The exact numbers by the values of GROUP BY; of a condition by no value.
        size: Half the widths of the best direct measurements of the same, times the noise of a unit: see `direct`.
    """

    kind: str
    text: str
    truth: Mapping[tuple[str, ...], float]
    size: Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Task:
    """A table with columns of numbers and of groups.

    Attributes:
        frame: The table.
        domain: Its domain, as a mapping.
        numbers: Columns of numbers with their smallest and largest value.
        groups: Columns by which is asked.
    """

    frame: pd.DataFrame
    domain: Mapping[str, Any]
    numbers: Mapping[str, tuple[float, float]]
    groups: tuple[str, ...]

    @property
    def wanted(self) -> dict[str, Any]:
        """What ``synthesize`` is told of the questions, where they are known before."""
        first = self.groups[0]
        moments = ", ".join(f"{name} by {first}" for name in self.numbers)
        pair = " * ".join(self.groups[:2])
        needs = [question.text for question in self.questions() if question.kind == "table, each cell"]
        return {"workload": f"marginals:2; moments: {moments}; marginals:{pair.replace(' ', '')}", "needs": needs}

    def questions(self) -> Iterator[Question]:
        """The questions, with their truth."""
        frame, (first, second) = self.frame, self.groups[:2]
        counts = frame.groupby([first, second], observed=True).size()
        every = {(str(g), str(h)): 0.0 for g in sorted(frame[first].unique()) for h in sorted(frame[second].unique())}
        table = every | {(str(g), str(h)): float(n) for (g, h), n in counts.items()}
        by = f"SELECT {in_condition(first)}, {in_condition(second)}, COUNT(*) AS n FROM t "
        by += f"GROUP BY {in_condition(first)}, {in_condition(second)}"
        for kind in ("table, each cell", "table, all cells together"):
            yield Question(kind, by, table, dict.fromkeys(table, 1.0))
        for name, (low, high) in self.numbers.items():
            values = frame.groupby(first, observed=True)[name]
            yield from _of_all(name, frame[name].to_numpy(dtype=float), low, high)
            for kind, call, exact in (
                ("mean of a group", "AVG", values.mean()),
                ("standard deviation of a group", "STDDEV", values.std(ddof=0)),
            ):
                statement = f"SELECT {in_condition(first)}, {call}({in_condition(name)}) AS n FROM t GROUP BY "
                truth = {(str(g),): float(each) for g, each in exact.items()}
                sizes = {(str(g),): most_moved(call, each.to_numpy(dtype=float), low, high) for g, each in values}
                yield Question(kind, statement + in_condition(first), truth, sizes)


def most_moved(call: str, values: Any, low: float, high: float) -> float:
    """By how much one record more, of any number, moves a mean, a deviation or a sum at most, to first order.

    It is the sensitivity of the best direct measurement, which knows beforehand about where the mean and the deviation
    are, but not how many records there are (theory.md section 14.1).

    Args:
        call: AVG, STDDEV or SUM.
        values: The numbers of the records.
        low: The smallest possible number.
        high: The largest one.
    """
    if call == "SUM":
        return max(abs(low), abs(high))
    furthest, spread = max(values.mean() - low, high - values.mean()), max(values.std(), 1e-9)
    moved = furthest if call == "AVG" else max(furthest**2 - spread**2, spread**2) / (2.0 * spread)
    return float(moved / len(values))


def _of_all(name: str, values: Any, low: float, high: float) -> Iterator[Question]:
    column, n = in_condition(name), len(values)
    one: tuple[str, ...] = ()
    for kind, call, truth in (
        ("mean", "AVG", values.mean()),
        ("sum", "SUM", values.sum()),
        ("standard deviation", "STDDEV", values.std()),
        ("median", "MEDIAN", np.sort(values)[(n - 1) // 2]),
        ("upper quartile", "QUANTILE", np.sort(values)[int(np.ceil(0.75 * n)) - 1]),
    ):
        size = 0.0 if call in ("MEDIAN", "QUANTILE") else most_moved(call, values, low, high)
        share = ", 0.75" if call == "QUANTILE" else ""
        yield Question(kind, f"SELECT {call}({column}{share}) AS n FROM t", {one: float(truth)}, {one: size})


def _adult() -> Task:
    names = ["sex", "income", "age", "hours-per-week", "capital-gain"]
    domain = {
        "sex": ["Female", "Male"],
        "income": ["<=50K", ">50K"],
        "age": {"min": 16, "max": 100},
        "hours-per-week": {"min": 1, "max": 99},
        "capital-gain": {"min": 0, "max": 99_999, "whole": True, "points": [0, 99_999], "bins": {"log": 16}},
    }
    numbers = {"age": (16.0, 100.0), "hours-per-week": (1.0, 99.0), "capital-gain": (0.0, 99_999.0)}
    return Task(csv.read_csv(ADULT).select(names).to_pandas(), domain, numbers, ("sex", "income"))


def _salaries() -> Task:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], RECORDS, p=(0.6, 0.3, 0.1))
    pay = np.rint(np.exp(rng.normal(10.3 + 0.2 * (kind == "b"), 0.6, RECORDS)))
    frame = pd.DataFrame(
        {
            "grp": kind,
            "site": rng.choice(["north", "south"], RECORDS),
            "pay": np.minimum(pay, 249_999).astype(int),
            "age": np.clip(rng.normal(42, 11, RECORDS).round(), 16, 75).astype(int),
        }
    )
    domain = {
        "grp": ["a", "b", "c"],
        "site": ["north", "south"],
        "pay": {"min": 0, "max": 249_999, "whole": True, "bins": 25},
        "age": {"min": 16, "max": 75},
    }
    return Task(frame, domain, {"pay": (0.0, 249_999.0), "age": (16.0, 75.0)}, ("grp", "site"))


def _panel() -> Task:
    rng = np.random.default_rng(7)
    wave, state = rng.integers(1, 5, RECORDS), rng.choice(["in", "out", "ill"], RECORDS, p=(0.7, 0.25, 0.05))
    weeks = np.where(state == "in", 52 - rng.geometric(0.2, RECORDS), rng.integers(0, 30, RECORDS)).clip(0, 52)
    frame = pd.DataFrame(
        {"state": state, "wave": wave.astype(str), "weeks": weeks, "visits": rng.poisson(2.0, RECORDS)}
    )
    frame["visits"] = frame["visits"].clip(0, 50) + 10 * (state == "ill")
    domain = {
        "state": ["in", "out", "ill"],
        "wave": ["1", "2", "3", "4"],
        "weeks": {"min": 0, "max": 52},
        "visits": {"min": 0, "max": 60, "whole": True, "bins": 12},
    }
    return Task(frame, domain, {"weeks": (0.0, 52.0), "visits": (0.0, 60.0)}, ("state", "wave"))


TASKS: Mapping[str, Callable[[], Task]] = {"Adult": _adult, "salaries": _salaries, "a panel": _panel}
"""The tables by name. The defaults were tuned on Adult, and on neither of the others."""
