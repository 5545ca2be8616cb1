"""``hedgerow register``: what all releases of a table add up to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.options import AsJson, Quiet, prepare

if TYPE_CHECKING:
    from rich.table import Table

    from hedgerow.privacy import Contents, Register

_SHOWN_DIGEST = 12


def show_register(
    ctx: typer.Context,
    *,
    register: Annotated[Path, typer.Argument(metavar="REGISTER", help="Register of a table.")],
    delta: Annotated[
        float | None,
        typer.Option("--delta", help="For which a sum of rhos is shown as an epsilon; that of the limit unless given."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show what was released of a table, what it adds up to, and what is left.

    The register is checked: that no entry was changed, left out or moved, and that each is charged what its budget
    costs. Note the head of its chain somewhere else: it stands for all entries so far, also against whoever could write
    them all anew.

    Examples:
      hedgerow register show people.register
      hedgerow register show people.register --delta 1e-9 --json
    """
    from hedgerow.privacy import Register

    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    opened = Register(register)
    contents = opened.contents()
    together = _together(contents, delta)
    shown.table(_grid(contents))
    shown.say(f"spent    {contents.spent:.6g} of {contents.amount:.6g} {contents.unit}, {contents.remaining:.6g} left")
    shown.tell(_sentence(opened, together))
    shown.say(f"head     {contents.head}")
    shown.result(
        {
            "table": contents.table,
            "limit": contents.limit.to_dict(),
            "unit": contents.unit,
            "amount": contents.amount,
            "spent": contents.spent,
            "remaining": contents.remaining,
            "together": together,
            "entries": [{**entry.to_dict(), "digests": list(entry.digests)} for entry in contents.entries],
            "head": contents.head,
        }
    )


def _together(contents: Contents, delta: float | None) -> dict[str, float] | None:
    """What the entries add up to as (epsilon, delta); None where no delta is known."""
    if delta is None and "delta" not in contents.limit.to_dict() and contents.unit == "rho":
        return None
    epsilon, with_delta = contents.approximate(delta)
    return {"epsilon": epsilon, "delta": with_delta}


def _sentence(register: Register, together: dict[str, float] | None) -> str:
    who = f"All releases of {register.table} in this register, taken together, are"
    relation = f"between tables that are neighbours by {register.limit.neighbours.value}"
    if together is None:
        return f"{who} {register.spent:.6g}-zCDP {relation}; --delta shows them as an epsilon."
    delta = f" and delta = {together['delta']:.3g}" if together["delta"] else ""
    return f"{who} differentially private with epsilon = {together['epsilon']:.6g}{delta}, {relation}."


def _grid(contents: Contents) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    grid = Table(title=escape(f"Register of {contents.table}"), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("#", "when (UTC)", "what", "name", "budget"):
        grid.add_column(heading, justify="right" if heading == "#" else "left", overflow="fold")
    grid.add_column(contents.unit, justify="right")
    grid.add_column("SHA-256")
    for entry in contents.entries:
        when = entry.at.partition("+")[0].replace("T", " ")
        digests = "\n".join(digest[:_SHOWN_DIGEST] for digest in entry.digests)
        cells = (str(entry.number), when, entry.kind, entry.name, _words(entry.budget.to_dict()), f"{entry.charge:.5g}")
        grid.add_row(*map(escape, cells), digests)
    return grid


def _words(budget: dict[str, Any]) -> str:
    """A budget as it was said, in a few words."""
    if budget["kind"] == "subsampled":
        return f"{_words(budget['inner'])} on {budget['sampled']:,} of {budget['population']:,}"
    return ", ".join(f"{name} {budget[name]:.6g}" for name in ("epsilon", "delta", "rho") if name in budget)
