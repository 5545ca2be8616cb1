"""Two private tables with a key: parents, and children of which each has one parent.

Parents get the number of their children, children the columns of their parent. Of the children of one parent a bounded
number is counted, by the rule of ``reading/persons.py``: so a parent who comes or goes with all children changes one
record of the first table, and at most as many of the second.

Where children have an order, so many in a row count, and each gets the columns of the child before it, the first none.
These depend on the children of its own parent alone, and are in its own record: so nobody reaches more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.data.options import ReadOptions, Violations
from hedgerow.data.reading import (
    CodedRows,
    Coding,
    Reader,
    Rule,
    bounded,
    encoded,
    keeping,
    open_table,
    select_columns,
    windows,
)
from hedgerow.data.reading.faults import RuleLog
from hedgerow.data.reading.persons import Keys
from hedgerow.data.table import Table
from hedgerow.domain import Codes, Domain, Linked
from hedgerow.errors import KeyColumnError

if TYPE_CHECKING:
    from hedgerow.data.table import Source

_SHOWN_ROWS = 5


def read_linked(
    parents: Source,
    children: Source,
    linked: Linked,
    *,
    violations: Violations = "refuse",
    show_values: bool = False,
    before_rows: Callable[[], object] | None = None,
) -> tuple[Table, Table]:
    """Read a table of parents and the table of their children.

    Args:
        parents: One row for each parent; see ``read_table`` for what a table may be. Columns that are not declared are
            left alone.
        children: One row for each child.
        linked: The domains of both, the column that links them, and the most children of one parent that are counted.
        violations: ``"drop"`` leaves out what breaks a rule, a parent with all children or a child, and also children
            without a parent.
        show_values: Whether errors may show offending values.
        before_rows: Called when the columns of both are in order, before the first row is read.

    Returns:
        The parents with the number of their children that are counted, and these children beside their parents.

    Raises:
        KeyColumnError: Two parents have the same key, or a child has no parent.
        BrokenRuleError: A record, or a child beside its parent, breaks a rule, and is not to be left out.
        DataError: A table does not fit its domain; ``read_table`` lists how.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import Domain, IntegerRange
        >>> homes, people = Domain([IntegerRange("rooms", 1, 3)]), Domain([IntegerRange("age", 0, 99)])
        >>> linked = Linked.of(homes, people, key="home", at_most=2)
        >>> parents = pa.table({"home": [7, 8], "rooms": [3, 1]})
        >>> tables = read_linked(parents, pa.table({"home": [8, 8, 8], "age": [1, 2, 3]}), linked)
        >>> [(table.total(), table.domain.names) for table in tables]
        [(2, ('rooms', 'children')), (2, ('rooms', 'children', 'age'))]
    """
    options = ReadOptions(
        extra_columns="ignore", violations=violations, show_values=show_values, person=linked.key, at_most=1
    )
    of_children = replace(options, at_most=linked.at_most)
    opened = [_opened(parents, linked.parents, options), _opened(children, linked.children, of_children)]
    opened[1] = (replace(opened[1][0], filtered=True), opened[1][1])  # there may be no child
    if before_rows is not None:
        before_rows()
    homes, people = (_together(list(encoded(reader, coding)), coding) for reader, coding in opened)
    places = _homes_of(homes, people, linked.key, strict=violations == "refuse")
    people, places = people.rows(places >= 0), places[places >= 0]
    beside = [column[places] for column in homes.codes]
    known = dict(zip((*linked.parents.names, *linked.children.names), (*beside, *people.codes), strict=True))
    if violations == "drop":
        kept = keeping(map(Rule, linked.between.constraints), known)
        people, places, beside = people.rows(kept), places[kept], [column[kept] for column in beside]
    else:
        broken = RuleLog("the table of children", linked.between, show_values=show_values)
        broken.check(known, first_row=1)
        broken.raise_any()
    rows, told = _counted(people, beside, linked)
    counts = np.bincount(places[rows], minlength=len(_keys(homes)))
    return (
        Table(linked.counted, [*homes.codes, counts], violations=violations, persons=options.persons),
        Table(
            linked.joined,
            [*(column[rows] for column in (*beside, counts[places])), *told],
            filtered=True,  # a parent may have no child: how many there are is private, also where parents are replaced
            violations=violations,
            persons=of_children.persons,
        ),
    )


def _counted(
    people: CodedRows, beside: Sequence[Codes | Ints], linked: Linked
) -> tuple[NDArray[np.intp], list[Codes | Ints]]:
    """The children that count, and their columns: with an order also those of the child before, and the gap."""
    if linked.order is None:
        rows = bounded(_keys(people), [*beside, *people.codes], linked.at_most)
        return rows, [column[rows] for column in people.codes]
    order = people.codes[linked.children.names.index(linked.order)].astype(np.int64)
    rows, before = windows(_keys(people), people.codes, order, linked.at_most)
    return rows, [*_before(people, linked, rows, before), *(column[rows] for column in people.codes)]


def _before(people: CodedRows, linked: Linked, rows: NDArray[np.intp], before: NDArray[np.intp]) -> list[Ints]:
    """The columns of the children before each of some, and the gap between it and the last of these."""
    own = {name: codes.astype(np.int64) for name, codes in zip(linked.children.names, people.codes, strict=True)}
    order, first, told = own[str(linked.order)], before < 0, dict[str, Ints]()
    for name, column in reversed(linked.history):  # what is known of the child before one's own stands in its record
        known = told[column][np.searchsorted(rows, before)] if column in told else own[column][before]
        told[name] = np.where(first, linked.joined[name].size - 1, known)
    gaps = linked.gaps(np.where(first, -1, order[rows] - order[before]))
    return [*(told[name] for name, _ in linked.history), gaps]


def _opened(source: Source, domain: Domain, options: ReadOptions) -> tuple[Reader, Coding]:
    """A table whose columns are in order."""
    reader = open_table(source, domain.layout.file)
    return reader, select_columns(reader, domain, options)


def _together(parts: Sequence[CodedRows], coding: Coding) -> CodedRows:
    columns: list[Codes] = [np.concatenate(each) for each in zip(*(part.codes for part in parts), strict=True)]
    keys = [_keys(part) for part in parts]
    empty = [np.empty(0, dtype=np.uint8) for _ in coding.domain]
    return CodedRows(columns or empty, None, np.concatenate(keys) if keys else np.empty((0, 2), dtype=np.uint64))


def _keys(part: CodedRows) -> Keys:
    if part.persons is None:
        raise KeyColumnError("a table was read without its key")
    return part.persons


def _homes_of(homes: CodedRows, people: CodedRows, key: str, *, strict: bool) -> Ints:
    """The place of each child's parent; -1 where it is not there, and may have been left out.

    Raises:
        KeyColumnError: Two parents have the same key, or a child has no parent though none was left out.
    """
    parents, children = _keys(homes), _keys(people)
    both = np.concatenate([parents, children])
    order = np.lexsort((np.arange(len(both)) >= len(parents), both[:, 1], both[:, 0]))  # parents first of equal keys
    first = np.concatenate([[True], (both[order][1:] != both[order][:-1]).any(axis=1)])[: len(both)]
    is_parent = order < len(parents)
    _refuse(order[is_parent & ~first], "a key that another parent has", key, "give each parent a key of its own")
    of_run = np.where(is_parent[first], order[first], -1)[np.cumsum(first) - 1]
    places = np.empty(len(children), dtype=np.int64)
    places[order[~is_parent] - len(parents)] = of_run[~is_parent]
    if strict:
        lost: Bools = places < 0
        _refuse(np.flatnonzero(lost), "a child without a parent", key, "add the parents, or leave these rows out")
    return places


def _refuse(rows: Ints, message: str, key: str, remedy: str) -> None:
    if len(rows):
        shown = [int(row) + 1 for row in islice(np.sort(rows), _SHOWN_ROWS)]
        raise KeyColumnError(message, column=key, rows=shown, n_rows=len(rows), remedy=remedy)
