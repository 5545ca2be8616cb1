"""Designs that formulas make of records, and generalised linear models fitted to them, by `formulaic` and scikit-learn.

Weights make weighted maximum likelihood, which is what software for surveys computes. Records with equal rows count
once, with the sum of their weights.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Categorical, Domain, codes_at, encoder
from hedgerow.errors import ConfigError, QueryError
from hedgerow.queries import Formula

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ModelFamily = Literal["linear", "logistic", "poisson"]
"""Normal, binomial or Poisson law, each with its canonical link."""
FAMILIES: tuple[ModelFamily, ...] = ("linear", "logistic", "poisson")
_LEVEL = re.compile(r"\[T\..*?\](?=:|$)")
"""The part of a coefficient's name that names a label."""
_SURE = 15.0
"""Linear predictor of a logistic fit beyond which a probability is 0 or 1 in effect."""
_FARTHEST = 50.0
"""Linear predictor up to which a rate is computed."""
_SOLVED = 1e-8
"""Score of a record at which equations are solved, with columns scaled to 1."""


@dataclass(frozen=True)
class Group:
    """Records that coefficients compare with others.

    Attributes:
        places: Columns of the design.
        value: What these are in the group; None for anything but 0.
        rests: The coefficients that rest on it.
    """

    places: list[int]
    value: float | None
    rests: list[int]

    def of(self, left: Floats) -> NDArray[np.bool_]:
        """Whether rows are in the group, shape ``(rows,)``."""
        columns = left[:, self.places]
        return np.asarray((columns == (self.value or 0.0)).all(axis=1) != (self.value is None))


@dataclass(frozen=True, eq=False)
class Design:
    """The distinct rows of a regression.

    Attributes:
        names: Names of the coefficients, as `formulaic` gives them.
        left: What explains, shape ``(rows, coefficients)``.
        right: The outcome, shape ``(rows,)``.
        places: The row of each record; -1 where a record lacks a value.
        spec: How rows are made of records, as `formulaic` keeps it.
        labels: The labels of each column of labels that records have.
    """

    names: list[str]
    left: Floats
    right: Floats
    places: Ints
    spec: Any = field(repr=False)
    labels: dict[str, list[str]] = field(repr=False)

    @classmethod
    def of(
        cls,
        formula: Formula,
        family: ModelFamily,
        records: pa.Table,
        domain: Domain,
        *,
        weights: Floats | None = None,
        like: Design | None = None,
    ) -> Design:
        """Make the rows of records.

        Args:
            formula: The formula.
            family: The law of the outcome, which must be able to have its values.
            records: The records.
            domain: Their domain; labels are categories in its order.
            weights: Weights of the records; labels of none but weight 0 have no coefficient.
            like: Another design whose coefficients it has; records with labels that are none of its are left out.

        Raises:
            QueryError: The formula cannot be evaluated.
            ConfigError: The outcome does not fit the family.
        """
        from formulaic import Formula as Parsed
        from formulaic.errors import FormulaicError

        records = _with_derived(records, formula, domain)
        counted = records if weights is None else records.filter(weights > 0.0)
        labels = _labels(counted, formula, domain) if like is None else like.labels
        frame = _frame(records, formula, labels)
        complete = frame.notna().all(axis=1).to_numpy()
        try:
            spec = Parsed(formula.text) if like is None else like.spec
            made = spec.get_model_matrix(frame[complete], context={}, na_action="ignore")
        except (FormulaicError, ValueError, TypeError) as error:
            raise QueryError(f"{formula.text!r} cannot be evaluated: {error}", remedy=_REMEDY) from error
        left, outcome = (np.asarray(side, dtype=np.float64) for side in (made.rhs, made.lhs))
        right = _outcome(outcome, [str(name) for name in made.lhs.columns], family)
        both = np.column_stack([left, right])
        known = np.isfinite(both).all(axis=1)
        if not left.shape[1]:
            raise QueryError(f"{formula.text!r} has nothing that explains", remedy="y ~ 1 fits a mean alone")
        rows, found = np.unique(both[known], axis=0, return_inverse=True)
        places = np.full(len(complete), -1)
        places[np.flatnonzero(complete)[known]] = found.reshape(-1)
        return cls([str(name) for name in made.rhs.columns], rows[:, :-1], rows[:, -1], places, made.model_spec, labels)

    @cached_property
    def groups(self) -> list[Group]:
        """The groups of records that coefficients compare.

        A column of two values compares the records with each; of one with more count those where it is not 0; labels
        are compared with the records that have none of the other labels of their column.
        """
        found, factors = list[Group](), dict[str, list[int]]()
        for place, (name, column) in enumerate(zip(self.names, self.left.T, strict=True)):
            values = np.unique(column)
            if len(values) == 2:
                found += [Group([place], float(value), [place]) for value in values]
            elif len(values) > 2:
                found.append(Group([place], None, [place]))
            if "[T." in name:
                factors.setdefault(_LEVEL.sub("", name), []).append(place)
        constant = [place for place, column in enumerate(self.left.T) if (column == 1.0).all()]
        return found + [Group(places, 0.0, [*places, *constant]) for places in factors.values()]

    def sizes(self, weights: Floats, groups: Sequence[Group]) -> Floats:
        """The weights of groups, from those of the rows, shape ``(len(groups),)``."""
        return np.array([weights @ each.of(self.left) for each in groups])

    def summed(self, weights: Floats) -> Floats:
        """The weights of the rows, from those of the records."""
        kept = self.places >= 0
        return np.bincount(self.places[kept], weights[kept], len(self.right)).astype(np.float64)


_REMEDY = "name columns of numbers, or categories as C(column); the outcome has numbers, or two values"


def _labels(records: pa.Table, formula: Formula, domain: Domain) -> dict[str, list[str]]:
    """The labels that records have, in the order of the domain."""
    labels = {}
    for name in formula.columns:
        if isinstance(domain[name], Categorical) or name not in domain.names:
            held = set(records[name].unique().to_pylist())
            labels[name] = [label for label in domain[name].labels if label in held]
    return labels


def _with_derived(records: pa.Table, formula: Formula, domain: Domain) -> pa.Table:
    """The records with the labels of levels and other derived attributes that a formula names."""
    for name in formula.columns:
        if name not in records.column_names:
            codes = {each: encoder(domain[each]).codes(records[each].combine_chunks()) for each in domain.base((name,))}
            labels = np.array(domain[name].labels, dtype=object)[codes_at(domain, name, codes)]
            records = records.append_column(name, [labels.tolist()])
    return records


def _frame(records: pa.Table, formula: Formula, labels: dict[str, list[str]]) -> pd.DataFrame:
    """Columns of a formula; labels as categories."""
    import pandas as pd

    frame = {name: records[name].to_pandas() for name in formula.columns}
    held = {name: frame[name].where(frame[name].isin(known)) for name, known in labels.items()}
    return pd.DataFrame(frame | {name: pd.Series(pd.Categorical(held[name], labels[name])) for name in labels})


def _outcome(columns: Floats, names: list[str], family: ModelFamily) -> Floats:
    """The outcome: of two labels whether it is the second.

    Raises:
        ConfigError: It does not fit the family.
    """
    two = columns.shape[1] == 2 and bool((columns.sum(axis=1)[np.isfinite(columns).all(axis=1)] == 1.0).all())
    if columns.shape[1] != 1 and not two:
        raise ConfigError(f"the outcome has {columns.shape[1]} values: {', '.join(names)}", remedy=_REMEDY)
    values = columns[:, -1]
    known = values[np.isfinite(values)]
    if family == "logistic" and not np.isin(known, (0.0, 1.0)).all():
        raise ConfigError("the outcome of a logistic regression has two values", remedy="compare: I(hours > 40) ~ age")
    if family == "poisson" and (known < 0.0).any():
        raise ConfigError("the outcome of a Poisson regression is a count", remedy="use family='linear'")
    return values


def fitted(design: Design, weights: Floats, family: ModelFamily) -> Floats:
    """Coefficients of weighted maximum likelihood, shape ``(coefficients,)``.

    Args:
        design: The rows.
        weights: Weights of the rows, not negative.
        family: The law of the outcome.
    """
    kept = weights > 0.0
    left, right, weights = design.left[kept], design.right[kept], weights[kept]
    if family == "logistic" and len(np.unique(right)) < 2:
        return np.full(left.shape[1], np.nan)
    scale = np.maximum(np.abs(design.left).max(axis=0), 1e-300)
    with _quietly():
        model = _model(family).fit(left / scale, right, sample_weight=weights / weights.mean())
    coefficients: Floats = np.asarray(model.coef_, dtype=np.float64).reshape(-1)
    return np.asarray(coefficients / scale, dtype=np.float64)


def means(design: Design, coefficients: Floats, family: ModelFamily) -> tuple[Floats, Floats]:
    """The mean of the outcome in each row, and its derivative by the linear predictor, shape ``(rows,)`` each."""
    predictor = design.left @ coefficients
    if family == "linear":
        return predictor, np.ones_like(predictor)
    if family == "poisson":
        rate = np.exp(np.minimum(predictor, _FARTHEST))
        return rate, rate
    chance = special.expit(predictor)
    return chance, chance * (1.0 - chance)


def solved(design: Design, weights: Floats, family: ModelFamily, start: Floats) -> Floats | None:
    """Coefficients that solve the score equations with weights of which some may be negative; None if none do.

    Args:
        design: The rows.
        weights: Weights of the rows.
        family: The law of the outcome.
        start: Coefficients to start from.
    """
    scale = np.maximum(np.abs(design.left).max(axis=0), 1e-300)
    left, size = design.left / scale, float(weights.sum())

    def score(scaled: Floats) -> tuple[Floats, Floats]:
        mean, slope = means(design, scaled / scale, family)
        return left.T @ (weights * (mean - design.right)) / size, (left.T * (weights * slope)) @ left / size

    found = optimize.root(score, start * scale, jac=True, tol=1e-12)
    value, curvature = score(found.x)
    if np.abs(value).max() > _SOLVED or np.linalg.eigvalsh(curvature)[0] <= 0.0:
        return None
    return np.asarray(found.x / scale, dtype=np.float64)


def _model(family: ModelFamily) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

    newton: dict[str, Any] = {"fit_intercept": False, "solver": "newton-cholesky", "tol": 1e-10, "max_iter": 100}
    if family == "linear":
        return LinearRegression(fit_intercept=False)
    return LogisticRegression(C=np.inf, **newton) if family == "logistic" else PoissonRegressor(alpha=0.0, **newton)


@contextmanager
def _quietly() -> Iterator[None]:
    """No warnings: coefficients without an end are told by `separated`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_rank(design: Design, weights: Floats) -> None:
    """Refuse designs whose coefficients are not determined.

    Raises:
        ConfigError: A column is a combination of the others.
    """
    scaled = design.left[weights > 0.0] / np.maximum(np.abs(design.left).max(axis=0), 1e-300)
    rank = 0
    for number, name in enumerate(design.names, 1):
        now = int(np.linalg.matrix_rank(scaled[:, :number]))
        if now == rank:
            raise ConfigError(f"{name} is a combination of what stands before it", remedy="leave it out of the formula")
        rank = now


def separated(design: Design, coefficients: Floats, family: ModelFamily) -> bool:
    """Whether a logistic fit has probabilities of 0 or 1, so that coefficients have no end."""
    return family == "logistic" and bool(np.abs(design.left @ coefficients).max() > _SURE)
