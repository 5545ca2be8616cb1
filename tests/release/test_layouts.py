"""Records have the schema of the table that a domain was drafted from: names, order, types, and texts of cells."""

from __future__ import annotations

import csv
import re
from datetime import date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.data import draft_domain, read_table, scan_table
from hedgerow.domain import (
    Binned,
    Categorical,
    Derived,
    Domain,
    IntegerRange,
    Layout,
    Linked,
    Written,
    arrow_schema,
    domain_from_mapping,
    domain_to_mapping,
    encoder,
    read_domain,
    type_name,
)
from hedgerow.domain.values import type_called
from hedgerow.errors import DomainError
from hedgerow.release import Records

ROWS = 240


def table() -> pa.Table:
    """A column of each kind, in types that are not those that a domain would choose."""
    draw = np.random.default_rng(5)
    days = np.datetime64("2020-01-01") + draw.integers(0, 60, ROWS)
    gaps = draw.random(ROWS) < 0.2
    small = draw.integers(0, 9, ROWS)
    texts = np.array(["F", "M"], dtype=object)[draw.integers(0, 2, ROWS)]
    columns: dict[str, Any] = {
        "small": pa.array(small, pa.int16()),
        "unsigned": pa.array(small, pa.uint8(), mask=gaps),
        "gapped": pa.array(small.astype(np.float64), mask=gaps),
        "short": pa.array((small / 4).astype(np.float32), pa.float32()),
        "money": pa.array([f"{n}.50" for n in small]).cast(pa.decimal128(9, 2)),
        "day": pa.array(days),
        "midnight": pa.array(days.astype("datetime64[ns]"), pa.timestamp("ns"), mask=gaps),
        "seen": pa.array(days.astype("datetime64[ms]") + 900_000 * draw.integers(0, 96, ROWS), pa.timestamp("ms")),
        "clock": pa.array([time(n, 15) for n in small]).cast(pa.time32("ms")),
        "wait": pa.array([timedelta(minutes=30 * int(n)) for n in small], pa.duration("ns")),
        "text": pa.array([f"{day:%d.%m.%Y}" for day in days.tolist()], pa.large_string()),
        "word": pa.array(texts, pa.string(), mask=gaps),
        "code": pa.array(texts, pa.large_string()).dictionary_encode(),
        "flag": pa.array(draw.random(ROWS) < 0.5, mask=gaps),
        "said": pa.array(np.array(["TRUE", "FALSE"], dtype=object)[draw.integers(0, 2, ROWS)], pa.string()),
    }
    return pa.table(columns)


def drawn(domain: Domain, n: int = 50) -> Records:
    draw = np.random.default_rng(7)
    sizes = [each.ordinary + (each.missing is not None) for each in domain]
    return Records(np.stack([draw.integers(0, size, n) for size in sizes], axis=1), domain, seed=1)


def drafted(source: Any, folder: Path) -> Domain:
    (folder / "d.yaml").write_text(draft_domain(source, name="t"))
    return read_domain(folder / "d.yaml", accept_draft=True)


def test_parquet_in_parquet_out(tmp_path: Path) -> None:
    wanted = table()
    pq.write_table(wanted, tmp_path / "in.parquet")
    drawn(drafted(tmp_path / "in.parquet", tmp_path)).write(tmp_path / "out.parquet")
    found, known = pq.read_schema(tmp_path / "out.parquet"), pq.read_schema(tmp_path / "in.parquet")
    assert found.names == known.names
    for field in known:
        if pa.types.is_dictionary(field.type):
            assert pa.types.is_dictionary(found.field(field.name).type)
        else:
            assert found.field(field.name).type == field.type, field.name


def test_arrow_in_arrow_out_and_the_values_are_read_back(tmp_path: Path) -> None:
    wanted = table()
    domain = drafted(wanted, tmp_path)
    records = drawn(domain)
    found = records.to_arrow()
    for field in wanted.schema:
        kind = found.schema.field(field.name).type
        assert kind == field.type or pa.types.is_dictionary(kind), field.name
    for source in (found, records.to_pandas(), records.to_polars()):
        assert np.array_equal(np.stack(read_table(source, domain).columns, axis=1), records.codes)


def test_pandas_in_pandas_out(tmp_path: Path) -> None:
    wanted = (
        table().drop_columns(["money", "clock", "day", "flag"]).to_pandas()
    )  # objects, of which pandas says no more
    found = drawn(drafted(wanted, tmp_path)).to_pandas()
    assert list(found.columns) == list(wanted.columns)
    for name in wanted.columns:
        assert found[name].dtype == wanted[name].dtype, name


def test_polars_in_polars_out(tmp_path: Path) -> None:
    wanted = pl.DataFrame(table())
    found = drawn(drafted(wanted, tmp_path)).to_polars()
    assert {name: str(kind) for name, kind in found.schema.items()} == {
        name: str(kind) for name, kind in wanted.schema.items()
    }


def test_duckdb_in_duckdb_out(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    given = table()
    with duckdb.connect(str(tmp_path / "in.db")) as connection:
        connection.register("given", given)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        wanted = connection.execute("DESCRIBE t").fetchall()
    domain = drafted(f"duckdb://{tmp_path}/in.db#t", tmp_path)
    scan_table(f"duckdb://{tmp_path}/in.db#t", domain).total()
    drawn(domain).write(f"duckdb://{tmp_path}/out.db#t")
    with duckdb.connect(str(tmp_path / "out.db")) as connection:
        assert [each[:2] for each in connection.execute("DESCRIBE t").fetchall()] == [each[:2] for each in wanted]


CELLS = {
    "id": lambda n: f"k{n}",
    "pay": lambda n: f"{n % 7}0.00",
    "grams": lambda n: f"{n % 9}.5" if n % 5 else "",
    "born": lambda n: f"{date(2000, 1, 1) + timedelta(days=n):%d.%m.%Y}",
    "seen": lambda n: f"{datetime(2020, 1, 1) + timedelta(minutes=15 * n):%Y-%m-%d %H:%M:%S}",
    "due": lambda n: f"{n % 24:02d}:30:00",
    "wait": lambda n: f"{n % 30:02d}:15:00",
    "count, all": lambda n: f"{n % 5}.0" if n % 11 else "",
    "answer": lambda n: ("True", "False")[n % 2],
    "yes": lambda n: ("true", "false")[n % 2],
    "said": lambda n: ("", 'a "b"', "c, d")[n % 3],
    "mark": lambda n: ("NA", "1", "2")[n % 3],
}
LOOKS = {
    "pay": r"\d0?\.00|\d\d\.00",
    "grams": r"\d\.\d|",
    "born": r"\d\d\.\d\d\.\d{4}",
    "seen": r"\d{4}-\d\d-\d\d \d\d:\d\d:00",
    "due": r"\d\d:\d\d:00",
    "wait": r"\d\d:\d\d:00",
    "count, all": r"\d\.0|",
    "answer": "True|False",
    "yes": "true|false",
    "said": r'|a "b"|c, d',
    "mark": "NA|1|2",
}


def test_csv_in_csv_out(tmp_path: Path) -> None:
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(CELLS), *([cell(n) for cell in CELLS.values()] for n in range(ROWS))])
    domain = drafted(tmp_path / "in.csv", tmp_path)
    records = drawn(domain, 300)
    records.write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [name for name in CELLS if name != "id"]
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        assert all(re.fullmatch(LOOKS[name], cell) for cell in cells), (name, set(cells))
    assert np.array_equal(np.stack(read_table(tmp_path / "out.csv", domain).columns, axis=1), records.codes)
    assert records.to_arrow().schema.field("answer").type == pa.bool_()


def test_order_holds_derived_columns_and_survives_a_choice_of_columns() -> None:
    content = {
        "attributes": {"a": 3, "b": {"min": 0, "max": 9, "type": "int8"}, "c": ["x", "y"]},
        "derived": {"half": {"from": "b", "table": {str(n): n // 2 for n in range(10)}, "type": "float"}},
        "ignore": ["id"],
        "order": ["half", "id", "c", "b"],
    }
    domain = domain_from_mapping(content)
    assert [each.name for each in domain.columns] == ["half", "c", "b", "a"]
    assert domain.names == ("a", "b", "c")
    schema = arrow_schema(domain)
    assert schema.types == [pa.float32(), pa.string(), pa.int8(), pa.int64()]
    again = domain_from_mapping(domain_to_mapping(domain))
    assert again == domain
    assert again.layout == domain.layout
    assert [each.name for each in domain.project(["a", "b"]).columns] == ["half", "b", "a"]
    assert drawn(domain, 3).to_arrow().schema == schema
    assert domain == Domain(domain.attributes, domain.declared)  # how records are written is not compared


def test_linked_tables_keep_their_types() -> None:
    homes = domain_from_mapping({"attributes": {"rooms": {"min": 1, "max": 9, "type": "int8"}, "x": 2}, "order": ["x"]})
    people = domain_from_mapping({"attributes": {"age": {"min": 0, "max": 99, "type": "double"}}})
    linked = Linked.of(homes, people, key="home", at_most=4)
    for domain, kinds in ((linked.parents, ["int8"]), (linked.children, ["double"])):
        assert [name for name in map(type_name, arrow_schema(domain).types) if name != "int64"] == kinds
    records = drawn(linked.joined, 4)
    key = IntegerRange("home", 1, 9)
    named = records.behind(key, np.arange(4), ["rooms", "x"]).to_arrow().schema
    assert (named.names, named.types) == (["home", "x", "rooms"], [pa.int64(), pa.int64(), pa.int8()])


DATES = {"min": "2020-01-01", "max": "2020-12-31"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"min": 0, "max": 200, "type": "int8"}, "the type int8 does not hold"),
        ({"min": -1, "max": 9, "type": "uint8"}, "the type uint8 does not hold"),
        ({"min": 0, "max": 9, "type": "date32"}, "the type date32 does not hold"),
        ({"min": 0, "max": 9, "type": "number"}, "the type number does not hold"),
        ({"min": 0, "max": 9, "bins": 3, "type": "int64"}, "the type int64 does not hold"),
        ({"min": 0, "max": 9, "step": 0.5, "type": "int8"}, "the type int8 does not hold"),
        ({"min": 0, "max": 1000, "type": "decimal128(4, 2)"}, "does not hold"),
        ({"min": 0, "max": 2**25, "type": "float"}, "the type float does not hold"),
        ({"min": 0, "max": 999_999, "step": 0.01, "type": "float"}, "the type float does not hold"),
        ({"min": 0, "max": 9, "step": 0.01, "type": "decimal128(9, 1)"}, "does not hold"),
        ({"min": 0, "max": 9, "type": "decimal128(39, 1)"}, "does not hold"),
        ({"min": 0, "max": 9, "bins": 3, "type": "decimal128(9, 1)"}, "does not hold"),
        ({"values": ["a", "b"], "type": "bool"}, "the type bool does not hold"),
        ({"values": ["a", "b"], "type": "int8"}, "the type int8 does not hold"),
        ({**DATES, "type": "time64[us]"}, "does not hold"),
        ({**DATES, "type": "timestamp[us, tz=UTC]"}, "does not hold"),
        ({"min": "2020-01", "max": "2020-12", "type": "date32"}, "does not hold"),
        ({"min": "PT0H", "max": "PT9H", "type": "int64"}, "does not hold"),
        ({"min": "1500-01-01", "max": "2500-01-01", "type": "timestamp[ns]"}, "does not hold"),
        ({"min": "1900-01-01T00:00", "max": "2262-06-01T00:00", "type": "timestamp[ns]"}, "does not hold"),
        ({"min": "PT0H", "max": "P200000D", "step": "1d", "type": "duration[ns]"}, "does not hold"),
        ({"min": 0, "max": 10, "step": 0.01, "type": "decimal128(9, 1)"}, "does not hold"),
        ({"min": 16777210, "max": 16777230, "type": "float"}, "does not hold"),
        ({"min": 999_999, "max": 1_000_000, "step": 0.01, "type": "float"}, "does not hold"),
        ({"values": [0.1, 0.12345678901], "type": "float"}, "does not hold"),
        ({"edges": [0, 0.12345678901, 1], "type": "float"}, "does not hold"),
        ({"min": 0, "max": 9, "step": "20min", "unit": "h", "type": "float"}, "does not hold"),
        ({"values": [2**53, 2**53 + 1], "type": "double"}, "does not hold"),
        ({"values": ["True", "TRUE", "false"], "type": "bool"}, "does not hold"),
        ({"min": 0, "max": 9, "type": 8}, "'type' is no text"),
        ({"min": 0, "max": 9, "null": ""}, "would not be read as the missing value"),
        ({"values": ["a", "b"], "missing": "?", "null": "NA"}, "would not be read as the missing value"),
        ({"values": ["", "b"], "missing": "?", "null": ""}, "would not be read as the missing value"),
        ({"min": 0, "max": 9, "digits": "2"}, "'digits' is no whole number"),
        ({"min": 0, "max": 9, "step": 0.25, "digits": 19}, "cannot be written with 19 digits"),
        ({"min": 0, "max": 9, "bins": 3, "digits": 2}, "cannot be written with 2 digits"),
        ({"values": ["a", "b"], "digits": 2}, "cannot be written with 2 digits"),
    ],
)
def test_layouts_that_are_refused(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        domain_from_mapping({"x": entry, "y": 2})


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["2020-01-31", "2020-02-01"], "date32"), (["7", "12"], "int8"), (["true", "false"], "bool"), ([1.5, 2], "float")],
)
def test_a_type_is_accepted_where_values_are_read_back_from_it(tmp_path: Path, values: list[Any], kind: str) -> None:
    domain = domain_from_mapping({"x": {"values": values, "missing": True, "type": kind}, "y": 2})
    codes = np.array([[0, 1], [1, 0], [2, 1]])
    Records(codes, domain).write(tmp_path / "r.parquet")
    assert pq.read_schema(tmp_path / "r.parquet").field("x").type == type_called(kind)
    assert np.array_equal(np.stack(read_table(tmp_path / "r.parquet", domain).columns, axis=1), codes)


@cache
def labelled(step: float, most: int) -> tuple[Domain, pa.Array]:
    """A domain with a range of a thousand, and all of its numbers as they are written."""
    plain = domain_from_mapping({"x": {"min": most - 1_000, "max": most, "step": step}, "y": 2})
    return plain, pa.array([plain["x"].label(code) for code in range(plain["x"].size)])


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("kind", ["int32", "float", "decimal128(12, 2)", "double"])
@pytest.mark.parametrize("step", [1, 0.25, 0.01])
@pytest.mark.parametrize("most", [1_000, 200_000, 33_000_000])
def test_of_every_number_of_a_range_the_declared_type_has_one_of_its_own(kind: str, step: float, most: int) -> None:
    """Brute force over a range, in place of the numbers at its ends that are tried."""
    entry = {"min": most - 1_000, "max": most, "step": step}
    plain, texts = labelled(step, most)
    numbers = np.arange(plain["x"].size)
    try:
        held = encoder(plain["x"]).codes(texts.cast(pa.float64()).cast(type_called(kind)))
        fits = np.array_equal(held, numbers)
    except pa.ArrowInvalid:
        fits = False
    try:
        domain_from_mapping({"x": entry | {"type": kind}, "y": 2})
        accepted = True
    except DomainError:
        accepted = False
    assert accepted == fits


def test_the_end_of_a_duration_has_the_type_of_its_start() -> None:
    entries = {
        "day": {"min": "2200-01-01", "max": "2250-01-01", "type": "timestamp[ns]"},
        "stay": {"from": "day", "to": "left", "min": 0, "max": 30_000, "unit": "d"},
    }
    with pytest.raises(DomainError, match=r"'left': the type timestamp\[ns\] does not hold"):
        domain_from_mapping(entries)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "Asia/Kathmandu"])
def test_times_in_a_zone_come_back_in_it(tmp_path: Path, zone: str) -> None:
    moments = np.datetime64("2024-01-01T00:00", "ms") + 900_000 * np.random.default_rng(2).integers(0, 35_000, ROWS)
    source = pa.table({"seen": pa.array(moments, pa.timestamp("ms", zone)), "sex": ["F", "M"] * (ROWS // 2)})
    domain = drafted(source, tmp_path)
    codes = np.stack(read_table(source, domain).columns, axis=1)
    found = Records(codes, domain, seed=1).to_arrow()
    assert found.schema.types == source.schema.types
    assert np.array_equal(np.stack(read_table(found, domain).columns, axis=1), codes)


def test_an_offset_is_no_zone(tmp_path: Path) -> None:
    source = pa.table({"seen": pa.array([1_700_000_000, 1_710_000_900], pa.timestamp("s", "+05:30"))})
    seen = drafted(source, tmp_path)["seen"]
    assert isinstance(seen, IntegerRange | Binned)
    assert seen.scale is not None
    assert "UTC" in repr(seen.scale)


def test_a_duration_in_a_zone_that_skips_hours_begins_at_a_type_without_a_zone(tmp_path: Path) -> None:
    moments = {"min": "2024-03-30T00:00", "max": "2024-04-01T00:00", "step": "15min"}
    stay = {"from": "seen", "to": "left", "min": 0, "max": 30, "unit": "h"}

    def declared(zone: str, kind: str) -> Domain:
        return domain_from_mapping({"seen": moments | {"zone": zone, "type": kind}, "stay": stay})

    with pytest.raises(DomainError, match="'stay' would not add up"):
        declared("Europe/Berlin", "timestamp[us, tz=Europe/Berlin]")
    for domain in (declared("UTC", "timestamp[ms, tz=UTC]"), declared("Europe/Berlin", "timestamp[ms]")):
        codes = np.stack([np.arange(193), np.arange(193) % 31], axis=1)
        Records(codes, domain).write(tmp_path / "r.parquet")
        assert np.array_equal(np.stack(read_table(tmp_path / "r.parquet", domain).columns, axis=1), codes)


@pytest.mark.parametrize("edges", [[0, 0.1, 0.3, 0.7, 1], [0.7, 0.700001, 0.700002], [-3, -0.7, 0]])
def test_narrow_floats_lie_in_their_bins(edges: list[float]) -> None:
    domain = domain_from_mapping({"x": {"edges": edges, "missing": True, "type": "float"}})
    codes = np.random.default_rng(1).integers(0, len(edges), (20_000, 1))
    found = Records(codes, domain, seed=1).to_arrow()
    assert found.schema.field("x").type == pa.float32()
    assert np.array_equal(read_table(found, domain).columns[0], codes[:, 0])


def test_orders_that_are_refused() -> None:
    for order in ("x", ["z"]):
        with pytest.raises(DomainError, match="'order' is not a list of columns"):
            domain_from_mapping({"attributes": {"x": 2, "y": 2}, "order": order})


def test_synonyms_of_the_missing_value_may_be_its_text(tmp_path: Path) -> None:
    entry = {"values": ["a", "b"], "missing": "?", "synonyms": {"n/a": "?"}, "case": "fold", "null": "N/A"}
    domain = domain_from_mapping({"x": entry, "y": 2})
    Records([[2, 0]], domain).write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "x,y\nN/A,0\n"


def test_names_of_types() -> None:
    kinds = [pa.int8(), pa.float32(), pa.float64(), pa.date64(), pa.time64("ns"), pa.duration("s"), pa.large_string()]
    for kind in [*kinds, pa.decimal128(9, 2), pa.timestamp("ms", "Europe/Berlin"), pa.bool_()]:
        assert type_called(type_name(kind) or "") == kind
    assert type_name(pa.string_view()) == "string"
    assert type_name(pa.binary()) in (None, "binary")


def test_a_layout_says_nothing_about_columns_that_it_does_not_name() -> None:
    layout = Layout(("b",), {"a": Written("int8")}).merged(Layout(("c", "b"), {"a": Written("int16"), "d": Written()}))
    assert layout.order == ("b", "c")
    assert layout["a"] == Written("int8")
    assert layout["z"] == Written()
    assert [each.name for each in Domain([Categorical("a", "xy"), IntegerRange("b", 0, 1)], layout=layout).columns] == [
        "b",
        "a",
    ]
    half = Derived(IntegerRange("half", 0, 1), ("b",), [0, 1], column=True)
    assert Domain([IntegerRange("b", 0, 1)], [half], layout=Layout(("half",))).columns[0].name == "half"


KINDS = [
    "int8",
    "int64",
    "uint16",
    "float",
    "double",
    "bool",
    "string",
    "large_string",
    "dictionary",
    "decimal128(12, 3)",
]
KINDS += [
    "date32",
    "date64",
    "timestamp[s]",
    "timestamp[ns]",
    "timestamp[ms, tz=Europe/Berlin]",
    "time32[s]",
    "time64[ns]",
]
KINDS += ["duration[s]", "duration[ns]"]
ENTRIES: dict[str, dict[str, Any]] = {
    "whole": {"min": -3, "max": 90, "missing": True},
    "bins": {"edges": [0, 5, 90], "whole": True, "other": True},
    "real": {"edges": [0, 0.5, 9]},
    "tenths": {"min": 35, "max": 43, "step": 0.1, "missing": "99"},
    "codes": {"values": [1, 2, 3], "missing": "?"},
    "doses": {"values": [0.5, 1.5]},
    "words": {"values": ["a", "b"], "other": True},
    "said": {"values": ["YES", "true", "False"]},
    "flags": {"values": ["TRUE", "FALSE"], "missing": True},
    "bools": {"values": [True, False], "missing": True},
    "days": {**DATES, "bins": "month", "missing": True},
    "months": {"min": "2020-01", "max": "2020-12"},
    "times": {"min": "2020-01-01T00:00", "max": "2020-01-09T00:00", "zone": "Europe/Berlin"},
    "clock": {"min": "00:00", "max": "23:45", "step": "15min", "missing": True},
    "waits": {"min": "-PT2H", "max": "PT9H", "missing": True},
    "hours": {"min": 0, "max": 9, "unit": "h", "step": "30min"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_a_type_is_refused_or_holds_every_value(name: str, tmp_path: Path) -> None:
    kept = []
    for kind in KINDS:
        try:
            domain = domain_from_mapping({"x": ENTRIES[name] | {"type": kind}, "y": 2})
        except DomainError:
            continue
        kept.append(kind)
        records = Records([[code, 0] for code in range(domain["x"].size)], domain, seed=1)
        found = records.to_arrow()
        assert found.schema.field("x").type == type_called(kind)
        records.write(tmp_path / "r.parquet")
        texts = pa.types.is_string(type_called(kind)) or pa.types.is_large_string(type_called(kind))
        for source in (found, tmp_path / "r.parquet"):
            codes = read_table(source, domain_from_mapping({"x": ENTRIES[name] | {"missing": "?"}, "y": 2})).columns[0]
            ordinary = domain["x"].ordinary
            assert codes[:ordinary].tolist() == list(range(ordinary)), (kind, texts)
    assert set(kept) >= {"string", "large_string", "dictionary"}
