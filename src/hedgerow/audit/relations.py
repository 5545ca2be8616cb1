"""Neighbouring relations: what each means in words, and how far one record moves an answer under it.

| answer | add-remove | replace | replace, then filter |
|---|---|---|---|
| number of records | 1 | public | 1 |
| count of those who meet a condition | 1 | 1 | 1 |
| marginal, all cells, L1 / L2 | 1 / 1 | 2 / sqrt 2 | 2 / sqrt 2 |
| parity | 1 | 2 | 2 |
| several parities, L1 / L2 | all / root of all | 2 moved / 2 root of moved | the same |
| values from low to high | max(-low, high) | high - low | the larger of the two |

A record that is replaced moves those parities which have an odd number of attributes in common with the attributes that
it changes in: "moved" are the most that any change moves (docs/theory.md section 13).

One that is replaced before a filter is replaced, added or removed after it: the largest of each counts.

Where persons have several records, of which at most m are counted, all of these are m times as large, as after a filter
where persons are replaced: they have different numbers of records, unless m is 1. Where a record counts as often as its
weight says, up to W times, they are W times as large again, and persons never have a public number of records.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

ADD_REMOVE = "add-remove"
REPLACE = "replace"
REPLACE_FILTERED = "replace-then-filter"

_IN_WORDS = {
    ADD_REMOVE: "one person's record is added or left out",
    REPLACE: "one person's record is replaced by any other (the number of records is public)",
    REPLACE_FILTERED: "one person's record in the whole table is replaced by any other, before the filter chooses rows "
    "(the number of records in the whole table is public, how many pass the filter is not)",
}
_OF_PERSONS_IN_WORDS = {
    ADD_REMOVE: "all records of one person are added or left out",
    REPLACE: "all records of one person are replaced by any others (the number of persons is public)",
    REPLACE_FILTERED: "all records of one person in the whole table are replaced by any others, before the filter "
    "chooses rows (the number of persons in the whole table is public, how many records pass the filter is not)",
}
_LISTED = 16
"""Attributes of parities of which all changes are looked at."""
_UNIT = 2**52
"""Whole parts of a price, rounded down."""
_PERSONS = re.compile(r"([a-z-]+) of persons \((.+)\), at most ([1-9][0-9]*) records?", re.DOTALL)
_WEIGHT = re.compile(r"(.+?)(, each| of records) of weight \(([^()]+)\) up to ([1-9][0-9]*)( in 1/1024)?", re.DOTALL)


class _RelationFields(NamedTuple):
    """The change, the column of persons and how many records of one count, the column of weights and the largest."""

    change: str
    column: str | None = None
    most: int = 1
    weight: str | None = None
    largest: int = 1
    rounded: bool = False


def _fields_of(relation: str) -> _RelationFields:
    weighted = _WEIGHT.fullmatch(relation)
    text, joint, weight, largest, parts = weighted.groups() if weighted else (relation, None, None, "1", None)
    matched = _PERSONS.fullmatch(text)
    change, column, most = matched.groups() if matched else (text, None, "1")
    if change not in _IN_WORDS or (weighted and (joint == ", each") != (column is not None)):
        raise ValueError(f"there is no neighbouring relation {relation!r}")
    return _RelationFields(change, column, int(most), weight, int(largest), parts is not None)


def in_words(relation: str) -> str:
    """The difference of two neighbouring tables, in words.

    Example:
        >>> in_words("add-remove")
        "one person's record is added or left out"
    """
    change, column, most, weight, largest, rounded = _fields_of(relation)
    how = f"the column {weight!r}{', rounded to 1/1,024' * rounded}"
    weighted = f" counts as often as its weight says ({how}), at most {largest:,} times"
    if column is None:
        return _IN_WORDS[change] if weight is None else f"{_IN_WORDS[change]}, where a record{weighted}"
    counted = f"of whose records at most {most:,} count"
    words = f"{_OF_PERSONS_IN_WORDS[change]}, where a person is a value of the column {column!r}, {counted}"
    return words if weight is None else f"{words}, and each{weighted}"


def of_whole_tables(relation: str) -> str:
    """The relation between whole tables, before any filter: amounts under the same one add up.

    Example:
        >>> of_whole_tables("replace-then-filter"), of_whole_tables("add-remove of persons (id), at most 5 records")
        ('replace', 'add-remove of persons (id)')
    """
    change, column, *_ = _fields_of(relation)
    whole = REPLACE if change == REPLACE_FILTERED else change
    return whole if column is None else f"{whole} of persons ({column})"


def is_public(relation: str) -> bool:
    """Whether neighbours have the same number of records.

    Example:
        >>> is_public("replace"), is_public("replace of persons (id), at most 2 records")
        (True, False)
    """
    change, _, most, weight, *_ = _fields_of(relation)
    return change == REPLACE and most == 1 and weight is None


def moves_two(relation: str) -> bool:
    """Whether one record takes another's place, so that in a table it leaves one cell for another.

    Example:
        >>> moves_two("replace-then-filter"), moves_two("replace of persons (id), at most 2 records")
        (True, False)
    """
    return _fields_of(relation).change != ADD_REMOVE and records_of_person(relation) == 1


def records_of_person(relation: str) -> int:
    """The number of records that one person counts for at most.

    Example:
        >>> records_of_person("add-remove of persons (id), at most 5 records")
        5
        >>> records_of_person("add-remove of records of weight (w) up to 40")
        40
    """
    parts = _fields_of(relation)
    return parts.most * parts.largest


def squared_of_lost(relation: str, column: str, cap: int, possible: int) -> Fraction:
    """The square of the most that a cap takes away of what one person counts for.

    Args:
        relation: The relation.
        column: The column of weights.
        cap: The largest weight that counts.
        possible: The largest possible weight.

    Raises:
        ValueError: The relation has other weights, or a cap that is not below.

    Example:
        >>> squared_of_lost("add-remove of records of weight (w) up to 40", "w", 40, 43)
        Fraction(9, 1)
    """
    if not cap < possible:
        raise ValueError(f"a cap at {cap!r} takes nothing away of weights up to {possible!r}")
    return Fraction(_records_of_weights(relation, column, cap) * (possible - cap)) ** 2


def squared_of_power(relation: str, column: str, cap: int, power: int) -> Fraction:
    """The square of the most that the weights of one person add up to, each to a power.

    Args:
        relation: The relation.
        column: The column of weights.
        cap: The largest weight that counts.
        power: 0 or 2.

    Raises:
        ValueError: The relation has other weights, or the power is another one.

    Example:
        >>> squared_of_power("add-remove of records of weight (w) up to 40", "w", 40, 2)
        Fraction(2560000, 1)
    """
    if power not in (0, 2):
        raise ValueError(f"{power!r} is no power of weights that is measured")
    return Fraction(_records_of_weights(relation, column, cap) * cap**power) ** 2


def _records_of_weights(relation: str, column: str, cap: int) -> int:
    """The number of records of one person that count, where they have these weights."""
    parts = _fields_of(relation)
    if (parts.weight, parts.largest) != (column, cap):
        raise ValueError(f"{relation!r} has no weights {column!r} with a cap at {cap!r}")
    return parts.most


def squared_of_persons(relation: str) -> Fraction:
    """The square of the number of records that one person counts for at most.

    Example:
        >>> squared_of_persons("add-remove of persons (id), at most 5 records")
        Fraction(25, 1)
    """
    return Fraction(records_of_person(relation)) ** 2


def check_relation(relation: object) -> str:
    """The relation itself, if it is one of those known.

    Raises:
        ValueError: There is no such relation.

    Example:
        >>> check_relation("replace")
        'replace'
    """
    if not isinstance(relation, str):
        raise ValueError(f"there is no neighbouring relation {relation!r}")
    _fields_of(relation)
    return relation


def squared_of_marginal(relation: str, *, gaussian: bool) -> Fraction:
    """The square of how far one record moves all cells of a marginal: in L2 for Gaussian noise, else in L1.

    Example:
        >>> squared_of_marginal("replace", gaussian=True)
        Fraction(2, 1)
    """
    if _fields_of(relation).change == ADD_REMOVE:
        return squared_of_persons(relation)
    return (2 if gaussian else 4) * squared_of_persons(relation)


def squared_of_width(relation: str, *, counts: bool) -> Fraction:
    """The square of how far one record moves a sum of values, at least, in units of the distance of their limits.

    Args:
        relation: The neighbouring relation.
        counts: Whether the values are 0 and 1; else they may lie on both sides of 0, half of the distance from it.

    Example:
        >>> squared_of_width("add-remove", counts=False), squared_of_width("replace", counts=False)
        (Fraction(1, 4), Fraction(1, 1))
    """
    halved = _fields_of(relation).change == ADD_REMOVE and not counts
    return squared_of_persons(relation) / (4 if halved else 1)


def squared_of_values(relation: str, low: Fraction, high: Fraction) -> Fraction:
    """The square of how far one record moves a sum of values between two limits.

    Example:
        >>> [squared_of_values(relation, Fraction(-1), Fraction(1)) for relation in ("add-remove", "replace")]
        [Fraction(1, 1), Fraction(4, 1)]
    """
    one, other = max(-low, high), high - low
    if _fields_of(relation).change != ADD_REMOVE:
        one = other if is_public(relation) else max(one, other)
    return one * one * squared_of_persons(relation)


def squared_of_parities(
    relation: str, scopes: Sequence[Sequence[str]], ratios: Sequence[float], *, gaussian: bool
) -> Fraction:
    """The square of how far one record moves several parities, each in its own unit: in L2 for Gaussian noise, or L1.

    Args:
        relation: The neighbouring relation.
        scopes: Attributes of each.
        ratios: Unit of each; all are 1 if empty.
        gaussian: Whether the distance is L2.

    Example:
        >>> pairs = [["a"], ["b"], ["c"], ["a", "b"], ["a", "c"], ["b", "c"]]
        >>> [squared_of_parities(each, pairs, [], gaussian=True) for each in ("add-remove", "replace")]
        [Fraction(6, 1), Fraction(16, 1)]
    """
    prices = defaultdict[frozenset[str], int](int)
    for place, scope in enumerate(scopes):
        unit = Fraction(ratios[place]) if ratios else Fraction(1)
        prices[frozenset(scope)] += math.floor(_UNIT / (unit**2 if gaussian else unit))
    replaced = _fields_of(relation).change != ADD_REMOVE
    moved = Fraction(_most_moved(prices) if replaced else sum(prices.values()), _UNIT)
    each = 2 if replaced else 1
    return each**2 * (moved if gaussian else moved**2) * squared_of_persons(relation)


def _most_moved(prices: dict[frozenset[str], int]) -> int:
    """The largest sum of prices of sets that a change moves; of many attributes as if all of a size were there."""
    names = sorted(frozenset().union(*prices))
    if len(names) > _LISTED:
        dearest = defaultdict[int, int](int)
        for each, price in prices.items():
            dearest[len(each)] = max(dearest[len(each)], price)
        return min(
            sum(prices.values()), max(_of_all(len(names), changed, dearest) for changed in range(1, len(names) + 1))
        )
    signed = [0] * 2 ** len(names)  # prices, and from then on their sums with the sign that a change gives
    for each, price in prices.items():
        signed[sum(1 << names.index(name) for name in each)] += price
    for bit in range(len(names)):
        for start in range(0, len(signed), 2 << bit):
            low, high = signed[start : start + (1 << bit)], signed[start + (1 << bit) : start + (2 << bit)]
            signed[start : start + (1 << bit)] = [a + b for a, b in zip(low, high, strict=True)]
            signed[start + (1 << bit) : start + (2 << bit)] = [a - b for a, b in zip(low, high, strict=True)]
    return (signed[0] - min(signed)) // 2


def _of_all(attributes: int, changed: int, dearest: dict[int, int]) -> int:
    """What a change in so many attributes moves of all sets."""
    return sum(
        price
        * sum(
            math.comb(changed, odd) * math.comb(attributes - changed, size - odd)
            for odd in range(1, min(size, changed) + 1, 2)
        )
        for size, price in dearest.items()
    )
