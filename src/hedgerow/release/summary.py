"""Releases in words and in plain values, for the command line and the report."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.domain import feasible_records
from hedgerow.models import Empirical, Overlay
from hedgerow.privacy import WorkloadError
from hedgerow.release.content import StoredModel
from hedgerow.release.drawn_error import DrawnError
from hedgerow.release.release import Release


def summary_of(release: Release) -> dict[str, Any]:
    """Summary of a release as values that JSON can hold; the model is not built."""
    error = release.error
    return {
        "guarantee": release.guarantee(),
        "private": release.provenance.secure,
        "budget": release.budget.to_dict(),
        "spent": release.spent,
        "limit": release.budget.limit,
        "unit": release.budget.unit,
        "total": release.total,
        "attributes": list(release.domain.names),
        "cells": release.domain.size,
        "feasible": feasible_records(release.domain),
        "constraints": [rule.text for rule in release.domain.constraints],
        "ignored": list(release.domain.ignored),
        "draft": release.domain.draft,
        "derived_columns": [derived_column.name for derived_column in release.domain.derived_columns],
        "levels": {level_use.name: level_use.measurements for level_use in level_uses(release)},
        "tables_over_tree": tables_over_tree(release),
        "workload": release.workload.spec,
        "algorithm": release.provenance.algorithm,
        "error": None if error is None else _error_to_dict(error),
        **weights_of(release),
        **({"criteria": [verdict.described() for verdict in release.verdicts]} if release.verdicts else {}),
    }


def weights_of(release: Release) -> dict[str, Any]:
    """The weights of records for programs, under ``weights``; nothing where records have none.

    Args:
        release: The release.
    """
    if release.weight is None:
        return {}
    lost = None if release.lost_share is None else release.lost_share.to_dict()
    known: dict[str, Any] = {"known_population": release.stands_for} if release.domain.population else {}
    known |= {} if release.weight_effect is None else {"design_effect": release.weight_effect.to_dict()}
    return {"weights": {"column": release.weight.column, "capped_at": release.weight.largest, "lost": lost, **known}}


def weights_sentence(release: Release) -> str:
    """What numbers are about where records have weights; empty where they have none.

    Args:
        release: The release.
    """
    if release.weight is None:
        return ""
    lost = "how much of the population is lost was not measured"
    if release.domain.population:
        lost = f"answers and records are calibrated to the known population of {release.stands_for:,.0f}"
    if release.lost_share is not None:
        before = f"{lost}; " if release.domain.population else ""
        lost = f"{before}they lose {release.lost_share.text}"
    effect = "" if release.weight_effect is None else f" Their design effect is {release.weight_effect.text}."
    return f"All numbers are {release.weight.capped}; {lost}.{effect}"


def _error_to_dict(error: WorkloadError) -> dict[str, Any]:
    low, high = error.mean_interval(0.95)
    return {
        "mean": error.mean,
        "mean_low": low,
        "mean_high": high,
        "maximum": error.maximum,
        "maximum_bound": error.maximum_bound(0.95),
        "confidence": 0.95,
        "counts_per_unit": error.unit,
        "candidates": error.n_candidates,
    }


@dataclass(frozen=True)
class LevelUse:
    """The use that a run made of a level or of another derived attribute.

    Attributes:
        name: Its name.
        sources: The attributes that it is made from.
        values: Number of its values.
        measurements: Number of measurements over it.
        beside: Number of measurements over its source itself, if it has one alone.
    """

    name: str
    sources: tuple[str, ...]
    values: int
    measurements: int
    beside: int | None


def level_uses(release: Release) -> list[LevelUse]:
    """The declared levels and derived attributes, and others that were measured, in the order of the domain.

    Args:
        release: The release.
    """
    domain = release.domain
    counts = Counter(name for measurement in release.measurements for name in measurement.target.scope)
    return [
        LevelUse(
            function.name,
            function.sources,
            function.attribute.size,
            counts[function.name],
            counts[function.sources[0]] if len(function.sources) == 1 else None,
        )
        for function in domain.derived
        if counts[function.name] or (function in domain.declared and not function.column)
    ]


def levels_sentence(release: Release) -> str:
    """Numbers of measurements over levels and other derived attributes, in words; empty where the domain declares none.

    Args:
        release: The release.
    """
    domain, measured = release.domain, len(release.measurements)
    if not measured or not level_uses(release):
        return ""
    scopes = (measurement.target.scope for measurement in release.measurements)
    mixes = Counter(sum(domain.function(name) is not None for name in scope) for scope in scopes)
    clauses = [f"{mixes[0]:,} name{'s' if mixes[0] == 1 else ''} attributes as they are"] if mixes[0] else []
    clauses += [f"{mixes[n]:,} {_LEVELS.get(n, f'{n} levels')}" for n in sorted(mixes) if n]
    listed = ", ".join(clauses[:-1]) + (" and " if len(clauses) > 1 else "") + clauses[-1]
    return f"Of {measured:,} measurement{'s' if measured > 1 else ''} {listed}."


_LEVELS = {1: "one level or derived attribute", 2: "two"}


def tables_over_tree(release: Release) -> int | None:
    """Number of consistent tables that questions are answered from beside a tree; None where one model answers all.

    Args:
        release: The release; its model is not built.
    """
    model = release.held
    if isinstance(model, StoredModel):
        return int(model.entry["scopes"][0]) if model.entry.get("kind") == "overlay" else None
    return len(model.parts.scopes) if isinstance(model, Overlay) else None


def tables_sentence(release: Release) -> str:
    """The rule by which questions are answered and records drawn where a tree lies below tables; empty without these.

    Args:
        release: The release.
    """
    tables = tables_over_tree(release)
    if tables is None:
        return ""
    return (
        f"A question whose attributes all lie in one of {tables:,} consistent tables is answered from these, every "
        "other from a junction tree, which cannot hold all of them. Records are drawn from the tree and moved until "
        "they have the tables, as far as these are few enough."
    )


def error_sentence(release: Release, confidence: float = 0.95) -> str:
    """The noisy error of the workload in words, or that none was estimated.

    Args:
        release: The release.
        confidence: Confidence of the interval for the mean, and of the bound on the largest error.
    """
    error = release.error
    if error is None:
        return "No budget was given to estimating the error of the workload, so none is stated."
    scale = 1.0 if error.unit is None else error.unit
    low, high = (scale * bound for bound in error.mean_interval(confidence))
    largest = scale * error.maximum_bound(confidence)
    marginals = all(family.whole for family in release.workload.families)
    candidates, queries = release.workload.n_candidates, release.workload.n_queries
    one, many = ("query", "queries") if candidates == queries else ("candidate", "candidates")
    one, many = ("marginal", "marginals") if marginals else (one, many)
    unit = "times what one record can change" if error.unit is None and not marginals else "records"
    between = f"lies between {_amount(low)} and {_amount(high)} {unit}"
    between += f" ({_percent(low / release.total)} to {_percent(high / release.total)} of the records)"
    confident = f"with {100.0 * confidence:.4g}% confidence"
    if candidates == 1:  # its mean is its largest
        text = f"the error of the released model on the {one} of the workload {between}, {confident}"
    else:
        text = f"over the {candidates:,} {many} of the workload, the mean error of the released model {between}, and "
        text += f"no error is larger than {_amount(largest)}, each {confident}"
    twice = " A misplaced record counts twice: in the cell that it left, and in the cell that it is in."
    return f"Estimated from noisy values alone: {text}.{twice * marginals}"


def drawn_sentence(release: Release, n: int, drawn: DrawnError, confidence: float = 0.95) -> str:
    """The error of a file of records in words; empty where that of the answers is not known in counts.

    Args:
        release: The release.
        n: Number of records of the file.
        drawn: Their distance from the answers.
        confidence: Confidence of the interval.
    """
    fields = drawn.to_dict(release, confidence)
    if fields is None or release.error is None or release.error.unit is None:
        return ""
    low, high, added = (release.error.unit * fields[key] / release.total for key in ("mean_low", "mean_high", "added"))
    return (
        f"In a file of {n:,} records the mean error lies between {_percent(low)} and {_percent(high)} of the records, "
        f"with {100.0 * confidence:.4g}% confidence: answers of {drawn.records:,} records that were drawn alike differ "
        f"from the model's by {_percent(added)}."
    )


def distinct_records(release: Release) -> int | None:
    """Number of distinct records that the released model is made of; None for a distribution over all cells.

    Records drawn from such a release are copies of these.
    """
    model = release.model
    return len(np.unique(model.codes, axis=0)) if isinstance(model, Empirical) else None


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"


def _percent(share: float) -> str:
    if share > 1.0:
        return "over 100%"
    return f"{100.0 * share:.2g}%" if share < 0.1 else f"{100.0 * share:.3g}%"
