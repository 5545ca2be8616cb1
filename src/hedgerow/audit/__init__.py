"""An auditor: verifies releases, sessions and a server's ledgers from files alone.

It shares nothing with the code that makes these files: formulas, the reader of the container, the hash chain, the
conversion of zCDP and the rules of neighbouring relations are its own. So it may import the errors, and of system only
the keys of signatures. `auditing` runs the checks on `reading`'s files: `ledger_checks` with `questions` and `costs`,
`measurement_checks` (what was paid for, and at which sensitivity), `trace_checks` (rounds, draws and tests), `origin`
(noise, versions, signature), `sentences`; `totals` adds files up.
"""

from hedgerow.audit.auditing import Audits, audit_files
from hedgerow.audit.findings import Audit, Finding, Severity

__all__ = ["Audit", "Audits", "Finding", "Severity", "audit_files"]
