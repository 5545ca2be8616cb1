"""A first draft of a domain file from a table; for a person to read and correct, never to be used unread.

Its comments name columns that seem to follow from each other in the first rows of the table.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.data.column_summary import Summary, is_number
from hedgerow.data.options import ReadOptions
from hedgerow.data.proposals import Proposal, is_beyond, json_text, numbers_of, proposed
from hedgerow.data.reading import (
    COUNT_NAMES,
    WEIGHT_NAMES,
    Reader,
    encoded,
    files_of,
    open_place,
    open_table,
    select_columns,
)
from hedgerow.data.sniffing import sniffed
from hedgerow.domain import (
    Attribute,
    Calendar,
    Categorical,
    Codes,
    Domain,
    FileFormat,
    Moments,
    Ordered,
    Written,
    arrow_schema,
    attribute_of,
    check_written,
    domain_from_mapping,
    ends_of,
    file_format_of,
    parsed_text,
    type_name,
)
from hedgerow.errors import ColumnError, DataError, DomainError, UnreadableTableError

if TYPE_CHECKING:
    from hedgerow.data.table import Source

IN_DOUBT = "In doubt:"
"""Begins a comment of a draft that says why an entry may be wrong."""

STAY_OUT = "# Columns that stay out; describe one above to take it in."
"""The line above columns that a draft leaves out."""

HEADER = """\
# Draft of a domain file for {file}.
#
# Everything below was read off the data. Values and ranges that are seen in private data are themselves private
# until someone decides that they are public: nobody but you should see this file until you have made it say what
# is publicly known about each column (a code book, a law, common knowledge), whatever this table happens to hold.
# Using it as it stands would let the release depend on the data outside the privacy budget.
#
# Check each entry, delete its comment when you are done, and delete this text and the next line. Nothing is spent on a
# domain that is a draft, unless it is accepted as it stands (--accept-draft), which the release says.
draft: true
"""

FOOTER = """\
# The data cannot say which records are impossible. Rules that are publicly known make records better:
# constraints:
#   - impossible: "age < 15 and marital = 'married'"
#   - {determines: [district, region], table: regions.csv}
# Nor can it say that a date follows another. An attribute in place of the later one keeps their distance:
#   stay: {from: admitted, to: discharged, min: 0, max: 90, unit: d}
"""


def draft_domain(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    without: Iterable[str] = (),
    max_values: int = 50,
    name: str | None = None,
    file_format: Mapping[str, Any] | None = None,
) -> str:
    """Propose a domain file, and try whether it reads the table.

    Texts become lists of values, whole numbers ranges or bins, other numbers bins, decimals with few digits and dates
    and times ranges or bins on their scale, with rounded bounds. Skewed numbers get bins that widen, and labels that
    differ in blanks or case are one value. What looks like an identifier, is constant or has no values at all is
    ignored. The file says that it is a draft, and is refused as a domain until that line is deleted.

    Args:
        source: A table as for ``read_table``, or the text of a place as for ``scan_table``.
        columns: Columns to draft; None for all.
        without: Columns that are left out of these, such as one of counts, of weights, or of persons.
        max_values: Texts with more distinct values than this are listed only if each is there often.
        name: Name of the table in the header; its path by default.
        file_format: What is known of the format of a text file or workbook, as a domain file says it under ``format``
            (``{"separator": ";", "encoding": "cp1252"}``); the rest is found out.

    Returns:
        YAML, which ``read_domain`` reads as a draft, with comments on what to check. It is as private as the data.

    Raises:
        UnreadableTableError: The table cannot be read, or has no rows.
        ColumnError: A column is not there, or is there twice.
        DomainError: The format has an unknown option, or a value that does not fit.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import draft_domain
        >>> people = pa.table({"sex": ["F", "M", "?"], "age": [20, 31, 47]})
        >>> print(draft_domain(people).partition("says.")[2].partition("# The data")[0])
        <BLANKLINE>
        draft: true
        attributes:
          # 2 values. Are these all values that could occur?
          # In doubt: fewer than 10 rows each: "F", "M"; consider leaving such values out and declaring
          # 'other: true'.
          "sex": {"values": ["F", "M"], "missing": "?"}
          # Whole numbers; bounds rounded outward. Which bounds are publicly known?
          #   perhaps levels: [5, 20]
          "age": {"min": 20, "max": 50}
        <BLANKLINE>
        <BLANKLINE>
    """
    known = dict(file_format or {})
    file_format_of(known)
    form = _form_of(source, known)
    reader = open_place(source, form=form) if isinstance(source, str) else open_table(source, form)
    left_out = set(without)
    wanted = [column for column in (reader.names if columns is None else columns) if column not in left_out]
    for column in wanted:
        if reader.names.count(column) != 1:
            problem = "it is there more than once" if column in reader.names else "the table has no such column"
            remedy = "correct the name of the column"
            if reader.texts and column in reader.names:
                remedy = "give each a name of its own, or take c1, c2, ...: --format '{header: false, skip: 1}'"
            raise ColumnError(problem, file=reader.file, column=column, remedy=remedy)
    summaries = {column: Summary() for column in wanted}
    n_rows = 0
    for batch in reader.batches(wanted, wanted if reader.texts else ()):  # else a dictionary would hide a type
        n_rows += batch.num_rows
        for column, summary in summaries.items():
            if not reader.texts:
                summary.declare(batch.schema.field(column).type)
            if n_rows == batch.num_rows:
                summary.look(batch.column(column))
            summary.add(batch.column(column))
    if not n_rows:
        raise UnreadableTableError("the table has no rows", file=reader.file, remedy="check how it was made")
    if reader.texts and "decimal" not in known:
        form = replace(form, decimal=_decimal_of(summaries.values()))
    entries = {column: _entry(column, summary, max_values, form.decimal) for column, summary in summaries.items()}
    file = os.path.basename(reader.file) if name is None else name
    head = [HEADER.format(file=file).rstrip("\n"), *_format_lines(form), "attributes:"]
    while True:
        taken, left = (
            [line for lines, is_in in entries.values() if is_in is side for line in lines] for side in (True, False)
        )
        ignored = ["", STAY_OUT, "ignore:", *left] if left else []
        text = "\n".join([*head, *taken, *ignored, "", FOOTER])
        error, seen = _tried(text, reader) if taken else (None, [])
        if seen:
            text += "\n".join(
                ["# Seen, and to be checked:", *(line for each in seen for line in _wrapped(each, "#  ")), ""]
            )
        if error is None or error.column not in entries or not entries[error.column][1]:
            return text
        reason = f"the draft of it was tried and refused: {error.message.rpartition(': ')[2]}; left out."
        entries[error.column] = _ignored(error.column, reason)


def _tried(text: str, reader: Reader) -> tuple[DataError | None, list[str]]:
    """The error with which a draft refuses the table that it comes from, if it does; and what its first rows show."""
    domain, seen = domain_from_mapping(parsed_text(text)), list[str]()
    try:
        coding = select_columns(reader, domain, ReadOptions(columns=domain.names))
        for number, rows in enumerate(encoded(reader, coding)):
            seen += related(coding.domain, rows.codes) if number == 0 else []
    except DataError as error:
        return error, []
    return None, seen


def _ignored(name: str, reason: str) -> tuple[list[str], bool]:
    """The comment and the line of a column that stays out."""
    return [*_wrapped(f"{json_text(name)}: {reason}"), f"  - {json_text(name)}"], False


def _form_of(source: Source, known: Mapping[str, Any]) -> FileFormat:
    """The format of a text file, or of the first of several."""
    if not isinstance(source, str | os.PathLike):
        return FileFormat(**known)
    file = next(iter(sorted(files_of(os.fspath(source)))), None)
    return sniffed(file, known) if file is not None and file.is_file() else FileFormat(**known)


def _decimal_of(summaries: Iterable[Summary]) -> str:
    """The mark before fractions that most columns with fractions have."""
    votes = Counter[str]()
    for summary in summaries:
        if summary.written is not None:
            votes.update([summary.written.decimal] if summary.written.decimal else [])
        elif summary.numeric and summary.digits and not summary.whole:
            votes["."] += 1
    return "," if votes[","] > votes["."] else "."


def _format_lines(form: FileFormat) -> list[str]:
    """The format of the file, where it is not the usual one, and what was seen."""
    if not (entry := form.entry):
        return []
    seen = {
        "separator": f"fields are separated by {json_text(form.separator)}",
        "decimal": "fractions follow a comma",
        "encoding": "it is not UTF-8 (correct the encoding where letters look wrong)",
        "skip": f"{form.skip} lines stand before the header" if form.skip > 1 else "a line stands before the header",
        "header": "the first line is a record like the others, so the columns have no names",
        "quoting": "texts are in quotes" if form.quoting == "non_numeric" else "all fields are in quotes",
        "footer": f"the last {form.footer} lines have other fields"
        if form.footer > 1
        else "the last line has other fields",
    }
    words = "; ".join(seen[option] for option in entry if option in seen)
    return [*_wrapped(f"How the file is written: {words}.", "#"), f"format: {json_text(entry)}"]


def _entry(name: str, summary: Summary, max_values: int, decimal: str) -> tuple[list[str], bool]:
    """The comment and the line of a column, and whether it is an attribute and does not stay out."""
    word = summary.word
    summary = numbers_of(summary, max_values)
    proposal = proposed(name, summary, max_values)
    if summary.written is not None and "values" in (proposal.options or {}):
        proposal = Proposal(
            None, f"some cells are no numbers that are written as {summary.written.pattern!r}; left out."
        )
    if proposal.options is None:
        return _ignored(name, proposal.comment)
    options, comment, doubts = dict(proposal.options), proposal.comment, [*proposal.doubts]
    missing = summary.missing_texts
    if word is not None and missing == [word] and is_beyond(word):
        options |= {"other": word}
        doubts.append(f"{json_text(word)} is read as numbers beyond the bounds, which are put together.")
    elif missing:
        comment += f" The text {json_text(word)} is read as a missing number." if missing == [word] else ""
        options |= {"missing": missing[0] if len(missing) == 1 else missing}
        if len(missing) > 1:
            comment += f" The texts {', '.join(map(json_text, sorted(summary.missing)))} are read as missing."
    if summary.numeric and not summary.spellings.options():
        options |= _numbers_written(summary, decimal)
    options |= _written(name, options, summary)
    if name in (summary.counts or ()) or (summary.numeric and is_number(name)):
        doubts.append("its name looks like one of its values: does the first line hold the names of the columns?")
    if name.lower() in COUNT_NAMES:
        doubts.append("if it says how often each row counts, delete the entry and name it as the column of counts.")
    if name.lower() in WEIGHT_NAMES:
        doubts.append("if it says how often each record counts, delete the entry and name it as the weight.")
    hints = [f"  #   perhaps {hint}" for hint in proposal.hints]
    doubtful = [line for doubt in doubts for line in _wrapped(f"{IN_DOUBT} {doubt}")]
    return [*_wrapped(comment), *doubtful, *hints, f"  {json_text(name)}: {json_text(options)}"], True


def _numbers_written(summary: Summary, decimal: str) -> dict[str, Any]:
    """Options by which the numbers of a column are written otherwise than the file's."""
    if summary.written is not None:
        return summary.written.options(decimal)
    return {"decimal": "."} if decimal != "." and summary.are_texts and summary.digits and not summary.whole else {}


def _written(name: str, options: dict[str, Any], summary: Summary) -> dict[str, Any]:
    """Options by which records are written as the table is: type, text of empty cells, digits."""
    attribute = attribute_of(name, options)
    of_texts = isinstance(attribute, Categorical) and all(isinstance(value, str) for value in attribute.values)
    wanted: dict[str, Any] = {}
    usual = type_name(arrow_schema(Domain([attribute])).field(0).type)
    if summary.kind is not None and summary.kind != usual:
        wanted["type"] = summary.kind
    if summary.has_empty and not summary.missing and of_texts:
        wanted["null"] = ""
    elif summary.missing_text in summary.missing and not summary.empty and not of_texts:
        wanted["null"] = summary.missing_text
    if summary.kind is None and summary.numeric and summary.written is None:
        digits = summary.digits if summary.whole else summary.least_digits
        wanted |= {"digits": digits} if digits or (digits == 0 and not summary.whole) else {}
    return {option: value for option, value in wanted.items() if _fits(attribute, Written(**{option: value}))}


def _fits(attribute: Attribute, written: Written) -> bool:
    try:
        check_written(attribute, written)
    except DomainError:
        return False
    return True


def _wrapped(comment: str, sign: str = "  #") -> list[str]:
    lines, line = [], sign
    for word in comment.split(" "):
        if len(line) + len(word) + 1 > 100 and line != sign:
            lines.append(line)
            line = sign
        line += f" {word}"
    return [*lines, line]


_ROWS = 20_000
"""Rows that are looked at."""
_FEWEST = 100
"""Fewer rows show no relation."""
_COLUMNS = 40
"""Columns of each kind that are compared."""
_BEFORE = 0.01
"""Share of the rows, at most, in which a date that follows another is before it."""
_OFTEN = 0.05
"""Share of the rows, at least, in which it is certainly behind it."""
_DAY = 86_400


def related(domain: Domain, codes: Sequence[Codes]) -> Iterator[str]:
    """Sentences about columns one of which tells another, and about dates that follow others.

    Args:
        domain: A drafted domain.
        codes: Codes of the first rows, one array for each attribute.

    Example:
        >>> domain = Domain([Categorical("code", ("A", "B", "C")), Categorical("region", ("north", "south"))])
        >>> list(related(domain, [np.array([0, 1, 2] * 50), np.array([0, 0, 1] * 50)]))
        ['"code" tells "region" in the first 150 rows. If it does by definition: {determines: [code, region],
         table: FILE}']
    """
    rows = min(len(codes[0]), _ROWS) if codes else 0
    if rows < _FEWEST:
        return
    columns = [(each, found[:rows].astype(np.int64)) for each, found in zip(domain, codes, strict=True)]
    listed = [(each, found) for each, found in columns if isinstance(each, Categorical)][:_COLUMNS]
    kinds = {each.name: len(np.unique(found)) for each, found in listed}
    for (finer, fine), (coarser, coarse) in permutations(listed, 2):
        smaller = (coarser.size, coarser.name) < (finer.size, finer.name)
        if not smaller or not 1 < kinds[coarser.name] <= kinds[finer.name]:
            continue
        if len(np.unique(fine * coarser.size + coarse)) == kinds[finer.name]:
            told = f'"{finer.name}" tells "{coarser.name}" in the first {rows:,} rows.'
            yield f"{told} If it does by definition: {{determines: [{finer.name}, {coarser.name}], table: FILE}}"
    dated = [
        (each, found)
        for each, found in columns
        if isinstance(each, Ordered) and isinstance(each.scale, Calendar | Moments)
    ][:_COLUMNS]
    for (earlier, before), (later, after) in permutations(dated, 2):
        held = (before < earlier.ordinary) & (after < later.ordinary)
        first, last = (ends[before[held]] for ends in _seconds(earlier))
        from_then, to_then = (ends[after[held]] for ends in _seconds(later))
        if held.sum() >= _FEWEST and (to_then < first).mean() <= _BEFORE and (from_then > last).mean() >= _OFTEN:
            days = int(np.ceil((to_then - first).max() / _DAY))
            told = f'"{later.name}" is hardly ever before "{earlier.name}". In place of it, to keep their distance:'
            yield f"{told} {{from: {earlier.name}, to: {later.name}, min: 0, max: {days}, unit: d}}"


def _seconds(attribute: Ordered) -> tuple[Floats, Floats]:
    """The first and the last second of each code, since 1970."""
    step = attribute.scale.seconds if isinstance(attribute.scale, Moments) else _DAY
    low, high = ends_of(attribute)
    return low * step, (high + 1.0) * step - 1.0
