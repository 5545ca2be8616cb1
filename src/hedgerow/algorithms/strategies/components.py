"""Marginals, conditions and parities in the basis where their noise is independent: variances in closed form.

Y. Xiao, G. He, D. Zhang, D. Kifer, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
Functions", NeurIPS 2023 (ResidualPlanner). Functions of a record are split by sets A of attributes, the *components*:
those that have mean 0 along each attribute of A and are constant along all others, ``m_A = prod over A of (d_i - 1)``
of them. All that is measured here keeps the components apart. With x the inverse variance of one measured value:

- the n_S cells of the marginal over S tell the components A in S with precision ``x / n_S``;
- a parity over A tells the component A alone, with precision x.

Precisions add up to ``tau_A``, and the best linear unbiased estimate of a query q has the variance ``sum over A of
e_A / tau_A``, the *energy* e_A being the mean over all cells of the square of q's part in A. A cell of the marginal
over T has ``m_A / n_T^2`` for A in T; a parity over A has 1; a product over attributes of 0 and 1, with means f_i, has
``prod over A of f_i (1 - f_i)`` times ``prod over the others of f_i^2``.

What is guessed of a component before anything is measured adds ``pi_A`` to its precision (`Closure.guessed`). Under
"replace" the number of records is public: the component of no attribute has no error. Levels of an attribute split its
part further, each level into what it adds to the next coarser one, as long as all blocks of a level are equally large.
Constraints are not used: they can only lower errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import csr_array

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries import Marginal, Parity

_Target = TypeVar("_Target", Marginal, Parity)

Sparse: TypeAlias = "csr_array[np.float64, tuple[int, int]]"

_SKEW = 0.5
"""Size of the components of one attribute with two values, as a share of the largest possible, squared."""

_TIED = 0.5
"""The same for each further attribute of a component, beside what attributes that are not tied would have."""

LARGEST_INCIDENCE = 2**24
"""Most pairs of a measured marginal and a component of it."""


@dataclass(frozen=True, eq=False)
class Components:
    """Variances of questions from measurements that keep components apart; fits the protocol `Estimate`.

    Attributes:
        measured: Precision of each component for one of each measurement, shape ``(measurements, components)``.
        energies: Energies of each question, shape ``(questions, components)``; no entry is 0.
        known: Precision of each component before anything is measured; 0 for the best unbiased estimate.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> tables = Closure.of(domain, [("a", "b")], public_total=False)
        >>> tables.scopes
        (('b',), ('a',), ('a', 'b'))
        >>> Components(tables.marginals, tables.cells([("a", "b")])).variances(np.array([0.0, 0.0, 1.0]))
        array([1.])
    """

    measured: Sparse
    energies: Sparse
    known: Floats | float = 0.0

    def variances(self, inverse_variances: Floats) -> Floats:
        """Variance of one value of each question, in squared counts; infinite where it is not told.

        Args:
            inverse_variances: 1 over the variance of one value of each measurement, in counts.
        """
        return self._variances(self._precisions(inverse_variances))

    def _precisions(self, inverse_variances: Floats) -> Floats:
        return _times(self.measured.T, inverse_variances) + self.known

    def _variances(self, precisions: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return _times(self.energies, 1.0 / precisions)

    def fitted(self, known: Floats, inverse_variances: Floats, lengths: Floats) -> tuple[Floats, Floats]:
        """Guessed mean squared error of one value of each question: after a fit, and of the uniform table.

        A fit takes ``l / (1 + l)`` of what is measured of a component, l being its length along that component
        (theory.md section 13). What is guessed of a component and not taken is an error; so is the noise of the rest.

        Args:
            known: Guessed precision of each component; infinite for the number of records.
            inverse_variances: 1 over the variance of one value of each measurement, in counts.
            lengths: Length of the steps to each measurement, in fractions of the records.

        Returns:
            In squared counts, each of shape ``(questions,)``.
        """
        length = _times(self.measured.T, lengths)
        taken, precisions = length / (1.0 + length), _times(self.measured.T, inverse_variances)
        noise = np.divide(taken**2, precisions, out=np.zeros_like(taken), where=precisions > 0.0)
        guessed = 1.0 / known
        left = np.where(guessed > 0.0, (1.0 - taken) ** 2 * guessed + noise, 0.0)
        return _times(self.energies, left), _times(self.energies, guessed)

    def variances_and_slopes(self, inverse_variances: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """The variances, and a function from weights of these to their derivatives by the precisions, with sign -1.

        Args:
            inverse_variances: 1 over the variance of one value of each measurement, in counts.
        """
        precisions = self._precisions(inverse_variances)

        def slopes(weights: Floats) -> Floats:
            wanted = _times(self.energies.T, weights)
            each = np.divide(wanted, precisions**2, out=np.zeros_like(precisions), where=wanted > 0.0)
            return _times(self.measured, each)

        return self._variances(precisions), slopes


def _times(matrix: Any, vector: Floats) -> Floats:
    return np.asarray(matrix @ vector, dtype=np.float64)


def single(components: int, places: Ints) -> Sparse:
    """Rows of one component each, with value 1.

    Args:
        components: Number of components.
        places: Component of each row.

    Example:
        >>> single(3, np.array([2, 0])).toarray()
        array([[0., 0., 1.],
               [1., 0., 0.]])
    """
    return csr_array((np.ones(len(places)), places, np.arange(len(places) + 1)), shape=(len(places), components))


@dataclass(frozen=True, eq=False)
class Closure:
    """All marginals below some cliques, and the components that each of them tells.

    Attributes:
        domain: The domain.
        scopes: Components by their attributes or levels, and at the same time the marginals that may be measured; the
            component of no attribute, which is the last one, is not among them.
        dimensions: m_A of each component, that of no attribute included; 0 for what is public.
        marginals: Precision of each component for one of the marginal over each of the scopes.
    """

    domain: Domain
    scopes: tuple[Clique, ...]
    dimensions: Floats
    marginals: Sparse

    @classmethod
    def of(cls, domain: Domain, cliques: Sequence[Clique], *, public_total: bool) -> Closure:
        """The closure of cliques.

        Args:
            domain: The domain.
            cliques: Sets of attributes or levels.
            public_total: Whether the number of records is public.

        Raises:
            QueryError: A derived attribute is no level of one attribute, the blocks of a level are not equally large,
                there are too many marginals, or no attribute.
        """
        chains = _chains(domain, dict.fromkeys(name for clique in cliques for name in clique))
        _check_number(chains, cliques)
        components = dict.fromkeys(component for clique in cliques for component in _below(chains, clique))
        del components[()]
        scopes = tuple(components)
        if not scopes:
            raise QueryError("the queries look at no attribute", remedy="ask about one")
        _check_number(chains, scopes)
        rows, places = _components_of(chains, scopes)
        gains = np.array([1.0 / domain.cells(scope) for scope in scopes])
        added = {name: _added(domain, chain) for name, chain in chains.items()}
        dimensions = [math.prod(added[name] for name in scope) for scope in scopes]
        return cls(
            domain,
            scopes,
            np.array([*dimensions, 0.0 if public_total else 1.0], dtype=np.float64),
            csr_array((gains[rows], (rows, places)), shape=(len(scopes), len(scopes) + 1)),
        )

    @cached_property
    def _place(self) -> dict[Clique, int]:
        return {scope: number for number, scope in enumerate((*self.scopes, ()))}

    def marginal(self, number: int) -> Marginal:
        """The marginal over one of the scopes, the same object each time."""
        return self._kept(Marginal, number)

    def parity(self, number: int) -> Parity:
        """The parity of one of the scopes, whose attributes are binary, the same object each time."""
        return self._kept(Parity, number)

    def _kept(self, kind: type[_Target], number: int) -> _Target:
        key = (kind, number)
        target: _Target | None = self._targets.get(key)
        if target is None:
            target = self._targets[key] = kind(self.domain, self.scopes[number])
        return target

    @cached_property
    def _targets(self) -> dict[Any, Any]:
        return {}

    def places(self, scopes: Iterable[Clique]) -> Ints:
        """Numbers of components."""
        return np.array([self._place[scope] for scope in scopes], dtype=np.int64)

    def guessed(self, total: float) -> Floats:
        """The guessed precision of each component before anything is measured (theory.md section 13).

        A typical table is taken to have components of variance ``n^2 / 2 sqrt(d - 1)`` for an attribute of d values,
        times a half and the same for each further attribute. The number of records is learnt before the rest.

        Args:
            total: Number of records (noisy), in counts; infinite where nothing is guessed.

        Returns:
            Inverse variances in counts, shape ``(components,)``.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 4)))
            >>> (1.0 / Closure.of(domain, [("a", "b")], public_total=False).guessed(10.0)).round(6)
            array([25.  , 50.  ,  6.25,  0.  ])
        """
        if not math.isfinite(total):
            return np.zeros(len(self.dimensions))
        return np.append(1.0 / (total**2 * self._shares), math.inf)

    @cached_property
    def _shares(self) -> Floats:
        """The guessed variances of the components but that of no attribute, for one record."""
        spread = {name: _SKEW / math.sqrt(_added(self.domain, (name,))) for scope in self.scopes for name in scope}
        return np.array(
            [math.prod(spread[name] for name in scope) * _TIED ** (len(scope) - 1) for scope in self.scopes]
        )

    def cells(self, scopes: Sequence[Clique]) -> Sparse:
        """Energies of one cell of each marginal.

        Args:
            scopes: Some of the scopes.
        """
        energies = self.marginals[self.places(scopes)].copy()
        energies.data = energies.data**2 * self.dimensions[energies.indices]
        energies.eliminate_zeros()
        return energies

    def parities(self, scopes: Sequence[Clique]) -> Sparse:
        """Energies of parities.

        Args:
            scopes: Some of the scopes.
        """
        return single(len(self.dimensions), self.places(scopes))

    def products(self, scope: Clique, means: Floats) -> Sparse:
        """Energies of products over some attributes of functions with values 0 and 1.

        Args:
            scope: The attributes; none of them is used with a level.
            means: Mean of each function, shape ``(questions, attributes)``.

        Raises:
            QueryError: A level is used too, or the attribute is itself derived.
        """
        values = [self.domain[name].size for name in scope]
        if (self.dimensions[self.places((name,) for name in scope)] + 1.0).tolist() != values:
            raise QueryError("conditions on attributes that are used with their levels have no closed form")
        components = [
            component for size in range(len(scope) + 1) for component in combinations(range(len(scope)), size)
        ]
        places = self.places(tuple(scope[axis] for axis in component) for component in components)
        energies = np.ones((len(means), len(components)))
        for column, component in enumerate(components):
            for axis in range(len(scope)):
                mean = means[:, axis]
                energies[:, column] *= mean * (1.0 - mean) if axis in component else mean**2
        energies *= self.dimensions[places] > 0.0
        shape = (len(means), len(self.dimensions))
        starts = np.arange(len(means) + 1) * len(components)
        energies_of: Sparse = csr_array((energies.reshape(-1), np.tile(places, len(means)), starts), shape=shape)
        energies_of.eliminate_zeros()
        return energies_of


def _chains(domain: Domain, names: Iterable[str]) -> Mapping[str, Clique]:
    """For each name it and the coarser ones of the same attribute, coarse ones first.

    Raises:
        QueryError: The names of an attribute are not nested in blocks of equal size.
    """
    families: dict[Clique, list[str]] = {}
    for name in names:
        families.setdefault(domain.base((name,)), []).append(name)
    chains: dict[str, Clique] = {}
    for sources, members in families.items():
        chain = tuple(sorted(members, key=lambda name: domain[name].size))
        even = len(chain) == 1 and domain.index(chain[0]) < len(domain)
        finest = chain[-1] if domain.index(chain[-1]) < len(domain) else sources[0]
        even = even or (len(sources) == 1 and all(_is_even(domain, *each) for each in pairwise((*chain, finest))))
        if not even:
            raise QueryError(f"the values of {', '.join(chain)} are not nested in blocks of equal size")
        chains.update({name: chain[: place + 1] for place, name in enumerate(chain)})
    return chains


def _is_even(domain: Domain, coarse: str, fine: str) -> bool:
    if coarse == fine:
        return True
    codes = domain.lookup(fine, coarse)
    if codes is None or (codes < 0).any():
        return False
    return len(set(np.bincount(codes, minlength=domain[coarse].size).tolist())) == 1


def _added(domain: Domain, chain: Clique) -> int:
    """Values that the last one adds to the one before."""
    return domain[chain[-1]].size - (domain[chain[-2]].size if len(chain) > 1 else 1)


def _below(chains: Mapping[str, Clique], scope: Clique) -> Iterable[Clique]:
    """The components of a marginal, that of no attribute first."""
    for mix in product(*((None, *chains[name]) for name in scope)):
        below = tuple(name for name in mix if name is not None)
        yield scope if below == scope else below  # of very many scopes one object each


def _components_of(chains: Mapping[str, Clique], scopes: Sequence[Clique]) -> tuple[Ints, Ints]:
    """The components of marginals, all pairs as numbers of scopes; that of no attribute has the last one.

    They are found one attribute after the other, the last one first: so an attribute keeps its place in what is left.

    Args:
        chains: For each name it and the coarser ones.
        scopes: The marginals, with all those below them.
    """
    number = {scope: place for place, scope in enumerate((*scopes, ()))}
    coarser = np.full((len(scopes), max(map(len, scopes))), len(scopes), dtype=np.int64)
    alike: dict[tuple[int, ...], list[int]] = {}
    for place, scope in enumerate(scopes):
        for axis, name in enumerate(scope):
            coarser[place, axis] = number[(*scope[:axis], *chains[name][-2:-1], *scope[axis + 1 :])]
        alike.setdefault(tuple(len(chains[name]) for name in scope), []).append(place)
    rows, components = [], []
    for lengths, some in alike.items():
        found = np.array(some)[:, np.newaxis]
        for axis in reversed(range(len(lengths))):
            steps = [found]
            for _ in range(lengths[axis]):
                steps.append(coarser[steps[-1], axis])
            found = np.concatenate(steps, axis=1)
        rows.append(np.repeat(some, found.shape[1]))
        components.append(found.reshape(-1))
    return np.concatenate(rows), np.concatenate(components)


def _check_number(chains: Mapping[str, Clique], cliques: Iterable[Clique]) -> None:
    pairs = sum(math.prod(len(chains[name]) + 1 for name in clique) for clique in cliques)
    if pairs > LARGEST_INCIDENCE:
        raise QueryError(f"the marginals have {pairs:,} components", remedy="ask for marginals of fewer attributes")
