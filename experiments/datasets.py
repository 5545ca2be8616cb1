"""The public data sets that the experiments are about, read from one folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hedgerow.data import Table, read_table
from hedgerow.domain import Domain, read_domain
from hedgerow.errors import ConfigError

_MARK = "adult.csv"
_COUNTED = ("mildew", "czech", "rochdale", "nltcs", "adult8_mwem")
"""Tables of cells with a column of counts."""
_CODED = ("adult8_mwem",)


@dataclass(frozen=True)
class DataSets:
    """A folder with the data sets.

    Attributes:
        folder: Holds ``NAME.csv`` and ``NAME.domain.json`` for each; ``examples/data`` of the source code.

    Raises:
        ConfigError: They are not there.
    """

    folder: Path

    def __post_init__(self) -> None:
        """Look whether the folder is the right one."""
        if not (self.folder / _MARK).is_file():
            raise ConfigError(f"{self.folder} does not hold the public data sets", remedy=_REMEDY)

    def domain(self, name: str, columns: tuple[str, ...] | None = None) -> Domain:
        """The domain of a data set, or of some of its columns."""
        whole = read_domain(self.folder / f"{name}.domain.json")
        return whole if columns is None else whole.project(columns)

    def table(self, name: str, columns: tuple[str, ...] | None = None) -> Table:
        """A data set, or some of its columns; kept, so that it is read once."""
        return _table(self, name, columns)


_REMEDY = "name the folder with --data; they are in examples/data of the source code"


@lru_cache(maxsize=8)
def _table(data: DataSets, name: str, columns: tuple[str, ...] | None) -> Table:
    count = "count" if name in _COUNTED else None
    return read_table(
        data.folder / f"{name}.csv",
        data.domain(name, columns),
        count_column=count,
        coded=name in _CODED,
        extra_columns="error" if columns is None else "ignore",
    )


def find_data(folder: Path | None = None) -> DataSets:
    """The data sets in a folder, or where a checkout of the source code has them.

    Args:
        folder: None to look upwards from the current folder, and then from this file.

    Raises:
        ConfigError: They are not found.
    """
    if folder is not None:
        return DataSets(folder)
    for place in _places():
        if (place / _MARK).is_file():
            return DataSets(place)
    raise ConfigError("the public data sets were not found", remedy=_REMEDY)


def _places() -> Iterator[Path]:
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for above in (start, *start.parents):
            yield above / "examples" / "data"
