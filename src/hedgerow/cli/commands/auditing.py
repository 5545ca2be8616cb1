"""Commands about what releases add up to: ``audit`` verifies files, ``register show`` shows the register of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.options import Force
from hedgerow.cli.outputs import check_outputs, check_report
from hedgerow.errors import HedgerowError
from hedgerow.quantities import at_least, at_most, spent_of

if TYPE_CHECKING:
    from hedgerow.audit import Audits, Severity
    from hedgerow.privacy import Contents, Register

EXIT_CODES = {"holds": 0, "fails": 1, "unknown": 3}
UNREADABLE = 4

_STYLES = {"holds": "green", "note": "dim", "unknown": "yellow", "fails": "bold red"}
_SHOWN_DETAILS = 8
_SHOWN_DIGEST = 12


@dataclass(frozen=True)
class _Audited(Options):
    """What is verified, and how.

    Attributes:
        files: Releases, sessions, and ledgers of a server as JSON.
        delta: Convert rho to (epsilon, delta) with this delta, for sums and comparisons.
        key: Public Ed25519 key that the releases must be signed with.
        html: HTML page to write.
    """

    files: Annotated[list[Path], typer.Argument(metavar="RELEASE...")]
    delta: float | None = None
    key: Annotated[Path | None, option(metavar="PUB")] = None
    html: Annotated[Path | None, option(panel="Output", metavar="FILE")] = None


def audit(*, audited: _Audited, force: Force = False, shown: Output) -> None:
    """Verify from files alone that releases promise no more than what was paid for, and say what they add up to.

    The auditor computes everything again, by code of its own: what each mechanism costs, the sum, the conversion to
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
    from hedgerow.system import VerifyingKey

    files, delta, key, html = audited.files, audited.delta, audited.key, audited.html
    if delta is not None and not 0.0 < delta < 1.0:
        raise typer.BadParameter("--delta lies between 0 and 1")
    try:
        check_report("--html", html)
        check_outputs({"--html": html}, inputs=files, force=force)
        audits = audit_files(files, delta=delta, key=None if key is None else VerifyingKey.read(key))
        if html is not None:
            from hedgerow.report import write_audit

            write_audit(audits, html)
    except HedgerowError as error:
        shown.fail(error)
        raise typer.Exit(UNREADABLE) from error
    _tell(shown, audits)
    shown.result(audits.to_dict())
    raise typer.Exit(EXIT_CODES[audits.verdict.value])


def _tell(output: Output, found: Audits) -> None:
    from rich.text import Text

    for file in found.files:
        output.say(f"{file.path}: {_in_words(file.verdict)}")
        if file.facts["guarantee"]:
            output.tell(file.facts["guarantee"])
        if file.facts["algorithm"]:
            output.say(f"Made by {file.facts['algorithm']}, {file.facts['events']} events")
        verdicts = (Text(finding.severity.value, _STYLES[finding.severity.value]) for finding in file.findings)
        rows = (
            (finding.check, verdict, finding.text) for finding, verdict in zip(file.findings, verdicts, strict=True)
        )
        output.table(("check", "verdict", "finding"), rows)
        for finding in file.findings:
            for detail in finding.details[:_SHOWN_DETAILS]:
                output.say(f"  {finding.check}: {detail}")
            if (more := len(finding.details) - _SHOWN_DETAILS) > 0:
                output.say(f"  {finding.check}: {more:,} more; --json lists all")
        output.say()
    for total in found.totals:
        output.say(f"Together, {total}")
        for remark in total.remarks:
            output.say(f"  {remark}")


def _in_words(verdict: Severity) -> str:
    return {
        "holds": "everything holds",
        "unknown": "nothing fails, and something cannot be verified",
        "fails": "something fails",
    }[verdict.value]


def show_register(
    *,
    register: Annotated[Path, typer.Argument(metavar="REGISTER", help="Register of a table.")],
    delta: Annotated[
        float | None, option(help="Show a sum of rhos as an epsilon with this delta; by default that of the limit.")
    ] = None,
    shown: Output,
) -> None:
    """Show what was released of a table, what it adds up to, and what is left.

    The register is checked: that no entry was changed, left out or moved, and that each is charged what its budget
    costs. Note the head of its chain elsewhere: it stands for all entries so far, also against anyone who could
    rewrite them all.

    Examples:
      hedgerow register show people.register
      hedgerow register show people.register --delta 1e-9 --json
    """
    from hedgerow.privacy import Register

    opened = Register(register)
    contents = opened.contents()
    together = _together(contents, delta)
    entries = (
        (
            str(entry.number),
            entry.at.partition("+")[0].replace("T", " "),
            entry.kind,
            entry.name,
            _words(entry.budget.to_dict()),
            at_most(entry.charge, 5),
            "\n".join(digest[:_SHOWN_DIGEST] for digest in entry.digests),
        )
        for entry in contents.entries
    )
    headings = ("#", "when (UTC)", "what", "name", "budget", contents.unit, "SHA-256")
    shown.table(headings, entries, right=("#", contents.unit), title=f"Register of {contents.table}")
    shown.say(
        f"spent    {spent_of(contents.spent, contents.amount, contents.unit)}, {at_least(contents.remaining)} left"
    )
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
    """The sum of the entries as (epsilon, delta); None where no delta is known."""
    if delta is None and "delta" not in contents.limit.to_dict() and contents.unit != "epsilon":
        return None
    epsilon, with_delta = contents.approximate(delta)
    return {"epsilon": epsilon, "delta": with_delta}


def _sentence(register: Register, together: dict[str, float] | None) -> str:
    from hedgerow.privacy import Regime

    who = f"All releases of {register.table} in this register, taken together, are"
    relation = f"between tables that are neighbours by {register.limit.neighbours.value}"
    if together is None:
        amount = f"{at_most(register.spent)}-zCDP"
        if register.limit.regime is Regime.GDP:
            amount = f"{at_most(math.nextafter(math.sqrt(2.0 * register.spent), math.inf))}-GDP"
        return f"{who} {amount} {relation}; --delta shows them as an epsilon."
    delta = f" and delta = {at_most(together['delta'], 3)}" if together["delta"] else ""
    return f"{who} differentially private with epsilon = {at_most(together['epsilon'])}{delta}, {relation}."


def _words(budget: dict[str, Any]) -> str:
    """A budget as it was said, in a few words."""
    if budget["kind"] == "subsampled":
        return f"{_words(budget['inner'])} on {budget['sampled']:,} of {budget['population']:,}"
    return ", ".join(f"{name} {at_most(budget[name])}" for name in ("epsilon", "delta", "rho", "mu") if name in budget)
