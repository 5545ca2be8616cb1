"""The sentence of a guarantee, written again from its numbers."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from hedgerow.audit.exact import exact, exp_of_minus
from hedgerow.audit.gaussian import amplified, epsilon_of
from hedgerow.audit.relations import check_relation, in_words

_SOURCES = ("hedgerow.privacy.noise.OpenDPNoise", "hedgerow.privacy.noise.SeededNoise")
"""Those of Hedgerow; a session that was seeded once stays so, whatever draws its noise now."""
Figure = Callable[[float, int], str]
"""Writes a number with at most so many digits."""


def sentence_of(budget: Mapping[str, Any], limit: float, *, nearest: bool = False) -> str:
    """The guarantee of a budget in one sentence, whose figures are rounded up: it says no more than is kept.

    Args:
        budget: Kind and numbers of the budget, as files hold them.
        limit: Limit of its ledger.
        nearest: Whether figures are rounded to the nearest, as earlier versions wrote them.

    Raises:
        KeyError, TypeError, ValueError: The mapping is not a budget.

    Example:
        >>> print(sentence_of({"kind": "pure", "epsilon": 1.0, "neighbours": "add-remove"}, 1.0))
        When one person's record is added or left out, the probability of any outcome of this release changes by a
        factor of at most 2.719 (pure differential privacy with epsilon = 1).
    """
    relation, figure = in_words(relation_of(budget)), _nearest if nearest else _up
    match budget["kind"]:
        case "pure":
            epsilon = budget["epsilon"]
            words = f"{_factor(epsilon, figure)} (pure differential privacy with epsilon = {figure(epsilon, 6)})"
        case "zcdp":
            rho = figure(budget["rho"], 6)
            return (
                f"When {relation}, the Renyi divergence of every order alpha > 1 between the outcomes of this release "
                f"is at most {rho} alpha (zero-concentrated differential privacy with rho = {rho})."
            )
        case "gdp":
            mu = figure(budget["mu"], 6)
            return (
                f"When {relation}, telling the outcomes of this release apart is no easier than telling a standard "
                f"normal number from one whose mean is {mu} (Gaussian differential privacy with mu = {mu})."
            )
        case "approximate":
            epsilon, delta = budget["epsilon"], figure(budget["delta"], 3)
            words = f"{_factor(epsilon, figure)}, apart from a probability of at most {delta} (differential "
            words += f"privacy with epsilon = {figure(epsilon, 6)} and delta = {delta}, accounted as "
            kept = budget.get("thresholds")
            apart = f", and {figure(kept, 3)} of delta kept for thresholds" if kept else ""
            words += f"{_accounted(budget, limit, figure)}{apart})"
        case "subsampled":
            epsilon, failure = of_a_sample(budget, limit)
            delta = figure(failure, 3)
            apart = f", apart from a probability of at most {delta}" if failure else ""
            words = f"{_factor(epsilon, figure)}{apart} (differential privacy with epsilon = {figure(epsilon, 6)} and "
            words += f"delta = {delta}, amplified by a secret sample of {budget['sampled']:,} of "
            words += f"{budget['population']:,} records)"
        case kind:
            raise ValueError(f"there is no budget of the kind {kind!r}")
    return f"When {relation}, the probability of any outcome of this release changes by a factor of at most {words}."


def _accounted(budget: Mapping[str, Any], limit: float, figure: Figure) -> str:
    match unit_of(budget):
        case "epsilon":
            return f"pure differential privacy with epsilon = {figure(limit, 6)}"
        case "mu^2/2":
            mu = math.sqrt(2.0 * limit)
            mu = mu if figure is _nearest or exact(mu) ** 2 >= 2 * exact(limit) else math.nextafter(mu, math.inf)
            return f"Gaussian differential privacy with mu = {figure(mu, 6)}"
    fixed = "steps fixed beforehand, " if "composition" in budget else ""
    return f"{fixed}zCDP with rho = {figure(limit, 6)}"


_OUTSIDE = {
    "draft": "Its domain is a draft that was accepted as it stood: values and bounds that were read off the data are "
    "outside this guarantee.",
    "trusted_types": "The types of its columns were trusted to be public: what they tell of the cells of the table is "
    "outside this guarantee.",
}
"""Sentences about a domain that is not wholly public, by the mark that it bears."""
_KNOWN = (
    "taken for public: nothing is promised about what they tell. If they were counted on the private table itself, as "
    "invariants, the promise is conditional on them: it holds between tables that have these totals."
)


def limited(sentence: str, domain: Mapping[str, Any]) -> str:
    """The sentence, and what the domain holds that it does not cover.

    Args:
        sentence: The guarantee of the budget.
        domain: The domain as the file holds it.

    Example:
        >>> limited("When ...", {"attributes": {}, "trusted_types": True})
        'When ... The types of its columns were trusted to be public: ...
    """
    caveats = [caveat for mark, caveat in _OUTSIDE.items() if domain.get(mark) is True]
    if known := domain.get("known"):
        tables = [table if isinstance(table, Mapping) else {} for table in known]
        people = any("population" in table for table in tables)
        of, alone = (" of the population", "their number") if people else ("", "the number of records")
        named = "; ".join(" * ".join(table.get("columns", ())) or alone for table in tables)
        caveats.append(f"Known totals{of} ({named}) are {_KNOWN}")
    return " ".join([sentence, *caveats])


def stamped(sentence: str, noise: str | None) -> str:
    """The sentence of a release whose noise was not secure.

    Args:
        sentence: The guarantee of the budget.
        noise: Full name of the class that drew the noise last, if the file says it.

    Example:
        >>> stamped("When ...", "hedgerow.privacy.noise.SeededNoise")
        'NOT PRIVATE: seeded. With secure noise: When ...'
    """
    why = "seeded" if not noise or noise in _SOURCES else "noise from a source of its own"
    return f"NOT PRIVATE: {why}. With secure noise: {sentence}"


def relation_of(budget: Mapping[str, Any]) -> str:
    """The neighbouring relation of a budget; that of a sample is the one of its inner budget.

    Raises:
        KeyError, TypeError, ValueError: There is none.
    """
    return relation_of(budget["inner"]) if budget["kind"] == "subsampled" else check_relation(budget["neighbours"])


def of_a_sample(budget: Mapping[str, Any], limit: float) -> tuple[float, float]:
    """The (epsilon, delta) of a budget that is spent on a secret sample.

    Args:
        budget: A budget of the kind "subsampled".
        limit: Limit of its ledger.

    Raises:
        KeyError, TypeError, ValueError: The mapping is not such a budget.

    Example:
        >>> inner = {"kind": "pure", "epsilon": 1.0, "neighbours": "replace"}
        >>> epsilon, delta = of_a_sample({"kind": "subsampled", "inner": inner, "sampled": 1, "population": 2}, 1.0)
        >>> round(epsilon, 6), delta
        (0.620115, 0.0)
    """
    inner, share = budget["inner"], exact(budget["sampled"]) / exact(budget["population"])
    if not 0 < share <= 1:
        raise ValueError("a sample holds from one to all records")
    if inner["kind"] == "pure":
        return float(amplified(exact(inner["epsilon"]), share)), 0.0
    delta = budget.get("delta")
    if delta is None:
        delta = inner["delta"]
    if inner["kind"] == "approximate" and (delta == inner["delta"] or unit_of(inner) == "epsilon"):
        epsilon = exact(inner["epsilon"])
    else:
        epsilon = epsilon_of(exact(limit), unit_of(inner), exact(delta))
    return float(amplified(epsilon, share)), float(share * exact(delta))


def unit_of(budget: Mapping[str, Any]) -> str:
    """The unit that the ledger of a budget counts in.

    Args:
        budget: A budget for a whole table; one for (epsilon, delta) says under "regime" if it is not counted in rho.

    Raises:
        KeyError, ValueError: There is no such budget.

    Example:
        >>> unit_of({"kind": "approximate", "epsilon": 1.0, "delta": 1e-6, "regime": "gdp"})
        'mu^2/2'
    """
    kind = budget["kind"]
    regime = budget.get("regime", "zcdp") if kind == "approximate" else kind
    units = {"pure": "epsilon", "zcdp": "rho", "gdp": "mu^2/2"}
    if kind == "approximate" and regime not in units:
        raise ValueError(f"an (epsilon, delta) budget is not counted in {regime!r}")
    return units[regime]


def _factor(epsilon: float, figure: Figure) -> str:
    """``e^epsilon``; rounded up, it keeps two digits of what it is above 1."""
    if figure is _nearest:
        return f"{math.exp(epsilon):.4g}" if epsilon < 20 else f"e^{epsilon:.6g}"
    if not 1e-6 <= epsilon < 20:
        return f"e^{figure(epsilon, 6)}"
    growth = 1 / exp_of_minus(exact(epsilon)).low
    return _above(growth, max(4, 2 - _exponent(growth - 1)))


def _nearest(number: float, digits: int) -> str:
    return f"{number:.{digits}g}"


def _up(number: float, digits: int) -> str:
    return upwards(exact(number), digits)


def upwards(number: Fraction, digits: int) -> str:
    """The figure next to a number if that reads as the number, or as more; else the next larger one.

    Args:
        number: A number from 0 on.
        digits: Most digits of the figure.

    Example:
        >>> upwards(exact(0.1), 3), upwards(exact(1.0004), 3)
        ('0.1', '1.01')
    """
    near = _nearest(float(number), digits)
    return near if exact(float(near)) >= number else _above(number, digits)


def _above(number: Fraction, digits: int) -> str:
    """The smallest figure that is no smaller than a positive number."""
    unit = Fraction(10) ** (_exponent(number) - digits + 1)
    return _nearest(float(math.ceil(number / unit) * unit), digits)


def _exponent(number: Fraction) -> int:
    """The power of ten that its first digit stands for."""
    exponent = len(str(number.numerator)) - len(str(number.denominator))
    return exponent if number >= Fraction(10) ** exponent else exponent - 1
