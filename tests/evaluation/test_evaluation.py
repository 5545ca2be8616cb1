"""The evaluation as a whole: bad input, notes, files and the page; all of it is stamped."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hedgerow import Domain, IntegerRange, evaluate
from hedgerow.errors import ColumnError, ConfigError, DomainError, UnreadableTableError
from hedgerow.evaluation import headings_of, rows_of, title_of
from tests.evaluation.test_measures import labels

REAL = labels(0, 100)


def test_every_output_is_stamped(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = evaluate(REAL, {"<one>": labels(1, 80), "two": labels(2, 90, 0.4)}, by="c", models=False)
    found.write_csv(tmp_path / "e.csv")
    rows = list(csv.DictReader((tmp_path / "e.csv").read_text().splitlines()))
    assert {row["label"] for row in rows} == {"not private"}
    assert len(rows) == len(found.findings)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["label"] == "not private"
    assert values["records"] == {"<one>": 80, "two": 90}
    found.write_page(tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text()
    assert "<title>NOT PRIVATE" in page
    assert 'class="stamp"' in page
    assert "<one>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert title_of(found).startswith("NOT PRIVATE")
    assert all(len(row) == len(headings_of(found)) == 3 for row in rows_of(found))
    assert all("not private" in repr(each) for each in (found, *found.findings))


def test_the_page_opens_with_a_verdict_for_each_file_the_closest_first(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = evaluate(REAL, {"far": labels(2, 90, 0.4), "same": REAL}, models=False)
    found.write_page(tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text()
    family = list(found.curves)[-1]
    opening = page[: page.index("<h2>")]
    assert f"same is as close to the real table as the whole table of its records, by the {family} score." in opening
    assert opening.index("same is as close") < opening.index("far is as close")
    assert opening.count(f"{family} score, of 1000</dt><dd>1000<") == 1
    assert opening.count("as close as</dt>") == opening.count("exact copies of real records") == 2
    assert "<dd>100 %" in opening


def test_the_same_seed_gives_the_same_figures() -> None:
    one, other = (evaluate(REAL, labels(1, 80), models=False, seed=3).to_dict() for _ in range(2))
    assert json.dumps(one) == json.dumps(other)


def test_columns_that_a_table_lacks_are_left_out_and_named() -> None:
    wider = REAL.append_column("d", [["x"] * 100])
    found = evaluate(wider, REAL, models=False)
    assert found.columns == ("a", "b", "c")
    assert found.notes == ("left out, because table 1 has no such column: d",)
    back = evaluate(REAL, wider, models=False)
    assert back.notes == ("left out, because the real table has no such column: d",)
    assert evaluate(wider, wider, columns=["d", "a"], models=False).columns == ("d", "a")


def test_tables_are_read_wherever_they_are(tmp_path: Path) -> None:
    coded = REAL.set_column(0, "a", REAL["a"].combine_chunks().dictionary_encode())
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((coded.slice(0, 40), coded.slice(40))):
        pyarrow.parquet.write_table(part, tmp_path / "parts" / f"{number}.parquet")
    pyarrow.csv.write_csv(REAL, tmp_path / "real.csv")
    frame = REAL.to_pandas().astype({"a": "category"})
    places = [tmp_path / "real.csv", str(tmp_path / "parts" / "*.parquet"), frame]
    found = evaluate(tmp_path / "parts", places, models=False)
    assert found.files == ("real.csv", "*.parquet", "table 3")
    assert {each.value for each in found.of("score")} == {1000.0}


def test_a_single_column_and_a_single_record_are_enough() -> None:
    found = evaluate(pa.table({"a": ["x"]}), pa.table({"a": ["x"]}), models=False)
    assert [each.subject for each in found.of("score")] == ["1-way"]
    assert found.value("score", "1-way") == 1000.0


@pytest.mark.parametrize(
    ("error", "message", "real", "synthetic", "options"),
    [
        (ColumnError, "no column is in all", REAL, pa.table({"z": [1]}), {}),
        (ColumnError, "no such column", REAL, REAL, {"columns": ["a", "z"]}),
        (ColumnError, "not among the columns", REAL, REAL, {"by": "z"}),
        (ColumnError, "not among the columns", REAL, REAL, {"targets": ["z"]}),
        (ColumnError, "neither texts nor numbers", pa.table({"a": [[1]]}), pa.table({"a": [[1]]}), {}),
        (ColumnError, "more than once", pa.table([[1], [2]], ["a", "a"]), REAL, {}),
        (UnreadableTableError, "no records", REAL.slice(0, 0), REAL, {}),
        (UnreadableTableError, "no records", REAL, REAL.slice(0, 0), {}),
        (UnreadableTableError, "cannot be read", REAL, "none.csv", {}),
        (ConfigError, "no synthetic table", REAL, [], {}),
        (ConfigError, "named twice", REAL, ["a.csv", "a.csv"], {}),
        (ConfigError, "1 bins", REAL, REAL, {"bins": 1}),
        (DomainError, "no column 'a'", REAL, REAL, {"columns": ["a"], "domain": Domain([IntegerRange("b", 0, 1)])}),
    ],
)
def test_what_is_wrong_is_said(
    error: type[Exception], message: str, real: object, synthetic: object, options: dict[str, object]
) -> None:
    with pytest.raises(error, match=message):
        evaluate(real, synthetic, models=False, **options)  # type: ignore[arg-type]


def test_a_figure_that_is_not_there_is_an_error_that_lists_the_measures() -> None:
    with pytest.raises(ConfigError, match="exact matches"):
        evaluate(REAL, REAL, models=False).value("score", "9-way")


def test_figures_that_are_infinite_are_no_figures_in_json() -> None:
    values = [float("inf"), -float("inf")] * 9 + list(range(60))
    real = pa.table({"a": pa.array(values, pa.float64()), "b": [1, 2, 3] * 26})
    found = evaluate(real, real, models=False)
    assert any(math.isinf(each.value) for each in found.of("quantile"))
    json.dumps(found.to_dict(), allow_nan=False)


def test_models_beside_constant_columns_guess() -> None:
    table = pa.table({"a": [True, False] * 20, "b": ["x"] * 40})
    found = evaluate(table, table)
    assert {each.value for each in found.of("AUC")} == {0.5}
    assert {each.value for each in found.of("pMSE")} == {0.0}


def test_a_domain_file_whose_values_are_learnt_says_the_rest(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(
        "attributes:\n"
        "  code: {values: {learn: 2, of: [A1, A2, B1], prefix: [1]}}\n"
        "  job: {values: {learn: 5}, case: fold}\n"
        "  age: {min: 0, max: 99, bins: {learn: 4}}\n"
        "  adult: [no, yes]\n  works: [no, yes]\n"
        "constraints:\n  - impossible: adult = 'no' and works = 'yes'\n"
    )
    real = pa.table(
        {
            "code": ["A1", "A2", "B1", "B1"],
            "job": ["Nurse", "nurse", "clerk", "cook"],
            "age": [1, 2, 50, 60],
            "adult": ["no", "no", "yes", "yes"],
            "works": ["no", "no", "yes", "yes"],
        }
    )
    synthetic = real.set_column(0, "code", pa.array(["A*", "other", "B1", "B1"]))
    synthetic = synthetic.set_column(1, "job", pa.array(["nurse", "nurse", "clerk", "other"]))
    synthetic = synthetic.set_column(4, "works", pa.array(["yes", "no", "yes", "yes"]))
    found = evaluate(real, synthetic, domain=tmp_path / "d.yaml", models=False)
    assert found.value("impossible records", "a value outside the domain") == 0.0
    assert found.value("impossible records", "any rule") == 0.25
    assert found.value("total variation, 1-way", "code") == 0.5
    assert found.value("total variation, 1-way", "job") == 0.25
    assert found.value("total variation, 1-way", "age") == 0.0
