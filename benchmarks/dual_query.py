"""Best responses in DualQuery: tabu search against mixed-integer programming, on problems that runs of DualQuery posed.

A row's numbers are CPU seconds per best response. The notes give what tabu search's responses are worth, in sampled
queries and complements that hold, against the bound that the solver proved; the least ratio of the two; and how many
answers were proved.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.row import Row
from hedgerow.algorithms.dual_query import BestResponseProblem, DualQuery, MixedInteger, Oracle, Response, TabuSearch
from hedgerow.data import Table, read_table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import ApproxDP, SeededNoise
from hedgerow.queries import Conjunction, Workload
from hedgerow.system import Seed

DATA = Path(__file__).parent.parent / "examples" / "data"
SECONDS = 2.0
"""Time for the solver to beat or to prove one response."""
ROUNDS = (2, 20)
"""Rounds whose problems are taken, one early and one late."""


@dataclass(frozen=True)
class Recorder:
    """An oracle that keeps the problems that it was given."""

    problems: list[BestResponseProblem] = field(default_factory=list)

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """Tabu search's response."""
        self.problems.append(problem)
        return TabuSearch().best(problem, seed)


def adult() -> tuple[Table, Workload]:
    """The eight categorical attributes of Adult, and every cell of their 3-way marginals."""
    table = read_table(DATA / "adult8_mwem.csv", DATA / "adult8_mwem.domain.json", count_column="count", coded=True)
    return table, Workload.marginals(table.domain, 3, whole=False)


def binary() -> tuple[Table, Workload]:
    """A mixture of four products over 100 binary attributes, and 20,000 cells of its 3-way marginals."""
    rng = np.random.default_rng(0)
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(100))
    chances = rng.beta(0.5, 0.5, (4, 100))[rng.integers(4, size=20_000)]
    scopes = (sorted(rng.choice(100, 3, replace=False).tolist()) for _ in range(20_000))
    cells = [Conjunction.where(domain, {f"x{a}": [int(rng.integers(2))] for a in scope}) for scope in scopes]
    return Table(domain, list((rng.random(chances.shape) < chances).astype(np.int64).T)), Workload.conjunctions(
        domain, cells
    )


def posed(table: Table, workload: Workload, samples: int) -> list[BestResponseProblem]:
    """Problems of a run of DualQuery."""
    recorder = Recorder()
    config = DualQuery(rounds=max(ROUNDS), samples=samples, oracle=recorder, seed=0)
    config.run(table, workload, ApproxDP(1.0, 1e-6), noise=SeededNoise(0))
    return [recorder.problems[t - 1] for t in ROUNDS]


def answers(oracle: Oracle, problems: list[BestResponseProblem]) -> tuple[list[Response], float]:
    """Responses, and CPU seconds per response."""
    start = time.process_time()
    found = [oracle.best(problem, 0) for problem in problems]
    return found, (time.process_time() - start) / len(problems)


def compared(name: str, table: Table, workload: Workload) -> Iterator[Row]:
    """Tabu search against the solver, for few, some and many samples."""
    for samples in (100, 500, 2500):
        problems = posed(table, workload, samples)
        ours, seconds = answers(TabuSearch(), problems)
        theirs, reference = answers(MixedInteger(SECONDS), problems)
        yield Row(f"{name}, {samples} samples, MixedInteger", seconds, reference, _note(ours, theirs))


def _note(ours: list[Response], theirs: list[Response]) -> str:
    proved = sum(response.proved for response in theirs)
    better = sum(their.value > our.value for our, their in zip(ours, theirs, strict=True))
    ratio = min(our.value / (their.bound or np.inf) for our, their in zip(ours, theirs, strict=True))
    values = ", ".join(f"{our.value:g} of at most {their.bound:g}" for our, their in zip(ours, theirs, strict=True))
    return f"{values}; ratio {ratio:.3f}; {proved} of {len(ours)} proved, {better} better than tabu search"


def rows() -> Iterator[Row]:
    """All rows, as they are done."""
    yield from compared("Adult-8 cells:3", *adult())
    yield from compared("100 binary cells", *binary())
