"""What is said about the budget when a run does not end well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hedgerow.cli.console import Output

if TYPE_CHECKING:
    from hedgerow.privacy import Curator


@contextmanager
def accounted(output: Output, curator: Curator) -> Iterator[None]:
    """If the body fails or is interrupted, say what was spent before the failure goes on its way."""
    try:
        yield
    except BaseException:
        ledger = curator.ledger
        output.facts |= {"spent": ledger.spent, "limit": ledger.limit, "unit": ledger.unit}
        output.warn(spent_sentence(ledger.spent, ledger.limit, ledger.unit))
        raise


def spent_sentence(spent: float, limit: float, unit: str) -> str:
    """What was spent and that it stays spent.

    Example:
        >>> spent_sentence(0.0, 1.0, "epsilon")
        'nothing of the privacy budget was spent'
        >>> spent_sentence(0.25, 1.0, "epsilon")
        'spent before it stopped: 0.25 of 1 epsilon. It stays spent: noisy answers were drawn from the table.'
    """
    if spent == 0.0:
        return "nothing of the privacy budget was spent"
    return (
        f"spent before it stopped: {spent:.6g} of {limit:.6g} {unit}. It stays spent: noisy answers were drawn from "
        "the table."
    )
