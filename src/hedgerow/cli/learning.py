"""Domains with bins to be learnt: what may be asked of them, and the run's first part, which learns them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import typer

from hedgerow.cli import options
from hedgerow.cli.spending import accounted

if TYPE_CHECKING:
    from hedgerow.cli.console import Output
    from hedgerow.cli.reading import Reading
    from hedgerow.data import ScannedTable, Table
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.privacy import Budget, Event, NoiseSource
    from hedgerow.queries import Workload


def outline_of(wanted: Domain | OpenDomain, text: str | None = None) -> Domain:
    """A domain to plan and check with: the one that was declared, or one with as many bins as are to be learnt.

    Args:
        wanted: The domain.
        text: The workload; None for the usual one.

    Raises:
        typer.BadParameter: The workload has a condition or a level of a column whose bins are not known yet.
    """
    from hedgerow.domain import Domain

    if isinstance(wanted, Domain):
        return wanted
    for name in wanted.bins:
        named = rf"(?<!\w){re.escape(name)}(?!\w)"
        if re.search(rf"\bwhere\b[^;]*{named}|{named}\.", text or ""):
            raise typer.BadParameter(
                f"--workload names values or levels of {name!r}, whose bins are to be learnt: give its bins in the "
                "domain file"
            )
    return wanted.outline


def learning_of(wanted: Domain | OpenDomain, budget: Budget) -> tuple[list[tuple[str, str]], Budget]:
    """The lines of a plan about what is to be learnt, and the budget that is left for the mechanism.

    Args:
        wanted: The domain.
        budget: Budget of the whole release.
    """
    from hedgerow.algorithms.learning import SHARE, budget_after, learning_charges
    from hedgerow.domain import Domain

    if isinstance(wanted, Domain):
        return [], budget
    charges = learning_charges(wanted, SHARE * budget.limit)
    told = [
        f"{name} in {bins:,} bins, in {len(charges[name])} rounds at {charges[name][0]:.6g} {budget.unit}"
        for name, bins in wanted.bins.items()
    ]
    lines = [("learn", f"{SHARE:.0%} of the budget: {'; '.join(told)}")]
    return lines, budget_after(budget, SHARE)


@final
@dataclass(frozen=True)
class Opened:
    """A private table that is ready for a mechanism.

    Attributes:
        table: The table.
        workload: Queries over its domain.
        budget: Budget of the whole release.
        events: Charges of what was learnt of its domain.
    """

    table: Table | ScannedTable
    workload: Workload
    budget: Budget
    events: Sequence[Event] = ()


@final
@dataclass(frozen=True)
class Opening:
    """The first part of a run: reading the private table, twice where its bins are to be learnt.

    Attributes:
        output: Shows progress.
        reading: The way in which the table is read.
        data: Place of the table.
        budget: Budget of the whole release.
        noise: Source of the noise; None for the secure one.
        show_values: Whether messages about bad cells show their values.
    """

    output: Output
    reading: Reading
    data: str
    budget: Budget
    noise: NoiseSource | None = None
    show_values: bool = False

    def read(self, workload: Workload, before_rows: Callable[[], object]) -> Opened:
        """Read a table whose domain is known.

        Args:
            workload: Queries that will be asked.
            before_rows: Called when the columns are in order, before the first row is read.
        """
        table = self._table(self.reading, workload, before_rows)
        return Opened(table, workload, self.budget)

    def learn(self, wanted: OpenDomain, text: str | None, before_rows: Callable[[], object]) -> Opened:
        """Read a table in fine cells, learn its bins, and read it again in these.

        All that can be wrong with its cells shows before anything is spent.

        Args:
            wanted: The domain with bins to be learnt.
            text: The workload; None for the usual one.
            before_rows: Called when the columns are in order, before the first row is read.
        """
        from hedgerow.algorithms.learning import learn_bins
        from hedgerow.privacy import Curator, budget_of_filtered
        from hedgerow.queries import Workload

        columns = Workload.parse(f"marginals:{','.join(wanted.bins)}", wanted.fine)
        table = self._table(replace(self.reading, domain=wanted.fine), columns, before_rows)
        budget = budget_of_filtered(self.budget) if self.reading.filtered else self.budget
        curator = Curator(table, budget, noise=self.noise)
        with accounted(self.output, curator):
            domain = learn_bins(curator, wanted)
            asked = options.workload_over(domain, text)
            table = self._table(replace(self.reading, domain=domain), asked, None)
        return Opened(table, asked, budget, curator.ledger.events)

    def _table(
        self, reading: Reading, workload: Workload, before_rows: Callable[[], object] | None
    ) -> Table | ScannedTable:
        return reading.read_data(
            self.output, self.data, workload, before_rows=before_rows, show_values=self.show_values
        )
