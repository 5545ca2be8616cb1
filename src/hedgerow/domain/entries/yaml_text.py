"""Domain files as text: YAML of plain words, and JSON."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from hedgerow.errors import DomainError

_DEEPEST = 50
"""Levels that a text may be nested in; a domain file has some six."""
_TRUTH = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
_WHOLE = re.compile("^[-+]?(?:0|[1-9][0-9]*)$")
_DECIMAL = re.compile(r"^[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$")


def plain_value(text: str) -> str | int | float | bool:
    """The value of a word without quotes: a plain decimal number, true or false, or else the text.

    Example:
        >>> [plain_value(text) for text in ("17", "2872.7", "007", "no", "true")]
        [17, 2872.7, '007', 'no', True]
    """
    if _TRUTH.match(text):
        return text.lower() == "true"
    return int(text) if _WHOLE.match(text) else float(text) if _DECIMAL.match(text) else text


def yaml_text(content: Mapping[str, Any]) -> str:
    """YAML of a mapping, its texts quoted, so that every YAML reader takes them for texts.

    Example:
        >>> print(yaml_text({"smokes": ["no", "yes"]}), end="")
        "smokes":
        - "no"
        - "yes"
    """
    return yaml.dump(content, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=110)


def parsed(path: Path) -> Any:
    """The content of a YAML or JSON file, in UTF-8.

    Raises:
        DomainError: It cannot be read, is not well-formed, or says something twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DomainError(f"it cannot be read ({error.strerror})", remedy="check the path") from error
    except UnicodeDecodeError as error:
        raise DomainError("it is not UTF-8 text", remedy="save it as UTF-8") from error
    return _loaded(text, json_alone=path.suffix.lower() == ".json")


def parsed_text(text: str) -> Any:
    """The content of a domain file that somebody sends as text, YAML or JSON.

    Raises:
        DomainError: It is not well-formed, says something twice, is nested too deeply, or has an alias: a few of these
            stand for a text of any length.

    Example:
        >>> parsed_text("sex: [F, M]") == parsed_text('{"sex": ["F", "M"]}')
        True
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except DomainError:
        raise
    except (ValueError, RecursionError):  # told better below
        return _loaded(text, json_alone=False, loader=_LoaderOfSent)


def _too_deep() -> DomainError:
    return DomainError("it is nested too deeply", remedy="write each column on one level")


def _loaded(text: str, *, json_alone: bool, loader: type[yaml.SafeLoader] | None = None) -> Any:
    try:
        if json_alone:
            return json.loads(text, object_pairs_hook=_without_repetition)
        return yaml.load(text, Loader=loader or _Loader)
    except DomainError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise DomainError(f"line {error.lineno} is not JSON ({error.msg})", remedy="correct that line") from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else "it"
        raise DomainError(
            f"{line} is not YAML ({error.problem})", remedy="correct that line; quote odd texts"
        ) from error
    except yaml.YAMLError as error:
        raise DomainError("it is not YAML", remedy="save it as plain UTF-8 text") from error
    except ValueError:  # Python reads no longer ones
        raise DomainError("it has a number of thousands of digits", remedy="put texts in quotes") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise DomainError(f"{key!r} is given twice", remedy="declare each column and each option once")
        mapping[key] = value
    return mapping


class _Dumper(yaml.SafeDumper):
    """Writes every text in double quotes."""


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


class _Loader(yaml.SafeLoader):
    """Reads plain words as texts, and refuses keys that are there twice and deep nesting, at the first deep token."""

    def fetch_more_tokens(self) -> None:
        """Scan one more token, unless it is nested too deeply: a scan takes time by the depth squared."""
        if self.flow_level + len(self.indents) > _DEEPEST:
            raise _too_deep()
        super().fetch_more_tokens()

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own table, emptied: see below


class _LoaderOfSent(_Loader):
    """Reads texts that somebody sends: a few aliases stand for a text of any length."""

    def fetch_alias(self) -> None:
        """Refuse an alias."""
        raise DomainError("it has an alias (*name)", remedy="write out what it stands for")


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any] | str:
    """Keys as their plain text: an attribute may be called ``2020`` or ``true``."""
    if not all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
        raise DomainError("a key is a list or a mapping", remedy="write names of columns and options as plain texts")
    pairs = [(key.value, value) for key, value in node.value]
    if len(pairs) == 1 and pairs[0][0] == "" and pairs[0][1].value == "":
        return "?"  # YAML's sign for a key, when it stands alone: the usual text of a missing value
    return _without_repetition([(key, loader.construct_object(value, deep=True)) for key, value in pairs])


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
# YAML 1.1 reads no, on, 007, 1_000, 12:30 and 2020-01-31 as booleans, octal and other numbers and dates.
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _TRUTH, list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^(?:null|~|)$"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _WHOLE, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _DECIMAL, list("-+.0123456789"))
