"""Random domains, cliques, queries and updates."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.domain import Clique, Domain
from hedgerow.queries.core.query import Conjunction, Explicit, LinearQuery, Parity


def domain_of(*sizes: int) -> Domain:
    return Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes))


domains = st.one_of(
    st.lists(st.integers(2, 5), min_size=1, max_size=5).map(lambda sizes: domain_of(*sizes)),
    st.lists(st.just(2), min_size=1, max_size=12).map(lambda sizes: domain_of(*sizes)),
    st.sampled_from([domain_of(1500), domain_of(3, 1100, 2), domain_of(40, 2, 30, 3), domain_of(2, 3, 70, 50)]),
)


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
