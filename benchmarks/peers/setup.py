"""Make the peers' environment: ``python -m benchmarks.peers.setup`` (a minute, about 500 MB)."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = HERE / ".venv" / "bin" / "python"
HOW = "python -m benchmarks.peers.setup"


def installed() -> bool:
    """Whether the peers' environment is there and holds its main package."""
    found = PYTHON.exists() and subprocess.run([PYTHON, "-c", "import mbi"], capture_output=True, check=False)
    return bool(found) and found.returncode == 0


def main() -> None:
    """Make a virtual environment and install the pinned packages into it."""
    venv.create(HERE / ".venv", with_pip=True, symlinks=True)
    command = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        HERE / "requirements.txt",
    ]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
