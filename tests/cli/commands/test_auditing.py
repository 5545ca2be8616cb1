"""``hedgerow audit``, ``hedgerow key`` and ``--sign``: exit codes, what is printed, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hedgerow.audit import Audit, Finding, Severity
from hedgerow.cli.commands import auditing
from tests.audit.changed import rewritten
from tests.cli.conftest import Place


@pytest.fixture
def release(place: Place) -> Path:
    assert place.synth("--rounds", 2, "-q").exit_code == 0
    return place / "out.release"


def test_a_release_of_synth_holds(place: Place, release: Path) -> None:
    result = place.call("audit", release)
    assert result.exit_code == 0
    assert "everything holds" in result.stdout
    assert "pure differential privacy with epsilon = 1" in result.stdout
    assert "not signed" in result.stdout


def cheaper(content: dict[str, Any]) -> None:
    for event in content["ledger"]["events"]:
        event["charge"] *= 1e-9


def test_a_tampered_release_fails_and_details_are_listed(place: Place, release: Path) -> None:
    result = place.call("audit", rewritten(release, cheaper))
    assert result.exit_code == 1
    assert "something fails" in result.stdout
    assert "charges: event 1, total of 'number of records': is charged" in result.stdout


def test_what_cannot_be_verified_has_an_exit_code_of_its_own(place: Place, release: Path) -> None:
    def unnamed(content: dict[str, Any]) -> None:
        del content["provenance"]["versions"]["opendp"]

    result = place.call("audit", rewritten(release, unnamed), "--quiet")
    assert (result.exit_code, result.stdout) == (3, "")


@pytest.mark.parametrize("arguments", [("none.release",), ("people.csv",), ("out.release", "--key", "people.csv")])
def test_what_cannot_be_read_has_an_exit_code_of_its_own(
    place: Place, release: Path, arguments: tuple[str, ...]
) -> None:
    paths = [each if each.startswith("--") else place / each for each in arguments]
    result = place.call("audit", *paths, "--json")
    assert result.exit_code == 4
    assert "remedy" in result.stderr
    assert json.loads(result.stdout)["error"]["message"]


def test_wrong_usage_is_told(place: Place, release: Path) -> None:
    assert place.call("audit", release, "--delta", 1).exit_code == 2
    assert place.call("audit").exit_code == 2


def test_json_holds_every_finding_and_the_sum(place: Place, release: Path) -> None:
    result = place.call("audit", release, rewritten(release, cheaper), "--json", "--delta", 1e-9)
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verdict"]) == (1, "fails")
    assert [each["verdict"] for each in found["files"]] == ["holds", "fails"]
    assert len(found["files"][0]["head"]) == 64
    assert {"check", "severity", "text", "details"} == set(found["files"][0]["findings"][0])
    (total,) = found["totals"]
    assert (total["epsilon"], total["neighbours"], total["converted"]) == (2.0, "add-remove", 2.0)
    assert "although the audit fails" in total["remarks"][0]


def test_the_page_opens_offline_and_tells_what_fails(place: Place, release: Path) -> None:
    page = place / "audit.html"
    assert place.call("audit", rewritten(release, cheaper), release, "--html", page).exit_code == 1
    text = page.read_text()
    assert "Something fails" in text
    assert "is charged 2e-11 epsilon and costs 0.02" in text
    assert "Together" in text
    assert "http" not in text
    assert "<script" not in text
    result = place.call("audit", release, "--html", page)
    assert (result.exit_code, "exists" in result.stderr) == (4, True)
    assert place.call("audit", release, "--html", page, "--force").exit_code == 0
    assert "Everything holds" in page.read_text()
    assert "Something fails" not in page.read_text()


def test_long_lists_of_details_are_cut_for_people(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    from hedgerow.audit import Audits
    from hedgerow.cli.console import Output

    finding = Finding("charges", Severity.FAILS, "many", tuple(f"event {i}" for i in range(20)))
    facts = {"guarantee": None, "algorithm": None, "events": 20}
    auditing._tell(Output(), Audits((Audit("a", "ledger", facts, (finding,)),), ()))
    shown = capsys.readouterr().out
    assert "event 7" in shown
    assert "event 8" not in shown
    assert "12 more" in shown


def test_keys_are_made_and_releases_signed_and_verified(place: Place) -> None:
    made = place.call("key", place / "me", "--json")
    assert made.exit_code == 0
    fingerprint = json.loads(made.stdout)["fingerprint"]
    assert place.call("key", place / "me").exit_code == 1
    assert place.synth("--rounds", 2, "-q", "--sign", place / "me").exit_code == 0
    result = place.call("audit", place / "out.release", "--key", place / "me.pub")
    assert result.exit_code == 0
    assert f"signed by {fingerprint}" in result.stdout
    place.call("key", place / "other")
    result = place.call("audit", place / "out.release", "--key", place / "other.pub")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout
    assert place.call("answer", place / "out.release", "sex = 'F'").exit_code == 0


def test_a_key_that_cannot_be_used_is_told_before_anything_is_spent(place: Place) -> None:
    place.call("key", place / "me")
    result = place.synth("--sign", place / "me.pub")
    assert result.exit_code == 1
    assert "not a private key" in result.stderr
    assert not (place / "out.release").exists()


def test_a_private_key_that_others_may_read_warns(place: Place) -> None:
    place.call("key", place / "me")
    (place / "me").chmod(0o644)
    result = place.synth("--rounds", 2, "-q", "--sign", place / "me")
    assert result.exit_code == 0
    assert "chmod 600" in result.stderr
