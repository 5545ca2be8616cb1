"""The recipe of a source: private records in an SQLite table, counted by the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from hedgerow import Domain
from hedgerow.extending import Clique, Conjunction, Floats


class SQLiteCodes:
    """A table ``records`` with one column of codes for each attribute; a `CountSource`."""

    filtered = False
    """No row is left out because of its values."""

    def __init__(self, connection: sqlite3.Connection, domain: Domain) -> None:
        self.domain = domain
        self._connection = connection

    @property
    def cheap_cells(self) -> int:
        return 1 << 16

    def total(self) -> int:
        return int(self._rows("SELECT count(*) FROM records")[0][0])

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return [self._counts(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        return np.array([float(query.of_table(self._counts(query.scope))[0]) for query in queries])

    def _counts(self, clique: Clique) -> Floats:
        table = np.zeros(self.domain.shape_of(clique))
        if not clique:
            table[()] = self.total()
            return table
        columns = ", ".join(f'"{name}"' for name in clique)
        for *codes, count in self._rows(f"SELECT {columns}, count(*) FROM records GROUP BY {columns}"):
            table[tuple(codes)] = count
        return table

    def _rows(self, statement: str) -> list[tuple[int, ...]]:
        return self._connection.execute(statement).fetchall()
