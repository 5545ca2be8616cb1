"""Alerts: what operators are told when it begins and when it is over, by a webhook, without a monitoring system.

The body is that of Alertmanager's webhook, with the names of ``deploy/prometheus/hedgerow.rules.yaml``: what receives
the one receives the other. It holds names of data sets, shares of budgets and sizes: nothing of what was asked.
"""

import json
import logging
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from hedgerow.errors import StoreError
from hedgerow.quantities import human_bytes
from hedgerow.service.http.gauges import Readiness
from hedgerow.service.sessions import summary_of
from hedgerow.service.settings import AlertSettings
from hedgerow.service.store import Person, Store

_LOG = logging.getLogger("hedgerow.service")
_PATIENCE = 10.0
_NOBODY = Person(0, "", "analyst", datetime.fromtimestamp(0, UTC))
"""Whose limits are none: what a data set spends is told without what is being answered."""


@dataclass(frozen=True, order=True)
class Alert:
    """Something that operators are told.

    Attributes:
        name: Name of the alert.
        data_set: Name of the data set; empty for the whole server.
        text: The state in words, which may change while the alert lasts.
    """

    name: str
    data_set: str
    text: str = field(compare=False)

    def body(self, status: str) -> dict[str, Any]:
        """The alert as JSON."""
        labels = {"alertname": self.name, **({"dataset": self.data_set} if self.data_set else {})}
        return {"status": status, "labels": labels, "annotations": {"summary": self.text}}


def alerts_of(store: Store, readiness: Readiness, settings: AlertSettings) -> Iterator[Alert]:
    """What is beyond a threshold now.

    Args:
        store: The store.
        readiness: Whether the store can be written.
        settings: The thresholds.

    Raises:
        StoreError: The store cannot be read.
    """
    if not readiness:
        yield Alert("HedgerowStoreFull", "", "the store cannot be written: GET /v1/ready says why")
    if settings.store_bytes is not None and (size := store.size()) > settings.store_bytes:
        yield Alert("HedgerowStoreLarge", "", f"the store takes {human_bytes(size)} on its disk")
    for data_set in store.data_sets():
        told = summary_of(store, data_set, _NOBODY)
        name, left = data_set.name, told["account"]["left"] / told["limit"]
        if told["status"] == "failed":
            yield Alert("HedgerowOpeningFailed", name, f"{name} could not be opened: open it again, or discard it")
        elif told["status"] == "used up":
            yield Alert("HedgerowUsedUp", name, f"{name} is used up: its hypothesis answers alone, without intervals")
        elif told["status"] == "open" and left < settings.budget_left:
            yield Alert("HedgerowBudgetLow", name, f"{100.0 * left:.2g} % of the budget of {name} is left")


class Alerting:
    """Looks from time to time, and sends what has begun or is over since the address last took it.

    Args:
        store: The store.
        settings: Thresholds and the address.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store.open(f"{folder}/store.db")
        ...     alerting = Alerting(store, AlertSettings("http://127.0.0.1:9/", store_bytes=1))
        ...     [alert.name for alert in alerting.look()]
        ...     store.close()
        ['HedgerowStoreLarge']
    """

    def __init__(self, store: Store, settings: AlertSettings) -> None:
        """Know of nothing."""
        self._store = store
        self._settings = settings
        self._readiness = Readiness(store)
        self._told: dict[Alert, Alert] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="alerting", daemon=True)

    def start(self) -> None:
        """Look every so many seconds, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(2 * _PATIENCE)

    def look(self) -> list[Alert]:
        """What is beyond a threshold; of a store that cannot be read, that."""
        try:
            return sorted(alerts_of(self._store, self._readiness, self._settings))
        except StoreError:
            return [*self._told, Alert("HedgerowAway", "", "the store cannot be read")]

    def tell(self) -> None:
        """Look once, and send what is new; what could not be sent is sent with the next look."""
        found = {alert: alert for alert in self.look()}
        bodies = [alert.body("firing") for alert in found if alert not in self._told]
        bodies += [alert.body("resolved") for alert in self._told if alert not in found]
        if not bodies or self._sent(bodies):
            self._told = found

    def _sent(self, bodies: list[dict[str, Any]]) -> bool:
        status = "firing" if any(each["status"] == "firing" for each in bodies) else "resolved"
        body = json.dumps({"version": "4", "status": status, "receiver": "hedgerow", "alerts": bodies}).encode()
        request = urllib.request.Request(self._settings.address, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.build_opener(_Straight).open(request, timeout=_PATIENCE):
                return True
        except (OSError, ValueError) as error:  # the address may hold a secret, and what the other end says may too
            host = urlsplit(self._settings.address).hostname
            _LOG.warning("alerts cannot be sent to %s: %s", host, type(error).__name__)
            return False

    def _work(self) -> None:
        while not self._stopped.wait(self._settings.seconds):
            with suppress(Exception):  # whatever happens, the next look is made
                self.tell()


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the operator named one address."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse it: the answer is then an error."""
