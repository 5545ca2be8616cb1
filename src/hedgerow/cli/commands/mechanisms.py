"""``hedgerow mechanisms``: the algorithms that can be named."""

from __future__ import annotations

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from hedgerow.algorithms.registry import Entry, entries
from hedgerow.cli.options import AsJson, Quiet, prepare
from hedgerow.privacy import Regime

_BUDGETS = {(Regime.PURE, Regime.ZCDP): "any", (Regime.PURE,): "epsilon", (Regime.ZCDP,): "with delta, or rho"}


def mechanisms(ctx: typer.Context, *, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """List the mechanisms: what they do, under which budgets, with which options.

    The names are for --mechanism of 'hedgerow synth' and 'hedgerow plan', and with options for --mechanisms of
    'hedgerow compare'.

    Examples:
      hedgerow mechanisms
      hedgerow mechanisms --json
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "what it does", "budgets", "options"):
        table.add_column(heading, overflow="fold")
    listed = entries()
    for each in listed:
        table.add_row(*map(escape, (each.name, each.summary, _BUDGETS[each.regimes], ", ".join(each.options))))
    shown.table(table)
    shown.result({"mechanisms": [_described(each) for each in listed]})


def _described(each: Entry) -> dict[str, object]:
    regimes = [regime.value for regime in each.regimes]
    return {"name": each.name, "summary": each.summary, "regimes": regimes, "options": list(each.options)}
