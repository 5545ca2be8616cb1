"""A private table that stays where it is: counted in passes over its batches, however many records it has.

No record is kept. Batches become codes (``batches.py``), a few million rows of codes at a time are a table in memory,
which is counted by the same kernels as any other, and the counts are added up. What is known to be wanted is counted
in the first pass; what was counted is kept, so that a mechanism which asks again costs no second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.cards import card
from hedgerow.data.counting import CHEAP_CELLS, check_memory
from hedgerow.data.options import Violations
from hedgerow.data.reading import CodedRows, Coding
from hedgerow.data.table import Table, check_binary, joined
from hedgerow.domain import Clique, Domain, summed
from hedgerow.errors import DataError, MarginalTooLargeError
from hedgerow.queries import Conjunction, Persons, Workload, filled_axes
from hedgerow.system import Tasks, ahead

CHUNK_ROWS = 1 << 21
"""Rows of codes that are counted together: 32 MB if there are 15 attributes."""

CHANGED = "its records changed between two passes"
CHANGED_REMEDY = "count a table that nothing is written to: a copy, or a snapshot"

Scope = tuple[int, ...]
"""Positions of binary attributes in the domain."""
Progress = Callable[[float], None]
"""Called with the part of the records that is counted, from 0 to 1."""


class Wanted:
    """The counts that a pass is to make: it stands in for the tables, and notes what they are asked.

    Args:
        domain: Domain of the records.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)])
        >>> wanted = Wanted(domain)
        >>> from hedgerow import Workload
        >>> Workload.marginals(domain, 2).answers(wanted)
        array([0., 0., 0., 0., 0., 0.])
        >>> list(wanted.cliques)
        [('a', 'b')]
    """

    cheap_cells = CHEAP_CELLS

    def __init__(self, domain: Domain) -> None:
        """Start with nothing wanted."""
        self.domain = domain
        self.cliques: dict[Clique, None] = {}
        self.queries: dict[Conjunction, None] = {}
        self.scopes: dict[Scope, None] = {}

    def __bool__(self) -> bool:
        """Whether anything is wanted."""
        return bool(self.cliques or self.queries or self.scopes)

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Note marginals; the tables are empty.

        Raises:
            MarginalTooLargeError: They do not fit into memory.
        """
        check_memory(self.domain, cliques)
        self.cliques |= dict.fromkeys(cliques)
        return [np.zeros(self.domain.shape_of(clique)) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Note conjunctions; the sums are 0."""
        self.queries |= dict.fromkeys(queries)
        return np.zeros(len(queries))

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Note parities; the sums are 0."""
        tables = scopes_of(self.domain, scopes)
        self.scopes |= dict.fromkeys(tables)
        return np.zeros(len(tables))


class Counts:
    """Exact counts of records (private), to which those of other records can be added.

    Args:
        wanted: The counts to make.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1)])
        >>> wanted = Wanted(domain)
        >>> wanted.marginals([("a",)])
        [array([0., 0.])]
        >>> counts = Counts(wanted)
        >>> counts.count(Table(domain, [[0, 1, 1]]))
        >>> counts.count(Table(domain, [[1]]))
        >>> counts.total, counts.tables[("a",)]
        (4, array([1., 3.]))
    """

    def __init__(self, wanted: Wanted) -> None:
        """Start at 0."""
        self.total = 0
        self.tables: dict[Clique, Floats] = {c: np.zeros(wanted.domain.shape_of(c)) for c in wanted.cliques}
        self.queries = list(wanted.queries)
        self.sums = np.zeros(len(self.queries))
        self.scopes = list(wanted.scopes)
        self.parities = np.zeros(len(self.scopes))
        self._axes = filled_axes(self.scopes)

    def count(self, table: Table) -> None:
        """Add the records of a table."""
        self.total += table.total()
        for clique, counts in zip(self.tables, table.marginals(list(self.tables)), strict=True):
            self.tables[clique] += counts
        if self.queries:
            self.sums += table.conjunctions(self.queries)
        if self.scopes:
            self.parities += table.parities(self._axes)

    def add(self, other: Counts) -> None:
        """Add counts of the same things over other records."""
        self.total += other.total
        for clique, table in other.tables.items():
            self.tables[clique] += table
        self.sums += other.sums
        self.parities += other.parities


def scopes_of(domain: Domain, scopes: Sequence[Clique] | Ints) -> list[Scope]:
    """Sets of attributes as positions in the domain.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> scopes_of(domain, [("b",)]), scopes_of(domain, np.array([[0, 1], [0, -1]]))
        ([(1,)], [(0, 1), (0,)])
    """
    if isinstance(scopes, np.ndarray):
        return [tuple(axis for axis in row if axis >= 0) for row in scopes.tolist()]
    return [tuple(domain.axes(scope)) for scope in scopes]


class ScannedTable:
    """Private records that are counted where they are, with exact counts; only the curator may read these.

    Args:
        domain: Domain of the records.
        passes: Function that counts what is wanted in one pass over all records, and reports its progress.
        name: Name of the table in messages.
        filtered: Whether a filter leaves rows out.
        violations: Whether rows that break a rule of the domain are refused, or left out.
        persons: The persons of whom at most so many records are counted; None if each record is somebody's own.
        grouped: Function that has what is wanted counted by the engine that holds the records, once all of them were
            looked at; None where a pass is needed.
        tasks: Workers that make independent tasks of a fit to noisy answers; None for this machine alone.

    Attributes:
        domain: Domain of the records.
        violations: Whether rows that break a rule of the domain are refused, or left out.
        persons: The persons of whom at most so many records are counted; None if each record is somebody's own.
        tasks: Workers that make independent tasks of a fit to noisy answers; None for this machine alone.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 2)])
        >>> days = [Table(domain, [[0, 1, 1]]), Table(domain, [[2]])]
        >>> table = ScannedTable(domain, lambda wanted, progress: counted(days, wanted, progress), "days")
        >>> table
        ScannedTable(1 attribute: a)
        >>> table.total(), table.marginals([("a",)])
        (4, [array([1., 2., 1.])])
    """

    cheap_cells = CHEAP_CELLS
    """Largest table, in cells, that is counted at little cost."""

    def __init__(
        self,
        domain: Domain,
        passes: Callable[[Wanted, Progress], Counts],
        name: str,
        *,
        filtered: bool = False,
        violations: Violations = "refuse",
        persons: Persons | None = None,
        grouped: Callable[[Wanted], Counts | None] = lambda _: None,
        tasks: Tasks | None = None,
    ) -> None:
        """Read nothing yet."""
        self.tasks = tasks
        self._grouped = grouped
        self.domain = domain
        self.persons = persons
        self.violations: Violations = violations
        self._filtered = filtered
        self._pass = passes
        self._name = name
        self._wanted = Wanted(domain)
        self._total: int | None = None
        self._tables: dict[Clique, Floats] = {}
        self._sums: dict[Conjunction, float] = {}
        self._parities: dict[Scope, float] = {}

    @property
    def filtered(self) -> bool:
        """Whether rows are left out by what they hold: by a filter, or because they break a rule of the domain."""
        return self._filtered or self.violations == "drop"

    def prepare(self, workload: Workload) -> None:
        """Have the answers to a workload counted in the next pass; nothing is read."""
        asked = Wanted(self.domain)
        workload.answers(asked)
        self._wanted.cliques |= {clique: None for clique in asked.cliques if self._holding(clique) is None}
        self._wanted.queries |= {query: None for query in asked.queries if not self._knows(query)}
        self._wanted.scopes |= {scope: None for scope in asked.scopes if scope not in self._parities}

    def count(self, progress: Progress = lambda _: None) -> None:
        """Make the next pass now, if one is needed: errors about cells come from here.

        Args:
            progress: Called with the part of the table that is counted so far, where that is known.

        Raises:
            DataError: The records do not fit the domain, or are not those of the pass before.
        """
        if self._total is None or self._wanted:
            self._scan(progress)

    def total(self) -> int:
        """Number of records (private)."""
        if self._total is None:
            self._scan()
        return self._total or 0

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Exact tables (private), one per clique, of shape ``domain.shape_of(clique)``, in counts.

        Raises:
            MarginalTooLargeError: A table does not fit into memory.
            DataError: The records do not fit the domain, or are not those of the pass before.
        """
        self._wanted.cliques |= {clique: None for clique in cliques if self._holding(clique) is None}
        self.count()
        return [self._marginal(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Exact sums (private) over the records that satisfy each query, shape ``(len(queries),)``, in counts."""
        self._wanted.queries |= {query: None for query in queries if not self._knows(query)}
        self.count()
        return np.array([self._sum(query) for query in queries])

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Exact parities (private) of sets of binary attributes, as those of a `Table`."""
        axes = scopes_of(self.domain, scopes)
        check_binary(self.domain, sorted({axis for scope in axes for axis in scope}))
        self._wanted.scopes |= dict.fromkeys(scope for scope in axes if scope not in self._parities)
        self.count()
        return np.array([self._parities[scope] for scope in axes])

    def _holding(self, clique: Clique) -> Clique | None:
        """The smallest table that is kept and holds a marginal."""
        if clique in self._tables:
            return clique
        if all(self.domain.function(name) is None for name in clique):
            wider = (other for other in self._tables if set(clique) <= set(other))
        else:
            wider = (other for other in self._tables if all(self.domain.determines(other, name) for name in clique))
        return min(wider, key=self.domain.cells, default=None)

    def _marginal(self, clique: Clique) -> Floats:
        larger = self._holding(clique) or clique
        return summed(self.domain, self._tables[larger], larger, clique)

    def _knows(self, query: Conjunction) -> bool:
        """Whether its sum was counted, or is one over the cells of a table that is kept."""
        return query in self._sums or self._holding(query.scope) is not None

    def _sum(self, query: Conjunction) -> float:
        if query not in self._sums:
            self._sums[query] = float(query.of_table(self._marginal(query.scope))[0])
        return self._sums[query]

    def _scan(self, progress: Progress = lambda _: None) -> None:
        """One pass; what it counted is kept."""
        self._check_memory()
        passed = None if self._total is None else self._grouped(self._wanted)  # the first pass looks at all cells
        if passed is None:
            passed = self._pass(self._wanted, progress)
        if self._total not in (None, passed.total):
            raise DataError(CHANGED, file=self._name, remedy=CHANGED_REMEDY)
        self._total = passed.total
        self._tables |= passed.tables
        self._sums |= zip(passed.queries, passed.sums.tolist(), strict=True)
        self._parities |= zip(passed.scopes, passed.parities.tolist(), strict=True)
        self._wanted = Wanted(self.domain)

    def _check_memory(self) -> None:
        """Refuse what is wanted if it is too large, and forget it: what is asked next may be small."""
        try:
            check_memory(self.domain, list(self._wanted.cliques))
        except MarginalTooLargeError:
            self._wanted = Wanted(self.domain)
            raise

    def __repr__(self) -> str:
        """The public part only: not even the number of records."""
        names = ", ".join(self.domain.names)
        return f"ScannedTable({len(self.domain)} attribute{'s' if len(self.domain) != 1 else ''}: {names})"

    def _repr_html_(self) -> str:
        """The domain, for notebooks: nothing of the records, not even their number."""
        return card(repr(self).partition("(")[0]) + self.domain.to_html()


def counted(
    tables: Iterable[Table], wanted: Wanted, progress: Progress = lambda _: None, n_rows: int | None = None
) -> Counts:
    """Count tables one after the other; the next one is read while one is counted.

    Args:
        tables: Parts of one table.
        wanted: The counts to make.
        progress: Called with the part of the rows that is counted so far.
        n_rows: Number of rows; None if that is not known, and then nothing is called.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1)])
        >>> counted(iter([Table(domain, [[0]]), Table(domain, [[1, 1]])]), Wanted(domain)).total
        3
    """
    counts, rows = Counts(wanted), 0
    with closing(ahead(iter(tables))) as parts:
        for table in parts:
            counts.count(table)
            rows += len(table.columns[0])
            if n_rows:
                progress(min(1.0, rows / n_rows))
    return counts


def in_chunks(parts: Iterator[CodedRows], coding: Coding, rows: int | None = None) -> Iterator[Table]:
    """Codes of batches as tables of more rows; as one table where records of a person are left out.

    Args:
        parts: Records of batches.
        coding: The columns that were read.
        rows: See `chunks`.
    """
    waiting: list[CodedRows] = []
    n_held = 0
    for part in parts:
        waiting.append(part)
        n_held += len(part.codes[0])
        if n_held >= (rows or CHUNK_ROWS) and coding.options.person is None:
            yield joined(waiting, coding)
            waiting, n_held = [], 0
    if waiting:
        yield joined(waiting, coding)
