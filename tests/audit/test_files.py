"""Whole files: what Hedgerow writes holds, and whatever an adversary changes is found."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hedgerow
from hedgerow import MWEM
from hedgerow.audit import Audit, Finding, Severity, audit_files
from hedgerow.data import scan_table
from hedgerow.errors import AuditError, DamagedReleaseError
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import Blocks, Workload
from hedgerow.release import Release, write_container
from hedgerow.system import SigningKey
from tests.audit.changed import chained, rewritten
from tests.audit.made import ALGORITHMS, BINARY, BUDGETS, MIXED, WORKLOADS, run, sampled, saved, table_of


def audited(path: Path, **options: Any) -> Audit:
    (found,) = audit_files([path], **options).files
    return found


def bad(audit: Audit, severity: Severity = Severity.FAILS) -> set[str]:
    return {finding.check for finding in audit.findings if finding.severity is severity}


def finding_of(audit: Audit, check: str) -> Finding:
    (found,) = (finding for finding in audit.findings if finding.check == check)
    return found


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_release_of_every_algorithm_holds(name: str, budget: Budget, tmp_path: Path) -> None:
    """Over marginals of attributes of all kinds, or the kinds of queries that it takes."""
    marginals, mixed = WORKLOADS
    asked = [(marginals, BINARY)] if name == "fourier" else [(marginals, MIXED)]
    asked += [] if name in ("fourier", "pmw") else [(mixed, BINARY)]
    for workload, domain in asked:
        release = run(ALGORITHMS[name](), budget, workload, domain)
        audit = audited(saved(release, tmp_path), delta=1e-6)
        assert audit.verdict is Severity.HOLDS, audit
        assert audit.facts["guarantee"] == release.guarantee()


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_release_of_blocks_holds(relation: str, tmp_path: Path) -> None:
    domain = hedgerow.Domain([hedgerow.IntegerRange("age", 0, 99)])
    release = run(MWEM(), PureDP(0.1, relation), "prefixes:age", domain)
    assert any(isinstance(each.target, Blocks) for each in release.measurements)
    assert audited(saved(release, tmp_path)).verdict is Severity.HOLDS


def test_a_release_of_a_sample_holds(tmp_path: Path) -> None:
    release = sampled()
    audit = audited(saved(release, tmp_path))
    assert audit.verdict is Severity.HOLDS
    assert audit.facts["guarantee"] == release.guarantee()


def test_a_release_of_filtered_records_holds_and_the_number_of_records_is_paid_for(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("a,b\n" + "0,1\n1,1\n1,0\n" * 50)
    domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in "ab")
    table = scan_table(people, domain, where="a = 1")
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 2), PureDP(1.0, "replace"))
    path = saved(release, tmp_path)
    assert audited(path).verdict is Severity.HOLDS
    assert audited(path).facts["neighbours"] == "replace-then-filter"

    def unpaid(content: dict[str, Any]) -> None:
        public = {"mechanism": "public", "sensitivity": 0.0, "scale": 0.0, "charge": 0.0}
        content["ledger"]["events"][0].update(public)

    assert bad(audited(rewritten(path, unpaid))) == {"public numbers", "number of records"}


@pytest.fixture(params=["pure", "approximate"])
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A private one with selections, measurements and an error estimate, each with some of the budget."""
    return saved(run(MWEM(rounds=2), BUDGETS[request.param], domain=MIXED), tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    online = hedgerow.OnlinePMW(updates=3, threshold=0.05)
    going = online.start(table_of(BINARY), PureDP(20.0))
    for question in ("a = 1", "a = 1 and b = 0", "c = 0", "a = 0"):
        going.ask(question)
    going.save(tmp_path / "people.session")
    return tmp_path / "people.session"


def test_a_session_holds_and_so_does_its_release(session: Path, tmp_path: Path) -> None:
    audit = audited(session)
    assert audit.verdict is Severity.HOLDS, audit
    assert audit.kind == "session"
    going = hedgerow.OnlineSession.restore(session, table_of(BINARY))
    assert audited(saved(going.release(), tmp_path)).verdict is Severity.HOLDS


@pytest.mark.parametrize("budget", [PureDP(20.0), ApproxDP(20.0, 1e-6)], ids=["pure", "approximate"])
def test_a_session_that_starts_from_a_release_holds(budget: Budget, tmp_path: Path) -> None:
    """Events of the earlier release pay for nothing in the file, and are computed anew all the same."""
    earlier = run(MWEM(rounds=2), PureDP(1.0))
    going = hedgerow.OnlinePMW(updates=3, threshold=0.05).start(table_of(BINARY), budget, warm=earlier)
    going.ask("a = 1 and b = 0")
    path = saved(going.release(), tmp_path)
    assert audited(path).verdict is Severity.HOLDS

    def cheaper(content: dict[str, Any]) -> None:
        events_of(content)[0]["charge"] *= 0.5

    assert first_event(path)["earlier"]
    assert "charges" in bad(audited(rewritten(path, cheaper)))


def first_event(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return events_of(json.loads(archive.read("release.json"))["content"])[0]


def test_a_charged_session_shows_no_secret(session: Path) -> None:
    assert "watch" not in json.dumps(audited(session).facts)


def events_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = content["ledger"]["events"]
    return found


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("share", [1e-9, 0.5, 1.0 - 1e-12])
def test_every_charge_that_is_made_smaller_is_found(release: Path, share: float) -> None:
    with zipfile.ZipFile(release) as archive:
        count = len(json.loads(archive.read("release.json"))["content"]["ledger"]["events"])
    assert count > 5
    for number in range(count):

        def scaled(content: dict[str, Any], number: int = number) -> None:
            events_of(content)[number]["charge"] *= share

        assert bad(audited(rewritten(release, scaled))) - {"dp-accounting"} == {"charges"}


def test_all_charges_made_smaller_at_once_are_found(release: Path) -> None:
    def scaled(content: dict[str, Any]) -> None:
        for event in events_of(content):
            event["charge"] *= 1e-9

    assert bad(audited(rewritten(release, scaled))) - {"dp-accounting"} == {"charges"}


def test_a_scale_that_is_made_larger_to_fit_a_charge_is_found_at_what_was_measured(release: Path) -> None:
    def louder(content: dict[str, Any]) -> None:
        for event in events_of(content):
            if event["label"] in ("measure", "error"):
                event["scale"] *= 10.0
                event["charge"] /= 100.0 if event["unit"] == "rho" else 10.0

    assert {"measurements", "error estimate"} <= bad(audited(rewritten(release, louder)))


def test_measurements_that_are_told_to_be_more_precise_are_found(release: Path) -> None:
    def sharper(content: dict[str, Any]) -> None:
        content["measurements"][0]["scale"] /= 2.0

    assert bad(audited(rewritten(release, sharper))) == {"measurements"}


def test_a_smaller_sensitivity_is_found(release: Path) -> None:
    def smaller(content: dict[str, Any]) -> None:
        for event in events_of(content):
            event["sensitivity"] /= 4.0

    found = audited(rewritten(release, smaller))
    assert {"sensitivities", "error estimate"} <= bad(found)
    assert len(finding_of(found, "sensitivities").details) == found.facts["events"]


def test_a_selection_that_asks_something_else_is_found(release: Path) -> None:
    """Its scores would have no sensitivity that anything bounds."""
    for question in ({"kind": "weather"}, {"kind": "query", "form": "query", "scope": [], "words": "the weather"}):

        def renamed(content: dict[str, Any], question: dict[str, Any] = question) -> None:
            for event in events_of(content):
                if event["label"] == "select":
                    event["question"] = question
                    for number in ("sensitivity", "charge"):
                        event[number] /= 4.0

        assert "ledger" in bad(audited(rewritten(release, renamed)))


@pytest.mark.parametrize("label", ["total", "measure", "error"])
def test_an_event_that_is_left_out_is_found(release: Path, label: str) -> None:
    def removed(content: dict[str, Any]) -> None:
        events = events_of(content)
        events.remove(next(event for event in events if event["label"] == label))

    check = {"total": "number of records", "measure": "measurements", "error": "error estimate"}[label]
    assert bad(audited(rewritten(release, removed))) == {check}
    assert bad(audited(rewritten(release, removed, chain=False))) == {check, "hash chain"}


def test_a_selection_that_is_left_out_or_moved_breaks_the_chain(release: Path) -> None:
    def moved(content: dict[str, Any]) -> None:
        events_of(content).insert(0, events_of(content).pop())

    def removed(content: dict[str, Any]) -> None:
        events = events_of(content)
        events.remove(next(event for event in events if event["label"] == "select"))

    for change, found in ((moved, {"hash chain"}), (removed, {"hash chain", "run"})):
        assert bad(audited(rewritten(release, change, chain=False))) == found
    assert bad(audited(rewritten(release, removed))) == {"run"}


def test_a_ledger_without_head_is_found(release: Path) -> None:
    def headless(content: dict[str, Any]) -> None:
        del content["ledger"]["head"]

    assert bad(audited(rewritten(release, headless, chain=False))) == {"hash chain"}


def test_a_raised_limit_is_found(release: Path) -> None:
    def raised(content: dict[str, Any]) -> None:
        content["ledger"]["limit"] *= 1.0 + 1e-9

    assert "limit" in bad(audited(rewritten(release, raised)))


def test_charges_beyond_the_limit_are_found(release: Path) -> None:
    def twice(content: dict[str, Any]) -> None:
        content["ledger"]["events"] *= 2

    assert bad(audited(rewritten(release, twice))) == {"sum"}


def test_a_changed_sentence_is_found(release: Path) -> None:
    def smoother(content: dict[str, Any]) -> None:
        content["guarantee"] = content["guarantee"].replace("2.719", "1.719")

    assert bad(audited(rewritten(release, smoother))) == {"sentence"}


@pytest.mark.parametrize(
    ("budget", "now", "before"), [(PureDP(1.0), "2.719", "2.718"), (ZCDP(0.10000004), "0.100001", "0.1")]
)
def test_a_sentence_that_an_earlier_version_rounded_to_the_nearest_is_noted(
    budget: Budget, now: str, before: str, tmp_path: Path
) -> None:
    def earlier(content: dict[str, Any]) -> None:
        assert now in content["guarantee"]
        content["guarantee"] = content["guarantee"].replace(now, before)

    made = run(MWEM(rounds=1), budget)
    path = rewritten(saved(made, tmp_path), earlier)
    audit = audited(path)
    assert audit.verdict is Severity.HOLDS
    (found,) = (each for each in audit.findings if each.check == "sentence")
    assert found.severity is Severity.NOTE
    assert found.details == (f"what is promised is: {made.guarantee()}",)
    assert Release.load(path).guarantee() == made.guarantee() == audit.facts["guarantee"]


@pytest.mark.parametrize("told", ["2.717", "2.72", "2.7182", "3"])
def test_no_other_rounding_is_taken_for_that_of_an_earlier_version(release: Path, told: str) -> None:
    def rounded(content: dict[str, Any]) -> None:
        content["guarantee"] = content["guarantee"].replace("2.719", told)

    assert bad(audited(rewritten(release, rounded))) == {"sentence"}


@pytest.mark.parametrize("mark", ["draft", "trusted_types"])
def test_a_domain_that_is_not_wholly_public_is_in_the_sentence(mark: str, tmp_path: Path) -> None:
    """A file that hides the mark, or the words, contradicts itself; one that hides both is another file."""
    domain = hedgerow.Domain(MIXED.attributes, **{mark: True})
    made = run(MWEM(rounds=2), PureDP(1.0), "marginals:1", domain)
    told = made.guarantee()
    path = saved(made, tmp_path)
    assert audited(path).verdict is Severity.HOLDS
    assert audited(path).facts["guarantee"] == told
    assert told.endswith("this guarantee.")

    def unmarked(content: dict[str, Any]) -> None:
        del content["domain"][mark]

    def untold(content: dict[str, Any]) -> None:
        content["guarantee"] = PureDP(1.0).statement()

    for change in (unmarked, untold):
        assert bad(audited(rewritten(path, change))) == {"sentence"}


def test_a_changed_budget_contradicts_the_limit_and_the_sentence(release: Path) -> None:
    def promised(content: dict[str, Any]) -> None:
        content["budget"]["epsilon"] = 0.5

    assert {"limit", "sentence"} <= bad(audited(rewritten(release, promised)))


def test_another_relation_is_found(release: Path) -> None:
    def replaced(content: dict[str, Any]) -> None:
        content["budget"]["neighbours"] = "replace"

    assert {"ledger", "sentence"} <= bad(audited(rewritten(release, replaced)))


def test_an_event_between_other_tables_is_found_and_not_loaded(release: Path) -> None:
    def replaced(content: dict[str, Any]) -> None:
        next(each for each in content["ledger"]["events"] if each["label"] == "select")["neighbours"] = "replace"

    changed = rewritten(release, replaced)
    assert "ledger" in bad(audited(changed))
    with pytest.raises(DamagedReleaseError, match="neighbours by 'replace', not by 'add-remove'"):
        Release.load(changed)


@pytest.fixture
def seeded(tmp_path: Path) -> Path:
    workload = Workload.marginals(BINARY, 2)
    return saved(MWEM(rounds=2).run(table_of(BINARY), workload, PureDP(1.0), noise=SeededNoise(1)), tmp_path)


def test_a_seeded_release_fails_because_it_is_not_private(seeded: Path) -> None:
    assert bad(audited(seeded)) == {"noise"}


def test_the_flag_of_secure_noise_alone_does_not_make_it_so(seeded: Path) -> None:
    def flipped(content: dict[str, Any]) -> None:
        content["provenance"] |= {"secure": True, "stamp": ""}

    assert bad(audited(rewritten(seeded, flipped))) == {"noise", "sentence"}


def test_a_source_of_ones_own_is_not_secure(release: Path) -> None:
    def mine(content: dict[str, Any]) -> None:
        content["provenance"]["noise"] = "mine.Noise"

    def unnamed(content: dict[str, Any]) -> None:
        del content["provenance"]["noise"]

    for change in (mine, unnamed):
        assert bad(audited(rewritten(release, change))) == {"noise"}


@pytest.mark.parametrize("name", ["model", "measured_values"])
def test_a_changed_array_is_found(release: Path, name: str) -> None:
    """Everything but the JSON is under its checksums too."""
    with zipfile.ZipFile(release) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
        comment = archive.comment
    chosen = next(each for each in parts if each.endswith(".npy") and (name in each or name == "model"))
    parts[chosen] = parts[chosen][:-1] + bytes([parts[chosen][-1] ^ 1])
    with zipfile.ZipFile(release, "w") as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
        archive.comment = comment
    assert bad(audited(release)) == {"file"}


def test_a_changed_text_and_a_part_too_many_or_too_few_are_found(release: Path) -> None:
    with zipfile.ZipFile(release, "a") as archive:
        archive.writestr("more.npy", b"")
    assert finding_of(audited(release), "file").details == ("more.npy does not match its size or checksum",)
    with zipfile.ZipFile(release, "w") as archive:
        head = {"format": "hedgerow-release", "version": 2, "arrays": {"a": {"bytes": 1, "sha256": ""}}, "content": {}}
        archive.writestr("release.json", json.dumps(head))
        archive.comment = b"hedgerow release sha256=" + b"0" * 64
    assert finding_of(audited(release), "file").details == (
        "a.npy is missing",
        "release.json does not match its checksum",
    )


SHAPES: list[Callable[[dict[str, Any]], object]] = [
    lambda content: content.pop("ledger"),
    lambda content: content.update(ledger=[]),
    lambda content: content["ledger"].update(events=None),
    lambda content: content["ledger"].update(limit="much"),
    lambda content: content["ledger"].update(limit=-1.0),
    lambda content: content["ledger"].pop("unit"),
    lambda content: content.update(budget=None),
    lambda content: content.update(budget=[]),
    lambda content: content["budget"].update(kind="free"),
    lambda content: content["budget"].update(epsilon=0.0),
    lambda content: content["budget"].pop("neighbours"),
    lambda content: content.update(measurements=3),
    lambda content: content["measurements"][0].pop("noise"),
    lambda content: content["measurements"][0]["target"].update(kind="rumour"),
    lambda content: content["measurements"][0]["target"].update(scope=["nobody"]),
    lambda content: content.update(error={}),
    lambda content: content.update(error={"mean_noise": {}, "maximum_noise": {}}),
    lambda content: content.update(provenance={}),
    lambda content: content["provenance"].update(versions={}),
    lambda content: content["provenance"].update(secure="yes"),
    lambda content: content.update(workload={"families": [{}]}),
    lambda content: content.update(domain={}),
    lambda content: content["ledger"]["events"][0].pop("charge"),
    lambda content: content["ledger"]["events"][0].update(charge=None),
    lambda content: content["ledger"]["events"][0].update(unit="tau"),
    lambda content: content["ledger"]["events"].append(3),
    lambda content: content.clear(),
]


@pytest.mark.many(quick=10)
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_content_of_another_shape_is_a_finding_and_no_crash(release: Path, number: int) -> None:
    path = rewritten(release, SHAPES[number], chain=False)
    found = audited(path)
    assert found.verdict in (Severity.FAILS, Severity.UNKNOWN)
    json.dumps(found.to_dict())


def test_what_is_none_of_ours_is_refused(tmp_path: Path, release: Path) -> None:
    file = tmp_path / "other"
    texts = [
        b"",
        b"sex,age\nF,3\n",
        b"[]",
        b"{}",
        b'{"events": 1}',
        b'{"events": [], "limit": NaN}',
        b'{"events": [], "events": []}',
        b'{"events": [], "limit": 1.0, "unit": "rho", "next": null}',
        b'{"events": [' + b"[" * 100_000,
        b"\xff\xfe",
        release.read_bytes()[:-300],
    ]
    for text in texts:
        file.write_bytes(text)
        with pytest.raises(AuditError):
            audit_files([file])
    with pytest.raises(AuditError, match="cannot be read"):
        audit_files([tmp_path / "none"])
    write_container(file, {}, {}, kind="rumour")
    with pytest.raises(AuditError):
        audit_files([file])


def test_a_newer_format_is_refused(release: Path) -> None:
    with pytest.raises(AuditError, match="format 4 is unknown"):
        audit_files([rewritten(release, lambda content: None, version=4)])


def test_a_name_that_stands_twice_is_refused(release: Path) -> None:
    """Two readers could see two charges."""
    with zipfile.ZipFile(release) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    parts["release.json"] = parts["release.json"].replace(b'"charge"', b'"charge": 9.0, "charge"', 1)
    with zipfile.ZipFile(release, "w") as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
        digest = hashlib.sha256(parts["release.json"]).hexdigest()
        archive.comment = b"hedgerow release sha256=" + digest.encode()
    with pytest.raises(AuditError, match="occurs twice"):
        audit_files([release])


# A server's ledger


def exported(path: Path) -> dict[str, Any]:
    """As a server gives it, from the ledger of a release."""
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("release.json"))["content"]
    statement = Release.load(path).budget.statement()
    return {"name": "people", "budget": content["budget"], "statement": statement, **content["ledger"]}


def test_a_servers_ledger_holds_and_its_changes_are_found(release: Path, tmp_path: Path) -> None:
    ledger, file = exported(release), tmp_path / "ledger.json"

    def audit() -> Audit:
        file.write_text(json.dumps(ledger))
        return audited(file)

    assert audit().verdict is Severity.HOLDS
    assert audit().kind == "ledger"
    ledger["spent"] = 0.001
    assert bad(audit()) == {"sum"}
    ledger["spent"] = sum(event["charge"] for event in ledger["events"])
    assert audit().verdict is Severity.HOLDS
    del ledger["budget"]
    assert bad(audit(), Severity.UNKNOWN) == {"limit", "sentence"}
    ledger["events"][0]["charge"] *= 0.5
    assert {"charges", "hash chain"} <= bad(audit())
    chained(ledger)
    assert "hash chain" not in bad(audit())


# Several files


def test_releases_add_up_by_relation_and_copies_count_once(tmp_path: Path) -> None:
    def made(name: str, budget: Budget) -> Path:
        path = saved(run(MWEM(rounds=1), budget), tmp_path)
        return path.rename(tmp_path / name)

    one, two = made("one", PureDP(1.0)), made("two", PureDP(0.5))
    three, other = made("three", ApproxDP(1.0, 1e-6, regime="gdp")), made("other", PureDP(1.0, "replace"))
    (total,) = audit_files([one, two, one], delta=1e-6).totals
    assert (total.relation, total.epsilon, total.files) == ("add-remove", 1.5, (str(one), str(two)))
    assert total.converted == 1.5  # zCDP gives no less at so few epsilons
    assert total.remarks == ("some of the files are copies of others, and count once",)
    sums = audit_files([one, three, other], delta=1e-6).totals
    assert [each.relation for each in sums] == ["add-remove", "replace"]
    assert sums[0].epsilon is None
    assert sums[0].converted is not None
    assert 2.0 * (1.0 - 1e-9) < sums[0].converted < 2.0  # one pure epsilon and that of the other at its own delta
    assert all("do not add up" in each.remarks[0] for each in sums)


def test_domains_that_differ_are_told(tmp_path: Path) -> None:
    one = saved(run(MWEM(rounds=1), PureDP(1.0)), tmp_path).rename(tmp_path / "one")
    two = saved(run(MWEM(rounds=1), PureDP(1.0), domain=MIXED), tmp_path)
    (total,) = audit_files([one, two]).totals
    assert total.epsilon == 2
    assert "domains differ" in total.remarks[0]


def test_a_delta_out_of_its_range_is_refused(release: Path) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        audit_files([release], delta=1.0)


# Signatures


def test_a_signature_is_verified_and_a_change_of_the_file_breaks_it(tmp_path: Path) -> None:
    key, other = SigningKey.make(tmp_path / "key"), SigningKey.make(tmp_path / "other")
    made = run(MWEM(rounds=1), PureDP(1.0))
    path = saved(made, tmp_path, sign=key)
    assert Release.load(path).guarantee() == made.guarantee()
    assert finding_of(audited(path), "signature").severity is Severity.NOTE
    assert finding_of(audited(path, key=key.public), "signature").text == f"signed by {key.public.fingerprint}"
    assert audited(path, key=key.public).verdict is Severity.HOLDS
    assert finding_of(audited(path, key=other.public), "signature").text.startswith("WRONG")

    def smoother(content: dict[str, Any]) -> None:
        content["total"] += 1.0

    with zipfile.ZipFile(path) as archive:
        signature = archive.comment.split()[-1]
    changed = rewritten(path, smoother)
    assert finding_of(audited(changed, key=key.public), "signature").text == "not signed"
    assert bad(audited(changed, key=key.public)) == {"signature"}
    with zipfile.ZipFile(changed, "a") as archive:
        archive.comment += b" " + signature
    assert finding_of(audited(changed, key=key.public), "signature").text.startswith("WRONG")


def test_what_stands_behind_the_checksum_is_a_signature_or_damage(tmp_path: Path) -> None:
    path = saved(run(MWEM(rounds=1), PureDP(1.0)), tmp_path, sign=SigningKey.make(tmp_path / "key"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = archive.comment[:-1]
    with pytest.raises(DamagedReleaseError):
        Release.load(path)
    assert bad(audited(path)) == {"file"}
