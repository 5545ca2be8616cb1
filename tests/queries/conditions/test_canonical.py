"""One form for all ways to write a query: equal values on all cells if and only if equal keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Parity, canonical, query_key
from tests.examples import examples

SIZES = {"a": 2, "b": 3, "c": 2}
DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in SIZES.items())


def everywhere(query: LinearQuery) -> Floats:
    """The query on every cell of the domain."""
    shape = [size if name in query.scope else 1 for name, size in SIZES.items()]
    return np.broadcast_to(query.values().reshape(shape), DOMAIN.shape) + 0.0


@st.composite
def queries(draw: st.DrawFn) -> LinearQuery:
    names = draw(st.lists(st.sampled_from(list(SIZES)), unique=True, max_size=3))
    kind = draw(st.sampled_from(["conjunction", "explicit", "zeros and ones", "parity"]))
    if kind == "conjunction":
        codes = {name: draw(st.sets(st.integers(0, SIZES[name] - 1))) for name in names}
        return Conjunction.where(DOMAIN, codes)
    if kind == "parity":
        return Parity(DOMAIN, tuple(name for name in names if name != "b"))
    cells = int(np.prod([SIZES[name] for name in names]))
    values = st.sampled_from([0.0, 1.0] if kind == "zeros and ones" else [-1.0, -0.0, 0.0, 0.5, 1.0])
    return Explicit.of(DOMAIN, names, draw(st.lists(values, min_size=cells, max_size=cells)))


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(one=queries(), other=queries())
def test_keys_are_equal_exactly_where_all_values_are(one: LinearQuery, other: LinearQuery) -> None:
    reduced = [canonical(query) for query in (one, other)]
    for query, short in zip((one, other), reduced, strict=True):
        assert np.array_equal(everywhere(query), everywhere(short))
        assert set(short.scope) <= set(query.scope) or not everywhere(query).any()
        if short.scope and everywhere(query).any():  # not a constant, which is never measured
            assert query.bounds[0] <= short.bounds[0] <= short.bounds[1] <= query.bounds[1]
        assert query_key(canonical(short)) == query_key(short)
    same_key = query_key(reduced[0]) == query_key(reduced[1])
    assert same_key == np.array_equal(everywhere(one), everywhere(other))


def test_nothing_is_left_of_attributes_that_do_not_matter() -> None:
    assert canonical(Explicit.of(DOMAIN, ["a", "b", "c"], np.ones(12))) == Conjunction(DOMAIN, (), ())
    assert canonical(Conjunction.where(DOMAIN, {"a": [0, 1], "b": [1], "c": [1, 0]})).scope == ("b",)
    never = canonical(Conjunction.where(DOMAIN, {"b": [], "c": [1]}))
    assert never == canonical(Explicit.of(DOMAIN, ["c"], [0, 0])) == Conjunction(DOMAIN, ("a",), ((),))


def test_large_parities_are_told_apart_by_their_attributes() -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(20))
    one, other = (query_key(Parity(wide, wide.names[start : start + 18])) for start in (0, 1))
    assert one != other
    assert one == query_key(Parity(wide, reversed(wide.names[:18])))  # type: ignore[arg-type]


class Single(LinearQuery):
    """A query class of somebody else: a value on one cell, 0 elsewhere."""

    def __init__(self, domain: Domain, scope: tuple[str, ...], cell: int, value: float) -> None:
        self.domain, self.scope, self._cell, self._value = domain, scope, cell, value

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def text(self) -> str:
        return "single"

    def values(self) -> Floats:
        table = np.zeros(self.domain.shape_of(self.scope))
        table.reshape(-1)[self._cell] = self._value
        return table


def test_other_classes_are_told_apart_by_all_their_values() -> None:
    """A session's cache would otherwise answer one of these with the other's answer."""
    wide = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(17))
    one, same, other = (Single(wide, wide.names, cell, 1.0) for cell in (3, 3, 4))
    assert query_key(canonical(one)) == query_key(canonical(same))
    assert query_key(canonical(one)) != query_key(canonical(other))


def test_a_constant_of_another_class_keeps_its_value() -> None:
    constant = canonical(Single(DOMAIN, (), 0, 0.5))
    assert float(constant.of_table(np.array(10.0))[0]) == 5.0


def test_a_caller_cannot_change_a_query_afterwards() -> None:
    values = np.array([0.25, 0.5])
    asked = Explicit(DOMAIN, ("a",), "mine", values, (0.0, 1.0))
    kept = canonical(asked)
    values[0] = 1.0
    assert kept.values().tolist() == [0.25, 0.5]
