"""Records from trees with levels, functions of two attributes, and cells that no record can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange, summed
from hedgerow.errors import ImpossibleRowError
from hedgerow.models import JunctionTree, SamplingMethod
from hedgerow.models.trees import sampling
from tests.reference.feasible_model import FeasibleModel

METHODS = [SamplingMethod.SYSTEMATIC, SamplingMethod.INDEPENDENT]
DOMAIN = Domain(
    (IntegerRange("sex", 0, 1), IntegerRange("age", 0, 9), IntegerRange("job", 0, 3)),
    (
        Derived(IntegerRange("group", 0, 4), ("age",), [0, 2, 0, 1, 1, 1, 3, 1, 2, 2]),  # no record has code 4
        Derived(IntegerRange("stage", 0, 1), ("age",), [0, 1, 0, 0, 0, 0, 1, 0, 1, 1]),
        Derived(IntegerRange("both", 0, 2), ("sex", "job"), [[0, 1, 1, 2], [2, 0, 1, 0]]),
    ),
    (
        Constraint(
            "children have no job", ("age", "job"), [[0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1]], [[1, 0], [1, 1]]
        ),
    ),
)
"""Ages of one grain are not of one group."""


@dataclass
class Part:
    """What drawing needs of a part, with exact marginals."""

    tree: JunctionTree
    tables: list[Floats]

    def sums(self, i: int, names: Clique) -> Floats:
        return summed(self.tree.domain, self.tables[i], self.tree.stored[i], names)

    def logs(self, i: int) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.tables[i])


def part_of(model: FeasibleModel, *cliques: Clique) -> Any:
    """A chain of cliques."""
    tree = JunctionTree(model.domain, cliques, tuple((i, i + 1) for i in range(len(cliques) - 1)))
    tables = [model.marginal(clique) for clique in tree.stored]
    return Part(tree, [table / table.max() for table in tables])


def model_of(*scopes: Clique, seed: int = 0, domain: Domain = DOMAIN) -> FeasibleModel:
    rng = np.random.default_rng(seed)
    model = FeasibleModel(domain, 1.0)
    for scope in scopes:
        model.reweigh(scope, rng.normal(0.0, 1.0, domain.shape_of(scope)))
    return model


FREE = Domain(DOMAIN.attributes, DOMAIN.declared)
BACKWARDS = Domain(DOMAIN.attributes, DOMAIN.declared[::-1])
CASES = {
    "level first": (model_of(("sex", "group"), ("age",), domain=FREE), [("sex", "group"), ("age", "group")]),
    "attribute first": (model_of(("sex", "group"), ("age",), domain=FREE), [("age", "group"), ("sex", "group")]),
    "two levels": (
        model_of(("sex", "stage"), ("age",), ("job", "group"), domain=FREE),
        [("sex", "stage"), ("job", "group", "stage"), ("age", "group", "stage")],
    ),
    "a level alone": (model_of(("sex", "group"), domain=FREE), [("sex", "group")]),
    "levels alone": (
        model_of(("sex", "stage"), ("job", "group"), domain=FREE),
        [("job", "group", "stage"), ("sex", "stage")],
    ),
    "coarser levels first": (
        model_of(("sex", "stage"), ("job", "group"), domain=BACKWARDS),
        [("sex", "stage"), ("job", "stage", "group")],
    ),
    "a function of two": (model_of(("both", "age"), domain=FREE), [("sex", "job", "both"), ("age", "both")]),
    "a function of two first": (model_of(("both", "age"), domain=FREE), [("age", "both"), ("sex", "job", "both")]),
    "a constraint": (
        model_of(("sex", "group"), ("age",)),
        [("sex", "group"), ("age", "group", "age/classes"), ("age/classes", "job/classes")],
    ),
    "a constraint first": (
        model_of(("sex", "group"), ("age",), ("job",)),
        [("job", "job/classes"), ("age/classes", "job/classes"), ("age", "group", "age/classes"), ("sex", "group")],
    ),
}


def records_of(case: str, n: int, seed: int, method: SamplingMethod) -> np.ndarray:
    model, cliques = CASES[case]
    draw = np.random.default_rng(seed)
    blocks = sampling.sample_trees([part_of(model, *cliques)], model.domain, n, draw, method)
    return np.concatenate(list(blocks)).astype(np.int64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_records_follow_the_hypothesis(case: str, method: SamplingMethod) -> None:
    """Pearson's statistic over at most 80 cells, 100,000 records: above 165 with probability 1e-7 if independent."""
    model, _ = CASES[case]
    codes = records_of(case, 100_000, 1, method)
    flat = np.ravel_multi_index(tuple(codes.T), model.domain.shape)
    found = np.bincount(flat, minlength=model.domain.size)
    law = np.zeros(model.domain.size)
    law[np.ravel_multi_index(tuple(model.records.T), model.domain.shape)] = 100_000 * model.masses
    assert found[law == 0.0].sum() == 0
    assert float(((found - law)[law > 0] ** 2 / law[law > 0]).sum()) < 165.0
    assert not (np.diff(flat) >= 0).all()


@pytest.mark.parametrize("case", CASES)
def test_counts_are_within_one_of_their_expectation_given_those_before(case: str) -> None:
    """Each step given the one before it, and attributes that no clique holds given their level."""
    model, cliques = CASES[case]
    domain = model.domain
    found = FeasibleModel(domain, 1.0)
    codes = records_of(case, 5003, 2, SamplingMethod.SYSTEMATIC)
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T), domain.shape), minlength=domain.size)
    with np.errstate(divide="ignore"):
        found.logs = np.log(counts[np.ravel_multi_index(tuple(found.records.T), domain.shape)].astype(np.float64))
    found.total = 5003.0
    held = {name for clique in cliques for name in clique}
    pairs = zip(cliques, [(), *cliques[:-1]], strict=True)
    steps = [(domain.reduced(each), domain.reduced({*each} & {*last})) for each, last in pairs]
    finest = {"age": "group", "job": "job/classes"}
    for name in domain.names:
        if name not in held:
            steps.append(((name,), (finest[name],) if finest.get(name) in held else ()))
    for stored, given in steps:
        cells, groups = FeasibleModel(domain, 1.0).cells_of(stored), FeasibleModel(domain, 1.0).cells_of(given)
        group_of = np.zeros(int(np.prod(domain.shape_of(stored))), dtype=np.int64)
        group_of[cells] = groups
        law, sums = model.marginal(stored).reshape(-1), model.marginal(given).reshape(-1)
        share = np.divide(law, sums[group_of], out=np.zeros_like(law), where=sums[group_of] > 0)
        expected = found.marginal(given).reshape(-1)[group_of] * share
        assert np.abs(found.marginal(stored).reshape(-1) - expected).max() < 1.0 + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_groups_next_to_impossible_keep_their_conditional(method: SamplingMethod) -> None:
    """A group of probability 1e-300 is forced on the records; its law is not lost, and its zeros stay."""
    domain = Domain(
        (IntegerRange("a", 0, 1), IntegerRange("b", 0, 3)), (Derived(IntegerRange("c", 0, 1), ("b",), [0, 0, 1, 1]),)
    )
    tree = JunctionTree(domain, (("a",), ("a", "b")), ((0, 1),))
    logs = np.array([[0.0, 0.0, 0.0, 0.0], [-np.inf, -2000.0, -2000.0 + np.log(2.0), -np.inf]])
    part: Any = Part(tree, [np.array([0.0, 1.0]), np.exp(logs)])
    part.logs = lambda i: logs
    (codes,) = sampling.sample_trees([part], domain, 300, np.random.default_rng(0), method)
    counts = np.bincount(codes[:, 1], minlength=4)
    assert counts[[0, 3]].sum() == 0
    assert abs(counts[2] - 200) <= (0 if method is SamplingMethod.SYSTEMATIC else 50)


def test_ten_thousand_codes_given_five_hundred() -> None:
    """Cells are passed over, not groups times cells: 100,000 records in a second or two, once all is compiled."""
    codes = np.arange(10_000) // 20
    domain = Domain(
        (IntegerRange("code", 0, 9999), IntegerRange("x", 0, 9)),
        (Derived(IntegerRange("group", 0, 499), ("code",), codes),),
    )
    rng = np.random.default_rng(0)
    fine, pair = rng.random(10_000), rng.random((10, 500))
    tree = JunctionTree(domain, (("x", "group"), ("code", "group")), ((0, 1),))
    coarse = np.bincount(codes, fine)
    fine *= (pair.sum(axis=0) / coarse)[codes]
    part: Any = Part(tree, [pair, fine])
    steps = sampling.conditionals([part], domain)
    assert [len(each) for each in steps[1].runs] == [10_000, 501]
    (drawn,) = [np.concatenate(list(sampling.sample_trees([part], domain, 100_000, rng, METHODS[0])))]
    assert (np.abs(np.bincount(codes[drawn[:, 0]], minlength=500) - 100_000 * pair.sum(axis=0) / pair.sum()) < 10).all()


@pytest.mark.many(quick=20)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "names", [("sex",), ("age",), ("job",), ("group",), ("stage",), ("sex", "age"), ("group", "job")]
)
@pytest.mark.parametrize("case", CASES)
def test_rows_are_completed_by_the_conditional_of_the_tree(case: str, names: Clique, method: SamplingMethod) -> None:
    """Three rows, 2,000 records each: Pearson's statistic over at most 40 cells above 115 with probability 1e-8."""
    model, cliques = CASES[case]
    domain = model.domain
    complete = sampling.completing([part_of(model, *cliques)], domain, names)
    draw = np.random.default_rng(3)
    rows = draw.choice(len(model.records), 3, replace=False)
    columns = {name: np.repeat(model.column(name)[rows], 2000).astype(np.int64) for name in names}
    found = complete(dict(columns), 6000, draw, method)
    flat = np.ravel_multi_index([found[name] for name in domain.names], domain.shape)
    for place, row in enumerate(rows):
        agree = np.all([model.column(name) == model.column(name)[row] for name in names], axis=0)
        law = np.zeros(domain.size)
        law[np.ravel_multi_index(tuple(model.records.T), domain.shape)] = 2000 * model.masses * agree
        law *= 2000 / law.sum()
        counts = np.bincount(flat[2000 * place : 2000 * (place + 1)], minlength=domain.size)
        assert counts[law == 0.0].sum() == 0
        assert float(((counts - law)[law > 0] ** 2 / law[law > 0]).sum()) < 115.0


def test_a_row_of_tiny_probability_is_completed_and_an_impossible_one_refused() -> None:
    """What follows from the last clique alone reaches the first."""
    model = model_of(("sex", "group"), ("age",), ("job",))
    model.reweigh(("job",), np.array([0.0, 0.0, 0.0, -3000.0]))
    part = part_of(model, *CASES["a constraint first"][1])
    steps = [("job", "job/classes"), ("age/classes", "job/classes"), ("age", "group", "age/classes"), ("sex", "group")]
    logs = []
    for clique in map(model.domain.reduced, steps):
        cells = FeasibleModel(model.domain, 1.0).cells_of(clique)
        table = np.full(int(np.prod(model.domain.shape_of(clique))), -np.inf)
        np.logaddexp.at(table, cells, model.logs)
        logs.append(table.reshape(model.domain.shape_of(clique)))
    part.logs = logs.__getitem__
    complete = sampling.completing([part], model.domain, ("age", "job"))
    found = complete({"age": np.array([5, 9]), "job": np.array([3, 3])}, 2, np.random.default_rng(0), METHODS[1])
    assert found["job"].tolist() == [3, 3]
    with pytest.raises(ImpossibleRowError) as caught:
        complete({"age": np.array([5, 1, 0]), "job": np.array([3, 1, 0])}, 3, np.random.default_rng(0), METHODS[1])
    assert caught.value.row == 2
