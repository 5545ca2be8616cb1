"""SDV's interface: metadata and tables as SDV has them; with SDV's own checks where it is installed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hedgerow import Domain, IntegerRange
from hedgerow.adapters import SDVSynthesizer
from hedgerow.errors import ConfigError, DomainError, HedgerowError

COLUMNS = {
    "id": {"sdtype": "id"},
    "mail": {"sdtype": "email", "pii": True},
    "sex": {"sdtype": "categorical"},
    "age": {"sdtype": "numerical", "computer_representation": "Int64"},
    "smokes": {"sdtype": "boolean"},
}
ONE = {"primary_key": "id", "columns": COLUMNS}
METADATA = {"tables": {"people": ONE}, "relationships": [], "METADATA_SPEC_VERSION": "V1"}
BESIDE = {"sex": ["F", "M"], "age": {"min": 0, "max": 99, "bins": 20}}


def people(rows: int = 2_000) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    sex, ages = draw.integers(2, size=rows), draw.integers(18, 90, size=rows)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "mail": [f"{row}@example.org" for row in range(rows)],
            "sex": np.array(["F", "M"])[sex],
            "age": ages,
            "smokes": draw.random(rows) < 0.2 + 0.4 * sex,
        }
    )


@pytest.fixture(scope="module")
def fitted() -> SDVSynthesizer:
    return SDVSynthesizer(METADATA, BESIDE, epsilon=5.0, seed=0).fit({"people": people()})


def test_tables_go_in_and_come_out_as_sdv_has_them(fitted: SDVSynthesizer) -> None:
    found = fitted.sample(50)
    assert list(found) == ["people"]
    assert found["people"].columns.tolist() == ["id", "sex", "age", "smokes"]
    assert found["people"]["id"].tolist() == list(range(50))
    alone = SDVSynthesizer(ONE, BESIDE, seed=0).fit(people())
    assert isinstance(alone.sample(5), pd.DataFrame)
    assert len(alone.sample()) == alone.release_.n_records


def test_what_the_metadata_do_not_say_is_asked_for_and_never_read_off_the_data() -> None:
    with pytest.raises(DomainError, match="does not say: sex: values; age: min, max"):
        SDVSynthesizer(METADATA)
    wrong = SDVSynthesizer(METADATA, {**BESIDE, "sex": ["F"]})
    with pytest.raises(HedgerowError, match="sex"):
        wrong.fit(people())


def test_a_domain_or_its_file_stands_alone(tmp_path: Path) -> None:
    only = Domain([IntegerRange("age", 0, 99)])
    assert SDVSynthesizer(METADATA, only).domain is only
    (tmp_path / "d.yaml").write_text("sex: [F, M]\n")
    assert SDVSynthesizer(METADATA, tmp_path / "d.yaml").domain.names == ("sex",)


class Condition:
    """As SDV's."""

    def __init__(self, values: dict[str, Any], rows: int) -> None:
        self._values, self._rows = values, rows

    def get_column_values(self) -> dict[str, Any]:
        return self._values

    def get_num_rows(self) -> int:
        return self._rows


def test_conditions_are_met_by_every_record(fitted: SDVSynthesizer) -> None:
    asked = [Condition({"sex": "F"}, 7), Condition({"smokes": True, "sex": "M"}, 5)]
    found = fitted.sample_from_conditions(asked)["people"]
    assert found["sex"].tolist() == ["F"] * 7 + ["M"] * 5
    assert found["smokes"][7:].all()
    known = pd.DataFrame({"sex": ["M", "F", "M"]})
    assert fitted.sample_remaining_columns(known)["people"]["sex"].tolist() == ["M", "F", "M"]
    with pytest.raises(HedgerowError):
        fitted.sample_from_conditions([Condition({"sex": "X"}, 1)])


def test_each_fit_spends_its_budget(fitted: SDVSynthesizer) -> None:
    assert 2.5 < fitted.release_.spent <= 5.0
    assert fitted.get_parameters()["epsilon"] == 5.0
    assert fitted.get_metadata() == ONE
    assert repr(fitted) == "SDVSynthesizer(epsilon=5.0, columns: sex, age, smokes)"


@pytest.mark.parametrize(
    ("metadata", "table", "words"),
    [
        (METADATA, "homes", "no table 'homes'"),
        ({"tables": {"a": ONE, "b": ONE}}, None, "of several tables"),
    ],
)
def test_a_table_that_is_not_there_is_told(metadata: Any, table: str | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as found:
        SDVSynthesizer(metadata, BESIDE, table=table)
    assert found.value.remedy


def test_other_tables_and_options_are_refused(fitted: SDVSynthesizer) -> None:
    with pytest.raises(ConfigError, match="not just the table 'people'"):
        fitted.fit({"homes": people(5)})
    with pytest.raises(ConfigError, match="no argument 'rounding'"):
        SDVSynthesizer(METADATA, BESIDE, rounding=True)


def test_sdv_takes_its_records_for_valid(fitted: SDVSynthesizer) -> None:
    """SDV's own diagnosis and conditions, where it is installed."""
    pytest.importorskip("sdv")
    from sdv.evaluation import run_diagnostic  # type: ignore[import-not-found]
    from sdv.metadata import Metadata  # type: ignore[import-not-found]
    from sdv.sampling import Condition as Wanted  # type: ignore[import-not-found]

    shown = {name: column for name, column in COLUMNS.items() if name != "mail"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # SDV 2 reads the representation of numbers no more
        metadata = Metadata.load_from_dict({**METADATA, "tables": {"people": {**ONE, "columns": shown}}})
    data = people().drop(columns="mail")
    whole = {**BESIDE, "age": {"min": 0, "max": 99, "whole": True}}
    synthesizer = SDVSynthesizer(metadata, whole, epsilon=5.0, seed=0).fit({"people": data})
    report = run_diagnostic({"people": data}, synthesizer.sample(500), metadata, verbose=False)
    scores = report.get_properties().set_index("Property")["Score"]
    assert scores["Data Validity"] > 0.99  # not the structure: whether a column may hold nulls is read off no data
    found = synthesizer.sample_from_conditions([Wanted({"sex": "F"}, num_rows=4)])
    assert found["people"]["sex"].tolist() == ["F"] * 4
