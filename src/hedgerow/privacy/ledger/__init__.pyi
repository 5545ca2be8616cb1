from .ledger import PUBLIC as PUBLIC, RECORDS as RECORDS, Event as Event, Ledger as Ledger, LedgerView as LedgerView
from .paid import PaidNoise as PaidNoise
