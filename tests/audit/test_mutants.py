"""Every planted mistake in the auditor's formulas is noticed."""

from __future__ import annotations

import importlib
import inspect

import pytest

from tests.audit import mutants
from tests.audit.mutants import CHECKS, MISTAKES, Mistake, planted
from tests.privacy.mutants import Mutant, killed


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_as_it_is_passes(check: object) -> None:
    assert callable(check)
    with planted(None) as load:
        check(load)


def everything_is_right() -> None:
    """All checks; what a mistake makes of a formula need not even have a value."""
    with planted(mutants.PLANTED) as load:
        for check in CHECKS:
            try:
                check(load)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                if "does not fit" in str(error):
                    raise
                raise AssertionError(check.__name__) from error


def mutant_of(mistake: Mistake) -> Mutant:
    """The auditor is loaded with it by the check."""
    return Mutant(str(mistake), lambda patch: patch.setattr(mutants, "PLANTED", mistake), everything_is_right)


MUTANTS = [mutant_of(mistake) for mistake in MISTAKES]


def test_every_mistake_stands_in_the_code_once() -> None:
    texts = {
        each.module: inspect.getsource(importlib.import_module(f"{mutants.PACKAGE}.{each.module}")) for each in MISTAKES
    }
    assert [str(each) for each in MISTAKES if texts[each.module].count(each.text) != 1] == []


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
