"""``bound``: the least error of a family of mechanisms, from a workload and a budget alone."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hedgerow.cli import options
from hedgerow.cli.console import Output


def bound(
    *,
    domain: options.DomainFile,
    budgeted: options.BudgetOptions,
    workload: options.WorkloadText = None,
    calibration: Annotated[
        Literal["zcdp", "paper"],
        typer.Option(
            help="Conversion of --epsilon with --delta into Gaussian noise: in its own regime (zcdp), or by the "
            "constant of the paper."
        ),
    ] = "zcdp",
    shown: Output,
) -> None:
    """Show the least error that any matrix mechanism can have on a workload (the SVD bound). Spends nothing.

    The bound is of Li and Miklau (ICDT 2013): for all mechanisms that add noise to linear measurements and answer by
    unbiased linear estimates. A mechanism that fits a model to its noisy answers, as mwem does, may do better.

    Examples:
      hedgerow bound --domain people.yaml --rho 0.1 --workload marginals:2
      hedgerow bound --domain people.yaml --epsilon 1 --delta 1e-9 --calibration paper
    """
    from hedgerow.algorithms.yardsticks.matrix_bound import svd_bound
    from hedgerow.runs import workload_over

    asked = workload_over(options.domain_of(domain, None, accept_draft=True), workload)
    found = svd_bound(asked, budgeted.budget(budgeted.between(None)), calibration=calibration)
    shown.say(f"{'asked':8} {asked.spec}, {found.n_queries:,} queries")
    shown.say(f"{'noise':8} of variance {found.variance:.4g} at sensitivity 1")
    shown.say(f"{'bound':8} root mean squared error of a query at least {found.rmse:.4g} counts, for matrix mechanisms")
    shown.result({**found.to_dict(), "workload": asked.spec, "variance": found.variance})
