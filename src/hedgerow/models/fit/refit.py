"""Bring a hypothesis in line with all measurements so far.

The rules say which steps are taken (``rules.py``); here they are run on every form of a hypothesis, part by part where
it has parts. Everything is a function of noisy answers, so it costs no privacy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, chain, groupby

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models.classes import ValueClasses
from hedgerow.models.core import Kind, Model, Potentials
from hedgerow.models.core.steps import Run, can_be, explicit, implicit, is_known, joint, runs
from hedgerow.models.core.terms import components
from hedgerow.models.dense import Histogram
from hedgerow.models.fit.chains import nested
from hedgerow.models.fit.nested import Nested
from hedgerow.models.fit.newton import Newton, solvable
from hedgerow.models.fit.rules import Onward, Proximal, Resumed, Rule, Stretched, Sweeps, can_resume, go_on
from hedgerow.models.fit.stopping import held_back, stopped
from hedgerow.models.fit.top_down import fit_top_down, measured_levels
from hedgerow.models.tree_fit import TreeFit
from hedgerow.models.trees import Beliefs, JunctionTree, Markov
from hedgerow.queries import Blocks, Conjunction, LinearQuery, Marginal, Measurable, Measurement, Moment, Parity
from hedgerow.system import in_slices, usable_cores

_PARITIES = 1.25
"""Parities of single attributes are fitted best with longer steps (docs/measurements.md)."""
_FALL = 1.0 / 3.0
"""Those of more attributes with ever shorter ones: mostly they are about what those of fewer imply."""
_NESTED = 1.3
"""The same of tables over levels of the same attributes."""
_POLISH = 4
"""Number of times that each step is repeated while the best length is sought."""
LARGEST_STOPPED = 2**22
"""Cells of the largest hypothesis for which it is: the search holds three of them."""
_LARGE = 2**16
"""Cells of all trees from which on they are fitted side by side; below, most of a fit needs the interpreter."""
_PASSES_OF_A_SLICE = 4.0
"""Time of a step over all cells by slices, in passes."""
_SMALL = 2**12
"""Cells of a histogram that are passed over faster than trees are made."""
_FEWER = 16
"""Cells of a histogram for one of trees, from which on a fit is made on these."""
_REFITS = 3
"""Fits with longer steps, at most: answers that contradict each other are never met."""


def parity_lengths(orders: ArrayLike) -> Floats:
    """Lengths of the fit to parities over so many attributes, for that of a marginal with the same noise.

    Example:
        >>> parity_lengths([1, 2]).round(3)
        array([1.25 , 0.417])
    """
    return np.asarray(_PARITIES * _FALL ** (np.asarray(orders, dtype=np.float64) - 1.0))


@dataclass(frozen=True, eq=False)
class _Source:
    """The measurements that a part was fitted to, and the rule."""

    rule: Rule
    measurements: Sequence[Measurement]


def refit(model: Model, measurements: Sequence[Measurement], rule: Rule) -> None:
    """Fit a model to noisy measurements, in place.

    Args:
        model: The hypothesis.
        measurements: Measurements over the domain of the model; all are used, but for what is known without them:
            queries with one value, and cells of marginals, that constraints leave no choice.
        rule: The rule of the fit. ``Sweeps`` starts from the model as it is and keeps the order, the others reset it
            first.

    Raises:
        ConfigError: A measured value is not finite, or its noise has a negative scale; or blocks are measured beside
            tables of several attributes that are not nested with them.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> model = Histogram(domain, total=100)
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.array([81.0, 21.0]), NoiseKind.GAUSSIAN, 1.0)
        >>> refit(model, [noisy], Proximal())
        >>> model.marginals([("a",)])[0].round()
        array([80., 20.])
    """
    if not measurements:
        return
    measurements = _informative(measurements)
    if isinstance(model, ValueClasses):
        if rule.anew:
            model.reset()
        inner, over_classes = model.over_classes(measurements)
        refit(inner, over_classes, rule)
        model.take_over(inner)
    elif isinstance(rule, Proximal) and rule.adapted:
        _fit_adapted(model, measurements, replace(rule, adapted=False))
    else:
        _fit(model, measurements, rule)


def resume(model: Model, measurements: Sequence[Measurement]) -> bool:
    """Bring a model that was fitted to all measurements but the last in line with the last, in place.

    Args:
        model: The hypothesis; a ``Histogram``, ``Markov`` or ``ValueClasses``.
        measurements: Measurements over its domain.

    Returns:
        Whether it was: all are counts, with noise, of different conditions (``rules.py``). If not, nothing changed.

    Raises:
        ConfigError: A measured value is not finite, or its noise has a negative scale.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import Conjunction, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 9), IntegerRange("b", 0, 9)))
        >>> counts = [Conjunction.where(domain, {name: [0]}) for name in "ab"]
        >>> noisy = [Measurement(count, np.array([50.0]), NoiseKind.GAUSSIAN, 1.0) for count in counts]
        >>> model = Histogram(domain, total=100)
        >>> resume(model, noisy[:1]), resume(model, noisy)
        (True, True)
        >>> model.conjunctions(counts).round()
        array([49., 49.])
    """
    measurements = _informative(measurements)
    if not can_resume(measurements):
        return False
    if isinstance(model, ValueClasses):
        inner, over_classes = model.over_classes(measurements)
        resume(inner, over_classes)
        model.take_over(inner)
        return True
    if isinstance(model, Markov):
        model.cover(measured.target.scope for measured in measurements)
        go_on(model, measurements, partial(_refit_trees, model))
    else:
        go_on(model, measurements, partial(_take_steps, model))
    return True


def _informative(measurements: Sequence[Measurement]) -> Sequence[Measurement]:
    """Measurements in parts, without those of what is known.

    Raises:
        ConfigError: A value is not finite, or a scale is negative.
    """
    if not measurements:
        return []
    every_value = np.concatenate([measured.values for measured in measurements])
    if not (np.isfinite(every_value).all() and all(measured.scale >= 0.0 for measured in measurements)):
        text = next(m.target.text for m in measurements if not (np.isfinite(m.values).all() and m.scale >= 0.0))
        raise ConfigError(f"the measurement of {text} is not finite", remedy="measure it again")
    measurements = [part for measured in measurements for part in measured.parts]
    return [measured for measured in measurements if not _says_nothing(measured.target)]


def _fit_adapted(model: Model, measurements: Sequence[Measurement], rule: Proximal) -> None:
    """Fit to tables for as long as pays, and with longer steps to queries while noise does not explain what is left."""
    if measured_levels(measurements):  # from the top down, which has no length
        _fit(model, measurements, rule)
        return
    length = 1.0
    kinds = {type(measurement.target) for measurement in measurements}
    if kinds & {Marginal, Blocks} and kinds <= {Marginal, Blocks, Moment, Parity} and _cells(model) <= LARGEST_STOPPED:
        length = stopped(model, measurements, partial(_go_on, replace(rule, polish=_POLISH)))
        rule = replace(rule, c=length * rule.c)
    if isinstance(model, Histogram) and solvable(measurements):
        model.reset()
        replace(_newton(rule), refits=_REFITS).fit(model, measurements)
        return
    if length == 1.0:
        _fit(model, measurements, rule)
    lengths = np.array([rule.longest([measured], model.total) for measured in measurements])
    longer = held_back(model, measurements, lengths)
    factors = np.ones(len(measurements))
    for _ in range(_REFITS):
        if longer.max(initial=1.0) == 1.0:
            return
        factors *= longer
        _fit(model, measurements, Stretched(rule, dict(zip(map(id, measurements), factors.tolist(), strict=True))))
        longer = held_back(model, measurements, factors * lengths)


def _cells(model: Model) -> float:
    if isinstance(model, Markov):
        return model.cells
    return model.domain.size if isinstance(model, Histogram) else math.inf


def _go_on(rule: Proximal, model: Model, measurements: Sequence[Measurement], so_far: float, length: float) -> None:
    """Fit anew, or from one length of the rule to another; moments have the usual length at most.

    Where it pays to go on, tables tell all of a column. Moments have the noise of its empty cells, of which a fit
    without negative counts has little.
    """
    longer = replace(rule, c=length * rule.c)
    if so_far >= 1.0:
        measurements = [each for each in measurements if not isinstance(each.target, Moment)]
    _fit(model, measurements, Onward(longer, so_far * rule.c) if so_far else longer)


def _fit(model: Model, measurements: Sequence[Measurement], rule: Rule) -> None:
    """In compiled sweeps over trees, of which a histogram is one; parities and nested tables by Newton's method."""
    if isinstance(model, Markov):
        _refit_trees(model, measurements, rule)
        return
    if rule.anew:
        model.reset()
    if isinstance(rule, Proximal | Onward) and isinstance(model, Histogram) and solvable(measurements):
        _newton(rule).fit(model, measurements)
        return
    if isinstance(model, Histogram) and (trees := _small_trees(model, measurements)) is not None:
        _refit_trees(trees, measurements, rule)
        model.reset()
        model.restore(trees.potentials())
        return
    left = [measured for measured in _beside_nested(model, measurements, rule) if measured.target.scope]
    if isinstance(model, Histogram) and left and not _by_slices(left):
        _fit_batches(model, [[(model, left)]], rule)
    elif left:
        _take_steps(model, left, rule)


def _newton(rule: Proximal | Onward) -> Newton:
    """The fit of parities as long as a rule says."""
    return Newton(_PARITIES * rule.c, _FALL, steps=1 if isinstance(rule, Onward) else 2)


def _small_trees(model: Histogram, measurements: Sequence[Measurement]) -> Markov | None:
    """The same hypothesis as a product over trees that hold all measurements, where that has far fewer cells."""
    state, domain = model.potentials(), model.domain
    if state.base is not None or domain.size <= _SMALL:
        return None
    scopes = [*(scope for scope, _ in domain.zeros), *state.scopes, *(m.target.scope for m in measurements)]
    if _FEWER * JunctionTree.of(domain, scopes).cells > domain.size:
        return None
    trees = Markov.from_potentials(domain, model.total, state)
    trees.cover(scopes)
    return trees


def _by_slices(measurements: Sequence[Measurement]) -> bool:
    """Whether steps on the cells of conditions alone take less time than passes over all cells."""
    shares = 0.0
    for target in [measured.target for measured in measurements]:
        if target.domain.size > LARGEST_STOPPED and any(len(target.domain.base((n,))) > 1 for n in target.scope):
            return True  # sweeps hold the code of such a variable for every cell
        if not isinstance(target, Conjunction):
            return False
        sizes = zip(target.codes, target.domain.shape_of(target.scope), strict=True)
        shares += math.prod(len(codes) / size for codes, size in sizes)
    return _PASSES_OF_A_SLICE * shares <= len({measured.target.scope for measured in measurements})


def _beside_nested(model: Model, measurements: Sequence[Measurement], rule: Rule) -> Sequence[Measurement]:
    """Fit nested tables that nothing connects to others, from the model as it is; returns the other measurements.

    Beside blocks of several attributes there may be tables of these alone. They are fitted first, and spread records
    inside the blocks. Moments are left: the hypothesis is moved towards them from what the tables make of it.
    """
    if isinstance(rule, Sweeps | Resumed) or not any(_is_level(measured) for measured in measurements):
        return _without_blocks(measurements)
    domain = model.domain
    uniform = not isinstance(model, Histogram) or model.potentials().base is None
    bases = [domain.base(measured.target.scope) for measured in measurements]
    start = [domain.base(scope) for scope in model.start] if isinstance(model, Markov) else []
    connected = [*bases, *start, *(c.scope for c in domain.constraints)] if uniform else [domain.names]
    fit = Nested(_NESTED * rule.c)
    fit = replace(fit, steps=2) if isinstance(rule, Onward) else fit
    left = list(range(len(measurements)))
    tables = [place for place in left if not isinstance(measurements[place].target, Moment)]
    for group in components(domain, connected):
        inside = [place for place in tables if bases[place] and bases[place][0] in group]
        several = [place for place in inside if len(bases[place]) > 1]
        blocks = any(isinstance(measurements[place].target, Blocks) for place in several)
        known = [measurements[place] for place in (several if blocks else inside)]
        if levels := measured_levels(known):
            fit_top_down(model, known, levels)
            left = [place for place in left if place not in inside]
        elif nested(known):
            if blocks and len(several) < len(inside):  # inside its blocks, the hypothesis stays as these leave it
                _take_steps(model, [measurements[place] for place in inside if place not in several], rule)
            fit.fit(model, known)
            left = [place for place in left if place not in inside]
    return _without_blocks([measurements[place] for place in left])


def _without_blocks(measurements: Sequence[Measurement]) -> Sequence[Measurement]:
    """Refuse blocks beside nested tables: steps and compiled sweeps are along cells and queries.

    Raises:
        ConfigError: There are some.
    """
    for measured in measurements:
        if isinstance(measured.target, Blocks):
            raise ConfigError(
                f"{measured.target.text} overlap other measurements, and blocks are fitted where tables are nested",
                remedy="give the count of each block as a query of its own",
            )
    return measurements


def _is_level(measured: Measurement) -> bool:
    if isinstance(measured.target, Blocks):
        return True
    return any(measured.target.domain.function(name) is not None for name in measured.target.scope)


@lru_cache(maxsize=4096)
def _says_nothing(target: Measurable) -> bool:
    """Whether it is a query with the same value for all records, as constraints leave them."""
    cells = can_be(target) if isinstance(target, LinearQuery) else None
    return isinstance(target, LinearQuery) and cells is not None and is_known(target, cells)


def _take_steps(model: Model, measurements: Sequence[Measurement], rule: Rule) -> None:
    """Step by step, on the model itself."""
    ends = list(accumulate(measured.values.size for measured in measurements))
    targets, cells = [measured.target for measured in measurements], [can_be(m.target) for m in measurements]
    for phase in rule.phases(measurements, model.total):
        values = np.split(phase.targets, ends[:-1])
        for share, equal in groupby(phase.shares.tolist()):
            steps = runs(Run(targets, values, (share * phase.rates).tolist(), cells), range(len(targets)))
            sweeps = sum(1 for _ in equal)
            if phase.kind != "implicit" and len(steps) == 1:
                (explicit if phase.kind == "explicit" else joint)(model, steps[0], sweeps)
                continue
            for _ in range(sweeps):
                for run in steps:
                    _STEPS[phase.kind](model, run)


def _refit_trees(model: Markov, measurements: Sequence[Measurement], rule: Rule) -> None:
    """Each part apart, and only those that were not fitted to the same measurements before."""
    known = [measured for measured in measurements if measured.target.scope]
    model.cover(measured.target.scope for measured in known)
    inside: dict[int, list[Measurement]] = {id(part): [] for part in model.forest}
    for measured in known:
        inside[id(model.part(measured.target.scope[0]))].append(measured)
    left = [(part, inside[id(part)]) for part in model.forest if not _is_fitted(part, inside[id(part)], rule)]
    if rule.anew:
        fresh = model.restart([part for part, _ in left])
        left = [(part, mine) for part, (_, mine) in zip(fresh, left, strict=True)]
    batches: dict[float, list[tuple[Beliefs, list[Measurement]]]] = {}
    for part, mine in left:
        if others := _beside_nested(model, mine, rule):
            batches.setdefault(rule.longest(others, model.total), []).append((part, list(others)))
    _fit_batches(model, list(batches.values()), rule)
    for part, mine in left if rule.anew else ():
        model.part(part.tree.cliques[0][0]).source = _Source(rule, mine)


def _is_fitted(part: Beliefs, measurements: Sequence[Measurement], rule: Rule) -> bool:
    """Whether a fit that starts again would end where the part is."""
    before = part.source
    if not (rule.anew and isinstance(before, _Source) and before.rule == rule):
        return False
    return len(before.measurements) == len(measurements) and all(map(operator.is_, before.measurements, measurements))


_Batch = Sequence[tuple[Beliefs | Histogram, list[Measurement]]]
"""Parts that share their sweeps, and what was measured of each."""


def _fit_batches(model: Markov | Histogram, batches: Sequence[_Batch], rule: Rule) -> None:
    """Fit batches, large ones side by side; where one leaves the range of floating point, its parts apart."""
    cells = sum(part.tree.cells for batch in batches for part, _ in batch)
    cores = min(usable_cores(), len(batches)) if cells >= _LARGE else 1

    def fits(start: int, stop: int) -> list[Potentials | None]:
        return [_fit_trees(model, batch, rule) for batch in batches[start:stop]]

    for batch, factors in zip(batches, chain.from_iterable(in_slices(fits, len(batches), cores)), strict=True):
        if factors is not None:
            model.credit(factors)
        elif len(batch) > 1:
            _fit_batches(model, [[alone] for alone in batch], rule)
        else:
            _take_steps(model, batch[0][1], rule)


def _fit_trees(model: Markov | Histogram, batch: _Batch, rule: Rule) -> Potentials | None:
    """Fit some parts in compiled sweeps; returns the steps, None if probabilities leave the range of floating point."""
    measurements = [measured for _, mine in batch for measured in mine]
    fit = TreeFit([part for part, _ in batch], measurements, ordered=isinstance(rule, Sweeps))
    done = all(fit.run(phase) for phase in rule.phases(measurements, model.total)) and fit.settle()
    return fit.log_factors() if done else None


_STEPS: dict[Kind, Callable[[Model, Run], object]] = {"explicit": explicit, "implicit": implicit, "joint": joint}
