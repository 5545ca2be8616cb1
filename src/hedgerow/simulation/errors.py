"""Errors of a release, estimated by running its mechanism again on tables that are drawn from it.

A release names its mechanism, the configuration and the budget, and its hypothesis is a model of the data. So the whole
run can be done again, with fresh noise, on records drawn from the hypothesis, whose true answers are known: the errors
of such runs say how large those of the release are (the parametric bootstrap; B. Efron and R. Tibshirani, "An
Introduction to the Bootstrap", 1993, section 6.5; for private releases C. Ferrando, S. Wang, D. Sheldon, "Parametric
Bootstrap for Differentially Private Confidence Intervals", AISTATS 2022). It reads no private record and costs
nothing. It also proves nothing: the data may depend in ways that the hypothesis does not have (`unseen`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from hedgerow.algorithms.registry import made_by
from hedgerow.algorithms.shared import Algorithm, moments_of, open_curator
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models import Answering, Model
from hedgerow.privacy import SeededNoise
from hedgerow.queries import LinearQuery, Measurement, NoiseKind, answered, parse_predicate
from hedgerow.release import (
    MOST_TOGETHER,
    Method,
    Release,
    StoredModel,
    check_confidence,
    model_to_dict,
    within_possible,
)
from hedgerow.simulation.drawn import DrawnRecords, counted_by
from hedgerow.simulation.uneven import Uneven
from hedgerow.simulation.unseen import VARIES, Seen, excess, widened
from hedgerow.system import Seed, generator, numbered

RUNS = 20
"""Simulated runs unless another number is asked for."""

ESTIMATED = "estimated, not proved"
"""The label of every figure that rests on simulated runs."""

_INSIDE = "it cuts blocks of cells that were measured together, inside which nobody counted"
"""Added to the label of answers that rest on how records spread inside blocks."""

_BEFORE_RUNS = ("learn", "positions", "need", "try", "criterion")
"""Labels of events that pay for what is no part of the run of a release: its domain, positions in bins, needs, the
choice among several runs, and the test of its criteria."""
_KEPT_BYTES = 1 << 28
"""Drawn records that are kept between questions, of all runs together; more are drawn again when something is asked."""

StepCallback = Callable[[int, int, str], None]
"""Called with the number of runs that are over, their number, and what runs now."""


@dataclass(frozen=True)
class Estimate:
    """An answer of a release with an interval that is estimated, not proved.

    Attributes:
        value: The answer of the release, in counts.
        low: Lower end of the estimated interval for the true answer on the private table.
        high: Upper end.
        error: Estimated mean absolute error, in counts.
        says: The label and the source of the interval, in words.
    """

    value: float
    low: float
    high: float
    error: float
    says: str


@dataclass(frozen=True, eq=False)
class SimulatedErrors:
    """Errors of simulated runs; made by `simulate_errors`, which explains them. Estimated, not proved.

    Attributes:
        release: The release that they are about.
        seed: Seed of the simulation.
        factor: Errors over simulated errors where nothing was measured; below 1 only for blocks (`unseen`).
        errors: Estimated mean L1 error of each candidate of the workload, in counts, shape ``(n_candidates,)``.
        deviations: Estimated root mean square error of each answer of the workload, in counts, shape ``(n_queries,)``.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 2) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 3, np.arange(900) // 300])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> simulated = simulate_errors(release, runs=5, seed=0)
        >>> simulated.errors.shape, simulated.widths(0.95).shape, simulated.to_dict()["label"]
        ((1,), (9,), 'estimated, not proved')
    """

    release: Release = field(repr=False)
    seed: int
    factor: float
    errors: Floats = field(repr=False)
    deviations: Floats = field(repr=False)
    _runs: tuple[_Run, ...] = field(repr=False)

    @property
    def runs(self) -> int:
        """Number of simulated runs."""
        return len(self._runs)

    @property
    def says(self) -> str:
        """The label of all figures, with their source."""
        return f"{ESTIMATED}: from {self.runs} simulated runs on tables drawn from the release"

    def missed(self, queries: Sequence[LinearQuery]) -> Floats:
        """Errors of the simulated runs: answer minus truth, as they are, in counts.

        Args:
            queries: Linear queries over the domain.

        Returns:
            Shape ``(runs, len(queries))``.
        """
        return np.array([run.missed(self.release, queries) for run in self._runs])

    def answer(self, query: str | LinearQuery, confidence: float = 0.95) -> Estimate:
        """Answer a counting query, with an interval that is estimated, not proved.

        Args:
            query: A condition in SQL (see ``parse_predicate``), or a linear query.
            confidence: Probability with which the interval should hold the true answer.

        Raises:
            QueryError: The text cannot be parsed, or a whole marginal is asked for.
            ConfigError: The confidence is not between 0 and 1.
        """
        return self.answers([query], confidence)[0]

    def answers(self, queries: Sequence[str | LinearQuery], confidence: float = 0.95) -> list[Estimate]:
        """Answer several counting queries at once, which is quicker; see `answer`."""
        domain = self.release.domain
        asked = [parse_predicate(query, domain) if isinstance(query, str) else query for query in queries]
        together = len(asked) <= MOST_TOGETHER
        values = [self.release.answer(query, confidence, together=together).value for query in asked]
        reach = self._reach(confidence)
        totals = np.array([run.model.total for run in self._runs]) - _records(self.release)
        most = self.release.total + reach * float(np.sqrt(np.mean(np.square(totals))))
        seen = Seen(domain, self.release.measurements)
        shares = np.array([seen.query(query) for query in asked])
        missed = self.missed(asked)
        radii = reach * widened(np.sqrt(np.mean(np.square(missed), axis=0)), shares, VARIES * self.factor)
        errors = widened(np.mean(np.abs(missed), axis=0), shares, self.factor)
        uneven, estimates = uneven_blocks(self.release), []
        for query, value, radius, error in zip(asked, values, radii.tolist(), errors.tolist(), strict=True):
            low, high = within_possible(query, value - radius, value + radius, max(value, most))
            says = f"{self.says}; {_INSIDE}" if uneven is not None and uneven.cuts(query) else self.says
            estimates.append(Estimate(value, low, high, error, says))
        return estimates

    def widths(self, confidence: float = 0.95) -> Floats:
        """Half-widths of the estimated intervals of the workload's answers, in counts, shape ``(n_queries,)``."""
        return np.asarray(self._reach(confidence) * self.deviations)

    def _reach(self, confidence: float) -> float:
        """Quantile of Student's law: a root mean square of few runs is uncertain itself."""
        return float(special.stdtrit(self.runs, 1.0 - 0.5 * check_confidence(confidence)))

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Summary for JSON, with the label."""
        return {
            "label": ESTIMATED,
            "runs": self.runs,
            "seed": self.seed,
            "factor": self.factor,
            "confidence": confidence,
            "mean_error": float(self.errors.mean()),
            "largest_error": float(self.errors.max()),
            "mean_half_width": float(self.widths(confidence).mean()),
        }


@dataclass(frozen=True, eq=False)
class _Run:
    """A simulated run.

    Attributes:
        seed: Seed of the records that it was about.
        model: The hypothesis that it released, as small as in a file.
        uneven: The blocks inside which its records were uneven.
        drawn: The records, or None where they are drawn again.
    """

    seed: tuple[int, int]
    model: StoredModel
    uneven: Uneven | None
    drawn: DrawnRecords | None

    def missed(self, release: Release, queries: Sequence[LinearQuery]) -> Floats:
        drawn = self.drawn or drawn_table(release, self.uneven, *self.seed)
        return _values(self.model.build(), queries) - _values(drawn.records, queries)


def _values(model: Model, queries: Sequence[LinearQuery]) -> Floats:
    values = Answering(model).values([query for query in queries if query.scope])
    rest = iter(values.tolist())
    return np.array([next(rest) if query.scope else query.of_table(np.array(model.total))[0] for query in queries])


def _records(release: Release) -> int:
    rows, times = counted_by(max(1, round(release.total)), release.budget.neighbours.persons)
    return rows * times


def uneven_blocks(release: Release) -> Uneven | None:
    """The blocks of a release inside which its hypothesis is even, and records seldom are."""
    return Uneven.of(release.domain, release.measurements, release.total)


def drawn_table(
    release: Release, uneven: Uneven | None, seed: int, number: int, method: Method = "independent"
) -> DrawnRecords:
    """Records of the hypothesis, as many as of the private table.

    Args:
        release: The release.
        uneven: Blocks inside which they are spread unevenly.
        seed: Seed of all tables.
        number: Number of this one.
        method: See `Release.sample`.
    """
    rng, persons = numbered(seed, 2 * number), release.budget.neighbours.persons
    drawn = DrawnRecords.of(release.model, max(1, round(release.total)), rng, persons, method)
    return (
        drawn
        if uneven is None
        else DrawnRecords(release.domain, uneven.scattered(drawn.records.codes, rng), persons, drawn.times)
    )


def run_again(release: Release, algorithm: Algorithm, drawn: DrawnRecords, rng: np.random.Generator) -> Release:
    """A whole run of a mechanism on drawn records, with what learning the domain and positions left of the budget.

    Args:
        release: The release.
        algorithm: Its mechanism, as it was configured.
        drawn: The records.
        rng: Source of the noise.
    """
    before = [event for event in release.events if event.label in _BEFORE_RUNS]
    samples, moments = algorithm.takes_samples, moments_of(release)
    moments = redrawn(moments, answered([each.target for each in moments], drawn.records), rng)
    curator = open_curator(
        drawn, release.workload, release.budget, SeededNoise(rng), samples=samples, events=before, moments=moments
    )
    return algorithm.run_with(curator, release.workload)


def redrawn(measured: Sequence[Measurement], exact: Sequence[Floats], rng: np.random.Generator) -> list[Measurement]:
    """Measurements and moments of other records: their exact answers with fresh noise of the same laws.

    Args:
        measured: The measurements.
        exact: Exact answers of each, in counts.
        rng: Source of the noise.
    """
    return [
        replace(each, values=values + fresh_noise(each.noise, each.scale, len(values), rng))
        for each, values in zip(measured, exact, strict=True)
    ]


def fresh_noise(kind: NoiseKind, scale: float, size: int, rng: np.random.Generator) -> Floats:
    """Continuous noise of a law, in counts, shape ``(size,)``."""
    return rng.laplace(0.0, scale, size) if kind is NoiseKind.LAPLACE else rng.normal(0.0, scale, size)


def simulate_errors(
    release: Release,
    runs: int = RUNS,
    *,
    seed: Seed = None,
    algorithm: Algorithm | None = None,
    progress: StepCallback | None = None,
) -> SimulatedErrors:
    """Estimate the errors of a release by runs of its mechanism on tables drawn from it.

    This is post-processing: it reads no private record and spends nothing. It takes as long as so many runs. What it
    gives is estimated, not proved: ``docs/intervals.md`` says how it differs from the intervals of ``release.answer``.

    Args:
        release: The release.
        runs: Number of simulated runs, at least 2.
        seed: Seed of drawn records and noise, for the same figures again; fresh by default.
        algorithm: The mechanism, as it was configured; restored from the release unless given.
        progress: Called before every run, and at the end.

    Raises:
        ConfigError: There are fewer than 2 runs, or the mechanism cannot be restored from the release.
        ModelTooLargeError: A hypothesis does not fit into memory.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 2) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 3, np.arange(900) // 300])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> simulated = simulate_errors(release, runs=5, seed=0)
        >>> found = simulated.answer("a > 0 and b = 1")
        >>> found.low <= 200 <= found.high, found.says
        (True, 'estimated, not proved: from 5 simulated runs on tables drawn from the release')
    """
    return _simulated(release, runs, uneven_blocks(release), seed=seed, algorithm=algorithm, progress=progress)


def _simulated(
    release: Release,
    runs: int,
    uneven: Uneven | None,
    *,
    seed: Seed,
    algorithm: Algorithm | None = None,
    progress: StepCallback | None = None,
) -> SimulatedErrors:
    if runs < 2:
        raise ConfigError(f"{runs} simulated runs show no spread", remedy="give a number from 2 on, such as 20")
    made = release.provenance
    config = made_by(made.algorithm, made.parameters) if algorithm is None else algorithm
    first = int(generator(seed).integers(2**62)) if not isinstance(seed, int) else seed
    workload = release.workload
    squares, sizes = np.zeros(workload.n_queries), np.zeros(workload.n_candidates)
    kept: list[_Run] = []
    keeps = runs * _records(release) * len(release.domain) <= _KEPT_BYTES
    for number in range(runs):
        if progress is not None:
            progress(number, runs, f"table {number + 1}")
        drawn = drawn_table(release, uneven, first, number)
        again = run_again(release, config, drawn, numbered(first, 2 * number + 1))
        missed = workload.answers(again.model) - workload.answers(drawn)
        squares += np.square(missed) / runs
        sizes += workload.candidate_errors(missed) / runs
        entry, arrays = model_to_dict(again.held)
        model = StoredModel(release.domain, again.total, entry, arrays)
        kept.append(_Run((first, number), model, uneven, drawn if keeps else None))
    if progress is not None:
        progress(runs, runs, "")
    shares = Seen(release.domain, release.measurements).candidates(workload)
    units = sizes / workload.sensitivities(release.budget.neighbours.single)
    factor = excess(units, shares, release.error, guessed=uneven is not None)
    errors = widened(sizes, shares, factor)
    deviations = widened(np.sqrt(squares), np.repeat(shares, workload.lengths), VARIES * factor)
    return SimulatedErrors(release, first, factor, errors, deviations, tuple(kept))


def unseen_factor(release: Release, runs: int = 4, *, seed: Seed = None, progress: StepCallback | None = None) -> float:
    """Errors over simulated errors where nothing was measured, for simulations with another budget.

    Those draw records from a model alone, which are even inside blocks; so are the records here.

    Args:
        release: The release.
        runs: Number of simulated runs; none is needed where the release did not buy its error.
        seed: Seed of drawn records and noise.
        progress: Called before every run, and at the end.
    """
    if release.error is None:
        return excess(np.zeros(0), np.zeros(0), None)
    return _simulated(release, runs, None, seed=seed, progress=progress).factor
