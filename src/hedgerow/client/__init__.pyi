from .answers import (
    AnswerTable as AnswerTable,
    Price as Price,
    SeriesSum as SeriesSum,
    ServerAnswer as ServerAnswer,
    ServerAnswers as ServerAnswers,
)
from .client import (
    Client as Client,
    RemoteDataSet as RemoteDataSet,
    RemoteSeries as RemoteSeries,
    connect as connect,
)
