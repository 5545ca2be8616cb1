"""Blocks of cells that are measured together, because earlier noisy answers show next to no records in them.

A node of a coarse table with few records is better taken for even than cut into cells that are all noise; one with many
is cut into as many parts as stand out (adaptive grids: W. Qardaji, W. Yang, N. Li, "Differentially Private Grids for
Geospatial Data", ICDE 2013; here on levels of any number of attributes, and not further than the planned table). What
is even but for a few cells costs little: where these hold more records than noise, the parts are cut to the end.

Blocks follow from noisy values and public numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, places_in
from hedgerow.models import estimated
from hedgerow.queries import Blocks, Marginal, Measurement

_LEAST = 1e-9
"""Fewest records that a part is taken to hold, where there is next to no noise."""


def cut_where_counts_are(
    target: Marginal, measurements: Sequence[Measurement], total: float, least: float
) -> Marginal | Blocks:
    """The cells of a table, or blocks of them, so that a part of what was measured is expected to hold enough records.

    Args:
        target: A table over levels, in order, of the same attributes as the measured ones, and finer than these.
        measurements: Noisy tables or blocks, nested, over a domain without constraints; none gives the table itself.
        total: Number of records (noisy), in counts.
        least: Records that a part should hold.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain((IntegerRange("age", 0, 19),))
        >>> fives, ages = Marginal(domain, ("age.5",)), Marginal(domain, ("age",))
        >>> noisy = Measurement(fives, np.array([80.0, 10.0, 8.0, 2.0]), NoiseKind.LAPLACE, 3.0)
        >>> cut_where_counts_are(ages, [noisy], 100.0, 5.0).places
        array([0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8, 8, 9, 9, 9, 9, 9])
    """
    if not measurements:
        return target
    domain, shape = target.domain, target.domain.shape_of(target.scope)
    coarse, counts = estimated(measurements, total)
    nodes = _nodes(domain, target.scope, coarse).reshape(-1)
    places = np.stack(np.unravel_index(np.arange(len(nodes)), shape), axis=1)
    lows, sizes = _boxes(nodes, places, len(counts))
    blocks = _blocks_along(sizes, np.maximum(counts / max(least, _LEAST), 1.0))
    if int(blocks.prod(axis=1).sum()) == target.size:
        return target
    within = ((places - lows[nodes] + 1) * blocks[nodes] - 1) // sizes[nodes]
    numbers = np.cumsum(np.append(0, blocks.prod(axis=1)))[nodes]
    for axis in range(len(shape)):
        numbers += within[:, axis] * blocks[nodes, axis + 1 :].prod(axis=1)
    return Blocks(domain, target.scope, numbers.reshape(shape))


def _nodes(domain: Domain, scope: Clique, coarse: Marginal | Blocks) -> Ints:
    """The node of a measured table for each cell of a finer one."""
    places = places_in(domain, scope, coarse.scope)
    return coarse.places.reshape(-1)[places] if isinstance(coarse, Blocks) else places


def _boxes(nodes: Ints, places: Ints, count: int) -> tuple[Ints, Ints]:
    """Smallest codes and lengths of the box that each node is, shape ``(nodes, attributes)``."""
    order = np.argsort(nodes, kind="stable")
    starts = np.searchsorted(nodes[order], np.arange(count))
    lows = np.minimum.reduceat(places[order], starts)
    return lows, np.maximum.reduceat(places[order], starts) - lows + 1


def _blocks_along(sizes: Ints, wanted: Floats) -> Ints:
    """Number of parts along each attribute, about as many for each, whose product is at least what is wanted.

    Args:
        sizes: Lengths of boxes, shape ``(boxes, attributes)``; no box is cut into more.
        wanted: Number of parts, at least 1.
    """
    blocks, left = np.ones_like(sizes), np.array(wanted)
    order, boxes = np.argsort(sizes, axis=1, kind="stable"), np.arange(len(sizes))
    for place in range(sizes.shape[1]):
        axis = order[:, place]
        root = np.ceil(left ** (1.0 / (sizes.shape[1] - place)) - 1e-9)
        blocks[boxes, axis] = np.minimum(sizes[boxes, axis], root)
        left = np.maximum(left / blocks[boxes, axis], 1.0)
    return blocks
