"""Options of domain files for how labels are read."""

from collections.abc import Mapping
from typing import Any

from hedgerow.domain.attribute import attribute_error, value_text
from hedgerow.domain.spelling import Spelling
from hedgerow.errors import DomainError


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
