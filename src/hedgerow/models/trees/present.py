"""Answers about variables that no tree has, from those that one has.

What a tree determines is answered there. Where it has a level of an attribute only, the codes inside each of its
classes are as likely as each other: the hypothesis says nothing finer. Where it has nothing of an attribute, all codes
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from hedgerow.arrays import Floats, Places
from hedgerow.domain import Clique, Domain, summed
from hedgerow.models.trees.beliefs import Beliefs
from hedgerow.models.trees.elimination import Allowed, tangled, where
from hedgerow.models.trees.support import codes_of

_OVERLAPS = 1 << 22
"""Entries of the largest table of how two levels overlap; beyond, the attribute itself is the way from one to the
other."""


@dataclass(frozen=True)
class Way:
    """The way from tables of the trees to the table of a clique.

    Attributes:
        asked: Variables that trees determine, in domain order.
        split: Those of them that are replaced by finer or overlapping ones, with these.
        free: Variables of attributes of which no tree has anything.
        wanted: The clique, which all these together determine.
    """

    asked: Clique
    split: tuple[tuple[str, str], ...]
    free: Clique
    wanted: Clique

    @property
    def made(self) -> Clique:
        """The variables of the table that is made on the way."""
        finer = dict(self.split)
        return (*(finer.get(name, name) for name in self.asked), *self.free)

    def cells(self, domain: Domain) -> int:
        """Cells of the largest table on the way."""
        return max(domain.cells(names) for names in ((*self.asked, *self.free), self.made, self.wanted))

    def follow(self, domain: Domain, table: Floats) -> Floats:
        """The table of the clique.

        Args:
            domain: The domain.
            table: Probabilities of what was asked, shape of ``asked``.
        """
        for axis, name in enumerate(self.asked):
            finer = dict(self.split).get(name)
            if finer is not None:
                table = _split(domain, table, axis, (name, finer))
        for name in self.free:
            table = np.multiply.outer(table, _shares(codes_of(domain, name)))
        return summed(domain, table, self.made, self.wanted)


class Present:
    """The variables of some trees, by the attributes that they are functions of.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> part = Beliefs(JunctionTree.of(domain, [("age.10",)]))
        >>> way = Present(domain, {"age.10": part}).way(("sex", "age"))
        >>> way.asked, way.split, way.free
        (('sex', 'age.10'), (('age.10', 'age'),), ())
    """

    def __init__(self, domain: Domain, parts: Mapping[str, Beliefs]) -> None:
        """Look at parts as they are now.

        Args:
            domain: The domain.
            parts: The part of each variable that is in one.
        """
        self._domain = domain
        self._parts = parts
        self._plain = tangled(domain, parts) is None
        self._ways: dict[Clique, Way | None] = {}
        self._carriers: dict[str, str | None] = {}
        self._of: dict[str, list[str]] = {}
        self._joint: set[str] = set()
        for name in parts:
            sources = domain.base((name,))
            if len(sources) == 1:
                self._of.setdefault(sources[0], []).append(name)
            else:
                self._joint.update(sources)

    def finest(self, attribute: str) -> str | None:
        """The variable that determines all others of an attribute that trees have."""
        names = self._of.get(attribute, [])
        if attribute in names:
            return attribute
        return next((name for name in names if self._follow(name, names)), None)

    def part(self, name: str) -> Beliefs | None:
        """The part that determines a variable."""
        if name not in self._carriers:
            self._carriers[name] = self._carrier(name)
        carrier = self._carriers[name]
        return None if carrier is None else self._parts[carrier]

    def _carrier(self, name: str) -> str | None:
        """A variable of the part that determines another."""
        if name in self._parts:
            return name
        finest = [self.finest(attribute) for attribute in self._domain.base((name,))]
        for each in finest:
            if each is not None and self._parts[each].tree.homes(name):
                return each
        return None

    def ways(self, cliques: Sequence[Clique]) -> list[Way | None]:
        """The way to the table of each of many cliques; None for those that are to be asked for as they are."""
        if self._plain and tangled(self._domain, set(chain.from_iterable(cliques))) is None:
            return [None] * len(cliques)
        return [self.way(clique) for clique in cliques]

    def way(self, clique: Clique) -> Way | None:
        """The way to the table of a clique; None if it is to be asked for as it is."""
        if self._plain and tangled(self._domain, clique) is None:
            return None
        if clique not in self._ways:
            way = self._way(clique)
            self._ways[clique] = None if way.asked == clique else way
        return self._ways[clique]

    def _way(self, clique: Clique) -> Way:
        asked, split, free = list[str](), list[tuple[str, str]](), list[str]()
        groups, joint = self._grouped(clique)
        for name in joint:
            if self.part(name) is not None:
                asked.append(name)
            else:
                groups.update((source, [source]) for source in self._domain.base((name,)))
        for attribute, names in groups.items():
            finest = self.finest(attribute)
            if names == [attribute] and (finest is None or finest == attribute):
                asked.append(attribute)  # uniform where no tree has it
            elif finest is None:
                free.append(names[0] if len(names) == 1 else attribute)
            elif self._follow(finest, names):
                asked += names
            else:
                asked.append(finest)
                split.append((finest, self._target(finest, attribute, names)))
        return Way(self._domain.reduced(asked), tuple(split), tuple(free), clique)

    def _target(self, finest: str, attribute: str, names: Sequence[str]) -> str:
        """The variable that replaces a level: the one that was asked for, or the attribute if there are several."""
        if len(names) > 1 or self._domain[finest].size * self._domain[names[0]].size > _OVERLAPS:
            return attribute
        return names[0]

    def evidence(self, allowed: Mapping[str, Allowed]) -> tuple[float, dict[str, Allowed], dict[str, Floats]] | None:
        """Conditions in terms of what the parts determine.

        Args:
            allowed: For each variable the codes that count.

        Returns:
            The probability of those on attributes of which no part has anything; codes of variables that no others
            determine or follow from; and for other variables the probability of the conditions for each code. None
            where conditions on a function of several attributes are not to be had that way.
        """
        chance, codes, weights = 1.0, dict[str, Allowed](), dict[str, Floats]()
        groups, joint = self._grouped(allowed)
        if any(self.part(name) is None for name in joint):
            return None
        weights.update((name, indicator(self._domain, name, allowed[name])) for name in joint)
        entangled = self._joint.union(self._domain.base(joint))
        for attribute, names in groups.items():
            finest = self.finest(attribute)
            if finest is None:
                chance *= self._share(attribute, {name: allowed[name] for name in names})
            elif names == self._of[attribute] and attribute not in entangled:
                codes[finest] = allowed[finest]
            elif self._follow(finest, names):
                carrier = min(
                    (each for each in self._of[attribute] if self._follow(each, names)),
                    key=lambda each: self._domain[each].size,
                )
                weights[carrier] = self._holds(carrier, {name: allowed[name] for name in names})
            else:
                holds = self._holds(attribute, {name: allowed[name] for name in names})
                counts = codes_of(self._domain, finest)
                inside = np.bincount(_codes(self._domain, finest), holds, len(counts))
                weights[finest] = np.divide(inside, counts, out=np.zeros(len(counts)), where=counts > 0)
        return chance, codes, weights

    # Inside

    def _grouped(self, names: Iterable[str]) -> tuple[dict[str, list[str]], list[str]]:
        """Functions of one attribute, by it; and those of several."""
        groups, joint = dict[str, list[str]](), list[str]()
        for name in names:
            sources = self._domain.base((name,))
            if len(sources) == 1:
                groups.setdefault(sources[0], []).append(name)
            else:
                joint.append(name)
        return groups, joint

    def _follow(self, finer: str, names: Iterable[str]) -> bool:
        return all(self._domain.lookup(finer, name) is not None for name in names)

    def _holds(self, finer: str, allowed: Mapping[str, Allowed]) -> Floats:
        """1 for each code of a variable that has allowed codes of others that it determines, else 0."""
        holds = np.ones(self._domain[finer].size)
        for name, codes in allowed.items():
            holds *= indicator(self._domain, name, codes)[self._domain.lookup(finer, name)]
        return holds

    def _share(self, attribute: str, allowed: Mapping[str, Allowed]) -> float:
        """The fraction of the codes of an attribute that is allowed."""
        size = self._domain[attribute].size
        if list(allowed) == [attribute]:
            return len(allowed[attribute]) / size
        return float(self._holds(attribute, allowed).mean())


def indicator(domain: Domain, name: str, codes: Allowed) -> Floats:
    """1 for some codes of a variable, 0 for the others.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> indicator(Domain((IntegerRange("a", 0, 3),)), "a", [1, 2])
        array([0., 1., 1., 0.])
    """
    mask = np.zeros(domain[name].size)
    mask[where((name,), mask.shape, {name: codes})] = 1.0
    return mask


def _codes(domain: Domain, name: str) -> Places:
    """The code of a level for each code of its attribute."""
    return domain.codes_in(name, domain.base((name,)))


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum())


def _split(domain: Domain, table: Floats, axis: int, names: tuple[str, str]) -> Floats:
    """A table with another function of the same attribute for a level, whose codes are alike inside each class."""
    name, finer = names
    within, counts = codes_of(domain, finer), codes_of(domain, name)
    shares = np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)
    lookup = domain.lookup(finer, name)
    if lookup is not None:
        factors = within * shares[lookup]  # of a code that no record has nothing is taken
        along = factors.reshape([-1 if each == axis else 1 for each in range(table.ndim)])
        return np.asarray(table.take(lookup, axis) * along)
    pairs = _codes(domain, name).astype(np.int64) * len(within) + _codes(domain, finer)
    overlaps = np.bincount(pairs, minlength=len(counts) * len(within)).reshape(len(counts), -1) * shares[:, None]
    return np.asarray(np.moveaxis(np.tensordot(table, overlaps, axes=(axis, 0)), -1, axis), dtype=np.float64)
