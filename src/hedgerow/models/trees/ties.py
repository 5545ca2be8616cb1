"""Several variables of one attribute in a tree: itself, its levels, and the classes of its codes.

They are nodes of their own, so that a measurement at a coarse level needs no clique of finer codes, and they are *tied*
where the finer one determines the coarser: a clique that has a variable has all present ones that it determines. The
product of sizes over such a clique is the number of its cells, since each counts for what coarser ones leave open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hedgerow.domain import Clique, Domain

_LATTICE = 1 << 10
"""Sizes are whole multiples of its inverse, so that sums of their products are exact."""
_KEPT = 32
"""Sets of variables whose ties are kept."""
_MOST_CLOSURES = 1 << 12
"""Closed sets that ties remember."""


@dataclass(frozen=True)
class Ties:
    """The variables of some scopes, and what else they make necessary.

    Attributes:
        domain: The domain.
        coarser: For each variable that is present those that it determines alone, itself among them.
        joint: Variables that several others determine together, with these: functions of several attributes, and what
            a level and the classes of its attribute say together.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> ties = Ties.of(domain, [("sex", "age"), ("age.10",)])
        >>> ties.closed(("sex", "age")), ties.sizes
        (('sex', 'age', 'age.10'), {'sex': 2.0, 'age.10': 10.0, 'age': 10.0})
    """

    domain: Domain
    coarser: Mapping[str, Clique]
    joint: Mapping[str, Clique]

    @classmethod
    def of(cls, domain: Domain, scopes: Iterable[Clique]) -> Ties:
        """The ties of the variables of some scopes.

        An attribute is present itself where a function of it and others is, or two functions of it alone of which none
        determines all others.

        Raises:
            DomainError: A variable does not exist.
        """
        return _ties(domain, domain.clique(name for scope in scopes for name in scope))

    def closed(self, names: Iterable[str]) -> Clique:
        """Some variables and all present ones that they determine."""
        asked = frozenset(names)
        known = self._closures.get(asked)
        if known is None:
            if len(self._closures) >= _MOST_CLOSURES:
                self._closures.clear()
            known = self._closures[asked] = self._closed(asked)
        return known

    @cached_property
    def _closures(self) -> dict[frozenset[str], Clique]:
        return {}

    def _closed(self, names: Iterable[str]) -> Clique:
        closed = {each for name in names for each in self.coarser[name]}
        for name, sources in self.joint.items():
            if name not in closed and closed.issuperset(sources):
                closed.update(self.coarser[name])
        return self.domain.clique(closed)

    def scopes(self, scopes: Iterable[Clique]) -> Iterator[Clique]:
        """The scopes, closed, and those that tie variables to what they determine."""
        yield from map(self.closed, scopes)
        yield from (self.closed((name,)) for name in self.coarser)
        yield from (self.closed((name, *sources)) for name, sources in self.joint.items())

    @cached_property
    def sizes(self) -> dict[str, float]:
        """The size that each variable adds to a clique; the product over a closed one is never below its cells.

        Functions of one attribute are cut into chains, in each of which a size is divided by that of the next coarser
        one; the finest, where it determines all, is divided by the finest of each chain. What a level and the classes
        say together takes back what they count twice.
        """
        size_of: dict[str, float] = {}
        for group in self._groups():
            top = [name for name in group[:1] if len(self.coarser[name]) == len(group)]
            below_top = group[len(top) :]
            meets = [name for name in below_top if name in self.joint and len(self.domain.base((name,))) == 1]
            rest = [name for name in below_top if name not in meets]
            heads = dict.fromkeys(rest)
            below: dict[str, float] = {}
            for place, name in enumerate(rest):
                after = (each for each in rest[place + 1 :] if each in heads and each in self.coarser[name])
                following = next(after, None)
                heads.pop(following or "", None)
                below[name] = self.domain[following].size if following else 1
            for name in rest:
                size_of[name] = self._upwards(self.domain[name].size / below[name])
            for name in reversed(meets):
                others = (size_of[each] for each in self.coarser[name] if each in size_of)
                size_of[name] = self._upwards(self.domain[name].size / math.prod(others))
            for name in top:
                above = math.prod(self.domain[head].size for head in heads) * math.prod(size_of[meet] for meet in meets)
                size_of[name] = self._upwards(self.domain[name].size / above)
        return size_of

    @staticmethod
    def _upwards(size: float) -> float:
        return math.ceil(size * _LATTICE) / _LATTICE

    def _groups(self) -> Iterator[list[str]]:
        """Variables that are functions of the same attributes, finer ones first."""
        groups: dict[Clique, list[str]] = {}
        for name in self.coarser:
            groups.setdefault(self.domain.base((name,)), []).append(name)
        return (sorted(group, key=lambda name: -len(self.coarser[name])) for group in groups.values())


@lru_cache(maxsize=_KEPT)
def _ties(domain: Domain, named: Clique) -> Ties:
    """Growing trees ask for the same ones again and again."""
    present = dict.fromkeys(named)
    joint = {name: domain.base((name,)) for name in present if len(domain.base((name,))) > 1}
    present.update(dict.fromkeys(name for sources in joint.values() for name in sources))
    alike: dict[Clique, list[str]] = {}
    for name in domain.clique(present):
        alike.setdefault(domain.base((name,)), []).append(name)
    coarser: dict[str, Clique] = {}
    for sources, names in alike.items():
        determined = _determined(domain, names)
        if len(sources) == 1 and all(len(each) < len(names) for each in determined.values()):
            determined = _determined(domain, [*sources, *names])
        meets = {meet.name: pair for meet, pair in domain.meets if determined.keys() >= {*pair}}
        if meets:
            determined = _determined(domain, [*determined, *meets])
        coarser.update(determined)
        joint.update(meets)
    return Ties(domain, coarser, joint)


def _determined(domain: Domain, names: Sequence[str]) -> dict[str, Clique]:
    return {name: tuple(o for o in names if o == name or domain.lookup(name, o) is not None) for name in names}
