"""Known totals: exact in hypothesis, answers and records, and nothing spent on them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import hedgerow
from hedgerow import MWEM, PureDP, SeededNoise, Workload, read_table, synthesize
from hedgerow.audit import audit_files
from hedgerow.domain import (
    Categorical,
    Domain,
    IntegerRange,
    KnownTable,
    codes_at,
    domain_from_mapping,
    domain_to_mapping,
    impossible,
    known_table,
    read_domain,
    running_order,
    with_known,
)
from hedgerow.errors import ConfigError, DomainError
from hedgerow.models import Histogram, Markov, controlled_records, rake
from hedgerow.release import Release
from tests.privacy.mutants import Mutant, killed

PEOPLE = Domain(
    [
        Categorical("sex", ("F", "M")),
        IntegerRange("race", 0, 4),
        IntegerRange("age", 0, 99),
        IntegerRange("income", 0, 7),
    ]
)
N = 3000


def people(seed: int = 0) -> dict[str, Any]:
    """Columns of some people."""
    rng = np.random.default_rng(seed)
    race = rng.choice(5, N, p=[0.6, 0.2, 0.1, 0.06, 0.04])
    age = np.minimum(99, rng.gamma(3.0, 12.0, N).astype(np.int64) + race)
    sex = np.array(["F", "M"])[(rng.random(N) < 0.4 + 0.02 * race).astype(np.int64)]
    return {"sex": sex, "race": race, "age": age, "income": np.minimum(7, age // 15 + rng.integers(0, 3, N))}


def counted(domain: Domain, codes: np.ndarray[Any, Any], names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """How many records are in each cell of a table, flat."""
    columns = dict(zip(domain.names, codes.T.astype(np.int64), strict=True))
    shape = domain.shape_of(names)
    places = np.ravel_multi_index(tuple(codes_at(domain, name, columns) for name in names), shape)
    return np.bincount(places, minlength=int(np.prod(shape)))


def knowing(*scopes: tuple[str, ...], domain: Domain = PEOPLE) -> Domain:
    """The domain with the true totals of the people."""
    codes = read_table(pa.table(people()), domain).columns
    tables = [
        KnownTable(names, counted(domain, np.stack([np.asarray(column) for column in codes], axis=1), names))
        for names in map(domain.clique, scopes)
    ]
    return with_known(domain, tables)


def released(domain: Domain, **options: Any) -> Release:
    table = read_table(pa.table(people()), domain)
    algorithm = MWEM(**options)
    return algorithm.run(table, Workload.marginals(domain, 2), PureDP(1.0), noise=SeededNoise(1))


def off(release: Release) -> float:
    """The largest distance of the hypothesis from a known total."""
    tables = release.domain.known
    found = release.model.marginals([table.names for table in tables])
    return max(float(np.abs(a.reshape(-1) - t.counts).max()) for a, t in zip(found, tables, strict=True))


@pytest.mark.parametrize("rounds", ["auto", "annealed", 4])
def test_hypothesis_answers_and_records_keep_known_totals(rounds: Any) -> None:
    release = released(knowing(("sex", "race"), ("sex", "age.10")), rounds=rounds)
    assert off(release) < 1e-6 * N
    assert release.total == N
    assert not release.count_noises
    scopes = [each.target.scope for each in release.measurements]
    assert not {("sex",), ("race",), ("sex", "race")}.intersection(scopes)  # nothing is measured that is known
    assert release.spent == pytest.approx(1.0)
    codes = release.sample(seed=2).codes
    for table in release.domain.known:
        assert counted(release.domain, codes, table.names).tolist() == table.counts.tolist()
    answer = release.answer("sex = 'M' and age >= 50")
    truth = sum(s == "M" and a >= 50 for s, a in zip(people()["sex"], people()["age"], strict=True))
    assert (answer.value, answer.low, answer.high) == (truth, truth, truth)
    assert "known total of sex * age.10" in answer.covers
    assert release.answer("race >= 0").low == release.answer("race >= 0").high == N


def test_the_number_of_records_alone_is_neither_measured_nor_noisy() -> None:
    release = released(with_known(PEOPLE, [N]))
    assert release.total == N
    assert release.n_records == N
    assert len(release.sample(seed=1)) == N
    assert all(event.question.kind != "records" for event in release.events)
    plain = released(PEOPLE)
    assert sum(event.charge for event in plain.events if event.question.kind == "records") > 0.0
    assert "taken for public" in release.guarantee()
    assert "taken for public" not in plain.guarantee()


def test_known_totals_make_other_intervals_narrower() -> None:
    plain, known = released(PEOPLE), released(knowing(("race", "age.10")))
    question = "race = 1 and age >= 40 and age < 50 and sex = 'M'"
    widths = [answer.high - answer.low for each in (plain, known) if (answer := each.answer(question)).high is not None]
    assert widths[1] < widths[0]


def test_a_release_is_stored_and_audited_with_its_known_totals(tmp_path: Path) -> None:
    release = released(knowing(("sex", "race")))
    release.save(tmp_path / "a.release")
    again = Release.load(tmp_path / "a.release")
    assert again.domain == release.domain
    assert again.guarantee() == release.guarantee()
    findings = {each.check: each for each in audit_files([tmp_path / "a.release"]).files[0].findings}
    assert findings["sentence"].severity.value == "holds"
    assert findings["number of records"].severity.value == "note"


def test_tables_that_overlap_in_a_circle_are_kept_by_a_programme() -> None:
    domain = knowing(("sex", "race"), ("race", "income"), ("sex", "income"))
    assert running_order(domain) is None
    release = released(domain)
    assert off(release) < 1e-6 * N
    codes = release.sample(seed=2).codes
    for table in domain.known:
        assert counted(domain, codes, table.names).tolist() == table.counts.tolist()


@given(st.integers(0, 10**6), st.booleans())
def test_whole_records_of_tables_in_a_tree_always_exist(seed: int, dense: bool) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain(IntegerRange(name, 0, int(size)) for name, size in zip("abcd", rng.integers(1, 5, 4), strict=True))
    codes = np.stack([rng.integers(0, attribute.size, 40) for attribute in domain], axis=1)
    domain = with_known(domain, [KnownTable(pair, counted(domain, codes, pair)) for pair in pairwise("abcd")])
    model = Histogram(domain, 40.0) if dense else Markov(domain, 40.0)
    for name in "ad":
        model.reweigh((name,), rng.normal(size=domain[name].size))
    assert rake(model, domain.known) <= 1e-9
    drawn = controlled_records(model, model.domain, np.random.default_rng(seed))
    for table in domain.known:
        assert counted(domain, drawn, table.names).tolist() == table.counts.tolist()


def test_rounding_along_circles_has_no_bias() -> None:
    domain = with_known(
        Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)]),
        [KnownTable("a", [2, 1]), KnownTable("b", [1, 1, 1])],
    )
    model = Histogram(domain, 3.0)
    model.reweigh(("a", "b"), np.array([[0.0, 1.0, -1.0], [0.5, 0.0, 0.0]]))
    rake(model, domain.known)
    expected = model.marginals([("a", "b")])[0].reshape(-1)
    rounded = [
        counted(domain, controlled_records(model, model.domain, np.random.default_rng(i)), ("a", "b"))
        for i in range(2000)
    ]
    assert np.abs(np.mean(rounded, axis=0) - expected).max() < 5.0 * 0.5 / np.sqrt(2000)


def test_contradictions_are_refused_with_cells() -> None:
    sex = {"columns": ["sex"], "counts": [20, 30]}
    with pytest.raises(DomainError, match="49 records, and the known number of records has 50"):
        with_known(PEOPLE, [50, {"columns": ["sex"], "counts": [20, 29]}])
    both = {"columns": ["sex", "race"], "counts": [21, 0, 0, 0, 0, 0, 0, 29, 0, 0]}
    with pytest.raises(DomainError, match=r"20 records where .* has 21: sex = F; sex = M"):
        with_known(PEOPLE, [sex, both])
    tens = {"columns": ["age.10"], "counts": [5] * 10}
    years = {"columns": ["age"], "counts": [6, *[0] * 8, 0, 4, *[0] * 89]}
    with pytest.raises(DomainError, match=r"age\.10 = \[10, 20\)"):
        with_known(PEOPLE, [tens, {**years, "counts": [*years["counts"][:20], 40, *years["counts"][21:]]}])
    ring = Domain(IntegerRange(name, 0, 1) for name in "abc")
    tables = [("ab", [5, 0, 0, 5]), ("bc", [5, 0, 0, 5]), ("ac", [0, 5, 5, 0])]
    with pytest.raises(DomainError, match="no records have all known totals"):
        with_known(ring, [{"columns": list(names), "counts": counts} for names, counts in tables])


def test_a_total_against_a_rule_is_refused() -> None:
    ruled = Domain(PEOPLE.attributes, constraints=[impossible(PEOPLE, "age < 10 and income > 0")])
    table = np.zeros((100, 8), dtype=np.int64)
    table[3, 2], table[50, 5] = 4, 46
    with pytest.raises(DomainError, match="rules or levels leave none: age = 3, income = 2"):
        with_known(ruled, [KnownTable(("age", "income"), table.reshape(-1))])
    ages = np.zeros(100, dtype=np.int64)
    ages[3], ages[50] = 30, 20
    with pytest.raises(DomainError, match="no records have all known totals"):
        with_known(ruled, [KnownTable(("age",), ages), KnownTable(("income",), [10, 40, 0, 0, 0, 0, 0, 0])])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pa.table({"sex": ["F", "F"], "count": [1, 2]}), "sex = F twice"),
        (pa.table({"sex": ["F", "X"], "count": [1, 2]}), "'X' is not among its values"),
        (pa.table({"sex": ["F"], "n": [1]}), "no column 'count'"),
        (pa.table({"zip": ["F"], "count": [1]}), "no column 'zip'"),
        (pa.table({"sex": ["F"], "count": [1.5]}), "whole number"),
        (pa.table({"sex": ["F"], "count": [-1]}), "whole number from 0 on"),
        ({"columns": ["sex"], "counts": [1]}, "1 counts for 2 cells"),
        ({"columns": ["sex"]}, "lacks"),
        (0, "0 records"),
    ],
)
def test_what_is_no_known_table_is_refused(given: Any, said: str) -> None:
    with pytest.raises(DomainError, match=said):
        known_table(PEOPLE, given)


def test_domain_files_hold_known_totals(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("count,sex\n30,M\n20,F\n")
    (tmp_path / "d.yaml").write_text("attributes:\n  sex: [F, M]\n  age: {min: 0, max: 99}\nknown: [50, sex.csv]\n")
    domain = read_domain(tmp_path / "d.yaml")
    assert [table.counts.tolist() for table in domain.known] == [[50], [20, 30]]
    assert domain_from_mapping(domain_to_mapping(domain)) == domain
    assert [table.names for table in domain.of_columns(["age"]).known] == [()]
    assert domain.of_columns(["age", "sex"]).known == domain.known
    with pytest.raises(DomainError, match="names a file"):
        domain_from_mapping({"attributes": {"sex": ["F", "M"]}, "known": ["sex.csv"]})


def test_synthesize_takes_known_totals(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("sex,count\nF,1700\nM,1300\n")
    known = [str(tmp_path / "sex.csv"), pa.table({"income": list(range(8)), "count": [N - 7, *[1] * 7]})]
    made = synthesize(pa.table(people()), domain=PEOPLE, known=known, seed=3)
    assert np.unique(made.records["sex"].to_pylist(), return_counts=True)[1].tolist() == [1700, 1300]
    assert np.bincount(made.records["income"].to_pylist()).tolist() == [N - 7, *[1] * 7]


def test_where_known_totals_cannot_be_kept_they_are_refused_before_anything_is_read() -> None:
    domain = knowing(("sex",))
    table, workload = read_table(pa.table(people()), domain), Workload.marginals(domain, 2)
    with pytest.raises(ConfigError, match="does not keep known totals"):
        hedgerow.IndependentNoise().run(table, workload, PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(ConfigError, match="nothing is left"):
        MWEM().run(table, Workload.marginals(domain, cliques=[("sex",)]), PureDP(1.0), noise=SeededNoise(0))
    wrong = with_known(PEOPLE, [N + 1])
    source = read_table(pa.table(people()), wrong)
    with pytest.raises(ConfigError, match="the table has 3,000 records, which is public here"):
        MWEM().run(source, Workload.marginals(wrong, 1), PureDP(1.0, "replace"), noise=SeededNoise(0))
    persons = {"person": "id", "at_most": 2}
    data = pa.table({**people(), "id": np.arange(N)})
    with pytest.raises(ConfigError, match="only what is bounded counts"):
        synthesize(data, domain=PEOPLE, known=[N], seed=0, **persons)


def test_sessions_servers_and_linked_tables_refuse_known_totals() -> None:
    from hedgerow import Linked, OnlinePMW
    from hedgerow.service.sessions.tables import domain_of

    domain = knowing(("sex",))
    with pytest.raises(ConfigError, match="does not keep known totals"):
        OnlinePMW().start(read_table(pa.table(people()), domain), PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(DomainError, match="answers of a session do not keep"):
        domain_of(domain_to_mapping(domain), {})
    with pytest.raises(DomainError, match="several are linked"):
        Linked.of(domain, Domain([IntegerRange("grade", 1, 6)]), key="home", at_most=3)


@pytest.mark.slow
def test_tables_over_a_tree_keep_known_totals() -> None:
    """32 columns whose pairs no tree holds: an overlay, its tree and its records have them all the same."""
    rng = np.random.default_rng(0)
    codes = (rng.random((4000, 32)) < 0.2 + 0.6 * rng.random((4000, 1))).astype(np.int64)
    plain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(32))
    pairs = [("x0", "x1"), ("x1", "x2")]
    domain = with_known(plain, [KnownTable(pair, counted(plain, codes, pair)) for pair in pairs])
    table = read_table(pa.table({f"x{i}": codes[:, i] for i in range(32)}), domain)
    release = MWEM().run(table, Workload.marginals(domain, 2), PureDP(5.0), noise=SeededNoise(1))
    assert type(release.model).__name__ == "Overlay"
    assert off(release) < 1e-6 * 4000
    drawn = release.sample(seed=1).codes
    for each in domain.known:
        assert counted(domain, drawn, each.names).tolist() == each.counts.tolist()


def _not_raked(patched: pytest.MonkeyPatch) -> None:
    for place in ("hedgerow.algorithms.mwem.run.rake", "hedgerow.algorithms.shared.learning.rake"):
        patched.setattr(place, lambda *_: 0.0)


def _measured_all_the_same(patched: pytest.MonkeyPatch) -> None:
    for place in ("settings", "run", "strategy_choice"):
        patched.setattr(f"hedgerow.algorithms.mwem.{place}.is_known", lambda *_: False)


def _rounded_one_by_one(patched: pytest.MonkeyPatch) -> None:
    """Each fraction by itself, as the largest cell of a row would have it."""

    def nearest(shares: Any, *_: object) -> None:
        shares[:] = np.round(shares)

    patched.setattr("hedgerow.models.core.controlled.compiled.round_along_cycles", nearest)


MUTANTS = [
    Mutant(
        "a hypothesis that is not brought to known totals",
        _not_raked,
        lambda: test_hypothesis_answers_and_records_keep_known_totals("auto"),
    ),
    Mutant(
        "known tables that are measured all the same",
        _measured_all_the_same,
        lambda: test_hypothesis_answers_and_records_keep_known_totals("auto"),
    ),
    Mutant(
        "fractions of known totals rounded one by one", _rounded_one_by_one, test_rounding_along_circles_has_no_bias
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_known_total_that_is_lost_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
