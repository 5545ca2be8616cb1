"""Columns that seem to follow from each other in the first rows of a table, for the comments of a draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Calendar, Categorical, Codes, Domain, Moments, Ordered, ends_of

_ROWS = 20_000
"""Rows that are looked at."""
_FEWEST = 100
"""Fewer rows show no relation."""
_COLUMNS = 40
"""Columns of each kind that are compared."""
_BEFORE = 0.01
"""Share of the rows, at most, in which a date that follows another is before it."""
_OFTEN = 0.05
"""Share of the rows, at least, in which it is certainly behind it."""
_DAY = 86_400


def related(domain: Domain, codes: Sequence[Codes]) -> Iterator[str]:
    """Sentences about columns one of which tells another, and about dates that follow others.

    Args:
        domain: A drafted domain.
        codes: Codes of the first rows, one array for each attribute.

    Example:
        >>> domain = Domain([Categorical("code", ("A", "B", "C")), Categorical("region", ("north", "south"))])
        >>> list(related(domain, [np.array([0, 1, 2] * 50), np.array([0, 0, 1] * 50)]))
        ['"code" tells "region" in the first 150 rows. If it does by definition: {determines: [code, region],
         table: FILE}']
    """
    rows = min(len(codes[0]), _ROWS) if codes else 0
    if rows < _FEWEST:
        return
    columns = [(each, found[:rows].astype(np.int64)) for each, found in zip(domain, codes, strict=True)]
    listed = [(each, found) for each, found in columns if isinstance(each, Categorical)][:_COLUMNS]
    kinds = {each.name: len(np.unique(found)) for each, found in listed}
    for (finer, fine), (coarser, coarse) in permutations(listed, 2):
        smaller = (coarser.size, coarser.name) < (finer.size, finer.name)
        if not smaller or not 1 < kinds[coarser.name] <= kinds[finer.name]:
            continue
        if len(np.unique(fine * coarser.size + coarse)) == kinds[finer.name]:
            told = f'"{finer.name}" tells "{coarser.name}" in the first {rows:,} rows.'
            yield f"{told} If it does by definition: {{determines: [{finer.name}, {coarser.name}], table: FILE}}"
    dated = [
        (each, found)
        for each, found in columns
        if isinstance(each, Ordered) and isinstance(each.scale, Calendar | Moments)
    ][:_COLUMNS]
    for (earlier, before), (later, after) in permutations(dated, 2):
        held = (before < earlier.ordinary) & (after < later.ordinary)
        first, last = (ends[before[held]] for ends in _seconds(earlier))
        from_then, to_then = (ends[after[held]] for ends in _seconds(later))
        if held.sum() >= _FEWEST and (to_then < first).mean() <= _BEFORE and (from_then > last).mean() >= _OFTEN:
            days = int(np.ceil((to_then - first).max() / _DAY))
            told = f'"{later.name}" is hardly ever before "{earlier.name}". In place of it, to keep their distance:'
            yield f"{told} {{from: {earlier.name}, to: {later.name}, min: 0, max: {days}, unit: d}}"


def _seconds(attribute: Ordered) -> tuple[Floats, Floats]:
    """The first and the last second of each code, since 1970."""
    step = attribute.scale.seconds if isinstance(attribute.scale, Moments) else _DAY
    low, high = ends_of(attribute)
    return low * step, (high + 1.0) * step - 1.0
