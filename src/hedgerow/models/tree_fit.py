"""Refits of products over junction trees in compiled sweeps.

A fit walks along the edges of the trees. At every clique it visits, it takes the steps of the measurements whose scope
lies there, each on the small table of its scope, and then brings one neighbour up to date by one message (Hugin's:
multiply by the new sums over what both share, divided by the old ones). So a clique is in line with everything that
happened elsewhere whenever it is looked at, and a walk around a tree costs about what calibrating it once costs
(iterative proportional fitting on junction trees: Jirousek and Preucil, Computational Statistics & Data Analysis 19,
1995). Multiplying by the factors of the last step and summing for the next one is one pass over the cells.

The cells are probabilities, not logarithms: no exponential is taken over a clique, and nothing but a product and a sum
is left of a pass. What lasts are the log-factors of each measurement; the tables are thrown away. Where a probability
leaves the range of floating point, the fit says so, and the caller takes the steps in logarithms instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain import Clique
from hedgerow.models.beliefs import Beliefs
from hedgerow.models.steps import Phase
from hedgerow.models.tree_layout import Layout, axis_order
from hedgerow.models.tree_walk import Walk
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Floats, Marginal

Ints = NDArray[np.int64]

_SMALLEST = 1e-290
"""A smaller probability of a cell may have lost its digits to underflow, or itself."""
_KINDS = {"explicit": 0, "stable": 1, "implicit": 2}


@final
class TreeFit:
    """A fit of one or several trees to measurements: probabilities of all cliques, and the log-factors so far.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> from hedgerow.models.junction_tree import JunctionTree
        >>> from hedgerow.queries.measurement import NoiseKind
        >>> from hedgerow.queries.query import Marginal
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> tree = JunctionTree.of(domain, [("a", "b"), ("b", "c")])
        >>> noisy = Measurement(Marginal(domain, ("c",)), np.array([60.0, 40.0]), NoiseKind.GAUSSIAN, 1.0)
        >>> fit = TreeFit([Beliefs(tree)], [noisy], ordered=False)
        >>> fit.run(Phase("explicit", noisy.values / 100, np.ones(1), np.ones(1)))
        True
        >>> fit.log_factors(0).round(6)
        array([ 0.1, -0.1])
    """

    def __init__(self, parts: Sequence[Beliefs], measurements: Sequence[Measurement], *, ordered: bool) -> None:
        """Lay out the tables and plan the walk; takes no step.

        Args:
            parts: Where to start from. Each is one connected tree, and has some of the measurements.
            measurements: What to fit; each depends on at least one attribute.
            ordered: Whether the steps keep the order of the measurements, whatever that costs.

        Raises:
            QueryError: No clique holds the scope of a measurement.
        """
        self._targets = [measured.target for measured in measurements]
        self._places = list(accumulate((target.size for target in self._targets), initial=0))
        self._theta = np.zeros(self._places[-1])
        self._sorting = self._sorted_places()
        homes = {name: i for i, part in enumerate(parts) for clique in part.tree.cliques for name in clique}
        layout = Layout()
        scopes: list[dict[int, Clique]] = [{} for _ in parts]
        for index, target in enumerate(self._targets):
            if layout.place(index, target, self._places[index]):
                scopes[homes[target.scope[0]]][index] = target.scope
        for part, inside in zip(parts, scopes, strict=True):
            if inside:
                layout.add(part, Walk.in_order(part.tree, inside) if ordered else Walk.around(part.tree, inside))
        self._arrays = layout.arrays()

    def run(self, phase: Phase) -> bool:
        """Take sweeps of steps.

        Args:
            phase: For all measurements of the fit.

        Returns:
            Whether all probabilities stayed in the range of floating point; if not, the fit is of no use.
        """
        from hedgerow.models.tree_kernels import sweep_trees

        targets = phase.targets[self._sorting]
        fine = sweep_trees(*self._arrays, targets, self._theta, _KINDS[phase.kind], phase.rates, phase.shares)
        return bool(fine) and bool(self._arrays[0].min(initial=1.0) > _SMALLEST)

    def log_factors(self, index: int) -> Floats:
        """Of one measurement: of the cells of a marginal, flat, or the step of a query; shape ``(size,)``."""
        start, stop = self._places[index], self._places[index + 1]
        found = np.empty(stop - start)
        found[self._sorting[start:stop] - start] = self._theta[start:stop]
        return found

    def _sorted_places(self) -> Ints:
        """Which target stands where: the cells of marginals are in the order of the layout."""
        places = np.arange(self._places[-1])
        for target, start, stop in zip(self._targets, self._places, self._places[1:], strict=False):
            shape = target.domain.shape_of(target.scope)
            order = axis_order(shape)
            if isinstance(target, Marginal) and any(a > b for a, b in pairwise(order)):
                places[start:stop] = places[start:stop].reshape(shape).transpose(order).reshape(-1)
        return places
