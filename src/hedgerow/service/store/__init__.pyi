from .anchor import Anchor as Anchor, hold_to as hold_to
from .entries import (
    Charge as Charge,
    DataSet as DataSet,
    GivenAnswer as GivenAnswer,
    Grant as Grant,
    Hold as Hold,
    Person as Person,
    Progress as Progress,
    Registration as Registration,
    Role as Role,
    Shares as Shares,
    Status as Status,
    Token as Token,
)
from .repository import Reached as Reached, nowhere as nowhere
from .schema import is_storable as is_storable, question_digest as question_digest, to_json as to_json
from .store import Store as Store
