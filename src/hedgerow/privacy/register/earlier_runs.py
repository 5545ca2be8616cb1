"""Steps around a release from Python: charge the table's register, or warn.

Epsilons of several releases of one table add up. A register does the sum; where there is none, a second release of
one and the same object is noticed, at least within one process. Only that the object was released is remembered, and
only for as long as it lives.
"""

from __future__ import annotations

import warnings
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hedgerow.data import CountSource
from hedgerow.errors import ConfigError, UnregisteredWarning, WeakGuaranteeWarning
from hedgerow.privacy.budgets import budget_for, weaknesses
from hedgerow.privacy.randomness import NoiseSource, is_secure

if TYPE_CHECKING:
    from hedgerow.privacy.budgets import Budget
    from hedgerow.privacy.register.entries import Entry
    from hedgerow.privacy.register.register import Register

_ABOVE_THE_CALLER = 3
"""Frames from the warning to anyone who called ``run`` or ``start``."""


def before_a_run(
    source: CountSource,
    budget: Budget,
    noise: NoiseSource | None,
    register: Register | None,
    *,
    kind: str,
    name: str = "",
    counts_earlier: bool = False,
) -> Entry | None:
    """Charge the register, or warn if there is none and the table was released before.

    Runs whose noise does not protect are neither counted nor warned of: they promise nothing that could add up.

    Args:
        source: The private table; only its domain is looked at.
        budget: The release's budget.
        noise: Its source of noise; None for the secure one.
        register: Register of the table, if there is one.
        kind: ``"release"`` or ``"session"``.
        name: Name of the release.
        counts_earlier: Whether the budget holds what an earlier release spent: then the sum of the two is known.

    Returns:
        The entry of the register.

    Raises:
        ConfigError: The noise does not protect, so that there is nothing to add up; or the register counts something
            else.
        RegisterExceededError: The register does not cover the budget.
        RegisterError: The register cannot be read or written.
    """
    secure, entry = _protects(noise), None
    if register is not None:
        if not secure:
            raise ConfigError(
                "a register adds up guarantees, and with this noise there is none",
                remedy="leave the noise out, or the register",
            )
        entry = register.charge(budget_for(budget, source), kind=kind, name=name, attributes=source.domain.names)
    if secure and register is None and not counts_earlier and source in _RELEASED:
        warnings.warn(
            "this table was released before: the budgets of all its releases add up, and nothing keeps the sum\n"
            "  Remedy: keep a register: run(..., register=hedgerow.Register('table.register', limit=...))",
            UnregisteredWarning,
            stacklevel=_ABOVE_THE_CALLER,
        )
    return entry


def note_release(source: CountSource, noise: NoiseSource | None) -> None:
    """Remember that a private table was released, as long as the object lives.

    Args:
        source: The private table.
        noise: The source of noise; None for the secure one.
    """
    if _protects(noise):
        _RELEASED.add(source)


def warn_of_weakness(budget: Budget, total: float, noise: NoiseSource | None) -> None:
    """Warn of a guarantee that promises next to nothing.

    Args:
        budget: The budget that was spent.
        total: Number of records, noisy or public.
        noise: The source of noise; None for the secure one. Another one promises nothing in any case.
    """
    for reason in weaknesses(budget, total) if _protects(noise) else ():
        warnings.warn(reason, WeakGuaranteeWarning, stacklevel=_ABOVE_THE_CALLER)


def _protects(noise: NoiseSource | None) -> bool:
    return noise is None or is_secure(noise)


class _Objects:
    """Objects that were seen before, told apart by identity and not kept alive."""

    def __init__(self) -> None:
        self._known = weakref.WeakValueDictionary[int, Any]()

    def __contains__(self, thing: Any) -> bool:
        return self._known.get(id(thing)) is thing

    def add(self, thing: Any) -> None:
        with suppress(TypeError):  # what has no weak references is not kept alive for a warning
            self._known[id(thing)] = thing


_RELEASED = _Objects()
