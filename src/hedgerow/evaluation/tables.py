"""Total variation of marginals, NIST's k-marginal score, and the subsample of the real table that is as close."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Codes, Domain
from hedgerow.models import runs_within
from hedgerow.privacy import exact_marginals
from hedgerow.system import numbered

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
"""Subsamples of the real table whose scores make the curve."""
MOST_TABLES = 2500
"""Tables of one order, those of 24 columns all; of more, so many are drawn."""

_DRAWS = 2
"""Subsamples of each share, over which a curve's scores are averaged."""

_DENSE_CELLS = 1 << 20
_HELD_CELLS = 1 << 24


def score_of(distances: Floats) -> float:
    """The k-marginal score: 1000 (1 - mean total variation distance).

    NIST's definition (SDNist, "k-marginal"): 1000 where all tables are equal, 0 where they have no cell in common; 500
    times the mean L1 distance of densities is taken off 1000.

    Example:
        >>> score_of(np.array([0.0, 0.2]))
        900.0
    """
    return 1000.0 * (1.0 - float(np.mean(distances)))


def families_of(
    domain: Domain, by: str | None = None, *, most: int = MOST_TABLES, seed: int = 0
) -> dict[str, tuple[Clique, ...]]:
    """The tables that are compared, by family: all of 1, 2 and 3 columns, or as many as are to be drawn.

    Args:
        domain: The domain of the cells.
        by: A column that one more family holds in all tables, with every pair of others, as NIST's holds the area.
        most: Number of tables of a family, at most.
        seed: Seed of the draw.

    Example:
        >>> from hedgerow import IntegerRange
        >>> families = families_of(Domain([IntegerRange(name, 0, 1) for name in "abc"]), by="b")
        >>> {name: len(tables) for name, tables in families.items()}, families["b with pairs"]
        ({'1-way': 3, '2-way': 3, '3-way': 1, 'b with pairs': 1}, (('a', 'b', 'c'),))
    """
    names = domain.names
    families = {f"{order}-way": _drawn(names, order, most, seed) for order in (1, 2, 3) if order <= len(names)}
    if by is not None and len(names) > 2:
        others = _drawn(tuple(name for name in names if name != by), 2, most, seed)
        families[f"{by} with pairs"] = tuple(domain.clique((by, *pair)) for pair in others)
    return families


def _drawn(names: Clique, order: int, most: int, seed: int) -> tuple[Clique, ...]:
    if comb(len(names), order) <= most:
        return tuple(combinations(names, order))
    rng, drawn = numbered(seed, order), set[tuple[int, ...]]()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.choice(len(names), order, replace=False).tolist())))
    return tuple(tuple(names[place] for place in places) for places in sorted(drawn))


def distances(
    domain: Domain, real: Sequence[Codes], others: Sequence[Sequence[Codes]], cliques: Sequence[Clique]
) -> Floats:
    """Total variation distances of tables: half of the sum of absolute differences of densities.

    Args:
        domain: The domain of the cells.
        real: Codes of the real records.
        others: Codes of the records of each other table.
        cliques: The tables.

    Returns:
        Shape ``(len(others), len(cliques))``, from 0 to 1.

    Example:
        >>> from hedgerow import IntegerRange
        >>> one, other = [np.array([0, 0, 1, 1])], [np.array([0, 1, 1, 1])]
        >>> distances(Domain([IntegerRange("a", 0, 1)]), one, [other], [("a",)])
        array([[0.25]])
    """
    shares = np.empty((len(others), len(cliques)))
    for places in pieces_of(domain, cliques):
        wanted = [cliques[place] for place in places]
        if domain.cells(wanted[0]) > _DENSE_CELLS:
            shares[:, places[0]] = [_sparse(domain, real, other, wanted[0]) for other in others]
            continue
        exact = exact_marginals(domain, real, wanted)
        for row, other in zip(shares, others, strict=True):
            for place, one, two in zip(places, exact, exact_marginals(domain, other, wanted), strict=True):
                row[place] = 0.5 * np.abs(one / len(real[0]) - two / len(other[0])).sum()
    return shares


def pieces_of(domain: Domain, cliques: Sequence[Clique]) -> Iterator[list[int]]:
    """Places of tables that are counted together, as many as are held at a time; a large one alone.

    Args:
        domain: The domain of the cells.
        cliques: The tables.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 999), IntegerRange("b", 0, 1999), IntegerRange("c", 0, 1)])
        >>> list(pieces_of(domain, [("a", "c"), ("a", "b"), ("b", "c")]))
        [[0, 2], [1]]
    """
    sizes = [domain.cells(clique) for clique in cliques]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    held = (sizes[place] if sizes[place] <= _DENSE_CELLS else _HELD_CELLS + 1 for place in order)
    return (order[run] for run in runs_within(held, _HELD_CELLS))


def _sparse(domain: Domain, real: Sequence[Codes], other: Sequence[Codes], clique: Clique) -> float:
    """The distance over the cells that records are in."""
    shape, axes = domain.shape_of(clique), domain.axes(clique)
    cells = [np.ravel_multi_index([table[axis].astype(np.int64) for axis in axes], shape) for table in (real, other)]
    _, place = np.unique(np.concatenate(cells), return_inverse=True)
    counts = [
        np.bincount(of_table, minlength=int(place.max()) + 1)
        for of_table in np.split(place.reshape(-1), [len(cells[0])])
    ]
    return float(0.5 * np.abs(counts[0] / len(cells[0]) - counts[1] / len(cells[1])).sum())


@dataclass(frozen=True)
class Curve:
    """Scores of random subsamples of the real table, drawn without replacement, against the real table.

    The score of a share f falls short of 1000 by about c sqrt((1 - f) / f), the size of the sampling error; between two
    shares that root is interpolated.

    Attributes:
        fractions: Shares of the records, increasing.
        scores: Mean scores.

    Example:
        >>> curve = Curve((0.1, 0.2), (850.0, 900.0))
        >>> curve.equivalent(900.0), curve.equivalent(1000.0), curve.equivalent(700.0)
        (0.2, 1.0, None)
        >>> round(curve.equivalent(875.0), 3)
        0.138
    """

    fractions: tuple[float, ...]
    scores: tuple[float, ...]

    def equivalent(self, score: float) -> float | None:
        """Share of the records whose subsample has the score; None where it is smaller than the first of the curve."""
        shares = np.array([*self.fractions, 1.0])
        scores = np.maximum.accumulate([*self.scores, 1000.0])
        if score < scores[0]:
            return None
        roots = np.sqrt((1.0 - shares) / shares)
        root = float(np.interp(score, scores, roots))
        return 1.0 / (1.0 + root * root)


def curves_of(
    domain: Domain, real: Sequence[Codes], families: Mapping[str, Sequence[Clique]], *, seed: int = 0
) -> dict[str, Curve]:
    """The scores of subsamples, by family of tables.

    Args:
        domain: The domain of the cells.
        real: Codes of the real records.
        families: The tables.
        seed: Seed of the draws.
    """
    n_records = len(real[0])
    shares = [share for share in FRACTIONS if round(share * n_records) >= 1]
    scores = dict.fromkeys(families, np.zeros(len(shares)))
    for draw in range(_DRAWS):
        order = numbered(seed, draw).permutation(n_records)
        samples = [[codes[order[: round(share * n_records)]] for codes in real] for share in shares]
        for name, cliques in families.items():
            distance_of = distances(domain, real, samples, cliques)
            scores[name] = scores[name] + np.array([score_of(row) for row in distance_of]) / _DRAWS
    return {name: Curve(tuple(shares), tuple(score.tolist())) for name, score in scores.items()}
