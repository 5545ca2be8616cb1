"""Blocks that cover cliques, against the greedy rule with every gain computed afresh."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.data import covering_blocks
from hedgerow.domain import Domain, IntegerRange
from tests.reference.greedy_cover import greedy_cover


@given(st.integers(0, 2**32 - 1), st.integers(1, 3000))
def test_blocks_are_those_of_the_greedy_rule(seed: int, largest: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain(
        IntegerRange(f"x{i}", 0, int(size)) for i, size in enumerate(rng.integers(1, 30, rng.integers(1, 9)))
    )
    cliques = [
        domain.clique(rng.choice(domain.names, size=rng.integers(0, min(len(domain), 4) + 1), replace=False))
        for _ in range(rng.integers(0, 15))
    ]
    found = [
        (tuple(domain.names[axis] for axis in block.axes), list(block.cliques))
        for block in covering_blocks(domain, cliques, largest)
    ]
    assert found == greedy_cover(domain, cliques, largest)


@pytest.mark.parametrize(("attributes", "order"), [(40, 3), (25, 4)])
def test_many_cliques_are_each_in_one_block(attributes: int, order: int) -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(attributes))
    cliques = list(combinations(domain.names, order))
    blocks = covering_blocks(domain, cliques, 2**12)
    assert sorted(i for block in blocks for i in block.cliques) == list(range(len(cliques)))
    for block in blocks:
        names = {domain.names[axis] for axis in block.axes}
        assert block.cells == 2 ** len(block.axes) <= 2**12
        assert all(set(cliques[i]) <= names for i in block.cliques)
