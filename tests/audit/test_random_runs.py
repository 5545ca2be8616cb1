"""Random whole runs against an accountant of their own: a handful on every change, new ones for as long as one likes.

``make audit`` goes on for HEDGEROW_AUDIT_MINUTES (3) from a fresh number, which is printed; HEDGEROW_AUDIT_SEED begins
with the run of that number instead, as a failure says. Nothing here fails by chance: what is checked holds of every
run.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hedgerow.data.table as table_module
from hedgerow import MWEM, OnlinePMW
from hedgerow.algorithms import ENTRIES
from hedgerow.privacy import ThresholdedCounts
from hedgerow.queries import Neighbours
from tests.audit.never_drawn import NEVER, drawn_of, rows, there_is
from tests.audit.places import PLACES, Places, postgresql, spark
from tests.audit.random_pairs import LinkedRun, SeriesRun, any_run, drawn_linked, drawn_series
from tests.audit.random_runs import AnyRun, Run, check, drawn
from tests.privacy.mechanisms.loss_mutants import error_at_half_the_scale, offsets_by_the_parity_of_n
from tests.privacy.mutants import Mutant, exact_total_under_add_remove, killed

QUICK = range(9000, 9024)
MINUTES = float(os.environ.get("HEDGEROW_AUDIT_MINUTES", "3"))


def checked(run: AnyRun, folder: Path, **places: Any) -> int:
    """Check a run; a failure says how to see it again."""
    within = folder / str(run.number)
    within.mkdir()
    try:
        return check(run, Places(within, {**PLACES, **places}))
    except Exception as error:
        repeat = f"HEDGEROW_AUDIT_SEED={run.number} HEDGEROW_AUDIT_MINUTES=0 make audit"
        raise AssertionError(f"{error}\n{run}\nto see it again: {repeat}") from error


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("number", QUICK)
def test_a_random_run_is_paid_for(number: int, tmp_path: Path) -> None:
    checked(any_run(number), tmp_path)


@pytest.mark.audit
@pytest.mark.parametrize("stream", range(2))
def test_random_runs_are_paid_for(stream: int, tmp_path: Path) -> None:
    """Every other run from the printed number on, until the time is up; the first one in any case."""
    first, end = int(os.environ["HEDGEROW_AUDIT_SEED"]), time.monotonic() + 60.0 * MINUTES
    number, draws = first + stream, 0
    while number < first + 2 or time.monotonic() < end:
        draws += checked(any_run(number), tmp_path)
        number += 2
    assert draws > 0 or number < first + 40


@pytest.mark.audit
@pytest.mark.parametrize("number", range(9100, 9106))
def test_a_random_run_on_postgresql_is_paid_for(number: int, tmp_path: Path, new_postgresql_database: str) -> None:
    checked(replace(drawn(number), place="postgresql"), tmp_path, postgresql=postgresql(new_postgresql_database))


@pytest.mark.audit
@pytest.mark.parametrize("number", range(9200, 9203))
def test_a_random_run_in_spark_is_paid_for(number: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    checked(replace(drawn(number), place="spark"), tmp_path, spark=spark(request.getfixturevalue("spark")))


@cache
def first_thousand() -> tuple[Run, ...]:
    return tuple(drawn(number) for number in range(1000))


def test_the_runs_are_of_all_kinds() -> None:
    """Of the first thousand: every algorithm, place, relation, unit, and the rarer turns."""
    runs = first_thousand()
    configurations = {type(entry.make()) for entry in ENTRIES}
    assert {type(run.algorithm) for run in runs} == configurations | {OnlinePMW}
    assert {run.place for run in runs} == {"dense", *PLACES}
    assert {run.budget.neighbours for run in runs} == {Neighbours.ADD_REMOVE, Neighbours.REPLACE}
    assert {run.budget.unit for run in runs} == {"epsilon", "rho", "mu^2/2"}
    assert {(run.is_filtered, run.is_ruled) for run in runs} == set(itertools.product((True, False), repeat=2))
    assert {run.whims for run in runs} == {True, False}
    assert {("person" in run.reading, "weight" in run.reading, "where" in run.reading) for run in runs} == set(
        itertools.product((True, False), repeat=3)
    )
    assert {(run.has_labels, run.is_automatic) for run in runs if run.learning} == set(
        itertools.product((True, False), repeat=2)
    )
    assert any(run.earlier for run in runs)
    assert any(run.is_sampled for run in runs)
    assert {type(any_run(number)) for number in range(20)} == {Run, LinkedRun, SeriesRun}


def test_every_option_is_drawn_or_is_listed_with_the_reason() -> None:
    """A new field, argument or option is drawn, or stands in the list; what is drawn by now leaves it."""
    some = [drawn_linked(number) for number in range(100)], [drawn_series(number) for number in range(10)]
    listed = [option for options in NEVER.values() for option in options]
    assert sorted(listed) == sorted(there_is() - drawn_of(first_thousand(), *some))


def test_the_page_lists_what_is_never_drawn() -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    assert "\n".join(rows()) in page


def test_a_run_is_drawn_alike_each_time() -> None:
    for number in (1, 3, 11, 14, 15):
        assert str(any_run(number)) == str(any_run(number))


# ---- what the audit notices ------------------------------------------------------------------------------------------


def public_number_after_a_filter(patch: pytest.MonkeyPatch) -> None:
    """Under "replace" the number of records that pass a filter taken for public."""
    patch.setattr(Neighbours, "filtered", property(lambda self: self))


def half_a_threshold(patch: pytest.MonkeyPatch) -> None:
    """Labels that are told too early, and whose deltas are told as they would be."""
    kept = ThresholdedCounts.for_charge.__func__  # type: ignore[attr-defined]

    def early(cls: Any, *given: Any, **named: Any) -> ThresholdedCounts:
        found = kept(cls, *given, **named)
        return ThresholdedCounts(found.noise, max(1, found.threshold // 2))

    patch.setattr(ThresholdedCounts, "for_charge", classmethod(early))
    patch.setattr(ThresholdedCounts, "delta", lambda self, records: 1e-12)


def one_record_more(patch: pytest.MonkeyPatch) -> None:
    """Of each person one record more is counted than the ledger knows of."""
    kept = table_module.bounded  # type: ignore[attr-defined]
    patch.setattr(table_module, "bounded", lambda keys, columns, at_most: kept(keys, columns, at_most + 1))


def runs_are_paid_for(runs: Iterable[Run]) -> None:
    """Runs on tables that are quick to make."""
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            if not run.is_sampled:
                checked(run, Path(folder))


def quick_runs(numbers: Iterable[int]) -> Iterator[Run]:
    return (drawn(number, places=("dense", "memory")) for number in numbers)


def some_runs() -> None:
    runs_are_paid_for(quick_runs(range(9300, 9340)))


def some_rounds() -> None:
    """Of an algorithm that selects, where the number of records is private."""
    found = (run for run in quick_runs(range(9300, 9900)) if isinstance(run.algorithm, MWEM) and not run.learning)
    runs_are_paid_for(run for run in found if run.budget.neighbours is Neighbours.ADD_REMOVE)


def some_labels() -> None:
    runs_are_paid_for([run for run in quick_runs(range(9300, 9800)) if run.has_labels][:6])


def some_persons() -> None:
    runs_are_paid_for([run for run in quick_runs(range(9300, 9500)) if "person" in run.reading][:12])


MUTANTS = (
    Mutant("a random run: exact n under add-remove", exact_total_under_add_remove, some_runs),
    Mutant("a random run: exact n after a filter under replace", public_number_after_a_filter, some_runs),
    Mutant("a random run: the error estimate at half the scale", error_at_half_the_scale, some_runs),
    Mutant("a random run: an offset by the parity of n", offsets_by_the_parity_of_n, some_rounds),
    Mutant("a random run: a label at half its threshold", half_a_threshold, some_labels),
    Mutant("a random run: one record more of a person", one_record_more, some_persons),
)


@pytest.mark.audit
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_random_runs_notice_a_mutant(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
