"""The releases of two linked tables, and their synthetic records with intact keys.

Parents are drawn first, each with its number of children. Each child is then drawn given its parent, from the exact
conditional of the second hypothesis. So a column of the parents is the same for all children of one parent, and has the
distribution of the parents' release. Given their parent, children are independent of each other: the records do not
show what siblings share beyond that.

The second hypothesis relates columns of children to columns of parents. It does not relate columns of parents to each
other, as the parents' release does. So its conditionals count twice what two columns of a parent have in common. To
correct this, children are moved (theory.md section 19) until they have the measured tables. The columns of their
parents stay as they are.

Children with an order are drawn one after the other: the first ones of all parents, then the second ones given these,
and so on. They are not moved: who moves a child moves what the next one was drawn given.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from hedgerow.domain import IntegerRange, Linked, caveats_in_words
from hedgerow.errors import ReleaseError
from hedgerow.models import moves_of
from hedgerow.models.core import Codes, code_type
from hedgerow.models.overlays.moves import Moves
from hedgerow.privacy import Budget, Subsampled, together
from hedgerow.release.records import Records
from hedgerow.release.release import Method, Release
from hedgerow.release.sequences import in_order
from hedgerow.system import Seed, generator

_MOVED_ROWS = 1 << 17
"""Children that are moved together, at most."""
_NAMED = "linked"
_TOGETHER = "give the two releases that were made together, the parents' first"


@dataclass(frozen=True)
class LinkedRelease:
    """Releases of a table of parents and of their children, made from one budget.

    Each is a release of its own, which answers questions, is saved and audited by itself; the guarantee of both
    together is that of the whole budget.

    Attributes:
        parents: Release of the parents, the number of children among their attributes.
        children: Release of the children beside their parents.
        linked: The public description of the two tables.

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

    @classmethod
    def of(cls, parents: Release, children: Release, linked: Linked) -> Self:
        """Put two releases together; each is told how the tables are linked, so that files know it too.

        Raises:
            ReleaseError: A release is over another domain.
        """
        if parents.domain != linked.counted or children.domain != linked.joined:
            raise ReleaseError("the releases are not of the linked tables", remedy=_TOGETHER)
        one, other = (release.budget.neighbours.unfiltered for release in (parents, children))
        if one != other or one.persons is None or one.persons.column != linked.key:
            message = f"the releases hide neighbours by {one.value!r} and by {other.value!r}"
            raise ReleaseError(message, remedy="make both from what read_linked gives")
        return cls(cls.told(parents, linked), cls.told(children, linked), linked)

    @staticmethod
    def told(release: Release, linked: Linked) -> Release:
        """A release whose file says how the two tables are linked."""
        ordered = {} if linked.order is None else {"order": linked.order}
        parameters = {**release.provenance.parameters, _NAMED: {"key": linked.key, "number": linked.number, **ordered}}
        return replace(release, provenance=replace(release.provenance, parameters=parameters))

    @classmethod
    def from_parts(cls, parents: Release, children: Release) -> Self:
        """Two releases that were read from their files.

        Raises:
            ReleaseError: They were not made together.
        """
        named = parents.provenance.parameters.get(_NAMED)
        if named is None or named != children.provenance.parameters.get(_NAMED):
            raise ReleaseError("the releases are not of linked tables", remedy=_TOGETHER)
        order = named.get("order")
        linked = Linked(children.domain, str(named["key"]), str(named["number"]), order and str(order))
        return cls.of(parents, children, linked)

    def guarantee(self, budget: Budget | None = None) -> str:
        """The promise about a parent with all children, from both releases together.

        How many parents there are is public where their release says so; how many have children never is.

        Args:
            budget: The budget that was divided, which says more than the sum of its parts; by default that sum.
        """
        whole = together(self.parents.budget, self.children.budget)
        divided = whole if budget is None or isinstance(budget, Subsampled) else budget  # a sample's is never divided
        between = self.parents.budget.neighbours.between(self.children.budget.neighbours.persons)
        promise = replace(divided, neighbours=between).statement() + caveats_in_words(self.children.domain)
        stamp = self.parents.provenance.stamp or self.children.provenance.stamp
        return f"{stamp}. With secure noise: {promise}" if stamp else promise

    def sample(self, n: int | None = None, seed: Seed = None, method: Method = "systematic") -> tuple[Records, Records]:
        """Draw parents, and the children of each.

        Args:
            n: Number of parents; the rounded noisy number of the table's by default.
            seed: Seed of the drawing, which has no bearing on privacy; fresh by default.
            method: ``"systematic"`` or ``"independent"``: see ``Release.sample``. Independent children follow the
                conditionals of their release alone, and miss its tables where two columns of a parent go together.

        Returns:
            The parents with their key, from 1 to n, and the children, those of each parent together.

        Raises:
            ConfigError: ``n`` is negative, or the method is unknown.
        """
        drawing = generator(seed)
        linked = self.linked
        homes = self.parents.sample(n, drawing, method)
        numbers = homes.codes[:, linked.counted.index(linked.number)]
        rows = np.repeat(np.arange(len(homes)), numbers)
        ordered = linked.order is not None
        people = (
            in_order(self.children, linked, homes, drawing, method)
            if ordered
            else self.children.sample(1, drawing, method, homes.take(rows))
        )
        if not ordered and method == "systematic" and len(people) and self._moves is not None:
            codes: Codes = people.codes.astype(code_type(linked.joined))
            blocks = np.array_split(codes, -(-len(people) // _MOVED_ROWS))
            moved = self._moves.together(iter(blocks), drawing, linked.counted.names)
            people = people.with_codes(np.concatenate(list(moved)))
        key = IntegerRange(linked.key, 1, max(2, len(homes)))
        return (
            homes.behind(key, np.arange(len(homes)), (column.name for column in linked.parents.columns)),
            people.behind(key, rows, (column.name for column in linked.children.columns)),
        )

    @cached_property
    def _moves(self) -> Moves | None:
        """Moves of children towards the tables of their columns that were measured; None where these are too many."""
        domain, known = self.linked.joined, {*self.linked.counted.names}
        scopes = (domain.base(measurement.target.scope) for measurement in self.children.measurements)
        return moves_of(self.children.model, [scope for scope in scopes if not {*scope} <= known])

    def write_records(
        self,
        parents: str | os.PathLike[str],
        children: str | os.PathLike[str],
        n: int | None = None,
        *,
        seed: Seed = None,
        method: Method = "systematic",
    ) -> tuple[int, int]:
        """Draw records into two files or tables, each of which is replaced in one step.

        Args:
            parents: Place of the parents, as for ``Records.write``.
            children: Place of the children.
            n: See ``sample``.
            seed: See ``sample``.
            method: See ``sample``.

        Returns:
            Number of parents and of children.

        Raises:
            ConfigError: A place is unknown, or see ``sample``.
            RecordsError: A database cannot be written to.
        """
        homes, people = self.sample(n, seed, method)
        homes.write(parents)
        people.write(children)
        return len(homes), len(people)
