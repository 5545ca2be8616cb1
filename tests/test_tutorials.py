"""Pages whose commands run, one after the other, on the files that they show: tutorials and recipes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RELEASES = ("first-release.md", "received-release.md")
PUBLISHED = {"synthetic.csv", "people.release", "report.html", "custodian.pub"}
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', flags=re.DOTALL | re.MULTILINE)
START = "hedgerow serve --demo"
PRELUDE = f"""\
set -eu
python() {{ '{sys.executable}' "$@"; }}
hedgerow() {{ python -c 'from hedgerow.cli import main; main()' "$@"; }}
pip() {{ python -m pip "$@" --quiet --no-deps --no-build-isolation --no-index --target packages; }}
"""
"""What the words of a command mean here. What ``pip`` installs lies in the folder of the test alone."""


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Files that a page shows, by name, and commands, whose name is empty, in the order of the page."""
    for language, title, content in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if title:
            yield title, content
        elif language == "console":
            yield from (("", command) for command in commands_of(content))


def commands_of(block: str) -> Iterator[str]:
    """Commands of a block, which begin with a sign of the shell, and go on where a line ends with a backslash."""
    lines = block.replace("\\\n", "").splitlines()
    assert all(line.startswith("$ ") for line in lines)
    yield from (line.removeprefix("$ ") for line in lines)


def commands(page: str) -> list[str]:
    return [text for name, text in steps(page) if not name]


def follow(pages: tuple[str, ...], folder: Path, more: dict[str, str] | None = None) -> dict[str, str]:
    """Write the files and run the commands of pages in a folder, which has the examples; what the commands print."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    path = [str(folder / "packages"), str(ROOT), str(ROOT / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **(more or {})}
    printed: dict[str, str] = {}
    for name, text in (step for page in pages for step in steps(page)):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        elif text != START:
            printed[text] = run(text, folder, environment)
    return printed


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", PRELUDE + command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_every_command_of_the_first_tutorials_does_what_it_says(tmp_path: Path) -> None:
    printed = follow(RELEASES, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= PUBLISHED
    (register,) = (text for command, text in printed.items() if command.startswith("hedgerow register"))
    assert "people.release" in register
    assert any("estimated" in text for command, text in printed.items() if "--simulate" in command)
    young = (tmp_path / "young.csv").read_text(encoding="utf-8").splitlines()
    assert len(young) == 1001
    assert all(int(row.split(",")[0]) < 30 and row.endswith(">50K") for row in young[1:])


def test_what_is_published_is_what_the_commands_write() -> None:
    written = set(re.findall(r"(?:-o|--release|--report) (\S+)", "\n".join(commands(RELEASES[0])))) | {"custodian.pub"}
    assert written - {"people.yaml"} == PUBLISHED
    (row,) = re.findall(r"^\| (`synthetic.csv`.*?) \|", (DOCS / RELEASES[0]).read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"`(.*?)`", row)) == PUBLISHED


@pytest.mark.slow
def test_the_mechanism_of_the_researcher_is_compared_and_its_figures_are_as_the_page_says(tmp_path: Path) -> None:
    printed = follow(("researcher.md",), tmp_path)
    (mechanisms,) = (text for command, text in printed.items() if command == "hedgerow mechanisms")
    assert "measures each column together with the next one" in " ".join(mechanisms.split())
    (resumed,) = (text for command, text in printed.items() if "--resume" in command)
    rows = re.findall(r"^ (\S+|\(.*?\)) +([\d.]+) \([\d.]+\) +([\d.]+) \(", resumed, flags=re.MULTILINE)
    errors = {name: (float(small), float(large)) for name, small, large in rows}
    assert errors["mwem"][1] < errors["chain"][1] < errors["(independent attributes)"][1]
    assert errors["chain"][1] > 0.5 * errors["chain"][0]
    assert "averages agree with the pinned table" in "".join(printed.values())
    assert list((tmp_path / "figures").glob("*.svg"))


@contextmanager
def demo() -> Iterator[dict[str, str]]:
    """The demo of the server; address and token of its analyst as variables."""
    command = [sys.executable, "-c", "from hedgerow.cli import main; main()", *START.split()[1:], "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        told = ""
        while told.count("hgr_") < 2:
            line = server.stdout.readline()
            assert line, told
            told += line
        (address,) = re.findall(r"http://[\d.:]+", told)
        yield {"HEDGEROW_URL": address, "HEDGEROW_TOKEN": re.findall(r"hgr_[\w-]+", told)[1]}
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
        server.stdout.close()


@pytest.mark.slow
def test_every_command_of_the_analyst_is_answered_by_the_demo(tmp_path: Path) -> None:
    assert commands("analyst.md")[0] == START
    with demo() as variables:
        printed = follow(("analyst.md",), tmp_path, variables)
    asked = printed["python ask.py"]
    assert "asked again: cache charged: 0" in asked
    assert re.search(r"from: (data|hypothesis) charged: ", asked)
    assert "urn:hedgerow:problem" not in "".join(printed.values())
    assert len((tmp_path / "records.csv").read_text(encoding="utf-8").splitlines()) == 1001
    tables = printed["python tables.py"]
    assert len(re.findall(r"\(from [\d,-]+ to [\d,]+\)", tables)) == 4
    assert "MEDIAN(age)" in tables
    assert "corrections left:" in printed["python left.py"]
