"""What can be refused of a data set before anything of it is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.algorithms.online_plan import footprint
from hedgerow.algorithms.online_start import check_form, earlier_events
from hedgerow.algorithms.online_state import config_from_dict
from hedgerow.errors import ConfigError
from hedgerow.models.choice import may_be_dense
from hedgerow.privacy.budget import Budget, budget_from_dict
from hedgerow.privacy.ledger import Ledger
from hedgerow.service.entries import Registration
from hedgerow.service.tables import PrivateTable, domain_of, earlier_release, read_private

if TYPE_CHECKING:
    from hedgerow.domain import Domain
    from hedgerow.release import Release

MOST_WARM_CELLS = 1 << 22
"""Of a histogram that a session starts from: all of them are kept with each correction."""


def table_to_register(new: Registration, folder: Path) -> PrivateTable:
    """The private table of a data set that is about to be registered; all that can be checked is in order.

    Args:
        new: What its custodian says.
        folder: The only one that tables are read from.

    Raises:
        DomainError, BudgetError, ConfigError: What was said does not fit together.
        ModelTooLargeError: The hypothesis would not fit into memory.
        ReleaseError: The release to start from cannot be read.
        DataError: The table cannot be read, or does not fit the domain.
    """
    domain, budget = domain_of(new.domain, new.source), budget_from_dict(new.budget)
    config = config_from_dict(new.config)
    config.variant_for(budget)
    warm = earlier_release(new.source, folder)
    footprint(config, domain, warm=warm is not None).check()
    if warm is not None:
        _check_start(warm, budget, domain)
    return read_private(new.source, domain, folder)


def _check_start(warm: Release, budget: Budget, domain: Domain) -> None:
    Ledger(budget.limit, budget.unit, earlier_events(warm, budget, domain))
    check_form(warm)
    if may_be_dense(domain) and domain.size > MOST_WARM_CELLS:
        raise ConfigError(
            f"a start from a release over {domain.size:,} cells would be written anew with each correction",
            remedy=f"start from a release over at most {MOST_WARM_CELLS:,} cells, or without one",
        )
