"""Checks of what a run left in a file: the events that paid for it, counted, and where the file comes from.

A run leaves more than noisy answers: rounds, draws, tests, epochs, a record for each best response. Each such number
stands in the file, and the ledger must hold as many events of its kind. A file that leaves them out with their events
tells of a shorter run, which is what then was paid for.

A file comes from a source of noise, from versions of software, and from who signed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.audit.costs import Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, Severity, gathered
from hedgerow.audit.reading import Opened


def check_traces(content: Mapping[str, Any], entries: Sequence[Entry]) -> Finding:
    """Whether rounds, draws, tests and epochs that a file tells of were paid for.

    Args:
        content: Values of a release or a session.
        entries: The ledger's events.
    """
    if "epochs" in content:
        wrong = _of_session(content, entries)
    else:
        algorithm, parameters = content["provenance"]["algorithm"], content["provenance"]["parameters"]
        n_measured, n_chosen = len(content["measurements"]), _counted(entries, "candidate")
        match algorithm:
            case "DualQuery":
                wrong = _of_dual_query(content, parameters["chosen"], entries)
            case "MWEM":  # a file of format 2 does not say how many of its measurements were selected
                wrong = _fewer("selections", parameters.get("selected", 0), n_chosen)
            case "OfflinePMW":  # each round selects and measures; the last may find that nothing is to be updated
                rounds = parameters["updates"] + parameters["stopped"]
                wrong = _fewer("rounds", rounds, n_chosen) + _fewer("measurements", n_measured, n_chosen)
            case "OnlinePMW":
                wrong = _of_fires(n_measured, 0, parameters["rules"], entries)
            case "SmallDB":
                wrong = _fewer("choices of a database", 1, _counted(entries, "database"))
            case "FourierMeasurement" | "IndependentNoise":
                return Finding("run", Severity.HOLDS, "one round, which leaves noisy answers alone")
            case _:
                text = f"what rounds of {algorithm} leave beside noisy answers is known to its author alone"
                return Finding("run", Severity.NOTE, text)
    return gathered("run", wrong, [], "rounds, draws and tests that the file tells of are paid for, each by an event")


def _counted(entries: Sequence[Entry], kind: str) -> int:
    return sum(entry.asks(kind) for entry in entries)


def _fewer(what: str, stated: int, paid: int) -> list[str]:
    return [f"the file tells of {stated:,} {what}, and {paid:,} are paid for"] if stated > paid else []


def _of_session(content: Mapping[str, Any], entries: Sequence[Entry]) -> list[str]:
    tests, watch = [entry for entry in entries if entry.asks("tests")], content["watch"]
    wrong = _fewer("epochs", content["epochs"], len(tests))
    if content["tests"] and not tests:
        wrong.append(f"the file tells of {content['tests']:,} tests, and no sparse vector is paid for")
    if content["tests"] < content["known"]:
        wrong.append(f"{content['known']:,} answers are known, from {content['tests']:,} tests")
    noise = content["total_noise"]
    noises = [(entry.mechanism, entry.scale) for entry in entries if entry.asks("records")]
    if noise is not None and (f"discrete {noise['kind'].capitalize()}", exact(noise["scale"])) not in noises:
        wrong.append("the number of records: no event pays for its noise")
    left = 0
    if watch is not None:
        left, fires = watch["fires_left"], watch["fires"]
        running = [exact(watch[name]) for name in ("threshold_scale", "test_scale", "sensitivity")]
        if not tests or _numbers(tests[-1]) != [*running, fires, watch.get("bound") or ""]:
            wrong.append("the running sparse vector is not the newest that is paid for")
        if not 0 <= left <= fires:
            wrong.append(f"{left} of {fires} fires cannot be left")
    return wrong + _of_fires(content["measurements"], left, content["rules"], entries)


def _of_fires(answers: int, left: int, rules: Mapping[str, Any], entries: Sequence[Entry]) -> list[str]:
    """Each answer, and each interrupted look, is a test that fired; all sparse vectors are that of the rules."""
    tests = [entry for entry in entries if entry.asks("tests")]
    lost = sum(entry.asks("interrupted") and entry.question.fields["purpose"] == "question" for entry in entries)
    wrong = _fewer("fires", answers + lost + left, sum(entry.values for entry in tests))
    price = exact(rules["answer_charge"])
    wrong += [
        f"{entry.name}: costs more than an answer by the rules"
        for entry in entries
        if entry.asks("query") and entry.label == "answer" and entry.charge > price
    ]
    *scales, fires, bound = [*rules["watch"], ""][:5]  # of a sparse vector that is charged by its epsilon none is named
    planned = [*map(exact, scales), fires, bound]
    return wrong + [f"{entry.name}: is not the one of the rules" for entry in tests if _numbers(entry) != planned]


def _numbers(entry: Entry) -> list[Any]:
    return [entry.threshold_scale, entry.scale, entry.sensitivity, entry.values, entry.bound]


def _of_dual_query(content: Mapping[str, Any], chosen: Mapping[str, Any], entries: Sequence[Entry]) -> list[str]:
    """The first round looks at no data; each of the others draws as many queries, and all add a record."""
    rounds, samples = chosen["rounds"], chosen["samples"]
    draws = [entry for entry in entries if entry.asks("draws")]
    wrong = _fewer("rounds with draws", rounds - 1, len(draws))
    wrong += [f"{entry.name}: the file tells of {samples:,} draws" for entry in draws if entry.values != samples]
    return wrong + _fewer("records", content["model"]["records"], rounds)


if TYPE_CHECKING:
    from hedgerow.system.signing import VerifyingKey

SECURE_SOURCE = "hedgerow.privacy.noise.OpenDPNoise"
"""The one source of noise that a private release may come from, by the name that files hold."""

KNOWN_BAD: Mapping[tuple[str, str], str] = {}
"""Reasons why a version of a library must not be trusted, by library and version; none is known."""


def check_noise(origin: Mapping[str, Any]) -> Finding:
    """Whether all noise came from the secure source.

    Args:
        origin: Values of the file: "secure", its own statement; "noise", the full name of the class of the source, if
            it is there; and "stamp", the warning that a release carries if its noise does not protect.

    Example:
        >>> print(check_noise({"secure": True, "noise": "mine.Noise"}))
        noise: fails: the file calls noise by mine.Noise secure
    """
    secure, noise, stamp = origin["secure"], origin.get("noise"), origin.get("stamp", "")
    if secure is not True and secure is not False:
        return Finding("noise", Severity.FAILS, "the file does not say whether its noise was secure")
    if not secure:
        return Finding("noise", Severity.FAILS, f"the noise was not secure ({noise or 'its source is not named'})")
    if stamp:
        return Finding("noise", Severity.FAILS, f"called secure, and stamped {stamp!r}")
    if noise != SECURE_SOURCE:
        return Finding("noise", Severity.FAILS, f"the file calls noise by {noise or 'an unnamed source'} secure")
    return Finding("noise", Severity.HOLDS, f"drawn by {noise}")


def check_versions(versions: Mapping[str, Any]) -> Finding:
    """Whether the file names the versions that made it, and none of them is known to be bad.

    Example:
        >>> print(check_versions({"hedgerow": "0.1.0"}))
        versions: unknown: 3 entries cannot be verified
    """
    missing = [f"{name}: no version" for name in ("hedgerow", "python", "numpy", "opendp") if name not in versions]
    bad = [f"{name} {v}: {KNOWN_BAD[name, v]}" for name, v in versions.items() if (name, v) in KNOWN_BAD]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return gathered("versions", bad, missing, f"{listed}; none is known to be bad")


def check_signature(opened: Opened, key: VerifyingKey | None) -> Finding:
    """Whether the file was signed with a key.

    Args:
        opened: The file.
        key: The public key that it should be signed with; None if none is known.
    """
    if opened.signature is None:
        severity = Severity.NOTE if key is None else Severity.FAILS
        return Finding("signature", severity, "not signed")
    if key is None:
        return Finding("signature", Severity.NOTE, "signed; give the public key to verify it")
    if not key.verifies(opened.signature, opened.signed):
        return Finding("signature", Severity.FAILS, f"WRONG: not by {key.fingerprint}, or the file was changed")
    return Finding("signature", Severity.HOLDS, f"signed by {key.fingerprint}")
