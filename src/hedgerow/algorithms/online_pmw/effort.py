"""What a session takes, said beforehand: time of questions and corrections, and how many fit into its hypothesis.

How soon corrections are called for follows from the table, and no public number says it: figures are of a session that
makes all of them. Questions are taken to be conditions on one to four attributes, drawn at random.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.domain import Clique, Domain
from hedgerow.models import LARGE_ATTRIBUTE, may_be_dense
from hedgerow.models.choice import SMALL_CELLS, domain_of_sizes, trees_of
from hedgerow.quantities import human_seconds
from hedgerow.system import generator, slowness

CALLS = "calls"
"""The word of the line about calls of the command ``ask``; a server makes none."""
REMEMBERED = 1_600
"""Bytes that a question is remembered with."""
OF_CELL = 64
"""Bytes of a cell of trees, with the work on it."""

_MOST_ASKED_ABOUT = 4
_QUESTION, _QUESTION_CELL = 0.4e-3, 4.5e-9
"""Seconds of a question that is not corrected, and of each cell of the hypothesis."""
_CORRECTION, _OF_TREES, _TREE_CELL = 7e-3, 0.2e-3, 1e-7
"""Seconds of a correction; over trees for each answer that is fitted, and for each cell."""
_DENSE, _OF_CELLS, _PASS, _CELL = 1.5e-3, 0.04e-3, 3e-8, 1.1e-9
"""The same over a histogram; then for each cell, and for each cell and answer."""
_CALL, _READ = 1.5, 15e-9
"""Seconds until a call of the command has loaded its libraries; a value of a record that it reads."""
_POINTS, _STREAMS, _WINDOW, _MOST = 8, 5, 10, 1_000
_TIMES = "question", "first", "last", "corrections", "call"


@dataclass(frozen=True)
class Effort:
    """Rough times on one core of this machine, in seconds, and room.

    Attributes:
        question: A question that is not corrected.
        first: The first correction.
        last: The last one.
        corrections: All corrections together.
        call: A call of the command ``ask`` before its first answer.
        room: Corrections after which half of the questions have no interval, since the hypothesis cannot learn them;
            None where it has room for all corrections.
        cells: Cells that the hypothesis is expected to have at the end.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> found = Effort.of(OnlineSettings(), Domain(IntegerRange(f"x{i}", 0, 4) for i in range(5)), 1e5, 100)
        >>> found.room, found.first < found.last, found.last < found.corrections
        (None, True, True)
    """

    question: float
    first: float
    last: float
    corrections: float
    call: float
    room: int | None
    cells: int

    @classmethod
    def of(cls, config: OnlineSettings, domain: Domain, total: float, updates: int) -> "Effort":
        """Forecast a session that makes all its corrections.

        Args:
            config: Its configuration.
            domain: Domain of the records.
            total: A public guess of the number of records.
            updates: Number of its corrections.
        """
        dense = domain.size if may_be_dense(domain) else math.inf
        made = np.unique(np.linspace(1.0, float(updates), _POINTS).round())
        streams, rooms, trees = _streams(domain, min(updates, _MOST)), list[int](), list[list[int]]()
        for asked in streams:
            learnt = _learnt(domain, asked, config.largest_tree) if math.isinf(dense) else asked
            rooms += [len(learnt)]
            trees += [[_cells(domain, learnt[: int(number)]) for number in made.tolist()]]
        cells, room = np.minimum(trees, dense).mean(axis=0), int(np.median(rooms))
        over_trees = _CORRECTION + _OF_TREES * made + _TREE_CELL * cells
        over_cells = _DENSE + _OF_CELLS * made + (_PASS + _CELL * made) * cells
        each = np.where((cells < dense) & (domain.size > SMALL_CELLS), over_trees, over_cells)
        question, call = _QUESTION + _QUESTION_CELL * cells.mean(), _CALL + _READ * total * len(domain)
        found = (question, each[0], each[-1], each[0] + np.trapezoid(each, made), call)
        times = dict(zip(_TIMES, (slowness() * float(seconds) for seconds in found), strict=True))
        return cls(**times, room=room if room < min(updates, _MOST) else None, cells=round(float(cells[-1])))

    def lines(self, updates: int, largest_tree: int) -> list[tuple[str, str]]:
        """Lines of a plan.

        Args:
            updates: Number of corrections of the session.
            largest_tree: Cells that its hypothesis may have where no histogram is possible.
        """
        question, first, last = (f"{1e3 * seconds:,.2g}" for seconds in (self.question, self.first, self.last))
        together = "" if updates == 1 else f", {last} ms for the last, {human_seconds(self.corrections)} for all"
        lines = [
            ("time", f"about {question} ms for a question, {first} ms for the first correction{together}"),
            (CALLS, f"about {human_seconds(self.call)} before the first answer of each call of 'hedgerow ask'"),
        ]
        if self.room is not None:
            told = f"for about {self.room:,} corrections of random conditions on one to four columns"
            full = f"half of the questions would need more than {largest_tree:,} cells then, and have no interval"
            lines.append(("room", f"{told}; {full}"))
        return lines


def _streams(domain: Domain, number: int) -> list[list[Clique]]:
    """Scopes of random questions, the same in each plan."""
    draw, names = generator(0), domain.names
    streams = list[list[Clique]]()
    for _ in range(_STREAMS):
        sizes = draw.integers(1, min(_MOST_ASKED_ABOUT, len(names)) + 1, number).tolist()
        streams.append([tuple(names[at] for at in sorted(draw.permutation(len(names))[:size])) for size in sizes])
    return streams


def _cells(domain: Domain, scopes: Sequence[Clique]) -> int:
    """Cells of trees; an attribute of very many values is held by classes, of which each condition makes two more."""
    large = [attribute.name for attribute in domain if attribute.size > LARGE_ATTRIBUTE]
    asked = {name: min(domain[name].size, 1 + 2 * sum(name in scope for scope in scopes)) for name in large}
    return trees_of(domain_of_sizes(domain, asked) if asked else domain, scopes).cells


def _learnt(domain: Domain, scopes: list[Clique], largest: int) -> list[Clique]:
    """Scopes that trees of so many cells can learn, until half of the last ten cannot be."""
    if _cells(domain, scopes) <= largest:
        return scopes
    kept, refused = list[Clique](), list[bool]()
    for scope in scopes:
        refused.append(_cells(domain, [*kept, scope]) > largest)
        kept += [] if refused[-1] else [scope]
        if sum(refused[-_WINDOW:]) * 2 >= _WINDOW:
            break
    return kept
