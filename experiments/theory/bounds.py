"""Every accuracy bound of theory.md beside the errors of seeded runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

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
from experiments.results import Results
from experiments.theory import mw_studies, pmw_studies, release_studies
from experiments.theory.bound_claims import attained, best_rounds, kept, near, sharp_steps, unpromised
from experiments.theory.sheets import MOST_FAILURE, PASSED, WHATS, Sheet, bound_on
from experiments.theory.study import ERROR, GAP, UPDATES, Reading

STUDIES = {each.key: each for each in (*mw_studies.STUDIES, *pmw_studies.STUDIES, *release_studies.STUDIES)}

SHEETS = {
    "mwem": (
        Sheet("claim 1", "Claim 1: exact answers, no noise"),
        Sheet("updates", "Updates: fixed steps until no error of alpha", UPDATES),
        Sheet("theorem 2.3", "Theorem 2.3: epsilon = 1, n = 215,740"),
        Sheet("corollary 2.5", "Corollary 2.5: epsilon = 1, balanced T"),
        Sheet("corollary 2.6", "Corollary 2.6: zCDP, T of the smallest bound"),
        Sheet("games", "Regret: Hedge against best responses", GAP),
    ),
    "online": (
        Sheet("offline", "offline PMW, epsilon = 1, n as required"),
        Sheet("offline", "offline PMW, epsilon = 1, n as required", UPDATES),
        Sheet("too few records", "offline PMW, alpha = 0.05"),
        Sheet("online 4a", "online PMW, 4a, epsilon = 1 and 0.9"),
        Sheet("online 4b, 4c", "online PMW, 4b and 4c, epsilon = 1"),
        Sheet("online 4b, 4c", "online PMW, 4b and 4c, epsilon = 1", UPDATES),
    ),
    "baselines": (
        Sheet("dual query", "DualQuery, epsilon = 1, n as required"),
        Sheet("sample", "DualQuery on half of the records"),
        Sheet("noise", "noise, epsilon = 1 or rho = 0.5"),
        Sheet("parities", "noisy parities, epsilon = 1"),
        Sheet("small databases", "SmallDB, epsilon = 1"),
    ),
}
"""By the ending of the drawing."""

_WORDS = {
    "mwem": "errors of multiplicative weights, of MWEM and of games (sections 1, 2 and 7)",
    "online": "errors of offline and online PMW (sections 3 and 4)",
    "baselines": "errors of DualQuery, with and without a sample, and of the baselines (sections 5, 6 and 8)",
}
_ROUNDING = 1e-12
_CAPTIONS = {
    "mwem": "Largest errors of single queries, numbers of updates and gaps of games, beside their bounds.",
    "online": "Errors and updates of PMW, offline and against an analyst who knows the table, beside the theorems'.",
    "baselines": "Largest errors of single queries beside the bounds that they pass with probability 0.05 at most.",
}


class Bounds(Experiment):
    """All studies."""

    name: ClassVar[str] = "theory-bounds"
    title: ClassVar[str] = "Every accuracy bound beside the measured error"
    source: ClassVar[str] = "docs/theory.md, sections 1 to 8"
    grid: ClassVar[tuple[str, ...]] = ("topic", "run", "parameter", "at", "repetition")
    within: ClassVar[tuple[str, ...]] = ("bound",)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        ERROR: Tolerance(relative=0.25, absolute=0.002),
        UPDATES: Tolerance(relative=0.15, absolute=1.5),
        GAP: Tolerance(relative=0.1),
        **{bound_on(what): Tolerance(relative=1e-4) for what in WHATS},
        PASSED: Tolerance(absolute=0.3),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """All studies, the repetition outermost."""
        found: list[Cell] = [
            {"topic": each.topic, "run": each.run, "parameter": each.parameter, "at": place, REPETITION: run}
            for each in STUDIES.values()
            for place, run in each.grid(size)
        ]
        return sorted(found, key=lambda cell: int(cell[REPETITION]))

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """One run."""
        study = STUDIES[str(cell["topic"]), str(cell["run"])]
        for reading in study.read(float(cell["at"]), seed_of(self.name, cell), data):
            yield from _measured(reading)

    def claims(self, found: Results) -> list[Claim]:
        """Whether the bounds hold, how loose they are, and what they are good for."""
        return [
            kept(found),
            *(near(found, words, (ERROR, GAP), _topics(ending)) for ending, words in _WORDS.items()),
            near(found, "numbers of updates", (UPDATES,), found.texts("topic")),
            *sharp_steps(found),
            *best_rounds(found),
            *unpromised(found),
            *attained(found),
        ]

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Three sheets of panels."""
        return {
            ending: Drawing([sheet.panel(found) for sheet in sheets], "", _CAPTIONS[ending])
            for ending, sheets in SHEETS.items()
        }


def _measured(reading: Reading) -> Iterable[Measured]:
    yield Measured(reading.what, reading.value)
    for each in reading.ceilings:
        where = {"bound": each.name}
        yield Measured(bound_on(reading.what), each.value, where)
        yield Measured(MOST_FAILURE, each.failure, where)
        yield Measured(PASSED, float(reading.value > each.value * (1.0 + _ROUNDING)), where)


def _topics(ending: str) -> list[str]:
    return list(dict.fromkeys(sheet.topic for sheet in SHEETS[ending]))
