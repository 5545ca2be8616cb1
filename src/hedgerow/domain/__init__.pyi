from .arrow import (
    UnsupportedTypeError as UnsupportedTypeError,
    distinct_texts as distinct_texts,
    plain as plain,
    plain_durations as plain_durations,
)
from .attribute import (
    Attribute as Attribute,
    Binned as Binned,
    Categorical as Categorical,
    IntegerRange as IntegerRange,
    Ordered as Ordered,
    ends_of as ends_of,
    scale_noun as scale_noun,
    value_text as value_text,
)
from .check import (
    DRAFT_ACCEPTED as DRAFT_ACCEPTED,
    TYPES_TRUSTED as TYPES_TRUSTED,
    DomainCheck as DomainCheck,
    attribute_in_words as attribute_in_words,
    caveats_in_words as caveats_in_words,
    cells_in_words as cells_in_words,
    check_domain as check_domain,
    columns_in_words as columns_in_words,
    domain_warnings as domain_warnings,
    ignored_in_words as ignored_in_words,
    levels_in_words as levels_in_words,
    spellings_in_words as spellings_in_words,
)
from .clocks import Durations as Durations, TimesOfDay as TimesOfDay
from .conditions import (
    MAX_DEPTH as MAX_DEPTH,
    Condition as Condition,
    Join as Join,
    Leaf as Leaf,
    Negation as Negation,
    Truth as Truth,
    as_condition as as_condition,
    condition as condition,
    did_you_mean as did_you_mean,
    parse_condition as parse_condition,
)
from .conditions.code_set import CodeSet as CodeSet
from .conditions.text import in_condition as in_condition
from .constraint import Constraint as Constraint
from .derived import (
    Clique as Clique,
    Derived as Derived,
    width_level as width_level,
)
from .domain import Domain as Domain
from .encoding import (
    Codes as Codes,
    Encoder as Encoder,
    Fault as Fault,
    encoder as encoder,
    smallest_unsigned as smallest_unsigned,
)
from .entries import attribute_of as attribute_of, parsed as parsed
from .entries.layout import file_format_of as file_format_of
from .entries.options import domain_schema as domain_schema
from .entries.yaml_text import parsed_text as parsed_text, yaml_text as yaml_text
from .feasible import (
    MOST_CELLS as MOST_CELLS,
    feasible_cells as feasible_cells,
    feasible_records as feasible_records,
    listed_records as listed_records,
    possible_cells as possible_cells,
    possible_records as possible_records,
)
from .file import (
    check_public as check_public,
    domain_from_mapping as domain_from_mapping,
    domain_to_mapping as domain_to_mapping,
    read_domain as read_domain,
)
from .known import (
    COUNT as COUNT,
    Known as Known,
    Overlap as Overlap,
    known_entry as known_entry,
    known_table as known_table,
    running_order as running_order,
    shared_names as shared_names,
    summed_known as summed_known,
    telling as telling,
    tells as tells,
    with_known as with_known,
)
from .known_counts import KnownTable as KnownTable
from .layout import (
    AS_DECLARED as AS_DECLARED,
    USUAL_FILE as USUAL_FILE,
    FileFormat as FileFormat,
    Layout as Layout,
    NumberFormat as NumberFormat,
    Written as Written,
    is_numeric as is_numeric,
)
from .layout_check import check_written as check_written
from .learning import OpenDomain as OpenDomain, open_domain as open_domain
from .levels import calendar_level as calendar_level, edge_level as edge_level, group_level as group_level
from .linked import GAP as GAP, Children as Children, Linked as Linked
from .measures import Measure as Measure, measure_of as measure_of
from .rules import (
    determines as determines,
    determining as determining,
    if_then as if_then,
    impossible as impossible,
)
from .scales import (
    Calendar as Calendar,
    Decimals as Decimals,
    Moments as Moments,
    Scale as Scale,
)
from .schemas import described_by as described_by, domain_from as domain_from, kind_of_type as kind_of_type
from .spans import Span as Span
from .spelling import Spelling as Spelling
from .tables import (
    carriers as carriers,
    codes_at as codes_at,
    places_in as places_in,
    spread_over as spread_over,
    summed as summed,
)
from .tilts import BinCells as BinCells, bin_cells as bin_cells, with_bin_cells as with_bin_cells
from .value_tables import arrow_of as arrow_of, codes_of as codes_of, read_values as read_values
from .values import arrow_schema as arrow_schema, form_of as form_of, type_name as type_name
