"""Figure 6: the made-up records, the stopwatch, and claims that can be false."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.experiment import Measured, Size
from experiments.mwem import scaling
from experiments.mwem.binary import BLOCK, blocks
from experiments.mwem.scaling import Scaling
from experiments.mwem.timing import Stopwatch, timed_run
from experiments.results import Results
from numpy.typing import NDArray

from hedgerow import MWEM
from hedgerow.algorithms import RoundReport
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import AnswersParities, Workload

TABLE = blocks(6, records=500)
PAIRS = Workload.parities(TABLE.domain, 2)


def test_blocks_hang_together_and_do_not_depend_on_how_many_there_are() -> None:
    """Every attribute of the block correlates with another one of it by 0.02 at least; chance makes 0.003."""
    few, many = blocks(BLOCK), blocks(BLOCK + 4)
    assert all(np.array_equal(a, b) for a, b in zip(few.columns, many.columns, strict=False))
    correlations = np.abs(np.corrcoef(np.array(many.columns, dtype=float)))
    inside, across = correlations[1:BLOCK, :BLOCK], correlations[BLOCK:, :BLOCK]
    assert np.max(np.where(inside == 1.0, 0.0, inside), axis=1).min() > 0.02
    assert across.max() < 5.0 / np.sqrt(many.total())
    assert not np.array_equal(blocks(3, seed=1).columns, blocks(3, seed=2).columns)


def test_a_stopwatch_changes_nothing() -> None:
    watch = Stopwatch(TABLE)
    assert isinstance(watch, AnswersParities)
    assert PAIRS.answers(watch).tolist() == PAIRS.answers(TABLE).tolist()
    found = timed_run(TABLE, PAIRS, MWEM(rounds=4), PureDP(1.0), noise=SeededNoise(1)).release
    plain = MWEM(rounds=4).run(TABLE, PAIRS, PureDP(1.0), noise=SeededNoise(1))
    assert [each.values.tolist() for each in found.measurements] == [
        each.values.tolist() for each in plain.measurements
    ]


def test_times_are_divided_among_the_data_and_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at a clock is a tick, so that an answer of the table takes one."""
    ticks, asked, told = iter(range(10_000)), list[object](), list[RoundReport]()
    parities = Table.parities

    def counted(table: Table, scopes: NDArray[np.int64]) -> Floats:
        asked.append(scopes)
        return parities(table, scopes)

    monkeypatch.setattr(Table, "parities", counted)
    monkeypatch.setattr("time.process_time", lambda: float(next(ticks)))
    run = timed_run(TABLE, PAIRS, MWEM(rounds=4), PureDP(1.0), noise=SeededNoise(1), look=told.append)
    assert run.counting == len(asked) > 0
    assert len(run.rounds) == len(told) == 4
    assert sum(run.rounds) == run.ends[-1] < run.seconds
    assert run.counting + run.seconds == next(ticks) - 1


def made_up(power: float, counting: float) -> Results:
    """Results where the time of MWEM grows with some power and counting takes some part of it."""
    values = []
    for n in (10, 100, 1000):
        times = {scaling.ROUNDS: n**power, scaling.COUNTING: counting * n**power, scaling.PER_ROUND: n ** (power - 1)}
        errors = {scaling.MEAN_ERROR: 0.1, scaling.LARGEST_ERROR: 0.2, scaling.MEAN_BEFORE: 0.3}
        total = {scaling.TOTAL: 1e-3 * (1.0 + counting) * n**power, scaling.CLOCK: 1.0}
        cell = {"attributes": n, "repetition": 1}
        values += [(cell, Measured(name, value)) for name, value in (times | errors | total).items()]
    return Results.of(values)


@pytest.mark.parametrize(("power", "holds"), [(1.4, True), (3.2, False)])
def test_claims_about_growth_can_fail(power: float, holds: bool) -> None:
    claims = {claim.text.split(" ")[0]: claim for claim in Scaling().claims(made_up(power, 1e-5))}
    assert claims["as"].holds == claims["the"].holds == claims["a"].holds == holds
    assert claims["counting"].holds
    assert claims["so"].holds


def test_the_longest_run_is_made_once() -> None:
    counts = [cell["attributes"] for cell in Scaling().cells(Size.FULL)]
    assert [counts.count(each) for each in (10, 300, 1000)] == [3, 3, 1]
