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

MOST_ERROR, MOST_BENT = 0.5, 0.3
"""Noise in X'X, and in the curvature of a likelihood, beside itself, up to which its higher orders are small. Of the
second the bias is left in (measured, a logistic model of Adult: .97 of 70 releases held below, .78 of 27 above)."""
_MOST_COLUMNS, _MOST_CURVED = 40, 20
_LARGEST = 1 << 22
"""Weights of the sums that one table tells, at most."""
_ROUNDING = 1e-9
"""Variance of sums between which there is an identity, beside the largest one."""


@dataclass(frozen=True, eq=False)
class _Factor:
    """A factor of a column of a design: a function of one column of the table.

    Attributes:
        column: That column.
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
    def all_of(cls, domain: Domain, name: str) -> list[_Factor] | None:
        """The factors of a coefficient's name; None for all but products of plain numbers and labels."""
        if name == "Intercept":
            return []
        whole = cls.of(domain, name)
        if whole is not None:
            return [whole]
        for colon in (place for place, mark in enumerate(name) if mark == ":"):  # labels may hold some too
            first, rest = cls.of(domain, name[:colon]), cls.all_of(domain, name[colon + 1 :])
            if first is not None and rest is not None:
                return [first, *rest]
        return None

    @classmethod
    def of(cls, domain: Domain, name: str) -> _Factor | None:
        """The function of a name; None for all but plain numbers and labels that no record lacks."""
        base, _, label = name.removesuffix("]").partition("[")
        base = base.removeprefix("C(").removesuffix(")") if label else base
        if base not in domain.names:
            return None
        attribute, label = domain[base], label.removeprefix("T.")
        if isinstance(attribute, Categorical) and attribute.missing_code is None and label in attribute.labels:
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
    def of_label(cls, attribute: Categorical, label: str) -> _Factor:
        """Whether a record has a label."""
        return cls(attribute.name, np.array([each == label for each in attribute.labels], dtype=np.float64))

    @classmethod
    def of_outcome(cls, formula: Formula, domain: Domain) -> _Factor | None:
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
        error: Noise in these beside themselves, at most `MOST_ERROR` or `MOST_BENT`.
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
        columns = [_Factor.all_of(domain, name) for name in design.names]
        outcome = _Factor.of_outcome(formula, domain)
        found = [each for each in (*columns, None if outcome is None else [outcome]) if each is not None]
        if len(found) < len(columns) + 1 or len(found) > (_MOST_COLUMNS if family == "linear" else _MOST_CURVED):
            return None
        sums = _Sums([[], *found])
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
        if products is None:
            return None
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
        if size > MOST_BENT:
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
    """The sums over the records of products of two columns of a design, each different one once.

    A column is a product of factors, each a number or a label. A number is ``middle + span u``, so that a column is a
    combination of products of positions and labels, the basis. A product is kept as its values by column.
    """

    def __init__(self, columns: Sequence[Sequence[_Factor]]) -> None:
        """Number the sums: of labels of one column most are 0, or sums of one label.

        Args:
            columns: The factors of each column of the design: of the constant (none), of those that explain, and of
                the outcome.
        """
        factors = {each.column: each for column in columns for each in column if each.span != 1.0 or each.middle}
        self.positions = {name: each.values for name, each in factors.items()}
        self.untold = {each.column for column in columns for each in column if not each.told}
        basis, change = dict[_Key, _Product](), list[dict[_Key, float]]()
        for column in columns:
            parts: list[tuple[float, _Product]] = [(1.0, {})]
            for each in column:
                inside = [(each.span * share, _times(part, {each.column: each.values})) for share, part in parts]
                parts = [*((each.middle * share, part) for share, part in parts if each.middle), *inside]
            change.append({_key(part): share for share, part in parts})
            basis |= {_key(part): part for _, part in parts}
        self.change = np.array([[column.get(key, 0.0) for key in basis] for column in change])
        self.products, numbers = list[_Product](), dict[_Key, int]()
        self.places = np.full((len(basis), len(basis)), -1)
        for (i, one), (j, other) in combinations_with_replacement(enumerate(basis.values()), 2):
            product = _times(one, other)
            if all(values.any() for values in product.values()):
                if (key := _key(product)) not in numbers:
                    numbers[key] = len(self.products)
                    self.products.append(product)
                self.places[i, j] = self.places[j, i] = numbers[key]
        self.numbers = numbers
        self.number = len(self.products)

    def of_rows(self, design: Design) -> Floats | None:
        """What each row of a design adds to the sums, shape ``(rows, number)``; None where a row does not tell."""
        if np.linalg.matrix_rank(self.change) < self.change.shape[1]:
            return None
        numbers = np.column_stack([np.ones(len(design.right)), design.left, design.right])
        inside = numbers @ np.linalg.pinv(self.change).T
        found = np.zeros((len(inside), self.number))
        for i, j in combinations_with_replacement(range(len(self.places)), 2):
            if self.places[i, j] >= 0:
                found[:, self.places[i, j]] = inside[:, i] * inside[:, j]
        return found

    def matrix(self, sums: Floats) -> Floats:
        """Symmetric matrices of sums in the numbers' own units, shape ``(n, columns, columns)``."""
        padded = np.column_stack([sums, np.zeros(len(sums))])
        return np.asarray(self.change @ padded[:, self.places] @ self.change.T)

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
        if release.knows_total:
            yield one, np.array([release.total]), np.array([[1e-6]])
        elif count is not None:
            yield one, np.array([count.centre]), np.array([[count.variance]])
        for each in [*tables, *release.positions]:
            told = self._of_table(each) if isinstance(each.target, Marginal) else self._of_positions(each)
            rows, weights = np.array([row for row, _ in told]), np.array([weight.reshape(-1) for _, weight in told])
            if len(rows):
                yield rows, weights @ each.values, each.std**2 * weights @ weights.T

    def _row(self, number: int) -> Floats:
        return np.asarray(np.arange(self.number) == number, dtype=np.float64)

    def _of_table(self, measured: Measurement) -> list[tuple[Floats, Floats]]:
        """The sums that a table tells, with the weights of its cells."""
        domain, scope = measured.target.domain, measured.target.scope
        told = [number for number, each in enumerate(self.products) if each.keys() <= {*scope} - self.untold]
        if len(told) * measured.target.size > _LARGEST:
            return []
        return [(self._row(number), _spread(domain, scope, self.products[number])) for number in told]

    def _of_positions(self, measured: Measurement) -> list[tuple[Floats, Floats]]:
        """The sums that moments by groups tell, or products."""
        target = measured.target
        if not isinstance(target, Positions) or target.form == "positions" or target.column not in self.positions:
            return []
        own = self.positions[target.column]
        if target.other:
            product = {target.column: own, target.other: self.positions.get(target.other, np.zeros(1))}
            number = self.numbers.get(_key(product))
            return [] if number is None else [(self._row(number), np.ones(1))]
        by = tuple(name for name in target.scope if name != target.column)
        axis, found = target.scope.index(target.column), list[tuple[Floats, Floats]]()
        for number, product in enumerate(self.products):
            groups = {name: values for name, values in product.items() if name != target.column}
            if target.column not in product or not groups.keys() <= {*by} - self.untold:
                continue
            weights = _spread(target.domain, by, groups)
            nothing = np.zeros_like(weights)
            if np.array_equal(product[target.column], own):
                found.append((self._row(number), np.stack([weights, nothing], axis)))
            elif (counted := self.numbers.get(_key(groups))) is not None:  # the other sum is 2 u^2 - 1/2
                row = 2.0 * self._row(number) - 0.5 * self._row(counted)
                found.append((row, np.stack([nothing, weights], axis)))
        return found


_Product = dict[str, Floats]
"""A product of functions of columns: for each column the values for its codes."""
_Key = tuple[tuple[str, bytes], ...]


def _times(one: _Product, other: _Product) -> _Product:
    """The product of two products."""
    return {name: one.get(name, 1.0) * np.asarray(other.get(name, 1.0)) for name in {**one, **other}}


def _key(product: _Product) -> _Key:
    """What equal products have in common."""
    return tuple((name, product[name].tobytes()) for name in sorted(product))


def _spread(domain: Domain, scope: tuple[str, ...], product: _Product) -> Floats:
    """A product over the cells of a table."""
    weights = np.ones(domain.shape_of(scope))
    for name, values in product.items():
        weights = weights * values.reshape([-1 if each == name else 1 for each in scope])
    return weights


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
