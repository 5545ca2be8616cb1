"""Each deliberate privacy bug of the curator's level makes a check fail; the code as it is passes the same check."""

from __future__ import annotations

import pytest

from tests.privacy.mutants import MUTANTS, Mutant, killed


@pytest.mark.many(quick=6)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_a_survivor_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = Mutant("no change at all", lambda patch: None, lambda: None)
    with pytest.raises(pytest.fail.Exception, match="no change at all"):
        killed(harmless, monkeypatch)
