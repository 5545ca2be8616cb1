"""Servers that are killed: a process that has imported everything, and forks one server after the other.

``python -m tests.service.sessions.crash_child FD FD`` reads lines of JSON from its standard input. For an object it
forks a server and writes its process id; for a process id it waits for its end, and writes how it ended. The sockets
FD, which servers accept on, outlive them: who connects while none is there is served by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hedgerow import OnlinePMW
from hedgerow.algorithms import START, Mark, step_since
from hedgerow.algorithms.online_pmw import Step
from hedgerow.privacy import Curator, SeededNoise
from hedgerow.service import (
    Anchor,
    Progress,
    SessionRepository,
    SessionWorker,
    SessionWorkers,
    Settings,
    Store,
    create_app,
    hold_to,
)
from hedgerow.service.sessions.first import first_release
from tests.privacy.tables import DenseCounts
from tests.service.stack import DOMAIN, ENOUGH, condition, question, skewed


class Killer:
    """Kills its own process when a step is passed for the n-th time."""

    def __init__(self, step: str | None, passing: int) -> None:
        self._step = step
        self._left = passing

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def digest_of_rows(step: Step) -> str:
    """Of everything that the store has of a session."""
    content = {
        "opening": step.opening,
        "state": step.state,
        "events": [event.to_dict() for event in step.events],
        "findings": [
            [dict(each.entry), each.measured, each.value, hashlib.sha256(each.vector).hexdigest()]
            for each in step.findings
        ],
        "model": None if step.model is None else hashlib.sha256(step.model).hexdigest(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def digest_of_session(whole: Step) -> str:
    """Of a session, as one step; what its repository adds to the state is left out."""
    state = {name: value for name, value in (whole.state or {}).items() if name != "summary"}
    return digest_of_rows(replace(whole, state=state))


class Announcing:
    """A store that says what it is about to commit, and that it did, in a file that outlives the process."""

    def __init__(self, store: Store, log: Path, session: Callable[[], Any]) -> None:
        self._store = store
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._session = session
        self._rows = Step()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def progress(self, data_set: int, since: Mark | None = None) -> Progress:
        found = self._store.progress(data_set, since)
        if threading.current_thread().name == "worker":
            base = Step() if since in (None, Mark()) else self._rows
            self._rows = _added(base, found.step)
        return found

    def hold(self, data_set: int, version: int, hold: Any, step: Step | None) -> Any:
        return self._announced(step, lambda: self._store.hold(data_set, version, hold, step), version)

    def settle(self, data_set: int, version: int, step: Step | None, answers: Any = ()) -> Any:
        return self._announced(step, lambda: self._store.settle(data_set, version, step, answers), version)

    def forfeit(self, data_set: int, version: int, step: Step, price: float) -> Any:
        return self._announced(step, lambda: self._store.forfeit(data_set, version, step, price), version)

    def reopen(self, data_set: int, version: int, *, by: int | None) -> Any:
        return self._announced(None, lambda: self._store.reopen(data_set, version, by=by), version)

    def _announced(self, step: Step | None, commit: Callable[[], Any], version: int) -> Any:
        rows = _added(self._rows, step)
        session = self._session()
        # what is known of a session in memory, at this moment, is what is about to be in the store
        whole = None if session is None else digest_of_session(step_since(session, START, first=True))
        self._write(version + 1, digest_of_rows(rows), whole)
        done = commit()
        self._rows = rows
        self._write(version + 1, "done", None)
        return done

    def _write(self, version: int, rows: str, session: str | None) -> None:
        os.write(self._log, (json.dumps([version, rows, session]) + "\n").encode())


def _added(rows: Step, step: Step | None) -> Step:
    if step is None:
        return rows
    return Step(
        opening=rows.opening if step.opening is None else step.opening,
        state=rows.state if step.state is None else step.state,
        events=(*rows.events, *step.events),
        findings=(*rows.findings, *step.findings),
        model=rows.model if step.model is None else step.model,
    )


def table_of(told: int | list[float]) -> DenseCounts:
    """A table by its seed, or by its cells."""
    return skewed(seed=told) if isinstance(told, int) else DenseCounts(DOMAIN, told)


# ---- servers ---------------------------------------------------------------------------------------------------------


def opened(life: dict[str, Any], killer: Killer) -> Store:
    """The store, with an anchor where there is to be one."""
    anchor = None if life.get("anchor") is None else Anchor(life["anchor"], 20.0)
    store = Store.open(life["store"], wait=20.0, reached=killer, anchor=anchor)
    if anchor is not None:
        hold_to(store, anchor)
    return store


def serve_worker(life: dict[str, Any], listening: socket.socket) -> None:
    """A worker alone; requests are lines of JSON."""
    listening.setblocking(True)  # a server over HTTP left it otherwise
    killer = Killer(life["step"], life["passing"])
    store = opened(life, killer)
    made: list[SessionRepository] = []
    announcing: Any = Announcing(store, Path(life["log"]), lambda: made[0]._session if made else None)
    source, noise = table_of(life["table"]), SeededNoise(life["seed"])
    data_set = store.data_set("people")
    made.append(SessionRepository(data_set, DOMAIN, announcing, lambda: source, noise=noise, wait=20.0, reached=killer))
    worker = SessionWorker(made[0], tick=0.0)
    if data_set.status != "open":  # as its custodian would
        worker.manage(lambda repository: repository.retry(1))

    def answered(sent: dict[str, Any]) -> Any:
        number = store.request(
            data_set=data_set.id, person=sent["person"], key=sent["key"], digest=repr(sent["texts"]).encode()
        )
        questions = [question(text) for text in sent["texts"]]
        given = worker.ask(questions, person=sent["person"], request=number)
        return [{**asdict(each), "at": None} for each in given]

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as stream:
            for line in stream:
                stream.write(json.dumps(answered(json.loads(line))).encode() + b"\n")
                stream.flush()

    while True:
        threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()


def serve_http(life: dict[str, Any], listening: socket.socket) -> None:
    """The whole server."""
    import uvicorn

    killer, folder = Killer(life["step"], life["passing"]), Path(life["folder"])
    store = opened(life, killer)

    def session() -> Any:
        opened = list(workers._open.values())
        return opened[0].worker._repository._session if opened else None

    announcing: Any = Announcing(store, Path(life["log"]), session)
    noise = SeededNoise(life["seed"])
    workers = SessionWorkers(announcing, folder, noise=lambda _: noise, tick=0.0, wait=20.0, reached=killer)
    if "divide" in life:
        workers.divide(f"http://127.0.0.1:{listening.getsockname()[1]}")
    app = create_app(workers, announcing, Settings(folder, requests_per_minute=None, longest_wait=3600.0))
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listening])


# ---- the process that forks them -------------------------------------------------------------------------------------


def warm() -> None:
    """Have everything imported and compiled, without a thread."""
    for step in ("residual", "refit"):
        config = OnlinePMW(updates=3, threshold=0.02, step=step)  # type: ignore[arg-type]
        session = config.start(skewed(2_000), ENOUGH, noise=SeededNoise(0))
        for text in ("a = 0", "b in (1, 2) and c = 0", "c <= 3"):
            session.ask(condition(text))
        step_since(session, START, first=True)
    first_release(Curator(skewed(2_000), ENOUGH, noise=SeededNoise(0)))


def tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main(sockets: list[socket.socket]) -> None:
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
            try:
                {"worker": serve_worker, "http": serve_http}[told["kind"]](told, sockets[told["socket"]])
            except BaseException:  # noqa: BLE001 - told, and then it ends
                traceback.print_exc()
            finally:
                os._exit(3)
        tell(child)


if __name__ == "__main__":
    main([socket.socket(fileno=int(number)) for number in sys.argv[1:]])
