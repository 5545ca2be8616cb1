"""The tutorials: their commands run, one after the other, on what they say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("first-release.md", "received-release.md")
PUBLISHED = {"synthetic.csv", "people.release", "report.html", "custodian.pub"}


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    lines = "".join(blocks(page, "console")).replace("\\\n", "").splitlines()
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


@pytest.mark.slow
def test_every_command_of_the_tutorials_does_what_it_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (domain,) = blocks(PAGES[0], "yaml")
    (tmp_path / "people.domain.yaml").write_text(domain, encoding="utf-8")
    program = f"hedgerow() {{ '{sys.executable}' -c 'from hedgerow.cli import main; main()' \"$@\"; }}\n"
    printed: dict[str, str] = {}
    for command in (each for page in PAGES for each in commands(page)):
        script = f"set -eu\n{program}{command}"
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        printed[command] = done.stdout
    assert {path.name for path in tmp_path.iterdir()} >= PUBLISHED
    (register,) = (text for command, text in printed.items() if command.startswith("hedgerow register"))
    assert "people.release" in register
    assert any("estimated" in text for command, text in printed.items() if "--simulate" in command)
    young = (tmp_path / "young.csv").read_text(encoding="utf-8").splitlines()
    assert len(young) == 1001
    assert all(int(row.split(",")[0]) < 30 and row.endswith(">50K") for row in young[1:])


def test_what_is_published_is_what_the_commands_write() -> None:
    written = set(re.findall(r"(?:-o|--release|--report) (\S+)", "\n".join(commands(PAGES[0])))) | {"custodian.pub"}
    assert written - {"people.yaml"} == PUBLISHED
    (row,) = re.findall(r"^\| (`synthetic.csv`.*?) \|", (ROOT / "docs" / PAGES[0]).read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"`(.*?)`", row)) == PUBLISHED
