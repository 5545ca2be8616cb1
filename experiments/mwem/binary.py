"""Tables of binary attributes: made up in blocks, or the bits of Adult's eight attributes with coins beside them."""

from __future__ import annotations

import numpy as np

from experiments.datasets import DataSets
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Codes
from hedgerow.system import generator

RECORDS = 100_000
BLOCK = 20
_ADULT = "adult8_mwem"


def binary(count: int) -> Domain:
    """So many attributes with two codes.

    Example:
        >>> binary(3).names
        ('x0', 'x1', 'x2')
    """
    return Domain(IntegerRange(f"x{i}", 0, 1) for i in range(count))


def blocks(count: int, records: int = RECORDS, seed: int = 0) -> Table:
    """Records whose attributes follow earlier ones of their block of twenty, with some errors.

    Every attribute has a probability of its own, between 0.03 and 0.4. The first of a block is 1 with that probability;
    every other one copies an earlier one of its block, drawn at random, and every fifth is the sum of two of them
    (modulo 2), in each record wrong with that probability.

    Args:
        count: Number of attributes.
        records: Number of records.
        seed: Seed of all that is random.

    Example:
        >>> blocks(5, records=10).total()
        10
    """
    rng = generator(seed)
    columns: list[Codes] = []
    for index in range(count):
        earlier = columns[len(columns) - index % BLOCK :] if index % BLOCK else []
        column = (rng.random(records) < rng.uniform(0.03, 0.4)).astype(np.uint8)
        for parent in rng.permutation(len(earlier))[: 2 if index % 5 == 4 else 1]:
            column ^= earlier[parent]
        columns.append(column)
    return Table(binary(count), columns)


def adult_bits(data: DataSets, coins: int = 0, seed: int = 0) -> Table:
    """The eight attributes of Adult as 27 binary ones, one row for each of the 30,163 records of the file.

    A code is written in as few bits as hold all codes of its attribute, the most significant first, as in the table
    that the file was made from.

    Args:
        data: The public data sets.
        coins: Number of irrelevant attributes after them: independent fair coins.
        seed: Seed of the coins.
    """
    rows = np.loadtxt(data.folder / f"{_ADULT}.csv", dtype=np.int64, delimiter=",", skiprows=1)
    codes = np.repeat(rows[:, :-1], rows[:, -1], axis=0)
    columns: dict[str, Codes] = {}
    for attribute, column in zip(data.domain(_ADULT), codes.T, strict=True):
        length = (attribute.size - 1).bit_length()
        for place in range(length):
            columns[f"{attribute.name}.{place}"] = (column >> (length - 1 - place) & 1).astype(np.uint8)
    rng = generator(seed)
    columns |= {f"coin{i}": rng.integers(0, 2, len(codes), dtype=np.uint8) for i in range(coins)}
    return Table(Domain(IntegerRange(name, 0, 1) for name in columns), list(columns.values()))
