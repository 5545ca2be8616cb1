"""Every planted mistake in the auditor's formulas is noticed."""

from __future__ import annotations

import pytest

from tests.audit.mutants import CHECKS, MUTANTS, Load, Mutant, planted


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_as_it_is_passes(check: object) -> None:
    assert callable(check)
    with planted(None) as load:
        check(load)


def killer_of(mutant: Mutant, load: Load) -> str | None:
    """The first check that fails."""
    for check in CHECKS:
        try:
            check(load)
        except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if "does not fit" in str(error):
                raise
            return check.__name__
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant) -> None:
    with planted(mutant) as load:
        assert killer_of(mutant, load) is not None
