"""Calls of ``hedgerow ask`` that are killed: a process that has imported everything, and forks one after the other.

``python -m tests.cli.commands.ask_child`` reads lines of JSON from its standard input. For an object it forks a call
and writes its process id; for a process id it waits for its end, and writes how it ended.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: F401 - what calls need is imported here, once
import pyarrow.csv  # noqa: F401
import typer.rich_utils  # noqa: F401

from hedgerow import OnlinePMW, SessionFile, privacy
from hedgerow.algorithms import online_pmw
from hedgerow.arrays import Ints
from hedgerow.data.reading import row_filter  # noqa: F401
from hedgerow.privacy import PureDP, SeededNoise
from tests.algorithms.online_pmw.cases import skewed
from tests.cli.command_line import app


class Killer:
    """Ends its own process, or stops it, when a step is passed for the n-th time."""

    def __init__(self, step: str | None, passing: int, sent: int) -> None:
        self._step = step
        self._left = passing
        self._sent = sent

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), self._sent)


def before(target: Any, name: str, step: str, reached: Killer) -> None:
    """Have a step passed before each call of a method."""
    original = getattr(target, name)

    def called(self: Any, *arguments: Any) -> Any:
        reached(step)
        return original(self, *arguments)

    setattr(target, name, called)


@dataclass
class Telling:
    """Noise that writes each fire and each noisy value down before anybody is told, and has a step passed then."""

    inner: SeededNoise
    log: int
    reached: Killer

    def exceeds(self, margin: int, scale: float) -> bool:
        fires = self.inner.exceeds(margin, scale)
        self._tell("fire" if fires else "no fire")
        return fires

    def laplace(self, values: Ints, scale: float) -> Ints:
        found = self.inner.laplace(values, scale)
        self._tell("value")
        return found

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        found = self.inner.gaussian(values, sigma)
        self._tell("value")
        return found

    def _tell(self, what: str) -> None:
        os.write(self.log, f"{what}\n".encode())
        self.reached(what)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def without_a_hold(self: Any, session: Any) -> None:
    """What `hedgerow ask` once did: the file is saved after the look alone."""


def call(told: dict[str, Any]) -> int:
    """One call of the program; its exit code."""
    out = os.open(told["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    reached = Killer(told["step"], told["passing"], told["signal"])
    log = os.open(told["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    before(Path, "replace", "writing", reached)
    privacy.SeededNoise = lambda seed: Telling(SeededNoise(seed), log, reached)  # type: ignore[assignment,misc]
    if told["mutant"]:
        SessionFile._hold = without_a_hold  # type: ignore[method-assign]
    online_pmw.SessionFile = partial(SessionFile, reached=reached)  # type: ignore[assignment,misc]
    try:
        app(told["arguments"])
    except SystemExit as error:
        return int(error.code or 0)
    finally:
        sys.stdout.flush()
    return 0


def warm() -> None:
    """Have everything compiled, without a thread."""
    session = OnlinePMW(updates=3, threshold=0.02).start(skewed(2_000), PureDP(3.0), noise=SeededNoise(0))
    session.ask_all(["a = 0", "b = 1 and c = 0", "c = 1"])


def tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    warm()
    assert threading.active_count() == 1
    for line in sys.stdin:
        told = json.loads(line)
        if isinstance(told, int):
            _, status = os.waitpid(told, 0)
            tell(os.waitstatus_to_exitcode(status))
            continue
        child = os.fork()
        if child == 0:
            code = 70
            try:
                code = call(told)
            except BaseException:  # noqa: BLE001 - told, and then it ends
                traceback.print_exc()
            finally:
                os._exit(code)
        tell(child)


if __name__ == "__main__":
    main()
