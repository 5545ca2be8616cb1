"""MWEM over domains too large for a histogram: trees in place of cells, what may be measured, and annealed rounds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import (
    Limit,
    MWEMRun,
    RoundCharge,
    automatic_rounds,
    closure,
    expected_noise,
    small_tables,
)
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import CandidatesTooLargeError, ConfigError, MarginalTooLargeError
from hedgerow.models import Histogram, JunctionTree, Markov, Overlay, Sweeps, choice, hypothesis
from hedgerow.privacy import ZCDP, ApproxDP, Budget, Curator, PureDP, SeededNoise
from hedgerow.queries import Conjunction, Neighbours, Workload
from tests.algorithms.shared.whole_runs import losses
from tests.privacy.tables import binary
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 3), IntegerRange("d", 0, 1)))
DATA = DenseTables.random(DOMAIN, 2000, seed=1)
PAIRS = Workload.marginals(DOMAIN, 2)
CELLS = Workload.marginals(DOMAIN, 2, whole=False)
REPLACE = Neighbours.REPLACE


@pytest.fixture(name="trees")
def no_domain_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every domain counts as too large for a histogram."""
    monkeypatch.setattr(choice, "SMALL_CELLS", 0)
    monkeypatch.setattr(choice, "LARGEST_DENSE", 0)


@pytest.mark.parametrize(("largest", "dense"), [(48, True), (30, True), (23, False)])
def test_a_table_of_all_cells_makes_domains_of_twice_the_limit_histograms(
    largest: int, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "SMALL_CELLS", 0)
    monkeypatch.setattr(choice, "LARGEST_DENSE", largest)
    whole = [*PAIRS.scopes, DOMAIN.names]
    assert isinstance(hypothesis(DOMAIN, 1.0, whole), Histogram) is dense
    assert isinstance(hypothesis(DOMAIN, 1.0, PAIRS.scopes), Histogram) is (largest >= DOMAIN.size)


def session_of(config: MWEM, workload: Workload, budget: Budget, seed: int = 0) -> MWEMRun:
    return MWEMRun(config, Curator(DATA, budget, noise=SeededNoise(seed)), workload, None)


# ---- the same distribution -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", [CELLS, PAIRS], ids=["cells", "marginals"])
@pytest.mark.parametrize(
    "config",
    [MWEM(rounds=5, refit=None, step="sharp"), MWEM(rounds=4, refit=Sweeps(30)), MWEM(rounds=4, initial="one-way")],
    ids=["steps", "sweeps", "proximal"],
)
def test_a_run_over_trees_gives_what_a_run_over_all_cells_gives(
    config: MWEM, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense = config.run(DATA, workload, ZCDP(0.5), noise=SeededNoise(3))
    no_domain_is_small.__wrapped__(monkeypatch)  # type: ignore[attr-defined]
    sparse = config.run(DATA, workload, ZCDP(0.5), noise=SeededNoise(3))
    assert (type(dense.model), type(sparse.model)) == (Histogram, Markov)
    # proximal fits visit measurements in another order, which shows in the third digit; steps and sweeps do not
    far = 0.02 * dense.total if config.initial == "one-way" else 1e-6
    assert np.abs(workload.answers(dense.model) - workload.answers(sparse.model)).max() <= far


@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize(("step", "factor"), [("source", 0.25), ("sharp", 1.0)])
def test_the_potential_falls_along_a_factored_run(step: Any, factor: float) -> None:
    # theory.md section 1: at least (e**2 - nu**2) / 4, and e**2 - nu**2, for marginals; after clipping
    config = MWEM(rounds=6, refit=None, step=step, offsets=False, repeats=True, error_share=0.0)
    b = DATA.cells.reshape(-1) / DATA.total()
    for seed in range(4):
        session = session_of(config, PAIRS, PureDP(2.0, REPLACE), seed)
        session.start()
        for _ in range(6):
            p = session.model.marginals([DOMAIN.names])[0].reshape(-1) / session.total
            charge = RoundCharge.split(0.3, 0.5)
            session._round(charge, session._eligible(charge))
            after = session.model.marginals([DOMAIN.names])[0].reshape(-1) / session.total
            target, noisy = session.learner.measurements[-1].target, session.learner.measurements[-1].values
            exact = target.of_table(DATA.marginals([target.scope])[0])
            axes = tuple(axis for axis, name in enumerate(DOMAIN.names) if name not in target.scope)
            error = exact / 2000 - p.reshape(DOMAIN.shape).sum(axis=axes).reshape(-1)
            noise = (np.clip(noisy, 0, 2000) - exact) / 2000
            assert float(b @ np.log(after / p)) >= factor * float(error @ error - noise @ noise) - 1e-12
        assert isinstance(session.model, Markov)


def test_the_model_takes_the_form_that_costs_less() -> None:
    domain = Domain(IntegerRange(name, 0, 9) for name in "abcdef")
    data = DenseTables.random(domain, 500, seed=2)
    chain = Workload.marginals(domain, cliques=["ab", "bc", "cd"])
    every = Workload.marginals(domain, 2)
    forms = [type(MWEM().run(data, workload, ZCDP(5.0), noise=SeededNoise(1)).model) for workload in (chain, every)]
    assert forms == [Markov, Histogram]


# ---- what may be measured --------------------------------------------------------------------------------------------

LARGE = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))


def test_what_would_make_the_trees_too_large_is_left_out() -> None:
    workload = Workload.marginals(LARGE, cliques=[("x0", "x1"), ("x1", "x2"), ("x0", "x2"), ("x3", "x4", "x5", "x6")])
    limit = Limit(workload, largest_tree=1100)
    assert limit.allows([], spent=1.0).tolist() == [True, True, True, False]
    assert limit.allows([("x0", "x1"), ("x1", "x2")], spent=1.0).tolist() == [True, True, True, False]
    assert limit.allows([("x0", "x1"), ("x1", "x2")], spent=0.5).tolist() == [True, True, False, False]
    assert limit.allows([], spent=0.0).tolist() == [False] * 4
    assert Limit(workload, largest_tree=1600).allows([], spent=0.0).tolist() == [True, True, True, False]
    assert not limit.allows_all()
    assert limit.largest_cells == 1100


@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize("rounds", [3, 6, "annealed", "auto", "adaptive"])
def test_no_run_passes_its_limit(rounds: Any) -> None:
    # a triangle of a, b and c would have 24 cells; all pairs of two attributes that fit have at most 12 + 8
    session = session_of(MWEM(rounds=rounds, largest_tree=23), PAIRS, ZCDP(0.5))
    session.start()
    session.run_rounds()
    model = session.finish().model
    scopes = [measured.target.scope for measured in session.learner.measurements]
    if isinstance(model, Overlay):
        assert rounds == "auto"
        assert isinstance(model.tree, Markov)
        assert model.tree.cells <= 23
    else:
        assert JunctionTree.of(DOMAIN, scopes).cells <= 23
    assert len(scopes) >= 3
    assert session.curator.ledger.spent == pytest.approx(0.5, rel=1e-6)


@pytest.mark.usefixtures("trees")
def test_a_workload_of_which_nothing_fits_is_refused_before_anything_is_spent() -> None:
    keeper = Curator(DATA, PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(CandidatesTooLargeError, match="the least, b \\* d, has 4 cells"):
        MWEM(largest_tree=3).run_with(keeper, PAIRS)
    assert keeper.ledger.events == ()


@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize("largest_tree", [10, 14])
def test_single_attributes_that_leave_no_room_are_refused_before_anything_is_spent(largest_tree: int) -> None:
    # 11 cells of four attributes; one of the pairs of 4 cells beside the other two takes 11 of them
    keeper = Curator(DATA, PureDP(1.0), noise=SeededNoise(0))
    wide = Workload.marginals(DOMAIN, cliques=["ac", "bd"])
    config = MWEM(rounds=1, initial="one-way", largest_tree=largest_tree)
    if largest_tree >= 4 + 3 + 4:
        config.run_with(keeper, wide)
        assert keeper.ledger.spent == pytest.approx(1.0)
        return
    with pytest.raises(ConfigError, match="11 cells in all, leave room for nothing else"):
        config.run_with(keeper, wide)
    assert keeper.ledger.events == ()


def test_answers_that_do_not_fit_are_refused_before_anything_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Curator(DATA, PureDP(1.0), noise=SeededNoise(0))
    monkeypatch.setattr(
        "hedgerow.algorithms.strategies.candidates.has_room", lambda required: required < 48 * PAIRS.n_queries
    )
    with pytest.raises(MarginalTooLargeError, match="counting 6 of at most that size"):
        MWEM().run_with(keeper, PAIRS)
    assert keeper.ledger.events == ()


def test_a_histogram_holds_whatever_is_measured() -> None:
    limit = Limit(PAIRS, largest_tree=1)
    assert limit.allows([], spent=0.0).all()
    assert limit.allows_all()


# ---- annealed rounds -------------------------------------------------------------------------------------------------


def test_a_closure_weighs_marginals_by_what_they_share_with_the_workload() -> None:
    workload = Workload.marginals(DOMAIN, cliques=["abc"]) + Workload.marginals(DOMAIN, cliques=["cd"]).weighted(2.0)
    below = closure(workload)
    assert below is not None
    found = {below.candidate(i).scope: weight for i, weight in enumerate(below.candidate_weights)}
    overlap = {
        scope: sum(w * len(set(scope) & set(other)) for other, w in ((("a", "b", "c"), 1.0), (("c", "d"), 2.0)))
        for scope in found
    }
    assert found == overlap
    assert set(found) == {
        ("a",),
        ("b",),
        ("c",),
        ("d",),
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("a", "b", "c"),
        ("c", "d"),
    }


def test_cells_are_read_off_the_tables_that_they_are_in() -> None:
    every, cells = closure(PAIRS), closure(PAIRS + CELLS)
    assert every is not None
    assert cells is not None
    assert cells.scopes == every.scopes
    assert closure(CELLS.by_query()) == closure(CELLS)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1, REPLACE), ApproxDP(1.0, 1e-6)], ids=repr)
def test_an_annealed_run_measures_single_attributes_first_and_spends_all(budget: Budget) -> None:
    release = MWEM(rounds="annealed").run(DATA, PAIRS, budget, noise=SeededNoise(5))
    scopes = [measured.target.scope for measured in release.measurements]
    assert scopes[:4] == [("a",), ("b",), ("c",), ("d",)]
    assert release.spent == pytest.approx(budget.limit, rel=1e-6)
    assert release.spent <= budget.limit
    a, b, c, d = (measured.scale for measured in release.measurements[:4])
    assert c < a < b == d  # of 3, 2, 4 and 2 values: the charge grows with the cells


def test_every_small_table_of_a_workload_has_an_interval_after_rounds_that_adapt() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 3) for i in range(12))
    rng = np.random.default_rng(3)
    table = Table(domain, list(np.minimum(rng.integers(0, 4, (12, 20_000)) + rng.integers(0, 2, 20_000), 3)))
    workload = Workload.marginals(domain, 2)
    release = MWEM(rounds="annealed").run(table, workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(7))
    held = 0
    for scope in workload.scopes:
        query = Conjunction.where(domain, {name: [1] for name in scope})
        answer, exact = release.answer(query), query.on(table)[0]
        assert answer.low is not None
        assert answer.high is not None
        assert answer.high - answer.low < 1_000.0  # an independent guess is off by as much
        held += answer.low <= exact <= answer.high
    assert held >= 60  # of 66 with 95 % confidence: fewer in 1 of 1,000 seeds


def test_small_tables_cost_little_and_are_left_out_where_they_would_be_noise() -> None:
    domain = Domain([*(IntegerRange(f"x{i}", 0, 3) for i in range(6)), IntegerRange("wide", 0, 99)])
    workload = Workload.marginals(domain, 2)

    def chosen(rho: float, total: float) -> dict[str, float]:
        return {target.text: charge for target, charge in small_tables(workload, ZCDP(rho), rho, total)}

    few, some, many, rich = (chosen(*each) for each in ((1e-6, 100.0), (1e-3, 5e3), (0.01, 5e4), (1.0, 5e4)))
    assert few == {}
    assert set(some) < set(many)
    assert len(many) == 21
    assert "x0 * wide.10" in many  # in place of 400 cells
    assert many["x0 * wide.10"] < many["x0 * x1"] / 4.0
    assert sum(many.values()) == pytest.approx(0.05 * 0.01)
    assert sum(rich.values()) < 0.05 * 0.05  # no finer than a sample is
    binary = [Domain(IntegerRange(f"x{i}", 0, 1) for i in range(n)) for n in (32, 33)]
    numbers = [len(small_tables(Workload.marginals(each, 2), ZCDP(1.0), 1.0, 5e4)) for each in binary]
    assert numbers == [496, 0]  # each of 528 would get next to nothing


@pytest.mark.many(quick=6)
@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize("rounds", ["annealed", "adaptive", 3])
@pytest.mark.parametrize("budget", [PureDP(1e-9), PureDP(1e-9, REPLACE), ZCDP(1e-18), PureDP(1e9)], ids=repr)
def test_a_run_ends_however_little_or_much_it_may_spend(budget: Budget, rounds: Any) -> None:
    # the expected noise, and the noisy number of records, pass what exact scores can hold
    for seed in range(3):
        release = MWEM(rounds=rounds).run(DATA, PAIRS, budget, noise=SeededNoise(seed))
        assert release.spent == pytest.approx(budget.limit, rel=1e-6)
        assert np.isfinite(PAIRS.answers(release.model)).all()


def charges_and_lessons(config: MWEM, budget: Budget) -> tuple[list[float], list[float]]:
    """Charges of the measurements of annealed rounds, and what each showed in units of its noise."""
    session = session_of(config, PAIRS, budget)
    session.start()
    lessons: list[float] = []
    look = session._look

    def noted(chosen: int, charge: RoundCharge) -> float:
        lessons.append(look(chosen, charge))
        return lessons[-1]

    session._look = noted  # type: ignore[method-assign]
    session.run_rounds()
    charges = [event.charge for event in session.curator.ledger.events if event.label == "measure"]
    return charges[-len(lessons) :], lessons  # behind those of single attributes and of small tables


@pytest.mark.usefixtures("trees")
def test_charges_in_trees_grow_only_after_a_noisy_answer_that_shows_nothing() -> None:
    charges, lessons = charges_and_lessons(MWEM(rounds="annealed", error_share=0.0), ZCDP(0.3))
    for before, after, lesson in zip(charges[:-2], charges[1:-1], lessons[:-2], strict=True):
        assert after == pytest.approx(before if lesson > 1.0 else 2.0 * before, rel=1e-6)
    assert min(lessons) < 1.0


def test_charges_fall_after_an_answer_that_shows_very_much_but_not_for_ever() -> None:
    charges, lessons = charges_and_lessons(MWEM(rounds="annealed", error_share=0.0), ZCDP(3.0))
    first, fell = charges[0], 0
    for before, after, lesson in zip(charges[:-2], charges[1:-1], lessons[:-2], strict=True):
        if lesson > 4.0:
            fell += after < 0.9 * before
            assert after == pytest.approx(max(0.5 * first, 0.5 * before), rel=1e-6)
        elif lesson > 1.0:
            assert after == pytest.approx(before, rel=1e-6)
        else:
            assert after >= 1.9 * before
    assert fell
    assert min(charges) == pytest.approx(0.5 * first, rel=1e-6)


def test_annealed_rounds_select_with_a_tenth_and_take_a_quarter_of_the_noise_off_scores() -> None:
    session = session_of(MWEM(rounds="annealed", error_share=0.0, total_share=0.1), PAIRS, ZCDP(0.5))
    session.start()
    session.run_rounds()
    events = session.curator.ledger.events
    select, measure = next(
        (one.charge, two.charge) for one, two in pairwise(events) if (one.label, two.label) == ("select", "measure")
    )
    assert select == pytest.approx(0.1 * 0.9 * 0.5 / 16, rel=1e-6)
    assert measure == pytest.approx(9.0 * select, rel=1e-6)
    noise = expected_noise(session.candidates, session.curator.budget, measure, None)
    assert session._offsets(measure) == pytest.approx(0.25 * noise)


def test_automatic_rounds_anneal_over_large_domains() -> None:
    wide = Domain(IntegerRange(f"x{place}", 0, 9) for place in range(10))
    table = Table(wide, list(np.random.default_rng(0).integers(10, size=(10, 2000))))
    pairs = Workload.marginals(wide, 2)
    release = MWEM().run(table, pairs, ZCDP(0.1), noise=SeededNoise(1))
    assert {len(measured.target.scope) for measured in release.measurements} == {1, 2}
    plan = MWEM().plan(pairs, ZCDP(0.1), total=2000)
    assert (plan.adaptive, plan.tree_cells, plan.rounds) == (True, choice.LARGEST_TREE, 40)
    assert "junction trees of up to 4,194,304 cells" in dict(plan.lines(2000.0))["memory"]


@pytest.mark.usefixtures("trees")
def test_automatic_rounds_stay_near_the_number_of_attributes_unless_everything_fits() -> None:
    binary_domain = binary(6)
    workload = Workload.parities(binary_domain, 3)
    assert automatic_rounds(MWEM(), workload, ZCDP(50.0), 50.0, 1e6) <= 6
    pairs = Workload.marginals(binary_domain, 2)
    assert automatic_rounds(MWEM(largest_tree=63), pairs, ZCDP(50.0), 50.0, 1e6) <= 6
    assert automatic_rounds(MWEM(), pairs, ZCDP(50.0), 50.0, 1e6) == 15


# ---- privacy ---------------------------------------------------------------------------------------------------------

TRIPLE = binary(3)
WHOLE = Workload.marginals(TRIPLE, 2)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("rounds", ["annealed", 2])
@pytest.mark.usefixtures("trees")
def test_no_transcript_over_trees_loses_more_than_epsilon(rounds: Any, relation: Neighbours) -> None:
    config = MWEM(rounds=rounds, largest_tree=8)
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(config, WHOLE, PureDP(epsilon, relation), range(1)))
        assert 0.1 * epsilon < worst <= epsilon + 1e-9


@pytest.mark.usefixtures("trees")
def test_what_is_left_out_depends_on_public_numbers_alone() -> None:
    # two tables that have nothing in common, the same scopes measured: the same candidates are left
    config = MWEM(rounds=3, largest_tree=14, error_share=0.0)
    masks = []
    for cells in (np.eye(1, 48), np.ones(48)):
        table = DenseTables(DOMAIN, cells.reshape(DOMAIN.shape) * 40)
        session = MWEMRun(config, Curator(table, PureDP(1.0, REPLACE), noise=SeededNoise(1)), PAIRS, None)
        session.start()
        charge = RoundCharge.split(0.3, 0.5)
        session._look(0, charge)
        session._look(5, charge)
        masks.append(session._eligible(charge).tolist())
    assert masks[0] == masks[1]
    assert not all(masks[0])


@pytest.mark.slow
def test_a_plan_counts_the_time_of_many_answers() -> None:
    """19,900 tables are answered one by one, as many parities together; by the same number of rounds."""
    domain, mwem = Domain(IntegerRange(f"q{i}", 0, 1) for i in range(200)), MWEM(rounds=50)
    tables, parities = (
        mwem.plan(Workload.parse(text, domain), PureDP(1.0), total=20_000).seconds
        for text in ("marginals:2", "parities:2")
    )
    assert tables > parities + 10.0
