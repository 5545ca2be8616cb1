"""What an audit found as one HTML page, for those who decide whether something may be published."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.report.page import page_template, require_extra, write_page

if TYPE_CHECKING:
    from hedgerow.audit import Audits

_VERDICTS = {
    "holds": "Everything holds.",
    "unknown": "Nothing fails, and something cannot be verified from the files.",
    "fails": "Something fails.",
}


def render_audit(found: Audits) -> str:
    """The page as text; it opens offline and holds no script and no address.

    Args:
        found: What the audit found.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.

    Example:
        >>> from hedgerow.audit import Audit, Audits, Finding, Severity
        >>> finding = Finding("sum", Severity.FAILS, "2 of 1 < epsilon")
        >>> page = render_audit(Audits((Audit("a.release", "release", {}, (finding,)),), ()))
        >>> "Something fails" in page, "2 of 1 &lt; epsilon" in page
        (True, True)
    """
    require_extra()
    return page_template("audit.html").render(
        audits=found, verdicts=_VERDICTS, title=", ".join(os.path.basename(each.path) for each in found.files)
    )


def write_audit(found: Audits, path: str | os.PathLike[str]) -> None:
    """Write the page.

    Args:
        found: What the audit found.
        path: Target; its folder must exist.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
        ReleaseError: The file cannot be written.
    """
    write_page(render_audit(found), path, called="page")
