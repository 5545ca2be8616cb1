"""Starting a session: what it fixes first, and starts from an earlier release of the same table."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from hedgerow.algorithms.online_pmw.answer import Basis
from hedgerow.algorithms.online_pmw.hold import Hold, Holding
from hedgerow.algorithms.online_pmw.session import OnlineSession
from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.algorithms.online_pmw.state import History
from hedgerow.algorithms.shared import check_known, check_table, noise_of_total, number_of_records
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, spread_over, summed
from hedgerow.errors import ConfigError
from hedgerow.models import LARGE_ATTRIBUTE, Histogram, Hypothesis, JunctionTree, Markov, hypothesis, may_be_dense
from hedgerow.privacy import (
    FORMAT,
    ApproxDP,
    Budget,
    Curator,
    Event,
    InterruptedDraw,
    Ledger,
    LedgerView,
    NoiseSource,
    Regime,
    cost_of,
    note_release,
)
from hedgerow.privacy.budgets import budget_for
from hedgerow.quantities import human
from hedgerow.release import Release


@dataclass(frozen=True)
class Opening:
    """All that a session begins with.

    Attributes:
        config: The configuration.
        budget: The budget, between tables that are filtered if the table is.
        domain: The table's domain.
        warm: Whether it starts from an earlier release.
        notes: Values for its keeper.
        lost: Events of beginnings that were interrupted, one for each.
    """

    config: OnlineSettings
    budget: Budget
    domain: Domain
    warm: bool
    notes: Mapping[str, Any]
    lost: tuple[Event, ...] = ()


def check_source(
    config: OnlineSettings, source: Any, budget: Budget, warm: Release | None
) -> tuple[Budget, tuple[Event, ...]]:
    """Do the checks of `check_start`, for a private table.

    Returns:
        The budget, between tables that are filtered if this one is; and what the release spent, as events.
    """
    check_table(source)
    within = budget_for(budget, source)
    return within, check_start(config, source.domain, within, warm)


def open_session(
    opening: Opening,
    source: Any,
    earlier: Sequence[Event],
    *,
    noise: NoiseSource | None,
    warm: Release | None,
    hold: Callable[[Opening, Hold], None] = lambda _opening, _hold: None,
) -> OnlineSession:
    """Begin a session that was checked and registered; see `OnlinePMW.start`.

    Args:
        opening: All that the session begins with.
        source: The private table.
        earlier: Events that the release has spent which it starts from.
        noise: Source of noise; the secure one unless given.
        warm: The release, if there is one.
        hold: Called with the price of the number of records before it is bought; not where that is public.
    """
    events = (*opening.lost, *earlier)
    curator, session = Curator(source, opening.budget, noise=noise, events=events), None
    try:
        session = begin(opening.config, curator, warm, partial(hold, opening))
    finally:
        if session is not None or curator.ledger.spent > 0.0:
            note_release(source, noise)
    session.notes.update(opening.notes)
    return session


def check_start(config: OnlineSettings, domain: Domain, budget: Budget, warm: Release | None) -> tuple[Event, ...]:
    """Refuse all that can be refused of a session before anything is read or spent.

    Args:
        config: The session's configuration.
        domain: The table's domain.
        budget: The session's budget.
        warm: The release to start from, if there is one.

    Returns:
        The charges of that release, as events of the session's ledger.

    Raises:
        ConfigError: The configuration does not fit the budget, or the release does not fit the session.
        BudgetError: The budget does not cover what the release spent.
        ModelTooLargeError: The hypothesis does not fit into memory.
    """
    _check(config, domain, budget, warm)
    if budget.fixed is not None:
        raise ConfigError("a session does not keep to steps that are fixed", remedy="leave the composition out")
    events = () if warm is None else earlier_events(warm, budget, domain)
    if (deltas := _learnt_at(events)) > budget.for_thresholds:
        raise ConfigError(
            f"the earlier release learnt values by thresholds, at a delta of {deltas:.6g}, and the session's budget "
            f"keeps {budget.for_thresholds:.6g} for them",
            remedy=f"give it a larger delta, and keep a part: ApproxDP(epsilon, delta, thresholds={deltas!r})",
        )
    Ledger.of(budget, events)
    return events


def with_learnt(budget: Budget, warm: Release | None) -> Budget:
    """The budget of a session, with the part of its delta kept that an earlier release has learnt values at.

    Args:
        budget: The budget; it stays as it is where it has no such delta, for `check_start` to refuse.
        warm: The release to start from, if there is one.

    Example:
        >>> from hedgerow import ApproxDP
        >>> with_learnt(ApproxDP(1.0, 1e-6), None).for_thresholds
        0.0
    """
    deltas = 0.0 if warm is None else _learnt_at(warm.events)
    if not isinstance(budget, ApproxDP) or not budget.for_thresholds < deltas < budget.delta:
        return budget
    return replace(budget, thresholds=deltas)


def _learnt_at(events: Iterable[Event]) -> float:
    """The sum of deltas, rounded up."""
    exact = sum(Fraction(event.delta) for event in events)
    near = float(exact)
    return near if near >= exact else math.nextafter(near, 1.0)


def _check(config: OnlineSettings, domain: Domain, budget: Budget, warm: Release | None) -> None:
    config.variant_for(budget)
    check_known(domain, budget, takes=False)
    config.footprint(domain, warm=warm is not None).check()
    if warm is not None:
        check_same(warm, budget, domain)
        if not may_be_dense(domain):
            _trees_of(warm)


def begin(config: OnlineSettings, curator: Curator, warm: Release | None, hold: Holding) -> OnlineSession:
    """Learn the number of records, fix the rules and make the first hypothesis.

    Args:
        config: The configuration.
        curator: Stands before the private table.
        warm: The earlier release that the session starts from, if any.
        hold: Called with the price of the number of records before it is bought; not where that is public.

    Raises:
        ConfigError: The configuration does not fit the budget, or the release does not fit the session.
        ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
    """
    domain, budget = curator.domain, curator.budget
    _check(config, domain, budget, warm)
    if warm is not None:
        check_charged(warm, budget, curator.ledger)
    charge = config.total_share * curator.ledger.remaining
    noise = noise_of_total(budget, charge)
    if noise is not None:
        hold(Hold(noise.charge(budget.regime), "opening"))
    total = number_of_records(curator, charge)
    model = _cold(domain, total) if warm is None else _warm(warm, config.uniform_share, total)
    cliques = 0 if warm is None or may_be_dense(domain) else sum(len(tree.cliques) for tree in _trees_of(warm).trees)
    stream = config.stream(budget, domain, total, noise, warm=warm is not None, cliques=cliques)
    rules = config.rules(stream, budget, curator.ledger.remaining)
    secure = curator.secure and (warm is None or warm.provenance.secure)
    basis = Basis(config, budget, rules, total, noise, secure)
    return OnlineSession(curator, basis, model, History(), None)


def _cold(domain: Domain, total: float) -> Hypothesis:
    """Uniform; in classes of values where an attribute has too many to be held one by one."""
    large = any(attribute.size > LARGE_ATTRIBUTE for attribute in domain)
    return hypothesis(domain, total, classes=large and not may_be_dense(domain))


def _warm(release: Release, gamma: float, total: float) -> Hypothesis:
    if may_be_dense(release.domain):
        return Histogram(release.domain, total, base=warm_base(release, gamma))
    return Markov(release.domain, total, start=warm_factors(_trees_of(release), gamma))


def _trees_of(release: Release) -> Markov:
    """The junction trees of a release, which a uniform distribution can be mixed into where cells are too many."""
    model = release.model
    if not isinstance(model, Markov):
        raise ConfigError(
            f"a session over {human(release.domain.size)} cells cannot start from a {type(model).__name__} hypothesis",
            remedy="start from a release of MWEM about marginals, or without one",
        )
    return model


def earlier_events(release: Release, budget: Budget, domain: Domain) -> tuple[Event, ...]:
    """List what a release of the same table spent, as events of a new ledger.

    Each mechanism is charged again, in the unit of the new budget: noise that was drawn under a pure budget costs a rho
    too, but Gaussian noise, and what else was charged in rho, has no pure epsilon.

    Args:
        release: The earlier release.
        budget: Budget of the new session.
        domain: The table's domain.

    Raises:
        ConfigError: The domains or the neighbouring relations differ, or the units cannot be converted.
        BudgetError: See ``Event``.
    """
    check_same(release, budget, domain)
    if budget.regime is Regime.PURE and release.budget.regime is not Regime.PURE:
        raise ConfigError(
            f"what a release in {release.budget.unit} spent cannot be charged to a pure budget",
            remedy="give the session a ZCDP or ApproxDP budget, or start from a pure release",
        )
    paid = (event for event in release.events if event.charge > 0.0)
    return tuple(replace(event, earlier=True, format=FORMAT, **_charge_in(event, budget)) for event in paid)


def _charge_in(event: Event, budget: Budget) -> dict[str, Any]:
    """Unit and charge of an event in the ledger of another budget.

    Of a lost hold the noise is not known, but one that costs as much. Its price in GDP is a price in rho as it stands;
    from rho to GDP there is none.
    """
    if event.unit == budget.unit:
        return {}
    lost = isinstance(event.question, InterruptedDraw)
    if lost and (event.unit, budget.regime) == (Regime.GDP.unit, Regime.ZCDP):
        return {"unit": budget.unit}
    if lost and (event.unit, budget.regime) == (Regime.ZCDP.unit, Regime.GDP):
        raise ConfigError(
            f"what {event.target!r} spent in rho cannot be charged in mu^2/2: its mechanism is not known",
            remedy="give the session a ZCDP budget, or an ApproxDP budget counted in zCDP",
        )
    return {"unit": budget.unit, "charge": cost_of(event.of_mechanism, budget.unit)}


def check_same(release: Release, budget: Budget, domain: Domain) -> None:
    """Refuse a release over another domain, or under another neighbouring relation.

    Raises:
        ConfigError: They differ.
    """
    if release.domain != domain:
        raise ConfigError("the earlier release is over another domain than the table", remedy="read the same columns")
    if release.budget.neighbours != budget.neighbours:
        raise ConfigError(
            f"the earlier release hides neighbours of the kind {release.budget.neighbours.value!r}, the session "
            f"of the kind {budget.neighbours.value!r}",
            remedy="give the session's budget the neighbours of the release",
        )


def check_charged(release: Release, budget: Budget, ledger: LedgerView) -> None:
    """Refuse a ledger that does not hold what a release spent, event by event or as one earlier release.

    Args:
        release: The earlier release, over the same domain and with the same neighbours.
        budget: Budget of the ledger.
        ledger: Ledger of the session.

    Raises:
        ConfigError: It does not, or the units cannot be converted.
    """
    charged = Counter(ledger.events)
    missing = Counter(event for event in release.events if event.charge > 0.0) - charged
    if missing and not charged >= Counter(earlier_events(release, budget, release.domain)):
        raise ConfigError(
            f"the curator's ledger does not hold {missing.total()} of the events of the earlier release",
            remedy="start the session with OnlinePMW.start(table, budget, warm=release), which charges them",
        )


def warm_base(release: Release, gamma: float) -> Floats:
    """The hypothesis to start from, ``(1 - gamma) p + gamma uniform``, as shares of the cells, shape of the domain.

    Its potential is at most ``ln|X| + ln(1 / gamma)`` whatever the data (theory.md section 2, variation 3): no record
    that breaks no constraint has less than ``gamma / |X|``, where X are these records.

    Args:
        release: The earlier release.
        gamma: Share of the uniform distribution.
    """
    domain = release.domain
    (cells,) = release.model.marginals([domain.names])
    total = float(cells.sum())
    uniform: Floats | float = gamma / cells.size
    if domain.constraints:
        uniform = Histogram(domain, gamma).marginals([domain.names])[0]
    return np.asarray((1.0 - gamma) * (cells / total) + uniform)


def warm_factors(model: Markov, gamma: float) -> dict[Clique, Floats]:
    """The same over junction trees: log-factors, one table for each clique.

    The hypothesis is the product of the conditional distributions of the cliques, each given what it shares with the
    clique before it. The conditional distribution u of the uniform hypothesis, over the records that break no
    constraint, is mixed into each of these K: ``(1 - gamma) p(r | s) + gamma u(r | s)``. The product of all u is the
    uniform hypothesis itself, so that no record has less than ``gamma^K / |X|``, and the potential is at most ``ln|X| +
    K ln(1 / gamma)``. Where u is not the same everywhere, the factors are the quotients by u: the new hypothesis, which
    they are multiplied into, is uniform already.

    Args:
        model: The hypothesis of the earlier release.
        gamma: Share of the uniform distribution.

    Example:
        >>> from hedgerow import IntegerRange
        >>> model = Markov(Domain((IntegerRange("a", 0, 1),)), 4.0)
        >>> model.reweigh(("a",), np.log([9.0, 1.0]))
        >>> np.exp(warm_factors(model, 0.5)["a",]).round(12).tolist()
        [0.7, 0.3]
    """
    factors: dict[Clique, Floats] = {}
    for tree in model.trees:
        for clique, given, share in _conditionals(model, tree):
            factor = np.log((1.0 - gamma) * given + gamma * share)
            factors[clique] = factors[clique] + factor if clique in factors else factor
    return factors


def _conditionals(model: Markov, tree: JunctionTree) -> Iterator[tuple[Clique, Floats, float]]:
    """The table of each clique given what it shares with the one before it, and the value of a uniform one.

    Where that is not the same at all cells, quotients by it.
    """
    before: dict[int, Clique] = {0: ()}
    order = [0]
    for i in order:
        new = [j for j in tree.neighbours[i] if j not in before]
        before.update((j, tree.stored_separator(i, j)) for j in new)
        order += new
    cliques, domain = [tree.stored[i] for i in order], model.domain
    plain = tree.plain and not domain.constraints
    even = None if plain else iter(Markov(domain, 1.0, cliques).marginals(cliques))
    for i, clique, table in zip(order, cliques, model.marginals(cliques), strict=True):
        given = _given(domain, table, clique, before[i])
        if even is None:
            share = 1.0 / domain.cells([name for name in clique if name not in before[i]])
            yield clique, np.where(np.isnan(given), share, given), share
        else:
            share_of = _given(domain, next(even), clique, before[i])
            known = ~np.isnan(given) & (share_of > 0.0)
            yield clique, np.divide(given, share_of, out=np.ones(given.shape), where=known), 1.0


def _given(domain: Domain, table: Floats, clique: Clique, shared: Clique) -> Floats:
    """A table of a clique given what it shares with another; not a number where there is no mass."""
    sums = spread_over(domain, summed(domain, table, clique, shared), shared, clique)
    return np.asarray(np.divide(table, sums, out=np.full(table.shape, np.nan), where=sums > 0.0))
