"""Cells that fit no code and rows that break a rule, gathered over all batches of a table and reported as one error.

Rows are checked against the rules of the domain (constraints and derived columns) while they are read. A rule is about
one row. So to leave out the rows that break one is a filter of single records (theory.md section 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.domain import (
    Attribute,
    Binned,
    Codes,
    Constraint,
    Derived,
    Domain,
    Fault,
    IntegerRange,
    Span,
    determining,
    scale_noun,
)
from hedgerow.errors import BrokenRuleError, DataError, MissingValueError, OutOfRangeError, UnknownValueError

SHOWN_ROWS = 5
"""Number of row numbers, and of values where these are asked for, that an error shows."""


@dataclass
class Faulty:
    """Cells of one column with one kind of fault, or rows that break one rule.

    Attributes:
        rows: Numbers of the first rows, from 1.
        values: The first values as texts, if they may be shown.
        n_rows: Number of rows.
        n_with_blanks: Number of rows whose cells would fit without the blanks around them.
    """

    rows: list[int] = field(default_factory=list)
    values: dict[str, None] = field(default_factory=dict)
    n_rows: int = 0
    n_with_blanks: int = 0

    def note(self, rows: NDArray[np.intp], first_row: int | None) -> list[int]:
        """Count rows of a batch; returns those among them whose numbers are shown.

        Args:
            rows: Their places in the batch, increasing.
            first_row: 1-based number of the first row of the batch; None where rows have no numbers.
        """
        shown: list[int] = rows[: SHOWN_ROWS - len(self.rows)].tolist()
        self.n_rows += len(rows)
        self.rows.extend(row + first_row for row in shown if first_row is not None)
        return shown

    def add(self, other: Faulty) -> None:
        """Add cells of another part of the table, whose rows have no numbers in the whole."""
        self.rows.clear()
        self.values |= other.values
        self.n_rows += other.n_rows
        self.n_with_blanks += other.n_with_blanks


@dataclass
class FaultLog:
    """Faults by column and kind, in the order in which they were met.

    Attributes:
        file: Name of the table in messages.
        show_values: Whether messages may hold values of the table.
        found: The faults.

    Example:
        >>> from hedgerow.domain import encoder
        >>> from hedgerow import IntegerRange
        >>> age = IntegerRange("age", 0, 99)
        >>> column, codes = pa.array([20, 120]), encoder(age).codes
        >>> log = FaultLog("t.csv", show_values=False)
        >>> log.check("age", codes(column), column, 1, codes)
        >>> log.raise_any({"age": age})
        Traceback (most recent call last):
        hedgerow.errors.OutOfRangeError: t.csv, column 'age', 1 row (first: 2): a number outside the declared range ...
    """

    file: str
    _: KW_ONLY
    show_values: bool
    found: dict[tuple[str, Fault], Faulty] = field(default_factory=dict, init=False)

    def check(
        self,
        name: str,
        codes: Ints,
        column: pa.Array[Any],
        first_row: int | None,
        recode: Callable[[pa.Array[Any]], Ints],
    ) -> None:
        """Note the faults among the codes of a batch.

        Args:
            name: Column name.
            codes: Codes or faults, from the encoder.
            column: The cells.
            first_row: 1-based number of the first row of the batch; None where rows have no numbers.
            recode: The encoder, which tells whether values would fit without blanks around them.
        """
        if not len(codes) or codes.min() >= 0:
            return
        for fault in Fault:
            rows = np.flatnonzero(codes == fault)
            if rows.size:
                faulty = self.found.setdefault((name, fault), Faulty())
                faulty.note(rows, first_row)
                cells = (
                    column.cast(pa.string()) if column.type == pa.string_view() else column
                )  # which Arrow cannot take
                self._look(faulty, cells.take(pa.array(rows, type=pa.int64())), recode)

    def _look(self, faulty: Faulty, cells: pa.Array[Any], recode: Callable[[pa.Array[Any]], Ints]) -> None:
        texts = [str(value) for value in _shown(cells)]
        if self.show_values:
            faulty.values |= dict.fromkeys(texts[: 10 * SHOWN_ROWS])
        blank = [text.strip() for text in texts if text != text.strip()]
        if blank:
            faulty.n_with_blanks += int(np.count_nonzero(recode(pa.array(blank)) >= 0))

    def add(self, other: FaultLog) -> None:
        """Add what was found in another part of the table, whose rows have no numbers in the whole."""
        for key, there in other.found.items():
            self.found.setdefault(key, Faulty()).add(there)

    def of(self, name: str, fault: Fault) -> Faulty | None:
        """One kind of fault in one column; None if it was not met."""
        return self.found.get((name, fault))

    def __bool__(self) -> bool:
        """Whether a cell fitted no code so far."""
        return bool(self.found)

    def raise_any(self, attributes: dict[str, Attribute]) -> None:
        """Raise the first fault, if there is one.

        Raises:
            MissingValueError: A cell is empty where nothing is declared for it.
            OutOfRangeError: A number is out of range or not whole.
            UnknownValueError: A value is not listed or not a number.
        """
        if not self.found:
            return
        (name, fault), faulty = min(self.found.items(), key=lambda item: list(attributes).index(item[0][0]))
        self._raise(attributes[name], fault, faulty)

    def _raise(self, attribute: Attribute, fault: Fault, faulty: Faulty) -> NoReturn:
        kind, message, remedy = _words(attribute, fault)
        if self.show_values and fault is not Fault.MISSING:
            message += f": {', '.join(repr(value) for value in list(faulty.values)[:SHOWN_ROWS])}"
        if faulty.n_with_blanks:
            remedy = f"remove the blanks around the values ({faulty.n_with_blanks} rows fit without them), or {remedy}"
        others = sorted({name for name, _ in self.found} - {attribute.name})
        if others:
            remedy += f"; see also column{'s' if len(others) > 1 else ''} {', '.join(map(repr, others))}"
        raise kind(
            message,
            file=self.file,
            column=attribute.name,
            rows=faulty.rows,
            n_rows=faulty.n_rows,
            remedy=remedy,
        )


def _shown(cells: pa.Array[Any]) -> list[Any]:
    """Cells in Python's words; dates that it has none for as texts of Arrow, so that its own error shows no cell."""
    try:
        return cells.to_pylist()
    except (OverflowError, ValueError):
        return cells.cast(pa.string()).to_pylist()


def _words(attribute: Attribute, fault: Fault) -> tuple[type[DataError], str, str]:
    """Type, message and remedy of a fault."""
    if fault is Fault.MISSING:
        return (
            MissingValueError,
            "an empty cell, and the domain declares no missing value",
            "declare 'missing: true' for the attribute in the domain file, or fill the cells in",
        )
    declare = "declare 'other: true' for the attribute in the domain file"
    if fault is Fault.UNKNOWN:
        return UnknownValueError, "a value that the domain does not list", f"list it in the domain file, or {declare}"
    scale = attribute.scale
    if fault is Fault.NOT_A_NUMBER:
        on_scale = scale is not None and scale.quoted
        message = (
            f"a cell that is no {scale.noun}" if scale and on_scale else "a text where the domain declares numbers"
        )
        form = f" or the domain's {scale.spelled}" if scale and on_scale else ""
        return UnknownValueError, message, f"correct the cells{form}, or {declare}"
    if fault is Fault.NOT_WHOLE:
        if scale is not None:
            return OutOfRangeError, f"a {scale_noun(scale)} between two steps of its scale", scale.finer
        remedy = (
            "round the column, or declare 'edges' without 'whole' for it in the domain file; with --auto-domain say "
            f"that it has fractions: --types {attribute.name}=number, or bounds with a point, as in 0.0..120.0"
        )
        return OutOfRangeError, "a number with a fraction where the domain declares whole numbers", remedy
    if isinstance(attribute, IntegerRange | Binned):
        span = f"{attribute.first_text} to {attribute.last_text}"
    else:
        span = f"{attribute.ordinary_label(0)} to {attribute.ordinary_label(attribute.ordinary - 1)}"
    remedy = f"widen the range in the domain file, or {declare}"
    return OutOfRangeError, f"a {scale_noun(scale)} outside the declared range {span}", remedy


BROKEN_REMEDY = (
    "correct these records, or the rule in the domain; if such records are not to count, let them be left out "
    "(violations: drop)"
)

_PIECE_ROWS = 1 << 20


@dataclass(frozen=True)
class Rule:
    """A constraint, a derived column and its function, or a duration and the dates that it lies between.

    Example:
        >>> from hedgerow import IntegerRange
        >>> rule = Rule(Derived(IntegerRange("half", 0, 1), ("age",), [0, 0, 1, 1], column=True))
        >>> rule.text, rule.holds({"age": np.array([1, 2]), "half": np.array([0, 0])})
        ('age determines half', array([ True, False]))
    """

    stated: Constraint | Derived | Span

    @property
    def text(self) -> str:
        """The rule in words."""
        if isinstance(self.stated, Constraint | Span):
            return self.stated.text
        return determining(self.stated.sources, self.stated.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is about."""
        if isinstance(self.stated, Span):
            return self.stated.columns
        return self.stated.scope if isinstance(self.stated, Constraint) else (*self.stated.sources, self.stated.name)

    def holds(self, codes: Mapping[str, Codes]) -> Bools:
        """Whether rows keep it.

        Args:
            codes: Codes of the rows, by column.
        """
        if isinstance(self.stated, Span):
            return self.stated.holds(codes)
        if isinstance(self.stated, Constraint):
            return self.stated.holds([codes[name] for name in self.stated.scope])
        return np.equal(self.stated.at([codes[name] for name in self.stated.sources]), codes[self.stated.name])


def rules_of(domain: Domain) -> tuple[Rule, ...]:
    """The rules that rows of a table can break: derived columns, durations that have a column, then constraints.

    Example:
        >>> from hedgerow import IntegerRange
        >>> rules_of(Domain([IntegerRange("a", 0, 1)]))
        ()
    """
    spans = (span for span in domain.spans if span.column)
    return (*map(Rule, domain.derived_columns), *map(Rule, spans), *map(Rule, domain.constraints))


def keeping(rules: Iterable[Rule], codes: Mapping[str, Codes]) -> Bools:
    """Whether rows keep all of some rules.

    Args:
        rules: The rules.
        codes: Codes of the rows, by column.

    Example:
        >>> rule = Rule(Constraint("not both", ("a", "b"), [[0, 1], [0, 1]], [[True, True], [True, False]]))
        >>> keeping([rule], {"a": np.array([1, 1]), "b": np.array([0, 1])})
        array([ True, False])
    """
    kept = np.ones(len(next(iter(codes.values()))), dtype=np.bool_)
    for rule in rules:
        for start in range(0, len(kept), _PIECE_ROWS):
            piece = slice(start, start + _PIECE_ROWS)
            kept[piece] &= rule.holds({name: codes[name][piece] for name in rule.columns})
    return kept


@dataclass
class RuleLog:
    """Rows that break rules, by rule.

    Attributes:
        file: Name of the table in messages.
        domain: The domain, whose rules are checked.
        show_values: Whether messages may hold values of the table.
        found: The rows that break each rule.
        any: The rows that break one.

    Example:
        >>> from hedgerow import IntegerRange
        >>> half = Derived(IntegerRange("half", 0, 1), ("age",), [0, 0, 1, 1], column=True)
        >>> log = RuleLog("t.csv", Domain([IntegerRange("age", 0, 3)], [half]), show_values=False)
        >>> log.check({"age": np.array([1, 2]), "half": np.array([0, 0])}, first_row=1)
        >>> log.raise_any()
        Traceback (most recent call last):
        hedgerow.errors.BrokenRuleError: t.csv, 1 row (first: 2): a record breaks the rule: age determines half...
    """

    file: str
    domain: Domain
    _: KW_ONLY
    show_values: bool
    found: dict[Rule, Faulty] = field(default_factory=dict, init=False)
    any: Faulty = field(default_factory=Faulty, init=False)

    def check(self, codes: Mapping[str, Codes], first_row: int | None) -> None:
        """Note the rows of a batch that break a rule.

        Args:
            codes: Codes of the rows, by column.
            first_row: 1-based number of the first row of the batch; None where rows have no numbers.
        """
        bad = np.zeros(len(next(iter(codes.values()))), dtype=np.bool_)
        for rule in rules_of(self.domain):
            broken = ~rule.holds(codes)
            if broken.any():
                bad |= broken
                faulty = self.found.setdefault(rule, Faulty())
                rows = faulty.note(np.flatnonzero(broken), first_row)
                if self.show_values:
                    faulty.values |= dict.fromkeys(self._values(rule.columns, codes, row) for row in rows)
        self.any.note(np.flatnonzero(bad), first_row)

    def _values(self, columns: Sequence[str], codes: Mapping[str, Codes], row: int) -> str:
        shown = [name for name in columns if name in self.domain]
        return ", ".join(f"{name} = {self.domain[name].label(int(codes[name][row]))!r}" for name in shown)

    def add(self, other: RuleLog) -> None:
        """Add what was found in another part of the table, whose rows have no numbers in the whole."""
        self.any.add(other.any)
        for rule, there in other.found.items():
            self.found.setdefault(rule, Faulty()).add(there)

    def __bool__(self) -> bool:
        """Whether a row broke a rule so far."""
        return bool(self.found)

    def raise_any(self) -> None:
        """Tell which rules were broken, in how many rows, if there are such.

        Raises:
            BrokenRuleError: A row broke a rule.
        """
        if not self.found:
            return
        broken = [(rule, self.found[rule]) for rule in rules_of(self.domain) if rule in self.found]
        sentences = [self._told(rule, faulty, alone=len(broken) == 1) for rule, faulty in broken]
        subject = "a record breaks" if self.any.n_rows == 1 else "records break"
        raise BrokenRuleError(
            f"{subject} {'the rule' if len(broken) == 1 else 'rules of the domain'}: {'; '.join(sentences)}",
            file=self.file,
            rows=self.any.rows,
            n_rows=self.any.n_rows,
            broken={rule.text: faulty.n_rows for rule, faulty in broken},
            remedy=BROKEN_REMEDY,
        )

    def _told(self, rule: Rule, faulty: Faulty, *, alone: bool) -> str:
        """A rule, with the rows that break it where there are other rules, and their values if they may be shown."""
        sentence = rule.text
        if not alone:
            first = f", first: {', '.join(map(str, faulty.rows))}" if faulty.rows else ""
            sentence += f" ({faulty.n_rows} row{'s' if faulty.n_rows != 1 else ''}{first})"
        if self.show_values:
            sentence += f", with {'; '.join(list(faulty.values)[:SHOWN_ROWS])}"
        return sentence
