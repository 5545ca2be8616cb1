"""The command line: commands that open files and hand them on; no mathematics."""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit with its code.

    Exit codes: 0 done; 1 an error that Hedgerow found and explained; 2 wrong usage; 130 interrupted.
    """
    from hedgerow.cli.app import app
    from hedgerow.cli.interrupts import quiet_interrupts

    with quiet_interrupts():
        app(prog_name="hedgerow")
