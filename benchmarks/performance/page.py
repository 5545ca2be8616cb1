"""The page of running times, and its drawings, from the runs that were measured."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from benchmarks.performance import session
from benchmarks.performance.drawn import drawn_shapes
from benchmarks.performance.measuring import Run
from benchmarks.performance.shapes import Shape, shapes

RESULTS = Path(__file__).with_name("runs.csv")
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
_OPENING = Path(__file__).with_name("opening.md")


def read_runs(path: Path = RESULTS) -> dict[str, Run]:
    """The runs of a CSV file, by name; none where there is no file."""
    if not path.exists():
        return {}
    kinds = {field.name: {"str": str, "float": float, "int": int}[str(field.type)] for field in fields(Run)}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["name"]: Run(**{key: kinds[key](row[key]) for key in kinds}) for row in csv.DictReader(lines)}


def write_runs(runs: Iterable[Run], path: Path = RESULTS) -> None:
    """Write them to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, [field.name for field in fields(Run)], lineterminator="\n")
        writer.writeheader()
        for run in runs:
            row = asdict(run)
            writer.writerow({key: f"{each:.4g}" if isinstance(each, float) else each for key, each in row.items()})


def page_text(runs: Mapping[str, Run], asked: Sequence[session.Point]) -> str:
    """The page, as Markdown: of the runs, and of a long session."""
    listed = [shape for shape in shapes() if shape.name in runs]
    drawn = [runs[shape.name] for shape in drawn_shapes() if shape.name in runs]
    table = _table([runs[shape.name] for shape in listed if shape.listed])
    groups = dict.fromkeys(shape.group for shape in listed if shape.group)
    pictures = [
        f"![CPU seconds and memory against {group}.](../benchmarks/performance/{_file(group)})\n\n"
        f"*CPU seconds and memory against {group}.*"
        for group in groups
    ]
    opening = _OPENING.read_text(encoding="utf-8").rstrip()
    told = f"{_near([runs[shape.name] for shape in listed])}, those of the drawings among them."
    others = ["## Shapes drawn at random", _DRAWN, _table(drawn), f"{_near(drawn)}."] if drawn else []
    sessions = ["## A long session", session.text_of(asked)] if asked else []
    return "\n\n".join([opening, table, told, *others, "## Growth", *pictures, *sessions]) + "\n"


_DRAWN = (
    "Tables and workloads that nobody chose: sizes even on a scale of logarithms, drawn by one seed "
    "(`benchmarks/performance/drawn.py`). All of them are here. Rates were looked at with other seeds before."
)


def _table(runs: Sequence[Run]) -> str:
    head = (
        "| run | CPU s | `plan` says, s | memory, MiB | `plan` says, MiB | floor, s |",
        "|---|---:|---:|---:|---:|---:|",
    )
    return "\n".join([*head, *map(_row, runs)])


def _near(runs: Sequence[Run]) -> str:
    """In how many runs a plan was right within a factor of 2."""
    seconds = sum(0.5 <= run.planned / run.seconds <= 2.0 for run in runs)
    memory = sum(0.5 <= run.planned_memory / run.memory <= 2.0 for run in runs)
    return (
        f"`plan` was within a factor of 2 in {seconds} of {len(runs)} runs for the time and in {memory} for the memory"
    )


def drawings(runs: Mapping[str, Run], asked: Sequence[session.Point]) -> dict[str, str]:
    """For each drawing its file name and the text of an SVG file."""
    groups: dict[str, list[Shape]] = {}
    for shape in shapes():
        if shape.group and shape.name in runs:
            groups.setdefault(shape.group, []).append(shape)
    found = {
        _file(group): _drawing(group, sorted(points, key=lambda shape: shape.size), runs)
        for group, points in groups.items()
    }
    return found | ({session.DRAWING: session.drawing_of(asked)} if asked else {})


def _row(run: Run) -> str:
    figures = f"{run.seconds:.3g} | {run.planned:.3g} | {run.memory:,.0f} | {run.planned_memory:,.0f}"
    return f"| {run.name} | {figures} | {run.floor:.2g} |"


def _file(group: str) -> str:
    return f"growth-{group.split(maxsplit=1)[0]}.svg"


def _drawing(group: str, points: Sequence[Shape], runs: Mapping[str, Run]) -> str:
    from matplotlib.figure import Figure

    from hedgerow.report.plots import BAR, NOISE, drawing_style, svg_file_of

    sizes = [shape.size for shape in points]
    found = [runs[shape.name] for shape in points]
    with drawing_style("performance"):
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(sizes, [run.seconds for run in found], "o-", color=BAR, label="run")
        left.plot(sizes, [run.floor for run in found], "o-", color=NOISE, label="floor")
        left.plot(sizes, [run.planned for run in found], ":", color=BAR, label="plan")
        right.plot(sizes, [run.memory for run in found], "o-", color=BAR)
        left.set(xscale="log", yscale="log", xlabel=group, ylabel="CPU seconds")
        right.set(xscale="log", xlabel=group, ylabel="memory, MiB")
        right.set_ylim(bottom=0.0)
        for axes in (left, right):
            axes.minorticks_off()
            axes.set_xticks(sizes, [_tick(size) for size in sizes], fontsize=8)
        low, high = left.get_ylim()
        ticks = [each for each in (1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= each <= high]
        left.set_yticks(ticks, [str(each) for each in ticks])
        left.legend(fontsize=8.5)
        words = ", ".join(f"{run.seconds:.3g} s at {size:,}" for run, size in zip(found, sizes, strict=True))
        return svg_file_of(left, f"CPU seconds and memory against {group}: {words}")


def _tick(size: int) -> str:
    return f"{size:,}" if size < 10**4 else f"1e{len(str(size)) - 1}"
