"""Releases made by hand from a small table: a fixed model, some measurements, and the noisy error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hedgerow.domain import Binned, Categorical, Clique, Domain, IntegerRange
from hedgerow.privacy import ApproxDP, Budget, Curator, PureDP, SeededNoise, name_of_source
from hedgerow.queries import Marginal, Measurement, Workload
from hedgerow.release import Provenance, Release
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain(
    (
        Categorical("sex", ("Female", "Male")),
        IntegerRange("age", 0, 4),
        Categorical("job", ("clerk", "nurse", "teacher"), missing="?"),
        Binned("income", (0, 10, 20, 50), whole=True),
    )
)
TABLE = DenseTables.random(DOMAIN, 3_000, seed=3)
BUDGETS: tuple[Budget, ...] = (
    PureDP(1.0, "add-remove"),
    PureDP(1.0, "replace"),
    ApproxDP(1.0, 1e-6, "add-remove"),
    ApproxDP(1.0, 1e-6, "replace"),
)


def model_of(total: float, error: float = 0.3) -> DenseTables:
    """A hypothesis that is a good deal off: the table, mixed with another one."""
    other = DenseTables.random(DOMAIN, 1_000, seed=5).cells
    mixed = (1 - error) * TABLE.cells / TABLE.cells.sum() + error * other / other.sum()
    return DenseTables(DOMAIN, mixed * total)


Next = Callable[[Sequence[Measurement]], Clique | None]
"""Chooses the next marginal to measure from what was seen so far, or stops."""


def make_release(
    budget: Budget,
    seed: int,
    cliques: Sequence[Clique] = (),
    *,
    following: Next | None = None,
    workload: str = "marginals:2",
    error: bool = True,
) -> Release:
    """Measure marginals with a tenth of the budget each, then the error of a fixed model."""
    curator = Curator(TABLE, budget, noise=SeededNoise(seed))
    total = curator.total(0.05 * budget.limit)
    measurements = [curator.measure(Marginal(DOMAIN, clique), 0.1 * budget.limit) for clique in cliques]
    while following is not None and (clique := following(measurements)) is not None:
        measurements.append(curator.measure(Marginal(DOMAIN, clique), 0.1 * budget.limit))
    asked = Workload.parse(workload, DOMAIN)
    model = model_of(total)
    found = curator.workload_error(asked, asked.answers(model), 0.1 * budget.limit) if error else None
    return Release(
        model=model,
        workload=asked,
        budget=budget,
        events=curator.ledger.events,
        measurements=tuple(measurements),
        error=found,
        total=total,
        provenance=Provenance.record("by hand", {"seed": seed}, noise=name_of_source(SeededNoise(0))),
    )


def truth(text: str) -> float:
    """The exact answer."""
    from hedgerow.queries import parse_predicate

    query = parse_predicate(text, DOMAIN)
    table = TABLE.marginals([query.scope])[0] if query.scope else np.array(TABLE.cells.sum())
    return float(query.of_table(table)[0])
