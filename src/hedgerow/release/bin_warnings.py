"""Warnings about the columns of a release, by its noisy values alone."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Attribute, Binned
from hedgerow.release.release import Release

_NEARLY_ALL = 0.95
"""Share of the records beyond which a bin says next to nothing."""
_MANY = 0.5
"""Share of the records with the other value that is worth a word."""


def release_warnings(release: Release) -> list[str]:
    """Sentences about columns that nearly all records share one bin of, or that many have the other value of.

    Args:
        release: The release; only its hypothesis is looked at, so they cost no budget.
    """
    columns = [column for column in release.domain.columns if isinstance(column, Binned) or column.other is not None]
    tables = release.model.marginals([(column.name,) for column in columns]) if columns else []
    warnings = ((column.name, _warning(column, table)) for column, table in zip(columns, tables, strict=True))
    return [f"{name}: {warning}" for name, warning in warnings if warning]


def _warning(attribute: Attribute, counts: Floats) -> str:
    total = float(counts.sum())
    if total <= 0:
        return ""
    if attribute.other_code is not None and counts[attribute.other_code] > _MANY * total:
        return f"by noisy counts most records have the value {attribute.other!r}; list more values, or widen the bounds"
    if not isinstance(attribute, Binned):
        return ""
    ordinary = counts[: attribute.ordinary]
    code = int(np.argmax(ordinary))
    single = attribute.whole and len(set(attribute.whole_bounds(code))) == 1
    if single or ordinary[code] <= _NEARLY_ALL * ordinary.sum():
        return ""
    return (
        f"by noisy counts one bin, {attribute.label(code)}, holds nearly all records, and numbers inside it were not "
        "told apart; cut it into more bins before you spend more"
    )
