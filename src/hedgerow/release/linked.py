"""The releases of linked tables, and their synthetic records with intact keys.

Parents are drawn first, each with its number of children. Each child is then drawn given its parent, from the exact
conditional of the second hypothesis, and so are children of children, given all above them. So a column of the parents
is the same for all children of one parent, and has the distribution of the parents' release. Given their parent,
children are independent of each other: the records do not show what siblings share beyond that.

The second hypothesis relates columns of children to columns of parents. It does not relate columns of parents to each
other, as the parents' release does. So its conditionals count twice what two columns of a parent have in common. To
correct this, children are moved (theory.md section 19) until they have the measured tables. The columns of their
parents stay as they are.

Children with an order are drawn one after the other: the first ones of all parents, then the second ones given these,
and so on. They are not moved: who moves a child moves what the next one was drawn given.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain import IntegerRange, Linked, caveats_in_words
from hedgerow.errors import DomainError, ReleaseError
from hedgerow.models import moves_of
from hedgerow.models.core import Codes, code_type
from hedgerow.models.overlays.moves import Moves
from hedgerow.privacy import Budget, Subsampled, together
from hedgerow.queries import Persons
from hedgerow.release.records import Records
from hedgerow.release.release import Method, Release
from hedgerow.release.sequences import FirstChildren, in_order
from hedgerow.system import Seed, generator

_MOVED_ROWS = 1 << 17
"""Children that are moved together, at most."""
_NAMED = "linked"
_TOGETHER = "give the releases that were made together, the parents' first, in the order of their tables"


@dataclass(frozen=True)
class LinkedRelease:
    """Releases of a table of parents, of their children, and of what is below these, made from one budget.

    Each is a release of its own, which answers questions, is saved and audited by itself; the guarantee of all
    together is that of the whole budget.

    Attributes:
        parents: Release of the parents, the number of children among their attributes.
        children: Release of the children beside their parents.
        linked: The public description of the tables.
        more: Releases of the tables after the first children.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import MWEM, Domain, PureDP, SeededNoise, read_linked, release_linked
        >>> linked = Linked.of(Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)]), key="k", at_most=2)
        >>> homes = pa.table({"k": range(300), "a": [0, 1, 1] * 100})
        >>> people = pa.table({"k": [k for k in range(300) if k % 3 for _ in "12"], "b": [1, 1, 0, 1] * 100})
        >>> tables = read_linked(homes, people, linked)
        >>> both = release_linked(MWEM(), tables, linked, PureDP(100.0), noise=SeededNoise(0))
        >>> homes, people = both.sample(30, seed=0)
        >>> homes.domain.names, people.domain.names, len(homes), len(people)
        (('k', 'a'), ('k', 'b'), 30, 40)
    """

    parents: Release
    children: Release
    linked: Linked
    more: tuple[Release, ...] = ()

    @property
    def releases(self) -> tuple[Release, ...]:
        """All releases, each after that of the parents; the root's first."""
        return (self.parents, self.children, *self.more)

    @classmethod
    def of(cls, parents: Release, children: Release, linked: Linked, more: Sequence[Release] = ()) -> Self:
        """Put releases together; each is told how the tables are linked, so that files know it too.

        Raises:
            ReleaseError: A release is over another domain.
        """
        releases = (parents, children, *more)
        below = [each.domain for each in releases[1:]]
        if parents.domain not in (linked.opened, linked.counted) or below != [link.joined for link in linked.links]:
            raise ReleaseError("the releases are not of the linked tables", remedy=_TOGETHER)
        one, *others = (release.budget.neighbours.unfiltered for release in releases)
        for other in others:
            if one != other or one.persons is None or one.persons.column != linked.key:
                message = f"the releases hide neighbours by {one.value!r} and by {other.value!r}"
                raise ReleaseError(message, remedy="make all from what read_linked gives")
        if tuple(release.budget.neighbours.records for release in releases) != linked.bounds:
            message = "the releases count other numbers of records of one parent than the linked tables say"
            raise ReleaseError(message, remedy=_TOGETHER)
        one_told, other_told, *told = (cls.told(release, linked) for release in releases)
        return cls(one_told, other_told, linked, tuple(told))

    @staticmethod
    def told(release: Release, linked: Linked) -> Release:
        """A release whose file says how the tables are linked."""
        first, *more = ({name: value for name, value in _said(link).items() if value} for link in linked.links)
        named = {**first, "more": more} if more else first
        parameters = {**release.provenance.parameters, _NAMED: named}
        return replace(release, provenance=replace(release.provenance, parameters=parameters))

    @classmethod
    def from_parts(cls, parents: Release, children: Release, *more: Release) -> Self:
        """Releases that were read from their files, in the order of their tables.

        Raises:
            ReleaseError: They were not made together, or one is missing.
        """
        below = (children, *more)
        named = parents.provenance.parameters.get(_NAMED)
        if named is None or any(named != each.provenance.parameters.get(_NAMED) for each in below):
            raise ReleaseError("the releases are not of linked tables", remedy=_TOGETHER)
        said = [named, *named.get("more", ())]
        if len(said) != len(below):
            message = f"{len(said) + 1} tables are linked, and there are {len(below) + 1} releases"
            raise ReleaseError(message, remedy=_TOGETHER)
        known = [[name for name in parents.domain.names if name in children.domain]]  # all but those of first children
        links = list[Linked]()
        try:
            for place, (each, release) in enumerate(zip(said, below, strict=True), 1):
                numbers = tuple(str(other["number"]) for other in said if other.get("above", 0) == place)
                above, order = range(place).index(each.get("above", 0)), each.get("order")
                n_known, order = len(known[above]), order and str(order)
                key, number = str(each["key"]), str(each["number"])
                in_all = each.get("in_all") and int(each["in_all"])
                links.append(Linked(release.domain, key, number, n_known, order, False, numbers, above, in_all))
                known.append([*links[-1].known.names])
        except (DomainError, ValueError) as error:
            raise ReleaseError("the releases are not of the linked tables", remedy=_TOGETHER) from error
        return cls.of(parents, children, replace(links[0], more=tuple(links[1:])), more)

    def guarantee(self, budget: Budget | None = None) -> str:
        """The promise about a parent with all children and all below these, from all releases together.

        How many parents there are is public where their release says so; how many have children never is.

        Args:
            budget: The budget that was divided, which says more than the sum of its parts; by default that sum.
        """
        whole = together(self.parents.budget, self.children.budget)
        for release in self.more:
            whole = together(whole, release.budget)
        divided = whole if budget is None or isinstance(budget, Subsampled) else budget  # a sample's is never divided
        persons, counted = self.children.budget.neighbours.persons, ""
        if self.more:
            bounds = zip(self.linked.bounds[1:], self.linked.links, strict=True)
            listed = ", ".join(f"{most:,} of {link.number!r}" for most, link in bounds)
            persons, counted = Persons(self.linked.key), f" Of one person's records at most these count: {listed}."
        between = self.parents.budget.neighbours.between(persons)
        domains = [release.domain for release in self.releases]
        draft, trusted = (any(getattr(each, name) for each in domains) for name in ("draft", "trusted_types"))
        caveats = caveats_in_words(replace(domains[0], draft=draft, trusted_types=trusted))
        promise = replace(divided, neighbours=between).statement() + counted + caveats
        stamp = next((each.provenance.stamp for each in self.releases if each.provenance.stamp), "")
        return f"{stamp}. With secure noise: {promise}" if stamp else promise

    def sample(self, n: int | None = None, seed: Seed = None, method: Method = "systematic") -> tuple[Records, ...]:
        """Draw parents, the children of each, and what is below these.

        Args:
            n: Number of parents; the rounded noisy number of the table's by default.
            seed: Seed of the drawing, which has no bearing on privacy; fresh by default.
            method: ``"systematic"`` or ``"independent"``: see ``Release.sample``. Independent children follow the
                conditionals of their release alone, and miss its tables where two columns of a parent go together.

        Returns:
            The parents with their key, from 1 to n, and the children, those of each parent together; then the records
            of further tables. Records that others belong to have a key of their own behind that of their parent.

        Raises:
            ConfigError: ``n`` is negative, or the method is unknown.
        """
        return self.with_keys(self.drawn(n, seed, method))

    def drawn(self, n: int | None = None, seed: Seed = None, method: Method = "systematic") -> tuple[Records, ...]:
        """The records of ``sample`` over the domains of the releases, without keys, in the same order.

        Args:
            n: See ``sample``.
            seed: See ``sample``.
            method: See ``sample``.
        """
        drawing = generator(seed)
        drawn = [self.parents.sample(n, drawing, method)]
        for place, link in enumerate(self.linked.links, 1):
            drawn.append(self._children(place, drawn[link.above], drawing, method))
        return tuple(drawn)

    def with_keys(self, drawn: Sequence[Records]) -> tuple[Records, ...]:
        """Records as ``drawn`` gives them, as tables with their keys.

        Args:
            drawn: The records of each table.
        """
        rows = [self._rows(link, drawn[link.above].over(link.counted)) for link in self.linked.links]
        placed = [*zip(drawn, (np.empty(0, dtype=np.int64), *rows), strict=True)]
        return tuple(self._named(place, placed) for place in range(len(drawn)))

    @staticmethod
    def _rows(link: Linked, homes: Records) -> Ints:
        """The place of the parent of each child."""
        return np.repeat(np.arange(len(homes)), homes.codes[:, link.counted.index(link.number)])

    def _children(self, place: int, above: Records, drawing: np.random.Generator, method: Method) -> Records:
        """Draw the records of a table below the root, given their parents."""
        link, release = self.linked.links[place - 1], self.releases[place]
        homes = above.over(link.counted)
        if link.order is not None:
            told = link == self.linked.begun and self._tells_firsts
            firsts = FirstChildren(self.parents, link, above, drawing, method) if told else None
            return in_order(release, link, homes, drawing, method, firsts=firsts)
        people = release.sample(1, drawing, method, homes.take(self._rows(link, homes)))
        if method == "systematic" and len(people) and (moves := self._moves[place - 1]) is not None:
            codes: Codes = people.codes.astype(code_type(link.joined))
            blocks = np.array_split(codes, -(-len(people) // _MOVED_ROWS))
            people = people.with_codes(np.concatenate(list(moves.together(iter(blocks), drawing, link.counted.names))))
        return people

    @property
    def _tells_firsts(self) -> bool:
        """Whether the root's release tells of first children: earlier versions and other queries do not."""
        asked, opened = {name for scope in self.parents.workload.scopes for name in scope}, self.linked.opened
        return self.parents.domain == opened and {*opened.names[self.linked.n_known :]} <= asked

    def _named(self, place: int, drawn: Sequence[tuple[Records, Ints]]) -> Records:
        """The columns of a table, behind the key of its parents' where it has any, and its own where others name it."""
        records, rows = drawn[place]
        link = self.linked.links[place - 1] if place else None
        names = [column.name for column in (self.linked.parents if link is None else link.children).columns]
        keys = [(self.linked.named(place), np.arange(len(records)), len(records))]
        keys += [] if link is None else [(link.key, rows, len(drawn[link.above][0]))]
        for name, codes, most in keys:
            if name is not None:
                records = records.behind(IntegerRange(name, 1, max(2, most)), codes, names)
                names = [name, *names]
        return records

    @cached_property
    def _moves(self) -> list[Moves | None]:
        """Moves of children towards the tables of their columns that were measured; None where these are too many."""
        found = []
        for link, release in zip(self.linked.links, self.releases[1:], strict=True):
            scopes = (link.joined.base(measurement.target.scope) for measurement in release.measurements)
            chosen = [scope for scope in scopes if not {*scope} <= {*link.counted.names}]
            found.append(moves_of(release.model, chosen) if link.order is None else None)
        return found

    def write_records(
        self,
        parents: str | os.PathLike[str],
        children: str | os.PathLike[str],
        n: int | None = None,
        *,
        seed: Seed = None,
        method: Method = "systematic",
        more: Sequence[str | os.PathLike[str]] = (),
    ) -> tuple[int, ...]:
        """Draw records into files or tables, each of which is replaced in one step.

        Args:
            parents: Place of the parents, as for ``Records.write``.
            children: Place of the children.
            n: See ``sample``.
            seed: See ``sample``.
            method: See ``sample``.
            more: Places of the records of further tables.

        Returns:
            Number of parents, of children, and of the records of further tables.

        Raises:
            ConfigError: A place is unknown, or see ``sample``.
            RecordsError: A database cannot be written to.
        """
        drawn = self.sample(n, seed, method)
        for records, place in zip(drawn, (parents, children, *more), strict=True):
            records.write(place)
        return tuple(map(len, drawn))


def _said(link: Linked) -> dict[str, str | int | None]:
    """What files say of a table of children; what is not true of it is left out."""
    hung = {"above": link.above, "in_all": link.in_all}
    return {"key": link.key, "number": link.number, "order": link.order, **hung}
