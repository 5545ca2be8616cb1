"""The format of a text file: how its bytes are a table, and how its numbers are written.

Public, and declared in a domain file like the types of columns (``layout.py``): codes, models and privacy do not depend
on it. Records are written in the same format.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from hedgerow.errors import DomainError

_UTF8 = ("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii")
_MARKS = (".", ",", "'", " ", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{RIGHT SINGLE QUOTATION MARK}")

QUOTING = ("necessary", "non_numeric", "always")
"""Which fields have quotes around them."""


@dataclass(frozen=True)
class FileFormat:
    """The format of a text file or a workbook.

    Attributes:
        separator: The character between two fields; None for that of the file's ending.
        quote: The character around a field that holds separators or line breaks; None where there is none.
        quoting: Which fields records are written with quotes around: ``necessary``, where a reader needs them;
            ``non_numeric``, also all labels and names of columns, as R does; or ``always``.
        decimal: The mark before the fraction of a number.
        thousands: The mark between groups of three digits; None where there is none.
        encoding: Name of the encoding, as Python knows it.
        skip: Lines before the header, or before the first record where there is no header.
        header: Whether the first line names the columns; if not, these are ``c1``, ``c2``, ...
        comment: Lines that begin with this text are left out; None where there are none.
        footer: Last lines that are no records.
        sheet: Name of the sheet of a workbook; None for the first.

    Raises:
        DomainError: Two signs are the same, a sign is not one character, a number is below 0, or the encoding is
            unknown.

    Example:
        >>> FileFormat(separator=";", decimal=",", thousands=".").entry
        {'separator': ';', 'decimal': ',', 'thousands': '.'}
    """

    separator: str | None = None
    quote: str | None = '"'
    quoting: str = "necessary"
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    skip: int = 0
    header: bool = True
    comment: str | None = None
    footer: int = 0
    sheet: str | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on a file."""
        signs = {"separator": self.separator, "quote": self.quote}
        for name, sign in signs.items():
            if sign is not None and (len(sign) != 1 or sign in "\r\n"):
                raise _wrong(name, f"{sign!r} is not one character", f"write '{name}: \";\"'")
        if self.quoting not in QUOTING or (self.quote is None and self.quoting != QUOTING[0]):
            problem = f"{self.quoting!r} with the quote {self.quote!r}"
            raise _wrong("quoting", problem, f"give one of {', '.join(QUOTING)}, and a quote")
        if self.decimal not in ".,":
            raise _wrong("decimal", f"{self.decimal!r} is neither a point nor a comma", "write 'decimal: \",\"'")
        if self.thousands is not None and self.thousands not in _MARKS:
            raise _wrong(
                "thousands", f"{self.thousands!r} is no such mark", "give a point, a comma, a blank or an apostrophe"
            )
        if self.thousands == self.decimal:
            raise _wrong("thousands", f"it is the decimal mark {self.decimal!r} too", "give two marks that differ")
        for name, count in (("skip", self.skip), ("footer", self.footer)):
            if count < 0:
                raise _wrong(name, f"{count} lines", "give a whole number from 0 on")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise _wrong(
                "encoding", f"{self.encoding!r} is unknown", "name one as Python does, as in utf-8, cp1252 or utf-16"
            ) from None

    @property
    def is_utf8(self) -> bool:
        """Whether it is UTF-8, or a part of it."""
        return self.encoding.lower() in _UTF8

    @property
    def entry(self) -> dict[str, Any]:
        """What differs from a usual file, as a domain file says it."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}


USUAL_FILE = FileFormat()
"""UTF-8 with a header, the separator of the file's ending, and numbers with a point."""


def _wrong(option: str, problem: str, remedy: str) -> DomainError:
    return DomainError(f"{option!r} under 'format': {problem}", remedy=remedy)
