"""Outcomes in a CSV file that grows with every run, so that an interruption loses none of them.

One row is one error of one run: mechanism, budget, repeat, what the answers came from, and the metric. Every row says
"not private". The rows of an outcome are written at once and forced to the disk; those of the released model stand
last, so that an outcome is complete if they are there.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, final

from hedgerow.comparison.outcome import METRICS, Outcome, Setting
from hedgerow.errors import ConfigError
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, budget_from_dict
from hedgerow.system import replacing

Key = tuple[str, Budget, int]
"""Mechanism, budget and number of a run."""

MODEL, RAW = "model", "raw answers"

COLUMNS = (
    *("label", "workload", "records", "seed", "mechanism", "epsilon", "delta", "rho", "neighbours", "repeat"),
    *("of", "metric", "measure", "value", "seconds", "reason", "budget"),
)
"""Of the file. ``value`` is the error in the unit that ``measure`` names; ``budget`` is what programs read back."""

Row = dict[str, str]


def rows_of(outcome: Outcome, setting: Setting) -> list[Row]:
    """The rows of an outcome; one row with the reason if it could not run."""
    shared = {
        "label": outcome.label,
        "workload": setting.workload,
        "records": str(setting.records),
        "seed": "" if setting.seed is None else str(setting.seed),
        "mechanism": outcome.mechanism,
        **budget_fields(outcome.budget),
        "budget": json.dumps(outcome.budget.to_dict()),
        "repeat": str(outcome.repeat),
        "seconds": f"{outcome.seconds:.4f}",
        "reason": " ".join(outcome.reason.split()),
    }
    found = [(of, errors) for of, errors in ((RAW, outcome.raw), (MODEL, outcome.errors)) if errors]
    rows = [
        {**shared, "of": of, "metric": metric, "measure": measure_named(setting, metric), "value": repr(errors[metric])}
        for of, errors in found
        for metric in METRICS
    ]
    return rows or [shared]


def measure_named(setting: Setting, metric: str) -> str:
    """What a metric is a mean, a maximum or a root mean square of.

    Example:
        >>> measure_named(Setting("marginals:2", 10, "epsilon", None, "total variation distance"), "rmse")
        'absolute error as a share of the records'
    """
    return "absolute error as a share of the records" if metric == "rmse" else setting.measure


def text_of(rows: Iterable[Mapping[str, str]], columns: Iterable[str] = COLUMNS, *, header: bool = True) -> str:
    """Rows as CSV."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), restval="", lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def budget_fields(budget: Budget) -> Row:
    """The numbers of a budget as texts, empty where it has none.

    Example:
        >>> budget_fields(PureDP(1.0))
        {'epsilon': '1.0', 'delta': '', 'rho': '', 'neighbours': 'add-remove'}
    """
    amounts = {"epsilon": "", "delta": "", "rho": "", "neighbours": budget.neighbours.value}
    match budget:
        case ZCDP():
            amounts["rho"] = repr(budget.rho)
        case ApproxDP():
            amounts |= {"epsilon": repr(budget.epsilon), "delta": repr(budget.delta)}
        case PureDP():
            amounts["epsilon"] = repr(budget.epsilon)
        case _:
            epsilon, delta = budget.approximate()
            amounts |= {"epsilon": repr(epsilon), "delta": repr(delta)}
    return amounts


@final
class Journal:
    """Outcomes so far, in memory and in the file if there is one.

    Attributes:
        known: Outcomes by mechanism, budget and number of the run, in the order in which they came about.
    """

    def __init__(self, setting: Setting, known: Iterable[Outcome] = (), file: TextIO | None = None) -> None:
        """Begin with what is known."""
        self.known: dict[Key, Outcome] = {(each.mechanism, each.budget, each.repeat): each for each in known}
        self._setting = setting
        self._file = file

    def add(self, outcome: Outcome) -> None:
        """Remember an outcome; when this returns it is on the disk."""
        self.known[outcome.mechanism, outcome.budget, outcome.repeat] = outcome
        if self._file is not None:
            self._file.write(text_of(rows_of(outcome, self._setting), header=False))
            self._file.flush()
            os.fsync(self._file.fileno())


@contextmanager
def keeping(path: str | os.PathLike[str] | None, setting: Setting, *, resume: bool) -> Iterator[Journal]:
    """A journal in a file, or in memory only.

    Args:
        path: The CSV file; None for none.
        setting: What all outcomes share.
        resume: Whether the file may hold outcomes already, of which those that ran are kept: what could not run is
            tried again. If not, the file is begun anew.

    Raises:
        ConfigError: The file holds something else, or outcomes of another setting.
    """
    if path is None:
        yield Journal(setting)
        return
    target = Path(path)
    found = read_outcomes(target, setting) if resume and target.exists() else []
    known = [outcome for outcome in found if outcome.ran]
    with replacing(target) as beside:  # a half-written outcome of an interrupted run goes
        beside.write_text(text_of(row for each in known for row in rows_of(each, setting)), encoding="utf-8")
    with target.open("a", encoding="utf-8", newline="") as file:
        yield Journal(setting, known, file)


def read_outcomes(path: Path, setting: Setting) -> list[Outcome]:
    """The complete outcomes in a file.

    Raises:
        ConfigError: The file holds something else, or outcomes of another setting.
    """
    text = path.read_text(encoding="utf-8")
    reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise ConfigError(f"{path} holds no comparison", remedy="name another file, or leave --resume out")
    groups: dict[Key, list[Row]] = {}
    for row in reader:
        _check_setting(path, row, setting)
        try:
            budget = budget_from_dict(json.loads(row["budget"]))
            groups.setdefault((row["mechanism"], budget, int(row["repeat"])), []).append(row)
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path} is damaged: {error}", remedy="name another file") from error
    found = (_outcome(key, rows) for key, rows in groups.items())
    return [outcome for outcome in found if outcome is not None]


def _check_setting(path: Path, row: Row, setting: Setting) -> None:
    expected = {"workload": setting.workload, "records": str(setting.records)}
    expected["seed"] = "" if setting.seed is None else str(setting.seed)
    for column, value in expected.items():
        if row[column] != value:
            raise ConfigError(
                f"{path} holds a comparison with the {column} {row[column] or 'none'!r}, not {value or 'none'!r}",
                remedy="give the options of that comparison again, or name another file",
            )


def _outcome(key: Key, rows: list[Row]) -> Outcome | None:
    """What the rows of one run say; None if some are missing."""
    errors = {of: {row["metric"]: float(row["value"]) for row in rows if row["of"] == of} for of in (MODEL, RAW)}
    last = rows[-1]
    if not last["reason"] and set(errors[MODEL]) != set(METRICS):
        return None
    return Outcome(*key, errors[MODEL], float(last["seconds"]), last["reason"], errors[RAW] or None)
