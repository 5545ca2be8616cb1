"""Random domains, cliques, queries and updates."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hedgerow.arrays import Ints
from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Parity


def domain_of(*sizes: int) -> Domain:
    return Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes))


domains = st.one_of(
    st.lists(st.integers(2, 5), min_size=1, max_size=5).map(lambda sizes: domain_of(*sizes)),
    st.lists(st.just(2), min_size=1, max_size=12).map(lambda sizes: domain_of(*sizes)),
    st.sampled_from([domain_of(1500), domain_of(3, 1100, 2), domain_of(40, 2, 30, 3), domain_of(2, 3, 70, 50)]),
)


def _level(name: str, sources: Clique, codes: Ints, *, column: bool = False) -> Derived:
    """Sometimes with a last code that no record has."""
    spare = int(codes.sum()) % 2
    return Derived(IntegerRange(name, 0, max(1, int(codes.max()) + spare)), sources, codes, column=column)


@st.composite
def leveled_domains(draw: st.DrawFn, largest: int = 5, longest: int = 5) -> Domain:
    """Domains with chains of levels, levels that are not nested, functions of two attributes, and constraints.

    At least one record breaks no constraint.

    Args:
        draw: The source of choices.
        largest: Most codes of an attribute, apart from one of 18 values that may be there, with a default level.
        longest: Most attributes.
    """
    sizes = draw(st.lists(st.integers(2, largest), min_size=2, max_size=longest))
    if draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = 18
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    plain = domain_of(*sizes)
    derived = []
    for name, size in zip(plain.names, sizes, strict=True):
        codes = rng.integers(0, max(2, size // 2 + 1), size) if size < 18 else np.arange(18) // 3
        if size > 2 and rng.random() < 0.6:
            derived.append(_level(f"{name}.fine", (name,), codes))
            if rng.random() < 0.5:
                derived.append(_level(f"{name}.coarse", (name,), rng.integers(0, 2, int(codes.max()) + 1)[codes]))
            if rng.random() < 0.3:
                derived.append(_level(f"{name}.other", (name,), rng.integers(0, 3, size)))
    if rng.random() < 0.5:
        pair = plain.clique(rng.choice(plain.names, 2, replace=False).tolist())
        both = rng.integers(0, 3, plain.shape_of(pair))
        derived.append(_level("both", pair, both, column=bool(rng.integers(2))))
    record = [int(rng.integers(size)) for size in sizes]
    rules = [_rule(plain, record, rng, f"rule {i}") for i in range(draw(st.integers(0, 3)))]
    return Domain(plain.attributes, derived, rules)


def _rule(domain: Domain, record: list[int], rng: np.random.Generator, text: str) -> Constraint:
    """A random constraint that a record keeps."""
    scope = domain.clique(rng.choice(domain.names, min(len(domain), int(rng.integers(1, 4))), replace=False).tolist())
    classes = [np.unique(rng.integers(0, 3, size), return_inverse=True)[1] for size in domain.shape_of(scope)]
    allowed = rng.random([int(each.max()) + 1 for each in classes]) < 0.7
    allowed[tuple(each[record[domain.index(name)]] for name, each in zip(scope, classes, strict=True))] = True
    return Constraint(text, scope, classes, allowed)


@st.composite
def leveled_cliques(draw: st.DrawFn, domain: Domain) -> Clique:
    """Up to three variables of which none determines another."""
    names = [*domain.names, *(each.name for each in domain.derived)]
    return domain.reduced(draw(st.sets(st.sampled_from(names), max_size=3)))


@st.composite
def leveled_queries(draw: st.DrawFn, domain: Domain) -> LinearQuery:
    """Conditions and queries given value by value, over attributes, levels and other derived attributes."""
    clique = draw(leveled_cliques(domain))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    if draw(st.booleans()):
        return Explicit.of(domain, clique, rng.uniform(-2, 3, domain.shape_of(clique)))
    return draw(leveled_conjunctions(domain))


@st.composite
def leveled_conjunctions(draw: st.DrawFn, domain: Domain) -> Conjunction:
    """Conditions on variables of which none determines another."""
    clique = draw(leveled_cliques(domain))
    codes = [draw(st.sets(st.integers(0, size - 1), max_size=4)) for size in domain.shape_of(clique)]
    return Conjunction.where(domain, dict(zip(clique, codes, strict=True)))


@st.composite
def cliques(draw: st.DrawFn, domain: Domain) -> Clique:
    return domain.clique(draw(st.sets(st.sampled_from(domain.names), max_size=3)))


@st.composite
def conjunctions(draw: st.DrawFn, domain: Domain) -> Conjunction:
    names = draw(st.sets(st.sampled_from(domain.names), max_size=len(domain)))
    codes = {}
    for name in sorted(names):
        size = domain[name].size
        low = draw(st.integers(0, size - 1))
        runs = st.integers(low, size - 1).map(lambda high, low=low: list(range(low, high + 1)))
        sets = st.lists(st.integers(0, size - 1), max_size=4)
        codes[name] = draw(st.one_of(st.just([low]), runs, sets))
    return Conjunction.where(domain, codes)


@st.composite
def queries(draw: st.DrawFn, domain: Domain) -> LinearQuery:
    kind = draw(st.sampled_from(["conjunction", "conjunction", "parity", "explicit"]))
    binary = [attribute.name for attribute in domain if attribute.size == 2]
    if kind == "parity" and binary:
        return Parity(domain, domain.clique(draw(st.sets(st.sampled_from(binary), min_size=1, max_size=4))))
    if kind == "explicit":
        clique = draw(cliques(domain))
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        return Explicit.of(domain, clique, rng.uniform(-2, 3, domain.shape_of(clique)))
    return draw(conjunctions(domain))
