"""Claims about the bounds: that they hold, how loose they are, and what they are good for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from experiments.experiment import Claim
from experiments.results import Results
from experiments.theory.mw_studies import GENERAL, SOURCE
from experiments.theory.sheets import PASSED, Held, held, ratios
from experiments.theory.study import ERROR

UNPROMISED = "too few records"
"""The topic where the promise is not made."""

_LEVEL = 0.001
_TEN = 10.0
_NEAR = 2.0


def kept(found: Results) -> Claim:
    """No bound is passed in more runs than its failure probability allows."""
    groups: defaultdict[str, list[Held]] = defaultdict(list)
    for each in held(found):
        if each.where["topic"] != UNPROMISED:
            groups[each.name].append(each)
    passed = {name: sum(each.passed for each in group) for name, group in groups.items()}
    runs = sum(each.runs for group in groups.values() for each in group)
    figures = [f"{sum(passed.values()):.0f} of {runs:,} comparisons of a run with a bound"]
    figures += [f"{count:.0f} of {sum(e.runs for e in groups[name])} {name}" for name, count in passed.items() if count]
    return Claim(
        "no bound is passed in more runs than its failure probability allows (for each bound a binomial test at level "
        "0.001)",
        holds=all(_may_be(group) for group in groups.values()),
        figures="; ".join(figures),
    )


def _may_be(group: Sequence[Held]) -> bool:
    """Whether so many failures may be by chance; unequal probabilities give less of a tail than equal ones do."""
    from scipy.stats import binom

    runs, passed = sum(each.runs for each in group), sum(each.passed for each in group)
    failure = sum(each.failure * each.runs for each in group) / runs
    return passed <= failure * runs or float(binom.sf(passed - 1, runs, failure)) > _LEVEL


def near(found: Results, words: str, whats: Sequence[str], topics: Sequence[str]) -> Claim:
    """Every bound is within ten times of what was measured.

    Args:
        found: The averages.
        words: Name of the bounded quantity.
        whats: The same, as quantities.
        topics: Topics of the studies.
    """
    told = ratios(each for each in held(found, topics) if each.what in whats and each.where["topic"] != UNPROMISED)
    return Claim(
        f"{words}: wherever bounds say something they are within ten times of the measured averages",
        holds=all(high <= _TEN for _, high in told.values()),
        figures="; ".join(f"{name}: {_times(*each)}" for name, each in told.items()) or "they say nothing here",
    )


def _times(low: float, high: float) -> str:
    ends = [f"{each:.1f}" if each < _TEN else f"{each:,.0f}" for each in (low, high)]
    return f"{' to '.join(dict.fromkeys(ends))} times"


def unpromised(found: Results) -> list[Claim]:
    """The use of the number of records that the promise asks for."""
    own = found.where(topic=UNPROMISED)
    shares = {place: own.mean(PASSED, at=place) for place in own.numbers("at")}
    few = [share for place, share in shares.items() if place <= _FEW]
    return [
        Claim(
            "with a hundredth of the records that the promise of offline PMW asks for it is broken in most runs",
            holds=min(few, default=0.0) > 0.5,
            figures=", ".join(f"{share:.0%} of the runs at {place:g}" for place, share in shares.items()),
        )
    ]


_FEW = 0.01


def best_rounds(found: Results) -> list[Claim]:
    """Whether the bound of theorem 2.3 is smallest where the error is."""
    own = [each for each in held(found, ["theorem 2.3"]) if (each.name, each.where["run"]) == (GENERAL, SOURCE)]
    if not own:
        return []
    promised, best = min(own, key=lambda each: each.bound), min(own, key=lambda each: each.measured)
    return [
        Claim(
            "MWEM errs least at the number of rounds whose bound by theorem 2.3 is smallest",
            holds=promised.where["at"] == best.where["at"],
            figures=f"bound smallest at T = {promised.where['at']}, error at T = {best.where['at']}",
        )
    ]


def sharp_steps(found: Results) -> list[Claim]:
    """Whether the step with the smaller bound errs less."""
    pairs = [
        (each.measured, _twin(own, each))
        for own in (held(found, [topic]) for topic in ("claim 1", "theorem 2.3"))
        for each in own
        if "source" in str(each.where["run"])
    ]
    gains = [source / sharp for source, sharp in pairs if sharp > 0.0]
    return [
        Claim(
            "sharp steps err less than the source's after as many rounds, with and without noise; bounds say 2.83 "
            "times less without",
            holds=min(gains, default=0.0) > 1.0,
            figures=f"{min(gains, default=0.0):.2f} to {max(gains, default=0.0):.2f} times less",
        )
    ]


def _twin(own: Sequence[Held], each: Held) -> float:
    run = str(each.where["run"]).replace("source", "sharp")
    return next((o.measured for o in own if (o.where["run"], o.where["at"]) == (run, each.where["at"])), 0.0)


def attained(found: Results) -> list[Claim]:
    """Distance of the errors of sessions from their bounds, for an analyst who knows the table."""
    topics = ("online 4a", "online 4b, 4c")
    told = ratios(each for each in held(found, topics) if each.what == ERROR)
    return [
        Claim(
            "an analyst who knows the table brings the largest error of online PMW to half of its bound or more",
            holds=all(high <= _NEAR for _, high in told.values()),
            figures="; ".join(f"{name}: {_times(*each)} the error" for name, each in told.items()),
        )
    ]
