"""The page "Can I trust this number?", from the runs that were made."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

RUNS = Path(__file__).with_name("runs.csv")
PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
_OPENING = Path(__file__).with_name("opening.md")


@dataclass(frozen=True)
class Run:
    """The numbers of one kind in one release.

    Attributes:
        table: Name of the table.
        asked: Whether the release was told of the questions.
        epsilon: Its budget.
        seed: Its seed.
        kind: What was asked for.
        numbers: How many numbers.
        held: Of these, those whose intervals hold them (or, of places, that agree).
        without: Those without an interval.
        log_ratios: Sum of the logarithms of half-widths over those of direct measurements.
        ratios: How many there are.
        errors: Sum of relative errors.
        widths: Sum of half-widths over truths.
    """

    table: str
    asked: bool
    epsilon: float
    seed: int
    kind: str
    numbers: int
    held: int
    without: int
    log_ratios: float
    ratios: int
    errors: float
    widths: float

    @property
    def key(self) -> tuple[str, bool, float, int]:
        """The release."""
        return self.table, self.asked, self.epsilon, self.seed


def read_runs(path: Path = RUNS) -> list[Run]:
    """The runs of a CSV file; none where there is no file."""
    if not path.exists():
        return []
    kinds = {"str": str, "float": float, "int": int, "bool": lambda text: text == "True"}
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            Run(*(kinds[str(field.type)](row[field.name]) for field in fields(Run))) for row in csv.DictReader(lines)
        ]


def add_run(runs: Iterable[Run], path: Path = RUNS) -> None:
    """Write the runs of a release behind those of a CSV file."""
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if is_new:
            writer.writerow([field.name for field in fields(Run)])
        for run in runs:
            writer.writerow([f"{each:.5g}" if isinstance(each, float) else each for each in astuple(run)])


def page_text(runs: Sequence[Run]) -> str:
    """The page, as Markdown."""
    parts = [_OPENING.read_text(encoding="utf-8")]
    for epsilon in sorted({run.epsilon for run in runs}, key=lambda each: (each != 1.0, each)):
        some = [run for run in runs if run.epsilon == epsilon]
        parts += [f"## Epsilon {epsilon:g}", _table(some)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(runs: Sequence[Run]) -> str:
    tables = list(dict.fromkeys(run.table for run in runs))
    releases = {table: len({run.key for run in runs if run.table == table}) // 2 for table in tables}
    heads = [f"{table} ({releases[table]})" for table in tables for _ in (0, 1)]
    told = [word for _ in tables for word in ("by default", "asked for")]
    lines = [
        f"| number | {' | '.join(f'{head}, {word}' for head, word in zip(heads, told, strict=True))} |",
        f"|---|{'---|' * len(heads)}",
    ]
    for kind in dict.fromkeys(run.kind for run in runs):
        cells = [
            _cell([run for run in runs if (run.table, run.asked, run.kind) == (table, asked, kind)])
            for table in tables
            for asked in (False, True)
        ]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(runs: Sequence[Run]) -> str:
    """How many held, the half-width over the truth, and in brackets over that of a direct measurement."""
    if not runs:
        return ""
    numbers, held, without = (sum(getattr(run, name) for run in runs) for name in ("numbers", "held", "without"))
    share = f"{held / numbers:.2f}".removeprefix("0") if held < numbers else "all"
    widths, ratios = sum(run.widths for run in runs) / numbers, sum(run.ratios for run in runs)
    missing = f", {without} without" if without else ""
    if not widths:
        return share + missing
    ratio = f" ({math.exp(sum(run.log_ratios for run in runs) / ratios):.2g})" if ratios else ""
    return f"{share}, {widths:.2g}{ratio}{missing}"
