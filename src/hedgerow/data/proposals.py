"""Proposals for the entries of a draft: options, what to look at, and what the data cannot say."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hedgerow.data.column_summary import TRACKED, Summary, is_number
from hedgerow.data.kinds import Spellings, clock_options, decimal_options, digits_of, epoch_options
from hedgerow.domain import Spelling

_INDEX = re.compile(r"|__index_level_\d+__|Unnamed: 0")
_IDENTIFIER = re.compile(r"(?i)(^|[_ .-])(id|key|uuid|nr|no|number)$|[a-z](Id|ID|Key)$")
_TIMED = re.compile(
    r"(?:^|[^A-Za-z])(?i:date|time|epoch|created|updated)|[a-z](?:Date|Time|Epoch|At)|(?i:datetime|stamp)"
    r"|(?:^|_)(?i:ts|at)$|(?i:time)$"
)
_NO_ANSWER = re.compile(r"(?:-(?:[789]|9+[789]?|7+|8+)|9+[789]|7{2,}|8{2,})(?:\.0+)?")
_SMALL_CODE = re.compile(r"-[1-6](?:\.0+)?")
_LARGE = 1_000
"""Beside numbers of this size one from -6 to -1 is no number, where all others are above 0."""
_FAR_APART = 1.5
"""Numbers in place of an answer are so many times as large as the largest answer."""
_FIRST_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_BELOW = re.compile(r"(?i)\s*(?:<|≤|under|below|less|up to)")
"""Begins labels of all that lies below a number."""
_BEYOND = re.compile(
    r"(?i)(?:[<>≤≥]=?\s*|over |under |below |above |less than |more than )?-?\d[\d.,]*(?:\+| (?:or|and) \w+)?"
)
"""A number beyond which numbers are put together: 90+, >90, 90 and over."""
_CODE = re.compile(r"[A-Za-z]{1,3}\d{2,}(?:\.\d+)?")

_YES_NO = {"false", "true"}
_LONGEST_RANGE = 100
"""Whole numbers that span no more than this get one code each."""

_BINS = 20
_LOG_BINS = 32
_FACTORS = (1, 1.5, 2, 3, 5, 7)
"""Edges in a power of ten."""
_TAIL = 0.01
"""Share of the numbers that lie in each tail: bins that hold next to nothing add noise to all quantiles."""
_RARE = 10
_LOOKED_AT = 500
"""Distinct texts that show in how many forms dates are written."""
_NAMED = 8
"""Rare values that a comment names."""
_LONGEST_LIST = 1000
_REPEATED = 20
"""Rows of each value, on average, of a long list that is no list of names."""
_HEAPED = 0.05
"""Share of the rows of a value that gets a bin of its own."""
_SKEWED = 0.1
"""Half of the values lie in this share of the range."""
_SIGNED_NUMBER = re.compile(
    r"[^\w\s]?\(?[^\w\s]?\s?(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)(?:[.,]\d+)?\s?(?:%|[A-Za-z€$£]{1,3})?\)?"
)
"""A number with thousands marks, a currency, a unit, a percent sign, or brackets for one below 0."""
_EXACT = 2**53
"""From here on two whole numbers may be the same number in floating point."""
_MOST_VALUES = 200
"""Multiples of a step that get a code each."""
_COARSE = 5
"""Whole numbers that are all multiples of this or more are rounded ones."""
_FEW_CODES = 12
_KNOWN_RANGES = {(1, 31), (0, 23), (1, 24), (0, 59), (1, 52), (1, 53)}
"""Days of a month, hours, minutes or seconds, weeks of a year."""
_MANY = 100
"""Rows that show how numbers are spread."""


@dataclass(frozen=True)
class Proposal:
    """The entry of a column.

    Attributes:
        options: Its options; None for a column that should stay out.
        comment: Text above it.
        hints: Options that the data cannot know; to be taken in by a person.
        doubts: What speaks against the entry.
    """

    options: dict[str, Any] | None
    comment: str
    hints: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def proposed(name: str, summary: Summary, max_values: int) -> Proposal:
    """A proposal for a column.

    Args:
        name: Its name.
        summary: Its summary.
        max_values: Texts with more distinct values are listed only if each is there often.
    """
    counts = summary.counts
    distinct = TRACKED + 1 if counts is None else len(counts)
    if useless := _why_useless(name, summary, distinct):
        return Proposal(None, useless)
    numbers = summary.numeric and summary.word is None and summary.high > summary.low and not summary.padded
    numbers = numbers and summary.spellings.options() is None
    return _time(name, summary) or _numeric(name, summary) if numbers else _texts(summary, max_values)


def numbers_of(summary: Summary, max_values: int) -> Summary:
    """A summary of the numbers alone, where a column of numbers is no list of codes.

    One text beside them stands for a missing number, and so do numbers that lie apart, as -9 or 999.

    Args:
        summary: Summary of the column.
        max_values: See `proposed`.
    """
    listed = summary.counts is not None and _is_list(summary.counts, max_values)
    missing = summary.empty or summary.missing
    numbers = summary if listed or missing or not summary.numeric else summary.without_word
    few = numbers.counts is None or len(numbers.counts) <= _FEW_CODES
    apart = [] if few or numbers.padded or not numbers.numeric or numbers.word is not None else _apart(numbers)
    return numbers.without(apart) if apart else numbers


def _apart(summary: Summary) -> list[str]:
    """Texts of numbers that survey files have in place of an answer, and that lie apart from all others.

    Example:
        >>> import pyarrow as pa
        >>> summary = Summary()
        >>> summary.add(pa.array([20, 35, 50, 64] * 9 + [-9] * 12))
        >>> _apart(summary)
        ['-9']
    """
    held = {text: float(text) for text, count in (summary.counts or {}).items() if count >= _RARE and is_number(text)}
    large = summary.high >= _LARGE
    codes = {
        text: number
        for text, number in held.items()
        if _NO_ANSWER.fullmatch(text) or (large and _SMALL_CODE.fullmatch(text))
    }
    others = [float(text) for text in summary.counts or () if text not in codes and is_number(text)]
    if not others or min(others) < 0:
        return []
    return sorted(text for text, number in codes.items() if number < 0 or number > _FAR_APART * max(others))


def _texts(summary: Summary, max_values: int) -> Proposal:
    counts = summary.counts
    distinct = TRACKED + 1 if counts is None else len(counts)
    if (dated := summary.spellings.options()) is not None:
        doubts = (_EXCHANGED,) if dated[1] else ()
        return Proposal(dated[0], _about_dates(dated[0]), doubts=doubts)
    if counts is not None and {value.lower() for value in counts} == {"false", "true"}:
        if summary.are_texts and len(counts) == len(_YES_NO) and set(counts) != _YES_NO:
            kind = {} if summary.kind else {"type": "bool"}
            return Proposal({"values": sorted(counts)} | kind, "Yes or no.")
        return Proposal({"values": [False, True]}, "Yes or no.")
    merged, rules = (counts, {}) if counts is None else spelled(counts)
    if merged is None or not _is_list(merged, max_values):
        return Proposal(None, _why_unlisted(summary, distinct))
    if len(merged) + (summary.missing_text is not None) < 2:
        return Proposal(None, _SINGLE)
    return _listed(merged, rules, distinct, summary.order)


def _is_list(counts: Counter[str], max_values: int) -> bool:
    return len(counts) <= max_values or len(counts) <= min(_LONGEST_LIST, counts.total() / _REPEATED)


def spelled(counts: Counter[str]) -> tuple[Counter[str], dict[str, Any]]:
    """Labels that differ in blanks or case only as one, the most frequent, and the rules that make them so.

    Args:
        counts: Number of rows of each label.

    Example:
        >>> merged, rules = spelled(Counter({"male": 5, "Male ": 2, "female": 4}))
        >>> dict(merged), rules
        ({'male': 7, 'female': 4}, {'trim': True, 'case': 'fold'})
    """
    trim, fold = Spelling(trim=True), Spelling(trim=True, fold=True)
    trims = any(trim.normal(text) != text for text in counts)
    folds = len({fold.normal(text) for text in counts}) < len({trim.normal(text) for text in counts})
    rule = Spelling(trim=trims, fold=folds)
    groups: dict[str, Counter[str]] = {}
    for text, count in counts.items():
        groups.setdefault(rule.normal(text), Counter())[text.strip() if trims else text] += count
    merged = Counter({min(group, key=lambda text: (-group[text], text)): group.total() for group in groups.values()})
    merged.pop("", None)  # it is an empty cell
    return merged, ({"trim": True} if trims else {}) | ({"case": "fold"} if folds else {})


def _listed(counts: Counter[str], rules: dict[str, Any], distinct: int, order: dict[str, int]) -> Proposal:
    numbered = all(map(_FIRST_NUMBER.search, counts))
    values = sorted(counts, key=lambda value: (order.get(value, len(order)), _place(value) if numbered else 0, value))
    comment = f"{len(values)} value{'s' if len(values) != 1 else ''}. Are these all values that could occur?"
    if len(values) < distinct:
        comment = f"{distinct} spellings of {comment}"
    rare = [value for value in values if counts[value] < _RARE]
    more = f" and {len(rare) - _NAMED:,} more" if len(rare) > _NAMED else ""
    doubt = (
        f"fewer than {_RARE} rows each: {', '.join(map(json_text, rare[:_NAMED]))}{more}; consider leaving such values "
        "out and declaring 'other: true'."
    )
    return Proposal({"values": values} | rules, comment, tuple(_label_hints(values)), (doubt,) if rare else ())


def is_beyond(text: str) -> bool:
    """Whether a text stands for all numbers beyond one.

    Example:
        >>> is_beyond("90+"), is_beyond("> 90"), is_beyond("90 and over"), is_beyond("A90"), is_beyond("90")
        (True, True, True, False, False)
    """
    return _BEYOND.fullmatch(text.strip()) is not None and not is_number(text)


def _place(label: str) -> float:
    """The first number of a label; of one that begins as "<5" or "under 5", a little less."""
    match = _FIRST_NUMBER.search(label)
    number = float(match[0].replace(",", "")) if match else math.inf
    return number - 0.5 if _BELOW.match(label) else number


def _label_hints(values: list[str]) -> list[str]:
    """Synonyms and levels that labels look like."""
    short = {text: [value for value in values if _abbreviates(text, value)] for text in values if len(text) <= 3}
    synonyms = {text: longer[0] for text, longer in short.items() if len(longer) == 1}
    hints = [f"synonyms: {json_text(synonyms)} (and take these out of the values)"] if synonyms else []
    if len(values) > _BINS and all(map(_CODE.fullmatch, values)):
        hints.append("levels: {prefix: [3, 1]}")
    return hints


def _abbreviates(short: str, text: str) -> bool:
    begins = len(short) < len(text) and text.casefold().startswith(short.casefold())
    return begins and text[len(short)].isalpha()


_EXCHANGED = "another format fits all cells too: are day and month where it says?"


def _about_dates(options: dict[str, Any]) -> str:
    first = options["min"] if "min" in options else options["edges"][0]
    kind = "Durations" if "P" in first else "Times of day" if "-" not in first else "Times" if "T" in first else "Dates"
    bins = "" if "bins" not in options else f" Without 'bins' each {'step' if 'step' in options else 'day'} is a value."
    return f"{kind}; bounds rounded outward. Which bounds are publicly known?{bins}"


_SINGLE = "has a single value; leave it out, or list all values that could occur."


def _why_useless(name: str, summary: Summary, distinct: int) -> str:
    """Reason why a column cannot be an attribute; empty if it can."""
    if _INDEX.fullmatch(name):
        return "looks like the row index of pandas; left out."
    if not summary.supported:
        return "holds neither texts nor numbers; left out."
    if not distinct:
        return "has no values; left out."
    return _SINGLE if distinct + (summary.missing_text is not None) < 2 else ""


def _why_unlisted(summary: Summary, distinct: int) -> str:
    if 2 * summary.numbers > summary.rows and summary.others:
        rest = ", ".join(map(json_text, sorted(summary.missing | summary.others)))
        return (
            f"{100 * summary.numbers / summary.rows:.3g} % of the texts are numbers; the others begin with {rest}. "
            "If these are missing values, describe the column and list these under 'missing'."
        )
    signed = [text for text in summary.counts or () if _SIGNED_NUMBER.fullmatch(text) and not is_number(text)]
    if 2 * len(signed) > distinct:
        return (
            f"{100 * len(signed) / distinct:.3g} % of the distinct texts are a number among other signs, as "
            f"{json_text(signed[0])}; describe these by a 'pattern', or write plain numbers, as 1234.56, to take it in."
        )
    dated, odd = Spellings.split([text for text, _ in (summary.counts or Counter()).most_common(_LOOKED_AT)])
    if len(dated) > len(odd) > 0:
        return (
            f"{100 * len(dated) / (len(dated) + len(odd)):.3g} % of the distinct texts are dates or times written as "
            f"{json_text(dated[0])}, and others as {json_text(odd[0])}. Write all in one form; if the others are "
            "missing values, describe the column and list these under 'missing'."
        )
    many = f"{distinct:,}" if summary.counts is not None else f"more than {TRACKED:,}"
    return (
        f"{many} distinct texts, perhaps an identifier; leave it out, or list values and 'other: true', or have those "
        "learnt that many rows hold: {'values': {'learn': 500}}."
    )


def _numeric(name: str, summary: Summary) -> Proposal:
    low, high, counts = summary.low, summary.high, summary.counts
    if summary.whole and summary.digits == 0 and max(-low, high) > _EXACT:
        return Proposal(None, "whole numbers beyond 2^53, perhaps an identifier or a time; left out.")
    if summary.whole and high - low < _LONGEST_RANGE:
        return _codes(summary) if _apart(summary) else _range(summary)
    whole = summary.whole
    if not whole and counts is not None and len(counts) <= _FEW_CODES and summary.rows >= _RARE * len(counts):
        return _few(summary)
    decimals = None if whole else decimal_options(low, high, summary.digits)
    if whole and summary.common >= _COARSE:
        step = summary.common
        ends = math.floor(low / step) * step, math.ceil(high / step) * step
        decimals = {"min": ends[0], "max": ends[1], "step": step}
        decimals |= {"bins": _BINS} if ends[1] - ends[0] > _MOST_VALUES * step else {}
        kind = f"Whole numbers that are multiples of {step:,}"
    elif decimals is not None:
        kind = f"Numbers with {summary.digits} digit{'s' if summary.digits != 1 else ''} after the point"
    else:
        kind = "Whole numbers" if whole else "Numbers"
    if decimals is not None and "bins" not in decimals:
        return Proposal(decimals, f"{kind}; bounds rounded outward. Which bounds are publicly known?")
    identifies = whole and (counts is None or max(counts.values()) == 1)
    if identifies and _IDENTIFIER.search(name):
        return Proposal(None, "whole numbers that are all different, by its name an identifier; left out.")
    doubts = ("many distinct values: if this is an identifier, leave it out.",) if identifies else ()
    sides = _sides(summary)
    if sides or _is_skewed(summary):
        fine = {"step": decimals["step"]} if decimals else {"whole": True} if whole else {}
        options = _around_nought(sides, fine) if sides else _by_logarithms(summary, fine)
        about = f"{kind} that span several powers of ten, in bins that widen"
    elif decimals is not None:
        options, about = decimals | _points(summary), f"{kind}, in bins of equal width"
    else:
        edges, points = _round_edges(low, high), _points(summary) if whole else {}
        options = {"min": edges[0], "max": edges[-1], "bins": _BINS} if points else {"edges": edges}
        options |= ({"whole": True} if whole else {}) | points
        about = f"{kind}, in bins of equal width"
    heaped = " 'points' are values that many rows hold." if "points" in options else ""
    return Proposal(
        options,
        f"{about}, bounds rounded outward. Which bounds are publicly known, and do these bins suit the column?{heaped} "
        f"Declare 'other: true' where values beyond them could occur.",
        doubts=doubts,
    )


def _time(name: str, summary: Summary) -> Proposal | None:
    """A proposal for times that are written as whole numbers; None where they are something else."""
    if not summary.whole:
        return None
    since = epoch_options(summary.low, summary.high, summary.common, named=bool(_TIMED.search(name)))
    if since is not None:
        return Proposal(since, f"{_about_dates(since)} They are counted from 1970 in UTC.")
    clock = clock_options(summary.counts or (), typed=summary.kind is not None)
    return None if clock is None else Proposal(clock, _about_dates(clock))


def _few(summary: Summary) -> Proposal:
    """Few numbers with fractions that many rows hold: each has a bin of its own."""
    points = [plain_number(number) for number in sorted({float(text) for text in summary.counts or ()})]
    digits = max((digits_of(repr(point)) or 0) for point in points)
    options = {"min": math.floor(summary.low), "max": math.ceil(summary.high), "step": float(f"1e-{digits}"), "bins": 2}
    return Proposal(
        options | {"points": points},
        f"{len(points)} numbers, each its own value under 'points'. Are these all numbers that could occur? "
        "Others between 'min' and 'max' are one bin.",
    )


def _codes(summary: Summary) -> Proposal:
    """Few whole numbers some of which lie apart, as 98 and 99 beside 1 to 5: each is a value."""
    values = sorted(int(float(text)) for text in summary.counts or ())
    apart = ", ".join(_apart(summary))
    return Proposal(
        {"values": values},
        f"{len(values)} codes. Are these all codes that could occur?",
        doubts=(f"{apart} may stand for no answer: 'missing' takes such codes in place of the values.",),
    )


def _range(summary: Summary) -> Proposal:
    low, high = summary.low, summary.high
    step = 10 if high - low >= 20 and (low, high) not in _KNOWN_RANGES else 1
    bounds = {"min": math.floor(low / step) * step, "max": math.ceil(high / step) * step}
    if step > 1:
        hints: tuple[str, ...] = ("levels: [5, 20]",)
    else:
        values = sorted({int(float(text)) for text in summary.counts or ()})
        hints = (f"values: {values} (in place of 'min' and 'max', if these are codes)",)
        hints = hints if len(values) <= _FEW_CODES else ()
    seen = "bounds rounded outward" if step > 1 else "as seen"
    joint = ";" if step > 1 else ","
    return Proposal(bounds, f"Whole numbers{joint} {seen}. Which bounds are publicly known?", hints)


def _is_skewed(summary: Summary) -> bool:
    """Whether half of the values lie in a small part of the range, next to its lower end; few are below 0."""
    low, high = max(0.0, summary.low), summary.high
    positive = summary.rows >= _MANY and summary.negatives <= _SKEWED * summary.rows
    spans = high > 2 * low  # quantiles are known to a tenth of their size
    return positive and spans and summary.quantile(0.5) - low < _SKEWED * (high - low)


def _sides(summary: Summary) -> list[Summary]:
    """The numbers below 0, without their sign, and those above it, where both are many and skewed; else nothing."""
    parts = ((summary.below, -summary.low), (summary.sizes, summary.high))
    sides = [
        replace(summary, counts=None, rows=sizes.total(), zeros=0, sizes=sizes, below=Counter(), low=0.0, high=high)
        for sizes, high in parts
    ]
    many = min(side.rows for side in sides) > _SKEWED * max(summary.rows, _MANY)
    return sides if many and all(map(_is_skewed, sides)) else []


def _around_nought(sides: list[Summary], fine: dict[str, Any]) -> dict[str, Any]:
    """Bins that widen on both sides of 0."""
    below, above = (_by_logarithms(side, fine)["edges"] for side in sides)
    return {"edges": [*(-edge for edge in reversed(below[1:])), *above]} | fine


def _by_logarithms(summary: Summary, fine: dict[str, Any]) -> dict[str, Any]:
    """Bins that widen: in round steps where the bulk of the numbers lies, by powers of ten beyond it.

    Where there are points, bins of equal ratios: a domain file has points beside a number of bins alone. Numbers below
    0 have one bin, and 0 one of its own.
    """
    high = _round_up(summary.high)
    step = float(fine.get("step", 1 if fine else 0))
    low = 0.0 if summary.low <= 0 else 10.0 ** math.floor(math.log10(summary.low))
    low = low if low >= step else 0.0
    below = [-_round_up(-summary.low)] if summary.low < 0 else []
    if (points := _points(summary) if fine else {}) and not below:
        return {"min": plain_number(low), "max": plain_number(high), **fine, "bins": {"log": _LOG_BINS}} | points
    above = summary.sizes.total() / summary.rows
    tails = (1.0 - above * (1.0 - _TAIL), 1.0 - above * _TAIL)
    first, last = (max(summary.quantile(share), high * 1e-9) for share in tails)
    powers = range(math.floor(math.log10(max(low, high * 1e-9))), math.ceil(math.log10(high)) + 1)
    steps = [(factor, float(f"{factor}e{power}")) for power in powers for factor in _FACTORS]
    kept = [edge for factor, edge in steps if first / 1.5 < edge < 1.5 * last or (factor == 1 and edge > last)]
    nought = [step] if below and step else []
    edges = sorted({*nought, *(edge for edge in kept if max([low, *nought]) < edge < high and _is_step(edge, step))})
    return {"edges": [plain_number(edge) for edge in (*below, low, *edges, high)]} | fine


def _is_step(number: float, step: float) -> bool:
    """Whether a number is a multiple of a step, as both are written; of 0 each is."""
    return not step or (Fraction(repr(number)) / Fraction(repr(step))).denominator == 1


def _points(summary: Summary) -> dict[str, Any]:
    """Values that many rows hold, to have bins of their own."""
    if summary.counts is None:
        points = [0] if summary.zeros > _HEAPED * summary.rows else []
    else:
        least = max(_RARE, _HEAPED * summary.rows)
        heaped = (text for text, count in summary.counts.items() if count > least)
        points = sorted(plain_number(float(text)) for text in heaped)
    return {"points": points} if points else {}


def plain_number(number: float) -> Any:
    """A whole number where it is one, for a file.

    Example:
        >>> plain_number(3.0), plain_number(0.5)
        (3, 0.5)
    """
    return int(number) if number.is_integer() else float(f"{number:.12g}")


def _round_up(number: float) -> float:
    """The next of 1, 2, 5 times a power of ten, not below the number."""
    power = 10.0 ** math.floor(math.log10(number))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= number)


def _round_edges(low: float, high: float) -> list[float]:
    """Multiples of a round number, around all values, about ``_BINS`` bins."""
    raw = (high - low) / _BINS
    power = math.floor(math.log10(raw))
    step = next(step for factor in (1, 2, 5, 10) if float(step := Decimal(factor).scaleb(power)) >= raw * (1 - 1e-9))
    first, last = math.floor(Decimal(repr(low)) / step), math.ceil(Decimal(repr(high)) / step)
    return [plain_number(float(step * place)) for place in range(first, last + 1)]


def json_text(value: Any) -> str:
    """A value as YAML and JSON have it, on one line.

    Example:
        >>> json_text({"missing": True})
        '{"missing": true}'
    """
    return json.dumps(value, ensure_ascii=False)
