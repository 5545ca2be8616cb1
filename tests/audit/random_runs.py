"""Whole runs drawn at random, over everything that can be combined, and what must hold of each.

A `Run` is drawn from one number: an algorithm of the registry with options, perhaps with a prior, or an online session
with questions that is saved and restored on the way, perhaps from an earlier release; a domain, some of it to be learnt
or taken from the types of the table; a workload of several families with odd weights; a budget of any regime under
either relation, between records or between persons with several, weighted ones too; a filter (a condition, or a rule
that rows are left out by) or none; a place for the table; and noise that is as it comes, or as unlikely as can be.
`random_pairs` draws linked tables and series likewise. `check` takes a run, holds its calls against its ledgers, and
takes it again on neighbouring tables (`accountant`).

To see one again: ``check(drawn(number), Places(folder))``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from hedgerow import MWEM, DualQuery, IndependentNoise, OfflinePMW, OnlinePMW, OnlineSession, Prior, read_public
from hedgerow.algorithms import (
    ENTRIES,
    Algorithm,
    Need,
    PositionTargets,
    budget_with_thresholds,
    learn_domain,
    needed_steps,
    with_verdicts,
)
from hedgerow.arrays import Floats, Ints
from hedgerow.audit.composition import delta_of
from hedgerow.data import ReadOptions, automatic_domain, read_labels
from hedgerow.domain import Binned, Domain, IntegerRange, OpenDomain
from hedgerow.errors import HedgerowError
from hedgerow.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Budget,
    Curator,
    LedgerView,
    NoiseSource,
    PureDP,
    Regime,
    SeededNoise,
    Subsampled,
    budget_for as budget_for_table,
)
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Marginal, Neighbours, NoiseKind, Workload
from hedgerow.release import Criteria, Criterion, Release
from tests.audit.places import (
    COUNT,
    FILTER,
    KEPT,
    OFTEN,
    PLACES,
    WHO,
    People,
    Places,
    is_ruled,
    persons_in,
    ruled,
    with_filter,
)
from tests.data.sources import duckdb_file, one_csv, one_parquet
from tests.privacy.accountant import (
    Witness,
    books_of,
    deltas_stay_within,
    is_to_be_drawn,
    listening,
    moved_within,
    settle,
)

SHAPES = ((2, 2, 2), (2, 3), (5, 2), (7,), (3, 2, 2), (2, 2, 2, 2))
WEIGHTS = (1.0, 39.0, 0.37, 1e-3, 1000.1)
RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
SESSIONS = 3
"""Online sessions are drawn so many times as often as each algorithm of the registry."""
NEIGHBOURS = 4
"""So many of each run, drawn at random."""
FINE, WIDE = 31, 150
"""The last whole number of a range whose bins are learnt, and of one for which its type and its bounds say so."""


class AnyRun(Protocol):
    """What `check` needs of a run."""

    number: int
    records: Any

    @property
    def is_sampled(self) -> bool:
        """Whether it is run on a secret sample: of which records, is not replayed."""
        ...

    @property
    def budgets(self) -> list[Budget]:
        """What its ledgers may spend together, for each of its witnesses."""
        ...

    def witnesses(self, scripts: Sequence[Any] | None = None) -> list[Witness]:
        """Sources of noise, one for each table that is protected by itself."""
        ...

    def neighbours(self) -> Iterator[Any]:
        """Some neighbours of its private records."""
        ...

    def take(self, records: Any, places: Places, noise: Sequence[Witness]) -> list[Any]:
        """Everything that the run shows; an error is shown too."""
        ...


@dataclass(frozen=True)
class Run:
    """One run on one table.

    Attributes:
        number: What it was drawn from.
        algorithm: What is run.
        workload: What it is run on; what a session is asked about.
        budget: What may be spent, under a relation.
        place: Where the table lies.
        reading: How it is read: the filter, persons, weights, the column of counts.
        records: What persons have.
        whims: Whether noise is as unlikely as can be.
        questions: Of a session; none for another algorithm.
        earlier: What an earlier release was made with, which the session starts from.
        learning: What is to be learnt of the domain, as a domain file has it; None for nothing.
        is_automatic: Whether the domain file is made from names, bounds and types alone.
    """

    number: int
    algorithm: Algorithm | OnlinePMW
    workload: Workload
    budget: Budget
    place: str
    reading: Mapping[str, Any]
    records: People
    whims: bool
    questions: tuple[LinearQuery, ...] = ()
    earlier: Budget | None = None
    learning: OpenDomain | None = None
    is_automatic: bool = False

    @property
    def is_sampled(self) -> bool:
        return isinstance(self.budget, Subsampled)

    @property
    def budgets(self) -> list[Budget]:
        return [self.budget]

    @property
    def is_ruled(self) -> bool:
        """Whether its domain has a rule, which rows are left out by if they are."""
        return is_ruled(self.workload.domain)

    @property
    def is_filtered(self) -> bool:
        """Whether rows are left out by what they hold."""
        return "where" in self.reading or self.reading.get("violations") == "drop"

    def __str__(self) -> str:
        """All that is needed to see what it is."""
        asked = f", {len(self.questions)} questions" if self.questions else ""
        asked += f", from a release with {self.earlier}" if self.earlier else ""
        asked += (
            f", {'types say' if self.is_automatic else 'learns'} {self.learning.fine.names}" if self.learning else ""
        )
        return (
            f"run {self.number}: {self.algorithm} on {self.workload.spec or self.workload} over "
            f"{dict(zip(self.workload.domain.names, self.workload.domain.shape, strict=True))}, {self.budget}, "
            f"{self.place} read by {dict(self.reading)}{asked}, {self.records}"
        )

    def witnesses(self, scripts: Sequence[Any] | None = None) -> list[Witness]:
        inner = Whims(self.number) if self.whims else SeededNoise(self.number)
        return [Witness(inner) if scripts is None else Witness(script=scripts[0])]

    def neighbours(self) -> Iterator[People]:
        """One person leaves, or another one comes, or both, with all records."""
        rng = np.random.default_rng([self.number, 1])
        replaced = self.budget.neighbours.relation == Neighbours.REPLACE.relation
        leaving = [who for who in self.records.rows if who not in self.staying]
        for _ in range(NEIGHBOURS):
            leaves, comes = (True, True) if replaced else rng.permutation([True, False])
            found = self.records
            if leaves:
                found = found.without(int(rng.choice(leaving)))
            yield found.beside(rows_of_person(rng, self.workload.domain, self.reading)) if comes else found

    @property
    def staying(self) -> range:
        """Persons who never leave, where labels are learnt: a label that nobody has any more is a matter of delta."""
        return range(0 if self.learning is None else 3 * 2 * self.workload.domain.size)

    def release(self, places: Places) -> Release | None:
        """The earlier release."""
        if self.earlier is None:
            return None
        source = places.open(self.place, self.records, self.workload.domain, self.reading)
        workload = Workload.marginals(self.workload.domain, 1)
        return IndependentNoise().run(source, workload, self.earlier, noise=SeededNoise(self.number))

    def take(self, records: People, places: Places, noise: Sequence[Witness]) -> list[Any]:
        try:
            if self.learning is not None:
                return self._learning(self.learning, records, places, noise[0])
            source = places.open(self.place, records, self.workload.domain, self.reading)
            if isinstance(self.algorithm, OnlinePMW):
                warm = self.release(places)
                return self._asked(
                    self.algorithm.start(source, self.budget, noise=noise[0], warm=warm), source, noise[0], places
                )
            return shown(self.algorithm.run(source, self.workload, self.budget, noise=noise[0]))
        except HedgerowError as error:
            return [type(error).__name__, str(error)]

    def _learning(self, wanted: OpenDomain, records: People, places: Places, noise: NoiseSource) -> list[Any]:
        """Learns a domain and goes on in it, as ``synthesize`` does."""
        assert not isinstance(self.algorithm, OnlinePMW)
        read = self._reader(records, places)
        if self.is_automatic:
            names = self.workload.domain.names
            types = {names[0]: "int"} if self.number % 2 else {}  # as the bounds have it
            wanted = OpenDomain(automatic_domain(read(None), bounds=self.bounds, types=types, columns=names))
        budget = budget_with_thresholds(self.budget, wanted)
        fine = read(wanted.fine)
        first = Curator(fine, budget_for_table(budget, fine), noise=noise)
        labels = read(wanted) if wanted.values else None
        known = learn_domain(first, wanted, labels)
        table = read(known)
        second = Curator(table, budget_for_table(budget, table), noise=noise, events=first.ledger.events)
        found = list[Any]()
        form = "moments" if self.number % 2 else "means"
        asked = "; ".join(f"{form}:{known.names[0]} by {name}" for name in _apart(known)[: self.asks_means])
        targets = PositionTargets.of(known, second.budget, asked or None)
        if targets.counted is not None and not self.leaves_out:
            inside = read(targets.counted)
            third = Curator(inside, budget_for_table(budget, inside), noise=noise, events=first.ledger.events)
            found = [each.values.tolist() for each in targets.measure(third)]
            second = Curator(table, budget_for_table(budget, table), noise=noise, events=third.ledger.events)
        if self.asks_needs:
            steps = needed_steps([Need(known.names[-1], None, (Marginal(known, known.names[-1:]),))], second.budget)
            found += [each.values.tolist() for each in second.measure_all(steps, label="need")]
        workload = Workload.marginals(known, min(2, len(known)))
        charge = 0.1 * second.ledger.remaining if self.asks_criteria else 0.0
        with second.setting_aside(charge):
            made = self.algorithm.run_with(second, workload)
        if self.asks_criteria:
            made = with_verdicts(second, made, Criteria((Criterion("table", known.names[0], 0.1),)), charge)
            found.append([each.error.value for each in made.verdicts])
        return [known.shape, found, *shown(made)]

    @property
    def asks_means(self) -> bool:
        """Whether means of the first column are asked for by the values of another one."""
        return self.learning is not None and self.number % 3 == 0

    @property
    def asks_needs(self) -> bool:
        """Whether the counts of the last column must have an interval."""
        return self.learning is not None and self.number % 4 == 1

    @property
    def asks_criteria(self) -> bool:
        """Whether the table of the first column must hold a criterion."""
        return self.learning is not None and self.number % 5 == 2

    @property
    def leaves_out(self) -> bool:
        """Whether records that break a rule are left out, so that positions in bins are not measured."""
        return self.reading.get("violations") == "drop"

    def _reader(self, records: People, places: Places) -> Any:
        """Reads the table in a domain; its labels for a domain that is open; for None it says where the table lies."""
        rows = records.table(with_filter(self.workload.domain))
        if self.has_labels:  # which are texts
            name = self.workload.domain.names[1]
            texts = pa.array([f"v{code}" for code in rows[name].to_pylist()])
            rows = rows.set_column(rows.column_names.index(name), name, texts)

        def read(domain: Domain | OpenDomain | None) -> Any:
            if isinstance(domain, Domain):
                return places.known[self.place](rows, domain, self.reading, places.new())
            source: Any = rows
            if self.place != "memory":
                put = {"csv": one_csv, "duckdb": duckdb_file}.get(self.place, one_parquet)
                source = str(put(rows, places.new())[0])
            if domain is None:
                return source
            how = dict(self.reading)
            if self.place == "memory" and how.pop("where", None):
                source = rows.filter(pa.compute.equal(rows.column(KEPT), 1))
            return read_labels(source, domain, ReadOptions(**how))

        return read

    @property
    def has_labels(self) -> bool:
        """Whether labels of the second column are to be learnt, for which only (epsilon, delta) has a delta."""
        return self.learning is not None and isinstance(self.budget, ApproxDP) and len(self.workload.domain) > 1

    @property
    def bounds(self) -> dict[str, tuple[str, str]]:
        """Bounds for a domain from the types of columns: of the first one such that there are bins to be learnt."""
        first, *others = _sizes(self.workload.domain)
        found = {first[0]: ("0", str(WIDE)), **{name: ("0", str(size - 1)) for name, size in others}}
        return {name: ends for name, ends in found.items() if not (self.has_labels and name == others[0][0])}

    def _asked(self, session: OnlineSession, source: Any, noise: NoiseSource, places: Places) -> list[Any]:
        """Answers of a session that is saved and restored in the middle."""
        told: list[Any] = []
        for at, question in enumerate(self.questions):
            if at == len(self.questions) // 2:
                path = places.folder / f"session-{self.number}"
                session.save(path)
                session = OnlineSession.restore(path, source, noise=noise)
            with suppress(HedgerowError):
                told.append(session.ask(question))
        return told


def shown(release: Release) -> list[Any]:
    """What a release holds, but for when it was made."""
    cells = release.model.marginals([release.domain.names])[0]
    measured = [(each.target.text, each.values.tolist(), each.scale) for each in release.measurements]
    return [release.total, cells.tolist(), [event.to_dict() for event in release.events], measured, release.error]


class Whims:
    """Noise of no law: any outputs, so that a run is taken through corners that are hardly ever met.

    What it shows of privacy does not depend on how likely an output is: the cost of a draw is the largest over all.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._inner = SeededNoise(seed)

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Ints, scale: float) -> Ints:
        wild = self._generator.standard_cauchy(len(values)) * min(scale, 2.0**40) * self._generator.choice([0, 1, 30])
        return values + np.clip(np.rint(wild), -(2.0**50), 2.0**50).astype(np.int64)

    gaussian = laplace

    def choose(self, scores: Floats, scale: float) -> int:
        return int(self._generator.integers(len(scores)))

    permute_and_flip = choose

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        return self._generator.integers(len(scores), size=size)

    def random_bytes(self, size: int) -> bytes:
        return self._generator.bytes(size)

    def secret(self, scale: float) -> int:
        return int(self.laplace(np.zeros(1, dtype=np.int64), scale)[0])

    def exceeds(self, margin: int, scale: float) -> bool:
        return bool(self._generator.random() < 0.4)


# ---- drawing one -----------------------------------------------------------------------------------------------------


def drawn(number: int, places: Sequence[str] = ("dense", *PLACES)) -> Run:
    """The run of a number; those that are refused before any data are drawn anew."""
    rng = np.random.default_rng(number)
    which = int(rng.integers(len(ENTRIES) + SESSIONS))
    while True:
        with suppress(HedgerowError):
            run = _drawn(number, which, rng, places)
            if not isinstance(run.algorithm, OnlinePMW):
                budget = run.budget if run.learning is None else budget_with_thresholds(run.budget, run.learning)
                run.algorithm.check(run.workload, budget.regime)
            return run


def _drawn(number: int, which: int, rng: np.random.Generator, places: Sequence[str]) -> Run:
    shape = SHAPES[rng.integers(len(SHAPES))]
    domain = Domain(IntegerRange("abcd"[i], 0, size - 1) for i, size in enumerate(shape))
    domain = ruled(domain) if number % 2 else domain
    workload = _family(domain, rng)
    for _ in range(rng.integers(3)):
        workload += _family(domain, rng)
    algorithm = _session(rng) if which >= len(ENTRIES) else _configured(which, domain, rng)
    if rng.random() < 0.5:
        workload = workload.by_query()
    if isinstance(algorithm, OfflinePMW):
        workload = Workload(workload.families)  # its promise is the same for all queries
    budget, whims, more = drawn_budget(rng), bool(rng.random() < 0.5), rng.random() < 0.3
    reading = _reading(domain, rng, records=rng.random() < 0.5)
    place = str(rng.choice([each for each in places if _can_read(each, reading)]))
    run = Run(number, algorithm, workload, budget, place, reading, _people(domain, reading, rng), whims)
    if isinstance(algorithm, OnlinePMW):
        asked = tuple(question(domain, rng) for _ in range(rng.integers(4, 14)))
        return replace(run, questions=asked, earlier=_part_of(budget, rng) if more else None)
    if isinstance(algorithm, DualQuery) and more and budget.neighbours.public_total and not set(reading) & set(_APART):
        total = run.records.records
        place = ("memory", "weights")[rng.integers(2)]  # others cannot be sampled
        return replace(run, budget=Subsampled(budget, max(1, total // 2), total, 1e-6), place=place)
    if isinstance(algorithm, MWEM | IndependentNoise) and rng.random() < 0.4:
        return _learning(run, Domain(domain.attributes), rng)
    return run


_APART = ("where", "violations", "person", "weight")


def _can_read(place: str, reading: Mapping[str, Any]) -> bool:
    """Whether a table in a place can be read so."""
    if place == "dense":
        return persons_in(reading) is None and "count_column" not in reading
    return place != "weights" or (persons_in(reading) is None and "count_column" not in reading)


def _reading(domain: Domain, rng: np.random.Generator, *, records: bool) -> dict[str, Any]:
    """How a table is read: every other one has a record for each person, of weight 1."""
    found: dict[str, Any] = {"extra_columns": "ignore"}
    if rng.random() < 0.4:
        found |= {"violations": "drop"} if is_ruled(domain) else {"where": FILTER}
    if records:
        return found | ({"count_column": COUNT} if rng.random() < 0.15 else {})
    kinds = ({"person": WHO, "at_most": int(rng.integers(1, 4))}, {"weight": OFTEN, "largest_weight": 3})
    chosen = int(rng.integers(1, 4))
    return found | (kinds[0] if chosen & 1 else {}) | (kinds[1] if chosen & 2 else {})


def rows_of_person(rng: np.random.Generator, domain: Domain, reading: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """The records of a person who comes, perhaps more than are counted, and weights that are larger than counts."""
    n = int(rng.integers(1, 7)) if "person" in reading else 1
    weights = rng.integers(0, 6, n) if "weight" in reading else np.ones(n, dtype=int)
    cells = rng.integers(2 * domain.size, size=n) if rng.random() < 0.7 else np.full(n, rng.integers(2 * domain.size))
    return tuple(zip(cells.tolist(), weights.tolist(), strict=True))


def _people(domain: Domain, reading: Mapping[str, Any], rng: np.random.Generator) -> People:
    counts = rng.choice([0, 0, 1, 2, 6, 40], 2 * domain.size)
    counts[:2] += 1
    if persons_in(reading) is None:
        return People.alone(np.repeat(np.arange(counts.size), counts))
    return People({number: rows_of_person(rng, domain, reading) for number in range(int(rng.integers(2, 40)))})


def _apart(domain: Domain) -> list[str]:
    """Columns without bins, if the first one has some."""
    first, *others = domain
    return [each.name for each in others if not isinstance(each, Binned)] if isinstance(first, Binned) else []


def _learning(run: Run, domain: Domain, rng: np.random.Generator) -> Run:
    """The run in a domain that is learnt: bins of the first column, labels or a public list of the second."""
    labels = isinstance(run.budget, ApproxDP)
    automatic = bool(rng.random() < 0.4)
    wish = {"min": 0, "max": FINE, "whole": True, "bins": {"learn": int(rng.integers(2, 5))}}
    entries: dict[str, Any] = {name: {"min": 0, "max": size - 1} for name, size in _sizes(domain)}
    entries[domain.names[0]] = wish | ({"points": [0]} if rng.random() < 0.3 else {})
    if len(domain) > 1:
        listed: dict[str, Any] = {"learn": 3} if labels else {"learn": 2, "of": list(range(domain.shape[1]))}
        entries[domain.names[1]] = {"values": listed}
    reading = {name: value for name, value in run.reading.items() if name not in ("count_column", "violations")}
    present = [((cell, 1),) for cell in range(2 * domain.size)] * 3
    people = People(dict(enumerate([*present, *_people(domain, reading, rng).rows.values()])))
    wanted = OpenDomain({"attributes": entries})
    return replace(
        run,
        workload=Workload.marginals(domain, 1),
        place=str(rng.choice(["memory", "parquet", "csv", "duckdb"])),
        reading=reading,
        records=people,
        learning=wanted,
        is_automatic=automatic,
    )


def _sizes(domain: Domain) -> list[tuple[str, int]]:
    return list(zip(domain.names, domain.shape, strict=True))


def drawn_budget(rng: np.random.Generator) -> Budget:
    relation = RELATIONS[rng.integers(2)]
    amount = float(rng.choice([1e-3, 0.3, 1.0, 30.0]))
    approximate = ApproxDP(amount, 1e-6, relation, list(Regime)[rng.integers(3)])
    return (PureDP(amount, relation), ZCDP(amount, relation), GDP(amount, relation), approximate)[rng.integers(4)]


def _part_of(budget: Budget, rng: np.random.Generator) -> Budget:
    """A smaller budget, pure or in the same unit: a pure release can be charged to either kind of ledger."""
    if rng.random() < 0.5 or budget.unit == "epsilon":
        return PureDP(0.3 * budget.limit, budget.neighbours)
    return (GDP if budget.regime is Regime.GDP else ZCDP)(0.3 * budget.limit, budget.neighbours)


def _family(domain: Domain, rng: np.random.Generator) -> Workload:
    order = int(rng.integers(1, min(3, len(domain)) + 1))
    name = domain.names[rng.integers(len(domain))]
    size = domain[name].size
    rows = rng.choice([0.0, 1.0, 0.25, 1 / 3, -0.7, 3.0], (3, size))
    rows[:, 0] += 0.5
    kinds = [
        lambda: Workload.marginals(domain, order),
        lambda: Workload.marginals(domain, order, whole=False),
        lambda: Workload.prefixes(domain, name),
        lambda: Workload.ranges(domain, [name], 4, seed=int(rng.integers(99))),
        lambda: Workload.conjunctions(domain, [_condition(domain, rng) for _ in range(4)]),
        lambda: Workload.explicit(domain, (name,), rows),
        lambda: Workload.parities(domain, order),
    ]
    is_binary = set(domain.shape) == {2}
    return kinds[int(rng.integers(len(kinds) - (not is_binary)))]().weighted(float(rng.choice(WEIGHTS)))


def _condition(domain: Domain, rng: np.random.Generator) -> Conjunction:
    chosen = [each for each in domain if rng.random() < 0.6] or [domain.attributes[0]]
    return Conjunction.where(
        domain, {each.name: np.flatnonzero(rng.random(each.size) < 0.6).tolist() or [0] for each in chosen}
    )


def question(domain: Domain, rng: np.random.Generator) -> LinearQuery:
    if rng.random() < 0.7:
        return _condition(domain, rng)
    return Explicit.of(domain, domain.names, rng.random(domain.size))


def _configured(which: int, domain: Domain, rng: np.random.Generator) -> Algorithm:
    """An algorithm with options by which it ends soon, and with other fields of its configuration."""
    name = ENTRIES[which].name
    chosen = {option: values[rng.integers(len(values))] for option, values in OPTIONS[name].items()}
    fields = {field: values[rng.integers(len(values))] for field, values in FIELDS[name].items() if rng.random() < 0.5}
    made: Any = replace(ENTRIES[which].make(chosen), **fields)  # type: ignore[type-var]
    if isinstance(made, MWEM) and made.initial != "histogram" and rng.random() < 0.3:
        public = People.alone(rng.integers(2 * domain.size, size=20)).table(with_filter(domain))
        made = replace(made, prior=Prior.of(read_public(public.select(domain.names), Domain(domain.attributes))))
    return made  # type: ignore[no-any-return]


OPTIONS: dict[str, dict[str, list[Any]]] = {
    "mwem": {
        "rounds": ["annealed", "adaptive", "auto", 1, 3],
        "selection_share": [None, 0.3, 0.9],
        "output": ["last", "average"],
        "initial": ["uniform", "one-way", "histogram"],
        "law": ["exponential", "permute-and-flip"],
        "largest_tree": [4, 16, 10_000],
    },
    "pmw": {"rounds": [12, 20]},
    "dual-query": {"rounds": [3, 6], "samples": [1, 4], "step": [0.5, 2.0], "seed": [5, 6]},
    "small-db": {"size": [1, 2]},
    "laplace": {"by": ["candidate", "query"], "error_share": [0.0, 0.3]},
    "gaussian": {"by": ["candidate", "query"], "error_share": [0.0, 0.3]},
    "fourier": {"error_share": [0.0, 0.3]},
}
"""Options of the command line, of which one of each is drawn."""
_SHARES = {"total_share": [0.02, 0.3], "error_share": [0.0, 0.2]}
FIELDS: dict[str, dict[str, list[Any]]] = {
    "mwem": {
        **_SHARES,
        "step": ["sharp"],
        "refit": [None],
        "quick_fits": [False],
        "initial_share": [0.4],
        "uniform_share": [0.3],
        "clip": [False],
        "repeats": [True],
        "noise": [NoiseKind.LAPLACE, NoiseKind.GAUSSIAN],
        "offsets": [False],
        "optimize_for": ["answers"],
        "higher_orders": [True],
        "search_share": [0.02, 0.5],
    },
    "pmw": {**_SHARES, "step": ["sharp"], "calibration": ["advanced"], "beta": [0.3]},
    "dual-query": {**_SHARES, "constants": ["source"], "beta": [0.3]},
    "small-db": {**_SHARES, "beta": [0.3]},
    "laplace": {"shares": ["best"], "total_share": [0.3], "fit": [None]},
    "gaussian": {"shares": ["best"], "total_share": [0.3], "fit": [None]},
    "fourier": {"fit": [None]},
}
"""Other fields of configurations, each drawn in half of the runs."""


def _session(rng: np.random.Generator) -> OnlinePMW:
    variant = ("4b", "4c", "pay-as-you-go")[rng.integers(3)]
    return OnlinePMW(
        variant=variant,  # type: ignore[arg-type]
        updates=int(rng.integers(1, 5)),
        threshold=float(rng.choice([0.05, 0.3])),
        queries=int(rng.choice([5, 1000])),
        step=("residual", "refit")[rng.integers(2)],  # type: ignore[arg-type]
        beta=float(rng.choice([0.05, 0.3])),
        total_share=float(rng.choice([0.02, 0.3])),
        answer_share=float(rng.choice([0.25, 0.6])),
        uniform_share=float(rng.choice([0.001, 0.2])),
        largest_tree=int(rng.choice([16, 10_000])),
    )


# ---- checking it -----------------------------------------------------------------------------------------------------


def check(run: AnyRun, places: Places) -> int:
    """Take a run and hold it against its ledgers and its neighbours; how many draws it made.

    Raises:
        AssertionError: Something is unpaid, or one person moves something by more than was paid for.
    """
    here = run.witnesses()
    told = _taken(run, run.records, places, here)
    books = [books_of(each) for each in here]
    payers = []
    for ledgers, budget in zip(books, run.budgets, strict=True):
        for unit in {ledger.unit for _, ledger in ledgers}:
            events = [event for _, ledger in ledgers if ledger.unit == unit for event in ledger.events]
            spent = sum((Fraction(event.charge) for event in events if is_to_be_drawn(event)), Fraction(0))
            limit = _limit(budget, [ledger for _, ledger in ledgers], unit)
            assert spent <= Fraction(limit), "the ledgers spent more together than the budget"
        for _, ledger in ledgers:
            deltas_stay_within(ledger.events, ledger.thresholds)
        payers.append([part for calls, ledger in ledgers for part in settle(calls, ledger.events, ledger.limit)])
    for records in run.neighbours() if any(books) and not run.is_sampled else ():
        there = run.witnesses([each.calls for each in here])
        told_there = _taken(run, records, places, there)
        for one, other, parts in zip(here, there, payers, strict=True):
            moved_within(one.calls, other.calls, parts)
        found = [[ledger.events for _, ledger in books_of(each)] for each in there]
        assert found == [[ledger.events for _, ledger in ledgers] for ledgers in books], "a ledger depends on the table"
        assert told_there == told, "what is shown depends on the table"
    return sum(len(each.calls) for each in here)


def _limit(budget: Budget, ledgers: Sequence[LedgerView], unit: str) -> float:
    """What may be spent in a unit, which the algorithm chooses for an (epsilon, delta), or fixes the steps of."""
    if isinstance(budget, Subsampled) or not isinstance(budget, ApproxDP):
        return budget.limit
    fixed = [ledger.composition for ledger in ledgers if ledger.composition is not None]
    if not fixed:
        return replace(budget, regime=Regime.of_unit(unit)).limit
    assert len(ledgers) == 1, "fixed steps are all that a budget pays for"
    assert delta_of(fixed[0].to_dict(), budget.epsilon) <= budget.delta, "fixed steps have a larger delta"
    return fixed[0].limit


def _taken(run: AnyRun, records: Any, places: Places, noise: Sequence[Witness]) -> list[Any]:
    with ExitStack() as stack:
        for each in noise:
            stack.enter_context(listening(each))
        return run.take(records, places, noise)
