"""``hedgerow synth-linked``, and ``hedgerow sample`` with the children's release."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.csv
import pytest
from click.testing import Result

import hedgerow.cli.commands.linked as linked_module
from hedgerow.cli.running import run_accounted
from hedgerow.errors import ModelTooLargeError
from hedgerow.release import LinkedRelease, Release
from tests.cli.conftest import Place
from tests.release.test_linked import tables


@pytest.fixture
def linked(place: Place) -> Place:
    for path in map(Path, place.names()):
        (place.folder / path).unlink()
    for name, table in zip(("homes", "people"), tables(), strict=True):
        pyarrow.csv.write_csv(table, place / f"{name}.csv")
    (place / "homes.yaml").write_text("a: {min: 0, max: 1}\n")
    (place / "people.yaml").write_text("attributes: {b: {min: 0, max: 3}}\n")
    return place


def synth(place: Place, *options: object, budget: tuple[object, ...] = ("--epsilon", 5, "--delta", 1e-6)) -> Result:
    call = ("synth-linked", place / "homes.csv", place / "people.csv", "--key", "k", "--at-most", 3)
    described = ("--domain", place / "homes.yaml", "--children-domain", place / "people.yaml")
    places = ("-o", place / "h.csv", "--children-output", place / "p.csv")
    return place.call(*call, *described, *places, *budget, *options)


def test_two_releases_and_two_files_with_intact_keys(linked: Place) -> None:
    result = synth(linked, "--number", "size", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    homes, people = (pyarrow.csv.read_csv(linked / name) for name in ("h.csv", "p.csv"))
    assert (homes.num_rows, people.num_rows) == (told["n_parents"], told["n_children"])
    assert set(people["k"].to_pylist()) <= set(homes["k"].to_pylist())
    assert "epsilon = 5" in told["guarantee"]
    assert "at most 3 count" in told["guarantee"]
    assert Release.load(linked / "p.release").domain.names == ("a", "size", "b")
    again = ("--children", linked / "p.release", "-o", linked / "h2.csv", "--children-output", linked / "p2.csv")
    result = linked.call("sample", linked / "h.release", *again, "-n", 7, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "7 synthetic parents" in result.output
    assert pyarrow.csv.read_csv(linked / "h2.csv").num_rows == 7
    assert linked.call("audit", linked / "h.release").exit_code == 0
    assert linked.call("audit", linked / "p.release").exit_code == 0


def test_both_files_have_replicates(linked: Place) -> None:
    assert synth(linked).exit_code == 0
    places = ("-o", linked / "h.csv", "--children-output", linked / "p.csv", "--force", "--replicates", 3)
    call = ("sample", linked / "h.release", "--children", linked / "p.release", *places, "--seed", 1)
    assert "what children of one parent share was not measured" in linked.call(*call).stderr
    result = linked.call(*call, "--replicate-for", "file", "--replicate-files", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [Path(each).name for each in told["files"][:4]] == ["h.csv", "p.csv", "h_rep1.csv", "p_rep1.csv"]
    assert told["replicates"]["tables"][1]["for"] == "file"
    assert pyarrow.csv.read_csv(linked / "p_rep3.csv").column_names == ["k", "b", "weight"]
    again = linked.call(*call[:-1], 2, "--replicate-for", "file", "--replicate-weights")
    assert "3 replicates for the files, weights" in again.stdout
    assert pyarrow.csv.read_csv(linked / "h.csv").column_names[-1] == "repweight_3"


def test_children_with_an_order_are_drawn_one_after_the_other(linked: Place) -> None:
    (linked / "people.yaml").write_text("attributes: {t: {min: 0, max: 9}, b: {min: 0, max: 3}}\n")
    people = pyarrow.csv.read_csv(linked / "people.csv")
    days = pyarrow.array([place % 3 for place in range(people.num_rows)])
    pyarrow.csv.write_csv(people.append_column("t", days), linked / "people.csv")
    result = synth(linked, "--order", "t", "--json")
    assert result.exit_code == 0, result.output
    assert Release.load(linked / "p.release").domain.names == ("a", "children", "previous.b", "gap", "t", "b")
    drawn = pyarrow.csv.read_csv(linked / "p.csv")
    assert drawn.column_names == ["k", "t", "b"]
    keys, places = drawn["k"].to_numpy(), drawn["t"].to_numpy()
    assert (places[1:] >= places[:-1])[keys[1:] == keys[:-1]].all()
    again = ("--children", linked / "p.release", "-o", linked / "h2.csv", "--children-output", linked / "p2.csv")
    result = linked.call("sample", linked / "h.release", *again, "-n", 7, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert linked.call("ask", linked / "p.release", "gap = 1 and previous.b = 0").exit_code in (0, 2)
    result = synth(linked, "--order", "t", "--second-order", "b", "--force")
    assert result.exit_code == 0, result.output
    assert "b: given the two children before" in result.output
    assert Release.load(linked / "p.release").domain.names[2:4] == ("previous.previous.b", "previous.b")
    result = synth(linked, "--order", "t", "--force", budget=("--epsilon", 900))
    assert "previous.previous.b" not in Release.load(linked / "p.release").domain.names
    result = synth(linked, "--order", "t", "--second-order", "auto", "--force", budget=("--epsilon", 900))
    assert "previous.previous.b" in Release.load(linked / "p.release").domain.names
    own = ("--order", "t", "--second-order", "auto", "--children-workload", "marginals:1", "--force")
    result = synth(linked, *own, budget=("--epsilon", 900))
    assert "'auto' takes none beside a workload of the children" in result.output
    assert "previous.previous.b" not in Release.load(linked / "p.release").domain.names
    result = synth(linked, "--order", "t", "--second-order", "auto", "--force", budget=("--epsilon", 0.01))
    assert "its tables would be mostly noise" in result.output
    result = synth(linked, "--order", "who", "--force")
    assert result.exit_code == 1
    assert "no column 'who' that is never missing" in result.stderr


RULED = {
    "homes.yaml": "attributes: {a: {min: 0, max: 1}, c: {min: 0, max: 1}}\n"
    "constraints: [{impossible: a = 0 and c = 1}]\n",
    "people.yaml": "attributes: {b: {min: 0, max: 3}, d: {min: 0, max: 1}}\n"
    "constraints: [{impossible: b = 0 and d = 1}]\n",
}


@pytest.mark.parametrize("ruled", [("homes.yaml", "people.yaml"), ("homes.yaml",), ("people.yaml",), ()])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_the_relation_that_is_printed_is_that_of_the_releases(
    linked: Place, ruled: tuple[str, ...], relation: str
) -> None:
    """Where parents are left out, how many are left is private; the table decides it, and not the option alone."""
    for name, column in (("homes", "c"), ("people", "d")):
        table = pyarrow.csv.read_csv(linked / f"{name}.csv")
        zeros = pyarrow.array([0] * table.num_rows)
        if f"{name}.yaml" in ruled:
            pyarrow.csv.write_csv(table.append_column(column, zeros), linked / f"{name}.csv")
            (linked / f"{name}.yaml").write_text(RULED[f"{name}.yaml"])
    result = synth(linked, "--neighbours", relation, "--violations", "drop", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)["guarantee"]
    parents, children = (Release.load(linked / name) for name in ("h.release", "p.release"))
    private = parents.budget.neighbours.value.startswith("replace-then-filter")
    assert private == (relation == "replace" and "homes.yaml" in ruled)
    assert ("before the filter chooses rows" in said) == private
    assert ("(the number of persons is public)" in said) == (relation == "replace" and not private)
    assert LinkedRelease.from_parts(parents, children).guarantee().split(",")[0] == said.split(",")[0]


def test_a_register_is_charged_once_for_both(linked: Place) -> None:
    options = ("--register", linked / "r.register", "--limit", 2, "--limit-delta", 1e-6)
    budget = ("--epsilon", 1, "--delta", 1e-9)
    result = synth(linked, *options, budget=budget)
    assert result.exit_code == 0, result.output
    shown = json.loads(linked.call("register", "show", linked / "r.register", "--json").stdout)
    assert len(shown["entries"]) == 1
    assert "persons (k)" in json.dumps(shown)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"people.csv": "k,b\n0,1\n7777,2\n"}, "a child without a parent"),
        ({"homes.csv": "k,a\n0,1\n0,0\n"}, "a key that another parent has"),
        ({"homes.yaml": "k: {min: 0, max: 9}\na: {min: 0, max: 1}\n"}, "the key 'k' is declared"),
        ({"people.yaml": "children: {min: 0, max: 9}\n"}, "there is a column 'children' already"),
    ],
)
def test_bad_input_is_explained_and_writes_nothing(linked: Place, change: dict[str, str], message: str) -> None:
    for name, text in change.items():
        (linked / name).write_text(text)
    before = linked.names()
    result = synth(linked)
    assert result.exit_code == 1
    assert message in result.output
    assert "7777" not in result.output
    assert linked.names() == before


def test_a_misspelt_key_costs_nothing(linked: Place) -> None:
    options = ("--register", linked / "r.register", "--limit", 2, "--limit-delta", 1e-6, "--key", "kk")
    result = synth(linked, *options, budget=("--epsilon", 1, "--delta", 1e-9))
    assert result.exit_code == 1
    shown = json.loads(linked.call("register", "show", linked / "r.register", "--json").stdout)
    assert shown["entries"] == []


def test_a_second_run_that_fails_does_not_hide_the_first(linked: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def run(*given: object) -> Release:
        runs.append(given)
        if len(runs) == 2:
            raise ModelTooLargeError(cells=1, required_bytes=2, available_bytes=1)
        return run_accounted(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(linked_module, "run_accounted", run)
    result = synth(linked)
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert "h.release" in said
    assert "spent before it stopped: 1.5 of 5 epsilon" in said


def test_tables_of_a_database_are_not_replaced_without_force(linked: Place) -> None:
    assert synth(linked).exit_code == 0
    base = linked / "x.db"
    with duckdb.connect(str(base)) as connection:
        connection.execute("create table homes as select 42 as value")
    call = ("sample", linked / "h.release", "--children", linked / "p.release", "-n", 5, "-o", f"duckdb:{base}#homes")
    result = linked.call(*call, "--children-output", f"duckdb:{base}#people")
    assert result.exit_code == 1
    assert "exists" in result.output
    result = linked.call(*call, "--children-output", f"duckdb:{base}#HOMES", "--force")
    assert "need a place each" in " ".join(result.output.split())
    with duckdb.connect(str(base)) as connection:
        assert connection.execute("select * from homes").fetchall() == [(42,)]
    assert linked.call(*call, "--children-output", f"duckdb:{base}#people", "--force").exit_code == 0


def test_existing_files_stay_and_children_need_both_options(linked: Place) -> None:
    (linked / "p.release").write_text("mine")
    result = synth(linked)
    assert result.exit_code == 1
    assert "p.release exists" in result.output.replace("\n", " ")
    assert (linked / "p.release").read_text() == "mine"
    assert synth(linked, "--force").exit_code == 0
    result = linked.call("sample", linked / "h.release", "--children", linked / "p.release", "-o", linked / "x.csv")
    assert result.exit_code == 1
    assert "--children and --children-output go together" in result.output


FURTHER = "jobs: {{table: {0}/jobs.csv, domain: {0}/jobs.yaml, key: who, at_most: 2, output: {0}/j.csv{1}}}\n"


@pytest.fixture
def tree(linked: Place) -> Place:
    """People with names, and a job of each second one."""
    people = pyarrow.csv.read_csv(linked / "people.csv")
    names = pyarrow.array([f"p{place}" for place in range(people.num_rows)])
    pyarrow.csv.write_csv(people.append_column("who", names), linked / "people.csv")
    jobs = {"who": names[::2], "pay": pyarrow.array([place % 3 for place in range(len(names[::2]))])}
    pyarrow.csv.write_csv(pyarrow.table(jobs), linked / "jobs.csv")
    (linked / "jobs.yaml").write_text("attributes: {pay: {min: 0, max: 2}}\n")
    (linked / "further.yaml").write_text(FURTHER.format(linked.folder, ""))
    return linked


def test_a_tree_has_a_release_and_a_file_of_each_table(tree: Place) -> None:
    result = synth(tree, "--further", tree / "further.yaml", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    homes, people, jobs = (pyarrow.csv.read_csv(tree / name) for name in ("h.csv", "p.csv", "j.csv"))
    assert [told[name] for name in ("n_parents", "n_children", "n_jobs")] == [
        len(each) for each in (homes, people, jobs)
    ]
    assert (people.column_names, jobs.column_names) == (["k", "who", "b"], ["who", "pay"])
    assert {*people["k"].to_pylist()} <= {*homes["k"].to_pylist()}
    assert {*jobs["who"].to_pylist()} <= {*people["who"].to_pylist()}
    assert "3 of 'children', 6 of 'jobs'" in told["guarantee"]
    assert told["files"]["jobs_release"].endswith("j.release")
    assert Release.load(tree / "j.release").domain.names == ("a", "children", "b", "jobs", "pay")
    again = ("--children", tree / "p.release", "--children", tree / "j.release")
    places = ("--children-output", tree / "p2.csv", "--children-output", tree / "j2.csv")
    result = tree.call("sample", tree / "h.release", *again, "-o", tree / "h2.csv", *places, "-n", 7, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert {*pyarrow.csv.read_csv(tree / "j2.csv")["who"].to_pylist()} <= {
        *pyarrow.csv.read_csv(tree / "p2.csv")["who"].to_pylist()
    }
    for name in ("h", "p", "j"):
        assert tree.call("audit", tree / f"{name}.release").exit_code == 0
    assert tree.call("answer", tree / "j.release", "a = 1 and pay = 2").exit_code == 0
    result = tree.call(
        "sample", tree / "h.release", *again[:2], "-o", tree / "h3.csv", "--children-output", tree / "p3.csv"
    )
    assert "3 tables are linked, and there are 2 releases" in " ".join(result.output.split())


def test_a_column_that_a_table_above_has_too_is_told(tree: Place) -> None:
    declared = "attributes: {pay: {min: 0, max: 2}, b: {min: 0, max: 3}}\n"
    for rule, told in (("", True), ("constraints: [impossible: pay = 2 and b = 3]\n", False)):
        (tree / "jobs.yaml").write_text(declared + rule)
        result = synth(tree, "--further", tree / "further.yaml", "--share", "no share")
        assert ("jobs: b stand in a table above too" in result.output.replace("\n", " ")) is told


def test_a_register_is_charged_once_for_a_tree(tree: Place) -> None:
    (tree / "further.yaml").write_text(FURTHER.format(tree.folder, ", in_all: 4"))
    options = ("--register", tree / "r.register", "--limit", 2, "--limit-delta", 1e-6, "--share", "0.2,0.3")
    result = synth(tree, "--further", tree / "further.yaml", *options, budget=("--epsilon", 1, "--delta", 1e-9))
    assert result.exit_code == 0, result.output
    shown = json.loads(tree.call("register", "show", tree / "r.register", "--json").stdout)
    (entry,) = shown["entries"]
    assert {"a", "b", "pay", "jobs"} <= {*entry["attributes"]}
    parts = [Release.load(tree / f"{name}.release").budget.limit for name in "hpj"]
    assert [round(part / sum(parts), 6) for part in parts] == [0.2, 0.3, 0.5]
    made = LinkedRelease.from_parts(*(Release.load(tree / f"{name}.release") for name in "hpj"))
    assert made.linked.bounds == (1, 3, 4)
    assert "4 of 'jobs'" in made.guarantee()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "the tables are not described"),
        ("children: {}", "the tables are not described"),
        ("jobs: {table: jobs.csv}", "jobs: it does not describe a further table"),
        (FURTHER.format(".", ", color: red"), "jobs: it does not describe a further table"),
        (FURTHER.format(".", ", order: 3"), "jobs: it does not describe a further table"),
        (FURTHER.format(".", ", below: nobody"), "there is no table 'nobody'"),
        (FURTHER.format("{0}", ", below: parents"), "name the records of table 0 by 'k' and by 'who'"),
        (FURTHER.format("{0}", ", order: who"), "no column 'who' that is never missing"),
        (FURTHER.format("{0}", ", number: b"), "there is a column 'b' already"),
    ],
)
def test_a_file_of_further_tables_that_is_wrong_is_explained(tree: Place, text: str, message: str) -> None:
    (tree / "further.yaml").write_text(text.replace("{0}", str(tree.folder)))
    before = tree.names()
    result = synth(tree, "--further", tree / "further.yaml")
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
    assert tree.names() == before
