"""Exact errors, for evaluation on data that need no protection. NOT PRIVATE, and every result says so.

This is the second and last place, after the curator, that reads exact answers. It backs the explicit evaluation flag
of the command line, the evaluator of synthetic files and the experiments; a report that shows its figures is labelled
"not private" as a whole.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Floats
from hedgerow.data import CountSource, PersonSource, Table, is_place, open_place, open_table, rules_of
from hedgerow.domain import AS_DECLARED, Clique, Codes, Domain, Layout, encoder
from hedgerow.errors import ColumnError, QueryError, UnreadableTableError
from hedgerow.queries import Neighbours, Tables, Workload


@dataclass(frozen=True, eq=False)
class ExactErrors:
    """Exact errors of answers; not private.

    Attributes:
        label: ``"not private"``; to be shown wherever the figures are.
        errors: L1 error of each candidate in counts, shape ``(n_candidates,)``.
        total: Exact number of records.
    """

    label: ClassVar[str] = "not private"
    errors: Floats
    total: float

    @property
    def mean(self) -> float:
        """Mean L1 error over the candidates, in counts."""
        return float(self.errors.mean())

    @property
    def maximum(self) -> float:
        """Largest L1 error of a candidate, in counts."""
        return float(self.errors.max())

    def to_dict(self) -> dict[str, Any]:
        """Summary for JSON, with the label."""
        return {"label": self.label, "mean": self.mean, "maximum": self.maximum, "total": self.total}


def exact_errors(source: CountSource, workload: Workload, answers: Floats) -> ExactErrors:
    """Errors of answers against the exact ones. NOT PRIVATE: for evaluation only.

    Args:
        source: The counts.
        workload: The queries.
        answers: In counts, shape ``(n_queries,)``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> table = Table(domain, [np.array([0, 1, 1])])
        >>> exact_errors(table, Workload.marginals(domain, 1), np.array([1.5, 1.5])).to_dict()
        {'label': 'not private', 'mean': 1.0, 'maximum': 1.0, 'total': 3}
    """
    given = np.asarray(answers, dtype=np.float64)
    if given.shape != (workload.n_queries,):
        raise QueryError(f"{workload.n_queries} answers are needed, not an array of shape {given.shape}")
    return ExactErrors(workload.candidate_errors(exact_answers(source, workload) - given), exact_total(source))


def exact_answers(source: CountSource, workload: Workload) -> Floats:
    """Exact answers. NOT PRIVATE: for the yardsticks of experiments on public tables only.

    Args:
        source: The counts.
        workload: The queries.

    Returns:
        Counts, shape ``(n_queries,)``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> exact_answers(Table(domain, [np.array([0, 1, 1])]), Workload.marginals(domain, 1))
        array([1., 2.])
    """
    return workload.answers(source) * _grain_of(source)


def _grain_of(source: CountSource) -> float:
    """What the counts are whole numbers of."""
    persons = source.persons if isinstance(source, PersonSource) else None
    return Neighbours.ADD_REMOVE.between(persons).grain


def exact_total(source: CountSource) -> float:
    """Exact number of records. NOT PRIVATE, unless neighbours replace records.

    Args:
        source: The counts.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> exact_total(Table(Domain((IntegerRange("a", 0, 1),)), [np.array([0, 1, 1])]))
        3
    """
    grain = _grain_of(source)
    return source.total() if grain == 1.0 else source.total() * grain


def relative_entropy(source: CountSource, model: Tables) -> float:
    """KL(b || p) of the exact distribution b over all cells to that of a model, in nats. NOT PRIVATE.

    Args:
        source: The counts.
        model: Gives the table of all attributes; not for large domains. Its mass does not matter.

    Returns:
        Infinite where the model has no mass at a record.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> table = Table(domain, [np.array([1, 1, 1])])
        >>> round(relative_entropy(table, Table(domain, [np.array([0, 1])])), 4)
        0.6931
    """
    names = source.domain.names
    exact, guess = (np.asarray(each.marginals([names])[0], dtype=np.float64).ravel() for each in (source, model))
    positive = exact > 0.0
    with np.errstate(divide="ignore"):
        logarithms = np.log(exact[positive] / exact.sum()) - np.log(guess[positive] / guess.sum())
    return float(max(0.0, np.sum(exact[positive] / exact.sum() * logarithms)))


def exact_records(place: object, columns: Iterable[str] | None = None, layout: Layout = AS_DECLARED) -> pa.Table:
    """All records of a table as they are written. NOT PRIVATE: for the evaluation of synthetic files only.

    Args:
        place: Path of a table, its address, an Arrow table or a data frame, as for `read_table` and `scan_table`.
        columns: Columns to read; None for all.
        layout: Format of text files, and of the numbers in them.

    Returns:
        The columns, texts as dictionaries where that is how they were read.

    Raises:
        UnreadableTableError: The table cannot be read, or has no records.
        ColumnError: A column is not there, or is there twice.

    Example:
        >>> exact_records(pa.table({"a": [1, 2], "b": [3, 4]}), ["b"]).to_pydict()
        {'b': [3, 4]}
    """
    address = os.fspath(place) if isinstance(place, str | os.PathLike) else None
    placed = address is not None and is_place(address)
    reader = open_place(str(address), form=layout.file) if placed else open_table(place, layout.file)
    wanted = list(reader.names if columns is None else columns)
    for column in wanted:
        if reader.names.count(column) != 1:
            problem = "it is there more than once" if column in reader.names else "the table has no such column"
            raise ColumnError(problem, file=reader.file, column=column, remedy="correct the name of the column")
    batches = [
        pa.RecordBatch.from_arrays([layout[name].plain(batch.column(name)) for name in wanted], wanted)
        for batch in reader.batches(wanted, wanted)
        if batch.num_rows
    ]
    if not batches:
        raise UnreadableTableError("the table has no records", file=reader.file, remedy="check how it was made")
    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()


def exact_marginals(domain: Domain, columns: Sequence[Codes], cliques: Sequence[Clique]) -> list[Floats]:
    """Exact tables of records that are given as codes. NOT PRIVATE: for the evaluation of synthetic files only.

    Args:
        domain: The domain of the codes.
        columns: Codes, one array for each attribute.
        cliques: The wanted tables, each in the order of the domain.

    Returns:
        Counts, one array for each clique.

    Raises:
        MarginalTooLargeError: A table does not fit into memory.

    Example:
        >>> from hedgerow import IntegerRange
        >>> exact_marginals(Domain((IntegerRange("a", 0, 1),)), [np.array([0, 1, 1])], [("a",)])
        [array([1., 2.])]
    """
    return Table(domain, columns).marginals(cliques)


OUTSIDE = "a value outside the domain"
"""Name of the rule that each cell has a code."""


def broken_rules(records: pa.Table, domain: Domain) -> dict[str, Bools]:
    """Records that cannot exist, by rule. NOT PRIVATE where the records are private.

    Args:
        records: The records as they are written; columns that the domain does not declare are not looked at.
        domain: The domain, whose constraints and derived columns are the rules. A rule about a column that is not there
            is left out, and a record with a value outside the domain is under that rule alone.

    Returns:
        Whether each record breaks a rule, shape ``(n_records,)``, by its text; `OUTSIDE` is the first.

    Raises:
        UnsupportedTypeError: A column holds neither texts nor numbers.

    Example:
        >>> from hedgerow import IntegerRange
        >>> broken_rules(pa.table({"a": [0, 1, 7]}), Domain((IntegerRange("a", 0, 1),)))
        {'a value outside the domain': array([False, False,  True])}
    """
    codes = {
        column.name: np.concatenate([encoder(column).codes(chunk) for chunk in records.column(column.name).chunks])
        for column in domain.columns
        if column.name in records.column_names
    }
    outside = np.zeros(records.num_rows, dtype=np.bool_)
    for name, column in codes.items():
        outside |= column < 0
        codes[name] = np.maximum(column, 0)
    checked = [rule for rule in rules_of(domain) if codes.keys() >= set(rule.columns)]
    return {OUTSIDE: outside, **{rule.text: ~(rule.holds(codes) | outside) for rule in checked}}
