"""Fit the attributes that no measurement connects apart from each other.

The factored form of theory.md section 2.1: if every measurement lies inside one part of the attributes and the start is
uniform, the hypothesis is the product of its parts. A part is much smaller than the whole, so steps are taken there.
"""

from __future__ import annotations

from collections.abc import Iterable

from hedgerow.domain import Clique, Domain


def components(domain: Domain, scopes: Iterable[Clique]) -> tuple[Clique, ...]:
    """The attributes of the scopes in groups, such that every scope lies inside one group.

    Args:
        domain: Gives the order of the groups and of their attributes.
        scopes: Attributes that belong together; empty ones say nothing.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> components(domain, [("a", "d"), ("c",), ("d", "e")])
        (('a', 'd', 'e'), ('c',))
    """
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    for scope in scopes:
        for name in scope:
            above.setdefault(name, name)
            above[top(name)] = top(scope[0])
    groups: dict[str, list[str]] = {}
    for name in above:
        groups.setdefault(top(name), []).append(name)
    return tuple(sorted((domain.clique(group) for group in groups.values()), key=domain.axes))
