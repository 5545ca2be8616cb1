"""For all tests: hypothesis draws the same examples on every run, and what several folders of tests share."""

from __future__ import annotations

from hypothesis import settings

from tests.postgresql import new_postgresql_database, postgresql_address
from tests.spark import spark

__all__ = ["new_postgresql_database", "postgresql_address", "spark"]

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("ci")
