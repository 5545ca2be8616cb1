from .answer import OnlineAnswer as OnlineAnswer
from .file import Opening as Opening, SessionFile as SessionFile
from .journal import START as START, Finding as Finding, Mark as Mark, Step as Step, finding_about as finding_about
from .online_pmw import OnlinePMW as OnlinePMW
from .rules import Rules as Rules, Stream as Stream, Variant as Variant
from .session import OnlineSession as OnlineSession
from .start import check_start as check_start
from .state import config_from_dict as config_from_dict, table_of_session as table_of_session
from .two_sided import (
    best_two_sided_rules as best_two_sided_rules,
    sparse_error as sparse_error,
    two_sided_rules as two_sided_rules,
)
