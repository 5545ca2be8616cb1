"""What measured tables allow together for a question that none of them tells, by a linear programme.

Take the attributes S of a question, each in as few *classes* as the question and the tables tell apart. A measured
table that shares attributes with S is seen over their classes, as far as these were known before its noise was drawn,
beside its other attributes R. The unknowns are one table of counts over S and R for each R, a *block*, and all blocks
have the same sums over S. With a given probability the noise of every sum of cells is below a bound, so that the true
counts meet

    |sum of cells - noisy sum| <= bound,    counts >= 0,    the number of records within its own bounds,

and the least and the largest answer of the question under these constraints are the ends of an interval that holds the
true answer. Cells that no record can be in, by the rules of the domain, are no unknowns. Blocks are brought together
through S alone, which can make the interval wider, but never wrong.

The k-th table that bears on the question gets ``6 / (pi k)^2`` of the risk, in the order in which tables were measured.
When it is measured its noise is drawn afresh, so it does not matter by which noise the tables were chosen (see
`answer`), nor which of them a programme leaves out. The ends are not read off the solver's point but off its
multipliers: by weak duality the bound that any multipliers prove is true.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, Domain, possible_cells, spread_over
from hedgerow.privacy import step_of
from hedgerow.queries import Conjunction, LinearQuery, Marginal, Measurement
from hedgerow.release.noise_sums import Noises

Number = TypeVar("Number", bound=np.generic)

_MOST_CELLS = 8_192
"""Unknowns of a programme; blocks with more are left out, the largest first."""
_LARGEST_BLOCK = 2_048
"""Unknowns of a block from which on its other attributes are seen in fewer classes."""
_MOST_CLASSES = 4_096
"""Cells of the table over the classes of the question's attributes."""
_LARGEST = 1 << 20
"""Cells of the largest question with weights, and codes of the largest attribute."""
_MOST_FRAMES = 16
"""Sets of classes of which is kept what tables allow, and risks for each."""
_SECONDS = 2.0
"""Time that the solver may take for each end."""
_ROUNDING = 1e-9
"""What sums of products may be off by, as a share of the number of records."""


@dataclass(frozen=True, eq=False)
class Together:
    """Evidence from all measured tables that share attributes with a question.

    Attributes:
        frame: What the tables allow.
        values: The answer for one record of each cell of its classes.
    """

    frame: Frame
    values: Floats

    @classmethod
    def of(
        cls,
        query: LinearQuery,
        runs: Iterable[Sequence[Measurement]],
        least: float,
        most: float,
        kept: dict[Hashable, Frame] | None = None,
    ) -> Self | None:
        """Look at the tables; None where fewer than two bear on the question, or it is too large.

        Args:
            query: The question.
            runs: All measurements, in order, in runs of which none was chosen by the noise of another one; others than
                whole tables are left out.
            least: Lower bound of the number of records, in counts; its risk is beside.
            most: Upper bound, likewise.
            kept: What was found of the same tables for other questions; what is found is added.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> from hedgerow.queries import NoiseKind
            >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
            >>> noisy = [Measurement(Marginal(domain, "ab"), np.array([60.0, 20, 10, 10]), NoiseKind.GAUSSIAN, 0.1),
            ...          Measurement(Marginal(domain, "bc"), np.array([65.0, 5, 10, 20]), NoiseKind.GAUSSIAN, 0.1)]
            >>> found = Together.of(Conjunction.where(domain, {"a": [1], "c": [1]}), [noisy], 100.0, 100.0)
            >>> [round(end) for end in found.ends(0.05)]
            [0, 17]
        """
        question = _Question.of(query)
        if question is None or not 0.0 < most < math.inf:
            return None
        kept = {} if kept is None else kept
        key = least, most, *((name, classes.tobytes()) for name, classes in question.classes.items())
        frame = kept.get(key)
        if frame is None:
            if len(kept) >= _MOST_FRAMES:
                kept.clear()
            frame = kept[key] = Frame.of(question, runs, least, most)
        return cls(frame, question.over(frame.question)) if len(frame.views) > 1 else None

    @property
    def source(self) -> str:
        """The origin of the interval, in words."""
        return f"what {len(self.frame.views)} measured tables allow together"

    def ends(self, risk: float) -> tuple[float, float]:
        """The least and the largest answer; infinite where the solver found none.

        Args:
            risk: Probability that the interval may miss.
        """
        least, most = (self.frame.bound(sign * self.values, risk) for sign in (-1.0, 1.0))
        return -least, most


@dataclass(frozen=True, eq=False)
class Frame:
    """What tables allow for all questions over the same classes.

    Attributes:
        question: The classes, with the values of one question.
        views: The tables, in the order in which they were measured.
        least: Lower bound of the number of records, in counts.
        most: Upper bound.
    """

    question: _Question
    views: Sequence[_View]
    least: float
    most: float

    @classmethod
    def of(cls, question: _Question, runs: Iterable[Sequence[Measurement]], least: float, most: float) -> Frame:
        """Look at the tables, each in the classes that were known before its noise was drawn.

        Args:
            question: A question in its own classes.
            runs: All measurements; see `Together.of`.
            least: Lower bound of the number of records, in counts.
            most: Upper bound.
        """
        found = list[tuple[_Question, Measurement]]()
        for run in runs:
            tables = [each for each in run if isinstance(each.target, Marginal) and each.target.within is None]
            related = [each for each in tables if question.carriers(each.target.scope)]
            for each in related:
                question = question.refined(each.target.scope)
            found += [(question, each) for each in related]
        return cls(question, [_View.of(known, question, each) for known, each in found], least, most)

    def bound(self, values: Floats, risk: float) -> float:
        """An upper bound of the first block times values, in counts; unknowns are shares of the largest number.

        Args:
            values: Of each cell of classes.
            risk: Probability that the bounds of all sums may fail.
        """
        from scipy.optimize import linprog  # scipy.optimize is slow to import

        above, limits = self._above(risk)
        kept, aim = self._possible, np.zeros(self._starts[-1])
        aim[: values.size] = values.reshape(-1)
        links, aim = self._links[:, kept], aim[kept]
        starts = [int(kept[:start].sum()) for start in self._starts]
        options: Any = {"time_limit": _SECONDS, "presolve": False}  # rows are merged, and nothing else is found
        rows: Any = {"A_ub": above, "b_ub": limits, "A_eq": links, "b_eq": np.zeros(links.shape[0])}
        solved: Any = linprog(-aim, **rows, method="highs-ds", options=options)
        if solved.status != 0:
            return math.inf
        multipliers = np.maximum(-solved.ineqlin.marginals, 0.0)
        unpaid = aim - above.T @ multipliers + links.T @ solved.eqlin.marginals
        slack = sum(max(0.0, float(unpaid[a:b].max())) for a, b in pairwise(starts))  # each block adds up to 1
        return self.most * (float(multipliers @ limits) + slack + _ROUNDING)

    def _above(self, risk: float) -> tuple[Any, Floats]:
        """Rows of sums of the possible unknowns that are at most limits, in shares of the largest number of records."""
        found = self._rows.get(risk)
        if found is None:
            sums, low, high = self._constraints(risk)
            below, beyond = low > 0.0, high <= self.most  # counts meet the other bounds
            above = sparse.vstack([sums[beyond], -sums[below]]).tocsr()[:, self._possible]
            found = above, np.concatenate([high[beyond], -low[below]]) / self.most
            if len(self._rows) >= _MOST_FRAMES:
                self._rows.clear()
            self._rows[risk] = found
        return found

    @cached_property
    def _rows(self) -> dict[float, tuple[Any, Floats]]:
        return {}

    @cached_property
    def _blocks(self) -> list[Clique]:
        """The other attributes of each block: first none, then those that join two attributes which no table holds."""
        cells = math.prod(self.question.shape)
        rests = self.question.joining([view.measurement.target.scope for view in self.views])
        found, used = list[Clique]([()]), cells
        for size, rest in sorted((cells * math.prod(self.question.cut(rest).values()), rest) for rest in rests):
            if used + size <= _MOST_CELLS:
                found.append(rest)
                used += size
        return found

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        return [(*self.question.shape, *self.question.cut(rest).values()) for rest in self._blocks]

    @cached_property
    def _starts(self) -> list[int]:
        """Where the unknowns of each block begin, and the number of all."""
        return [0, *np.cumsum([math.prod(shape) for shape in self._shapes]).tolist()]

    @cached_property
    def _possible(self) -> Bools:
        """Whether a record can be in the cell of each unknown."""
        return np.concatenate([self.question.possible(rest).reshape(-1) for rest in self._blocks])

    @cached_property
    def _links(self) -> Any:
        """Rows that are 0 where the sums of a block over the question's attributes are those of the first block."""
        cells = math.prod(self.question.shape)
        blocks = [np.ones((1, math.prod(shape) // cells)) for shape in self._shapes[1:]]
        if not blocks:
            return sparse.csr_matrix((0, cells))
        over: Any = sparse.block_diag([sparse.kron(sparse.identity(cells), ones) for ones in blocks])
        first: Any = sparse.vstack([-sparse.identity(cells)] * len(blocks))
        return sparse.hstack([first, over], format="csr")

    def _constraints(self, risk: float) -> tuple[Any, Floats, Floats]:
        """Sums of unknowns, a row each, with their lower and upper bounds in counts; tables share rows."""
        ends = {((), 0): (np.array([self.least]), np.array([self.most]))}
        places = {((), 0): np.zeros(self._starts[1], dtype=np.int64)}
        for place, view in enumerate(self.views, start=1):
            own = risk * 6.0 / (math.pi * place) ** 2 / view.n_sums
            for names in view.subsets:
                noisy, radii = view.sums(names, own)
                for number in self._blocks_of(view, names):
                    row = view.row(names), number
                    if row not in ends:
                        places[row] = view.places(names, self._blocks[number], self._shapes[number])
                        ends[row] = noisy - radii, noisy + radii
                    else:
                        low, high = ends[row]
                        ends[row] = np.maximum(low, noisy - radii), np.minimum(high, noisy + radii)
        low, high = (np.concatenate(each) for each in zip(*ends.values(), strict=True))
        first = np.cumsum([0, *(each[0].size for each in ends.values())])
        rows = np.concatenate([start + each for start, each in zip(first, places.values(), strict=False)])
        columns = np.concatenate([self._starts[n] + np.arange(each.size) for (_, n), each in places.items()])
        matrix: Any = sparse.csr_matrix((np.ones(rows.size), (rows, columns)), shape=(low.size, self._starts[-1]))
        return matrix, low, high

    def _blocks_of(self, view: _View, names: Clique) -> Iterable[int]:
        """The blocks that sums over some variables of a table are constraints of."""
        if set(names).isdisjoint(view.beside):
            return (0,)
        return (number for number, rest in enumerate(self._blocks) if number and self.question.is_in(view.beside, rest))


@dataclass(frozen=True, eq=False)
class _Question:
    """A question over classes of the codes of its attributes.

    Attributes:
        domain: The domain.
        classes: The class of each code of each attribute.
        values: The answer for one record of each cell of classes.
        cells: Cells of the classes that the question itself tells apart.
    """

    domain: Domain
    classes: Mapping[str, Ints]
    values: Floats
    cells: int

    @classmethod
    def of(cls, query: LinearQuery) -> _Question | None:
        """The classes that the question tells apart; None where it is too large."""
        domain, scope = query.domain, query.domain.base(query.scope)
        if not scope or max(domain.shape_of(scope)) > _LARGEST:
            return None
        if isinstance(query, Conjunction):
            meets = {name: np.ones(domain[name].size, dtype=np.bool_) for name in scope}
            for name, codes in zip(query.scope, query.codes, strict=True):
                places = [domain.lookup(attribute, name) for attribute in domain.base([name])]
                if len(places) != 1 or places[0] is None:
                    return None
                meets[domain.base([name])[0]] &= np.isin(places[0], np.asarray(codes, dtype=np.intp))
            values = np.ones(())
            for name in scope:
                values = np.multiply.outer(values, np.unique(meets[name]).astype(np.float64))
            classes = {name: np.unique(meets[name], return_inverse=True)[1] for name in scope}
        else:
            shape = domain.shape_of(scope)
            if math.prod(shape) > _LARGEST:
                return None
            values = np.broadcast_to(spread_over(domain, query.values(), query.scope, scope), shape)
            classes = {}
            for axis, name in enumerate(scope):
                rows = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
                _, first, classes[name] = np.unique(rows, axis=0, return_index=True, return_inverse=True)
                values = values.take(first, axis)
        for axis, (name, found) in enumerate(classes.items()):  # in the order of their first codes
            order = np.argsort(np.unique(found, return_index=True)[1])
            classes[name], values = np.argsort(order)[found], values.take(order, axis)
        return cls(domain, classes, values, values.size) if values.size <= _MOST_CLASSES else None

    def over(self, finer: _Question) -> Floats:
        """The values over classes of another question that are parts of its own."""
        values = self.values
        for axis, name in enumerate(finer.classes):
            values = values.take(self.holding(name, finer), axis)
        return values

    def holding(self, attribute: str, finer: _Question) -> Ints:
        """The class of an attribute that each class of another question, which are parts of its own, is in."""
        return self.classes[attribute][np.unique(finer.classes[attribute], return_index=True)[1]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of classes of each attribute."""
        return self.values.shape

    def carriers(self, names: Clique) -> dict[str, str]:
        """The variables among some that are functions of one attribute of the question, with that attribute."""
        found = dict[str, str]()
        for name in names:
            sources = self.domain.base([name])
            if len(sources) == 1 and sources[0] in self.classes and sources[0] not in found.values():
                found[name] = sources[0]
        return found

    def cut(self, rest: Clique) -> dict[str, int]:
        """Numbers of classes that other variables of a table are seen in, by sizes alone: few enough for its block."""
        sizes = dict(zip(rest, self.domain.shape_of(rest), strict=True))
        while self.cells * math.prod(sizes.values()) > _LARGEST_BLOCK and max(sizes.values(), default=0) > 2:
            widest = max(sizes, key=lambda name: sizes[name])
            sizes[widest] = -(-sizes[widest] // 2)
        return sizes

    def other(self, name: str, size: int) -> Ints:
        """The class of each code of a variable beside the question, of neighbouring codes."""
        return np.arange(self.domain[name].size) * size // self.domain[name].size

    def joining(self, scopes: Sequence[Clique]) -> list[Clique]:
        """The other variables of tables that join two attributes of the question which no table holds."""
        seen = [(self.carriers(names), names) for names in scopes]
        tables = [(set(own.values()), tuple(name for name in names if name not in own)) for own, names in seen]
        held = {pair for attributes, _ in tables for pair in _pairs(attributes)}
        by = dict[Clique, set[str]]()
        for attributes, beside in tables:
            by[beside] = by.get(beside, set()) | attributes
        found = list[Clique]()
        for rest in filter(None, by):
            parts = [attributes for beside, attributes in by.items() if self.is_in(beside, rest)]
            if _pairs(set[str]().union(*parts)) - held:
                found.append(rest)
        return found

    def is_in(self, beside: Clique, rest: Clique) -> bool:
        """Whether there are other variables of a table, all of them in a block, in the same classes."""
        return bool(beside) and set(beside) <= set(rest) and self.cut(beside).items() <= self.cut(rest).items()

    def possible(self, rest: Clique) -> Bools:
        """Whether the rules let any record be in each cell of classes and of the codes of other variables."""
        names = [*self.classes, *rest]
        clique = self.domain.clique(names)
        small = self.domain.zeros and math.prod(self.domain.shape_of(clique)) <= _LARGEST
        cells = possible_cells(self.domain, clique) if small else None
        if cells is None:
            return np.ones((*self.shape, *self.cut(rest).values()), dtype=np.bool_)
        numbers = np.transpose(cells, [clique.index(name) for name in names]).astype(np.int64)
        for axis, name in enumerate(self.classes):
            numbers = _summed(numbers, axis, self.classes[name], self.shape[axis])
        for axis, (name, size) in enumerate(self.cut(rest).items(), start=len(self.shape)):
            numbers = _summed(numbers, axis, self.other(name, size), size)
        return np.asarray(numbers > 0)

    @cached_property
    def _found(self) -> dict[tuple[str, str], tuple[Ints, Ints, int]]:
        return {}

    def groups(self, name: str, attribute: str) -> tuple[Ints, Ints, int]:
        """The finest groups that are sets of classes and of codes of a variable: of each class, each code, how many."""
        if (name, attribute) in self._found:  # many tables are about the same variables
            return self._found[name, attribute]
        codes: Any = self.domain.lookup(attribute, name)
        classes, n_classes = self.classes[attribute], int(self.classes[attribute].max()) + 1
        seen, size = codes >= 0, n_classes + self.domain[name].size
        pairs = np.ones(int(seen.sum())), (classes[seen], n_classes + codes[seen])
        _, parts = csgraph.connected_components(sparse.coo_matrix(pairs, shape=(size, size)), directed=False)
        used, groups = np.unique(parts[:n_classes], return_inverse=True)
        of_codes = np.where(np.isin(parts[n_classes:], used), np.searchsorted(used, parts[n_classes:]), -1)
        self._found[name, attribute] = groups, of_codes, len(used)
        return self._found[name, attribute]

    def refined(self, names: Clique) -> _Question:
        """The same with classes that levels of a table tell apart, where these are neither finer nor coarser."""
        made = self
        for name, attribute in self.carriers(names).items():
            codes: Any = self.domain.lookup(attribute, name)
            old = made.classes[attribute]
            if made.groups(name, attribute)[2] in (len(np.unique(old)), len(np.unique(codes[codes >= 0]))):
                continue
            _, first, new = np.unique(np.stack([old, codes]), axis=1, return_index=True, return_inverse=True)
            values = made.values.take(old[first], list(self.classes).index(attribute))
            if values.size <= _MOST_CLASSES:
                made = _Question(self.domain, {**made.classes, attribute: new.reshape(-1)}, values, self.cells)
        return made


@dataclass(frozen=True, eq=False)
class _View:
    """A measured table, summed to what classes tell apart.

    Attributes:
        question: The question with the classes.
        measurement: The table.
        attributes: The attributes of the question that are seen, each with the group of each class.
        carried: The variable of the table that is a function of an attribute of the question, with that attribute.
        table: The noisy sums.
        copies: The number of cells of the table in each sum.
    """

    question: _Question
    measurement: Measurement
    attributes: Mapping[str, Ints]
    carried: Mapping[str, str]
    table: Floats
    copies: Ints

    @classmethod
    def of(cls, known: _Question, question: _Question, measurement: Measurement) -> _View:
        """Sum the cells of a whole table to the classes that were known before its noise was drawn."""
        names, carried = measurement.target.scope, question.carriers(measurement.target.scope)
        table = measurement.values.reshape(question.domain.shape_of(names))
        copies, attributes = np.ones(table.shape, dtype=np.int64), dict[str, Ints]()
        sizes = question.cut(tuple(name for name in names if name not in carried))
        for axis, name in enumerate(names):
            if name in carried:
                groups, of_codes, n_groups = known.groups(name, carried[name])
                attributes[carried[name]] = groups[known.holding(carried[name], question)]
            elif (n_groups := sizes[name]) < table.shape[axis]:
                of_codes = question.other(name, n_groups)
            else:
                continue
            table = _summed(table, axis, of_codes, n_groups)
            copies = _summed(copies, axis, of_codes, n_groups)
        return cls(question, measurement, attributes, carried, table, copies)

    @property
    def beside(self) -> Clique:
        """The other variables of the table."""
        return tuple(name for name in self.measurement.target.scope if name not in self.carried)

    @cached_property
    def subsets(self) -> list[Clique]:
        """The sets of variables that sums are taken over; each adds constraints."""
        names = self.measurement.target.scope
        return [kept for size in range(1, len(names) + 1) for kept in combinations(names, size)]

    @property
    def n_sums(self) -> int:
        """Number of all these sums."""
        sizes = dict(zip(self.measurement.target.scope, self.table.shape, strict=True))
        return sum(math.prod(sizes[name] for name in kept) for kept in self.subsets)

    def sums(self, names: Clique, risk: float) -> tuple[Floats, Floats]:
        """The noisy sums by some variables, and a bound on the noise of each that fails with a probability."""
        scope = self.measurement.target.scope
        over = tuple(axis for axis, name in enumerate(scope) if name not in names)
        copies = self.copies.sum(axis=over).reshape(-1)
        numbers, which = np.unique(copies, return_inverse=True)
        noises = (self._noise(number) for number in numbers.tolist())
        return self.table.sum(axis=over).reshape(-1), np.array([noise.bound(risk) for noise in noises])[which]

    def _noise(self, copies: int) -> Noises:
        measured = self.measurement
        step = step_of(measured.target)
        return Noises.of(measured.noise, measured.scale, np.ones(1), copies=copies, step=step)

    def row(self, names: Clique) -> tuple[Any, ...]:
        """What sums by some variables are about: tables that tell the same apart share it."""
        told = zip(self.measurement.target.scope, self.table.shape, strict=True)
        many = [name for name, size in told if name in names and (size > 1 or name not in self.carried)]
        seen = ((name, self.carried.get(name)) for name in many)
        return tuple((of, self.attributes[of].tobytes()) if of else name for name, of in seen)

    def places(self, names: Clique, rest: Clique, shape: tuple[int, ...]) -> Ints:
        """The number of the sum by some variables that each unknown of a block is a part of."""
        axes, index, sizes = [*self.question.classes, *rest], np.zeros(shape, dtype=np.int64), dict[str, int]()
        sizes.update(zip(self.measurement.target.scope, self.table.shape, strict=True))
        for name in names:
            codes = self.attributes[self.carried[name]] if name in self.carried else np.arange(sizes[name])
            axis = axes.index(self.carried.get(name, name))
            index = index * sizes[name] + codes.reshape([-1 if at == axis else 1 for at in range(len(shape))])
        return index.reshape(-1)


def _pairs(names: Iterable[str]) -> set[tuple[str, ...]]:
    return set(combinations(sorted(names), 2))


def _summed(table: NDArray[Number], axis: int, groups: Ints, n_groups: int) -> NDArray[Number]:
    """A table with the codes along an axis summed by groups; those of group -1 are left out."""
    rows = np.moveaxis(table, axis, 0)
    sums = np.zeros((n_groups, *rows.shape[1:]), dtype=table.dtype)
    np.add.at(sums, groups[groups >= 0], rows[groups >= 0])
    return np.moveaxis(sums, 0, axis)
