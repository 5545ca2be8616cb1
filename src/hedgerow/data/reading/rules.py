"""Rules of a domain, which rows are checked against while they are read: constraints, and derived columns.

A rule is about one row. So to leave out the rows that break one is a filter of single records (theory.md section 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.data.reading.faults import SHOWN_ROWS, Faulty
from hedgerow.domain import Codes, Constraint, Derived, Domain, Span, determining
from hedgerow.errors import BrokenRuleError

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
