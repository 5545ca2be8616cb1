"""Labels of columns whose values nobody listed, and how many records have each.

Both are private, and so is the domain that they are counted in: it is made of the labels that occur. A first pass looks
for these, a second one reads the table as any other, with the same persons, filters, rules and weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.data.options import ReadOptions
from hedgerow.data.reading import labels_of, open_place, open_table
from hedgerow.data.scanning.chunks import is_stored_in_spark, scan_with, spark_frame
from hedgerow.data.scanning.scan import ScannedTable
from hedgerow.data.table import Table, read_with
from hedgerow.domain import OpenDomain
from hedgerow.errors import ConfigError
from hedgerow.queries import Persons, Workload


class LabelSource(Protocol):
    """Labels and their counts, private. Only ``privacy/`` may look at them."""

    @property
    def filtered(self) -> bool:
        """Whether rows were left out by what they hold."""
        ...

    @property
    def persons(self) -> Persons | None:
        """The persons of whom at most so many records are counted."""
        ...

    def counts(self, name: str) -> tuple[list[str], Ints]:
        """The labels that records have in a column, in order, and the number of these records, all above 0."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Labels and their counts in a table; only the curator may look at them.

    Example:
        >>> import pyarrow as pa
        >>> wanted = OpenDomain({"job": {"values": {"learn": 9}}})
        >>> read_labels(pa.table({"job": ["nurse", "clerk", "nurse"]}), wanted)
        Labels(of job)
    """

    _table: Table | ScannedTable
    _names: tuple[str, ...]

    @property
    def filtered(self) -> bool:
        """Whether rows were left out by what they hold."""
        return self._table.filtered

    @property
    def persons(self) -> Persons | None:
        """The persons of whom at most so many records are counted."""
        return self._table.persons

    def counts(self, name: str) -> tuple[list[str], Ints]:
        """The labels that records have in a column, in order, and the number of these records, all above 0 (private).

        Raises:
            ConfigError: It is no column whose labels were read.
        """
        if name not in self._names:
            raise ConfigError(f"the labels of {name!r} were not read", remedy="name a column whose values are learnt")
        attribute = self._table.domain[name]
        counts = self._table.marginals([(name,)])[0][: attribute.ordinary].astype(np.int64)
        places = np.flatnonzero(counts)
        return [attribute.ordinary_label(place) for place in places.tolist()], counts[places]

    def __repr__(self) -> str:
        """Names of the columns: these are public."""
        return f"Labels(of {', '.join(self._names)})"


def read_labels(
    source: Any,
    wanted: OpenDomain,
    options: ReadOptions | None = None,
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Labels:
    """Read the labels of the columns whose values are to be learnt, and count them.

    Args:
        source: The table, as for `read_table` or `scan_table`; it is read twice.
        wanted: The domain with values to be learnt.
        options: How it is read, as for `scan_table`.
        progress: Called with the part of the second pass that is done, where the table is counted in passes.

    Raises:
        ConfigError: The table holds codes, which are not those of labels.
        DataError: See `read_table`.
        QueryError: The condition may look at more than one row.

    Example:
        >>> import pyarrow as pa
        >>> wanted = OpenDomain({"job": {"values": {"learn": 9}}})
        >>> read_labels(pa.table({"job": ["nurse", "clerk", "nurse"]}), wanted).counts("job")
        (['clerk', 'nurse'], array([1, 2]))
    """
    options = options or ReadOptions()
    if options.coded:
        raise ConfigError("values are learnt from labels, and not from codes", remedy="list the values")
    rules = {name: wanted.label_of(name) for name in wanted.values}
    frame = spark_frame(source)
    if frame is not None:
        from hedgerow.data.scanning.spark import readers_of_distinct

        labels: dict[str, list[str]] = {}
        stored = is_stored_in_spark(source)
        for name, reader in readers_of_distinct(frame, list(rules), options.where, declared=stored).items():
            labels |= labels_of(reader, {name: rules[name]})
    else:
        placed, form = isinstance(source, str | os.PathLike), wanted.fine.layout.file
        labels = labels_of(open_place(source, options.where, form) if placed else open_table(source), rules)
    domain = wanted.labelled(labels)
    if frame is None and not isinstance(source, str | os.PathLike):
        return Labels(read_with(source, domain, options), tuple(rules))
    table = scan_with(source, domain, options)
    table.prepare(Workload.marginals(domain, cliques=[(name,) for name in rules]))
    table.count(progress)
    return Labels(table, tuple(rules))
