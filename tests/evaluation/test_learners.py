"""Models by scikit-learn: known values, and their measures against slow ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import errors, evaluate
from hedgerow.evaluation import learners
from tests.reference import evaluation as slow


def test_without_scikit_learn_the_extra_is_named_before_a_table_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda _: None)
    with pytest.raises(errors.MissingExtraError, match=r"hedgerow\[evaluate\]"):
        evaluate("none.csv", "none.csv")


@pytest.mark.parametrize("seed", range(3))
def test_the_area_under_the_curve_is_that_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted = rng.integers(0, 3, 60)
    chances = np.round(rng.random((60, 3)), 1)
    expected = np.mean([slow.auc(chances[:, value].tolist(), (wanted == value).tolist()) for value in range(3)])
    assert learners._auc(chances, np.arange(3), wanted) == pytest.approx(expected, abs=1e-12)
    two = (wanted > 0).astype(np.int64)
    assert learners._auc(chances[:, :2], np.arange(2), two) == pytest.approx(
        slow.auc(chances[:, 1].tolist(), (two == 1).tolist()), abs=1e-12
    )


def test_a_value_that_no_model_saw_has_no_chance() -> None:
    found = learners._auc(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]), np.array([0, 2]))
    assert found == 0.5


def cells(seed: int, n: int, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first = (rng.random(n) < 0.4 + shift).astype(np.int64)
    return np.stack([first, (first + (rng.random(n) < 0.2)) % 2, rng.integers(0, 4, n)], axis=1)


def test_propensities_of_equal_and_of_different_tables() -> None:
    pytest.importorskip("sklearn")
    real, fresh, other = cells(0, 3000), cells(1, 3000), cells(2, 3000, 0.3)
    for judge in (learners.logistic_propensity, learners.tree_propensity):
        assert judge(real, real).pmse == pytest.approx(0.0, abs=1e-6)
        assert judge(real, fresh).ratio < 8.0  # the mean is 2; chi squared of 5 degrees passes 4 times it in 1e-3
        assert judge(real, other).ratio > 20.0
        disjoint = judge(real, real + 4)
        assert disjoint.pmse == pytest.approx(0.25, abs=1e-3)


def test_the_logistic_propensity_is_that_of_a_regression_by_newton() -> None:
    pytest.importorskip("sklearn")
    real, synthetic = cells(0, 500), cells(1, 300, 0.1)
    both = np.concatenate([real, synthetic])
    design = [[1.0, *row[:2].tolist(), *(row[2] == value for value in (1, 2, 3))] for row in both]
    x, y = np.array(design, dtype=np.float64), np.repeat([0.0, 1.0], [500, 300])
    beta = np.zeros(6)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-x @ beta))
        beta += np.linalg.solve(x.T @ (x * (p * (1.0 - p))[:, None]), x.T @ (y - p))
    share = 300 / 800
    pmse = float(np.mean((p - share) ** 2))
    found = learners.logistic_propensity(real, synthetic)
    assert found.pmse == pytest.approx(pmse, rel=1e-3)
    assert found.ratio == pytest.approx(pmse / (5 * (1.0 - share) ** 2 * share / 800), rel=1e-3)


@pytest.mark.slow
def test_the_ratio_is_1_for_a_resample_and_2_for_a_fresh_table() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    for judge in (learners.logistic_propensity, learners.tree_propensity):
        fresh, drawn = [], []
        for seed in range(20):
            real = cells(seed, 600)
            fresh.append(judge(real, cells(100 + seed, 600)).ratio)
            drawn.append(judge(real, real[rng.integers(0, 600, 600)]).ratio)
        assert np.mean(fresh) == pytest.approx(2.0, abs=1.0)  # 3.5 standard errors of 2 sqrt(2 / 5) / sqrt(20)
        assert np.mean(drawn) == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize("model", learners.MODELS)
def test_predictions_are_as_good_as_what_was_learnt(model: str) -> None:
    pytest.importorskip("sklearn")
    tested, alike = cells(0, 1000), cells(1, 2000)
    noise = alike.copy()
    noise[:, 0] = np.random.default_rng(0).permutation(noise[:, 0])
    good, bad = (learners.prediction(model, each, tested, 0, [True] * 3) for each in (alike, noise))
    assert good.auc > 0.7
    assert bad.auc < 0.65
    assert good.accuracy > 0.75 > bad.accuracy
    constant = alike.copy()
    constant[:, 0] = 1
    assert learners.prediction(model, constant, tested, 0, [True] * 3).auc == 0.5


def test_an_evaluation_with_models_has_their_figures_beside_the_real_ones() -> None:
    pytest.importorskip("sklearn")
    real, same, worse = (
        pa.table({name: column for name, column in zip("abc", cells(seed, 1500, shift).T, strict=True)})
        for seed, shift in ((0, 0.0), (1, 0.0), (2, 0.3))
    )
    found = evaluate(real, {"same": same, "worse": worse}, targets=["a"])
    assert {each.subject for each in found.of("AUC")} == {"a by gradient boosting", "a by logistic regression"}
    for each in found.of("AUC", "same"):
        assert each.value == pytest.approx(each.real, abs=0.03)
    assert found.value("pMSE ratio", "tree", "worse") > 5 * found.value("pMSE ratio", "tree", "same")
    automatic = evaluate(real, same)
    assert {each.subject.partition(" by ")[0] for each in automatic.of("accuracy")} == {"a", "b", "c"}
