"""The pages of the reference that are made when the site is built: command line, domain files, HTTP.

Each is written from what the programs themselves go by: the commands, the JSON schema of domain files, and the OpenAPI
description. Only examples of the keys of domain files stand here, and a test reads every one of them.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
COMMANDS_HEAD = """\
# Command line

Every command with its options, made from `hedgerow COMMAND --help`. [A first release](../first-release.md) shows them
at work, and the [guide](../guide/index.md) one task at a time.

"""
DOMAIN_HEAD = """\
# Domain files

The keys of a domain file, YAML or JSON, made from its [JSON schema](../schemas/domain.schema.json), which
`hedgerow domain --schema` prints. [Editors](../guide/drafts.md#in-an-editor) complete and check files by it.
[The guide](../guide/domain-file.md) says what the keys are for. `hedgerow domain --check FILE` says whether the parts
of a file fit together. A *value* is a text, a number, or true or false.

"""
HTTP_HEAD = """\
# HTTP

Every operation of [the server](../server.md), made from its [OpenAPI description](../schemas/openapi.json), which a
running server has at `/v1/openapi.json`, and as a page at `/v1/docs`. [Asking a server](../analyst.md) uses it step by
step; from Python there is a [client](client.md).

"""
FILE_EXAMPLES = {
    "attributes": "attributes: {age: {min: 0, max: 110}}",
    "format": "format: {separator: ';', decimal: ',', encoding: cp1252}\nattributes: {age: {min: 0, max: 110}}",
    "derived": "attributes: {age: {min: 0, max: 99}}\n"
    "derived:\n  adult: {cases: {yes: age >= 18, no: age < 18}, column: false}",
    "constraints": "attributes: {age: {min: 0, max: 99}, married: [yes, no]}\n"
    "constraints:\n  - impossible: age < 15 and married = 'yes'",
    "ignore": "attributes: {age: {min: 0, max: 110}}\nignore: [name, id]",
    "order": "attributes: {age: {min: 0, max: 110}, sex: [F, M]}\norder: [sex]",
    "target": "attributes: {age: {min: 0, max: 110}, ill: [yes, no]}\ntarget: ill",
    "draft": "attributes: {age: {min: 17, max: 90}}\ndraft: true",
    "trusted_types": "attributes: {age: {min: 17, max: 90}}\ntrusted_types: true",
    "known": "attributes: {sex: [F, M]}\nknown: [500, {columns: [sex], counts: [260, 240]}]",
}
"""A whole file for each key of a file."""
KEY_EXAMPLES = {
    "values": "sex: {values: [Female, Male]}",
    "min": "age: {min: 0, max: 110}",
    "max": "admitted: {min: 2015-01-01, max: 2024-12-31}",
    "bins": "cost: {min: 0, max: 99999, whole: true, bins: {log: 20}}",
    "edges": "income: {edges: [0, 10000, 25000, 100000]}",
    "points": "cost: {min: 0, max: 99999, whole: true, bins: 20, points: [0, 99999]}",
    "whole": "age: {min: 0, max: 110, bins: 11, whole: true}",
    "missing": "job: {values: [nurse, clerk], missing: N/A}",
    "other": "job: {values: [nurse, clerk], other: true}",
    "learnt": "job: {values: [nurse, clerk], other: true, learnt: true}",
    "levels": "age: {min: 0, max: 99, levels: [5, {stage: {child: [0..14], adult: [15..99]}}]}",
    "from": "stay: {from: admitted, to: discharged, min: 0, max: 90, unit: d}",
    "to": "stay: {from: admitted, to: discharged, min: 0, max: 90, unit: d, bins: {log: 8}}",
    "column": "stay: {from: admitted, to: discharged, min: 0, max: 90, unit: d, column: true}",
    "type": "age: {min: 0, max: 110, type: int16}",
    "null": "job: {values: [nurse, clerk], missing: unknown, null: ''}",
    "pattern": "price: {min: 0, max: 9999, step: 0.01, bins: 20, pattern: '$#,##0.00;($#,##0.00)'}",
    "decimal": "price: {min: 0, max: 9999, step: 0.01, bins: 20, decimal: ','}",
    "thousands": "price: {min: 0, max: 9999, bins: 20, whole: true, thousands: ' '}",
    "digits": "cost: {min: 0, max: 9999, whole: true, bins: 20, digits: 2}",
    "step": "temperature: {min: 35.0, max: 43.0, step: 0.1}",
    "format": "born: {min: 1900-01-01, max: 2024-12-31, format: '%d.%m.%Y'}",
    "unit": "wait: {min: PT0H, max: PT48H, step: 1h, unit: min}",
    "zone": "seen: {min: 2024-01-01T00:00, max: 2024-12-31T23:45, step: 15min, zone: Europe/Berlin}",
    "round": "seen: {min: 2024-01-01T00:00, max: 2024-12-31T23:45, step: 15min, round: true}",
    "trim": "sex: {values: [female, male], trim: true}",
    "case": "sex: {values: [female, male], case: fold}",
    "unicode": "town: {values: [Zürich, Genève], unicode: NFC}",
    "synonyms": "sex: {values: [female, male], synonyms: {f: female, m: male}}",
}
"""An attribute for each key of an attribute."""
VALUE = ["string", "number", "boolean"]
"""Types that a value of a cell may have."""
WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "value": "value",
}
"""Types of JSON values in words."""
NAMES_OF_TYPES = {
    "<int range>": "N",
    "<float range>": "NUMBER",
    "<float>": "NUMBER",
    "<int>": "N",
    "<str>": "TEXT",
    "<list[str]>": "...",
    "<bool>": "",
    "<path>": "PATH",
}
"""Values of options without a name of their own, as the help has them and as the page does."""
NOTES = re.compile(r"(.*?)\s*(?:\[((?:env var: |default: |required|\S*x[<>]=).*)\])?", flags=re.DOTALL)
"""A help text, and what stands in brackets at its end: variable, default and bounds of an option."""
QUOTES = "`'"
LINKED = ("attribute", "levels", "derived", "constraint", "table")
"""Parts of the schema of domain files that have a heading of their own."""


def pages() -> Iterator[tuple[str, str]]:
    """The pages, and the JSON of two descriptions (domain files, OpenAPI), by their places in the site."""
    from hedgerow.domain import domain_schema

    yield "reference/cli.md", command_line()
    yield "reference/domain-file.md", domain_file()
    yield "schemas/domain.schema.json", json.dumps(domain_schema(), indent=1)
    described = openapi()
    yield "reference/http.md", http(described)
    yield "schemas/openapi.json", json.dumps(described, indent=1)


# What all of them are made of


def plain(text: str) -> str:
    r"""A text as Markdown that shows it as it is, with options, patterns and quoted words as code.

    Example:
        >>> print(plain("Write *this* with --output, or 'data/*.csv'."))
        Write \*this\* with `--output`, or `data/*.csv`.
    """
    code = r"(--[a-z][\w-]*|`[^`]+`|(?<!\w)'[^']*[^'\s]'(?!\w))"
    return "".join(
        f"`{part.strip(QUOTES)}`" if place % 2 else re.sub(r"([\\*_>\[\]#{}])", r"\\\1", part.replace("<", "&lt;"))
        for place, part in enumerate(re.split(code, " ".join(text.split())))
    )


def listed(entries: Iterable[tuple[str, str]]) -> str:
    """Terms with what they mean, each of which has a meaning."""
    return "".join(f"{term}\n:   {meaning}\n\n" for term, meaning in entries)


def items(entries: Iterable[tuple[str, str]]) -> str:
    """Lines of a list: terms, and what they mean where more is to be said."""
    return "".join(f"- {term}{': ' * bool(meaning)}{meaning}\n" for term, meaning in entries) + "\n"


def kind(schema: Schema, link: str = "") -> str:
    """Form of a value in words; parts that are described elsewhere by their names, behind a link to them.

    Example:
        >>> kind({"type": ["number", "string"]}), kind({"type": "array", "items": {"$ref": "#/x/Cell"}}, "#cell-")
        ('number or text', 'list of [Cell](#cell-cell)')
        >>> kind({"anyOf": [{"enum": ["week", "year"]}, {"type": "object", "properties": {"log": {}, "base": {}}}]})
        '`week` or `year` or mapping with `log`, `base`'
    """
    return " or ".join(dict.fromkeys(_kinds(schema, link))) or "any value"


def _kinds(schema: Schema, link: str) -> Iterator[str]:
    for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _kinds(each, link)
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        yield f"[{name}]({link}{name.lower()})"
    elif words := schema.get("enum", [schema["const"]] if "const" in schema else []):
        *most, last = (f"`{word}`" for word in words)
        yield f"{', '.join(most)} or {last}" if most else last
    elif "anyOf" not in schema and "oneOf" not in schema:
        types = schema.get("type", [])
        words = ["value"] if types == VALUE else [types] if isinstance(types, str) else types
        yield from (_kind(each, schema, link) for each in words)


def _kind(name: str, schema: Schema, link: str) -> str:
    if name == "array":
        held = kind(schema.get("items", {}), link)
        many = held if set(held) & set("`[") else re.sub(r"(text|number|value)", r"\1s", held)
        return f"list of {many}"
    if name == "object":
        keys, values = schema.get("properties"), schema.get("additionalProperties")
        named = f" with {', '.join(f'`{key}`' for key in keys)}" if keys else ""
        return "mapping" + (named or (f" to {kind(values, link)}" if values and isinstance(values, Mapping) else ""))
    return WORDS[name]


# The command line


def command_line() -> str:
    """All commands: arguments and options by the headings of the help."""
    import typer.main

    from hedgerow.cli.app import app

    return COMMANDS_HEAD + "".join(_commands(typer.main.get_command(app), "hedgerow"))


def _commands(command: Any, name: str) -> Iterator[str]:
    yield _command(command, name)
    for word, each in getattr(command, "commands", {}).items():
        yield from _commands(each, f"{name} {word}")


def _command(command: Any, name: str) -> str:
    context = command.context_class(command, info_name=name)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    told = inspect.getdoc(command.callback) if command.callback else command.help
    panels = (
        f"**{panel}**\n\n{listed(_option(each, context) for each in parameters)}"
        for panel, parameters in _panels(command.params).items()
    )
    paragraphs = "\n\n".join(_paragraph(each) for each in (told or "").split("\n\n"))
    return f"## {name}\n\n    {usage}\n\n{paragraphs}\n\n{''.join(panels)}"


def _paragraph(text: str) -> str:
    """A paragraph of a help text; examples are left as they are."""
    if not text.startswith("Example"):
        return plain(text)
    lines = "\n".join(line.removeprefix("  ") for line in text.splitlines()[1:])
    return f"```text\n{lines}\n```"


def _panels(parameters: Sequence[Any]) -> dict[str, list[Any]]:
    """Arguments, options without a heading, and the others by the headings that the help shows them under."""
    found: dict[str, list[Any]] = {"Arguments": [], "Options": []}
    for each in parameters:
        usual = "Arguments" if each.param_type_name == "argument" else "Options"
        found.setdefault(each.rich_help_panel or usual, []).append(each)
    return {panel: each for panel, each in found.items() if each}


def _option(option: Any, context: Any) -> tuple[str, str]:
    term, meaning = option.get_help_record(context)
    text, notes = NOTES.fullmatch(meaning).groups()  # type: ignore[union-attr] # it matches every text
    said = "; ".join(
        re.sub(r"^(.*)<=x<=", r"from \1 to ", re.sub(r"^x>=", "from ", note)) for note in (notes or "").split("; ")
    )
    for long, short in NAMES_OF_TYPES.items():
        term = term.replace(long, short)
    return f"`{term}`", plain(text) + (f" *{plain(said)}*" if said else "")


# Domain files


def domain_file() -> str:
    """The keys of a file, of an attribute, of levels, derived columns and rules."""
    from hedgerow.domain import domain_schema

    schema = domain_schema()
    parts = schema["definitions"]
    attribute = parts["attribute"]["anyOf"]
    shared = parts["options"]["properties"]
    derived = {key: each for key, each in parts["derived"]["properties"].items() if each != shared.get(key)}
    rules = {key: each for rule in parts["constraint"]["oneOf"] for key, each in rule["properties"].items()}
    return DOMAIN_HEAD + "".join(
        (
            "## The file\n\nA file without `attributes` is a mapping of attributes and nothing else.\n\n",
            _keys(schema["then"]["properties"], parts, FILE_EXAMPLES),
            "## Attribute\n\nIn short one of\n\n",
            listed((kind(each), plain(each["description"])) for each in attribute if "description" in each),
            "else a mapping that has `values`, or `min` and `max`, or `edges`, with any of\n\n",
            _keys(shared, parts, KEY_EXAMPLES),
            "## Levels\n\nCoarser forms of a column: a width or a list of widths, parts of dates or times (`hour` to ",
            "`year`, and `part` of a day), names with what they stand for, or `none`. A name stands for\n\n",
            listed((kind(each, "#"), plain(each["description"])) for each in parts["level"]["anyOf"]),
            "## Derived\n\nThe keys of an attribute but `levels` and `to`, and\n\n",
            _keys(derived, parts, {}),
            "## Constraint\n\n`impossible`, or `if` and `then`, or `determines` and `table`; and what it `says`:\n\n",
            _keys(rules, parts, {}),
            f"## Table\n\n{plain(parts['table']['description'])}\n",
        )
    )


def _keys(keys: Schema, parts: Schema, examples: Mapping[str, str]) -> str:
    return listed(
        (f"`{key}` ({_form(each, parts)})", _meaning(each, parts) + _example(examples.get(key)))
        for key, each in keys.items()
    )


def _form(schema: Schema, parts: Schema) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return kind(schema if name in ("", *LINKED) else parts[name], "#")


def _meaning(schema: Schema, parts: Schema) -> str:
    found = schema if "$ref" not in schema else parts[str(schema["$ref"]).rpartition("/")[2]]
    return plain(found.get("description", ""))


def _example(text: str | None) -> str:
    lines = "".join(f"\n    {line}" for line in ("```yaml", *(text or "").splitlines(), "```"))
    return "" if text is None else f"\n{lines}"


# HTTP


def openapi() -> dict[str, Any]:
    """The description of the server's interface, without a server."""
    from hedgerow.service.http import description

    return description()


def http(described: Schema) -> str:
    """All operations, and then the bodies and answers that they name."""
    operations = (
        _operation(method, path, each) for path, item in described["paths"].items() for method, each in item.items()
    )
    models = (_model(name, each) for name, each in sorted(described["components"]["schemas"].items()))
    told = "\n\n".join(plain(each) for each in described["info"]["description"].split("\n\n"))
    bodies = "## Bodies and answers\n\nThe JSON objects that operations take and give.\n\n"
    return f"{HTTP_HEAD}{told}\n\n## Operations\n\n{''.join(operations)}{bodies}{''.join(models)}"


def _operation(method: str, path: str, operation: Schema) -> str:
    sent = operation.get("requestBody", {}).get("content", {})
    given = {status: each for status, each in operation["responses"].items() if status < "300"}
    refused = [
        f"{status} `{code}`"
        for status, each in sorted(operation["responses"].items())
        for content in each.get("content", {}).values()
        for code in content.get("examples", {})
        if status >= "400"
    ]
    lines = [
        *(
            (f"Parameter `{each['name']}`", f"in the {each['in']}. {plain(each['description'])}")
            for each in operation.get("parameters", ())
        ),
        *(("Body", _content(content)) for content in [sent] if content),
        *(
            (f"Answer {status}", _content(each.get("content", {})) or "without a body")
            for status, each in given.items()
        ),
        ("Problems", ", ".join(refused)),
    ]
    told = "\n\n".join(plain(each) for each in operation["description"].split("\n\n"))
    token = "" if "security" in operation else "\n\nNeeds no token."
    return f"### {method.upper()} {plain(path)} {{ #{operation['operationId']} }}\n\n{told}{token}\n\n{items(lines)}"


def _content(content: Schema) -> str:
    return " or ".join(
        kind(each["schema"], "#body-") if "$ref" in each.get("schema", {}) else f"`{media}`"
        for media, each in content.items()
    )


def _model(name: str, model: Schema) -> str:
    required = model.get("required", ())
    fields = items(
        (
            f"`{key}` ({kind(each, '#body-')}{'' if key in required else ', may be left out'})",
            plain(each.get("description", "")),
        )
        for key, each in model.get("properties", {}).items()
    )
    samples = "".join(f"```json\n{json.dumps(each, indent=2)}\n```\n\n" for each in model.get("examples", ())[:1])
    return f"### {name} {{ #body-{name.lower()} }}\n\n{plain(model.get('description', ''))}\n\n{fields}{samples}"
