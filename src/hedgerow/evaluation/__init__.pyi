from .evaluation import Evaluation as Evaluation, evaluate as evaluate
from .finding import Finding as Finding
from .learners import require_extra as require_extra
from .presentation import (
    NOT_PRIVATE as NOT_PRIVATE,
    headings_of as headings_of,
    page_of as page_of,
    rows_of as rows_of,
    title_of as title_of,
)
