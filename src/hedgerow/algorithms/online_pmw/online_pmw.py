"""Online private multiplicative weights: answers to a stream of queries that nobody knows beforehand.

M. Hardt, G. Rothblum, "A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis", FOCS 2010; taught in
C. Dwork, A. Roth, "The Algorithmic Foundations of Differential Privacy" (2014), algorithms 5 and 6; M. Lyu, D. Su,
N. Li, "Understanding the Sparse Vector Technique for Differential Privacy" (2017) for one threshold draw (theory.md
section 4, with the errors of the sources).

Every query is first answered by the hypothesis. A sparse vector tests whether that answer seems to be off by more
than a threshold: if not, the hypothesis' answer is given, and nothing is spent for it; if so, the data answer with
fresh noise, and the hypothesis learns from it. Only so many corrections can be needed, so the budget can be divided
over them beforehand. Departures from the papers, each an option whose other value is their way:

- one absolute test per query in place of two one-sided ones (``variant``);
- thresholds that no theorem supports, but tables of ordinary size bear (``updates``, ``threshold``), with the step
  that fits a noisy answer best, or a fit to all of them (``step``);
- the number of records is measured under "add-remove", where the papers take it as known;
- a start from an earlier release of the same table (``warm``), whose spending counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, final

from hedgerow.algorithms.online_pmw.parameters import best_rules, cheapest_rules, check_variant
from hedgerow.algorithms.online_pmw.practical import ANSWER_SHARE, practical_rules
from hedgerow.algorithms.online_pmw.rules import VARIANTS, Rules, Stream, Variant
from hedgerow.algorithms.shared import check_table, is_count
from hedgerow.errors import ConfigError
from hedgerow.models import LARGEST_TREE
from hedgerow.privacy import Budget, Regime, before_a_run, note_release, warn_of_weakness

if TYPE_CHECKING:
    from hedgerow.algorithms.online_pmw.hold import Holding
    from hedgerow.algorithms.online_pmw.session import OnlineSession
    from hedgerow.algorithms.shared import Outline
    from hedgerow.domain import Domain
    from hedgerow.privacy import Curator, NoiseSource, Register
    from hedgerow.release import Release

StepRule = Literal["theorem", "residual", "refit"]


@final
@dataclass(frozen=True)
class OnlinePMW:
    """Configuration of online private multiplicative weights; holds no data and can be used for any number of sessions.

    The theorem's parameters are taken where ``alpha``, ``step="theorem"`` or variant 4a ask for them. Otherwise rules
    that have proved useful choose what is not given: they promise nothing beforehand, and err far less
    (docs/design.md). The session's ``summary()`` says which it goes by.

    Attributes:
        variant: ``"4a"``, ``"4b"``, ``"4c"`` (theory.md section 4) or ``"pay-as-you-go"``, which needs no number of
            queries; 4c by default for pure budgets, 4b for the others.
        queries: How many queries may be tested against the data; after these the hypothesis answers alone. A larger
            number costs no budget and makes thresholds and intervals slightly wider. Not a limit for pay-as-you-go.
        alpha: Largest error of all answers that the theorem should promise, as a fraction of the records (times the
            width of the queries); the session then spends no more than that needs.
        beta: Probability with which the theorem's bound may fail.
        updates: How many times the hypothesis may be corrected, in place of the theorem's number.
        threshold: Errors of about this fraction of the records (times the width) are to be corrected, in place of the
            theorem's.
        step: How a noisy answer corrects the hypothesis: by a step of the ``"theorem"``'s size; by the step that fits
            it best, ``"residual"`` (eta = 4 r / w**2); or by fitting the hypothesis to all noisy answers so far,
            ``"refit"``. By default the theorem's where its parameters are used, and else a refit.
        bounds: Smallest and largest value of the queries that may be asked: (0, 1) for conditions, (-1, 1) if
            parities are to be asked too.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        answer_share: Share of the budget for answers, where no theorem divides it.
        uniform_share: gamma, the part of the uniform distribution in a warm start.
        largest_tree: Cells that the cliques of junction trees may have, where the domain is too large for a histogram.
            Questions that would need more are refused.

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

    variant: Variant | None = None
    queries: int = 10_000
    alpha: float | None = None
    beta: float = 0.05
    updates: int | None = None
    threshold: float | None = None
    step: StepRule | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    total_share: float = 0.02
    answer_share: float = ANSWER_SHARE
    uniform_share: float = 0.001
    largest_tree: int = LARGEST_TREE

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, a name is unknown, or two options contradict each other.
        """
        if self.variant not in (None, *VARIANTS):
            raise ConfigError(f"there is no variant {self.variant!r}", remedy=f"give one of {', '.join(VARIANTS)}")
        if self.step not in (None, "theorem", "residual", "refit"):
            raise ConfigError(f"step = {self.step!r} is unknown", remedy="give 'theorem', 'residual' or 'refit'")
        _check_count("queries", self.queries, "give a generous number of queries; it costs no budget")
        if self.updates is not None:
            _check_count("updates", self.updates, "give the number of corrections that the budget is divided over")
        _check_count("largest_tree", self.largest_tree, "give a number of cells, as 4,000,000")
        for name in ("beta", "total_share", "answer_share", "uniform_share"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must lie between 0 and 1, not {getattr(self, name)!r}")
        for name in ("alpha", "threshold"):
            if getattr(self, name) is not None and not 0.0 < getattr(self, name) <= 1.0:
                raise ConfigError(
                    f"{name} is a share of the records, not {getattr(self, name)!r}",
                    remedy="give a number above 0 and up to 1, as 0.05",
                )
        object.__setattr__(self, "bounds", tuple(float(bound) for bound in self.bounds))
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"bounds {self.bounds} leave no room for a query", remedy="give (0, 1), or (-1, 1)")
        self._check_choice()

    def _check_choice(self) -> None:
        if not self.is_practical:
            return
        if self.alpha is not None:
            raise ConfigError("alpha asks for a theorem, updates and threshold for none", remedy="leave one out")
        if self.variant == "4a":
            raise ConfigError("variant 4a is its theorem", remedy="leave updates and threshold out, or use 4b or 4c")
        if self.step == "theorem":
            raise ConfigError("no theorem speaks of a chosen number of updates or threshold", remedy="leave step out")

    @property
    def is_practical(self) -> bool:
        """Whether numbers are given that no theorem supports."""
        return self.updates is not None or self.threshold is not None

    def parameters(self) -> dict[str, Any]:
        """The configuration as plain values, for the release and for saved sessions.

        Example:
            >>> OnlinePMW(updates=12).parameters()["updates"]
            12
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "bounds": list(self.bounds)}

    def variant_for(self, budget: Budget) -> Variant:
        """The variant, chosen by the budget where none was given.

        Raises:
            ConfigError: The budget cannot pay for it.

        Example:
            >>> from hedgerow.privacy.budgets.budget import PureDP
            >>> OnlinePMW().variant_for(PureDP(1.0))
            '4c'
        """
        variant = self.variant or ("4c" if budget.regime is Regime.PURE else "4b")
        check_variant(variant, budget)
        return variant

    def rules(self, stream: Stream, budget: Budget, amount: float) -> Rules:
        """All numbers of a session.

        Args:
            stream: Sizes of the table and of the domain.
            budget: Its regime counts.
            amount: What may be spent on epochs and answers.

        Raises:
            ConfigError: The target cannot be reached, or the variant does not fit the budget.

        Example:
            >>> from hedgerow.privacy.budgets.budget import PureDP
            >>> stream = Stream(records=48_842.0, log_cells=15.0, queries=1000)
            >>> OnlinePMW().rules(stream, PureDP(1.0), 1.0).error is None
            True
        """
        variant = self.variant_for(budget)
        if self.alpha is not None:
            found = cheapest_rules(stream, budget, amount, variant, self.alpha)
        elif variant == "4a" or self.step == "theorem":
            found = best_rules(stream, budget, amount, variant)
        else:
            found = practical_rules(
                stream,
                budget,
                amount,
                variant,
                updates=self.updates,
                threshold=self.threshold,
                answer_share=self.answer_share,
            )
        if self.step is None or self.step == "theorem":
            return found
        return replace(found, step=self.step, error=None)

    def plan(self, domain: Domain, budget: Budget, total: float, *, warm: bool = False) -> Outline:
        """What a session would need, spend and promise; nothing is read and nothing is spent.

        Args:
            domain: Of the records.
            budget: What the session may spend, without what a release that it starts from has spent.
            total: A public guess of the number of records.
            warm: Whether it would start from a release.

        Raises:
            ConfigError: The configuration does not fit the budget.

        Example:
            >>> from hedgerow.domain.attribute import IntegerRange
            >>> from hedgerow.domain.domain import Domain
            >>> from hedgerow.privacy.budgets.budget import PureDP
            >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcde")
            >>> plan = OnlinePMW().plan(domain, PureDP(1.0), total=50_000)
            >>> plan.facts["updates"], dict(plan.lines(50_000))["bound"].split(":")[0]
            (100, 'none')
            >>> OnlinePMW(alpha=0.1).plan(domain, PureDP(1.0), total=10_000_000).facts["theorem"]
            True
        """
        from hedgerow.algorithms.online_pmw.plan import make_plan

        return make_plan(self, domain, budget, total, warm=warm)

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
            budget: What may be spent in all, and between which tables.
            noise: Source of noise; the secure one unless given. A seeded source makes the answers not private.
            warm: An earlier release of the *same* table, to start from; what it spent is charged to the budget.
            register: Register of the table, where all its releases add up. It is charged the whole budget before the
                table is touched, and the session remembers its entry. Without one a second release of the same object
                warns.
            name: What the register calls the session.

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
        from hedgerow.algorithms.online_pmw.start import check_start
        from hedgerow.privacy import Curator, budget_for

        check_table(source)
        within = budget_for(budget, source)
        events = check_start(self, source.domain, within, warm)
        entry = before_a_run(
            source, budget, noise, register, kind="session", name=name, counts_earlier=warm is not None
        )
        curator, session = Curator(source, within, noise=noise, events=events), None
        try:
            session = self.start_with(curator, warm=warm)
        finally:
            if session is not None or curator.ledger.spent > 0.0:
                note_release(source, noise)
        warn_of_weakness(within, float(session.summary()["total"]), noise)
        if register is not None and entry is not None:
            session.notes.update(register.note(entry))
        return session

    def start_with(
        self, curator: Curator, *, warm: Release | None = None, hold: Holding = lambda _: None
    ) -> OnlineSession:
        """As `start`, with a curator that the caller made; its whole remaining budget may be spent.

        Args:
            curator: Stands before the private table.
            warm: An earlier release of the same table, whose events the curator's ledger must hold.
            hold: Called with what the number of records costs before it is bought, to write that down; not called
                where it is public.

        Raises:
            ConfigError: See `start`; or the ledger does not hold what the release spent.
            ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
        """
        from hedgerow.algorithms.online_pmw.start import begin

        return begin(self, curator, warm, hold)


def _check_count(name: str, value: Any, remedy: str) -> None:
    if not is_count(value):
        raise ConfigError(f"{name} must be a whole number from 1, not {value!r}", remedy=remedy)
