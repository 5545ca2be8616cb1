"""Intervals from replicates: how often they hold the truth, and their width beside that of the sample itself.

``python -m benchmarks replicates [--releases N] [--replicates R] [--table NAME] [--keep FOLDER] [--rules]``. A public
or made-up table stands for a population, of which samples of 8,000 records are drawn with replacement. Each is released
(all pairs, MWEM with its defaults, delta 1e-9), and shares, means, log odds ratios, correlations and coefficients of
regressions are estimated from it, for the population and for the sample. Intervals have 95 %. ``replicates`` are those
of `Replicates.estimate`, which take the bias of the fit off; what it withholds is counted apart, in ``withheld``, and
``mse`` is what R gives with ``mse = TRUE`` (of all). ``moments`` are coefficients from measured sums, which
`hedgerow.regress` gives where it can, ``proved`` the intervals of `hedgerow answer`; ``usual`` treats the synthetic
records as a sample. For each kind of statistic the share of intervals that hold, that of the statistic that does worst,
the median half-width over that of the sample without privacy, and how many of the intervals there are. With ``--keep``
each release is kept in a file of the folder, and a run goes on where one stopped.

With ``--rules`` four rules that combine several files of records stand beside them, each with as many files as there
are replicates:
``Reiter`` (2003, partially synthetic: mean variance plus the variance between files over their number) and
``Raghunathan`` (2003, fully synthetic: variance between files times 1 + 1/m, less the mean variance) with independent
files of the release, ``Rubin`` (1987, multiple imputation: mean variance plus 1 + 1/m times that between files) with a
file of each replicate of the file, and ``Raisa`` (2023: Raghunathan's rule, which they use) with independent records of
each replicate of the population, in place of draws from a posterior that knows of the noise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import special

from hedgerow import (
    MWEM,
    ApproxDP,
    Domain,
    IntegerRange,
    Records,
    Release,
    SeededNoise,
    Table,
    Workload,
    regress,
    replicate,
)  # fmt: skip
from hedgerow.domain import Clique
from hedgerow.errors import ConfigError
from hedgerow.inference import ModelFamily
from hedgerow.queries import Formula
from hedgerow.release import ReplicateEstimate, Replicates, Target, select_from

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RECORDS = 8_000
EPSILONS = (0.3, 0.5, 1.0, 3.0)
NORMAL = 1.959964
PARTS = ("held", "widths")
TARGETS: tuple[Target, Target] = ("population", "file")


@dataclass(frozen=True)
class Task:
    """A population and what is asked of it.

    Attributes:
        rows: Whole numbers from 0, one column each.
        outcome: A column of zeros and ones that regressions explain by the columns of `by`.
        number: A column that a linear regression explains.
        by: Columns that explain.
    """

    rows: pd.DataFrame
    outcome: str
    number: str
    by: tuple[str, ...]

    @property
    def domain(self) -> Domain:
        """All columns as whole numbers."""
        return Domain(IntegerRange(name, 0, int(self.rows[name].max())) for name in self.rows)

    @property
    def kinds(self) -> list[str]:
        """The kind of each statistic, in the order of `statistics`."""
        extra = len(self.by) - (self.number in self.by)
        return (
            ["share"] * 3
            + ["mean"] * 2
            + ["log odds ratio"] * 2
            + ["correlation"] * 2
            + ["logistic"] * (1 + len(self.by))
            + ["linear"] * (1 + extra)
            + ["Poisson"] * (1 + extra)
        )

    @property
    def tables(self) -> list[list[Clique]]:
        """The tables that each statistic follows from, likewise."""
        outcome, number, (first, second, _, fourth, *_) = self.outcome, self.number, self.by
        pairs = [(number, first), (outcome, first), (outcome, fourth), (number, second), (number, outcome)]
        found: list[list[Clique]] = [[(outcome,)], [(first,)], [(first, outcome)], [(number,)]]
        found += [[pair] for pair in pairs]
        for kind, (_, formula) in zip(("logistic", "linear", "Poisson"), models(self), strict=True):
            found += [list(Formula.parse(formula, self.domain).tables)] * self.kinds.count(kind)
        return found

    def statistics(self, columns: dict[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimates, and their standard errors if weighted records are a simple random sample."""
        outcome, number = columns[self.outcome], columns[self.number]
        by = [columns[name] for name in self.by]
        group = by[0] == 1
        found = [_mean(outcome, weights), _mean(by[0] == 1, weights), _mean(outcome[group], weights[group])]
        found += [_mean(number, weights), _mean(number[~group], weights[~group])]
        found += [_log_odds(outcome, each, weights) for each in (by[0], columns[self.by[3]])]
        found += [_correlation(number, each, weights) for each in (columns[self.by[1]], outcome)]
        left = np.column_stack([np.ones(len(outcome)), *by])
        others = np.column_stack([np.ones(len(outcome)), *(columns[name] for name in self.by if name != self.number)])
        models = (
            _logistic(left, outcome, weights),
            _linear(others, number, weights),
            _poisson(others, number, weights),
        )
        estimates = [*(each for each, _ in found), *(each for model, _ in models for each in model)]
        errors = [*(each for _, each in found), *(each for _, model in models for each in model)]
        return np.array(estimates), np.array(errors)


def _mean(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weights) / weights.sum()))


def _log_odds(one: np.ndarray, other: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    a, b, c, d = np.maximum(np.bincount(2 * one + other, weights, 4), 1e-9)
    return float(np.log(a * d / (b * c))), float(np.sqrt(1 / a + 1 / b + 1 / c + 1 / d))


def _correlation(one: np.ndarray, other: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Pearson's, with the error of its influence function, which needs no normal law."""
    first, second = (each - np.average(each, weights=weights) for each in (one, other))
    first, second = (each / np.sqrt(np.average(each**2, weights=weights)) for each in (first, second))
    found = float(np.average(first * second, weights=weights))
    influence = first * second - found * (first**2 + second**2) / 2.0
    return found, float(np.sqrt(np.average(influence**2, weights=weights) / weights.sum()))


def _linear(left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inverse = np.linalg.inv((left.T * weights) @ left)
    found = inverse @ (left.T @ (weights * right))
    meat = (left.T * (weights * (right - left @ found) ** 2)) @ left
    return found, np.sqrt(np.diag(inverse @ meat @ inverse))


def _logistic(left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method, on the distinct rows; a small ridge keeps separated tables finite."""
    rows, places = np.unique(np.column_stack([left, right]), axis=0, return_inverse=True)
    cells, weigh = rows[:, :-1], np.bincount(places.reshape(-1), weights)
    found = np.zeros(left.shape[1])
    for _ in range(25):
        fitted = 1.0 / (1.0 + np.exp(-np.clip(cells @ found, -30, 30)))
        curvature = (cells.T * (weigh * fitted * (1.0 - fitted))) @ cells + 1e-9 * np.eye(len(found))
        step = np.linalg.solve(curvature, cells.T @ (weigh * (rows[:, -1] - fitted)))
        found = found + step
        if np.abs(step).max() < 1e-10:
            break
    return found, np.sqrt(np.diag(np.linalg.inv(curvature)))


def _poisson(left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method from least squares on logarithms; errors that do not need the law of Poisson."""
    found = _linear(left, np.log(right + 0.5), weights)[0]
    for _ in range(25):
        fitted = np.exp(np.clip(left @ found, -30, 30))
        inverse = np.linalg.inv((left.T * (weights * fitted)) @ left)
        step = inverse @ (left.T @ (weights * (right - fitted)))
        found = found + step
        if np.abs(step).max() < 1e-10:
            break
    meat = (left.T * (weights * (right - fitted) ** 2)) @ left
    return found, np.sqrt(np.diag(inverse @ meat @ inverse))


def adult() -> Task:
    """Adult: income by sex, schooling, age and marriage."""
    rows = pd.read_csv(EXAMPLES / "data" / "adult.csv", skipinitialspace=True)
    return Task(
        pd.DataFrame(
            {
                "rich": (rows["income"].str.contains(">")).astype(int),
                "man": (rows["sex"] == "Male").astype(int),
                "school": np.digitize(rows["education-num"], (9, 10, 13)),
                "decade": np.clip(rows["age"] // 10 - 1, 0, 6),
                "married": rows["marital-status"].str.startswith("Married-c").astype(int),
                "long": (rows["hours-per-week"] > 40).astype(int),
            }
        ),
        "rich",
        "decade",
        ("man", "school", "decade", "married", "long"),
    )


def acs() -> Task:
    """ACS, Massachusetts, adults: a high income by sex, schooling, age, marriage and walking difficulties."""
    rows = pd.read_csv(EXAMPLES / "acs" / "ma2019.csv")
    rows = rows[(rows["AGEP"] >= 25) & (rows["EDU"] != "N") & (rows["PINCP_DECILE"] != "N")]
    return Task(
        pd.DataFrame(
            {
                "rich": (rows["PINCP_DECILE"].astype(int) >= 7).astype(int),
                "man": (rows["SEX"] == 1).astype(int),
                "school": np.digitize(rows["EDU"].astype(int), (6, 8, 10)),
                "decade": np.clip(rows["AGEP"] // 10 - 2, 0, 6),
                "married": (rows["MSP"].astype(str) == "1").astype(int),
                "walks": (rows["DPHY"].astype(str) == "2").astype(int),
            }
        ).reset_index(drop=True),
        "rich",
        "decade",
        ("man", "school", "decade", "married", "walks"),
    )


GENERATED = 100_000


def salaries() -> Task:
    """Made-up salaries of log-normal law in levels, by grade, age, temporary contract and site."""
    rng = np.random.default_rng(0)
    senior, decade = (
        (rng.random(GENERATED) < 0.3).astype(int),
        np.clip(rng.normal(2.6, 1.1, GENERATED), 0, 5).astype(int),
    )
    short = (rng.random(GENERATED) < 0.1 + 0.05 * (decade < 2)).astype(int)
    south = rng.integers(0, 2, GENERATED)
    pay = np.exp(rng.normal(10.2 + 0.25 * senior + 0.06 * decade - 0.2 * short, 0.5))
    rows = {"rich": (pay > 45_000).astype(int), "level": np.minimum(pay // 10_000, 14).astype(int), "senior": senior}
    others = {"decade": decade, "short": short, "south": south}
    return Task(pd.DataFrame(rows | others), "rich", "level", ("senior", "decade", "short", "south"))


def panel() -> Task:
    """A made-up panel: visits to a doctor by work, weeks of work one by one, wave and place."""
    rng = np.random.default_rng(7)
    works, wave = (rng.random(GENERATED) < 0.7).astype(int), rng.integers(0, 4, GENERATED)
    weeks = np.where(works == 1, 52 - rng.geometric(0.2, GENERATED), rng.integers(0, 30, GENERATED)).clip(0, 52)
    visits = rng.poisson(np.exp(1.1 - 0.3 * works - 0.01 * weeks + 0.05 * wave)).clip(0, 20)
    rows = {"often": (visits >= 3).astype(int), "visits": visits, "works": works, "weeks": weeks, "wave": wave}
    town = (rng.random(GENERATED) < 0.35).astype(int)
    return Task(pd.DataFrame(rows | {"town": town}), "often", "visits", ("works", "weeks", "wave", "town"))


def zipf() -> Task:
    """Made-up columns of Zipf's law: a few values have most records, many have hardly any."""
    rng = np.random.default_rng(3)
    law = 1.0 / np.arange(1, 13) ** 1.2
    rank = rng.choice(12, GENERATED, p=law / law.sum())
    member = (rng.random(GENERATED) < 0.15 + 0.02 * rank).astype(int)
    buys = rng.poisson(0.4 + 0.15 * rank + 0.5 * member).clip(0, 15)
    active = (rng.random(GENERATED) < 1.0 / (1.0 + np.exp(2.5 - 0.15 * rank - 0.9 * member))).astype(int)
    rows = {"active": active, "buys": buys, "member": member, "rank": rank}
    others = {"tier": rng.choice(4, GENERATED, p=(0.7, 0.2, 0.08, 0.02)), "web": rng.integers(0, 2, GENERATED)}
    return Task(pd.DataFrame(rows | others), "active", "buys", ("member", "rank", "tier", "web"))


TASKS: dict[str, Callable[[], Task]] = {
    "Adult": adult,
    "ACS": acs,
    "salaries": salaries,
    "panel": panel,
    "Zipf": zipf,
}


@dataclass(frozen=True)
class Found:
    """Of one release, for each statistic, shape ``(statistics,)`` each: whether intervals held, and their half-widths.

    Attributes:
        held: By method.
        widths: By method, over those of the sample without privacy.
    """

    held: dict[str, np.ndarray]
    widths: dict[str, np.ndarray]


def _columns(records: pa.Table) -> dict[str, np.ndarray]:
    return {name: records[name].to_numpy() for name in records.column_names}


def found(task: Task, epsilon: float, seed: int, replicates: int, *, rerun: bool = False, rules: bool = False) -> Found:
    """One release of one sample, and how its intervals did."""
    rng = np.random.default_rng(seed)
    drawn = task.rows.iloc[rng.integers(0, len(task.rows), RECORDS)]
    domain = task.domain
    table = Table(domain, [drawn[name].to_numpy() for name in domain.names])
    workload = Workload.marginals(domain, 2)
    release: Release = MWEM().run(table, workload, ApproxDP(epsilon, 1e-9), noise=SeededNoise(seed))
    population, _ = task.statistics(
        {name: task.rows[name].to_numpy() for name in domain.names}, np.ones(len(task.rows))
    )
    sample, errors = task.statistics({name: drawn[name].to_numpy() for name in domain.names}, np.ones(RECORDS))
    truth, of_sample = {"population": population, "file": sample}, NORMAL * errors
    held, widths = (
        {"sample, population": np.abs(sample - population) <= of_sample},
        {"sample, population": np.ones_like(errors)},
    )
    for target in TARGETS:
        made = replicate(release, replicates, target=target, seed=seed, rerun=rerun)
        if target == "population":
            value, usual = task.statistics(_columns(made.records.to_arrow()), np.ones(len(made.records)))
            held["usual, population"] = np.abs(value - population) <= NORMAL * usual
            widths["usual, population"] = NORMAL * usual / of_sample
        low, high = _from_sums(task, release, target, seed)
        held[f"moments, {target}"] = (low <= truth[target]) & (truth[target] <= high)
        held[f"moments, {target}"] = np.where(np.isnan(low), np.nan, held[f"moments, {target}"])
        widths[f"moments, {target}"] = (high - low) / 2.0 / of_sample
        if target == "file":
            low, high = _answered(task, release)
            held["proved, file"] = np.where(np.isnan(low), np.nan, (low <= sample) & (sample <= high))
            widths["proved, file"] = (high - low) / 2.0 / of_sample
        if rules:
            for name, (value, reach) in _combined(task, made).items():
                held[f"{name}, population"] = np.abs(value - population) <= reach
                widths[f"{name}, population"] = reach / of_sample
        if seed == 0:
            _check_regress(task, made)
        shown = np.array([made.traced(each, together=len(each) > 1).suffices for each in task.tables])
        raw, each = _estimates(task, made)
        for name, which in (("replicates", shown), ("withheld", ~shown), ("mse", shown | True)):
            estimate = ReplicateEstimate.of(raw, each, corrected=name != "mse")
            holds = (estimate.low <= truth[target]) & (truth[target] <= estimate.high)
            held[f"{name}, {target}"] = np.where(which, holds, np.nan)
            widths[f"{name}, {target}"] = np.where(which, (estimate.high - estimate.low) / 2.0 / of_sample, np.nan)
    return Found(held, widths)


def _estimates(task: Task, made: Replicates) -> tuple[np.ndarray, np.ndarray]:
    """The statistics of the records, and of each replicate."""
    found = made.estimate(lambda records, weights: task.statistics(_columns(records), weights)[0], columns=[])
    return found.raw, found.replicates


def models(task: Task) -> list[tuple[ModelFamily, str]]:
    others = " + ".join(name for name in task.by if name != task.number)
    return [
        ("logistic", f"{task.outcome} ~ {' + '.join(task.by)}"),
        ("linear", f"{task.number} ~ {others}"),
        ("poisson", f"{task.number} ~ {others}"),
    ]


def _answered(task: Task, release: Release) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the proved intervals of shares and means; of all other statistics not a number."""
    outcome, number, first = task.outcome, task.number, task.by[0]
    asked = [outcome, first, f"{outcome} WHERE {first} = 1", number, f"{number} WHERE {first} = 0"]
    low, high = np.full((2, len(task.kinds)), np.nan)
    for place, each in enumerate(asked):
        name, _, where = each.partition(" ")
        (row,) = select_from(release, f"SELECT AVG({name}) FROM people {where}").to_dicts()
        low[place], high[place] = row[f"AVG({name}) low"], row[f"AVG({name}) high"]
    return low, high


def _from_sums(task: Task, release: Release, target: Target, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals from measured sums; of all but coefficients, and of those without one, not a number."""
    rest = np.full(task.kinds.index("logistic"), np.nan)
    ends = [rest], [rest]
    for kind, (family, formula) in zip(("logistic", "linear", "Poisson"), models(task), strict=True):
        try:
            found = regress(release, formula, family, target=target, source="moments", seed=seed).estimate
        except ConfigError:  # not measured, or with too much noise
            found = ReplicateEstimate(*np.full((7, task.kinds.count(kind)), np.nan))
        ends[0].append(found.low)
        ends[1].append(found.high)
    return np.concatenate(ends[0]), np.concatenate(ends[1])


def _combined(task: Task, made: Replicates) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates for the population and half-widths by rules that combine files of records.

    Replicates of the population have one, of the file the others.
    """
    release, number = made.release, made.number

    def parts(files: Sequence[Records]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        each = [task.statistics(_columns(records.to_arrow()), np.ones(len(records))) for records in files]
        values = np.array([value for value, _ in each])
        return values.mean(axis=0), values.var(axis=0, ddof=1), np.mean([error**2 for _, error in each], axis=0)

    hypotheses = [replace(run, model=run.held) for run in made.runs]
    if made.target == "population":
        drawn = [each.sample(seed=seed, method="independent") for seed, each in enumerate(hypotheses)]
        value, between, within = parts(drawn)
        spread = (1 + 1 / number) * between - within
        spread = np.where(spread > 0.0, spread, within)  # as J. P. Reiter (2002) has it
        return {"Raisa": (value, NORMAL * np.sqrt(spread))}
    same = [release.sample(seed=seed, method="independent") for seed in range(number)]
    value, between, within = parts(same)
    found = {
        "Reiter": (value, NORMAL * np.sqrt(within + between / number)),
        "Raghunathan": (value, NORMAL * np.sqrt(np.maximum((1 + 1 / number) * between - within, 0.0))),
    }
    value, between, within = parts([each.sample(seed=seed) for seed, each in enumerate(hypotheses)])
    between = (1 + 1 / number) * between
    freedom = (number - 1) * (1 + within / between) ** 2
    return {**found, "Rubin": (value, special.stdtrit(freedom, 0.975) * np.sqrt(within + between))}


def _check_regress(task: Task, made: Replicates) -> None:
    """Coefficients of `hedgerow.regress` are those of the bench.

    Raises:
        AssertionError: They are not.
    """
    ours = ReplicateEstimate.of(*_estimates(task, made))
    found = [regress(made, formula, family) for family, formula in models(task)]
    first = task.kinds.index("logistic")
    theirs = np.concatenate([each.estimate.raw for each in found])
    np.testing.assert_allclose(theirs, ours.raw[first:], rtol=1e-4, atol=1e-6)
    for name in ("value", "error", "low", "high"):
        theirs = np.concatenate([getattr(each.estimate, name) for each in found])
        shown = np.concatenate([np.isfinite(each.estimate.error) for each in found])  # others are withheld
        np.testing.assert_allclose(theirs[shown], getattr(ours, name)[first:][shown], rtol=1e-4, atol=1e-6)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks replicates", description=__doc__)
    parser.add_argument("--releases", type=int, default=24)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--rerun", action="store_true", help="whole runs of the mechanism")
    parser.add_argument("--rules", action="store_true", help="rules that combine files, too")
    parser.add_argument("--keep", type=Path, help="a folder for what each release gave")
    parser.add_argument("--table", choices=list(TASKS), help="this one alone")
    options = parser.parse_args(arguments)
    for name, make in TASKS.items():
        if options.table not in (None, name):
            continue
        task = make()
        kinds = np.array(task.kinds)
        for epsilon in EPSILONS:
            seen = [_kept(options, task, name, epsilon, seed) for seed in range(options.releases)]
            for method in seen[0].held:
                cells = [_cell(seen, method, kinds == kind) for kind in dict.fromkeys(task.kinds)]
                if any(cells):
                    print(f"| {name} | {epsilon:g} | {method} | {' | '.join(cells)} |", flush=True)


def _kept(options: argparse.Namespace, task: Task, name: str, epsilon: float, seed: int) -> Found:
    """What one release gave, from its file where there is one."""
    run = {"rerun": options.rerun, "rules": options.rules}
    if options.keep is None:
        return found(task, epsilon, seed, options.replicates, **run)
    place = options.keep / f"{name} {epsilon:g} {seed} {options.replicates}{' rules' * options.rules}.npz"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        one = found(task, epsilon, seed, options.replicates, **run)
        np.savez(place, **{f"{method}/{part}": getattr(one, part)[method] for method in one.held for part in PARTS})
    kept = np.load(place)
    methods = dict.fromkeys(each.split("/")[0] for each in kept.files)
    return Found(*({method: kept[f"{method}/{part}"] for method in methods} for part in PARTS))


def _cell(seen: Sequence[Found], method: str, kind: np.ndarray) -> str:
    """How the intervals of a kind of statistic did; empty where there are none."""
    held = np.array([each.held[method] for each in seen], dtype=float)[:, kind]
    known = ~np.isnan(held)
    if not known.any():
        return ""
    worst = min(float(np.nanmean(each)) for each in held.T if not np.isnan(each).all())
    wide = np.nanmedian(np.array([each.widths[method] for each in seen])[:, kind][known])
    some = "" if known.all() else f", {known.sum()} of {known.size}"
    return f"{held[known].mean():.2f} ({worst:.2f}) x{wide:.2f}{some}"


if __name__ == "__main__":
    main(sys.argv[1:])
