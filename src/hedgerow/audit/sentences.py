"""The sentence of a guarantee, written again from its numbers."""

import math
from collections.abc import Mapping
from typing import Any

from hedgerow.audit.conversion import amplified, epsilon_of
from hedgerow.audit.exact import exact
from hedgerow.audit.relations import check_relation, in_words

_SOURCES = ("hedgerow.privacy.noise.OpenDPNoise", "hedgerow.privacy.noise.SeededNoise")
"""Those of Hedgerow; a session that was seeded once stays so, whatever draws its noise now."""


def sentence_of(budget: Mapping[str, Any], limit: float) -> str:
    """The guarantee of a budget in one sentence.

    Args:
        budget: Kind and numbers of the budget, as files hold them.
        limit: Limit of its ledger.

    Raises:
        KeyError, TypeError, ValueError: The mapping is not a budget.

    Example:
        >>> print(sentence_of({"kind": "pure", "epsilon": 1.0, "neighbours": "add-remove"}, 1.0))
        When one person's record is added or left out, the probability of any outcome of this release changes by a
        factor of at most 2.718 (pure differential privacy with epsilon = 1).
    """
    relation = in_words(relation_of(budget))
    match budget["kind"]:
        case "pure":
            epsilon = budget["epsilon"]
            told = f"of at most {_factor(epsilon)} (pure differential privacy with epsilon = {epsilon:.6g})"
        case "zcdp":
            rho = budget["rho"]
            return (
                f"When {relation}, the Renyi divergence of every order alpha > 1 between the outcomes of this release "
                f"is at most {rho:.6g} alpha (zero-concentrated differential privacy with rho = {rho:.6g})."
            )
        case "gdp":
            mu = budget["mu"]
            return (
                f"When {relation}, telling the outcomes of this release apart is no easier than telling a standard "
                f"normal number from one whose mean is {mu:.6g} (Gaussian differential privacy with mu = {mu:.6g})."
            )
        case "approximate":
            epsilon, delta = budget["epsilon"], budget["delta"]
            told = f"of at most {_factor(epsilon)}, apart from a probability of at most {delta:.3g} (differential "
            told += f"privacy with epsilon = {epsilon:.6g} and delta = {delta:.3g}, accounted as "
            kept = budget.get("thresholds")
            apart = f", and {kept:.3g} of delta kept for thresholds" if kept else ""
            told += f"{_accounted(budget, limit)}{apart})"
        case "subsampled":
            epsilon, delta = of_a_sample(budget, limit)
            apart = f", apart from a probability of at most {delta:.3g}" if delta else ""
            told = f"of at most {_factor(epsilon)}{apart} (differential privacy with epsilon = {epsilon:.6g} and delta "
            told += f"= {delta:.3g}, amplified by a secret sample of {budget['sampled']:,} of "
            told += f"{budget['population']:,} records)"
        case kind:
            raise ValueError(f"there is no budget of the kind {kind!r}")
    return f"When {relation}, the probability of any outcome of this release changes by a factor {told}."


def _accounted(budget: Mapping[str, Any], limit: float) -> str:
    match unit_of(budget):
        case "epsilon":
            return f"pure differential privacy with epsilon = {limit:.6g}"
        case "mu^2/2":
            return f"Gaussian differential privacy with mu = {math.sqrt(2.0 * limit):.6g}"
    return f"zCDP with rho = {limit:.6g}"


_OUTSIDE = {
    "draft": "Its domain is a draft that was accepted as it stood: values and bounds that were read off the data are "
    "outside this guarantee.",
    "trusted_types": "The types of its columns were trusted to be public: what they tell of the cells of the table is "
    "outside this guarantee.",
}
"""Sentences about a domain that is not wholly public, by the mark that it bears."""


def limited(sentence: str, domain: Mapping[str, Any]) -> str:
    """The sentence, and what the domain holds that it does not cover.

    Args:
        sentence: The guarantee of the budget.
        domain: The domain as the file holds it.

    Example:
        >>> limited("When ...", {"attributes": {}, "trusted_types": True})
        'When ... The types of its columns were trusted to be public: ...
    """
    return " ".join([sentence, *(told for mark, told in _OUTSIDE.items() if domain.get(mark) is True)])


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


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.4g}" if epsilon < 20 else f"e^{epsilon:.6g}"
