"""Tables that are split into a private and a public part, with a known degree of bias.

A table is split by one column, which is then left out. The private table is half of the records on one side. The public
one has as many records, as far as there are so many: the other half of that side ("none"), a third of them from the
other side ("mild"), all from the other side ("strong"), that half with every code mirrored ("mirrored": certain, and
wrong), or codes that are drawn at random ("noise").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from benchmarks.regret.tables import MAKERS, Half, half_of
from hedgerow import Domain, PublicData, Table
from hedgerow.arrays import Bools, Ints

Bias = Literal["none", "mild", "strong", "mirrored", "noise"]
BIASES: tuple[Bias, ...] = get_args(Bias)

_MILD = 1.0 / 3.0


@dataclass(frozen=True)
class Split:
    """A table and the way it is split.

    Attributes:
        table: Name of the table in `benchmarks.regret`.
        column: The column that it is split by.
        is_private: Function that says which codes of the column are on the private side.
        task: Text of the workload.
    """

    table: str
    column: str
    is_private: Callable[[Ints], Bools]
    task: str

    @property
    def half(self) -> Half:
        """Whether anything was tuned to the table."""
        return half_of(self.table)


SPLITS: dict[str, Split] = {
    "adult by sex": Split("adult", "sex", lambda codes: codes == 1, "marginals:2"),
    "nltcs by a disability": Split("nltcs", "outside", lambda codes: codes == 0, "marginals:3"),
    "acs by age": Split("acs", "AGEP", lambda codes: codes >= 40, "marginals:2"),
    "acs by region": Split("acs", "PUMA", lambda codes: codes % 2 == 0, "marginals:2"),
}
"""Splits by name."""


def parts_of(name: str, bias: Bias, seed: int) -> tuple[Table, PublicData]:
    """The private and the public part of a split.

    Args:
        name: Name of the split.
        bias: Degree of the bias of the public part.
        seed: Seed of the halves, and of what is drawn.
    """
    columns, side, domain = _sides(name)
    rng = np.random.default_rng([seed, 17])
    inside, outside = rng.permutation(np.flatnonzero(side)), rng.permutation(np.flatnonzero(~side))
    half = len(inside) // 2
    private = Table(domain, [column[inside[:half]] for column in columns])
    if bias == "noise":
        return private, _public(domain, [rng.integers(size, size=half) for size in domain.shape])
    share = {"mild": _MILD, "strong": 1.0}.get(bias, 0.0)
    others = outside[: round(share * half)]
    rows = np.concatenate([others, inside[half : half + round((1.0 - share) * half)]])
    public = [column[rows] for column in columns]
    if bias == "mirrored":
        public = [size - 1 - column.astype(np.int64) for size, column in zip(domain.shape, public, strict=True)]
    return private, _public(domain, public)


def _public(domain: Domain, columns: list[Ints]) -> PublicData:
    table = Table(domain, columns)
    return PublicData(table, table.total())


@lru_cache(maxsize=1)
def _sides(name: str) -> tuple[list[Ints], Bools, Domain]:
    """All columns but the one that the table is split by, the private side, and the domain of what is left."""
    split = SPLITS[name]
    table = MAKERS[split.table]()
    weights = np.ones(table.total(), dtype=np.int64) if table.weights is None else table.weights
    codes = {each: np.repeat(column, weights) for each, column in zip(table.domain.names, table.columns, strict=True)}
    side = split.is_private(codes.pop(split.column))
    return list(codes.values()), side, table.domain.project(codes)
