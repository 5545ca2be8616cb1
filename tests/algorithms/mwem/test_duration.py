"""Times that a plan tells: what they grow with. Whether they are right is for the benchmarks to say."""

from __future__ import annotations

import pytest

import hedgerow.algorithms.mwem.plan as plan_module
from hedgerow import MWEM, ApproxDP, Domain, IntegerRange, Workload
from tests.privacy.mutants import Mutant, Patch, killed

BUDGET = ApproxDP(1.0, 1e-9)


@pytest.fixture(autouse=True)
def _one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "slowness", lambda: 1.0)


def seconds(sizes: list[int], text: str = "marginals:2", total: float = 1e4, config: MWEM | None = None) -> float:
    domain = Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes))
    return (config or MWEM()).plan(Workload.parse(text, domain), BUDGET, total).seconds


def test_more_records_take_longer_by_what_reading_and_drawing_them_takes() -> None:
    few, many = (seconds([4] * 5, total=total) for total in (1e4, 1e8))
    assert few < 5.0
    assert many - few == pytest.approx(5 * (1e8 - 1e4) * 50e-9, rel=0.05)


@pytest.mark.parametrize(
    ("smaller", "larger", "text"),
    [
        ([2] * 40, [2] * 80, "marginals:2"),  # tables that no tree holds together
        ([8] * 6, [8] * 8, "marginals:2"),  # a histogram
        ([30] * 12, [30] * 24, "marginals:3<=30000"),  # rounds over trees
        ([100] * 3, [1000] * 3, "marginals:2"),  # noise of very many cells
        ([2] * 10, [2] * 16, "parities:2"),
    ],
)
def test_what_is_larger_takes_longer(smaller: list[int], larger: list[int], text: str) -> None:
    assert 1.0 < seconds(smaller, text) < seconds(larger, text)


def test_more_rounds_and_more_sweeps_take_longer() -> None:
    from hedgerow.models import Sweeps

    few, many = (seconds([8] * 6, config=MWEM(rounds=rounds)) for rounds in (3, 12))
    assert few < many
    once, often = (seconds([8] * 6, config=MWEM(rounds=9, refit=Sweeps(sweeps))) for sweeps in (1, 100))
    assert once < often


def test_a_slow_machine_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = seconds([4] * 5)
    monkeypatch.setattr(plan_module, "slowness", lambda: 3.0)
    assert seconds([4] * 5) == pytest.approx(3.0 * usual)


def process(sizes: list[int], text: str = "marginals:2", total: float = 1e4) -> float:
    """MiB of the whole process that a plan tells."""
    domain = Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes))
    return MWEM().plan(Workload.parse(text, domain), BUDGET, total).process_bytes / 2**20


def a_process_has_libraries_records_tables_and_cells_in_it() -> None:
    small = process([4] * 5)
    assert 200.0 < small < 400.0
    assert process([4] * 5, total=1e9) - small > 1e9 * 5 / 2**20
    assert process([2] * 80) - process([2] * 40) > 2_000 * (80 * 79 - 40 * 39) / 2 / 2**20
    assert process([100] * 2 + [40] * 2) > process([10] * 2 + [4] * 2)
    domain = Domain([IntegerRange("x", 0, 1)])
    none, many = (plan_module.process_bytes(domain, 1e4, 0, measured=n, values=2 * n, queries=n) for n in (0, 10_000))
    assert many - none > 2_000 * 10_000


def _constant(name: str) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(f"hedgerow.algorithms.shared.plans.{name}", 0)


MUTANTS = [
    Mutant(f"a process without {what}", _constant(name), a_process_has_libraries_records_tables_and_cells_in_it)
    for what, name in (
        ("its libraries", "_PROCESS"),
        ("codes of its records", "_CODE"),
        ("its measurements", "_MEASUREMENT"),
    )
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_memory_that_is_forgotten_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_rounds_over_few_of_many_tables_are_not_planned_as_a_list_of_all_cells() -> None:
    sizes = [2, 3, 4] * 6  # 2^26 cells and more, of which 18 columns and a few pairs need next to none
    assert seconds(sizes, total=3_651.0) < 30.0
    assert process(sizes, total=3_651.0) < 400.0


def test_a_process_that_does_not_fit_is_told_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(60))
    monkeypatch.setattr(plan_module, "usable_bytes", lambda: 1 << 20)
    plan = MWEM().plan(Workload.parse("marginals:2", domain), BUDGET, 1e6)
    assert not plan.fits
    assert "DOES NOT FIT into 1 MiB" in dict(plan.lines(1e6))["memory"]
