"""Entries of domain files for constraints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hedgerow.domain.conditions import as_condition
from hedgerow.domain.constraint import Constraint
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries.functions import function_of
from hedgerow.domain.entries.tables import rows_of
from hedgerow.domain.rules import determines, determining, if_then, impossible
from hedgerow.errors import DomainError

_FORMS = ({"impossible"}, {"if", "then"}, {"determines", "table"})
_PREFIX = "impossible: "
_REMEDY = (
    "give 'impossible: \"age < 15 and married = 1\"', or 'if: \"married = 1\"' with 'then: \"age >= 15\"', or "
    "'determines: [area, region]' with 'table: FILE'; and 'says' for its text in errors"
)


def constraint_of(domain: Domain, entry: object, folder: Path | None) -> Constraint:
    """The constraint that an entry describes.

    Args:
        domain: Attributes and derived ones.
        entry: A mapping with ``impossible``; with ``if`` and ``then``; or with ``determines`` and ``table``. With
            ``says``, the text of the rule.
        folder: Folder of the domain file, if there is one.

    Raises:
        DomainError: The entry is not understood, or the rule is wrong.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> constraint_of(domain, {"impossible": "age < 15 and married = 1", "says": "children are single"}, None)
        Constraint('children are single')
    """
    if not isinstance(entry, Mapping) or set(entry) - {"says"} not in _FORMS:
        raise DomainError(f"the constraint {entry!r} has none of the known forms", remedy=_REMEDY)
    texts = {key: value for key, value in entry.items() if key not in {"determines", "table"}}
    if not all(isinstance(value, str) for value in texts.values()):
        raise DomainError(f"the constraint {entry!r} is no text", remedy="put conditions in quotes")
    says = texts.get("says")
    if "impossible" in entry:
        return impossible(domain, texts["impossible"], says=says)
    if "if" in entry:
        return if_then(domain, texts["if"], texts["then"], says=says)
    names = entry["determines"]
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise DomainError(f"'determines' holds {names!r}", remedy="list attributes, the one that is determined last")
    what = f"the constraint '{determining(names[:-1], names[-1])}'"
    for name in names:
        if name not in domain.names:
            raise DomainError(f"{what} names no attribute {name!r}", remedy="name columns of the table")
    rows = rows_of(entry["table"], names, folder, what)
    function = function_of(domain, domain[names[-1]], names[:-1], rows, what, column=False)
    return determines(domain, names[-1], function, says=says)


def constraint_entry(domain: Domain, constraint: Constraint) -> dict[str, Any]:
    """The entry that describes a constraint; ``constraint_of`` reads it back.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> constraint_entry(domain, if_then(domain, "married = 1", "age >= 15"))
        {'impossible': 'age between 0 and 14 and married = 1', 'says': 'if married = 1, then age >= 15'}
    """
    if constraint.text.startswith(_PREFIX):
        condition = constraint.text.removeprefix(_PREFIX)
        try:
            if impossible(domain, condition) == constraint:
                return {"impossible": condition}
        except DomainError:
            pass
    condition = as_condition(domain, constraint.scope, constraint.classes, ~constraint.allowed)
    return {"impossible": condition, "says": constraint.text}
