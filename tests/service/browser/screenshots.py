"""Takes the screenshots of docs/server.md: ``python -m tests.service.browser.screenshots docs/images``.

The data are public; noise is the real one, so the numbers differ from run to run.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from hedgerow.service import FILE, registration
from tests.chromium import CHROMIUM
from tests.service.browser.browsing import KEY
from tests.service.serving import Server, serving

QUESTIONS = {
    "emmy": ("age < 30", "sex = 'Female'", "sex = 'Male' and age > 50", "education = 'Doctorate'"),
    "grace": ("income = '>50K'", "age between 40 and 45", "occupation = 'Sales' and age < 30"),
}
"""What people ask before the pictures are taken."""


def prepared(server: Server) -> dict[str, str]:
    """Register the demo's table twice, the second time with two corrections; tokens of people."""
    with resources.as_file(resources.files("hedgerow.service.demo") / FILE) as file:
        shutil.copy(file, server.folder / FILE)
    told = {"source": {"place": FILE}, "domain": dict(registration().domain), "title": "Census income"}
    options = {"updates": 12, "queries": 5000}
    server.call("POST", "datasets", {"name": "adult", "budget": {"epsilon": 1.0}, "options": options, **told})
    few = {"updates": 2, "threshold": 0.02}
    server.call("POST", "datasets", {"name": "spent", "budget": {"epsilon": 1.0}, "options": few, **told})
    tokens = {person: server.token_of(person) for person in QUESTIONS}
    for person, conditions in QUESTIONS.items():
        for each in conditions:
            for name in ("adult", "spent"):
                server.call("POST", f"datasets/{name}/queries", {"queries": [{"where": each}]}, token=tokens[person])
    return {**tokens, "custodian": server.token}


def take(browser: Browser, server: Server, token: str, address: str, file: Path, *, width: int, part: str) -> None:
    """Save what an address shows, or a part of it; small windows are dark."""
    scheme = "dark" if width < 500 else "light"
    context = browser.new_context(viewport={"width": width, "height": 780 if width < 500 else 900}, color_scheme=scheme)
    page = context.new_page()
    page.add_init_script(f'sessionStorage.setItem("{KEY}", "{token}")')
    page.goto(server.url + address)
    page.wait_for_selector("main:not([aria-busy]) h1")
    page.wait_for_load_state("networkidle")
    if part:
        page.locator(part).screenshot(path=file)
    else:
        page.screenshot(path=file)
    context.close()


def main(folder: Path) -> None:
    """Take all of them."""
    with (
        tempfile.TemporaryDirectory() as place,
        serving(Path(place), seed=None) as server,
        sync_playwright() as playwright,
    ):
        tokens = prepared(server)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, person, address, width, part in (
            ("ask", "emmy", "#/d/adult/ask", 1280, ""),
            ("budget", "custodian", "#/d/adult/budget", 1280, ".section"),
            ("used-up", "grace", "#/d/spent/ask", 360, ""),
        ):
            take(browser, server, tokens[person], address, folder / f"server-{name}.png", width=width, part=part)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
