"""Records from junction trees: all attributes of Adult against numpy, one clique after the other; and into a file."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.row import Row, cpu_seconds
from hedgerow.arrays import Floats
from hedgerow.data import Table, read_table
from hedgerow.domain import Clique, Domain, read_domain
from hedgerow.models import JunctionTree, Markov, Proximal, batches, refit
from hedgerow.queries import Marginal, Measurement, NoiseKind
from hedgerow.release import Records, write_batches

DATA = Path(__file__).resolve().parent.parent / "examples" / "data"
MILLION = 1_000_000
EIGHT = ("workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex", "native-country")


def rows() -> Iterator[Row]:
    """Speed on 14 attributes, files, and what drawing adds to the error on 8 of them."""
    domain = read_domain(DATA / "adult14.domain.yaml")
    table = read_table(DATA / "adult.csv", domain, extra_columns="ignore")
    model = _fitted(table, domain, _scopes(domain, 30, MILLION))
    model.sample(1000, 1, "independent")
    reference = cpu_seconds(lambda: _numpy(model, MILLION), 1)
    ours = cpu_seconds(lambda: model.sample(MILLION, 1), 5)
    yield Row(
        "10^6 records, 14 attributes", ours, reference, f"numpy search, clique by clique; {_speed(MILLION, ours)}"
    )
    ours = cpu_seconds(lambda: model.sample(10 * MILLION, 1), 1)
    note = f"the same, from 10^6; {_speed(10 * MILLION, ours)}"
    yield Row("10^7 records, 14 attributes", ours, 10 * reference, note)
    ours = cpu_seconds(lambda: model.sample(MILLION, 1, "independent"), 2)
    yield Row("10^6 independent draws", ours, reference, f"the same; {_speed(MILLION, ours)}")
    with tempfile.TemporaryDirectory() as folder:
        yield from _files(model, Path(folder))
    eight = domain.project(EIGHT)
    table = read_table(DATA / "adult.csv", eight, extra_columns="ignore")
    yield _error(_fitted(table, eight, _scopes(eight, 12, MILLION)), table)


def _speed(n: int, seconds: float) -> str:
    return f"{n / seconds / 1e6:.1f} million records per second and core"


def _scopes(domain: Domain, count: int, cells: int) -> list[Clique]:
    """Random two- and three-way scopes whose tree stays below some cells."""
    names = domain.names
    known = [*itertools.combinations(names, 2), *itertools.combinations(names, 3)]
    found: list[Clique] = []
    for i in np.random.default_rng(0).permutation(len(known)).tolist():
        if len(found) < count and JunctionTree.of(domain, [*found, known[i]]).cells <= cells:
            found.append(known[i])
    return found


def _fitted(table: Table, domain: Domain, scopes: Sequence[Clique]) -> Markov:
    rng = np.random.default_rng(1)
    exact = table.marginals(scopes)
    measured = [
        Measurement(
            Marginal(domain, scope), counts.reshape(-1) + rng.normal(0, 60, counts.size), NoiseKind.GAUSSIAN, 60
        )
        for scope, counts in zip(scopes, exact, strict=True)
    ]
    model = Markov(domain, float(exact[0].sum()), scopes)
    refit(model, measured, Proximal())
    return model


def _numpy(model: Markov, n: int) -> list[np.ndarray]:
    """One search per clique among the cumulative sums of all groups, each moved by the number of its group."""
    rng = np.random.default_rng(0)
    columns: dict[str, np.ndarray] = {}
    for tree in model.trees:
        for node in tree.ordered:
            clique = tree.cliques[node]
            given = [name for name in clique if name in columns]
            rest = [name for name in clique if name not in columns]
            cells = model.marginals([clique])[0].transpose([clique.index(name) for name in (*given, *rest)])
            shape = model.domain.shape_of(tuple(rest))
            ends = np.cumsum(cells.reshape(-1, int(np.prod(shape))) + 1e-300, axis=1)
            ends = ends / ends[:, -1:] + np.arange(len(ends))[:, None]
            groups = np.zeros(n, dtype=np.int64)
            for name in given:
                groups = groups * model.domain[name].size + columns[name]
            found = np.searchsorted(ends.reshape(-1), groups + rng.random(n)) - groups * ends.shape[1]
            columns |= dict(zip(rest, np.unravel_index(found, shape), strict=True))
    return [columns[name] for name in model.domain.names]


def _files(model: Markov, folder: Path) -> Iterator[Row]:
    """Half of a million records, drawn and written; the reference makes all values first."""
    n, domain = MILLION // 2, model.domain

    def ours(path: Path) -> None:
        drawn = batches(model.sample_blocks(n, 1), n)
        write_batches(path, domain, (Records(codes, domain, seed=1) for codes in drawn))

    def plain() -> None:
        codes = np.stack(_numpy(model, n))
        texts = [np.array(attribute.labels, dtype=object) for attribute in domain]
        columns = [pa.array(text[column]) for text, column in zip(texts, codes, strict=True)]
        pq.write_table(pa.table(columns, names=list(domain.names)), folder / "plain.parquet")

    reference = cpu_seconds(plain, 1)
    for ending in ("parquet", "csv"):
        path = folder / f"ours.{ending}"
        seconds = cpu_seconds(lambda path=path: ours(path), 2)
        note = f"numpy search, labels, Parquet; {_speed(n, seconds)}, {path.stat().st_size / n:.0f} bytes a record"
        yield Row(f"5 x 10^5 records into {ending}", seconds, reference, note)


def _error(model: Markov, table: Table) -> Row:
    """Mean L1 distance between the marginals of the records and of the model, over two- and three-way marginals."""
    n = int(model.total)
    scopes = _scopes(model.domain, 12, MILLION)
    exact = [counts / n for counts in model.marginals(scopes)]
    errors: dict[str, Floats] = {}
    for method in ("systematic", "independent"):
        runs = []
        for seed in range(5):
            codes = model.sample(n, seed, method)
            runs.append(np.mean([_distance(codes, model.domain, s, law) for s, law in zip(scopes, exact, strict=True)]))
        errors[method] = np.array(runs)
    note = f"independent draws; L1, {n:,} records, 12 measured marginals of 8 attributes"
    return Row("error that drawing adds", errors["systematic"].mean(), errors["independent"].mean(), note, "")


def _distance(codes: np.ndarray, domain: Domain, scope: Clique, law: Floats) -> float:
    flat = np.ravel_multi_index([codes[:, axis].astype(np.int64) for axis in domain.axes(scope)], law.shape)
    return float(np.abs(np.bincount(flat, minlength=law.size) / len(codes) - law.reshape(-1)).sum())
