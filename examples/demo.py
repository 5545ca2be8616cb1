"""The main job on the shipped Adult census data: ``make demo``, or ``python examples/demo.py``.

Runs the command line as a user would, and puts everything into ``demo-output/``. ``make demo DATA=FILE`` drafts a
domain for a file of one's own and makes records of it. It accepts the draft as it stands, so what it makes is for a
look.
"""

from __future__ import annotations

import argparse
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


def main(folder: Path, data: Path | None) -> None:
    """Make the release, the records and the report; of the shipped data, ask two questions."""
    folder.mkdir(exist_ok=True)
    place = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    started = time.monotonic()
    table = ("examples/data/adult.csv", "--domain", "examples/adult.domain.yaml", "--workload", "marginals:2")
    files = {"records": "synthetic.csv", "release": "adult.release", "report": "report.html"}
    if data is not None:
        names = ("domain.yaml", f"synthetic{data.suffix}", "data.release", "report.html")
        files = dict(zip(("domain", "records", "release", "report"), names, strict=True))
        hedgerow("domain", data, "-o", place / "domain.yaml", "--force")
        table = (str(data), "--domain", str(place / "domain.yaml"), "--accept-draft")
    records, release, report = (place / files[what] for what in ("records", "release", "report"))
    budget = ("--epsilon", 1, "--delta", "1e-9")
    hedgerow("synth", *table, *budget, "-o", records, "--release", release, "--report", report, "--force")
    if data is None:
        hedgerow("answer", release, *QUESTIONS)
    print(f"\nDone in {time.monotonic() - started:.0f} seconds. Look at:")
    for what, name in files.items():
        print(f"  {what:8} {place / name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The main job, on the shipped data or on a file.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "demo-output", help="folder for what is made")
    parser.add_argument("--data", type=lambda text: Path(text).resolve() if text else None, help="file of one's own")
    chosen = parser.parse_args()
    main(chosen.folder.resolve(), chosen.data)
