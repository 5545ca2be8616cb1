"""Make the drawings of how-it-works.md, and that of architecture.md: ``python docs/site_drawings.py``.

Those of how-it-works.md show runs, which the script makes again.

Everything is seeded and on the public table Adult, so the truth can be drawn beside what is private of other tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

import hedgerow
from hedgerow import Curator, Proximal, SeededNoise, Table, Workload
from hedgerow.extending import Floats, Measurement, generator, hypothesis_for, number_of_records, refit

ROOT = Path(__file__).resolve().parent.parent
DRAWINGS = ROOT / "docs" / "drawings"
COLUMNS = ("marital-status", "relationship", "race", "sex", "workclass", "income")
SHOWN = ("relationship", "income")
"""The marginal whose way from a guess to the truth is drawn."""
ROUNDS = 10
STAGES = (0, 2, 4, 10)
ASKED = ("relationship", "sex", "workclass", "income")
QUESTIONS = 60
Point = tuple[float, float]
INK, FAINT, BLUE, PALE, ORANGE = "#333", "#bbb", "#3f51b5", "#9fa8da", "#e65100"


def public_table(columns: Sequence[str] = COLUMNS) -> Table:
    """Some columns of Adult."""
    folder = ROOT / "examples" / "data"
    return hedgerow.read_table(folder / "adult.csv", domain=folder / "adult.domain.json", columns=columns)


# What is drawn


@dataclass(frozen=True)
class Loop:
    """Ten rounds of selection, measurement and correction.

    Attributes:
        truth: Shares of the records in the cells of the shown marginal.
        stages: The same of the hypothesis after some numbers of rounds.
        errors: Total variation distance of each candidate before each round.
        chosen: Number of the candidate that each round selected.
        candidates: Texts of the candidates.
        charges: Purposes and charges of the events in the ledger.
        limit: The budget, in the unit of the charges.
    """

    truth: Floats
    stages: Mapping[int, Floats]
    errors: Sequence[Sequence[float]]
    chosen: Sequence[int]
    candidates: Sequence[str]
    charges: Sequence[tuple[str, float]]
    limit: float


def loop(table: Table) -> Loop:
    """Run the rounds as the page tells them, and note what the drawings need."""
    workload = Workload.marginals(table.domain, order=2)
    curator = Curator(table, hedgerow.ApproxDP(epsilon=1.0, delta=1e-9), noise=SeededNoise(0))
    total = number_of_records(curator, 0.05 * curator.ledger.remaining)
    model = hypothesis_for(workload, total)
    charge = curator.ledger.remaining * (1 - 1e-12) / (2 * ROUNDS)
    measured: list[Measurement] = []
    stages, errors, chosen = {}, [], []
    truth = workload.answers(table)
    for done in range(ROUNDS + 1):
        answers = workload.answers(model)
        stages[done] = model.marginals([SHOWN])[0] / total
        errors.append([float(each) / (2 * total) for each in workload.candidate_errors(truth - answers)])
        if done < ROUNDS:
            chosen.append(curator.select(workload, answers, charge))
            measured.append(curator.measure(workload.candidate(chosen[-1]), charge))
            refit(model, measured, Proximal())
    return Loop(
        truth=table.marginals([SHOWN])[0] / table.total(),
        stages={done: stages[done] for done in STAGES},
        errors=errors,
        chosen=chosen,
        candidates=[workload.candidate(number).text for number in range(workload.n_candidates)],
        charges=[(event.label, event.charge) for event in curator.ledger.events],
        limit=curator.ledger.limit,
    )


@dataclass(frozen=True)
class Asked:
    """A question of a session, and what it cost.

    Attributes:
        error: Distance of the hypothesis from the truth before the question, as a share of the records.
        source: Source of the answer.
        spent: Share of the budget that is spent after it.
    """

    error: float
    source: str
    spent: float


def session(table: Table) -> tuple[Sequence[Asked], float]:
    """Questions about two columns each, drawn by chance; and the threshold, as a share of the records."""
    online = hedgerow.OnlinePMW(updates=20, threshold=0.02, queries=QUESTIONS)
    running = online.start(table, hedgerow.ApproxDP(epsilon=1.0, delta=1e-9), noise=SeededNoise(1))
    drawn, asked = generator(1), []
    n = table.total()
    threshold = float(running.summary()["threshold"]) / n
    for _ in range(QUESTIONS):
        question = _question(table, drawn)
        guess = running.release().answer(question).value
        (truth,) = Workload.parse(f"where: {question}", table.domain).answers(table)
        answer = running.ask(question)
        asked.append(Asked(abs(guess - truth) / n, answer.source, answer.spent / running.budget.limit))
    return asked, threshold


def _question(table: Table, drawn: np.random.Generator) -> str:
    names = [table.domain.names[place] for place in drawn.choice(len(table.domain), size=2, replace=False)]
    chosen = [(name, table.domain[name].labels) for name in names]
    return " and ".join(f"\"{name}\" = '{labels[int(drawn.integers(len(labels)))]}'" for name, labels in chosen)


# How it is drawn


def text(x: float, y: float, said: str, *, anchor: str = "start", colour: str = INK, size: float = 14) -> str:
    """A line of text; ``y`` is its baseline."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(said)}</text>'
    )


def bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A filled rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" fill="{colour}"/>'


def line(start: Point, end: Point, colour: str = INK, width: float = 1.5, dashes: str = "") -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashed}/>'


def svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """A whole drawing on white ground, with a title for those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f"{bar(0, 0, width, height, '#fff')}\n" + "\n".join(parts) + "\n</svg>\n"
    )


def draw_stages(found: Loop, table: Table) -> str:
    """The hypothesis as bars and the truth as marks, after some numbers of rounds."""
    groups, values = (table.domain[name].labels for name in SHOWN)
    left, wide, row, gap = 112, 190, 34, 26
    high = row * len(groups) + 34
    scale = (wide - gap) / max(float(each.max()) for each in (found.truth, *found.stages.values()))
    parts = [
        *_key([(BLUE, f"hypothesis, {values[0]}"), (ORANGE, f"hypothesis, {values[1]}"), (INK, "truth")]),
    ]
    for place, (done, shares) in enumerate(found.stages.items()):
        x, y = left + wide * (place % 2), 44 + high * (place // 2)
        parts.append(text(x, y, f"after {done} rounds", size=15))
        for number, group in enumerate(groups):
            top = y + 10 + row * number
            if place % 2 == 0:
                parts.append(text(left - 8, top + 18, group, anchor="end"))
            for half, colour in enumerate((BLUE, ORANGE)):
                at = top + 12 * half
                parts.append(bar(x, at, scale * float(shares[number, half]), 11, colour))
                mark = x + scale * float(found.truth[number, half])
                parts.append(line((mark, at - 0.5), (mark, at + 11.5), INK, 2.5))
        parts.append(line((x, y + 8), (x, y + 8 + row * len(groups)), FAINT, 1))
    title = "Shares of the records by relationship and income: hypothesis and truth after 0, 2, 4 and 10 rounds"
    return svg(left + 2 * wide, 44 + 2 * high, title, parts)


def _key(entries: Sequence[tuple[str, str]], x: float = 4, y: float = 6) -> Iterator[str]:
    """Colours and what they stand for, in a row."""
    for colour, said in entries:
        yield bar(x, y, 11, 11, colour)
        yield text(x + 16, y + 10, said, size=13)
        x += 32 + 7.1 * len(said)


def draw_selection(found: Loop, rounds: Sequence[int] = (1, 3, 10)) -> str:
    """Errors of all candidates before some rounds, and which of them were selected."""
    left, wide, row = 218, 94, 20
    largest = max(max(found.errors[each - 1]) for each in rounds)
    parts = [*_key([(PALE, "error of the hypothesis"), (ORANGE, "selected, and measured next")])]
    for number, candidate in enumerate(found.candidates):
        parts.append(text(left - 8, 66 + row * number, candidate.replace(" * ", " and "), anchor="end", size=13))
    for place, each in enumerate(rounds):
        x = left + wide * place
        parts.append(text(x, 44, f"round {each}", size=15))
        for number, error in enumerate(found.errors[each - 1]):
            colour = ORANGE if number == found.chosen[each - 1] else PALE
            parts.append(bar(x, 55 + row * number, max(1.5, (wide - 14) * error / largest), 14, colour))
    title = "Errors of the 15 pairs of columns before rounds 1, 3 and 10, and the pair that each round selected"
    return svg(left + wide * len(rounds), 66 + row * len(found.candidates), title, parts)


def draw_ledger(found: Loop) -> str:
    """The share of the budget that is spent after each event, and the limit."""
    left, base, wide, high = 44, 220, 440, 170
    step = wide / len(found.charges)
    colours = {"total": INK, "select": PALE, "measure": BLUE}
    parts = [*_key([(INK, "number of records"), (PALE, "selection"), (BLUE, "measurement")])]
    spent = 0.0
    for number, (label, charge) in enumerate(found.charges):
        x, share = left + step * number, charge / found.limit
        parts.append(bar(x, base - high * spent, step - 2, high * spent, "#eee"))
        parts.append(bar(x, base - high * (spent + share), step - 2, high * share, colours[label]))
        spent += share
    for share in (0.0, 0.5, 1.0):
        parts.append(text(left - 6, base - high * share + 5, f"{share:.0%}", anchor="end", size=13))
    parts.append(line((left, base - high), (left + wide, base - high), ORANGE, 2, "6 4"))
    parts.append(text(left, base - high - 7, "the limit", colour=ORANGE))
    parts.append(line((left, base), (left + wide, base)))
    parts.append(text(left + wide / 2, base + 20, f"{len(found.charges)} events of the ledger", anchor="middle"))
    return svg(
        left + wide + 6, base + 30, "The share of the budget that is spent after each event of the ledger", parts
    )


def draw_session(asked: Sequence[Asked], threshold: float) -> str:
    """The error of the guess at each question, who answered, and what is spent."""
    left, wide, high, base, low = 50, 440, 180, 250, 355
    step = wide / len(asked)
    scale = high / max(each.error for each in asked)
    colours = {"hypothesis": PALE, "data": ORANGE, "cache": INK}
    at = base - scale * threshold
    parts = [
        *_key([(PALE, "answered by the hypothesis"), (ORANGE, "by the data: a correction")]),
        *_key([(INK, "known from earlier answers"), (FAINT, f"below the threshold of {threshold:.0%}")], y=26),
        bar(left, at, wide, base - at, "#e4e4e4"),
    ]
    for number, each in enumerate(asked):
        x, y = left + step * (number + 0.5), base - scale * each.error
        parts.append(line((x, base), (x, y), FAINT, 1))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colours[each.source]}"/>')
        parts.append(bar(left + step * number, low - 70 * each.spent, step, 70 * each.spent, BLUE))
    for y, said in ((base, "0"), (base - high, f"{high / scale:.0%}"), (low, "0"), (low - 70, "100%")):
        parts.append(text(left - 6, y + 5, said, anchor="end", size=13))
    parts += [line((left, base), (left + wide, base)), line((left, low), (left + wide, low))]
    parts.append(text(left, 60, "error of the hypothesis before the question"))
    parts.append(text(left, low - 78, "budget that is spent"))
    parts.append(text(left + wide / 2, low + 20, f"{len(asked)} questions, one after the other", anchor="middle"))
    title = "A session: the error of the hypothesis at each question, which answers came from the data, and the budget"
    return svg(left + wide + 6, low + 30, title, parts)


BOX = 176
"""Width of a box."""


def box(x: float, y: float, name: str, room: str, colour: str = PALE) -> str:
    """A part of the house and the room that it is in."""
    return (
        bar(x, y, BOX, 48, colour)
        + text(x + BOX / 2, y + 20, name, anchor="middle", size=15)
        + text(x + BOX / 2, y + 38, room, anchor="middle", size=12)
    )


def arrow(start: Point, end: Point, said: str = "", *, beside: float = 0) -> str:
    """A line with a head at its end; what it carries stands above, or ``beside`` it."""
    (x, y), (to_x, to_y) = start, end
    head = f"{to_x:.0f},{to_y:.0f} "
    if y == to_y:
        back = 8 if to_x < x else -8
        head += f"{to_x + back:.0f},{y - 5:.0f} {to_x + back:.0f},{y + 5:.0f}"
    else:
        head += f"{x - 5:.0f},{to_y - 8:.0f} {x + 5:.0f},{to_y - 8:.0f}"
    place = text(x + beside, (y + to_y) / 2 + 4, said, size=12) if beside else ""
    if said and not beside:
        place = text((x + to_x) / 2, y - 7, said, anchor="middle", size=12)
    return line(start, end) + f'<polygon points="{head}" fill="{INK}"/>' + place


def draw_house() -> str:
    """What flows where: private on the left, the gate in the middle, public on the right."""
    left, gate, right = 20, 262, 504
    parts = [
        bar(gate - 22, 0, BOX + 44, 430, "#fff3e0"),
        *(
            text(x + BOX / 2, 24, said, anchor="middle", colour=ORANGE, size=16)
            for x, said in ((left, "private"), (gate, "the gate"), (right, "public"))
        ),
        box(left, 140, "Private table", "data/: file, database, Spark", "#e0e0e0"),
        box(gate, 48, "Budget and ledger", "privacy/"),
        box(gate, 140, "Curator", "privacy/: the only reader"),
        box(gate, 232, "Noise of OpenDP", "paid before it is drawn"),
        box(right, 48, "Workload", "queries/, domain/"),
        box(right, 140, "Algorithm", "algorithms/"),
        box(right, 232, "Model, the hypothesis", "models/"),
        box(right, 324, "Release", "release/: one file"),
        arrow((left + BOX, 164), (gate, 164), ""),
        text(left + BOX + 10, 130, "exact", size=12),
        arrow((gate + BOX, 158), (right, 158), "noisy"),
        arrow((right, 176), (gate + BOX, 176)),
        text((gate + BOX + right) / 2, 192, "asks", anchor="middle", size=12),
        arrow((gate + BOX / 2, 96), (gate + BOX / 2, 140), "charged", beside=8),
        line((gate + BOX / 2, 188), (gate + BOX / 2, 232)),
        arrow((right + BOX / 2, 96), (right + BOX / 2, 140)),
        arrow((right + BOX / 2, 188), (right + BOX / 2, 232), "corrections", beside=8),
        arrow((right + BOX / 2, 280), (right + BOX / 2, 324)),
        text(right + BOX / 2, 396, "records, answers, report/", anchor="middle", size=13),
        text(right + BOX / 2, 416, "audit/ verifies the file alone", anchor="middle", size=13),
    ]
    return svg(
        right + BOX + 20, 430, "What flows where: only the curator reads exact counts of the private table", parts
    )


def drawings() -> dict[str, str]:
    """All drawings by the names of their files."""
    table = public_table()
    found = loop(table)
    return {
        "house.svg": draw_house(),
        "hypothesis.svg": draw_stages(found, table),
        "selection.svg": draw_selection(found),
        "ledger.svg": draw_ledger(found),
        "session.svg": draw_session(*session(public_table(ASKED))),
    }


if __name__ == "__main__":
    DRAWINGS.mkdir(exist_ok=True)
    for name, content in drawings().items():
        (DRAWINGS / name).write_text(content, encoding="utf-8")
