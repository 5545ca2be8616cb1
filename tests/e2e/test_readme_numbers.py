"""The numbers of the README: its release is made again, and answers its questions as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hedgerow import Release, synthesize
from hedgerow.release import select_from

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\| `(.+?)` \| ([\d.,]+) \| ([\d.,]+) to ([\d.,]+) \| ([\d.,]+) \|")


def told(release: Release, question: str) -> tuple[float, float, float]:
    cell: Any = (
        select_from(release, question).cells[0][0] if question.startswith("SELECT") else release.answer(question)
    )
    assert cell.low is not None
    assert cell.high is not None
    return cell.value, cell.low, cell.high


@pytest.mark.slow
def test_the_readme_tells_what_its_release_answers() -> None:
    made = synthesize(
        ROOT / "examples/data/adult.csv",
        epsilon=1.0,
        delta=1e-9,
        domain=ROOT / "examples/adult.domain.yaml",
        seed=2026,
    )
    rows = ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(rows) == 5
    for question, *numbers in rows:
        value, low, high, truth = (float(number.replace(",", "")) for number in numbers)
        digits = 0 if value > 100 else 2
        found = told(made.release, question)
        assert round(found[0], digits) == pytest.approx(value, abs=0.6 * 10.0**-digits), question
        assert found[1] == pytest.approx(low, abs=10.0**-digits), question  # intervals are rounded outward
        assert found[2] == pytest.approx(high, abs=10.0**-digits), question
        assert low <= truth <= high, question
