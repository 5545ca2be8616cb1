"""The tick of a worker: when answers leave says nothing about how long the data were looked at."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from hedgerow.service import SessionWorker
from hedgerow.service.sessions import worker
from tests.privacy.mutants import Mutant, killed
from tests.service.sessions.test_order_mutants import by, instead
from tests.service.sessions.test_worker import scripted
from tests.service.stack import Lens, at_worker, skewed

TICK = 2.0**-6


class Clock:
    """Stands still, but for who sleeps and for what is said to take time."""

    def __init__(self) -> None:
        self.now = 3.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("fires", [True, False])
def test_how_long_a_look_took_does_not_show(tmp_path: Path, fires: bool) -> None:
    """Answers leave at the same moment, a tick after their group was begun, however long a look took."""
    moments = [_moment(tmp_path / str(took), took, fires) for took in (0.0625, 0.125, 0.375)]
    assert moments == [TICK] * 3


def test_a_long_look_is_rounded_up_to_whole_ticks(tmp_path: Path) -> None:
    assert _moment(tmp_path / "long", 2.625, fires=False) == 3 * TICK


def test_a_look_that_fails_takes_as_long(tmp_path: Path) -> None:
    """When memory runs out in the middle of a look, that nobody learns from the clock how far it had come."""
    assert [_moment(tmp_path / str(took), took, False, fails=True) for took in (0.0625, 0.375)] == [TICK] * 2


def _moment(folder: Path, took: float, fires: bool, *, fails: bool = False) -> float:
    """When an answer left, where each look takes so many ticks: one for the test, and one for an answer if it fires."""
    clock = Clock()
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "time", clock)

        def look() -> None:
            clock.sleep(took * TICK)
            if fails and people_are_asking:
                raise MemoryError

        people_are_asking = False
        lens = Lens(skewed(), look)
        with at_worker(folder, source=lens, noise=scripted(fires)) as people:
            people.worker._tick = TICK
            people.worker.look_at(lambda _: None)
            begun, people_are_asking = clock.now, True
            with pytest.raises(MemoryError) if fails else nullcontext():
                people.ask("a = 0")
            return clock.now - begun


def at_once(_: Any) -> Any:
    """Answers leave as soon as they are committed."""
    return lambda self, begun: None


def rested_for_a_tick(_: Any) -> Any:
    """A whole tick is waited after the look, which hides nothing."""
    return lambda self, begun: worker.time.sleep(self._tick)


MUTANTS = (
    Mutant(
        "answers leave without a tick",
        instead(SessionWorker, "_rest", at_once),
        by(test_how_long_a_look_took_does_not_show, False),
    ),
    Mutant(
        "answers leave a tick after the look",
        instead(SessionWorker, "_rest", rested_for_a_tick),
        by(test_how_long_a_look_took_does_not_show, True),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_tick_that_is_missing_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
