"""Where compiled functions are kept, asked in processes with other environments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow
from hedgerow.system import compiled_folder

ASK = (
    "from hedgerow.domain.kernels import add_coarse\n"
    "from hedgerow.system import compiled_folder\n"
    "print(compiled_folder())"
)


def printed(**variables: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", ASK], check=False, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_it_is_the_one_that_is_named(tmp_path: Path) -> None:
    assert printed(NUMBA_CACHE_DIR=str(tmp_path)) == str(tmp_path)


def test_it_is_the_package_s_own_where_that_can_be_written_to() -> None:
    assert printed(NUMBA_CACHE_DIR="") == str(Path(hedgerow.__file__).parent)


def test_it_is_the_user_s_where_the_package_cannot_be_written_to(tmp_path: Path) -> None:
    folder = printed(NUMBA_CACHE_DIR="", NUMBA_CACHE_LOCATOR_CLASSES="UserWideCacheLocator", HOME=str(tmp_path))
    assert tmp_path in Path(folder).parents


def test_without_any_each_process_compiles_for_itself() -> None:
    assert printed(NUMBA_CACHE_DIR="", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator") == "None"


COMPILE = (
    "import time\n"
    "from hedgerow.system import compiling\n"
    "compiling._LONG = {least}\n"
    "compiling.when_compiling(lambda: print('not this one'))\n"
    "compiling.when_compiling(lambda: print('compiling'))\n"
    "import numpy as np\n"
    "from hedgerow.domain.kernels import add_coarse\n"
    "one = compiling.kernel()(lambda x: x + 1)\n"
    "one(1), one(1.0), one(np.zeros(2))\n"
)


@pytest.mark.slow
def test_what_compiles_for_long_is_told_once() -> None:
    def told(least: str) -> list[str]:
        code = COMPILE.format(least=least)
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return run.stdout.split("\n")[:-1]

    assert told("0.0") == ["compiling"]
    assert told("600.0") == []


def test_what_is_kept_is_not_compiled_again(tmp_path: Path) -> None:
    file = tmp_path / "kept.py"
    file.write_text(
        "from hedgerow.system import compiling\n"
        "compiling._LONG = 0.0\n"
        "compiling.when_compiling(lambda: print('compiling'))\n"
        "@compiling.kernel()\n"
        "def one(x): return x + 1\n"
        "one(1)\n"
    )
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run([sys.executable, str(file)], check=True, capture_output=True, text=True, env=variables)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["compiling\n", ""]


def test_it_is_there() -> None:
    folder = compiled_folder()
    assert folder is not None
    assert folder.is_dir()
