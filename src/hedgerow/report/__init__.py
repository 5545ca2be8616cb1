"""The HTML report and its plots; needs the extra ``hedgerow[report]``."""

from hedgerow.report.page import render_report, require_extra, write_report

__all__ = ["render_report", "require_extra", "write_report"]
