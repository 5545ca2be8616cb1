"""Records from junction trees: a clique at a time, given the attributes that were drawn before; no loop over records.

Systematic: the records that agree in a separator form a group, and every code of the rest of the clique gets its
expected number of them rounded up or down; who gets which is random. So the number of records of every cell of the
first clique, and of every cell of another given its separator, is within one of its expectation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models.beliefs import Beliefs
from hedgerow.models.model import Codes, SamplingMethod
from hedgerow.queries.query import Floats
from hedgerow.randomness import Seed, generator

Places = NDArray[np.int64]


def sample_trees(
    parts: Sequence[Beliefs],
    domain: Domain,
    n: int,
    seed: Seed = None,
    method: SamplingMethod = SamplingMethod.SYSTEMATIC,
) -> Codes:
    """Draw records from a product of parts, uniform over the attributes of none.

    Args:
        parts: Over different attributes of the domain.
        domain: The domain.
        n: Number of records.
        seed: None for fresh randomness.
        method: Which of the two.

    Returns:
        Codes in random order, shape ``(n, attributes)``, columns in the order of the domain.

    Raises:
        ConfigError: n is negative.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> sorted(sample_trees([], Domain((IntegerRange("a", 0, 1),)), 4, seed=1)[:, 0].tolist())
        [0, 0, 1, 1]
    """
    if n < 0:
        raise ConfigError(f"{n} records cannot be drawn", remedy="ask for 0 or more")
    draw = generator(seed)
    codes: Codes = np.empty((n, len(domain)), dtype=np.min_scalar_type(max(domain.shape) - 1), order="F")
    drawn: set[str] = set()
    for clique, table in _tables(parts, domain):
        given = tuple(name for name in clique if name in drawn)
        rest = tuple(name for name in clique if name not in drawn)
        drawn.update(clique)
        rows = table.transpose([clique.index(name) for name in (*given, *rest)])
        groups = _flat(codes, domain, given)
        shape = domain.shape_of(rest)
        chosen = _chosen(rows.reshape(-1, int(np.prod(shape))), groups, method, draw)
        for name, column in zip(rest, np.unravel_index(chosen, shape), strict=True):
            codes[:, domain.index(name)] = column
    return np.ascontiguousarray(codes)


def _tables(parts: Sequence[Beliefs], domain: Domain) -> Iterator[tuple[Clique, Floats]]:
    """Cliques with their cells in any unit; what a clique shares with all that came before is one separator."""
    free = set(domain.names)
    for part in parts:
        for node in part.tree.ordered:
            free.difference_update(part.tree.cliques[node])
            yield part.tree.cliques[node], part.sums(node, part.tree.cliques[node])
    for name in domain.names:
        if name in free:
            yield (name,), np.ones(domain[name].size)


def _flat(codes: Codes, domain: Domain, names: Clique) -> Places:
    """The position of every record in a table of some of its attributes."""
    found = np.zeros(len(codes), dtype=np.int64)
    for name in names:
        found *= domain[name].size
        found += codes[:, domain.index(name)]
    return found


def _chosen(rows: Floats, groups: Places, method: SamplingMethod, draw: np.random.Generator) -> Places:
    """A column for every record, drawn from the row of its group."""
    systematic = method is SamplingMethod.SYSTEMATIC
    offsets = _systematic(groups, len(rows), draw) if systematic else draw.random(len(groups))
    ends = np.cumsum(rows, axis=1)
    empty = ends[:, -1] <= 0.0  # only where a probability was too small to be held: any code will do
    ends[empty] = np.arange(1, rows.shape[1] + 1)
    ends /= ends[:, -1:]
    ends += np.arange(len(rows))[:, None]
    positions = np.minimum(groups + offsets, np.nextafter(groups + 1.0, 0.0))
    found: Places = np.searchsorted(ends.reshape(-1), positions, side="right") - groups * rows.shape[1]
    return found


def _systematic(groups: Places, count: int, draw: np.random.Generator) -> Floats:
    """For each group equally spaced numbers in [0, 1) with one random offset, dealt out in random order."""
    shuffled = draw.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled].astype(np.min_scalar_type(max(count - 1, 1))), kind="stable")]
    sizes = np.bincount(groups, minlength=count)
    starts = np.cumsum(sizes) - sizes
    mine = groups[order]
    offsets = np.empty(len(groups))
    offsets[order] = (np.arange(len(groups)) - starts[mine] + draw.random(count)[mine]) / sizes[mine]
    return offsets
