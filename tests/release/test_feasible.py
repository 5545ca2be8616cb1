"""What measured tables allow together, beside closed forms, whole joint tables and the truth."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from hedgerow import MWEM, ZCDP, Domain, IntegerRange, SeededNoise, Table, Workload, parse_predicate
from hedgerow.arrays import Ints
from hedgerow.domain import impossible
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Marginal, Measurement, NoiseKind
from hedgerow.release import Together, select_from

DOMAIN = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 3), IntegerRange("c", 0, 2), IntegerRange("age", 0, 99)])
RISK = 0.05
TINY = 1e-3


def codes(rng: np.random.Generator, n: int) -> list[Ints]:
    first = rng.integers(0, 4, n)
    rest = [rng.integers(0, size, n) for size in DOMAIN.shape]
    mixed = [np.where(rng.random(n) < 0.6, first * (size - 1) // 3, rest[at]) for at, size in enumerate(DOMAIN.shape)]
    return [np.asarray(column) for column in mixed]


def noisy(
    table: Table, names: str, scale: float, rng: np.random.Generator, kind: NoiseKind = NoiseKind.GAUSSIAN
) -> Measurement:
    target = Marginal(DOMAIN, tuple(names.split()))
    draw = rng.normal if kind is NoiseKind.GAUSSIAN else rng.laplace
    return Measurement(target, target.on(table) + np.rint(draw(0.0, scale, target.size)), kind, scale)


def together(query: LinearQuery, measured: list[Measurement], n: float) -> Together:
    found = Together.of(query, [measured], n, n)
    assert found is not None
    return found


def test_two_tables_with_an_attribute_in_common_allow_what_frechet_says() -> None:
    rng = np.random.default_rng(0)
    table = Table(DOMAIN, codes(rng, 2_000))
    measured = [noisy(table, names, TINY, rng) for names in ("a b", "b c")]
    query = Conjunction.where(DOMAIN, {"a": [1], "c": [0, 1]})
    ab, bc = (each.values.reshape(DOMAIN.shape_of(each.target.scope)) for each in measured)
    n, one, other = ab.sum(axis=0), ab[1], bc[:, :2].sum(axis=1)
    low, high = together(query, measured, 2_000.0).ends(RISK)
    assert low == pytest.approx(np.maximum(0.0, one + other - n).sum(), abs=20.0)
    assert high == pytest.approx(np.minimum(one, other).sum(), abs=20.0)
    assert low <= query.on(table)[0] <= high


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("kind", NoiseKind)
@pytest.mark.parametrize(
    "condition", ["a = 1 and c = 2 and age < 35", "b in (1, 2) and age >= 60", "c = 0 and age = 99"]
)
def test_the_truth_is_within(condition: str, kind: NoiseKind) -> None:
    """Each interval may miss once in twenty times; more than 5 of 40 once in 30 times, and these miss far less."""
    missed, names = 0, ("a", "age.10", "a b", "b c", "c age.10", "a age")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = Table(DOMAIN, codes(rng, 500))
        measured = [noisy(table, each, 4.0, rng, kind) for each in names]
        query = parse_predicate(condition, DOMAIN)
        low, high = together(query, measured, 500.0).ends(RISK)
        missed += not low <= query.on(table)[0] <= high
        assert high - low < 500.0
    assert missed <= 5


def test_a_condition_that_cuts_a_level_is_bounded_within_it() -> None:
    rng = np.random.default_rng(6)
    table = Table(DOMAIN, codes(rng, 2_000))
    measured = [noisy(table, names, TINY, rng) for names in ("a age.10", "age")]
    tens, ages = (each.values.reshape(DOMAIN.shape_of(each.target.scope)) for each in measured)
    cut, beside = ages[30:35].sum(), ages[35:40].sum()
    low, high = together(parse_predicate("a = 1 and age < 35", DOMAIN), measured, 2_000.0).ends(RISK)
    assert low == pytest.approx(tens[1, :3].sum() + max(0.0, tens[1, 3] - beside), abs=20.0)
    assert high == pytest.approx(tens[1, :3].sum() + min(tens[1, 3], cut), abs=20.0)


@pytest.mark.parametrize("rule", ["a = 0 and c > 0", "a = 1 and age < 35", "b = 3 and age < 35"])
def test_rules_make_intervals_narrower_and_hold(rule: str) -> None:
    ruled, rng = Domain(DOMAIN, (), [impossible(DOMAIN, rule)]), np.random.default_rng(4)
    rows = codes(rng, 4_000)
    (constraint,) = ruled.constraints
    kept = constraint.holds([rows[DOMAIN.names.index(name)] for name in constraint.scope])
    table, n = Table(DOMAIN, [column[kept] for column in rows]), float(kept.sum())
    free = [noisy(table, names, 3.0, rng) for names in ("a b", "b c", "b age")]
    held = [replace(each, target=Marginal(ruled, each.target.scope)) for each in free]
    narrower = 0
    for condition in ("a = 1 and c = 2 and age < 35", "a = 1 and c = 0 and age >= 60", "a = 0 and c = 2"):
        query = parse_predicate(condition, DOMAIN)
        low, high = together(query, free, n).ends(RISK)
        least, most = together(parse_predicate(condition, ruled), held, n).ends(RISK)
        assert least <= query.on(table)[0] <= most
        assert low <= least + 1e-4
        assert most <= high + 1e-4
        narrower += most - least < 0.9 * (high - low)
    assert narrower >= 1


def test_weights_are_bounded_as_conditions_are() -> None:
    rng = np.random.default_rng(1)
    table = Table(DOMAIN, codes(rng, 1_000))
    measured = [noisy(table, names, TINY, rng) for names in ("a b", "b c")]
    query = Explicit.of(DOMAIN, ["a", "c"], [[0.0, 0.5, 1.0], [-1.0, 0.0, 0.25]])
    low, high = together(query, measured, 1_000.0).ends(RISK)
    joint = DOMAIN.shape_of(("a", "b", "c"))
    sums = np.array(
        [(np.indices(joint)[0] == a) & (np.indices(joint)[1] == b) for a in range(2) for b in range(4)]
        + [(np.indices(joint)[1] == b) & (np.indices(joint)[2] == c) for b in range(4) for c in range(3)]
    ).reshape(20, -1)
    exact = np.concatenate([Marginal(DOMAIN, tuple(names)).on(table) for names in ("ab", "bc")])
    values = np.broadcast_to(query.values()[:, None, :], joint).reshape(-1)
    ends = [sign * scipy.optimize.linprog(sign * values, A_eq=sums, b_eq=exact).fun for sign in (1.0, -1.0)]
    assert (low, high) == pytest.approx(ends, abs=20.0)
    assert low <= ends[0] + 1e-6
    assert high >= ends[1] - 1e-6


def test_the_risks_of_all_sums_add_up_to_less_than_the_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table = Table(DOMAIN, codes(rng, 500))
    measured = [noisy(table, names, 4.0, rng) for names in ("a", "b", "a b", "b c", "c age", "a age")]
    found = together(Conjunction.where(DOMAIN, {"a": [1], "c": [0]}), measured, 500.0)
    dealt, sums = list[float](), type(found.frame.views[0]).sums

    def recorded(view: Any, names: Any, risk: float) -> Any:
        values, radii = sums(view, names, risk)
        dealt.append(risk * values.size)
        return values, radii

    monkeypatch.setattr(type(found.frame.views[0]), "sums", recorded)
    found.ends(RISK)
    assert 0.5 * RISK < sum(dealt) <= RISK


def test_any_multipliers_prove_a_true_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    table = Table(DOMAIN, codes(rng, 500))
    measured = [noisy(table, names, 2.0, rng) for names in ("a b", "b c", "a", "c")]
    query = Conjunction.where(DOMAIN, {"a": [1], "c": [0, 2]})
    found, solve = together(query, measured, 500.0), scipy.optimize.linprog
    best = found.ends(RISK)

    def disturbed(*arguments: Any, **named: Any) -> Any:
        solved = solve(*arguments, **named)
        above, equal = solved.ineqlin.marginals, solved.eqlin.marginals
        return SimpleNamespace(
            status=0,
            ineqlin=SimpleNamespace(marginals=above + rng.normal(0.0, 0.05, above.size)),
            eqlin=SimpleNamespace(marginals=equal + rng.normal(0.0, 0.05, equal.size)),
        )

    monkeypatch.setattr(scipy.optimize, "linprog", disturbed)
    for _ in range(20):
        low, high = found.ends(RISK)
        assert low <= best[0] + 1e-5
        assert high >= best[1] - 1e-5


def test_large_tables_are_seen_in_classes_of_their_other_attributes() -> None:
    """16,384 cells have the ends that tables of 2,048 have, which are summed beforehand; and hold."""
    rng = np.random.default_rng(7)
    c, d = rng.integers(0, 64, 50_000), rng.integers(0, 64, 50_000)
    columns = {"a": rng.random(50_000) < c / 64, "b": rng.random(50_000) < d / 64, "c": c, "d": d}
    fine, coarse = (
        Domain([IntegerRange(name, 0, size - 1) for name, size in zip("abcd", sizes, strict=True)])
        for sizes in ((2, 2, 64, 64), (2, 2, 16, 32))
    )
    ends = list[list[float]]()
    for domain, step, wider in ((fine, 1, 1), (coarse, 4, 2)):
        tables = [np.zeros((2, 64, 64)), np.zeros((2, 64, 64))]
        measured, noise = list[Measurement](), np.random.default_rng(8)
        for first, table in zip("ab", tables, strict=True):
            np.add.at(table, (columns[first].astype(int), c, d), 1.0)
            noisy_table = table + np.rint(noise.normal(0.0, 9.0, table.shape))
            sums = noisy_table.reshape(2, 64 // step, step, 64 // wider, wider).sum(axis=(2, 4))
            scale = 9.0 * np.sqrt(step * wider)
            measured.append(
                Measurement(Marginal(domain, (first, "c", "d")), sums.reshape(-1), NoiseKind.GAUSSIAN, scale)
            )
        ends.append(list(together(Conjunction.where(domain, {"a": [1], "b": [1]}), measured, 50_000.0).ends(RISK)))
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)
    assert 0.0 < ends[0][0] <= (columns["a"] & columns["b"]).sum() <= ends[0][1] < 30_000.0


def test_questions_over_the_same_classes_share_what_tables_allow() -> None:
    """Ends are those of each question by itself, however its values lie over the classes."""
    rng = np.random.default_rng(9)
    table = Table(DOMAIN, codes(rng, 500))
    measured, kept = [noisy(table, names, 2.0, rng) for names in ("a b", "b c", "a age.10", "age")], dict[Any, Any]()
    weights = rng.integers(0, 5, (2, 3)) / 4.0
    queries = [
        *(Conjunction.where(DOMAIN, {"a": [a], "c": [2]}) for a in (0, 1)),
        *(Explicit.of(DOMAIN, ("a", "c"), each) for each in (weights, weights[::-1])),
        *(Conjunction.where(DOMAIN, {"a": [a], "age": range(20, 45)}) for a in (0, 1)),
    ]
    for query in queries:
        found = Together.of(query, [measured], 500.0, 500.0, kept)
        assert found is not None
        assert found.ends(RISK) == pytest.approx(together(query, measured, 500.0).ends(RISK), abs=1e-6)
    assert 3 <= len(kept) <= 4


def test_sums_of_a_table_do_not_depend_on_what_was_chosen_by_its_noise() -> None:
    """Levels of later tables make finer unknowns, and no sums of earlier ones; those of the same run do. All hold."""
    rng = np.random.default_rng(10)
    table, query = Table(DOMAIN, codes(rng, 2_000)), parse_predicate("a = 1 and b = 2 and age < 35", DOMAIN)
    first, level, ages = ([noisy(table, each, 3.0, rng)] for each in ("a age", "b age.10", "b age"))
    alone, before, beside = (
        Together.of(query, runs, 2_000.0, 2_000.0)
        for runs in ([first + ages], [first, level + ages], [first + level + ages])
    )
    assert alone is not None
    assert before is not None
    assert beside is not None
    seen = [each.frame.views[0] for each in (alone, before, beside)]
    assert [view.n_sums for view in seen] == [8, 8, 35]
    assert np.array_equal(seen[0].table, seen[1].table)
    assert before.values.shape == beside.values.shape == (2, 2, 11)
    for found in (alone, before, beside):
        low, high = found.ends(RISK)
        assert low <= query.on(table)[0] <= high < 600.0


def test_too_little_and_too_much_have_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    table = Table(DOMAIN, codes(rng, 500))
    measured = [noisy(table, names, 2.0, rng) for names in ("a b", "b c")]
    query = Conjunction.where(DOMAIN, {"a": [1], "c": [0]})
    assert Together.of(query, [measured[:1]], 500.0, 500.0) is None
    assert Together.of(query, [measured], 0.0, np.inf) is None
    huge = Domain([IntegerRange("a", 0, 2**31), IntegerRange("b", 0, 1)])
    assert Together.of(Conjunction.where(huge, {"a": range(9), "b": [1]}), [], 1.0, 1.0) is None
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(status=1))
    assert together(query, measured, 500.0).ends(RISK) == (-np.inf, np.inf)


def test_a_release_answers_what_no_table_tells_alone() -> None:
    rng = np.random.default_rng(5)
    table = Table(DOMAIN, codes(rng, 5_000))
    release = MWEM(rounds="auto").run(table, Workload.marginals(DOMAIN, 2), ZCDP(0.1), noise=SeededNoise(1))
    text = "a = 1 and b = 2 and c = 1"
    alone, found = release.answer(text, together=False), release.answer(text)
    assert found.low is not None
    assert found.high is not None
    assert "allow together" in found.covers
    assert found.low <= parse_predicate(text, DOMAIN).on(table)[0] <= found.high < 2_000
    assert alone.low is None or alone.high - alone.low > found.high - found.low


def test_statements_of_some_dozens_of_numbers_have_such_intervals() -> None:
    """48 numbers, of which no table tells any, are as narrow as one by itself, and hold."""
    table = Table(DOMAIN, codes(np.random.default_rng(5), 5_000))
    release = MWEM(rounds="auto").run(table, Workload.marginals(DOMAIN, 2), ZCDP(0.1), noise=SeededNoise(1))
    found = select_from(release, "SELECT a, b, c, COUNT(*) AS n, COUNT(*) AS m FROM t GROUP BY a, b, c")
    for labels, cells in zip(found.labels, found.cells, strict=True):
        text = " and ".join(f"{name} = {label}" for name, label in zip("abc", labels, strict=True))
        alone = release.answer(text)
        assert "allow together" in alone.covers
        for cell in cells:
            assert (cell.low, cell.high) == (alone.low, alone.high)
        assert alone.low <= parse_predicate(text, DOMAIN).on(table)[0] <= alone.high  # type: ignore[operator]
