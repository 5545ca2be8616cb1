"""Spellings: what is read as one value, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow import write_domain
from hedgerow.data import read_table
from hedgerow.domain import (
    Categorical,
    Domain,
    Fault,
    Spelling,
    domain_from_mapping,
    domain_to_mapping,
    encoder,
    read_domain,
)
from hedgerow.errors import DomainError, UndeclaredColumnError

GENDER = {
    "values": ["female", "male"],
    "trim": True,
    "case": "fold",
    "synonyms": {"m": "male", "n/a": "?"},
    "missing": "?",
}


def test_a_file_that_is_written_is_read_back(tmp_path: Path) -> None:
    domain = domain_from_mapping({"attributes": {"gender": GENDER}, "ignore": ["id"], "draft": True})
    write_domain(domain, tmp_path / "d.yaml")
    found = read_domain(tmp_path / "d.yaml", accept_draft=True)
    assert found == domain
    assert (found.ignored, found.draft) == (("id",), True)
    assert domain_to_mapping(found) == domain_to_mapping(domain)
    assert domain_to_mapping(domain)["attributes"]["gender"] == GENDER


def test_texts_as_they_are_without_rules() -> None:
    column = encoder(Categorical("sex", ("m", "M"), other="else"))
    assert column.codes(pa.array(["m", "M", " m", "else"])).tolist() == [0, 1, 2, 2]


def _folded(text: str) -> str:
    return text.strip().casefold()


@given(
    st.lists(st.sampled_from(["a", "B", "ß", "c d", "x", "?"]), min_size=2, unique=True),
    st.lists(st.text("aAbBßsS cdxX?\t", max_size=4)),
)
def test_codes_are_those_of_a_search_through_the_labels(labels: list[str], cells: list[str]) -> None:
    domain = Categorical("a", labels, spelling=Spelling(trim=True, fold=True))
    found = encoder(domain).codes(pa.array(cells, pa.string())).tolist()
    for cell, code in zip(cells, found, strict=True):
        alike = [i for i, label in enumerate(labels) if _folded(label) == _folded(cell)]
        assert code == (alike[0] if alike else Fault.UNKNOWN if _folded(cell) else Fault.MISSING)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": ["m", "M"], "case": "fold"}, "'m' and 'M' are read alike"),
        ({"values": ["m", "m "], "trim": True}, "'m' and 'm ' are read alike"),
        ({"values": ["Na", "b"], "case": "fold", "missing": "NA"}, "'Na' and 'NA' are read alike"),
        ({"values": ["a", "b"], "synonyms": {"c": "d"}}, "'c' stands for 'd', which is not listed"),
        ({"values": ["a", "b"], "synonyms": {"a": "b"}}, "'a' is a synonym and a value"),
        ({"values": ["a", "b"], "synonyms": ["a"]}, "'synonyms' does not map texts to values"),
        ({"values": ["a", "b"], "case": "upper"}, "'case' is 'upper'"),
        ({"values": ["a", "b"], "trim": "yes"}, "'trim' is neither true nor false"),
        ({"values": ["a", "b"], "unicode": "NFD"}, "'NFD' is no normal form"),
        ({"min": 0, "max": 9, "trim": True}, "'trim' has no meaning for numbers"),
    ],
)
def test_rules_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match="attribute 'sex'") as error:
        domain_from_mapping({"sex": options})
    assert message in str(error.value)


def test_columns_that_are_ignored_are_not_read() -> None:
    table = pa.table({"sex": ["f", "m"], "id": [1, 2], "note": ["a", "b"]})
    domain = domain_from_mapping({"attributes": {"sex": ["f", "m"]}, "ignore": ["id"]})
    with pytest.raises(UndeclaredColumnError, match="note") as error:
        read_table(table, domain)
    assert "'ignore'" in str(error.value.remedy)
    assert read_table(table.drop_columns("note"), domain).total() == 2
    with pytest.raises(DomainError, match="'sex' is declared and ignored"):
        domain_from_mapping({"attributes": {"sex": ["f", "m"]}, "ignore": ["sex"]})
    with pytest.raises(DomainError, match="'ignore' is not a list"):
        domain_from_mapping({"attributes": {"sex": ["f", "m"]}, "ignore": "id"})


def test_what_is_ignored_stays_with_a_domain() -> None:
    domain = domain_from_mapping({"attributes": {"a": 2, "b": 3}, "ignore": ["id"], "draft": True})
    assert domain == Domain(domain.attributes)
    for found in (domain.project(["b"]), pickle.loads(pickle.dumps(domain)), domain.merge(domain)):
        assert (found.ignored, found.draft) == (("id",), True)


def test_a_draft_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("draft: true\nattributes: {sex: [f, m]}\n")
    with pytest.raises(DomainError, match="is a draft") as error:
        read_domain(file)
    assert "--accept-draft" in str(error.value.remedy)
    with pytest.raises(DomainError, match="is a draft"):
        read_table(pa.table({"sex": ["f"]}), file)
    assert read_domain(file, accept_draft=True).draft
    file.write_text("draft: perhaps\nattributes: {sex: [f, m]}\n")
    with pytest.raises(DomainError, match="'draft' is neither"):
        read_domain(file)
