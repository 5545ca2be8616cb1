"""``hedgerow audit``: verifies releases, sessions and a server's ledgers from files alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import OUTPUT, AsJson, Force, Quiet, prepare
from hedgerow.cli.outputs import check_outputs, check_report_ending
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from rich.table import Table

    from hedgerow.audit import Audit, Audits, Severity
    from hedgerow.system import VerifyingKey

EXIT_CODES = {"holds": 0, "fails": 1, "unknown": 3}
UNREADABLE = 4

_COLOURS = {"holds": "green", "note": "dim", "unknown": "yellow", "fails": "bold red"}
_SHOWN_DETAILS = 8


def audit(
    ctx: typer.Context,
    *,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="RELEASE...", help="Releases, sessions, and ledgers of a server as JSON."),
    ],
    delta: Annotated[
        float | None,
        typer.Option("--delta", help="Convert rho to (epsilon, delta) with this delta, for sums and comparisons."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="PUB", help="Public Ed25519 key that the releases must be signed with."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="HTML page to write.", rich_help_panel=OUTPUT)
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Verify from files alone that releases promise no more than what was paid for, and say what they add up to.

    The auditor computes everything anew, by code of its own: what each mechanism costs, the sum, the conversion to
    epsilon and delta, the sentence of the guarantee, and the hash chain over the ledger. No private table is needed.

    Examples:
      hedgerow audit people.release
      hedgerow audit people.release --key custodian.pub --html audit.html
      hedgerow audit may.release june.release --delta 1e-9 --json
      curl -H "Authorization: Bearer TOKEN" SERVER/v1/datasets/NAME/ledger/file > ledger.json
      hedgerow audit ledger.json

    Exit codes: 0 everything holds, 1 something fails, 2 wrong usage, 3 nothing fails and something cannot be
    verified from the file, 4 a file or a key cannot be read, or the page cannot be written.
    """
    from hedgerow.audit import audit_files

    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    if delta is not None and not 0.0 < delta < 1.0:
        raise typer.BadParameter("--delta lies between 0 and 1")
    try:
        _check_page(html, files, force=force)
        found = audit_files(files, delta=delta, key=_verifying_key(key))
        if html is not None:
            _write_page(found, html)
    except HedgerowError as error:
        shown.fail(error)
        raise typer.Exit(UNREADABLE) from error
    _tell(shown, found)
    shown.result(found.to_dict())
    raise typer.Exit(EXIT_CODES[found.verdict.value])


def _verifying_key(path: Path | None) -> VerifyingKey | None:
    from hedgerow.system import VerifyingKey

    return None if path is None else VerifyingKey.read(path)


def _check_page(html: Path | None, files: list[Path], *, force: bool) -> None:
    if html is None:
        return
    from hedgerow.report import require_extra

    check_report_ending("--html", html)
    check_outputs({"--html": html}, inputs=files, force=force)
    require_extra()


def _write_page(found: Audits, path: Path) -> None:
    from hedgerow.report import write_audit

    write_audit(found, path)


def _tell(output: Output, found: Audits) -> None:
    for each in found.files:
        output.say(f"{each.path}: {_in_words(each.verdict)}")
        if each.facts["guarantee"]:
            output.tell(each.facts["guarantee"])
        if each.facts["algorithm"]:
            output.say(f"Made by {each.facts['algorithm']}, {each.facts['events']} events")
        output.table(_table(each))
        for finding in each.findings:
            for detail in finding.details[:_SHOWN_DETAILS]:
                output.say(f"  {finding.check}: {detail}")
            if (more := len(finding.details) - _SHOWN_DETAILS) > 0:
                output.say(f"  {finding.check}: {more:,} more; --json lists all")
        output.say()
    for total in found.totals:
        output.say(f"Together, {total}")
        for remark in total.remarks:
            output.say(f"  {remark}")


def _table(audit: Audit) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("check", "verdict", "what was seen"):
        table.add_column(heading, overflow="fold")
    for each in audit.findings:
        colour = _COLOURS[each.severity.value]
        table.add_row(escape(each.check), f"[{colour}]{each.severity.value}[/]", escape(each.text))
    return table


def _in_words(verdict: Severity) -> str:
    return {
        "holds": "everything holds",
        "unknown": "nothing fails, and something cannot be verified",
        "fails": "something fails",
    }[verdict.value]
