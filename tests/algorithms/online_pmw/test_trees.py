"""Sessions over domains too large for a histogram: trees in place of cells, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import warm_factors
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.models import Histogram, Markov, ValueClasses
from hedgerow.models.core import memory
from hedgerow.privacy import ZCDP, Curator, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Neighbours, Parity, Workload
from tests.algorithms.online_pmw.cases import (
    DOMAIN,
    REPLACE,
    ask_all_kinds,
    cells,
    check_restored_alike,
    random_queries,
    skewed,
)
from tests.algorithms.shared.whole_runs import ModelCounts, without_histograms
from tests.privacy.replay import Run, ScriptedNoise, record, record_answers, worst_loss
from tests.privacy.tables import DenseCounts, neighbours_of
from tests.reference.feasible_records import cells as cells_of, random_domain, records

STREAM: list[LinearQuery] = [*list(cells())[:10], *random_queries(2, 1), *list(cells())[10:14]]
PAIRS = Workload.parse("marginals:a*b,b*c", DOMAIN)
WIDE = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))


@pytest.fixture(name="trees")
def no_domain_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    without_histograms(monkeypatch)


def released(source: Any, workload: Workload = PAIRS) -> hedgerow.Release:
    return hedgerow.MWEM(rounds=2).run(source, workload, ZCDP(0.5, REPLACE), noise=SeededNoise(0))


# ---- the same distribution -------------------------------------------------------------------------------------------


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    ("config", "far"),
    [
        (OnlinePMW(updates=6, threshold=0.02, step="residual"), 1e-6),
        (OnlinePMW(alpha=0.4), 1e-6),
        # fits visit measurements in another order, which shows in the third digit
        (OnlinePMW(updates=6, threshold=0.02), 400.0),
    ],
    ids=["residual", "theorem", "refit"],
)
def test_a_session_over_trees_answers_as_one_over_all_cells(
    config: OnlinePMW, far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fires, source = [place in (0, 3, 5, 10) for place in range(40)], skewed(20_000)
    found = []
    for form in (Histogram, Markov):
        if form is Markov:
            without_histograms(monkeypatch)
        session = config.start(source, ZCDP(20.0, REPLACE), noise=ScriptedNoise(list(fires), SeededNoise(1)))
        answers = [session.ask(query) for query in STREAM]
        assert isinstance(session.model, form)
        assert [each.source for each in answers].count("data") == 4
        found.append([each.value for each in answers])
    # what the data answered has the noise of its own; nothing else differs
    assert np.abs(np.subtract(*found)).max() <= far


@pytest.mark.slow
def test_the_form_follows_what_was_corrected() -> None:
    domain = Domain(IntegerRange(name, 0, 9) for name in "abcdef")
    source = ModelCounts(Markov(domain, 100_000))
    noise = ScriptedNoise([True] * 3, SeededNoise(0))
    session = OnlinePMW(updates=9, threshold=0.02).start(source, ZCDP(1.0, REPLACE), noise=noise)
    forms = []
    for text in ("a = 1 and b = 2", "b = 3 and c = 1", "a < 5 and b < 5 and c < 5 and d < 5 and e < 5 and f < 5"):
        session.ask(text)
        forms.append(type(session.model))
    assert forms == [Markov, Markov, Histogram]


# ---- what is refused -------------------------------------------------------------------------------------------------


def wide_session(noise: NoiseSource, **options: Any) -> tuple[OnlineSession, Curator]:
    curator = Curator(ModelCounts(Markov(WIDE, 10**6)), ZCDP(1.0, REPLACE), noise=noise)
    return OnlinePMW(updates=9, threshold=0.02, **options).start_with(curator), curator


@pytest.mark.slow
def test_the_hypothesis_alone_answers_what_it_could_not_learn_and_nothing_is_spent() -> None:
    session, curator = wide_session(ScriptedNoise([True, True, False, False], SeededNoise(0)), largest_tree=1_000)
    assert session.ask("x0 = 1 and x1 = 2").source == "data"
    assert session.ask("x1 = 1 and x2 = 2").source == "data"
    before = curator.ledger.events, session.summary()["tested"]
    alone = session.ask("x3 = 0 and x4 = 0 and x5 = 0")
    assert (alone.source, alone.value, alone.low, alone.high) == ("hypothesis only", 1_000.0, None, None)
    assert "x3 * x4 * x5 beside what it learnt before" in alone.covers
    assert "need 1,200 cells" in alone.covers
    assert "it may have 1,000" in alone.covers
    assert (curator.ledger.events, session.summary()["tested"]) == before
    found = session.ask_all(["x9 = 1", "x3 = 0 and x4 = 0 and x5 = 0"])
    assert [each.source for each in found] == ["hypothesis", "hypothesis only"]
    assert session.ask("x0 = 1 and x2 = 2").source == "hypothesis"  # one clique of three: 1,000 cells
    assert session.ask("x0 = 1 and x1 = 2").source == "cache"


def test_nothing_is_refused_that_is_known_or_that_the_data_are_not_asked_about() -> None:
    session, _ = wide_session(ScriptedNoise([False] * 2, SeededNoise(0)), queries=2, largest_tree=100)
    assert session.ask("x0 = 0 or x0 <> 0").source == "public"
    session.ask("x0 = 1")
    session.ask("x1 = 1")
    wide = session.ask("x0 = 0 and x1 = 0 and x2 = 0 and x3 = 0 and x4 = 0")
    assert (wide.source, round(wide.value, 6)) == ("hypothesis only", 10.0)


@pytest.mark.usefixtures("trees")
def test_what_cannot_be_learnt_depends_on_public_things_alone() -> None:
    # tables that have nothing in common, the same tests fired: the same questions are not looked at
    seen = []
    for histogram in ([900] + [0] * 7, [0] * 7 + [900]):
        noise = ScriptedNoise([True, False, True, False, False, False], SeededNoise(3))
        config = OnlinePMW(updates=9, threshold=0.2, largest_tree=7)
        session = config.start(DenseCounts(DOMAIN, histogram), PureDP(1.0, REPLACE), noise=noise)
        texts = ("a = 1 and b = 1", "a = 1", "c = 1", "b = 1 and c = 1", "a = 1 and b = 1 and c = 1", "b = 1")
        seen.append([session.ask(text).source == "hypothesis only" for text in texts])
    assert seen[0] == seen[1] == [False, False, False, True, True, False]


def test_trees_that_may_outgrow_the_memory_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    curator = Curator(ModelCounts(Markov(WIDE, 10**6)), PureDP(1.0), noise=SeededNoise(0))
    config = OnlinePMW(largest_tree=10**12)
    assert not config.plan(WIDE, PureDP(1.0), total=10**6).fits
    with pytest.raises(ModelTooLargeError):
        config.start_with(curator)
    assert curator.ledger.events == ()
    plan = OnlinePMW().plan(WIDE, PureDP(1.0), total=10**6)
    assert "junction trees of up to 4,194,304 cells" in dict(plan.lines(1.0))["memory"]
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    assert plan.fits


def test_a_plan_says_for_how_many_corrections_there_is_room() -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 2) for i in range(20))
    small, large = (OnlinePMW(updates=60, largest_tree=cells).plan(wide, ZCDP(1.0), total=1e5) for cells in (500, 4000))
    rooms = [plan.facts["effort"]["room"] for plan in (small, large)]
    assert 0 < rooms[0] < rooms[1] < 60
    assert f"for about {rooms[0]} corrections" in dict(small.lines(1.0))["room"]
    curator = Curator(ModelCounts(Markov(wide, 10**5)), ZCDP(1.0), noise=SeededNoise(0))
    session = OnlinePMW(updates=60, threshold=1e-5, largest_tree=4000).start_with(curator)
    draw, refused = np.random.default_rng(2), list[bool]()
    while sum(refused[-10:]) < 5 and session.is_open:
        names = draw.choice(wide.names, int(draw.integers(1, 5)), replace=False).tolist()
        query = Conjunction.where(wide, {name: [int(draw.integers(3))] for name in names})
        refused.append(session.ask(query).source == "hypothesis only")
    assert rooms[1] / 2 <= session.updates_made <= 2 * rooms[1]


def test_a_limit_is_a_number_of_cells() -> None:
    with pytest.raises(ConfigError, match="largest_tree"):
        OnlinePMW(largest_tree=0)


# ---- saved and restored ----------------------------------------------------------------------------------------------


@pytest.mark.many(quick=1)
@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize("step", ["residual", "refit"])
@pytest.mark.parametrize("warm", [False, True])
def test_a_restored_session_goes_on_bit_by_bit(step: Any, warm: bool, tmp_path: Path) -> None:
    source = skewed(20_000)
    release = released(source) if warm else None
    config, asked = (
        OnlinePMW(updates=9, threshold=0.02, step=step, bounds=(-1, 1)),
        [Parity(DOMAIN, ("a", "c")), *STREAM],
    )
    found, cells_of = [], []
    for cuts in ((), (0, 4, 9)):
        noise = SeededNoise(3)
        session = config.start(source, ZCDP(20.0, REPLACE), noise=noise, warm=release)
        answers = []
        for number, query in enumerate(asked):
            if number in cuts:
                session.save(tmp_path / "s.session")
                session = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
            answers.append(repr(session.ask(query)))
        session.save(tmp_path / "s.session")
        assert isinstance(session.model, Markov)
        assert bool(session.model.start) is warm
        found.append((answers, session.summary()))
        cells_of.append(session.model.marginals([DOMAIN.names])[0])
    if step == "refit":  # each correction settles the bits; steps are settled by saving
        assert found[0] == found[1]
        assert np.array_equal(*cells_of)
    else:
        assert np.allclose(*cells_of, rtol=1e-9)


@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize("warm", [False, True])
def test_a_saved_session_and_the_restored_one_are_the_same(warm: bool, tmp_path: Path) -> None:
    source, noises = skewed(20_000), [SeededNoise(2) for _ in range(2)]
    config, release = OnlinePMW(updates=9, threshold=0.02, step="residual"), released(source) if warm else None
    sessions = [config.start(source, ZCDP(20.0, REPLACE), noise=noise, warm=release) for noise in noises]
    check_restored_alike(sessions, STREAM, source, noises[1], tmp_path / "s.session")


def test_a_release_of_a_session_over_trees_is_its_hypothesis(tmp_path: Path) -> None:
    session, _ = wide_session(ScriptedNoise([True] * 2, SeededNoise(0)))
    session.ask("x0 = 1 and x1 = 2")
    session.ask("x7 < 3")
    release = session.release()
    release.save(tmp_path / "r.release")
    asked = [("x0", "x1"), ("x7",)]
    again = hedgerow.Release.load(tmp_path / "r.release").model.marginals(asked)
    assert all(np.allclose(one, other) for one, other in zip(session.model.marginals(asked), again, strict=True))


# ---- starts from a release -------------------------------------------------------------------------------------------


def test_the_uniform_distribution_is_mixed_into_every_conditional() -> None:
    domain = Domain(
        (IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 3), IntegerRange("d", 0, 1))
    )
    model, draw, gamma = Markov(domain, 50.0), np.random.default_rng(1), 0.1
    for clique in (("a", "b"), ("b", "c"), ("d",)):
        model.reweigh(clique, draw.normal(size=domain.shape_of(clique)) * 3.0)
    p = model.marginals([domain.names])[0] / 50.0
    ab, bc, d = p.sum(axis=(2, 3)), p.sum(axis=(0, 3)), p.sum(axis=(0, 1, 2))
    mixed = [
        (1 - gamma) * ab + gamma / 6,
        (1 - gamma) * bc / bc.sum(axis=1, keepdims=True) + gamma / 4,
        (1 - gamma) * d + gamma / 2,
    ]
    expected = np.einsum("ab,bc,d->abcd", *mixed)
    factors = warm_factors(model, gamma)
    begun = Markov(domain, 1.0, start=factors).marginals([domain.names])[0]
    assert expected.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.allclose(begun, expected, rtol=1e-10)
    assert begun.min() >= gamma ** len(factors) / domain.size


@pytest.mark.parametrize("seed", range(8))
def test_what_is_mixed_in_is_uniform_over_the_records_that_can_exist(seed: int) -> None:
    rng, gamma = np.random.default_rng(seed), 1e-3
    domain = random_domain(rng, [6, 3, 5, 2], levels=4, constraints=3)
    model = Markov(domain, 50.0)
    for names in (["x0.0", "x1"], ["x2.2", "x0"], ["x3", "x1"], ["both", "x2"]):
        clique = domain.reduced(names)
        model.reweigh(clique, rng.normal(size=domain.shape_of(clique)) * 9.0)
    factors = warm_factors(model, gamma)
    every = records(domain)
    logs = np.full(every.shape[1], -math.log(every.shape[1]))
    for clique, table in factors.items():  # quotients by the uniform distribution, which they are multiplied into
        logs += table.reshape(-1)[cells_of(domain, clique)]
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-9)
    mixed = sum(len(tree.cliques) for tree in model.trees)
    assert logs.min() >= mixed * math.log(gamma) - math.log(every.shape[1]) - 1e-9
    assert mixed <= len(domain.variables)
    begun = Markov(domain, 1.0, start=factors).marginals([domain.names])[0]
    assert np.allclose(begun[tuple(every)], np.exp(logs), rtol=1e-9)


def test_a_histogram_to_start_from_is_mixed_over_the_records_that_can_exist() -> None:
    free = Domain((IntegerRange("a", 0, 9), IntegerRange("b", 0, 9)))
    domain = Domain(free.attributes, (), [hedgerow.impossible(free, "a > 0 and b > 0")])
    codes = np.zeros((2, 500), dtype=np.int64)
    release = hedgerow.MWEM().run(
        hedgerow.Table(domain, codes), Workload.marginals(domain, 2), PureDP(1.0), noise=SeededNoise(0)
    )
    config, table = OnlinePMW(uniform_share=0.25), hedgerow.Table(domain, codes)
    session = config.start(table, PureDP(2.0), noise=SeededNoise(1), warm=release)
    (begun,) = session.model.marginals([domain.names])
    there = [(a, b) for a in range(10) for b in range(10) if not (a and b)]
    assert begun.sum() == pytest.approx(session.model.total)
    assert min(begun[cell] for cell in there) >= 0.25 / 19 * session.model.total * (1.0 - 1e-9)


@pytest.mark.usefixtures("trees")
def test_a_warm_session_starts_near_its_release_and_is_corrected_from_there() -> None:
    source = skewed(20_000)
    release = released(source)
    noise = ScriptedNoise([False, True, False], SeededNoise(0))
    session = OnlinePMW(updates=9, threshold=0.02).start(source, ZCDP(20.0, REPLACE), noise=noise, warm=release)
    (before,) = release.model.marginals([("a", "b")])
    (after,) = session.model.marginals([("a", "b")])
    assert np.abs(before - after).max() <= 0.001 * 2 * 20_000
    session.ask("a = 0 and b = 0")
    session.ask("c = 0 and a = 1")  # a fit starts from the release again, not from the uniform distribution
    (corrected,) = session.model.marginals([("a", "b")])
    assert np.abs(before - corrected).max() <= 0.05 * 20_000


def test_warm_theorems_count_the_conditionals() -> None:
    streams = [OnlinePMW().stream(ZCDP(1.0), WIDE, 1e6, None, warm=warm) for warm in (False, True)]
    assert streams[1].log_cells - streams[0].log_cells == pytest.approx(30 * math.log(1000.0))


def test_a_start_from_records_needs_a_histogram() -> None:
    source = ModelCounts(Markov(WIDE, 10**4))
    cells_of_one = Workload.marginals(WIDE, 1, whole=False)
    release = hedgerow.DualQuery(rounds=2, samples=5, seed=0).run(
        source, cells_of_one, ZCDP(0.5, REPLACE), noise=SeededNoise(0)
    )
    with pytest.raises(ConfigError, match="cannot start from a Empirical"):
        OnlinePMW().start(source, ZCDP(20.0, REPLACE), noise=SeededNoise(0), warm=release)


# ---- attributes of very many values ----------------------------------------------------------------------------------

LOGS = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("port", 0, 2**16 - 1), IntegerRange("hour", 0, 23)))


def test_values_that_no_question_tells_apart_are_held_together(tmp_path: Path) -> None:
    source = ModelCounts(ValueClasses(LOGS, 2**20))
    noise = ScriptedNoise([True, True, False], SeededNoise(0))
    session = OnlinePMW(updates=9, threshold=0.02).start(source, ZCDP(50.0, REPLACE), noise=noise)
    session.ask("ip < 2147483648 and hour < 12")
    session.ask("port = 80")
    session.save(tmp_path / "s.session")
    restored = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
    answer = restored.ask("ip < 1073741824 and hour = 3")
    assert isinstance(restored.model, ValueClasses)
    assert answer.value == pytest.approx(2**20 / 4 / 24, abs=200.0)
    values = Explicit.of(LOGS, ["hour", "port"], np.random.default_rng(0).random(24 * 2**16))
    small = OnlinePMW(largest_tree=10**6).start(source, ZCDP(1.0, REPLACE), noise=SeededNoise(0))
    assert small.ask(values).source == "hypothesis only"


# ---- privacy ---------------------------------------------------------------------------------------------------------


def session_run(config: OnlinePMW, epsilon: float, relation: Neighbours) -> Run:
    def run(source: DenseCounts, noise: NoiseSource) -> object:
        session = config.start(source, PureDP(epsilon, relation), noise=noise)
        return [*answered(session)]

    return run


def answered(session: OnlineSession) -> Iterator[object]:
    """What an adaptive analyst sees: answers, those of the hypothesis alone among them."""
    for query in STREAM:
        yield from ask_all_kinds(session, [query])


@pytest.mark.many(quick=1)
@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("variant", ["4c", "pay-as-you-go"])
def test_the_loss_of_a_session_over_trees_is_at_most_epsilon(variant: Any, relation: Neighbours) -> None:
    epsilon, worst = 2.0, 0.0
    run = session_run(OnlinePMW(variant, updates=2, threshold=0.2, largest_tree=7), epsilon, relation)
    for histogram in ([3, 0, 0, 1, 0, 0, 2, 0], [0, 0, 0, 0, 0, 0, 0, 6]):
        source = DenseCounts(DOMAIN, histogram)
        scripts = [[place in fires for place in range(40)] for fires in ((), (0, 1), (3, 5))]
        transcripts = [record(run, source, 0), *(record_answers(run, source, script) for script in scripts)]
        for transcript in transcripts:
            neighbours = itertools.islice(neighbours_of(source, relation), 0, None, 5)
            worst = max(worst, worst_loss(run, source, neighbours, transcript))
    assert 0.05 * epsilon < worst <= epsilon + 1e-9


# ---- all columns of the Adult table ----------------------------------------------------------------------------------


def test_a_session_about_all_columns_of_adult() -> None:
    folder = Path(__file__).parents[3] / "examples"
    table = hedgerow.read_table(folder / "data" / "adult.csv", folder / "adult.domain.yaml")
    session = OnlinePMW().start(table, PureDP(1.0), noise=SeededNoise(0))
    asked = [f"sex = 'Female' and age < {age}" for age in range(20, 60, 4)] + ["income = '>50K' and race = 'White'"]
    answers = session.ask_all(asked)
    exact = table.conjunctions([hedgerow.parse_predicate(text, table.domain) for text in asked])
    assert isinstance(session.model, Markov)
    assert any(answer.source == "data" for answer in answers)
    for answer, count in zip(answers, exact, strict=True):
        assert answer.low is not None
        assert answer.high is not None
        assert answer.low <= count <= answer.high
