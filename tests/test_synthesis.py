"""``hedgerow.synthesize``: what it chooses, refuses and hands over."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow.errors import (
    ConfigError,
    DataError,
    DomainError,
    QueryError,
    RegisterExceededError,
    UndeclaredColumnError,
)
from tests.cli.command_line import app

DOMAIN = {"sex": ["F", "M"], "age": {"min": 20, "max": 23}, "smokes": ["no", "yes"]}
COLUMNS: dict[str, list[Any]] = {
    "sex": ["F", "M"] * 200,
    "age": [20, 21, 22, 23] * 100,
    "smokes": (["yes"] + ["no"] * 4) * 80,
}


def make(data: Any = None, **named: Any) -> hedgerow.Synthesis:
    return hedgerow.synthesize(pa.table(COLUMNS) if data is None else data, **{"domain": DOMAIN, "seed": 1, **named})


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pd.DataFrame(COLUMNS), pd.DataFrame),
        (pl.DataFrame(COLUMNS), pl.DataFrame),
        (pa.table(COLUMNS), pa.Table),
        (pa.table(COLUMNS).to_reader(), pa.Table),
    ],
)
def test_records_are_of_the_kind_of_the_table_and_are_the_same(data: Any, kind: type) -> None:
    made = make(data, records=50)
    assert type(made.records) is kind
    assert made.records is made.records
    assert pa.table(made.records).to_pydict() == make(records=50).records.to_pydict()
    assert len(made.sample(7)) == 7


def test_a_target_asks_for_the_tables_that_models_need() -> None:
    assert (
        make(target="smokes").release.workload.spec
        == "marginals:sex*smokes,age*smokes,sex*age*smokes; marginals:2 @ 0.1"
    )
    beside = make(target="smokes", workload="marginals:1", means=["age"]).release.workload.spec
    assert beside == "marginals:1; marginals:sex*smokes,age*smokes,sex*age*smokes; marginals:age"
    assert not any("workload=" in each for each in make(target="smokes").assumptions)
    with pytest.raises(QueryError, match="there is no attribute 'smoke'"):
        make(target="smoke")
    told = {"attributes": DOMAIN, "target": "smokes"}
    assert make(domain=told).release.workload == make(target="smokes").release.workload
    assert make(domain=told, target="sex").release.workload == make(target="sex").release.workload


def test_a_parity_is_learnt_where_it_is_the_target_and_found_where_nobody_asks() -> None:
    bits = np.random.default_rng(0).integers(0, 2, size=(11, 4000))
    label = (bits[0] + bits[1] + bits[2] + bits[3:7].all(axis=0)) % 2
    table = pa.table({**{f"b{place}": column for place, column in enumerate(bits)}, "label": label})
    domain = {name: {"min": 0, "max": 1} for name in table.column_names}
    asked = ({"target": "label"}, {}, {"workload": "marginals:2"})
    runs = [hedgerow.synthesize(table, delta=1e-9, domain=domain, records=4000, seed=0, **each) for each in asked]  # type: ignore[arg-type]
    shares = []
    for made in runs:
        columns = [made.records.column(name).to_numpy() for name in table.column_names]
        shares.append(float(np.mean(sum(columns[:3]) % 2 == columns[-1])))
    assert min(shares[:2]) > 0.8
    assert shares[2] < 0.6
    assert "A search for interactions found what pairs do not tell: parity(b0, b1, b2, label)." in str(runs[1])


def test_it_chooses_what_the_command_line_chooses(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    pd.DataFrame(COLUMNS).to_csv(data, index=False)
    hedgerow.write_domain(hedgerow.synthesize(data, domain=DOMAIN, seed=3).release.domain, tmp_path / "d.yaml")
    call = ["synth", data, "--domain", tmp_path / "d.yaml", "--epsilon", 1, "--seed", 3, "-o", tmp_path / "out.csv"]
    assert CliRunner().invoke(app, list(map(str, call))).exit_code == 0
    theirs, ours = hedgerow.Release.load(tmp_path / "out.release"), make(data, seed=3).release
    assert (ours.events, ours.budget, ours.total) == (theirs.events, theirs.budget, theirs.total)
    assert np.allclose(ours.workload.answers(ours.model), theirs.workload.answers(theirs.model))
    assert ours.provenance.parameters == theirs.provenance.parameters


def test_it_says_what_it_assumed_and_not_what_it_was_told() -> None:
    told = str(make())
    for argument in ("person=", "workload=", "mechanism=", "register=", "records="):
        assert argument in told
    assert make().release.guarantee() in told
    chosen = make(workload="marginals:1", mechanism=hedgerow.IndependentNoise(), records=9)
    assert [each for each in chosen.assumptions if "workload=" in each or "mechanism=" in each] == []
    assert chosen.release.provenance.algorithm == "IndependentNoise"
    assert len(repr(make())) < 100


def test_it_tells_the_errors_of_answers_and_of_records() -> None:
    said = str(make(records=150))
    assert "mean error of the released model" in said
    assert "In a file of 150 records the mean error lies between" in said


def test_it_says_what_somebody_may_regret() -> None:
    assert "Warning:" not in str(make())
    stopped = str(make(mechanism=hedgerow.OfflinePMW(alpha=0.9)))
    assert "Warning: " in stopped
    assert "of the budget is not spent" in stopped


def test_it_is_made_for_records_unless_answers_alone_are_wanted() -> None:
    assert make().release.provenance.parameters["optimize_for"] == "records"
    assert make(optimize_for="answers").release.provenance.parameters["optimize_for"] == "answers"
    with pytest.raises(ConfigError, match="laplace takes no option 'optimize_for'"):
        make(mechanism="laplace", optimize_for="answers")
    with pytest.raises(ConfigError, match="beside a mechanism that is configured"):
        make(mechanism=hedgerow.MWEM(), optimize_for="answers")


def test_no_domain_is_refused_with_the_way_to_one() -> None:
    with pytest.raises(DomainError, match=r"hedgerow domain 'my people.csv' -o 'my people\.domain\.yaml'"):
        hedgerow.synthesize("my people.csv")
    with pytest.raises(DomainError, match=r"draft_domain\(data\)"):
        hedgerow.synthesize(pa.table(COLUMNS))


def test_a_draft_that_is_taken_as_it_stands_is_written_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds values of the table: a kill would leave them there."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert make(domain=None, accept_draft=True).release.domain.draft


def test_a_draft_is_stamped() -> None:
    made = make(pa.table({**COLUMNS, "n": [2] * 400}).to_reader(), domain=None, accept_draft=True, count_column="n")
    assert made.release.domain.draft
    assert "a draft that was accepted as it stood" in str(made)
    assert set(made.records.column_names) == set(COLUMNS)
    with pytest.raises(DomainError, match="draft"):
        make(domain=made.release.domain)
    assert make(domain=made.release.domain, accept_draft=True).release.domain.draft


def test_budgets_and_persons_are_those_of_the_arguments() -> None:
    assert make(epsilon=2.0).release.budget.to_dict()["epsilon"] == 2.0
    assert make(epsilon=1.0, delta=1e-6).release.budget.statement().count("delta = 1e-06") == 1
    assert make(budget=hedgerow.ZCDP(0.5)).release.budget.to_dict()["kind"] == "zcdp"
    assert make(neighbours="replace").n_records == 400
    people = pa.table({**COLUMNS, "who": [row // 4 for row in range(400)]})
    persons = make(people, person="who", at_most=4).release.budget.neighbours.persons
    assert persons is not None
    assert (persons.column, persons.at_most) == ("who", 4)
    with pytest.raises(ConfigError, match="0 records"):
        make(records=0)


def test_some_columns_alone_are_read() -> None:
    made = make(columns=["age", "sex"])
    assert made.release.domain.names == ("age", "sex")
    with pytest.raises(UndeclaredColumnError):
        make(pa.table({**COLUMNS, "more": [0] * 400}))


def test_a_condition_on_rows_of_a_file(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    pd.DataFrame(COLUMNS).to_csv(data, index=False)
    made = make(data, where="sex = 'F'", epsilon=50.0)
    assert abs(made.release.total - 200) < 20
    with pytest.raises(ConfigError, match="a condition on the rows of a Table"):
        make(where="sex = 'F'")


def test_a_register_refuses_before_anything_is_spent(tmp_path: Path) -> None:
    register = hedgerow.Register(tmp_path / "people.register", hedgerow.PureDP(1.5))
    make(register=register, seed=None)
    with pytest.raises(RegisterExceededError):
        make(register=register, seed=None)
    assert register.spent == 1.0


def test_a_wrong_cell_charges_no_register(tmp_path: Path) -> None:
    register = hedgerow.Register(tmp_path / "people.register", hedgerow.PureDP(1.5))
    with pytest.raises(DataError):
        make(pa.table(COLUMNS | {"sex": ["X"] * 400}), register=register, seed=None)
    assert register.spent == 0.0


def test_report_file_and_answers(tmp_path: Path) -> None:
    made = make()
    page = made.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert "NOT PRIVATE" in page
    made.save(tmp_path / "people.release")
    again = hedgerow.Release.load(tmp_path / "people.release").answer("sex = 'F'")
    assert made.answer("sex = 'F'").value == pytest.approx(again.value)
    assert made.answer("sex = 'F'").low == again.low


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_the_command_names_the_way_to_a_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({**COLUMNS, "who": range(400)}).to_csv("people.csv", index=False)
    call = ["synth", "people.csv", "--epsilon", "1", "--person", "who", "--at-most", "2", "-o", "out.csv"]
    refused = CliRunner().invoke(app, call)
    assert refused.exit_code == 1
    assert "hedgerow domain people.csv -o people.domain.yaml" in " ".join(refused.stderr.split())
    assert os.listdir() == ["people.csv"]

    monkeypatch.setattr("hedgerow.cli.commands.preparing.sys.stdin", _Terminal())
    answers = iter([False, True])
    monkeypatch.setattr("typer.confirm", lambda *_, **__: next(answers))
    from hedgerow.cli.commands.preparing import offer_draft
    from hedgerow.cli.console import Output

    with pytest.raises(DomainError, match="no domain"):
        offer_draft(Output(), "people.csv", None, ("who", None))
    with pytest.raises(DomainError, match="nothing was run"):
        offer_draft(Output(), "people.csv", None, ("who", None))
    assert sorted(os.listdir()) == ["people.csv", "people.domain.yaml"]
    assert hedgerow.read_domain("people.domain.yaml", accept_draft=True).names == ("sex", "age", "smokes")


def test_bins_and_values_are_learnt_under_the_same_budget(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        {
            "job": ["nurse"] * 900 + ["clerk"] * 800 + [f"rare {i}" for i in range(100)],
            "age": [i % 90 for i in range(1800)],
            "sex": ["F", "M"] * 900,
        }
    )
    domain = {
        "job": {"values": {"learn": 20}},
        "age": {"min": 0, "max": 120, "bins": {"learn": 4}, "whole": True},
        "sex": ["F", "M"],
    }
    made = hedgerow.synthesize(rows, 4.0, 1e-6, domain=domain, seed=3, workload="marginals:1")
    assert isinstance(made.records, pd.DataFrame)
    assert set(made.records["job"].dropna()) <= {"nurse", "clerk", "other"}
    assert made.release.domain["age"].ordinary == 4
    labels = [event.label for event in made.release.events]
    assert labels[:3] == ["learn"] * 3
    assert made.release.budget.thresholds == 5e-7
    assert made.release.spent <= made.release.budget.limit
    with pytest.raises(ConfigError, match="--delta"):
        hedgerow.synthesize(rows, 4.0, domain=domain)
    (tmp_path / "d.yaml").write_text("age: {min: 0, max: 120, bins: {learn: 4}}\nsex: [F, M]")
    register = hedgerow.Register(tmp_path / "people.register", limit=hedgerow.PureDP(2.5))
    for _ in range(2):
        hedgerow.synthesize(rows, domain=tmp_path / "d.yaml", columns=["age", "sex"], register=register, name="once")
    assert [entry.attributes for entry in register.entries] == [("age", "sex")] * 2
    with pytest.raises(RegisterExceededError):
        hedgerow.synthesize(rows, domain=tmp_path / "d.yaml", columns=["age", "sex"], register=register)


def test_a_drawing_of_a_column_is_a_picture_in_notebooks_and_text_elsewhere() -> None:
    made = make()
    drawn = made.plot("smokes", confidence=0.9)
    assert drawn.startswith("<?xml")
    assert drawn._repr_svg_().startswith("<svg")
    assert "synthetic counts of smokes" in drawn
    assert str(made.plot("age")) != str(drawn)
    with pytest.raises(DomainError, match="no attribute 'name'"):
        made.plot("name")
