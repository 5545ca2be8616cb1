"""Options of domain files, each with its JSON schema (draft 7) and its meaning: what the parser knows, and editors."""

from copy import deepcopy
from typing import Any

from hedgerow.domain.clocks import LENGTHS
from hedgerow.domain.layout import QUOTING
from hedgerow.domain.levels import CALENDAR
from hedgerow.domain.scales import TICKS
from hedgerow.domain.spelling import FORMS

MOST_VALUES = 100_000
"""Most values of an attribute that are learnt."""
MOST_LEARNT = 1024
"""Most bins of an attribute that are learnt."""

Schema = dict[str, Any]


def listed(items: Schema, least: int = 0) -> Schema:
    """The schema of a list of at least so many items.

    Example:
        >>> listed({"type": "string"}, 2)
        {'type': 'array', 'items': {'type': 'string'}, 'minItems': 2}
    """
    return {"type": "array", "items": items} | ({"minItems": least} if least else {})


def mapped(values: Schema, least: int = 0) -> Schema:
    """The schema of a mapping of any names, of at least so many.

    Example:
        >>> mapped({"type": "string"})
        {'type': 'object', 'additionalProperties': {'type': 'string'}}
    """
    return {"type": "object"} | ({"minProperties": least} if least else {}) | {"additionalProperties": values}


def keyed(properties: Schema, required: tuple[str, ...] = (), **more: Any) -> Schema:
    """The schema of a mapping of given names, and no others.

    Example:
        >>> keyed({"if": {}, "then": {}}, ("if",))["additionalProperties"]
        False
    """
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False, **more}


def whole(least: int, **more: Any) -> Schema:
    """The schema of a whole number from one on.

    Example:
        >>> whole(1, maximum=9)
        {'type': 'integer', 'minimum': 1, 'maximum': 9}
    """
    return {"type": "integer", "minimum": least, **more}


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
OR_NONE: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": ["number", "string"]}
"""A number, a date, a time or a duration."""
VALUE: Schema = {"type": ["string", "number", "boolean"]}


def said(description: str, schema: Schema) -> Schema:
    """A schema with what it means.

    Example:
        >>> said("A condition.", {"type": "string"})
        {'description': 'A condition.', 'type': 'string'}
    """
    return {"description": description, **schema}


_LENGTHS = said(
    "Lengths of beginnings by which rare values of the list are put together, longest first.",
    {"anyOf": [whole(1), listed(whole(1))]},
)
_LEARNT_VALUES = keyed(
    {
        "learn": said("Values that are learnt, at most.", whole(1, maximum=MOST_VALUES)),
        "of": said("A public list; its frequent values are kept.", listed(VALUE, 1)),
        "prefix": _LENGTHS,
    },
    ("learn",),
    dependencies={"prefix": ["of"]},
)
_BINS = [
    whole(1),
    {"enum": list(CALENDAR)},
    keyed({"log": whole(1)}, ("log",)),
    keyed({"learn": whole(2, maximum=MOST_LEARNT)}, ("learn",)),
]

FORM: Schema = {
    "values": said(
        "Every value that a cell could hold, in this order; or values that are learnt under the budget.",
        {"anyOf": [listed(VALUE, 1), _LEARNT_VALUES]},
    ),
    "min": said(
        "Smallest number, date, time or duration that could occur: 0, 35.5, 2015-01-01, 2024-01-01T00:00, 08:00, PT0H, "
        "2020-W05, 2020-02, 2020-Q1.",
        NUMBER,
    ),
    "max": said("The largest that could occur, written like 'min'.", NUMBER),
    "bins": said(
        "Bins between 'min' and 'max': a number of equal ones, {log: 20} that widen, a unit of dates, or {learn: 20} "
        "of about equally many records.",
        {"anyOf": _BINS},
    ),
    "edges": said(
        "Edges of bins; the last one belongs to the last bin, and one that is there twice makes a bin of itself.",
        listed(NUMBER, 2),
    ),
    "points": said("Values that have bins of their own.", listed(NUMBER)),
}
"""Options that say what an attribute is."""

COMMON: Schema = {
    "whole": said("Whether the numbers of bins are whole.", FLAG),
    "missing": said(
        "Whether a cell may be empty, or the text of an empty one, or a list of texts and numbers that are.",
        {"anyOf": [VALUE, listed(VALUE, 1)]},
    ),
    "other": said("Whether values that are not listed are taken as one, or the text of that one.", VALUE),
    "learnt": said("Whether bins or values were learnt; written by releases.", FLAG),
}
"""Options of any form."""

SPAN: Schema = {
    "from": said("The earlier of two columns that a duration lies between.", TEXT),
    "to": said("The later column, which is the sum of the earlier one and the duration.", TEXT),
    "column": said("Whether the data have the duration as a column too.", FLAG),
}
"""Options of a duration between two columns."""

WRITTEN: Schema = {
    "type": said(
        "Name of the Arrow type that records are written in: int8, float, bool, date32, timestamp[ns], "
        "decimal128(9, 2), dictionary, ...",
        TEXT,
    ),
    "null": said("Text of empty cells in text files.", TEXT),
    "digits": said("Digits after the point in text files, more where a step needs them.", whole(0)),
    "decimal": said("The mark before the fraction of its numbers, where it is not that of the file.", TEXT),
    "thousands": said("The mark between groups of three digits, likewise.", TEXT),
    "pattern": said(
        'Pattern of numbers in text files, as in spreadsheets: "$#,##0.00", "#,##0.00;(#,##0.00)", "# cm".', TEXT
    ),
}
"""Options about how a column is written."""

FILE: Schema = {
    "separator": said("The character between two fields; by default that of the file's ending.", TEXT),
    "quote": said("The character around a field that holds separators; null where there is none.", OR_NONE),
    "quoting": said(
        "Fields that records are written with quotes around: those that need them, all but numbers, or all.",
        {"type": "string", "enum": [*QUOTING]},
    ),
    "decimal": said(
        "The mark before the fraction of a number: a point or a comma.", {"type": "string", "enum": [".", ","]}
    ),
    "thousands": said("The mark between groups of three digits.", OR_NONE),
    "encoding": said("The encoding: utf-8, cp1252, utf-16, ...", TEXT),
    "skip": said("Lines before the header.", whole(0)),
    "header": said("Whether a line names the columns; if not, they are c1, c2, ...", FLAG),
    "comment": said("Lines that begin with this text are left out.", OR_NONE),
    "footer": said("Last lines that are no records.", whole(0)),
    "sheet": said("Name of the sheet of a workbook; by default the first.", OR_NONE),
}
"""Options of the format of a text file."""

SCALE: Schema = {
    "step": said("Step of decimals (0.1), or of times and durations (15min, 1h, 30s).", NUMBER),
    "format": said("Form of dates, times and durations in the data, as %d.%m.%Y.", TEXT),
    "unit": said(
        "Unit of durations that are written as numbers, or of times that are counted from 1970 (s, ms, us, ns).",
        {"enum": list(dict.fromkeys([*LENGTHS, *TICKS]))},
    ),
    "zone": said("Time zone of times with an offset, as Europe/Berlin.", TEXT),
    "round": said("Whether a value between two steps is read as a step.", FLAG),
}
"""Options about the scale of a column."""

SPELLING: Schema = {
    "trim": said("Whether blanks around a text are left out.", FLAG),
    "case": said("'fold' takes capital and small letters as the same.", {"enum": ["fold"]}),
    "unicode": said("Normal form that texts are brought to.", {"enum": list(FORMS)}),
    "synonyms": said("Further texts of values.", mapped(VALUE)),
}
"""Options about how listed values are read."""

_LEVELS: Schema = {"levels": {"$ref": "#/definitions/levels"}}
OPTIONS: Schema = FORM | COMMON | _LEVELS | SPAN | WRITTEN | SCALE | SPELLING
"""All options of an attribute."""
_PLACED = ("levels", *SPAN)
_OF_DERIVED = {name: schema for name, schema in OPTIONS.items() if name not in _PLACED}
_TABLE: Schema = {"$ref": "#/definitions/table"}
_SAYS: Schema = {"$ref": "#/definitions/says"}

DERIVED: Schema = {
    "from": said("The columns that determine it.", {"anyOf": [TEXT, listed(TEXT, 1)]}),
    "table": _TABLE,
    "cases": said("A condition for each value; the first one that is true holds.", mapped(TEXT, 1)),
    "column": said("Whether it is a column of the data.", FLAG),
}
"""Options of a derived attribute beside those of any."""

BESIDE: Schema = {
    "format": said("How the text file is written.", keyed(FILE)),
    "derived": said("Functions of columns.", mapped({"$ref": "#/definitions/derived"})),
    "constraints": said("Rules that no record breaks.", listed({"$ref": "#/definitions/constraint"})),
    "known": said(
        "Public counts that releases keep.",
        listed(
            {
                "anyOf": [
                    said("The number of records.", whole(1)),
                    said("A CSV file beside this one, of columns or levels, and 'count'.", TEXT),
                    keyed({"columns": listed(TEXT, 1), "counts": listed(whole(0), 1)}, ("columns", "counts")),
                ]
            }
        ),
    ),
    "ignore": said("Columns that stay out.", listed({"type": ["string", "number"]})),
    "order": said("Order of columns in records; others follow.", listed(TEXT)),
    "target": said("Column that models will predict from the others: runs ask for the tables that they need.", TEXT),
    "trusted_types": said(
        "Whether types of a file or a data frame, which its cells may have decided, were taken for public.", FLAG
    ),
    "draft": said("Whether this was read off data: refused until the line is deleted.", FLAG),
}
"""Sections beside the attributes."""

_UNITS = [*(unit for unit in CALENDAR if unit != "part"), "part"]
_LEVELS_OF = {"anyOf": [whole(1), {"enum": _UNITS}, mapped({"$ref": "#/definitions/level"}, 1)]}


def _without(*names: str) -> Schema:
    return {"not": {"anyOf": [{"required": [name]} for name in names]}}


_RANGED = ("min", "max", "bins", "points")
_DEFINITIONS: Schema = {
    "attribute": {
        "anyOf": [
            said("Every value that a cell could hold.", listed(VALUE, 1)),
            said("Number of codes from 0 on.", whole(2)),
            {"$ref": "#/definitions/options"},
        ]
    },
    "options": keyed(
        OPTIONS,
        oneOf=[
            {"required": ["values"], **_without(*_RANGED, "edges")},
            {"required": ["min", "max"], **_without("values", "edges")},
            {"required": ["edges"], **_without("values", *_RANGED)},
        ],
        dependencies={"points": ["bins"], "from": ["to"], "to": ["from"], "column": ["from"]},
    ),
    "levels": said(
        "Coarser forms of the column, finest first.", {"anyOf": [{"const": "none"}, _LEVELS_OF, listed(_LEVELS_OF, 1)]}
    ),
    "level": {
        "anyOf": [
            said("First characters of listed values; more lengths make more levels.", listed(whole(1))),
            said("A CSV file beside this one, with a value and its parents in each row.", TEXT),
            said("Bins of whole numbers or of finer bins.", keyed({"edges": listed(NUMBER, 2)}, ("edges",))),
            said(
                "Groups of values; runs of whole numbers in short, as 0..14.",
                mapped({"anyOf": [listed(VALUE), VALUE]}, 1),
            ),
        ]
    },
    "table": said(
        "Which values go together: a CSV file beside this one, a mapping, or rows.",
        {"anyOf": [said("A CSV file beside this one.", TEXT), mapped(VALUE), listed(listed(VALUE, 2))]},
    ),
    "derived": keyed(_OF_DERIVED | DERIVED, oneOf=[{"required": ["table", "from"]}, {"required": ["cases"]}]),
    "constraint": {
        "oneOf": [
            keyed({"impossible": said("A condition that no record meets.", TEXT), "says": _SAYS}, ("impossible",)),
            keyed(
                {
                    "if": said("A condition.", TEXT),
                    "then": said("A condition that is true of every record that meets the one after 'if'.", TEXT),
                    "says": _SAYS,
                },
                ("if", "then"),
            ),
            keyed(
                {
                    "determines": said("Columns, the one that the others determine last.", listed(TEXT, 2)),
                    "table": _TABLE,
                    "says": _SAYS,
                },
                ("determines", "table"),
            ),
        ]
    },
    "says": said("Text of the rule in errors.", TEXT),
}


def domain_schema() -> dict[str, Any]:
    """The JSON schema of domain files (draft 7), for editors, which complete and check such files as they are written.

    It says what an entry may look like. Whether the parts fit together (names of columns in conditions, edges in order)
    is for ``read_domain`` to say.

    Example:
        >>> domain_schema()["title"]
        'Domain file of Hedgerow'
    """
    attributes = mapped({"$ref": "#/definitions/attribute"}, 1)
    sections = {"attributes": said("The columns that are released.", attributes), **BESIDE}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Domain file of Hedgerow",
        "description": "The columns of a table and the values that each could hold: public knowledge, never read off "
        "the data.",
        "type": "object",
        "if": {"properties": {"attributes": {"type": "object"}}, "required": ["attributes"]},
        "then": {"properties": sections, "additionalProperties": False},
        "else": {name: part for name, part in attributes.items() if name != "type"},
        "definitions": _DEFINITIONS,
    }
    return deepcopy(schema)
