"""A domain from a schema that is there already: of pandas, polars or Arrow, a JSON Table Schema, pandera or SDV.

A schema says names and types of columns, and sometimes their values and bounds. The rest is given beside it, as entries
of a domain file, and everything that is still missing is said at once. No data are seen: what is taken here is the
schema alone. The schema of a data frame is the exception that the caller has to vouch for: its types follow from the
cells, and one of these can change them (an empty cell makes doubles of whole numbers); the dtype of a column of
categories holds the values of the data where they were made categories, and not declared. Without a word for them the
names are taken alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hedgerow.domain.domain import Domain
from hedgerow.domain.entries.yaml_text import parsed
from hedgerow.domain.file import domain_from_mapping
from hedgerow.errors import DomainError

_KINDS = {
    "flags": r"bool",
    "whole": r"u?int(\d|eger|$)|year$",
    "fractions": r"float|half|double|decimal|number|numerical",
    "dates": r"date(32|64)?(\W|$)",
    "times": r"datetime|timestamp",
    "clocks": r"time(32|64)?(\W|$)",
    "lengths": r"timedelta|duration",
    "labels": r"str(?!uct)|large_string|utf8|object|categor|enum|dictionary|yearmonth|any$",
}
"""Kinds of columns, and how the names of their types begin, in whichever system, in small letters."""

_WANTED = {
    "flags": (),
    "labels": ("values",),
    "fractions": ("min", "max", "bins"),
    "whole": ("min", "max"),
    "dates": ("min", "max"),
    "times": ("min", "max"),
    "clocks": ("min", "max"),
    "lengths": ("min", "max"),
}
"""Options that the entry of a column needs, unless it lists values or edges."""

_GAP = "..."
_GAPS = {"values": f"[{_GAP}]", "bins": "20"}
"""Texts that an error shows in place of what is missing."""

_BEYOND = {"values", "edges"}
"""Options beside which no other is needed."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")

_WITHOUT_BINS = {"step", "whole"}
"""Options beside which numbers with fractions need no bins."""

_CHECKS: dict[str, tuple[str, ...]] = {
    "isin": ("values",),
    "in_range": ("min", "max"),
    "greater_than_or_equal_to": ("min",),
    "less_than_or_equal_to": ("max",),
}
"""Checks of pandera that say what can occur. Bounds that are left out are none of a domain."""


@dataclass(frozen=True)
class _Column:
    """A column as its schema describes it.

    Attributes:
        kind: One of the kinds of columns; None where it is no attribute.
        entry: Options of a domain file that follow.
        note: Remark about what is missing, for an error.
    """

    kind: str | None
    entry: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


@runtime_checkable
class _Pandera(Protocol):
    """A schema object of pandera."""

    columns: Mapping[str, Any]
    checks: Any
    coerce: Any


def domain_from(
    schema: Any,
    entries: Mapping[str, Any] | None = None,
    *,
    ignore: Iterable[str] = (),
    public_categories: bool = False,
    trust_types: bool = False,
) -> Domain:
    """Make a domain from a schema, and from what is public beside it.

    Args:
        schema: One of: ``frame.dtypes`` of pandas, ``frame.schema`` of polars or an Arrow schema, of which names are
            taken, and types with ``trust_types`` alone; a Table Schema of Frictionless, a pandera schema (also as its
            YAML or JSON describes it), or the metadata of one table of SDV, each as a mapping, or as the path of a JSON
            or YAML file. Values that a schema lists, and bounds in it, are taken to be public: give none that was
            inferred from private data.
        entries: Options of a domain file by column, which complete what the schema says or replace it:
            ``{"age": {"min": 0, "max": 110}, "job": ["clerk", "nurse"]}``. Numbers with fractions need ``bins``, or
            ``"whole": True`` where the type is that of whole numbers with gaps.
        ignore: Columns that stay out. So do, unless ``entries`` names them, those of types that no domain holds (lists,
            bytes), and in SDV's metadata those that identify somebody.
        public_categories: Whether the categories of a pandas dtype were declared, and not read off the data.
        trust_types: Whether the types of pandas, polars or Arrow are public: somebody declared them, whatever the cells
            are. The domain says so, and the guarantee of a release over it.

    Raises:
        DomainError: Something is missing; the message names all columns with their options, and the remedy has the text
            to add. Or the schema is none of those, or says what no domain can.

    Example:
        >>> import pyarrow as pa
        >>> schema = pa.schema([("age", pa.int8()), ("job", pa.string()), ("well", pa.bool_())])
        >>> domain_from(schema, trust_types=True)
        Traceback (most recent call last):
            ...
        hedgerow.errors.DomainError: the schema does not say: age: min, max; job: values
          Remedy: say it from public knowledge, and not from the data: entries={'age': {'min': ..., 'max': ...}, ...
        >>> said = {"age": {"min": 0, "max": 110}, "job": ["clerk", "nurse"]}
        >>> made = domain_from(schema, said, trust_types=True)
        >>> made.shape, made["well"].labels
        ((112, 3, 3), ('False', 'True', '?'))
    """
    described = described_by(
        schema, entries, ignore=ignore, public_categories=public_categories, trust_types=trust_types
    )
    if described.lacking:
        raise _incomplete(described)
    return domain_from_mapping(described.content)


@dataclass(frozen=True)
class Described:
    """A domain as a schema describes it, and the gaps that it leaves.

    Attributes:
        content: Content of a domain file, with ``...`` in place of what is missing; such a file is refused.
        lacking: Options that are missing, by column.
        notes: Remarks about them, by column.
    """

    content: dict[str, Any]
    lacking: Mapping[str, tuple[str, ...]]
    notes: Mapping[str, str]

    @property
    def message(self) -> str:
        """Missing options of all columns, in words."""
        said = (f"{name}: {', '.join(self.lacking[name])}{self.notes.get(name, '')}" for name in self.lacking)
        return f"the schema does not say: {'; '.join(said)}"


def described_by(
    schema: Any,
    entries: Mapping[str, Any] | None = None,
    *,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    public_categories: bool = False,
    trust_types: bool = False,
) -> Described:
    """Describe a domain by a schema, and by entries beside it.

    Args:
        schema: A schema; see `domain_from`.
        entries: Options by column.
        columns: Columns that are described, the others stay out; None for all.
        ignore: Columns that stay out.
        public_categories: Whether categories were declared.
        trust_types: Whether the types of a data frame are public.

    Raises:
        DomainError: The schema is none that is known, or lacks a column that is named.

    Example:
        >>> described_by({"fields": [{"name": "age", "type": "integer"}]}).content
        {'attributes': {'age': {'missing': True, 'min': '...', 'max': '...'}}}
    """
    given, left_out = dict(entries or {}), list(ignore)
    known = _columns(schema, public_categories=public_categories, trust_types=trust_types)
    chosen = None if columns is None else list(columns)
    for name in (*given, *left_out, *(chosen or ())):
        if name not in known:
            raise DomainError(f"the schema has no column {name!r}", remedy=f"its columns are: {', '.join(known)}")
    if chosen is not None:
        left_out += [name for name in known if name not in chosen]
    made: dict[str, Any] = {}
    lacking: dict[str, tuple[str, ...]] = {}
    for name, column in known.items():
        if name in left_out:
            continue
        entry = _completed(column, given.get(name))
        if entry is None:
            left_out.append(name)
            continue
        missing = _missing(column.kind, entry) if isinstance(entry, Mapping) else ()
        if missing:
            lacking[name] = missing
            entry |= {option: 20 if option == "bins" else _GAP for option in missing}
        made[name] = entry
    trusted = {"trusted_types": True} if trust_types and _is_of_frame(schema) else {}
    content = trusted | {"attributes": made} | ({"ignore": left_out} if left_out else {})
    notes = {name: f" ({known[name].note})" for name in lacking if known[name].note}
    return Described(content, lacking, notes)


def _completed(column: _Column, given: object) -> Any:
    """The entry of a column; None where it is no attribute."""
    if given is not None and not isinstance(given, Mapping):
        missing = {key: value for key, value in column.entry.items() if key == "missing"}
        return {"values": given, **missing} if isinstance(given, list | tuple) else given
    if column.kind is None and given is None:
        return None
    said = column.entry if given is None or not _BEYOND & set(given) else {"missing": column.entry.get("missing")}
    entry = {key: value for key, value in {**said, **(given or {})}.items() if value is not None and value is not False}
    if column.kind == "times" and "step" not in entry:
        for end, clock in (("min", "T00:00"), ("max", "T23:59")):
            if isinstance(entry.get(end), str) and _DAY.fullmatch(entry[end]):
                entry[end] += clock
    return entry


def _missing(kind: str | None, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Options that an entry still needs."""
    bounded = {"min", "max"} <= set(entry)
    if kind is None or _BEYOND & set(entry) or (kind == "labels" and bounded):
        return ()
    wanted = ("min", "max") if _WITHOUT_BINS & set(entry) else _WANTED[kind]
    return tuple(option for option in wanted if option not in entry)


def _incomplete(described: Described) -> DomainError:
    texts = ", ".join(
        f"{name!r}: {{{', '.join(f'{option!r}: {_GAPS.get(option, _GAP)}' for option in options)}}}"
        for name, options in described.lacking.items()
    )
    return DomainError(
        described.message,
        remedy=f"say it from public knowledge, and not from the data: entries={{{texts}}}; "
        "numbers and dates have 'min' and 'max' in place of 'values'; or leave columns out with ignore=[...]",
    )


def _is_of_frame(schema: Any) -> bool:
    """Whether it has the types of a data frame, which cells may have decided."""
    named = type(schema).__module__.partition(".")[0], type(schema).__name__
    return named in {("pyarrow", "Schema"), ("pandas", "Series"), ("polars", "Schema")}


def _of_frame(schema: Any, *, public_categories: bool) -> dict[str, _Column]:
    """The columns of the schema of a data frame."""
    if type(schema).__name__ == "Series":
        return {str(name): _of_pandas(kind, public=public_categories) for name, kind in schema.items()}
    if type(schema).__module__.startswith("polars"):
        return {name: _of_polars(kind) for name, kind in schema.items()}
    return {each.name: _typed(str(each.type), nullable=each.nullable) for each in schema}


def _by_name(column: _Column) -> _Column:
    """The column without its type: only values that somebody listed are left."""
    listed = {"values": column.entry["values"]} if column.kind == "labels" and "values" in column.entry else {}
    return _Column("labels", {"missing": True, **listed}, column.note)


def _columns(schema: Any, *, public_categories: bool, trust_types: bool) -> dict[str, _Column]:
    """The columns of a schema of any system."""
    if isinstance(schema, str | os.PathLike):
        schema = _in_file(Path(schema))
    if _is_of_frame(schema):
        columns = _of_frame(schema, public_categories=public_categories)
        return columns if trust_types else {name: _by_name(column) for name, column in columns.items()}
    if isinstance(schema, Mapping):
        if isinstance(schema.get("fields"), list):
            return {str(each["name"]): _of_table_schema(each) for each in schema["fields"]}
        return _of_mapping(schema)
    if isinstance(schema, _Pandera):
        return {str(name): _of_pandera(column) for name, column in schema.columns.items()}
    raise DomainError(
        f"a {type(schema).__name__} is no schema that is known",
        remedy="give frame.dtypes (pandas), frame.schema (polars), an Arrow schema, or a mapping: a JSON Table Schema, "
        "pandera's or SDV's of one table",
    )


def _in_file(path: Path) -> Any:
    """The content of a file that holds a schema."""
    try:
        return parsed(path)
    except DomainError as error:
        raise DomainError(f"schema {path}: {error.message}", remedy=error.remedy) from error


def _of_mapping(schema: Mapping[str, Any]) -> dict[str, _Column]:
    """The columns of a mapping of SDV or of pandera."""
    tables = schema.get("tables")
    if isinstance(tables, Mapping):
        if len(tables) != 1:
            raise DomainError(
                f"the metadata describe {len(tables)} tables: {', '.join(map(str, tables))}",
                remedy="give one of them: metadata['tables'][NAME]",
            )
        schema = next(iter(tables.values()))
    columns = schema.get("columns")
    if not isinstance(columns, Mapping) or not all(isinstance(column, Mapping) for column in columns.values()):
        raise DomainError(
            "the mapping is no schema that is known",
            remedy="give a JSON Table Schema (with 'fields'), or pandera's or SDV's of one table (with 'columns')",
        )
    return {str(name): _of_sdv(c) if "sdtype" in c else _of_pandera_entry(c) for name, c in columns.items()}


def kind_of_type(text: str) -> str | None:
    """The kind of a column by the text of its type, in whichever system; None where it is none of a domain.

    Example:
        >>> kind_of_type("int64"), kind_of_type("timestamp[us]"), kind_of_type("struct<a: int64>")
        ('whole', 'times', None)
    """
    return next((kind for kind, start in _KINDS.items() if re.match(start, text.lower())), None)


def _typed(text: str, *, nullable: bool, **options: Any) -> _Column:
    """A column by the text of its type."""
    kind = kind_of_type(text)
    values = {"values": [False, True]} if kind == "flags" and "values" not in options else {}
    return _Column(kind, {**values, **options, **({"missing": True} if nullable else {})})


def _of_pandas(kind: Any, *, public: bool) -> _Column:
    text = str(kind)
    if text != "category":
        return _typed(text, nullable=not re.match(r"(u?int\d|bool$)", text))
    categories = [plain(category) for category in kind.categories]
    if public and all(isinstance(each, str | int | float) for each in categories):
        return _typed(text, nullable=True, values=categories)
    note = "its categories may have been read off the data; public_categories=True says that they were not"
    return _Column("labels", {"missing": True}, note)


def _of_polars(kind: Any) -> _Column:
    text = str(kind)
    if text.startswith("Enum"):
        return _typed(text, nullable=True, values=kind.categories.to_list())
    return _typed(text, nullable=True)


_BOUNDS: dict[str, Callable[[Any], Any]] = {"integer": int, "number": float, "year": int}
"""Types of a Table Schema whose bounds may stand there as texts."""


def _of_table_schema(field_: Mapping[str, Any]) -> _Column:
    """A field of a Table Schema (Frictionless, versions 1 and 2)."""
    kind, rules = str(field_.get("type", "any")), field_.get("constraints") or {}
    number = _BOUNDS.get(kind, plain)
    options = {
        option: number(rules[rule]) for option, rule in (("min", "minimum"), ("max", "maximum")) if rule in rules
    }
    listed = rules.get("enum", field_.get("categories"))
    if listed is not None:
        values = [each["value"] if isinstance(each, Mapping) else each for each in listed]
        options = {"values": [plain(value) for value in values]}
    elif kind in ("date", "datetime", "time") and (form := field_.get("format", "default")) not in ("default", "any"):
        options["format"] = form
    return _typed(kind, nullable=not rules.get("required", False), **options)


def _of_pandera(column: Any) -> _Column:
    """A column of a schema object of pandera."""
    checks = {check.name: check.statistics or {} for check in column.checks}
    return _checked(str(column.dtype), checks, nullable=bool(column.nullable))


def _of_pandera_entry(column: Mapping[str, Any]) -> _Column:
    """A column of a schema of pandera as YAML or JSON; checks stand in it, or below ``checks`` in older versions."""
    nested = column.get("checks")
    checks = {**column, **(nested if isinstance(nested, Mapping) else {})}
    return _checked(str(column.get("dtype", "object")), checks, nullable=bool(column.get("nullable", False)))


def _checked(kind: str, checks: Mapping[str, Any], *, nullable: bool) -> _Column:
    options: dict[str, Any] = {}
    for name, wanted in _CHECKS.items():
        if name not in checks:
            continue
        told = checks[name]
        if not isinstance(told, Mapping):
            options[wanted[0]] = told  # the short form of files
        elif told.get("include_min", True) and told.get("include_max", True):
            said = {"values": "allowed_values", "min": "min_value", "max": "max_value"}
            options |= {option: told[said[option]] for option in wanted if said[option] in told}
    if "values" in options:
        options = {"values": [plain(option) for option in options["values"]]}
    return _typed(kind, nullable=nullable, **{option: plain(value) for option, value in options.items()})


def _of_sdv(column: Mapping[str, Any]) -> _Column:
    """A column of SDV's metadata; what identifies somebody, and what nobody knows the type of, is left out."""
    kind = str(column["sdtype"])
    if kind == "numerical":
        representation = str(column.get("computer_representation", "Float")).lower()
        return _typed("int" if re.match(r"u?int", representation) else kind, nullable=True)
    if kind == "datetime":
        form = column.get("datetime_format")
        timed = form is not None and re.search(r"%[HIMSfpXc]", form)
        return _typed("datetime" if timed else "date", nullable=True, **({} if form is None else {"format": form}))
    return _typed(kind, nullable=True) if kind in ("boolean", "categorical") else _Column(None)


def plain(value: Any) -> Any:
    """A value or a bound of a schema as a domain file has it.

    Example:
        >>> plain(np.int64(3)), plain(date(2024, 1, 31)), plain(datetime(2024, 1, 31, 8)), plain(timedelta(hours=36))
        (3, '2024-01-31', '2024-01-31T08:00', 'PT36H')
    """
    match value:
        case np.generic():
            return plain(value.item())
        case datetime() | time():
            return value.replace(tzinfo=None).isoformat(timespec="minutes")
        case date():
            return value.isoformat()
        case timedelta():
            minutes = int(value.total_seconds() // 60)
            return f"PT{minutes // 60}H" if minutes % 60 == 0 else f"PT{minutes}M"
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return value
