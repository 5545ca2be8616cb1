"""Doubts about a domain, by its bounds, bins and labels alone."""

from __future__ import annotations

from typing import Any

import pytest

from hedgerow.domain import domain_from_mapping, domain_warnings


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"values": ["m", "M"]}, "differ in case or blanks only"),
        ({"values": ["a b", "a b "]}, "differ in case or blanks only"),
        ({"values": ["m", "f"]}, None),
        ({"min": 0, "max": 200_000, "bins": 20, "whole": True}, "of very different sizes"),
        ({"min": 0, "max": 2000, "step": 0.01, "bins": 20}, "of very different sizes"),
        ({"min": 0, "max": 200_000, "bins": {"log": 20}, "whole": True}, None),
        ({"min": 100_000, "max": 200_000, "bins": 20, "whole": True}, None),
        ({"min": 0, "max": 110, "bins": 11, "whole": True}, None),
        ({"min": 35, "max": 43, "step": 0.1, "bins": 20}, None),
        ({"min": "1970-01-01", "max": "2024-12-31", "bins": 5}, None),
        ({"min": 0.001, "max": 100, "bins": 10}, "of very different sizes"),
        ({"min": 0, "max": 1, "bins": 10}, None),
    ],
)
def test_warnings(entry: dict[str, Any], words: str | None) -> None:
    found = domain_warnings(domain_from_mapping({"x": entry}))
    assert len(found) == (words is not None)
    assert all(warning.startswith("x: ") and str(words) in warning for warning in found)
