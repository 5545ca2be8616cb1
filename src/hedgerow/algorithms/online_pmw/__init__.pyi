from .answer import Asking as Asking, OnlineAnswer as OnlineAnswer, OnlineGroups as OnlineGroups, held_with as held_with
from .effort import CALLS as CALLS
from .file import SessionFile as SessionFile
from .hold import LOST as LOST
from .journal import (
    START as START,
    Finding as Finding,
    Mark as Mark,
    Step as Step,
    finding_about as finding_about,
    step_since as step_since,
)
from .online_pmw import OnlinePMW as OnlinePMW
from .parameters import (
    best_two_sided_rules as best_two_sided_rules,
    sparse_error as sparse_error,
    two_sided_rules as two_sided_rules,
)
from .rules import Rules as Rules, Stream as Stream, Variant as Variant
from .session import WATCH as WATCH, OnlineSession as OnlineSession
from .start import Opening as Opening, check_start as check_start, with_learnt as with_learnt
from .state import table_of_session as table_of_session
