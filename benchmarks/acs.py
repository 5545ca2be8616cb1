"""A survey with rules (ACS, Massachusetts, 24 columns): MWEM with its rules and levels declared, and without.

Score and rules are those of NIST's Data Excerpt Benchmarks: 1000 minus 500 times the mean L1 distance of the densities
over all tables PUMA x A x B, numbers in 20 bins of equally many records; a record is inconsistent if it breaks a rule
that the excerpts publish. Nothing here is private: it measures with the real records.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.row import Row
from hedgerow import MWEM, ApproxDP, Domain, Release, Workload, read_domain
from hedgerow.data import read_table
from hedgerow.privacy import SeededNoise

FOLDER = Path(__file__).parent.parent / "examples" / "acs"
NUMBERS = ("AGEP", "PINCP", "POVPIP", "PWGTP", "WGTP")
BINS = 20
RECORDS = 1_000_000
"""Records that are drawn to look for inconsistent ones."""


def binned(real: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """A table as codes: numbers in bins of equally many real records, all else as it is."""
    found = {}
    for name in real.columns:
        if name not in NUMBERS:
            levels = {value: code for code, value in enumerate(pd.unique(pd.concat([real[name], other[name]])))}
            found[name] = other[name].map(levels).to_numpy()
            continue
        numbers = pd.to_numeric(real[name], errors="coerce")
        edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, BINS + 1)[1:-1]))
        mine = pd.to_numeric(other[name], errors="coerce").to_numpy(dtype=float)
        found[name] = np.where(np.isnan(mine), len(edges) + 1, np.searchsorted(edges, mine, side="right"))
    return pd.DataFrame(found)


def score(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """The k-marginal score of synthetic records, 0 to 1000."""
    ours, theirs = binned(real, real), binned(real, synthetic)
    distances = []
    for a, b in combinations([name for name in real.columns if name != "PUMA"], 2):
        shape = [1 + max(int(ours[name].max()), int(theirs[name].max())) for name in ("PUMA", a, b)]
        counts = [
            np.bincount(np.ravel_multi_index([table[name] for name in ("PUMA", a, b)], shape), minlength=np.prod(shape))
            / len(table)
            for table in (ours, theirs)
        ]
        distances.append(np.abs(counts[0] - counts[1]).sum())
    return 1000.0 - 500.0 * float(np.mean(distances))


def inconsistent(table: pd.DataFrame) -> dict[str, float]:
    """Share of records that break each published rule, and any of them (``"any"``)."""
    empty = {name: table[name].astype(str) == "N" for name in table.columns}
    age = pd.to_numeric(table["AGEP"])
    number = {name: pd.to_numeric(table[name], errors="coerce") for name in ("EDU", "NPF", "NOC", "HOUSING_TYPE")}
    rent, house = table["OWN_RENT"].astype(str), number["HOUSING_TYPE"]
    child, young = age < 15, age < 5
    broken = {
        f"children have no {name}": child & ~empty[name]
        for name in ("MSP", "PINCP", "PINCP_DECILE", "INDP", "INDP_CAT", "DVET")
    }
    broken |= {
        f"adults have {name}": ~child & empty[name] for name in ("MSP", "PINCP", "PINCP_DECILE", "EDU", "DPHY", "DREM")
    }
    broken |= {f"under 5 have no {name}": young & ~empty[name] for name in ("DPHY", "DREM")}
    broken |= {
        "under 5, schooling": young & (number["EDU"] >= 9),
        "under 3, no schooling": (age < 3) & ~empty["EDU"],
        "under 15, schooling": child & (number["EDU"] >= 12),
        "houses are owned or rented": (house == 1) & (~rent.isin(["1", "2"]) | empty["NOC"]),
        "quarters": (house > 1) & ((rent != "0") | ~empty["NPF"] | ~empty["NOC"]),
        "children are of the family": number["NPF"] <= number["NOC"],
    }
    return {name: float(rows.mean()) for name, rows in broken.items()} | {
        "any": float(pd.concat(broken, axis=1).any(axis=1).mean())
    }


def without_rules(domain: Domain) -> Domain:
    """The same columns, each an attribute of its own, and nothing known of them."""
    columns = [each.attribute for each in domain.declared if each.column]
    return Domain((*domain.attributes, *columns))


def run(domain: Domain, epsilon: float, seed: int) -> tuple[float, float, float]:
    """CPU seconds of a run, the score of a release as large as the table, and the share of inconsistent records."""
    table = read_table(FOLDER / "ma2019.csv", domain)
    real = pd.read_csv(FOLDER / "ma2019.csv", dtype=str)
    start = time.process_time()
    budget = ApproxDP(epsilon, 1e-7)
    release = MWEM().run(table, Workload.marginals(domain, 2), budget, noise=SeededNoise(seed))
    seconds = time.process_time() - start
    synthetic, many = (_drawn(release, n, seed, list(real.columns)) for n in (len(real), RECORDS))
    return seconds, score(real, synthetic), inconsistent(many)["any"]


def _drawn(release: Release, n: int, seed: int, columns: list[str]) -> pd.DataFrame:
    """Records as the excerpt writes them: texts, with N where there is no value."""
    with tempfile.TemporaryDirectory() as folder:
        release.sample(n, seed=seed).write(Path(folder, "records.csv"))
        return pd.read_csv(Path(folder, "records.csv"), dtype=str).fillna("N")[columns]


def rows() -> Iterator[Row]:
    """With rules against without, at epsilon 1 and 10: cost, score and inconsistent records."""
    domain = read_domain(FOLDER / "acs.domain.yaml")
    for epsilon in (1.0, 10.0):
        ruled, plain = (
            np.mean([run(each, epsilon, seed) for seed in (0, 1)], axis=0) for each in (domain, without_rules(domain))
        )
        yield Row(f"epsilon {epsilon:g}: CPU", ruled[0], plain[0], "no rules declared")
        yield Row(f"epsilon {epsilon:g}: score", ruled[1], plain[1], "no rules declared", "")
        yield Row(f"epsilon {epsilon:g}: inconsistent", ruled[2], plain[2], "no rules declared", "")
