"""Bins and values of columns, learnt from the private data under a part of the budget.

**Bins** hold about equally many records each, by recursive halving (Kaplan, Schnapp and Stemmer 2022). A column is cut
at its median, both parts at theirs, and so on: bins are cut ``log2(bins)`` times, and a record is in one of the parts
each time, so that all cuts of a round cost what one does (theory.md section 14). Cuts are chosen by the exponential
mechanism among fine public cells. A value that very many records share ends in a bin of its own, and its part has fewer
bins: they hold at least one fine cell each. Records at declared points, which have bins in any case, are left out of
the quantiles.

Measured against one noisy tree of counts over the same cells, with consistent sums: quantiles of 1,000 to 50,000
records in 10 and 30 bins, on smooth, skewed and two-peaked columns, are off by two to four times less (in ranks).

**Values** of a column that nobody can list are the labels whose noisy counts pass a threshold (theory.md section 16);
all others become the other value. That a threshold fails has a probability, which is a part of delta. Of a public list
those values are kept whose noisy counts are large beside the noise: a value that fewer records have costs more in noise
than it says. Rare values that begin alike are one value, where these are frequent together: so a level is split into
its values where counts allow. All follows from one noisy marginal, and takes no delta.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.algorithms.shared import check_fraction
from hedgerow.domain import Categorical, Domain, OpenDomain, value_text
from hedgerow.errors import ConfigError, HedgerowError, QueryError
from hedgerow.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Budget,
    Curator,
    PureDP,
    Regime,
    Run,
    Subsampled,
    ThresholdedCounts,
    additive_noise,
)
from hedgerow.queries import Conjunctions, Marginal, Sensitivity, Workload

BINS_SHARE = 0.05
"""Share of a budget that bins are learnt with; chosen on Adult, from this and twice it."""
VALUES_SHARE = 0.05
"""Share of a budget that the values of a column are learnt with ..."""
MOST_SHARES = 4
"""... and of four or more columns together so many times as much; chosen on Adult and ACS, from 1 to 10 times."""
KEPT = 3.0
"""Standard deviations of the noise that the noisy count of a listed value must have, to be kept."""
THRESHOLDS = 0.5
"""Share of delta that is kept for thresholds; the rest is for the conversion."""


def workload_before(wanted: Domain | OpenDomain, read: Callable[[Domain], Workload]) -> Workload:
    """The workload before anything is learnt, over as many bins and values as there will be.

    Args:
        wanted: The domain.
        read: Makes the workload over a domain; it is called again when the domain is known.

    Raises:
        ConfigError: A condition compares a column whose bins or values are not known yet.
        QueryError: The workload fits no domain that can be learnt: it names a level of such a column, for one.

    Example:
        >>> wanted = OpenDomain({"age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}, "sex": 2})
        >>> workload_before(wanted, lambda domain: Workload.parse("marginals:2", domain)).n_queries
        8
    """
    if isinstance(wanted, Domain):
        return read(wanted)
    unknown, outline = (*wanted.bins, *wanted.values, *wanted.listed), wanted.outline
    try:
        read(Domain(outline.attributes, outline.declared, outline.constraints, (*outline.unleveled, *unknown)))
        asked = read(outline)
    except HedgerowError as error:
        about = error.__cause__ if isinstance(error.__cause__, QueryError) else error
        if isinstance(about, QueryError) and about.attribute in unknown:
            raise _unknown(about.attribute) from error
        raise
    conditions = (family for family in asked.families if isinstance(family, Conjunctions))
    for name in (name for family in conditions for scope in family.scopes for name in scope):
        if name in unknown:
            raise _unknown(name)
    return asked


def _unknown(name: str | None) -> ConfigError:
    return ConfigError(
        f"the workload compares {name!r}, of which bins or values are to be learnt",
        remedy="give these in the domain file, or leave the condition out",
    )


def learning_share(wanted: OpenDomain) -> float:
    """The share of a budget that is spent on a domain, unless another is given.

    Example:
        >>> learning_share(OpenDomain({"age": {"min": 0, "max": 99, "bins": {"learn": 4}}, "sex": 2}))
        0.05
    """
    return (BINS_SHARE if wanted.bins else 0.0) + VALUES_SHARE * min(
        MOST_SHARES, len(wanted.values) + len(wanted.listed)
    )


def learning_charges(wanted: OpenDomain, amount: float) -> dict[str, list[float]]:
    """The charges of each column: of its rounds of cuts, the same for every round of every column; or of its labels.

    Args:
        wanted: The domain with bins or values to be learnt.
        amount: The amount for all of them, as the budget counts.

    Example:
        >>> wanted = OpenDomain({"age": {"min": 0, "max": 99, "bins": {"learn": 4}}, "sex": 2})
        >>> learning_charges(wanted, 0.5)
        {'age': [0.25, 0.25]}
    """
    whole = learning_share(wanted)
    of_bins = amount * BINS_SHARE / whole if wanted.bins else 0.0
    rounds = {name: (bins - 1).bit_length() for name, bins in wanted.bins.items()}
    each = of_bins / max(1, sum(rounds.values()))
    labels = [*wanted.values, *wanted.listed]
    of_values = (amount - of_bins) / max(1, len(labels))
    return {name: [each] * number for name, number in rounds.items()} | {name: [of_values] for name in labels}


def budget_with_thresholds(budget: Budget, wanted: OpenDomain) -> Budget:
    """The budget with a part of its delta kept for thresholds, if values are to be learnt.

    Args:
        budget: Budget of the whole release.
        wanted: The domain with bins or values to be learnt.

    Raises:
        ConfigError: Values are to be learnt, and the budget has no delta.

    Example:
        >>> wanted = OpenDomain({"job": {"values": {"learn": 100}}, "sex": 2})
        >>> budget_with_thresholds(ApproxDP(1.0, 1e-9), wanted).thresholds
        5e-10
    """
    if not wanted.values or budget.for_thresholds:
        return budget
    if not isinstance(budget, ApproxDP):
        names = ", ".join(wanted.values)
        raise ConfigError(
            f"the values of {names} are to be learnt, which cannot be done without a delta",
            remedy="give an epsilon and a delta far below 1 / (number of records): --delta 1e-9; or list the values",
        )
    return replace(budget, thresholds=THRESHOLDS * budget.delta)


def threshold_of(budget: Budget, wanted: OpenDomain, name: str) -> ThresholdedCounts:
    """The noise and the threshold that a column's values are learnt with; public.

    Args:
        budget: Budget of the whole release, with a delta that is kept for thresholds.
        wanted: The domain with values to be learnt.
        name: A column whose values are to be learnt.
    """
    charge, sensitivity = _charge_of(budget, wanted, name)
    return ThresholdedCounts.for_charge(
        budget.regime,
        charge,
        delta=budget.for_thresholds / len(wanted.values),
        l1=sensitivity.l1,
        l2=sensitivity.l2,
        records=budget.neighbours.records,
    )


def frequent_noise(budget: Budget, wanted: OpenDomain, name: str) -> float:
    """The noisy count that a value of a public list must have to be kept; public.

    Args:
        budget: Budget of the whole release.
        wanted: The domain with values to be kept.
        name: A column of which frequent values are kept.
    """
    charge, sensitivity = _charge_of(budget, wanted, name)
    noise = additive_noise(budget.regime, charge, l1=sensitivity.l1, l2=sensitivity.l2, step=1.0, kind=None)
    return KEPT * noise.std


def _charge_of(budget: Budget, wanted: OpenDomain, name: str) -> tuple[float, Sensitivity]:
    """The charge of a column's counts by label, and their sensitivity."""
    charges = learning_charges(wanted, learning_share(wanted) * budget.limit)
    return charges[name][0], Marginal(wanted.fine, (name,)).sensitivity(budget.neighbours)


def budget_after(budget: Budget, share: float) -> Budget:
    """The budget that is left when a share was spent, in the regime that it is counted in: to plan the rest with.

    Args:
        budget: Budget of the whole release.
        share: Share that is spent on the domain.

    Raises:
        ConfigError: The budget is for a sample of the records.

    Example:
        >>> from hedgerow import ZCDP
        >>> budget_after(ZCDP(1.0), 0.05).rho
        0.95
    """
    left = budget.limit * (1.0 - share)
    if isinstance(budget, Subsampled):
        raise ConfigError("a domain is not learnt from a sample of the records", remedy="give bins and values")
    match budget.regime:
        case Regime.PURE:
            return PureDP(left, budget.neighbours)
        case Regime.ZCDP:
            return ZCDP(left, budget.neighbours)
        case Regime.GDP:
            return GDP(math.sqrt(2.0 * left), budget.neighbours)


def learn_domain(curator: Curator, wanted: OpenDomain, labels: Any = None, share: float | None = None) -> Domain:
    """Learn bins and values of a domain, with a share of what a curator may still spend.

    The events stay in the curator's ledger. A curator before the table in the learnt domain continues it:
    ``Curator(table, budget, events=curator.ledger.events)``.

    Args:
        curator: Curator before the private table, read in ``wanted.fine``.
        wanted: The domain with bins or values to be learnt.
        labels: Labels of the same table, from `read_labels`; None where no values are to be learnt.
        share: Share of the remaining budget that is spent; `learning_share` unless given.

    Returns:
        The domain with its bins and values; these are marked as learnt.

    Raises:
        ConfigError: The table is over another domain, the share is not between 0 and 1, the budget is too small, or it
            has no delta for thresholds.
        BudgetExceededError: The budget does not cover it.

    Example:
        >>> import numpy as np
        >>> from hedgerow import PureDP, SeededNoise, Table
        >>> wanted = OpenDomain({"age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}})
        >>> table = Table(wanted.fine, [np.arange(10_000) % 80])
        >>> curator = Curator(table, PureDP(10.0), noise=SeededNoise(0))
        >>> learn_domain(curator, wanted)["age"].labels
        ('[0, 20)', '[20, 40)', '[40, 60)', '[60, 99]')
    """
    part = learning_share(wanted) if share is None else share
    check_fraction("share", part)
    if curator.domain != wanted.fine:
        raise ConfigError("the table is not in the fine cells that bins are learnt from", remedy="read it in .fine")
    if wanted.values and labels is None:
        raise ConfigError("values are to be learnt, and there are no labels", remedy="give read_labels(...)")
    delta = curator.ledger.thresholds / max(1, len(wanted.values))
    if wanted.values and not delta:
        raise ConfigError(
            "values are to be learnt, and the budget keeps no delta for thresholds",
            remedy="give budget_with_thresholds(ApproxDP(epsilon, delta), wanted)",
        )
    charges = learning_charges(wanted, part * curator.ledger.remaining)
    cuts = _cuts(curator, wanted, charges)
    values: dict[str, list[Any]] = {
        name: curator.labels(name, labels, charges[name][0], delta=delta, at_most=most)
        for name, most in wanted.values.items()
        if labels is not None
    }
    merged: dict[str, dict[str, str]] = {}
    for name, most in wanted.listed.items():
        values[name], merged[name] = _frequent(curator, name, charges[name][0], most, wanted.groups[name])
    return wanted.with_bins(cuts, values, merged)


def _frequent(
    curator: Curator, name: str, charge: float, most: int, groups: Sequence[Mapping[str, str]]
) -> tuple[list[Any], dict[str, str]]:
    """The values of a public list whose noisy counts are large beside the noise, at least one; and groups of others.

    A level is split into its values where their counts allow it: what is left is taken together as far as it must be.
    """
    attribute = curator.domain[name]
    measured = curator.measure(Marginal(curator.domain, (name,)), charge, label="learn")
    counts = measured.values[: attribute.ordinary]
    first = np.argsort(-counts, kind="stable")[:most]
    chosen = [place for place in first.tolist() if counts[place] >= KEPT * measured.std] or first[:1].tolist()
    listed = attribute.values if isinstance(attribute, Categorical) else ()
    kept: list[Any] = [listed[place] for place in sorted(chosen)]
    left = {value_text(listed[place]): counts[place] for place in range(len(listed)) if place not in set(chosen)}
    merged: dict[str, str] = {}
    for level in groups:
        parts: dict[str, list[str]] = {}
        for text in left:
            parts.setdefault(level[text], []).append(text)
        sums = {label: float(sum(left[text] for text in texts)) for label, texts in parts.items()}
        for label in sorted(parts, key=lambda each: -sums[each])[: most - len(kept)]:
            if sums[label] >= KEPT * measured.std * math.sqrt(len(parts[label])):
                kept.append(label)
                merged |= {text: label for text in parts[label] if left.pop(text) is not None}
    return kept, merged


def _cuts(curator: Curator, wanted: OpenDomain, charges: Mapping[str, list[float]]) -> dict[str, list[int]]:
    """The codes of fine cells that bins begin with."""
    cuts_of: dict[str, list[int]] = {}
    for name, number in wanted.bins.items():
        runs, cuts_of[name] = [Run(0, curator.domain[name].ordinary, number)], []
        for charge in charges[name]:
            open_ = [run for run in runs if run.divisible]
            cuts = curator.cut(name, open_, charge, apart=wanted.points[name]) if open_ else []
            cuts_of[name] += cuts
            runs = [half for run, cut in zip(open_, cuts, strict=True) for half in run.halves(cut)]
    return cuts_of
