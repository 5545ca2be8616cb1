"""An evaluation: every measure of every synthetic file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.cards import MOST_ROWS, card
from hedgerow.domain import AS_DECLARED, Domain, OpenDomain, Scale, open_domain, value_text
from hedgerow.errors import ColumnError, ConfigError, DomainError
from hedgerow.evaluation import learners, measures
from hedgerow.evaluation.columns import joined
from hedgerow.evaluation.finding import Finding
from hedgerow.evaluation.grid import BINS, Grid
from hedgerow.evaluation.tables import MOST_TABLES, Curve, curves_of, families_of
from hedgerow.privacy import exact_records
from hedgerow.system import replacing

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Synthetic files beside the real table; not private.

    Attributes:
        label: ``"not private"``; to be shown wherever the figures are.
        real: Name of the real table.
        real_records: Number of its records.
        records: Number of records of each synthetic file.
        columns: Columns that were compared.
        findings: All figures.
        curves: Scores of subsamples of the real table, by family of tables.
        notes: Columns that were left out, and what else a reader should know.
        scales: Scales of columns of dates and times, whose quantiles count its steps.

    Example:
        >>> import pyarrow as pa
        >>> evaluation = evaluate(pa.table({"a": ["x", "y"]}), pa.table({"a": ["x", "z"]}), models=False)
        >>> evaluation, [figure.value for figure in evaluation.of("total variation, 1-way")]
        (Evaluation(not private: table 1 beside the real table), [0.5])
    """

    label: ClassVar[str] = "not private"
    real: str
    real_records: int
    records: Mapping[str, int]
    columns: tuple[str, ...]
    findings: tuple[Finding, ...]
    curves: Mapping[str, Curve]
    notes: tuple[str, ...]
    scales: Mapping[str, Scale]

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the synthetic files."""
        return tuple(self.records)

    def of(self, measure: str, file: str | None = None) -> list[Finding]:
        """The figures of a measure.

        Args:
            measure: Name of the measure.
            file: Name of the synthetic file; None for all.
        """
        return [finding for finding in self.findings if finding.measure == measure and file in (None, finding.file)]

    def value(self, measure: str, subject: str, file: str | None = None) -> float:
        """One figure.

        Args:
            measure: Name of the measure.
            subject: Columns, table, rule or model.
            file: Name of the synthetic file; None for the first.

        Raises:
            ConfigError: There is no such figure.
        """
        named = self.files[0] if file is None else file
        for finding in self.of(measure, named):
            if finding.subject == subject:
                return finding.value
        known = sorted({finding.measure for finding in self.findings})
        raise ConfigError(f"no figure {measure!r} of {subject!r}", remedy=f"the measures are {', '.join(known)}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the label."""
        return {
            "label": self.label,
            "real": self.real,
            "real_records": self.real_records,
            "records": dict(self.records),
            "columns": list(self.columns),
            "notes": list(self.notes),
            "subsamples": {name: asdict(curve) for name, curve in self.curves.items()},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row for each figure: label, file, measure, subject, value, and the real table's.

        Raises:
            OSError: The file cannot be written.
        """
        import csv

        rows = [finding.to_dict() for finding in self.findings]
        with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def write_page(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page with drawings and tables, which opens offline.

        Raises:
            MissingExtraError: jinja2 or matplotlib is not installed.
            OSError: The file cannot be written.
        """
        from hedgerow.evaluation import page_of

        with replacing(path) as beside:
            beside.write_text(page_of(self), encoding="utf-8")

    def __repr__(self) -> str:
        """The setting; no figure."""
        return f"Evaluation(not private: {', '.join(self.files)} beside {self.real})"

    def _repr_html_(self) -> str:
        """The main figures, for notebooks, labelled as they must be."""
        from hedgerow.evaluation import headings_of, rows_of, title_of

        rows = rows_of(self)
        return card(title_of(self), (), headings_of(self), rows, more=len(rows) - MOST_ROWS)


def evaluate(
    real: object,
    synthetic: object,
    domain: Domain | OpenDomain | str | os.PathLike[str] | None = None,
    *,
    columns: Iterable[str] | None = None,
    by: str | None = None,
    targets: Iterable[str] | None = None,
    models: bool = True,
    most_tables: int = MOST_TABLES,
    bins: int = BINS,
    seed: int = 0,
    step: Callable[[str], Any] | None = None,
) -> Evaluation:
    """Compare synthetic files, whoever made them, with the real table. NOT PRIVATE: it shows exact figures.

    Without a domain the grid is drafted from the real table: numbers are cut at its quantiles, labels are cells of
    their own. ``docs/evaluation.md`` defines the measures.

    Args:
        real: Path or address of the real table, an Arrow table or a data frame.
        synthetic: One synthetic table, or several: a mapping of names to tables, or a list of paths.
        domain: The domain, or the path of its file, for kinds, bins and rules; a draft, or one that is learnt, will do.
        columns: Columns to compare; None for all that all tables have.
        by: Column whose values are subgroups; one more score is over its tables with every pair of other columns.
        targets: Columns that models predict; by default three of few values, which depend most on the others.
        models: Whether models are trained, for which scikit-learn is needed.
        most_tables: Number of pairs and of triples that are counted; of more, so many are drawn.
        bins: Number of bins of a column of numbers.
        seed: Seed of all draws.
        step: Function that is called before each part, with its name.

    Returns:
        The findings, with the measures "score", "subsample", "total variation, ...", "score of the subgroup",
        "share of the records", "Cramer's V", "Pearson's correlation", "difference of correlations", "quantile",
        "difference of distributions", "exact matches", "impossible records", "pMSE", "pMSE ratio", "AUC", "accuracy".

    Raises:
        UnreadableTableError: A table cannot be read, or has no records.
        ColumnError: The tables have no column in common, or lack a column that was named.
        DomainError: The domain file is wrong.
        ConfigError: There is no synthetic table, or a number is out of its range.
        MissingExtraError: scikit-learn is not installed and models are wanted.

    Example:
        >>> import pyarrow as pa
        >>> real = pa.table({"sex": ["F", "M"] * 50, "job": ["nurse", "clerk", "nurse", "nurse"] * 25})
        >>> evaluation = evaluate(real, {"same": real}, models=False)
        >>> evaluation.value("score", "2-way"), evaluation.value("exact matches", "any real record")
        (1000.0, 1.0)
    """
    if models:
        learners.require_extra()
    if most_tables < 1 or bins < 2:
        raise ConfigError(f"{most_tables} tables and {bins} bins", remedy="give at least 1 table and 2 bins")
    named, tell = _named(synthetic), step or (lambda _: None)
    tell("reading")
    title = os.path.basename(os.fspath(real)) if isinstance(real, str | os.PathLike) else "the real table"
    if isinstance(domain, str | os.PathLike):
        domain = open_domain(domain, accept_draft=True)
    layout = domain.fine.layout if isinstance(domain, OpenDomain) else AS_DECLARED if domain is None else domain.layout
    records = [exact_records(table, layout=layout) for table in (real, *named.values())]
    declared = _closed(domain, records) if isinstance(domain, OpenDomain) else domain
    targets = None if targets is None else list(targets)
    used = [*([] if by is None else [by]), *(targets or [])]
    names, notes = _shared([title, *named], records, declared, columns, used)
    records = [table.select(names) for table in records]
    attributes = {} if declared is None else {column.name: column for column in declared.columns}
    cells = (joined(name, [table.column(name) for table in records], attributes.get(name), bins) for name in names)
    grid = Grid.of(tuple(cells), bins)
    families = families_of(grid.domain, by, most=most_tables, seed=seed)
    tables = measures.Tables(tuple(named), grid, families, by, seed)
    if merged := grid.merged():
        notes.append(f"rare labels are one value in: {', '.join(merged)}")
    tell("subsamples of the real table")
    curves = curves_of(tables.domain, tables.codes[0], tables.families, seed=seed)
    figures: dict[str, Callable[[], Iterator[Finding]]] = {
        "marginals": lambda: measures.scores(tables, curves),
        "subgroups": lambda: measures.subgroups(tables),
        "correlations": lambda: measures.dependence(tables),
        "quantiles": lambda: measures.numbers(tables),
        "exact matches": lambda: measures.exact_matches(tables),
    }
    if declared is not None:
        figures["rules"] = partial(measures.impossible, tables.names, records[0], records[1:], declared)
    if models and len(tables.columns) > 1:
        predicted = measures.targets_of(tables) if targets is None else targets
        figures["propensity"] = lambda: measures.propensities(tables)
        figures["predictions"] = lambda: measures.predictions(tables, predicted)
    findings = list[Finding]()
    for name, measure in figures.items():
        tell(name)
        findings += measure()
    n_real, *n_synthetic = (table.num_rows for table in records)
    sizes = dict(zip(named, n_synthetic, strict=True))
    scales = {column.name: column.scale for column in tables.columns if column.scale is not None}
    return Evaluation(title, n_real, sizes, tuple(names), tuple(findings), curves, tuple(notes), scales)


def _closed(wanted: OpenDomain, tables: Sequence[pa.Table]) -> Domain:
    """The domain where values are to be learnt: all labels of the tables are in it, or are the other value."""
    labels = {}
    for name in wanted.values:
        columns = [table.column(name) for table in tables if name in table.column_names]
        cells = {value_text(cell) for column in columns for cell in column.unique().to_pylist() if cell is not None}
        labels[name] = sorted({label for label in map(wanted.label_of(name), cells) if label is not None})
    return wanted.labelled(labels)


def _named(synthetic: object) -> dict[str, object]:
    """The synthetic tables by name: file names, or paths where two are alike."""
    if isinstance(synthetic, Mapping):
        named = dict(synthetic)
    else:
        several = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
        paths = [os.fspath(table) if isinstance(table, str | os.PathLike) else "" for table in several]
        texts = [path or f"table {number}" for number, path in enumerate(paths, 1)]
        short = [os.path.basename(text) for text in texts]
        named = dict(zip(short if len(set(short)) == len(short) else texts, several, strict=True))
        if len(named) < len(several):
            raise ConfigError("a synthetic file is named twice", remedy="name each once")
    if not named:
        raise ConfigError("there is no synthetic table", remedy="name at least one")
    return named


def _shared(
    titles: Sequence[str],
    tables: Sequence[pa.Table],
    domain: Domain | None,
    columns: Iterable[str] | None,
    used: Iterable[str],
) -> tuple[list[str], list[str]]:
    """Columns that are compared, those that are used in another way among them, and notes on those that are not."""
    there = [set(table.column_names) for table in tables]
    if columns is not None:
        wanted = list(dict.fromkeys(columns))
        for name in wanted:
            lacking = [title for title, names in zip(titles, there, strict=True) if name not in names]
            if lacking:
                remedy = _these(tables[titles.index(lacking[0])].column_names)
                raise ColumnError("the table has no such column", file=lacking[0], column=name, remedy=remedy)
            if domain is not None and name not in {column.name for column in domain.columns}:
                raise DomainError(f"the domain has no column {name!r}", remedy="name columns of the domain")
    else:
        all_names = dict.fromkeys(name for table in tables for name in table.column_names)
        wanted = list(all_names) if domain is None else [column.name for column in domain.columns]
    shared = [name for name in wanted if all(name in names for names in there)]
    if not shared:
        remedy = "name columns of the synthetic file as the real table does"
        raise ColumnError("no column is in all of the tables", file=titles[0], column=None, remedy=remedy)
    for name in used:
        if name not in shared:
            raise ColumnError("it is not among the columns that are compared", column=name, remedy=_these(shared))
    notes = []
    for title, names in zip(titles, there, strict=True):
        lacking = [name for name in wanted if name not in names]
        if lacking:
            notes.append(f"left out, because {title} has no such column: {', '.join(lacking)}")
    return shared, notes


def _these(names: Iterable[str]) -> str:
    return f"there are: {', '.join(names)}"
