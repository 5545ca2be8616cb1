"""The options that random runs never draw, and why: what there is, less what runs have drawn.

What there is follows from the code: fields of configurations and budgets, arguments of the calls that open tables and
spend budgets, and options of the commands that do. What is drawn follows from the runs: a field that has had two values
among them, an argument that has been given.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import typer.main

from hedgerow import GDP, ZCDP, ApproxDP, Linked, OnlinePMW, PureDP, Subsampled, read_linked, release_linked, scan_table
from hedgerow.algorithms import ENTRIES
from hedgerow.data import automatic_domain
from tests.audit.random_pairs import LinkedRun, SeriesRun
from tests.audit.random_runs import Run
from tests.cli.command_line import app

COMMANDS = ("synth", "synth-linked", "ask")
"""Those that look at a private table and spend a budget on it."""
_CALLS = {
    "scan_table": scan_table,
    "read_linked": read_linked,
    "Linked.of": Linked.of,
    "release_linked": release_linked,
    "OnlinePMW.start": OnlinePMW.start,
    "automatic_domain": automatic_domain,
}
_ALWAYS = {"self", "source", "domain", "parents", "children", "linked", "algorithm", "tables", "budget", "noise"}
"""Arguments without which there is no run."""


def there_is() -> set[str]:
    """Every option, as ``MWEM.rounds``, ``scan_table(where)`` or ``synth --where``."""
    kinds = [type(entry.make()) for entry in ENTRIES] + [OnlinePMW, PureDP, ZCDP, GDP, ApproxDP, Subsampled]
    found = {f"{kind.__name__}.{each.name}" for kind in kinds for each in fields(kind) if each.init}
    for name, call in _CALLS.items():
        found |= {f"{name}({each})" for each in inspect.signature(call).parameters if each not in _ALWAYS}
    commands: Any = typer.main.get_command(app)
    for name in COMMANDS:
        for each in commands.commands[name].params:
            found |= {f"{name} {option}" for option in each.opts if option.startswith("--") and option != "--help"}
    return found


def drawn_of(runs: Iterable[Run], linked: Iterable[LinkedRun], series: Iterable[SeriesRun]) -> set[str]:
    """What runs have drawn."""
    ones, pairs, several = list(runs), list(linked), list(series)
    values: dict[str, set[str]] = {}
    for thing in _configured(ones, pairs, several):
        for each in fields(thing):
            values.setdefault(f"{type(thing).__name__}.{each.name}", set()).add(repr(getattr(thing, each.name)))
    found = {name for name, seen in values.items() if len(seen) > 1}
    found |= {f"scan_table({name})" for run in ones for name in run.reading}
    found |= {f"release_linked({name})" for run in pairs for name in run.options}
    told = {"read_linked(violations)": {run.violations for run in pairs}}
    told["Linked.of(at_most)"] = {str(run.linked.at_most) for run in pairs}
    told["Linked.of(number)"] = {run.linked.number for run in pairs}
    told["Linked.of(order)"] = {str(run.linked.order) for run in pairs}
    told["Linked.of(second_order)"] = {str(run.linked.runs_of_three) for run in pairs}
    told["Linked.of(more)"] = told["read_linked(more)"] = {str(run.linked.more) for run in pairs}
    told["Linked.of(key)"] = {run.linked.key for run in pairs}
    found |= {name for name, seen in told.items() if len(seen) > 1}
    found |= {"OnlinePMW.start(warm)"} if any(run.earlier for run in ones) else set()
    automatic = {f"automatic_domain({name})" for name in ("bounds", "columns", "types")}
    found |= automatic if len({run.number % 2 for run in ones if run.is_automatic}) == 2 else set()
    found |= {"RunSpec.means"} if any(run.asks_means for run in ones) else set()
    found |= {"RunSpec.needs"} if any(run.asks_needs for run in ones) else set()
    found |= {"RunSpec.criteria"} if any(run.asks_criteria for run in ones) else set()
    found |= {"ApproxDP.thresholds"} if any(run.has_labels for run in ones) else set()
    return found | {f"{command} --{option}" for command in COMMANDS for option in _options_of(command, found)}


def _configured(runs: list[Run], linked: list[LinkedRun], series: list[SeriesRun]) -> Iterator[Any]:
    for run in runs:
        yield run.algorithm
        yield run.budget
    for pair in linked:
        yield pair.algorithm
        yield pair.budget
    yield from (part.budget for each in series for part in each.partitions)


_READING = {
    name.replace("_", "-"): f"scan_table({name})"
    for name in ("where", "violations", "person", "at_most", "weight", "largest_weight", "count_column")
}
_SPENDING = {
    "epsilon": "PureDP.epsilon",
    "delta": "ApproxDP.thresholds",
    "rho": "ZCDP.rho",
    "mu": "GDP.mu",
    "neighbours": "PureDP.neighbours",
}
_NAMED: Mapping[str, Mapping[str, str]] = {
    "synth": _READING
    | _SPENDING
    | {
        "rounds": "MWEM.rounds",
        "for": "MWEM.optimize_for",
        "prior": "MWEM.prior",
        "auto-domain": "automatic_domain(bounds)",
        "bounds": "automatic_domain(bounds)",
        "types": "automatic_domain(types)",
        "columns": "automatic_domain(columns)",
        "sampled": "Subsampled.sampled",
        "population": "Subsampled.population",
        "means": "RunSpec.means",
        "needs": "RunSpec.needs",
        "require": "RunSpec.criteria",
    },
    "synth-linked": _SPENDING
    | {
        "violations": "read_linked(violations)",
        "at-most": "Linked.of(at_most)",
        "number": "Linked.of(number)",
        "order": "Linked.of(order)",
        "second-order": "Linked.of(second_order)",
        "further": "Linked.of(more)",
        "share": "release_linked(share)",
        "workload": "release_linked(workloads)",
        "children-workload": "release_linked(workloads)",
        "rounds": "MWEM.rounds",
        "for": "MWEM.optimize_for",
    },
    "ask": _READING
    | _SPENDING
    | {
        "warm": "OnlinePMW.start(warm)",
        "variant": "OnlinePMW.variant",
        "updates": "OnlinePMW.updates",
        "threshold": "OnlinePMW.threshold",
        "queries-planned": "OnlinePMW.queries",
        "beta": "OnlinePMW.beta",
    },
}
"""What an option of a command becomes."""
_ALL_RUNS = {"domain", "parents-domain", "children-domain", "key", "mechanism", "workload", "session", "queries"}
"""Options without which there is no run, or that every run draws."""


def _options_of(command: str, drawn: set[str]) -> set[str]:
    return {name for name, becomes in _NAMED[command].items() if becomes in drawn} | _ALL_RUNS


NEVER: dict[str, tuple[str, ...]] = {
    "it says where to write, how to show, or how to sign what is public by then": (
        *("synth --output", "synth --release", "synth --report", "synth --sign", "synth --force", "synth --quiet"),
        *(
            "synth --json",
            "synth --records",
            "synth --title",
            "synth --made-by",
            "synth-linked --output",
            "synth-linked --children-output",
        ),
        *("synth-linked --records", "synth-linked --sign", "synth-linked --force", "synth-linked --quiet"),
        *("synth-linked --json", "ask --output", "ask --confidence", "ask --force", "ask --quiet", "ask --json"),
        *("OnlinePMW.start(name)", "release_linked(name)", "release_linked(progress)", "read_linked(before_rows)"),
    ),
    "it is announced as not private": (
        *("synth --evaluate", "synth --seed", "synth --show-values", "synth --accept-draft", "ask --seed"),
        *("synth-linked --seed", "synth-linked --show-values", "synth-linked --accept-draft", "ask --accept-draft"),
        *("scan_table(show_values)", "read_linked(show_values)"),
    ),
    "a register is charged before a run, for the whole budget, and tests of its own crash it at every step": (
        *("synth --register", "synth --limit", "synth --limit-delta", "synth --limit-rho", "synth --limit-thresholds"),
        *("synth-linked --register", "synth-linked --limit", "synth-linked --limit-delta", "synth-linked --limit-rho"),
        *("ask --register", "ask --limit", "ask --limit-delta", "ask --limit-rho"),
        *("OnlinePMW.start(register)", "release_linked(register)"),
    ),
    "a promise of error; it becomes a number of rounds, of updates or of records, which is drawn": (
        *("synth --alpha", "DualQuery.alpha", "OfflinePMW.alpha", "OnlinePMW.alpha", "SmallDB.alpha"),
    ),
    "it becomes tables of the workload and rounds that adapt, and both are drawn": ("synth --target",),
    "a public parameter: a look at the table is only left out for it, and runs with it have tests of their own": (
        "synth --known",
    ),
    "whole weights are drawn; neighbours, transcripts and choices with fractional ones have tests of their own": (
        *("synth --fractional-weights", "ask --fractional-weights", "scan_table(fractional_weights)"),
    ),
    "sums of weights more; their neighbours and transcripts are enumerated by tests of their own": (
        *("synth --possible-weight", "synth --design-effect"),
    ),
    "it repeats runs that are drawn, and its law and price are enumerated by tests of their own": ("synth --try",),
    "it chooses columns or their codes before anything is counted; all places are compared with one another": (
        *("scan_table(columns)", "scan_table(coded)", "synth --coded", "ask --coded", "ask --columns"),
        *("automatic_domain(apart)", "Linked.of(key)"),
    ),
    "one value is drawn; conversions and samples are judged at many deltas by exact tests and by the oracles": (
        *("ApproxDP.delta", "Subsampled.delta"),
    ),
    "the sentence of the guarantee says it; neighbouring inputs of all kinds have tests of their own": (
        *("automatic_domain(trust_types)", "synth --trust-types"),
    ),
    "runs of a given number of rounds fill it in themselves": ("ApproxDP.composition",),
    "it changes how an answer is searched for, and not what is drawn": ("DualQuery.oracle", "SmallDB.max_candidates"),
    "noise follows from the budget, and both kinds are drawn": ("FourierMeasurement.noise",),
    "sessions on questions of other bounds have exact tests": ("OnlinePMW.bounds",),
}
"""Options that no run draws, by the reason."""


def rows() -> list[str]:
    """The lines of the table on docs/audit.md."""
    return [f"| {reason} | {', '.join(f'`{each}`' for each in options)} |" for reason, options in NEVER.items()]
