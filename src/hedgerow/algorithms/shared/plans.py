"""Plans: how a budget is divided, what noise follows from that, and how a plan tells it.

All of it is a function of public quantities alone. Charges are amounts of the ledger's unit (epsilon or rho). A round
that may spend c selects with ``f c`` and measures with ``(1 - f) c``; theory.md's parameters follow in both regimes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Categorical, Clique, Domain, possible_cells
from hedgerow.models import usable_bytes
from hedgerow.privacy import AdditiveNoise, Budget, additive_noise, noise_of
from hedgerow.quantities import human_bytes
from hedgerow.queries import Family, Neighbours, NoiseKind, Workload

Line = tuple[str, str]
"""A word ("rounds", "noise", "bound", ...) and a sentence; the word is empty where a sentence goes on."""

MEMORY = "memory"
"""The word of the line that says how much there is; no other line depends on the machine."""


@dataclass(frozen=True)
class Charges:
    """The charges of a run, in the ledger's unit.

    Attributes:
        total: Charge of the noisy number of records; 0 where it is public.
        initial: Charge of the measurements before the first round; 0 where the run starts uniform.
        rounds: Charge of all rounds together.
        error: Charge of the noisy error of the workload at the end; 0 where none is asked for.
        search: Most that a search for interactions may spend of what rounds would have; 0 without one.

    Example:
        >>> charges = Charges.split(1.0, Neighbours.ADD_REMOVE, total=0.02, error=0.03)
        >>> round(charges.rounds, 6), charges.total
        (0.95, 0.02)
    """

    total: float
    initial: float
    rounds: float
    error: float
    search: float = 0.0

    @classmethod
    def split(
        cls,
        limit: float,
        neighbours: Neighbours,
        *,
        total: float,
        error: float,
        initial: float = 0.0,
        known: bool = False,
    ) -> Charges:
        """Shares of the limit; the number of records is free where it is public, or known totals tell it."""
        share = 0.0 if neighbours.public_total or known else total
        return cls(share * limit, initial * limit, (1.0 - share - initial - error) * limit, error * limit)

    def shares(self, rounds: str = "rounds") -> dict[str, float]:
        """The parts by what a plan calls them.

        Args:
            rounds: What the measurements are called.
        """
        start = {"start": self.initial} if self.initial else {}
        search = {"search for interactions": self.search} if self.search else {}
        return {"number of records": self.total, **start, rounds: self.rounds, **search, "error estimate": self.error}


@dataclass(frozen=True)
class RoundCharge:
    """The charges of one round.

    Attributes:
        selection: Charge of the selection; 0 where every candidate is measured, so that there is nothing to select.
        measurement: Charge of the measurement; always positive.

    Example:
        >>> RoundCharge.split(0.2, share=0.25)
        RoundCharge(selection=0.05, measurement=0.15000000000000002)
    """

    selection: float
    measurement: float

    @classmethod
    def split(cls, amount: float, share: float) -> RoundCharge:
        """Give ``share`` of the amount to the selection."""
        return cls(share * amount, (1.0 - share) * amount)


def noise_of_total(budget: Budget, charge: float) -> AdditiveNoise | None:
    """The noise of the number of records that a curator with this budget gives; None where it is public or known.

    Example:
        >>> from hedgerow import PureDP
        >>> noise_of_total(PureDP(1.0, "replace"), 0.02) is None, round(noise_of_total(PureDP(1.0), 0.02).scale, 6)
        (True, 50.0)
    """
    if budget.neighbours.public_total or not charge:
        return None
    most = float(budget.neighbours.records)
    return additive_noise(budget.regime, charge, l1=most, l2=most, step=1.0, kind=None)


def total_error(budget: Budget, charge: float, beta: float) -> float:
    """The error of n-hat that is passed with probability ``beta`` at most, in counts; 0 where n is public.

    Example:
        >>> from hedgerow import PureDP
        >>> total_error(PureDP(1.0), 0.02, 0.005), total_error(PureDP(1.0, "replace"), 0.02, 0.005)
        (265.0, 0.0)
    """
    noise = noise_of_total(budget, charge)
    return 0.0 if noise is None else noise.quantile(1.0 - beta)


def expected_noise(workload: Workload, budget: Budget, charge: float, kind: NoiseKind | None) -> Floats:
    """Expected L1 noise of measuring each candidate, in counts, shape ``(n_candidates,)``; public.

    Noise in cells of a marginal that no record can have is dropped, and not counted (theory.md section 11).

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))), 1)
        >>> expected_noise(workload, PureDP(1.0), 0.1, None).round(3)
        array([19.967, 29.95 ])
    """
    return np.concatenate([_family_noise(family, budget, charge, kind) for family in workload.families])


def _family_noise(family: Family, budget: Budget, charge: float, kind: NoiseKind | None) -> Floats:
    """Candidates of a family with equal sensitivities get equal noise; mostly all of them have the same."""
    sensitivities = family.sensitivities(budget.neighbours)
    same = bool((sensitivities == sensitivities[0]).all())
    distinct, first = (sensitivities[:1], [0]) if same else np.unique(sensitivities, return_index=True)
    each = np.array([noise_of(family.candidate(int(index)), budget, charge, kind).expected_abs for index in first])
    return np.asarray(noisy_values(family) * (each if same else each[np.searchsorted(distinct, sensitivities)]))


def noisy_values(family: Family) -> Ints:
    """Number of values of each candidate that can differ from 0, shape ``(n_candidates,)``; public.

    Example:
        >>> from hedgerow import Domain, IntegerRange, impossible
        >>> free = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> ruled = Domain(free.attributes, constraints=[impossible(free, "a = 0 and b > 0")])
        >>> [noisy_values(family).tolist() for family in Workload.marginals(ruled, 2).families]
        [[4]]
    """
    if not (family.whole and family.domain.constraints):
        return family.lengths
    return np.array([_possible(family.domain, scope) for scope in family.scopes], dtype=np.int64)


@lru_cache(maxsize=1 << 14)
def _possible(domain: Domain, scope: Clique) -> int:
    possible = possible_cells(domain, scope)
    return domain.cells(scope) if possible is None else int(possible.sum())


class Outlined(Protocol):
    """A plan: what a run would need, spend and promise, from public quantities alone."""

    @property
    def fits(self) -> bool:
        """Whether the run fits into memory."""

    def lines(self, total: float) -> list[Line]:
        """The plan as people read it.

        Args:
            total: The public guess of the number of records that the plan was made for.
        """

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""


@dataclass(frozen=True)
class Outline:
    """A plan as text and figures.

    Attributes:
        text: Lines for people.
        facts: The same as plain values, for programs.
        required_bytes: Memory that the run would need.
        available_bytes: Memory that may be used.
        process_bytes: Rough memory of the whole process at its peak.

    Example:
        >>> plan = Outline((("rounds", "12, each 0.1 epsilon"),), {"rounds": 12}, 1_000, 2_000)
        >>> plan.fits, plan.lines(total=500.0)
        (True, [('rounds', '12, each 0.1 epsilon')])
    """

    text: tuple[Line, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    required_bytes: int = 0
    available_bytes: int = 0
    process_bytes: int = 0

    @classmethod
    def of(
        cls, required_bytes: int, what: str, text: Sequence[Line], facts: Mapping[str, Any], *, process: int
    ) -> Outline:
        """Put a line about the memory of this machine before the others.

        Args:
            required_bytes: Memory that the run would need.
            what: Words for the part that needs it.
            text: All other lines.
            facts: The same as plain values.
            process: Rough memory of the whole process (`process_bytes`).
        """
        available = usable_bytes()
        first = memory_line(required_bytes, available, what, process=process)
        return cls((first, *text), facts, required_bytes, available, process)

    @property
    def fits(self) -> bool:
        """Whether the run fits into memory."""
        return fits_into(self.available_bytes, self.required_bytes, self.process_bytes)

    def lines(self, total: float) -> list[Line]:
        """The text; it was written for the total of the plan."""
        return list(self.text)

    def to_dict(self) -> dict[str, Any]:
        """The facts, and what memory is needed."""
        needs = {
            "required_bytes": self.required_bytes,
            "process_bytes": self.process_bytes,
            "available_bytes": self.available_bytes,
            "fits": self.fits,
        }
        return {**self.facts, **needs}


_PROCESS = 270 << 20
"""Memory of a process that has loaded its libraries and reads, draws and writes a few records."""
_COLUMN, _LISTED = 30_000, 1_000
"""A column of a domain; a value that its file lists."""
_CODE, _DRAWN, _DRAWN_ROWS = 1.5, 20, 1 << 16
"""A value of a record that is held; one that is drawn and written, and the records for which that is done at once."""
_MEASUREMENT, _NOISY_VALUE, _QUERY, _ANSWER = 2_400, 100, 100, 45
"""A measurement with its event and what it was chosen by; a noisy value; a query that is asked; an answer to one."""


def process_bytes(
    domain: Domain, total: float, required_bytes: int, *, measured: int, values: int, queries: int, answers: int = 0
) -> int:
    """Rough memory of the whole process of a run at its peak; rates were measured on runs of the command line.

    Args:
        domain: The domain of the records.
        total: Number of records, a public guess.
        required_bytes: Memory of the hypothesis and the work on it, as expected.
        measured: Number of measurements.
        values: Number of noisy values.
        queries: Number of single queries, or of whole tables, that are asked.
        answers: Number of answers of all of them that are held at once: of a table one for each cell.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(10))
        >>> round(process_bytes(domain, 1e4, 2**20, measured=45, values=180, queries=45) / 2**20)
        273
    """
    listed = sum(attribute.size for attribute in domain if isinstance(attribute, Categorical))
    held = (_CODE * total + _DRAWN * min(total, _DRAWN_ROWS)) * len(domain)
    parts = (
        _PROCESS,
        required_bytes,
        _COLUMN * len(domain) + _LISTED * listed,
        held,
        _MEASUREMENT * measured + _NOISY_VALUE * values + _QUERY * queries + _ANSWER * answers,
    )
    return round(sum(parts))


def fits_into(available_bytes: int, required_bytes: int, process: int) -> bool:
    """Whether a run fits into memory: its hypothesis, and what its process takes beyond its libraries.

    Args:
        available_bytes: Memory that may be used.
        required_bytes: Memory that the hypothesis and the work on it would need.
        process: Rough memory of the whole process; 0 where it is not known.

    Example:
        >>> fits_into(2**30, 2**20, 300 * 2**20), fits_into(2**30, 2**20, 2**31)
        (True, False)
    """
    return max(required_bytes, process - _PROCESS) <= available_bytes


def memory_line(required_bytes: int, available_bytes: int, what: str, *, process: int) -> Line:
    """The line of a plan about memory.

    Args:
        required_bytes: Memory that the hypothesis and the work on it would need.
        available_bytes: Memory that may be used.
        what: Words for the part that needs it.
        process: Rough memory of the whole process.

    Example:
        >>> memory_line(2**21, 2**30, "131,072 cells", process=2**28)
        ('memory', 'about 256.0 MiB for the process, 2.0 MiB for 131,072 cells; fits into 1,024 MiB')
    """
    fits = "fits" if fits_into(available_bytes, required_bytes, process) else "DOES NOT FIT"
    whole, model = human_bytes(process), human_bytes(required_bytes)
    return MEMORY, f"about {whole} for the process, {model} for {what}; {fits} into {available_bytes / 2**20:,.0f} MiB"


def charges_line(limit: float, unit: str, shares: Mapping[str, float]) -> Line:
    """The line of a plan about the parts of the budget.

    Args:
        limit: The budget.
        unit: ``"epsilon"`` or ``"rho"``.
        shares: Amounts by the words for their use.

    Example:
        >>> charges_line(1.0, "epsilon", {"number of records": 0.02, "rounds": 0.98})
        ('charges', '1 epsilon: number of records 0.02, rounds 0.98')
    """
    return "charges", f"{limit:.6g} {unit}: " + ", ".join(f"{what} {amount:.4g}" for what, amount in shares.items())


def says_nothing(bound: float, largest: float) -> str:
    """The remark of a plan on a bound that no error can pass in any case.

    Args:
        bound: Bound on an error.
        largest: Largest error that is possible.

    Example:
        >>> says_nothing(1200.0, 1000.0), says_nothing(12.0, 1000.0)
        ('; that says nothing', '')
    """
    return "; that says nothing" if bound >= largest else ""
