"""Unevenness inside blocks: cells that were measured together are even in a hypothesis, and seldom in the data.

Adaptive grids measure cells with few records in blocks. Records drawn from a release are spread evenly inside these, so
that simulated errors of single cells would be too small, by very much where values are heaped (ages given in fives).
How uneven records are is read off what was measured, attribute by attribute: the noisy counts of blocks in a line, cut
from one coarser cell, less their noise and the spread of whole records. Blocks of several codes of an attribute are
taken to be as uneven inside; each drawn table has shares of its own. Where tables of single attributes were measured
too, all this is about the shares that they give the cells. That is post-processing, and a guess: what blocks hide
nobody measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, places_in
from hedgerow.models import Codes, estimated
from hedgerow.queries import Blocks, LinearQuery, Marginal, Measurable, Measurement
from hedgerow.system import Seed, generator

_LEAST = 1e-3
"""Relative deviation of cells below which blocks count as even."""
_TINY = 1e-300
_ROUNDING = 1e-13
"""Largest answer, for each cell, that is taken for none."""


@dataclass(frozen=True, eq=False)
class Uneven:
    """Blocks of cells, and how uneven the cells in them are.

    Attributes:
        domain: The domain.
        scope: The attributes that the blocks are about, in domain order.
        places: The block of each of their cells, flat.
        expected: Records of a cell, as single attributes say, in the mean of all cells.
        deviations: Standard deviation of the cells of a block over what is expected, shape ``(blocks,)``.
    """

    domain: Domain
    scope: Clique
    places: Ints
    expected: Floats = field(repr=False)
    deviations: Floats = field(repr=False)

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], total: float) -> Uneven | None:
        """The finest blocks of a release, as uneven inside as they are among each other.

        Args:
            domain: A domain.
            measurements: Noisy answers of the release.
            total: Number of records (noisy), in counts.

        Returns:
            None where there are no blocks of several cells, or they look even.

        Example:
            >>> from hedgerow import IntegerRange
            >>> from hedgerow.queries import NoiseKind
            >>> domain = Domain((IntegerRange("age", 0, 19),))
            >>> tens, blocks = Marginal(domain, ("age.5",)), Blocks(domain, ("age",), np.arange(20) // 2)
            >>> counts = [80.0, 40.0, 40.0, 40.0], [70.0, 5.0, 5.0, 30.0, 10.0, 30.0, 10.0, 30.0, 0.0, 0.0]
            >>> pair = zip((tens, blocks), counts, strict=True)
            >>> noisy = [Measurement(target, np.array(each), NoiseKind.LAPLACE, 0.1) for target, each in pair]
            >>> Uneven.of(domain, noisy, 200.0).deviations[:3].round(2)
            array([1.14, 1.14, 1.14])
        """
        measured = [measurement for measurement in measurements if isinstance(measurement.target, Blocks)]
        if not measured:
            return None
        finest = max(measured, key=lambda each: each.target.size)
        scope, tables = domain.base(finest.target.scope), [m for m in measurements if _is_table(m.target)]
        smaller = [table for table in tables if table.target.size < finest.target.size]
        coarser = [each for each in smaller if domain.base(each.target.scope) == scope] or smaller
        if not coarser:
            return None
        expected = _expected(domain, scope, tables) if len(scope) > 1 else np.ones(domain.cells(scope))
        places, lines = _places(finest.target, scope), _Lines.of(finest, coarser, scope, expected, total)
        each = np.array([lines.variance(axis) for axis in range(len(scope))])
        deviations = np.sqrt((lines.lengths > 1) @ each)
        return cls(domain, scope, places, expected, deviations) if deviations.max() > _LEAST else None

    def cuts(self, query: LinearQuery) -> bool:
        """Whether a query tells cells of one block apart, so that its answer rests on how records spread in there.

        It does unless counts that cancel out in each block cancel out in its answer.

        Args:
            query: A query over the domain.

        Example:
            >>> from hedgerow import IntegerRange, parse_predicate
            >>> domain = Domain((IntegerRange("age", 0, 3),))
            >>> blocks = Uneven(domain, ("age",), np.array([0, 0, 1, 1]), np.ones(4), np.ones(2))
            >>> [blocks.cuts(parse_predicate(text, blocks.domain)) for text in ("age < 2", "age < 1")]
            [False, True]
        """
        if not set(self.domain.base(query.scope)) <= set(self.scope):
            return True
        counts = generator(0).random(len(self.places))
        counts -= (np.bincount(self.places, counts) / np.bincount(self.places))[self.places]
        places = places_in(self.domain, self.scope, query.scope).reshape(-1)
        shape = self.domain.shape_of(query.scope)
        table = np.bincount(places, counts, math.prod(shape)).astype(np.float64).reshape(shape)
        return bool(np.abs(query.of_table(table)).max() > _ROUNDING * len(counts))

    def scattered(self, codes: Codes, seed: Seed = None) -> Codes:
        """Records that lie inside the same blocks, on cells of uneven shares.

        Shares follow a gamma law about what is expected, divided by their sum in each block.

        Args:
            codes: One row per record, shape ``(n, len(domain))``.
            seed: Seed of the shares and the records.
        """
        rng, shape = generator(seed), self.domain.shape_of(self.scope)
        axes = [self.domain.index(name) for name in self.scope]
        even = rng.gamma(np.maximum(self.deviations, _LEAST)[self.places] ** -2.0)
        weights = np.maximum(even * self.expected, _TINY)
        order = np.argsort(self.places, kind="stable")
        blocks, shares = self.places[order], (weights / np.bincount(self.places, weights)[self.places])[order]
        ends = np.cumsum(np.bincount(blocks))
        mine = self.places[np.ravel_multi_index([codes[:, axis] for axis in axes], shape)]
        places = np.searchsorted(np.cumsum(shares), mine + rng.random(len(mine)))
        cells = order[np.clip(places, (ends - np.bincount(blocks))[mine], ends[mine] - 1)]
        scattered = np.array(codes)
        scattered[:, axes] = np.stack(np.unravel_index(cells, shape), axis=1)
        return scattered


@dataclass(frozen=True, eq=False)
class _Lines:
    """Noisy counts of blocks, each in a line of blocks along every attribute.

    Attributes:
        densities: Noisy count of each block over what is expected there, shape ``(blocks,)``.
        cells: Records that are expected there: the number of cells, where single attributes were not measured.
        noise: Variance of each density: of noise, and of whole records about even shares of coarser cells.
        nodes: The coarser cell that each was cut from.
        lows: Smallest codes of each, shape ``(blocks, attributes)``.
        lengths: Numbers of codes of each, likewise.
    """

    densities: Floats
    cells: Floats
    noise: Floats
    nodes: Ints
    lows: Ints
    lengths: Ints

    @classmethod
    def of(
        cls, fine: Measurement, coarser: Sequence[Measurement], scope: Clique, expected: Floats, total: float
    ) -> _Lines:
        """The lines of blocks that coarser cells were cut into."""
        table, counts = estimated(coarser, total)
        places, above = _places(fine.target, scope), _places(table, scope)
        numbers, cells = np.bincount(places), np.maximum(np.bincount(places, expected), _TINY)
        nodes = np.zeros(fine.target.size, dtype=np.int64)
        nodes[places] = above
        level = np.maximum(counts, 0.0)[nodes] / np.maximum(np.bincount(above, expected), _TINY)[nodes]
        codes = np.stack(np.unravel_index(np.arange(len(places)), fine.target.domain.shape_of(scope)), axis=1)
        order = np.argsort(places, kind="stable")
        starts = np.cumsum(numbers) - numbers
        lows = np.minimum.reduceat(codes[order], starts)
        lengths = np.maximum.reduceat(codes[order], starts) - lows + 1
        return cls(fine.values / cells, cells, (fine.std / cells) ** 2 + level / cells, nodes, lows, lengths)

    def variance(self, axis: int) -> float:
        """The relative variance of blocks of several cells along an attribute, about the means of their lines."""
        others = np.delete(self.lows, axis, axis=1)
        _, line = np.unique(np.column_stack([self.nodes, others]), axis=0, return_inverse=True)
        line = line.reshape(-1)
        number = np.bincount(line)
        means, sizes, noise = (np.bincount(line, each) / number for each in (self.densities, self.cells, self.noise))
        squares = np.bincount(line, (self.densities - means[line]) ** 2) - (number - 1) * noise
        several = np.bincount(line, self.lengths.prod(axis=1)) > number
        weights = np.where((number > 1) & several, sizes**2, 0.0)
        excess, level = float(weights @ squares), float(weights @ ((number - 1) * (means**2 - noise / number)))
        return excess / level if excess > 0.0 and level > 0.0 else 0.0


def _expected(domain: Domain, scope: Clique, measurements: Sequence[Measurement]) -> Floats:
    """Records of each cell, over their mean, as measured tables of single attributes say; flat."""
    expected: Floats = np.ones(1)
    for name in scope:
        counts = [np.maximum(m.values, m.std) for m in measurements if m.target.scope == (name,)]
        each = np.mean(counts, axis=0) if counts else np.ones(domain[name].size)
        expected = np.multiply.outer(expected, each / each.mean()).reshape(-1)
    return expected


def _is_table(target: Measurable) -> bool:
    return isinstance(target, Blocks) or (isinstance(target, Marginal) and target.within is None)


def _places(table: Measurable, scope: Clique) -> Ints:
    """The node of a table that each cell of a scope belongs to, flat."""
    places = places_in(table.domain, scope, table.scope).reshape(-1)
    return np.asarray(table.places.reshape(-1)[places] if isinstance(table, Blocks) else places)
