"""Steps of a run that was fixed beforehand: what of them was made, and the refusal of any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.errors import BudgetError, BudgetExceededError
from hedgerow.privacy.budgets import Composition, Regime
from hedgerow.privacy.ledger.events import Event
from hedgerow.privacy.ledger.questions import PUBLIC
from hedgerow.privacy.mechanisms import HALVES, ExponentialMechanism, GaussianNoise, IndependentDraws, LaplaceNoise


@dataclass(frozen=True)
class Steps:
    """Steps of a composition that were made.

    Attributes:
        gaussian: The ``mu^2 / 2`` of Gaussian noise, as GDP counts it.
        selections: Number of draws of the exponential mechanism.
        pure: Number of answers with Laplace noise; tables may be two (theory.md section 20).

    Example:
        >>> from hedgerow.privacy import MeasuredQuery
        >>> asked = MeasuredQuery("marginal", ("sex",))
        >>> event = Event("measure", "discrete Laplace", asked, 1.0, 20.0, 0.01, "rho", "add-remove", 2)
        >>> Steps().with_events([event], Composition(0.02, 0.02, pure=1, pure_epsilon=0.0501)).pure
        1
        >>> Steps().with_events([event], Composition(0.02, 0.02))
        Traceback (most recent call last):
            ...
        hedgerow.errors.BudgetError: a discrete Laplace of epsilon 0.05 is none of the steps that were fixed beforehand
          Remedy: run with a budget that has no fixed composition
    """

    gaussian: Fraction = Fraction(0)
    selections: int = 0
    pure: int = 0

    def with_events(self, events: Sequence[Event], fixed: Composition) -> Steps:
        """The same and those of some events.

        Args:
            events: The events.
            fixed: The composition.

        Raises:
            BudgetError: An event is no step of the composition.
            BudgetExceededError: There are more steps than the composition has.
        """
        gaussian, selections, pure = self.gaussian, self.selections, self.pure
        for event in events:
            if event.mechanism == PUBLIC:
                continue
            match event.of_mechanism:
                case GaussianNoise() as noise:
                    gaussian += Fraction(noise.charge(Regime.GDP))
                case LaplaceNoise() as noise if noise.epsilon <= fixed.pure_epsilon:
                    pure += 1
                case LaplaceNoise() as noise if noise.bound == HALVES and noise.epsilon / 2.0 <= fixed.pure_epsilon:
                    pure += 2  # one for each of the values that move
                case ExponentialMechanism() as choice if choice.epsilon <= fixed.selection_epsilon:
                    selections += 1
                case IndependentDraws() as choice if choice.epsilon <= fixed.selection_epsilon:
                    selections += choice.draws
                case other:
                    epsilon = getattr(other, "epsilon", 0.0)
                    raise BudgetError(
                        f"a {event.mechanism} of epsilon {epsilon:.4g} is none of the steps that were fixed beforehand",
                        remedy="run with a budget that has no fixed composition",
                    )
        for unit, before, after, most in (
            ("selections", self.selections, selections, fixed.selections),
            ("answers with Laplace noise", self.pure, pure, fixed.pure),
            ("mu^2/2 of Gaussian noise", self.gaussian, gaussian, Fraction(fixed.gaussian)),
        ):
            if after > most:
                requested, spent = float(after - before), float(before)
                raise BudgetExceededError(requested=requested, spent=spent, limit=float(most), unit=unit)
        return Steps(gaussian, selections, pure)
