"""Records that are drawn from a release under a condition, or given the values of some columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.domain import Derived, Domain, IntegerRange, read_values
from hedgerow.errors import ConfigError, ImpossibleRowError, QueryError
from hedgerow.privacy import PureDP
from hedgerow.queries import Conjunction, Explicit
from hedgerow.release import Release, understood
from tests.release.made import DOMAIN, make_release
from tests.release.test_file import with_histogram

FORMS: list[Any] = [pa.table, pd.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def release() -> Release:
    return with_histogram(make_release(PureDP(1.0), 0))


@pytest.mark.parametrize("method", ["systematic", "independent"])
def test_records_meet_a_condition(release: Release, method: Any) -> None:
    """2,000 records: the share of a job is within 0.06 of the conditional but for a chance of 1e-7."""
    condition = "age >= 2 and (sex = 'Male' or job = 'nurse')"
    found = release.sample(2000, seed=1, method=method, given=condition).to_pandas()
    assert ((found["age"] >= 2) & ((found["sex"] == "Male") | (found["job"] == "nurse"))).all()
    both = release.answer(f"{condition} and job = 'nurse'").value / release.answer(condition).value
    assert abs((found["job"] == "nurse").mean() - both) < 0.06


def test_by_default_there_are_as_many_as_the_release_answers(release: Release) -> None:
    condition = Conjunction.where(DOMAIN, {"age": [1, 2]})
    assert len(release.sample(given=condition)) == round(release.answer(condition).value)
    assert len(release.sample(given=pa.table({"age": [1, 2, 3]}))) == 3


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_completed_in_their_order(release: Release, form: Any) -> None:
    values = form({"job": ["nurse", None, "clerk"], "income": [11, 9, 20]})
    found = release.sample(4, seed=1, given=values).to_arrow()
    assert found["job"].to_pylist() == ["nurse"] * 4 + [None] * 4 + ["clerk"] * 4
    assert np.searchsorted([10, 20], found["income"].to_pylist(), side="right").tolist() == [1] * 4 + [0] * 4 + [2] * 4


def test_batches_and_files_hold_the_same_records(release: Release, tmp_path: Path) -> None:
    for known in ("age < 3", pa.table({"age": [0, 4] * 30})):
        whole = release.sample(50, seed=4, given=known).to_arrow()
        batches = list(release.sample_batches(50, batch=37, seed=4, given=known))
        assert len(batches[0]) == 37
        assert pa.concat_tables(batch.to_arrow() for batch in batches)["age"].equals(whole["age"])
        assert release.write_records(tmp_path / "r.parquet", 50, seed=4, given=known) == len(whole)
        assert pq.read_table(tmp_path / "r.parquet").equals(whole)
    with pytest.raises(ConfigError, match="Spark"):
        release.write_records("spark:folder", 5, given="age < 3")


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ("age > 10", QueryError, "no record meets"),
        ("agee > 1", QueryError, "agee"),
        (pa.table({"agee": [1]}), ConfigError, "no column 'agee'"),
        (pa.table({"age": [1, 7]}), ConfigError, "row 2, 'age': 7 is not among its values"),
        (pa.table({"age": [1.5]}), ConfigError, "row 1, 'age': 1.5 is no whole number"),
        (pa.table({"age": [0, None]}), ConfigError, "row 2, 'age': None is empty"),
        (pa.table({"age": [[1]]}), ConfigError, "neither texts nor numbers"),
        (pa.table({}), ConfigError, "no column"),
        (17, ConfigError, "a int is no table of values"),
        (Explicit.of(DOMAIN, ("age",), [0, 1, 2, 0, 0]), QueryError, "is no condition"),
    ],
)
def test_what_cannot_be_given_is_told(release: Release, wrong: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        release.sample(3, given=wrong)


def test_values_of_levels_and_derived_columns_are_understood() -> None:
    ages = IntegerRange("age", 0, 39)
    domain = Domain([ages], [Derived(IntegerRange("old", 0, 1), ("age",), np.arange(40) // 20, column=True)])
    codes = understood(pa.table({"old": [1, 0], "age.7": ["8", "35"]}), domain)
    assert isinstance(codes, dict)
    assert {name: each.tolist() for name, each in codes.items()} == {"old": [1, 0], "age.7": [1, 5]}


def test_files_of_values_are_read_as_texts_or_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip,age\n0210,\n")
    assert read_values(tmp_path / "a.csv").to_pydict() == {"zip": ["0210"], "age": [""]}
    (tmp_path / "a.tsv").write_text((tmp_path / "a.csv").read_text().replace(",", "\t"))
    assert read_values(tmp_path / "a.tsv").to_pydict() == {"zip": ["0210"], "age": [""]}
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.pq")
    assert read_values(tmp_path / "a.pq").to_pydict() == {"age": [1]}
    for name in ("a.txt", "none.csv", "none.parquet"):
        with pytest.raises(ConfigError, match=name):
            read_values(tmp_path / name)


def test_an_impossible_row_is_named() -> None:
    assert ImpossibleRowError(1234).message == "no record has the values of row 1,234"
