"""``SELECT ... FROM table WHERE ... GROUP BY ...``: counts by groups, sums, means and quantiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from hedgerow.domain import Clique, Decimals, Domain, IntegerRange, Ordered
from hedgerow.domain.conditions import did_you_mean, in_condition, shown
from hedgerow.engines import quoted
from hedgerow.errors import QueryError
from hedgerow.queries.conditions.groups import MOST_GROUPS, Groups
from hedgerow.queries.conditions.predicate import parse_predicate
from hedgerow.queries.conditions.statement_reader import StatementReader
from hedgerow.queries.core import Conjunction, LinearQuery, query_scope

Kind = Literal["count", "sum", "mean", "variance", "deviation", "quantile", "correlation", "share", "ratio"]

_Item = TypeVar("_Item")
_KINDS: dict[str, Kind] = {
    "COUNT": "count",
    "SUM": "sum",
    "AVG": "mean",
    "VARIANCE": "variance",
    "STDDEV": "deviation",
    "CORR": "correlation",
    "MEDIAN": "quantile",
    "QUANTILE": "quantile",
}
_STATEMENT = re.compile(r"\s*select\s.*\bfrom\b", re.IGNORECASE | re.DOTALL)
_DECIMAL = re.compile(r"\d*\.?\d+(e[+-]?\d+)?", re.IGNORECASE)
MOST_COLUMNS = 20
"""Aggregates of one statement."""

_REMEDY = (
    "supported are COUNT(*), SUM(x), SUM(x) / SUM(y), AVG(x), AVG(condition), VARIANCE(x), STDDEV(x), CORR(x, y), "
    "MEDIAN(x) and QUANTILE(x, 0.9) of numeric columns, with WHERE, GROUP BY, ORDER BY and LIMIT, as in: "
    "SELECT sex, COUNT(*), AVG(age) FROM t WHERE age < 60 GROUP BY sex"
)
_ABSENT = {
    "COUNT": "for how many different values there are, look at the counts of GROUP BY",
    "MIN": "one record can decide the smallest value; QUANTILE(x, 0.01) is supported",
    "MAX": "one record can decide the largest value; QUANTILE(x, 0.99) is supported",
    "JOIN": "register or release the joined table, with the persons that it is about",
    "HAVING": "ask for all groups, and leave out those you do not need",
    "LIMIT": "it follows ORDER BY, which says what the first rows are",
    "CASE": "group by a level of a column, or ask for the share that meets a condition, as in AVG(age < 40)",
    "DISTINCT": "GROUP BY tells the values, each with its count",
    "ALL": "name the columns after GROUP BY",
    "UNION": "ask in several statements",
    "AS": "leave it out: a name after AS is one of a column that is selected, and stands beside it",
    "a name without AS": "write AS before a name, as in COUNT(*) AS n; a condition follows WHERE",
    "a condition among the columns": "ask for the share that meets it, as in AVG(age < 40), or group by a level",
    "OFFSET": "ask for all groups, and leave out those you do not need",
}


@dataclass(frozen=True)
class Aggregate:
    """A column of the answer.

    Attributes:
        kind: ``"count"``, ``"sum"``, ``"mean"``, ``"variance"`` and ``"deviation"`` (of the records, divided by their
            number), ``"correlation"``, ``"quantile"``, ``"share"`` of the records that meet a condition, or ``"ratio"``
            of the sums of two columns.
        name: The numeric column; empty for a count or a share.
        other: The second column of a correlation or ratio; else empty.
        share: The share of records at or below a quantile.
        heading: Its name in the answer.
        condition: The condition of a share.
    """

    kind: Kind
    name: str = ""
    share: float = 0.5
    heading: str = "count"
    other: str = ""
    condition: LinearQuery | None = None

    @property
    def about(self) -> Clique:
        """The variables that it is about, beside those of its groups."""
        return (*filter(None, (self.name, self.other)), *(self.condition.scope if self.condition else ()))


@dataclass(frozen=True, eq=False)
class Selection:
    """A statement that was read.

    Attributes:
        groups: The groups of records.
        columns: The aggregates, in the order in which they were asked for.
        text: The statement.
        names: Names of the columns of GROUP BY in the answer; empty for those that they have.
        order: Columns that the rows are ordered by, the most important first, as places among those of the groups and
            then the aggregates; each with whether it descends.
        limit: Number of rows that are told, the first in that order; None for all.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> parse_select("SELECT COUNT(*) FROM t GROUP BY a", domain).scopes
        (('a',),)
    """

    groups: Groups
    columns: tuple[Aggregate, ...]
    text: str
    names: tuple[str, ...] = ()
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        """Name the columns of GROUP BY."""
        if not self.names:
            object.__setattr__(self, "names", self.groups.names)

    @property
    def is_chosen(self) -> bool:
        """Whether rows are left out for what their answers are."""
        return self.limit is not None and any(place >= len(self.names) for place, _ in self.order)

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """The attributes that its questions are about, each set by itself."""
        groups = self.groups
        each = dict.fromkeys(column.about for column in self.columns)
        about = ((*groups.names, *groups.where.scope, *names) for names in each)
        return tuple(dict.fromkeys(query_scope(groups.domain, names) for names in about))


def group_counts(domain: Domain, names: Sequence[str], where: str, table: str) -> Selection:
    """The counts of all combinations of values of some columns, as one statement.

    Args:
        domain: The domain of the table.
        names: Columns, each once.
        where: A condition on others; empty for all records.
        table: Name of the table, for the text.

    Raises:
        DomainError: There is no column of a name.
        QueryError: The condition is not understood, a name stands there twice, or there are too many groups.

    Example:
        >>> from hedgerow import IntegerRange
        >>> found = group_counts(Domain([IntegerRange("a, b", 0, 1)]), ["a, b"], "", "t")
        >>> found.groups.size, found.text
        (2, 'SELECT "a, b", COUNT(*) FROM t GROUP BY "a, b"')
    """
    groups = Groups(domain, tuple(names), parse_predicate(where, domain))
    columns = (Aggregate("count", heading="COUNT(*)"),)
    _check_headings(names, columns)
    listed, condition = ", ".join(map(in_condition, names)), f" WHERE {where}" if where else ""
    return Selection(
        groups, columns, f"SELECT {listed}, COUNT(*) FROM {in_condition(table)}{condition} GROUP BY {listed}"
    )


def is_select(text: str) -> bool:
    """Whether a text is meant as a statement, and not as a condition.

    Example:
        >>> is_select("select count(*) from t"), is_select("age < 30"), is_select("selected = 'yes'")
        (True, False, False)
    """
    return _STATEMENT.match(text) is not None


def parse_select(text: str, domain: Domain, table: str | None = None) -> Selection:
    """Read a statement.

    ``SELECT item, ... FROM table [WHERE condition] [GROUP BY column, ...] [ORDER BY item [DESC], ... [LIMIT number]]
    [;]`` is understood, in any case. An item is a column of GROUP BY, ``COUNT(*)``, or ``SUM``, ``AVG``, ``VARIANCE``,
    ``STDDEV``, ``MEDIAN`` or ``QUANTILE(x, share)`` of a numeric column, ``AVG(condition)`` for the share of records
    that meet it, or ``CORR(x, y)`` or ``SUM(x) / SUM(y)`` of two columns, each with ``AS name`` if wanted. GROUP BY and
    ORDER BY may say the name or the place of an item instead. The condition is read by `parse_predicate`.

    Args:
        text: The statement, at most ``MAX_LENGTH`` characters.
        domain: The domain of the table.
        table: Its name; None if any name will do.

    Raises:
        QueryError: It is another statement (the error names the first thing that is not supported and what is), the
            condition is not understood, or there are too many groups.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("F", "M")), IntegerRange("age", 17, 90)))
        >>> found = parse_select("select sex, count(*), avg(age) as mean from t where age > 20 group by sex", domain)
        >>> [column.heading for column in found.columns], found.groups.names, found.groups.where.text
        (['COUNT(*)', 'mean'], ('sex',), 'age between 21 and 90')
        >>> parse_select("SELECT MAX(age) FROM t", domain)
        Traceback (most recent call last):
        hedgerow.errors.QueryError: 'MAX' is not supported
          Remedy: one record can decide the largest value; QUANTILE(x, 0.99) is supported
    """
    read = _read(StatementReader(text, table, _REMEDY, domain.all_names, _ABSENT), domain)
    missing = [name for name in read.listed if name not in read.names]
    if missing:
        raise QueryError(f"{shown(missing[0])} is selected, and not in GROUP BY", remedy="name it after GROUP BY too")
    if not read.columns:
        raise QueryError("nothing is counted", remedy="add COUNT(*), as in SELECT sex, COUNT(*) FROM t GROUP BY sex")
    if len(read.columns) > MOST_COLUMNS:
        raise QueryError(f"at most {MOST_COLUMNS} aggregates are read at once", remedy="ask in several statements")
    groups = Groups(domain, read.names, parse_predicate(read.where, domain))
    _check_headings(read.titles, read.columns)
    return Selection(groups, read.columns, text.strip(), read.titles, tuple(read.order), read.limit)


def parse_count(text: str, domain: Domain, table: str) -> LinearQuery:
    """Read a statement that counts records: ``SELECT COUNT(*) [AS name] FROM table [WHERE condition] [;]``.

    Args:
        text: The statement, at most ``MAX_LENGTH`` characters.
        domain: The domain of the table.
        table: Its name, which may stand in double quotes; without them case does not matter.

    Returns:
        The result of `parse_predicate` for the condition; the number of records if there is none.

    Raises:
        QueryError: It is another statement (the error names the first thing that is not supported), or the condition is
            not understood.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 17, 90)))
        >>> parse_count("select count(*) from adult where age < 30;", domain, "adult").text
        'age between 17 and 29'
        >>> parse_count("SELECT COUNT(*) FROM adult GROUP BY sex", domain, "adult")
        Traceback (most recent call last):
        hedgerow.errors.QueryError: GROUP BY is not supported
          Remedy: one count is supported, as in: SELECT COUNT(*) FROM "adult" WHERE sex = 'Female'
    """
    condition = Conjunction.where(domain, {domain.names[0]: [0]}).text
    remedy = f"one count is supported, as in: SELECT COUNT(*) FROM {quoted(table)} WHERE {condition}"
    reader = StatementReader(text, table, remedy, domain.all_names)
    read = _read(reader, domain, ordered=False)
    more = ["GROUP BY"] * bool(read.names) + [*map(shown, read.listed)]
    more += [each.heading for each in read.columns if each.name]
    if more or len(read.columns) > 1:
        reader.refuse_word(more[0] if more else "a second column")
    return parse_predicate(read.where, domain)


@dataclass
class _Read:
    """What was read of a statement.

    Attributes:
        items: What is selected, each a column or an aggregate, with its name after AS.
        where: The text after WHERE.
        names: The columns of GROUP BY.
        order: See `Selection`.
        limit: See `Selection`.
    """

    items: list[tuple[str | Aggregate, str]] = field(default_factory=list)
    where: str = ""
    names: tuple[str, ...] = ()
    order: list[tuple[int, bool]] = field(default_factory=list)
    limit: int | None = None

    @property
    def listed(self) -> list[str]:
        return [item for item, _ in self.items if isinstance(item, str)]

    @property
    def columns(self) -> tuple[Aggregate, ...]:
        return tuple(item for item, _ in self.items if isinstance(item, Aggregate))

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of the columns of GROUP BY in the answer."""
        told = {item: title for item, title in self.items if isinstance(item, str) and title}
        return tuple(told.get(name, name) for name in self.names)

    def named(self, title: str) -> str | Aggregate | None:
        """What is selected under a name after AS."""
        return next((item for item, alias in self.items if alias == title), None)


def _read(reader: StatementReader, domain: Domain, *, ordered: bool = True) -> _Read:
    reader.expect("SELECT", "it does not begin with SELECT")
    read = _Read()
    while True:
        item = _take_item(reader, domain)
        read.items.append((item, reader.take_alias() if isinstance(item, str) else item.heading))
        if reader.kind() != "COMMA":
            break
        reader.take()
    unnamed, condition = "a name without AS", "a condition among the columns"
    signs = dict.fromkeys(("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "IN", "BETWEEN", "IS"), condition)
    reader.expect("FROM", "FROM does not follow the columns", WORD=unnamed, NAME=unnamed, **signs)
    reader.take_table()
    if reader.kind() == "WHERE":
        reader.take()
        read.where = reader.take_until("GROUP BY", "ORDER BY").strip()
        if not read.where:
            raise QueryError("the statement is not understood: there is no condition after WHERE", remedy=reader.remedy)
    if reader.word() == "GROUP BY":
        read.names = tuple(_list_of(reader, lambda: _take_group(reader, domain, read)))
    if ordered and reader.word() == "ORDER BY":
        read.order = _list_of(reader, lambda: _take_order(reader, domain, read))
        read.limit = _take_limit(reader)
    if reader.kind():
        if reader.word() in _ABSENT:
            reader.refuse_word(reader.word())
        alias = "an alias of the table"
        reader.refuse("something follows the statement", COMMA="a second table", WORD=alias, NAME=alias, ALIAS=alias)
    return read


def _list_of(reader: StatementReader, take: Callable[[], _Item]) -> list[_Item]:
    """What stands between commas after a word."""
    reader.take()
    found = [take()]
    while reader.kind() == "COMMA":
        reader.take()
        found.append(take())
    return found


def _check_headings(names: Sequence[str], columns: Sequence[Aggregate]) -> None:
    """Refuse columns of one name: in a mapping, or a data frame, one would take the other's place."""
    headings = columns_of(names, [column.heading for column in columns])
    for place, name in enumerate(headings):
        if name in headings[:place]:
            raise QueryError(
                f"two columns of the answer are named {shown(name)}", remedy="name one of them by AS, or leave it out"
            )


def columns_of(names: Sequence[str], aggregates: Sequence[str]) -> tuple[str, ...]:
    """Names of all columns of an answer: those of GROUP BY, then each aggregate with the ends of its interval.

    Example:
        >>> columns_of(("sex",), ("n",))
        ('sex', 'n', 'n low', 'n high')
    """
    return (*names, *(f"{name}{end}" for name in aggregates for end in ("", " low", " high")))


def _take_item(reader: StatementReader, domain: Domain) -> str | Aggregate:
    """A column, or an aggregate with its name."""
    if reader.kind(1) != "L_PAREN":
        return _take_column(reader, domain)
    function = reader.word()
    if function not in _KINDS:
        reader.refuse_word(function, shown(function))
    reader.take()
    reader.take()
    if function == "AVG" and reader.kind(1) != "R_PAREN":
        return _take_share(reader, domain)
    name, share, other = "", 0.5, ""
    if function == "COUNT":
        if reader.word() == "DISTINCT":
            reader.refuse_word("COUNT", "COUNT(DISTINCT)")
        what = "COUNT of anything but *"
        reader.expect("STAR", "COUNT(*) is not closed", WORD=what, NAME=what, NUMBER=what, TEXT=what)
    else:
        name = _numeric(domain, _take_column(reader, domain), function)
    if function == "QUANTILE":
        reader.expect("COMMA", "a share does not follow, as in QUANTILE(age, 0.9)")
        share = _share(reader)
    if function == "CORR":
        reader.expect("COMMA", "a second column does not follow, as in CORR(age, pay)")
        other = _numeric(domain, _take_column(reader, domain), function)
        if other == name:
            raise QueryError(f"CORR of {shown(name)} with itself", remedy="name two columns")
    reader.expect("R_PAREN", f"{function}( is not closed")
    more = {"QUANTILE": f", {share:g}", "CORR": f", {other}"}.get(function, "")
    written, kind = f"{function}({name or '*'}{more})", _KINDS[function]
    if function == "SUM" and reader.word() == "/":
        other, kind = _take_bottom(reader, domain, name), "ratio"
        written += f" / SUM({other})"
    return Aggregate(kind, name, share, reader.take_alias() or written, other)


def _take_share(reader: StatementReader, domain: Domain) -> Aggregate:
    """The share of records that meet a condition, as in AVG(income = '>50K')."""
    text = reader.take_until(")").strip()
    reader.expect("R_PAREN", "AVG( is not closed")
    condition = parse_predicate(text, domain)
    if not condition.scope:
        raise QueryError(f"AVG of {shown(text)}, which says nothing of any column", remedy=reader.remedy)
    return Aggregate("share", heading=reader.take_alias() or f"AVG({text})", condition=condition)


def _take_bottom(reader: StatementReader, domain: Domain, top: str) -> str:
    """The column of SUM(b) after a stroke."""
    reader.take()
    if reader.word() != "SUM" or reader.kind(1) != "L_PAREN":
        reader.refuse("SUM of a column does not follow /, as in SUM(pay) / SUM(hours)")
    reader.take()
    reader.take()
    name = _numeric(domain, _take_column(reader, domain), "SUM")
    reader.expect("R_PAREN", "SUM( is not closed")
    if name == top:
        raise QueryError(f"a ratio of SUM({shown(name)}) to itself", remedy="name two columns")
    return name


def _share(reader: StatementReader) -> float:
    point = reader.take() if reader.kind() == "DOT" else ""  # as in .25
    if reader.kind() != "NUMBER":
        reader.refuse("a share between 0 and 1 is missing in QUANTILE")
    written = point + reader.take()
    if not (_DECIMAL.fullmatch(written) and 0.0 < float(written) < 1.0):
        raise QueryError(
            f"a quantile has a share between 0 and 1, not {shown(written)}", remedy="as in QUANTILE(age, 0.9)"
        )
    return float(written)


def _take_column(reader: StatementReader, domain: Domain) -> str:
    if reader.kind() not in {"NAME", "WORD"} or reader.is_unsupported:
        reader.refuse("a column is missing")
    name = reader.take()
    if name not in domain.all_names:
        remedy = did_you_mean(name, domain.all_names) or reader.remedy
        raise QueryError(f"there is no column {shown(name)}", remedy=remedy)
    return name


def _numeric(domain: Domain, name: str, function: str) -> str:
    """The name, if the column has numbers that can be added up."""
    attribute = domain[name]
    if not isinstance(attribute, Ordered):
        raise QueryError(
            f"{function} of {shown(name)}, which has no numbers",
            remedy="name a column with 'min' and 'max', or with bins; count values by GROUP BY, or ask for the share "
            f"of one: AVG({Conjunction.where(domain, {name: [0]}).text})",
        )
    if attribute.scale is not None and not isinstance(attribute.scale, Decimals):
        raise QueryError(
            f"{function} of {shown(name)}, which holds dates or times, is not supported",
            remedy="count by its levels, such as months, by GROUP BY",
        )
    if isinstance(attribute, IntegerRange) and not attribute.ordinary:
        raise QueryError(f"{shown(name)} has no numbers", remedy="name another column")
    return name


def _take_group(reader: StatementReader, domain: Domain, read: _Read) -> str:
    """A column, by its name, by its name after AS, or by its place among what is selected."""
    found = _take_place(reader, read, "GROUP BY") if reader.kind() == "NUMBER" else _take_title(reader, domain, read)
    if found is None:
        return _take_column(reader, domain)
    if not isinstance(found, str):
        raise QueryError(f"GROUP BY {found.heading}, which is no column", remedy=reader.remedy)
    return found


def _take_place(reader: StatementReader, read: _Read, clause: str) -> str | Aggregate:
    place = reader.take()
    if not (place.isdecimal() and 0 < int(place) <= len(read.items)):
        raise QueryError(f"{clause} {place} is the place of no column that is selected", remedy=reader.remedy)
    return read.items[int(place) - 1][0]


def _take_title(reader: StatementReader, domain: Domain, read: _Read, *, first: bool = False) -> str | Aggregate | None:
    """What is selected under a name; None if the next word is no such name, or a column unless names come first."""
    if reader.kind() not in {"NAME", "WORD"} or reader.kind(1) == "L_PAREN":
        return None
    found = read.named(reader.peek()) if first or reader.peek() not in domain.all_names else None
    if found is not None:
        reader.take()
    return found


def _take_order(reader: StatementReader, domain: Domain, read: _Read) -> tuple[int, bool]:
    """A column of the answer that its rows are ordered by, and whether it descends."""
    if reader.kind() == "NUMBER":
        found: str | Aggregate | None = _take_place(reader, read, "ORDER BY")
    else:
        found = _take_title(reader, domain, read, first=True)
    if found is None:
        found = _take_item(reader, domain)
    keys = [*read.names, *map(_key, read.columns)]
    key = found if isinstance(found, str) else _key(found)
    if key not in keys:
        told = shown(found) if isinstance(found, str) else found.heading
        raise QueryError(f"ORDER BY {told}, which is not in the answer", remedy="select it too")
    descends = reader.word() == "DESC"
    if descends or reader.word() == "ASC":
        reader.take()
    return keys.index(key), descends


def _key(aggregate: Aggregate) -> tuple[object, ...]:
    """What an aggregate tells, however it is named."""
    condition = aggregate.condition.text if aggregate.condition else ""
    return aggregate.kind, aggregate.name, aggregate.share, aggregate.other, condition


def _take_limit(reader: StatementReader) -> int | None:
    if reader.word() != "LIMIT":
        return None
    reader.take()
    written = reader.take() if reader.kind() == "NUMBER" else ""
    if not (written.isdecimal() and 0 < int(written) <= MOST_GROUPS):
        raise QueryError(f"LIMIT needs a number of rows up to {MOST_GROUPS:,}", remedy="as in ORDER BY 2 DESC LIMIT 10")
    return int(written)
