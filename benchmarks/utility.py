"""What models learn from synthetic records: ``python -m benchmarks utility [--half tuning|reported] [--seeds N]``.

A third of each table is kept aside. MWEM makes records of the rest with its defaults, for all pairs and for a target,
and models that are trained on them are tried on the third; delta is 1e-9. Each figure is the area under the ROC curve
of gradient boosting and of logistic regression, as a mean over seeds, beside that of the real records.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.peers.tasks import TASKS
from benchmarks.regret.tables import EXAMPLES, Half
from hedgerow import MWEM, ApproxDP, Domain, IntegerRange, SeededNoise, Table, Workload, read_domain, read_table
from hedgerow.arrays import Ints
from hedgerow.domain import Ordered
from hedgerow.evaluation.learners import MODELS, prediction
from hedgerow.runs import for_questions, workload_with

EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-9
MOST_LABELS = 255
"""Labels of a column that boosting takes as such; it takes those of a wider one as numbers."""
TABLES: dict[str, tuple[Half, str, Callable[[], Table]]] = {
    "Adult": ("tuning", "income", lambda: TASKS["W1"]().table),
    "ACS, tenure": ("tuning", "OWN_RENT", lambda: TASKS["ACS"]().table),
    "parity of 3 of 10": ("tuning", "label", lambda: parity(3)),
    "ACS, marriage": ("reported", "MSP", lambda: TASKS["ACS"]().table),
    "NLTCS": ("reported", "money", lambda: example("nltcs")),
    "Rochdale": ("reported", "EconActive", lambda: example("rochdale")),
    "transfusion": ("reported", "Donated", lambda: example("transfusion", None)),
    "parity of 2 of 10": ("reported", "label", lambda: parity(2)),
    "parity of 5 of 10": ("reported", "label", lambda: parity(5)),
}
"""Half, target and table."""


def example(name: str, counts: str | None = "count") -> Table:
    """A table that the repository ships."""
    folder = EXAMPLES / "data"
    return read_table(folder / f"{name}.csv", read_domain(folder / f"{name}.domain.json"), count_column=counts)


def parity(bits: int, n: int = 15_000, seed: int = 0) -> Table:
    """Ten fair bits, and the parity of the first of them, wrong in 5 % of the records."""
    drawing = np.random.default_rng(seed)
    columns = list(drawing.integers(0, 2, size=(10, n)))
    label = (sum(columns[:bits]) + (drawing.random(n) < 0.05)) % 2
    names = [*(f"bit{place}" for place in range(10)), "label"]
    return Table(Domain(IntegerRange(name, 0, 1) for name in names), [*columns, label])


def areas(table: Table, trained: Ints, tested: Ints, target: str) -> list[float]:
    """Area under the ROC curve of each model."""
    labels = [not isinstance(attribute, Ordered) and attribute.size <= MOST_LABELS for attribute in table.domain]
    place = table.domain.names.index(target)
    return [prediction(model, trained, tested, place, labels).auc for model in MODELS]


def figures(name: str, seeds: int) -> Iterator[str]:
    """Lines of the page's table."""
    half, target, make = TABLES[name]
    table = make()
    codes = np.random.default_rng(1).permutation(np.stack(table.columns, axis=1))
    cut = len(codes) * 2 // 3
    private, tested = Table(table.domain, list(codes[:cut].T)), codes[cut:]
    real = areas(table, codes[:cut], tested, target)
    texts = {"all pairs": None, f"target:{target}": workload_with(None, target=target)}
    for label, text in texts.items():
        workload = Workload.parse(text or "marginals:2", table.domain)
        cells = []
        for epsilon in EPSILONS:
            budget = ApproxDP(epsilon, DELTA)
            mechanism = for_questions(MWEM(), text, text and target)
            runs = (mechanism.run(private, workload, budget, noise=SeededNoise(seed)) for seed in range(seeds))
            found = [areas(table, run.sample(seed=0).codes, tested, target) for run in runs]
            cells.append(", ".join(f"{area:.3f}" for area in np.mean(found, axis=0)))
        truth = ", ".join(f"{area:.3f}" for area in real)
        yield f"| {name} ({half}) | {label} | {' | '.join(cells)} | {truth} |"


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks utility", description=__doc__)
    parser.add_argument("--half", choices=("tuning", "reported"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", choices=TABLES)
    asked = parser.parse_args(arguments)
    print(f"| table | workload | {' | '.join(f'epsilon {each:g}' for each in EPSILONS)} | real records |")
    print(f"|---|---|{'---|' * len(EPSILONS)}---|")
    for name, (half, _, _) in TABLES.items():
        if asked.half in (None, half) and asked.table in (None, name):
            for line in figures(name, asked.seeds):
                print(line, flush=True)
