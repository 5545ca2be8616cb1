"""What is done before a private table is released from Python: its register is charged, or somebody is warned.

Epsilons of several releases of one table add up. A register does the sum; where there is none, a second release of
one and the same object is noticed, at least within one process. Only that the object was released is remembered, and
only for as long as it lives.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from hedgerow.data.source import CountSource
from hedgerow.errors import ConfigError, UnregisteredWarning
from hedgerow.privacy.noise import NoiseSource, OpenDPNoise

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.register import Register
    from hedgerow.privacy.register_entries import Entry

_ABOVE_THE_CALLER = 3
"""Frames from the warning to whoever called ``run`` or ``start``."""


def before_a_run(
    source: CountSource,
    budget: Budget,
    noise: NoiseSource | None,
    register: Register | None,
    *,
    kind: str,
    name: str = "",
) -> Entry | None:
    """Charge the register, or warn if there is none and the table was released before.

    Runs whose noise does not protect are neither counted nor warned of: they release the table as it is.

    Args:
        source: The private table; only its domain is looked at.
        budget: Of the release.
        noise: Its source of noise; None for the secure one.
        register: Of the table, if one is kept.
        kind: ``"release"`` or ``"session"``.
        name: What the release is called.

    Returns:
        The entry of the register.

    Raises:
        ConfigError: The noise does not protect, so that there is nothing to add up; or the register counts something
            else.
        RegisterExceededError: The register does not cover the budget.
        RegisterError: The register cannot be read or written.
    """
    secure = noise is None or type(noise) is OpenDPNoise
    entry = None
    if register is not None:
        if not secure:
            raise ConfigError(
                "a register adds up guarantees, and with this noise there is none",
                remedy="leave the noise out, or the register",
            )
        entry = register.charge(budget, kind=kind, name=name, attributes=source.domain.names)
    if secure and _RELEASED.add(source) and register is None:
        warnings.warn(
            "this table was released before: the budgets of all its releases add up, and nothing keeps the sum\n"
            "  Remedy: keep a register: run(..., register=hedgerow.Register('table.register', limit=...))",
            UnregisteredWarning,
            stacklevel=1 + _ABOVE_THE_CALLER,
        )
    return entry


class _Objects:
    """Which objects were there before, told apart by identity and not kept alive."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.RLock()  # an object may vanish while its thread is in here

    def add(self, thing: Any) -> bool:
        """Note an object; whether it was noted before."""
        key = id(thing)
        with self._lock:
            known = self._known.get(key)
            if known is not None and known() is thing:
                return True
            try:
                self._known[key] = weakref.ref(thing, lambda gone: self._forget(key, gone))
            except TypeError:  # nothing of the caller's own kind is kept alive for a warning
                return False
            return False

    def _forget(self, key: int, gone: weakref.ref[Any]) -> None:
        with self._lock:
            if self._known.get(key) is gone:
                del self._known[key]


_RELEASED = _Objects()
