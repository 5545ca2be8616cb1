"""The tables that a statistic follows from, and which of them a release does not know.

Where nobody measured how some columns go together, the hypothesis guesses it, and so does every replicate of it: they
agree with each other, and an interval from them means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain import Binned, Clique, Domain, IntegerRange, possible_cells
from hedgerow.privacy import noise_of
from hedgerow.queries import Marginal, Measurable, Measurement, in_workload
from hedgerow.release.numbers import Numbers
from hedgerow.release.pairs import Knowledge, fitted_to, is_whole, pair_knowledge
from hedgerow.release.release import Release

MOST_NOISE = 0.03
"""Noise of a cell, beside the mean number of records of one, up to which intervals from replicates held (measured, with
interactions: .92 of 24 below; .90, .89 and .46 of 30, 61 and 24 up to .05; .38 to .83 of 30 to 60 up to .1)."""

MOST_NOISE_MEASURED = 0.05
"""The same for the cells that were measured, where a table is a sum of finer ones: a fit of those is smooth (on
448 cells: two logistic coefficients of Adult held .88 and .87 of 200 releases at .08, .97 and more of 60 at .04)."""

MOST_EMPTY = 1.25
"""Cells that noise fills, over the root of the number of cells, up to which their bias is below half of the noise of a
sum: a fit without negative counts has .4 noises in a cell without records (measured, correlations of a table of 30
cells of which 14 are empty: .76 and .78 of 51 releases held)."""

SHARE = 0.05
"""Share of a budget that the price of a missing table is told for."""


@dataclass(frozen=True)
class Traced:
    """What a statistic needs of a release.

    Attributes:
        tables: The tables that it follows from.
        missing: Those of them that no measurement holds.
        price: What it takes to measure them; empty where nothing is missing.
        thin: Those in whose cells noise has more than 3 % of the mean number of records as its standard deviation, or
            more than 5 % in the finer cells that were measured, or fills many cells that are empty or nearly. Fits of
            such tables are biased, and replicates do not show it (measured: see the page on replicates).
        unfitted: Those that were measured for their own intervals alone, with much noise, and that the hypothesis was
            not fitted to, so that replicates know nothing of them.
        part: Single columns of which levels or single questions were measured alone.
    """

    tables: tuple[Clique, ...]
    missing: tuple[Clique, ...]
    price: str = ""
    thin: tuple[Clique, ...] = ()
    unfitted: tuple[Clique, ...] = ()
    part: tuple[Clique, ...] = ()

    @property
    def suffices(self) -> bool:
        """Whether an interval may be stated."""
        return not (self.missing or self.thin or self.unfitted)

    @property
    def says(self) -> str:
        """What is missing and how to get it, in a sentence; empty where nothing is."""
        named = ", ".join(" x ".join(scope) for scope in self.missing or self.unfitted or self.thin)
        if self.missing:
            holds = "which no measurement holds" if len(self.missing) == 1 else "which no measurements hold"
            return f"needs {named}, {holds}: {self.price}"
        if self.unfitted:
            return f"needs {named}, measured with so much noise that no records are fitted to it: {self.price}"
        if self.thin:
            return (
                f"needs {named}, whose noise is more than {MOST_NOISE:.0%} of the mean number of records of a cell, or "
                f"{MOST_NOISE_MEASURED:.0%} in the finer cells that were measured, or fills many cells that are nearly "
                "empty: release columns in fewer 'bins', or spend more on these tables"
            )
        return ""

    def beside(self, other: Traced | None) -> Traced:
        """What is needed of this release and of another one together.

        Args:
            other: What is needed of the other; None for nothing.
        """
        if other is None:
            return self
        named = ("tables", "missing", "thin", "unfitted", "part")
        both = {name: tuple(dict.fromkeys((*getattr(other, name), *getattr(self, name)))) for name in named}
        return replace(self, price="; ".join(filter(None, (other.price, self.price))), **both)

    def to_dict(self) -> dict[str, list[list[str]]]:
        """The tables that are not known well enough, for JSON."""
        found = {"missing": self.missing, "mostly_noise": self.thin, "unfitted": self.unfitted}
        return {name: [list(scope) for scope in scopes] for name, scopes in found.items()}


def traced(
    release: Release, scopes: Sequence[Clique], asked: str | None = None, weighed: Collection[Clique] = ()
) -> Traced:
    """Look for tables among the measurements.

    Args:
        release: The release.
        scopes: The columns of each table, derived ones too.
        asked: The family of a workload that asks for all of them; by default marginals.
        weighed: Tables that records are weighed to have, in groups of values. What follows from one of these, or from
            one column of it, has little of the bias of the fit, however fine the cells that were measured, unless many
            of its cells are nearly empty.

    Example:
        >>> import hedgerow, numpy as np
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in "abc")
        >>> table = hedgerow.Table(domain, [np.arange(100) % 2] * 3)
        >>> workload, budget = hedgerow.Workload.parse("marginals:a*b; marginals:c", domain), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM(rounds=2).run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> traced(release, [("a", "b"), ("a", "c")]).says[:78]
        "needs a x c, which no measurement holds: 'marginals:a*c' in the workload would"
    """
    domain = release.domain
    tables = tuple(dict.fromkeys(scope for scope in map(domain.clique, scopes) if scope))
    fitted = fitted_to(release, release.measurements)
    missing, unknown = (_unmeasured(release, each, tables) for each in (release.measurements, fitted))
    unfitted = tuple(scope for scope in unknown if scope not in missing)
    held = [each for each in fitted if _is_table(each.target)]
    known = [scope for scope in tables if scope not in unknown]
    part = tuple(scope for scope in known if not _told(domain, held, scope) and len(domain.base(scope)) == 1)
    fine = {scope: any({*domain.base(scope)} <= {*each} for each in weighed) for scope in tables}
    thin = tuple(scope for scope in known if _is_mostly_noise(release, held, scope, finer=not fine[scope]))
    price, wanted = "", missing or unfitted
    if wanted:
        family = asked or "marginals:" + ",".join("*".join(map(in_workload, scope)) for scope in wanted)
        price = (
            f"{family!r} in the workload would measure {_price(release, missing)}"
            if missing
            else (f"'{family} @ 20' gives it more weight in the workload")
        )
    return Traced(tables, missing, price, thin, unfitted, part)


def _unmeasured(release: Release, measurements: Sequence[Measurement], tables: Sequence[Clique]) -> tuple[Clique, ...]:
    """The tables that some measurements do not tell."""
    domain, pairs = release.domain, pair_knowledge(release, measurements)
    whole = [each for each in measurements if _is_table(each.target)]
    touched = {name for each in measurements for name in domain.base(each.target.scope)}

    def is_measured(scope: Clique) -> bool:
        base = domain.base(scope)
        if len(base) == 1:
            return base[0] in touched
        if len(base) == 2 and pairs[base[0], base[1]] is Knowledge.MEASURED:
            return True
        return bool(_told(domain, whole, scope))

    return tuple(scope for scope in tables if not is_measured(scope))


def _is_table(target: Measurable) -> bool:
    return is_whole(target) and not (isinstance(target, Marginal) and target.within is not None)


def _told(domain: Domain, whole: Sequence[Measurement], scope: Clique) -> list[Measurement]:
    """The whole tables, and parities, that tell another table."""
    return [each for each in whole if all(domain.determines(each.target.scope, name) for name in scope)]


def _is_mostly_noise(release: Release, measured: Sequence[Measurement], scope: Clique, *, finer: bool) -> bool:
    """Whether the noise of each table that tells another is too large beside the records of its cells.

    Args:
        release: The release.
        measured: Whole tables.
        scope: The columns of a table.
        finer: Whether the cells that were measured count too; else those that are nearly empty do.
    """
    domain, n = release.domain, max(release.n_records, 1)
    size, told = math.prod(domain.shape_of(scope)), _told(domain, measured, scope)

    def is_clear(each: Measurement) -> bool:
        noise = each.std * math.sqrt(each.target.size / size)
        if noise * size / n > MOST_NOISE:
            return False
        if finer:
            return size == each.target.size or each.std * each.target.size / n <= MOST_NOISE_MEASURED
        own = release.model.marginals([scope])[0].reshape(domain.shape_of(scope))[_holdable(domain, scope)]
        return int((own < 2.0 * noise).sum()) <= MOST_EMPTY * math.sqrt(len(own))

    return bool(told) and not any(map(is_clear, told))


def _holdable(domain: Domain, scope: Clique) -> Bools:
    """The cells of a table that records may be in and that have a value of each column."""
    shape = domain.shape_of(scope)
    possible, known = possible_cells(domain, scope), np.zeros(shape, dtype=np.bool_)
    values = [[code for code in range(domain[name].size) if code != domain[name].missing_code] for name in scope]
    known[np.ix_(*values)] = True
    return known if possible is None else known & possible


def _price(release: Release, missing: Sequence[Clique]) -> str:
    """The noise that a part of the budget would leave, if it were measured alone with that."""
    domain, budget = release.domain, release.budget
    target = Marginal(domain, max(missing, key=lambda scope: math.prod(domain.shape_of(scope))))
    noise = noise_of(target, budget, SHARE * budget.limit / len(missing), None)
    them = f"it ({target.size:,} cells)" if len(missing) == 1 else f"them (up to {target.size:,} cells)"
    return (
        f"{them}; {100 * SHARE:.0f} % of this budget buys cells with a standard deviation of {noise.std:,.1f} records"
    )


def share_inside(release: Release, name: str) -> float:
    """The share of a column's variance that is inside its bins, if numbers in them are even; 0 of all other columns.

    How it goes with other columns was never measured, and records have it independent of them: a slope lacks that share
    of itself, to first order.

    Args:
        release: The release.
        name: A column or derived attribute.
    """
    attribute = release.domain[name]
    numbers = Numbers.of(attribute) if isinstance(attribute, IntegerRange | Binned) else None
    if numbers is None or not numbers.wide:
        return 0.0
    counts = np.maximum(release.model.marginals([(name,)])[0][: len(numbers.at)], 0.0)
    middles, widths = (numbers.low + numbers.high) / 2.0, numbers.high - numbers.low
    inside = widths * (widths + 2.0 * numbers.unit * numbers.whole) / 12.0
    within = float(counts @ inside)
    return within / max(within + float(counts @ np.square(middles - np.average(middles, weights=counts))), 1e-300)
