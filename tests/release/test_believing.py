"""Files are not believed: every charge is recomputed when a release or a session is read, those of format 2 too."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hedgerow
from hedgerow.errors import DamagedReleaseError, DamagedSessionError
from hedgerow.privacy import SECURE_SOURCE
from hedgerow.system import head_of, start_of

OLD = Path(__file__).parent / "version2"
"""Written before this format, by every kind of mechanism."""

DOMAIN = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 3)))


def table() -> hedgerow.Table:
    return hedgerow.read_table(pa.table({"a": [0, 1, 1, 1] * 500, "b": [0, 1, 2, 2] * 500}), DOMAIN)


def forged(file: Path, change: Callable[[dict[str, Any]], None], *, relinked: bool = True) -> Path:
    """A copy whose content was changed by somebody who knows the format: head and checksum are made anew."""
    target = file.with_name(f"forged-{file.name}")
    with zipfile.ZipFile(file) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
        kind = next(info.filename for info in members if info.filename.endswith(".json"))
    with zipfile.ZipFile(target, "w") as archive:
        for info, data in members.items():
            if info.filename == kind:
                head = json.loads(data)
                change(head["content"])
                ledger = head["content"]["ledger"]
                if relinked:
                    start = start_of("ledger", {"limit": ledger["limit"], "unit": ledger["unit"]})
                    ledger["head"] = head_of(start, ledger["events"])
                text = json.dumps(head, indent=1).encode()
                archive.comment = b"hedgerow release sha256=" + hashlib.sha256(text).hexdigest().encode()
                archive.writestr(info, text)
            else:
                archive.writestr(info, data)
    return target


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("believing") / "r.release"
    workload = hedgerow.Workload.parse("marginals:2; cells:1", DOMAIN)
    hedgerow.MWEM(rounds=2).run(table(), workload, hedgerow.PureDP(5.0)).save(path)
    return path


def scaled(content: dict[str, Any]) -> None:
    for event in content["ledger"]["events"]:
        event["charge"] *= 1e-9


def louder(content: dict[str, Any]) -> None:
    content["ledger"]["events"][-1]["scale"] /= 2.0


def another_kind(content: dict[str, Any]) -> None:
    content["ledger"]["events"][-1]["mechanism"] = "interrupted"


def for_nothing(content: dict[str, Any]) -> None:
    content["ledger"]["events"][0] |= {"mechanism": "public", "charge": 0.0, "scale": 0.0, "sensitivity": 0.0}


def quiet_error(content: dict[str, Any]) -> None:
    """The figures say that their noise was small, and nothing paid for that."""
    for name in ("mean_noise", "maximum_noise"):
        content["error"][name]["scale"] /= 1e3


def small_budget(content: dict[str, Any]) -> None:
    content["budget"]["epsilon"] = 0.1


def secure_all_the_same(content: dict[str, Any]) -> None:
    content["provenance"] |= {"secure": True, "noise": "my.Noise"}


@pytest.mark.parametrize(
    "change", [scaled, louder, another_kind, for_nothing, quiet_error, small_budget, secure_all_the_same]
)
def test_a_release_whose_ledger_was_forged_is_damaged(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """What was found: charges scaled by 1e-9 loaded, and a warm start then charged 5e-9 for 5.0."""
    path = forged(release, change)
    with pytest.raises(DamagedReleaseError, match="do not fit together"):
        hedgerow.Release.load(path)


def all_public(content: dict[str, Any]) -> None:
    for event in content["ledger"]["events"]:
        event |= {"mechanism": "public", "charge": 0.0, "scale": 0.0, "sensitivity": 0.0}


def quieter(content: dict[str, Any]) -> None:
    for event in content["ledger"]["events"]:
        event |= {name: event[name] * 1e9 for name in ("scale", "threshold_scale")}
        event["charge"] *= 1e-9


def less_sensitive(content: dict[str, Any]) -> None:
    for event in content["ledger"]["events"]:
        event |= {"sensitivity": event["sensitivity"] * 1e-9, "charge": event["charge"] * 1e-9}


def left_out(content: dict[str, Any]) -> None:
    content["ledger"]["events"] = []


def used_twice(content: dict[str, Any]) -> None:
    events = content["ledger"]["events"]
    del events[max(i for i, event in enumerate(events) if event["label"] == "measure")]


CONSISTENT = [all_public, quieter, less_sensitive, left_out, used_twice]


@pytest.mark.parametrize("change", CONSISTENT)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_noisy_answers_beside_a_ledger_that_does_not_pay_for_them_are_damage(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], relation: str
) -> None:
    """Each charge is that of its event, but the events are not those of the answers: a warm start charged 0 or 5e-9."""
    workload = hedgerow.Workload.parse("marginals:2; cells:1", DOMAIN)
    path = tmp_path / "r.release"
    hedgerow.MWEM(rounds=2).run(table(), workload, hedgerow.PureDP(5.0, relation)).save(path)
    hedgerow.Release.load(forged(path, lambda _: None))
    with pytest.raises(DamagedReleaseError, match=r"public|pay"):
        hedgerow.Release.load(forged(path, change))


@pytest.mark.parametrize("change", [quieter, less_sensitive, left_out])
def test_so_are_those_of_a_session(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = tmp_path / "s.session"
    session = hedgerow.OnlinePMW(updates=2, threshold=0.05).start(table(), hedgerow.PureDP(9.0))
    assert session.ask("a = 1").source == "data"  # off by half of the records: fails with probability below 1e-9
    session.save(path, secret=False)
    assert hedgerow.OnlineSession.restore(forged(path, lambda _: None), table()).spent == session.spent
    with pytest.raises(DamagedSessionError, match="does not pay"):
        hedgerow.OnlineSession.restore(forged(path, change), table())


def test_an_untouched_copy_is_whole(release: Path) -> None:
    again = hedgerow.Release.load(forged(release, lambda _: None))
    assert again.events == hedgerow.Release.load(release).events
    assert again.provenance.noise == SECURE_SOURCE


def test_events_that_were_left_out_are_missed_by_the_head(release: Path) -> None:
    def shortened(content: dict[str, Any]) -> None:
        del content["ledger"]["events"][-1]

    with pytest.raises(DamagedReleaseError, match="head"):
        hedgerow.Release.load(forged(release, shortened, relinked=False))


@pytest.mark.parametrize("change", [scaled, louder, another_kind, for_nothing])
def test_a_session_whose_ledger_was_forged_is_damaged(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = tmp_path / "s.session"
    session = hedgerow.OnlinePMW(updates=2, threshold=0.05).start(table(), hedgerow.PureDP(1.0))
    session.ask("a = 1")
    session.save(path)
    assert hedgerow.OnlineSession.restore(forged(path, lambda _: None), table()).spent == session.spent
    with pytest.raises(DamagedSessionError):
        hedgerow.OnlineSession.restore(forged(path, change), table())


def test_a_warm_start_is_charged_each_event_of_the_release(release: Path) -> None:
    earlier = hedgerow.Release.load(release)
    for budget in (hedgerow.PureDP(8.0), hedgerow.ZCDP(4.0)):
        session = hedgerow.OnlinePMW(updates=2, threshold=0.5).start(table(), budget, warm=earlier)
        events = [event for event in session.release().events if event.earlier]
        assert [event.mechanism for event in events] == [event.mechanism for event in earlier.events]
        if budget.unit == "epsilon":
            assert sum(event.charge for event in events) == pytest.approx(5.0)
        else:  # each mechanism in zCDP by its own constant: less than the sum of epsilons turned into one rho
            assert sum(event.charge for event in events) < 5.0


# ---- earlier formats --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["draws", "learnt", "rounds", "database", "parities"])
def test_releases_of_format_2_are_read_and_written_anew_with_their_events(tmp_path: Path, name: str) -> None:
    """Their events stay as they are, for the head of their chain."""
    release = hedgerow.Release.load(OLD / f"{name}.release")
    release.save(tmp_path / "again.release")
    again = hedgerow.Release.load(tmp_path / "again.release")
    assert (again.events, again.provenance) == (release.events, release.provenance)
    assert {event.format for event in again.events} == {2}


def test_a_session_of_format_2_goes_on_in_events_of_both_formats(tmp_path: Path) -> None:
    binary = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in "abc")
    big = hedgerow.read_table(pa.table({name: [0, 1, 1, 1] * 500 for name in "abc"}), binary)
    session = hedgerow.OnlineSession.restore(OLD / "started.session", big)
    before = session.spent
    assert session.ask("a = 1 and b = 1").source == "data"  # far from what it knows: fails with probability below 1e-9
    session.save(tmp_path / "again.session")
    again = hedgerow.OnlineSession.restore(tmp_path / "again.session", big)
    assert again.spent == session.spent > before
    earlier = [event for event in again.release().events if event.earlier]
    assert {event.format for event in earlier} == {2}
    assert {event.format for event in again.release().events} == {2, 3}


def other_number(content: dict[str, Any]) -> None:
    """As an attacker did: 19 draws are told, and one is paid for."""
    event = next(each for each in content["ledger"]["events"] if each["label"] == "draw")
    event |= {"target": "19 of 12 queries and their complements", "mechanism": "exponential mechanism, one draw"}
    event |= {"values": 1, "charge": event["charge"] / event["values"]}


def quieter_threshold(content: dict[str, Any]) -> None:
    event = next(each for each in content["ledger"]["events"] if each["label"] == "watch")
    event["target"] = event["target"].replace("scale 0.", "scale 1.")


def more_fires(content: dict[str, Any]) -> None:
    event = next(each for each in content["ledger"]["events"] if each["label"] == "watch")
    event["target"] = event["target"].replace("up to 3", "up to 30")


def unheard_of(content: dict[str, Any]) -> None:
    event = next(each for each in content["ledger"]["events"] if "worst of" in each["target"])
    event["target"] = "a look at the weather"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("draws.release", other_number),
        ("started.session", quieter_threshold),
        ("started.session", more_fires),
        ("rounds.release", unheard_of),
    ],
)
def test_words_of_format_2_that_tell_other_numbers_are_not_believed(
    tmp_path: Path, name: str, change: Callable[[dict[str, Any]], None]
) -> None:
    shutil.copy(OLD / name, tmp_path / name)
    binary = hedgerow.Domain(hedgerow.IntegerRange(each, 0, 1) for each in "abc")
    path = forged(tmp_path / name, change)
    read = hedgerow.Release.load
    if name.endswith("session"):
        one = hedgerow.read_table(pa.table({each: [0] for each in "abc"}), binary)
        read = partial(hedgerow.OnlineSession.restore, source=one)
    with pytest.raises((DamagedReleaseError, DamagedSessionError), match=r"numbers are others|does not answer"):
        read(path)


def test_files_of_format_1_are_refused_with_a_remedy(release: Path) -> None:
    with zipfile.ZipFile(release) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
    path = release.with_name("first.release")
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in members.items():
            text = json.dumps({**json.loads(data), "version": 1}).encode() if info.filename == "release.json" else data
            archive.writestr(info, text)
    with pytest.raises(hedgerow.errors.ReleaseVersionError, match="read no more"):
        hedgerow.Release.load(path)
