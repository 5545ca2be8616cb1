"""Regressions on a release: coefficients of weighted records with errors from replicates, or from noisy sums alone.

By replicates the estimate is what weighted maximum likelihood gives on the records, less the bias that replicates show;
its error is how the coefficients vary over replicates (`hedgerow.replicate`). Which tables the coefficients follow from
is traced first (theory.md, section 21): where one was never measured, there is no interval. Least squares need sums of
products alone, and where these were measured they are solved for directly (`moments`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hedgerow.arrays import Floats
from hedgerow.cards import card
from hedgerow.errors import ConfigError
from hedgerow.inference.fitting import FAMILIES, Design, ModelFamily, check_rank, fitted, means, separated
from hedgerow.inference.moments import FromSums
from hedgerow.queries import Formula, require_regressions
from hedgerow.release import Release, ReplicateEstimate, Replicates, Target, Traced, check_confidence, traced
from hedgerow.simulation import REPLICATES, check_population, replicate
from hedgerow.system import Seed

Source = Literal["moments", "replicates"]
"""What coefficients and errors come from."""
BEYOND = 4.0
"""Standard errors of the number of its records below which a group gives no coefficient."""

_SUMS = "From measured sums of products of the columns"
_SOURCES: dict[tuple[bool, Target], str] = {
    (True, "file"): f"{_SUMS}, without a fit; no records are used.",
    (True, "population"): f"{_SUMS}, without a fit; the sampling error alone is that of synthetic records.",
    (False, "file"): f"{_SUMS}: synthetic records are weighed to have these; how the model bends is theirs.",
    (False, "population"): f"{_SUMS}: synthetic records are weighed to have these; how the model bends and the "
    "sampling error are theirs.",
}


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients with standard errors, intervals and p-values.

    Attributes:
        formula: The formula.
        family: ``"linear"``, ``"logistic"`` (log odds) or ``"poisson"`` (logarithms of rates).
        names: Names of the coefficients.
        estimate: Their estimates, errors and intervals, arrays in this order; not a number where nothing can be said.
        p_values: Two-sided p-values of each coefficient being 0, by Student's law.
        confidence: Confidence of each interval.
        target: What they are about.
        replicates: What the errors come from; None where it is measured sums.
        traced: The tables that the coefficients follow from, and those of them that are missing.
        covariance: Of their errors; of replicates without the factor ``1 + 1 / N`` of the errors.
        notes: What the intervals leave out.
    """

    formula: str
    family: ModelFamily
    names: list[str]
    estimate: ReplicateEstimate
    p_values: Floats
    confidence: float
    target: Target
    replicates: Replicates | None = field(repr=False)
    traced: Traced
    covariance: Floats = field(repr=False)
    notes: tuple[str, ...]

    headings = ("coefficient", "estimate", "error", "low", "high", "p")

    def __repr__(self) -> str:
        """The table of coefficients, as text."""
        rows = [self.headings, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return "\n".join([self.title, *lines, *self.notes])

    def _repr_html_(self) -> str:
        """The table of coefficients, for notebooks."""
        return card(self.title, [("note", note) for note in self.notes], self.headings, self.rows())

    @property
    def source(self) -> Source:
        """What coefficients and errors come from."""
        return "moments" if self.replicates is None else "replicates"

    @property
    def title(self) -> str:
        """What it is, in one line."""
        about = "the population" if self.target == "population" else "the table itself"
        return f"{self.family} regression: {self.formula}, for {about}, {100 * self.confidence:g} % intervals"

    def rows(self) -> list[tuple[str, ...]]:
        """A row of texts for each coefficient, under ``headings``."""
        found = self.estimate
        columns = zip(found.value, found.error, found.low, found.high, self.p_values, strict=True)
        forms = ("{:.4g}",) * 4 + ("{:.3g}",)
        return [
            (name, *(form.format(x) if np.isfinite(x) else "-" for form, x in zip(forms, row, strict=True)))
            for name, row in zip(self.names, columns, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Summary for JSON."""
        found = self.estimate
        columns = zip(
            self.names, found.value, found.raw, found.error, found.low, found.high, self.p_values, strict=True
        )
        keys = ("name", "value", "raw", "error", "low", "high", "p")
        return {
            "formula": self.formula,
            "family": self.family,
            "for": self.target,
            "source": self.source,
            "confidence": self.confidence,
            "coefficients": [dict(zip(keys, (name, *map(float, row)), strict=True)) for name, *row in columns],
            **self.traced.to_dict(),
            "notes": list(self.notes),
            "replicates": None if self.replicates is None else self.replicates.to_dict(),
        }


def regress(
    release: Release | Replicates,
    formula: str,
    family: ModelFamily = "linear",
    *,
    target: Target = "population",
    source: Source | None = None,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
    seed: Seed = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Regression:
    """Fit a regression to a release: estimates, standard errors, intervals and p-values that know of all noise.

    It costs no budget. ``docs/replicates.md`` says how often the intervals hold.

    Args:
        release: The release; or replicates of it, for several statistics from the same ones.
        formula: As in R: ``"income ~ age + C(race) + hours:sex"``. Labels are categories, ``C(age)`` makes some of
            numbers, and an outcome of two labels is the second one. A formula can call functions of numpy, so treat a
            formula of others as code.
        family: ``"linear"`` for least squares, ``"logistic"`` for an outcome of two values, ``"poisson"`` for counts.
        target: See `replicate`; not with replicates.
        source: ``"moments"`` for coefficients from measured sums, where terms are numbers, labels and their
            interactions, or ``"replicates"``. By default moments wherever measurements tell them, for their intervals
            hold more often.
        replicates: Their number, from 2 on; likewise.
        confidence: Probability with which each interval should hold the coefficient.
        seed: See `replicate`; likewise.
        progress: See `replicate`; likewise.

    Returns:
        The coefficients. Where a table that they follow from was not measured, or with much noise beside the records
        of its cells, they have no error and no interval, and ``notes`` says which it is.

    Raises:
        QueryError: The formula is not understood.
        ConfigError: The family is unknown or does not fit the outcome; a coefficient is not determined, or not by
            moments, which are wanted; see `replicate`.
        MissingExtraError: The extra ``regress`` is not installed.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in ("smokes", "ill"))
        >>> rng = np.random.default_rng(0)
        >>> smokes = rng.integers(0, 2, 5000)
        >>> table = hedgerow.Table(domain, [smokes, (rng.random(5000) < 0.1 + 0.2 * smokes).astype(int)])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> found = regress(release, "ill ~ smokes", "logistic", seed=0)
        >>> bool(found.estimate.low[1] < 1.35 < found.estimate.high[1])
        True
    """
    require_regressions()
    if family not in FAMILIES:
        raise ConfigError(f"a family {family!r}", remedy=f"give one of {', '.join(FAMILIES)}")
    of = release.release if isinstance(release, Replicates) else release
    read = Formula.parse(formula, of.domain)
    form = "logistic" if family == "logistic" else "regression"
    found = traced(of, read.tables, f"{form}: {formula}")
    if isinstance(release, Release) and source != "replicates":
        solved = _by_moments(of, read, family, found=found, target=target, confidence=confidence, seed=seed)
        if solved is not None:
            return solved
    if source == "moments":
        raise ConfigError(
            f"the sums that {formula!r} follows from were not measured, or with too much noise",
            remedy=f"ask for them: {found.price or repr(f'regression: {formula}') + ' in the workload'}; terms are "
            "numbers, labels and their interactions",
        )
    if isinstance(release, Release):
        release = replicate(release, replicates, target=target, seed=seed, progress=progress)
    made = Design.of(read, family, release.records.to_arrow(), of.domain, weights=release.weight)
    check_rank(made, made.summed(release.weight))
    estimate, small = _estimate(release, read, made, family, confidence=confidence, found=found)
    notes = (*estimate.notes, *_notes(release, read, made, family, estimate))
    if estimate.notes and np.isnan(estimate.error).any():
        estimate = estimate.without(True)
    else:
        estimate = _without_small(estimate, made, small)
        notes += estimate.notes
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(estimate.value) / estimate.error
    p_values = 2.0 * special.stdtr(release.number - 1, -t)
    covariance = np.atleast_2d(np.cov(estimate.replicates, rowvar=False))
    return Regression(
        formula, family, made.names, estimate, p_values, confidence, release.target, release, found, covariance, notes
    )


def _by_moments(
    release: Release,
    formula: Formula,
    family: ModelFamily,
    *,
    found: Traced,
    target: Target,
    confidence: float,
    seed: Seed,
) -> Regression | None:
    """Coefficients from measured sums; None where these do not tell them.

    For the population the sampling error is added: that of the synthetic records about these coefficients, whatever
    the law of the residuals (H. White, Econometrica, 1980).
    """
    if target == "population":
        check_population(release)
    if release.domain.population:
        return None  # measured sums are of the weights that count; replicates are calibrated
    records = release.sample(None, seed)
    design = Design.of(formula, family, records.to_arrow(), release.domain)
    weights = design.summed(np.full(len(records), release.total / len(records)))
    solved = FromSums.of(release, formula, design, family, weights)
    if solved is None:
        return None
    value, covariance = solved.raw - solved.bias, solved.covariance
    if target == "population":
        apart = design.left * (design.right - means(design, value, family)[0])[:, None]
        covariance = covariance + solved.inverse @ (apart.T * weights) @ apart @ solved.inverse
    error = np.sqrt(np.diag(covariance))
    reach = -float(special.ndtri(check_confidence(confidence) / 2.0)) * error
    none = np.empty((0, len(value)))
    estimate = ReplicateEstimate(value, solved.raw, solved.bias, error, value - reach, value + reach, none, found)
    sizes = design.sizes(weights, design.groups)
    sampled = np.sqrt(sizes) if target == "population" else np.zeros_like(sizes)
    estimate = _without_small(estimate, design, _small(design, sizes, sampled))
    p_values = 2.0 * special.ndtr(-np.abs(value) / estimate.error)
    notes = (_SOURCES[family == "linear", target], *estimate.notes)
    return Regression(
        formula.text, family, design.names, estimate, p_values, confidence, target, None, found, covariance, notes
    )


def _estimate(
    replicates: Replicates,
    formula: Formula,
    design: Design,
    family: ModelFamily,
    *,
    confidence: float,
    found: Traced,
) -> tuple[ReplicateEstimate, NDArray[np.bool_]]:
    """Coefficients of the records and of each replicate, whose rows are made anew where it has records of its own.

    Returns:
        The coefficients, and whether a group that one compares does not stand out of the errors.
    """
    number, own = len(design.names), list[Any]()

    def both(records: Any, weights: Floats) -> Floats:
        own[:] = own or [records]
        same = records is own[0]
        rows = design if same else Design.of(formula, family, records, replicates.release.domain, like=design)
        summed = rows.summed(weights)
        return np.concatenate([fitted(rows, summed, family), rows.sizes(summed, design.groups)])

    estimate = replicates.estimate(both, confidence, columns=found)
    return _part(estimate, slice(number)), _small(design, estimate.raw[number:], estimate.error[number:])


def _small(design: Design, sizes: Floats, errors: Floats) -> NDArray[np.bool_]:
    """Whether a group that a coefficient compares does not stand out of the errors of its number of records."""
    small = np.zeros(len(design.names), dtype=np.bool_)
    for group, size, error in zip(design.groups, sizes, errors, strict=True):
        small[group.rests] |= bool(size <= BEYOND * error)
    return small


def _without_small(estimate: ReplicateEstimate, design: Design, small: NDArray[np.bool_]) -> ReplicateEstimate:
    """The estimates without intervals of coefficients that compare small groups, with a note that says so."""
    if not small.any():
        return estimate
    names = ", ".join(name for name, is_small in zip(design.names, small, strict=True) if is_small)
    few = f"No interval for {names}: a group that it compares is below {BEYOND:g} standard errors of its number of "
    return estimate.without(small, few + "records. Release it together with others, or leave it out.")


def _part(estimate: ReplicateEstimate, kept: slice) -> ReplicateEstimate:
    """Some of the estimates."""
    return replace(
        estimate,
        value=estimate.value[..., kept],
        raw=estimate.raw[..., kept],
        bias=estimate.bias[..., kept],
        error=estimate.error[..., kept],
        low=estimate.low[..., kept],
        high=estimate.high[..., kept],
        replicates=estimate.replicates[..., kept],
    )


def _notes(
    replicates: Replicates, formula: Formula, design: Design, family: ModelFamily, estimate: ReplicateEstimate
) -> tuple[str, ...]:
    """What is left out, in sentences."""
    notes, found = list[str](), estimate.traced
    if separated(design, estimate.raw, family):
        notes.append(
            "Some groups have all their records in one of the outcomes, so that coefficients have no end: "
            "take fewer or coarser columns."
        )
    together = traced(replicates.release, [formula.explaining]).missing if family != "linear" else ()
    if together and found is not None and not found.missing:
        notes.append(
            f"The intervals leave out how {', '.join(together[0])} go together beyond their pairs, which nobody "
            "measured: the coefficients depend on it a little."
        )
    lost = int(((design.places < 0) & (replicates.weight > 0.0)).sum())
    if lost:
        notes.append(f"{lost:,} of {len(design.places):,} records lack a value of a column and are left out.")
    return tuple(notes)
