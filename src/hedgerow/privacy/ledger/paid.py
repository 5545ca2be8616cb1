"""Noise that was paid for: where it is drawn, and in the noisy answers of a file.

Each draw names the event of the ledger that it was charged as, and is made at its scale. Between the ledger and the
sampler there is nothing but this. The scale that a sampler receives is the event's own, in
lattice units; so is the shape of the noise, and the number of values. An event pays for one draw (a sparse vector's for
one threshold and the tests against it), and one that is not in the ledger for none.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Never

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import BudgetError, UnpaidNoiseError
from hedgerow.privacy.budgets import TOLERANCE, Budget
from hedgerow.privacy.exact import GRID
from hedgerow.privacy.ledger.events import Event
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.questions import MeasuredParities
from hedgerow.privacy.mechanisms import (
    DRAWS,
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    ONE_DRAW,
    PERMUTE_AND_FLIP,
    SPARSE_VECTOR,
    THRESHOLDED,
    LaplaceNoise,
)
from hedgerow.privacy.randomness import NoiseSource, is_secure, name_of_source
from hedgerow.privacy.workload_error import NoisyError, WorkloadError
from hedgerow.queries import Measurement, Neighbours, NoiseKind, of_parities, of_query

_Noise = tuple[str, float, int]
"""Mechanism, scale and number of values."""
_NAMES = {NoiseKind.LAPLACE: LAPLACE, NoiseKind.GAUSSIAN: GAUSSIAN}


class PaidNoise:
    """A source of noise behind a ledger.

    Args:
        source: The source that draws the noise.
        ledger: The ledger that is charged.

    Example:
        >>> import numpy as np
        >>> from hedgerow import SeededNoise
        >>> from hedgerow.privacy import MeasuredQuery
        >>> ledger = Ledger(1.0, "epsilon")
        >>> noise = PaidNoise(SeededNoise(0), ledger)
        >>> asked = MeasuredQuery("marginal", ("sex",))
        >>> event = Event("measure", "discrete Laplace", asked, 1.0, 4.0, 0.5, "epsilon", "add-remove", 2)
        >>> noise.pay(event)
        >>> noise.added_to(np.array([10, 20]), event, step=1.0).shape, ledger.spent
        ((2,), 0.5)
        >>> noise.added_to(np.array([10, 20]), event, step=1.0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.UnpaidNoiseError: nothing in the ledger pays for this noise...
    """

    __slots__ = ("__ledger", "__source", "__tested", "__unused")

    def __init__(self, source: NoiseSource, ledger: Ledger) -> None:
        """Nothing is paid for yet."""
        self.__source = source
        self.__ledger = ledger
        self.__unused: list[Event] = []
        self.__tested: dict[int, Event] = {}

    @property
    def secure(self) -> bool:
        """Whether the noise protects; see `is_secure`."""
        return is_secure(self.__source)

    @property
    def name(self) -> str:
        """Full name of the class that draws."""
        return name_of_source(self.__source)

    def pay(self, *events: Event) -> None:
        """Charge the ledger; each event then pays for one draw.

        Raises:
            BudgetExceededError: The charges would pass the limit; none is recorded.
        """
        self.__ledger.charge(*events)
        self.__unused.extend(events)

    def added_to(self, values: Ints, event: Event, step: float) -> Ints:
        """Each value plus independent noise.

        Args:
            values: Exact answers in lattice units, shape ``(event.values,)``. Private.
            event: The event that was charged.
            step: Counts per lattice unit, a power of two up to 1: what discrete noise costs under GDP holds for these.

        Returns:
            Noisy lattice units, of the same shape.

        Raises:
            UnpaidNoiseError: The event is not for this noise, or was used.
        """
        return self.added_to_all([values], [event], [step])[0]

    def added_to_all(self, values: Sequence[Ints], events: Sequence[Event], steps: Sequence[float]) -> list[Ints]:
        """The same for several events. Secure noise of one scale is drawn at once, in a tenth of the time.

        Args:
            values: Exact answers of each, in lattice units, shape ``(event.values,)``. Private.
            events: The events that were charged.
            steps: Counts per lattice unit of each.

        Returns:
            Noisy lattice units, of the same shapes.

        Raises:
            UnpaidNoiseError: One of the events is not for this noise, or was used.
        """
        alike = defaultdict[tuple[str, float, int], list[tuple[int, Ints | slice]]](list)
        for place, (units, event, step) in enumerate(zip(values, events, steps, strict=True)):
            self._use(event, LAPLACE, GAUSSIAN)
            if len(units) != event.values or not (0.0 < step <= 1.0 and math.frexp(step)[0] == 0.5):
                raise UnpaidNoiseError(f"{event.values} values in steps of a power of two, at most 1, were paid for")
            for scale, inside in event.scales:
                # seeded noise is the same, however many answers are asked for at once
                alike[event.mechanism, scale / step, 0 if self.secure else place].append((place, inside))
        answers = [np.empty_like(units) for units in values]
        for (mechanism, scale, _), parts in alike.items():
            each = [values[place][inside] for place, inside in parts]
            draw = self.__source.laplace if mechanism == LAPLACE else self.__source.gaussian
            if len(each) == 1 and len(each[0]) == len(values[parts[0][0]]):  # a table that may be large
                answers[parts[0][0]] = draw(each[0], scale)
                continue
            noisy = np.split(draw(np.concatenate(each), scale), np.cumsum([len(units) for units in each])[:-1])
            for (place, inside), found in zip(parts, noisy, strict=True):
                answers[place][inside] = found
        return answers

    def told(self, counts: Ints, event: Event) -> tuple[Ints, Ints]:
        """Counts that pass a threshold with their noise.

        Args:
            counts: Exact counts, all above 0. Private, and so is their number.
            event: The event that was charged.

        Returns:
            Their places, and their noisy values.

        Raises:
            UnpaidNoiseError: The event is not for counts above a threshold, or was used.
        """
        self._use(event, *THRESHOLDED)
        draw = self.__source.laplace if THRESHOLDED[event.mechanism] is LaplaceNoise else self.__source.gaussian
        noisy = draw(counts, event.scale)
        places = np.flatnonzero(noisy >= event.threshold_scale)
        return places, noisy[places]

    def choice(self, scores: Floats, event: Event) -> int:
        """One index, by the selection that was charged.

        Args:
            scores: Scores of the candidates. Private.
            event: The event that was charged.

        Raises:
            UnpaidNoiseError: The event is not for a choice, or was used.
        """
        if event.mechanism in (EXPONENTIAL, PERMUTE_AND_FLIP):
            self._use(event, event.mechanism)
            flip = event.mechanism == PERMUTE_AND_FLIP
            choose = self.__source.permute_and_flip if flip else self.__source.choose
            return choose(scores, event.scale)
        return int(self.draws(scores, event)[0])

    def choices(self, scores: Sequence[Floats], event: Event) -> list[int]:
        """One index for each of some disjoint parts of the records, all charged as one choice.

        Args:
            scores: Scores of the candidates of each part, ``event.values`` parts. Private.
            event: The event that was charged.

        Raises:
            UnpaidNoiseError: The event is not for so many choices by the exponential mechanism, or was used.
        """
        self._use(event, EXPONENTIAL)
        if len(scores) != event.values:
            raise UnpaidNoiseError(f"choices in {event.values} disjoint parts were paid for")
        return [self.__source.choose(score, event.scale) for score in scores]

    def draws(self, scores: Floats, event: Event) -> Ints:
        """Independent indices, as many as were charged.

        Args:
            scores: Scores of the candidates. Private.
            event: The event that was charged.

        Returns:
            Shape ``(event.values,)``.

        Raises:
            UnpaidNoiseError: The event is not for draws, or was used.
        """
        self._use(event, ONE_DRAW, DRAWS)
        return self.__source.draw(scores, event.scale, event.values)

    def threshold(self, event: Event) -> int:
        """The noise of a sparse vector's threshold, in units of 2^-10 counts. SECRET.

        Raises:
            UnpaidNoiseError: The event is not for a sparse vector, or was used.
        """
        self._use(event, SPARSE_VECTOR)
        self.__tested[id(event)] = event
        return self.__source.secret(event.threshold_scale / GRID)

    def resume(self, event: Event) -> None:
        """Continue the tests of a sparse vector whose threshold was drawn before.

        Raises:
            UnpaidNoiseError: The ledger does not hold the event, or it is for something else.
        """
        if event.mechanism != SPARSE_VECTOR or not any(each is event for each in self.__ledger.events):
            raise _unpaid()
        self.__tested[id(event)] = event

    def exceeds(self, margin: int, event: Event) -> bool:
        """Whether a margin plus fresh noise is at least 0: one test of a sparse vector that was charged.

        Args:
            margin: The margin in units of 2^-10 counts. Private.
            event: The event that was charged; the watch counts how often it fires.

        Raises:
            UnpaidNoiseError: No threshold was drawn for the event.
        """
        if id(event) not in self.__tested:
            raise _unpaid()
        return self.__source.exceeds(margin, event.scale / GRID)

    def random_bytes(self, size: int) -> bytes:
        """Uniform bytes, for choices outside any mechanism: which records a secret sample holds."""
        return self.__source.random_bytes(size)

    def _use(self, event: Event, *mechanisms: str) -> None:
        """Take an event that was paid off the list; two equal ones pay for two draws."""
        unused = next((i for i, each in enumerate(self.__unused) if each is event), None)
        if unused is None or event.mechanism not in mechanisms:
            raise _unpaid()
        del self.__unused[unused]

    def __repr__(self) -> str:
        """Public facts only."""
        return f"<PaidNoise by {self.name}>"

    def __reduce_ex__(self, protocol: object) -> Never:
        """Refuse to be copied or pickled: noise is paid for once."""
        raise TypeError("noise that was paid for cannot be copied or pickled")


def _unpaid() -> UnpaidNoiseError:
    return UnpaidNoiseError(
        "nothing in the ledger pays for this noise", remedy="charge one event for each draw, of the same mechanism"
    )


def check_limit(ledger: Ledger, budget: Budget) -> None:
    """Refuse a ledger that may hold more than a budget, or holds charges between other neighbours.

    Raises:
        BudgetError: Its limit is larger, in another unit, or one of its events is about another relation.

    Example:
        >>> from hedgerow import PureDP
        >>> check_limit(Ledger(1.0, "epsilon"), PureDP(1.0))
    """
    if ledger.unit != budget.unit or ledger.limit > budget.limit * (1.0 + TOLERANCE):
        raise BudgetError(
            f"the ledger may hold {ledger.limit:.6g} {ledger.unit}, its budget is {budget.limit:.6g} {budget.unit}"
        )
    if ledger.thresholds > budget.for_thresholds:
        raise BudgetError(
            f"the ledger may hold a delta of {ledger.thresholds:.6g} of thresholds, its budget is "
            f"{budget.for_thresholds:.6g}"
        )
    if ledger.composition != budget.fixed:
        raise BudgetError("the ledger and its budget were not fixed to the same steps beforehand")
    for event in ledger.events:
        if event.neighbours != budget.neighbours.value:
            raise BudgetError(
                f"{event.purpose} of {event.target!r} is charged between tables that are neighbours by "
                f"{event.neighbours!r}, not by {budget.neighbours.value!r}"
            )


def check_answers_paid(
    events: Sequence[Event],
    measurements: Iterable[Measurement],
    neighbours: Neighbours,
    error: WorkloadError | None = None,
    single: Sequence[NoisyError] = (),
) -> None:
    """Refuse noisy answers in a file unless each has an event of its own that charges its noise and sensitivity.

    The parts of a file must fit together: else events could be left out, or made cheap, one by one. Choices leave no
    values behind that could be compared with their events.

    Args:
        events: The ledger's events.
        measurements: The noisy answers.
        neighbours: The relation that the guarantee refers to.
        error: The noisy error of the workload, if there is one: two values that one record moves by 1 each.
        single: Noisy errors of single candidates, likewise.

    Raises:
        BudgetError: One of them has no such event.

    Example:
        >>> check_answers_paid([], [], Neighbours.REPLACE)
    """
    paid, needed = defaultdict[_Noise, list[float]](list), defaultdict[_Noise, list[float]](list)
    for event in events:
        if event.neighbours != neighbours.value:
            continue
        if isinstance(asked := event.question, MeasuredParities):  # of which each measurement holds one
            moved = of_parities(asked.scopes, asked.ratios, neighbours)
            alone = of_query(-1.0, 1.0, neighbours).l1
            enough = event.sensitivity >= (moved.l1 if event.mechanism == LAPLACE else moved.l2) * (1.0 - TOLERANCE)
            for ratio in asked.ratios or [1.0] * event.values:
                paid[event.mechanism, event.scale * ratio, 1].append(alone if enough else 0.0)
        else:
            paid[event.mechanism, event.scale, event.values].append(event.sensitivity)
    for measured in measurements:
        kind, sensitivity = measured.noise, measured.target.sensitivity(neighbours)
        least = sensitivity.l1 if kind is NoiseKind.LAPLACE else sensitivity.l2
        needed[_NAMES[kind], measured.scale, measured.target.size].append(least * (1.0 - TOLERANCE))
    figures = () if error is None else (error.mean_noise, error.maximum_noise)
    for noise in (*figures, *(each.noise for each in single)):
        needed[noise.name, noise.scale, 1].append(1.0)
    for told, wanted in needed.items():
        found = sorted(paid[told], reverse=True)
        if len(found) < len(wanted) or any(a < b for a, b in zip(found, sorted(wanted, reverse=True), strict=False)):
            raise BudgetError(f"the ledger does not pay for all noisy answers by {told[0]} of scale {told[1]:.6g}")
