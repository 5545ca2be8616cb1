"""Domains with bins to be learnt: their fine cells, the bins that are made of them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Binned, Domain, OpenDomain, domain_from_mapping, domain_to_mapping, learning, open_domain
from hedgerow.domain.file import domain_of
from hedgerow.errors import DomainError

AGE = {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}
ENTRIES: dict[str, dict[str, Any]] = {
    "few whole numbers": AGE,
    "many whole numbers": {"min": 0, "max": 10**7, "whole": True, "bins": {"learn": 9}},
    "fractions": {"min": -1.5, "max": 2.25, "bins": {"learn": 7}},
    "small fractions": {"min": 0, "max": 1e-6, "bins": {"learn": 7}},
    "steps": {"min": 35.0, "max": 43.0, "step": 0.1, "bins": {"learn": 12}, "missing": True},
    "dates": {"min": "2015-01-01", "max": "2024-12-31", "bins": {"learn": 12}, "other": True},
    "times": {"min": "2024-01-01T00:00", "max": "2024-12-31T23:45", "step": "15min", "bins": {"learn": 5}},
    "points": {"min": 0, "max": 99_999, "whole": True, "points": [0, 7777, 99_999], "bins": {"learn": 5}},
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_fine_cells_cover_the_range_and_are_not_too_many(entry: dict[str, Any]) -> None:
    wanted = OpenDomain({"x": entry})
    fine, whole = wanted.fine["x"], domain_from_mapping({"x": {**entry, "bins": 2}})["x"]
    assert isinstance(fine, Binned)
    assert isinstance(whole, Binned)
    assert 81 <= fine.ordinary <= 4102
    assert (fine.edges[0], fine.labels[fine.ordinary :]) == (whole.edges[0], whole.labels[whole.ordinary :])
    assert int(fine.edges[-1] // 1) == int(whole.edges[-1] // 1) or fine.edges[-1] == whole.edges[-1]
    assert (fine.scale, fine.whole) == (whole.scale, whole.whole)
    assert not fine.learnt


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@given(data=st.data())
def test_learnt_bins_are_runs_of_fine_cells(entry: dict[str, Any], data: st.DataObject) -> None:
    wanted = OpenDomain({"x": entry})
    fine = wanted.fine["x"]
    assert isinstance(fine, Binned)
    cuts = data.draw(st.lists(st.integers(1, fine.ordinary - 1), min_size=1, max_size=9))
    made = wanted.with_bins({"x": cuts})
    bins = made["x"]
    assert isinstance(bins, Binned)
    assert bins.learnt
    points = {fine.edges[code] for code in wanted.points["x"]}
    asked = {fine.edges[0], *(fine.edges[cut] for cut in cuts)} | {edge for p in points for edge in (p, p + 1)}
    assert set(bins.edges[:-1]) == {edge for edge in asked if edge <= fine.edges[-1]}
    again = domain_from_mapping(domain_to_mapping(made))
    assert again == made
    assert domain_to_mapping(made)["attributes"]["x"]["learnt"] is True


def test_bins_that_were_learnt_are_other_bins_than_declared_ones() -> None:
    declared = Binned("age", (0, 20, 99), whole=True)
    learnt = OpenDomain({"age": AGE}).with_bins({"age": [20]})["age"]
    assert learnt != declared
    assert isinstance(learnt, Binned)
    assert learnt.edges == declared.edges


def test_whole_numbers_of_a_short_range_are_cells_of_their_own() -> None:
    assert OpenDomain({"age": AGE}).fine["age"].ordinary == 100


def test_small_numbers_have_finer_cells() -> None:
    fine = OpenDomain({"x": ENTRIES["many whole numbers"]}).fine["x"]
    assert isinstance(fine, Binned)
    assert fine.edges[:100] == tuple(range(100))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**AGE, "bins": {"learn": 1}}, "1 bins"),
        ({**AGE, "bins": {"learn": True}}, "True bins"),
        ({**AGE, "bins": {"learn": 5000}}, "5000 bins"),
        ({**AGE, "bins": {"learn": 5, "log": 5}}, "more options"),
        ({**AGE, "levels": [5]}, "'levels'"),
        ({"min": 0, "bins": {"learn": 5}}, "not fully described"),
        ({"values": ["a", "b"], "bins": {"learn": 5}}, "not fully described"),
        ({**AGE, "points": [100]}, "point 100"),
        ({**AGE, "learnt": True}, "'learnt'"),
    ],
)
def test_what_cannot_be_learnt_is_refused_at_once(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        OpenDomain({"age": entry, "sex": 2})


@pytest.mark.parametrize(
    "beside",
    [
        {"constraints": [{"impossible": "age < 15 and sex = 1"}]},
        {"derived": {"old": {"cases": {"no": "age < 65", "yes": "age >= 65"}, "column": False}}},
    ],
)
def test_nothing_is_made_of_bins_that_are_not_known(beside: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match="to be learnt, and something is made from them"):
        OpenDomain({"attributes": {"age": AGE, "sex": 2}, **beside})


def test_a_domain_is_not_read_before_its_bins_are_known() -> None:
    with pytest.raises(DomainError, match="to be learnt from the data"):
        domain_from_mapping({"age": AGE})


def test_columns_that_are_not_wanted_are_not_learnt(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("age: {min: 0, max: 99, bins: {learn: 4}}\nsex: 2\njob: 3\n")
    assert isinstance(found := open_domain(file, ["job", "sex"]), Domain)
    assert found.names == ("job", "sex")
    wanted = open_domain(file, ["job", "age"])
    assert isinstance(wanted, OpenDomain)
    assert (wanted.bins, wanted.outline.shape) == ({"age": 4}, (3, 4))


def test_a_domain_is_made_once_where_nothing_is_to_be_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept about a domain is found by identity: two equal ones are compared table by table, each time."""
    file = tmp_path / "d.yaml"
    file.write_text("age: {min: 0, max: 99}\nsex: [f, m]\n")
    made: list[Domain] = []

    def counted(*given: Any) -> Domain:
        made.append(domain_of(*given))
        return made[-1]

    monkeypatch.setattr(learning, "domain_of", counted)
    found = open_domain(file)
    assert len(made) == 1
    assert found is made[0]


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("age: {min: 0, max: 99, bins: {learn: 1}}")
    with pytest.raises(DomainError, match=r"d\.yaml: attribute 'age'"):
        open_domain(file)
