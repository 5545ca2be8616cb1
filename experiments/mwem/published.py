"""MWEM as its paper has it, in two forms: the one that the theorem is about, and the one that its listing runs."""

from __future__ import annotations

from hedgerow.algorithms.mwem import MWEM
from hedgerow.models import Sweeps

SWEEPS = 100
"""Passes of the listing through all measurements after each round."""


def as_proven(rounds: int) -> MWEM:
    """The theoretically pure form: one step of multiplicative weights a round, and the average of all hypotheses.

    Half of each round's charge is for selection, from all queries in every round; nothing is spent on anything else.

    Args:
        rounds: T.

    Example:
        >>> as_proven(8).output
        'average'
    """
    return MWEM(rounds, selection_share=0.5, refit=None, output="average", repeats=True, offsets=False, error_share=0.0)


def as_published(rounds: int) -> MWEM:
    """The listing: measurements are used again in 100 sweeps after each round, and the last hypothesis is the result.

    A query is measured once: what was measured already is not selected again.

    Args:
        rounds: T.

    Example:
        >>> as_published(8).refit
        Sweeps(sweeps=100, step='source', clip=True)
    """
    return MWEM(rounds, selection_share=0.5, refit=Sweeps(SWEEPS), offsets=False, error_share=0.0)
