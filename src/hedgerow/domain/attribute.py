"""Attributes: the values that one column may hold, and their codes.

Every attribute turns its values into codes ``0 .. size - 1``: the ordinary values in their declared order, then the
"missing" value if one is declared, then the "other" value if one is declared. Turning columns of data into codes is in
``encoding.py``.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain.scales import Scale
from hedgerow.domain.spelling import AS_WRITTEN, Spelling
from hedgerow.errors import DomainError

Value = str | int | float | bool

MOST_BINS = 1_000_000
"""Largest number of bins, as edges are held one by one."""


def value_text(value: Value) -> str:
    """The text that identifies a value: that of the integer for whole numbers, however they are stored.

    Example:
        >>> [value_text(value) for value in (1, 1.0, 0.5, True, "1")]
        ['1', '1', '0.5', 'True', '1']
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


_WHOLE = re.compile(r"(-?)(0|[1-9][0-9]*)\.0+")
_TRUTHS = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}


def canonical_text(text: str) -> str:
    """The text of a value that other programs spell otherwise: a whole number with a fraction of zeros, a truth value.

    Example:
        >>> [canonical_text(text) for text in ("3.0", "-0.0", "3.5", "007.0", "true")]
        ['3', '0', '3.5', '007.0', 'True']
    """
    match = _WHOLE.fullmatch(text)
    if match is None:
        return _TRUTHS.get(text, text)
    return match[2] if match[2] == "0" else match[1] + match[2]


def codes_by_text(attribute: Attribute) -> dict[str, int]:
    """The code of each text that identifies a value, the missing and the other value among them.

    Example:
        >>> codes_by_text(Categorical("dose", (1.0, 0.5), missing="?"))
        {'1': 0, '0.5': 1, '1.0': 0, '?': 2}
    """
    values = attribute.values if isinstance(attribute, Categorical) else ()
    codes = {value_text(value): code for code, value in enumerate(values)}
    return codes | {label: code for code, label in enumerate(attribute.labels)}


def attribute_error(name: str, problem: str, remedy: str) -> DomainError:
    """An error that begins with the name of the attribute.

    Example:
        >>> attribute_error("age", "min 9 is above max 1", "give the smaller bound as min").message
        "attribute 'age': min 9 is above max 1"
    """
    return DomainError(f"attribute {name!r}: {problem}", remedy=remedy)


def number_text(number: int, scale: Scale | None) -> str:
    """The text of a whole number, on a scale if there is one.

    Example:
        >>> from hedgerow.domain.scales import Calendar
        >>> number_text(31, None), number_text(31, Calendar())
        ('31', '1970-02-01')
    """
    return str(number) if scale is None else scale.text(number)


def scale_noun(scale: Scale | None, without: str = "number") -> str:
    """The word for a cell on a scale, or for a number.

    Example:
        >>> from hedgerow.domain.scales import Calendar
        >>> scale_noun(None), scale_noun(Calendar())
        ('number', 'date')
    """
    return without if scale is None else scale.noun.split()[0]


def closed(starts: Sequence[float], last: float) -> list[float]:
    """Edges of bins of whole numbers that begin at given ones, the last of them holding its upper edge too.

    Args:
        starts: The smallest number of each bin, increasing.
        last: The largest number of the last bin. If it is its only one, half a number is added to the edge.

    Example:
        >>> closed([0, 1, 50], 99), closed([0, 1, 99], 99)
        ([0, 1, 50, 99], [0, 1, 99, 99.5])
    """
    return [*starts, last + 0.5 if starts and starts[-1] == last else last]


@dataclass(frozen=True)
class Attribute(ABC):
    """One column of the domain.

    Attributes:
        name: Column name.
        missing: Text of the declared "missing" value, or None. Empty cells and this text get its code.
        other: Text of the declared "other" value, or None. Values that the attribute does not list get
            its code.
        scale: Scale that the cells of numbers are written on; None for the numbers themselves, and listed values.
    """

    name: str
    missing: str | None = field(default=None, kw_only=True)
    other: str | None = field(default=None, kw_only=True)
    scale: Scale | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check what all columns have."""
        if not self.name:
            raise DomainError("an attribute needs a name", remedy="name it as its column in the data")
        if self.missing is not None and self.missing == self.other:
            raise attribute_error(
                self.name, f"the missing and the other value are both {self.missing!r}", "give them different texts"
            )
        if self.size < 2:
            raise DomainError(
                f"attribute {self.name!r} has {self.size} value{'s' if self.size != 1 else ''}; at least 2 are needed",
                remedy="leave the column out (it is the same for all records) or list all values it could take",
            )

    def _check_texts(self, low: float, high: float) -> None:
        """Refuse a text of the missing or the other value that is also an ordinary number."""
        for text in filter(None, (self.missing, self.other)):
            number: float | Fraction | None = None
            if self.scale is not None:
                number = self.scale.position(text)
            else:
                with suppress(ValueError):
                    number = float(text)
            if number is not None and low <= number <= high:
                noun = scale_noun(self.scale)
                raise attribute_error(
                    self.name,
                    f"{text!r} is the text of a declared value and a {noun} of its range",
                    f"give the missing and the other value texts that are no ordinary {noun}s, such as '?'",
                )

    @property
    @abstractmethod
    def ordinary(self) -> int:
        """Number of codes without the missing and the other value; these are in their natural order."""

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.ordinary + (self.missing is not None) + (self.other is not None)

    @property
    def missing_code(self) -> int | None:
        """Code of the missing value, if declared."""
        return None if self.missing is None else self.ordinary

    @property
    def other_code(self) -> int | None:
        """Code of the other value, if declared."""
        return None if self.other is None else self.size - 1

    @abstractmethod
    def ordinary_label(self, code: int) -> str:
        """Text of an ordinary code."""

    def label(self, code: int) -> str:
        """Text of a code, as shown in tables and plots.

        Args:
            code: ``0 <= code < size``.
        """
        if not 0 <= code < self.size:
            raise DomainError(f"attribute {self.name!r} has no code {code}; its codes are 0 to {self.size - 1}")
        if code == self.missing_code:
            return str(self.missing)
        if code == self.other_code:
            return str(self.other)
        return self.ordinary_label(code)

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts of all codes, in order."""
        return tuple(self.label(code) for code in range(self.size))


@dataclass(frozen=True)
class Categorical(Attribute):
    """A column of listed values, in their declared order.

    Example:
        >>> Categorical("sex", ("Female", "Male"), missing="?").labels
        ('Female', 'Male', '?')
    """

    values: tuple[Value, ...]
    spelling: Spelling
    learnt: bool

    def __init__(
        self,
        name: str,
        values: Iterable[Value],
        *,
        spelling: Spelling = AS_WRITTEN,
        learnt: bool = False,
        missing: str | None = None,
        other: str | None = None,
    ) -> None:
        """Check that the values differ, also as text.

        Args:
            name: Column name.
            values: Ordinary values: texts, whole numbers, numbers or booleans.
            spelling: Rules by which cells that are written differently are the same value.
            learnt: Whether the values were learnt from private data, under a budget, and are public by that alone.
            missing: Text of the missing value. If it is also among the values it is moved out of them.
            other: Text of the other value, likewise.

        Raises:
            DomainError: A value is there twice or read as another, or fewer than two codes are left.
        """
        kept = tuple(value for value in values if str(value) not in (missing, other))
        for value in kept:
            if not isinstance(value, str | int | float | bool):
                raise attribute_error(
                    name, f"the value {value!r} is neither text nor a number", "quote it in the domain file"
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise DomainError(f"attribute {name!r} lists {value}", remedy="declare 'missing: true' for it")
        texts = [value_text(value) for value in kept]
        repeated = sorted({text for text in texts if texts.count(text) > 1}) if len(set(texts)) < len(texts) else []
        if repeated:
            raise DomainError(f"attribute {name!r} lists {repeated[0]!r} more than once", remedy="list each value once")
        object.__setattr__(self, "values", kept)
        object.__setattr__(self, "spelling", spelling)
        object.__setattr__(self, "learnt", learnt)
        super().__init__(name, missing=missing, other=other)
        try:
            _ = self.codes_by_spelling if spelling != AS_WRITTEN else None
        except DomainError as error:
            raise attribute_error(name, error.message, error.remedy or "") from error

    @property
    def codes_by_spelling(self) -> dict[str, int]:
        """The code of each normal form of a text that stands for a value, the missing and the other one among them."""
        codes = {value_text(value): code for code, value in enumerate(self.values)}
        declared = {self.missing: self.missing_code, self.other: self.other_code}
        return self.spelling.codes(codes | {text: code for text, code in declared.items() if text and code is not None})

    @property
    def ordinary(self) -> int:
        """Number of listed values."""
        return len(self.values)

    def ordinary_label(self, code: int) -> str:
        """The value as text."""
        return str(self.values[code])


@dataclass(frozen=True)
class IntegerRange(Attribute):
    """A column of whole numbers between two public bounds, one code per number.

    Where a scale is set the cells are dates, times or decimals, and the bounds count its steps.

    Attributes:
        minimum: Smallest number, inclusive.
        maximum: Largest number, inclusive.

    Example:
        >>> IntegerRange("age", 17, 90).size
        74
        >>> from hedgerow.domain.scales import Calendar
        >>> IntegerRange("admitted", 18262, 18263, scale=Calendar()).labels
        ('2020-01-01', '2020-01-02')
    """

    minimum: int
    maximum: int

    def __post_init__(self) -> None:
        """Check the bounds.

        Raises:
            DomainError: The bounds are not whole numbers in order.
        """
        for bound in (self.minimum, self.maximum):
            if isinstance(bound, bool) or not isinstance(bound, int):
                remedy = "give whole numbers, or 'edges' or 'bins' for a numeric column"
                raise attribute_error(self.name, f"the bound {bound!r} is not a whole number", remedy)
        if self.minimum > self.maximum:
            message = f"min {self.minimum} is above max {self.maximum}"
            raise attribute_error(self.name, message, "give the smaller bound as min")
        super().__post_init__()
        self._check_texts(self.minimum, self.maximum)

    @property
    def ordinary(self) -> int:
        """Number of whole numbers between the bounds."""
        return self.maximum - self.minimum + 1

    @property
    def first_text(self) -> str:
        """Text of the smallest number."""
        return self.ordinary_label(0)

    @property
    def last_text(self) -> str:
        """Text of the largest number."""
        return self.ordinary_label(self.ordinary - 1)

    def ordinary_label(self, code: int) -> str:
        """The number as text, on its scale."""
        return number_text(self.minimum + code, self.scale)


@dataclass(frozen=True)
class Binned(Attribute):
    """A column of numbers, cut at public bin edges.

    Bin ``i`` holds ``edges[i] <= x < edges[i + 1]``; the last bin holds its upper edge too. Where ``whole`` is
    set the column holds whole numbers, and synthetic values are drawn from the whole numbers of their bin. Where a
    scale is set the cells are dates, times or decimals, and the edges count its steps. Edges that are ``learnt`` were
    released under a budget.

    Example:
        >>> Binned("hours", (0, 20, 40, 100)).labels
        ('[0, 20)', '[20, 40)', '[40, 100]')
    """

    edges: tuple[float, ...]
    whole: bool
    learnt: bool

    def __init__(
        self,
        name: str,
        edges: Iterable[float],
        *,
        whole: bool = False,
        scale: Scale | None = None,
        missing: str | None = None,
        other: str | None = None,
        learnt: bool = False,
    ) -> None:
        """Check the edges.

        Args:
            name: Column name.
            edges: Finite, strictly increasing, at least two.
            whole: Whether the column holds whole numbers only; so it does on a scale.
            scale: Scale that its cells are written on; None for the numbers themselves.
            missing: Text of the missing value.
            other: Text of the other value: numbers outside the edges and texts get its code.
            learnt: Whether the edges were learnt from private data, under a budget, and are public by that alone.

        Raises:
            DomainError: The edges are not finite and increasing, or a bin of a whole-number column holds none.
        """
        cut = tuple(float(edge) for edge in edges)
        if any(not math.isfinite(edge) for edge in cut) or any(a >= b for a, b in pairwise(cut)):
            raise attribute_error(name, "bin edges must be finite and strictly increasing", "sort the edges")
        object.__setattr__(self, "edges", cut)
        object.__setattr__(self, "whole", whole or scale is not None)
        object.__setattr__(self, "learnt", learnt)
        super().__init__(name, missing=missing, other=other, scale=scale)
        if self.whole and self.ordinary:
            least, most = np.ceil(cut[:-1]), np.ceil(cut[1:]) - 1
            most[-1] = math.floor(cut[-1])
            if (least > most).any():
                label = self.ordinary_label(int(np.argmax(least > most)))
                raise attribute_error(name, f"the bin {label} holds no whole number", "widen the bin")
        self._check_texts(cut[0], cut[-1])

    @classmethod
    def equal_width(
        cls,
        name: str,
        minimum: float,
        maximum: float,
        bins: int,
        *,
        whole: bool = False,
        scale: Scale | None = None,
        missing: str | None = None,
        other: str | None = None,
    ) -> Binned:
        """Cut ``[minimum, maximum]`` into ``bins`` bins of equal width.

        Bins of whole numbers have whole edges, and hold equally many numbers or one more.

        Example:
            >>> Binned.equal_width("children", 0, 10, 3, whole=True).labels
            ('[0, 3)', '[3, 7)', '[7, 10]')
        """
        if bins < 1 or not minimum < maximum:
            raise attribute_error(
                name, f"{bins} bins between {minimum} and {maximum}", "give min < max and a positive number of bins"
            )
        if bins > MOST_BINS:
            raise attribute_error(name, f"{bins:,} bins are more than {MOST_BINS:,}", "give fewer bins, or a range")
        if whole or scale is not None:
            low, values = math.ceil(minimum), math.floor(maximum) - math.ceil(minimum) + 1
            if bins > values:
                raise attribute_error(name, f"{bins} bins of {values} whole values", "give fewer bins")
            edges = closed([low + values * i // bins for i in range(bins)], math.floor(maximum))
        else:
            edges = [minimum + (maximum - minimum) * i / bins for i in range(bins)] + [maximum]
        return cls(name, edges, whole=whole, scale=scale, missing=missing, other=other)

    @property
    def ordinary(self) -> int:
        """Number of bins."""
        return max(0, len(self.edges) - 1)

    def whole_bounds(self, code: int) -> tuple[int, int]:
        """Smallest and largest whole number of a bin."""
        last = code == self.ordinary - 1
        high = math.floor(self.edges[code + 1]) if last else math.ceil(self.edges[code + 1]) - 1
        return math.ceil(self.edges[code]), high

    def ordinary_label(self, code: int) -> str:
        """The bin as an interval; of a bin of one number after the last edge, that number."""
        low, high = self.edges[code : code + 2]
        if self.whole and not high.is_integer() and (low, low) == self.whole_bounds(code):
            return self.edge_text(code)
        close = "]" if code == self.ordinary - 1 else ")"
        return f"[{self.edge_text(code)}, {self.edge_text(code + 1)}{close}"

    @property
    def first_text(self) -> str:
        """Text of the first edge."""
        return self.edge_text(0)

    @property
    def last_text(self) -> str:
        """Text of the last edge; of whole numbers, the largest."""
        if self.whole and self.scale is None:
            return str(self.whole_bounds(self.ordinary - 1)[1])
        return self.edge_text(self.ordinary)

    def edge_text(self, place: int) -> str:
        """The text of an edge, on its scale."""
        edge = self.edges[place]
        return f"{edge:.12g}" if self.scale is None else self.scale.text(math.floor(edge))


Ordered = IntegerRange | Binned
"""Attributes whose codes are numbers, or bins of numbers."""


def ends_of(attribute: Ordered) -> tuple[Floats, Floats]:
    """Smallest and largest number of each ordinary code, in steps of its scale if it has one.

    Example:
        >>> [ends.tolist() for ends in ends_of(Binned("hours", [0, 20, 40, 99], whole=True))]
        [[0.0, 20.0, 40.0], [19.0, 39.0, 99.0]]
    """
    if isinstance(attribute, IntegerRange):
        each = attribute.minimum + np.arange(attribute.ordinary, dtype=np.float64)
        return each, each
    if attribute.whole:
        bounds = [attribute.whole_bounds(code) for code in range(attribute.ordinary)]
        low, high = np.array(bounds, dtype=np.float64).T
        return low, high
    return np.array(attribute.edges[:-1]), np.array(attribute.edges[1:])
