"""The command line: commands that open files and hand them on; no mathematics.

`commands` holds the commands, `app` puts them together. What commands share stands beside: `options` (options, and the
budgets, workloads and algorithms that they describe), `reading` (the private table), `outputs` (records and files),
`spending` (registers, and what is said of the budget when a run stops), `console` (printing, progress, errors,
Ctrl-C), `serving` (the server) and `warming` (small jobs that have everything compiled). This is the topmost room: it
may import every other one, and opens private tables only to hand them on to `hedgerow.privacy`.
"""

_ALLOCATIONS = 200_000
"""Objects between two searches for unreachable cycles.

Python's own 700 make it search hundreds of times while libraries load, a tenth of a small run; what waits is bounded.
"""


def collect_seldom() -> None:
    """Search for unreachable cycles less often, in this process."""
    from gc import set_threshold

    set_threshold(_ALLOCATIONS)


def main() -> None:
    """Run the command line, and exit with its code.

    Exit codes: 0 done; 1 an error that Hedgerow found and explained; 2 wrong usage; 130 interrupted.
    """
    collect_seldom()

    from hedgerow.cli.app import app
    from hedgerow.cli.console import quiet_interrupts

    with quiet_interrupts():
        app(prog_name="hedgerow")
