"""Known totals: counts that are public before a run, over columns and levels (control totals, invariants).

A known table says how many records have each combination of some values, or how many of the population that records
with weights stand for. It is taken for public, like the domain: the private table has no part in it. Tables that
contradict each other, or a rule, are refused, and the cells are named.

Tables whose names hang together like a tree (Beeri, Fagin, Maier and Yannakakis, "On the desirability of acyclic
database schemes", JACM 1983) have a common table of records as soon as any two agree in what both say. Others are
checked by a linear programme over the cells of all names together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import possible_cells
from hedgerow.domain.known_counts import KnownTable
from hedgerow.domain.tables import places_in
from hedgerow.errors import ConfigError, DomainError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COUNT, POPULATION = "count", "population"
"""The column of numbers in a file of known totals: of records, or of those whom records with weights stand for."""
_MOST_CELLS = 1 << 18
"""Cells of all names together, up to which tables that overlap in a circle are checked."""
_SHOWN = 3
"""Cells that an error names."""


Known = int | str | Path | Mapping[str, Any] | KnownTable | Any
"""A number of records, a file, what a domain file holds, or a table with a column ``count`` or ``population``."""


def known_table(domain: Domain, given: Known, folder: Path | None = None) -> KnownTable:
    """A known table in one of its forms.

    Args:
        domain: The domain.
        given: The number of records; a CSV or Parquet file, or a table (Arrow, pandas, polars), with some columns or
            levels and ``count``, where combinations that are not listed have no record; or the mapping that domain
            files hold: ``columns``, and ``counts`` of all cells in order. With ``population`` in place of ``count``
            and ``counts`` the numbers are of those whom records with weights stand for; ``{"population": n}`` is
            their number alone, which may also be written as the text ``population=n``.
        folder: Folder that paths are relative to; None where files may not be named.

    Raises:
        DomainError: A column is none of the domain, a cell holds none of its values, a combination is there twice, or
            the counts are wrong.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.domain import Categorical, Domain
        >>> domain = Domain([Categorical("sex", ("F", "M"))])
        >>> known_table(domain, pa.table({"sex": ["M", "F"], "count": [20, 30]})).counts
        array([30, 20])
        >>> known_table(domain, 50).text
        'the known number of records'
    """
    if isinstance(given, KnownTable):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return KnownTable((), [given])
    if isinstance(given, Mapping):
        return _checked(domain, _of_mapping(given))
    if isinstance(given, str) and (number := given.removeprefix(f"{POPULATION}=")) != given and number.isdecimal():
        return KnownTable((), [int(number)], population=True)
    if isinstance(given, str | Path):
        if folder is None:
            raise DomainError(f"the known table {str(given)!r} names a file", remedy="give its counts themselves")
        return _of_file(domain, folder / given)
    return _of_rows(domain, given, "the known table")


def _of_mapping(given: Mapping[str, Any]) -> KnownTable:
    of, columns = POPULATION in given, given.get("columns", [])
    counts: Any = given.get(POPULATION if of else "counts")
    alone = of and {*given} == {POPULATION} and type(counts) is int
    if not alone and ({*given} - {POPULATION, "counts"} != {"columns"} or len(given) != 2):
        message = "a known table lacks 'columns', or one of 'counts' (records) and 'population' (their weights)"
        raise DomainError(message, remedy="give both, or the name of a file")
    if not alone and not all(isinstance(each, list) for each in (columns, counts)):
        raise DomainError("the columns and numbers of a known table are no lists", remedy="give lists")
    return KnownTable(map(str, columns), [counts] if alone else counts, population=of)


def known_entry(table: KnownTable) -> int | dict[str, Any]:
    """A known table as domain files hold it.

    Example:
        >>> known_entry(KnownTable(("sex",), [30, 20])), known_entry(KnownTable((), [50]))
        ({'columns': ['sex'], 'counts': [30, 20]}, 50)
        >>> known_entry(KnownTable((), [50], population=True))
        {'population': 50}
    """
    if not table.names:
        return {POPULATION: table.total} if table.population else table.total
    return {"columns": list(table.names), POPULATION if table.population else "counts": table.counts.tolist()}


def with_known(domain: Domain, given: Iterable[Known], folder: Path | None = None) -> Domain:
    """The domain with further known totals.

    Args:
        domain: The domain.
        given: See `known_table`.
        folder: Folder that paths are relative to; None where files may not be named.

    Raises:
        DomainError: One is wrong, or they contradict each other or a rule; the cells are named.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1)])
        >>> with_known(domain, [50, {"columns": ["a"], "counts": [20, 29]}])
        Traceback (most recent call last):
        hedgerow.errors.DomainError: the known table of a has 49 records, and the known number of records has 50
          Remedy: correct one of the two
    """
    tables = dict.fromkeys([*domain.known, *domain.population, *(known_table(domain, each, folder) for each in given)])
    of_records, of_population = (tuple(each for each in tables if each.population is of) for of in (False, True))
    if of_records and of_population:
        message = f"{of_records[0].text} counts records, and {of_population[0].text} those whom they stand for"
        raise DomainError(message, remedy="give totals of records, or where they have weights of the population")
    if not tables:
        return domain
    made = replace(domain, known=of_records, population=of_population)
    check_known(made.of_population if of_population else made)
    return made


def listed_totals(entry: object) -> list[Known]:
    """What a domain file lists as known totals.

    Args:
        entry: The content of its section; None for none.

    Raises:
        DomainError: It is no list.
    """
    if not isinstance(entry, list | None):
        raise DomainError("'known' is not a list of tables", remedy="write 'known: [48842, persons.csv]'")
    return entry or []


def check_known(domain: Domain) -> None:
    """Refuse known totals that no table of records has.

    Args:
        domain: The domain that holds them.

    Raises:
        DomainError: Some contradict each other or a rule; the message names cells. Or they overlap in a circle, and
            have too many cells together to be checked.
    """
    for table in domain.known:
        _check_possible(domain, table)
    for one, other in combinations(domain.known, 2):
        _check_pair(domain, one, other)
    if len(domain.known) > 1 and (domain.constraints or running_order(domain) is None):
        _check_together(domain)


def running_order(domain: Domain) -> list[KnownTable] | None:
    """The known tables, each of which shares with all before no more than with one of them; None if there is no order.

    Tables that another one determines are left out.

    Args:
        domain: The domain that holds them.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> ring = [KnownTable(pair, [1, 1, 1, 1]) for pair in ("ab", "bc", "ac")]
        >>> [running_order(with_known(domain, some)) is None for some in (ring[:2], ring)]
        [False, True]
    """
    left = telling(domain)
    order = left[:1]
    del left[:1]
    while left:
        names = domain.reduced({name for table in order for name in table.names})
        shared = [shared_names(domain, names, table.names) for table in left]
        nexts = [place for place, some in enumerate(shared) if any(tells(domain, table, some) for table in order)]
        if not nexts:
            return None
        place = max(nexts, key=lambda each: len(shared[each]))
        order.append(left.pop(place))
    return order


def tells(domain: Domain, table: KnownTable, names: Iterable[str]) -> bool:
    """Whether a known table determines a table over some names.

    Args:
        domain: The domain.
        table: The known table.
        names: Columns and levels.
    """
    return all(domain.determines(table.names, name) for name in names)


def telling(domain: Domain) -> list[KnownTable]:
    """The known tables that no other determines, those of most cells first."""
    tables = sorted(domain.known, key=lambda table: -len(table.counts))
    kept = list[KnownTable]()
    for table in tables:
        if not any(tells(domain, other, table.names) for other in kept):
            kept.append(table)
    return kept


def shared_names(domain: Domain, one: Sequence[str], other: Sequence[str]) -> Clique:
    """The columns and levels that two tables both determine, without what others of these say.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> shared_names(domain, ["age"], ["sex", "age.10"])
        ('age.10',)
    """
    found = {*one, *other}
    found |= {level for name in (*one, *other) for level in domain.coarser(name)}
    return domain.reduced(n for n in found if domain.determines(one, n) and domain.determines(other, n))


def summed_known(domain: Domain, table: KnownTable, names: Clique) -> Ints:
    """The numbers of a table that a known table determines, flat.

    Args:
        domain: The domain.
        table: The known table.
        names: Columns and levels in the order of the domain.
    """
    places = places_in(domain, table.names, names).reshape(-1)
    inside = places >= 0  # codes below 0 are those that no record has
    sums = np.zeros(math.prod(domain.shape_of(names)), dtype=np.int64)
    np.add.at(sums, places[inside], table.counts[inside])
    return sums


def _checked(domain: Domain, table: KnownTable) -> KnownTable:
    """The table with its names in the order of the domain."""
    for name in table.names:
        if name not in domain.all_names:
            raise DomainError(f"{table.text} has no column {name!r}", remedy=f"columns are {', '.join(domain.names)}")
    shape = domain.shape_of(table.names)
    if len({*table.names}) < len(table.names) or table.counts.size != math.prod(shape):
        message = f"{table.text} has {table.counts.size:,} counts for {math.prod(shape):,} cells"
        raise DomainError(message, remedy="name each column once, and give a count for each combination of values")
    return table.among(shape, domain.clique(table.names))


def _of_file(domain: Domain, path: Path) -> KnownTable:
    from hedgerow.domain.value_tables import read_values

    try:
        return _of_rows(domain, read_values(path), f"the known table {path.name!r}")
    except ConfigError as error:
        raise DomainError(error.message, remedy=error.remedy) from error


def _of_rows(domain: Domain, given: Any, what: str) -> KnownTable:
    """A table of values with counts; combinations that are not there have none."""
    import pyarrow as pa

    from hedgerow.domain.value_tables import arrow_of, codes_of

    try:
        rows = arrow_of(given)
        told = [each for each in (COUNT, POPULATION) if each in rows.column_names]
        told = [each for each in told if each == COUNT or each not in domain.all_names]
        names = [name for name in rows.column_names if name not in told]
        if len(told) != 1 or not rows.num_rows:
            message = f"{what} has no column {COUNT!r} (of records) or {POPULATION!r} (of weights), has both, or no row"
            raise DomainError(message, remedy="give columns or levels, and count or population")
        for name in names:
            if name not in domain.all_names:
                remedy = f"give columns among {', '.join(domain.all_names)}"
                raise DomainError(f"{what}: the domain has no column {name!r}", remedy=remedy)
        if len({*names}) < len(names):
            raise DomainError(f"{what} has a column twice", remedy="give each column once")
        codes = [codes_of(domain, name, rows.column(name)) for name in domain.clique(names)]
    except ConfigError as error:
        raise DomainError(f"{what}: {error.message}", remedy=error.remedy) from error
    try:
        numbers = np.asarray(rows.column(told[0]).cast(pa.int64()).to_numpy(), dtype=np.int64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise DomainError(f"{what}: a count is no whole number", remedy="round the counts") from error
    clique = domain.clique(names)
    shape = domain.shape_of(clique)
    places = np.ravel_multi_index(tuple(codes), shape) if codes else np.zeros(rows.num_rows, dtype=np.int64)
    if len(np.unique(places)) < len(places):
        twice = int(np.flatnonzero(np.bincount(places) > 1)[0])
        raise DomainError(f"{what} has {_cell(domain, clique, twice)} twice", remedy="give each combination once")
    counts = np.zeros(math.prod(shape), dtype=np.int64)
    counts[places] = numbers
    return KnownTable(clique, counts, population=told == [POPULATION])


def _cell(domain: Domain, names: Clique, place: int) -> str:
    """A cell in words."""
    codes = np.unravel_index(place, domain.shape_of(names)) if names else ()
    return ", ".join(f"{name} = {domain[name].label(int(code))}" for name, code in zip(names, codes, strict=True))


def _cells(domain: Domain, names: Clique, places: Ints) -> str:
    shown = "; ".join(_cell(domain, names, int(place)) for place in places[:_SHOWN])
    return shown + (f"; and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else "")


def _check_possible(domain: Domain, table: KnownTable) -> None:
    possible = possible_cells(domain, table.names) if table.names else None
    wrong = np.flatnonzero((table.counts > 0) & ~possible.reshape(-1)) if possible is not None else np.zeros(0, int)
    if len(wrong):
        message = f"{table.text} has records where rules or levels leave none: {_cells(domain, table.names, wrong)}"
        raise DomainError(message, remedy="correct the table, or the rule")


def _check_pair(domain: Domain, one: KnownTable, other: KnownTable) -> None:
    if one.total != other.total:
        message = f"{other.text} has {other.total:,} records, and {one.text} has {one.total:,}"
        raise DomainError(message, remedy="correct one of the two")
    names = shared_names(domain, one.names, other.names)
    mine, theirs = summed_known(domain, one, names), summed_known(domain, other, names)
    wrong = np.flatnonzero(mine != theirs)
    if len(wrong):
        first = int(wrong[0])
        message = f"{one.text} has {mine[first]:,} records where {other.text} has {theirs[first]:,}: "
        raise DomainError(message + _cells(domain, names, wrong), remedy="correct one of the two")


@dataclass(frozen=True)
class Overlap:
    """The cells of all names together, and which cell of which table each lies in.

    Attributes:
        names: The names, in the order of the domain.
        places: The cells that records can have.
        inside: For each table the cell of each place.
    """

    names: Clique
    places: Ints
    inside: tuple[Ints, ...]

    @classmethod
    def of(cls, domain: Domain, tables: Sequence[KnownTable], *, most: int) -> Overlap | None:
        """List the cells; None if they are too many.

        Args:
            domain: The domain.
            tables: Known tables.
            most: The most cells.
        """
        names = domain.reduced({name for table in tables for name in table.names})
        size = math.prod(domain.shape_of(names))
        if size > most:
            return None
        possible: Bools = np.ones(size, dtype=np.bool_)
        found = possible_cells(domain, names)
        if found is not None:
            possible = found.reshape(-1).copy()
        inside = [places_in(domain, names, table.names).reshape(-1) for table in tables]
        for table, at in zip(tables, inside, strict=True):
            possible &= (at >= 0) & (table.counts[np.maximum(at, 0)] > 0)
        places = np.flatnonzero(possible)
        return cls(names, places, tuple(at[places] for at in inside))

    def sums(self, tables: Sequence[KnownTable]) -> csr_array[np.float64]:
        """The sums of cells that tables are, one below the other, shape ``(cells of the tables, cells)``.

        Args:
            tables: The known tables that it was made of.
        """
        from scipy.sparse import csr_array, vstack

        cells = np.arange(len(self.places))
        each = [
            csr_array((np.ones(len(cells)), (at, cells)), shape=(len(table.counts), len(cells)))
            for table, at in zip(tables, self.inside, strict=True)
        ]
        return csr_array(vstack(each))


def _check_together(domain: Domain) -> None:
    """Refuse tables that no records have, though any two agree."""
    tables = telling(domain)
    cells = Overlap.of(domain, tables, most=_MOST_CELLS)
    if cells is None:
        if running_order(domain) is None:
            names = ", ".join({name: None for table in tables for name in table.names})
            raise DomainError(
                f"known tables overlap in a circle, and have too many cells together ({names}) to be checked",
                remedy="leave one out, or give it over levels",
            )
        return
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    count, sums = len(cells.places), cells.sums(tables)
    wanted: Floats = np.concatenate([table.counts for table in tables]).astype(np.float64)
    lacking = eye_array(len(wanted))  # what no records make up for
    costs = np.concatenate([np.zeros(count), np.ones(len(wanted))])
    both = csr_array(hstack([sums, lacking]))
    found = milp(costs, bounds=Bounds(0.0, np.inf), constraints=LinearConstraint(both, wanted, wanted))
    missing = found.x[count:] if found.x is not None else wanted
    if found.fun is not None and found.fun < 0.5:
        return
    starts = np.cumsum([0, *(len(table.counts) for table in tables)])
    said = list(_lacking(domain, tables, starts, missing))
    message = f"no records have all known totals: {'; and '.join(said)}"
    raise DomainError(message, remedy="correct one of the tables, or a rule")


def _lacking(domain: Domain, tables: Sequence[KnownTable], starts: Ints, missing: Floats) -> Iterator[str]:
    for number, table in enumerate(tables):
        mine = missing[starts[number] : starts[number + 1]]
        wrong = np.flatnonzero(mine > 0.25)
        if len(wrong):
            cells = _cells(domain, table.names, wrong)
            yield f"{table.text} has {mine.sum():,.0f} that others leave no room for, at {cells}"
