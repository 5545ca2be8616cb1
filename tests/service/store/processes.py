"""Processes that race for one store, or die in the middle of it; each task is a forked child of a process of its own.

Run as ``python -m tests.service.store.processes task address task address ...``; prints what came of each as JSON. The
tests start it: their own process has threads, which forks do not go with.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hedgerow.algorithms import Mark
from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import ConflictError, OutdatedError, StoreError
from hedgerow.service import Hold, Store
from tests.service.store.cases import EVENT, HOLD, MEASURED, answer, everything, opened, registration

CRASHES = ("registration written", "hold written", "step written", "answers written", "forfeit written")
WHOLE = Step(state={"asked": 1}, events=(EVENT,), findings=(MEASURED,), model=b"other")


def forked(task: Callable[[], Any], *, go: int | None = None) -> Callable[[], Any]:
    """Start a task in a child; what is given back waits for its result, or for the signal that ended it."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        if go is not None:
            os.read(go, 1)
        try:
            result = json.dumps(task())
        except BaseException as error:  # noqa: BLE001 - told to the parent
            result = json.dumps(f"{type(error).__name__}: {error}")
        os.write(writes, result.encode())
        os._exit(0)
    os.close(writes)

    def join() -> Any:
        with os.fdopen(reads) as stream:
            said = stream.read()
        _, status = os.waitpid(child, 0)
        return json.loads(said) if said else -os.WTERMSIG(status)

    return join


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Results of tasks that begin at the same moment."""
    reads, writes = os.pipe()
    joins = [forked(task, go=reads) for task in tasks]
    time.sleep(0.05)
    os.write(writes, b"." * len(tasks))
    return [join() for join in joins]


def with_store(address: str, task: Callable[[Store], Any], **options: Any) -> Callable[[], Any]:
    def run() -> Any:
        store = Store.open(address, **options)
        try:
            return task(store)
        finally:
            store.close()

    return run


def begun(address: str) -> None:
    assert forked(with_store(address, lambda store: opened(store)[1].version))() == 1


def crash(address: str) -> Any:
    """Kill a process at every step; then see that nothing of it is there, and do it again."""
    begun(address)
    return {step: crashed(address, step) for step in CRASHES}


def crashed(address: str, step: str) -> Any:
    def die(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def act(store: Store) -> Any:
        number, version = 1, store.data_set("adult").version
        if step == "registration written":
            return store.register(registration("czech"), by=1).version
        if step == "hold written":
            return store.hold(number, version, HOLD, Step(state={"asked": 7}, events=(EVENT,)))
        if step == "forfeit written":
            return store.forfeit(number, version, WHOLE, 0.4)
        return store.settle(number, version, WHOLE, [answer(1), answer(1)]).version

    def held(store: Store) -> Any:
        if step in {"step written", "answers written", "forfeit written"} and store.progress(1).hold is None:
            store.hold(1, store.data_set("adult").version, HOLD)
        return repr(everything(store))

    before = forked(with_store(address, held))()
    death = forked(with_store(address, act, reached=die))()
    after = forked(with_store(address, lambda store: repr(everything(store))))()
    again = forked(with_store(address, act))()
    return {"death": death, "unchanged": after == before, "again": again}


def race(address: str) -> Any:
    """Two processes hold and settle, each as often as it is told; nobody waits for the other."""
    begun(address)
    results = together(*(with_store(address, lambda store: raced(store, 20)) for _ in range(2)))
    return results, forked(with_store(address, summary))()


def raced(store: Store, times: int) -> int:
    done = 0
    while done < times:
        found = store.progress(1, Mark(10**6, 10**6))
        assert found.step is not None
        assert found.step.state is not None
        state = {"asked": found.step.state["asked"] + 1}
        try:
            version = store.hold(1, found.version, Hold(0.1, "question", 1))
        except (OutdatedError, ConflictError):
            continue
        store.settle(1, version, Step(state=state, events=(EVENT,)), [answer(1, charged=0.5)])
        done += 1
    return done


def summary(store: Store) -> Any:
    found, grant = store.progress(1), store.grant(1, 1)
    assert found.step is not None
    numbers = [entry.number for entry in reversed(store.events(1, limit=1000))]
    return [found.version, found.step.state, numbers, grant.asked, grant.spent, len(store.answers(1, limit=1000))]


def alone(address: str) -> Any:
    """Two processes count in a file, each alone with a data set; then one dies while it is."""
    begun(address)
    reads, writes = os.pipe()
    count = os.memfd_create("count")

    def counted(store: Store) -> int:
        for _ in range(40):
            with store.alone(1, wait=60.0):
                n = int(os.pread(count, 20, 0) or b"0")
                time.sleep(0.0005)
                os.pwrite(count, str(n + 1).encode(), 0)
        return 40

    def dying(store: Store) -> None:
        with store.alone(1, wait=60.0):
            os.write(writes, b".")
            time.sleep(600.0)

    counts = together(*(with_store(address, counted) for _ in range(2)))
    child = os.fork()
    if child == 0:
        with_store(address, dying)()
    os.read(reads, 1)
    refused = forked(with_store(address, lambda store: entered(store, 0.1)))()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return (
        counts,
        int(os.pread(count, 20, 0)),
        refused,
        forked(with_store(address, lambda store: entered(store, 60.0)))(),
    )


def entered(store: Store, wait: float) -> str:
    with store.alone(1, wait=wait):
        return "entered"


def opening(address: str) -> Any:
    """Four processes open a new store at once."""
    return together(*(with_store(address, lambda store: len(store.secret("cursors"))) for _ in range(4)))


def full(address: str) -> Any:
    """No file may grow for a while, as on a disk that is full."""
    begun(address)

    def fill(store: Store) -> Any:
        path = Path(address.removeprefix("sqlite:///"))
        version, said = 1, ""
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name(f"{path.name}-wal").stat().st_size + 200_000, hard))
        try:
            while version < 100:
                version = store.settle(1, version, Step(state={"asked": version}, model=os.urandom(50_000))).version
        except StoreError as error:
            said = str(error)
        before = repr(everything(store))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        after = repr(everything(store))
        found = store.progress(1)
        assert found.step is not None
        state = found.step.state
        return version, said, before == after, found.version, state, store.settle(1, version, WHOLE).version

    return forked(with_store(address, fill))()


TASKS = {task.__name__: task for task in (crash, race, alone, opening, full)}

if __name__ == "__main__":
    pairs = zip(sys.argv[1::2], sys.argv[2::2], strict=True)
    sys.stdout.write(json.dumps({task: TASKS[task](address) for task, address in pairs}))
