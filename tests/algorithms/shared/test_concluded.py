"""The last hypothesis of a run: tables over a tree where no tree holds what was measured, else the fit in place."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hedgerow.algorithms import Learner, concluded
from hedgerow.domain import Clique
from hedgerow.models import Histogram, Markov, Overlay, Proximal, Refit, Sweeps
from hedgerow.queries import Marginal, Measurement, NoiseKind
from tests.models.strategies import domain_of

DOMAIN = domain_of(*[2] * 30)
PAIRS = list(combinations(DOMAIN.names, 2))
LINE = list(zip(DOMAIN.names, DOMAIN.names[1:], strict=False))


def learner(scopes: list[Clique]) -> Learner:
    found = Learner(Markov(DOMAIN, 100.0))
    values = np.array([40.0, 30.0, 20.0, 10.0])
    found.measurements += [Measurement(Marginal(DOMAIN, each), values, NoiseKind.GAUSSIAN, 2.0) for each in scopes]
    return found


def test_tables_are_made_where_no_tree_holds_all_pairs() -> None:
    learning = learner(PAIRS)
    before = learning.model
    model = concluded(learning, Proximal())
    assert isinstance(model, Overlay)
    assert model.tree.cells <= 1 << 16
    assert learning.model is before  # and it is as it was
    assert isinstance(before, Markov)
    assert before.cells == 0
    assert concluded(learner(PAIRS), Proximal(), largest_tree=200).tree.cells <= 200  # type: ignore[union-attr]


@pytest.mark.parametrize(("rule", "scopes"), [(Proximal(), LINE), (Sweeps(3), LINE)])
def test_what_a_tree_holds_is_fitted_in_place(rule: Refit, scopes: list[Clique]) -> None:
    learning = learner(scopes)
    model = concluded(learning, rule)
    assert isinstance(model, Markov)
    assert model is learning.model
    assert model.cells == 4 * len(scopes)


def test_told_measurements_are_for_hypotheses() -> None:
    learning = learner(LINE)
    model = concluded(learning, Proximal(), learning.measurements[:1])
    assert isinstance(model, Markov)
    assert model.cells == 4


def test_a_learner_that_keeps_its_form_keeps_it() -> None:
    domain = domain_of(2, 2, 2)
    learning = Learner(Histogram(domain, 100.0), keeps_form=True)
    measured = Measurement(Marginal(domain, ("x0",)), np.array([60.0, 40.0]), NoiseKind.GAUSSIAN, 2.0)
    learning.measurements.append(measured)
    assert isinstance(concluded(learning, Proximal(), largest_tree=1), Histogram)
