"""Best linear unbiased estimates against dense generalised least squares, and where they may be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow import MWEM, ZCDP, Domain, IntegerRange, PureDP, SeededNoise, Table, Workload
from hedgerow.queries import Blocks, Conjunction, Explicit, LinearQuery, Marginal, Measurement, NoiseKind
from hedgerow.release import Estimated, Release, Runs, Said, Split, estimated, measured, runs, variance_of

DOMAIN = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2), IntegerRange("c", 0, 3)))
SCOPES = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]

ONE = np.ones(1)


def matrix(target: Any) -> np.ndarray:
    """The answers of a target to each single record, shape ``(values, cells)``."""
    cells = np.eye(DOMAIN.size).reshape(DOMAIN.size, *DOMAIN.shape)
    axes = DOMAIN.axes(target.scope)
    beside = tuple(axis for axis in range(len(DOMAIN)) if axis not in axes)
    return np.array([target.of_table(cell.sum(axis=beside)) for cell in cells]).T


def of_histogram(target: Marginal, histogram: np.ndarray) -> np.ndarray:
    return np.asarray(matrix(target) @ histogram)


def best(query: LinearQuery, noisy: Sequence[Measurement], total: float | None) -> Estimated | None:
    question = Split.of(query)
    assert question is not None
    return estimated(question, Said.of(question.domain, question.scope, noisy), total)


@st.composite
def measurements(draw: st.DrawFn) -> list[Measurement]:
    histogram = np.array(draw(st.lists(st.integers(0, 50), min_size=DOMAIN.size, max_size=DOMAIN.size)), float)
    made = []
    for scope in draw(st.lists(st.sampled_from(SCOPES), min_size=1, max_size=6)):
        kind, scale = draw(st.sampled_from(list(NoiseKind))), draw(st.sampled_from([1.0, 2.0, 7.5]))
        target = Marginal(DOMAIN, scope)
        made.append(Measurement(target, of_histogram(target, histogram), kind, scale))
    return made


@given(measurements(), st.sampled_from(SCOPES), st.integers(0, 2**32 - 1), st.booleans())
def test_it_is_generalised_least_squares(
    noisy: list[Measurement], scope: tuple[str, ...], seed: int, public: bool
) -> None:
    """Value and variance are those of dense least squares; answers without noise give the truth."""
    draw = np.random.default_rng(seed)
    query = Explicit.of(DOMAIN, scope, draw.integers(0, 3, DOMAIN.shape_of(scope)).reshape(-1) / 2.0)
    total = float(noisy[0].values.sum())
    rows = np.vstack([matrix(each.target) / each.std for each in noisy])
    wanted = matrix(query)[0]
    if public:
        rows = np.vstack([rows, 1e7 * np.ones(DOMAIN.size)])
    told = np.linalg.lstsq(rows.T, wanted, rcond=None)[0]
    is_told = np.allclose(rows.T @ told, wanted, atol=1e-6)
    known = total if public else None
    found = best(query, noisy, known)
    assert (found is not None) == is_told
    if found is None:
        return
    values = np.concatenate([each.values / each.std for each in noisy] + ([[1e7 * total]] if public else []))
    assert found.values[0] == pytest.approx(float(told @ values), abs=1e-4)
    weights = told[: len(told) - public]
    assert found.noises(ONE).std == pytest.approx(float(np.linalg.norm(weights)), abs=1e-5)
    variance = variance_of(query, Runs([noisy]), known)
    assert variance is not None
    assert np.sqrt(variance) == pytest.approx(found.noises(ONE).std, abs=1e-9)


def test_a_question_over_a_level_is_one_over_its_attribute() -> None:
    domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
    ages = np.arange(100.0)
    noisy = [Measurement(Marginal(domain, ("age",)), ages, NoiseKind.GAUSSIAN, 2.0)]
    found = best(Conjunction.where(domain, {"age.10": [1, 3]}), noisy, None)
    assert found is not None
    assert found.values[0] == pytest.approx(ages[10:20].sum() + ages[30:40].sum())
    assert found.noises(ONE).std == pytest.approx(2.0 * np.sqrt(20.0))


@given(st.sampled_from([("a",), ("b",), ("a", "b")]), st.integers(0, 2**32 - 1))
def test_a_table_over_a_level_tells_what_its_sums_over_the_level_tell(scope: tuple[str, ...], seed: int) -> None:
    draw, domain = np.random.default_rng(seed), Domain((*DOMAIN.attributes[:2], IntegerRange("c", 0, 19)))
    query = Explicit.of(domain, scope, draw.integers(0, 3, domain.shape_of(scope)).reshape(-1) / 2.0)
    fine = Measurement(Marginal(domain, ("a", "b")), draw.integers(0, 50, 6).astype(float), NoiseKind.GAUSSIAN, 2.0)
    cells = draw.integers(0, 50, 24).astype(float)
    level = Measurement(Marginal(domain, ("a", "b", "c.5")), cells, NoiseKind.GAUSSIAN, 3.0)
    sums = cells.reshape(6, 4).sum(axis=1)
    summed = Measurement(Marginal(domain, ("a", "b")), sums, NoiseKind.GAUSSIAN, 6.0)
    found, wanted = best(query, [fine, level], None), best(query, [fine, summed], None)
    assert found is not None
    assert wanted is not None
    assert found.values[0] == pytest.approx(wanted.values[0])
    assert found.noises(ONE).std == pytest.approx(wanted.noises(ONE).std)


def test_what_a_question_does_not_depend_on_is_left_out() -> None:
    query = Explicit.of(DOMAIN, ("a", "b"), [1, 1, 1, 0, 0, 0])
    question = Split.of(query)
    assert question is not None
    assert question.scope == ("a",)
    table = Measurement(Marginal(DOMAIN, ("a",)), np.array([7.0, 5.0]), NoiseKind.GAUSSIAN, 2.0)
    (piece,) = measured(query, Runs([[table], []]))
    assert piece.centre == 7.0


def test_what_is_no_whole_table_over_attributes_is_left_out() -> None:
    domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
    level = Measurement(Marginal(domain, ("age.10",)), np.arange(10.0), NoiseKind.GAUSSIAN, 2.0)
    blocks = Measurement(Blocks(domain, ("sex",), np.array([0, 1])), np.arange(2.0), NoiseKind.GAUSSIAN, 2.0)
    assert best(Conjunction.where(domain, {"age.10": [1]}), [level], None) is None
    assert best(Conjunction.where(domain, {"sex": [1]}), [blocks], None) is None
    (piece,) = measured(Conjunction.where(domain, {"age.10": [1]}), Runs([[level]]))
    assert piece.centre == 1.0


TABLE = Table(
    Domain(IntegerRange(name, 0, 2) for name in "abcd"),
    list(np.random.default_rng(4).integers(0, 3, (4, 3_000)).astype(np.uint8)),
)


def made(mechanism: MWEM, seed: int = 0) -> Release:
    workload = Workload.marginals(TABLE.domain, 2)
    return mechanism.run(TABLE, workload, ZCDP(0.05, "replace"), noise=SeededNoise(seed))


def texts(found: Sequence[Sequence[Measurement]]) -> list[list[str]]:
    return [[each.target.text for each in run] for run in found]


def test_tables_that_were_chosen_beforehand_are_one_run() -> None:
    release = made(MWEM())
    found = list(runs(release.events, release.measurements))
    assert len(found) == 1
    assert len(found[0]) > 1


def test_a_selection_ends_a_run() -> None:
    """What the noise of earlier answers may have chosen is not averaged with them."""
    release = made(MWEM(rounds=3, initial="one-way"))
    found = list(runs(release.events, release.measurements))
    assert [len(run) for run in found] == [4, 1, 1, 1]
    assert [each for run in found for each in run] == list(release.measurements)


def test_blocks_and_unknown_ledgers_are_taken_one_by_one() -> None:
    release = made(MWEM())
    fewer = [event for event in release.events if event.question.kind == "query"][1:]
    assert all(len(run) == 1 for run in runs(fewer, release.measurements))
    cut = Blocks(TABLE.domain, ("a",), np.array([0, 0, 1]))
    several = [replace(release.measurements[0], target=cut, values=np.zeros(2)), *release.measurements[1:]]
    assert len(next(iter(runs(release.events, several)))) == 1


QUESTIONS = [{"a": [1]}, {"a": [0, 2]}, {"b": [1], "c": [0, 1]}, {"d": [2], "a": [1]}]


def question(codes: dict[str, list[int]]) -> tuple[LinearQuery, float]:
    rows = np.logical_and.reduce(
        [np.isin(TABLE.columns[TABLE.domain.index(name)], wanted) for name, wanted in codes.items()]
    )
    return Conjunction.where(TABLE.domain, codes), float(rows.sum())


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [MWEM(), MWEM(rounds=3, initial="one-way")])
def test_intervals_hold_as_often_as_they_say(mechanism: MWEM) -> None:
    """Of 300 releases with 90 %, fewer than 15 % miss, but for a chance below 1e-3; and not all hold."""
    releases = [made(mechanism, seed) for seed in range(300)]
    for codes in QUESTIONS:
        query, truth = question(codes)
        answers = [release.answer(query, 0.9) for release in releases]
        held = [each.low <= truth <= each.high for each in answers if each.low is not None and each.high is not None]
        if held:
            assert np.mean(held) >= 0.85
            assert not all(held) or len(held) < 100


def test_averages_are_narrower_than_any_table_alone() -> None:
    release = made(MWEM())
    query, _ = question({"a": [1]})
    (run,) = runs(release.events, release.measurements)
    (together,) = measured(query, Runs([run]), release.total)
    alone = [piece for each in run for piece in measured(query, Runs([[each]]), release.total)]
    assert len(alone) > 1
    assert together.radius(0.05) < 0.8 * min(piece.radius(0.05) for piece in alone)


@pytest.mark.parametrize("budget", [ZCDP(0.05, "replace"), PureDP(0.5)])
def test_combinations_of_questions_are_bounded_as_questions_by_themselves(budget: Any) -> None:
    """Ends, estimates and variances, whatever the tables, with factors of 0, and of questions over other attributes."""
    draw, domain = np.random.default_rng(5), TABLE.domain
    release = MWEM().run(TABLE, Workload.marginals(domain, 2), budget, noise=SeededNoise(3))
    for _ in range(20):
        one, other = (draw.integers(0, 5, (3, 3, 3)) / 4.0 for _ in range(2))
        other[:] = other[:1, :1] if draw.random() < 0.7 else other
        one[:] = one[..., :1]
        queries = [Explicit.of(domain, "abc", each) for each in (one, other)]
        together = release.combinations(*queries)
        for x, y in [(1.0, 0.0), (0.0, -0.5), *(draw.integers(-4, 5, (6, 2)) / 4.0)]:
            if not x and not y:
                continue
            alone = release.combinations(Explicit.of(domain, "abc", x * one + y * other))
            found, wanted = (each.bound(f, None, 0.05) for each, f in ((together, (x, y)), (alone, (1.0,))))
            assert (found is None) == (wanted is None)
            if found is not None and wanted is not None:
                assert found[:2] == pytest.approx(wanted[:2], rel=1e-9, abs=1e-9)
                assert found[2].centre == pytest.approx(wanted[2].centre, rel=1e-9, abs=1e-9)
                assert together.variance((x, y)) == pytest.approx(wanted[2].variance, rel=1e-9)
