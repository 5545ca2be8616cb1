"""Scores are exact, hence so is their sensitivity: checked in rational arithmetic, on adversarial floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import GRID, EqualUnits
from hedgerow.privacy.exact.scores import grid_differences, grid_errors, public_answers, public_offsets
from hedgerow.queries import Neighbours, Persons, Weight, Workload
from tests.examples import examples
from tests.privacy.tables import DenseCounts, binary, neighbours_of

DOMAIN = binary(2)
ROWS = np.array([[0.1, -0.7, 1 / 3, 0.25], [2.0, 0.3, -1.5, 0.0], [1e-6, 1 / 7, 0.9, 3.0]])
WORKLOAD = (
    Workload.marginals(DOMAIN, 1)
    + Workload.marginals(DOMAIN, 2)
    + Workload.parities(DOMAIN, 2)
    + Workload.explicit(DOMAIN, ("a", "b"), ROWS)
)
nasty = st.one_of(st.floats(-1e6, 1e6), st.floats(-1, 1), st.sampled_from([0.1, 1 / 3, 2.0**-11, 3 * 2.0**-11, 1e-300]))


def reference_scores(
    exact: np.ndarray, answers: np.ndarray, offsets: np.ndarray, units: EqualUnits, workload: Workload
) -> list[Fraction]:
    """The definition, in rational arithmetic."""
    scores = []
    for k, (start, length) in enumerate(zip(workload.starts, workload.lengths, strict=True)):
        span = range(int(start), int(start + length))
        error = sum((abs(Fraction(float(exact[i])) - Fraction(float(answers[i]))) for i in span), Fraction(0))
        floored = (error / Fraction(GRID)).__floor__() * Fraction(GRID)
        scores.append(Fraction(float(units.multipliers[k])) * (floored - Fraction(float(offsets[k]))))
    return scores


@settings(max_examples=examples(40))
@given(
    st.lists(st.integers(0, 2**29), min_size=4, max_size=4),
    st.lists(nasty, min_size=WORKLOAD.n_queries, max_size=WORKLOAD.n_queries),
    st.lists(nasty, min_size=WORKLOAD.n_candidates, max_size=WORKLOAD.n_candidates),
    st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4),
    st.sampled_from(Neighbours.OF_RECORDS),
)
def test_scores_are_exact_and_move_by_at_most_their_sensitivity(
    histogram: list[int], answers: list[float], offsets: list[float], weights: list[float], relation: Neighbours
) -> None:
    workload = Workload(WORKLOAD.families, weights)
    units = EqualUnits.of(workload, relation)
    public = public_answers(workload, np.array(answers))
    offset = np.broadcast_to(public_offsets(workload, np.array(offsets)), len(offsets))
    source = DenseCounts(DOMAIN, histogram)

    def scores_of(counts: DenseCounts) -> np.ndarray:
        exact = workload.answers(counts)
        scores = units.multipliers * (grid_errors(workload, exact, public) - offset)
        assert [Fraction(float(score)) for score in scores] == reference_scores(exact, public, offset, units, workload)
        return scores

    scores = scores_of(source)
    for neighbour in neighbours_of(source, relation):
        moved = [
            abs(Fraction(float(x)) - Fraction(float(y))) for x, y in zip(scores, scores_of(neighbour), strict=True)
        ]
        assert all(move <= Fraction(float(bound)) for move, bound in zip(moved, units.sensitivities, strict=True))


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_the_sensitivity_of_a_score_is_its_weight(relation: Neighbours) -> None:
    workload = Workload(WORKLOAD.families, (1.0, 0.5, 2.0, 3.0))
    units = EqualUnits.of(workload, relation)
    whole = workload.candidate_weights < 3.0
    assert (units.sensitivities[whole] == workload.candidate_weights[whole]).all()
    assert np.allclose(units.sensitivities, workload.candidate_weights, rtol=2.0**-9)
    assert (EqualUnits.of(workload, relation, weighted=False).sensitivities <= 1.0).all()


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_scores_of_persons_are_in_the_unit_of_one_record(relation: Neighbours) -> None:
    """So m is in the sensitivity, where the ledger shows it."""
    for persons in (Persons("id", 3), Persons(None, 1, Weight("w", 3))):
        several = EqualUnits.of(Workload(WORKLOAD.families), relation.between(persons))
        single = EqualUnits.of(Workload(WORKLOAD.families), relation.between(persons).single)
        assert (several.multipliers == single.multipliers).all()
        assert (several.sensitivities <= 3.0 * single.sensitivities).all()
        assert (several.sensitivities >= 3.0 * (1.0 - 2.0**-9)).all()


def test_multipliers_have_ten_bits_and_never_round_up() -> None:
    workload = Workload(WORKLOAD.families, (1 / 3, 0.1, 0.7, 1e-9))
    units = EqualUnits.of(workload, Neighbours.REPLACE)
    fraction, _ = np.frexp(units.multipliers)
    assert (fraction * 1024 == np.rint(fraction * 1024)).all()
    assert (units.sensitivities <= workload.candidate_weights * (1 + 1e-15)).all()
    assert (units.sensitivities >= workload.candidate_weights * (1 - 2.0**-9)).all()


def test_rounding_of_public_numbers() -> None:
    workload = Workload.marginals(DOMAIN, 1)
    rounded = public_answers(workload, np.array([0.1, 1 / 3, 2.0**-12, 7.0]))
    assert (rounded / GRID == np.rint(rounded / GRID)).all()
    assert np.abs(rounded - [0.1, 1 / 3, 2.0**-12, 7.0]).max() <= GRID / 2
    assert public_offsets(workload, None) == 0.0
    for offset in (0.1, -7.0, 2.5 * GRID, 3.5 * GRID):
        assert public_offsets(workload, np.full(2, offset)) == np.rint(offset / GRID) * GRID


@pytest.mark.parametrize("answers", [np.zeros(3), np.full(4, np.nan), np.full(4, np.inf), np.full(4, 2.0**31)])
def test_senseless_answers_are_refused(answers: np.ndarray) -> None:
    with pytest.raises(QueryError):
        public_answers(Workload.marginals(DOMAIN, 1), answers)


@pytest.mark.parametrize("offsets", [np.zeros(3), np.full(2, np.nan), np.full(2, -np.inf), np.full(2, 2.0**32)])
def test_senseless_offsets_are_refused(offsets: np.ndarray) -> None:
    with pytest.raises(QueryError):
        public_offsets(Workload.marginals(DOMAIN, 1), offsets)


def test_vanishing_weights_are_refused() -> None:
    workload = Workload(Workload.marginals(DOMAIN, 1).families, (1e-200,))
    with pytest.raises(ConfigError, match="too small"):
        EqualUnits.of(workload, Neighbours.REPLACE)


def test_long_arrays_are_treated_a_piece_at_a_time_and_give_the_same() -> None:
    """Of single queries and of whole marginals, longer than a piece and no multiple of it."""
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(300))
    generator = np.random.default_rng(4)
    for workload in (Workload.parities(domain, 2), Workload.marginals(domain, 2)):
        exact = np.floor(generator.normal(size=workload.n_queries) * 1e4)
        answers, offsets = (generator.normal(size=size) * 1e4 for size in (len(exact), workload.n_candidates))
        rounded = np.rint(answers / GRID) * GRID
        assert np.array_equal(public_answers(workload, answers), rounded)
        assert np.array_equal(public_offsets(workload, offsets), np.rint(offsets / GRID) * GRID)
        assert np.array_equal(grid_errors(workload, exact, rounded), workload.candidate_errors(exact - rounded))
        assert np.array_equal(grid_differences(exact, answers), np.floor((exact - answers) / GRID) * GRID)
        for damage in (np.nan, np.inf, -np.inf, 2.0**32, -(2.0**32)):
            answers[40_000] = offsets[-1] = damage
            with pytest.raises(QueryError):
                public_answers(workload, answers)
            with pytest.raises(QueryError):
                public_offsets(workload, offsets)
