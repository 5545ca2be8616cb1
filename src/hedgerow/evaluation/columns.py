"""Columns of several tables side by side, whoever wrote them: 1, 1.0 and "1" are one value, and so are empty cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import (
    Attribute,
    Calendar,
    Categorical,
    Decimals,
    Moments,
    Scale,
    UnsupportedTypeError,
    encoder,
    plain,
    value_text,
)
from hedgerow.errors import ColumnError

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MOST_TEXTS = 5
"""A column of numbers may hold so many different texts, such as "N" or "top"."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of several tables: places in a list of distinct values, numbers first, then texts, then "missing".

    Attributes:
        name: Name of the column.
        numbers: Distinct numbers, increasing.
        texts: Distinct texts.
        places: Places of the cells, one array for each table, the real one first.
        numeric: Whether its numbers are quantities, and not labels.
        scale: Scale of dates or times that the numbers count steps of.
        attribute: The attribute that a domain declares.

    Example:
        >>> column = joined("a", [pa.chunked_array([["1", "x", ""]]), pa.chunked_array([[1.0, 2.0]])])
        >>> column.numbers.tolist(), column.texts, [places.tolist() for places in column.places]
        ([1.0, 2.0], ('x',), [[0, 2, 3], [0, 1]])
    """

    name: str
    numbers: Floats
    texts: tuple[str, ...]
    places: tuple[Ints, ...]
    numeric: bool
    scale: Scale | None = None
    attribute: Attribute | None = None

    @property
    def missing(self) -> int:
        """Place of the missing value."""
        return len(self.numbers) + len(self.texts)

    def counts(self, table: int) -> Ints:
        """Number of cells at each place, in one of the tables."""
        return np.bincount(self.places[table], minlength=self.missing + 1)

    def text(self, number: float) -> str:
        """A number as it is shown."""
        return value_text(float(f"{number:.6g}")) if self.scale is None else self.scale.text(round(number))

    def values(self, table: int) -> Floats:
        """Numbers of the cells of a table; NaN where a cell holds none."""
        beyond = np.full(len(self.texts) + 1, np.nan)
        return np.concatenate([self.numbers, beyond])[self.places[table]]


def joined(
    name: str, columns: Sequence[pa.ChunkedArray[Any]], attribute: Attribute | None = None, few: int = 20
) -> Column:
    """Columns of several tables as one list of values, and places in it.

    Without an attribute, a column holds quantities where the real table has more than so many distinct numbers and next
    to no texts; dates and times in ISO form are numbers. Where two texts of the real table spell one number ("01" and
    "1"), or whole numbers are too large for floats, all are texts.

    Args:
        name: Name of the column.
        columns: Its cells in each table, the real one first.
        attribute: The attribute that says which cells are alike, and which hold numbers.
        few: Number of distinct numbers that are still labels.

    Raises:
        ColumnError: A column holds neither texts nor numbers.
    """
    try:
        distinct = [_distinct(column) for column in columns]
        values = [of_table for of_table, _ in distinct]
        if attribute is None:
            scale = _scale_of(values[0])
        else:  # decimals are the numbers themselves
            scale = None if isinstance(attribute.scale, Decimals) else attribute.scale
        cells = [_cells(value, attribute, scale) for value in values]
    except (UnsupportedTypeError, pa.ArrowNotImplementedError) as error:
        message = f"its Arrow type holds neither texts nor numbers: {error}"
        raise ColumnError(message, column=name, remedy="leave it out, or write it as text") from error
    known = cells[0][0][~np.isnan(cells[0][0])]
    exact = pa.types.is_string(values[0].type) or pa.types.is_integer(values[0].type)
    if attribute is None and exact and len(np.unique(known)) < len(known):
        cells = [_as_texts(value) for value in values]
    numbers = np.unique(np.concatenate([of_table[~np.isnan(of_table)] for of_table, _ in cells]))
    texts = sorted({text for _, of_table in cells for text in of_table if text is not None})
    at = {text: len(numbers) + place for place, text in enumerate(texts)}
    missing = len(numbers) + len(texts)
    places = []
    for (number_of, text_of), (_, indices) in zip(cells, distinct, strict=True):
        of_value = np.array([missing if text is None else at[text] for text in text_of], dtype=np.int64)
        is_number = ~np.isnan(number_of)
        of_value[is_number] = np.searchsorted(numbers, number_of[is_number])
        places.append(np.append(of_value, missing)[indices])
    if attribute is None:
        real, labels = cells[0]
        n_numbers = len(np.unique(real[~np.isnan(real)]))
        numeric = n_numbers > few and len({label for label in labels if label is not None}) <= _MOST_TEXTS
    else:
        numeric = not isinstance(attribute, Categorical) and attribute.ordinary > 2
    return Column(name, numbers, tuple(texts), tuple(places), numeric, scale, attribute)


def record_keys(columns: Sequence[Column]) -> list[Ints]:
    """One number for each record, the same for equal records of all tables.

    Args:
        columns: The columns of all tables.

    Returns:
        The numbers of the records of each table.

    Example:
        >>> column = joined("a", [pa.chunked_array([["x", "y"]]), pa.chunked_array([["x", "z"]])])
        >>> [keys.tolist() for keys in record_keys([column])]
        [[0, 1], [0, 2]]
    """
    ends = np.cumsum([len(places) for places in columns[0].places])[:-1]
    keys = np.zeros(ends[-1] + len(columns[0].places[-1]), dtype=np.int64)
    span = 1
    for column in columns:
        size = column.missing + 1
        if span * size > 2**62:
            _, numbers = np.unique(keys, return_inverse=True)
            keys = numbers.reshape(-1).astype(np.int64)
            span = int(keys.max()) + 1
        keys = keys * size + np.concatenate(column.places)
        span *= size
    return np.split(keys, ends)


def _distinct(column: pa.ChunkedArray[Any]) -> tuple[pa.Array[Any], Ints]:
    """Distinct cells, and the index of each cell among them; one beyond the last where it is empty."""
    coded: Any = column.combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], type=coded.type)
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    indices = coded.indices.cast(pa.int64()).fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return coded.dictionary, indices


def _cells(values: pa.Array[Any], attribute: Attribute | None, scale: Scale | None) -> tuple[Floats, list[str | None]]:
    """Numbers of distinct cells, NaN where they are none, and the texts of the others; neither is "missing"."""
    if isinstance(attribute, Categorical):
        return np.full(len(values), np.nan), _labels(attribute, values)
    if scale is not None:
        texts = [None if cell is None else str(cell) for cell in values.cast(pa.string()).to_pylist()]
        positions = [None if text is None else scale.position(text) for text in texts]
        numbers = np.array([np.nan if place is None else float(place) for place in positions])
    else:
        numbers, texts = _spelled(plain(values))
    missing = {None, "", None if attribute is None else attribute.missing}
    labels = [
        None if known or text in missing else text
        for text, known in zip(texts, (~np.isnan(numbers)).tolist(), strict=True)
    ]
    return numbers, labels


def _labels(attribute: Categorical, values: pa.Array[Any]) -> list[str | None]:
    """Labels of the domain; the cell itself where it has none."""
    codes = encoder(attribute).codes(values).tolist()
    texts = _as_texts(values)[1]
    return [
        None if code == attribute.missing_code else text if code < 0 else attribute.label(code)
        for code, text in zip(codes, texts, strict=True)
    ]


def _spelled(values: pa.Array[Any]) -> tuple[Floats, list[str | None]]:
    if not pa.types.is_string(values.type):
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
        return numbers, [None] * len(values)
    spells = np.array(pc.match_substring_regex(values, _NUMBER).fill_null(False), dtype=np.bool_)
    numbers = np.full(len(values), np.nan)
    chosen: Any = values.filter(pa.array(spells))
    unsigned: Any = pc.replace_substring_regex(chosen, r"^\+", "")
    numbers[spells] = unsigned.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers, values.to_pylist()


def _as_texts(values: pa.Array[Any]) -> tuple[Floats, list[str | None]]:
    """All cells as texts."""
    cells = plain(values).to_pylist()
    texts = [None if cell is None or cell != cell or cell == "" else value_text(cell) for cell in cells]  # noqa: PLR0124
    return np.full(len(values), np.nan), texts


def _scale_of(values: pa.Array[Any]) -> Scale | None:
    """The scale of ISO dates or times that all texts of the real table are on."""
    kind = values.type
    if not (pa.types.is_string(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return None
    texts = [text for text in values.cast(pa.string()).to_pylist() if text]
    for scale in (Calendar(), Moments(1)):
        if texts and all((place := scale.position(text)) is not None and place.denominator == 1 for text in texts):
            return scale
    return None
