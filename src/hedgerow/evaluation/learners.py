"""Models by scikit-learn: how well they tell synthetic records from real ones, and what they learn from either.

The columns of records are their cells on the grid, rare labels as one; trees take them as numbers, logistic regression
as indicators.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import require
from hedgerow.system import numbered

MOST_RECORDS = 20_000
"""Records of a table that models are trained on, at most."""
MOST_CELLS = 30
"""Cells of a column that models tell apart; the others are one."""

_PERMUTATIONS = 10
_LEAVES = 64
_LEAST_LEAF = 20
_ITERATIONS = 50
_WEAK = 1e4
"""Inverse of the penalty of the logistic regression that stands for maximum likelihood."""


def require_extra() -> None:
    """Check that scikit-learn is installed.

    Raises:
        MissingExtraError: It is not.
    """
    remedy = "pip install 'hedgerow[evaluate]', or leave the models out: models=False, --no-models"
    require("sklearn", "scikit-learn is not installed, which trains the models of an evaluation", remedy)


@dataclass(frozen=True)
class Propensity:
    """A model that tells synthetic records from real ones.

    Attributes:
        pmse: Mean squared difference of its probabilities from the share of synthetic records, from 0 to 1/4
            (Woo et al. 2009; Snoke et al. 2018).
        ratio: The same over its expectation where the synthetic records are drawn from the real table's own
            distribution, as those of a resample are: about 1 there, and about 1 / (1 - c), which is 2 for tables of
            equal size, where both tables are drawn afresh from one population.
    """

    pmse: float
    ratio: float


def logistic_propensity(real: Ints, synthetic: Ints) -> Propensity:
    """Propensities by logistic regression on indicators of all cells, with the expectation of Snoke et al. (2018).

    With N records, a share c of them synthetic, and k parameters, that is (k - 1) (1 - c)^2 c / N.

    Args:
        real: Cells of the real records, shape ``(n, n_columns)``.
        synthetic: Cells of the synthetic records, likewise.
    """
    cells, is_synthetic = _stacked(real, synthetic)
    indicators = _indicators(cells, cells.max(axis=0) + 1)
    if not indicators.shape[1]:
        return Propensity(0.0, 1.0)
    share, n_records = float(is_synthetic.mean()), len(cells)
    with _training():
        parameters = float(np.linalg.matrix_rank(np.cov(indicators, rowvar=False), hermitian=True))  # k - 1
    expected = parameters * (1.0 - share) ** 2 * share / n_records
    pmse = _pmse(_logistic("newton-cholesky", _WEAK), indicators, is_synthetic)
    return Propensity(pmse, pmse / expected if expected else 1.0)


def tree_propensity(real: Ints, synthetic: Ints, seed: int = 0) -> Propensity:
    """Propensities by a classification tree, with the expectation under random permutations of the tables' names.

    A permutation makes both tables random; 1 - c of what it gives is the share of the synthetic one.

    Args:
        real: Cells of the real records, shape ``(n, n_columns)``.
        synthetic: Cells of the synthetic records, likewise.
        seed: Seed of the permutations.
    """
    from sklearn.tree import DecisionTreeClassifier

    cells, is_synthetic = _stacked(real, synthetic)
    tree = DecisionTreeClassifier(max_leaf_nodes=_LEAVES, min_samples_leaf=_LEAST_LEAF, random_state=0)
    rng = numbered(seed, 0)
    null = [_pmse(tree, cells, rng.permutation(is_synthetic)) for _ in range(_PERMUTATIONS)]
    pmse, expected = _pmse(tree, cells, is_synthetic), float(np.mean(null)) * float(1.0 - is_synthetic.mean())
    return Propensity(pmse, pmse / expected if expected else 1.0)


def _stacked(real: Ints, synthetic: Ints) -> tuple[Ints, Bools]:
    return np.concatenate([real, synthetic]), np.repeat([False, True], [len(real), len(synthetic)])


def _pmse(model: Any, records: NDArray[Any], is_synthetic: Bools) -> float:
    with _training():
        chances = model.fit(records, is_synthetic).predict_proba(records)[:, 1]
    return float(np.mean(np.square(chances - is_synthetic.mean())))


@dataclass(frozen=True)
class Prediction:
    """Quality of predictions of one column of real records that a model did not see.

    Attributes:
        auc: Area under the ROC curve; of more than two values the mean of one value against the rest.
        accuracy: Share of right predictions.
    """

    auc: float
    accuracy: float


MODELS = ("gradient boosting", "logistic regression")


def prediction(model: str, trained: Ints, tested: Ints, target: int, labels: Sequence[bool]) -> Prediction:
    """Train a model on some records, and predict a column of others.

    Args:
        model: One of `MODELS`.
        trained: Cells of the records to learn from, shape ``(n, n_columns)``.
        tested: Cells of real records, likewise.
        target: Number of the column that is predicted.
        labels: Whether the cells of each column are labels, without an order.
    """
    others = [column for column in range(trained.shape[1]) if column != target]
    known, wanted = trained[:, target], tested[:, target]
    features: NDArray[Any] = trained[:, others]
    unseen: NDArray[Any] = tested[:, others]
    classes = np.unique(known)
    if not len(classes):
        return Prediction(float("nan"), float("nan"))
    if len(classes) == 1:
        return Prediction(0.5, float(np.mean(wanted == classes[0])))
    if model == MODELS[0]:
        from sklearn.ensemble import HistGradientBoostingClassifier

        learner: Any = HistGradientBoostingClassifier(
            max_iter=_ITERATIONS,
            early_stopping=False,
            random_state=0,
            categorical_features=[labels[column] for column in others],
        )
    else:
        learner = _logistic("lbfgs", 1.0)
        sizes = np.maximum(features.max(axis=0), unseen.max(axis=0)) + 1
        features, unseen = (_indicators(cells, sizes) for cells in (features, unseen))
    if not features.shape[1]:  # all other columns are constant
        values, counts = np.unique(known, return_counts=True)
        return Prediction(0.5, float(np.mean(wanted == values[counts.argmax()])))
    with _training():
        chances = learner.fit(features, known).predict_proba(unseen)
    return Prediction(_auc(chances, classes, wanted), float(np.mean(classes[chances.argmax(axis=1)] == wanted)))


def _auc(chances: Floats, classes: Ints, wanted: Ints) -> float:
    """Mean area over the values that some tested record has and some has not; one that was never seen has chance 0."""
    from scipy.stats import rankdata

    areas = []
    values = np.unique(wanted)
    for value in values[-1:] if len(values) == 2 else values:
        positive = wanted == value
        if positive.all():
            continue
        of_value = chances[:, classes == value].sum(axis=1)
        n_held, n_other = int(positive.sum()), int((~positive).sum())
        areas.append((rankdata(of_value)[positive].sum() - n_held * (n_held + 1) / 2) / (n_held * n_other))
    return float(np.mean(areas)) if areas else 0.5


def _logistic(solver: str, inverse_penalty: float) -> Any:
    """Newton's method is exact, and slow where there are several classes."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=inverse_penalty, solver=solver, max_iter=100)


def _indicators(cells: Ints, sizes: Ints) -> Floats:
    """One column for each cell but the first of each column that has several."""
    indicators = [column[:, None] == np.arange(1, size) for column, size in zip(cells.T, sizes, strict=True)]
    return np.concatenate(indicators, axis=1).astype(np.float64)


@contextmanager
def _training() -> Iterator[None]:
    """One thread, as several only wait for each other on so few records, and no warnings.

    The warning that counts says that a regression has not converged: where the tables differ entirely it cannot.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
