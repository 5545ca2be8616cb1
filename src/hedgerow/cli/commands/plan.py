"""``hedgerow plan``: what a run would need, cost and promise, before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import (
    TABLE,
    Alpha,
    AsJson,
    Columns,
    CountColumn,
    Delta,
    DomainFile,
    Epsilon,
    MechanismOption,
    NeighboursOption,
    Quiet,
    Rho,
    Rounds,
    WorkloadText,
    algorithm_of,
    budget_of,
    prepare,
    split_names,
    warn_of_budget,
    workload_of,
)
from hedgerow.cli.reading import Where, read_data
from hedgerow.queries import Neighbours

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Outlined
    from hedgerow.domain import Domain
    from hedgerow.privacy import Budget


def plan(
    ctx: typer.Context,
    *,
    domain: DomainFile,
    data: Annotated[
        str | None,
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
    mechanism: MechanismOption = "mwem",
    rounds: Rounds = None,
    alpha: Alpha = None,
    columns: Columns = None,
    count_column: CountColumn = None,
    where: Where = None,
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
    budget = budget_of(epsilon, delta, rho, neighbours if where is None else neighbours.filtered)
    algorithm = algorithm_of(mechanism, rounds, alpha)
    names = split_names(columns)
    asked = workload_of(domain, names, workload)
    n = (
        total
        if data is None
        else _count(shown, data, asked.domain, columns=names, count_column=count_column, where=where)
    )
    planned = algorithm.plan(asked, budget, float(n or 0))
    if data is not None:
        shown.warn("this plan uses the exact number of records of the table: keep it to yourself")
    warn_of_budget(shown, budget, float(n or 0))
    _tell(shown, planned, budget, float(n or 0))
    shown.result({**planned.to_dict(), "guarantee": budget.statement(), "total": n})


def _count(
    shown: Output, data: str, domain: Domain, *, columns: list[str] | None, count_column: str | None, where: str | None
) -> int:
    extra = "error" if columns is None else "ignore"
    return read_data(shown, data, domain, where=where, count_column=count_column, extra_columns=extra).total()


def _tell(shown: Output, plan: Outlined, budget: Budget, n: float) -> None:
    shown.tell(budget.statement())
    shown.say()
    for word, sentence in plan.lines(n):
        shown.say(f"{word:8} {sentence}")
