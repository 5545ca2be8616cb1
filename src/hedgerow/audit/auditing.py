"""The audit of files: every check in its order, and what the files add up to.

No check trusts another: an error in one of them is a finding of that check, and the others still run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.audit import composition, ledger_checks
from hedgerow.audit.costs import UNITS, Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Audit, Finding, Severity, worst
from hedgerow.audit.measurement_checks import (
    Backed,
    check_criteria,
    check_error,
    check_learnt,
    check_measurements,
    check_sensitivities,
    check_total,
    check_types,
)
from hedgerow.audit.reading import LEDGER, Opened, read
from hedgerow.audit.sentences import limited, relation_of, sentence_of, stamped
from hedgerow.audit.totals import Share, Total, totals_of
from hedgerow.audit.trace_checks import check_noise, check_signature, check_traces, check_versions

if TYPE_CHECKING:
    from hedgerow.system.signing import VerifyingKey

T = TypeVar("T")

_SHAPES = (ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""Errors that content of another shape leads to."""


@dataclass(frozen=True)
class Audits:
    """The audit of some files.

    Attributes:
        files: The audit of each file.
        totals: Sums over the files, one for each neighbouring relation; empty for a single file.

    Example:
        >>> Audits((), ()).verdict
        <Severity.HOLDS: 'holds'>
    """

    files: tuple[Audit, ...]
    totals: tuple[Total, ...]

    @property
    def verdict(self) -> Severity:
        """The worst finding."""
        return worst(audit.verdict for audit in self.files)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "verdict": self.verdict.value,
            "files": [audit.to_dict() for audit in self.files],
            "totals": [total.to_dict() for total in self.totals],
        }


def audit_files(
    paths: Sequence[str | os.PathLike[str]], *, delta: float | None = None, key: VerifyingKey | None = None
) -> Audits:
    """Verify releases, sessions and ledgers that a server exported, from the files alone.

    Args:
        paths: The files.
        delta: The delta for turning zCDP into (epsilon, delta), for files that name none and for sums.
        key: The public key that files should be signed with.

    Returns:
        The findings. Nothing that is wrong with a file's content is raised.

    Raises:
        AuditError: A file cannot be read, or is of another kind.
        ValueError: delta is not between 0 and 1.
    """
    wanted = None if delta is None else exact(delta)
    if wanted is not None and not 0 < wanted < 1:
        raise ValueError(f"delta must lie between 0 and 1, not {delta!r}")
    audits = [_of_file(read(path), wanted, key) for path in paths]
    shares = [share for _, share in audits if share is not None]
    totals = totals_of(shares, wanted) if len(audits) > 1 else []
    return Audits(tuple(audit for audit, _ in audits), tuple(totals))


def _of_file(opened: Opened, delta: Fraction | None, key: VerifyingKey | None) -> tuple[Audit, Share | None]:
    checking = _Checking(opened, delta)
    if opened.faults:
        findings = [Finding("file", Severity.FAILS, "it was changed or damaged", opened.faults)]
    elif opened.kind == LEDGER:
        findings = [Finding("file", Severity.NOTE, "a ledger in JSON, which has no checksum of its own")]
    else:
        text = f"format {opened.version}; every part matches its checksum"
        findings = [Finding("file", Severity.HOLDS, text)]
    if opened.kind != LEDGER:
        findings.append(check_signature(opened, key))
    findings += checking.findings()
    audit = Audit(opened.path, opened.kind, checking.facts(), tuple(findings))
    return audit, checking.share(holds=audit.verdict is not Severity.FAILS)


class _Checking:
    """The checks of one file's content."""

    def __init__(self, opened: Opened, delta: Fraction | None) -> None:
        """Find the ledger and read its events."""
        self._opened, self._content, self._delta = opened, opened.content, delta
        self._entries: list[Entry] = []
        self._backed: Backed = {}
        self._ledger: Mapping[str, Any] = {}
        self._budget: Mapping[str, Any] | None = None

    def findings(self) -> Iterator[Finding]:
        """The finding of each check."""
        try:
            self._ledger = self._content if self._opened.kind == LEDGER else self._content["ledger"]
            self._budget = self._content.get("budget")
            if self._budget is not None and (fault := ledger_checks.budget_faults(self._budget)):
                yield Finding("budget", Severity.FAILS, f"it cannot be read: {fault}")
                self._budget = None
            relation = None if self._budget is None else relation_of(self._budget)
            self._entries, finding = ledger_checks.entries_of(self._ledger, relation)
        except _SHAPES as error:
            yield _unfit("ledger", error)
            return
        yield finding
        for name, check in self._checks().items():
            try:
                outcome = check()
            except _SHAPES as error:
                outcome = _unfit(name, error)
            if outcome is not None:
                yield outcome

    def _checks(self) -> dict[str, Callable[[], Finding | None]]:
        """The checks by name, in their order; a ledger alone has fewer of them."""
        content, entries, ledger, budget = self._content, self._entries, self._ledger, self._budget
        total, known = content.get("total") is not None, content.get("domain", {}).get("known", ())
        known = [each for each in known if not (isinstance(each, Mapping) and "population" in each)]
        checks: dict[str, Callable[[], Finding | None]] = {
            "charges": lambda: ledger_checks.check_charges(entries),
            "runs": lambda: ledger_checks.check_runs(entries, ledger),
            "sum": lambda: ledger_checks.check_sum(entries, ledger),
            "limit": lambda: ledger_checks.check_limit(budget, ledger),
            "steps": lambda: composition.check_steps(entries, ledger, budget),
            "thresholds": lambda: ledger_checks.check_thresholds(entries, ledger, budget),
            "hash chain": lambda: ledger_checks.check_head(ledger),
            "sentence": self._check_sentence,
            "public numbers": lambda: ledger_checks.check_public(entries),
            "number of records": lambda: check_total(
                entries, self._relation or "add-remove", released=total, known=known
            ),
        }
        if self._opened.kind != LEDGER:
            checks |= {
                "measurements": self._check_measurements,
                "learnt domain": lambda: check_learnt(content["domain"], entries),
                "types": lambda: check_types(content["domain"]),
                "error estimate": lambda: check_error(content.get("error"), entries),
                "criteria": lambda: check_criteria(content.get("criteria", ()), entries),
                "run": lambda: check_traces(content, entries),
            }
        checks["sensitivities"] = lambda: check_sensitivities(entries, self._backed, content)
        if self._opened.kind != LEDGER:
            checks["noise"] = lambda: check_noise(self._origin)
        if self._opened.kind == "release":
            checks["versions"] = lambda: check_versions(content["provenance"]["versions"])
        return {**checks, "dp-accounting": self._second_opinion}

    @property
    def _relation(self) -> str:
        """The neighbouring relation of the budget, or of the events; empty where there are neither."""
        if self._budget is not None:
            return relation_of(self._budget)
        return self._entries[0].neighbours if self._entries else ""

    def _check_sentence(self) -> Finding | None:
        stated = self._content.get("statement" if self._opened.kind == LEDGER else "guarantee")
        if self._opened.kind == "session":
            return None  # it holds none: its release and its page write it
        if self._budget is None:
            return Finding("sentence", Severity.UNKNOWN, "the file does not hold the budget that it is about")
        written = self._sentence()
        if stated == written:
            return Finding("sentence", Severity.HOLDS, "it is what the numbers say, word for word")
        if stated == self._sentence(nearest=True):
            text = "it is what the numbers say, but for figures that an earlier version rounded to the nearest"
            return Finding("sentence", Severity.NOTE, text, (f"what is promised is: {written}",))
        return Finding("sentence", Severity.FAILS, "it is not what the numbers say", (f"it should be: {written}",))

    def _sentence(self, *, nearest: bool = False) -> str:
        written = sentence_of(self._budget or {}, float(exact(self._ledger["limit"])), nearest=nearest)
        if self._opened.kind == LEDGER:
            return written
        written = limited(written, self._content["domain"])
        return written if self._origin["secure"] is True else stamped(written, self._origin.get("noise"))

    def _check_measurements(self) -> Finding:
        measured = self._content["measurements"]
        if self._opened.kind == "session":
            measured = self._content["measured"][:measured]  # what follows is known from tests and the hypothesis
        self._backed, finding = check_measurements(measured, self._entries, self._content["domain"]["attributes"])
        return finding

    @property
    def _origin(self) -> Mapping[str, Any]:
        """The part of the file that names the source of noise."""
        origin: Mapping[str, Any] = self._content if self._opened.kind == "session" else self._content["provenance"]
        return origin

    def _second_opinion(self) -> Finding | None:
        stated = (self._budget or {}).get("inner", self._budget or {}).get("delta")
        kept = exact(self._ledger.get("thresholds", 0))
        delta = exact(stated) - kept if self._delta is None and stated is not None else self._delta
        return None if delta is None else ledger_checks.second_opinion(self._entries, delta)

    def facts(self) -> dict[str, Any]:
        """Facts that were read, for showing; None where a file of another shape does not hold one."""
        ledger, provenance = self._ledger, self._content.get("provenance", {})
        facts: dict[str, Callable[[], Any]] = {
            "format": lambda: self._opened.version,
            "digest": lambda: self._opened.digest,
            "head": lambda: ledger_checks.head_of(ledger),
            "guarantee": self._sentence,
            "budget": lambda: dict(self._budget or {}),
            "neighbours": lambda: self._relation or None,
            "limit": lambda: float(exact(ledger["limit"])),
            "spent": lambda: float(sum((entry.charge for entry in self._entries), Fraction(0))),
            "unit": lambda: str(ledger["unit"]),
            "events": lambda: len(ledger["events"]),
            "algorithm": lambda: provenance["algorithm"],
            "versions": lambda: dict(provenance["versions"]),
        }
        return {name: _or_none(fact) for name, fact in facts.items()}

    def share(self, *, holds: bool) -> Share | None:
        """The file's part of a sum; None if it cannot be told.

        Args:
            holds: Whether nothing was found to be wrong.
        """
        domain = self._content.get("domain")
        return _or_none(
            lambda: Share(
                path=self._opened.path,
                digest=self._opened.digest,
                relation=self._relation or self._entries[0].neighbours,
                domain="" if domain is None else hashlib.sha256(json.dumps(domain).encode()).hexdigest(),
                unit={unit: unit for unit in UNITS}[self._ledger["unit"]],
                limit=exact(self._ledger["limit"]),
                thresholds=exact(self._ledger.get("thresholds", 0)),
                holds=holds,
            )
        )


def _unfit(check: str, error: Exception) -> Finding:
    reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return Finding(check, Severity.FAILS, f"the file does not have the shape that it should have ({reason})")


def _or_none(read_part: Callable[[], T]) -> T | None:
    try:
        return read_part()
    except _SHAPES:
        return None
