"""What a session spent, in the ledger of one with a budget of another kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hedgerow.algorithms import Hold
from hedgerow.algorithms.online_pmw.start import _charge_in
from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, GaussianNoise
from hedgerow.queries import Neighbours

REPLACE = Neighbours.REPLACE


@pytest.mark.parametrize("charge", [1e-4, 0.1, 0.5])
def test_a_lost_hold_costs_in_rho_what_the_noise_can_have_cost_at_any_sensitivity(charge: float) -> None:
    """Of wide noise for a large sensitivity the lattice takes less, so its rho is larger than that of the stand-in."""
    budget = GDP(3.0, REPLACE)
    event = Hold(charge, "question").lost(budget)
    in_rho = replace(event, **_charge_in(event, ZCDP(10.0, REPLACE)))
    dearest = max(
        GaussianNoise.for_charge(budget.regime, charge, l2=l2).charge(ZCDP(1.0).regime) for l2 in (1.0, 2.0, 8.0, 64.0)
    )
    assert in_rho.unit == "rho"
    assert in_rho.charge >= dearest


def test_a_lost_hold_in_rho_has_no_price_in_gaussian_privacy() -> None:
    """It may have been for a sparse vector, which costs more there than noise of the same rho."""
    event = Hold(0.1, "question").lost(ZCDP(1.0, REPLACE))
    with pytest.raises(ConfigError, match="cannot be charged in mu"):
        _charge_in(event, GDP(3.0, REPLACE))
