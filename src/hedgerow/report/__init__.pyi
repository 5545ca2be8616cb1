from .curves import Panel as Panel, Point as Point, Scale as Scale, curves_plot as curves_plot
from .page import (
    draw_column as draw_column,
    render_comparison as render_comparison,
    render_report as render_report,
    require_extra as require_extra,
    write_audit as write_audit,
    write_page as write_page,
    write_report as write_report,
)
from .sections import (
    Section as Section,
    dots_plot as dots_plot,
    matrix_plot as matrix_plot,
    render_evaluation as render_evaluation,
    samples_plot as samples_plot,
)
