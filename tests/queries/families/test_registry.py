"""Families from outside the package are named in workload texts and stored workloads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import (
    Arrays,
    Conjunction,
    Family,
    Measurable,
    Workload,
    add_family,
    known_families,
    workload_from_dict,
    workload_to_dict,
)
from hedgerow.queries.families import registry

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)))


class Firsts(Family):
    """Numbers of records with the first code of an attribute; an offset makes it a family without text."""

    kind = "firsts"
    forms: ClassVar = {"firsts": "'firsts:age'"}

    def __init__(self, domain: Domain, name: str, offset: int = 0) -> None:
        self.domain, self.name, self.offset = domain, name, offset

    n_queries = 1
    n_candidates = 1
    step = 1.0

    @property
    def scopes(self) -> tuple[Clique, ...]:
        return ((self.name,),)

    @property
    def spec(self) -> str:
        return f"firsts:{self.name}"

    @classmethod
    def from_text(cls, text: str, domain: Domain) -> Firsts:
        domain.clique([text.removeprefix("firsts:")])
        return cls(domain, text.removeprefix("firsts:"))

    def to_stored(self) -> tuple[dict[str, Any], Arrays]:
        if not self.offset:
            return super().to_stored()
        return {"kind": self.kind, "name": self.name}, {"offset": np.array(self.offset)}

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], arrays: Arrays, domain: Domain) -> Firsts:
        return cls(domain, values["name"], int(arrays["offset"]))

    def candidate(self, index: int) -> Measurable:
        return Conjunction.where(self.domain, {self.name: [self.offset]})

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        return self.scopes

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        return tables[0][[self.offset]]


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_KNOWN", dict(registry._KNOWN))
    add_family(Firsts)
    add_family(Firsts)


def test_its_text_is_read_among_others() -> None:
    workload = Workload.parse("marginals:1 + firsts:b @ 0.5; firsts: a ", DOMAIN)
    assert workload.spec == "marginals:1; firsts:b @ 0.5; firsts:a"
    assert Workload.parse(workload.spec, DOMAIN).spec == workload.spec


def test_it_is_stored_by_its_text_or_its_arrays() -> None:
    workload = Workload([Firsts(DOMAIN, "b"), Firsts(DOMAIN, "a", 2)])
    values, arrays = workload_to_dict(workload)
    assert list(arrays) == ["workload_1_offset"]
    plain, moved = workload_from_dict(json.loads(json.dumps(values)), arrays, DOMAIN).families
    assert isinstance(plain, Firsts)
    assert isinstance(moved, Firsts)
    assert (plain.name, plain.offset, moved.name, moved.offset) == ("b", 0, "a", 2)


def test_it_may_be_stored_without_arrays_and_reads_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Read(dict[str, Any]):
        """Arrays of a file, each of which takes long to read."""

        def __getitem__(self, name: str) -> Any:
            asked.append(name)
            return super().__getitem__(name)

        def items(self) -> Any:
            raise AssertionError("all arrays are read")

    asked: list[str] = []
    workload = Workload([Firsts(DOMAIN, "a", 2), *Workload.parse("where: a = 1", DOMAIN).families])
    values, arrays = workload_to_dict(workload)
    workload_from_dict(values, Read(arrays | {"model": np.zeros(1)}), DOMAIN)
    assert asked == ["workload_0_offset"]
    monkeypatch.setattr(Firsts, "to_stored", lambda self: ({"kind": "firsts", "name": self.name}, {}))
    monkeypatch.setattr(Firsts, "from_stored", classmethod(lambda cls, values, _, domain: cls(domain, values["name"])))
    values, arrays = workload_to_dict(workload)
    assert not arrays
    (again, _) = workload_from_dict(json.loads(json.dumps(values)), {"other": np.zeros(1)}, DOMAIN).families
    assert again.spec == "firsts:a"


def test_errors_say_where_and_name_it_among_the_families() -> None:
    with pytest.raises(QueryError, match=r"at character 8: .*'c'"):
        Workload.parse("firsts:c", DOMAIN)
    with pytest.raises(QueryError, match="for example 'firsts:age'"):
        Workload.parse("firsts", DOMAIN)
    with pytest.raises(QueryError, match="where:, firsts:"):
        Workload.parse("nothing:a", DOMAIN)


@pytest.mark.parametrize("name", ["text", "boxes", "prefixes", "firsts", "where"])
def test_names_that_are_taken_are_refused(name: str) -> None:
    other = type("Other", (Firsts,), {"kind": name, "forms": {}})
    form = type("Other", (Firsts,), {"kind": "other", "forms": {name: "'...'"}})
    for each in (other, form):
        with pytest.raises(QueryError, match=f"'{name}'"):
            add_family(each)
    assert "other" not in known_families()


def test_a_family_without_a_kind_is_refused() -> None:
    with pytest.raises(QueryError, match="kind ''"):
        add_family(type("Nameless", (Firsts,), {"kind": ""}))


def test_a_family_without_reading_methods_says_so() -> None:
    with pytest.raises(QueryError, match="no text"):
        Family.from_text("x:a", DOMAIN)
    with pytest.raises(QueryError, match="stored as text"):
        Family.from_stored({}, {}, DOMAIN)
