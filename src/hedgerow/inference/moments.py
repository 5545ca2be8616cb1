"""Regressions from noisy sums: X'X and X'y as measurements tell them, with the law of their noise (theory.md, 21.1).

Tables, moments of columns by groups, products of columns and the number of records are linear in the sums over the
records of products of two columns of a design. So these have a best linear unbiased estimate with a known covariance.
Least squares follow from it without records and without a fit, so that nothing is smoothed: what noise in X'X adds in
the second order is taken off. For logistic and Poisson regressions synthetic records are weighed until they have these
sums (the regression estimator of surveys: J.-C. Deville and C.-E. Saerndal, JASA 87, 1992; theory.md, 21.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Categorical, Domain, Ordered
from hedgerow.inference.fitting import Design, ModelFamily, fitted, means, solved
from hedgerow.queries import Formula, Marginal, Measurement, Positions
from hedgerow.release import Numbers, Release, runs

MOST_ERROR = 0.5
"""Noise in X'X, or in the curvature of a likelihood, beside itself, up to which its higher orders are small."""
_MOST_COLUMNS, _MOST_CURVED = 40, 20
_LARGEST = 1 << 22
"""Weights of the sums that one table tells, at most."""
_ROUNDING = 1e-9
"""Variance of sums between which there is an identity, beside the largest one."""


@dataclass(frozen=True, eq=False)
class _Function:
    """A column of a design: a function of one column of the table.

    Attributes:
        column: That column; empty for the constant.
        values: Its value for each code: of a number its position in the whole column, of a label 1 or 0.
        middle: The number at position 0; of a label 0.
        span: The length of the whole column; of a label 1.
        told: Whether a code is one number.
    """

    column: str
    values: Floats
    middle: float = 0.0
    span: float = 1.0
    told: bool = True

    @classmethod
    def of(cls, domain: Domain, name: str) -> _Function | None:
        """The function of a coefficient's name; None for all but plain numbers and labels that no record lacks."""
        if name == "Intercept":
            return cls("", np.ones(1))
        base, _, label = name.removesuffix("]").partition("[T.")
        base = base.removeprefix("C(").removesuffix(")") if label else base
        if base not in domain.names:
            return None
        attribute = domain[base]
        if label and isinstance(attribute, Categorical) and attribute.missing_code is None:
            return cls.of_label(attribute, label)
        if label or not isinstance(attribute, Ordered):
            return None
        numbers = Numbers.of(attribute)
        if attribute.size != len(numbers.at) or not numbers.span:
            return None
        middle = (numbers.low[0] + numbers.high[-1]) / 2.0
        values = ((numbers.low + numbers.high) / 2.0 - middle) / numbers.span
        return cls(base, values, float(middle), numbers.span, not numbers.wide)

    @classmethod
    def of_label(cls, attribute: Categorical, label: str) -> _Function:
        """Whether a record has a label."""
        return cls(attribute.name, np.array([each == label for each in attribute.labels], dtype=np.float64))

    @classmethod
    def of_outcome(cls, formula: Formula, domain: Domain) -> _Function | None:
        """The outcome: a number, or whether a label is the second of two."""
        (name, *others), plain = formula.outcome, formula.text.partition("~")[0].strip().strip("`")
        if others or plain != name or name not in domain.names:
            return None
        attribute = domain[name]
        if isinstance(attribute, Categorical):
            two = len(attribute.labels) == 2 and attribute.missing_code is None
            return cls.of_label(attribute, attribute.labels[1]) if two else None
        return cls.of(domain, name)


@dataclass(frozen=True, eq=False)
class FromSums:
    """Coefficients from noisy sums.

    Attributes:
        raw: The coefficients that solve ``X'X b = X'y``, or the score equations of records that have these sums.
        bias: What noise in X'X adds to least squares, in the second order; of other models 0.
        covariance: Of their noise; of least squares with the second order.
        inverse: Of X'X, or of the curvature of the likelihood.
        error: Noise in these beside themselves, at most about `MOST_ERROR`.
    """

    raw: Floats
    bias: Floats
    covariance: Floats
    inverse: Floats
    error: float

    @classmethod
    def of(
        cls, release: Release, formula: Formula, design: Design, family: ModelFamily, weights: Floats
    ) -> FromSums | None:
        """Solve the equations of a model.

        Args:
            release: The release.
            formula: The formula.
            design: Rows of synthetic records.
            family: The law of the outcome.
            weights: Weights of the rows.

        Returns:
            None where measurements do not tell all sums, or with too much noise.
        """
        domain = release.domain
        columns = [_Function.of(domain, name) for name in design.names]
        found = [each for each in (*columns, _Function.of_outcome(formula, domain)) if each is not None]
        if len(found) < len(columns) + 1 or len(found) > (_MOST_COLUMNS if family == "linear" else _MOST_CURVED):
            return None
        sums = _Sums([_Function("", np.ones(1)), *found])
        told = [each for run in _runs(release) if (each := sums.estimated(release, run)) is not None]
        if family == "linear":
            results = [cls._solved(sums, *both) for both in told]
        else:
            results = [cls._weighed(sums, *both, (design, family, weights)) for both in told]
        kept = [each for each in results if each is not None]
        return min(kept, key=lambda each: float(np.trace(each.covariance)), default=None)

    @classmethod
    def _weighed(
        cls, sums: _Sums, values: Floats, covariance: Floats, rows: tuple[Design, ModelFamily, Floats]
    ) -> FromSums | None:
        """A generalised linear model of rows that are weighed to have the sums."""
        design, family, weights = rows
        products = sums.of_rows(design)
        pull = products @ np.linalg.pinv((products.T * weights) @ products, rcond=_ROUNDING, hermitian=True)
        pull *= weights[:, None]  # what a change of the sums adds to the weight of each row
        missing = values - weights @ products
        left_over = np.abs(missing - products.T @ (pull @ missing)).max()
        weighed = weights + pull @ missing
        raw = solved(design, weighed, family, fitted(design, weights, family))
        if raw is None or left_over > 1e-3 * math.sqrt(float(np.diag(covariance).max())):
            return None
        mean, slope = means(design, raw, family)
        inverse = np.asarray(np.linalg.inv((design.left.T * (weighed * slope)) @ design.left))
        change = inverse @ (design.left * (design.right - mean)[:, None]).T @ pull
        spread, turned = np.linalg.eigh(covariance)
        noise = pull @ (turned * np.sqrt(np.maximum(spread, 0.0)))  # of the weights, each column apart
        half = design.left @ np.linalg.cholesky(inverse)
        apart = np.einsum("ra,rb,rk->kab", half * slope[:, None], half, noise, optimize=True)
        size = math.sqrt(float(np.square(apart).sum()))
        if size > MOST_ERROR:
            return None
        return cls(raw, np.zeros_like(raw), np.asarray(change @ covariance @ change.T), inverse, size)

    @classmethod
    def _solved(cls, sums: _Sums, values: Floats, covariance: Floats) -> FromSums | None:
        spread, turned = np.linalg.eigh(covariance)
        noise = (turned * np.sqrt(np.maximum(spread, 0.0))).T
        whole, apart = sums.matrix(values[None])[0], sums.matrix(noise)
        left, right, error = whole[1:-1, 1:-1], apart[:, 1:-1, 1:-1], apart[:, 1:-1, -1]
        scale = np.sqrt(np.maximum(np.diag(left), 1e-300))
        left, right, error = left / np.outer(scale, scale), right / np.outer(scale, scale), error / scale
        own, axes = np.linalg.eigh(left)
        if own[0] <= 0.0:
            return None
        root = (axes / np.sqrt(own)) @ axes.T
        size = math.sqrt(float(np.square(root @ right @ root).sum()))
        if size > MOST_ERROR:
            return None
        inverse = root @ root
        raw = inverse @ (whole[1:-1, -1] / scale)
        first = (right @ raw - error) @ inverse  # of each part of the noise, shape (parts, coefficients)
        second = np.einsum("ab,kbc,lc->kla", inverse, right, first, optimize=True)
        bias = np.trace(second)
        both = second + second.transpose(1, 0, 2)
        spread_of = first.T @ first + np.einsum("kla,klb->ab", both, both, optimize=True) / 2.0
        return cls(
            raw / scale, bias / scale, spread_of / np.outer(scale, scale), inverse / np.outer(scale, scale), size
        )


class _Sums:
    """The sums over the records of products of two columns of a design, each once."""

    def __init__(self, functions: Sequence[_Function]) -> None:
        """Number the sums: of labels of one column most are 0, or sums of one label."""
        self.functions = functions
        self.places = np.full((len(functions), len(functions)), -1)
        number = 0
        for i, j in combinations_with_replacement(range(len(functions)), 2):
            one, other = functions[i], functions[j]
            same = self._place_of(one, other)
            if same is None:
                same, number = number, number + 1
            self.places[i, j] = self.places[j, i] = same
        self.number = number

    def _place_of(self, one: _Function, other: _Function) -> int | None:
        """The sum that is the same: -1 for 0, None for a new one."""
        product = _product(one, other)
        if not product[1].any():
            return -1
        for i, j in combinations_with_replacement(range(len(self.functions)), 2):
            if self.places[i, j] >= 0:
                before = _product(self.functions[i], self.functions[j])
                if before[0] == product[0] and np.array_equal(before[1], product[1]):
                    return int(self.places[i, j])
        return None

    def of_rows(self, design: Design) -> Floats:
        """What each row of a design adds to the sums, shape ``(rows, number)``."""
        numbers = np.column_stack([np.ones(len(design.right)), design.left, design.right])
        inside = (numbers - [each.middle for each in self.functions]) / [each.span for each in self.functions]
        found = np.zeros((len(inside), self.number))
        for i, j in combinations_with_replacement(range(len(self.functions)), 2):
            if self.places[i, j] >= 0:
                found[:, self.places[i, j]] = inside[:, i] * inside[:, j]
        return found

    def matrix(self, sums: Floats) -> Floats:
        """Symmetric matrices of sums in the numbers' own units, shape ``(n, columns, columns)``."""
        padded = np.column_stack([sums, np.zeros(len(sums))])
        change = np.diag([each.span for each in self.functions])
        change[1:, 0] += [each.middle for each in self.functions[1:]]
        return np.asarray(change @ padded[:, self.places] @ change.T)

    def estimated(self, release: Release, tables: Sequence[Measurement]) -> tuple[Floats, Floats] | None:
        """The best linear unbiased estimate of all sums, and its covariance; None where some are not told."""
        information, weighted = np.zeros((self.number, self.number)), np.zeros(self.number)
        for rows, values, covariance in self._told(release, tables):
            largest = float(np.diag(covariance).max())
            precision = np.linalg.inv(covariance + _ROUNDING * largest * np.eye(len(values)))
            information += rows.T @ precision @ rows
            weighted += rows.T @ precision @ values
        scale = np.sqrt(np.diag(information))
        if not scale.all() or np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < 1e-12:
            return None
        covariance = np.linalg.inv(information / np.outer(scale, scale)) / np.outer(scale, scale)
        return covariance @ weighted, covariance

    def _told(self, release: Release, tables: Sequence[Measurement]) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Rows of a linear model of the sums, noisy values, and the covariance of their noise."""
        count = release.record_count
        one = np.zeros((1, self.number))
        one[0, self.places[0, 0]] = 1.0
        if release.budget.neighbours.public_total:
            yield one, np.array([release.total]), np.array([[1e-6]])
        elif count is not None:
            yield one, np.array([count.centre]), np.array([[count.variance]])
        for each in [*tables, *release.positions]:
            told = self._of_table(each) if isinstance(each.target, Marginal) else self._of_positions(each)
            rows, weights = np.array([row for row, _ in told]), np.array([weight.reshape(-1) for _, weight in told])
            if len(rows):
                yield rows, weights @ each.values, each.std**2 * weights @ weights.T

    def _row(self, i: int, j: int) -> Floats:
        return np.asarray(np.arange(self.number) == self.places[i, j], dtype=np.float64)

    def _of_table(self, measured: Measurement) -> list[tuple[Floats, Floats]]:
        """The sums that a table tells, with the weights of its cells."""
        domain, scope = measured.target.domain, measured.target.scope
        inside = [n for n, each in enumerate(self.functions) if each.told and each.column in ("", *scope)]
        pairs = {int(self.places[i, j]): (i, j) for i in inside for j in inside if self.places[i, j] >= 0}
        if len(pairs) * measured.target.size > _LARGEST:
            return []
        return [(self._row(i, j), self._spread(domain, scope, i, j)) for i, j in pairs.values()]

    def _of_positions(self, measured: Measurement) -> list[tuple[Floats, Floats]]:
        """The sums that moments by groups tell, or products."""
        target = measured.target
        if not isinstance(target, Positions) or target.form == "positions":
            return []
        numbers = {each.column: place for place, each in enumerate(self.functions) if each.middle or each.span != 1.0}
        if target.column not in numbers:
            return []
        own = numbers[target.column]
        if target.other:
            return [(self._row(own, numbers[target.other]), np.ones(1))] if target.other in numbers else []
        by = tuple(name for name in target.scope if name != target.column)
        axis, shape = target.scope.index(target.column), target.domain.shape_of(by)
        found, nothing = list[tuple[Floats, Floats]](), np.zeros(shape)
        for place, each in enumerate(self.functions):
            if each.told and each.column in ("", *by):
                weights = self._spread(target.domain, by, 0, place)
                found.append((self._row(own, place), np.stack([weights, nothing], axis)))
        square = 2.0 * self._row(own, own) - 0.5 * self._row(0, 0)
        return [*found, (square, np.stack([nothing, np.ones(shape)], axis))]

    def _spread(self, domain: Domain, scope: tuple[str, ...], i: int, j: int) -> Floats:
        """The product of two functions over the cells of a table."""
        weights = np.ones(domain.shape_of(scope))
        for each in (self.functions[i], self.functions[j]):
            if each.column:
                sizes = [-1 if name == each.column else 1 for name in scope]
                weights = weights * each.values.reshape(sizes)
        return weights


def _product(one: _Function, other: _Function) -> tuple[frozenset[str], Floats]:
    """The columns of a product of functions, and what tells products of the same columns apart."""
    columns = frozenset({one.column, other.column} - {""})
    if len(columns) < 2:
        return columns, np.asarray(one.values * other.values)
    first, second = sorted((one, other), key=lambda each: each.column)
    return columns, np.multiply.outer(first.values, second.values)


def _runs(release: Release) -> list[list[Measurement]]:
    """Whole tables over attributes, of measurements between which nothing was chosen; and none at all."""
    domain = release.domain
    found: list[list[Measurement]] = [[]]
    found += [
        [
            each
            for each in run
            if isinstance(each.target, Marginal)
            and each.target.within is None
            and each.target.scope == domain.base(each.target.scope)
        ]
        for run in runs(release.events, release.measurements)
    ]
    return [each for number, each in enumerate(found) if each or not number]
