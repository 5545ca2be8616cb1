from .attributes import (
    are_options as are_options,
    attribute_entry as attribute_entry,
    attribute_of as attribute_of,
    learnt_values as learnt_values,
)
from .bins import learnt_bins as learnt_bins, points_of as points_of
from .functions import (
    constraint_entry as constraint_entry,
    constraint_of as constraint_of,
    derived_entry as derived_entry,
    derived_of as derived_of,
)
from .layout import (
    file_format_of as file_format_of,
    span_entry as span_entry,
    spans_of as spans_of,
    written_entry as written_entry,
    written_of as written_of,
)
from .level_entries import NONE as NONE, level_item as level_item, levels_of as levels_of
from .yaml_text import parsed as parsed, parsed_text as parsed_text, yaml_text as yaml_text
