from .batches import CodedRows as CodedRows, Encoding as Encoding, encoded as encoded, labels_of as labels_of
from .columns import (
    COUNT_NAMES as COUNT_NAMES,
    WEIGHT_NAMES as WEIGHT_NAMES,
    Coding as Coding,
    check_apart as check_apart,
    select_columns as select_columns,
)
from .faults import (
    BROKEN_REMEDY as BROKEN_REMEDY,
    Rule as Rule,
    keeping as keeping,
)
from .persons import bounded as bounded, windows as windows
from .places import files_of as files_of, open_place as open_place
from .readers import Reader as Reader, open_table as open_table
from .text_files import (
    TEXT_ENDINGS as TEXT_ENDINGS,
    bytes_of as bytes_of,
    lines_of as lines_of,
    separator_of as separator_of,
)
