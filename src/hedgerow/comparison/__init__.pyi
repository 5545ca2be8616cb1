from .exact import Yardstick as Yardstick
from .grid import Progress as Progress, Step as Step, compare as compare
from .outcome import LARGEST as LARGEST, MEAN as MEAN, Outcome as Outcome
from .result import Comparison as Comparison, Summary as Summary, interval as interval
from .words import headings_of as headings_of, notes_of as notes_of, rows_of as rows_of, title_of as title_of
