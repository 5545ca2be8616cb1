"""The first of several runs that passes its test: the loop that `RunSelection` charges for.

Every run has a ledger of its own, which begins with what was spent before and with the charge of the selection. Of
runs that fail nothing may be told: not their answers, not that they were made, not how many there were.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from hedgerow.data import CountSource
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import Budget, Subsampled, budget_for
from hedgerow.privacy.curator import Curator
from hedgerow.privacy.ledger import Event, Ledger, RunThatPasses
from hedgerow.privacy.mechanisms import RunSelection, check_selects_runs
from hedgerow.privacy.randomness import NoiseSource, OpenDPNoise, uniform_below
from hedgerow.queries import Measurement

T = TypeVar("T")
TRY = "try"
"""Label of the event that pays for the choice among runs."""


def first_that_passes(
    source: CountSource,
    budget: Budget,
    run: Callable[[Curator, int], tuple[T, bool]],
    *,
    configurations: int,
    tries: int,
    noise: NoiseSource | None = None,
    events: Sequence[Event] = (),
    moments: Callable[[int], Sequence[Measurement]] = lambda _: (),
) -> T | None:
    """Make runs of configurations that are drawn at random, until one passes its test or chance ends it.

    Args:
        source: The private records.
        budget: The budget of all of it; it is counted in epsilon.
        run: Makes the run of a configuration with a curator, and says whether it passes. What it reads of the table it
            reads by this curator.
        configurations: Number of configurations, each as likely as the others.
        tries: After a run that fails all ends with probability ``1 / tries``.
        noise: Source of the noise; None for the secure one.
        events: Charges of what was released before, once for all runs.
        moments: See `Curator`; for a configuration.

    Returns:
        What the run gave; None where all ended without one. The ledger of its curator holds the charge.

    Raises:
        ConfigError: The budget is not counted in epsilon, or is for a sample; or the tries are out of their range.
        BudgetExceededError: Nothing is left of the budget.
    """
    budget = budget_for(budget, source)
    check_selects_runs(budget.regime)
    if isinstance(budget, Subsampled) or configurations < 1:
        raise ConfigError("runs are selected on all records, from one configuration on", remedy="take no sample")
    ledger, drawing = Ledger.of(budget, events), OpenDPNoise() if noise is None else noise
    rest = Fraction(ledger.limit) - sum((Fraction(event.charge) for event in ledger.events), Fraction(0))
    selection, charge = RunSelection.of_rest(rest, tries)
    asked, relation = RunThatPasses(configurations), budget.neighbours.value
    ledger.charge(
        Event(TRY, selection.name, asked, selection.sensitivity, selection.scale, charge, budget.unit, relation)
    )
    while True:
        place = _below(configurations, drawing)
        curator = Curator(source, budget, noise=drawing, events=ledger.events, moments=moments(place))
        found, passes = run(curator, place)
        if passes:
            return found
        if _below(tries, drawing) == 0:
            return None


def _below(limit: int, noise: NoiseSource) -> int:
    """A whole number below a limit, each as likely."""
    return int(uniform_below(np.array([limit]), noise.random_bytes)[0])
