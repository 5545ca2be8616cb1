"""Slices that are kept: they are those that were asked for, whatever was forgotten or asked beside."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import RowLayout
from hedgerow.models.dense.layout import Places, Slice
from hedgerow.queries import Conjunction

DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in (("a", 7), ("b", 5), ("c", 11)))
QUERIES = [
    Conjunction.where(DOMAIN, {"a": range(low, 7, step), "c": range(low, 11 - low)})
    for low in range(5)
    for step in (1, 2, 3)
]


def cells(kept: Places, queries: list[Conjunction], slice_of: Callable[[Conjunction], Slice]) -> list[Ints]:
    (outer, starts, stride, count, gather, gather_starts), numbers = kept.packed(queries, slice_of)
    found = []
    for number in numbers:
        inner = gather[gather_starts[number] : gather_starts[number + 1]]
        inner = inner if inner.size else np.arange(count[number]) * stride[number]
        found.append((outer[starts[number] : starts[number + 1], None] + inner).reshape(-1))
    return found


def expected(query: Conjunction) -> Ints:
    layout = RowLayout(DOMAIN)
    sizes = [attribute.size if attribute.name in query.scope else 1 for attribute in DOMAIN]
    held = np.broadcast_to(query.values().reshape(sizes), DOMAIN.shape)
    return np.flatnonzero(np.ascontiguousarray(held.transpose(layout.order)))


def test_slices_are_those_of_their_conditions_whether_they_were_kept_or_forgotten() -> None:
    for most in (0, 40, 10**6):
        made = list[Conjunction]()
        layout = RowLayout(DOMAIN)

        def slice_of(query: Conjunction, made: list[Conjunction] = made, layout: RowLayout = layout) -> Slice:
            made.append(query)
            return layout.slice_of(query)

        kept = Places(most)
        for some in (QUERIES[:4], QUERIES[3:4], QUERIES[4:], QUERIES[:3], QUERIES[4:6] * 2):
            for query, found in zip(some, cells(kept, some, slice_of), strict=True):
                assert np.array_equal(np.sort(found), expected(query))
        assert len(made) == len(QUERIES) if most == 10**6 else len(made) > len(QUERIES)


def test_what_a_thread_was_given_stays_true_while_others_add_and_forget() -> None:
    layout, wrong = RowLayout(DOMAIN), list[str]()
    kept = Places(30)
    known = {query: expected(query) for query in QUERIES}

    def ask(seed: int) -> None:
        draw = np.random.default_rng(seed)
        for _ in range(200):
            some = [QUERIES[place] for place in draw.choice(len(QUERIES), 3)]
            wrong.extend(
                query.text
                for query, found in zip(some, cells(kept, some, layout.slice_of), strict=True)
                if not np.array_equal(np.sort(found), known[query])
            )

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
