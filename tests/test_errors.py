"""Errors and warnings that users meet: all in one module, and named where they can be raised."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow import errors
from hedgerow.errors import WeakGuaranteeWarning
from hedgerow.privacy import ZCDP, ApproxDP, PureDP, weaknesses

SOURCE = Path(errors.__file__).parent
INSIDE = {
    ("service/http/tokens.py", "WrongTokenError"),  # a kind of NotSignedInError that the gate counts
    ("domain/arrow.py", "UnsupportedTypeError"),  # becomes a ColumnError
}
"""Exceptions that never leave the package, and where they are."""
ROOTS = {"HedgerowError", "ServiceError", "_LearningTooLargeError"}
"""Of the tree, of what the server says, and of hypotheses that cannot grow: raised as one of their kinds alone."""
OF_REQUESTS = {"MalformedRequestError", "TooMuchError", "QuotaError"}
"""Told as problems of a request, which the description of the API names."""


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [
        (str(path.relative_to(SOURCE)), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def made_here() -> list[str]:
    return [
        name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, Exception | Warning)
    ]


def test_every_exception_that_leaves_the_package_is_in_one_module() -> None:
    elsewhere = {
        (file, node.name)
        for file, tree in trees()
        for node in ast.walk(tree)
        if file != "errors.py" and isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if any(
            isinstance(base, ast.Name) and base.id.endswith(("Error", "Exception", "Warning")) for base in node.bases
        )
    }
    assert elsewhere == INSIDE
    assert hedgerow.errors is errors


def test_each_is_named_where_it_can_be_raised() -> None:
    told = "".join(
        section
        for file, tree in trees()
        if file != "errors.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        for section in re.findall(r"(?:Raises|Warns):\n(.*)", ast.get_docstring(node) or "", re.DOTALL)
    )
    missing = {name for name in made_here() if not re.search(rf"\b{name}\b", told)}
    assert missing <= ROOTS | OF_REQUESTS


def test_each_of_our_own_says_what_to_try_next() -> None:
    """A remedy is an argument of the tree's root, so that every error can carry one."""
    for name in made_here():
        kind = getattr(errors, name)
        assert kind.__doc__
        assert issubclass(kind, errors.HedgerowError | Warning)


# ---- guarantees that promise next to nothing -------------------------------------------------------------------------


def table(n: int = 40) -> hedgerow.Table:
    return hedgerow.read_table(pa.table({"a": [0, 1] * (n // 2)}), hedgerow.Domain([hedgerow.IntegerRange("a", 0, 1)]))


@pytest.mark.parametrize(
    ("budget", "total", "reasons"),
    [
        (PureDP(20.0), 1e6, []),
        (PureDP(20.1), 1e6, ["epsilon"]),
        (ApproxDP(1.0, 1e-4), 9_999.0, []),
        (ApproxDP(1.0, 1e-4), 10_001.0, ["delta"]),
        (ApproxDP(30.0, 0.5), 10.0, ["epsilon", "delta"]),
        (ZCDP(1.0), 1e9, []),
        (ZCDP(10.0), 1e9, ["epsilon"]),
    ],
)
def test_what_is_weak_is_told(budget: hedgerow.PureDP | ApproxDP | ZCDP, total: float, reasons: list[str]) -> None:
    assert [reason.partition(" ")[0] for reason in weaknesses(budget, total)] == reasons


def test_releases_and_sessions_warn_of_a_weak_guarantee() -> None:
    workload = hedgerow.Workload.marginals(table().domain, 1)
    with pytest.warns(WeakGuaranteeWarning, match=r"delta = 0\.5 is not below") as caught:
        hedgerow.MWEM(rounds=1).run(table(), workload, ApproxDP(1.0, 0.5))
    assert caught[0].filename == __file__
    with pytest.warns(WeakGuaranteeWarning, match="above 20"):
        hedgerow.OnlinePMW(updates=1, threshold=0.5).start(table(), PureDP(25.0))
    hedgerow.MWEM(rounds=1).run(table(), workload, PureDP(25.0), noise=hedgerow.SeededNoise(0))  # promises nothing


def test_columns_of_a_table_cannot_be_written_to() -> None:
    given = np.array([0, 1, 1], dtype=np.uint8)
    weights = np.array([1, 2, 3])
    made = hedgerow.Table(table().domain, [given], weights)
    for held in (*made.columns, made.weights):
        assert held is not None
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 1
    given[0] = 0  # an array of the caller's stays the caller's
    assert made.total() == 6
