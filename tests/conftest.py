"""For all tests: hypothesis draws the same examples on every run, and what several folders of tests share."""

from __future__ import annotations

import gc
import os
import secrets

import pytest
from hypothesis import settings

from tests.engines.postgresql import new_postgresql_database, postgresql_address
from tests.engines.spark import spark

__all__ = ["new_postgresql_database", "postgresql_address", "spark"]

for variable in ("CI", "BUILD_NUMBER"):
    os.environ.pop(variable, None)
"""Where these are set, pytest explains unequal values whole, which takes hours for sets of thousands."""

settings.register_profile("full", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("quick", settings.get_profile("full"), max_examples=10)
settings.load_profile("full")

SERVICES = {
    "spark": {"spark"},
    "postgresql": {"postgresql_address", "new_postgresql_database"},
    "browser": {"browser", "open_page"},
}
"""Markers, and the fixtures of the tests that they choose."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs another program, and all but a few cases of a test that has many."""
    cases: dict[tuple[object, str], list[pytest.Item]] = {}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        values = getattr(getattr(item, "callspec", None), "params", {}).values()
        for marker, needed in SERVICES.items():
            named = any(value == marker for value in values if isinstance(value, str))
            if named or fixtures & needed or item.get_closest_marker(marker):
                item.add_marker(marker)
                item.add_marker("slow")
        if item.get_closest_marker("many"):
            cases.setdefault((item.parent, getattr(item, "originalname", item.name)), []).append(item)
    for each in cases.values():
        kept = each[0].get_closest_marker("many").kwargs["quick"]  # type: ignore[union-attr]
        quick = {place * len(each) // kept for place in range(kept)}
        for place, item in enumerate(each):
            if place not in quick:
                item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collections: a tenth of the time of the quick suite."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_unconfigure() -> None:
    """Libraries that count what is left at the end find it collected."""
    gc.unfreeze()


def pytest_configure() -> None:
    """A fresh number for random runs, once for all processes of a session (see tests/audit)."""
    os.environ.setdefault("HEDGEROW_AUDIT_SEED", str(secrets.randbelow(2**40)))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The number, where it is used."""
    is_audit = "audit" in config.option.markexpr and "not audit" not in config.option.markexpr
    return [f"random runs begin with HEDGEROW_AUDIT_SEED={os.environ['HEDGEROW_AUDIT_SEED']}"] if is_audit else []
