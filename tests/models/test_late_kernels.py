"""What Python does in place of compiled functions in a first run: the same, to the bit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import Algorithm
from hedgerow.arrays import Floats
from hedgerow.data import read_table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Proximal, Sweeps
from hedgerow.privacy import ApproxDP, SeededNoise
from hedgerow.queries import Workload
from hedgerow.system import generator

SIZES = (40, 30, 12, 12, 9, 2, 2, 2, 3)


def late_kernels() -> list[Any]:
    modules = [module for name, module in sys.modules.items() if name.startswith("hedgerow.") and "kernels" in name]
    return [each for module in modules for each in vars(module).values() if hasattr(each, "compiled")]


def released(algorithm: Algorithm, text: str) -> Sequence[Floats]:
    domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcdefghi", SIZES, strict=True))
    draw = generator(3)
    first = draw.integers(0, 2, 2000)
    codes = [(first * draw.integers(0, each.size, 2000) + draw.integers(0, 2, 2000)) % each.size for each in domain]
    columns = [pa.array(column) for column in codes]
    table = read_table(pa.table(columns, names=list(domain.names)), domain)
    release = algorithm.run(table, Workload.parse(text, domain), ApproxDP(1.0, 1e-9), noise=SeededNoise(5))
    return list(release.model.marginals([("a", "b"), ("c", "h"), ("a", "i"), ("d", "e", "f")]))


@pytest.mark.parametrize(
    ("algorithm", "text", "walk"),
    [
        (MWEM(), "marginals:2", "around"),
        (MWEM(rounds=4), "marginals:f*g*h; marginals:a*b; prefixes:a", "around"),
        (MWEM(rounds=3, refit=Proximal()), "marginals:2", "around"),
        (MWEM(rounds=3, refit=Sweeps(3)), "marginals:2", "in_order"),
    ],
)
def test_releases_are_the_same(algorithm: Algorithm, text: str, walk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = released(algorithm, text)
    kernels = late_kernels()
    assert len(kernels) > 10
    calls: list[str] = []
    for each in kernels:
        monkeypatch.setattr(each, "_spent", 0.0)
        monkeypatch.setattr(each, "_interpreted", None)
        monkeypatch.setattr(each, "compiled", each.compiled)

    def is_kept(compiled: Any) -> bool:
        calls.append(compiled.py_func.__name__)
        return False

    monkeypatch.setattr("hedgerow.system.compiling._is_kept", is_kept)
    monkeypatch.setattr("hedgerow.system.compiling._ENOUGH", np.inf)
    monkeypatch.setattr("hedgerow.system.compiling._FEW", np.inf)
    interpreted = released(algorithm, text)
    assert {"views_of", "holders", "rooted", walk} <= {*calls}
    assert [table.tobytes() for table in interpreted] == [table.tobytes() for table in compiled]
