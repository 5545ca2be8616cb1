"""Fourier coefficients of tables of binary attributes: which a workload needs, and tables made of them.

The marginal over a set S of binary attributes and the parities over the subsets of S determine each other:
``cell x = 2^-|S| sum over A in S of (-1)^(x_A) parity_A``. The parity of no attribute is the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind, Parities, Workload, walsh_hadamard

LARGEST_CLOSURE = 2**18
"""Most parities that are measured."""


def coefficients(workload: Workload) -> Workload:
    """The parities that the answers of a workload are functions of, but for that of no attribute.

    Args:
        workload: Over binary attributes, as far as its queries look at them.

    Raises:
        ConfigError: An attribute is not binary, or there are more than 2^18 parities.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> coefficients(Workload.parse("marginals:a*b,b*c", domain)).spec
        'parities:a,b,c,a*b,b*c'
    """
    domain = workload.domain
    _check_binary(workload)
    found: dict[Clique, None] = {}
    for family in workload.families:
        for scope in family.scopes:
            parts = [scope] if isinstance(family, Parities) else _subsets(scope)
            found.update(dict.fromkeys(parts))
            if len(found) > LARGEST_CLOSURE:
                raise _too_many(f"more than {LARGEST_CLOSURE:,}")
    if not found:
        raise ConfigError("the workload asks for the number of records alone", remedy="ask for a marginal")
    ordered = sorted(found, key=lambda clique: (len(clique), domain.axes(clique)))
    return Workload.parities(domain, cliques=ordered)


def _check_binary(workload: Workload) -> None:
    domain = workload.domain
    for name in dict.fromkeys(name for scope in workload.scopes for name in scope):
        if domain[name].size != 2:
            raise ConfigError(
                f"Fourier coefficients are for attributes with 2 codes; {name!r} has {domain[name].size}",
                remedy="put its values into two bins, leave it out of the workload, or take mwem, laplace or gaussian",
            )


def _subsets(scope: Clique) -> Iterator[Clique]:
    if 2 ** len(scope) > LARGEST_CLOSURE:
        raise _too_many(f"2^{len(scope)}")
    return (part for size in range(1, len(scope) + 1) for part in combinations(scope, size))


def _too_many(number: str) -> ConfigError:
    return ConfigError(
        f"the workload has {number} Fourier coefficients", remedy="ask for marginals of fewer attributes"
    )


@final
@dataclass(frozen=True)
class Spectrum:
    """A table given by its coefficients, so that its cells may be negative; fits the protocol ``Tables``.

    Attributes:
        domain: The domain; the attributes of all coefficients are binary.
        known: Coefficients, in counts; those that are not given are 0.
        cheap_cells: No table is made unless it is asked for.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> Spectrum(domain, {(): 10.0, ("a",): 4.0}).marginals([("a",), ("a", "b")])
        [array([7., 3.]), array([[3.5, 3.5],
               [1.5, 1.5]])]
    """

    domain: Domain
    known: Mapping[Clique, float]
    cheap_cells: int = 0

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], total: float) -> Spectrum:
        """From measured parities and the number of records."""
        known = {measured.target.scope: float(measured.values[0]) for measured in measurements}
        return cls(domain, {**known, (): total})

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Tables of the cliques, in counts."""
        return [self._marginal(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        return np.array([float(query.of_table(self._marginal(query.scope))[0]) for query in queries])

    def _marginal(self, clique: Clique) -> Floats:
        """The transform is its own inverse, but for the number of cells."""
        shape = self.domain.shape_of(clique)
        parts = [tuple(name for name, bit in zip(clique, bits, strict=True) if bit) for bits in np.ndindex(shape)]
        values = np.array([self.known.get(part, 0.0) for part in parts])
        return walsh_hadamard(values.reshape(shape)).reshape(shape) / values.size


def as_marginals(domain: Domain, measurements: Sequence[Measurement], total: float) -> list[Measurement]:
    """What measured parities say, as marginals wherever they determine one.

    A hypothesis is fitted to whole marginals much faster than to parities (design.md section 5). Independent noise of
    equal variance on the 2^k coefficients of a marginal is noise of the same kind on its cells, uncorrelated, with
    2^-k of the variance; it is told as Gaussian, being a sum. For fits only: no new measurement is claimed.

    Args:
        domain: The domain.
        measurements: Of parities.
        total: Number of records.

    Returns:
        Largest marginals all of whose coefficients were measured, and all parities that are in none of them.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.queries.core.query import Parity
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> noisy = [Measurement(Parity(domain, (name,)), np.array([2.0]), NoiseKind.GAUSSIAN, 4.0) for name in "ab"]
        >>> [(each.target.text, each.values.tolist()) for each in as_marginals(domain, noisy, total=10.0)]
        [('a', [6.0, 4.0]), ('b', [6.0, 4.0])]
    """
    spectrum = Spectrum.of(domain, measurements, total)
    found: list[Measurement] = []
    covered: set[Clique] = set()
    for measured in sorted(measurements, key=lambda each: -len(each.target.scope)):
        scope = measured.target.scope
        if scope in covered:
            continue
        if 2 ** len(scope) <= len(spectrum.known) and all(part in spectrum.known for part in _subsets(scope)):
            covered.update(_subsets(scope))
            (table,) = spectrum.marginals([scope])
            std = measured.std / math.sqrt(table.size)
            found.append(Measurement(Marginal(domain, scope), table.reshape(-1), NoiseKind.GAUSSIAN, std))
        else:
            found.append(measured)
    return found
