"""``python -m benchmarks regret``: run the grid, print the regrets and draw them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.regret.grid import cells
from benchmarks.regret.regrets import HALVES, drawing, regrets_of, show
from benchmarks.regret.running import Allowance, Key, Run, journal_of, run_all

RESULTS = Path(__file__).with_name("runs.csv")
MEGABYTES = 3_500
SEEDS = 3
REPEATING = 20.0
WIDTH = 190


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, run what is not in the journal, and show everything that is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks regret", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="some cells at epsilon 1, one seed, fewer strategies")
    parser.add_argument("--half", choices=HALVES, help="one half of the tables")
    parser.add_argument("--cells", default="", help="only cells whose text holds this, as 'adult | marginals:2'")
    parser.add_argument("--again", nargs="+", default=[], metavar="STRATEGY", help="repeat these, as auto")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seeds", type=int, help="seeds of each strategy; 1 in the quick grid, else 3")
    parser.add_argument("--seconds", type=float, help="CPU seconds of a run; 120 in the quick grid, else 600")
    parser.add_argument(
        "--repeating", type=float, default=REPEATING, help="CPU seconds of a cell for seeds beyond these; none if quick"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="CSV file of the runs; a drawing goes beside it")
    asked = parser.parse_args(arguments)
    console = Console(width=WIDTH)
    wanted = [c for c in cells(quick=asked.quick) if asked.half in (None, c.half) and asked.cells in c.key]
    repeating = 0.0 if asked.quick else asked.repeating
    allowance = Allowance(asked.seconds or (120.0 if asked.quick else 600.0), MEGABYTES, repeating)
    keys = {cell.key for cell in wanted}

    def forget(key: Key, run: Run) -> bool:
        stopped_early = run.state == "out of time" and run.seconds < 0.9 * allowance.seconds
        return not asked.show and key[0] in keys and (key[1] in asked.again or stopped_early)

    journal = journal_of(asked.results, forget)
    if not asked.show:
        seeds = asked.seeds or (1 if asked.quick else SEEDS)
        run_all(wanted, seeds, journal, allowance, quick=asked.quick, jobs=asked.jobs, tell=console.log)
    show(regrets_of(wanted, journal.known), console)
    every = regrets_of(cells(), journal.known)
    if every:
        asked.results.with_suffix(".svg").write_text(drawing(every), encoding="utf-8")


if __name__ == "__main__":
    main()
