"""Small random domains with levels, derived attributes and constraints, and conditions over all of these."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from hedgerow.domain import Attribute, Categorical, Constraint, Derived, Domain, IntegerRange
from tests.queries.strategies import domains


@st.composite
def rich_domains(draw: st.DrawFn, most: int = 4) -> Domain:
    """Some random functions of one or two attributes, and some random rules that leave at least one record."""
    plain = draw(domains(most))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    declared = [_function(plain, rng, number) for number in range(draw(st.integers(0, 3)))]
    kept = rng.integers(0, plain.shape)  # no rule forbids this record
    rules = [_rule(plain, rng, kept, number) for number in range(draw(st.integers(0, 3)))]
    bare = [name for name in plain.names if rng.random() < 0.2]
    return Domain(plain.attributes, declared, rules, bare)


def _scope(domain: Domain, rng: np.random.Generator) -> tuple[str, ...]:
    return domain.clique(
        rng.choice(domain.names, size=min(len(domain), int(rng.integers(1, 3))), replace=False).tolist()
    )


def _function(domain: Domain, rng: np.random.Generator, number: int) -> Derived:
    scope = _scope(domain, rng)
    name = f"{scope[0]}.f{number}" if rng.random() < 0.5 else f"f{number}"
    attribute: Attribute = (
        Categorical(name, ("u", "v", 3)[: rng.integers(2, 4)], missing="?" if rng.random() < 0.3 else None)
        if rng.random() < 0.7
        else IntegerRange(name, -1, 1)
    )
    codes = rng.integers(0, attribute.size, size=domain.shape_of(scope))
    return Derived(attribute, scope, codes, column=bool(rng.random() < 0.3))


def _rule(domain: Domain, rng: np.random.Generator, kept: np.ndarray, number: int) -> Constraint:
    scope = _scope(domain, rng)
    allowed = rng.random(domain.shape_of(scope)) < 0.6
    allowed[tuple(kept[list(domain.axes(scope))])] = True
    return Constraint(f"rule {number}", scope, [np.arange(size) for size in allowed.shape], allowed)


def records(domain: Domain) -> np.ndarray:
    """All records, shape ``(records, attributes)``."""
    return np.array(list(product(*map(range, domain.shape))))


def feasible(domain: Domain) -> np.ndarray:
    """Whether each record breaks no constraint."""
    rows = records(domain)
    held = [rule.holds([rows[:, domain.index(name)] for name in rule.scope]) for rule in domain.constraints]
    return np.logical_and.reduce([np.ones(len(rows), dtype=bool), *held])


Truth = bool | None


@st.composite
def conditions(draw: st.DrawFn, domain: Domain, depth: int = 2) -> tuple[str, list[Truth]]:
    """A condition in SQL, and its three-valued truth for each record."""
    kind = draw(st.sampled_from(["leaf", "not", "and", "or"])) if depth else "leaf"
    if kind == "leaf":
        return draw(_leaves(domain))
    if kind == "not":
        text, truth = draw(conditions(domain, depth - 1))
        return f"not ({text})", [None if each is None else not each for each in truth]
    parts = draw(st.lists(conditions(domain, depth - 1), min_size=2, max_size=3))
    text = f" {kind} ".join(f"({part})" for part, _ in parts)
    return text, [_joined(kind, each) for each in zip(*(truth for _, truth in parts), strict=True)]


def _joined(kind: str, truths: tuple[Truth, ...]) -> Truth:
    decisive = kind == "or"
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


@st.composite
def _leaves(draw: st.DrawFn, domain: Domain) -> tuple[str, list[Truth]]:
    name = draw(st.sampled_from(domain.all_names))
    attribute, function = domain[name], domain.function(name)
    chosen = draw(st.sets(st.integers(0, attribute.size - 1), min_size=1))
    labels = ", ".join("'" + attribute.label(code).replace("'", "''") + "'" for code in sorted(chosen))
    rows = records(domain)
    codes = (
        rows[:, domain.index(name)]
        if function is None
        else function.codes[tuple(rows[:, list(domain.axes(function.sources))].T)]
    )
    truth = [code in chosen or (None if code == attribute.missing_code else False) for code in codes.tolist()]
    quoted = '"' + name.replace('"', '""') + '"'
    return f"{quoted} in ({labels})", truth
