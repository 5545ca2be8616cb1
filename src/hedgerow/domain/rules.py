"""Rules about records as constraints: what is impossible, what follows from something, what determines what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hedgerow.arrays import Places
from hedgerow.domain.conditions import Flat, Leaf, over_classes, parse_condition, simplified
from hedgerow.domain.constraint import Constraint, check_cells
from hedgerow.domain.derived import Derived
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import feasible_records
from hedgerow.errors import DomainError, QueryError


def impossible(domain: Domain, condition: str, *, says: str | None = None) -> Constraint:
    """The rule that no record meets a condition.

    Args:
        domain: The domain of its attributes, derived ones among them.
        condition: A condition in SQL. Truth is three-valued: records of which it is unknown can exist.
        says: Text of the rule in errors and reports; the condition by default.

    Raises:
        DomainError: The condition is not understood, spans too many combinations, or leaves no record.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> rule = impossible(domain, "age < 15 and married = 1")
        >>> rule.text, feasible_records(Domain(domain.attributes, (), [rule]))
        ('impossible: age < 15 and married = 1', 185)
    """
    text = says or f"impossible: {condition}"
    return _forbidding(domain, text, [condition], [False, True])


def if_then(domain: Domain, condition: str, then: str, *, says: str | None = None) -> Constraint:
    """The rule that records that meet one condition meet another too: the first only if the second.

    Args:
        domain: The domain of their attributes, derived ones among them.
        condition: A condition in SQL.
        then: Another, which is true of each record of which the first is.
        says: Text of the rule in errors and reports; both conditions by default.

    Raises:
        DomainError: A condition is not understood, or they span too many combinations, or leave no record.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> if_then(domain, "married = 1", "age >= 15").text
        'if married = 1, then age >= 15'
    """
    text = says or f"if {condition}, then {then}"
    return _forbidding(domain, text, [condition, then], [[False, False], [True, False]])


def determines(domain: Domain, name: str, function: Derived, *, says: str | None = None) -> Constraint:
    """The rule that some attributes determine another one: its value is that of a function of them.

    Args:
        domain: The domain.
        name: The attribute that is determined.
        function: A function of the others, with the values of that attribute.
        says: Text of the rule in errors and reports.

    Raises:
        DomainError: The function has other values, or spans too many combinations.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("area", 0, 3), IntegerRange("region", 0, 1)))
        >>> region = Derived(IntegerRange("of area", 0, 1), ["area"], [0, 0, 1, 1])
        >>> determines(domain, "region", region).allowed
        array([[ True, False],
               [False,  True]])
    """
    text = says or determining(function.sources, name)
    size = domain[name].size
    if domain.function(name) is not None or name in function.sources or function.attribute.size != size:
        raise DomainError(f"the rule {text!r} does not give values of the attribute {name!r}", remedy="name a column")
    scope = domain.clique([*function.sources, name])
    classes: dict[str, Places] = {name: np.arange(size, dtype=np.int32)}
    table, counts = function.codes, []
    for axis, source in enumerate(function.sources):
        _, first, places = np.unique(
            np.moveaxis(function.codes, axis, 0).reshape(function.codes.shape[axis], -1),
            axis=0, return_index=True, return_inverse=True,
        )  # fmt: skip
        classes[source], table = places.reshape(-1).astype(np.int32), np.take(table, first, axis=axis)
        counts.append(len(first))
    check_cells(text, (*counts, size))
    allowed = np.equal.outer(table, np.arange(size))
    order = [(*function.sources, name).index(other) for other in scope]
    return Constraint(text, scope, [classes[name] for name in scope], allowed.transpose(order))


def determining(names: Sequence[str], name: str) -> str:
    """The text of the rule that some attributes determine another.

    Example:
        >>> determining(["area"], "region"), determining(["height", "weight"], "group")
        ('area determines region', 'height and weight determine group')
    """
    return f"{' and '.join(names)} {'determines' if len(names) == 1 else 'determine'} {name}"


def by_cases(domain: Domain, what: str, cases: Sequence[str], shown: Sequence[str]) -> tuple[tuple[str, ...], Places]:
    """The number of the condition that each record meets.

    Args:
        domain: The domain.
        what: Beginning of the errors.
        cases: Conditions in SQL. Each record meets exactly one of them.
        shown: Name of each case, for errors.

    Returns:
        The attributes that the conditions are about, and the number for each combination of their codes.

    Raises:
        DomainError: A condition is not understood; a record meets none of them, or two.

    Example:
        >>> from hedgerow import IntegerRange
        >>> by_cases(Domain((IntegerRange("age", 0, 3),)), "group", ["age < 2", "age >= 2"], ["young", "old"])
        (('age',), array([0, 0, 1, 1]))
    """
    classes = over_classes(domain, [_read(domain, case, what) for case in cases], what)
    masks = np.stack(classes.masks)
    times = masks.sum(axis=0)
    if (times != 1).any():
        place = np.argwhere(times != 1)[0]
        codes = [int(np.flatnonzero(v == kind)[0]) for v, kind in zip(classes.classes, place, strict=True)]
        record = ", ".join(
            f"{name} = {domain[name].label(code)!r}" for name, code in zip(classes.scope, codes, strict=True)
        )
        fits = [shown[i] for i in np.flatnonzero(masks[(slice(None), *place)]).tolist()]
        problem = f"fits {' and '.join(map(repr, fits))}" if fits else "fits none of the cases"
        raise DomainError(f"{what}: a record with {record} {problem}", remedy="let each record fit exactly one case")
    check_cells(what, domain.shape_of(classes.scope))
    return classes.scope, masks.argmax(axis=0)[np.ix_(*classes.classes)]


def check_feasible(domain: Domain) -> None:
    """Refuse a domain whose constraints leave no record.

    Raises:
        DomainError: No record keeps all of them; the error names some that contradict each other.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> rules = [impossible(domain, "a = 0"), impossible(domain, "a = 1")]
        >>> check_feasible(Domain(domain.attributes, (), rules))
        Traceback (most recent call last):
        hedgerow.errors.DomainError: no record can exist: 'impossible: a = 0' and 'impossible: a = 1' contradict ...
          Remedy: correct one of these constraints
    """
    if not domain.constraints or feasible_records(domain) != 0:
        return
    needed = list(domain.constraints)
    for constraint in domain.constraints:
        others = [other for other in needed if other is not constraint]
        if feasible_records(Domain(domain.attributes, (), others)) == 0:
            needed = others
    shown = " and ".join(repr(each.text) for each in needed)
    raise DomainError(f"no record can exist: {shown} contradict each other", remedy="correct one of these constraints")


def _forbidding(domain: Domain, text: str, conditions: Sequence[str], table: Iterable[object]) -> Constraint:
    """The constraint that forbids what a table says, indexed by the truth of each condition."""
    what = f"the constraint {text!r}"
    classes = over_classes(domain, [_read(domain, condition, what) for condition in conditions], what)
    forbidden = np.array(table)[tuple(mask.astype(np.intp) for mask in classes.masks)]
    return Constraint(text, classes.scope, classes.classes, ~forbidden)


def _read(domain: Domain, condition: str, what: str) -> Leaf | Flat:
    try:
        return simplified(parse_condition(condition, domain))
    except QueryError as error:
        raise DomainError(f"{what}: {error.message}", remedy=error.remedy) from error
