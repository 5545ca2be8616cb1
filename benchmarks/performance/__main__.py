"""``python -m benchmarks performance``: run what is missing, and write the page and its drawings."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.performance import session
from benchmarks.performance.drawn import drawn_shapes
from benchmarks.performance.measuring import measured
from benchmarks.performance.page import PAGE, RESULTS, drawings, page_text, read_runs, write_runs
from benchmarks.performance.shapes import shapes


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, run what is not known yet, and write everything that is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks performance", description=__doc__)
    parser.add_argument("--again", action="store_true", help="repeat all runs, or those that --only names")
    parser.add_argument("--only", default="", help="only runs whose name holds this")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--session", action="store_true", help="ask the long session anew")
    asked = parser.parse_args(arguments)
    console, listed, known = Console(), [*shapes(), *drawn_shapes()], read_runs()
    with tempfile.TemporaryDirectory() as folder:
        for shape in listed:
            if asked.show or asked.only not in shape.name or (shape.name in known and not asked.again):
                continue
            with console.status(f"{shape.name} ..."):
                run = known[shape.name] = measured(shape, Path(folder))
            console.log(f"{run.name}: {run.seconds:.3g} s, floor {run.floor:.2g}, planned {run.planned:.3g}")
            write_runs(known[each.name] for each in listed if each.name in known)
    if asked.session:
        with console.status("a long session ..."):
            session.write_points(session.points())
    told = session.read_points()
    PAGE.write_text(page_text(known, told), encoding="utf-8")
    for name, text in drawings(known, told).items():
        RESULTS.with_name(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
