"""Domain files: YAML (so JSON too), one entry per attribute.

Three forms are read::

    {"sex": ["Female", "Male"], "age": {"min": 17, "max": 90}}        # lists of values, ranges
    {"attributes": {"hours": {"edges": [0, 20, 40, 100], "other": true}}}   # the form that is written
    {"sex": 2, "age": 74}                                             # numbers of codes

An entry with options holds one of ``values``; ``min`` and ``max``; ``min``, ``max`` and ``bins``; ``edges``. To these
come ``whole`` (numbers of a binned column are whole), ``missing`` and ``other`` (``true``, or the text of that value).

Bounds and edges may be dates and times, or numbers with a step; the column is then one of whole numbers on a scale
(``scales.py``)::

    {min: 2015-01-01, max: 2024-12-31, format: "%d.%m.%Y"}       # dates; "format" where texts are not 2015-01-31
    {min: 2020-01, max: 2024-12}                                 # months; weeks as 2020-W05, quarters as 2020-Q1
    {min: 2024-01-01T00:00, max: 2024-12-31T23:45, step: 15min}  # times; "zone: Europe/Berlin" for offsets
    {min: 08:00, max: 17:45, step: 15min}                        # times of day
    {min: PT0H, max: P2D, step: 1min, format: "%H:%M:%S"}        # durations; ``unit: h`` where cells are numbers
    {min: 35.0, max: 43.0, step: 0.1}                            # decimals

``round: true`` reads a decimal between two steps as the nearest, and a time as the step that it is in. ``bins`` may be
``{log: 20}``, whose edges have equal ratios (of whole numbers from 0 on with 1 added; bins narrower than one number are
left out), or of dates and times a unit of the calendar: ``hour`` (of times), ``day``, ``week``, ``month``, ``quarter``
or ``year``. ``points: [0, 99999]`` gives whole numbers or steps
bins of their own; in ``edges`` a last edge that is there twice does. ``bins: {learn: 20}`` has the edges learnt from
the private data, as a part of the budget (``learning.py``); the domain of a release then has ``learnt: true``.
``values: {learn: 500}`` has the values of a column learnt, at most so many; labels that few records have become the
other value; ``values: {learn: 50, of: [...]}`` keeps the frequent ones of a list.

Listed values may have rules by which texts that are written differently are one value (``attributes.py``): ``trim:
true`` leaves blanks around a text out, ``case: fold`` takes capital and small letters as the same, ``unicode: NFC`` (or
NFKC) brings texts to a normal form, and ``synonyms: {m: male}`` names further texts of a value, or of the missing or
the other one.

A duration may lie between two columns: ``{from: admitted, to: discharged, min: 0, max: 90, unit: d}`` describes it and
the later column, which is its sum with the earlier one (``layout.py``); ``column: true`` where the data have it too.

How records are written may be declared too (``layout.py``): ``type: int16``, the name of an Arrow type, which data
frames, Parquet and databases get; ``null: NA``, the text of empty cells in text files; ``digits: 2``, after the point
of numbers there. Records are the same without them.

An entry with options may have ``levels``, coarser forms of the attribute, finest first: one of these, or a list ::

    [5, 20]                                            # widths, of ranges and bins
    {stage: {child: [0..14], adult: [15..99]}}         # groups of values; runs of whole numbers in short
    {stage: {edges: [0, 15, 99]}}                      # bins of whole numbers or of finer bins
    {prefix: [3, 1]}                                   # the first characters of listed values
    [month, quarter, year]                             # of dates; of times also hour and day, and week alone
    {table: codes.csv}                                 # columns: the value, its parent, the parent of that, ...;
                                                       # named "code,parent" a list that has parents of parents too
    none                                               # no level, default ones neither

Beside ``attributes`` there may be functions of several attributes, and rules that no record breaks::

    derived:
      density: {from: area, table: density.csv}        # a column of the data; a mapping or rows in place of a file
      group: {cases: {child: "age < 15", adult: "age >= 15"}, column: false}     # no column of the data
    constraints:
      - impossible: "age < 15 and marital <> 'N'"
      - {if: "married = 1", then: "age >= 15"}
      - {determines: [industry, sector], table: sectors.csv}
      - {impossible: "age < 15 and income > 0", says: "children have no income"}  # its text in errors

    known: [48842, persons.csv]                        # public counts that releases keep: the number of records, or
                                                       # files of columns or levels and "count"; with weights those of
                                                       # the population, by "population" in its place (``known.py``)
    ignore: [id, remark]                               # columns that stay out
    order: [sex, stage, age]                           # order of columns in records; others follow
    target: sex                                        # a column that models will predict from the others
    format: {separator: ";", decimal: ",", encoding: cp1252, skip: 2}    # of the text file (``layout.py``)
    draft: true                                        # read off data: refused until the line is deleted
    trusted_types: true                                # those of a file or frame, which a cell may have decided

Paths are relative to the domain file. What is written holds the tables themselves.

A word without quotes is text, save ``true`` and ``false`` and plain decimal numbers: ``no``, ``yes``, ``on``, ``007``,
``1_000``, ``12:30`` and ``2020-01-31`` are texts, as they are in the data.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from hedgerow.domain.attribute import Attribute
from hedgerow.domain.derived import Derived, coarser
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries import (
    NONE,
    are_options,
    attribute_entry,
    attribute_of,
    constraint_entry,
    constraint_of,
    derived_entry,
    derived_of,
    file_format_of,
    level_item,
    levels_of,
    parsed,
    span_entry,
    spans_of,
    written_entry,
    written_of,
    yaml_text,
)
from hedgerow.domain.entries.options import BESIDE
from hedgerow.domain.known import known_entry, listed_totals, with_known
from hedgerow.domain.layout import Layout
from hedgerow.domain.rules import check_feasible
from hedgerow.errors import DomainError
from hedgerow.system import replacing

T = TypeVar("T")

_MARKS = ("draft", "trusted_types")
"""Those that are true or false."""


DRAFT_REMEDY = (
    "check that every entry says what is publicly known, and delete the line 'draft: true'; "
    "or accept the draft as it stands, outside the guarantee (--accept-draft)"
)
"""Remedy where a draft would be used as a domain."""


def read_domain(path: str | os.PathLike[str], *, accept_draft: bool = False) -> Domain:
    """Read a domain file.

    Args:
        path: The file: YAML or JSON, in UTF-8.
        accept_draft: Whether a file that says ``draft: true`` is read; the domain, and a release over it, say so too.

    Raises:
        DomainError: The file is missing, is not well-formed, declares something twice, or an attribute is wrong; or it
            is a draft. The message names the file and the attribute.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "d.yaml")
        ...     _ = file.write_text("smokes: [no, yes]")
        ...     read_domain(file)["smokes"].labels
        ('no', 'yes')
    """

    def made(content: object, folder: Path) -> Domain:
        domain = domain_of(content, folder)
        if not accept_draft:
            check_public(domain)
        return domain

    return of_file(path, made)


def of_file(path: str | os.PathLike[str], made: Callable[[object, Path], T]) -> T:
    """Something made of the content of a domain file; errors name the file.

    Args:
        path: The file.
        made: Function of the content and the folder of the file.

    Raises:
        DomainError: The file cannot be read, or the function refuses its content.
    """
    try:
        return made(parsed(Path(path)), Path(path).parent)
    except DomainError as error:
        raise DomainError(f"domain file {os.fspath(path)}: {error.message}", remedy=error.remedy) from error


def check_public(domain: Domain) -> None:
    """Refuse a draft.

    Args:
        domain: A domain that is about to be used.

    Raises:
        DomainError: It was read off data, and nobody has said yet that it is public.

    Example:
        >>> check_public(domain_from_mapping({"attributes": {"sex": 2}, "draft": True}))
        Traceback (most recent call last):
            ...
        hedgerow.errors.DomainError: it is a draft that was read off private data...
    """
    if domain.draft:
        raise DomainError("it is a draft that was read off private data", remedy=DRAFT_REMEDY)


def domain_from_mapping(mapping: Mapping[str, Any]) -> Domain:
    """Build a domain from the content of a domain file.

    Args:
        mapping: One of the three forms that the module describes; it may name no files.

    Raises:
        DomainError: The mapping fits none of them, or an attribute is wrong.

    Example:
        >>> domain_from_mapping({"age": {"min": 0, "max": 99, "bins": 10}, "sex": 2}).shape
        (10, 2)
    """
    return domain_of(mapping, None)


def domain_to_mapping(domain: Domain) -> dict[str, Any]:
    """The content of a domain file, of numbers, texts and booleans only; ``domain_from_mapping`` reads it back.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain_to_mapping(Domain([IntegerRange("age", 0, 99, missing="?")]))
        {'attributes': {'age': {'min': 0, 'max': 99, 'missing': '?'}}}
    """
    entries = {attribute.name: attribute_entry(attribute) for attribute in domain}
    for name in domain.unleveled:
        entries[name]["levels"] = NONE
    leading = _leading_levels(domain)
    for name, item in leading:
        entries[name].setdefault("levels", []).append(item)
    for name, written in domain.layout.columns.items():
        if name in entries:
            entries[name] |= written_entry(written)
    for span in domain.spans:
        entries[span.length] |= span_entry(span)
    content: dict[str, Any] = {"draft": True} if domain.draft else {}
    content |= {"trusted_types": True} if domain.trusted_types else {}
    content |= {"format": entry} if (entry := domain.layout.file.entry) else {}
    content["attributes"] = entries
    if functions := domain.declared[len(leading) :]:
        content["derived"] = {
            f.name: derived_entry(domain, f) | written_entry(domain.layout[f.name]) for f in functions
        }
    if domain.constraints:
        declared = Domain(domain.attributes, domain.declared, (), domain.names)  # default levels may change
        content["constraints"] = [constraint_entry(declared, constraint) for constraint in domain.constraints]
    if totals := (*domain.known, *domain.population):
        content["known"] = [known_entry(table) for table in totals]
    if domain.ignored:
        content["ignore"] = list(domain.ignored)
    known = {*domain.all_names, *domain.ignored, *(span.end for span in domain.spans)}
    if order := [name for name in domain.layout.order if name in known]:
        content["order"] = order
    return content | ({} if domain.target is None else {"target": domain.target})


def write_domain(domain: Domain, path: str | os.PathLike[str]) -> None:
    """Write a domain file; a file that is there is replaced in one step.

    Args:
        domain: The domain to write.
        path: The file; its ending, ``.json``, ``.yaml`` or ``.yml``, decides the format.

    Raises:
        DomainError: The file has another ending.

    Example:
        >>> import tempfile
        >>> from hedgerow.domain.attribute import Categorical
        >>> domain = Domain([Categorical("smokes", ("no", "yes"))])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_domain(domain, Path(folder, "d.yaml"))
        ...     read_domain(Path(folder, "d.yaml")) == domain
        True
    """
    ending = Path(path).suffix.lower()
    if ending not in (".json", ".yaml", ".yml"):
        raise DomainError(
            f"domain file {os.fspath(path)}: the ending {ending!r} is not known", remedy="name it .yaml or .json"
        )
    content = domain_to_mapping(domain)
    text = json.dumps(content, indent=2) + "\n" if ending == ".json" else yaml_text(content)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def domain_of(mapping: object, folder: Path | None, known: Mapping[str, Attribute] = MappingProxyType({})) -> Domain:
    """The domain that the content of a file describes.

    Args:
        mapping: The content.
        folder: The folder that its paths are relative to; None where it may name no files.
        known: Attributes that are taken in place of their entries.

    Raises:
        DomainError: The content is wrong.
    """
    if not isinstance(mapping, Mapping):
        raise DomainError("it does not map attributes to their values", remedy="write 'name: [value, ...]' per column")
    entries: Mapping[str, Any] = mapping
    beside: Mapping[str, Any] = {}
    nested = mapping.get("attributes") if mapping.get("attributes", "") is not None else {}  # of a draft of no column
    if isinstance(nested, Mapping) and not are_options(nested):
        entries, beside = nested, {key: value for key, value in mapping.items() if key != "attributes"}
        for key in beside:
            if key not in BESIDE:
                raise DomainError(
                    f"{key!r} is given beside 'attributes'", remedy="move it into 'attributes' or delete it"
                )
    attributes = [known.get(str(name)) or attribute_of(str(name), entry) for name, entry in entries.items()]
    declared: list[Derived] = []
    unleveled = []
    for attribute, entry in zip(attributes, entries.values(), strict=True):
        if isinstance(entry, Mapping) and "levels" in entry:
            declared += levels_of(attribute, entry["levels"], folder)
            unleveled.append(attribute.name)
    domain = Domain(attributes, declared, (), unleveled)
    functions = beside.get("derived") or {}
    if not isinstance(functions, Mapping):
        raise DomainError(
            "'derived' does not map names to functions", remedy="write 'density: {from: area, table: FILE}'"
        )
    for name, entry in functions.items():
        function = derived_of(domain, str(name), entry, folder)
        domain = Domain(attributes, [*domain.declared, function], (), unleveled)
    rules = beside.get("constraints") or []
    if not isinstance(rules, list):
        raise DomainError("'constraints' is not a list", remedy="write '- impossible: \"age < 15 and married = 1\"'")
    spans = spans_of(domain, entries)
    order = beside.get("order") or []
    ignored, marks = beside.get("ignore") or [], {name: beside.get(name, False) for name in _MARKS}
    if not isinstance(ignored, list) or not all(isinstance(name, str | int | float) for name in ignored):
        raise DomainError("'ignore' is not a list of columns", remedy="write 'ignore: [id, remark]'")
    columns = {*domain.all_names, *map(str, ignored), *(span.end for span in spans)}
    if not isinstance(order, list) or not all(str(name) in columns for name in order):
        raise DomainError("'order' is not a list of columns of the table", remedy="write 'order: [sex, age]'")
    if wrong := [name for name, mark in marks.items() if not isinstance(mark, bool)]:
        raise DomainError(f"{wrong[0]!r} is neither true nor false", remedy=f"write '{wrong[0]}: true', or delete it")
    file_format = file_format_of(beside.get("format"))
    written = written_of(domain, {**entries, **functions}, spans, file_format)
    domain = Domain(
        attributes,
        domain.declared,
        [constraint_of(domain, rule, folder) for rule in rules],
        unleveled,
        ignored=map(str, ignored),
        **marks,
        layout=Layout(tuple(map(str, order)), written, file_format),
        spans=spans,
        target=None if beside.get("target") is None else str(beside["target"]),
    )
    check_feasible(domain)
    return with_known(domain, listed_totals(beside.get("known")), folder)


def _leading_levels(domain: Domain) -> list[tuple[str, Any]]:
    """The first declared functions as far as they are levels that entries of attributes can hold, in their order."""
    levels: list[tuple[str, Any]] = []
    last: Derived | None = None
    for function in domain.declared:
        name = function.sources[0]
        if last is not None and domain.index(name) < domain.index(last.sources[0]):
            break
        item = level_item(domain[name], function)
        nested = last is None or last.sources != function.sources or coarser(last.codes, function.codes) is not None
        if item is None or not nested:
            break
        levels.append((name, item))
        last = function
    return levels
