"""Which queries the noisy maximum of the errors says something about."""

from __future__ import annotations

import numpy as np

from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.domain import Domain
from hedgerow.privacy.mechanisms.additive_noise import LaplaceNoise
from hedgerow.privacy.workload_error import WorkloadError
from hedgerow.queries.core.query import Conjunction, Explicit, LinearQuery, Parity
from hedgerow.queries.core.sensitivity import Neighbours
from hedgerow.queries.workload import Workload
from hedgerow.release.evidence.workload_error import from_workload_error

NOISE = LaplaceNoise(2.0)


def covered(query: LinearQuery, workload: Workload) -> bool:
    error = WorkloadError(20.0, 20.0, NOISE, NOISE, n_candidates=workload.n_candidates, unit=1.0)
    options = {"workload": workload, "error": error, "neighbours": Neighbours.REPLACE, "total_slack": 0.0}
    return from_workload_error(query, 5.0, **options) is not None  # type: ignore[arg-type]


def test_one_of_very_many_parities_is_found_however_it_is_written() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(300))
    workload = Workload.parities(domain, 2)
    assert workload.n_candidates > 40_000
    assert covered(Parity(domain, ("x298", "x299")), workload)
    assert covered(Explicit.of(domain, ("x7", "x250"), np.array([1.0, -1.0, -1.0, 1.0])), workload)
    assert not covered(Parity(domain, ("x1", "x2", "x3")), workload)
    assert not covered(Conjunction.where(domain, {"x7": [0], "x250": [1]}), workload)


def test_conditions_are_compared_with_those_of_the_same_attributes() -> None:
    domain = Domain(IntegerRange(name, 0, 3) for name in "abc")
    workload = Workload.conjunctions(domain, ["a = 1", "b = 1 and c = 2", "b = 0 and c = 2"])
    assert covered(Conjunction.where(domain, {"b": [0], "c": [2]}), workload)
    assert not covered(Conjunction.where(domain, {"b": [3], "c": [2]}), workload)
    assert not covered(Conjunction.where(domain, {"b": [1]}), workload)
