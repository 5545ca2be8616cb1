"""Scores of candidates as exact binary fractions, so that their sensitivity holds exactly, not up to rounding.

The score of candidate k is ``multiplier_k * (error_k - offset_k)`` with ``multiplier_k`` about ``weight_k / l1_k``:
errors of all kinds of candidates are brought to the same unit, counts per unit of sensitivity ("equal units").

In floating point each of these operations could round differently on neighbouring tables. Here none rounds:

1. The answers of the hypothesis, and the offsets, are public; they are rounded to multiples of 2^-10 first. Exact
   answers are multiples of 1 or 2^-20 and at most 2^31 (`exact_answers`). Differences and sums of their absolute
   values are then exact in 53 bits.
2. ``error_k`` is rounded *down* to a multiple of 2^-10. If x <= y + d, and d is a multiple of 2^-10, then
   floor(x) <= floor(y + d) = floor(y) + d: so the sensitivity l1_k, rounded *up* to a multiple of 2^-10, still holds.
   (For whole-valued queries l1_k is 1 or 2, and errors are multiples of 2^-10 already: nothing is rounded.)
3. ``multiplier_k`` is ``weight_k / l1_k`` rounded down to 10 significant bits (exact for weights 1, 1/2, ... and l1
   1, 2, ...). The error minus the offset is below 2^33 with 10 bits behind the point, hence the product has at most
   53 bits: exact.
4. So one record moves score k by at most ``multiplier_k * l1_k``, exactly, and Delta is the largest of these among
   the eligible. The unit is what one record can change, also where neighbours differ in a person with m records: l1_k
   is then m times as large, and so is Delta, which the ledger shows.

**Small databases** (theory.md section 8) are scored by how badly each answers its worst query. The score of database y
is ``-max over q of |q(B) - answer_q(y)|`` in counts, for single queries. One record moves each absolute error by at
most the query's L1 sensitivity (triangle inequality), hence the maximum by at most the largest of these: ``max e_q <=
max (e'_q + l1_q) <= max e'_q + max l1_q``. The public answers are multiples of 2^-10, so that differences are exact;
the maximum is rounded down to such a multiple, and the sensitivity up (points 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy.exact.lattice import LARGEST_MASS
from hedgerow.privacy.randomness import pieces
from hedgerow.queries import Neighbours, Workload

GRID = 2.0**-10
"""Counts: public answers, offsets and errors are multiples of it."""

_SMALLEST_WEIGHT = 2.0**-500
_BLOCK = 2**20
"""Differences of answers of databases that are held at once."""


def grid_sensitivity(l1: Floats | float) -> Floats:
    """Sensitivities of values that are rounded to the grid: rounded up to it, and never 0 (point 2 above).

    Args:
        l1: Sensitivities of the exact values, in counts.

    Example:
        >>> grid_sensitivity(np.array([1.0, 0.3, 0.0])).tolist()
        [1.0, 0.3007..., 0.0009...]
    """
    return np.asarray(np.maximum(np.ceil(np.asarray(l1) / GRID), 1.0) * GRID)


@dataclass(frozen=True, eq=False)
class EqualUnits:
    """Public part of the scores: what one count of error is worth for each candidate.

    Attributes:
        multipliers: Units of score per count of error, shape ``(n_candidates,)``; 10 significant bits each.
        sensitivities: Sensitivity of each score, exact, shape ``(n_candidates,)``: about the weight of the candidate,
            times the number of records that a person counts for.
    """

    multipliers: Floats
    sensitivities: Floats

    @classmethod
    def of(cls, workload: Workload, neighbours: Neighbours, *, weighted: bool = True) -> EqualUnits:
        """From the workload's weights and L1 sensitivities.

        Args:
            workload: The workload.
            neighbours: The neighbouring relation.
            weighted: Whether the weights count; else all are 1.

        Raises:
            ConfigError: A weight is extremely small.
        """
        single, l1 = (grid_sensitivity(workload.sensitivities(each)) for each in (neighbours.single, neighbours))
        weights = workload.candidate_weights if weighted else np.ones(workload.n_candidates)
        if not (weights >= _SMALLEST_WEIGHT).all():
            raise ConfigError("the weights of a workload are too small", remedy="give weights near 1")
        multipliers = _ten_bits(weights / single)
        return cls(multipliers, multipliers * l1)

    @cached_property
    def _common(self) -> float | None:
        return common(self.sensitivities)

    @property
    def unit(self) -> float | None:
        """Counts per unit of score, if that is the same for all candidates."""
        shared = common(self.multipliers)
        return None if shared is None else 1.0 / shared

    def largest(self, candidates: NDArray[np.intp]) -> float:
        """The largest sensitivity of the scores of some candidates.

        Args:
            candidates: Their numbers, at least one.

        Example:
            >>> EqualUnits(np.ones(3), np.array([1.0, 2.0, 0.5])).largest(np.array([0, 2]))
            1.0
        """
        return float(self.sensitivities[candidates].max()) if self._common is None else self._common


@dataclass(frozen=True, eq=False)
class EqualWidths:
    """Public part of signed scores: what one count of error is worth where all queries are scaled to width 1.

    The score of query k is ``multiplier_k * (q_k(B) - answer_k)`` with the difference rounded down to the grid, as in
    points 1 to 4 above; its negative is the score of the complement.

    Attributes:
        multipliers: About ``1 / width_k``, shape ``(n_queries,)``; 10 significant bits each.
        sensitivities: Sensitivity of each score, exact, shape ``(n_queries,)``.
    """

    multipliers: Floats
    sensitivities: Floats

    @classmethod
    def of(cls, workload: Workload, neighbours: Neighbours) -> EqualWidths:
        """From the ranges and L1 sensitivities of the queries.

        Raises:
            QueryError: A candidate is a whole marginal, or a query is constant.
        """
        if workload.n_candidates != workload.n_queries:
            raise QueryError("draws are of single queries, not of whole marginals", remedy="use workload.by_query()")
        l1 = grid_sensitivity(workload.sensitivities(neighbours))
        lows, highs = workload.limits
        widths = highs - lows
        if not (widths > 0.0).all():
            raise QueryError("a query has the same value everywhere", remedy="leave it out: its answer is known")
        multipliers = _ten_bits(1.0 / widths)
        return cls(multipliers, multipliers * l1)


def common(numbers: Floats) -> float | None:
    """The one value of all numbers; None if they differ.

    Example:
        >>> common(np.array([2.0, 2.0])), common(np.array([1.0, 2.0]))
        (2.0, None)
    """
    first = float(numbers[0])
    return first if (numbers == first).all() else None


def eligible_places(workload: Workload, eligible: Bools | None) -> NDArray[np.intp]:
    """Numbers of the eligible candidates.

    Args:
        workload: The workload.
        eligible: Public mask, shape ``(n_candidates,)``; None for all.

    Raises:
        QueryError: The mask is of another shape, or no candidate is eligible.
    """
    if eligible is None:
        return np.arange(workload.n_candidates)
    mask = np.asarray(eligible, dtype=np.bool_)
    if mask.shape != (workload.n_candidates,):
        raise QueryError(f"the mask needs one entry for each of {workload.n_candidates} candidates, not {mask.shape}")
    if not mask.any():
        raise QueryError("no candidate is left to select", remedy="ask for fewer rounds, or for a larger workload")
    return np.flatnonzero(mask)


def _ten_bits(numbers: Floats) -> Floats:
    """Positive numbers rounded down to 10 significant bits."""
    fraction, exponent = np.frexp(numbers)
    return np.ldexp(np.floor(fraction * 1024.0) / 1024.0, exponent)


def public_answers(workload: Workload, answers: Floats) -> Floats:
    """Answers of a hypothesis, on the grid.

    Args:
        workload: The workload.
        answers: In counts, shape ``(n_queries,)``.

    Raises:
        QueryError: The number of answers is wrong, or they are not finite or beyond 2^31.
    """
    given = np.asarray(answers, dtype=np.float64)
    if given.shape != (workload.n_queries,):
        raise QueryError(f"{workload.n_queries} answers are needed, not an array of shape {given.shape}")
    if not _largest_error(workload, given) <= LARGEST_MASS:  # nor if one of them is not a number
        raise QueryError("the answers of the hypothesis are not finite, or their sum passes 2^31")
    return _in_pieces(len(given), lambda at: np.rint(given[at] / GRID) * GRID)


def public_offsets(workload: Workload, offsets: Floats | None) -> Floats | float:
    """Offsets on the grid; one number where they are all equal, 0 where none are given.

    Args:
        workload: The workload.
        offsets: Counts to subtract from the error of each candidate, shape ``(n_candidates,)``.

    Raises:
        QueryError: The number of offsets is wrong, or they are not finite or beyond 2^31.
    """
    if offsets is None:
        return 0.0
    given = np.asarray(offsets, dtype=np.float64)
    if given.shape != (workload.n_candidates,):
        raise QueryError(f"{workload.n_candidates} offsets are needed, not an array of shape {given.shape}")
    least, largest = float(given.min()), float(given.max())
    if not max(largest, -least) <= LARGEST_MASS:
        raise QueryError("the offsets are not finite, or beyond 2^31")
    if least == largest:
        return round(least / GRID) * GRID
    return _in_pieces(len(given), lambda at: np.rint(given[at] / GRID) * GRID)


def grid_errors(workload: Workload, exact: Floats, answers: Floats, places: NDArray[np.intp] | None = None) -> Floats:
    """L1 error of each candidate, or of some of them, in counts, rounded down to the grid. Private.

    Args:
        workload: The workload.
        exact: Exact answers, shape ``(n_queries,)``.
        answers: Answers of the hypothesis, from `public_answers`.
        places: Numbers of the candidates; all by default.
    """
    if workload.n_candidates < workload.n_queries:
        errors = np.asarray(np.floor(workload.candidate_errors(exact - answers) / GRID) * GRID)
        return errors if places is None else errors.take(places)
    if places is not None and len(places) < len(exact):
        exact, answers = exact.take(places), answers.take(places)
    return _in_pieces(len(exact), lambda at: np.floor(np.abs(exact[at] - answers[at]) / GRID) * GRID)


def grid_differences(exact: Floats, answers: Floats) -> Floats:
    """Signed error of each query in counts, rounded down to the grid. Private.

    Args:
        exact: Exact answers, shape ``(n_queries,)``.
        answers: Answers of the hypothesis, from `public_answers`.
    """
    return _in_pieces(len(exact), lambda at: np.floor((exact[at] - answers[at]) / GRID) * GRID)


def _largest_error(workload: Workload, answers: Floats) -> float:
    """The largest error of a candidate if all exact answers were 0."""
    if workload.n_candidates < workload.n_queries:
        return float(workload.candidate_errors(answers).max())
    return float(max(answers.max(), -answers.min()))


def _in_pieces(length: int, values: Callable[[slice], Floats]) -> Floats:
    scores = np.empty(length)
    for piece in pieces(length):
        scores[piece] = values(piece)
    return scores


def public_databases(workload: Workload, answers: Floats) -> Floats:
    """Answers of databases, on the grid.

    Args:
        workload: Single queries.
        answers: In counts, shape ``(n_databases, n_queries)``.

    Raises:
        QueryError: A candidate is a whole marginal, the shape is wrong, or answers are not finite or beyond 2^31.
    """
    given = np.asarray(answers, dtype=np.float64)
    if workload.n_candidates != workload.n_queries:
        raise QueryError(
            "databases are scored by single queries, not by whole marginals", remedy="use workload.by_query()"
        )
    if given.ndim != 2 or not len(given) or given.shape[1] != workload.n_queries:
        raise QueryError(
            f"databases need one row of {workload.n_queries} answers each, not an array of shape {given.shape}"
        )
    if not np.isfinite(given).all() or np.abs(given).max() > LARGEST_MASS:
        raise QueryError("the answers of a database are not finite, or beyond 2^31")
    return np.rint(given / GRID) * GRID


def database_sensitivity(workload: Workload, neighbours: Neighbours) -> float:
    """Largest change of the score of any database by one record, in counts, exact."""
    return float(grid_sensitivity(workload.sensitivities(neighbours).max()))


def database_scores(exact: Floats, answers: Floats) -> Floats:
    """Minus the largest absolute error of each database in counts, rounded down to the grid. Private.

    Args:
        exact: Exact answers, shape ``(n_queries,)``.
        answers: Answers of the databases, from `public_databases`.

    Returns:
        Shape ``(n_databases,)``.

    Example:
        >>> database_scores(np.array([3.0, 1.0]), np.array([[4.0, 1.5], [0.0, 1.0]]))
        array([-1., -3.])
    """
    rows = max(1, _BLOCK // answers.shape[1])
    blocks = [answers[first : first + rows] for first in range(0, len(answers), rows)]
    worst = np.concatenate([np.abs(block - exact).max(axis=1) for block in blocks])
    return np.asarray(-np.floor(worst / GRID) * GRID)
