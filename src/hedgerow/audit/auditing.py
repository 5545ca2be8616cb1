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
from typing import TYPE_CHECKING, Any

from hedgerow.audit import ledger_checks
from hedgerow.audit.costs import UNITS, Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Audit, Finding, Severity, worst
from hedgerow.audit.measurement_checks import (
    Backed,
    check_error,
    check_learnt,
    check_measurements,
    check_sensitivities,
    check_total,
    check_types,
)
from hedgerow.audit.origin import check_noise, check_signature, check_versions
from hedgerow.audit.reading import LEDGER, Opened, read
from hedgerow.audit.sentences import limited, relation_of, sentence_of, stamped
from hedgerow.audit.totals import Share, Total, totals_of
from hedgerow.audit.trace_checks import check_traces

if TYPE_CHECKING:
    from hedgerow.system.signing import VerifyingKey

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
    findings = [_of_content(opened)]
    if opened.kind != LEDGER:
        findings.append(check_signature(opened, key))
    findings += checking.findings()
    audit = Audit(opened.path, opened.kind, checking.facts(), tuple(findings))
    return audit, checking.share(holds=audit.verdict is not Severity.FAILS)


def _of_content(opened: Opened) -> Finding:
    if opened.faults:
        return Finding("file", Severity.FAILS, "it was changed or damaged", opened.faults)
    if opened.kind == LEDGER:
        return Finding("file", Severity.NOTE, "a ledger in JSON, which has no checksum of its own")
    return Finding("file", Severity.HOLDS, f"format {opened.version}; every part matches its checksum")


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
            self._entries, finding = ledger_checks.entries_of(self._ledger, self._relation)
        except _SHAPES as error:
            yield _unfit("ledger", error)
            return
        yield finding
        for name, check in self._checks():
            try:
                outcome = check()
            except _SHAPES as error:
                outcome = _unfit(name, error)
            if outcome is not None:
                yield outcome

    def _checks(self) -> Iterator[tuple[str, Callable[[], Finding | None]]]:
        entries, ledger = self._entries, self._ledger
        yield "charges", lambda: ledger_checks.check_charges(entries)
        yield "sum", lambda: ledger_checks.check_sum(entries, ledger)
        yield "limit", self._check_limit
        yield "thresholds", lambda: ledger_checks.check_thresholds(entries, ledger, self._budget)
        yield "hash chain", lambda: ledger_checks.check_head(ledger)
        yield "sentence", self._check_sentence
        yield "public numbers", lambda: ledger_checks.check_public(entries)
        yield "number of records", self._check_total
        if self._opened.kind != LEDGER:
            yield "measurements", self._check_measurements
            yield "learnt domain", self._check_learnt
            yield "types", lambda: check_types(self._content["domain"])
            yield "error estimate", lambda: check_error(self._content.get("error"), entries)
            yield "run", lambda: check_traces(self._content, entries)
        yield "sensitivities", self._check_sensitivities
        if self._opened.kind != LEDGER:
            yield "noise", self._check_noise
        if self._opened.kind == "release":
            yield "versions", lambda: check_versions(self._content["provenance"]["versions"])
        yield "dp-accounting", self._second_opinion

    @property
    def _relation(self) -> str | None:
        return None if self._budget is None else relation_of(self._budget)

    def _check_limit(self) -> Finding:
        if self._budget is None:
            return Finding("limit", Severity.UNKNOWN, "the file does not hold the budget that the limit stands for")
        return ledger_checks.check_limit(self._budget, self._ledger)

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
            told = "it is what the numbers say, but for figures that an earlier version rounded to the nearest"
            return Finding("sentence", Severity.NOTE, told, (f"what is promised is: {written}",))
        return Finding("sentence", Severity.FAILS, "it is not what the numbers say", (f"it should be: {written}",))

    def _sentence(self, *, nearest: bool = False) -> str:
        written = sentence_of(self._budget or {}, float(exact(self._ledger["limit"])), nearest=nearest)
        if self._opened.kind == LEDGER:
            return written
        written = limited(written, self._content["domain"])
        return written if self._origin["secure"] is True else stamped(written, self._origin.get("noise"))

    def _check_total(self) -> Finding:
        relation = self._relation or (self._entries[0].neighbours if self._entries else "add-remove")
        has_total = self._content.get("total") is not None
        return check_total(self._entries, relation, released=has_total)

    def _check_measurements(self) -> Finding:
        measured = self._content["measurements"]
        if self._opened.kind == "session":
            measured = self._content["measured"][:measured]  # what follows is known from tests and the hypothesis
        self._backed, finding = check_measurements(measured, self._entries, self._content["domain"]["attributes"])
        return finding

    def _check_sensitivities(self) -> Finding:
        families = self._content.get("workload", {}).get("families", ())
        config = self._content.get("config") or self._content.get("provenance", {}).get("parameters", {})
        return check_sensitivities(self._entries, self._backed, families=families, bounds=config.get("bounds"))

    def _check_learnt(self) -> Finding | None:
        domain = self._content["domain"]
        return check_learnt(domain.get("attributes", domain), self._entries)

    def _check_noise(self) -> Finding:
        return check_noise(self._origin["secure"], self._origin.get("noise"), self._origin.get("stamp", ""))

    @property
    def _origin(self) -> Mapping[str, Any]:
        """The part of the file that names the source of noise."""
        origin: Mapping[str, Any] = self._content if self._opened.kind == "session" else self._content["provenance"]
        return origin

    def _second_opinion(self) -> Finding | None:
        inner = (self._budget or {}).get("inner", self._budget or {})
        stated = inner.get("delta")
        delta = exact(stated) - self._kept if self._delta is None and stated is not None else self._delta
        return None if delta is None else ledger_checks.second_opinion(self._entries, delta)

    @property
    def _kept(self) -> Fraction:
        """The delta that the ledger may spend on thresholds."""
        return exact(self._ledger.get("thresholds", 0))

    def facts(self) -> dict[str, Any]:
        """Facts that were read, for showing."""
        provenance = self._content.get("provenance", {})
        facts = {
            "format": self._opened.version,
            "digest": self._opened.digest,
            "head": ledger_checks.head_of,
            "guarantee": lambda _: self._sentence(),
            "budget": lambda _: dict(self._budget or {}),
            "neighbours": lambda _: self._relation or self._entries[0].neighbours,
            "limit": lambda ledger: float(exact(ledger["limit"])),
            "spent": lambda _: float(sum((entry.charge for entry in self._entries), Fraction(0))),
            "unit": lambda ledger: str(ledger["unit"]),
            "events": lambda ledger: len(ledger["events"]),
            "algorithm": lambda _: provenance["algorithm"],
            "versions": lambda _: dict(provenance["versions"]),
        }
        return {name: _or_none(fact, self._ledger) if callable(fact) else fact for name, fact in facts.items()}

    def share(self, *, holds: bool) -> Share | None:
        """The file's part of a sum; None if it cannot be told.

        Args:
            holds: Whether nothing was found to be wrong.
        """
        try:
            domain = self._content.get("domain")
            return Share(
                path=self._opened.path,
                digest=self._opened.digest,
                relation=self._relation or self._entries[0].neighbours,
                domain="" if domain is None else hashlib.sha256(json.dumps(domain).encode()).hexdigest(),
                unit={unit: unit for unit in UNITS}[self._ledger["unit"]],
                limit=exact(self._ledger["limit"]),
                thresholds=self._kept,
                holds=holds,
            )
        except _SHAPES:
            return None


def _unfit(check: str, error: Exception) -> Finding:
    reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return Finding(check, Severity.FAILS, f"the file does not have the shape that it should have ({reason})")


def _or_none(fact: Callable[[Mapping[str, Any]], Any], ledger: Mapping[str, Any]) -> Any:
    try:
        return fact(ledger)
    except _SHAPES:
        return None
