"""Priors of records that tests make up."""

from __future__ import annotations

from hedgerow.algorithms.shared.prior import Prior
from hedgerow.data.table import Table
from hedgerow.queries.core.public import PublicData


def prior_of(records: Table) -> Prior:
    """A prior of records that are public."""
    return Prior.of(PublicData(records, records.total()))
