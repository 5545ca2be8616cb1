"""Layouts of records: the format of their file, the order of columns, and of each type, empty cells and digits.

A layout has no bearing on what records there are, on codes or on privacy; domains that differ in it alone are equal.
It is public like the domain: the types of a private table may tell what it holds (a column of whole numbers with a gap
is one of floats in pandas), so they come from a domain file that a person has read, never from the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute

from hedgerow.domain.attribute import Attribute, Binned, IntegerRange
from hedgerow.domain.file_format import USUAL_FILE, FileFormat
from hedgerow.domain.number_format import PLAIN, NumberFormat
from hedgerow.domain.scales import Decimals

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
