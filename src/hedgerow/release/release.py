"""The public outcome of a run."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, Self, final

import numpy as np

from hedgerow.cards import card
from hedgerow.errors import ConfigError, QueryError
from hedgerow.quantities import spent_of
from hedgerow.queries import (
    Conjunction,
    LinearQuery,
    LostWeight,
    Marginal,
    Measurable,
    Positions,
    Weight,
    WeightPower,
    parse_predicate,
)
from hedgerow.release.answer import (
    NOTHING,
    TOTAL_SHARE,
    Answer,
    Total,
    agreed,
    answer_total,
    check_confidence,
    intersect,
    left_uncounted,
    shares,
)
from hedgerow.release.combinations import Combinations
from hedgerow.release.content import StoredModel
from hedgerow.release.evidence import Evidence, from_workload_error, known_answer, measured
from hedgerow.release.feasible import Frame, Together
from hedgerow.release.noise_sums import Noises
from hedgerow.release.provenance import Provenance
from hedgerow.release.unbiased import Runs, runs
from hedgerow.system import Seed, generator

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from hedgerow.arrays import Floats, Ints
    from hedgerow.domain import Clique, Domain, KnownTable
    from hedgerow.models import Codes, Model
    from hedgerow.privacy import AdditiveNoise, Budget, Event, WorkloadError
    from hedgerow.queries import Measurement, Workload
    from hedgerow.release.bin_positions import BinPositions
    from hedgerow.release.criteria import Verdict
    from hedgerow.release.lost_weight import LostShare, WeightEffect
    from hedgerow.release.population import Calibrated
    from hedgerow.release.record_conditions import Given
    from hedgerow.release.records import Records
    from hedgerow.system import SigningKey

MOST_TOGETHER = 64
"""Answers of one statement that get intervals from all measurements together: some hundredths of a second each."""

WEIGHTED_RECORDS = 100_000
"""So many are drawn by default where records have weights, at most."""

_PUBLIC = "which is taken for public"
"""The end of what an answer covers that known totals determine."""
_KNOWN_STD = 1e-6
"""Standard deviation that known totals are taken to have beside noisy tables, in counts."""

_KEPT_CELLS = 1 << 12
_KEPT_TABLES = 256
"""Tables of the hypothesis that are kept for further questions, and cells of the largest."""

Method = Literal["systematic", "independent"]


class _LazyModel:
    """The field of a model that is read from a file: the model is built when it is first used."""

    def __get__(self, release: Release | None, owner: type[Release]) -> Model:
        if release is None:
            raise AttributeError("a release has no model by default")
        held: Model | StoredModel = release.held
        if isinstance(held, StoredModel):
            self.__set__(release, held := held.build())
        return held

    def __set__(self, release: Release, model: Model | StoredModel) -> None:
        release.__dict__["model"] = model


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """The public outcome of a run: everything in it is a function of noisy values and public parameters.

    Attributes:
        model: The hypothesis, which is the model of the data that answers and records come from, with mass ``total``.
        workload: The queries that the run was asked to answer well.
        budget: The privacy budget, and the neighbouring relation that it is about.
        events: The ledger: everything that was spent, in order.
        measurements: The noisy answers of the run, in order.
        error: The noisy estimate of the workload's error, if a share of the budget was given to it.
        total: Number of records, noisy under add-remove, in counts.
        provenance: Algorithm, parameters, versions and source of the noise.
        counted: The noisy number of records, where ``total`` averages it with the sums of noisy tables; else None.
        positions: Noisy sums of where in their bins records lie, for columns in bins where they were measured.
        verdicts: Noisy verdicts on the criteria of the run, if it had some.
        lost: Noisy sums of weights: what the cap takes away, and their number and squares, as far as measured.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.Categorical("sex", ("F", "M")), hedgerow.IntegerRange("age", 0, 2)))
        >>> table = hedgerow.read_table(pa.table({"sex": ["F", "M"] * 400, "age": [0, 1, 2, 2] * 200}), domain)
        >>> workload = hedgerow.Workload.marginals(domain, order=2)
        >>> release = hedgerow.MWEM().run(table, workload, hedgerow.PureDP(5.0), noise=hedgerow.SeededNoise(0))
        >>> release
        Release(MWEM, 2 attributes, 800 records, noisy, 5 of 5 epsilon spent, NOT PRIVATE: seeded)
        >>> len(release.sample(30)), release.marginal(["sex"]).column_names, release.provenance.stamp
        (30, ['sex', 'count'], 'NOT PRIVATE: seeded')
        >>> release.sample(given=pa.table({"age": [2, 0, 1]})).to_arrow()["age"].to_pylist()
        [2, 0, 1]
        >>> answer = release.answer("sex = 'M' and age = 2")
        >>> answer.low <= 200 <= answer.high
        True
    """

    model: _LazyModel = _LazyModel()
    workload: Workload
    budget: Budget
    events: tuple[Event, ...]
    measurements: tuple[Measurement, ...]
    error: WorkloadError | None
    total: float
    provenance: Provenance
    counted: float | None = None
    positions: tuple[Measurement, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    lost: tuple[Measurement, ...] = ()

    def __repr__(self) -> str:
        """One line: algorithm, columns, number of records, budget; ``guarantee`` says it in words."""
        size, private = len(self.domain), "" if self.knows_total else ", noisy"
        seeded = "" if self.provenance.secure else f", {self.provenance.stamp}"
        spent = f"{spent_of(self.spent, self.budget.limit, self.budget.unit, 4)} spent"
        return (
            f"Release({self.provenance.algorithm}, {size} attribute{'s' if size != 1 else ''}, "
            f"{self.total:,.0f} records{private}, {spent}{seeded})"
        )

    def _repr_html_(self) -> str:
        """Guarantee, size of the noise and columns, for notebooks."""
        sizes = [measurement.std for measurement in self.measurements]
        noise = "no measurement" if not sizes else f"{min(sizes):,.4g} to {max(sizes):,.4g} counts"
        facts = [
            ("guarantee", self.guarantee()),
            ("spent", f"{spent_of(self.spent, self.budget.limit, self.budget.unit, 4)}, by {len(self.events)} looks"),
            ("records", f"{self.total:,.0f}{'' if self.knows_total else ', noisy'}"),
            ("standard deviation of the noise", f"{noise} (measurements: {len(sizes)})"),
        ]
        return card(f"Release by {self.provenance.algorithm}", facts) + self.domain.to_html()

    @property
    def held(self) -> Model | StoredModel:
        """The model, or its stored form while nothing has needed the model; files are written from it."""
        held: Model | StoredModel = self.__dict__["model"]
        return held

    @property
    def count_noises(self) -> list[AdditiveNoise]:
        """The noises of the numbers of records that were bought, in order; none where that number is public."""
        events = (event for event in self.events if event.question.kind == "records" and not event.earlier)
        return [event.noise for event in events if event.noise]

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self.workload.domain

    @property
    def knows_total(self) -> bool:
        """Whether the number of records is public: by the neighbouring relation, or by known totals."""
        return self.budget.neighbours.public_total or bool(self.domain.known)

    @cached_property
    def hypothesis(self) -> Model:
        """What answers and records come from: the model, calibrated to totals of the population where these are known.

        ``model`` is what was fitted to the measurements, in the weights that count.
        """
        if not self.domain.population:
            return self.model
        from hedgerow.release.population import raked_to

        return raked_to(self.model, self.domain)

    @property
    def covered(self) -> str:
        """What intervals of numbers are about, in words."""
        if self.domain.population:
            return "the weights calibrated to the known population"
        return "the number of the private table as it was counted"

    @property
    def stands_for(self) -> float:
        """The number of records, or of the population that they stand for, where it is known the true one."""
        return float(self.domain.of_population.known_total or self.total)

    @property
    def spent(self) -> float:
        """Sum of the charges, in the budget's unit."""
        return math.fsum(event.charge for event in self.events)

    @cached_property
    def tilts(self) -> dict[str, Floats]:
        """Tilts of the densities inside the bins of each column, by the mean positions of their records."""
        return {name: each.tilts for name, each in self._in_bins.items()}

    @property
    def mean_positions(self) -> dict[str, Floats]:
        """For columns in bins the mean position of the records of each bin, from -1/2 to 1/2, see `BinPositions`."""
        return {name: each.means for name, each in self._in_bins.items()}

    def position_errors(self, rng: np.random.Generator) -> dict[str, Floats]:
        """Errors that `mean_positions` might have, drawn from their law given what was measured.

        Args:
            rng: What they are drawn with.
        """
        return {name: each.errors(rng) for name, each in self._in_bins.items()}

    @cached_property
    def _in_bins(self) -> dict[str, BinPositions]:
        from hedgerow.domain import Binned

        binned = [column for column in self.domain.columns if isinstance(column, Binned)]
        if not binned:
            return {}
        from hedgerow.release.bin_positions import BinPositions

        tables = self.model.marginals([(column.name,) for column in binned])
        return {
            column.name: BinPositions(
                column, counts, self.positions_of(column.name), self.positions_of(column.name, whole=True)
            )
            for column, counts in zip(binned, tables, strict=True)
        }

    @cached_property
    def left_uncounted(self) -> str:
        """Words for the end of ``covers``: records and parts of weights that no number counts."""
        lost = self.lost_share
        return left_uncounted(self.budget.neighbours) + ("" if lost is None else f", which lose {lost.text}")

    @cached_property
    def lost_share(self) -> LostShare | None:
        """The share of the population that the cap on weights takes away; None where it was not measured."""
        from hedgerow.release.lost_weight import LostShare

        lost = next((each for each in self.lost if isinstance(each.target, LostWeight)), None)
        if lost is None:
            return None
        everyone, known = Conjunction.where(self.domain, {}), self.knows_total or bool(self.domain.population)
        counted = partial(self.bound, everyone, self.total)
        return LostShare.of(lost, counted, known=known)

    @cached_property
    def weight_effect(self) -> WeightEffect | None:
        """The design effect of unequal weights, where it was measured; see `WeightEffect`."""
        from hedgerow.release.lost_weight import WeightEffect

        told = {each.target.power: each for each in self.lost if isinstance(each.target, WeightPower)}
        return WeightEffect.of(told[0], told[2], self._total_evidence()) if {0, 2} <= {*told} else None

    @property
    def weight(self) -> Weight | None:
        """The weights of records, and their cap; None where records have none."""
        persons = self.budget.neighbours.persons
        return None if persons is None else persons.weight

    def guarantee(self) -> str:
        """The promise about the people in the table in one sentence, or that there is none."""
        from hedgerow.domain import caveats_in_words

        statement = self.budget.statement() + caveats_in_words(self.domain)
        return statement if self.provenance.secure else f"{self.provenance.stamp}. With secure noise: {statement}"

    def sample(
        self,
        n: int | None = None,
        seed: Seed = None,
        method: Method = "systematic",
        given: Given | None = None,
    ) -> Records:
        """Draw synthetic records.

        Numbers inside bins have the mean that was measured, or follow the hypothesis' counts of the bins beside: see
        ``hedgerow.domain.tilts``.

        Args:
            n: Number of records; `n_records` by default, of those that meet the condition where one is given. With
                given values the number for each row, 1 by default.
            seed: Seed of the drawing, which has no bearing on privacy; fresh by default.
            method: ``"systematic"`` rounds the hypothesis to whole records with little extra error, and keeps known
                totals exactly where as many are drawn as these count; ``"independent"`` draws each record on its own.
            given: A condition in SQL or a linear query, which all records meet, or a table of values of some columns,
                levels and derived columns among them, whose rows are completed in their order. Either way records are
                drawn from the exact conditional of the hypothesis, or where it has tables over a tree from nearly it
                (theory.md, section 19), which costs no budget.

        Returns:
            Exactly ``n`` records; with given values for each row.

        Raises:
            ConfigError: ``n`` is negative, the method is unknown, or a given value is none of its column's.
            QueryError: The condition cannot be parsed, or no record meets it.
            ImpossibleRowError: No record has the values of a row.
        """
        from hedgerow.models import collected
        from hedgerow.release.records import Records

        drawing, values = self._drawing(seed)
        wanted, known = self._wanted(n, method, given)
        rows = wanted * len(next(iter(known.values()))) if isinstance(known, dict) else wanted
        codes = collected(self._codes(wanted, known, drawing, method), self.domain, rows)
        return Records(codes, self.domain, seed=values, tilts=self.tilts)

    def sample_batches(
        self,
        n: int | None = None,
        *,
        batch: int | None = None,
        seed: Seed = None,
        method: Method = "systematic",
        given: Given | None = None,
    ) -> Iterator[Records]:
        """Draw the records of ``sample`` in batches, for more of them than memory holds.

        The codes are those that ``sample`` draws with the same seed, however large the batches are, and so exactly n in
        all. Each batch of many records is by itself a good sample, and all of them together are as near to the
        hypothesis as one. Numbers inside bins are the same too, unless the batches are smaller than by default.

        Args:
            n: See ``sample``.
            batch: Records in a batch, at least 1; the last may be smaller. By default half a million, fewer where there
                are many attributes.
            seed: See ``sample``.
            method: See ``sample``.
            given: See ``sample``.

        Returns:
            An iterator; the release must not change until it is exhausted.

        Raises:
            ConfigError: ``n`` or ``batch`` is out of its range, or the method is unknown.
        """
        from hedgerow.release.records import batch_rows

        rows = batch_rows(self.domain) if batch is None else batch
        if rows < 1:
            raise ConfigError(f"a batch of {rows} records", remedy="give a number from 1 on")
        return self._batches(*self._wanted(n, method, given), rows, seed, method)

    def _batches(
        self, n: int, known: LinearQuery | dict[str, Ints] | None, rows: int, seed: Seed, method: Method
    ) -> Iterator[Records]:
        from hedgerow.models import batches
        from hedgerow.release.records import Records

        drawing, values = self._drawing(seed)
        first = 0
        for codes in batches(self._codes(n, known, drawing, method), rows):
            yield Records(codes, self.domain, seed=values, first=first, tilts=self.tilts)
            first += len(codes)

    def write_records(
        self,
        path: str | os.PathLike[str],
        n: int | None = None,
        *,
        seed: Seed = None,
        method: Method = "systematic",
        given: Given | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Draw records into a file or a database, batch by batch: memory does not grow with their number.

        An existing file or table is replaced in one step at the end; after a failure or an interruption it is
        unchanged.

        Args:
            path: A CSV or Parquet file, by its ending ``.csv``, ``.parquet`` or ``.pq``; a table of a DuckDB file,
                ``duckdb:///folder/file.db#table`` or ``duckdb:file.db#table``; or ``spark:folder``, where the records
                of ``sample_spark`` are written as Parquet files. On a cluster the folder must not exist.
            n: See ``sample``.
            seed: See ``sample``, with the same records; with Spark, as for ``sample_spark``.
            method: See ``sample``.
            given: See ``sample``; not with Spark.
            progress: Called with the number of records written so far, from 0 on, and their number in all.

        Returns:
            The number of records.

        Raises:
            ConfigError: The ending or the method is unknown, ``n`` is negative, or records are drawn by Spark given
                something.
            QueryError: See ``sample``.
            ImpossibleRowError: See ``sample``.
            RecordsError: The database cannot be written to, or the Spark job failed.
            MissingExtraError: DuckDB or Spark is not installed.
        """
        from hedgerow.engines import SPARK
        from hedgerow.release.records import batch_rows, write_batches

        wanted, known = self._wanted(n, method, given)
        count = wanted * (len(next(iter(known.values()))) if isinstance(known, dict) else 1)
        report = None if progress is None else (lambda done: progress(done, count))
        if report is not None:
            report(0)
        name = os.fspath(path)
        if name.startswith(SPARK):
            from hedgerow.release import write_folder

            if known is not None:
                raise ConfigError("Spark draws from the whole hypothesis only", remedy="write a Parquet file")
            write_folder(self, name.removeprefix(SPARK), wanted, seed=seed, method=method, progress=report)
        else:
            batches = self._batches(wanted, known, batch_rows(self.domain), seed, method)
            write_batches(path, self.domain, batches, report)
        return count

    def sample_spark(
        self,
        n: int | None = None,
        session: SparkSession | None = None,
        partitions: int | None = None,
        seed: Seed = None,
        method: Method = "systematic",
    ) -> DataFrame:
        """A Spark data frame of synthetic records, drawn in parallel inside the executors when it is evaluated.

        The release is sent to every executor once, and no record comes to the driver; ``.write.parquet(...)`` writes
        them. Each partition is a sample of its own, whose seed follows from ``seed`` and the partition's number: the
        rows do not depend on the number of executors, and differ from those of ``sample``. Counts over all rows carry
        the rounding of every partition.

        Args:
            n: Number of records, exactly, in all partitions; by default as for ``sample``.
            session: The Spark session; by default the one of this process, or a new one on this machine. Executors
                need this package, in the same version.
            partitions: Number of pieces that are drawn independently; by default one for four million records.
            seed: Fresh by default; a frame that is evaluated again has the same rows all the same.
            method: See ``sample``, within each partition.

        Raises:
            ConfigError: ``n`` or ``partitions`` is out of its range, or the method is unknown.
            MissingExtraError: Spark is not installed.
        """
        from hedgerow.release import sample_spark

        wanted = self._checked(n, method)
        if wanted == self.domain.known_total or self.domain.population:
            message = "Spark draws partitions by themselves, which do not keep known totals"
            raise ConfigError(message, remedy="write a Parquet file, or draw another number of records")
        return sample_spark(self, wanted, session=session, partitions=partitions, seed=seed, method=method)

    def _wanted(
        self, n: int | None, method: Method, given: Given | None
    ) -> tuple[int, LinearQuery | dict[str, Ints] | None]:
        """Number of records to draw, for each row that is given, and what they are drawn given."""
        if given is None:
            return self._checked(n, method), None
        from hedgerow.release.record_conditions import understood

        known = understood(given, self.domain)
        if n is None:
            n = self._n_of(self.value(known)) if isinstance(known, LinearQuery) else 1
        return self._checked(n, method), known

    def _codes(
        self, n: int, known: LinearQuery | dict[str, Ints] | None, drawing: np.random.Generator, method: Method
    ) -> Iterator[Codes]:
        """Codes of records in blocks; those of as many records as known totals count have these totals."""
        domain = self.domain.of_population if self.domain.population else self.domain
        if known is None and method == "systematic" and n == domain.known_total:
            from hedgerow.models import controlled_records

            return iter([controlled_records(self.hypothesis, domain, drawing)])
        return self.hypothesis.sample_blocks(n, drawing, method, known)

    @property
    def n_records(self) -> int:
        """Number of records that are drawn by default: as many as the table has, rounded and noisy.

        Where records have weights, they stand for a population, which may be far larger than the table: then 100,000 at
        most are drawn, each of which stands for equally many.
        """
        return self._n_of(self.stands_for)

    def _n_of(self, count: float) -> int:
        return min(max(1, round(count)), sys.maxsize if self.weight is None else WEIGHTED_RECORDS)

    def _checked(self, n: int | None, method: Method) -> int:
        """Number of records to draw."""
        wanted = self.n_records if n is None else n
        if wanted < 0 or method not in ("systematic", "independent"):
            raise ConfigError(
                f"cannot draw {wanted} records by the method {method!r}",
                remedy="give a number from 0 on, and 'systematic' or 'independent'",
            )
        return wanted

    @staticmethod
    def _drawing(seed: Seed) -> tuple[np.random.Generator, int]:
        """The generator that draws codes, and the seed of numbers inside bins."""
        drawing = generator(seed)
        return drawing, int(drawing.integers(2**62))

    def marginal(self, names: str | Iterable[str]) -> pa.Table:
        """A synthetic marginal as an Arrow table.

        Args:
            names: Attributes, in any order. A text is one name.

        Returns:
            One column of labels per attribute, in domain order, and ``count``: the model's counts, one row per cell.

        Raises:
            DomainError: A name is not an attribute.
            QueryError: No name is given.
        """
        import pyarrow as pa

        clique = Marginal(self.domain, (names,) if isinstance(names, str) else tuple(names)).scope
        table = self.hypothesis.marginals([clique])[0]
        codes = np.unravel_index(np.arange(table.size), table.shape)
        columns = {
            name: pa.array([self.domain[name].label(int(code)) for code in axis])
            for name, axis in zip(clique, codes, strict=True)
        }
        counts = "count" if "count" not in columns else "synthetic count"
        return pa.table([*columns.values(), pa.array(table.reshape(-1))], names=[*columns, counts])

    def answer(self, query: str | Measurable, confidence: float = 0.95, *, together: bool = True) -> Answer:
        """Answer a counting query, with an interval that says what it covers.

        The interval is for the true answer on the private table. It rests on the noise of the measurements or on the
        noisy maximum error of the workload, where either bears on the query (``release/answer.py`` derives it).

        Args:
            query: A condition in SQL (see ``parse_predicate``), or a linear query.
            confidence: Probability, over the noise of the run, that the interval covers the true answer.
            together: Whether a query that no measurement tells alone gets the interval that all of them allow
                together, which takes some hundredths of a second.

        Raises:
            QueryError: The text cannot be parsed, or a whole marginal is asked for.
            ConfigError: The confidence is not between 0 and 1.
        """
        check_confidence(confidence)
        asked = parse_predicate(query, self.domain) if isinstance(query, str) else query
        if not isinstance(asked, LinearQuery) or asked.domain != self.domain:
            named = getattr(asked, "text", f"a {type(asked).__name__}")
            raise QueryError(
                f"{named} is not one linear query over the domain of the release",
                remedy="ask for a condition, or call marginal() for all cells of a marginal",
            )
        found = self.bound(asked, self.value(asked), confidence, together=together)
        counted = "" if found.covers.endswith(_PUBLIC) else self.left_uncounted
        return replace(found, covers=found.covers + counted) if found.has_interval else found

    def bound(self, query: LinearQuery, value: float, confidence: float = 0.95, *, together: bool = False) -> Answer:
        """Add the interval to a linear query's value under the model.

        Args:
            query: A linear query over the domain.
            value: The model's answer, in counts.
            confidence: Probability that the interval covers the true answer.
            together: See `answer`.
        """
        if self.domain.population:
            return self._calibrated_bound(query, confidence)
        total = self._total_evidence()
        if not query.scope:
            return answer_total(query, value, total, confidence)
        told = known_answer(query, self._known)
        if told is not None:
            return Answer(told[0], told[0], told[0], f"{told[1]}, {_PUBLIC}")
        pieces: list[Evidence | Together] = list(measured(query, self._runs, total.value if total.public else None))
        slack = total.slack(TOTAL_SHARE * check_confidence(confidence))
        if together and not pieces:
            found, least, most = (self._known, *self._runs.each), max(0.0, total.value - slack), total.value + slack
            bounds = Together.of(query, found, least, most, self._frames)
            pieces += [] if bounds is None else [bounds]
        if self.error is not None:
            answer = from_workload_error(
                query,
                value,
                workload=self.workload,
                error=self.error,
                neighbours=self.budget.neighbours,
                total_slack=slack,
            )
            pieces += [] if answer is None else [answer]
        if not pieces:
            return Answer(value, None, None, NOTHING)
        return intersect(query, value, pieces, total, confidence)

    def _calibrated_bound(self, query: LinearQuery, confidence: float) -> Answer:
        """The interval of an answer that is calibrated to totals of the population; see `population`."""
        value, risk = self.value(query), check_confidence(confidence)
        told = known_answer(query, self._known)
        if told is not None or not query.scope:
            value, source = told or (value, "the known population")
            return Answer(value, value, value, f"{source}, {_PUBLIC}")
        (question,) = self._calibrated([query])
        if question is None:
            return Answer(value, None, None, NOTHING)
        if question.exact:
            return Answer(*(question.known,) * 3, f"the known population, {_PUBLIC}")
        pieces = [replace(each, centre=each.centre + question.known) for each in measured(question.left, self._runs)]
        if not pieces:
            return Answer(value, None, None, NOTHING)
        low, high, source = agreed(pieces, risk)
        low, high = min(low, high), max(low, high)
        value = min(pieces, key=lambda piece: piece.variance).corrected(value)
        covers = f"{self.covered}, with {100 * confidence:.6g}% confidence, from {source}"
        return Answer(min(max(value, low), high), low, high, covers)

    def _calibrated(self, queries: Sequence[LinearQuery]) -> list[Calibrated | None]:
        from hedgerow.release.population import Calibrated

        return [Calibrated.of(query, self.hypothesis, self._totals) for query in queries]

    @cached_property
    def _totals(self) -> Sequence[KnownTable]:
        """Totals of the population that measured tables tell too."""
        from hedgerow.release.population import told_totals

        return told_totals(self.domain, self.measurements)

    def combinations(self, *queries: LinearQuery) -> Combinations:
        """Linear combinations of linear queries over the domain, with intervals from the measured tables.

        Args:
            queries: The queries, of some attributes each.
        """
        if self.domain.population:
            return Combinations.calibrated(queries, self._calibrated(queries), self._runs)
        return Combinations(queries, self._runs, self.total if self.knows_total else None)

    @property
    def record_count(self) -> Evidence | None:
        """The noisy number of records, if that is what was measured first and once."""
        if self.knows_total or self.domain.population or len(self.count_noises) != 1:
            return None
        (noise,) = self.count_noises
        noises = Noises.of(noise.kind, noise.scale, np.ones(1))
        return Evidence.of_noises(self.total if self.counted is None else self.counted, noises, "number of records")

    @cached_property
    def share_of_count(self) -> float:
        """The share of `record_count` in the best estimate of the number of records; tables have the rest."""
        count = self.record_count
        if count is None or not count.variance:
            return 0.0
        variance = self.combinations(Conjunction.where(self.domain, {})).variance((1.0,))
        return 1.0 if variance is None else variance / (variance + count.variance)

    def half_width(self, query: LinearQuery, confidence: float = 0.95) -> float | None:
        """Half the width of a linear query's interval, at most, in counts: noise decides it, and no data.

        Args:
            query: A linear query over the domain, of some attributes.
            confidence: Probability that the interval covers the true answer.

        Returns:
            None where no measured table tells the query.
        """
        total = self._total_evidence()
        risk = check_confidence(confidence) * (1.0 if total.public else 1.0 - TOTAL_SHARE)
        if self.domain.population:
            (question,) = self._calibrated([query])
            if question is None or question.exact:
                return None if question is None else 0.0
            query, risk = question.left, check_confidence(confidence)
        pieces = measured(query, self._runs, total.value if total.public else None)
        return min((piece.radius(share) for piece, share in zip(pieces, shares(risk), strict=False)), default=None)

    def positions_of(self, name: str, *, whole: bool = False) -> Measurement | None:
        """The noisy sums of where in their bins the records of a column lie; None if they were not measured.

        Args:
            name: Name of the column.
            whole: Whether the moments of the whole column are wanted instead.
        """
        for each in self.positions:
            target = each.target
            if isinstance(target, Positions) and target.whole is whole and target.scope == (name,):
                return each
        return None

    def value(self, query: LinearQuery) -> float:
        """The model's answer of a linear query, in counts, without an interval."""
        if not query.scope:
            return float(query.of_table(np.array(self.stands_for))[0])
        if query.scope not in self._tables:
            if math.prod(self.domain.shape_of(query.scope)) > _KEPT_CELLS:
                return float(query.on(self.hypothesis)[0])
            if len(self._tables) >= _KEPT_TABLES:
                self._tables.clear()
            self._tables[query.scope] = self.hypothesis.marginals([query.scope])[0]
        return float(query.of_table(self._tables[query.scope])[0])

    @cached_property
    def _tables(self) -> dict[Clique, Floats]:
        """Tables of the hypothesis that questions were about."""
        return {}

    @cached_property
    def _frames(self) -> dict[Hashable, Frame]:
        """What all measured tables together allow, by what a question is about."""
        return {}

    @cached_property
    def _runs(self) -> Runs:
        """The measurements, those together of which none was chosen by the noise of another one."""
        known = () if self.domain.population else self._known
        return Runs([(*known, *run) for run in runs(self.events, self.measurements)] or [known])

    @cached_property
    def _known(self) -> tuple[Measurement, ...]:
        """Known totals, as measurements whose noise is nothing beside that of any."""
        from hedgerow.models import as_measurements

        domain = self.domain.of_population if self.domain.population else self.domain
        return tuple(as_measurements(domain, _KNOWN_STD)) if domain.known else ()

    def _total_evidence(self) -> Total:
        if self.knows_total:
            return Total(self.total, public=True)
        whole = self.budget.neighbours.grain == 1.0
        return Total.measured(self.total, self.count_noises, self.counted, whole=whole)

    def save(self, path: str | os.PathLike[str], *, sign: SigningKey | None = None) -> None:
        """Write the release to one file, in one step: a reader sees the old file or the whole new one.

        The file is a zip archive of a JSON text and numpy arrays with checksums; no pickle, nothing private.

        Args:
            path: Target; its folder must exist.
            sign: Private key for a signature, from ``hedgerow.system.SigningKey.read``; None for no signature.
                ``hedgerow audit --key`` verifies it.

        Raises:
            ReleaseError: The file cannot be written.
        """
        from hedgerow.release import save_release

        save_release(self, path, sign)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a release. The model is built when it is first used.

        Raises:
            ReleaseError: There is no such file, or it may not be read.
            DamagedReleaseError: It is not a release, is truncated, or was changed.
            ReleaseVersionError: It was written by a newer version.
        """
        from hedgerow.release import load_release

        return load_release(path)
