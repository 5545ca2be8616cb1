"""Text files and workbooks in the format that their domain declares: read, written again in it, or refused clearly."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from hedgerow.data import draft_domain, read_table, scan_table
from hedgerow.domain import Domain, domain_from_mapping, domain_to_mapping
from hedgerow.errors import HedgerowError, UnreadableTableError
from hedgerow.release import Records
from tests.data.workbooks import write_workbook

ENTRIES: dict[str, Any] = {
    "größe": {"min": 0, "max": 3000, "step": 0.5},
    "ort": ["Köln", "a;b", 'say "x"'],
    "tag": {"min": "2020-01-01", "max": "2020-01-31", "format": "%d.%m.%Y"},
}
ROWS = [("1.234,5", "Köln", "05.01.2020"), ("0,5", "a;b", "31.01.2020"), ("17", 'say "x"', "01.01.2020")] * 3
CODES = [[2469, 0, 4], [1, 1, 30], [34, 2, 0]] * 3


def domain_of(form: dict[str, Any], entries: dict[str, Any] | None = None) -> Domain:
    return domain_from_mapping({"format": form, "attributes": entries or ENTRIES})


def text_of(form: dict[str, Any]) -> str:
    mark, quote = form.get("separator", ","), form.get("quote", '"')

    def field(cell: str) -> str:
        return (
            cell
            if quote is None or not {mark, quote, '"'} & {*cell}
            else quote + cell.replace(quote, 2 * quote) + quote
        )

    lines = [mark.join(map(field, row)) for row in ([tuple(ENTRIES)] if form.get("header", True) else []) + ROWS]
    if sign := form.get("comment"):
        lines.insert(2, f"{sign} not a record{mark}at all")
    before = [f"export {n}" for n in range(form.get("skip", 0))]
    after = [f"total{mark}{mark}{mark}120" for _ in range(form.get("footer", 0))]
    return "\n".join([*before, *lines, *after]) + "\n"


FORMATS: list[dict[str, Any]] = [
    {"separator": ";"},
    {"separator": "\t", "quote": "'"},
    {"separator": "|", "encoding": "cp1252"},
    {"separator": ";", "encoding": "utf-16"},
    {"separator": ";", "skip": 3},
    {"separator": ";", "footer": 2, "encoding": "latin-1"},
    {"separator": ";", "comment": "#"},
    {"separator": ";", "header": False},
    {"separator": ";", "skip": 2, "footer": 1, "comment": "//", "header": False, "encoding": "cp1252"},
]


def named(form: dict[str, Any]) -> dict[str, Any]:
    if form.get("header", True):
        return ENTRIES
    return {f"c{number}": entry for number, entry in enumerate(ENTRIES.values(), 1)}


@pytest.mark.parametrize("form", FORMATS, ids=str)
@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz", ".zip"])
def test_a_file_is_read_as_it_is_declared(form: dict[str, Any], ending: str, tmp_path: Path) -> None:
    marks = {"decimal": ",", "thousands": "."}
    domain = domain_of(form | marks, named(form))
    raw = text_of(form).encode(form.get("encoding", "utf-8"))
    path = tmp_path / f"t{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner.csv", raw)
    else:
        path.write_bytes(gzip.compress(raw) if ending.endswith(".gz") else raw)
    table = read_table(path, domain)
    assert np.column_stack(table.columns).tolist() == CODES
    scanned = scan_table(path, domain)
    pair = [domain.names[:2]]
    assert np.array_equal(scanned.marginals(pair)[0], table.marginals(pair)[0])
    assert domain_from_mapping(domain_to_mapping(domain)).layout == domain.layout


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_records_come_out_in_the_same_form(form: dict[str, Any], tmp_path: Path) -> None:
    domain = domain_of(form | {"decimal": ",", "thousands": "."}, named(form))
    Records(np.array(CODES), domain, seed=0).write(tmp_path / "t.csv")
    raw = (tmp_path / "t.csv").read_bytes().decode(form.get("encoding", "utf-8"))
    assert raw.splitlines()[-3].startswith(f"1.234,5{form['separator']}Köln")
    again = domain_of({**form, "skip": 0, "footer": 0, "quote": '"', "decimal": ",", "thousands": "."}, named(form))
    assert np.column_stack(read_table(tmp_path / "t.csv", again).columns).tolist() == CODES


def test_other_files_are_read_by_their_endings(tmp_path: Path) -> None:
    entries = {"a": {"min": 0, "max": 9}, "b": ["x", "y"]}
    domain = domain_from_mapping({"attributes": entries})
    rows = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    pyarrow.feather.write_feather(rows, str(tmp_path / "t.feather"))
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n{"b": "x", "a": 3}\n')
    for name in ("t.feather", "t.jsonl"):
        assert [column.tolist() for column in read_table(tmp_path / name, domain).columns] == [[1, 2, 3], [0, 1, 0]]
        assert '"b": {"values": ["x", "y"]' in draft_domain(tmp_path / name)


def refused(path: Path, form: dict[str, Any], entries: dict[str, Any] | None = None) -> HedgerowError:
    with pytest.raises(UnreadableTableError) as caught:
        read_table(path, domain_of(form, entries))
    error = caught.value
    assert error.remedy
    assert "Köln" not in str(error)
    assert "secret" not in str(error)
    return error


PLAIN = {"a": {"min": 0, "max": 9}, "b": ["x", "Köln"]}


def test_another_encoding_is_named_with_the_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,b\n1,x\n2,Köln\n".encode("cp1252"))
    error = refused(tmp_path / "t.csv", {}, PLAIN)
    assert "column 'b', 1 row (first: 2): text that is not UTF-8" in error.message
    assert "encoding: cp1252" in error.remedy
    assert read_table(tmp_path / "t.csv", domain_of({"encoding": "cp1252"}, PLAIN)).total() == 2
    (tmp_path / "u.csv").write_bytes("a,b\n1,x\n2,Köln\n".encode())
    error = refused(tmp_path / "u.csv", {"encoding": "utf-16"}, PLAIN)
    assert "not utf-16" in error.message
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


@pytest.mark.parametrize(
    ("form", "text", "row"),
    [
        ({}, "a,b\n1,x\n2,x,secret\n", 2),
        ({"skip": 1}, "export\na,b\n1,x\n2,x\n3\n", 3),
        ({"comment": "#"}, "a,b\n# secret\n1,x\n# secret\n2,x,secret\n", 2),
        ({"header": False}, "1,x\n2,x\n3,x,secret\n", 3),
        ({"footer": 1}, "a,b\n1,x\n2,x,secret\n;sum\n", 2),
    ],
)
def test_a_row_with_another_number_of_fields_is_numbered_among_the_records(
    form: dict[str, Any], text: str, row: int, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(text)
    entries = PLAIN if form.get("header", True) else {f"c{n}": each for n, each in enumerate(PLAIN.values(), 1)}
    error = refused(tmp_path / "t.csv", form, entries)
    assert f"1 row (first: {row}): the table has 2 columns, and a row has another number of fields" in error.message
    assert "'format: {skip: 2, footer: 1}'" in error.remedy


def test_cut_and_strange_files_are_refused(tmp_path: Path) -> None:
    whole = gzip.compress(("a,b\n" + "1,x\n" * 50_000).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "cannot be read" in refused(tmp_path / "cut.csv.gz", {}, PLAIN).message
    (tmp_path / "no.zip").write_bytes(b"PK nothing")
    assert "cannot be read" in refused(tmp_path / "no.zip", {}, PLAIN).message
    with zipfile.ZipFile(tmp_path / "hurt.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n" + "1,x\n" * 50_000)
    hurt = bytearray((tmp_path / "hurt.zip").read_bytes())
    hurt[len(hurt) // 2] ^= 1
    (tmp_path / "hurt.zip").write_bytes(hurt)
    assert "cannot be read" in refused(tmp_path / "hurt.zip", {}, PLAIN).message
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,x\n")
        archive.writestr("b.csv", "a,b\n1,x\n")
    assert "the archive holds 2 files" in refused(tmp_path / "two.zip", {}, PLAIN).message
    (tmp_path / "t.jsonl").write_text('{"a": 1}\nsecret\n')
    assert "objects of JSON" in refused(tmp_path / "t.jsonl", {}, PLAIN).message
    (tmp_path / "t.feather").write_bytes(b"secret, and no file of Arrow")
    assert "not a file of Arrow" in refused(tmp_path / "t.feather", {}, PLAIN).message
    (tmp_path / "t.sav").write_bytes(b"secret")
    assert "save it as one of: .csv" in refused(tmp_path / "t.sav", {}, PLAIN).remedy


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_line_of_a_quoted_field_is_no_comment(quote: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n# don't read\n1,{quote}x\n# y{quote}\n#2,x\n3,x\n")
    domain = domain_of({"comment": "#", "quote": quote}, {"a": {"min": 0, "max": 9}, "b": ["x", "x\n# y"]})
    assert [column.tolist() for column in read_table(tmp_path / "t.csv", domain).columns] == [[1, 3], [1, 0]]


def test_empty_lines_at_the_end_are_no_footer(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,x\n;sum;3\n\n\n")
    assert read_table(tmp_path / "t.csv", domain_of({"footer": 1}, PLAIN)).total() == 2


@pytest.mark.parametrize("quote", ["'", '"', None])
def test_names_and_labels_are_quoted_as_declared(quote: str | None, tmp_path: Path) -> None:
    entries = {"a, b": ["x", "y" if quote is None else "y, z"], "n": {"min": 0, "max": 3}}
    names = {"a": entries["a, b"], "n": entries["n"]} if quote is None else entries
    domain = domain_of({"quote": quote}, names)
    Records(np.array([[0, 1], [1, 3]]), domain, seed=0).write(tmp_path / "t.csv")
    assert [each.tolist() for each in read_table(tmp_path / "t.csv", domain).columns] == [[0, 1], [1, 3]]


def test_a_label_that_an_encoding_lacks_is_told(tmp_path: Path) -> None:
    domain = domain_of({"encoding": "cp1252"}, {"a": ["x", "Ω"], "b": {"min": 0, "max": 3}})
    with pytest.raises(HedgerowError, match="cannot be written as"):
        Records(np.array([[1, 1], [0, 0]]), domain, seed=0).write(tmp_path / "t.csv")
    assert not (tmp_path / "t.csv").exists()


def test_a_workbook_is_read_by_its_sheet(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = tmp_path / "book.xlsx"
    write_workbook(path, {"people": [["a", "b"], [1, "x"], [2, "Köln"]], "notes": [["sum", 3]]})
    domain = domain_of({"sheet": "people"}, PLAIN)
    assert [column.tolist() for column in read_table(path, domain).columns] == [[1, 2], [0, 1]]
    assert read_table(path, domain_of({}, PLAIN)).total() == 2
    error = refused(path, {"sheet": "people 2"}, PLAIN)
    assert "it has no sheet 'people 2'" in error.message
    assert "people, notes" in error.remedy
    path.write_bytes(b"secret")
    assert "not a workbook" in refused(path, {}, PLAIN).message
