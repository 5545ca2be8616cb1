"""Doubts about the columns of a release, by its noisy values."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import MWEM, PureDP, SeededNoise, Table, Workload
from hedgerow.domain import Domain, domain_from_mapping
from hedgerow.privacy import Curator
from hedgerow.release import Release, release_warnings


def _released(domain: Domain, codes: list[int]) -> Release:
    curator = Curator(Table(domain, [codes]), PureDP(5.0), noise=SeededNoise(0))
    return MWEM(rounds=1).run_with(curator, Workload.parse("marginals:1", domain))


@pytest.mark.parametrize(
    ("entry", "codes", "words"),
    [
        ({"edges": [0, 10, 20, 30]}, [0] * 3000 + [1], "one bin, [0, 10), holds nearly all"),
        ({"edges": [0, 10, 20, 30]}, [0, 1, 2] * 1000, None),
        ({"min": 0, "max": 99, "whole": True, "bins": 3, "points": [0]}, [0] * 3000 + [1], None),
        ({"values": ["a", "b"], "other": "rest"}, [2] * 2000 + [0, 1] * 500, "the value 'rest'; list more values"),
        ({"min": 0, "max": 1, "other": "rest"}, [2] * 2000 + [0, 1] * 500, "the value 'rest'; widen the bounds"),
        (
            {"values": ["a"], "other": "rest", "learnt": True},
            [1] * 2000 + [0] * 500,
            "hardly anything was learnt of it",
        ),
        ({"values": ["a", "b"], "other": "rest"}, [2] * 200 + [0, 1] * 500, None),
    ],
)
def test_warnings(entry: dict[str, object], codes: list[int], words: str | None) -> None:
    found = release_warnings(_released(domain_from_mapping({"x": entry}), np.array(codes).tolist()))
    assert len(found) == (words is not None)
    assert all(warning.startswith("x: ") and str(words) in warning for warning in found)
