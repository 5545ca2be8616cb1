from .automatic import automatic_domain as automatic_domain
from .counting import count_parities as count_parities
from .counting.blocks import covering_blocks as covering_blocks
from .draft import IN_DOUBT as IN_DOUBT, STAY_OUT as STAY_OUT, draft_domain as draft_domain
from .labels import Labels as Labels, LabelSource as LabelSource, read_labels as read_labels
from .linked import read_linked as read_linked
from .options import ReadOptions as ReadOptions
from .public import read_public as read_public
from .reading import (
    COUNT_NAMES as COUNT_NAMES,
    Coding as Coding,
    Encoding as Encoding,
    Reader as Reader,
    bounded as bounded,
)
from .reading.columns import check_apart as check_apart, select_columns as select_columns
from .reading.faults import rules_of as rules_of
from .reading.places import files_of as files_of, is_place as is_place, open_place as open_place
from .reading.readers import TABLE_ENDINGS as TABLE_ENDINGS, open_table as open_table
from .scanning.chunks import scan_table as scan_table, scan_with as scan_with
from .scanning.scan import Counts as Counts, ScannedTable as ScannedTable, Wanted as Wanted
from .source import (
    CountSource as CountSource,
    PersonSource as PersonSource,
    PreparedSource as PreparedSource,
    RecordSource as RecordSource,
    RuledSource as RuledSource,
)
from .table import Table as Table, gathered as gathered, read_table as read_table, read_with as read_with
