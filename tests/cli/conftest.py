"""A small private table with its domain file, and a way to call the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from tests.cli.command_line import app

HEADER = "sex,age,job"
BAD = ("x", "", "true", "1e400", "12345678901234567890", "-1", "0", "nan", "1e-300", "[1]")
"""Values that an option refuses with a remedy, or takes."""
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from hedgerow.cli import main
main()
"""


@dataclass(frozen=True)
class Place:
    """A folder with ``people.csv`` and ``people.yaml``."""

    folder: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def call(self, *arguments: object) -> Result:
        """Run a command in this process."""
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    def synth(
        self, *arguments: object, output: str = "out.csv", budget: tuple[object, ...] = ("--epsilon", 1)
    ) -> Result:
        """Run ``synth`` on the table."""
        data, domain = self / "people.csv", self / "people.yaml"
        return self.call("synth", data, "--domain", domain, *budget, "-o", self / output, *arguments)

    def names(self) -> list[str]:
        """What lies in the folder, hidden files too."""
        return sorted(os.listdir(self.folder))


def made_place(folder: Path) -> Place:
    """A place with a table of 400 people and its domain file."""
    generator = np.random.default_rng(0)
    sexes, jobs = np.array(["F", "M"]), np.array(["clerk", "nurse", "teacher", ""])
    rows = zip(
        sexes[generator.integers(2, size=400)],
        generator.integers(20, 26, size=400),
        jobs[generator.integers(4, size=400)],
        strict=True,
    )
    (folder / "people.csv").write_text("\n".join([HEADER, *(f"{s},{a},{j}" for s, a, j in rows)]) + "\n")
    domain = {
        "attributes": {
            "sex": ["F", "M"],
            "age": {"min": 20, "max": 25},
            "job": {"values": ["clerk", "nurse", "teacher"], "missing": True},
        }
    }
    (folder / "people.yaml").write_text(json.dumps(domain))
    return Place(folder)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return made_place(tmp_path)


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of these people, made once for all tests that only need one."""
    place = made_place(tmp_path_factory.mktemp("released"))
    assert place.synth("--quiet", output="first.csv").exit_code == 0
    return place / "first.release"


@pytest.fixture
def release(place: Place, released: Path) -> Path:
    """A copy of it in the folder of the test, beside its records."""
    for file in (released, released.with_suffix(".csv")):
        shutil.copy(file, place / file.name)
    return place / released.name


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the real program; perhaps with few files that it may open."""

    def run(*arguments: object, files: int | None = None) -> subprocess.Popen[str]:
        limit = "" if files is None else f"import resource as r; r.setrlimit(r.RLIMIT_NOFILE, ({files}, {files}))"
        return subprocess.Popen(
            [sys.executable, "-c", limit + PROGRAM, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )

    return run
