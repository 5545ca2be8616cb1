"""Results in a CSV file that grows with each of them, so that an interruption loses none; outcomes as rows of one.

One row of a comparison is one error of one run: mechanism, budget, repeat, what the answers came from, and the metric.
Every row says "not private". The rows of the released model stand last, so that an outcome is complete if they are
there.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from hedgerow.comparison.outcome import METRICS, Outcome, Setting, measure_named
from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, budget_from_dict
from hedgerow.system import replacing

Key = tuple[str, Budget, int]
"""Mechanism, budget and number of a run."""

MODEL, RAW = "model", "raw answers"

COLUMNS = (
    *("label", "workload", "records", "seed", "mechanism", "epsilon", "delta", "rho", "neighbours", "repeat"),
    *("of", "metric", "measure", "value", "seconds", "reason", "budget"),
)
"""Columns of the file. ``value`` is the error in the unit that ``measure`` names; ``budget`` is what programs read."""

Row = dict[str, str]
K = TypeVar("K")
V = TypeVar("V")


def text_of(rows: Iterable[Mapping[str, object]], columns: Iterable[str] = COLUMNS, *, header: bool = True) -> str:
    """Rows as CSV."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(columns), restval="", lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read the rows of a file, without a last one that was not written to its end.

    Raises:
        ValueError: The file has other columns, or is no text.
    """
    text = path.read_text(encoding="utf-8")
    reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline=""))
    if list(reader.fieldnames or ()) != list(columns):
        message = f"other columns than {', '.join(columns)}"
        raise ValueError(message)
    return list(reader)


class Journal(Generic[K, V]):
    """Results so far, in memory and in a CSV file if there is one.

    Args:
        path: The file, which is begun again with the known results: a half-written one of an interrupted run goes.
        columns: Columns of the file.
        rows_of: Gives the rows of a result.
        known: Results of an earlier run.

    Attributes:
        known: Results by key, in the order in which they came about.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(
        self,
        path: Path | None,
        columns: Sequence[str],
        rows_of: Callable[[K, V], Iterable[Mapping[str, object]]],
        known: Mapping[K, V],
    ) -> None:
        """Begin the file."""
        self.known = dict(known)
        self._path, self._columns, self._rows_of = path, columns, rows_of
        if path is not None:
            rows = (row for key, value in known.items() for row in rows_of(key, value))
            with replacing(path) as beside:
                beside.write_text(text_of(rows, columns), encoding="utf-8")

    def add(self, key: K, value: V) -> None:
        """Remember a result; when this returns it is on the disk."""
        if self._path is not None:
            with self._path.open("a", encoding="utf-8", newline="") as file:
                file.write(text_of(self._rows_of(key, value), self._columns, header=False))
                file.flush()
                os.fsync(file.fileno())
        self.known[key] = value


def journal_of(path: str | os.PathLike[str] | None, setting: Setting, *, resume: bool) -> Journal[Key, Outcome]:
    """Begin the journal of a comparison, in a file or in memory only.

    Args:
        path: The CSV file; None for none.
        setting: Setting of the comparison.
        resume: Whether the file may hold outcomes already, of which those that ran are kept: what could not run is
            tried again. If not, the file is begun again.

    Raises:
        ConfigError: The file holds something else, or outcomes of another setting.
    """
    target = None if path is None else Path(path)
    outcomes = read_outcomes(target, setting) if resume and target is not None and target.exists() else {}
    known = {key: outcome for key, outcome in outcomes.items() if outcome.ran}
    return Journal(target, COLUMNS, lambda _, outcome: rows_of(outcome, setting), known)


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
    errors_of = [(of, errors) for of, errors in ((RAW, outcome.raw), (MODEL, outcome.errors)) if errors]
    rows = [
        {**shared, "of": of, "metric": metric, "measure": measure_named(setting, metric), "value": repr(errors[metric])}
        for of, errors in errors_of
        for metric in METRICS
    ]
    return rows or [shared]


def budget_fields(budget: Budget) -> Row:
    """The numbers of a budget as texts, empty where it has none; a mu is in the column ``budget`` alone.

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
        case GDP():
            pass
        case PureDP():
            amounts["epsilon"] = repr(budget.epsilon)
        case _:
            epsilon, delta = budget.approximate()
            amounts |= {"epsilon": repr(epsilon), "delta": repr(delta)}
    return amounts


def read_outcomes(path: Path, setting: Setting) -> dict[Key, Outcome]:
    """Read the complete outcomes in a file.

    Raises:
        ConfigError: The file holds something else, or outcomes of another setting.
    """
    try:
        rows = read_rows(path, COLUMNS)
    except ValueError as error:
        raise ConfigError(f"{path} holds no comparison", remedy="name another file, or leave --resume out") from error
    groups: dict[Key, list[Row]] = {}
    seed = "" if setting.seed is None else str(setting.seed)
    expected = {"workload": setting.workload, "records": str(setting.records), "seed": seed}
    for row in rows:
        for column, value in expected.items():
            if row[column] != value:
                raise ConfigError(
                    f"{path} holds a comparison with the {column} {row[column] or 'none'!r}, not {value or 'none'!r}",
                    remedy="give the options of that comparison again, or name another file",
                )
        try:
            budget = budget_from_dict(json.loads(row["budget"]))
            groups.setdefault((row["mechanism"], budget, int(row["repeat"])), []).append(row)
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path} is damaged: {error}", remedy="name another file") from error
    outcomes = {}
    for key, rows in groups.items():
        errors = {of: {row["metric"]: float(row["value"]) for row in rows if row["of"] == of} for of in (MODEL, RAW)}
        seconds, reason = float(rows[-1]["seconds"]), rows[-1]["reason"]
        if reason or set(errors[MODEL]) == set(METRICS):  # else some rows are missing
            outcomes[key] = Outcome(*key, errors[MODEL], seconds, reason, errors[RAW] or None)
    return outcomes
