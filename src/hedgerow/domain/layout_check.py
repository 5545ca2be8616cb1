"""What a layout declares of a column, checked: a type, a text of empty cells, digits and a pattern that fit its values.

A type holds the values of a column if these are read back from it as they were written.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Ints
from hedgerow.domain.arrow import UnsupportedTypeError
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, attribute_error
from hedgerow.domain.encoding import encoder
from hedgerow.domain.layout import Written, is_numeric
from hedgerow.domain.scales import Decimals, Moments
from hedgerow.domain.values import Drawn, values_of
from hedgerow.system import generator

_TEXTS = ("string", "large_string", "dictionary")
_MOST_DIGITS = 18
_TRIED = 64
"""Numbers at each end of a range that are written and read; narrow types lose the largest ones first."""


def check_written(attribute: Attribute, written: Written) -> None:
    """Refuse what cannot be done to the values of a column.

    Args:
        attribute: The column.
        written: The form of it.

    Raises:
        DomainError: The type does not hold its values, an empty cell would be read as something else, or digits would
            be lost.

    Example:
        >>> check_written(IntegerRange("age", 0, 200), Written("int8"))
        Traceback (most recent call last):
            ...
        hedgerow.errors.DomainError: attribute 'age': the type int8 does not hold its values...
    """
    if written.type is not None and not _holds(attribute, written.type):
        raise attribute_error(
            attribute.name,
            f"the type {written.type} does not hold its values",
            "name an Arrow type that does, as in int16, double, bool, timestamp[ns], large_string or dictionary; or "
            "delete 'type'",
        )
    if written.pattern is not None and not is_numeric(attribute):
        raise attribute_error(attribute.name, "'pattern' has no meaning for it", "delete it: only numbers have one")
    if written.null is not None:
        listed = isinstance(attribute, Categorical) and "" in attribute.values
        empty = not written.null and not listed
        spelled = written.null in (attribute.missing, *written.missing)
        known = empty or spelled or _is_synonym(attribute, written.null)
        if attribute.missing is None or not known:
            raise attribute_error(
                attribute.name,
                f"empty cells as {written.null!r} would not be read as the missing value",
                "declare it as 'missing', or as a synonym of it; or write 'null: \"\"'",
            )
    if written.digits is not None and not (_has_digits(attribute) and written.digits <= _MOST_DIGITS):
        raise attribute_error(
            attribute.name,
            f"its values cannot be written with {written.digits} digits after the point",
            f"delete 'digits', or give at most {_MOST_DIGITS}, of whole numbers or of decimals with a step",
        )


def _is_synonym(attribute: Attribute, text: str) -> bool:
    return (
        isinstance(attribute, Categorical)
        and attribute.codes_by_spelling.get(attribute.spelling.normal(text)) == attribute.missing_code
    )


def _has_digits(attribute: Attribute) -> bool:
    """Whether values are whole numbers, or decimals with a step."""
    if attribute.scale is not None:
        return isinstance(attribute.scale, Decimals)
    return isinstance(attribute, IntegerRange) or (isinstance(attribute, Binned) and attribute.whole)


@lru_cache(maxsize=1024)
def _holds(attribute: Attribute, kind: str) -> bool:
    """Whether the values of a column can have a type; a domain that learns bins is made again and again."""
    if kind in _TEXTS:
        return True
    if isinstance(attribute, Binned) and not attribute.whole:
        narrow = (float(str(np.float32(edge))) == edge for edge in attribute.edges)
        return kind == "double" or (kind == "float" and all(narrow))
    if isinstance(attribute, Binned):
        first, last = attribute.whole_bounds(0)[0], attribute.whole_bounds(attribute.ordinary - 1)[1]
        declared = {"missing": attribute.missing, "other": attribute.other}
        attribute = IntegerRange(attribute.name, first, last, scale=attribute.scale, **declared)
    scale = attribute.scale
    if "tz=" in kind:
        if not isinstance(scale, Moments) or scale.zone is None or not kind.endswith(f"tz={scale.zone}]"):
            return False
        kind = kind.replace(f"tz={scale.zone}]", "tz=UTC]")  # whose clocks skip no hours
        attribute = replace(attribute, scale=replace(scale, zone="UTC"))
    codes = np.arange(attribute.ordinary) if isinstance(attribute, Categorical) else _ends(attribute.ordinary)
    extra = [code for code in (attribute.missing_code, attribute.other_code) if code is not None]
    form = Written(kind)
    try:
        drawn = Drawn.of(attribute, np.append(codes, np.array(extra, dtype=np.int64)), generator(0), form=form)
        found = encoder(attribute).codes(values_of(drawn))
    except (pa.ArrowException, KeyError, OverflowError, UnsupportedTypeError, ValueError):
        return False
    return np.array_equal(found[: len(codes)], codes)


def _ends(ordinary: int) -> Ints:
    """The first and the last codes."""
    return np.array([*range(min(_TRIED, ordinary)), *range(max(_TRIED, ordinary - _TRIED), ordinary)], dtype=np.int64)
