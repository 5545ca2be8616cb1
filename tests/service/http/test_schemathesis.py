"""The API against its own OpenAPI description: no 5xx, and every response is as described.

One check of schemathesis is left out: that whatever fits the description is accepted. A question may name attributes
that there are not, and a cursor may be made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.python.asgi import shutdown_lifespans
from schemathesis.specs.openapi.checks import positive_data_acceptance

from hedgerow.service import ForCustodians
from hedgerow.service.http import app
from hedgerow.service.http.admission import Operation
from tests.service.api import Api, api, registration

ROLES = ("analyst", "custodian")


@dataclass
class Described:
    """A server, its description, and a token of each role."""

    here: Api
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    with api(tmp_path_factory.mktemp("api")) as here:
        tokens = {"custodian": here.token("carol", "custodian"), "analyst": here.token("ada")}
        (here.folder / "adult.csv").write_bytes((here.folder / "survey.csv").read_bytes())
        made = here.call("POST", "/v1/datasets", tokens["custodian"], json=registration("adult"))
        assert made.status_code == 201
        yield Described(here, tokens)
        shutdown_lifespans()


@pytest.fixture(scope="module")
def description(described: Described) -> Any:
    return schemathesis.openapi.from_asgi("/v1/openapi.json", described.here.app)


OPERATIONS = [(each.method, each.path) for each in app.OPERATIONS if each.in_schema]


def modes(operation: tuple[str, str]) -> list[GenerationMode]:
    """Requests as described, and others, where there is anything that can be wrong."""
    nothing_to_say = operation[1] in ("/v1/health", "/v1/ready", "/v1/metrics", "/v1/signin")
    return [GenerationMode.POSITIVE] if nothing_to_say else list(GenerationMode)


def tried(
    described: Described, description: Any, operation: tuple[str, str], role: str, mode: Any, examples: int
) -> None:
    """Send generated requests, and check the responses."""
    method, path = operation
    found = description[path][method]

    @settings(max_examples=examples, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=found.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = "adult"  # a name that was made up is seldom there
        response = case.call(headers={"Authorization": f"Bearer {described.tokens[role]}"})
        case.validate_response(response, excluded_checks=[positive_data_acceptance])

    run()


@pytest.mark.slow
@pytest.mark.parametrize(
    "each", [each for each in app.OPERATIONS if each.in_schema], ids=lambda each: each.run.__name__
)
def test_responses_are_as_described(described: Described, description: Any, each: Operation) -> None:
    """For the least role that may; what others are told is the same for all routes (test_authorisation.py)."""
    role = "custodian" if each.route is ForCustodians else "analyst"
    for mode in modes((each.method, each.path)):
        tried(described, description, (each.method, each.path), role, mode, 3)


@pytest.mark.audit
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=" ".join)
def test_responses_are_as_described_at_length(
    described: Described, description: Any, operation: tuple[str, str], role: str
) -> None:
    for mode in modes(operation):
        tried(described, description, operation, role, mode, 50)
