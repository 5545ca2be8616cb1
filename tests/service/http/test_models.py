"""Requests and responses: what OpenAPI says of a field is what the docstring of its class says."""

import dataclasses
import inspect
from typing import Any

import pytest

from hedgerow.client import SeriesSum, ServerAnswer
from hedgerow.service import description
from hedgerow.service.http import requests, responses
from hedgerow.service.http.models import ApiModel
from hedgerow.system import explained

SHARED = (ServerAnswer, SeriesSum, responses.EarlierAnswerResponse)
MODELS = [
    each
    for module in (requests, responses)
    for each in vars(module).values()
    if inspect.isclass(each) and issubclass(each, ApiModel)
]


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    found: dict[str, Any] = description()["components"]["schemas"]
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_docstring_describes_fields_that_there_are(model: type[ApiModel]) -> None:
    assert explained(model.__doc__)[1].keys() <= model.model_fields.keys()


@pytest.mark.parametrize("kind", SHARED, ids=lambda kind: kind.__name__)
def test_answers_have_the_fields_of_the_client_and_its_words(schemas: dict[str, Any], kind: type) -> None:
    schema = schemas[kind.__name__]
    head, fields = explained(kind.__doc__)
    assert set(schema["properties"]) == {field.name for field in dataclasses.fields(kind)}
    assert schema["description"] == head
    assert {name: schema["properties"][name]["description"] for name in fields} == fields


def test_a_class_describes_what_it_takes_over_from_another(schemas: dict[str, Any]) -> None:
    said, taken_over = explained(ServerAnswer.__doc__)[1], schemas["EarlierAnswerResponse"]["properties"]
    assert {name: taken_over[name]["description"] for name in said} == said


def test_whole_numbers_of_counts_leave_as_decimals() -> None:
    answer = ServerAnswer("SELECT COUNT(*) FROM a", "", 3, 2, 4, 0.95, "", "public", 0, 0, 1)
    (example,) = responses.AnswersResponse.model_json_schema()["examples"]
    summary = responses.SummaryResponse.model_validate(example["dataset"])
    told = responses.AnswersResponse(answers=[answer], dataset=summary).model_dump_json()
    assert '"value":3.0,"low":2.0,"high":4.0' in told
