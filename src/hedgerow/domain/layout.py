"""Layouts of records: the format of their file, the order of columns, and of each type, empty cells and digits.

A layout has no bearing on what records there are, on codes or on privacy; domains that differ in it alone are equal.
It is public like the domain: the types of a private table may tell what it holds (a column of whole numbers with a gap
is one of floats in pandas), so they come from a domain file that a person has read, never from the table.

Numbers in texts have marks, signs around them, groups of thousands, and forms of negative ones. A pattern is that of
spreadsheets and of Java's DecimalFormat: ``$#,##0.00`` has a sign before it, groups of three digits and two digits
after the point; ``#,##0.00;(#,##0.00)`` puts negative numbers in brackets; ``# cm`` and ``#.#%`` have a unit behind
them, which does not change the number: 12.5% is 12.5. In a pattern the point and the comma stand for the marks of the
file.

The format of a text file says how its bytes are a table. Records are written in the same format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.compute as pc

from hedgerow.domain.arrow import arrow_text
from hedgerow.domain.attribute import Attribute, Binned, IntegerRange
from hedgerow.domain.scales import Decimals
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


_PATTERN = re.compile(r"([^#0]*)([#0][#0,]*)(?:\.([#0]*))?([^#0]*)")
_BLANKS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
_APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
_LOOKS_PLAIN = r"^[-+.0-9eE]+$"
_GROUP_NAMES = ("sign", "whole", "part", "power")
_EMPTY: Any = arrow_text("")
_GROUPS = 7
"""Groups of three digits in the longest number that is written."""
_NO_NUMBER = "\N{ZERO WIDTH SPACE}"
"""What is put before a plain number that is not written as declared, so that it is none."""


@dataclass(frozen=True)
class NumberFormat:
    """The format of the numbers of a column.

    Attributes:
        prefix: Text before a number.
        suffix: Text behind it.
        negative: Texts before and behind a negative number without its sign; None for a minus before the prefix.
        decimal: The mark before the fraction.
        thousands: The mark between groups of three digits, which a cell may leave out; None where there is none.
        digits: Digits that are written after the mark at least.

    Example:
        >>> money = NumberFormat.of("$#,##0.00;($#,##0.00)")
        >>> money.plain(pa.array(["$1,234.50", "($3.00)", "7", None])).to_pylist()
        ['1234.50', '-3.00', '\u200b7', None]
        >>> money.written(pa.array(["1234.5", "-3", None])).to_pylist()
        ['$1,234.50', '($3.00)', None]
    """

    prefix: str = ""
    suffix: str = ""
    negative: tuple[str, str] | None = None
    decimal: str = "."
    thousands: str | None = None
    digits: int = 0

    @classmethod
    def of(cls, pattern: str | None, decimal: str = ".", thousands: str | None = None) -> NumberFormat:
        """The format that a pattern describes.

        Args:
            pattern: The pattern; None for numbers without signs around them.
            decimal: The mark before the fraction, in the file.
            thousands: The mark between groups of three digits, in the file.

        Raises:
            DomainError: It is no pattern.
        """
        if pattern is None:
            return cls(decimal=decimal, thousands=thousands)
        positive, _, negative = pattern.partition(";")
        parts, below = _PATTERN.fullmatch(positive), _PATTERN.fullmatch(negative) if negative else None
        if parts is None or (negative and below is None):
            raise DomainError(
                f"{pattern!r} is no pattern of a number", remedy="write it as in \"$#,##0.00\", '# cm' or '#.#%'"
            )
        if "," in parts[2] and thousands is None:
            thousands = "." if decimal == "," else ","
        return cls(
            parts[1],
            parts[4],
            None if below is None else (below[1], below[4]),
            decimal,
            thousands,
            (parts[3] or "").count("0"),
        )

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as Python writes them."""
        return self == PLAIN

    def plain(self, cells: pa.Array[Any]) -> pa.Array[Any]:
        """Cells as plain numbers; texts that are none stay, and plain ones that should be written otherwise are none.

        Args:
            cells: Texts, or a dictionary of them; others are left as they are.
        """
        if isinstance(cells, pa.DictionaryArray):
            return pa.DictionaryArray.from_arrays(cells.indices, self.plain(cells.dictionary))
        if self.is_plain or not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
            return cells
        texts: Any = cells.cast(pa.string())
        plain_looking = pc.match_substring_regex(texts, _LOOKS_PLAIN)
        left = pc.if_else(plain_looking, pc.binary_join_element_wise(_NO_NUMBER, texts, ""), texts)
        for pattern, sign in self._readings:
            found: Any = pc.extract_regex(texts, pattern)
            signs, whole, fraction, power = (pc.struct_field(found, name) for name in _GROUP_NAMES)
            for mark in self._thousands:
                whole = pc.replace_substring(whole, mark, "")
            point = pc.if_else(pc.equal(fraction, _EMPTY), "", ".")
            number = pc.binary_join_element_wise(sign or signs, whole, point, fraction, power, "")
            has_digits = pc.not_equal(pc.binary_join_element_wise(whole, fraction, ""), _EMPTY)
            left = pc.if_else(pc.fill_null(has_digits, False), number, left)
        plain: pa.Array[Any] = left
        return plain

    @property
    def _thousands(self) -> str:
        """All marks that stand between groups."""
        mark = self.thousands or ""
        return _BLANKS if mark and mark in _BLANKS else _APOSTROPHES if mark and mark in _APOSTROPHES else mark

    @cached_property
    def _readings(self) -> list[tuple[str, str]]:
        """Regular expressions of a cell, and the sign that it means."""
        mark, groups = re.escape(self.decimal), ""
        if self._thousands:
            groups = rf"[0-9]{{1,3}}(?:[{re.escape(self._thousands)}][0-9]{{3}})+|"
        number = rf"(?P<whole>{groups}[0-9]*)(?:{mark}(?P<part>[0-9]*))?(?P<power>(?:[eE][+-]?[0-9]+)?)"

        def around(before: str, behind: str, signs: str) -> str:
            first, last = re.escape(before.strip()), re.escape(behind.strip())
            return rf"^\s*(?P<sign>{signs})\s*{first}\s*{number}\s*{last}\s*$"

        found = [(around(self.prefix, self.suffix, "[-+]?"), "")]
        return found if self.negative is None else [*found, (around(*self.negative, ""), "-")]

    def written(self, numbers: pa.Array[Any]) -> pa.Array[Any]:
        """Plain numbers in this format.

        Args:
            numbers: Texts of plain decimal numbers, or nulls.
        """
        if self.is_plain:
            return numbers
        texts: Any = numbers.cast(pa.string())
        below = pc.starts_with(texts, "-")
        found: Any = pc.extract_regex(pc.utf8_ltrim(texts, "-"), r"^(?P<whole>[0-9]*)\.?(?P<part>[0-9]*)$")
        whole, fraction = pc.struct_field(found, "whole"), pc.struct_field(found, "part")
        if self.digits:
            fraction = pc.utf8_rpad(fraction, self.digits, "0")
        for _ in range(_GROUPS if self.thousands else 0):
            mark = self.thousands or ""
            whole = pc.replace_substring_regex(whole, rf"^([0-9]+)([0-9]{{3}})($|{re.escape(mark)})", rf"\1{mark}\2\3")
        point = pc.if_else(pc.equal(fraction, _EMPTY), "", self.decimal)
        number = pc.binary_join_element_wise(whole, point, fraction, "")
        minus = ("-" + self.prefix, self.suffix) if self.negative is None else self.negative
        positive = pc.binary_join_element_wise(self.prefix, number, self.suffix, "")
        shown = pc.if_else(below, pc.binary_join_element_wise(minus[0], number, minus[1], ""), positive)
        return pc.coalesce(shown, texts)


PLAIN = NumberFormat()
"""Numbers as Python writes them."""


_SPELLS_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|inf)")


@dataclass(frozen=True)
class Written:
    """The form of a column.

    Attributes:
        type: Name of its Arrow type; None for the type that follows from its values.
        null: Text of empty cells in text files; None for the text of the missing value, and for no text in columns of
            numbers.
        digits: Digits after the point of numbers in text files, more where a number with a step needs them; None for
            those of the step.
        pattern: Pattern of numbers in text files, as in ``$#,##0.00``.
        decimal: Mark before the fraction of numbers in text files, where it is not that of the file.
        thousands: Mark between groups of three digits, likewise.
        missing: Texts, and numbers as texts, that all stand for the missing value; empty where one text does.
        number: Format of numbers in text files: that of the pattern with the marks of the file.
    """

    type: str | None = None
    null: str | None = None
    digits: int | None = None
    pattern: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    number: NumberFormat = field(default=PLAIN, repr=False)

    def plain(self, cells: pa.Array[Any]) -> pa.Array[Any]:
        """Cells as the values of the domain are written: plain numbers, and nulls in place of missing ones.

        Args:
            cells: A column of a table.
        """
        return self.number.plain(_without(cells, self.missing) if self.missing else cells)


def _without(cells: pa.Array[Any], missing: tuple[str, ...]) -> pa.Array[Any]:
    """Cells without those that equal a text, or the number that it spells."""
    if isinstance(cells, pa.DictionaryArray):
        values = _without(cells.dictionary, missing)
        places: Any = cells.indices
        if values.null_count:
            valid: Any = pa.compute.is_valid(values).take(places.cast(pa.int64()))
            places = pa.compute.if_else(pa.compute.fill_null(valid, False), places, pa.scalar(None, places.type))
        return pa.DictionaryArray.from_arrays(places, cells.dictionary)
    kind = cells.type
    listed: Any = None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        listed = pa.array(missing, kind)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = [float(text) for text in missing if _SPELLS_NUMBER.fullmatch(text)]
        listed = pa.array(numbers, pa.float64())
    if listed is None or not len(listed):
        return cells
    compared: Any = cells if listed.type == kind else cells.cast(pa.float64(), safe=False)
    found: pa.Array[Any] = pa.compute.if_else(
        pa.compute.is_in(compared, value_set=listed), pa.scalar(None, kind), cells
    )
    return found


AS_USUAL = Written()
"""A column of which nothing is declared."""


@dataclass(frozen=True)
class Layout:
    """Order and form of the columns of records.

    Attributes:
        order: Names of columns that come first, in this order; the others follow.
        columns: Columns of which something is declared.
        file: Format of the text file that they are read from and written to.

    Example:
        >>> layout = Layout(("b", "a"), {"a": Written("int8")})
        >>> layout["a"].type, layout["b"].type, layout.sorted(["a", "b", "c"])
        ('int8', None, ('b', 'a', 'c'))
    """

    order: tuple[str, ...] = ()
    columns: Mapping[str, Written] = field(default_factory=dict)
    file: FileFormat = USUAL_FILE

    def __getitem__(self, name: str) -> Written:
        """The form of a column."""
        return self.columns.get(name, AS_USUAL)

    def sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of columns in the order of the layout.

        Args:
            names: The names.
        """
        places = {name: place for place, name in enumerate(self.order)}
        return tuple(sorted(names, key=lambda name: places.get(name, len(places))))

    def merged(self, other: Layout) -> Layout:
        """This layout, and the other one where this says nothing."""
        order = tuple(dict.fromkeys((*self.order, *other.order)))
        return Layout(order, {**other.columns, **self.columns}, self.file)


AS_DECLARED = Layout()
"""Columns in the order of the domain, each of its own type."""


def is_numeric(attribute: Attribute) -> bool:
    """Whether the cells of a column are numbers, which a pattern may describe.

    Example:
        >>> from hedgerow.domain.attribute import Categorical
        >>> is_numeric(IntegerRange("age", 0, 99)), is_numeric(Categorical("sex", ("F", "M")))
        (True, False)
    """
    scaled = isinstance(attribute.scale, Decimals) or attribute.scale is None
    return scaled and isinstance(attribute, IntegerRange | Binned)
