"""Every kind of place that a table can be in."""

from __future__ import annotations

import pytest

from tests.data.sources import PLACES, POSTGRESQL, Place, postgresql


@pytest.fixture(params=[*PLACES, pytest.param(POSTGRESQL, marks=pytest.mark.postgresql)])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == POSTGRESQL:
        return postgresql(request.getfixturevalue("postgresql_address"))
    return PLACES[request.param]
