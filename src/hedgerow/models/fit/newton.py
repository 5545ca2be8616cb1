"""Parities fitted to the optimum by Newton's method: one Walsh-Hadamard transform holds the whole Hessian.

A step of length t from a hypothesis with multipliers ``anchor`` minimises, over one multiplier per parity,

    ln Z(x) - x @ y + sum((x - anchor)**2 / t) / 2

where y are the noisy answers and Z sums the weights. This is the implicit step of multiplicative weights
(`implicit.py`) for all parities at once; from an anchor of 0 it is the dual of maximum entropy under noisy
constraints, with ridge 1 / t. The product of two parities is the parity of the symmetric difference of their sets, so
the entries ``W[S ^ R] - mu_S mu_R + ridge`` of the Hessian are answers of the hypothesis, as those of the gradient
are. Up to some hundred parities the equations of a step are solved exactly. Beyond that, conjugate gradients solve them
as closely as the step needs: two transforms multiply the Hessian by a vector, so it is never written down (Nocedal and
Wright, "Numerical Optimization" (2006), section 7.1). All values are fractions of the total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.errors import ConfigError
from hedgerow.models.core import Model, Potentials
from hedgerow.models.dense import Histogram
from hedgerow.queries import Measurement, Parity, walsh_hadamard

MOST_SOLVED = 2**10
"""Size of the largest system of equations that is solved exactly: 8 MiB and some hundredths of a second."""
LARGEST_TRANSFORM = 2**20
"""Cells of all measured attributes together, at most."""
_LONGEST = 1e8
"""A longer step would give multipliers that only rounding decides."""
_ROUNDING = 1e-14
_SURE = 1.0 - 1e-9
"""The largest answer that a finite multiplier is taken for."""
_FAR = 4.0
"""Distance from a noisy answer up to which noise explains it, in standard deviations: thousands may be measured."""
_SUFFICIENT = 1e-4
_HALVINGS = 40
_LOOSEST, _MOST_PRODUCTS = 0.1, 1000
"""What conjugate gradients leave of the right side at most, far from the optimum; products of the Hessian, at most."""


@dataclass(frozen=True)
class Newton:
    """A few long implicit steps towards all measured parities together, each solved exactly.

    The lengths of the steps of a parity over k attributes add up to ``c * fall**(k - 1) / sigma``, where sigma is the
    standard deviation of its noise as a fraction of the total, as in `Proximal`.

    Attributes:
        c: Length of the fit relative to the noise, for one attribute.
        fall: Factor of that for each further attribute: below 1 where parities of many attributes are expected to be
            about what those of fewer imply.
        steps: Number of equal steps. One alone is a ridge, which holds back even what is certain.
        iterations: Most iterations of a step.
        tolerance: Largest entry of the gradient, a difference of answers in fractions, with which a step is done.
        refits: Fits with longer steps for parities that were left further from their answers than noise explains, at
            most; see `stopping.held_back`.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> model = Histogram(domain, total=100)
        >>> noisy = Measurement(Parity(domain, ("a", "b")), np.array([60.0]), NoiseKind.GAUSSIAN, 1.0)
        >>> Newton().fit(model, [noisy])
        >>> model.marginals([("a", "b")])[0].round()
        array([[40., 10.],
               [10., 40.]])
    """

    c: float = 1.0
    fall: float = 1.0
    steps: int = 2
    iterations: int = 100
    tolerance: float = 1e-10
    refits: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        lengths = 0.0 < self.c < math.inf and 0.0 < self.fall < math.inf
        if not (lengths and self.steps >= 1 and self.iterations >= 1 and self.tolerance > 0.0):
            remedy = "c > 0, fall > 0, steps >= 1, iterations >= 1 and tolerance > 0"
            raise ConfigError(f"{self} cannot be run", remedy=remedy)

    def fit(self, model: Model, measurements: Sequence[Measurement]) -> None:
        """Take the steps from the model as it is.

        Raises:
            ConfigError: The model is not a histogram, something else than a parity was measured, or too many attributes
                were.
        """
        if not (isinstance(model, Histogram) and solvable(measurements)):
            raise ConfigError(
                f"Newton's method needs a histogram and parities of attributes that have at most "
                f"{LARGEST_TRANSFORM:,} cells together",
                remedy="use Proximal() or Sweeps()",
            )
        task = _Task(model, measurements, self.c, self.fall)
        state = self._stepped(task)
        for _ in range(self.refits):
            missing = task.missing(state)
            if not missing.any():
                break
            task.lengths = np.minimum(task.lengths + missing, _LONGEST)
            state = self._stepped(task)
        tables = {
            scope: multiplier * Parity(model.domain, scope).values()
            for scope, multiplier in zip(task.scopes, state.multipliers, strict=True)
        }
        model.reweigh_all(Potentials(tables), task.logits(state.multipliers))

    def _stepped(self, task: _Task) -> _State:
        """All steps from the model as it is."""
        state = task.at(np.zeros(len(task.scopes)), np.zeros(len(task.scopes)), task.lengths / self.steps)
        for _ in range(self.steps):
            state = self._solved(task, task.at(state.multipliers, state.multipliers, state.lengths))
        return state

    def _solved(self, task: _Task, state: _State) -> _State:
        for _ in range(self.iterations):
            if float(np.abs(state.gradient).max(initial=0.0)) <= self.tolerance:
                break
            following = task.descended(state)
            if following is None:
                break
            state = following
        return state


def solvable(measurements: Sequence[Measurement]) -> bool:
    """Whether Newton's method applies on a histogram: parities only, and not of too many attributes.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> targets = Parity(domain, ("a",)), Marginal(domain, ("a",))
        >>> [solvable([Measurement(t, np.ones(t.size), NoiseKind.LAPLACE, 1.0)]) for t in targets]
        [True, False]
    """
    if not all(isinstance(measured.target, Parity) for measured in measurements):
        return False
    attributes = {name for measured in measurements for name in measured.target.scope}
    return len(attributes) < LARGEST_TRANSFORM.bit_length()


def covariances(transform: Floats, places: Ints) -> Floats:
    """Covariances of parities under a distribution.

    Args:
        transform: Its Walsh-Hadamard transform, shape ``(2**k,)``.
        places: For each parity its place in there, shape ``(m,)``.

    Returns:
        ``transform[S ^ R] - transform[S] * transform[R]``, shape ``(m, m)``.

    Example:
        >>> covariances(walsh_hadamard(np.array([0.5, 0.25, 0.25, 0.0])), np.array([1, 2])).tolist()
        [[0.75, -0.25], [-0.25, 0.75]]
    """
    answers = transform[places]
    return np.asarray(transform[places[:, None] ^ places] - np.outer(answers, answers))


@dataclass(frozen=True, eq=False)
class _State:
    """A point of the search, with the hypothesis there.

    Attributes:
        transform: Answers to all parities of the measured attributes, shape ``(cells,)``.
        value: Value of the function that is minimised; ``gradient`` belongs to it.
    """

    multipliers: Floats
    anchor: Floats
    lengths: Floats
    transform: Floats
    value: float
    gradient: Floats


class _Task:
    """Measured parities, each once, on the joint marginal of the measured attributes."""

    def __init__(self, model: Histogram, measurements: Sequence[Measurement], c: float, fall: float) -> None:
        # Repeated answers are averaged with the inverse variances as weights.
        weights: dict[Clique, float] = {}
        sums: dict[Clique, float] = {}
        for measured in measurements:
            scope = measured.target.scope
            if scope:
                weight = max(measured.std / model.total, c / _LONGEST) ** -2
                weights[scope] = weights.get(scope, 0.0) + weight
                sums[scope] = sums.get(scope, 0.0) + weight * float(measured.values[0]) / model.total
        self.scopes = list(weights)
        self.targets = np.clip([sums[scope] / weights[scope] for scope in self.scopes], -1.0, 1.0)
        lengths = [c * fall ** (len(scope) - 1) * math.sqrt(weights[scope]) for scope in self.scopes]
        self.lengths: Floats = np.minimum(lengths, _LONGEST)
        self.sigmas: Floats = np.array([weights[scope] for scope in self.scopes]) ** -0.5
        attributes = model.domain.clique(name for scope in self.scopes for name in scope)
        bits = {name: 1 << i for i, name in enumerate(reversed(attributes))}
        self.places: Ints = np.array([sum(bits[name] for name in scope) for scope in self.scopes], np.int64)
        with np.errstate(divide="ignore"):
            self.start: Floats = np.log(model.marginals([attributes])[0].reshape(-1) / model.total)

    def missing(self, state: _State) -> Floats:
        """Lengths that would end one standard deviation from the answers, for those that noise does not explain.

        A parity alone whose answer is p has the multiplier ``atanh(p)``, and a step of length t adds ``t (y - p)``.
        """
        answers = state.transform[self.places]
        residuals = self.targets - answers
        ends = self.targets - np.copysign(self.sigmas, residuals)
        to_end = np.abs(np.arctanh(np.clip(ends, -_SURE, _SURE)) - np.arctanh(np.clip(answers, -_SURE, _SURE)))
        return np.where(np.abs(residuals) > _FAR * self.sigmas, to_end / self.sigmas, 0.0)

    def logits(self, multipliers: Floats) -> Floats:
        """Log-factors of all cells, shape ``(cells,)``."""
        spread = np.zeros(self.start.size)
        spread[self.places] = multipliers
        return walsh_hadamard(spread)

    def at(self, multipliers: Floats, anchor: Floats, lengths: Floats) -> _State:
        logits = self.logits(multipliers) + self.start
        top = float(logits.max())
        weights = np.exp(logits - top)
        mass = float(weights.sum())
        transform = walsh_hadamard(weights / mass)
        moved = multipliers - anchor
        pull = moved / lengths
        value = math.log(mass) + top - float(multipliers @ self.targets) + 0.5 * float(moved @ pull)
        return _State(multipliers, anchor, lengths, transform, value, transform[self.places] - self.targets + pull)

    def descended(self, state: _State) -> _State | None:
        """After one damped step of Newton's method; None where rounding hides all progress."""
        direction = self._solved(state) if len(self.scopes) <= MOST_SOLVED else self._approached(state)
        if direction is None:
            return None
        slope = float(direction @ state.gradient)
        hidden = _ROUNDING * (1.0 + abs(state.value))
        for halvings in range(_HALVINGS):
            length = 0.5**halvings
            following = self.at(state.multipliers + length * direction, state.anchor, state.lengths)
            if following.value <= state.value + _SUFFICIENT * length * slope + hidden:
                return following
        return None

    def _solved(self, state: _State) -> Floats | None:
        """The direction of Newton's method; None where rounding leaves no positive matrix."""
        from hedgerow.models.dense import solve_positive

        hessian, direction = covariances(state.transform, self.places), -state.gradient
        hessian[np.diag_indices_from(hessian)] += 1.0 / state.lengths
        return direction if solve_positive(hessian, direction) else None

    def _approached(self, state: _State) -> Floats:
        """The same as nearly as the gradient is near 0, so that steps still converge faster than linearly."""
        from scipy.sparse.linalg import LinearOperator, cg

        weights, answers = walsh_hadamard(state.transform) / state.transform.size, state.transform[self.places]

        def product(vector: Floats) -> Floats:
            moved = walsh_hadamard(weights * self.logits(vector))[self.places]
            return np.asarray(moved - answers * float(answers @ vector) + vector / state.lengths)

        size, diagonal = len(answers), 1.0 - answers**2 + 1.0 / state.lengths
        near = min(_LOOSEST, math.sqrt(float(np.linalg.norm(state.gradient))))
        hessian = LinearOperator((size, size), matvec=product)
        scaled = LinearOperator((size, size), matvec=lambda vector: vector / diagonal)
        found, _ = cg(hessian, -state.gradient, rtol=near, maxiter=_MOST_PRODUCTS, M=scaled)
        return np.asarray(found)
