"""A workload on one record at a time equals its answers on a hypothesis with that record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.algorithms import RecordAnswers
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.models import Empirical
from hedgerow.queries import Conjunction, Family, Measurable, Workload
from tests.queries.strategies import workloads

DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 2, 3, 5), strict=True))


@given(st.one_of(workloads(), workloads(levels=True)), st.integers(0, 2**32 - 1))
def test_sums_equal_the_answers_of_the_records(workload: Workload, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(size, size=4) for size in workload.domain.shape], axis=1)
    sums, adding = np.zeros(workload.n_queries), RecordAnswers(workload)
    for record in codes:
        adding.add(sums, record)
    np.testing.assert_allclose(sums, workload.answers(Empirical(workload.domain, 4.0, codes)), rtol=1e-12, atol=1e-12)


def test_conditions_without_attributes_hold_everywhere() -> None:
    asked = [Conjunction.where(DOMAIN, {}), Conjunction.where(DOMAIN, {"a": []}), Conjunction.where(DOMAIN, {"d": [2]})]
    workload = Workload.conjunctions(DOMAIN, asked)
    sums = np.zeros(3)
    RecordAnswers(workload).add(sums, [0, 0, 0, 2])
    assert sums.tolist() == [1.0, 0.0, 1.0]


@dataclass(frozen=True)
class Odd(Family):
    """A family of one's own."""

    domain: Domain

    @property
    def n_queries(self) -> int:
        return 1

    @property
    def n_candidates(self) -> int:
        return 1

    @property
    def scopes(self) -> tuple[Clique, ...]:
        return (("a", "d"),)

    @property
    def spec(self) -> str:
        return "odd"

    def candidate(self, index: int) -> Measurable:
        raise NotImplementedError

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        return self.scopes

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        return np.array([tables[0][1, 3] * 7.0])


@pytest.mark.parametrize(("record", "expected"), [([1, 0, 0, 3], 7.0), ([0, 0, 0, 3], 0.0)])
def test_a_family_of_ones_own(record: list[int], expected: float) -> None:
    sums = np.zeros(1)
    RecordAnswers(Workload([Odd(DOMAIN)])).add(sums, record)
    assert sums.tolist() == [expected]
