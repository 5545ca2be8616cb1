"""The short text of a workload: its grammar and its parser (see ``Workload.parse``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

from hedgerow.domain import Domain, Ordered
from hedgerow.domain.conditions import did_you_mean
from hedgerow.errors import HedgerowError, QueryError
from hedgerow.queries.conditions import parse_conjunction
from hedgerow.queries.core import BOUNDED_ORDER, PLAIN_NAME, Family
from hedgerow.queries.families import Boxes, Cells, Conjunctions, Marginals, Parities, cliques_of_target, text_forms
from hedgerow.queries.formulas import Formula

_WEIGHT = re.compile(r"@\s*([0-9.eE+-]+)\s*$")
_JOINT = 4_096
"""Cells of the largest table of all columns of a logistic regression that is asked for in place of their pairs."""
_LEVELS = re.compile(r"@\s*levels\s*$")
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_TOKEN = re.compile(rf"""\s*(?:(?P<quoted>"(?:[^"]|"")+")|(?P<mark>[*,:])|(?P<word>{PLAIN_NAME.pattern}))""")


def parse_workload(text: str, domain: Domain) -> tuple[list[Family], list[float]]:
    """Read the families and their weights.

    Raises:
        QueryError: The text is not understood; the message names the place, what is allowed and an example.

    Example:
        >>> from hedgerow import IntegerRange
        >>> parse_workload("marginals:a @ 0.5", Domain((IntegerRange("a", 0, 1),)))[1]
        [0.5]
    """
    families, weights = [], []
    for entry, weight in _entries(text, domain):
        build = _READERS.get(entry.form, _by_family)(entry)
        try:
            families.append(build())
        except HedgerowError as error:
            raise entry.error(error.message, entry.start, error.remedy) from error
        weights.append(weight)
    return families, weights


def summed_columns(text: str, domain: Domain, *, regressed: bool = True) -> list[tuple[str, list[str]]]:
    """The columns whose sums a workload text asks for, and those by whose values they are wanted.

    Args:
        text: The text.
        domain: The domain.
        regressed: Whether those that regressions follow from are among them.

    Raises:
        QueryError: The text is not understood.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain([Categorical("sex", ("F", "M")), IntegerRange("age", 0, 99), IntegerRange("pay", 0, 99)])
        >>> summed_columns("marginals:1; means: pay by sex, age; sums: pay by sex; moments: age", domain)
        [('pay', ['sex']), ('age', [])]
    """
    readers = dict.fromkeys(("means", "sums", "moments", "correlations"), _summed)
    if regressed:
        readers["regression"] = lambda entry: _formula(entry).moments(domain)[0]
    wanted = [
        each for entry, _ in _entries(text, domain) if entry.form in readers for each in readers[entry.form](entry)
    ]
    return [each for number, each in enumerate(wanted) if each not in wanted[:number]]


def correlated_columns(text: str, domain: Domain) -> list[tuple[str, str]]:
    """The pairs of columns whose correlations a workload text asks for.

    Args:
        text: The text.
        domain: The domain.

    Raises:
        QueryError: The text is not understood.

    Example:
        >>> from hedgerow import IntegerRange
        >>> correlated_columns("correlations: a, b, c", Domain([IntegerRange(name, 0, 9) for name in "abc"]))
        [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    found = list[tuple[str, str]]()
    for entry, _ in _entries(text, domain):
        if entry.form == "correlations":
            found += combinations([name for name, _ in _summed(entry)], 2)
        if entry.form == "regression":
            found += _formula(entry).moments(domain)[1]
    return list(dict.fromkeys(found))


def _entries(text: str, domain: Domain) -> Iterator[tuple[_FamilyText, float]]:
    """The families of a text, with their weights."""
    head = re.compile(rf"\s*({'|'.join(map(re.escape, text_forms()))})\s*:")
    for start, segment in _segments(text, head):
        match = head.match(segment)
        if match is None:
            raise _unknown_family(text, start, segment)
        body, weight = _split_weight(segment[match.end() :])
        yield _FamilyText(text, start + match.end(), match.group(1), body, domain), weight


def _error(text: str, place: int, message: str, remedy: str) -> QueryError:
    where = f"at character {place + 1}" if place < len(text) else "at the end"
    return QueryError(f"workload {text!r}, {where}: {message}", remedy=remedy)


@dataclass(frozen=True)
class _FamilyText:
    """One family in the text: its ``form:`` and the body after it, from position ``start``."""

    text: str
    start: int
    form: str
    body: str
    domain: Domain

    def error(self, message: str, place: int, remedy: str = "") -> QueryError:
        return _error(self.text, place, message, remedy or f"for example {_example(self.form)}")


def _segments(text: str, head: re.Pattern[str]) -> list[tuple[int, str]]:
    """Families with their positions: cut at ``;`` and at ``+`` before a family, outside of quotes."""
    masked = _QUOTED.sub(lambda match: "x" * len(match.group()), text)
    cuts = [match.start() for match in re.finditer(rf";|\+(?={head.pattern})", masked)]
    starts = [0, *(cut + 1 for cut in cuts)]
    return [(start, text[start:end]) for start, end in zip(starts, [*cuts, len(text)], strict=True)]


def _unknown_family(text: str, start: int, segment: str) -> QueryError:
    word = segment.strip().split(":")[0].strip()
    place = start + len(segment) - len(segment.lstrip())
    forms = text_forms()
    known = ", ".join(f"{form}:" for form in forms)
    if word in forms:
        return _error(text, place + len(word), f"':' is missing after {word!r}", f"for example {_example(word)}")
    problem = f"{word!r} is not a family of queries" if word else "a family of queries is expected"
    meant = did_you_mean(word, forms) if word else ""
    close = f"{meant} " if meant.startswith("did") else ""
    return _error(text, place, problem, f"{close}families are {known} for example {_example('marginals')}")


def _example(form: str) -> str:
    return text_forms()[form].forms[form]


def _split_weight(body: str) -> tuple[str, float]:
    match = _WEIGHT.search(body)
    if match is None:
        return body, 1.0
    try:
        return body[: match.start()], float(match.group(1))
    except ValueError:
        return body, 1.0


@dataclass(frozen=True)
class _Token:
    """A mark or a word, and where it stands in the whole text."""

    word: str
    place: int
    kind: str


def _tokens(entry: _FamilyText) -> list[_Token]:
    tokens, position = [], 0
    body = entry.body.rstrip()
    while position < len(body):
        match = _TOKEN.match(body, position)
        if match is None:
            place = entry.start + position + len(body[position:]) - len(body[position:].lstrip())
            raise entry.error(f"{entry.text[place]!r} is not expected", place)
        kind = str(match.lastgroup)
        word = match.group(kind)
        word = word[1:-1].replace('""', '"') if kind == "quoted" else word
        tokens.append(_Token(word, entry.start + match.start(kind), kind))
        position = match.end()
    return tokens


def _names(entry: _FamilyText, tokens: list[_Token], marks: str) -> list[list[str]]:
    """Names joined by ``*``, in lists joined by ``,``; checked to alternate with marks and to be attributes."""
    lists: list[list[str]] = [[]]
    for i, token in enumerate(tokens):
        if i % 2 == 1:
            if token.kind != "mark" or token.word not in marks:
                wanted = " or ".join(repr(mark) for mark in marks)
                raise entry.error(f"{wanted} is expected, not {token.word!r}", token.place)
            if token.word == ",":
                lists.append([])
        elif token.kind == "mark":
            raise entry.error(f"an attribute is expected, not {token.word!r}", token.place)
        elif token.word not in entry.domain:
            meant = did_you_mean(token.word, entry.domain.all_names)
            raise entry.error(f"there is no attribute {token.word!r}", token.place, meant)
        else:
            if token.word in lists[-1]:
                raise entry.error(f"attribute {token.word!r} is there twice", token.place, "name each attribute once")
            lists[-1].append(token.word)
    if len(tokens) % 2 == 0:
        raise entry.error("an attribute is expected", entry.start + len(entry.body))
    return lists


_Builder = Callable[[], Family]
"""Makes the family once its text is understood; what fails there concerns the family as a whole."""


def _cliques(
    entry: _FamilyText, of_order: Callable[[Domain, int], Family], named: Callable[[Domain, list[list[str]]], Family]
) -> _Builder:
    tokens = _tokens(entry)
    if len(tokens) == 1 and tokens[0].kind == "word" and _is_number(tokens[0].word):
        return lambda: of_order(entry.domain, int(tokens[0].word))
    names = _names(entry, tokens, "*,")
    return lambda: named(entry.domain, names)


def _tables(entry: _FamilyText, family: type[Marginals | Cells]) -> _Builder:
    end = _LEVELS.search(entry.body)
    if end is not None:
        entry = replace(entry, body=entry.body[: end.start()])
    match = BOUNDED_ORDER.fullmatch(entry.body.strip())
    if match is not None:
        order, largest = (int(number) for number in match.groups())
        return lambda: family.of_order(entry.domain, order, largest, levels=end is not None)
    return _cliques(entry, partial(family.of_order, levels=end is not None), family.at_levels if end else family)


def _summed(entry: _FamilyText) -> list[tuple[str, list[str]]]:
    """Numeric columns, each with those that stand after ``by``."""
    found, tokens = list[tuple[str, list[str]]](), _tokens(entry)
    commas = [i for i, token in enumerate(tokens) if token.kind == "mark" and token.word == ","]
    for start, end in zip([0, *(comma + 1 for comma in commas)], [*commas, len(tokens)], strict=True):
        ((name,),) = _names(entry, tokens[start : min(start + 1, end)], "")
        if not isinstance(entry.domain[name], Ordered):
            raise entry.error(f"{name!r} has no numbers", tokens[start].place, "name a numeric column")
        by, rest = list[str](), tokens[start + 1 : end]
        if rest:
            wanted = "," if entry.form == "correlations" else "by"
            if rest[0].word != wanted:
                raise entry.error(f"{wanted!r} is expected, not {rest[0].word!r}", rest[0].place)
            (by,) = _names(entry, rest[1:], "*")
        if name in by:
            raise entry.error(f"{name!r} by its own values", tokens[start].place, "name other columns after 'by'")
        found.append((name, by))
    return found


def _sums(entry: _FamilyText) -> _Builder:
    """The tables that sums of columns follow from."""
    cliques = [[*by, name] for name, by in _summed(entry)]
    return lambda: Marginals(entry.domain, cliques)


def _correlations(entry: _FamilyText) -> _Builder:
    """The tables of all pairs of columns."""
    names = [name for name, _ in _summed(entry)]
    if len(names) < 2:
        raise entry.error("a correlation is of two columns", entry.start)
    return lambda: Marginals(entry.domain, combinations(names, 2))


def _formula(entry: _FamilyText) -> Formula:
    return Formula.parse(entry.body.strip(), entry.domain)


def _predicted(entry: _FamilyText) -> _Builder:
    """The tables that a model of a column needs."""
    names = _names(entry, _tokens(entry), ",")
    if len(names) != 1:
        raise entry.error("a target is one attribute", entry.start, "write 'target:income; target:race'")
    return lambda: Marginals(entry.domain, cliques_of_target(entry.domain, names[0][0]))


def _modelled(entry: _FamilyText) -> _Builder:
    """The tables that the coefficients of a formula follow from."""

    def build() -> Marginals:
        formula, domain = _formula(entry), entry.domain
        together = domain.cells(formula.columns) <= _JOINT
        return Marginals(domain, [formula.columns] if entry.form == "logistic" and together else formula.tables)

    return build


def _prefixes(entry: _FamilyText) -> _Builder:
    names = _names(entry, _tokens(entry), ",")
    if len(names) != 1:
        raise entry.error("prefixes are of one attribute", entry.start, "write 'prefixes:age; prefixes:hours'")
    return lambda: Boxes.prefixes(entry.domain, names[0][0])


def _ranges(entry: _FamilyText) -> _Builder:
    tokens = _tokens(entry)
    colons = [i for i, token in enumerate(tokens) if token.kind == "mark" and token.word == ":"]
    lists = _names(entry, tokens[: colons[0]] if colons else tokens, ",")
    numbers = [_whole(entry, tokens, i) for i in colons]
    if len(numbers) > 2:
        raise entry.error("at most a count and a seed follow the attributes", tokens[colons[2]].place)
    if colons and len(tokens) > colons[-1] + 2:
        raise entry.error(f"{tokens[colons[-1] + 2].word!r} is not expected", tokens[colons[-1] + 2].place)
    count = numbers[0] if numbers else None
    seed = numbers[1] if len(numbers) == 2 else 0
    return lambda: Boxes.ranges(entry.domain, [name for names in lists for name in names], count, seed)


def _is_number(word: str) -> bool:
    """Whether a word is a whole number of at most 18 digits; Python reads none of thousands."""
    return word.isdecimal() and len(word) <= 18


def _whole(entry: _FamilyText, tokens: list[_Token], colon: int) -> int:
    if colon + 1 < len(tokens) and _is_number(tokens[colon + 1].word):
        return int(tokens[colon + 1].word)
    raise entry.error("a whole number is expected after ':'", tokens[colon].place + 1)


def _where(entry: _FamilyText) -> _Builder:
    conditions = []
    for start, text in _conditions(entry.body):
        place = entry.start + start + len(text) - len(text.lstrip())
        if not text.strip():
            raise entry.error("a condition is expected", place)
        try:
            conditions.append(parse_conjunction(text.strip(), entry.domain))
        except HedgerowError as error:
            raise entry.error(error.message, place, error.remedy) from error
    return lambda: Conjunctions(entry.domain, conditions)


def _conditions(body: str) -> list[tuple[int, str]]:
    """Conditions with their positions: cut at commas outside of quotes and brackets."""
    masked = _QUOTED.sub(lambda match: "x" * len(match.group()), body)
    depth, cuts = 0, [-1]
    for i, mark in enumerate(masked):
        depth += (mark == "(") - (mark == ")")
        if mark == "," and depth == 0:
            cuts.append(i)
    return [(cut + 1, body[cut + 1 : end]) for cut, end in zip(cuts, [*cuts[1:], len(body)], strict=True)]


def _by_family(entry: _FamilyText) -> _Builder:
    """The reader of families from outside this package, which read their texts themselves."""
    return lambda: text_forms()[entry.form].from_text(f"{entry.form}:{entry.body.strip()}", entry.domain)


_READERS: dict[str, Callable[[_FamilyText], _Builder]] = {
    "marginals": partial(_tables, family=Marginals),
    "cells": partial(_tables, family=Cells),
    "means": _sums,
    "sums": _sums,
    "moments": _sums,
    "correlations": _correlations,
    "target": _predicted,
    "regression": _modelled,
    "logistic": _modelled,
    "parities": partial(_cliques, of_order=Parities.of_order, named=Parities),
    "prefixes": _prefixes,
    "ranges": _ranges,
    "where": _where,
}
