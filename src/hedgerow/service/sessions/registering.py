"""Registering a data set: checks before anything of it is kept, and the charge before its table is read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hedgerow.algorithms.online_pmw import OnlinePMW, check_start, with_learnt
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError, HedgerowError
from hedgerow.models import may_be_dense
from hedgerow.privacy import DATA_SET, Budget, Register, budget_from_dict, budget_of_filtered, budget_of_persons
from hedgerow.service.sessions.first import MOST_WARM_CELLS, check_share
from hedgerow.service.sessions.tables import domain_of, earlier_release, is_filtered, persons_in
from hedgerow.service.store import Registration

_STAYS = "what the server's register was charged for this data set stays charged"


def within_filter(new: Registration) -> Registration:
    """Adapt a registration's budget to its filter, if it has one: the number of rows that pass is private.

    Rules of the domain that records are left out by are one. Where a bounded number of records of each person is
    counted, the budget is about persons.

    Raises:
        DomainError: The description of the domain is wrong.
        ConfigError: The description of the persons is.

    Example:
        >>> from hedgerow import PureDP
        >>> source = {"place": "people.csv", "where": "age >= 18"}
        >>> told = Registration("people", "", source, {"sex": ["F", "M"]}, PureDP(1.0, "replace").to_dict(), {})
        >>> within_filter(told).budget["neighbours"]
        'replace-then-filter'
    """
    budget = budget_of_persons(budget_from_dict(new.budget), persons_in(new.source))
    if is_filtered(domain_of(new.domain, new.source), new.source):
        budget = budget_of_filtered(budget)
    return replace(new, budget=budget.to_dict())


def keeping_learnt(new: Registration, folder: Path) -> Registration:
    """Adapt a registration's budget to the earlier release that it starts from, if that has learnt values.

    Args:
        new: Description by its custodian.
        folder: The only folder that tables are read from.

    Raises:
        BudgetError, ConfigError: The budget is none.
        ReleaseError: The release to start from cannot be read.
    """
    warm = earlier_release(new.source, folder)
    return new if warm is None else replace(new, budget=with_learnt(budget_from_dict(new.budget), warm).to_dict())


def check_registration(new: Registration, folder: Path) -> tuple[Domain, Budget]:
    """Refuse whatever can be refused of a data set before its table is opened.

    Args:
        new: Description by its custodian.
        folder: The only folder that tables are read from.

    Returns:
        Its attributes and its budget.

    Raises:
        DomainError, BudgetError, ConfigError: The description does not fit together.
        ModelTooLargeError: The hypothesis would not fit into memory.
        ReleaseError: The release to start from cannot be read.
    """
    domain, budget = domain_of(new.domain, new.source), budget_from_dict(new.budget)
    warm = earlier_release(new.source, folder)
    check_start(OnlinePMW.from_dict(new.config), domain, budget, warm)
    if warm is not None and may_be_dense(domain) and domain.size > MOST_WARM_CELLS:
        raise ConfigError(
            f"a start from a release over {domain.size:,} cells would be rewritten with each correction",
            remedy=f"start from a release over at most {MOST_WARM_CELLS:,} cells, or without one",
        )
    if first := new.source.get("first_release"):
        if warm is not None:
            raise ConfigError(
                "a session starts from an earlier release or from a first one, not from both",
                remedy="leave out warm or first_release",
            )
        check_share(first, domain, budget)
    return domain, budget


@contextmanager
def charging(register: Register | None, name: str, domain: Domain, budget: Budget) -> Iterator[Callable[[], None]]:
    """Charge a data set in the register of the server before its table is read; where there is none, charge nothing.

    Args:
        register: The register, or None.
        name: Name of the data set.
        domain: Its attributes.
        budget: Its budget, all of which is charged.

    Yields:
        A function that makes the charge. If the body fails after it, the error says that the charge stays.

    Raises:
        RegisterExceededError: The register does not cover the budget.
        ConfigError: The budget does not go into the register.
        RegisterError: The register cannot be read.
    """
    if register is not None:
        register.check(budget)
    charged = False

    def charge() -> None:
        nonlocal charged
        if register is not None:
            register.charge(budget, kind=DATA_SET, name=name, attributes=domain.names)
            charged = True

    try:
        yield charge
    except HedgerowError as error:
        if charged:
            error.remedy = "; ".join([*filter(None, [error.remedy]), _STAYS])
        raise
