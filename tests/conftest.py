"""For all tests: hypothesis draws the same examples on every run, and what several folders of tests share."""

from __future__ import annotations

import os
import secrets

import pytest
from hypothesis import settings

from tests.engines.postgresql import new_postgresql_database, postgresql_address
from tests.engines.spark import spark

__all__ = ["new_postgresql_database", "postgresql_address", "spark"]

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("ci")


def pytest_configure() -> None:
    """A fresh number for random runs, once for all processes of a session (see tests/audit)."""
    os.environ.setdefault("HEDGEROW_AUDIT_SEED", str(secrets.randbelow(2**40)))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The number, where it is used."""
    is_audit = "audit" in config.option.markexpr and "not audit" not in config.option.markexpr
    return [f"random runs begin with HEDGEROW_AUDIT_SEED={os.environ['HEDGEROW_AUDIT_SEED']}"] if is_audit else []
