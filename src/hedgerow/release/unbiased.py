"""Best linear unbiased estimates of a question from tables that were chosen before any of them was measured.

Write S for the attributes of a question q. A table T that was measured says something about q through the attributes U
that it shares with S: its sums over the others. Split the sums by the subsets A of U, as the residual basis does
(theory section 13): the part of A has mean 0 along each attribute of A and is the same for all tables over A and more,
so that it is averaged over these with inverse variances as weights. With ``q_A`` the part of q (the mean over S without
A, centred along A),

    estimate = sum over A of <q_A, mean part of A>,

which is a weighted sum of measured cells whose weights are public: unbiased, of least variance among such sums
(Gauss-Markov), with noise of a known law. The number of records is the part of no attribute; where it is public, it has
no noise.

The weights must not depend on the noise that they multiply. That is so for tables between which the ledger has no
selection, as none of them was chosen by the noise of another one (`runs`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, spread_over
from hedgerow.privacy import step_of
from hedgerow.queries import LinearQuery, Marginal, Measurement
from hedgerow.release.noise_sums import Noises

if TYPE_CHECKING:
    from hedgerow.privacy import Event

_WIDEST = 6
"""Questions over more attributes have too many parts."""
_LARGEST = 1 << 16
"""Cells of the largest table of a question that is split."""
_MOST_SCOPES = 64
"""Sets of attributes whose sums are kept."""
_NOTHING = 1e-12
"""Part of a question, as a share of its largest value, that is rounding."""


class Runs:
    """The measurements of a release, in runs of which no table was chosen by the noise of another one.

    What many questions need of them is worked out once.

    Attributes:
        each: The runs, in the order in which they were made.

    Example:
        >>> Runs([]).each
        ()
    """

    def __init__(self, each: Iterable[Sequence[Measurement]]) -> None:
        """Take the runs as they are."""
        self.each = tuple(tuple(run) for run in each)
        self._said = dict[Clique, tuple[Said, ...]]()

    def saying(self, domain: Domain, scope: Clique) -> Sequence[Said]:
        """What each run says of some attributes, without the runs that say nothing of them.

        Args:
            domain: The domain.
            scope: The attributes; none for the number of records.
        """
        if scope not in self._said:
            if len(self._said) >= _MOST_SCOPES:
                self._said.clear()
            said = [Said.of(domain, scope, run) for run in self.each]
            self._said[scope] = tuple(each for each in said if each.more or not scope or any(each.sums))
        return self._said[scope]


@dataclass(frozen=True)
class Said:
    """What measurements of one run say of some attributes.

    Attributes:
        sums: The whole tables, summed to the attributes among these that they are about.
        more: The measurements that may say more: those over functions of the attributes, and those that are no whole
            tables.
    """

    sums: Mapping[Clique, _Sums]
    more: tuple[Measurement, ...]

    @classmethod
    def of(cls, domain: Domain, scope: Clique, run: Sequence[Measurement]) -> Said:
        """Look at a run.

        Args:
            domain: The domain.
            scope: The attributes.
            run: The measurements.
        """
        whole = [each for each in run if isinstance(each.target, Marginal) and each.target.within is None]
        functions = {each: set(each.target.scope) - set(domain.base(each.target.scope)) for each in whole}
        beyond = {each for each, names in functions.items() if set(scope) & set(domain.base(names))}
        more = tuple(each for each in run if each in beyond or each not in functions)
        return cls(_sums(domain, scope, whole), more)

    @cached_property
    def _telling(self) -> dict[Clique, dict[Clique, float]]:
        return {}

    def telling(self, names: Clique) -> Mapping[Clique, float]:
        """The sums that tell a part of a question, with their weights, which add up to 1; none where nothing tells it.

        Args:
            names: The attributes of the part.
        """
        if names not in self._telling:
            over = {shared: of.precision for shared, of in self.sums.items() if set(names) <= set(shared)}
            self._telling[names] = {shared: precision / sum(over.values()) for shared, precision in over.items()}
        return self._telling[names]


def runs(events: Sequence[Event], measurements: Sequence[Measurement]) -> Iterator[Sequence[Measurement]]:
    """The measurements in runs: no table of a run was chosen by the noise of another one.

    Between two measurements of a run there is no selection. Blocks are chosen by the noisy counts of coarser tables,
    so that each is a run of its own.

    Args:
        events: The ledger.
        measurements: The noisy answers of the run of the algorithm, in order.

    Example:
        >>> list(runs([], []))
        []
    """
    own = (
        place
        for place, event in enumerate(events)
        if not event.earlier and event.question.kind in ("query", "parities")
        for _ in range(1 if event.question.kind == "query" else event.values)
    )
    places = list(own)[-len(measurements) :]  # what the domain was learnt by, and positions in bins, come before
    if len(places) != len(measurements):
        yield from ([each] for each in measurements)
        return
    run = list[Measurement]()
    for number, each in enumerate(measurements):
        follows = number > 0 and places[number] <= places[number - 1] + 1
        if run and not (follows and isinstance(each.target, Marginal) and isinstance(run[-1].target, Marginal)):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


@dataclass(frozen=True)
class Split:
    """Questions by the subsets of their attributes.

    Attributes:
        domain: The domain.
        scope: The attributes that matter.
        parts: For each subset whose part is not 0 the mean over the other attributes, centred along its own, with an
            axis for the questions, and one for each attribute of the scope.
        number: Number of the questions.
    """

    domain: Domain
    scope: Clique
    parts: tuple[tuple[Clique, Floats], ...]
    number: int

    @classmethod
    def of(cls, *queries: LinearQuery) -> Split | None:
        """Split questions; None where they have too many parts.

        Args:
            queries: The questions, at least one.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> from hedgerow.queries import Conjunction
            >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
            >>> [(names, part.tolist()) for names, part in Split.of(Conjunction.where(domain, {"a": [1]})).parts]
            [((), [[0.5]]), (('a',), [[-0.5, 0.5]])]
        """
        domain = queries[0].domain
        scope = domain.base(dict.fromkeys(name for query in queries for name in query.scope))
        shape = domain.shape_of(scope)
        if len(scope) > _WIDEST or math.prod(shape) > _LARGEST:
            return None
        spread = (spread_over(domain, query.values(), query.scope, scope) for query in queries)
        parts = tuple(_parts(scope, np.stack([np.broadcast_to(each, shape) for each in spread])))
        bearing = domain.clique({name for names, _ in parts for name in names})
        if bearing != scope:
            without = tuple(axis for axis, name in enumerate(scope, start=1) if name not in bearing)
            parts = tuple((names, part.squeeze(without)) for names, part in parts)
        return cls(domain, bearing, parts, len(queries))


@dataclass(frozen=True)
class Estimated:
    """Unbiased estimates of questions by the same tables.

    Attributes:
        values: One for each question, in counts.
        terms: What they are sums of: weights, a row for each question, of cells with equal and independent noises, and
            the noise of each.
        tables: Texts of the tables that they were made of.
    """

    values: Floats
    terms: tuple[tuple[Floats, Noises], ...]
    tables: tuple[str, ...]

    def noises(self, factors: Floats) -> Noises:
        """The noise of the sum of the estimates times factors."""
        return Noises.all_of([noise.over(factors @ weights) for weights, noise in self.terms])

    @cached_property
    def covariances(self) -> Floats:
        """Variances and covariances of the estimates, in squared counts."""
        each = (noise.std**2 * (weights @ weights.T) for weights, noise in self.terms)
        return sum(each, start=np.zeros((self.values.size,) * 2))


def estimated(question: Split, said: Said, total: float | None) -> Estimated | None:
    """The best linear unbiased estimates of questions from whole tables, through the attributes in them.

    Args:
        question: The questions.
        said: What the tables of a run say of its attributes.
        total: The number of records, if it is public.

    Returns:
        The estimates; None where the tables do not tell all of the questions.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.queries import Conjunction, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noisy = [Measurement(Marginal(domain, "a"), np.array([70.0, 30.0]), NoiseKind.GAUSSIAN, 5.0),
        ...          Measurement(Marginal(domain, "ab"), np.array([40.0, 40.0, 10.0, 10.0]), NoiseKind.GAUSSIAN, 5.0)]
        >>> found = estimated(Split.of(Conjunction.where(domain, {"a": [1]})), Said.of(domain, ("a",), noisy), None)
        >>> found.values.round(2).tolist(), round(found.noises(np.ones(1)).std, 2)
        ([26.67], 4.08)
    """
    if not all(said.telling(names) for names, _ in question.parts if names or total is None):
        return None
    values, weights = np.zeros(question.number), dict[Clique, Floats]()
    for names, part in question.parts:
        if not names and total is not None:
            values += part.reshape(-1) * total
            continue
        for shared, share in said.telling(names).items():
            sizes = zip(question.scope, part.shape[1:], strict=True)
            own = share * part.reshape(len(part), *(size for name, size in sizes if name in shared))
            weights[shared] = weights[shared] + own if shared in weights else own
    terms, tables = list[tuple[Floats, Noises]](), list[str]()
    for shared, weight in weights.items():
        of = said.sums[shared]
        if weight.any():
            shape = (len(weight), *of.mean.shape)
            spread = (weight if weight.shape == shape else np.broadcast_to(weight, shape)).reshape(len(weight), -1)
            values += spread @ of.mean.reshape(-1)
            terms.append((spread, of.noise))
            tables += of.tables
    return Estimated(values, tuple(terms), tuple(tables))


@dataclass(frozen=True)
class _Sums:
    """Tables that share the same attributes with a question, each summed over its others, and averaged.

    Attributes:
        mean: The average of the sums, with inverse variances as weights.
        precision: 1 over the variance of the number of records by it.
        noise: The noise of each of its cells.
        tables: Texts of the tables.
    """

    mean: Floats
    precision: float
    noise: Noises
    tables: tuple[str, ...]


def _sums(domain: Domain, scope: Clique, measurements: Iterable[Measurement]) -> dict[Clique, _Sums]:
    grouped = dict[Clique, list[tuple[Measurement, Floats, int]]]()
    for each in measurements:
        names = each.target.scope
        shared = tuple(name for name in names if name in scope)
        beside = tuple(axis for axis, name in enumerate(names) if name not in scope)
        table = each.values.reshape(domain.shape_of(names)).sum(axis=beside)
        grouped.setdefault(shared, []).append((each, table, each.target.size // table.size))
    return {shared: _averaged(tables) for shared, tables in grouped.items()}


def _averaged(tables: Sequence[tuple[Measurement, Floats, int]]) -> _Sums:
    """The average of sums of tables, each with the number of cells of the table in each sum."""
    precisions = [1.0 / (each.std**2 * copies) for each, _, copies in tables]
    mean, noises = np.zeros(tables[0][1].shape), list[Noises]()
    for (each, table, copies), precision in zip(tables, precisions, strict=True):
        share = precision / sum(precisions)
        mean += share * table
        one = np.array([share])
        noises.append(Noises.of(each.noise, each.scale, one, copies=copies, step=step_of(each.target)))
    return _Sums(
        mean, sum(precisions) / mean.size, Noises.all_of(noises), tuple(each.target.text for each, _, _ in tables)
    )


def _parts(scope: Clique, values: Floats) -> Iterator[tuple[Clique, Floats]]:
    """The parts of questions that are not 0: for each subset of attributes the mean over the others, centred."""
    least = _NOTHING * float(np.abs(values).max(initial=0.0))
    for kept in (subset for size in range(len(scope) + 1) for subset in combinations(range(len(scope)), size)):
        part = values.mean(axis=tuple(axis + 1 for axis in range(len(scope)) if axis not in kept), keepdims=True)
        for axis in kept:
            part = part - part.mean(axis=axis + 1, keepdims=True)
        if float(np.abs(part).max(initial=0.0)) > least:
            yield tuple(scope[axis] for axis in kept), part
