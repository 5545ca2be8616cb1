"""Records that a filter chose, where neighbours replace one: how many they are is private, wherever the table is."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow
import hedgerow.data.table as table_module
from hedgerow import Domain
from hedgerow.arrays import Floats
from hedgerow.data import check_apart
from hedgerow.domain import Clique, Constraint, Derived
from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy import (
    ApproxDP,
    Budget,
    Curator,
    Event,
    PureDP,
    RecordCount,
    Regime,
    SeededNoise,
    SparseVector,
    Subsampled,
    budget_of_filtered,
)
from hedgerow.queries import Conjunction, Family, LinearQuery, Marginal, Neighbours, Parity, Workload
from hedgerow.service import Registration, read_private
from hedgerow.service.sessions.registering import within_filter
from hedgerow.service.sessions.tables import is_filtered
from tests.cli.command_line import app
from tests.privacy.mutants import Mutant, killed
from tests.privacy.replay import Run, record, worst_loss
from tests.privacy.tables import DenseCounts, binary, histograms, neighbours_of

REPLACE, FILTERED = Neighbours.REPLACE, Neighbours.REPLACE_FILTERED
DOMAIN = Domain([hedgerow.Categorical("sex", ("F", "M"))])
BITS = binary(2)


def people(positive: int, folder: Path, name: str = "people.csv") -> str:
    """A table of 90 people, of whom some have a diagnosis; the column of it is not in the domain."""
    rows = "".join(f"{'FM'[i % 2]},{'hiv' if i < positive else 'flu'}\n" for i in range(90))
    (folder / name).write_text("sex,diag\n" + rows)
    return str(folder / name)


def filtered(positive: int, folder: Path) -> Any:
    return hedgerow.scan_table(people(positive, folder), DOMAIN, columns=["sex"], extra_columns="ignore",
                               where="diag = 'hiv'")  # fmt: skip


# ---- the curator -----------------------------------------------------------------------------------------------------


def test_the_number_that_passes_is_measured_and_charged(tmp_path: Path) -> None:
    curator = Curator(filtered(3, tmp_path), PureDP(1.0, REPLACE), noise=SeededNoise(0))
    assert curator.neighbours is FILTERED
    totals = {curator.total(0.01) for _ in range(10)}
    assert len(totals) > 1
    assert {event.mechanism for event in curator.ledger.events} == {"discrete Laplace"}
    assert curator.ledger.spent == pytest.approx(0.1)
    assert {event.neighbours for event in curator.ledger.events} == {"replace-then-filter"}


@pytest.mark.parametrize("condition", ["n >= 10", "sex = 'F' or N > 9", "n is not null"])
def test_a_filter_may_not_look_at_the_column_of_counts(tmp_path: Path, condition: str) -> None:
    """One record more would let ten others pass: the row of 9 alike people would become one of 10."""
    (tmp_path / "counts.csv").write_text("sex,n\nF,9\nM,100\n")
    with pytest.raises(hedgerow.errors.ColumnError, match="the filter looks at it"):
        hedgerow.scan_table(tmp_path / "counts.csv", DOMAIN, count_column="n", where=condition.replace("N", "n"))
    with pytest.raises(hedgerow.errors.ColumnError, match="the filter looks at it"):
        check_apart(condition, "n", "counts.csv")
    described = {"place": "counts.csv", "count_column": "n", "where": condition.replace("N", "n")}
    with pytest.raises(hedgerow.errors.ColumnError, match="the filter looks at it"):
        read_private(described, DOMAIN, tmp_path)
    apart = hedgerow.scan_table(tmp_path / "counts.csv", DOMAIN, count_column="n", where="sex = 'F'")
    assert apart.total() == 9


def test_without_a_filter_it_is_public_as_before(tmp_path: Path) -> None:
    table = hedgerow.scan_table(people(3, tmp_path), DOMAIN, columns=["sex"], extra_columns="ignore")
    curator = Curator(table, PureDP(1.0, REPLACE))
    assert (curator.neighbours, curator.total(0.5), curator.ledger.spent) == (REPLACE, 90.0, 0.0)


def test_adding_or_leaving_out_a_record_is_the_same_before_and_after_a_filter(tmp_path: Path) -> None:
    assert Curator(filtered(3, tmp_path), PureDP(1.0)).neighbours is Neighbours.ADD_REMOVE


def test_a_table_that_was_filtered_elsewhere_can_say_so() -> None:
    table = hedgerow.read_table(pa.table({"sex": ["F", "M"]}), DOMAIN)
    assert Curator(table, PureDP(1.0, "replace-then-filter"), noise=SeededNoise(1)).total(0.5) != 2.0  # type: ignore[arg-type]


def test_what_was_charged_before_another_relation_is_refused(tmp_path: Path) -> None:
    """A session that was begun when the number was taken for public cannot go on as if it had not been told."""
    event = Event("total", "public", RecordCount(), 0.0, 0.0, 0.0, "epsilon", "replace")
    with pytest.raises(BudgetError, match="neighbours by replace-then-filter"):
        Curator(filtered(3, tmp_path), PureDP(1.0, REPLACE), events=[event])


def test_a_sample_of_what_passes_is_refused_unread() -> None:
    class Unreadable(DenseCounts):
        def total(self) -> int:
            raise AssertionError("read")

    source = Unreadable(BITS, [1, 1, 1, 1])
    source.filtered = True
    budget = Subsampled(PureDP(1.0, REPLACE), 2, 4)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="private"):
        Curator(source, budget)
    with pytest.raises(ConfigError, match="private"):
        budget_of_filtered(budget)


def runs() -> dict[str, tuple[Run, Budget]]:
    pure, zcdp = PureDP(1.5, FILTERED), ApproxDP(2.0, 1e-3, FILTERED)
    marginals, parities = Workload.marginals(BITS, 1), Workload.parse("parities:2", BITS)
    algorithms: dict[str, tuple[Any, Workload, Budget]] = {
        "mwem on marginals": (hedgerow.MWEM(rounds=2), marginals, pure),
        "mwem on parities": (hedgerow.MWEM(rounds=2), parities, pure),
        "laplace on parities": (hedgerow.IndependentNoise(fit=None), parities, pure),
        "fourier": (hedgerow.FourierMeasurement(), marginals, pure),
        "pmw": (hedgerow.OfflinePMW(alpha=0.4), Workload.parse("cells:1", BITS), pure),
        "smalldb": (hedgerow.SmallDB(alpha=0.5), Workload.parse("cells:1", BITS), pure),
        "dual query": (hedgerow.DualQuery(rounds=3, samples=4, seed=1), Workload.parse("cells:1", BITS), pure),
        "mwem in zCDP": (hedgerow.MWEM(rounds=2), marginals, zcdp),
    }

    def run_of(algorithm: Any, workload: Workload, budget: Budget) -> Run:
        return lambda source, noise: algorithm.run(source, workload, budget, noise=noise)

    return {name: (run_of(*given), given[2]) for name, given in algorithms.items()}


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("name", [name for name, (_, budget) in runs().items() if isinstance(budget, PureDP)])
def test_no_transcript_loses_more_than_epsilon_between_neighbours_before_the_filter(name: str) -> None:
    """Whatever a record that is replaced does: it is another one, it enters, or it leaves."""
    run, budget = runs()[name]
    source = DenseCounts(BITS, [2, 1, 0, 1])
    worst = 0.0
    for seed in range(3):
        transcript = record(run, source, seed)
        worst = max(worst, worst_loss(run, source, neighbours_of(source, FILTERED), transcript))
    assert 0.05 < worst <= budget.limit + 1e-9


def test_every_algorithm_measures_the_number_that_passes() -> None:
    for run, budget in runs().values():
        source = DenseCounts(BITS, [20, 10, 5, 10])
        source.filtered = True
        release: Any = run(source, SeededNoise(3))
        (total, *_) = [event for event in release.events if event.label == "total"]
        assert total.charge > 0.0
        asked, told = budget, release.budget  # of an (epsilon, delta) a run chooses how it is counted
        assert (told.neighbours, told.approximate(1e-9)) == (asked.neighbours, asked.approximate(1e-9))
        assert "before the filter" in release.guarantee()


def test_a_release_and_its_report_say_between_which_tables(tmp_path: Path) -> None:
    table = filtered(60, tmp_path)
    release = hedgerow.MWEM(rounds=1).run(table, Workload.marginals(DOMAIN, 1), PureDP(1.0, REPLACE))
    assert "before the filter chooses rows (the number of records in the whole table is public" in release.guarantee()
    release.save(tmp_path / "r.release")
    again = hedgerow.Release.load(tmp_path / "r.release")
    assert again.budget.neighbours is FILTERED
    whole = again.answer("")
    assert whole.low is not None
    assert whole.low < whole.value < (whole.high or 0.0)


def test_that_nobody_passes_is_no_error(tmp_path: Path) -> None:
    """One record decides it: so nothing may look different."""
    for table in (filtered(0, tmp_path), filtered(1, tmp_path)):
        release = hedgerow.MWEM(rounds=1).run(
            table, Workload.marginals(DOMAIN, 1), PureDP(0.5, REPLACE), noise=SeededNoise(0)
        )
        assert release.total >= 1.0


def test_sessions_measure_it_too_and_start_from_releases_of_the_same_rows(tmp_path: Path) -> None:
    workload, budget = Workload.marginals(DOMAIN, 1), PureDP(4.0, REPLACE)
    warm = hedgerow.MWEM(rounds=1).run(filtered(60, tmp_path), workload, PureDP(1.0, REPLACE))
    session = hedgerow.OnlinePMW(updates=2, threshold=0.5).start(filtered(60, tmp_path), budget, warm=warm)
    assert session.budget.neighbours is FILTERED
    totals = [event for event in session.release().events if event.label == "total"]
    assert [event.purpose for event in totals] == ["earlier: total", "total"]
    assert all(event.charge > 0.0 for event in totals)
    session.save(tmp_path / "s.session")
    assert hedgerow.OnlineSession.restore(tmp_path / "s.session", filtered(60, tmp_path)).budget == session.budget


# ---- rules that records are left out by ------------------------------------------------------------------------------

ONLY_F = Domain(
    [hedgerow.Categorical("sex", ("F", "M")), hedgerow.Categorical("diag", ("hiv", "flu"))],
    [Derived(hedgerow.Categorical("sick", ("yes", "no")), ("diag",), [0, 1], column=True)],
    [Constraint("sex = 'M' and diag = 'hiv'", ("sex", "diag"), [[0, 1], [0, 1]], [[True, True], [False, True]])],
)
"""Every second person of `people` with a diagnosis breaks the constraint."""


def ruled(positive: int, folder: Path, **options: Any) -> Any:
    return hedgerow.scan_table(
        people(positive, folder), Domain(ONLY_F, [], ONLY_F.constraints), **{"violations": "drop", **options}
    )


def test_the_number_that_keeps_the_rules_is_measured_and_charged(tmp_path: Path) -> None:
    curator = Curator(ruled(40, tmp_path), PureDP(1.0, REPLACE), noise=SeededNoise(0))
    assert (curator.neighbours, curator.violations) == (FILTERED, "drop")
    assert len({curator.total(0.01) for _ in range(10)}) > 1
    assert curator.ledger.spent == pytest.approx(0.1)
    assert Curator(ruled(40, tmp_path), PureDP(1.0)).neighbours is Neighbours.ADD_REMOVE
    refused = Curator(ruled(0, tmp_path, violations="refuse"), PureDP(1.0, REPLACE))
    assert (refused.neighbours, refused.violations, refused.total(0.5)) == (REPLACE, "refuse", 90.0)


def test_classes_of_values_that_constraints_tell_apart_are_not_asked_for() -> None:
    ages = [0] * 3 + [1] * 5
    rule = Constraint("children have no income", ("age", "income"), [ages, [0, 1]], [[True, False], [True, True]])
    domain = Domain([hedgerow.IntegerRange("age", 0, 7), hedgerow.IntegerRange("income", 0, 1)], [], [rule])
    curator = Curator(hedgerow.Table(domain, [[5], [1]]), PureDP(1.0), noise=SeededNoise(0))
    assert domain.grains[0].name == "age/classes"
    hidden = Classes(domain)
    epoch = SparseVector.for_charge(Regime.PURE, 0.1)
    looks: list[Callable[[], object]] = [
        lambda: curator.measure(hidden, 0.1),
        lambda: curator.select(Workload([Hidden(domain)]), np.zeros(1), 0.1),
        lambda: curator.watch(epoch).test(hidden, 0.0, 1.0),
    ]
    for look in looks:
        with pytest.raises(hedgerow.errors.QueryError, match="not over attributes"):
            look()


@dataclass(frozen=True)
class Classes(LinearQuery):
    """A query about what is meant for models alone, which none of ours can be."""

    bounds = (0.0, 1.0)
    text = "classes"
    domain: Domain

    @property
    def scope(self) -> Clique:  # type: ignore[override]
        return ("age/classes",)

    def values(self) -> Floats:
        return np.array([1.0, 0.0])


@dataclass(frozen=True)
class Hidden(Family):
    """A workload of it."""

    n_queries = n_candidates = 1
    spec = "hidden"
    domain: Domain

    @property
    def scopes(self) -> tuple[Clique, ...]:
        return (("age/classes",),)

    def candidate(self, index: int) -> Classes:
        return Classes(self.domain)

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        return self.scopes

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        return tables[0][:1]


NOT_BOTH = Domain(BITS, [], [Constraint("a and b", ("a", "b"), [[0, 1], [0, 1]], [[True, True], [True, False]])])


def kept(cells: Sequence[int]) -> hedgerow.Table:
    """The records of a whole table, read with the rule."""
    codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], cells, axis=0)
    return hedgerow.Table(NOT_BOTH, list(codes.T), violations="drop")


def whole_neighbours(cells: Sequence[int], relation: Neighbours) -> Iterator[tuple[int, ...]]:
    """Neighbours before the rule."""
    for gone, come in itertools.product((None, 0, 1, 2, 3), repeat=2):
        if (gone is None or come is None) == (relation is REPLACE) or (gone is None and come is None):
            continue
        changed = [count - (i == gone) + (i == come) for i, count in enumerate(cells)]
        if min(changed) >= 0:
            yield tuple(changed)


def a_rule_moves_answers_by_their_sensitivity(relation: Neighbours) -> None:
    """Every pair of neighbouring whole tables of up to three records: by no more, and as much."""
    targets = [
        Marginal(NOT_BOTH, ("a",)),
        Marginal(NOT_BOTH, ("a", "b")),
        Parity(NOT_BOTH, ("a", "b")),
        Conjunction.where(NOT_BOTH, {"a": [1]}),
    ]
    moved, totals = {target.text: (0.0, 0.0) for target in targets}, set()
    for cells in (cells for n in range(1, 4) for cells in histograms(4, n)):
        here = kept(cells)
        for other in whole_neighbours(cells, relation):
            there = kept(other)
            totals.add(abs(here.total() - there.total()))
            for target in targets:
                difference = np.abs(target.on(here) - target.on(there))
                l1, l2 = moved[target.text]
                moved[target.text] = max(l1, difference.sum()), max(l2, float(np.sqrt((difference**2).sum())))
    assert totals == {0, 1}  # so the number is not public, even where records are replaced
    for target in targets:
        stated = target.sensitivity(relation.filtered)
        assert moved[target.text] == pytest.approx((stated.l1, stated.l2)), target.text


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, REPLACE])
def test_a_rule_moves_answers_by_no_more_than_their_sensitivity(relation: Neighbours) -> None:
    a_rule_moves_answers_by_their_sensitivity(relation)


def no_transcript_loses_more_than_epsilon_before_a_rule(algorithm: Any, text: str) -> None:
    """Whole tables are neighbours; what a rule leaves of them is read, and the budget is as it was given."""
    workload, budget = Workload.parse(text, NOT_BOTH), PureDP(1.5, REPLACE)

    def run(source: Any, noise: Any) -> object:
        released = algorithm.run(source, workload, budget, noise=noise)
        totals.add(released.total)
        return released

    cells, worst, totals = (2, 1, 1, 1), 0.0, set[float]()
    for seed in range(3):
        totals.clear()
        transcript = record(run, kept(cells), seed)
        worst = max(worst, worst_loss(run, kept(cells), map(kept, whole_neighbours(cells, REPLACE)), transcript))
        assert len(totals) == 1, "the number of records that is released depends on the table"
    assert 0.05 < worst <= budget.limit + 1e-9


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    ("algorithm", "text"),
    [
        (hedgerow.MWEM(rounds=2), "marginals:1"),
        (hedgerow.IndependentNoise(fit=None), "parities:2"),
        (hedgerow.OfflinePMW(alpha=0.4), "cells:1"),
        (hedgerow.FourierMeasurement(), "marginals:1"),
    ],
    ids=["mwem", "laplace", "pmw", "fourier"],
)
def test_no_transcript_loses_more_than_epsilon_between_neighbours_before_a_rule(algorithm: Any, text: str) -> None:
    no_transcript_loses_more_than_epsilon_before_a_rule(algorithm, text)


def number_that_keeps_the_rules_taken_for_public(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hedgerow.Table, "filtered", property(lambda self: self._filtered))


def all_left_out_if_two_break_a_rule(patch: pytest.MonkeyPatch) -> None:
    """Looks at more than one record."""
    each_by_itself = table_module.keeping

    def together(rules: Any, codes: Any) -> Any:
        found = each_by_itself(rules, codes)
        return found if np.count_nonzero(~found) < 2 else np.zeros_like(found)

    patch.setattr(table_module, "keeping", together)


MUTANTS = (
    Mutant(
        "exact n after a rule under replace",
        number_that_keeps_the_rules_taken_for_public,
        lambda: no_transcript_loses_more_than_epsilon_before_a_rule(hedgerow.MWEM(rounds=2), "marginals:1"),
    ),
    Mutant(
        "records left out by what others hold",
        all_left_out_if_two_break_a_rule,
        lambda: a_rule_moves_answers_by_their_sensitivity(Neighbours.ADD_REMOVE),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutants_of_rules_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_a_release_says_that_records_are_left_out_and_not_how_many(tmp_path: Path) -> None:
    table = ruled(40, tmp_path)
    release = hedgerow.MWEM(rounds=1).run(table, Workload.marginals(table.domain, 1), PureDP(1.0, REPLACE))
    assert "before the filter" in release.guarantee()
    assert "left out" in release.provenance.left_out
    release.save(tmp_path / "r.release")
    again = hedgerow.Release.load(tmp_path / "r.release")
    assert again.provenance == release.provenance
    assert again.provenance.to_dict()["violations"] == "drop"
    whole = hedgerow.MWEM(rounds=1).run(filtered(3, tmp_path), Workload.marginals(DOMAIN, 1), PureDP(1.0, REPLACE))
    assert whole.provenance.left_out == ""
    assert "violations" not in whole.provenance.to_dict()


def test_that_nobody_keeps_the_rules_is_no_error(tmp_path: Path) -> None:
    """One record decides it: so nothing may look different."""
    rows = "sex,diag,sick\n" + "F,flu,yes\n" * 50
    for text in (rows, rows + "F,flu,no\n"):
        (tmp_path / "people.csv").write_text(text)
        table = hedgerow.read_table(tmp_path / "people.csv", ONLY_F, violations="drop")
        release = hedgerow.MWEM(rounds=1).run(
            table, Workload.marginals(ONLY_F, 1), PureDP(0.5, REPLACE), noise=SeededNoise(0)
        )
        assert release.total >= 1.0


def test_sessions_go_on_with_the_rule_that_they_began_with(tmp_path: Path) -> None:
    session = hedgerow.OnlinePMW(updates=2, threshold=0.5).start(ruled(40, tmp_path), PureDP(4.0, REPLACE))
    assert session.budget.neighbours is FILTERED
    assert session.release().provenance.violations == "drop"
    session.save(tmp_path / "s.session")
    assert hedgerow.OnlineSession.restore(tmp_path / "s.session", ruled(40, tmp_path)).budget == session.budget
    whole = hedgerow.OnlinePMW(updates=2, threshold=0.5).start(
        ruled(0, tmp_path, violations="refuse"), PureDP(4.0, REPLACE)
    )
    whole.save(tmp_path / "t.session")
    with pytest.raises(hedgerow.errors.SessionError, match="neighbours by replace-then-filter"):
        hedgerow.OnlineSession.restore(tmp_path / "t.session", ruled(40, tmp_path))


def test_a_server_takes_the_number_that_keeps_the_rules_for_private(tmp_path: Path) -> None:
    domain = {"sex": ["F", "M"], "diag": ["hiv", "flu"]}
    source = {"place": "people.csv", "violations": "drop"}
    told = Registration("people", "", source, domain, PureDP(1.0, REPLACE).to_dict(), {})
    assert within_filter(told).budget["neighbours"] == "replace"  # there is no rule that a row could break
    assert is_filtered(ONLY_F, source)
    assert not is_filtered(ONLY_F, {"violations": "refuse"})
    people(40, tmp_path)
    found = read_private(source, Domain(ONLY_F, [], ONLY_F.constraints), tmp_path)
    assert (found.filtered, found.total()) == (True, 70)
    with pytest.raises(hedgerow.errors.BrokenRuleError):
        read_private({"place": "people.csv"}, Domain(ONLY_F, [], ONLY_F.constraints), tmp_path)


# ---- the command line ------------------------------------------------------------------------------------------------


def invoked(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def domain(tmp_path: Path) -> str:
    (tmp_path / "domain.yaml").write_text("sex: [F, M]\n")
    return str(tmp_path / "domain.yaml")


BUDGET = ("--epsilon", "0.01", "--neighbours", "replace")
FILTER = ("--columns", "sex", "--where", "diag = 'hiv'")


def test_synth_does_not_draw_as_many_records_as_have_a_diagnosis(tmp_path: Path, domain: str) -> None:
    """What was found: one person's diagnosis could be read off the number of records, at any epsilon."""
    drawn = set()
    for positive in (3, 4):
        data = people(positive, tmp_path, f"{positive}.csv")
        for i in range(4):
            output = str(tmp_path / f"{positive}-{i}.csv")
            told = invoked("synth", data, "--domain", domain, *BUDGET, *FILTER, "-o", output)
            assert told["spent"] > 0.0
            assert told["budget"]["neighbours"] == "replace-then-filter"
            drawn.add(told["n_records"])
    assert not drawn <= {3, 4}  # eight draws of noise with a scale of thousands: chance below 1e-20


def test_ask_plan_and_compare_take_it_for_private_too(tmp_path: Path, domain: str) -> None:
    data, session = people(40, tmp_path), str(tmp_path / "s.session")
    call = ("ask", data, "--session", session, "--domain", domain, *FILTER, "--neighbours", "replace")
    asked = invoked(*call, "--epsilon", "1", "sex = 'F'")["session"]
    assert asked["spent"] > 0.0
    assert asked["total"] != 40.0 or asked["threshold"] > 0.0
    again = invoked(*call, "--epsilon", "1", "sex = 'F'")  # the same options as before are no other budget
    assert again["answers"][0]["source"] in ("cache", "hypothesis only")
    planned = invoked("plan", "--domain", domain, "--total", "40", *BUDGET, *FILTER)
    assert "before the filter" in planned["guarantee"]
    output = str(tmp_path / "errors.csv")
    invoked("compare", data, "--domain", domain, *BUDGET, *FILTER, "--mechanisms", "laplace", "-o", output)
    assert "replace-then-filter" in Path(output).read_text()


def test_a_marginal_of_filtered_records_moves_by_two() -> None:
    for relation, l1 in ((Neighbours.ADD_REMOVE, 1.0), (REPLACE, 2.0), (FILTERED, 2.0)):
        assert Marginal(BITS, ("a",)).sensitivity(relation).l1 == l1
