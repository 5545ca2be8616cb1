"""What can be refused of a data set before anything of it is kept, and what it is charged before its table is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from hedgerow.algorithms.online_pmw import check_start, config_from_dict
from hedgerow.errors import ConfigError, HedgerowError
from hedgerow.models import may_be_dense
from hedgerow.privacy import DATA_SET, Budget, budget_from_dict, budget_of_filtered
from hedgerow.service.desks.tables import domain_of, earlier_release
from hedgerow.service.store import Registration

if TYPE_CHECKING:
    from hedgerow.domain import Domain
    from hedgerow.privacy import Register

MOST_WARM_CELLS = 1 << 22
"""Of a histogram that a session starts from: all of them are kept with each correction."""
_STAYS = "what the server's register was charged for this data set stays charged"


def within_filter(new: Registration) -> Registration:
    """A registration with the budget that it has where a filter chooses its rows: how many pass is private.

    Example:
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> source = {"place": "people.csv", "where": "age >= 18"}
        >>> told = Registration("people", "", source, {}, PureDP(1.0, "replace").to_dict(), {})
        >>> within_filter(told).budget["neighbours"]
        'replace-then-filter'
    """
    if new.source.get("where") is None:
        return new
    return replace(new, budget=budget_of_filtered(budget_from_dict(new.budget)).to_dict())


def check_registration(new: Registration, folder: Path) -> tuple[Domain, Budget]:
    """Refuse all that can be refused of a data set before its table is opened.

    Args:
        new: What its custodian says.
        folder: The only one that tables are read from.

    Returns:
        Its attributes and its budget.

    Raises:
        DomainError, BudgetError, ConfigError: What was said does not fit together.
        ModelTooLargeError: The hypothesis would not fit into memory.
        ReleaseError: The release to start from cannot be read.
    """
    domain, budget = domain_of(new.domain, new.source), budget_from_dict(new.budget)
    warm = earlier_release(new.source, folder)
    check_start(config_from_dict(new.config), domain, budget, warm)
    if warm is not None and may_be_dense(domain) and domain.size > MOST_WARM_CELLS:
        raise ConfigError(
            f"a start from a release over {domain.size:,} cells would be written anew with each correction",
            remedy=f"start from a release over at most {MOST_WARM_CELLS:,} cells, or without one",
        )
    return domain, budget


@final
class Charge:
    """What a data set is charged in the register of the server, before its table is read.

    Args:
        register: The register; None where none is kept, and then nothing is charged.
        name: The data set's name.
        domain: Its attributes.
        budget: Its budget, all of which is charged.

    Raises:
        RegisterExceededError: The register does not cover the budget.
        ConfigError: The budget does not go into the register.
        RegisterError: The register cannot be read.
    """

    def __init__(self, register: Register | None, name: str, domain: Domain, budget: Budget) -> None:
        """Refuse what would be refused."""
        if register is not None:
            register.check(budget)
        self._register = register
        self._name = name
        self._domain = domain
        self._budget = budget
        self._charged = False

    def make(self) -> None:
        """Charge it, for good."""
        if self._register is not None:
            names = self._domain.names
            self._register.charge(self._budget, kind=DATA_SET, name=self._name, attributes=names)
            self._charged = True

    @contextmanager
    def staying(self) -> Iterator[None]:
        """If the body fails after the charge, let its error say that this stays."""
        try:
            yield
        except HedgerowError as error:
            if self._charged:
                error.remedy = "; ".join([*filter(None, [error.remedy]), _STAYS])
            raise
