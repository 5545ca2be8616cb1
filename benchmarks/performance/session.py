"""A long online session: what a question and a correction take as it goes on, its memory, its file, and its restore."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from experiments.datasets import find_data

POINTS = Path(__file__).with_name("session.csv")
DRAWING = "growth-session.svg"
COLUMNS = ("workclass", "education-num", "marital-status", "relationship", "race", "sex")
UPDATES = 500
THRESHOLD = 0.004
EPSILON, DELTA = 20.0, 1e-9
STEPS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
"""Numbers of questions after which the session is looked at."""


@dataclass(frozen=True)
class Point:
    """A session after some questions; times are CPU milliseconds since the point before.

    Attributes:
        questions: Questions so far, all of them different.
        corrections: Corrections so far.
        question: Mean of a question that is not corrected; 0 where all were.
        correction: Mean of one that is; 0 where none was.
        memory: Resident set, in MiB, as Linux has it.
        file: Size of the saved session, in kB.
        restore: CPU seconds to restore it.
    """

    questions: int
    corrections: int
    question: float
    correction: float
    memory: float
    file: float
    restore: float


def points(steps: Sequence[int] = STEPS) -> Iterator[Point]:
    """Ask six columns of Adult, with seeded noise; the same questions each time."""
    from hedgerow import ApproxDP, OnlinePMW, OnlineSession, SeededNoise, read_table
    from hedgerow.queries import Conjunction

    data = find_data().folder
    table = read_table(data / "adult.csv", data / "adult.domain.json", columns=COLUMNS)
    rules = OnlinePMW(updates=UPDATES, threshold=THRESHOLD, queries=2 * STEPS[-1])
    session = rules.start(table, ApproxDP(EPSILON, DELTA), noise=SeededNoise(1))
    texts = conditions(table.domain.shape)
    seen, times = set[str](), _Times()
    for step in steps:
        while len(seen) < step:
            query = Conjunction.where(table.domain, {COLUMNS[axis]: codes for axis, codes in next(texts).items()})
            if query.text in seen:
                continue
            seen.add(query.text)
            before, begun = session.updates_made, time.process_time()
            session.ask(query)
            times.add(time.process_time() - begun, corrected=session.updates_made > before)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "adult.session"
            session.save(path)
            begun = time.process_time()
            OnlineSession.restore(path, table, noise=SeededNoise(2))
            restore, size = time.process_time() - begun, path.stat().st_size / 1e3
        yield Point(step, session.updates_made, *times.means(), _resident(), size, restore)


def conditions(shape: Sequence[int], seed: int = 5) -> Iterator[dict[int, list[int]]]:
    """Sets of values of one to four attributes, by position."""
    generator = np.random.default_rng(seed)
    while True:
        axes = generator.choice(len(shape), int(generator.integers(1, 5)), replace=False).tolist()
        yield {axis: _some(generator, shape[axis]) for axis in axes}


def _some(generator: np.random.Generator, size: int) -> list[int]:
    chosen: list[int] = generator.choice(size, int(generator.integers(1, size)), replace=False).tolist()
    return sorted(chosen)


class _Times:
    """Seconds of questions since they were last told."""

    def __init__(self) -> None:
        self._of: Mapping[bool, list[float]] = {False: [], True: []}

    def add(self, seconds: float, *, corrected: bool) -> None:
        self._of[corrected].append(seconds)

    def means(self) -> tuple[float, float]:
        """Milliseconds of a question without a correction, and with one."""
        found = tuple(1000.0 * float(np.mean(self._of[corrected] or [0.0])) for corrected in (False, True))
        for each in self._of.values():
            each.clear()
        return found[0], found[1]


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4096 / 2**20


def read_points(path: Path = POINTS) -> list[Point]:
    """The points of a CSV file; none where there is no file."""
    if not path.exists():
        return []
    kinds = {field.name: int if field.type == "int" else float for field in fields(Point)}
    with path.open(encoding="utf-8", newline="") as lines:
        return [Point(**{name: kinds[name](row[name]) for name in kinds}) for row in csv.DictReader(lines)]  # type: ignore[arg-type]


def write_points(found: Iterable[Point], path: Path = POINTS) -> None:
    """Write them to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, [field.name for field in fields(Point)], lineterminator="\n")
        writer.writeheader()
        for point in found:
            writer.writerow(
                {name: f"{each:.4g}" if isinstance(each, float) else each for name, each in asdict(point).items()}
            )


def text_of(found: Sequence[Point]) -> str:
    """The part of the page, as Markdown."""
    last, (_, dearest) = found[-1], _range(found, "question")
    least, most = _range(found, "correction")
    return (
        f"A session of online PMW about six columns of Adult ({', '.join(COLUMNS)}; threshold {THRESHOLD:g}, epsilon "
        f"{EPSILON:g}, delta {DELTA:g}), asked ever new conditions on one to four of them: {last.questions:,} "
        f"questions, {last.corrections} corrections, after which the hypothesis answers alone. A question that is not "
        f"corrected takes {dearest:.2g} CPU milliseconds or less, however many there were; one that is {least:.2g} at "
        f"first and up to {most:.0f} later, since its answer has more others to agree with. The process has "
        f"{found[0].memory:,.0f} MiB after {found[0].questions} questions and {last.memory:,.0f} at the end: each "
        f"answer is kept, so that it is given again. So the file grows too, to {last.file:,.0f} kB; it is restored in "
        f"{last.restore:.2g} CPU seconds.\n\n"
        f"![Times, memory and file of a long session.](../benchmarks/performance/{DRAWING})\n\n"
        f"*A long session. Times are means since the point before.*"
    )


def _range(found: Sequence[Point], name: str) -> tuple[float, float]:
    values = [asdict(point)[name] for point in found if asdict(point)[name] > 0.0]
    return min(values), max(values)


def drawing_of(found: Sequence[Point]) -> str:
    """The text of an SVG file."""
    from matplotlib.figure import Figure

    from hedgerow.report.plots import BAR, NOISE, drawing_style, svg_file_of

    asked = [point.questions for point in found]
    with drawing_style("session"):
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, color, words in (("correction", BAR, "corrected"), ("question", NOISE, "not corrected")):
            told = [(point.questions, asdict(point)[name]) for point in found if asdict(point)[name] > 0.0]
            left.plot(*zip(*told, strict=True), "o-", color=color, label=words)
        right.plot(asked, [point.memory for point in found], "o-", color=BAR, label="memory, MiB")
        right.plot(asked, [point.file for point in found], "o-", color=NOISE, label="file, kB")
        left.set(xscale="log", yscale="log", xlabel="questions", ylabel="CPU milliseconds")
        right.set(xscale="log", xlabel="questions")
        right.set_ylim(bottom=0.0)
        left.set_yticks((0.1, 1, 10, 100), ("0.1", "1", "10", "100"))
        marked = asked[::2]
        for axes in (left, right):
            axes.minorticks_off()
            axes.set_xticks(marked, [f"{each:,}" for each in marked], fontsize=8)
            axes.legend(fontsize=8.5)
        words = "; ".join(
            f"{point.correction:.3g} ms a correction, {point.memory:.0f} MiB at {point.questions:,}" for point in found
        )
        return svg_file_of(left, f"A long session: {words}")
