from .anchor import Anchor as Anchor
from .entries import (
    Charge as Charge,
    DataSet as DataSet,
    GivenAnswer as GivenAnswer,
    Hold as Hold,
    Progress as Progress,
    Registration as Registration,
    Shares as Shares,
    Status as Status,
)
from .leases import Leases as Leases
from .people import identity_of as identity_of
from .repository import Reached as Reached, nowhere as nowhere
from .restored import departures as departures, hold_to as hold_to, restore as restore
from .schema import (
    Grant as Grant,
    Person as Person,
    Role as Role,
    Token as Token,
    is_storable as is_storable,
    question_digest as question_digest,
    to_json as to_json,
)
from .store import Store as Store, upgrade as upgrade
