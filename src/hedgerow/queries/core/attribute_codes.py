"""Conditions on levels as conditions on the attributes that they are levels of."""

from __future__ import annotations

from hedgerow.domain import CodeSet, Domain
from hedgerow.queries.core.query import Conjunction
from hedgerow.queries.core.scope import pulled_back


def attribute_codes(domain: Domain, query: Conjunction) -> tuple[dict[str, CodeSet], dict[str, CodeSet]]:
    """The codes of attributes that a conjunction comes down to.

    Args:
        domain: A domain of the variables of the query.
        query: A condition on attributes, levels and other derived attributes.

    Returns:
        For each attribute that it is about, itself or by a level, the codes that meet all conditions on it; and the
        conditions on functions of several attributes, as they are.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99),))
        >>> attribute_codes(domain, Conjunction.where(domain, {"age.10": [2, 3]}))
        ({'age': CodeSet(20..39)}, {})
    """
    code_sets: dict[str, CodeSet] = {}
    others: dict[str, CodeSet] = {}
    for name, codes in zip(query.scope, query.codes, strict=True):
        function = domain.function(name)
        if function is None:
            attribute, chosen = name, codes
        elif len(function.sources) == 1:
            (attribute,) = function.sources
            chosen = pulled_back(domain, codes, name, attribute)
        else:
            others[name] = codes
            continue
        code_sets[attribute] = code_sets[attribute] & chosen if attribute in code_sets else chosen
    return code_sets, others
