"""Records: codes to values and back, in every form of output."""

from __future__ import annotations

import builtins
import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from hedgerow.data import read_table
from hedgerow.domain import (
    Attribute,
    Binned,
    Categorical,
    Derived,
    Domain,
    IntegerRange,
    arrow_schema,
    values as record_values,
)
from hedgerow.errors import ConfigError, MissingExtraError
from hedgerow.release import Records, records as module, writer_for

DOMAIN = Domain(
    [
        Categorical("city", ("Bath", "York"), missing="?", other="else"),
        Categorical("vip", (False, True), missing="?"),
        Categorical("grade", (1, 2)),
        Categorical("dose", (0.5, 1)),
        Categorical("mixed", ("a", 1, 2.5, True)),
        IntegerRange("age", 17, 90, missing="-1", other="far"),
        Binned("pay", (0, 10, 20)),
        Binned("size", (0, 5, 9), whole=True, missing="?"),
    ]
)
CODES = [[0, 0, 0, 0, 0, 0, 0, 0], [3, 2, 1, 1, 3, 74, 1, 2], [2, 1, 1, 0, 1, 75, 1, 1]]


def test_values_have_their_original_types() -> None:
    table = Records(CODES, DOMAIN, seed=1).to_arrow()
    text = pa.string()
    assert table.schema.types == [
        text, pa.bool_(), pa.int64(), pa.float64(), text, pa.int64(), pa.float64(), pa.int64()
    ]  # fmt: skip
    columns = table.to_pydict()
    assert columns["city"] == ["Bath", "else", None]
    assert columns["vip"] == [False, None, True]
    assert columns["grade"] == [1, 2, 2]
    assert columns["dose"] == [0.5, 1.0, 0.5]
    assert columns["mixed"] == ["a", "True", "1"]
    assert columns["age"] == [17, None, None]
    assert 0 <= columns["pay"][0] < 10 <= columns["pay"][1] <= 20
    assert 0 <= columns["size"][0] < 5 <= columns["size"][2] <= 9
    assert columns["size"][1] is None


def test_whole_values_beyond_64_bits_are_texts() -> None:
    assert arrow_schema(Domain([Categorical("a", (1, 2**63))])).types == [pa.string()]


def test_csv_shows_declared_texts(tmp_path: Path) -> None:
    Records(CODES, DOMAIN, seed=1).write(tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0] == "city,vip,grade,dose,mixed,age,pay,size"
    assert lines[1].startswith("Bath,false,1,0.5,a,17,")
    assert lines[2].startswith("else,,2,1,True,-1,")
    assert lines[2].endswith(",")
    assert lines[3].startswith("?,true,2,0.5,1,far,")


def test_csv_columns_of_numbers_stay_columns_of_numbers(tmp_path: Path) -> None:
    domain = Domain([Categorical("job", ("x, y", "z"), missing="?"), Binned("pay", (0, 5000, 9000), missing="?")])
    codes = np.array([[0, 0], [1, 1], [2, 2], [1, 0]])
    Records(codes, domain, seed=1).write(tmp_path / "r.csv")
    frame = pd.read_csv(tmp_path / "r.csv")
    assert frame["pay"].dtype == np.float64
    assert frame["pay"].isna().tolist() == [False, False, True, False]
    assert frame["job"].tolist() == ["x, y", "z", "?", "z"]
    assert '"' not in (tmp_path / "r.csv").read_text().splitlines()[2].split(",")[-1]


def test_an_only_column_has_no_empty_lines(tmp_path: Path) -> None:
    domain = Domain([IntegerRange("age", 0, 9, missing="?")])
    Records([[3], [10], [4]], domain).write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text().split() == ["age", "3", "?", "4"]


def test_drawn_numbers_have_few_digits() -> None:
    domain = Domain([Binned("pay", (0, 5000, 10000)), Binned("share", (0, 0.1, 1))])
    pay, share = Records(np.repeat([[0, 0], [1, 1]], 500, axis=0), domain, seed=1).to_arrow().to_pydict().values()
    assert max(len(repr(value).split(".")[1]) for value in pay) == 3
    assert all("e" in repr(value) or len(repr(value).split(".")[1]) <= 7 for value in share)


def test_csv_quotes_what_needs_quotes(tmp_path: Path) -> None:
    domain = Domain([Categorical('a, "b"', ("x,y", 'say "x"', "two\nlines", " x", ""), missing="?")])
    records = Records([[0], [1], [2], [3], [4], [5]], domain)
    records.write(tmp_path / "r.csv")
    assert read_table(tmp_path / "r.csv", domain).columns[0].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("rows", [1, 7, 40, 3_000, 40_000])
def test_lines_that_are_put_together_hold_the_texts_of_all_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Columns are looked up together or one by one, by how often their values are repeated."""
    draw = np.random.default_rng(rows)
    domain = Domain([*DOMAIN, IntegerRange("wide", -40_000, 40_000), IntegerRange("last", 0, 1, missing="none")])
    codes = np.column_stack([draw.integers(each.size, size=rows) for each in domain])
    monkeypatch.setattr(module, "CHUNK_ROWS", 16_384)
    records = Records(codes, domain, seed=1)
    records.write(tmp_path / "r.csv")
    texts = pa.Table.from_batches(records.batches(as_text=True))
    cells = zip(*(column.cast(pa.string()).fill_null("").to_pylist() for column in texts.columns), strict=True)
    header, *lines = csv.reader((tmp_path / "r.csv").read_text().splitlines())
    assert header == texts.column_names
    assert lines == [list(row) for row in cells]


def test_long_texts_stand_as_they_are(tmp_path: Path) -> None:
    domain = Domain([Categorical("a", ("x" * 201, "y")), Categorical("b", ("u", "v"))])
    Records([[0, 1], [1, 0]], domain).write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "a,b\n" + "x" * 201 + ",v\ny,u\n"


def test_truth_values_that_may_be_missing_are_booleans_of_pandas() -> None:
    domain = Domain([Categorical("smokes", (False, True), missing="?"), Categorical("sex", (False, True))])
    frame = Records([[0, 0], [1, 1], [2, 0]], domain, seed=1).to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["boolean", "bool"]
    assert frame["smokes"].isna().tolist() == [False, False, True]


def test_pandas_and_polars() -> None:
    records = Records(CODES, DOMAIN, seed=1)
    frame = records.to_pandas()
    assert frame["age"].dtype == pd.Int64Dtype()
    assert frame["grade"].dtype == np.int64
    assert frame["age"].isna().tolist() == [False, True, True]
    assert records.to_polars().equals(pl.DataFrame(records.to_arrow()))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_an_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == library:
            raise ImportError(name)
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=rf"pip install 'hedgerow\[{library}\]'"):
        getattr(Records(CODES, DOMAIN), f"to_{library}")()


def test_numbers_are_uniform_in_their_bin() -> None:
    """10,000 draws per bin; a mean beyond 6 standard errors comes by chance once in 5e8 runs, and the seed is fixed."""
    domain = Domain([Binned("x", (0, 10, 30)), Binned("w", (0.5, 3, 6), whole=True)])
    codes = np.repeat([[0, 0], [1, 1]], 10_000, axis=0)
    columns = Records(codes, domain, seed=3).to_arrow()
    x, w = (columns.column(name).to_numpy().reshape(2, -1) for name in ("x", "w"))
    assert np.allclose(x.mean(axis=1), [5, 20], atol=6 * 20 / 12**0.5 / 100)
    assert np.allclose(x.var(axis=1), [100 / 12, 400 / 12], rtol=0.06)
    for row, values in zip(w, ([1, 2], [3, 4, 5, 6]), strict=True):
        found, counts = np.unique(row, return_counts=True)
        assert found.tolist() == values
        assert np.abs(counts - 10_000 / len(values)).max() < 6 * 50


def test_a_draw_never_leaves_its_bin() -> None:
    edges = (1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2))
    domain = Domain([Binned("x", edges)])
    codes = np.repeat([[0], [1]], 1000, axis=0)
    table = read_table(Records(codes, domain, seed=0).to_arrow(), domain)
    assert (table.columns[0] == codes[:, 0]).all()


def test_a_seed_repeats_and_asking_twice_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 10)
    domain = Domain([Binned("x", (0, 1, 2)), Binned("y", (0, 1, 2))])
    codes = np.zeros((35, 2), dtype=int)
    first, same, other = (Records(codes, domain, seed=seed) for seed in (5, 5, 6))
    assert first.to_arrow() == first.to_arrow() == same.to_arrow()
    assert first.to_arrow() != other.to_arrow()
    drawn = np.array(first.to_arrow().to_pydict()["x"] + first.to_arrow().to_pydict()["y"])
    assert len(np.unique(drawn)) == 70
    assert Records(codes, domain).to_arrow() != Records(codes, domain).to_arrow()


@pytest.mark.parametrize("ending", ["csv", "parquet", "pq", "CSV"])
def test_files_are_written_in_chunks_and_replaced(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 7)
    path = tmp_path / f"r.{ending}"
    path.write_text("old")
    codes = np.random.default_rng(0).integers(0, 2, (50, len(DOMAIN)))
    Records(codes, DOMAIN, seed=0).write(path)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    table = read_table(path, DOMAIN)
    assert (codes == np.array(table.columns).T).all()
    if ending in ("parquet", "pq"):
        assert pq.read_table(path).equals(Records(codes, DOMAIN, seed=0).to_arrow())


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("r.csv", "r.parquet"):
        path = tmp_path / name
        path.write_text("old")
        monkeypatch.setattr(record_values, "_inside_bins", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Records(CODES, DOMAIN).write(path)
        assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


def test_texts_are_dictionaries_in_parquet_and_texts_to_readers(tmp_path: Path) -> None:
    (batch,) = Records(CODES, DOMAIN, seed=1).encoded()
    assert pa.types.is_dictionary(batch.schema.field("city").type)
    assert batch.column("city").null_count == 1
    Records(CODES, DOMAIN, seed=1).write(tmp_path / "r.parquet")
    assert pq.read_table(tmp_path / "r.parquet").equals(Records(CODES, DOMAIN, seed=1).to_arrow())


def test_many_attributes_are_decoded_few_records_at_a_time() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(1 << 10))
    rows = module.chunk_rows(domain)
    assert rows * len(domain) <= 1 << 21
    batches = list(Records(np.zeros((rows + 1, len(domain)), dtype=np.uint8), domain).batches())
    assert [batch.num_rows for batch in batches] == [rows, 1]


def test_an_unknown_ending(tmp_path: Path) -> None:
    for write in (writer_for, Records(CODES, DOMAIN).write):
        with pytest.raises(ConfigError, match=r"r\.xlsx.*'\.xlsx'") as caught:
            write(tmp_path / "r.xlsx")
        assert ".parquet" in caught.value.remedy
    assert not list(tmp_path.iterdir())


def test_no_records(tmp_path: Path) -> None:
    none = Records(np.empty((0, len(DOMAIN)), dtype=int), DOMAIN)
    assert none.to_arrow().num_rows == 0
    for name in ("r.csv", "r.parquet"):
        none.write(tmp_path / name)
    assert pq.read_table(tmp_path / "r.parquet").schema == arrow_schema(DOMAIN)
    assert (tmp_path / "r.csv").read_text() == ",".join(DOMAIN.names) + "\n"


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([0, 0], "shape"),
        ([[0, 0]], "shape"),
        ([[0.0] * 8], "whole numbers"),
        ([[4, *[0] * 7]], "'city'"),
        ([[0] * 7 + [-1]], "'size'"),
    ],
)
def test_codes_that_are_refused(codes: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Records(codes, DOMAIN)


def test_size_and_text() -> None:
    records = Records(CODES, DOMAIN)
    assert len(records) == 3
    assert repr(records).startswith("Records(3 records of city, vip")


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
extras = st.sampled_from([{}, {"missing": "?"}, {"missing": "no answer", "other": "some, other"}])


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    options: dict[str, Any] = draw(extras)
    kind = draw(st.sampled_from(["text", "bool", "int", "float", "range", "bins", "whole"]))
    if kind == "text":
        listed = draw(
            st.lists(texts.filter(lambda text: text.lower() not in ("true", "false")), max_size=4, unique=True)
        )
        return Categorical(name, [*listed, "first value", "second value"], **options)
    if kind == "bool":
        return Categorical(name, (True, False), **options)
    if kind in ("int", "float"):
        numbers = st.integers(-(2**60), 2**60) if kind == "int" else st.floats(-1e300, 1e300)
        return Categorical(name, draw(st.lists(numbers, min_size=2, max_size=4, unique=True)), **options)
    if kind == "range":
        low = draw(st.integers(-(10**9), 10**9))
        return IntegerRange(name, low, low + draw(st.integers(1, 300)), **options)
    edges = draw(st.lists(st.integers(-1000, 1000), min_size=3, max_size=5, unique=True))
    scale = 1 if kind == "whole" else draw(st.sampled_from([0.1, 1, 1e-9]))
    return Binned(name, [edge * scale for edge in sorted(edges)], whole=kind == "whole", **options)


@given(st.integers(1, 3).flatmap(lambda d: st.tuples(*(attributes(f"a {i}") for i in range(d)))), st.integers(0, 99))
def test_what_is_written_is_read_back(listed: tuple[Attribute, ...], seed: int) -> None:
    domain = Domain(listed)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 40) for size in domain.shape], axis=1)
    records = Records(codes, domain, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.csv")
        records.write(path)
        assert (codes == np.array(read_table(path, domain).columns).T).all()
        expected = codes.copy()
        for i, attribute in enumerate(domain):
            if attribute.other_code is not None and arrow_schema(domain).types[i] != pa.string():
                expected[expected[:, i] == attribute.other_code, i] = attribute.missing_code
        records.write(Path(folder, "r.parquet"))
        for source in (Path(folder, "r.parquet"), records.to_arrow(), records.to_pandas(), records.to_polars()):
            assert (expected == np.array(read_table(source, domain).columns).T).all()


LEVELED = Domain(
    [Categorical("area", ("N", "S", "W")), IntegerRange("age", 0, 99), Binned("pay", (0, 10, 20))],
    [
        Derived(Categorical("density, 2020", ("low", "high")), ("area",), [0, 1, 1], column=True),
        Derived(Categorical("life", ("child", "adult")), ("age",), [0] * 15 + [1] * 85),
        Derived(IntegerRange("risk", 0, 3, missing="?"), ("area", "pay"), [[0, 4], [1, 2], [3, 3]], column=True),
    ],
)
LEVELED_CODES = [[0, 3, 1], [2, 40, 0], [1, 99, 1]]
DERIVED = {"density, 2020": ["low", "high", "high"], "risk": [None, 3, 2]}


def test_derived_columns_are_written_after_the_attributes_and_levels_are_not(tmp_path: Path) -> None:
    records = Records(LEVELED_CODES, LEVELED, seed=1)
    table = records.to_arrow()
    assert table.column_names == ["area", "age", "pay", "density, 2020", "risk"]
    assert table.schema == arrow_schema(LEVELED)
    assert table.select(list(DERIVED)).to_pydict() == DERIVED
    assert records.to_polars().to_dict(as_series=False) == table.to_pydict()
    frame = records.to_pandas()
    assert frame.dtypes["risk"] == "Int64"
    assert frame["risk"].isna().tolist() == [True, False, False]
    assert repr(records) == "Records(3 records of area, age, pay, density, 2020, risk)"
    for name in ("r.parquet", "r.csv"):
        records.write(tmp_path / name)
    assert pq.read_table(tmp_path / "r.parquet").equals(table)
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0] == 'area,age,pay,"density, 2020",risk'
    assert [line.split(",")[-2:] for line in lines[1:]] == [["low", ""], ["high", "3"], ["high", "2"]]


def test_an_only_attribute_with_a_derived_column_may_have_empty_cells(tmp_path: Path) -> None:
    ages = IntegerRange("age", 0, 1, missing="?")
    domain = Domain([ages], [Derived(IntegerRange("old", 0, 1), ("age",), [0, 1, 0], column=True)])
    Records([[2], [1]], domain).write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "age,old\n,0\n1,1\n"


@pytest.mark.parametrize("label", ["a,b", " a", ""])
def test_labels_of_derived_columns_are_quoted_where_they_need_it(label: str, tmp_path: Path) -> None:
    named = Categorical("b", (label, "c"))
    domain = Domain([IntegerRange("a", 0, 1)], [Derived(named, ("a",), [0, 1], column=True)])
    Records([[0], [1]], domain).write(tmp_path / "r.csv")
    assert pd.read_csv(tmp_path / "r.csv", keep_default_na=False)["b"].tolist() == [label, "c"]


@pytest.mark.parametrize("label", ["else", "else, far away"])
def test_lines_made_from_lists_of_texts_are_those_made_cell_by_cell(tmp_path: Path, label: str) -> None:
    attributes = list(DOMAIN.attributes)
    attributes[0] = Categorical("city", ("Bath", "York"), missing="?", other=label)
    domain = Domain(attributes)
    draw = np.random.default_rng(0)
    codes = np.column_stack([draw.integers(0, each.size, 4_000) for each in domain])
    codes[:, 6] = 0  # numbers inside bins are drawn for each cell
    Records(codes, domain, seed=1).write(tmp_path / "all.csv")
    lines = (tmp_path / "all.csv").read_text().splitlines()
    for row in draw.permutation(4_000)[:60]:
        Records(codes[[row]], domain, seed=1).write(tmp_path / "one.csv")
        (_, line) = (tmp_path / "one.csv").read_text().splitlines()
        (alone,), among = csv.reader([line]), lines[1 + row]
        assert next(csv.reader([among]))[:6] == alone[:6]
        assert among.split(",")[-6:-2] == line.split(",")[-6:-2]  # numbers have no quotes, whatever texts have
