"""Columns of any name: what a table gives does not depend on what its columns are called.

Every test makes something twice: of a table whose columns have names that are words, signs or numbers of the languages
that the package speaks, and of the same table with plain names. Noise comes from one seed, and the figures must be the
same, all of them, bit for bit.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

import hedgerow
from hedgerow.algorithms import workload_before
from hedgerow.audit import audit_files
from hedgerow.cli.lists import joined_names, split_bounds, split_names
from hedgerow.comparison import compare
from hedgerow.data import automatic_domain
from hedgerow.domain import (
    Categorical,
    Domain,
    IntegerRange,
    OpenDomain,
    domain_from_mapping,
    in_condition,
    read_domain,
)
from hedgerow.errors import ConfigError
from hedgerow.evaluation import evaluate
from hedgerow.queries import Conjunction, Workload, parse_predicate, workload_from_dict, workload_to_dict
from hedgerow.release import LinkedRelease, Release, select_from
from hedgerow.report import render_report
from tests.cli.command_line import app
from tests.data.sources import duckdb_file, many_csv, many_parquet, one_csv, one_parquet
from tests.service.api import Api, api, registration

pytestmark = pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
"""The font of drawings has not all letters."""

NAMES = (
    *("2", "a,b", "a:b", "a * b", "a.5", "a", '"q"', "x' or 1=1", "*", "number of records", "labels of x"),
    *("line\nbreak", "größe 日本", "marginals", "where", "select", "and", " lead", "trail ", ".dotted", "[0]"),
    *("3<=100", "a=b", "a;b", "a@levels", "a @ 0.5", "%s {x}", "`tick`", "kept)", "count", "children", "x, y (z"),
    *("quantiles of a", "worst of 3", "order", "--x", "\\back", "tab\there", "cells:2", "NULL", "0", "levels", "from"),
    *("#", "a/b", "$a", "<b>&amp;", "=", ",", "(", ")", "(age", "a x b", "age=5", "-", ".5", "group by", "distinct"),
    *("avg", "values", "attributes", "min", "bins", "@", "'", "_", "id of persons (p), at most 3 records", "  "),
)
"""Words, signs and numbers of workload texts, SQL, ledgers, domain files, CSV and paths."""
ROLES = ("home", "job", "age", "town", "sex", "patient", "often", "copies", "region")
"""What the columns are, which are their plain names too; the last four say something of rows."""
CLOSED, OPEN = ROLES[:1] + ROLES[1:2] + ROLES[4:5], ROLES[:5]
Names = Mapping[str, str]
PLAIN: Names = {role: role for role in ROLES}


def naming(first: int) -> Names:
    """Names for all columns, from a place in the list on."""
    found = {role: NAMES[(first + i) % len(NAMES)] for i, role in enumerate(ROLES)}
    return with_a_weight(found)


def with_a_weight(names: Names) -> Names:
    """The names; that of the weights without parentheses, which a ledger's relation could not be read with."""
    return {**names, "often": names["often"].translate({ord("("): "[", ord(")"): "]"})}


EVERY = range(0, len(NAMES), 4)
"""With each of these every name is that of a column of records, and of another column of rows, at least once."""
LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=6)
NAMINGS = st.lists(
    st.one_of(st.sampled_from(NAMES), LETTERS),
    min_size=len(ROLES),
    max_size=len(ROLES),
    unique_by=lambda name: name.casefold(),  # DuckDB does not tell others apart
).map(lambda names: with_a_weight(dict(zip(ROLES, names, strict=True))))


def table_of(names: Names, roles: tuple[str, ...] = ROLES, n: int = 400) -> pa.Table:
    draw = np.random.default_rng(0)
    cells = {
        "home": draw.integers(0, 4, n),
        "job": np.array(["clerk", "cook", "nurse"])[draw.integers(3, size=n)],
        "age": draw.integers(0, 100, n) ** 2 // 100,
        "town": np.array(["x", "y", "z", "it's", "rare"])[draw.choice(5, n, p=[0.4, 0.3, 0.2, 0.09, 0.01])],
        "sex": draw.integers(0, 2, n),
        "patient": draw.integers(0, n // 2, n),
        "often": draw.integers(1, 6, n),
        "copies": draw.integers(0, 4, n),
        "region": np.array(["north", "south"])[draw.integers(2, size=n)],
    }
    return pa.table([pa.array(cells[role]) for role in roles], names=[names[role] for role in roles])


def sql(name: str) -> str:
    """A name that is quoted by hand, not by the code that is tested."""
    return '"' + name.replace('"', '""') + '"'


def closed(names: Names) -> dict[str, Any]:
    return {
        "attributes": {
            names["home"]: {"min": 0, "max": 3},
            names["job"]: ["clerk", "cook", "nurse"],
            names["sex"]: {"min": 0, "max": 1},
        }
    }


def opened(names: Names) -> dict[str, Any]:
    """Bins to be learnt, labels to be learnt, and a public list of which some values are kept."""
    return {
        "attributes": {
            names["home"]: {"min": 0, "max": 3},
            names["job"]: ["clerk", "cook", "nurse"],
            names["age"]: {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}},
            names["town"]: {"values": {"learn": 6}},
            names["sex"]: {"values": {"learn": 2, "of": [0, 1, 5]}},
        }
    }


def ruled(names: Names) -> Domain:
    """Bins and their levels, and a rule."""
    content = closed(names)
    content["attributes"][names["age"]] = {
        "min": 0,
        "max": 99,
        "whole": True,
        "bins": 10,
        "levels": [{"half": {"edges": [0, 50, 99]}}],
    }
    content["constraints"] = [{"impossible": f"{sql(names['home'])} = 3 and {sql(names['sex'])} = 1"}]
    return domain_from_mapping(content)


def ruled_table(names: Names) -> Any:
    return hedgerow.read_table(table_of(names), ruled(names), extra_columns="ignore", violations="drop")


def role_of(names: Names) -> Callable[[str], str]:
    """The plain name of a column or of a level of one."""
    plain = {name: role for role, name in names.items()}
    plain |= {f"{names['age']}.half": "age.half"}
    return lambda name: plain.get(name, name)


def figures(release: Release, names: Names) -> list[Any]:
    """All numbers of a release, by plain names."""
    role = role_of(names)
    measured = [
        (tuple(map(role, each.target.scope)), each.values.tolist(), each.scale) for each in release.measurements
    ]
    events = [(event.label, event.mechanism, event.scale, event.charge) for event in release.events]
    return [release.total, measured, events, columns_of(release.sample(50, seed=3).to_arrow())]


def columns_of(table: pa.Table) -> list[list[Any]]:
    return [column.to_pylist() for column in table.columns]


def in_a_frame(kind: str) -> Callable[[pa.Table, Path], tuple[Any, dict[str, Any]]]:
    def put(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
        if kind == "arrow":
            return table, {}
        if kind == "pandas":
            return table.to_pandas(), {}
        import polars

        return polars.from_arrow(table), {}

    return put


def in_a_folder(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    (folder / "people").mkdir()
    many_parquet(table, folder / "people")
    return folder / "people", {}


PLACES = {kind: in_a_frame(kind) for kind in ("arrow", "pandas", "polars")} | {
    "CSV": one_csv,
    "Parquet": one_parquet,
    "CSV files": many_csv,
    "Parquet files": many_parquet,
    "folder": in_a_folder,
    "DuckDB": duckdb_file,
}
FRAMES = ("arrow", "pandas", "polars")


def full(names: Names, place: str) -> dict[str, Any]:
    """Persons with several records, weights, and where a database reads the rows a condition."""
    where = {} if place in FRAMES else {"where": f"{sql(names['region'])} = 'north'"}
    return {"person": names["patient"], "at_most": 2, "weight": names["often"], "largest_weight": 4, **where}


def counts(names: Names, place: str) -> dict[str, Any]:
    return {"count_column": names["copies"]}


Options = Callable[[Names, str], dict[str, Any]]
SORTS: dict[str, tuple[Callable[[Names], dict[str, Any]], tuple[str, ...], Options]] = {
    "closed": (closed, CLOSED, lambda names, place: {}),
    "counts": (closed, CLOSED, counts),
    "learnt": (opened, OPEN, lambda names, place: {"delta": 1e-6}),
    "persons": (opened, OPEN, lambda names, place: {"delta": 1e-6, **full(names, place)}),
}


def made(names: Names, place: str, sort: str, folder: Path) -> list[Any]:
    """Everything that one call gives from a table in a place, saved and read back."""
    content, roles, options = SORTS[sort]
    source, _ = PLACES[place](table_of(names), folder)
    columns = [names[role] for role in roles]
    found = hedgerow.synthesize(
        source, 5.0, domain=content(names), columns=columns, seed=1, records=100, **options(names, place)
    )
    found.release.save(folder / "people.release")
    release = Release.load(folder / "people.release")
    home, job = sql(names["home"]), sql(names["job"])
    told: list[Any] = [figures(release, names), figures(found.release, names)]
    for condition in (f"{home} = 1", f"{home} in (1, 2) and not {job} = 'cook'", f"1 < {home} or {job} = 'nurse'"):
        answer = release.answer(condition)
        told.append((answer.value, answer.low, answer.high))
        again = release.answer(parse_predicate(condition, release.domain).text)
        assert again.value == answer.value, "a condition does not read its own text"
    selected = select_from(release, f"select {job}, count(*), avg({home}) from t where {home} < 3 group by {job}")
    told.append([list(row.values()) for row in selected.to_dicts()])
    told.append(columns_of(release.sample(20, seed=5, given=f"{job} = 'nurse'").to_arrow()))
    told.append(columns_of(release.sample(seed=5, given=pa.table({names["job"]: ["nurse", "cook"]})).to_arrow()))
    for ending in ("csv", "parquet"):
        release.write_records(folder / f"out.{ending}", 30, seed=2)
    written = pyarrow.csv.read_csv(folder / "out.csv"), pyarrow.parquet.ParquetFile(folder / "out.parquet").read()
    release.write_records(f"duckdb:{folder}/out.db#out", 30, seed=2)
    assert [each.column_names for each in written] == [columns, columns]
    return [*told, *map(columns_of, written)]


@cache
def plainly(work: Callable[..., list[Any]], *arguments: str) -> list[Any]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return work(PLAIN, *arguments, Path(folder))


def same(work: Callable[..., list[Any]], names: Names, folder: Path, *arguments: str) -> None:
    """Work that gives the same of a table with other names."""
    assert work(names, *arguments, folder) == plainly(work, *arguments)


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("first", EVERY)
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("place", ["arrow", "CSV", "DuckDB"])
def test_synthetic_records_do_not_depend_on_names(place: str, sort: str, first: int, tmp_path: Path) -> None:
    same(made, naming(first), tmp_path, place, sort)


@pytest.mark.slow
@settings(max_examples=40)
@given(names=NAMINGS, place=st.sampled_from(list(PLACES)), sort=st.sampled_from(list(SORTS)))
def test_names_that_nobody_thought_of(
    names: Names, place: str, sort: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    same(made, names, tmp_path_factory.mktemp("names"), place, sort)


def run(names: Names, which: str, folder: Path) -> list[Any]:
    """A run of one mechanism, its file, its report and its audit."""
    domain, home, age = ruled(names), names["home"], names["age"]
    condition = f"{sql(home)} in (1, 2) and {sql(names['job'])} = 'nurse'"
    mixed = Workload.marginals(domain, 2) + Workload.prefixes(domain, age).weighted(0.5)
    mixed += Workload.ranges(domain, [home, age], 5, seed=3) + Workload.conjunctions(domain, [condition])
    algorithm, workload = {
        "mwem": (hedgerow.MWEM(rounds=3), mixed),
        "levels": (hedgerow.MWEM(rounds=3), Workload.marginals(domain, 2, levels=True)),
        "noise": (hedgerow.IndependentNoise(), mixed),
        "dual query": (hedgerow.DualQuery(rounds=2, samples=3, seed=1), Workload.conjunctions(domain, [condition])),
    }[which]
    release = algorithm.run(ruled_table(names), workload, hedgerow.PureDP(8.0), noise=hedgerow.SeededNoise(2))
    release.save(folder / "people.release")
    back = Release.load(folder / "people.release")
    assert back.workload == release.workload
    assert render_report(back).count("<svg") == render_report(release).count("<svg")
    found = audit_files([folder / "people.release"]).files[0].findings
    return [figures(back, names), [(each.check, each.severity) for each in found]]


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("first", EVERY)
@pytest.mark.parametrize("which", ["mwem", "levels", "noise", "dual query"])
def test_releases_reports_and_audits_do_not_depend_on_names(which: str, first: int, tmp_path: Path) -> None:
    same(run, naming(first), tmp_path, which)


def asked(names: Names, folder: Path) -> list[Any]:
    """A session that is saved and goes on."""
    home, job, age = sql(names["home"]), sql(names["job"]), sql(names["age"])
    online = hedgerow.OnlinePMW(updates=4, threshold=0.05, queries=100)
    table = ruled_table(names)
    session = online.start(table, hedgerow.PureDP(9.0), noise=hedgerow.SeededNoise(4))
    questions = [f"{home} = 0", f"{home}=1", f"{job} = 'cook' and {age} < 50", f"{home} = 2"]
    told: list[Any] = [session.ask(question).value for question in questions[:2]]
    session.save(folder / "session")
    session = hedgerow.OnlineSession.restore(folder / "session", table, noise=hedgerow.SeededNoise(5))
    told += [(answer.value, answer.source) for answer in map(session.ask, questions)]
    for statement in (
        f"SELECT {job}, COUNT(*), AVG({home}) FROM t WHERE {age} < 50 GROUP BY {job}",
        f"select {job}, {sql(names['sex'])}, count(*) from t group by {job}, {sql(names['sex'])}",
    ):
        told.append([list(row.values()) for row in session.select(statement).to_dicts()])
    return told


def linked(names: Names, folder: Path) -> list[Any]:
    """Two tables with a key, their releases and their records."""
    parts = closed(names)["attributes"]
    homes = domain_from_mapping({"attributes": {name: parts[name] for name in (names["home"], names["job"])}})
    people = domain_from_mapping({"attributes": {names["age"]: {"min": 0, "max": 99, "bins": 5}, names["sex"]: [0, 1]}})
    both = hedgerow.Linked.of(homes, people, key=names["patient"], at_most=3, number=names["copies"])
    rows = table_of(names)
    parents = (
        rows.select([names["home"], names["job"]]).slice(0, 200).append_column(names["patient"], [list(range(200))])
    )
    tables = hedgerow.read_linked(parents, rows.select([names["patient"], names["age"], names["sex"]]), both)
    release = hedgerow.release_linked(
        hedgerow.MWEM(rounds=3), tables, both, hedgerow.PureDP(6.0), noise=hedgerow.SeededNoise(3)
    )
    for part, file in ((release.parents, "parents.release"), (release.children, "children.release")):
        part.save(folder / file)
    back = LinkedRelease.from_parts(*(Release.load(folder / f"{part}.release") for part in ("parents", "children")))
    back.write_records(folder / "parents.csv", folder / "children.csv", 20, seed=1)
    files = [pyarrow.csv.read_csv(folder / f"{part}.csv") for part in ("parents", "children")]
    return [columns_of(each.to_arrow()) for each in back.sample(20, seed=1)] + [columns_of(each) for each in files]


def compared(names: Names, folder: Path) -> list[Any]:
    """Mechanisms on a public table, in a file that can be gone on from."""
    workload = Workload.marginals(ruled(names), 2)
    for _ in range(2):
        found = compare(
            ruled_table(names),
            workload,
            [hedgerow.PureDP(2.0)],
            ["laplace", "mwem:rounds=2"],
            repeats=1,
            seed=1,
            path=folder / "runs.csv",
            resume=True,
        )
    return [(each.mechanism, each.metric, each.mean) for each in found.summaries]


def evaluated(names: Names, folder: Path) -> list[Any]:
    """A file beside the real one, its figures, its page and its table of figures."""
    real = table_of(names, OPEN)
    found = evaluate(real, {"drawn": real.slice(0, 200)}, by=names["job"], models=False)
    found.write_page(folder / "page.html")
    found.write_csv(folder / "figures.csv")
    role = role_of(names)
    return [(tuple(map(role, each.columns)), each.value, each.real) for each in found.findings]


def described(names: Names, folder: Path) -> list[Any]:
    """Domains: drafted, made from types, written, read and asked."""
    rows = table_of(names, OPEN)
    told: list[Any] = []
    bounds = {names["home"]: ("0", "3"), names["age"]: ("0", "99"), names["sex"]: ("0", "1")}
    for place in ("arrow", "CSV", "Parquet", "DuckDB"):
        source, _ = PLACES[place](rows, folder)
        content = automatic_domain(str(source) if isinstance(source, Path) else source, bounds=bounds)
        told.append((OpenDomain(content).fine.shape, list(content["attributes"].values())))
    (folder / "draft.yaml").write_text(hedgerow.draft_domain(rows))
    told.append(read_domain(folder / "draft.yaml", accept_draft=True).shape)
    for file in ("domain.yaml", "domain.json"):
        hedgerow.write_domain(ruled(names), folder / file)
        assert read_domain(folder / file) == ruled(names)
    domain, home, age = ruled(names), names["home"], names["age"]
    for workload in (
        Workload.marginals(domain, cliques=[(home,), (home, names["job"]), (age,)]),
        Workload.marginals(domain, 2, levels=True),
        Workload.marginals(domain, cliques=[(home, f"{age}.half")], whole=False),
        Workload.ranges(domain, [home, age], 5, 3) + Workload.prefixes(domain, home),
        Workload.parities(Domain([domain[names["sex"]]]), cliques=[(names["sex"],)]),
        Workload.conjunctions(domain, [f"{sql(home)} in (1, 2) and {sql(names['job'])} = 'cook'"]),
    ):
        assert Workload.parse(workload.weighted(0.5).spec, workload.domain) == workload.weighted(0.5)
        told.append(workload.n_queries)
    return told


@pytest.mark.many(quick=4)
@pytest.mark.parametrize("first", EVERY)
@pytest.mark.parametrize("work", [asked, linked, compared, evaluated, described], ids=lambda work: work.__name__)
def test_nothing_else_depends_on_names(work: Callable[..., list[Any]], first: int, tmp_path: Path) -> None:
    same(work, naming(first), tmp_path)


# ---- the server ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with api(tmp_path_factory.mktemp("api")) as started:
        yield started


def over_http(names: Names, name: str, here: Api) -> list[Any]:
    """All that a data set answers."""
    one_csv(table_of(names), here.folder)
    (here.folder / "people.csv").rename(here.folder / f"{name}.csv")
    carol, ada = here.token("carol", "custodian"), here.token("ada")
    source = {
        "place": f"{name}.csv",
        "columns": [names[role] for role in CLOSED],
        "where": f"{sql(names['region'])} = 'north'",
        "person": names["patient"],
        "at_most": 2,
        "weight": names["often"],
        "largest_weight": 3,
    }
    made = here.call("POST", "/v1/datasets", carol, json=registration(name, source=source, domain=closed(names)))
    assert made.status_code == 201, made.text
    at, home, job = f"/v1/datasets/{name}", sql(names["home"]), sql(names["job"])
    questions = [
        {"sql": f"SELECT COUNT(*) FROM {name} WHERE {home} = 1"},
        {"where": f"{job} = 'cook' or {home} = 2"},
        {
            "predicate": {
                "and": [{"attribute": names["home"], "between": [1, 2]}, {"attribute": names["job"], "in": ["nurse"]}]
            }
        },
    ]
    told: list[Any] = []
    for path, body in (
        ("queries", {"queries": questions}),
        ("tables", {"sql": f"SELECT {job}, COUNT(*), AVG({home}) FROM {name} GROUP BY {job}"}),
        ("tables", {"group_by": [names["job"], names["sex"]], "where": f"{home} < 3"}),
    ):
        found = here.call("POST", f"{at}/{path}", ada, json=body)
        assert found.status_code == 200, found.text
        told.append(found.json().get("rows") or [each["value"] for each in found.json()["answers"]])
    listed = here.call("GET", f"{at}/answers", ada).json()["answers"]
    for each in listed:  # what is told of an answer can be asked again
        grouped = "GROUP BY" in each["sql"]
        body = {"sql": each["sql"]} if grouped else {"queries": [{"sql": each["sql"]}]}
        again = here.call("POST", f"{at}/{'tables' if grouped else 'queries'}", ada, json=body)
        assert again.status_code == 200, again.text
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([names["home"], names["job"]])
    told.append(here.call("GET", f"{at}/marginals", ada, params={"attributes": line.getvalue()}).json()["counts"])
    drawn = here.call("GET", f"{at}/records", ada, params={"n": 20, "format": "csv"})
    told.append(len(list(csv.reader(io.StringIO(drawn.text)))))
    assert next(csv.reader(io.StringIO(drawn.text))) == [names[role] for role in CLOSED]
    assert here.call("GET", at, ada).status_code == 200
    assert here.call("GET", f"{at}/ledger", carol).status_code == 200
    return told


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("first", EVERY)
def test_a_server_answers_about_columns_of_any_name(first: int, here: Api) -> None:
    expected = over_http(PLAIN, f"plain{first}", here)
    assert over_http(naming(first), f"named{first}", here) == expected


# ---- the command line ------------------------------------------------------------------------------------------------


def by_command(names: Names, folder: Path) -> list[Any]:
    """What ``hedgerow synth`` writes, with options that name columns."""
    one_csv(table_of(names), folder)
    (folder / "domain.json").write_text(json.dumps(opened(names)))
    options = {
        "--columns": joined_names([names[role] for role in OPEN]),
        "--where": f"{sql(names['region'])} = 'north'",
        "--person": names["patient"],
        "--at-most": "2",
        "--weight": names["often"],
        "--largest-weight": "4",
        "--domain": str(folder / "domain.json"),
        "--workload": f"marginals:{sql(names['home'])}*{sql(names['job'])}; prefixes:{sql(names['age'])}",
        "--epsilon": "5",
        "--delta": "1e-6",
        "--seed": "1",
        "--records": "40",
        "--output": str(folder / "out.csv"),
    }
    given = [f"{option}={value}" for option, value in options.items()]
    result = CliRunner().invoke(app, ["synth", str(folder / "people.csv"), *given, "--json"])
    assert result.exit_code == 0, result.output
    question = f"{sql(names['home'])} = 1"
    answer = CliRunner().invoke(app, ["answer", str(folder / "out.release"), question, "--json"])
    assert answer.exit_code == 0, answer.output
    answers = [(each["value"], each["low"]) for each in json.loads(answer.stdout)["answers"]]
    assert pyarrow.csv.read_csv(folder / "out.csv").column_names == [names[role] for role in OPEN]
    return [figures(Release.load(folder / "out.release"), names), answers]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("first", EVERY)
def test_options_name_any_columns(first: int, tmp_path: Path) -> None:
    same(by_command, naming(first), tmp_path)


@given(
    names=st.lists(st.one_of(st.sampled_from(NAMES), LETTERS), min_size=1).filter(
        lambda names: all(map(str.strip, names))
    )
)
def test_lists_of_names_are_read_as_they_are_written(names: list[str]) -> None:
    assert split_names(joined_names(names)) == names
    assert split_bounds([f"{sql(name)}=0..3" for name in names]) == dict.fromkeys(names, ("0", "3"))


def test_lists_of_names_that_are_no_lists_are_refused() -> None:
    for text in ('"a', '"a" b', 'a,"b'):
        with pytest.raises(Exception, match="no list of names"):
            split_names(text)


# ---- what a name may not change --------------------------------------------------------------------------------------


@given(names=NAMINGS)
def test_no_name_changes_what_the_rest_of_a_text_means(names: Names) -> None:
    """Columns beside those of a condition, whatever they are called, leave its meaning as it is."""
    content = closed(PLAIN)
    alone = domain_from_mapping(content)
    taken = {role.casefold() for role in CLOSED}
    others = {name: {"min": 0, "max": 1} for name in names.values() if name.casefold() not in taken}
    beside = domain_from_mapping({"attributes": content["attributes"] | others})
    for text in (
        "home=1",
        "(home = 1 or home=2)",
        "home in (1,2) and not(job='cook')",
        "home>=-1 and sex<.5",
        "1<home",
    ):
        assert parse_predicate(text, beside).text == parse_predicate(text, alone).text
    statement = "select job, count(*) as n, sum(home) from t where (home<3) group by job;"
    one, other = (hedgerow.queries.parse_select(statement, domain) for domain in (alone, beside))
    assert (one.columns, one.groups.names, one.groups.where.text) == (
        other.columns,
        other.groups.names,
        other.groups.where.text,
    )


LABELS = (*NAMES, "x' @ 2", 'a", "b', ";prefixes:home")


@pytest.mark.many(quick=10)
@pytest.mark.parametrize("label", LABELS)
def test_conditions_hold_any_label(label: str) -> None:
    """A workload that a release stores is read as it was, also beside others and with a weight."""
    domain = Domain([Categorical("a,b", LABELS), IntegerRange("home", 0, 3)])
    condition = f"\"a,b\" = '{label.replace(chr(39), 2 * chr(39))}'"
    assert parse_predicate(condition, domain) == Conjunction.where(domain, {"a,b": [LABELS.index(label)]})
    workload = Workload.conjunctions(domain, [f"{condition} and home < 2", "home = 1"]).weighted(0.5)
    workload += Workload.prefixes(domain, "home")
    assert workload_from_dict(*workload_to_dict(workload), domain) == workload


@pytest.mark.parametrize(
    "text", ["where: {age} < 22", "where: {age} = '[0, 25)'", "where: {town} = 'x' and {home} = 1"]
)
@pytest.mark.parametrize("first", EVERY[:4])
def test_a_workload_that_compares_what_is_not_known_yet_is_refused_before_anything_is_spent(
    text: str, first: int
) -> None:
    names = naming(first)
    wanted = OpenDomain(opened(names))
    written = text.format(**{role: in_condition(name) for role, name in names.items()})
    with pytest.raises(ConfigError, match="to be learnt"):
        workload_before(wanted, lambda domain: Workload.parse(written, domain))
    rows = table_of(names, OPEN)
    with pytest.raises(ConfigError, match="to be learnt"):
        hedgerow.synthesize(rows, 1.0, 1e-6, domain=opened(names), workload=written)
