"""Which connection makes room, without any sockets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from hedgerow.errors import ConfigError
from hedgerow.service import ConnectionLimits, Connections
from hedgerow.service.http import connections


@dataclass(eq=False)
class Made:
    """A connection that does as it is told."""

    name: str
    address: str = "192.0.2.1"
    is_known: bool = False
    is_silent: bool = False
    ended: list[str] = field(default_factory=list)

    def give_up(self) -> None:
        self.ended.append(self.name)

    def check(self, now: float) -> None:
        self.ended.append(f"{self.name} was looked at")


def rooms(total: int, per_address: int) -> Connections:
    return Connections(ConnectionLimits(total, per_address))


def test_the_one_that_waited_longest_makes_room_and_strangers_first() -> None:
    ended: list[str] = []
    every = rooms(5, 5)
    known, first, second, works, owing = (Made(name, ended=ended) for name in ("known", "1", "2", "works", "owing"))
    for each in (known, first, second, works, owing):
        assert every.admit(each)
    known.is_known = True
    every.works(known)
    every.waits(known)
    every.works(works)
    every.owes(owing)
    admitted = []
    for number in range(4):
        admitted.append(every.admit(busy := Made(f"busy {number}", ended=ended)))
        every.works(busy)
        owing.is_silent = number == 2
    assert admitted == [True, True, True, True]
    assert ended == ["1", "2", "known", "owing"]
    assert not every.admit(Made("one too many"))
    every.leave(works)
    assert every.admit(Made("the next"))


def test_a_body_that_still_comes_makes_no_room() -> None:
    every = rooms(2, 2)
    moving, silent = Made("moving"), Made("silent")
    for each in (moving, silent):
        every.admit(each)
        every.owes(each)
    assert not every.admit(Made("new"))
    silent.is_silent = True
    every.owes(moving)  # it was heard of again
    assert every.admit(Made("new"))
    assert (moving.ended, silent.ended) == ([], ["silent"])


def test_whoever_waits_anew_stands_at_the_end() -> None:
    every = rooms(2, 2)
    first, second = Made("1"), Made("2")
    for each in (first, second):
        every.admit(each)
    every.works(first)
    every.waits(first)
    every.admit(Made("3"))
    assert (first.ended, second.ended) == ([], ["2"])


def test_an_address_drives_out_its_own_alone() -> None:
    every = rooms(10, 3)
    other = Made("other", address="192.0.2.2")
    every.admit(other)
    greedy = [Made(str(number)) for number in range(8)]
    assert all(every.admit(each) for each in greedy)
    assert [each.name for each in greedy if each.ended] == ["0", "1", "2", "3", "4"]
    assert not other.ended
    for each in greedy[5:]:
        every.works(each)
    assert not every.admit(Made("one more"))
    assert every.admit(Made("elsewhere", address="192.0.2.3"))


def test_no_address_means_no_limit_of_one() -> None:
    every = rooms(4, 1)
    proxied = [Made(str(number), address="") for number in range(4)]
    assert all(every.admit(each) for each in proxied)
    assert not any(each.ended for each in proxied)


def test_nothing_is_kept_of_what_has_ended() -> None:
    every = rooms(3, 2)
    made = [Made(str(number), address=f"192.0.2.{number % 5}") for number in range(50)]
    for each in made:
        every.admit(each)
    for each in made:
        every.leave(each)
        every.leave(each)
    assert every._of == {}
    assert not every._all.inside
    assert not every._all.strangers


@pytest.mark.parametrize(
    ("files", "total", "per_address"), [(64, 16, 4), (300, 100, 25), (1024, 824, 206), (2**20, 10_000, 2500)]
)
def test_limits_fit_the_files_that_may_be_open(
    monkeypatch: pytest.MonkeyPatch, files: int, total: int, per_address: int
) -> None:
    monkeypatch.setattr(connections, "open_files", lambda: files)
    found = ConnectionLimits.of()
    assert (found.total, found.per_address) == (total, per_address)
    assert ConnectionLimits.of(total, per_address) == found
    with pytest.raises(ConfigError, match="do not fit"):
        ConnectionLimits.of(max(16, files - 199) + 1)


@pytest.mark.parametrize(
    "wrong",
    [{"total": 0}, {"total": True}, {"total": 1.5}, {"per_address": 0}, {"head_seconds": 0.0}, {"stall_seconds": -1.0},
     {"bytes_per_second": 0}],
    ids=str,
)  # fmt: skip
def test_limits_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ConnectionLimits(**{"total": 10, "per_address": 5, **wrong})
