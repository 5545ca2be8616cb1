"""The labels that occur in columns of texts, whoever has them: private."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hedgerow.data.reading.batches import spelled
from hedgerow.data.reading.readers import Reader
from hedgerow.domain import distinct_texts
from hedgerow.errors import ColumnError


def labels_of(reader: Reader, columns: Mapping[str, Callable[[str], str | None]]) -> dict[str, list[str]]:
    """The labels of some columns, in one pass (private).

    Args:
        reader: The table.
        columns: For each column the rule that reads the text of a cell as a label; None where it is none of its own.

    Returns:
        The labels of each column, each once, in order.

    Raises:
        ColumnError: A column is not there, or its type holds neither texts nor numbers.
        UnreadableTableError: The table cannot be read to its end.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.data.reading.readers import open_table
        >>> labels_of(open_table(pa.table({"job": ["nurse", "Nurse", "clerk"]})), {"job": str.casefold})
        {'job': ['clerk', 'nurse']}
    """
    for name in columns:
        if reader.names.count(name) != 1:
            there = "is not there" if name not in reader.names else "is there more than once"
            raise ColumnError(f"a column of the domain {there}", file=reader.file, column=name)
    labels_seen: dict[str, set[str]] = {name: set() for name in columns}
    for batch in reader.batches(list(columns), list(columns)):
        for name, label_of in columns.items():
            with spelled(reader.file, name):
                texts = distinct_texts(batch.column(name))
            labels_seen[name].update(label for text in texts if (label := label_of(text)) is not None)
    return {name: sorted(labels) for name, labels in labels_seen.items()}
