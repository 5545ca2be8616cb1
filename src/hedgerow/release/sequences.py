"""Children of one parent that are drawn one after the other, each given its parent and the child before it.

All first children are drawn together, or told by the release of their parents; then all second ones given these, and so
on. Of each child the gap to the one before is drawn first; where it stands in the order follows; the rest is drawn
given all of that. A sequence that runs beyond the last value of the order is drawn anew as a whole: so sequences have
the law of those that fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Bools, Ints
from hedgerow.domain import GAP, Binned, Linked, possible_cells
from hedgerow.release.records import Records

if TYPE_CHECKING:
    from hedgerow.release.release import Method, Release

_TRIES = 16
"""Times that a sequence is drawn, at most; the last one's gaps end where the order does."""


class FirstChildren:
    """The first children of parents whose release tells of them (theory.md section 15.3)."""

    def __init__(
        self, parents: Release, linked: Linked, homes: Records, drawing: np.random.Generator, method: Method
    ) -> None:
        """Take the parents.

        Args:
            parents: Release of the root, with the columns of the first child.
            linked: The table of children.
            homes: Records of the root.
            drawing: Randomness of the drawing.
            method: See ``Release.sample``.
        """
        self._parents, self._linked, self._homes, self._drawing, self._method = parents, linked, homes, drawing, method

    def codes(self, rows: Ints, *, again: bool) -> Ints:
        """The first children of some parents, beside these.

        Args:
            rows: Places of the parents, each of whom has a child.
            again: Whether their places in the order are drawn anew, given all else that is known of the parents.

        Returns:
            Codes, shape ``(n, attributes of both)``.
        """
        linked, told = self._linked, self._homes.take(rows)
        domain = told.domain
        if again:
            place = domain.index(linked.firsts[str(linked.order)])
            others = domain.project(name for name in domain.names if name != domain.names[place])
            told = self._parents.sample(1, self._drawing, self._method, told.over(others))
        known = told.codes.astype(np.int64)
        none = np.array([linked.joined[name].size - 1 for name in linked.before], dtype=np.int64)
        own = [domain.index(name) for name in linked.firsts.values()]
        return np.hstack([known[:, : linked.n_known], np.broadcast_to(none, (len(rows), len(none))), known[:, own]])


def in_order(
    children: Release,
    linked: Linked,
    homes: Records,
    drawing: np.random.Generator,
    method: Method,
    *,
    firsts: FirstChildren | None = None,
) -> Records:
    """Draw the children of some parents.

    Args:
        children: Release of children with an order.
        linked: The two tables.
        homes: The parents with the number of their children.
        drawing: Randomness of the drawing.
        method: See ``Release.sample``.
        firsts: The first children, where the parents' release tells of them; else these are drawn too.

    Returns:
        All children, those of each parent together and in their order.
    """
    numbers = homes.codes[:, linked.counted.index(linked.number)]
    ends = np.cumsum(numbers)
    codes = np.zeros((int(numbers.sum()), len(linked.joined)), dtype=np.int64)
    waiting = np.flatnonzero(numbers)
    sequence = _Drawing(children, linked, drawing, method)
    for attempt in range(_TRIES):
        last = attempt == _TRIES - 1
        kept = np.ones(len(waiting), dtype=np.bool_)
        begun = None if firsts is None or not len(waiting) else firsts.codes(waiting, again=attempt > 0)
        before = np.zeros((len(waiting), len(linked.joined)), dtype=np.int64)
        for place in range(int(numbers[waiting].max(initial=0))):
            going = np.flatnonzero(kept & (numbers[waiting] > place))
            if len(going):
                if begun is not None and not place:
                    drawn, fits = begun, np.ones(len(going), dtype=np.bool_)
                else:
                    drawn, fits = sequence.next(homes.codes[waiting[going]], before[going], first=not place, last=last)
                before[going] = drawn
                codes[(ends - numbers)[waiting[going]] + place] = drawn
                kept[going] = fits | last
        waiting = waiting[~kept]
    return Records(codes, linked.joined, seed=drawing, tilts=children.tilts)


class _Drawing:
    """Draws children given those before them."""

    def __init__(self, children: Release, linked: Linked, drawing: np.random.Generator, method: Method) -> None:
        self._children, self._linked, self._drawing, self._method = children, linked, drawing, method
        domain = linked.joined
        self._own = [domain.index(column) for _, column in linked.history]
        self._names = (*linked.counted.names, *linked.before, str(linked.order))
        self._none = np.array([domain[name].size - 1 for name in linked.before])
        self._order = domain.index(str(linked.order))
        gap = domain[GAP]
        bounds = [gap.whole_bounds(code) for code in range(gap.ordinary)] if isinstance(gap, Binned) else None
        self._steps = np.array(bounds or [(code, code) for code in range(gap.ordinary)])
        ruled = {
            name for rule in domain.constraints for name in rule.scope if name in (*linked.counted.names, linked.order)
        }
        self._ruled = domain.clique({str(linked.order), *ruled})
        self._possible = possible_cells(domain, self._ruled) if linked.order in ruled else None

    def next(self, homes: Ints, before: Ints, *, first: bool, last: bool) -> tuple[Ints, Bools]:
        """The next child of each parent, and whether there is one that is drawn as it should be.

        Args:
            homes: Codes of the parents with their numbers, shape ``(n, attributes of parents)``.
            before: Codes of the children before, shape ``(n, attributes of both)``; of no matter for first ones.
            first: Whether these are first children.
            last: Whether those that lie beyond the order are put at its end: at the child before where that is none.

        Returns:
            Codes of a child beside its parent and the child before, shape ``(n, attributes of both)``; and flags.
        """
        if first:
            none = np.broadcast_to(self._none, (len(homes), len(self._none)))
            return self._given(np.hstack([homes, none])), np.ones(len(homes), dtype=np.bool_)
        known = np.hstack([homes, before[:, self._own]])
        low, high = self._steps[self._gaps(known)].T
        start, most = before[:, self._order], self._linked.joined.shape[self._order] - 1
        places = start + self._drawing.integers(low, high + 1)
        fits = places <= most
        places = np.minimum(places, most)
        if self._possible is not None:
            names = (*self._linked.counted.names, str(self._linked.order))
            beside = dict(zip(names, (*homes.T, places), strict=True))
            possible = self._possible[tuple(beside[name] for name in self._ruled)]
            fits, places = fits & possible, np.where(possible, places, start)
        drawn = np.array(before)
        rows = np.arange(len(homes)) if last else np.flatnonzero(fits)
        if len(rows):
            gaps = self._linked.gaps(places - start)
            drawn[rows] = self._given(np.column_stack([known, gaps, places])[rows])
        return drawn, fits

    def _gaps(self, known: Ints) -> Ints:
        """Gaps before children who are not the first, given what is known before these."""
        place, none = known.shape[1], len(self._steps)
        gaps = self._given(known)[:, place]
        for _ in range(_TRIES):  # where nothing else says that they are not the first
            again = np.flatnonzero(gaps == none)
            if not len(again):
                break
            gaps[again] = self._given(known[again])[:, place]
        return np.where(gaps == none, 0, gaps)

    def _given(self, known: Ints) -> Ints:
        """Draw children given the first columns of a child beside its parent, which end with the order's at most."""
        told = Records(known, self._linked.joined.project(self._names[: known.shape[1]]))
        return np.asarray(self._children.sample(1, self._drawing, self._method, told).codes, dtype=np.int64)
