"""An adaptive stream of 10,000 conditions about Adult, put to the three variants of online multiplicative weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from experiments.datasets import DataSets
from experiments.experiment import (
    REPETITION,
    Cell,
    Claim,
    Drawing,
    Experiment,
    Measured,
    Size,
    Tolerance,
    seed_of,
)
from experiments.online_pmw.adult import RECORDS, adult
from experiments.online_pmw.analyst import Analyst, Heard
from experiments.online_pmw.stream_drawings import drawings_of
from experiments.online_pmw.stream_findings import (
    CORRECTIONS,
    FITTED,
    FREE,
    LARGEST,
    LARGEST_TESTED,
    LATE,
    MEAN,
    MISSED,
    PLANNED,
    PROMISED,
    REFUSED,
    SO_FAR,
    TESTED,
    THEOREM,
    UNIFORM,
    budget_of,
    claims_of,
    variant_of,
)
from experiments.results import Results
from hedgerow.algorithms.online_pmw import OnlinePMW, OnlineSession
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram
from hedgerow.privacy import SeededNoise, exact_answers, exact_total
from hedgerow.queries import Workload

QUESTIONS = {Size.FULL: 10_000, Size.QUICK: 3_000, Size.TINY: 150}
REPETITIONS = {Size.FULL: 3, Size.QUICK: 1, Size.TINY: 1}

Place = tuple[int, float]
"""Number of records, and epsilon."""
_LARGE, _VERY_LARGE, _LARGEST = 20 * RECORDS, 400 * RECORDS, 20_000 * RECORDS
_SMALL: tuple[Place, ...] = ((10_000, 1.0), (RECORDS, 0.1), (RECORDS, 0.3), (RECORDS, 1.0), (RECORDS, 3.0))
PLACES: Mapping[Size, tuple[tuple[Place, ...], tuple[Place, ...]]] = {
    Size.FULL: ((*_SMALL, (_LARGE, 1.0), (_VERY_LARGE, 1.0)), ((_LARGEST, 1.0),)),
    Size.QUICK: ((_SMALL[0], *_SMALL[2:4]), ((_LARGE, 1.0), (_VERY_LARGE, 1.0))),
    Size.TINY: (_SMALL[:1], ((_VERY_LARGE, 1.0),)),
}
"""Places for all variants, and places for those that go by a theorem."""
_MARKS = (10, 30, 100, 300, 1_000, 3_000, 10_000)


class AdaptiveStream(Experiment):
    """Errors, corrections and free answers against the number of records and epsilon."""

    name: ClassVar[str] = "online-pmw-stream"
    title: ClassVar[str] = "An adaptive stream of 10,000 questions"
    source: ClassVar[str] = "M. Hardt, G. Rothblum 2010; theory.md section 4, variants 4a, 4b and 4c"
    grid: ClassVar[tuple[str, ...]] = ("variant", "records", "epsilon", "questions", REPETITION)
    within: ClassVar[tuple[str, ...]] = ("asked",)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        MEAN: Tolerance(relative=0.3),
        LARGEST: Tolerance(relative=0.4),
        LARGEST_TESTED: Tolerance(relative=0.4),
        UNIFORM: Tolerance(relative=0.05),
        PROMISED: Tolerance(relative=1e-6),
        PLANNED: Tolerance(relative=1e-6),
        CORRECTIONS: Tolerance(relative=0.2, absolute=3.0),
        FREE: Tolerance(absolute=0.03),
        TESTED: Tolerance(absolute=0.4),
        MISSED: Tolerance(absolute=0.01),
        REFUSED: Tolerance(),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """All variants at most places, and those with a theorem at very large tables too."""
        everywhere, large = PLACES[size]
        return [
            {
                "variant": variant,
                "records": records,
                "epsilon": epsilon,
                "questions": QUESTIONS[size],
                REPETITION: repetition,
            }
            for repetition in range(1, REPETITIONS[size] + 1)
            for variant in (*THEOREM, *FITTED)
            for records, epsilon in (*everywhere, *(large if variant in THEOREM else ()))
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Start a session and put the stream to it; where it refuses that is all that there is to say."""
        table = adult(data, int(cell["records"]), seed_of("records", {REPETITION: cell[REPETITION]}))
        try:
            session = _session(cell, table, seed_of(self.name, cell))
        except ConfigError:
            return [Measured(REFUSED, 1.0)]
        analyst = Analyst(table.domain, seed_of("analyst", {REPETITION: cell[REPETITION]}))
        heard = analyst.stream(session, int(cell["questions"]), float(cell["records"]))
        return [Measured(REFUSED, 0.0), *_of_session(session), *_of_stream(heard, table)]

    def claims(self, found: Results) -> list[Claim]:
        """The promises of the theorems, and the purpose of the mechanism."""
        return claims_of(found)

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Against the number of records, against epsilon, and along the stream."""
        return drawings_of(found)


def _session(cell: Cell, table: Table, seed: int) -> OnlineSession:
    name = str(cell["variant"])
    online = OnlinePMW(
        variant=variant_of(name),
        queries=int(cell["questions"]),
        step="theorem" if name in THEOREM else None,
    )
    return online.start(table, budget_of(name, float(cell["epsilon"])), noise=SeededNoise(seed))


def _of_session(session: OnlineSession) -> Iterator[Measured]:
    rules, total = session.rules, float(session.summary()["total"])
    yield Measured(PLANNED, rules.updates)
    yield Measured(CORRECTIONS, rules.updates - session.updates_left)
    if rules.error is not None:
        yield Measured(PROMISED, rules.error / total)


def _of_stream(heard: Sequence[Heard], table: Table) -> Iterator[Measured]:
    """Everything that is measured about the answers; errors are fractions of the records."""
    asked, total = Workload.conjunctions(table.domain, [each.question for each in heard]), exact_total(table)
    exact = exact_answers(table, asked)
    errors = np.abs(exact - [each.answer.value for each in heard]) / total
    yield Measured(MEAN, float(errors.mean()))
    yield Measured(LARGEST, float(errors.max()))
    yield Measured(UNIFORM, float(np.abs(asked.answers(Histogram(table.domain, total)) - exact).mean()) / total)
    corrected = np.array([each.corrected for each in heard])
    yield Measured(FREE, 1.0 - float(corrected.mean()))
    yield from _of_intervals(heard, exact, errors)
    start = 0
    for mark in (mark for mark in _MARKS if mark <= len(heard)):
        yield Measured(SO_FAR, float(corrected[:mark].sum()), {"asked": mark})
        yield Measured(LATE, float(errors[start:mark].mean()), {"asked": mark})
        start = mark


def _of_intervals(heard: Sequence[Heard], exact: Floats, errors: Floats) -> Iterator[Measured]:
    ends = np.array([(each.answer.low, each.answer.high) for each in heard], dtype=np.float64)  # None becomes nan
    told = np.isfinite(ends).all(axis=1)
    outside = (exact[told] < ends[told, 0]) | (exact[told] > ends[told, 1])
    yield Measured(TESTED, float(told.mean()))
    yield Measured(MISSED, float(outside.mean()) if told.any() else 0.0)
    yield Measured(LARGEST_TESTED, float(errors[told].max(initial=0.0)))
