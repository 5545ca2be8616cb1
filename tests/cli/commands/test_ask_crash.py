"""Calls of ``hedgerow ask`` that are killed at every step: what can have been learnt is in the file, and paid for."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.algorithms import KIND, LOST
from hedgerow.privacy import Event, Ledger
from hedgerow.quantities import at_most
from hedgerow.release import Container

SEXES, AGES, JOBS = ("F", "M"), range(20, 26), ("clerk", "nurse")
FIRES = "sex = 'F'"
"""About the table of one kind of people the first hypothesis is wrong by half of the records."""

ONE_KIND = [("F", 20, "clerk")] * 480
ALL_KINDS = [(sex, age, job) for sex in SEXES for age in AGES for job in JOBS] * 20

OPENING = [("prepared", 1), ("writing", 1), ("held", 1), ("value", 1), ("looked", 1), ("writing", 2), ("settled", 1)]
ASKING = [
    *(("prepared", 1), ("writing", 1), ("held", 1), ("fire", 1), ("value", 1)),
    *(("fired", 1), ("looked", 1), ("writing", 2), ("settled", 1)),
]


class Zygote:
    """The process that forks calls."""

    def __init__(self) -> None:
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.commands.ask_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **one},
            cwd=Path(__file__).parents[3],
            text=True,
        )

    def told(self, command: Any) -> int:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(command) + "\n")
        stdin.flush()
        return int(stdout.readline())

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(20)


@pytest.fixture(name="zygote", scope="module")
def process_that_forks_calls() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


@dataclass
class Calls:
    """Calls about one table, with one session.

    Attributes:
        mutant: Whether the calls look at the data before anything is held.
    """

    folder: Path
    zygote: Zygote
    rows: Sequence[tuple[str, int, str]] = tuple(ONE_KIND)
    budget: tuple[object, ...] = ("--epsilon", 40, "--updates", 8, "--threshold", 0.05)
    mutant: bool = False
    calls: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        lines = ["sex,age,job", *(f"{sex},{age},{job}" for sex, age, job in self.rows)]
        (self.folder / "people.csv").write_text("\n".join(lines) + "\n")
        attributes = {"sex": list(SEXES), "age": {"min": 20, "max": 25}, "job": list(JOBS)}
        (self.folder / "people.json").write_text(json.dumps({"attributes": attributes}))

    @property
    def session(self) -> Path:
        return self.folder / "people.session"

    def start(self, *asked: str, step: str | None = None, passing: int = 1, sent: int = signal.SIGKILL) -> int:
        """A call; its process id."""
        begins = () if self.session.exists() else ("--domain", self.folder / "people.json", *self.budget)
        seed = ("--seed", self.calls)
        words = ("ask", self.folder / "people.csv", "--session", self.session, *begins, *seed, "--json", *asked)
        self.calls += 1
        return self.zygote.told(
            {
                "arguments": [str(word) for word in words],
                "step": step,
                "passing": passing,
                "signal": int(sent),
                "out": str(self.folder / "out.txt"),
                "log": str(self.folder / "log.txt"),
                "mutant": self.mutant,
            }
        )

    def call(self, *asked: str, step: str | None = None, passing: int = 1) -> int:
        """How it ended."""
        return self.zygote.told(self.start(*asked, step=step, passing=passing))

    @property
    def printed(self) -> str:
        return (self.folder / "out.txt").read_text()

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.printed[self.printed.index("{") : self.printed.rindex("}") + 1])
        return found

    @property
    def content(self) -> dict[str, Any] | None:
        return dict(Container.open(self.session, KIND).content) if self.session.exists() else None

    @property
    def events(self) -> list[Event]:
        content = self.content
        return [] if content is None else [*Ledger.from_dict(content["ledger"]).events]

    @property
    def held(self) -> tuple[str, float] | None:
        hold = (self.content or {}).get("hold")
        return None if hold is None else (hold["purpose"], hold["charge"])

    def check(self) -> None:
        """The file covers all that was drawn by all processes together.

        Raises:
            AssertionError: It does not.
        """
        log = self.folder / "log.txt"
        drawn = Counter(log.read_text().splitlines()) if log.exists() else Counter[str]()
        labels = Counter(each.label if each.label != LOST else each.target.split()[5] for each in self.events)
        if self.held is not None:
            labels[self.held[0]] += 1
        # every fire, and every noisy value, has an event of its own, or was given up as lost
        assert drawn["fire"] <= labels["answer"] + labels["question"]
        assert drawn["value"] <= labels["answer"] + labels["question"] + labels["total"] + labels["opening"]
        if self.content is not None:
            spent = sum(Fraction(each.charge) for each in self.events) + Fraction(self.held[1] if self.held else 0.0)
            assert spent <= Fraction(self.content["ledger"]["limit"])

    def lost(self) -> int:
        return [each.label for each in self.events].count(LOST)


@pytest.mark.slow
def test_calls_killed_at_every_step_are_paid_for(tmp_path: Path, zygote: Zygote) -> None:
    calls, deaths = Calls(tmp_path, zygote), 0
    for step, passing in (*OPENING, *ASKING):
        held = calls.held
        assert calls.call(FIRES, step=step, passing=passing) == -signal.SIGKILL, calls.printed
        calls.check()
        assert "answers" not in calls.printed
        if (step, passing) in (("prepared", 1), ("writing", 1)):
            assert calls.held == held  # nothing was drawn that anybody could see
        elif step != "settled":
            deaths += 1
            purpose = "opening" if deaths <= 4 else "question"
            assert calls.held is not None
            assert calls.held[0] == purpose
            assert calls.lost() == deaths - 1
        else:
            assert calls.held is None
            assert calls.lost() == deaths
    assert calls.call(FIRES) == 0, calls.printed
    assert [each["source"] for each in calls.result["answers"]] == ["cache"]
    assert calls.result["forfeited"] == []
    assert deaths == 10
    assert calls.call("age = 20", step="fired") == -signal.SIGKILL
    assert calls.call() == 0
    calls.check()
    assert calls.lost() == deaths + 1
    (forfeited,) = calls.result["forfeited"]
    assert forfeited == calls.events[-1].described()
    assert f"FORFEITED: {at_most(forfeited['charge'])} epsilon, the most that an interrupted question" in calls.printed
    assert calls.result["session"]["spent"] == float(sum(Fraction(each.charge) for each in calls.events))


def dies_until_the_budget_is_spent(calls: Calls, updates: int) -> None:
    """Who kills every correction, and asks again, sees as many fires as were paid for.

    Raises:
        AssertionError: One more.
    """
    assert calls.call() == 0, calls.printed
    for number in range(updates):
        assert calls.call(FIRES, step="value") == -signal.SIGKILL
        calls.check()
        assert calls.lost() == number
    assert calls.call(FIRES, step="value") == 0
    assert [each["source"] for each in calls.result["answers"]] == ["hypothesis only"]
    assert calls.lost() == updates
    calls.check()


BUDGETS = [
    ("--epsilon", 20, "--updates", 3, "--threshold", 0.05, "--neighbours", "replace"),
    ("--rho", 5, "--updates", 3, "--threshold", 0.05, "--neighbours", "replace"),
]


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=["4c", "4b"])
def test_a_question_that_is_killed_again_and_again_does_not_fire_for_free(
    tmp_path: Path, zygote: Zygote, budget: tuple[object, ...]
) -> None:
    dies_until_the_budget_is_spent(Calls(tmp_path, zygote, budget=budget), 3)


@pytest.mark.slow
def test_that_notices_a_call_that_looks_before_it_holds(tmp_path: Path, zygote: Zygote) -> None:
    calls = Calls(tmp_path, zygote, budget=BUDGETS[0], mutant=True)
    with pytest.raises(AssertionError, match=r"1 <= \(0 \+ 0\)"):  # a fire that nothing covers
        dies_until_the_budget_is_spent(calls, 3)


@pytest.mark.slow
def test_what_deaths_leave_behind_does_not_depend_on_the_data(tmp_path: Path, zygote: Zygote) -> None:
    """Byte for byte the same file after each death, whether the test that was killed fired or not."""
    left: list[list[bytes]] = []
    sources = []
    for name, rows in (("one", ONE_KIND), ("all", ALL_KINDS)):
        budget = ("--epsilon", 40, "--updates", 8, "--threshold", 0.05, "--neighbours", "replace")
        calls, files = Calls(tmp_path / name, zygote, rows=rows, budget=budget), []
        assert calls.call() == 0, calls.printed
        for step, passing in (("held", 1), ("looked", 1), ("writing", 2), ("prepared", 1)):
            assert calls.call(FIRES, step=step, passing=passing) == -signal.SIGKILL
            files.append(calls.session.read_bytes())
        left.append(files)
        assert calls.call(FIRES) == 0
        sources.append(calls.result["answers"][0]["source"])
    assert left[0] == left[1]
    assert sources == ["data", "hypothesis"]


@pytest.mark.slow
def test_what_deaths_in_the_opening_leave_behind_does_not_depend_on_the_data(tmp_path: Path, zygote: Zygote) -> None:
    left = []
    for name, rows in (("one", ONE_KIND[:7]), ("all", ALL_KINDS)):
        calls = Calls(tmp_path / name, zygote, rows=rows)
        files = []
        for step, passing in (("held", 1), ("value", 1), ("writing", 2)):
            assert calls.call(FIRES, step=step, passing=passing) == -signal.SIGKILL
            files.append(calls.session.read_bytes())
        left.append(files)
    assert left[0] == left[1]


@pytest.mark.slow
def test_two_processes_do_not_interleave(tmp_path: Path, zygote: Zygote) -> None:
    calls = Calls(tmp_path, zygote)
    assert calls.call() == 0
    stopped = calls.start(FIRES, step="held", sent=signal.SIGSTOP)
    try:
        _wait_until_stopped(stopped)
        before = calls.session.read_bytes()
        assert calls.call("age = 20") == 1
        assert "another process is using this session" in calls.printed
        assert calls.session.read_bytes() == before
        assert calls.held is not None
    finally:
        os.kill(stopped, signal.SIGKILL)
    assert zygote.told(stopped) == -signal.SIGKILL
    assert calls.call("age = 20") == 0
    assert len(calls.result["forfeited"]) == calls.lost() == 1


def _wait_until_stopped(process: int) -> None:
    for _ in range(2000):
        if Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T":
            return
        time.sleep(0.01)
    pytest.fail("the process did not come by its step")


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(8))
def test_calls_killed_many_times_are_paid_for(tmp_path: Path, zygote: Zygote, seed: int) -> None:
    """At named steps, and at any moment; three questions a call."""
    draw = random.Random(seed)
    relation = draw.choice(("replace", "add-remove"))
    unit = draw.choice(("--epsilon", "--rho"))
    budget = (unit, 60, "--updates", 25, "--threshold", 0.05, "--neighbours", relation)
    calls = Calls(tmp_path, zygote, rows=draw.choice((ONE_KIND, ALL_KINDS)), budget=budget)
    for _ in range(50):
        asked = [f"sex = '{draw.choice(SEXES)}' and age = {draw.choice(AGES)}" for _ in range(3)]
        step, passing = draw.choice([*OPENING, *ASKING, (None, 0)])
        if step is not None:
            calls.call(*asked, step=step, passing=passing + draw.choice((0, 0, 1)))
        else:
            process = calls.start(*asked)
            time.sleep(draw.uniform(0.0, 0.5))
            os.kill(process, signal.SIGKILL)
            calls.zygote.told(process)
        calls.check()
    assert calls.call(FIRES) == 0, calls.printed
    calls.check()
