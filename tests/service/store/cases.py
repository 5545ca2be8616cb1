"""Small sessions for the store: it does not look into what it keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import select

from hedgerow.algorithms import Finding
from hedgerow.algorithms.online_pmw import Step
from hedgerow.privacy import Event, MeasuredQuery, PureDP
from hedgerow.service import METADATA, DataSet, GivenAnswer, Hold, Person, Registration, Store

EVENT = Event(
    "measure", "discrete Laplace", MeasuredQuery("marginal", ("sex",)), 1.0, 20.0, 0.1, "epsilon", "add-remove", 2
)
CLOSE = Finding({"query": {"sex": [1]}}, measured=False, value=12.5)
MEASURED = Finding({"query": {"age": [[0, 3]]}, "noise": {"scale": 0.1}}, measured=True, value=7.25, vector=b"\0\1")
OPENING = Step(opening={"rules": {"threshold": 0.3}}, state={"asked": 0}, events=(EVENT,), model=b"model 0")
BUDGET = PureDP(1.0).to_dict()
HOLD = Hold(0.25, "question", None)


def registration(name: str = "adult") -> Registration:
    return Registration(name, "Adults", {"place": "adult.csv"}, {"sex": ["F", "M"]}, BUDGET, {"alpha": 0.1})


def answer(person: int, **changes: Any) -> GivenAnswer:
    plain = GivenAnswer(12.5, 1.0, None, "noise", "hypothesis", 0.0, 0.1, 3, person, None, 0, "sex = 'F'", 0.95)
    return replace(plain, **changes)


def opened(store: Store, name: str = "adult") -> tuple[Person, DataSet]:
    """A person and a data set of version 1 whose session has begun."""
    person = store.add_person(f"custodian of {name}", "custodian", by=None)
    data_set = store.register(registration(name), by=person.id)
    store.settle(data_set.id, 0, OPENING)
    return person, store.data_set(name)


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    with store._database.reading() as connection:
        return {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for name, table in METADATA.tables.items()
        }
