from .answers import AnswerTable as AnswerTable, ServerAnswer as ServerAnswer, ServerAnswers as ServerAnswers
from .client import Client as Client, RemoteDataSet as RemoteDataSet, connect as connect
