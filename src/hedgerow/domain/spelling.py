"""Spellings: public rules by which differently written labels are one value.

A cell is brought to its normal form, and so are the labels of the domain; cells and labels that agree there are the
same value. Only one cell and the domain file decide, so what is read of a record depends on that record alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hedgerow.errors import DomainError

Form = Literal["NFC", "NFKC"]
FORMS: tuple[Form, ...] = get_args(Form)
"""Normal forms of Unicode: of the same characters (NFC), or of characters that look alike too (NFKC)."""


@dataclass(frozen=True, init=False)
class Spelling:
    """Rules by which the text of a cell is read as a label.

    Attributes:
        trim: Whether blanks around a text are left out.
        fold: Whether capital and small letters are the same.
        unicode: Normal form of Unicode that texts are brought to; None to take them as they are.
        synonyms: Texts that stand for labels, each with its label.

    Example:
        >>> Spelling(trim=True, fold=True).normal(" Male ")
        'male'
    """

    trim: bool
    fold: bool
    unicode: Form | None
    synonyms: tuple[tuple[str, str], ...]

    def __init__(
        self,
        *,
        trim: bool = False,
        fold: bool = False,
        unicode: Form | None = None,
        synonyms: Mapping[str, str] | None = None,
    ) -> None:
        """Check the normal form.

        Args:
            trim: Whether blanks around a text are left out.
            fold: Whether capital and small letters are the same.
            unicode: Normal form of Unicode, "NFC" or "NFKC".
            synonyms: The label of each text that stands for one.

        Raises:
            DomainError: The normal form is none of these.
        """
        if unicode is not None and unicode not in FORMS:
            raise DomainError(f"{unicode!r} is no normal form of Unicode", remedy="write 'unicode: NFC', or NFKC")
        object.__setattr__(self, "trim", trim)
        object.__setattr__(self, "fold", fold)
        object.__setattr__(self, "unicode", unicode)
        object.__setattr__(self, "synonyms", tuple((synonyms or {}).items()))

    def normal(self, text: str) -> str:
        r"""The normal form of a text; synonyms are not replaced.

        Example:
            >>> Spelling(fold=True, unicode="NFC").normal("A\u0308rztin") == Spelling(fold=True).normal("ärztin")
            True
        """
        spelled = text if self.unicode is None else unicodedata.normalize(self.unicode, text)
        if self.fold:
            spelled = spelled.casefold()
            spelled = spelled if self.unicode is None else unicodedata.normalize(self.unicode, spelled)
        return spelled.strip() if self.trim else spelled

    def codes(self, labels: Mapping[str, int]) -> dict[str, int]:
        """The code of each normal form that stands for a label, synonyms among them.

        Args:
            labels: The code of each label.

        Raises:
            DomainError: Two labels or synonyms are read alike, or a synonym stands for no label.

        Example:
            >>> Spelling(fold=True, synonyms={"M": "Male"}).codes({"Female": 0, "Male": 1})
            {'female': 0, 'male': 1, 'm': 1}
        """
        code_of: dict[str, int] = {}
        first: dict[str, str] = {}
        written = {self.normal(label): code for label, code in labels.items()}
        for text, label in [*((label, label) for label in labels), *self.synonyms]:
            code, key = labels.get(label, written.get(self.normal(label))), self.normal(text)
            if code is None:
                raise DomainError(
                    f"the synonym {text!r} stands for {label!r}, which is not listed",
                    remedy="list that value, or declare it as the missing or the other value",
                )
            if key in code_of:
                raise DomainError(
                    f"{first[key]!r} and {text!r} are read alike"
                    if first[key] != text
                    else f"{text!r} is a synonym and a value",
                    remedy="list one of them, or leave 'trim', 'case' or 'unicode' out",
                )
            code_of[key], first[key] = code, text
        return code_of

    def in_words(self) -> str:
        """The rules in words; empty where texts are taken as they are.

        Example:
            >>> Spelling(trim=True, fold=True, synonyms={"m": "male"}).in_words()
            'trimmed, case folded, 1 synonym'
        """
        rules = ["trimmed"] if self.trim else []
        rules += ["case folded"] if self.fold else []
        rules += [self.unicode] if self.unicode else []
        number = len(self.synonyms)
        return ", ".join([*rules, *([f"{number:,} synonym{'s' if number > 1 else ''}"] if number else [])])


AS_WRITTEN = Spelling()
"""Texts are taken as they are."""
