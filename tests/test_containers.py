"""Dockerfile and compose.yaml, read as files: they fit each other, the program, the pins and the documentation."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import typer.main
import yaml

from hedgerow.service import running
from hedgerow.service.http.app import OPERATIONS
from tests.cli.command_line import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVER: dict[str, Any] = COMPOSE["services"]["server"]
DATABASE: dict[str, Any] = COMPOSE["services"]["database"]
COMPOSE_SPEC = jsonschema_rs.validator_for(
    json.loads((ROOT / "tests" / "compose_spec" / "compose-spec.json").read_text(encoding="utf-8"))
)
"""The schema of the compose specification as its project publishes it (Apache-2.0, see the licence beside it)."""
KNOWN = {
    *("FROM", "WORKDIR", "ENV", "RUN", "COPY", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"),
}


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile: comments left out, lines that go on joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(word.upper(), " ".join(rest.split())) for word, _, rest in (line.partition(" ") for line in joined)]


DOCKERFILE = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
STAGES = [index for index, (word, _) in enumerate(DOCKERFILE) if word == "FROM"]
BUILD, FINAL = DOCKERFILE[: STAGES[-1]], DOCKERFILE[STAGES[-1] :]


def of(part: list[tuple[str, str]], word: str) -> list[str]:
    return [rest for each, rest in part if each == word]


def environment(part: list[tuple[str, str]]) -> dict[str, str]:
    pairs = (pair.partition("=") for rest in of(part, "ENV") for pair in shlex.split(rest))
    return {name: value for name, _, value in pairs}


def options() -> dict[str, Any]:
    """The options of ``hedgerow serve``, by the variable that sets them."""
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    return {str(each.envvar): each for each in command.params if getattr(each, "envvar", None)}


def seconds(text: str) -> int:
    assert text.endswith("s")
    return int(text[:-1])


def test_the_parser() -> None:
    text = "# a\nFROM x AS y\nRUN a \\\n    # not a comment of the shell\n    && b\n\nEXPOSE 1"
    assert instructions(text) == [("FROM", "x AS y"), ("RUN", "a && b"), ("EXPOSE", "1")]


def test_every_instruction_is_known() -> None:
    assert {word for word, _ in DOCKERFILE} <= KNOWN
    assert len(STAGES) == 2


def test_the_python_of_both_stages_is_one_that_is_supported() -> None:
    images = {rest.split()[0] for rest in of(DOCKERFILE, "FROM")}
    assert len(images) == 1
    version = re.fullmatch(r"python:(3\.\d+)-slim", images.pop())
    assert version is not None
    assert f"Programming Language :: Python :: {version[1]}" in PROJECT["classifiers"]


def test_only_pins_are_installed_and_the_package_itself() -> None:
    installed = [shlex.split(rest) for rest in of(DOCKERFILE, "RUN") if "pip install" in rest]
    pins, package = installed
    assert pins[:4] == ["python", "-m", "pip", "install"]
    assert pins[4:] == ["--require-hashes", "--no-deps", "-r", "requirements.lock"]
    assert package[4:-1] == ["--no-deps", "--no-build-isolation"]
    wanted = re.fullmatch(r"\.\[([a-z,]+)\]", package[-1])
    assert wanted is not None
    extras = wanted[1].split(",")
    assert "service" in extras
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    locked = re.search(r"^EXTRAS := (.*)$", makefile, re.MULTILINE)
    assert locked is not None
    assert set(extras) <= set(locked[1].split())


def test_the_pins_hold_what_the_extras_need_and_the_builder() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["service"], *groups["build"]]
    assert {re.split(r"[\[<>=]", line)[0] for line in needed} <= pinned


def test_what_is_copied_is_there_and_reaches_the_builder() -> None:
    rules = [
        line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
    ]
    assert rules[0] == "*"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {source for rest in of(BUILD, "COPY") for source in rest.split()[:-1]}
    assert copied == let_in
    assert all((ROOT / source).exists() for source in copied)
    for file in ("readme", "license-files"):
        named = PROJECT[file] if isinstance(PROJECT[file], list) else [PROJECT[file]]
        assert set(named) <= copied
    assert not any(fnmatch("secrets/database_password", rule) for rule in let_in)


def test_it_runs_without_rights() -> None:
    (user,) = of(FINAL, "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    (made,) = of(FINAL, "RUN")
    assert f"--uid {user.partition(':')[0]}" in made
    assert f"--gid {user.partition(':')[2]}" in made
    last_root = max(index for index, (word, _) in enumerate(FINAL) if word in {"RUN", "COPY"})
    assert last_root < [word for word, _ in FINAL].index("USER")
    assert SERVER["read_only"] is True
    assert SERVER["cap_drop"] == ["ALL"]
    assert "privileged" not in SERVER
    assert "user" not in SERVER


def test_it_starts_a_command_that_there_is() -> None:
    (entry,) = of(FINAL, "ENTRYPOINT")
    assert json.loads(entry) == ["hedgerow", "serve"]
    assert PROJECT["scripts"]["hedgerow"] == "hedgerow.cli:main"
    assert "serve" in typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert "command" not in SERVER


def test_the_environment_sets_options_that_there_are() -> None:
    image = {name for name in environment(FINAL) if name.startswith("HEDGEROW_")}
    for name in image | set(SERVER["environment"]):
        assert name in options()
    for name in options():
        assert f"`{name}`" in DOCS


def test_ports_agree() -> None:
    port = environment(FINAL)["HEDGEROW_PORT"]
    assert of(FINAL, "EXPOSE") == [port]
    assert str(options()["HEDGEROW_PORT"].default) == port
    assert SERVER["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"127.0.0.1:{port}" in DOCS
    assert environment(FINAL)["HEDGEROW_HOST"] == "0.0.0.0"


def test_health_is_asked_at_an_address_that_there_is() -> None:
    (check,) = of(FINAL, "HEALTHCHECK")
    words = json.loads(check[check.index("[") :])
    test = SERVER["healthcheck"]["test"]
    assert test == ["CMD", *words]
    compile(words[2], "healthcheck", "exec")
    address = re.search(r"http://127\.0\.0\.1:(\d+)(/[a-z0-9/]+)", words[2])
    assert address is not None
    assert address[1] == environment(FINAL)["HEDGEROW_PORT"]
    assert address[2] in {operation.path for operation in OPERATIONS if operation.method == "GET"}
    assert seconds(SERVER["healthcheck"]["timeout"]) > 4


def test_it_may_finish_what_it_is_at() -> None:
    assert of(FINAL, "STOPSIGNAL") == ["SIGTERM"]
    assert seconds(SERVER["stop_grace_period"]) > running._PATIENCE


def test_what_it_writes_lies_in_volumes() -> None:
    image = environment(FINAL)
    mounted = {volume.split(":")[0]: volume.split(":")[1] for volume in SERVER["volumes"]}
    assert image["HEDGEROW_DATA"] == mounted["./tables"]
    home = mounted["server"]
    assert json.loads(of(FINAL, "VOLUME")[0]) == [home]
    assert image["HEDGEROW_STORE"].startswith(f"{home}/")
    assert image["NUMBA_CACHE_DIR"].startswith(f"{home}/")
    (made,) = of(FINAL, "RUN")
    assert made.endswith(f"{home} {image['HEDGEROW_DATA']}")
    assert SERVER["tmpfs"] == ["/tmp"]


def test_it_brings_what_was_compiled_when_it_was_built() -> None:
    (warm,) = (rest for rest in of(BUILD, "RUN") if "hedgerow warm" in rest)
    folder = shlex.split(warm)[0].removeprefix("NUMBA_CACHE_DIR=")
    (copied,) = (rest.split() for rest in of(FINAL, "COPY") if folder in rest.split())
    assert copied[-1] == environment(FINAL)["NUMBA_CACHE_DIR"]
    owner = next(option for option in copied if option.startswith("--chown="))
    assert owner == "--chown=hedgerow:hedgerow"


@pytest.mark.parametrize("file", ["compose.yaml", "deploy/compose/proxy.yaml"])
def test_compose_files_fit_the_compose_specification(file: str) -> None:
    told = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    assert [str(error) for error in COMPOSE_SPEC.iter_errors(told)] == []
    name = next(iter(told["services"]))
    for wrong in ({"restarts": "always"}, {"volumes": "here"}, {"depends_on": {"database": {"condition": "ready"}}}):
        broken = {**told, "services": {**told["services"], name: told["services"][name] | wrong}}
        assert not COMPOSE_SPEC.is_valid(broken), wrong
    assert not COMPOSE_SPEC.is_valid(told | {"service": {}})


def test_everything_that_compose_names_is_declared() -> None:
    for service in COMPOSE["services"].values():
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        named = [volume.split(":")[0] for volume in service["volumes"]]
        assert {name for name in named if not name.startswith(".")} <= set(COMPOSE["volumes"])
    assert SERVER["build"] == "."
    assert SERVER["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "database" in COMPOSE["services"]
    assert "ports" not in DATABASE


def test_the_store_is_the_database_and_its_password_a_secret(tmp_path: Path) -> None:
    from sqlalchemy import make_url

    file = tmp_path / "password"
    file.write_text("a b/c@d:e%\n")
    url = make_url(running.with_password(SERVER["environment"]["HEDGEROW_STORE"], file))
    stated = DATABASE["environment"]
    assert (url.username, url.database) == (stated["POSTGRES_USER"], stated["POSTGRES_DB"])
    assert url.host in COMPOSE["services"]
    assert url.password == "a b/c@d:e%"
    (secret,) = COMPOSE["secrets"]
    path = f"/run/secrets/{secret}"
    assert stated["POSTGRES_PASSWORD_FILE"] == SERVER["environment"]["HEDGEROW_STORE_PASSWORD_FILE"] == path
    assert f"--username {url.username} --dbname {url.database}" in DATABASE["healthcheck"]["test"][1]
    assert COMPOSE["secrets"][secret]["file"].removeprefix("./") in DOCS


@pytest.mark.parametrize("name", ["secrets", "tables"])
def test_folders_of_compose_are_in_the_documentation_and_not_in_git(name: str) -> None:
    assert re.search(rf"mkdir -p .*\b{name}\b", DOCS)
    assert f"/{name}/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
