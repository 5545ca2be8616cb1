"""The settings of online private multiplicative weights: fields, their checks, and the rules that they fix."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

from hedgerow.algorithms.online_pmw.parameters import best_rules, cheapest_rules
from hedgerow.algorithms.online_pmw.rules import Rules, Stream, Variant, check_variant, practical_rules
from hedgerow.algorithms.shared import check_choice, check_fraction
from hedgerow.algorithms.shared.algorithm import plain_parameters
from hedgerow.algorithms.shared.checks import check_count
from hedgerow.domain import Domain, possible_records
from hedgerow.errors import ConfigError
from hedgerow.models import LARGEST_TREE, Footprint, may_be_dense
from hedgerow.privacy import AdditiveNoise, Budget, Regime, grid_sensitivity
from hedgerow.queries import of_query

StepRule = Literal["theorem", "residual", "refit"]

_COPIES, _WARM_COPIES = 3, 5
"""Arrays over all cells that a session with a histogram holds at once."""

_TOTAL_RISK = 0.1
"""Share of beta for the noisy number of records."""


@dataclass(frozen=True)
class OnlineSettings:
    """Fields and checks of `OnlinePMW`, which explains them."""

    variant: Variant | None = None
    queries: int = 10_000
    alpha: float | None = None
    beta: float = 0.05
    updates: int | None = None
    threshold: float | None = None
    step: StepRule | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    total_share: float = 0.02
    answer_share: float | None = None
    uniform_share: float = 0.001
    largest_tree: int = LARGEST_TREE

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, a name is unknown, or two options contradict each other.
        """
        if self.variant not in (None, *get_args(Variant)):
            raise ConfigError(
                f"there is no variant {self.variant!r}", remedy=f"give one of {', '.join(get_args(Variant))}"
            )
        if self.step is not None:
            check_choice("step", self.step, StepRule)
        check_count("queries", self.queries, "give a generous number of queries; it costs no budget")
        if self.updates is not None:
            check_count("updates", self.updates, "give the number of corrections that the budget is divided over")
        check_count("largest_tree", self.largest_tree, "give a number of cells, as 4,000,000")
        for name in ("beta", "total_share", "answer_share", "uniform_share"):
            if getattr(self, name) is not None:
                check_fraction(name, getattr(self, name))
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
            raise ConfigError(
                "alpha asks for a theorem, but no theorem covers chosen updates or a chosen threshold",
                remedy="leave one out",
            )
        if self.variant == "4a":
            raise ConfigError(
                "variant 4a takes its numbers from its theorem",
                remedy="leave updates and threshold out, or use 4b or 4c",
            )
        if self.step == "theorem":
            raise ConfigError("no theorem covers chosen updates or a chosen threshold", remedy="leave step out")

    @property
    def is_practical(self) -> bool:
        """Whether numbers are given that no theorem supports."""
        return self.updates is not None or self.threshold is not None

    def parameters(self) -> dict[str, Any]:
        """The configuration as plain values, for the release and for saved sessions.

        Example:
            >>> OnlineSettings(updates=12).parameters()["updates"]
            12
        """
        return plain_parameters(self)

    @classmethod
    def from_dict(cls, parameters: Mapping[str, Any]) -> Self:
        """Read what `parameters` gave.

        Raises:
            ConfigError: A number is out of its range.
            KeyError, TypeError: It was something else.

        Example:
            >>> OnlineSettings.from_dict(OnlineSettings(updates=12).parameters()).updates
            12
        """
        return cls(**{**parameters, "bounds": tuple(parameters["bounds"])})

    def variant_for(self, budget: Budget) -> Variant:
        """Name the variant: the given one, or one that suits the budget.

        Raises:
            ConfigError: The budget cannot pay for it.

        Example:
            >>> from hedgerow import PureDP
            >>> OnlineSettings().variant_for(PureDP(1.0))
            '4c'
        """
        variant = self.variant or ("4b" if budget.regime is Regime.GDP else "4c")
        check_variant(variant, budget)
        return variant

    def rules(self, stream: Stream, budget: Budget, amount: float) -> Rules:
        """Fix all numbers of a session.

        Args:
            stream: Sizes of the table and of the domain.
            budget: Budget of the session; its regime counts.
            amount: Amount for epochs and answers.

        Raises:
            ConfigError: The target cannot be reached, or the variant does not fit the budget.

        Example:
            >>> from hedgerow import PureDP
            >>> stream = Stream(records=48_842.0, log_cells=15.0, queries=1000)
            >>> OnlineSettings().rules(stream, PureDP(1.0), 1.0).error is None
            True
        """
        variant = self.variant_for(budget)
        if self.alpha is not None:
            cheapest = cheapest_rules(stream, budget, amount, variant, self.alpha)
        elif variant == "4a" or self.step == "theorem":
            cheapest = best_rules(stream, budget, amount, variant)
        else:
            cheapest = practical_rules(
                stream,
                budget,
                amount,
                variant,
                updates=self.updates,
                threshold=self.threshold,
                answer_share=self.answer_share,
            )
        if self.step is None or self.step == "theorem":
            return cheapest
        return replace(cheapest, step=self.step, error=None)

    def footprint(self, domain: Domain, *, warm: bool) -> Footprint:
        """Memory that the hypothesis of a session takes, whatever is asked.

        Args:
            domain: Domain of the records.
            warm: Whether the session starts from a release.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
            >>> OnlineSettings().footprint(domain, warm=False).tree_cells
            4194304
        """
        largest = None if may_be_dense(domain) else self.largest_tree
        return Footprint.up_to(domain, largest, _WARM_COPIES if warm else _COPIES)

    def stream(
        self, budget: Budget, domain: Domain, total: float, noise: AdditiveNoise | None, *, warm: bool, cliques: int = 0
    ) -> Stream:
        """The public quantities that fix the rules of a session.

        Args:
            budget: Budget of the session, and with it the relation between neighbouring tables.
            domain: Domain of the records.
            total: Number of records, noisy or public.
            noise: Noise of that number; None where it is public.
            warm: Whether the session starts from a release.
            cliques: Cliques of the junction trees of that release, where it has some: with levels there may be more
                than attributes.
        """
        low, high = self.bounds
        slack = 0.0 if noise is None else max(abs(low), abs(high)) * noise.quantile(1.0 - _TOTAL_RISK * self.beta)
        # Into so many factors of a warm start the uniform distribution is mixed, at most (see `start.warm_factors`).
        mixed = 0 if not warm else 1 if may_be_dense(domain) else max(len(domain), cliques)
        return Stream(
            records=total,
            log_cells=math.log(possible_records(domain)) - mixed * math.log(self.uniform_share),
            queries=self.queries,
            beta=self.beta * (1.0 if noise is None else 1.0 - _TOTAL_RISK),
            sensitivity=float(grid_sensitivity(of_query(low, high, budget.neighbours).l1)),
            width=high - low,
            slack=slack,
            warm=warm,
        )
