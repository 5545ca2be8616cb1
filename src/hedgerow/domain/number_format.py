"""How numbers are written in texts: marks, signs around them, groups of thousands, and negative ones.

A pattern is that of spreadsheets and of Java's DecimalFormat: ``$#,##0.00`` has a sign before it, groups of three
digits and two digits after the point; ``#,##0.00;(#,##0.00)`` puts negative numbers in brackets; ``# cm`` and ``#.#%``
have a unit behind them, which does not change the number: 12.5% is 12.5. In a pattern the point and the comma stand for
the marks of the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.domain.arrow import arrow_text
from hedgerow.errors import DomainError

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
