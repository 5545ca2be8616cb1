"""Domain files: YAML (so JSON too), one entry per attribute.

Three forms are read::

    {"sex": ["Female", "Male"], "age": {"min": 17, "max": 90}}        # lists of values, ranges
    {"attributes": {"hours": {"edges": [0, 20, 40, 100], "other": true}}}   # the form that is written
    {"sex": 2, "age": 74}                                             # numbers of codes

An entry with options holds one of ``values``; ``min`` and ``max``; ``min``, ``max`` and ``bins``; ``edges``. To these
come ``whole`` (numbers of a binned column are whole), ``missing`` and ``other`` (``true``, or the text of that value).

A word without quotes is text, save ``true`` and ``false`` and plain decimal numbers: ``no``, ``yes``, ``on``, ``007``,
``1_000``, ``12:30`` and ``2020-01-31`` are texts, as they are in the data.
"""

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import yaml

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, attribute_error
from hedgerow.domain.domain import Domain
from hedgerow.errors import DomainError
from hedgerow.system import replacing

MISSING_TEXT = "?"
"""Text of the missing value where a file says ``missing: true``."""

OTHER_TEXT = "other"
"""Text of the other value where a file says ``other: true``."""

_OPTIONS = ("values", "min", "max", "bins", "edges", "whole", "missing", "other")
_FORMS = ({"values"}, {"min", "max"}, {"min", "max", "bins"}, {"edges"})
_REMEDY = "give 'values', or 'min' and 'max', or 'min', 'max' and 'bins', or 'edges'"


def read_domain(path: str | os.PathLike[str]) -> Domain:
    """Read a domain file.

    Args:
        path: The file: YAML or JSON, in UTF-8.

    Raises:
        DomainError: The file is missing, is not well-formed, declares something twice, or an attribute is wrong.
            The message names the file and the attribute.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "d.yaml")
        ...     _ = file.write_text("smokes: [no, yes]")
        ...     read_domain(file)["smokes"].labels
        ('no', 'yes')
    """
    try:
        return domain_from_mapping(_parsed(Path(path)))
    except DomainError as error:
        raise DomainError(f"domain file {os.fspath(path)}: {error.message}", remedy=error.remedy) from error


def domain_from_mapping(mapping: Mapping[str, Any]) -> Domain:
    """Build a domain from the content of a domain file.

    Args:
        mapping: One of the three forms that the module describes.

    Raises:
        DomainError: The mapping fits none of them, or an attribute is wrong.

    Example:
        >>> domain_from_mapping({"age": {"min": 0, "max": 99, "bins": 10}, "sex": 2}).shape
        (10, 2)
    """
    if not isinstance(mapping, Mapping):
        raise DomainError("it does not map attributes to their values", remedy="write 'name: [value, ...]' per column")
    entries: Mapping[str, Any] = mapping
    nested = mapping.get("attributes")
    if isinstance(nested, Mapping) and not _are_options(nested):
        entries = nested
        if len(mapping) > 1:
            extra = next(str(key) for key in mapping if key != "attributes")
            raise DomainError(
                f"{extra!r} is given beside 'attributes'", remedy="move it into 'attributes' or delete it"
            )
    return Domain(_attribute(str(name), entry) for name, entry in entries.items())


def domain_to_mapping(domain: Domain) -> dict[str, Any]:
    """The content of a domain file, of numbers, texts and booleans only; ``domain_from_mapping`` reads it back.

    Example:
        >>> domain_to_mapping(Domain([IntegerRange("age", 0, 99, missing="?")]))
        {'attributes': {'age': {'min': 0, 'max': 99, 'missing': '?'}}}
    """
    return {"attributes": {attribute.name: _entry(attribute) for attribute in domain}}


def write_domain(domain: Domain, path: str | os.PathLike[str]) -> None:
    """Write a domain file; a file that is there is replaced in one step.

    Args:
        domain: The domain to write.
        path: The file; its ending, ``.json``, ``.yaml`` or ``.yml``, decides the format.

    Raises:
        DomainError: The file has another ending.

    Example:
        >>> import tempfile
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


def yaml_text(content: Mapping[str, Any]) -> str:
    """YAML of a mapping, its texts quoted, so that every YAML reader takes them for texts.

    Example:
        >>> print(yaml_text({"smokes": ["no", "yes"]}), end="")
        "smokes":
        - "no"
        - "yes"
    """
    return yaml.dump(content, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=110)


def _parsed(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DomainError(f"it cannot be read ({error.strerror})", remedy="check the path") from error
    except UnicodeDecodeError as error:
        raise DomainError("it is not UTF-8 text", remedy="save it as UTF-8") from error
    try:
        if path.suffix.lower() == ".json":
            return json.loads(text, object_pairs_hook=_without_repetition)
        return yaml.load(text, Loader=_Loader)
    except json.JSONDecodeError as error:
        raise DomainError(f"line {error.lineno} is not JSON ({error.msg})", remedy="correct that line") from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "it"
        raise DomainError(
            f"{line} is not YAML ({error.problem})", remedy="correct that line; quote odd texts"
        ) from error
    except yaml.YAMLError as error:
        raise DomainError("it is not YAML", remedy="save it as plain UTF-8 text") from error


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DomainError(f"{key!r} is given twice", remedy="declare each column and each option once")
        found[key] = value
    return found


def _attribute(name: str, entry: object) -> Attribute:
    if isinstance(entry, list | tuple):
        return _from_options(name, {"values": entry})
    if isinstance(entry, int) and not isinstance(entry, bool):
        if entry < 2:
            raise DomainError(
                f"attribute {name!r} has {entry} value{'s' if entry != 1 else ''}; at least 2 are needed",
                remedy="leave the column out, or count all values it could take",
            )
        return IntegerRange(name, 0, entry - 1)
    if isinstance(entry, Mapping):
        return _from_options(name, entry)
    raise DomainError(f"attribute {name!r}: {entry!r} is neither a list of values nor options", remedy=_REMEDY)


def _from_options(name: str, options: Mapping[str, Any]) -> Attribute:
    _check_options(name, options)
    missing = _declared(name, "missing", options.get("missing"), MISSING_TEXT)
    other = _declared(name, "other", options.get("other"), OTHER_TEXT)
    if "values" in options:
        return Categorical(name, _values(name, options["values"]), missing=missing, other=other)
    whole = bool(options.get("whole", False))
    if "edges" in options:
        edges = options["edges"]
        if not isinstance(edges, list | tuple):
            raise attribute_error(name, "'edges' is not a list", "write 'edges: [0, 10, 20]'")
        return Binned(name, (_number(name, edge) for edge in edges), whole=whole, missing=missing, other=other)
    low, high = _number(name, options["min"]), _number(name, options["max"])
    if "bins" not in options:
        return IntegerRange(name, low, high, missing=missing, other=other)  # type: ignore[arg-type] # it checks
    bins = options["bins"]
    if isinstance(bins, bool) or not isinstance(bins, int):
        raise attribute_error(name, "'bins' is not a whole number", "give the number of bins")
    return Binned.equal_width(name, low, high, bins, whole=whole, missing=missing, other=other)


def _are_options(entry: Mapping[str, Any]) -> bool:
    """Whether a mapping describes one attribute, and not attributes that happen to be called like options."""
    described = any(isinstance(value, Mapping) for value in entry.values())
    return not described and set(entry) <= set(_OPTIONS) and _form(entry) in _FORMS


def _form(options: Mapping[str, Any]) -> set[str]:
    return set(options) - {"whole", "missing", "other"}


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    for option in options:
        if option not in _OPTIONS:
            near = difflib.get_close_matches(str(option), _OPTIONS, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise DomainError(
                f"attribute {name!r} has an unknown option {option!r}", remedy=f"{hint}options: {', '.join(_OPTIONS)}"
            )
    form = _form(options)
    if form not in _FORMS:
        found = ", ".join(sorted(form)) or "none of them"
        raise DomainError(f"attribute {name!r} is not fully described (found: {found})", remedy=_REMEDY)
    whole = options.get("whole", False)
    if not isinstance(whole, bool):
        raise attribute_error(name, "'whole' is neither true nor false", "write 'whole: true'")
    if whole and "values" in options:
        raise attribute_error(name, "'whole' has no meaning for listed values", "delete it")


def _declared(name: str, option: str, given: object, default: str) -> str | None:
    if given is None or given is False:
        return None
    if given is True:
        return default
    if isinstance(given, str | int | float):
        return str(given)
    raise attribute_error(name, f"{option!r} is neither true nor a text", f"write '{option}: true' or its text")


def _values(name: str, values: object) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise attribute_error(name, "'values' is not a list", "write 'values: [a, b]'")
    if any(value is None for value in values):
        raise DomainError(
            f"attribute {name!r} lists an empty value",
            remedy="for empty cells declare 'missing: true'; for the text null write \"null\" in quotes",
        )
    return list(values)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise attribute_error(name, f"{value!r} is not a number", "write numbers without quotes")
    return value


def _entry(attribute: Attribute) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if isinstance(attribute, Categorical):
        entry["values"] = list(attribute.values)
    elif isinstance(attribute, IntegerRange):
        entry |= {"min": attribute.minimum, "max": attribute.maximum}
    elif isinstance(attribute, Binned):
        entry["edges"] = [int(edge) if edge.is_integer() else edge for edge in attribute.edges]
        if attribute.whole:
            entry["whole"] = True
    declared = {"missing": attribute.missing, "other": attribute.other}
    return entry | {option: text for option, text in declared.items() if text is not None}


@final
class _Dumper(yaml.SafeDumper):
    """Writes every text in double quotes."""


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@final
class _Loader(yaml.SafeLoader):
    """Reads plain words as texts, and refuses keys that are there twice."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own table, emptied: see below


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any] | str:
    """Keys as their plain text: an attribute may be called ``2020`` or ``true``."""
    pairs = [
        (key.value if isinstance(key, yaml.ScalarNode) else str(loader.construct_object(key)), value)
        for key, value in node.value
    ]
    if len(pairs) == 1 and pairs[0][0] == "" and pairs[0][1].value == "":
        return "?"  # YAML's sign for a key, when it stands alone: the usual text of a missing value
    return _without_repetition([(key, loader.construct_object(value, deep=True)) for key, value in pairs])


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
# YAML 1.1 reads no, on, 007, 1_000, 12:30 and 2020-01-31 as booleans, octal and other numbers and dates.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^(?:null|~|)$"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
