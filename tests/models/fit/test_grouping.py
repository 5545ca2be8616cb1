"""Groups of measurements over levels: the same steps as on the whole hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.domain import Domain
from hedgerow.models import Histogram, Sweeps, refit
from hedgerow.models.fit import grouping
from hedgerow.queries import Marginal, Measurable, Measurement, NoiseKind
from tests.examples import examples
from tests.models.strategies import leveled_cliques, leveled_domains, leveled_queries


def measured(data: st.DataObject, domain: Domain) -> list[Measurement]:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    targets: list[Measurable] = data.draw(st.lists(leveled_queries(domain), max_size=4))
    scopes = data.draw(st.lists(leveled_cliques(domain).filter(bool), min_size=1, max_size=4))
    targets = [*targets, *(Marginal(domain, scope) for scope in scopes)]
    return [Measurement(each, rng.normal(2.0, 3.0, each.size), NoiseKind.LAPLACE, 1.0) for each in targets]


@settings(max_examples=examples(40))
@given(st.data(), leveled_domains())
def test_steps_on_groups_are_those_on_the_whole(data: st.DataObject, domain: Domain) -> None:
    noisy = measured(data, domain)
    whole, in_groups = Histogram(domain, 30.0), Histogram(domain, 30.0)
    refit(whole, noisy, Sweeps(sweeps=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "LARGE_CELLS", 1)
        patch.setattr(grouping, "_fits", lambda _, names: len(names) <= 4)
        patch.setattr(Histogram, "parts", lambda *_: [])
        refit(in_groups, noisy, Sweeps(sweeps=3))
    found, expected = (model.marginals([domain.names])[0] for model in (in_groups, whole))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@settings(max_examples=examples(40))
@given(st.data(), leveled_domains(), st.booleans())
def test_every_measurement_is_in_one_group_that_knows_it(data: st.DataObject, domain: Domain, ordered: bool) -> None:
    noisy = measured(data, domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "LARGE_CELLS", 1)
        patch.setattr(grouping, "_fits", lambda _, names: len(names) <= 4)
        groups = grouping.grouped(Histogram(domain, 30.0), noisy, ordered=ordered)
    assert sorted(i for group in groups for i in group.members) == list(range(len(noisy)))
    for group in groups:
        if group.scope is not None:
            inside = domain.project(group.scope)
            assert all(name in inside for i in group.members for name in noisy[i].target.scope)
