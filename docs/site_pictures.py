"""Take the pictures of README.md and the site again: ``python docs/site_pictures.py [NAME...]``.

A report of the demo's release, the server's page, and for each worked case its pages, the evaluator's among them, by
the Chromium of the machine (playwright drives it and downloads none). The noise is drawn afresh, so figures in the
pictures differ from time to time. Names of pictures take these alone: ``... acs hospital``.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = Path("/usr/bin/chromium")
SIZE = {"width": 1080, "height": 1240}
COLOURS = 64
"""Colours of a picture: enough for text and flat areas, in a fifth of the bytes."""
HEDGEROW = (sys.executable, "-c", "from hedgerow.cli import main; main()")
CASES = {"acs": "persons", "hospital": "records"}
"""Worked cases, and the names of their pages without ``.html`` and ``-judged.html``."""
CONSOLE = re.compile(r"^```console\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PRELUDE = f"""\
set -eu
python() {{ '{sys.executable}' "$@"; }}
hedgerow() {{ python -c 'from hedgerow.cli import main; main()' "$@"; }}
"""
QUESTIONS = {
    "SELECT COUNT(*) FROM adult WHERE sex = 'Female' AND income = '>50K'": "95%",
    "SELECT sex, COUNT(*) FROM adult WHERE income = '>50K' GROUP BY sex": "COUNT(*)",
}
"""Questions to the demo, with a word of the answer that says that it is there."""


def save(page: Page, name: str) -> None:
    """Write what the page shows, with few colours."""
    from PIL import Image

    shown = Image.open(io.BytesIO(page.screenshot()))
    few = shown.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(PICTURES / f"{name}.png", optimize=True)


def opened(browser: Browser, address: str) -> Page:
    """Open an address in a page of the pictures' size."""
    page = browser.new_page(viewport={**SIZE}, color_scheme="light")
    page.goto(address)
    return page


def report(browser: Browser, folder: Path) -> None:
    """The report of ``make demo``."""
    subprocess.run([sys.executable, ROOT / "examples" / "demo.py", folder], cwd=ROOT, check=True)
    save(opened(browser, (folder / "report.html").as_uri()), "report")


def case(browser: Browser, folder: Path, name: str) -> None:
    """The pages that the commands of a worked case make: of its release, and of its evaluation."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    blocks = CONSOLE.findall((ROOT / "docs" / "cases" / f"{name}.md").read_text(encoding="utf-8"))
    commands = "".join(blocks).removeprefix("$ ").replace("\n$ ", "\n")
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    subprocess.run(["bash", "-c", PRELUDE + commands], cwd=folder, env=paths, check=True)
    for kind, ending in (("report", ""), ("judged", "-judged")):
        save(opened(browser, (folder / f"{CASES[name]}{ending}.html").as_uri()), f"{name}-{kind}")


@contextmanager
def served(*words: str, until: str) -> Iterator[tuple[str, ...]]:
    """Start ``hedgerow serve`` with some words: the groups of a pattern that it prints."""
    command = [*HEDGEROW, "serve", *words, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        for line in server.stdout or ():
            said += line
            if found := re.search(until, said):
                yield found.groups()
                break
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def signed_in(browser: Browser, address: str, token: str, tab: str) -> Page:
    """A tab of the data set, as the owner of a token sees it."""
    page = opened(browser, address)
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto(f"{address}#/d/adult/{tab}")
    page.wait_for_selector(f"main:not([aria-busy]) [aria-current][href='#/d/adult/{tab}']")
    return page


def answers(browser: Browser, _: Path) -> None:
    """The page of the server's demo, after two questions."""
    with served("--demo", until=r"(http://\S+)(?s:.*)analyst, (?s:.*)(hgr_\S+)") as (address, token):
        page = signed_in(browser, address, token, "ask")
        for question, shown in QUESTIONS.items():
            page.get_by_label("Question as SQL").fill(question)
            page.get_by_role("button", name="Ask", exact=True).click()
            page.get_by_label("Latest answer").get_by_text(shown).first.wait_for()
        page.mouse.move(0, 0)
        save(page, "page")


def weeks(browser: Browser, folder: Path) -> None:
    """The custodian's page of the budget after docs/cases/weeks.md, and the evaluator's page."""
    place = folder / "weeks"
    subprocess.run([sys.executable, ROOT / "examples" / "weeks.py", place.name], cwd=folder, check=True)
    store = ("--store", str(place / "hedgerow.db"))
    made = subprocess.run(
        [*HEDGEROW, "serve", *store, "--new-token", "custodian", "--token-datasets", "all"],
        check=True,
        capture_output=True,
        text=True,
    )
    (token,) = re.findall(r"hgr_[\w-]+", made.stdout)
    words = (*store, "--data", str(place / "tables"), "--register", str(place / "adult.register"))
    with served(*words, "--limit", "1", "--limit-delta", "1e-9", until=r"(http://\S+)") as (address,):
        page = signed_in(browser, address, token, "budget")
        page.set_viewport_size({"width": SIZE["width"], "height": 1360})  # down to the end of the drawing
        page.mouse.move(0, 0)
        save(page, "weeks-budget")
    save(opened(browser, (place / "evaluation.html").as_uri()), "weeks-evaluation")


PARTS: dict[str, Callable[[Browser, Path], None]] = {
    "report": report,
    "page": answers,
    **{name: partial(case, name=name) for name in CASES},
    "weeks": weeks,
}
"""Functions that take pictures, by the names of the command line."""


def main(*wanted: str) -> None:
    """Take the pictures.

    Args:
        wanted: Names of pictures; all if there are none.
    """
    from playwright.sync_api import sync_playwright

    names = wanted or PARTS
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names:
            place = Path(folder, name)
            place.mkdir()
            PARTS[name](browser, place)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
