"""Records with replicates: what the mechanism might have released of such data, as survey statisticians keep it.

A statistic is computed on the records, and again on each of N replicates; how these differ is its standard error. A
replicate is a weight for each record, ``w_r(x) = w p_r(x) / p(x)`` with p the hypothesis and p_r that of a run on data
like these (importance weights, raked: see `_Reweighing`), or a file of records of its own. Weights make a file that any
software for surveys reads as one with replicate weights (K. Wolter, "Introduction to Variance Estimation", 2007).
``simulation`` makes the hypotheses; nothing here is private.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Binned, Clique, Domain, ends_of, telling
from hedgerow.domain.measures import written
from hedgerow.engines import is_duckdb
from hedgerow.errors import ConfigError
from hedgerow.models import Codes, Empirical, HasPotentials, Potentials, cells_of
from hedgerow.queries import Marginal, Measurement, answered
from hedgerow.release.answer import check_confidence
from hedgerow.release.calibration import Coarse, Margin, raked
from hedgerow.release.content import StoredModel
from hedgerow.release.records import Records
from hedgerow.release.release import Release
from hedgerow.release.tracing import Traced, share_inside, traced
from hedgerow.system import numbered

if TYPE_CHECKING:
    import pyarrow as pa

Target = Literal["population", "file"]
"""What intervals are about: the population that the private table is a random sample of, or that table."""

LEAST_SHARE = 0.25
"""Effective share of the records below which replicates are files."""
_LARGEST = 1 << 18
"""Cells of the largest table by which records are raked."""
_SWEEPS, _SWEEPS_ALONE = 2, 10
"""Sweeps over all tables, after importance weights and without these."""
_TINY = 1e-300
_LEAST_FACTOR = 1e-6
"""Least factor of calibration that replicates begin with: cells that it emptied are not empty in all of them."""
_NARROW = 1e-6
"""Variance inside a bin, in squares of its width, below which its records are at one place."""
_TO_POPULATION, _APART = 200, 1e-9
"""Times that weights are brought to totals of the population, and the share of these that is rounding."""
_DIGITS = 6
"""Digits behind the point of weights: those in files are those in memory."""
_MOST_GUESSED = 0.5
"""Errors that a statistic may be off by what nobody measured inside bins: intervals of 95 % hold .92 there."""
_SHUFFLES = 8
"""Times that a column of bins is shuffled, to see how much of a statistic is its going with others."""
Statistic = Callable[["pa.Table", Floats], ArrayLike]
"""A number or an array of numbers, of a table of records and their weights."""


@dataclass(frozen=True, eq=False)
class ReplicateEstimate:
    """Estimates with standard errors and intervals; all of one shape, that of what the statistic gives.

    Attributes:
        value: The estimate; without its bias, unless that was to be left in.
        raw: The statistic of the records.
        bias: Mean of the statistic over the replicates, minus ``raw``.
        error: Standard error.
        low: Lower end of the interval.
        high: Upper end.
        replicates: The statistic of each replicate, along the first axis.
        traced: The tables that it follows from, and what is not known of them; None where nobody looked.
        notes: Why there is no interval, or what it leaves out.
    """

    value: NDArray[np.float64]
    raw: NDArray[np.float64]
    bias: NDArray[np.float64]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    replicates: NDArray[np.float64] = field(repr=False)
    traced: Traced | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, raw: ArrayLike, replicates: ArrayLike, confidence: float = 0.95, *, corrected: bool = True
    ) -> ReplicateEstimate:
        """Put estimates together.

        Corrected, the estimate is ``2 theta - mean of theta_r``, its error the standard deviation of the theta_r (the
        basic bootstrap: A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section
        5.2) times ``sqrt(1 + 1 / N)``, as the mean of N replicates errs too. Else it is theta, and its error the root
        mean square of ``theta_r - theta``, which holds the bias: what R gives with ``scale = 1 / N, rscales = 1,
        mse = TRUE``. Intervals have quantiles of Student's law.

        Args:
            raw: The statistic of the records, theta.
            replicates: That of each replicate, theta_r, along the first axis.
            confidence: Probability with which intervals should hold what is estimated.
            corrected: Whether the bias is taken off.

        Raises:
            ConfigError: The confidence is not between 0 and 1.

        Example:
            >>> found = ReplicateEstimate.of(5.0, [5.0, 6.0, 7.0])
            >>> float(found.value), float(found.bias), float(found.error.round(3))
            (4.0, 1.0, 1.155)
            >>> float(ReplicateEstimate.of(5.0, [5.0, 6.0, 7.0], corrected=False).error.round(3))
            1.291
        """
        theta, each = np.asarray(raw, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
        bias = each.mean(axis=0) - theta
        value = theta - bias if corrected else theta
        spread = each.std(axis=0, ddof=1) * math.sqrt(1.0 + 1.0 / len(each))
        error = spread if corrected else np.sqrt(np.mean((each - theta) ** 2, axis=0))
        reach = float(special.stdtrit(len(each) - 1, 1.0 - 0.5 * check_confidence(confidence)))
        return cls(value, theta, bias, error, value - reach * error, value + reach * error, each)

    def without(self, which: ArrayLike, *notes: str) -> ReplicateEstimate:
        """The same, some estimates as they were computed, without errors and intervals.

        Args:
            which: Which ones, or whether all.
            notes: Why.
        """
        value = np.where(which, self.raw, self.value)
        error, low, high = (np.where(which, np.nan, each) for each in (self.error, self.low, self.high))
        return replace(self, value=value, error=error, low=low, high=high, notes=(*self.notes, *notes))


@dataclass(frozen=True, eq=False)
class Replicates:
    """Synthetic records and replicates of them; made by `hedgerow.replicate`.

    Attributes:
        release: The release.
        records: The records, which weigh ``weight``.
        runs: What the mechanism might have released, one for each replicate.
        target: What standard errors are about.
        weights: Replicate weights, shape ``(len(records), number)``; None where replicates are files.
        share: Effective share of the records under the replicate weights, ``sum(w)**2 / (n sum(w**2))``, in the mean;
            None where the hypothesis gives no weights.
        origin: Where the replicates come from, in words.
        seed: Seed of the records of replicate files.
        clusters: The column of clusters that are drawn again in each replicate, if there is one.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 2) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 3, np.arange(900) // 300])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> replicates = hedgerow.replicate(release, 10, seed=0)
        >>> replicates.number, replicates.form
        (10, 'weights')
        >>> mean = replicates.estimate(lambda table, weights: np.average(table["a"], weights=weights))
        >>> bool(mean.low < 1.0 < mean.high)
        True
    """

    release: Release = field(repr=False)
    records: Records
    runs: tuple[Release, ...] = field(repr=False)
    target: Target
    weights: Floats | None = field(repr=False)
    share: float | None
    origin: str
    seed: int = field(repr=False)
    _calibrated: _Calibrated = field(repr=False)
    clusters: str | None = None

    @classmethod
    def of(
        cls,
        release: Release,
        records: Records,
        runs: Sequence[Release],
        *,
        target: Target,
        files: bool | None,
        origin: str,
        seed: int,
        clusters: str | None = None,
    ) -> Replicates:
        """Weights of the records where they are good ones; else files.

        Args:
            release: The release.
            records: Records of its hypothesis.
            runs: What the mechanism might have released.
            target: What the runs are like the release about.
            files: Whether files are wanted; None to choose.
            origin: Where the runs come from, in words.
            seed: Seed of the records of replicate files.
            clusters: The column of clusters that are drawn again in each replicate, if there is one.

        Raises:
            ConfigError: Weights are wanted where the hypothesis gives none.
        """
        calibrated = _Calibrated.of(release, records)
        weights = None if files else _weights(calibrated, runs, target, seed)
        if files is False and weights is None:
            raise ConfigError(
                "this hypothesis tells no probability of a record, so there are no replicate weights",
                remedy="ask for replicate files (files=True, --replicate-files)",
            )
        share = None
        if weights is not None:
            share = float(np.mean(weights.sum(axis=0) ** 2 / (len(weights) * (weights**2).sum(axis=0))))
            weights = np.round(weights, _DIGITS) if files is False or share >= LEAST_SHARE else None
        return cls(release, records, tuple(runs), target, weights, share, origin, seed, calibrated, clusters)

    @property
    def form(self) -> Literal["weights", "files"]:
        """Whether replicates are weights of the same records, or files of records of their own."""
        return "files" if self.weights is None else "weights"

    @property
    def number(self) -> int:
        """Number of replicates."""
        return len(self.runs)

    @property
    def weight(self) -> Floats:
        """What each record weighs, shape ``(n,)``: they have the tables that were measured, in coarse cells."""
        return np.round(self._calibrated.to_population, _DIGITS)

    @property
    def says(self) -> str:
        """What they are, and why, in words."""
        rests = "" if self.share is None else f" that rest on {100 * self.share:.0f} % of the records"
        if self.weights is not None:
            form = f"weights{rests}"
        else:
            form = "files of their own" + (
                f": weights{rests.replace('that', 'would')} only" if self.share is not None else ""
            )
        return f"{self.number} replicates for the {self.target}, {form}; {self.origin}"

    @property
    def names(self) -> list[str]:
        """Names of the columns of weights: ``weight``, ``repweight_1`` and so on; with a prefix where one is taken."""
        return self.names_beside(self.release.domain)

    def names_beside(self, domain: Domain) -> list[str]:
        """Names of the columns of weights beside those of a domain."""
        names = ["weight", *(f"repweight_{number}" for number in range(1, self.number + 1))]
        taken = {column.name for column in written(domain)}
        return names if taken.isdisjoint(names) else [f"hedgerow_{name}" for name in names]

    @cached_property
    def weighted(self) -> Records:
        """The records with the columns of weights; of replicate files the one of the records themselves."""
        return self.beside(self.records)

    def beside(self, records: Records) -> Records:
        """Records with the columns of weights.

        Args:
            records: The records, or some of their columns behind others.
        """
        columns = [self.weight, *([] if self.weights is None else self.weights.T)]
        return records.with_columns(dict(zip(self.names_beside(records.domain), columns, strict=False)))

    def files(self) -> Iterator[tuple[Records, Floats]]:
        """Records of each replicate, as many as of the release, and their weights."""
        for number, run in enumerate(self.runs):
            drawn = replace(run, model=run.held).sample(len(self.records), numbered(self.seed, number))
            yield drawn, self.weights_of(drawn, number)

    def weights_of(self, drawn: Records, number: int) -> Floats:
        """What records of a replicate's own weigh, shape ``(len(drawn),)``.

        Args:
            drawn: Records of its hypothesis.
            number: The number of the replicate, from 0.
        """
        weights = self._calibrated.of_replicate(drawn.codes, None, self.runs[number])
        rng = numbered(self.seed, self.number + number)
        weights = _Inside.of(drawn).moved(weights, self.release, self.target, rng)
        return np.round(self._calibrated.of_population(drawn.codes, weights), _DIGITS)

    def estimate(
        self,
        statistic: Statistic,
        confidence: float = 0.95,
        *,
        corrected: bool = True,
        columns: Sequence[str | Sequence[str]] | Traced | None = None,
    ) -> ReplicateEstimate:
        """Estimate anything that can be computed of weighted records, with a standard error and an interval.

        Args:
            statistic: Called with the records as an Arrow table and their weights, shape ``(n,)``; gives a number or an
                array. It is called once for the records, once for each replicate, and a few times to see what it needs.
            confidence: See `ReplicateEstimate.of`.
            corrected: See `ReplicateEstimate.of`.
            columns: The columns that it is computed from, levels and derived ones too: their joint table must have been
                measured. Or the columns of each table, where several tell it: ``[["a", "b"], ["b", "c"]]``; or what
                `traced` found of these. It is given no others. By default those that it cannot be computed without,
                which leaving columns out shows. With an empty sequence nothing is checked.

        Returns:
            The estimates. There is no interval where a table that they follow from was not measured, or with much
            noise beside the records of its cells, or where numbers inside wide bins decide; ``notes`` says which it
            is. The rule is that of regressions, but for the noise of finer cells where there is one table alone, which
            the records are weighed to have.

        Raises:
            ConfigError: The confidence is not between 0 and 1.
            DomainError: There is no such column.
        """
        scopes = list(columns.tables) if isinstance(columns, Traced) else None if columns is None else _scopes(columns)
        table = self.read(self.records, scopes)
        raw = np.asarray(statistic(table, self.weight), dtype=np.float64)
        weighed: Iterable[tuple[pa.Table, Floats]]
        if self.weights is not None:
            weighed = ((table, weights) for weights in self.weights.T)
        else:
            weighed = ((self.read(records, scopes), weights) for records, weights in self.files())
        each = [np.asarray(statistic(*pair)) for pair in weighed]
        found = ReplicateEstimate.of(raw, each, confidence, corrected=corrected)
        if scopes == []:
            return replace(found, notes=("Whether what it needs was measured is not checked: no columns are named.",))
        of_weight = partial(_weighed, statistic, self.weight)
        if scopes is None:
            return self.checked(found, of_weight, table)
        needs = columns if isinstance(columns, Traced) else self.traced(scopes, together=len(scopes) > 1)
        return self._checked(replace(found, traced=needs), of_weight, table)

    def checked(
        self, found: ReplicateEstimate, statistic: Callable[[pa.Table], ArrayLike], table: pa.Table
    ) -> ReplicateEstimate:
        """Estimates without the intervals that nothing measured stands behind; which columns they need is seen.

        Args:
            found: The estimates.
            statistic: What is estimated, of the records.
            table: The records.
        """
        needed = _needed(statistic, table, found.raw)
        needs = self.traced([tuple(chain.from_iterable(map(self._variables, needed)))])
        return self._checked(replace(found, traced=needs), statistic, table)

    def _without_clusters(self, scopes: Iterable[Clique]) -> Clique:
        """A table that was not measured by the clusters which are drawn again; none where there is no such."""
        domain, clusters = self.release.domain, self.clusters
        told = [each.target.scope for each in self.release.measurements if isinstance(each.target, Marginal)]
        for scope in scopes if clusters is not None else ():
            wanted = [*scope, str(clusters)]
            if not any(all(domain.determines(each, name) for name in wanted) for each in told):
                return scope
        return ()

    def traced(self, scopes: Sequence[Clique], *, together: bool = False) -> Traced:
        """What statistics that follow from tables need of the release, as `estimate` finds it.

        Args:
            scopes: The columns of each table.
            together: Whether one statistic follows from all of them, not one from each.
        """
        return traced(self.release, scopes, weighed=() if together else self._calibrated.weighed)

    def read(self, records: Records, scopes: list[Clique] | None = None) -> pa.Table:
        """The columns of records that some variables tell; of none, and of all, every one."""
        table, domain = records.to_arrow(), self.release.domain
        if not scopes:
            return table
        base = {*domain.base(chain.from_iterable(scopes))}
        return table.select([name for name in table.column_names if {*domain.base(self._variables(name))} <= base])

    def _variables(self, name: str) -> Clique:
        """The variables that tell a column of records: the start and length of a span for its end."""
        ends = {span.end: (span.start, span.length) for span in self.release.domain.spans}
        return ends.get(name, (name,))

    def _checked(
        self, found: ReplicateEstimate, statistic: Callable[[pa.Table], ArrayLike], table: pa.Table
    ) -> ReplicateEstimate:
        """The estimates without the intervals that nothing measured stands behind."""
        if apart := self._without_clusters(() if found.traced is None else found.traced.tables):
            names = " x ".join(apart)
            note = f"No interval: how {names} differs by {self.clusters} was not measured, which decides its sampling "
            family = "*".join((*apart, str(self.clusters)))
            return found.without(True, f"{note}error: 'marginals:{family}' in the workload would measure it.")
        release, domain, needs = self.release, self.release.domain, found.traced
        none = "No interval" if found.raw.size == 1 else "No intervals"
        if needs is None or not needs.suffices:
            return found if needs is None else found.without(True, f"{none}: this {needs.says}.")
        if needs.part:
            names = ", ".join(name for scope in needs.part for name in scope)
            left_out = f"Of {names} no whole table was measured: the interval leaves out what lies between."
            found = replace(found, notes=(*found.notes, left_out))
        scopes = (domain.base(scope) for scope in needs.tables if any(name in domain.names for name in scope))
        together = {name for scope in scopes if len(scope) > 1 for name in scope}
        shares = {
            name: share for name in table.column_names if name in together and (share := share_inside(release, name))
        }
        rests = (
            self._rests_inside(found, statistic, table, shares) if shares else np.zeros(found.raw.shape, dtype=np.bool_)
        )
        if not rests.any():
            return found
        return found.without(
            rests,
            f"{none}: how numbers inside the bins of {' and '.join(shares)} go with other columns was not measured, "
            f"and may change them by {sum(shares.values()):.0%}. Release them in more 'bins', or one by one.",
        )

    def _rests_inside(
        self,
        found: ReplicateEstimate,
        statistic: Callable[[pa.Table], ArrayLike],
        table: pa.Table,
        shares: Mapping[str, float],
    ) -> NDArray[np.bool_]:
        """Which estimates may be off by more than half an error, as positions in bins are independent of the rest.

        What there is in a statistic of how a column goes with others is what it loses when the column is shuffled. Of
        that the share of the variance that is inside bins is missing, to first order. Statistics that are the same with
        one number in each bin, such as shares of bins, miss nothing.

        Args:
            found: The estimates.
            statistic: The statistic of the records.
            table: The records.
            shares: For each column of bins the share of its variance that is inside.
        """
        rng, flat = numbered(self.seed, 2 * self.number), dict[str, Ints]()
        for name in shares:
            codes = self.records.codes[:, self.release.domain.index(name)]
            _, first, places = np.unique(codes, return_index=True, return_inverse=True)
            flat[name] = first[places.reshape(-1)]
        same = np.isclose(np.asarray(statistic(_taken(table, flat)), dtype=np.float64), found.raw, rtol=1e-9, atol=0.0)
        shuffled = [
            np.asarray(statistic(_taken(table, {name: rng.permutation(len(table)) for name in shares})), np.float64)
            for _ in range(_SHUFFLES)
        ]
        missing = sum(shares.values()) * np.abs(found.raw - np.mean(shuffled, axis=0))
        return np.asarray(~same & (missing > _MOST_GUESSED * found.error))

    def places(self, path: str | os.PathLike[str]) -> list[str]:
        """The files that `write` writes: the one given, and one beside it for each replicate file.

        Raises:
            ConfigError: Replicate files are tables of a database.
        """
        name = os.fspath(path)
        if self.weights is not None:
            return [name]
        if is_duckdb(name):
            raise ConfigError(f"{name} has no room for replicate files", remedy="name a file: -o FILE.parquet")
        place, digits = Path(name), len(str(self.number))
        beside = (place.with_stem(f"{place.stem}_rep{number:0{digits}}") for number in range(1, self.number + 1))
        return [name, *map(str, beside)]

    def write(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the records with their weights, and replicate files beside them where there are some.

        Args:
            path: A file that ends in ``.csv``, ``.parquet`` or ``.pq``, or with weights ``duckdb:file.db#table``.

        Returns:
            What was written.

        Raises:
            ConfigError: The ending is unknown, the address names no table, or replicate files are tables.
            RecordsError: The database cannot be written to.
        """
        places = self.places(path)
        self.weighted.write(path)
        if len(places) > 1:
            for place, (records, weights) in zip(places[1:], self.files(), strict=True):
                records.with_columns({self.names[0]: weights}).write(place)
        return places

    def to_dict(self) -> dict[str, Any]:
        """Summary for JSON."""
        return {
            "number": self.number,
            "for": self.target,
            "form": self.form,
            "effective_share": self.share,
            "columns": self.names[: 1 if self.weights is None else None],
            "scale": 1.0 / self.number,
            "rscales": 1.0,
            "mse": True,
            "origin": self.origin,
            **({} if self.clusters is None else {"clusters": self.clusters}),
        }


@dataclass(frozen=True, eq=False)
class _Reweighing:
    """Records of a hypothesis, to be weighed as those of others.

    Importance weights are right in the mean. What chance is in them is taken out by raking (W. E. Deming and F. F.
    Stephan, "On a Least Squares Adjustment of a Sampled Frequency Table", 1940): the tables that hypotheses are made
    of become those of the records, times what the other hypothesis has in a cell over what the first one has there.
    Where records have no probability in closed form, that is all there is.

    Attributes:
        codes: The records, shape ``(n, len(domain))``.
        state: Factors of their hypothesis; None where it is no product.
        scopes: Attributes of the tables.
        places: The cell of each record in each table.
        ratios: For each table the number of records in each cell over what the hypothesis has there.
    """

    codes: Codes
    state: Potentials | None
    scopes: list[Clique]
    places: list[Ints]
    ratios: list[Floats]

    @classmethod
    def of(cls, release: Release, records: Records) -> _Reweighing:
        domain, state = release.domain, _state(release)
        asked = state.tables if state else dict.fromkeys(each.target.scope for each in release.measurements)
        pairs = (pair for scope in asked for pair in combinations(scope, 2) if len(scope) > 2)
        scopes = [
            each for each in dict.fromkeys((*asked, *pairs)) if each and math.prod(domain.shape_of(each)) <= _LARGEST
        ]
        codes = Empirical(domain, release.total, records.codes).codes
        places = list(cells_of(domain, codes, scopes))
        tables = [table.reshape(-1) for table in release.model.marginals(scopes)]
        counts = (np.bincount(each, minlength=len(table)) for each, table in zip(places, tables, strict=True))
        ratios = [count / np.maximum(table, _TINY) for count, table in zip(counts, tables, strict=True)]
        return cls(codes, state, scopes, places, ratios)

    def weights(self, run: Release) -> Floats:
        """Weights of the records, which add up to the number of records of another release."""
        after, before = _state(run), self.state
        weighed = Empirical(run.domain, run.total, self.codes)
        if before is not None and after is not None:
            for clique in dict.fromkeys([*after.tables, *before.tables]):
                factor = np.zeros(run.domain.shape_of(clique))
                weighed.reweigh(clique, factor + after.tables.get(clique, 0.0) - before.tables.get(clique, 0.0))
            for query in dict.fromkeys([*after.steps, *before.steps]):
                weighed.update(query, after.steps.get(query, 0.0) - before.steps.get(query, 0.0))
        tables = [table.reshape(-1) for table in run.model.marginals(self.scopes)]
        wanted = [table * ratio for table, ratio in zip(tables, self.ratios, strict=True)]
        sweeps = _SWEEPS if before else _SWEEPS_ALONE
        return raked(weighed.masses(), self.places, wanted, run.total, sweeps)[0]


@dataclass(frozen=True, eq=False)
class _Calibrated:
    """Records that are weighed by what was measured.

    Attributes:
        release: The release.
        records: Its records.
        coarse: Groups of its variables.
        weight: Weights of the records, shape ``(n,)``.
        factors: What calibration multiplied the weights in each cell of groups by.
    """

    release: Release
    records: Records
    coarse: Coarse
    weight: Floats
    factors: dict[Margin, Floats]

    @classmethod
    def of(cls, release: Release, records: Records) -> _Calibrated:
        coarse, even = Coarse.of(release), np.full(len(records), release.total / len(records))
        wanted = coarse.wanted(release.measurements, release.total)
        return cls(release, records, coarse, *coarse.calibrated(records.codes, even, wanted, release.total))

    @property
    def weighed(self) -> list[Clique]:
        """The tables of groups that records have."""
        return [scope for scope, number in self.factors if not number]

    def of_replicate(self, codes: Ints, weights: Floats | None, run: Release) -> Floats:
        """Weights of records of a replicate, calibrated as those of the release are.

        A replicate differs from the hypothesis as the release from the truth. So its records have the tables of the
        weighted records of the release, moved by what the noisy tables of the replicate have beside those of the
        hypothesis. The noise is added, as it is in a release: it would be too small times what calibration multiplied
        small cells by.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            weights: Their weights before; None for equal ones.
            run: The replicate.
        """
        even = np.full(len(codes), run.total / len(codes)) if weights is None else weights
        before = even * np.maximum(self.coarse.factor(codes, self.factors), _LEAST_FACTOR)
        noisy = self.coarse.wanted(run.measurements, run.total)
        own = self.coarse.wanted(self._of_hypothesis(run.measurements), self.release.total)
        moved = self.coarse.moved(self.records.codes, self.weight, noisy, own)
        return self.coarse.calibrated(codes, before * (run.total / before.sum()), moved, run.total)[0]

    def _of_hypothesis(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        """What measurements would have been of the hypothesis without noise."""
        targets = [each.target for each in measurements]
        same = targets == [each.target for each in self.release.measurements]
        answers = self._answers if same else answered(targets, self.release.model)
        return [replace(each, values=values) for each, values in zip(measurements, answers, strict=True)]

    @cached_property
    def _answers(self) -> list[Floats]:
        """Answers of the hypothesis to what was measured."""
        return answered([each.target for each in self.release.measurements], self.release.model)

    @cached_property
    def to_population(self) -> Floats:
        """The weights of the records with the totals of the population, where these are known."""
        return self.of_population(self.records.codes, self.weight)

    def of_population(self, codes: Any, weights: Floats) -> Floats:
        """The weights with the totals of the population, where these are known; else as they are.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            weights: Their weights.

        Raises:
            ConfigError: There are too few records for these totals.
        """
        domain = self.release.domain
        if not domain.population:
            return weights
        total, tables = self.release.stands_for, telling(domain.of_population)
        places = [*cells_of(domain, codes, [table.names for table in tables])]
        wanted = [table.counts.astype(np.float64) for table in tables]
        for _ in range(_TO_POPULATION):
            weights = raked(weights, places, wanted, total, _SWEEPS)[0]
            held = [np.bincount(at, weights, len(table)) for at, table in zip(places, wanted, strict=True)]
            if all(np.abs(now - table).max() < _APART * total for now, table in zip(held, wanted, strict=True)):
                return weights
        message = f"{len(codes):,} records have no weights with all known totals of the population"
        raise ConfigError(message, remedy="draw more records")


@dataclass(frozen=True, eq=False)
class _Inside:
    """Where in their bins records lie: for each column of bins their codes, and their numbers.

    A hypothesis tells counts of bins; mean positions inside come from elsewhere (`Release.mean_positions`) and have
    errors of their own. A replicate has them drawn anew: the weights of a bin's records are tilted,
    ``w (1 + d (x - mean) / variance)``, which moves their mean by d and keeps their sum.
    """

    columns: list[tuple[Binned, Ints, Floats]]

    @classmethod
    def of(cls, records: Records) -> _Inside:
        if not any(isinstance(column, Binned) for column in records.domain.columns):
            return cls([])
        chunks = [columns for columns, _ in records.columns()]
        parts = [
            (
                each[0].attribute,
                np.concatenate([one.codes for one in each]),
                np.concatenate([one.numbers for one in each]),
            )
            for each in zip(*chunks, strict=True)
        ]
        return cls([(a, np.asarray(codes), np.asarray(x, float)) for a, codes, x in parts if isinstance(a, Binned)])

    def moved(self, weights: Floats, release: Release, target: Target, rng: np.random.Generator) -> Floats:
        """Weights with which mean positions differ as those of a replicate do.

        Args:
            weights: Those by the tables of the replicate, shape ``(n,)``.
            release: The release.
            target: For a population the records of a bin are a sample too.
            rng: What is drawn with.
        """
        errors = release.position_errors(rng) if self.columns else {}
        for column, codes, numbers in self.columns:
            if column.name not in errors:
                continue
            low, high = ends_of(column)
            inside = np.minimum(codes, column.ordinary)  # others than numbers are in a bin of their own
            x = np.zeros(len(codes))
            known = codes < column.ordinary
            x[known] = (numbers[known] - low[codes[known]]) / np.maximum(high - low, _TINY)[codes[known]]
            held = np.maximum(np.bincount(inside, weights, column.ordinary + 1), _TINY)
            mean = np.bincount(inside, weights * x, column.ordinary + 1) / held
            spread = np.bincount(inside, weights * np.square(x - mean[inside]), column.ordinary + 1) / held
            moves = np.append(errors[column.name], 0.0)
            if target == "population":
                moves = moves + rng.normal(0.0, np.sqrt(spread / held))
            step = np.divide(moves, spread, out=np.zeros_like(moves), where=spread > _NARROW)
            factor = np.maximum(1.0 + step[inside] * (x - mean[inside]), 0.0)
            weights = weights * factor
            weights = weights * (held / np.maximum(np.bincount(inside, weights, column.ordinary + 1), _TINY))[inside]
        return weights


def _weights(calibrated: _Calibrated, runs: Sequence[Release], target: Target, seed: int) -> Floats | None:
    """Replicate weights, shape ``(n, runs)``; None where hypotheses are made of records."""
    release, codes = calibrated.release, calibrated.records.codes
    reweighing = None if isinstance(release.model, Empirical) else _Reweighing.of(release, calibrated.records)
    if reweighing is None or not (reweighing.scopes or reweighing.state):
        return None
    columns, inside = [], _Inside.of(calibrated.records)
    for number, each in enumerate(runs):
        run = replace(each, model=each.held)
        weights = calibrated.of_replicate(codes, reweighing.weights(run), run)
        weights = inside.moved(weights, release, target, numbered(seed, len(runs) + number))
        columns.append(calibrated.of_population(codes, weights))
    return np.column_stack(columns)


def _scopes(columns: Sequence[str | Sequence[str]]) -> list[Clique]:
    """The columns of each table."""
    names = [name for name in columns if isinstance(name, str)]
    if len(names) == len(columns):
        return [tuple(names)] if names else []
    return [(each,) if isinstance(each, str) else tuple(each) for each in columns]


def _weighed(statistic: Statistic, weights: Floats, table: pa.Table) -> ArrayLike:
    return statistic(table, weights)


def _needed(statistic: Callable[[pa.Table], ArrayLike], table: pa.Table, raw: Floats) -> list[str]:
    """The columns that a statistic is not the same without: halves are left out, then halves of what is needed."""

    def is_same(kept: Collection[str]) -> bool:
        part = table.select([name for name in table.column_names if name in kept])
        try:
            found = np.asarray(statistic(part), dtype=np.float64)
        except Exception:  # noqa: BLE001 - what a statistic raises without a column is its own
            return False
        return np.array_equal(found, raw, equal_nan=True)

    def needed(among: list[str], others: list[str]) -> list[str]:
        if is_same(others):
            return []
        if len(among) == 1:
            return among
        half = len(among) // 2
        later = needed(among[half:], [*others, *among[:half]])
        return [*needed(among[:half], [*others, *later]), *later]

    return needed(table.column_names, [])


def _taken(table: pa.Table, places: Mapping[str, Ints]) -> pa.Table:
    """A table with values of other records in some columns."""
    for name, each in places.items():
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), table.field(name), table[name].take(each))
    return table


def _state(release: Release) -> Potentials | None:
    model = release.held.state() if isinstance(release.held, StoredModel) else release.held
    state = model.potentials() if isinstance(model, HasPotentials) else model
    return state if isinstance(state, Potentials) and state.base is None else None
