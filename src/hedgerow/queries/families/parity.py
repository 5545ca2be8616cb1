"""Parities: a family of sets of attributes, held as one array so that it may have millions, and their fast transform.

Whatever answers parities in one go (`AnswersParities`) is handed the array. Of anything else tables are asked for, and
transformed by fast Walsh-Hadamard transforms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, combinations
from typing import ClassVar

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core import AnswersParities, Family, Measurable, Parity, Tables, clique_list
from hedgerow.queries.core.family import distinct_cliques, filled_axes
from hedgerow.queries.core.sensitivity import Neighbours, Relation, Sensitivity

MAX_PARITIES = 1 << 25
"""Largest number of parities of a family: a selection among more would need gigabytes."""

_MATRIX_BITS = 6
"""Tables of at most this many attributes are transformed by one call for all tables of the size."""

_SUBSET_BITS = 10
"""A set of at most this many attributes also answers the parities of its subsets."""


_RADIX = 4
"""Bits that one matrix product transforms: more additions than butterflies, but far fewer passes over memory."""

_ROWS = 256
"""Rows of one such product: small ones stay in the cache and never wait for a second thread."""

_TRANSFORMED = 16
"""Parities of so many attributes together are priced exactly: by a transform of 65,536 numbers."""

_ABOVE = 1.0 + 2.0**-40
"""More than the rounding of such a sum."""


def parity_scopes(domain: Domain, order: int) -> Ints:
    """All sets of 1 to ``order`` attributes, the small ones first.

    Returns:
        Shape ``(sets, order)``: positions in the domain, increasing, then -1 to fill up.

    Raises:
        QueryError: The order is not between 1 and the number of attributes, or there are too many sets.

    Example:
        >>> from hedgerow import IntegerRange
        >>> parity_scopes(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2).tolist()
        [[0, -1], [1, -1], [0, 1]]
    """
    if not 1 <= order <= len(domain):
        raise QueryError(
            f"there are no parities of {order} attributes: the domain has {len(domain)}",
            remedy=f"give a number from 1 to {len(domain)}",
        )
    counts = [math.comb(len(domain), k) for k in range(1, order + 1)]
    if sum(counts) > MAX_PARITIES:
        raise QueryError(
            f"there are {sum(counts):,} parities of up to {order} attributes; {MAX_PARITIES:,} are the most",
            remedy="ask for parities of fewer attributes, or name the sets that matter, as in 'parities:a*b,c'",
        )
    scopes = np.full((sum(counts), order), -1, dtype=np.int64)
    for k, start in zip(range(1, order + 1), np.cumsum([0, *counts]).tolist(), strict=False):
        sets = np.fromiter(chain.from_iterable(combinations(range(len(domain)), k)), np.int64, k * counts[k - 1])
        scopes[start : start + counts[k - 1], :k] = sets.reshape(-1, k)
    return scopes


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Parities(Family):
    """Parities of sets of binary attributes, each of them one candidate.

    Where tables are asked for: if all attributes together have few cells, one transform of that wide table answers
    them all; else every parity is read off the transform of the marginal of a largest set that holds its own.

    Attributes:
        axes: The sets, shape ``(n_queries, longest)``: positions in the domain, increasing, then -1 to fill up.

    Example:
        >>> from hedgerow import IntegerRange
        >>> family = Parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a",), ("a", "c")])
        >>> family.n_queries, family.bounds, family.candidate(1).text
        (2, (-1.0, 1.0), 'parity(a, c)')
    """

    kind = "parities"
    bounds: ClassVar = (-1.0, 1.0)
    step: ClassVar = 1.0
    spread: ClassVar = 4.0
    forms: ClassVar = {"parities": "'parities:3' or 'parities:a*b,c'"}

    domain: Domain = field(repr=False)
    axes: Ints

    def __init__(self, domain: Domain, cliques: Iterable[Iterable[str]] | Ints) -> None:
        """Check the sets.

        Args:
            domain: The domain.
            cliques: Sets of attributes with two codes, each set once: by name, or an array like ``axes``.

        Raises:
            QueryError: An attribute is not binary, a set is empty or there twice, there is none, or there are too many.
            DomainError: A name is not an attribute.
        """
        if not isinstance(cliques, np.ndarray):
            cliques = filled_axes(domain.axes(clique) for clique in distinct_cliques(domain, cliques))
            for place in np.unique(cliques[cliques >= len(domain)]).tolist():
                Parity(domain, (domain.variables[place].name,))  # which is refused: it is derived
        self._set(domain=domain, axes=_checked(domain, cliques))
        for name in self._union:
            Parity(domain, (name,))

    @classmethod
    def of_order(cls, domain: Domain, order: int) -> Parities:
        """The family over all sets of 1 to ``order`` attributes: see ``parity_scopes``."""
        return cls(domain, parity_scopes(domain, order))

    def __eq__(self, other: object) -> bool:
        """Whether the sets are the same, in the same order."""
        if not isinstance(other, Parities):
            return NotImplemented
        return self.domain == other.domain and np.array_equal(self.axes, other.axes)

    def __hash__(self) -> int:
        """A hash of the domain and the number of sets."""
        return hash((self.domain, self.axes.shape))

    def __repr__(self) -> str:
        """The short text."""
        return f"Parities({self.spec!r})"

    @property
    def n_queries(self) -> int:
        """Number of parities."""
        return len(self.axes)

    @cached_property
    def scopes(self) -> tuple[Clique, ...]:
        """The sets of attributes by name: an object each."""
        names, lengths = np.array(self.domain.names, dtype=object), np.count_nonzero(self.axes >= 0, axis=1)
        listed: list[Clique] = [()] * len(self.axes)
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            columns = names[self.axes[rows, :length]].T.tolist()
            for row, scope in zip(rows.tolist(), zip(*columns, strict=True), strict=True):
                listed[row] = scope
        return tuple(listed)

    @property
    def scope_of(self) -> Ints:
        """Each parity has its own set."""
        return np.arange(len(self.axes))

    @property
    def scope_axes(self) -> Ints:
        """The sets of attributes."""
        return self.axes

    @cached_property
    def spec(self) -> str:
        """``parities:2``, or the sets by name."""
        order = self.axes.shape[1]
        everything = sum(math.comb(len(self.domain), k) for k in range(1, order + 1)) == len(self.axes)
        if everything and np.array_equal(self.axes, parity_scopes(self.domain, order)):
            return f"parities:{order}"
        return f"parities:{clique_list(self.scopes)}"

    def candidate(self, index: int) -> Measurable:
        """One parity."""
        self.check_index(index)
        return Parity(self.domain, tuple(self.domain.names[axis] for axis in self.axes[index].tolist() if axis >= 0))

    @cached_property
    def _union(self) -> Clique:
        return tuple(self.domain.names[axis] for axis in np.unique(self.axes[self.axes >= 0]).tolist())

    @cached_property
    def _largest(self) -> tuple[Clique, ...]:
        """Sets that are in no other one of at most ``_SUBSET_BITS`` attributes, in order of size."""
        covered: set[Clique] = set()
        largest = []
        for clique in sorted(self.scopes, key=len, reverse=True):
            if clique not in covered:
                largest.append(clique)
                if len(clique) <= _SUBSET_BITS:
                    covered.update(chain.from_iterable(combinations(clique, k) for k in range(1, len(clique))))
        return tuple(largest)

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """One wide table if it is cheap and saves many small ones; else the largest sets."""
        wide = len(self._largest) > len(self._union) and 2 ** len(self._union) <= cheap_cells
        return (self._union,) if wide else self._largest

    def wanted(self, tables: Tables) -> tuple[Clique, ...]:
        """No tables where parities are answered in one go."""
        return () if isinstance(tables, AnswersParities) else self.cliques(tables.cheap_cells)

    def answers(self, tables: Tables) -> Floats:
        """All answers, in one go where that is possible."""
        return tables.parities(self.axes) if isinstance(tables, AnswersParities) else super().answers(tables)

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """Transform the tables, and read every parity off the one that holds it."""
        flat = np.concatenate(_transforms(cliques, tables))
        return flat[self._wide_positions if cliques == (self._union,) else self._positions]

    @cached_property
    def _wide_positions(self) -> Ints:
        bit = {name: 1 << i for i, name in enumerate(reversed(self._union))}
        return np.array([sum(bit[name] for name in clique) for clique in self.scopes], dtype=np.int64)

    @cached_property
    def _positions(self) -> Ints:
        """Position of each parity in the transforms of the largest sets, one after the other."""
        place: dict[Clique, int] = {}
        wanted = set(self.scopes)
        start = 0
        for clique in self._largest:
            place[clique] = start + 2 ** len(clique) - 1
            if len(clique) <= _SUBSET_BITS:
                for mask in range(1, 2 ** len(clique) - 1):
                    part = tuple(name for i, name in enumerate(clique) if mask >> (len(clique) - 1 - i) & 1)
                    if part in wanted:
                        place.setdefault(part, start + mask)
            start += 2 ** len(clique)
        return np.array([place[clique] for clique in self.scopes], dtype=np.int64)


def _checked(domain: Domain, axes: Ints) -> Ints:
    """A copy that cannot be changed.

    Raises:
        QueryError: A row is not a set of attributes in domain order, or is given twice.
    """
    sets = np.array(axes, dtype=np.int64)
    if sets.ndim != 2 or not sets.size:
        raise QueryError("a family of parities needs at least one set of attributes", remedy="give one per row")
    before, after = sets[:, :-1], sets[:, 1:]
    ordered = ((after > before) & (before >= 0) | (after == -1)).all()
    if not (ordered and (sets[:, 0] >= 0).all() and sets.max() < len(domain)):
        remedy = f"give increasing positions from 0 to {len(domain) - 1} in each row, then -1 to fill up"
        raise QueryError("a row is not a set of attributes", remedy=remedy)
    if len(sets) > MAX_PARITIES or len(np.unique(_ranks(sets, len(domain)), axis=0)) < len(sets):
        raise QueryError(f"there are more than {MAX_PARITIES:,} sets of attributes, or one is there twice")
    sets = sets[:, : int(np.count_nonzero(sets >= 0, axis=1).max())]
    sets.setflags(write=False)
    return sets


def _ranks(sets: Ints, n: int) -> Ints:
    """One number for each set, where numbers are large enough; else the sets."""
    if (n + 1) ** sets.shape[1] >= 2**63:
        return sets
    return np.asarray((sets + 1) @ (n + 1) ** np.arange(sets.shape[1]))


def _transforms(cliques: Sequence[Clique], tables: Sequence[Floats]) -> list[Floats]:
    """Walsh-Hadamard transforms, flat; neighbours of equal small size by one matrix product."""
    done: list[Floats] = []
    position = 0
    while position < len(cliques):
        bits = len(cliques[position])
        if bits > _MATRIX_BITS:
            done.append(walsh_hadamard(tables[position]))
            position += 1
            continue
        end = position
        while end < len(cliques) and len(cliques[end]) == bits:
            end += 1
        stacked = np.stack([table.reshape(-1) for table in tables[position:end]])
        done.append(np.matmul(stacked[:, None, :], hadamard(bits)).reshape(-1))
        position = end
    return done


@lru_cache(maxsize=16)
def hadamard(order: int) -> Floats:
    """The matrix ``(-1) ** popcount(row & column)``, shape ``(2**order, 2**order)``.

    Example:
        >>> hadamard(1)
        array([[ 1.,  1.],
               [ 1., -1.]])
    """
    matrix = np.ones((1, 1))
    for _ in range(order):
        matrix = np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), matrix)
    matrix.flags.writeable = False
    return matrix


def walsh_hadamard(table: Floats) -> Floats:
    """The transform of a table of binary attributes.

    Args:
        table: Any shape with ``2**k`` cells; its row-major cells are the codes of k binary attributes.

    Returns:
        A new array of shape ``(2**k,)``. Entry s is the sum over cells x of ``(-1) ** popcount(s & x) * table[x]``:
        the parity of the attributes whose bits are set in s, the first attribute being the highest bit.

    Example:
        >>> walsh_hadamard(np.array([[5.0, 1.0], [2.0, 0.0]]))
        array([8., 6., 4., 2.])
    """
    values = np.array(table, dtype=np.float64).reshape(-1)
    left = values.size.bit_length() - 1
    while left:
        bits = min(_RADIX, left)
        rows = min(_ROWS, values.size >> bits)
        # Transforms the highest bits and makes them the lowest: once all are done each is back in its place.
        blocks = values.reshape(2**bits, -1, rows).transpose(1, 2, 0)
        values = np.matmul(blocks, hadamard(bits)).reshape(-1)
        left -= bits
    return values


def of_parities(scopes: Sequence[Clique], ratios: Sequence[float], neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of parities that are measured together, each in units of its own (theory.md section 13).

    A record that is replaced by one with other values in the attributes D moves the parity over S, by 2, where S and D
    have an odd number of attributes in common, and no other parity. A filter changes nothing: a record that enters
    moves all, by 1, and some D moves more than half of them by 2.

    Args:
        scopes: Sets of attributes.
        ratios: Unit of each, in counts, at least 1; all are 1 if empty.
        neighbours: The neighbouring relation.

    Example:
        >>> pairs = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
        >>> of_parities(pairs, (), Neighbours.ADD_REMOVE).l1, of_parities(pairs, (), Neighbours.REPLACE).l1
        (6.0, 8.0)
    """
    m, places, units = float(neighbours.records), numbered(scopes), np.array(ratios or [1.0] * len(scopes))
    if neighbours.step is Relation.ADD_REMOVE:
        l1, squared, each = float((1.0 / units).sum()), float((1.0 / units**2).sum()), 1.0
    else:
        l1, squared, each = most_moved(places, 1.0 / units), most_moved(places, 1.0 / units**2), 2.0
    above = _ABOVE if ratios else 1.0  # sums of ones are exact, their roots are not
    return Sensitivity(m * each * l1 * above, m * each * math.sqrt(squared) * _ABOVE, "parities" if m == 1.0 else None)


def numbered(scopes: Sequence[Clique]) -> tuple[tuple[int, ...], ...]:
    """The same sets of numbers from 0 on.

    Example:
        >>> numbered([("x", "a"), ("a",)])
        ((0, 1), (1,))
    """
    number = {name: place for place, name in enumerate(dict.fromkeys(name for scope in scopes for name in scope))}
    return tuple(tuple(number[name] for name in scope) for scope in scopes)


def most_moved(scopes: Sequence[Sequence[int]], prices: Floats) -> float:
    """The largest sum of the prices of those sets that share an odd number with D, over all sets D; or a bound on it.

    Exact for numbers below 16, by one transform: the sum is half of the difference of those at no D and at D. Of more,
    it is that of all sets of the same sizes, each at the largest price of its size, where only the size of D matters;
    and never more than all prices.

    Args:
        scopes: Sets of numbers from 0 on.
        prices: Price of each.

    Example:
        >>> sets = [each for size in (1, 2) for each in combinations(range(16), size)]
        >>> most_moved(sets, np.ones(len(sets))), len(sets)
        (72.0, 136)
    """
    n, whole = 1 + max(number for scope in scopes for number in scope), float(prices.sum())
    if n <= _TRANSFORMED:
        table = np.zeros(2**n)
        np.add.at(table, [sum(1 << number for number in scope) for scope in scopes], prices)
        found = walsh_hadamard(table)
        return float(0.5 * (found[0] - found.min()))
    summed = Counter[frozenset[int]]()
    for scope, price in zip(scopes, prices.tolist(), strict=True):
        summed[frozenset(scope)] += price
    largest = dict[int, float]()
    for each, price in summed.items():
        largest[len(each)] = max(price, largest.get(len(each), 0.0))
    return min(whole, max(sum(price * _odd(n, size, d) for size, price in largest.items()) for d in range(1, n + 1)))


@lru_cache(maxsize=4096)
def _odd(n: int, size: int, d: int) -> int:
    """Number of sets of some size, of n numbers, that share an odd number with a set of size d."""
    return sum(math.comb(d, j) * math.comb(n - d, size - j) for j in range(1, min(d, size) + 1, 2))
