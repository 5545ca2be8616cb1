"""``hedgerow synth-linked``: private tables with keys, to a release of each and records with intact keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from hedgerow.cli import options
from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.mechanisms import MechanismOptions
from hedgerow.cli.outputs import RecordsPlace, check_outputs
from hedgerow.cli.running import run_accounted, save_first, signing_key
from hedgerow.cli.spending import Registered, open_register, spent_sentence
from hedgerow.errors import ConfigError
from hedgerow.queries import Persons

if TYPE_CHECKING:
    from hedgerow.algorithms import Algorithm
    from hedgerow.data import Table
    from hedgerow.domain import Children, Domain, Linked
    from hedgerow.privacy import Budget, NoiseSource
    from hedgerow.queries import Workload
    from hedgerow.release import LinkedRelease, Release
    from hedgerow.system import SigningKey

_FILES = "a file (.csv, .tsv, .parquet)"


@dataclass(frozen=True)
class _Further:
    """A table of the file of '--further'.

    Attributes:
        name: What the file calls it.
        table: The private table.
        key: Column that links it to the table of its parents.
        at_most: Maximum children counted per parent.
        domain: Domain file.
        output: Place of the synthetic records.
        below: The table of its parents: 'parents', 'children' or another of the file, before it.
        number: Name for the number of children; that of the table by default.
        order: See `_Tables`.
        second_order: See `_Tables`.
        workload: As that of the children.
        in_all: Maximum counted of one record of the root, where that is to be fewer than the bounds multiply to.
    """

    name: str
    table: str
    key: str
    at_most: int
    domain: str
    output: str
    below: str = "children"
    number: str = ""
    order: str | None = None
    second_order: str = "none"
    workload: str | None = None
    in_all: int | None = None

    @classmethod
    def of(cls, name: object, entry: object) -> Self:
        """Read an entry of the file.

        Raises:
            ConfigError: Something is missing, unknown, or no text where one is to be.
        """
        told: dict[str, Any] = entry if isinstance(entry, dict) else {}
        try:
            if all(isinstance(value, int if each in ("at_most", "in_all") else str) for each, value in told.items()):
                return cls(**{"number": str(name), **told, "name": str(name)})
        except TypeError:  # something is missing, or unknown
            pass
        remedy = (
            "give table, key, at_most, domain and output; also below, number, order, second_order, workload, in_all"
        )
        raise ConfigError(f"{name}: it does not describe a further table", remedy=remedy)


@dataclass(frozen=True)
class _Tables(Options, panel="Table"):
    """Two private tables and their key; fields of `Linked`.

    Attributes:
        key: Column of both tables that says who belongs to whom, and no column of the domains. The guarantee is about a
            parent with all children.
        at_most: Maximum children counted per parent; noise in the children's table is proportional to it. Which ones
            are left out depends on that parent's children alone.
        domain: Domain file of the parents' columns.
        children_domain: Domain file of the children's columns. Rules between both tables are stated here, where the
            parents' columns that they name are declared again.
        number: Name for the number of children in questions.
        order: Column of the children, of numbers, dates or listed values (as they are listed), by which those of one
            parent are ordered. The columns of the child before are then known of each child (as 'previous.NAME', and
            the steps between as 'gap'), those of the first child of its parent (as 'first.NAME'), and synthetic
            children are drawn one after the other.
        second_order: Columns that may depend on the two children before (as 'previous.previous.NAME' too), separated by
            commas. 'auto' takes those whose tables have little noise, unless --children-workload is given.
        violations: Records that break a rule of the domain (a constraint, or the table of a derived column): refuse the
            table, or drop them one by one. The number dropped is private and never reported.
        further: File (YAML) of tables that hang below these two, such as the jobs of persons. For each its name, and
            below it: table, key, at_most, domain and output; if you like below (the table of its parents, 'children' by
            default), number, order, second_order, workload and in_all.
    """

    parents: Annotated[Path, typer.Argument(metavar="PARENTS", help=f"The private table of parents: {_FILES}.")]
    children: Annotated[Path, typer.Argument(metavar="CHILDREN", help=f"The private table of children: {_FILES}.")]
    key: Annotated[str, option(metavar="NAME")]
    at_most: Annotated[int, option(metavar="M", min=1)]
    domain: Annotated[Path, option(metavar="FILE")]
    children_domain: Annotated[Path, option(metavar="FILE")]
    number: Annotated[str, option(metavar="NAME")] = "children"
    order: Annotated[str | None, option(metavar="NAME")] = None
    second_order: Annotated[str, option(metavar="NAMES")] = "none"
    violations: options.Violations = options.Violations.REFUSE
    further: Annotated[Path | None, option(metavar="FILE")] = None
    accept_draft: options.AcceptDraft = False
    show_values: options.ShowValues = False

    @cached_property
    def more(self) -> tuple[_Further, ...]:
        """The tables of the file of '--further'."""
        from hedgerow.release import read_yaml

        content = {} if self.further is None else read_yaml(self.further, "further tables")
        if not isinstance(content, dict) or not {"parents", "children"}.isdisjoint(content):
            remedy = "write a name for each table, which is not parents or children, and below it what describes it"
            raise ConfigError(f"{self.further}: the tables are not described", remedy=remedy)
        return tuple(_Further.of(name, entry) for name, entry in content.items())

    @property
    def inputs(self) -> list[Path]:
        """All files that are read."""
        own = [
            self.parents,
            self.children,
            self.domain,
            self.children_domain,
            *([self.further] if self.further else []),
        ]
        return own + [Path(path) for each in self.more for path in (each.table, each.domain)]

    def linked(self, shown: Output, *, tentative: Sequence[bool]) -> Linked:
        """The domains, joined by the keys.

        Args:
            shown: Prints a warning of columns that a table has no say in.
            tentative: Of each table of children, whether it may stay open which columns are of the second order.
        """
        from hedgerow.domain import Children, Linked

        places = ["parents", "children", *(each.name for each in self.more)]

        def described(each: _Further, *, may_stay_open: bool) -> Children:
            names = [name.strip() for name in each.second_order.split(",")]
            second = {"auto": None if may_stay_open else [], "none": []}.get(each.second_order, names)
            if each.below not in places:
                raise ConfigError(f"there is no table {each.below!r}", remedy=f"name one of {', '.join(places)}")
            domain = options.domain_of(Path(each.domain), None, accept_draft=self.accept_draft)
            above = places.index(each.below)
            return Children(domain, each.key, each.at_most, each.number, each.order, second, above, each.in_all)

        root = options.domain_of(self.domain, None, accept_draft=self.accept_draft)
        own = _Further(
            "children",
            str(self.children),
            self.key,
            self.at_most,
            str(self.children_domain),
            "",
            below="parents",
            number=self.number,
            order=self.order,
            second_order=self.second_order,
        )
        below = (own, *self.more)
        first, *more = tables = [described(each, may_stay_open=may) for each, may in zip(below, tentative, strict=True)]
        _warn_of_shared(shown, root, {each.name: table for each, table in zip(below, tables, strict=True)})
        return Linked.of(
            root,
            first.domain,
            key=first.key,
            at_most=first.at_most,
            number=first.number,
            order=first.order,
            second_order=first.second_order,
            more=more,
        )

    def read(self, linked: Linked, before_rows: Callable[[], object]) -> tuple[Table, ...]:
        """All tables, for handing on; see `read_linked`."""
        from hedgerow.data import read_linked

        return read_linked(
            self.parents,
            self.children,
            linked,
            violations=self.violations.value,
            show_values=self.show_values,
            before_rows=before_rows,
            more=[each.table for each in self.more],
        )


def _warn_of_shared(shown: Output, root: Domain, tables: Mapping[str, Children]) -> None:
    """Warn of columns that a table above has too, and that no rule between the tables is about: those are its own."""
    above = [{*root.names}]
    for name, below in tables.items():
        known, ruled = above[below.above], {each for rule in below.domain.constraints for each in rule.scope}
        if shared := [each for each in below.domain.names if each in known and each not in ruled]:
            shown.warn(
                f"{name}: {', '.join(shared)} stand in a table above too, and are taken from there. What the table of "
                f"{name} itself has in columns of these names is not read: give other columns other names"
            )
        above.append({*known, *below.domain.names})


@dataclass(frozen=True)
class _Files(Options, panel="Output"):
    """What is written.

    Attributes:
        records: Number of parents to draw; by default their (noisy) number.
        sign: Private Ed25519 key that the releases are signed with.
    """

    output: Annotated[Path, option("-o", metavar="FILE", help=f"Synthetic parents: {_FILES}.")]
    children_output: Annotated[Path, option(metavar="FILE", help=f"Synthetic children: {_FILES}.")]
    records: Annotated[int | None, option(metavar="N", min=1)] = None
    sign: Annotated[Path | None, option(metavar="KEY")] = None
    force: options.Force = False

    def checked(self, inputs: list[Path], more: Sequence[_Further]) -> dict[str, Path]:
        """All files to be written, by their names in the JSON summary: the records and the release of each table.

        Args:
            inputs: Files that nothing may be written over.
            more: The further tables.

        Raises:
            ConfigError: One cannot be written.
        """
        places, named = dict[str, Path](), dict[str, Path]()
        outputs = [("", "--output", self.output), ("children_", "--children-output", self.children_output)]
        for name, option_name, path in (
            *outputs,
            *((f"{each.name}_", f"{each.name}: output", Path(each.output)) for each in more),
        ):
            place = RecordsPlace.of(str(path))
            if place.release is None or place.table is not None or place.folder is not None:
                raise ConfigError(f"{path} is no file", remedy="name files that end in .csv, .tsv or .parquet")
            places |= {f"{name}records": path, f"{name}release": place.release}
            named |= {option_name: path, f"release beside {option_name}": place.release}
        check_outputs(named, inputs=inputs, force=self.force)
        return places


@dataclass(frozen=True)
class _Workloads(Options, panel="Algorithm"):
    """The tables and queries that are to be accurate, and what the parents' get of the budget.

    Attributes:
        children_workload: The same for children, whose parents' columns may be named too.
        share: Share of the budget for the parents' table; the others divide the rest equally. Or a share for each table
            but the last, separated by commas.
    """

    workload: options.WorkloadText = None
    children_workload: Annotated[
        str | None, option(metavar="SPEC", show_default="all pairs but those of the parents alone")
    ] = None
    share: Annotated[str, option(metavar="SHARE")] = "0.3"

    @property
    def shares(self) -> float | list[float]:
        """The share of the parents' table, or those of several."""
        try:
            shares = [float(each) for each in self.share.split(",")]
        except ValueError:
            raise ConfigError(f"{self.share!r} is no share", remedy="give numbers between 0 and 1") from None
        return shares if len(shares) > 1 else shares[0]

    def of(self, linked: Linked, more: Sequence[_Further]) -> list[Workload | None]:
        """The workload of each table; None where none is given."""
        from hedgerow.queries import Workload

        specs = (self.workload, self.children_workload, *(each.workload for each in more))
        domains = (linked.opened, *(link.joined for link in linked.links))
        return [
            None if spec is None else Workload.parse(spec, domain) for spec, domain in zip(specs, domains, strict=True)
        ]


def synth_linked(
    *,
    tables: _Tables,
    written: _Files,
    budgeted: options.BudgetOptions,
    registering: options.RegisterOptions,
    workloads: _Workloads,
    configured: MechanismOptions,
    seed: Annotated[
        int | None,
        option(
            panel="Algorithm", help="NOT PRIVATE: noise that can be drawn again, for tests. The releases are stamped."
        ),
    ] = None,
    shown: Output,
) -> None:
    r"""Make synthetic records of linked tables: households and persons, patients and visits; or a tree (--further).

    The budget protects a parent with all children. It is divided: one part releases the parents with the number of
    their children, the other the children beside the columns of their parent. Synthetic children are drawn given their
    parent, so keys are intact. Each table has a release of its own, beside its records: ask, report and audit it as any
    other; 'hedgerow sample' with --children draws new records of all.

    Examples:
      hedgerow synth-linked homes.csv people.csv --key home --at-most 8 \
          --domain homes.yaml --children-domain people.yaml \
          --epsilon 1 --delta 1e-9 -o homes-s.csv --children-output people-s.csv
      hedgerow synth-linked homes.csv people.csv --further jobs.yaml \
          --key home --at-most 6 --domain homes.yaml --children-domain people.yaml \
          --epsilon 1 --delta 1e-9 -o homes-s.csv --children-output people-s.csv
      hedgerow synth-linked patients.parquet visits.parquet \
          --key patient --at-most 20 --order admitted --share 0.2 --rho 0.1 \
          --domain patients.yaml --children-domain visits.yaml \
          -o patients.csv --children-output visits.csv
    """
    from hedgerow.algorithms.shared import budgets_of, default_workloads, in_turn
    from hedgerow.privacy import for_any_steps
    from hedgerow.runs import noise_of

    more = tables.more
    between = budgeted.between(Persons(tables.key, tables.at_most))
    budget = budgeted.budget(between)
    given = [workloads.children_workload, *(each.workload for each in more)]
    linked = tables.linked(shown, tentative=[spec is None for spec in given])
    asked = workloads.of(linked, more)
    checked = [each or default for each, default in zip(asked, default_workloads(linked), strict=True)]
    for each in checked[1:]:
        options.warn_of_domain(shown, each.domain)
    inputs = [*tables.inputs, *([] if registering.register is None else [registering.register])]
    files = written.checked(inputs, more)
    signed = signing_key(shown, written.sign)
    algorithm = configured.algorithm()
    for each in checked:
        algorithm.check(each, budget.regime)
    if registering.register is not None and seed is not None:
        raise typer.BadParameter("a register adds up guarantees, and a run with --seed has none")
    kept = open_register(registering.register, registering.bound(between))
    if kept is None:
        budget = for_any_steps(algorithm.accounted(checked[1], budget))
    parts = budgets_of(linked, budget, workloads.shares)
    below = (name for link in linked.links for name in (*link.children.names, *link.numbers))
    registered = Registered(shown, kept, budget, "release", written.output.name, (*linked.counted.names, *below))
    run = _Runs(shown, algorithm, noise_of(seed), linked, files, signed, registered, parts)
    with registered.staying(), shown.warning_if_it_stops(run.remains):
        with shown.busy("reading all tables"):
            homes, *people = tables.read(linked, registered.charge)
        both = in_turn(run, (homes, *people), linked, asked, parts)
    with shown.busy("drawing records"):
        places = written.output, written.children_output, written.records
        drawn = both.write_records(*places, more=[each.output for each in more])
    titles = ("parents", "children", *(each.name for each in more))
    numbers = dict(zip(titles, drawn, strict=True))
    second = [tables.second_order, *(each.second_order for each in more)]
    orders = _orders(both.linked, list(zip(second, given, strict=True)))
    _tell(shown, both, numbers, files=files, orders=orders, promise=both.guarantee(budget), registered=registered)


def _orders(linked: Linked, asked: Sequence[tuple[str, str | None]]) -> list[str]:
    """Which columns are given the two children before; and where 'auto' took none, why.

    Args:
        linked: The tables.
        asked: Of each table of children, --second-order and the workload.
    """
    second = [runs[-1] for link in linked.links for runs in link.runs_of_three]
    told = [f"{', '.join(second)}: given the two children before"] if second else []
    for link, (words, workload) in zip(linked.links, asked, strict=True):
        if words == "auto" and not link.runs_of_three:
            why = "its tables would be mostly noise"
            if workload is not None:
                why = "'auto' takes none beside a workload of the children. Name them with --second-order"
            if link.order is None:
                why = "the children have no --order"
            told.append(f"no column is given the two children before: {why}")
    return told


@dataclass
class _Runs:
    """Releases one table after the other, and saves each release before the next table is looked at."""

    output: Output
    algorithm: Algorithm
    noise: NoiseSource | None
    linked: Linked
    files: Mapping[str, Path]
    signed: SigningKey | None
    registered: Registered
    parts: Sequence[Budget]
    made: list[Release] = field(default_factory=list)

    def __call__(self, table: Table, workload: Workload, budget: Budget) -> Release:
        """Release the next table."""
        from hedgerow.release import LinkedRelease
        from hedgerow.runs import Opened

        opened = Opened(table, workload, budget)
        release = LinkedRelease.told(run_accounted(self.output, self.algorithm, opened, self.noise), self.linked)
        path = self._places[len(self.made)]
        save_first(self.output, release, path, self.signed)
        self.made.append(release)
        self.registered.add_digest(path)
        return release

    def remains(self) -> tuple[dict[str, Any], str] | None:
        """What is kept where a later table fails."""
        if not self.made:
            return None
        spent, whole = (
            sum(amounts) for amounts in ((each.spent for each in self.made), (part.limit for part in self.parts))
        )
        places = ", ".join(map(str, self._places[: len(self.made)]))
        unit = self.parts[0].unit
        return (
            {"release": places, "spent": spent, "unit": unit},
            f"released so far: {places}; {spent_sentence(spent, whole, unit)}",
        )

    @property
    def _places(self) -> list[Path]:
        return [path for name, path in self.files.items() if name.endswith("release")]


def _tell(
    output: Output,
    both: LinkedRelease,
    drawn: dict[str, int],
    *,
    files: dict[str, Path],
    orders: Sequence[str],
    promise: str,
    registered: Registered,
) -> None:
    paths = output.say_files(files)
    (parents, n_parents), *below = drawn.items()
    output.say(f"drawn    {n_parents:,} synthetic {parents} with {', '.join(f'{n:,} {name}' for name, n in below)}")
    for order in orders:
        output.say(f"order    {order}")
    left = registered.tell()
    stamp = both.parents.provenance.stamp
    output.tell(promise)
    if stamp:
        output.warn(f"{stamp}: anyone who knows the seed can subtract the noise")
    counts = {f"n_{name}": n for name, n in drawn.items()}
    output.result({**counts, "files": paths, "guarantee": promise, **left})
