"""What was measured so far, in a CSV file that grows cell by cell, so that an interruption loses one cell at most.

One row is one value: the cell, where in it, the quantity and the number. The rows of a cell are written at once and
forced to the disk; its time stands last, so that a cell is complete if that is there.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import final

from experiments.experiment import SECONDS, Cell, Experiment, Measured
from experiments.results import typed
from hedgerow.errors import ConfigError
from hedgerow.system import replacing
from hedgerow.version import __version__

Key = tuple[str, ...]


@final
class Journal:
    """The values of all cells that are over.

    Args:
        experiment: Its columns are those of the file.
        path: The CSV file; its folder must exist.
        resume: Whether cells that the file holds already are kept, if the same version of this package measured them.

    Raises:
        ConfigError: The file holds something else.
        OSError: It cannot be written.
    """

    def __init__(self, experiment: Experiment, path: Path, *, resume: bool = True) -> None:
        """Read what is there; a half-written cell of an interrupted run goes."""
        self._experiment = experiment
        self._path = path
        self._known = self._read() if resume and path.exists() else {}
        with replacing(path) as beside:
            rows = (row for key, values in self._known.items() for row in self._rows(key, values))
            beside.write_text(_csv([self._columns, *rows]), encoding="utf-8")

    def has(self, cell: Cell) -> bool:
        """Whether a cell is over."""
        return self._key(cell) in self._known

    def of(self, cell: Cell) -> list[Measured]:
        """What was measured in a cell."""
        return self._known[self._key(cell)]

    def add(self, cell: Cell, values: Iterable[Measured], seconds: float) -> None:
        """Remember a cell; when this returns it is on the disk."""
        key, found = self._key(cell), [*values, Measured(SECONDS, seconds)]
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(_csv(self._rows(key, found)))
            file.flush()
            os.fsync(file.fileno())
        self._known[key] = found

    @property
    def _columns(self) -> list[str]:
        return ["version", *self._experiment.grid, *self._experiment.within, "quantity", "value"]

    def _key(self, cell: Cell) -> Key:
        return tuple(str(cell[name]) for name in self._experiment.grid)

    def _rows(self, key: Key, values: Iterable[Measured]) -> list[list[str]]:
        def row(each: Measured) -> list[str]:
            within = (str(each.within.get(name, "")) for name in self._experiment.within)
            return [__version__, *key, *within, each.quantity, repr(float(each.value))]

        return [row(each) for each in values]

    def _read(self) -> dict[Key, list[Measured]]:
        reason: Exception | None = None
        try:
            text = self._path.read_text(encoding="utf-8")
            rows = list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline="")))
            if not rows or list(rows[0]) == self._columns:
                return self._cells(row for row in rows if row["version"] == __version__)
        except (TypeError, ValueError) as error:  # a row is too short, a value is no number, or the file is no text
            reason = error
        raise ConfigError(
            f"{self._path} holds no runs of {self._experiment.name}",
            remedy="name another folder, or give --fresh to measure everything anew",
        ) from reason

    def _cells(self, rows: Iterable[Mapping[str, str]]) -> dict[Key, list[Measured]]:
        found: dict[Key, list[Measured]] = {}
        for row in rows:
            key = tuple(row[name] for name in self._experiment.grid)
            if key in found and found[key][-1].quantity == SECONDS:  # two runs at once wrote this file: the last counts
                del found[key]
            within = {name: typed(row[name]) for name in self._experiment.within if row[name]}
            found.setdefault(key, []).append(Measured(row["quantity"], float(row["value"]), within))
        return {key: values for key, values in found.items() if values[-1].quantity == SECONDS}


def _csv(rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
