"""Where compiled functions are kept, asked in processes with other environments."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hedgerow
from hedgerow.system import compiled_folder, device_function, kernel, late

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


@pytest.mark.slow
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


@pytest.fixture
def late_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever tests before in this process asked for, as a server or ``hedgerow warm`` does."""
    monkeypatch.setattr("hedgerow.system.compiling._AT_ONCE", [])


def summed() -> tuple[Callable[..., int], list[str]]:
    """A function that is compiled late, and who did its calls."""
    by: list[str] = []

    @late
    @kernel(cache=False)
    def total(numbers: NDArray[np.int64], pair: tuple[NDArray[np.int64], int]) -> int:
        found = _doubled(pair[1])
        for number in numbers:
            found += number
        return found

    whole: Any = total
    compiled = whole.compiled

    def noted(*args: Any) -> Any:
        by.append("machine code")
        return compiled(*args)

    whole.compiled = noted
    noted.py_func, noted.signatures, noted.stats = compiled.py_func, (), compiled.stats  # type: ignore[attr-defined]
    return total, by


@device_function()
def _doubled(number: int) -> int:
    return 2 * number


@pytest.mark.usefixtures("late_kernels")
def test_python_does_the_work_until_that_has_taken_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    total, by = summed()
    args = np.arange(5), (np.arange(3), 4)
    assert total(*args) == 18
    assert by == []
    monkeypatch.setattr("hedgerow.system.compiling._ENOUGH", 0.0)
    assert total(*args) == 18
    assert by == ["machine code"]


@pytest.mark.usefixtures("late_kernels")
def test_much_work_is_compiled_at_once_and_so_is_all_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    total, by = summed()
    monkeypatch.setattr("hedgerow.system.compiling._FEW", 8)
    assert total(np.arange(4), (np.arange(3), 4)) == 14
    assert by == []
    assert total(np.arange(5), (np.arange(3), 4)) == 18  # arrays of tuples count, and numbers
    assert by == ["machine code"]
    monkeypatch.setattr("hedgerow.system.compiling._AT_ONCE", [True])
    assert total(np.arange(1), (np.arange(1), 4)) == 8
    assert by == 2 * ["machine code"]


@pytest.mark.slow
def test_what_an_earlier_process_compiled_is_used(tmp_path: Path) -> None:
    file = tmp_path / "kept.py"
    file.write_text(
        "import sys\n"
        "from hedgerow.system import compile_at_once, kernel, late\n"
        "@late\n"
        "@kernel()\n"
        "def one(x): return x + 1\n"
        "if sys.argv[1:]: compile_at_once()\n"
        "one(1)\n"
        "print(len(one.compiled.signatures))\n"
    )
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run([sys.executable, str(file), *words], check=True, capture_output=True, text=True, env=variables)
        for words in ([], ["now"], [])
    ]
    assert [run.stdout for run in runs] == ["0\n", "1\n", "1\n"]
