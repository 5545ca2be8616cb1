"""Online private multiplicative weights: answers to a stream of queries that no one knows beforehand.

M. Hardt, G. Rothblum, "A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis", FOCS 2010; taught in
C. Dwork, A. Roth, "The Algorithmic Foundations of Differential Privacy" (2014), algorithms 5 and 6; M. Lyu, D. Su,
N. Li, "Understanding the Sparse Vector Technique for Differential Privacy" (2017) for one threshold draw (theory.md
section 4, with the errors of the sources).

Every query is first answered by the *hypothesis*, a public model of the table. A sparse vector tests whether that
answer seems to be off by more than a *threshold*: if not, the hypothesis' answer is given, and nothing is spent for it;
if so, the data answer with fresh noise, and the hypothesis learns from it, a *correction*. Only so many corrections can
be needed, so the budget can be divided over them beforehand. Departures from the papers, each an option whose other
value is their way:

- one absolute test per query in place of two one-sided ones (``variant``);
- thresholds that no theorem supports, but tables of ordinary size bear (``updates``, ``threshold``), with the step
  that fits a noisy answer best, or a fit to all of them (``step``);
- the number of records is measured under "add-remove", where the papers take it as known;
- a start from an earlier release of the same table (``warm``), whose spending counts.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hedgerow.algorithms.online_pmw.answer import Basis, Known
from hedgerow.algorithms.online_pmw.effort import OF_CELL, REMEMBERED, Effort
from hedgerow.algorithms.online_pmw.hold import Holding
from hedgerow.algorithms.online_pmw.rules import Rules
from hedgerow.algorithms.online_pmw.session import OnlineSession
from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.algorithms.online_pmw.start import Opening, begin, check_source, open_session
from hedgerow.algorithms.shared import Outline, noise_of_total, process_bytes, says_nothing
from hedgerow.domain import Domain
from hedgerow.privacy import Budget, Curator, NoiseSource, Register, before_a_run, warn_of_weakness
from hedgerow.queries import Conjunction, Explicit, LinearQuery
from hedgerow.release import FIRST_SHARE, TOTAL_SHARE, Release

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class OnlinePMW(OnlineSettings):
    """The configuration of online private multiplicative weights; it holds no data and serves any number of sessions.

    The theorem's parameters are taken where ``alpha``, ``step="theorem"`` or variant 4a ask for them. Otherwise rules
    that have proved useful choose what is not given: they promise nothing beforehand, and err far less
    (docs/measurements.md). The session's ``summary()`` says which it goes by.

    Attributes:
        variant: ``"4a"``, ``"4b"``, ``"4c"`` (theory.md section 4) or ``"pay-as-you-go"``, which needs no number of
            queries; 4c by default, 4b under GDP.
        queries: Number of queries that may be tested against the data; after these the hypothesis answers alone. A
            larger number costs no budget and makes thresholds and intervals slightly wider. Not a limit for
            pay-as-you-go.
        alpha: Largest error of all answers that the theorem should promise, as a fraction of the records (times the
            width of the queries); the session then spends no more than that needs.
        beta: Probability with which the theorem's bound may fail.
        updates: Number of corrections of the hypothesis, in place of the theorem's.
        threshold: Error of an answer from which the hypothesis is corrected, as a fraction of the records (times the
            width), in place of the theorem's.
        step: Rule by which a noisy answer corrects the hypothesis: a step of the ``"theorem"``'s size; the step that
            fits it best, ``"residual"`` (eta = 4 r / w**2); or a fit of the hypothesis to all noisy answers so far,
            ``"refit"``. By default the theorem's where its parameters are used, and else a refit.
        bounds: Smallest and largest value that a query may have: (0, 1) for conditions, (-1, 1) for parities too.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        answer_share: Share of the budget for answers, where no theorem divides it; by default 0.4 in zCDP for sessions
            that start from nothing, and a quarter in all others.
        uniform_share: gamma, the part of the uniform distribution in a warm start.
        largest_tree: Cells that the cliques of junction trees may have, where the domain is too large for a histogram.
            The hypothesis alone answers questions that would need more, without an interval.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.Categorical("sex", ("F", "M")), hedgerow.IntegerRange("age", 0, 2)))
        >>> people = pa.table({"sex": ["F", "M"] * 40_000, "age": [0, 1, 2, 2] * 20_000})
        >>> table = hedgerow.read_table(people, domain)
        >>> online = hedgerow.OnlinePMW(updates=8, threshold=0.02)
        >>> session = online.start(table, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(0))
        >>> first, again = session.ask("sex = 'M' and age = 2"), session.ask("age = 2 and sex = 'M'")
        >>> first.source, first.low <= 20_000 <= first.high, again.source, again.charged
        ('data', True, 'cache', 0.0)
        >>> OnlinePMW(queries=0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: queries must be a whole number from 1, not 0
          Remedy: give a generous number of queries; it costs no budget
    """

    def plan(self, domain: Domain, budget: Budget, total: float, *, warm: bool = False) -> Outline:
        """Say what a session would need, spend and promise; nothing is read and nothing is spent.

        Args:
            domain: Domain of the records.
            budget: Budget of the session, without what a release that it starts from has spent.
            total: A public guess of the number of records.
            warm: Whether it would start from a release.

        Raises:
            ConfigError: The configuration does not fit the budget.

        Example:
            >>> from hedgerow import Domain, IntegerRange, PureDP
            >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcde")
            >>> plan = OnlinePMW().plan(domain, PureDP(1.0), total=50_000)
            >>> plan.facts["updates"], dict(plan.lines(50_000))["bound"].split(":")[0]
            (100, 'none')
            >>> OnlinePMW(alpha=0.1).plan(domain, PureDP(1.0), total=10_000_000).facts["theorem"]
            True
        """
        charge = self.total_share * budget.limit
        noise = noise_of_total(budget, charge)
        spent = 0.0 if noise is None else charge
        rules = self.rules(self.stream(budget, domain, total, noise, warm=warm), budget, budget.limit - spent)
        footprint = self.footprint(domain, warm=warm)
        tested, fired = _widths(Basis(self, budget, rules, total, noise, secure=True), domain)
        facts = {
            "algorithm": "OnlinePMW",
            **rules.to_dict(),
            "theorem": rules.error is not None,
            "half_interval_tested": tested,
            "half_interval_answered": fired,
            "total_charge": spent,
            "unit": budget.unit,
            "limit": budget.limit,
            "cells": domain.size,
        }
        effort = Effort.of(self, domain, total, rules.updates)
        facts["effort"] = asdict(effort)
        text = (
            *effort.lines(rules.updates, self.largest_tree),
            *_told(rules, budget, total, facts),
            self._promise(rules, total),
        )
        required = footprint.required_bytes
        held = min(required, OF_CELL * effort.cells) + REMEMBERED * self.queries
        process = process_bytes(domain, total, held, measured=0, values=0, queries=0)
        return Outline.of(required, footprint.words, text, facts, process=process)

    def _promise(self, rules: Rules, total: float) -> tuple[str, str]:
        if rules.error is None:
            return "bound", "none: the numbers are ones that have proved useful; alpha asks for a promise"
        told = f"no answer is off by more than {_share(rules.error, total)}, by the theorem"
        return "bound", told + says_nothing(rules.error, total * (self.bounds[1] - self.bounds[0]))

    def start(
        self,
        source: Any,  # a CountSource; that name lives in data/, which algorithms do not import
        budget: Budget,
        *,
        noise: NoiseSource | None = None,
        warm: Release | None = None,
        register: Register | None = None,
        name: str = "",
    ) -> OnlineSession:
        """Begin a session about a private table.

        Args:
            source: The private table, as ``read_table`` gives it; only the curator ever sees it.
            budget: Budget of the session, and with it the relation between neighbouring tables.
            noise: Source of noise; the secure one unless given. A seeded source makes the answers not private.
            warm: An earlier release of the *same* table, to start from; what it spent is charged to the budget.
            register: Register of the table, where all its releases add up. It is charged the whole budget before the
                table is touched, and the session remembers its entry. Without one a second release of the same object
                warns.
            name: Name of the session in the register.

        Returns:
            The session. Under "add-remove" a noisy number of records was bought; nothing else.

        Raises:
            ConfigError: The configuration does not fit the budget, or the release does not fit the session.
            ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
            RegisterExceededError: The register does not cover the budget; nothing was spent.
            RegisterError: The register cannot be read or written; nothing was spent.

        Warns:
            UnregisteredWarning: The object was released before, and there is neither a register nor an earlier release.
            WeakGuaranteeWarning: epsilon is above 20, or delta not below 1 / (number of records).
        """
        within, earlier = check_source(self, source, budget, warm)
        entry = before_a_run(
            source, budget, noise, register, kind="session", name=name, counts_earlier=warm is not None
        )
        notes = {} if register is None or entry is None else register.note(entry)
        opening = Opening(self, within, source.domain, warm is not None, notes)
        session = open_session(opening, source, earlier, noise=noise, warm=warm)
        warn_of_weakness(session.budget, float(session.summary()["total"]), noise)
        return session

    def start_with(
        self, curator: Curator, *, warm: Release | None = None, hold: Holding = lambda _: None
    ) -> OnlineSession:
        """Begin a session with a curator that the caller made; its whole remaining budget may be spent.

        Args:
            curator: Stands before the private table.
            warm: An earlier release of the same table, whose events the curator's ledger must hold.
            hold: Called with the price of the number of records before it is bought, to write that down; not called
                where it is public.

        Raises:
            ConfigError: See `start`; or the ledger does not hold what the release spent.
            ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
        """
        return begin(self, curator, warm, hold)


def _widths(basis: Basis, domain: Domain) -> tuple[float, float]:
    """Half of the intervals of the first query: if its test stays quiet, and if it fires."""
    name, bounds = domain.names[0], basis.config.bounds
    query: LinearQuery = Explicit.of(domain, [name], np.resize(bounds, domain.shape[0]))
    if bounds == (0.0, 1.0):
        query = Conjunction.where(domain, {name: [0]})
    known = (Known(query, 0.0, basis.rules.threshold_at(1)), Known(query, 0.0, None))
    kept = 1.0 if basis.total_noise is None else 1.0 - TOTAL_SHARE
    tested, fired = (basis.radius(each)(FIRST_SHARE * kept * (1.0 - _CONFIDENCE)) for each in known)
    return tested, fired


def _told(rules: Rules, budget: Budget, total: float, facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    epoch, unit = rules.watch.charge(budget.regime), budget.unit
    queries = "any number" if rules.queries is None else f"up to {rules.queries:,}"
    epochs = f"{rules.draws:,} epochs of {epoch:.3g}" if rules.draws > 1 else f"one sparse vector of {epoch:.3g}"
    return (
        ("variant", rules.variant),
        ("queries", f"{queries} tested against the data"),
        ("updates", f"at most {rules.updates:,}, each an answer for {rules.answer_charge:.3g} {unit}"),
        (
            "charges",
            f"{budget.limit:.6g} {unit}: number of records {facts['total_charge']:.4g}, {epochs}, and the answers",
        ),
        ("fires", f"above an error of about {_share(rules.threshold_at(1), total)}"),
        (
            "answers",
            f"with {100 * _CONFIDENCE:g}% confidence within {_share(facts['half_interval_tested'], total)} where a "
            f"test stays quiet, and {_share(facts['half_interval_answered'], total)} where the data answer",
        ),
    )


def _share(counts: float, total: float) -> str:
    return f"{counts:,.0f} records ({100.0 * counts / total:.2g}%)"
