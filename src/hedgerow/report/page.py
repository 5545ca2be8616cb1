"""HTML pages that open offline: their templates, the page of an audit, and pages of exact figures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import MissingExtraError, ReleaseError
from hedgerow.report.curves import STAMP
from hedgerow.system import replacing

if TYPE_CHECKING:
    from jinja2 import Template

    from hedgerow.audit import Audits

_VERDICTS = {
    "holds": "Everything holds.",
    "unknown": "Nothing fails, but something cannot be verified from the files alone.",
    "fails": "Something fails.",
}


def require_extra() -> None:
    """Check that what the report needs is installed.

    Raises:
        MissingExtraError: It is not.
    """
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"the report needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            remedy="pip install 'hedgerow[report]'",
        )


def write_page(page: str, path: str | os.PathLike[str], *, called: str) -> None:
    """Write a page in one step.

    Args:
        page: Its text.
        path: Target; its folder must exist.
        called: Name of the page in messages.

    Raises:
        ReleaseError: The file cannot be written.

    Example:
        >>> write_page("", "/no such folder/a.html", called="page")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ReleaseError: /no such folder/a.html: the page cannot be written: No such file or directory
          Remedy: name a file in a folder that exists and has room
    """
    try:
        with replacing(path) as beside:
            beside.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(
            f"{path}: the {called} cannot be written: {error.strerror or error}",
            remedy="name a file in a folder that exists and has room",
        ) from error


def page_template(name: str) -> Template:
    """Template of a page in this folder; values are escaped, and ``css`` is the style of all pages.

    Args:
        name: Name of the file.
    """
    import jinja2

    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": number_text, "large": large_text}
    environment.globals["css"] = (folder / "page.css").read_text(encoding="utf-8")
    return environment.get_template(name)


def number_text(value: float, digits: int = 4) -> str:
    """A number with so many digits, whole from that many on."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def large_text(value: int) -> str:
    """A number that may have very many digits, in a narrow place."""
    for power, word in ((12, "trillion"), (9, "billion")):
        if 10**power <= value < 10 ** (power + 3):
            return f"{value / 10**power:.3g} {word}"
    if value < 10**9:
        return f"{value:,}"
    digits, exponent = f"{Decimal(value):.2e}".split("e+")
    return f"{digits} \u00d7 10^{exponent}"


def exact_page(
    template: str,
    title: str,
    facts: Mapping[str, str],
    notes: Sequence[str] = (),
    verdicts: Sequence[tuple[str, Mapping[str, str]]] = (),
    **values: Any,
) -> str:
    """A page of exact figures, stamped "NOT PRIVATE": HTML that opens offline and holds no script and no address.

    Args:
        template: File of a template beside this module that extends ``exact.html``.
        title: Heading of the page.
        facts: What all figures share, by name.
        notes: Remarks for the reader.
        verdicts: Sentences that the page opens with, each with its figures by name.
        **values: What the sections of the template show.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.

    Example:
        >>> html = exact_page("exact.html", "a", {"workload": "<1>"})
        >>> "NOT PRIVATE" in html, "&lt;1&gt;" in html
        (True, True)
    """
    require_extra()
    return page_template(template).render(
        stamp=STAMP, title=title, facts=facts, notes=notes, verdicts=verdicts, **values
    )


def render_audit(audits: Audits) -> str:
    """The page of an audit as text, for those who decide whether something may be published.

    Args:
        audits: Findings of the audit.

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
        audits=audits, verdicts=_VERDICTS, title=", ".join(os.path.basename(file.path) for file in audits.files)
    )


def write_audit(audits: Audits, path: str | os.PathLike[str]) -> None:
    """Write the page of an audit.

    Args:
        audits: Findings of the audit.
        path: Target; its folder must exist.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
        ReleaseError: The file cannot be written.
    """
    write_page(render_audit(audits), path, called="page")
