"""The families that workload texts and stored workloads can name."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from hedgerow.errors import PlugInError, QueryError
from hedgerow.queries.core import Family
from hedgerow.queries.families.conjunction import Boxes, Conjunctions
from hedgerow.queries.families.explicit import ExplicitMatrix
from hedgerow.queries.families.marginal import Cells, Marginals
from hedgerow.queries.families.parity import Parities
from hedgerow.system import load_plug_in, plug_in_names

_KNOWN: dict[str, type[Family]] = {
    family.kind: family for family in (Marginals, Cells, Parities, Boxes, Conjunctions, ExplicitMatrix)
}


def known_families() -> Mapping[str, type[Family]]:
    """Families by their `kind`: those of this package, those that were added, and those of installed plug-ins.

    Raises:
        PlugInError: A plug-in cannot be loaded, or has a name that is taken.

    Example:
        >>> list(known_families())
        ['marginals', 'cells', 'parities', 'boxes', 'where', 'explicit']
    """
    return MappingProxyType({**_KNOWN, **_plugged()})


@cache
def _plugged() -> Mapping[str, type[Family]]:
    """Families of installed packages: entry points of the group ``hedgerow.families``, each under its kind."""
    group, families = "hedgerow.families", dict[str, type[Family]]()
    for name in plug_in_names(group, ("text", *_KNOWN)):
        family: type[Family] = load_plug_in(group, name, Family)
        others = {form for each in (*_KNOWN.values(), *families.values()) for form in each.forms}
        if family.kind != name or others & set(family.forms):
            message = f"the plug-in {name!r} has the kind {family.kind!r} and the forms {list(family.forms)}"
            raise PlugInError(message, remedy="give it the kind of its entry point, and forms that are not taken")
        families[name] = family
    return families


def text_forms() -> dict[str, type[Family]]:
    """Families by the words that their texts begin with.

    Example:
        >>> text_forms()["prefixes"].__name__
        'Boxes'
    """
    return {form: family for family in known_families().values() for form in family.forms}


def add_family(family: type[Family]) -> None:
    """Let workload texts and stored workloads name a family from outside this package; adding it again is harmless.

    A text is read by its `Family.from_text`, a stored workload by its `Family.from_stored`.

    Args:
        family: A class with a `kind` of its own, and `forms` if it can be written as text.

    Raises:
        QueryError: It has no kind, or another family has its kind or one of its forms.
    """
    name = family.__qualname__
    if not family.kind.isidentifier():
        raise QueryError(f"the family {name} has the kind {family.kind!r}", remedy="give it a name of letters")
    if known_families().get(family.kind) is family:
        return
    taken = {"text", *known_families(), *text_forms()} & {family.kind, *family.forms}
    if taken:
        raise QueryError(f"the family {name} takes the name {min(taken)!r}, which is taken", remedy="choose another")
    _KNOWN[family.kind] = family
