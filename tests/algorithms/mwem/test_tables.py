"""The tables that a workload is answered from: which they are, what they are worth, and runs that choose among them."""

import math
from itertools import combinations, product

import numpy as np
import pytest

from hedgerow import MWEM, Domain, IntegerRange, Workload
from hedgerow.algorithms import candidates_of, closure, planned_rounds
from hedgerow.algorithms.mwem import opening
from hedgerow.algorithms.mwem.settings import first_rounds, is_annealed, tables_below
from hedgerow.algorithms.strategies.candidates import MOST_BELOW, QueryWeights, attributes_of, tables_of
from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import Neighbours
from tests.algorithms.shared.whole_runs import losses
from tests.privacy.tables import binary
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 3), IntegerRange("d", 0, 19)))
DATA = DenseTables.random(DOMAIN, 2000, seed=2)
TEXTS = {
    "pairs": "marginals:2",
    "cells": "cells:3<=30 @ 0.5",
    "mixed": "marginals:2; prefixes:d; where: a = 0 and c < 2, b = 1 and c = 0",
    "a condition on too many cells": "marginals:a*b; where: a = 0 and d < 3",
    "triples": "marginals:3 @ 3; marginals:1",
}


def weights_of(workload: Workload) -> dict[Clique, float]:
    """Weight of each table among some candidates."""
    found = zip(workload.families, workload.weights, strict=True)
    return {scope: weight for family, weight in found if family.whole for scope in family.scopes}


def wide(n: int) -> Domain:
    """So many binary attributes."""
    return Domain(IntegerRange(f"x{place}", 0, 1) for place in range(n))


def naive_worth(workload: Workload) -> dict[Clique, float]:
    """Query by query."""
    worth: dict[Clique, float] = {}
    for family, weight in zip(workload.families, workload.weights, strict=True):
        spread = np.broadcast_to(family.spread, family.n_candidates)
        for index in range(family.n_candidates):
            scope = family.candidate(index).scope
            worth[scope] = worth.get(scope, 0.0) + weight * (1.0 if family.whole else 1.0 / float(spread[index]))
    return worth


@pytest.mark.parametrize("name", ["pairs", "cells", "mixed", "triples"])
def test_the_worth_of_a_table_is_that_of_the_queries_read_off_it(name: str) -> None:
    workload = Workload.parse(TEXTS[name], DOMAIN)
    found, expected = QueryWeights(workload).tables, naive_worth(workload)
    assert found.keys() == expected.keys()
    assert [found[scope] for scope in expected] == pytest.approx(list(expected.values()), rel=1e-12)
    tables = tables_of(workload)
    assert tables is not None
    assert weights_of(tables) == {scope: pytest.approx(value, rel=0.05) for scope, value in expected.items()}


@pytest.mark.parametrize("name", ["pairs", "cells", "mixed", "triples"])
def test_candidates_are_all_tables_below_weighted_by_overlap(name: str) -> None:
    workload = Workload.parse(TEXTS[name], DOMAIN)
    worth, candidates = naive_worth(workload), closure(workload)
    assert candidates is not None
    below = {
        part for scope in worth for size in range(1, len(scope) + 1) for part in combinations(scope, size)
    }  # levels apart
    found = {scope: weight for scope, weight in weights_of(candidates).items() if set(scope) <= set(DOMAIN.names)}
    overlap = {
        each: sum(value * len(set(each) & set(scope)) for scope, value in worth.items() if len(scope) > 1)
        for each in below
    }
    assert found == {each: pytest.approx(value, rel=0.05) for each, value in overlap.items()}


@pytest.mark.parametrize("text", [*TEXTS.values(), "parities:x0*x1,x2*x3", "parities:x0*x1 @ 0.1; parities:x2*x3 @ 3"])
def test_no_weight_is_below_those_of_the_workload(text: str) -> None:
    workload = Workload.parse(text, wide(4) if "parities" in text else DOMAIN)
    for candidates in (closure(workload), tables_of(workload)):
        assert candidates is not None
        assert min(candidates.weights) >= min(workload.weights)


def test_equal_weights_are_one_family() -> None:
    candidates = closure(Workload.marginals(wide(12), 3))
    assert candidates is not None
    assert len(candidates.families) == 3


def test_a_query_on_many_cells_stays_a_query() -> None:
    workload = Workload.parse(TEXTS["a condition on too many cells"], DOMAIN)
    candidates = closure(workload)
    assert candidates is not None
    assert candidates.families[-1] is workload.families[-1]
    assert candidates.weights[-1] == 2.0
    assert ("a", "d") not in weights_of(candidates)


def test_a_query_on_a_table_that_is_asked_for_is_read_off_it() -> None:
    candidates = closure(Workload.parse("marginals:a*d; where: a = 0 and d < 3", DOMAIN))
    assert candidates is not None
    assert all(family.whole for family in candidates.families)


def test_single_queries_on_too_many_cells_have_no_tables() -> None:
    workload = Workload.parse("where: a = 0 and d < 3, c = 1 and d > 4", DOMAIN)
    assert closure(workload) is None
    assert tables_of(workload) is None
    assert candidates_of(MWEM(), workload) is workload
    assert not is_annealed(MWEM(), workload)


def test_of_very_many_tables_those_of_pairs_are_left() -> None:
    workload = Workload.marginals(wide(50), 3)
    assert workload.n_candidates > MOST_BELOW
    assert closure(workload) is None
    candidates = tables_below(workload)
    assert candidates is not None
    assert candidates.n_candidates == 50 + math.comb(50, 2)
    assert first_rounds(workload, annealed=True) == 200


def test_rounds_that_look_at_very_many_candidates_are_fewer() -> None:
    workload = Workload.marginals(wide(100), 2)
    assert 100 <= first_rounds(workload, annealed=True) < 400


def test_automatic_rounds_measure_cells_as_tables() -> None:
    workload = Workload.parse("cells:a*b*c", DOMAIN)
    assert planned_rounds(MWEM(), workload, PureDP(1.0), 0.95, 2000.0) == 1
    release = MWEM().run(DATA, workload, PureDP(1.0), noise=SeededNoise(0))
    assert [measured.target.text for measured in release.measurements] == ["a * b * c"]


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.02), ApproxDP(1.0, 1e-6)], ids=repr)
@pytest.mark.parametrize("name", TEXTS)
def test_every_automatic_run_spends_all_and_answers(name: str, budget: Budget) -> None:
    workload = Workload.parse(TEXTS[name], DOMAIN)
    release = MWEM().run(DATA, workload, budget, noise=SeededNoise(1))
    limit = release.budget.limit  # of an (epsilon, delta) that may be counted otherwise
    assert release.spent == pytest.approx(limit, rel=1e-6)
    assert release.spent <= limit * (1.0 + 1e-9)
    assert np.isfinite(workload.answers(release.model)).all()


@pytest.mark.parametrize("text", ["cells:a*b*c", "marginals:2; prefixes:d", "parities:2"])
def test_tables_serve_single_queries_better_than_these_do(text: str) -> None:
    domain = binary(6) if text.startswith("parities") else DOMAIN
    data = DenseTables.random(domain, 2000, seed=3)
    workload = Workload.parse(text, domain)
    exact = workload.answers(data)

    def error(config: MWEM) -> float:
        runs = (config.run(data, workload, ZCDP(0.05), noise=SeededNoise(seed)) for seed in range(3))
        return sum(float(np.abs(workload.answers(run.model) - exact).mean()) for run in runs)

    assert error(MWEM()) < error(MWEM(rounds=12))


# ---- wide tables -----------------------------------------------------------------------------------------------------


TRIPLES = Workload.marginals(DOMAIN, 3)


def widest(budget: Budget, total: float, workload: Workload = TRIPLES) -> int:
    return max(map(len, opening.annealed_candidates(MWEM(), workload, budget, budget.limit, total).scopes))


def test_wide_tables_are_left_out_where_they_are_noise_in_a_round() -> None:
    cells = float(np.mean([math.prod(DOMAIN.shape_of(scope)) for scope in TRIPLES.scopes]))
    for budget, power in ((PureDP(1.0), 1.0), (ZCDP(0.02), 0.5)):
        each = 0.9 * budget.limit / first_rounds(TRIPLES, annealed=True)
        one = 1.0 / each if power == 1.0 else math.sqrt(2.0 / math.pi) / math.sqrt(2.0 * each)
        enough = 0.5 * cells * one / 0.5  # the mean noise, as total variation distance, is a half
        assert widest(budget, 1.05 * enough) == 3
        assert widest(budget, 0.95 * enough) == 2


def test_pairs_and_their_levels_stay_and_so_do_boxes() -> None:
    few = opening.annealed_candidates(MWEM(), TRIPLES, ZCDP(1e-4), 1e-4, 2000.0)
    assert few == closure(TRIPLES, levels=True, widest=2)
    assert widest(ZCDP(1e-6), 2000.0, Workload.marginals(DOMAIN, 2)) == 2
    assert widest(ZCDP(1e-6), 2000.0, Workload.parse("ranges:a,b,c:9:0; marginals:2", DOMAIN)) == 3


@pytest.mark.parametrize(("rho", "most"), [(1e-4, 2), (10.0, 3)])
def test_annealed_runs_measure_wide_tables_where_the_budget_can_tell(rho: float, most: int) -> None:
    release = MWEM(rounds="annealed").run(DATA, TRIPLES, ZCDP(rho), noise=SeededNoise(3))
    assert max(len(measured.target.scope) for measured in release.measurements) == most
    assert release.spent == pytest.approx(rho, rel=1e-6)


# ---- the first looks -------------------------------------------------------------------------------------------------


def first_charges(workload: Workload, budget: Budget, left: float, each: float) -> Floats:
    return opening.first_charges(workload, budget, attributes_of(workload), left, each=each, total=2000.0)


@pytest.mark.parametrize(("budget", "power"), [(PureDP(1.0), 1.0), (ZCDP(0.02), 0.5)], ids=["pure", "zCDP"])
def test_no_other_division_of_the_first_charges_has_a_smaller_expected_error(budget: Budget, power: float) -> None:
    workload = Workload.parse("marginals:2; prefixes:d", DOMAIN)
    charges = first_charges(workload, budget, left=1.0, each=0.02)
    worth = QueryWeights(workload).alone(DOMAIN.names) * np.array(DOMAIN.shape)

    def error(shares: Floats) -> float:
        return float((worth / shares**power).sum())

    best, moves = error(charges), (0.9, 1.0, 1.1)
    for factors in product(moves, repeat=4):
        moved = charges * np.array(factors)
        assert error(moved * charges.sum() / moved.sum()) >= best * (1.0 - 1e-12)


def test_the_first_charges_grow_with_noise_up_to_a_share_of_what_is_left() -> None:
    workload = Workload.marginals(DOMAIN, 2)
    much, some, little = (
        float(first_charges(workload, ZCDP(100.0), left, left / 64.0).sum()) / left for left in (50.0, 0.05, 1e-4)
    )
    assert much == pytest.approx(4 / 64)
    assert much < some < little
    assert little == pytest.approx(opening._FIRST_MOST)


def test_ranges_alone_have_equal_first_charges() -> None:
    workload = Workload.parse("ranges:c,d:50:0", DOMAIN)
    assert first_charges(workload, ZCDP(1.0), 1.0, 0.1).tolist() == [0.1, 0.1]


# ---- privacy ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize(
    "text", ["marginals:2; where: a = 0 and b = 1 @ 0.5", "parities:2; cells:a @ 3", "marginals:3"]
)
def test_no_transcript_of_rounds_that_choose_among_tables_loses_more_than_epsilon(
    text: str, relation: Neighbours
) -> None:
    workload = Workload.parse(text, binary(3))
    for epsilon in (0.5, 4.0):
        config = MWEM(rounds="annealed")
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), range(1)))
        assert 0.1 * epsilon < worst <= epsilon + 1e-9
