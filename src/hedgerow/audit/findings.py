"""What an audit found: one finding for each check of each file, and what follows from all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, final


class Severity(StrEnum):
    """What a check came to, the worst last.

    ``HOLDS``: it was verified. ``NOTE``: a remark that nothing rests on. ``UNKNOWN``: the file does not say enough to
    verify it. ``FAILS``: it is wrong.

    Example:
        >>> max([Severity.NOTE, Severity.FAILS, Severity.HOLDS], key=Severity.rank)
        <Severity.FAILS: 'fails'>
    """

    HOLDS = "holds"
    NOTE = "note"
    UNKNOWN = "unknown"
    FAILS = "fails"

    def rank(self) -> int:
        """Its place in the order."""
        return list(Severity).index(self)


@final
@dataclass(frozen=True)
class Finding:
    """What one check came to.

    Attributes:
        check: What was checked, in a few words.
        severity: What it came to.
        text: What was seen, in a sentence.
        details: Single entries that are wrong or unknown, if there are such.

    Example:
        >>> print(Finding("sum", Severity.HOLDS, "1 of 1 epsilon"))
        sum: holds: 1 of 1 epsilon
    """

    check: str
    severity: Severity
    text: str
    details: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "check": self.check,
            "severity": self.severity.value,
            "text": self.text,
            "details": list(self.details),
        }

    def __str__(self) -> str:
        """A line for people."""
        return f"{self.check}: {self.severity.value}: {self.text}"


def gathered(check: str, wrong: Sequence[str], unknown: Sequence[str], holds: str) -> Finding:
    """One finding from what is wrong and what is unknown about single entries; neither means that it holds.

    Args:
        check: What was checked.
        wrong: What is wrong.
        unknown: What cannot be told.
        holds: What to say where there is neither.

    Example:
        >>> print(gathered("charges", [], ["event 3: no scale"], "all are covered"))
        charges: unknown: 1 entry cannot be verified
    """
    if wrong:
        return Finding(check, Severity.FAILS, f"{_counted(len(wrong))} wrong", (*wrong, *unknown))
    if unknown:
        return Finding(check, Severity.UNKNOWN, f"{_entries(len(unknown))} cannot be verified", tuple(unknown))
    return Finding(check, Severity.HOLDS, holds)


def _entries(number: int) -> str:
    return f"{number:,} entr{'y' if number == 1 else 'ies'}"


def _counted(number: int) -> str:
    return f"{_entries(number)} {'is' if number == 1 else 'are'}"


def worst(severities: Iterable[Severity]) -> Severity:
    """The worst of some severities; remarks do not count.

    Example:
        >>> worst([Severity.HOLDS, Severity.NOTE])
        <Severity.HOLDS: 'holds'>
    """
    return max((each for each in severities if each is not Severity.NOTE), key=Severity.rank, default=Severity.HOLDS)


@final
@dataclass(frozen=True)
class Audit:
    """What the audit of one file found.

    Attributes:
        path: The file.
        kind: What is in it: ``"release"``, ``"session"`` or ``"ledger"``.
        facts: What was read, for showing: the sentence, amounts, versions, the head, the digest.
        findings: One for each check.

    Example:
        >>> Audit("a.release", "release", {}, (Finding("sum", Severity.FAILS, "too much"),)).verdict
        <Severity.FAILS: 'fails'>
    """

    path: str
    kind: str
    facts: Mapping[str, Any] = field(repr=False)
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Severity:
        """The worst finding."""
        return worst(each.severity for each in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.path,
            "kind": self.kind,
            "verdict": self.verdict.value,
            **self.facts,
            "findings": [each.to_dict() for each in self.findings],
        }
