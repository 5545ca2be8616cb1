"""Forgeries of files: whatever one change of the content, with every checksum and price repaired, can make of a file.

An adversary who has a release may leave an event out, tell it twice, shrink it and price it anew, move it, or take it
from another file; and may change, drop or repeat any other value. `forgeries` makes all of these from honest files;
each is named by what was done to what, the same for all files. `PASSES` lists those that the auditor lets pass, each
with the reason: nothing else may.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import BudgetError
from hedgerow.privacy import cost_of, mechanism_of
from tests.audit.changed import chained

Content = dict[str, Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Pass:
    """Forgeries that are not found.

    Attributes:
        names: Pattern of their names.
        what: What is changed.
        why: The reason why it passes.
        files: Pattern of the files that it passes in.
    """

    names: str
    what: str
    why: str
    files: str = ".*"

    def covers(self, name: str, file: str) -> bool:
        return bool(re.fullmatch(self.names, name) and re.fullmatch(self.files, file))


_CHOICE = "candidate|database|draws|quantiles"
PASSES: tuple[Pass, ...] = (
    Pass(
        r"event of .*: told twice|ledger/events: the last told twice|event of .*/charge: larger|"
        r"budget/epsilon: larger|ledger/limit: smaller|event of quantiles(/|: )values larger.*|"
        r"event of quantiles/values: larger",
        "An event is listed twice, a charge is raised, a limit lowered",
        "More is charged than was drawn, or less is promised than was paid for.",
    ),
    Pass(
        r"event of .*: moved|ledger/events: the first left out",
        "Events stand in another order",
        "No cost depends on the order. Whoever noted the head of the ledger sees it.",
    ),
    Pass(
        r"event of .*/(label|question): .*",
        "Labels, conditions, and the number of candidates that a choice was from",
        "Words for people, and numbers that no cost depends on; a condition is not written again.",
    ),
    Pass(
        rf"event of ({_CHOICE})(/scale: larger|/sensitivity: smaller)|"
        rf"event of ({_CHOICE}): (scale larger|sensitivity smaller), priced anew|"
        r"event of labels(/threshold_scale: larger|: threshold_scale larger, priced anew)|"
        r"event of records(/scale: larger|: scale larger, priced anew|: of another file)",
        "A choice, a threshold or the number of records is said to have had more noise, and to have cost less",
        "A file holds what was chosen and what the number was, not how much noise they were drawn with. (A smaller "
        "sensitivity passes only as far as the weights of the workload allow it.)",
    ),
    Pass(
        r"event of an earlier .*|event of (labels|quantiles|tests)/earlier: flipped",
        "Events of an earlier release, which a session started from",
        "Nothing of that release is in the file. Audit it beside this one, and compare the events.",
    ),
    Pass(
        r"event of tests: left out",
        "The sparse vector is left out of the release of a session that was answered nothing from the data",
        "Its tests leave nothing in a release; the session file and the server's ledger hold them.",
        "release of the silent session",
    ),
    Pass(
        r"(ledger|watch): of another file",
        "A session that was answered nothing from the data gets the ledger or the sparse vector of another",
        "A ledger that pays for more, or a sparse vector with fewer fires left, covers it. Its release is alike.",
        "(release of the )?silent session",
    ),
    Pass(
        r"(epochs|known|measurements|watch/fires_left|provenance/parameters/(selected|updates|chosen/rounds)): smaller|"
        r"measurements: (the first left out|of another file)|(epochs|known): of another file|measured: .*|"
        r"tests: (larger|of another file)|"
        r"provenance/parameters/stopped: flipped",
        "Fewer rounds, answers or epochs are listed, or more tests",
        "Less is listed than was paid for, or more of what costs nothing.",
    ),
    Pass(
        r"(model|workload|domain|counted|total|measured|measurements/#/target|error/(mean|maximum|unit))(/.*)?: .*|"
        r"error: (a part left out|of another file)",
        "Noisy values, the model, the workload, the domain, codes of conditions",
        "They are what was released, and no file shows that they were drawn as it says; a signature shows who says so.",
    ),
    Pass(
        r"(provenance|config|notes|closed|sources|warning|hold|rules|watch/noise)(/.*)?: .*",
        "Settings, versions, notes, the name of the algorithm, and the secret of a session",
        "No cost follows from them. The audit notes an algorithm from outside, whose traces it does not know.",
    ),
)
"""What the auditor lets pass; docs/audit.md says it in the same words."""


@dataclass(frozen=True)
class Forgery:
    """A changed content.

    Attributes:
        name: What was done to what, without names of columns and places in lists.
        content: The content of the file.
    """

    name: str
    content: Content


def priced(event: Content) -> bool:
    """Give an event the least charge that it can have; False where its numbers are those of no mechanism."""
    if event["mechanism"] == "public":
        return True
    numbers = {name: event[name] for name in ("sensitivity", "scale", "values", "threshold_scale")}
    try:
        event["charge"] = cost_of(mechanism_of(event["mechanism"], **numbers), event["unit"])
    except (ArithmeticError, BudgetError, TypeError):
        return False
    return True


def forgeries(content: Content, others: Mapping[str, Content]) -> Iterator[Forgery]:
    """All changes of a content.

    Args:
        content: Of an honest file; it is not changed.
        others: Contents of other honest files, by name, that events and parts are taken from.
    """
    yield from _of_events(content, others)
    yield from _of_values(content)
    for other in others.values():
        for part in sorted(set(content) & set(other)):
            if content[part] != other[part]:
                yield _forged(f"{part}: of another file", content, (part,), copy.deepcopy(other[part]))


def _of_events(content: Content, others: Mapping[str, Content]) -> Iterator[Forgery]:
    events = content["ledger"]["events"]
    for place in _sample(events):
        event, kind = events[place], f"event of {kind_of(events[place])}"
        rest = [*events[:place], *events[place + 1 :]]

        def instead(how: str, forged: Content, place: int = place, kind: str = kind) -> Forgery:
            return with_events(f"{kind}: {how}", content, [*events[:place], forged, *events[place + 1 :]])

        yield with_events(f"{kind}: left out", content, rest)
        yield with_events(f"{kind}: told twice", content, [*events, event])
        yield with_events(f"{kind}: moved", content, [event, *rest] if place else [*rest, event])
        for name, way, value in (
            ("values", "smaller", 1),
            ("values", "larger", event["values"] + 1),
            ("scale", "larger", event["scale"] * 2),
            ("sensitivity", "smaller", event["sensitivity"] / 2),
            ("threshold_scale", "larger", event["threshold_scale"] * 2),
        ):
            forged = {**event, name: value}
            if forged != event and priced(forged):
                yield instead(f"{name} {way}, priced anew", forged)
        for other in others.values():
            theirs = other["ledger"]["events"]
            yield from (
                instead("of another file", theirs[at])
                for at in _sample(theirs)[:1]
                if kind_of(theirs[at]) == kind_of(event) and theirs[at] != event
            )


def _sample(events: list[Content]) -> list[int]:
    """Places of the first and the last event of each kind: the others are alike."""
    found: dict[str, list[int]] = {}
    for place, event in enumerate(events):
        found.setdefault(kind_of(event), []).append(place)
    return sorted({place for places in found.values() for place in (places[0], places[-1])})


def _of_values(content: Content) -> Iterator[Forgery]:
    for path, value in _parts(content):
        for way, other in _changes(value):
            if other != value:
                yield _forged(f"{_name(content, path)}: {way}", content, path, other)


def _parts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values, lists and mappings; of a list that is long the first and the last part alone."""
    if path and path != ("ledger", "head"):  # which is repaired
        yield path, value
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _parts(each, (*path, name))
    elif isinstance(value, list) and value:
        for place in _sample(value) if path[-1:] == ("events",) else sorted({0, len(value) - 1}):
            yield from _parts(value[place], (*path, place))


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield "flipped", not value
        case int() | float():
            yield "larger", value * 2 + 1
            yield "smaller", value / 2 if isinstance(value, float) else value // 2
        case str():
            yield "another text", f"{value}x"
        case None:
            yield "there", 1.0
        case dict() if value:
            yield "a part left out", dict(list(value.items())[1:])
        case list() if value:
            yield "the first left out", value[1:]
            yield "the last told twice", [*value, value[-1]]


def kind_of(event: Content) -> str:
    """What an event is about, and whether it is one of an earlier release."""
    return f"{'an earlier ' * event['earlier']}{event['question']['kind']}"


_TOLD = {"chosen", "rules", "selected", "updates", "stopped"}
"""Parameters of a run that say what it did, beside those that it was configured by."""
_DEPTHS = {"domain": 1, "workload": 1, "model": 1, "notes": 1, "config": 1, "total_noise": 1, "sources": 1}


def _name(content: Content, path: Path) -> str:
    """The path without places, names of columns, and names of a configuration's parameters."""
    if path[:2] == ("ledger", "events") and len(path) > 2:
        event = content["ledger"]["events"][path[2]]
        return f"event of {kind_of(event)}" + "".join(f"/{part}" for part in path[3:4])
    parts = ["#" if isinstance(part, int) else part for part in path]
    depth = _DEPTHS.get(parts[0], 3)
    if parts[0] == "provenance":
        depth = 4 if {*parts[2:3]} & _TOLD else 2
    return "/".join(parts[:depth])


def with_events(name: str, content: Content, events: list[Content]) -> Forgery:
    return _forged(name, content, ("ledger", "events"), events)


def _forged(name: str, content: Content, path: Path, value: Any) -> Forgery:
    """With one value changed, and the head of the chain repaired where there is one."""
    made: Any = copy.deepcopy(content)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    if isinstance(made.get("ledger"), dict) and isinstance(made["ledger"].get("events"), list):
        with suppress(TypeError, ValueError):  # of a ledger that is none any more
            chained(made["ledger"])
    return Forgery(name, made)
