"""Conditions as JSON values, for programs and forms, with the meaning of the same conditions in SQL."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, NoReturn, cast

from hedgerow.domain import Attribute, Domain, value_text
from hedgerow.domain.conditions import (
    MAX_DEPTH,
    SIGNS,
    Condition,
    Constant,
    Join,
    Leaf,
    Sign,
    did_you_mean,
    negation,
    shown,
)
from hedgerow.errors import QueryError
from hedgerow.queries.conditions.predicate import query_of
from hedgerow.queries.core import LinearQuery

MAX_PARTS = 5_000
"""Largest number of conditions and values of a predicate."""

_LARGEST_BITS = 1024
"""Bits of the largest whole number."""

_FORMS: dict[str, frozenset[str]] = {
    "and": frozenset({"and"}),
    "or": frozenset({"or"}),
    "not": frozenset({"not"}),
    "op": frozenset({"attribute", "op", "value"}),
    "between": frozenset({"attribute", "between"}),
    "in": frozenset({"attribute", "in"}),
    "missing": frozenset({"attribute", "missing"}),
}
"""The key that tells what a condition is, and all keys that it has."""

_SUPPORTED = (
    'supported are {"attribute": "age", "op": "<", "value": 30} with =, !=, <, <=, >, >=; "between": [30, 40], '
    '"in": [..] or "missing": true in place of "op" and "value"; and {"and": [..]}, {"or": [..]}, {"not": {..}}'
)


def parse_json_predicate(value: object, domain: Domain) -> LinearQuery:
    """Read a condition from JSON values.

    A condition is a mapping of one of these forms, and no other keys:

    - ``{"and": [condition, ...]}``, ``{"or": [condition, ...]}``, ``{"not": condition}``; an empty "and" is true, an
      empty "or" is false;
    - ``{"attribute": name, "op": sign, "value": value}`` with the signs ``= != < <= > >=``;
    - ``{"attribute": name, "between": [low, high]}``, both ends included;
    - ``{"attribute": name, "in": [value, ...]}``; of no values it is false;
    - ``{"attribute": name, "missing": true}``, or ``false`` for what is not missing;
    - ``{}`` is true.

    Values are texts, finite numbers and booleans. They compare as in `parse_predicate`: by their text and, on ordered
    attributes, as numbers; three-valued where the missing value is declared.

    Args:
        value: Result of ``json.loads``; None for the number of records. At most ``MAX_PARTS`` conditions and values,
            and ``MAX_DEPTH`` conditions inside each other.
        domain: The domain.

    Returns:
        The result of `parse_predicate` for the same condition in SQL; the text of an explicit query is that SQL.

    Raises:
        QueryError: The value is not such a condition, names an unknown attribute or value, or cuts a bin. The error
            says where, as in "predicate.and[2].op".

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 17, 90)))
        >>> young = {"attribute": "age", "op": "<", "value": 30}
        >>> woman = {"attribute": "sex", "in": ["Female"]}
        >>> parse_json_predicate({"and": [young, woman]}, domain).text
        "sex = 'Female' and age between 17 and 29"
        >>> parse_json_predicate({"or": [young, {"not": woman}]}, domain).text
        "age < 30 or not sex in ('Female')"
        >>> parse_json_predicate({"and": [young, {"attribute": "sex", "op": "="}]}, domain)
        Traceback (most recent call last):
        hedgerow.errors.QueryError: predicate.and[1]: the key 'value' is missing
          Remedy: supported are ...
    """
    if value is None:
        value = {}
    return query_of(_Reader(domain).condition(value, "predicate", 0), domain)


class _Reader:
    """A reader of nested conditions, which counts them."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._parts = 0

    def condition(self, value: object, place: str, depth: int) -> Condition:
        """One condition and all that it holds."""
        self._count(place)
        if depth > MAX_DEPTH:
            raise QueryError(f"the predicate is nested more than {MAX_DEPTH} deep", remedy="make it flatter")
        if not isinstance(value, Mapping):
            _refuse(place, f"a condition is expected, not {_kind(value)}")
        form = _form(value, place)
        if form == "":
            return Join("and", ())
        if form == "not":
            return negation(self.condition(value["not"], f"{place}.not", depth + 1))
        if form in {"and", "or"}:
            parts = enumerate(_list(value[form], f"{place}.{form}"))
            joined = tuple(self.condition(part, f"{place}.{form}[{i}]", depth + 1) for i, part in parts)
            return joined[0] if len(joined) == 1 else Join(cast("Literal['and', 'or']", form), joined)
        return self._leaf(form, value, place)

    def _leaf(self, form: str, value: Mapping[str, object], place: str) -> Condition:
        test = self._test(form, value, place)
        try:
            return test()
        except QueryError as error:
            raise QueryError(f"{place}: {error.message}", remedy=error.remedy) from None

    def _test(self, form: str, value: Mapping[str, object], place: str) -> Callable[[], Condition]:
        attribute = self._attribute(value["attribute"], f"{place}.attribute")
        if form == "op":
            sign = _sign(value["op"], f"{place}.op")
            return partial(Leaf.comparison, attribute, sign, self._value(value["value"], f"{place}.value"))
        if form == "missing":
            if not isinstance(value["missing"], bool):
                _refuse(f"{place}.missing", f"true or false is expected, not {_kind(value['missing'])}")
            return lambda: Leaf.missing(attribute) if value["missing"] else negation(Leaf.missing(attribute))
        items = enumerate(_list(value[form], f"{place}.{form}"))
        values = [self._value(item, f"{place}.{form}[{i}]") for i, item in items]
        if form == "in":
            return partial(Leaf.among, attribute, values)
        if len(values) != 2:
            _refuse(f"{place}.between", f"two values are expected, and there are {len(values)}")
        return partial(Leaf.between, attribute, *values)

    def _attribute(self, name: object, place: str) -> Attribute:
        if not isinstance(name, str):
            _refuse(place, f"a name is expected, not {_kind(name)}")
        if name not in self._domain.all_names:
            remedy = did_you_mean(name, self._domain.all_names)
            raise QueryError(f"{place}: there is no attribute {shown(name)}", remedy=remedy)
        return self._domain[name]

    def _value(self, value: object, place: str) -> Constant:
        self._count(place)
        if isinstance(value, str):
            return Constant(value)
        if not isinstance(value, int | float):
            _refuse(place, f"a text, a number, true or false is expected, not {_kind(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            _refuse(place, f"{value} is not a finite number")
        if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
            _refuse(place, "the number is too large")
        return Constant(value_text(value), quoted=False)

    def _count(self, place: str) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise QueryError(
                f"{place}: the predicate holds more than {MAX_PARTS:,} conditions and values",
                remedy="ask for its parts one by one, or for a range in place of a list",
            )


def _form(value: Mapping[object, object], place: str) -> str:
    """The key of the form; empty for a condition without keys."""
    for key in value:
        if key not in _KEYS:
            _refuse(place, f"the key {shown(str(key))} is unknown")
    form = next((key for key in _FORMS if key in value), "")
    if value and not form:
        _refuse(place, "there is nothing to test; one of the keys 'op', 'between', 'in' and 'missing' is missing")
    for key in sorted(_FORMS.get(form, frozenset()) - {str(key) for key in value}):
        _refuse(place, f"the key {key!r} is missing")
    for key in value:
        if key not in _FORMS[form]:
            _refuse(place, f"the key {key!r} does not go with {form!r}")
    return form


_KEYS = frozenset().union(*_FORMS.values())


def _sign(value: object, place: str) -> Sign:
    if value not in SIGNS:
        _refuse(place, f"{shown(value) if isinstance(value, str) else _kind(value)} is none of {', '.join(SIGNS)}")
    return value


def _list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        _refuse(place, f"a list is expected, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    """The name of its type in JSON."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), "something else")


def _refuse(place: str, message: str) -> NoReturn:
    raise QueryError(f"{place}: {message}", remedy=_SUPPORTED)
