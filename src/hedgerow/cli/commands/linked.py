"""``hedgerow synth-linked``: two private tables with a key, to two releases and records with intact keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from hedgerow.data import Table
    from hedgerow.domain import Linked
    from hedgerow.queries import Workload
    from hedgerow.release import LinkedRelease

_FILES = "a file (.csv, .tsv, .parquet)"


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
            the steps between as 'gap'), and synthetic children are drawn one after the other.
        second_order: Columns that may depend on the two children before (as 'previous.previous.NAME' too), separated by
            commas. 'auto' takes those whose tables have little noise, unless --children-workload is given.
        violations: Records that break a rule of the domain (a constraint, or the table of a derived column): refuse the
            table, or drop them one by one. The number dropped is private and never reported.
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
    accept_draft: options.AcceptDraft = False
    show_values: options.ShowValues = False

    def linked(self, *, tentative: bool) -> Linked:
        """The two domains, joined by the key.

        Args:
            tentative: Whether it may stay open which columns are of the second order.
        """
        from hedgerow.domain import Linked

        files = self.domain, self.children_domain
        domains = (options.domain_of(file, None, accept_draft=self.accept_draft) for file in files)
        names = self.second_order.split(",")
        second = {"auto": None if tentative else [], "none": []}.get(
            self.second_order, [each.strip() for each in names]
        )
        return Linked.of(
            *domains,
            key=self.key,
            at_most=self.at_most,
            number=self.number,
            order=self.order,
            second_order=second,
        )

    def read(self, linked: Linked, before_rows: Callable[[], object]) -> tuple[Table, ...]:
        """Both tables, for handing on; see `read_linked`."""
        from hedgerow.data import read_linked

        return read_linked(
            self.parents,
            self.children,
            linked,
            violations=self.violations.value,
            show_values=self.show_values,
            before_rows=before_rows,
        )


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

    def checked(self, inputs: list[Path]) -> dict[str, Path]:
        """All files to be written, by their names in the JSON summary.

        Args:
            inputs: Files that nothing may be written over.

        Raises:
            ConfigError: One cannot be written.
        """
        places: dict[str, Path] = {}
        for name, path in (("", self.output), ("children_", self.children_output)):
            place = RecordsPlace.of(str(path))
            if place.release is None or place.table is not None or place.folder is not None:
                raise ConfigError(f"{path} is no file", remedy="name files that end in .csv, .tsv or .parquet")
            places |= {f"{name}records": path, f"{name}release": place.release}
        names = ("--output", "release beside --output", "--children-output", "release beside --children-output")
        check_outputs(dict(zip(names, places.values(), strict=True)), inputs=inputs, force=self.force)
        return places


@dataclass(frozen=True)
class _Workloads(Options, panel="Algorithm"):
    """The tables and queries that are to be accurate, and what the parents' get of the budget.

    Attributes:
        children_workload: The same for children, whose parents' columns may be named too.
        share: Share of the budget for the parents' table; the children get the rest.
    """

    workload: options.WorkloadText = None
    children_workload: Annotated[
        str | None, option(metavar="SPEC", show_default="all pairs but those of the parents alone")
    ] = None
    share: Annotated[float, option(metavar="SHARE")] = 0.3

    def of(self, linked: Linked) -> tuple[Workload, Workload]:
        """The workload of parents, and that of children."""
        from hedgerow.algorithms.shared import all_pairs, pairs_of_children
        from hedgerow.queries import Workload

        parents, children = self.workload, self.children_workload
        return (
            all_pairs(linked) if parents is None else Workload.parse(parents, linked.counted),
            pairs_of_children(linked) if children is None else Workload.parse(children, linked.joined),
        )


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
    r"""Make synthetic records of two linked tables, such as households and persons, or patients and visits.

    The budget protects a parent with all children. It is divided: one part releases the parents with the number of
    their children, the other the children beside the columns of their parent. Synthetic children are drawn given their
    parent, so keys are intact. Each table has a release of its own, beside its records: ask, report and audit it as any
    other; 'hedgerow sample' with --children draws new records of both.

    Examples:
      hedgerow synth-linked homes.csv people.csv --key home --at-most 8 \
          --domain homes.yaml --children-domain people.yaml \
          --epsilon 1 --delta 1e-9 -o homes-s.csv --children-output people-s.csv
      hedgerow synth-linked patients.parquet visits.parquet \
          --key patient --at-most 20 --order admitted --share 0.2 --rho 0.1 \
          --domain patients.yaml --children-domain visits.yaml \
          -o patients.csv --children-output visits.csv
    """
    from hedgerow.algorithms.shared import budgets_of, settled
    from hedgerow.privacy import for_any_steps
    from hedgerow.release import LinkedRelease
    from hedgerow.runs import Opened, noise_of

    between = budgeted.between(Persons(tables.key, tables.at_most))
    budget = budgeted.budget(between)
    linked = tables.linked(tentative=workloads.children_workload is None)
    asked = workloads.of(linked.settled(()))
    options.warn_of_domain(shown, asked[1].domain)
    inputs = (tables.parents, tables.children, tables.domain, tables.children_domain, registering.register)
    files = written.checked([path for path in inputs if path is not None])
    signed = signing_key(shown, written.sign)
    algorithm = configured.algorithm()
    for each in asked:
        algorithm.check(each, budget.regime)
    if registering.register is not None and seed is not None:
        raise typer.BadParameter("a register adds up guarantees, and a run with --seed has none")
    kept = open_register(registering.register, registering.bound(between))
    if kept is None:
        budget = for_any_steps(algorithm.accounted(asked[1], budget))
    parts = budgets_of(linked, budget, workloads.share)
    names = (*linked.counted.names, *linked.children.names)
    registered = Registered(shown, kept, budget, "release", written.output.name, names)
    noise = noise_of(seed)
    with registered.staying():
        with shown.busy("reading both tables"):
            homes, people = tables.read(linked, registered.charge)
        first = LinkedRelease.told(run_accounted(shown, algorithm, Opened(homes, asked[0], parts[0]), noise), linked)
        save_first(shown, first, files["release"], signed)
        registered.add_digest(files["release"])
        spent = spent_sentence(first.spent, parts[0].limit + parts[1].limit, parts[0].unit)
        linked, people = settled(linked, people, first, parts[1])
        kept_file = {"release": str(files["release"]), "spent": first.spent, "unit": parts[0].unit}
        with shown.warning_if_it_stops(lambda: (kept_file, f"the parents' release is in {files['release']}; {spent}")):
            made = run_accounted(shown, algorithm, Opened(people, workloads.of(linked)[1], parts[1]), noise)
            second = LinkedRelease.told(made, linked)
            save_first(shown, second, files["children_release"], signed)
    both = LinkedRelease.of(first, second, linked)
    registered.add_digest(files["children_release"])
    with shown.busy("drawing records"):
        drawn = both.write_records(written.output, written.children_output, written.records)
    _tell(shown, both, drawn, files=files, promise=both.guarantee(budget), registered=registered)


def _tell(
    output: Output,
    both: LinkedRelease,
    drawn: tuple[int, ...],
    *,
    files: dict[str, Path],
    promise: str,
    registered: Registered,
) -> None:
    paths = output.say_files(files)
    output.say(f"drawn    {drawn[0]:,} synthetic parents with {drawn[1]:,} children")
    if second := [runs[-1] for runs in both.linked.runs_of_three]:
        output.say(f"order    {', '.join(second)}: given the two children before")
    left = registered.tell()
    stamp = both.parents.provenance.stamp
    output.tell(promise)
    if stamp:
        output.warn(f"{stamp}: anyone who knows the seed can subtract the noise")
    counts = {"n_parents": drawn[0], "n_children": drawn[1]}
    output.result({**counts, "files": paths, "guarantee": promise, **left})
