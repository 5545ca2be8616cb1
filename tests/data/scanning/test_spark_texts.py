"""Texts that travel as places in lists arrive as they were, and their hash is Spark's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from hedgerow.data import read_table, scan_table
from hedgerow.data.scanning.spark_texts import MOST_COLUMNS, Listed, Lookup, expected_texts, spark_hash
from hedgerow.domain import Attribute, Binned, Categorical, Domain, IntegerRange, domain_from_mapping, encoder
from hedgerow.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

DOMAIN = domain_from_mapping(
    {
        "plain": ["a", "b c", "Łódź", "🎉", "null"],
        "open": {"values": ["x", "é"], "missing": "?", "other": True},
        "spelled": {"values": ["Male", "Female"], "trim": True, "case": "fold", "synonyms": {"m": "Male"}},
        "flag": [True, False],
        "dose": [1, 0.5, 2],
        "age": {"min": -3, "max": 120, "missing": "none", "other": True},
        "far": {"min": 0, "max": 1_000_000},
        "income": {"edges": [0, 0.5, 10], "missing": True},
        "day": {"min": "2024-01-01", "max": "2024-03-31", "missing": True},
        "temp": {"min": 35, "max": 43, "step": 0.1},
    }
)
"""Every kind of attribute, for columns of texts."""

CELLS = ("", " ", "a", "A", "?", "true", "TRUE", "1", "1.0", "+1", "-0", "-0.0", "NaN", "1e1", "120", " 7", "36.6")
CELLS += (
    "2024-02-29",
    "2023-02-29",
    "2024-01-01T00:00",
    "male ",
    "FEMALE",
    "\u00e9",
    "e\u0301",
    "\x00",
    "'",
    '"',
    "x\n",
)


def columns(attribute: Attribute) -> strategies.SearchStrategy[list[str | None]]:
    """Cells that are expected, odd, or anything."""
    cells = strategies.sampled_from([*expected_texts(attribute)[:200], *CELLS]) | strategies.text(max_size=9)
    return strategies.lists(cells | strategies.none(), min_size=40, max_size=40)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data())
def test_every_cell_arrives_as_it_was(spark: SparkSession, data: Any) -> None:
    table = pa.table({each.name: pa.array(data.draw(columns(each)), pa.string()) for each in DOMAIN})
    frame = spark.createDataFrame(table)
    listed = Listed.of(frame, list(DOMAIN))
    assert set(listed.lookups) == set(DOMAIN.names) - {"far", "income"}
    batches = listed.sent(frame).toArrow().combine_chunks().to_batches()
    received = [listed.received(batch) for batch in batches]
    for place, attribute in enumerate(DOMAIN):
        cells = [cell for arrays in received for cell in arrays[place].to_pylist()]
        assert cells == table[attribute.name].to_pylist()
        codes = np.concatenate([encoder(attribute).codes(arrays[place]) for arrays in received])
        assert codes.tolist() == encoder(attribute).codes(table[attribute.name].combine_chunks()).tolist()


def one_column(spark: SparkSession, cells: list[Any], kind: str = "string") -> DataFrame:
    return spark.createDataFrame([(cell,) for cell in cells], f"a {kind}")


@pytest.mark.parametrize("text", ["", "a", "abcd", "value 10", "Łódź", "\x00", "🎉 and more"])
def test_the_hash_is_that_of_spark(spark: SparkSession, text: str) -> None:
    (found,) = one_column(spark, [text]).selectExpr("hash(a)").collect()[0]
    assert found % 2**32 == spark_hash(text)


def test_texts_on_a_list_leave_spark_as_places(spark: SparkSession) -> None:
    """Otherwise all would be right, and slow."""
    listed = Listed.of(one_column(spark, []), [DOMAIN["plain"]])
    sent = listed.sent(one_column(spark, ["a", "b c", "Łódź", "🎉", "null", "", None])).toArrow()
    assert sent.column_names == ["word_0", "odd"]
    assert sent["odd"].null_count == 7
    unlisted = listed.sent(one_column(spark, ["a", "b", None])).toArrow()
    assert unlisted["odd"].to_pylist() == [None, "62", None]


@pytest.mark.parametrize("n_texts", [1, 2, 40, 4096])
def test_a_list_holds_every_text_at_the_place_of_its_hash(n_texts: int) -> None:
    texts = [f"value {i}" for i in range(n_texts)]
    lookup = Lookup.of(texts)
    held = {text: place for place, text in enumerate(lookup.texts) if text is not None}
    assert held.items() <= {text: spark_hash(text) >> lookup.shift & len(lookup.texts) - 1 for text in texts}.items()
    assert len(held) >= 0.9 * n_texts
    assert n_texts > 100 or len(held) == n_texts
    assert lookup.texts[spark_hash_of_nothing(lookup)] is None
    assert 1 << lookup.bits > len(lookup.texts)


def spark_hash_of_nothing(lookup: Lookup) -> int:
    """The place of an empty cell, whose hash is 42, the seed."""
    return 42 >> lookup.shift & len(lookup.texts) - 1


def test_only_columns_of_ordinary_texts_have_lists(spark: SparkSession) -> None:
    """Not those in which Spark takes different texts for equal ones, numbers, or columns beside the records."""
    attribute = Categorical("a", ("x", "y"))
    for kind, expected in (("string", {"a"}), ("string collate UTF8_LCASE", set()), ("bigint", set())):
        assert set(Listed.of(one_column(spark, [], kind), [attribute]).lookups) == expected
    assert not Listed.of(one_column(spark, []), [None]).lookups
    assert not Listed.of(one_column(spark, []), [IntegerRange("a", 0, 10_000)]).lookups
    assert not Listed.of(one_column(spark, []), [Binned("a", (0.0, 1.0, 2.0))]).lookups


def test_a_collation_does_not_change_what_is_read(spark: SparkSession) -> None:
    frame = one_column(spark, ["x", "y", "y"]).selectExpr("a collate UTF8_LCASE as a")
    assert scan_table(frame, Domain([Categorical("a", ("x", "y"))])).marginals([("a",)])[0].tolist() == [1, 2]
    with pytest.raises(DataError, match="does not list"):
        scan_table(frame.selectExpr("upper(a) as a"), Domain([Categorical("a", ("x", "y"))])).total()


def test_wide_tables_have_lists_for_some_columns_and_codes_for_all(spark: SparkSession, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    domain = Domain(Categorical(f"a{i}", tuple(f"v{j}" for j in range(2 + i))) for i in range(MOST_COLUMNS + 3))
    cells = {each.name: [f"v{j}" for j in draw.integers(each.size, size=200)] for each in domain}
    pyarrow.parquet.write_table(pa.table(cells), tmp_path / "wide.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert len(Listed.of(frame, list(domain)).lookups) == MOST_COLUMNS
    cliques = [(name,) for name in domain.names] + [domain.names[:2], domain.names[-2:]]
    expected = read_table(pa.table(cells), domain).marginals(cliques)
    for one, other in zip(scan_table(frame, domain).marginals(cliques), expected, strict=True):
        assert one.tolist() == other.tolist()
