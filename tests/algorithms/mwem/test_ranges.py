"""Ranges of one attribute by MWEM with its defaults: at or below a tree of counts and noise in each cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from benchmarks.levels import Estimate, hb_alone, histograms, mwem, per_cell

from hedgerow.arrays import Ints

SHAPES = dict(itertools.islice(histograms(), 4))
SEEDS = 16


def error(counts: Ints, epsilon: float, estimate: Estimate) -> float:
    """Mean absolute error of random ranges, in counts."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ends = np.sort(rng.integers(0, len(counts) + 1, (2, 2_000)), axis=0)
        missed = np.concatenate([[0.0], np.cumsum(estimate(counts, epsilon, rng) - counts)])
        found.append(np.abs(missed[ends[1]] - missed[ends[0]]).mean())
    return float(np.mean(found))


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_ranges_are_no_worse_than_those_of_a_tree_of_counts(shape: str, epsilon: float) -> None:
    """On 4,096 values, with fixed seeds; neither is told the number of records, and the tree pays for nothing else."""
    counts = SHAPES[shape]
    ours = error(counts, epsilon, mwem)
    assert ours <= error(counts, epsilon, hb_alone)
    assert ours <= error(counts, epsilon, per_cell)
