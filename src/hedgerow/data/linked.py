"""Private tables with keys: parents, and children of which each has one parent, who may have children in their turn.

Parents get the numbers of their children, children the columns of their parent. Of the children of one parent a bounded
number is counted, by the rule of ``reading/persons.py``: so a parent who comes or goes with all children changes one
record of the first table, and at most as many of the second. Of children who do not count no child counts either: so a
root reaches as many records of a table as the product of the bounds above it (theory.md section 15.4).

Where children have an order, so many in a row count, and each gets the columns of the child before it, the first none.
These depend on the children of its own parent alone, and are in its own record: so nobody reaches more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from hedgerow.domain import GAP, Codes, Domain, Linked
from hedgerow.errors import ConfigError, KeyColumnError
from hedgerow.queries import Persons

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
    more: Sequence[Source] = (),
) -> tuple[Table, ...]:
    """Read a table of parents and the table of their children, or a tree of tables.

    Args:
        parents: One row for each parent; see ``read_table`` for what a table may be. Columns that are not declared are
            left alone.
        children: One row for each child.
        linked: The domains, the columns that link them, and the most children of one parent that are counted.
        violations: ``"drop"`` leaves out what breaks a rule, a parent with all children or a child, and also children
            without a parent.
        show_values: Whether errors may show offending values.
        before_rows: Called when the columns of all are in order, before the first row is read.
        more: The tables after the first children, in the order of ``linked``.

    Returns:
        The parents with the number of their children that are counted, and these children beside their parents; then
        further ones.

    Raises:
        ConfigError: There are more tables than ``linked`` describes, or fewer.
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
    links = linked.links
    sources, domains = (parents, children, *more), (linked.parents, *(link.children for link in links))
    if len(sources) != len(domains):
        message = f"{len(domains)} linked tables are described, and {len(sources)} are to be read"
        raise ConfigError(message, remedy="give those after the first children as 'more', in the order of 'linked'")
    options = ReadOptions(extra_columns="ignore", violations=violations, show_values=show_values)
    opened = []
    for place, (source, domain, link) in enumerate(zip(sources, domains, (linked, *links), strict=True)):
        named = linked.named(place) if place else None
        opened.append(_opened(source, domain, replace(options, person=link.key, at_most=1, named=named)))
    opened[1:] = [(replace(reader, filtered=True), coding) for reader, coding in opened[1:]]  # there may be no child
    if before_rows is not None:
        before_rows()
    root, *below = (_together(list(encoded(reader, coding)), coding) for reader, coding in opened)
    every = np.arange(len(_keys(root)))
    known = dict(zip(linked.parents.names, root.codes, strict=True))
    tables = [_Rows(known, _keys(root), _keys(root), every, every)]
    for link, rows in zip(links, below, strict=True):
        tables.append(_below(tables[link.above], rows, link, options))
    _hand_down(tables, links)
    if (begun := linked.begun) is not None:
        _tell_firsts(tables[0], tables[1 + links.index(begun)], begun)
    return tuple(
        Table(
            domain,
            [those.of(name) for name in domain.names],
            filtered=place > 0,  # how many children there are is private, also where parents are replaced
            violations=violations,
            persons=Persons(linked.key, most),
        )
        for place, (those, domain, most) in enumerate(
            zip(tables, (linked.opened, *(link.joined for link in links)), linked.bounds, strict=True)
        )
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of a table that have a parent and break no rule.

    Attributes:
        columns: Codes by names, those of the tables above among them.
        names: By what the rows' children name them; None where they have none.
        roots: The keys of the records of the root that the rows come down from.
        parents: Places of their parents among the rows of the table above.
        counted: Places of the rows that count, increasing.
        before: Of those, what is said of the child before, by names.
    """

    columns: dict[str, Codes]
    names: Keys | None
    roots: Keys
    parents: Ints
    counted: Ints
    before: Mapping[str, Ints] = field(default_factory=dict)

    def of(self, name: str) -> Codes | Ints:
        """A column of the rows that count."""
        return self.before[name] if name in self.before else self.columns[name][self.counted]


def _below(above: _Rows, rows: CodedRows, link: Linked, options: ReadOptions) -> _Rows:
    """The rows of a table of children. Those of a parent who does not count do not count, and are no fault."""
    strict = options.violations == "refuse"
    parents = _parents_of(_keys(rows), above.names, link.key, strict=strict)
    rows, parents = rows.rows(parents >= 0), parents[parents >= 0]
    known = {name: column[parents] for name, column in above.columns.items()}
    known |= zip(link.children.names, rows.codes, strict=True)
    if strict:
        broken = RuleLog("the table of children", link.between, show_values=options.show_values)
        broken.check(known, first_row=1)
        broken.raise_any()
    else:
        kept = keeping(map(Rule, link.between.constraints), known)
        rows, parents, known = rows.rows(kept), parents[kept], {name: column[kept] for name, column in known.items()}
    own = np.flatnonzero(np.isin(parents, above.counted))
    counted, before = _counted(rows.rows(own), link)
    own, roots = own[counted], above.roots[parents]
    if link.in_all is not None and above.names is not None:
        those, of = rows.rows(own), above.names[parents[own]]  # equal ones are told apart by their parents too
        columns = [*those.codes, *of.T, *(() if those.names is None else those.names.T)]
        own = own[bounded(roots[own], columns, link.in_all)]
    return _Rows(known, rows.names, roots, parents, own, before)


def _hand_down(tables: Sequence[_Rows], links: Sequence[Linked]) -> None:
    """Tell parents the numbers of their children that count, and all tables below what those above were told."""
    for link, those in zip(links, tables[1:], strict=True):
        above = tables[link.above]
        numbers = np.bincount(those.parents[those.counted], minlength=len(above.parents))
        above.columns[link.number] = numbers.astype(np.uint32)
    for link, those in zip(links, tables[1:], strict=True):
        known = tables[link.above].columns
        those.columns.update({name: known[name][those.parents] for name in link.counted.names})


def _tell_firsts(root: _Rows, those: _Rows, link: Linked) -> None:
    """Tell the root the columns of the first child that counts."""
    first = those.counted[those.before[GAP] == link.joined[GAP].size - 1]
    for name, of_first in link.firsts.items():
        codes = np.full(len(root.parents), link.joined[name].size, dtype=np.uint32)  # none, but for those who have one
        codes[those.parents[first]] = those.columns[name][first]
        root.columns[of_first] = codes


def _counted(people: CodedRows, linked: Linked) -> tuple[NDArray[np.intp], Mapping[str, Ints]]:
    """The children that count, and what is said of the child before each where they have an order.

    Equal children who have children of their own are told apart by their names, so that it is the same ones that count
    however the rows are ordered.
    """
    columns = [*people.codes, *(() if people.names is None else people.names.T)]
    if linked.order is None:
        return bounded(_keys(people), columns, linked.at_most), {}
    order = people.codes[linked.children.names.index(linked.order)].astype(np.int64)
    rows, before = windows(_keys(people), columns, order, linked.at_most)
    return rows, dict(zip(linked.before, _before(people, linked, rows, before), strict=True))


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
    empty, nobody = [np.empty(0, dtype=np.uint8) for _ in coding.domain], np.empty((0, 2), dtype=np.uint64)
    keys = np.concatenate([nobody, *map(_keys, parts)])
    names = np.concatenate([nobody, *(part.names for part in parts if part.names is not None)])
    return CodedRows(columns or empty, None, keys, None if coding.options.named is None else names)


def _keys(part: CodedRows) -> Keys:
    if part.persons is None:
        raise KeyColumnError("a table was read without its key")
    return part.persons


def _parents_of(keys: Keys, names: Keys | None, key: str, *, strict: bool) -> Ints:
    """The place of each child's parent; -1 where it is not there, and may have been left out.

    Args:
        keys: What the children name their parents by.
        names: What the parents are named by.
        key: The column.
        strict: Whether no parent was left out.

    Raises:
        KeyColumnError: Two parents have the same key, or a child has no parent though none was left out.
    """
    if names is None:
        raise KeyColumnError("a table was read without the names of its records")
    both = np.concatenate([names, keys])
    order = np.lexsort((np.arange(len(both)) >= len(names), both[:, 1], both[:, 0]))  # parents first of equal keys
    first = np.concatenate([[True], (both[order][1:] != both[order][:-1]).any(axis=1)])[: len(both)]
    is_parent = order < len(names)
    _refuse(order[is_parent & ~first], "a key that another parent has", key, "give each parent a key of its own")
    of_run = np.where(is_parent[first], order[first], -1)[np.cumsum(first) - 1]
    places = np.empty(len(keys), dtype=np.int64)
    places[order[~is_parent] - len(names)] = of_run[~is_parent]
    if strict:
        lost: Bools = places < 0
        _refuse(np.flatnonzero(lost), "a child without a parent", key, "add the parents, or leave these rows out")
    return places


def _refuse(rows: Ints, message: str, key: str, remedy: str) -> None:
    if len(rows):
        shown = [int(row) + 1 for row in islice(np.sort(rows), _SHOWN_ROWS)]
        raise KeyColumnError(message, column=key, rows=shown, n_rows=len(rows), remedy=remedy)
