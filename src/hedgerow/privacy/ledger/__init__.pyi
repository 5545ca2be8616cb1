from .events import FORMAT as FORMAT, Event as Event
from .ledger import Ledger as Ledger, LedgerView as LedgerView
from .paid import PaidNoise as PaidNoise
from .questions import (
    PUBLIC as PUBLIC,
    BestDatabase as BestDatabase,
    ErrorFigure as ErrorFigure,
    Figure as Figure,
    FrequentLabels as FrequentLabels,
    InterruptedDraw as InterruptedDraw,
    MeasuredParities as MeasuredParities,
    MeasuredQuery as MeasuredQuery,
    Purpose as Purpose,
    QuantileCuts as QuantileCuts,
    QueryDraws as QueryDraws,
    Question as Question,
    RecordCount as RecordCount,
    RunThatPasses as RunThatPasses,
    ThresholdTests as ThresholdTests,
    WorstCandidate as WorstCandidate,
)
