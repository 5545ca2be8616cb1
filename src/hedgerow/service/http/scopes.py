"""What a custodian whose token is good for some data sets only may see and make.

Such a token opens a part of the server: its data sets, tokens that are good for nothing else, and people who have to
do with these data sets. Requests for anything else are answered as if it were not there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from hedgerow.errors import NotAllowedError, NotThereError
from hedgerow.service.http.tokens import DEFAULT_DAYS, Caller
from hedgerow.service.store import Person, Token

if TYPE_CHECKING:
    from hedgerow.service.store import Store


def people_in(store: Store, by: Caller) -> list[Person]:
    """The people whom a custodian may know of, by name.

    They are those who can ask one of the data sets in her scope, who have asked it, who have limits there, or who have
    or had a token in the scope; and herself.

    Args:
        store: Where people are.
        by: The custodian.
    """
    scope = by.token.data_sets
    if scope is None:
        return store.people()
    now = datetime.now(UTC)
    known = {by.person.id}
    known |= {each.person for each in store.tokens() if _concerns(each, scope, now)}
    known |= {grant.person for name in scope for grant in store.grants(store.data_set(name).id)}
    return [person for person in store.people() if person.id in known]


def person_in(store: Store, name: str, by: Caller) -> Person:
    """Somebody by name.

    Raises:
        NotThereError: There is nobody of this name, or nobody whom the custodian may know of.
    """
    found = next((person for person in people_in(store, by) if person.name == name), None)
    if found is None:
        raise NotThereError("there is no such person", remedy="GET /v1/people lists them")
    return found


def tokens_in(store: Store, by: Caller) -> list[Token]:
    """The tokens that a custodian may see and revoke: those that are good for nothing outside her scope."""
    return [token for token in store.tokens() if token.lies_within(by.token.data_sets)]


def check_may_have(person: Person, by: Caller) -> None:
    """Refuse a token for a person in whose name a custodian may not act.

    Raises:
        NotAllowedError: A custodian of some data sets makes one for another custodian.
    """
    if by.token.data_sets is not None and person.role == "custodian" and person.id != by.person.id:
        raise NotAllowedError(
            "with a token for some data sets, tokens are made for analysts and for oneself",
            remedy="ask a custodian of all data sets",
        )


def end_of(days: int | Literal["ever"] | None, by: Caller, now: datetime) -> datetime | None:
    """Until when a new token is good.

    Args:
        days: How long; None where nothing was said: 30 days, or as long as the custodian's own where that is less.
        by: The custodian. Where hers is good for some data sets alone, no token that she makes outlives it.
        now: The time, in UTC.

    Returns:
        The time; None for ever.

    Raises:
        NotAllowedError: It would outlive hers.
    """
    wanted = None if days == "ever" else now + timedelta(days=DEFAULT_DAYS if days is None else days)
    latest = None if by.token.data_sets is None else by.token.expires
    if latest is None or (wanted is not None and wanted <= latest):
        return wanted
    if days is None:
        return latest
    raise NotAllowedError(
        "your own token is good for some data sets alone, and no token that you make with it outlives it",
        remedy="leave 'days' out to take all that is left of yours",
    )


def _concerns(token: Token, scope: tuple[str, ...], now: datetime) -> bool:
    """Whether a token is one of the scope, or opens something in it."""
    is_good = token.revoked is None and (token.expires is None or token.expires > now)
    return token.lies_within(scope) or (is_good and any(token.reaches(name) for name in scope))
