"""What lies in deploy/: it fits the program, and the page about a team goes as it says."""

from __future__ import annotations

import ipaddress
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import kubernetes_validate
import psycopg
import pytest
import typer.main
import yaml

import hedgerow
from hedgerow.service import Store, running
from tests.cli.command_line import app
from tests.service.api import api
from tests.test_containers import COMPOSE, FINAL, OPERATIONS, ROOT, environment, of, options

DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "guide" / "team.md").read_text(encoding="utf-8")
PROGRAM = "/opt/hedgerow/bin/hedgerow"
PATHS = {operation.path for operation in OPERATIONS if operation.method == "GET"}
ASSIGNED = re.compile(r"^(HEDGEROW_[A-Z_]+)=(.*)$", re.MULTILINE)


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def unit(name: str) -> RawConfigParser:
    """A unit; of a key that stands there several times, the last."""
    read = RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string((DEPLOY / "systemd" / name).read_text(encoding="utf-8"))
    return read


def check_command(words: list[str]) -> None:
    """The program has such a command, with such options."""
    command: Any = typer.main.get_command(app)
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, words


# systemd


@pytest.mark.parametrize("name", ["hedgerow.service", "hedgerow-backup.service"])
def test_units_start_commands_that_there_are_with_options_that_there_are(name: str) -> None:
    text = (DEPLOY / "systemd" / name).read_text(encoding="utf-8")
    (started,) = re.findall(rf"{PROGRAM} (.*?)['\n]", text)
    check_command(shlex.split(started.replace('"', "")))
    file = dict(ASSIGNED.findall((DEPLOY / "systemd" / "hedgerow.env").read_text(encoding="utf-8")))
    set_here = re.findall(r"^Environment=(HEDGEROW_[A-Z_]+)=(.*)$", text, re.MULTILINE)
    assert set(file) | {key for key, _ in set_here} <= set(options())
    assert not re.search(r"PASSWORD=|://\w+:\w", str(file))
    loaded = dict(re.findall(r"^LoadCredential=([^:]+):(.*)$", text, re.MULTILINE))
    assert {value for _, value in set_here} == {f"%d/{each}" for each in loaded}
    assert all(path in PAGE for path in loaded.values())


def test_the_unit_lets_requests_finish_and_keeps_tokens_out_of_the_journal() -> None:
    service = unit("hedgerow.service")["Service"]
    assert int(service["TimeoutStopSec"]) > running._PATIENCE
    assert (service["StandardOutput"], service["StandardError"]) == ("null", "journal")
    assert service["User"] == unit("hedgerow-backup.service")["Service"]["User"] == "hedgerow"
    assert "MemoryDenyWriteExecute" not in service  # functions are compiled while it runs
    assert (DEPLOY / "systemd" / "hedgerow-backup.timer").stem == "hedgerow-backup"
    data = dict(ASSIGNED.findall((DEPLOY / "systemd" / "hedgerow.env").read_text(encoding="utf-8")))
    assert data["HEDGEROW_DATA"] == service["ReadWritePaths"]
    assert data["HEDGEROW_ANCHOR"].startswith(service["WorkingDirectory"])


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    for each in (DEPLOY / "systemd").glob("*.*"):
        (tmp_path / each.name).write_text(each.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true"))
    for name in ("hedgerow.service", "hedgerow-backup.service", "hedgerow-backup.timer"):
        words = ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        told = [line for line in done.stderr.splitlines() if "hedgerow" in line]
        assert (done.returncode, told) == (0, [])


# Containers


def test_the_proxy_stands_where_the_server_believes_it() -> None:
    (beside,) = documents("compose/proxy.yaml")
    server, proxy = beside["services"]["server"], beside["services"]["proxy"]
    address = ipaddress.ip_address(proxy["networks"]["front"]["ipv4_address"])
    (config,) = beside["networks"]["front"]["ipam"]["config"]
    assert address in ipaddress.ip_network(config["subnet"]).hosts()
    assert server["environment"]["HEDGEROW_PROXIES"] == str(address)
    assert set(server["environment"]) <= set(options())
    assert server["networks"] == ["front"]
    assert set(beside["services"]) - set(COMPOSE["services"]) == {"proxy"}
    assert proxy["depends_on"]["server"]["condition"] == "service_healthy"
    text = (DEPLOY / "compose" / "Caddyfile").read_text(encoding="utf-8")
    assert f"reverse_proxy server:{environment(FINAL)['HEDGEROW_PORT']} " in text
    assert set(re.findall(r"health_uri (\S+)", text)) <= PATHS
    file, _, rest = proxy["volumes"][0].partition(":")
    assert (ROOT / file).samefile(DEPLOY / "compose" / "Caddyfile")
    assert rest == "/etc/caddy/Caddyfile:ro"
    assert {each.partition(":")[0] for each in proxy["volumes"][1:]} == set(beside["volumes"])
    assert re.findall(r"\{\$(\w+)\}", text) == list(proxy["environment"])


KINDS = ("PersistentVolumeClaim", "Deployment", "Service", "Ingress")
VERSIONS = ("1.27", kubernetes_validate.latest_version())


def manifests() -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in documents("kubernetes/hedgerow.yaml")}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_manifests_fit_the_schemas_of_kubernetes(kind: str, version: str) -> None:
    found = manifests()
    assert set(found) == set(KINDS)
    kubernetes_validate.validate(found[kind], version, strict=True)  # unknown fields are refused too
    assert found[kind]["metadata"]["labels"] == {"app": "hedgerow"}
    broken = deepcopy(found[kind])
    broken["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        kubernetes_validate.validate(broken, version, strict=True)


def test_a_field_of_a_wrong_kind_deep_inside_is_noticed() -> None:
    deployment = manifests()["Deployment"]
    deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["periodSeconds"] = "often"
    with pytest.raises(kubernetes_validate.ValidationError, match="often"):
        kubernetes_validate.validate(deployment, VERSIONS[0], strict=True)


def test_the_deployment_fits_the_image_the_program_and_itself() -> None:
    spec = manifests()["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    (server,) = pod["containers"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert server["image"].endswith(f":{hedgerow.__version__}")
    check_command(["serve", *server["args"]])
    values = {each["name"]: each["value"] for each in server["env"]}
    assert set(values) <= set(options())
    user, _, group = of(FINAL, "USER")[0].partition(":")
    security = pod["securityContext"]
    assert [security[name] for name in ("runAsUser", "runAsGroup", "fsGroup")] == [int(user), int(group), int(group)]
    assert server["securityContext"]["readOnlyRootFilesystem"] is True
    assert server["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["terminationGracePeriodSeconds"] > running._PATIENCE
    (port,) = server["ports"]
    assert str(port["containerPort"]) == environment(FINAL)["HEDGEROW_PORT"]
    probes = {name: server[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/v1/health",
        "liveness": "/v1/health",  # a full store is no reason to start anew
        "readiness": "/v1/ready",
    }
    assert {probe["path"] for probe in probes.values()} <= PATHS
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    mounts = {each["name"]: each["mountPath"] for each in server["volumeMounts"]}
    assert set(mounts) == {each["name"] for each in pod["volumes"]}
    assert mounts["tables"] == environment(FINAL)["HEDGEROW_DATA"]
    assert mounts["temporary"] == "/tmp"
    assert environment(FINAL)["NUMBA_CACHE_DIR"].startswith(mounts["home"])
    assert values["HEDGEROW_STORE_PASSWORD_FILE"] == f"{mounts['password']}/database_password"


def test_the_service_and_the_ingress_lead_to_the_deployment() -> None:
    found = manifests()
    pod = found["Deployment"]["spec"]["template"]
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    claim = volumes["tables"]["persistentVolumeClaim"]["claimName"]
    assert claim == found["PersistentVolumeClaim"]["metadata"]["name"]
    service = found["Service"]
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] == pod["spec"]["containers"][0]["ports"][0]["name"]
    (rule,) = found["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": service["metadata"]["name"], "port": {"name": port["name"]}}
    assert found["Ingress"]["spec"]["tls"][0]["hosts"] == [rule["host"]]
    secret = volumes["password"]["secret"]["secretName"]
    text = (DEPLOY / "kubernetes" / "hedgerow.yaml").read_text(encoding="utf-8")
    assert f"create secret generic {secret} --from-file=database_password=" in text


# Prometheus


def test_thresholds_are_about_metrics_that_there_are(tmp_path: Path) -> None:
    (rules,) = documents("prometheus/hedgerow.rules.yaml")
    told = [rule for group in rules["groups"] for rule in group["rules"]]
    with api(tmp_path) as here:
        here.call("GET", "/v1/me")
        carol = here.token("carol", "custodian")
        text = here.call("GET", "/v1/metrics").text + here.call("GET", "/v1/metrics/datasets", carol).text
    for rule in told:
        named = re.findall(r"\b(hedgerow_\w+|up)(?=[{ \[/])", rule["expr"])
        assert named, rule["alert"]
        for each in named:
            assert each == "up" or f"\n{each}{{" in text or f"\n{each} " in text, each
        for label, value in re.findall(r'hedgerow_status\{(\w+)="([a-z ]+)"\}', rule["expr"]):
            assert f'{label}="{value}"' in text
        assert {*rule} <= {"alert", "expr", "for", "annotations"}
    assert len({rule["alert"] for rule in told}) == len(told)
    (scrape,) = documents("prometheus/scrape.yaml")
    assert {each["metrics_path"] for each in scrape["scrape_configs"]} <= PATHS
    assert (DEPLOY / "prometheus" / scrape["rule_files"][0]).exists()
    (manager,) = documents("prometheus/alertmanager.yaml")
    assert manager["route"]["receiver"] in {each["name"] for each in manager["receivers"]}


# The page


MAIN = "from hedgerow.cli import main; main()"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRELUDE = """\
set -eu
useradd() { :; }; chown() { :; }; chgrp() { :; }
systemctl() { :; }
sudo() { shift 2; "$@"; }
psql() { command psql -X -q -d "$ADDRESS" "$@"; }
python3() { if [ "$1 $2" != '-m venv' ]; then command python3 "$@"; fi; }
install() {
    local left=()
    while [ $# -gt 0 ]; do case "$1" in -o|-g) shift 2;; *) left+=("$1"); shift;; esac; done
    command install "${left[@]}"
}
"""
"""Meaning of the words that would change this machine."""


def lines() -> Iterator[tuple[str, str]]:
    """Each command of the page, and what it shows below it."""
    for block in BLOCK.findall(PAGE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


@pytest.mark.parametrize("command", [command for command, _ in lines() if f"{PROGRAM} " in command])
def test_commands_of_the_page_are_commands_of_the_program(command: str) -> None:
    for found in re.findall(rf"{PROGRAM} ([^)>|]*)", command):
        check_command(shlex.split(found))


def test_files_of_the_page_are_there() -> None:
    named = set(re.findall(r"deploy/[\w./-]+\w", PAGE))
    assert all((ROOT / each).exists() for each in named)
    assert {each.name for each in (DEPLOY / "systemd").iterdir()} <= {Path(each).name for each in named}


def scripted(todo: list[tuple[str, str]], folder: Path, moved: Mapping[str, str], more: Mapping[str, str]) -> None:
    """Run commands in one shell, and compare what each prints with what the page shows."""
    script = PRELUDE
    for number, (command, _) in enumerate(todo):
        script += f"echo; echo '@{number}'\n{placed(command, moved)}\n"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=dict(more), capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    printed = re.split(r"^@\d+\n", done.stdout, flags=re.MULTILINE)[1:]
    for (command, shown), found in zip(todo, printed, strict=True):
        if shown:
            pattern = re.escape(shown.strip()).replace(r"\.\.\.", "(?s:.*)")
            assert re.fullmatch(pattern, found.strip()), f"{command}\n{found}"


def placed(text: str, moved: Mapping[str, str]) -> str:
    for name, place in moved.items():
        text = text.replace(name, place)
    return text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def started(folder: Path, more: Mapping[str, str]) -> Iterator[None]:
    """The server, as systemd would start it by the unit."""
    service = folder / "systemd"
    text = (service / "hedgerow.service").read_text(encoding="utf-8")
    (file,) = re.findall(r"^EnvironmentFile=(.*)$", text, re.MULTILINE)
    set_here = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
    values = dict(ASSIGNED.findall(Path(file).read_text(encoding="utf-8"))) | set_here
    loaded = dict(re.findall(r"^LoadCredential=([^:]+):(.*)$", text, re.MULTILINE))
    for name, path in loaded.items():
        values = {key: value.replace(f"%d/{name}", path) for key, value in values.items()}
    values.pop("NUMBA_CACHE_DIR")  # what is compiled for these tests
    (words,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    log = (folder / "log").open("w+", encoding="utf-8")
    server = subprocess.Popen(shlex.split(words), env={**more, **values}, stdout=subprocess.DEVNULL, stderr=log)
    try:
        end = time.monotonic() + 600
        while not is_open(int(values["HEDGEROW_PORT"])):
            assert server.poll() is None, (folder / "log").read_text(encoding="utf-8")
            assert time.monotonic() < end
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        assert server.wait(300) == 0
        log.close()


def is_open(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.postgresql
def test_the_page_goes_as_it_says(tmp_path: Path, postgresql_address: str) -> None:
    port, data = str(free_port()), postgresql_address.partition("?host=")[2]
    moved = {name: f"{tmp_path}{name}" for name in ("/opt/hedgerow", "/etc/", "/srv/tables", "/var/")}
    moved |= {"8443": port, "@localhost/hedgerow": f"@/hedgerow?host={data}", "0.0.0.0": "127.0.0.1"}
    for name in ("opt/hedgerow/bin", "etc/systemd/system", "srv", "var/lib/hedgerow", "var/backups"):
        (tmp_path / name).mkdir(parents=True)
    for name, does in {"pip": "exit 0", "hedgerow": f"exec '{sys.executable}' -c '{MAIN}' \"$@\""}.items():
        program = tmp_path / "opt" / "hedgerow" / "bin" / name
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    for each in DEPLOY.rglob("*.*"):
        if each.is_file():
            copied = tmp_path / "deploy" / each.relative_to(DEPLOY)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_text(placed(each.read_text(encoding="utf-8"), moved), encoding="utf-8")
    more = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "ADDRESS": postgresql_address}
    more |= {"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    todo = list(lines())
    start = next(at for at, (command, _) in enumerate(todo) if command.startswith("systemctl enable")) + 1
    try:
        scripted(todo[:start], tmp_path, moved, more)
        with started(tmp_path / "deploy", more):
            scripted(todo[start:], tmp_path, moved, more)
        check_role(postgresql_address)
        check_journal((tmp_path / "deploy" / "log").read_text(encoding="utf-8"))
    finally:
        with psycopg.connect(postgresql_address, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS hedgerow WITH (FORCE)")
            connection.execute("DROP ROLE IF EXISTS hedgerow")
    kept = (tmp_path / "var" / "backups" / "hedgerow").iterdir()
    backups = {each.name for each in kept if not each.name.startswith(".")}  # locks
    assert backups == {"today.backup", "before.backup", "audit.jsonl"}


def check_role(address: str) -> None:
    """The role has a password and no right beyond its database, and nobody else may connect to that."""
    with psycopg.connect(address, autocommit=True) as connection:
        role = "SELECT rolsuper, rolcreatedb, rolcreaterole, rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid"
        assert connection.execute(f"{role} WHERE rolname = 'hedgerow'").fetchone() == (False, False, False, True)
        connection.execute("CREATE ROLE stranger LOGIN")
        try:
            with pytest.raises(psycopg.OperationalError, match="permission denied"):
                psycopg.connect(address.replace("tester@/postgres?", "stranger@/hedgerow?"))
        finally:
            connection.execute("DROP ROLE stranger")
    store = Store.open(address.replace("tester@/postgres?", "hedgerow@/hedgerow?"), as_it_is=True)
    try:
        assert [(each.name, each.role) for each in store.people()] == [("ada", "removed"), ("custodian", "custodian")]
    finally:
        store.close()


def check_journal(text: str) -> None:
    """Lines are JSON but for what the program says of itself, and none holds a token or what was asked."""
    found = [yaml.safe_load(line) for line in text.splitlines() if not line.startswith("compiling")]
    assert {each["person"] for each in found if "person" in each} == {"ada", "custodian"}
    assert {each["level"] for each in found} == {"info"}
    assert "hgr_" not in text
    assert "GROUP BY" not in text
