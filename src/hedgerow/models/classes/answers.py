"""Answers of a hypothesis over classes of values: tables over values, and sums over boxes, from tables over classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, summed
from hedgerow.models.core import Room
from hedgerow.models.trees import Markov
from hedgerow.queries import Classes, Coarsening, Conjunction, canonical
from hedgerow.queries.classes.classes import box_sums

_GRID_CELLS = 1 << 24
"""Largest table of classes over which conditions are summed; on larger ones, one by one over the cliques."""
_CORNERED = 2
"""Most attributes of boxes that are summed by their corners: each takes four times as many look-ups as the last."""
_CHUNK_CELLS = 1 << 24
"""Cells of the tables in which many conditions are summed at once."""


@dataclass(frozen=True, eq=False)
class ClassAnswers:
    """Answers in one state of the hypothesis, uniform inside each class.

    Attributes:
        coarsening: The domain and the classes of its attributes.
        inner: The product over classes.
        over: Gives the product over finer classes, as it would be.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 7), IntegerRange("b", 0, 1)))
        >>> box = Conjunction.where(domain, {"a": [0, 1]})
        >>> classes = Coarsening.of(domain, [box])
        >>> answers = ClassAnswers(classes, Markov(classes.coarse, 8.0), lambda finer: Markov(finer.coarse, 8.0))
        >>> answers.boxes([box]), answers.tables([("a",)])[0][:3].round(3)
        (array([4.]), array([2.   , 2.   , 0.667]))
    """

    coarsening: Coarsening
    inner: Markov
    over: Callable[[Coarsening], Markov]

    def tables(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Tables over values, shape ``domain.shape_of(clique)`` each, in counts.

        Raises:
            MarginalTooLargeError: A table does not fit into memory.
        """
        for clique in cliques:
            cells = self.coarsening.fine.cells(clique)
            Room().check(clique, cells, 3 * 8 * cells)
        wanted = [self.coarsening.told_by(clique) for clique in cliques]
        tables = self.inner.marginals(wanted)
        return [self._spread(*each) for each in zip(cliques, wanted, tables, strict=True)]

    def boxes(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the records that meet conditions on attributes and levels, shape ``(len(queries),)``, in counts."""
        groups: dict[Clique, list[tuple[int, Conjunction]]] = {}
        answers = np.empty(len(queries))
        for index, query in enumerate(queries):
            conditions = self.coarsening.conditions(query)  # on attributes, and on levels that are told
            plain = conditions.keys() == set(query.scope)
            asked = query if plain else Conjunction.where(self.coarsening.fine, conditions)
            groups.setdefault(asked.scope, []).append((index, asked))
        for scope, numbered in groups.items():
            answers[[index for index, _ in numbered]] = self._sums(scope, [asked for _, asked in numbered])
        return answers

    def _sums(self, scope: Clique, queries: Sequence[Conjunction]) -> Floats:
        """Answers to conditions on the same attributes and levels that are told."""
        clique = self.coarsening.told_by(scope)
        sets = {name: [query.codes[axis] for query in queries] for axis, name in enumerate(scope)}
        shares = [
            np.array([len(code_set) for code_set in sets[name]]) / self.coarsening.fine[name].size
            for name in scope
            if name not in clique
        ]
        free = np.prod(shares, axis=0, initial=1.0)
        known, asked = self.coarsening.classes, [sets[name] for name in clique]
        classes = [known.get(name) or Classes.apart(self.coarsening.fine[name].size) for name in clique]
        if math.prod(len(value_class.low) for value_class in classes) > _GRID_CELLS:
            return np.asarray(free * self._one_by_one(clique, queries))
        (table,) = self.inner.marginals([clique])
        if len(clique) <= _CORNERED and all(len(codes.cuts) == 2 for each in asked for codes in each):
            return np.asarray(free * box_sums(table, classes, asked))
        return np.asarray(free * _weighted(table, [one.shares(each) for one, each in zip(classes, asked, strict=True)]))

    def _one_by_one(self, told: Clique, queries: Sequence[Conjunction]) -> Floats:
        """The same on attributes whose classes make too many cells together: sums over the cliques that hold them."""
        parts = [canonical(Conjunction.where(q.domain, _codes(q, told))) for q in queries]
        possible = [index for index, part in enumerate(parts) if all(part.codes)]  # type: ignore[attr-defined]
        asked = [part for part in (parts[index] for index in possible) if isinstance(part, Conjunction)]
        finer = self.coarsening.split(asked)
        answers = np.zeros(len(queries))
        answers[possible] = self.over(finer).conjunctions(finer.conjunctions(asked))
        return answers

    def _spread(self, clique: Clique, told: Clique, table: Floats) -> Floats:
        """A table over classes as one over all values."""
        base = self.coarsening.fine.base(clique)
        if base != clique:
            return self._over_derived(base, clique, told, table)
        sizes = [self.coarsening.classes[name].sizes for name in told]
        for axis, size in enumerate(sizes):
            table = table / size.reshape([-1 if other == axis else 1 for other in range(len(sizes))])
        free = self.coarsening.fine.cells([name for name in clique if name not in told])
        fine = self.coarsening.fine_table(told, table / free)
        shape = [self.coarsening.fine[name].size if name in told else 1 for name in clique]
        return np.array(np.broadcast_to(fine.reshape(shape), self.coarsening.fine.shape_of(clique)))

    def _over_derived(self, base: Clique, clique: Clique, told: Clique, table: Floats) -> Floats:
        """The same over levels and other derived attributes: those that are told as they are, others by shares."""
        sources = {name: self.coarsening.fine.base((name,)) for name in clique}
        if any(len(sources[name]) > 1 and name not in told for name in clique):
            cells = self.coarsening.fine.cells(base)
            Room().check(base, cells, 3 * 8 * cells)
            (whole,) = self.tables([base])
            return summed(self.coarsening.fine, whole, base, clique)
        axes = list(told)
        for attribute in base:
            variables = tuple(name for name in clique if sources[name] == (attribute,))
            if attribute not in variables and all(name in told for name in variables):
                continue
            if attribute in told:
                table = np.moveaxis(table, axes.index(attribute), -1)
                axes.remove(attribute)
            else:
                table = table[..., None]
            if variables == (attribute,):
                classes = self.coarsening.classes.get(attribute) or Classes.whole(self.coarsening.fine[attribute].size)
                table = (table / classes.sizes).take(classes.labels(), axis=-1)
            else:
                table = self.coarsening.over_levels(table, attribute, variables)
            axes += variables
        return np.ascontiguousarray(table.transpose([axes.index(name) for name in clique]))


def _codes(query: Conjunction, names: Clique) -> dict[str, Iterable[int]]:
    return {name: codes for name, codes in zip(query.scope, query.codes, strict=True) if name in names}


def _weighted(table: Floats, weights: Sequence[Floats]) -> Floats:
    """Sums of the cells times the product of weights along the axes, one for each row of weights."""
    if not weights:
        return np.asarray(table.reshape(1), dtype=np.float64)
    rows = max(1, _CHUNK_CELLS // max(1, table.size // table.shape[0]))
    total = np.empty(len(weights[0]))
    for first in range(0, len(total), rows):
        chunk = slice(first, first + rows)
        sums = np.tensordot(weights[0][chunk], table, axes=1)
        for weight in weights[1:]:
            sums = np.einsum("qi,qi...->q...", weight[chunk], sums)
        total[chunk] = sums
    return total
