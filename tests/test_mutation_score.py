"""The published mutation score lists every planted bug, and no survivor."""

from __future__ import annotations

from collections import Counter

from tests.mutation_score import PAGE, SURVIVED, Line, declared, listed, page

LINES = [Line("tests/a.py", "no noise", "`losses`"), Line("tests/b.py", "half | of it", SURVIVED)]


def test_the_page_lists_every_planted_bug_and_each_is_noticed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    found = list(listed(text))
    assert Counter((line.file, line.name) for line in found) == Counter((each.file, each.name) for each in declared())
    assert not [line for line in found if line.by == SURVIVED]
    assert f"**{len(found)} of {len(found)} planted bugs are noticed.**" in text


def test_a_page_can_be_read_again_and_counts_survivors() -> None:
    assert list(listed(page(LINES))) == LINES
    assert "**1 of 2 planted bugs are noticed.**" in page(LINES)


def test_names_are_unique_where_they_are_declared() -> None:
    assert max(Counter((each.file, each.name) for each in declared()).values()) == 1
