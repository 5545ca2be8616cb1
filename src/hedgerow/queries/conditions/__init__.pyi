from .predicate import parse_conjunction as parse_conjunction, parse_predicate as parse_predicate
