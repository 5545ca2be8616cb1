"""The tables of the grid, in pairs: one for tuning, the other only reported.

The two tables of a pair try the same thing. The bytes of SHA-256 of the pair's name decide which of them is for tuning,
except where constants of the product were fitted to one of them before this grid stood: then that one is. So no table
can be moved after its errors were seen; a new pair gets a name before it is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.acs import without_rules
from hedgerow import Domain, IntegerRange, Table, read_domain, read_table
from hedgerow.arrays import Floats, Ints

Half = Literal["tuning", "reported"]
Shape = Literal["dense", "sparse", "spiky"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FITTED = {"nltcs", "adult", "adult-hours"}
"""Tables that constants were fitted to, or chosen with an eye on, before the grid stood."""

_SPIKE = 0.9
"""Share of the records on one value of a spiky distribution."""


# Distributions


def weights(size: int, shape: Shape, rng: np.random.Generator) -> Floats:
    """A distribution over some values: all alike within a factor of a few, a few of them occupied, or one of them most.

    Example:
        >>> weights(100, "spiky", np.random.default_rng(0)).max() > 0.9
        True
    """
    if shape == "sparse":
        occupied = rng.permutation(size)[: max(1, size // 10)]
        found = np.zeros(size)
        found[occupied] = 1.0 / np.arange(1, len(occupied) + 1)
        return np.asarray(found / found.sum())
    even = rng.dirichlet(np.full(size, 2.0))
    if shape == "dense":
        return even
    found = (1.0 - _SPIKE) * even
    found[rng.integers(size)] += _SPIKE
    return found


def _domain(sizes: Sequence[int]) -> Domain:
    return Domain(IntegerRange(f"c{place}", 0, size - 1) for place, size in enumerate(sizes))


def tree(n: int, sizes: Sequence[int], shape: Shape, seed: int) -> Table:
    """Columns that follow one earlier column each: two thirds of the records by a table of their own, the rest not."""
    rng = np.random.default_rng(seed)
    columns: list[Ints] = []
    for place, size in enumerate(sizes):
        alone = rng.choice(size, n, p=weights(size, shape, rng))
        if place:
            parent = int(rng.integers(max(0, place - 3), place))
            rows = np.cumsum([weights(size, "spiky", rng) for _ in range(sizes[parent])], axis=1)[columns[parent]]
            follows = np.minimum((rng.random(n)[:, None] > rows).sum(axis=1), size - 1)
            alone = np.where(rng.random(n) < 2.0 / 3.0, follows, alone)
        columns.append(alone)
    return Table(_domain(sizes), columns)


def mixture(n: int, sizes: Sequence[int], shape: Shape, seed: int, groups: int = 6) -> Table:
    """Groups of records, each with columns that are independent within it."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n, p=rng.dirichlet(np.full(groups, 2.0)))
    columns = []
    for size in sizes:
        ends = np.cumsum([weights(size, shape, rng) for _ in range(groups)], axis=1)
        places, column = rng.random(n), np.zeros(n, dtype=np.int64)
        for each in range(groups):
            here = group == each
            column[here] = np.minimum(np.searchsorted(ends[each], places[here]), size - 1)
        columns.append(column)
    return Table(_domain(sizes), columns)


def line(n: int, size: int, shape: Shape | Literal["smooth"], seed: int) -> Table:
    """One column; "smooth" is bells."""
    rng = np.random.default_rng(seed)
    if shape == "smooth":
        middles, widths = rng.uniform(0.1, 0.9, (3, 1)), rng.uniform(0.02, 0.15, (3, 1))
        heights = np.exp(-(((np.arange(size) / size - middles) / widths) ** 2) / 2.0).sum(axis=0)
        share = heights / heights.sum()
    else:
        share = weights(size, shape, rng)
    return Table(_domain([size]), [rng.choice(size, n, p=share)])


def plane(n: int, sizes: tuple[int, int], towns: int, width: float, seed: int) -> Table:
    """Two columns: towns of records, and a tenth of the records anywhere."""
    rng = np.random.default_rng(seed)
    town = rng.choice(towns, n, p=rng.dirichlet(np.ones(towns)))
    at = rng.uniform(0.1, 0.9, (towns, 2))[town] + width * rng.normal(size=(n, 2))
    at = np.where(rng.random(n)[:, None] < 0.1, rng.random((n, 2)), at)
    codes = np.clip((at * sizes).astype(np.int64), 0, np.array(sizes) - 1)
    return Table(_domain(sizes), list(codes.T))


def _adult(columns: Sequence[str] | None = None) -> Table:
    data = EXAMPLES / "data"
    return read_table(data / "adult.csv", data / "adult14.domain.yaml", columns=columns, extra_columns="ignore")


def _acs(columns: Sequence[str] | None = None) -> Table:
    domain = without_rules(read_domain(EXAMPLES / "acs" / "acs.domain.yaml"))
    chosen = domain if columns is None else Domain(domain[name] for name in columns)
    return read_table(EXAMPLES / "acs" / "ma2019.csv", chosen, extra_columns="ignore")


def _counted(name: str) -> Table:
    data = EXAMPLES / "data"
    return read_table(data / f"{name}.csv", data / f"{name}.domain.json", count_column="count")


Maker = Callable[[], Table]

PAIRS: dict[str, dict[str, Maker]] = {
    "few records": {
        "small6": partial(tree, 500, (2, 3, 4, 5, 6, 8), "dense", 1),
        "small8": partial(tree, 500, (2, 2, 2, 2, 3, 4, 10, 16), "spiky", 2),
    },
    "contingency tables": {"czech": partial(_counted, "czech"), "rochdale": partial(_counted, "rochdale")},
    "bits": {"nltcs": partial(_counted, "nltcs"), "bits18": partial(mixture, 20_000, (2,) * 18, "dense", 3)},
    "surveys": {"adult": _adult, "acs": _acs},
    "columns": {
        "columns12": partial(mixture, 50_000, (2, 2, 3, 4, 5, 6, 8, 8, 12, 16, 24, 32), "dense", 4),
        "columns20": partial(tree, 100_000, (4,) * 20, "sparse", 5),
    },
    "wide tables": {
        "wide100": partial(tree, 50_000, (2,) * 100, "dense", 6),
        "wide69": partial(mixture, 10_000, (2,) * 69, "dense", 7),
    },
    "many records": {
        "million8": partial(mixture, 1_000_000, (2, 4, 8, 8, 16, 16, 32, 64), "spiky", 8),
        "million5": partial(mixture, 1_000_000, (2, 8, 32, 64, 256), "sparse", 9),
    },
    "whole histograms": {
        "joint12": partial(tree, 20_000, (2,) * 12, "dense", 10),
        "joint4": partial(mixture, 100_000, (8,) * 4, "sparse", 11),
    },
    "dense lines": {
        "dense4096": partial(line, 50_000, 4_096, "dense", 12),
        "dense1000": partial(line, 5_000, 1_000, "dense", 13),
    },
    "smooth lines": {
        "smooth4096": partial(line, 1_000_000, 4_096, "smooth", 14),
        "smooth500": partial(line, 2_000, 500, "smooth", 15),
    },
    "sparse lines": {
        "sparse4096": partial(line, 20_000, 4_096, "sparse", 16),
        "sparse2000": partial(line, 200_000, 2_000, "sparse", 17),
    },
    "spiky lines": {
        "spiky4096": partial(line, 50_000, 4_096, "spiky", 18),
        "spiky1500": partial(line, 10_000, 1_500, "spiky", 19),
    },
    "planes": {
        "towns100": partial(plane, 50_000, (100, 100), 12, 0.05, 20),
        "towns256": partial(plane, 500_000, (256, 64), 60, 0.01, 21),
    },
    "survey planes": {
        "adult-hours": partial(_adult, ("age", "hours-per-week")),
        "acs-poverty": partial(_acs, ("AGEP", "POVPIP")),
    },
}
"""Tables by pair and name."""

MAKERS: dict[str, Maker] = {name: make for pair in PAIRS.values() for name, make in pair.items()}


def half_of(name: str) -> Half:
    """The half that a table belongs to.

    Example:
        >>> half_of("adult"), half_of("acs")
        ('tuning', 'reported')
    """
    pair, tables = next((pair, list(tables)) for pair, tables in PAIRS.items() if name in tables)
    fitted = [each for each in tables if each in FITTED]
    chosen = fitted[0] if fitted else tables[hashlib.sha256(pair.encode()).digest()[0] % len(tables)]
    return "tuning" if name == chosen else "reported"


@lru_cache(maxsize=1)
def table_of(name: str) -> Table:
    """The records; the last table is kept."""
    return MAKERS[name]()
