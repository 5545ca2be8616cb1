"""Where the table of a random run lies, and how its neighbours get there: all from what its persons have.

`People` hold the records of each person: cells of a domain that has one attribute more than the algorithm's, ``kept``,
and weights. Rows where ``kept`` is 1 pass the filter, and without a filter the attribute is left out. So neighbours
differ *before* the filter, and before records of a person are left out. The filter is a condition, or where the domain
is `ruled` the rule that ``kept`` is 1, which other rows break.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hedgerow.data import Table, read_table, scan_table
from hedgerow.domain import Derived, Domain, IntegerRange
from hedgerow.queries import Persons, persons_of
from tests.privacy.tables import DenseCounts

KEPT, WHO, OFTEN, COUNT = "kept", "who", "often", "count"
FILTER = "kept = 1"
Reading = Mapping[str, Any]
"""How a table is read: arguments of ``scan_table``."""
Put = Callable[[pa.Table, Domain, Reading, Path], Any]
"""Puts rows somewhere in an empty folder and opens them."""


def with_filter(domain: Domain) -> Domain:
    """The domain of the whole table."""
    return Domain([*domain, IntegerRange(KEPT, 0, 1)])


def ruled(domain: Domain) -> Domain:
    """The domain with the rule that ``kept``, a derived column, is 1 for all records."""
    first = domain.attributes[0]
    return Domain(
        domain, [Derived(IntegerRange(KEPT, 0, 1), (first.name,), np.ones(first.size, dtype=int), column=True)]
    )


def is_ruled(domain: Domain) -> bool:
    return KEPT in domain


@dataclass(frozen=True)
class People:
    """The records of some persons.

    Attributes:
        rows: For each person, by number, cells of the whole table's domain, flat, each with its weight.
    """

    rows: Mapping[int, tuple[tuple[int, int], ...]]

    @classmethod
    def alone(cls, cells: Iterable[int]) -> People:
        """A record each."""
        return cls({number: ((int(cell), 1),) for number, cell in enumerate(cells)})

    def without(self, person: int) -> People:
        return People({number: rows for number, rows in self.rows.items() if number != person})

    def beside(self, rows: tuple[tuple[int, int], ...]) -> People:
        """With one person more, whom nobody was before."""
        return People({**self.rows, 1 + max(self.rows, default=0): rows})

    @property
    def records(self) -> int:
        return sum(map(len, self.rows.values()))

    def table(self, whole: Domain, seed: int = 0) -> pa.Table:
        """One row for each record, in random order."""
        listed = [(cell, who, often) for who, rows in self.rows.items() for cell, often in rows]
        order = np.random.default_rng(seed).permutation(len(listed))
        cells, who, often = np.array(listed, dtype=np.int64).reshape(-1, 3)[order].T
        codes = np.unravel_index(cells, whole.shape)
        columns = {name: pa.array(column) for name, column in zip(whole.names, codes, strict=True)}
        return pa.table({**columns, WHO: pa.array(who), OFTEN: pa.array(often)})


def counted(rows: pa.Table) -> pa.Table:
    """Each distinct row once, with the number of records that it stands for."""
    names = [name for name in rows.column_names if name not in (WHO, OFTEN)]
    cells, numbers = np.unique(np.stack([rows[name].to_numpy() for name in names], axis=1), axis=0, return_counts=True)
    columns = dict(zip(names, cells.T, strict=True))
    return pa.table({**{name: pa.array(column) for name, column in columns.items()}, COUNT: pa.array(numbers)})


def persons_in(reading: Reading) -> Persons | None:
    return persons_of(*(reading.get(name) for name in ("person", "at_most", "weight", "largest_weight")))


def in_memory(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
    """Filtered before it comes into the library's hands, if a condition filters it."""
    how = {name: value for name, value in reading.items() if name != "where"}
    if "where" not in reading:
        return read_table(rows, domain, **how)
    chosen = rows.filter(pa.compute.equal(rows.column(KEPT), 1))
    if not chosen.num_rows:
        return Table(domain, [np.zeros(0, dtype=int) for _ in domain], filtered=True, persons=persons_in(reading))
    table = read_table(chosen, domain, **how)
    return Table(domain, table.columns, table.weights, filtered=True, persons=table.persons)


def weighted(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
    """Each distinct record once, with how often it is there."""
    table = in_memory(rows, domain, reading, folder)
    columns = np.stack([np.asarray(column, dtype=np.int64) for column in table.columns], axis=1)
    often = np.ones(len(columns), dtype=np.int64) if table.weights is None else table.weights
    cells, places = np.unique(columns, axis=0, return_inverse=True)
    counts = np.bincount(places.reshape(-1), often, minlength=len(cells)).astype(np.int64)
    split = list(cells.T) if len(cells) else [np.zeros(0, dtype=int) for _ in domain]
    return Table(domain, split, counts, filtered=table.filtered, persons=table.persons)


def parquet(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
    """Counted in passes over the files of a folder."""
    for part in range(2):
        piece = rows.slice(part * rows.num_rows // 2, rows.num_rows // 2 + part)
        pyarrow.parquet.write_table(piece, folder / f"part-{part}.parquet", row_group_size=7)
    return scan_table(f"{folder}/part-*.parquet", domain, **reading)


def csv(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
    pyarrow.csv.write_csv(rows, folder / "people.csv")
    return scan_table(folder / "people.csv", domain, **reading)


def duckdb(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
    from tests.data.sources import duckdb_file

    return scan_table(duckdb_file(rows, folder)[0], domain, **reading)


def postgresql(address: str) -> Put:
    def put(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
        from tests.data import sources

        return scan_table(sources.postgresql(address)(rows, folder)[0], domain, **reading)

    return put


def spark(session: Any) -> Put:
    def put(rows: pa.Table, domain: Domain, reading: Reading, folder: Path) -> Any:
        pyarrow.parquet.write_table(rows, folder / "people.parquet")
        return scan_table(session.read.parquet(str(folder / "people.parquet")), domain, **reading)

    return put


PLACES: dict[str, Put] = {"memory": in_memory, "weights": weighted, "parquet": parquet, "csv": csv, "duckdb": duckdb}


@dataclass
class Places:
    """A folder for each table that is opened.

    Attributes:
        folder: Where all of them lie.
        known: By name.
    """

    folder: Path
    known: dict[str, Put] = field(default_factory=lambda: dict(PLACES))
    _numbers: Any = field(default_factory=itertools.count)

    def new(self) -> Path:
        place = self.folder / str(next(self._numbers))
        place.mkdir()
        return place

    def open(self, name: str, people: People, domain: Domain, reading: Reading) -> Any:
        """A source of the records of some people."""
        whole = with_filter(domain)
        is_filtered = "where" in reading or reading.get("violations") == "drop"
        if name == "dense":
            cells = [cell for rows in people.rows.values() for cell, _ in rows]
            histogram = np.bincount(cells, minlength=2 * domain.size).reshape(-1, 2)
            source = DenseCounts(domain, histogram[:, 1] if is_filtered else histogram.sum(axis=1))
            source.filtered = is_filtered
            return source
        rows = people.table(whole)
        if is_ruled(domain) and not is_filtered:
            rows = rows.set_column(rows.column_names.index(KEPT), KEPT, pa.array(np.ones(rows.num_rows, dtype=int)))
        return self.known[name](counted(rows) if COUNT in reading.values() else rows, domain, reading, self.new())
