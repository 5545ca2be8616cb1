"""Small random domains of all kinds of attributes, with levels or without, and workloads over them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from hedgerow.domain import Attribute, Binned, Categorical, Derived, Domain, IntegerRange
from hedgerow.queries import (
    Boxes,
    Cells,
    Conjunction,
    Conjunctions,
    ExplicitMatrix,
    Family,
    Marginals,
    Parities,
    Workload,
)

NAMES = ("sex", "marital-status", "hours per week", "order", "x1")


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    missing, other = draw(st.sampled_from([None, "?"])), draw(st.sampled_from([None, "other"]))
    size = draw(st.integers(2, 4))
    kind = draw(st.sampled_from(["binary", "text", "number", "range", "binned", "whole"]))
    if kind == "binary":
        return Categorical(name, ("no", "yes"))
    if kind == "text":
        return Categorical(name, ["it's", "b", 'say "c"', "d,e"][:size], missing=missing, other=other)
    if kind == "number":
        return Categorical(name, [1, 2.5, 7, 10][:size], missing=missing, other=other)
    if kind == "range":
        low = draw(st.integers(-3, 20))
        return IntegerRange(name, low, low + size - 1, missing=missing, other=other)
    if kind == "binned":
        return Binned(name, [-1, 0.1, 0.25, 2, 30][: size + 1], missing=missing, other=other)
    return Binned(name, [0, 1, 5, 20, 30][: size + 1], whole=True, missing=missing, other=other)


@st.composite
def domains(draw: st.DrawFn, most: int = 4) -> Domain:
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, most))]
    return Domain(draw(attributes(name)) for name in names)


@st.composite
def leveled_domains(draw: st.DrawFn, most: int = 3) -> Domain:
    """A domain with levels of its attributes, nested or not, and with a derived attribute of two of them."""
    plain = draw(domains(most))
    declared = []
    for number in range(draw(st.integers(1, 3))):
        source = draw(st.sampled_from(plain.attributes))
        codes = draw(st.lists(st.integers(0, 2), min_size=source.size, max_size=source.size))
        name = f"{source.name}.{number}"
        level = draw(st.sampled_from([Categorical(name, ("x", "y", "z")), IntegerRange(name, 5, 7), _bins(name)]))
        declared.append(Derived(level, (source.name,), codes))
    if len(plain) > 1 and draw(st.booleans()):
        sources = plain.clique(draw(st.permutations(plain.names))[:2])
        shape = plain.shape_of(sources)
        codes = draw(st.lists(st.integers(0, 1), min_size=math.prod(shape), max_size=math.prod(shape)))
        both = Categorical("both of them", ("no", "yes"))
        declared.append(Derived(both, sources, np.reshape(codes, shape), column=draw(st.booleans())))
    return Domain(plain.attributes, declared)


def _bins(name: str) -> Binned:
    return Binned(name, [0, 2, 5, 9], whole=True)


def scopes(domain: Domain) -> st.SearchStrategy[list[tuple[str, ...]]]:
    """Cliques of attributes and derived ones, different once they are reduced."""
    return cliques(domain.all_names).map(lambda found: list(dict.fromkeys(map(domain.reduced, found))))


@st.composite
def cliques(draw: st.DrawFn, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    everything = [clique for k in range(1, len(names) + 1) for clique in combinations(names, k)]
    return draw(st.lists(st.sampled_from(everything), min_size=1, max_size=5, unique=True))


@st.composite
def conjunctions(draw: st.DrawFn, domain: Domain) -> Conjunction:
    scope = domain.reduced(draw(st.lists(st.sampled_from(domain.all_names), unique=True)))
    return Conjunction.where(
        domain, {name: draw(st.sets(st.integers(0, domain[name].size - 1), min_size=0)) for name in scope}
    )


@st.composite
def boxes(draw: st.DrawFn, domain: Domain) -> Boxes:
    kind = draw(st.sampled_from(["prefixes", "all", "drawn", "by hand"]))
    if kind == "prefixes":
        return Boxes.prefixes(domain, draw(st.sampled_from(domain.all_names)))
    seed, (clique, *_) = draw(st.integers(0, 99)), draw(scopes(domain))
    if kind == "by hand":
        sizes = [domain[name].ordinary for name in clique]
        ends = np.sort(np.random.default_rng(seed).integers(0, sizes, size=(2, 5, len(sizes))), axis=0)
        return Boxes(domain, clique, ends[0], ends[1])
    return Boxes.ranges(domain, clique, 3 if kind == "drawn" else None, seed)


@st.composite
def explicit(draw: st.DrawFn, domain: Domain) -> ExplicitMatrix:
    seed, (scope, *_) = draw(st.integers(0, 99)), draw(scopes(domain))
    cells = int(np.prod(domain.shape_of(scope)))
    return ExplicitMatrix(domain, scope, np.random.default_rng(seed).normal(size=(3, cells)))


def families(domain: Domain) -> st.SearchStrategy[Family]:
    binary = tuple(name for name in domain.names if domain[name].size == 2)
    kinds: list[st.SearchStrategy[Family]] = [
        scopes(domain).map(lambda found: Marginals(domain, found)),
        scopes(domain).map(lambda found: Cells(domain, found)),
        st.lists(conjunctions(domain), min_size=1, max_size=4).map(lambda found: Conjunctions(domain, found)),
        boxes(domain),
        explicit(domain),
    ]
    return st.one_of(*kinds, *([cliques(binary).map(lambda found: Parities(domain, found))] if binary else []))


@st.composite
def workloads(draw: st.DrawFn, most: int = 4, *, levels: bool = False) -> Workload:
    domain = draw(leveled_domains(most - 1) if levels else domains(most))
    chosen = draw(st.lists(families(domain), min_size=1, max_size=3))
    return Workload(chosen, [draw(st.sampled_from([1.0, 0.5, 3.0])) for _ in chosen])
