"""The numbers bench: its page, its truths, and runs that are continued."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.numbers.__main__ import runs_of
from benchmarks.numbers.page import PAGE, Run, add_run, page_text, read_runs
from benchmarks.numbers.tables import TASKS


def test_the_page_is_made_from_the_runs_beside_it() -> None:
    runs = read_runs()
    assert PAGE.read_text(encoding="utf-8") == page_text(runs)
    assert {run.table for run in runs} == set(TASKS)
    assert len({run.key for run in runs if run.epsilon == 1.0}) >= 6


def test_questions_have_the_truth_of_their_table() -> None:
    task = TASKS["a panel"]()
    found = {question.kind: question for question in task.questions()}
    assert sum(found["table, each cell"].truth.values()) == len(task.frame)
    visits = task.frame["visits"]
    assert found["mean"].truth == {(): pytest.approx(visits.mean())}
    assert found["standard deviation"].truth == {(): pytest.approx(visits.std(ddof=0))}
    ill = task.frame[task.frame["state"] == "ill"]
    assert found["mean of a group"].truth["ill",] == pytest.approx(ill["visits"].mean())


def test_a_release_is_asked_all_questions_and_its_runs_are_read_back(tmp_path: Path) -> None:
    task = TASKS["salaries"]()
    runs = list(runs_of("salaries", task, True, 3.0, 0))
    kinds = {question.kind for question in task.questions()}
    assert {run.kind for run in runs} == kinds | {"answer, report and records agree on a mean"}
    for run in runs[:4]:
        add_run([run], tmp_path / "runs.csv")
    assert [run.kind for run in read_runs(tmp_path / "runs.csv")] == [run.kind for run in runs[:4]]
    (agreed,) = (run for run in runs if run.kind == "answer, report and records agree on a mean")
    assert 1 <= agreed.held <= agreed.numbers == len(task.numbers)  # records follow the hypothesis alone
    assert sum(run.held for run in runs) >= 0.8 * sum(run.numbers for run in runs)


def test_a_cell_of_the_page_says_what_was_found() -> None:
    runs = [
        Run("t", False, 1.0, 0, "mean", 4, 3, 1, 1.3863, 2, 0.0, 0.5),
        Run("t", True, 1.0, 0, "mean", 4, 4, 0, 0.0, 0, 0.0, 0.2),
    ]
    assert "| mean | .75, 0.12 (2), 1 without | all, 0.05 |" in page_text(runs)
