"""SmallDB: the best small database, by the exponential mechanism (theory.md section 8).

A. Blum, K. Ligett, A. Roth, "A Learning Theory Approach to Noninteractive Database Privacy", STOC 2008; algorithm 4
("SmallDB") in C. Dwork, A. Roth, "The Algorithmic Foundations of Differential Privacy", 2014. Every multiset y of k
records is a candidate, with score ``-max over q of |q(B) - (n / k) q(y)|`` in counts; one is chosen with probability
proportional to ``exp(epsilon score / (2 Delta))``. Some multiset of k records answers all queries within alpha as soon
as ``k > ln(2 |Q|) / (2 alpha^2)`` (Hoeffding's inequality, for k records drawn from the table), so that the chosen one
errs by at most ``alpha + 2 (k ln|X| + ln(1 / beta)) / (epsilon n)``, as a fraction.

There are ``C(|X| + k - 1, k)`` such multisets, and all of them are scored: this is the yardstick of theory, for tiny
domains. Departures: under "add-remove" n is measured first; queries of width w need ``w^2`` times as many records;
without alpha and k, k is the size whose bound is smallest among those that can be enumerated.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from hedgerow.algorithms.shared import Algorithm, ProgressCallback, check_domain, make_release, number_of_records, tell
from hedgerow.algorithms.shared.bounds import BETA, largest_width
from hedgerow.algorithms.shared.checks import check_count, check_fraction, check_shares
from hedgerow.algorithms.shared.plans import (
    Charges,
    Outline,
    charges_line,
    process_bytes,
    says_nothing,
    total_error,
)
from hedgerow.algorithms.small_db import enumeration
from hedgerow.algorithms.small_db.enumeration import error_of_size, n_databases, records
from hedgerow.domain import listed_records, possible_records
from hedgerow.errors import ConfigError
from hedgerow.models import Empirical
from hedgerow.privacy import LARGEST_MASS, Budget, Curator, ExponentialMechanism, Regime, database_sensitivity
from hedgerow.quantities import human
from hedgerow.queries import Workload
from hedgerow.release import Release

_LITTLE = 0.1
"""Error of a database of so few records, as a share of these, that is warned of."""

LARGEST_MATRIX = 2**25
"""Answers, and records, of all databases together: a quarter of a gigabyte, held a few times."""


@dataclass(frozen=True)
class SmallDB(Algorithm):
    """Configuration of SmallDB; holds no data and can be used for any number of runs.

    Weights of the workload are not looked at, and a whole marginal counts as its cells: what is small at the end is the
    largest error of a single query. The model of the release is an `Empirical` over the chosen records.

    Attributes:
        alpha: Error, as a fraction, that some database of the enumerated size must reach on every query; sets k.
        size: k itself, instead of alpha. Without either, the k whose bound is smallest.
        beta: Probability that the error bound may fail.
        max_candidates: Most databases that may be enumerated.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.Categorical("sex", ("F", "M")), hedgerow.IntegerRange("age", 0, 2)))
        >>> table = hedgerow.read_table(pa.table({"sex": ["F", "M"] * 400, "age": [0, 1, 2, 2] * 200}), domain)
        >>> workload = hedgerow.Workload.marginals(domain, order=2)
        >>> release = SmallDB(size=4).run(table, workload, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(0))
        >>> release.model.codes.tolist()
        [[0, 0], [0, 2], [1, 1], [1, 2]]
    """

    alpha: float | None = None
    size: int | None = None
    beta: float = BETA
    max_candidates: int = 100_000
    total_share: float = 0.02
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: A number is out of its range, or both alpha and a size are given.
        """
        if self.alpha is not None and self.size is not None:
            raise ConfigError("SmallDB takes an alpha or a size, not both", remedy="leave one of them out")
        if self.alpha is not None:
            check_fraction("alpha", self.alpha)
        if self.size is not None:
            check_count("size", self.size)
        check_count("max_candidates", self.max_candidates)
        check_fraction("beta", self.beta)
        check_shares(self.total_share, self.error_share)

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse databases that are too many to enumerate, before anything is read or spent.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget; any will do.

        Raises:
            ConfigError: There are more databases than ``max_candidates``, or all their answers would be too many.
        """
        cells, size = possible_records(workload.domain), self.smallest_size(workload)
        if not enumeration.at_most(self.max_candidates, cells, size):
            many = enumeration.number_of(cells, size)
            raise ConfigError(
                f"there are {many} databases of {records(size)} over {human(cells)} cells, more than "
                f"max_candidates = {self.max_candidates:,}",
                remedy=self._remedy(workload),
            )
        number = n_databases(cells, size)
        if number * max(workload.n_queries, size) > LARGEST_MATRIX:
            raise ConfigError(
                f"{number:,} databases of {records(size)} with {workload.n_queries:,} answers each are too many",
                remedy=self._remedy(workload),
            )

    def warnings(self, workload: Workload) -> tuple[str, ...]:
        """That databases are too small to be like the table, where no budget helps.

        Args:
            workload: Queries that the release should answer well.

        Example:
            >>> from hedgerow import Domain, IntegerRange
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 3) for name in "abc"), 2)
            >>> SmallDB(size=2).warnings(workload)[0][:69]
            'databases of 2 records cannot be like the table: some answer may err '
        """
        size = self._largest_size(workload) if self.alpha is self.size is None else self.smallest_size(workload)
        reached = error_of_size(workload, max(1, size)) / largest_width(workload)
        if reached < _LITTLE:
            return ()
        return (
            f"databases of {records(size)} cannot be like the table: some answer may err by {min(1.0, reached):.0%} of "
            "the records, whatever the budget. This is a yardstick of theory; mwem makes better records",
        )

    def _remedy(self, workload: Workload) -> str:
        if (size := self._largest_size(workload)) == 0:
            return "SmallDB is for tiny domains: name fewer attributes, coarsen them, or use MWEM"
        reached = error_of_size(workload, size)
        least = f"alpha must pass {reached:.3g}" if reached < 1.0 else "no alpha below 1 will do"
        enumerated = f"databases of up to {records(size)} can be enumerated, for which {least}"
        return f"{enumerated}; name fewer attributes, or use MWEM"

    def smallest_size(self, workload: Workload) -> int:
        """The number of records that was asked for; 1 where the size is chosen among all that can be enumerated."""
        if self.alpha is not None:
            return enumeration.size_for(workload, self.alpha)
        return 1 if self.size is None else self.size

    def _largest_size(self, workload: Workload) -> int:
        """The largest k that can be enumerated; 0 where none can."""
        sizes = range(1, min(self.max_candidates, LARGEST_MATRIX) + 1)
        return bisect_right(sizes, False, key=lambda size: not self._affordable(workload, size))

    def _affordable(self, workload: Workload, size: int) -> bool:
        most = min(self.max_candidates, LARGEST_MATRIX // max(workload.n_queries, size))
        return enumeration.at_most(most, possible_records(workload.domain), size)

    def chosen_size(self, workload: Workload, budget: Budget, charge: float, total: float) -> int:
        """The number of records k; if it is to be chosen, the one whose bound is smallest.

        The bound is ``a / sqrt(k) + b k`` and a constant, with the minimum at ``(a / 2 b)^(2/3)``.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            charge: Charge of the selection, epsilon or rho.
            total: Number of records, public or noisy.
        """
        if self.alpha is not None or self.size is not None:
            return self.smallest_size(workload)
        each = choice_scale(workload, budget, charge) * math.log(max(2, possible_records(workload.domain)))
        best: float = (total * error_of_size(workload, 1) / (2.0 * each)) ** (2.0 / 3.0)
        largest = self._largest_size(workload)
        near = {max(1, min(largest, size)) for size in (math.floor(best), math.ceil(best))}
        return min(near, key=lambda size: total * error_of_size(workload, size) + each * size)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made, and spend its whole remaining budget.

        Args:
            curator: Curator before the private table.
            workload: Queries that the release should answer well.
            progress: Called once, after the choice.
        """
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        charges = self._charges(curator.ledger.remaining, curator.budget)
        total = number_of_records(curator, charges.total)
        queries = workload.by_query()
        size = self.chosen_size(workload, curator.budget, charges.rounds, total)
        cells = enumeration.databases(possible_records(workload.domain), size)
        answers = np.clip(enumeration.answers_of(queries, cells) * (total / size), -LARGEST_MASS, LARGEST_MASS)
        chosen = curator.select_database(queries, answers, charges.rounds)
        codes = listed_records(workload.domain)[cells[chosen]]
        tell(progress, curator, f"one of {len(cells):,} databases of {size:,} records", math.nan, number=1, of=1)
        return make_release(
            curator, workload, Empirical(workload.domain, total, codes), name="SmallDB",
            parameters={**self.parameters(), "size": size}, error_charge=charges.error,
        )  # fmt: skip

    def _charges(self, limit: float, budget: Budget) -> Charges:
        return Charges.split(limit, budget.neighbours, total=self.total_share, error=self.error_share)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """Plan a run: memory, charges and promise. Reads nothing and spends nothing.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records.

        Example:
            >>> from hedgerow import Domain, IntegerRange, PureDP
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
            >>> plan = SmallDB(alpha=0.25).plan(workload, PureDP(1.0, "replace"), total=1000)
            >>> plan.facts["size"], plan.facts["databases"], round(plan.facts["bound"])
            (17, 1140, 302)
        """
        self.check(workload, budget.regime)
        charges, total = self._charges(budget.limit, budget), max(1.0, total)
        size = self.chosen_size(workload, budget, charges.rounds, total)
        number, cells = n_databases(possible_records(workload.domain), size), possible_records(workload.domain)
        best, choice = error_bound(workload, budget, charges.rounds, total=total, size=size, beta=self.beta)
        noisy = total_error(budget, charges.total, 0.1 * self.beta)
        magnitude = max(max(abs(low), abs(high)) for low, high in (family.bounds for family in workload.families))
        bound, risk = best + choice + magnitude * noisy, self.beta + (0.1 * self.beta if noisy else 0.0)
        needed = 8 * (number * (4 * workload.n_queries + size) + cells * workload.n_queries)
        kept, nothing = records(size), says_nothing(bound, largest_width(workload) * total)
        promise = f"no query errs by more than {bound:,.0f} counts, except with probability {risk:.3g}{nothing}"
        text = (
            charges_line(budget.limit, budget.unit, charges.shares("selection")),
            ("bound", promise),
            ("", f"of which {best:,.0f} for having {kept} only, and {choice:,.0f} for choosing privately"),
        )
        facts = {
            "size": size,
            "databases": number,
            "alpha": best / total,
            "charge": charges.rounds,
            "unit": budget.unit,
            "bound": bound,
            "bound_parts": {"database": best, "choice": choice, "total": magnitude * noisy},
            "failure": risk,
        }
        process = process_bytes(workload.domain, total, needed, measured=0, values=0, queries=workload.n_candidates)
        what = f"{number:,} databases of {kept} over {human(cells)} cells"
        return Outline.of(needed, what, text, facts, process=process)


def choice_scale(workload: Workload, budget: Budget, charge: float) -> float:
    """``2 Delta / epsilon`` of the choice, in counts.

    Args:
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        charge: Charge of the choice, epsilon or rho.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain((IntegerRange("a", 0, 1),)), 1)
        >>> round(choice_scale(workload, PureDP(1.0), 0.5), 9)
        4.0
    """
    sensitivity = database_sensitivity(workload.by_query(), budget.neighbours)
    return ExponentialMechanism.for_charge(budget.regime, charge, sensitivity).scale


def error_bound(
    workload: Workload, budget: Budget, charge: float, *, total: float, size: int, beta: float
) -> tuple[float, float]:
    """The two parts of the error bound, in counts: having a database of k records only, and choosing it privately.

    ``n alpha_k`` with ``alpha_k = w sqrt(ln(2 |Q|) / (2 k))``, and ``2 Delta (k ln|X| + ln(1 / beta)) / epsilon``.

    Args:
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        charge: Charge of the choice, epsilon or rho.
        total: Number of records n.
        size: Number of records k of a database.
        beta: Probability that the second part may fail.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
        >>> parts = error_bound(workload, PureDP(1.0), 0.5, total=1000.0, size=17, beta=0.05)
        >>> [round(part, 1) for part in parts]
        [247.3, 106.3]
    """
    choice = size * math.log(possible_records(workload.domain)) + math.log(1.0 / beta)
    return total * error_of_size(workload, size), choice_scale(workload, budget, charge) * choice
