"""Domains: the finite, public set of records that could exist.

A domain is public knowledge and is never read off private data. Reading and writing domain files is in
``file.py``.

A record is one code for each *attribute*. Beside them stand *derived* attributes, which are functions of these: levels
and derived columns. All have names and values, and marginals may be over any of them; together they are the
*variables* of the domain, attributes first. *Constraints* say which records cannot exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import chain, combinations
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np

from hedgerow.arrays import Bools, Places
from hedgerow.cards import MOST_ROWS, card
from hedgerow.domain.attribute import Attribute
from hedgerow.domain.constraint import Constraint
from hedgerow.domain.derived import Clique, Derived, coarser, default_levels, hidden, is_nested, refined
from hedgerow.domain.known_counts import KnownTable
from hedgerow.domain.layout import AS_DECLARED, Layout
from hedgerow.domain.levels import calendar_levels
from hedgerow.domain.spans import Span
from hedgerow.errors import DomainError

_MOST_REDUCTIONS = 1 << 16
"""Reduced cliques that a domain remembers."""


class _Known(dict[str, int]):
    """A number for each attribute, and for other variables once it was asked for."""

    def __init__(self, numbers: Mapping[str, int], find: Callable[[str], int]) -> None:
        super().__init__(numbers)
        self._find = find

    def __missing__(self, name: str) -> int:
        found = self[name] = self._find(name)
        return found


_SHOWN = 8
"""Columns that a representation names."""


def _values_text(attribute: Attribute) -> str:
    """All values of a column if they are few; else the first and the last."""
    if attribute.size <= _SHOWN:
        return ", ".join(map(attribute.label, range(attribute.size)))
    return f"{attribute.label(0)} ... {attribute.label(attribute.size - 1)}"


class _Contents:
    """What equal domains share, so that two of them are compared value by value once, and by identity after that."""


_CONTENTS: WeakValueDictionary[tuple[object, ...], _Contents] = WeakValueDictionary()
_CONTENTS_LOCK = Lock()


@dataclass(frozen=True, eq=False)
class Domain:
    """An ordered set of attributes, functions of these, and what rules out records; a record is a code per attribute.

    Attributes:
        attributes: The attributes that a record has codes of.
        declared: Derived attributes that were declared. Ordered attributes of many values without a level among them
            have default ones too (``derived``).
        constraints: Rules that no record breaks.
        unleveled: Attributes without default levels, though they have many values, in order.
        ignored: Columns of the data that are no attributes and are not read. Records are the same without them, so
            domains that differ in these alone are equal.
        draft: Whether the domain was read off data and nobody has said yet that it is public; neither is this compared.
        trusted_types: Whether types that one cell can change were taken for public; nor is this.
        layout: Order and form of the columns of records; nor is this.
        spans: Attributes that are durations between two columns of the data; nor are these.
        known: Counts that are public before a run, which releases keep.
        population: The same of the population that records with weights stand for, to which answers and records are
            calibrated.
        target: Column that models will predict from the others, if runs are to ask for what they need; nor is it
            compared.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 0, 99)))
        >>> domain.shape, domain.size
        ((2, 100), 200)
        >>> [each.name for each in domain.derived], domain["age.10"].labels[0]
        (['age.10'], '[0, 10)')
    """

    attributes: tuple[Attribute, ...]
    declared: tuple[Derived, ...]
    constraints: tuple[Constraint, ...]
    unleveled: Clique
    ignored: Clique
    draft: bool
    trusted_types: bool
    layout: Layout
    spans: tuple[Span, ...]
    known: tuple[KnownTable, ...]
    population: tuple[KnownTable, ...]
    target: str | None

    def __repr__(self) -> str:
        """One line: names and numbers of values of the first columns; ``domain_to_mapping`` says everything."""
        shown = ", ".join(f"{attribute.name}: {attribute.size:,}" for attribute in self.attributes[:_SHOWN])
        more = len(self.attributes) - _SHOWN
        draft = "draft; " if self.draft else ""
        return f"Domain({draft}{shown}{f' and {more} more' if more > 0 else ''})"

    def _repr_html_(self) -> str:
        """The same as ``to_html``, which notebooks look for by this name."""
        return self.to_html()

    def to_html(self) -> str:
        """The columns and their values as a small table of HTML."""
        more = len(self.attributes) - MOST_ROWS
        facts = [("rules", f"{len(self.constraints)}")] if self.constraints else []
        totals = (*self.known, *self.population)
        facts += [("known totals", "; ".join(table.text for table in totals))] if totals else []
        facts += [("ignored", self.ignored_text)] if self.ignored else []
        rows = ((attribute.name, f"{attribute.size:,}", _values_text(attribute)) for attribute in self.attributes)
        title = "Draft of a domain, read off private data" if self.draft else "Domain"
        return card(title, facts, ("column", "values", "from, to"), rows, more=more)

    def __init__(
        self,
        attributes: Iterable[Attribute],
        declared: Iterable[Derived] = (),
        constraints: Iterable[Constraint] = (),
        unleveled: Iterable[str] = (),
        *,
        ignored: Iterable[str] = (),
        draft: bool = False,
        trusted_types: bool = False,
        layout: Layout = AS_DECLARED,
        spans: Iterable[Span] = (),
        known: Iterable[KnownTable] = (),
        population: Iterable[KnownTable] = (),
        target: str | None = None,
    ) -> None:
        """Check that there are attributes, that all names differ, and what derived attributes and constraints name.

        Raises:
            DomainError: There is no attribute, a name is there twice, or something names an attribute that is none; or
                a known table has another number of cells.
        """
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "attributes", tuple(attributes))
        object.__setattr__(self, "declared", tuple(declared))
        object.__setattr__(self, "spans", tuple(spans))
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "ignored", tuple(dict.fromkeys(ignored)))
        object.__setattr__(self, "draft", draft)
        object.__setattr__(self, "trusted_types", trusted_types)
        bare = set(unleveled) - self._leveled
        says = tuple(constraint for constraint in constraints if constraint.says)
        object.__setattr__(self, "constraints", says)
        object.__setattr__(self, "unleveled", tuple(name for name in self.names if name in bare))
        if not self.attributes:
            raise DomainError(
                "a domain needs at least one attribute",
                remedy="list the columns of the table; the comments of a draft say why it left columns out",
            )
        names = [*self.names, *(function.name for function in self.declared)]
        repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if repeated:
            raise DomainError(f"attribute {repeated[0]!r} is declared twice", remedy="declare each column once")
        both = [name for name in self.ignored if name in names]
        if both:
            raise DomainError(f"column {both[0]!r} is declared and ignored", remedy="delete one of the two")
        if target is not None and target not in self.names:
            raise DomainError(f"the target {target!r} is no column", remedy="name a column that is declared")
        for span in self.spans:
            self._check_span(span)
        for derived in self.declared:
            self._check_scope(f"derived attribute {derived.name!r}", derived.sources, derived.codes.shape)
        for constraint in self.constraints:
            shape = tuple(len(value_class) for value_class in constraint.classes)
            self._check_scope(f"the constraint {constraint.text!r}", constraint.scope, shape)
        object.__setattr__(self, "known", tuple(known))
        object.__setattr__(self, "population", tuple(population))
        for table in (*self.known, *self.population):
            cells = math.prod(self.shape_of(table.names))
            if table.names != self.clique(table.names) or len(table.counts) != cells:
                message = f"{table.text} has {len(table.counts):,} counts for {cells:,} cells"
                raise DomainError(message, remedy="give a count for each cell, with names in the order of the domain")

    def _check_span(self, span: Span) -> None:
        if span.length not in self.names or span.start not in self.names or span.start == span.length:
            raise DomainError(
                f"{span.length!r} lies between {span.start!r} and {span.end!r}, and begins at no attribute",
                remedy="declare the column under 'from' as an attribute of dates",
            )
        taken = [*self.names, *self.ignored, *(function.name for function in self.declared)]
        taken += [each.end for each in self.spans if each is not span]
        if span.end in taken:
            raise DomainError(
                f"{span.end!r} is the end of {span.length!r} and declared elsewhere",
                remedy="delete it there: it follows from the two others",
            )

    def _check_scope(self, what: str, scope: Clique, shape: tuple[int, ...]) -> None:
        for name in scope:
            if name not in self.names:
                raise DomainError(f"{what} names no attribute {name!r}", remedy="name columns of the table")
        if scope != self.clique(scope) or shape != self.shape_of(scope):
            raise DomainError(
                f"{what} has a table of shape {shape} over {', '.join(scope)}",
                remedy="name attributes in the order of the domain, with one entry for each of their codes",
            )

    def __eq__(self, other: object) -> bool:
        """Whether the same records exist in both, with the same variables and known totals."""
        return self is other or (isinstance(other, Domain) and self.contents is other.contents)

    def __hash__(self) -> int:
        """A hash that is computed once: queries over a thousand attributes are looked up by the thousand."""
        return hash(self.contents)

    @cached_property
    def contents(self) -> _Contents:
        """The same object for all domains that are equal to this one."""
        compared = (self.attributes, self.declared, self.constraints, self.unleveled, self.known, self.population)
        with _CONTENTS_LOCK:
            return _CONTENTS.setdefault(compared, _Contents())

    def __reduce__(self) -> tuple[Callable[..., Domain], tuple[object, ...]]:
        """Rebuild it in other processes, where hashes differ."""
        return partial(Domain, **{field.name: getattr(self, field.name) for field in fields(self)}), ()

    @property
    def ignored_text(self) -> str:
        """Names of the columns that are not read, in one line."""
        return ", ".join(name or "(without a name)" for name in self.ignored)

    @cached_property
    def names(self) -> Clique:
        """Attribute names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def size(self) -> int:
        """Number of cells, exact however large; records that constraints rule out are among them."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        """Number of attributes."""
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        """Attributes, in order."""
        return iter(self.attributes)

    # Variables

    @cached_property
    def derived(self) -> tuple[Derived, ...]:
        """Derived attributes: those that were declared, and default levels of attributes without a declared one."""
        leveled = {*self._leveled, *self.unleveled}
        taken = {*self.names, *(function.name for function in self.declared)}
        defaults = chain.from_iterable(
            calendar_levels(each) or default_levels(each) for each in self if each.name not in leveled
        )
        return (*self.declared, *(default for default in defaults if default.name not in taken))

    @property
    def _leveled(self) -> set[str]:
        """Attributes with a declared level."""
        return {function.sources[0] for function in self.declared if len(function.sources) == 1 and not function.column}

    @cached_property
    def derived_columns(self) -> tuple[Derived, ...]:
        """Derived attributes that the data have a column of."""
        return tuple(function for function in self.declared if function.column)

    @property
    def has_rules(self) -> bool:
        """Whether a row of the data can break a rule: a constraint, or the function that a derived column follows."""
        return bool(self.constraints or self.derived_columns or any(span.column for span in self.spans))

    @property
    def known_total(self) -> int | None:
        """The number of records, if known totals tell it."""
        return self.known[0].total if self.known else None

    @cached_property
    def of_population(self) -> Domain:
        """The domain whose known totals are those of the population, for what keeps such totals."""
        return replace(self, known=self.population, population=())

    @property
    def columns(self) -> tuple[Attribute, ...]:
        """The columns of a table of records: the attributes, then derived columns, unless the layout says otherwise.

        Example:
            >>> from hedgerow import IntegerRange
            >>> area, dense = IntegerRange("area", 0, 2), IntegerRange("dense", 0, 1)
            >>> [each.name for each in Domain((area,), (Derived(dense, ("area",), [0, 1, 1], column=True),)).columns]
            ['area', 'dense']
        """
        declared = {each.name: each for each in (*self.attributes, *(d.attribute for d in self.derived_columns))}
        return tuple(declared[name] for name in self.layout.sorted(declared))

    @cached_property
    def grains(self) -> tuple[Derived, ...]:
        """For each attribute that constraints are about the classes of its codes that they tell apart, if fewer.

        Models hold constraints over these, so that a rule about children costs two classes of ages. Their names are
        not meant for anyone.
        """
        new, taken = [], set(self.all_names)
        for attribute in self:
            classes = [
                constraint.classes[constraint.scope.index(attribute.name)]
                for constraint in self.constraints
                if attribute.name in constraint.scope
            ]
            if classes:
                codes = refined(classes)
                count = int(codes.max()) + 1
                if count < attribute.size:
                    new.append(hidden(attribute.name, (attribute.name,), codes, taken))
        return tuple(new)

    @cached_property
    def meets(self) -> tuple[tuple[Derived, tuple[str, str]], ...]:
        """Functions that say what a level and the classes do together, where neither determines the other; with both.

        Few of their combinations exist: a table over an age group and over who is a child has no more cells than it
        needs. Only for levels that are nested. Their names are not meant for anyone either.
        """
        taken = {*self.all_names, *(grain.name for grain in self.grains)}
        pairs = list[tuple[Derived, tuple[str, str]]]()
        for grain in self.grains:
            levels = [function for function in self.derived if function.sources == grain.sources]
            nested = all(is_nested(one, other) for one, other in combinations(levels, 2))
            for level in levels if nested else ():
                if level.codes.min() >= 0 and not is_nested(level, grain):
                    both = refined([level.codes, grain.codes])
                    pairs.append((hidden(level.name, level.sources, both, taken), (level.name, grain.name)))
        return tuple(pairs)

    @cached_property
    def zeros(self) -> tuple[tuple[Clique, Bools], ...]:
        """Each constraint as variables in order (grains, or attributes that have none), and what it allows of them."""
        grains = {grain.sources[0]: grain for grain in self.grains}
        excluded = []
        for constraint in self.constraints:
            scope = tuple(grains[name].name if name in grains else name for name in constraint.scope)
            index = []
            for name, classes in zip(constraint.scope, constraint.classes, strict=True):
                of_grain = coarser(grains[name].codes, classes) if name in grains else classes
                index.append(of_grain)
            order = sorted(range(len(scope)), key=lambda axis: self.axes(scope)[axis])
            table = constraint.allowed[np.ix_(*index)].transpose(order)
            excluded.append((tuple(scope[axis] for axis in order), table))
        return tuple(excluded)

    @cached_property
    def all_names(self) -> Clique:
        """Names of attributes, then of derived ones: all that a condition or a workload may name."""
        return (*self.names, *(function.name for function in self.derived))

    @cached_property
    def variables(self) -> tuple[Attribute, ...]:
        """Attributes, then derived ones, grains and meets: everything that a marginal of a model can be over."""
        return (*self.attributes, *(function.attribute for function in self._functions.values()))

    @cached_property
    def _functions(self) -> dict[str, Derived]:
        return {each.name: each for each in (*self.derived, *self.grains, *(meet for meet, _ in self.meets))}

    @property
    def hidden_names(self) -> Clique:
        """Names of variables that are for models alone."""
        return tuple(name for name in self._functions if name not in self.all_names)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {variable.name: i for i, variable in enumerate(self.variables)}

    def function(self, name: str) -> Derived | None:
        """The derived attribute of that name; None for an attribute of the records.

        Raises:
            DomainError: There is none of that name.
        """
        self.index(name)
        return None if name in self._positions else self._functions[name]

    def __contains__(self, name: object) -> bool:
        """Whether an attribute of that name exists, derived or not."""
        return name in self._positions or name in self._places

    def __getitem__(self, name: str) -> Attribute:
        """The attribute of that name, derived or not.

        Raises:
            DomainError: There is none.
        """
        place = self._positions.get(name)
        return self.attributes[place] if place is not None else self.variables[self.index(name)]

    def index(self, name: str) -> int:
        """Position of a variable.

        Raises:
            DomainError: There is none of that name.
        """
        return self._position_of[name]

    @cached_property
    def _position_of(self) -> _Known:
        return _Known(self._positions, self._found)

    @cached_property
    def _size_of(self) -> _Known:
        return _Known(dict(zip(self.names, self.shape, strict=True)), lambda name: self[name].size)

    def _found(self, name: str) -> int:
        place = self._places.get(name)
        if place is None:
            levels = [f.name for f in self.derived if f.name.startswith(f"{name.split('.', maxsplit=1)[0]}.")]
            known = ", ".join([*self.names, *levels])
            raise DomainError(f"there is no attribute {name!r}", remedy=f"the attributes are: {known}")
        return place

    def axes(self, clique: Sequence[str]) -> tuple[int, ...]:
        """Positions of the variables of a clique."""
        positions = self._position_of
        return tuple([positions[name] for name in clique])

    def clique(self, names: Iterable[str]) -> Clique:
        """The names in the order of the domain, each once.

        Raises:
            DomainError: A name is not a variable.
        """
        return tuple(sorted(set(names), key=self._position_of.__getitem__))

    def shape_of(self, clique: Sequence[str]) -> tuple[int, ...]:
        """Number of codes of each variable of a clique."""
        sizes = self._size_of
        return tuple([sizes[name] for name in clique])

    def cells(self, clique: Sequence[str]) -> int:
        """Number of cells of the table over a clique; 1 over none.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99))).cells(("sex", "age"))
            200
        """
        return math.prod(self.shape_of(clique))

    # What determines what

    def base(self, names: Iterable[str]) -> Clique:
        """The attributes of records that some variables are functions of, in order.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99))).base(["age.10", "sex"])
            ('sex', 'age')
        """
        bases: set[str] = set()
        for name in names:
            if name in self._positions:
                bases.add(name)
            else:
                self.index(name)
                bases.update(self._functions[name].sources)
        return self.clique(bases)

    def lookup(self, fine: str, coarse: str) -> Places | None:
        """The code of one variable for each code of another that determines it alone; None where it does not.

        Args:
            fine: A variable.
            coarse: Another, or the same.

        Returns:
            Shape ``(self[fine].size,)``; -1 for codes of ``fine`` that no record has. Not to be changed.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain((IntegerRange("age", 0, 4095),))
            >>> domain.lookup("age.16", "age.256")[[0, 15, 16]], domain.lookup("age.256", "age.16") is None
            (array([0, 0, 1], dtype=int32), True)
        """
        key = (fine, coarse)
        if key not in self._lookups:
            self._lookups[key] = self._looked_up(fine, coarse)
        return self._lookups[key]

    @cached_property
    def _lookups(self) -> dict[tuple[str, str], Places | None]:
        return {}

    def _looked_up(self, fine: str, coarse: str) -> Places | None:
        size = self[fine].size
        if fine == coarse:
            return np.arange(size, dtype=np.int32)
        finer, function = self.function(fine), self.function(coarse)
        if function is None:
            return None  # no function of an attribute is told to give it back
        if finer is None:
            return function.codes if function.sources == (fine,) else None
        if finer.sources != function.sources:
            return None
        places = coarser(finer.codes.reshape(-1), function.codes.reshape(-1))
        if places is None:
            return None
        return np.concatenate([places, np.full(size - len(places), -1, dtype=np.int32)])

    def coarser(self, name: str) -> Clique:
        """The derived attributes that a variable alone determines, in the order of the domain: its levels.

        Of several that determine each other, only the first is there.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Domain((IntegerRange("age", 0, 4095),)).coarser("age")
            ('age.16', 'age.256')
        """
        source = self.base((name,))
        names: list[str] = []
        for function in self.derived:
            if function.sources == source and function.name != name and self.lookup(name, function.name) is not None:
                same = (other for other in (name, *names) if self.lookup(function.name, other) is not None)
                names += [] if any(self.lookup(other, function.name) is not None for other in same) else [function.name]
        return tuple(names)

    def determines(self, names: Collection[str], name: str) -> bool:
        """Whether some variables determine another.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99))).determines(("sex", "age"), "age.10")
            True
        """
        if name in names:
            return True
        if name in self._positions:
            return False
        finer = self._finer.get(name)
        if finer is None:
            sources = self.base((name,))
            alike = (function.name for function in self._functions.values() if function.sources == sources)
            finer = frozenset(each for each in (*sources, *alike) if self.lookup(each, name) is not None)
            self._finer[name] = finer
        return not finer.isdisjoint(names) or all([source in names for source in self._functions[name].sources])

    @cached_property
    def _finer(self) -> dict[str, frozenset[str]]:
        """For functions that were asked for the variables that determine each alone."""
        return {}

    def reduced(self, names: Iterable[str]) -> Clique:
        """The variables that the others do not determine, in order: they say all that the others say.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 4095))).reduced(["age.16", "sex", "age.256"])
            ('sex', 'age.16')
        """
        asked = frozenset(names)
        reduction = self._reductions.get(asked)
        if reduction is None:
            kept = list(self.clique(asked))
            if not all(name in self._positions for name in kept):
                for name in reversed(tuple(kept)):  # of two that determine each other the first stays
                    others = [each for each in kept if each != name]
                    kept = others if self.determines(others, name) else kept
            if len(self._reductions) >= _MOST_REDUCTIONS:
                self._reductions.clear()
            reduction = self._reductions[asked] = tuple(kept)
        return reduction

    @cached_property
    def _reductions(self) -> dict[frozenset[str], Clique]:
        """Reduced sets that were asked for: trees ask for the same ones again and again."""
        return {}

    def codes_in(self, name: str, clique: Clique) -> Places:
        """The codes of a variable that a clique determines, for each of its cells.

        Args:
            name: A variable.
            clique: Variables that determine it.

        Returns:
            One axis for each variable of the clique, of size 1 for those that do not matter; -1 where no record is.

        Raises:
            DomainError: The clique does not determine it.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
            >>> domain.codes_in("age.10", ("sex", "age")).shape
            (1, 100)
        """
        for axis, each in enumerate(clique):
            codes = self.lookup(each, name) if each != name or name in clique else None
            if codes is not None:
                return codes.reshape([-1 if other == axis else 1 for other in range(len(clique))])
        function = self.function(name)
        if function is None or not set(function.sources) <= set(clique):
            raise DomainError(f"{', '.join(clique) or 'nothing'} does not determine {name!r}")
        sizes = dict(zip(function.sources, function.codes.shape, strict=True))
        order = sorted(range(len(function.sources)), key=lambda axis: clique.index(function.sources[axis]))
        return function.codes.transpose(order).reshape([sizes.get(name, 1) for name in clique])

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some variables, in the order in which they are named, with what is known of these alone.

        Example:
            >>> from hedgerow import IntegerRange
            >>> d = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
            >>> d.project(["b"]).shape
            (3,)
        """
        kept = tuple(names)
        inside = {name for name in kept if name in self._positions}
        declared = (f.ordered(kept) for f in self.declared if f.name not in kept and set(f.sources) <= inside)
        part = replace(
            self,
            attributes=tuple(self[name] for name in kept),
            declared=tuple(declared),
            constraints=tuple(rule.ordered(kept) for rule in self.constraints if set(rule.scope) <= inside),
            ignored=tuple(name for name in self.ignored if name not in kept),
            spans=tuple(span for span in self.spans if {span.length, span.start} <= inside),
            known=(),
            population=(),
            target=self.target if self.target in inside else None,
        )

        def among(table: KnownTable) -> KnownTable:
            return table.among(self.shape_of(table.names), part.clique(name for name in table.names if name in part))

        if not (self.known or self.population):
            return part
        known, population = (
            tables if kept == self.names else tuple(dict.fromkeys(among(table) for table in tables))
            for tables in (self.known, self.population)
        )
        return replace(part, known=known, population=population)

    def of_columns(self, names: Iterable[str]) -> Domain:
        """The domain of some columns of the data: a derived column stays one where all that it is made from is there.

        Example:
            >>> from hedgerow import IntegerRange
            >>> twice = Derived(IntegerRange("twice", 0, 2), ("a",), [0, 2], column=True)
            >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)), (twice,))
            >>> domain.of_columns(["a", "twice"]).names, domain.of_columns(["b", "twice"]).names
            (('a',), ('b', 'twice'))
        """
        lengths = {span.end: span.length for span in self.spans}
        named = tuple(dict.fromkeys(lengths.get(name, name) for name in names))
        for span in self.spans:
            if span.length in named and span.start not in named:
                message = f"the columns hold {span.length!r} and not {span.start!r}, which it begins at"
                raise DomainError(message, remedy=f"name {span.start!r} too")
        following = [d.name for d in self.derived_columns if set(d.sources) <= set(named)]
        return self.project(name for name in named if name not in following)

    def merge(self, other: Domain) -> Domain:
        """This domain, followed by the attributes that only the other has.

        Raises:
            DomainError: An attribute differs between the two.
        """
        for attribute in other:
            if attribute.name in self and self[attribute.name] != attribute:
                raise DomainError(
                    f"attribute {attribute.name!r} differs between the two domains", remedy="declare it alike in both"
                )
        attributes = (*self.attributes, *(attribute for attribute in other if attribute.name not in self))
        names = [attribute.name for attribute in attributes]
        return Domain(
            attributes,
            dict.fromkeys((*self.declared, *(function.ordered(names) for function in other.declared))),
            dict.fromkeys((*self.constraints, *(constraint.ordered(names) for constraint in other.constraints))),
            (*self.unleveled, *other.unleveled),
            ignored=(
                name for name in (*self.ignored, *other.ignored) if name not in {*self.all_names, *other.all_names}
            ),
            draft=self.draft or other.draft,
            trusted_types=self.trusted_types or other.trusted_types,
            layout=self.layout.merged(other.layout),
            spans=dict.fromkeys((*self.spans, *other.spans)),
            known=self.known,
            population=self.population,
            target=self.target or other.target,
        )
