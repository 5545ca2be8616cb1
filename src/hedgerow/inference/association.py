"""Tests whether two columns are independent in the population, and how far apart groups are.

**Chi-square.** The statistic is Pearson's with the noise in its denominators, ``sum (x - e)^2 / (e + v)`` over the
cells of the noisy table x, with e the product of its margins and v the variance of the noise (M. Gaboardi and others,
"Differentially Private Chi-Squared Hypothesis Testing", ICML 2016; R. Rogers and D. Kifer, "A New Class of Private
Chi-Square Hypothesis Tests", AISTATS 2017). Its law is not taken for that of chi-square: tables are drawn from the
product of the margins, get noise of the same law, and are treated alike (theory.md, section 21).

**Means.** Differences between groups come from a regression, and so does an F test of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import special

from hedgerow.arrays import Floats
from hedgerow.cards import card
from hedgerow.domain import Attribute, Clique, Domain, Ordered, possible_cells, summed
from hedgerow.errors import ConfigError, QueryError
from hedgerow.inference.regression import BEYOND, regress
from hedgerow.queries import Marginal, Measurement, NoiseKind, in_workload
from hedgerow.release import Release, check_confidence, runs, traced
from hedgerow.simulation import REPLICATES, check_population
from hedgerow.system import Seed, generator

Kind = Literal["chi-square", "means"]
DRAWS = 2_000
"""Tables that are drawn under independence."""


@dataclass(frozen=True)
class Effect:
    """How far apart two groups are.

    Attributes:
        name: What is compared.
        value: The estimate.
        error: Its standard error; not a number where nothing can be said, and so the ends.
        low: Lower end of the interval.
        high: Upper end.
    """

    name: str
    value: float
    error: float
    low: float
    high: float


@dataclass(frozen=True)
class Tested:
    """A test of independence.

    Attributes:
        kind: ``"chi-square"`` or ``"means"``.
        pair: The columns.
        statistic: Its value; not a number where nothing can be said.
        p_value: Probability of one as large where the columns are independent, likewise.
        effects: Log odds ratio of a table of four cells, or differences of the means of groups from the first one's.
        confidence: Confidence of their intervals.
        notes: How it was found, and what is missing.
    """

    kind: Kind
    pair: tuple[str, str]
    statistic: float
    p_value: float
    effects: tuple[Effect, ...]
    confidence: float
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The result in one line."""
        name = "chi-square" if self.kind == "chi-square" else "F"
        said = f"{name} {self.statistic:.4g}, p = {self.p_value:.3g}" if np.isfinite(self.p_value) else "no test"
        return f"independence of {self.pair[0]} and {self.pair[1]} in the population: {said}"

    headings = ("effect", "estimate", "error", "low", "high")

    def rows(self) -> list[tuple[str, ...]]:
        """A row of texts for each effect, under `headings`."""
        return [
            (each.name, *(f"{x:.4g}" if np.isfinite(x) else "-" for x in (each.value, each.error, each.low, each.high)))
            for each in self.effects
        ]

    def __repr__(self) -> str:
        """The result, effects and notes, as text."""
        return "\n".join([self.title, *("  ".join(row) for row in self.rows()), *self.notes])

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        headings = self.headings if self.effects else ()
        return card(self.title, [("note", note) for note in self.notes], headings, self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Summary for JSON."""
        return {
            "kind": self.kind,
            "columns": list(self.pair),
            "statistic": self.statistic,
            "p": self.p_value,
            "confidence": self.confidence,
            "effects": [asdict(each) for each in self.effects],
            "notes": list(self.notes),
        }


def test(
    release: Release,
    one: str,
    other: str,
    *,
    kind: Kind | None = None,
    confidence: float = 0.95,
    replicates: int = REPLICATES,
    seed: Seed = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Tested:
    """Test whether two columns are independent in the population that the table is a random sample of.

    The noise of privacy is part of the test, so that its level holds; it costs no budget.

    Args:
        release: The release.
        one: A column, or a level of one or another derived attribute.
        other: Another one.
        kind: ``"chi-square"`` for the table of the two, or ``"means"`` for the means of a numeric column in the groups
            of the other; by default means where one of them is numeric.
        confidence: Probability with which each interval of an effect should hold it.
        replicates: Number of replicates, for means.
        seed: Seed of what is drawn; fresh by default.
        progress: See `hedgerow.replicate`; for means.

    Returns:
        The test. Where the table of the two was never measured there is none, and ``notes`` says what asks for it.

    Raises:
        QueryError: There is no such column, or rules exclude pairs of values.
        ConfigError: The kind is unknown; means are wanted of two columns that are both numeric or both not; the
            confidence is not between 0 and 1; persons have several records, or weights.
        MissingExtraError: Means are wanted, and the extra ``regress`` is not installed.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.Categorical(name, ("no", "yes")) for name in ("smokes", "ill"))
        >>> rng = np.random.default_rng(0)
        >>> smokes = rng.integers(0, 2, 5000)
        >>> table = hedgerow.Table(domain, [smokes, (rng.random(5000) < 0.1 + 0.2 * smokes).astype(int)])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> found = hedgerow.test(release, "smokes", "ill", seed=0)
        >>> found.p_value < 0.01, found.effects[0].low < 1.35 < found.effects[0].high
        (True, True)
    """
    check_confidence(confidence)
    check_population(release)
    domain = release.domain
    numeric = [isinstance(domain[name], Ordered) and name in domain.names for name in (one, other)]
    if one == other:
        raise QueryError(f"{one!r} and itself", remedy="name two columns")
    for name, by in ((one, other), (other, one)):
        if domain.determines((by,), name):
            raise QueryError(f"{name!r} is a level of {by!r}", remedy="name columns of which neither tells the other")
    if kind not in (None, *get_args(Kind)):
        raise ConfigError(f"a kind of test {kind!r}", remedy=f"give one of {', '.join(get_args(Kind))}")
    chosen = kind or ("means" if numeric[0] != numeric[1] else "chi-square")
    if chosen == "means":
        if numeric[0] == numeric[1]:
            both = "both numeric" if numeric[0] else "both without numbers"
            raise ConfigError(f"{one!r} and {other!r} are {both}", remedy="use kind='chi-square', or regress")
        groups, number = (other, one) if numeric[0] else (one, other)
        made = {"replicates": replicates, "confidence": confidence, "seed": seed, "progress": progress}
        return _means(release, groups, number, made)
    return _chi_square(release, (one, other), confidence, generator(seed))


def _chi_square(release: Release, pair: tuple[str, str], confidence: float, rng: np.random.Generator) -> Tested:
    """Test by the noisy table of two columns."""
    domain = release.domain
    scope = domain.clique(pair)
    possible = possible_cells(domain, scope)
    if possible is None or not possible.all():
        raise QueryError(f"rules exclude pairs of {pair[0]} and {pair[1]}", remedy="they are not independent")
    table = _NoisyTable.of(release, scope)
    if table is None:
        asked = f"marginals:{'*'.join(map(in_workload, scope))}"
        note = f"No test: it {traced(release, [scope], asked).says or f'needs the table: {asked!r} asks for it'}."
        return Tested("chi-square", pair, np.nan, np.nan, (), confidence, (note,))
    if not _product(table.counts).any():
        note = f"No test: {table.measured} has no records that stand out of its noise."
        return Tested("chi-square", pair, np.nan, np.nan, (), confidence, (note,))
    statistic, drawn = table.statistic(table.counts), table.under_independence(DRAWS, rng)
    p_value = (1.0 + float((drawn >= statistic).sum())) / (1.0 + DRAWS)
    effects = (table.log_odds(pair, confidence),) if table.counts.shape == (2, 2) else ()
    noise = f"from {table.measured} with noise of {np.sqrt(table.variance.max()):,.1f} records a cell"
    note = f"By {DRAWS:,} tables drawn under independence, with the same noise: {noise}."
    return Tested("chi-square", pair, statistic, p_value, effects, confidence, (note,))


@dataclass(frozen=True, eq=False)
class _NoisyTable:
    """An unbiased table of the records with values in two columns: measured tables, averaged by inverse variances.

    Attributes:
        counts: The table, two axes.
        parts: Of each measured table the share, the kind and scale of its noise, and how many noises each cell adds up.
        measured: What was measured, in words.
    """

    counts: Floats
    parts: tuple[tuple[float, NoiseKind, float, Floats], ...]
    measured: str

    @classmethod
    def of(cls, release: Release, scope: Clique) -> _NoisyTable | None:
        """The most precise one of the measurements between which nothing was chosen."""
        domain = release.domain
        found = [[each for each in run if _holds(each, scope)] for run in runs(release.events, release.measurements)]
        tables = [cls._averaged(domain, scope, run) for run in found if run]
        return min(tables, key=lambda table: float(table.variance.mean()), default=None)

    @classmethod
    def _averaged(cls, domain: Domain, scope: Clique, run: list[Measurement]) -> _NoisyTable:
        known = np.ix_(*(_known(domain[name]) for name in scope))

        def held(measured: Measurement, values: Floats) -> Floats:
            names = measured.target.scope
            return summed(domain, values.reshape(domain.shape_of(names)), names, scope)[known]

        copies = [held(each, np.ones(each.target.size)) for each in run]
        precisions = np.array([1.0 / (max(each.std**2, 1e-12) * k.mean()) for each, k in zip(run, copies, strict=True)])
        shares = precisions / precisions.sum()
        counts = np.sum([share * held(each, each.values) for each, share in zip(run, shares, strict=True)], axis=0)
        parts = [(float(s), each.noise, each.scale, k) for s, each, k in zip(shares, run, copies, strict=True)]
        return cls(counts, tuple(parts), ", ".join(each.target.text for each in run))

    @property
    def variance(self) -> Floats:
        """Variance of the noise of each cell; of levels some hold more measured cells than others."""
        each = ((1.0 if kind is NoiseKind.GAUSSIAN else 2.0) * scale**2 * k * s**2 for s, kind, scale, k in self.parts)
        return np.asarray(np.sum(list(each), axis=0), dtype=np.float64)

    def statistic(self, tables: Floats) -> Any:
        """The statistic of tables, along their last two axes."""
        expected = _product(tables)
        return (np.square(tables - expected) / (expected + self.variance + 1e-9)).sum(axis=(-2, -1))

    def under_independence(self, draws: int, rng: np.random.Generator) -> Floats:
        """Statistics of tables of samples of a population in which the columns are independent."""
        shares = _product(self.counts).reshape(-1)
        drawn = rng.multinomial(max(1, round(float(self.counts.sum()))), shares / shares.sum(), draws).astype(
            np.float64
        )
        for share, kind, scale, number in self.parts:
            copies = np.broadcast_to(number.reshape(-1), drawn.shape)
            if kind is NoiseKind.GAUSSIAN:
                noise = rng.normal(0.0, scale * np.sqrt(copies))
            else:  # a sum of Laplace variables is a difference of two of Gamma's law
                noise = rng.gamma(copies, scale) - rng.gamma(copies, scale)
            drawn += share * noise
        return np.asarray(self.statistic(drawn.reshape(draws, *self.counts.shape)))

    def log_odds(self, pair: tuple[str, str], confidence: float) -> Effect:
        """The logarithm of the odds ratio of a table of four cells, by the delta method; sampling and noise add up."""
        name = f"log odds ratio of {pair[0]} and {pair[1]}"
        low_cells = BEYOND * np.sqrt(self.variance + np.maximum(self.counts, 1.0))
        if (self.counts < low_cells).any():
            return Effect(f"{name} (a cell is too small)", np.nan, np.nan, np.nan, np.nan)
        (a, b), (c, d) = self.counts
        value = float(np.log(a * d / (b * c)))
        error = float(np.sqrt(((self.counts + self.variance) / self.counts**2).sum()))
        reach = -float(special.ndtri((1.0 - confidence) / 2.0)) * error
        return Effect(name, value, error, value - reach, value + reach)


def _known(attribute: Attribute) -> list[int]:
    """The codes that are values."""
    return [code for code in range(attribute.size) if code != attribute.missing_code]


def _holds(measured: Measurement, scope: Clique) -> bool:
    """Whether a table over attributes or levels tells that of others."""
    target = measured.target
    is_table = isinstance(target, Marginal) and target.within is None
    return is_table and all(target.domain.determines(target.scope, name) for name in scope)


def _product(tables: Floats) -> Floats:
    """Products of margins over the total, along the last two axes; negative margins count as nothing."""
    rows = np.maximum(tables.sum(axis=-1, keepdims=True), 0.0)
    columns = np.maximum(tables.sum(axis=-2, keepdims=True), 0.0)
    totals = np.sqrt(rows.sum(axis=-2, keepdims=True) * columns.sum(axis=-1, keepdims=True))
    return np.asarray(rows * columns / np.maximum(totals, 1.0))


def _means(release: Release, groups: str, number: str, made: dict[str, Any]) -> Tested:
    """Test by the means of groups."""
    found = regress(release, f"`{number}` ~ C(`{groups}`)", **made)
    estimate, replicates = found.estimate, found.replicates
    told = found.traced.suffices or replicates is None
    kept = np.isfinite(estimate.error[1:]) | (not told)
    statistic, p_value, notes = np.nan, np.nan, list(found.notes)
    several = int(kept.sum())
    rest = np.inf if replicates is None else replicates.number - several
    if several < 1:
        notes.append(f"No test: records with a number are not of two values of {groups} that stand out of the noise.")
    elif told and rest > 0:
        differences = estimate.value[1:][kept]
        statistic = float(differences @ np.linalg.pinv(found.covariance[1:, 1:][np.ix_(kept, kept)]) @ differences)
        if replicates is None:
            p_value = float(special.chdtrc(several, statistic))
            statistic /= several
        else:
            statistic *= rest / (several * (replicates.number - 1))
            p_value = float(special.fdtrc(several, rest, statistic))
    elif rest <= 0:
        notes.append(f"No test: {several + 1} groups need more than {several + 1} replicates.")
    columns = zip(
        found.names[1:], estimate.value[1:], estimate.error[1:], estimate.low[1:], estimate.high[1:], kept, strict=True
    )
    effects = [Effect(_group(name), *(float(x) if large else np.nan for x in row)) for name, *row, large in columns]
    return Tested("means", (groups, number), statistic, p_value, tuple(effects), found.confidence, tuple(notes))


def _group(name: str) -> str:
    """``sex: M`` of the coefficient ``C(sex)[T.M]``."""
    return name.removeprefix("C(").replace(")[T.", ": ").replace("`", "").removesuffix("]")
