from .exact import ProductTables as ProductTables, Yardstick as Yardstick
from .grid import Progress as Progress, Step as Step, compare as compare
from .journal import Journal as Journal, read_rows as read_rows, text_of as text_of
from .outcome import LARGEST as LARGEST, MEAN as MEAN, METRICS as METRICS, Outcome as Outcome, Setting as Setting
from .presentation import (
    drawing_of as drawing_of,
    headings_of as headings_of,
    notes_of as notes_of,
    page_of as page_of,
    rows_of as rows_of,
    title_of as title_of,
)
from .result import Comparison as Comparison, interval as interval
