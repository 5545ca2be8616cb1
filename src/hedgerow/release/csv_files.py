"""Records as text files: lines that are put together from pieces, most of which are made once."""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.domain.arrow import arrow_numbers
from hedgerow.domain.attribute import Categorical
from hedgerow.domain.domain import Domain
from hedgerow.domain.layout import FileFormat
from hedgerow.domain.measures import written
from hedgerow.domain.values import REPEATED, Drawn, texts_of
from hedgerow.errors import RecordsError

Chunk = tuple[Sequence[Drawn], Iterable["pa.Array[Any]"]]
"""Columns of some records, and numbers behind them."""
_MOST_TOGETHER = 1 << 13
"""Most texts of neighbouring columns that are made to be looked up: they stay in a core's second cache."""


def write_csv(
    chunks: Iterable[Chunk], schema: pa.Schema, domain: Domain, path: Path, usual: str = ","
) -> Generator[int, None, None]:
    """Write a text file in the format of the domain's layout, and give the number of rows of each piece.

    Args:
        chunks: The records.
        schema: The columns of all chunks.
        domain: Their domain.
        path: The file.
        usual: The separator where the format has none.

    Raises:
        RecordsError: A label has letters that the encoding does not have.
    """
    form = domain.layout.file
    lines = Lines(form, form.separator or usual, empties=may_be_empty(domain))
    header = io.StringIO(newline="")
    csv.writer(
        header,
        delimiter=lines.separator,
        quotechar=form.quote or '"',
        lineterminator="\n",
        quoting=csv.QUOTE_MINIMAL if form.quoting == "necessary" else csv.QUOTE_ALL,
    ).writerow(schema.names)
    encoder = None if form.is_utf8 else codecs.getincrementalencoder(form.encoding)()

    def write(file: IO[bytes], text: bytes | memoryview) -> None:
        try:
            file.write(text if encoder is None else encoder.encode(str(text, "utf-8")))
        except UnicodeEncodeError as error:
            message = f"a label cannot be written as {error.encoding}"
            raise RecordsError(message, remedy="declare an encoding that has its letters: 'encoding: utf-8'") from error

    with path.open("wb") as file:
        if form.header:
            write(file, header.getvalue().encode())
        for columns, beside in chunks:
            write(file, lines.of(columns, beside))
            yield len(columns[0].codes)


def may_be_empty(domain: Domain) -> bool:
    """Whether cells of a text file may be empty: a line without any text would be no record to most readers.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> may_be_empty(Domain([IntegerRange("age", 17, 90)]))
        False
    """
    return len(written(domain)) > 1


class Lines:
    r"""Lines of text files: the cells of neighbouring columns of few values are looked up together.

    A line of fifteen columns is put together from about five pieces, each of which was made once.

    Args:
        form: Which cells have quotes around them, and which quotes.
        separator: What stands between two cells.
        empties: Whether a column may have empty cells.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.system import generator
        >>> sex, age = Categorical("sex", ("F", "M")), IntegerRange("age", 17, 18)
        >>> columns = [Drawn.of(each, np.array([0, 1, 1]), generator(0)) for each in (sex, age)]
        >>> bytes(Lines(FileFormat(), ",", empties=True).of(columns))
        b'F,17\nM,18\nM,18\n'
    """

    def __init__(self, form: FileFormat, separator: str, *, empties: bool) -> None:
        """Nothing is made yet."""
        self.separator = separator
        self._form = form
        self._empties = empties
        self._listed: dict[tuple[str, ...], Any] = {}

    def of(self, columns: Sequence[Drawn], beside: Iterable[pa.Array[Any]] = ()) -> memoryview:
        """The lines of some records, in UTF-8.

        Args:
            columns: All columns of the domain, in order; in each call the same ones.
            beside: Numbers behind them.
        """
        pieces = [self._piece(group) for group in _together(columns)]
        pieces += [self._quoted(numbers, labels=False) for numbers in beside]
        pieces[-1] = pc.binary_join_element_wise(pieces[-1], _text("\n"), _text(""))
        lines: Any = pc.binary_join_element_wise(*pieces, _text(self.separator))
        _, offsets, data = lines.buffers()
        bounds = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
        return memoryview(data)[bounds[0] : bounds[-1]]

    def _piece(self, group: Sequence[Drawn]) -> Any:
        """The cells of neighbouring columns, joined; text without nulls."""
        if not group[0].is_repeated:
            return self._cells(group[0])
        names, shape = tuple(each.attribute.name for each in group), [each.attribute.size for each in group]
        if names not in self._listed:
            places = np.unravel_index(np.arange(math.prod(shape)), shape)
            cells = [
                self._cells(each.every).take(arrow_numbers(place)) for each, place in zip(group, places, strict=True)
            ]
            self._listed[names] = pc.binary_join_element_wise(*cells, _text(self.separator))
        codes = np.zeros(len(group[0].codes), dtype=np.int32)
        for each, size in zip(group, shape, strict=True):
            codes *= size
            codes += each.codes
        return self._listed[names].take(arrow_numbers(codes))

    def _cells(self, drawn: Drawn) -> Any:
        return self._quoted(texts_of(drawn, empties=self._empties), labels=isinstance(drawn.attribute, Categorical))

    def _quoted(self, cells: pa.Array[Any], *, labels: bool) -> Any:
        """Cells as texts, in quotes always or where a reader needs them; empty ones where there is none."""
        quote, quoting = self._form.quote, self._form.quoting
        texts: Any = cells.cast(pa.large_string())
        if quote is not None:
            whole = quoting == "always" or (quoting == "non_numeric" and labels)
            needed: Any = None
            if not whole and pa.types.is_string(cells.type):
                special = rf"^$|[{re.escape(self.separator + quote)}\r\n]|^\s|\s$"
                needed = pc.match_substring_regex(texts, special)
            if whole or (needed is not None and pc.any(needed).as_py()):
                doubled = pc.replace_substring(texts, quote, 2 * quote)
                around = pc.binary_join_element_wise(_text(quote), doubled, _text(quote), _text(""))
                texts = around if whole else pc.if_else(needed, around, texts)
        return pc.coalesce(texts, _text(""))


def _text(text: str) -> Any:
    """A text of Arrow's, made of its bytes: `pa.scalar` loads pandas."""
    letters = text.encode()
    ends = pa.py_buffer(np.array([0, len(letters)], dtype=np.int64).tobytes())
    return pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(letters)])[0]


def _together(columns: Sequence[Drawn]) -> list[list[Drawn]]:
    """Neighbouring columns that are looked up together."""
    groups: list[list[Drawn]] = []
    size = 0
    for column in columns:
        most = min(_MOST_TOGETHER, len(column.codes) // REPEATED)
        size = size * column.attribute.size if column.is_repeated else 0
        if not groups or not 0 < size <= most:
            groups.append([column])
            size = column.attribute.size if column.is_repeated else 0
        else:
            groups[-1].append(column)
    return groups
