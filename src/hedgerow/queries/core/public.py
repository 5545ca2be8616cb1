"""Records that need no protection, as a type of their own: what is public is said where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain

if TYPE_CHECKING:
    from hedgerow.queries.core.query import Conjunction, Tables


class PublicData:
    """Public records, counted like a private table; `read_public` makes them.

    To make one is to say that its records are public. A private table is none, whatever it holds.

    Args:
        tables: Counts of the records.
        total: Number of records.

    Attributes:
        tables: Counts of the records.
        total: Number of records.

    Example:
        >>> import hedgerow, pyarrow
        >>> domain = hedgerow.Domain([hedgerow.IntegerRange("a", 0, 1)])
        >>> public = hedgerow.read_public(pyarrow.table({"a": [0, 1, 1]}), domain)
        >>> public
        PublicData(1 attribute: a, 3 records)
        >>> public.marginals([("a",)])
        [array([1., 2.])]
    """

    def __init__(self, tables: Tables, total: float) -> None:
        """Keep both."""
        self.tables = tables
        self.total = float(total)

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        return self.tables.domain

    @property
    def cheap_cells(self) -> int:
        """Largest table, in cells, that is counted at little cost."""
        return self.tables.cheap_cells

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One table per clique, of shape ``domain.shape_of(clique)``, in counts."""
        return self.tables.marginals(cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the records that satisfy each query, shape ``(len(queries),)``, in counts."""
        return self.tables.conjunctions(queries)

    def __repr__(self) -> str:
        """Columns and number of records, which are public."""
        names, size = ", ".join(self.domain.names), len(self.domain)
        return f"PublicData({size} attribute{'s' if size != 1 else ''}: {names}, {self.total:,.0f} records)"
