"""What operators watch: whether the store can be written, and how much of each data set's budget is left."""

import threading
import time

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest

from hedgerow.errors import StoreError
from hedgerow.service.http.tokens import Caller
from hedgerow.service.sessions import SessionWorkers, summary_of
from hedgerow.service.store import Store

_SECONDS = 5.0
_OF_DATA_SETS = {
    "budget_limit": "The whole budget, in the data set's unit.",
    "budget_left": "Budget that is neither spent nor held.",
    "budget_held": "The most that the question can cost which is being answered.",
    "corrections": "How often the hypothesis has learnt from the data.",
    "corrections_left": "How often it still may.",
    "questions": "Questions that everyone has asked.",
    "waiting": "Requests that wait for this process to answer them.",
}
_STATUSES = ("opening", "failed", "open", "used up", "closed")


class Readiness:
    """Whether the store can be written, looked at no more than every five seconds, however many ask.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        """Know nothing yet."""
        self._store = store
        self._lock = threading.Lock()
        self._until = 0.0
        self._fault: StoreError | None = None

    def check(self) -> None:
        """Raise what the last look found, if it is not too old; else look.

        Raises:
            StoreError: See `Store.rehearse`.
        """
        with self._lock:
            if time.monotonic() >= self._until:
                self._fault = None
                try:
                    self._store.rehearse()
                except StoreError as error:
                    self._fault = error
                self._until = time.monotonic() + _SECONDS
            if self._fault is not None:
                raise self._fault.with_traceback(None)

    def __bool__(self) -> bool:
        """The same as a value."""
        try:
            self.check()
        except StoreError:
            return False
        return True


def gauges(store: Store, workers: SessionWorkers, readiness: Readiness, by: Caller) -> bytes:
    """The state of the data sets that a custodian's token opens, in Prometheus' text format; of the store, if all.

    Args:
        store: The store.
        workers: The data sets of this process.
        readiness: Whether the store can be written.
        by: The custodian.

    Raises:
        StoreError: The store cannot be read.
    """
    registry = CollectorRegistry(auto_describe=False)

    def gauge(name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"hedgerow_{name}", text, labels, registry=registry)

    made = {name: gauge(name, text, "dataset") for name, text in _OF_DATA_SETS.items()}
    status = gauge("status", "1 for the status that the data set has.", "dataset", "status")
    waiting = workers.waiting()
    for data_set in store.data_sets():
        if by.token.reaches(data_set.name):
            told = summary_of(store, data_set, by.person)
            account = (told["limit"], told["account"]["left"], told["account"]["held"])
            values = (*account, told["updates"], told["updates_left"], told["asked"], waiting.get(data_set.id, 0))
            for each, value in zip(made.values(), values, strict=True):
                each.labels(data_set.name).set(value)
            for name in _STATUSES:
                status.labels(data_set.name, name).set(name == told["status"])
    if by.token.data_sets is None:
        gauge("sessions", "Data sets that this process has begun to work for.").set(len(waiting))
        gauge("store_writable", "1 if the store can be written, 0 if not.").set(bool(readiness))
        gauge("store_bytes", "Bytes that the store takes on its disk.").set(store.size())
    return generate_latest(registry)
