"""The format of a text file, found out by looking: for the draft of a domain file, which a person reads.

A format is proposed only where the usual one (UTF-8, a header, the separator of the file's ending) does not fit, and
only by what nearly all lines have: the same number of fields.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from hedgerow.data.column_summary import MISSING_TEXTS, is_number
from hedgerow.data.reading import TEXT_ENDINGS, bytes_of, lines_of, separator_of
from hedgerow.domain import USUAL_FILE, FileFormat

_LINES = 500
"""Lines at the beginning that are looked at."""
_NEARLY_ALL = 0.9
"""Share of the lines that have the same number of fields."""
_SEPARATORS = (",", ";", "\t", "|")
_MOST_SKIPPED = 50
"""Lines before the header at most."""
_MOST_FOOTER = 5
"""Lines after the last record at most."""
_SAMPLE = 1 << 18
"""Bytes that an encoding is guessed from."""
_DATED = re.compile(r"\d{1,4}[-./:]\d{1,2}([-./:]\d{1,4})?.*")


def sniffed(path: Path, known: Mapping[str, Any]) -> FileFormat:
    r"""The format of a text file; the usual one for other files, and where nothing else fits better.

    Args:
        path: The file.
        known: Options of the format that are not to be found out, as a domain file has them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.csv")
        ...     _ = file.write_text("age;pay\n20;3\n31;2\n")
        ...     sniffed(file, {}).entry
        {'separator': ';'}
    """
    form = FileFormat(**known)
    if not path.name.lower().endswith(TEXT_ENDINGS):
        return form
    form = form if "encoding" in known else replace(form, encoding=_encoding(path))
    try:
        head = list(islice(lines_of(path, form), _LINES))
    except UnicodeError:  # in an encoding that is not the file's, as its reader will say
        return form
    usual = separator_of(path, USUAL_FILE)
    marks = dict.fromkeys((usual, *_SEPARATORS)) if form.separator is None else form.separator
    fits = [fit for mark in marks if (fit := _Fit.of(head, mark)) is not None]
    if not fits:
        return form
    best = min(fits, key=lambda fit: (fit.skip, -fit.share))  # the usual one where several fit alike
    records = [fields for line in head[best.skip :] if len(fields := _split(line, best.mark)) == best.number]
    found = {
        "separator": None if best.mark == usual else best.mark,
        "skip": best.skip,
        "header": not _is_record(records),
        "footer": _footer(_last(path, form), best),
        "quoting": _quoting(head[best.skip :], best.mark, best.number, form.quote),
    }
    return replace(form, **(found | dict(known)))


@dataclass(frozen=True)
class _Fit:
    """A separator that nearly all lines are made of fields by.

    Attributes:
        mark: The separator.
        number: Fields of a line.
        skip: Lines before the first one with so many fields.
        share: Share of the lines from there on that have so many.
    """

    mark: str
    number: int
    skip: int
    share: float

    @classmethod
    def of(cls, lines: Sequence[str], mark: str) -> Self | None:
        counts = [_count(line, mark) for line in lines]
        several = [count for count in counts if count > 1]
        if not several:
            return None
        number = Counter(several).most_common(1)[0][0]
        skip = counts.index(number)
        filled = [count for count in counts[skip:] if count]
        share = filled.count(number) / len(filled)
        return cls(mark, number, skip, share) if share >= _NEARLY_ALL and skip <= _MOST_SKIPPED else None


def _encoding(path: Path) -> str:
    """UTF-8 where the whole file is that; else what a sample of it looks like."""
    from charset_normalizer import from_bytes

    decoder = codecs.getincrementaldecoder("utf-8")()
    sample, odd = b"", b""
    with bytes_of(path) as file:
        while block := file.read(_SAMPLE):
            sample = sample or block
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                odd = block
                break
        else:
            return "utf-8"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    found = from_bytes(odd).best()
    if found is None or str(found) == odd.decode("cp1252", "replace"):
        return "cp1252"  # of the encodings that read it alike the most common one
    return found.encoding


def _quoting(lines: Sequence[str], mark: str, number: int, quote: str | None) -> str:
    """Which fields have quotes around them, though they hold neither the separator nor a quote."""
    if quote is None:
        return "necessary"
    rows = [line.rstrip("\r\n").split(mark) for line in lines[1:]]
    rows = [row for row in rows if len(row) == number]  # a separator within quotes says nothing
    columns = [[cell for cell in column if cell and cell not in MISSING_TEXTS] for column in zip(*rows, strict=True)]
    quoted = [[len(cell) > 1 and cell[0] == cell[-1] == quote for cell in column] for column in columns]
    if not any(map(any, quoted)):
        return "necessary"
    if all(map(all, quoted)):
        return "always"
    plain = all(all(cells) or all(map(_is_value, column)) for column, cells in zip(columns, quoted, strict=True))
    return "non_numeric" if plain else "necessary"


def _split(line: str, mark: str) -> list[str]:
    return next(csv.reader([line], delimiter=mark), [])


def _count(line: str, mark: str) -> int:
    return len(_split(line, mark))


def _last(path: Path, form: FileFormat) -> list[str]:
    """The last lines of a file."""
    return list(deque(lines_of(path, form), 2 * _MOST_FOOTER))


def _footer(lines: Sequence[str], fit: _Fit) -> int:
    """Last lines that are no records: they have other fields, or stand behind an empty line with one that has."""
    filled = [line for line in lines if line.strip()][: -_MOST_FOOTER - 2 : -1]
    counts = [_count(line, fit.mark) for line in filled]
    footer = next((place for place, count in enumerate(counts) if count == fit.number), 0)
    if footer == 1 and not filled[0].endswith(("\n", "\r")) and counts[0] < fit.number:
        return 0  # the file was cut, as its reader will say
    _, empty, apart = "".join(lines).rstrip().replace("\r\n", "\n").rpartition("\n\n")
    behind = len(apart.splitlines())
    is_apart = empty and behind <= _MOST_FOOTER and any(count != fit.number for count in counts[:behind])
    return max(footer, behind) if is_apart else footer


def _is_record(records: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is a record: it has numbers or dates wherever all others have."""
    if len(records) < 3:
        return False
    columns = list(zip(*records[1:], strict=True))
    valued = [place for place, cells in enumerate(columns) if all(map(_is_value, cells))]
    return bool(valued) and all(_is_value(records[0][place]) and records[0][place] for place in valued)


def _is_value(cell: str) -> bool:
    return not cell or is_number(cell) or _DATED.fullmatch(cell) is not None
