from .first import check_share as check_share, usual_share as usual_share
from .series import (
    Series as Series,
    confidence_of_each as confidence_of_each,
    joined as joined,
    open_series as open_series,
)
from .summaries import (
    answer_fields as answer_fields,
    answer_of as answer_of,
    ledger_file_of as ledger_file_of,
    ledger_of as ledger_of,
    spending_of as spending_of,
    summary_of as summary_of,
)
from .tables import domain_of as domain_of, made_up as made_up, persons_in as persons_in
from .workers import (
    MOST_CONFIDENCE as MOST_CONFIDENCE,
    MOST_CONFIDENCE_OF_A_STATEMENT as MOST_CONFIDENCE_OF_A_STATEMENT,
    SessionWorkers as SessionWorkers,
)
