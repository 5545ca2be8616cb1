"""How many random examples a test draws that wants more or fewer than others."""

from __future__ import annotations

from hypothesis import settings

USUAL = 60
"""Examples of a test that says nothing, in the full profile."""


def examples(number: int) -> int:
    """A number of examples, in proportion to those of the profile that is loaded; at least 5."""
    return max(5, number * settings().max_examples // USUAL)
