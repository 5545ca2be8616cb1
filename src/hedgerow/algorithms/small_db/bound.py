"""What SmallDB promises, and its plan (theory.md section 8)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hedgerow.algorithms.shared import Charges, Outline, charges_line, memory_line, says_nothing, total_error
from hedgerow.algorithms.small_db.enumeration import error_of_size, n_databases
from hedgerow.models import usable_bytes
from hedgerow.privacy import Budget, ExponentialMechanism, database_sensitivity
from hedgerow.quantities import human
from hedgerow.queries import Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.small_db.small_db import SmallDB


def choice_scale(workload: Workload, budget: Budget, charge: float) -> float:
    """``2 Delta / epsilon`` of the choice, in counts.

    Args:
        workload: What the release should answer well.
        budget: Of the run.
        charge: What the choice may spend.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> workload = Workload.marginals(Domain((IntegerRange("a", 0, 1),)), 1)
        >>> round(choice_scale(workload, PureDP(1.0), 0.5), 9)
        4.0
    """
    sensitivity = database_sensitivity(workload.by_query(), budget.neighbours)
    return ExponentialMechanism.for_charge(budget.regime, charge, sensitivity).scale


def error_bound(
    config: SmallDB, workload: Workload, budget: Budget, *, charge: float, total: float, size: int
) -> tuple[float, float]:
    """The two parts of the error bound, in counts: of the best database of k records, and of choosing it.

    ``n alpha_k`` with ``alpha_k = w sqrt(ln(2 |Q|) / (2 k))``, and ``2 Delta (k ln|X| + ln(1 / beta)) / epsilon``.

    Args:
        config: Its beta is the probability that the second part may fail.
        workload: What the release should answer well.
        budget: Of the run.
        charge: What the selection may spend.
        total: Number of records n.
        size: Number of records k of a database.

    Example:
        >>> from hedgerow.algorithms.small_db.small_db import SmallDB
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
        >>> parts = error_bound(SmallDB(), workload, PureDP(1.0), charge=0.5, total=1000.0, size=17)
        >>> [round(part, 1) for part in parts]
        [247.3, 106.3]
    """
    choice = size * math.log(workload.domain.size) + math.log(1.0 / config.beta)
    return total * error_of_size(workload, size), choice_scale(workload, budget, charge) * choice


def make_plan(
    config: SmallDB, workload: Workload, budget: Budget, *, charges: Charges, total: float, size: int
) -> Outline:
    """The plan of a run.

    Args:
        config: The configuration.
        workload: What the release should answer well.
        budget: What may be spent.
        charges: Its shares.
        total: A public guess of the number of records.
        size: Number of records of a database.
    """
    number, cells = n_databases(workload.domain.size, size), workload.domain.size
    best, choice = error_bound(config, workload, budget, charge=charges.rounds, total=total, size=size)
    noisy = total_error(budget, charges.total, 0.1 * config.beta)
    magnitude = max(max(abs(low), abs(high)) for low, high in (family.bounds for family in workload.families))
    bound, failure = best + choice + magnitude * noisy, config.beta + (0.1 * config.beta if noisy else 0.0)
    needed = 8 * (number * (4 * workload.n_queries + size) + cells * workload.n_queries)
    available = usable_bytes()
    shares = {"number of records": charges.total, "selection": charges.rounds, "error estimate": charges.error}
    width = max(high - low for low, high in (family.bounds for family in workload.families))
    kept, nothing = records(size), says_nothing(bound, width * total)
    text = (
        memory_line(needed, available, f"{number:,} databases of {kept} over {human(cells)} cells"),
        charges_line(budget.limit, budget.unit, shares),
        ("bound", f"no query errs by more than {bound:,.0f} counts, except with probability {failure:.3g}{nothing}"),
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
        "failure": failure,
    }
    return Outline(text, facts, needed, available)


def records(size: int) -> str:
    """So many records, for people.

    Example:
        >>> records(1), records(1200)
        ('1 record', '1,200 records')
    """
    return f"{size:,} record{'s' if size != 1 else ''}"
