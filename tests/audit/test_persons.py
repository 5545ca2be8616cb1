"""Releases about persons and weighted records: honest ones hold, those that forgot how often a person counts fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import learn_domain
from hedgerow.audit import Severity
from hedgerow.data import Table
from hedgerow.domain import Domain, OpenDomain
from hedgerow.privacy import Curator, PureDP
from hedgerow.queries import Persons, Relation, Weight, Workload, of_marginal
from hedgerow.release import Release
from tests.audit.made import ALGORITHMS, BINARY, saved, table_of
from tests.audit.test_files import audited, bad

PERSONS = (Persons("id", 3), Persons(None, 1, Weight("w", 3)), Persons("id", 2, Weight("w", 4)))
by_persons = pytest.mark.parametrize("persons", PERSONS, ids=lambda each: each.text)
BUDGET = PureDP(20.0)


def bounded(persons: Persons, domain: Domain = BINARY) -> Table:
    return Table(domain, table_of(domain).columns, persons=persons)


def made(name: str, persons: Persons, relation: Relation, workload: str = "marginals:2") -> Release:
    """With selections and an error estimate, where the algorithm has these."""
    budget = PureDP(20.0, relation.value)
    return ALGORITHMS[name]().run(bounded(persons), Workload.parse(workload, BINARY), budget)


@pytest.mark.many(quick=4)
@by_persons
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"fourier"}))
def test_honest_releases_hold(name: str, relation: Relation, persons: Persons, tmp_path: Path) -> None:
    workload = "cells:2" if name == "pmw" else "marginals:2"
    audit = audited(saved(made(name, persons, relation, workload), tmp_path))
    assert audit.verdict is Severity.HOLDS, audit


class _Forgetful:
    """A workload that says how far a single record moves its scores."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        said = Workload.sensitivities
        patch.setattr(Workload, "sensitivities", lambda self, neighbours: said(self, neighbours.single))


@by_persons
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
@pytest.mark.parametrize("name", ["mwem, laplace", "dual query", "small-db"])
def test_selections_that_forgot_how_often_a_person_counts_fail(
    name: str, relation: Relation, persons: Persons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _Forgetful(monkeypatch)
    assert "sensitivities" in bad(audited(saved(made(name, persons, relation), tmp_path)))


def test_draws_of_half_the_sensitivity_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that count have values 0 and 1: one record moves them by their whole width."""
    said = Workload.sensitivities
    monkeypatch.setattr(Workload, "sensitivities", lambda self, neighbours: 0.5 * said(self, neighbours))
    release = ALGORITHMS["dual query"]().run(table_of(BINARY), Workload.parse("cells:2", BINARY), BUDGET)
    assert "sensitivities" in bad(audited(saved(release, tmp_path)))


@by_persons
def test_error_estimates_that_forgot_it_fail(persons: Persons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Curator._noise

    def forgetful(self: Curator, most: float, step: float, charge: float) -> object:
        return noise(self, 1.0 + step if step < 1.0 else most, step, charge)

    monkeypatch.setattr(Curator, "_noise", forgetful)
    release = MWEM(rounds=2).run(bounded(persons), Workload.parse("marginals:2", BINARY), BUDGET)
    assert "sensitivities" in bad(audited(saved(release, tmp_path)))


@by_persons
@pytest.mark.parametrize("forgetful", [False, True])
def test_cuts_of_bins_are_looked_at(
    persons: Persons, forgetful: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = OpenDomain({"x": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}, "y": [0, 1]})
    values = np.random.default_rng(0).integers(0, 100, 500)
    curator = Curator(Table(wanted.fine, [values, values % 2], persons=persons), BUDGET)
    with monkeypatch.context() as patch:
        if forgetful:
            patch.setattr("hedgerow.queries.core.query.of_marginal", lambda each: of_marginal(each.single))
        domain = learn_domain(curator, wanted)
    codes = np.searchsorted(domain["x"].edges, values, side="right") - 1
    table = Table(domain, [np.clip(codes, 0, domain["x"].size - 1), values % 2], persons=persons)
    workload = Workload.parse("marginals:2", domain)
    release = MWEM(rounds=1).run_with(Curator(table, BUDGET, events=curator.ledger.events), workload)
    found = audited(saved(release, tmp_path))
    assert ("sensitivities" in bad(found)) is forgetful, found
