"""Numbers among other signs: the pattern and the marks that the texts of a column are written with, for a draft."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.data.kinds import digits_of
from hedgerow.domain import NumberFormat

_BLANK = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
_APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
_NUMBER = rf"[0-9](?:[0-9.,{_APOSTROPHES}{_BLANK}]*[0-9])?|[.,][0-9]+"
_SIGNED = re.compile(rf"([-+]?)([^0-9.,()+-]*)({_NUMBER})([^0-9()]*)")
_BELOW = re.compile(rf"(\([^0-9.,()+-]*)({_NUMBER})([^0-9()]*\))|([^0-9.,()+-]*)({_NUMBER})([^0-9()-]*-)")
"""Negative numbers in brackets, or with the minus behind them."""
_UNIT = re.compile(rf"[{_BLANK}]?(?:[%‰°]|°[CF]|(?:cm|mm|km|m|kg|mg|g|lbs?|ml|l|min|h|s|m²|m2|EUR|USD|GBP|CHF)\.?)")
_SPACED_UNIT = re.compile(rf"[{_BLANK}][^\W\d_][^\d,;\s]{{0,5}}")
_NEARLY_ALL = 0.9
"""Share of the distinct texts that are written in one way."""
_LEAST = 3
"""Distinct texts that show a way of writing."""


@dataclass(frozen=True)
class WrittenNumbers:
    """A way in which numbers are written.

    Attributes:
        pattern: The pattern; None where there are no signs around them and no groups.
        decimal: The mark before the fraction; None where no text has one.
        thousands: The mark between groups, where it is not the usual one beside that mark.
    """

    pattern: str | None
    decimal: str | None
    thousands: str | None

    def format(self, decimal: str = ".") -> NumberFormat:
        """The format, where the file has a mark of its own."""
        return NumberFormat.of(self.pattern, self.decimal or decimal, self.thousands)

    def options(self, decimal: str) -> dict[str, Any]:
        """Options of a column in a file with a mark of its own."""
        own = {"decimal": self.decimal} if self.decimal not in (None, decimal) else {}
        marks = own | ({"thousands": self.thousands} if self.thousands else {})
        return ({"pattern": self.pattern} if self.pattern else {}) | marks


def written_numbers(texts: Iterable[str]) -> WrittenNumbers | None:
    """The way in which numbers are written; None where most texts are none, or are plain.

    Args:
        texts: Distinct texts of a column.

    Example:
        >>> written_numbers(["$1,234.50", "$7.25", "($3.00)"])
        WrittenNumbers(pattern='$#,##0.00;($#,##0.00)', decimal='.', thousands=None)
        >>> written_numbers(["170 cm", "181 cm", "165 cm"]).pattern, written_numbers(["1.5", "2", "3"])
        ('0 cm', None)
    """
    listed = list(texts)
    negative = [
        (match[1], match[2], match[3]) if match[2] else (match[4], match[5], match[6])
        for text in listed
        if (match := _BELOW.fullmatch(text.strip()))
    ]
    others = (text.strip() for text in listed if not _BELOW.fullmatch(text.strip()))
    positive = [match for text in others if (match := _SIGNED.fullmatch(text))]
    if len(positive) + len(negative) < max(_LEAST, _NEARLY_ALL * len(listed)) or not positive:
        return None
    (prefix, suffix), _ = Counter((match[2], match[4]) for match in positive).most_common(1)[0]
    alike = [match for match in positive if (match[2].strip(), match[4].strip()) == (prefix.strip(), suffix.strip())]
    if len(alike) < _NEARLY_ALL * len(positive) or not _is_sign(prefix, suffix):
        return None
    inner = [match[3] for match in alike]
    marks = _marks([*inner, *(number for _, number, _ in negative)])
    if marks is None:
        return None
    decimal, thousands = marks
    digits = [_digits(text, decimal) for text in inner]
    least, most = min(digits), max(digits)
    whole = "#,##0" if thousands else "0"
    number = whole + ("." + "0" * least + "#" * (most - least) if most else "")
    below = Counter((before, behind) for before, _, behind in negative).most_common(1)
    signs = f";{below[0][0][0]}{number}{below[0][0][1]}" if below else ""
    plain = not (prefix or suffix or thousands or signs)
    if plain and decimal != ",":
        return None
    decimal = "," if decimal is None and thousands == "." else decimal
    usual = "." if decimal == "," else ","
    found = WrittenNumbers(
        None if plain else f"{prefix}{number}{suffix}{signs}",
        decimal,
        None if thousands in (None, usual) else thousands,
    )
    return found if _reads(found, listed) else None


def _is_sign(prefix: str, suffix: str) -> bool:
    """Whether texts around numbers are a currency, a unit or a percent sign, and no part of a code."""
    before, behind = prefix.strip(), suffix.strip()
    currency = {text for text in (before, behind) if text and all(unicodedata.category(sign) == "Sc" for sign in text)}
    first = not before or before in currency or re.fullmatch(rf"[A-Z]{{3}}[{_BLANK}]", prefix) is not None
    last = not behind or behind in currency or _UNIT.fullmatch(suffix) or _SPACED_UNIT.fullmatch(suffix)
    return first and bool(last)


def _marks(numbers: Sequence[str]) -> tuple[str | None, str | None] | None:
    """The mark before fractions, and the one between groups; None where the texts disagree."""
    signs = {sign for text in numbers for sign in text if not sign.isdecimal()}
    blanks = signs & set(_BLANK + _APOSTROPHES)
    points = signs & set(".,")
    if len(blanks) > 1 or (blanks and len(points) > 1):
        return None
    if blanks:
        return next(iter(points), None), next(iter(blanks))
    if len(points) < 2:
        mark = next(iter(points), None)
        grouped = mark is not None and all(
            re.fullmatch(rf"[0-9]{{1,3}}(?:{re.escape(mark)}[0-9]{{3}})*", text) for text in numbers if mark in text
        )
        repeated = mark is not None and any(text.count(mark) > 1 for text in numbers)
        if (mark == "," and grouped) or (mark == "." and repeated):
            return None, mark
        return mark, None
    last = Counter(max(text.rfind("."), text.rfind(",")) == text.rfind(",") for text in numbers if {*".,"} <= {*text})
    if not last:  # each text has one of the two: that of groups stands before three digits everywhere
        commas = [text for text in numbers if "," in text]
        grouped = all(re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+", text) for text in commas)
        return (".", ",") if grouped else (",", ".")
    comma = last.most_common(1)[0][0]
    return (",", ".") if comma else (".", ",")


def _digits(number: str, decimal: str | None) -> int:
    if decimal is None or decimal not in number:
        return 0
    return digits_of("0." + number.rpartition(decimal)[2]) or 0


def _reads(found: WrittenNumbers, texts: Sequence[str]) -> bool:
    """Whether the format reads nearly all texts as numbers."""
    import pyarrow as pa

    plain = found.format().plain(pa.array(texts)).to_pylist()
    numbers = sum(digits_of(text) is not None for text in plain if text)
    return numbers >= _NEARLY_ALL * len(texts)
