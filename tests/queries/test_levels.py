"""Queries over levels and other derived attributes: scopes, conditions, parts of marginals, all mixes of levels."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import (
    Categorical,
    CodeSet,
    Condition,
    Constraint,
    Derived,
    Domain,
    IntegerRange,
    Join,
    Leaf,
    Negation,
    Truth,
)
from hedgerow.errors import QueryError
from hedgerow.queries import (
    Conjunction,
    Explicit,
    LinearQuery,
    Marginal,
    Measurement,
    NoiseKind,
    Parity,
    Workload,
    canonical,
    parse_json_predicate,
    query_key,
)
from hedgerow.queries.conditions.predicate import query_of
from hedgerow.queries.families.marginal import with_levels
from tests.queries.strategies import conjunctions, leveled_domains, scopes
from tests.reference import evaluator
from tests.reference.dense_tables import DenseTables, codes_of

TABLE = [[0, 1], [0, 0], [1, 1], [1, 0]]
SHOP = Domain(
    (Categorical("item", ("tea", "jam", "pen", "ink")), IntegerRange("sold", 0, 1), IntegerRange("age", 0, 99)),
    (
        Derived(Categorical("item.kind", ("food", "office")), ("item",), [0, 0, 1, 1]),
        Derived(Categorical("gift", ("no", "yes")), ("item", "sold"), TABLE),
    ),
)
RULED = Domain(
    (IntegerRange("age", 0, 9), IntegerRange("work", 0, 1)),
    (),
    (Constraint("children at work", ("age", "work"), [[0] * 3 + [1] * 7, [0, 1]], [[1, 0], [1, 1]]),),
)


# ---- scopes ----------------------------------------------------------------------------------------------------------


@given(st.data())
def test_scopes_are_reduced_and_answers_are_the_same(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    names = data.draw(st.lists(st.sampled_from(domain.all_names), min_size=1, unique=True))
    tables = DenseTables.random(domain, 200, data.draw(st.integers(0, 9)))
    clique = domain.clique(names)
    values = np.random.default_rng(0).normal(size=domain.shape_of(clique))
    query = Explicit.of(domain, names, values)
    assert query.scope == Marginal(domain, tuple(names)).scope == domain.reduced(names)
    rounded = np.round(values * 2.0**20) / 2.0**20
    expected = sum(rounded[codes_of(r, clique, domain)] * tables.cells[r] for r in evaluator.every_record(domain))
    assert query.on(tables)[0] == pytest.approx(expected, abs=1e-9)
    family = Workload.explicit(domain, names, [values.reshape(-1), -values.reshape(-1)])
    np.testing.assert_allclose(family.answers(tables), [expected, -expected], atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Marginal(RULED, ("age/classes",)),
        lambda: Conjunction.where(RULED, {"age/classes": [0]}),
        lambda: Conjunction(RULED, ("age/classes",), (CodeSet.of([0]),)),
        lambda: Explicit.of(RULED, ["age", "age/classes"], np.zeros((10, 2))),
        lambda: Parity(RULED, ("age/classes",)),
        lambda: Workload.parse("marginals:age/classes*work", RULED),
        lambda: Workload.parse("prefixes:age/classes", RULED),
        lambda: Workload.parse('where: "age/classes" = 0', RULED),
        lambda: Workload.parities(RULED, cliques=[("work", "age/classes")]),
    ],
)
def test_classes_of_constraints_are_in_no_scope(make) -> None:  # type: ignore[no-untyped-def]
    assert "age/classes" in RULED
    with pytest.raises(QueryError):
        make()


@pytest.mark.parametrize(
    "make", [lambda name: Parity(SHOP, (name,)), lambda name: Workload.parse(f"parities:{name}", SHOP)]
)
def test_derived_attributes_have_no_parities(make) -> None:  # type: ignore[no-untyped-def]
    make("sold")
    with pytest.raises(QueryError, match=r"'item\.kind' is derived"):
        make("item.kind")


def test_a_box_names_no_attribute_with_its_level() -> None:
    assert Workload.parse("prefixes:age.10", SHOP).n_queries == 10
    with pytest.raises(QueryError, match=r"age, age\.10 names one that the others determine"):
        Workload.ranges(SHOP, ["age", "age.10"])


def test_a_finer_table_covers_its_levels() -> None:
    workload = Workload.parse("marginals:sold*age.10,item", SHOP)
    assert all(map(workload.covers, [["age.10"], ["item.kind"], ["sold", "age.10"], ["item", "item.kind"]]))
    assert not any(map(workload.covers, [["age"], ["gift"], ["item.kind", "sold"]]))


# ---- conditions ------------------------------------------------------------------------------------------------------


@given(st.data())
def test_a_conjunction_of_levels_holds_where_all_of_it_does(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    names = data.draw(st.lists(st.sampled_from(domain.all_names), unique=True))
    codes = {name: data.draw(st.sets(st.integers(0, domain[name].size - 1))) for name in names}
    together = any(
        name not in (scope := domain.reduced(names)) and all(domain.lookup(each, name) is None for each in scope)
        for name in names
    )
    if together:
        with pytest.raises(QueryError, match="only together"):
            Conjunction.where(domain, codes)
        return
    query = Conjunction.where(domain, codes)
    assert query.scope == domain.reduced(names)
    for record in evaluator.every_record(domain):
        expected = all(code in codes[name] for name, code in zip(names, codes_of(record, names, domain), strict=True))
        assert evaluator.holds(record, query) == expected


def test_a_code_that_does_not_exist_is_refused_on_a_level_too() -> None:
    with pytest.raises(QueryError, match="codes 0 to 9"):
        Conjunction.where(SHOP, {"age": range(10), "age.10": [10]})


@st.composite
def conditions(draw: st.DrawFn, domain: Domain, depth: int = 3) -> Condition:
    kind = draw(st.sampled_from(["leaf", "not", "and", "or"])) if depth else "leaf"
    if kind == "leaf":
        name = draw(st.sampled_from(domain.all_names))
        codes = draw(st.lists(st.sampled_from([True, False, None]), min_size=(n := domain[name].size), max_size=n))
        yes, no = (CodeSet.where([code is truth for code in codes]) for truth in (True, False))
        return Leaf(name, Truth(yes, no), f"{name} is so")
    if kind == "not":
        return Negation(draw(conditions(domain, depth - 1)))
    parts = draw(st.lists(conditions(domain, depth - 1), max_size=3))
    return Join("and" if kind == "and" else "or", tuple(parts))


def truth(condition: Condition, record: tuple[int, ...], domain: Domain) -> bool | None:
    """Three-valued truth, by its tables; None is unknown."""
    if isinstance(condition, Leaf):
        (code,) = codes_of(record, (condition.name,), domain)
        return True if code in condition.truth.yes else False if code in condition.truth.no else None
    if isinstance(condition, Negation):
        inner = truth(condition.part, record, domain)
        return None if inner is None else not inner
    found = [truth(part, record, domain) for part in condition.parts]
    decisive = condition.word == "or"
    return decisive if decisive in found else None if None in found else not decisive


def value(query: LinearQuery, record: tuple[int, ...], domain: Domain) -> float:
    return float(query.values()[codes_of(record, query.scope, domain)])


@given(st.data())
def test_conditions_on_any_attributes_hold_where_three_valued_logic_says(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    condition = data.draw(conditions(domain))
    query = query_of(condition, domain)
    assert query.scope == domain.reduced(query.scope)
    for record in evaluator.every_record(domain):
        assert value(query, record, domain) == (truth(condition, record, domain) is True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\"item.kind\" = 'food'", "\"item.kind\" = 'food'"),
        ("\"item.kind\" = 'food' and item <> 'jam'", "item = 'tea'"),
        ("\"item.kind\" = 'food' or item = 'pen'", "item in ('tea', 'jam', 'pen')"),
        ('"age.10" between 20 and 39 and "age.10" >= 30 and sold = 1', 'sold = 1 and "age.10" between 30 and 39'),
        ("\"age.10\" in ('[20, 30)', '[90, 99]')", "\"age.10\" in ('[20, 30)', '[90, 99]')"),
        ("gift = 'yes'", "gift = 'yes'"),
    ],
)
def test_conditions_are_written_with_the_names_of_levels(text: str, found: str) -> None:
    workload = Workload.parse(f"where: {text}", SHOP)
    assert workload.spec == f"where: {found}"
    assert Workload.parse(workload.spec, SHOP) == workload


def test_what_attributes_determine_together_is_a_query_of_its_own() -> None:
    leaves = [Leaf(name, Truth(CodeSet.of([1]), CodeSet.of([0])), name) for name in ("gift", "sold")]
    item = Leaf("item", Truth(CodeSet.of([0, 2]), CodeSet.of([1, 3])), "item")
    query = query_of(Join("and", (*leaves, item)), SHOP)
    assert isinstance(query, Explicit)
    assert query.scope == ("item", "sold")
    assert query.values().tolist() == [[0, 1], [0, 0], [0, 1], [0, 0]]


@given(st.data())
def test_canonical_queries_have_the_same_values(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    query = query_of(data.draw(conditions(domain)), domain)
    plain = canonical(query)
    assert set(plain.scope) <= set(query.scope) | {domain.names[0]}
    for record in evaluator.every_record(domain):
        assert value(plain, record, domain) == value(query, record, domain)
    assert query_key(canonical(plain)) == query_key(plain)


def test_json_conditions_are_on_levels_too() -> None:
    sent = {"and": [{"attribute": "age.10", "op": ">=", "value": 20}, {"attribute": "item.kind", "in": ["food"]}]}
    assert parse_json_predicate(sent, SHOP).text == '"item.kind" = \'food\' and "age.10" between 20 and 99'
    with pytest.raises(QueryError, match=r"did you mean 'age\.10'"):
        parse_json_predicate({"attribute": "age.11", "op": "=", "value": 20}, SHOP)
    with pytest.raises(QueryError, match="cuts the bin"):
        parse_json_predicate({"attribute": "age.10", "op": "<", "value": 25}, SHOP)


# ---- every mix of levels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spec", "cliques"),
    [
        ("marginals:1 @levels", "marginals:1 @levels", ["item", "item.kind", "sold", "age", "age.10"]),
        ("marginals:sold*age @levels", "marginals:sold*age @levels", ["sold*age", "sold*age.10"]),
        ("marginals:age.10*sold", "marginals:sold*age.10", ["sold*age.10"]),
        ("marginals:item.kind*sold @ levels @ 2", "marginals:sold*item.kind @ 2.0", ["sold*item.kind"]),
        ("marginals:gift*sold @levels", "marginals:sold*gift", ["sold*gift"]),
        ("cells:sold @levels", "cells:sold", ["sold"]),
        (
            "marginals:2<=40 @levels",
            None,
            ["item*sold", "sold*item.kind", "item*age.10", "item.kind*age.10", "sold*age.10"],
        ),
    ],
)
def test_texts_name_mixes_of_levels(text: str, spec: str | None, cliques: list[str]) -> None:
    workload = Workload.parse(text, SHOP)
    assert ["*".join(scope) for scope in workload.scopes] == cliques
    assert workload.spec == spec or spec is None
    assert Workload.parse(workload.spec, SHOP) == workload


@given(st.data())
def test_each_clique_comes_with_every_mix(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    order = data.draw(st.integers(1, len(domain)))
    grains = [
        [name, *(each.name for each in domain.derived if each.sources == (name,) and not each.column)]
        for name in domain.names
    ]
    expected = [domain.clique(mix) for chosen in combinations(grains, order) for mix in product(*chosen)]
    workload = Workload.marginals(domain, order, levels=True)
    assert list(workload.scopes) == expected
    assert Workload.parse(workload.spec, domain) == workload
    assert tuple(with_levels(domain, combinations(domain.names, order))) == workload.scopes
    largest = data.draw(st.sampled_from(workload.lengths.tolist()))
    small = Workload.marginals(domain, order, levels=True, largest=largest)
    assert list(small.scopes) == [scope for scope in expected if np.prod(domain.shape_of(scope)) <= largest]
    assert Workload.parse(small.spec, domain) == small


def test_many_small_tables_have_a_short_text() -> None:
    domain = Domain(IntegerRange(name, 0, 999) for name in "abcd")
    workload = Workload.parse("marginals:2<=3000 @levels", domain)
    assert workload.spec == "marginals:2<=1000 @levels"
    assert 8 < workload.n_candidates < Workload.parse("marginals:2 @levels", domain).n_candidates
    assert Workload.parse(workload.spec, domain) == workload


@pytest.mark.parametrize(
    "text", ["prefixes:age @levels", "parities:1 @levels", "marginals:2 @level", "marginals:@levels"]
)
def test_only_tables_come_at_levels(text: str) -> None:
    with pytest.raises(QueryError):
        Workload.parse(text, SHOP)


@pytest.mark.parametrize(
    "text", ["marginals:6 @levels", "marginals:6<=1000000000000 @levels", "cells:8", "cells:8<=100"]
)
def test_too_many_tables_are_counted_before_they_are_listed(text: str) -> None:
    sizes = [4095, 1] if "levels" in text else [1]
    domain = Domain(IntegerRange(f"a{number}", 0, sizes[number % len(sizes)]) for number in range(80))
    listed = "every marginal of 8 attributes has more" if text.endswith("<=100") else r"marginals of [68] attributes"
    with pytest.raises(QueryError, match=listed):
        Workload.parse(text, domain)


@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize("largest", [4, 9, 40, 200, 1999])
def test_small_tables_are_those_of_all_that_are_small(largest: int, levels: bool) -> None:
    domain = Domain(IntegerRange(f"a{number}", 1, size) for number, size in enumerate((2, 60, 3, 5, 2, 300, 4)))
    every = Workload.marginals(domain, 3, levels=levels).scopes
    small = tuple(scope for scope in every if math.prod(domain.shape_of(scope)) <= largest)
    if small:
        assert Workload.marginals(domain, 3, largest=largest, levels=levels).scopes == small
    else:
        with pytest.raises(QueryError, match="the smallest has 12"):
            Workload.marginals(domain, 3, largest=largest, levels=levels)


# ---- parts of marginals ----------------------------------------------------------------------------------------------


@given(st.data())
def test_a_part_of_a_marginal_holds_the_cells_where_its_condition_does(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    scope = data.draw(scopes(domain))[0]
    within = data.draw(conjunctions(domain))
    told = all(any(domain.lookup(each, name) is not None for each in scope) for name in within.scope)
    cells = {codes_of(r, scope, domain) for r in evaluator.every_record(domain) if evaluator.holds(r, within)}
    if not told:
        with pytest.raises(QueryError, match="do not tell where"):
            Marginal(domain, scope, within)
        return
    if not cells:
        return  # refused, unless codes that no record has are left
    part = Marginal(domain, scope, within)
    tables = DenseTables.random(domain, 300, 0)
    answer = part.on(tables)
    assert part.size == len(answer) == np.prod(part.shape)
    table = part.to_table(answer)
    (whole,) = tables.marginals([scope])
    kept = np.zeros(whole.shape, dtype=bool)
    kept[tuple(zip(*cells, strict=True))] = True
    np.testing.assert_array_equal(table, np.where(kept, whole, 0.0))
    np.testing.assert_array_equal(part.of_table(table), answer)
    noisy = Measurement(part, answer + 0.5, NoiseKind.LAPLACE, 2.0)
    np.testing.assert_array_equal([one.values[0] for one in noisy.parts], noisy.values)
    if noisy.parts != (noisy,):
        np.testing.assert_array_equal([float(one.target.on(tables)[0]) for one in noisy.parts], answer)
        assert {one.scale for one in noisy.parts} == {2.0}
        assert noisy.parts is noisy.parts


def test_a_part_says_where_it_is() -> None:
    part = Marginal(SHOP, ("age", "sold"), Conjunction.where(SHOP, {"age.10": [2], "sold": [1]}))
    assert part.text == 'sold * age where sold = 1 and "age.10" between 20 and 29'
    assert part.size == 10
    whole = Measurement(Marginal(SHOP, ("age",)), np.zeros(100), NoiseKind.LAPLACE, 1.0)
    assert whole.parts == (whole,)


def test_a_part_without_cells_is_refused() -> None:
    within = Conjunction.where(SHOP, {"item": [], "age.10": [1]})
    with pytest.raises(QueryError, match="no cell of"):
        Marginal(SHOP, ("item", "age"), within)
    with pytest.raises(QueryError, match="another domain"):
        Marginal(RULED, ("age",), Conjunction.where(SHOP, {"age.10": [1]}))
