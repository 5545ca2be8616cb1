"""Correlations of pairs of columns, and quantiles of columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Codes, Domain
from hedgerow.evaluation.columns import Column
from hedgerow.evaluation.tables import pieces_of
from hedgerow.privacy import exact_marginals

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are compared."""


def associations(domain: Domain, codes: Sequence[Codes], pairs: Sequence[Clique]) -> Floats:
    """Cramer's V of pairs of columns, from 0 (independent) to 1 (one determines the other).

    Args:
        domain: The domain of the cells.
        codes: Codes of the records.
        pairs: The pairs.

    Returns:
        Shape ``(len(pairs),)``; 0 where a column is constant.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> associations(domain, [np.array([0, 1]), np.array([1, 0])], [("a", "b")])
        array([1.])
    """
    strengths = np.zeros(len(pairs))
    for places in pieces_of(domain, pairs):
        counted = exact_marginals(domain, codes, [pairs[place] for place in places])
        strengths[places] = [cramers_v(counts) for counts in counted]
    return strengths


def cramers_v(counts: Floats) -> float:
    """Cramer's V of a table: the root of chi squared over its largest possible value.

    Args:
        counts: Counts, of two axes.
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    least = min(table.shape) - 1
    if least < 1:
        return 0.0
    total = table.sum()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / total
    excess = float((np.square(table) / expected).sum()) / float(total) - 1.0  # chi squared over the total
    return float(np.sqrt(max(0.0, excess) / least))


def correlations(columns: Sequence[Column], table: int) -> Floats:
    """Pearson's correlations of columns of numbers, over the records in which both cells hold numbers.

    Args:
        columns: The columns.
        table: Number of the table; the real one is 0.

    Returns:
        Shape ``(len(columns), len(columns))``; NaN where a column is constant.
    """
    scaled = np.array([_standardised(column.values(table)) for column in columns])
    known = (~np.isnan(scaled)).astype(np.float64)
    scaled = np.nan_to_num(scaled)
    with np.errstate(invalid="ignore", divide="ignore"):
        both = known @ known.T
        means = scaled @ known.T / both  # of the row's column, where the other is known too
        squares = np.square(scaled) @ known.T / both - np.square(means)
        joint = scaled @ scaled.T / both - means * means.T
        known_enough = np.minimum(squares, squares.T) > 1e-12
        return np.array(np.where(known_enough, joint / np.sqrt(squares * squares.T), np.nan), dtype=np.float64)


def _standardised(values: Floats) -> Floats:
    """Numbers less their mean, over their standard deviation; NaN stays NaN."""
    known = values[~np.isnan(values)]
    if not len(known):
        return values
    standardised: Floats = (values - known.mean()) / (float(known.std()) or 1.0)
    return standardised


def quantiles(column: Column, table: int) -> Floats:
    """Quantiles of a column of numbers: the smallest number that at least the share of the numbers does not pass.

    Args:
        column: The column.
        table: Number of the table.

    Returns:
        Shape ``(len(SHARES),)``; NaN where the table has no number.
    """
    ranks = np.cumsum(column.counts(table)[: len(column.numbers)])
    if not len(ranks) or not ranks[-1]:
        return np.full(len(SHARES), np.nan)
    values: Floats = column.numbers[np.searchsorted(ranks, np.ceil(np.array(SHARES) * ranks[-1]))]
    return values


def rank_distance(column: Column, table: int) -> float:
    """Largest difference of the distribution functions of the numbers, real and synthetic (Kolmogorov and Smirnov).

    Args:
        column: The column.
        table: Number of the table.

    Returns:
        From 0 to 1; NaN where a table has no number.
    """
    sums = [np.cumsum(column.counts(number)[: len(column.numbers)]) for number in (0, table)]
    if not len(column.numbers) or not all(ranks[-1] for ranks in sums):
        return float("nan")
    return float(np.abs(sums[0] / sums[0][-1] - sums[1] / sums[1][-1]).max())
