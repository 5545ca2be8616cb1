"""The nearest tables where steps end early: sparse tables of Adult, and what is mixed in then."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from hedgerow.data import read_table
from hedgerow.domain import read_domain
from hedgerow.models import Proximal, ResidualBasis, nearest, overlaid
from hedgerow.models.overlays import projection
from hedgerow.queries import Marginal, Measurement, NoiseKind
from tests.models.strategies import domain_of

ADULT = Path(__file__).parents[3] / "examples" / "data"
SPARSE = ("age", "capital-gain", "capital-loss", "hours-per-week")


def _error() -> float:
    """Mean total variation distance of the pairs of four sparse columns of Adult, measured with a noise of 54."""
    domain = read_domain(ADULT / "adult14.domain.yaml").project(SPARSE)
    table = read_table(ADULT / "adult.csv", domain, extra_columns="ignore")
    rng = np.random.default_rng(0)
    pairs = list(combinations(domain.names, 2))
    exact = [each.reshape(-1) for each in table.marginals(pairs)]
    told = [
        Measurement(Marginal(domain, pair), each + rng.normal(0.0, 54.0, each.size), NoiseKind.GAUSSIAN, 54.0)
        for pair, each in zip(pairs, exact, strict=True)
    ]
    total = float(exact[0].sum())
    model = overlaid(domain, total, told, Proximal(), 2_000)
    found = [each.reshape(-1) for each in model.marginals(pairs)]
    return float(np.mean([0.5 * np.abs(mine - each).sum() / total for mine, each in zip(found, exact, strict=True)]))


@pytest.mark.slow
def test_sparse_tables_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a price that stays, a part of the uniform tables is mixed in."""
    error = _error()
    monkeypatch.setattr(projection, "_STIFFER", 1.0)
    assert error < 0.97 * _error()


def test_the_nearer_tables_are_mixed_in_where_steps_end_early() -> None:
    domain = domain_of(3, 3)
    parts = ResidualBasis(domain, [("x0", "x1")])
    (stack,) = stacks = parts.stacks(parts.scopes)

    def of(table: list[list[float]]) -> np.ndarray:
        held = stack.sums(stack.tables(np.ones(parts.size)), parts.size)
        return np.asarray(stack.sums(np.array(table).reshape(1, -1), parts.size) / held)

    wanted = of([[0.5, -0.01, 0.0], [-0.01, 0.3, 0.0], [0.0, 0.0, 0.22]])
    tree = of([[0.46, 0.01, 0.01], [0.01, 0.28, 0.01], [0.01, 0.01, 0.2]])
    uniform = np.eye(1, parts.size)[0]
    precisions = np.ones(parts.size)
    alone = nearest(stacks, wanted, precisions, uniform, [None], steps=0)
    both = nearest(stacks, wanted, precisions, uniform, [None], other=tree, steps=0)
    assert min(stack.tables(alone).min(), stack.tables(both).min()) >= -1e-12
    assert np.linalg.norm(both - wanted) < np.linalg.norm(alone - wanted)
    same = nearest(stacks, wanted, precisions, tree, [None], other=uniform, steps=0)
    np.testing.assert_allclose(same, both)
