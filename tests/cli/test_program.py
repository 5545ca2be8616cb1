"""The real program in its own process: speed of the help, exit codes, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Place

Start = Callable[..., subprocess.Popen[str]]
DATA = Path(__file__).resolve().parents[2] / "examples" / "data"


@pytest.mark.parametrize(
    "command",
    [
        "synth",
        "plan",
        "domain",
        "sample",
        "answer",
        "ask",
        "show",
        "report",
        "mechanisms",
        "bound",
        "solve-game",
        "compare",
        "serve",
        "mcp",
        "warm",
    ],
)
def test_every_help_has_examples(place: Place, command: str) -> None:
    result = place.call(command, "--help")
    assert result.exit_code == 0
    assert f"hedgerow {command} " in result.stdout.split("Example")[1]


def loaded(words: list[object], libraries: set[str]) -> str:
    """Which of some libraries a call loads, as a list."""
    code = (
        "import sys\n"
        "from tests.cli.command_line import app\n"
        f"try:\n    app({[str(word) for word in words]})\nexcept SystemExit: pass\n"
        f"print(sorted({libraries} & set(sys.modules)))"
    )
    program = subprocess.run([*start_words(), code], capture_output=True, text=True, check=True)
    return program.stdout.splitlines()[-1]


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["synth", "--help"], ["plan", "--help"]])
def test_help_loads_nothing_heavy(words: list[object]) -> None:
    heavy = {"numpy", "numba", "opendp", "scipy", "pyarrow", "matplotlib", "sqlglot", "pandas", "fastapi"}
    assert loaded(words, heavy | {"sqlalchemy", "rich.progress"}) == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_run_loads_no_library_that_it_does_not_need(place: Place, ending: str) -> None:
    data, domain = DATA / "adult.csv", DATA.parent / "adult.domain.yaml"
    words = ["synth", data, "--domain", domain, "--columns", "age,capital-gain,race,sex", "--epsilon", 1]
    words += ["--workload", "marginals:2", "--quiet", "-o", place / f"s.{ending}"]
    heavy = {"duckdb", "fastapi", "matplotlib", "pandas", "polars", "pyspark", "scipy.optimize", "sklearn"}
    assert loaded(words, heavy | {"sqlalchemy"}) == "[]"
    assert (place / f"s.{ending}").exists()


def test_loading_is_hardly_interrupted_by_searches_for_cycles() -> None:
    code = (
        "import gc, sys\n"
        "sys.argv = ['hedgerow', '--help']\n"
        "from hedgerow.cli import main\n"
        "before = gc.get_stats()[0]['collections']\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print(gc.get_stats()[0]['collections'] - before)"
    )
    program = subprocess.run([*start_words(), code], capture_output=True, text=True, check=True)
    assert int(program.stdout.splitlines()[-1]) <= 1  # Python's own threshold: dozens


def start_words() -> list[str]:
    import sys

    return [sys.executable, "-c"]


def test_version(start: Start) -> None:
    program = start("--version")
    assert program.communicate()[0].startswith("hedgerow ")
    assert program.returncode == 0


@pytest.mark.slow
def test_wrong_usage_is_2_and_errors_are_1(start: Start, place: Place) -> None:
    wrong = start("synth")
    assert "Missing" in wrong.communicate()[1]
    assert wrong.returncode == 2
    failed = start("show", place / "people.csv")
    error = failed.communicate()[1]
    assert failed.returncode == 1
    assert "not a release file" in error
    assert "Traceback" not in error


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_the_middle(start: Start, tmp_path: Path, sent: signal.Signals) -> None:
    program = start(
        "synth",
        DATA / "adult.csv",
        "--domain",
        DATA / "adult.domain.json",
        # 38 million cells and thousands of rounds: minutes, so that the signal comes in the middle
        *("--columns", "workclass,education,marital-status,occupation,relationship,race,sex,native-country"),
        *("--workload", "cells:3", "--epsilon", "1", "--rounds", "3000", "-o", "out.csv", "--report", "out.html"),
    )
    assert program.stderr is not None
    lines = iter(program.stderr.readline, "")
    assert any(line.strip() == "running" for line in lines)
    time.sleep(1.0)
    program.send_signal(sent)
    error = program.communicate(timeout=60)[1]
    assert program.returncode == 130, error
    assert "interrupted" in error
    assert "spent" in error
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_interrupt_while_records_are_drawn(start: Start, place: Place, ending: str) -> None:
    assert place.synth("--quiet", output="first.csv").exit_code == 0
    before = place.names()
    # far more than any disk holds, so that the signal comes in the middle
    program = start("sample", "first.release", "-n", 10**12, "-o", f"large.{ending}")
    while not any(name.startswith(".large") and (place / name).stat().st_size > 10_000 for name in place.names()):
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    error = program.communicate(timeout=60)[1]
    assert program.returncode == 130, error
    assert "interrupted" in error
    assert "Traceback" not in error
    assert place.names() == before


@pytest.mark.slow
def test_an_interrupted_comparison_loses_no_run_that_was_over(start: Start, place: Place) -> None:
    common = ("--domain", "people.yaml", "--epsilon", "1", "--mechanisms", "laplace", "-o", "c.csv")
    program = start("compare", "people.csv", *common, "--repeats", "1000000")
    rows = place / "c.csv"
    while not (rows.exists() and rows.read_text().count("\n") > 30):
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    error = program.communicate(timeout=60)[1]
    assert program.returncode == 130, error
    assert "--resume" in error
    assert "Traceback" not in error
    before = rows.read_text().splitlines()
    complete = (len(before) - 1) // 6
    assert complete >= 5
    again = start("compare", "people.csv", *common, "--repeats", str(complete + 2), "--resume", "--quiet")
    assert "Traceback" not in again.communicate(timeout=60)[1]
    assert again.returncode == 0
    after = rows.read_text().splitlines()
    assert len(after) == 1 + 6 * (complete + 2)
    assert after[: 1 + 6 * complete] == before[: 1 + 6 * complete]
