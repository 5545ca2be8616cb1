"""Judging a million synthetic records beside a million real ones, 24 columns: tables of cells, and the whole of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.row import Row
from hedgerow import evaluate
from hedgerow.domain import Codes, Domain, IntegerRange
from hedgerow.evaluation.tables import distances, families_of

RECORDS = 1_000_000
SIZES = (2, 3, 5, 8, 12, 20, 20, 20) * 3
COUNTED = 10
"""Tables of each order that pandas counts; its time for all is extrapolated."""


def made(seed: int) -> list[Codes]:
    """Columns that hang together."""
    rng = np.random.default_rng(seed)
    common = rng.random(RECORDS)
    mixed = (0.5 * common + 0.5 * rng.random(RECORDS) for _ in SIZES)
    return [(column * size).astype(np.uint8) for column, size in zip(mixed, SIZES, strict=True)]


def by_pandas(real: pd.DataFrame, other: pd.DataFrame, columns: list[str]) -> float:
    """Total variation distance of one table, as an analyst would compute it."""
    one, two = (frame.value_counts(columns, normalize=True, sort=False) for frame in (real, other))
    return 0.5 * float(one.subtract(two, fill_value=0.0).abs().sum())


def rows() -> Iterator[Row]:
    """Distances of all pairs and triples, and a whole evaluation without models."""
    domain = Domain([IntegerRange(f"x{place}", 0, size - 1) for place, size in enumerate(SIZES)])
    tables = [made(seed) for seed in (0, 1)]
    frames = [pd.DataFrame(dict(zip(domain.names, table, strict=True))) for table in tables]
    for name, cliques in families_of(domain).items():
        distances(domain, tables[0], tables[1:], cliques[:1])  # compiles
        start = time.process_time()
        found = distances(domain, tables[0], tables[1:], cliques)[0]
        ours = time.process_time() - start
        start = time.process_time()
        slow = [by_pandas(*frames, list(clique)) for clique in cliques[:COUNTED]]
        theirs = (time.process_time() - start) * len(cliques) / len(slow)
        apart = np.abs(found[: len(slow)] - slow).max()
        note = f"pandas, {len(slow)} of {len(cliques)} tables; largest difference {apart:.0e}"
        yield Row(f"{name} distances", ours, theirs, note)
    start = time.process_time()
    evaluate(*(pa.table(dict(zip(domain.names, table, strict=True))) for table in tables), models=False)
    yield Row("evaluation without models", time.process_time() - start, 60.0, "the aim")
