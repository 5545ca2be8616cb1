"""Warnings about a domain, by what is public about it alone: bins and labels that will hardly be of use."""

from __future__ import annotations

import numpy as np

from hedgerow.domain.attribute import Attribute, Binned, Categorical, value_text
from hedgerow.domain.domain import Domain
from hedgerow.domain.spelling import Spelling

_SPANNED = 1000
"""Largest ratio of numbers in the first of some bins of equal width that are well told apart by these."""
_ALIKE = Spelling(trim=True, fold=True)


def domain_warnings(domain: Domain) -> list[str]:
    """Sentences about columns whose bins or labels look useless; each begins with the name of the column.

    Args:
        domain: The domain; nothing else is looked at.

    Example:
        >>> domain_warnings(Domain([Categorical("sex", ("male", "Male"))]))[0].partition(";")[0]
        "sex: the labels 'male' and 'Male' differ in case or blanks only"
    """
    return [f"{column.name}: {warning}" for column in domain.columns for warning in [_warning(column)] if warning]


def _warning(attribute: Attribute) -> str:
    if isinstance(attribute, Categorical):
        first: dict[str, str] = {}
        for text in map(value_text, attribute.values):
            other = first.setdefault(_ALIKE.normal(text), text)
            if other != text:
                return (
                    f"the labels {other!r} and {text!r} differ in case or blanks only; "
                    "'case: fold' and 'trim: true' make them one"
                )
        return ""
    return _coarse(attribute) if isinstance(attribute, Binned) else ""


def _coarse(attribute: Binned) -> str:
    """A warning about bins of equal width whose first one holds numbers of very different sizes."""
    edges = np.array(attribute.edges)
    widths = np.diff(edges)
    if len(widths) < 2 or edges[0] < 0 or (attribute.scale is not None and attribute.scale.quoted):
        return ""
    smallest = edges[0] or (1.0 if attribute.whole else 0.0)
    equal = bool(widths.max() < 1.5 * widths.min())
    if not equal or not smallest or edges[1] / smallest < _SPANNED:
        return ""
    return (
        f"its bins are of equal width, and the first, {attribute.label(0)}, holds numbers of very different sizes; if "
        "most are small, most records fall into one bin: use log bins ('bins: {log: 20}'), or list frequent values "
        "under 'points'"
    )
