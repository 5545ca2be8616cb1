"""Texts of a Spark table that leave the JVM as places in public lists.

Moving texts into Python is most of what a pass over a Spark table costs, and nearly all of them are texts that the
domain lets one expect. So Spark's own expressions look every cell up in a list of these, which follows from the domain
alone, and several places travel as one integer. Only a row with a cell that is on no list brings its texts along. What
the encoders are handed has the same cells as before: codes, errors and their words cannot differ.

A list is a table without collisions: a cell is compared with the one text that its hash leads to. The hash is Spark's
(Murmur3 of 32 bits); if Spark had another one, cells would be found on no list, and nothing else would change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.domain import Attribute, Binned, Categorical

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_TEXTS = 1 << 12
"""A column that may hold more texts than these travels as it is."""
MOST_COLUMNS = 32
"""So many columns are looked up: the code that Spark makes of more is too long to be compiled."""
_WORD = 63
"""Bits of an integer of Spark but its sign."""
_LARGEST_TABLE = 1 << 15
_EMPTY = "-"
_SEED = 42
_MASK = (1 << 32) - 1


@dataclass(frozen=True)
class Lookup:
    """A list of texts with a place for each, found by its hash.

    Attributes:
        texts: The text at each place; None at the places of no text.
        shift: The lowest bits of a hash that are left out.
    """

    texts: tuple[str | None, ...]
    shift: int

    @property
    def bits(self) -> int:
        """Bits of a place, or of the mark of a text that is on no list, which is the number of places."""
        return len(self.texts).bit_length()

    @cached_property
    def table(self) -> pa.Array[Any]:
        """The texts, and an empty cell at the mark."""
        return pa.array([*self.texts, None], pa.string())

    @classmethod
    def of(cls, texts: Sequence[str]) -> Lookup:
        """The smallest table without collisions; of many texts some may be left out.

        An empty cell has a place of its own, at which there is no text.

        Args:
            texts: Different texts.

        Example:
            >>> found = Lookup.of(["no", "yes"])
            >>> sorted(text for text in found.texts if text is not None), found.bits
            (['no', 'yes'], 3)
        """
        hashes = np.array([spark_hash(text) for text in texts] + [_SEED], dtype=np.int64)  # an empty cell's is the seed
        size = 1 << len(texts).bit_length()
        while True:
            for shift in range(32 - size.bit_length() + 2):
                places = (hashes >> shift) & (size - 1)
                if len(np.unique(places)) == len(places) or size >= _LARGEST_TABLE:
                    table: list[str | None] = [None] * size
                    for place, text in zip(places.tolist(), texts, strict=False):
                        table[place] = text
                    table[int(places[-1])] = None
                    return cls(tuple(table), shift)
            size *= 2


def spark_hash(text: str) -> int:
    """Spark's ``hash`` of a text, from 0 to 2**32 - 1 (Murmur3 with one step for each byte of the rest).

    Example:
        >>> spark_hash("Spark"), spark_hash("")
        (228093765, 142593372)
    """
    data = text.encode()
    whole = len(data) - len(data) % 4
    words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, whole, 4)]
    words += [byte - 256 if byte > 127 else byte for byte in data[whole:]]
    value = _SEED
    for word in words:
        mixed = _rotated((word * 0xCC9E2D51) & _MASK, 15) * 0x1B873593 & _MASK
        value = (_rotated(value ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    value ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value = (value ^ value >> shift) * factor & _MASK
    return value ^ value >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _MASK


def expected_texts(attribute: Attribute) -> list[str]:
    """Texts that cells of an attribute may be expected to be, from the attribute alone; none if there are too many.

    Example:
        >>> expected_texts(Categorical("sex", ("F", "M"), missing="?"))
        ['F', 'M', '?', '']
    """
    if isinstance(attribute, Binned) or attribute.size > MOST_TEXTS:
        return []
    texts = [*attribute.labels, ""]
    if isinstance(attribute, Categorical):
        spelling = attribute.spelling
        texts += [*attribute.codes_by_spelling, *(text for text, _ in spelling.synonyms)]
        if spelling.fold:
            texts += [form for text in texts for form in (text.lower(), text.upper(), text.capitalize(), text.title())]
    return list(dict.fromkeys(texts))


class _Field(NamedTuple):
    """The bits of a column: the integer that holds its places, and the first bit."""

    name: str
    lookup: Lookup
    word: int
    low: int


@dataclass(frozen=True)
class Listed:
    """The columns of a table, of which some travel as places in lists, several in an integer.

    Attributes:
        columns: Names of all columns, in their order.
        lookups: The list of each column that has one.
    """

    columns: tuple[str, ...]
    lookups: Mapping[str, Lookup]

    @classmethod
    def of(cls, frame: DataFrame, attributes: Sequence[Attribute | None]) -> Self:
        """Lists for the columns of texts.

        Args:
            frame: The table.
            attributes: The attribute that each of its columns is read as; None for one beside the records.
        """
        from pyspark.sql.types import StringType

        lookups = dict[str, Lookup]()
        for field, attribute in zip(frame.schema, attributes, strict=True):
            plain = field.dataType == StringType()  # texts that are equal where their bytes are
            if attribute is not None and plain and len(lookups) < MOST_COLUMNS and (texts := expected_texts(attribute)):
                lookups[field.name] = Lookup.of(texts)
        return cls(tuple(frame.columns), lookups)

    def _fields(self) -> Iterator[_Field]:
        word, low = 0, 0
        for name, lookup in self.lookups.items():
            if low + lookup.bits > _WORD:
                word, low = word + 1, 0
            yield _Field(name, lookup, word, low)
            low += lookup.bits

    @property
    def _others(self) -> list[str]:
        return [name for name in self.columns if name not in self.lookups]

    def sent(self, frame: DataFrame) -> DataFrame:
        """The columns without a list, the integers, and all listed columns of rows where one cell is on no list.

        Args:
            frame: The table.
        """
        if not self.lookups:
            return frame
        from pyspark.sql import functions as f

        columns = list(self.columns)
        hashed: list[Column] = []
        words: dict[str, Column] = {}
        marks: dict[str, int] = {}
        for name, lookup, number, low in self._fields():
            size, place, word = len(lookup.texts), f"place_{name}", f"word_{number}"
            hashed.append(f.shiftrightunsigned(f.hash(name), lookup.shift).bitwiseAND(size - 1).alias(place))
            listed = f.get(f.from_json(f.lit(json.dumps(lookup.texts)), "array<string>"), f.col(place))
            found = f.when(listed.eqNullSafe(f.col(name)), f.col(place)).otherwise(size).cast("bigint")
            shifted = f.shiftleft(found, low)
            words[word] = words[word].bitwiseOR(shifted) if word in words else shifted
            marks[word] = marks.get(word, 0) | size << low
        # In steps, which Spark joins only where nothing is evaluated twice.
        placed = frame.select(*columns, *hashed)
        packed = placed.select(*columns, *(each.alias(word) for word, each in words.items()))
        odd = f.lit(False)
        for word, mark in marks.items():
            odd |= f.col(word).bitwiseAND(f.lit(mark)) != 0
        cells = f.concat_ws(",", *(f.coalesce(f.hex(name), f.lit(_EMPTY)) for name in self.lookups))
        return packed.select(*self._others, *words, f.when(odd, cells).alias("odd"))  # a null struct costs far more

    def received(self, batch: pa.RecordBatch) -> list[pa.Array[Any]]:
        """The cells of all columns, in their order, as they were.

        Args:
            batch: Rows of what `sent` returned.
        """
        if not self.lookups:
            return batch.columns
        others = self._others
        cells = dict(zip(others, batch.columns, strict=False))
        odd: Any = batch.column(batch.num_columns - 1)
        spelled: list[list[str]] | None = None
        for i, (name, lookup, number, low) in enumerate(self._fields()):
            word = batch.column(len(others) + number).to_numpy()
            places = (word >> low) & ((1 << lookup.bits) - 1)
            found: Any = pa.DictionaryArray.from_arrays(places.astype(np.int32), lookup.table)
            unlisted = np.flatnonzero(places == len(lookup.texts))
            if unlisted.size:
                spelled = spelled or [[] if row is None else row.split(",") for row in odd.to_pylist()]
                found = _replaced(found.cast(pa.string()), unlisted, [spelled[row][i] for row in unlisted.tolist()])
            cells[name] = found
        return [cells[name] for name in self.columns]


def _replaced(cells: pa.Array[Any], rows: NDArray[np.intp], spelled: Sequence[str]) -> pa.Array[Any]:
    """Cells of which some are given by the digits of their bytes."""
    mask = np.zeros(len(cells), dtype=np.bool_)
    mask[rows] = True
    decoded = pa.array([None if each == _EMPTY else bytes.fromhex(each) for each in spelled], pa.binary())
    replaced: pa.Array[Any] = pc.replace_with_mask(cells, pa.array(mask), decoded.view(pa.string()))
    return replaced
