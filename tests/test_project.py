"""The project's own files: pins, version, public names."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ["requirements.lock", "requirements-dev.lock"]


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_a_hash_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"https?://|index-url|find-links", text)
    pins = re.findall(r"^[a-z0-9].*?(?=^[a-z0-9]|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert len(pins) > 20
    for pin in pins:
        assert "==" in pin, pin
        assert "--hash=sha256:" in pin, pin


def test_the_tools_lock_agrees_with_the_users_lock() -> None:
    def pins(name: str) -> set[str]:
        """Names and versions; a package may be needed on more systems by the tools."""
        return set(re.findall(r"^[a-z0-9][^=\\\n]*==[^\\\n; ]*", (ROOT / name).read_text(), flags=re.MULTILINE))

    assert pins("requirements.lock") <= pins("requirements-dev.lock")


def test_public_names_are_pinned() -> None:
    assert set(hedgerow.__all__) == {
        "MWEM",
        "Linked",
        "LinkedRelease",
        "read_linked",
        "release_linked",
        "ApproxDP",
        "GDP",
        "Binned",
        "Categorical",
        "Children",
        "Comparison",
        "Constraint",
        "Curator",
        "Derived",
        "Domain",
        "DualQuery",
        "Evaluation",
        "FourierMeasurement",
        "GameSolution",
        "Histogram",
        "IndependentNoise",
        "IntegerRange",
        "MultiplicativeWeights",
        "Neighbours",
        "OfflinePMW",
        "OnlinePMW",
        "OnlineSession",
        "Prior",
        "Proximal",
        "PublicData",
        "PureDP",
        "Records",
        "Register",
        "Release",
        "ScannedTable",
        "SimulatedErrors",
        "simulate_errors",
        "replicate",
        "regress",
        "test",
        "SeededNoise",
        "SessionFile",
        "SmallDB",
        "Synthesis",
        "Synthesizer",
        "Subsampled",
        "Sweeps",
        "Table",
        "Workload",
        "ZCDP",
        "__version__",
        "compare",
        "connect",
        "determines",
        "domain_from",
        "draft_domain",
        "errors",
        "evaluate",
        "feasible_records",
        "if_then",
        "impossible",
        "parse_predicate",
        "read_domain",
        "read_public",
        "read_table",
        "scan_table",
        "solve_game",
        "svd_bound",
        "synthesize",
        "write_domain",
    }
    for name in hedgerow.__all__:
        assert getattr(hedgerow, name) is not None


@pytest.mark.parametrize("name", sorted(set(hedgerow.__all__) - {"__version__", "errors"}))
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(getattr(hedgerow, name)) or "")


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        hedgerow.no_such_name  # noqa: B018 - the access is the test


def test_importing_is_light() -> None:
    heavy = {"numba", "opendp", "matplotlib", "pyarrow", "scipy", "sqlglot", "pandas", "polars"}
    code = f"import sys, hedgerow; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


MADE_WITH_THE_SITE = {
    *(place for place, _ in runpy.run_path(str(ROOT / "docs" / "site_reference.py"))["pages"]()),
    "move-epsilon.html",
    "schemas/release.schema.json",
    *(f"notebooks/{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")),
}


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = [(page, target) for page in pages for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    assert len(links) > 8
    assert [
        (page.name, target)
        for page, target in links
        if not (page.parent / target).exists()
        and os.path.relpath(page.parent / target, ROOT / "docs") not in MADE_WITH_THE_SITE
    ] == []
