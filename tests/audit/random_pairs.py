"""Whole runs over several tables: parents with their children, and partitions of a series on a server.

They are drawn and checked as the runs on one table are (`random_runs`). A parent leaves or comes with all children. A
person of a series is in one partition, which pays for itself: there the ledger and the noise of a partition are held
against its own table, and those of the others may not move at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from hedgerow import MWEM, Children, IndependentNoise, Linked, OnlinePMW, SeededNoise, read_linked, release_linked
from hedgerow.algorithms import Algorithm
from hedgerow.domain import Domain, IntegerRange, domain_to_mapping
from hedgerow.errors import HedgerowError
from hedgerow.privacy import Budget
from hedgerow.queries import LinearQuery, Relation, Workload
from hedgerow.service import Registration, SessionWorkers, Store, answer_of, joined, open_series
from tests.audit.places import People, Places, with_filter
from tests.audit.random_runs import NEIGHBOURS, AnyRun, Run, Whims, drawn, drawn_budget, question, rows_of_person, shown
from tests.privacy.accountant import Witness

KEY, NAME = "home", "who"
Child = tuple[int, tuple[int, ...]]
"""The cell of a child, and the cells of its children."""
Home = tuple[int, tuple[Child, ...]]
"""The cell of a parent, and the children."""


@dataclass(frozen=True)
class LinkedRun:
    """One run on two tables with a key, or on three: children may have children.

    Attributes:
        number: What it was drawn from.
        algorithm: Runs on both.
        linked: Their domains, and the most children that are counted.
        budget: Of all together.
        options: Of ``release_linked``.
        violations: Whether children without a parent are left out.
        records: Parents, by their keys; those below 0 are missing, and leave children alone.
        whims: Whether noise is as unlikely as can be.
    """

    number: int
    algorithm: Algorithm
    linked: Linked
    budget: Budget
    options: Mapping[str, Any]
    violations: str
    records: Mapping[int, Home]
    whims: bool

    is_sampled = False

    @property
    def budgets(self) -> list[Budget]:
        return [self.budget]

    def __str__(self) -> str:
        return (
            f"run {self.number} on linked tables: {self.algorithm}, {self.linked.joined.shape}, {self.budget}, "
            f"{self.options}, {self.violations}, {self.records}"
        )

    def witnesses(self, scripts: Sequence[Any] | None = None) -> list[Witness]:
        inner = Whims(self.number) if self.whims else SeededNoise(self.number)
        return [Witness(inner) if scripts is None else Witness(script=scripts[0])]

    def neighbours(self) -> Iterator[Mapping[int, Home]]:
        rng = np.random.default_rng([self.number, 1])
        replaced = self.budget.neighbours.relation is Relation.REPLACE
        for _ in range(NEIGHBOURS):
            leaves, comes = (True, True) if replaced else rng.permutation([True, False])
            found = dict(self.records)
            if leaves:
                found.pop(int(rng.choice([key for key in found if key >= 0])))
            if comes:
                found[1 + max(self.records)] = _home(self.linked, rng)
            yield found

    def take(self, records: Any, places: Places, noise: Sequence[Witness]) -> list[Any]:
        homes = [(key, cell) for key, (cell, _) in records.items() if key >= 0]
        persons = {
            8 * key + place: (key, *child) for key, (_, own) in records.items() for place, child in enumerate(own)
        }
        people = [(key, cell) for key, cell, _ in persons.values()]
        jobs = [(who, cell) for who, (*_, cells) in persons.items() for cell in cells]
        linked = self.linked
        others = [_table(KEY, people, linked.children, 1, [*persons])]
        others += [_table(NAME, jobs, link.children, 2) for link in linked.more]
        try:
            read = read_linked(
                _table(KEY, homes, linked.parents, 0),
                others[0],
                linked,
                violations=self.violations,  # type: ignore[arg-type]
                more=others[1:],
            )
            found = release_linked(self.algorithm, read, linked, self.budget, noise=noise[0], **self.options)
            return [told for release in found.releases for told in shown(release)]
        except HedgerowError as error:
            return [type(error).__name__, str(error)]


def _table(
    key: str, rows: list[tuple[int, int]], domain: Domain, seed: int, names: list[int] | None = None
) -> pa.Table:
    """A table in the order of a seed, with the names of its rows where they have any."""
    order = np.random.default_rng(seed).permutation(len(rows))
    keys, cells = np.array(rows, dtype=np.int64).reshape(-1, 2)[order].T
    codes = np.unravel_index(cells, domain.shape)
    told = {
        key: keys,
        **({} if names is None else {NAME: np.array(names, dtype=np.int64)[order]}),
        **dict(zip(domain.names, codes, strict=True)),
    }
    return pa.table({each: pa.array(column) for each, column in told.items()})


def _home(linked: Linked, rng: np.random.Generator) -> Home:
    cells = rng.integers(linked.children.size, size=int(rng.integers(0, 6))).tolist()
    jobs = [
        rng.integers(linked.more[0].children.size, size=rng.integers(4)).tolist() if linked.more else () for _ in cells
    ]
    children = [(cell, tuple(own)) for cell, own in zip(cells, jobs, strict=True)]
    return int(rng.integers(linked.parents.size)), tuple(children)


def drawn_linked(number: int) -> LinkedRun:
    """The run of a number."""
    rng = np.random.default_rng([number, 2])
    parents = Domain(IntegerRange(name, 0, int(rng.integers(1, 4))) for name in "ab"[: rng.integers(1, 3)])
    children = Domain(IntegerRange(name, 0, int(rng.integers(1, 4))) for name in "xy"[: rng.integers(1, 3)])
    number_of = ("children", "n")[rng.integers(2)]
    order = (None, "x")[number // 10 % 2]
    second = (None, children.names[1:], ())[number // 20 % 3] if order else ()
    at_most = int(rng.integers(1, 4))
    named = {"key": KEY, "at_most": at_most, "number": number_of, "order": order, "second_order": second}
    jobs = Children(Domain([IntegerRange("z", 0, 2)]), NAME, int(rng.integers(1, 3)), "jobs", above=1)
    hung = ({}, {"order": "z"}, {"in_all": 2})[rng.integers(3)]
    more = [replace(jobs, **hung)] if rng.random() < 0.5 else []  # type: ignore[arg-type]
    linked = Linked.of(parents, children, more=more, **named)  # type: ignore[arg-type]
    algorithm = (MWEM(rounds=int(rng.integers(1, 4))), IndependentNoise())[rng.integers(2)]
    options: dict[str, Any] = {"share": float(rng.choice([0.3, 0.7]))}
    if rng.random() < 0.5 and not linked.tentative:
        below = [Workload.marginals(link.joined, 2) for link in linked.links]
        options["workloads"] = (Workload.marginals(linked.counted, 1), *below)
    violations = ("refuse", "drop")[rng.integers(2)]
    homes = {key: _home(linked, rng) for key in range(int(rng.integers(2, 30)))}
    homes |= {-1: _home(linked, rng)} if violations == "drop" else {}
    return LinkedRun(number, algorithm, linked, drawn_budget(rng), options, violations, homes, bool(rng.random() < 0.5))


@dataclass(frozen=True)
class SeriesRun:
    """Questions about partitions together, on a server.

    Attributes:
        number: What it was drawn from.
        partitions: A run for each: its domain, its budget, its settings, its reading; the domain is that of the first.
        questions: About all of them.
        asked: Which partitions each is about.
        records: What persons of each partition have.
    """

    number: int
    partitions: tuple[Run, ...]
    questions: tuple[LinearQuery, ...]
    asked: tuple[tuple[int, ...], ...]
    first_release: float
    records: tuple[People, ...]

    is_sampled = False

    @property
    def budgets(self) -> list[Budget]:
        return [each.budget for each in self.partitions]

    def __str__(self) -> str:
        return f"run {self.number} on a series, {self.asked}: {'; '.join(map(str, self.partitions))}"

    def witnesses(self, scripts: Sequence[Any] | None = None) -> list[Witness]:
        inner = [Whims if each.whims else SeededNoise for each in self.partitions]
        if scripts is None:
            return [Witness(kind(self.number + i)) for i, kind in enumerate(inner)]
        return [Witness(script=script) for script in scripts]

    def neighbours(self) -> Iterator[tuple[People, ...]]:
        """One person of one partition is another one, or leaves, or comes."""
        for i, each in enumerate(self.partitions):
            for changed in list(each.neighbours())[:2]:
                yield (*self.records[:i], changed, *self.records[i + 1 :])

    def take(self, records: Any, places: Places, noise: Sequence[Witness]) -> list[Any]:
        folder = places.new()
        names = [f"part-{i}" for i in range(len(self.partitions))]
        store = Store.open(folder / "store.db")
        workers = SessionWorkers(store, folder, noise=lambda name: noise[names.index(name)], tick=0.0)
        told: list[Any] = []
        try:
            ada = store.add_person("ada", "custodian", by=None)
            for name, each, people in zip(names, self.partitions, records, strict=True):
                pyarrow.parquet.write_table(people.table(with_filter(each.workload.domain)), folder / f"{name}.parquet")
                workers.register(self._registration(name, each), by=ada)
            (series,) = open_series(store.data_sets(), lambda _: True)
            told.append(series.statement)
            for question_, asked in zip(self.questions, self.asked, strict=True):
                with suppress(HedgerowError):
                    chosen = series.of([names[i] for i in asked])
                    answers = {each.name: workers.ask(each, [question_], person=ada) for each in chosen}
                    told += joined({name: [answer_of(name, *found)] for name, found in answers.items()}, 0.9)
        except HedgerowError as error:
            told += [type(error).__name__, str(error)]
        finally:
            workers.close()
            store.close()
        return [_plain(each) for each in told]

    def _registration(self, name: str, run: Run) -> Registration:
        reading = {key: value for key, value in run.reading.items() if key != "extra_columns"}
        source = {"place": f"{name}.parquet", "columns": list(run.workload.domain.names), "series": "all", **reading}
        assert isinstance(run.algorithm, OnlinePMW)
        return Registration(
            name,
            "",
            source | ({"first_release": self.first_release} if self.first_release else {}),
            domain_to_mapping(run.workload.domain),
            run.budget.to_dict(),
            run.algorithm.parameters(),
        )


def _plain(told: Any) -> Any:
    """An answer without its time."""
    return told if isinstance(told, str) else (told.where, told.value, told.low, told.high, told.charged)


def drawn_series(number: int) -> SeriesRun:
    """The run of a number: a session is drawn, and others beside it with other budgets and other people."""
    rng = np.random.default_rng([number, 3])
    while True:
        run = drawn(int(rng.integers(2**31)) * 2, places=("parquet",))  # without a rule, which needs a file of its own
        if run.questions and run.earlier is None and persons_fit(run):
            break
    parts = []
    for i in range(int(rng.integers(2, 4))):
        people = (
            run.records
            if i == 0
            else People(
                {j: rows_of_person(rng, run.workload.domain, run.reading) for j in range(int(rng.integers(2, 30)))}
            )
        )
        parts.append(replace(run, number=number + i, records=people))
    questions = tuple(question(run.workload.domain, rng) for _ in range(int(rng.integers(3, 8))))
    some = [np.flatnonzero(rng.random(len(parts)) < 0.7).tolist() or [0] for _ in questions]
    first = float(rng.choice([0.0, 0.3]))
    return SeriesRun(number, tuple(parts), questions, tuple(map(tuple, some)), first, tuple(p.records for p in parts))


def persons_fit(run: Run) -> bool:
    """Whether it is a run that a server registers."""
    return "count_column" not in run.reading and isinstance(run.algorithm, OnlinePMW)


def any_run(number: int) -> AnyRun:
    """The run of a number: on linked tables or on a series every tenth time each, else on one table."""
    kinds = {0: drawn_linked, 5: drawn_series}
    return kinds.get(number // 2 % 10, drawn)(number)  # type: ignore[operator]
