"""The cells of a junction tree that records can have, against a list of all records."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Constraint, Domain, IntegerRange
from hedgerow.errors import DomainError
from hedgerow.models import JunctionTree
from hedgerow.models.trees.support import Support

NAMES = "abcdef"


def forbidding(domain: Domain, scope: tuple[str, str], allowed: np.ndarray[Any, Any]) -> Constraint:
    sizes = domain.shape_of(scope)
    return Constraint(" and ".join(scope), scope, [range(size) for size in sizes], allowed)


@st.composite
def ruled_trees(draw: st.DrawFn) -> JunctionTree:
    """Trees over six attributes of 2 to 4 values whose cliques hold rules about pairs."""
    plain = Domain(IntegerRange(name, 0, draw(st.integers(1, 3))) for name in NAMES)
    scopes = draw(st.lists(st.sampled_from(list(combinations(NAMES, 2))), min_size=3, max_size=8, unique=True))
    rules = []
    for scope in scopes[: draw(st.integers(1, len(scopes)))]:
        shape = plain.shape_of(scope)
        cells = draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        allowed = np.array(cells).reshape(shape) | (np.arange(np.prod(shape)).reshape(shape) % 3 == 0)
        rules.append(forbidding(plain, scope, allowed))
    return JunctionTree.of(Domain(plain.attributes, (), rules), scopes)


def records_of(domain: Domain) -> np.ndarray[Any, Any]:
    """Whether each cell of the whole domain keeps all rules."""
    codes = np.indices(domain.shape)
    kept = np.ones(domain.shape, dtype=bool)
    for rule in domain.constraints:
        kept &= rule.holds([codes[domain.index(name)].reshape(-1) for name in rule.scope]).reshape(domain.shape)
    return kept


@given(ruled_trees())
def test_cells_are_those_that_a_record_has(tree: JunctionTree) -> None:
    domain, kept = tree.domain, records_of(tree.domain)
    if not kept.any():
        with pytest.raises(DomainError, match="leave no record"):
            Support.of(tree)
        return
    support = Support.of(tree)

    def seen(names: tuple[str, ...]) -> np.ndarray[Any, Any]:
        others = tuple(axis for axis, name in enumerate(domain.names) if name not in names)
        return kept.any(axis=others)

    for stored, cells, shape in zip(tree.stored, support.cells, tree.shapes, strict=True):
        wanted = seen(stored)
        assert wanted.all() if cells is None else np.array_equal(cells, wanted)
        assert wanted.shape == shape
    for i, j in tree.edges:
        wanted = seen(tree.stored_separator(i, j))
        for edge in ((i, j), (j, i)):
            found = support.shared.get(edge)
            assert wanted.all() if found is None else np.array_equal(found, wanted)
    assert support.even is all(each is None for each in support.cells)
