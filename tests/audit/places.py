"""Where the table of a random run lies, and how its neighbours get there: all from one histogram.

A place takes counts over the cells of a domain that has one attribute more than the algorithm's, ``kept``: rows where
it is 1 pass the filter, and without a filter the attribute is left out. So neighbours differ *before* the filter. The
filter is a condition, or where the domain is `ruled` the rule that ``kept`` is 1, which other rows break.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hedgerow.data.scanning.chunks import scan_table
from hedgerow.data.table import Table, read_table
from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.derived import Derived
from hedgerow.domain.domain import Domain
from tests.privacy.tables import DenseCounts

KEPT = "kept"
FILTER = "kept = 1"

Put = Callable[[pa.Table, Domain, bool, Path], Any]
"""Puts rows somewhere in an empty folder and opens them, filtered or not."""


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


def rows_of(counts: np.ndarray, whole: Domain, seed: int) -> pa.Table:
    """One row for each record, in random order."""
    cells = np.unravel_index(np.arange(counts.size), whole.shape)
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(counts.size), counts))
    return pa.table({name: pa.array(cell[rows]) for name, cell in zip(whole.names, cells, strict=True)})


def _options(domain: Domain, is_filtered: bool) -> dict[str, Any]:
    how = {"violations": "drop"} if is_ruled(domain) else {"where": FILTER}
    return {"extra_columns": "ignore", **(how if is_filtered else {})}


def in_memory(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
    if is_ruled(domain) or not is_filtered:
        return read_table(rows, domain, extra_columns="ignore", violations="drop" if is_filtered else "refuse")
    chosen = rows.filter(pa.compute.equal(rows.column(KEPT), 1)).select(domain.names)
    return Table(domain, [chosen.column(name).to_numpy() for name in domain.names], filtered=True)


def weighted(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
    """Each distinct record once, with how often it is there."""
    table = in_memory(rows, domain, is_filtered, folder)
    cells, counts = np.unique(np.stack(table.columns, axis=1), axis=0, return_counts=True)
    columns = list(cells.T) if len(cells) else [np.zeros(0, dtype=int) for _ in domain]
    return Table(domain, columns, counts if len(cells) else np.zeros(0, dtype=int), filtered=is_filtered)


def parquet(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
    """Counted in passes over the files of a folder."""
    for part in range(2):
        piece = rows.slice(part * rows.num_rows // 2, rows.num_rows // 2 + part)
        pyarrow.parquet.write_table(piece, folder / f"part-{part}.parquet", row_group_size=7)
    return scan_table(f"{folder}/part-*.parquet", domain, **_options(domain, is_filtered))


def csv(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
    pyarrow.csv.write_csv(rows, folder / "people.csv")
    return scan_table(folder / "people.csv", domain, **_options(domain, is_filtered))


def duckdb(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
    from tests.data.sources import duckdb_file

    return scan_table(duckdb_file(rows, folder)[0], domain, **_options(domain, is_filtered))


def postgresql(address: str) -> Put:
    def put(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
        from tests.data import sources

        return scan_table(sources.postgresql(address)(rows, folder)[0], domain, **_options(domain, is_filtered))

    return put


def spark(session: Any) -> Put:
    def put(rows: pa.Table, domain: Domain, is_filtered: bool, folder: Path) -> Any:
        pyarrow.parquet.write_table(rows, folder / "people.parquet")
        return scan_table(session.read.parquet(str(folder / "people.parquet")), domain, **_options(domain, is_filtered))

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

    def open(self, name: str, counts: np.ndarray, domain: Domain, *, is_filtered: bool) -> Any:
        """A source of the records of a histogram over `with_filter` of the domain, flat."""
        if name == "dense":
            cells = counts.reshape(-1, 2)
            source = DenseCounts(domain, cells[:, 1] if is_filtered else cells.sum(axis=1))
            source.filtered = is_filtered
            return source
        place = self.folder / str(next(self._numbers))
        place.mkdir()
        rows = rows_of(counts, with_filter(domain), seed=0)
        if is_ruled(domain) and not is_filtered:
            rows = rows.set_column(rows.column_names.index(KEPT), KEPT, pa.array(np.ones(rows.num_rows, dtype=int)))
        return self.known[name](rows, domain, is_filtered, place)
