"""Tables over levels of the same attributes, each coarser than the last, fitted to the optimum by Newton's method.

Each table holds sums of the next finer one: counts at levels of a line, or of coarser and coarser grids on a plane. An
implicit step of all of them at once, from a distribution ``mu`` over the cells, ends at the p that minimises

    KL(p || mu) + sum over tables l of t_l |y_l - p_l|**2 / 2

where y are the noisy answers. Sweeps over the tables would need many rounds to get there, for what one table moves all
others move back. The Hessian is ``1 / p`` on the diagonal and t_l on every block of a table l: one pass up the levels
and one down solve for it (as for trees of counts: Hay, Rastogi, Miklau and Suciu, "Boosting the Accuracy of
Differentially Private Histograms Through Consistency", VLDB 2010).

The noise of b cells pulls on the cell that holds them by sqrt(b) times as much as that of one. The steps of a table are
as much longer than those of the finest, so that what is fine and mostly noise does not move what is coarse and known.
All values are fractions of the total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import ConfigError
from hedgerow.models.core import Model
from hedgerow.models.core.steps import FLOOR
from hedgerow.models.fit.chains import LONGEST, Chain, cells_of, nested, sums_of
from hedgerow.queries import Measurement

_ROUNDING = 1e-14
_HALVINGS = 40


@dataclass(frozen=True)
class Nested:
    """A few long implicit steps towards all tables over levels of the same attributes, each solved exactly.

    The lengths of the steps of the finest table add up to ``c / sigma``, where sigma is the standard deviation of its
    noise as a fraction of the total; of coarser ones to as much times the root of the cells in a block.

    Attributes:
        c: Length of the fit relative to the noise.
        steps: Number of equal steps. One alone holds back even what is certain.
        iterations: Most iterations of a step.
        tolerance: Largest change of a probability with which a step is done.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.dense import Histogram
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain((IntegerRange("age", 0, 19),))
        >>> model = Histogram(domain, total=100)
        >>> fives, ages = Marginal(domain, ("age.5",)), Marginal(domain, ("age",))
        >>> noisy = [Measurement(fives, np.array([70.0, 10.0, 10.0, 10.0]), NoiseKind.LAPLACE, 1.0),
        ...          Measurement(ages, np.full(20, 5.0), NoiseKind.LAPLACE, 10.0)]
        >>> Nested().fit(model, noisy)
        >>> model.marginals([("age.5",)])[0].round(1)
        array([69.9, 10. , 10. , 10. ])
    """

    c: float = 0.8
    steps: int = 8
    iterations: int = 100
    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (0.0 < self.c < math.inf and self.steps >= 1 and self.iterations >= 1 and self.tolerance > 0.0):
            raise ConfigError(f"{self} cannot be run", remedy="c > 0, steps >= 1, iterations >= 1 and tolerance > 0")

    def fit(self, model: Model, measurements: Sequence[Measurement]) -> None:
        """Take the steps from the model as it is.

        Args:
            model: The hypothesis, changed in place.
            measurements: Noisy tables that are ``nested``.

        Raises:
            ConfigError: They are not.
        """
        if not nested(measurements):
            raise ConfigError("no table is the sum of the next finer one", remedy="use Proximal() or Sweeps()")
        scope = cells_of(measurements)
        current = model.marginals([scope])[0]
        masses = current.reshape(-1)
        possible = masses > 0.0
        chain = Chain.of(measurements, model.total, possible)
        nodes = sums_of(masses[possible], chain.places[0], chain.targets[0].size)
        occupied = nodes > 0.0
        start: Floats = np.log(nodes[occupied] / model.total)
        task = _Task.of(chain, occupied, self.c / self.steps)
        logits = start
        for _ in range(self.steps):
            logits = self._solved(task, logits)
        nodes[occupied] = logits - start
        table = np.zeros(len(masses))
        table[possible] = nodes[chain.places[0]]
        model.reweigh(scope, table.reshape(current.shape))

    def _solved(self, task: _Task, anchor: Floats) -> Floats:
        state = task.at(anchor, anchor)
        for _ in range(self.iterations):
            moved = task.direction(state, anchor)
            following = task.descended(state, anchor, moved)
            if following is None:
                break
            state = following
            if float(np.abs(moved).max()) <= self.tolerance:
                break
        return state.logits


@dataclass(frozen=True, eq=False)
class _State:
    """A point of the search.

    Attributes:
        logits: Logarithms of the probabilities of the finest cells.
        tables: Probabilities of the cells of each table, finest first.
        value: Value of the function that is minimised.
    """

    logits: Floats
    tables: list[Floats]
    value: float


@dataclass(frozen=True, eq=False)
class _Task:
    """Measured tables, finest first; cells of the finest are those that records can have.

    Inside these cells the hypothesis stays as it is: nothing was measured there.

    Attributes:
        above: For each cell the cell of the next coarser table.
        targets: Noisy fractions, averaged over all tables that measure the same.
        lengths: Length of a step of each table.
    """

    above: list[Ints]
    targets: list[Floats]
    lengths: list[float]

    @classmethod
    def of(cls, chain: Chain, held: Bools, c: float) -> _Task:
        sizes = [np.count_nonzero(np.bincount(places)) for places in chain.places]
        lengths = [
            min(c * length * math.sqrt(sizes[0] / size), LONGEST)
            for length, size in zip(chain.lengths, sizes, strict=True)
        ]
        (finest, *targets), (above, *higher) = chain.averages, chain.above
        return cls([above[held], *higher], [finest[held], *targets], lengths)

    def at(self, logits: Floats, anchor: Floats) -> _State:
        p = np.exp(logits)
        mass = float(p.sum())
        logits = logits - math.log(mass)
        tables = [np.asarray(p / mass)]
        for places, target in zip(self.above, self.targets[1:], strict=True):
            tables.append(sums_of(tables[-1], places, len(target)))
        value = float(tables[0] @ (logits - anchor))
        for length, target, table in zip(self.lengths, self.targets, tables, strict=True):
            missing = target - table
            value += 0.5 * length * float(missing @ missing)
        return _State(logits, tables, value)

    def direction(self, state: _State, anchor: Floats) -> Floats:
        """The step of Newton's method, as changes of the probabilities of the finest cells; their sum stays."""
        pulls = [
            length * (target - table)
            for length, target, table in zip(self.lengths, self.targets, state.tables, strict=True)
        ]
        pull = pulls[-1]
        for places, each in zip(reversed(self.above), reversed(pulls[:-1]), strict=True):
            pull = each + pull[places]
        give = state.tables[0] / (1.0 + self.lengths[0] * state.tables[0])
        finest, moves = give, give * (pull + anchor - state.logits)
        gives, sums = list[Floats](), list[Floats]()
        for places, length, target in zip(self.above, self.lengths[1:], self.targets[1:], strict=True):
            gives.append(sums_of(give, places, len(target)))
            sums.append(sums_of(moves, places, len(target)))
            shrink = 1.0 / (1.0 + length * gives[-1])
            give, moves = gives[-1] * shrink, sums[-1] * shrink
        level = np.full(len(give), float(moves.sum()) / float(give.sum()))
        for places, length, can, wanted in zip(
            reversed(self.above), reversed(self.lengths[1:]), reversed(gives), reversed(sums), strict=True
        ):
            level = (level + length * (wanted - level * can) / (1.0 + length * can))[places]
        return np.asarray(finest * (pull + anchor - state.logits - level))

    def descended(self, state: _State, anchor: Floats, moved: Floats) -> _State | None:
        """After one damped step; None where rounding hides all progress.

        Probabilities that grow move as they are, others by their logarithms: none becomes negative.
        """
        hidden = _ROUNDING * (1.0 + abs(state.value))
        relative = moved / state.tables[0]
        for halvings in range(_HALVINGS):
            by = 0.5**halvings * relative
            logits = state.logits + np.where(by > 0.0, np.log1p(np.maximum(by, 0.0)), by)
            following = self.at(np.maximum(logits, math.log(FLOOR)), anchor)
            if following.value <= state.value + hidden:
                return following
        return None
