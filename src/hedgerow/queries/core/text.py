"""Names and cliques as workload texts hold them."""

import re
from collections.abc import Iterable

from hedgerow.domain import Clique
from hedgerow.engines import quoted

PLAIN_NAME = re.compile(r'[^\s"\'*,:;@+]+')
"""A name that needs no quotes in a workload text."""

BOUNDED_ORDER = re.compile(r"([0-9]{1,18})\s*<=\s*([0-9]{1,18})")
"""An order and a number of cells, which needs quotes to be a name."""


def in_workload(name: str) -> str:
    """The name as written in a workload text.

    Example:
        >>> in_workload("marital-status"), in_workload("hours per week"), in_workload("3")
        ('marital-status', '"hours per week"', '"3"')
    """
    is_number = name.isdigit() or BOUNDED_ORDER.fullmatch(name)
    return name if PLAIN_NAME.fullmatch(name) and not is_number else quoted(name)


def clique_list(cliques: Iterable[Clique]) -> str:
    """Cliques as written in a workload text.

    Example:
        >>> clique_list([("age", "sex"), ("race",)])
        'age*sex,race'
    """
    return ",".join("*".join(in_workload(name) for name in clique) for clique in cliques)
