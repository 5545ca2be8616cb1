"""The cells of the grid: what is asked of which table, under which budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from benchmarks.regret.tables import MAKERS, PAIRS, Half, half_of, table_of
from hedgerow import ApproxDP, PureDP, Table, Workload
from hedgerow.arrays import Floats
from hedgerow.comparison import MEAN, Yardstick
from hedgerow.queries import cliques_of_order

DELTA = 1e-9
EPSILONS = (0.1, 1.0, 10.0)
LARGEST = 10_000
"""Cells of the largest marginal of a workload that is capped."""

_MIXED = "marginals:2; prefixes:{last}; where: c0 = 1 and {last} < 3, c1 = 0 and c2 = 0 and c3 = 1"

_LINES = [name for pair, tables in PAIRS.items() if "lines" in pair for name in tables]

TASKS: dict[str, tuple[str, ...]] = {
    "small6": ("marginals:1", "marginals:2", "marginals:3", _MIXED.format(last="c5")),
    "small8": ("marginals:1", "marginals:2", "marginals:3", _MIXED.format(last="c7")),
    "czech": ("marginals:2", "marginals:3", "cells:6"),
    "rochdale": ("marginals:2", "marginals:3", "cells:8"),
    "nltcs": ("marginals:3", "parities:3"),
    "bits18": ("marginals:3", "parities:3"),
    "adult": (
        "marginals:2",
        "marginals:3 up to 10,000 cells",
        "marginals:2; prefixes:age; where: age < 30 and sex = 'Female', income = '>50K' and race = 'Black'",
    ),
    "acs": ("marginals:2", "marginals:3 up to 10,000 cells", "marginals:2; prefixes:AGEP", "PUMA and pairs"),
    "columns12": ("marginals:1", "marginals:2", "marginals:3", _MIXED.format(last="c11")),
    "columns20": ("marginals:1", "marginals:2", "marginals:3", _MIXED.format(last="c19")),
    "wide100": ("marginals:2", "parities:2"),
    "wide69": ("marginals:2", "parities:2"),
    "million8": ("marginals:2", "marginals:3 up to 10,000 cells", _MIXED.format(last="c7")),
    "million5": ("marginals:2", "marginals:3 up to 10,000 cells", _MIXED.format(last="c4")),
    "joint12": ("marginals:12", "cells:12"),
    "joint4": ("marginals:4", "cells:4"),
    **dict.fromkeys(_LINES, ("prefixes:c0", "ranges:c0:2000:0", "marginals:1")),
    **dict.fromkeys(("towns100", "towns256"), ("ranges:c0,c1:2000:0", "marginals:2")),
    "adult-hours": ("ranges:age,hours-per-week:2000:0", "marginals:2"),
    "acs-poverty": ("ranges:AGEP,POVPIP:2000:0", "marginals:2"),
}
"""Workloads by table, as texts; " up to 10,000 cells" leaves larger marginals out, "PUMA and pairs" are triples."""

_QUICK = {
    **dict.fromkeys(("small6", "small8"), ("marginals:2", "marginals:3")),
    **dict.fromkeys(("czech", "rochdale"), ("marginals:3", "cells:6", "cells:8")),
    **dict.fromkeys(("nltcs", "bits18"), ("marginals:3", "parities:3")),
    **dict.fromkeys(("columns12", "columns20"), ("marginals:2", _MIXED.format(last="c11"), _MIXED.format(last="c19"))),
    **dict.fromkeys(("wide100", "wide69"), ("parities:2",)),
    **dict.fromkeys(("joint12", "joint4"), ("marginals:12", "marginals:4")),
    **dict.fromkeys(("dense4096", "dense1000", "sparse4096", "sparse2000"), ("ranges:c0:2000:0",)),
    **dict.fromkeys(("smooth4096", "smooth500", "spiky4096", "spiky1500"), ("prefixes:c0",)),
    **dict.fromkeys(("towns100", "towns256", "adult-hours", "acs-poverty"), ("ranges",)),
}
"""Beginnings of the workloads of the quick grid, by table."""


@dataclass(frozen=True)
class Cell:
    """A table, a workload and an epsilon.

    Attributes:
        name: Name of the table.
        task: Text of the workload.
        epsilon: Budget; with delta = 1e-9 unless a single table answers everything, which is asked for under pure
            differential privacy.
    """

    name: str
    task: str
    epsilon: float

    @property
    def key(self) -> str:
        """The cell as one text."""
        return f"{self.name} | {self.task} | {self.epsilon:g}"

    @property
    def half(self) -> Half:
        """The half that its table belongs to."""
        return half_of(self.name)

    @property
    def quick(self) -> bool:
        """Whether it belongs to the quick grid."""
        return self.epsilon == 1.0 and self.task.startswith(_QUICK.get(self.name, ()))

    @property
    def table(self) -> Table:
        """The records."""
        return table_of(self.name)

    @cached_property
    def workload(self) -> Workload:
        """The queries."""
        domain, (text, _, capped) = self.table.domain, self.task.partition(" up to ")
        if capped:
            return Workload.marginals(domain, cliques=cliques_of_order(domain, int(text[-1]), LARGEST))
        if text == "PUMA and pairs":
            return Workload.marginals(domain, cliques=[c for c in cliques_of_order(domain, 3, LARGEST) if "PUMA" in c])
        return Workload.parse(text, domain)

    @property
    def pure(self) -> bool:
        """Whether the budget is pure epsilon."""
        return len(self.workload.scopes) == 1

    @property
    def budget(self) -> PureDP | ApproxDP:
        """The budget of every strategy, under "add-remove"."""
        return PureDP(self.epsilon) if self.pure else ApproxDP(self.epsilon, DELTA)

    @property
    def kind(self) -> str:
        """The kind of its workload, for drawings."""
        families = self.workload.families
        if len(families) > 1:
            return "mixed"
        if self.pure and families[0].tabular:
            return "one histogram"
        return families[0].spec.partition(":")[0]

    def error(self, answers: Floats, total: float) -> float:
        """Mean error of the candidates: total variation distances of marginals, single answers as shares of all.

        Args:
            answers: Answers to the workload, in counts, shape ``(n_queries,)``.
            total: Number of records that they speak of; each side is divided by its own.
        """
        floor = max(float(total), 1.0)
        return _yardstick(self).errors(np.asarray(answers, dtype=np.float64), floor)[MEAN]


@lru_cache(maxsize=1)
def _yardstick(cell: Cell) -> Yardstick:
    return Yardstick(cell.table, cell.workload)


def cells(*, quick: bool = False) -> Iterator[Cell]:
    """The cells of the whole or of the quick grid, table by table."""
    for name in MAKERS:
        for task in TASKS[name]:
            for epsilon in EPSILONS:
                cell = Cell(name, task, epsilon)
                if cell.quick or not quick:
                    yield cell
