"""Persons with several records: who a record belongs to, which of a person's records are counted, and how often.

Of the records of a person ``at_most`` are counted, and a rule that looks at that person alone says which (theory.md
section 15): a person's records are put in the order of their codes and numbered; each number gets a pseudo-random one,
made of the person and the number; the records with the smallest of these are counted. As if drawn at random, every set
of that many records of a person is as likely as any other. The rule is public and the same for every table: no secret
is needed, and a table gives the same records wherever it lies and however its rows are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.data.reading.faults import Faulty
from hedgerow.domain import Codes, plain
from hedgerow.errors import ColumnError, PersonColumnError

Keys = NDArray[np.uint64]
"""Persons as 128 bits each, shape ``(n, 2)``: no two in 10^15 persons are alike but by a chance of 10^-9."""

_EXACT = 2.0**53
"""Up to this doubles tell whole numbers apart."""
_PURPOSE = b"hedgerow person"
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass
class Identities:
    """Reads who records belong to, batch by batch.

    Attributes:
        file: Name of the table in messages.
        column: The column.
        missing: Rows that name nobody.
        padded: Rows with blanks around a name.

    Example:
        >>> identities = Identities("t.csv", "id")
        >>> keys = identities.read(pa.array(["17", "8", "17"]), first_row=1)
        >>> bool((keys[0] == keys[2]).all()), bool((keys[0] == keys[1]).any())
        (True, False)
        >>> identities.finish()
    """

    file: str
    column: str
    missing: Faulty = field(default_factory=Faulty, init=False)
    padded: Faulty = field(default_factory=Faulty, init=False)

    def read(self, column: pa.Array[Any], first_row: int | None) -> Keys:
        """Read whom the rows of a batch belong to; rows that do not say it are noted.

        Args:
            column: Whole numbers, as doubles too, texts or bytes; a number and its digits as text are the same person.
            first_row: 1-based number of the first row of the batch; None where rows have no numbers.

        Returns:
            Shape ``(rows, 2)``.

        Raises:
            ColumnError: The column holds something else: fractions, say, which do not tell persons apart.
        """
        cells = _words(column)
        if cells is None:
            raise ColumnError(
                "it does not tell persons apart: its cells are neither whole numbers nor texts",
                file=self.file,
                column=self.column,
                remedy="give whole numbers or texts: convert the column, in a view where the table is in a database",
            )
        words: Any = pc.dictionary_encode(cells)
        values: list[bytes] = words.dictionary.to_pylist()
        bare = values if _is_binary(column.type) else [v.decode("utf-8").strip().encode("utf-8") for v in values]
        padded = np.array([*(bool(one) and one != two for one, two in zip(bare, values, strict=True)), False])
        empty = np.array([*(not each for each in bare), True])
        digests = [blake2b(value, digest_size=16, person=_PURPOSE).digest() for value in values]
        keys = np.frombuffer(b"".join([*digests, bytes(16)]), dtype="<u8").reshape(-1, 2).astype(np.uint64)
        places = words.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        self.missing.note(np.flatnonzero(empty[places]), first_row)
        self.padded.note(np.flatnonzero(padded[places]), first_row)
        keys_read: Keys = keys[places]
        return keys_read

    def add(self, other: Identities) -> None:
        """Add what was read of another part of the table, whose rows have no numbers in the whole."""
        self.missing.add(other.missing)
        self.padded.add(other.padded)

    @property
    def is_faulty(self) -> bool:
        """Whether a row did not say who it belongs to so far."""
        return bool(self.missing.n_rows or self.padded.n_rows)

    def finish(self) -> None:
        """Look at all batches.

        Raises:
            PersonColumnError: A cell is empty, or has blanks around the name of a person.
        """
        filled = "fill the cells in, or leave these rows out by a filter ('... is not null')"
        trimmed = "remove the blanks: in a view, where the table is in a database"
        for faulty, message, remedy in (
            (self.missing, "an empty cell where a person is to be named", filled),
            (self.padded, "blanks around the name of a person, who would be two without them", trimmed),
        ):
            if faulty.n_rows:
                raise PersonColumnError(
                    message, file=self.file, column=self.column, rows=faulty.rows, n_rows=faulty.n_rows, remedy=remedy
                )


def _words(column: pa.Array[Any]) -> pa.Array[Any] | None:
    """The cells as bytes: digits of whole numbers, texts in UTF-8; None if they are neither, nor bytes."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _words(pc.cast(column, kind.value_type))
    if pa.types.is_union(kind):
        return _words_of_kinds(column)
    if pa.types.is_floating(kind):
        whole = _whole(column)
        return None if whole is None else _words(whole)
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return pc.cast(pc.cast(column, pa.string()), pa.binary())
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if any(is_text(kind) for is_text in texts):
        return pc.cast(pc.cast(column, pa.large_string()), pa.large_binary())
    return pc.cast(column, pa.large_binary()) if _is_binary(kind) or pa.types.is_null(kind) else None


def _whole(column: pa.Array[Any]) -> pa.Array[Any] | None:
    """Whole numbers that are stored as doubles, where one is empty; None if one is a fraction, or not told exactly."""
    numbers = plain(column).to_numpy(zero_copy_only=False)
    empty = np.isnan(numbers)
    known = np.where(empty, 0.0, numbers)
    if (np.abs(known) > _EXACT).any() or (known != np.floor(known)).any():
        return None
    return pa.array(known.astype(np.int64), mask=empty)


def _words_of_kinds(cells: Any) -> pa.Array[Any] | None:
    """The same of cells of several types; None if those of one are none of these."""
    parts = [_words(cells.field(kind)) for kind in range(cells.type.num_fields)]
    held = [pc.cast(part, pa.large_binary()) for part in parts if part is not None]
    if len(held) < len(parts):
        return None
    starts = np.cumsum([0, *map(len, held)])
    words: pa.Array[Any] = pa.concat_arrays(held).take(pa.array(starts[cells.type_codes] + cells.offsets.to_numpy()))
    return words


def _is_binary(kind: pa.DataType) -> bool:
    return any(each(kind) for each in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary))


def bounded(keys: Keys, columns: Sequence[Codes | Ints], at_most: int) -> NDArray[np.intp]:
    """The rows that are counted: at most so many of each person, whatever the rows of others are.

    Args:
        keys: Persons whom the rows belong to, shape ``(n, 2)``.
        columns: Codes of the rows, each of shape ``(n,)``, and their weights if they have any.
        at_most: Maximum records counted per person.

    Returns:
        Their places, increasing.

    Example:
        >>> keys = np.array([[1, 1], [2, 2], [1, 1], [1, 1]], dtype=np.uint64)
        >>> rows = bounded(keys, [np.array([0, 1, 2, 3])], 2)
        >>> len(rows), 1 in rows
        (3, True)
    """
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    sizes = _sizes(keys[order])
    several = np.repeat(sizes > at_most, sizes)
    few, many = order[~several], order[several]
    many = many[np.lexsort((*[codes[many] for codes in reversed(columns)], keys[many, 1], keys[many, 0]))]
    sizes = sizes[sizes > at_most]
    numbers = _numbers(sizes)
    smallest = np.lexsort((_drawn(keys[many], numbers), np.repeat(np.arange(len(sizes)), sizes)))
    rows = np.concatenate([few, many[smallest[numbers < at_most]]])
    rows.sort()
    return rows


def windows(
    keys: Keys, columns: Sequence[Codes | Ints], order: Codes | Ints, at_most: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows that are counted where records have an order: so many in a row of each person, and the row before each.

    Of whoever has more the first of the row is drawn as if at random, by the person alone: so transitions are of
    records that follow each other, and each person has a first record. Records of a person with the same place in the
    order follow each other as if drawn too, by the person and their numbers in the order of their codes: which rows
    count, and what comes before them, depends on the person's records alone.

    Args:
        keys: Persons whom the rows belong to, shape ``(n, 2)``.
        columns: Codes of the rows, each of shape ``(n,)``.
        order: The column by which records of one person are ordered.
        at_most: Maximum records counted per person.

    Returns:
        Their places, increasing; and for each the place of the row before it, -1 for the first that counts.

    Example:
        >>> keys = np.array([[1, 1], [2, 2], [1, 1], [1, 1]], dtype=np.uint64)
        >>> windows(keys, [], np.array([5, 0, 3, 9]), 3)
        (array([0, 1, 2, 3]), array([ 2, -1, -1,  0]))
        >>> [len(part) for part in windows(keys, [], np.array([5, 0, 3, 9]), 2)]
        [3, 3]
    """
    ordered = np.lexsort((*reversed(columns), keys[:, 1], keys[:, 0]))
    sizes = _sizes(keys[ordered])
    numbers = _numbers(sizes)
    persons = np.repeat(np.arange(len(sizes)), sizes)
    drawn = _drawn(keys[ordered], numbers)
    rows = ordered[np.lexsort((_mixed(drawn + _GOLDEN), order[ordered], persons))]
    spare = np.maximum(sizes - at_most, 0).astype(np.uint64)
    starts = (_mixed(drawn[numbers == 0] + _GOLDEN + _GOLDEN) % (spare + np.uint64(1))).astype(np.intp)
    places = numbers - starts[persons]
    before = np.where(places == 0, -1, np.concatenate([[-1], rows[:-1]])[: len(rows)])
    counted = (places >= 0) & (places < at_most)
    found = np.argsort(rows[counted], kind="stable")
    return rows[counted][found], before[counted][found]


def _numbers(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Numbers of the records in runs of these lengths, from 0 on in each."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _sizes(ordered: Keys) -> NDArray[np.intp]:
    """Lengths of the runs of equal rows."""
    changes = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
    return np.diff(np.concatenate([[0], changes, [len(ordered)]])) if len(ordered) else np.empty(0, dtype=np.intp)


def _drawn(keys: Keys, numbers: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Pseudo-random numbers of persons and of the numbers of their records: SplitMix64, twice."""
    return _mixed(_mixed(keys[:, 0] + numbers.astype(np.uint64) * _GOLDEN) ^ keys[:, 1])


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
