"""Alerts by a webhook: told when they begin and when they are over, once each, whatever the other end does."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from hedgerow.errors import ConfigError, StoreError
from hedgerow.service import Alerting, AlertSettings
from tests.service.api import Api, api, registration

RULES = Path(__file__).parents[3] / "deploy" / "prometheus" / "hedgerow.rules.yaml"


@dataclass
class Hook:
    """The other end."""

    url: str
    came: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200

    def alerts(self) -> list[tuple[str, str, str]]:
        """All that came since, and forget it."""
        found = [
            (each["status"], each["labels"]["alertname"], each["labels"].get("dataset", ""))
            for body in self.came
            for each in body["alerts"]
        ]
        self.came.clear()
        return found


@pytest.fixture
def hook() -> Iterator[Hook]:
    made: list[Hook] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if made[0].status == 200:
                made[0].came.append(body)
            self.send_response(made[0].status)
            if made[0].status == 302:
                self.send_header("Location", made[0].url + "elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        made.append(Hook(f"http://127.0.0.1:{server.server_port}/hook/s3cret/"))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made[0]
        server.shutdown()
        thread.join()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


def use_up(here: Api, name: str) -> None:
    ada = here.token("ada")
    wheres = [
        f"age < {a} and sex = '{sex}' and job = '{job}'"
        for a in range(1, 9)
        for sex in "FM"
        for job in ("clerk", "cook")
    ]
    for where in wheres:
        here.call("POST", f"/v1/datasets/{name}/queries", ada, json={"queries": [{"where": where}]})


def test_a_budget_that_falls_is_told_once_and_its_end_too(here: Api, hook: Hook) -> None:
    alerting = Alerting(here.store, AlertSettings(hook.url, budget_left=0.0))
    alerting.tell()
    assert hook.came == []
    carol = here.token("carol", "custodian")
    few = registration("few", options={"updates": 1, "threshold": 0.001, "queries": 1000, "first_release": 0.0})
    assert here.call("POST", "/v1/datasets", carol, json=few).status_code == 201
    use_up(here, "few")
    alerting.tell()
    (body,) = hook.came
    assert (body["version"], body["status"]) == ("4", "firing")
    assert hook.alerts() == [("firing", "HedgerowUsedUp", "few")]
    alerting.tell()
    assert hook.came == []
    assert here.call("POST", "/v1/datasets/few/close", carol).status_code == 200
    alerting.tell()
    assert hook.alerts() == [("resolved", "HedgerowUsedUp", "few")]


def test_a_share_of_the_budget_is_a_threshold(here: Api, hook: Hook) -> None:
    use_up(here, "survey")
    (left,) = [alert for alert in Alerting(here.store, AlertSettings(hook.url, budget_left=0.9999)).look()]
    assert (left.name, left.data_set) == ("HedgerowBudgetLow", "survey")
    assert left.text.endswith("% of the budget of survey is left")
    assert Alerting(here.store, AlertSettings(hook.url, budget_left=0.01)).look() == []


def test_a_store_that_grows_or_is_full_is_told(here: Api, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each.name for each in Alerting(here.store, AlertSettings(hook.url, store_bytes=1000)).look()] == [
        "HedgerowStoreLarge"
    ]
    alerting = Alerting(here.store, AlertSettings(hook.url, store_bytes=2**40))

    def full() -> None:
        raise StoreError("the store is full")

    with monkeypatch.context() as patch:
        patch.setattr(here.store, "rehearse", full)
        alerting.tell()
        assert hook.alerts() == [("firing", "HedgerowStoreFull", "")]
        patch.setattr(here.store, "data_sets", full)
        alerting.tell()
        assert hook.alerts() == [("firing", "HedgerowAway", "")]
    alerting._readiness._until = 0.0
    alerting.tell()
    assert sorted(hook.alerts()) == [("resolved", "HedgerowAway", ""), ("resolved", "HedgerowStoreFull", "")]


@pytest.mark.parametrize("status", [500, 404, 302])
def test_what_the_other_end_does_not_take_is_sent_again_and_no_redirect_is_followed(
    here: Api, hook: Hook, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    alerting = Alerting(here.store, AlertSettings(hook.url, store_bytes=1000))
    hook.status = status
    with caplog.at_level(logging.WARNING, "hedgerow.service"):
        alerting.tell()
    assert "127.0.0.1" in caplog.text
    assert "s3cret" not in caplog.text
    hook.status = 200
    alerting.tell()
    assert hook.alerts() == [("firing", "HedgerowStoreLarge", "")]


def test_nobody_there_stops_nothing(here: Api) -> None:
    alerting = Alerting(here.store, AlertSettings("http://127.0.0.1:9/", store_bytes=1000, seconds=0.01))
    alerting.start()
    assert here.call("GET", "/v1/health").status_code == 200
    alerting.close()
    assert not alerting._thread.is_alive()


def test_names_are_those_of_the_rules_for_prometheus() -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    source = (Path(__file__).parents[3] / "src/hedgerow/service/http/alerts.py").read_text(encoding="utf-8")
    named = {word.strip('"(,') for word in source.split() if word.startswith('Alert("')}
    assert {name.removeprefix('Alert("') for name in named} <= {each["alert"] for each in rules}


@pytest.mark.parametrize("address", ["http://chat.example.org/", "file:///etc/passwd", "", "chat"])
def test_an_address_elsewhere_speaks_tls(address: str) -> None:
    with pytest.raises(ConfigError, match="https"):
        AlertSettings(address)
    assert "key" not in repr(AlertSettings("https://chat.example.org/key"))
