"""Entries of domain files for attributes, and for how their labels are read."""

import difflib
from collections.abc import Mapping
from typing import Any

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, attribute_error, value_text
from hedgerow.domain.entries.bins import edges_entry, edges_of, edges_of_bins
from hedgerow.domain.entries.options import FORM, MOST_VALUES, OPTIONS, SCALE, SPELLING
from hedgerow.domain.entries.scales import bound_entry, number_on, scale_entry, scale_of
from hedgerow.domain.spelling import Spelling
from hedgerow.errors import DomainError

MISSING_TEXT = "?"
"""Text of the missing value where a file says ``missing: true``."""

OTHER_TEXT = "other"
"""Text of the other value where a file says ``other: true``."""

_NESTED = ("levels", "synonyms")
"""Options that hold mappings."""
_FORMS = ({"values"}, {"min", "max"}, {"min", "max", "bins"}, {"min", "max", "bins", "points"}, {"edges"})
_REMEDY = "give 'values', or 'min' and 'max', or 'min', 'max' and 'bins', or 'edges'"


def attribute_of(name: str, entry: object) -> Attribute:
    """The attribute that an entry describes; its levels, and how it is written, are read elsewhere.

    Raises:
        DomainError: The entry has none of the forms of a domain file, or the attribute is wrong.

    Example:
        >>> attribute_of("age", {"min": 0, "max": 99, "missing": True}).size
        101
    """
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
    missing = _declared(name, "missing", _first_spelling(name, options.get("missing")), MISSING_TEXT)
    other = _declared(name, "other", options.get("other"), OTHER_TEXT)
    if "values" in options:
        values, spelling = _values(name, options["values"]), spelling_of(name, options)
        learnt = bool(options.get("learnt", False))
        return Categorical(name, values, spelling=spelling, learnt=learnt, missing=missing, other=other)
    declared = {"missing": missing, "other": other}
    whole, learnt = bool(options.get("whole", False)), bool(options.get("learnt", False))
    if "edges" in options:
        edges = options["edges"]
        if not isinstance(edges, list | tuple):
            raise attribute_error(name, "'edges' is not a list", "write 'edges: [0, 10, 20]'")
        scale = scale_of(name, options, edges)
        return Binned(name, edges_of(name, edges, scale), whole=whole, scale=scale, learnt=learnt, **declared)
    scale = scale_of(name, options, (options["min"], options["max"]))
    low, high = (number_on(name, scale, options[end]) for end in ("min", "max"))
    if "bins" not in options:
        return IntegerRange(name, low, high, scale=scale, **declared)  # type: ignore[arg-type] # it checks
    whole = whole or scale is not None
    edges = edges_of_bins(name, options, low, high, scale, whole=whole)
    return Binned(name, edges, whole=whole, scale=scale, learnt=False, **declared)


def are_options(entry: Mapping[str, Any]) -> bool:
    """Whether a mapping describes one attribute, and not attributes that happen to be called like options."""
    described = any(isinstance(value, Mapping) for option, value in entry.items() if option not in _NESTED)
    return not described and set(entry) <= OPTIONS.keys() and _form(entry) in _FORMS


def _form(options: Mapping[str, Any]) -> set[str]:
    return {option for option in options if option in FORM or option not in OPTIONS}


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    for option in options:
        if option not in OPTIONS:
            near = difflib.get_close_matches(str(option), OPTIONS, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise DomainError(
                f"attribute {name!r} has an unknown option {option!r}", remedy=f"{hint}options: {', '.join(OPTIONS)}"
            )
    form = _form(options)
    if form not in _FORMS:
        written = ", ".join(sorted(form)) or "none of them"
        raise DomainError(f"attribute {name!r} is not fully described (found: {written})", remedy=_REMEDY)
    for option in ("whole", "learnt", "round", "trim"):
        if not isinstance(options.get(option, False), bool):
            raise attribute_error(name, f"{option!r} is neither true nor false", f"write '{option}: true'")
    if options.get("learnt") and not {"edges", "values"} & set(options):
        raise attribute_error(name, "'learnt' has no meaning without 'edges' or 'values'", "delete it")
    for option in ("whole", *SCALE):
        if options.get(option) and "values" in options:
            raise attribute_error(name, f"{option!r} has no meaning for listed values", "delete it")
    for option in SPELLING:
        if options.get(option) and "values" not in options:
            raise attribute_error(name, f"{option!r} has no meaning for numbers", "delete it")


def _first_spelling(name: str, missing: object) -> object:
    """Of a list of texts and numbers that stand for the missing value the first that is a text, or else true."""
    if not isinstance(missing, list):
        return missing
    if not missing or not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in missing):
        raise attribute_error(name, "'missing' lists no texts or numbers", "write 'missing: [NA, \"-\", -9]'")
    return next((each for each in missing if isinstance(each, str) and each and not _spells_number(each)), True)


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _declared(name: str, option: str, given: object, default: str) -> str | None:
    if given is None or given is False:
        return None
    if given is True:
        return default
    if isinstance(given, str | int | float):
        return str(given)
    raise attribute_error(name, f"{option!r} is neither true nor a text", f"write '{option}: true' or its text")


def learnt_values(name: str, values: object) -> int | None:
    """The largest number of values that are to be learnt from the data; None where ``values`` says something else.

    Raises:
        DomainError: It is no whole number from 1 to `MOST_VALUES`.

    Example:
        >>> learnt_values("job", {"learn": 500}), learnt_values("job", ["clerk", "nurse"])
        (500, None)
        >>> learnt_values("job", {"learn": 1, "of": ["clerk", "nurse"]})
        1
    """
    if not (isinstance(values, Mapping) and "learn" in values):
        return None
    number = values["learn"]
    if set(values) - {"learn", "of", "prefix"} or ("prefix" in values and "of" not in values):
        remedy = (
            "write 'values: {learn: 500}', or 'values: {learn: 50, of: [...]}' for the frequent ones of a public list"
        )
        raise attribute_error(
            name, "'values' has other options than 'learn' and 'of'", f"{remedy}, and 'prefix: [3, 1]' for its groups"
        )
    lengths = values.get("prefix", [])
    lengths = lengths if isinstance(lengths, list | tuple) else [lengths]
    if any(isinstance(length, bool) or not isinstance(length, int) or length < 1 for length in lengths):
        raise attribute_error(
            name, f"'prefix' is {values['prefix']!r}", "give lengths, longest first: 'prefix: [3, 1]'"
        )
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_VALUES:
        raise attribute_error(name, f"{number!r} values to be learnt", f"give a whole number from 1 to {MOST_VALUES:,}")
    return number


def _values(name: str, values: object) -> list[Any]:
    if learnt_values(name, values) is not None:
        remedy = "'hedgerow synth' learns them; in Python open_domain reads the file, and learn_domain spends on it"
        raise attribute_error(name, "its values are to be learnt from the data", remedy)
    if not isinstance(values, list | tuple):
        raise attribute_error(name, "'values' is not a list", "write 'values: [a, b]'")
    if any(value is None for value in values):
        raise DomainError(
            f"attribute {name!r} lists an empty value",
            remedy="for empty cells declare 'missing: true'; for the text null write \"null\" in quotes",
        )
    return list(values)


def attribute_entry(attribute: Attribute) -> dict[str, Any]:
    """The entry that describes an attribute.

    Example:
        >>> attribute_entry(IntegerRange("age", 0, 99, missing="?"))
        {'min': 0, 'max': 99, 'missing': '?'}
    """
    entry: dict[str, Any] = {}
    if isinstance(attribute, Categorical):
        entry |= {"values": list(attribute.values), **spelling_entry(attribute.spelling)}
        entry |= {"learnt": True} if attribute.learnt else {}
    elif isinstance(attribute, IntegerRange):
        ends = {"min": attribute.minimum, "max": attribute.maximum}
        entry |= {end: bound_entry(number, attribute.scale) for end, number in ends.items()} | scale_entry(attribute)
    elif isinstance(attribute, Binned):
        entry["edges"] = edges_entry(attribute)
        entry |= scale_entry(attribute)
        if attribute.whole and attribute.scale is None:
            entry["whole"] = True
        if attribute.learnt:
            entry["learnt"] = True
    declared = {"missing": attribute.missing, "other": attribute.other}
    return entry | {option: text for option, text in declared.items() if text is not None}


def spelling_of(name: str, options: Mapping[str, Any]) -> Spelling:
    """The rules that the options of an attribute describe.

    Args:
        name: Name of the attribute.
        options: Its options.

    Raises:
        DomainError: An option is none of those of a domain file.

    Example:
        >>> spelling_of("sex", {"values": ["male", "female"], "case": "fold", "synonyms": {"m": "male"}}).in_words()
        'case folded, 1 synonym'
    """
    trim, case, synonyms = options.get("trim", False), options.get("case"), options.get("synonyms") or {}
    if case not in (None, "fold"):
        raise attribute_error(name, f"'case' is {case!r}", "write 'case: fold', or delete it")
    if not isinstance(synonyms, Mapping) or not all(isinstance(s, str | int | float) for s in synonyms.values()):
        raise attribute_error(name, "'synonyms' does not map texts to values", "write 'synonyms: {m: male, f: female}'")
    labels = {str(text): value_text(label) for text, label in synonyms.items()}
    try:
        return Spelling(trim=trim, fold=case == "fold", unicode=options.get("unicode"), synonyms=labels)
    except DomainError as error:
        raise attribute_error(name, error.message, error.remedy or "") from error


def spelling_entry(spelling: Spelling) -> dict[str, Any]:
    """The options that describe rules; none where texts are taken as they are.

    Example:
        >>> spelling_entry(Spelling(trim=True, fold=True, synonyms={"m": "male"}))
        {'trim': True, 'case': 'fold', 'synonyms': {'m': 'male'}}
    """
    entry: dict[str, Any] = {"trim": True} if spelling.trim else {}
    entry |= {"case": "fold"} if spelling.fold else {}
    entry |= {"unicode": spelling.unicode} if spelling.unicode else {}
    return entry | ({"synonyms": dict(spelling.synonyms)} if spelling.synonyms else {})
