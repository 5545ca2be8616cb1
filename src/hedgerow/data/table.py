"""The private table in memory: one column of small codes per attribute."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.cards import card
from hedgerow.data.counting import CHEAP_CELLS, count_conjunctions, count_marginals, count_parities
from hedgerow.data.options import ExtraColumns, ReadOptions, Violations, check_violations
from hedgerow.data.reading import (
    BROKEN_REMEDY,
    CodedRows,
    Coding,
    Reader,
    Rule,
    bounded,
    encoded,
    keeping,
    open_table,
    select_columns,
)
from hedgerow.data.reading.batches import LARGEST_TOTAL
from hedgerow.domain import Attribute, Clique, Codes, Domain, read_domain, smallest_unsigned
from hedgerow.errors import ConfigError, DomainError
from hedgerow.queries import Conjunction, Parity, Persons, filled_axes

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.reading.readers import ArrowStream

    Source = str | os.PathLike[str] | pa.Table | pa.RecordBatch | pa.RecordBatchReader | pd.DataFrame | ArrowStream


_Array = TypeVar("_Array", bound=NDArray[Any])

_MOST_ROOM = 1 << 28
"""Rows that room is made for before they are there: a damaged file may claim any number."""


class Table:
    """Private records as codes, with exact counts over them; only the curator may read these.

    Attributes:
        domain: The domain of the records.
        violations: Whether rows that broke a rule of the domain were refused or left out; the former if it has none.
        persons: The persons of whom the table has at most so many records; None if each record is somebody's own.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)])
        >>> table = Table(domain, [[0, 1, 1], [2, 2, 0]])
        >>> table
        Table(2 attributes: a, b)
        >>> table.total(), table.marginals([("b",)])
        (3, [array([1., 0., 2.])])
    """

    cheap_cells = CHEAP_CELLS
    """Largest table, in cells, that is counted at little cost."""

    def __init__(
        self,
        domain: Domain,
        columns: Sequence[ArrayLike],
        weights: ArrayLike | None = None,
        *,
        filtered: bool = False,
        violations: Violations = "refuse",
        persons: Persons | None = None,
    ) -> None:
        """Check codes, weights and the constraints of the domain.

        Args:
            domain: The domain of the records.
            columns: One array of codes per attribute, all of the same length n.
            weights: Number of records of each row, or its weight, shape (n,), whole and not negative; None for one
                each.
            filtered: Whether rows were left out by what they hold, so that their number is private under "replace" too.
            violations: Whether rows that break a constraint are an error, or are left out.
            persons: The persons of whom the columns have at most so many records each, by a rule that looked at one
                person at a time, and the bound of the weights; None if each record is somebody's own, and counts once.

        Raises:
            ConfigError: Number or lengths of the columns, a code, or a weight is wrong, or larger than the persons say;
                or a row breaks a constraint and is not to be left out.
        """
        check_violations(violations)
        if len(columns) != len(domain):
            raise ConfigError(f"{len(columns)} columns of codes for {len(domain)} attributes")
        self.domain = domain
        self._filtered = filtered
        self.violations: Violations = violations if domain.has_rules else "refuse"
        self.persons = persons
        self._columns = tuple(map(_checked, domain, columns))
        self._weights = None if weights is None else _checked_weights(weights, persons)
        lengths = {len(column) for column in self._columns} | (
            {len(self._weights)} if self._weights is not None else set()
        )
        if len(lengths) != 1:
            raise ConfigError("columns of codes, and the weights, must have the same length")
        self._keep_constraints()

    def over(self, domain: Domain) -> Table:
        """The same records over a domain of some of the columns, as private as they are.

        Args:
            domain: Its attributes are among this table's.
        """
        columns = [self._columns[self.domain.index(name)] for name in domain.names]
        options: Any = {"filtered": self._filtered, "violations": self.violations, "persons": self.persons}
        return Table(domain, columns, self._weights, **options)

    def _keep_constraints(self) -> None:
        """Refuse rows that break a constraint, or leave them out."""
        codes = dict(zip(self.domain.names, self._columns, strict=True))
        for rule in map(Rule, self.domain.constraints):
            if self.violations == "refuse" and not keeping([rule], codes).all():
                raise ConfigError(f"a row breaks the constraint: {rule.text}", remedy=BROKEN_REMEDY)
        if self.violations == "drop":
            kept = keeping(map(Rule, self.domain.constraints), codes)
            self._columns = tuple(column[kept] for column in self._columns)
            self._weights = None if self._weights is None else self._weights[kept]

    @property
    def filtered(self) -> bool:
        """Whether rows were left out by what they hold: by a filter, or because they broke a rule of the domain."""
        return self._filtered or self.violations == "drop"

    @property
    def columns(self) -> tuple[Codes, ...]:
        """Codes (private), one array of the smallest unsigned type per attribute; they cannot be written to."""
        return tuple(map(_locked, self._columns))

    @property
    def weights(self) -> Ints | None:
        """Number of records of each row, or its weight (private); None for one each. It cannot be written to."""
        return None if self._weights is None else _locked(self._weights)

    def total(self) -> int:
        """Number of records (private)."""
        return len(self._columns[0]) if self._weights is None else int(self._weights.sum())

    def part(self, positions: Ints) -> Table:
        """Some of the records (private); a row stands for as many records as it counts.

        Args:
            positions: Numbers of records, from 0 to ``total() - 1``, increasing and each once.
        """
        columns, counts = self._columns, None
        if self._weights is None:
            columns = tuple(column[positions] for column in self._columns)
        else:
            rows = np.searchsorted(np.cumsum(self._weights), positions, side="right")
            counts = np.bincount(rows, minlength=len(self._weights))
        filtered, persons = self._filtered, self.persons
        return Table(self.domain, columns, counts, filtered=filtered, violations=self.violations, persons=persons)

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Exact tables (private), one per clique, of shape ``domain.shape_of(clique)``, in counts.

        Raises:
            MarginalTooLargeError: A table does not fit into memory.
        """
        return count_marginals(self.domain, self._columns, self._weights, cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Exact sums (private) over the records that satisfy each query, shape ``(len(queries),)``, in counts."""
        return count_conjunctions(self.domain, self._columns, self._weights, queries)

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Exact parities (private) of sets of binary attributes, in one go.

        Args:
            scopes: The sets by name; or shape (sets, longest), positions in the domain, increasing, then -1 to fill up.

        Returns:
            Shape (sets,), in counts: sums over the records of the product of 1 - 2 code.

        Raises:
            QueryError: An attribute does not have two codes.
        """
        axes = scopes if isinstance(scopes, np.ndarray) else filled_axes(map(self.domain.axes, scopes))
        check_binary(self.domain, np.unique(axes[axes >= 0]).tolist())
        return count_parities(self._columns, self._weights, axes)

    def __repr__(self) -> str:
        """The public part only: not even the number of records."""
        names = ", ".join(self.domain.names)
        return f"Table({len(self.domain)} attribute{'s' if len(self.domain) != 1 else ''}: {names})"

    def _repr_html_(self) -> str:
        """The domain, for notebooks: nothing of the records, not even their number."""
        return card(repr(self).partition("(")[0]) + self.domain.to_html()


def read_table(
    source: Source,
    domain: Domain | str | os.PathLike[str],
    *,
    count_column: str | None = None,
    columns: Iterable[str] | None = None,
    extra_columns: ExtraColumns = "error",
    coded: bool = False,
    show_values: bool = False,
    violations: Violations = "refuse",
    person: str | None = None,
    at_most: int | None = None,
    weight: str | None = None,
    largest_weight: int | None = None,
    fractional_weights: bool = False,
) -> Table:
    """Read a private table and turn it into codes of a public domain.

    Nothing is clipped or guessed, and dropped only if asked: what does not fit the domain is an error.

    Args:
        source: Path of a text file (``.csv``, ``.tsv``, or these with ``.gz``; UTF-8, one header row) or a Parquet file
            (``.parquet``, ``.pq``); an Arrow table, batch or reader; a pandas or polars data frame.
        domain: The domain, or the path of its file.
        count_column: Column that says how many records a row stands for.
        columns: Read these columns only, in this order, and derived columns that follow from them.
        extra_columns: ``"ignore"`` skips columns that the domain does not declare.
        coded: Whether the table holds the codes ``0, 1, ...`` of the domain already, in place of values.
        show_values: Whether errors may show offending values. They are private: use it where only you read the message.
        violations: ``"drop"`` leaves records out that break a constraint of the domain, or have a derived column of
            another value than follows from the others. That is a filter of single records: how many are left is
            private, also where neighbours replace records.
        person: Column that says who a record belongs to: whole numbers or texts, and no column of the domain. Then the
            guarantee is about a person with all records, and not about a record.
        at_most: Maximum records counted per person; noise is proportional to it. Which of a
            person's records these are depends on that person's records alone.
        weight: Column that says how often a record counts: whole numbers, 0 too, and no column of the domain. Counts
            are then sums of weights, those of a population that the records stand for.
        largest_weight: The largest weight: a record with a larger one counts as often as this. Noise is proportional to
            it, so it must not be read off the table.
        fractional_weights: Whether weights may be fractions, each of which is rounded to a multiple of 1/1,024.

    Raises:
        UnreadableTableError: The table is not there, empty, damaged or of an unknown kind.
        ColumnError: A column is missing, there twice, or of a type that cannot be read.
        UndeclaredColumnError: The table has columns that the domain does not declare.
        UnknownValueError: A value is not listed.
        OutOfRangeError: A number is out of range, or not whole where whole numbers are declared.
        MissingValueError: A cell is empty, and its attribute declares no missing value.
        BrokenRuleError: A record breaks a rule of the domain, and is not to be left out.
        CountColumnError: A count or a weight is not a whole number of at least 0.
        PersonColumnError: A record does not say who it belongs to.
        DomainError: The domain file is wrong, or the domain is of another type.
        ConfigError: ``extra_columns`` or ``violations`` is neither of its values, or ``person`` and ``at_most``, or
            ``weight`` and ``largest_weight``, do not go together.

    Example:
        >>> from hedgerow import Categorical
        >>> table = pa.table({"sex": ["F", "M", "F"], "age": [20, 30, 40]})
        >>> read_table(table, Domain([Categorical("sex", ("F", "M"))]), columns=["sex"]).marginals([("sex",)])
        [array([2., 1.])]
    """
    options = ReadOptions(
        count_column=count_column,
        columns=columns,
        extra_columns=extra_columns,
        coded=coded,
        show_values=show_values,
        violations=violations,
        person=person,
        at_most=at_most,
        weight=weight,
        largest_weight=largest_weight,
        fractional_weights=fractional_weights,
    )
    return read_with(source, domain, options)


def read_with(source: Source, domain: Domain | str | os.PathLike[str], options: ReadOptions) -> Table:
    """The same, with all options in one object; a ``where`` in it is not looked at.

    Args:
        source: The table.
        domain: The domain, or the path of its file.
        options: How the table is read.

    Raises:
        DataError: See `read_table`.
    """
    declared = domain if isinstance(domain, Domain) else declared_in(domain)
    reader = open_table(source, declared.layout.file)
    return gathered(reader, select_columns(reader, declared, options))


def gathered(reader: Reader, coding: Coding) -> Table:
    """All records of a reader in memory.

    Args:
        reader: The table.
        coding: The columns to read, and their codes.

    Raises:
        DataError: A cell fits no code.
    """
    return joined(encoded(reader, coding), coding, filtered=reader.filtered, rows=reader.n_rows or 0)


def joined(parts: Iterable[CodedRows], coding: Coding, *, filtered: bool = False, rows: int = 0) -> Table:
    """Batches as one table, each of them held no longer than it takes to copy it.

    Args:
        parts: The batches; none where no row passed a filter. All records of a person whose records are bounded.
        coding: The columns that were read.
        filtered: Whether rows were left out by what they hold.
        rows: Number of rows to make room for; there may be more or fewer.
    """
    held = [Growing(np.uint8, min(rows, _MOST_ROOM)) for _ in coding.domain]
    counts, keys = Growing(np.int64), list[Any]()
    for part in parts:
        for column, codes in zip(held, part.codes, strict=True):
            column.add(codes)
        if part.counts is not None:
            counts.add(part.counts)
        if part.persons is not None:
            keys.append(part.persons)
    columns = [column.whole() for column in held]
    weights = counts.whole() if len(counts) else None
    persons = coding.options.persons
    if persons is not None and persons.at_most is not None and keys:
        beside = [] if weights is None else [weights]
        counted = bounded(np.concatenate(keys), [*columns, *beside], persons.at_most)
        columns, weights = [column[counted] for column in columns], None if weights is None else weights[counted]
    return Table(coding.domain, columns, weights, filtered=filtered, violations=coding.violations, persons=persons)


class Growing:
    """An array that grows at its end: room that was made and is not used yet takes no memory.

    Args:
        kind: Type of an array to which nothing is added.
        room: Number of values to make room for at first; the array is not copied before there are more.

    Example:
        >>> found = Growing(np.uint8, 2)
        >>> for part in ([1, 2], [3], []):
        ...     found.add(np.array(part, dtype=np.uint8))
        >>> len(found), found.whole()
        (3, array([1, 2, 3], dtype=uint8))
    """

    def __init__(self, kind: type[np.integer[Any]], room: int = 0) -> None:
        """Hold nothing."""
        self._held: NDArray[Any] = np.empty(room, dtype=kind)
        self._size = 0

    def __len__(self) -> int:
        """Number of values."""
        return self._size

    def add(self, values: NDArray[Any]) -> None:
        """Add values, which are of one type in all calls."""
        if self._held.dtype != values.dtype:
            held = self._held
            self._held = np.empty(len(held), dtype=np.result_type(held, values) if self._size else values.dtype)
            self._held[: self._size] = held[: self._size]
        size = self._size + len(values)
        if size > len(self._held):
            held = np.empty(max(size, len(self._held) * 3 // 2), dtype=self._held.dtype)
            held[: self._size] = self._held[: self._size]
            self._held = held
        self._held[self._size : size] = values
        self._size = size

    def whole(self) -> NDArray[Any]:
        """All values."""
        return self._held[: self._size]


def check_binary(domain: Domain, axes: Iterable[int]) -> None:
    """Refuse parities of attributes that do not have two codes, or are derived.

    Args:
        domain: The domain of the records.
        axes: Positions of the attributes.

    Raises:
        QueryError: One is of that kind.

    Example:
        >>> from hedgerow import IntegerRange
        >>> check_binary(Domain([IntegerRange("a", 0, 1)]), [0])
    """
    names = domain.names
    Parity(domain, tuple(names[axis] if axis < len(names) else domain.variables[axis].name for axis in axes))


def _locked(array: _Array) -> _Array:
    """A view that cannot be written to; what is counted stays what was read."""
    view = array.view()
    view.flags.writeable = False
    return view


def declared_in(path: Any) -> Domain:
    """The domain in a file.

    Raises:
        DomainError: The file is wrong, or the argument is not a path.
    """
    if not isinstance(path, str | os.PathLike):
        remedy = "give a hedgerow.Domain, or the path of a domain file"
        raise DomainError(f"expected a domain, got a {type(path).__name__}", remedy=remedy)
    return read_domain(path)


def _checked(attribute: Attribute, column: ArrayLike) -> Codes:
    codes = np.asarray(column)
    fits = codes.ndim == 1 and codes.dtype.kind in "iu"
    if not fits or (codes.size and not (codes.min() >= 0 and codes.max() < attribute.size)):
        raise ConfigError(
            f"the codes of {attribute.name!r} are not whole numbers from 0 to {attribute.size - 1} in one dimension"
        )
    return np.ascontiguousarray(codes, dtype=smallest_unsigned(attribute.size))


def _checked_weights(weights: ArrayLike, persons: Persons | None) -> Ints:
    given = np.asarray(weights)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given.size and given.min() < 0):
        raise ConfigError("weights must be whole numbers of at least 0, in one dimension")
    if given.sum(dtype=np.float64) > 2 * LARGEST_TOTAL or given.sum() > LARGEST_TOTAL:
        raise ConfigError("the weights sum to more than 2**53")
    weight = None if persons is None else persons.weight
    if weight is not None and given.size and given.max() * weight.grain > weight.largest:
        raise ConfigError(f"a record counts more than {weight.largest:,} times, the largest weight of the table")
    return np.ascontiguousarray(given, dtype=np.int64)
