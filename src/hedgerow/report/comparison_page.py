"""A comparison as one HTML page: the drawing, the table, and the stamp that it is not private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hedgerow.report.curves import STAMP
from hedgerow.report.page import page_template, require_extra


def render_comparison(
    *,
    drawing: str,
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
    facts: Mapping[str, str],
    bounded: bool = False,
) -> str:
    """The page as text; it opens offline and holds no script and no address.

    Args:
        drawing: An ``<svg>`` element.
        title: What the figures of the table are.
        headings: Of its columns.
        rows: Its cells.
        notes: Why some mechanisms could not run.
        facts: What all runs share, by name.
        bounded: Whether the drawing shows a bound of matrix mechanisms.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.

    Example:
        >>> cells = {"headings": ["a"], "rows": [["<1>"]], "notes": []}
        >>> page = render_comparison(drawing="<svg/>", title="errors", facts={}, **cells)
        >>> "NOT PRIVATE" in page, "&lt;1&gt;" in page
        (True, True)
    """
    require_extra()
    from markupsafe import Markup

    return page_template("comparison.html").render(
        stamp=STAMP,
        drawing=Markup(drawing),
        title=title,
        headings=headings,
        rows=rows,
        notes=notes,
        facts=facts,
        bounded=bounded,
    )
