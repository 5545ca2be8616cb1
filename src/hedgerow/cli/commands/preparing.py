"""Commands that come before a run and spend nothing: ``domain``, ``plan``, ``mechanisms`` and ``key``."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.algorithms.registry import Entry, entries
from hedgerow.cli import options
from hedgerow.cli.outputs import check_ending, check_outputs
from hedgerow.cli.reading import Reading
from hedgerow.privacy import Regime
from hedgerow.queries import Neighbours
from hedgerow.system import replacing

_DRAFT = (
    "This draft was read off the data. Its values are as private as the data until someone decides that they are "
    "public: replace them by answer lists, legal ranges or code books, and do not publish the draft."
)
_BUDGETS = {(Regime.PURE, Regime.ZCDP): "any", (Regime.PURE,): "epsilon", (Regime.ZCDP,): "with delta, or rho"}


def domain(
    ctx: typer.Context,
    *,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The private table: .csv or .parquet.")],
    output: Annotated[
        Path | None,
        options.output_option(
            "--output", "-o", metavar="FILE", help="Domain file to write (.yaml); printed if not given."
        ),
    ] = None,
    columns: options.Columns = None,
    count_column: options.CountColumn = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Draft a domain file, which lists the columns of a table and the values that each could hold.

    A domain must be public knowledge. The draft shows what the data hold, as a form to fill in; it is private until you
    have replaced all of it by public knowledge.

    Examples:
      hedgerow domain people.csv
      hedgerow domain people.parquet -o people.yaml
    """
    shown = options.prepare(ctx, quiet=quiet, as_json=as_json)
    if output is not None:
        check_ending("--output", output, (".yaml", ".yml"), "a draft holds comments; name it .yaml")
        check_outputs({"--output": output}, inputs=[data], force=force)
    with shown.busy(f"reading {data}"):
        text = _draft(data, options.split_names(columns), count_column)
    shown.warn(_DRAFT)
    if output is None:
        shown.say(text.rstrip())
    else:
        with replacing(output) as beside:
            beside.write_text(text, encoding="utf-8")
        shown.say(f"draft in {output}")
    shown.result({"draft": text, "file": None if output is None else str(output)})


def _draft(data: Path, columns: list[str] | None, count_column: str | None) -> str:
    from hedgerow.data import draft_domain, open_table

    if count_column is not None and columns is None:
        columns = [name for name in open_table(data).names if name != count_column]
    return draft_domain(data, columns=columns)


def plan(
    ctx: typer.Context,
    *,
    domain: options.DomainFile,
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="The private table; only its number of records is used."),
    ] = None,
    total: Annotated[
        int | None,
        options.table_option("--total", min=1, help="A public guess of the number of records."),
    ] = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    neighbours: options.NeighboursOption = Neighbours.ADD_REMOVE,
    workload: options.WorkloadText = None,
    mechanism: options.MechanismOption = "mwem",
    rounds: options.Rounds = None,
    alpha: options.Alpha = None,
    columns: options.Columns = None,
    count_column: options.CountColumn = None,
    where: options.Where = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    r"""Show memory, time, charges, noise and error bounds of a run. Spends nothing.

    Examples:
      hedgerow plan --domain people.yaml --epsilon 1 --total 50000
      hedgerow plan --domain people.yaml --columns age,sex,income --rho 0.1 \
          --total 50000 --workload marginals:3
    """
    shown = options.prepare(ctx, quiet=quiet, as_json=as_json)
    if (data is None) == (total is None):
        raise typer.BadParameter("give either --total, a public guess of the number of records, or the table DATA")
    budget = options.budget_of(epsilon, delta, rho, neighbours if where is None else neighbours.filtered)
    algorithm = options.algorithm_of(mechanism, rounds, alpha)
    asked = options.workload_of(domain, columns, workload)
    n = total
    if data is not None:
        n = (
            Reading(asked.domain, count_column, some_columns=columns is not None, where=where)
            .read_data(shown, data)
            .total()
        )
    planned = algorithm.plan(asked, budget, float(n or 0))
    if data is not None:
        shown.warn("this plan uses the exact number of records of the table: keep it to yourself")
    options.warn_of_budget(shown, budget, float(n or 0))
    shown.tell(budget.statement())
    shown.say()
    for word, sentence in planned.lines(float(n or 0)):
        shown.say(f"{word:8} {sentence}")
    shown.result({**planned.to_dict(), "guarantee": budget.statement(), "total": n})


def mechanisms(ctx: typer.Context, *, quiet: options.Quiet = False, as_json: options.AsJson = False) -> None:
    """List the mechanisms: what they do, under which budgets, with which options.

    The names are for --mechanism of 'hedgerow synth' and 'hedgerow plan', and with options for --mechanisms of
    'hedgerow compare'.

    Examples:
      hedgerow mechanisms
      hedgerow mechanisms --json
    """
    shown = options.prepare(ctx, quiet=quiet, as_json=as_json)
    rows = ((each.name, each.summary, _BUDGETS[each.regimes], ", ".join(each.options)) for each in entries())
    shown.table(("name", "what it does", "budgets", "options"), rows)
    shown.result({"mechanisms": [_described(each) for each in entries()]})


def _described(each: Entry) -> dict[str, object]:
    regimes = [regime.value for regime in each.regimes]
    return {"name": each.name, "summary": each.summary, "regimes": regimes, "options": list(each.options)}


def key(
    ctx: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(metavar="NEW_FILE", help="File to write the private key to.")],
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Make an Ed25519 key to sign releases with: the private one in NEW_FILE, the public one in NEW_FILE.pub.

    Keep the private key secret; give the public key, or its fingerprint, to those who read your releases.

    Example:
      hedgerow key custodian
    """
    from hedgerow.system import SigningKey

    shown = options.prepare(ctx, quiet=quiet, as_json=as_json)
    made = SigningKey.make(file)
    shown.say(f"private key in {file}, public key in {file}.pub")
    shown.say(f"fingerprint {made.public.fingerprint}")
    shown.result({"private": str(file), "public": f"{file}.pub", "fingerprint": made.public.fingerprint})
