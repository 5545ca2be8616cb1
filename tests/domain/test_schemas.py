"""Domains from schemas of other systems: what they say is taken, what they do not say is asked for at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow
import hedgerow.domain.schemas as schemas_module
from hedgerow.domain import domain_from, domain_from_mapping
from hedgerow.errors import DomainError
from tests.privacy.mutants import Mutant, killed

WANTED = domain_from_mapping(
    {"age": {"min": 0, "max": 110}, "sex": {"values": ["F", "M"], "missing": True}, "well": [False, True]}
)

PANDERA = {
    "age": {"dtype": "int64", "in_range": {"min_value": 0, "max_value": 110, "include_min": True, "include_max": True}},
    "sex": {"dtype": "string[pyarrow]", "nullable": True, "isin": ["F", "M"]},
    "well": {"dtype": "bool"},
}
OLDER_PANDERA = {
    "age": {"dtype": "int64", "checks": {"greater_than_or_equal_to": 0, "less_than_or_equal_to": 110}},
    "sex": {"dtype": "str", "nullable": True, "checks": {"isin": {"allowed_values": ["F", "M"]}}},
    "well": {"dtype": "bool", "checks": None},
}
TABLE_SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"required": True, "minimum": "0", "maximum": 110}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
        {"name": "well", "type": "boolean", "constraints": {"required": True}},
    ]
}


@dataclass
class Check:
    name: str
    statistics: dict[str, Any] | None


@dataclass
class Column:
    dtype: Any
    nullable: bool = False
    checks: list[Check] = field(default_factory=list)


@dataclass
class SchemaObject:
    """Has the members of a pandera schema that are read."""

    columns: dict[str, Column]
    checks: tuple[Check, ...] = ()
    coerce: bool = False


AGES = Check("in_range", {"min_value": 0, "max_value": 110, "include_min": True, "include_max": True})
OBJECT = SchemaObject(
    {
        "age": Column("int64", checks=[AGES]),
        "sex": Column("str", nullable=True, checks=[Check("isin", {"allowed_values": ["F", "M"]})]),
        "well": Column("bool", checks=[Check("a check of one's own", None)]),
    }
)


@pytest.mark.parametrize(
    "schema",
    [TABLE_SCHEMA, {"columns": PANDERA}, {"columns": OLDER_PANDERA}, OBJECT],
    ids=["table", "new", "old", "object"],
)
def test_what_a_schema_says_is_all_that_is_needed(schema: Any) -> None:
    assert domain_from(schema) == WANTED


def test_dtypes_of_pandas_and_what_is_public_beside_them() -> None:
    kinds = {"age": "int64", "sex": pd.CategoricalDtype(["F", "M"]), "well": "bool"}
    frame = pd.DataFrame({"age": [1], "sex": ["F"], "well": [True]}).astype(kinds)
    ages = {"age": {"min": 0, "max": 110}}
    assert domain_from(frame.dtypes, ages, public_categories=True, trust_types=True) == WANTED
    assert domain_from(frame.dtypes, {**ages, "sex": ["F", "M"]}, trust_types=True) == WANTED


def test_types_of_frames_are_not_taken_unasked() -> None:
    """An empty cell, a first cell and a fraction change types, and nothing that is made of these."""
    cells = {"age": [30, 40], "job": ["a", "b"], "note": [None, None], "well": [True, False]}
    changed = [{}, {"age": [30, None]}, {"age": [30, 1.5]}, {"note": [None, "z"]}, {"well": [True, None]}]
    entries = {"age": {"min": 0, "max": 110}, "job": ["a", "b"], "note": ["y", "z"], "well": [False, True]}
    frames = [{**cells, **other} for other in changed]
    schemas = [
        [pd.DataFrame(each).dtypes for each in frames],
        [pl.DataFrame(each, strict=False).schema for each in frames],
        [pa.table(each).schema for each in frames],
    ]
    made = [domain_from(schema, entries) for same in schemas for schema in same]
    assert all(each == made[0] and not each.trusted_types for each in made)
    for same in schemas:
        with pytest.raises(DomainError, match="say: age: values; job: values; note: values; well: values"):
            domain_from(same[0])
    assert domain_from(schemas[0][0], entries, trust_types=True).trusted_types
    assert not domain_from(TABLE_SCHEMA, trust_types=True).trusted_types, "its types are the schema's own"


def categories_are_not_taken_unasked() -> None:
    frame = pd.DataFrame({"sex": pd.Categorical(["F", "rare disease"])})
    refused = None
    try:
        domain_from(frame.dtypes)
    except DomainError as error:
        refused = str(error)
    assert refused is not None, "values of the data have become a domain"
    assert "sex: values (its categories may have been read off the data" in refused
    assert "rare disease" not in refused


def take_categories(patched: pytest.MonkeyPatch) -> None:
    real = schemas_module._of_pandas
    patched.setattr(schemas_module, "_of_pandas", lambda kind, public: real(kind, public=True))


MUTANTS = [Mutant("categories of a pandas dtype are taken unasked", take_categories, categories_are_not_taken_unasked)]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_values_that_may_be_private_are_not_taken_for_public(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_enums_of_polars_are_declared_and_categoricals_are_not() -> None:
    kinds = {"age": pl.UInt8, "sex": pl.Enum(["F", "M"]), "well": pl.Boolean}
    made = domain_from(pl.DataFrame(schema=kinds).schema, {"age": {"min": 0, "max": 110}}, trust_types=True)
    assert [each.labels[-1] for each in made] == ["?", "?", "?"]
    assert made["sex"].labels == ("F", "M", "?")
    with pytest.raises(DomainError, match="sex: values"):
        domain_from(pl.DataFrame({"sex": ["F"]}, schema={"sex": pl.Categorical}).schema)


def test_every_type_of_arrow_says_what_it_needs() -> None:
    kinds: dict[str, pa.DataType] = {
        "label": pa.dictionary(pa.int8(), pa.string()),
        "text": pa.large_string(),
        "whole": pa.uint16(),
        "part": pa.float32(),
        "money": pa.decimal128(9, 2),
        "day": pa.date32(),
        "moment": pa.timestamp("us"),
        "clock": pa.time64("us"),
        "length": pa.duration("s"),
        "flag": pa.bool_(),
        "list": pa.list_(pa.int8()),
    }
    with pytest.raises(DomainError) as caught:
        domain_from(pa.schema(list(kinds.items())), trust_types=True)
    bounds = "whole: min, max; part: min, max, bins; money: min, max, bins"
    scales = "; ".join(f"{name}: min, max" for name in ("day", "moment", "clock", "length"))
    assert caught.value.message == f"the schema does not say: label: values; text: values; {bounds}; {scales}"
    assert "'part': {'min': ..., 'max': ..., 'bins': 20}" in str(caught.value.remedy)
    entries = {
        "label": ["a", "b"],
        "text": {"values": ["c", "d"], "missing": False},
        "whole": {"edges": [0, 10, 20]},
        "part": {"min": 0, "max": 1, "bins": 4},
        "money": {"min": 0.0, "max": 1.0, "step": 0.01},
        "day": {"min": "2024-01-01", "max": "2024-01-31"},
        "moment": {"min": "2024-01-01T00:00", "max": "2024-01-01T23:00", "step": "1h"},
        "clock": {"min": "08:00", "max": "08:59"},
        "length": {"min": "PT0M", "max": "PT1H"},
    }
    made = domain_from(pa.schema(list(kinds.items())), entries, trust_types=True)
    assert made.shape == (3, 2, 3, 5, 102, 32, 25, 61, 62, 3)
    assert made.ignored == ("list",)


def test_bounds_of_a_schema_that_are_dates_and_numbers_of_other_libraries_are_taken() -> None:
    days = Check("in_range", {"min_value": pd.Timestamp("2024-01-01"), "max_value": pd.Timestamp("2024-01-02")})
    levels = Check("isin", {"allowed_values": np.array([1, 2]).tolist()})
    made = domain_from(
        SchemaObject({"seen": Column("datetime64[ns]", checks=[days]), "level": Column("int64", checks=[levels])})
    )
    assert made.shape == (1441, 2)
    assert domain_from(
        {"fields": [{"name": "y", "type": "year", "constraints": {"minimum": "2001", "maximum": "2009"}}]}
    ).shape == (10,)
    form = {
        "name": "d",
        "type": "date",
        "format": "%d.%m.%Y",
        "constraints": {"minimum": date(2024, 1, 1), "maximum": date(2024, 1, 2)},
    }
    assert hedgerow.read_table(pa.table({"d": ["02.01.2024"]}), domain_from({"fields": [form]})).columns[
        0
    ].tolist() == [1]


@pytest.mark.parametrize("ends", [(True, False), (False, True)])
def test_bounds_that_are_left_out_are_no_bounds(ends: tuple[bool, bool]) -> None:
    check = {"min_value": 0, "max_value": 9, "include_min": ends[0], "include_max": ends[1]}
    with pytest.raises(DomainError, match="x: min, max"):
        domain_from({"columns": {"x": {"dtype": "int64", "in_range": check}}})


def test_metadata_of_sdv_leave_out_what_identifies_and_ask_for_the_rest() -> None:
    columns = {
        "id": {"sdtype": "id"},
        "mail": {"sdtype": "email", "pii": True},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        "height": {"sdtype": "numerical"},
        "sex": {"sdtype": "categorical"},
        "well": {"sdtype": "boolean"},
        "seen": {"sdtype": "datetime", "datetime_format": "%d/%m/%Y"},
    }
    metadata = {"METADATA_SPEC_VERSION": "V1", "tables": {"people": {"columns": columns, "primary_key": "id"}}}
    with pytest.raises(DomainError) as caught:
        domain_from(metadata)
    wanted = "age: min, max; height: min, max, bins; sex: values; seen: min, max"
    assert caught.value.message == f"the schema does not say: {wanted}"
    entries = {
        "age": {"min": 0, "max": 9},
        "height": {"min": 0, "max": 2, "bins": 2},
        "sex": ["F", "M"],
        "seen": {"min": "2024-01-01", "max": "2024-01-02"},
    }
    made = domain_from(metadata, entries)
    assert made.names == ("age", "height", "sex", "well", "seen")
    assert made.shape == (11, 3, 3, 3, 3)
    assert made.ignored == ("id", "mail")
    row = pa.table(
        {"age": [3], "height": [1.5], "sex": ["M"], "well": ["true"], "seen": ["02/01/2024"], "id": [1], "mail": [""]}
    )
    assert [column.tolist() for column in hedgerow.read_table(row, made).columns] == [[3], [1], [1], [1], [1]]
    with pytest.raises(DomainError, match="describe 2 tables: a, b"):
        domain_from({"tables": {"a": {"columns": {}}, "b": {"columns": {}}}})


def test_columns_can_be_left_out_and_others_are_refused() -> None:
    assert domain_from(TABLE_SCHEMA, ignore=["age"]).ignored == ("age",)
    with pytest.raises(DomainError, match="no column 'aeg'"):
        domain_from(TABLE_SCHEMA, {"aeg": [1, 2]})
    with pytest.raises(DomainError, match="no column 'aeg'"):
        domain_from(TABLE_SCHEMA, ignore=["aeg"])


@pytest.mark.parametrize(
    "schema", [pd.DataFrame({"a": [1]}), {"properties": {}}, {"columns": ["a"]}, 3, WANTED], ids=str
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(DomainError, match="is no schema that is known"):
        domain_from(schema)


def test_numbers_with_fractions_need_bins_or_are_said_to_be_whole() -> None:
    schema = pd.DataFrame({"age": [1.0, None], "code": ["1", "2"]}).dtypes
    with pytest.raises(DomainError, match=r"does not say: age: bins\n"):
        domain_from(schema, {"age": {"min": 0, "max": 99}, "code": {"min": 1, "max": 5}}, trust_types=True)
    entries = {"age": {"min": 0, "max": 99, "whole": True}, "code": {"min": 1, "max": 5}}
    made = domain_from(schema, entries, trust_types=True)
    assert made.shape == (101, 6)
