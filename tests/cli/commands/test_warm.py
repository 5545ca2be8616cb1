"""``hedgerow warm``: afterwards a run compiles nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hedgerow import MWEM, Domain, DualQuery, IntegerRange
from hedgerow.cli import warming
from tests.cli.conftest import PROGRAM, Place

DATA = Path(__file__).parents[3] / "examples" / "data"


def ran(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", PROGRAM, *map(str, words)]
    return subprocess.run(call, check=False, env={**os.environ, **variables}, capture_output=True, text=True)


def test_without_a_folder_it_says_how_to_name_one() -> None:
    refused = ran("warm", NUMBA_CACHE_DIR="", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert refused.returncode == 1
    assert "NUMBA_CACHE_DIR" in refused.stderr


def test_a_job_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setattr("hedgerow.cli.warming._cells", lambda: None)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert isinstance(place.call("warm").exception, subprocess.CalledProcessError)


@pytest.mark.slow
def test_a_run_compiles_nothing_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    warm = ran("warm", "--quiet", NUMBA_CACHE_DIR=str(folder))
    assert warm.returncode == 0, warm.stderr
    compiled = sorted(folder.rglob("*.nbc"))
    words = ("--domain", DATA / "adult.domain.json", "--columns", "workclass,marital-status,occupation,race,sex")
    run = ran(
        *("synth", DATA / "adult.csv", *words, "--epsilon", 1, "--workload", "marginals:2", "-o", tmp_path / "s.csv"),
        NUMBA_CACHE_DIR=str(folder),
    )
    assert run.returncode == 0, run.stderr
    assert sorted(folder.rglob("*.nbc")) == compiled
    assert compiled


@pytest.mark.slow
def test_what_is_compiled_beside_a_first_run_is_what_it_needs_late(tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    code = "from hedgerow.cli.warming import late, _has_sweeps as has; print(has()); late(); print(has())"
    beside = subprocess.run([sys.executable, "-c", code], env=variables, check=True, capture_output=True, text=True)
    assert beside.stdout.split() == ["False", "True"]
    known = [path.name.rpartition(".")[0].rpartition(".")[0] for path in folder.rglob("*.nbc")]
    assert {name.partition("-")[0] for name in known} >= {
        "sweep_kernels.sweep_trees",
        "elimination_kernels._add_products",
        "sampling_kernels.round_rows",
    }
    words = ("--domain", DATA / "adult.domain.json", "--epsilon", 1, "--delta", 1e-9, "--workload", "marginals:3<=5000")
    run = ran("synth", DATA / "adult.csv", *words, "-o", tmp_path / "s.csv", NUMBA_CACHE_DIR=str(folder))
    assert run.returncode == 0, run.stderr
    after = [path.name.rpartition(".")[0].rpartition(".")[0] for path in folder.rglob("*.nbc")]
    assert len(after) > len(known)
    again = [name for name in known if after.count(name) > known.count(name)]
    assert [name for name in again if "sampling" not in name] == []  # records of many values have wider codes


LARGE = Domain(IntegerRange(f"x{i}", 0, 99) for i in range(9))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are begun: nothing seems to be compiled, and there are two cores."""
    found: list[subprocess.Popen[bytes]] = []

    def noted(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        found.append(subprocess.Popen([words[0], "-c", "import time; time.sleep(60)"], **options))
        return found[-1]

    monkeypatch.setattr(warming, "subprocess", SimpleNamespace(Popen=noted, DEVNULL=subprocess.DEVNULL))
    monkeypatch.setattr(warming, "_has_sweeps", lambda: False)
    monkeypatch.setattr("hedgerow.system.usable_cores", lambda: 2)
    return found


def test_a_first_run_over_trees_ends_what_compiles_beside_it(begun: list[subprocess.Popen[bytes]]) -> None:
    with warming.compiling_beside(MWEM(), LARGE):
        assert [each.poll() for each in begun] == [None]
    assert [each.poll() for each in begun] == [-signal.SIGKILL]


def test_nothing_is_begun_beside_runs_that_do_not_need_it(
    begun: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Domain(IntegerRange(name, 0, 9) for name in "ab")
    for algorithm, domain in ((MWEM(), small), (DualQuery(), LARGE)):
        with warming.compiling_beside(algorithm, domain):
            assert begun == []
    monkeypatch.setattr("hedgerow.system.usable_cores", lambda: 1)
    with warming.compiling_beside(MWEM(), LARGE):
        assert begun == []
    monkeypatch.setattr("hedgerow.system.usable_cores", lambda: 2)
    monkeypatch.setattr(warming, "_has_sweeps", lambda: True)
    with warming.compiling_beside(MWEM(), LARGE):
        assert begun == []
