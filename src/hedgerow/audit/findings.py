"""Findings of an audit: one for each check of each file, and the verdict that follows from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """Outcome of a check, the worst last.

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


@dataclass(frozen=True)
class Finding:
    """Outcome of one check.

    Attributes:
        check: Subject of the check, in a few words.
        severity: Outcome of the check.
        text: The observation, in a sentence.
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
        return {**asdict(self), "severity": self.severity.value, "details": list(self.details)}

    def __str__(self) -> str:
        """A line for people."""
        return f"{self.check}: {self.severity.value}: {self.text}"


def gathered(check: str, wrong: Sequence[str], unknown: Sequence[str], holds: str) -> Finding:
    """One finding from what is wrong and what is unknown about single entries; neither means that it holds.

    Args:
        check: Subject of the check.
        wrong: Entries that are wrong, in words.
        unknown: Entries that cannot be verified, in words.
        holds: Text of the finding where there are neither.

    Example:
        >>> print(gathered("charges", [], ["event 3: no scale"], "all are covered"))
        charges: unknown: 1 entry cannot be verified
    """
    if wrong:
        text = "1 entry is wrong" if len(wrong) == 1 else f"{len(wrong):,} entries are wrong"
        return Finding(check, Severity.FAILS, text, (*wrong, *unknown))
    if unknown:
        text = "1 entry" if len(unknown) == 1 else f"{len(unknown):,} entries"
        return Finding(check, Severity.UNKNOWN, f"{text} cannot be verified", tuple(unknown))
    return Finding(check, Severity.HOLDS, holds)


def worst(severities: Iterable[Severity]) -> Severity:
    """The worst of some severities; remarks do not count.

    Example:
        >>> worst([Severity.HOLDS, Severity.NOTE])
        <Severity.HOLDS: 'holds'>
    """
    return max((s for s in severities if s is not Severity.NOTE), key=Severity.rank, default=Severity.HOLDS)


@dataclass(frozen=True)
class Audit:
    """The audit of one file.

    Attributes:
        path: The file.
        kind: Kind of the file: ``"release"``, ``"session"`` or ``"ledger"``.
        facts: Facts that were read, for showing: the sentence, amounts, versions, the head, the digest.
        findings: The finding of each check.

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
        return worst(finding.severity for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.path,
            "kind": self.kind,
            "verdict": self.verdict.value,
            **self.facts,
            "findings": [finding.to_dict() for finding in self.findings],
        }
