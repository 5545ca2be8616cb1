"""Scopes of queries: attributes and derived ones, none of which the others determine."""

from collections.abc import Iterable

from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.errors import QueryError


def query_scope(domain: Domain, names: Iterable[str]) -> Clique:
    """The scope of a query that depends on some attributes, derived ones among them.

    Args:
        domain: The domain.
        names: Attributes, any order.

    Returns:
        The names in the order of the domain, without those that the others determine.

    Raises:
        DomainError: A name is not an attribute.
        QueryError: A name is one that stands for classes of values in constraints.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> query_scope(domain, ["age.10", "sex"]), query_scope(domain, ["age.10", "age"])
        (('sex', 'age.10'), ('age',))
    """
    clique = tuple(names)
    axes = list(domain.axes(clique))
    if axes == sorted(set(axes)) and (not axes or axes[-1] < len(domain)):  # as most are, of very many
        return clique
    clique = domain.clique(clique)
    if domain.index(clique[-1]) < len(domain):
        return clique
    if domain.index(clique[-1]) >= len(domain.all_names):
        raise QueryError(
            f"no query is over {clique[-1]!r}, which only serves constraints", remedy="name attributes or levels"
        )
    return domain.reduced(clique)


def carrier(domain: Domain, scope: Clique, name: str) -> str | None:
    """The variable of a scope that determines another one alone: itself, or a finer level; None where none does.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> carrier(domain, ("sex", "age"), "age.10"), carrier(domain, ("sex",), "age.10")
        ('age', None)
    """
    if name in scope:
        return name
    return next((other for other in scope if domain.lookup(other, name) is not None), None)


def pulled_back(domain: Domain, codes: CodeSet, name: str, finer: str) -> CodeSet:
    """The codes of a variable whose code of a coarser one lies in a set.

    Args:
        domain: The domain.
        codes: Codes of the coarser variable.
        name: The coarser variable.
        finer: A variable that determines it alone.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99),))
        >>> pulled_back(domain, CodeSet.of([2, 3, 9]), "age.10", "age")
        CodeSet(20..39, 90..99)
    """
    if name == finer:
        return codes
    lookup = domain.lookup(finer, name)
    if lookup is None:
        raise QueryError(f"{finer!r} does not determine {name!r}")
    return CodeSet.where(codes.holds(lookup))
