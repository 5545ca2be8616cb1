"""Values that the codes of a column stand for, as Arrow arrays.

======================  =======================================  ==================================
code                    Arrow, Parquet, pandas, polars           CSV
======================  =======================================  ==================================
listed value            the value, in its type                   its text
whole number            int64                                    its digits
on a scale              date32, timestamp[us], time64[us],       its text, in the format of the scale
                        duration[us], float64 or int64
bin                     a number drawn inside it, to a millionth its digits
                        of its width: float64, or int64 where
                        the column is whole
missing value           null                                     its declared text; in a column of numbers
                                                                 or booleans an empty cell, unless its text
                                                                 is a number or it is the only column
other value             its declared text in a text column,      its declared text
                        null in a column of numbers
======================  =======================================  ==================================

A categorical column is one of booleans, of int64 or of float64 where all listed values are; of texts otherwise. Reading
what was written with the same domain gives the same codes back, save that the other value of a column of numbers,
null in Parquet, is read as missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.domain.arrow import arrow_flags, arrow_numbers, arrow_text, arrow_texts
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, ends_of
from hedgerow.domain.domain import Domain
from hedgerow.domain.layout import AS_USUAL, Written, is_numeric
from hedgerow.domain.measures import written
from hedgerow.domain.scales import Decimals, Moments, Scale, texts_on
from hedgerow.domain.tilts import leaning
from hedgerow.system import generator

Codes = NDArray[np.integer[Any]]


REPEATED = 4
"""Times that a value must be repeated on average, for the texts of all values to be made once and looked up."""

_DECIMAL = re.compile(r"decimal128\((\d+), (\d+)\)")
_ZONED = re.compile(r"timestamp\[(\w+), tz=(.+)\]")


def arrow_schema(domain: Domain) -> pa.Schema:
    """Names and Arrow types of the columns of records, in the order of the domain's layout.

    Example:
        >>> arrow_schema(Domain([Categorical("x", (0.5, 1)), Binned("y", (0, 1, 2))])).types
        [DataType(double), DataType(double)]
    """
    return pa.schema([pa.field(c.name, _written_type(c, form_of(domain, c.name))) for c in written(domain)])


def form_of(domain: Domain, name: str) -> Written:
    """The form of a column; the end of a span has that of its start.

    Example:
        >>> form_of(Domain([IntegerRange("age", 17, 90)]), "age")
        Written(type=None, null=None, digits=None, pattern=None, decimal=None, thousands=None, missing=())
    """
    starts = {span.end: span.start for span in domain.spans}
    return domain.layout[starts.get(name, name)]


def _written_type(attribute: Attribute, form: Written) -> pa.DataType:
    return _arrow_type(attribute) if form.type is None else type_called(form.type)


def type_called(name: str) -> pa.DataType:
    """The Arrow type of a name in a layout.

    Example:
        >>> type_called("timestamp[ns, tz=Europe/Berlin]"), type_called("decimal128(9, 2)"), type_called("int8")
        (TimestampType(timestamp[ns, tz=Europe/Berlin]), Decimal128Type(decimal128(9, 2)), DataType(int8))
    """
    if name == "dictionary":
        return pa.dictionary(pa.int32(), pa.string())
    if match := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(match[1]), int(match[2]))
    zoned: Any = _ZONED.fullmatch(name)
    alias: Any = pa.type_for_alias
    found_type: pa.DataType = alias(name) if zoned is None else pa.timestamp(zoned[1], zoned[2])
    return found_type


def type_name(kind: pa.DataType) -> str | None:
    """The name in a layout of an Arrow type; None where it has none. Categories that are no texts have their own type.

    Example:
        >>> type_name(pa.date32()), type_name(pa.float32()), type_name(pa.list_(pa.int8()))
        ('date32', 'float', None)
        >>> [type_name(pa.dictionary(pa.int8(), values)) for values in (pa.string(), pa.int64())]
        ['dictionary', 'int64']
    """
    if isinstance(kind, pa.DictionaryType):
        values: pa.DataType = kind.value_type
        return "dictionary" if _are_texts(values) else type_name(values)
    name = {"date32[day]": "date32", "date64[ms]": "date64", "string_view": "string"}.get(str(kind), str(kind))
    try:
        known = type_called(name) == kind or name == "string"
    except (ValueError, KeyError):
        return None
    return name if known else None


def _arrow_type(attribute: Attribute) -> pa.DataType:
    if attribute.scale is not None:
        return type_called(attribute.scale.arrow_type)
    if isinstance(attribute, IntegerRange):
        return pa.int64()
    if isinstance(attribute, Binned):
        return pa.int64() if attribute.whole else pa.float64()
    values: tuple[Any, ...] = attribute.values if isinstance(attribute, Categorical) else ()
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64() if all(-(2**63) <= value < 2**63 for value in values) else pa.string()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


@dataclass(frozen=True)
class Drawn:
    """A column of codes, and a number for each where they stand for numbers.

    Attributes:
        attribute: The column.
        codes: The codes, shape ``(n,)``.
        numbers: The numbers that they stand for, or that were drawn inside bins; any for those that stand for none.
        form: The form of the column.
    """

    attribute: Attribute
    codes: Codes
    numbers: NDArray[Any]
    form: Written = AS_USUAL

    @classmethod
    def of(
        cls,
        attribute: Attribute,
        codes: Codes,
        rng: np.random.Generator,
        tilts: Floats | None = None,
        form: Written = AS_USUAL,
    ) -> Self:
        """Draw numbers inside bins.

        Args:
            attribute: The column.
            codes: The codes, shape ``(n,)``.
            rng: Generator for the numbers inside bins.
            tilts: Tilts of the bins, of a column that has some; flat by default (``tilts.py``).
            form: The form of the column.
        """
        known = codes if attribute.size == attribute.ordinary else np.where(codes >= attribute.ordinary, 0, codes)
        ordinary = known.astype(np.int64, copy=False)
        if isinstance(attribute, Binned):
            return cls(attribute, codes, _inside_bins(attribute, ordinary, rng, tilts), form)
        numbers = ordinary + attribute.minimum if isinstance(attribute, IntegerRange) else ordinary
        return cls(attribute, codes, numbers, form)

    @property
    def beyond(self) -> NDArray[np.bool_]:
        """Whether codes are those of the missing or the other value."""
        return self.codes >= self.attribute.ordinary

    @property
    def is_repeated(self) -> bool:
        """Whether each cell follows from its code, and is repeated so often that it is made once."""
        return not isinstance(self.attribute, Binned) and REPEATED * self.attribute.size <= len(self.codes)

    @property
    def every(self) -> Self:
        """The same column with each code once."""
        return self.of(self.attribute, np.arange(self.attribute.size), generator(0), form=self.form)


def encoded_values(drawn: Drawn) -> pa.Array[Any]:
    """Values of a column of codes, texts as a dictionary, which Parquet writes as it is.

    Example:
        >>> from hedgerow.system.randomness import generator
        >>> found = encoded_values(Drawn.of(Categorical("sex", ("F", "M")), np.array([1, 0, 1]), generator(0)))
        >>> found.indices.to_pylist(), found.dictionary.to_pylist()
        ([1, 0, 1], ['F', 'M'])
    """
    attribute = drawn.attribute
    kind, natural = _written_type(attribute, drawn.form), _arrow_type(attribute)
    if kind == natural:
        return _natural(drawn)
    if pa.types.is_float32(kind) and isinstance(attribute, Binned) and not attribute.whole:
        drawn = replace(drawn, numbers=_narrow(attribute, drawn))
    as_number = attribute.scale is not None and attribute.scale.width is not None and pa.types.is_integer(kind)
    if _are_texts(natural) or not (_are_texts(kind) or pa.types.is_decimal(kind) or as_number):
        return _converted(_natural(drawn), kind, attribute)
    cells = texts_of(drawn, empties=False)
    empty = drawn.codes == attribute.missing_code if _are_texts(kind) else drawn.beyond
    texts: Any = pa.compute.if_else(pa.array(empty), pa.scalar(None, pa.string()), cells.cast(pa.string()))
    values: pa.Array[Any] = texts.dictionary_encode() if _are_texts(kind) else texts.cast(kind)
    return values


def _narrow(attribute: Binned, drawn: Drawn) -> NDArray[Any]:
    """Numbers as narrow floats that lie in the same bins."""
    edges, codes = np.array(attribute.edges, dtype=np.float32), np.where(drawn.beyond, 0, drawn.codes)
    high = np.nextafter(edges[codes + 1], np.float32(-np.inf))
    return np.clip(drawn.numbers.astype(np.float32), edges[codes], high).astype(np.float64)


def _are_texts(kind: pa.DataType) -> bool:
    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary
    return any(is_kind(kind) for is_kind in texts)


def _converted(values: pa.Array[Any], kind: pa.DataType, attribute: Attribute) -> pa.Array[Any]:
    """Values in a type that holds them."""
    if _are_texts(kind):
        return values
    plain: Any = values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values
    zone = getattr(kind, "tz", None)
    if zone is not None and isinstance(attribute.scale, Moments):  # of two moments that a clock shows alike the first
        plain = pa.compute.assume_timezone(plain, zone, ambiguous="earliest", nonexistent="latest")
    if pa.types.is_boolean(kind) and isinstance(attribute, Categorical):
        beyond = pa.array(np.array([each is None for each in plain.to_pylist()]))
        plain = pa.compute.if_else(beyond, pa.scalar(None, pa.string()), pa.compute.utf8_lower(plain.cast(pa.string())))
    converted: pa.Array[Any] = plain.cast(kind)
    return converted


def _natural(drawn: Drawn) -> pa.Array[Any]:
    """Values in the type that follows from the attribute."""
    attribute, codes = drawn.attribute, drawn.codes
    kind = _arrow_type(attribute)
    if isinstance(attribute, Categorical) and kind == pa.string():
        return _dictionary(attribute, codes)
    beyond = drawn.beyond if attribute.size > attribute.ordinary else None
    if isinstance(attribute, Categorical):
        numbers = np.array(attribute.values, dtype=kind.to_pandas_dtype())[drawn.numbers]
        return pa.array(numbers, type=kind, mask=beyond)
    scale = attribute.scale
    if scale is None:
        return arrow_numbers(drawn.numbers, beyond).cast(kind)
    values = pa.array(scale.values(drawn.numbers), type=kind, mask=beyond)
    return values.dictionary_encode() if kind == pa.string() else values


def _dictionary(attribute: Categorical, codes: Codes) -> pa.DictionaryArray[Any, Any]:
    extra = [text for text in (attribute.missing, attribute.other) if text is not None]
    listed = arrow_texts([*map(str, attribute.values), *extra])
    missing = None if attribute.missing_code is None else codes == attribute.missing_code
    places: Any = arrow_numbers(codes.astype(np.int32), missing)
    return pa.DictionaryArray.from_arrays(places, listed)


def values_of(drawn: Drawn) -> pa.Array[Any]:
    """Values of a column of codes, in the type that ``arrow_schema`` says.

    Example:
        >>> from hedgerow.system.randomness import generator
        >>> values_of(Drawn.of(Categorical("sex", ("F", "M"), missing="?"), np.array([1, 2]), generator(0))).to_pylist()
        ['M', None]
    """
    values, kind = encoded_values(drawn), _written_type(drawn.attribute, drawn.form)
    if not isinstance(values, pa.DictionaryArray) or values.type == kind:
        return values
    return values.cast(kind) if pa.types.is_dictionary(kind) else values.dictionary_decode().cast(kind)


def texts_of(drawn: Drawn, *, empties: bool) -> pa.Array[Any]:
    """Values of a column as CSV shows them: the other value as text, and the missing one where cells may not be empty.

    Args:
        drawn: The column.
        empties: Whether a column may have empty cells.

    Example:
        >>> from hedgerow.system.randomness import generator
        >>> age = IntegerRange("age", 17, 90, missing="-1")
        >>> texts_of(Drawn.of(age, np.array([0, 74]), generator(0)), empties=True).to_pylist()
        ['17', '-1']
    """
    if not drawn.is_repeated:
        return _texts(drawn, empties)
    texts: pa.Array[Any] = _texts(drawn.every, empties).take(arrow_numbers(drawn.codes))
    return texts


def _texts(drawn: Drawn, empties: bool) -> pa.Array[Any]:
    attribute, codes, form = drawn.attribute, drawn.codes, drawn.form
    scale = attribute.scale
    if scale is None:
        values = _natural(drawn)
        values = values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values
    else:
        values = pa.array(texts_on(scale.cell, drawn.numbers), type=pa.string(), mask=drawn.beyond)
        if scale.width is not None and form.type is not None and "int" in form.type:
            values = values.cast(pa.int64()).cast(pa.string())  # numbers have no zeros before them
    digits, least = scale.digits if isinstance(scale, Decimals) else 0, form.digits
    if least is None and digits and form.pattern is not None:
        least = form.number.digits
    if least is not None:
        values = _with_digits(values.cast(pa.string()), least, digits)
    if not form.number.is_plain and is_numeric(attribute):
        values = form.number.written(values)
    missing = attribute.missing if form.null is None else form.null
    shown = [(attribute.missing_code, missing), (attribute.other_code, attribute.other)]
    texts_alone = isinstance(attribute, Categorical) and _arrow_type(attribute) == pa.string()
    usual = not texts_alone and not _is_on(scale, missing)
    if empties and (usual if form.null is None else not form.null):
        del shown[0]  # "?" would make every reader take the numbers for texts
    elif not missing:
        shown[0] = (attribute.missing_code, attribute.missing)
    if all(code is None for code, _ in shown):
        return values
    texts: Any = values.cast(pa.string())
    for code, text in shown:
        if code is not None and text is not None:
            texts = pa.compute.if_else(arrow_flags(codes == code), arrow_text(text), texts)
    listed: pa.Array[Any] = texts
    return listed


def _with_digits(numbers: Any, least: int, digits: int) -> pa.Array[Any]:
    """Numbers with so many digits after the point, in place of those of their step, or more where they need them."""
    more = "0" * (least - digits)
    numbers = pa.compute.binary_join_element_wise(numbers, "" if digits or not more else ".", more, "")
    if least < digits:
        numbers = pa.compute.replace_substring_regex(numbers, rf"(\.[0-9]{{{least}}}[0-9]*?)0*$", r"\1")
        numbers = pa.compute.utf8_rtrim(numbers, ".")
    written: pa.Array[Any] = numbers
    return written


def _is_on(scale: Scale | None, text: str | None) -> bool:
    """Whether a text is a number, or on the scale."""
    if text is None or scale is not None:
        return text is not None and scale is not None and scale.position(text) is not None
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _inside_bins(attribute: Binned, codes: Codes, rng: np.random.Generator, tilts: Floats | None) -> NDArray[Any]:
    """One number per code, in its bin: one of the whole numbers of it, or of all; uniform unless it is tilted."""
    if attribute.whole:
        low, high = (ends.astype(np.int64) for ends in ends_of(attribute))
        if tilts is not None:
            parts = leaning(rng.random(len(codes)), tilts[codes])
            return np.asarray(low[codes] + np.floor(parts * (high - low + 1)[codes]).astype(np.int64))
        return np.asarray(rng.integers(low[codes], high[codes], endpoint=True))
    edges = np.array(attribute.edges)
    low, high = edges[codes], edges[codes + 1]
    parts = rng.random(len(codes))
    drawn = low + (parts if tilts is None else leaning(parts, tilts[codes])) * (high - low)
    decimals = max(0, 6 - int(np.floor(np.log10(np.diff(edges).min()))))
    if decimals <= 12:  # digits beyond a millionth of a bin say nothing
        drawn = np.floor(drawn * 10.0**decimals) / 10.0**decimals
    return np.asarray(np.clip(drawn, low, np.nextafter(high, low)))
