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

Cells that no record can have are 0 throughout, and whatever was measured there is passed by: their log-factors are 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique
from hedgerow.models.core import KINDS, Phase, Potentials, Terms
from hedgerow.models.tree_fit.axes import axis_order, laid_out, put_back
from hedgerow.models.tree_fit.layout import WalkLayout
from hedgerow.models.trees import JunctionTree
from hedgerow.queries import Conjunction, LinearQuery, Marginal, Measurable, Measurement, Parity
from hedgerow.system import in_slices

_SMALLEST = 1e-290
"""A smaller probability of a cell may have lost its digits to underflow, or itself."""


class Part(Protocol):
    """A distribution over a connected tree that a fit starts from and ends in; a histogram is a tree of one clique."""

    @property
    def tree(self) -> JunctionTree:
        """Its structure."""

    @property
    def uniform(self) -> bool:
        """Whether all cells of every clique are as likely."""

    def sums(self, i: int, names: Clique) -> Floats:
        """The marginal of variables that a clique determines, in any unit; not to be changed."""

    def impossible(self, i: int) -> int:
        """Number of cells of a clique that no record can have."""

    def settle(self, tables: Sequence[Floats], separators: Mapping[tuple[int, int], Floats]) -> None:
        """Become a distribution whose marginals are known.

        Args:
            tables: Probabilities of the cells of each clique.
            separators: For each edge those of what its cliques share.
        """


class TreeFit:
    """A fit of one or several trees to measurements: probabilities of all cliques, and the log-factors so far.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.trees import Beliefs, JunctionTree
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> tree = JunctionTree.of(domain, [("a", "b"), ("b", "c")])
        >>> noisy = Measurement(Marginal(domain, ("c",)), np.array([60.0, 40.0]), NoiseKind.GAUSSIAN, 1.0)
        >>> fit = TreeFit([Beliefs(tree)], [noisy], ordered=False)
        >>> fit.run(Phase("explicit", noisy.values / 100, np.ones(1), np.ones(1)))
        True
        >>> fit.log_factors().tables["c",].round(6)
        array([ 0.1, -0.1])
    """

    def __init__(self, parts: Sequence[Part], measurements: Sequence[Measurement], *, ordered: bool) -> None:
        """Lay out the tables and plan the walk; takes no step.

        Args:
            parts: Distributions to start from. Each is one connected tree, and has some of the measurements.
            measurements: Measurements to fit; each depends on at least one attribute.
            ordered: Whether the steps keep the order of the measurements, whatever that costs.

        Raises:
            QueryError: No clique holds the scope of a measurement.
        """
        domain = parts[0].tree.domain
        self._parts = parts
        self._targets = [measured.target for measured in measurements]
        self._places = list(accumulate((measured.values.size for measured in measurements), initial=0))
        self._theta = np.zeros(self._places[-1])
        self._sorting = self._sorted_places()
        scopes = [domain.axes(target.scope) for target in self._targets]
        self._layout = WalkLayout.of([part.tree for part in parts], scopes, ordered=ordered)
        nodes, tables = self._layout.nodes, self._layout.tables
        self._nodes = _slices(nodes[:, 0], nodes[:, 1] * nodes[:, 2])
        self._cells = np.empty(self._nodes[-1].stop)
        for where in self._nodes:
            self._cells[where] = 1.0 / (where.stop - where.start)
        self._old = np.repeat(1.0 / tables[:, 1], tables[:, 1])
        self._ratio = np.ones(self._old.size)
        self._zeros, self._lost = 0, False
        self._start()
        equal, possible = _EqualCells(), self._possible(scopes)
        steps = [
            (place, *equal.of(target, possible.get(target.scope)))
            for target, place in zip(self._targets, self._places, strict=False)
        ]
        self._steps = np.column_stack([self._layout.members, np.array(steps, dtype=np.int64)[self._layout.members]])
        self._steps[:, 3] += self._layout.pool.size
        self._pool = np.concatenate([self._layout.pool, *equal.maps])
        self._values = np.concatenate([np.zeros(1), *equal.values])
        self._room = np.empty((10, max(self._layout.room, 2 * equal.most)))

    def run(self, phase: Phase) -> bool:
        """Take sweeps of steps.

        Args:
            phase: A phase for all measurements of the fit.

        Returns:
            Whether all probabilities stayed in the range of floating point; if not, the fit is of no use.
        """
        targets = phase.targets[self._sorting]
        return self._swept(self._layout.visits, targets, KINDS[phase.kind], phase.rates, phase.shares)

    def settle(self) -> bool:
        """Hand the distribution over to the parts; the fit is over.

        Returns:
            Whether no cell was lost; if some were, nothing was changed.
        """
        nothing = np.zeros(0)
        if not self._swept(self._layout.outward, nothing, 0, nothing, np.ones(1)):
            return False
        if self._cells.min() < _SMALLEST and np.count_nonzero(self._cells < _SMALLEST) > self._zeros:
            return False
        for part, cliques, edges in self._pieces():
            part.settle(
                [put_back(self._cells[where], shape) for where, shape in zip(cliques, part.tree.shapes, strict=True)],
                {
                    edge: put_back(self._old[where], part.tree.domain.shape_of(part.tree.stored_separator(*edge)))
                    for edge, where in edges.items()
                },
            )
        return True

    def log_factors(self) -> Potentials:
        """Sums of the steps of all measurements."""
        unsorted = np.empty_like(self._theta)
        unsorted[self._sorting] = self._theta
        sums = Terms()
        for target, start, stop in zip(self._targets, self._places, self._places[1:], strict=False):
            if isinstance(target, Conjunction):
                sums.add_step(target, float(self._theta[start]))
            else:
                factors = (
                    self._theta[start] * target.values() if isinstance(target, LinearQuery) else unsorted[start:stop]
                )
                sums.add_table(target.scope, factors.reshape(target.domain.shape_of(target.scope)))
        return sums.potentials(None)

    def _swept(self, visits: Ints, targets: Floats, kind: int, rates: Floats, shares: Floats) -> bool:
        from hedgerow.models.tree_fit.sweep_kernels import sweep_trees

        if self._lost:
            return False
        layout = self._layout
        fit = self._cells, layout.nodes, layout.views, self._pool, layout.tables, self._old, self._ratio, self._values
        parts = layout.divided(visits, len(shares))

        def sweep(part: int, _: int) -> bool:
            room = np.empty_like(self._room) if part else self._room
            return bool(sweep_trees((*fit, room), parts[part], self._steps, targets, self._theta, kind, rates, shares))

        return all(in_slices(sweep, len(parts), len(parts)))

    def _sorted_places(self) -> Ints:
        """Places of the targets: the cells of marginals are in the order of the layout."""
        places = np.arange(self._places[-1])
        for target, start, stop in zip(self._targets, self._places, self._places[1:], strict=False):
            if isinstance(target, Marginal):
                shape = target.domain.shape_of(target.scope)
                order = axis_order(shape)
                if any(a > b for a, b in pairwise(order)):
                    places[start:stop] = places[start:stop].reshape(shape).transpose(order).reshape(-1)
        return places

    def _start(self) -> None:
        """Start from the distribution of the parts."""
        for part, cliques, edges in self._pieces():
            if part.uniform:
                continue
            for i, where in enumerate(cliques):
                self._cells[where] = _probabilities(part.sums(i, part.tree.stored[i]))
                zeros = int(np.count_nonzero(self._cells[where] == 0.0))
                self._lost = self._lost or zeros > part.impossible(i)  # some were lost before
                self._zeros += zeros
            for (i, j), where in edges.items():
                self._old[where] = _probabilities(part.sums(i, part.tree.stored_separator(i, j)))
        self._start_hosts()

    def _start_hosts(self) -> None:
        variables, nodes, tables = self._parts[0].tree.domain.variables, self._layout.nodes, self._layout.tables
        hosts = self._layout.hosts
        for places, node, edge in zip(
            hosts, nodes[len(nodes) - len(hosts) :], tables[len(self._layout.edges) - len(hosts) :], strict=False
        ):
            host = tuple(variables[place].name for place in places)
            for part in self._parts:
                if not part.uniform and (clique := part.tree.find(host)) is not None:
                    chances = _probabilities(part.sums(clique, host))
                    self._cells[node[0] : node[0] + chances.size] = self._old[edge[0] : edge[0] + chances.size] = (
                        chances
                    )
                    self._zeros += int(np.count_nonzero(chances == 0.0))

    def _possible(self, scopes: Sequence[Sequence[int]]) -> dict[Clique, Bools]:
        """For each measured scope the cells that records can have, of those that have others."""
        plain = len(self._parts[0].tree.domain)
        if not self._zeros and all(scope[-1] < plain for scope in scopes):
            return {}
        allowed = {}
        tables = self._layout.tables[len(self._layout.edges) :].tolist()
        for m, (start, size) in zip(self._layout.measured.tolist(), tables, strict=False):
            scope = self._targets[m].scope
            homes = ((part, part.tree.find(scope)) for part in self._parts)
            part, clique = next((part, clique) for part, clique in homes if clique is not None)
            self._old[start : start + size] = _probabilities(part.sums(clique, scope))
            possible = self._old[start : start + size] > 0.0
            if not possible.all():
                allowed[scope] = possible
        return allowed

    def _pieces(self) -> Iterator[tuple[Part, list[slice], dict[tuple[int, int], slice]]]:
        """Each part, with the places of its cliques and of its separators."""
        separators = iter(_slices(*self._layout.tables.T))
        first = 0
        for part in self._parts:
            count = len(part.tree.cliques)
            yield part, self._nodes[first : first + count], dict(zip(part.tree.edges, separators, strict=False))
            first += count


def _slices(starts: Ints, sizes: Ints) -> list[slice]:
    return list(map(slice, starts.tolist(), (starts + sizes).tolist()))


def _probabilities(sums: Floats) -> Floats:
    return np.asarray(laid_out(sums) / sums.sum(), dtype=np.float64)


class _EqualCells:
    """Classes of cells on which a query has the same value; cells of a marginal that records can have."""

    def __init__(self) -> None:
        self.maps: list[Ints] = []
        self.values: list[Floats] = []
        self.most = 1
        self._size, self._count = 0, 1
        self._known: dict[object, tuple[int, int, int]] = {}

    def of(self, target: Measurable, possible: Bools | None) -> tuple[int, int, int]:
        """The kind of a step, as ``sweep_trees`` has it: number of values, and the places of the map and of the values.

        Args:
            target: The target that was measured.
            possible: The cells that records can have, as they are laid out; None where all are.
        """
        if isinstance(target, LinearQuery):
            return self._of_query(target, possible)
        if possible is None:
            return 0, 0, 0
        if target.scope not in self._known:
            self._known[target.scope] = 0, self._keep(np.flatnonzero(possible)), int(np.count_nonzero(possible))
        return self._known[target.scope]

    def _of_query(self, target: LinearQuery, possible: Bools | None) -> tuple[int, int, int]:
        shape = target.domain.shape_of(target.scope)
        kind = Parity if isinstance(target, Parity) else getattr(target, "codes", target)
        key = kind, shape, None if possible is None else target.scope
        if key not in self._known:
            table = laid_out(target.values())
            cells = slice(None) if possible is None else possible
            values, which = np.unique(table[cells], return_inverse=True)
            classes = np.zeros(table.size, dtype=np.int64)
            classes[cells] = which.reshape(-1)
            self._known[key] = len(values), self._keep(classes), self._count
            self.values.append(values)
            self._count += values.size
            self.most = max(self.most, values.size)
        return self._known[key]

    def _keep(self, entries: Ints) -> int:
        place = self._size
        self.maps.append(entries)
        self._size += entries.size
        return place
