"""One record decides nothing that is not paid for: domain, columns, header, types, warnings, exit code, plan.

For random tables, every source and every kind of change of one record, all public outputs that are not drawn with
noise are equal byte by byte, and the private counts that noise is added to differ by that record alone.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow.audit import audit_files, sentences
from hedgerow.data import automatic, automatic_domain, open_table, read_labels, read_table, scan_table
from hedgerow.data.reading import databases, persons, readers
from hedgerow.domain import (
    TYPES_TRUSTED,
    OpenDomain,
    check,
    domain_from_mapping,
    domain_to_mapping,
    encoding,
    learning,
    plain,
)
from hedgerow.errors import ColumnError, HedgerowError, UnreadableTableError
from tests.cli.command_line import app
from tests.privacy.mutants import Mutant, killed
from tests.privacy.neighbouring import (
    BOUNDS,
    CHANGES,
    DECLARED,
    FILES,
    FRAMES,
    TYPES,
    Refused,
    Source,
    object_frame,
    parquet_of_pandas,
    postgresql,
    replaced,
    spark_frame,
    table_of,
    written,
)
from tests.service.api import api, registration

SOURCES = {**FILES, **FRAMES}
SERVED = ("postgresql", "spark")
CASES = [(source, change) for source in SOURCES for change in CHANGES]
DECLARED_DOMAIN = domain_from_mapping({"attributes": DECLARED})


def source_of(name: str, request: pytest.FixtureRequest) -> Source:
    if name == "postgresql":
        return postgresql(request.getfixturevalue("postgresql_address"))
    return spark_frame(request.getfixturevalue("spark")) if name == "spark" else SOURCES[name]


def pair(source: Source, change: str, folder: Path) -> tuple[Any, Any]:
    """The table and its neighbour, in two folders of one name; of what no writer writes there is none."""
    table = table_of(seed=len(change))
    places = []
    for side, cells in (("before", table), ("after", CHANGES[change](table))):
        place = folder / side / "data"
        place.mkdir(parents=True, exist_ok=True)
        try:
            places.append(written(source, cells, place))
        except Refused:
            pytest.skip("its writer does not take such a mixture of cells")
    return places[0], places[1]


def counted(place: Any) -> tuple[dict[str, Any], list[dict[str, int]]]:
    """The automatic domain, and what noise is added to: counts of labels, of fine cells, of a declared domain."""
    declared = isinstance(place, str) and "#" in place
    content = automatic_domain(place, bounds=BOUNDS, types=TYPES if declared else None)
    wanted = OpenDomain(content)
    counts: list[dict[str, int]] = []
    labels = read_labels(place, wanted)
    for name in wanted.values:
        texts, numbers = labels.counts(name)
        counts.append(dict(zip(texts, numbers.tolist(), strict=True)))
    placed = isinstance(place, str) or type(place).__module__.startswith("pyspark")
    read = scan_table if placed else read_table
    for domain in (wanted.fine, DECLARED_DOMAIN):
        for found in read(place, domain).marginals([(name,) for name in domain.names]):
            counts.append({str(code): int(number) for code, number in enumerate(found)})
    return content, counts


@pytest.mark.many(quick=24)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", [*SOURCES, *SERVED])
def test_a_record_changes_no_domain_and_no_count_but_its_own(
    name: str, change: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before, after = pair(source_of(name, request), change, tmp_path)
    (content, counts), (other, others) = counted(before), counted(after)
    assert json.dumps(content) == json.dumps(other)
    assert domain_to_mapping(OpenDomain(content).outline) == domain_to_mapping(OpenDomain(other).outline)
    most = 1 if change in ("a record more", "a record less") else 2
    for here, there in zip(counts, others, strict=True):
        both = {key: abs(here.get(key, 0) - there.get(key, 0)) for key in {*here, *there}}
        assert sum(both.values()) <= most, {key: moved for key, moved in both.items() if moved}


def said(*arguments: object) -> tuple[int, str]:
    """Exit code and output of a command, without paths of the two tables."""
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, HedgerowError | SystemExit)
    text = re.sub(r"\S*/(before|after)/", "", result.output)
    text = re.sub(r"fits into [\d,]+ MiB|compiling, which.*\n", "", text)  # of this machine, and this process
    return result.exit_code, text


def drawn_aside(text: str) -> Counter[str]:
    """Warnings and headings of a run: lines without their numbers, which follow from noise as some warnings say."""
    lines = [line.strip() for line in text.splitlines() if "by noisy counts" not in line]
    return Counter(re.sub(r"(over )?[\d.,]+(e[+-]?\d+)?", "#", line) for line in lines)


def of_run(folder: Path, data: str, *arguments: object) -> dict[str, Any]:
    """What a run shows beside noise: exit code, lines, columns and types of its records, its domain's columns."""
    code, text = said("synth", data, *arguments, "--seed", 1, "-o", folder / "out.parquet", "--workload", "marginals:1")
    found: dict[str, Any] = {"code": code, "lines": drawn_aside(text)}
    if not code:
        release = hedgerow.Release.load(folder / "out.release")
        found["schema"] = pyarrow.parquet.read_schema(folder / "out.parquet").remove_metadata()
        found["ignored"] = release.domain.ignored
        found["kinds"] = [(each.name, type(each).__name__, each.missing, each.other) for each in release.domain]
        assert said("sample", folder / "out.release", "-o", folder / "out.csv", "--force")[0] == 0
        found["header"] = (folder / "out.csv").read_text().split("\n", 1)[0]
    return found


def places_of(change: str, name: str, folder: Path) -> list[tuple[Path, str]]:
    before, after = pair(SOURCES[name], change, folder)
    return [(folder / "before", before), (folder / "after", after)]


SAID = (
    *(f"--bounds={name}={low}..{high}" for name, (low, high) in BOUNDS.items()),
    f"--types={','.join(f'{name}={kind}' for name, kind in TYPES.items())}",
)
FEW = ("--epsilon", 0.01, "--delta", 1e-9)
"""So little that no label of these small tables is learnt."""


@pytest.mark.many(quick=3)
@pytest.mark.parametrize(("name", "change"), [case for case in CASES if case[0] in FILES])
def test_an_automatic_run_shows_the_same(name: str, change: str, tmp_path: Path) -> None:
    first, second = (
        of_run(folder, data, "--auto-domain", *SAID, *FEW) for folder, data in places_of(change, name, tmp_path)
    )
    assert first["code"] == 0, first
    assert first == second


@pytest.mark.many(quick=3)
@pytest.mark.parametrize(("name", "change"), [case for case in CASES if case[0] in FILES])
def test_a_run_over_a_declared_domain_shows_the_same(name: str, change: str, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps({"attributes": DECLARED}))
    both = [
        of_run(folder, data, "--domain", file, "--epsilon", 1) for folder, data in places_of(change, name, tmp_path)
    ]
    assert both[0]["code"] == 0, both[0]
    assert both[0] == both[1]


@pytest.mark.many(quick=4)
@pytest.mark.parametrize(("name", "change"), [case for case in CASES if case[0] in FILES])
def test_the_public_file_and_the_plan_are_the_same(name: str, change: str, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps({"attributes": DECLARED}))
    both = []
    for _, data in places_of(change, name, tmp_path):
        planned = said("plan", data, "--domain", file, "--epsilon", 1, "--total", 500)
        both.append((said("domain", data, "--public", *SAID), planned))
    assert both[0] == both[1]
    assert both[0][0][0] == both[0][1][0] == 0


@pytest.mark.many(quick=3)
@pytest.mark.parametrize(("name", "change"), [(name, change) for name in FRAMES for change in CHANGES])
def test_the_calls_of_python_give_the_same(name: str, change: str, tmp_path: Path) -> None:
    found = []
    for frame in pair(FRAMES[name], change, tmp_path):
        domain = automatic_domain(frame, bounds=BOUNDS)
        made = hedgerow.synthesize(frame, 0.01, 1e-9, domain, workload="marginals:1", records=3, seed=1)
        fitted = hedgerow.Synthesizer(1.0, domain={"attributes": DECLARED}, workload="marginals:1", seed=1).fit(frame)
        found.append(
            (
                made.assumptions,
                [(each.name, type(each).__name__) for each in made.release.domain],
                schema_of(made.records),
                made.release.guarantee(),
                domain_to_mapping(fitted.release_.domain),
                schema_of(fitted.sample(3)),
                fitted.release_.guarantee(),
            )
        )
    assert found[0] == found[1]


def schema_of(records: Any) -> Any:
    if isinstance(records, pa.Table):
        return records.schema
    return [
        (name, str(kind))
        for name, kind in (records.dtypes.items() if hasattr(records.dtypes, "items") else records.schema.items())
    ]


@pytest.mark.many(quick=4)
@pytest.mark.parametrize(("name", "change"), [case for case in CASES if case[0] in FILES])
def test_a_session_shows_the_same(name: str, change: str, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps({"attributes": DECLARED}))
    both = []
    for folder, data in places_of(change, name, tmp_path):
        begun = ("--domain", file, "--session", folder / "s.session", "--epsilon", 1, "--seed", 1)
        code, text = said("ask", data, *begun, "job = 'nurse'")
        both.append((code, drawn_aside(text)))
    assert both[0] == both[1]
    assert both[0][0] == 0


@pytest.mark.many(quick=4)
@pytest.mark.parametrize("name", ["CSV", "CSV of pandas", "Parquet of pandas", "narrow Parquet of pandas"])
@pytest.mark.parametrize("change", [change for change in CHANGES if "record" not in change])
def test_two_tables_show_the_same(name: str, change: str, tmp_path: Path) -> None:
    """Parents are the regions; the record that changes is one of their children."""
    own = {each: entry for each, entry in DECLARED.items() if each != "region"}
    (tmp_path / "children.json").write_text(json.dumps({"attributes": own}))
    (tmp_path / "parents.json").write_text(json.dumps({"attributes": {"size": {"min": 1, "max": 3}}}))
    (tmp_path / "parents.csv").write_text("region,size\nnorth,1\nsouth,2\n")
    both = []
    for folder, data in places_of(change, name, tmp_path):
        tables = (tmp_path / "parents.csv", data, "--key", "region", "--at-most", 3)
        domains = ("--domain", tmp_path / "parents.json", "--children-domain", tmp_path / "children.json")
        out = ("-o", folder / "p.csv", "--children-output", folder / "c.csv")
        code, text = said("synth-linked", *tables, *domains, *out, "--epsilon", 5, "--delta", 1e-6, "--seed", 1)
        both.append(
            (code, drawn_aside(text), *((folder / each).read_text().split("\n", 1)[0] for each in ("p.csv", "c.csv")))
        )
    assert both[0] == both[1]
    assert both[0][0] == 0


@pytest.mark.many(quick=3)
@pytest.mark.parametrize(("name", "change"), [case for case in CASES if case[0] in FILES])
def test_a_server_says_the_same_of_a_data_set(name: str, change: str, tmp_path: Path) -> None:
    """All of it but numbers, which follow from noise."""
    both = []
    for folder, place in places_of(change, name, tmp_path):
        (folder / "server").mkdir()
        with api(folder / "server") as here:
            shutil.copytree(folder / "data", here.folder, dirs_exist_ok=True)
            inside = place.replace(f"{folder}/data/", "")
            carol = here.token("carol", "custodian")
            given = registration("neighbours", source={"place": inside}, domain={"attributes": DECLARED})
            made = here.call("POST", "/v1/datasets", carol, json=given)
            asked = here.call("GET", "/v1/datasets/neighbours", carol)
            both.append([(each.status_code, re.sub(r"[\d.]+(e[+-]?\d+)?", "#", each.text)) for each in (made, asked)])
    assert both[0] == both[1]
    assert both[0][0][0] == 201, both[0]


def test_a_server_takes_no_types_on_trust(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        domain = {"attributes": {"sex": ["F", "M"], "age": 10, "job": ["clerk", "cook", ""]}, "trusted_types": True}
        given = registration("trusting", domain=domain)
        made = here.call("POST", "/v1/datasets", here.token("carol", "custodian"), json=given)
    assert made.status_code // 100 == 4
    assert "trusted" in made.text


CONDITIONS = (
    "cast(code as varchar) = '3'",
    "code = '3'",
    "code in (1, 2) or note is null",
    "cast(dose as varchar) like '2%'",
    "code * 100 > 250",
    "job = 'cook' or job = 'pilot'",
    "note = 'lion' or age > 40",
)


@pytest.mark.many(quick=12)
@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize(
    ("name", "change"),
    [case for case in CASES if "Parquet" in case[0] or "of part" in case[0] or "of files" in case[0]],
)
def test_a_record_does_not_decide_what_a_filter_makes_of_others(
    name: str, change: str, where: str, tmp_path: Path
) -> None:
    """Where an engine refuses a cell outright, the table is refused, as one with a cell outside its domain.

    Of a CSV file a filter sees texts as they are written, each by itself.
    """
    found: list[Any] = []
    for place in pair(SOURCES[name], change, tmp_path):
        try:
            (ages,) = scan_table(place, DECLARED_DOMAIN, where=where).marginals([("age",)])
            found.append(ages)
        except UnreadableTableError:  # its message is withheld
            return
    assert np.abs(found[0] - found[1]).sum() <= (1 if change in ("a record more", "a record less") else 2)


def test_persons_are_the_same_however_their_numbers_are_stored(tmp_path: Path) -> None:
    """A missing number elsewhere makes doubles of whole numbers, and of persons no others."""
    domain = domain_from_mapping({"sex": ["F", "M"]})
    rows = {"sex": ["F", "M"] * 20, "id": [i // 3 for i in range(40)]}
    whole = read_table(pd.DataFrame(rows), domain, person="id", at_most=2)
    for kind in ("float64", "float32", "object", "Int64", "str", "category"):
        frame = pd.DataFrame(rows).astype({"id": kind})
        other = read_table(frame, domain, person="id", at_most=2)
        assert (whole.marginals([("sex",)])[0] == other.marginals([("sex",)])[0]).all(), kind


def in_pandas(**changed: Any) -> tuple[dict[str, Any], list[dict[str, int]]]:
    """What is read of a frame of Python objects."""
    try:
        return counted(object_frame(replaced(table_of(3), **changed), Path()))
    except ColumnError as error:
        raise AssertionError("a cell of another kind is refused") from error


def moved(before: list[dict[str, int]], after: list[dict[str, int]]) -> int:
    """The largest sum of changes of counts of one column."""
    return max(
        sum(abs(here.get(key, 0) - there.get(key, 0)) for key in {*here, *there})
        for here, there in zip(before, after, strict=True)
    )


def frames_declare_nothing() -> None:
    kept, gap = (pd.DataFrame({"age": [30, 40, cell], "note": ["a", "b", cell]}) for cell in (50, None))
    bounds = {"age": ("0", "120")}
    assert automatic_domain(kept, bounds=bounds) == automatic_domain(gap, bounds=bounds), "a cell changed the domain"


def numbers_are_labels_however_they_are_stored() -> None:
    whole, gap = ([{"code": 3, "dose": 1}, {"code": cell, "dose": 2}] * 40 for cell in (3, None))
    found = [counts_of_labels(pd.DataFrame(rows)) for rows in (whole, gap)]
    assert set(found[0]) == set(found[1]) == {"3"}, "an empty cell has changed how others are spelled"
    texts = [counts_of_labels(pd.DataFrame({"code": cells})) for cells in (["3"], ["3.0"])]
    assert texts[0] == texts[1] == {"3": 1}


def counts_of_labels(frame: pd.DataFrame) -> dict[str, int]:
    wanted = OpenDomain({"code": {"values": {"learn": 9}}})
    labels = read_labels(frame[["code"]], wanted)
    return dict(
        zip(*[each if isinstance(each, list) else each.tolist() for each in labels.counts("code")], strict=True)
    )


def cells_are_read_each_by_itself() -> None:
    before, after = in_pandas(), in_pandas(code="x")
    assert moved(before[1], after[1]) <= 2


def digits_of_others_change_no_number() -> None:
    domain = domain_from_mapping({"share": {"edges": [0, 0.1, 1]}})
    found = [
        read_table(pa.table({"share": pa.array([Decimal("0.1")] * 5, kind)}), domain).marginals([("share",)])[0]
        for kind in (pa.decimal128(3, 1), pa.decimal128(20, 16))
    ]
    assert (found[0] == found[1]).all(), "the digits of one cell have moved others"


def a_filter_sees_numbers_and_no_types() -> None:
    with tempfile.TemporaryDirectory() as folder:
        counts = []
        for code in (4, None):
            place = parquet_of_pandas(replaced(table_of(3), code=code), Path(folder))
            table = scan_table(place, DECLARED_DOMAIN, where="cast(code as varchar) = '3'")
            counts.append({str(i): int(n) for i, n in enumerate(table.marginals([("job",)])[0])})
    assert moved([counts[0]], [counts[1]]) <= 2, "an empty cell decides which others pass"


def doubles_that_are_not_told_apart_are_no_persons() -> None:
    domain = domain_from_mapping({"sex": ["F", "M"]})
    try:
        read_table(pa.table({"id": [2.0**60, 2.0**60], "sex": ["F", "M"]}), domain, person="id", at_most=1)
    except ColumnError:
        return
    raise AssertionError("two persons may have become one")


def trust_is_told() -> None:
    table = pa.table({"sex": ["F", "M"] * 50, "well": [True, False] * 50})
    domain = automatic_domain(table, trust_types=True, types={"sex": "text"})
    made = hedgerow.synthesize(table, 8.0, 1e-4, domain, workload="marginals:1", records=3, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        made.save(f"{folder}/a.release")
        audited = audit_files([f"{folder}/a.release"]).files[0]
    told = {finding.check: finding for finding in audited.findings}
    assert told["sentence"].severity.value == "holds", told["sentence"]
    assert TYPES_TRUSTED in made.release.guarantee(), "types were trusted, and the guarantee does not say so"
    assert "trusted" in told["types"].text


def patched(module: Any, name: str, other: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(module, name, other)


def _as_stored(source: Any) -> tuple[dict[str, pa.DataType], bool]:
    reader = open_table(source)
    return reader.types(), True


def _plain_as_stored(values: pa.Array[Any]) -> pa.Array[Any]:
    return values.cast(pa.float64()) if pa.types.is_decimal(values.type) else plain(values)


MUTANTS = [
    Mutant(
        "types of a data frame are taken for declared",
        patched(automatic, "_types_of", _as_stored),
        frames_declare_nothing,
    ),
    Mutant(
        "labels 3 and 3.0 are two", patched(learning, "canonical_text", str), numbers_are_labels_however_they_are_stored
    ),
    Mutant(
        "a frame's cells get one type that holds all",
        patched(readers, "cells_of", lambda cells: pa.array(cells, from_pandas=True)),
        cells_are_read_each_by_itself,
    ),
    Mutant(
        "decimal numbers are read by the digits of their column",
        patched(encoding, "plain", _plain_as_stored),
        digits_of_others_change_no_number,
    ),
    Mutant(
        "a filter sees the type of a column",
        patched(databases, "numbers_in", lambda _: {}),
        a_filter_sees_numbers_and_no_types,
    ),
    Mutant(
        "doubles beyond 2^53 name persons",
        patched(persons, "_EXACT", float("inf")),
        doubles_that_are_not_told_apart_are_no_persons,
    ),
    Mutant("a guarantee does not say that types were trusted", patched(check, "TYPES_TRUSTED", ""), trust_is_told),
    Mutant("the auditor does not expect trusted types to be told", patched(sentences, "_OUTSIDE", {}), trust_is_told),
]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
