"""The short text of a workload: reading, writing, and errors that say where and what."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from hedgerow.domain import Binned, Categorical, Domain, IntegerRange, did_you_mean
from hedgerow.errors import QueryError
from hedgerow.queries import (
    Boxes,
    Cells,
    ExplicitMatrix,
    Marginals,
    Parities,
    Workload,
    correlated_columns,
    summed_columns,
    workload_from_dict,
    workload_to_dict,
)
from tests.queries.strategies import workloads

DOMAIN = Domain(
    (
        Categorical("sex", ("F", "M")),
        IntegerRange("age", 17, 90),
        Binned("hours", (0, 20, 40, 100)),
        Categorical("marital-status", ("a;b", "c + cells:1", "d, e")),
        IntegerRange('say "so"', 0, 1),
        IntegerRange("7", 0, 1),
    )
)


def has_text(workload: Workload) -> bool:
    return all(not isinstance(f, ExplicitMatrix) and (not isinstance(f, Boxes) or f.origin) for f in workload.families)


@given(workloads() | workloads(levels=True))
def test_the_text_reads_back(workload: Workload) -> None:
    if has_text(workload):
        assert Workload.parse(workload.spec, workload.domain) == workload
    else:
        with pytest.raises(QueryError):
            Workload.parse(workload.spec, workload.domain)


@given(workloads() | workloads(levels=True))
def test_a_stored_workload_is_the_same(workload: Workload) -> None:
    values, arrays = workload_to_dict(workload)
    through_json = json.loads(json.dumps(values))
    assert workload_from_dict(through_json, {**arrays, "another": np.zeros(1)}, workload.domain) == workload


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("marginals:2", "marginals:2"),
        ("means:hours by sex*7, age", 'marginals:sex*hours*"7",age'),
        ("sums:age; moments:hours,age", "marginals:age; marginals:hours,age"),
        ("correlations:hours, age, 7", 'marginals:age*hours,hours*"7",age*"7"'),
        ("regression: hours ~ age + sex", "marginals:age*hours,sex*hours,sex*age"),
        ("regression: hours ~ age + marital-status @ 2", None),
        ("regression: hours ~ age * sex + cells:1", "marginals:sex*age*hours; cells:1"),
        ("logistic: sex ~ `7` + I(hours * 7)", 'marginals:sex*hours*"7"'),
        ("logistic: sex ~ age + hours", "marginals:sex*age*hours"),
        (" marginals : 2 ", "marginals:2"),
        ("marginals:age*sex,hours", "marginals:sex*age,hours"),
        ('marginals:sex,age,hours,marital-status,"say ""so""",7*sex', None),
        ("marginals:7*sex", 'marginals:sex*"7"'),
        ('marginals:"7"', 'marginals:"7"'),
        ('cells:1 @ 0.5; parities:sex*"7",sex', 'cells:1 @ 0.5; parities:sex*"7",sex'),
        ("prefixes:age + cells:2 @ 2e0", "prefixes:age; cells:2 @ 2.0"),
        ("ranges:hours", "ranges:hours"),
        ("ranges:hours,age:20", "ranges:age,hours:20:0"),
        ("ranges:hours , age : 20 : 9 @ 3", "ranges:age,hours:20:9 @ 3.0"),
        ("where: sex = 'F' and age < 20", "where: sex = 'F' and age between 17 and 19"),
        (
            "where: marital-status in ('a;b', 'c + cells:1'), age in (17, 18) @ 2; cells:1",
            "where: \"marital-status\" in ('a;b', 'c + cells:1'), age between 17 and 18 @ 2.0; cells:1",
        ),
        ("where:\n true", "where: true"),
    ],
)
def test_texts(text: str, spec: str | None) -> None:
    workload = Workload.parse(text, DOMAIN)
    assert spec is None or workload.spec == spec
    assert Workload.parse(workload.spec, DOMAIN) == workload


def test_families_of_each_text() -> None:
    workload = Workload.parse("marginals:2; cells:2; parities:sex; prefixes:age; where: true", DOMAIN)
    kinds = [type(family) for family in workload.families]
    assert kinds[:4] == [Marginals, Cells, Parities, Boxes]
    assert [family.whole for family in workload.families] == [True, False, False, False, False]


@pytest.mark.parametrize("text", ["parities:2", "marginals:3", "cells:1", "parities:b,a", "marginals:a*b,a*c"])
def test_what_is_all_of_an_order_is_written_as_its_order(text: str) -> None:
    domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
    assert Workload.parse(text, domain).spec == text


WIDE = Domain(IntegerRange(name, 1, size) for name, size in zip("abcdef", (2, 3, 4, 5, 6, 50), strict=True))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("marginals:2<=299", "marginals:2<=250"),  # the roundest bound that allows the same marginals
        ("cells: 2 <= 100 @ 0.5; marginals:1", "cells:2<=100 @ 0.5; marginals:1"),
        ("marginals:3<=110", "marginals:3<=100"),  # the largest has 90 cells, the next 120
        ("marginals:2<=300", "marginals:2"),  # all of them
        ("marginals:2<=8", "marginals:a*b,a*c"),  # few are written by name
    ],
)
def test_marginals_of_at_most_so_many_cells(text: str, spec: str) -> None:
    workload = Workload.parse(text, WIDE)
    assert workload.spec == spec
    assert Workload.parse(spec, WIDE) == workload


def test_only_small_marginals_of_an_order() -> None:
    workload = Workload.marginals(WIDE, 3, largest=60)
    shapes = [int(np.prod(WIDE.shape_of(scope))) for scope in workload.families[0].scopes]
    assert shapes == [24, 30, 36, 40, 48, 60, 60]
    assert workload == Workload.parse("marginals:3<=60", WIDE)
    with pytest.raises(QueryError, match="needs an order"):
        Workload.marginals(WIDE, cliques=[("a",)], largest=60)


@pytest.mark.parametrize("target", WIDE.names)
def test_tables_of_a_target_are_pairs_triples_and_small_tables(target: str) -> None:
    others = [name for name in WIDE.names if name != target]
    wanted = {frozenset((target, *clique)) for order in (1, 2) for clique in combinations(others, order)}
    for order in (3, 4, 5):
        larger = (frozenset((target, *clique)) for clique in combinations(others, order))
        wanted |= {clique for clique in larger if np.prod(WIDE.shape_of(tuple(clique))) <= 64}
    found = Workload.parse(f"target:{target}", WIDE)
    assert {frozenset(scope) for scope in found.families[0].scopes} == wanted
    assert found.spec == f"target:{target}"
    assert Workload.parse(found.spec, WIDE) == found


@pytest.mark.parametrize(("n", "order"), [(7, 5), (13, 5), (15, 4), (88, 2), (90, 1)])
def test_orders_of_a_target_are_whole_and_its_tables_few(n: int, order: int) -> None:
    bits = Domain(IntegerRange(f"b{place}", 0, 1) for place in range(n + 1))
    found = Workload.parse("target:b3", bits).n_candidates
    assert found == sum(math.comb(n, each) for each in range(1, order + 1)) <= 4_000


def test_a_name_that_reads_like_a_bound_stands_in_quotes() -> None:
    domain = Domain((IntegerRange("2<=9", 0, 1), IntegerRange("b", 0, 1)))
    workload = Workload.marginals(domain, cliques=[("2<=9",)])
    assert workload.spec == 'marginals:"2<=9"'
    assert Workload.parse(workload.spec, domain) == workload
    assert Workload.parse("marginals:2<=9", domain) == Workload.marginals(domain, 2)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("", "at the end: a family of queries is expected", "for example 'marginals:2'"),
        ("marginals:2;", "at the end: a family of queries is expected", "for example"),
        ("; marginals:2", "character 1: a family", "for example"),
        ("marginal:2", "character 1: 'marginal' is not a family", "did you mean 'marginals'?"),
        ("cells:1; foo:2", "character 10: 'foo' is not a family", "logistic:, cells:, parities:"),
        ("means:age by", "at the end: an attribute is expected", "by sex*race"),
        ("means:age bye sex", "character 11: 'by' is expected, not 'bye'", "by sex*race"),
        ("means:sex by age", "character 7: 'sex' has no numbers", "numeric"),
        ("sums:hours, age by age*sex", "character 13: 'age' by its own values", "other columns"),
        ("moments:age for sex", "character 13: 'by' is expected, not 'for'", "'moments:income by sex"),
        ("correlations:age, hours by sex", "character 25: ',' is expected, not 'by'", "'correlations:age"),
        ("correlations:age", "character 14: a correlation is of two columns", "'correlations:age"),
        ("regression: hours", "character 12: the formula 'hours' is not understood", "a tilde"),
        ("target:sex, age", "character 8: a target is one attribute", "'target:income; target:race'"),
        ("target:sexx", "character 8: there is no attribute 'sexx'", "did you mean 'sex'?"),
        ("marginals:1; logistic: sex ~ ag", "character 23: the formula 'sex ~ ag' names 'ag'", "did you mean 'age'?"),
        ("cells:1 + foo:2", "character 9: '+' is not expected", "for example 'cells:2'"),
        ("marginals", "at the end: ':' is missing", "'marginals:2'"),
        ("marginals:", "at the end: an attribute is expected", "'marginals:2'"),
        ("marginals:9", "character 11: there are no marginals of 9 attributes", "from 1 to 6"),
        ("cells:1<=1", "character 7: every marginal of 1 attribute has more than 1 cells", "the smallest has 2"),
        ("cells:9<=5", "character 7: there are no marginals of 9 attributes", "from 1 to 6"),
        ("marginals:2<=", "character 11: there is no attribute '2<='", "there is"),
        ("parities:2<=9", "character 10: there is no attribute '2<=9'", "there is"),
        ("marginals:0", "character 11: there are no marginals of 0 attributes", "from 1 to 6"),
        ("marginals:sex*", "at the end: an attribute is expected", "'marginals:2'"),
        ("marginals:sex*aeg", "character 15: there is no attribute 'aeg'", "did you mean 'age'?"),
        ("marginals:zzzzz", "character 11: there is no attribute 'zzzzz'", "there is: 'sex', 'age'"),
        ("marginals:sex**age", "character 15: an attribute is expected, not '*'", "'marginals:2'"),
        ("marginals:sex age", "character 15: '*' or ',' is expected, not 'age'", "'marginals:2'"),
        ("marginals:sex*sex", "character 15: attribute 'sex' is there twice", "once"),
        ("marginals:sex,sex", "character 11: the clique sex is there twice", "once"),
        ('marginals:"sex', "character 11: '\"' is not expected", "'marginals:2'"),
        ("parities:1", "character 10: a parity needs attributes with 2 codes; 'age' has 74", "marginals or cells"),
        ("prefixes:age*sex", "character 13: ',' is expected, not '*'", "'prefixes:age'"),
        ("prefixes:age,sex", "character 10: prefixes are of one attribute", "prefixes:hours"),
        ("ranges:age:x", "character 12: a whole number is expected", "'ranges:age'"),
        ("ranges:age:", "at the end: a whole number is expected", "'ranges:age'"),
        ("ranges:age:1:2:3", "character 15: at most a count and a seed", "seed 7"),
        ("ranges:age:1 2", "character 14: '2' is not expected", "'ranges:age'"),
        ("ranges:age:0", "character 8: 0 ranges", "1 to 1,000,000"),
        ("where:", "at the end: a condition is expected", "where: sex"),
        ("where: true,", "at the end: a condition is expected", "where: sex"),
        ("where: age = 17, ag = 3", "character 18: there is no attribute 'ag'", "did you mean 'age'?"),
        ("where: age < 20 or sex = 'F'", "joins conditions on several attributes", "one by one"),
        ("cells:1 @ 0", "weights", "positive"),
        ("cells:1 @ x", "character 9: '@' is not expected", "'cells:2'"),
        ("cells:1 @ 1.2.3", "character 9: '@' is not expected", "'cells:2'"),
    ],
)
def test_errors_name_the_place_and_what_is_allowed(text: str, message: str, remedy: str) -> None:
    with pytest.raises(QueryError) as caught:
        Workload.parse(text, DOMAIN)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"families": []},
        {"families": [{"kind": "text", "text": "cells:1"}]},
        {"families": [{"kind": "text", "text": "cells:1; cells:2", "weight": 1}]},
        {"families": [{"kind": "text", "text": "cells:99", "weight": 1}]},
        {"families": [{"kind": "new", "weight": 1}]},
        {"families": [{"kind": "boxes", "clique": ["age"], "arrays": "gone", "weight": 1}]},
        {"families": [{"kind": "explicit", "scope": ["nowhere"], "names": [], "arrays": "gone", "weight": 1}]},
        {"families": [{"kind": "text", "text": 3, "weight": 1}]},
        {"families": ["cells:1"]},
        {"families": 3},
    ],
)
def test_what_is_no_stored_workload_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(QueryError):
        workload_from_dict(values, {}, DOMAIN)


def test_of_very_long_lists_what_begins_alike_is_compared() -> None:
    names = [f"{'ab'[i % 2]}{i:05d}" for i in range(10_000)]
    assert did_you_mean("a0000x", names).startswith("did you mean 'a0")
    assert did_you_mean("09999", names).startswith("there is: ")  # 'b09999' is near, and begins otherwise


def test_long_lists_of_names_are_cut() -> None:
    assert did_you_mean("zzz", [f"name {i}" for i in range(30)]).endswith("'name 11' and 18 more")


def test_ranges_are_offered_for_attributes_of_very_many_values() -> None:
    visits = Domain((IntegerRange("address", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
    with pytest.raises(QueryError) as caught:
        Workload.parse("marginals:2", visits)
    assert "'ranges:address:2000:0'" in str(caught.value.remedy)
    assert Workload.parse("ranges:address:2000:0", visits).n_queries == 2000


@pytest.mark.parametrize(
    ("formula", "summed", "pairs"),
    [
        ("age ~ hours + sex", [("age", ["sex"]), ("hours", ["sex"])], [("age", "hours")]),
        ("sex ~ age", [("age", ["sex"])], []),
        ("age ~ hours", [("age", []), ("hours", [])], [("age", "hours")]),
        ("age ~ C(sex) + `7`", [("age", ["sex"]), ("7", ["sex"])], [("age", "7")]),
        ("age ~ C(hours)", [], []),
        ("age ~ hours * sex", [("age", ["sex"]), ("hours", ["sex"])], [("age", "hours")]),
        ("age ~ hours:C(sex)", [("age", []), ("hours", ["sex"])], []),
        ("age ~ sex * np.log(hours)", [], []),
        ("age ~ np.log(hours)", [], []),
    ],
)
def test_a_regression_asks_for_sums_where_its_terms_are_numbers_and_labels(
    formula: str, summed: list[tuple[str, list[str]]], pairs: list[tuple[str, str]]
) -> None:
    text = f"marginals:1; regression: {formula} @ 2"
    assert summed_columns(text, DOMAIN) == summed
    assert correlated_columns(text, DOMAIN) == pairs
