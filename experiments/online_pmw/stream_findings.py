"""Quantities and claims of the adaptive stream."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.experiment import Claim
from experiments.online_pmw.adult import RECORDS
from experiments.results import Results
from hedgerow.algorithms.online_pmw import Variant
from hedgerow.privacy import ApproxDP, Budget, PureDP
from hedgerow.queries import Neighbours

DELTA = 1e-10
"""Below one over the number of records for every table."""

VARIANTS: dict[str, Variant] = {
    "4a (theorem)": "4a",
    "4b (theorem)": "4b",
    "4c (theorem)": "4c",
    "4b (fitted rules)": "4b",
    "4c (fitted rules)": "4c",
}
THEOREM, FITTED = tuple(VARIANTS)[:3], tuple(VARIANTS)[3:]
PURE = ("4c (theorem)", "4c (fitted rules)")

MEAN, LARGEST, LATE = "mean error", "largest error", "mean error since the last mark"
UNIFORM, PROMISED = "mean error of the uniform distribution", "promised error"
CORRECTIONS, PLANNED, SO_FAR = "corrections", "planned corrections", "corrections so far"
FREE, TESTED, MISSED = "share of free answers", "share with an interval", "intervals that miss"
LARGEST_TESTED = "largest error with an interval"
REFUSED = "refused"


def variant_of(name: str) -> Variant:
    """The library's name of a variant.

    Example:
        >>> variant_of("4b (fitted rules)")
        '4b'
    """
    return VARIANTS[name]


def budget_of(name: str, epsilon: float) -> Budget:
    """Pure for 4c, with delta for 4a and 4b; between tables of equal size, so that their size is public.

    Example:
        >>> budget_of("4a (theorem)", 1.0).delta
        1e-10
    """
    relation = Neighbours.REPLACE
    return PureDP(epsilon, relation) if name in PURE else ApproxDP(epsilon, DELTA, relation)


def independent(name: str, questions: float, records: float, epsilon: float) -> float:
    """Mean error of independent noise on every answer at the same cost, a fraction of the records.

    Laplace noise of scale k / epsilon where the budget is pure, else Gaussian noise of sigma = sqrt(k / (2 rho)).

    Example:
        >>> independent("4c (theorem)", 10_000, 48_842, 1.0)
        0.2047...
    """
    budget = budget_of(name, epsilon)
    if isinstance(budget, PureDP):
        return questions / epsilon / records
    return math.sqrt(questions / (math.pi * budget.limit)) / records


def claims_of(found: Results) -> list[Claim]:
    """As far as the cells that were measured say something about it."""
    answered = cases_of(found)
    theorem, fitted = ([each for each in answered if _name(each) in names] for names in (THEOREM, FITTED))
    small, large = ([each for each in fitted if (_records(each) > RECORDS) == big] for big in (False, True))
    return [
        _promises_kept(theorem),
        _enough_planned(theorem),
        _promises_compared(found),
        _free(answered),
        *([_beats_noise(f"up to {RECORDS:,} records", small)] if small else []),
        *([_beats_noise("on larger tables too", large)] if large else []),
        _fitted_errs_less(found, fitted),
        _corrections_last(fitted),
        _intervals(answered),
        _refusals(found),
    ]


def cases_of(found: Results) -> list[Results]:
    """The averages of each variant at each place, where it answered."""
    names = ("variant", "records", "epsilon")
    keys = [tuple(each.where[name] for name in names) for each in found.averages if each.quantity == MEAN]
    return [found.where(**dict(zip(names, key, strict=True))) for key in dict.fromkeys(keys)]


def _name(case: Results) -> str:
    return case.texts("variant")[0]


def _records(case: Results) -> float:
    return case.numbers("records")[0]


def _place(case: Results) -> str:
    return f"n = {_records(case):,.0f}, epsilon {case.numbers('epsilon')[0]:g}"


def noise_of(case: Results) -> float:
    """Mean error of independent noise, for the variant and the place of a case (see `independent`)."""
    return independent(_name(case), case.numbers("questions")[0], _records(case), case.numbers("epsilon")[0])


def _promises_kept(theorem: Sequence[Results]) -> Claim:
    """Promises from 1 on say nothing."""
    saying = [case for case in theorem if case.mean(PROMISED) < 1.0]
    ratios = [case.mean(LARGEST) / case.mean(PROMISED) for case in saying]
    return Claim(
        "where a theorem promises anything, no answer is further off",
        holds=all(ratio <= 1.0 for ratio in ratios),
        figures=f"{len(saying)} of {len(theorem)} promises are below 1; largest error, on the average of the "
        f"repetitions, up to {max(ratios, default=math.nan):.2f} of what was promised",
    )


def _enough_planned(theorem: Sequence[Results]) -> Claim:
    used = [case.mean(CORRECTIONS) / case.mean(PLANNED) for case in theorem]
    return Claim(
        "by the theorems' numbers some corrections are left after the last question",
        holds=all(share < 1.0 for share in used),
        figures=f"{min(used, default=math.nan):.2g} to {max(used, default=math.nan):.2g} of them",
    )


def _promises_compared(found: Results) -> Claim:
    """4b against 4a: the same budget, the same questions."""
    told = [case for case in cases_of(found.where(variant=THEOREM[1])) if _has_twin(found, case, THEOREM[0])]
    gains = [_twin(found, case, THEOREM[0]).mean(PROMISED) / case.mean(PROMISED) for case in told]
    return Claim(
        "4b promises less error than 4a for the same epsilon and delta",
        holds=all(gain > 1.0 for gain in gains),
        figures=f"{min(gains, default=math.nan):.3g} to {max(gains, default=math.nan):.3g} times less",
    )


def _has_twin(found: Results, case: Results, variant: str) -> bool:
    return bool(cases_of(_twin(found, case, variant)))


def _twin(found: Results, case: Results, variant: str) -> Results:
    """Another variant at the same place."""
    return found.where(variant=variant, records=int(_records(case)), epsilon=case.values("epsilon")[0])


def _free(cases: Sequence[Results]) -> Claim:
    shares = {_place(case) + f", {_name(case)}": case.mean(FREE) for case in cases}
    least = min(shares, key=lambda place: shares[place], default="")
    return Claim(
        "at least nine tenths of the answers are free: the data are not asked",
        holds=all(share >= 0.9 for share in shares.values()),
        figures=f"{shares.get(least, math.nan):.3f} ({least}) to {max(shares.values(), default=math.nan):.4f}",
    )


def _beats_noise(where: str, fitted: Sequence[Results]) -> Claim:
    gains = [(noise_of(case) / case.mean(MEAN), case) for case in fitted]
    shown = "; ".join(f"{_name(case)[:2]}, {_place(case)}: {gain:.2g}" for gain, case in gains)
    return Claim(
        f"with the fitted rules the mean error is below that of independent noise on every answer, {where}",
        holds=all(gain > 1.0 for gain, _ in gains),
        figures=f"times less: {shown}",
    )


def _fitted_errs_less(found: Results, fitted: Sequence[Results]) -> Claim:
    theorems = {"4b (fitted rules)": THEOREM[1], "4c (fitted rules)": THEOREM[2]}
    pairs = [(case, _twin(found, case, theorems[_name(case)])) for case in fitted]
    ratios = [(twin.mean(MEAN) / case.mean(MEAN), case) for case, twin in pairs if twin.has(MEAN)]
    least = min(ratios, key=lambda ratio: ratio[0], default=(math.nan, None))
    worst = "" if least[1] is None else f" ({_name(least[1])[:2]}, {_place(least[1])})"
    return Claim(
        "the fitted rules, which promise nothing, have a smaller mean error than their variant's theorem",
        holds=all(ratio > 1.0 for ratio, _ in ratios),
        figures=f"{least[0]:.2g}{worst} to {max((ratio for ratio, _ in ratios), default=math.nan):.2g} times smaller",
    )


def _corrections_last(fitted: Sequence[Results]) -> Claim:
    left = [case for case in fitted if case.mean(CORRECTIONS) < case.mean(PLANNED)]
    told = [case.mean(TESTED) for case in fitted]
    return Claim(
        "with the fitted rules some corrections are left after the last question",
        holds=len(left) == len(fitted),
        figures=f"in {len(left)} of {len(fitted)} cases; {min(told, default=math.nan):.0%} to "
        f"{max(told, default=math.nan):.0%} of the answers have an interval, the others came after the last correction",
    )


def _intervals(cases: Sequence[Results]) -> Claim:
    missed = [case.mean(MISSED) for case in cases]
    return Claim(
        "at most 5% of the 95% intervals miss the truth",
        holds=all(share <= 0.05 for share in missed),
        figures=f"at most {max(missed, default=math.nan):.2%} of them",
    )


def _refusals(found: Results) -> Claim:
    refused = [each for each in found.averages if each.quantity == REFUSED and each.mean > 0.0]
    vacuous = [case for case in cases_of(found) if case.has(PROMISED) and case.mean(PROMISED) >= 1.0]
    named = ", ".join(f"{_name(case)[:2]} at {_place(case)}" for case in vacuous)
    return Claim(
        "every theorem promises something, an error below 1, wherever it was run",
        holds=not refused and not vacuous,
        figures=f"{len(refused)} refusals; promises of 1 and more: {named or 'none'}",
    )
