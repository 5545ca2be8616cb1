"""What one change makes of a file is found, or is on the list of what passes, with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow.audit import Severity, auditing
from hedgerow.audit.reading import Opened, read
from hedgerow.data import Table
from hedgerow.privacy import ApproxDP, PureDP
from tests.audit.forgeries import PASSES, Forgery, forgeries, with_events
from tests.audit.made import ALGORITHMS, BINARY, BUDGETS, MIXED, run, table_of

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
SHARE = 12
"""Of so many forgeries `make test` tries one; `make audit` tries all."""


def sessions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Of one sparse vector, of one for each answer, one that a release answers, a silent one; and the release of each.

    The thresholds are 20 noise scales and more away from the errors, so no run differs from another in what is found.
    """
    earlier = run(hedgerow.MWEM(rounds=2), ApproxDP(1.0, 1e-6))
    approximate = ApproxDP(20.0, 1e-6)
    for name, threshold, budget, warm in (
        ("pure", 0.2, PureDP(20.0), None),
        ("fresh", 0.2, approximate, None),
        ("warm", 0.2, approximate, earlier),
        ("silent", 0.45, PureDP(20.0), None),
    ):
        table = table_of(BINARY) if name == "silent" else Table(BINARY, [np.ones(300, int)] * 3)
        going = hedgerow.OnlinePMW(updates=3, threshold=threshold).start(table, budget, warm=warm)
        for question in ("a = 1", "a = 1 and b = 0", "c = 0", "a = 0"):
            going.ask(question)
        assert (going.updates_made == 0) == (name == "silent")
        going.save(folder / f"{name}.session")
        yield f"{name} session", folder / f"{name}.session"
        going.release().save(folder / f"{name}.release")
        yield f"release of the {name} session", folder / f"{name}.release"


def learnt() -> hedgerow.Release:
    drawing = np.random.default_rng(0)
    jobs = drawing.choice(["nurse", "clerk", "smith"], 3000)
    table = pa.table({"age": drawing.integers(0, 90, 3000), "job": jobs})
    age = {"min": 0, "max": 99, "whole": True, "missing": True, "bins": {"learn": 6}}
    open_ = {"attributes": {"age": age, "job": {"values": {"learn": 10}}}}
    return hedgerow.synthesize(table, epsilon=3.0, delta=1e-6, domain=open_).release


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Opened]:
    """Files of every algorithm, of a learnt domain, and of sessions."""
    folder = tmp_path_factory.mktemp("honest")
    made = {name: run(make(), BUDGETS["approximate"]) for name, make in ALGORITHMS.items()}
    made |= {"mixed": run(hedgerow.MWEM(rounds=2), BUDGETS["approximate"], domain=MIXED), "learnt": learnt()}
    for name, release in made.items():
        release.save(folder / name)
    paths = {name: folder / name for name in made} | dict(sessions(folder))
    return {name: read(path) for name, path in paths.items()}


def verdict(opened: Opened, forged: Forgery) -> Severity:
    audit, _ = auditing._of_file(replace(opened, content=forged.content), None, None)
    return audit.verdict


def passing(honest: dict[str, Opened], share: int) -> set[tuple[str, str]]:
    """Names of forgeries that pass, each with the file that it was made from."""
    found = set()
    place = 0
    for name, opened in honest.items():
        others = {other: each.content for other, each in honest.items() if other != name and each.kind == opened.kind}
        for forged in forgeries(json.loads(json.dumps(opened.content)), dict(others)):  # type: ignore[arg-type]
            place += 1
            if place % share == 0 and verdict(opened, forged) is Severity.HOLDS:
                found.add((forged.name, name))
    assert place > 3000
    return found


def check(honest: dict[str, Opened], monkeypatch: pytest.MonkeyPatch, share: int) -> set[tuple[str, str]]:
    monkeypatch.setattr(auditing.ledger_checks, "second_opinion", lambda *_: None)  # slow, and no check of a file's own
    found = passing(honest, share)
    assert {f"{name}: {file}" for name, file in found if not any(each.covers(name, file) for each in PASSES)} == set()
    return found


@pytest.mark.slow
def test_some_forgeries_are_found_or_listed(honest: dict[str, Opened], monkeypatch: pytest.MonkeyPatch) -> None:
    check(honest, monkeypatch, SHARE)


@pytest.mark.audit
def test_all_forgeries_are_found_or_listed_and_the_list_has_no_more(
    honest: dict[str, Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check(honest, monkeypatch, 1)
    assert [each.what for each in PASSES if not any(each.covers(*forgery) for forgery in found)] == []


def test_the_page_says_what_passes_and_why() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [each for each in PASSES if f"| {each.what} | {each.why} |" not in text] == []


FOUND: dict[str, tuple[str, Any]] = {
    "19 draws are told, and one is paid for": ("dual query", lambda events: shrunk(events, "draws")),
    "the sparse vector of a session fires once": ("pure session", lambda events: shrunk(events, "tests")),
    "a session without its sparse vector": ("fresh session", lambda events: without(events, "tests")),
    "learnt cuts and one paid round": ("learnt", lambda events: without(events, "quantiles", keep=1)),
    "learnt labels without their threshold": ("learnt", lambda events: without(events, "labels")),
    "rounds without their selections": ("mixed", lambda events: without(events, "candidate")),
    "a choice of a database that nobody paid for": ("small-db", lambda events: without(events, "database")),
}
"""What an attacker tried, and got through the auditor of an earlier version."""


def shrunk(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Each event of a kind is about one value, and costs as much."""
    found = []
    for each in events:
        of_one = {"values": 1, "charge": each["charge"] / each["values"] * 1.01}
        found.append({**each, **of_one} if each["question"]["kind"] == kind else each)
    return found


def without(events: list[dict[str, Any]], kind: str, keep: int = 0) -> list[dict[str, Any]]:
    left, found = keep, []
    for each in events:
        if each["question"]["kind"] == kind:
            left -= 1
            if left < 0:
                continue
        found.append(each)
    return found


@pytest.mark.parametrize("name", FOUND)
def test_what_once_passed_is_found(honest: dict[str, Opened], name: str) -> None:
    file, change = FOUND[name]
    opened = honest[file]
    content = json.loads(json.dumps(opened.content))
    events = change(content["ledger"]["events"])
    assert events != content["ledger"]["events"]
    assert verdict(opened, Forgery(name, content)) is Severity.HOLDS
    assert verdict(opened, with_events(name, content, events)) is not Severity.HOLDS
