"""Installed as users install: by pip, from the wheel and the source archive, plain, with each extra, and with all.

Versions are those of the lock files, so that a release of another project breaks nothing here. pip finds packages where
it is configured to; where it reaches no index these tests are skipped. Spark alone is as large as all the rest: its
extra is left to the environment of development, in which ``pytest -m spark`` runs.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.data.workbooks import write_workbook
from tests.test_packaging import DOMAIN, PROGRAM, PROJECT, ROOT, SYNTH, TABLE, build

pytestmark = pytest.mark.slow

OLDEST_PIP = "22.3.1"
"""The pip that Python 3.11 came with first."""
TOO_LARGE = "spark"
EXTRAS = sorted(set(PROJECT["optional-dependencies"]) - {TOO_LARGE})
SAVED = ("-o", "s.csv", "--release", "p.release")


@dataclass(frozen=True)
class Place:
    """A virtual environment, and a folder with a table to work in.

    Attributes:
        folder: The environment.
        work: Folder of the table.
        settings: Variables of pip and of numba.
    """

    folder: Path
    work: Path
    settings: Mapping[str, str]

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def words(self, program: str, *arguments: str) -> list[str]:
        """Start of a program of the environment; ours may be installed in the one below, without its script."""
        script = self.folder / "bin" / program
        return [str(script), *arguments] if script.exists() else [str(self.python), "-c", PROGRAM, *arguments]

    def call(self, *command: object, fails: bool = False) -> str:
        """Run a program of the environment; what it says."""
        words = self.words(*map(str, command))
        done = subprocess.run(
            words, cwd=self.work, env=dict(self.settings), capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == fails, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def install(self, *what: object) -> None:
        self.call("python", "-m", "pip", "install", "--quiet", *what)

    def has(self, package: str) -> bool:
        """Whether a package is installed, here or in the environment below."""
        code = f"import importlib.metadata as m; print({package!r} in {{d.name.lower() for d in m.distributions()}})"
        return self.call("python", "-c", code).strip() == "True"


def pins() -> dict[str, str]:
    """Versions of the lock files, with the condition that each has."""
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    found = re.findall(r"^([\w.-]+)(==[^\s;]+)( ; [^\\\n]+)?", text, flags=re.MULTILINE)
    return {name: f"{name}{version}{condition}".strip() for name, version, condition in found}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables: pip holds to the lock files and has a common cache; nothing of this process is found by others."""
    folder = tmp_path_factory.mktemp("settings")
    (folder / "pins.txt").write_text("\n".join(pins().values()), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {
        "PIP_CONSTRAINT": str(folder / "pins.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONNOUSERSITE": "1",
        "NUMBA_CACHE_DIR": str(folder / "compiled"),
    }


@pytest.fixture(scope="module")
def index(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where pip reaches no index: asked for the oldest pip, a small package that every index has."""
    folder = tmp_path_factory.mktemp("asked")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--retries", "1"]
    done = subprocess.run(
        [*command, "--dest", str(folder), f"pip=={OLDEST_PIP}"],
        env=settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"pip reaches no index: {done.stderr.strip().splitlines()[-1]}")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def new_place(folder: Path, settings: Mapping[str, str]) -> Place:
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], env=dict(settings), check=True)
    (folder / "work").mkdir()
    (folder / "work" / "people.csv").write_text(TABLE, encoding="utf-8")
    (folder / "work" / "people.yaml").write_text(DOMAIN, encoding="utf-8")
    return Place(folder / "venv", folder / "work", settings)


@pytest.fixture(scope="module")
def plain(index: None, wheel: Path, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Hedgerow and nothing more, by the oldest pip."""
    place = new_place(tmp_path_factory.mktemp("plain"), settings)
    place.install(f"pip=={OLDEST_PIP}")
    place.install(wheel)
    return place


def packages(place: Place) -> Path:
    (found,) = place.folder.glob("lib/python*/site-packages")
    return found


def above(plain: Place, folder: Path) -> Place:
    """An environment that sees the packages of the plain one, and to which others can be added."""
    place = new_place(folder, plain.settings)
    (packages(place) / "plain.pth").write_text(str(packages(plain)), encoding="utf-8")
    return place


def test_pins_are_those_of_the_lock_file() -> None:
    found = pins()
    assert {"numpy", "scipy", "pyarrow", "opendp", "cryptography", "pyspark", "hatchling"} <= set(found)
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+( ; .+)?", pin) for pin in found.values()), found


def test_the_main_job_runs_where_nothing_more_is_installed(plain: Place) -> None:
    assert f"pip {OLDEST_PIP} " in plain.call("pip", "--version")
    for package in ("pandas", "matplotlib", "duckdb", "cryptography", "fastapi", "polars", "scikit-learn"):
        assert not plain.has(package)
    plain.call("hedgerow", "domain", "--check", "people.yaml")
    plain.call("hedgerow", *SYNTH, *SAVED)
    assert "everything holds" in plain.call("hedgerow", "audit", "p.release")
    plain.call("hedgerow", "answer", "p.release", "sex = 'F' and age < 3")
    plain.call("hedgerow", "sample", "p.release", "-n", 10, "-o", "more.parquet")
    plain.call("hedgerow", "evaluate", "people.csv", "s.csv", "--no-models")
    plain.call("python", "-m", "pip", "check")
    assert (plain.folder / "bin" / "hedgerow").exists()


BOOK = {"people": [["age", "sex"], *([20 + row % 9, "FM"[row % 2]] for row in range(40))]}
LACKING = {
    "report": ("report", "p.release", "-o", "no.html"),
    "evaluate": ("evaluate", "people.csv", "people.csv"),
    "regress": ("regress", "p.release", "age ~ sex"),
    "duckdb": (*SYNTH, "-o", "no.csv", "--where", "age > 3"),
    "excel": ("domain", "book.xlsx", "-o", "no.yaml"),
    "postgresql": ("synth", "postgresql://h/d#t", "--domain", "people.yaml", "--epsilon", "9", "-o", "no.csv"),
    "signing": ("key", "no.key"),
    "service": ("serve", "--demo"),
    "mcp": ("mcp", "--release", "p.release"),
    "spark": ("synth", "spark:t", "--domain", "people.yaml", "--epsilon", "9", "-o", "no.csv"),
}
"""A command for each extra that needs it; pandas and polars are asked for by frames alone, oidc beside service."""


def test_a_command_says_which_extra_is_really_lacking(plain: Place, tmp_path: Path) -> None:
    plain.call("hedgerow", *SYNTH, "-o", "s.csv", "--release", "p.release", "--force")
    assert {*LACKING, "pandas", "polars", "oidc"} == set(PROJECT["optional-dependencies"])
    write_workbook(plain.work / "book.xlsx", BOOK)
    for extra, arguments in LACKING.items():
        assert f"pip install 'hedgerow[{extra}]'" in plain.call("hedgerow", *arguments, fails=True)
    assert not list(plain.work.glob("no.*"))


FRAME = """
import {0}, hedgerow
frame = {0}.read_csv("people.csv")
made = hedgerow.synthesize(frame, epsilon=9.0, domain="people.yaml")
assert isinstance(made.records, {0}.DataFrame), type(made.records)
"""


AGENT = """
import anyio, mcp, os
async def main():
    async with mcp.Client(mcp.StdioServerParameters(command={0!r}, args={1!r}, env=dict(os.environ))) as agent:
        print([tool.name for tool in (await agent.list_tools()).tools])
anyio.run(main)
"""


def try_extra(place: Place, extra: str) -> None:
    """A small job that needs an extra."""
    match extra:
        case "pandas" | "polars":
            place.call("python", "-c", FRAME.format(extra))
        case "postgresql":  # its driver is there and finds no server
            told = place.call(
                "hedgerow", *LACKING[extra][:1], "postgresql://127.0.0.1:1/d#t", *LACKING[extra][2:], fails=True
            )
            assert "pip install" not in told
        case "service":
            serve(place)
        case "oidc":
            place.call("python", "-c", "import authlib, httpx2")
        case "mcp":
            tools = [*place.words("hedgerow", "mcp", "--release", "m.release")]
            place.call("hedgerow", *SYNTH, "-o", "m.csv", "--release", "m.release")
            assert "describe_columns" in place.call("python", "-c", AGENT.format(tools[0], tools[1:]))
        case "signing":
            place.call("hedgerow", "key", "mine")
            place.call("hedgerow", *SYNTH, "-o", "g.csv", "--release", "signed.release", "--sign", "mine")
            assert "everything holds" in place.call("hedgerow", "audit", "signed.release", "--key", "mine.pub")
        case "report":
            place.call("hedgerow", *SYNTH, "-o", "r.csv", "--report", "r.html")
            assert "<svg" in (place.work / "r.html").read_text(encoding="utf-8")
        case "regress":
            place.call("hedgerow", *SYNTH, "-o", "q.csv", "--release", "q.release")
            assert "sex[T.M]" in place.call("hedgerow", "regress", "q.release", "age ~ sex", "--replicates", 4)
        case "duckdb":
            place.call("hedgerow", *SYNTH, "-o", "duckdb:made.db#people", "--where", "age > 3")
        case "excel":
            write_workbook(place.work / "book.xlsx", BOOK)
            place.call("hedgerow", "domain", "book.xlsx", "-o", "book.yaml")
            assert '"sex": {"values": ["F", "M"]}' in (place.work / "book.yaml").read_text(encoding="utf-8")
        case "evaluate":
            assert "AUC" in place.call("hedgerow", "evaluate", "people.csv", "people.csv")
        case _:
            pytest.fail(f"nothing tries the extra {extra}")


def serve(place: Place) -> None:
    words = place.words("hedgerow", "serve", "--demo", "--port", "0")
    server = subprocess.Popen(words, cwd=place.work, env=dict(place.settings), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        assert any("http://127.0.0.1:" in line for line in server.stdout)
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait() == 130
        server.stdout.close()


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_it_needs_and_no_other(plain: Place, wheel: Path, tmp_path: Path, extra: str) -> None:
    place = above(plain, tmp_path)
    place.install(f"{wheel}[{extra}]")
    try_extra(place, extra)
    other = "signing" if extra not in ("signing", "mcp", "oidc") else "report"  # these bring cryptography too
    assert f"pip install 'hedgerow[{other}]'" in place.call("hedgerow", *LACKING[other], fails=True)


def test_all_extras_are_installed_together(index: None, wheel: Path, settings: dict[str, str], tmp_path: Path) -> None:
    place = new_place(tmp_path, settings)
    place.install(f"{wheel}[{','.join(EXTRAS)}]")
    place.call("python", "-m", "pip", "check")
    for extra in EXTRAS:
        try_extra(place, extra)


def test_the_source_archive_is_installed(plain: Place, dist: Path, tmp_path: Path) -> None:
    place = above(plain, tmp_path)
    (archive,) = dist.glob("*.tar.gz")
    place.install("--no-deps", "--force-reinstall", archive)
    where = place.call("python", "-c", "import hedgerow; print(hedgerow.__file__)")
    assert Path(where.strip()).is_relative_to(place.folder)
    place.call("hedgerow", "domain", "--check", "people.yaml")
    place.call("hedgerow", "domain", "--schema")
