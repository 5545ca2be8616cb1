"""The page where a visitor moves epsilon: what it shows is so, and it needs nothing from elsewhere."""

from __future__ import annotations

import json
import re

import numpy as np
from examples.teaching import make_page


def test_the_page_holds_releases_and_the_truth_beside_them() -> None:
    shown = make_page.content(epsilons=(0.1, 5.0), seeds=2)
    text = make_page.page(shown)
    found = re.search(r"const data = (\{.*\});", text)
    assert found is not None
    assert json.loads(found[1]) == shown
    assert make_page.MARK not in text
    assert not re.search(r"""(src|href)=|https?://(?!www\.w3\.org/2000/svg)|@import|url\(""", text)

    whole, small = shown["files"]
    assert (whole["truth"]["total"], small["truth"]["total"]) == (48_842, make_page.SMALL)
    for file in (whole, small):
        truth = file["truth"]
        assert len(truth["age"]) == len(shown["ages"])
        assert sum(truth["age"]) == sum(truth["education"]) == truth["total"]
        assert truth["answers"][4] == sum(truth["education"][:2]), "preschool, by either income"
        loose, tight = ([np.abs(np.subtract(run["age"], truth["age"])).sum() for run in runs] for runs in file["runs"])
        assert max(tight) < min(loose), "errors fall with epsilon"
        held = [
            low <= true <= high
            for runs in file["runs"]
            for run in runs
            for (_, low, high), true in zip(run["answers"], truth["answers"], strict=True)
        ]
        assert np.mean(held) >= 0.9, "seeded: 95 % intervals"
    assert shown["guess"][0] < shown["guess"][1]
    assert shown["noise"][0] > shown["noise"][1]


def test_runs_of_equal_seeds_are_equal() -> None:
    one, other = (make_page.content(epsilons=(1.0,), seeds=1) for _ in range(2))
    assert one == other
