"""Conditions as linear queries: a record counts where the condition is true."""

import math

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain import Clique, Domain, spread_over
from hedgerow.domain.conditions import (
    Condition,
    Flat,
    Join,
    Leaf,
    Negation,
    Truth,
    condition_sql,
    leaves_in,
    parse_condition,
    shown,
    simplified,
    true_where,
)
from hedgerow.errors import QueryError
from hedgerow.quantities import human
from hedgerow.queries.core import Conjunction, Explicit, LinearQuery, carrier, pulled_back, query_scope
from hedgerow.queries.families import MAX_CELLS


def parse_predicate(text: str, domain: Domain) -> LinearQuery:
    """Read a condition.

    Args:
        text: The condition; empty for the number of records.
        domain: The domain.

    Returns:
        A ``Conjunction`` if the condition is an "and" of conditions on one attribute each; else an ``Explicit`` query
        over the attributes that it names.

    Raises:
        QueryError: The text is not understood, names an unknown attribute or value, or cuts a bin; or it joins too
            many attributes with "or".

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 17, 90)))
        >>> parse_predicate("age >= 30 and not sex = 'Female'", domain).text
        "sex = 'Male' and age between 30 and 90"
        >>> parse_predicate("age > 80 or sex = 'Male'", domain).scope
        ('sex', 'age')
    """
    if not text.strip():
        return Conjunction(domain, (), ())
    return query_of(parse_condition(text, domain), domain)


def parse_conjunction(text: str, domain: Domain) -> Conjunction:
    """Read a condition that a workload can hold.

    Raises:
        QueryError: See `parse_predicate`; or the condition joins several attributes with "or" or "not".

    Example:
        >>> from hedgerow import IntegerRange
        >>> parse_conjunction("age < 30", Domain((IntegerRange("age", 17, 90),))).scope
        ('age',)
    """
    query = parse_predicate(text, domain)
    if not isinstance(query, Conjunction):
        raise QueryError(
            f"{shown(text)} joins conditions on several attributes with 'or' or 'not', which a workload does not hold",
            remedy="give the conditions one by one, joined by commas",
        )
    return query


def query_of(condition: Condition, domain: Domain) -> LinearQuery:
    """The number of records for which a condition is true.

    Args:
        condition: The tree.
        domain: The domain of its attributes.

    Returns:
        A ``Conjunction`` if the condition is an "and" of conditions on one attribute each, which may be levels; else an
        ``Explicit`` query over the attributes that it names, whose text is the condition as it was written.

    Raises:
        QueryError: It joins attributes of more than ``MAX_CELLS`` cells with "or" or "not".

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> query_of(parse_condition("a = '1' and b > '0'", domain), domain).text
        'a = 1 and b between 1 and 2'
        >>> query_of(parse_condition("not (a = '1' and b > '0')", domain), domain).text
        "not (a = '1' and b > '0')"
        >>> domain = Domain((IntegerRange("age", 0, 99),))
        >>> query_of(parse_condition('"age.10" between 20 and 39 and age > 30', domain), domain).text
        'age between 31 and 39'
    """
    names = _names(condition)
    scope = query_scope(domain, names)
    simple = simplified(condition if len(scope) == len(names) else _carried(condition, domain, scope))
    parts = simple.parts if isinstance(simple, Flat) and simple.word == "and" else (simple,)
    leaves = [part for part in parts if isinstance(part, Leaf) and part.name in scope]
    if len(leaves) == len(parts):
        return Conjunction.where(domain, {leaf.name: leaf.truth.yes for leaf in leaves})
    return _explicit(
        domain, query_scope(domain, (leaf.name for leaf in leaves_in(simple))), simple, condition_sql(condition)
    )


def _names(condition: Condition) -> set[str]:
    if isinstance(condition, Leaf):
        return {condition.name}
    parts = (condition.part,) if isinstance(condition, Negation) else condition.parts
    return set().union(*map(_names, parts))


def _carried(condition: Condition, domain: Domain, scope: Clique) -> Condition:
    """The same condition, where leaves on a level of an attribute of the scope are on that attribute."""
    if isinstance(condition, Negation):
        return Negation(_carried(condition.part, domain, scope))
    if isinstance(condition, Join):
        return Join(condition.word, tuple(_carried(part, domain, scope) for part in condition.parts))
    finer = carrier(domain, scope, condition.name)
    if finer is None or finer == condition.name:
        return condition
    yes, no = (pulled_back(domain, codes, condition.name, finer) for codes in (condition.truth.yes, condition.truth.no))
    return Leaf(finer, Truth(yes, no), condition.text)


def _explicit(domain: Domain, scope: Clique, condition: Leaf | Flat, text: str) -> Explicit:
    shape = domain.shape_of(scope)
    cells = math.prod(shape)
    if cells > MAX_CELLS:
        raise QueryError(
            f"the condition joins {len(scope)} attributes of {human(cells)} cells with 'or' or 'not'",
            remedy=f"at most {MAX_CELLS:,} cells are supported there; ask for its parts one by one",
        )

    def of_leaf(leaf: Leaf) -> Bools:
        mask = np.zeros(domain[leaf.name].size, dtype=np.bool_)
        mask[np.asarray(leaf.truth.yes)] = True
        return spread_over(domain, mask, (leaf.name,), scope)

    yes = np.broadcast_to(true_where(condition, of_leaf), shape)
    return Explicit(domain, scope, text, yes.astype(np.float64), (0.0, 1.0))
