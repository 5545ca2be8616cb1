"""What is installed: wheel and source archive are built, hold all that runs, and say which extra is lacking."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

OPTIONAL = (
    *("adbc_driver_manager", "adbc_driver_postgresql", "alembic", "cryptography", "duckdb", "fastapi", "itsdangerous"),
    "formulaic",
    *("jinja2", "limits", "matplotlib", "pandas", "polars", "prometheus_client", "psycopg", "pyspark"),
    *("sklearn", "sqlalchemy", "starlette", "uvicorn"),
)
HIDING = f"""
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {OPTIONAL!r} else real(name, path, target)
PathFinder.find_spec = find_spec
"""
"""Start of a process in which no optional part is installed."""
PROGRAM = "from hedgerow.cli import main; main()"
DOMAIN = "sex: [F, M]\nage: {min: 0, max: 9}\n"
TABLE = "sex,age\n" + "".join(f"{'FM'[i % 2]},{i % 10}\n" for i in range(400))
SYNTH = ("synth", "people.csv", "--domain", "people.yaml", "--epsilon", "9")


def build(source: Path, target: Path, *kinds: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *kinds]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, the source archive, and ``installed``, the content of the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "installed")
    return folder


def names_in(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/RECORD")}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    package = ROOT / "src"
    files = {
        path.relative_to(package).as_posix()
        for path in (package / "hedgerow").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = names_in(wheel)
    assert {name for name in held if ".dist-info/" not in name} == files
    metadata = next(name for name in held if name.endswith("METADATA"))
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    assert all(f"Provides-Extra: {extra}" in text for extra in PROJECT["optional-dependencies"])
    assert "Requires-Python: >=3.11" in text


def test_the_source_archive_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        held.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= {path.name for path in source.iterdir()}
    build(source, tmp_path / "again", "-t", "wheel")
    (again,) = (tmp_path / "again").glob("*.whl")
    (wheel,) = built.glob("*.whl")
    assert names_in(again) == names_in(wheel)


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(TABLE)
    (tmp_path / "people.yaml").write_text(DOMAIN)
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "sitecustomize.py").write_text(HIDING)
    return tmp_path


def call(built: Path, place: Path, *arguments: str, plain: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command of what was built, without the optional parts or with all of them."""
    path = [str(built / "installed"), *([str(place / "hiding")] if plain else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def test_what_runs_is_what_was_built(built: Path, place: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(built / "installed")}
    code = "import hedgerow; print(hedgerow.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(built / "installed"))


def test_the_main_job_needs_no_optional_part(built: Path, place: Path) -> None:
    for arguments in (
        ("domain", "people.csv"),
        ("domain", "--check", "people.yaml"),
        ("domain", "--schema"),
        ("plan", "--domain", "people.yaml", "--epsilon", "1", "--total", "400"),
        (*SYNTH, "-o", "synthetic.csv", "--release", "people.release"),
        ("show", "people.release"),
        ("answer", "people.release", "sex = 'F'"),
        ("sample", "people.release", "-n", "5", "-o", "more.parquet"),
        ("audit", "people.release"),
        ("evaluate", "people.csv", "synthetic.csv", "--no-models"),
        ("mechanisms",),
    ):
        done = call(built, place, *arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("report", (*SYNTH, "-o", "no.csv", "--report", "no.html")),
        ("signing", (*SYNTH, "-o", "no.csv", "--release", "no.release", "--sign", "key")),
        ("duckdb", (*SYNTH, "-o", "no.csv", "--where", "age > 3")),
        ("duckdb", (*SYNTH, "-o", "duckdb:no.db#people")),
        ("postgresql", ("synth", "postgresql://h/d#t", "--domain", "people.yaml", "--epsilon", "9", "-o", "no.csv")),
        ("spark", ("synth", "spark:t", "--domain", "people.yaml", "--epsilon", "9", "-o", "no.csv")),
        ("evaluate", ("evaluate", "people.csv", "people.csv")),
        ("report", ("evaluate", "people.csv", "people.csv", "--no-models", "--html", "no.html")),
        (
            "report",
            ("compare", "people.csv", "--domain", "people.yaml", "--epsilon", "9", "-o", "no.csv", "--plot", "no.svg"),
        ),
        ("signing", ("key", "no.key")),
        ("service", ("serve", "--demo")),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else each,
)
def test_a_command_that_needs_an_extra_says_which_and_does_nothing(
    built: Path, place: Path, extra: str, arguments: tuple[str, ...]
) -> None:
    done = call(built, place, *arguments)
    assert done.returncode == 1, done.stdout
    assert f"pip install 'hedgerow[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in place.iterdir() if path.name.startswith("no.")] == []


def test_what_was_built_runs_with_all_parts(built: Path, place: Path) -> None:
    written = ("-o", "synthetic.csv", "--release", "people.release", "--report", "report.html", "--where", "age > 3")
    done = call(built, place, *SYNTH, *written, plain=False)
    assert done.returncode == 0, done.stderr
    assert "<svg" in (place / "report.html").read_text(encoding="utf-8")
