"""The main job on the shipped Adult census data: ``make demo``, or ``python examples/demo.py``.

Runs the command line as a user would, and puts everything into ``demo-output/``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "examples" / "data"
QUESTIONS = ("sex = 'Female' and income = '>50K'", "occupation = 'Sales' and race in ('Black', 'Other')")


def hedgerow(*arguments: object) -> None:
    """Run a command, shown as it would be typed; stop if it fails."""
    words = [str(argument) for argument in arguments]
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    print(f"\n$ hedgerow {shown}", flush=True)
    command = [sys.executable, "-c", "from hedgerow.cli import main; main()", *words]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)


def main(folder: Path) -> None:
    """Make the release, the records and the report, and ask two questions."""
    folder.mkdir(exist_ok=True)
    place = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    started = time.monotonic()
    hedgerow(
        *("synth", "examples/data/adult.csv", "--domain", "examples/adult.domain.yaml"),
        *("--epsilon", 1, "--delta", "1e-9", "--workload", "marginals:2"),
        *("-o", place / "synthetic.csv", "--release", place / "adult.release", "--report", place / "report.html"),
        "--force",
    )
    hedgerow("answer", place / "adult.release", *QUESTIONS)
    print(f"\nDone in {time.monotonic() - started:.0f} seconds. Look at:")
    for name, what in (("synthetic.csv", "records"), ("adult.release", "release"), ("report.html", "report")):
        print(f"  {what:8} {place / name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "demo-output")
