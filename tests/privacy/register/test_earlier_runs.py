"""Without a register, a second release of one table warns."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM, IndependentNoise, OnlinePMW
from hedgerow.comparison import compare
from hedgerow.data import Table, scan_table
from hedgerow.errors import ConfigError, UnregisteredWarning
from hedgerow.privacy import ZCDP, OpenDPNoise, PureDP, Register, SeededNoise
from hedgerow.privacy.register import earlier_runs
from hedgerow.queries import Workload
from tests.privacy.tables import binary

DOMAIN = binary(2)
PAIRS = Workload.marginals(DOMAIN, 2)
BUDGET = PureDP(1.0)

Run = Callable[..., object]


def table() -> Table:
    return Table(DOMAIN, [np.array([0, 1] * 200), np.array([0, 0, 1, 1] * 100)])


def run(source: Any, **named: Any) -> object:
    return MWEM(rounds=1).run(source, PAIRS, BUDGET, **named)


def start(source: Any, **named: Any) -> object:
    return OnlinePMW(updates=1).start(source, BUDGET, **named)


@pytest.mark.parametrize("second", [run, start])
@pytest.mark.parametrize("first", [run, start])
def test_a_second_release_of_one_object_warns(first: Run, second: Run) -> None:
    people = table()
    first(people)
    with pytest.warns(UnregisteredWarning, match=r"released before(?s:.*)Remedy: keep a register") as caught:
        second(people, noise=OpenDPNoise())
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]


def test_a_table_where_it_is_warns_too(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n" + "0,1\n1,1\n" * 100)
    people = scan_table(tmp_path / "people.csv", DOMAIN)
    run(people)
    with pytest.warns(UnregisteredWarning):
        run(people)


def test_a_session_that_counts_the_earlier_release_does_not_warn() -> None:
    people = table()
    release = MWEM(rounds=1).run(people, PAIRS, PureDP(0.5))
    start(people, warm=release)
    with pytest.warns(UnregisteredWarning):
        start(people)


def test_another_object_does_not_warn() -> None:
    for _ in range(3):
        run(table())


def test_seeded_runs_are_neither_counted_nor_warned_of() -> None:
    people = table()
    run(people, noise=SeededNoise(0))
    run(people)
    run(people, noise=SeededNoise(0))


def test_a_register_keeps_the_sum(tmp_path: Path) -> None:
    people, register = table(), Register(tmp_path / "r", PureDP(9.0))
    for _ in range(2):
        run(people, register=register)
        start(people, register=register)
    with pytest.warns(UnregisteredWarning):
        run(people)


def test_comparisons_are_no_releases() -> None:
    people = table()
    run(people)
    compare(people, PAIRS, budgets=[BUDGET], algorithms=["laplace"], repeats=2)


def test_nothing_is_kept_alive_or_mistaken_for_what_is_gone() -> None:
    people = table()
    run(people)
    gone = weakref.ref(people)
    del people
    gc.collect()
    assert gone() is None
    known = earlier_runs._Objects()
    for _ in range(100):  # objects one after the other, at the same addresses as often as not
        another = table()
        assert another not in known
        known.add(another)
        assert another in known
        del another
    assert not known._known


def test_objects_that_cannot_be_remembered_do_not_warn() -> None:
    known = earlier_runs._Objects()
    known.add(())
    assert () not in known


def test_a_run_that_was_refused_is_no_release() -> None:
    people = table()
    with pytest.raises(ConfigError):
        IndependentNoise(noise="gaussian").run(people, PAIRS, BUDGET)
    with pytest.raises(ConfigError):
        OnlinePMW(variant="4a").start(people, ZCDP(0.5))
    run(people)


def test_a_run_that_failed_after_it_spent_is_one() -> None:
    def stop(_: object) -> None:
        raise ZeroDivisionError

    people = table()
    with pytest.raises(ZeroDivisionError):
        run(people, progress=stop)
    with pytest.warns(UnregisteredWarning):
        run(people)


def test_the_warning_can_be_turned_off() -> None:
    people = table()
    run(people)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnregisteredWarning)
        run(people)
