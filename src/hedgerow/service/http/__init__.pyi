from .alerts import Alerting as Alerting
from .app import create_app as create_app, description as description
from .connections import (
    BACKLOG as BACKLOG,
    QUEUE as QUEUE,
    ConnectionLimits as ConnectionLimits,
    Connections as Connections,
)
from .logs import log_as_json as log_as_json
from .protocol import GuardedProtocol as GuardedProtocol
from .tokens import DEFAULT_DAYS as DEFAULT_DAYS, new_token as new_token
