from .predicate import parse_conjunction as parse_conjunction
