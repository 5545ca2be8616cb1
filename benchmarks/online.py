"""Answers of a session that are free: from the hypothesis alone, against one pass over all cells per question."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce

import numpy as np

from benchmarks.row import Row, cpu_seconds
from hedgerow.algorithms.online_pmw import OnlinePMW, OnlineSession
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Answering, Histogram
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Conjunction

SIZES = (9, 16, 7, 15, 6, 6, 2)
"""Seven attributes much like those of Adult: 1.1 million cells."""
QUESTIONS = 10_000
SAMPLED = 50
"""So many questions are answered by passes over all cells; the time of all is extrapolated."""


def rows() -> Iterator[Row]:
    """From the tables alone, then through a session; all counts are for 10,000 questions."""
    domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcdefg", SIZES, strict=True))
    model = Histogram(domain, 1e5, base=np.random.default_rng(0).random(SIZES))
    queries = conditions(domain, QUESTIONS)
    cells = model.marginals([domain.names])[0]
    passes = cpu_seconds(lambda: [one_pass(cells, query) for query in queries[:SAMPLED]], 3) * QUESTIONS / SAMPLED
    note = f"numpy: one pass over {domain.size:,} cells each, from {SAMPLED}"
    yield _row("all at once, tables made anew", cpu_seconds(lambda: Answering(model).values(queries), 3), passes, note)
    ready = Answering(model)
    yield _row("all at once, tables at hand", cpu_seconds(lambda: ready.values(queries), 3), passes, note)
    yield _row(
        "one by one, tables at hand", cpu_seconds(lambda: [ready.value(query) for query in queries], 3), passes, note
    )
    session = closed_session(domain)
    yield _row("session.ask_all, nothing left to spend", cpu_seconds(lambda: session.ask_all(queries), 3), passes, note)
    asking = cpu_seconds(lambda: [session.ask(query) for query in queries], 3)
    yield _row("session.ask, nothing left to spend", asking, passes, note)


def _row(name: str, ours: float, passes: float, note: str) -> Row:
    return Row(name, ours, passes, f"{QUESTIONS / ours:,.0f} questions a second; {note}")


def conditions(domain: Domain, count: int) -> list[Conjunction]:
    """Random conditions on one to four attributes, each with about half of its codes."""
    generator = np.random.default_rng(1)
    made = []
    for _ in range(count):
        names = generator.permutation(list(domain.names))[: generator.integers(1, 5)]
        chosen = {name: np.flatnonzero(generator.random(domain[name].size) < 0.5) for name in names}
        made.append(Conjunction.where(domain, {name: codes if codes.size else [0] for name, codes in chosen.items()}))
    return made


def one_pass(cells: Floats, query: Conjunction) -> float:
    """The fastest that plain numpy was found to do: two small outer products, one product of a matrix and a vector.

    ``einsum`` does it in one thread, as fast as the memory delivers the cells; BLAS takes two, and more CPU time.
    """
    chosen = dict(zip(query.scope, query.codes, strict=True))
    holds = []
    for name, size in zip(query.domain.names, cells.shape, strict=True):
        column = np.ones(size) if name not in chosen else np.zeros(size)
        column[list(chosen.get(name, ()))] = 1.0
        holds.append(column)
    middle = next(k for k in range(1, cells.ndim) if math.prod(cells.shape[:k]) ** 2 >= cells.size)
    left, right = (reduce(np.multiply.outer, part).reshape(-1) for part in (holds[:middle], holds[middle:]))
    return float(np.einsum("i,i->", left, np.einsum("ij,j->i", cells.reshape(left.size, right.size), right)))


def closed_session(domain: Domain) -> OnlineSession:
    """A session that has used up its one correction."""
    draw = np.random.default_rng(2)
    table = Table(domain, [draw.integers(size, size=20_000, dtype=np.uint8) // 2 for size in SIZES])
    session = OnlinePMW(updates=1, threshold=0.01).start(table, PureDP(1.0), noise=SeededNoise(0))
    for name in domain.names:
        session.ask(Conjunction.where(domain, {name: [0]}))
    if session.is_open:
        raise RuntimeError("the session should be closed")
    return session
