"""Consistent tables over a tree: answers to what was measured from the tables, everything else from the tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, possible_cells
from hedgerow.errors import ConfigError
from hedgerow.models.core import Codes, Columns, Complete, Factored, Given, Model, SamplingMethod, code_type
from hedgerow.models.fit.residual_basis import ResidualBasis, largest
from hedgerow.models.overlays.moves import Moves, as_many, can_move
from hedgerow.models.trees import Markov
from hedgerow.queries import Conjunction, LinearQuery, Parity, filled_axes
from hedgerow.system import Seed, generator

_NARROW = 2
"""Attributes of the tables that records are moved towards where all of them are too many."""


class Overlay(Model):
    """Tables that agree wherever they overlap and are nowhere negative, over a junction tree that cannot hold them all.

    They need not be the tables of any distribution. **A question whose attributes all lie in one of the tables is
    answered from the tables, every other from the tree**: a rule about the attributes alone. Where a tree answers, its
    answers need not agree with those of the tables. Records are drawn from the tree and moved until they have the
    tables (`Moves`), so that what was measured is as good in them.

    It is made whole from measurements (``overlaid``), and takes no updates.

    Attributes:
        tree: The hypothesis below the tables; not to be changed.
        parts: The tables, and the places of their parts.
        coefficients: The parts, as fractions of all records, shape ``(parts.size,)``; not to be changed.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> parts = ResidualBasis(domain, [("a", "b"), ("b", "c"), ("a", "c")])
        >>> coefficients = np.zeros(parts.size)
        >>> coefficients[[0, 4, 5, 6]] = 1.0, -0.5, -0.5, -0.5  # no two are equal: no record can be so
        >>> model = Overlay(Markov(domain, 12.0), parts, coefficients)
        >>> model.marginals([("a", "c"), ("a", "b", "c")])[0].round(9).tolist()
        [[0.0, 6.0], [6.0, 0.0]]
        >>> model.conjunctions([Conjunction.where(domain, {"a": [0], "b": [0], "c": [0]})])  # the tree's
        array([1.5])
    """

    def __init__(self, tree: Markov, parts: ResidualBasis, coefficients: Floats) -> None:
        """Put tables over a tree.

        Args:
            tree: The hypothesis below; its total is that of the model.
            parts: The tables.
            coefficients: Their parts, as fractions, shape ``(parts.size,)``; the first is 1.

        Raises:
            ConfigError: The parts are of another domain, or there are as many coefficients.
        """
        super().__init__(tree.domain, tree.total)
        if parts.domain != tree.domain or coefficients.shape != (parts.size,) or coefficients[0] != 1.0:
            raise ConfigError(f"{coefficients.size:,} coefficients do not fit {parts.size:,} of tables of the domain")
        self.tree = tree
        self.parts = parts
        self.coefficients = coefficients

    @cached_property
    def moves(self) -> Moves | None:
        """Moves of the tree's records towards the tables, or their pairs, or those pairs that the tree misses most."""
        narrow = [part for part in self.parts.sets if len(part) == _NARROW]
        return moves_of(self, self.parts.scopes) or moves_of(self, narrow) or moves_of(self, self._missed(narrow))

    def _missed(self, scopes: Sequence[Clique]) -> list[Clique]:
        """As many tables as records can be moved towards, those first that the tree is farthest from."""
        tables, below = self.marginals(scopes), self.tree.marginals(scopes)
        far = [float(np.abs(one - other).sum()) for one, other in zip(tables, below, strict=True)]
        return as_many(self.tree, (scopes[place] for place in np.argsort(far)[::-1].tolist()))

    @property
    def cheap_cells(self) -> int:
        """The same as for the tree: larger tables may need larger products on the way."""
        return self.tree.cheap_cells

    def rescale(self, total: float) -> None:
        """Set the mass; tables and tree stay as they are otherwise.

        Args:
            total: Mass in counts, positive.
        """
        super().rescale(total)
        self.tree.rescale(total)

    # Answers

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        held = [clique for clique in cliques if self.parts.holds(clique)]
        tables = iter(self._tables(held))
        others = iter(self.tree.marginals([clique for clique in cliques if not self.parts.holds(clique)]))
        return [next(tables if self.parts.holds(clique) else others) for clique in cliques]

    def _tables(self, cliques: Sequence[Clique]) -> list[Floats]:
        found = []
        for clique, table in zip(cliques, self.parts.tables(cliques, self.coefficients), strict=True):
            counts = np.maximum(self._total * table, 0.0)  # what is below 0 is rounding
            possible = possible_cells(self._domain, clique) if self._domain.constraints else None
            if possible is not None:
                counts = np.where(possible, counts, 0.0)
                counts *= self._total / counts.sum()
            found.append(counts)
        return found

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        found = np.empty(len(queries))
        groups: dict[Clique, list[int]] = {}
        others = []
        for place, query in enumerate(queries):
            if self.parts.holds(query.scope):
                groups.setdefault(query.scope, []).append(place)
            else:
                others.append(place)
        for (_, places), table in zip(groups.items(), self._tables(list(groups)), strict=True):
            found[places] = [float(queries[place].of_table(table)[0]) for place in places]
        found[others] = self.tree.conjunctions([queries[place] for place in others])
        return found

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Sums of the product of ``1 - 2 code`` over each set of binary attributes, in counts.

        Args:
            scopes: Sets by name; or shape ``(sets, longest)``, positions in the domain, increasing, then -1 to fill up.

        Returns:
            Shape ``(sets,)``.

        Raises:
            QueryError: An attribute has more than two codes.
        """
        axes = scopes if isinstance(scopes, np.ndarray) else filled_axes(map(self._domain.axes, scopes))
        names = self._domain.names
        for axis in np.unique(axes[axes >= 0]).tolist():
            Parity(self._domain, (names[axis],))  # which refuses more codes than two
        sets = [tuple([names[axis] for axis in row if axis >= 0]) for row in axes.tolist()]
        held = np.array([self.parts.holds(each) for each in sets], dtype=np.bool_)
        found = np.empty(len(sets))
        if not held.all():
            found[~held] = self.tree.parities(axes[~held])
        inside = [each for each in sets if self.parts.holds(each)]
        places = np.array([self.parts.start(each) for each in inside], dtype=np.int64)
        cells = 2.0 ** np.array([len(each) for each in inside])
        found[held] = self._total * np.sqrt(cells) * self.coefficients[places]
        return found

    # State

    def _update(self, query: LinearQuery, step: float) -> None:
        raise self._fixed()

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        raise self._fixed()

    def reset(self) -> None:
        """Refused, as all changes are."""
        raise self._fixed()

    def _fixed(self) -> ConfigError:
        return ConfigError(
            "tables over a tree are made whole from measurements, and take no updates",
            remedy="update its tree, or fit the measurements again",
        )

    def copy(self) -> Overlay:
        """An independent model in the same state."""
        return Overlay(self.tree.copy(), self.parts, self.coefficients)

    # Records

    def sample_blocks(
        self,
        n: int,
        seed: Seed = None,
        method: SamplingMethod | str = SamplingMethod.SYSTEMATIC,
        given: Given | None = None,
    ) -> Iterator[Codes]:
        """Records of the tree, moved towards the tables; given a condition each is moved by itself."""
        draw = generator(seed)
        blocks = super().sample_blocks(n, draw, method, given)
        if self.moves is None or not isinstance(given, LinearQuery):
            return blocks
        moves = self.moves.settled.given(given)
        return blocks if moves is None else moves.apart(blocks, draw)

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        blocks = self.tree.sample_blocks(n, draw, method)
        if self.moves is None:
            return blocks
        together = method is SamplingMethod.SYSTEMATIC
        return self.moves.together(blocks, draw) if together else self.moves.settled.apart(blocks, draw)

    def meeting(self, condition: LinearQuery) -> Markov:
        """The tree given a condition."""
        return self.tree.meeting(condition)

    def completing(self, names: Clique) -> Complete:
        """Rows are completed by the tree; what it added is then moved."""
        complete, moves = self.tree.completing(names), self.moves
        if moves is None:
            return complete

        def moved(columns: Columns, rows: int, draw: np.random.Generator, method: SamplingMethod) -> Columns:
            found = complete(columns, rows, draw, method)
            block: Codes = np.stack([found[name] for name in self._domain.names], axis=1).astype(
                code_type(self._domain)
            )
            (codes,) = moves.settled.apart(iter([block]), draw, names)
            return {name: found[name] for name in names} | dict(
                zip(self._domain.names, codes.T.astype(np.int64), strict=True)
            )

        return moved


def moves_of(model: Model, scopes: Iterable[Clique]) -> Moves | None:
    """Moves of the records of a hypothesis towards its own tables, for records that have not all its law.

    Args:
        model: The hypothesis.
        scopes: Attributes of the tables; those inside another are left out.

    Returns:
        None where the tables are too many, or the hypothesis is made of records.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> tree = Markov(Domain(IntegerRange(name, 0, 1) for name in "ab"), 4.0)
        >>> moves_of(tree, [("a", "b")]) is None, moves_of(tree, []) is None
        (False, True)
    """
    law, wanted = model.tree if isinstance(model, Overlay) else model, largest(scopes)
    if not (wanted and isinstance(law, Factored) and can_move(model.domain, wanted)):
        return None
    tables = zip(wanted, model.marginals(wanted), strict=True)
    return Moves.of(law, {scope: table / table.sum() for scope, table in tables})
