"""Domains some of whose bins and values are to be learnt from the private data, under a budget.

What is public about such an attribute is its range: ``{min: 0, max: 99999, bins: {learn: 20}}``. It is cut into fine
cells first, and the bins that are learnt are runs of these. A range of at most `FINE` whole numbers or steps has a cell
for each; a larger one, or one with fractions, has the cells between two public grids: one of equal widths, and one
whose distances from the smallest number have equal ratios, for numbers most of which are small.

Of a column of labels that nobody can list, ``{values: {learn: 500}}``, nothing is public but how a cell is read as a
label: the rules of its spelling, and the texts of the missing and the other value, which such a column always has. As
long as its values are not known, all labels are the other value.

Of a public list of values many may be rare: ``{values: {learn: 50, of: [...]}}`` keeps those that many records have,
and the others become the other value; with ``prefix: [3, 1]`` those that begin alike become one value where they are
many together, and only what is left becomes the other one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hedgerow.domain.attribute import (
    Attribute,
    Binned,
    Categorical,
    attribute_error,
    canonical_text,
    closed,
    value_text,
)
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries import NONE, are_options, attribute_of, learnt_bins, learnt_values, points_of
from hedgerow.domain.file import check_public, domain_of, of_file
from hedgerow.domain.known import Known, known_entry, known_table
from hedgerow.domain.spelling import Spelling

FINE = 4096
"""Most cells that bins are learnt from; half of them on each grid where there are two."""
_SPAN = 20
"""Binary orders of magnitude of distances from the smallest number, on the grid of equal ratios, of fractions."""
_DIGITS = 5
"""Edges of numbers with fractions are rounded to so many digits behind the first one of the range."""


class OpenDomain:
    """A domain file with bins or values that are to be learnt; `open_domain` reads it.

    Args:
        content: The content of the file.
        folder: The folder that its paths are relative to.
        columns: The columns that are wanted, in order; None for all.

    Attributes:
        bins: The number of bins to be learnt of each attribute, by name; those of points come to them.
        values: The largest number of values to be learnt of each attribute that lists none, by name.
        listed: The largest number of values to be kept of each public list, by name.
        groups: For each name in ``listed`` the group of each of its values, at every level, finest first.
        points: The codes of the fine cells that are declared points, by name.

    Raises:
        DomainError: The content is wrong, or a level or a rule is about bins that are not known yet.

    Example:
        >>> wanted = OpenDomain({"age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}}, "sex": 2})
        >>> wanted.bins, wanted.fine.shape
        ({'age': 4}, (100, 2))
        >>> wanted.with_bins({"age": [18, 30, 60]})["age"].labels
        ('[0, 18)', '[18, 30)', '[30, 60)', '[60, 99]')
    """

    def __init__(
        self, content: Mapping[str, Any], folder: Path | None = None, columns: Iterable[str] | None = None
    ) -> None:
        """Check the whole content, with fine cells in place of the bins."""
        self._content, self._folder = content, folder
        self._columns = None if columns is None else tuple(columns)
        nested = content.get("attributes")
        whole = isinstance(nested, Mapping) and not any(_is_wish(nested, part) for part in ("bins", "values"))
        entries: Mapping[str, Any] = nested if isinstance(nested, Mapping) and whole else content
        wishes = {str(name): entry for name, entry in entries.items() if _is_wish(entry, "bins")}
        listed = {str(name): entry for name, entry in entries.items() if _is_wish(entry, "values")}
        self._cells = {name: _fine(name, entry) for name, entry in wishes.items()}
        self._unlisted = {name: _unlisted(name, entry) for name, entry in listed.items()}
        self._lists = {name for name, entry in listed.items() if "of" in entry["values"]}
        points = {name: _points(self._cells[name], entry) for name, entry in wishes.items()}
        self._forced = {name: _apart(self._cells[name], point) for name, point in points.items()}
        self.points = {name: [self._cells[name].edges.index(point) for point in each] for name, each in points.items()}
        kept = {*wishes, *listed} if self._columns is None else set(self._columns)
        numbers = {name: learnt_bins(name, entry["bins"]) for name, entry in wishes.items() if name in kept}
        self.bins = {name: number for name, number in numbers.items() if number is not None}
        learnt = {name: learnt_values(name, entry["values"]) for name, entry in listed.items() if name in kept}
        most = {name: number for name, number in learnt.items() if number is not None}
        self.values = {name: number for name, number in most.items() if name not in self._lists}
        self.listed = {name: number for name, number in most.items() if name in self._lists}
        self.groups = {name: _groups(self._unlisted[name], listed[name]["values"]) for name in self.listed}
        self._whole = domain_of(content, folder, self._open)
        self._check_apart()

    def with_known(self, given: Iterable[Known]) -> OpenDomain:
        """The same with further known totals, of columns of which nothing is to be learnt.

        Args:
            given: See `known_table`.
        """
        nested = isinstance(self._content.get("attributes"), Mapping) and not are_options(self._content["attributes"])
        content = dict(self._content) if nested else {"attributes": dict(self._content)}
        tables = [known_table(self._whole, each, Path()) for each in given]
        entries = [*map(known_entry, (*self._whole.known, *self._whole.population, *tables))]
        return OpenDomain(content | {"known": entries}, self._folder, self._columns)

    @property
    def learns(self) -> bool:
        """Whether anything is to be learnt of the columns that are wanted."""
        return bool(self.bins or self.values or self.listed)

    @property
    def _open(self) -> dict[str, Attribute]:
        """The attributes of which something is to be learnt, as long as it is not known."""
        known = {name: each.values if name in self._lists else () for name, each in self._unlisted.items()}
        return {**self._cells, **{name: _listing(self._unlisted[name], values) for name, values in known.items()}}

    def _check_apart(self) -> None:
        """Refuse what is made from bins that are not known yet."""
        used = [f.sources for f in self._whole.declared] + [c.scope for c in self._whole.constraints]
        used += [table.names for table in (*self._whole.known, *self._whole.population)]
        for names in used:
            for name in names:
                if name in self._open:
                    part = "bins" if name in self._cells else "values"
                    remedy = f"give its {part}, or take it out of levels, derived columns and constraints"
                    raise attribute_error(name, f"its {part} are to be learnt, and something is made from them", remedy)

    @cached_property
    def fine(self) -> Domain:
        """The domain that bins are learnt in, with fine cells; all labels of open columns are the other value."""
        return self._wanted(self._whole)

    @cached_property
    def outline(self) -> Domain:
        """The domain with bins of equally many fine cells, and the most values: what can be planned for."""
        cuts = {}
        for name, bins in self.bins.items():
            cells = self.fine[name].ordinary
            cuts[name] = [place for i in range(1, bins) if (place := round(i * cells / bins))]
        values = {name: [f"value {i}" for i in range(most)] for name, most in self.values.items()}
        return self.with_bins(
            cuts, values | {name: self._unlisted[name].values[:most] for name, most in self.listed.items()}
        )

    def label_of(self, name: str) -> Callable[[str], str | None]:
        """The rule that reads the text of a cell of an open column as a label; None where it is no label of its own.

        Args:
            name: A name in ``values``.

        Example:
            >>> wanted = OpenDomain({"job": {"values": {"learn": 9}, "trim": True, "synonyms": {"RN": "nurse"}}})
            >>> [wanted.label_of("job")(text) for text in (" nurse", "RN", "", "?")]
            ['nurse', 'nurse', None, None]
        """
        declared = self._unlisted[name]
        normal, synonyms = declared.spelling.normal, dict(declared.spelling.synonyms)
        stands = {normal(text): normal(label) for text, label in synonyms.items()}
        apart = {normal(text) for text in (declared.missing, declared.other) if text is not None}

        def label(text: str) -> str | None:
            spelled = normal(text)
            spelled = spelled if spelled in stands or spelled in apart else canonical_text(spelled)
            spelled = stands.get(spelled, spelled)
            if (
                not spelled or spelled in apart or normal(spelled) != spelled
            ):  # the last: rare letters, read as the other value
                return None
            return spelled

        return label

    def labelled(self, labels: Mapping[str, Sequence[str]]) -> Domain:
        """The domain that labels are counted in, with fine cells in place of bins. As private as the labels are.

        Args:
            labels: For each name in ``values``, labels that the table has, in order.
        """
        listed = {name: _listing(self._unlisted[name], of_column) for name, of_column in labels.items()}
        return self._with({**self._open, **listed})

    def with_bins(
        self,
        cuts: Mapping[str, Sequence[int]],
        values: Mapping[str, Sequence[Any]] | None = None,
        merged: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Domain:
        """The domain with bins that begin at some of the fine cells, beside declared points, and with values.

        Args:
            cuts: For each name in ``bins``, codes of fine cells that bins begin with; the first one always does.
            values: For each name in ``values`` and ``listed``, its values in order; none unless given.
            merged: For names in ``listed``, the value that texts of others are read as.
        """
        made: dict[str, Attribute] = {}
        for name in self.bins:
            fine = self._cells[name]
            starts = {fine.edges[start] for start in (0, *cuts[name])} | self._forced[name]
            made[name] = _binned(fine, sorted(starts), learnt=True)
        for name in (*self.values, *self.listed):
            labels, alike = (values or {}).get(name, ()), (merged or {}).get(name, {})
            made[name] = _listing(self._unlisted[name], labels, alike, learnt=True)
        return self._with({**self._open, **made})

    def _with(self, attributes: Mapping[str, Attribute]) -> Domain:
        return self._wanted(domain_of(self._content, self._folder, attributes))

    def _wanted(self, whole: Domain) -> Domain:
        return whole if self._columns is None else whole.of_columns(self._columns)


def open_domain(
    path: str | os.PathLike[str], columns: Iterable[str] | None = None, *, accept_draft: bool = False
) -> Domain | OpenDomain:
    """Read a domain file, some of whose bins or values may be to be learnt.

    Args:
        path: The file: YAML or JSON, in UTF-8.
        columns: The columns that are wanted, in order; None for all.
        accept_draft: Whether a file that says ``draft: true`` is read.

    Returns:
        A domain if there is nothing to be learnt of these columns.

    Raises:
        DomainError: See `read_domain`; or something is made from bins or values that are not known yet.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "d.yaml")
        ...     _ = file.write_text("age: {min: 0, max: 99, bins: {learn: 4}}")
        ...     open_domain(file).bins
        {'age': 4}
    """

    def made(content: object, folder: Path) -> Domain | OpenDomain:
        wanted = OpenDomain(content if isinstance(content, Mapping) else {}, folder, columns)
        if not accept_draft:
            check_public(wanted.fine)
        return wanted if wanted.learns else wanted.fine

    return of_file(path, made)


def _is_wish(entry: object, part: str) -> bool:
    """Whether an entry of a file asks for its bins, or its values, to be learnt."""
    return isinstance(entry, Mapping) and isinstance(options := entry.get(part), Mapping) and "learn" in options


def _unlisted(name: str, entry: Mapping[str, Any]) -> Categorical:
    """The declarations of a column whose values are to be learnt; its values are those that synonyms stand for."""
    learnt_values(name, entry["values"])
    for option in ("levels", "learnt"):
        if entry.get(option, NONE) not in (NONE, False):
            raise attribute_error(name, f"{option!r} of values that are to be learnt", "delete it, or list the values")
    declared = {option: True for option in ("missing", "other") if entry.get(option) in (None, False)}
    targets = entry.get("synonyms") or {}
    labels = sorted({str(label) for label in targets.values()}) if isinstance(targets, Mapping) else []
    if "of" in entry["values"]:
        labels = entry["values"]["of"]
        declared.pop("missing", None)
    attribute = attribute_of(name, {**entry, **declared, "values": labels})
    if not isinstance(attribute, Categorical):
        raise attribute_error(name, "its values are to be learnt, and it has none", "list its values")
    return attribute


def _groups(declared: Categorical, wish: Mapping[str, Any]) -> list[dict[str, str]]:
    """The group of each value of a list, at every level: what it begins with, and a star."""
    lengths = wish.get("prefix", [])
    texts = [value_text(value) for value in declared.values]
    groups = []
    for length in sorted(lengths if isinstance(lengths, list | tuple) else [lengths], reverse=True):
        groups.append({text: f"{declared.spelling.normal(text)[:length]}*" for text in texts})
    if stars := {label for level in groups for label in level.values()}.intersection(texts):
        raise attribute_error(declared.name, f"the value {min(stars)!r} is named like a group", "rename it")
    return groups


def _listing(
    declared: Categorical, values: Sequence[Any], merged: Mapping[str, str] | None = None, *, learnt: bool = False
) -> Categorical:
    """The column with values; synonyms of others are read as the other value, like these."""
    alike = dict(merged or {})
    spelling = declared.spelling
    texts = [*map(str, values), declared.missing, declared.other]
    ends = {spelling.normal(text) for text in texts if text is not None}
    read = [*((text, alike.get(label, label)) for text, label in spelling.synonyms), *alike.items()]
    synonyms = {text: label for text, label in read if spelling.normal(label) in ends}
    kept = Spelling(trim=spelling.trim, fold=spelling.fold, unicode=spelling.unicode, synonyms=synonyms)
    ends_of = {"missing": declared.missing, "other": declared.other}
    return Categorical(declared.name, values, spelling=kept, learnt=learnt, **ends_of)


def _fine(name: str, entry: Mapping[str, Any]) -> Binned:
    """The attribute in fine cells."""
    learnt_bins(name, entry["bins"])
    if entry.get("levels", NONE) != NONE:
        raise attribute_error(name, "'levels' of bins that are to be learnt", "delete them, or give the bins")
    ranged = _ranged(name, entry)
    high = math.floor(ranged.edges[-1]) if ranged.whole else ranged.edges[-1]
    grid = _starts(ranged.edges[0], high, whole=ranged.whole)
    return _binned(ranged, sorted({*grid, *_apart(ranged, _points(ranged, entry))}))


def _binned(like: Binned, starts: Sequence[float], *, learnt: bool = False) -> Binned:
    """An attribute with other bins, given by their smallest numbers."""
    last = like.edges[-1]
    edges = closed([math.floor(start) for start in starts], math.floor(last)) if like.whole else [*starts, last]
    declared = {"missing": like.missing, "other": like.other}
    return Binned(like.name, edges, whole=like.whole, scale=like.scale, learnt=learnt, **declared)


def _ranged(name: str, entry: Mapping[str, Any]) -> Binned:
    """The range of an entry, in two bins."""
    kept = {key: value for key, value in entry.items() if key not in ("levels", "points")}
    attribute = attribute_of(name, {**kept, "bins": 2})
    if not isinstance(attribute, Binned):
        raise attribute_error(name, "bins to be learnt of listed values", "give 'min' and 'max'")
    return attribute


def _starts(low: float, high: float, *, whole: bool) -> list[float]:
    """The smallest number of each fine cell."""
    span = high - low
    if whole and span < FINE:
        return [low + step for step in range(int(span) + 1)]
    half = FINE // 2
    orders = math.log2(span) if whole else _SPAN
    grids = [i / half for i in range(half)] + [2.0 ** (orders * (i / half - 1.0)) for i in range(half)]
    step = 1.0 if whole else 10.0 ** (math.floor(math.log10(span)) - _DIGITS)
    digits = max(0, -round(math.log10(step)))
    rounded = {round(round((low + share * span) / step) * step, digits) for share in grids}
    return sorted({low} | {start for start in rounded if low < start < high})


def _points(ranged: Binned, entry: Mapping[str, Any]) -> tuple[int, ...]:
    """The declared points, which have bins of their own."""
    low, high = ranged.edges[0], ranged.edges[-1]
    return points_of(ranged.name, entry.get("points", []), low, high, ranged.scale, whole=ranged.whole)


def _apart(ranged: Binned, points: Iterable[int]) -> set[int]:
    """The numbers that points, and what follows them, begin with."""
    return {start for point in points for start in (point, point + 1) if start <= ranged.edges[-1]}
