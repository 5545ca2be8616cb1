"""One pass over a table: the codes of every batch, and at its end an error if a cell fits none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hedgerow.attribute import Attribute, IntegerRange
from hedgerow.data.encoding import Codes, UnsupportedTypeError, encoder
from hedgerow.data.faults import FaultLog
from hedgerow.data.readers import Reader
from hedgerow.data.weights import Weights
from hedgerow.domain import Domain
from hedgerow.errors import ColumnError, UnreadableTableError


@final
@dataclass(frozen=True)
class Coding:
    """How the columns of a table become codes; public.

    Attributes:
        domain: The columns that are read, in order.
        count_column: Column that says how many records a row stands for.
        coded: The table holds codes already, in place of values.
        show_values: Let errors show offending values.
    """

    domain: Domain
    count_column: str | None = None
    coded: bool = False
    show_values: bool = False

    @property
    def attributes(self) -> dict[str, Attribute]:
        """What the cells of every column may be."""
        if self.coded:
            return {each.name: IntegerRange(each.name, 0, each.size - 1) for each in self.domain}
        return {each.name: each for each in self.domain}


def encoded(reader: Reader, coding: Coding) -> Iterator[tuple[list[Codes], NDArray[np.int64] | None]]:
    """Codes of all columns and counts of the rows, batch by batch; cells that fit no code are told at the end.

    From the first batch on that holds such a cell none is handed over, but all are looked at.

    Args:
        reader: The table.
        coding: How it is read.

    Raises:
        DataError: The kinds that ``read_table`` names.
    """
    attributes = coding.attributes
    encoders = {name: encoder(attribute) for name, attribute in attributes.items()}
    weights = None if coding.count_column is None else Weights(reader.file, coding.count_column)
    faults = FaultLog(reader.file, show_values=coding.show_values)
    count_column = [] if weights is None else [weights.column]
    repetitive = [name for name, column_encoder in encoders.items() if column_encoder.prefers_dictionary]
    row = 1
    for batch in reader.batches([*encoders, *count_column], repetitive):
        found: list[Codes] = []
        for name, column_encoder in encoders.items():
            column = batch.column(name)
            try:
                codes = column_encoder.codes(column)
            except UnsupportedTypeError as error:
                raise _unsupported(reader.file, name, error) from error
            faults.check(name, codes, column, row, column_encoder.codes)
            found.append(codes.astype(column_encoder.dtype))
        counts = None if weights is None else weights.read(batch.column(weights.column), row)
        row += batch.num_rows
        if not faults and not (weights is not None and weights.is_faulty):
            yield found, counts
    if row == 1:
        raise UnreadableTableError("the table has no rows", file=reader.file, remedy="check how it was made")
    faults.raise_any(attributes)
    if weights is not None:
        weights.finish()


def _unsupported(file: str, name: str, error: UnsupportedTypeError) -> ColumnError:
    return ColumnError(
        f"its type {error} holds neither texts nor numbers",
        file=file,
        column=name,
        remedy="convert it, or leave it out",
    )
