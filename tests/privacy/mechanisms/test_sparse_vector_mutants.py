"""Each privacy bug planted in the sparse vector and in many draws makes a check fail."""

from __future__ import annotations

import pytest

from tests.privacy.mechanisms.sparse_vector_mutants import MUTANTS
from tests.privacy.mutants import Mutant, killed


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
