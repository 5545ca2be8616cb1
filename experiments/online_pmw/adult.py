"""Six attributes of Adult with as many records as an experiment asks for, and random conditions about them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from experiments.datasets import DataSets
from hedgerow.arrays import Ints
from hedgerow.data import Table
from hedgerow.domain import Domain
from hedgerow.privacy import exact_answers
from hedgerow.queries import Conjunction, Workload
from hedgerow.system import generator

COLUMNS = ("education", "marital-status", "occupation", "relationship", "race", "sex")
"""100,800 cells, of which 5,625 hold a record."""
RECORDS = 48_842
MOST_ATTRIBUTES = 3
"""Attributes of a random condition, at most."""


@lru_cache(maxsize=2)
def _counts(data: DataSets) -> tuple[Domain, Ints]:
    table = data.table("adult", COLUMNS)
    exact = exact_answers(table, Workload.marginals(table.domain, len(COLUMNS)))
    return table.domain, np.rint(exact).astype(np.int64)


def adult(data: DataSets, records: int, seed: int) -> Table:
    """Adult with so many records: a random part without replacement, or every record so many times.

    Only cells that hold a record are kept, each with its number of records as weight.

    Args:
        data: The data sets.
        records: At most 48,842, or a multiple of it.
        seed: Seed of the random part.

    Raises:
        ValueError: It is more than 48,842 and no multiple of it.

    Example:
        >>> from experiments.datasets import find_data
        >>> adult(find_data(), 20 * RECORDS, seed=0).total()
        976840
    """
    domain, counts = _counts(data)
    if records < RECORDS:
        counts = generator(seed).multivariate_hypergeometric(counts, records, method="marginals")
    elif records % RECORDS:
        message = f"{records} is no multiple of {RECORDS}"
        raise ValueError(message)
    held = np.flatnonzero(counts)
    weights = counts[held] * max(1, records // RECORDS)
    return Table(domain, np.unravel_index(held, domain.shape), weights)


def random_codes(size: int, draw: np.random.Generator) -> list[int]:
    """Half of the time one code, else each code with probability one half, and at least one.

    Example:
        >>> codes = random_codes(5, generator(0))
        >>> 1 <= len(codes) <= 5
        True
    """
    several = np.flatnonzero(draw.random(size) < 0.5).tolist() if draw.random() < 0.5 else []
    return several or [int(draw.integers(size))]


def random_condition(domain: Domain, draw: np.random.Generator) -> Conjunction:
    """A condition on one to three random attributes.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 4) for name in "abcde")
        >>> 1 <= len(random_condition(domain, generator(0)).scope) <= MOST_ATTRIBUTES
        True
    """
    names = draw.permutation(list(domain.names))[: draw.integers(1, MOST_ATTRIBUTES + 1)].tolist()
    return Conjunction.where(domain, {name: random_codes(domain[name].size, draw) for name in names})
