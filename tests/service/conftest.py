"""A server that the tests of a module share, and who asks it; stores of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.api import Api, api


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with api(tmp_path_factory.mktemp("api")) as started:
        yield started


@pytest.fixture(scope="module")
def ada(here: Api) -> str:
    return here.token("ada")


@pytest.fixture(scope="module")
def carol(here: Api) -> str:
    return here.token("carol", "custodian")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store that is not there yet."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("new_postgresql_database"))
    return f"sqlite:///{tmp_path}/store.db"
