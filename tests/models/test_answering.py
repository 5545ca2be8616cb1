"""Kept tables against the model itself, on random domains, scopes and conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.domain import CodeSet, Domain, IntegerRange
from hedgerow.models import Answering, Histogram
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Parity
from tests.examples import examples
from tests.models.strategies import leveled_domains, leveled_queries
from tests.reference.feasible_model import FeasibleModel

SIZES = (2, 7, 2, 30, 5)
DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcde", SIZES, strict=True))


def model(seed: int = 0) -> Histogram:
    return Histogram(DOMAIN, 5_000.0, base=np.random.default_rng(seed).random(DOMAIN.shape) ** 3)


def conditions(count: int, seed: int) -> list[Conjunction]:
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        names = generator.permutation(list(DOMAIN.names))[: generator.integers(0, 6)]
        codes = {name: np.flatnonzero(generator.random(DOMAIN[name].size) < generator.random()) for name in names}
        made.append(Conjunction.where(DOMAIN, codes))
    return made


def by_definition(tables: Histogram, query: LinearQuery) -> float:
    return float(query.of_table(tables.marginals([query.scope])[0])[0])


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10_000), kept=st.sampled_from([0, 100, 1 << 22]))
def test_answers_are_those_of_the_model(seed: int, kept: int) -> None:
    """By corners of summed-area tables and by the model; one by one and together."""
    reference, queries = model(seed), conditions(30, seed)
    expected = [by_definition(reference, query) for query in queries]
    answering = Answering(model(seed), kept_cells=kept)
    assert [answering.value(query) for query in queries] == pytest.approx(expected, abs=1e-8)
    assert answering.values(queries) == pytest.approx(expected, abs=1e-8)
    assert Answering(model(seed), kept_cells=kept).values(queries) == pytest.approx(expected, abs=1e-8)


def test_other_linear_queries_are_answered_from_the_same_tables() -> None:
    answering, reference = Answering(model()), model()
    values = np.random.default_rng(1).random((7, 5))
    queries = [Parity(DOMAIN, ("a", "c")), Explicit.of(DOMAIN, ["b", "e"], values), Conjunction(DOMAIN, (), ())]
    expected = [by_definition(reference, query) for query in queries]
    assert [answering.value(query) for query in queries] == pytest.approx(expected)
    assert answering.values(queries) == pytest.approx(expected)
    assert answering.values([]).shape == (0,)


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), leveled_domains(), st.sampled_from([0, 20, 1 << 22]))
def test_answers_over_levels_are_those_of_the_reference(data: st.DataObject, domain: Domain, kept: int) -> None:
    hypothesis, reference = Histogram(domain, 30.0), FeasibleModel(domain, 30.0)
    for query in data.draw(st.lists(leveled_queries(domain), max_size=2)):
        hypothesis.update(query, 0.7)
        reference.update(query, 0.7)
    asked = data.draw(st.lists(leveled_queries(domain), min_size=1, max_size=5))
    expected = [reference.answer(query) for query in asked]
    assert Answering(hypothesis, kept_cells=kept).values(asked) == pytest.approx(expected, abs=1e-10)
    answering = Answering(hypothesis, kept_cells=kept)
    assert [answering.value(query) for query in asked] == pytest.approx(expected, abs=1e-10)


def test_another_state_of_the_model_gives_other_answers() -> None:
    answering = Answering(model(0))
    query = Conjunction.where(DOMAIN, {"b": [1, 2], "d": range(10)})
    first = answering.value(query)
    changed = model(0)
    changed.update(query, math.log(2.0))
    answering.replace(changed)
    assert answering.value(query) == pytest.approx(by_definition(changed, query))
    assert answering.value(query) > first
    assert answering.model is changed


class Counting:
    """A model that counts how often it is asked for tables."""

    def __init__(self, inner: Histogram) -> None:
        self.inner = inner
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def marginals(self, cliques):  # type: ignore[no-untyped-def]
        self.asked.append(len(cliques))
        return self.inner.marginals(cliques)


def test_each_table_is_made_once() -> None:
    counting = Counting(model())
    answering = Answering(counting)  # type: ignore[arg-type]
    queries = [query for query in conditions(200, 2) if query.scope]
    answering.values(queries)
    answering.values(queries)
    for query in queries:
        answering.value(query)
    assert counting.asked == [len({query.scope for query in queries})]


def test_tables_that_do_not_fit_together_push_out_the_oldest() -> None:
    counting = Counting(model())
    answering = Answering(counting, kept_cells=40)  # type: ignore[arg-type]
    first, second = (Conjunction.where(DOMAIN, {name: [1]}) for name in ("d", "b"))
    third = Conjunction.where(DOMAIN, {"b": [1], "e": [0]})
    for query in (first, second, first, third, second, first):
        assert answering.value(query) == pytest.approx(by_definition(model(), query))
    assert len(counting.asked) == 5


def test_tables_that_do_not_fit_together_are_made_in_few_passes() -> None:
    counting = Counting(model())
    answering = Answering(counting, kept_cells=160)  # type: ignore[arg-type]
    queries = [Conjunction.where(DOMAIN, {name: [1], "e": [0]}) for name in "abcd"]
    assert answering.values(queries) == pytest.approx([by_definition(model(), query) for query in queries])
    assert counting.asked == [3, 1]


def test_parities_over_tables_that_are_not_kept() -> None:
    answering = Answering(model(), kept_cells=1)
    query = Parity(DOMAIN, ("a", "c"))
    assert answering.value(query) == pytest.approx(by_definition(model(), query))


def test_every_set_of_five_codes() -> None:
    values = np.arange(5.0) ** 2
    domain = Domain([IntegerRange("a", 0, 4)])
    answering = Answering(Histogram(domain, values.sum(), base=values))
    for bits in range(32):
        codes = [code for code in range(5) if bits >> code & 1]
        query = Conjunction(domain, ("a",), (CodeSet.of(codes),))
        assert answering.value(query) == pytest.approx(values[codes].sum(), abs=1e-12)
