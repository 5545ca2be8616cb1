"""A tree of tables against independent draws: ``python -m benchmarks trees [--half reported]``.

Households, their persons and the jobs of these, by generated laws: a job's sector follows the household's region and
the person's education, its hours the person's age and the household's tenure. Told are distances (total variation) from
the real tables: pairs of columns within a table; of a person's and a household's column, a job's and a person's, and a
job's and a household's (across two levels); the sectors of two jobs of a person in a row; and the number of jobs of a
household.

Beside a tree stand *independent draws*: the same three tables as single releases between which nothing is known, each
child given to a parent at random, with the same budget and the released numbers of children. Shares of the budget were
compared on ``offices``; ``farms`` (other laws, more persons) and ``clinics`` (an order among the jobs of a person, two
in a row being alike) are reported.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pyarrow as pa

from hedgerow import (
    MWEM,
    ApproxDP,
    Children,
    Domain,
    IntegerRange,
    Linked,
    SeededNoise,
    Workload,
    read_linked,
    release_linked,
)
from hedgerow.algorithms.shared import budgets_of
from hedgerow.arrays import Floats, Ints

FIGURES = ("within", "1-0", "2-1", "2-0", "next", "jobs/home")
Tables = tuple[dict[str, Ints], dict[str, Ints], dict[str, Ints]]
"""Columns of homes, persons (with ``home``) and jobs (with ``person``), whose parents are told by their places."""


@dataclass(frozen=True)
class Tree:
    """Three tables, and how they hang together.

    Attributes:
        tables: Their columns.
        sizes: The number of values of each column, table by table.
        at_most: Persons of a home and jobs of a person that count.
        order: Column of the jobs by which those of a person are ordered.
        in_all: Jobs of a home that count; as many as the bounds allow for None.
    """

    tables: Tables
    sizes: tuple[dict[str, int], dict[str, int], dict[str, int]]
    at_most: tuple[int, int]
    order: str | None = None
    in_all: int | None = None

    def linked(self, *, order: bool = True) -> Linked:
        """The description of the tree."""
        homes, persons, jobs = (Domain(IntegerRange(name, 0, n - 1) for name, n in each.items()) for each in self.sizes)
        most, most_jobs = self.at_most
        ordered = self.order if order else None
        below = Children(jobs, "person", most_jobs, "jobs", ordered, above=1, in_all=self.in_all)
        return Linked.of(homes, persons, key="home", at_most=most, number="persons", more=[below])

    def arrow(self) -> list[pa.Table]:
        """The tables with their keys."""
        homes, persons, jobs = (dict(each) for each in self.tables)
        homes = {"home": np.arange(len(homes["region"])), **homes}
        persons = {"person": np.arange(len(persons["home"])), **persons}
        return [pa.table({name: pa.array(column) for name, column in each.items()}) for each in (homes, persons, jobs)]


def generated(n: int, seed: int, persons: float = 1.6, jobs: float = 0.9, order: str | None = None) -> Tree:
    """Homes with persons and jobs by drawn laws."""
    rng = np.random.default_rng(seed)

    def law(values: int, *given: int) -> Floats:
        return rng.dirichlet(np.full(values, 0.4), given)

    def draw(table: Floats, *given: Ints) -> Ints:
        return np.minimum(
            table.shape[-1] - 1, (table[given].cumsum(axis=-1) < rng.random(len(given[0]))[:, None]).sum(axis=1)
        )

    sizes = {"region": 6, "tenure": 3}, {"age": 5, "education": 4, "sex": 2}, {"sector": 6, "hours": 4}
    region, tenure = rng.integers(6, size=n), np.zeros(n, dtype=np.int64)
    tenure = draw(law(3, 6), region)
    home = np.repeat(np.arange(n), np.minimum(5, 1 + rng.poisson(persons * (0.5 + tenure / 2))))
    age = draw(law(5, 3), tenure[home])
    education, sex = draw(law(4, 5, 6), age, region[home]), rng.integers(2, size=len(home))
    person = np.repeat(np.arange(len(home)), np.minimum(3, rng.poisson(jobs * (0.3 + 0.35 * age))))
    sector = draw(law(6, 6, 4), region[home[person]], education[person])
    if order is not None:
        again = np.concatenate([[False], (person[1:] == person[:-1]) & (rng.random(len(person) - 1) < 0.6)])
        for place in np.flatnonzero(again):
            sector[place] = sector[place - 1]
    columns = {"sector": sector, "hours": draw(law(4, 5, 3), age[person], tenure[home[person]])}
    if order is not None:
        place = np.arange(len(person)) - np.searchsorted(person, person)
        columns, sizes = {order: place, **columns}, (sizes[0], sizes[1], {order: 3, **sizes[2]})
    persons_of = {"home": home, "age": age, "education": education, "sex": sex}
    return Tree(({"region": region, "tenure": tenure}, persons_of, {"person": person, **columns}), sizes, (5, 3), order)


TREES = {
    "offices": lambda: generated(8000, 1),
    "farms": lambda: generated(12000, 7, persons=2.2, jobs=0.6),
    "clinics": lambda: generated(10000, 13, order="place"),
}
TUNED = ("offices",)
SHARES: dict[str, float | tuple[float, float]] = {
    "": 0.3,
    ", shares .2, .3": (0.2, 0.3),
    ", shares .4, .3": (0.4, 0.3),
}


def figures(tree: Tree, tables: Tables) -> list[Floats]:
    """Tables of sum 1 by figure, each several beside each other."""
    homes, persons, jobs = tables
    home, person = persons["home"], jobs["person"]
    beside = [
        {name: homes[name] for name in tree.sizes[0]},
        {name: persons[name] for name in tree.sizes[1]},
        {name: jobs[name] for name in tree.sizes[2]},
    ]
    rows = {(1, 0): home, (2, 1): person, (2, 0): home[person]}

    def pair(low: int, one: str, high: int, other: str) -> Floats:
        above = beside[high][other] if high == low else beside[high][other][rows[low, high]]
        cells = tree.sizes[low][one] * tree.sizes[high][other]
        found = np.bincount(beside[low][one] * tree.sizes[high][other] + above, minlength=cells)
        return found / max(1, found.sum())

    within = [
        pair(level, one, level, other)
        for level in range(3)
        for one, other in product(tree.sizes[level], repeat=2)
        if one < other
    ]
    across = [
        [pair(low, one, high, other) for one in tree.sizes[low] for other in tree.sizes[high]]
        for low, high in ((1, 0), (2, 1), (2, 0))
    ]
    of_home = np.bincount(np.bincount(home[person], minlength=len(homes["region"])), minlength=16)
    order = np.lexsort((jobs[tree.order], person)) if tree.order else np.argsort(person, kind="stable")
    sector, values = jobs["sector"][order], tree.sizes[2]["sector"]
    follows = person[order][1:] == person[order][:-1]
    following = np.bincount((values * sector[:-1] + sector[1:])[follows], minlength=values**2)
    single = [[following / max(1, following.sum())], [of_home / of_home.sum()]]
    return [np.concatenate(each) / len(each) for each in (within, *across, *single)]


def drawn(tree: Tree, epsilon: float, seed: int, share: float | tuple[float, float], *, order: bool = True) -> Tables:
    """Synthetic tables of a tree."""
    linked = tree.linked(order=order)
    homes, persons, jobs = tree.arrow()
    read = read_linked(homes, persons, linked, more=[jobs])
    made = release_linked(MWEM(), read, linked, ApproxDP(epsilon, 1e-9), share=share, noise=SeededNoise(seed))
    found = [
        {name: each[name].to_numpy() for name in each.column_names}
        for each in (r.to_arrow() for r in made.sample(seed=seed))
    ]
    found[1]["home"], found[2]["person"] = found[1]["home"] - 1, found[2]["person"] - 1
    return found[0], found[1], found[2]


def apart(tree: Tree, epsilon: float, seed: int) -> Tables:
    """The same tables as single releases of their own columns, of the same budgets; parents are drawn at random."""
    linked, rng = tree.linked(order=False), np.random.default_rng(seed)
    homes, persons, jobs = tree.arrow()
    read = read_linked(homes, persons, linked, more=[jobs])
    own = [["region", "tenure", "persons"], [*tree.sizes[1], "jobs"], [*tree.sizes[2]]]
    found = []
    for table, names, budget in zip(read, own, budgets_of(linked, ApproxDP(epsilon, 1e-9)), strict=True):
        part = table.over(table.domain.project(names))
        made = MWEM().run(part, Workload.marginals(part.domain, 2), budget, noise=SeededNoise(seed))
        found.append({name: column for name, column in zip(names, made.sample(seed=seed).codes.T, strict=True)})
    found[1]["home"] = _parents(rng, found[0]["persons"], len(found[1]["age"]))
    found[2]["person"] = _parents(rng, found[1]["jobs"], len(found[2]["hours"]))
    return found[0], found[1], found[2]


def _parents(rng: np.random.Generator, numbers: Ints, n: int) -> Ints:
    """A parent for each child: as many as the numbers say, cut or filled up to so many, in random order."""
    places = rng.permutation(np.repeat(np.arange(len(numbers)), numbers))
    return np.resize(places, n)


def compared(
    tree: Tree, epsilons: Sequence[float], seeds: int, shares: dict[str, float | tuple[float, float]]
) -> dict[str, Floats]:
    """Mean distances of each way, in the order of FIGURES."""
    real = figures(tree, tree.tables)

    def mean(ways: Sequence[Tables]) -> Floats:
        far = [[0.5 * np.abs(x - y).sum() for x, y in zip(real, figures(tree, way), strict=True)] for way in ways]
        return np.mean(far, axis=0)

    told = {}
    for epsilon in epsilons:
        told[f"independent draws, epsilon {epsilon:g}"] = mean([apart(tree, epsilon, seed) for seed in range(seeds)])
        for name, share in shares.items():
            told[f"tree, epsilon {epsilon:g}{name}"] = mean(
                [drawn(tree, epsilon, seed, share) for seed in range(seeds)]
            )
        if tree.order is not None:
            without = [drawn(tree, epsilon, seed, 0.3, order=False) for seed in range(seeds)]
            told[f"tree without order, epsilon {epsilon:g}"] = mean(without)
    return told


def main(arguments: Sequence[str]) -> None:
    """Print the distances."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks trees", description=__doc__)
    parser.add_argument("--half", choices=("tuning", "reported"), default="tuning")
    parser.add_argument("--epsilons", default="1,3,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--in-all", type=int, help="jobs of a home that count; leaves out the table with an order")
    options = parser.parse_args(arguments)
    print(f"{'table':8} {'what':34} " + " ".join(f"{name:>9}" for name in FIGURES))
    for name in (name for name in TREES if (name in TUNED) is (options.half == "tuning")):
        began, tree, shares = time.process_time(), TREES[name](), {**SHARES} if name in TUNED else {"": 0.3}
        if options.in_all is not None and tree.order is not None:
            continue
        tree = replace(tree, in_all=options.in_all)
        epsilons = [float(each) for each in options.epsilons.split(",")]
        for what, found in compared(tree, epsilons, options.seeds, shares).items():
            print(f"{name:8} {what:34} " + " ".join(f"{each:9.4f}" for each in found), flush=True)
        counts = ", ".join(f"{len(next(iter(each.values()))):,}" for each in tree.tables)
        print(f"{name:8} {counts} records, {time.process_time() - began:.0f} CPU seconds", flush=True)
