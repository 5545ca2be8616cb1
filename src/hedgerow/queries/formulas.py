"""Formulas of regressions, as in R: the columns that each term reads, and the tables that its coefficients follow from.

`formulaic` reads them (G. N. Wilkinson and C. E. Rogers, "Symbolic Description of Factorial Models", 1973). Here they
are parsed and never evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

from hedgerow.domain import Attribute, Categorical, Clique, Domain, Ordered, ends_of
from hedgerow.domain.conditions import did_you_mean
from hedgerow.errors import QueryError, require

_EXAMPLE = (
    "write an outcome, a tilde and the columns that explain it: income ~ age + sex + C(race); names that are no words "
    "stand in backquotes"
)
_MOST_GROUPS = 512
"""Groups by the labels of several columns by which sums of numbers are asked for, at most."""


def require_regressions() -> None:
    """Check that the libraries that read formulas and fit regressions are installed.

    Raises:
        MissingExtraError: One is not.
    """
    for module, name in (("formulaic", "formulaic"), ("pandas", "pandas"), ("sklearn", "scikit-learn")):
        require(module, f"{name} is not installed, which regressions need", "pip install 'hedgerow[regress]'")


@dataclass(frozen=True)
class Formula:
    """A formula over the columns of a domain.

    Attributes:
        text: The formula as `formulaic` reads it: names that are no identifiers stand between backquotes.
        outcome: Columns left of the tilde.
        terms: Columns of each term on the right that reads some.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in ("hours", "age", "education-num"))
        >>> formula = Formula.parse("hours ~ age * education-num", domain)
        >>> formula.text
        'hours ~ age * `education-num`'
        >>> formula.terms
        (('age',), ('education-num',), ('age', 'education-num'))
        >>> formula.tables
        (('hours', 'age', 'education-num'),)
    """

    text: str
    outcome: Clique
    terms: tuple[Clique, ...]

    @classmethod
    def parse(cls, text: str, domain: Domain) -> Formula:
        """Read a formula.

        Args:
            text: The formula; levels and other derived attributes are labels. A name with other characters than
                letters, digits and ``_`` may stand as it is, or between backquotes.
            domain: The domain whose columns and derived attributes it may name.

        Raises:
            QueryError: It is not understood, or names something that is no column.
            MissingExtraError: ``formulaic`` is not installed.
        """
        require_regressions()
        from formulaic import Formula as Parsed
        from formulaic.errors import FormulaicError

        names = list(dict.fromkeys([each.name for each in domain.columns] + [each.name for each in domain.derived]))
        quoted = _with_backquotes(text, names)
        try:
            parsed: Any = Parsed(quoted)
            sides = [[_used(Parsed([term]), term, names) for term in side] for side in (parsed.lhs, parsed.rhs)]
        except (FormulaicError, AttributeError, SyntaxError) as error:
            said = "" if isinstance(error, AttributeError) else f": {str(error).splitlines()[0].rstrip('.')}"
            raise QueryError(f"the formula {text!r} is not understood{said}", remedy=_EXAMPLE) from error
        left, right = ([_columns(each, domain, names, text) for each in side if each] for side in sides)
        if len(left) != 1:
            raise QueryError(f"the formula {text!r} has {len(left)} outcomes", remedy=_EXAMPLE)
        return cls(quoted, left[0], tuple(dict.fromkeys(right)))

    def moments(self, domain: Domain) -> tuple[list[tuple[str, list[str]]], list[tuple[str, str]]]:
        """The sums that least squares follow from, where terms are numbers, labels and their interactions.

        Args:
            domain: Its domain.

        Returns:
            Numbers, each by the labels of some columns, as ``means:`` asks for them; and pairs of numbers, as
            ``correlations:`` does. Both are empty for other formulas, and where a record may lack a value. Sums of two
            numbers by labels, or of three, follow from tables alone.

        Example:
            >>> from hedgerow import Categorical, IntegerRange
            >>> labels = (Categorical(name, ("a", "b")) for name in ("sex", "job"))
            >>> domain = Domain([IntegerRange("hours", 0, 9), IntegerRange("age", 0, 9), *labels])
            >>> Formula.parse("hours ~ age + sex * job", domain).moments(domain)
            ([('hours', ['sex', 'job']), ('age', ['sex', 'job'])], [('hours', 'age')])
        """
        from formulaic import Formula as Parsed

        parsed: Any = Parsed(self.text)
        terms = [[each.expr for each in term.factors] for side in (parsed.lhs, parsed.rhs) for term in side]
        plain = {each: re.sub(r"^(C\()?`?(.*?)`?\)?$", r"\2", each) for term in terms for each in term if each != "1"}
        numbers = {name for each, name in plain.items() if _is_number(domain, name) and each[:2] != "C("}
        labels = {name for name in plain.values() if name in domain.names and _is_labels(domain[name])}
        if not {*plain.values()} <= numbers | labels:
            return [], []
        columns = [{plain[each] for each in term if each != "1"} for term in terms]
        products = [one | other for one, other in combinations_with_replacement([set[str](), *columns], 2)]
        asked = [(each & numbers, each & labels) for each in products]
        by = [({*own}, groups) for own, groups in asked if len(own) == 1 and _few(domain, groups)]
        kept = [(own, groups) for own, groups in by if not any(own == one and groups < all_ for one, all_ in by)]
        in_order = [name for name in self.columns if name in numbers]
        found = [
            (name, [each for each in self.columns if each in g]) for name in in_order for own, g in kept if name in own
        ]
        pairs = [pair for pair in combinations(in_order, 2) if ({*pair}, set[str]()) in asked]
        return [each for place, each in enumerate(found) if each not in found[:place]], pairs

    @property
    def columns(self) -> Clique:
        """All columns, the outcome first."""
        return tuple(dict.fromkeys([*self.outcome, *(name for term in self.terms for name in term)]))

    @property
    def explaining(self) -> Clique:
        """The columns on the right."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))

    @property
    def tables(self) -> tuple[Clique, ...]:
        """The tables that least squares follow from: of every two terms, and of each term with the outcome.

        Least squares solve ``X'X b = X'y``, and an element of X'X is a sum over the table of the columns of two terms.
        """
        order = {name: place for place, name in enumerate(self.columns)}
        unions = [{*one, *other} for one, other in combinations((self.outcome, *self.terms), 2)]
        scopes = [tuple(sorted(each, key=order.__getitem__)) for each in (unions or [{*self.outcome}])]
        kept = [each for each in dict.fromkeys(scopes) if not any({*each} < {*other} for other in scopes)]
        return tuple(kept)


def _is_number(domain: Domain, name: str) -> bool:
    """Whether each code of a column is a number, or a bin of numbers."""
    column = domain[name] if name in domain.names else None
    return isinstance(column, Ordered) and column.size == len(ends_of(column)[0])


def _is_labels(column: Attribute) -> bool:
    return isinstance(column, Categorical) and column.missing_code is None


def _few(domain: Domain, labels: set[str]) -> bool:
    return len(labels) < 2 or domain.cells(tuple(labels)) <= _MOST_GROUPS


def _with_backquotes(text: str, names: list[str]) -> str:
    """The text with backquotes around names that are neither identifiers nor numbers, outside of quotes."""
    odd = sorted((name for name in names if not name.isidentifier() and not name.isdigit()), key=len, reverse=True)
    if not odd:
        return text
    pattern = rf"""`[^`]*`|'[^']*'|"[^"]*"|(?<![\w.])(?P<name>{"|".join(map(re.escape, odd))})(?!\w)"""
    return re.sub(pattern, lambda match: f"`{match['name']}`" if match["name"] else match[0], text)


def _used(alone: Any, term: Any, names: list[str]) -> set[str]:
    """Variables of a term: those that `formulaic` finds, and names within calls such as ``scale(age)``, which it skips.

    Args:
        alone: A formula of the term alone.
        term: The term.
        names: Names of the columns.
    """
    known = sorted((name for name in names if not name.isdigit()), key=len, reverse=True)
    pattern = rf"""'[^']*'|"[^"]*"|(?<![\w.])(?P<name>{"|".join(map(re.escape, known))})(?![\w(])"""
    found = (match["name"] for factor in term.factors for match in re.finditer(pattern, factor.expr) if known)
    within = {name for name in found if name}
    cut = {name.partition(".")[0] for name in within}  # `formulaic` takes ``age.10`` for a part of ``age``
    return {*map(str, alone.required_variables)} - cut | within


def _columns(used: set[str], domain: Domain, names: list[str], text: str) -> Clique:
    """Columns of a term in the order of the domain.

    Raises:
        QueryError: It names something else.
    """
    for name in sorted(used):
        if name not in names:
            raise QueryError(f"the formula {text!r} names {name!r}, no column", remedy=did_you_mean(name, names))
    return tuple(name for name in names if name in used)
