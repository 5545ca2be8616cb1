"""Small tables, analysts and sessions for the tests of online private multiplicative weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import OnlineAnswer, Rules, Variant
from hedgerow.privacy import ApproxDP, Budget, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Neighbours
from tests.privacy.replay import ScriptedNoise
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(3)
REPLACE = Neighbours.REPLACE
BUDGETS: list[tuple[Variant, Budget]] = [
    ("4a", PureDP(1.0, REPLACE)),
    ("4a", ApproxDP(0.9, 1e-6, REPLACE)),
    ("4b", ApproxDP(1.0, 1e-6, REPLACE)),
    ("4c", PureDP(1.0, REPLACE)),
    ("4c", ApproxDP(1.0, 1e-6, REPLACE)),
    ("pay-as-you-go", PureDP(1.0, REPLACE)),
    ("pay-as-you-go", ApproxDP(1.0, 1e-6, REPLACE)),
]


def cells() -> Iterator[Conjunction]:
    """All conditions on up to three attributes that name one code each, the widest first."""
    for order in (1, 2, 3):
        for names in itertools.combinations(DOMAIN.names, order):
            for codes in itertools.product((0, 1), repeat=order):
                yield Conjunction.where(DOMAIN, {name: [code] for name, code in zip(names, codes, strict=True)})


def random_queries(count: int, seed: int) -> list[Explicit]:
    """Queries with random values between 0 and 1."""
    values = np.random.default_rng(seed).random((count, DOMAIN.size))
    return [Explicit.of(DOMAIN, DOMAIN.names, row) for row in values]


def config_of(variant: Variant, updates: int = 4, **options: Any) -> OnlinePMW:
    """A configuration with so many updates; 4a, which knows only its theorem, gets them from `few_updates`."""
    if variant == "4a":
        return OnlinePMW(variant="4a", **options)
    return OnlinePMW(variant=variant, updates=updates, threshold=0.1, **options)


def start(
    variant: Variant,
    budget: Budget,
    source: DenseCounts,
    answers: list[bool] | None = None,
    noise: NoiseSource | None = None,
    **options: Any,
) -> OnlineSession:
    """A session whose tests answer as a script says, if there is one."""
    drawn = SeededNoise(0) if noise is None else noise
    scripted = drawn if answers is None else ScriptedNoise(list(answers), drawn)
    return config_of(variant, **options).start(source, budget, noise=scripted)


def skewed(n: int) -> DenseCounts:
    """Three quarters of the records in one cell."""
    rest = n // 4 // 7
    histogram = [n - 7 * rest] + [rest] * 7
    return DenseCounts(DOMAIN, histogram)


def ask_all_kinds(session: OnlineSession, queries: list[LinearQuery]) -> list[OnlineAnswer]:
    """An analyst who asks about complements where the last answer was small: the stream depends on the answers."""
    found: list[OnlineAnswer] = []
    for query in queries:
        if found and found[-1].value < 3.0 and isinstance(query, Conjunction):
            first, *rest = zip(query.scope, query.codes, strict=True)
            flipped = {first[0]: [code for code in (0, 1) if code not in first[1]]}
            query = Conjunction.where(DOMAIN, {**flipped, **dict(rest)})  # noqa: PLW2901
        found.append(session.ask(query))
    return found


def with_rules(make: Callable[..., Rules]) -> Callable[..., Rules]:
    """A replacement for ``OnlinePMW.rules``."""

    def rules(self: OnlinePMW, stream: Any, budget: Budget, amount: float) -> Rules:
        return make(stream, budget, amount)

    return rules


def check_restored_alike(
    sessions: Sequence[OnlineSession],
    stream: Sequence[LinearQuery],
    source: DenseCounts,
    noise: SeededNoise,
    path: Path,
) -> None:
    """Two sessions alike are saved after nine questions; the first goes on as what is restored of the second does.

    Args:
        sessions: With noise of the same seed each.
        stream: Questions.
        source: The table of both.
        noise: Of the second.
        path: Where to save.
    """
    for session in sessions:
        for query in stream[:9]:
            session.ask(query)
        session.save(path)
    restored = OnlineSession.restore(path, source, noise=noise)
    for query in stream[9:]:
        assert sessions[0].ask(query) == restored.ask(query)
        one, other = (each._hypothesis.model.marginals([DOMAIN.names])[0] for each in (sessions[0], restored))
        assert np.array_equal(one, other)
