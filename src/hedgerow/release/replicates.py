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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.domain.measures import written
from hedgerow.engines import is_duckdb
from hedgerow.errors import ConfigError
from hedgerow.models import Codes, Empirical, HasPotentials, Potentials, cells_of
from hedgerow.release.answer import check_confidence
from hedgerow.release.content import StoredModel
from hedgerow.release.records import Records
from hedgerow.release.release import Release
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
_DIGITS = 6
"""Digits behind the point of weights: those in files are those in memory."""
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
    """

    value: NDArray[np.float64]
    raw: NDArray[np.float64]
    bias: NDArray[np.float64]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(
        cls, raw: ArrayLike, replicates: ArrayLike, confidence: float = 0.95, *, corrected: bool = True
    ) -> ReplicateEstimate:
        """Put estimates together.

        Corrected, the estimate is ``2 theta - mean of theta_r``, its error the standard deviation of the theta_r (the
        basic bootstrap: A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section
        5.2). Else it is theta, and its error the root mean square of ``theta_r - theta``, which holds the bias: what R
        gives with ``scale = 1 / N, rscales = 1, mse = TRUE``. Intervals have quantiles of Student's law.

        Args:
            raw: The statistic of the records, theta.
            replicates: That of each replicate, theta_r, along the first axis.
            confidence: Probability with which intervals should hold what is estimated.
            corrected: Whether the bias is taken off.

        Raises:
            ConfigError: The confidence is not between 0 and 1.

        Example:
            >>> found = ReplicateEstimate.of(5.0, [5.0, 6.0, 7.0])
            >>> float(found.value), float(found.bias), float(found.error)
            (4.0, 1.0, 1.0)
            >>> float(ReplicateEstimate.of(5.0, [5.0, 6.0, 7.0], corrected=False).error.round(3))
            1.291
        """
        theta, each = np.asarray(raw, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
        bias = each.mean(axis=0) - theta
        value = theta - bias if corrected else theta
        error = each.std(axis=0, ddof=1) if corrected else np.sqrt(np.mean((each - theta) ** 2, axis=0))
        reach = float(special.stdtrit(len(each) - 1, 1.0 - 0.5 * check_confidence(confidence)))
        return cls(value, theta, bias, error, value - reach * error, value + reach * error)


@dataclass(frozen=True, eq=False)
class Replicates:
    """Synthetic records and replicates of them; made by ``Release.replicates``.

    Attributes:
        release: The release.
        records: The records, each of which weighs ``weight``.
        runs: What the mechanism might have released, one for each replicate.
        target: What standard errors are about.
        weights: Replicate weights, shape ``(len(records), number)``; None where replicates are files.
        share: Effective share of the records under the replicate weights, ``sum(w)**2 / (n sum(w**2))``, in the mean;
            None where the hypothesis gives no weights.
        source: Where the replicates come from, in words.
        seed: Seed of the records of replicate files.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 2) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 3, np.arange(900) // 300])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> replicates = release.replicates(10, seed=0)
        >>> replicates.weights.shape, replicates.form
        ((900, 10), 'weights')
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
    source: str
    seed: int = field(repr=False)

    @classmethod
    def of(
        cls,
        release: Release,
        records: Records,
        runs: Sequence[Release],
        *,
        target: Target,
        files: bool | None,
        source: str,
        seed: int,
    ) -> Replicates:
        """Weights of the records where they are good ones; else files.

        Args:
            release: The release.
            records: Records of its hypothesis.
            runs: What the mechanism might have released.
            target: What the runs are like the release about.
            files: Whether files are wanted; None to choose.
            source: Where the runs come from, in words.
            seed: Seed of the records of replicate files.

        Raises:
            ConfigError: Weights are wanted where the hypothesis gives none.
        """
        weights = None if files else _weights(release, records, runs)
        if files is False and weights is None:
            raise ConfigError(
                "this hypothesis tells no probability of a record, so there are no replicate weights",
                remedy="ask for replicate files (files=True, --replicate-files)",
            )
        share = None
        if weights is not None:
            share = float(np.mean(weights.sum(axis=0) ** 2 / (len(weights) * (weights**2).sum(axis=0))))
            weights = np.round(weights, _DIGITS) if files is False or share >= LEAST_SHARE else None
        return cls(release, records, tuple(runs), target, weights, share, source, seed)

    @property
    def form(self) -> Literal["weights", "files"]:
        """Whether replicates are weights of the same records, or files of records of their own."""
        return "files" if self.weights is None else "weights"

    @property
    def number(self) -> int:
        """Number of replicates."""
        return len(self.runs)

    @property
    def weight(self) -> float:
        """What each record weighs: the number of records of the table, over that of the synthetic ones."""
        return self._weight_in(self.release)

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
        return f"{self.number} replicates for the {self.target}, {form}; {self.source}"

    @property
    def names(self) -> list[str]:
        """Names of the columns of weights: ``weight``, ``repweight_1`` and so on; with a prefix where one is taken."""
        names = ["weight", *(f"repweight_{number}" for number in range(1, self.number + 1))]
        taken = {column.name for column in written(self.release.domain)}
        return names if taken.isdisjoint(names) else [f"hedgerow_{name}" for name in names]

    @cached_property
    def weighted(self) -> Records:
        """The records with the columns of weights; of replicate files the one of the records themselves."""
        columns = [np.full(len(self.records), self.weight)]
        columns += [] if self.weights is None else list(self.weights.T)
        return self.records.with_columns(dict(zip(self.names, columns, strict=False)))

    def files(self) -> Iterator[Records]:
        """Records of each replicate, as many as of the release."""
        for number, run in enumerate(self.runs):
            yield replace(run, model=run.held).sample(len(self.records), numbered(self.seed, number))

    def _weight_in(self, run: Release) -> float:
        return round(run.total / len(self.records), _DIGITS)

    def estimate(self, statistic: Statistic, confidence: float = 0.95, *, corrected: bool = True) -> ReplicateEstimate:
        """Estimate anything that can be computed of weighted records, with a standard error and an interval.

        Args:
            statistic: Called with the records as an Arrow table and their weights, shape ``(n,)``; gives a number or an
                array. It is called once for the records and once for each replicate.
            confidence: See `ReplicateEstimate.of`.
            corrected: See `ReplicateEstimate.of`.

        Raises:
            ConfigError: The confidence is not between 0 and 1.
        """
        table, n = self.records.to_arrow(), len(self.records)
        raw = statistic(table, np.full(n, self.weight))
        if self.weights is not None:
            each = [np.asarray(statistic(table, weights)) for weights in self.weights.T]
        else:
            weighed = zip(self.files(), self.runs, strict=True)
            each = [np.asarray(statistic(drawn.to_arrow(), np.full(n, self._weight_in(run)))) for drawn, run in weighed]
        return ReplicateEstimate.of(raw, each, confidence, corrected=corrected)

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
            for place, run, records in zip(places[1:], self.runs, self.files(), strict=True):
                records.with_columns({self.names[0]: np.full(len(records), self._weight_in(run))}).write(place)
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
            "source": self.source,
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
        places: The cell of each record in each table, shape ``(tables, n)``.
        ratios: For each table the number of records in each cell over what the hypothesis has there.
    """

    codes: Codes
    state: Potentials | None
    scopes: list[Clique]
    places: Ints
    ratios: list[Floats]

    @classmethod
    def of(cls, release: Release, records: Records) -> _Reweighing:
        domain, state = release.domain, _state(release)
        asked = state.tables if state else dict.fromkeys(each.target.scope for each in release.measurements)
        scopes = [scope for scope in asked if scope and math.prod(domain.shape_of(scope)) <= _LARGEST]
        codes = Empirical(domain, release.total, records.codes).codes
        places = cells_of(domain, codes, scopes)
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
        weights = weighed.masses()
        tables = [table.reshape(-1) for table in run.model.marginals(self.scopes)]
        for _ in range(_SWEEPS if before else _SWEEPS_ALONE):
            for places, table, ratio in zip(self.places, tables, self.ratios, strict=True):
                wanted, held = table * ratio, np.bincount(places, weights, len(table))
                wanted *= run.total / wanted.sum()
                weights = weights * np.divide(wanted, held, out=np.ones(len(held)), where=held > 0.0)[places]
        return np.asarray(weights * (run.total / weights.sum()))


def _weights(release: Release, records: Records, runs: Sequence[Release]) -> Floats | None:
    """Replicate weights, shape ``(n, runs)``; None where hypotheses are made of records."""
    if isinstance(release.model, Empirical) or not len(records):
        return None
    reweighing = _Reweighing.of(release, records)
    if not (reweighing.scopes or reweighing.state):
        return None
    return np.column_stack([reweighing.weights(replace(run, model=run.held)) for run in runs])


def _state(release: Release) -> Potentials | None:
    model = release.held.state() if isinstance(release.held, StoredModel) else release.held
    state = model.potentials() if isinstance(model, HasPotentials) else model
    return state if isinstance(state, Potentials) and state.base is None else None
