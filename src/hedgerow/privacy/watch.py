"""A running sparse vector: its secret threshold noise, its tests, and the state to continue from."""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Never, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ConfigError, QueryError, WatchClosedError
from hedgerow.privacy.exact import GRID, grid_sensitivity, step_of
from hedgerow.privacy.mechanisms import SparseVector
from hedgerow.queries import Measurable, Neighbours, of_query

Side = Literal["absolute", "above", "below"]

_SATURATION = 2**61
_LARGEST = 2.0**50
"""Counts; larger ones have no place on the lattice, in 64 bits."""


@dataclass(frozen=True)
class WatchState:
    """A watch between two tests, to be continued later. SECRET: it holds the noise of the threshold.

    Together with the answers it reveals more than the charge covers, so it belongs in the custodian's own files only.

    Attributes:
        mechanism: Noise and charge.
        noise: Noise of the threshold, in units of 2^-10 counts.
        fires_left: Number of times that a value may still pass.

    Example:
        >>> state = WatchState(SparseVector(4.0, 8.0), -300, 1)
        >>> WatchState.from_dict(state.to_dict()) == state
        True
    """

    mechanism: SparseVector
    noise: int
    fires_left: int

    def __post_init__(self) -> None:
        """Check the number of fires."""
        if not 0 <= self.fires_left <= self.mechanism.fires:
            raise ConfigError(f"{self.fires_left} of {self.mechanism.fires} fires cannot be left")

    def after_a_fire(self) -> Self:
        """The state after a test whose outcome was lost: one fire less.

        That the outcome was lost may depend on it; counted as a fire, it tells nothing that was not charged.

        Example:
            >>> WatchState(SparseVector(4.0, 8.0), -300, 1).after_a_fire().fires_left
            0
        """
        return replace(self, fires_left=max(0, self.fires_left - 1))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self.mechanism), "noise": self.noise, "fires_left": self.fires_left}

    @classmethod
    def from_dict(cls, mapping: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError: The mapping is not such a state.
        """
        scales = float(mapping["threshold_scale"]), float(mapping["test_scale"])
        sensitivity, fires = float(mapping["sensitivity"]), int(mapping["fires"])
        mechanism = SparseVector(*scales, sensitivity, fires, mapping.get("bound"))  # older states name none
        return cls(mechanism, int(mapping["noise"]), int(mapping["fires_left"]))

    def __repr__(self) -> str:
        """Without the noise."""
        return f"WatchState({self.mechanism}, noise=<secret>, fires_left={self.fires_left})"


class Exceeds(Protocol):
    """Whether an integer plus the fresh noise of one test, which was charged, is at least 0."""

    def __call__(self, margin: int) -> bool:
        """Draw."""
        ...


class Watch:
    """A running sparse vector: tests values against a noisy threshold. Made by `Curator.watch` alone.

    All counts of a group can be tested at one look, by the largest of their errors: one record moves each count by at
    most the sensitivity of a single query, hence the largest error by no more (theory.md section 17).

    Example:
        >>> import numpy as np
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> from hedgerow import PureDP
        >>> from hedgerow.privacy.budgets.regime import Regime
        >>> from hedgerow import Curator, SeededNoise
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> curator = Curator(Table(domain, [np.array([0] + [1] * 999)]), PureDP(1.0), noise=SeededNoise(0))
        >>> watch = curator.watch(SparseVector.for_charge(Regime.PURE, 0.5))
        >>> query = Conjunction.where(domain, {"a": [1]})
        >>> watch.test(query, 990.0, threshold=200.0), watch.test(query, 500.0, threshold=200.0), watch.fires_left
        (False, True, 0)
    """

    __slots__ = ("__exact", "__exceeds", "__fires_left", "__lock", "__mechanism", "__neighbours", "__noise")

    def __init__(
        self, state: WatchState, neighbours: Neighbours, exact: Callable[[Measurable], Ints], exceeds: Exceeds
    ) -> None:
        """Continue from a state.

        Args:
            state: The state to start from.
            neighbours: The relation that sensitivities refer to.
            exact: The exact answers of a query or a group, in its lattice units. Private.
            exceeds: Function that draws the noise of one test.
        """
        self.__mechanism = state.mechanism
        self.__noise = state.noise
        self.__fires_left = state.fires_left
        self.__neighbours = neighbours
        self.__exact = exact
        self.__exceeds = exceeds
        self.__lock = threading.Lock()

    @property
    def mechanism(self) -> SparseVector:
        """Noise and charge."""
        return self.__mechanism

    @property
    def fires_left(self) -> int:
        """Number of times that a value may still pass."""
        return self.__fires_left

    def test(self, target: Measurable, answers: ArrayLike, threshold: float, side: Side = "absolute") -> bool:
        """Whether the hypothesis' answers seem to be off by a threshold; free, as long as they are not.

        Args:
            target: A query, or a group of them, each of a sensitivity that is at most the mechanism's.
            answers: The hypothesis' answers in counts, as many as the target has; public.
            threshold: Threshold in counts; public. It may differ from test to test.
            side: ``"absolute"`` tests ``|q(B) - answer|``, ``"above"`` tests ``q(B) - answer``, and ``"below"`` tests
                ``answer - q(B)``; the largest of these where there are several.

        Raises:
            WatchClosedError: The last fire was used; nothing was read.
            QueryError: The target is over another domain, too sensitive or off the lattice, the answers are not as many
                as it has, or a number is not finite or huge; nothing was read.
        """
        self._check_sensitivity(target)
        given = np.asarray(answers, dtype=np.float64).reshape(-1)
        if given.size != target.size:
            raise QueryError(f"{target.text!r} has {target.size:,} answers, not {given.size:,}")
        step = step_of(target) * self.__neighbours.grain
        public, level = _units(given), int(_units(np.array([threshold]))[0])
        if side not in ("absolute", "above", "below"):
            raise QueryError(f"a test has the sides 'absolute', 'above' and 'below', not {side!r}")
        with self.__lock:  # two tests at once could both use the last fire
            if self.__fires_left < 1:
                raise WatchClosedError("this sparse vector has used all its fires", remedy="start another one")
            errors = _grid_units(self.__exact(target), step) - public
            margin = max(-_SATURATION, min(_SATURATION, _worst(errors, side) - level - self.__noise))
            fired = self.__exceeds(margin)
            self.__fires_left -= fired
        return fired

    def _check_sensitivity(self, target: Measurable) -> None:
        """Refuse a target of which one record may move an answer, by itself, further than the mechanism hides."""
        needed = float(grid_sensitivity(of_query(*target.bounds, self.__neighbours).l1))
        if needed > self.__mechanism.sensitivity:
            raise QueryError(
                f"one record moves {target.text!r} by up to {needed:g} counts; this sparse vector is for queries of "
                f"sensitivity {self.__mechanism.sensitivity:g}",
                remedy="scale the query down, or start a sparse vector of that sensitivity",
            )

    def state(self) -> WatchState:
        """SECRET: everything that is needed to continue later."""
        return WatchState(self.__mechanism, self.__noise, self.__fires_left)

    def __repr__(self) -> str:
        """Public facts only."""
        return f"<Watch, {self.__fires_left} of {self.__mechanism.fires} fires left>"

    def __reduce_ex__(self, protocol: object) -> Never:
        """Refuse to be copied or pickled: it reads the private table."""
        raise TypeError("a watch cannot be copied or pickled; save its state() in a private place")


def _worst(errors: Ints, side: Side) -> int:
    """The largest error on a side: what moves each by at most so much moves it by no more."""
    return int({"absolute": abs(errors), "above": errors, "below": -errors}[side].max())


def _units(counts: Floats) -> Ints:
    """Public numbers on the lattice of 2^-10 counts."""
    if not (abs(counts) <= _LARGEST).all():
        raise QueryError(f"an answer or a threshold is not finite, or huge: {counts[~(abs(counts) <= _LARGEST)][0]!r}")
    return np.rint(counts / GRID).astype(np.int64)


def _grid_units(units: Ints, step: float) -> Ints:
    """Lattice units of a target as 2^-10 counts, rounded down; the sensitivity is rounded up to match.

    Answers beyond the largest public one are cut to it, which brings no two of them further apart.
    """
    if step < GRID:
        return units // round(GRID / step)
    most = int(_LARGEST / step)
    return np.asarray(units.clip(-most, most) * round(step / GRID), dtype=np.int64)
