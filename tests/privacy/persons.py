"""Tiny tables of records that belong to persons, all their neighbours, and a slow reading of which records count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations_with_replacement, product, repeat

from hedgerow.queries import Neighbours, Relation

Raw = Mapping[str, tuple[int, ...]]
"""The records of each person, as numbers of cells, in the order of the rows."""


def multisets(cells: int, most: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """All records that a person can have: from ``least`` to ``most`` of them."""
    for n in range(least, most + 1):
        yield from combinations_with_replacement(range(cells), n)


def countings(cells: int, relation: Neighbours) -> list[tuple[int, ...]]:
    """All that a person can count for: records, each as often as its weight says; under replace of at least one."""
    persons = relation.persons
    assert persons is not None
    assert persons.at_most is not None
    listed = multisets(cells, persons.at_most, 1 if relation.relation is Relation.REPLACE else 0)
    if persons.weight is None:
        return list(listed)
    weights = range(persons.weight.largest + 1)
    return sorted(
        {
            tuple(chain.from_iterable(map(repeat, records, weighed)))
            for records in listed
            for weighed in product(weights, repeat=len(records))
        }
    )


def neighbours_of_raw(raw: Raw, cells: int, most: int, *, replace: bool) -> Iterator[Raw]:
    """All tables that differ in one person, who has up to so many records; under replace, as many persons."""
    for person in raw:
        rest = {name: records for name, records in raw.items() if name != person}
        if not replace:
            yield rest
        for records in multisets(cells, most) if replace else ():
            yield {"somebody else": records, **rest}
    for records in multisets(cells, most) if not replace else ():
        yield {"somebody else": records, **raw}


def rows_of(raw: Raw) -> list[tuple[str, int]]:
    """Persons and cells, row by row."""
    return [(person, cell) for person, records in raw.items() for cell in records]


def counted_of_one(keys: Sequence[int], records: Sequence[int], at_most: int) -> list[int]:
    """The records of one person that count: sorted, numbered, those with the smallest of 64-bit numbers."""
    ordered = sorted(records)
    if len(ordered) <= at_most:
        return ordered
    drawn = [_drawn(keys, i) for i in range(len(ordered))]
    return sorted(ordered[i] for i in sorted(range(len(ordered)), key=drawn.__getitem__)[:at_most])


def in_order(keys: Sequence[int], records: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The records of one person by their first numbers; those that are alike by others that are as if drawn."""
    ordered = sorted(records)
    drawn = [(record[0], _mixed(_drawn(keys, i) + 0x9E3779B97F4A7C15)) for i, record in enumerate(ordered)]
    return [ordered[i] for i in sorted(range(len(ordered)), key=drawn.__getitem__)]


def window_of(keys: Sequence[int], records: Sequence[tuple[int, int]], at_most: int) -> list[tuple[int, int]]:
    """So many records of one person in a row, in their order, from a place on that is as if drawn by the person."""
    own = in_order(keys, records)
    start = _mixed(_drawn(keys, 0) + 2 * 0x9E3779B97F4A7C15) % (max(0, len(own) - at_most) + 1)
    return own[start : start + at_most]


def _drawn(keys: Sequence[int], number: int) -> int:
    return _mixed(_mixed(keys[0] + number * 0x9E3779B97F4A7C15) ^ keys[1])


def _mixed(bits: int) -> int:
    mask = 2**64 - 1
    bits &= mask
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & mask
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & mask
    return bits ^ (bits >> 31)
