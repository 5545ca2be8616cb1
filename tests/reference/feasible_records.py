"""Every record that can exist, listed; and random domains with levels and constraints to try this on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange


def random_domain(rng: np.random.Generator, sizes: Sequence[int], levels: int = 3, constraints: int = 2) -> Domain:
    """Attributes with random levels, a function of two of them, and random constraints."""
    attributes = [IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes)]
    declared = []
    for number in range(levels):
        source = attributes[number % len(attributes)]
        codes = rng.integers(0, max(2, source.size // 2), source.size)
        declared.append(Derived(IntegerRange(f"{source.name}.{number}", 0, source.size), (source.name,), codes))
    pair = attributes[0], attributes[-1]
    codes = rng.integers(0, 3, [each.size for each in pair])
    declared.append(Derived(IntegerRange("both", 0, 2), [each.name for each in pair], codes))
    rules = []
    for number in range(constraints):
        scope = sorted(rng.choice(len(sizes), size=min(2, len(sizes)), replace=False).tolist())
        classes = [rng.integers(0, 2, sizes[axis]) for axis in scope]
        allowed = rng.random([int(each.max()) + 1 for each in classes]) < 0.7
        allowed.reshape(-1)[0] = True
        if not allowed[np.ix_(*map(np.unique, classes))].any():
            continue
        rule = Constraint(f"rule {number}", [f"x{axis}" for axis in scope], classes, allowed)
        rules += [rule] if all(len(set(each.tolist())) > 1 for each in rule.classes) else []
    return Domain(attributes, declared, rules)


def records(domain: Domain) -> Ints:
    """All that break no constraint, shape ``(attributes, records)``."""
    every = np.array(list(itertools.product(*(range(size) for size in domain.shape)))).T
    kept = np.ones(every.shape[1], dtype=bool)
    for each in domain.constraints:
        kept &= each.holds([every[domain.index(name)] for name in each.scope])
    return every[:, kept]


def cells(domain: Domain, clique: Clique) -> Ints:
    """The cell of a marginal that each of these records is in."""
    every = records(domain)
    codes = []
    for name in clique:
        function = domain.function(name)
        sources = [every[domain.index(each)] for each in domain.base([name])]
        codes.append(sources[0] if function is None else function.codes[tuple(sources)])
    return np.asarray(np.ravel_multi_index(tuple(codes), domain.shape_of(clique)))


def design(domain: Domain, clique: Clique) -> Floats:
    """A row for each cell of a marginal, a column for each record: 1 where the record is in the cell."""
    places = cells(domain, clique)
    found = np.zeros((int(np.prod(domain.shape_of(clique))), len(places)))
    found[places, np.arange(len(places))] = 1.0
    return found
