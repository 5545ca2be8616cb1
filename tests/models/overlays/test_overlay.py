"""The model: which questions tables answer and which the tree, and what stays as it is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError, QueryError
from hedgerow.models import Footprint, JunctionTree, Markov, Model, Overlay, ResidualBasis, over_tables
from hedgerow.queries import AnswersParities, Conjunction, Marginal, Parity, Tables, Workload
from tests.models.strategies import domain_of

DOMAIN = domain_of(2, 3, 2, 2)
PAIRS = [("x0", "x1"), ("x1", "x2"), ("x0", "x2")]


def overlay(seed: int = 0) -> Overlay:
    """Random tables near the uniform ones, over a tree that says something else."""
    rng = np.random.default_rng(seed)
    parts = ResidualBasis(DOMAIN, PAIRS)
    coefficients = rng.uniform(-0.03, 0.03, parts.size)
    coefficients[0] = 1.0
    tree = Markov(DOMAIN, 50.0)
    tree.reweigh(("x2", "x3"), np.array([[1.0, 0.0], [0.5, -1.0]]))
    return Overlay(tree, parts, coefficients)


def test_tables_answer_what_lies_in_one_and_the_tree_the_rest() -> None:
    model = overlay()
    cliques = [("x0", "x1"), ("x2", "x3"), ("x2",), ("x3",), (), ("x0", "x1", "x2"), ("x0", "x2")]
    found = dict(zip(cliques, model.marginals(cliques), strict=True))
    for clique in cliques:
        inside = any(set(clique) <= set(pair) for pair in PAIRS)
        assert model.parts.holds(clique) == inside
        held = model.parts.tables([clique], 50.0 * model.coefficients) if inside else model.tree.marginals([clique])
        np.testing.assert_allclose(found[clique], held[0], atol=1e-12)
    assert found["x0", "x1"].min() >= 0.0


def test_conditions_and_parities_follow_the_same_rule() -> None:
    model = overlay(1)
    asked = [{"x0": [1], "x1": [0, 2]}, {"x2": [0], "x3": [1]}, {}, {"x1": [1]}, {"x0": [0], "x1": [1], "x2": [1]}]
    queries = [Conjunction.where(DOMAIN, each) for each in asked]
    expected = [float(query.of_table(model.marginals([query.scope])[0])[0]) for query in queries]
    np.testing.assert_allclose(model.conjunctions(queries), expected, atol=1e-10)
    sets: list[Clique] = [("x0", "x2"), ("x2", "x3"), ("x0",), ("x0", "x2", "x3"), ()]
    signed = [float(Parity(DOMAIN, each).of_table(model.marginals([each])[0])[0]) if each else 50.0 for each in sets]
    np.testing.assert_allclose(model.parities(sets), signed, atol=1e-10)
    with pytest.raises(QueryError):
        model.parities([("x1",)])
    assert isinstance(model, AnswersParities | Tables)


def test_records_meet_conditions_and_complete_rows() -> None:
    model = overlay(2)
    condition = Conjunction.where(DOMAIN, {"x3": [1]})
    assert (model.sample(30, seed=1, given=condition)[:, 3] == 1).all()
    rows = {"x0": np.array([0, 1, 1])}
    assert model.sample(2, seed=3, given=rows)[:, 0].tolist() == [0, 0, 1, 1, 1, 1]


def test_it_takes_no_updates() -> None:
    model = overlay()
    for change in (
        lambda: model.update(Conjunction.where(DOMAIN, {"x0": [1]}), 0.5),
        lambda: model.reweigh(("x0",), np.zeros(2)),
        model.reset,
    ):
        with pytest.raises(ConfigError, match="no updates"):
            change()


def test_a_copy_and_a_new_total() -> None:
    model = overlay(3)
    twin: Model = model.copy()
    twin.rescale(100.0)
    for clique in (("x0", "x1"), ("x2", "x3")):
        np.testing.assert_allclose(twin.marginals([clique])[0], 2.0 * model.marginals([clique])[0])
    assert (model.total, model.tree.total, twin.total) == (50.0, 50.0, 100.0)


def test_coefficients_must_fit() -> None:
    model = overlay()
    for wrong in (model.coefficients[1:], 2.0 * model.coefficients):
        with pytest.raises(ConfigError):
            Overlay(model.tree, model.parts, wrong)
    with pytest.raises(ConfigError):
        Overlay(model.tree, ResidualBasis(domain_of(2, 3, 2, 3), PAIRS), model.coefficients)


def _pairs(columns: int) -> tuple[Domain, list[Marginal]]:
    domain = domain_of(*[2] * columns)
    return domain, [Marginal(domain, pair) for pair in combinations(domain.names, 2)]


def test_tables_are_taken_where_no_tree_of_the_size_holds_what_was_measured() -> None:
    domain, pairs = _pairs(40)
    line = [pair for pair in pairs if int(pair.scope[1][1:]) - int(pair.scope[0][1:]) == 1]
    assert over_tables(domain, pairs)
    assert not over_tables(domain, line)
    assert [over_tables(domain, line, largest_tree=cells) for cells in (4 * 39 - 1, 4 * 39)] == [True, False]
    assert not over_tables(*_pairs(20))  # all cells are held
    wide = Conjunction.where(domain, {name: [1] for name in domain.names[:20]})
    assert not over_tables(domain, [*pairs, wide])  # the tree would have to learn it
    assert not over_tables(domain, [wide])


def test_what_a_tree_holds_already_stays_there() -> None:
    domain, pairs = _pairs(30)
    grown = [JunctionTree.of(domain, [pair.scope]) for pair in pairs[:1]]
    assert not over_tables(domain, pairs[:1], largest_tree=1, trees=grown)


def test_the_footprint_is_public_and_says_what_is_held() -> None:
    domain, _ = _pairs(69)
    found = Footprint.of_fit(Workload.marginals(domain, 2))
    assert found.table_cells == 4 * 2346
    assert found.required_bytes < 2**24
    found.check()
    assert "consistent tables of 9,384 cells over junction trees" in found.words
    few = Workload.marginals(domain, cliques=[("x0", "x1")])
    assert Footprint.of_fit(few) == Footprint.of_workload(few)
    parities = Footprint.of_fit(Workload.parities(domain, 2))
    assert parities == found


def test_the_work_of_answers_is_shared() -> None:
    model = overlay(4)
    workload = Workload.marginals(DOMAIN, 2)
    answers: Floats = workload.answers(model)
    parts = [table.reshape(-1) for table in model.marginals(workload.scopes)]
    np.testing.assert_allclose(answers, np.concatenate(parts))
