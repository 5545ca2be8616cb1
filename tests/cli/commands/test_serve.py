"""``hedgerow serve``: how it starts, what it tells, how it stops, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet
import pytest

from hedgerow.cli import serving
from hedgerow.errors import ConfigError, NotThereError
from hedgerow.privacy import ApproxDP, PureDP, Register
from hedgerow.queries import parse_count
from hedgerow.service import (
    ConnectionLimits,
    Proxies,
    Registration,
    Store,
    Verifier,
    compile_kernels,
    domain_of,
    read_private,
    running,
)
from hedgerow.service.demo import demo
from hedgerow.service.http import Alerting, connections
from tests.cli.conftest import Place
from tests.service.http.half_open import closed, half_open, mixed
from tests.service.http.test_over_sockets import answer_of, comes_true, head
from tests.service.http.test_uploads import begin, hidden

Start = Callable[..., "subprocess.Popen[str]"]
TOKEN = re.compile(r"hgr_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")
DATA = Path(__file__).resolve().parents[3] / "examples" / "data"


@contextmanager
def started(start: Start, *arguments: object, **more: Any) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The real program, once it listens, and what it told as JSON."""
    program = start("serve", "--port", "0", "--json", *arguments, **more)
    try:
        assert program.stdout is not None
        lines: list[str] = []
        for line in iter(program.stdout.readline, ""):
            lines.append(line)
            if line.rstrip() == "}":
                break
        assert lines, program.communicate()[1]
        yield program, json.loads("".join(lines))
    finally:
        program.kill()
        program.communicate()


def asked(address: str, path: str, token: str | None = None, body: Any = None) -> Any:
    headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{address}v1/{path}", data, headers), timeout=60) as reply:
        return json.loads(reply.read())


def stopped(program: subprocess.Popen[str], sent: signal.Signals) -> str:
    program.send_signal(sent)
    output, error = program.communicate(timeout=120)
    assert output == ""
    assert "Traceback" not in error
    return error


# The real program


@pytest.mark.slow
def test_the_demo_answers_and_leaves_nothing_behind(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started(start, "--demo") as (program, told):
        address, tokens = told["address"], told["tokens"]
        assert asked(address, "health")["status"] == "ok"
        assert asked(address, "me", tokens["custodian"])["role"] == "custodian"
        assert asked(address, "me", tokens["analyst"])["role"] == "analyst"
        statement = "SELECT COUNT(*) FROM adult WHERE education = 'Masters' AND age BETWEEN 30 AND 39"
        reply = asked(address, "datasets/adult/queries", tokens["analyst"], {"queries": [{"sql": statement}]})
        (answer,) = reply["answers"]
        assert answer["low"] <= answer["value"] <= answer["high"]
        assert reply["dataset"]["private"]
        assert reply["dataset"]["limit"] > reply["dataset"]["spent"] > 0.0
        assert stopped(program, signal.SIGTERM) == ""
        assert program.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_first_start_and_ctrl_c(start: Start, tmp_path: Path) -> None:
    with started(start) as (program, told):
        assert list(told["tokens"]) == ["custodian"]
        token = told["tokens"]["custodian"]
        assert asked(told["address"], "me", token)["person"] == "custodian"
        assert stopped(program, signal.SIGINT) == ""
        assert program.returncode == 130
    assert (tmp_path / "hedgerow.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "tables").stat().st_mode & 0o777 == 0o700


ROWS = b"name,diagnosis\n" + b"ada,none\n" * 300_000


@contextmanager
def half_sent(address: str, token: str) -> Iterator[socket.socket]:
    """The connection of an upload that stands still in the middle."""
    at = urlsplit(address)
    with socket.create_connection((at.hostname, at.port), timeout=20) as connection:
        connection.sendall(head("PUT", "/v1/files/half.csv", token, f"Content-Length: {len(ROWS)}"))
        connection.sendall(ROWS[: len(ROWS) // 2])
        yield connection


@pytest.mark.slow
def test_what_a_kill_cut_off_is_gone_after_the_next_start(start: Start, tmp_path: Path) -> None:
    with started(start) as (program, told):
        folder = tmp_path / told["data"]
        with half_sent(told["address"], token := told["tokens"]["custodian"]):
            assert comes_true(lambda: len(hidden(folder)) == 1)
            program.send_signal(signal.SIGKILL)
            program.wait(20)
    assert len(hidden(folder)) == 1, "the kill left it there"
    with started(start) as (_, told):
        assert hidden(folder) == []
        with half_sent(told["address"], token) as connection:
            assert comes_true(lambda: len(hidden(folder)) == 1)
            begin(folder, tmp_path / "other.db")  # of a second server on the same folder
            assert len(hidden(folder)) == 1, "somebody is writing it"
            connection.sendall(ROWS[len(ROWS) // 2 :])
            assert answer_of(connection)[0] == 201
    assert [each.name for each in folder.iterdir()] == ["half.csv"]
    assert (folder / "half.csv").read_bytes() == ROWS


@pytest.mark.slow
def test_500_half_open_connections_at_300_files_keep_nobody_out(start: Start) -> None:
    """Without limits the server ran out of files, and requests of those who were signed in timed out."""
    with started(start, "--head-timeout", 6, files=300) as (program, told):
        address, token = told["address"], told["tokens"]["custodian"]
        port = int(address.rstrip("/").rpartition(":")[2])
        assert asked(address, "me", token)["person"] == "custodian"
        with ExitStack() as stack:
            opened: list[socket.socket] = []
            for _ in range(10):
                opened += stack.enter_context(half_open(port, mixed(50)))
                assert asked(address, "me", token)["person"] == "custodian"
                assert asked(address, "people", token)["people"]
            assert len(os.listdir(f"/proc/{program.pid}/fd")) < 250
            assert closed(opened, within=30.0) == len(opened) == 500
        assert stopped(program, signal.SIGTERM) == ""
        assert program.returncode == 0


# In this process, with a server that stops at once


@pytest.fixture
def served() -> list[dict[str, Any]]:
    """What each server was to hold to."""
    return []


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, served: list[dict[str, Any]]) -> list[str]:
    """Serving tells that it has started, and ends; in a folder of its own."""
    addresses: list[str] = []

    def run(app: Any, listening: socket.socket, limits: Any, *, started: Callable[[], None], **more: Any) -> int:
        addresses.append(running.url_of(listening))
        served.append({"limits": limits, "settings": app.state.service.settings, **more})
        started()
        return signal.SIGTERM

    monkeypatch.setattr(running, "run", run)
    monkeypatch.setattr(serving, "_ahead", lambda workers: None)
    monkeypatch.chdir(tmp_path)
    return addresses


@pytest.mark.slow
def test_the_first_start_shows_one_token_and_what_to_do(place: Place, at_once: list[str]) -> None:
    first = place.call("serve", "--port", 0)
    assert first.exit_code == 0
    assert first.stderr == ""
    assert at_once[0] in first.stdout
    (token,) = TOKEN.findall(first.stdout)
    assert f"{at_once[0]}{token}" not in first.stdout
    assert "register a table" in first.stdout
    assert "--new-token custodian --token-datasets all" in first.stdout
    assert "for all data sets and 30 days" in first.stdout
    check_terms(token, None, 30)
    again = place.call("serve", "--port", 0)
    assert at_once[1] in again.stdout
    assert not TOKEN.findall(again.stdout)


def check_terms(text: str, scope: tuple[str, ...] | None, days: int | None) -> None:
    """What the token of a store is good for, and how long."""
    store = Store.open("hedgerow.db")
    try:
        token = Verifier(store).caller(text).token
    finally:
        store.close()
    lasts = None if token.expires is None else round((token.expires - token.created) / timedelta(days=1))
    assert (token.data_sets, lasts) == (scope, days)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_token_of_the_command_line_says_what_it_is_good_for(place: Place) -> None:
    first = place.call("serve", "--port", 0, "--token-days", "ever")
    assert "for all data sets and without expiry" in first.stdout
    check_terms(TOKEN.findall(first.stdout)[0], None, None)
    store = Store.open("hedgerow.db")
    for name in ("people", "visits"):
        store.register(Registration(name, "", {}, {}, PureDP(1.0).to_dict(), {}), by=None)
    store.close()
    new = ("serve", "--new-token", "custodian", "--token-datasets")
    for given, days, scope, lasts in (
        ("all", (), None, 30),
        ("people", ("--token-days", 90), ("people",), 90),
        (" people, visits,people", ("--token-days", "ever"), ("people", "visits"), None),
    ):
        told = json.loads(place.call(*new, given, *days, "--json").stdout)
        check_terms(told["tokens"]["custodian"], scope, lasts)
        assert told["datasets"] == ("all" if scope is None else list(scope))
        assert told["days"] == (lasts or "ever")


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--new-token", "custodian"), "a token names its data sets"),
        (("--token-datasets", "all"), "go together"),
        (("--new-token", "custodian", "--token-datasets", " ,"), "does not name a data set"),
        (("--new-token", "custodian", "--token-datasets", "nothing"), "no such data set"),
        (("--new-token", "custodian", "--token-datasets", "all", "--token-days", "0"), "from 1 to 36,500"),
        (("--token-days", "-1"), "from 1 to 36,500"),
        (("--token-days", "never"), "or 'ever'"),
        (("--token-days", "36501"), "or 'ever'"),
    ],
)
def test_a_token_without_terms_is_not_made(
    place: Place, at_once: list[str], arguments: tuple[str, ...], message: str
) -> None:
    place.call("serve", "--port", 0)
    refused = place.call("serve", "--port", 0, *arguments)
    assert refused.exit_code == 1
    assert message in refused.stderr
    assert len(at_once) == 1
    store = Store.open("hedgerow.db")
    assert len(store.tokens()) == 1
    store.close()


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_limits_of_connections_and_proxies(
    place: Place, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "open_files", lambda: 1024)
    place.call("serve", "--port", 0)
    given = ("--connections", 80, "--connections-per-address", 7, "--head-timeout", 3, "--stall-timeout", 4)
    place.call("serve", "--port", 0, *given, "--proxies", "127.0.0.1,10.0.0.0/8")
    for name, value in {"CONNECTIONS": "80", "HEAD_TIMEOUT": "5", "PROXIES": "::1", "STALL_TIMEOUT": "9"}.items():
        monkeypatch.setenv(f"HEDGEROW_{name}", value)
    place.call("serve", "--port", 0)
    assert [each["limits"] for each in served] == [
        ConnectionLimits(824, 206),
        ConnectionLimits(80, 7, 3.0, 4.0),
        ConnectionLimits(80, 20, 5.0, 9.0),
    ]
    named = [Proxies.named(text) for text in ("", "127.0.0.1,10.0.0.0/8", "::1")]
    assert [each["settings"].proxies for each in served] == named


@pytest.mark.slow
def test_https_and_a_log_in_json(start: Start, tmp_path: Path) -> None:
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    made += ["-subj", "/CN=a", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "a.key", "-out", "a.pem"]
    subprocess.run(made, check=True, capture_output=True, cwd=tmp_path)
    options = ("--tls-certificate", tmp_path / "a.pem", "--tls-key", tmp_path / "a.key", "--log-format", "json")
    with started(start, *options) as (program, told):
        assert told["address"].startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=tmp_path / "a.pem")
        headers = {"Authorization": f"Bearer {told['tokens']['custodian']}"}
        asking = urllib.request.Request(f"{told['address']}v1/people", headers=headers)
        with urllib.request.urlopen(asking, timeout=60, context=trusting) as reply:
            assert reply.status == 200
            number = reply.headers["X-Request-Id"]
        error = stopped(program, signal.SIGTERM)
    (line,) = [json.loads(each) for each in error.splitlines()]
    told_of = [line[name] for name in ("level", "request", "person", "method", "route", "status")]
    assert told_of == ["info", number, "custodian", "GET", "/v1/people", 200]


def test_a_webhook_is_named_in_a_file(
    place: Place, at_once: list[str], served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(Alerting, "start", lambda alerting: begun.append(alerting._settings.address))
    Path("hook").write_text("https://chat.example.org/hooks/k3y\n")
    options = ("--alert-url-file", "hook", "--alert-budget", 0.25, "--alert-store", 5)
    assert place.call("serve", "--port", 0, *options).exit_code == 0
    settings = served[0]["settings"]
    assert (settings.alerts.budget_left, settings.alerts.store_bytes) == (0.25, 5 * 2**20)
    assert "k3y" not in repr(settings)
    assert begun == ["https://chat.example.org/hooks/k3y"]
    assert place.call("serve", "--port", 0).exit_code == 0
    assert len(begun) == 1
    Path("hook").write_text("http://chat.example.org/hooks/k3y")
    refused = place.call("serve", "--port", 0, "--alert-url-file", "hook")
    assert (refused.exit_code, "k3y" in refused.stderr, "https" in refused.stderr) == (1, False, True)


def test_sources_are_named_in_a_file(place: Place, at_once: list[str], served: list[dict[str, Any]]) -> None:
    Path("sources.yaml").write_text("visits: /srv/lake/visits/\nclaims: postgresql://me:s3cret@db/claims#claims\n")
    assert place.call("serve", "--port", 0, "--sources", "sources.yaml").exit_code == 0
    settings = served[0]["settings"]
    assert settings.sources == {"visits": "/srv/lake/visits/", "claims": "postgresql://me:s3cret@db/claims#claims"}
    assert "s3cret" not in repr(settings)
    for text in ("[visits]", "visits: 3", "visits: [", "a: &x b\nc: *x"):
        Path("sources.yaml").write_text(text)
        refused = place.call("serve", "--port", 0, "--sources", "sources.yaml")
        assert refused.exit_code == 1, text
        assert "--sources" in refused.stderr
    assert place.call("serve", "--port", 0, "--sources", "none.yaml").exit_code == 1


def test_a_provider_of_identities_is_named_with_all_that_it_needs(
    place: Place, at_once: list[str], served: list[dict[str, Any]]
) -> None:
    Path("secret").write_text("s3cret\n")
    told = ["--oidc-issuer", "https://id.example.org", "--oidc-client", "hedgerow", "--oidc-secret-file", "secret"]
    told += ["--oidc-address", "https://ask.example.org/", "--oidc-roles", "staff=analyst:a+b, office=custodian"]
    assert place.call("serve", "--port", 0, *told, "--oidc-hours", 1, "--oidc-claim", "roles").exit_code == 0
    oidc = served[0]["settings"].oidc
    assert (oidc.issuer, oidc.client, oidc.secret) == ("https://id.example.org", "hedgerow", "s3cret")
    assert (oidc.claim, oidc.name, oidc.hours) == ("roles", "preferred_username", 1.0)
    assert oidc.part_of(["staff"]).data_sets == ("a", "b")
    assert "s3cret" not in repr(oidc)
    for at in range(0, len(told), 2):
        refused = place.call("serve", "--port", 0, *told[:at], *told[at + 2 :])
        assert refused.exit_code == 1
        assert ("--oidc-issuer URL" if at == 0 else "beside --oidc-issuer") in " ".join(refused.stderr.split())
    Path("secret").write_text("\n")
    assert "holds no secret" in place.call("serve", "--port", 0, *told).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tls-key", "a.key"), "--tls-key needs the certificate"),
        (("--tls-certificate", "a.pem"), "the certificate a.pem or its key cannot be read"),
    ],
)
def test_a_key_alone_or_files_that_are_not_there_are_refused(
    place: Place, at_once: list[str], options: tuple[str, ...], message: str
) -> None:
    refused = place.call("serve", "--port", 0, *options)
    assert refused.exit_code == 1
    assert message in refused.stderr
    assert at_once == []
    assert not Path("hedgerow.db").exists()


def test_a_lost_token_is_replaced(place: Place, at_once: list[str]) -> None:
    place.call("serve", "--port", 0)
    new = ("serve", "--token-datasets", "all", "--new-token")
    made = place.call(*new, "custodian")
    assert made.exit_code == 0
    assert TOKEN.fullmatch(made.stdout.strip())
    told = json.loads(place.call(*new, "custodian", "--json").stdout)
    store = Store.open("hedgerow.db")
    try:
        for text in (made.stdout.strip(), told["tokens"]["custodian"]):
            assert Verifier(store).caller(text).is_custodian
        store.add_person("ann", "analyst", by=None)
    finally:
        store.close()
    for name in ("ann", "bob"):
        refused = place.call(*new, name)
        assert refused.exit_code == 1
        assert f"no custodian named '{name}'" in refused.stderr
        assert "the custodians are: custodian" in refused.stderr
    assert len(at_once) == 1


@pytest.mark.parametrize("address", ["mistyped.db", "sqlite:///mistyped.db"])
def test_a_token_is_not_made_in_a_store_that_is_not_there(place: Place, address: str) -> None:
    refused = place.call("serve", "--store", address, "--new-token", "custodian", "--token-datasets", "all")
    assert refused.exit_code == 1
    assert "mistyped.db: there is no store" in refused.stderr
    assert not Path("mistyped.db").exists()


def test_quiet_prints_what_is_never_shown_again(place: Place, at_once: list[str]) -> None:
    first = place.call("serve", "--port", 0, "--quiet")
    assert TOKEN.fullmatch(first.stdout.strip())
    assert place.call("serve", "--port", 0, "--quiet").stdout == ""
    assert len(at_once) == 2


def test_the_environment_says_the_same(place: Place, at_once: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "elsewhere").mkdir()
    for name, value in {"STORE": "elsewhere/s.db", "DATA": "elsewhere", "PORT": "0", "HOST": "localhost"}.items():
        monkeypatch.setenv(f"HEDGEROW_{name}", value)
    told = json.loads(place.call("serve", "--json").stdout)
    assert told["store"] == "elsewhere/s.db"
    assert told["data"] == "elsewhere"
    assert (place / "elsewhere" / "s.db").exists()
    assert not (place / "tables").exists()
    assert len(at_once) == 1


def test_a_restored_store_is_refused_and_accepted_deliberately(
    place: Place, at_once: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_ANCHOR", "anchor.json")
    common = ("serve", "--port", 0, "--store", "s.db")
    assert place.call(*common).stderr == ""
    for each in place.folder.glob("s.db*"):
        shutil.copy(each, place / f"copy-{each.name}")
    assert place.call(*common, "--new-token", "custodian", "--token-datasets", "all").exit_code == 0
    assert json.loads((place / "anchor.json").read_text())["audit"]["count"] == 3
    for each in place.folder.glob("copy-s.db*"):
        shutil.copy(each, place / each.name.removeprefix("copy-"))
    for more in ((), ("--new-token", "custodian", "--token-datasets", "all")):
        refused = place.call(*common, *more)
        assert refused.exit_code == 1
        assert "audit log: it ends with entry 2, and ended with 3" in " ".join(refused.stderr.split())
        assert "--accept-store" in refused.stderr
    accepted = place.call(*common, "--accept-store")
    assert accepted.exit_code == 0
    assert "accepted although the anchor says otherwise" in " ".join(accepted.stderr.split())
    assert place.call(*common).stderr == ""
    assert len(at_once) == 3


def test_an_anchor_that_is_new_says_so_and_none_is_not_accepted(place: Place, at_once: list[str]) -> None:
    common = ("serve", "--port", 0, "--store", "s.db")
    place.call(*common)
    begun = place.call(*common, "--anchor", "anchor.json")
    assert "there is no anchor anchor.json yet" in " ".join(begun.stderr.split())
    assert place.call(*common, "--anchor", "anchor.json").stderr == ""
    refused = place.call(*common, "--accept-store")
    assert refused.exit_code == 1
    assert "give --anchor FILE too" in refused.stderr
    assert len(at_once) == 3


def test_an_audit_log_that_was_changed_stops_the_server(place: Place, at_once: list[str]) -> None:
    place.call("serve", "--port", 0, "--store", "s.db")
    with closing(sqlite3.connect(place / "s.db")) as connection, connection:
        connection.execute("UPDATE audit SET subject = 'bob'")
    refused = place.call("serve", "--port", 0, "--store", "s.db")
    assert refused.exit_code == 1
    assert "the audit log was changed after it was written" in " ".join(refused.stderr.split())
    assert len(at_once) == 1


@pytest.mark.slow
def test_the_quota_is_the_store_s(place: Place, at_once: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found, opened = [], Store.open
    monkeypatch.setattr(Store, "open", lambda *given, **more: found.append(more["quota"]) or opened(*given, **more))
    place.call("serve", "--port", 0)
    place.call("serve", "--port", 0, "--quota", 3)
    assert found == [256 * 2**20, 3 * 2**20]
    assert len(at_once) == 2


def test_a_demo_in_a_store_of_ones_own_registers_once(place: Place, at_once: list[str]) -> None:
    told = json.loads(place.call("serve", "--port", 0, "--demo", "--store", "s.db", "--json").stdout)
    shown = place.call("serve", "--port", 0, "--demo", "--store", "s.db").stdout
    assert len({*told["tokens"].values(), *TOKEN.findall(shown)}) == 4
    assert len(at_once) == 2
    assert "'adult'" in shown
    store = Store.open("s.db")
    try:
        assert [each.name for each in store.data_sets()] == ["adult"]
        assert sorted(person.name for person in store.people()) == ["analyst", "custodian"]
    finally:
        store.close()


@pytest.mark.slow
def test_two_servers_on_one_database(place: Place, at_once: list[str], new_postgresql_database: str) -> None:
    (place / "password").write_text("it's/p@ss\n")
    common = ("serve", "--port", 0, "--store", new_postgresql_database, "--store-password-file", place / "password")
    first, second = place.call(*common, "--json"), place.call(*common)
    assert first.stderr == ""
    told = json.loads(first.stdout)
    assert TOKEN.fullmatch(told["tokens"]["custodian"])
    assert told["store"] == new_postgresql_database.partition("?")[0]
    assert second.exit_code == 0
    assert not TOKEN.findall(second.stdout)
    assert "p@ss" not in first.stdout + second.stdout
    assert len(at_once) == 2
    assert not (place / "hedgerow.db").exists()


@pytest.mark.slow
def test_others_who_can_reach_it_are_warned_of(place: Place, at_once: list[str]) -> None:
    outside = place.call("serve", "--port", 0, "--host", "0.0.0.0", "--quiet")
    assert "reverse proxy with TLS" in outside.stderr
    assert at_once[0].startswith("http://localhost:")
    assert "TLS" not in place.call("serve", "--port", 0, "--host", "127.0.0.2").stderr


def test_a_password_on_the_command_line_is_warned_of(place: Place, at_once: list[str]) -> None:
    seen = place.call("serve", "--port", 0, "--store", "postgresql://ada:geheim@127.0.0.1:1/x")
    assert seen.exit_code == 1
    assert "list of processes" in seen.stderr
    assert "geheim" not in seen.stdout + seen.stderr
    assert not at_once


def test_a_port_that_is_taken(place: Place, at_once: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = place.call("serve", "--port", port)
    assert refused.exit_code == 1
    assert f"cannot listen on port {port} of 127.0.0.1: something else listens there" in refused.stderr
    assert "--port 0" in refused.stderr
    assert not at_once
    assert not (place / "hedgerow.db").exists()  # no token was made that nobody saw


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "no such host"), "is not an address"),
        (("--host", "192.0.2.1"), "this machine has no such address"),
        (("--data", "nowhere"), "there is no folder nowhere"),
        (("--store", "nowhere/s.db"), "store"),
        (("--store", "mysql://x/y"), "store"),
        (("--store-password-file", "x"), "needs the address of a PostgreSQL store"),
        (("--connections", "1000000000"), "connections do not fit"),
        (("--proxies", "*"), "'*' is not the address of a proxy"),
        (("--peer-address", "10.0.0.5:8000"), "--peer-address is not an address"),
        (("--peer-address", "http://10.0.0.5/v1"), "--peer-address is not an address"),
    ],
)
def test_what_cannot_be_served(place: Place, at_once: list[str], arguments: tuple[str, ...], message: str) -> None:
    refused = place.call("serve", "--port", 0, *arguments)
    assert refused.exit_code == 1
    assert message in refused.stderr
    assert not at_once


def test_without_the_extra(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None if name in {"fastapi", "uvicorn"} else "there")
    refused = place.call("serve", "--demo")
    assert refused.exit_code == 1
    assert "the server needs fastapi, uvicorn, which are not installed" in refused.stderr
    assert "pip install 'hedgerow[service]'" in refused.stderr


# Addresses and passwords


def test_addresses() -> None:
    for host, url in (("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://"), ("0.0.0.0", "http://localhost:")):
        with running.listen(host, 0) as made:
            assert running.url_of(made) == f"{running.url_of(made).rpartition(':')[0]}:{made.getsockname()[1]}/"
            assert running.url_of(made).startswith(url)
            assert running.is_reachable(made) == (host == "0.0.0.0")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="the machine has no IPv6")
def test_addresses_of_ipv6() -> None:
    with running.listen("::1", 0) as made:
        assert running.url_of(made) == f"http://[::1]:{made.getsockname()[1]}/"
        assert not running.is_reachable(made)


def test_passwords_of_stores(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("it's/p@ss\n")
    assert running.with_password("s.db", None) == "s.db"
    joined = running.with_password("postgresql://ada@db:5433/x?sslmode=require", file)
    assert joined == "postgresql://ada:it%27s%2Fp%40ss@db:5433/x?sslmode=require"
    assert running.without_password(joined) == "postgresql://ada@db:5433/x"
    for address in ("s.db", "sqlite:///s.db", "postgresql://ada:x@db/x", "postgresql://db/x"):
        with pytest.raises(ConfigError):
            running.with_password(address, file)
    with pytest.raises(ConfigError, match="cannot be read"):
        running.with_password("postgresql://ada@db/x", tmp_path / "nowhere")


def test_only_one_of_two_processes_makes_the_first_custodian(tmp_path: Path) -> None:
    store, other = Store.open(tmp_path / "s.db"), Store.open(tmp_path / "s.db")
    try:
        with pytest.raises(NotThereError, match="no custodian named 'x'"):
            running.another_token(store, "x", data_sets=None, days=30)
        tokens = [running.first_token(each) for each in (store, other)]
        assert [token is None for token in tokens] == [False, True]
        assert len(store.tokens()) == 1
    finally:
        store.close()
        other.close()


# The demo's data


def test_the_demo_s_file_is_what_its_recipe_makes(tmp_path: Path) -> None:
    demo.write_table(DATA / "adult.csv", tmp_path / demo.FILE)
    (tmp_path / "laid out").mkdir()
    demo.lay_out(tmp_path / "laid out")
    shipped = tmp_path / "laid out" / demo.FILE
    assert pyarrow.parquet.read_table(shipped).equals(pyarrow.parquet.read_table(tmp_path / demo.FILE))
    assert shipped.stat().st_size < 200_000


def test_the_demo_s_domain_holds_its_table(tmp_path: Path) -> None:
    demo.lay_out(tmp_path)
    new = demo.registration()
    domain = domain_of(new.domain, new.source)
    table = read_private(new.source, domain, tmp_path)
    assert table.total() == 48_842
    query = parse_count("select count(*) from adult where occupation is null and sex = 'Male'", domain, "adult")
    assert query.scope == ("occupation", "sex")


def test_kernels_are_compiled_ahead() -> None:
    compile_kernels()


# A register


@pytest.mark.slow
def test_data_sets_are_charged_to_the_register_that_the_server_is_started_with(start: Start, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "people.csv").write_text("sex\n" + "F\nM\n" * 200)
    places = ("--store", tmp_path / "store.db", "--data", tmp_path / "tables")
    body = {"source": {"place": "people.csv"}, "domain": {"sex": ["F", "M"]}, "budget": {"epsilon": 1.0}}
    with started(start, *places) as (program, told):
        token = told["tokens"]["custodian"]
        asked(told["address"], "datasets", token, {"name": "before", **body})
        stopped(program, signal.SIGTERM)
    register = ("--register", tmp_path / "r.register", "--limit", 2, "--limit-delta", 1e-9)
    with started(start, *places, *register) as (program, told):
        asked(told["address"], "datasets", token, {"name": "one", **body, "budget": {"epsilon": 1.0, "delta": 1e-9}})
        with pytest.raises(urllib.error.HTTPError, match="409"):
            asked(
                told["address"], "datasets", token, {"name": "two", **body, "budget": {"epsilon": 1.9, "delta": 1e-9}}
            )
        assert "does not count before: registered without it" in stopped(program, signal.SIGTERM).replace("\n", " ")
    kept = Register(tmp_path / "r.register")
    assert (kept.limit, [each.name for each in kept.entries]) == (ApproxDP(2.0, 1e-9), ["one"])


def test_a_limit_needs_a_register(place: Place) -> None:
    refused = place.call("serve", "--store", place / "s.db", "--data", place.folder, "--port", 0, "--limit", 3)
    assert refused.exit_code == 2
    assert "name it with --register" in refused.stderr.replace("\n", " ")
