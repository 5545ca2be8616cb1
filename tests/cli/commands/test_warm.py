"""``hedgerow warm``: afterwards a run compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
