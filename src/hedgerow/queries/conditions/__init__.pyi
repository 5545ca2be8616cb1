from .predicate import parse_predicate as parse_predicate
