"""Priors of records that tests make up."""

from __future__ import annotations

from hedgerow import Prior
from hedgerow.data import Table
from hedgerow.queries import PublicData


def prior_of(records: Table) -> Prior:
    """A prior of records that are public."""
    return Prior.of(PublicData(records, records.total()))
