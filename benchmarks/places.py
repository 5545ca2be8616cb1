"""Counting tables where they are: in memory, streamed from Parquet, by DuckDB, in Spark; beside SQL.

Every run is a process of its own, so that its memory can be seen: the largest sum over the process and its children.
Times are by the clock, on the cores that there are; starting Python, and Spark, is not in them. SQL is timed on some
marginals and extrapolated where the note says so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.counting import SIZES
from benchmarks.row import Row
from hedgerow.domain import Categorical, Domain

FILE_ROWS = 1_000_000
GROWTH = (1, 10, 50)
"""Millions of rows."""
TIMED = 10
"""Marginals that SQL is timed on."""

DOMAIN = Domain(Categorical(f"a{i}", tuple(f"value {code}" for code in range(size))) for i, size in enumerate(SIZES))


def write(folder: Path, millions: int) -> None:
    """Files of a million rows of texts, the first values far more frequent."""
    for part in range(millions):
        draw = np.random.default_rng(part)
        columns = {}
        for attribute in DOMAIN:
            codes = (attribute.size * draw.random(FILE_ROWS, dtype=np.float32) ** 3).astype(np.int32)
            labels = pa.array([attribute.label(code) for code in range(attribute.size)])
            columns[attribute.name] = pa.DictionaryArray.from_arrays(pa.array(codes), labels).cast(pa.string())
        pyarrow.parquet.write_table(pa.table(columns), folder / f"part-{part:03}.parquet")


def cliques(order: int) -> list[tuple[str, ...]]:
    """All marginals of an order."""
    return list(combinations(DOMAIN.names, order))


def in_memory(folder: Path, order: int) -> object:
    """All files read into one table of codes, then counted."""
    from hedgerow.data import read_table

    return read_table(pyarrow.parquet.read_table(folder), DOMAIN).marginals(cliques(order))


def streamed(folder: Path, order: int) -> object:
    """Batch after batch, straight from the files."""
    from hedgerow.data import scan_table

    return scan_table(f"{folder}/*.parquet", DOMAIN).marginals(cliques(order))


def by_duckdb(folder: Path, order: int) -> object:
    """The same, with DuckDB reading the folder."""
    from hedgerow.data import scan_table

    return scan_table(folder, DOMAIN).marginals(cliques(order))


def by_spark(folder: Path, order: int) -> object:
    """Inside the executors of a session on this machine, which is started before the clock."""
    from hedgerow.data import scan_table
    from hedgerow.engines import running_session

    frame = running_session().read.parquet(str(folder))
    frame.limit(1).collect()
    started = time.perf_counter()
    scan_table(frame, DOMAIN).marginals(cliques(order))
    return time.perf_counter() - started


def group_by(folder: Path, order: int) -> object:
    """One SQL statement for each marginal, for some of them; the time for all."""
    import duckdb

    some = cliques(order)[:: max(1, len(cliques(order)) // TIMED)]
    started = time.perf_counter()
    for names in some:
        duckdb.sql(f"SELECT {', '.join(names)}, count(*) FROM '{folder}/*.parquet' GROUP BY ALL").fetchall()
    return (time.perf_counter() - started) * len(cliques(order)) / len(some)


def grouping_sets(folder: Path, order: int) -> object:
    """One SQL statement with GROUPING SETS, over some of the marginals; the time for all."""
    import duckdb

    some = cliques(order)[:: max(1, len(cliques(order)) // (2 * TIMED))]
    sets = ", ".join(f"({', '.join(names)})" for names in some)
    read = ", ".join(dict.fromkeys(name for names in some for name in names))
    started = time.perf_counter()
    duckdb.sql(f"SELECT {read}, count(*) FROM '{folder}/*.parquet' GROUP BY GROUPING SETS ({sets})").fetchall()
    return (time.perf_counter() - started) * len(cliques(order)) / len(some)


WAYS: dict[str, Callable[[Path, int], object]] = {
    each.__name__: each for each in (in_memory, streamed, by_duckdb, by_spark, group_by, grouping_sets)
}


def measured(way: str, folder: Path, order: int) -> tuple[float, float]:
    """Seconds by the clock, and the most memory in MB, of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.places", way, str(folder), str(order)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    most = [0.0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], _memory_of_tree(process.pid))

    watching = threading.Thread(target=watch)
    watching.start()
    text, _ = process.communicate()
    over.set()
    watching.join()
    return float(json.loads(text.splitlines()[-1])), most[0]


def _memory_of_tree(root: int) -> float:
    """Memory in MB of a process and all below it; pages that several share count in parts."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, todo = 0.0, [root]
    while todo:
        here = todo.pop()
        todo += [child for child, parent in parents.items() if parent == here]
        try:
            lines = Path(f"/proc/{here}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        found += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0) / 1024
    return found


def rows() -> Iterator[Row]:
    """All rows, as they are done."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for millions in GROWTH:
            data = folder / f"{millions}"
            data.mkdir()
            write(data, millions)
            yield from _rows(data, millions)
            shutil.rmtree(data)


def _rows(data: Path, millions: int) -> Iterator[Row]:
    ways = [way for way in WAYS if millions == 10 or way in ("streamed", "by_duckdb", "by_spark")]
    for order in (2, 3) if millions == 10 else (3,):
        found = {way: measured(way, data, order) for way in ways}
        reference = found.get("group_by", found["streamed"])[0]
        for way, (seconds, memory) in found.items():
            what = f"{len(cliques(order))} {order}-way marginals of {millions} million x {len(SIZES)}"
            words = (WAYS[way].__doc__ or "").rstrip(".")
            note = f"{words}; at most {memory:,.0f} MB; {os.cpu_count()} cores, by the clock"
            yield Row(f"{what}: {way.replace('_', ' ')}", seconds, reference, note)


if __name__ == "__main__":
    _way, _folder, _order = sys.argv[1:]
    _work = WAYS[_way]
    _started = time.perf_counter()
    _told = _work(Path(_folder), int(_order))
    print(json.dumps(_told if isinstance(_told, float) else time.perf_counter() - _started))
