"""The dense hypothesis: the contract, long adversarial histories, slices, threads and memory."""

from __future__ import annotations

import gc
import itertools
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.models import KINDS, Histogram, Kind, Model, RowLayout, required_bytes
from hedgerow.models.core import memory
from hedgerow.models.dense import cells, histogram as histograms, layout as layouts
from hedgerow.queries import Conjunction
from tests.examples import examples
from tests.models.contract import LeveledContract, Makes, ModelContract
from tests.models.strategies import cliques, conjunctions, domain_of, domains, leveled_domains, leveled_queries
from tests.reference.dense_model import DenseModel


class Histograms(Makes):
    def make(self, domain: Domain, total: float) -> Histogram:
        return Histogram(domain, total)

    def reload(self, model: Model) -> Model:
        return Histogram.from_potentials(model.domain, model.total, model.potentials())


class InThreads:
    """Every pass is cut into parts."""

    @pytest.fixture(autouse=True)
    def _many_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cells, "PARALLEL_CELLS", 0)
        monkeypatch.setattr(cells, "_threads", lambda: 3)


class InSmallBlocks:
    """Rows and blocks are so short that small domains have several axes of each kind."""

    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layouts, "ROW_CELLS", 4)
        monkeypatch.setattr(layouts, "BLOCK_CELLS", 12)
        monkeypatch.setattr(cells, "_PASS_PER_CELL", 1)


class StepsInTables:
    """Weights are rebuilt often, from tables that all steps were added to."""

    @pytest.fixture(autouse=True)
    def _in_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(histograms, "_CELLS_OF_TABLE", 1)
        monkeypatch.setattr(histograms, "LOG_RANGE", 1.0)


class TestContract(Histograms, ModelContract): ...


class TestContractInTables(StepsInTables, TestContract): ...


class TestContractInThreads(InThreads, TestContract): ...


class TestLevels(Histograms, LeveledContract): ...


class TestLevelsInTables(StepsInTables, TestLevels): ...


class TestLevelsInSmallBlocks(InSmallBlocks, InThreads, TestLevels): ...


def relative_gap(found: Floats, expected: Floats) -> float:
    return float(np.max(np.abs(found - expected) / expected.sum()))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_adversarial_updates(seed: int) -> None:
    """Cells are driven down by e**-2000 and brought back, by slices and by tables, in random order."""
    domain = domain_of(3, 2, 4, 2)
    rng = np.random.default_rng(seed)
    model, reference = Histogram(domain, 1000.0), DenseModel(domain, 1000.0)
    asked = [Conjunction.where(domain, {"x0": [i], "x2": [j]}) for i in range(3) for j in range(4)]
    pairs = list(itertools.combinations(domain.names, 2))
    stack: list[tuple[Conjunction, float]] = []
    for i in range(3000):
        draw = rng.integers(6)
        if draw == 0:
            query, step = asked[rng.integers(12)], float(rng.choice([-2000.0, -700.0, -120.0, 35.0]))
            stack.append((query, step))
        elif draw == 1 and stack:
            query, step = stack.pop(rng.integers(len(stack)))
            step = -step
        else:
            query, step = asked[rng.integers(12)], float(rng.normal(0, 5))
        if draw == 2:
            clique = pairs[rng.integers(len(pairs))]
            table = rng.normal(0, 30, domain.shape_of(clique))
            model.reweigh(clique, table)
            reference.reweigh(clique, table)
        else:
            model.update(query, step)
            reference.update(query, step)
        if i % 20 == 0:
            clique = pairs[rng.integers(len(pairs))]
            assert relative_gap(model.marginals([clique])[0], reference.marginal(clique)) < 1e-9
            assert relative_gap(model.conjunctions(asked), np.array([reference.answer(q) for q in asked])) < 1e-9
    for query, step in stack:
        model.update(query, -step)
        reference.update(query, -step)
    assert relative_gap(model.marginals([domain.names])[0], reference.cells) < 1e-9
    assert np.isfinite(model.weights()[0]).all()


def test_a_vanished_cell_revives_exactly() -> None:
    domain = domain_of(2, 3)
    cell = Conjunction.where(domain, {"x0": [1], "x1": [2]})
    model = Histogram(domain, 6.0)
    for step in (-1500.0, -1500.0, 2000.0, 1000.0):
        model.update(cell, step)
    np.testing.assert_allclose(model.marginals([domain.names])[0], 1.0, rtol=1e-13)


def test_the_tracked_mass_survives_cancellation() -> None:
    """Nearly all mass goes and comes in small steps, so that a sum tracked by differences alone would be lost."""
    domain = domain_of(2, 2, 2)
    model, reference = Histogram(domain, 1.0), DenseModel(domain, 1.0)
    half, other = (Conjunction.where(domain, {"x0": [code]}) for code in (0, 1))
    for step in [-6.0] * 30 + [6.0] * 20:
        for query, signed in ((half, step), (other, step / 3)):
            model.update(query, signed)
            reference.update(query, signed)
        assert model.conjunctions([half])[0] == pytest.approx(reference.answer(half), rel=1e-10)


@given(st.data(), domains, st.sampled_from(sorted(KINDS)), st.integers(1, 4))
def test_a_sweep_equals_steps_one_by_one(data: st.DataObject, domain: Domain, kind: Kind, sweeps: int) -> None:
    asked = data.draw(st.lists(conjunctions(domain), min_size=1, max_size=5))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    targets, rates = rng.uniform(-0.2, 1.2, len(asked)), rng.uniform(0.1, 30.0, len(asked))
    model, reference = Histogram(domain, 10.0), DenseModel(domain, 1.0)
    kept = targets.copy()
    model.sweep(asked, targets, rates, sweeps, kind)
    assert np.array_equal(targets, kept)  # those of joint steps change inside alone
    for q in list(range(len(asked))) * sweeps:
        before = reference.answer(asked[q])
        if kind != "explicit" and 1e-12 < before < 1 - 1e-12:
            step = solved(before, targets[q], rates[q])
        elif kind != "explicit":
            return
        else:
            step = rates[q] * (targets[q] - before)
        reference.update(asked[q], step)
        if kind == "joint":
            targets[q] = reference.answer(asked[q])
    np.testing.assert_allclose(model.marginals([domain.names])[0] / 10.0, reference.cells, rtol=1e-7, atol=1e-10)


def solved(mu: float, target: float, dt: float) -> float:
    """By bisection: the step s with ``s = dt (target - p)``."""
    low, high = dt * (target - 1.0), dt * target
    for _ in range(200):
        step = 0.5 * (low + high)
        odds = np.exp(step) * mu / (1.0 - mu)
        low, high = (step, high) if step < dt * (target - odds / (1.0 + odds)) else (low, step)
    return 0.5 * (low + high)


def test_a_sweep_survives_targets_that_empty_the_domain() -> None:
    domain = domain_of(2, 2)
    asked = [Conjunction.where(domain, {"x0": [i], "x1": [j]}) for i in range(2) for j in range(2)]
    model = Histogram(domain, 100.0)
    model.sweep(asked, np.array([-50.0, -1.0, 80.0, -3.0]), np.full(4, 400.0), 50, "explicit")
    answers = model.conjunctions(asked)
    assert np.isfinite(answers).all()
    assert answers.sum() == pytest.approx(100.0)
    assert answers[2] == pytest.approx(100.0)


@given(st.data(), domains)
@settings(max_examples=examples(20))
def test_all_cells_are_added_to_a_table(data: st.DataObject, domain: Domain) -> None:
    model, reference = TestContract().updated(data, domain)
    assert isinstance(model, Histogram)
    table = np.ones(domain.shape)
    model.add_to(table)
    np.testing.assert_allclose(table, 1.0 + reference.cells, rtol=1e-10)


@given(st.data(), domains)
def test_slices_hold_the_cells_of_their_conjunction(data: st.DataObject, domain: Domain) -> None:
    layout = RowLayout(domain)
    query = data.draw(conjunctions(domain))
    place = layout.slice_of(query)
    inner = place.gather if place.gather.size else np.arange(place.count) * place.stride
    found = np.zeros(domain.size)
    np.add.at(found, (place.outer[:, None] + inner).reshape(-1), 1.0)
    sizes = [attribute.size if attribute.name in query.scope else 1 for attribute in domain]
    expected = np.broadcast_to(query.values().reshape(sizes), domain.shape)
    assert np.array_equal(layout.in_domain_order(found), expected)


def same_bits(one: Histogram, other: Histogram) -> bool:
    (cells, mass), (others, their_mass) = one.weights(), other.weights()
    return cells.tobytes() == others.tobytes() and (mass, one.possible) == (their_mass, other.possible)


@pytest.mark.parametrize("based", [False, True])
@given(data=st.data(), domain=leveled_domains())
@settings(max_examples=examples(30))
def test_a_model_made_anew_has_the_bits_of_one_made_from_its_potentials(
    based: bool, data: st.DataObject, domain: Domain
) -> None:
    model, _ = TestLevels().updated(data, domain)
    assert isinstance(model, Histogram)
    if based:
        model = Histogram(domain, 50.0, 1.0 + np.arange(domain.size, dtype=np.float64).reshape(domain.shape))
        model.update(data.draw(leveled_queries(domain)), 0.5)
    made, anew = Histogram.from_potentials(domain, model.total, model.potentials()), model.anew()
    assert same_bits(anew, made)
    anew.update(query := data.draw(leveled_queries(domain)), -0.5)
    assert same_bits(model.anew(), made)  # it is independent
    made.update(query, -0.5)
    assert same_bits(anew, made)


def test_what_is_kept_of_a_layout_goes_with_the_last_model() -> None:
    model = Histogram(domain_of(3, 4), 10.0)
    model.conjunctions([Conjunction.where(model.domain, {"x0": [1]})])
    kept = weakref.ref(model._cells.layout)
    gc.disable()
    try:
        del model
        assert kept() is None
    finally:
        gc.enable()


@given(st.data(), domains)
@settings(max_examples=examples(30))
def test_a_base_is_where_updates_start_and_reset_returns(data: st.DataObject, domain: Domain) -> None:
    rng = np.random.default_rng(5)
    base = np.exp(rng.normal(0, 150, domain.shape))
    model, reference = Histogram(domain, 9.0, base), DenseModel(domain, 9.0, base)
    clique = data.draw(cliques(domain))
    table = rng.normal(0, 100, domain.shape_of(clique))
    model.reweigh(clique, table)
    reference.reweigh(clique, table)
    np.testing.assert_allclose(model.marginals([domain.names])[0], reference.cells, rtol=1e-9, atol=1e-9)
    reloaded = Histogram.from_potentials(domain, 9.0, model.potentials())
    np.testing.assert_allclose(reloaded.marginals([domain.names])[0], reference.cells, rtol=1e-9, atol=1e-9)
    model.reset()
    np.testing.assert_allclose(
        model.marginals([domain.names])[0], DenseModel(domain, 9.0, base).cells, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("total", "base"),
    [(0.0, None), (float("nan"), None), (1.0, np.zeros(3)), (1.0, -np.ones(3)), (1.0, np.ones(4)),
     (1.0, np.array([1.0, np.inf, 1.0]))],
)  # fmt: skip
def test_bad_starts_are_refused(total: float, base: Floats | None) -> None:
    with pytest.raises(ConfigError):
        Histogram(domain_of(3), total, base)


def test_a_domain_too_large_is_refused_before_anything_is_allocated() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(17))
    assert required_bytes(domain, copies=1) == 8 * 10**17
    with pytest.raises(ModelTooLargeError) as caught:
        Histogram(domain, 10.0)
    assert caught.value.cells == 10**17
    assert "--columns" in str(caught.value)


V2 = "sys/fs/cgroup"
V1 = "sys/fs/cgroup/memory/job"
GROUPS = {
    "version 2": ("0::/job", {f"{V2}/job/memory.max": "3000000", f"{V2}/job/memory.current": "1000000"}),
    "version 2, limit above": (
        "0::/a/b",
        {f"{V2}/memory.max": "3000000", f"{V2}/memory.current": "1000000", f"{V2}/a/b/memory.max": "max"},
    ),
    "version 1": (
        "4:memory:/job",
        {f"{V1}/memory.limit_in_bytes": "3000000", f"{V1}/memory.usage_in_bytes": "1000000"},
    ),
    "file cache": (
        "0::/",
        {
            f"{V2}/memory.max": "2500000",
            f"{V2}/memory.current": "1000000",
            f"{V2}/memory.stat": "anon 1\ninactive_file 500000\n",
        },
    ),
    "no limit": ("0::/", {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 2 kB\n"}),
}


@pytest.mark.parametrize("name", GROUPS)
def test_available_memory_heeds_control_groups(name: str, tmp_path: Path) -> None:
    group, files = GROUPS[name]
    meminfo = "MemTotal: 9000000 kB\nMemAvailable: 5000000 kB\n"
    for path, text in {"proc/self/cgroup": group + "\n", "proc/meminfo": meminfo, **files}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert memory.available_bytes(tmp_path) == (2048 if name == "no limit" else 2_000_000)


def test_available_memory_without_proc_is_the_physical_one(tmp_path: Path) -> None:
    assert memory.available_bytes(tmp_path) > 2**20
