"""A hypothesis over classes of values: time and memory follow how often measurements cut an attribute, not its size.

Values of an attribute that no update tells apart keep equal weight, so they are one class. The classes are the codes of
a smaller domain; the hypothesis is a product over junction trees there, which starts at the sizes of the classes, and
inside each class it is uniform. T ranges on one attribute make at most 2 T + 1 classes, whether it has a hundred values
or 2**32; T boxes on two attributes make a grid of (2 T + 1)**2. It is the same distribution as that of ``Histogram``
and ``Markov`` after the same updates. An update that cuts a class refines the classes, and the product is built again
from all updates so far. The classes tell what constraints are about, and the product is over the ones that these allow.
A table over a level makes the level an attribute of the product, and classes of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.models.classes.answers import ClassAnswers
from hedgerow.models.core import (
    Codes,
    Columns,
    Complete,
    Factored,
    Potentials,
    SamplingMethod,
    Terms,
    check_cells,
    code_type,
    unmet,
)
from hedgerow.models.core.terms import Key, checked_table
from hedgerow.models.trees import Markov
from hedgerow.queries import (
    Classes,
    Coarsening,
    Conjunction,
    Explicit,
    LinearQuery,
    Marginal,
    Measurable,
    Measurement,
    Parity,
    attribute_codes,
    canonical,
)
from hedgerow.system import generator


class ValueClasses(Factored):
    """A distribution proportional to a product of positive factors, uniform where these tell no values apart.

    Example:
        >>> import math
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("port", 0, 2**16 - 1)))
        >>> model = ValueClasses(domain, total=100)
        >>> model.update(Conjunction.where(domain, {"ip": range(2**31)}), step=math.log(3))
        >>> asked = [Conjunction.where(domain, {"ip": range(2**30)}), Conjunction.where(domain, {"port": range(2**10)})]
        >>> model.conjunctions(asked).round(9).tolist(), model.cells
        ([37.5, 1.5625], 2)
    """

    def __init__(self, domain: Domain, total: float, queries: Iterable[LinearQuery] = ()) -> None:
        """Start from the uniform hypothesis.

        Args:
            domain: The domain.
            total: Mass in counts, positive.
            queries: Queries of the updates to come, if known: refines the classes and makes room at once.

        Raises:
            ConfigError: The total is not positive.
            ModelTooLargeError: The classes do not fit into memory.
        """
        super().__init__(domain, total)
        self._coarsening = Coarsening.of(domain, constrained=True)
        self._scopes: dict[Clique, None] = {}
        self._known: set[Key] = set()
        self._translated: dict[Key, Conjunction] = {}
        self._origin: dict[Key, Conjunction] = {}
        self._inner = _product(self._coarsening, self._total, (), self._terms)
        self.cover(queries)

    @classmethod
    def from_potentials(cls, domain: Domain, total: float, potentials: Potentials) -> ValueClasses:
        """The model that ``potentials()`` was taken from.

        Raises:
            ConfigError: The potentials have a base, or a factor is not finite.
            QueryError: A table does not fit its scope.
            ModelTooLargeError: The classes do not fit into memory.

        Example:
            >>> import math
            >>> from hedgerow.domain import IntegerRange
            >>> domain = Domain((IntegerRange("a", 0, 2**40),))
            >>> steps = {Conjunction.where(domain, {"a": [0]}): 40 * math.log(2)}
            >>> model = ValueClasses.from_potentials(domain, 4, Potentials(steps=steps))
            >>> model.conjunctions([Conjunction.where(domain, {"a": [0]})]).round(9)
            array([2.])
        """
        model = cls(domain, total)
        for clique, table in potentials.tables.items():
            checked_table(domain, clique, table)
        model._refine(model._coarsening.split(tables=potentials.tables.items()), potentials.tables)
        model.cover(potentials.steps)
        model.restore(potentials)
        return model

    @property
    def cheap_cells(self) -> int:
        """Larger tables take time and memory."""
        return self._inner.cheap_cells

    @property
    def cells(self) -> int:
        """Cells of all cliques together, over classes."""
        return self._inner.cells

    @property
    def classes(self) -> Mapping[str, Classes]:
        """The classes of each attribute that has more than one."""
        return self._coarsening.classes

    def rescale(self, total: float) -> None:
        """Set the mass; the distribution stays."""
        super().rescale(total)
        self._inner.rescale(total)

    # State

    def reset(self) -> None:
        """Undo all updates; the classes stay, for the updates to come."""
        self._terms = Terms()
        self._inner.reset()

    def copy(self) -> ValueClasses:
        """An independent model in the same state."""
        return self._twin(self._coarsening, self._inner.copy(), dict(self._translated), dict(self._origin))

    def _twin(
        self, coarsening: Coarsening, inner: Markov, translated: dict[Key, Conjunction], origin: dict[Key, Conjunction]
    ) -> ValueClasses:
        """The same updates over other classes."""
        twin = object.__new__(ValueClasses)
        twin.__dict__.update(self.__dict__, _coarsening=coarsening, _inner=inner)
        twin._scopes, twin._known, twin._terms = dict(self._scopes), set(self._known), self._terms.copy()
        twin._translated, twin._origin = translated, origin
        return twin

    def cover(self, queries: Iterable[LinearQuery]) -> None:
        """Refine the classes and make room for updates of some queries; the distribution stays the same.

        The product is built again at most once: cheaper than query by query.

        Args:
            queries: Queries over the domain of the model.

        Raises:
            ModelTooLargeError: The classes would not fit into memory; nothing was changed.
        """
        measured, tables = [], []
        for query in queries:
            plain = canonical(query)
            if isinstance(plain, Conjunction) and _is_box(plain):
                measured += [plain] if _says(plain) and (plain.scope, plain.codes) not in self._known else []
            else:
                tables.append((plain.scope, plain.values()))
        if measured or tables:
            scopes = [*(query.scope for query in measured), *(scope for scope, _ in tables)]
            self._refine(self._coarsening.split(measured, tables), scopes)
            self._known.update((query.scope, query.codes) for query in measured)

    # Updates

    def _step(self, query: Conjunction, step: float) -> None:
        plain = canonical(query)
        if not (isinstance(plain, Conjunction) and _says(plain)):
            return
        if not _is_box(plain):
            self._reweigh(plain.scope, step * plain.values())
            return
        self.cover([plain])
        self._terms.add_step(plain, step)
        self._inner.update(self._over_classes([plain])[plain.scope, plain.codes], step)

    def _make(self, factors: Potentials) -> None:
        for clique, table in factors.tables.items():
            self._terms.add_table(clique, table)
        for query, step in factors.steps.items():
            plain = canonical(query)
            if isinstance(plain, Conjunction) and _is_box(plain):
                if _says(plain):
                    self._terms.add_step(plain, step)
            else:
                self._terms.add_table(plain.scope, step * plain.values())
        self._inner = _product(self._coarsening, self.total, self._scopes, self._terms)

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        self._refine(self._coarsening.split(tables=[(clique, table)]), [clique])
        self._terms.add_table(clique, table)
        self._inner.reweigh(*self._coarsening.coarse_table(clique, table))

    # Refits

    def over_classes(self, measurements: Sequence[Measurement]) -> tuple[Markov, list[Measurement]]:
        """Translate measurements into ones over classes, which they refine; returns the product to fit and these.

        Give the fitted product to ``take_over``. Measurements that say the same of all records are left out.

        Args:
            measurements: Measurements over the domain of the model.

        Raises:
            ModelTooLargeError: The classes would not fit into memory; nothing was changed.
        """
        said = [(m, target) for m in measurements if (target := _plain(m.target)) is not None]
        whole = [target.scope for _, target in said if isinstance(target, Marginal | Parity)]
        for scope in whole:
            cells = self._domain.cells(scope)
            check_cells(cells, 4 * 8 * cells, tree=True)
        self._refine(self._coarsening.apart(name for scope in whole for name in scope), whole)
        self.cover([target for _, target in said if isinstance(target, LinearQuery)])
        self._over_classes([target for _, target in said if isinstance(target, Conjunction) and _is_box(target)])
        return self._inner, [replace(each, target=self._target(target)) for each, target in said]

    def take_over(self, fitted: Markov) -> None:
        """Take the state of the product that ``over_classes`` gave, after it was fitted."""
        state = fitted.updates()
        self._inner, self._terms = fitted, Terms()
        for clique, table in state.tables.items():
            self._terms.add_table(clique, self._coarsening.fine_table(clique, table))
        for query, step in state.steps.items():
            origin = self._origin.get((query.scope, query.codes))
            self._terms.add_step(origin or self._coarsening.fine_conjunction(query), step)

    def _target(self, target: Measurable) -> Measurable:
        coarse = self._coarsening.coarse
        if isinstance(target, Conjunction) and _is_box(target):
            return self._translated[target.scope, target.codes]
        if isinstance(target, Marginal | Parity):
            return type(target)(coarse, target.scope)
        if not isinstance(target, LinearQuery):
            raise QueryError(f"the measurement of {target.text} is of an unknown kind")
        scope, values = self._coarsening.coarse_table(target.scope, target.values())
        return Explicit(coarse, scope, target.text, values, target.bounds)

    # Answers

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return self._answers().tables(cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts.

        Conditions on the same attributes are summed together, over the table of the classes of these.
        """
        boxes = [index for index, query in enumerate(queries) if _is_box(query)]
        answers = np.empty(len(queries))
        answers[boxes] = self._answers().boxes([queries[index] for index in boxes])
        for index in set(range(len(queries))).difference(boxes):
            answers[index] = queries[index].of_table(self.marginals([queries[index].scope])[0])[0]
        return answers

    def _answers(self) -> ClassAnswers:
        return ClassAnswers(self._coarsening, self._inner, lambda finer: self._over(finer, ()))

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        """Classes as ``Markov`` draws codes; systematic: the records of a class are spread evenly over its values."""
        blocks = self._inner.sample_blocks(n, generator(int(draw.integers(2**63))), method)
        return (self._values(block, draw, method) for block in blocks)

    def meeting(self, condition: LinearQuery) -> ValueClasses:
        """Meet the condition over classes, which it refines."""
        plain = canonical(condition)
        box = isinstance(plain, Conjunction) and _is_box(plain)
        if not plain.scope and plain.of_table(np.array(1.0))[0] > 0.0:
            return self
        if not plain.scope or (isinstance(plain, Conjunction) and box and not _says(plain)):
            raise unmet(condition)
        if isinstance(plain, Conjunction) and box:
            coarsening = self._coarsening.split([plain])
            told: LinearQuery = coarsening.conjunctions([plain])[0]
        else:
            coarsening = self._coarsening.split(tables=[(plain.scope, plain.values())])
            scope, values = coarsening.coarse_table(plain.scope, plain.values())
            told = Explicit(coarsening.coarse, scope, plain.text, values, plain.bounds)
        try:
            inner = self._over(coarsening, [plain.scope]).meeting(told)
        except QueryError:
            raise unmet(condition) from None
        return self._twin(coarsening, inner, {}, {})

    def completing(self, names: Clique) -> Complete:
        """The product completes rows of classes; each attribute that is not given has a value of its class."""
        functions = [name for name in names if name not in self._domain.names]
        coarsening = self._coarsening.apart(functions)
        coarse, classes = coarsening.coarse, coarsening.classes
        known = coarse.clique(name for name in names if name in coarse)
        inner = self._over(coarsening, [(name,) for name in functions]).completing(known)

        def complete(columns: Columns, rows: int, draw: np.random.Generator, method: SamplingMethod) -> Columns:
            told = {name: columns[name] for name in known}
            told |= {name: classes[name].holding(codes) for name, codes in told.items() if name in classes}
            labels = inner(told, rows, draw, method)
            for attribute in self._domain:
                name = attribute.name
                if name not in columns:
                    whole, one = Classes.whole(attribute.size), np.zeros(rows, dtype=np.int64)
                    found = _drawn(classes.get(name, whole), labels.get(name, one), draw, method)
                    columns[name] = found.astype(np.int64)
            return columns

        return complete

    # Inside

    def _refine(self, coarsening: Coarsening, scopes: Iterable[Clique]) -> None:
        """Switch to finer classes, and make room for some scopes."""
        wanted = self._scopes | dict.fromkeys(scopes)
        if coarsening is self._coarsening:
            self._inner.cover(coarsening.told_by(scope) for scope in wanted.keys() - self._scopes.keys())
        else:
            self._inner = _product(coarsening, self.total, wanted, self._terms)
            self._coarsening, self._translated, self._origin = coarsening, {}, {}
        self._scopes = wanted

    def _over(self, coarsening: Coarsening, scopes: Iterable[Clique]) -> Markov:
        """The product over finer classes, with room for some scopes."""
        if coarsening is self._coarsening:
            return self._inner
        return _product(coarsening, self.total, self._scopes | dict.fromkeys(scopes), self._terms)

    def _over_classes(self, queries: Sequence[Conjunction]) -> dict[Key, Conjunction]:
        """Conjunctions in canonical form, which the classes tell apart, over classes."""
        new = [query for query in queries if (query.scope, query.codes) not in self._translated]
        conjunctions = self._coarsening.conjunctions(new)
        for query, each in zip(new, conjunctions, strict=True):
            self._translated[query.scope, query.codes] = each
            self._origin[each.scope, each.codes] = query
        return self._translated

    def _values(self, block: Codes, draw: np.random.Generator, method: SamplingMethod) -> Codes:
        """Records with a value drawn from each class."""
        codes: Codes = np.empty((len(block), len(self._domain)), dtype=code_type(self._domain), order="F")
        for axis, attribute in enumerate(self._domain):
            classes = self.classes.get(attribute.name) or Classes.whole(attribute.size)
            told = attribute.name in self.classes
            labels = block[:, self._coarsening.coarse.index(attribute.name)] if told else np.zeros(len(block))
            codes[:, axis] = _drawn(classes, labels.astype(np.int64), draw, method)
        return codes


def _product(coarsening: Coarsening, total: float, scopes: Iterable[Clique], terms: Terms) -> Markov:
    """The product over classes that all log-factors make."""
    start: dict[Clique, Floats] = {
        (name,): np.log(classes.sizes / classes.sizes.mean())
        for name, classes in coarsening.classes.items()
        if classes.sizes.min() < classes.sizes.max()
    }
    inner = Markov(coarsening.coarse, total, [coarsening.told_by(scope) for scope in scopes], start)
    over, steps = Terms(), dict(terms.steps())
    for clique, table in terms.tables.items():
        over.add_table(*coarsening.coarse_table(clique, table))
    for query, step in zip(coarsening.conjunctions(list(steps)), steps.values(), strict=True):
        over.add_step(query, step)
    inner.restore(over.potentials(None))
    return inner


def _is_box(query: Conjunction) -> bool:
    """Whether a conjunction is on attributes and levels, so that it comes down to sets of codes of attributes."""
    functions = map(query.domain.function, query.scope)
    return all(function is None or len(function.sources) == 1 for function in functions)


def _says(query: Conjunction) -> bool:
    """Whether a conjunction in canonical form can hold, and can fail."""
    return bool(query.scope) and all(attribute_codes(query.domain, query)[0].values())


def _plain(target: Measurable) -> Measurable | None:
    """A target in canonical form; None if it is the same for all records."""
    if isinstance(target, Marginal):
        return target
    if isinstance(target, LinearQuery):
        plain = canonical(target)
        return plain if plain.scope and (not isinstance(plain, Conjunction) or _says(plain)) else None
    return target


def _drawn(classes: Classes, labels: Ints, draw: np.random.Generator, method: SamplingMethod) -> Codes:
    """One code of each class; systematic: the records of a class evenly over its codes, in random order."""
    sizes = classes.sizes[labels]
    if method is SamplingMethod.INDEPENDENT:
        return classes.codes_at(labels, draw.integers(sizes)).astype(np.uint64)
    counts = np.bincount(labels, minlength=classes.count)
    order = draw.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    shifted = (rank + draw.random(classes.count)[labels]) * (sizes / counts[labels])
    return classes.codes_at(labels, np.minimum(shifted.astype(np.int64), sizes - 1)).astype(np.uint64)
