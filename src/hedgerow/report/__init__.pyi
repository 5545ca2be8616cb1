from .curves import Panel as Panel, Point as Point, Scale as Scale, curves_plot as curves_plot
from .file_plots import (
    dots_plot as dots_plot,
    matrix_plot as matrix_plot,
    samples_plot as samples_plot,
)
from .page import (
    draw_column as draw_column,
    exact_page as exact_page,
    render_report as render_report,
    require_extra as require_extra,
    write_audit as write_audit,
    write_page as write_page,
    write_report as write_report,
)
