"""Compiling what answers need ahead of the first question."""

from __future__ import annotations

from hedgerow.algorithms.online_pmw import OnlinePMW
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import ApproxDP
from hedgerow.service.desks import made_up

_RECORDS = 100_000
_SIZES = ((40, 16, 16, 16, 8, 8, 5, 5), (5, 4, 3, 2))
"""Of a domain that is held as a junction tree, and of one that is held as a histogram."""
_QUESTIONS = ("a = 0", "b = 0 and c = 0", "not (c = 0 and d = 0) or a = 1", "a in (0, 1) and b between 0 and 1")


def compile_kernels() -> None:
    """Ask throw-away sessions about made-up records, so that everything compiled is in memory and in numba's cache.

    The first time on a machine it takes half a minute, later a second. Nothing private is touched.
    """
    for sizes in _SIZES:
        domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcdefgh", sizes, strict=False))
        session = OnlinePMW(updates=20, queries=100).start(made_up(domain, _RECORDS), ApproxDP(1.0, 1e-9))
        for question in _QUESTIONS:
            session.ask(question)
        release = session.release()
        release.model.marginals([("a", "b")])
        release.sample(100)
