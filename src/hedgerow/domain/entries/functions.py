"""Entries of domain files for derived attributes and constraints.

Both are said by public tables of values (mappings, rows, or CSV files beside the domain file), or by conditions.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.arrays import Places
from hedgerow.domain.attribute import Attribute, Categorical, Value, codes_by_text, value_text
from hedgerow.domain.conditions import as_condition
from hedgerow.domain.constraint import Constraint, check_cells
from hedgerow.domain.derived import Derived
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries.attributes import attribute_entry, attribute_of
from hedgerow.domain.entries.options import DERIVED, SPELLING, WRITTEN
from hedgerow.domain.entries.yaml_text import plain_value
from hedgerow.domain.rules import by_cases, determines, determining, if_then, impossible
from hedgerow.domain.tables import spread_over
from hedgerow.errors import DomainError

Row = tuple[str, ...]


def read_table(path: str, folder: Path | None, what: str) -> tuple[Row, list[Row]]:
    """Header and rows of a CSV file.

    Args:
        path: The file, relative to the folder.
        folder: Folder of the domain file; None for content that came without one, which names no files.
        what: Beginning of the errors.

    Raises:
        DomainError: The file may not be named or cannot be read, or a row has another number of cells than the header.
    """
    if folder is None:
        raise DomainError(f"{what}: {path!r} names a file", remedy="only a domain file may; give the table itself")
    try:
        with (folder / path).open(encoding="utf-8-sig", newline="") as file:
            lines = [tuple(cell.strip() for cell in row) for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no CSV in UTF-8"
        raise DomainError(
            f"{what}: {path!r} cannot be read ({reason})", remedy="check the path and the file"
        ) from error
    uneven = next((number for number, row in enumerate(lines) if len(row) != len(lines[0])), None)
    if len(lines) < 2 or uneven is not None:
        where = f"line {uneven + 1} of {path!r} has another number of cells" if uneven else f"{path!r} has no rows"
        raise DomainError(f"{what}: {where}", remedy="give a header, and one row for each value")
    return lines[0], lines[1:]


def rows_of(table: object, names: Sequence[str], folder: Path | None, what: str) -> list[tuple[Row, Value]]:
    """Texts of the sources, and the value of what they determine, from a table.

    Args:
        table: A mapping of values, for one source; rows with all values; or the path of a CSV file with these columns.
        names: Names of the sources, then of what they determine.
        folder: Folder of the domain file, if there is one.
        what: Beginning of the errors.

    Raises:
        DomainError: The table has none of these forms.

    Example:
        >>> rows_of({"a": 1, "b": 2}, ["area", "density"], None, "density")
        [(('a',), 1), (('b',), 2)]
    """
    rows: list[Sequence[Any]]
    if isinstance(table, str):
        header, lines = read_table(table, folder, what)
        absent = [name for name in names if name not in header]
        if absent:
            raise DomainError(
                f"{what}: {table!r} has no column {absent[0]!r}", remedy=f"name its columns {', '.join(names)}"
            )
        places = [header.index(name) for name in names]
        rows = [[*(line[place] for place in places[:-1]), plain_value(line[places[-1]])] for line in lines]
    elif isinstance(table, Mapping) and len(names) == 2:
        rows = [[key, value] for key, value in table.items()]
    elif isinstance(table, list) and all(isinstance(row, list) and len(row) == len(names) for row in table):
        rows = table
    else:
        raise DomainError(
            f"{what}: 'table' is none that gives {names[-1]!r} for {', '.join(names[:-1])}",
            remedy="give the path of a CSV file with these columns, rows of their values, or (for one) a mapping",
        )
    for row in rows:
        if not all(isinstance(cell, str | int | float) for cell in row):
            raise DomainError(f"{what}: the table holds {row!r}", remedy="give texts, numbers, true or false")
    return [(tuple(value_text(cell) for cell in row[:-1]), row[-1]) for row in rows]


_NAMED = 3
"""Combinations that an error names."""


def derived_of(domain: Domain, name: str, entry: object, folder: Path | None) -> Derived:
    """The derived attribute that an entry describes.

    Args:
        domain: Attributes, and the derived ones that are declared before.
        name: Its name.
        entry: ``from`` with ``table``, or ``cases``; ``column``; its values like those of an attribute, where they are
            not all in the table or the names of the cases.
        folder: Folder of the domain file, if there is one.

    Raises:
        DomainError: The entry is not understood, or does not give exactly one value to each combination.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 3),))
        >>> derived_of(domain, "group", {"cases": {"child": "age < 2", "adult": "age >= 2"}}, None).codes.tolist()
        [0, 0, 1, 1]
    """
    what = f"derived attribute {name!r}"
    if not isinstance(entry, Mapping) or ("table" in entry) == ("cases" in entry):
        raise DomainError(
            f"{what} has {'both' if isinstance(entry, Mapping) and 'table' in entry else 'neither'} 'table' "
            f"{'and' if isinstance(entry, Mapping) and 'table' in entry else 'nor'} 'cases'",
            remedy="write 'from: area' and 'table: FILE', or 'cases: {child: \"age < 15\", adult: \"age >= 15\"}'",
        )
    column = entry.get("column", True)
    if not isinstance(column, bool):
        raise DomainError(f"{what}: 'column' is neither true nor false", remedy="write 'column: false'")
    sources = _sources(domain, entry.get("from"), what)
    options = {option: value for option, value in entry.items() if option not in DERIVED}
    if "table" in entry:
        if not sources:
            raise DomainError(f"{what} does not say what it is made from", remedy="write 'from: area'")
        rows = rows_of(entry["table"], [*sources, name], folder, what)
        attribute = _attribute(name, options, [value for _, value in rows])
        return function_of(domain, attribute, sources, rows, what, column=column)
    cases = entry["cases"]
    if not isinstance(cases, Mapping) or not all(isinstance(case, str) for case in cases.values()) or not cases:
        raise DomainError(f"{what}: 'cases' does not map values to conditions", remedy="write 'child: \"age < 15\"'")
    attribute = _attribute(name, options, [str(label) for label in cases])
    scope, places = by_cases(domain, what, list(cases.values()), [str(label) for label in cases])
    known = codes_by_text(attribute)
    codes = np.array([_code(known, str(label), what, name) for label in cases])[places]
    wanted = domain.base(sources) if sources else scope
    if not set(scope) <= set(wanted):
        raise DomainError(f"{what}: its cases are about more than {', '.join(sources)}", remedy="delete 'from'")
    codes = codes.reshape([domain[each].size if each in scope else 1 for each in wanted])
    return Derived(attribute, wanted, np.broadcast_to(codes, domain.shape_of(wanted)), column=column)


def derived_entry(domain: Domain, derived: Derived) -> dict[str, Any]:
    """The entry that describes a derived attribute; ``derived_of`` reads it back.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 3),))
        >>> group = Derived(Categorical("group", ("child", "adult")), ["age"], [0, 0, 1, 1])
        >>> derived_entry(domain, group)["cases"]
        {'child': 'age between 0 and 1', 'adult': 'age between 2 and 3'}
    """
    entry: dict[str, Any] = {"from": list(derived.sources) if len(derived.sources) > 1 else derived.sources[0]}
    labels = derived.attribute.labels
    first = domain[derived.sources[0]]
    if len(derived.sources) == 1 and isinstance(first, Categorical):
        entry["table"] = dict(zip(first.labels, (labels[code] for code in derived.codes), strict=True))
    else:
        scope = derived.sources
        codes = [np.arange(size, dtype=np.int32) for size in domain.shape_of(scope)]
        entry["cases"] = {
            labels[code]: as_condition(domain, scope, codes, derived.codes == code)
            for code in np.unique(derived.codes).tolist()
        }
    return entry | attribute_entry(derived.attribute) | ({} if derived.column else {"column": False})


def function_of(
    domain: Domain,
    attribute: Attribute,
    sources: Sequence[str],
    rows: Sequence[tuple[tuple[str, ...], Value]],
    what: str,
    *,
    column: bool,
) -> Derived:
    """The function that a table gives.

    The missing and the other value of a single source have those of the function, where it has such and the table does
    not list them.

    Raises:
        DomainError: A combination of the sources has no value, or two, or a value is unknown.
    """
    shape = domain.shape_of(sources)
    check_cells(what, shape)
    known, own = [codes_by_text(domain[source]) for source in sources], codes_by_text(attribute)
    table = np.full(shape, -1, dtype=np.int32)
    for texts, value in rows:
        cell = tuple(_code(each, text, what, name) for each, text, name in zip(known, texts, sources, strict=True))
        code = _code(own, value_text(value), what, attribute.name)
        if table[cell] not in {-1, code}:
            raise DomainError(
                f"{what}: the table gives two values for {', '.join(texts)}", remedy="list each combination once"
            )
        table[cell] = code
    if len(sources) == 1:
        fine = domain[sources[0]]
        extra = ((fine.missing_code, attribute.missing_code), (fine.other_code, attribute.other_code))
        for of_fine, of_own in extra:
            if of_fine is not None and of_own is not None and table[of_fine] < 0:
                table[of_fine] = of_own
    _check_filled(domain, sources, table, what)
    base = domain.base(sources)
    codes = spread_over(domain, table, tuple(sources), base)
    return Derived(attribute, base, np.broadcast_to(codes, domain.shape_of(base)), column=column)


def _sources(domain: Domain, given: object, what: str) -> list[str]:
    names = [given] if isinstance(given, str) else given or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise DomainError(f"{what}: 'from' is no attribute or list of attributes", remedy="write 'from: [area, sex]'")
    for name in names:
        if name not in domain.all_names:
            raise DomainError(
                f"{what} is made from {name!r}, which is no attribute", remedy="declare its sources before it"
            )
    return names


def _attribute(name: str, options: Mapping[str, Any], values: Sequence[Value]) -> Attribute:
    if set(options) <= {"missing", "other", *WRITTEN, *SPELLING}:
        listed = list({value_text(value): value for value in values}.values())
        return attribute_of(name, {"values": listed, **options})
    return attribute_of(name, options)


def _code(known: Mapping[str, int], text: str, what: str, name: str) -> int:
    if text not in known:
        raise DomainError(f"{what}: {name!r} has no value {text!r}", remedy="correct it, or declare it")
    return known[text]


def _check_filled(domain: Domain, sources: Sequence[str], table: Places, what: str) -> None:
    gaps = np.argwhere(table < 0)
    if not len(gaps):
        return
    shown = [
        " and ".join(f"{name} = {domain[name].label(int(code))!r}" for name, code in zip(sources, gap, strict=True))
        for gap in gaps[:_NAMED]
    ]
    more = f", and for {len(gaps) - _NAMED:,} more" if len(gaps) > _NAMED else ""
    raise DomainError(
        f"{what}: the table has no value for {'; '.join(shown)}{more}",
        remedy="give one for each combination of values, the missing and the other one too",
    )


_FORMS = ({"impossible"}, {"if", "then"}, {"determines", "table"})
_PREFIX = "impossible: "
_REMEDY = (
    "give 'impossible: \"age < 15 and married = 1\"', or 'if: \"married = 1\"' with 'then: \"age >= 15\"', or "
    "'determines: [area, region]' with 'table: FILE'; and 'says' for its text in errors"
)


def constraint_of(domain: Domain, entry: object, folder: Path | None) -> Constraint:
    """The constraint that an entry describes.

    Args:
        domain: Attributes and derived ones.
        entry: A mapping with ``impossible``; with ``if`` and ``then``; or with ``determines`` and ``table``. With
            ``says``, the text of the rule.
        folder: Folder of the domain file, if there is one.

    Raises:
        DomainError: The entry is not understood, or the rule is wrong.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> constraint_of(domain, {"impossible": "age < 15 and married = 1", "says": "children are single"}, None)
        Constraint('children are single')
    """
    if not isinstance(entry, Mapping) or set(entry) - {"says"} not in _FORMS:
        raise DomainError(f"the constraint {entry!r} has none of the known forms", remedy=_REMEDY)
    texts = {key: value for key, value in entry.items() if key not in {"determines", "table"}}
    if not all(isinstance(value, str) for value in texts.values()):
        raise DomainError(f"the constraint {entry!r} is no text", remedy="put conditions in quotes")
    says = texts.get("says")
    if "impossible" in entry:
        return impossible(domain, texts["impossible"], says=says)
    if "if" in entry:
        return if_then(domain, texts["if"], texts["then"], says=says)
    names = entry["determines"]
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise DomainError(f"'determines' holds {names!r}", remedy="list attributes, the one that is determined last")
    what = f"the constraint '{determining(names[:-1], names[-1])}'"
    for name in names:
        if name not in domain.names:
            raise DomainError(f"{what} names no attribute {name!r}", remedy="name columns of the table")
    rows = rows_of(entry["table"], names, folder, what)
    function = function_of(domain, domain[names[-1]], names[:-1], rows, what, column=False)
    return determines(domain, names[-1], function, says=says)


def constraint_entry(domain: Domain, constraint: Constraint) -> dict[str, Any]:
    """The entry that describes a constraint; ``constraint_of`` reads it back.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> constraint_entry(domain, if_then(domain, "married = 1", "age >= 15"))
        {'impossible': 'age between 0 and 14 and married = 1', 'says': 'if married = 1, then age >= 15'}
    """
    if constraint.text.startswith(_PREFIX):
        condition = constraint.text.removeprefix(_PREFIX)
        try:
            if impossible(domain, condition) == constraint:
                return {"impossible": condition}
        except DomainError:
            pass
    condition = as_condition(domain, constraint.scope, constraint.classes, ~constraint.allowed)
    return {"impossible": condition, "says": constraint.text}
