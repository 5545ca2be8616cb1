"""Measures of an evaluation, each a few lines that make findings of what the other modules compute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Codes, Domain
from hedgerow.evaluation import learners
from hedgerow.evaluation.columns import Column, record_keys
from hedgerow.evaluation.dependence import SHARES, associations, correlations, quantiles, rank_distance
from hedgerow.evaluation.finding import Finding
from hedgerow.evaluation.grid import Grid
from hedgerow.evaluation.tables import Curve, distances, score_of
from hedgerow.privacy import OUTSIDE, broken_rules
from hedgerow.system import numbered

if TYPE_CHECKING:
    import pyarrow as pa

MOST_GROUPS = 20
"""Subgroups that are looked at, the largest first."""
TARGETS = 3
"""Columns that are predicted unless some are named."""
_MOST_CLASSES = 10
_TESTED = 0.3
_HALVES, _SAMPLES, _SPLIT = 5, 6, 7
"""Numbers that tell these draws from the others of a seed."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of an evaluation on one grid.

    Attributes:
        names: Names of the synthetic files.
        grid: The cells of their columns.
        families: The tables of cells that are compared.
        by: Column whose values are the subgroups.
        seed: Seed of all draws.
    """

    names: tuple[str, ...]
    grid: Grid
    families: Mapping[str, tuple[Clique, ...]]
    by: str | None
    seed: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all tables."""
        return tuple(axis.column for axis in self.grid.axes)

    @property
    def domain(self) -> Domain:
        """The domain of the cells."""
        return self.grid.domain

    @cached_property
    def codes(self) -> list[list[Codes]]:
        """Codes of the records of each table, the real one first."""
        return [self.grid.codes(table) for table in range(len(self.names) + 1)]

    @cached_property
    def pairs(self) -> tuple[Clique, ...]:
        """The pairs of columns that are compared."""
        return self.families.get("2-way", ())

    @cached_property
    def real_associations(self) -> Floats:
        """Cramer's V of the pairs in the real table."""
        return associations(self.domain, self.codes[0], self.pairs)

    @cached_property
    def samples(self) -> list[Ints]:
        """Cells of a sample of each table for models, shape ``(n, n_columns)``, rare ones as one."""
        return [
            np.array([np.minimum(codes, learners.MOST_CELLS)[rows] for codes in table], dtype=np.int64).T
            for table in self.codes
            for rows in [numbered(self.seed, _SAMPLES).permutation(len(table[0]))[: learners.MOST_RECORDS]]
        ]

    @property
    def synthetic(self) -> list[tuple[int, str]]:
        """Numbers and names of the synthetic tables."""
        return list(enumerate(self.names, 1))


def scores(tables: Tables, curves: Mapping[str, Curve]) -> Iterator[Finding]:
    """Total variation of every table, the score of each family, and the share of the real records that is as close."""
    for family, cliques in tables.families.items():
        distance_of = distances(tables.domain, tables.codes[0], tables.codes[1:], cliques)
        for (_, name), row in zip(tables.synthetic, distance_of, strict=True):
            yield Finding(name, "score", family, score_of(row))
            share = curves[family].equivalent(score_of(row))
            yield Finding(name, "subsample", family, math.nan if share is None else share)
            for clique, distance in zip(cliques, row.tolist(), strict=True):
                yield Finding(name, f"total variation, {family}", " x ".join(clique), distance, columns=clique)
            for column in tables.domain.names if family == "2-way" else ():
                with_column = [distance for pair, distance in zip(cliques, row.tolist(), strict=True) if column in pair]
                if with_column:
                    yield Finding(name, "total variation, pairs with", column, float(np.mean(with_column)))


def subgroups(tables: Tables) -> Iterator[Finding]:
    """Share of each subgroup, and the score over pairs of the other columns inside it."""
    if tables.by is None:
        return
    place = tables.domain.names.index(tables.by)
    labels = tables.grid.axes[place].labels
    counts = [np.bincount(table[place], minlength=len(labels)) for table in tables.codes]
    pairs = [pair for pair in tables.pairs if tables.by not in pair]
    for group in np.argsort(-counts[0], kind="stable")[:MOST_GROUPS].tolist():
        inside = [[codes[table[place] == group] for codes in table] for table in tables.codes]
        subject = f"{tables.by} = {labels[group]}"
        for table, name in tables.synthetic:
            share = counts[table][group] / len(tables.codes[table][0])
            yield Finding(name, "share of the records", subject, share, counts[0][group] / len(tables.codes[0][0]))
            both = counts[0][group] and counts[table][group] and pairs
            score = score_of(distances(tables.domain, inside[0], [inside[table]], pairs)) if both else math.nan
            yield Finding(name, "score of the subgroup", subject, score)


def dependence(tables: Tables) -> Iterator[Finding]:
    """Cramer's V of all pairs, Pearson's correlation of pairs of numbers, and their mean differences."""
    numeric = [column for column in tables.columns if column.numeric]
    pearson = correlations(numeric, 0) if len(numeric) > 1 else np.empty((0, 0))
    for table, name in tables.synthetic:
        strengths = associations(tables.domain, tables.codes[table], tables.pairs)
        yield from _differences(
            name, "Cramer's V", [" x ".join(pair) for pair in tables.pairs], strengths, tables.real_associations
        )
        if len(numeric) > 1:
            there = correlations(numeric, table)
            places = list(combinations(range(len(numeric)), 2))
            subjects = [f"{numeric[one].name} x {numeric[other].name}" for one, other in places]
            pick = tuple(np.array(places).T)
            yield from _differences(name, "Pearson's correlation", subjects, there[pick], pearson[pick])


def _differences(file: str, measure: str, subjects: Sequence[str], values: Floats, real: Floats) -> Iterator[Finding]:
    for subject, value, exact in zip(subjects, values.tolist(), real.tolist(), strict=True):
        yield Finding(file, measure, subject, value, exact)
    apart = np.abs(values - real)
    known = apart[~np.isnan(apart)]
    if len(known):
        yield Finding(file, "difference of correlations", f"{measure}, mean", float(known.mean()))
        yield Finding(file, "difference of correlations", f"{measure}, largest", float(known.max()))


def numbers(tables: Tables) -> Iterator[Finding]:
    """Quantiles of columns of numbers, and the largest difference of their distribution functions."""
    for column in tables.columns:
        if not column.numeric:
            continue
        real = quantiles(column, 0)
        for table, name in tables.synthetic:
            for share, value, exact in zip(SHARES, quantiles(column, table), real, strict=True):
                subject = f"{column.name}, {share:.0%}"
                yield Finding(name, "quantile", subject, float(value), float(exact), columns=(column.name,))
            yield Finding(name, "difference of distributions", column.name, rank_distance(column, table))


def exact_matches(tables: Tables) -> Iterator[Finding]:
    """Shares of records that equal a real one in all columns: of all, and of a random half.

    Beside the second stands how many records of the other half equal one of that half: how often people who were not
    looked at have a twin.
    """
    keys = record_keys(tables.columns)
    order = numbered(tables.seed, _HALVES).permutation(len(keys[0]))
    half, rest = np.split(keys[0][order], [len(order) // 2])
    fresh = float(np.isin(rest, half).mean())
    for table, name in tables.synthetic:
        yield Finding(name, "exact matches", "any real record", float(np.isin(keys[table], keys[0]).mean()))
        of_half = float(np.isin(keys[table], half).mean())
        yield Finding(name, "exact matches", "a random half of the real records", of_half, fresh)


def impossible(
    names: Sequence[str], real: pa.Table, synthetic: Sequence[pa.Table], domain: Domain
) -> Iterator[Finding]:
    """Shares of records that break each rule of a domain, and that break any.

    Args:
        names: Names of the synthetic files.
        real: The real records as they are written.
        synthetic: The synthetic records.
        domain: The domain.
    """
    exact = _broken(real, domain)
    for name, table in zip(names, synthetic, strict=True):
        for rule, share in _broken(table, domain).items():
            yield Finding(name, "impossible records", rule, share, exact[rule])


ANY = "any rule"


def _broken(table: pa.Table, domain: Domain) -> dict[str, float]:
    counts = broken_rules(table, domain)
    any_rule = np.logical_or.reduce(list(counts.values()))
    shares = {rule: float(broken.mean()) for rule, broken in counts.items()}
    return {ANY: float(any_rule.mean()), OUTSIDE: shares.pop(OUTSIDE), **shares}


def propensities(tables: Tables) -> Iterator[Finding]:
    """Models that tell synthetic records from real ones."""
    real = tables.samples[0]
    for table, name in tables.synthetic:
        for model, score in (
            ("logistic regression", learners.logistic_propensity(real, tables.samples[table])),
            ("tree", learners.tree_propensity(real, tables.samples[table], tables.seed)),
        ):
            yield Finding(name, "pMSE", model, score.pmse)
            yield Finding(name, "pMSE ratio", model, score.ratio)


def predictions(tables: Tables, targets: Sequence[str]) -> Iterator[Finding]:
    """Models trained on synthetic and on real records, tested on the same real records that neither saw."""
    names = tables.domain.names
    labels = [not column.numeric for column in tables.columns]
    order = numbered(tables.seed, _SPLIT).permutation(len(tables.samples[0]))
    tested, kept = np.split(tables.samples[0][order], [max(1, round(_TESTED * len(order)))])
    for target in targets:
        place = names.index(target)
        for model in learners.MODELS:
            exact = learners.prediction(model, kept, tested, place, labels)
            for table, name in tables.synthetic:
                trained = tables.samples[table][: len(kept)]
                scores_of = learners.prediction(model, trained, tested, place, labels)
                yield Finding(name, "AUC", f"{target} by {model}", scores_of.auc, exact.auc)
                yield Finding(name, "accuracy", f"{target} by {model}", scores_of.accuracy, exact.accuracy)


def targets_of(tables: Tables) -> list[str]:
    """Columns of few values that depend most on the others in the real table, by their mean Cramer's V."""
    sizes = dict(zip(tables.domain.names, (len(axis.labels) for axis in tables.grid.axes), strict=True))
    strengths: dict[str, list[float]] = {name: [] for name in tables.domain.names}
    for pair, value in zip(tables.pairs, tables.real_associations.tolist(), strict=True):
        for name in pair:
            strengths[name].append(value)
    few = [name for name, values in strengths.items() if values and 2 <= sizes[name] <= _MOST_CLASSES]
    return sorted(few, key=lambda name: -float(np.mean(strengths[name])))[:TARGETS]
