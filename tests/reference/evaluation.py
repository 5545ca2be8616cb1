"""Measures of synthetic records, one record and one cell at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Rows = Sequence[tuple[object, ...]]


def total_variation(real: Rows, synthetic: Rows, columns: Sequence[int]) -> float:
    """Half of the sum of absolute differences of shares."""
    one, two = (Counter(tuple(row[place] for place in columns) for row in rows) for rows in (real, synthetic))
    return sum(abs(one[cell] / len(real) - two[cell] / len(synthetic)) for cell in one | two) / 2.0


def k_marginal(real: Rows, synthetic: Rows, order: int) -> float:
    """1000 minus 500 times the mean L1 distance over all tables of so many columns."""
    tables = list(combinations(range(len(real[0])), order))
    return 1000.0 - 500.0 * sum(2.0 * total_variation(real, synthetic, each) for each in tables) / len(tables)


def cramers_v(rows: Rows, one: int, other: int) -> float:
    """By the definition of chi squared."""
    both = Counter((row[one], row[other]) for row in rows)
    first, second = Counter(row[one] for row in rows), Counter(row[other] for row in rows)
    chi = sum(
        (both[a, b] - first[a] * second[b] / len(rows)) ** 2 / (first[a] * second[b] / len(rows))
        for a in first
        for b in second
    )
    least = min(len(first), len(second)) - 1
    return math.sqrt(chi / len(rows) / least) if least else 0.0


def pearson(pairs: Sequence[tuple[float, float]]) -> float:
    """Over the pairs of which both are numbers."""
    held = [(a, b) for a, b in pairs if not math.isnan(a) and not math.isnan(b)]
    means = [sum(column) / len(held) for column in zip(*held, strict=True)]
    joint = sum((a - means[0]) * (b - means[1]) for a, b in held)
    first, second = (sum((pair[place] - means[place]) ** 2 for pair in held) for place in (0, 1))
    return joint / math.sqrt(first * second) if first * second > 0 else math.nan


def kolmogorov(one: Sequence[float], other: Sequence[float]) -> float:
    """Largest difference of two distribution functions."""
    return max(
        abs(sum(x <= at for x in one) / len(one) - sum(x <= at for x in other) / len(other)) for at in (*one, *other)
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least the share of the values does not pass."""
    return min(at for at in values if sum(value <= at for value in values) >= share * len(values))


def auc(chances: Sequence[float], held: Sequence[bool]) -> float:
    """Share of pairs in the right order, ties as half."""
    yes = [chance for chance, is_held in zip(chances, held, strict=True) if is_held]
    no = [chance for chance, is_held in zip(chances, held, strict=True) if not is_held]
    return sum((a > b) + (a == b) / 2 for a in yes for b in no) / (len(yes) * len(no))
