"""The accountant: it finds planted differences, agrees with the curator, and kills the mutants of `loss_mutants`."""

from __future__ import annotations

import pytest

from tests.privacy.loss_mutants import MUTANTS
from tests.privacy.mutants import Mutant, killed


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
