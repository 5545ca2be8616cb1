"""Priors: the factors that public tables give, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hedgerow import Prior
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Markov, Potentials
from hedgerow.queries import Tables, Workload
from hedgerow.simulation import DrawnRecords
from tests.algorithms.shared.priors import prior_of
from tests.algorithms.shared.whole_runs import without_histograms
from tests.privacy.mutants import Mutant, killed

DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 3, 4, 2), strict=True))
PAIRS = Workload.marginals(DOMAIN, 2)
PLENTY = 1 << 20


def sample(n: int, seed: int, domain: Domain = DOMAIN) -> Table:
    """Columns of which each follows the one before, mostly."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(domain.shape[0], n, p=rng.dirichlet(np.full(domain.shape[0], 2.0)))]
    for size in domain.shape[1:]:
        columns.append(np.where(rng.random(n) < 0.7, columns[-1] % size, rng.integers(size, size=n)))
    return Table(domain, columns)


def modelled(factors: dict[tuple[str, ...], Floats], total: float) -> Histogram:
    return Histogram.from_potentials(DOMAIN, total, Potentials(factors))


def test_the_factors_bring_the_public_tables_back() -> None:
    public = sample(20_000, 0)
    found = modelled(prior_of(public).factors(PAIRS, PLENTY), 20_000.0)
    scopes = list(combinations("abcd", 2))
    for table, model in zip(public.marginals(scopes), found.marginals(scopes), strict=True):
        assert np.abs(table.reshape(model.shape) - model).sum() / 2.0 < 0.02 * 20_000


def test_tables_that_say_enough_are_found_one_after_the_other() -> None:
    # The same choice by brute force, order by order, with the likelihood of whole histograms.
    public = sample(3_000, 1)
    kept: dict[tuple[str, ...], Floats] = {}
    prior, cost = prior_of(public), 0.5 * math.log(3_000)
    for size in (1, 2):
        model = modelled(prior_of(public).factors(_of(list(kept)), PLENTY) if kept else {}, 3_000.0)
        for scope in combinations("abcd", size):
            (table,), (flat,) = public.marginals([scope]), model.marginals([scope])
            table, flat = table.reshape(-1), flat.reshape(-1)
            gain = float(sum(t * math.log(t / f) for t, f in zip(table, flat, strict=True) if t > 0))
            parts = [part for k in range(1, size + 1) for part in combinations(scope, k)]
            new = [part for part in parts if not any(set(part) <= set(each) for each in kept)]
            if gain > cost * sum(math.prod(DOMAIN[name].size - 1 for name in part) for part in new):
                kept[scope] = table
    assert set(prior.factors(PAIRS, PLENTY)) == set(kept)
    assert {("a", "b"), ("b", "c"), ("c", "d")} <= set(kept)


def _of(scopes: list[tuple[str, ...]]) -> Workload:
    return Workload.marginals(DOMAIN, cliques=scopes)


def test_noise_says_nothing() -> None:
    rng = np.random.default_rng(2)
    drawn = Table(DOMAIN, [rng.integers(size, size=5_000) for size in DOMAIN.shape])
    assert prior_of(drawn).factors(Workload.marginals(DOMAIN, 3), PLENTY) == {}


def test_noise_says_nothing_in_many_tables_either() -> None:
    # A triple of which no part was kept gains by seven parameters, not by one: some would be kept for that one.
    wide = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(16))
    rng = np.random.default_rng(4)
    for _ in range(3):
        drawn = Table(wide, [rng.integers(2, size=5_000) for _ in range(16)])
        assert prior_of(drawn).factors(Workload.marginals(wide, 3), PLENTY) == {}


def test_columns_may_be_missing_or_in_another_order() -> None:
    public = sample(20_000, 3)
    other = Domain([DOMAIN["d"], DOMAIN["c"], DOMAIN["b"]])
    turned = Table(other, [public.columns[3], public.columns[2], public.columns[1]])
    some = prior_of(turned).factors(PAIRS, PLENTY)
    assert not any("a" in scope for scope in some)
    model = modelled(some, 20_000.0)
    (table,), (found,) = public.marginals([("b", "c")]), model.marginals([("b", "c")])
    assert np.abs(table.reshape(found.shape) - found).sum() / 2.0 < 0.02 * 20_000
    assert model.marginals([("a",)])[0].tolist() == [10_000.0, 10_000.0]


def test_trees_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    without_histograms(monkeypatch)
    domain = Domain(IntegerRange(f"x{place}", 0, 7) for place in range(9))
    public = sample(50_000, 4, domain)
    workload = Workload.marginals(domain, 2)
    for largest in (100, 300, 1_000):
        factors = prior_of(public).factors(workload, largest)
        assert Markov(domain, 1.0, start=factors).cells <= largest
    assert any(len(scope) == 2 for scope in factors)


def test_a_release_serves_as_well_as_a_table() -> None:
    public = sample(20_000, 5)
    from hedgerow import MWEM, PureDP, SeededNoise

    release = MWEM().run(public, PAIRS, PureDP(50.0), noise=SeededNoise(0))
    prior = Prior.of(release)
    assert prior.parameters() == {"kind": "Prior", "columns": list("abcd"), "records": release.total}
    found = modelled(prior.factors(PAIRS, PLENTY), 20_000.0)
    (table,), (model,) = public.marginals([("b", "c")]), found.marginals([("b", "c")])
    assert np.abs(table.reshape(model.shape) - model).sum() / 2.0 < 0.03 * 20_000


class Opened:
    """A table that has a release's names, which does not make it public."""

    def __init__(self) -> None:
        self.model, self.total = sample(10, 0), 10.0


PRIVATE = {
    "in memory": lambda: sample(10, 0),
    "drawn for a simulation": lambda: DrawnRecords(DOMAIN, np.zeros((3, 4), dtype=np.int64)),
    "under a model's name": Opened,
}


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_not_public_by_its_type_is_no_prior(name: str) -> None:
    source = PRIVATE[name]()
    with pytest.raises(ConfigError, match=r"a (.* is private, and|Opened is) no prior") as refused:
        Prior.of(source)
    assert "hedgerow.read_public(" in str(refused.value)
    _is_refused(getattr(source, "model", source))()


def _is_refused(tables: Any) -> Callable[[], None]:
    """The check that private tables make no prior, whatever is said of the number of records."""

    def check() -> None:
        try:
            Prior(tables, 10.0)
        except ConfigError:
            return
        raise AssertionError("a prior of private records")

    return check


def takes_whatever_counts(patch: pytest.MonkeyPatch) -> None:
    """Take all that has the methods of public data for public."""
    patch.setattr("hedgerow.algorithms.shared.prior.PublicData", Tables)


def test_a_mutant_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    killed(Mutant(takes_whatever_counts.__name__, takes_whatever_counts, _is_refused(sample(10, 0))), monkeypatch)


def test_what_is_no_prior_is_refused() -> None:
    with pytest.raises(ConfigError, match="a str is no prior"):
        Prior.of("public.csv")
    with pytest.raises(ConfigError, match="needs public records"):
        prior_of(Table(DOMAIN, [np.zeros(0, dtype=np.int64)] * 4))
    other = Domain([IntegerRange("a", 0, 5)])
    with pytest.raises(ConfigError, match="other values of 'a'"):
        Prior.of(Histogram(other, 10.0)).check(DOMAIN)
    with pytest.raises(ConfigError, match="no column"):
        Prior.of(Histogram(Domain([IntegerRange("z", 0, 5)]), 10.0)).check(DOMAIN)
