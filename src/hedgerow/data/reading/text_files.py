"""Text files as streams of Arrow batches, in the format that is declared for them, and clear errors."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NoReturn

import pyarrow as pa
import pyarrow.csv

from hedgerow.data.reading.faults import SHOWN_ROWS
from hedgerow.domain import FileFormat
from hedgerow.errors import UnreadableTableError, raise_alone

TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".zip")
"""Endings of text files."""
_BLOCK_BYTES = 1 << 24
"""Bytes of text that are read at a time."""
_SEPARATORS = {"a semicolon": ";", "a tab": "\t", "a bar": "|", "a comma": ","}


_DAMAGED = (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError)
"""Errors about compressed files that are cut, damaged or encrypted."""


def unreadable(path: Path, error: OSError) -> UnreadableTableError:
    """The error about a file that the system does not let us read.

    Example:
        >>> unreadable(Path("a.csv"), FileNotFoundError(2, "No such file")).message
        'a.csv: cannot be read: No such file'
    """
    reason = error.strerror or "it is damaged or of another kind"
    return UnreadableTableError(f"cannot be read: {reason}", file=str(path), remedy="check the path and the file")


@dataclass(frozen=True)
class TextFile:
    """A text file whose header was read.

    Attributes:
        path: The file.
        form: Its format.
        names: Names of its columns, in order.
    """

    path: Path
    form: FileFormat
    names: tuple[str, ...]

    @classmethod
    def opened(cls, path: Path, form: FileFormat) -> TextFile:
        """Look at the header.

        Args:
            path: The file.
            form: Its format.

        Raises:
            UnreadableTableError: There is no header, or it is not in the declared encoding or separated otherwise.
        """
        lines = lines_of(path, form)
        try:
            first = next(lines, "")
            header = next(csv.reader(chain([first], lines), **_dialect(path, form)), None)
        except UnicodeError:  # whose own words show bytes of the file
            raise_alone(_wrong_encoding(path, form, "text"))
        except _DAMAGED as error:
            raise unreadable(path, error if isinstance(error, OSError) else OSError()) from error
        if not header:
            remedy = "name the columns in the first line; 'format' in the domain file says what stands before it"
            raise UnreadableTableError("the first line is empty", file=str(path), remedy=remedy)
        if _undecoded(header):
            raise _wrong_encoding(path, form, "a column name")
        other = next((name for name, mark in _SEPARATORS.items() if mark in header[0]), None)
        if form.separator is None and len(header) == 1 and other is not None and not first.startswith('"'):
            raise UnreadableTableError(
                f"the first line names one column, and holds {other}",
                file=str(path),
                remedy=f"declare it in the domain file: 'format: {{separator: \"{_shown(_SEPARATORS[other])}\"}}'; "
                "'hedgerow domain' drafts one that does",
            )
        names = header if form.header else [f"c{number}" for number in range(1, len(header) + 1)]
        return cls(path, form, tuple(names))

    def batches(self, wanted: Sequence[str], repetitive: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The named columns as texts, those that are also in the second argument as dictionaries.

        Args:
            wanted: Names of columns.
            repetitive: Columns whose texts repeat.

        Raises:
            UnreadableTableError: A row has another number of fields, or a text is not in the declared encoding.
        """
        broken: list[int] = []
        words = pa.dictionary(pa.int32(), pa.string())
        types = {name: words if name in repetitive else pa.string() for name in wanted}
        try:
            with self._stream(types, broken) as stream:
                yield from stream
        except (pa.ArrowInvalid, UnicodeError):
            broken.append(0)
        except _DAMAGED as error:
            raise unreadable(self.path, error if isinstance(error, OSError) else OSError()) from error
        if broken:
            self._explain()

    def _stream(self, types: Mapping[str, pa.DataType], broken: list[int]) -> pa.csv.CSVStreamingReader:
        def note(row: pa.csv.InvalidRow) -> Literal["skip"]:
            broken.append(row.actual_columns)
            return "skip"

        form = self.form
        own = form.header and not _is_rewritten(self.path, form)
        file: Any = pa.input_stream(self.path, compression="detect") if own else _rewritten(self.path, form)
        return pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES, column_names=None if own else list(self.names)),
            parse_options=pa.csv.ParseOptions(
                delimiter=separator_of(self.path, form),
                quote_char=form.quote or False,
                newlines_in_values=True,
                ignore_empty_lines=len(self.names) > 1,
                invalid_row_handler=note,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict(types), include_columns=list(types), strings_can_be_null=False
            ),
        )

    def _explain(self) -> NoReturn:
        """Read a file that Arrow refused once more, row by row, to say which rows are wrong."""
        rows = csv.reader(lines_of(self.path, self.form), **_dialect(self.path, self.form))
        if self.form.header:
            next(rows)
        names = self.names
        numbered = ((i, row) for i, row in enumerate((row for row in rows if row or len(names) == 1), 1))
        try:
            wrong = [(i, row) for i, row in numbered if len(row) not in (len(names), 0) or _undecoded(row)]
        except UnicodeError:
            raise_alone(_wrong_encoding(self.path, self.form, "text"))
        lengths = [i for i, row in wrong if len(row) not in (len(names), 0)]
        if lengths:
            raise UnreadableTableError(
                f"the table has {len(names)} columns, and a row has another number of fields",
                file=str(self.path),
                rows=list(islice(lengths, SHOWN_ROWS)),
                n_rows=len(lengths),
                remedy="complete the rows, or put fields that hold the separator in double quotes; lines before the "
                "header or after the last record are declared in the domain file: 'format: {skip: 2, footer: 1}'",
            )
        if wrong:
            column = next(name for name, cell in zip(names, wrong[0][1], strict=True) if _undecoded([cell]))
            places = [i for i, _ in wrong]
            raise _wrong_encoding(self.path, self.form, "text", column, places)
        raise UnreadableTableError("not a CSV file", file=str(self.path), remedy="check how it was made")


def separator_of(path: Path, form: FileFormat) -> str:
    r"""The character between two fields: the declared one, or that of the file's ending.

    Example:
        >>> separator_of(Path("a.tsv"), FileFormat()), separator_of(Path("a.tsv"), FileFormat(separator="|"))
        ('\t', '|')
    """
    return form.separator or ("\t" if ".tsv" in path.name.lower() else ",")


def _shown(mark: str) -> str:
    return "\\t" if mark == "\t" else mark


def _wrong_encoding(
    path: Path, form: FileFormat, what: str, column: str | None = None, rows: Sequence[int] = ()
) -> UnreadableTableError:
    encoding = "UTF-8" if form.is_utf8 else form.encoding
    return UnreadableTableError(
        f"{what} that is not {encoding}",
        file=str(path),
        column=column,
        rows=list(rows[:SHOWN_ROWS]),
        n_rows=len(rows),
        remedy="declare it in the domain file, as in 'format: {encoding: cp1252}', or save the file as UTF-8; "
        "'hedgerow domain' drafts what it finds",
    )


def _dialect(path: Path, form: FileFormat) -> dict[str, Any]:
    quoting = {"quoting": csv.QUOTE_NONE} if form.quote is None else {"quotechar": form.quote}
    return {"delimiter": separator_of(path, form), **quoting}


def bytes_of(path: Path) -> Any:
    """The bytes of a text file, decompressed, as a stream.

    Args:
        path: The file; in an archive there must be one.

    Raises:
        UnreadableTableError: An archive holds several files, or is damaged.
    """
    if not path.name.lower().endswith(".zip"):
        return pa.input_stream(path, compression="detect")
    try:
        archive = zipfile.ZipFile(path)
        members = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
        if len(members) != 1:
            message = f"the archive holds {len(members)} files"
            raise UnreadableTableError(message, file=str(path), remedy="pack a single text file")
        return archive.open(members[0])
    except zipfile.BadZipFile as error:
        raise unreadable(path, OSError()) from error


def lines_of(path: Path, form: FileFormat) -> Iterator[str]:
    """The lines of a file from its header on, without comments and without its last lines that are no records.

    Bytes that are not of the encoding are marked as surrogates.

    Args:
        path: The file.
        form: Its format.
    """
    encoding = "utf-8-sig" if form.is_utf8 else form.encoding
    with io.TextIOWrapper(bytes_of(path), encoding=encoding, errors="surrogateescape", newline="") as text:
        lines: Iterator[str] = islice(text, form.skip, None)
        if form.comment:
            lines = _uncommented(lines, form.comment, form.quote)
        if not form.footer:
            yield from lines
            return
        held, filled = deque[str](), 0  # empty lines behind the last ones are none of these
        for line in lines:
            held.append(line)
            filled += bool(line.strip())
            while filled > form.footer:
                filled -= bool(held[0].strip())
                yield held.popleft()


def _uncommented(lines: Iterator[str], sign: str, quote: str | None) -> Iterator[str]:
    """Lines that are no comments; one within a quoted field is none, whatever it begins with."""
    within = False
    for line in lines:
        if within or not line.startswith(sign):
            within ^= quote is not None and line.count(quote) % 2 == 1
            yield line


def _is_rewritten(path: Path, form: FileFormat) -> bool:
    """Whether Arrow cannot read the file as it is."""
    return bool(path.name.lower().endswith(".zip") or form.skip or form.comment or form.footer or not form.is_utf8)


def _rewritten(path: Path, form: FileFormat) -> Any:
    """The records of a file as UTF-8, without the header; bytes that are not of its encoding stay as they are."""
    lines = lines_of(path, form)
    if form.header:
        rows = csv.reader(lines, **_dialect(path, form))
        next(rows)
    return pa.PythonFile(io.BufferedReader(_Lines(lines), _BLOCK_BYTES), mode="r")


class _Lines(io.RawIOBase):
    """Lines as a file of bytes."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._left = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as there are lines."""
        parts, size = [self._left], len(self._left)
        while size < len(buffer) and (some := "".join(islice(self._lines, 1024))):
            parts.append(some.encode("utf-8", "surrogateescape"))
            size += len(parts[-1])
        whole = b"".join(parts)
        taken = min(len(buffer), len(whole))
        buffer[:taken] = whole[:taken]
        self._left = whole[taken:]
        return taken


def _undecoded(row: Sequence[str]) -> bool:
    return any("\udc80" <= letter <= "\udcff" for cell in row if not cell.isascii() for letter in cell)
