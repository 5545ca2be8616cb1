"""``hedgerow plan``: what a run would need, cost and promise, before anything is spent."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import (
    TABLE,
    AsJson,
    Columns,
    CountColumn,
    Delta,
    DomainFile,
    Epsilon,
    Mechanism,
    MechanismOption,
    NeighboursOption,
    Quiet,
    Rho,
    Rounds,
    WorkloadText,
    algorithm_of,
    budget_of,
    naming_options,
    prepare,
    split_names,
    warn_of_delta,
    workload_of,
)
from hedgerow.queries.sensitivity import Neighbours

if TYPE_CHECKING:
    from hedgerow.algorithms.bounds import Bound
    from hedgerow.algorithms.plan import Plan
    from hedgerow.privacy.budget import Budget
    from hedgerow.queries.workload import Workload


def plan(
    ctx: typer.Context,
    *,
    domain: DomainFile,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="The private table; only its number of records is used."),
    ] = None,
    total: Annotated[
        int | None,
        typer.Option("--total", min=1, help="A public guess of the number of records.", rich_help_panel=TABLE),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: NeighboursOption = Neighbours.ADD_REMOVE,
    workload: WorkloadText = None,
    mechanism: MechanismOption = Mechanism.MWEM,
    rounds: Rounds = "auto",
    columns: Columns = None,
    count_column: CountColumn = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Show memory, time, charges, noise and error bounds of a run. Spends nothing.

    Examples:
      hedgerow plan --domain people.yaml --epsilon 1 --total 50000
      hedgerow plan --domain people.yaml --columns age,sex,income --rho 0.1 \
          --total 50000 --workload marginals:3
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    if (data is None) == (total is None):
        raise typer.BadParameter("give either --total, a public guess of the number of records, or the table DATA")
    budget = budget_of(epsilon, delta, rho, neighbours)
    algorithm = algorithm_of(mechanism, rounds)
    names = split_names(columns)
    asked = workload_of(domain, names, workload)
    n = total if data is None else _count(shown, data, asked, columns=names, count_column=count_column)
    planned = algorithm.plan(asked, budget, float(n or 0))
    if data is not None:
        shown.warn("this plan uses the exact number of records of the table: keep it to yourself")
    warn_of_delta(shown, budget, float(n or 0))
    _tell(shown, planned, budget, float(n or 0))
    shown.result({**asdict(planned), "fits": planned.fits, "guarantee": budget.statement(), "total": n})


def _count(
    shown: Output, data: Path, workload: Workload, *, columns: list[str] | None, count_column: str | None
) -> int:
    from hedgerow.data.table import read_table

    extra: Literal["error", "ignore"] = "error" if columns is None else "ignore"
    with shown.busy(f"reading {data}"), naming_options(workload.domain.names):
        return read_table(data, workload.domain, count_column=count_column, extra_columns=extra).total()


def _tell(shown: Output, plan: Plan, budget: Budget, n: float) -> None:
    unit, charges = plan.unit, plan.charges
    shown.tell(budget.statement())
    shown.say()
    fits = "fits" if plan.fits else "DOES NOT FIT"
    shown.say(
        f"memory   {plan.required_bytes / 2**20:,.1f} MiB for {plan.cells:,} cells; {fits} into "
        f"{plan.available_bytes / 2**20:,.0f} MiB"
    )
    shown.say(f"time     about {plan.seconds:,.1f} s for the rounds, on one core")
    most = "at most " if plan.adaptive else ""
    select = f"{plan.round.selection:.4g} {unit} to select and " if plan.round.selection else ""
    note = "" if plan.round.selection else " (everything is measured, so nothing is spent on selecting)"
    shown.say(f"rounds   {most}{plan.rounds}, each {select}{plan.round.measurement:.4g} {unit} to measure{note}")
    shown.say(
        f"charges  {plan.limit:.6g} {unit}: number of records {charges.total:.4g}, start {charges.initial:.4g}, rounds "
        f"{charges.rounds:.4g}, error estimate {charges.error:.4g}"
    )
    for text, expected in plan.noise:
        shown.say(f"noise    about {expected:,.1f} counts on each measured value of {text}")
    _tell_bound(shown, plan.bound, n)


def _tell_bound(shown: Output, bound: Bound, n: float) -> None:
    if bound.error >= n:
        shown.say(
            "bound    none: theorem 2.3 allows errors as large as the number of records here; the release estimates "
            "its own error"
        )
        return
    shown.say(
        f"bound    no error above {bound.error:,.0f} counts, except with probability {bound.failure:.3g} (theorem 2.3)"
    )
    if bound.caveats:
        shown.say(f"         a guide only, for this run is not the theorem's: {'; '.join(bound.caveats)}")
        shown.say("         the release estimates its own error")
