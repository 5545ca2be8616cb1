"""An accountant of its own: what was really drawn, against the ledger, and against a run on a neighbouring table.

`Witness` is a source of noise that writes down every call of a sampler: which, at which scale, what was handed in, what
came out, and how much the ledger held at that moment. Two things are shown with it.

**Paid.** `settle` matches calls and events: every value that was drawn is covered by one value of an event of that
mechanism, at its scale (in counts: the sampler's lattice units times one of three powers of two), charged *before* the
draw, and no value of an event covers two. Every event's charge is at least its exact cost (`exact_costs`), and all of
them together stay within the limit.

**Moved.** The same run is taken again on a neighbouring table, with the outputs of the first: it must ask for the same
draws in the same order at the same scales. `moved_within` then compares what was handed in. The distance between the
two, in the norm that the mechanism's proof speaks of, gives the exact cost of that draw between these two tables,
whatever comes out; it must be at most what its event was charged. By adaptive composition the sum bounds the loss of
the whole run, in both regimes: this is the supremum over all outputs of each draw, not the ratio of one transcript.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow.arrays import Floats, Ints
from hedgerow.privacy import Curator, Event, InterruptedDraw, LedgerView, NoiseSource, RecordCount, SeededNoise
from hedgerow.queries import Neighbours
from tests.privacy.mechanisms.exact_costs import cost, cost_of, of_gaussian, of_pure
from tests.privacy.randomness.laws import gaussian_log_pmf, laplace_log_pmf
from tests.privacy.tables import DenseCounts, neighbours_of

STEPS = (1.0, 2.0**-10, 2.0**-20)
"""Counts per lattice unit: whole answers, comparisons and errors, explicit queries."""
GRID = 2.0**-10
MECHANISMS = {
    "laplace": ("discrete Laplace", "discrete Laplace above a threshold"),
    "gaussian": ("discrete Gaussian", "discrete Gaussian above a threshold"),
    "choose": ("exponential mechanism",),
    "permute_and_flip": ("permute-and-flip",),
    "draw": ("exponential mechanism, one draw", "exponential mechanism, independent draws"),
    "secret": ("sparse vector",),
    "exceeds": ("sparse vector",),
}
THRESHOLDED = " above a threshold"
"""Ends the name of a mechanism of which one value is in the ledger, however many labels there are."""
PUBLIC_TOTAL = re.compile(r"replace( of persons \(.*\), at most 1 record)?")


@dataclass(frozen=True)
class Call:
    """One call of a sampler.

    Attributes:
        sampler: Which.
        scale: As the sampler received it.
        handed: The exact values or scores.
        given: What came out.
        charged: How many events the ledger held.
        book: Number of the ledger, from 0; -1 for none.
    """

    sampler: str
    scale: float
    handed: Any
    given: Any
    charged: int
    book: int = -1

    @property
    def values(self) -> int:
        """How many numbers came out."""
        return int(np.size(self.given))


@dataclass
class Witness:
    """A source of noise that writes down what it is asked.

    Attributes:
        inner: Where noise comes from.
        script: Outputs to give in place of noise: those of another run, which must ask for the same.
        calls: So far.
        curators: Views of the ledgers that were opened while it listened, the newest last.
    """

    inner: NoiseSource = field(default_factory=lambda: SeededNoise(0))
    script: Sequence[Call] | None = None
    calls: list[Call] = field(default_factory=list)
    ledgers: list[LedgerView] = field(default_factory=list)

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Ints, scale: float) -> Ints:
        return np.asarray(self._called("laplace", scale, values.copy(), self.inner.laplace, values, scale)).copy()

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        return np.asarray(self._called("gaussian", sigma, values.copy(), self.inner.gaussian, values, sigma)).copy()

    def choose(self, scores: Floats, scale: float) -> int:
        return int(self._called("choose", scale, scores.copy(), self.inner.choose, scores, scale))

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        found = self._called("permute_and_flip", scale, scores.copy(), self.inner.permute_and_flip, scores, scale)
        return int(found)

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        found = self._called("draw", scale, scores.copy(), self.inner.draw, scores, scale, size)
        return np.asarray(found).copy()

    def random_bytes(self, size: int) -> bytes:
        assert self.script is None, "which records a secret sample holds cannot be replayed"
        return self.inner.random_bytes(size)

    def secret(self, scale: float) -> int:
        return int(self._called("secret", scale, 0, self.inner.secret, scale))

    def exceeds(self, margin: int, scale: float) -> bool:
        return bool(self._called("exceeds", scale, margin, self.inner.exceeds, margin, scale))

    def _called(self, sampler: str, scale: float, handed: Any, draw: Any, *arguments: Any) -> Any:
        given = draw(*arguments) if self.script is None else self._scripted(sampler, scale)
        charged = len(self.ledgers[-1].events) if self.ledgers else 0
        self.calls.append(Call(sampler, scale, handed, given, charged, len(self.ledgers) - 1))
        return given

    def _scripted(self, sampler: str, scale: float) -> Any:
        assert self.script is not None
        assert len(self.calls) < len(self.script), f"asks for {sampler} after the other run had ended"
        there = self.script[len(self.calls)]
        assert (there.sampler, there.scale) == (sampler, scale), f"asks for {sampler} at {scale}, not as the other run"
        return there.given


@contextmanager
def listening(witness: Witness) -> Iterator[Witness]:
    """Let a witness see the ledger of every curator that is given it as its source of noise."""
    opened = Curator.__init__

    def opening(self: Any, source: Any, budget: Any, *, noise: Any = None, **rest: Any) -> None:
        opened(self, source, budget, noise=noise, **rest)
        if noise is witness:
            witness.ledgers.append(self.ledger)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "__init__", opening)
        yield witness


def books_of(witness: Witness) -> list[tuple[list[Call], LedgerView]]:
    """The ledgers that were opened, each with the calls while it was; one that another one continues is that one."""
    found: list[tuple[list[Call], LedgerView]] = []
    for number, ledger in enumerate(witness.ledgers):
        calls = [call for call in witness.calls if call.book == number]
        if found and ledger.events[: len(found[-1][1].events)] == found[-1][1].events:
            calls = found.pop()[0] + calls
        found.append((calls, ledger))
    return found


# ---- paid ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Some values of a call, and the event that paid for them."""

    event: Event
    values: slice


@dataclass
class _Open:
    """An event, and how many of its values were not drawn yet."""

    number: int
    event: Event
    left: int
    is_watching: bool = False


def settle(calls: Sequence[Call], events: Sequence[Event], limit: float) -> list[list[Part]]:
    """Match every value that was drawn with the event that paid for it.

    Args:
        calls: Of one ledger, in their order.
        events: All of that ledger.
        limit: Of the ledger.

    Returns:
        Who paid, for each call.

    Raises:
        AssertionError: A value is unpaid, was paid later, or drawn at another scale; a charge is below its cost; or
            the sum passes the limit.
    """
    assert sum((Fraction(event.charge) for event in events), Fraction(0)) <= Fraction(limit), "the limit is passed"
    for event in events:
        _check(event)
    books = [_Open(number, event, event.values) for number, event in enumerate(events) if is_to_be_drawn(event)]
    return [_watched(call, books) if call.sampler == "exceeds" else _parts(call, books) for call in calls]


def _check(event: Event) -> None:
    if event.mechanism == "public":
        assert (event.charge, event.question) == (0.0, RecordCount()), event
        assert PUBLIC_TOTAL.fullmatch(event.neighbours), "a private number is called public"
        return
    assert event.charge > 0.0, event
    if event.mechanism != "sparse vector" or hasattr(event, "threshold_scale"):
        assert cost_of(event).covered_by(event.charge), f"{event} costs {float(cost_of(event).high)!r}"


def deltas_stay_within(events: Sequence[Event], thresholds: float) -> None:
    """Check that counts above thresholds give a label away hardly ever: all records of a person on one, or on several.

    Args:
        events: Of one ledger.
        thresholds: What is kept for them.

    Raises:
        AssertionError: The probabilities, by the laws of the noise, add up to more.
    """
    found = 0.0
    for event in events:
        if event.mechanism.endswith(THRESHOLDED):
            records, least = Neighbours.of(event.neighbours).records, int(event.threshold_scale)
            law = laplace_log_pmf if "Laplace" in event.mechanism else gaussian_log_pmf
            values = np.arange(least - records, least + math.ceil(60 * event.scale) + 2)
            tail = np.exp(law(values, event.scale))[::-1].cumsum()[::-1]
            found += max(float(tail[0]), records * float(tail[records - 1]))
    assert found <= thresholds, f"labels are given away with a probability of {found}, and {thresholds} are kept"


def is_to_be_drawn(event: Event) -> bool:
    return event.mechanism != "public" and not event.earlier and not isinstance(event.question, InterruptedDraw)


def _parts(call: Call, books: list[_Open]) -> list[Part]:
    """From which events, oldest first, the values of a call are taken."""
    wanted = 1 if call.sampler in ("choose", "permute_and_flip", "secret") else call.values
    parts, taken = [], 0
    for each in books:
        if taken < wanted and each.number < call.charged and _is_for(each, call):
            some = wanted - taken if each.event.mechanism.endswith(THRESHOLDED) else min(wanted - taken, each.left)
            parts.append(Part(each.event, slice(taken, taken + some)))
            taken += some
            if call.sampler == "secret":
                each.is_watching = True
            else:
                each.left = max(0, each.left - some)
    assert taken == wanted, f"nobody paid for {call.sampler} at {call.scale} ({taken} of {wanted} values are paid)"
    return parts


def _is_for(each: _Open, call: Call) -> bool:
    """Whether an event is of this mechanism and scale, and not used up."""
    if each.event.mechanism not in MECHANISMS[call.sampler] or each.left < 1:
        return False
    if call.sampler == "secret":
        return not each.is_watching and _pays_for_threshold(each.event, call.scale * GRID)
    if call.sampler not in ("laplace", "gaussian"):
        return call.scale == each.event.scale
    units = each.event.question.ratios or (1.0,)  # of parities that were measured together
    return any(call.scale * step == each.event.scale * unit for step in STEPS for unit in units)


def _pays_for_threshold(event: Event, threshold_scale: float) -> bool:
    """Whether the charge covers the threshold's noise as it was drawn, and all fires."""
    stated = getattr(event, "threshold_scale", threshold_scale)
    return stated == threshold_scale and cost_of(event, threshold_scale).covered_by(event.charge)


def _watched(call: Call, books: list[_Open]) -> list[Part]:
    """The newest watch with tests of this scale and a fire left."""
    for each in reversed(books):
        if each.is_watching and each.left > 0 and call.scale * GRID == each.event.scale:
            each.left -= bool(call.given)
            return [Part(each.event, slice(0, 1))]
    raise AssertionError(f"no watch that was started has a fire left for a test at {call.scale}")


# ---- moved -----------------------------------------------------------------------------------------------------------


def moved_within(here: Sequence[Call], there: Sequence[Call], payers: Sequence[Sequence[Part]]) -> None:
    """Check each draw of a run against the same draw on a neighbouring table.

    Args:
        here: Calls of a run.
        there: Calls of the same run on a neighbour, with the outputs of the first.
        payers: What `settle` returned for the first.

    Raises:
        AssertionError: One record moves what a sampler is handed by more than was paid for, or there is another draw.
    """
    assert len(here) == len(there), "one run asks for more draws than the other"
    costs = defaultdict[int, Fraction](Fraction)
    for one, other, parts in zip(here, there, payers, strict=True):
        assert (one.sampler, one.scale) == (other.sampler, other.scale)
        assert np.shape(one.handed) == np.shape(other.handed)
        if one.sampler != "secret":
            moves = [Fraction(x) - Fraction(y) for x, y in zip(_numbers(one), _numbers(other), strict=True)]
            for part in parts:
                costs[id(part.event)] += _moved(one, moves, part)  # noises of values are independent: prices add up
                found = costs[id(part.event)]
                assert found <= Fraction(part.event.charge), f"{part.event}: one record costs {float(found)}"


def _numbers(call: Call) -> list[Any]:
    return list(np.atleast_1d(np.asarray(call.handed)).tolist())


def _moved(call: Call, moves: list[Fraction], part: Part) -> Fraction:
    """The exact cost of one draw between two tables, by the distance of what was handed in."""
    event, scale = part.event, Fraction(call.scale)
    if call.sampler == "exceeds":
        assert abs(moves[0]) * Fraction(GRID) <= Fraction(event.sensitivity), f"a tested value moves by {moves[0]}"
        return Fraction(0)
    if call.sampler == "gaussian":
        squared = Fraction(sum(move**2 for move in moves[part.values]))
        return of_gaussian(squared, scale, event.unit).high
    if call.sampler == "laplace" and event.unit == "rho":
        found = [of_pure(abs(Fraction(move)) / scale, "rho").high for move in moves[part.values] if move]
        return sum(found, Fraction(0))
    if call.sampler == "laplace":
        reach = Fraction(sum(map(abs, moves[part.values])))
    else:
        reach = max(map(abs, moves))
        assert reach <= Fraction(event.sensitivity), f"{event}: a score moves by {float(reach)}"
        if call.sampler != "permute_and_flip":
            reach = (max(moves) - min(moves)) / 2  # a common shift of all scores changes nothing
    if not reach:
        return Fraction(0)
    return cost(
        event.mechanism, event.unit, sensitivity=reach, scale=scale, values=event.values, bound=event.bound
    ).high


def check_run(run: Callable[[Any, NoiseSource], object], source: DenseCounts, relation: Neighbours, seed: int) -> None:
    """A run is paid for, and moves by no more than that between a table and every neighbour of it.

    Args:
        run: Makes a curator over a source, with a source of noise, and uses it.
        source: The table.
        relation: Between which tables.
        seed: Of the noise.
    """
    with listening(Witness(SeededNoise(seed))) as here:
        run(source, here)
    ledger = here.ledgers[-1]
    payers = settle(here.calls, ledger.events, ledger.limit)
    for neighbour in neighbours_of(source, relation):
        with listening(Witness(script=here.calls)) as there:
            run(neighbour, there)
        moved_within(here.calls, there.calls, payers)
        assert there.ledgers[-1].events == ledger.events, "the ledger depends on the table"
