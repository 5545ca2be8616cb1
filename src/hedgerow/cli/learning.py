"""Domains with bins or values to be learnt: what may be asked of them, and the run's first part, which learns them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import typer

from hedgerow.cli.spending import accounted

if TYPE_CHECKING:
    from hedgerow.cli.console import Output
    from hedgerow.cli.reading import Reading
    from hedgerow.data import ScannedTable, Table
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.privacy import Budget, Event, NoiseSource
    from hedgerow.queries import Workload


def planned_workload(wanted: Domain | OpenDomain, text: str | None) -> Workload:
    """The workload before anything is learnt.

    Args:
        wanted: The domain.
        text: The workload; None for the usual one.

    Raises:
        ConfigError: See `workload_before`.
        QueryError: The text is wrong, or does not fit the domain.
    """
    from hedgerow.algorithms.learning import workload_before
    from hedgerow.synthesis import workload_over

    return workload_before(wanted, partial(workload_over, text=text))


def learning_of(wanted: Domain | OpenDomain, budget: Budget) -> tuple[list[tuple[str, str]], Budget]:
    """The lines of a plan about what is to be learnt, and the budget that is left for the mechanism.

    Args:
        wanted: The domain.
        budget: Budget of the whole release.
    """
    from hedgerow.algorithms.learning import (
        budget_after,
        frequent_noise,
        learning_charges,
        learning_share,
        threshold_of,
    )
    from hedgerow.domain import Domain

    if isinstance(wanted, Domain):
        return [], budget
    share = learning_share(wanted)
    charges = learning_charges(wanted, share * budget.limit)
    told = [
        f"{name} in {bins:,} bins, in {len(charges[name])} rounds at {charges[name][0]:.6g} {budget.unit}"
        for name, bins in wanted.bins.items()
    ]
    for name, most in wanted.values.items():
        noise = threshold_of(budget, wanted, name)
        told.append(
            f"{name} in up to {most:,} values, with noise of {noise.scale:.3g} counts: labels that fewer than about "
            f"{noise.threshold:,} records have become {wanted.fine[name].other!r}"
        )
    for name, most in wanted.listed.items():
        least = frequent_noise(budget, wanted, name)
        told.append(
            f"{name} in up to {most:,} of its listed values, those that more than about {least:,.0f} records have; the "
            f"others become {wanted.fine[name].other!r}"
        )
    lines = [("learn", f"{share:.0%} of the budget: {'; '.join(told)}")]
    return lines, budget_after(budget, share)


def budget_for(wanted: Domain | OpenDomain, budget: Budget) -> Budget:
    """The budget, with a part of its delta kept for thresholds if values are to be learnt.

    Args:
        wanted: The domain.
        budget: The budget that was asked for.

    Raises:
        ConfigError: Values are to be learnt, and the budget has no delta.
    """
    from hedgerow.algorithms.learning import budget_with_thresholds
    from hedgerow.domain import Domain

    return budget if isinstance(wanted, Domain) else budget_with_thresholds(budget, wanted)


def check_known(wanted: Domain | OpenDomain, *, prior: bool, coded: bool) -> None:
    """Refuse what needs a domain that is known from the start.

    Args:
        wanted: The domain.
        prior: Whether public data are given.
        coded: Whether the table holds codes.

    Raises:
        typer.BadParameter: Something is to be learnt of the domain.
    """
    from hedgerow.domain import Domain

    if not isinstance(wanted, Domain) and (prior or coded):
        raise typer.BadParameter("--prior and --coded need a domain file of which nothing is to be learnt")


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


@dataclass(frozen=True)
class Opening:
    """The first part of a run: reading the private table, twice where its bins are to be learnt.

    Attributes:
        output: Shows progress.
        reading: The way in which the table is read.
        data: Place of the table.
        budget: Budget of the whole release.
        noise: Source of the noise; None for the secure one.
    """

    output: Output
    reading: Reading
    data: str
    budget: Budget
    noise: NoiseSource | None = None

    def opened(
        self, wanted: Domain | OpenDomain, workload: Workload, text: str | None, before_rows: Callable[[], object]
    ) -> Opened:
        """Read a table; where something is to be learnt of its domain, learn that first.

        Args:
            wanted: The domain.
            workload: Queries that will be asked, before anything is learnt.
            text: The workload; None for the usual one.
            before_rows: Called when the columns are in order, before the first row is read.
        """
        from hedgerow.domain import Domain

        if not isinstance(wanted, Domain):
            return self._learnt(wanted, text, before_rows)
        return Opened(self._table(self.reading, workload, before_rows), workload, self.budget)

    def _learnt(self, wanted: OpenDomain, text: str | None, before_rows: Callable[[], object]) -> Opened:
        """Read a table in fine cells, and its labels; learn bins and values, and read it again in these.

        All that can be wrong with its cells shows before anything is spent.
        """
        from hedgerow.algorithms.learning import learn_domain
        from hedgerow.privacy import Curator, budget_of_filtered
        from hedgerow.queries import Workload
        from hedgerow.synthesis import workload_over

        names = [*wanted.bins, *wanted.listed] or list(wanted.values)
        looked = Workload.marginals(wanted.fine, cliques=[(name,) for name in names])
        table = self._table(replace(self.reading, domain=wanted.fine), looked, before_rows)
        labels = self.reading.read_labels(self.output, self.data, wanted) if wanted.values else None
        budget = budget_of_filtered(self.budget) if self.reading.filtered else self.budget
        curator = Curator(table, budget, noise=self.noise)
        with accounted(self.output, curator):
            domain = learn_domain(curator, wanted, labels)
            asked = workload_over(domain, text)
            table = self._table(replace(self.reading, domain=domain), asked, None)
        return Opened(table, asked, budget, curator.ledger.events)

    def _table(
        self, reading: Reading, workload: Workload, before_rows: Callable[[], object] | None
    ) -> Table | ScannedTable:
        return reading.read_data(self.output, self.data, workload, before_rows=before_rows)
