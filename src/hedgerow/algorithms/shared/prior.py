"""Public data as a prior: the factors that they give a hypothesis before anything private is looked at.

R. Liu, G. Vietri, T. Steinke, J. Ullman and Z. S. Wu, "Leveraging Public Data for Practical Private Query Release",
ICML 2021, start multiplicative weights from public records. Here it is a product of small factors fitted to public
tables, so that it can be as large a domain as any hypothesis, and no cell is lost that the public records do not have.
Departing from M. Fuentes, B. C. Mullins, R. McKenna, G. Miklau and D. Sheldon, "Joint Selection: Adaptively
Incorporating Public Information for Private Synthetic Data", AISTATS 2024, public tables are not measurements beside
the private ones: noisy tables of single attributes then move what they speak of alone, and what the public data say of
how attributes go together stays.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Hypothesis, JunctionTree, Model, Proximal, hypothesis, refit
from hedgerow.queries import Marginal, Measurement, NoiseKind, PublicData, Workload
from hedgerow.release import Release

_WIDEST = 3
"""Attributes of a public table, at most."""
_MOST = 1 << 13
"""Public tables that are looked at, at most; those of fewer attributes first."""
_REFUSED = 40
"""Tables that turn out too large, one after the other, before the search ends."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Public tables that a release may start from; they cost no privacy.

    The public records must not be private: none may be in the private table, and whoever knows them may know that.
    A release that was made earlier is as public as its file, and may be about the same people. A private
    table is refused.

    Attributes:
        public: The tables: records that were read as public ones, or the model of a release.
        records: Number of records that they are about; more let weaker patterns in.
        secure: Whether they may be called public; not the model of a release whose noise was not secure.

    Example:
        >>> import hedgerow, pyarrow
        >>> domain = hedgerow.Domain([hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 1)])
        >>> public = hedgerow.read_public(pyarrow.table({"a": [0, 1] * 50, "b": [0, 1] * 50}), domain)
        >>> Prior.of(public).parameters()
        {'kind': 'Prior', 'columns': ['a', 'b'], 'records': 100.0}
    """

    public: PublicData | Model = field(repr=False)
    records: float
    secure: bool = True

    def __post_init__(self) -> None:
        """Check both.

        Raises:
            ConfigError: The tables are private, or none; or there are no records.
        """
        given: Any = self.public
        if not isinstance(given, PublicData | Model):
            private = callable(getattr(given, "marginals", None))
            raise ConfigError(
                f"a {type(given).__name__} is {'private, and ' if private else ''}no prior",
                remedy="give Prior.of(hedgerow.read_public(file, domain)), or Prior.of(hedgerow.Release.load(file))",
            )
        if not (math.isfinite(self.records) and self.records > 0.0):
            raise ConfigError("a prior needs public records", remedy="look into the file: it has none that fit")

    @classmethod
    def of(cls, source: Any) -> Prior:
        """Take public records as a prior, or a release.

        What starts from a release that is not private is not private either, and is stamped so.

        Args:
            source: Records from `read_public`, a release, or a model.

        Raises:
            ConfigError: It is none of these, as a table from `read_table`; or it has no records.
        """
        release = source if isinstance(source, Release) else None
        public = source if release is None else release.model
        records = public.total if isinstance(public, PublicData | Model) else math.nan
        return cls(public, records, release is None or release.provenance.secure)

    def parameters(self) -> dict[str, Any]:
        """The prior in the parameters of a release: its columns and size."""
        return {"kind": "Prior", "columns": list(self.public.domain.names), "records": self.records}

    def check(self, domain: Domain) -> None:
        """Refuse a domain whose records it says nothing about.

        Args:
            domain: Domain of the private table.

        Raises:
            ConfigError: They share no column, or declare one differently.
        """
        shared = self._shared(domain)
        if not shared:
            remedy = "leave the prior out, or name its columns as the domain does"
            raise ConfigError("the prior has no column of the table", remedy=remedy)
        for name in shared:
            if domain[name] != self.public.domain[name]:
                remedy = (
                    "read the public table with the domain of the private one; releases must be over the same values"
                )
                raise ConfigError(f"the prior has other values of {name!r} than the domain", remedy=remedy)

    def factors(self, workload: Workload, largest_cells: int) -> dict[Clique, Floats]:
        """The factors of a hypothesis that is fitted to the public tables.

        From single attributes to three, tables are kept that say more than smaller ones do: whose log-likelihood gains
        more than ``ln(records) / 2`` for each parameter (Schwarz, "Estimating the Dimension of a Model", Annals of
        Statistics 6, 1978), those of tables below it that were not kept included. Those that gain most come first, as
        long as the junction trees are small enough.

        Args:
            workload: Queries that should be answered well.
            largest_cells: Cells that the trees, or the domain, may have.

        Returns:
            Log-factors by scope, of attributes that the prior has; none where it says nothing. Public.
        """
        domain, kept, cost = workload.domain, list[Measurement](), 0.5 * math.log(max(self.records, math.e))
        for scopes in self._scopes(workload, largest_cells):
            tables, fitted = self._tables(domain, scopes), self._fitted(domain, kept).marginals(scopes)
            gains = [_gain(table, model.reshape(-1)) for table, model in zip(tables, fitted, strict=True)]
            known = {below for each in kept for below in _below(each.target.scope)}
            gains = [gain - cost * _parameters(domain, scope, known) for gain, scope in zip(gains, scopes, strict=True)]
            best = [place for place in np.argsort(gains)[::-1].tolist() if gains[place] > 0.0]
            refused = 0  # one after the other
            for place in best:
                held = [*(each.target.scope for each in kept), scopes[place]]
                fits = refused < _REFUSED and JunctionTree.of(domain, held).cells <= largest_cells
                if domain.size <= largest_cells or fits:
                    kept.append(self._measured(domain, scopes[place], tables[place]))
                    refused = 0
                else:
                    refused += 1
        return dict(self._fitted(domain, kept).potentials().tables)

    def _shared(self, domain: Domain) -> list[str]:
        return [name for name in domain.names if name in self.public.domain.names]

    def _scopes(self, workload: Workload, largest_cells: int) -> list[list[Clique]]:
        """The tables below those of a workload that the prior has, in groups of as many attributes."""
        domain, names = workload.domain, set(self._shared(workload.domain))
        bases = dict.fromkeys(tuple(name for name in domain.base(scope) if name in names) for scope in workload.scopes)
        groups: list[list[Clique]] = []
        for size in range(1, _WIDEST + 1):
            scopes = dict.fromkeys(below for base in bases for below in combinations(base, size))
            small = [each for each in scopes if domain.cells(each) <= largest_cells]
            if not small or len(small) + sum(map(len, groups)) > _MOST:
                break
            groups.append(small)
        return groups

    def _tables(self, domain: Domain, scopes: Sequence[Clique]) -> list[Floats]:
        """Public tables in the order of another domain, flat, in counts."""
        public = self.public.domain
        asked = [public.clique(scope) for scope in scopes]
        shaped = (
            np.asarray(table, dtype=np.float64).reshape(public.shape_of(clique))
            for clique, table in zip(asked, self.public.marginals(asked), strict=True)
        )
        return [
            table.transpose([clique.index(name) for name in scope]).reshape(-1)
            for scope, clique, table in zip(scopes, asked, shaped, strict=True)
        ]

    def _measured(self, domain: Domain, scope: Clique, table: Floats) -> Measurement:
        """A public table, with as much noise as a sample of so many records has."""
        scale = math.sqrt(self.records / table.size)
        return Measurement(Marginal(domain, scope), table, NoiseKind.GAUSSIAN, scale)

    def _fitted(self, domain: Domain, kept: Sequence[Measurement]) -> Hypothesis:
        model = hypothesis(domain, self.records, [each.target.scope for each in kept])
        refit(model, kept, Proximal())
        return model


def _gain(table: Floats, model: Floats) -> float:
    """The gain in log-likelihood of a table of counts over a model of the same mass.

    Example:
        >>> round(_gain(np.array([3.0, 1.0]), np.array([2.0, 2.0])), 3)
        0.523
    """
    some = (table > 0.0) & (model > 0.0)
    return float(table[some] @ np.log(table[some] / model[some]))


def _below(scope: Clique) -> Iterator[Clique]:
    """A scope and all parts of it."""
    return chain.from_iterable(combinations(scope, size) for size in range(1, len(scope) + 1))


def _parameters(domain: Domain, scope: Clique, held: Collection[Clique]) -> int:
    """The parameters of a table that are in none of those held.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 2) for name in "ab")
        >>> _parameters(domain, ("a", "b"), []), _parameters(domain, ("a", "b"), [("a",)])
        (8, 6)
    """
    new = (each for each in _below(scope) if each not in held)
    return sum(math.prod(size - 1 for size in domain.shape_of(each)) for each in new)
