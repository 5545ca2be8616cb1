"""The grid, its halves, its runs and its regrets."""

from __future__ import annotations

import hashlib
import math
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.regret import running, strategies
from benchmarks.regret.__main__ import main
from benchmarks.regret.grid import TASKS, Cell, cells
from benchmarks.regret.regrets import drawing, regrets_of, sentence, summary_of
from benchmarks.regret.running import Allowance, Run, Worker, journal_of, run_all
from benchmarks.regret.tables import FITTED, MAKERS, PAIRS, half_of, table_of

from hedgerow.errors import ConfigError

SMALL = Cell("czech", "marginals:2", 1.0)
ALLOWANCE = Allowance(60.0, 3_500)


def test_each_pair_has_one_table_in_each_half_by_the_hash_of_its_name() -> None:
    for pair, tables in PAIRS.items():
        tuning = [name for name in tables if half_of(name) == "tuning"]
        assert len(tables) == 2
        assert len(tuning) == 1
        if not FITTED & set(tables):
            assert list(tables).index(tuning[0]) == hashlib.sha256(pair.encode()).digest()[0] % 2
    assert {half_of(name) for name in FITTED} == {"tuning"}


def test_the_halves_are_pinned() -> None:
    assert {name for name in MAKERS if half_of(name) == "reported"} == {
        *("small6", "rochdale", "bits18", "acs", "columns20", "wide69", "million5", "joint12"),
        *("dense1000", "smooth4096", "sparse2000", "spiky4096", "towns256", "acs-poverty"),
    }


@pytest.mark.slow
def test_every_cell_is_valid_and_can_be_seen_again() -> None:
    listed = list(cells())
    assert len({cell.key for cell in listed}) == len(listed) == 3 * sum(map(len, TASKS.values()))
    assert set(TASKS) == set(MAKERS)
    for cell in listed:
        if not cell.name.startswith("million"):
            assert cell.workload.n_queries > 0
            assert cell.budget.epsilon == cell.epsilon
    quick = list(cells(quick=True))
    assert set(quick) < set(listed)
    assert {cell.name for cell in quick} >= {"small8", "rochdale", "wide69", "joint12", "towns256", "acs-poverty"}
    assert {cell.kind for cell in quick} == {cell.kind for cell in listed}


def test_tables_are_the_same_each_time() -> None:
    for name in ("small8", "towns100", "sparse2000"):
        first = table_of(name)
        again = MAKERS[name]()
        for one, other in zip(first.columns, again.columns, strict=True):
            np.testing.assert_array_equal(one, other)


def test_exact_answers_have_no_error_and_errors_are_distances() -> None:
    exact = SMALL.workload.answers(SMALL.table)
    assert SMALL.error(exact, SMALL.table.total()) == pytest.approx(0.0, abs=1e-12)
    uniform = np.full_like(exact, SMALL.table.total() / 4)
    tables = SMALL.table.marginals(SMALL.workload.scopes)
    distances = [0.5 * np.abs(each / each.sum() - 0.25).sum() for each in tables]
    assert SMALL.error(uniform, SMALL.table.total()) == pytest.approx(np.mean(distances))


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", [SMALL, Cell("czech", "cells:6", 1.0), Cell("dense1000", "prefixes:c0", 1.0)], ids=lambda cell: cell.key
)
def test_every_competitor_runs_and_repeats_itself(cell: Cell) -> None:
    for name, strategy in strategies.strategies(cell, quick=True).items():
        found = strategy(cell, 0)
        assert 0.0 <= found < 1.0, name
        assert found == strategy(cell, 0), name


def test_quick_strategies_are_among_all() -> None:
    for cell in cells(quick=True):
        if cell.table.total() < 20_000:
            assert set(strategies.strategies(cell, quick=True)) <= set(strategies.strategies(cell))


# Runs


@pytest.mark.slow
def test_runs_go_on_where_they_stopped(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    journal = journal_of(path)
    run_all([SMALL], 1, journal, ALLOWANCE, quick=True)
    whole = path.read_text(encoding="utf-8")
    assert len(journal.known) == len(strategies.strategies(SMALL, quick=True))
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:4]) + lines[4][:-8], encoding="utf-8")  # cut within a line
    again = journal_of(path)
    assert len(again.known) == 3
    kept = dict(again.known)
    run_all([SMALL], 1, again, ALLOWANCE, quick=True)
    assert {key: run.error for key, run in again.known.items()} == {
        key: run.error for key, run in journal.known.items()
    }
    assert all(again.known[key] == run for key, run in kept.items())
    assert not any(strategy == "auto" for _, strategy, _ in journal_of(path, lambda key, _: key[1] == "auto").known)


def test_what_takes_too_long_is_stopped_and_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = running._measured(Cell("nltcs", "marginals:3", 1.0), "auto", 0, 0.02)
    assert found.state == "out of time"
    assert math.isnan(found.error)
    made = []
    monkeypatch.setattr(Worker, "run", lambda self, cell, name, seed: made.append(seed) or Run("out of time"))
    run_all([SMALL], 2, journal_of(tmp_path / "runs.csv"), ALLOWANCE, quick=True)
    assert set(made) == {0}


def test_what_comes_close_is_repeated_while_runs_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = {"auto": 0.4, "residual basis": 0.1, "our gaussian": 0.19}
    made: list[tuple[str, int]] = []

    def run(self: Worker, cell: Cell, name: str, seed: int) -> Run:
        made.append((name, seed))
        return Run("done", errors.get(name, 0.3), seconds=1.0)

    monkeypatch.setattr(Worker, "run", run)
    journal = journal_of(tmp_path / "runs.csv")
    run_all([SMALL], 2, journal, Allowance(60.0, 3_500, repeating=8.0), quick=True)
    later = [each for each in made if each[1] >= 2]
    assert sorted(set(later)) == sorted((name, seed) for name in errors for seed in (2, 3, 4))  # 3 seconds a seed
    made.clear()
    run_all([SMALL], 2, journal, Allowance(60.0, 3_500, repeating=8.0), quick=True)
    assert not made
    run_all([SMALL], 2, journal, Allowance(60.0, 3_500, repeating=1e9, most_seeds=6), quick=True)
    assert {seed for _, seed in made} == {5}


def test_what_had_less_time_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.csv"
    journal_of(path).add((SMALL.key, "auto", 0), Run("out of time", seconds=20.0))
    monkeypatch.setattr(Worker, "run", lambda self, cell, name, seed: Run("done", 0.25))
    for seconds, state in (("20", "out of time"), ("40", "done")):
        main(
            [
                "--cells",
                SMALL.key,
                "--seeds",
                "1",
                "--repeating",
                "0",
                "--seconds",
                seconds,
                "--results",
                str(path),
                "--jobs",
                "1",
            ]
        )
        assert journal_of(path).known[SMALL.key, "auto", 0].state == state
    assert path.with_suffix(".svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.slow
def test_a_process_that_dies_is_noted_and_replaced() -> None:
    worker = Worker(ALLOWANCE)
    try:
        assert worker.run(SMALL, "residual basis", 0).state == "done"
        worker._process.kill()
        worker._process.join()
        assert worker.run(SMALL, "residual basis", 0).state == "out of memory"
        assert worker.run(SMALL, "residual basis", 0).state == "done"
    finally:
        worker.stop()


def test_refusals_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(cell: Cell, seed: int) -> float:
        raise ConfigError("too many", remedy="ask for fewer")

    monkeypatch.setattr(running, "strategies", lambda cell: {"auto": refuse})
    found = running._measured(SMALL, "auto", 0, 10.0)
    assert (found.state, found.reason) == ("refused", "too many")


def test_the_clock_is_stopped_after_a_run() -> None:
    assert running._measured(SMALL, "residual basis", 0, 10.0).state == "done"
    started = time.process_time()
    while time.process_time() - started < 0.01:
        pass  # a clock that still ran would stop this test


# Regrets


def test_regrets_by_hand() -> None:
    other = Cell("rochdale", "marginals:2", 1.0)
    runs = {
        (SMALL.key, "auto", 0): Run("done", 0.2),
        (SMALL.key, "auto", 1): Run("done", 0.4),
        (SMALL.key, "Hb", 0): Run("done", 0.1),
        (SMALL.key, "Hb", 1): Run("done", 0.2),
        (SMALL.key, "lucky", 0): Run("done", 0.01),
        (SMALL.key, "lucky", 1): Run("out of memory"),
        (other.key, "auto", 0): Run("out of time"),
        (other.key, "Hb", 0): Run("done", 0.1),
    }
    first, second = regrets_of([SMALL, other], runs)
    assert first.spreads["auto"] == pytest.approx(np.std([0.2, 0.4], ddof=1) / np.sqrt(2) / 0.3)
    assert first.spread == pytest.approx(2.0 * math.hypot(first.spreads["auto"], first.spreads["Hb"]))
    assert math.isnan(second.spreads["Hb"])
    assert (first.best, first.value, dict(first.unfinished)) == ("Hb", pytest.approx(2.0), {"lucky": "out of memory"})
    assert math.isinf(second.value)
    found = summary_of([first, second])
    assert found is not None
    assert (found.cells, found.mean, found.worst) == (1, pytest.approx(2.0), first)
    assert sentence(found) == (
        "1 cells, geometric mean 2.000 (2.000 without luck), worst 2.00 on czech | marginals:2 | 1 (Hb); "
        "did not finish on 1"
    )
    assert math.isinf(second.without_luck)
    assert summary_of([second]) is None
    assert "marginals" in drawing([first, second])


def test_luck_is_not_regretted() -> None:
    """Strategies that take turns at being lucky: each seed is compared with what the others find best."""
    errors = {"auto": (0.2, 0.2, 0.2), "one": (0.1, 0.3, 0.3), "two": (0.4, 0.1, 0.3)}
    runs = {(SMALL.key, name, seed): Run("done", e) for name, each in errors.items() for seed, e in enumerate(each)}
    (found,) = regrets_of([SMALL], runs)
    assert found.without_luck == pytest.approx(0.6 / (0.2 + 0.2 + 0.2))
    assert found.value == pytest.approx(1.0)
    longer = {**runs, (SMALL.key, "once", 0): Run("done", 0.01)}
    (found,) = regrets_of([SMALL], longer)
    assert found.value == pytest.approx(20.0)
    assert found.without_luck == pytest.approx(1.0)
    alone = {key: run for key, run in runs.items() if key[2] == 0}
    assert math.isnan(regrets_of([SMALL], alone)[0].without_luck)
