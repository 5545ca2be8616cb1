from .desks import MOST_CONFIDENCE as MOST_CONFIDENCE, Desks as Desks
from .tables import domain_of as domain_of, made_up as made_up
