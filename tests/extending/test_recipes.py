"""The recipes of docs/extending.md, each followed once by the package ``toy``, which knows public names alone."""

from __future__ import annotations

import ast
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow import MWEM, ZCDP, Curator, Domain, IntegerRange, PureDP, Release, SeededNoise, Workload, errors
from hedgerow.algorithms import registry
from hedgerow.audit import costs
from hedgerow.extending import CountSource, Model, RoundReport
from hedgerow.privacy import ExponentialMechanism, Regime, cost_of
from hedgerow.privacy.budgets import regime
from hedgerow.queries.families import registry as family_registry
from hedgerow.release import StoredModel, model_to_dict
from hedgerow.system import plug_ins
from tests.audit.test_costs import entry_of
from tests.models.contract import ModelContract

PLUG_INS = Path(__file__).parent / "plug_ins"
DOMAIN = Domain([IntegerRange("age", 0, 4), IntegerRange("sex", 0, 1)])
CODES = np.random.default_rng(0).binomial([4, 1], [0.4, 0.7], size=(2000, 2))
WORKLOAD = "at_least:age @ 2.0; marginals:2"


def forget() -> None:
    for each in (plug_ins._installed, registry._plugged, family_registry._plugged):
        each.cache_clear()


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package as if it were installed."""
    monkeypatch.syspath_prepend(PLUG_INS)
    forget()
    yield
    forget()


def table() -> hedgerow.Table:
    columns = {name: column for name, column in zip(DOMAIN.names, CODES.T, strict=True)}
    return hedgerow.read_table(pa.table(columns), DOMAIN)


def test_the_package_knows_public_names_alone() -> None:
    files = sorted((PLUG_INS / "toy").glob("*.py"))
    assert len(files) == 6
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hedgerow"):
                assert node.module in ("hedgerow", "hedgerow.extending")
                public = set(hedgerow.__all__ if node.module == "hedgerow" else hedgerow.extending.__all__)
                assert {alias.name for alias in node.names} <= public


# ---- a mechanism in its shortest form --------------------------------------------------------------------------------


def test_a_mechanism_is_one_method(toy: None) -> None:
    greedy = registry.entry("greedy").make({"rounds": 3})
    told = list[RoundReport]()
    pairs = Workload.marginals(DOMAIN, 1)
    for budget in (PureDP(5.0), ZCDP(0.5, "replace")):
        told.clear()
        release = greedy.run(table(), pairs, budget, noise=SeededNoise(0), progress=told.append)
        assert [event.label for event in release.events if event.label in ("select", "measure")] == 3 * [
            "select",
            "measure",
        ]
        assert 0.999 * budget.limit < release.spent <= budget.limit
        assert [each.round for each in told] == [1, 2, 3]
        assert release.error is not None
        assert release.provenance.parameters == {"total_share": 0.02, "error_share": 0.03, "rounds": 3}
        truth = pairs.answers(table())
        assert np.abs(pairs.answers(release.model) - truth).max() < 0.05 * 2000
        plan = greedy.plan(pairs, budget, 2000.0)
        assert plan.fits
        assert "measurements" in dict(plan.lines(2000.0))["charges"]
    assert registry.entry("greedy").restore(release.provenance.parameters) == greedy


def test_a_share_out_of_its_range_and_a_model_too_large_are_refused(toy: None) -> None:
    with pytest.raises(errors.ConfigError):
        registry.entry("greedy").make({"total_share": 1.5})
    wide = Domain(IntegerRange(f"x{place}", 0, 99) for place in range(60))
    with pytest.raises(errors.ModelTooLargeError):
        registry.entry("greedy").make().check(Workload.marginals(wide, 2), Regime.ZCDP)


# ---- a mechanism and a family, by name -------------------------------------------------------------------------------


def command(*arguments: str, folder: Path) -> str:
    paths = [str(PLUG_INS), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", "from hedgerow.cli import main; main()", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
def test_the_command_line_takes_them_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n" + "\n".join(f"{age},{sex}" for age, sex in CODES.tolist()))
    hedgerow.write_domain(DOMAIN, tmp_path / "people.yaml")
    listed = json.loads(command("mechanisms", "--json", folder=tmp_path))["mechanisms"]
    assert [each for each in listed if each["name"] == "singles"] == [
        {
            "name": "singles",
            "summary": "measures every attribute alone and takes them as independent: a yardstick",
            "regimes": ["pure", "zcdp", "gdp"],
            "options": ["total_share"],
        }
    ]
    command(
        "synth", "people.csv", "--domain", "people.yaml", "--epsilon", "5", "--neighbours", "replace",
        "--mechanism", "singles", "--workload", WORKLOAD, "-o", "out.csv", folder=tmp_path,
    )  # fmt: skip
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 2001
    found = json.loads(command("audit", "out.release", "--json", folder=tmp_path))
    assert "fails" not in json.dumps(found)  # an auditor that knows nothing of the package adds the ledger up
    assert (
        float(
            json.loads(command("answer", "out.release", "age >= 2", "--json", folder=tmp_path))["answers"][0]["value"]
        )
        > 0.0
    )


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_mechanism_spends_its_budget_and_no_more(neighbours: Any, tmp_path: Path) -> None:
    algorithm, budget = registry.parse("singles:total_share=0.2"), PureDP(5.0, neighbours)
    workload = Workload.parse(WORKLOAD, DOMAIN)
    assert algorithm.plan(workload, budget, 2000.0).lines(2000.0) == [("rounds", "2, each 2.5 epsilon")]
    told: list[float] = []
    made = algorithm.run(table(), workload, budget, noise=SeededNoise(0), progress=lambda each: told.append(each.spent))
    assert 4.99 < made.spent <= 5.0
    assert len(told) == len(DOMAIN)
    assert made.provenance.parameters == {"total_share": 0.2}
    assert abs(made.answer("age >= 2").value - (CODES[:, 0] >= 2).sum()) < 30
    with pytest.raises(errors.ConfigError):
        registry.parse("singles:rounds=3")


@pytest.mark.usefixtures("toy")
def test_the_family_is_released_through_mwem_and_read_back(tmp_path: Path) -> None:
    workload = Workload.parse(WORKLOAD, DOMAIN)
    true = [(CODES[:, 0] >= age).sum() for age in range(5)]
    release = MWEM(rounds=4).run(table(), workload, PureDP(10.0), noise=SeededNoise(1))
    assert np.abs(workload.answers(release.model)[:5] - true).max() < 40
    release.save(tmp_path / "made.release")
    again = Release.load(tmp_path / "made.release")
    assert again.workload.spec == WORKLOAD
    assert type(again.workload.families[0]).__name__ == "AtLeast"
    with pytest.raises(errors.QueryError, match="'nothing' is no attribute"):
        Workload.parse("at_least:nothing", DOMAIN)


ZOO = """
from dataclasses import dataclass
from hedgerow.extending import Algorithm

class Plain(Algorithm):
    "Has no fields."

@dataclass(frozen=True)
class Blank(Algorithm):
    "  "

@dataclass(frozen=True)
class Greedy(Algorithm):
    "Asks for more than a curator."

    def run(self, source, *_, **__):
        return source.total()
"""
BAD = [
    ("hedgerow.mechanisms", "mwem = toy.mechanism:Singles", "calls a plug-in 'mwem', a name that hedgerow has"),
    ("hedgerow.mechanisms", "singles = toy.mechanism:Singles", "a name that the package 'toy' has"),
    ("hedgerow.mechanisms", "broken = toy.nowhere:Singles", "'broken' of the package 'zoo' cannot be loaded: ModuleNo"),
    (
        "hedgerow.mechanisms",
        "broken = toy.family:AtLeast",
        "'broken' of the package 'zoo' is not a subclass of Algorithm",
    ),
    ("hedgerow.mechanisms", "broken = zoo:Plain", "'broken' of 'zoo' is not a dataclass with a docstring"),
    ("hedgerow.mechanisms", "broken = zoo:Blank", "'broken' of 'zoo' is not a dataclass with a docstring"),
    ("hedgerow.mechanisms", "broken = zoo:Greedy", r"overrides run\(\), which is given the private table"),
    ("hedgerow.families", "where = toy.family:AtLeast", "calls a plug-in 'where', a name that hedgerow has"),
    ("hedgerow.families", "broken = toy.family:AtLeast", "has the kind 'at_least'"),
    ("hedgerow.families", "broken = toy.family:Nothing", "cannot be loaded: AttributeError"),
]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(("group", "line", "told"), BAD)
def test_plug_ins_that_cannot_be_used_are_errors_that_name_their_package(
    group: str, line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "zoo-1.0.dist-info"
    kept.mkdir()
    (kept / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo\nVersion: 1.0\n")
    (kept / "entry_points.txt").write_text(f"[{group}]\n{line}\n")
    (tmp_path / "zoo.py").write_text(ZOO)
    monkeypatch.delitem(sys.modules, "zoo", raising=False)
    sys.path.append(str(tmp_path))
    forget()
    try:
        with pytest.raises(errors.PlugInError, match=told) as caught:
            registry.entries() if group.endswith("mechanisms") else Workload.parse("at_least:age", DOMAIN)
    finally:
        sys.path.remove(str(tmp_path))
    assert caught.value.remedy


# ---- a source --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("toy")
def test_the_source_is_counted_by_the_curator_as_a_table_is() -> None:
    from toy.source import SQLiteCodes

    workload = Workload.parse("marginals:2; where: age > 1 and sex = 0", DOMAIN)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE records (age INTEGER, sex INTEGER)")
        connection.executemany("INSERT INTO records VALUES (?, ?)", CODES.tolist())
        source = SQLiteCodes(connection, DOMAIN)
        assert isinstance(source, CountSource)
        mine, yours = (
            MWEM(rounds=2).run(each, workload, PureDP(1.0), noise=SeededNoise(7)) for each in (source, table())
        )
        assert Curator(source, PureDP(1.0, "replace")).total(0.0) == 2000.0
    assert mine.events == yours.events
    for one, other in zip(mine.measurements, yours.measurements, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


# ---- a model ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("toy")
class TestModel(ModelContract):
    def make(self, domain: Domain, total: float) -> Model:
        from toy.model import PlainArray

        return PlainArray(domain, total)

    def reload(self, model: Model) -> Model:
        return StoredModel(model.domain, model.total, *model_to_dict(model)).build()


# ---- a change of a charge --------------------------------------------------------------------------------------------


def agrees() -> bool:
    """As tests/audit/test_costs.py for one mechanism: a charge is at least the auditor's cost, and hardly more."""
    mechanism = ExponentialMechanism(10.0, 1.0, "exact")
    entry = entry_of(mechanism, Regime.ZCDP, cost_of(mechanism, "rho"))
    found = costs.cost(entry)
    return found.high <= entry.charge <= found.low * (1 + Fraction(1, 2**40))


def test_a_changed_charge_is_caught_until_the_auditor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert agrees()
    for factor in (0.5, 2.0):  # too cheap breaks the promise; too dear wastes budget; both are seen
        with monkeypatch.context() as changed:
            changed.setattr(regime, "bounded_range_rho", lambda epsilon, by=factor: by * epsilon * epsilon / 8.0)
            assert not agrees()
            changed.setattr(
                costs,
                "_of_bounded_range",
                lambda loss, _, __, by=Fraction(factor): costs.Bounds.of(by * loss * loss / 8),
            )
            assert agrees()
