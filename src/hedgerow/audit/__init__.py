"""An auditor: verifies releases, sessions and a server's ledgers from files alone.

Nothing here is shared with what makes these files: formulas, the reader of the container, the hash chain, the
conversion of zCDP and the rules of neighbouring relations are the auditor's own, and an import rule keeps it so.
"""

from hedgerow.audit.auditing import Audits, audit_files
from hedgerow.audit.findings import Audit, Finding, Severity

__all__ = ["Audit", "Audits", "Finding", "Severity", "audit_files"]
