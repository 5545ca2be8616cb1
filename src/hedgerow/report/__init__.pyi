from .audit_page import write_audit as write_audit
from .comparison_page import render_comparison as render_comparison
from .curves import Panel as Panel, Point as Point, Scale as Scale, curves_plot as curves_plot
from .page import render_report as render_report, require_extra as require_extra, write_report as write_report
