"""Commands that come before a run and spend nothing: ``domain``, ``plan``, ``mechanisms``, ``key`` and ``warm``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from hedgerow.algorithms.registry import ONLINE, Entry, entries, entry
from hedgerow.cli import options
from hedgerow.cli.asking import with_answers
from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.lists import joined_names, split_bounds, split_names
from hedgerow.cli.mechanisms import PlannedMechanismOptions
from hedgerow.cli.outputs import check_ending, check_outputs, check_public
from hedgerow.cli.reading import Reading, inputs_of
from hedgerow.cli.running import learning_of, warn_of_learning
from hedgerow.cli.targets import TargetOptions
from hedgerow.errors import ConfigError, DomainError, UnreadableTableError
from hedgerow.queries import Neighbours
from hedgerow.system import replacing

if TYPE_CHECKING:
    from hedgerow.algorithms.online_pmw import OnlinePMW
    from hedgerow.algorithms.shared import Algorithm, Line
    from hedgerow.algorithms.strategies import Strategy
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.privacy import Budget
    from hedgerow.queries import Workload
    from hedgerow.runs import RunSpec

_LISTED = 8
"""Values that a line of a check names."""
_DRAFT = (
    "This draft was read off the data. Its values are as private as the data until someone decides that they are "
    "public: replace them by answer lists, legal ranges or code books, and do not publish the draft."
)

_PUBLIC = """\
# Domain of {data}: names of its columns, and types and bounds that were given. Nothing else is read off the data:
# values of labels and bins of numbers are learnt under the budget. List what is publicly known, which costs nothing.
"""


_SCHEMA = """\
# Domain by the schema {file}. What it lists is taken to be public: correct what was inferred from the data.{gaps}
"""
_GAPS = "\n# Replace each ... by what is publicly known."


@dataclass(frozen=True)
class _Wanted(Options):
    """What the command ``domain`` is to do, of which one thing is named.

    Attributes:
        data: The private table to draft from: a file, or a place as of 'synth'.
        check: Say what this domain file allows; no table is read.
        schema: Print the JSON schema of domain files, by which editors complete and check them.
        from_schema: Write what this schema says, and mark what is missing; no table is read. A JSON Table Schema, SDV's
            metadata of one table, or pandera's schema, as JSON or YAML.
    """

    data: Annotated[str | None, typer.Argument(metavar="DATA")] = None
    check: Annotated[Path | None, option(metavar="FILE")] = None
    schema: bool = False
    from_schema: Annotated[Path | None, option(metavar="FILE")] = None


@dataclass(frozen=True)
class _Drafting(Options):
    """How a domain file is written.

    Attributes:
        output: Domain file to write (.yaml); printed if not given.
        public: Write what names of the columns, --types and --bounds say, and nothing that the data hold: values of
            labels and bins of numbers are then learnt under the budget. As 'synth --auto-domain' does by itself.
        file_format: What is known of the format of the file, as a domain file says it: '{separator: ";", encoding:
            cp1252}'. The rest is found out.
        ask: Go through the columns of the draft one by one, on a terminal.
    """

    output: Annotated[Path | None, option("-o", panel="Output", metavar="FILE")] = None
    public: bool = False
    file_format: Annotated[str | None, option("--format", metavar="OPTIONS")] = None
    ask: bool = False
    columns: options.Columns = None
    count_column: options.CountColumn = None
    force: options.Force = False

    @property
    def beside(self) -> list[str]:
        """The columns that no domain holds."""
        return [] if self.count_column is None else [self.count_column]

    def check(self, wanted: _Wanted, facts: options.PublicFacts) -> None:
        """Refuse options that do not go together, and a file that cannot be written.

        Args:
            wanted: What is to be done.
            facts: What is known in public.

        Raises:
            typer.BadParameter: Two options do not go together.
            ConfigError: The file cannot be written.
        """
        data, from_schema = wanted.data, wanted.from_schema
        if (data is not None) + (wanted.check is not None) + (from_schema is not None) + wanted.schema != 1:
            raise typer.BadParameter("give one of: the table DATA to draft from, --check, --from-schema, --schema")
        if facts.bounds and not self.public and from_schema is None:
            raise typer.BadParameter(
                "--bounds go with --public or --from-schema; a draft is written with bounds of its own, to be corrected"
            )
        if data is None and (self.public or self.count_column is not None):
            raise typer.BadParameter("--public and --count-column go with the table DATA")
        if (facts.types or facts.trust_types) and not self.public:
            raise typer.BadParameter("--types and --trust-types go with --public; a draft says types of its own")
        if (self.ask or self.file_format is not None) and (data is None or self.public):
            raise typer.BadParameter("--ask and --format go with a draft of the table DATA")
        writes = self.output is not None or self.columns is not None or self.force
        if (wanted.schema or wanted.check is not None) and writes:
            raise typer.BadParameter("--check and --schema go with --quiet and --json alone")
        if self.output is not None:
            check_ending("--output", self.output, (".yaml", ".yml"), "a draft holds comments; name it .yaml")
            inputs = inputs_of(data) if data is not None else [from_schema] if from_schema is not None else []
            check_outputs({"--output": self.output}, inputs=inputs, force=self.force)


def domain(*, wanted: _Wanted, facts: options.PublicFacts, drafting: _Drafting, shown: Output) -> None:
    """Draft a domain file, which lists the columns of a table and the values that each could hold; or check one.

    A domain must be public knowledge. The draft shows what the data hold, as a form to fill in; it is private until you
    have replaced all of it by public knowledge.

    Beside the attributes a domain file may have levels (coarser values of an attribute, 'levels: [5, 20]'), 'derived'
    columns (those that others determine) and 'constraints' (rules that no record breaks, 'impossible: age < 15 and
    married = 1'). A check says how many records could exist, exactly unless rules hang together too much or are about
    an attribute of more than 4 million values; it lists levels, derived columns, values that no record can have, and
    rules that follow from others. Rules that contradict each other are refused.

    Examples:
      hedgerow domain people.csv
      hedgerow domain people.parquet -o people.yaml
      hedgerow domain people.csv --ask -o people.yaml
      hedgerow domain people.csv --format '{separator: ";", encoding: cp1252}' \
          -o people.yaml
      hedgerow domain people.parquet --public --bounds age=0..120 -o people.yaml
      hedgerow domain --from-schema people.schema.json --bounds age=0..120 \
          -o people.yaml
      hedgerow domain --check people.yaml
      hedgerow domain --schema > domain.schema.json
    """
    drafting.check(wanted, facts)
    data, output = wanted.data, drafting.output
    if wanted.schema:
        from hedgerow.domain import domain_schema

        typer.echo(json.dumps(domain_schema(), indent=1))  # with --quiet too: it is what was asked for
    if wanted.check is not None:
        _check(shown, wanted.check)
    if wanted.from_schema is not None:
        columns, bounds = split_names(drafting.columns), split_bounds(facts.bounds or ())
        _from_schema(shown, wanted.from_schema, columns, bounds, output)
    if data is not None and drafting.public:
        from hedgerow.domain import yaml_text

        content = facts.content(data, drafting.columns, drafting.beside)
        _show_file(shown, _PUBLIC.format(data=data) + yaml_text(content), output, "domain")
    elif data is not None:
        with shown.busy(f"reading {data}"):
            text = _draft(data, split_names(drafting.columns), drafting.beside, drafting.file_format)
        shown.warn(_DRAFT)
        _show_draft(shown, with_answers(text) if drafting.ask else text, output, data)


def _from_schema(
    shown: Output, file: Path, columns: list[str] | None, bounds: Mapping[str, tuple[str, str]], output: Path | None
) -> None:
    """Write the domain that a schema describes."""
    from hedgerow.domain import described_by, parsed_text, yaml_text

    entries = {name: {"min": parsed_text(low), "max": parsed_text(high)} for name, (low, high) in bounds.items()}
    described = described_by(file, entries, columns=columns)
    if described.lacking:
        shown.warn(f"{described.message}. A domain file with ... in it is refused.")
    text = _SCHEMA.format(file=file.name, gaps=_GAPS if described.lacking else "")
    _show_file(shown, text + yaml_text(described.content), output, "domain")


def _show_file(shown: Output, text: str, output: Path | None, what: str) -> None:
    if output is None:
        shown.say(text.rstrip())
    else:
        with replacing(output) as beside:
            beside.write_text(text, encoding="utf-8")
        shown.say(f"{what} in {output}")
    shown.result({what: text, "file": None if output is None else str(output)})


def _show_draft(shown: Output, text: str, output: Path | None, data: str) -> None:
    """Show a draft, and which columns it leaves out.

    Raises:
        UnreadableTableError: It leaves out all.
    """
    from hedgerow.domain import parsed_text

    content = parsed_text(text)
    left_out = [str(name) or "(without a name)" for name in content.get("ignore") or ()]
    _show_file(shown, text, output, "draft")
    if left_out:
        shown.warn(f"left out, for reasons that the draft gives: {joined_names(left_out)}")
    if not content["attributes"]:
        remedy = (
            "describe a column by hand, by its values or by 'min' and 'max'; the draft says what each of them lacks"
        )
        raise UnreadableTableError("no column of it can be described by a draft", file=data, remedy=remedy)


def _check(shown: Output, file: Path) -> None:
    from hedgerow.domain import MOST_CELLS, Categorical, Domain, check_domain

    wanted = options.opened(file, None, accept_draft=True)
    described = wanted if isinstance(wanted, Domain) else wanted.outline
    checked = check_domain(described)
    learnt: dict[str, int] = {} if isinstance(wanted, Domain) else {**wanted.bins, **wanted.values, **wanted.listed}
    for name, number in learnt.items():
        part = f"up to {number:,} values" if isinstance(described[name], Categorical) else f"{number:,} bins"
        shown.say(f"learn        {name}: {part}, which a run learns as a part of its budget")
    shown.say(f"records      {checked.records:,} combinations of values")
    if checked.feasible is None:
        shown.say(
            f"feasible     not counted: that takes a table of more than {MOST_CELLS:,} cells, as an attribute of more "
            "values with a constraint does, or constraints that hang together"
        )
    else:
        shown.say(f"feasible     {checked.feasible:,} of them break no constraint")
    for name, levels in checked.levels.items():
        shown.say(f"levels       {name}: {', '.join(levels)}")
    if checked.columns:
        shown.say(f"derived      {', '.join(checked.columns)}")
    for span in checked.spans:
        shown.say(f"between      {span}")
    if checked.normalised:
        shown.say(f"normalised   {checked.normalised}")
    if checked.ignored:
        shown.say(f"ignored      {described.ignored_text}")
    for name, values in checked.never.items():
        shown.say(f"never        {name}: {_listed(values)}")
    for rule in checked.implied:
        shown.say(f"implied      {rule} (the other constraints say as much)")
    options.warn_of_domain(shown, described)
    if checked.draft:
        shown.warn("this is a draft: delete 'draft: true' once every entry says what is publicly known")
    shown.result(asdict(checked) | ({"learn": dict(learnt)} if learnt else {}))


def _listed(values: Sequence[str]) -> str:
    more = f" and {len(values) - _LISTED:,} more" if len(values) > _LISTED else ""
    return f"{', '.join(values[:_LISTED])}{more}"


def _draft(data: str, columns: list[str] | None, beside: Sequence[str], file_format: str | None = None) -> str:
    from hedgerow.data import draft_domain
    from hedgerow.domain import parsed_text

    known = None if file_format is None else parsed_text(file_format)
    return draft_domain(data, columns=columns, without=beside if columns is None else [], file_format=known)


def offer_draft(output: Output, data: str, columns: list[str] | None, beside: Sequence[str]) -> NoReturn:
    """Offer to draft the domain that a run needs; nobody is asked where no terminal could answer.

    Args:
        output: Asks, and shows progress.
        data: Place of the private table.
        columns: Columns of the domain; None for all.
        beside: Columns of counts, persons or weights, which no domain holds.

    Raises:
        DomainError: Always: a draft is no domain until somebody has read it.
    """
    from hedgerow.synthesis import NO_DOMAIN, draft_file, drafting_command

    file = draft_file(data)
    asks = sys.stdin.isatty() and not (output.quiet or output.as_json or file.exists())
    if asks and typer.confirm(f"There is no --domain. Draft {file} from the data, for you to correct?", err=True):
        with output.busy(f"reading {data}"):
            text = _draft(data, columns, beside)
        output.warn(_DRAFT)
        _show_draft(output, text, file, data)
        raise DomainError(
            f"nothing was run: {file} is a draft",
            remedy=f"make it say what is publicly known, delete its line 'draft: true', and run again with "
            f"--domain {shlex.quote(str(file))}",
        )
    remedy = (
        f"draft one, correct it, and name it with --domain: {drafting_command(data)}; or have it learnt: --auto-domain"
    )
    raise DomainError(NO_DOMAIN, remedy=remedy)


@dataclass(frozen=True)
class _Records(Options, panel="Table"):
    """How many records there are.

    Attributes:
        data: The private table, read to see whether it fits its domain; its number of records is used where 'replace'
            makes it public.
        total: A public guess of the number of records.
    """

    data: Annotated[str | None, typer.Argument(metavar="[DATA]")] = None
    total: Annotated[int | None, option(min=1)] = None

    def number(self, wanted: Domain | OpenDomain) -> int | None:
        """The public guess, or what known totals tell; None where only the table may tell it.

        Raises:
            typer.BadParameter: There is none, and no table.
        """
        from hedgerow.domain import OpenDomain

        if self.data is not None or self.total is not None:
            return self.total
        known = (wanted.outline if isinstance(wanted, OpenDomain) else wanted).known_total
        if known is None:
            raise typer.BadParameter("give --total, a public guess of the number of records")
        return known


def plan(
    *,
    domain: options.DomainFile,
    counted: _Records,
    known: options.KnownTotals = None,
    budgeted: options.SampledBudgetOptions,
    questions: options.QuestionOptions,
    configured: PlannedMechanismOptions,
    chosen: options.RowOptions,
    target: TargetOptions,
    shown: Output,
) -> None:
    r"""Show memory, time, charges, noise and error bounds of a run. Spends nothing.

    All of it follows from --total, a public guess. If you name the table too, it is read once to check that it fits
    its domain. At the end come the errors of measurements that do not depend on the data, which are known
    before a run. With a target the budget is found first: by exact errors, by simulation on records like those to come
    (--like), or else by the formula that mwem chooses its rounds by.

    Examples:
      hedgerow plan --domain people.yaml --epsilon 1 --total 50000
      hedgerow plan --domain people.yaml --columns age,sex,income --rho 0.1 \
          --total 50000 --workload marginals:3
      hedgerow plan --domain people.yaml --epsilon 1 --total 50000 \
          --workload "marginals:2 @levels"
      hedgerow plan --domain people.yaml --target-error 0.02 --delta 1e-9 \
          --total 50000 --like last-year.release
      hedgerow plan --domain people.yaml --epsilon 1 --total 50000 \
          --mechanism online-pmw
    """
    from hedgerow.algorithms.learning import workload_before
    from hedgerow.algorithms.strategies import predicted
    from hedgerow.domain import Domain
    from hedgerow.runs import for_questions, workload_over

    wanted = options.knowing(options.opened(domain, chosen.columns, accept_draft=True), known)
    data, total = counted.data, counted.number(wanted)
    if (session := configured.session()) is not None:
        _check_of_session(questions, target, budgeted)
        _plan_session(shown, session, domain=domain, counted=_Records(data, total), budgeted=budgeted, chosen=chosen)
        return
    questions = questions.over(wanted if isinstance(wanted, Domain) else wanted.outline)
    algorithm = for_questions(configured.algorithm(), questions.text, questions.target)
    how = chosen.reading()
    asked = workload_before(wanted, partial(workload_over, text=questions.text))
    reading = Reading(asked.domain, how)
    relation = budgeted.between(how.persons, filtered=reading.filtered)

    def spec_of(budget: Budget) -> RunSpec:
        return questions.spec(wanted, algorithm, budget, how)

    def budget_of(described: options.BudgetOptions) -> Budget:
        return spec_of(described.budget(relation)).budget

    wish = target.wish(budgeted, budget_of)
    if wish is None:
        budget_of(budgeted)  # refuses what is no budget before the table is read
    if data is not None:
        check_public(target.like, inputs_of(data), "--like")
    n = float(_public_total(shown, reading, data or "", relation) if total is None else total)

    def left(budget: Budget) -> Budget:
        return learning_of(spec_of(budget).accounted())[1]

    solved = wish.solved(shown, configured.name, algorithm, asked, max(1.0, n), left=left) if wish else None
    budget = spec_of(solved.budget if solved else budget_of(budgeted)).accounted().budget
    lines, budget_left = learning_of(spec_of(budget))
    planned = algorithm.plan(asked, budget_left, n)
    asked = algorithm.asked(asked, algorithm.accounted(asked, budget_left), n)
    lines += _joined(asked, questions.text)
    lines += [*(solved.lines() if solved else []), *planned.lines(n)]
    if data is not None and total is not None:  # once the plan is made: free memory, too, depends on the table
        reading.read_data(shown, data)
        shown.note(f"{data} fits its domain; nothing in this plan was read off it")
    _warn(shown, algorithm, wanted, asked, budget=budget, total=n)
    told = _tell_plan(shown, asked, budget.statement(), lines, predicted(asked, budget_left), total=n)
    told |= {"target": solved.to_dict()} if solved else {}
    shown.result({**planned.to_dict(), **told, "total": round(n)})


def _joined(asked: Workload, text: str | None) -> list[Line]:
    """A line about tables that join where no workload is given."""
    from hedgerow.runs import unasked_in_words

    joined = "" if text is not None else unasked_in_words(asked, "")
    return [("orders", joined)] if joined else []


def _check_of_session(
    questions: options.QuestionOptions, target: TargetOptions, budgeted: options.SampledBudgetOptions
) -> None:
    if questions != options.QuestionOptions() or target != TargetOptions() or budgeted.sampled is not None:
        left_out = "a session has neither a workload nor a target, and no sample: leave their options out"
        raise typer.BadParameter(left_out)


def _plan_session(
    shown: Output,
    session: OnlinePMW,
    *,
    domain: Path,
    counted: _Records,
    budgeted: options.BudgetOptions,
    chosen: options.RowOptions,
) -> None:
    """Show what a session would be like."""
    from hedgerow.domain import caveats_in_words

    wanted, how = options.domain_of(domain, chosen.columns, accept_draft=True), chosen.reading()
    reading = Reading(wanted, how)
    relation = budgeted.between(how.persons, filtered=reading.filtered)
    budget = budgeted.budget(relation)
    n = counted.total or _public_total(shown, reading, counted.data or "", relation)
    planned = session.plan(wanted, budget, float(n))
    if counted.data is not None and counted.total is not None:
        reading.read_data(shown, counted.data)
        shown.note(f"{counted.data} fits its domain; nothing in this plan was read off it")
    options.warn_of_domain(shown, wanted)
    options.warn_of_budget(shown, budget, float(n))
    promise = budget.statement() + caveats_in_words(wanted)
    shown.tell(promise)
    shown.say()
    for word, sentence in planned.lines(float(n)):
        shown.say(f"{word:8} {sentence}")
    shown.result({**planned.to_dict(), "guarantee": promise, "total": round(n)})


def _warn(
    shown: Output, algorithm: Algorithm, wanted: Domain | OpenDomain, asked: Workload, *, budget: Budget, total: float
) -> None:
    """Say what of a plan somebody may regret."""
    options.warn_of_domain(shown, asked.domain)
    for warning in algorithm.warnings(asked):
        shown.warn(warning)
    options.warn_of_budget(shown, budget, total)
    warn_of_learning(shown, wanted, budget, total)


def _tell_plan(
    shown: Output, asked: Workload, statement: str, lines: Sequence[Line], fixed: Sequence[Strategy], *, total: float
) -> dict[str, Any]:
    """Say what a plan tells, and hand back what of it programs are told."""
    from hedgerow.algorithms.strategies import prediction_lines
    from hedgerow.domain import caveats_in_words, feasible_records

    promise = statement + caveats_in_words(asked.domain)
    shown.tell(promise)
    shown.say()
    for word, sentence in [*_about(asked), *lines, *prediction_lines(fixed, max(1.0, total))]:
        shown.say(f"{word:8} {sentence}")
    return {
        "feasible": feasible_records(asked.domain),
        "constraints": [rule.text for rule in asked.domain.constraints],
        "fixed": [each.to_dict() for each in fixed],
        "guarantee": promise,
    }


def _public_total(shown: Output, reading: Reading, data: str, relation: Neighbours) -> float:
    """The number of records of a table, where the relation makes it public.

    Raises:
        ConfigError: It does not: a plan, or a budget that is solved for, would publish it.
    """
    if not relation.public_total:
        raise ConfigError(
            f"the number of records is private under {relation.value!r}, and a plan would tell it",
            remedy="give a public guess: --total. The table may stay beside it, to see whether it fits its domain",
        )
    total = reading.read_data(shown, data).total()
    shown.note("the number of records is that of the table, which is public under 'replace'")
    return total


def _about(workload: Workload) -> list[tuple[str, str]]:
    """The lines of a plan about records that can exist, levels and derived columns; none where there are none."""
    from hedgerow.domain import cells_in_words, columns_in_words, levels_in_words

    domain, used = workload.domain, {name for scope in workload.scopes for name in scope}
    lines = [("records", cells_in_words(domain))] if domain.constraints else []
    levels, columns = levels_in_words(domain, used), columns_in_words(domain)
    number = sum(domain.function(name) is not None for name in used)
    lines += (
        [("levels", f"{levels}; the workload names {f'{number:,}' if number else 'none'} of them")] if levels else []
    )
    return [*lines, *([("derived", f"{columns}: checked while reading, written with records")] if columns else [])]


def mechanisms(
    *,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Mechanism whose options are listed, with what each means.")
    ] = None,
    shown: Output,
) -> None:
    """List the mechanisms: what they do, under which budgets; of one of them the source and every option.

    The names are for --mechanism of 'hedgerow synth' and 'hedgerow plan' and for --mechanisms of 'hedgerow compare',
    with options as in mwem:rounds=30,refit=sweeps,output=average. Sessions of 'hedgerow ask' run online-pmw, which is
    not in the list.

    Examples:
      hedgerow mechanisms
      hedgerow mechanisms mwem
      hedgerow mechanisms online-pmw
      hedgerow mechanisms --json
    """
    if name is not None:
        _options_of(shown, ONLINE if name == ONLINE.name else entry(name))
        return
    from hedgerow.privacy import Regime

    def budgets(regimes: Collection[Regime]) -> str:
        if Regime.PURE not in regimes:
            return "with delta, or rho, or mu"
        return "any" if len(regimes) > 1 else "epsilon"

    shown.table(
        ("name", "what it does", "budgets"), ((each.name, each.summary, budgets(each.regimes)) for each in entries())
    )
    shown.note("'hedgerow mechanisms NAME' lists the options of one")
    described = [
        {
            "name": each.name,
            "summary": each.summary,
            "regimes": [regime.value for regime in each.regimes],
            "options": list(each.options),
        }
        for each in entries()
    ]
    shown.result({"mechanisms": described})


def _options_of(shown: Output, mechanism: Entry) -> None:
    """Every option of a mechanism, and where the mechanism was published."""
    shown.say(f"{mechanism.name:8} {mechanism.summary}")
    if mechanism.source:
        shown.say(f"source   {mechanism.source}")
    for each in mechanism.options.values():
        unit = f", {each.unit}" if each.unit else ""
        shown.say(f"\n{each.name} = {each.written}: {each.values}{unit}")
        shown.tell(f"  {each.meaning}")
    described = [
        {"name": each.name, "values": each.values, "default": each.written, "unit": each.unit, "meaning": each.meaning}
        for each in mechanism.options.values()
    ]
    shown.result({"name": mechanism.name, "source": mechanism.source, "options": described})


def key(
    *,
    file: Annotated[Path, typer.Argument(metavar="NEW_FILE", help="File to write the private key to.")],
    shown: Output,
) -> None:
    """Make an Ed25519 key to sign releases with: the private one in NEW_FILE, the public one in NEW_FILE.pub.

    Keep the private key secret; give the public key, or its fingerprint, to those who read your releases.

    Example:
      hedgerow key custodian
    """
    from hedgerow.system import SigningKey

    made = SigningKey.make(file)
    shown.say(f"private key in {file}, public key in {file}.pub")
    shown.say(f"fingerprint {made.public.fingerprint}")
    shown.result({"private": str(file), "public": f"{file}.pub", "fingerprint": made.public.fingerprint})


def warm(*, shown: Output) -> None:
    """Compile ahead what runs compile on their first call, so that none waits for it.

    The inner loops are compiled for the machine when they are used first, and kept: beside the package, in a folder of
    the user where the package cannot be written to, or wherever NUMBA_CACHE_DIR says. In an image for containers, call
    this when it is built. Nothing private is touched.

    Examples:
      hedgerow warm
      NUMBA_CACHE_DIR=/var/cache/hedgerow hedgerow warm --quiet
    """
    from hedgerow.cli.warming import warm as warm_up
    from hedgerow.system import compiled_folder, when_compiling

    if (folder := compiled_folder()) is None:
        remedy = "name a folder that can be written to in NUMBA_CACHE_DIR"
        raise ConfigError("there is no folder to keep compiled functions in", remedy=remedy)
    when_compiling(lambda: None)
    shown.note("compiling, which takes a minute at most")
    warm_up()
    shown.say(f"compiled functions are kept in {folder}")
    shown.result({"folder": str(folder)})
