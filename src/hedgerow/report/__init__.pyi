from .curves import Panel as Panel, Point as Point, Scale as Scale, curves_plot as curves_plot
from .file_plots import (
    dots_plot as dots_plot,
    matrix_plot as matrix_plot,
    samples_plot as samples_plot,
)
from .page import (
    exact_page as exact_page,
    require_extra as require_extra,
    write_audit as write_audit,
    write_page as write_page,
)
from .release_page import (
    Heading as Heading,
    draw_column as draw_column,
    render_report as render_report,
    write_report as write_report,
)
