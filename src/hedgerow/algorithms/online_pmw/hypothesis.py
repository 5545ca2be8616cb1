"""The hypothesis of a session: quick answers between corrections, and the same bits whether or not it was saved.

Its form follows what was measured, as far as the domain allows (see ``models/choice.py``); where no histogram is
possible it may have so many cells, and what it could not learn within them is refused. That looks at the domain, at
which questions were corrected and at the question: at public things alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from hedgerow.algorithms.online_pmw.answer import Basis
from hedgerow.algorithms.shared import clipped, step_size
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QuestionTooLargeError
from hedgerow.models import (
    Answering,
    Histogram,
    Hypothesis,
    Potentials,
    Proximal,
    ValueClasses,
    refit,
    resume,
    usable_bytes,
)
from hedgerow.models.choice import domain_of_sizes, may_be_dense, suited, trees_of
from hedgerow.models.trees import Markov, cells_bytes
from hedgerow.queries import (
    Blocks,
    Conjunction,
    Explicit,
    LinearQuery,
    Measurable,
    Measurement,
    attribute_codes,
    canonical,
)

_REFIT = Proximal(adapted=True)
_FORMS: dict[str, type[Hypothesis]] = {"histogram": Histogram, "trees": Markov, "classes": ValueClasses}


def taken_apart(model: Hypothesis) -> tuple[str, Potentials, Mapping[Clique, Floats]]:
    """Take a model apart: its form, its updates, and the log-factors that it started from, if any.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> form, updates, start = taken_apart(Markov(domain, 8.0))
        >>> form, put_together(domain, 8.0, form, updates, start).marginals([("a",)])[0].tolist()
        ('trees', [4.0, 4.0])
    """
    form = next(name for name, kind in _FORMS.items() if isinstance(model, kind))
    if isinstance(model, Markov) and model.start:
        return form, model.updates(), model.start
    return form, model.potentials(), {}


def put_together(
    domain: Domain, total: float, form: str, updates: Potentials, start: Mapping[Clique, Floats]
) -> Hypothesis:
    """Put a model together that was taken apart: to the same bits, whatever it was asked and however often.

    Raises:
        KeyError: There is no such form.
        ModelTooLargeError: It does not fit into memory.
    """
    if start:
        return Markov.from_potentials(domain, total, updates, start)
    return _FORMS[form].from_potentials(domain, total, updates)


class OnlineHypothesis:
    """A model that is asked often and corrected seldom; it changes only through this object.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> OnlineHypothesis(Histogram(domain, total=12)).value(Conjunction.where(domain, {"b": [0, 1]}))
        8.0
    """

    def __init__(self, model: Hypothesis) -> None:
        """Start from a state.

        Args:
            model: Exactly as `put_together` gives it; no one else may change it.
        """
        self._model = model
        self._answering = Answering(model)
        self._needed: dict[tuple[Clique | int, ...], int] = {}
        self._split: dict[Measurement, Sequence[Measurement]] = {}

    @property
    def model(self) -> Hypothesis:
        """The model as it is, not a copy."""
        return self._model

    def anew(self) -> Hypothesis:
        """A copy made from what it consists of: its last bits do not depend on what was asked."""
        if isinstance(self._model, Histogram):
            return self._model.anew()
        return put_together(self._model.domain, self._model.total, *taken_apart(self._model))

    def value(self, query: Measurable) -> float | Floats:
        """Its answer, in counts; of a group of counts those, shape ``(group.size,)``."""
        return self._answering.value(query) if isinstance(query, LinearQuery) else query.on(self._model)

    def values(self, queries: Sequence[LinearQuery]) -> Floats:
        """Its answers, in counts, shape ``(len(queries),)``."""
        return self._answering.values(queries)

    def check_room(self, query: Measurable, measurements: Sequence[Measurement], largest_tree: int) -> None:
        """Refuse a query whose answer could not be learnt within so many cells.

        Args:
            query: In canonical form; or a group.
            measurements: All noisy answers so far; only their queries count.
            largest_tree: Cells that all cliques may have, where no histogram is possible.

        Raises:
            QuestionTooLargeError: More would be needed.
        """
        if may_be_dense(self._model.domain):
            return
        classes = self._told_apart(query)
        needed = self._needed.get((query.scope, *classes.values()))
        if needed is None:
            start = self._model.start if isinstance(self._model, Markov) else ()
            scopes = [*start, *(measurement.target.scope for measurement in measurements), query.scope]
            domain = domain_of_sizes(self._model.domain, classes) if classes else self._model.domain
            needed = self._needed[query.scope, *classes.values()] = trees_of(domain, scopes).cells
        if needed > largest_tree:
            raise QuestionTooLargeError(
                attributes=query.scope,
                cells=needed,
                largest_cells=largest_tree,
                required_bytes=cells_bytes(needed),
                available_bytes=usable_bytes(),
            )

    def correct(self, measurements: Sequence[Measurement], before: Floats, basis: Basis) -> None:
        """Bring it in line with the newest noisy answer.

        Args:
            measurements: All noisy answers so far.
            before: Its answer to the newest of these, in counts, shape ``(target.size,)``; a group is learnt by a
                refit alone.
            basis: Configuration and rules, which say how.
        """
        learnt = [part for measured in measurements for part in self._parts(measured)]
        if may_be_dense(self._model.domain):
            self._model = suited(self._model, [measured.target for measured in learnt])
        self._needed.clear()
        if basis.rules.step == "refit":
            if not resume(self._model, learnt):
                refit(self._model, learnt, _REFIT)
            self.settle()
        else:
            self._model.update(*_step(measurements[-1], float(before[0]), basis))
            self._answering.replace(self._model)

    def settle(self) -> None:
        """Replace the model by a copy made from its potentials, as restoring does: both continue from the same bits."""
        self._model = self.anew()
        self._answering.replace(self._model)

    # Inside

    def _parts(self, measured: Measurement) -> Sequence[Measurement]:
        """A measurement as the model learns from it: counts of blocks of cells one by one, as fits take them."""
        target = measured.target
        if not isinstance(target, Blocks):
            return (measured,)
        if measured not in self._split:  # the same objects each time: a fit to them is not repeated
            places, values = target.places, measured.values.reshape(-1, 1)
            counts = (Explicit.of(target.domain, target.scope, places == block) for block in range(target.size))
            parts = zip(map(canonical, counts), values, strict=True)
            self._split[measured] = [replace(measured, target=count, values=value) for count, value in parts]
        return self._split[measured]

    def _told_apart(self, query: Measurable) -> dict[str, int]:
        """Codes of attributes that the model tells apart at most, once it learnt about a query; none: all of them."""
        model = self._model
        if not isinstance(model, ValueClasses):
            return {}
        domain = model.domain
        sets, others = attribute_codes(domain, query) if isinstance(query, Conjunction) else ({}, query.scope)
        cuts = {name: len(codes.cuts) for name, codes in sets.items()}
        cuts |= {name: domain[name].size for name in domain.base(others)}
        counts = {name: classes.count for name, classes in model.classes.items()}
        return {a.name: min(a.size, counts.get(a.name, 1) + cuts.get(a.name, 1)) for a in domain}


def _step(newest: Measurement, before: float, basis: Basis) -> tuple[LinearQuery, float]:
    """A query, and the step along it that its noisy answer calls for."""
    query, (low, high) = cast("LinearQuery", newest.target), basis.config.bounds  # groups are learnt by refits alone
    residual = float(clipped(newest.values, query, basis.total)[0]) - before
    if basis.rules.step == "residual":
        return query, step_size(residual / basis.total, query.bounds, "sharp")
    return query, math.copysign(float(basis.rules.step), residual) / (high - low)
