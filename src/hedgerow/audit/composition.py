"""Runs whose steps were fixed beforehand: the delta of all of them, by a recursion of the auditor's own.

With R the ratio of the probabilities of what was seen on both tables, delta(epsilon) is the mean of (R - e^epsilon)+ on
the second table, where R has the mean 1. A step multiplies R by a number of mean 1: Gaussian noise by a log-normal one,
a pure step by e^x or e^-x, a selection by any law on an interval [e^(a - x), e^a]. The largest mean, as a function of R
before the selections, is convex, with slopes up to 1 (in units of e^epsilon): chords between points of a lattice lie
above it, and so does the line of slope 1 from the last point. (`hedgerow.privacy` works with 1 / R on the first table,
on coarser lattices; docs/theory.md section 20 has the proof.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hedgerow.audit.costs import Entry
from hedgerow.audit.exact import exact
from hedgerow.audit.findings import Finding, gathered
from hedgerow.audit.gaussian import cost_of_noise
from hedgerow.audit.questions import HALVES

FIELDS = {"limit", "gaussian", "selections", "selection_epsilon", "pure", "pure_epsilon"}
_MOST = 128
_COUNTS = ("selections", "pure")
_ROUNDING = 1.0 + 2.0**-34
"""More than the rounding of a step."""
_SELECTIONS = {
    "exponential mechanism": Fraction(0),
    "exponential mechanism, one draw": Fraction(1, 2**38),
    "exponential mechanism, independent draws": Fraction(1, 2**38),
}
"""Selections, with what the rounding of weights adds to the epsilon of each."""


def faults(composition: Mapping[str, Any]) -> str:
    """Describe a fault in the numbers of a composition; empty if there is none.

    Example:
        >>> faults({"limit": 0.02, "gaussian": 0.02})
        'a fixed composition does not have the fields gaussian, limit'
    """
    if set(composition) != FIELDS:
        return f"a fixed composition does not have the fields {', '.join(sorted(composition))}"
    amounts = {name: exact(number) for name, number in composition.items()}
    if any(amount < 0 or amount > 10_000 for amount in amounts.values()):
        return "a number of the fixed composition is out of its range"
    for name in _COUNTS:
        if amounts[name].denominator != 1 or amounts[name] > _MOST:
            return f"a fixed composition has 0 to {_MOST} steps of a kind"
        if (amounts[name] > 0) != (amounts[f"{name.removesuffix('s')}_epsilon"] > 0):
            return "steps of a fixed composition have an epsilon, and no others"
    return ""


def check_steps(
    entries: Sequence[Entry], ledger: Mapping[str, Any], budget: Mapping[str, Any] | None
) -> Finding | None:
    """Whether a ledger holds no steps but those that its budget fixed beforehand; None where none were.

    Args:
        entries: The ledger's events.
        ledger: The ledger as the file holds it.
        budget: The budget; None if the file has none.
    """
    fixed, promised = ledger.get("composition"), (budget or {}).get("composition")
    if fixed is None and promised is None:
        return None
    wrong: list[str] = []
    if fixed != promised and budget is not None:
        wrong.append("the ledger was fixed to other steps than the budget")
    fixed = fixed or promised or {}
    if fault := faults(fixed):
        return gathered("steps", [fault], [], "")
    made = {"gaussian": Fraction(0), "selections": Fraction(0), "pure": Fraction(0)}
    for entry in entries:
        if entry.mechanism == "discrete Gaussian":
            made["gaussian"] += cost_of_noise(entry.sensitivity, entry.scale).high
        elif entry.mechanism in _SELECTIONS:
            made["selections"] += entry.values if entry.mechanism.endswith("draws") else 1
            loss = 2 * entry.sensitivity / entry.scale + _SELECTIONS[entry.mechanism]
            if loss > exact(fixed["selection_epsilon"]):
                wrong.append(f"{entry.name}: has an epsilon of {float(loss):.6g}")
        elif entry.mechanism == "discrete Laplace":
            most, loss = exact(fixed["pure_epsilon"]), entry.sensitivity / entry.scale
            in_halves = entry.bound == HALVES and loss > most  # one step for each of the cells that move
            made["pure"] += 2 if in_halves else 1
            if (loss / 2 if in_halves else loss) > most:
                wrong.append(f"{entry.name}: has an epsilon of {float(loss):.6g}")
        elif entry.mechanism != "public":
            wrong.append(f"{entry.name}: is none of the steps that were fixed beforehand")
    wrong += [
        f"{name}: {float(amount):.6g} of {float(exact(fixed[name])):.6g}"
        for name, amount in made.items()
        if amount > exact(fixed[name])
    ]
    text = f"{int(made['selections'])} selections, {int(made['pure'])} with Laplace noise, and Gaussian noise of "
    return gathered("steps", wrong, [], text + f"mu^2/2 = {float(made['gaussian']):.6g}: within what was fixed")


def delta_of(composition: Mapping[str, Any], epsilon: float) -> float:
    """A delta with which all steps together are (epsilon, delta)-private, rounded up.

    Args:
        composition: The steps.
        epsilon: Above 0.

    Example:
        >>> steps = {"limit": 0.028, "gaussian": 0.028, "selections": 0, "selection_epsilon": 0.0}
        >>> f"{delta_of({**steps, 'pure': 0, 'pure_epsilon': 0.0}, 1.0):.3e}"
        '9.947e-07'
    """
    count, spanned = int(composition["selections"]), float(composition["selection_epsilon"])
    points, values = [0.0], [0.0]  # logarithms of r = R e^-epsilon, and values in units of e^epsilon
    if count:
        parts = max(6, min(20, round(16.0 * (40.0 / count) ** 0.75)))
        step, spread = spanned / parts, 0.5 * spanned * math.sqrt(count)
        low = -math.ceil(min(count * spanned, 12.0 * spread + 2.0 * spanned) / step)
        high = math.ceil(min(count * spanned, 8.0 * spread + 2.0 * spanned) / step)
        points = [step * place for place in range(low, high + 1)]
        values = [max(0.0, math.expm1(point)) for point in points]
        for _ in range(count):
            values = _before_a_selection(points, values, spanned, parts)
    mu = math.sqrt(2.0 * float(composition["gaussian"]))
    total = math.fsum(
        chance * _mean(points, values, loss - epsilon, mu)
        for loss, chance in _of_pure_steps(int(composition["pure"]), float(composition["pure_epsilon"]))
    )
    return min(1.0, math.exp(epsilon) * total * _ROUNDING)


def _before_a_selection(points: list[float], values: list[float], spanned: float, parts: int) -> list[float]:
    """The largest means one selection earlier, at the same points."""
    step, n, whole = spanned / parts, len(points), math.expm1(spanned)
    ratios = [math.exp(step * place) for place in range(n + 2 * parts + 1)]
    beyond = math.exp(points[-1])
    after = [values[0]] * parts + values
    after += [values[-1] + beyond * math.expm1(step * place) for place in range(1, parts + 1)]
    scale = math.exp(points[0] - spanned)
    at = [scale * ratio for ratio in ratios]  # r at each of these
    slopes = [(b - a) / (s - r) for (a, b), (r, s) in zip(pairwise(after), pairwise(at), strict=False)]
    heights = [a - slope * r for a, slope, r in zip(after, slopes, at, strict=False)]
    grown, gap = math.exp(spanned), math.expm1(step)
    chances = [(grown / ratios[place] - 1.0) / whole for place in range(parts + 1)]
    found = []
    for j in range(n):
        up, down, r = j + parts, j, at[j + parts]
        best = max(q * after[up + i] + (1.0 - q) * after[down + i] for i, q in enumerate(chances))
        for i in range(parts):
            rise, fall = slopes[up + i] - slopes[down + i], heights[down + i] - heights[up + i]
            if not (rise > 0.0 and fall > 0.0):
                continue
            v = math.sqrt(grown * fall / (r * rise))  # the best e^a, where the mean is concave in e^a
            if ratios[i] < v < ratios[i + 1]:
                share, q = (v / ratios[i] - 1.0) / gap, (grown / v - 1.0) / whole
                upper = after[up + i] + share * (after[up + i + 1] - after[up + i])
                lower = after[down + i] + share * (after[down + i + 1] - after[down + i])
                best = max(best, q * upper + (1.0 - q) * lower)
        found.append(best * _ROUNDING)
    return found


def _of_pure_steps(count: int, epsilon: float) -> Iterator[tuple[float, float]]:
    """Logarithms of R after so many randomised responses, with their probabilities on the second table."""
    for yes in range(count + 1):
        log_chance = -yes * epsilon - count * math.log1p(math.exp(-epsilon))
        yield (2 * yes - count) * epsilon, math.comb(count, yes) * math.exp(log_chance)


def _mean(points: list[float], values: list[float], start: float, mu: float) -> float:
    """Mean of the chords after Gaussian noise; ``start`` is the logarithm of r before it."""
    if mu == 0.0:
        mu = 1e-12
    means, masses = [], []
    ends = [-math.inf, *((point - start) / mu for point in points), math.inf]
    for low, high in pairwise(ends):
        masses.append(_mass(low + mu / 2.0, high + mu / 2.0))
        means.append(_mass(low - mu / 2.0, high - mu / 2.0))  # of r, in units of its start
    total = masses[0] * values[0]
    for k, (low, high) in enumerate(pairwise(points)):
        mass, share = masses[k + 1], math.exp(start - low) * means[k + 1]
        weight = min(mass, max(0.0, (share - mass) / math.expm1(high - low)))
        total += weight * values[k + 1] + (mass - weight) * values[k]
    last = math.exp(points[-1])
    rest = max(0.0, math.exp(start) * means[-1] - last * masses[-1])
    return total + masses[-1] * values[-1] + rest


def _mass(low: float, high: float) -> float:
    """Normal probability of an interval, from the nearer tail."""
    root = math.sqrt(2.0)
    if low > 0.0:
        return max(0.0, math.erfc(low / root) - math.erfc(high / root)) / 2.0
    return max(0.0, math.erfc(-high / root) - math.erfc(-low / root)) / 2.0
