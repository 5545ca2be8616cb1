"""Error bounds against values worked out by hand, and their shape (theory.md section 2)."""

from __future__ import annotations

import math

import pytest
from experiments.theory.mwem_theorems import corollary_2_5, theorem_2_3

from hedgerow.algorithms import BETA, Bound, Task, bound_of, hypothesis_error
from hedgerow.algorithms.mwem.settings import rounds_by_bound
from hedgerow.errors import ConfigError
from hedgerow.privacy import Regime
from hedgerow.queries import Neighbours

TASK = Task(total=10_000, cells=2**16, candidates=560)


def pure_bound(task: Task, epsilon: float, rounds: int, *, beta: float = BETA) -> Bound:
    return bound_of(task, Regime.PURE, Neighbours.REPLACE, epsilon, rounds, beta=beta)


def zcdp_bound(task: Task, rho: float, rounds: int, *, beta: float = BETA) -> Bound:
    return bound_of(task, Regime.ZCDP, Neighbours.ADD_REMOVE, rho, rounds, beta=beta)


def test_theorem_2_3_by_hand() -> None:
    error, probability = theorem_2_3(TASK, epsilon=1.0, rounds=8)
    # 2 * 10000 * sqrt(16 ln 2 / 8) + 10 * 8 * ln 560, and 1 - 16 / 560
    assert error == pytest.approx(23548.2004503 + 506.2349434, abs=1e-6)
    assert probability == pytest.approx(1 - 16 / 560)
    other, _ = theorem_2_3(TASK, epsilon=0.5, rounds=8, c=2.0)
    assert other == pytest.approx(23548.2004503 + 16 * 8 * math.log(560) / 0.5)


def test_theorem_2_3_promises_nothing_where_it_is_vacuous() -> None:
    assert theorem_2_3(TASK, epsilon=1.0, rounds=280)[1] == 0.0


def test_the_form_with_a_failure_probability_by_hand() -> None:
    bound = pure_bound(TASK, 2.0, 8, beta=0.1)
    assert bound.selection == pytest.approx(16 * math.log(2 * 8 * 560 / 0.1))
    on_a_lattice = math.log(2 / (1 + math.exp(-1 / 8)))  # noise of scale 8 comes in steps of 1
    assert bound.noise == pytest.approx(8 * (math.log(2 * 8 / 0.1) + on_a_lattice))
    assert bound.error == pytest.approx(bound.hypothesis + bound.selection + bound.noise)


def test_the_two_forms_agree_at_the_theorems_probability() -> None:
    # beta = 2 T / |Q|**c turns (4 T / eps) ln(2 T |Q| / beta) + (2 T / eps) ln(2 T / beta) into (6 c + 4) T ln|Q| / eps
    # for the paper's continuous noise; ours lies on a lattice.
    for rounds, c in ((3, 1.0), (8, 1.5), (20, 2.0)):
        bound = pure_bound(TASK, 0.7, rounds, beta=2 * rounds / 560**c)
        scale = 2 * rounds / 0.7
        on_a_lattice = scale * math.log(2 / (1 + math.exp(-1 / scale)))
        assert bound.error == pytest.approx(theorem_2_3(TASK, 0.7, rounds, c)[0] + on_a_lattice, rel=1e-12)


def test_corollary_2_5_is_the_best_real_number_of_rounds() -> None:
    rounds, error = corollary_2_5(TASK, epsilon=1.0)
    assert error == pytest.approx(3 * 10 ** (1 / 3) * (1e4) ** (2 / 3) * (math.log(2**16) * math.log(560)) ** (1 / 3))
    best = min(range(1, 500), key=lambda t: theorem_2_3(TASK, 1.0, t)[0])
    assert rounds == best
    assert theorem_2_3(TASK, 1.0, best)[0] == pytest.approx(error, rel=1e-4)


def test_corollary_2_6_by_hand() -> None:
    bound = zcdp_bound(TASK, 0.02, 8, beta=0.05)
    factor = math.log(2 * 8 * 560 / 0.05) + math.sqrt(2 * math.log(4 * 8 / 0.05))
    assert 0.999 < (bound.selection + bound.noise) / (math.sqrt(8 / 0.02) * factor) < 1.0  # epsilon^2 / 8 is a bit more


def test_corollary_2_6_closed_form_where_its_two_terms_balance() -> None:
    task, rounds = Task(total=1e6, cells=2**16, candidates=560), 1
    for _ in range(50):  # Lambda depends on T: iterate T = 2 n sqrt(rho ln|D|) / Lambda
        factor = math.log(2 * rounds * 560 / 0.05) + math.sqrt(2 * math.log(4 * rounds / 0.05))
        rounds = round(2 * 1e6 * math.sqrt(0.1 * math.log(2**16)) / factor)
    closed = 2 * math.sqrt(2) * math.sqrt(1e6 * factor) * (math.log(2**16) / 0.1) ** 0.25
    assert zcdp_bound(task, 0.1, rounds).error == pytest.approx(closed, rel=1e-6)
    scanned = rounds_by_bound(task, Regime.ZCDP, Neighbours.REPLACE, 0.1, share=0.5, step="source")
    assert 0.99 * closed < zcdp_bound(task, 0.1, scanned).error < closed or scanned == 2**16


@pytest.mark.parametrize("regime", [Regime.PURE, Regime.ZCDP])
def test_the_scan_finds_the_smallest_bound(regime: Regime) -> None:
    for amount in (0.01, 0.3, 5.0):
        found = rounds_by_bound(TASK, regime, Neighbours.REPLACE, amount, share=0.5, step="sharp", most=560)
        errors = [
            bound_of(TASK, regime, Neighbours.REPLACE, amount, t, share=0.5, step="sharp").error for t in range(1, 561)
        ]
        assert errors[found - 1] <= min(errors) * 1.0001


def test_the_sharp_step_gains_a_factor() -> None:
    assert hypothesis_error(TASK, 10) == pytest.approx(math.sqrt(8) * hypothesis_error(TASK, 10, "sharp"))
    signed = Task(total=10_000, cells=2**16, candidates=560, width=2.0)
    assert hypothesis_error(signed, 10, "sharp") == pytest.approx(2 * 1e4 * math.sqrt(math.log(2**16) / 20))


def test_bounds_move_the_right_way() -> None:
    assert pure_bound(TASK, 2.0, 10).error < pure_bound(TASK, 1.0, 10).error
    assert zcdp_bound(TASK, 0.2, 10).error < zcdp_bound(TASK, 0.1, 10).error
    assert pure_bound(TASK, 1.0, 10, beta=0.01).error > pure_bound(TASK, 1.0, 10, beta=0.1).error
    wide = Task(total=10_000, cells=2**16, candidates=560, sensitivity=2.0)
    assert pure_bound(wide, 1.0, 10).error > pure_bound(TASK, 1.0, 10).error
    whole = Task(total=10_000, cells=2**16, candidates=560, size=8)
    assert zcdp_bound(whole, 0.1, 10).error > zcdp_bound(TASK, 0.1, 10).error


def test_a_bound_adds_up() -> None:
    assert Bound(1, 1.0, 2.0, 4.0, 8.0, 0.05).error == 15.0


@pytest.mark.parametrize("wrong", [{"total": 0}, {"cells": 1}, {"candidates": 0}, {"sensitivity": 0.0}, {"size": 0}])
def test_a_task_refuses_what_has_no_bound(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="a bound needs"):
        Task(**({"total": 10, "cells": 4, "candidates": 2} | wrong))  # type: ignore[arg-type]
