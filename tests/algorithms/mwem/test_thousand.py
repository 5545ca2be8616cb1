"""MWEM where neither the domain nor the candidates can be gone through one by one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Markov
from hedgerow.privacy import ApproxDP, PureDP, SeededNoise
from hedgerow.queries import Parities, Workload
from hedgerow.release import Release


def bits(n: int) -> Domain:
    return Domain(IntegerRange(f"x{i}", 0, 1) for i in range(n))


def copies(n: int, records: int, seed: int) -> Table:
    """Every other attribute is the one before it, but for one record in ten."""
    rng = np.random.default_rng(seed)
    columns = []
    for index in range(n):
        flips = rng.random(records) < (0.1 if index % 2 else 0.5)
        columns.append(flips ^ columns[-1] if index % 2 else flips)
    return Table(bits(n), [column.astype(np.uint8) for column in columns])


@pytest.mark.slow
def test_twenty_thousand_candidates_are_chosen_from_by_one_draw_each_and_the_right_ones_are_found() -> None:
    """100 of 20,100 parities are 0.8 of the records, the others next to 0; a hundred rounds find nearly all."""
    table = copies(200, 20_000, 0)
    workload = Workload.parities(table.domain, 2)
    release = MWEM(rounds=100).run(table, workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(0))
    chosen = [event for event in release.events if event.label == "select"]
    assert [event.mechanism for event in chosen] == ["exponential mechanism, one draw"] * 100
    assert chosen[99].target == "worst of 20,001 candidates"
    assert release.spent <= release.budget.limit
    assert release.spent > release.budget.limit * (1.0 - 1e-9)
    pairs = {measured.target.scope for measured in release.measurements}
    assert sum((f"x{i}", f"x{i + 1}") in pairs for i in range(0, 200, 2)) >= 95
    assert isinstance(release.model, Markov)
    assert release.model.cells < 1_000


@pytest.mark.slow
def test_attributes_beside_the_workload_change_nothing() -> None:
    """The same seed, the same records and candidates, and thirty more attributes: the same measurements."""
    narrow = copies(40, 5_000, 1)
    rng = np.random.default_rng(2)
    wide = Table(bits(70), [*narrow.columns, *rng.integers(0, 2, size=(30, 5_000), dtype=np.uint8)])
    sets = Workload.parities(narrow.domain, 2).scope_axes
    found = []
    for table in (narrow, wide):
        workload = Workload([Parities(table.domain, sets)])
        release = MWEM(rounds=12).run(table, workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(3))
        found.append([(measured.target.scope, measured.values.tolist()) for measured in release.measurements])
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_domain_beyond_all_floats_is_planned_run_saved_and_asked(tmp_path: Path) -> None:
    """2^1200 cells, of which no float knows."""
    table = copies(1_200, 300, 4)
    assert math.log10(table.domain.size) > 361
    workload = Workload.parities(table.domain, 1)
    for rounds in (4, "auto", "bound", "annealed"):
        plan = MWEM(rounds=rounds).plan(workload, PureDP(1.0), 300.0)  # type: ignore[arg-type]
        assert any("10^361" in sentence for _, sentence in plan.lines(300.0))
        assert json.dumps(plan.to_dict())
    release = MWEM(rounds=4).run(table, workload, PureDP(1.0), noise=SeededNoise(0))
    release.save(tmp_path / "wide.release")
    loaded = Release.load(tmp_path / "wide.release")
    assert loaded.workload == workload
    assert len(loaded.sample(10)) == 10
    assert loaded.answer("x0 = 1").value >= 0.0
