from .demo import FILE as FILE, registration as registration
from .http import (
    Alerting as Alerting,
    ConnectionLimits as ConnectionLimits,
    Connections as Connections,
    create_app as create_app,
    description as description,
    log_as_json as log_as_json,
    new_token as new_token,
)
from .http.admission import ForCustodians as ForCustodians
from .http.gauges import Readiness as Readiness
from .http.tokens import Caller as Caller, Verifier as Verifier
from .running import compile_kernels as compile_kernels, configured as configured
from .sessions import (
    MOST_CONFIDENCE as MOST_CONFIDENCE,
    Series as Series,
    SessionWorkers as SessionWorkers,
    answer_of as answer_of,
    check_share as check_share,
    confidence_of_each as confidence_of_each,
    domain_of as domain_of,
    joined as joined,
    ledger_of as ledger_of,
    open_series as open_series,
    spending_of as spending_of,
    summary_of as summary_of,
    usual_share as usual_share,
)
from .sessions.repository import SessionRepository as SessionRepository
from .sessions.tables import read_private as read_private
from .sessions.worker import SessionWorker as SessionWorker
from .settings import (
    AlertSettings as AlertSettings,
    Oidc as Oidc,
    Proxies as Proxies,
    Settings as Settings,
    parts_named as parts_named,
)
from .store import (
    Anchor as Anchor,
    Charge as Charge,
    DataSet as DataSet,
    GivenAnswer as GivenAnswer,
    Grant as Grant,
    Hold as Hold,
    Leases as Leases,
    Person as Person,
    Progress as Progress,
    Registration as Registration,
    Role as Role,
    Store as Store,
    Token as Token,
    hold_to as hold_to,
    question_digest as question_digest,
    to_json as to_json,
)
from .store.entries import LedgerEntry as LedgerEntry, Point as Point
from .store.schema import ANSWERS as ANSWERS, EVENTS as EVENTS, FINDINGS as FINDINGS, METADATA as METADATA
from .store.store import LOCATION as LOCATION
